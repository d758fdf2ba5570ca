#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../../support/helpers

@test "start and stop decide what is recorded, and may be repeated" {
	traced_start -w -W -n 10
	wait_until says ready
	ptrace-create --pid="$pid" -o run.log --name="$me.a"
	status_of() { ptrace-stat --format=json "$me.a" | jq -r .status.stream; }
	[ "$(status_of)" = suspended ]
	run_split ptrace-start "$me.a"
	[ "$status" -eq 0 ]
	[ -z "$stdout$stderr" ]
	[ "$(status_of)" = running ]
	ptrace-start "$me.a"
	go
	wait_until says done
	ptrace-stop "$me.a"
	[ "$(status_of)" = suspended ]
	ptrace-shutdown "$me.a"
	[ "$(events run.log traced.event)" -eq 10 ]
	[ "$(events run.log posix_trace_start)" -eq 1 ]
}

@test "several sessions at once; a wrong one does not hinder the others" {
	traced_start -w
	ptrace-create --pid="$pid" --name="$me.a"
	ptrace-create --pid="$pid" --name="$me.b"
	run_split ptrace-start "$me.a" "$me.nobody" "$me.b"
	[ "$status" -eq 1 ]
	assert_one_message ptrace-start
	[ "$stderr" = "ptrace-start: $me.nobody: no such session" ]
	for s in a b; do
		[ "$(ptrace-stat --format=json "$me.$s" | jq -r .status.stream)" = running ]
	done
}

@test "a trace that has no room stays suspended, and that is an error" {
	traced_start -w -W -n 20000
	wait_until says ready
	ptrace-create --pid="$pid" --name="$me.s" --start --stream-min-size=16K \
		--stream-full-policy=until-full
	ptrace-create --pid="$pid" --name="$me.l" --start -o run.log --log-max-size=20K \
		--log-full-policy=until-full
	go
	wait_until says done
	ptrace-flush "$me.l" || [ $? -eq 3 ]
	for i in 's stream' 'l log'; do
		s=$me.${i% *}
		run_split ptrace-start "$s"
		[ "$status" -eq 1 ]
		[ "$stderr" = "ptrace-start: $s: stays suspended, as its ${i#* } is full: first ptrace-clear $s" ]
	done
	ptrace-clear "$me.l"
	ptrace-start "$me.l"
	ptrace-stat --json "$me.l" | jq -e '.status.stream == "running"'
}
