#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # options that are several words
# ptrace-run --waits: the calls in which programs wait, of tests/support/waiter.c and of programs of others.

load ../../support/helpers

waiter=$PTRC_BUILD/tests/support/waiter

# waits LOG: each wait on a line: call, text, size, result and error of those for descriptors; call, holder,
# lock and error of those for locks; call, duration or process, result and error of the others
waits() {
	ptrace-dump --json --event='wait.*.*' "$1" | jq -rn '
		reduce inputs as $e ({open: {}, all: []}; ($e.tid | tostring) as $t |
			if $e.event | endswith(".begin") then
				.open[$t] += [.all | length] | .all += [$e.data]
			else
				.all[.open[$t][-1]] += $e.data | .open[$t] |= .[:-1]
			end) |
		.all[] | ((.path // .peer) | if . == "" then "-" else . end) as $text |
		if .lock then [.call, .holder, .lock, .error]
		elif .fd then [.call, ($text | sub("^pipe:.*"; "pipe")), .size, .result, .error]
		else [.call, .duration // .pid, .result, .error] end | map(tostring) | join(" ")'
}

# as_without KIND...: the waiter does the same as without the option
as_without() {
	exits 0 "$waiter" "$@"
	silently 0 ptrace-run --waits --no-loss --quiet -o run.log -- "$waiter" "$@"
}

# no_begin_is_alone N LOG: but for N, each begin has its end
no_begin_is_alone() {
	[ "$(ptrace-stat --json --pairs "$2" |
		jq '[.pairs[] | .unmatched_begins + .unmatched_ends] | add')" -eq "$1" ]
}

@test "locks: who holds them, and how long a thread waited" {
	as_without locks
	waits run.log >found
	# The thread that comes last to a barrier waits, too, as nothing says that it is the last.
	diff stdout.txt <(uniq found)
	no_begin_is_alone 0 run.log
	# The holder held the lock for 20 ms at least while the thread waited.
	ptrace-dump --pairs --json --event='wait.lock.*' run.log | head -n 1 | jq -e '.duration_ns >= 20000000'
}

@test "files: their paths, sizes and results" {
	as_without files
	waits run.log >found
	diff stdout.txt found
}

@test "sockets: their peers" {
	as_without sockets
	waits run.log >found
	diff stdout.txt found
	[ "$(ptrace-dump --json --event='wait.io.*' run.log | wc -l)" -eq 0 ]
}

@test "sleeps and children" {
	as_without others
	# Of 1000 seconds less than one had passed before the call, or a few.
	waits run.log | sed -E 's/ 99[0-9]{10} / 1000s /' >found
	child=$(<stdout.txt)
	cat >expected <<-END
		nanosleep 2000000 0 0
		clock_nanosleep 3000000 0 0
		clock_nanosleep 0 0 0
		clock_nanosleep 1000s 4 EINTR
		usleep 4000000 0 0
		sleep 0 0 0
		sigwait -1 0 0
		sigtimedwait 1000000 -1 EAGAIN
		system -1 768 0
		waitpid $child $child 0
		wait -1 -1 ECHILD
	END
	diff expected found
}

@test "only the kinds that GLOB selects" {
	kinds() {
		exits 0 ptrace-run "$@" --quiet -o run.log -- "$waiter" others
		ptrace-dump --json --event='wait.*.*' run.log | jq -r .event | cut -d. -f2 | sort -u | xargs
	}
	[ "$(kinds --waits)" = "child sleep" ]
	[ "$(kinds --waits=child)" = child ]
	[ "$(kinds --waits='s*')" = sleep ]
	[ "$(kinds --waits=sleep --waits='[c]hild')" = "child sleep" ]
	[ "$(kinds --waits --exclude='wait.sleep.*')" = child ]
	# A socket is of the kind net, whatever reads it.
	exits 0 ptrace-run --waits=net -o run.log -- "$waiter" sockets
	[ "$(ptrace-dump --json run.log | jq -r 'select(.data.call == "read") | .event' | sort -u)" = wait.net.begin ]
	printf 'waits: [child, "n*"]\n' >ptrace.yaml
	[ "$(kinds -c ptrace.yaml)" = child ]
	[ "$(kinds -c ptrace.yaml --waits=sleep)" = sleep ]
	[ "$(ptrace-run -c ptrace.yaml --dump-config | grep -A2 '^waits')" = $'waits:\n  - child\n  - "n*"' ]
	refuses 125 "--waits: 'disk' matches no kind of waits: lock, io, net, sleep, child. *" \
		ptrace-run --waits=disk -- true
	printf 'waits: [disk]\n' >ptrace.yaml
	refuses 125 "ptrace.yaml:1:9: waits: 'disk' matches no kind of waits: *" ptrace-run -c ptrace.yaml -- true
}

@test "the function that waits is named" {
	needs_symbols
	exits 0 ptrace-run --waits=lock -o run.log -- "$waiter" locks
	ptrace-dump --symbols --json --where='data.call == "pthread_mutex_lock"' run.log |
		jq -se 'length == 1 and all(.function == "locks" and .symbols.call_site.function == "locks")'
}

@test "handlers that wait interrupt calls that wait" {
	as_without signals
	no_begin_is_alone 0 run.log
	# Of a closed descriptor nothing is shown: each open file is one that was opened.
	[ "$(waits run.log | grep -E '^(read|open) ' | cut -d ' ' -f 2 | sort -u)" = /dev/zero ]
}

@test "a thread that is cancelled, and a handler that jumps, leave a begin without an end" {
	as_without jumps
	no_begin_is_alone 20 run.log
	[ -z "${PTRC_SAN_CFLAGS-}" ] || return 0 # the address sanitizer reports an error of its own
	as_without cancels
	[ "$(waits run.log | grep -v '^pthread_join' | cut -d ' ' -f 1 | xargs)" = "read pthread_cond_wait sem_wait sleep" ]
	no_begin_is_alone 4 run.log
}

@test "children and executed programs, but not the child of vfork" {
	as_without family
	waits run.log | cut -d ' ' -f 1,2 | sed 's|/proc/.*/|/proc/PID/|' | grep '^[or]' | sort | uniq -c |
		xargs -L 1 >found
	printf '%s\n' '1 open /dev/zero' '2 open /proc/PID/stat' '4 read /dev/zero' '2 read /proc/PID/stat' |
		diff - found
	no_begin_is_alone 0 run.log
}

@test "a descriptor's number that is used again is looked up again" {
	as_without reuses
	# Each file that was opened by the C library was read, and the last one is another.
	[ "$(waits run.log | grep '^open' | cut -d ' ' -f 2 | sed 's|/self/|/PID/|')" = \
		"$(waits run.log | grep '^read' | cut -d ' ' -f 2 | head -n -1 | sed 's|/proc/[0-9]*/|/proc/PID/|')" ]
	[[ $(waits run.log | tail -n 1) == "read /proc/"*"/maps 1 1 0" ]]
	as_without reopens
	waits run.log >found
	diff stdout.txt found
}

@test "threads that get each other's descriptors: each read shows the file that its thread opened" {
	as_without races
	ptrace-dump --json --event='wait.io.*' run.log | jq -rn '
		reduce inputs as $e ({}; ($e.tid | tostring) as $t |
			if $e.data.call == "open" then .[$t] = $e.data.path
			elif $e.data.path and .[$t] != $e.data.path then error("\($e), not \(.[$t])")
			else . end) | length' >threads
	[ "$(cat threads)" -eq 4 ]
	[ "$(waits run.log | grep -c '^read')" -eq 8000 ]
}

@test "a process that restricts its system calls is asked no more" {
	for how in '' x; do
		as_without restricts $how
		[ "$(waits run.log | sed 1,2d)" = $'read - 1 1 0\nopen - 0 3 0\nread - 1 1 0\nusleep 1000 0 0' ] ||
			{ waits run.log; false; }
		# The first event of a thread makes system calls that a filter may not allow.
		[ "$(ptrace-dump --json --event=wait.thread run.log | jq -r .data.at | xargs)" = start ]
	done
}

@test "a library that is loaded later" {
	command -v ${CC:-cc} >/dev/null || skip "no compiler"
	cat >waits.c <<-'END'
		#include <fcntl.h>
		#include <unistd.h>
		void waits(void) { char byte; int fd = open("/dev/zero", O_RDONLY); if (read(fd, &byte, 1) != 1) _exit(1); }
	END
	${CC:-cc} -shared -fPIC -o waits.so waits.c
	as_without loads "$PWD/waits.so"
	[ "$(waits run.log)" = $'open /dev/zero 0 3 0\nread /dev/zero 1 1 0' ]
}

@test "pairs, rules and exports take waits as they take any event" {
	cat >rules.yaml <<-'END'
		rules:
		  - name: sleeps
		    pair: wait.sleep.begin..wait.sleep.end
		    where: data.call == "usleep"
		    max: 10s
	END
	exits 0 ptrace-run --waits -o run.log --check=rules.yaml -- "$waiter" others
	[[ $stderr == *"1 passed"* || $stderr == *sleeps* ]]
	[ "$(ptrace-stat --json --pair='wait.sleep.begin..wait.sleep.end' run.log | jq .pairs[0].count)" -eq 8 ]
	[ "$(ptrace-export --to=chrome run.log | jq '[.traceEvents[] | select(.cat == "pair")] | length')" -eq 11 ]
}

@test "a program that has no waits, and one into which nothing can be loaded" {
	# A wrapper may have executed such a program, or one that does not get LD_PRELOAD.
	reason="no wait was recorded: neither it nor a program that it executed called a function that --waits selects,"
	reason+=" except inside the C library, or the program that did cannot be recorded (linked statically, privileged, of another user,"
	reason+=" or without LD_PRELOAD)"
	reports 0 "true: $reason" ptrace-run --waits -o run.log -- true
	reports 0 "env: $reason" ptrace-run --waits -o run.log -- env -i sleep 0
	command -v ${CC:-cc} >/dev/null || return 0
	printf '#include <unistd.h>\nint main(void) { usleep(1); return 3; }\n' >sleeper.c
	if ${CC:-cc} -static -o sleeper sleeper.c 2>/dev/null; then
		reports 3 "./sleeper: no wait was recorded: it is linked statically, so nothing can be loaded into it" \
			ptrace-run --waits -o run.log -- ./sleeper
		reports 3 "sh: $reason" ptrace-run --waits -o run.log -- sh -c 'exec ./sleeper'
	fi
	[ "$EUID" -eq 0 ] || return 0
	${CC:-cc} -o sleeper sleeper.c
	chown nobody sleeper
	chmod u+s sleeper
	reports 3 "./sleeper: no wait was recorded: it is privileged (set-user-ID or set-group-ID), so nothing is loaded into it" \
		ptrace-run --waits -o run.log -- ./sleeper
}

@test "the same output and status of programs that nobody here wrote" {
	same() {
		command -v "$1" >/dev/null || return 0
		local expected=0
		"$@" >bare.out 2>bare.err </dev/null || expected=$?
		run_split ptrace-run --waits --quiet --allow-loss -o run.log -- "$@" </dev/null
		[ "$status" -eq "$expected" ] && cmp bare.out stdout.txt && cmp bare.err stderr.txt
	}
	same ls -l /etc/passwd
	same sh -c 'for i in 1 2 3; do echo $i | cat; done; exit 4'
	same sqlite3 :memory: 'create table t(a); insert into t values(1),(2); select sum(a) from t;'
	same python3 -c 'import subprocess; print(subprocess.run(["echo", "hi"], capture_output=True))'
	same perl -e 'print `echo hello`; exit 2'
	same git --version
	same make --version
}

@test "the library itself does not wait" {
	shared=$PTRC_BUILD/lib/.libs/libposixtrace.so
	[ -z "${PTRC_SAN_CFLAGS-}" ] && [ -e "$shared" ] || skip "no shared library without sanitizers"
	cat >reader.c <<-'END'
		#include <fcntl.h>
		#include <pthread.h>
		#include <trace.h>
		#include <unistd.h>
		static trace_id_t log;
		static void *thread(void *p)
		{
			struct posix_trace_event_info info;
			char data[100];
			size_t size;
			int none = 0;
			while (!posix_trace_getnext_event(log, &info, data, sizeof(data), &size, &none) && !none)
				;
			return p;
		}
		int main(void)
		{
			pthread_t t[4];
			trace_event_id_t id;
			int fd = open("own.log", O_RDWR | O_CREAT | O_TRUNC, 0600);
			if (posix_trace_create_withlog(0, NULL, fd, &log) || posix_trace_start(log) ||
			    posix_trace_eventid_open("x", &id))
				return 1;
			for (int i = 0; i < 200000; i++)
				posix_trace_event(id, "12345678", 8);
			if (posix_trace_flush(log) || posix_trace_shutdown(log))
				return 2;
			if (posix_trace_open(fd, &log))
				return 3;
			for (int i = 0; i < 4; i++)
				pthread_create(&t[i], NULL, thread, NULL);
			for (int i = 0; i < 4; i++)
				pthread_join(t[i], NULL);
			if (posix_trace_close(log) || posix_trace_create(0, NULL, &log) || posix_trace_start(log))
				return 4;
			/* Shutting down waits for readers. */
			for (int i = 0; i < 4; i++)
				pthread_create(&t[i], NULL, thread, NULL);
			usleep(20000);
			if (posix_trace_shutdown(log))
				return 5;
			for (int i = 0; i < 4; i++)
				pthread_join(t[i], NULL);
			return 0;
		}
	END
	${CC:-cc} -o reader reader.c -I"$PTRC_SOURCE/include" "$shared" -Wl,-rpath,"${shared%/*}" -pthread
	exits 0 ptrace-run --waits --no-loss --quiet -o run.log -- ./reader
	[ "$(ptrace-dump --json --event='wait.*.begin' run.log | jq -r .data.call |
		grep -v pthread_join | sort -u | xargs)" = "open usleep" ]
}

# spent COMMAND...: runs the waiter's spends; what the kernel counted of a thread is at least what the thread itself saw,
# and the sum for the threads of a process no more than the process used
spent() {
	exits 0 "$@"
	jq -Rn '[inputs | split(" ")] | {
		threads: [.[] | select(.[0] == "thread") | [.[1:][] | tonumber]],
		processes: [.[] | select(.[0] == "process") | [.[1:][] | tonumber]]}' stdout.txt >own.json
	[ "$(jq '.threads | length' own.json)" -eq 24 ]
	ptrace-stat --waits --json run.log | jq -e --slurpfile own own.json '
		.threads as $seen | $own[0].processes[5][0] as $killed |
		all($own[0].threads[]; . as [$pid, $tid, $ns, $runnable] |
			[$seen[] | select(.pid == $pid and .tid == $tid)] |
			if $pid == $killed then all(has("processor_ns") | not)
			else length == 1 and (.[0] | .processor_ns >= $ns and .runnable_ns >= $runnable and
				.seen_ns >= .processor_ns) end) and
		all($own[0].processes[]; . as [$pid, $us] |
			([$seen[] | select(.pid == $pid) | .processor_ns // 0] | add) <= ($us + 2) * 1000)'
}

@test "how long each thread was on a processor, also where the kernel refuses perf events" {
	spent ptrace-run --waits=sleep --no-loss --quiet -o run.log -- "$waiter" spends
	spent "$PTRC_BUILD/tests/support/os_work" refused ptrace-run --waits --os=sched --no-loss -o run.log -- "$waiter" spends
	[[ $stderr == *"--os: no events of the operating system: perf_event_open(2): Operation not permitted"* ]]
	# A child that executes a program at once has no event of its own, so that each wait is one of that program.
	exits 0 ptrace-run --waits --quiet -o run.log -- sh -c '"$1" others; exit 0' sh "$waiter"
	pid=$(ptrace-dump --json --event='wait.sleep.begin' run.log | jq -s '.[0].pid')
	ptrace-stat --json run.log | jq -e "[.processes[] | select(.pid == $pid) | .name] == [\"waiter\"]"
	# Of a thread that was killed the times are unknown, not 0.
	exits 137 ptrace-run --waits --quiet -o run.log -- bash -c 'kill -9 $$'
	ptrace-stat --waits run.log >table
	grep -q '^ *[0-9.]*[mu]s  *-  *- .* process ' table
	grep -Fqx "  How long a thread was on a processor or runnable is known if its start and its end are in the log; a thread that was killed has no end." table
}

@test "LD_PRELOAD and the kinds reach the program, and nothing without the option" {
	run_split ptrace-run --waits=io --waits='l*' --quiet -o run.log -- \
		sh -c 'printf "%s %s" "${LD_PRELOAD##*/}" "$POSIXTRACE_WAITS"'
	[ "$stdout" = $'posixtrace-preload.so io\nl*' ]
	run_split ptrace-run --functions --quiet -o run.log -- sh -c 'echo "${POSIXTRACE_WAITS-none}"'
	[ "$stdout" = none ]
	[ "$(ptrace-dump --json --event='wait.*' run.log | wc -l)" -eq 0 ]
}
