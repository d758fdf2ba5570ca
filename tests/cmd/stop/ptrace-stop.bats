#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../../support/helpers

@test "events after a stop are not recorded" {
	traced_session "$me.a" -o run.log --start -- -w -W -n 10
	exits 0 ptrace-stop "$me.a"
	[ -z "$stdout$stderr" ]
	ptrace-stop "$me.a"
	go
	wait_until says done
	ptrace-shutdown "$me.a"
	[ "$(events run.log traced.event)" -eq 0 ]
	ptrace-dump -e posix_trace_stop run.log | jq -e '.reason == 0'
}

@test "a session that is not there" {
	reports 1 "$me.nobody: no such session" ptrace-stop "$me.nobody"
	reports 1 '*' ptrace-stop $'a\nb'
}
