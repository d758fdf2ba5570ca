#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # options that are several words
# Takes long, as it starts more than a thousand commands: nearly every option is tried with several values.

load ../../support/helpers

# one_event NAME OPTION...: the JSON of the only event of a traced program with the options
one_event() {
	ptrace-run -o run.log -- "$traced" -e "$@"
	ptrace-dump --pid="$(ptrace-dump run.log | jq -s 'map(select(.type_id > 9))[0].pid')" run.log
}

@test "a process or a thread that no event has is told" {
	printf 'event %s\n' '1000 7 8 a' '2000 7 8 a' '3000 7 9 a' | made run.log
	prints 0 2 ptrace-dump --count --pid=7 --tid=8 run.log
	prints 0 3 ptrace-dump --count --tid=8 --tid=9 run.log
	reports 1 "--pid: no event is of process 1234567" ptrace-dump --pid=1234567 --pid=7 run.log
	[ -n "$stdout" ]
	reports 1 "--tid: no event is of thread 1234567" ptrace-dump --count --tid=1234567 run.log
	exits 1 ptrace-export --to=csv --pid=1234567 -o out.csv run.log
	exits 1 ptrace-report --text --tid=1234567 run.log
	# That other conditions leave none of its events is no mistake.
	says_nothing ptrace-dump --pid=7 --where='len > 1000' run.log
	exits 0 ptrace-dump --tid=8 --since=now run.log
}

@test "text that is compared with a number is told" {
	ptrace-run -o run.log -- "$traced" -l 'str text' -d 5 -z
	reports 2 "--where: column 1: 'data.text' is text, and is compared with a number; put that in quotes, or write data.text + 0 for text that reads as a number. Try*" \
		ptrace-dump --where='data.text == 5' run.log
	exits 2 ptrace-dump --where='pid > data.text' run.log
	exits 2 ptrace-export --to=csv --where='data.text == 5' -o out.csv run.log
	for where in 'data.text == "5"' 'data.text + 0 == 5' 'data.text'; do
		prints 0 1 ptrace-dump --count --where="$where" run.log
	done
	# Another layout may have a number of the same name.
	exits 0 ptrace-dump --count --where='data.text == 5' --decode='posix_trace_stop=u8 text' run.log
}

@test "a mistake in an expression is told if --event leaves no event of another layout" {
	made run.log <<-'END'
		layout job enum u8 {ok, failed} status, str who
		layout sh json
		layout other u8 status, u8 who
		event 1000 1 1 job u8:1 str:me
		event 2000 1 1 sh str:{"status":"down","who":5}
		event 3000 1 1 other u8:7 u8:5
	END
	bad="column 16: 'faild' is no name of a value of data.status (did you mean 'failed'?). Try*"
	reports 2 "--where: $bad" ptrace-dump --event='jo*' --where='data.status == "faild"' run.log
	exits 2 ptrace-dump --pairs --event=job --where='data.status == "faild"' run.log
	exits 2 ptrace-export --to=csv --event=job --where='data.status == "faild"' run.log
	exits 2 ptrace-export --to=chrome --event=job --where='data.status == "faild"' run.log
	exits 2 ptrace-report --text --event=job --where='data.status == "faild"' run.log
	exits 2 ptrace-dump --event=job --where='data.who == 5' run.log
	prints 0 1 ptrace-dump --count --event=job --event=other --where='data.who == 5' run.log
	reports 2 "--around: $bad" ptrace-dump --around='job where data.status == "faild"' run.log
	# An event with JSON data may have any value in a member of this name.
	prints 0 1 ptrace-dump --count --where='data.status == "down"' run.log
	prints 0 1 ptrace-dump --count --event=job --event=sh --where='data.who == 5' run.log
	prints 0 1 ptrace-dump --count --event=sh --where='data.status == "down"' run.log
	exits 0 ptrace-dump --count --event=job --around='sh where data.status == "down"' run.log
	# The other event of a pair may have it.
	exits 0 ptrace-dump --pair=job..sh --event=job --where='end.data.status == "down"' run.log
	[ -n "$stdout" ]
}

@test "an event has the documented members" {
	begin=$(date +%s)
	one_event name -d 'some data' >event
	jq -e '.event == "name" and .data == "some data" and .len == 9 and
		.truncated == "no" and .type_id >= 10 and .pid > 0 and
		(.thread | test("^0x[0-9a-f]+$")) and (.address | test("^0x[0-9a-f]+$")) and
		(.time | test("^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{9}Z$"))' event
	ns=$(grep -oE '"ns":[0-9]+' event | cut -d: -f2)
	[ "$(date -u -d "@${ns::-9}" +%Y-%m-%dT%H:%M:%S).${ns: -9}Z" = "$(jq -r .time event)" ]
	[ "$begin" -le "${ns::-9}" ]
	[ "${ns::-9}" -le "$(date +%s)" ]
}

@test "data is text if it is text, hexadecimal digits otherwise" {
	[ "$(one_event n -d $'tab\there "quoted" back\\slash\nline' | jq -r .data)" = \
		$'tab\there "quoted" back\\slash\nline' ]
	[ "$(one_event n -d 'grün' | jq -c '[.data, .len]')" = '["grün",5]' ]
	[ "$(one_event n -b | jq -c '[.data_hex, .len, has("data")]')" = \
		'["01020304050607ff",8,false]' ]
	[ "$(one_event n -d $'\e[31m' | jq -r .data_hex)" = 1b5b33316d ]
	[ "$(one_event n -d $'\xc3' | jq -r .data_hex)" = c3 ]
	[ "$(one_event n -d text -z | jq -c '[.data, .len]')" = '["text",5]' ]
	[ "$(one_event n -d '' | jq -c '[.data, .len]')" = '["",0]' ]
}

@test "names with any bytes do no harm" {
	name=$'new\nline "quote" \\ \x01 \xff end'
	one_event "$name" -d x >event
	[ "$(wc -l <event)" -eq 1 ]
	[ "$(jq -r .event_hex event)" = "$(printf %s "$name" | od -An -v -tx1 | tr -d ' \n')" ]
	ptrace-dump --format=text run.log >text
	[ "$(wc -l <text)" -eq "$(events run.log)" ]
	grep -qF 'new\nline "quote" \\ \x01 \xff end' text
}

@test "system events say what they mean" {
	ptrace-run -o run.log -- "$traced"
	ptrace-dump -e posix_trace_start run.log |
		jq -e '.filter == [] and .type_id == 1 and (has("data") | not)'
	ptrace-dump -e posix_trace_stop run.log | jq -e '.reason == 0 and .len == 4'
	ptrace-dump --format=text run.log | grep -q ' posix_trace_stop .* reason=0$'
	ptrace-dump --format=text run.log | grep -q ' posix_trace_start .* filter=none$'
}

@test "on a terminal it is text" {
	command -v script >/dev/null || skip "no script(1)"
	ptrace-run -o run.log -- "$traced" -d x
	NO_COLOR=1 script -qec 'ptrace-dump -e traced.event run.log' /dev/null </dev/null >screen
	grep -q ' traced.event ' screen
	# The columns have names, which --fields takes, at their places.
	tr -d '\r' <screen | head -n 1 >header
	diff <(tr -s ' ' <header) <(echo 'time pid tid event address data')
	NO_COLOR=1 script -qec 'ptrace-dump --header=never run.log' /dev/null </dev/null >screen
	fails grep -q address screen
}

@test "text has local times, and --since and --until take them" {
	ptrace-run -o run.log -- "$traced" -n 5
	ptrace-dump -e traced.event run.log >json
	for TZ in CET-1CEST,M3.5.0,M10.5.0/3 EST5EDT XYZ-13:45:30 Asia/Kolkata No/Such; do
		export TZ
		ptrace-dump -e traced.event --format=text run.log | cut -d' ' -f1 >local
		fails grep -qv '^....-..-..T..:..:..\..........[+-]..:..$' local
		# Neither is it another moment, nor is a digit lost.
		while read -r ns && read -r text <&4; do
			[ "$(ptrace-dump --since="$text" --until="$text" --json run.log |
				grep -oE '"ns":[0-9]+' | sort -u)" = "\"ns\":$ns" ]
		done < <(grep -oE '"ns":[0-9]+' json | cut -d: -f2) 4<local
		ptrace-dump -e traced.event --json run.log | diff json -
		ptrace-dump -e traced.event --utc --format=text run.log | cut -d' ' -f1 |
			diff <(jq -r .time json) -
		[ "$(ptrace-dump --format=text --fields=time --first=1 -e traced.event run.log)" = \
			"$(head -n 1 local)" ]
		ptrace-stat run.log | grep -q "^last event .*[+-]..:..$"
		ptrace-stat --utc run.log | grep -q "^last event .*Z$"
		[ "$(ptrace-stat --json run.log | jq -r .last)" = "$(ptrace-dump --last=1 --json run.log | jq -r .time)" ]
	done
	export TZ=CET-1CEST,M3.5.0,M10.5.0/3
	reports 2 "--since: '2026-10-25 02:30': the clocks showed this time twice on that day; add an offset*" \
		ptrace-dump --since='2026-10-25 02:30' run.log
	reports 2 "--where: column 8: '2026-03-29 02:30': the clocks did not show this time on that day*" \
		ptrace-dump --where='time > "2026-03-29 02:30"' run.log
}

# Whether the text has a character that commands a terminal or changes how text is read.
has_unseen() {
	LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]' "$1"
}

@test "text and messages show what would change the order of text or end a line" {
	order=$'\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9'
	shown_order='\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069'
	unseen=$order$'\xc2\x80\xc2\x9f\x1b\x7f'
	shown=$shown_order'\xc2\x80\xc2\x9f\x1b\x7f'
	plain=$'\xe2\x80\x8d\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\xd8\x9b\xc2\xa0\xc3\xa9\xf0\x9f\x98\x80'
	name="n$plain$unseen"
	ptrace-run -o "$unseen.log" -- "$traced" -e "$name" -d "d$plain$order"
	ptrace-dump --format=text "$unseen.log" >text
	fails has_unseen text
	grep -qF "n$plain$shown" text
	grep -qF "\"d$plain$shown_order\"" text
	for command in "ptrace-events" "ptrace-stat" "ptrace-doctor" "ptrace-dump --format=text --fields=log,event,data"; do
		$command "$unseen.log" >text 2>&1 || true
		fails has_unseen text
		grep -qF "$shown" text || { cat text; echo "$command"; return 1; }
	done
	exits 1 ptrace-dump "no$plain$unseen"
	fails has_unseen stderr.txt
	grep -qF "no$plain$shown" stderr.txt
	# The name that is proposed is shown so, too.
	reports 1 "*did you mean*" ptrace-dump -e "n$plain" "$unseen.log"
	fails has_unseen stderr.txt
	[ "$(ptrace-dump -e 'n*' "$unseen.log" | jq -r .event)" = "$name" ]
	[ "$(ptrace-dump -e 'n*' "$unseen.log" | jq -r .data)" = "d$plain$order" ]
}

@test "--where: an empty array and an empty object of JSON do not hold as conditions" {
	timeline a.log '1:x:str:{"v":[]}' '2:x:str:{"v":{}}' '3:x:str:{"v":[0]}' '4:x:str:{"v":{"a":0}}'
	prints 0 2 ptrace-dump --count --decode='x=json' --where=data.v a.log
	prints 0 2 ptrace-dump --count --decode='x=json' --where='!data.v' a.log
}

@test "--where: an event of which a pattern does not decide is missing" {
	head -c 20000 /dev/zero | tr '\0' x >data
	ptrace-run -o run.log --max-data-size=64K -- sh -c 'ptrace-event --stdin big <data; ptrace-event small y; :'
	hard='((x?){30}){15}[yz]'
	says="ptrace-dump: --where: 1 event could not be decided, because a pattern would take too long"
	for expression in "data =~ '$hard'" "!(data =~ '$hard' || event == 'small')"; do
		exits 3 ptrace-dump --count -e big -e small --where="$expression" run.log
		[ "$stderr" = "$says: $expression" ]
	done
	exits 3 ptrace-dump --format=json --summary --where="data =~ '$hard'" run.log
	[ "$(jq -c 'select(.event).event' <<<"$stdout")" = '"small"' ]
	[ "$(jq -c '.summary // empty | [.shown, .complete, .undecided]' <<<"$stdout")" = '[1,false,1]' ]
	exits 3 ptrace-dump --format=text --summary --where="data =~ '$hard'" run.log
	[ "${stdout##*$'\n'}" = '1 event, data incomplete, undecided: 1' ]
	[ "$(ptrace-dump --count --json --where="data =~ '$hard'" run.log 2>/dev/null)" = \
		'{"count":1,"undecided":1}' ]
	# What else decides, does.
	prints 0 2 ptrace-dump --count --where="data =~ '$hard' || data ~ 'x*'" run.log
	[ -z "$stderr" ]
	prints 0 1 ptrace-dump --count --where="data =~ '$hard'" --where="event ~ 's*'" run.log
	[ -z "$stderr" ]
}

@test "times by words" {
	ptrace-run -o run.log -- "$traced" -n 5
	count() { ptrace-dump --count -e traced.event "$@" run.log; }
	[ "$(count --since=yesterday --until=now)" -eq 5 ]
	[ "$(count --since='1h ago')" -eq 5 ]
	[ "$(count --until='1 hour ago')" -eq 0 ]
	[ "$(count --until=yesterday)" -eq 0 ]
	[ "$(count --where='time > "2 days ago" && time < "now"')" -eq 5 ]
	reports 2 "*'tomorrow' is not a time such as *" ptrace-dump --since=tomorrow run.log
	# The message has each form that there is, and each that it has is one.
	forms=${stderr##*such as }
	forms=${forms%%. Try*}
	IFS=, read -ra forms <<<"${forms/ or/,}"
	[ "${#forms[@]}" -eq 10 ]
	for form in "${forms[@]}"; do
		ptrace-dump --count --since="${form# }" run.log
	done
	for form in 2026-01-02T 2026-01-02\  ' 03:04:05' ' @' now today yesterday ago + -5; do
		[[ $stderr == *"$form"* ]]
	done
	ptrace-dump --help | grep -q '@SECONDS since 1970'
}

@test "--relative: since the first event, and since the event before" {
	printf 'event %s\n' '0 7 7 first' '2500000000 7 7 a' '2500000001 7 7 a' | made run.log
	ptrace-dump --relative run.log >text
	diff <(awk '{ print $1, $2 }' text) - <<-'END'
	+0.000000000s +0.000000000s
	+2.500000000s +2.500000000s
	+2.500000001s +0.000000001s
	END
	# What it shows can be asked for.
	prints 0 '*"ns":1700000002500000001,*' ptrace-dump --since=+2.500000001s --until=+2.500000001s run.log
	# The first event is that of the logs, whatever is selected; the one before is selected.
	prints 0 $'+2.500000000s +0.000000000s a\n+2.500000001s +0.000000001s a' \
		ptrace-dump --relative -e a --fields=time,event run.log
	# Also if the first one shown is the first of a part of the log.
	ptrace-run --name="$me" -o parts.log -- sh -c 'for i in 1 2 3; do ptrace-event a; ptrace-flush "$0"; done' "$me"
	ptrace-dump --relative -e '*' parts.log >text
	for count in {1..12}; do
		ptrace-dump --relative -e '*' --last="$count" parts.log | diff <(tail -n "$count" text) -
	done
	for options in '--json --relative' '--utc --relative' '--json --header=always'; do
		reports 2 '*' ptrace-dump $options run.log
	done
}

@test "--header names the columns, at their places" {
	ptrace-run -o run.log -- "$traced" -n 3 -d x
	cp run.log other.log
	for options in '' --relative --utc --last=2 --fields=event,time,pid,data '--fields=len,event --relative' \
		other.log '--around=traced.event --context=0s,0s'; do
		ptrace-dump --header=always -e traced.event $options run.log >text
		ptrace-dump --format=text -e traced.event $options run.log >plain
		[ "$(wc -l <text)" -eq "$(($(wc -l <plain) + 1))" ]
		head -n 1 text >header
		fails grep -q ' $' header
		for name in time log pid tid event address data since_first since_before len; do
			grep -qw "$name" header || continue
			# Where the name begins or ends, a value does.
			sed 's/.*/ & /' text | awk -v name="$name" '
				NR == 1 { begin = index($0, " " name " "); end = begin + length(name) + 1; next }
				{ found += substr($0, begin, 2) ~ /^ [^ ]/ || substr($0, end - 1, 2) ~ /^[^ ] / }
				END { exit found != NR - 1 }' || { cat text; echo "$name"; return 1; }
		done
	done
	grep -Eq '^[0-9T:.-]+\+00:00 +[0-9]+ +[0-9]+ traced\.event +0x[0-9a-f]+ "x"$' \
		<(ptrace-dump --format=text run.log)
	[ -z "$(ptrace-dump --header=always --user -e posix_trace_stop run.log)" ]
	[ "$(ptrace-dump --header=always --count -e traced.event run.log)" = 3 ]
}

@test "several logs are merged by time, and say where from" {
	for log in a b c; do ptrace-run -o $log.log -- "$traced" -n 1 -d $log; done
	[ "$(ptrace-dump -e traced.event c.log a.log b.log | jq -r '.log + .data' | xargs)" = 'a.loga b.logb c.logc' ]
	ptrace-dump c.log a.log b.log | grep -oE '"ns":[0-9]+' | cut -d: -f2 >times
	sort -c -n times
	[ "$(wc -l <times)" -eq "$(($(events a.log) + $(events b.log) + $(events c.log)))" ]
	ptrace-dump a.log | jq -se 'map(has("log")) | any | not'
}

@test "selections" {
	ptrace-run -o run.log -- sh -c '"$0" -e a.one -n 5; "$0" -e a.two -n 7; "$0" -e b -n 3' \
		"$traced"
	count() { ptrace-dump --count --format=text "$@" run.log; }
	[ "$(count -e a.one)" -eq 5 ]
	[ "$(count --event='a.*')" -eq 12 ]
	[ "$(count -e a.one -e b)" -eq 8 ]
	[ "$(count --event='[!p]*')" -eq 15 ]
	[ "$(ptrace-dump --count run.log -e b)" = 3 ]
	[ "$(ptrace-dump --count --json run.log -e b)" = '{"count":3}' ]
	[ "$(ptrace-dump --format=json --count run.log -e b)" = '{"count":3}' ]
	pid=$(ptrace-dump -e b --first=1 run.log | jq .pid)
	[ "$(count --pid="$pid")" -eq 3 ]
	[ "$(ptrace-dump -e a.two --first=2 run.log | jq -r .data | tr '\n' ' ')" = '0 1 ' ]
	[ "$(ptrace-dump -e a.two --last=2 run.log | jq -r .data | tr '\n' ' ')" = '5 6 ' ]
	[ "$(ptrace-dump -e a.two --last=100 run.log | jq -r .data | wc -l)" -eq 7 ]
	[ -z "$(ptrace-dump --first=0 run.log)" ]
	[ -z "$(ptrace-dump --last=0 run.log)" ]
}

@test "--last of several logs: what was last in all, however far from the end of its log" {
	ptrace-run -o old.log -- ptrace-event rare old
	ptrace-run --no-loss -o long.log -- sh -c 'ptrace-event rare 1; "$0" -n 30000
		ptrace-event rare 2; "$0" -n 30000; ptrace-event rare 3' "$traced"
	for options in '-e rare' "--where=event=='rare'" '-e r* --relative'; do
		diff <(ptrace-dump $options old.log long.log | tail -n 2) \
			<(ptrace-dump $options --last=2 old.log long.log)
	done
	[ "$(ptrace-dump -e rare --last=3 --fields=data old.log long.log | jq -r .data | tr '\n' ' ')" = '1 2 3 ' ]
	[ "$(ptrace-dump -e rare --last=9 --fields=data old.log long.log | wc -l)" -eq 4 ]
}

# A log of 200,002 events, one part of which, before the middle, is damaged.
make_damaged() {
	timeline long.log 100/7:a 600/7:a 'repeat 100000 1000'
	printf damage | dd of=long.log bs=1 seek=$(($(stat -c %s long.log) / 4)) conv=notrunc status=none
}

@test "--last with --since reads nothing from before that time" {
	make_damaged
	reports 3 "*events not readable*" ptrace-dump --count --where=1==1 long.log
	silently 0 ptrace-dump --since=-2us --last=9 --fields=ns long.log
	[ "$stdout" = "$(ptrace-dump --since=-2us --fields=ns long.log)" ]
	[ "$(wc -l <<<"$stdout")" -eq 5 ]
}

@test "--count takes the counts of a closed log unless events are selected by more than their types" {
	make_damaged
	for options in '' --user --event=a '--user --event=a'; do
		prints 0 200002 ptrace-dump --count $options long.log
	done
	for options in --pid=7 --tid=7 --since=+0s --where=pid==7 --around=a; do
		reports 3 "*events not readable*" ptrace-dump --count "$options" long.log
	done
}

@test "when the log was written is not among the first and last events that people see" {
	made run.log <<-END
		event 100 7 9 posix_trace_flush_start
		event 200 7 9 posix_trace_flush_stop
		event 300 7 8 one
		event 400 7 8 two
		event 500 7 9 posix_trace_flush_start
		event 600 7 9 posix_trace_flush_stop
	END
	# An option may change what is asked for: FORMAT EVENTS OPTION...
	shows() {
		[ "$(ptrace-dump --format="$1" "${@:3}" run.log | grep -oE 'one|two|flush_st[a-z]*' | xargs)" = "$2" ] ||
			{ echo "$*"; return 1; }
	}
	shows text one --first=1
	shows text two --last=1
	shows text 'one two' --last=5
	shows text two --last=1 --threads=1 --relative
	shows text flush_stop --last=1 -e '*'
	shows text flush_stop --last=1 --where='ns > 0'
	shows text flush_stop --last=1 --around=two
	shows text 'flush_start flush_stop' --last=1 --pair=posix_trace_flush_start..posix_trace_flush_stop
	shows json flush_start --first=1
	shows json flush_stop --last=1
	shows text 'flush_start flush_stop one two flush_start flush_stop'
	[ "$(ptrace-dump --count run.log)" -eq 6 ]
	ptrace-dump --format=text --first=3 --to-log=copy.log run.log
	[ "$(ptrace-dump --count copy.log)" -eq 3 ]
}

@test "threads have the number of the kernel, and that of the program" {
	ptrace-run -o run.log -- "$traced" -t 3 -n 5
	exits 0 ptrace-dump -e traced.event run.log
	jq -se 'group_by(.tid) | length == 3 and all(length == 5 and (map(.thread) | unique | length) == 1)' stdout.txt
	ptrace-run -o one.log -- "$traced"
	ptrace-dump -e traced.event one.log | jq -e '.pid == .tid'
}

@test "since and until: moments, both included" {
	printf '%s\n' 'event 0 7 7 a' 'event 1000 7 7 a' 'repeat 49 2000' | made run.log
	count() { ptrace-dump --count --format=text "$@" run.log; }
	[ "$(count --since=@1700000000.000010)" -eq 90 ]
	[ "$(count --until=@1700000000.000089)" -eq 90 ]
	[ "$(count --since=@1700000000.000010 --until=@1700000000.000089)" -eq 80 ]
	[ "$(count --since=2023-11-14T22:13:20.000010Z)" -eq 90 ]
	[ "$(count --since=2023-11-14T22:13:20.000010+00:00)" -eq 90 ]
	[ "$(TZ=XYZ-3 count --since='2023-11-15 01:13:20.000010')" -eq 90 ]
	[ "$(count --since=2000-01-01)" -eq 100 ]
	[ "$(count --since=2100-01-01)" -eq 0 ]
	[ "$(count --until=2000-01-01)" -eq 0 ]
}

@test "since and until: from the begin and from the end of all logs" {
	printf 'event %s 7 7 a\n' 0 2000 4000 | made a.log
	printf 'event %s 7 7 a\n' 1000 3000 5000 7000 9000 | made b.log
	count() { ptrace-dump --count --format=text "$@" a.log b.log; }
	[ "$(count --since=+3us)" -eq 5 ]
	[ "$(count --since=-6us)" -eq 5 ]
	[ "$(count --until=+3us)" -eq 4 ]
	[ "$(count --until=-0s)" -eq 8 ]
	[ "$(count --since=-0s)" -eq 1 ]
	[ "$(count --until=+0s)" -eq 1 ]
	[ "$(cat a.log | ptrace-dump --since=-0s --count --format=text -)" -eq 1 ]
}

@test "around an event" {
	timeline run.log {0..4}000:a 10000:mark 20000:b:str:0 21000:b:str:1 22000:b:str:2 {23..26}000:b
	count() { ptrace-dump --count --format=text "$@" run.log; }
	[ "$(count -e '[ab]' --around=mark --context=7us,0s)" -eq 2 ]
	[ "$(count -e '[ab]' --around=mark --context=0s,12us)" -eq 3 ]
	[ "$(count -e '[abm]*' --around='m?rk' --context=7us,12us)" -eq 6 ]
	[ "$(count --around=mark --context=0s,0s)" -eq 1 ]
	[ "$(count -e '[ab]' --around=mark)" -eq "$(count -e '[ab]' --around=mark --context=1s)" ]
	[ "$(count -e '[ab]' --around='[ab]' --context=0s,0s)" -eq 12 ]
	[ "$(count --around=nothing 2>stderr.txt)" -eq 0 ]
	[ -s stderr.txt ]
	[ "$(ptrace-dump -e b --around=mark --context=0s,12us --last=1 run.log | jq -r .data)" = 2 ]
}

@test "CSV: a header, and a line for each event" {
	ptrace-run -o run.log -- sh -c '"$0" -e a,b -n 2 -d "1,\"2"; ptrace-event c "n=3 x"' "$traced"
	prints 0 $'time,event,pid,tid,data\r\n*"1,""2*"1,""2*' ptrace-dump --format=csv run.log
	cp run.log copy.log
	ptrace-dump --format=csv --fields=event,pid,data_hex,gap run.log copy.log >csv
	[ "$(head -n 1 csv)" = $'event,pid,data_hex,gap_ns\r' ]
	[ "$(wc -l <csv)" -eq "$(($(ptrace-dump --count run.log) * 2 + 1))" ]
	[ "$(ptrace-dump --format=csv --threads=1 run.log)" = "$(ptrace-dump --format=csv --threads=3 run.log)" ]
	[ "$(ptrace-dump --format=csv run.log copy.log --header=never | head -n 1 | cut -d, -f1)" = run.log ]
	[ "$(ptrace-dump --format=csv --first=0 run.log)" = $'time,event,pid,tid,data\r' ]
	refuses 1 '*' ptrace-dump --format=csv ./none.log
	# Text in JSON is as text elsewhere, so that equal names are equal.
	printf '%s\n' 'layout j json' 'layout s str user' 'event 1 1 1 j str:{"user":"an\u006e","l":["x"]}' \
		'event 2 1 1 s str:ann' | made json.log
	[ "$(ptrace-dump --format=csv --header=never --fields=data.user,data.l json.log | tr -d '\r')" = \
		$'ann,"[""x""]"\nann,' ]
	# JSON is without blanks, as elsewhere, and what is no JSON is as elsewhere, too.
	printf '%s\n' 'layout j json' 'event 1 1 1 j str:{%20"l":%20[1,%202]%20}' 'event 2 1 1 j str:{' | made blanks.log
	[ "$(ptrace-dump --format=csv --header=never --fields=data blanks.log | tr -d '\r')" = \
		$'"{""l"":[1,2]}"\ndecode_error=json data=0x7b00' ]
	for option in --count --summary --verify --tree --to-log=x.log --relative; do
		refuses 2 '*' ptrace-dump --format=csv "$option" run.log
	done
	refuses 2 "*--format: 'cvs' is not one of text, json, csv and columns.*" ptrace-dump --format=cvs run.log
}

@test "how much was read, and what did not fit, is counted once, whatever is looked for" {
	made run.log <<-'END'
		layout job u32 id, json more
		event 0 7 7 job u32:1 str:{}
		event 1000 7 7 job u32:2 hex:61
		event 2000 7 8 job hex:3132
	END
	reports 0 "job: the data of 2 events has 2 to 5 bytes, which the layout does not fit" ptrace-dump run.log
	exits 3 ptrace-dump --strict run.log
	exits 3 ptrace-dump --strict --count run.log
	for options in '--tid=8' '--where=data.id>=0' '--around=job where data.id >= 0' '--fields=event,data.id'; do
		ptrace-dump --summary --json "$options" run.log 2>err >out || true
		tail -n 1 out | jq -e '.summary.logs[0].read == 3'
	done
	for options in --count '--summary' '--summary --threads=1' '--summary --last=2'; do
		ptrace-dump --json $options --around='job where data.id >= 0' run.log 2>/dev/null >around || true
		tail -n 1 around | jq -e '(.summary // .).misfits | map(.count) == [2]'
	done
}

@test "around an event for which an expression holds" {
	timeline run.log 0:posix_trace_start 1000000000/7:job.end:hex:30 \
		2000000000:job.end:hex:31 2000000500:other 3000000000:job.end:hex:30
	around() { ptrace-dump --context=0s,1us --decode='job.end=char[1] s' --around="$@" run.log | jq -r .event | tr '\n' ' '; }
	[ "$(around 'job.end where data.s == "1"')" = 'job.end other ' ]
	[ "$(around 'job.* where tid == 8 && time > "+2500ms"')" = 'job.end ' ]
	[ "$(around 'job.end where gap == 999999500ns')" = 'job.end ' ]
	[ "$(around 'job.end where time == "-1s" || time < "+0s"')" = 'job.end other ' ]
	[ "$(around 'job.end where data.s == "2"')" = '' ]
	[ "$(around 'job.end where data.s == "1"' -e other)" = 'other ' ]
	for command in 'ptrace-export --to=csv' 'ptrace-report --text'; do
		$command --context=0s,1us --around='job.end where data == "1"' run.log >text
		[ "$(grep -c '2000000500\|^other ' text)" -eq 1 ]
		[ "$(grep -c '1000000000\|3000000000' text)" -eq 0 ]
	done
	refuses 2 "*--around: column 1: events have no field 'dat' (did you mean 'data'*" ptrace-dump --around='job.end where dat == 1' run.log
	refuses 2 "*--around: column 1: *" ptrace-dump --around='job.end where' run.log
	refuses 2 "*--around: function, file and line need --symbols*" ptrace-dump --around='job.end where line == 1' run.log
	refuses 2 "*--around: is given twice*" ptrace-dump --around=job.end --around=other run.log
	refuses 1 "othr: no event type has such a name (did you mean 'other'?)" ptrace-dump --around='* where event == "othr"' run.log
}

@test "where: fields and data" {
	ptrace-run -o run.log -- sh -c '"$0" -e a.one -n 20; "$0" -e b -d text' "$traced"
	count() { ptrace-dump --count --format=text "$@" run.log; }
	[ "$(count --where='data >= 17')" -eq 3 ]
	[ "$(count --where='event == "a.one" && (data == 3 || data == "4")')" -eq 2 ]
	[ "$(count --where='event ~ "a.*"' --where='data =~ "^1[0-9]$"')" -eq 10 ]
	[ "$(count -e b --where='len == 4')" -eq 1 ]
	[ "$(count --where='reason == 0')" -eq 1 ]
	[ "$(count --where='!(type_id < 10)')" -eq 21 ]
	# What is shown of an event selects it.
	ptrace-dump -e b --fields=pid,time,address,ns run.log | tr -d '{}"' | tr ',' ' ' >shown
	read -r pid time address ns < <(sed -E 's/(pid|time|address|ns)://g' shown)
	[ "$(count -e '[ab]*' --where="pid == $pid && time == '$time'" \
		--where="address == $address && ns == $ns")" -eq 1 ]
}

@test "where: a wrong expression is told with its place" {
	ptrace-run -o run.log -- "$traced"
	refuses 2 "--where: column 8: a time cannot be compared with a number; *. Try 'ptrace-dump --help'." \
		ptrace-dump --where='time > 2026' run.log
	# Refused before the layouts are known.
	for index in -1 +1 x; do
		refuses 2 "--where: column 1: 'data.list?$index]': an element is data.list?N], where N counts from 0. *" \
			ptrace-dump --where="data.list[$index] == 5" run.log
	done
	refuses 2 "--where: column 14: an array cannot be compared with a number; *" \
		ptrace-dump --decode='traced.event=u8[3] list' --where='data.list == 5' run.log
	[ "$(ptrace-dump --count --where='time == ns && time == time' run.log)" -eq "$(events run.log)" ]
	[ "$(ptrace-dump --count --where='time > "2026-01-02 03:04"' run.log)" -eq "$(events run.log)" ]
}

@test "where: times, durations and calculations" {
	for i in {0..19}; do echo "event ${i}000000 7 7 traced.event str:$i"; done | made run.log
	cp run.log copy.log
	count() { ptrace-dump --count --format=text "$@" run.log; }
	first=1700000000000000000 last=1700000000019000000
	# Of all, the begin and the end are those of the log, whatever is selected.
	[ "$(count --where='time >= "+0s"' --where='time <= "-0s"')" -eq 20 ]
	[ "$(count --where="time - '+0s' == ${last}ns - ${first}ns || time == '+0s'")" -eq 2 ]
	for where in 'time > "+10ms"' 'time - "+0s" > 10ms' '(time - "+0s") / 1ms > 10' \
		'"+0s" < time - 0.01s' "ns > $first + 10000000" 'time - 5ms > "+0s" + 5ms'; do
		[ "$(count --where="$where")" -eq 9 ]
		[ "$(count --threads=3 --where="$where")" -eq 9 ]
		[ "$(count --threads=1 -e '*' --where="$where" copy.log)" -eq 18 ]
	done
	[ "$(count --since=+10ms --where='time > "+10ms"')" -eq 9 ]
	[ "$(ptrace-dump --last=1 --where='time == "-0s"' --fields=ns run.log | tr -cd 0-9)" = "$last" ]
	[ "$(count -e traced.event --where='data % 7 == 3')" -eq 3 ]
	[ "$(count -e traced.event --where='data * 2 + 1 > 30 && -data < -16')" -eq 3 ]
	reports 2 "--where: cannot have times before the end of a session that goes on*" ptrace-dump --follow=none --where='time > "-1s"'
}

@test "decode: a layout that does not fit is told once for each event type" {
	for log in a b; do
		ptrace-run -o $log.log -- sh -c '"$0" -e x -n 3 -X 0102; "$0" -e x -X 010203
			"$0" -e y -X 01020304; "$0" -e z -X 01' "$traced"
	done
	exits 0 ptrace-dump --decode='?=packed u16 n, u8 m' a.log b.log
	printf 'ptrace-dump: %s: the data of %s\n' \
		x '6 events has 2 bytes, the layout wants 3' y '2 events has 4 bytes, the layout wants 3' \
		z '2 events has 1 byte, the layout wants 3' | diff - stderr.txt
	run_split ptrace-dump --decode='x=u8 a, u8 b, u8 c' --decode='*=u32 n' a.log
	printf 'ptrace-dump: %s: the data of %s\n' \
		x '3 events has 2 bytes, the layout wants 3' z '1 event has 1 byte, the layout wants 4' |
		diff - stderr.txt
	prints 0 0 ptrace-dump --where='data.n == 1' --count --decode='[yx]=u16 n' a.log
	[ "$stderr" = "$(printf 'ptrace-dump: %s: the data of 1 event has %s, the layout wants 2\n' \
		x '3 bytes' y '4 bytes')" ]
	ptrace-run -o c.log -- sh -c '"$0" -e x -X 01; "$0" -e x -X 010203' "$traced"
	reports 0 "x: the data of 2 events has 1 to 3 bytes, the layout wants 2" ptrace-dump --decode='x=u16 n' c.log
	# A layout whose size the data gives; JSON.
	reports 0 "x: the data of 1 event has 1 byte, the layout wants at least 2" ptrace-dump --decode='x=u16 n, str s' c.log
	ptrace-run -o d.log -- "$traced" -e x -X 610062
	reports 0 "x: the data of 1 event has 3 bytes, which the layout does not fit" ptrace-dump --decode='x=str s' d.log
	reports 0 "x: the data of 1 event is not the JSON that the layout wants" ptrace-dump --decode='x=json' d.log
	jq -se 'map(select(.event == "x"))[0] | .data == {} and .data_hex == "610062" and
		.decode_error == "json"' <<<"$stdout"
}

@test "decode: what does not fit is in the summary, and --strict makes it status 3" {
	ptrace-run -o a.log -- sh -c '"$0" -e x -n 3 -X 0102; "$0" -e x -X 010203
		"$0" -e y -X 01020304; "$0" -e z -X 7b7d' "$traced"
	decode=(--decode='x=packed u8 a, u16 b')
	misfits='[{"event":"x","count":3,"too_short":3,"too_long":0,"not_json":0,"least_bytes":2,'
	misfits+='"most_bytes":2,"layout_bytes":3}]'
	[ "$(ptrace-dump --json --summary "${decode[@]}" a.log 2>/dev/null | tail -n 1 |
		jq -c .summary.misfits)" = "$misfits" ]
	ptrace-dump --summary --format=text "${decode[@]}" a.log 2>/dev/null |
		grep -Eq '^[0-9]+ events, complete, not fitting their layouts: 3$'
	ptrace-dump --summary --json a.log | tail -n 1 | jq -e '.summary.misfits == []'
	# Whatever is shown of the events, and whoever formats them.
	for options in '' --count --json '--fields=event' '--threads=1' '--threads=3' --summary \
		'--last=20' "--to-log=$BATS_TEST_TMPDIR/copy.log --force" "--user --count"; do
		reports 3 "x: the data of 3 events has 2 bytes, the layout wants 3" ptrace-dump --strict $options "${decode[@]}" a.log
		silently 0 ptrace-dump --strict $options --decode='z=json' --decode='y=x8[4] bytes' a.log
	done
	[ "$(ptrace-dump --strict --count --json "${decode[@]}" a.log 2>/dev/null |
		jq -c .misfits)" = "$misfits" ]
	# Only the events that are selected count; losses may be allowed, this not.
	ptrace-dump --strict -e y "${decode[@]}" a.log >/dev/null
	exits 3 ptrace-dump --strict --allow-loss "${decode[@]}" a.log
	ptrace-dump --strict a.log >/dev/null
}

@test "decode: enums, units, bit fields, arrays and JSON, and their fields" {
	ptrace-run -o run.log -- sh -c '
		"$0" -e job -X 04000000000000002095b60100000000050007001b000000
		"$0" -e note -X 7b2275736572223a22616e6e61222c226e223a5b312c325d7d' "$traced"
	d=(--decode='job=enum u8 {idle, busy=4} state, u64 latency ns, u16[2] list, u32 low:2, x32 high:30'
		--decode='note=json')
	ptrace-dump --user "${d[@]}" run.log >events
	jq -sce '.[0].data == {state: "busy", latency: 28742944, list: [5, 7], low: 3, high: "0x6"} and
		.[1].data == {user: "anna", n: [1, 2]}' events
	valid event <events
	[ "$(ptrace-dump --format=text --user --fields=data "${d[@]}" run.log | head -n 1)" = \
		'state=busy latency=28.742944ms list=[5,7] low=3 high=0x6' ]
	count() { ptrace-dump --count "${d[@]}" --where="$1" run.log; }
	[ "$(count "data.state == 'busy' && data.list[1] == 7 && data.low == 3")" = 1 ]
	[ "$(count "data.user == 'anna' && data.n[0] == 1")" = 1 ]
	[ "$(count 'data.n[2]')" = 0 ]
	ptrace-dump --user "${d[@]}" --fields='data.list[1],data.state,data.n[1],data.user' run.log >events
	jq -sce '. == [{data: {"list[1]": 7, state: "busy"}}, {data: {"n[1]": 2, user: "anna"}}]' events
	# The first pattern that matches counts; system events are not decoded.
	ptrace-dump --decode='j*=bytes all' --decode='*=u8 none' run.log >events 2>messages
	jq -se 'map(select(.event == "job"))[0].data.all | startswith("040000000000000020")' events
	jq -se 'map(select(.type_id < 10)) | length > 1 and all(.data | type != "object")' events
	# The sign between event and layout is the one outside of an enum.
	[ "$(ptrace-dump --count --where='data.a == 4' \
		--decode='job=packed enum {z=1,y=4} a, bytes b' run.log)" = 1 ]
}

@test "where: a fraction of a nanosecond counts in durations of pairs" {
	printf 'event %s\n' '2000 1 1 p.begin' '2010 1 1 p.end' | made made.log
	prints 0 1 ptrace-dump --pairs --count --where='duration < 10.5ns' made.log
	prints 0 1 ptrace-dump --pairs --count --where='duration > 9.5ns && duration < 0.0100001us' made.log
	reports 2 "*'10.5ns' is not a duration such as*whole nanoseconds*" ptrace-check --max='p < 10.5ns' made.log
}

@test "the log that is taken if none is given has its name" {
	ptrace-run -o ptrace.log -- "$traced" -n 1 -e a
	[ "$(ptrace-dump --fields=log --format=text --event=a)" = ptrace.log ]
	[ "$(ptrace-dump --count --where='log == "ptrace.log"' --event=a)" = 1 ]
	ptrace-dump --summary | tail -n 1 | jq -e '.summary.logs[0].log == "ptrace.log"'
	ptrace-export --to=chrome | jq -e '.otherData.logs[0].log == "ptrace.log"'
}

@test "decode: a wrong layout is told" {
	ptrace-run -o run.log -- "$traced"
	for layout in 'u8 a' '=u8 a' 'x=' 'x=u46 a' 'x=u8 a u8 b' 'x=u8 a, u8 a' 'x=char a'; do
		refuses 2 "--decode: *" ptrace-dump --decode="$layout" run.log
	done
	reports 2 "*x: column 1: 'u46' is not a type (did you mean 'u16' or 'u64'\?)*" ptrace-dump --decode='x=u46 a' run.log
	reports 2 "*x: column 1: 'uint32' is not a type (there are u8 u16 u32 u64 i8 i16 i32 i64 x8 x16 x32 x64 f32 f64 bool char str bytes pad json enum code caller).*" \
		ptrace-dump --decode='x=uint32 a' run.log
}

@test "decode: layouts from a file" {
	ptrace-run -o run.log -- sh -c '"$0" -e a -X 0500; "$0" -e b -X 0600' "$traced"
	cat >trace.yaml <<-'END'
		name: some
		max-data-size: 1M
		decode:
		  a: u16 n
		  b: u8 lo, u8 hi
		  never.seen: str s
	END
	ptrace-dump -c trace.yaml -e '[ab]' run.log >events 2>stderr.txt
	[ ! -s stderr.txt ]
	[ "$(jq -c .data events | tr '\n' ' ')" = '{"n":5} {"lo":6,"hi":0} ' ]
	# The command line comes first.
	[ "$(ptrace-dump --config=trace.yaml --decode='a=u8 x, u8 y' -e a run.log | jq -c .data)" = \
		'{"x":5,"y":0}' ]
	[ "$(ptrace-dump -c trace.yaml --where='data.hi == 0' run.log | jq .data.lo)" = 6 ]
	printf 'decode:\n  a: u46 n\n' >bad.yaml
	refuses 2 "bad.yaml:2:6: decode: a: column 1: 'u46' is not a type (did you mean 'u16' or 'u64'\?)" ptrace-dump -c bad.yaml run.log
	printf 'decode:\n  a: u8 n\ndecod: x\n' >bad.yaml
	reports 2 "bad.yaml:3:1: *" ptrace-dump -c bad.yaml run.log
}

@test "fields: these, in this order" {
	ptrace-run -o run.log -- "$traced" -e q -X 07000000036869 -n 2
	d='q=u32 id, u8 rows, str sql'
	ptrace-dump -e q --fields=event,pid,time run.log >json
	jq -se 'length == 2 and all(.[]; keys_unsorted == ["event", "pid", "time"])' json
	ptrace-dump -e q --fields=' event, pid ,time' run.log | diff json -
	ptrace-dump --decode="$d" --fields=data.rows,type_id,data.id run.log >json
	jq -se 'map(select(.type_id >= 10)) | length == 2 and
		all(.[]; keys_unsorted == ["data", "type_id"] and .data == {rows: 3, id: 7})' json
	jq -se 'map(select(.type_id < 10) | has("data")) | any | not' json
	ptrace-dump --decode="$d" --fields=data,data.rows -e q run.log | head -n 1 |
		jq -e '. == {data: {id: 7, rows: 3, sql: "hi"}}'
	[ "$(ptrace-dump --decode="$d" --format=text --fields=type_id,event,data.sql,reason -e q -e '*stop' run.log |
		sed -n '1p;3p' | tr -s ' ')" = "$(printf '%s\n' '10 q "hi" -' ' 2 posix_trace_stop - 0')" ]
	# What stands in place of the data stands there once.
	for fields in data,reason reason,data data,reason,error; do
		[ "$(ptrace-dump --fields="$fields" -e posix_trace_stop run.log)" = '{"reason":0}' ]
	done
	ptrace-dump --format=text --fields=log --fields=truncated,len run.log |
		tr -s ' ' | grep -qx 'run.log no 7'
	# Every member that the schema has, so that none is missing.
	ptrace-dump --fields=time,ns,event,type_id,pid,tid,thread,address,truncated,len,data,log -e q \
		run.log >json
	valid event <json
}

@test "a log that is cut off while it is read is damaged from there on" {
	ptrace-run --no-loss --quiet -o run.log -- "$traced" -n 60000
	mkfifo lines
	begins reader sh -c 'exec ptrace-dump run.log >lines 2>errors'
	exec 8<lines
	read -r _ <&8
	truncate -s 100000 run.log
	[ "$(wc -l <&8)" -lt 60000 ]
	exec 8<&-
	ends 3 "$reader"
	[[ $(<errors) == "ptrace-dump: run.log: "[0-9]*" events not readable, as the log is damaged" ]]
}

@test "fields: the bytes of the data" {
	ptrace-run -o run.log -- sh -c '"$0" -e a -d hi; "$0" -e b -X ff00; "$0" -e c -d ""' "$traced"
	fields() { ptrace-dump --format="$1" --fields="$2" -e '[abc]' run.log | tr '\n' ';'; }
	[ "$(fields json event,data_hex)" = \
		'{"event":"a","data_hex":"6869"};{"event":"b","data_hex":"ff00"};{"event":"c"};' ]
	# Together with data each member is there once.
	[ "$(fields json data,data_hex)" = '{"data":"hi","data_hex":"6869"};{"data_hex":"ff00"};{"data":""};' ]
	[ "$(fields json data_hex,data)" = '{"data_hex":"6869","data":"hi"};{"data_hex":"ff00"};{"data":""};' ]
	[ "$(fields text data_hex,len)" = '0x6869 2;0xff00 2;-      0;' ]
	ptrace-dump --fields=data_hex,data --decode='b=u8 n' -e b run.log 2>/dev/null |
		jq -ce '. == {data_hex: "ff00", data: {n: 255}, decode_error: "rest"}'
	[ "$(ptrace-dump --count --where='data_hex =~ "^(68|ff)"' run.log)" -eq 2 ]
	[ "$(ptrace-dump --count --where='data_hex == "ff00"' run.log)" -eq 1 ]
	# Without data: only where a layout wants data.
	ptrace-dump --fields=data,data_hex --decode='c=u8 n' -e c run.log >fields 2>stderr.txt
	jq -e '. == {data: {}, data_hex: "", decode_error: "short"}' fields
	valid 'event#members' <fields
	prints 0 1 ptrace-dump --count --where='data_hex == ""' --decode='?=u32 n' run.log
	grep -q '^ptrace-dump: b: the data of 1 event has 2 bytes, the layout wants 4$' <<<"$stderr"
	prints 0 0 ptrace-dump --count --where='data_hex == ""' --decode='c=json' run.log
}

@test "fields: an unknown one is told with the nearest" {
	ptrace-run -o run.log -- "$traced"
	for fields in tme '' pid, pid,pid data.x; do
		refuses 2 "--fields: *" ptrace-dump --fields="$fields" run.log
	done
	reports 2 "*events have no field 'tme' (did you mean 'time'\?)*" ptrace-dump --fields=tme run.log
	for fields in filter old decode_error; do
		reports 2 "*--fields: '$fields' cannot be chosen alone: it is part of 'data'.*" ptrace-dump --fields="$fields" run.log
	done
	reports 2 "*(did you mean 'data.rows'\?)*" ptrace-dump --decode='*=u8 rows' --fields=data.row run.log
	# One type with JSON data may have any member.
	ptrace-run -o run.log -- sh -c 'ptrace-event sh x=1; "$0" -e job -l "u8 status" -d 1' "$traced"
	reports 1 "*no event has data.statu (did you mean 'data.status'?)*" ptrace-dump --where='data.statu == 1' run.log
}

@test "a member of data that no event has is told, unless the expression holds without it" {
	made run.log <<-'END'
		layout job u32 id
		event 1000 1 1 job u32:1
		event 2000 1 1 ready
	END
	reports 1 "--where: no event has data.it (did you mean 'data.id'?)" ptrace-dump --where='data.it == 1' run.log
	reports 1 "--where: no event has data.zzzzz; see --decode" ptrace-dump --where='data.zzzzz == 1' run.log
	reports 2 "*(did you mean 'data.id'\?)*" ptrace-dump --fields=data.it run.log
	prints 0 1 ptrace-dump --count --where='data.code >= 500 || event == "ready"' run.log
	[ -z "$stderr" ]
	# With threads, too.
	exits 1 ptrace-stat --pairs --where='data.it == 1' run.log
	exits 1 ptrace-export --to=csv --where='data.it == 1' run.log
	reports 2 "*--where: column 12: 'x' is not a number, but 'data.id' is a number*" ptrace-dump --where='data.id == "x"' run.log
	reports 2 "*'data.id' has no members: it is not JSON*" ptrace-dump --where='data.id.x == 1' run.log
}

@test "the summary tells what is missing" {
	ptrace-run -o run.log -- "$traced" -n 5
	ptrace-dump --summary --last=2 run.log | tail -n 1 | jq -e '.summary |
		.version == 1 and .shown == 2 and .complete and .logs[0].log == "run.log" and
		.logs[0].losses.stream_events == 0'
	[ "$(ptrace-dump --summary --format=text --first=1 run.log | tail -n 1)" = '1 event, complete' ]
	printf '%s\n' 'event 1000 7 7 a' 'lost 5' | made lossy.log
	tells 3 '*lossy.log: 5 events lost*' ptrace-dump --summary run.log lossy.log
	tail -n 1 stdout.txt | jq -e '.summary | (.complete | not) and .logs[1].losses.stream_events == 5'
	prints 0 '*1 event, data incomplete' ptrace-dump --summary --allow-loss --format=text lossy.log
}

@test "colours: on a terminal only, unless told otherwise" {
	ptrace-run -o run.log -- "$traced" -d x
	escape=$'\e['
	[[ $(ptrace-dump --format=text run.log) != *"$escape"* ]]
	[[ $(ptrace-dump --format=text --color=always run.log) == *"${escape}1mtraced.event${escape}0m"* ]]
	for format in json csv; do
		[[ $(ptrace-dump --color=always --format=$format --header=always run.log) != *"$escape"* ]]
	done
	[ "$(ptrace-dump --format=text --color=always run.log | sed 's/\x1b\[[0-9;]*m//g')" = \
		"$(ptrace-dump --format=text run.log)" ]
	exits 2 ptrace-dump --color=blue run.log
	command -v script >/dev/null || skip "no script(1)"
	on_terminal() { script -qec "$*" /dev/null </dev/null; }
	export TERM=xterm
	[[ $(on_terminal ptrace-dump run.log) == *"$escape"* ]]
	[[ $(on_terminal ptrace-dump --color=never run.log) != *"$escape"* ]]
	[[ $(NO_COLOR=1 on_terminal ptrace-dump run.log) != *"$escape"* ]]
	[[ $(TERM=dumb on_terminal ptrace-dump run.log) != *"$escape"* ]]
}

@test "control bytes never reach the terminal" {
	# Escape, the same as one byte and as UTF-8, delete.
	for data in 1b5b33316d 9b33316d c29b33316d 7f; do
		ptrace-run -o run.log -- "$traced" -e "$(printf 'n\x1b[1m\xc2\x9bx')" -X "$data"
		for option in --format=text --json '--format=text --fields=event,data'; do
			ptrace-dump $option run.log >out
			ptrace-dump $option --decode='*=str s' run.log >>out
			[ -s out ]
			fails env LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' out
		done
	done
}

@test "a pattern that no event type matches is told, and the nearest name" {
	ptrace-run -o run.log -- "$traced"
	told="traced.evnt: no event type has such a name (did you mean 'traced.event'\?)"
	refuses 1 "$told" ptrace-dump -e traced.evnt run.log
	refuses 1 "$told" ptrace-dump --around=traced.evnt run.log
	reports 1 "$told" ptrace-dump --decode='traced.evnt=u8 a' run.log
	refuses 1 'traced.evn\[t]: no event type has such a name' ptrace-dump -e 'traced.evn[t]' run.log
	# What other patterns match is shown, and losses do not hide that a name is wrong.
	reports 1 '*' ptrace-dump --allow-loss --count -e 'x.*' -e traced.event run.log
	[ "$stdout" = 1 ]
	head -c -100 run.log >cut.log
	exits 3 ptrace-dump -e traced.event cut.log
	# The name may have been in what was cut off.
	tells 3 '*traced.evnt: no event type has such a name*' ptrace-dump -e traced.evnt cut.log
	# A type that the log knows and that did not happen is no mistake.
	says_nothing ptrace-dump -e posix_trace_overflow run.log
}

@test "--where with a name that no event type has is told" {
	ptrace-run -o run.log -- "$traced"
	message="ptrace-dump: traced.evnt: no event type has such a name (did you mean 'traced.event'?)"
	# No event can be shown.
	for where in 'event == "traced.evnt"' '"traced.evnt" == event && pid > 0' \
		'event ~ "traced.evnt"' 'event =~ "traced.evnt"' \
		'!(event != "traced.evnt" || len)'; do
		prints 1 0 ptrace-dump --count --where="$where" run.log
		[ "$stderr" = "$message" ]
	done
	prints 1 '' ptrace-dump --where='event ~ "trac.*" || event =~ "^trac.e[vd]nt"' run.log
	[ "$(sort stderr.txt | uniq -c | grep -c 'no event type has such a name$')" -eq 2 ]
	# Other events may be shown.
	for where in 'event != "traced.evnt"' 'event == "traced.evnt" || event == "traced.event"' \
		'event == "traced.evnt" && pid > 0 || len == 5 || event == "traced.evnt" && tid > 0' \
		'!(event ~ "traced.evnt")'; do
		silently 0 ptrace-dump --count --where="$where" run.log
	done
	# Nothing is wrong with names that are there, or that contradict each other.
	for where in 'event == "traced.event" && event == "posix_trace_start"' 'event == "posix_trace_overflow"' \
		'event =~ "^posix_.*flow$" && !(event ~ "tr*")' 'data == "traced.evnt"' 'event < "a" && event > "b"'; do
		silently 0 ptrace-dump --count --where="$where" run.log
	done
	# The name may have been in what was cut off.
	head -c -100 run.log >cut.log
	tells 3 "${message/\?/\\?}"$'\n*' ptrace-dump --where='event == "traced.evnt"' cut.log
}

@test "options that exclude each other" {
	for options in '--first=1 --last=1' '--count --last=1' --first=x --context=1s,1s '--count --fields=pid' '--since=+2s --until=+1s' \
		--since=soon --until=+5 '--around=x --context=5,0s' '--around=x --context=1s,' '--around=x --context=,1s' '--around=x --context=1s,1s,1s' --tid=x; do
		reports 2 '*' ptrace-dump $options run.log
	done
}

@test "what is no log: one line each, and the others are shown" {
	ptrace-run -o run.log -- "$traced"
	echo text >text
	: >empty
	head -c 20 run.log >head
	for f in text empty head . nothing; do
		refuses 1 "$f: *" ptrace-dump "$f"
	done
	exits 1 ptrace-dump text run.log
	[ "$(jq -s length <<<"$stdout")" -eq "$(events run.log)" ]
}

@test "a log that this version cannot read is told from a file that is none" {
	ptrace-run -o run.log -- "$traced"
	while read -r at byte reason; do
		cp run.log other.log
		damages other.log "\\$byte" "$at" "$((880 + at))"
		for command in ptrace-dump ptrace-stat ptrace-events; do
			exits 1 "$command" other.log
			[ "$stderr" = "$command: other.log: $reason" ] ||
				[[ $stderr == "$command: other.log: $reason, and this command "* ]]
		done
	done <<-'END'
		0 001 not a trace log
		8 001 a trace log from a machine with another byte order
		12 001 a trace log of format version 1
		12 002 a trace log of format version 2
		12 377 a trace log of format version 255
		14 004 a trace log from another kind of machine
		16 001 a trace log from another kind of machine
		20 001 a trace log that is damaged or was cut off within its first bytes
	END
	# It names the version that this one writes.
	cp run.log other.log
	damages other.log '\377' 12 $((880 + 12))
	tells 1 "* reads version $(od -An -tu1 -j12 -N1 run.log | tr -d ' ');*" ptrace-dump other.log
	reports 1 "standard input: a trace log that was cut off within its first bytes" ptrace-dump - < <(head -c 20 run.log)
}

@test "a gap by damage stands in its place, with its times and its number of events" {
	for options in '' '--log-full-policy=loop --log-max-size=8M'; do
		ptrace-run -o run.log $options -- "$traced" -n 100000
		all=$(ptrace-dump --count --format=text run.log)
		# In the second of three packets.
		at=$(($(stat -c %s run.log) / 2))
		flips run.log 255 "$at"
		run ptrace-dump run.log
		[ "$status" -eq 3 ]
		ptrace-dump run.log >events 2>stderr.txt || [ $? -eq 3 ]
		# The flushes may have recorded events there, too.
		jq -se --argjson all "$all" '
			def numbers: map(select(.event == "traced.event").data | tonumber);
			(map(.event == "posix_trace_overflow") | index(true)) as $i |
			.[$i].unreadable_events as $lost | $lost > 100 and
			.[$i + 1].event == "posix_trace_resume" and
			.[$i - 1].time <= .[$i].time and .[$i].time < .[$i + 1].time and
			.[$i + 1].time <= .[$i + 2].time and
			((.[$i:] | numbers[0]) - (.[:$i] | numbers[-1]) - 1 |
				. <= $lost and . > $lost - 20) and
			length - 2 + $lost == $all' events
		lost=$(jq -r 'select(.event == "posix_trace_overflow").unreadable_events' events)
		[ "$(cat stderr.txt)" = "ptrace-dump: run.log: $lost events not readable, as the log is damaged" ]
		ptrace-dump -e posix_trace_overflow --format=text --allow-loss run.log 2>/dev/null |
			grep " unreadable_events=$lost\$"
		exits 3 ptrace-dump --verify --json run.log
		jq -e --argjson lost "$lost" --argjson all "$all" '.summary |
			(.complete | not) and .shown == $all - $lost and
			.logs[0].losses.unreadable_events == $lost and
			(.logs[0].losses.unknown | not)' <<<"$stdout"
		run_split ptrace-stat --json run.log
		if [ "$options" ]; then
			[ "$status" -eq 3 ]
			jq -e --argjson lost "$lost" '.losses.unreadable_events == $lost and
				(.losses.unknown or .complete | not)' <<<"$stdout"
		else
			# The log has totals, so nobody reads the events.
			[ "$status" -eq 0 ]
		fi
	done
}

@test "a log from a pipe for whose copy there is no room" {
	ptrace-run -o run.log -- "$traced" -n 10
	mkdir full
	in_mounts 1 'mount -t tmpfs -o size=4k tmpfs full
		head -c 4k /dev/zero >full/fill
		cat run.log | TMPDIR=$PWD/full ptrace-dump -'
	[ -z "$stdout" ]
	assert_one_message ptrace-dump
	[[ $stderr == *"standard input: cannot keep a copy of the log in $PWD/full (TMPDIR names another directory): No space left on device" ]]
}

@test "a reader that ends early ends it quietly" {
	ptrace-run -o run.log -- "$traced" -n 20000
	(ptrace-dump run.log 2>stderr.txt; echo $? >status.txt) | head -n 1 >line
	[ "$(wc -l <line)" -eq 1 ]
	[ "$(cat status.txt)" -eq 0 ]
	[ ! -s stderr.txt ]
}

@test "a full disk is an error" {
	[ -w /dev/full ] || skip "no /dev/full"
	ptrace-run -o run.log -- "$traced"
	for command in ptrace-dump ptrace-stat; do
		tells 1 "$command: standard output: No space left on device" bash -c "exec $command run.log >/dev/full"
	done
}

@test "a closed standard output is an error, a log from a pipe or not" {
	ptrace-run -o run.log -- "$traced"
	for log in run.log -; do
		# shellcheck disable=SC2016 # the inner shell's
		tells 1 "ptrace-dump: standard output: Bad file descriptor" bash -c 'cat run.log | ptrace-dump "$1" >&-' _ "$log"
	done
	reports 1 "standard input: Bad file descriptor" ptrace-dump - <&-
}

@test "what is no log is not read to its end, which it may not have" {
	for line in y a-longer-line; do
		tells 1 'ptrace-dump: standard input: not a trace log' timeout "$patience" ptrace-dump - < <(yes "$line")
	done
	# The signature may come in pieces.
	ptrace-run -o run.log -- "$traced" -n 3
	[ "$( (dd bs=1 count=20 status=none; cat) <run.log | ptrace-dump --count -e 'traced*' -)" = 3 ]
}

@test "more expressions than the stack has room for" {
	mapfile -t wheres < <(yes -- --where=len | head -n 50000)
	exits 2 ptrace-dump "${wheres[@]}" nothing.log
	grep -q '^ptrace-dump: --where: is given more than 100 times[.]' stderr.txt
}

@test "a pattern with many stars is compared at once, whichever option has it" {
	name=$(printf 'a%.0s' {1..200})
	glob=$(printf '*a%.0s' {1..40})b
	ptrace-run -o run.log -- "$traced" -e "$name" -n 1
	# Trying all ways to share the name among the stars would take years.
	exits 1 timeout "$patience" ptrace-dump -e "$glob" run.log
	exits 1 timeout "$patience" ptrace-dump --around="$glob" run.log
	exits 1 timeout "$patience" ptrace-dump --decode="$glob=u8 x" run.log
	exits 1 timeout "$patience" ptrace-dump --where="event ~ \"$glob\"" run.log
	run_split timeout "$patience" ptrace-doctor --event="$glob" run.log
	[ "$status" -ne 124 ]
	# One meaning for all: bytes, and no collating symbols.
	ptrace-run --only='x[[.a.]]y' -o run.log -- "$traced" -e 'x.]y' -n 1
	[ "$(ptrace-dump -e 'x[[.a.]]y' run.log | wc -l)" -eq 1 ]
	[ "$(ptrace-dump --around='x[[.a.]]y' run.log | wc -l)" -ge 1 ]
	[ "$(ptrace-dump --where='event ~ "x[[.a.]]y"' run.log | wc -l)" -eq 1 ]
	ptrace-dump -e 'x*' --decode='x[[.a.]]y=u8 it' run.log | jq -e '.data | has("it")'
}

@test "a damaged head costs nothing, and is told" {
	ptrace-run -o run.log -- "$traced" -n 3
	ptrace-dump run.log >whole
	# The signature, the version, the packet of the head; the copies.
	for at in 0 12 40 300 800 890 1200 1759; do
		cp run.log bad.log
		flips bad.log 4 "$at"
		exits 3 ptrace-dump bad.log
		[ "$stdout" = "$(cat whole)" ]
		[ "$stderr" = "ptrace-dump: bad.log: 1 part of the log without events is damaged: what it tells of itself, of machine, processes or clocks may be missing" ]
	done
	answers 3 '.losses.damaged_parts == 1 and (.complete | not)' ptrace-stat --json bad.log
	reports 3 '*' ptrace-dump --verify bad.log
	prints 1 '*1 part of the log without events is damaged*' ptrace-doctor bad.log
	cp run.log bad.log
	damages bad.log 'x' $((1760 + 110))
	reports 3 "*1 part of the log without events is damaged*" ptrace-dump bad.log
	[ "$stdout" = "$(cat whole)" ]
	ptrace-stat --json run.log | jq -e '.losses.damaged_parts == 0'
}

@test "names that cannot be read, as the log is damaged, are told" {
	ptrace-run -o run.log -- "$traced" -e the.name -n 3
	at=$(grep -abo the.name run.log | head -n 1 | cut -d: -f1)
	# The name itself, and the header of its packet. That matters if the log's index, here the totals
	# behind it, is damaged, too.
	size=$(stat -c %s run.log)
	for offsets in "$at" "$((at - 40)) $((size - 700))"; do
		cp run.log damaged.log
		damages damaged.log x $offsets
		tells 3 '*damaged.log: *event name* not readable, as the log is damaged*' ptrace-dump damaged.log
		[ "$(ptrace-dump --count damaged.log 2>/dev/null)" = "$(ptrace-dump --count run.log)" ]
		answers 3 '.losses.missing_names >= 1' ptrace-stat --json damaged.log
		prints 1 '*not readable, as the log is damaged*' ptrace-doctor damaged.log
		exits 3 ptrace-events --names damaged.log
	done
	ptrace-stat --json run.log | jq -e '.losses.missing_names == 0'
	# With the index nobody needs the header, and only --verify looks at it.
	cp run.log damaged.log
	damages damaged.log x $((at - 40))
	[ "$(ptrace-dump damaged.log)" = "$(ptrace-dump run.log)" ]
	reports 3 "*damaged.log: 1 part of the log is not what the log says of it, as it is damaged" ptrace-dump --verify damaged.log
	ptrace-dump --verify run.log
	# Without an end the damaged packet tells.
	head -c $((size - 256)) run.log >cut.log
	run_split ptrace-dump cut.log
	[[ $stderr != *readable* ]]
	damages cut.log x "$at"
	tells 3 '*cut.log: 1 event name is not readable, as the log is damaged*' ptrace-dump cut.log
	# The last packet may never have been wholly written.
	head -c $((at + 4)) run.log >cut.log
	run_split ptrace-dump cut.log
	[[ $stderr != *readable* ]]
}

@test "host, comm, exe, user and command_line are fields of an event" {
	ptrace-run -o run.log -- sh -c '"$0" -n 2; exec "$0" -n 3 "a$(printf "\\t")b"' "$traced"
	exits 0 ptrace-dump --format=text -e traced.event --fields=host,comm,exe,user,command_line run.log
	[ "$(wc -l <<<"$stdout")" -eq 5 ]
	[ "$(grep -c "^\"$(uname -n)\" *\"traced\" *\"$traced\" *$(id -u) *\"$traced -n 2\"\$" <<<"$stdout")" -eq 2 ]
	[ "$(grep -c -F "$traced -n 3 a\\tb" <<<"$stdout")" -eq 3 ]
	[ "$(ptrace-dump --count --where "command_line =~ ' -n 2$'" run.log)" -eq 2 ]
	[ "$(ptrace-dump --count --where "comm == 'traced' && exe == '$traced' && user == $(id -u) && event == 'traced.event' && host == '$(uname -n)'" run.log)" -eq 5 ]
	[ "$(ptrace-dump --count --where "comm == 'other'" run.log)" -eq 0 ]
	ptrace-dump --json -e traced.event --fields=comm,command_line run.log >events.json
	jq -se --arg traced "$traced" 'all(.[]; .comm == "traced") and .[4].command_line == "\($traced) -n 3 a\tb"' events.json
	ptrace-run --no-command-line -o run.log -- "$traced" -n 1
	[[ $(ptrace-dump --format=text -e traced.event --fields=comm,command_line run.log) =~ ^\"traced\"\ +-$ ]]
}

@test "--around tells of damage where its events may have been" {
	ptrace-run -o run.log --stream-min-size=32M -- "$traced" -n 30000 -s 20
	at=$(($(stat -c %s run.log) / 2))
	damages run.log xyz "$at"
	reports 3 "*events not readable, as the log is damaged*" ptrace-dump --around=traced.event --context=0s,0s --count run.log
	[ "$stdout" -lt 30000 ]
	exits 0 ptrace-dump --around=posix_trace_start --context=0s,1us --summary run.log
}

@test "--verify finds damage of what tells whose a log is, and of the index" {
	ptrace-run -o run.log -- "$traced" -n 1000
	exits 0 ptrace-dump --verify run.log
	size=$(stat -c %s run.log)
	at=$(grep -abo "$traced" run.log | head -n 1 | cut -d: -f1)
	# The end of the last INDEX, before TOTALS, STATUS and END; a command line.
	for offset in $((size - 288 - 1400)) $((at + 2)); do
		cp run.log damaged.log
		damages damaged.log '\377\376' $offset
		for option in --count --verify; do
			reports 3 "*1 part of the log without events is damaged*" ptrace-dump "$option" damaged.log
		done
	done
}

@test "a log with other bytes after its end is damaged" {
	ptrace-run -o a.log -- "$traced" -n 3
	ptrace-run -o b.log -- "$traced" -n 4
	cat a.log b.log >ab.log
	cat a.log a.log >aa.log
	ptrace-dump a.log >whole
	for log in ab.log aa.log; do
		reports 3 "*1 part of the log without events is damaged*" ptrace-dump "$log"
		[ "$stdout" = "$(cat whole)" ]
		answers 3 '.losses.damaged_parts == 1 and (.complete | not)' ptrace-stat --json "$log"
	done
}

# has_worker LOG|SESSION: whether it has an event of the second thread
has_worker() {
	[ "$(ptrace-dump --count --format=text --where='thread_name == "worker-1"' "$1")" -gt 0 ]
}

@test "names of threads are fields, of logs, copies and sessions" {
	ptrace-run -o run.log -- "$traced" -t 2 -a -n 4 -p 100000
	[ "$(ptrace-dump --event=traced.event --fields=thread_name run.log | sort | uniq -c | sed 's/ *//')" = \
		$'4 {"thread_name":"worker-0"}\n4 {"thread_name":"worker-1"}' ]
	[ "$(ptrace-dump --count --format=text --where='thread_name == "worker-1"' run.log)" -eq 4 ]
	[ "$(ptrace-dump --where='thread_name == "worker-1"' run.log | grep -c thread_name)" -eq 0 ]
	ptrace-stat --json run.log >json
	[ "$(jq -r '.threads[].name' json | sort)" = $'worker-0\nworker-1' ]
	valid stat <json
	[ "$(ptrace-stat run.log | grep -c '^thread  *[0-9]* of [0-9]* worker-[01]$')" -eq 2 ]
	ptrace-dump --to-log=copy.log --where='tid != pid' run.log
	[ "$(ptrace-dump --count --format=text --where='thread_name == "worker-0"' copy.log)" -eq 4 ]
	# The first thread has the name of the process.
	ptrace-run -o one.log -- "$traced"
	[ "$(ptrace-dump --event=traced.event --fields=thread_name one.log)" = '{"thread_name":"traced"}' ]
	# What a session without a log holds.
	traced_session "$me.a" --start -- -w -W -t 2 -a -n 40 -p 50000
	go
	wait_until has_worker "$me.a"
	ptrace-snapshot -o s.log "$me.a"
	has_worker s.log
}
