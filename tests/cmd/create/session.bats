#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # options that are several words
# Sessions as such: followed, disturbed, ended in every way.

load ../../support/helpers

peer=$PTRC_BUILD/tests/support/session_peer

# follow SESSION: follows in the background, into the file live; $follower
follow() {
	rm -f live live.err
	begins follower "$peer" follow "$1" >live 2>live.err 7>&-
	wait_until grep -q . live live.err
	[ "$(head -n 1 live)" = following ]
}

ended() {
	tail -n 1 live | grep -q '^end '
}

# shut_down: the session, and the follower has all of it
shut_down() {
	ptrace-shutdown "$me.a"
	wait_until ended
}

is_live() {
	[ "$(grep -c "$1" live)" -ge "$2" ]
}

@test "no event is flushed away before it is shown" {
	local unshown=400 shown attempt=0
	# A flush waits for who follows, but not for ever: on a busy machine somebody may be late,
	# and is told exactly what is missing.
	while [ "$unshown" -gt 0 ]; do
		[ "$((++attempt))" -le 20 ]
		# Longer than two automatic flushes, and an event in every moment of them.
		traced_session "$me.$attempt" --start -o run.log -- -w -n 400 -p 5000
		follow "$me.$attempt"
		go
		wait_until ended
		shown=$(grep -c '^traced.event ' live)
		unshown=$(awk '/^end / {print $3}' live)
		[ "$((shown + unshown))" -eq 400 ]
		[[ $(tail -n 1 live) == *" $unshown 0" ]]
		[ "$(events run.log posix_trace_flush_start)" -ge 2 ]
	done
}

@test "several follow; one is killed, the others go on" {
	traced_session "$me.a" --start -o run.log -- -w -W -n 10
	follow "$me.a"
	mv live first
	follow "$me.a"
	kills "$follower"
	mv live killed
	follow "$me.a"
	go done
	shut_down
	[ "$(grep -c '^traced.event ' live)" -eq 10 ]
	mv first live
	wait_until ended
	[ "$(grep -c '^traced.event ' live)" -eq 10 ]
}

@test "no more than 64 follow" {
	traced_session "$me.a" -- -w
	for _ in {1..64}; do follow "$me.a"; done
	exits 1 "$peer" follow "$me.a"
	[[ $stderr == *"too many processes follow this session"* ]]
	[ "$(wc -l <stderr.txt)" -eq 1 ]
	ptrace-shutdown "$me.a"
}

@test "a flood, and data larger than a message, are shown whole" {
	traced_session "$me.a" --start -o run.log --max-data-size=1M --stream-min-size=32M \
		-- -w -W -n 100 -s 100000
	follow "$me.a"
	go done
	shut_down
	[ "$(grep -Ec "^traced.event $pid $pid 100000 x*\$" live)" -eq 100 ]
	[ "$(cut -d' ' -f5 live | tr -dc x | wc -c)" -eq 10000000 ]
	[[ $(tail -n 1 live) == "end "*" 0 0" ]]
}

# stand_still EVENTS [OPTION...]: so many are recorded while the follower stands still
stand_still() {
	traced_session "$me.a" --start -o run.log --max-data-size=16M --stream-min-size=64M \
		-- -w -W -n "$@"
	follow "$me.a"
	kill -STOP "$follower"
	go done
}

@test "an event larger than a socket waits whole for a follower that is late" {
	stand_still 1 -s 16000000
	recorded() { [ "$(ptrace-stat --json "$me.a" | jq .counts.log_events)" -ge 1 ]; }
	wait_until recorded
	kill -CONT "$follower"
	shut_down
	# What the system records later may be missed.
	grep -q "^traced.event $pid $pid 16000000 " live
	[ "$(cut -d' ' -f5 live | tr -dc x | wc -c)" -eq 16000000 ]
}

@test "a follower that is too slow: shown and not shown add up" {
	stand_still 200000 -s 100
	recorded() { [ "$(ptrace-stat --json "$me.a" | jq .counts.log_events)" -ge 200000 ]; }
	wait_until recorded
	kill -CONT "$follower"
	shut_down
	read -r _ shown unshown error < <(tail -n 1 live)
	[ "$error" = 0 ]
	[ "$unshown" -gt 0 ]
	[ "$(events run.log traced.event)" -eq 200000 ]
	# The system's own events may or may not be among those that were missed.
	[ "$((shown + unshown))" -ge 200000 ]
	[ "$((shown + unshown))" -le "$(events run.log)" ]
}

@test "a follower that stands still does not hold up the end of the session" {
	stand_still 200000 -s 100
	timeout "$patience" ptrace-shutdown "$me.a"
	[ "$(events run.log traced.event)" -eq 200000 ]
	kill -CONT "$follower"
	wait_until ended
	[[ $(tail -n 1 live) == *rest ]]
}

@test "the session is killed while it is followed" {
	traced_session "$me.a" --start -o run.log -- -w -W -n 10
	follow "$me.a"
	go
	wait_until is_live '^traced.event ' 10
	kill -KILL "$(controller "$me.a")"
	wait_until ended
	[ "$(tail -n 1 live | cut -d' ' -f4)" -eq 104 ]
	# The follower may have looked before the kernel had closed the socket.
	ptrace-list >list
	[ ! -s list ] || run ! grep "$me" list
	[ "$(session_files)" -eq 0 ]
	[ "$(events run.log traced.event)" -eq 10 ]
	exits 3 ptrace-stat --json run.log
	jq -e '.losses.unknown and (.losses.unclosed | not)' stdout.txt
}

@test "cleared and flushed while it is followed" {
	traced_session "$me.a" --start -o run.log -- -w -W -n 10
	follow "$me.a"
	ptrace-flush "$me.a"
	ptrace-clear "$me.a"
	go
	wait_until is_live '^traced.event ' 10
	shut_down
	[[ $(tail -n 1 live) == *" 0 0" ]]
}

@test "nonsense on its socket does not disturb a session" {
	traced_session "$me.a" --start -o run.log -- -w -W -n 10
	timeout "$patience" "$peer" hostile "$me.a"
	go done
	ptrace-shutdown "$me.a"
	[ "$(events run.log traced.event)" -eq 10 ]
}

# Every command, with a session that answers that kind of nonsense; in a directory of its own.
meet_nonsense() {
	local kind=$1 name=$me.$1 c line
	mkdir "$kind" && cd "$kind" || return 1
	"$peer" listen "$name" "$kind" >listening 3>&- &
	local listener=$!
	wait_until grep -q listening listening || return 1
	for c in start stop flush clear shutdown stat events filter doctor list; do
		case $c in
		list) line=ptrace-list ;;
		*) line="ptrace-$c $name" ;;
		esac
		run_split timeout "$patience" $line
		echo "$kind: $line: $status" >>told
		# One with a state says that it has lost much, each kind of loss once. The list meets the
		# others, too.
		[ "$status" -le 3 ] || return 1
		[ "$c" = list ] || [ -z "$(sort stderr.txt | uniq -d)" ] || return 1
		[ "$c" = list ] || [ "$kind" = state ] || [ "$(wc -l <stderr.txt)" -le 1 ] || return 1
		[ "$kind" = state ] || [ "$status" -le 1 ] || return 1
	done
	run_split timeout "$patience" "$peer" follow "$name"
	[ "$status" -le 1 ] || return 1
	kill "$listener"
	wait "$listener" || true
	rm -f "/dev/shm/posixtrace-$EUID/c.$name"
}

# All kinds side by side, as commands wait for an answer of some of them.
@test "a session that answers nonsense: every command says so and ends" {
	local kind running=
	for kind in close short long magic version size page pages state follow log head; do
		meet_nonsense "$kind" 3>&- &
		running="$running $!"
	done
	for kind in $running; do
		wait "$kind" || { tail -n 1 ./*/told; false; }
	done
}

@test "who waits for events looks up, as a signal may come just before it waits" {
	traced_session "$me.a" -- -w
	follow "$me.a"
	wait_until is_live '^looked up' 1
	shut_down
}

# naps PID: how often it has gone to sleep. Who looks again and again for what is not there never does.
naps() {
	sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$1/status"
}

@test "few descriptors, many followers and silent connections: the session serves, and sleeps" {
	traced_start -w
	(ulimit -n 14; ptrace-create --pid="$pid" --name="$me.a")
	for n in 1 2 3 4 5 6 7 8; do
		begins follower "$peer" follow "$me.a" >live$n 2>&1
		wait_until test -s live$n
	done
	grep -q "too many processes follow this session, or it has too many open files" live8
	grep -q following live1
	timeout "$patience" ptrace-stat "$me.a"
	timeout "$patience" ptrace-list
	c=$(controller "$me.a")
	begins silent "$peer" silent "$me.a" >silent
	wait_until grep -q connected silent
	timeout "$patience" ptrace-stat "$me.a"
	# It looks for events 500 times a second.
	before=$(naps "$c")
	has_napped() { [ "$(naps "$c")" -ge $((before + 50)) ]; }
	wait_until has_napped
	ptrace-shutdown "$me.a"
}

@test "a name that had to be found leaves no descriptor open" {
	traced_start -w
	sockets() {
		find "/proc/$(controller "$1")/fd" -lname 'socket:*' | wc -l
	}
	for n in 1 2 3 4; do
		name=$(ptrace-create --pid="$pid")
		# The one that it listens on.
		is_alone() { [ "$(sockets "$name")" -eq 1 ]; }
		wait_until is_alone
		names="$names $name"
	done
	ptrace-shutdown $names
}

@test "mute sessions: the list has the others, and asks all at once" {
	traced_session "$me.a" -- -w
	for n in 1 2 3; do
		begins listener "$peer" listen "$me.x$n" mute >listening$n
		wait_until grep -q listening listening$n
	done
	begins list ptrace-list >stdout.txt 2>stderr.txt
	# It has a connection to each of them at the same time.
	asks_all() { [ "$(find "/proc/$list/fd" -lname 'socket:*' | wc -l)" -ge 3 ]; }
	wait_until asks_all
	ends 1 "$list"
	[ "$(grep -c "$me.x[123]: the session does not answer" stderr.txt)" -eq 3 ]
	[ "$(grep -c "^$me.a " stdout.txt)" -eq 1 ]
	rm -f "/dev/shm/posixtrace-$EUID/c.$me.x"[123]
}

@test "many commands at once on one session" {
	traced_session "$me.a" -o run.log -- -w
	running=
	for _ in 1 2 3 4 5; do
		for c in start stop flush clear stat events filter; do
			"ptrace-$c" "$me.a" >/dev/null 2>>errors 3>&- &
			running="$running $!"
		done
	done
	for p in $running; do wait "$p"; done
	[ ! -s errors ]
	ptrace-shutdown "$me.a"
}

@test "sessions end with their process: with a program that executes another one, and one that dies first" {
	traced_session "$me.a" -o run.log -- -w -n 10
	kill -KILL "$pid"
	wait_until no_session
	ptrace-stat run.log
	[ "$(events run.log 'traced.*')" -eq 0 ]
	mkfifo go
	begins pid bash -c 'read -r <go; exec "$0" -n 20' "$traced" >out
	ptrace-create --pid="$pid" --name="$me.a" --start -o exec.log
	echo >go
	wait_until no_session
	[ "$(events exec.log traced.event)" -eq 20 ]
	ptrace-stat exec.log
}

@test "every command tells its result as JSON" {
	traced_session "$me.a" -o run.log -- -w
	for c in start stop flush clear; do
		"ptrace-$c" --json "$me.a" >done
		valid session <done
		jq -e --arg c "$c" --arg s "$me.a" '. == {version: 1, session: $s, command: $c, error: 0}' done
	done
	ptrace-create --pid="$pid" --name="$me.b"
	reports 1 "$me.b: the session has no log" ptrace-flush --json "$me.b"
	valid session <stdout.txt
	jq -e '.error == 22 and .message == "the session has no log"' <<<"$stdout"
	reports 1 '*' ptrace-stop --json "$me.a" $'a"b\nc'
	valid session <stdout.txt
	jq -se '.[0].error == 0 and (.[1] | .session == "a\"b\nc" and .error == 2 and (.message | length > 0))' stdout.txt
	ptrace-shutdown --json "$me.a" "$me.b" >done
	valid session <done
	jq -se '.[0].complete and .[0].losses.stream_events == 0 and .[1].error == 0' done
}

@test "the time that a full stream stands still is not one that it runs" {
	record "$me.a" --stream-min-size=64K --stream-full-policy=until-full -- -n 10000 -s 100
	running_ns() { ptrace-stat --json "$me.a" | jq .running_ns; }
	ptrace-stat --json "$me.a" | jq -e '.status.stream == "suspended"'
	before=$(running_ns)
	[ "$before" -gt 0 ]
	[ "$(running_ns)" -eq "$before" ]
	# And goes on when there is room.
	ptrace-clear "$me.a"
	ptrace-start "$me.a"
	before=$(running_ns)
	[ "$(running_ns)" -gt "$before" ]
	ptrace-shutdown "$me.a"
}

@test "two end a session at once, and both have ended it" {
	traced_session "$me.a" --start -o run.log -- -w
	c=$(controller "$me.a")
	kill -STOP "$c"
	for n in 1 2; do
		ptrace-shutdown --json "$me.a" >out$n 2>&1 3>&- &
		last=$!
		ending="$ending $last"
		# It watches the controller from when it has a connection on.
		is_waiting() { find /proc/$last/fd -lname '*pidfd*' 2>/dev/null | grep -q .; }
		wait_until is_waiting
	done
	kill -CONT "$c"
	for p in $ending; do wait "$p"; done
	jq -e '.error == 0 and .complete' out1 out2
}

@test "all sessions are ended at once" {
	traced_start -w
	[ "$(ptrace-list --json | jq -s length)" -eq 0 ] || skip "others have sessions"
	ptrace-create --pid="$pid" --name="$me.a" -o a.log
	ptrace-create --pid="$pid" --name="$me.b" -o b.log
	says_nothing ptrace-shutdown --all
	[ "$(session_files)" -eq 0 ]
	ptrace-stat a.log b.log
	ptrace-shutdown --all
	exits 2 ptrace-shutdown --all "$me.a"
}

@test "a directory that is not safe is told by all who look into it" {
	for command in 'ptrace-list' 'ptrace-shutdown --all' 'ptrace-run "$1"' \
		'ptrace-create --pid=$$' 'ptrace-stat any'; do
		own_mounts "mount -t tmpfs -o mode=1777 tmpfs /dev/shm
			mkdir -m 700 /dev/shm/posixtrace-0
			chmod 755 /dev/shm/posixtrace-0
			$command" "$traced"
		[ "$status" -eq "$([[ $command == ptrace-run* ]] && echo 125 || echo 1)" ]
		[ -z "$stdout" ]
		assert_one_message "${command%% *}"
		[[ $stderr == *'not safe'* ]]
		[ "$command" = 'ptrace-stat any' ] || [[ $stderr == */dev/shm/posixtrace-0:* ]]
	done
}

@test "a session replaces its keeper at once if it is killed" {
	traced_start -w -n 2000 -s 500
	ptrace-create --start --pid="$pid" --name="$me.a" -o run.log --stream-min-size=4M --keep
	finds_keeper run.log
	[[ $(tr '\0' ' ' <"/proc/$keeper/cmdline") == "ptrace-keeper "* ]]
	killed=$keeper
	kill -KILL "$killed"
	# Nobody has to ask for it, nor to record anything.
	wait_until finds_keeper run.log "$killed"
	go
	wait_until is_ended "$pid"
	ptrace-shutdown "$me.a"
	[ "$(events run.log traced.event)" -eq 2000 ]
}

@test "a keeper that is killed soon after its start is not waited for longer than any other" {
	strace -qq -o /dev/null true || skip "strace cannot trace here"
	# The leak checker cannot look into what is traced.
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
	sleeper
	begins session strace -f -qq -o calls -e trace=/^p?poll$ ptrace-create --pid="$sleeper" --name="$me.a" -o run.log
	kills_keepers run.log
	wait_until finds_keeper run.log "$keeper"
	ptrace-shutdown "$me.a"
	ends 0 "$session"
	# The session sleeps without a descriptor to wait for only between two keepers: for less than 0.1 s.
	fails grep -E 'poll\(NULL, 0, ([0-9]{3,}|\{tv_sec=[1-9])' calls
}

@test "a log that stalls holds up no other command, and no end by a signal" {
	mkfifo fifo
	exec 8<>fifo
	traced_start -w -W -n 20000 8>&-
	ptrace-create --pid="$pid" --name="$me.a" --start -o fifo 8>&-
	control=$(controller "$me.a")
	go done
	begins flusher ptrace-flush "$me.a" >flushed 2>&1 8>&-
	is_flushing() { [ "$(ptrace-stat --json "$me.a" | jq -r .status.flushing)" = true ]; }
	wait_until is_flushing
	ptrace-stop "$me.a"
	ptrace-start "$me.a"
	ptrace-list | grep "$me.a"
	kill -TERM "$control"
	wait_until is_ended "$control"
	ends 1 "$flusher"
	[ "$(session_files)" -eq 0 ]
	exec 8>&-
}

@test "the log of a session that was just killed can be that of the next at once" {
	for round in 1 2 3; do
		record "$me" -o run.log -- 3000
		kill -KILL "$(controller "$me")"
	done
	record "$me" -o run.log -- 9
	ptrace-shutdown "$me"
	ptrace-dump --verify run.log
	[ "$(ptrace-dump --count --format=text --event='traced.*' run.log)" -gt 0 ]
}
