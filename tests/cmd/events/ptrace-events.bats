#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../../support/helpers

@test "a session: what was recorded, before anything is in the log" {
	record "$me.a" -o run.log --max-data-size=3 -- -n 10 -d abcd
	silently 0 ptrace-events --json "$me.a"
	jq -se --arg name "$me.a" 'all(.[]; .version == 1 and .session == $name) and
		(map(select(.system)) | length == 8) and
		(map(select(.event == "posix_trace_start")) | .[0].count == 1) and
		(map(select(.event == "traced.event")) | .[0] | .count == 10 and
			.bytes == 30 and .truncated == 10 and (.filtered | not))' <<<"$stdout"
	run_split ptrace-events --user "$me.a"
	grep -Eq '^ +10 +10 +30 +10  traced\.event$' <<<"$stdout"
	[[ $stdout != *posix_trace_start* ]]
	ptrace-filter --add "$me.a" traced.event
	ptrace-events --json "$me.a" | jq -se 'map(select(.filtered).event) == ["traced.event"]'
	[ "$(ptrace-events --names --user "$me.a")" = traced.event ]
	ptrace-clear "$me.a"
	ptrace-events --json "$me.a" | jq -se 'all(.[]; .count == 0)'
}

@test "a log" {
	ptrace-run -o run.log -- "$traced" -n 10 -d abcd
	exits 0 ptrace-events --json run.log
	jq -se 'all(.[]; .log == "run.log" and (has("filtered") | not)) and
		(map(select(.event == "traced.event")) | .[0] | .count == 10 and .bytes == 40)' \
		<<<"$stdout"
	[ "$(ptrace-events --names run.log | tail -n 1)" = traced.event ]
	[ "$(ptrace-events --names - <run.log | tail -n 1)" = traced.event ]
	ptrace-events --json - <run.log | jq -se 'all(.[]; .log == "standard input")'
	cp run.log copy.log
	run_split ptrace-events run.log copy.log
	[ "$(grep -c traced.event <<<"$stdout")" -eq 2 ]
	grep -qx 'run.log:' <<<"$stdout"
}

@test "layouts, of a session and of a log" {
	record "$me.a" -o run.log \
		-- -e db.query -l 'u64 id, char[4] sql' -X 070000000000000061626300
	run_split ptrace-events --user "$me.a"
	grep -Eqx ' +10 +1 +12 +0  db\.query \{u64 id, char\[4\] sql\}' <<<"$stdout"
	ptrace-events --json "$me.a" | jq -se 'map(select(.layout)) | length == 1 and
		.[0].event == "db.query" and .[0].layout == "u64 id, char[4] sql"'
	ptrace-shutdown "$me.a"
	ptrace-events --user run.log | grep -Fq 'db.query {u64 id, char[4] sql}'
	ptrace-events --json run.log | jq -se 'map(select(.layout)) | length == 1'
	ptrace-stat --json run.log | jq -e '.events | any(.layout == "u64 id, char[4] sql")'
	[ "$(ptrace-events --names --user run.log)" = db.query ]
}

@test "names of all kinds are one line each" {
	ptrace-run -o run.log -- "$traced" -e $'a"b\nc\e\xff'
	[ "$(ptrace-events --names --user run.log | wc -l)" -eq 1 ]
	ptrace-events --json run.log |
		jq -se 'map(select(.type_id == 10)) | .[0].event_hex == "6122620a631bff"'
}

@test "--user: what programs have opened, and the unnamed type if it has events" {
	ptrace-run -o run.log -- "$traced" -n 3
	[ "$(ptrace-events --names --user run.log)" = traced.event ]
	[ "$(ptrace-events --json --user run.log | jq -r .event)" = traced.event ]
	ptrace-run --os=none -o none.log -- true 2>/dev/null || [ $? -lt 125 ]
	prints 0 '' ptrace-events --user none.log
	# All names are taken: events of further ones are of the unnamed type.
	ptrace-run -o full.log --allow-loss -- "$traced" -N 8200 2>/dev/null
	ptrace-events --json --user full.log |
		jq -se 'map(select(.event == "posix_trace_unnamed_userevent")) | .[0].count == 19'
}

@test "damage is told, with exit status 3" {
	# A log that overwrites its oldest events has no totals, and is read.
	ptrace-run -o ring.log --log-full-policy=loop --log-max-size=8M -- "$traced" -n 1000
	size=$(stat -c %s ring.log)
	dd if=/dev/urandom of=ring.log bs=1 count=64 seek=$((size / 2)) conv=notrunc 2>/dev/null
	reports 3 '*' ptrace-events ring.log
	exits 0 ptrace-events --allow-loss ring.log
	# So is one whose first or last events cannot be read: the counts are what is left.
	ptrace-run -o run.log -- "$traced" -n 1000
	size=$(stat -c %s run.log)
	cp run.log damaged.log
	dd if=/dev/urandom of=damaged.log bs=1 count=64 seek=$((size / 2)) conv=notrunc 2>/dev/null
	reports 3 '*' ptrace-events --json damaged.log
	[ "$(ptrace-dump --count run.log)" -gt 1000 ]
	# And one without an end.
	truncate -s $((size / 2)) run.log
	reports 3 "*the log has no end*" ptrace-events run.log
	silently 0 ptrace-events --names run.log
	# And a rotated one that lacks a file.
	ptrace-run --no-loss --log-rotate=16K --stream-min-size=16K -o rotated.log -- "$traced" -n 9000
	[ -e rotated.log.000002 ]
	rm rotated.log.000001
	reports 3 "*rotated.log: 1 file of the log is missing, with *" ptrace-events rotated.log
}

@test "what is neither session nor log" {
	reports 1 "$me.nothing: no such session or log" ptrace-events "$me.nothing"
	echo text >text
	reports 1 '*' ptrace-events text
	exits 2 ptrace-events --names --json text
}
