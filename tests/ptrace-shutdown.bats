#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load helpers

@test "a shutdown leaves neither process nor file, and is quick" {
	traced_start -w
	ptrace-create --pid="$pid" -o run.log --name="$me.a"
	controller=$(ptrace-stat --format=json "$me.a" | jq .controller)
	run_split ptrace-shutdown "$me.a"
	[ "$status" -eq 0 ]
	[ -z "$stdout$stderr" ]
	is_ended "$controller"
	[ "$(session_files)" -eq 0 ]
	run_split ptrace-shutdown "$me.a"
	[ "$status" -eq 1 ]
	[ "$stderr" = "ptrace-shutdown: $me.a: no such session" ]
}

@test "losses are told, with exit status 3" {
	traced_start -w -W -n 100000
	wait_until says ready
	ptrace-create --pid="$pid" -o run.log --name="$me.a" --start --stream-min-size=4K \
		--stream-full-policy=loop
	go
	wait_until says done
	run_split ptrace-shutdown "$me.a"
	[ "$status" -eq 3 ]
	assert_one_message ptrace-shutdown
	[[ $stderr == *"events lost in the stream"* ]]
}

@test "a session whose controller was killed: said, then its name is free" {
	traced_start -w
	ptrace-create --pid="$pid" --name="$me.a"
	controller=$(ptrace-stat --format=json "$me.a" | jq .controller)
	kill -KILL "$controller"
	wait_until is_ended "$controller"
	run_split ptrace-shutdown "$me.a"
	[ "$status" -eq 1 ]
	[[ $stderr == *"its controller was killed" ]]
	[ "$(session_files)" -eq 0 ]
}

@test "a stopped controller does not hang a command" {
	traced_start -w
	ptrace-create --pid="$pid" --name="$me.a"
	controller=$(ptrace-stat --format=json "$me.a" | jq .controller)
	kill -STOP "$controller"
	run_split ptrace-stat "$me.a"
	kill -CONT "$controller"
	[ "$status" -eq 1 ]
	[ "$stderr" = "ptrace-stat: $me.a: the session does not answer" ]
	ptrace-shutdown "$me.a"
}

@test "two at once: one ends the session, the other finds none" {
	traced_start -w
	ptrace-create --pid="$pid" --name="$me.a"
	ptrace-shutdown "$me.a" 2>first 3>&- &
	a=$!
	ptrace-shutdown "$me.a" 2>second 3>&- &
	b=$!
	x=0
	wait "$a" || x=$((x + 1))
	wait "$b" || x=$((x + 1))
	[ "$x" -eq 1 ]
	[ "$(session_files)" -eq 0 ]
}
