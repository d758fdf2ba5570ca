#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# ptrace-dump --pair and --pairs: pairs of events in place of events.

load ../../support/helpers

# A log in which 1 begins before 2 and ends behind it, 3 has no end, and 4 no begin.
pairs_log() {
	printf 'event %s\n' '1000 7 8 req.begin hex:31' '2000 7 8 req.begin hex:32' '2500 7 8 other' '3000 7 8 req.end hex:32' \
		'4000 7 8 req.end hex:31' '5000 7 8 req.begin hex:33' '6000 7 8 req.end hex:34' | made pairs.log
}

by_data='--pair=req.begin..req.end by data'

# shown OPTION...: the data of the begins of what is shown, in one line
shown() {
	ptrace-dump "$by_data" --json "$@" pairs.log 2>stderr.txt | jq -r .begin.data | tr '\n' ' '
}

@test "pairs: a line for each, in the order of their ends" {
	pairs_log
	exits 0 ptrace-dump "$by_data" pairs.log
	jq -se 'map(.begin.data) == ["2", "1"] and all(.[]; .pair == "req" and .time == .begin.time and .begin.event == "req.begin" and
		.end.event == "req.end" and .begin.data == .end.data and .begin.len == 1)' <<<"$stdout"
	jq -se 'map(.duration_ns) == [1000, 3000]' stdout.txt
	# By their names, and of the same thread, the ends belong to the latest begin.
	ptrace-dump --pairs pairs.log | jq -se '
		map([.begin.data, .end.data]) == [["2", "2"], ["1", "1"], ["3", "4"]]'
	ptrace-dump --pair=other..req.end pairs.log 2>said | jq -e '.pair == "other..req.end"'
}

@test "pairs: text, with a header, times, layouts and several logs" {
	pairs_log
	run_split ptrace-dump "$by_data" --format=text --header=always --utc pairs.log
	[ "$(wc -l <<<"$stdout")" -eq 3 ]
	[[ $(sed -n 1p <<<"$stdout") =~ ^time\ +duration\ +pid\ +tid\ +pair\ data$ ]]
	[[ $(sed -n 2p <<<"$stdout") =~ ^[0-9T:.-]+Z\ +[0-9.]+[mu]?s\ +[0-9]+\ +[0-9.]+\ +req\ +\"2\"\ \.\.\ \"2\"$ ]]
	ptrace-dump "$by_data" --relative pairs.log 2>said |
		grep -Eq '^\+[0-9.]+s \+0\.000000000s +[0-9.]+[mu]?s '
	ptrace-dump "$by_data" --format=text --color=always pairs.log 2>said |
		grep -Fq $'\033[1mreq\033[0m'
	run_split ptrace-dump "$by_data" --format=text --decode='req.begin=char[1] id' \
		--decode='req.end=char[1] at, u32 rows' pairs.log
	[[ $stdout == *' id="2" .. at="2" decode_error=short data=0x32'* ]]
	# Each event that does not fit counts once.
	[[ $stderr == *"req.end: the data of 2 events has 1 byte, the layout wants 8"* ]]
	# A field connects events of different logs, whose types have other numbers; a thread does not.
	ptrace-run -o begin.log -- ptrace-event req.begin x
	ptrace-run -o end.log -- sh -c 'ptrace-event other; ptrace-event req.end x'
	silently 0 ptrace-dump "$by_data" --json begin.log end.log
	jq -e '.begin.log == "begin.log" and .end.log == "end.log" and .begin.pid != .end.pid' \
		<<<"$stdout"
	ptrace-dump "$by_data" --format=text end.log begin.log |
		grep -Eq ' begin.log..end.log +[0-9]+\.\.[0-9]+ +0 req  *"x" \.\. "x"$'
	refuses 0 "*req: 1 begin without end, 1 end without begin: not shown*" ptrace-dump --pairs begin.log end.log
}

@test "pairs: control characters of names do not reach the terminal" {
	local name=$'a\x1b[31mb'
	ptrace-run -o run.log -- sh -c "ptrace-event '$name.begin'; ptrace-event '$name.end'"
	ptrace-dump --pairs --format=text run.log | grep -q ' a\\x1b\[31mb *$'
	ptrace-dump --tree run.log | grep -q ' a\\x1b\[31mb *$'
	[ "$(ptrace-dump --pairs --json run.log | jq -r .pair)" = "$name" ]
}

@test "pairs: selected by names, processes, times and expressions" {
	pairs_log
	[ "$(shown --event=req.end)" = "2 1 " ]
	[ -z "$(shown --event=other)" ]
	[ "$(shown --pid=7)" = "2 1 " ]
	[ -z "$(shown --pid=1)" ]
	# 2 lasts from the second to the third event, 1 from the first to the fourth.
	[ "$(shown --until=+0us)" = "1 " ]
	[ "$(shown --until=+1us)" = "2 1 " ]
	[ "$(shown --since=+2us)" = "2 1 " ]
	[ "$(shown --since=+3us)" = "1 " ]
	[ -z "$(shown --since=+4us)" ]
	# What lasts over the whole window is in it, too.
	[ "$(shown --since=+1us --until=+2us)" = "2 1 " ]
	[ "$(shown --where='begin.data == "1"')" = "1 " ]
	[ "$(shown --where='data == "1" && end.data == begin.data && duration > 1ns')" = "1 " ]
	[ "$(shown --where='end.event == "req.end" && begin.event ~ "*.begin"')" = "2 1 " ]
	[ -z "$(shown --where='duration > 1h')" ]
	[ "$(shown --where='duration == 3us')" = "1 " ]
	[ "$(shown --where='duration < 3us')" = "2 " ]
	# A name that no pair has.
	tells 1 "*ptrace-dump: re: no pair has such a name (did you mean 'req'?)" ptrace-dump "$by_data" \
		--where='pair == "re"' pairs.log
	tells 1 '*x\*: no pair has such a name*' ptrace-dump "$by_data" --where='!!(pair ~ "x*")' pairs.log
	[ "$(shown --where='pair != "re" || pair == "x"')" = "2 1 " ]
	# A member that only the last events of pairs have.
	made ends.log <<-'END'
		layout q.end u32 status
		event 100 7 8 q.begin
		event 200 7 8 q.end u32:5
		event 300 7 8 r.begin
		event 400 7 8 r.end
	END
	tells 1 '*ptrace-dump: --where: no event that begins a pair has data.status; that * is end.data.status*' \
		ptrace-dump --pairs --where='data.status == 5' ends.log
	prints 0 '' ptrace-dump --pairs --where='data.status == 5 || duration > 1h' ends.log
	answers 0 '.duration_ns == 100' ptrace-dump --json --pairs --where='end.data.status == 5' ends.log
	[ "$(shown --first=1)" = "2 " ]
	[ "$(shown --last=1)" = "1 " ]
	[ "$(ptrace-dump "$by_data" --count pairs.log 2>said)" = 2 ]
	[ "$(ptrace-dump "$by_data" --count --event=other pairs.log 2>said)" = 0 ]
}

@test "pairs: text with a name that is longer than its column" {
	name=$(printf 'n%.0s' {1..60})
	timeline long.log 1000:$name.begin 2000:$name.end 3000:$name.begin:str:a 4000:$name.end:str:b
	ptrace-dump --pair="$name" --format=text --color=never long.log >lines
	[[ $(sed -n 1p lines) == *" $name" ]]
	[[ $(sed -n 2p lines) == *" $name \"a\" .. \"b\"" ]]
	ptrace-dump --pair="$name" --format=text --color=always long.log | sed -n 1p >lines
	[[ $(cat lines) == *"$name"$'\033[0m' ]]
}

@test "pairs: the longest" {
	pairs_log
	[ "$(shown --longest=1)" = "1 " ]
	[ "$(shown --longest=2)" = "1 2 " ]
	[ "$(shown --longest=100)" = "1 2 " ]
	[ -z "$(shown --longest=0)" ]
	# Of those that took the same time, those that ended first are the longer ones.
	ptrace-run -o many.log -- "$traced" -n 5000
	ptrace-dump --pair=traced.event..traced.event many.log |
		jq -s 'sort_by(-.duration_ns) | .[:50] | map([.duration_ns, .begin.time])' >expected
	ptrace-dump --pair=traced.event..traced.event --longest=50 --summary many.log >lines
	head -n 50 lines | jq -s 'map([.duration_ns, .begin.time])' >found
	diff expected found
	tail -n 1 lines | jq -e '.summary.shown == 50'
}

@test "pairs: what is not shown is told" {
	pairs_log
	reports 0 "req: 1 begin without end, 1 end without begin: not shown" ptrace-dump "$by_data" --summary pairs.log
	tail -n 1 <<<"$stdout" | jq -e '.summary | .shown == 2 and .complete and
		.pairs == [{begin: "req.begin", end: "req.end", by: "data", unmatched_begins: 1,
			unmatched_ends: 1, cut: 0, without_key: 0}]'
	ptrace-dump "$by_data" --summary --format=text pairs.log 2>said | tail -n 1 |
		grep -qx '2 pairs, complete'
	# Only those in the window: the begin of 3 is still open in all that comes behind it.
	reports 0 "*req: 1 end without begin: not shown*" ptrace-dump "$by_data" --until=+3us pairs.log
	reports 0 "*req: 1 begin without end, 1 end without begin: not shown*" ptrace-dump "$by_data" --since=+5us pairs.log
	# What --first leaves unread is not unmatched.
	silently 0 ptrace-dump "$by_data" --first=1 pairs.log
	tells 1 '*6 events of req have no data.id, and were left out*' ptrace-dump --pair='req.begin..req.end by data.id' --decode='req.*=u64 id' pairs.log
	tells 1 "*pairs.log: no event type is named 'req.ende' (did you mean 'req.end'\?)*" ptrace-dump --pair=req.begin..req.ende pairs.log
	ptrace-run -o none.log -- "$traced" -n 1
	reports 1 "*no event type has a name that ends with .begin or .end*" ptrace-dump --pairs none.log
	ptrace-run -o lossy.log --allow-loss --stream-min-size=4K --stream-full-policy=loop -- \
		"$traced" -n 100000
	tells 3 '* cut by lost events or a restart: not shown*' ptrace-dump --pair=traced.event..traced.event --summary lossy.log
	tail -n 1 <<<"$stdout" | jq -e '.summary | .shown > 10 and .pairs[0].cut > 0 and
		(.complete | not)'
}

@test "pairs: losses of one log cut what they may be part of" {
	ptrace-run -o outer.log --only='req.*' -- sh -c '
		ptrace-event req.begin 1
		ptrace-run -o lossy.log --allow-loss --stream-min-size=4K --stream-full-policy=loop -- \
			"$1" -n 100000
		ptrace-event req.end 1' sh "$traced"
	# Other logs have no events of this log's threads, but may have those of the same field.
	run_split ptrace-dump --pairs --allow-loss outer.log lossy.log
	jq -e '.begin.log == "outer.log"' <<<"$stdout"
	prints 0 '' ptrace-dump "$by_data" --allow-loss outer.log lossy.log
	[[ $stderr == *"req: 1 cut by lost events or a restart: not shown"* ]]
}

@test "pairs by a field are cut from the end of another log on, if nobody knows what its processes did then" {
	printf 'event %s\n' '100 1 1 posix_trace_start' '250 1 1 a' | made ended.log
	head -c -1 ended.log >open.log
	timeline pairs.log 110:q.begin:u32:1 240:q.end:u32:1 245:q.begin:u32:2 300:q.end:u32:2 310:q.begin:u32:3 350:q.end:u32:3
	exits 0 ptrace-dump --json --pair='q by data' pairs.log ended.log
	jq -se 'map(.duration_ns) == [130, 55, 40]' stdout.txt
	exits 3 ptrace-dump --json --pair='q by data' pairs.log open.log
	jq -se 'map(.duration_ns) == [130]' stdout.txt
	# The two events of a pair by thread are in one log.
	exits 3 ptrace-dump --json --pair=q pairs.log open.log
	jq -se 'map(.duration_ns) == [130, 55, 40]' stdout.txt
}

@test "pairs: of a session, and as it goes on" {
	ptrace-create --pid=$$ --name="$me" --start
	ptrace-event req.begin 1
	ptrace-event req.end 1
	ptrace-dump --pairs "$me" | jq -e '.begin.data == "1"'
	begins follower ptrace-dump --follow="$me" --pairs --json --summary >lines 2>said 7>&-
	wait_until test -s lines
	ptrace-event req.begin 2
	ptrace-event req.begin 3
	ptrace-event req.end 3
	wait_until grep -q '"data":"3"' lines
	ptrace-shutdown "$me"
	wait "$follower"
	[ "$(jq -r 'select(.pair) | .begin.data' lines | tr '\n' ' ')" = "1 3 " ]
	grep -q 'req: 1 begin without end: not shown' said
	tail -n 1 lines | jq -e '.summary.shown == 2 and .summary.pairs[0].unmatched_begins == 1'
}

@test "pairs: options that mean nothing with them are refused" {
	pairs_log
	for option in --user --around=other --verify --to-log=new.log --fields=tim \
		'--longest=1 --first=1' '--longest=1 --last=1' '--longest=1 --count' \
		'--longest=1 --relative' --longest=x --where=dura '--where=duration>5' '--where=begin.dat==1' \
		'--where=start.data==1' --pair=x.. '--pair=a..b by duration' '--pair=a..b by end.pid'; do
		words=("$option")
		[[ $option == --pair* ]] || read -ra words <<<"$option --json"
		refuses 2 '*' ptrace-dump --pairs "${words[@]}" pairs.log
	done
	[ ! -e new.log ]
	for option in --longest=1 --where=duration '--where=begin.pid==1' --fields=end.pid; do
		exits 2 ptrace-dump "$option" pairs.log
	done
	[[ $stderr == *"'end.pid' is a field of pairs, not of events"* ]]
	exits 2 ptrace-stat --pairs --per=duration pairs.log
}

@test "pairs: the fields that are asked for, as text, JSON and CSV" {
	timeline run.log 0:posix_trace_start 1000000000/70:req.begin:hex:31 \
		1000002000/70:req.end:hex:2c22 2000000000/71:a:hex:ff 2000000001/71:b
	shows() { ptrace-dump --pair=req --pair=a..b --utc "$@" run.log; }
	[ "$(shows --format=text --fields=duration,pair,end.pid,begin.data --header=always)" = "$(cat <<-'END'
		duration pair end.pid begin.data
		 2.000us req        7 "1"
		     1ns a..b       7 0xff
	END
	)" ]
	[ "$(shows --json --fields=pair,end.pid,duration,begin.data,ns,tid,end.data,end.ns | head -n 1)" = \
		'{"pair":"req","duration_ns":2000,"ns":1700000001000000000,"begin":{"data":"1","tid":70},"end":{"pid":7,"data":",\"","ns":1700000001000002000}}' ]
	[ "$(shows --format=csv --fields=end.time,pair,duration,begin.data,end.data,end.data_hex | tr -d '\r')" = "$(cat <<-'END'
		end.time,pair,duration_ns,begin.data,end.data,end.data_hex
		2023-11-14T22:13:21.000002000Z,req,2000,1,",""",2c22
		2023-11-14T22:13:22.000000001Z,a..b,1,0xff,,
	END
	)" ]
	[ "$(shows --format=csv --where='pair == "a..b"' --header=never)" = $'a..b,2023-11-14T22:13:22.000000000Z,1,7,71,0xff,\r' ]
	[ "$(shows --format=csv --fields=pair,end.gap,gap | head -n 2 | tr -d '\r')" = $'pair,end.gap_ns,gap_ns\nreq,2000,' ]
	[ "$(shows --format=csv --longest=1 --fields=pair,len | tr -d '\r')" = $'pair,len\nreq,1' ]
	[ "$(shows --format=csv --where='pair == "c"' --fields=pair)" = $'pair\r' ]
	[ "$(shows --decode='req.*=char[1] c' --json --fields=end.data.c,data.c --first=1 2>said)" = \
		'{"begin":{"data":{"c":"1"}},"end":{"data":{"c":","}}}' ]
	refuses 2 "*--fields: events have no field 'duratoin' (did you mean 'duration'?)*" ptrace-dump --pairs --fields=duratoin run.log
	refuses 2 "*--where: column 7: events have no field 'rows'; fields of the data are written data.NAME*" ptrace-dump --where='1 +   rows == 1' run.log
	refuses 2 "*--fields: events have no field 'pidd' (did you mean 'pid'*" ptrace-dump --pairs --format=csv --fields=end.pidd run.log
	refuses 2 "*--fields: 'begin.ns' is the same field as 'ns'*" ptrace-dump --pairs --fields=ns,begin.ns run.log
	refuses 2 "*--fields: 'pid' is given twice*" ptrace-dump --pairs --fields=pid,pid run.log
	refuses 2 "*--fields: 'pair' is a field of pairs, not of events*" ptrace-dump --fields=pair run.log
}

@test "pairs: X is X.begin..X.end wherever a pair is named" {
	ptrace-run -o pairs.log -- sh -c 'for i in 1 2; do ptrace-event req.begin $i; ptrace-event req.end $i; done'
	exits 0 ptrace-dump '--pair=req by data' --json pairs.log
	diff stdout.txt <(ptrace-dump "$by_data" --json pairs.log)
	exits 0 ptrace-stat '--pair=req by data' --json pairs.log
	diff stdout.txt <(ptrace-stat "$by_data" --json pairs.log)
	ptrace-stat '--pair=req by data' pairs.log | grep -Eq '^req by data +2 '
	ptrace-report --text '--pair=req by data' pairs.log | grep -Eq '^req by data +2 '
	ptrace-export --to=chrome '--pair=req by data' pairs.log | jq -e '.traceEvents | any(.name == "req")'
	exits 0 ptrace-check --max='req by data <= 1h' --at-most='req by data 9 at once' \
		--pair='req where data != "x" by data p99.9 < 1h' pairs.log
	grep -q '^pass       pair req.begin..req.end by data at-most 9 at once: ' <<<"$stdout"
	grep -q '^pass       pair req.begin where data != "x"..req.end by data p99.9 < 1h: ' <<<"$stdout"
	cat >rules.yaml <<-'END'
		rules:
		  - {name: short, pair: req, by: data, p75: < 1h}
		  - {name: long, pair: req.begin..req.end by data, max: < 1h}
	END
	exits 0 ptrace-check rules.yaml pairs.log
	exits 5 ptrace-stat --diff '--pair=req by data' --fail-if='p99.9 req by data > 1ns' pairs.log pairs.log
	reports 1 "pairs.log: no event type is named 'rek.begin' or 'rek.end' (did you mean 'req.begin' or 'req.end'\?)" \
		ptrace-dump --pair=rek pairs.log
	reports 1 "pairs.log: no event type is named 'a'" ptrace-dump --pair=a..a pairs.log
}

# tree OPTION...: the lines of the tree from the names on
tree() {
	ptrace-dump --tree "$@" 2>said.txt | sed -E 's/^([^ ]+ +)(([0-9.]+[mun]?s) +)?([a-z.]+ +)?[0-9]+ +[0-9]+ /\3 | /; s/^[0-9]+[0-9.]*[mun]?s/T/'
}

@test "tree: what lies within what, in the order of the begins" {
	ptrace-run -o tree.log -- sh -c '
		ptrace-event request.begin id=1; ptrace-event parse.begin; ptrace-event parse.end
		ptrace-event query.begin a; ptrace-event lock.begin; ptrace-event lock.end
		ptrace-event other; ptrace-event fetch.begin b; ptrace-event query.end a
		ptrace-event fetch.end; ptrace-event request.end rows=3
		ptrace-event idle.begin; ptrace-event lost.end'
	diff - <(tree tree.log) <<-'END'
	 | request {  {"id":1}
	T |   parse
	 |   query {  "a"
	T |     lock
	T |     fetch  "b" ..
	T |   } query  "a"
	T | } request  {"rows":3}
	 | idle {
	END
	grep -q 'idle: 1 begin without end: not measured' said.txt
	grep -q 'lost: 1 end without begin: not measured' said.txt
	# What lies within a pair that is left out takes its place, also if its end tells that.
	diff - <(tree --event='[lf]*' --event='request.*' tree.log) <<-'END'
	 | request {  {"id":1}
	T |   lock
	T |   fetch  "b" ..
	T | } request  {"rows":3}
	END
	diff - <(tree --where='end.data == "a" || duration < 0ns' --pairs tree.log) <<-'END'
	T | query  "a"
	END
	diff - <(tree --pair=query.begin..query.end tree.log) <<<'T | query  "a"'
	# The duration is that of the pair, and each line has the time of its event.
	ptrace-dump --tree --utc tree.log 2>/dev/null | grep -F '} query' >line
	ptrace-dump --pairs tree.log 2>/dev/null | jq -r 'select(.pair == "query") | .end.time' >time
	grep -qFf time line
	[ "$(ptrace-dump --tree --header=always tree.log 2>/dev/null | sed -n 1p | tr -s ' ')" = \
		"time duration pid tid pair data" ]
}

@test "tree: pairs that overlap have the same lines with --where, also if a pair around them is hidden" {
	timeline crossed.log 100:a.begin 200:b.begin 250:c.begin 300:a.end 350:b.end 900:c.end 950:d.begin 960:d.end
	diff <(ptrace-dump --tree crossed.log) <(ptrace-dump --tree --where='duration > 1ns' crossed.log)
	ptrace-dump --tree --where='duration != 150ns' crossed.log | awk '{print $2, $NF, NF}' >some
	diff some <(ptrace-dump --tree crossed.log | grep -vw b | awk '{print $2, $NF, NF}')
}

@test "tree: --where does not select pairs that losses cut" {
	timeline cut.log 110:cut.begin 120:whole.begin 130:whole.end 200:posix_trace_overflow 300:posix_trace_resume \
		400:cut.end
	ptrace-dump --tree --allow-loss cut.log >all
	[ "$(grep -c 'cut' all)" -eq 2 ]
	ptrace-dump --tree --allow-loss --where='duration > 1ns' cut.log >some 2>said.txt
	grep -q 'cut: 1 cut by lost events or a restart: not measured' said.txt
	[ "$(awk '{print $2, $NF}' some)" = '10ns whole' ]
}

@test "tree: of each thread, deep, and cut by losses" {
	ptrace-run -o one.log -- ptrace-event a.begin
	ptrace-run -o two.log -- sh -c 'ptrace-event b.begin; ptrace-event b.end'
	diff - <(tree one.log two.log) <<-'END'
	 | a {
	T | b
	END
	ptrace-run -o deep.log -- sh -c 'for i in $(seq 43); do ptrace-event d.begin $i; done
		for i in $(seq 43); do ptrace-event d.end $((44 - i)); done'
	tree deep.log >deep
	[ "$(wc -l <deep)" -eq 85 ]
	[ "$(sed -n 2p deep)" = ' |   d {  "2"' ]
	[ "$(sed -n 42p deep)" = " | $(printf '%80s' '')[41] d {  \"42\"" ]
	[ "$(sed -n 43p deep)" = "T | $(printf '%80s' '')[42] d  \"43\"" ]
	ptrace-run --allow-loss -o cut.log --stream-min-size=64K --stream-full-policy=until-full -- \
		sh -c 'ptrace-event c.begin; "$0" -n 100000; ptrace-event c.end' "$PTRC_BUILD/tests/support/traced"
	tree cut.log >cut || true
	[ "$(head -n 1 cut)" = " | c {" ]
	grep -q 'c: .*cut by lost events or a restart: not measured' said.txt
}

@test "tree: usage" {
	pairs_log
	for options in --json --first=1 --last=1 --longest=1 --count --verify --fields=ns \
		--to-log=x.log --around=req.begin --user --format=json; do
		reports 2 '*--*' ptrace-dump --tree "$options" pairs.log
	done
	exits 0 ptrace-dump --tree --header=always pairs.log
	ptrace-run --os=none -o none.log -- true
	prints 1 '' ptrace-dump --tree none.log
}
