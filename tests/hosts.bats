#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Logs of several hosts whose clocks disagree.

load helpers

# made LOG < SCRIPT: a log of given events and clocks, see tests/made_log.c
made() {
	"$PTRC_BUILD/tests/made_log" "$1"
}

# events NAME FIRST STEP COUNT: lines of so many events
events() {
	awk -v name="$1" -v ns="$2" -v step="$3" -v count="$4" \
		'BEGIN { for (i = 0; i < count; i++) printf "event %.0f 7 7 %s\n", ns + i * step, name }'
}

# two_hosts: the clock of alpha is right, that of beta was 3 ms slow as its log began, and then set
two_hosts() {
	{
		echo host alpha m1 b1
		events a.event 0 1000000 10
		echo clock 0 50 5000000000 200000 0
		echo clock 9000000 9000060 5009000000 200000 0
	} | made alpha.log
	{
		echo host beta m2 b2
		events b.event -2500000 1000000 10
		echo clock -3000000 -3000000 7000000000 16000000000 64
		echo clock 7000000 10000000 7010000000 300000 0
	} | made beta.log
}

@test "logs of several hosts are merged by corrected time [EXT-550 EXT-551]" {
	two_hosts
	ptrace-dump --fields=event alpha.log beta.log 2>/dev/null | jq -r .event >shown
	for _ in 1 2 3 4 5 6 7 8 9 10; do printf 'a.event\nb.event\n'; done | diff - shown
	ptrace-dump --format=text --utc -e b.event --first=1 alpha.log beta.log 2>/dev/null >line
	grep -q '^2023-11-14T22:13:20.000500000Z beta.log ' line
	# One alone is shown as it was recorded.
	ptrace-dump --format=text --utc --first=1 beta.log | grep -q '^2023-11-14T22:13:19.997500000Z 7 '
	# What is selected by time is so by this one.
	[ "$(ptrace-dump --count --since=+4ms --until=+6.5ms alpha.log beta.log)" -eq 6 ]
	[ "$(ptrace-dump --count --where='time >= "+4ms" && time <= "+6.5ms"' alpha.log beta.log)" -eq 6 ]
	[ "$(ptrace-dump --count --where='ns >= 1700000000004000000' beta.log alpha.log)" -eq 12 ]
	ptrace-dump --last=3 --fields=event alpha.log beta.log 2>/dev/null | jq -r .event | tr '\n' ' ' >last
	[ "$(<last)" = "b.event a.event b.event " ]
	[ "$(ptrace-dump --count --around=a.event --before=0s --after=600us -e b.event alpha.log beta.log)" -eq 10 ]
	# So is what is written elsewhere.
	ptrace-dump --to-log=all.log alpha.log beta.log 2>/dev/null
	ptrace-dump --fields=event all.log | jq -r .event | diff shown -
}

@test "bound: how far the time of an event may be wrong [EXT-552]" {
	two_hosts
	# What adjtimex said, the readings of the clocks, and 500 us for each second between them.
	ptrace-dump --fields=ns,event,bound alpha.log beta.log 2>stderr.txt >shown
	grep -qx '{"ns":1700000000000000000,"event":"a.event","bound_ns":200...}' shown
	grep -qx '{"ns":1700000000000500000,"event":"b.event","bound_ns":30....}' shown
	[ "$(ptrace-dump --count --where='bound < 250us' alpha.log beta.log)" -eq 10 ]
	[ "$(ptrace-dump --count --where='bound > 250us && bound < 1ms' alpha.log beta.log)" -eq 10 ]
	ptrace-dump --format=text --header=always --fields=bound,event --first=1 alpha.log beta.log 2>/dev/null >text
	grep -qE '^ *bound event' text
	grep -qE '^ *200\.[0-9]+us a\.event' text
	# Alone, the time is wrong by the correction, too.
	[ "$(ptrace-dump --count --where='bound > 3.2ms && bound < 3.4ms' beta.log)" -eq 10 ]
	# Nobody knows.
	{ echo host gamma m3 b3; events c.event 0 1 1; } | made gamma.log
	ptrace-dump --fields=event,bound gamma.log | jq -e 'has("bound_ns") | not'
	ptrace-dump --format=text --fields=event,bound gamma.log | grep -qE '^c.event +-$'
	[ "$(ptrace-dump --count --where='bound < 1000w' gamma.log)" -eq 0 ]
	run_split ptrace-dump --pair='a.event..b.event by bound' alpha.log
	[ "$status" -eq 2 ]
	[[ $stderr == *"'bound' is no key"* ]]
}

@test "the order that cannot be told is told once, with the figures [EXT-553]" {
	two_hosts
	run_split ptrace-dump alpha.log beta.log
	[ "$status" -eq 0 ]
	# They are 500 us apart, and both bounds are 500 us and the time that it took to read the clocks.
	assert_one_message ptrace-dump
	[[ $stderr == *"the order of 19 of 19 neighbouring events of different hosts cannot be told"* ]]
	[[ $stderr == *"beta (30"*"us), alpha (20"*"us)" ]]
	# Of what is not shown nothing is said.
	run_split ptrace-dump -e a.event alpha.log beta.log
	[ -z "$stderr" ]
	# A log that tells nothing, and one whose machine has not been synchronized.
	{ echo host gamma m3 b3; events c.event 0 1000000 3; } | made gamma.log
	{
		echo host delta m4 b4
		events d.event 0 1000000 3
		echo clock 0 0 5000000000 16000000000 64
	} | made delta.log
	run_split ptrace-dump alpha.log gamma.log delta.log
	assert_one_message ptrace-dump
	[[ $stderr == *"gamma (unknown: the log does not tell how exact its clock was)"* ]]
	[[ $stderr == *"delta (16.000s: its clock was not synchronized)"* ]]
	# Days lie between them.
	{
		echo host late m5 b5
		events e.event 900000000000000 1000000 3
		echo clock 900000000000000 900000000000000 5000000000 16000000000 64
	} | made late.log
	run_split ptrace-dump delta.log late.log
	[ -z "$stderr" ]
	# The summary has the figures.
	ptrace-dump --summary --json alpha.log beta.log 2>/dev/null | tail -n 1 >summary
	! has_validator || validates event <summary
	jq -e '.summary | .neighbours == 19 and .uncertain_order == 19 and
		(.hosts | length == 2 and .[0].host == "alpha" and .[1].logs == ["beta.log"] and
			.[0].synchronized and .[1].bound_ns > 300000)' summary
	# Without a second host there is nothing to say.
	run_split ptrace-dump alpha.log alpha.log
	[ -z "$stderr" ]
}

@test "logs of one host, of which one began behind a step, are in order [EXT-555]" {
	{
		echo host alpha m1 b1
		events a.event 0 1000000 5
		echo clock 0 0 5000000000 16000000000 64
		echo clock 9000000 3600009000000 5009000000 1000000 0
	} | made one.log
	{
		echo host alpha m1 b1
		events b.event 3600000500000 1000000 5
		echo clock 3600000500000 3600000500000 5000500000 1000000 0
	} | made two.log
	run_split ptrace-dump --fields=event one.log two.log
	[ -z "$stderr" ]
	jq -r .event <<<"$stdout" | head -n 4 | tr '\n' ' ' >shown
	[ "$(<shown)" = "a.event b.event a.event b.event " ]
	# A log of them is read later with what they say of their clocks.
	ptrace-dump --to-log=both.log one.log two.log
	ptrace-dump --fields=ns both.log | jq -r .ns | diff - <(
		for log in one.log two.log; do ptrace-dump --fields=ns $log | jq -r .ns; done)
}

@test "--label: what hosts are called [EXT-554]" {
	two_hosts
	mkdir -p web1 web2
	cp alpha.log web1/app.log
	cp beta.log web2/app.log
	labels=(--label='web 1=web1/app.log' --label=web2=web2/app.log web1/app.log web2/app.log)
	run_split ptrace-dump "${labels[@]}"
	[[ $stderr == *"web2 ("*", web 1 ("* ]]
	! has_validator || validates event <stdout.txt
	jq -se 'length == 20 and .[0].host == "web 1" and .[0].log == "web1/app.log" and
		.[1].host == "web2"' stdout.txt
	ptrace-dump --format=text "${labels[@]}" 2>/dev/null | head -n 1 | grep -qF " web 1 7 7 a.event"
	[ "$(ptrace-dump --count --where='host == "web2"' "${labels[@]}")" -eq 10 ]
	ptrace-dump --format=text --fields=host,log --first=1 "${labels[@]}" 2>/dev/null |
		grep -qE '^"?web 1"? +web1/app.log$'
	# A log without a label has its own name.
	[ "$(ptrace-dump --count --where='host == "beta"' --label=x=alpha.log alpha.log beta.log)" -eq 10 ]
	for wrong in alpha.log =alpha.log x= x=y.log; do
		run_split ptrace-dump --label="$wrong" alpha.log beta.log
		[ "$status" -eq 2 ]
		[[ $stderr == "ptrace-dump: --label: "* ]]
	done
	run_split ptrace-dump --label=x=alpha.log --label=y=alpha.log alpha.log
	[ "$status" -eq 2 ]
	[[ $stderr == *"'alpha.log' has two names"* ]]
	run_split ptrace-dump --label=x=y --follow=y
	[ "$status" -eq 2 ]
}

@test "exports, reports and rules have the same times and names [EXT-557]" {
	two_hosts
	labels=(--label=one=alpha.log --label=two=beta.log alpha.log beta.log)
	run_split ptrace-export --to=csv "${labels[@]}"
	[[ $stderr == "ptrace-export: the order of 19 of 19 "* ]]
	[[ $stdout == *,log,host,* ]]
	sed -n 2,3p stdout.txt | grep -c '2023-11-14T22:13:20.000[05]00000Z,.*,\(alpha.log,one\|beta.log,two\),' | grep -qx 2
	ptrace-export --to=chrome "${labels[@]}" 2>/dev/null |
		jq -e '[.traceEvents[] | select(.name == "process_name") | .args.name] |
			contains(["one: process 7"]) and any(.[]; startswith("two: process "))'
	run_split ptrace-report --text "${labels[@]}"
	[[ $stderr == "ptrace-report: the order of 19 of 19 "* ]]
	[[ $stdout == *"beta.log of host two"* ]]
	# By the times of the logs, the last one would come first.
	run_split ptrace-check --order='a.event,b.event' "${labels[@]}"
	[ "$status" -eq 0 ]
	[[ $stderr == "ptrace-check: the order of "* ]]
	run_split ptrace-check --never='b.event where host == "two" && bound < 1ms' "${labels[@]}"
	[ "$status" -eq 1 ]
	run_split ptrace-check --never='a.event where bound < 1ms' alpha.log
	[ "$status" -eq 1 ]
	run_split ptrace-check --never='a.event where bound > 1ms' alpha.log
	[ "$status" -eq 0 ]
	run_split ptrace-check --no-loss --label=x=nothing.log alpha.log
	[ "$status" -eq 2 ]
}

@test "a session and its log are of this host [EXT-555]" {
	ptrace-run -o run.log -- "$traced" -n 3
	ptrace-run -o again.log -- "$traced" -n 3
	run_split ptrace-dump --fields=event,host,bound run.log again.log
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	jq -se 'all(.[]; has("bound_ns"))' stdout.txt
	# As what was recorded is in order, nothing is corrected.
	ptrace-dump --fields=ns run.log again.log | jq .ns >merged
	for log in run.log again.log; do ptrace-dump --fields=ns $log | jq .ns; done | sort -n | diff - merged
}
