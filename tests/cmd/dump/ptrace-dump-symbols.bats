#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # $CC and its flags are several words
# ptrace-dump --symbols: functions, files and lines of events.

load ../../support/helpers

setup() {
	PATH=$PTRACE_BIN:$PATH
	cd "$BATS_TEST_TMPDIR" || return 1
	unset TZ DEBUGINFOD_URLS
	static=$PTRC_BUILD/lib/.libs/libposixtrace.a
	[ -e "$static" ] || skip "no static library in this build"
	needs_symbols
	make_sources
}

# What is traced. "HERE: name" marks the line that the event of this name comes from.
make_sources() {
	cat >program.c <<-'END'
		#include <sys/wait.h>
		#include <trace.h>
		#include <unistd.h>

		#ifdef HAS_LIBRARY
		void in_library(trace_event_id_t id);
		#endif

		static inline __attribute__((always_inline)) void inlined(trace_event_id_t id)
		{
			posix_trace_event(id, "inlined", 7); /* HERE: inlined */
		}

		static __attribute__((noinline)) void outer(trace_event_id_t id)
		{
			inlined(id);
			posix_trace_event(id, "outer", 5); /* HERE: outer */
			__asm__ volatile("");
		}

		int main(int argc, char **argv)
		{
			trace_event_id_t id;
			int status;
			char c;

			if (posix_trace_eventid_open("here", &id))
				return 1;
			outer(id);
		#ifdef HAS_LIBRARY
			in_library(id);
		#endif
			if (argc > 1 && fork() == 0) {
				posix_trace_event(id, "child", 5); /* HERE: child */
				if (read(0, &c, 1) < 0)
					return 1;
				execv(argv[1], argv + 1);
				return 1;
			}
			if (argc > 1 && wait(&status) < 0)
				return 1;
			return 0;
		}
	END
	cat >library.c <<-'END'
		#include <trace.h>

		void in_library(trace_event_id_t id);

		void in_library(trace_event_id_t id)
		{
			posix_trace_event(id, "library", 7); /* HERE: library */
			__asm__ volatile("");
		}
	END
}

# compile OUTPUT SOURCE FLAG...
compile() {
	${CC:-cc} -g -O2 ${PTRC_SAN_CFLAGS-} -I"$PTRC_SOURCE/include" -Wl,--build-id "${@:2}" \
		"$static" -pthread -o "$1"
}

line_of() {
	grep -hn "HERE: $1 " ./*.c* | cut -d: -f1
}

# shows LOG DATA FUNCTION FILE: the event with this data comes from this function, and from the
# line with this mark in the file
shows() {
	local found
	found=$(ptrace-dump --symbols --json "$1" |
		jq -r "select(.data == \"$2\") | \"\(.function) \(.file) \(.line)\"")
	[ "$found" = "$3 $PWD/$4 $(line_of "$2")" ] || {
		echo "$2: $found" >&2
		return 1
	}
}

@test "--symbols tells function, file and line of any kind of program" {
	for kind in '-fPIE -pie' '-fno-pie -no-pie' '-static -fno-pie' '-fPIE -static-pie'; do
		if [ -n "${PTRC_SAN_CFLAGS-}" ] && [[ $kind == *static* ]]; then
			continue
		fi
		compile program program.c $kind
		ptrace-run -o run.log -- ./program
		shows run.log inlined inlined program.c
		shows run.log outer outer program.c
		ptrace-run -o again.log -- ./program
		shows again.log outer outer program.c
	done
	# A compiler that leaves no table of addresses.
	command -v clang >/dev/null && [ -z "${PTRC_SAN_CFLAGS-}" ] || return 0
	CC=clang compile program program.c
	ptrace-run -o run.log -- ./program
	shows run.log outer outer program.c
}

@test "an event of posixtrace.hpp comes from the function that records it" {
	[ -n "$CXX" ] || skip "no C++ compiler"
	cat >events.cc <<-'END'
		#include <posixtrace.hpp>
		static posixtrace::event<int> number{"number", "n"};
		static posixtrace::span_type<int> work{"work", "n"};
		namespace app {
		struct till {
			void act(int n);
		};
		__attribute__((noinline)) void till::act(int n)
		{
			posixtrace::span s{work, n}; /* HERE: begin */
			number(n); /* HERE: event */
			[n] { number(n); /* HERE: lambda */ }();
		} /* HERE: end */
		} // namespace app
		int main() { app::till().act(1); }
	END
	for level in -O0 -O2; do
		$CXX -std=c++17 -g $level -Wl,--build-id -I"$PTRC_SOURCE/include" ${PTRC_SAN_CFLAGS-} events.cc \
			"$PTRC_BUILD/lib/.libs/libposixtrace.a" -o events
		ptrace-run -o run.log -- ./events
		ptrace-dump --symbols --json --user run.log | jq -r '"\(.event) \(.function) \(.line)"' >shown
		grep -qx "work.begin app::till::act $(line_of begin)" shown
		grep -qx "number app::till::act $(line_of event)" shown
		grep -qx "number app::till::act::operator() $(line_of lambda)" shown || [ $level = -O2 ]
		grep -q "^work.end app::till::act " shown
		fails grep -q 'posixtrace::\|_Z' shown
	done
}

@test "shared libraries, children and other programs" {
	${CC:-cc} -g -O2 -fPIC -shared -I"$PTRC_SOURCE/include" -Wl,--build-id library.c \
		-o libhere.so
	compile program program.c -DHAS_LIBRARY -Wl,-E -L. -lhere "-Wl,-rpath,$PWD"
	cat >other.c <<-'END'
		#include <stdlib.h>
		#include <trace.h>
		static __attribute__((noinline)) void elsewhere(trace_event_id_t id)
		{
			posix_trace_event(id, "other", 5); /* HERE: other */
			__asm__ volatile("");
		}
		int main(void)
		{
			trace_event_id_t id;
			if (posix_trace_eventid_open("here", &id))
				return 1;
			elsewhere(id);
			return 0;
		}
	END
	compile other other.c
	listens pid '' ptrace-run -o run.log --name="$me" -- ./program ./other
	# The child executes the other program when the log tells what it was before.
	is_told() {
		ptrace-flush "$me"
		[ "$(ptrace-stat --allow-loss --json run.log 2>/dev/null | jq '[.processes[]? | select(.name == "program")] | length')" -eq 2 ]
	}
	wait_until is_told
	exec 7>&-
	ends 0 "${pids##* }"
	shows run.log library in_library library.c
	shows run.log child main program.c
	shows run.log other elsewhere other.c
	# Two logs, of two runs of one program at different addresses.
	ptrace-run -o more.log -- ./program
	[ "$(ptrace-dump --symbols --fields=function --where 'function == "in_library"' --json \
		run.log more.log | grep -c in_library)" -eq 2 ]
}

@test "a file with another build id is never used, and told once" {
	compile program program.c
	ptrace-run -o run.log -- ./program
	ptrace-run -o more.log -- ./program
	mv program traced
	sed 's/^int main/int more;\n\n\n&/' program.c >changed.c
	compile program changed.c
	rm changed.c
	exits 0 ptrace-dump --symbols --json run.log more.log
	[ "$(grep -c '"function"' <<<"$stdout")" -eq "$(grep -c '"file"' <<<"$stdout")" ]
	jq -se 'map(select(.data == "outer") | [.function, .file, .line]) | unique == [[null, null, null]]' stdout.txt
	[ "$(grep -c "^ptrace-dump: $PWD/program: this file is not the one" stderr.txt)" -eq 1 ]
	rm program
	exits 0 ptrace-dump --symbols --json run.log
	[ "$(grep -c "^ptrace-dump: $PWD/program: .*not there any more" stderr.txt)" -eq 1 ]
	# Whatever may stand there, nothing waits for it.
	mkfifo program
	exits 0 timeout "$patience" ptrace-dump --symbols --json run.log
	rm program
	mv traced program
	shows run.log outer outer program.c
	# No build id, no symbols: nobody knows whether it is the same file.
	compile program program.c -Wl,--build-id=none
	ptrace-run -o run.log -- ./program
	answers 0 'select(.data == "outer") | .function == null' ptrace-dump --symbols --json run.log
	grep -q "^ptrace-dump: $PWD/program: the log does not tell the build id" stderr.txt
}

@test "debug files are found by build id" {
	command -v objcopy >/dev/null || skip "no objcopy"
	for kind in '-fPIE -pie' '-fno-pie -no-pie'; do
		compile program program.c $kind
		ptrace-run -o run.log -- ./program
		id=$(ptrace-stat --json run.log |
			jq -r '.processes[] | select(.name == "program") | .build_id' | head -n 1)
		objcopy --only-keep-debug program split
		objcopy --strip-all program stripped
		objcopy --strip-debug program named
		# The stripped program with its debug file, then the latter alone.
		for file in stripped none; do
			rm -f program
			[ "$file" = none ] || cp "$file" program
			in_mounts 0 'mkdir -p /usr/lib/debug
				mount -t tmpfs none /usr/lib/debug
				mkdir -p "/usr/lib/debug/.build-id/${1:0:2}"
				cp split "/usr/lib/debug/.build-id/${1:0:2}/${1:2}.debug"
				ptrace-dump --symbols --json run.log' "$id"
			for function in inlined outer; do
				jq -e --arg f $function --argjson line "$(line_of $function)" \
					'select(.data == $f) | .function == $f and .line == $line' stdout.txt
			done
		done
		# Without it there may be the names that the dynamic linker needs, and a message.
		cp stripped program
		answers 0 'select(.data == "outer") | .line == null' ptrace-dump --symbols --json run.log
		names=", so only names of functions are known"
		nm -D --defined-only program | grep -q ' T ' || names=" and no symbols, so not even names of functions are known"
		grep -qx "ptrace-dump: $PWD/program: has no debug information$names" stderr.txt
		cp named program
		answers 0 'select(.data == "outer") | .function == "outer" and .line == null' ptrace-dump --symbols --json run.log
		grep -qx "ptrace-dump: $PWD/program: has no debug information, so only names of functions are known" stderr.txt
	done
}

@test "an array of places has the names that are known, and none if it is none of them" {
	cat >array.c <<-'END'
		#include <posixtrace.h>
		#include <trace.h>

		int main(void)
		{
			const void *places[2] = {(const char *)(void *)main + 1, (const void *)16};
			trace_event_id_t id;

			if (posixtrace_eventid_open_layout("here", "caller[2] at", &id))
				return 1;
			posix_trace_event(id, places, sizeof(places));
			places[0] = places[1];
			posix_trace_event(id, places, sizeof(places));
			return 0;
		}
	END
	compile program array.c
	ptrace-run -o run.log -- ./program
	[ "$(ptrace-dump --symbols --format=text --event=here run.log | sed 's/.* at=//; s/\[0x[0-9a-f]*/[ADDRESS/')" = \
		$'[ADDRESS,0x10]<main,->\n[ADDRESS,0x10]' ]
}

@test "--symbols in text, --fields and --where, and with threads" {
	compile program program.c
	ptrace-run -o run.log -- ./program
	[ "$(ptrace-dump --symbols --format=text --event=here run.log | sed 's/.* 0x[0-9a-f]* //; s/   */ /')" = \
		"inlined (program.c:$(line_of inlined)) \"inlined\"
outer (program.c:$(line_of outer)) \"outer\"" ]
	ptrace-dump --symbols --header=always run.log | head -n 1 | grep -q 'address  *source  *data'
	[ "$(ptrace-dump --symbols --fields=function,line,file --json --where 'function == "outer"' \
		run.log)" = "{\"function\":\"outer\",\"line\":$(line_of outer),\"file\":\"$PWD/program.c\"}" ]
	[ "$(ptrace-dump --symbols --count --where "line == $(line_of inlined) && file =~ \"program\"" \
		run.log)" = 1 ]
	# Without the option nothing of it is there.
	[ "$(ptrace-dump --json run.log | grep -c '"function"')" -eq 0 ]
	ptrace-run -o many.log -- "$traced" -t 4 -n 3000
	ptrace-dump --symbols --threads=1 --json many.log >one
	ptrace-dump --symbols --threads=4 --json many.log | cmp - one
	[ "$(grep -c '"function":"emit"' one)" -eq 12000 ]
	valid event <one
}

@test "what a stream holds and what is followed" {
	cat >waits.c <<-'END'
		#include <trace.h>
		#include <unistd.h>

		static __attribute__((noinline)) void early(trace_event_id_t id)
		{
			posix_trace_event(id, "early", 5); /* HERE: early */
			__asm__ volatile("");
		}

		static __attribute__((noinline)) void late(trace_event_id_t id)
		{
			posix_trace_event(id, "late", 4); /* HERE: late */
			__asm__ volatile("");
		}

		int main(void)
		{
			trace_event_id_t id;
			char c;

			if (posix_trace_eventid_open("here", &id) || write(1, "ready\n", 6) != 6 ||
			    read(0, &c, 1) != 1)
				return 1;
			early(id);
			if (write(1, "early\n", 6) != 6 || read(0, &c, 1) != 1)
				return 1;
			late(id);
			return write(1, "late\n", 5) != 5 || read(0, &c, 1) != 1;
		}
	END
	compile waits waits.c
	listens pid ready ./waits
	ptrace-create --pid="$pid" --name="$me.a" --start
	begins follower ptrace-dump --symbols --json --follow="$me.a" --event=here --first=2 >followed 7>&-
	go early
	# What is shown at once has all of it, and does not wait for the end of the process.
	wait_until grep -q early followed
	silently 0 ptrace-dump --symbols --json --event=here "$me.a"
	[ "$(jq -r '"\(.function) \(.file) \(.line)"' <<<"$stdout")" = "early $PWD/waits.c $(line_of early)" ]
	[ "$(ptrace-dump --symbols --where 'function == "early"' --count --format=text "$me.a")" -eq 1 ]
	go
	wait_until grep -q late followed
	ends 0 "$follower"
	[ "$(jq -r '"\(.data) \(.function) \(.file) \(.line)"' followed)" = \
		"early early $PWD/waits.c $(line_of early)"$'\n'"late late $PWD/waits.c $(line_of late)" ]
	ptrace-shutdown "$me.a"
	exec 7>&-
}

@test "what --symbols cannot be used with" {
	ptrace-run -o run.log -- "$traced"
	for option in --fields=line --where=function; do
		reports 2 "*need --symbols*" ptrace-dump "$option" run.log
	done
	# A library that is no library, or is not there.
	mkdir broken
	: >broken/libdw.so.1
	LD_LIBRARY_PATH=broken refuses 1 '*libdw.so.1*' ptrace-dump --symbols run.log
}
