#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# ptrace-report: what is in the file and in the text. What a browser makes of the file:
# report-browser.sh.

load ../../support/helpers

# scene LOG SCENE [COUNT]: a log that tests/support/scene.py lists
scene() {
	python3 "$PTRC_SOURCE/tests/support/scene.py" "${@:2}" | made "$1"
}

# meta FILE FILTER: of what the report says of itself, by jq
meta() {
	sed -n 's/.*<script type="application\/json" id="meta">\(.*\)<\/script>$/\1/p' "$1" | jq -ce "$2"
}

# has FILTER OPTION...: the report with these options, report.html, says this of itself
has() {
	ptrace-report -o report.html "${@:2}" && meta report.html "$1"
}

# fields FILE: all fields of its events and pairs, as the page shows them, a line each
fields() {
	command -v node >/dev/null || skip "no node"
	cat "$PTRC_SOURCE/src/report/model.js" - <<-'END' | node - "$1"
		const page = require('fs').readFileSync(process.argv[2], 'utf8');
		const model = makeModel(id => ({textContent: page.match('id="' + id + '">(.*)</script>')[1]}));
		model.meta.classes.forEach((c, number) => {
			for (let row = 0; row < c.kept; row++)
				console.log([c.name, ...model.fieldsOf(number, row).map(f => (f.isEnd ? 'end.' : '') + f.name + '=' + f.text)].join(' '));
		});
	END
}

@test "report: one file with what the log has, that asks for nothing else" {
	scene work.log work 200
	prints 0 '' ptrace-report --allow-loss -o report.html work.log
	[ "$(head -c 32 report.html)" = '<!doctype html><!--ptrace-report' ]
	[ "$(stat -c %a report.html)" = 600 ]
	# No address, but that of the policy, which forbids all of them.
	fails grep -Eq '(src|href|url)[=(]|https?://|@import' report.html
	grep -q "default-src 'none'" report.html
	# The script, without the data.
	[ "$(sed '/id="meta"/,/id="data"/d' report.html | wc -c)" -lt 100000 ]
	count=$(ptrace-dump --count --user --allow-loss work.log)
	meta report.html ".events == $count and .version == 1 and .dropped == 0"
	meta report.html '(.lanes | length) == 6 and (.losses | length) == 1 and (.logs[0].is_complete | not)'
	# What is missing, and why, in the words of the message.
	[ "ptrace-report: work.log: $(meta report.html '.logs[0].missing | join("; ")' | jq -r .)" = "$stderr" ]
	meta report.html '[.classes[] | select(.kind == 1) | .name] | sort == ["db.query", "odd", "request"]'
}

@test "report: counts and durations are those of ptrace-stat" {
	scene work.log work 500
	ptrace-report --allow-loss --pair='job.submit..job.done by data.job' -o report.html work.log
	ptrace-stat --json --allow-loss --pairs --pair='job.submit..job.done by data.job' work.log >stat
	for pair in request.begin..request.end db.query.begin..db.query.end job.submit..job.done; do
		name=${pair%.begin*}
		[ "$name" != "$pair" ] || name="$pair by data.job"
		expected=$(jq -c --arg p "$pair" '.pairs[] | select(.begin + ".." + .end == $p) |
			[.count, .p50_ns, .p99_ns, .max_ns, .total_ns]' stat)
		[ -n "$expected" ]
		[ "$(meta report.html ".classes[] | select(.name == \"$name\") |
			[.count, .p50, .p99, .max, .total]")" = "$expected" ]
	done
}

@test "report: selections are those of ptrace-dump" {
	scene work.log work 200
	for selection in --pid=100 --tid=201 --event='request.*' --user --since=+2ms --until=-3ms \
		'--where=data.rows > 10' --first=500 --last=500 --around=odd.begin; do
		args=("$selection")
		[ "$selection" != --around=odd.begin ] || args+=(--context=1ms,0s)
		ptrace-report --allow-loss "${args[@]}" -o report.html work.log
		# What the program has not recorded is there if events are selected by what they are.
		whose=--user
		[[ $selection != --@(event|where|around)=* ]] || whose=--allow-loss
		expected=$(ptrace-dump --allow-loss --json "$whose" "${args[@]}" work.log | wc -l)
		[ "$expected" -gt 0 ]
		meta report.html ".events == $expected"
	done
	# A loss is told also if its own events are not selected.
	has '(.losses | length) == 1' --allow-loss --event='request.*' work.log
	tells 1 "*did you mean 'request.begin'*" ptrace-report --event=reqest.begin -o none.html work.log
	[ ! -e none.html ]
}

@test "report: what the trace system records of itself is there only if it is asked for" {
	made run.log <<-END
		event 100 1 1 posix_trace_start u32:0
		event 5000 7 8 one
		event 6000 7 8 one
		event 80000 1 2 posix_trace_flush_start
		event 90000 1 2 posix_trace_flush_stop
	END
	# shows LANES SPAN_NS OPTION...
	shows() {
		ptrace-report "${@:3}" -o - run.log >report.html
		meta report.html "[(.lanes | length), .span] == [$1, $2]"
	}
	shows 1 1000
	shows 1 1000 --since=+0s --pid=7 --pair=one..one
	shows 3 89900 -e '*'
	shows 3 89900 --where='ns > 0'
	shows 3 89900 --around=one
	shows 1 1000 -e '*' --user
	shows 3 89900 --pair=posix_trace_flush_start..posix_trace_flush_stop
	ptrace-report --text --utc run.log >text
	grep -qx 'took        1.000us' text
	grep -q '1.000us process 7, thread 8' text
	[ "$(sed -n '/^The longest time without/,$p' text | wc -l)" -eq 2 ]
}

@test "report: a pair across time that --around does not select is cut, as another end and begin may be there" {
	timeline run.log 10000/1:mark 10100/1:a.begin 10200/1:a.end 10300/1:a.begin 50000/1:a.end \
		60000/1:a.begin 90000/1:mark 90100/1:a.end
	ptrace-report --text --around=mark --context=1us run.log >text
	grep -Eqx 'a +1 +0 +0 +1 +100ns .*' text
	# ptrace-export forms pairs of all events.
	ptrace-export --to=chrome --around=mark --context=1us run.log | grep -o '"dur":[^,]*' >durations
	printf '"dur":%s\n' 0.100 39.700 30.100 | diff - durations
}

@test "report: names and data of any bytes stay text" {
	scene names.log names
	ptrace-report -o report.html names.log
	# Nothing of a log can end the element that it stands in.
	[ "$(grep -o '<script' report.html | wc -l)" -eq 4 ]
	[ "$(grep -o '</script' report.html | wc -l)" -eq 4 ]
	fails grep -q '<img' report.html
	iconv -f UTF-8 -t UTF-8 report.html >/dev/null
	meta report.html '[.classes[].name] | index("</script><script>window.broken=1</script>") != null and
		index("two\\nlines\\ttab\\x01\\x1b[31m") != null'
	fields report.html >shown
	grep -qxF 'text text=</script><script>window.broken=1</script> big=18446744073709551615 low=-9223372036854775808 real=0 few=[0x61,0x62,0x63]' shown
	grep -qxF 'text text=\u202e\u2028 turned round big=18446744073709551609 low=-9223372036854775802 real=9 few=[0x61,0x62,0x63]' shown
}

@test "report: no larger than it may be, and it says what it leaves out" {
	scene work.log work 20000
	exits 0 ptrace-report --allow-loss --max-size=512K -o report.html work.log
	[ "$(stat -c %s report.html)" -le $((512 * 1024)) ]
	[[ $stderr == *"the report leaves out "*" of "*" events and pairs"* ]]
	# What is not there singly is still counted.
	meta report.html '.dropped > 0 and .kept > 10000 and
		([.classes[] | select(.name == "request") | .count] == [20000])'
	meta report.html '[.classes[].dropped] | add' | grep -qx "$(meta report.html .dropped)"
	meta report.html '[.classes[] | select(.kept + .dropped > 0) | .kept + .dropped == .count] | length > 5 and all'
	# A type with few events keeps them all.
	meta report.html '[.classes[] | select(.name == "odd.end") | .kept] == [1]'
	scene threads.log threads 10000
	exits 0 ptrace-report --max-size=256K -o few.html threads.log
	[ "$(stat -c %s few.html)" -le $((256 * 1024)) ]
	meta few.html '.lanes[-1].is_rest and .events == 30000'
	# What is too large without any event is not written.
	awk 'BEGIN { for (i = 0; i < 3000; i++) printf "event %d 7 7 %0200d\n", i, i }' | made names.log
	cp few.html old.html
	for file in new.html old.html; do
		tells 1 '*even without single events, which is more than --max-size' ptrace-report --force --max-size=256K -o $file names.log
	done
	[ ! -e new.html ]
	cmp few.html old.html
}

@test "report: replaces a report, an empty file, and others only if forced" {
	scene work.log work 10
	ptrace-report --allow-loss -o report.html work.log
	cp report.html before.html
	ptrace-report --allow-loss -o report.html work.log
	: >empty.html
	ptrace-report --allow-loss -o empty.html work.log
	[ -s empty.html ]
	echo precious >other
	reports 1 "*exists and is not a report*" ptrace-report --allow-loss -o other work.log
	[ "$(cat other)" = precious ]
	ptrace-report --allow-loss --force -o other work.log
	[ "$(head -c 15 other)" = '<!doctype html>' ]
	cp work.log kept.log
	reports 1 "*is the log that the report is to be made of*" ptrace-report --force --allow-loss -o work.log work.log
	cmp work.log kept.log
	tells 1 '*/dev/full: No space left on device*' ptrace-report --allow-loss -o /dev/full work.log
	(
		ulimit -f 16
		trap '' XFSZ
		ptrace-report --allow-loss -o cut.html work.log
	) 2>messages && false
	grep -q 'cut.html: File too large' messages
	[ ! -e cut.html ]
	ptrace-report --allow-loss -o - work.log | cmp -n 32 - before.html
}

@test "report: a log without events, cut, with halves of pairs, of years" {
	scene none.log none
	has '.events == 0 and .classes == []' none.log
	scene work.log work 1000
	head -c 200000 work.log >cut.log
	exits 3 ptrace-report -o cut.html cut.log
	meta cut.html '.events > 0 and (.logs[0].is_complete | not)'
	scene halves.log halves 100
	has '[.classes[] | select(.kind == 1) | [.name, .count, .no_begin, .no_end]] | sort ==
		[["always", 0, 100, 0], ["never", 0, 0, 100]]' halves.log
	scene years.log years 4000
	has '.span > 300000000000000000' years.log
	exits 1 ptrace-report -o none.html /dev/null
	[ ! -e none.html ]
	# The others are in the report.
	reports 1 '*' ptrace-report -o report.html gone.log years.log
	meta report.html '[.logs[].path] == ["years.log"]'
}

@test "report: times on a processor, from switches" {
	scene work.log work 200
	has '[.classes[] | select(.kind == 2) | [.name, .count]] == [["on a processor", 200]]' --allow-loss work.log
	# Switches are counted, but are no events of their own.
	meta report.html '[.classes[] | select(.name | startswith("os.switch")) | [.count, .kept]] ==
		[[200, 0], [200, 0]]'
}

@test "report: switches form the pairs that --pair names" {
	timeline run.log 1000:os.exec 2000:os.switch_in 3000:os.switch_out 7000:os.switch_in \
		9000:os.switch_out
	local off=os.switch_out..os.switch_in
	exits 0 ptrace-report --text --pair=$off --pair=os.exec..os.switch_in run.log
	grep -E "^$off +1 +1 +1 +0 +4\.000us " <<<"$stdout"
	grep -E '^os\.exec\.\.os\.switch_in +1 +0 +1 +0 +1\.000us ' <<<"$stdout"
	has '[.classes[] | select(.name == "os.switch_out..os.switch_in") | [.count, .no_begin, .no_end, .max]] ==
		[[1, 1, 1, 4000]]' --pair=$off run.log
	meta report.html '[.classes[] | select(.kind == 2) | [.count, .min, .max]] == [[2, 1000, 2000]]'
}

@test "report: threads that share a lane have no times on a processor" {
	for i in {1..1000}; do echo "event $i 7 $i fill"; done >script
	# Two threads whose runs of 1 ms overlap.
	for i in {1..20}; do
		printf 'event %d %s\n' "${i}2000000" '7 5001 os.switch_in' "${i}2001000" '7 5002 os.switch_in' \
			"${i}3000000" '7 5001 os.switch_out' "${i}3001000" '7 5002 os.switch_out'
	done >>script
	made many.log <script
	has '(.lanes[-1].is_rest | not) and
		([.classes[] | select(.kind == 2) | [.count, .min, .max]] == [[40, 1000000, 1000000]])' --max-size=1M many.log
	has '.lanes[-1].is_rest and ([.classes[] | select(.kind == 2)] == []) and
		([.classes[] | select(.name | startswith("os.switch")) | [.count, .kept]] == [[40, 40], [40, 40]])' --max-size=256K many.log
}

@test "report: numbers that a double cannot hold in their encoding are marked" {
	made wide.log <<-END
		layout signed i64 n
		layout falling u64 n
		layout narrow i64 n
		event 1000 7 8 signed u64:18441740474082181119
		event 2000 7 8 signed u64:5
		event 3000 7 8 falling u64:9000000000000000
		event 3001 7 8 falling u64:9000000000000001
		event 3002 7 8 falling u64:9000000000000002
		event 3003 7 8 falling u64:1
		event 4000 7 8 narrow u64:4000000000000000
		event 5000 7 8 narrow u64:7
	END
	ptrace-report -o wide.html wide.log
	meta wide.html '[.classes[] | select(.kind == 0) | [.name, .columns[0].form, .columns[0].wide]] ==
		[["signed", "v", true], ["falling", "d", true], ["narrow", "v", false]]'
	fields wide.html >shown
	[ "$(cut -d= -f2 shown | xargs)" = "-5003599627370497 5 9000000000000000 9000000000000001 9000000000000002 1 \
4000000000000000 7" ]
}

@test "report: fields of every kind, and what has none" {
	made fields.log <<-END
		layout list u32[2] pair, i8[] rest
		layout short u32 n
		layout p.begin bytes[2] raw
		layout p.end str note
		event 1000 7 8 list u32:3 u32:4 u8:1 u8:255
		event 2000 7 8 list u32:5 u32:6
		event 3000 7 8 short u8:9
		event 4000 7 8 plain str:text
		event 5000 7 8 p.begin hex:0aff
		event 6000 7 8 p.end str:done
	END
	ptrace-report -o fields.html fields.log
	fields fields.html >shown
	[ "$(cat shown)" = 'list pair=[3,4] rest=[1,-1]
list pair=[5,6] rest=[]
short does not fit=yes all of the data="\t"
plain data="text"
p raw=0x0aff end.note=done' ]
}

@test "report: an event has the place that it comes from, and data that was cut is marked" {
	ptrace-run --max-data-size=64 -o run.log -- "$traced" -n 3 -s 100
	ptrace-report --event=traced.event -o run.html run.log
	has_symbols && symbols=(--symbols) || symbols=()
	place=$(ptrace-dump "${symbols[@]}" --json --event=traced.event --first=1 run.log |
		jq -r '"\(.function // .address)" + if .file then " (\(.file):\(.line))" else "" end')
	fields run.html >shown
	[ "$(sort shown | uniq -c | sed 's/^ *//')" = "3 traced.event from=$place cut=yes data=\"$(printf 'x%.0s' {1..64})\"" ]
}

@test "report: several logs, also of one process number, have lanes of their own" {
	scene one.log work 20
	scene two.log work 30
	has '(.logs | length) == 2 and ([.lanes[] | select(.tid == 100) | .log] | sort == [0, 1])' --allow-loss one.log two.log
	# Types of the same name and layout are one.
	meta report.html '[.classes[] | select(.name == "cache.fill") | .count] == [50]'
}

@test "report: a program that is traced, and its source" {
	ptrace-run -o run.log -- "$traced" -n 3 -t 2 -a -p 700000
	has '[.lanes[].name] | index("worker-0") != null and index("worker-1") != null' run.log
	meta report.html '[.lanes[].process] | index("traced") != null'
	# What a session holds now is shown as well.
	record "$me"
	ptrace-report --text "$me" >text
	grep -q 'traced.event' text
}

@test "report: threads have the name that the log tells last" {
	made late.log <<-END
		event 100 7 8 one
		event 110 7 9 one
		thread 105 7 8 program
		thread 400 7 8 behind
		thread 110 7 9 first
		thread 500 7 9
	END
	has '[.lanes[] | select(.pid == 7) | .name] == ["behind", "first"]' late.log
}

@test "report: pairs that the time cuts are there, and are said to be cut" {
	timeline cut.log 1000:a.begin 2000:x 3000:a.end 4000:b.begin 5000:c.begin 5500:c.end 5600:gone.end 6000:x \
		7000:b.end
	seen='[.classes[] | select(.kind == 1) | [.name, .count, .kept, .before, .behind, .no_begin, .no_end]] | sort'
	ptrace-report --since=+1us --until=+5us -o cut.html cut.log
	meta cut.html "$seen == [[\"a\", 0, 1, 1, 0, 0, 0], [\"b\", 0, 1, 0, 1, 0, 0],
		[\"c\", 1, 1, 0, 0, 0, 0], [\"gone\", 0, 1, 1, 0, 0, 0]]"
	# Their events do not stand for themselves.
	meta cut.html '[.classes[] | select(.name == "a.end" or .name == "b.begin") | .kept] == [0, 0]'
	ptrace-report --text --utc --since=+1us --until=+5us cut.log >text
	grep -Eq '000002000Z +1\.000us a \(process 7, thread 8\), at least: it has no begin among the selected events$' text
	grep -Eq '000004000Z +2\.000us b \(process 7, thread 8\), at least: it has no end among the selected events$' text
	[ "$(grep -c 'at least' text)" -eq 3 ]
	# Where the part ends is told by the time, and not by events that are not selected or by none.
	timeline stopped.log 1000:a.begin 2000:c 9000:a.end 50000000:posix_trace_stop:u32:0
	ptrace-report --text --utc --until=+5us stopped.log >text
	grep -Eq '000001000Z +5\.000us a \(process 7, thread 8\), at least: it has no end among the selected events$' text
	grep -qx 'took        5\.000us' text
	ptrace-report --text --utc --since=+3us stopped.log >text
	grep -Eq '000004000Z +5\.000us a \(process 7, thread 8\), at least: it has no begin among the selected events$' text
	# Whether there is another event outside the selected time, the report does not know.
	timeline endless.log 1000:a.begin 2000:x 5000:x
	ptrace-report --text --utc --until=+2us endless.log >text
	grep -Eq '000001000Z +2\.000us a \(process 7, thread 8\), at least: it has no end among the selected events$' text
	# A time that leaves nothing out cuts nothing, and an event that is not selected is no part of a pair.
	ptrace-report --since=@1600000000 --until=@1800000000 -o all.html cut.log
	meta all.html "$seen == [[\"a\", 1, 1, 0, 0, 0, 0], [\"b\", 1, 1, 0, 0, 0, 0],
		[\"c\", 1, 1, 0, 0, 0, 0], [\"gone\", 0, 0, 0, 0, 1, 0]]"
	ptrace-report --since=+1us -e a.end -o end.html cut.log
	meta end.html "$seen == [[\"a\", 0, 0, 0, 0, 1, 0]]"
	# The other half of a pair with a key may be of a process that is not selected.
	ptrace-report --since=+1us --pid=7 --pair='a by len' -o key.html cut.log
	meta key.html "$seen"' | .[0] == ["a.begin..a.end by len", 0, 0, 0, 0, 1, 0]'
}

@test "report: losses cut pairs, gaps and times on a processor, whichever events are selected" {
	timeline lossy.log 1000:outer.begin 1500/9:os.switch_in 2000:tick 3000:posix_trace_overflow \
		90000:posix_trace_resume 100000/9:tock 100000:tick 101000:outer.end 102000:outer.begin \
		103000/9:os.switch_out 104000:outer.end
	for selection in --event=\* --user --pid=7 --event='[ot]*' '--where=pid == 7' '--where=len < 1'; do
		exits 0 ptrace-report --allow-loss "$selection" -o report.html lossy.log
		meta report.html '(.classes[] | select(.name == "outer")) | .count == 1 and .cut == 1'
		meta report.html '(.lanes[] | select(.tid == 8)) | .gap == 2000'
		meta report.html '(.classes[] | select(.name == "tick")) | .count == 2 and .max == null'
		meta report.html '[.classes[] | select(.kind == 2)] == []'
		ptrace-report --allow-loss --text "$selection" lossy.log | grep -E '^outer +1 +0 +0 +1 '
		ptrace-stat --allow-loss --json --pairs "$selection" lossy.log |
			jq -e '.pairs[] | .count == 1 and .cut == 1'
	done
	# What only tells of a loss is in no pair.
	ptrace-stat --allow-loss --json --pair=posix_trace_overflow..posix_trace_resume --pid=7 lossy.log |
		jq -e '.pairs[0].count == 0'
}

@test "report: --label-by tells pairs of one name apart" {
	made jobs.log <<-END
		layout job.begin u32 n, str kind
		layout call.begin json
		event 1000 7 8 job.begin u32:1 str:resize
		event 1500 7 8 call.begin str:{"kind":"in\\"ner","n":3}
		event 1600 7 8 call.end
		event 2000 7 8 job.end
		event 3000 7 8 job.begin u32:2 str:crop
		event 5000 7 8 job.end
		event 6000 7 8 job.begin u32:1 str:resize
		event 6500 7 8 job.end
		event 7000 7 8 plain.begin
		event 7500 7 8 plain.end
		event 8000 7 8 job.end
		event 9000 7 8 job.begin u32:9 str:$(printf 'x%.0s' {1..150}; printf '%%C3%%A9%.0s' {1..100})
		event 9500 7 8 job.end
		event 9600 7 8 call.begin str:{"kind":null}
		event 9700 7 8 call.end
	END
	long="job: $(printf 'x%.0s' {1..150}; printf 'é%.0s' {1..25})..."
	ptrace-report --label-by=data.kind -o report.html jobs.log
	meta report.html "[.classes[] | select(.kind == 1) | [.name, .count, .no_begin]] | sort == ([
		[\"call\", 1, 0], [\"call: in\\\"ner\", 1, 0], [\"job\", 0, 1], [\"job: crop\", 1, 0], [\"job: resize\", 2, 0],
		[\"$long\", 1, 0], [\"plain\", 1, 0]] | sort)"
	ptrace-report --text --label-by=data.n jobs.log >text
	grep -Eq '^job: 1 +2 ' text
	grep -Eq '^job +0 +0 +1 ' text
	grep -q ' 2\.000us job: 2 (process 7, thread 8)$' text
	tells 1 "*--label-by: no event that begins a pair has data.kin (did you mean 'data.kind' or 'data.n'\?)*" ptrace-report --text --label-by=data.kin jobs.log
	grep -Eq '^job +4 ' stdout.txt
	# Programs are called by their own names.
	timeline programs.log 'layout os.exec str name' 100/7:os.exec:str:sh 300/7:os.exit
	exits 1 ptrace-report --label-by=data.name -o report.html programs.log
	meta report.html '[.classes[] | select(.kind == 1) | .name] == ["sh"]'
}

@test "report --text: summary, histograms, the longest pairs, gaps" {
	scene work.log work 500
	prints 0 '*log         work.log*from        2023-11-14T22:13:20.000000000*data        incomplete*' ptrace-report --text --utc --allow-loss work.log
	grep -Eq '^request\.begin +500 ' <<<"$stdout"
	[[ $stdout == *"on a processor"*"Pairs, and the distribution of their durations"*"####"* ]]
	[ "$(sed -n '/^The longest pairs/,/^$/p' <<<"$stdout" | grep -c '(process ')" -eq 10 ]
	expected=$(ptrace-dump --allow-loss --json --pairs --longest=1 work.log | jq -r .duration_ns)
	longest=$(sed -n '/^The longest pairs/{n;p}' <<<"$stdout" | awk '{print $2}')
	[ "$longest" = "$(printf '%d.%03dms' $((expected / 1000000)) $((expected / 1000 % 1000)))" ]
	[[ $stdout == *"The longest time without an event, by thread"*"process 100, thread 102"* ]]
	# Nothing of a log commands a terminal.
	scene names.log names
	ptrace-report --text names.log >text
	fails grep -q $'\e' text
	grep -q 'two\\nlines\\ttab' text
}

@test "report --text: why threads waited, with waits that have not ended" {
	cat >waits <<-'END'
		layout wait.lock.begin enum u32 {pthread_mutex_lock} call, i32 holder, x64 lock, caller call_site
		layout wait.lock.end i64 result, i32 error
		layout wait.thread enum u32 {start, end} at, i32 thread, u64 processor ns, u64 runnable ns
		event 900 7 10 wait.thread u32:0 u32:10 u64:0 u64:0
		event 1000 7 8 wait.lock.begin u32:0 u32:9 u64:0xabc0 u64:0x200
		event 3000 7 8 wait.lock.end u64:0 u32:0
		event 4500 7 10 wait.thread u32:1 u32:10 u64:700 u64:50
		event 5000 7 8 wait.lock.begin u32:0 u32:9 u64:0xabc0 u64:0x200
		event 9000 7 9 other
	END
	made waits.log <waits
	exits 0 ptrace-report --text --utc waits.log
	# The tables are those of ptrace-stat.
	diff <(ptrace-stat --waits waits.log | sed 1,2d) <(sed -n '/^Still waiting/,/^The longest time/p' <<<"$stdout" | head -n -2)
	grep -Eq '^ +3.600us +700ns +19 % +50ns +1 % .* process 7, thread 10 *$' <<<"$stdout"
	ptrace-report -o waits.html waits.log
	grep -q '"processor_ns":700' waits.html
	grep -Fqx "2023-11-14T22:13:20.000005000Z   4.000us wait.lock (process 7, thread 8), at least: it has no end among the selected events" <<<"$stdout"
	exits 0 ptrace-report --text --until=@1700000000.000002 waits.log
	grep -Eq ' 1\.000us wait\.lock .*, at least: it has no end among the selected events$' <<<"$stdout"
	grep -Fq "    1.000us  process 7, thread 8: pthread_mutex_lock for lock 0xabc0, held by thread 9, called by 0x200" <<<"$stdout"
	# A wait whose end is not selected may have ended.
	for options in '--where=data.holder==9' '--event=wait.lock.begin'; do
		exits 0 ptrace-report --text "$options" waits.log
		grep -Eq '^wait\.lock +0 +[12] +0 +0 ' <<<"$stdout"
		fails grep -Eq '^Still waiting|has no end' <<<"$stdout"
	done
	# Without waits.
	printf 'event 1000 5 5 os.switch_in\nevent 2000 5 5 os.switch_out\n' | made run.log
	exits 0 ptrace-report --text run.log
	grep -Fqx "  Why threads did not run is not known: the log has no waits (ptrace-run --waits)." <<<"$stdout"
}

@test "report: a stop and a start cut gaps and times on a processor, too" {
	timeline stopped.log 1000:tick 1500/9:os.switch_in 3000:posix_trace_stop:u32:0 \
		90000:posix_trace_start 100000:tick 103000/9:os.switch_out
	has '[.classes[] | select(.kind == 2)] == []' stopped.log
	meta report.html '(.lanes[] | select(.tid == 8)) | .gap == 0'
	meta report.html '(.classes[] | select(.name == "tick")) | .count == 2 and .max == null'
}

@test "report: the events of the keeper end no time without an event" {
	made run.log <<-'END'
		event 1000 7 7 tick
		event 3000 7 7 os.exit
		event 90000 7 7 os.command u32:0 u32:0
		event 99000 7 7 os.went_on u32:1
	END
	has '[.lanes[] | [.tid, .gap, .gap_at, .count]] == [[7, 2000, 0, 4]]' --allow-loss run.log
	prints 0 '*The longest time without an event, by thread*2.000us process 7, thread 7' ptrace-report --text --allow-loss run.log
}

@test "report: very many losses, of two logs in turns, are merged" {
	for log in a b; do
		made $log.log <<-'END'
			event 1000 1 1 e
			event 1500 0 0 posix_trace_overflow
			repeat 2499 1000
			lost 2500
		END
	done
	has '(.losses | length) <= 4098 and (.losses | length) + .losses_merged == 5000' --allow-loss a.log b.log
}

@test "report: losses of two logs that ended before the selected time are not shown" {
	timeline a.log 1000:e 2000:posix_trace_overflow 4000:posix_trace_resume 20000:e 21000:posix_trace_overflow \
		22000:posix_trace_resume
	timeline b.log 3000:posix_trace_overflow 15000:posix_trace_resume 23000:e
	has '[.losses[] | [.log, .to - .from]] | sort == [[0, 1000], [1, 4000]]' --allow-loss --since=+10us a.log b.log
	# Nor do they make the time longer that is shown; one that lasts until the selected time does.
	timeline c.log 1000:posix_trace_error 2000:posix_trace_resume 5000:e 20000:f 23000:f
	ptrace-report --allow-loss --text --since=+10us --event=f c.log | grep -x 'took        3\.000us'
	ptrace-report --allow-loss --text --since=+10us --event=f b.log c.log | grep -x 'took        12\.000us'
}

@test "report: wrong usage" {
	scene work.log work 10
	for options in '' '-o a -o b' '--text -o a' '--text --max-size=1M' '--text --force' '-o a --utc' \
		'-o a --label-by=gap' '-o a --label-by=none' '-o a --label-by=line' \
		'-o a --label-by=pid --label-by=tid' '-o a --max-size=10' '-o a --max-size=1T' '-o a --first=1 --last=1' '-o a --context=1s,0s'; do
		# shellcheck disable=SC2086 # several words
		reports 2 '*' ptrace-report $options work.log
		[ ! -e a ]
	done
	exits 1 ptrace-report -o a missing.log
	[ ! -e a ]
}
