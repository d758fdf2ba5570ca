#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Logs of several hosts whose clocks disagree.

load ../../support/helpers

# event_lines NAME FIRST STEP COUNT: lines of so many events, which are numbered
event_lines() {
	awk -v name="$1" -v ns="$2" -v step="$3" -v count="$4" \
		'BEGIN { for (i = 0; i < count; i++) printf "event %.0f 7 7 %s u64:%d\n", ns + i * step, name, i }'
}

# host_log LOG NAME NUMBER EVENTS [CLOCK]...: of the host with this name and number, with the events of
# event_lines
host_log() {
	{
		echo "host $2 m$3 b$3"
		# shellcheck disable=SC2086 # words
		event_lines $4
		[ $# -eq 4 ] || printf 'clock %s\n' "${@:5}"
	} | made "$1"
}

# two_hosts: the clock of alpha is right, that of beta was 3 ms slow as its log began, and then set
two_hosts() {
	host_log alpha.log alpha 1 'a.event 0 1000000 10' '0 50 5000000000 200000 0' '9000000 9000060 5009000000 200000 0'
	host_log beta.log beta 2 'b.event -2500000 1000000 10' '-3000000 -3000000 7000000000 16000000000 64' '7000000 10000000 7010000000 300000 0'
}

@test "logs of several hosts are merged by corrected time" {
	two_hosts
	ptrace-dump --fields=event alpha.log beta.log 2>/dev/null | jq -r .event >shown
	for _ in 1 2 3 4 5 6 7 8 9 10; do printf 'a.event\nb.event\n'; done | diff - shown
	prints 0 '2023-11-14T22:13:20.000500000Z beta.log *' \
		ptrace-dump --format=text --utc -e b.event --first=1 alpha.log beta.log
	# One alone is shown as it was recorded.
	ptrace-dump --format=text --utc --first=1 beta.log | grep -q '^2023-11-14T22:13:19.997500000Z 7 '
	# What is selected by time is so by this one.
	[ "$(ptrace-dump --count --since=+4ms --until=+6.5ms alpha.log beta.log)" -eq 6 ]
	[ "$(ptrace-dump --count --where='time >= "+4ms" && time <= "+6.5ms"' alpha.log beta.log)" -eq 6 ]
	[ "$(ptrace-dump --count --where='ns >= 1700000000004000000' beta.log alpha.log)" -eq 12 ]
	ptrace-dump --last=3 --fields=event alpha.log beta.log 2>/dev/null | jq -r .event | diff <(tail -n 3 shown) -
	[ "$(ptrace-dump --count --around=a.event --context=0s,600us -e b.event alpha.log beta.log)" -eq 10 ]
	ptrace-dump --to-log=all.log alpha.log beta.log 2>/dev/null
	ptrace-dump --fields=event all.log | jq -r .event | diff shown -
}

@test "bound: how far the time of an event may be wrong" {
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
	ptrace-dump --summary --json --fields=bound beta.log | jq -se '([.[].bound_ns | numbers] | max) as $most |
		.[-1].summary.hosts[0].bound_ns | . >= $most and . < $most + 100000'
	# Nobody knows.
	host_log gamma.log gamma 3 'c.event 0 1 1'
	ptrace-dump --fields=event,bound gamma.log | jq -e 'has("bound_ns") | not'
	ptrace-dump --format=text --fields=event,bound gamma.log | grep -qE '^c.event +-$'
	[ "$(ptrace-dump --count --where='bound < 1000w' gamma.log)" -eq 0 ]
	reports 2 "*'bound' is no key*" ptrace-dump --pair='a.event..b.event by bound' alpha.log
}

@test "the order that cannot be told is told once, with the figures" {
	two_hosts
	exits 0 ptrace-dump alpha.log beta.log
	# They are 500 us apart, and both bounds are 500 us and the time that it took to read the clocks.
	assert_one_message ptrace-dump
	[[ $stderr == *"the order of 19 of 19 neighbouring events of different hosts cannot be told"* ]]
	[[ $stderr == *"beta (30"*"us), alpha (20"*"us)" ]]
	# Of what is not shown nothing is said.
	silently 0 ptrace-dump -e a.event alpha.log beta.log
	# A log that tells nothing, and one whose machine has not been synchronized.
	host_log gamma.log gamma 3 'c.event 0 1000000 3'
	host_log delta.log delta 4 'd.event 0 1000000 3' '0 0 5000000000 16000000000 64'
	reports 0 "*gamma (unknown: the log does not tell how exact its clock was)*" ptrace-dump alpha.log gamma.log delta.log
	[[ $stderr == *"delta (16.000s: its clock was not synchronized)"* ]]
	# Days lie between them.
	host_log late.log late 5 'e.event 900000000000000 1000000 3' '900000000000000 900000000000000 5000000000 16000000000 64'
	silently 0 ptrace-dump delta.log late.log
	ptrace-dump --summary --json alpha.log beta.log 2>/dev/null | tail -n 1 >summary
	valid event <summary
	jq -e '.summary | .neighbours == 19 and .uncertain_order == 19 and
		(.hosts | length == 2 and .[0].host == "alpha" and .[1].logs == ["beta.log"] and
			.[0].synchronized and .[1].bound_ns > 300000)' summary
	# Without a second host there is nothing to say.
	cp alpha.log copy.log
	silently 0 ptrace-dump alpha.log copy.log
}

@test "logs of one host, of which one began behind a step, are in order" {
	host_log one.log alpha 1 'a.event 0 1000000 5' '0 0 5000000000 16000000000 64' '9000000 3600009000000 5009000000 1000000 0'
	host_log two.log alpha 1 'b.event 3600000500000 1000000 5' '3600000500000 3600000500000 5000500000 1000000 0'
	silently 0 ptrace-dump --fields=event one.log two.log
	[ "$(jq -r .event stdout.txt | head -n 4 | xargs)" = 'a.event b.event a.event b.event' ]
	# A log of them is read later with what they say of their clocks.
	ptrace-dump --to-log=both.log one.log two.log
	ptrace-dump --fields=ns both.log | jq -r .ns | diff - <(
		for log in one.log two.log; do ptrace-dump --fields=ns $log | jq -r .ns; done)
}

@test "logs of two time namespaces of one machine have the same times" {
	[ "$EUID" -eq 0 ] || skip "root only"
	unshare --time true 2>/dev/null || skip "no time namespaces"
	# At its end the sanitizer looks for leaks in another process, which it cannot have here.
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
	ptrace-run -o here.log -- true
	boot=$(ptrace-stat --json here.log | jq '.clocks[0].boottime_ns')
	for offset in 5000 -5; do
		unshare --time --monotonic 5000 --boottime "$offset" ptrace-run -o there.log -- true
		later=$(ptrace-stat --json there.log | jq '.clocks[0].boottime_ns')
		[ "$later" -gt "$boot" ]
		# With the offset of the namespace the difference would be more than an hour, or negative.
		[ $((later - boot)) -lt $((1000 * 1000000000)) ]
		boot=$later
	done
}

@test "--label: what hosts are called" {
	two_hosts
	mkdir -p web1 web2
	cp alpha.log web1/app.log
	cp beta.log web2/app.log
	labels=(--label='web 1=web1/app.log' --label=web2=web2/app.log web1/app.log web2/app.log)
	reports 0 "*web2 (*, web 1 (*" ptrace-dump "${labels[@]}"
	valid event <stdout.txt
	jq -se 'length == 20 and .[0].host == "web 1" and .[0].log == "web1/app.log" and
		.[1].host == "web2"' stdout.txt
	ptrace-dump --format=text "${labels[@]}" 2>/dev/null | head -n 1 | grep -qF " web 1 7 7 a.event"
	[ "$(ptrace-dump --count --where='host == "web2"' "${labels[@]}")" -eq 10 ]
	ptrace-dump --format=text --fields=host,log --first=1 "${labels[@]}" 2>/dev/null |
		grep -qE '^"?web 1"? +web1/app.log$'
	# A log without a label has its own name.
	[ "$(ptrace-dump --count --where='host == "beta"' --label=x=alpha.log alpha.log beta.log)" -eq 10 ]
	for wrong in alpha.log =alpha.log x= x=y.log; do
		reports 2 "--label: *" ptrace-dump --label="$wrong" alpha.log beta.log
	done
	reports 2 "*'alpha.log' has two names*" ptrace-dump --label=x=alpha.log --label=y=alpha.log alpha.log
	# Logs of one host have the name that one of them got.
	host_log other.log alpha 1 'other 100 1000000 1' '0 0 5000000000 200000 0'
	ptrace-dump --summary --json --label=web=other.log alpha.log other.log beta.log 2>/dev/null >shown
	[ "$(jq -r 'select(.log == "alpha.log" or .log == "other.log") | .host' shown | sort | uniq -c | tr -s ' ')" = " 11 web" ]
	tail -n 1 shown | jq -e '.summary.hosts | length == 2 and .[0].host == "web" and
		.[0].logs == ["alpha.log", "other.log"]'
	ptrace-export --to=csv --label=web=other.log alpha.log other.log 2>/dev/null | grep -c alpha.log,web | grep -qx 10
	# If they got several, as of containers of one machine, each log has its own, and the host that of itself.
	labels=(--label=front=alpha.log --label=back=other.log)
	ptrace-dump --summary --json "${labels[@]}" alpha.log other.log beta.log >shown 2>stderr.txt
	jq -se 'map(select(.event)) | all(.[]; .host ==
		{"alpha.log": "front", "other.log": "back"}[.log])' <(grep -v beta.log shown)
	tail -n 1 shown | jq -e '.summary.hosts[0].host == "alpha"'
	grep -q 'different hosts cannot be told; .*alpha (' stderr.txt
	exits 2 ptrace-dump --label=x=y --follow=y
}

@test "exports, reports and rules have the same times and names" {
	two_hosts
	labels=(--label=one=alpha.log --label=two=beta.log alpha.log beta.log)
	reports 0 "the order of 19 of 19 *" ptrace-export --to=csv "${labels[@]}"
	[[ $stdout == *,log,host,* ]]
	sed -n 2,3p stdout.txt | grep -c '2023-11-14T22:13:20.000[05]00000Z,.*,\(alpha.log,one\|beta.log,two\),' | grep -qx 2
	ptrace-export --to=chrome "${labels[@]}" 2>/dev/null |
		jq -e '[.traceEvents[] | select(.name == "process_name") | .args.name] |
			contains(["one: process 7"]) and any(.[]; startswith("two: process "))'
	reports 0 "the order of 19 of 19 *" ptrace-report --text "${labels[@]}"
	[[ $stdout == *"beta.log of host two"* ]]
	# By the times of the logs, the last one would come first.
	reports 0 "the order of *" ptrace-check --order='a.event,b.event' "${labels[@]}"
	exits 1 ptrace-check --never='b.event where host == "two" && bound < 1ms' "${labels[@]}"
	exits 1 ptrace-check --never='a.event where bound < 1ms' alpha.log
	exits 0 ptrace-check --never='a.event where bound > 1ms' alpha.log
	exits 2 ptrace-check --no-loss --label=x=nothing.log alpha.log
}

@test "a session and its log are of this host" {
	ptrace-run -o run.log -- "$traced" -n 3
	ptrace-run -o again.log -- "$traced" -n 3
	silently 0 ptrace-dump --fields=event,host,bound run.log again.log
	jq -se 'all(.[]; has("bound_ns"))' stdout.txt
	# As what was recorded is in order, nothing is corrected.
	ptrace-dump --fields=ns run.log again.log | jq .ns >merged
	for log in run.log again.log; do ptrace-dump --fields=ns $log | jq .ns; done | sort -n | diff - merged
}

# ---- messages ----

sync='net.send..net.recv by data.id'

# with_messages SEED ALPHA BETA [AWK]: logs of two hosts for 100 s, of which the second one's clock is 3 ms
# ahead, and drifts by 20 ppm. Each sends the other one a message every 50 ms, which takes 30 us and a random
# time more. Their own clocks know nothing. `truth` has the events in the order in which they were.
with_messages() {
	awk -v seed="$1" -v a="$2" -v b="$3" '
		function put(file, t, name, id) {
			printf "event %.0f 7 7 %s u64:%d\n", file == b ? t + 3000000 + t * 20e-6 : t, name, id > file
			printf "%.0f %s %d\n", t, name, id > "unsorted"
		}
		function clocks(file, at) {
			printf "clock %.0f %.0f %.0f 16000000000 64\n", at, at, at + 5000000000 > file
		}
		function delay() { return 30000 - 400000 * log(1 - rand()) }
		BEGIN {
			srand(seed)
			printf "host alpha m1 b1\nlayout net.send u64 id\nlayout net.recv u64 id\n" > a
			printf "host beta m2 b2\nlayout net.send u64 id\nlayout net.recv u64 id\n" > b
			for (i = 0; i < 2000; i++) {
				t = i * 50000000 + int(rand() * 1000000)
				put(i % 2 ? b : a, t, "net.send", i)
				put(i % 2 ? a : b, t + delay(), "net.recv", i)
			}
			clocks(a, 0); clocks(b, 0)
			clocks(a, 100000000000); clocks(b, 100000000000)
		}'
	sort -n unsorted | awk '{ print $2, $3 }' >truth
	for log in "$2" "$3"; do
		mv "$log" script
		made "$log" <script
	done
}

@test "--clock-sync: offset and drift by messages, and the order" {
	for seed in 1 2 3; do
		with_messages $seed alpha.log beta.log
		exits 0 ptrace-dump --clock-sync="$sync" --fields=event,data.id,host,bound --summary alpha.log beta.log
		grep -v summary stdout.txt | jq -r '"\(.event) \(.data.id)"' | diff truth -
		tail -n 1 stdout.txt >summary
		valid event <summary
		jq -e '.summary.hosts[0] | .reference and .messages == 0' summary
		# In the middle, at 50 s: 3 ms and 20 ppm of that.
		jq -e '.summary.hosts[1] | .reference == false and .messages == 2000 and
			(.offset_ns - 4000000 | fabs) < 20000 and (.drift_ppm - 20 | fabs) < 0.5 and
			.bound_ns < 200000' summary
		[[ ${stderr%%$'\n'*} =~ ^ptrace-dump:\ --clock-sync:\ beta\ is\ [34]\.[0-9]+ms\ ahead\ of\ alpha,\ and\ drifts\ by\ \+[12][0-9.]*\ ppm,\ by\ 1000 ]]
		[[ $stderr == *"by 1000 messages from alpha and 1000 to it; this may be wrong by "*us* ]]
		# The truth is within the bounds: no event is further from it than it says.
		ptrace-dump --clock-sync="$sync" --format=text --fields=ns,bound,data.id,event,host alpha.log beta.log 2>/dev/null >shown
		sort -n unsorted | awk 'NR == FNR { at[$2, $3] = $1; next }
			{ ns = substr($1, 11); s = substr($1, 8, 3); t = s * 1000000000 + ns
			bound = $2 * ($2 ~ /us$/ ? 1000 : $2 ~ /ns$/ ? 1 : 1000000)
			off = t - at[$4, $3]; if (off < 0) off = -off
			if (off > bound + 1000) { print off, bound, $0; bad = 1 } } END { exit bad }' - shown
		rm unsorted
	done
	# Without messages, beta would come 3 ms late: half of what it received comes in front of its message.
	ptrace-dump --fields=event,data.id alpha.log beta.log 2>/dev/null | jq -r '"\(.event) \(.data.id)"' >shown
	fails cmp -s shown truth
}

# message SENDER SENT RECEIVER RECEIVED ID: adds it to the scripts of two hosts
message() {
	printf 'event %s 7 7 net.send u64:%s\n' "$2" "$5" >>"$1.script"
	printf 'event %s 7 7 net.recv u64:%s\n' "$4" "$5" >>"$3.script"
}

net='layout net.send u64 id
layout net.recv u64 id'

# hosts NAME...: makes their logs of the scripts, with the layouts $net; each says that its clock is exact to $error ns,
# or else that it is not synchronized
hosts() {
	local status=64
	[ -z "$error" ] || status=0
	for host in "$@"; do
		{
			printf 'host %s %s %s\n' "$host" "$host" "$host"
			printf '%s\n' "$net"
			cat "$host.script"
			printf 'clock 0 0 5000000000 %s %s\n' "${error:-16000000000}" $status
			printf 'clock 9000000000 9000000000 14000000000 %s %s\n' "${error:-16000000000}" $status
		} | made "$host.log"
		rm -f "$host.script"
	done
}

# minute_ahead: messages of alpha and of beta, whose clock is a minute ahead
minute_ahead() {
	for i in 1 2 3 4; do
		message alpha ${i}000000000 beta $((i * 1000000000 + 60000100000)) ${i}1
		message beta $((i * 1000000000 + 60500000000)) alpha ${i}500100000 ${i}2
	done
}

# bounds LOG...: host and bound of each event, in JSON, with --clock-sync
bounds() {
	ptrace-dump --clock-sync="$sync" --fields=host,bound "$@" 2>stderr.txt
}

@test "--clock-sync: several hosts along the best links, and one without messages" {
	# beta is 1 s ahead of alpha, gamma 2 s ahead of beta: what they know of each other is exact to 1 ms;
	# alpha and gamma know each other to 100 ms only.
	for i in 1 2 3 4; do
		t=$((i * 1000000000))
		message alpha $t beta $((t + 1001000000)) a$i
		message beta $((t + 1200000000)) alpha $((t + 201000000)) b$i
		message beta $((t + 1300000000)) gamma $((t + 3301000000)) c$i
		message gamma $((t + 3400000000)) beta $((t + 1401000000)) d$i
		message alpha $((t + 400000000)) gamma $((t + 3500000000)) e$i
		message gamma $((t + 3500000000)) alpha $((t + 600000000)) f$i
	done
	sed -i 's/u64:\([a-f]\)\([0-9]\)/u64:\2_\1/; s/_a/1/; s/_b/2/; s/_c/3/; s/_d/4/; s/_e/5/; s/_f/6/' ./*.script
	event_lines x.event 0 1000000000 5 >delta.script
	hosts alpha beta gamma delta
	bounds --summary alpha.log beta.log gamma.log delta.log >shown
	tail -n 1 shown | jq -e '.summary.hosts | map({(.host): .}) | add |
		.alpha.reference and (.beta.offset_ns - 1000000000 | fabs) < 1500000 and
		(.gamma.offset_ns - 3000000000 | fabs) < 3000000 and .gamma.bound_ns < 20000000 and
		.delta.messages == 0 and .delta.bound_ns >= 32000000000'
	grep -q 'gamma is 3.*ahead of alpha.*messages from beta and 4 to it' stderr.txt
	grep -q -- '--clock-sync: delta has no messages by which it can be compared with alpha' stderr.txt
	# By the reference, an event of a host without messages may be wrong by both clocks.
	grep delta shown | head -n 1 | jq -e '.bound_ns >= 32000000000'
	grep '"alpha"' shown | head -n 1 | jq -e '.bound_ns == 0'
}

@test "--clock-sync: messages of one direction bound on one side" {
	# beta is 5 s behind: what it received comes before it was sent.
	for i in 1 2 3 4; do message alpha $((i * 1000000000)) beta $((i * 1000000000 - 5000000000 + i * 1000)) $i; done
	hosts alpha beta
	exits 0 ptrace-dump --clock-sync="$sync" --fields=event,host,bound alpha.log beta.log
	[ "$(jq -r .event stdout.txt | tr '\n' ' ')" = "net.send net.recv net.send net.recv net.send net.recv net.send net.recv " ]
	[[ $stderr == *"beta is 4.999s behind alpha"*"by 4 messages from alpha and 0 to it"* ]]
	jq -se 'all(.[]; .host == "alpha" or .bound_ns > 20000000000)' stdout.txt
	# Clocks that tell nothing bound nothing there.
	for host in alpha beta; do
		{
			printf 'host %s %s %s\n%s\n' $host $host $host "$net"
			[ $host = alpha ] && printf 'event 0 7 7 net.send u64:1\n' || printf 'event 10 7 7 net.recv u64:1\n'
		} | made $host.log
	done
	run_split ptrace-dump --clock-sync="$sync" --fields=event,bound alpha.log beta.log
	[[ $stderr == *"by 1 message from alpha and 0 to it; the error is not known"* ]]
	jq -se '.[0].bound_ns == 0 and (.[1] | has("bound_ns") | not)' stdout.txt
}

@test "--clock-sync: what contradicts itself is told, and in the bound" {
	# In the middle, the clock of beta was set back by 10 ms, which no log says.
	for i in 1 2 3 4 5 6 7 8; do
		t=$((i * 1000000000))
		by=$((i > 4 ? -10000000 : 0))
		message alpha $t beta $((t + 100000 + by)) ${i}1
		message beta $((t + 500000 + by)) alpha $((t + 600000)) ${i}2
	done
	hosts alpha beta
	bounds alpha.log beta.log >shown
	grep -qE 'messages between alpha and beta were received before they were sent, by up to [0-9.]+ms, however' stderr.txt
	jq -se 'map(select(.host == "beta")) | all(.[]; .bound_ns > 2000000)' shown
	# Both say that they are exact to 1 ms, and are 1 s apart.
	for i in 1 2 3; do
		message alpha ${i}000000000 beta $((i * 1000000000 + 1000100000)) ${i}1
		message beta $((i * 1000000000 + 1200000000)) alpha $((i * 1000000000 + 200100000)) ${i}2
	done
	error=1000000 hosts alpha beta
	bounds alpha.log beta.log >shown
	grep -q 'the clocks of alpha and beta are further apart than the errors that they state' stderr.txt
	jq -se 'map(select(.host == "beta")) | all(.[]; .bound_ns < 10000000)' shown
}

@test "--clock-sync: which messages count" {
	# A key that comes again, as often on both sides; one that was sent twice and received once; one of two
	# hosts; one that never arrived; one on the same host; one that two hosts received.
	for i in 1 2 3; do
		message alpha ${i}000000000 beta ${i}000100000 7
		message beta ${i}500000000 alpha ${i}500100000 8
	done
	message alpha 4000000000 beta 4000100000 9
	printf 'event 4100000000 7 7 net.send u64:9\nevent 4200000000 7 7 net.send u64:10\nevent 4200000000 7 7 net.send u64:11\nevent 4200000001 7 7 net.recv u64:11\n' >>alpha.script
	message alpha 5000000000 beta 5000100000 12
	message gamma 5000000000 beta 5000100000 12
	message beta 6000000000 alpha 6000100000 13
	printf 'event 6000100000 7 7 net.recv u64:13\n' >>gamma.script
	hosts alpha beta gamma
	tells 0 '*--clock-sync: 3 received messages were left out, as the key was sent by several hosts*' ptrace-dump --clock-sync="$sync" --summary alpha.log beta.log gamma.log
	tail -n 1 stdout.txt | jq -e '.summary.hosts | map(.messages) | add == 8'
	# What cannot be asked for.
	for wrong in net.send 'net.send..net.recv' 'net.send..net.recv by data.x.y z' '..net.recv by data.id'; do
		exits 2 ptrace-dump --clock-sync="$wrong" alpha.log beta.log
	done
	exits 2 ptrace-dump --clock-sync="$sync" --follow=none
	reports 1 "*--clock-sync: no host has received what another one has sent: 0 events of these types*" ptrace-dump --clock-sync='x..y by pid' --count alpha.log beta.log
	reports 1 "*--clock-sync: the logs are not of several hosts*" ptrace-dump --clock-sync="$sync" --count alpha.log
	# Of a log that is missing nothing else is said.
	reports 1 "*missing.log: no such session or log*" ptrace-dump --clock-sync="$sync" --count alpha.log missing.log
}

# slept: the logs of alpha, and of beta, whose machine slept for an hour between 4 s and 6 s of its log, and has
# an event there; they have messages before and behind that
slept() {
	local t
	printf 'host alpha m1 b1\n%s\n' "$net" >alpha.script
	{
		printf 'host beta m2 b2\n%s\n' "$net"
		printf 'clock %s 16000000000 64\n' '0 0 7000000000' '4000000000 4000000000 11000000000' \
			'6000000000 3606000000000 3613000000000' '10000000000 3610000000000 3617000000000'
		echo event 5000000000 7 7 asleep
	} >beta.script
	for i in 1 2 3 7 8 9; do
		t=$((i * 1000000000 + (i > 5) * 3600000000000))
		printf 'event %s 7 7 net.send u64:%s\nevent %s 7 7 net.recv u64:%s\n' \
			$t $((2 * i)) $((t + 500100000)) $((2 * i + 1)) >>alpha.script
		printf 'event %s 7 7 net.recv u64:%s\nevent %s 7 7 net.send u64:%s\n' \
			$((i * 1000000000 + 100000)) $((2 * i)) $((i * 1000000000 + 500000000)) $((2 * i + 1)) >>beta.script
	done
	printf 'clock %s 16000000000 64\n' '0 0 5000000000' '3610000000000 3610000000000 3615000000000' >>alpha.script
	sorted alpha beta
}

# sorted HOST...: makes their logs of the scripts, whose events may stand in any order
sorted() {
	for host in "$@"; do
		{ grep -v '^event' $host.script; grep '^event' $host.script | sort -n -k 2; } | made $host.log
	done
}

@test "--clock-sync: where a machine slept, and in a log without readings, messages tell no time" {
	slept
	ptrace-dump --clock-sync="$sync" --fields=event,host,bound --summary alpha.log beta.log >shown 2>stderr.txt
	jq -se 'map(select(.event == "asleep")) | length == 1 and .[0].bound_ns >= 1800000000000' shown
	jq -se 'map(select(.event | strings | startswith("net"))) | length == 24 and all(.[]; .bound_ns < 200000)' shown
	tail -n 1 shown | jq -e '.summary.hosts[1] | .messages == 12 and .bound_ns >= 3600000000000'
	# A message from there counts not, as nobody knows when it was.
	printf 'event 5500000000 7 7 net.send u64:99\n' >>beta.script
	printf 'event 5000000000 7 7 net.recv u64:99\n' >>alpha.script
	sorted alpha beta
	ptrace-dump --clock-sync="$sync" --fields=event,host,bound --summary alpha.log beta.log >shown 2>stderr.txt
	grep -q -- '--clock-sync: 1 message was left out, as its log does not tell when it was' stderr.txt
	tail -n 1 shown | jq -e '.summary.hosts[1].messages == 12'
	fails grep -q 'received before' stderr.txt
	# Another log of beta that has no readings: where its events are among these is not known.
	printf '%s\n' 'host beta m2 b2' "$net" 'event 2000000000 7 7 apart' 'event 2100000000 7 7 net.send u64:98' | made apart.log
	printf 'event 1000000000 7 7 net.recv u64:98\n' >>alpha.script
	sorted alpha
	ptrace-dump --clock-sync="$sync" --fields=event,bound --summary alpha.log beta.log apart.log >shown 2>stderr.txt
	grep -q -- '--clock-sync: 2 messages were left out, as their logs do not tell when they were' stderr.txt
	jq -se 'map(select(.event == "apart")) | length == 1 and (.[0] | has("bound_ns") | not)' shown
	tail -n 1 shown | jq -e '.summary.hosts[1] | .messages == 12 and (has("bound_ns") | not)'
	# If there are no others there is nothing to compare by.
	printf 'host alpha m1 b1\nlayout net.recv u64 id\nevent 1000000000 7 7 net.recv u64:98\n' | made alpha.log
	tells 1 '*1 message was left out, as its log does not tell when it was*' ptrace-dump --clock-sync="$sync" --count alpha.log beta.log apart.log
}

# commands: runs what ptrace-check prints below its cases
commands() {
	sed -n 's/^ *ptrace-dump /ptrace-dump /p' stdout.txt >commands
	[ -s commands ]
	PATH=$PTRC_BUILD/src:$PATH bash commands
}

@test "what ptrace-check prints shows the events, by whatever clocks" {
	# The clock of beta was 400 ms slow as its log began, and then set.
	host_log alpha.log alpha 1 'a.event 0 1000000000 3' '0 0 5000000000 200000 0'
	host_log 'beta 2.log' beta 2 'b.event 1100000000 1 1' '0 0 7000000000 16000000000 64' '5000000000 5400000000 12000000000 300000 0'
	exits 1 ptrace-check --never=b.event alpha.log 'beta 2.log'
	commands | grep -q '"event":"b.event"'
	# What was 60 s off, and what messages say of it.
	mkdir "it's"
	cd "it's"
	minute_ahead
	echo event 64700000000 7 7 "it's%0abad" >>beta.script
	hosts alpha beta
	exits 1 ptrace-check --clock-sync="$sync" --never="it's*" alpha.log beta.log
	commands | grep -q bad
	ptrace-check --json --clock-sync="$sync" --never="it's*" alpha.log beta.log 2>/dev/null |
		jq -r '.. | .command? // empty' >commands
	bash commands 2>/dev/null | grep -q bad
	# A log alone needs no other, nor do several whose times are as they were recorded.
	run_split ptrace-check --never='b*' "../beta 2.log"
	commands | grep -q '"event":"b.event"'
	host_log gamma.log gamma 3 'c.event 0 1 1'
	run_split ptrace-check --never=c.event gamma.log alpha.log
	fails grep 'ptrace-dump.*alpha' stdout.txt
	commands | grep -q '"event":"c.event"'
}

@test "what ptrace-check prints has the layouts that were given" {
	# Without the layout, nobody knows which message is which.
	minute_ahead
	net= hosts alpha beta
	layout='net.*=u64 id'
	rule="net.send where data.id == 42"
	exits 1 ptrace-check --decode="$layout" --clock-sync="$sync" --never="$rule" alpha.log beta.log
	commands | jq -se 'any(.[]; .event == "net.send" and .data == {id: 42})'
	# From a file, which is named, if it can be read again.
	printf 'decode:\n  "net.*": u64 id\n' >"it's.yaml"
	prints 1 "*--config='it'\\\\''s.yaml' --clock-sync*" \
		ptrace-check --config="it's.yaml" --clock-sync="$sync" --never="$rule" alpha.log beta.log
	commands | jq -se 'any(.[]; .data == {id: 42})'
	ptrace-check --json -c - --clock-sync="$sync" --never="$rule" alpha.log beta.log <"it's.yaml" 2>/dev/null |
		jq -r '.. | .command? // empty' >commands
	bash commands 2>/dev/null </dev/null | jq -se 'any(.[]; .data == {id: 42})'
	# Those of the rules; the first layout of an event stays the first.
	printf 'decode:\n  "*": u32 low, u32 high\nrules:\n- never: net.send\n  where: data.low == 42\n' >rules.yaml
	exits 1 ptrace-check rules.yaml alpha.log beta.log
	commands | jq -se 'any(.[]; .data == {low: 42, high: 0})'
	sed -i 's/data.low/data.id/' rules.yaml
	exits 1 ptrace-check --config="it's.yaml" rules.yaml alpha.log beta.log
	commands | jq -se 'any(.[]; .event == "net.send" and .data == {id: 42})'
	grep -qF -- "--decode='net.*=u64 id' --decode='*=u32 low, u32 high'" stdout.txt
	# What a log tells of itself need not be said.
	with_messages 7 alpha.log beta.log
	exits 1 ptrace-check --never="$rule" alpha.log beta.log
	fails grep -e '--decode' stdout.txt
}

@test "limits that are less than clocks may be wrong are told" {
	two_hosts
	# Each b.event comes 500 us after an a.event; both clocks together may be wrong by as much.
	told="which is more than the limit of 100us: it cannot be told on which side of that"
	for rule in --p99='a.event..b.event by pid < 100us' --after='a.event -> b.event within 100us by pid' \
		--exists='b.event within 100us of a.event'; do
		exits 1 ptrace-check "$rule" alpha.log beta.log
		[ "$(grep -c 'the limit of' <<<"$stderr")" -eq 1 ]
		[[ $stderr == *": the clocks of two hosts may be wrong by 50"*"us together, $told "*" the verdict may be wrong"* ]]
	done
	# The first one that comes is 500 us late, the next one 1.5 ms: that is known.
	[[ $stderr == *"side of that 1 duration is,"* ]]
	# One that was kept may be wrong, too.
	rules=(--before='b.event require a.event by pid within 500us' --max='a.event..b.event by pid <= 500us'
		--min='a.event..b.event by pid > 1us')
	exits 0 ptrace-check --json "${rules[@]}" alpha.log beta.log
	[ "$(grep -c 'the limit of' <<<"$stderr")" -eq 3 ]
	valid check <stdout.txt
	jq -e 'all(.rules[]; .verdict == "pass" and .unclear == 10 and .clock_error_ns > 502000 and
		.clock_error_ns < 520000)' stdout.txt
	# Nothing is said of limits that are longer, of times that are far from them, of rules without a limit,
	# and of events of one host.
	run_split ptrace-check --json --max='a.event..b.event by pid < 1ms' --never=c --order=a.event,b.event \
		--p50='b.event..b.event by pid < 600us' --after='b.event -> b.event within 600us by pid' alpha.log beta.log
	[[ $stderr != *"the limit of"* ]]
	jq -e 'all(.rules[]; .unclear == 0 and (has("clock_error_ns") | not))' stdout.txt
	host_log late.log late 5 'late.event 1000000000 1 1' '0 0 5000000000 200000 0'
	exits 1 ptrace-check --exists='late.event within 1us of a.event' alpha.log late.log
	[[ $stderr != *"the limit of"* ]]
	# Nobody knows.
	host_log gamma.log gamma 3 'c.event 0 1 1'
	tells 0 '*may be wrong by any time together, which is more than the limit of 3600* on which side of that 1 duration is,*' ptrace-check --json --exists='c.event within 1h of a.event' alpha.log gamma.log
	jq -e '.rules[0] | .unclear == 1 and (has("clock_error_ns") | not)' stdout.txt
}

@test "--clock-sync: exports, reports and rules have these times, too" {
	with_messages 4 alpha.log beta.log
	# By their own clocks, half of the messages arrive before they were sent.
	rule=(--min='net.send..net.recv by data.id > 20us')
	fails ptrace-check "${rule[@]}" alpha.log beta.log
	tells 0 '*--clock-sync: beta is*' ptrace-check --clock-sync="$sync" "${rule[@]}" alpha.log beta.log
	ptrace-export --to=csv --clock-sync="$sync" alpha.log beta.log 2>/dev/null | tail -n +2 |
		awk -F, '{ print $3 }' | tr -d '"' | diff <(cut -d' ' -f1 truth) -
	tells 0 '*ptrace-report: --clock-sync: beta is*' ptrace-report --text --clock-sync="$sync" alpha.log beta.log
	[ "$(ptrace-dump --pair="$sync" --where='duration > 20us' --count --clock-sync="$sync" alpha.log beta.log 2>/dev/null)" -eq 2000 ]
}

@test "ptrace-stat: with --label and --clock-sync the logs are looked at together" {
	two_hosts
	labels=(--label=one=alpha.log --label=two=beta.log)
	exits 0 ptrace-stat --json "${labels[@]}" alpha.log beta.log
	valid stat <stdout.txt
	jq -se 'length == 2 and .[0].label == "one" and .[0].first == "2023-11-14T22:13:20.000000000Z" and
		.[1].label == "two" and .[1].first == "2023-11-14T22:13:20.000500000Z" and
		.[1].last == "2023-11-14T22:13:20.009500000Z" and .[1].host.name == "beta"' stdout.txt
	ptrace-stat "${labels[@]}" alpha.log beta.log | grep -E '^(log|label)  ' | tr -s ' ' |
		diff - <(printf '%s\n' 'log alpha.log' 'label one' 'log beta.log' 'label two')
	# Else each is looked at alone.
	ptrace-stat --json alpha.log beta.log | tail -n 1 |
		jq -e '.first == "2023-11-14T22:13:19.997500000Z" and (has("label") | not)'
	# By the corrected time, b.event comes behind a.event, and half a millisecond later.
	host_log end.log beta 2 'b.end -2500000 1000000 10' '-3000000 -3000000 7000000000 16000000000 64' '7000000 10000000 7010000000 300000 0'
	host_log begin.log alpha 1 'b.begin 0 1000000 10' '0 50 5000000000 200000 0'
	pair=(--pair='b by data.id' --decode='b.*=u64 id')
	reports 0 "*the order of 19 of 19 neighbouring events of different hosts cannot be told*web 1 (*" \
		ptrace-stat "${pair[@]}" --label='web 1=begin.log' begin.log end.log
	[[ $stdout == "log begin.log of web 1"$'\n'"log end.log"$'\n'* ]]
	run_split ptrace-stat --json --per=host "${pair[@]}" --label='web 1=begin.log' begin.log end.log
	valid pairs <stdout.txt
	jq -se 'length == 1 and .[0].kind == "logs" and (.[0].pairs | length == 1 and .[0].value == "web 1" and
		.[0].count == 10 and .[0].min_ns > 490000 and .[0].max_ns < 510000) and .[0].neighbours == 19 and
		.[0].uncertain_order == 19 and .[0].hosts[0].host == "web 1" and .[0].complete and
		(.[0].logs | map(.log) == ["begin.log", "end.log"] and all(.[]; .read == 10))' stdout.txt
	# Each alone has begins or ends only.
	ptrace-stat --json "${pair[@]}" begin.log end.log 2>/dev/null |
		jq -se 'length == 2 and all(.[]; .kind == "log" and .pairs[0].count == 0)'
	# Messages tell more than the clocks.
	with_messages 6 alpha.log beta.log
	tells 0 '*ptrace-stat: --clock-sync: beta is * ahead of alpha*' ptrace-stat --json --pair="$sync" --clock-sync="$sync" alpha.log beta.log
	valid pairs <stdout.txt
	jq -e '.pairs[0].count == 2000 and .pairs[0].min_ns > 20000 and .pairs[0].unmatched_ends == 0 and
		.hosts[0].reference and .hosts[1].messages == 2000' stdout.txt
	ptrace-stat --json --pair="$sync" --label=a=alpha.log alpha.log beta.log 2>/dev/null |
		jq -e '.pairs[0].count < 2000'
	ptrace-stat --json --clock-sync="$sync" alpha.log beta.log 2>/dev/null >shown
	ptrace-stat --json alpha.log beta.log | diff <(jq -r .first shown | head -n 1) <(jq -r .first | head -n 1)
	fails diff <(ptrace-stat --json alpha.log beta.log | jq -r .first) <(jq -r .first shown)
}

@test "ptrace-stat: --label and --clock-sync refuse what they cannot be of" {
	two_hosts
	for wrong in --label=x --label=x=y.log --clock-sync=a.event; do
		reports 2 "${wrong%%=*}: *" ptrace-stat "$wrong" alpha.log beta.log
	done
	for option in --label=x=alpha.log --clock-sync="$sync"; do
		reports 2 "${option%%=*}: cannot be used together with --diff*" ptrace-stat --diff "$option" alpha.log beta.log
	done
	reports 1 "*--clock-sync: the logs are not of several hosts*" ptrace-stat --clock-sync="$sync" alpha.log
	exits 1 ptrace-stat --label=x=alpha.log alpha.log missing.log
	[[ $stderr == *"missing.log: no such session or log"* && $stdout == *"x"* ]]
	# What is missing, and what does not fit, is told as of one log.
	tells 1 "*no event type is named 'z'*" ptrace-stat --pair='a.event..z by pid' --label=x=alpha.log alpha.log beta.log
	head -c -100 beta.log >cut.log
	answers 3 '.complete == false and .logs[0].losses.unclosed == false and .logs[1].losses.unclosed' ptrace-stat --json --pair='a.event..b.event by pid' --label=x=alpha.log alpha.log cut.log
	exits 0 ptrace-stat --allow-loss --pair='a.event..b.event by pid' --label=x=alpha.log alpha.log cut.log
	tells 3 '*b.event*layout*' ptrace-stat --strict --decode='b.event=u32 x' --pair='a.event..b.event by pid' --label=x=alpha.log alpha.log beta.log
	# A session has events, and counts without times.
	traced_start -n 3 -W
	ptrace-create --pid="$pid" --name="$me.a" --start
	reports 2 "--label: $me.a is a session, of which it needs --pair, --pairs or --waits*" ptrace-stat --label="x=$me.a" "$me.a" alpha.log
	run_split ptrace-stat --json --pair='posix_trace_start..a.event by pid' --label="x=$me.a" "$me.a" alpha.log
	jq -e --arg me "$me.a" '.logs[0].session == $me and .logs[1].log == "alpha.log"' stdout.txt
	ptrace-shutdown "$me.a"
}
