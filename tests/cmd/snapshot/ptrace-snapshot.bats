#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../../support/helpers

plain() {
	jq -c 'del(.type_id, .log)' "$@"
}

# same_dump LOG SESSION: the log has the events that the session has
same_dump() {
	ptrace-dump --allow-loss "$1" | plain >copied
	ptrace-dump --allow-loss "$2" | plain >original
	[ -s original ]
	diff original copied
}

# begin NAME OPTION...: traces a program that has recorded 50 events and waits
begin() {
	record "$@" -- -n 50
}

@test "if the flush fails the snapshot says that events are missing" {
	traced_start -w -W -n 9000 -s 100
	mkdir disk
	own_mounts 'mount -t tmpfs -o size=300k none disk
		ptrace-create --pid="$2" --name="$1" --start -o disk/run.log
		ptrace-event --pid="$2" early
		ptrace-flush "$1"
		echo >&7
		until grep -qx done out; do sleep 0.02; done
		ptrace-snapshot -o snap.log "$1" || echo "status $?"
		ptrace-shutdown --allow-loss "$1"' "$me" "$pid"
	[[ $stderr == *"earlier events are in its log, "* && $stdout == *"status 3"* ]]
	reports 3 "snap.log: *" ptrace-dump --verify snap.log
	[ "$(ptrace-dump --allow-loss --count --event=traced.event snap.log)" -eq 9000 ]
}

@test "what a stream without a log holds becomes a closed log, and stays in it" {
	begin "$me.a"
	for log in one.log two.log; do
		silently 0 ptrace-snapshot "$me.a" -o "$log"
		[ "$stdout" = "$me.a: 51 events in $log" ]
		[ "$(events "$log" traced.event)" -eq 50 ]
		same_dump "$log" "$me.a"
		ptrace-dump --verify "$log"
	done
	[ "$(stat -c %a one.log)" = 600 ]
	[ "$(ptrace-stat --json one.log | jq -r .attributes.trace_name)" = "$me.a" ]
	# It tells whose it is, too.
	ptrace-stat --json one.log | jq -e --argjson pid "$pid" --arg host "$(uname -n)" \
		'.host.name == $host and any(.processes[]; .pid == $pid and (.mappings | length) > 0)'
	# The session goes on.
	ptrace-event --pid="$pid" later
	ptrace-snapshot --output=two.log "$me.a"
	[ "$(events two.log)" -eq 52 ]
	[ "$(ptrace-stat --json "$me.a" | jq -r .status.stream)" = running ]
	ptrace-shutdown "$me.a"
}

@test "a stream that has overwritten the oldest: what is left, and status 3" {
	record "$me.a" --stream-full-policy=loop --stream-min-size=16K -- -n 100000
	reports 3 '*' ptrace-snapshot -o s.log "$me.a"
	[[ $stdout == "$me.a: "*" events in s.log" ]]
	same_dump s.log "$me.a"
	# The newest one is there.
	[ "$(ptrace-dump --allow-loss --last=1 s.log | jq -r .data)" = 99999 ]
	ptrace-snapshot --allow-loss --json -o t.log "$me.a" >json 2>messages
	jq -e '.losses.stream_events > 0 and (.complete | not)' json
	[ "$(wc -l <messages)" -eq 1 ]
	[ "$(jq .losses.stream_events json)" -eq \
		"$(ptrace-stat --allow-loss --json t.log | jq .losses.stream_events)" ]
	[ "$(jq .events json)" -eq "$(events t.log)" ]
	valid snapshot <json
}

@test "a program that records as fast as it can leaves the better part of the stream" {
	traced_session "$me.a" --stream-full-policy=loop --stream-min-size=8M --start \
		-- -w -n 2000000000
	go
	overwrites() { [ "$(ptrace-stat --allow-loss --json "$me.a" 2>/dev/null | jq .losses.stream_events)" -gt 0 ]; }
	wait_until overwrites
	# All that the stream holds.
	kill -STOP "$pid"
	all=$(ptrace-dump --allow-loss --count --format=text "$me.a" 2>/dev/null)
	kill -CONT "$pid"
	# The machine may have no processor for the session at any moment.
	has_the_better_part() {
		run_split ptrace-snapshot --json -o s.log "$me.a"
		[ "$status" -eq 3 ] && jq -e --argjson all "$all" '.losses.stream_events > 0 and .events > $all / 2' <<<"$stdout"
	}
	wait_until has_the_better_part
	kill -KILL "$pid"
	# Nothing is missing behind the gap.
	ptrace-dump --verify --allow-loss s.log 2>/dev/null
	ptrace-dump --allow-loss --event=traced.event --first=100000 s.log 2>/dev/null | jq -r .data >numbers
	[ "$(wc -l <numbers)" -ge 1000 ]
	awk 'NR > 1 && $1 != before + 1 { exit 1 } { before = $1 }' numbers
}

@test "a session that flushes to a log of its own: all of that" {
	begin "$me.a" -o own.log
	ptrace-flush "$me.a"
	ptrace-event --pid="$pid" later
	ptrace-snapshot -o s.log --json "$me.a" >json
	valid snapshot <json
	jq -e --arg me "$me.a" '.version == 1 and .session == $me and .log == "s.log" and .complete' json
	counts s.log traced.event=50 later=1
	[ "$(jq .events json)" -eq "$(events s.log)" ]
	# Its own log is none to write to.
	reports 1 "own.log: another trace is writing to this file" ptrace-snapshot -o own.log --force "$me.a"
	ptrace-shutdown "$me.a"
	[ "$(events own.log traced.event)" -eq 50 ]
}

@test "a session that flushes on command only: what the stream holds" {
	begin "$me.a" -o own.log --stream-full-policy=until-full
	ptrace-flush "$me.a"
	ptrace-event --pid="$pid" later
	reports 0 "$me.a: * earlier events are in its log, *own.log" ptrace-snapshot -o s.log "$me.a"
	counts s.log later=1 traced.event=0
}

@test "a session whose log was deleted: its earlier events are missing" {
	# With this policy no event is flushed until the command asks for it.
	begin "$me.a" -o own.log --stream-full-policy=loop
	ptrace-flush "$me.a"
	rm own.log
	ptrace-event --pid="$pid" later
	for command in "ptrace-snapshot -o s.log" ptrace-dump 'ptrace-dump --count' 'ptrace-report -o r.html' 'ptrace-export --to=csv'; do
		# shellcheck disable=SC2086 # words
		reports 3 "$me.a: the log is not there any more*" $command "$me.a"
	done
	ptrace-snapshot --allow-loss -o s.log --json "$me.a" 2>/dev/null | jq -e '.losses.log_gone and (.complete | not)'
	counts s.log later=1 traced.event=0
	# So does what was made from it.
	reports 3 "s.log: events may be missing, and it is not known how many, as what this log was made from *" ptrace-dump s.log
}

@test "wrong names, and a session that was killed" {
	for name in "$me.nobody" ./run.log '' $'a\nb'; do
		reports 1 "*: no such session" ptrace-snapshot -o s.log "$name"
		[ ! -e s.log ]
	done
	begin "$me.g"
	controller=$(controller "$me.g")
	kills "$controller" "$pid"
	reports 1 "*the session is gone*'ptrace-salvage *' writes it" ptrace-snapshot -o s.log "$me.g"
	[ ! -e s.log ]
	ptrace-salvage --all --discard
}

@test "only a log is replaced; standard output is none" {
	begin "$me.a"
	echo mine >text
	refuses 1 "text: exists and is not a trace log*" ptrace-snapshot -o text "$me.a"
	[ "$(cat text)" = mine ]
	ptrace-snapshot -o text --force "$me.a"
	ptrace-snapshot -o text "$me.a"
	[ "$(events text)" -eq 51 ]
	reports 1 '*' ptrace-snapshot -o no/s.log "$me.a"
	for to in - '' /dev/stdout; do
		refuses 2 '*' ptrace-snapshot -o "$to" "$me.a"
	done
	reports 2 "no --output given.*" ptrace-snapshot "$me.a"
	exits 2 ptrace-snapshot -o a.log -o b.log "$me.a"
	exits 2 ptrace-snapshot -o a.log "$me.a" "$me.b"
	prints 1 '' bash -c 'ulimit -f 2; trap "" XFSZ; exec ptrace-snapshot -o "$1" "$2"' _ full.log "$me.a"
	[ "$stderr" = "ptrace-snapshot: full.log: writing the log failed: File too large" ]
}

@test "a run is a session, too" {
	listens pid done ptrace-run -o run.log --name="$me.r" -- "$traced" -W -n 20
	ptrace-snapshot -o s.log "$me.r"
	[ "$(events s.log traced.event)" -eq 20 ]
	go done
	wait $!
	[ "$(events run.log traced.event)" -eq 20 ]
}
