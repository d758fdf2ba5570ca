#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../../support/helpers

@test "--help says first what goes: stream, log file and filter" {
	[[ "$(ptrace-clear --help | sed -n '2,4p' | tr '\n' ' ')" == *"streams and the log files"*"filters"* ]]
}

@test "nothing recorded before a clear is in the log" {
	record "$me.a" -o run.log -- -n 10
	ptrace-flush "$me.a"
	says_nothing ptrace-clear "$me.a"
	[ "$(ptrace-stat --format=json "$me.a" | jq -r .status.stream)" = running ]
	ptrace-shutdown "$me.a"
	[ "$(events run.log traced.event)" -eq 0 ]
}

@test "a clear forgets losses, and nothing else does" {
	record "$me.a" --stream-min-size=4K -- -n 100000
	for i in 1 2; do
		answers 3 '.status.stream_overrun and .losses.stream_events > 0' ptrace-stat --json "$me.a"
	done
	ptrace-clear "$me.a"
	answers 0 '(.status.stream_overrun | not) and .losses.stream_events == 0' ptrace-stat --json "$me.a"
}
