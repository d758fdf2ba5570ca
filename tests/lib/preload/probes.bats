#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # $CC and its flags are several words
# ptrace-run --sdt and ptrace-events --sdt: probes of programs that tests compile.

load ../../support/helpers

cc=${CC:-cc}
here=$PTRC_SOURCE/tests/lib/preload

command -v ${CC:-cc} >/dev/null || lacking="no compiler"

# compile: the program and the library
compile() {
	$cc -O2 -I"$PTRC_SOURCE" -o probes "$here/probes.c" -ldl
	$cc -O2 -I"$PTRC_SOURCE" -shared -fPIC -Wl,-z,noseparate-code -o library.so "$here/probes_library.c"
}

# data EVENT LOG: the data of its events
data() {
	ptrace-dump --json --event="$1" "$2" | jq -c .data
}

@test "probes are recorded with their arguments, in the program and in libraries that it loads" {
	compile
	[ "$(./probes 3 ./library.so)" = "2 traps, own handler" ]
	exits 0 ptrace-run -o run.log --sdt -- ./probes 3 ./library.so
	[ "$stdout" = "2 traps, own handler" ]
	[ -z "$stderr" ]
	[ "$(data sdt.app.step run.log)" = $'{"a1":0,"a2":-5}\n{"a1":1,"a2":-5}\n{"a1":2,"a2":-5}' ]
	[ "$(data sdt.app.guarded run.log)" = $'{"a1":0.5,"a2":0}\n{"a1":0.5,"a2":1}\n{"a1":0.5,"a2":2}' ]
	counts run.log sdt.app.step=3 sdt.app.guarded=3 sdt.app.none=1 sdt.app.handler=1 sdt.library.reach=2 \
		sdt.left_out=1
	[ "$(data sdt.library.reach run.log)" = $'{"a1":7}\n{"a1":8}' ]
	[ "$(data sdt.left_out run.log)" = '{"probe":"app.unknown"}' ]
	[ "$(data sdt.app.handler run.log)" = '{"a1":10}' ]
}

@test "patterns select probes, and traps, forks and new programs are as without" {
	compile
	says_nothing ptrace-run -o run.log --sdt='app.n*' --sdt=library.reach -- sh -c 'exec ./probes 3 ./library.so >out'
	counts run.log sdt.app.none=1 sdt.library.reach=2
	reports 0 "sh: no probe was recorded: neither it nor a program that it executed reached one that --sdt selects, or *" \
		ptrace-run -o none.log --sdt=nothing -- sh -c 'exec ./probes 3 >out'
	# A trap that is no probe's ends the program as it would without.
	exits 133 sh -c './probes 1 ./library.so trap'
	exits 133 ptrace-run -o run.log --sdt -- ./probes 1 ./library.so trap
	counts run.log sdt.app.step=1 sdt.app.guarded=1 sdt.app.none=1 sdt.app.handler=1 sdt.library.reach=2 \
		sdt.left_out=1
	# A program forked, executed and started again.
	says_nothing ptrace-run -o run.log --sdt -- sh -c './probes 2 >out; (./probes 1 >out); exec ./probes 4 >out'
	counts run.log sdt.app.step=7 sdt.app.guarded=7 sdt.app.none=3 sdt.app.handler=3 sdt.left_out=3
}

@test "a damaged note is no probe, and the program runs as without" {
	compile
	objcopy --dump-section .note.stapsdt=notes probes
	# The addresses of all notes, which no instruction has; then random bytes.
	for seed in zero 1 2 3 4 5 6 7 8; do
		python3 - $seed <<-'END'
			import random, sys
			notes = bytearray(open('notes', 'rb').read())
			if sys.argv[1] == 'zero':
			    for at in range(20, 44):
			        notes[at] = 0xff
			else:
			    r = random.Random(int(sys.argv[1]))
			    for i in range(12):
			        notes[r.randrange(len(notes))] = r.randrange(256)
			open('damaged', 'wb').write(notes)
		END
		objcopy --update-section .note.stapsdt=damaged probes damaged.program
		exits 0 ptrace-run -o run.log --force --sdt -- ./damaged.program 2 ./library.so
		[ "$stdout" = "2 traps, own handler" ]
		counts_at_least=$(ptrace-dump --count --event=sdt.library.reach --format=text run.log)
		[ "$counts_at_least" -eq 2 ]
		exits 0 ptrace-events --sdt ./damaged.program
	done
}

@test "ptrace-events --sdt lists the probes of a program and of its libraries" {
	compile
	$cc -O2 -I"$PTRC_SOURCE" -o linked "$here/probes.c" -Wl,--no-as-needed ./library.so -ldl -Wl,-rpath,"$PWD"
	exits 0 ptrace-events --sdt ./probes
	grep -x '     1  sdt.app.step  i32 a1, i64 a2' <<<"$stdout"
	grep -x '     1  sdt.app.guarded  f64 a1, u16 a2' <<<"$stdout"
	grep -x '     0  sdt.app.unknown  (1 left out, with arguments 8@nowhere)' <<<"$stdout"
	grep -x '     1  sdt.app.none' <<<"$stdout"
	[ "$(ptrace-events --sdt --names ./library.so)" = sdt.library.reach ]
	ptrace-doctor --json -- ./linked | jq -se 'any(.check == "sdt" and .status == "ok" and (.message | startswith("it and its libraries have 6 ")))'
	exits 0 ptrace-events --sdt --json ./linked
	valid probes <<<"$stdout"
	jq -se 'any(.event == "sdt.library.reach" and (.file | endswith("/library.so")) and .places == 1) and
		any(.event == "sdt.app.unknown" and .left_out == 1 and .places == 0)' <<<"$stdout"
	[ "$(PATH=$PWD:$PATH ptrace-events --sdt --names probes)" = "$(ptrace-events --sdt --names ./probes)" ]
	# A program without its loader has them, too.
	mkdir bin
	python3 -c 'import sys; sys.stdout.buffer.write(sys.stdin.buffer.read().replace(b"/ld-linux", b"/no-linux"))' \
		<probes >bin/loaderless
	chmod +x bin/loaderless
	[ "$(PATH=$PWD/bin:$PATH ptrace-events --sdt --names loaderless 2>/dev/null)" = "$(ptrace-events --sdt --names ./probes)" ]
	exits 0 ptrace-events --sdt "$(command -v true)"
	[ -z "$(grep -v -e '^/' -e '^ ' <<<"$stdout")" ]
	reports 1 "nothing: No such file or directory" ptrace-events --sdt nothing
	echo text >text
	reports 1 "./text: Exec format error" ptrace-events --sdt ./text
	echo '#!/bin/sh' >script
	chmod +x script
	PATH=$PWD:$PATH reports 1 "$PWD/script: a script has no probes, only programs and libraries have" \
		ptrace-events --sdt script
	reports 2 "no PROGRAM given*" ptrace-events --sdt
	$cc -O2 -static -I"$PTRC_SOURCE" -o static "$here/probes.c" -ldl 2>/dev/null || return 0
	ptrace-doctor --json -- ./static | jq -se 'any(.check == "preload" and (.message | contains("linked statically"))) and all(.check != "waits")'
}

@test "a program that handles, blocks or waits for signals does so as without probes" {
	$cc -O2 -I"$PTRC_SOURCE" -o signals "$here/signals.c" -pthread
	for case in blocked cancel jump old small trap vfork; do
		status=0
		./signals $case >expected 2>&1 || status=$?
		exits $status ptrace-run -o run.log --force --sdt -- ./signals $case
		[ "$stdout" = "$(cat expected)" ]
		[ "$(data sdt.signals.reach run.log | head -n 1)" = '{"a1":11}' ]
	done
	counts run.log sdt.signals.reach=2
}

@test "a SIGTRAP that comes just before a thread waits for it ends the wait" {
	# sigwait() of a library that is searched before the C library.
	cat >before.c <<-'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <signal.h>
		#include <unistd.h>
		int sigwait(const sigset_t *set, int *number)
		{
			int (*next)(const sigset_t *, int *) = (int (*)(const sigset_t *, int *))dlsym(RTLD_NEXT, "sigwait");
			kill(getpid(), SIGTRAP);
			return next(set, number);
		}
	END
	cat >wait.c <<-'END'
		#include <signal.h>
		#include <unistd.h>
		#include "tests/support/sdt.h"
		int main(void)
		{
			sigset_t trap;
			int number = 0;
			alarm(60);
			sigemptyset(&trap);
			sigaddset(&trap, SIGTRAP);
			sigprocmask(SIG_BLOCK, &trap, NULL);
			sigwait(&trap, &number);
			PROBE("wait", "ended", 0, "-4@%0", "r"(number));
			return 0;
		}
	END
	$cc -shared -fPIC -o before.so before.c -ldl
	$cc -O2 -I"$PTRC_SOURCE" -o wait wait.c ./before.so
	exits 0 ./wait
	says_nothing ptrace-run -o run.log --sdt -- ./wait
	[ "$(data sdt.wait.ended run.log)" = '{"a1":5}' ]
}

@test "of two threads that wait for SIGTRAP, the one whose wait goes on gets it" {
	cat >wait.c <<-'END'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <signal.h>
		#include <stdio.h>
		#include <sys/syscall.h>
		#include <time.h>
		#include <unistd.h>
		#include "tests/support/sdt.h"
		static sigset_t trap;
		static _Atomic int waiter;
		static void *wait_for_trap(void *arg)
		{
			int number = 0;
			waiter = (int)syscall(SYS_gettid);
			sigwait(&trap, &number);
			PROBE("wait", "ended", 0, "-4@%0", "r"(number));
			return arg;
		}
		static int waits(void)
		{
			char path[64];
			long number = -1;
			FILE *f;
			snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", waiter);
			f = fopen(path, "r");
			if (f && fscanf(f, "%ld", &number) != 1)
				number = -1;
			if (f)
				fclose(f);
			return number == SYS_rt_sigtimedwait;
		}
		int main(void)
		{
			const struct timespec now = {0, 0};
			pthread_t thread;
			alarm(60);
			sigemptyset(&trap);
			sigaddset(&trap, SIGTRAP);
			pthread_sigmask(SIG_BLOCK, &trap, NULL);
			pthread_create(&thread, NULL, wait_for_trap, NULL);
			while (!waits())
				usleep(1000);
			sigtimedwait(&trap, NULL, &now);
			kill(getpid(), SIGTRAP);
			return pthread_join(thread, NULL);
		}
	END
	$cc -O2 -pthread -I"$PTRC_SOURCE" -o wait wait.c
	exits 0 ./wait
	says_nothing ptrace-run -o run.log --sdt -- ./wait
	[ "$(data sdt.wait.ended run.log)" = '{"a1":5}' ]
}

@test "a program that is started with SIGTRAP blocked reaches its probes" {
	$cc -O2 -I"$PTRC_SOURCE" -o signals "$here/signals.c" -pthread
	exits 0 env --block-signal=TRAP "$(command -v ptrace-run)" -o run.log --sdt -- ./signals
	counts run.log sdt.signals.reach=1
}

@test "notes that are wrong, doubled or too long are left out, and a filter of system calls is kept" {
	$cc -O2 -I"$PTRC_SOURCE" -o odd_notes "$here/odd_notes.c" -ldl
	compile
	$cc -O2 -I"$PTRC_SOURCE" -DWIDE -shared -fPIC -o wide.so "$here/probes_library.c"
	expected=$(./odd_notes ./library.so ./wide.so)
	exits 3 ptrace-run -o run.log --sdt -- ./odd_notes ./library.so ./wide.so
	[ "$stdout" = "$expected" ]
	[[ $stderr == "ptrace-run: run.log: at least 1 event name got no type of its own, as it has another layout"* ]]
	data sdt.left_out run.log | jq -r .probe | sed 's/twice_again/twice/; s/\(odd.abc\).*\(.\{10\}\)/\1...\2/' | sort >left_out
	diff left_out - <<-'END'
		*
		odd.abc...hijabcdefg
		odd.twice
		odd.wrong_constant
		odd.wrong_counter
		odd.wrong_counter_nowhere
		odd.wrong_nowhere
		odd.wrong_variable
	END
	[ "$(data sdt.odd.far run.log)" = $'{"a1":42}\n{"a1":0}' ]
	[ "$(ptrace-dump --count --format=text --event='sdt.odd.twice*' run.log)" = 1 ]
	# A name has one layout in a process.
	counts run.log sdt.library.reach=2 posix_trace_unnamed_userevent=2 sdt.odd.far=2 sdt.left_out=8 \
		"$(ptrace-dump --json --event='sdt.odd.twice*' run.log | jq -r .event)=1"
}

@test "libraries loaded and unloaded for ever need no more memory, also if a debugger keeps each SIGTRAP" {
	compile
	# It does so 210 times, and fails if it then needs more memory.
	cat >load.c <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>
		#include <stdlib.h>
		static long pages(void)
		{
			long size = 0;
			FILE *file = fopen("/proc/self/statm", "r");
			if (!file || fscanf(file, "%ld", &size) != 1)
				exit(1);
			fclose(file);
			return size;
		}
		int main(int argc, char **argv)
		{
			long before = 0;
			for (int i = 0; i < 210; i++) {
				if (i == 10)
					before = pages();
				for (int k = 1; k < argc; k++) {
					void *library = dlopen(argv[k], RTLD_NOW);
					void (*reach)(int) = library ? (void (*)(int))dlsym(library, "reach") : 0;
					if (reach)
						reach(i);
					if (!library || dlclose(library))
						return 1;
				}
			}
			return pages() - before > 100;
		}
	END
	$cc -o load load.c -ldl
	echo 'int none;' >none.c
	$cc -shared -fPIC -o none.so none.c
	says_nothing ptrace-run -o run.log --sdt -- ./load ./library.so ./none.so
	counts run.log sdt.library.reach=210
	cat >keep.c <<-'END'
		#include <signal.h>
		#include <sys/ptrace.h>
		#include <sys/wait.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			int status;
			pid_t child = fork();
			if (!child) {
				ptrace(PTRACE_TRACEME, 0, 0, 0);
				execv(argv[1], argv + 1);
				_exit(127);
			}
			while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
				ptrace(PTRACE_CONT, child, 0, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
	END
	$cc -o keep keep.c
	exits 0 ptrace-run -o run.log --sdt -- ./keep ./load ./library.so
	exits 0 ptrace-run -o other.log --sdt -- ./keep ./probes 3
}

@test "the probes of a library whose file was replaced are named, and its code is not changed" {
	compile
	echo 'int none;' >none.c
	$cc -O2 -I"$PTRC_SOURCE" -shared -fPIC -o other.so none.c "$here/probes_library.c"
	cp library.so first.so
	# A constructor that runs before the preloaded library's is the last moment before it reads the file.
	cat >replace.c <<-'END'
		#include <stdio.h>
		static void replace(void) { rename("other.so", "first.so"); }
		__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = replace;
		void reach(int);
		int main(void) { reach(1); return puts("done") < 0; }
	END
	$cc -o replace replace.c ./first.so
	exits 0 ptrace-run -o run.log --sdt -- ./replace
	[ "$stdout" = "done" ]
	counts run.log sdt.left_out=1
	[ "$(data sdt.left_out run.log)" = '{"probe":"library.reach"}' ]
}
