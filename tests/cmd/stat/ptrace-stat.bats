#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # options that are several words

load ../../support/helpers

@test "a log: attributes, status, counts, and each event type" {
	ptrace-run -o run.log -- "$traced" -n 10 -d abcd
	silently 0 ptrace-stat --format=json run.log
	jq -e '.version == 1 and .kind == "log" and .log == "run.log" and .complete and
		.status.stream == "suspended" and .counts.lost_events == 0 and
		.attributes.max_data_size == 4096 and .attributes.inheritance == "inherited" and
		.attributes.log_full_policy == "append" and
		.attributes.stream_full_policy == "flush" and .first <= .last and
		.event_bytes > 0 and .events_per_second > 0 and
		(.events[] | select(.event == "traced.event") |
			.count == 10 and .bytes == 40 and .truncated == 0)' <<<"$stdout"
	[ "$(jq .event_count <<<"$stdout")" -eq "$(events run.log)" ]
	exits 0 ptrace-stat run.log
	grep -Eq '^events lost \(stream\) +0$' <<<"$stdout"
	grep -Eq '^complete +yes$' <<<"$stdout"
	grep -Eq '^ +10 +10 +40 +0  traced\.event$' <<<"$stdout"
}

@test "a log has as many events for all commands as ptrace-dump shows" {
	for options in '--stream-min-size=4M' \
		'--stream-min-size=16K --stream-full-policy=loop' \
		'--stream-min-size=16K --stream-full-policy=until-full' \
		'--stream-min-size=4M --log-max-size=20K --log-full-policy=until-full' \
		'--stream-min-size=4M --log-max-size=80K --log-full-policy=loop' \
		'--stream-min-size=16K --stream-full-policy=loop --log-max-size=20K --log-full-policy=loop' \
		'--exclude=*_overflow --stream-min-size=4M --log-max-size=80K --log-full-policy=loop' \
		'--exclude=posix_* --stream-min-size=4M --log-max-size=80K --log-full-policy=loop'; do
		ptrace-run --allow-loss -o run.log --json=run.json $options -- "$traced" -n 20000 2>/dev/null
		echo "$options"
		lines=$(ptrace-dump --allow-loss run.log 2>/dev/null | wc -l)
		[ "$lines" -gt 500 ]
		[ "$(jq .events run.json)" -eq "$lines" ]
		[ "$(ptrace-dump --allow-loss --count --format=text run.log 2>/dev/null)" -eq "$lines" ]
		ptrace-stat --allow-loss --json run.log 2>/dev/null | jq -e --argjson n "$lines" \
			'.event_count == $n and .counts.log_events == $n'
	done
}

@test "the time span of a log may be longer than a duration" {
	timeline run.log -6000000000000000000:a 7000000000000000000:a
	prints 0 $'*\ntime span (s) *13000000000.000000000\n*' ptrace-stat run.log
}

@test "a session with a ring as log: events in it" {
	traced_start -w -W -n 20000
	ring='--start --log-max-size=80K --log-full-policy=loop --stream-min-size=4M'
	ptrace-create --pid="$pid" --name="$me.a" -o a.log $ring
	ptrace-create --pid="$pid" --name="$me.b" -o b.log $ring --exclude='*_overflow'
	go done
	for s in a b; do
		ptrace-stop "$me.$s"
		ptrace-flush "$me.$s"
		in_log=$(ptrace-stat --json "$me.$s" 2>/dev/null | jq .counts.log_events)
		[ "$in_log" -gt 500 ]
		[ "$in_log" -eq "$(ptrace-dump --count --format=text --allow-loss "$s.log" 2>/dev/null)" ]
	done
}

@test "a session, asked without any effect on it" {
	traced_session "$me.a" --keep -o run.log --stream-min-size=100K -- -w
	silently 0 ptrace-stat --format=json "$me.a"
	jq -e --argjson pid "$pid" --arg name "$me.a" '.kind == "session" and
		.session == $name and .target == $pid and .target_alive and
		(.until_exit | not) and .attributes.trace_name == $name and
		.attributes.stream_min_size == 102400 and .status.stream == "suspended" and
		.complete and .event_count == 0 and .running_ns == 0 and
		(has("events_per_second") | not)' <<<"$stdout"
	run_split ptrace-stat "$me.a"
	grep -Eq "^target +$pid\$" <<<"$stdout"
	kills "$pid"
	dead() { ptrace-stat --format=json "$me.a" | jq -e '.target_alive | not'; }
	wait_until dead
}

@test "a session: counts of each event type, and rates" {
	record "$me.a" -o run.log -- -n 1000 -d abcd
	answers 0 '.running_ns > 0 and .event_count >= 1000 and .event_bytes >= 4000 and
		.events_per_second > 0 and .bytes_per_second > .events_per_second and
		(.events[] | select(.event == "traced.event") | .count == 1000 and
			.bytes == 4000 and .truncated == 0 and (.filtered | not))' ptrace-stat --json "$me.a"
	run_split ptrace-stat "$me.a"
	grep -Eq '^ +10 +1000 +4000 +0  traced\.event$' <<<"$stdout"
	grep -Eq '^events per second +[0-9.]+$' <<<"$stdout"
	ptrace-stop "$me.a"
	running() { ptrace-stat --json "$me.a" | jq .running_ns; }
	[ "$(running)" -eq "$(running)" ]
	ptrace-clear "$me.a"
	ptrace-stat --json "$me.a" | jq -e '.running_ns == 0 and .event_count == 0'
}

@test "events that cannot be read are not counted among the events in the log" {
	ptrace-run --no-loss -o run.log -- "$traced" -n 60000
	size=$(stat -c %s run.log)
	in_log=$(ptrace-stat --json run.log | jq .counts.log_events)
	# A log that is closed, and one that has no end.
	for bytes in "$size" $((size - 288)); do
		head -c "$bytes" run.log >bad.log
		damages bad.log '\377\377\377\377' $((size / 2))
		ptrace-stat --allow-loss --json bad.log | jq -e --argjson n "$in_log" \
			'.losses.unreadable_events > 0 and .event_count == .counts.log_events + 2 and
			.counts.log_events + .losses.unreadable_events == $n'
		# An OVERFLOW and a RESUME stand for those that cannot be read.
		[ "$(ptrace-stat --allow-loss --json bad.log 2>/dev/null | jq .event_count)" -eq \
			"$(ptrace-dump --allow-loss bad.log 2>/dev/null | wc -l)" ]
		[[ $(ptrace-dump --allow-loss --verify bad.log 2>/dev/null) == "$(ptrace-stat \
			--allow-loss --json bad.log 2>/dev/null | jq .counts.log_events) events, "* ]]
	done
}

@test "a log without an end: what it does not know of losses is unknown, not 0" {
	ptrace-run -o whole.log -- "$traced" -n 500
	head -c $(($(stat -c %s whole.log) - 8)) whole.log >cut.log
	exits 3 ptrace-stat cut.log
	for label in 'events lost \((stream|log|kernel)\)' 'events not written' 'waits for room' 'largest data cut'; do
		grep -Eq "^$label +unknown$" <<<"$stdout"
		fails grep -Eq "^$label +[0-9]" <<<"$stdout"
	done
	grep -Eq '^events in the log +[0-9]+$' <<<"$stdout"
	# In JSON the types of the members remain.
	answers 3 '.losses.unclosed and .counts.lost_events == 0' ptrace-stat --json cut.log
	# A ring says how many events it has overwritten so far.
	record "$me.a" -o ring.log --log-full-policy=loop --log-max-size=20K --stream-min-size=4M -- -n 20000
	ptrace-flush "$me.a"
	cp ring.log copy.log
	exits 3 ptrace-stat copy.log
	grep -Eq '^events lost \(log\) +at least [1-9][0-9]*$' <<<"$stdout"
}

@test "what is neither session nor log" {
	reports 1 "$me.nothing: no such session or log" ptrace-stat "$me.nothing"
	reports 1 "./nothing: No such file or directory" ptrace-stat ./nothing
	echo text >text
	: >empty
	for f in text empty .; do
		refuses 1 '*' ptrace-stat "$f"
	done
	# It does not hinder the others.
	ptrace-run -o run.log -- "$traced"
	exits 1 ptrace-stat --format=json nothing run.log run.log
	jq -se 'length == 2' stdout.txt
}

@test "names beyond the limit are told of a live session" {
	traced_start -W -e many -N 8190
	wait_until says "done"
	ptrace-create --pid="$pid" --name="$me.a"
	reports 3 "$me.a: at least 9 event names got no type of their own*" ptrace-stat "$me.a"
	prints 1 '*there are 8182 names: at least 9, the first of them many.8182*' ptrace-doctor "$pid"
	for it in "$me.a" "$pid"; do
		run_split ptrace-doctor --event=many.8189 "$it"
		[[ $stdout == *"many.8189; it may be among the "*"names that got no type"* ]]
		[[ $stdout != *"opened an event"* ]]
	done
	ptrace-shutdown "$me.a"
}

@test "machine, clock and processes of a log are shown, with control characters escaped" {
	ptrace-run -o run.log -- "$traced" -n 1 $'a\e[31mb' $'\xff' || true
	exits 0 ptrace-stat run.log
	[[ $stdout == *$'\nhost '*"$(uname -n)"* ]]
	[[ $stdout == *"$(cat /proc/sys/kernel/random/boot_id)"* ]]
	[[ $stdout == *"clock synchronized"* ]]
	[[ $stdout == *"command line          $traced -n 1 a\\x1b[31mb \\xff"* ]]
	[[ $stdout != *$'\e'* ]]
	run_split ptrace-stat --json run.log
	jq -e --arg host "$(uname -n)" '.host.name == $host and (.clocks | length >= 2)' <<<"$stdout"
	jq -e --arg traced "$traced" 'any(.processes[]; .executable == $traced and
		.command_line[3] == "a\u001b[31mb" and (.command_line_hex | endswith("ff00")) and
		any(.mappings[]; .path == $traced))' <<<"$stdout"
}

@test "a process that is killed at once has its program and mappings in the log" {
	# Nobody waits for one that is killed: on a busy machine it may be gone too soon many times, but not each time.
	is_there() {
		ptrace-run -o run.log -- "$traced" -n 1 -k 9 || true
		ptrace-stat --json run.log | jq -e --arg traced "$traced" 'any(.processes[];
			.executable == $traced and any(.mappings[]; .path == $traced))'
	}
	wait_until is_there
}

# A log with pairs of two threads of control, which are processes here.
pairs_log() {
	# The log tells of the shell, which is still there when it is flushed.
	ptrace-run --name="$me.p" -o pairs.log -- sh -c '
		ptrace-event req.begin 1; ptrace-event req.begin 2
		ptrace-event other
		ptrace-event req.end 2; ptrace-event req.end 1
		ptrace-event req.begin 3; ptrace-event req.end 4
		ptrace-flush "$0" >/dev/null' "$me.p"
}

@test "pairs: a table, JSON, a histogram, values of a field" {
	pairs_log
	silently 0 ptrace-stat --pairs pairs.log
	[ "$(sed -n 1p <<<"$stdout")" = "log pairs.log" ]
	grep -Eq '^req +3 +0 +0 +0 +[0-9.]+[mu]?s ' <<<"$stdout"
	exits 0 ptrace-stat --pair='req.begin..req.end by data' --histogram --json pairs.log
	jq -e '.kind == "log" and .log == "pairs.log" and .complete and (.pairs | length) == 1 and
		(.pairs[0] | .begin == "req.begin" and .end == "req.end" and .by == "data" and
			.count == 2 and .unmatched_begins == 1 and .unmatched_ends == 1 and
			.cut == 0 and .without_key == 0 and .min_ns > 0 and .max_ns >= .p99_ns and
			.total_ns == .min_ns + .max_ns and ([.histogram[].count] | add) == 2)' \
		<<<"$stdout"
	# A pair is as long as its events say. (Numbers of so many digits are texts for jq.)
	mapfile -t ns < <(ptrace-dump --event='req.*' --fields=ns --format=text pairs.log)
	[ "$(jq '.pairs[0].min_ns' <<<"$stdout")" -eq "$((ns[2] - ns[1]))" ]
	ptrace-stat --pair='req.begin..req.end by data' --histogram pairs.log |
		grep -Eq '^ +from [0-9.]+[mu]?s +[12]  #+$'
	ptrace-stat --pair='req.begin..req.end by data' --per=comm --json pairs.log |
		jq -e '.pairs[0].value == "sh"'
}

@test "pairs: data that does not fit its layout is told, and with --strict is status 3" {
	ptrace-run -o run.log -- sh -c '"$0" -e a.begin -X 0100000000000000
		"$0" -e a.end -X 0100000000000000; "$0" -e other -X 01' "$traced"
	for options in '' --strict; do
		silently 0 ptrace-stat $options --pair='a.begin..a.end by data.id' --decode='a.*=u64 id' run.log
	done
	exits 0 ptrace-stat --pair='a.begin..a.end by data.id' --decode='a.*=u16 id' run.log
	printf 'ptrace-stat: a.%s: the data of 1 event has 8 bytes, the layout wants 2\n' begin end |
		diff - stderr.txt
	exits 3 ptrace-stat --strict --pair='a.begin..a.end by data.id' --decode='a.*=u16 id' run.log
	# Events that are of no pair are looked at, too.
	reports 3 "other: the data of 1 event has 1 byte, the layout wants 2" ptrace-stat --strict --pairs --decode='other=u16 id' run.log
	ptrace-stat --strict --pairs run.log
}

@test "pairs: types that are not there, and options alone" {
	pairs_log
	reports 1 "*no event type is named 'req.ende' (did you mean 'req.end'\?)*" ptrace-stat --pair='req.begin..req.ende' pairs.log
	# Two types with anything but '..' between them.
	for pair in 'req.begin->req.end' 'req.begin - req.end' req.begin,req.end 'req.begin req.end by data'; do
		reports 1 "*: no event type is named '${pair% by data}.begin' or '${pair% by data}.end' (did you mean 'req.begin..req.end'\?)" \
			ptrace-stat --pair="$pair" pairs.log
	done
	ptrace-run -o none.log -- "$traced" -n 1
	reports 1 "*no event type has a name that ends with .begin or .end*" ptrace-stat --pairs none.log
	# That none is selected is none.
	silently 0 ptrace-stat --pairs --until=+0s pairs.log
	# A field that no event has is a mistake, too.
	tells 1 '*6 events of req have no data.id, and were left out*' ptrace-stat --pair='req.begin..req.end by data.id' --decode='req.*=u64 id' pairs.log
	# As it is if no layout has it.
	for command in ptrace-stat ptrace-dump 'ptrace-export --to=chrome' 'ptrace-report --text'; do
		refuses 2 "*--pair: events have no field 'data.idd' (did you mean 'data.id'?)*" \
			$command --pair='req by data.idd' --decode='req.*=u64 id' pairs.log
	done
	refuses 2 "*--pair: no layout has a field 'data.qqqqq'*" ptrace-dump --pair='req by data.qqqqq' pairs.log
	for option in --per=pid --histogram --strict --decode='x=u8 a' --config=none.yaml --pair=x.. \
		'--pair=a..b by nothing'; do
		refuses 2 '*' ptrace-stat "$option" pairs.log
	done
	exits 2 ptrace-stat --pairs --per=nothing pairs.log
}

@test "pairs: of a session, and of a log with losses" {
	ptrace-create --pid=$$ --name="$me" --start
	ptrace-event req.begin 1
	ptrace-event req.end 1
	ptrace-stat --pairs --json "$me" | jq -e --arg name "$me" \
		'.kind == "session" and .session == $name and .pairs[0].count == 1'
	ptrace-shutdown "$me"
	ptrace-run -o lossy.log --allow-loss --stream-min-size=4K --stream-full-policy=loop -- \
		"$traced" -n 100000
	reports 3 "*lost*" ptrace-stat --pair=traced.event..traced.event --json lossy.log
	jq -e '.complete == false and .pairs[0].cut > 0 and .pairs[0].count > 10' <<<"$stdout"
}

@test "pairs: a stream that was full cuts what was open" {
	for policy in flush until-full; do
		ptrace-run -o full.log --allow-loss --stream-min-size=4K \
			--stream-full-policy="$policy" -- "$traced" -n 20000
		# Each event ends what the one before it began, if the stream was not full between.
		expected=$(ptrace-dump --fields=event,reason --allow-loss full.log |
			jq -sc 'reduce .[] as $e ({is_open: false, count: 0, stops: 0};
				if $e.event == "posix_trace_stop" and $e.reason != 0 then
					.is_open = false | .stops += 1
				elif $e.event == "traced.event" then
					.count += (if .is_open then 1 else 0 end) | .is_open = true
				else . end)')
		jq -e '.stops > 0 and .count > 10' <<<"$expected"
		exits 3 ptrace-stat --pair=traced.event..traced.event --json full.log
		jq -e --argjson e "$expected" '.pairs[0].count == $e.count and .pairs[0].cut > 0 and
			.pairs[0].unmatched_ends == 1' <<<"$stdout"
		[ "$(ptrace-dump --pair=traced.event..traced.event --allow-loss full.log | wc -l)" -eq \
			"$(jq .count <<<"$expected")" ]
	done
}

@test "pairs: fields that only symbols tell are refused" {
	ptrace-run -o run.log -- ptrace-event a
	for option in --per=function '--pair=a..b by file'; do
		reports 2 "*function, file and line need --symbols, which cannot be used here*" ptrace-stat --pairs "$option" run.log
	done
	reports 2 "*--pair: function, file and line need --symbols*" ptrace-dump '--pair=a..b by file' run.log
}

@test "a key that was cut is none, which is told" {
	ptrace-run -o run.log --max-data-size=6 -- bash -c '
		for event in begin:one begin:two end:one; do
			ptrace-event "r.${event%:*}" "query ${event#*:}"
		done'
	told="3 events of r have no data, and were left out; 3 of them had their data cut"
	reports 0 "*$told" ptrace-stat --json --pair 'r.begin..r.end by data' run.log
	jq -e '.pairs[0] | .count == 0 and .without_key == 3 and .unmatched_begins == 0' stdout.txt
	refuses 0 "*$told*" ptrace-dump --pair 'r.begin..r.end by data' run.log
}

@test "--per of a field that no begin event of the pairs has is told" {
	durations run.log req 10 1000 2000 1 1
	tells 1 '*--per: no event that begins a pair has data.rout*' ptrace-stat --decode='*=json' --pairs --per=data.rout run.log
	ptrace-run -o layout.log -- bash -c "'$traced' -e r.begin -l 'u32 route' -d abcd; '$traced' -e r.end -l 'u32 route' -d abcd"
	reports 1 "*--per: no event that begins a pair has data.rout (did you mean 'data.route'\?)*" ptrace-stat --pair='r.begin..r.end by data' --per=data.rout layout.log
}

# names_stopped_keeper FILE: with the controller killed and the keeper, which writes FILE, stopped, run.log is shown
# without its end
names_stopped_keeper() {
	ptrace-flush "$me.a"
	wait_until finds_keeper "$1"
	kill -STOP "$keeper"
	kills "$(controller "$me.a")"
	for c in ptrace-stat 'ptrace-dump --count'; do
		tells 3 "*${c%% *}: run.log: ptrace-keeper ($keeper), which writes it, is stopped; kill -CONT $keeper continues it*" $c run.log
	done
}

@test "a log of a killed controller whose keeper is stopped is shown without its end, and the keeper is named" {
	record "$me.a" -o run.log -- -n 10
	names_stopped_keeper run.log
	kill -CONT "$keeper"
	reports 3 "run.log: processes went on when the recording ended: their later events are missing" ptrace-stat run.log
	[ "$(events run.log traced.event)" -eq 10 ]
}

@test "the stopped keeper is named for a rotated log that is asked by its first name" {
	record "$me.a" -o run.log --log-rotate=16K -- -n 3000
	names_stopped_keeper run.log.000001
	prints 1 "*$keeper (ptrace-keeper) writes it*" ptrace-doctor ./run.log
	kill -CONT "$keeper"
	wait_until reports 3 "run.log: processes went on when the recording ended: *" ptrace-stat run.log
}

@test "pairs of the events that are selected" {
	ptrace-run -o run.log -- sh -c 'for i in 1 2; do ptrace-event req.begin id=$i; ptrace-event req.end id=$i; done'
	pid=$(ptrace-dump --json --event=req.begin --first=1 run.log | jq .pid)
	measured() { ptrace-stat --json --pair='req.begin..req.end by data.id' "$@" run.log | jq .pairs[0].count; }
	[ "$(measured)" -eq 2 ]
	[ "$(measured --where='data.id == 2')" -eq 1 ]
	[ "$(measured --event='req.*' --user)" -eq 2 ]
	[ "$(measured --until=+0s)" -eq 0 ]
	[ "$(measured --since=+0s)" -eq 2 ]
	[ "$(measured --pid="$pid")" -eq 2 ]
	tells 1 "*--pid: no event is of process $((pid + 1))*" ptrace-stat --pairs --pid=$((pid + 1)) run.log
	answers 0 '[.events[].event] == ["req.begin"]' ptrace-stat --json --diff --event=req.begin run.log run.log
	tells 1 '*no.such: no event type has such a name*' ptrace-stat --pairs --event=no.such run.log
	reports 2 "--pid: needs --pair, --pairs, --diff or --waits*" ptrace-stat --pid=1 run.log
	reports 2 "--until: is before --since*" ptrace-stat --pairs --since=10:00 --until=09:00 run.log
}

@test "pairs of JSON data are formed by its member key, if the first event has it" {
	ptrace-run -o run.log -- sh -c 'for e in begin end; do for k in 1 2; do ptrace-event job.$e key=$k; done; done'
	answers 0 '.pairs[0] | .by == "data.key" and .count == 2' ptrace-stat --json --pairs run.log
	answers 0 '.rules[0].kept == 2' ptrace-check --json --max='job < 1h' run.log
	job_log made.log json '1000 1 begin hex:7b7d' '2000 1 end hex:7b7d'
	answers 0 '.pairs[0] | .count == 1 and (has("by") | not)' ptrace-stat --json --pairs made.log
	answers 0 '.rules[0].kept == 1' ptrace-check --json --max='job < 1h' made.log
}

@test "pairs: what the kernel lost cuts pairs, whichever events an expression selects" {
	made lost.log <<-END
		layout os.lost u64 events, u32 processor, bool withheld
		layout work.begin u32 processor
		layout work.end u32 processor
		event 1000 7 7 work.begin u32:1
		event 2000 9 9 os.lost u64:3 u32:0 u8:0
		event 3000 7 7 work.end u32:1
		event 4000 7 7 work.begin u32:1
		event 5000 7 7 work.end u32:1
	END
	for select in --pid=7 '--where=pid == 7' '--where=tid != 9' '--where=data.processor == 1'; do
		ptrace-stat --json --pair=work "$select" lost.log | jq -e '.pairs[0] | .count == 1 and .cut == 1'
	done
	# In a comparison the loss itself is none of the selected events.
	ptrace-stat --diff --json --event='work.*' lost.log lost.log |
		jq -e '.before.event_count == 4 and [.events[].event] == ["work.begin", "work.end"]'
}

@test "pairs: losses before --since and after --until cut, in whichever part of whichever log" {
	# More events than one part of a log has.
	fill() {
		printf "event %d 7 7 tick hex:$(printf '%02000d' 0)\n" $(seq "$1" 10 $(($1 + 9990)))
	}
	loss="event %d 0 0 posix_trace_overflow\nevent %d 0 0 posix_trace_resume\n"
	{
		printf "event 1000 7 7 tick\n$loss" 2000 3000
		fill 10000
		printf 'event %d 7 7 w.%s\n' 50000 end 51000 begin 51010 end 52000 begin
		fill 60000
		printf "$loss" 80000 81000
		fill 90000
	} | made large.log
	printf 'event %d 7 7 w.%s\n' 50000 end 51000 begin 51010 end 52000 begin | made pairs.log
	timeline before.log 1000:tick 2000:posix_trace_overflow 3000:posix_trace_resume
	printf 'event 80000 0 0 posix_trace_stop u32:1\nlost 3\n' | made after.log
	counts() {
		exits "$1" ptrace-stat --json --allow-loss "${@:3}"
		[ "$(jq -c '.pairs[0] | [.count, .unmatched_ends, .unmatched_begins, .cut]' <<<"$stdout")" = "$2" ] ||
			{ echo "$* $stdout"; return 1; }
	}
	since=--since=@1700000000.000040 until=--until=@1700000000.000055
	for selection in '' "$since" "$until" "$since $until" "--event=w.* $since" "--where=len==0 $since"; do
		counts 0 '[1,0,0,2]' --pair=w $selection large.log
		counts 0 '[1,1,1,0]' --pair=w $selection pairs.log
		counts 0 '[1,1,1,0]' --label=a=pairs.log --pair=w $selection pairs.log before.log after.log
		counts 0 '[1,0,1,1]' --label=a=pairs.log '--pair=w by pid' $selection pairs.log before.log
		counts 0 '[1,1,0,1]' --label=a=pairs.log '--pair=w by pid' $selection pairs.log after.log
	done
	ptrace-report --allow-loss --text "$since" "$until" large.log | grep -E '^w +1 +0 +0 +2 '
	# The rates are those of the selected time.
	ptrace-stat --allow-loss --diff --json "$since" "$until" large.log large.log | jq -e '.before.span_ns == 15000'
}

@test "pairs: the event that ends a loss is read, also if it is in another part of the log" {
	printf 'event %d 7 7 req.%s\n' 12000 begin 15000 end 16000 begin | made pairs.log
	large=hex:$(printf '%02000d' 0)
	# With some of the sizes os.lost is the last event of a part.
	for size in $(seq 600 40 999); do
		{
			echo 'layout os.lost u64 events, u32 processor, bool withheld'
			printf "event %d 9 9 tick $large\n" $(seq 253)
			printf "event 900 9 9 tick hex:%0$((2 * size))d\n" 0
			echo 'event 1000 9 9 os.lost u64:3 u32:0 u8:0'
			printf "event %d 9 9 tick $large\n" $(seq 2000 2254)
			echo 'event 20000 9 9 tick'
		} | made large.log
		exits 0 ptrace-stat --json --allow-loss --label=a=pairs.log '--pair=req by pid' --since=@1700000000.000010 large.log pairs.log
		jq -e '.pairs[0] | .count == 1 and .cut == 0' <<<"$stdout"
	done
}

@test "pairs: a loss lasts to the next event of its log, whichever are selected" {
	made os.log <<-END
		layout os.lost u64 events, u32 processor, bool withheld
		event 2000 9 9 os.lost u64:3 u32:0 u8:0
		event 3000 9 9 tick
		event 9000 9 9 rare
	END
	timeline pairs.log 1000:w.begin 4000:w.end 5000:w.begin 6000:w.end
	for selection in '' --event='[wr]*' "--where=event != 'tick'" --since=@1700000000.0000035; do
		exits 0 ptrace-stat --json --allow-loss --label=a=os.log '--pair=w by pid' ${selection:+"$selection"} os.log pairs.log
		jq -e '.pairs[0] | .count == 1 and .cut == 1 and .unmatched_ends == 0' <<<"$stdout"
	done
}

@test "as keys of pairs, NaN is the same as NaN" {
	printf 'layout l.begin f64 v\nlayout l.end f64 v\nevent 1 1 1 l.begin f64:nan\nevent 2 1 2 l.end f64:-nan\n' |
		made nan.log
	answers 0 '.pairs[0].count == 1' ptrace-stat --json --pair='l by data.v' nan.log
}

@test "as keys of pairs, bytes are the same as the text of their digits, and null is none" {
	made bytes.log <<-'END'
		layout job.begin bytes[2] id
		layout job.end str id
		event 1000 1 1 job.begin hex:0a0b
		event 2000 1 2 job.end str:0a0b
	END
	answers 0 '.pairs[0].count == 1' ptrace-stat --json --pair='job by data.id' bytes.log
	job_log null.log json '1000 1 begin str:{"user":null}' '2000 2 end str:{"user":null}' \
		'3000 1 begin str:{"user":7}' '4000 2 end str:{"user":7}'
	reports 0 '*: 2 events of job have no data.user, and were left out' ptrace-stat --pair='job by data.user' null.log
	answers 0 '.pairs[0] | [.count, .without_key, .unmatched_begins] == [1, 2, 0]' \
		ptrace-stat --json --pair='job by data.user' null.log
	# Whichever comes first, an event whose field is null has the row of those without the field.
	job_log per.log json '1000 1 begin str:{"user":null}' '2000 1 end' '3000 1 begin str:{}' '4000 1 end' \
		'5000 1 begin str:{"user":7}' '6000 1 end'
	answers 0 '.pairs | map([.value, .count]) == [[null, 2], [7, 1]] and (.[0] | has("value") | not)' \
		ptrace-stat --json --pair=job --per=data.user per.log
	# A member `key` that is null is no key: these pairs are by thread.
	job_log key.log json '1000 1 begin str:{"key":null}' '2000 1 end str:{"key":null}'
	silently 0 ptrace-stat --pair=job key.log
	answers 0 '.pairs[0] | .count == 1 and (has("by") | not)' ptrace-stat --json --pair=job key.log
}

@test "ends that do not nest on their thread are told, with the field that pairs them" {
	job_log made.log 'u64 job' '1000 1 begin u64:0' '2000 1 begin u64:1' '3000 1 end u64:0' '4000 1 end u64:1'
	tells 0 "ptrace-stat: made.log: job: ends come in another order than they would nest, so the durations are wrong; measure them with --pair='job by data.job'" ptrace-stat --pairs made.log
	silently 0 ptrace-stat --pair='job by data.job' made.log
	# Once for all logs that are compared
	cp made.log other.log
	reports 0 "made.log: job: ends come in another order than they would nest*" ptrace-stat --diff made.log other.log
	silently 0 ptrace-stat --diff --pair='job by data.job' made.log other.log
	grep -q '^job by data.job:' <<<"$stdout"
	# The same if a begin and its end are on different threads, but not if an end has no begin at all.
	job_log threads.log 'u64 job' '1000 1 begin u64:0' '2000 2 end u64:1' '3000 2 end u64:0'
	tells 0 "ptrace-stat: threads.log: job: begins and ends with the same data.job are on different threads; measure them with --pair='job by data.job'" \
		ptrace-stat --pairs threads.log
	ptrace-dump --to-log=ends.log --where='data.job == 1 || event == "job.begin"' threads.log
	exits 0 ptrace-stat --pairs ends.log
	fails grep -Fq 'different threads' <<<"$stderr"
	# Fields of events of the operating system do not identify pairs.
	made os.log <<-'END'
		layout os.switch_in u32 processor
		layout os.switch_out u32 processor
		event 1000 1 1 os.switch_in u32:0
		event 2000 1 2 os.switch_out u32:0
	END
	run_split ptrace-stat --pair=os.switch_in..os.switch_out os.log
	fails grep -Fq 'different threads' <<<"$stderr"
	# Events of one type that begin and end pairs are not such halves.
	printf 'layout tick u64 n\nevent 1 1 1 tick u64:1\nevent 2 1 2 tick u64:1\n' | made ticks.log
	run_split ptrace-stat --pair=tick..tick ticks.log
	fails grep -Fq 'different threads' <<<"$stderr"
}

@test "the field that pairs events is found in JSON, whichever events have it, and across logs and labels" {
	local i advice="measure them with --pair='job by data.n'"
	job_log made.log json '1000 1 begin str:{"a.b":1,"of":{"n":1},"n":1}' '2000 1 begin str:{"n":2,"user":"x"}' \
		'3000 1 end str:{"status":0,"a.b":1,"n":1}' '4000 1 end str:{"status":0,"a.b":1,"n":2}'
	reports 0 "made.log: job: ends come in another order than they would nest, so the durations are wrong; $advice" \
		ptrace-stat --pairs made.log
	# Members that an event lacks are not equal; an end without data shows nothing.
	job_log lacking.log json '1000 1 begin' '2000 1 begin str:{"n":1}' '3000 1 end' '4000 1 end str:{"n":1}' \
		'5000 2 begin str:{"n":2}' '6000 2 end str:{"n":2}'
	silently 0 ptrace-stat --pairs lacking.log
	# The member key goes first, as events that have it are meant to be paired by it.
	job_log key.log json '1000 1 begin str:{"name":"first"}' '2000 1 begin str:{"name":"a","key":1}' \
		'3000 1 begin str:{"name":"a","key":2}' '4000 1 end str:{"name":"a","key":1}'
	tells 0 "*; measure them with --pair='job by data.key'" ptrace-stat --pairs key.log
	# Each log of the two has one of the types.
	{ echo layout job.begin u64 n; for i in {1..9}; do echo "event $i 1 1 job.begin u64:$i"; done; } | made begins.log
	{ echo layout job.end u64 n; for i in {1..5}; do echo "event 1$i 2 2 job.end u64:$i"; done; } | made ends.log
	for i in "ptrace-stat --pairs --label=a=begins.log begins.log ends.log" "ptrace-dump --pairs begins.log ends.log"; do
		tells 0 "*: job: begins and ends with the same data.n are on different threads; $advice*" $i
	done
	tells 4 "*job: begins and ends with the same data.n are on different threads; add 'by data.n' to the rule*" \
		ptrace-check --max='job < 1s' begins.log ends.log
	exits 1 ptrace-stat --pair='job by data.n' begins.log ends.log
	[ "$stderr" = "ptrace-stat: begins.log: no event type is named 'job.end'
ptrace-stat: ends.log: no event type is named 'job.begin'
ptrace-stat: each operand was measured by itself; with --label=NAME=LOG all are measured together" ]
	answers 0 '.pairs[0].count == 5' ptrace-stat --json --pair='job by data.n' --label=a=begins.log begins.log ends.log
	# The search for the field does not count data that does not fit its layout.
	made short.log <<-'END'
		layout job.begin u64 n
		layout job.end u64 m
		event 1000 1 1 job.begin u32:1
		event 2000 1 1 job.end u64:1
	END
	silently 0 ptrace-stat --pairs short.log
}
