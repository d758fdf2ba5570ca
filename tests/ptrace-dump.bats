#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load helpers

# one_event NAME OPTION...: the JSON of the only event of a traced program with the options
one_event() {
	ptrace-run -o run.log -- "$traced" -e "$@"
	ptrace-dump --pid="$(ptrace-dump run.log | jq -s 'map(select(.id > 9))[0].pid')" run.log
}

@test "an event has the documented members" {
	one_event name -d 'some data' >event
	jq -e '.event == "name" and .data == "some data" and .len == 9 and
		.truncated == "no" and .id >= 10 and .pid > 0 and
		(.thread | test("^0x[0-9a-f]+$")) and (.address | test("^0x[0-9a-f]+$")) and
		(.time | test("^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{9}Z$"))' event
	ns=$(grep -oE '"ns":[0-9]+' event | cut -d: -f2)
	[ "$(date -u -d "@${ns::-9}" +%Y-%m-%dT%H:%M:%S).${ns: -9}Z" = "$(jq -r .time event)" ]
	now=$(date +%s)
	[ "$((now - ${ns::-9}))" -lt 60 ]
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
		jq -e '.filter == [] and .id == 1 and (has("data") | not)'
	ptrace-dump -e posix_trace_stop run.log | jq -e '.reason == 0 and .len == 4'
	ptrace-dump --format=text run.log | grep -q ' posix_trace_stop .* reason=0$'
	ptrace-dump --format=text run.log | grep -q ' posix_trace_start .* filter=none$'
}

@test "real output is valid by the schema" {
	python3 -c 'import jsonschema' 2>/dev/null || skip "no python3 with jsonschema"
	for options in '' -b '-d text' '-c 1 -t 2'; do
		ptrace-run -o "a$options.log" -- "$traced" -n 5 $options
	done
	ptrace-run -o b.log -- "$traced" -e $'odd\xff'
	ptrace-dump ./*.log >events
	python3 -c '
import json, sys
import jsonschema
validator = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
count = 0
for line in open("events"):
    validator.validate(json.loads(line))
    count += 1
assert count > 20
' "$PTRC_SOURCE/docs/ptrace-event.schema.json"
}

@test "text is aligned" {
	ptrace-run -o run.log -- "$traced" -n 3 -d x
	ptrace-dump --format=text -e traced.event run.log >text
	[ "$(wc -l <text)" -eq 3 ]
	[ "$(awk '{ print index($0, " traced.event ") }' text | sort -u | wc -l)" -eq 1 ]
	grep -Eq '^[0-9T:.-]+Z [0-9]+ 0x[0-9a-f]+ traced\.event +0x[0-9a-f]+ "x"$' text
}

@test "on a terminal it is text" {
	command -v script >/dev/null || skip "no script(1)"
	ptrace-run -o run.log -- "$traced" -d x
	script -qec 'ptrace-dump -e traced.event run.log' /dev/null </dev/null >screen
	grep -q ' traced.event ' screen
}

@test "several logs are merged by time, and say where from" {
	ptrace-run -o a.log -- "$traced" -n 1 -d 1
	ptrace-run -o b.log -- "$traced" -n 1 -d 2
	ptrace-run -o c.log -- "$traced" -n 1 -d 3
	ptrace-dump -e traced.event c.log a.log b.log | jq -r '.log + .data' >merged
	printf '%s\n' a.log1 b.log2 c.log3 | diff - merged
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
	[ "$(ptrace-dump --count run.log -e b | jq -c .)" = '{"count":3}' ]
	pid=$(ptrace-dump -e b --first=1 run.log | jq .pid)
	[ "$(count --pid="$pid")" -eq 3 ]
	[ "$(ptrace-dump -e a.two --first=2 run.log | jq -r .data | tr '\n' ' ')" = '0 1 ' ]
	[ "$(ptrace-dump -e a.two --last=2 run.log | jq -r .data | tr '\n' ' ')" = '5 6 ' ]
	[ "$(ptrace-dump -e a.two --last=100 run.log | jq -r .data | wc -l)" -eq 7 ]
	[ -z "$(ptrace-dump --first=0 run.log)" ]
	[ -z "$(ptrace-dump --last=0 run.log)" ]
}

@test "a pattern that no event type matches is told" {
	ptrace-run -o run.log -- "$traced"
	run_split ptrace-dump -e 'traced.evnt' run.log
	[ "$status" -eq 0 ]
	[ -z "$stdout" ]
	assert_one_message ptrace-dump
}

@test "options that exclude each other" {
	run_split ptrace-dump --first=1 --last=1 run.log
	[ "$status" -eq 2 ]
	run_split ptrace-dump --count --last=1 run.log
	[ "$status" -eq 2 ]
	run_split ptrace-dump --first=x run.log
	[ "$status" -eq 2 ]
}

@test "what is no log: one line each, and the others are shown" {
	ptrace-run -o run.log -- "$traced"
	echo text >text
	: >empty
	head -c 20 run.log >head
	for f in text empty head . nothing; do
		run_split ptrace-dump "$f"
		[ "$status" -eq 1 ]
		[ -z "$stdout" ]
		assert_one_message ptrace-dump
		[[ $stderr == "ptrace-dump: $f: "* ]]
	done
	run_split ptrace-dump text run.log
	[ "$status" -eq 1 ]
	[ "$(jq -s length <<<"$stdout")" -eq "$(events run.log)" ]
}

@test "a log that was cut shows what is left, with exit status 3" {
	ptrace-run -o run.log -- "$traced" -n 100000
	size=$(stat -c %s run.log)
	for part in 9 5 2; do
		head -c "$((size * part / 10))" run.log >cut.log
		run_split ptrace-dump --count --format=text cut.log
		[ "$status" -eq 3 ]
		assert_one_message ptrace-dump
		[ "$stdout" -lt 100000 ]
	done
	head -c "$((size / 2))" run.log >cut.log
	[ "$(ptrace-dump -e traced.event --last=1 --allow-loss cut.log 2>/dev/null |
		jq -r .data)" -gt 10000 ]
	run_split ptrace-dump --allow-loss --count cut.log
	[ "$status" -eq 0 ]
}

@test "a log with a flipped byte shows what is intact, with exit status 3" {
	ptrace-run -o run.log -- "$traced" -n 100000
	size=$(stat -c %s run.log)
	for part in 3 5 7; do
		cp run.log bad.log
		at=$((size * part / 10))
		byte=$(od -An -tu1 -j "$at" -N 1 bad.log)
		printf "\\$(printf %o $((byte ^ 255)))" |
			dd of=bad.log bs=1 seek="$at" conv=notrunc status=none
		run_split ptrace-dump --count --format=text bad.log
		[ "$status" -eq 3 ]
		[ "$(wc -l <stderr.txt)" -ge 1 ]
	done
}

@test "a log on standard input, from a file and from a pipe" {
	ptrace-run -o run.log -- "$traced" -n 10
	[ "$(ptrace-dump --count --format=text - <run.log)" -eq "$(events run.log)" ]
	[ "$(cat run.log | ptrace-dump --count --format=text -)" -eq "$(events run.log)" ]
	[ "$(ptrace-dump --count --format=text <(cat run.log))" -eq "$(events run.log)" ]
}

@test "a reader that ends early ends it quietly" {
	ptrace-run -o run.log -- "$traced" -n 100000
	(ptrace-dump run.log 2>stderr.txt; echo $? >status.txt) | head -n 1 >line
	[ "$(wc -l <line)" -eq 1 ]
	[ "$(cat status.txt)" -eq 0 ]
	[ ! -s stderr.txt ]
}

@test "a full disk is an error" {
	[ -w /dev/full ] || skip "no /dev/full"
	ptrace-run -o run.log -- "$traced"
	status=0
	ptrace-dump run.log >/dev/full 2>stderr.txt || status=$?
	stderr=$(cat stderr.txt)
	[ "$status" -eq 1 ]
	[ "$stderr" = "ptrace-dump: standard output: No space left on device" ]
}
