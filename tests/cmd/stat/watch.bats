#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # options that are several words

load ../../support/helpers

# watches OPTION...: begins ptrace-stat --watch of the session $me, with output to the file `live`, and waits until it
# has shown something; $watch is its process
watches() {
	begins watch ptrace-stat "$@" "$me" >live 2>live.err 7>&-
	wait_until test -s live
}

unwatch() {
	kill "$watch"
	ends 143 "$watch"
}

# counted EVENT COUNT: all lines of JSON together have so many events of the type
counted() {
	[ "$(jq -s --arg e "$1" '[.[].events[] | select(.event == $e).count] | add' live)" -eq "$2" ]
}

@test "rates: each event is in one interval, whatever counts it" {
	for options in --count-only '-o run.log' '--stream-full-policy=until-full'; do
		traced_session "$me" $options --start -- -w -W -n 3000 -t 3 -d abcd
		watches --watch=50ms --json
		go done
		wait_until counted traced.event 9000
		ptrace-shutdown "$me"
		ends 0 "$watch"
		[ ! -s live.err ]
		valid live <live
		jq -se --arg me "$me" 'all(.kind == "live" and .session == $me and .stream == "running" and
			.lost_events == 0 and .interval_ns > 0 and (has("pairs") | not)) and
			([.[].events[] | select(.event == "traced.event").bytes] | add) == 36000 and
			(.[-1] | .threads >= 3 and .since_creation.count > 9000) and
			([.[].count] | add) >= 9000' live
		go
		rm live run.log 2>/dev/null || true
	done
}

@test "rates: as text, the most frequent types first, and what --event and --user select" {
	record "$me" --count-only -- -N 3 -n 100 -d abcd
	watches --watch=50ms --utc
	head -n 4 live >first
	grep -Eq "^session $me, 20[0-9-]+T[0-9:.]+Z\$" first
	grep -Eq '^running, processes: 1, threads: 1, events lost: 0, in the last 0\.[0-9]{3} s: 0$' first
	grep -Eq '^ +events/s +bytes/s +events  event type$' first
	# Two tables have an empty line between them.
	second() { sed 1,9d live | grep -q "^session $me, "; }
	wait_until second
	tr '\n' '#' <live | grep -q "##session $me, "
	unwatch
	grep -Eq '^ +0\.0 +0\.0 +100  traced\.event\.2$' live
	grep -q posix_trace_start live
	watches --watch=50ms --event='*.2' --json
	jq -e '[.events[].event] == ["traced.event.2"]' <<<"$(head -n 1 live)"
	unwatch
	watches --watch=50ms --user --json
	jq -e '[.events[].event] == ["traced.event", "traced.event.1", "traced.event.2", "traced.event.3"]' <<<"$(head -n 1 live)"
	unwatch
}

@test "a stream that overwrites events has no rates of types" {
	traced_session "$me" --start --stream-min-size=16K -- -w -W -n 5000 -d abcd
	watches --watch=50ms --json
	go done
	all() { [ "$(jq -s 'map(.count) | add' live)" -ge 5000 ]; }
	wait_until all
	valid live <live
	jq -se 'all(has("events") | not) and (map(.lost_events) | add) == .[-1].since_creation.lost_events' live
	unwatch
	watches --watch=50ms
	grep -q '(all; the stream overwrites events, so it has no counts of types)$' live
	ptrace-shutdown "$me"
	ends 3 "$watch"
	grep -q "^ptrace-stat: $me: [0-9]* events lost in the stream" live.err
}

@test "a clear begins the counts anew" {
	record "$me" --count-only -- -n 100
	watches --watch=50ms --json
	ptrace-clear "$me"
	cleared() { [ "$(tail -n 1 live | jq .since_creation.count)" -lt 50 ]; }
	wait_until cleared
	jq -se 'all(.count < 200)' live
	ptrace-shutdown "$me"
	ends 0 "$watch"
}

# pairs COUNT: in the session's process, so many pairs of requests
pairs() {
	for ((i = 0; i < $1; i++)); do
		echo "ptrace-event req.begin id=$i kind=k$((i % 2)); ptrace-event req.end id=$i"
	done
}

@test "pairs: no more events are told to come too fast than have come" {
	traced_session "$me" --count-only --start -- -w -n 2000000000 -t 2 -e lp.begin -d abcd
	watches --watch=500ms --json --pair=lp
	go
	six() { [ "$(wc -l <live)" -ge 6 ]; }
	wait_until six
	kill -KILL "$pid" "$watch"
	# What is missing has come by then; a slow machine may tell it late.
	grep '}$' live | jq -se '[.[] | .count + .lost_events] as $all | [.[].unshown_events] as $missing |
		all(range(1; length); ($missing[:. + 1] | add) <= ($all[:. + 1] | add))'
}

@test "pairs: none joins a begin and an end across events that were flushed before they were read" {
	mkfifo in
	begins run ptrace-run -o run.log --quiet --name="$me" -- sh in
	exec 7>in
	up() { ptrace-stat "$me" 2>/dev/null; }
	wait_until up
	watches --watch=50ms --json --pair='req by data.id'
	begins follower ptrace-dump --follow="$me" --pair='req by data.id' >shown 2>shown.err 7>&-
	echo 'ptrace-event req.begin id=1' >&7
	wait_until counted req.begin 1
	controller=$(controller "$me")
	kill -STOP "$controller"
	echo "ptrace-event req.end id=1; ptrace-event req.begin id=1; '$traced' -n 5000" >&7
	flushed() { [ "$(ptrace-dump --count -e traced.event run.log 2>/dev/null)" -eq 5000 ]; }
	wait_until flushed
	kill -CONT "$controller"
	echo 'ptrace-event req.end id=1; ptrace-event req.begin id=2; ptrace-event req.end id=2' >&7
	wait_until counted req.end 3
	exec 7>&-
	ends 0 "$run"
	ends 3 "$watch"
	ends 3 "$follower"
	jq -se '[.[].pairs[]] | (map(.count) | add) <= 1 and (map(.unmatched_ends) | add) == 0' live
	[ -z "$(jq -c 'select(.begin.data.id == 1)' shown)" ]
	grep -q '^ptrace-dump: req: [12] cut by lost events' shown.err
	ptrace-stat --json --pair='req by data.id' run.log | jq -e '.pairs[0].count == 3'
}

@test "pairs: those of each interval, also of begins from before" {
	mkfifo in
	begins run ptrace-run --count-only --quiet --name="$me" -- sh in
	exec 7>in
	up() { ptrace-stat "$me" 2>/dev/null; }
	wait_until up
	watches --watch=50ms --json --pair='req by data.id' --per=data.kind
	echo 'ptrace-event req.begin id=early' >&7
	begun() { [ "$(jq -s '[.[].events[] | select(.event == "req.begin").count] | add' live)" -eq 1 ]; }
	wait_until begun
	# The pair of that begin, which had no kind, and four others.
	{ echo 'ptrace-event req.end id=early'; pairs 4; } >&7
	found() { [ "$(jq -s 'map(.pairs[].count) | add' live)" -eq 5 ]; }
	wait_until found
	valid live <live
	jq -se '[.[].pairs[] | select(.count > 0)] | map(.by == "data.id" and .p50_ns > 0 and .unmatched_ends == 0) |
		all' live
	jq -se '[.[].pairs[] | select(.value == "k1").count] | add == 2' live
	jq -se 'all(.unshown_events == 0)' live
	# Rows of values that no longer come are not shown for ever.
	gone() { tail -n 1 live | jq -e '.pairs == []'; }
	wait_until gone
	unwatch
	# As text, with rates; a pair without events has a row.
	watches --watch=50ms --pairs --pair=none --event='req.*'
	grep -Eq '^pair +count +no end +no begin +cut +min +p50' live
	grep -Eq '^none +0 ' live
	pairs 2 >&7
	wait_until grep -Eq '^req by data.id|^req +[1-9]' live
	exec 7>&-
	ends 0 "$run"
	ends 1 "$watch"
	grep -q "no event type is named 'none.begin' or 'none.end'" live.err
}

@test "pairs: a name of an event type that never came is reported at the end of the session" {
	record "$me" --count-only -- -N 2 -n 4
	options=(--watch=50ms --pair=traced.event.1..traced.event.2 --event='traced.*')
	watches "${options[@]}" --event='nosuch*' --where='event != "traced.evnt" || event == "traced.event.1"'
	ptrace-shutdown "$me"
	ends 1 "$watch"
	[ "$(<live.err)" = "ptrace-stat: nosuch*: no event type has such a name" ]
	record "$me" --count-only -- -N 2 -n 4
	watches "${options[@]}" --where='event == "traced.evnt"'
	ptrace-shutdown "$me"
	ends 1 "$watch"
	grep -q "^ptrace-stat: traced.evnt: no event type .*(did you mean 'traced.event'" live.err
}

@test "pairs: events that a full stream has lost are not counted as too fast as well" {
	traced_session "$me" --stream-full-policy=until-full --stream-min-size=16K --start -- -w -W -N 2 -n 5000
	watches --watch=50ms --json --pair=traced.event.1..traced.event.2
	go done
	full() { jq -se "map(.lost_events) | add > 0" live >/dev/null; }
	wait_until full
	ptrace-shutdown --allow-loss "$me"
	ends 3 "$watch"
	jq -se 'all(.unshown_events == 0) and (map(.lost_events) | add) > 0' live
	[[ $(<live.err) == "ptrace-stat: $me: "*" events lost in the stream, which was full" ]]
}

@test "the end of the session, and what is no session" {
	reports 1 "$me: no such session" ptrace-stat --watch "$me"
	reports 1 "$me: no such session" ptrace-stat --watch --pairs "$me"
	record "$me" -o run.log
	watches --watch=50ms
	controller=$(ptrace-list --json | jq --arg me "$me" 'select(.session == $me).controller')
	kill -KILL "$controller"
	ends 1 "$watch"
	[ -s live.err ]
	# It does not wait until the end of the interval.
	record "$me" -o run.log
	begins watch ptrace-stat --watch=1h "$me"
	knows_process() { [[ $(ls -l "/proc/$watch/fd") == *pidfd* ]]; }
	wait_until knows_process
	ptrace-shutdown "$me"
	ends 0 "$watch"
	# Another session of the name is another one.
	record "$me" -o run.log
	watches --watch=50ms
	ptrace-shutdown "$me"
	traced_session "$me" -o run.log -- -w
	ends 0 "$watch"
}

@test "a session that does not answer is waited for" {
	record "$me" --count-only
	watches --watch=50ms --json
	controller=$(ptrace-list --json | jq --arg me "$me" 'select(.session == $me).controller')
	kill -STOP "$controller"
	wait_until test -s live.err
	[[ $(<live.err) == "ptrace-stat: $me: the session does not answer: its process $controller is stopped; "* ]]
	lines=$(wc -l <live)
	kill -CONT "$controller"
	more() { [ "$(wc -l <live)" -gt "$lines" ]; }
	wait_until more
	ptrace-shutdown "$me"
	ends 0 "$watch"
	[ "$(wc -l <live.err)" -eq 1 ]
}

@test "a reader that goes away ends it quietly" {
	record "$me" --count-only
	{ ptrace-stat --watch=50ms --json "$me" 2>err; echo "$?" >status; } | head -n 2 >live
	[ "$(wc -l <live)" -eq 2 ]
	[ ! -s err ]
	begins watch ptrace-stat --watch=1h "$me" > >(true) 2>err
	ends 0 "$watch" || [ "$status" -eq 141 ]
	[ ! -s err ]
	# shellcheck disable=SC2016 # the inner shell's
	exits 1 sh -c 'exec ptrace-stat --watch=50ms "$0" >/dev/full' "$me"
	assert_one_message ptrace-stat
}

# screen SIZE OPTION...: the same as watches, on a terminal; a line to descriptor 8 is one for terminal.py
screen() {
	rm -f live keys
	mkfifo keys
	exec 8<>keys
	# shellcheck disable=SC2016 # the inner shell's
	begins watch sh -c 'exec python3 "$@" <keys' sh "$PTRC_SOURCE/tests/support/terminal.py" "$1" live \
		ptrace-stat "${@:2}" "$me" 7>&- 8>&-
	wait_until test -s live
}

# frames: how many texts the terminal has been shown
frames() {
	grep -ao $'\e\\[?7l\e\\[H' live | wc -l
}

@test "a terminal: each table replaces the last one" {
	record "$me" --count-only -- -e $'bad\e]0;title\a\xc2\x9b31m\xffname' -n 10
	ptrace-stat --watch=50ms --json "$me" | head -n 1 >line
	valid live <line
	jq -e 'any(.events[]; has("event_hex"))' line
	screen 24x80 --watch=50ms
	several() { [ "$(frames)" -ge "$1" ]; }
	wait_until several 3
	grep -aq 'bad\\x1b\]0;title\\x07\\xc2\\x9b31m\\xffname' live
	# A smaller terminal gets what fits: of one line, no line feed.
	echo 1x1 >&8
	last_frame() { tr '\n' '#' <live | sed 's/\x1b\[?7l\x1b\[H/\n&/g' | tail -n 2 | head -n 1; }
	is_small() { last_frame | grep -aq "^.\[?7l.\[Hsession $me, [^#]*$"; }
	wait_until is_small
	echo interrupt >&8
	ends 130 "$watch"
	exec 8>&-
	# Nothing but these sequences has reached the terminal, and each is undone.
	[ -z "$(sed 's/\x1b\[\(?7[lh]\|[HKJ]\)//g; s/\r//g; s/\^C//' live | grep -a $'[\x01-\x08\x0b-\x1f\x7f]')" ]
	[ "$(grep -ao $'\e\\[?7h' live | wc -l)" -eq "$(frames)" ]
	[ "$(tail -c 1 live)" = "" ]
}

@test "a terminal that cannot replace text gets one table after the other" {
	record "$me" --count-only
	TEST_TERM=dumb screen 24x80 --watch=50ms
	exec 8>&-
	wait_until grep -aq '^.$' live
	[ -z "$(grep -a $'\e' live)" ]
	ptrace-shutdown "$me"
	ends 0 "$watch"
}

@test "what makes no sense is a wrong usage" {
	record "$me" -o run.log
	for time in 0s 49ms 25h 5 x -1s ''; do
		refuses 2 "--watch: '$time' is not a duration from 50ms to 1d, such as 5s. Try *" ptrace-stat --watch="$time" "$me"
	done
	for operands in ./run.log "$me $me" -; do
		refuses 2 "--watch: needs the name of one session. Try *" ptrace-stat --watch $operands
	done
	refuses 1 "run.log: no such session" ptrace-stat --watch run.log
	for option in --diff --waits --label=a=b --clock-sync='a..b by data.id' --since=now --until=now --strict; do
		refuses 2 "*" ptrace-stat --watch --pairs "$option" "$me"
	done
	refuses 2 "--pid: needs *" ptrace-stat --watch --pid=1 "$me"
	refuses 2 "--where: cannot have times before the end of a session that goes on*" \
		ptrace-stat --watch --pairs --where='time > "-1s"' "$me"
}

@test "what the kernel lost before it came to the stream" {
	needs_os
	mkfifo go
	# A ring of one page has 36 samples; who empties it stands still meanwhile.
	begins run env POSIXTRACE_OS_BYTES=4096 ptrace-run --quiet --name="$me" --os=samples -o run.log -- \
		sh -c "kill -STOP \$PPID; $PTRC_BUILD/tests/support/os_work spin 500; kill -CONT \$PPID; read -r _ <go"
	unobserved() {
		[ "$(ptrace-stat --json "$me" 2>/dev/null | jq .counts.unobserved_events)" -gt 0 ]
	}
	wait_until unobserved
	watches --watch=50ms --json
	echo >go
	ends 3 "$run"
	ends 3 "$watch"
	valid live <live
	jq -se '.[0] | .since_creation.unobserved_events > 0 and .lost_events == 0' live
	grep -q 'lost in the kernel' live.err
}
