#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Samples of stacks: --os=samples of ptrace-run and ptrace-create, and what shows them.

load ../../support/helpers

work=$PTRC_BUILD/tests/support/os_work

# Samples come by processor time, so there are no more of them on any machine; where a machine stands still for
# others, some are missing.

# most NUMBER ALL: whether that is nine of ten
most() {
	echo "$1 of $2"
	[ $((10 * $1)) -ge $((9 * $2)) ]
}

@test "samples have the stack of a program that has never heard of traces" {
	needs_os
	needs_symbols
	silently 0 ptrace-run --os=samples -o a.log -- "$work" spin 400
	all=$(events a.log os.sample)
	# One in a millisecond.
	[ "$all" -ge 130 ]
	[ "$all" -le 700 ]
	# The other one is os.command.
	[ "$(events a.log 'os.*')" -eq $((all + 1)) ]
	chains a.log >chains
	most "$(grep -c '^work_inner work_middle work_outer main\( \|$\)' chains)" "$(grep -c work_ chains)"
	# They are about the thread, and are as old as they say.
	[ "$(fields a.log os.sample '.pid == .tid' | sort -u)" = true ]
	fields a.log os.sample .ns >times
	sort -nc times
	fields a.log os.sample .data.processor | sort -u | grep -qx '[0-9]*'
	ptrace-dump --format=text --symbols --event=os.sample a.log |
		grep -q ' cut=false noise=[0-9]* stack=\[.*<work_inner,work_middle,work_outer,main'
}

@test "all threads and all descendants are sampled" {
	needs_os
	needs_symbols
	ptrace-run --os=process,samples -o a.log -- sh -c "$work spins 150 3; exec $work spin 150"
	[ "$(fields a.log os.sample .tid | sort | uniq -c | awk '$1 > 30' | wc -l)" -eq 4 ]
	chains a.log >chains
	most "$(grep -c '^work_inner work_middle work_outer \(spin_thread\|main\)\( \|$\)' chains)" \
		"$(grep -c work_ chains)"
	[ "$(grep -c spin_thread chains)" -gt 90 ]
	[ "$(events a.log os.exec)" -ge 2 ]
}

@test "folded stacks begin with the program that a process executed at that time" {
	needs_os
	# shellcheck disable=SC2016 # the inner shell's
	ptrace-run --os=process,samples -o a.log -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; exec "$0" spin 150' "$work"
	ptrace-export --to=folded a.log >folded
	[ "$(cut -d';' -f1 folded | sort -u)" = $'os_work\nsh' ]
	[ "$(awk '/^sh;/ { n += $NF } END { print n }' folded)" -eq \
		"$(ptrace-dump --count --event=os.sample --where='comm == "sh"' a.log)" ]
	grep -q '^os_work;.*work_inner' folded
}

@test "a process that runs already is sampled" {
	needs_os
	"$work" spins 60000 2 3>&- &
	pids=$!
	ptrace-create --os=samples --start --name="$me" -o a.log --pid="$pids"
	wait_until has_samples 50
	ptrace-shutdown "$me"
	kill "$pids"
	[ "$(fields a.log os.sample .pid | sort -u)" -eq "$pids" ]
	chains a.log >chains
	most "$(grep -c '^work_inner work_middle work_outer spin_thread' chains)" "$(wc -l <chains)"
}

has_samples() {
	ptrace-flush "$me"
	[ "$(events a.log os.sample)" -ge "$1" ]
}

@test "the frequency is a part of the setting" {
	needs_os
	ptrace-run --os=samples=100 -o a.log -- "$work" spin 500
	all=$(events a.log os.sample)
	[ "$all" -ge 15 ]
	[ "$all" -le 70 ]
	printf 'os: sched,samples=250\n' >p.yaml
	[ "$(ptrace-run -c p.yaml --dump-config true | grep ^os)" = "os: sched,samples=250" ]
	[ "$(ptrace-run --os=samples=1000,process --dump-config true | grep ^os)" = "os: process,samples" ]
	ptrace-run -c p.yaml -o b.log -- "$work" spin 400
	all=$(events b.log os.sample)
	[ "$all" -ge 30 ]
	[ "$all" -le 130 ]
	[ "$(events b.log os.switch_in)" -ge 1 ]
}

@test "what the kernel does not allow is lowered, with a message" {
	needs_os
	echo 200 >rate
	# shellcheck disable=SC2016 # for the inner shell
	has_rate='mount --bind rate /proc/sys/kernel/perf_event_max_sample_rate && exec "$@"'
	unshare -m sh -c "$has_rate" _ true 2>/dev/null || skip "no mounts of one's own here"
	reports 0 "*--os: only 200 samples a second: kernel.perf_event_max_sample_rate allows no more" \
		unshare -m sh -c "$has_rate" _ ptrace-run --os=samples -o a.log -- "$work" spin 500
	all=$(events a.log os.sample)
	[ "$all" -ge 30 ]
	[ "$all" -le 140 ]
	silently 0 unshare -m sh -c "$has_rate" _ ptrace-run --os=samples=150 -o b.log -- "$work" spin 100
	unshare -m sh -c "$has_rate" _ ptrace-doctor |
		grep -q '^note .*--os: only 200 samples a second: kernel.perf_event_max_sample_rate allows no more'
}

@test "a frequency that there is not is refused" {
	for bad in samples= samples=0 samples=100001 samples=1k samples=-5 samples=1000000000000000000000000; do
		reports 125 "*--os: '${bad#samples=}' is not a number of samples a second from 1 to 100000*" ptrace-run --os="$bad" true
	done
	for bad in process=5 sample samples=5=5,x; do
		reports 125 "*--os: '*" ptrace-run --os="$bad" true
	done
	printf 'os: samples=many\n' >p.yaml
	reports 125 "*p.yaml:1:5: os: 'many' is not a number of samples*" ptrace-run -c p.yaml true
}

@test "a deep stack is cut, and says so" {
	needs_os
	needs_symbols
	ptrace-run --os=samples -o a.log -- "$work" deep 500 200
	fields a.log os.sample 'select(.data.stack | length > 60) | "\(.data.cut) \(.data.stack | length)"' |
		sort | uniq -c | sort -n >lengths
	cat lengths
	# 126, or fewer if kernel.perf_event_max_stack says so; a sample may be taken on the way down.
	[ -s lengths ]
	most "$(tail -n 1 lengths | awk '{ print $1 }')" "$(awk '{ n += $1 } END { print n }' lengths)"
	tail -n 1 lengths >deepest
	read -r count cut length <deepest
	[ "$count" -gt 30 ]
	[ "$cut" = true ]
	[ "$length" -le 126 ]
	chains a.log | grep -q '^work_inner work_middle work_outer work_deep work_deep .*work_deep$'
	ptrace-run --os=samples -o b.log -- "$work" deep 30 200
	fields b.log os.sample 'select(.data.stack | length > 30) | .data.cut' >cuts
	most "$(grep -c false cuts)" "$(wc -l <cuts)"
	[ -s cuts ]
}

@test "samples are filtered, selected and counted like any others" {
	needs_os
	ptrace-run --os=process,samples --exclude=os.sample -o a.log -- "$work" spin 100
	counts a.log os.sample=0 os.exec=1
	ptrace-run --os=samples -o b.log -- "$work" spin 100
	all=$(events b.log os.sample)
	most "$(ptrace-dump --count --format=text --where 'data.cut == false' b.log)" "$all"
	[ "$(ptrace-dump --count --format=text --where 'data.stack[3] != 0' b.log)" -gt $((all / 2)) ]
	ptrace-stat b.log | grep -q 'os.sample {u32 processor, bool cut, u8 noise, code\[\] stack}'
	# Data that the stream cuts is a shorter stack.
	ptrace-run --os=samples --max-data-size=24 -o c.log -- "$work" spin 100
	fields c.log os.sample '"\(.truncated) \(.data.stack | length) \(.decode_error)"' | sort | uniq -c |
		sort -n | tail -n 1 | grep -q 'record 2 null'
}

@test "samples become flames, of processes that are gone, too" {
	needs_os
	needs_symbols
	ptrace-run --os=samples -o a.log -- sh -c "$work spin 150; $work spins 100 2"
	exits 0 ptrace-export --to=folded a.log
	all=$(events a.log os.sample)
	[ "$(awk '{ sum += $NF } END { print sum }' stdout.txt)" -eq "$all" ]
	count=0
	for n in $(sed -n 's/^os_work;.*main;work_outer;work_middle;work_inner \([0-9]*\)$/\1/p' stdout.txt); do
		count=$((count + n))
	done
	[ "$count" -ge 50 ]
	[ "$(sed -n 's/^os_work;.*spin_thread;work_outer;work_middle;work_inner \([0-9]*\)$/\1/p' stdout.txt |
		awk '{ sum += $1 } END { print sum }')" -ge 60 ]
	ptrace-export --to=speedscope a.log | jq -e '(.shared.frames | map(.name)) as $f |
		.profiles | map(select(.name | startswith("os_work")) | select(.samples | length > 20) |
			.samples | map(select(map($f[.])[-3:] == ["work_outer", "work_middle", "work_inner"])) |
			length > 20) == [true, true, true]'
	# A program that was replaced since is told by its file, and not by what is there now.
	cp "$work" gone
	ptrace-run --os=samples -o b.log -- ./gone spin 100
	cp "$traced" gone
	reports 0 "*gone: *" ptrace-export --to=folded b.log
	grep -q '^gone;.*\[gone\];\[gone\];\[gone\];\[gone\] ' stdout.txt
	fails grep -q work_ stdout.txt
	reports 0 "*gone: *" ptrace-report --text b.log
	for command in 'report --text' 'export --to=chrome'; do
		# shellcheck disable=SC2086 # command and option
		exits 0 ptrace-$command --symbols b.log
		[ "$(grep -c '/gone: ' stderr.txt)" -eq 1 ]
	done
}

@test "a report as text has the functions that take most time" {
	made samples.log <<-END
		layout os.sample u32 processor, bool cut, code[] stack
		event 10 7 8 os.sample u32:1 u32:0 u64:0x30 u64:0x20 u64:0x20 u64:0x10
		event 20 7 8 os.sample u32:1 u32:0 u64:0x30 u64:0x20 u64:0x10
		event 30 7 9 os.sample u32:1 u32:0 u64:0x1f u64:0x10
		event 40 7 9 os.sample u32:1 u32:0
	END
	ptrace-report --text samples.log >report.txt
	# 0x1f calls itself, and is in three of four samples.
	[ "$(sed -n '/^Functions/,/^$/p' report.txt | tr -s ' ')" = "\
Functions, and how many of 4 samples found them running (self), or what they had called (total)
 self total function
 2 50.0 % 2 50.0 % 0x30
 1 25.0 % 3 75.0 % 0x1f
 0 0.0 % 3 75.0 % 0xf" ]
	needs_os
	ptrace-run --os=samples -o a.log -- "$work" spin 300
	ptrace-report --text a.log | sed -n '/^Functions/,/^$/p' >report.txt
	cat report.txt
	# The innermost function comes first, and its callers are in as many stacks.
	sed -n 3p report.txt | grep -q ' work_inner$'
	total=$(awk '$NF == "work_inner" { print $4 }' report.txt)
	for function in work_middle work_outer main; do
		most "$(awk -v f="$function" '$NF == f { print $4 }' report.txt)" "$total"
	done
	ptrace-run -o b.log -- "$traced" -n 3
	[ "$(ptrace-report --text b.log | grep -c '^Functions')" -eq 0 ]
}

@test "a report as a page has the stacks by names" {
	needs_os
	needs_symbols
	ptrace-run --os=samples -o a.log -- "$work" spin 200
	ptrace-report -o a.html a.log
	grep -q '"kind":"z"' a.html
	# Texts are in columns of bytes; tests/cmd/report/report-browser.mjs sees what becomes of them.
	python3 - <<-'END'
		import base64, re
		page = open("a.html", "rb").read()
		texts = b"".join(base64.b64decode(t) for t in re.findall(rb"[A-Za-z0-9+/]{40,}={0,2}", page) if len(t) % 4 == 0)
		missing = [f for f in (b"main", b"work_outer", b"work_middle", b"work_inner") if f not in texts]
		assert not missing, missing
	END
}

@test "where the kernel refuses samples, a line says why" {
	refused "*--os: no events of the operating system: perf_event_open(2): Operation not permitted*" \
		ptrace-run --os=samples -o a.log -- "$traced" -n 10
	[ "$(events a.log 'os.*')" -eq 0 ]
}

# names_after LOG NAME: of the programs that have samples after this one was executed; $pid is its process
names_after() {
	local at
	read -r pid at < <(fields "$1" os.exec "select(.data.name == \"$2\") | \"\(.pid) \(.ns)\"")
	ptrace-dump --json --fields=ns,comm --event=os.sample "$1" |
		jq -r --argjson at "$at" 'select(.ns > $at) | .comm' | sort -u
}

@test "each program of a process has its own samples, and no frame that is no code" {
	needs_os
	cat >wrapper <<-END
		#!/bin/sh
		exec $work spin 1500
	END
	chmod +x wrapper
	ptrace-run --os=process,samples -o a.log -- ./wrapper
	[ "$(names_after a.log os_work)" = os_work ]
	# All addresses but the innermost one have a function or a file.
	chains a.log | sort | uniq -c
	chains a.log | awk '{ for (i = 2; i <= NF; i++) if ($i == "?") bad++ } END { exit bad > NR / 10 }'
	fields a.log os.sample .data.noise | grep -qx '[0-9]*'
}

@test "samples of a child before it executes a program are those of its parent's program" {
	needs_os
	needs_symbols
	# shellcheck disable=SC2016 # the inner shell's
	ptrace-run --os=process,samples -o a.log -- \
		bash -c '(i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; exec "$0" spin 150); :' "$work"
	pid=$(fields a.log os.exec 'select(.data.name == "os_work") | .pid')
	exec_ns=$(fields a.log os.exec 'select(.data.name == "os_work") | .ns')
	ptrace-dump --json --fields=ns,comm --event=os.sample --where="pid == $pid" a.log |
		jq -r --argjson at "$exec_ns" '"\(.ns < $at) \(.comm)"' | sort -u >names
	[ "$(cat names)" = $'false os_work\ntrue bash' ]
	ptrace-stat --json a.log >stat.json
	jq -e --argjson pid "$pid" '[.processes[] | select(.pid == $pid)] | map(.name) == ["bash", "os_work"] and
		(.[0].mappings | length) >= 2' stat.json
}

@test "samples after an exec by another thread than the first one are those of the new program" {
	needs_os
	cp "$work" other
	ptrace-run --os=process,samples -o a.log -- "$work" execute ./other spin 150
	names_after a.log other >names
	[ "$(<names)" = other ]
	ptrace-stat --json a.log >stat.json
	jq -e --argjson pid "$pid" '[.processes[] | select(.pid == $pid)] | map(.name) == ["os_work", "other"] and
		(.[1].mappings | length) >= 2 and .[0].start == .[1].start' stat.json
}
