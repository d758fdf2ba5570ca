#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../../support/helpers

@test "--help says first what goes: stream, log file and filter" {
	[[ "$(ptrace-clear --help | sed -n '2,4p' | tr '\n' ' ')" == *"streams and the log files"*"filters"* ]]
}

@test "nothing recorded before a clear is in the log" {
	traced_start -w -W -n 10
	wait_until says ready
	ptrace-create --pid="$pid" -o run.log --name="$me.a" --start
	go
	wait_until says done
	ptrace-flush "$me.a"
	run_split ptrace-clear "$me.a"
	[ "$status" -eq 0 ]
	[ -z "$stdout$stderr" ]
	[ "$(ptrace-stat --format=json "$me.a" | jq -r .status.stream)" = running ]
	ptrace-shutdown "$me.a"
	[ "$(events run.log traced.event)" -eq 0 ]
}

@test "a clear forgets losses, and nothing else does" {
	traced_start -w -W -n 100000
	wait_until says ready
	ptrace-create --pid="$pid" --name="$me.a" --start --stream-min-size=4K
	go
	wait_until says done
	for i in 1 2; do
		run_split ptrace-stat --format=json "$me.a"
		[ "$status" -eq 3 ]
		jq -e '.status.stream_overrun and .losses.stream_events > 0' <<<"$stdout"
	done
	ptrace-clear "$me.a"
	run_split ptrace-stat --format=json "$me.a"
	[ "$status" -eq 0 ]
	jq -e '(.status.stream_overrun | not) and .losses.stream_events == 0' <<<"$stdout"
}
