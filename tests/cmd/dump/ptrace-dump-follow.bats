#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# ptrace-dump --follow: a session's events as they come.

load ../../support/helpers

# Whether the follower has the session's socket.
is_connected() {
	[ -n "$(find "/proc/$follower/fd" -lname 'socket:*' 2>/dev/null)" ]
}

# follow OPTION...: in the background, into lines; $follower is its process
follow() {
	# Else it would ignore the interrupt, as whatever a script starts in the background.
	begins follower env --default-signal=INT ptrace-dump --follow="$me" "$@" >lines 2>errors 7>&-
	wait_until is_connected
}

# Without automatic flushes, as whoever begins to follow is not shown what has been flushed.
create() {
	ptrace-create --pid="$pid" --name="$me" -o run.log --start --stream-full-policy=until-full \
		"$@"
}

# begin OPTION...: a traced program that waits, a session that is running
begin() {
	traced_start -w -W "$@"
	create --stream-min-size=64M
}

# has_flushed TYPE COUNT: run.log, which has no end yet, has so many events of the type
has_flushed() {
	[ "$(ptrace-dump --count -e "$1" run.log 2>/dev/null)" -eq "$2" ]
}

# go_unseen: 5,000 events are flushed and taken out of the stream while the session stands still
go_unseen() {
	controller=$(controller "$me")
	kill -STOP "$controller"
	go
	wait_until has_flushed traced.event 5000
	# What is in the log may still be in the stream: the keeper waits a little for who follows. It
	# writes the next events when these are taken out.
	ptrace-event --pid="$pid" next
	wait_until has_flushed next 1
	kill -CONT "$controller"
}

has_line() {
	grep -q -- "$1" lines
}

# ended STATUS: the follower ends by itself, with the status
ended() {
	local status=0
	wait_until is_ended "$follower"
	wait "$follower" || status=$?
	[ "$status" -eq "$1" ] || {
		cat errors
		return 1
	}
}

# shut STATUS: the session ends, and with it the follower, with the status
shut() {
	ptrace-shutdown "$me"
	ended "$1"
}

@test "both events of a flush are shown" {
	begin -n 3
	follow -e 'posix_trace_flush*'
	# The machine may have no processor for the session at a moment.
	shows_both() { ptrace-flush "$me" && has_line posix_trace_flush_start && has_line posix_trace_flush_stop; }
	wait_until shows_both
	shut 0
}

@test "events are shown as they come, and reach the log" {
	begin -n 3
	follow
	wait_until has_line posix_trace_start
	fails has_line traced.event
	go done
	wait_until has_line '"data":"2"'
	fails is_ended "$follower"
	shut 0
	[ ! -s errors ]
	[ "$(jq -r 'select(.event == "traced.event").data' lines | tr '\n' ' ')" = '0 1 2 ' ]
	tail -n 1 lines | jq -e '.event == "posix_trace_stop"'
	[ "$(events run.log traced.event)" -eq 3 ]
	valid event <lines
}

@test "the session ends with its process, and the following with it" {
	traced_start -w
	create
	follow --format=text
	wait_until has_line posix_trace_start
	go
	ended 0
	has_line traced.event
}

@test "selections, fields and layouts work as with a log" {
	begin -n 20
	follow --where='data >= 17 && time >= "+0s"' --since=+0s --fields=event,data --summary
	go done
	wait_until has_line '{"event":"traced.event","data":"19"}'
	shut 0
	[ "$(head -n 3 lines | jq -r .data | tr '\n' ' ')" = '17 18 19 ' ]
	tail -n 1 lines | jq -e --arg me "$me" '.summary |
		.shown == 3 and .complete and .logs[0].session == $me'
	[ "$(wc -l <lines)" -eq 4 ]
}

# shows COUNT: so many lines have come
shows() {
	[ "$(wc -l <lines)" -eq "$1" ]
}

@test "gap: the time since the event before of the same thread" {
	local fields=ns,tid,event,gap
	begin -n 50 -t 2
	follow --format=text --fields=$fields -e traced.event --where='gap >= 0s'
	go done
	wait_until shows 98
	ptrace-dump "$me" --format=text --fields=$fields -e traced.event >now
	shut 0
	ptrace-dump --format=text --fields=$fields -e traced.event run.log >log
	[ "$(wc -l <log)" -eq 100 ]
	[ "$(grep -c ' -$' log)" -eq 2 ]
	diff now log
	grep -v ' -$' log | diff -b lines -
}

@test "it ends after the first ones, which layouts select as well" {
	begin -X 05000000 -n 100
	follow -e traced.event --decode='*=u32 n' --where='data.n == 5' --first=3
	go
	ended 0
	[ "$(grep -c '"data":{"n":5}' lines)" -eq 3 ]
	[ "$(wc -l <lines)" -eq 3 ]
}

@test "it ends at its time, though nothing happens" {
	traced_start -w -W
	# Without a log nothing is recorded for its sake either.
	ptrace-create --pid="$pid" --name="$me"
	follow --until="@$(($(date +%s) + 1))" --count
	ended 0
	[ "$(cat lines)" = 0 ]
	ptrace-start "$me"
	follow --until=+1ms --summary
	ended 0
	tail -n 1 lines | jq -e '.summary | .complete and .shown == 1'
	follow --until="@$(($(date +%s) + 3600))"
	go
	wait_until has_line traced.event
	fails is_ended "$follower"
	shut 0
}

@test "around: the lines before are kept until the event comes, which meets its expression" {
	for around in 'posix_trace_sto?' '* where event == "posix_trace_stop"'; do
		begin -n 5 -e other -d text
		follow --around="$around" --context=1h,0s --fields=event
		go done
		[ ! -s lines ]
		shut 0
		[ "$(jq -r .event lines | grep -c other)" -eq 5 ]
		[ "$(tail -n 1 lines)" = '{"event":"posix_trace_stop"}' ]
	done
	reports 2 "*--around: cannot have times before the end of a session that goes on*" ptrace-dump --follow="$me" --around='x where time > "-1s"'
}

@test "around: a count has no header" {
	begin -n 5 -e other
	follow --around='posix_trace_stop' --context=1h,0s --count --header=always -e other
	go done
	shut 0
	[ "$(cat lines)" = 5 ]
}

@test "around: times are relative to the preceding line, not to events that were not shown" {
	begin -n 5 -e other
	follow --around=mark --context=1h,0s --relative --fields=time,event
	mv lines all
	all=$follower
	follow --around=mark --context=1us,0s --relative --fields=time,event
	ptrace-event "--pid=$pid" mark
	go done
	ptrace-event "--pid=$pid" mark
	shut 0
	ends 0 "$all"
	[ "$(grep -c other all)" -eq 5 ]
	[ "$(grep -c mark lines)" -eq 2 ]
	for shown in all lines; do
		tr -d +s <"$shown" | awk 'NR == 1 { first = $1 } { since += $2 } END { printf "%.6f %.6f\n", $1 - first, since }' >sums
		read -r passed since <sums
		[ "$passed" = "$since" ]
	done
}

@test "an interrupt ends it, as the signal does, with the count" {
	begin -n 5
	follow -e traced.event --summary
	go
	wait_until has_line '"data":"4"'
	kill -INT "$follower"
	ended 130
	tail -n 1 lines | jq -e '.summary.shown == 5'
	follow
	kill -TERM "$follower"
	ended 143
	ptrace-stat "$me"
	ptrace-shutdown "$me"
}

@test "a reader that ends early ends it quietly, though no event comes" {
	begin
	(ptrace-dump --follow="$me" 2>stderr.txt 3>&- 7>&-; echo $? >status.txt) |
		head -n 1 >line &
	wait_until test -s line
	wait_until test -s status.txt
	[ "$(cat status.txt)" -eq 0 ]
	[ ! -s stderr.txt ]
}

@test "the first signal ends it while nobody reads its output" {
	local followers=() _
	begin -n 20000 -s 50
	mkfifo pipe
	exec 8<>pipe
	for _ in 1 2; do
		ptrace-dump --follow="$me" >pipe 2>errors 3>&- 7>&- 8>&- &
		followers+=("$!")
		pids="$pids $!"
	done
	go
	# Not by the bytes in it: a write may leave a part of a page unused.
	is_full() {
		python3 -c 'import select, sys; sys.exit(len(select.select([], [8], [], 0)[1]))'
	}
	wait_until is_full
	kill -TERM "${followers[0]}"
	ends 143 "${followers[0]}"
	kill -HUP "${followers[1]}"
	ends 129 "${followers[1]}"
	exec 8>&-
}

@test "what was flushed before the session could show it is told, also when interrupted" {
	local all=() n
	traced_start -w -W -n 5000
	ptrace-create --pid="$pid" --name="$me" -o run.log --start >/dev/null
	for n in 1 2 3 4 5 6 7 8; do
		follow --count --user
		all+=("$follower")
		mv errors "errors.$n"
	done
	go_unseen
	# It counts once in a while, so one of them is told at last, each later than the one before.
	for n in 1 2 3 4 5 6 7 8; do
		read -rt "$n" -u "$idle" || true
		kill -INT "${all[n - 1]}"
		wait "${all[n - 1]}" || true
		! grep -q "shown" "errors.$n" || break
	done
	[[ "$(<"errors.$n")" == "ptrace-dump: $me: 500"[01]" events not shown, as they were overwritten or flushed first" ]]
	ptrace-shutdown "$me"
}

@test "what was missed before a clear remains missed" {
	is_shown() {
		ptrace-event --pid="$pid" here
		has_line here
	}
	traced_start -w -W -n 5000
	ptrace-create --pid="$pid" --name="$me" -o run.log --start >/dev/null
	follow
	wait_until is_shown
	go_unseen
	ptrace-clear "$me"
	shut 3
	grep -q "^ptrace-dump: $me: 50[0-9]* events not shown" errors
	# In a stream that overwrites them.
	traced_session "$me" --stream-min-size=16K --start -- -w -W -n 100000
	follow
	wait_until is_shown
	controller=$(controller "$me")
	kill -STOP "$controller"
	go done
	kill -CONT "$controller"
	ptrace-clear "$me"
	shut 3
	grep -q "^ptrace-dump: $me: [0-9]* events lost in the stream" errors
}

@test "all who follow a session that is killed tell this apart from its end" {
	begin
	is_following() {
		ptrace-stop "$me"
		ptrace-start "$me"
		has_line posix_trace_stop
	}
	for n in 1 2 3 4; do
		follow
		wait_until is_following
		mv lines lines$n
		mv errors errors$n
		followers="$followers $follower"
	done
	kill -KILL "$(controller "$me")"
	touch errors
	for follower in $followers; do ended 1; done
	[ "$(grep -c "^ptrace-dump: $me: the session was killed" errors?)" = "errors1:1
errors2:1
errors3:1
errors4:1" ]
}

@test "a session that ended is not taken for another one of its name" {
	begin -n 200000 -s 100
	follow
	wait_until has_line posix_trace_start
	kill -STOP "$follower"
	go done
	ptrace-shutdown "$me"
	ptrace-create --pid="$pid" --name="$me"
	kill -CONT "$follower"
	ended 3
	grep -q "^ptrace-dump: $me: the session ended before all events" errors
	fails grep -q killed errors
}

# numbers FILE: the numbers of the events in it, on one line
numbers() {
	jq -r 'select(.event == "traced.event").data' "$1" | tr '\n' ' '
}

@test "all who follow, and who asks, are shown every event of a session without a log" {
	traced_session "$me" --start -- -w -W -n 5
	for n in 1 2 3; do
		follow
		mv lines lines$n
		mv errors errors$n
		followers="$followers $follower"
	done
	go done
	ptrace-dump "$me" >first
	ptrace-dump "$me" >second
	cmp first second
	[ "$(numbers first)" = '0 1 2 3 4 ' ]
	# Who comes late gets them, too.
	follow
	mv lines lines4
	followers="$followers $follower"
	ptrace-shutdown "$me"
	for follower in $followers; do
		ends 0 "$follower"
	done
	cat errors*
	[ -z "$(cat errors*)" ]
	for n in 1 2 3 4; do
		[ "$(numbers lines$n)" = '0 1 2 3 4 ' ]
		[ "$(tail -n 1 lines$n | jq -r .event)" = posix_trace_stop ]
	done
}

@test "machine and process are fields of events of a session, too" {
	traced_session "$me" --start -- -w -W -n 5
	follow --where="comm == 'traced' && exe == '$traced' && user == $(id -u) && host == '$(uname -n)'" \
		-e traced.event --fields=data,host,comm,command_line
	mv lines lines1
	one=$follower
	follow --count --where="comm == 'other'"
	go done
	ptrace-dump -e traced.event --fields=comm --where="comm == 'traced'" "$me" >now
	[ "$(jq -r .comm now | sort | uniq -c | tr -s ' ')" = ' 5 traced' ]
	shut 0
	[ "$(cat lines)" = 0 ]
	wait "$one"
	cat lines1
	jq -se --arg traced "$traced" --arg host "$(uname -n)" 'length == 5 and all(.[]; .comm == "traced" and
		.host == $host and .command_line == "\($traced) -w -W -n 5")' lines1
}

@test "command lines that are secret are not sent to who follows" {
	traced_session "$me" --start --no-command-line -- -w -W -n 5
	follow -e traced.event --fields=data,comm,command_line
	go done
	shut 0
	jq -se 'length == 5 and all(.[]; .comm == "traced" and (has("command_line") | not))' lines
}

@test "what the stream overwrote before it was shown is a gap, and counted" {
	traced_session "$me" --start --stream-min-size=64K -- -w -W -n 100000
	follow --summary
	wait_until has_line posix_trace_start
	kill -STOP "$follower"
	go done
	kill -CONT "$follower"
	shut 3
	has_line posix_trace_overflow
	has_line posix_trace_resume
	lost=$(tail -n 1 lines | jq '.summary.logs[0].losses.stream_events')
	[ "$lost" -gt 0 ]
	[ "$((lost + $(grep -c traced.event lines)))" -eq 100000 ]
	grep -q "^ptrace-dump: $me: $lost events lost in the stream" errors
}

@test "what was lost before the follower came is not its own" {
	record "$me" --stream-min-size=64K -- -n 50000
	follow
	wait_until has_line traced.event
	shut 0
	fails has_line posix_trace_overflow
	[ ! -s errors ]
}

@test "what a session has now: gaps, selections, the log" {
	traced_session "$me" --start --stream-min-size=64K -- -w -W -n 50000
	ptrace-create --pid="$pid" --name="$me.log" --start -o run.log
	ptrace-create --pid="$pid" --name="$me.loop" --start -o loop.log --stream-full-policy=loop
	go done
	reports 3 "$me: * events lost in the stream, which was full" ptrace-dump --summary --last=1 --fields=event "$me"
	tail -n 1 stdout.txt | jq -e --arg me "$me" '.summary.logs[0] |
		.session == $me and .losses.stream_events > 0'
	[ "$(head -n 1 stdout.txt)" = '{"event":"traced.event"}' ]
	prints 3 1 ptrace-dump --count --since=+0s --around='posix_trace_over*' --context=0s,0s "$me"
	# All of it, whether it was in the log already or not; and no word about an end.
	prints 0 50000 ptrace-dump --count -e traced.event "$me.log"
	[ -z "$stderr" ]
	# Here a flush is the user's choice.
	ptrace-flush "$me.loop"
	ptrace-event "--pid=$pid" mine
	reports 0 "*earlier events are in its log, */loop.log*" ptrace-dump --fields=event -e mine "$me.loop"
	[ "$stdout" = '{"event":"mine"}' ]
	[ "$(ptrace-dump --count -e mine --allow-loss loop.log 2>/dev/null)" -eq 0 ]
	ptrace-shutdown --allow-loss "$me" "$me.log" "$me.loop"
	reports 1 "$me: no such session or log" ptrace-dump "$me"
}

@test "what a session with a log has lost is not in its log yet, and is reported all the same" {
	lossy_session run.log
	for options in --summary --count --verify --to-log=copy.log; do
		reports 3 "*/run.log: * events lost in the stream, which was full" ptrace-dump "$options" "$me"
	done
	reports 3 "*events lost in the stream*" ptrace-snapshot -o held.log "$me"
	lost=$(ptrace-stat --json --allow-loss "$me" | jq .losses.stream_events)
	[ "$lost" -gt 0 ]
	for log in copy.log held.log; do
		[ "$(ptrace-stat --json --allow-loss $log | jq .losses.stream_events)" -eq "$lost" ]
	done
	ptrace-shutdown --allow-loss "$me"
}

@test "a copy of a session's log says how large the largest data was that was cut" {
	traced_session "$me" --start -o run.log --max-data-size=4 -- -w -W -d abcdefgh
	go done
	ptrace-dump --to-log=copy.log "$me"
	[ "$(ptrace-stat --json copy.log | jq .counts.data_needed)" = 8 ]
}

@test "a session of that name, a log of that name, ptrace.log" {
	reports 2 "*there is no ptrace.log in this directory*" ptrace-dump
	ptrace-run -o "$me" -- "$traced" -n 2
	ptrace-run -- "$traced" -n 3
	[ "$(ptrace-dump --count -e traced.event)" -eq 3 ]
	[ "$(ptrace-dump --count -e traced.event "$me")" -eq 2 ]
	begin
	[ "$(ptrace-dump --count -e traced.event "$me")" -eq 0 ]
	[ "$(ptrace-dump --count -e traced.event ./"$me")" -eq 2 ]
	[ "$(ptrace-dump --count -e traced.event ./"$me" "$me" ptrace.log)" -eq 5 ]
}

@test "what makes no sense is a wrong usage" {
	touch some.log
	for options in some.log --last=3 --since=-5s --until=-1s --follow=other; do
		refuses 2 '*' ptrace-dump --follow="$me" "$options"
	done
	reports 1 "$me: *" ptrace-dump --follow="$me"
}

@test "closed standard output is an error, and nothing is sent to the session instead" {
	begin -n 3
	begins follower env --default-signal=INT ptrace-dump --follow="$me" >&- 2>errors 7>&-
	go
	ended 1
	[ "$(cat errors)" = 'ptrace-dump: standard output: Bad file descriptor' ]
	ptrace-shutdown "$me"
}
