#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Takes long, as each selection writes 50,000 events three times: by one thread, by two and by five.

load ../../support/helpers

# same OPTION...: several threads write what one writes, and end as it does
same() {
	local one several threads

	for threads in 1 2 5; do
		status=0
		ptrace-dump --threads="$threads" "$@" >stdout.txt 2>stderr.txt || status=$?
		[ "$status" -ne 2 ]
		several="$status $(md5sum <stdout.txt) $(<stderr.txt)"
		[ "$threads" -ne 1 ] || one=$several
		[ "$several" = "$one" ] || { echo "$one, but $threads threads: $several"; return 1; }
	done
}

@test "several threads write what one writes" {
	# More events than all jobs of the threads have at a time: five threads have ten of 4096 events.
	ptrace-run -o run.log -- bash -c '"$0" -n 25000 & "$0" -e other -s 40 -n 25000 & wait' "$traced"
	same run.log
	[ "$(ptrace-dump --threads=3 --count --where 'len >= 0' run.log)" = "$(ptrace-dump --count run.log)" ]
	same -e other run.log
	same --where 'event == "other" && data =~ "[13]5"' run.log
	same --where 'data ~ "*77*"' --fields=time,event,data run.log
	same --count --where 'len == 40' run.log
	same --around=posix_trace_flush_start --context=1ms,1ms run.log
	same --since=+1ms --summary run.log
	same --user --pid=1 run.log
	# A layout that fits some of the events: each misfit is counted once.
	same --decode='traced.event=u8 a, u8 b, u8 c' run.log
	same --format=text run.log
	same --format=text --header=always run.log
	same --format=text --relative run.log
	# Columns that get wider in the middle: data of 1 to 5 digits.
	same --format=text --fields=time,data,len,event,pid run.log
	same --first=30000 run.log
	same --last=12000 run.log
}

@test "damage is told by several threads as by one" {
	ptrace-run -o run.log -- "$traced" -n 80000
	for part in 3 6; do
		at=$(($(stat -c %s run.log) * part / 10))
		damages run.log xyzxyz "$at"
	done
	same run.log
	[ "$status" -eq 3 ]
	[ "$(ptrace-dump --threads=4 --allow-loss run.log 2>/dev/null | jq -s 'map(.unreadable_events // 0) | add')" -gt 10000 ]
	head -c 300000 run.log >cut.log
	same cut.log
	[ "$status" -eq 3 ]
}

@test "threads write nothing more when the output takes nothing more" {
	ptrace-run -o run.log -- "$traced" -n 20000
	silently 0 bash -c 'ptrace-dump --threads=4 run.log | head -n 1 | wc -l'
	[ "$stdout" -eq 1 ]
	[ ! -w /dev/full ] || {
		exits 1 bash -c 'ptrace-dump --threads=4 run.log >/dev/full'
		assert_one_message ptrace-dump
	}
	exits 2 ptrace-dump --threads=0 run.log
}

@test "memory does not grow with the log" {
	command -v prlimit >/dev/null || skip "no prlimit"
	# The address sanitizer takes more memory than that.
	! grep -q __asan_init "$PTRACE_BIN/ptrace-dump" || skip "a sanitizer needs more memory"
	ptrace-run --no-loss -o run.log -- "$traced" -n 2000000
	prlimit --data=$((128 << 20)) ptrace-dump --threads=2 run.log | tail -n 1 >last
	[ -s last ]
}

# What --where begins with may refuse events before anything else looks at them. Twice negated it cannot.
@test "events that --where refuses at once are those that it refuses" {
	ptrace-run --allow-loss -o log -- sh -c '
		one() { "$0" -e "$1" -l "$2" -X "$3" || exit 99; }
		for hex in 0000000000000000 0400000000000000 0500000000000000 ffffffffffffffff \
			0000000000000080 ffffffffffffff7f 05000000 \
			090000000000000000000000; do
			one t.u64 "u64 n" $hex
			one t.i64 "i64 n" $hex
		done
		for hex in 00 04 05 7f 80 ff; do
			one t.i8 "i8 n" $hex
			one t.u8 "x8 n" $hex
			one t.u16 "u8 a, u8 b, u16 n" 0000${hex}00
			one t.i16 "i16 n" ${hex}ff
			one t.i32 "u8 a, i32 n" 00000000${hex}ffffff
			one t.u32 "u32 n, u8 a" ${hex}000000ff000000
			one t.array "u8[2] n" ${hex}05
			one t.f32 "f32 n" 0000${hex}40
			one t.bits "u8 n:4, u8 m:4" $hex
			one t.text "u8 a, str n" 0035
			one t.other "u8 m" $hex
		done
		"$0" -e t.plain -d 4 -t 3 -n 20' "$traced"
	ptrace-stat --allow-loss log >/dev/null
	first=$(ptrace-dump --allow-loss --first=1 --event=t.plain log | jq -r '.pid, .ns, .type_id')
	set -- $first
	kept=0
	for e in 'data.n < 5' 'data.n <= -1' 'data.n == 255' 'data.n != 255' '5 > data.n' '5 <= data.n' \
		'data.n == 18446744073709551615' 'data.n > 18446744073709551614' \
		'data.n >= -9223372036854775808' 'data.n < -9223372036854775807' \
		'data.n > 9223372036854775806' 'data.n > 99999999999999999999' \
		'data.n < 99999999999999999999' 'data.n != 99999999999999999999' 'data.n < 4.5' \
		'-1 != data.n' 'data.n < 5 && event == "t.i8"' 'data.n < 5 || event == "t.i8"' \
		'data.n[1] == 5' 'data == 4' "pid == $1" "pid != $1" "tid > $1" "$1 >= tid" \
		"ns <= $2" "ns > $2" "$2 == ns" 'time >= "+0s"' 'time > "+1ms"' 'time < "-1ms"' \
		"type_id == $3" "type_id < $3" 'len == 8' 'len > 8' 'len < 5' 'len != 1' 'address > 5'; do
		echo "$e"
		ptrace-dump --allow-loss --threads=1 --where="!(!($e))" log >wanted 2>wanted.err ||
			[ "$?" -eq 3 ] || { cat wanted.err; false; }
		for threads in 1 2; do
			ptrace-dump --allow-loss --threads=$threads --where="$e" log >found 2>found.err ||
				[ "$?" -eq 3 ]
			diff wanted found
			diff wanted.err found.err
		done
		[ "$(ptrace-dump --allow-loss --count --format=text --where="$e" log 2>/dev/null)" -eq \
			"$(wc -l <wanted)" ]
		kept=$((kept + $(wc -l <wanted)))
	done
	[ "$kept" -gt 500 ]
}
