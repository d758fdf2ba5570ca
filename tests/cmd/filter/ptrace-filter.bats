#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../../support/helpers

# A session $me.a of a program that has opened traced.event.
make_session() {
	traced_session "$me.a" --start -o run.log -- -w -W -n 10 "$@"
}

filtered() {
	ptrace-filter "$me.a"
}

@test "it is shown, set, added to and taken from" {
	make_session
	says_nothing ptrace-filter "$me.a"
	says_nothing ptrace-filter --add "$me.a" traced.event posix_trace_stop
	[ "$(filtered)" = $'posix_trace_stop\ntraced.event' ]
	go done
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
	# What was filtered is not recorded.
	ptrace-shutdown "$me.a"
	counts run.log traced.event=0 posix_trace_stop=1
}

@test "all system events, all events" {
	make_session
	ptrace-filter --add --system "$me.a"
	[ "$(filtered | grep -c '^posix_trace_')" -eq 8 ]
	ptrace-filter --json "$me.a" | jq -e '(.all | not) and (.events | length == 8)'
	ptrace-filter --set --all "$me.a"
	ptrace-filter --json "$me.a" | jq -e .all
	[ "$(filtered | tail -n 1)" = '--exclude=*' ]
	ptrace-filter --remove "$me.a" 'traced*'
	ptrace-filter --json "$me.a" | jq -e '.all and
		all(.events[]; .event != "traced.event")'
	go done
	ptrace-shutdown "$me.a"
	counts run.log posix_trace_stop=0 traced.event=10
}

@test "--all holds for names that come later, until the patterns change" {
	# The shell is traced, and traces its children.
	mkfifo go
	begins pid bash -c 'exec 7<>go; for name in one.event two.event three.event; do
		read -r <&7; "$0" -n 10 -e $name; done' "$traced" >out
	ptrace-create --pid="$pid" --name="$me.a" --start --keep -o run.log
	is_known() { ptrace-events --names "$me.a" | grep -qx one.event; }
	ptrace-filter --add --all "$me.a"
	echo >go
	wait_until is_known
	ptrace-filter --only='two.*' "$me.a"
	echo >go
	is_recorded() { [ "$(events "$me.a" two.event)" -eq 10 ]; }
	wait_until is_recorded
	ptrace-filter --add --all "$me.a"
	ptrace-filter --remove --all "$me.a"
	[ -z "$(filtered)" ]
	echo >go
	wait "$pid"
	ptrace-shutdown "$me.a"
	counts run.log one.event=0 two.event=10 three.event=10
}

@test "a name nobody knows is refused with those that are like it, and nothing is changed" {
	make_session
	ptrace-filter --add "$me.a" posix_trace_stop
	for action in --set --add --remove; do
		refuses 1 "tracd.event: * (did you mean 'traced.event'\?)" ptrace-filter "$action" "$me.a" posix_trace_start tracd.event
	done
	reports 1 '*' ptrace-filter --add "$me.a" 'nothing.*'
	reports 1 '*' ptrace-filter --add "$me.a" $'a"b\nc\e'
	reports 1 '*' ptrace-filter --add --new "$me.a" "$(printf '%0256d' 0)"
	[ "$(filtered)" = posix_trace_stop ]
}

@test "--new: what is given holds for names that come later" {
	make_session -e later.event
	says_nothing ptrace-filter --add --new "$me.a" new.event 'wait*'
	[ "$(filtered)" = $'--exclude=new.event\n--exclude=wait*' ]
	ptrace-filter --json "$me.a" | jq -e '.globs == [
		{"glob": "new.event", "how": "exclude", "matched": false},
		{"glob": "wait*", "how": "exclude", "matched": false}]'
	# Twice is once.
	ptrace-filter --add --new "$me.a" new.event
	ptrace-filter --remove "$me.a" 'wait*'
	[ "$(filtered)" = --exclude=new.event ]
	ptrace-filter --add --new "$me.a" 'later.*'
	[ "$(filtered)" = $'later.event\n--exclude=new.event\n--exclude=later.*' ]
	ptrace-filter --json "$me.a" | jq -e '.globs[1].matched'
	# A name is taken out, and stays out when the session gets another pattern.
	ptrace-filter --remove "$me.a" later.event
	ptrace-filter --add --new "$me.a" 'other*'
	[[ $(filtered) != *later.event* ]]
	ptrace-filter --set "$me.a"
	[ -z "$(filtered)" ]
}

@test "--only and --exclude replace the patterns of a running session" {
	make_session -e some.noise
	says_nothing ptrace-filter --exclude='*.noise' "$me.a"
	[ "$(filtered)" = $'some.noise\n--exclude=*.noise' ]
	go done
	ptrace-filter --only='x.*' --only='y.*' --exclude=x.y "$me.a"
	[ "$(filtered | grep -- --)" = $'--only=x.*\n--only=y.*\n--exclude=x.y' ]
	ptrace-filter --json "$me.a" >filter
	valid filter <filter
	jq -e '[.globs[].how] == ["only", "only", "exclude"]' filter
	ptrace-shutdown "$me.a" 2>/dev/null
	counts run.log some.noise=0 posix_trace_filter=2
}

@test "a pattern holds from the first event of a name that is opened later" {
	mkfifo go
	# The shell is traced, and traces its children.
	begins pid bash -c 'read -r <go; exec 7<>go; for name in waited.event sound; do
		"$0" -n 100 -e $name; done; "$0" -n 1 -W -e end' "$traced" >out
	ptrace-create --pid="$pid" --name="$me.a" --start --keep -o run.log
	ptrace-filter --add --new "$me.a" 'wait*'
	echo >go
	is_filtered() { ptrace-filter "$me.a" | grep -qx waited.event; }
	wait_until is_filtered
	has_ended() { ptrace-events "$me.a" | grep -q end; }
	wait_until has_ended
	ptrace-shutdown "$me.a"
	counts run.log waited.event=0 sound=100
}

@test "--remove filters out nothing that was recorded: it leaves the patterns of --only" {
	make_session
	ptrace-filter --only=traced.event --only='traced.*' "$me.a"
	ptrace-filter --add "$me.a" traced.event
	ptrace-filter --remove "$me.a" traced.event 'traced.*'
	[ "$(filtered | grep traced)" = $'--only=traced.event\n--only=traced.*' ]
	# Only the pattern of --exclude is one that --remove knows.
	ptrace-filter --only=late.event --exclude=later.event "$me.a"
	refuses 1 'late.event: no event type of session*' ptrace-filter --remove "$me.a" late.event
	ptrace-filter --remove "$me.a" later.event
	[ "$(filtered | grep -- --)" = --only=late.event ]
	ptrace-filter --remove "$me.a" '*'
	[ "$(filtered)" = --only=late.event ]
	go done
	ptrace-shutdown "$me.a" 2>/dev/null
	counts run.log traced.event=10
}

@test "clear empties it, and the patterns stay" {
	make_session
	ptrace-filter --add "$me.a" posix_trace_stop
	ptrace-filter --add --new "$me.a" 'traced.*' 'wait*'
	ptrace-filter --remove "$me.a" traced.event
	ptrace-clear "$me.a"
	[ "$(filtered)" = $'traced.event\n--exclude=traced.*\n--exclude=wait*' ]
	go done
	ptrace-shutdown "$me.a" 2>/dev/null
	counts run.log traced.event=0 posix_trace_stop=1
}

@test "clear leaves system events to a pattern that was set again" {
	make_session
	ptrace-filter --set --all "$me.a"
	ptrace-filter --set --all "$me.a"
	ptrace-clear "$me.a"
	[ "$(filtered | grep -c '^posix_trace_')" -eq 9 ]
	ptrace-shutdown "$me.a" 2>/dev/null
	counts run.log posix_trace_stop=0
}

@test "as many patterns as can be are shown, and more refused" {
	make_session
	ptrace-filter --add --new "$me.a" $(seq -f 'some-quite-long-name.%.0f' 250)
	[ "$(filtered | wc -l)" -eq 250 ]
	reports 1 "another.7: there is no room for another pattern*" ptrace-filter --add --new "$me.a" $(seq -f 'another.%.0f' 7)
	[ "$(filtered | wc -l)" -eq 250 ]
	reports 1 "other.257: there is no room for another pattern*" ptrace-filter $(seq -f '--exclude=other.%.0f' 257) "$me.a"
	ptrace-filter $(seq -f '--exclude=other.%.0f' 256) "$me.a"
	[ "$(filtered | wc -l)" -eq 256 ]
	reports 1 '*' ptrace-filter --add --new "$me.a" $(seq -f 'x%060.0f' 2000)
}

@test "thousands of names are shown" {
	record "$me.a" -- -N 8000
	ptrace-filter --add "$me.a" 'traced.event.*'
	[ "$(filtered | wc -l)" -eq 8000 ]
	[ "$(ptrace-events --names "$me.a" | wc -l)" -eq $((9 + 1 + 8000)) ]
	ptrace-filter --exclude='*' "$me.a"
	[ "$(filtered | wc -l)" -eq $((9 + 1 + 8000 + 1)) ]
}

@test "a name that is empty" {
	make_session
	for how in --add '--set --new' '--remove --all'; do
		reports 2 '*' ptrace-filter $how "$me.a" traced.event ''
	done
	[ -z "$(filtered)" ]
}

@test "wrong command lines" {
	for line in '--set --add s' '--remove --new s e' '--add s' 's e' '--new s' '--all s' '--add' '--only=x' \
		'--only= s' '--only=x s e' '--only=x --new s' '--exclude=x --add s'; do
		reports 2 '*' ptrace-filter $line
	done
	reports 1 "$me.nobody: no such session" ptrace-filter "$me.nobody"
	reports 1 '*' ptrace-filter --set "$me.nobody"
}
