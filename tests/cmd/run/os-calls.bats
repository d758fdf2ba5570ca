#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # options that are several words
# shellcheck disable=SC2086 # $CC and its flags are several words
# System calls and page faults: --os=syscalls,faults.

load ../../support/helpers

@test "system calls have names, arguments and results, and are pairs" {
	needs_calls
	ptrace-run --os=syscalls -o a.log -- dd if=/dev/zero of=/dev/null bs=7 count=500 2>dd.err
	[ "$(ptrace-dump --count --format=text --event=os.syscall.begin \
		--where 'data.name == "read" && data.arguments[2] == 7' a.log)" -eq 500 ]
	[ "$(ptrace-dump --count --format=text --event=os.syscall.end --where 'data.result == 7' a.log)" -ge 1000 ]
	ptrace-stat --pairs --per=data.name --json a.log >stat.json
	jq -e '.pairs | map(select(.value == "write")) | .[0].count >= 500' stat.json
	# A call that fails has a negative error number.
	ptrace-run --os=syscalls -o b.log -- cat /no/such/file 2>cat.err || true
	[ "$(ptrace-dump --count --format=text --event=os.syscall.end --where 'data.result == -2' b.log)" -ge 1 ]
	[ "$(events b.log 'os.fault')" -eq 0 ]
	# The first call is the one that executes COMMAND, also if it is searched for in directories, such as the
	# working directory, which an empty name means.
	cp "$(type -P true)" own
	for command in true own; do
		PATH=/no/such/directory:$PATH: ptrace-run --os=syscalls,faults -o c.log -- "$command"
		ptrace-dump --event='os.*' c.log >calls.json
		jq -es '.[0].data.name == "execve" and .[1].data.result == 0 and
			([.[] | select(.data.name? == "execve")] | length) == 1' calls.json
	done
}

@test "descendants and threads have system calls, and the controller has none" {
	needs_calls
	ptrace-run --os=syscalls,process -o a.log -- sh -c '/bin/true; /bin/true; :'
	[ "$(fields a.log os.syscall.begin 'select(.data.name == "exit_group") | .pid' | sort -u | wc -l)" -eq 3 ]
	[ -z "$(ptrace-dump --event='os.*' --fields=comm a.log | grep ptrace-run)" ]
}

@test "a new process or thread does not return from a call that it has not begun" {
	needs_calls
	ptrace-run --os=syscalls -o a.log -- "$PTRC_BUILD/tests/support/os_work" threads 20
	ptrace-run --os=syscalls -o b.log -- sh -c '(:); (:) & /bin/true; wait'
	for log in a.log b.log; do
		ptrace-stat --pairs --json "$log" | jq -e '.pairs[0] | .unmatched_ends == 0 and .count > 50'
	done
	[ "$(ptrace-dump --count --format=text --event=os.syscall.end --where 'data.result == 0' b.log)" -gt 0 ]
}

# The kernel's events come late, so that some are older than events that the ring has overwritten already.
@test "events that a ring cannot show are lost in the log, for the run and for its readers" {
	needs_calls
	ptrace-run --quiet --json=run.json -o a.log --no-loss --os=syscalls --stream-min-size=1M --log-full-policy=loop \
		--log-max-size=256K -- "$traced" -n 60000 || [ $? -eq 3 ]
	ptrace-stat --json a.log >stat.json || [ $? -eq 3 ]
	jq -se '.[0].events == .[1].event_count and .[0].losses == .[1].losses and .[0].losses.log_events > 0 and
		(.[0].losses.stream_events // 0) == 0' run.json stat.json
}

@test "page faults have the memory, and the instruction" {
	needs_os
	cat >touch.c <<-'EOF'
		#include <stdio.h>
		#include <sys/mman.h>

		static __attribute__((noinline)) void touches(volatile char *at, long pages)
		{
			for (long i = 0; i < pages; i++)
				at[i * 4096] = 1;
		}

		int main(void)
		{
			char *at = mmap(NULL, 1 << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			madvise(at, 1 << 22, MADV_NOHUGEPAGE);
			touches(at, 1024);
			printf("%p\n", (void *)at);
			return 0;
		}
	EOF
	${CC:-cc} -g1 -O2 -Wl,--build-id touch.c -o touch
	at=$(ptrace-run --os=faults -o a.log -- ./touch)
	[ "$(ptrace-dump --count --format=text --event=os.fault \
		--where "data.memory >= $at && data.memory < $((at + 1024 * 4096))" a.log)" -eq 1024 ]
	fields a.log os.fault .data.major | grep -qx false
	if has_symbols; then
		[ "$(ptrace-dump --symbols --json --event=os.fault a.log 2>/dev/null |
			jq -r '.symbols.place.function // empty' | grep -c '^touches$')" -eq 1024 ]
	fi
}

@test "all kinds together" {
	needs_calls
	ptrace-run --os=syscalls,faults,samples,sched,process -o a.log -- \
		sh -c "$PTRC_BUILD/tests/support/os_work spin 200; $PTRC_BUILD/tests/support/os_work switches 50 >/dev/null"
	for type in fork exec exit switch_in switch_out sample syscall.begin syscall.end fault; do
		[ "$(events a.log os.$type)" -gt 0 ]
	done
	[ "$(events a.log os.sample)" -ge 60 ]
	ptrace-doctor -- /bin/true | grep -q '^ok .* can be recorded: --os=process,sched,samples,syscalls,faults$'
	[ "$(ptrace-run --os=faults,samples=99,syscalls --dump-config true | grep ^os)" = "os: syscalls,faults,samples=99" ]
}

@test "where the kernel refuses system calls, a line says which setting allows them" {
	paranoid=$(cat /proc/sys/kernel/perf_event_paranoid) || skip "no perf_event_paranoid"
	[ "$paranoid" -eq 2 ] || skip "perf_event_paranoid is $paranoid"
	without_privileges --os=syscalls,faults -- /bin/true
	[[ $stderr != *"no events of the operating system"* ]] || skip "$stderr"
	assert_one_message ptrace-run
	[[ $stderr == *"--os: no system calls: kernel.perf_event_paranoid is 2, and 1 allows them: sysctl kernel.perf_event_paranoid=1; --waits needs none of it"* ]]
	# The rest is there.
	[ "$(events a.log os.fault)" -gt 10 ]
	[ "$(ptrace-stat a.log | grep -cF os.syscall)" -eq 0 ]
	run_split setpriv --reuid 65534 --regid 65534 --clear-groups ptrace-doctor
	grep -q '^ok .*perf_event_open(2): allowed: --os=process,sched,samples,faults$' stdout.txt
	run_split setpriv --reuid 65534 --regid 65534 --clear-groups ptrace-doctor -- /bin/true
	grep -q '^ok .* can be recorded: --os=process,sched,samples,faults$' stdout.txt
}

@test "what the kernel lost is a loss at its place for pairs, gaps, reports and exports" {
	made a.log <<-'END'
		layout os.lost u64 events, u32 processor, bool withheld
		event 100 7 8 os.syscall.begin
		event 200 7 8 os.syscall.end
		event 300 7 8 os.syscall.begin
		event 300 7 8 os.lost u64:5 u32:0 u8:0
		event 5000 7 8 os.syscall.end
		event 5100 7 8 os.syscall.begin
		event 5300 7 8 os.syscall.end
	END
	for options in "" "--event=os.syscall.*"; do
		ptrace-stat --json --pairs $options a.log | jq -e '.pairs[0] | .count == 2 and .cut == 1 and
			.unmatched_begins == 0 and .unmatched_ends == 0 and .max_ns == 200'
	done
	[ "$(ptrace-dump --json --fields=ns,event,gap a.log | jq -c .gap_ns)" = $'null\n100\n100\n0\nnull\n100\n200' ]
	# The time without an event is not that of the loss.
	ptrace-report --text a.log >text
	[[ $(sed -n '/^The longest time without/,$p' text) == *"200ns process 7, thread 8"* ]]
	ptrace-report -o a.html a.log
	sed -n 's/.*<script type="application\/json" id="meta">\(.*\)<\/script>$/\1/p' a.html | jq -e '.losses | length == 1'
	for options in "" "--event=os.syscall.end"; do
		ptrace-export --to=chrome $options a.log | jq -e '.traceEvents | map(select(.cat == "loss")) |
			length == 1 and .[0].name == "events lost" and .[0].dur == 4.7'
		ptrace-export --to=otlp $options a.log | jq -se 'map(.resourceLogs[]?.scopeLogs[].logRecords[] |
			select(.eventName == "events lost")) | length == 1'
	done
}

@test "a loss comes after the last system call that was read before it" {
	needs_calls
	exits 3 env POSIXTRACE_OS_BYTES=16384 ptrace-run --os=syscalls -o a.log -- \
		sh -c "kill -STOP \$PPID; dd if=/dev/zero of=/dev/null bs=1 count=5000 status=none; sleep 0.05; kill -CONT \$PPID; sleep 0.2; /bin/true"
	# No event of the same processor has the time of the loss and follows it.
	ptrace-dump --json --fields=ns,event,pid,gap --allow-loss a.log | jq -se '[.[] | select(.event == "os.lost")] | length >= 1'
	ptrace-dump --json --fields=ns,event,pid,gap --allow-loss a.log | jq -se '. as $all |
		[range(length - 1) | select($all[.].event == "os.lost") | $all[. + 1]] | all(.gap_ns == null)'
	ptrace-dump --json --fields=ns,event --allow-loss a.log | jq -se '. as $all |
		[range(length - 1) | select($all[.].event == "os.lost" and $all[. + 1].event != "os.lost" and $all[.].ns == $all[. + 1].ns)] == []'
	ptrace-stat --allow-loss --pairs --json a.log | jq -e '.pairs | map(.cut) | add > 0'
}
