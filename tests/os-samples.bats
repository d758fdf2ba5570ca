#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Samples of stacks: --os=samples of ptrace-run and ptrace-create, and what shows them.

load helpers

work=$PTRC_BUILD/tests/os_work

setup() {
	PATH=$PTRACE_BIN:$PATH
	cd "$BATS_TEST_TMPDIR" || return 1
	unset TZ
}

# chains LOG: the functions of each sample, innermost first
chains() {
	ptrace-dump --json --symbols --event=os.sample "$1" 2>chains.err |
		jq -r '[.symbols.stack[].function // "?"] | join(" ")'
}

# most NUMBER ALL: whether that is nine of ten
most() {
	echo "$1 of $2"
	[ $((10 * $1)) -ge $((9 * $2)) ]
}

@test "samples have the stack of a program that has never heard of traces [EXT-434 EXT-439]" {
	needs_os
	run_split ptrace-run --os=samples -o a.log -- "$work" spin 400
	[ "$status" -eq 0 ] && [ -z "$stderr" ]
	all=$(events a.log os.sample)
	# One in a millisecond of processor time.
	[ "$all" -ge 300 ] && [ "$all" -le 700 ]
	[ "$(events a.log 'os.*')" -eq "$all" ]
	chains a.log >chains
	most "$(grep -c '^work_inner work_middle work_outer main\( \|$\)' chains)" "$all"
	# They are about the thread, and are as old as they say.
	[ "$(fields a.log os.sample '.pid == .tid' | sort -u)" = true ]
	fields a.log os.sample .ns >times
	sort -nc times
	fields a.log os.sample .data.processor | sort -u | grep -qx '[0-9]*'
	ptrace-dump --format=text --symbols --event=os.sample a.log |
		grep -q ' cut=false stack=\[.*<work_inner,work_middle,work_outer,main'
}

@test "all threads and all descendants are sampled [EXT-434]" {
	needs_os
	ptrace-run --os=process,samples -o a.log -- sh -c "$work spins 150 3; exec $work spin 150"
	[ "$(fields a.log os.sample .tid | sort | uniq -c | awk '$1 > 70' | wc -l)" -eq 4 ]
	chains a.log >chains
	most "$(grep -c '^work_inner work_middle work_outer \(spin_thread\|main\)\( \|$\)' chains)" \
		"$(grep -c work_ chains)"
	[ "$(grep -c spin_thread chains)" -gt 200 ]
	[ "$(events a.log os.exec)" -ge 2 ]
}

@test "a process that runs already is sampled [EXT-434]" {
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

@test "the frequency is a part of the setting [EXT-435]" {
	needs_os
	ptrace-run --os=samples=100 -o a.log -- "$work" spin 500
	all=$(events a.log os.sample)
	[ "$all" -ge 40 ] && [ "$all" -le 70 ]
	printf 'os: sched,samples=250\n' >p.yaml
	[ "$(ptrace-run -c p.yaml --dump-config true | grep ^os)" = "os: sched,samples=250" ]
	[ "$(ptrace-run --os=samples=1000,process --dump-config true | grep ^os)" = "os: process,samples" ]
	ptrace-run -c p.yaml -o b.log -- "$work" spin 400
	all=$(events b.log os.sample)
	[ "$all" -ge 80 ] && [ "$all" -le 130 ]
	[ "$(events b.log os.switch_in)" -ge 1 ]
}

@test "a frequency that there is not is refused [EXT-435]" {
	for bad in samples= samples=0 samples=100001 samples=1k samples=-5 samples=1000000000000000000000000; do
		run_split ptrace-run --os="$bad" true
		[ "$status" -eq 125 ]
		[[ $stderr == *"--os: '${bad#samples=}' is not a number of samples a second from 1 to 100000"* ]]
	done
	for bad in process=5 sample samples=5=5,x; do
		run_split ptrace-run --os="$bad" true
		[ "$status" -eq 125 ] && [[ $stderr == *"--os: '"* ]]
	done
	printf 'os: samples=many\n' >p.yaml
	run_split ptrace-run -c p.yaml true
	[[ $stderr == *"p.yaml:1:5: os: 'many' is not a number of samples"* ]]
}

@test "a deep stack is cut, and says so [EXT-436]" {
	needs_os
	ptrace-run --os=samples -o a.log -- "$work" deep 500 200
	fields a.log os.sample 'select(.data.stack | length > 100) | "\(.data.cut) \(.data.stack | length)"' |
		sort | uniq -c >lengths
	cat lengths
	# 126, or fewer if kernel.perf_event_max_stack says so.
	[ "$(wc -l <lengths)" -eq 1 ]
	read -r count cut length <lengths
	[ "$count" -gt 100 ] && [ "$cut" = true ] && [ "$length" -le 126 ]
	chains a.log | grep -q '^work_inner work_middle work_outer work_deep work_deep .*work_deep$'
	ptrace-run --os=samples -o b.log -- "$work" deep 50 200
	fields b.log os.sample 'select(.data.stack | length > 50) | .data.cut' | sort -u >cuts
	[ "$(cat cuts)" = false ]
}

@test "samples that the kernel has lost are told, and counted [EXT-437]" {
	needs_os
	# A ring of one page has 36 samples; who empties it stands still meanwhile.
	run_split env POSIXTRACE_OS_BYTES=4096 ptrace-run --os=samples -o a.log -- \
		sh -c "kill -STOP \$PPID; $work spin 500; kill -CONT \$PPID; sleep 0.2; $work spin 50"
	[ "$status" -eq 3 ]
	lost=0
	for n in $(fields a.log os.lost .data.events); do
		lost=$((lost + n))
	done
	[ "$lost" -gt 200 ]
	[[ $stderr == *": $lost events lost"* ]]
	[ "$(events a.log os.sample)" -gt 20 ]
}

@test "samples are filtered, selected and counted like any others [EXT-434]" {
	needs_os
	ptrace-run --os=process,samples --exclude=os.sample -o a.log -- "$work" spin 100
	[ "$(events a.log os.sample)" -eq 0 ] && [ "$(events a.log os.exec)" -eq 1 ]
	ptrace-run --os=samples -o b.log -- "$work" spin 100
	all=$(events b.log os.sample)
	[ "$(ptrace-dump --count --format=text --where 'data.cut == false' b.log)" -eq "$all" ]
	[ "$(ptrace-dump --count --format=text --where 'data.stack[3] != 0' b.log)" -gt $((all / 2)) ]
	ptrace-stat b.log | grep -q 'os.sample {u32 processor, bool cut, code\[\] stack}'
	# Data that the stream cuts is a shorter stack.
	ptrace-run --os=samples --max-data-size=24 -o c.log -- "$work" spin 100
	fields c.log os.sample '"\(.truncated) \(.data.stack | length) \(.decode_error)"' | sort | uniq -c |
		sort -n | tail -n 1 | grep -q 'record 2 null'
}

@test "where the kernel refuses samples, a line says why [EXT-426]" {
	run_split "$work" refused ptrace-run --os=samples -o a.log -- "$traced" -n 10
	[ "$status" -ne 77 ] || skip "no seccomp here"
	[ "$status" -eq 0 ]
	assert_one_message ptrace-run
	[[ $stderr == *"--os: no events of the operating system: perf_event_open(2): Operation not permitted"* ]]
	[ "$(events a.log 'os.*')" -eq 0 ]
}
