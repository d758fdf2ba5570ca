#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What the commands print is what the schemas say, in ordinary and in odd cases.

load ../support/helpers

has_validator || lacking="no python3-jsonschema"

# Two bytes that are UTF-8, one that is not, quotes, a control byte.
odd_name=$'\xc3\xa4\xff "x"\\\x01'

# odd_log: a log with such names in it
odd_log() {
	ptrace-run -o odd.log -- "$traced" -e "$odd_name" -d "$odd_name"
}

@test "the schemas accept what a later version adds" {
	fails grep -E '"(additional|unevaluated)Properties": *false' "$PTRC_SOURCE"/docs/*.schema.json
}

@test "events: text, bytes, odd names, several logs" {
	ptrace-run -o text.log -- "$traced" -n 3 -d $'tab\t"quotes" \xe2\x82\xac' -z
	ptrace-run -o bytes.log --max-data-size=4 -- "$traced" -b -c 2 -t 2
	odd_log
	mv odd.log "$odd_name.log"
	ptrace-dump text.log | valid event
	ptrace-dump bytes.log | valid event
	ptrace-dump "$odd_name.log" | valid event
	ptrace-dump text.log bytes.log "$odd_name.log" >all
	valid event <all
	jq -se 'any(.[]; has("log_hex")) and any(.[]; has("filter")) and
		any(.[]; has("reason")) and any(.[]; .truncated == "record") and
		any(.[]; .event_hex == "c3a4ff202278225c01" and .data_hex == .event_hex)' all
	ptrace-dump --count --format=json text.log | valid count
}

@test "logs: complete, with losses, with odd names, not closed" {
	ptrace-run -o run.log -- "$traced" -n 10
	ptrace-stat --format=json run.log | valid stat
	odd_log
	ptrace-stat --format=json odd.log >odd
	valid stat <odd
	jq -e 'any(.events[]; has("event_hex"))' odd
	# The commands give no trace such a name, but a program may.
	"$PTRC_BUILD/tests/support/session_peer" log named.log "$odd_name"
	ptrace-stat --format=json named.log >odd
	valid stat <odd
	jq -e '.attributes | has("trace_name_hex")' odd
	ptrace-run -o lossy.log --stream-min-size=4K --stream-full-policy=loop -- \
		"$traced" -n 100000 || true
	ptrace-stat --allow-loss --format=json lossy.log >lossy
	valid stat <lossy
	jq -e '.losses.stream_events > 0' lossy
	ptrace-dump --allow-loss --format=json lossy.log >lossy
	valid event <lossy
	jq -se 'any(.[]; .event == "posix_trace_overflow")' lossy
	head -c "$(($(stat -c %s run.log) - 100))" run.log >cut.log
	ptrace-stat --allow-loss --format=json cut.log | valid stat
}

@test "pairs: of a log, of a session, with odd names, per value" {
	odd_log
	ptrace-stat --pair="$odd_name..$odd_name by data" --histogram --json odd.log |
		valid pairs
	ptrace-stat --pair="$odd_name..$odd_name" --per=data --json odd.log >pairs
	valid pairs <pairs
	jq -e '.pairs[0] | .begin_hex == "c3a4ff202278225c01" and has("value")' pairs
	traced_session "$me" --start -- -w
	ptrace-stat --pair=posix_trace_start..posix_trace_stop --json "$me" | valid pairs
	ptrace-dump --pair="$odd_name..$odd_name" --summary --json odd.log | valid event
	cp odd.log copy.log
	ptrace-dump --pair="$odd_name..posix_trace_stop by log" --summary --json odd.log copy.log >pairs
	valid event <pairs
	jq -se '.[0] | has("pair_hex") and (.begin | has("log")) and .end.reason == 0' pairs
	ptrace-dump --pair="$odd_name..posix_trace_stop by log" --fields=pair,time,ns,duration,begin.pid,end.event \
		odd.log copy.log >pairs
	valid 'event#pair_members' <pairs
	jq -se '.[0] | has("pair_hex") and has("duration_ns") and (.begin | keys == ["pid"]) and (.end | keys == ["event"])' pairs
	ptrace-shutdown "$me"
	go
}

@test "sessions: with and without log, of a process that has ended" {
	traced_start -w
	ptrace-create --json --pid="$pid" --name="$me.a" -o "$odd_name" --start --keep >created
	ptrace-create --json --pid="$pid" --name="$me.b" --stream-full-policy=until-full \
		--keep >>created
	valid create <created
	jq -se '.[0].log_hex and (.[1] | has("log") | not)' created
	ptrace-stat --format=json "$me.a" "$me.b" >before
	valid stat <before
	ptrace-list --format=json >list
	valid list <list
	jq -se 'any(.[]; has("log_hex")) and any(.[]; has("log") | not)' list
	kills "$pid"
	ptrace-stat --format=json "$me.a" "$me.b" | valid stat
	ptrace-list --format=json | valid list
}

@test "what differs, with odd names, losses and conditions" {
	odd_log
	ptrace-stat --diff --pair="$odd_name..$odd_name" --fail-if="count $odd_name > +0" --json \
		odd.log odd.log >diff
	valid diff <diff
	jq -e '(.pairs[0] | has("begin_hex")) and (.events[0] | has("event_hex")) and
		(.conditions[0] | has("condition_hex"))' diff
	durations one.log a 100 1000 2000 1 1 b 1 1000 1000 1 1
	ptrace-stat --diff --json odd.log one.log | valid diff
	ptrace-stat --diff --json one.log one.log | valid diff
}

@test "new sessions and whole runs" {
	traced_start -w
	ptrace-create --json --pid="$pid" --name="$me.a" | valid create
	ptrace-create --json --pid="$pid" --name="$me.b" -o "$odd_name" >made
	valid create <made
	jq -e 'has("log_hex")' made
	cp "$traced" "./$odd_name.x"
	for arguments in '-x 3' '-k 9' '-n 100000'; do
		# shellcheck disable=SC2086 # a list of words
		ptrace-run --json -o "$odd_name.log" --stream-min-size=4K \
			--stream-full-policy=loop -- "./$odd_name.x" $arguments 2>said || true
		tail -n 1 said >last
		valid run <last
		jq -e 'has("log_hex") and has("command_hex")' last
	done
	jq -e '.complete | not' last
	ptrace-run --json -o >(cat >/dev/null) -- "$traced" 2>&1 | valid run
}

@test "names in a filter that are no UTF-8 are there by number, too" {
	traced_session "$me.a" -o run.log -- -e $'n\xffx' -w
	ptrace-filter --add "$me.a" $'n\xffx' posix_trace_stop
	ptrace-start "$me.a"
	ptrace-shutdown "$me.a"
	ptrace-dump --first=1 run.log >start
	valid event <start
	jq -e '(.filter | length == 2) and (.filter_ids | length == 1)' start
}

@test "event types and filters" {
	traced_session "$me.a" --start -- -e $'odd\xff' -w
	ptrace-filter "$me.a" --json | valid filter
	ptrace-filter "$me.a" --add --new $'odd\xff' 'glob.*' $'odd\xff?' posix_trace_stop
	ptrace-filter "$me.a" --json >filter
	valid filter <filter
	jq -e '(.events | any(has("event_hex"))) and (.globs | any(has("glob_hex")))' filter
	ptrace-filter "$me.a" --set --all
	ptrace-filter "$me.a" --json | valid filter
	odd_log
	ptrace-events --json "$me.a" odd.log >types
	valid events <types
	jq -se 'any(.[]; .filtered) and any(.[]; has("log")) and any(.[]; .event_hex)' types
}

@test "decoded data, chosen fields, a summary" {
	ptrace-run -o run.log -- "$traced" -b -n 3
	ptrace-dump --decode='traced.event=u16 a, x32 b, bytes c' --summary run.log >events
	valid event <events
	jq -se 'any(.[]; .data | objects | .a == 513) and .[-1].summary.complete' events
	ptrace-dump --decode='traced.event=u64 a, u64 b' run.log | valid event
	ptrace-dump --fields=time,ns,event,type_id,pid,tid,thread,address,truncated,len,data,gap run.log >gaps
	valid event <gaps
	jq -se 'any(.[]; .gap_ns > 0) and any(.[]; has("gap_ns") | not)' gaps
}

@test "findings with odd names" {
	odd_log
	mv odd.log "$odd_name"
	ptrace-doctor --json "./$odd_name" >told || true
	valid doctor <told
	jq -se 'any(.[]; has("thing_hex"))' told
}

@test "the validator sees what is wrong" {
	ptrace-run -o run.log -- "$traced" -d text
	ptrace-stat --format=json run.log >good
	refused() {
		run validates "$1" < <(jq -c "$2" good)
		[ "$(grep -oE 'line [0-9]+:' <<<"$output" | sort -u | wc -l)" -eq 4 ]
	}
	refused stat '.new = 1, .counts.new = 1, .complete = "yes", del(.log)'
	refused stat '.version = 2, .first = "today", .events[0].event_hex = "61", .events = 1'
	run validates stat </dev/null
	[ "$status" -ne 0 ]
	# What cases have left for the end of their file, and the last kind is right.
	mkdir left
	echo '{}' >left/case-1.check
	cp good left/case-2.stat
	BATS_FILE_TMPDIR=left run are_valid
	[ "$status" -ne 0 ]
	[[ $output == *"case-1.check: line 1: "* && $output != *case-2* ]]
	rm left/case-1.check
	BATS_FILE_TMPDIR=left run are_valid
	[ "$status" -eq 0 ]
	ptrace-dump -e traced.event run.log >good
	refused event '.tid = "1", del(.tid), del(.data), .data_hex = "00"'
	refused event '.data = 5, .data = [1], .data = 1, .decode_error = "short"'
}

@test "every member in the schemas is explained" {
	for f in "$PTRC_SOURCE"/docs/*.schema.json; do
		jq -r '[.. | objects | .properties? // empty | keys[]] | map(rtrimstr("_hex")) | unique[]' "$f" |
			while read -r key; do
				grep -q "\`$key\`" "$PTRC_SOURCE/docs/json-schema.md" ||
					echo "${f##*/}: $key"
			done
		grep -q "${f##*/}" "$PTRC_SOURCE/docs/json-schema.md" || echo "${f##*/}"
		grep -q "${f##*/}" "$PTRC_SOURCE/man/posixtrace-json.5" || echo "${f##*/}: page"
	done >missing
	diff /dev/null missing
}
