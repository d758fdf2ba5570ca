#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load helpers

@test "after a flush the log of a living session has its events" {
	traced_start -w -W -n 10
	wait_until says ready
	ptrace-create --pid="$pid" -o run.log --name="$me.a" --start --stream-full-policy=loop
	go
	wait_until says done
	run_split ptrace-flush "$me.a"
	[ "$status" -eq 0 ]
	[ -z "$stdout$stderr" ]
	run_split ptrace-dump --count --format=text -e traced.event run.log
	[ "$status" -eq 3 ]
	[ "$stdout" -eq 10 ]
	assert_one_message ptrace-dump
	ptrace-shutdown "$me.a"
	[ "$(events run.log traced.event)" -eq 10 ]
}

@test "a session without log" {
	traced_start -w
	ptrace-create --pid="$pid" --name="$me.a"
	run_split ptrace-flush "$me.a"
	[ "$status" -eq 1 ]
	[ "$stderr" = "ptrace-flush: $me.a: the session has no log" ]
}
