#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # $CC and its flags are several words
# ptrace-run --functions: begin and end of the functions of programs that tests compile.

load ../../support/helpers

cc=${CC:-cc}
cxx=${CXX:-c++}
static=$PTRC_BUILD/lib/.libs/libposixtrace.a
shared=$PTRC_BUILD/lib/.libs/libposixtrace.so

command -v ${CC:-cc} >/dev/null || lacking="no compiler"

# compile PROGRAM SOURCE OPTION...: with hooks in its functions
compile() {
	$cc -O1 -g -fno-inline -finstrument-functions -o "$1" "$2" "${@:3}"
}

# calls LOG: begin and end of each function by name, without what is before and behind main
calls() {
	ptrace-dump --symbols --event='function.*' --json "$1" | jq -r '
		(if .event == "function.begin" then "+" else "-" end) + .symbols.function.function'
}

# names LOG FILE: functions that began, by the last digits of their addresses in the file, also of a process or
# library that was gone before anybody could look at what it has mapped
names() {
	ptrace-dump --json --event=function.begin "$1" | jq -r '.data.function[-3:]' | while read -r digits; do
		nm "$2" | awk -v d="$digits" 'tolower($2) == "t" && substr($1, length($1) - 2) == d { print $3 }'
	done
}

nested() {
	cat >nested.c <<-'END'
		#include <stdio.h>
		static int leaf(int n) { return n + 1; }
		int branch(int n) { return n ? branch(n - 1) : leaf(n); }
		__attribute__((constructor)) static void before(void) { leaf(0); }
		__attribute__((destructor)) static void after(void) { leaf(0); }
		int main(void) { printf("%d\n", branch(2)); return 7; }
	END
}

@test "--functions records begin and end of every function, by gcc and clang" {
	local compilers=("$cc") c
	needs_symbols
	nested
	! command -v clang >/dev/null || compilers+=(clang)
	! command -v gcc >/dev/null || compilers+=(gcc)
	for c in "${compilers[@]}"; do
		cc=$c compile nested nested.c
		exits 7 ptrace-run --functions -o run.log -- ./nested
		[ "$stdout" = 1 ]
		[ -z "$stderr" ]
		calls run.log >calls
		cat >expected <<-'END'
			+before
			+leaf
			-leaf
			-before
			+main
			+branch
			+branch
			+branch
			+leaf
			-leaf
			-branch
			-branch
			-branch
			-main
			+after
			+leaf
			-leaf
			-after
		END
		diff expected calls
	done
}

@test "function events tell function, call and line, and take two event types" {
	needs_symbols
	nested
	compile nested nested.c
	run_split ptrace-run --functions -o run.log -- ./nested
	# The address of the function is that of its first instruction.
	address=0x$(nm nested | awk '$3 == "branch" { sub(/^0*/, "", $1); print $1 }')
	ptrace-dump --symbols --json --event=function.begin run.log >begins
	head -n 4 begins | tail -n 1 | jq -se --arg low "${address: -3}" '.[0] |
		.data.function[-3:] == $low and .len == 16 and .function == "branch" and .line == 3 and
		.symbols.function.function == "branch" and .symbols.function.line == 3 and
		.symbols.call_site.function == "main" and .symbols.call_site.line == 6' ||
		{ cat begins; false; }
	# In text the names stand behind the addresses.
	ptrace-dump --symbols --format=text --event=function.begin run.log | tail -n +4 | head -n 1 |
		grep -q ' branch (nested.c:3) .*function=0x[0-9a-f]*<branch> call_site=0x[0-9a-f]*<main>$'
	ptrace-dump --format=text --event=function.begin run.log | head -n 1 |
		grep -q ' function=0x[0-9a-f]* call_site=0x[0-9a-f]*$'
	[ "$(ptrace-events --json run.log | jq -r 'select(.event | startswith("function")) |
		.event + " " + .layout' | sort)" = \
		"function.begin code function, caller call_site
function.end code function, caller call_site" ]
	# Arrays of such addresses are shown likewise.
	ptrace-dump --symbols --json --decode='*=caller[2] both' --event=function.begin run.log | sed -n 4p |
		jq -e '.symbols.both | length == 2 and .[1].function == "main"'
	ptrace-dump --symbols --format=text --decode='*=caller[2] both' --event=function.begin run.log |
		sed -n 4p | grep -q ' both=\[0x[0-9a-f]*,0x[0-9a-f]*\]<[^,]*,main>$'
	# They are a pair, also for each function alone.
	[ "$(ptrace-stat --json --pairs run.log |
		jq -c '.pairs[] | [.begin, .count, .unmatched_begins, .unmatched_ends]')" = \
		'["function.begin",9,0,0]' ]
	[ "$(ptrace-stat --json --pair='function.begin..function.end by data.function' run.log |
		jq -c '.pairs[0] | [.count, .unmatched_begins, .unmatched_ends]')" = '[9,0,0]' ]
	# In a tree of calls they have their names, which lie deeper where they were called from; their places
	# if nobody asks for names.
	place=nested+$address
	ptrace-dump --symbols --tree run.log >tree
	grep -q ')  *main {  function=' tree
	grep -q ')   *branch {  function=' tree
	grep -q ')  *} main  function=' tree
	[ "$(ptrace-dump --tree run.log | grep -cw main)" -eq 0 ]
	[ "$(ptrace-dump --tree run.log | grep -c " function $place {  function=")" -eq 3 ]
	# So do slices and flames.
	ptrace-export --symbols --to=folded run.log | grep -q '^nested;main;branch;[a-z]* [0-9]*$'
	[ "$(ptrace-export --to=folded run.log | grep -cw main)" -eq 0 ]
	ptrace-export --to=folded run.log |
		grep -q "^nested;function nested+0x[0-9a-f]*;function $place;function $place [0-9]*\$"
	ptrace-export --symbols --to=chrome run.log |
		jq -e '[.traceEvents[] | select(.cat == "pair") | .name] | length == 9 and index("main")'
	ptrace-export --to=chrome run.log | jq -e --arg branch "function $place" '
		[.traceEvents[] | select(.cat == "pair") | .name] |
		length == 9 and (map(select(. == $branch)) | length == 3) and
			all(startswith("function nested+0x"))'
	# In a report each function is a kind of pair, by its place if nobody asks for its name.
	ptrace-report -o report.html run.log
	sed -n 's/.*<script type="application\/json" id="meta">\(.*\)<\/script>$/\1/p' report.html >meta
	jq -e --arg branch "function $place" '.is_without_names and
		([.classes[] | select(.kind == 1)] | (length == 5) and (map(.count) | add == 9) and
		any(.name == $branch))' meta
	ptrace-report --symbols --text run.log >text
	[ "$(sed -n '/^pair /,/^$/p' text | grep -oE '^(main|branch|leaf|before|after) +[0-9]+' | sort | xargs)" = \
		'after 1 before 1 branch 3 leaf 3 main 1' ]
	grep -qE ' main \(process [0-9]+, thread [0-9]+\) at .*nested.c:6$' text
	ptrace-report --text run.log | grep -q '^function  *9 '
	[ "$(ptrace-report --text run.log | grep -cw main)" -eq 0 ]
	ptrace-report --symbols -o report.html run.log
	sed -n 's/.*<script type="application\/json" id="meta">\(.*\)<\/script>$/\1/p' report.html >meta
	jq -e 'has("is_without_names") | not' meta
	jq -ec '[.classes[] | select(.kind == 1) | [.name, .count]] | sort ==
			[["after", 1], ["before", 1], ["branch", 3], ["leaf", 3], ["main", 1]]' meta
	# The longest of other pairs tell where they began, too. A library with sanitizers needs more.
	if [ -z "${PTRC_SAN_CFLAGS-}" ] && [ -e "$static" ]; then
		printf '%s\n' '#include <trace.h>' 'int main(void) { trace_event_id_t b, e;' \
			'posix_trace_eventid_open("x.begin", &b); posix_trace_eventid_open("x.end", &e);' \
			'posix_trace_event(b, "", 0);' 'posix_trace_event(e, "", 0); return 0; }' >pair.c
		$cc -g -I "$PTRC_SOURCE/include" -o pair pair.c "$static" -pthread
		ptrace-run -o pair.log -- ./pair
		ptrace-report --symbols --text pair.log |
			grep -qE ' x \(process [0-9]+, thread [0-9]+\) in main at .*pair.c:4$'
	fi
	ptrace-dump --symbols --json run.log | valid event
}

@test "--functions=GLOB records the functions that it names" {
	needs_symbols
	nested
	compile nested nested.c
	exits 7 ptrace-run --functions='b?anch' -o run.log -- ./nested
	[ "$(calls run.log | sort | uniq -c | tr -s ' ')" = $' 3 +branch\n 3 -branch' ]
	# Several; none is recorded twice.
	run_split ptrace-run --functions='leaf' --functions='*a*' --functions=main -o run.log -- ./nested
	[ "$(calls run.log | grep -c +)" -eq 8 ]
	# One that has no name in any symbol table is one of all.
	strip nested
	run_split ptrace-run --functions=branch -o run.log -- ./nested
	[ "$(events run.log 'function.*')" -eq 0 ]
	run_split ptrace-run --functions='*' -o run.log -- ./nested
	[ "$(events run.log 'function.*')" -eq 18 ]
	run_split ptrace-run --functions=branch --functions -o run.log -- ./nested
	[ "$(events run.log 'function.*')" -eq 18 ]
	for glob in '' $'a\nb'; do
		exits 125 ptrace-run --functions="$glob" -- ./nested
		[[ $stderr == *"--functions: a pattern has one line, which is not empty"* ]]
	done
}

@test "functions of C++ are selected as the source names them" {
	command -v $cxx >/dev/null || skip "no compiler of C++"
	needs_symbols
	cat >names.cc <<-'END'
		#include <vector>
		namespace space {
		struct thing {
			thing() { }
			~thing() { }
			void act(int) const { }
			template <class T> void with(T) { }
		};
		void act() { }
		}
		namespace { void hidden() { } }
		template <int n> void counted() { }
		static void act() { }
		int main()
		{
			space::thing t;
			t.act(1);
			t.with(std::vector<int>());
			space::act();
			hidden();
			counted<3>();
			act();
		}
	END
	$cxx -O0 -g -finstrument-functions -o names names.cc
	selected() {
		ptrace-run --functions="$1" -o run.log -- ./names 2>/dev/null
		ptrace-dump --json --symbols --event=function.begin run.log | jq -r .symbols.function.function |
			c++filt -p | sed 's/anonymous namespace/anonymous/; s/^void //'
	}
	[ "$(selected 'space::act')" = space::act ]
	[ "$(selected 'act')" = act ]
	[ "$(selected 'space::thing::act')" = space::thing::act ]
	[ "$(selected '*::hidden')" = '(anonymous)::hidden' ]
	[ "$(selected 'counted' | cut -c 1-7)" = counted ]
	[ "$(selected 'space::thing::with' | wc -l)" -eq 1 ]
	[ "$(selected 'space::thing::thing')" = space::thing::thing ]
	[ "$(selected 'space::thing::~*')" = 'space::thing::~thing' ]
	[ "$(selected '_ZN5space3actEv')" = space::act ]
}

@test "threads, signal handlers and recursion: every function is in the log" {
	cat >threads.c <<-'END'
		#include <pthread.h>
		#include <signal.h>
		#include <stdlib.h>
		#include <unistd.h>
		enum { THREADS = 4, ROUNDS = 20000 };
		static volatile sig_atomic_t handled;
		static int deep(int n) { return n ? deep(n - 1) + 1 : 0; }
		static void in_handler(void) { handled++; }
		static void handler(int s) { (void)s; in_handler(); }
		static void work(void) { }
		static void *thread(void *p)
		{
			for (int i = 0; i < ROUNDS; i++)
				work();
			return p;
		}
		int main(void)
		{
			pthread_t t[THREADS];
			struct sigaction a = {.sa_handler = handler};
			struct timeval tick[2] = {{0, 100}, {0, 100}};
			sigaction(SIGPROF, &a, NULL);
			for (int i = 0; i < THREADS; i++)
				pthread_create(&t[i], NULL, thread, NULL);
			while (handled < 200) {
				deep(100);
				raise(SIGPROF);
				pthread_kill(pthread_self(), SIGPROF);
			}
			for (int i = 0; i < 300; i++)
				kill(getpid(), SIGPROF);
			for (int i = 0; i < THREADS; i++)
				pthread_join(t[i], NULL);
			return 0;
		}
	END
	compile threads threads.c -pthread
	exits 0 ptrace-run --functions --full-wait=10s -o run.log -- ./threads
	ptrace-dump --symbols --json --fields=event,tid,data.function --event='function.*' run.log >events
	# Of every thread, each begin has its end, and they are nested.
	jq -rn 'reduce inputs as $e ({}; ($e.tid | tostring) as $t |
		if $e.event == "function.begin" then .[$t] += [$e.data.function]
		elif .[$t][-1] == $e.data.function then .[$t] |= .[:-1]
		else error("\($e)") end) | map_values(length) | add' events >left
	[ "$(cat left)" -eq 0 ]
	function=$(nm threads | awk '$3 == "work" { print substr($1, length($1) - 2) }')
	[ "$(jq -r 'select(.event == "function.begin") | .data.function' events | grep -c "$function\$")" -eq 80000 ]
}

@test "a hook calls no function of the program, whatever these are called" {
	cat >own.c <<-'END'
		#include <stddef.h>
		#include <stdlib.h>
		size_t strlen(const char *s) { size_t n = 0; while (s[n]) n++; return n; }
		char *strchr(const char *s, int c) { while (*s && *s != c) s++; return *s ? (char *)s : 0; }
		int strcmp(const char *a, const char *b) { while (*a && *a == *b) a++, b++; return *a - *b; }
		void *memcpy(void *d, const void *s, size_t n) { for (size_t i = 0; i < n; i++) ((char *)d)[i] = ((char *)s)[i]; return d; }
		void *memset(void *d, int c, size_t n) { for (size_t i = 0; i < n; i++) ((char *)d)[i] = c; return d; }
		int memcmp(const void *a, const void *b, size_t n) { for (size_t i = 0; i < n; i++) if (((char *)a)[i] != ((char *)b)[i]) return 1; return 0; }
		static void f(void) { }
		int main(void) { f(); return 0; }
	END
	compile own own.c -rdynamic -fno-builtin -fno-tree-loop-distribute-patterns 2>/dev/null ||
		compile own own.c -rdynamic -fno-builtin
	exits 0 timeout "$patience" ptrace-run --functions='[fm]*' -o run.log -- ./own
	[ "$(names run.log own | grep -c '^f$')" -eq 1 ]
	exits 0 timeout "$patience" ptrace-run --functions -o run.log -- ./own
	[ "$(names run.log own | grep -c '^f$')" -eq 1 ]
}

@test "functions that are left by longjmp and by an exception" {
	command -v $cxx >/dev/null || skip "no compiler of C++"
	needs_symbols
	cat >leave.cc <<-'END'
		#include <csetjmp>
		static jmp_buf place;
		static void jumps() { longjmp(place, 1); }
		static void throws() { throw 1; }
		static void through() { throws(); }
		static void last() { }
		int main()
		{
			if (!setjmp(place))
				jumps();
			try { through(); } catch (int) { }
			last();
		}
	END
	$cxx -O1 -g -fno-inline -finstrument-functions -o leave leave.cc
	exits 0 ptrace-run --functions -o run.log -- ./leave
	[ -z "$stderr" ]
	# The code of clang does not end the functions that an exception leaves.
	left="-throws -through "
	! $cxx --version | grep -q clang || left=
	[ "$(calls run.log | c++filt -p | tr '\n' ' ')" = "+main +jumps +through +throws $left+last -last -main " ]
}

@test "children and executed programs record their functions, too" {
	cat >family.c <<-'END'
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static void in_parent(void) { }
		static void in_child(void) { }
		static void in_vfork(void) { }
		static void in_next(void) { }
		int main(int argc, char **argv)
		{
			if (argc > 1) {
				in_next();
				return 0;
			}
			if (!fork()) {
				in_child();
				execl(argv[0], argv[0], "next", (char *)NULL);
			}
			if (!vfork()) {
				in_vfork();
				_exit(0);
			}
			in_parent();
			while (wait(NULL) > 0)
				;
			return 0;
		}
	END
	compile family family.c
	exits 0 ptrace-run --functions='in_*' -o run.log -- ./family
	[ -z "$stderr" ]
	[ "$(names run.log family | sort | tr '\n' ' ')" = "in_child in_next in_parent " ]
	[ "$(ptrace-dump --json --event=function.begin run.log | jq -s 'map(.pid) | unique | length')" -eq 2 ]
	# A script is no such program, but what it starts is.
	run_split ptrace-run --functions='in_next' -o run.log -- sh -c './family one; ./family two'
	[ "$(events run.log function.begin)" -eq 2 ]
}

@test "a program that has the library keeps it: both record into one log, in order" {
	needs_symbols
	cat >both.c <<-'END'
		#include <stdlib.h>
		#include <trace.h>
		#include <unistd.h>
		#include <sys/wait.h>
		static trace_event_id_t id;
		static void emit(const char *text) { posix_trace_event(id, text, 1); }
		__attribute__((constructor)) static void first(void)
		{
			posix_trace_eventid_open("mine", &id);
			emit("a");
		}
		static void last(void) { emit("d"); }
		int main(void)
		{
			atexit(last);
			emit("b");
			if (!fork()) {
				emit("c");
				exit(0);
			}
			wait(NULL);
			return 0;
		}
	END
	expected="+first +emit a -emit -first +main +emit b -emit +emit c -emit +last +emit d -emit -last -main +last +emit d -emit -last "
	story() {
		ptrace-dump --symbols --json --event='function.*' --event=mine run.log | jq -r '
			if .event == "mine" then .data else
			(if .event == "function.begin" then "+" else "-" end) + .symbols.function.function end' |
			tr '\n' ' '
	}
	if [ -z "${PTRC_SAN_CFLAGS-}" ] && [ -e "$static" ]; then
		compile both both.c -I"$PTRC_SOURCE/include" "$static" -pthread
		for i in 1 2 3; do
			exits 0 ptrace-run --functions -o run.log -- ./both
			[ -z "$stderr" ]
			[ "$(story)" = "$expected" ] || { story; false; }
		done
		# Without the option there is nothing of it.
		run_split ptrace-run -o run.log -- ./both
		[ "$(story)" = "a b c d d " ]
	fi
	if [ -z "${PTRC_SAN_CFLAGS-}" ] && [ -e "$shared" ]; then
		compile both both.c -I"$PTRC_SOURCE/include" "$shared" -Wl,-rpath,"${shared%/*}"
		exits 0 ptrace-run --functions -o run.log -- ./both
		[ "$(story)" = "$expected" ] || { story; false; }
	fi
}

@test "libraries that are linked, and that are loaded and unloaded later" {
	cat >part.c <<-'END'
		static void inner(void) { }
		void part(void) { inner(); }
	END
	cat >whole.c <<-'END'
		#include <dlfcn.h>
		void part(void);
		int main(int argc, char **argv)
		{
			void (*function)(void);
			part();
			for (int i = 1; i < argc; i++) {
				void *library = dlopen(argv[i], RTLD_NOW);
				*(void **)&function = dlsym(library, "part");
				function();
				dlclose(library);
			}
			return argc;
		}
	END
	compile libpart.so part.c -shared -fPIC
	cp libpart.so other.so
	compile whole whole.c ./libpart.so -ldl
	exits 2 ptrace-run --functions=inner -o run.log -- ./whole ./other.so
	[ "$(names run.log libpart.so | tr '\n' ' ')" = "inner inner " ]
	[ "$(events run.log function.end)" -eq 2 ]
}

@test "whose functions could be recorded, or cannot be, is told" {
	nested
	compile nested nested.c
	exits 7 ptrace-run -o run.log -- ./nested
	assert_one_message ptrace-run
	[[ $stderr == *"no event was recorded"*"; --functions records its functions" ]]
	$cc -o plain nested.c
	exits 7 ptrace-run --functions -o run.log -- ./plain
	[ "$stdout" = 1 ]
	assert_one_message ptrace-run
	reason="no function was recorded: neither it nor a program that it executed called a function that --functions"
	reason+=" selects and that was compiled with -finstrument-functions or -fxray-instrument, or the program that did"
	reason+=" cannot be recorded (linked statically, privileged, of another user, or without LD_PRELOAD)"
	[ "$stderr" = "ptrace-run: ./plain: $reason" ]
	run_split ptrace-run --functions='out*' -o run.log -- ./plain
	[ "$stderr" = "ptrace-run: ./plain: $reason" ]
	ln -s plain python3
	run_split ptrace-run --functions -o python.log -- ./python3
	[[ $stderr == *"for one in Python, run python3 -m posixtrace run"* ]]
	strip -o stripped nested
	run_split ptrace-run --functions='out*' -o run.log -- ./stripped
	[ "$stderr" = "ptrace-run: ./stripped: no function was recorded: it has lost its symbol table, in which the names are that --functions selects" ]
	exits 7 ptrace-run --functions=no_such -o run.log -- ./nested
	assert_one_message ptrace-run
	[[ $stderr == *" has a name that --functions selects" ]]
	# A wrapper has none of the functions.
	run_split ptrace-run --functions=no_such -o run.log -- sh -c './nested; true'
	[ "$stderr" = "ptrace-run: sh: $reason" ]
	run_split ptrace-run --functions -o run.log -- env -i ./nested
	[ "$stderr" = "ptrace-run: env: $reason" ]
	# That the pattern leaves them out is another thing.
	run_split ptrace-run --functions --exclude='function.*' -o run.log -- ./nested
	[[ $stderr != *"no function was recorded"* ]]
	if compile linked nested.c -static 2>/dev/null; then
		exits 7 ptrace-run --functions -o run.log -- ./linked
		assert_one_message ptrace-run
		[[ $stderr == *"./linked: no function was recorded: it is linked statically, so nothing can be loaded into it" ]]
	fi
}

@test "LD_PRELOAD of the user stays, and stands first" {
	cat >users.c <<-'END'
		#include <stdlib.h>
		#include <stdio.h>
		__attribute__((constructor)) static void says(void) { fprintf(stderr, "%s\n", getenv("LD_PRELOAD")); }
	END
	nested
	compile nested nested.c
	$cc -shared -fPIC -o users.so users.c
	status=0
	LD_PRELOAD=$PWD/users.so ptrace-run --functions -o run.log -- ./nested >stdout.txt 2>stderr.txt ||
		status=$?
	[ "$status" -eq 7 ]
	grep -q "^$PWD/users.so:/.*/posixtrace-preload.so\$" stderr.txt
	[ "$(events run.log function.begin)" -eq 9 ]
	# Without the option a program finds nothing of it.
	run_split ptrace-run -o run.log -- sh -c 'echo "${LD_PRELOAD-none} ${POSIXTRACE_FUNCTIONS-none}"'
	[ "$stdout" = "none none" ]
	run_split ptrace-run --functions=x --functions='y*' -o run.log -- \
		sh -c 'printf "%s" "$POSIXTRACE_FUNCTIONS"'
	[ "$stdout" = $'x\ny*' ]
}

@test "without --functions no function is recorded, whatever else the library records" {
	nested
	compile nested nested.c
	for option in --waits --sdt '--waits --sdt'; do
		exits 7 ptrace-run $option --quiet -o run.log -- ./nested
		[ "$(ptrace-events --names run.log | grep -c -e '^function' -e '^posix_trace_start$')" -eq 1 ]
		[ "$(events run.log 'function.*')" -eq 0 ]
	done
}

@test "an event type of this name with another layout is left alone" {
	[ -z "${PTRC_SAN_CFLAGS-}" ] && [ -e "$static" ] || skip "no library without sanitizers"
	cat >mine.c <<-'END'
		#include <posixtrace.h>
		#include <trace.h>
		static trace_event_id_t id;
		static void f(void) { }
		__attribute__((no_instrument_function)) int main(void)
		{
			if (posixtrace_eventid_open_layout("function.begin", "u8 n", &id))
				return 1;
			posix_trace_event(id, "\1", 1);
			f();
			return 0;
		}
	END
	compile mine mine.c -I"$PTRC_SOURCE/include" "$static" -pthread
	reports 3 "run.log: at least 1 event name got no type of its own, as it has another layout*" \
		ptrace-run --functions -o run.log -- ./mine
	[ "$(ptrace-dump --json run.log | jq -rc 'select(.type_id > 8) | [.event, .len]')" = \
		'["function.begin",1]
["posix_trace_unnamed_userevent",16]
["function.end",16]' ]
}

@test "functions with XRay of clang are patched while the program runs" {
	command -v clang >/dev/null || skip "no clang"
	needs_symbols
	nested
	cat >tail.c <<-'END'
		#include <pthread.h>
		static __attribute__((noinline)) int last(int n) { __asm__(""); return n + 1; }
		static __attribute__((noinline)) int jumps(int n) { __asm__(""); return last(n); }
		static void *thread(void *p) { for (int i = 0; i < 1000; i++) jumps(i); return p; }
		int main(void)
		{
			pthread_t t;
			pthread_create(&t, 0, thread, 0);
			pthread_join(t, 0);
			return 0;
		}
	END
	xray() {
		clang -g -fno-inline -fxray-instrument -fxray-instruction-threshold=1 -o "$@"
	}
	xray nested nested.c 2>/dev/null || skip "clang has no runtime of XRay here"
	exits 7 ptrace-run --functions -o run.log -- ./nested
	[ "$stdout" = 1 ]
	[ -z "$stderr" ]
	[ "$(calls run.log | tr '\n' ' ')" = "+before +leaf -leaf -before +main +branch +branch +branch \
+leaf -leaf -branch -branch -branch -main +after +leaf -leaf -after " ]
	ptrace-dump --symbols --json --event='function.*' run.log | jq -se '
		all(.function == .symbols.function.function and .data.call_site == "0x0")'
	# Only those that are selected are patched.
	run_split ptrace-run --functions=leaf -o run.log -- ./nested
	[ "$(calls run.log | tr '\n' ' ')" = "+leaf -leaf +leaf -leaf +leaf -leaf " ]
	# A tail call ends a function as a return does; threads.
	xray tail tail.c -O1 -pthread
	run_split ptrace-run --functions -o run.log -- ./tail
	[ "$(ptrace-stat --json --pairs run.log | jq -c '.pairs[] | [.count, .unmatched_begins, .unmatched_ends]')" = \
		'[2002,0,0]' ]
	strip tail
	exits 0 ptrace-run --functions -o run.log -- ./tail
	assert_one_message ptrace-run
	[[ $stderr == *"compiled with -fxray-instrument and has lost its symbol table"* ]]
}
