#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Commands that use the layouts which programs have given to their event types.

load ../../support/helpers

# query LOG ROWS TEXT: a log with an event of type db.query
query() {
	local hex
	hex=$(printf '%02x000000' "$2")$(printf %s "$3" | od -An -v -tx1 | tr -d ' \n')
	ptrace-run -o "$1" -- "$traced" -e db.query -l 'u32 rows, str sql' -X "$hex"
}

@test "data is decoded by what the log tells" {
	query run.log 7 select
	silently 0 ptrace-dump --json --user run.log
	jq -e '.data == {"rows": 7, "sql": "select"}' <<<"$stdout"
	[ "$(ptrace-dump --fields=data.rows,data.sql --user --json run.log | jq -c '[.data.rows, .data.sql]')" = \
		'[7,"select"]' ]
	[ "$(ptrace-dump --count --where='data.rows == 7 && data.sql == "select"' run.log)" = 1 ]
	[ "$(ptrace-dump --count --where='data.rows > 7' run.log)" = 0 ]
	[ "$(ptrace-dump --json --user - <run.log | jq .data.rows)" = 7 ]
	ptrace-dump --format=text --user run.log | grep -q 'rows=7 sql=\"\?select'
	ptrace-run -o many.log -- "$traced" -n 3000 -e n -l 'u32 number' -X 01020304
	[ "$(ptrace-dump --json --threads=4 --where='data.number == 0x04030201' many.log | wc -l)" = 3000 ]
}

@test "--decode and ptrace.yaml come before what the log tells" {
	query run.log 7 select
	[ "$(ptrace-dump --json --user --decode='db.*=u16 low, bytes rest' run.log | jq .data.low)" = 7 ]
	printf 'decode:\n  db.query: u8 first, bytes rest\n' >ptrace.yaml
	[ "$(ptrace-dump --json --user --config=ptrace.yaml run.log | jq .data.first)" = 7 ]
	[ "$(ptrace-dump --count --decode='other=u8 x' --where='data.rows == 7' run.log)" = 1 ]
}

@test "each log has its own layouts" {
	query a.log 7 select
	ptrace-run -o b.log -- "$traced" -e db.query -l 'char[4] text' -d abcd
	ptrace-dump --json --user a.log b.log | jq -se 'map(.data) ==
		[{"rows": 7, "sql": "select"}, {"text": "abcd"}]'
	[ "$(ptrace-dump --count --where='data.rows == 7' a.log b.log)" = 1 ]
}

@test "a layout that cannot be read is told, and the data not decoded" {
	traced_start -w -W -e n -l 'u32 number' -X 01020304
	# As a later version might write it.
	names=(/dev/shm/posixtrace-"$EUID"/n.*)
	at=$(grep -abo 'u32 number' "${names[@]}" | head -n 1 | cut -d : -f 1)
	damages "${names[0]}" 'u9' "$at"
	ptrace-create --pid="$pid" --name="$me.a" --start -o run.log
	go done
	ptrace-shutdown "$me.a"
	reports 0 "*run.log: the layout of event type n cannot be read*" ptrace-dump --json --user run.log
	jq -e '.data_hex == "01020304"' <<<"$stdout"
	[ "$(ptrace-dump --json --user --decode='n=u32 number' run.log | jq .data.number)" = 67305985 ]
}

@test "sessions, also if the type is opened while somebody follows" {
	mkfifo late
	sh -c "read -r line; exec '$traced' -e db.query -l 'u32 rows' -X 07000000" <late 3>&- &
	late=$!
	exec 8>late
	ptrace-create --pid="$late" --name="$me.a" --start --keep
	ptrace-dump --json --follow "$me.a" --where='data.rows == 7' >followed 2>messages 3>&- &
	follower=$!
	is_connected() { [ -n "$(find "/proc/$follower/fd" -lname 'socket:*' 2>/dev/null)" ]; }
	wait_until is_connected
	echo >&8
	wait "$late"
	wait_until test -s followed
	kill "$follower"
	wait "$follower" || true
	jq -e '.event == "db.query" and .data == {"rows": 7}' followed
	[ ! -s messages ]
	[ "$(ptrace-dump --json --where='data.rows == 7' "$me.a" | jq .data.rows)" = 7 ]
	ptrace-shutdown "$me.a"
}
