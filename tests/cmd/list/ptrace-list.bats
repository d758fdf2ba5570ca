#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../../support/helpers

@test "living sessions are listed, others are not" {
	traced_start -w
	[ -z "$(ptrace-list | grep "^$me")" ]
	ptrace-create --pid="$pid" --name="$me.a" -o run.log --start
	ptrace-create --pid="$pid" --name="$me.b"
	ptrace-list --format=json | jq -c "select(.session | startswith(\"$me\"))" >list
	jq -se --argjson pid "$pid" 'length == 2 and
		(.[0] | .version == 1 and .status == "running" and .target == $pid and
			.command == "traced" and .processes == 0 and .event_count == 1 and
			.target_alive and (.log | endswith("/run.log"))) and
		(.[1] | .status == "suspended" and (has("log") | not))' list
	kills "$(controller "$me.b")"
	silently 0 ptrace-list
	[ "$(grep -c "^$me" <<<"$stdout")" -eq 1 ]
	ptrace-shutdown "$me.a"
}

@test "a long name of a program moves the columns behind it" {
	local name=$'\1\2\3\4\5\6'
	cp "$traced" "$name"
	listens runner ready ptrace-run --name="$me" -o run.log -- "./$name" -w
	ptrace-list >list
	go
	[ "$(awk '/^SESSION/ {at = index($0, " LOG")} /x06/ {print substr($0, at, 2)}' list)" = " /" ]
	wait "$runner"
}

@test "events that were overwritten were recorded" {
	record "$me.a" --stream-full-policy=loop --stream-min-size=16K -- -n 20000
	count=$(ptrace-list --json | jq "select(.session == \"$me.a\").event_count")
	[ "$count" -eq 20001 ]
	ptrace-stop "$me.a"
	ptrace-stat --allow-loss --json "$me.a" 2>/dev/null >stat
	jq -e '.event_count < 20000 and .counts.lost_events > 0 and (has("bytes_per_second") | not) and
		.events_per_second > 20000 / .running_ns * 1e9 - 1' stat
	valid stat <stat
	ptrace-stat --allow-loss "$me.a" 2>/dev/null >text
	grep -q "^events per second" text
	[ "$(grep -c "^bytes per second" text)" -eq 0 ]
}

@test "no sessions at all is no error" {
	[ -z "$(ptrace-list 2>&1)" ] || skip "others have sessions"
	for c in ptrace-list 'ptrace-list --json'; do
		says_nothing $c
	done
	# Only a person wonders whether the command has done anything.
	command -v script || skip "no script"
	on_terminal() { script -qec "$*" /dev/null </dev/null; }
	[ "$(on_terminal 'ptrace-list 2>said' | wc -c)" -eq 0 ]
	[ "$(cat said)" = "ptrace-list: there are no sessions" ]
	on_terminal 'ptrace-list --json 2>said' >screen
	[ ! -s said ]
	[ ! -s screen ]
	traced_session "$me.a" -- -w
	on_terminal 'ptrace-list 2>said' >screen
	[ ! -s said ]
	[ -s screen ]
}
