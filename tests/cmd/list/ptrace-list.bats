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

@test "no sessions at all is no error" {
	local c
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
