#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load helpers

# A session $me.a of a program that has opened traced.event.
make_session() {
	traced_start -w -W -n 10 "$@"
	wait_until says ready
	ptrace-create --pid="$pid" --name="$me.a" --start -o run.log
}

filtered() {
	ptrace-filter "$me.a"
}

@test "it is shown, set, added to and taken from" {
	make_session
	run_split ptrace-filter "$me.a"
	[ "$status" -eq 0 ]
	[ -z "$stdout$stderr" ]
	run_split ptrace-filter --add "$me.a" traced.event posix_trace_stop
	[ "$status" -eq 0 ]
	[ -z "$stdout$stderr" ]
	[ "$(filtered)" = $'posix_trace_stop\ntraced.event' ]
	ptrace-filter --set "$me.a" posix_trace_flush_start
	[ "$(filtered)" = posix_trace_flush_start ]
	ptrace-filter --add "$me.a" traced.event
	ptrace-filter --remove "$me.a" posix_trace_flush_start
	[ "$(filtered)" = traced.event ]
	ptrace-filter --json "$me.a" | jq -e --arg name "$me.a" '.version == 1 and
		.session == $name and (.all | not) and .globs == [] and
		(.events | length == 1 and .[0].event == "traced.event")'
	ptrace-filter --set "$me.a"
	[ -z "$(filtered)" ]
}

@test "what is filtered is not recorded" {
	make_session
	ptrace-filter --add "$me.a" 'traced.*'
	go
	wait_until says done
	ptrace-shutdown "$me.a"
	[ "$(events run.log traced.event)" -eq 0 ]
}

@test "all system events, all events" {
	make_session
	ptrace-filter --add --system "$me.a"
	[ "$(filtered | grep -c '^posix_trace_')" -eq 8 ]
	ptrace-filter --json "$me.a" | jq -e '(.all | not) and (.events | length == 8)'
	ptrace-filter --set --all "$me.a"
	ptrace-filter --json "$me.a" | jq -e .all
	ptrace-filter --remove "$me.a" 'traced*'
	ptrace-filter --json "$me.a" | jq -e '(.all | not) and
		all(.events[]; .event != "traced.event")'
	go
	wait_until says done
	ptrace-shutdown "$me.a"
	[ "$(events run.log posix_trace_stop)" -eq 0 ]
	[ "$(events run.log traced.event)" -eq 10 ]
}

@test "a name nobody knows is refused with those that are like it, and nothing is changed" {
	make_session
	ptrace-filter --add "$me.a" posix_trace_stop
	for action in --set --add --remove; do
		run_split ptrace-filter "$action" "$me.a" posix_trace_start tracd.event
		[ "$status" -eq 1 ]
		[ -z "$stdout" ]
		assert_one_message ptrace-filter
		[[ $stderr == "ptrace-filter: tracd.event: "*"(did you mean 'traced.event'?)" ]]
	done
	run_split ptrace-filter --add "$me.a" 'nothing.*'
	[ "$status" -eq 1 ]
	assert_one_message ptrace-filter
	run_split ptrace-filter --add "$me.a" $'a"b\nc\e'
	[ "$status" -eq 1 ]
	assert_one_message ptrace-filter
	run_split ptrace-filter --add --new "$me.a" "$(printf '%0256d' 0)"
	[ "$status" -eq 1 ]
	assert_one_message ptrace-filter
	[ "$(filtered)" = posix_trace_stop ]
}

@test "--new: a name is registered, a glob waits for names" {
	make_session -e later.event
	traced_start -w -W -n 10 -e early.event
	run_split ptrace-filter --add --new "$me.a" new.event 'wait*'
	[ "$status" -eq 0 ]
	[ -z "$stdout$stderr" ]
	[ "$(filtered)" = $'new.event\nwait*' ]
	ptrace-filter --json "$me.a" | jq -e '.globs == [{"glob": "wait*"}]'
	# Its own name comes only now.
	ptrace-filter --add --new "$me.a" waiting.event
	[ "$(filtered)" = $'new.event\nwaiting.event\nwait*' ]
	ptrace-filter --remove "$me.a" waiting.event
	[ "$(filtered)" = $'new.event\nwait*' ]
	ptrace-filter --remove "$me.a" 'wait*'
	[ "$(filtered)" = new.event ]
}

@test "a glob is applied to a name that is opened later" {
	mkfifo go
	# The shell is traced, and traces its child.
	bash -c 'read -r <go; exec 7<>go; "$0" -n 1 -W -e waited.event' "$traced" >out 3>&- &
	pid=$!
	pids="$pids $pid"
	ptrace-create --pid="$pid" --name="$me.a" --start -o run.log
	ptrace-filter --add --new "$me.a" 'wait*'
	echo >go
	is_filtered() { ptrace-filter "$me.a" | grep -qx waited.event; }
	wait_until is_filtered
}

@test "clear empties it, the globs too" {
	make_session
	ptrace-filter --add --new "$me.a" traced.event 'wait*'
	ptrace-clear "$me.a"
	[ -z "$(filtered)" ]
	ptrace-filter --add --new "$me.a" waiting.event
	ptrace-filter --remove "$me.a" waiting.event
	[ -z "$(filtered)" ]
}

@test "a thousand names are shown, and too many refused" {
	make_session
	ptrace-filter --add --new "$me.a" $(seq -f 'some-quite-long-name.%.0f' 900)
	[ "$(filtered | wc -l)" -eq 900 ]
	run_split ptrace-filter --add --new "$me.a" $(seq -f 'another.%.0f' 900)
	[ "$status" -eq 1 ]
	assert_one_message ptrace-filter
	[[ $stderr == *"no room for another name"* ]]
	[ "$(filtered | wc -l)" -eq 900 ]
	# Nor does the table of names, which never forgets one.
	names=$(ptrace-events --names "$me.a" | wc -l)
	[ "$names" -eq $((9 + 1 + 900)) ]
	# A name that is there twice takes one place.
	ptrace-filter --add --new "$me.a" $(seq -f 'another.%.0f' $((1032 - names))) another.1
	[ "$(ptrace-events --names "$me.a" | wc -l)" -eq 1032 ]
	ptrace-filter --add --new "$me.a" another.1
	run_split ptrace-filter --add --new "$me.a" another.1 one.more
	[ "$status" -eq 1 ]
	[[ $stderr == "ptrace-filter: one.more: there is no room"* ]]
	run_split ptrace-filter --add --new "$me.a" $(seq -f 'x%060.0f' 2000)
	[ "$status" -eq 1 ]
	assert_one_message ptrace-filter
}

@test "a name that is empty" {
	make_session
	for how in --add '--set --new' '--remove --all'; do
		run_split ptrace-filter $how "$me.a" traced.event ''
		[ "$status" -eq 2 ]
		assert_one_message ptrace-filter
	done
	[ -z "$(filtered)" ]
}

@test "wrong command lines" {
	for line in '--set --add s' '--add s' 's e' '--new s' '--all s' '--add'; do
		run_split ptrace-filter $line
		[ "$status" -eq 2 ]
		assert_one_message ptrace-filter
	done
	run_split ptrace-filter "$me.nobody"
	[ "$status" -eq 1 ]
	[ "$stderr" = "ptrace-filter: $me.nobody: no such session" ]
	run_split ptrace-filter --set "$me.nobody"
	[ "$status" -eq 1 ]
	assert_one_message ptrace-filter
}
