#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../../support/helpers

@test "events after a stop are not recorded" {
	traced_start -w -W -n 10
	wait_until says ready
	ptrace-create --pid="$pid" -o run.log --name="$me.a" --start
	run_split ptrace-stop "$me.a"
	[ "$status" -eq 0 ]
	[ -z "$stdout$stderr" ]
	ptrace-stop "$me.a"
	go
	wait_until says done
	ptrace-shutdown "$me.a"
	[ "$(events run.log traced.event)" -eq 0 ]
	ptrace-dump -e posix_trace_stop run.log | jq -e '.reason == 0'
}

@test "a session that is not there" {
	run_split ptrace-stop "$me.nobody"
	[ "$status" -eq 1 ]
	[ "$stderr" = "ptrace-stop: $me.nobody: no such session" ]
	run_split ptrace-stop $'a\nb'
	[ "$status" -eq 1 ]
	assert_one_message ptrace-stop
}
