#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# ptrace-stat --waits: why threads waited.

load ../../support/helpers

# The layouts of the events of waits, with the few calls that these logs have.
layouts() {
	cat <<-'END'
		layout wait.lock.begin enum u32 {pthread_mutex_lock, sem_wait} call, i32 holder, x64 lock, caller call_site
		layout wait.lock.end i64 result, i32 error
		layout wait.io.begin enum u32 {read, write, poll} call, i32 fd, u64 size, caller call_site, str path
		layout wait.io.end i64 result, i32 error
		layout wait.net.begin enum u32 {recv, sendto} call, i32 fd, u64 size, caller call_site, str peer
		layout wait.net.end i64 result, i32 error
		layout wait.sleep.begin enum u32 {usleep} call, i64 duration ns, caller call_site
		layout wait.sleep.end i64 result, i32 error
		layout wait.child.begin enum u32 {waitpid} call, i32 pid, caller call_site
		layout wait.child.end i64 result, i32 error
		layout wait.thread enum u32 {start, end} at, i32 thread, u64 processor ns, u64 runnable ns
		layout os.switch_in u32 processor
		layout os.switch_out u32 processor, bool preempted
	END
}

# waits LOG: a log of the events of standard input
waits() {
	{ layouts; cat; } | made "$1"
}

# Each kind; a wait within another one; a wait that does not end.
example() {
	waits "$1" <<-'END'
		thread 0 10 11 teller
		thread 0 10 12 clerk
		event 1000000 10 11 wait.lock.begin u32:0 u32:12 u64:0x1000 u64:0x111
		event 2000000 10 10 wait.io.begin u32:0 u32:3 u64:100 u64:0x333 str:/etc/x
		event 4000000 10 11 wait.lock.end u64:0 u32:0
		event 5000000 10 11 wait.lock.begin u32:1 u32:0 u64:0x1000 u64:0x222
		event 6000000 10 11 wait.lock.end u64:0 u32:0
		event 7000000 10 12 wait.lock.begin u32:0 u32:11 u64:0x2000 u64:0x111
		event 8000000 10 11 wait.sleep.begin u32:0 u32:0 u64:6000000 u64:0x444
		event 9000000 10 11 wait.io.begin u32:0 u32:3 u64:100 u64:0x333 str:/etc/x
		event 10000000 10 11 wait.io.end u64:-1 u32:4
		event 10000001 10 10 wait.io.end u64:60 u32:0
		event 11000000 10 10 wait.io.begin u32:1 u32:4 u64:40 u64:0x333 str:/out
		event 12000000 10 10 wait.io.end u64:40 u32:0
		event 12500000 10 10 wait.io.begin u32:2 u32:-1 u64:2 u64:0x333 str:
		event 12600000 10 10 wait.io.end u64:1 u32:0
		event 13000000 10 10 wait.net.begin u32:0 u32:5 u64:9 u64:0x333 str:tcp%201.2.3.4:5
		event 14000000 10 11 wait.sleep.end u64:0 u32:0
		event 16000000 10 10 wait.net.end u64:7 u32:0
		event 18000000 10 10 wait.child.begin u32:0 u32:77 u64:0x333
		event 19000000 10 10 wait.child.end u64:77 u32:0
		event 20000000 10 10 app.end
	END
}

@test "tables: who waited, for what, and who held it" {
	example run.log
	silently 0 ptrace-stat --waits run.log
	diff <(sed 's/ *$//' <<<"$stdout") - <<-'END'
		log run.log

		Still waiting at the end, and for how long already
		   13.000ms  process 10, thread 12 clerk: pthread_mutex_lock for lock 0x2000, held by thread 11 teller, called by 0x111

		Waits by kind
		     waits      open    no end  no begin       cut      total        p50        p99        max  kind
		         3         1         0         0         0   17.000ms    3.000ms   13.000ms   13.000ms  lock
		         4         0         0         0         0   10.100ms    1.000ms    8.000ms    8.000ms  io
		         1         0         0         0         0    3.000ms    3.000ms    3.000ms    3.000ms  net
		         1         0         0         0         0    6.000ms    6.000ms    6.000ms    6.000ms  sleep
		         1         0         0         0         0    1.000ms    1.000ms    1.000ms    1.000ms  child

		Threads, and where their time went
		       seen  processor          runnable           waiting              lock                io               net             sleep             child           longest  thread
		   18.000ms          -                 -          13.100ms   73 %        0ns    0 %    9.100ms   51 %    3.000ms   17 %        0ns    0 %    1.000ms    6 %    8.000ms  process 10, thread 10; longest: /etc/x
		   13.000ms          -                 -          13.000ms  100 %   13.000ms  100 %        0ns    0 %        0ns    0 %        0ns    0 %        0ns    0 %   13.000ms  process 10, thread 12 clerk; longest: lock 0x2000
		   13.000ms          -                 -          10.000ms   77 %    4.000ms   31 %    1.000ms    8 %        0ns    0 %    5.000ms   38 %        0ns    0 %    6.000ms  process 10, thread 11 teller; longest: usleep
		  How long threads were on a processor or runnable is not known: the log lacks os.switch_in and os.switch_out (ptrace-run --os=sched) and wait.thread (--waits).

		Locks
		     waits      open      total        p50        p99        max  lock, its holders and its callers, with their shares of the waits
		         1         1   13.000ms   13.000ms   13.000ms   13.000ms  0x2000 of process 10
		                                                                    held by thread 11 teller (100 %)
		                                                                    called by 0x111 (100 %)
		         2         0    4.000ms    1.000ms    3.000ms    3.000ms  0x1000 of process 10
		                                                                    held by thread 12 clerk (50 %)
		                                                                    called by 0x111 (50 %), 0x222 (50 %)

		Files
		     waits      open      total        p50        p99        max         read      written  file
		         2         0    9.000ms    1.000ms    8.000ms    8.000ms           60            0  /etc/x
		         1         0    1.000ms    1.000ms    1.000ms    1.000ms            0           40  /out
		         1         0  100.000us  100.000us  100.000us  100.000us            0            0  poll (no path)

		Peers
		     waits      open      total        p50        p99        max         read      written  peer
		         1         0    3.000ms    3.000ms    3.000ms    3.000ms            7            0  tcp 1.2.3.4:5

		Sleeps
		     waits      open      total        p50        p99        max  call
		         1         0    6.000ms    6.000ms    6.000ms    6.000ms  usleep

		Children
		     waits      open      total        p50        p99        max  call
		         1         0    1.000ms    1.000ms    1.000ms    1.000ms  waitpid
	END
}

@test "JSON says the same, and what the schema says" {
	example run.log
	silently 0 ptrace-stat --waits --json run.log
	! has_validator || validates waits <<<"$stdout"
	jq -e '.kind == "log" and .log == "run.log" and .complete and .took_ns == 19000000 and (.has_switches | not) and
		(.still_waiting | length == 1) and (.still_waiting[0] | .tid == 12 and .thread == "clerk" and
			.kind == "lock" and .call == "pthread_mutex_lock" and .lock == "0x2000" and .holder == 11 and
			.holder_name == "teller" and .duration_ns == 13000000 and .call_site == "0x111" and
			.since_ns == 1700000000007000000) and
		(.threads[2] | .tid == 11 and .seen_ns == 13000000 and .waiting_ns == 10000000 and .count == 4 and
			.by_kind == {lock: 4000000, io: 1000000, net: 0, sleep: 5000000, child: 0} and
			.longest == {kind: "sleep", call: "usleep", duration_ns: 6000000} and
			(has("processor_ns") | not)) and
		(.locks[1] | .lock == "0x1000" and .pid == 10 and .count == 2 and .total_ns == 4000000 and
			.holders == [{tid: 12, thread: "clerk", count: 1, total_ns: 3000000}] and
			[.places[].call_site] == ["0x111", "0x222"]) and
		(.files[0] | .path == "/etc/x" and .read_bytes == 60 and .p99_ns == 8000001) and
		(.files[2] | .call == "poll" and (has("path") | not))' <<<"$stdout"
}

@test "the figures are those of another program" {
	command -v python3 >/dev/null || skip "no python3"
	for seed in 1 2 3 4 5 6 7 8; do
		python3 "$PTRC_SOURCE/tests/support/waits.py" "$seed" expected.json | made run.log
		ptrace-stat --waits --json run.log | jq -S '
			[(.locks[] | .kind = "lock" | .subject = .lock), (.files[] | .kind = "io" | .subject = .path),
			 (.peers[] | .kind = "net" | .subject = .peer), (.sleeps[] | .kind = "sleep" | .subject = .call),
			 (.children[] | .kind = "child" | .subject = .call)] as $rows |
			{threads: ([.threads[] | select(.pid == 7) | [.tid, .seen_ns, .processor_ns, .runnable_ns, .not_known_ns,
				.count, .waiting_ns, .longest.duration_ns, .by_kind.lock, .by_kind.io, .by_kind.net,
				.by_kind.sleep, .by_kind.child]] | sort),
			rows: ([$rows[] | [.kind, .subject, .count, .open, .total_ns, .p50_ns, .p99_ns, .max_ns,
				.read_bytes // 0, .written_bytes // 0]] | sort),
			holders: ([.locks[] | .lock as $l | .holders[] | [$l, .tid, .count, .total_ns]] | sort),
			places: ([.locks[] | .lock as $l | .places[] | [$l, .call_site, .count, .total_ns]] | sort),
			open: (.still_waiting | length)}' >found.json
		diff <(jq -S . expected.json) found.json
	done
}

@test "a selection: events, threads, times, and expressions about waits" {
	example run.log
	found() {
		exits 0 ptrace-stat --waits --json "$@" run.log
		jq -r '[.kinds[] | select(.count > 0) | "\(.kind)=\(.count)"] + [.still_waiting[] | "open \(.duration_ns)"] |
			join(" ")' <<<"$stdout"
	}
	[ "$(found --event='wait.lock.*')" = "lock=3 open 13000000" ]
	[ "$(found --tid=11)" = "lock=2 io=1 sleep=1" ]
	[ "$(found --pid=10 --where='data.path == "/etc/x"')" = "io=2" ]
	[ "$(found --where='duration > 5ms')" = "lock=1 io=1 sleep=1 open 13000000" ]
	[ "$(found --where='end.data.result == 60')" = "io=1" ]
	[ "$(found --where='data.holder == 11')" = "lock=1 open 13000000" ]
	# What the threads waited for at that time.
	[ "$(found --until=@1700000000.009000000)" = "lock=3 io=2 open 7000000 open 2000000 open 0" ]
	# The time that the trace took is that of the selected time, not of the selected events.
	for option in --tid=11 --event='wait.lock.*' --event=app.end --since=@1700000000; do
		answers 0 '.took_ns == 19000000' ptrace-stat --waits --json "$option" run.log
	done
	answers 0 '.took_ns == 6500000' ptrace-stat --waits --json --event=app.end \
		--since=@1700000000.0025 --until=@1700000000.009 run.log
	# A wait that had begun before has no begin.
	answers 0 '[.kinds[] | .unmatched_ends] == [1, 1, 0, 0, 0]' ptrace-stat --waits --json --since=@1700000000.003 run.log
	# Without the ends it is not known which waits ended.
	[ -z "$(found --event='wait.*.begin')" ]
	[ "$(jq -c '[.kinds[].unmatched_begins]' <<<"$(ptrace-stat --waits --json --event='wait.*.begin' run.log)")" = "[3,4,1,1,1]" ]
	reports 1 "--where: no event has data.pth (did you mean 'data.path'*" ptrace-stat --waits --where='data.pth == "x"' run.log
}

@test "a wait without an end lasts until its thread ended, and is not open if its thread went on" {
	waits run.log <<-'END'
		event 1000 5 5 wait.lock.begin u32:0 u32:0 u64:1 u64:2
		event 1001 5 6 wait.lock.begin u32:0 u32:0 u64:1 u64:2
		event 1002 5 7 wait.lock.begin u32:0 u32:0 u64:1 u64:2
		event 1003 9 9 wait.lock.begin u32:0 u32:0 u64:1 u64:2
		event 1004 9 8 wait.lock.begin u32:0 u32:0 u64:1 u64:2
		event 2000 5 6 wait.sleep.begin u32:0 u32:0 u64:1 u64:2
		event 2100 5 6 wait.sleep.end u64:0 u32:0
		event 3000 5 7 os.exit
		event 3000 9 9 os.exit
		event 3900 9 9 os.command u32:0 u32:0
		event 3900 9 9 os.went_on u32:1
		event 4000 5 5 end
	END
	exits 0 ptrace-stat --waits --json --allow-loss run.log
	# A process ends with its last thread, so that of 9 8 goes on.
	jq -e '[.still_waiting[] | [.tid, .duration_ns]] == [[5, 3000], [8, 2996], [7, 1998], [9, 1997]] and
		(.kinds[0] | .count == 4 and .open == 4 and .total_ns == 9991 and .unmatched_begins == 1)' <<<"$stdout"
	# os.command and os.went_on have the numbers of a thread that has ended.
	jq -e '[.threads[] | select(.tid == 9).seen_ns] == [1997]' <<<"$stdout"
}

@test "times on a processor and runnable, as the kernel counts them" {
	# A thread that ends; one that another thread ends; one that executes a program; one whose number is used again;
	# one that was killed; one of which the start is missing; one that switches, and whose sums of the kernel are longer
	# than its life; a child that waited for nothing.
	waits run.log <<-'END'
		event 1000 5 5 wait.thread u32:0 u32:5 u64:100 u64:10
		event 1001 5 6 wait.thread u32:0 u32:6 u64:0 u64:0
		event 1002 6 6 wait.thread u32:0 u32:6 u64:0 u64:0
		event 1003 5 7 wait.thread u32:0 u32:7 u64:0 u64:0
		event 1004 7 7 wait.thread u32:0 u32:7 u64:0 u64:0
		event 1005 5 8 wait.sleep.begin u32:0 u32:0 u64:1 u64:2
		event 1006 5 8 wait.sleep.end u64:0 u32:0
		event 1007 9 9 wait.thread u32:0 u32:9 u64:0 u64:0
		event 1008 9 9 os.switch_in u32:0
		event 1108 9 9 os.switch_out u32:0 u8:1
		event 1200 6 6 wait.thread u32:0 u32:6 u64:50 u64:5
		event 1300 5 7 wait.thread u32:1 u32:7 u64:20 u64:2
		event 1400 5 7 wait.thread u32:0 u32:7 u64:0 u64:0
		event 1500 5 7 wait.thread u32:1 u32:7 u64:7 u64:1
		event 1550 7 7 app
		event 2000 5 5 wait.thread u32:1 u32:5 u64:700 u64:30
		event 2000 5 5 wait.thread u32:1 u32:6 u64:600 u64:40
		event 2000 5 5 wait.thread u32:1 u32:8 u64:500 u64:40
		event 2000 5 5 wait.thread u32:1 u32:99 u64:500 u64:40
		event 2001 6 6 wait.thread u32:1 u32:6 u64:90 u64:9
		event 2008 9 9 wait.thread u32:1 u32:9 u64:900 u64:190
		event 3000 3 3 wait.thread u32:0 u32:3 u64:0 u64:0
		event 3001 3 3 wait.thread u32:1 u32:3 u64:400 u64:50
	END
	silently 0 ptrace-stat --waits --json run.log
	jq -e '[.threads[] | [.pid, .tid, .seen_ns, .processor_ns, .runnable_ns]] | sort == [[3, 3, 450, 400, 50],
		[5, 5, 1000, 600, 20], [5, 6, 999, 600, 40], [5, 7, 497, 27, 3], [5, 8, 995, null, null],
		[6, 6, 999, 90, 9], [7, 7, 546, null, null], [9, 9, 1001, 100, 900]]' <<<"$stdout"
	# Without the start of a thread it is not known how much of the sum is from the selected time.
	ptrace-stat --waits --json --since=@1700000000.000001150 run.log |
		jq -e '[.threads[] | [.pid, .tid, .processor_ns]] | sort == [[3, 3, 400], [5, 5, null], [5, 7, 7], [6, 6, 40], [7, 7, null], [9, 9, null]]'
	waits run.log <<-'END'
		event 1000 5 5 wait.thread u32:0 u32:5 u64:100 u64:10
		event 2000 5 5 wait.thread u32:1 u32:5 u64:600 u64:20
	END
	silently 0 ptrace-stat --waits run.log
	diff <(sed 's/ *$//' <<<"$stdout") - <<-'END'
		log run.log

		Threads, and where their time went
		       seen  processor          runnable           waiting           longest  thread
		    1.000us      500ns   50 %       10ns    1 %        0ns    0 %          -  process 5, thread 5
	END
}

@test "a wait ends with its thread, whichever thread records the end" {
	waits run.log <<-'END'
		event 1000 5 5 wait.thread u32:0 u32:5 u64:0 u64:0
		event 1000 5 6 wait.thread u32:0 u32:6 u64:0 u64:0
		event 1000 5 7 wait.thread u32:0 u32:7 u64:0 u64:0
		event 1000 5 8 wait.thread u32:0 u32:8 u64:0 u64:0
		event 1100 5 6 wait.lock.begin u32:0 u32:0 u64:1 u64:2
		event 1200 5 7 wait.lock.begin u32:0 u32:0 u64:1 u64:2
		event 1300 5 6 wait.thread u32:1 u32:6 u64:0 u64:0
		event 1400 5 5 wait.thread u32:1 u32:5 u64:0 u64:0
		event 1400 5 5 wait.thread u32:1 u32:7 u64:0 u64:0
		event 1400 5 5 wait.thread u32:1 u32:8 u64:0 u64:0
		event 1450 5 8 wait.lock.begin u32:0 u32:0 u64:1 u64:2
		event 1500 5 6 wait.thread u32:0 u32:6 u64:0 u64:0
		event 1600 5 6 wait.lock.begin u32:0 u32:0 u64:1 u64:2
		event 2000 9 9 end
	END
	# Thread 7 ended with its process; 8 began a wait in that time; the number of 6 is used again.
	ptrace-stat --waits --json run.log | jq -e '[.still_waiting[] | [.tid, .duration_ns]] == [[6, 400], [7, 200], [8, 0]] and
		.kinds[0].unmatched_begins == 1 and
		([.threads[] | select(.tid == 7).seen_ns] == [400])'
	waits run.log <<-'END'
		event 1000 5 6 wait.thread u32:0 u32:6 u64:0 u64:0
		event 1100 5 6 wait.lock.begin u32:0 u32:0 u64:1 u64:2
		event 1300 5 6 wait.thread u32:1 u32:6 u64:0 u64:0
		event 1500 5 6 wait.thread u32:0 u32:6 u64:0 u64:0
		event 2000 9 9 end
	END
	# Another thread has the number of the one that waited.
	ptrace-stat --waits --json run.log | jq -e '.still_waiting == [] and .kinds[0].unmatched_begins == 1'
}

@test "losses cut waits" {
	waits run.log <<-'END'
		event 1000 5 5 wait.lock.begin u32:0 u32:0 u64:1 u64:2
		event 2000 5 5 posix_trace_overflow
		event 3000 5 5 posix_trace_resume
		event 4000 5 5 wait.lock.end u64:0 u32:0
		event 5000 5 5 wait.lock.begin u32:0 u32:0 u64:1 u64:2
		event 5100 5 5 wait.lock.end u64:0 u32:0
	END
	answers 0 '.kinds[0] | .count == 1 and .cut == 1 and .total_ns == 100' ptrace-stat --waits --json run.log
}

@test "events of these names with other data" {
	made run.log <<-'END'
		layout wait.lock.begin str lock, u32 holder
		layout wait.io.begin f64 path, u8[4] call
		event 1 5 5 wait.lock.begin hex:410001
		event 2 5 5 wait.lock.end
		event 3 5 5 wait.io.begin f64:2.5 hex:01020304
		event 4 5 5 wait.io.end u64:3
		event 5 5 5 wait.sleep.begin hex:ff
		event 9 0 0 end
	END
	answers 0 '[.kinds[].count] == [1, 1, 0, 1, 0] and .still_waiting[0].call == "sleep" and
		.files[0].call == "io" and .locks[0].lock == "0x0"' ptrace-stat --waits --json run.log
	# A call that is no valid text.
	made run.log <<-'END'
		layout wait.sleep.begin str call
		event 1 5 5 wait.sleep.begin hex:ff00
		event 9 5 5 wait.sleep.end
	END
	answers 0 '.sleeps[0].call_hex == "ff" and .threads[0].longest.call_hex == "ff"' ptrace-stat --waits --json run.log
}

@test "without waits: only that the reason is not known" {
	made run.log <<-'END'
		layout os.switch_out u32 processor, bool preempted
		event 1000 5 5 os.switch_in u32:0
		event 2000 5 5 os.switch_out u32:0 u8:0
		event 5000 5 5 os.switch_in u32:0
		event 5500 5 5 os.switch_out u32:0 u8:1
		event 5600 5 5 os.switch_in u32:0
	END
	silently 0 ptrace-stat --waits run.log
	grep -Fqx "  Why threads did not run is not known: the log has no waits (ptrace-run --waits)." <<<"$stdout"
	grep -Fq "    4.600us    1.500us   33 %      100ns    2 %        0ns    0 %    3.000us   65 %          -  process 5, thread 5" <<<"$stdout"
	echo "event 1 5 5 app" | made run.log
	reports 1 "run.log: no wait was recorded; ptrace-run --waits records waits" ptrace-stat --waits run.log
}

@test "the bytes of a copy count for the file whose descriptor the event has" {
	made run.log <<-'END'
		layout wait.io.begin enum u32 {sendfile, splice, copy_file_range} call, i32 fd, u64 size, caller call_site, str path
		layout wait.io.end i64 result, i32 error
		event 1 5 5 wait.io.begin u32:0 u32:3 u64:100 u64:2 str:/to
		event 2 5 5 wait.io.end u64:10 u32:0
		event 3 5 5 wait.io.begin u32:1 u32:3 u64:100 u64:2 str:/from
		event 4 5 5 wait.io.end u64:20 u32:0
		event 5 5 5 wait.io.begin u32:2 u32:3 u64:100 u64:2 str:/from
		event 6 5 5 wait.io.end u64:30 u32:0
	END
	ptrace-stat --waits --json run.log | jq -se 'map(.files[] | [.path, .read_bytes, .written_bytes]) | sort ==
		[["/from", 50, 0], ["/to", 0, 10]]'
}

@test "joins of threads that had the same address in turn are not one lock" {
	made run.log <<-'END'
		layout wait.lock.begin enum u32 {pthread_mutex_lock, pthread_join} call, i32 holder, x64 lock, caller call_site
		layout wait.lock.end i64 result, i32 error
		event 1 5 5 wait.lock.begin u32:1 u32:6 u64:2748 u64:2
		event 2 5 5 wait.lock.end u64:0 u32:0
		event 3 5 5 wait.lock.begin u32:1 u32:7 u64:2748 u64:2
		event 5 5 5 wait.lock.end u64:0 u32:0
		event 6 5 5 wait.lock.begin u32:0 u32:6 u64:3000 u64:2
		event 7 5 5 wait.lock.end u64:0 u32:0
		event 8 5 5 wait.lock.begin u32:0 u32:7 u64:3000 u64:2
		event 9 5 5 wait.lock.end u64:0 u32:0
	END
	ptrace-stat --waits --json run.log |
		jq -e '[.locks[] | [.lock, .count, [.holders[].tid]]] | sort ==
			[["0xabc", 1, [6]], ["0xabc", 1, [7]], ["0xbb8", 2, [6, 7]]]'
}

@test "the first 20 rows of a table, and a count of the rest" {
	for ((i = 0; i < 25; i++)); do
		echo "event $((i * 100)) 5 5 wait.io.begin u32:0 u32:3 u64:1 u64:2 str:/file$i"
		echo "event $((i * 100 + 10 + i)) 5 5 wait.io.end u64:1 u32:0"
	done | waits run.log
	exits 0 ptrace-stat --waits run.log
	[ "$(grep -c /file <<<"$stdout")" -eq 21 ]
	grep -Fqx "  and 5 more" <<<"$stdout"
	fails grep -q '/file4$' <<<"$stdout"
	[ "$(ptrace-stat --waits --json run.log | jq '.files | length')" -eq 25 ]
}

@test "several logs together" {
	example one.log
	example two.log
	exits 0 ptrace-stat --waits --json --label=a=one.log --label=b=two.log one.log two.log
	! has_validator || validates waits <<<"$stdout"
	jq -e '.kind == "logs" and .kinds[0].count == 6 and (.locks | length == 4) and (.files[0].count == 4) and
		([.threads[].log] | unique == ["one.log", "two.log"])' <<<"$stdout"
	exits 0 ptrace-stat --waits one.log two.log
	[ "$(grep -c '^log ' <<<"$stdout")" -eq 2 ]
}

@test "with symbols: the functions that waited, and locks that are variables" {
	needs_symbols
	ptrace-run --waits=lock -o run.log -- "$PTRC_BUILD/tests/support/waiter" locks
	answers 0 '[.locks[].variable | select(.)] | contains(["mutex", "rwlock", "semaphore", "condition"])' ptrace-stat --waits --symbols --json run.log
	jq -e 'any(.locks[] | select(.variable == "mutex") | .places[]; .place | startswith("locks at "))' <<<"$stdout"
	exits 0 ptrace-stat --waits --symbols run.log
	grep -q ' mutex of process [0-9]* waiter' <<<"$stdout"
}

@test "what goes together with it" {
	example run.log
	refuses 2 "--pairs: cannot be used together with --waits*" ptrace-stat --waits --pairs run.log
	refuses 2 "--symbols: needs --waits*" ptrace-stat --symbols run.log
}
