#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load helpers

# same OPTION...: several threads write what one writes, and end as it does
same() {
	local one several

	run_split ptrace-dump --threads=1 "$@"
	[ "$status" -ne 2 ]
	one="$status $(md5sum <<<"$stdout") $stderr"
	for threads in 2 5; do
		run_split ptrace-dump --threads="$threads" "$@"
		several="$status $(md5sum <<<"$stdout") $stderr"
		[ "$several" = "$one" ] || echo "$one, but $threads threads: $several"
		[ "$several" = "$one" ]
	done
}

@test "several threads write what one writes [EXT-225]" {
	# More events than all jobs of the threads have at a time.
	ptrace-run -o run.log -- bash -c '"$0" -n 60000 & "$0" -e other -s 40 -n 60000 & wait' "$traced"
	same run.log
	[ "$(ptrace-dump --threads=3 --count --where 'len >= 0' run.log)" = "$(ptrace-dump --count run.log)" ]
	same -e other run.log
	same --where 'event == "other" && data =~ "[13]5"' run.log
	same --where 'data ~ "*77*"' --fields=time,event,data run.log
	same --count --where 'len == 40' run.log
	same --around=posix_trace_flush_start --before=1ms --after=1ms run.log
	same --since=+1ms --summary run.log
	same --user --pid=1 run.log
	# A layout that fits some of the events: each misfit is counted once.
	same --decode='traced.event=u8 a, u8 b, u8 c' run.log
	same --format=text run.log
	same --format=text --header=always run.log
	same --format=text --relative run.log
	# Columns that get wider in the middle: data of 1 to 6 digits.
	same --format=text --fields=time,data,len,event,pid run.log
	same --first=70000 run.log
	same --last=30000 run.log
}

@test "damage is told by several threads as by one [EXT-225]" {
	ptrace-run -o run.log -- "$traced" -n 200000
	for part in 3 6; do
		at=$(($(stat -c %s run.log) * part / 10))
		printf xyzxyz | dd of=run.log bs=1 seek="$at" conv=notrunc status=none
	done
	same run.log
	[ "$status" -eq 3 ]
	[ "$(ptrace-dump --threads=4 --allow-loss run.log 2>/dev/null | jq -s 'map(.unreadable_events // 0) | add')" -gt 10000 ]
	head -c 300000 run.log >cut.log
	same cut.log
	[ "$status" -eq 3 ]
}

@test "threads write nothing more when the output takes nothing more [EXT-225]" {
	ptrace-run -o run.log -- "$traced" -n 200000
	run_split bash -c 'ptrace-dump --threads=4 run.log | head -n 1 | wc -l'
	[ "$stdout" -eq 1 ]
	[ -z "$stderr" ]
	[ ! -w /dev/full ] || {
		run_split bash -c 'ptrace-dump --threads=4 run.log >/dev/full'
		[ "$status" -eq 1 ]
		assert_one_message ptrace-dump
	}
	run_split ptrace-dump --threads=0 run.log
	[ "$status" -eq 2 ]
}

@test "memory does not grow with the log [EXT-225]" {
	ptrace-run --no-loss -o run.log -- "$traced" -n 2000000
	command -v prlimit >/dev/null || skip "no prlimit"
	# The address sanitizer takes more memory than that.
	! grep -q __asan_init "$PTRACE_BIN/ptrace-dump" || skip "a sanitizer needs more memory"
	prlimit --data=$((128 << 20)) ptrace-dump --threads=2 run.log | tail -n 1 >last
	[ -s last ]
}
