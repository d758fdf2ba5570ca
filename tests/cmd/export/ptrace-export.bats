#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Events in the formats of other programs: ptrace-export.
# Takes long, as logs of a million pairs go through each format, and jq, Python, protoc and babeltrace2 read
# what comes out.

load ../../support/helpers

# chrome OPTION...: the events of an export to chrome, a line each, once all that must hold does
chrome() {
	ptrace-export --to=chrome "$@" >trace.json
	python3 "$PTRC_SOURCE/tests/cmd/export/check_chrome.py" <trace.json
}

# holds FORMAT FILTER OPTION...: the filter of jq holds for the events of an export to chrome, perfetto, otlp or ctf,
# which are in the file `events` from then on
holds() {
	# Not "&&", before which nothing that fails in the format's function would end the test.
	"$1" "${@:3}" 2>messages >events
	jq -se "$2" events
}

# A thread with nested and overlapping pairs, a pair over two processes, and one half of each kind.
make_pairs() {
	made "${1:-pairs.log}" <<-END
		layout req.begin u64 id, u32 rows
		layout step.end u64 latency ns
		event 1000 7 8 other str:hello
		event 2000 7 8 req.begin u64:5 u32:3
		event 2500 7 8 step.begin
		event 3001 7 8 step.end u64:501
		event 3500 7 8 late.begin
		event 4000 7 8 req.end
		event 4500 7 8 late.end
		event 5000 7 9 send u64:77
		event 6000 9 9 receive u64:77
		event 7000 7 8 gone.end
		event 8000 7 8 stays.begin
		event 9000 7 8 other str:bye
	END
}

@test "Chrome JSON has instants, nested slices, and others by themselves" {
	make_pairs
	tells 0 '*ptrace-export: gone: 1 end without begin*' ptrace-export --to=chrome pairs.log
	[[ $stderr == *"ptrace-export: stays: 1 begin without end"* ]]
	chrome pairs.log 2>/dev/null >events
	# Nested slices, from their begins, with the data of both events.
	jq -se 'map(select(.ph == "X")) | map([.name, .ts, .dur, .pid, .tid]) ==
		[["step", "1.500", "0.501", 7, 8], ["req", "1.000", "2.000", 7, 8]]' events
	jq -se 'map(select(.ph == "X"))[1].args == {data: {id: 5, rows: 3}}' events
	jq -se 'map(select(.ph == "X"))[0].args == {end: {data: {latency: 501}}}' events
	# What overlaps the slice around it is not on the thread.
	jq -se 'map(select(.ph == "b" or .ph == "e")) | map([.ph, .name, .ts]) ==
		[["b", "late", "2.500"], ["e", "late", "3.500"]]' events
	# One that never ended, and an end whose begin is missing.
	jq -se 'map(select(.ph == "B")) | map([.name, .ts, .args.missing]) ==
		[["stays", "7.000", "end"]]' events
	jq -se 'map(select(.ph == "i")) | map([.name, .ts, .args.missing]) == [
		["other", "0.000", null], ["send", "4.000", null], ["receive", "5.000", null],
		["gone.end", "6.000", "begin"], ["other", "8.000", null]]' events
	jq -e '.displayTimeUnit == "ns" and .otherData.start_ns == "1700000000000001000"' trace.json
	jq -e '.otherData.logs[0].losses.stream_events == 0' trace.json
}

@test "--around: pairs are made of all events, and times count from the first event" {
	timeline ar.log 1000:w.begin 2000:mark 12000:w.begin 22000:mark 23000:w.end 33000:w.end 50000:w.begin \
		60000:w.end
	for selection in --around=mark\ --context=2us '--since=+1us --until=+22us'; do
		holds chrome 'map(select(.name == "w")) | map([.ts, .dur]) ==
			[["11.000", "11.000"], ["0.000", "32.000"]]' $selection ar.log
		jq -e '.otherData.start_ns == "1700000000000001000"' trace.json
	done
	# A pair without an end is open until the end.
	printf '%s\n' 'event 1000 7 8 w.begin' 'event 9000 7 8 mark' 'event 20000 7 8 v.begin' | made open.log
	chrome --around=mark --context=1us open.log 2>/dev/null | jq -se 'map(select(.ph == "B").name) == ["w"]'
	# The second reading, too, goes on until the end of the time.
	holds chrome 'map(select(.ph == "X") | .ts) == ["11.000", "0.000"]' --last=2 --until=+22us ar.log
	# An end without a begin is not of that time.
	timeline ends.log 1000:mark 5000:w.end
	chrome --until=+2us ends.log | jq -se 'map(select(.ph == "i") | .name) == ["mark"]'
	# What is exported does not change the origin of the times.
	for selection in --first=0 --first=1 --event=mark --until=-1h; do
		chrome $selection ar.log
		jq -e '.otherData.start_ns == "1700000000000001000"' trace.json
	done
}

@test "--label-by tells pairs of one name apart" {
	timeline jobs.log 1000:job.begin:str:resize 2000:step.begin:u32:1 3000:step.end 4000:job.end \
		5000:job.begin:str:crop 7000:job.end 8000:bare.begin 9000:bare.end
	exports() {
		ptrace-export --to="$1" --decode='job.begin=str kind' --decode='step.begin=enum u32 {z, a} kind' \
			--label-by=data.kind jobs.log
	}
	exports chrome | jq -e '[.traceEvents[] | select(.ph == "X") | .name] ==
		["step: a", "job: resize", "job: crop", "bare"]'
	exports perfetto | strings -n 3 >names
	grep -q 'job: resize' names
	grep -q 'job: crop' names
	[ "$(exports folded)" = "$(printf '%s\n' 'process 7;job: resize 2000' \
		'process 7;job: resize;step: a 1000' 'process 7;job: crop 2000' 'process 7;bare 1000')" ]
	exports speedscope | jq -e '[.shared.frames[].name] | index("job: crop") != null'
	tells 1 "*--label-by: no event that begins a pair has data.kid (did you mean 'data.kind'\?)*" ptrace-export --to=chrome --decode='job.begin=str kind' --label-by=data.kid jobs.log
	jq -e '[.traceEvents[] | select(.ph == "X")] | length == 4' stdout.txt
	exits 1 ptrace-export --to=chrome --decode='job.end=str kids' --label-by=data.kid -o out jobs.log
	[[ $stderr == *"--label-by: no event that begins a pair has data.kid"* && $stderr != *"did you mean"* ]]
	for format in csv ctf; do
		tells 2 "*--label-by: cannot be used together with --to=$format, which has events only*" ptrace-export --to=$format -o out --label-by=pid jobs.log
	done
}

@test "a pair over two threads is a slice by itself, and a flow between them" {
	make_pairs
	holds chrome 'map(select(.ph == "b" or .ph == "e")) | map(select(.name != "late")) |
		map([.ph, .name, .ts, .pid, .tid]) == [["b", "send..receive", "4.000", 7, 9],
		["e", "send..receive", "5.000", 7, 9]]' --decode='send=u64 id' --decode='receive=u64 id' \
		--pair='send..receive by data.id' pairs.log
	jq -se 'map(select(.ph == "s" or .ph == "f")) | map([.ph, .ts, .pid, .tid]) ==
		[["s", "4.000", 7, 9], ["f", "5.000", 9, 9]]' events
	jq -se 'map(select(.name == "send" or .name == "receive")) == []' events
	jq -se 'map(select(.ph == "b" and .name != "late"))[0].args ==
		{data: {id: 77}, end: {pid: 9, tid: 9, data: {id: 77}}}' events
	# A key on one thread needs no arrow.
	holds chrome 'all(.ph != "s" and .ph != "f")' --pair='req.begin..step.end' pairs.log
}

# random_log COUNT THREADS NAME: so many events of random pairs, whose names are a letter and this
random_log() {
	python3 - "$@" <<-'END' | made random.log
		import random, sys
		random.seed(5)
		ns = 0
		for i in range(int(sys.argv[1])):
		    ns += random.choice([0, 0, 1, 7, 1000])
		    thread = random.randrange(1, int(sys.argv[2]))
		    name = random.choice("abcde") + sys.argv[3] + random.choice([".begin", ".end"])
		    print(f"event {ns} {thread % 3 + 1} {thread} {name}")
	END
}

@test "random pairs of many threads always nest" {
	random_log 20000 20 ''
	holds chrome 'map(select(.ph == "X")) | length > 2000' random.log
	jq -se 'map(select(.ph == "b")) | length > 500' events
	# No event is missing: each is part of a slice, or stands for itself.
	jq -se 'map({X: 2, b: 1, e: 1, B: 1, i: 1}[.ph] // 0) | add == 20000' events
}

@test "numbers with a unit become counters if asked for" {
	made units.log <<-END
		layout load u32 busy percent, u64 bytes B, u32 plain, f64 ratio, enum{idle,up} state
		event 10 1 1 load u32:40 hex:00000000 u64:1000 u32:7 hex:00000000 f64:0.5 u32:1
		event 20 1 1 load u32:50 hex:00000000 u64:2000 u32:8 hex:00000000 f64:nan u32:0
	END
	holds chrome 'all(.ph != "C")' units.log
	holds chrome 'map(select(.ph == "C")) | map([.name, .ts, .cat, .args]) == [
		["load.busy", "0.000", "counter", {percent: 40}], ["load.bytes", "0.000", "counter", {B: 1000}],
		["load.busy", "0.010", "counter", {percent: 50}], ["load.bytes", "0.010", "counter", {B: 2000}]]' --counters units.log
	holds chrome 'map(select(.ph == "C")) | map([.name, .args.value]) ==
		[["load.plain", 7], ["load.ratio", "0.5"], ["load.plain", 8]]' --counters='load.[pr]*' units.log
	# The events are there nevertheless, also those of pairs.
	jq -se 'map(select(.ph == "i")) | length == 2' events
	for wrong in --counters=load.nothing '--counters=[0-9]*'; do
		exits 1 ptrace-export --to=chrome "$wrong" units.log
		[[ $stderr == *"--counters: no event has a number called '${wrong#*=}'"* ]]
	done
	make_pairs
	holds chrome 'map(select(.ph == "C")) | map([.name, .args.ns, .ts]) == [["step.end.latency", 501, "2.001"]]' --counters pairs.log
}

# switches LOG: a log of the events of standard input, some of which are switches of the processor
switches() {
	{ printf 'layout os.switch_%s\n' 'in u32 processor' 'out u32 processor, bool preempted'; cat; } | made "$1"
}

# A thread with waits, on and off its processor.
make_states() {
	switches states.log <<-END
		event 100 7 8 work.begin
		event 200 7 8 os.switch_in u32:0
		event 250 7 8 wait.lock.begin
		event 260 7 8 step.begin
		event 300 7 8 os.switch_out u32:0 u8:0 hex:000000
		event 400 7 8 os.switch_in u32:1
		event 410 7 8 os.switch_out u32:1 u8:1 hex:000000
		event 420 7 8 os.switch_in u32:1
		event 450 7 8 step.end
		event 460 7 8 wait.lock.end
		event 500 7 8 os.switch_out u32:1 u8:0 hex:000000
		event 600 7 8 os.switch_in u32:1
		event 610 7 8 wait.io.begin
		event 620 7 8 os.switch_out u32:1 u8:0 hex:000000
	END
}

@test "switches of the processor become running and waiting" {
	switches switches.log <<-END
		event 100 7 8 work.begin
		event 200 7 8 os.switch_out u32:1 u8:0 hex:000000
		event 300 7 8 os.switch_in u32:0
		event 400 7 8 os.switch_out u32:0 u8:1 hex:000000
		event 450 7 8 work.end
		event 500 7 8 os.switch_in u32:1
	END
	holds chrome 'map(select(.cat == "state")) | map([.ph, .name, .ts, .dur, .tid]) == [
		["X", "waiting", "0.100", "0.100", 1000000008], ["X", "running", "0.200", "0.100", 1000000008],
		["X", "preempted", "0.300", "0.100", 1000000008], ["B", "running", "0.400", null, 1000000008]]' switches.log
	jq -se 'map(select(.cat == "state"))[1].args == {data: {processor: 0}, end: {data: {processor: 0, preempted: true}}}' events
	# They have a lane right below that of their thread, where the pair is.
	jq -se 'map(select(.cat == "pair")) | map([.name, .tid]) == [["work", 8]]' events
	jq -se 'map(select(.ph == "M" and .name == "thread_sort_index")) |
		map([.tid, .args.sort_index]) == [[8, 16], [1000000008, 17]]' events
	jq -se 'map(select(.ph == "M" and .tid == 1000000008))[0].args.name == "thread 8: running and waiting"' events
	# The reason is the wait around the switch, selected or not.
	make_states
	holds chrome 'map(select(.cat == "state")) | map([.name, .ts]) == [["running", "0.100"], ["waiting: lock", "0.200"],
		["running", "0.300"], ["preempted", "0.310"], ["running", "0.320"], ["waiting", "0.400"],
		["running", "0.500"], ["waiting: io", "0.520"]]' -e 'os.*' states.log
}

@test "the states of a thread end with it" {
	switches exit.log <<-END
		event 100 7 7 os.switch_in u32:0
		event 200 7 7 os.exit
		event 200 7 7 os.switch_out u32:0 u8:1 hex:000000
		event 210 7 7 os.switch_in u32:0
		event 220 7 7 os.switch_out u32:0 u8:0 hex:000000
		event 300 7 7 os.switch_in u32:0
		event 400 7 7 os.switch_out u32:0 u8:0 hex:000000
		event 900 8 8 mark
	END
	# The number of the thread is used again, by one that does not end.
	chrome exit.log | jq -se 'map(select(.cat == "state") | [.ph, .name, .ts, .dur]) == [["X", "running", "0.000", "0.100"],
		["X", "running", "0.110", "0.010"], ["X", "running", "0.200", "0.100"], ["B", "waiting", "0.300", null]]'
}

@test "processes and threads have the names that the log tells" {
	ptrace-run -o run.log -- "$traced" -N 3 -t 2
	holds chrome 'map(select(.ph == "M" and .name == "process_name")) | any(.args.name == "traced")' run.log
	jq -se '(map(select(.name == "process_name" and .args.name == "traced"))[0].pid) as $p |
		any(.name == "thread_name" and .pid == $p and .tid == $p and .args.name == "traced")' events
	# The same process in two logs of a machine is one; a log that does not tell its machine is of another.
	cp run.log copy.log
	chrome run.log copy.log >events
	[ "$(jq -s 'map(select(.name == "process_name")) | length' events)" -eq \
		"$(ptrace-export --to=chrome run.log | grep -c process_name)" ]
	make_pairs
	cp pairs.log other.log
	holds chrome 'map(select(.ph == "X") | .pid) | unique == [7, 10000007]' pairs.log other.log
}

@test "processes of two containers have lanes of their own if labels tell the containers apart" {
	for log in one two; do
		timeline $log.log 'host box machine boot' 100:a.begin 200:a.end
	done
	labels='--label=first=one.log --label=second=two.log'
	holds chrome 'map(select(.name == "process_name") | [.pid, .args.name]) ==
		[[0, "trace system"], [7, "first: process 7"], [10000007, "second: process 7"]]' $labels one.log two.log
	jq -se 'map(select(.ph == "X") | [.name, .pid]) == [["a", 7], ["a", 10000007]]' events
	otlp $labels one.log two.log 2>/dev/null | jq -se 'map(.resource["host.name"]) == ["string first", "string second"]'
	jq -se 'map(select(.name == "thread_name") | .args.name) == ["thread 8", "thread 8"]' events
	# Logs of one container share them.
	holds chrome 'map(select(.cat == "pair").pid) | unique == [7]' --label=first=one.log --label=first=two.log one.log two.log
}

@test "the trace system of a second machine has a name" {
	for log in one two; do
		printf '%s\n' "host $log $log boot" 'event 100 0 0 posix_trace_start' | made $log.log
	done
	chrome one.log two.log | jq -se 'map(select(.name == "thread_name").args.name) == ["trace", "trace"]'
	! command -v protoc >/dev/null || perfetto one.log two.log | jq -se 'map(.track) == ["trace", "trace"]'
}

@test "flames: what a loss or a restart ends is not open later, whatever time is selected" {
	timeline end.log 0:posix_trace_start 100:job.begin 200:part.begin 300:part.end 400:posix_trace_overflow
	exits 0 ptrace-export --to=folded --allow-loss end.log
	grep -q 'job;part 100$' stdout.txt
	ptrace-export --to=speedscope --allow-loss end.log | jq -e '.profiles | length > 0'
	timeline past.log 100:job.begin 200:posix_trace_overflow 300:posix_trace_resume 400:part.begin 500:part.end \
		900:mark
	for since in 50 150 250; do
		ptrace-export --to=folded --allow-loss --since="+${since}ns" past.log >"$since"
		ptrace-export --to=speedscope --allow-loss --since="+${since}ns" past.log >"$since.json"
	done
	[ "$(sort 50)" = 'process 7;job 50
process 7;part 100' ]
	[ "$(<150)" = 'process 7;part 100' ]
	[ "$(<250)" = 'process 7;part 100' ]
	# Losses outside of the selected time are not exported.
	jq -se 'map([.profiles[].name]) == [["process 7 (7), thread 8 (8)", "events lost: past.log"],
		["process 7 (7), thread 8 (8)", "events lost: past.log"], ["process 7 (7), thread 8 (8)"]]' ./{50,150,250}.json
	# Pairs that a restart cuts end at the stop.
	timeline restart.log 100:job.begin 200:posix_trace_stop:u32:0 300:posix_trace_start 400:part.begin \
		500:part.end 900:mark
	exits 0 ptrace-export --to=folded restart.log
	[ "$(sort stdout.txt)" = 'process 7;job 100
process 7;part 100' ]
	ptrace-export --to=speedscope restart.log | jq -e '[.profiles[].events[] | [.type, .at]] ==
		[["O", 0], ["C", 100], ["O", 300], ["C", 400]]'
}

@test "threads have the name that the log tells last, at whatever time it came" {
	# A thread that gets its name behind its first event, one that gets it behind its last, and one whose number
	# a thread without a name had later.
	made late.log <<-END
		event 100 7 8 one
		event 110 7 9 one
		event 120 7 10 one
		event 300 7 8 two
		thread 105 7 9 program
		thread 200 7 8 late
		thread 400 7 9 behind
		thread 100 7 10 first
		thread 500 7 10
	END
	holds chrome 'map(select(.name == "thread_name" and .pid == 7) | [.tid, .args.name]) ==
		[[8, "late"], [9, "behind"], [10, "first"]]' late.log
	ptrace-export --to=speedscope --pair=one..two late.log 2>/dev/null |
		jq -e '.profiles[0].name == "process 7 (7), late (8)"'
	if command -v protoc >/dev/null; then
		holds perfetto 'map(.track) == ["late", "behind", "first", "late"]' late.log
	fi
	if command -v babeltrace2 >/dev/null; then
		ptrace-export --to=ctf -o late.ctf late.log
		babeltrace2 late.ctf >late.txt
		[ "$(grep -o 'thread_name = "[a-z]*"' late.txt | cut -d'"' -f2 | xargs)" = 'late behind first late' ]
	fi
}

# A pair in which events were lost.
make_lost() {
	timeline lost.log 100:a.begin 200:posix_trace_overflow 900:posix_trace_resume 950:a.end 'lost 12'
}

@test "losses are bands and numbers in Chrome JSON" {
	make_lost
	tells 3 '*lost*' ptrace-export --to=chrome lost.log
	holds chrome 'map(select(.cat == "loss")) | map([.ph, .pid, .ts, .dur]) == [["X", 0, "0.100", "0.700"]]' --allow-loss lost.log
	jq -se 'any(.name == "thread_name" and .args.name == "events lost: lost.log")' events
	jq -e '.otherData.logs[0] | .log == "lost.log" and .losses.stream_events == 12' trace.json
	# A slice from before to behind says so.
	jq -se 'map(select(.cat == "pair")) | map([.ph, .name, .args.events_lost]) == [["X", "a", true]]' events
	# They are told whatever is selected, but not far from it.
	chrome --allow-loss -e a.begin lost.log 2>/dev/null | jq -se 'any(.cat == "loss")'
	chrome --allow-loss --since=+0.0000008s lost.log 2>/dev/null | jq -se 'any(.cat == "loss")'
	chrome --allow-loss --until=+0.00000005s lost.log 2>/dev/null | jq -se 'all(.cat != "loss")'
}

@test "selections of pairs are those of ptrace-dump, of events too" {
	make_pairs
	names() {
		chrome "$@" pairs.log 2>/dev/null | jq -r 'select(.ph != "M" and .ph != "e") | .name' | sort | xargs
	}
	[ "$(names -e 'req.*')" = req ]
	[ "$(names -e other -e step.end)" = 'other other step' ]
	[ "$(names --user -p 9)" = receive ]
	[ "$(names --tid=9)" = 'receive send' ]
	# A slice that reaches into the time is there, whole.
	[ "$(names --since=+0.0000012s --until=+0.0000018s)" = 'req step' ]
	[ "$(names --where='duration > 500ns')" = 'late req step' ]
	[ "$(names --where='data.rows == 3')" = req ]
	[ "$(names --where='end.data.latency > 500ns')" = step ]
	[ "$(names --around=receive --context=1us,0s)" = 'receive send' ]
	[ "$(names --first=2)" = 'other step' ]
	[ "$(names --last=2)" = 'other stays' ]
	[ "$(names --last=1000)" = "$(names)" ]
	[ "$(names --last=0)" = '' ]
	reports 1 "*no event type has such a name*" ptrace-export --to=chrome -e no.such.event -o none.json pairs.log
	[ ! -e none.json ]
	tells 1 '*nothing*' ptrace-export --to=chrome --pair='a..nothing' pairs.log
}

@test "pairs that are open at the end come in the order of their begins" {
	for i in {1..9}; do echo "event ${i}000 7 $i a.begin"; done | made ends.log
	chrome ends.log 2>/dev/null | jq -se 'map(select(.ph == "B").tid) == [range(1; 10)]'
	chrome --first=4 ends.log 2>/dev/null | jq -se 'map(select(.ph == "B").tid) == [1, 2, 3, 4]'
	chrome --last=2 ends.log 2>/dev/null | jq -se 'map(select(.ph == "B").tid) == [8, 9]'
}

@test "--last: a begin without an end has the place of the begin" {
	timeline last.log 1000/1:a.begin 2000/2:b.begin 3000/2:b.end 4000/3:c.begin 5000/4:note \
		6000/5:d.begin 7000/5:d.end
	last() {
		[ "$(chrome --user --last="$1" last.log 2>/dev/null | jq -r 'select(.ph != "M" and .ph != "E") | .name' | sort | xargs)" = "$2" ]
	}
	last 1 d
	last 2 'd note'
	last 3 'c d note'
	last 4 'b c d note'
	last 5 'a b c d note'
	last 9 'a b c d note'
	last 0 ''
	perfetto --user --last=2 last.log 2>/dev/null | jq -se 'length == 2'
	# --first need not read the logs to their end, so there it follows all others.
	chrome --user --first=3 last.log 2>/dev/null | jq -se 'map(select(.ph == "B")) == []'
	chrome --user --first=4 last.log 2>/dev/null | jq -se 'map(select(.ph == "B") | .name) == ["a"]'
}

@test "an event without its counterpart is not selected by the name of that" {
	printf '%s\n' 'event 1000 7 8 x.end' 'event 2000 7 8 x.begin' | made halves.log
	chrome -e x.end halves.log 2>/dev/null | jq -se 'map(select(.ph == "B" or .ph == "i") | .name) == ["x.end"]'
	chrome -e x.begin halves.log 2>/dev/null | jq -se 'map(select(.ph == "B" or .ph == "i") | .name) == ["x"]'
}

@test "CSV has a line for each event, and a column for each field" {
	made fields.log <<-END
		layout query u64 id, u32[2] pair, str sql
		layout note json
		layout odd bool[2] flags
		event 10 1 2 query u64:5 u32:1 u32:2 str:a%22b%2cc%0ad
		event 20 1 2 plain str:text
		event 30 1 2 plain hex:00ff
		event 40 1 2 query u64:6
		event 50 1 2 note str:%20{"user":%20[1,%202]}
		event 60 1 2 =name%2c str:%c3%28
		event 70 0 0 posix_trace_stop u32:0
		event 80 1 2 odd hex:0100
		event 90 1 2 odd hex:0102
	END
	exits 0 ptrace-export --to=csv fields.log
	python3 - <<-'END'
		import csv
		rows = list(csv.DictReader(open("stdout.txt", newline="", encoding="utf-8")))
		assert [r["event"] for r in rows] == ["query", "plain", "plain", "query", "note", "=name,", "posix_trace_stop", "odd", "odd"]
		first = rows[0]
		assert first["ns"] == "1700000000000000010" and first["time"] == "2023-11-14T22:13:20.000000010Z"
		assert (first["pid"], first["tid"], first["truncated"], first["len"]) == ("1", "2", "no", "24")
		assert first["data.id"] == "5" and first["data.pair"] == "[1,2]" and first["data.sql"] == 'a"b,c\nd'
		assert first["data"] == "" and first["data_hex"] == ""
		assert rows[1]["data"] == "text" and rows[1]["data_hex"] == ""
		assert rows[2]["data"] == "" and rows[2]["data_hex"] == "00ff"
		# What does not fit its layout is there with all its bytes.
		assert rows[3]["data.id"] == "6" and rows[3]["data_hex"] == "0600000000000000"
		assert rows[4]["data"] == '{"user":[1,2]}'
		assert rows[5]["data_hex"] == "c32800"
		assert rows[6]["data"] == "reason=0"
		# An element that is shown in another way than its bytes say.
		assert [r["data_hex"] for r in rows[7:]] == ["", "0102"]
		assert all(len(r) == len(first) and None not in r for r in rows)
	END
	# As many lines as events, of any log and selection.
	ptrace-run -o run.log -- "$traced" -N 3 -t 2 -n 100
	[ "$(ptrace-export --to=csv run.log | wc -l)" -eq "$(($(events run.log) + 1))" ]
	for selection in --last=5 '--first=5 --user' '--around=traced.event.2 --context=1us,1us'; do
		[ "$(ptrace-export --to=csv $selection run.log | tail -n +2 | cut -d, -f1)" = \
			"$(ptrace-dump --json $selection run.log | jq -r .time)" ]
	done
	[ "$(ptrace-export --to=csv run.log fields.log | head -n 1 | tr -d '\r')" = \
		time,ns,event,pid,tid,comm,thread_name,truncated,len,log,data.id,data.pair,data.sql,data.flags,data,data_hex ]
	refuses 2 "*(ptrace-dump --pairs --format=csv has pairs)*" ptrace-export --to=csv --pair=a..b fields.log
}

# A function that calls two others, one of them twice, on each of two threads.
make_calls() {
	timeline calls.log 0:main.begin 100:read.begin 150/9:main.begin '200:parse;it.begin' \
		'250:parse;it.end' 400:read.end 500:read.begin 600:read.end 650/9:main.end 1000:main.end
}

@test "folded stacks are the time of each pair without those in it" {
	make_calls
	silently 0 ptrace-export --to=folded calls.log
	[ "$(sort stdout.txt)" = 'process 7;main 1100
process 7;main;read 350
process 7;main;read;parse\x3bit 50' ]
	# Of a time, as much as lies in it.
	[ "$(ptrace-export --to=folded --since=+0.00000022s --until=+0.00000045s calls.log | sort)" = \
		'process 7;main 280
process 7;main;read 150
process 7;main;read;parse\x3bit 30' ]
	[ "$(ptrace-export --to=folded -e 'read*' calls.log)" = 'process 7;read 400' ]
	[ "$(ptrace-export --to=folded --tid=9 calls.log)" = 'process 7;main 500' ]
	# An end that overlaps ends what began in it; what never ends does with the trace.
	timeline odd.log 0:a.begin 10:b.begin 30:a.end 60:b.end 70:c.begin 90:x
	[ "$(ptrace-export --to=folded odd.log | sort)" = 'process 7;a 10
process 7;a;b 20
process 7;c 20' ]
	# Which is told, and what is open where events were lost has its end there, if at all.
	tells 0 '*c: 1 begin without end*folded: 1 pair cut short, at the end of the pair around*' ptrace-export --to=folded odd.log
	timeline cut.log 0:w.begin 10:w.end 20:w.begin 50:posix_trace_overflow 900:posix_trace_resume \
		950:w.begin 980:w.end 999:x 'lost 3'
	prints 0 'process 7;w 70' ptrace-export --to=folded --allow-loss cut.log
	[[ $stderr == *"w: 1 with lost events or a restart in between"* ]]
	run_split ptrace-export --to=speedscope --allow-loss cut.log
	jq -se '.[0].profiles[] | select(.name | test("lost") | not) | .events | map([.type, .at]) ==
		[["O", 0], ["C", 10], ["O", 20], ["C", 50], ["O", 950], ["C", 980]]' <<<"$stdout"
	# A pair with a key is a frame of the thread on which it begins.
	for name in a b; do
		printf "layout $name.%s u64 key\n" begin end
	done >keys
	made spans.log < <(cat keys - <<-END
		event 0 7 8 a.begin u64:1
		event 10 7 8 b.begin u64:2
		event 20 7 9 a.begin u64:3
		event 25 7 8 b.begin u64:4
		event 30 7 8 b.end u64:4
		event 50 7 8 b.end u64:2
		event 60 7 9 a.end u64:3
		event 100 7 8 a.end u64:1
	END
	)
	shows_all() { [ "$(ptrace-export --to=folded "$@" 2>&1 | sort)" = "$(cat)" ]; }
	shows_all spans.log <<-END
		process 7;a 100
		process 7;a;b 35
		process 7;a;b;b 5
	END
	shows_all --pair='a by data.key' spans.log <<-END
		process 7;b 35
		process 7;b;b 5
		ptrace-export: folded: 2 pairs by a field left out, as a frame is of one thread
	END
	# Tasks that take turns overlap, and are cut short. A task that ends on another thread ends there.
	made tasks.log < <(cat keys - <<-END
		event 0 7 8 a.begin u64:1
		event 10 7 8 a.begin u64:2
		event 30 7 8 a.end u64:1
		event 60 7 8 a.end u64:2
		event 70 7 9 b.begin u64:3
		event 80 7 8 b.end u64:3
		event 82 7 9 a.begin u64:4
		event 90 7 9 a.end u64:4
	END
	)
	shows_all tasks.log <<-END
		process 7;a 18
		process 7;a;a 20
		process 7;b 10
		ptrace-export: folded: 1 pair cut short, at the end of the pair around
	END
	ptrace-export --to=speedscope tasks.log 2>/dev/null | jq -e '.profiles[1].events |
		map([.type, .at]) == [["O", 70], ["C", 80], ["O", 82], ["C", 90]]'
	for wrong in --first=3 --around=main.begin '--where=duration>1s'; do
		reports 2 '*' ptrace-export --to=folded "$wrong" calls.log
	done
	# A pair is selected by its begin.
	[ "$(ptrace-export --to=folded --where='event != "main.begin" && tid == 8' calls.log | head -n 1)" = 'process 7;read 350' ]
}

@test "a speedscope file has what each thread did" {
	make_calls
	ptrace-export --to=speedscope calls.log >s.json
	jq -e '."$schema" == "https://www.speedscope.app/file-format-schema.json"' s.json
	jq -e '(.shared.frames | map(.name)) as $f | .profiles | map([.type, .unit, .startValue, .endValue,
		(.events | map([.type, $f[.frame], .at]))]) == [
		["evented", "nanoseconds", 0, 1000, [["O", "main", 0], ["O", "read", 100], ["O", "parse;it", 200],
		["C", "parse;it", 250], ["C", "read", 400], ["O", "read", 500], ["C", "read", 600], ["C", "main", 1000]]],
		["evented", "nanoseconds", 0, 1000, [["O", "main", 150], ["C", "main", 650]]]]' s.json
	jq -e '.profiles | map(.name) == ["process 7 (7), thread 8 (8)", "process 7 (7), thread 9 (9)"]' s.json
	# A part of the time begins with what is open there.
	answers 0 '(.shared.frames | map(.name)) as $f | .profiles | map([.startValue, .endValue,
		(.events | map([.type, $f[.frame], .at]))]) == [[220, 450, [["O", "main", 220], ["O", "read", 220],
		["O", "parse;it", 220], ["C", "parse;it", 250], ["C", "read", 400], ["C", "main", 450]]]]' ptrace-export --to=speedscope --tid=8 --since=+0.00000022s --until=+0.00000045s calls.log
	# So many that they do not fit in a piece of the temporary file.
	printf 'event 1 7 8 a.begin\nevent 2 7 8 a.end\nrepeat 1000 10\n' | made many.log
	answers 0 '.profiles[0].events | length == 2002 and map(.at) == (map(.at) | sort) and
		map(.type) == [range(1001) | "O", "C"]' ptrace-export --to=speedscope many.log
	make_lost
	answers 0 '.profiles | map(select(.name == "events lost: lost.log"))[0].events | map([.type, .at]) ==
		[["O", 100], ["C", 800]]' ptrace-export --to=speedscope --allow-loss lost.log
}

@test "samples of stacks become flames" {
	made samples.log <<-END
		layout os.sample x64[4] stack
		event 10 7 8 os.sample u64:0x30 u64:0x20 u64:0x10 u64:0
		event 15 7 8 other.begin
		event 20 7 8 os.sample u64:0x30 u64:0x20 u64:0x10 u64:0
		event 30 7 9 os.sample u64:0x20 u64:0x10 u64:0 u64:0
		event 35 7 8 other.end
	END
	[ "$(ptrace-export --to=folded samples.log | sort)" = 'process 7;0xf;0x1f;0x30 2
process 7;0xf;0x20 1' ]
	[ "$(ptrace-export --to=folded --tid=9 samples.log)" = 'process 7;0xf;0x20 1' ]
	# Without them, it is the pairs.
	[ "$(ptrace-export --to=folded -e 'other*' samples.log)" = 'process 7;other 20' ]
	answers 0 '(.shared.frames | map(.name)) as $f | .profiles | map([.type, .unit, .endValue, .weights,
		(.samples | map(map($f[.])))]) == [
		["sampled", "none", 2, [1, 1], [["0xf", "0x1f", "0x30"], ["0xf", "0x1f", "0x30"]]],
		["sampled", "none", 1, [1], [["0xf", "0x20"]]]]' ptrace-export --to=speedscope samples.log
	# A run that is too short has none.
	printf '%s\n' 'layout os.sample x64[4] stack' 'event 15 7 8 other.begin' 'event 35 7 8 other.end' | made none.log
	[ "$(ptrace-export --to=folded none.log)" = 'process 7;other 20' ]
}

@test "Chrome and Perfetto have samples with their stacks" {
	made samples.log <<-END
		layout os.sample u32 processor, bool cut, code[] stack
		event 10 7 8 os.sample u32:1 u32:0 u64:0x30 u64:0x20 u64:0x10
		event 15 7 8 other.begin
		event 20 7 9 os.sample u32:0 u32:0 u64:0x30 u64:0x20 u64:0x10
		event 30 7 9 os.sample u32:1 u32:0 u64:0x20 u64:0x10
		event 33 7 9 os.sample u32:1 u32:0
		event 35 7 8 other.end
	END
	holds chrome 'map(select(.ph == "P") | [.tid, .name, .ts]) == [[8, "os.sample", "0.000"],
		[9, "os.sample", "0.010"], [9, "os.sample", "0.020"], [9, "os.sample", "0.023"]]' samples.log
	jq -e '.stackFrames as $f | def up: if . then $f[.] | .name, (.parent | up) else empty end;
		.traceEvents | map(select(.ph == "P") | .sf | tostring | [up]) ==
		[["0x30", "0x1f", "0xf"], ["0x30", "0x1f", "0xf"], ["0x20", "0xf"], ["-"]]' trace.json
	[ "$(jq -s 'map(select(.ph == "X")) | length' events)" -eq 1 ]
	[ "$(ptrace-export --to=folded samples.log | sort)" = 'process 7 1
process 7;0xf;0x1f;0x30 2
process 7;0xf;0x20 1' ]
	# Without samples nothing speaks of them.
	ptrace-export --to=chrome -e 'other*' samples.log | jq -e 'has("stackFrames") | not'
	command -v protoc >/dev/null || skip "no protoc"
	holds perfetto 'map(select(.sample) | [.ns, .pid, .tid, .cpu, .sample]) == [
		[0, 7, 8, 1, ["0xf", "0x1f", "0x30"]], [10, 7, 9, 0, ["0xf", "0x1f", "0x30"]],
		[20, 7, 9, 1, ["0xf", "0x20"]], [23, 7, 9, 1, []]]' samples.log
}

@test "no name or text breaks a format" {
	python3 - <<-'END' | made names.log
		import random
		random.seed(7)
		def escape(name):
		    return "".join(f"%{b:02x}" for b in name)
		names = [b'<script>alert(1)</script>', b'"quoted" \\ back', b'new\nline\r\ttab', b"'; drop table", b"a,b;c",
		         b"\xff\xfe", b"\xe2\x80\xae", b"\xed\xa0\x80", b"=1+1", b"{};", bytes(range(1, 256))[:255],
		         bytes(random.randrange(1, 256) for _ in range(255)), b"*/ /*"]
		ns = 0
		for n in names:
		    for suffix in b"", b".begin", b".end":
		        ns += 10
		        whole = n[:249] + suffix
		        print(f"event {ns} 7 8 {escape(whole)} str:{escape(n)}")
	END
	chrome names.log >events
	[ "$(jq -s 'map(select(.ph == "X")) | length' events)" -eq 13 ]
	[ "$(jq -s 'map(select(.ph == "i")) | length' events)" -eq 13 ]
	jq -se 'any(.name == "<script>alert(1)</script>") and any(.name == "new\nline\r\ttab")' events
	ptrace-export --to=csv names.log >out.csv
	python3 -c 'import csv; r = list(csv.reader(open("out.csv", newline="", encoding="utf-8"))); assert len(r) == 40 and all(len(x) == 11 for x in r), r'
	ptrace-export --to=speedscope names.log | jq -e '.profiles[0].events | length == 26'
	ptrace-export --to=folded names.log >out
	[ "$(wc -l <out)" -eq 13 ]
	[ "$(grep -cE '^process 7;[^;]+ 10$' out)" -eq 13 ]
	fails env LC_ALL=C grep -q "[^[:print:][:space:]$(printf '\x80-\xff')]" out
}

@test "a log without events of a program, one that is cut, and an empty one" {
	ptrace-run -o empty.log -- true 2>/dev/null
	made nothing.log </dev/null
	printf 'event 1 7 8 a.begin\nevent 2 7 8 a.end\nrepeat 20000 10\n' | made whole.log
	head -c 50000 whole.log >cut.log
	made unclosed.log <<<'event 1 7 8 a.begin
unclosed'
	for format in chrome perfetto csv folded speedscope otlp; do
		exits 0 ptrace-export --to=$format empty.log
		exits 0 ptrace-export --to=$format nothing.log
		reports 3 "*cut.log*" ptrace-export --to=$format cut.log
		fails ptrace-export --to=$format unclosed.log
		reports 1 "*not a trace log*" ptrace-export --to=$format "$PTRC_SOURCE/README.md"
	done
	holds chrome 'map(select(.ph == "X")) | length > 100' --allow-loss cut.log
	chrome nothing.log | jq -se 'length == 1'
}

@test "the export replaces no file that is not of its format" {
	make_calls
	for format in chrome perfetto csv speedscope otlp; do
		ptrace-export --to=$format -o out calls.log
		ptrace-export --to=$format calls.log >expected
		cmp out expected
		[ "$(stat -c %a out)" = 600 ]
		head -c 4000 /dev/zero | tr '\0' x >>out
		ptrace-export --to=$format -o out calls.log
		cmp out expected
		echo precious >out
		reports 1 "*out: exists and is not an export to*--force*" ptrace-export --to=$format -o out calls.log
		[ "$(<out)" = precious ]
		ptrace-export --to=$format -o out --force calls.log
		cmp out expected
		rm out
	done
	# Nothing tells who has written folded stacks.
	ptrace-export --to=folded -o out calls.log
	reports 1 "*out: exists and is not empty*" ptrace-export --to=folded -o out calls.log
	ptrace-export --to=folded -o out --force calls.log
	# A log that is read is none to be replaced.
	reports 1 "*calls.log: is read*" ptrace-export --to=chrome -o calls.log --force calls.log
	ptrace-dump --verify calls.log
	reports 1 "*no/such/dir/x: No such file*" ptrace-export --to=chrome -o no/such/dir/x calls.log
}

@test "a full disk or a reader that goes away is an error that names the file" {
	printf 'event 1 7 8 a.begin\nevent 2 7 8 b.end\nrepeat 10000 10\n' | made big.log
	for format in chrome perfetto csv speedscope otlp; do
		tells 1 '*/dev/full: No space left on device*' ptrace-export --to=$format --force -o /dev/full big.log
	done
	mkfifo pipe
	head -c 10 pipe >/dev/null 3>&- &
	# If the reader comes late, a message before says that it is waited for.
	tells 1 '*pipe: Broken pipe*' ptrace-export --to=csv -o pipe big.log
	exits 0 bash -c 'set -o pipefail; ptrace-export --to=csv big.log | head -n 1'
}

@test "usage: what ptrace-export refuses" {
	make_calls
	for wrong in '' --to=xml '--to=csv --counters' '--to=otlp --counters' '--to=chrome --force' '--to=chrome -o a -o b' \
		'--to=chrome --context=1s,0s' '--to=speedscope --last=1' '--to=chrome --ctf-version=2' '--ctf-version=2' \
		'--to=csv -o '; do
		run_split ptrace-export $wrong calls.log
		[ "$status" -eq 2 ] || { [[ $wrong == *'-o ' ]] && [ "$status" -ne 0 ]; }
		[ -z "$stdout" ]
	done
	# The log of the directory, and standard input.
	mv calls.log ptrace.log
	[ "$(ptrace-export --to=csv | wc -l)" -eq 11 ]
	[ "$(ptrace-export --to=csv - <ptrace.log | wc -l)" -eq 11 ]
	traced_start -w -W -n 3
	ptrace-create -p "$pid" -n "$me.a" --start
	go done
	[ "$(ptrace-export --to=csv --user "$me.a" | wc -l)" -eq 4 ]
	[ "$(ptrace-export --to=csv -e traced.event -o "$me.csv" "$me.a" ptrace.log && wc -l <"$me.csv")" -eq 4 ]
}

@test "memory grows with open pairs only" {
	# The address sanitizer keeps what was freed.
	! grep -q __asan_init "$PTRC_BUILD/src/ptrace-export" || skip "a sanitizer needs more memory"
	printf 'event 1 7 8 a.begin u64:1\nevent 5 7 8 a.end u64:1\nrepeat 20000 10\n' | made small.log
	printf 'event 1 7 8 a.begin u64:1\nevent 5 7 8 a.end u64:1\nrepeat 1000000 10\n' | made large.log
	for format in chrome perfetto ctf csv folded speedscope otlp; do
		for log in small large; do
			rm -rf out.ctf
			python3 - $format $log.log >$log.rss <<-'END'
				import resource, subprocess, sys
				output = ["-o", "out.ctf"] if sys.argv[1] == "ctf" else []
				subprocess.run(["ptrace-export", "--to=" + sys.argv[1], sys.argv[2], *output], check=True, stdout=subprocess.DEVNULL)
				print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
			END
		done
		# The log itself, of which as much as is read may count.
		[ "$(<large.rss)" -lt $(($(<small.rss) + 16384)) ] || {
			echo "$format $(<small.rss) $(<large.rss)"
			false
		}
	done
}

# perfetto OPTION...: the events of an export to perfetto, a line each, by their ends
perfetto() {
	ptrace-export --to=perfetto "$@" >trace.pb
	protoc --decode=Trace -I "$PTRC_SOURCE/tests/cmd/export" perfetto.proto <trace.pb >trace.txt
	# No field that is not described.
	fails grep -qE '^ *[0-9]+[:{ ]' trace.txt
	python3 "$PTRC_SOURCE/tests/cmd/export/read_perfetto.py" <trace.txt
}

@test "Perfetto: tracks, slices, flows, counters and losses" {
	command -v protoc >/dev/null || skip "no protoc"
	make_pairs
	holds perfetto 'map(select(.dur)) | map([.name, .ns, .dur, .track]) == [["step", 1500, 501, "thread 8"],
		["req", 1000, 2000, "thread 8"], ["late", 2500, 1000, "late"], ["send..receive", 4000, 1000, "send..receive"]]' --counters --decode='send=u64 id' --decode='receive=u64 id' \
		--pair='send..receive by data.id' pairs.log
	jq -se 'map(select(.name == "req"))[0].args == {data: {id: 5, rows: 3}}' events
	jq -se 'map(select(.name == "step"))[0].args == {end: {data: {latency: 501}}}' events
	jq -se 'map(select(.flow)) | map([.ns, .track]) == [[4000, "thread 9"], [5000, "thread 9"]] and
		(map(.flow) | unique | length == 1)' events
	jq -se 'map(select(.value)) | map([.track, .value]) == [["step.end.latency", "501"]]' events
	jq -se 'map(select(.name == "stays"))[0] | .args.missing == "end" and .dur == null' events
	jq -se 'map(select(.name == "gone.end"))[0].args.missing == "begin"' events
	jq -se 'map(select(.name == "other") | .args.data) == ["hello", "bye"]' events
	grep -q 'timestamp: 1700000000000001000' trace.txt
	grep -q 'unit_name: "ns"' trace.txt
	# Infinity and NaN are left out.
	printf 'layout n f64 v s\nevent 1 7 8 n f64:0.5\nevent 2 7 8 n f64:nan\nevent 3 7 8 n f64:inf\n' | made odd.log
	perfetto --counters odd.log | jq -se 'map(select(.value) | .value) == ["0.5"]'
	make_lost
	holds perfetto 'map(select(.name == "events lost")) | map([.ns, .dur, .track]) == [[100, 700, "events lost: lost.log"]]' --allow-loss lost.log
	jq -se 'map(select(.name == "losses"))[0].args.losses | fromjson.losses.stream_events == 12' events
	jq -se 'map(select(.name == "a"))[0].args.events_lost' events
	# It is known again.
	ptrace-export --to=perfetto -o out pairs.log 2>/dev/null
	ptrace-export --to=perfetto -o out pairs.log 2>/dev/null
	echo >out
	exits 1 ptrace-export --to=perfetto -o out pairs.log
}

@test "Perfetto: states of threads are on state tracks, and say for what a thread waits" {
	command -v protoc >/dev/null || skip "no protoc"
	make_states
	holds perfetto 'map(select(.state)) | map([.state, .ns, .dur]) == [["running", 100, 100], ["waiting: lock", 200, 100],
		["running", 300, 10], ["preempted", 310, 10], ["running", 320, 80], ["waiting", 400, 100],
		["running", 500, 20], ["waiting: io", 520, null]]' states.log
	jq -se 'map(select(.state)) | map(.track, .thread) | unique == ["state", "thread 8"]' events
	# A state has the data of its first event; those of its last one are with the next state.
	jq -se 'map(select(.state)) | .[2].args == {data: {processor: 1}} and
		.[3].args == {data: {processor: 1, preempted: true}} and .[7].args.missing == "end"' events
	# The waits are slices of their thread as well.
	jq -se 'map(select(.name == "wait.lock")) | map([.ns, .dur, .track]) == [[150, 210, "thread 8"]]' events
	# Without switches, waits are all that is known of what a thread does. One within another changes nothing.
	timeline waits.log 100:wait.io.begin 110:wait.sleep.begin 120:wait.sleep.end 200:wait.io.end \
		200:wait.net.begin 300:wait.net.end 300/9:wait.child.begin
	holds perfetto 'map(select(.state)) | map([.thread, .state, .ns, .dur]) == [["thread 8", "waiting: io", 0, 100],
		["thread 8", "waiting: net", 100, 100], ["thread 9", "waiting: child", 200, null]]' waits.log
	jq -se 'map(select(.name)) | map(.name) | sort == ["wait.child", "wait.io", "wait.net", "wait.sleep"]' events
	chrome waits.log 2>/dev/null | jq -se 'any(.cat == "state") | not'
	# A wait that a longjmp() has left, or whose end was lost, is no reason for what comes later.
	switches left.log <<-END
		event 100 7 8 wait.lock.begin
		event 110 7 8 wait.io.begin
		event 120 7 8 wait.io.end
		event 200 7 8 os.switch_out u32:0 u8:0 hex:000000
		event 300 7 8 os.switch_in u32:0
		event 310 7 8 wait.net.begin
		event 320 0 0 posix_trace_overflow
		event 330 0 0 posix_trace_resume
		event 400 7 8 os.switch_out u32:0 u8:0 hex:000000
		lost 3
	END
	holds perfetto 'map(select(.state)) | map([.state, .ns, .dur]) == [["waiting", 100, 100],
		["running", 200, 100], ["waiting", 300, null]]' --allow-loss left.log
	# Of two switches that leave the processor, the first one has no end.
	switches twice.log <<-END
		event 100 7 8 os.switch_out u32:0 u8:0 hex:000000
		event 200 7 8 os.switch_out u32:0 u8:0 hex:000000
		event 300 7 8 os.switch_in u32:0
		event 400 7 8 os.switch_in u32:0
	END
	holds perfetto 'map(select(.state)) | map([.state, .ns, .dur]) == [["waiting", 100, 100], ["running", 300, null]]' twice.log
	jq -se 'map(select(.name)) | map([.name, .ns, .args.missing]) == [["os.switch_out", 0, "end"],
		["os.switch_in", 200, "end"]]' events
	holds chrome 'map(select(.cat == "state") | [.name, .ts]) == [["waiting", "0.100"], ["running", "0.300"]]' twice.log
	# States that a loss cuts are not continued after it.
	switches cut.log <<-END
		event 100 7 8 os.switch_in u32:0
		event 200 0 0 posix_trace_overflow
		event 300 0 0 posix_trace_resume
		event 400 7 8 os.switch_in u32:0
		event 500 7 8 os.switch_out u32:0 u8:0 hex:000000
		lost 3
	END
	holds perfetto 'map(select(.state)) | map([.state, .ns, .dur]) == [["running", 300, 100], ["waiting", 400, null]]' --allow-loss cut.log
}

@test "Perfetto: random pairs nest, with the times that they have; any names" {
	command -v protoc >/dev/null || skip "no protoc"
	random_log 5000 8 %ff%22
	perfetto random.log 2>/dev/null >events
	chrome random.log 2>/dev/null >chrome.json
	# The same slices, by name, begin and duration.
	jq -r 'select(.dur != null and .name != "losses") | "\(.name) \(.ns) \(.dur)"' events | sort >one
	python3 - <<-'END' | sort >other
		import json
		opened = {}
		for line in open("chrome.json", encoding="utf-8"):
		    e = json.loads(line)
		    ns = int(e.get("ts", "0").replace(".", ""))
		    if e["ph"] == "X":
		        print(e["name"], ns, int(e["dur"].replace(".", "")))
		    elif e["ph"] == "b":
		        opened[e["id"]] = ns
		    elif e["ph"] == "e":
		        print(e["name"], opened[e["id"]], ns - opened[e["id"]])
	END
	[ "$(wc -l <one)" -gt 500 ]
	diff one other
	perfetto --last=3 random.log 2>/dev/null | jq -se 'length == 3'
}

@test "Perfetto: fields of every kind and size; each name is told once" {
	command -v protoc >/dev/null || skip "no protoc"
	python3 - <<-'END' | made kinds.log
		import random, struct
		random.seed(8)
		codes = dict(zip("u8 u16 u32 u64 i8 i16 i32 i64 bool f32 f64".split(), "BHIQbhiqBfd"))
		kinds = list(codes)
		def number(kind):
		    bits = 8 * struct.calcsize(codes[kind])
		    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "i" else (0, (1 << bits) - 1)
		    value = random.choice([low, high, 0, 1, 127, 128 % (high + 1), random.randint(low, high)])
		    if kind == "bool":
		        value = random.randrange(2)
		    if kind[0] == "f":
		        value = random.choice([0.5, -1.25, 1e20, 0.1, 3.0])
		    return struct.pack("<" + codes[kind], value)
		layouts = {}
		for i in range(40):
		    fields = [random.choice(kinds) for _ in range(random.choice([1, 2, 3, 9, 30]))]
		    # Some have more than numbers: text, or an array, behind them.
		    tail = random.choice(["", "", "", "str", "u16[]"])
		    layouts[f"type{i}"] = fields, tail
		    texts = [f"{f} n{k}" for k, f in enumerate(fields)]
		    texts += {"": [], "str": ["str text"], "u16[]": ["u16[] list"]}[tail]
		    print(f"layout type{i} packed {', '.join(texts)}")
		for i in range(400):
		    name = random.choice(list(layouts))
		    fields, tail = layouts[name]
		    data = b"".join(number(f) for f in fields)
		    size = random.choice([0, 1, 60, 127, 128, 5000, 20000])
		    if tail == "str":
		        data += b"x" * size + bytes(1)
		    if tail == "u16[]":
		        data += random.randbytes(size & ~1)
		    if not random.randrange(20):
		        data = data[:-1] + bytes(3)  # does not fit
		    print(f"event {10 + i} 1 2 {name} hex:{data.hex()}")
	END
	perfetto kinds.log 2>/dev/null >events
	python3 - <<-'END'
		import json, struct, subprocess
		dumped = subprocess.run(["ptrace-dump", "--format=json", "kinds.log"], stdout=subprocess.PIPE)
		dumped = [json.loads(line) for line in dumped.stdout.decode().splitlines()]
		exported = [json.loads(line) for line in open("events")]
		dumped = [d for d in dumped if d["event"].startswith("type")]
		exported = [e for e in exported if e["name"].startswith("type")]
		assert len(dumped) == len(exported) == 400
		def same(a, b):
		    # protoc prints doubles with fewer digits; an empty array is an annotation without a value.
		    if isinstance(a, float) or isinstance(b, float):
		        return abs(a - b) <= abs(b) * 1e-6
		    return a == b or (a == {} and b == [])
		for d, e in zip(dumped, exported):
		    data, args = d.get("data", {}), e["args"].get("data", {})
		    assert data.keys() == args.keys(), (d, e)
		    for key in data:
		        assert same(args[key], data[key]), (key, args[key], data[key])
		    assert ("data_hex" in d) == ("data_hex" in e["args"]), (d, e)
		# An f32 is the number that is shown for it.
		trace = open("trace.pb", "rb").read()
		(exact,) = struct.unpack("<f", struct.pack("<f", 0.1))
		assert struct.pack("<d", 0.1) in trace and struct.pack("<d", exact) not in trace
	END
	[ "$(grep -c 'name: "n0"' trace.txt)" -eq 1 ]
	[ "$(grep -c 'name: "type7"' trace.txt)" -eq 1 ]
}

# Python with the bindings of babeltrace2, or nothing: Debian has them for its own one only.
bt2_python() {
	local python
	for python in python3 /usr/bin/python3; do
		"$python" -c 'import bt2' 2>/dev/null && echo "$python" && return
	done
}

# needs_babeltrace [2.1]: skips the case if there is no babeltrace2, or only an older one
needs_babeltrace() {
	command -v babeltrace2 >/dev/null || skip "no babeltrace2"
	python=$(bt2_python)
	[ -n "$python" ] || skip "no python3-bt2"
	[ "$1" != 2.1 ] || "$python" -c 'import bt2; bt2._BlobFieldConst' 2>/dev/null ||
		skip "babeltrace2 reads only CTF 1.8"
}

# use_ctf VERSION: exports are of this version of CTF, and ctf and same_in_ctf read them: 1.8 by babeltrace2, 2 by
# ctf2.py, which also checks the metadata
use_ctf() {
	version=$1
	if [ "$version" = 2 ]; then
		reader=ctf2 python=python3
	else
		reader=bt2
		needs_babeltrace
	fi
}

read_ctf() {
	"$python" "$PTRC_SOURCE/tests/cmd/export/read_ctf.py" "$reader" "$@"
}

# to_ctf OPTION...: exports to out.ctf
to_ctf() {
	rm -rf out.ctf
	ptrace-export --to=ctf --ctf-version="$version" -o out.ctf "$@" 2>ctf.messages
}

# same_in_ctf OPTION...: exports to out.ctf, and compares each event with what ptrace-dump shows of it;
# there are some
same_in_ctf() {
	to_ctf "$@"
	ptrace-dump --json "$@" >told.json 2>/dev/null
	[ "$(read_ctf out.ctf told.json)" -gt 0 ]
}

# ctf OPTION...: the events and losses of an export to out.ctf, a line each
ctf() {
	to_ctf "$@"
	read_ctf out.ctf
}

make_fields() {
	made fields.log <<-END
		layout query u64 id, u32[2] pair, enum{idle,busy=7} state, bool ok, i16 small, str sql
		layout note json
		layout fixed u8 a, u64 b ns, f64 c, char[5] name, x16 addr, f32 d, bytes[3] raw, enum i8{no=-1,yes} e
		layout bits u32 lo:3, i32 hi:5, u64 wide:40, bool flag:1
		layout rest u8 event, bytes tail
		layout struct packed u8 int, u16 string, i64 _x, pad[2], u8[2] align
		layout texts str a, str b
		layout sample u32 cut, code[] stack
		layout several u8 n, enum{a,b}[] e
		event 10 1 2 query u64:5 u32:1 u32:2 u32:7 u8:1 hex:00feff str:a%22b%2cc%0ad
		event 11 1 2 query u64:6 u32:1 u32:2 u32:8 u8:0 hex:000080 str:%e2%82%ac
		event 12 1 2 query u64:6 u32:1 u32:2 u32:8 u8:0 hex:000080 hex:6162
		event 20 1 2 plain str:text
		event 30 1 2 plain hex:00ff
		event 31 1 2 plain
		event 40 1 2 query u64:6
		event 50 1 2 note str:{"user":%201,"list":[1,2]}
		event 51 1 2 note str:{"user":
		event 60 1 2 =name%2c str:%c3%28
		event 65 1 3 fixed u8:7 hex:00000000000000 u64:9 f64:1.5 hex:6162630000 hex:00 hex:cdab hex:0000
		event 66 1 3 fixed hex:0700000000000000ffffffffffffffff000000000000f87f616200786500cdab0000c03f010203ff
		event 67 1 3 fixed hex:0700000000000000ffffffffffffffff000000000000f07f6162636465aacdab0000c07f01020300
		event 68 1 3 bits hex:fdffeeddccbb0100
		event 69 1 3 bits hex:fd00000000000000ffeeddccbb010000
		event 70 1 3 rest u8:2 hex:010203
		event 71 1 3 rest u8:2
		event 72 2 4 struct u8:1 hex:0200 hex:fdffffffffffffff hex:0000 hex:0506
		event 73 2 4 texts str:x str:
		event 74 2 4 texts str:x hex:79
		event 75 2 4 texts str:%ff%fe str:ok
		event 76 2 4 sample u32:1 hex:00000000 u64:0x7f0012345678 u64:5
		event 77 2 4 sample u32:1 hex:00000000
		event 78 2 4 sample u32:1 hex:00000000 u32:3
		event 79 2 4 several u8:1 hex:000000 u32:1 u32:0 u32:9
		event 5000000000 1 3 rest u8:2
		event 9294967295 1 3 rest u8:3
		event 13589934592 1 3 rest u8:4
		event 13589934600 0 0 posix_trace_stop u32:0
	END
}

# otlp OPTION...: the spans of an export to otlp by their starts, then its log records, a line each
otlp() {
	ptrace-export --to=otlp "$@" >otlp.jsonl
	python3 "$PTRC_SOURCE/tests/cmd/export/check_otlp.py" $orphans <otlp.jsonl
}

@test "OTLP: pairs are spans within those of their thread, other events are log records" {
	make_pairs
	otlp --decode='send=u64 id' --decode='receive=u64 id' --pair='send..receive by data.id' pairs.log 2>/dev/null >all
	# Numbers of jq are doubles, so times are compared as text.
	grep -o '"startTimeUnixNano":"[0-9]*","endTimeUnixNano":"[0-9]*"' otlp.jsonl | tr -cd '0-9,\n' >times
	printf '17000000000000%s,17000000000000%s\n' 02500 03001 02000 04000 03500 04500 05000 06000 08000 09000 |
		diff - times
	jq -se 'map(select(.kind == "span")) | map([.name, .attributes]) == [
		["req", {"thread.id": "int 8", "data.id": "int 5", "data.rows": "int 3"}],
		["step", {"thread.id": "int 8", "end.data.latency": "int 501"}],
		["late", {"thread.id": "int 8"}],
		["send..receive", {"thread.id": "int 9", "data.id": "int 77", "end.process.pid": "int 9",
			"end.thread.id": "int 9", "end.data.id": "int 77"}],
		["stays", {"thread.id": "int 8", "missing": "string end"}]]' all
	jq -se 'map(select(.kind == "span")) | (map({(.name): .id}) | add) as $of |
		map(.parent) == [null, $of.req, $of.req, null, null]' all
	jq -se 'map(select(.kind == "log")) | map([.name, .severity, .attributes.data, .attributes.missing]) == [
		["other", 9, "string hello", null], ["gone.end", 9, null, "string begin"], ["other", 9, "string bye", null]]' all
	# Records have the span that was open on their thread.
	jq -se '(map(select(.name == "stays"))[0].id) as $stays | map(select(.kind == "log")) |
		map(.id) == [null, null, $stays]' all
	jq -se 'map(.resource) | unique == [{"service.name": "string unknown_service", "process.pid": "int 7"}]' all
	# The same log makes the same numbers, whatever is selected of it; other pairs make others.
	ptrace-export --to=otlp pairs.log >first 2>/dev/null
	ptrace-export --to=otlp pairs.log 2>/dev/null | cmp first
	ids() { jq -s 'map(select(.name == "step"))[0] | [.trace, .id, .parent]' "$@"; }
	otlp pairs.log 2>/dev/null | ids >expected
	orphans=--orphans
	otlp -e 'step.*' pairs.log | ids | cmp expected
	otlp --last=4 pairs.log 2>/dev/null | jq -se 'length == 4'
	fails cmp -s <(ids all) expected
	# So does a copy of the log, but no other log.
	cp pairs.log copy.log
	otlp copy.log 2>/dev/null | ids | cmp expected
	make_pairs other.log
	fails cmp -s <(otlp other.log 2>/dev/null | ids) expected
}

@test "OTLP: each kind of value is an attribute of its type, and no byte is lost" {
	cat >script <<-'END'
		layout v i64 low, u64 high, u64 most, bool yes, bool odd, x32 mask, f64 ratio, f64 none, f64 big, f32 single, enum{idle,up} state, i32[2] list, char[4] word, bytes[3] raw, str text
		layout j json
		layout k u32 id, json more
		event 10 1 1 v hex:0000000000000080 u64:9223372036854775807 u64:18446744073709551615 u8:1 u8:2 hex:0000 hex:ff000000 f64:0.5 f64:nan f64:-inf hex:cdcccc3d u32:1 u32:7 hex:ffffffff hex:61ff6200 hex:00ff10 hex:fffe7a00
		event 20 1 1 j hex:7b2261223a312c2262223a2d392e35652d332c2263223a2278222c2264223a747275652c2265223a6e756c6c2c2266223a7b2267223a5b315d7d2c2268223a31383434363734343037333730393535313631362c2269223a31653939397d
		event 30 1 1 k u32:4 hex:5b312c20325d
		event 35 1 1 k u32:4 hex:5b312c
		event 40 1 1 none str:plain
		event 50 1 1 none hex:00ff
		event 60 1 1 none
	END
	python3 - <<-'END' >>script
		for text in ('{"a":1,"b":2,"a":3}', "{" + ",".join(f'"m{i}":{i}' for i in range(128)) + "}",
		             "{" + ",".join(f'"m{i}":{i}' for i in range(129)) + "}", "[1]"):
		    print("event 70 1 1 j hex:" + text.encode().hex())
	END
	made values.log <script
	otlp values.log 2>/dev/null | jq -s 'map(.attributes | del(."thread.id"))' >values
	jq -e '.[0] == {"data.low": "int -9223372036854775808", "data.high": "int 9223372036854775807",
		"data.most": "string 18446744073709551615", "data.yes": "bool true", "data.odd": "bool true",
		"data.odd_hex": "string 02", "data.mask": "string 0xff", "data.ratio": "double 0.5",
		"data.none": "double NaN", "data.none_hex": "string 000000000000f87f", "data.big": "double -Infinity",
		"data.single": "double 0.1", "data.state": "string up", "data.list": ["int 7", "int -1"],
		"data.word": "string a\ufffdb", "data.word_hex": "string 61ff62", "data.raw": "bytes 00ff10",
		"data.text": "string \ufffd\ufffdz", "data.text_hex": "string fffe7a"}' values
	jq -e '.[1] == {"data.a": "int 1", "data.b": "double -0.0095", "data.c": "string x", "data.d": "bool true",
		"data.e": null, "data.f": "string {\"g\":[1]}", "data.h": "string 18446744073709551616",
		"data.i": "string 1e999"}' values
	jq -e '.[2] == {"data.id": "int 4", "data.more": "string [1,2]"}' values
	# Data that does not fit its layout is there as bytes, too.
	jq -e '.[3] == {"data.id": "int 4", data: "bytes 040000005b312c"}' values
	jq -e '.[4:7] == [{data: "string plain"}, {data: "bytes 00ff"}, {}]' values
	# Keys differ, and are not too many.
	jq -e '.[7] == {"data.b": "int 2", "data.a": "int 3"}' values
	jq -e '.[8] | length == 128 and .["data.m127"] == "int 127"' values
	jq -e '.[9].data | ltrimstr("string ") | fromjson | length == 129' values
	jq -e '.[10] == {data: "bytes 5b315d"}' values
}

@test "OTLP: spans nest however deep, and lines stay short" {
	python3 - <<-'END' | made deep.log
		import random
		random.seed(3)
		for i in range(3000):
		    print(f"event {1000 + i} 1 1 f{i % 7}.begin str:{'x' * 300}")
		for i in reversed(range(3000)):
		    print(f"event {9000 - i} 1 1 f{i % 7}.end")
		for i in range(20000):
		    thread = random.randrange(1, 20)
		    print(f"event {10000 + i} {thread % 5 + 1} {thread} {random.choice('abc')}.{random.choice(['begin', 'end'])}")
	END
	holds otlp 'map(select(.name | startswith("f"))) | length == 3000 and (map(.trace) | unique | length) == 1 and
		([range(1; 3000) as $i | .[$i].parent == .[$i - 1].id] | all)' deep.log
	# Each event is in a span, or is a record.
	[ "$(jq -s 'map(if .kind == "span" and .attributes.missing == null then 2 else 1 end) | add' events)" -eq 26000 ]
	[ "$(wc -l <otlp.jsonl)" -ge 8 ]
	[ "$(awk 'length > most {most = length} END {print most}' otlp.jsonl)" -lt 300000 ]
	# A line has several processes, each once.
	tail -n 1 otlp.jsonl | jq -e '.resourceLogs | length == 5'
}

@test "a pair that lasts beyond the pair around it is around no pair from then on, and ends none" {
	timeline chain.log 100:one.begin 200:two.begin 300:one.end 350:alone.begin 360:alone.end 400:three.begin \
		500:two.end 600:within.begin 700:within.end 800:three.end
	otlp chain.log | jq -se '(map({(.name): .id}) | add) as $of | map([.name, .parent]) == [["one", null],
		["two", $of.one], ["alone", null], ["three", null], ["within", $of.three]]'
	[ "$(chrome chain.log | jq -r 'select(.ph == "X").name' | xargs)" = 'one alone within three' ]
	exits 0 ptrace-export --to=folded chain.log
	grep -qx 'process 7;three;within 100' stdout.txt
}

@test "OTLP: losses are records whatever is selected, and spans know of them" {
	make_lost
	tells 3 '*12 events lost*' ptrace-export --to=otlp lost.log
	holds otlp 'map(select(.kind == "span")) | map([.name, .attributes.events_lost]) == [["a", "bool true"]]' --allow-loss lost.log
	jq -se 'map(select(.severity == 13)) | map(.name) | unique == ["events lost", "losses", "posix_trace_overflow"]' events
	jq -se 'map(select(.name == "events lost"))[0] | .attributes == {log: "string lost.log", "duration_ns": "int 700"}
		and .resource["service.name"] == "string posixtrace"' events
	jq -se 'map(select(.name == "losses"))[0].attributes.losses | ltrimstr("string ") | fromjson |
		.losses.stream_events == 12' events
	otlp --allow-loss -e a.begin lost.log 2>/dev/null | jq -se 'any(.name == "events lost")'
	# A begin whose end was lost is a record with the number of the span that it started.
	printf '%s\n' 'event 1 7 8 a.begin' 'event 2 7 8 b.begin' 'event 3 7 8 b.end' 'event 4 0 0 posix_trace_overflow' \
		'event 5 0 0 posix_trace_resume' | made open.log
	holds otlp '(map(select(.name == "b"))[0].parent) as $a | map(select(.name == "a.begin"))[0] |
		.kind == "log" and .attributes.missing == "string end" and .id == $a and $a != null' --allow-loss open.log
}

@test "OTLP: what a loss or a restart cuts is no parent later" {
	for cut in 'posix_trace_overflow posix_trace_resume' 'posix_trace_stop posix_trace_start'; do
		made cut.log <<-END
			event 100 7 8 a.begin
			event 200 0 0 ${cut% *}
			event 300 0 0 ${cut#* }
			event 400 7 8 b.begin
			event 500 7 8 c
			event 600 7 8 b.end
			event 700 7 8 c
		END
		holds otlp '(map(select(.name == "b"))[0]) as $b | $b.parent == null and
			(map(select(.name == "c") | .id) == [$b.id, null])' --allow-loss cut.log
	done
}

@test "OTLP: resources are what the log tells of processes; switches are records" {
	ptrace-run -o run.log -- "$traced" -N 3 -t 2
	otlp run.log >all
	jq -se --arg exe "$(realpath "$traced")" --arg host "$(uname -n)" --arg user "$EUID" \
		'map(select(.name == "traced.event.1"))[0] | (.resource | .["service.name"] == "string traced" and
		.["host.name"] == "string " + $host and (.["host.arch"] | startswith("string ")) and
		.["process.executable.path"] == "string " + $exe and .["process.user.id"] == "int " + $user and
		(.["process.command_line"] | endswith(" -N 3 -t 2")) and (.["process.pid"] | startswith("int "))) and
		(.attributes["thread.name"] | startswith("string "))' all
	cp run.log copy.log
	otlp --label=here=run.log run.log copy.log | jq -se 'any(.resource["host.name"] == "string here")'
	switches switches.log <<-END
		host box machine boot
		event 100 7 8 work.begin
		event 200 7 8 os.switch_out u32:1 u8:0 hex:000000
		event 300 7 8 os.switch_in u32:0
		event 450 7 8 work.end
	END
	holds otlp 'map([.kind, .name]) == [["span", "work"], ["log", "os.switch_out"], ["log", "os.switch_in"]] and
		(map(.id) | unique | length) == 1 and .[0].resource["host.name"] == "string box"' switches.log
}

@test "OTLP: data that was cut, events that damage took, and places in the source" {
	ptrace-run --max-data-size=4 -o run.log -- ptrace-event cut plain
	otlp run.log | jq -se 'map(select(.name == "cut"))[0].attributes | .data == "string plai" and .truncated == "string record"'
	printf 'event 1 7 8 a\nevent 2 7 8 b\nrepeat 10000 10\n' | made damaged.log
	damages damaged.log xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx $(($(stat -c %s damaged.log) / 2))
	otlp --allow-loss damaged.log 2>/dev/null | jq -se '
		(map(select(.name == "losses"))[0].attributes.losses | ltrimstr("string ") | fromjson) as $all |
		map(select(.name == "events lost").attributes.unreadable_events) ==
			["int \($all.losses.unreadable_events)"] and $all.losses.unreadable_events > 0'
	needs_symbols
	ptrace-run -o run.log -- "$traced" -N 3
	otlp --symbols -e traced.event.1 run.log >all
	ptrace-dump --json --symbols -e traced.event.1 run.log | jq -se --slurpfile all all 'length > 0 and
		map(["string " + .function, "string " + .file, if .line then "int \(.line)" else null end]) == ($all | map(.attributes |
		[.["code.function.name"], .["code.file.path"], .["code.line.number"]]))'
}

# Each event that ptrace-dump shows is there, with every field.
check_ctf_events() {
	use_ctf "$1"
	make_fields
	same_in_ctf fields.log
	[ "$(wc -l <told.json)" -eq 29 ]
	# By the name that a field has in the layout; what does not fit is bytes.
	holds ctf 'map(select(.ns == "1700000000000000072"))[0] | .fields ==
		{int: 1, string: 2, _x: -3, align: [5, 6]} and .pid == 2 and .tid == 4' fields.log
	jq -se 'map(select(.event == "bits"))[0].fields | del(.flag) == {lo: 5, hi: -1, wide: 806595981055}' events
	jq -se 'map(select(.event == "query")) | map(.fields.data_length) == [null, null, null, 8]' events
	jq -se 'map(.env)[0] | .tracer_name == "posixtrace" and .log == "fields.log"' events
	# More than a packet, which has 256 KiB, and what selections leave.
	printf 'layout q u64 id, u32 rows\nevent 1 7 8 q u64:1 u32:7 hex:00000000\nevent 5 7 8 r u64:1\nrepeat 4000 1000\n' |
		made many.log
	same_in_ctf many.log
	[ "$(stat -c %s out.ctf/stream_0)" -gt 270000 ]
	for selection in --since=+0.003s '--since=+0.001s --until=+0.002s' --last=5 '--first=5 --user' '-e q' \
		'--around=q --context=1us,1us --until=+1ms' '--where=data.rows==7'; do
		same_in_ctf $selection many.log
	done
	# What a program recorded, with threads, data that was cut, and a machine that is known.
	ptrace-run --max-data-size=4 -o run.log -- "$traced" -N 3 -t 2 -a -n 100
	same_in_ctf run.log
	ptrace-run --max-data-size=2 -o cut.log -- "$traced" -d abcdef
	same_in_ctf cut.log
	ctf run.log >events
	jq -se --arg host "$(uname -n)" 'map(.env.hostname) | unique == [$host]' events
	jq -se 'map(.env.command_line)[0] | test("traced -N 3 -t 2")' events
	jq -se 'map(.env.program)[0] | endswith("traced")' events
	ptrace-run -o threads.log -- "$traced" -t 2 -a -n 4 -p 100000
	same_in_ctf threads.log
	ctf -e traced.event threads.log | jq -se 'map(.thread_name) | unique == ["worker-0", "worker-1"]'
	# Several logs: a stream each.
	same_in_ctf fields.log many.log
	holds ctf 'map(.log) | unique == ["fields.log", "many.log"]' fields.log many.log
	[ -s out.ctf/stream_1 ]
	holds ctf 'map(.log + " " + .host) | unique == ["fields.log first", "many.log second"]' --label=first=fields.log --label=second=many.log fields.log many.log
	# Logs that have no events, or no end.
	made nothing.log </dev/null
	[ -z "$(ctf nothing.log)" ]
	[ "$version" = 2 ] || babeltrace2 out.ctf
	head -c $(($(stat -c %s many.log) * 3 / 4)) many.log >part.log
	ptrace-dump --count --format=text --allow-loss part.log 2>/dev/null | grep -qx '[1-9][0-9]*'
	same_in_ctf --allow-loss part.log
	# Where in the source.
	ptrace-dump --json --symbols -e traced.event.1 run.log | head -n 1 >told.json
	ctf --symbols run.log | grep -m 1 'traced.event.1"' >line
	jq -e --slurpfile told told.json '.line == ($told[0].line // 0) and .function == ($told[0].function // "")' line
}

@test "CTF 1.8: babeltrace2 reads each event that ptrace-dump shows, with every field" {
	check_ctf_events 1.8
	# It is the default.
	ptrace-export --to=ctf -o default.ctf fields.log 2>/dev/null
	to_ctf fields.log
	diff <(grep -v '^	uuid' default.ctf/metadata) <(grep -v '^	uuid' out.ctf/metadata)
}

@test "CTF 2: each event that ptrace-dump shows is there, with every field" {
	check_ctf_events 2
}

# Lost events are where they were lost.
check_ctf_losses() {
	use_ctf "$1"
	make_lost
	# The log counts them in all: of several places each is told, and the others at the end.
	timeline twice.log 100:posix_trace_overflow 900:posix_trace_resume 950:a 960:posix_trace_overflow \
		970:posix_trace_resume 980:b 'lost 12'
	places() {
		ctf --allow-loss "$@" | jq -sc 'map(select(.discarded) | [.discarded, .from[-3:], .to[-3:]])'
	}
	[ "$(places twice.log)" = '[[1,"100","900"],[1,"960","970"],[10,"980","980"]]' ]
	jq -se 'map(.env.losses // empty)[0] | fromjson.losses.stream_events == 12' < <(ctf --allow-loss twice.log)
	# Whatever is selected, but not far from it; nothing is known then of how many were lost elsewhere.
	[ "$(places -e b twice.log)" = '[[1,"100","900"],[1,"960","970"],[10,"980","980"]]' ]
	[ "$(places --since=+0.000000855s twice.log)" = '[[1,"960","970"]]' ]
	[ "$(places --until=+0.0000001s twice.log)" = '[[1,"100","900"]]' ]
	[ "$(places lost.log)" = '[[12,"200","900"]]' ]
	[ "$(places --user lost.log)" = '[[12,"200","900"]]' ]
	# Damage takes a number of events that is known.
	printf 'event 1 7 8 a\nevent 2 7 8 b\nrepeat 10000 10\n' | made damaged.log
	damages damaged.log xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx $(($(stat -c %s damaged.log) / 2))
	ctf --allow-loss damaged.log >events
	grep '"discarded"' events >discarded
	[ "$(jq .discarded discarded)" -eq "$(head -n 1 events | jq '.env.losses | fromjson.losses.unreadable_events')" ]
	jq -e '.from > "1700000000000000001"' discarded
}

@test "CTF 1.8: babeltrace2 warns of lost events where they were lost" {
	check_ctf_losses 1.8
	exits 3 ptrace-export --to=ctf -o lost.ctf lost.log
	tells 0 '*discarded 12 events between \[1700000000.000000200] and \[1700000000.000000900]*' babeltrace2 --clock-seconds lost.ctf
	[ "$(wc -l <<<"$stdout")" -eq 4 ]
}

@test "CTF 2: lost events are where they were lost" {
	check_ctf_losses 2
}

# No name breaks the metadata.
check_ctf_names() {
	use_ctf "$1"
	python3 - <<-'END' | made names.log
		import random
		random.seed(7)
		names = [b'"; }; event { name = "x', b'\\', b'\\"', b"new\nline\r\ttab", b"*/ /*", b"\xff\xfe", b"\xe2\x80\xae7",
		         b"\x01" b"7", b"struct", bytes(range(1, 256))[:255], b"\xc3\xa9" * 127,
		         bytes(random.randrange(1, 256) for _ in range(255))]
		for ns, name in enumerate(names):
		    print(f"event {ns} 7 8 " + "".join(f"%{b:02x}" for b in name), "str:x")
	END
	same_in_ctf names.log
	[ "$(grep -Ec '^event \{|"type":"event-record-class"' out.ctf/metadata)" -eq 12 ]
	# Names of fields are those of the language, of other fields, and of what the export adds.
	made fields.log <<-END
		layout one u8 struct, u8 event, u8 id, u8 _id, u8 data_length, bytes data
		layout two u8 align, u8 variant, u8 tail_length, u8 tail_length_, bytes tail
		event 10 1 2 one u8:1 u8:2 u8:3 u8:4 u8:5 hex:0607
		event 20 1 2 two u8:1 u8:2 u8:3 u8:4 hex:05
	END
	same_in_ctf fields.log
	ctf fields.log | jq -se '.[0].fields.data == [6, 7] and .[1].fields.tail == [5]'
	# A reader of 1.8 removes an underscore, and must not mistake one field for another.
	made underscores.log <<-END
		layout one u8 __x, u8 _x, u8 x, u8 truncated
		layout two u8 x, u8 _x
		layout three u8 _tail_length, bytes tail
		event 10 1 2 one u8:1 u8:2 u8:3 u8:4
		event 20 1 2 two u8:1 u8:2
		event 30 1 2 three u8:1 hex:0506
	END
	ctf underscores.log | jq -se --arg version "$1" 'map(.fields) |
		.[0] == if $version == "2" then {__x: 1, _x: 2, x: 3, truncated: 4}
			else {field___x: 1, field__x: 2, field_x: 3, field_truncated: 4} end and
		.[1] == {x: 1, _x: 2} and (.[2] | ._tail_length == 1 and .tail == [5, 6])'
	ptrace-run --max-data-size=2 -o cut.log -- ptrace-event cut abcdef 2>/dev/null || [ $? -eq 3 ]
	ctf --allow-loss --decode='cut=u8 truncated, u8 truncated_, bytes rest' cut.log |
		jq -se 'map(select(.event == "cut").fields) | .[0].truncated == 97 and .[0].truncated_ == 98 and
			.[0].truncated__.labels == ["record"]'
}

@test "CTF 1.8: no name breaks the metadata" {
	check_ctf_names 1.8
}

@test "CTF 2: no name breaks the metadata" {
	check_ctf_names 2
}

@test "CTF 2: units, bools, bytes and names of values are in the metadata" {
	made kinds.log <<-END
		layout q packed u64 took us, bool ok, bool[2] flags, bytes[3] raw, char[4] name, enum i8{low=-1,high} e, x16 a, f32 f
		event 10 1 2 q u64:5 u8:1 u8:0 u8:1 hex:010203 hex:61620000 hex:ff hex:cdab hex:0000c03f
	END
	version=2 to_ctf kinds.log
	sed 's/^\x1e//' out.ctf/metadata >fragments
	jq -se 'map(.type) == ["preamble", "trace-class", "clock-class", "data-stream-class", "event-record-class"]' fragments
	jq -se '.[4]["payload-field-class"]["member-classes"] | map({(.name): .["field-class"]}) | add |
		.took.attributes == {posixtrace: {unit: "us"}} and .ok.type == "fixed-length-boolean" and
		.flags["element-field-class"].type == "fixed-length-boolean" and .raw.type == "static-length-blob" and
		.name.type == "static-length-string" and .e.mappings == {low: [[-1, -1]], high: [[0, 0]]} and
		.a["preferred-display-base"] == 16 and .f.type == "fixed-length-floating-point-number"' fragments
	# No two traces have the same UUID; ctf2.py compares that of each packet.
	version=2 to_ctf kinds.log
	! cmp -s fragments <(sed 's/^\x1e//' out.ctf/metadata)
}

@test "CTF 2: babeltrace2 reads what ctf2.py reads" {
	needs_babeltrace 2.1
	version=2
	make_fields
	make_lost
	for log in fields.log lost.log; do
		to_ctf --allow-loss $log
		diff <(python=python3 reader=ctf2 read_ctf out.ctf | jq -Sc .) <(reader=bt2 read_ctf out.ctf | jq -Sc .)
	done
	to_ctf fields.log
	babeltrace2 out.ctf -c sink.text.details | grep -q 'unit: ns'
}

@test "CTF: the directory is made, and nothing else is replaced" {
	make_calls
	umask 022
	ptrace-export --to=ctf -o out calls.log
	[ "$(stat -c %a out)" = 700 ]
	[ "$(stat -c %a out/metadata out/stream_0 | xargs)" = '600 600' ]
	[ "$(ls -A out | xargs)" = 'metadata stream_0' ]
	refused() {
		refuses 1 '*' ptrace-export --to=ctf "$@"
	}
	cp -r out before
	refused -o out calls.log
	[[ $stderr == *"out: exists and is not empty"*"--force"* ]]
	diff -r out before
	# --force replaces such a trace, also one with more streams, or one that was not finished.
	cp calls.log copy.log
	ptrace-export --to=ctf --force -o out calls.log copy.log
	[ "$(ls -A out | xargs)" = 'metadata stream_0 stream_1' ]
	# It may be of the other version.
	ptrace-export --to=ctf --ctf-version=2 --force -o out calls.log copy.log
	head -c 100 out/metadata >start
	mv start out/metadata
	ptrace-export --to=ctf --force -o out calls.log
	head -c 30 out/metadata >start
	mv start out/metadata
	ptrace-export --to=ctf --force -o out calls.log
	[ "$(ls -A out | xargs)" = 'metadata stream_0' ]
	# But no other directory, and no file.
	touch out/mine
	refused --force -o out calls.log
	[[ $stderr == *"out: exists and is not an export to ctf, or holds other files"* ]]
	[ "$(ls -A out | xargs)" = 'metadata mine stream_0' ]
	rm out/mine
	echo other >out/metadata
	refused --force -o out calls.log
	[ "$(<out/metadata)" = other ]
	refused --force -o calls.log calls.log
	[[ $stderr == *"calls.log: Not a directory"* ]]
	refused -o no/such/dir calls.log
	[[ $stderr == *"no/such/dir: No such file"* ]]
	mkdir empty
	ptrace-export --to=ctf -o empty calls.log
	[ -s empty/metadata ]
	# A mistake makes none.
	refused -e no.such.event -o none calls.log
	[ ! -e none ]
	for wrong in '' '-o -' '-o x --counters' '-o x --pair=a..b' '-o x --ctf-version=3' '-o x --ctf-version'; do
		exits 2 ptrace-export --to=ctf $wrong calls.log
		[ ! -e x ]
	done
}

@test "an export that cannot be written leaves nothing behind" {
	printf 'event 1 7 8 a.begin\nevent 2 7 8 b.end\nrepeat 30000 10\n' | made big.log
	limited() {
		tells 1 '*: File too large*' bash -c 'ulimit -f 300; trap "" XFSZ; exec ptrace-export "$@"' _ "$@"
	}
	make_calls
	for format in chrome perfetto csv otlp; do
		limited --to=$format -o cut big.log
		[[ $stderr == *"ptrace-export: cut: "* ]]
		[ ! -e cut ]
		# Of a file that was there, its contents.
		ptrace-export --to=$format -o cut calls.log
		ln -s cut link
		limited --to=$format -o link big.log
		[ -L link ]
		[ -e cut ]
		[ ! -s cut ]
		rm cut link
	done
	# The temporary file of speedscope is another one that may be full.
	limited --to=speedscope -o cut big.log
	[ ! -e cut ]
	limited --to=ctf -o cut big.log
	[[ $stderr == *"ptrace-export: cut/stream_0: "* ]]
	[ ! -e cut ]
	mkdir cut
	limited --to=ctf -o cut big.log
	[ -d cut ]
	[ -z "$(ls -A cut)" ]
	ptrace-export --to=ctf -o cut big.log
	[ -s cut/metadata ]
}

@test "folded stacks have a limit of depth, which is told, and lose no time" {
	python3 - <<-END | made deep.log
		for i in range(1500):
		    print(f"event {1000 + i} 1 1 f{i % 7}.begin")
		for i in reversed(range(1500)):
		    print(f"event {4000 - i} 1 1 f{i % 7}.end")
	END
	reports 0 "*folded: 500 pairs were deeper than 1000: *" ptrace-export --to=folded -o deep.folded deep.log
	[ "$(awk -F';' 'NF > most {most = NF} END {print most}' deep.folded)" -eq 1001 ]
	[ "$(awk '{sum += $NF} END {print sum}' deep.folded)" -eq 3000 ]
}
