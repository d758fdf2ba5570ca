#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../../support/helpers

@test "events after a stop are not recorded" {
	traced_session "$me.a" -o run.log --start -- -w -W -n 10
	says_nothing ptrace-stop "$me.a"
	ptrace-stop "$me.a"
	go done
	ptrace-shutdown "$me.a"
	[ "$(events run.log traced.event)" -eq 0 ]
	ptrace-dump -e posix_trace_stop run.log | jq -e '.reason == 0'
}
