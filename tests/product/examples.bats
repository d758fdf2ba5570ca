#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The examples do what their comments say, under ptrace-run.

load ../support/helpers

# names LOG: how many events of each type, as uniq -c counts them
names() {
	ptrace-dump --format=json "$1" | jq -r .event | LC_ALL=C sort | uniq -c
}

sqlite_trace() {
	[ -x "$PTRC_BUILD/examples/sqlite-trace" ] || skip "built without SQLite"
	ptrace-run --stream-min-size=8M -o sqlite.log -- \
		"$PTRC_BUILD/examples/sqlite-trace" "$@" >counts
}

@test "hello: one event with its text, between start and stop; untraced it does the same" {
	silently 0 "$PTRC_BUILD/examples/hello"
	[ "$stdout" = "hello, world" ]
	silently 0 ptrace-run -o hello.log -- "$PTRC_BUILD/examples/hello" bats
	[ "$stdout" = "hello, bats" ]
	[ "$(ptrace-dump --format=json hello.log | jq -c "select(.type_id > 8) | [.event, .data, .len]")" = '["hello.greeting","bats",4]' ]
	[ "$(ptrace-dump --format=json hello.log | jq -r 'select(.type_id <= 2).event')" = \
		$'posix_trace_start\nposix_trace_stop' ]
}

@test "controller, target, analyzer: the three roles work together [GEN-12]" {
	cd "$PTRC_BUILD/examples"
	./controller "$BATS_TEST_TMPDIR/log" ./target 3
	run ./analyzer "$BATS_TEST_TMPDIR/log"
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 7 ]
	[ "${lines[0]}" = "trace of ./target" ]
	[[ ${lines[1]} = *" posix_trace_start" ]]
	[[ ${lines[2]} = *" example.begin" ]]
	[[ ${lines[5]} = *" example.square 03 00 00 00 09 00 00 00" ]]
	[[ ${lines[6]} = *" posix_trace_stop 00 00 00 00" ]]
}

@test "log-fields: each event with its time, its process and the fields of its data" {
	cat >script <<'END'
layout db.query u64 id, enum u8 {read, write} kind, i32[2] delta ns, f64 ratio, str sql
event 1500000000 42 42 db.query u64:7 u8:1 hex:000000 u32:4294967295 u32:5 hex:00000000 f64:0.5 str:select
layout net u8 low:3, u8 high:5, bytes[2] raw, x32 flags, bool is_on, char[4] who
event 2000000000 42 43 net u8:13 hex:0aff00 u32:255 u8:1 hex:61620000
event 2500000000 42 42 plain u32:1
event 3000000000 42 42 db.query u64:8
lost 3
END
	made made.log <script
	exits 0 "$PTRC_BUILD/examples/log-fields" made.log
	[ "$stdout" = '1700000001.500000000 42  db.query id=7 kind=write delta[0]=-1ns delta[1]=5ns ratio=0.5 sql=select
1700000002.000000000 42  net low=5 high=1 raw=0aff flags=0xff is_on=1 who=ab
1700000002.500000000 42  plain
1700000003.000000000 42  db.query id=8' ]
	[ "$stderr" = 'lost_events: 3' ]
}

@test "log-fields: events of a program have the name of that" {
	ptrace-run -o hello.log -- "$PTRC_BUILD/examples/hello" bats
	"$PTRC_BUILD/examples/log-fields" hello.log >shown
	[ "$(grep -c '^[0-9]*\.[0-9]\{9\} [0-9]* hello hello\.greeting$' shown)" -eq 1 ]
	exits 1 "$PTRC_BUILD/examples/log-fields" shown
	[ "$stderr" = 'log-fields: shown: Invalid argument' ]
	exits 2 "$PTRC_BUILD/examples/log-fields"
}

@test "sqlite-trace: the log has every event that the hooks counted" {
	sqlite_trace -n 5000 -t 4
	names sqlite.log | grep ' sql\.' >traced
	grep -v ' 0 ' counts | LC_ALL=C sort -k2 | diff - traced
	# Something of everything that a run of this size is bound to have, whether threads meet or not.
	for event in sql.begin sql.row sql.end sql.commit sql.rollback; do
		grep -q " $event\$" traced
	done
	exits 0 ptrace-stat sqlite.log
}

@test "sqlite-trace: the log has data, statements and threads of the program, which breaks its last rule" {
	sqlite_trace -n 2000 -t 3
	ptrace-dump --format=json sqlite.log |
		jq -c 'select(.event | startswith("sql."))' >events
	[ -s events ]
	jq -ne 'reduce inputs as $e ({open: {}, ok: true};
		($e.data | "\(.thread) \(.stmt)") as $key |
		if $e.event == "sql.begin" then
			.ok = (.ok and .open[$key] == null) |
			.open[$key] = {rows: 0, sql: $e.data.sql}
		elif $e.event == "sql.row" then
			.open[$key].rows += 1 |
			.ok = (.ok and .open[$key].rows == $e.data.row)
		elif $e.event == "sql.end" then
			.ok = (.ok and .open[$key] == {rows: $e.data.rows, sql: $e.data.sql}
				and $e.data.took > 0) |
			del(.open[$key])
		else . end) | .ok and .open == {}' events
	# The scanning query, quotes and all.
	jq -ne '[inputs | select(.event == "sql.end" and (.data.sql | contains("\"rent\"")))]
		| length >= 3 and (map(.data.scan) | max) > 100' events
	# The three and the main thread, which numbers itself last.
	jq -ne '[inputs | select(.event == "sql.begin") | [.thread, .data.thread]] | unique | length == 4 and
		(map(.[0]) | unique | length) == 4' events
	exits 1 ptrace-check --json "$PTRC_SOURCE/examples/sqlite-rules.yaml" sqlite.log
	jq -e '[.rules[].verdict] == ["pass", "pass", "pass", "fail"]' stdout.txt
}

@test "sqlite-trace: leaves the database that was asked for, and no other file" {
	mkdir tmp
	TMPDIR=$PWD/tmp sqlite_trace -n 100
	[ -z "$(ls -A tmp)" ]
	sqlite_trace -n 100 mine.db
	[ -s mine.db ]
	exits 1 "$PTRC_BUILD/examples/sqlite-trace" mine.db
	[ "$stderr" = "sqlite-trace: mine.db: File exists" ]
}

@test "sqlite-trace: wrong arguments" {
	[ -x "$PTRC_BUILD/examples/sqlite-trace" ] || skip "built without SQLite"
	exits 2 "$PTRC_BUILD/examples/sqlite-trace" --threads=0
	[ "${stderr%%$'\n'*}" = "sqlite-trace: 0: not a number from 1 to 64" ]
	exits 1 "$PTRC_BUILD/examples/sqlite-trace" nowhere/x.db
	[ "$stderr" = "sqlite-trace: nowhere/x.db: unable to open database file" ]
	[ ! -e nowhere ]
}
