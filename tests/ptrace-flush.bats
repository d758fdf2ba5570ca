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

@test "a log that is not there any more is told [EXT-09]" {
	traced_start -w
	ptrace-create --pid="$pid" -o run.log --name="$me.a" --start
	rm run.log
	for i in 1 2; do
		run_split ptrace-flush "$me.a"
		[ "$status" -eq 3 ]
		assert_one_message ptrace-flush
		[[ $stderr == "ptrace-flush: $me.a: the log is not there any more: "* ]]
		# Nor is another file of that name the log.
		echo text >run.log
	done
	run_split ptrace-flush --json "$me.a"
	[ "$status" -eq 3 ]
	jq -e '.error == 0 and .losses.log_gone and (.complete | not)' stdout.txt
	if has_validator; then validates session <stdout.txt; fi
}

@test "a session without log" {
	traced_start -w
	ptrace-create --pid="$pid" --name="$me.a"
	run_split ptrace-flush "$me.a"
	[ "$status" -eq 1 ]
	[ "$stderr" = "ptrace-flush: $me.a: the session has no log" ]
}
