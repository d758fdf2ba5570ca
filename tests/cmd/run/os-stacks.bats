#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # $CC and its flags are several words
# Stacks of samples of programs without frame pointers, as distributions build them: --stacks.

load ../../support/helpers

work=$PTRC_BUILD/tests/support/os_work

needs_dwarf() {
	needs_os
	needs_symbols
}

# compile OUTPUT SOURCE FLAG...: without frame pointers, with unwinding tables, with a build ID
compile() {
	local output=$1 source=$2
	shift 2
	# The names of the functions are all the debug information that the tests need.
	${CC:-cc} -g1 -O2 -fomit-frame-pointer -fasynchronous-unwind-tables -fno-optimize-sibling-calls \
		-Wl,--build-id "$source" "$@" -pthread -o "$output"
}

# most NUMBER ALL: whether that is nineteen of twenty
most() {
	echo "$1 of $2"
	[ "$1" -ge 20 ] && [ $((20 * $1)) -ge $((19 * $2)) ]
}

@test "a program without frame pointers, stripped, has whole stacks" {
	needs_dwarf
	compile bare "$PTRC_SOURCE/tests/support/os_work.c"
	objcopy --only-keep-debug bare bare.debug
	strip --strip-all bare
	objcopy --add-gnu-debuglink=bare.debug bare
	silently 0 ptrace-run --os=samples -o a.log -- ./bare spin 400
	# The names come from the separate debug file next to the program.
	chains a.log >chains
	most "$(grep -c '^work_inner work_middle work_outer main\( \|$\)' chains)" "$(grep -c work_ chains)"
	[ "$(fields a.log os.sample '"\(.data.cut) \(.data.noise)"' | sort | uniq -c | sort -n | tail -n 1 | sed 's/ *[0-9]* //')" = \
		"false 0" ]
	ptrace-run --os=samples -o b.log -- ./bare spins 150 3
	chains b.log >chains
	most "$(grep -c '^work_inner work_middle work_outer spin_thread\( \|$\)' chains)" "$(grep -c work_ chains)"
	# The kernel, which follows frame pointers, loses them.
	silently 0 ptrace-run --os=samples --stacks=fp -o c.log -- ./bare spin 200
	chains c.log >chains
	[ "$(grep -c '^work_inner work_middle work_outer main\( \|$\)' chains)" -lt $(($(wc -l <chains) / 2)) ]
	# Without the debug file there are no names, but the frames are as many.
	rm bare.debug
	[ "$(ptrace-export --to=folded a.log 2>/dev/null | grep -c '\[bare\];\[bare\];\[bare\];\[bare\]')" -ge 1 ]
}

@test "a debug file may come from a server" {
	needs_dwarf
	ldconfig -p | grep -q libdebuginfod.so.1 || skip "no libdebuginfod"
	compile bare "$PTRC_SOURCE/tests/support/os_work.c"
	objcopy --only-keep-debug bare bare.debug
	strip --strip-all bare
	ptrace-run --os=samples -o a.log -- ./bare spin 200
	id=$(ptrace-stat --json a.log | jq -r '.processes[] | select(.name == "bare") | .build_id' | head -n 1)
	mkdir -p "served/buildid/$id"
	mv bare.debug "served/buildid/$id/debuginfo"
	[ "$(chains a.log | grep -c work_)" -eq 0 ]
	export DEBUGINFOD_URLS=file://$PWD/served DEBUGINFOD_CACHE_PATH=$PWD/cache
	chains a.log >chains
	most "$(grep -c '^work_inner work_middle work_outer main\( \|$\)' chains)" "$(wc -l <chains)"
}

@test "stacks go through the C library, signal handlers, signal stacks and frames that are aligned" {
	needs_dwarf
	cat >ways.c <<-'EOF'
		#define _GNU_SOURCE 1
		#include <alloca.h>
		#include <signal.h>
		#include <stdlib.h>
		#include <string.h>
		#include <time.h>

		static volatile unsigned int sum;

		static __attribute__((noinline)) void burn(void)
		{
			for (unsigned int i = 0; i < 20000000; i++)
				sum = sum * 5 + i;
		}

		static __attribute__((noinline)) int compares(const void *a, const void *b)
		{
			burn();
			return *(const int *)a - *(const int *)b;
		}

		static __attribute__((noinline)) void sorts(void)
		{
			int numbers[] = {3, 1, 2};

			qsort(numbers, 3, sizeof(*numbers), compares);
			sum += (unsigned int)numbers[0];
		}

		static __attribute__((noinline)) void handles(int number)
		{
			burn();
			sum += (unsigned int)number;
		}

		static __attribute__((noinline)) void raises(int number)
		{
			raise(number);
			sum++;
		}

		/* Nothing but a place in its own frame says where the frame of its caller is. */
		static __attribute__((noinline)) void aligns(unsigned int size)
		{
			_Alignas(64) volatile char aligned[64];
			volatile char *sized = alloca(size);

			aligned[0] = sized[0] = 1;
			burn();
			sum += (unsigned int)(aligned[0] + sized[0]);
		}

		int main(void)
		{
			stack_t other = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
			struct sigaction action = {.sa_handler = handles};

			sigaction(SIGUSR1, &action, NULL);
			sigaltstack(&other, NULL);
			action.sa_flags = SA_ONSTACK;
			sigaction(SIGUSR2, &action, NULL);
			sorts();
			for (int i = 0; i < 3; i++) {
				raises(SIGUSR1);
				raises(SIGUSR2);
				aligns(sum % 2 + 1);
			}
			return 0;
		}
	EOF
	compile ways ways.c
	ptrace-run --os=samples -o a.log -- ./ways
	chains a.log >chains
	sort chains | uniq -c
	grep -Eq '^burn compares (\S+ )+sorts main ' chains
	all=$(grep -c '^burn compares ' chains)
	most "$(grep -Ec '^burn compares (\S+ )+sorts main ' chains)" "$all"
	most "$(grep -c '^burn aligns main ' chains)" "$(grep -c '^burn aligns' chains)"
	# The handler on the other stack has callers, but these are not in the copy of its stack.
	all=$(grep -c '^burn handles' chains)
	[ "$(grep -Ec '^burn handles (\S+ )+raises main ' chains)" -ge $((all / 3)) ]
	fields a.log os.sample .data.cut | grep -qx true
}

# A program that makes a function, and writes a map of it: as a file, as a link, for another user, or as another user.
make_maker() {
	cat >maker.c <<-'EOF'
		#define _GNU_SOURCE 1
		#include <stdint.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>

		/* It has a frame, and counts its argument down to 0. */
		#if defined(__x86_64__)
		static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xcf, 0x75, 0xfc, 0x5d, 0xc3};
		#else
		static const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0x71000400, 0x54ffffe1, 0xa8c17bfd, 0xd65f03c0};
		#endif

		static __attribute__((noinline)) void calls(char *at)
		{
			void (*made)(unsigned int);

			memcpy(&made, &at, sizeof(made));
			for (int i = 0; i < 10; i++)
				made(100000000);
			__asm__ volatile("");
		}

		int main(int argc, char **argv)
		{
			char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			char path[64], other[64];
			FILE *f;

			if (!strcmp(argv[1], "user") && setresuid(65534, 65534, 65534))
				return 1;
			snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
			snprintf(other, sizeof(other), "%s.other", path);
			memcpy(at + 64, code, sizeof(code));
			if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
				return 1;
			f = fopen(!strcmp(argv[1], "link") ? other : path, "w");
			fprintf(f, "no line of a map\n1 2\n%lx %x old name\n", (unsigned long)at + 64, 64);
			fprintf(f, "%lx %x made <function> /of/a.js:7\n", (unsigned long)at + 64, (int)sizeof(code));
			fprintf(f, "%lx 10 another\n", (unsigned long)at);
			fclose(f);
			if (!strcmp(argv[1], "link") && symlink(other, path))
				return 1;
			if (!strcmp(argv[1], "foreign") && chown(path, 65534, 65534))
				return 1;
			puts(path);
			fflush(stdout);
			calls(at + 64);
			(void)argc;
			return 0;
		}
	EOF
	compile maker maker.c
}

# made WAY OPTION...: runs that program as a child; has its samples in "chains", a line for each
made_code() {
	ptrace-run --os=samples "${@:2}" -o made.log -- sh -c './maker "$1"; exit' _ "$1" >paths
	rm -f -- "$(cat paths)" "$(cat paths).other"
	ptrace-dump --json --symbols --event=os.sample made.log |
		jq -r '[.symbols.stack[] | .function // "?"] | join(";")' >chains
}

@test "code that a program made has the names of its map" {
	needs_dwarf
	case $(uname -m) in x86_64 | aarch64) ;; *) skip "no code for this processor" ;; esac
	make_maker
	for stacks in dwarf fp; do
		made_code file --stacks=$stacks
		grep -c '^made <function> /of/a.js:7' chains
		most "$(grep -c '^made <function> /of/a.js:7;' chains)" "$(wc -l <chains)"
		[ "$(ptrace-stat --json made.log | tee stat.json |
			jq -r '.processes[].mappings[]? | .function // empty')" = "made <function> /of/a.js:7" ]
		valid stat <stat.json
		grep -q ';made <function> /of/a.js:7 ' <(ptrace-export --to=folded made.log 2>/dev/null)
		ptrace-report --text made.log | grep -q ' made <function> /of/a.js:7$'
		[ $stacks = fp ] || most "$(grep -c '^made <function> /of/a.js:7;calls;main;' chains)" \
			"$(grep -c '^made' chains)"
	done
	# A copy of the log has them, too.
	ptrace-dump --to-log=copy.log made.log
	[ "$(ptrace-dump --json --symbols --event=os.sample copy.log | grep -c 'made <function>')" -eq \
		"$(grep -c '^made <function>' chains)" ]
	# Without callers the innermost address stands for the function.
	made_code link
	[ "$(grep -c 'made' chains)" -eq 0 ]
	most "$(grep -c '^?;calls;main;' chains)" "$(wc -l <chains)"
	if [ "$EUID" -eq 0 ]; then
		made_code foreign
		[ "$(grep -c 'made' chains)" -eq 0 ]
		made_code user
		most "$(grep -c '^made <function> /of/a.js:7;' chains)" "$(wc -l <chains)"
	fi
}

# with_rings BYTES OPTION...: ptrace-run with rings of this size; stderr is without a message about losses, which a busy
# machine may cause
with_rings() {
	run_split env POSIXTRACE_OS_BYTES="$1" ptrace-run "${@:2}"
	[ "$status" -eq 0 ] || { [ "$status" -eq 3 ] && grep -q ' lost in the kernel' stderr.txt; } ||
		{ echo "$status: $stderr"; return 1; }
	sed -i '/ lost in the kernel/d' stderr.txt
	stderr=$(<stderr.txt)
}

@test "smaller copies, and fewer samples, are told" {
	needs_dwarf
	with_rings 65536 --os=samples -o a.log -- "$work" spin 200
	assert_one_message ptrace-run
	[[ $stderr == *"--os: only 892 samples a second, with 2048 bytes of each stack: "*"64 KiB"*"perf_event_mlock_kb"*"--stacks=fp"* ]]
	[ "$(events a.log os.sample)" -ge 50 ]
	chains a.log >chains
	most "$(grep -c '^work_inner work_middle work_outer main' chains)" "$(grep -c work_ chains)"
	with_rings 131072 --os=samples -o a.log -- "$work" spin 50
	[[ $stderr == *"--os: only 2048 bytes of each stack are copied"*"128 KiB"*"fewer samples need less"* ]]
	with_rings 65536 --os=samples=200 -o a.log -- "$work" spin 50
	[ -z "$stderr" ]
	with_rings 65536 --os=samples --stacks=fp -o a.log -- "$work" spin 50
	[ -z "$stderr" ]
	# A stack that is deeper than the copy is cut.
	with_rings 65536 --os=samples -o b.log -- "$work" deep 100 200
	fields b.log os.sample 'select(.data.stack | length > 10) | .data.cut' >cuts
	most "$(grep -c true cuts)" "$(wc -l <cuts)"
}

@test "samples that do not get out of the rings in time are lost, with a message" {
	needs_dwarf
	exits 3 env POSIXTRACE_OS_BYTES=65536 ptrace-run --os=samples=200 -o a.log -- \
		sh -c "kill -STOP \$PPID; $work spin 1000; kill -CONT \$PPID; $work spin 50"
	lost=$(lost_of_os a.log)
	[ "$lost" -gt 0 ]
	[[ $stderr == *": $lost events of the operating system lost in the kernel"* ]]
	chains a.log | grep -q '^work_inner work_middle work_outer main'
}

@test "--stacks is a setting, and needs samples" {
	reports 125 "*--stacks: has no effect without os: samples*" ptrace-run --os=sched --stacks=fp true
	reports 125 "*--stacks: 'x' is not one of dwarf and fp*" ptrace-run --os=samples --stacks=x true
	printf 'os: samples\nstacks: fp\n' >p.yaml
	[ "$(ptrace-run -c p.yaml --dump-config true | grep ^stacks)" = "stacks: fp" ]
	[ "$(ptrace-run -c p.yaml --stacks=dwarf --dump-config true | grep ^stacks)" = "stacks: dwarf" ]
	[ "$(ptrace-run --os=samples --dump-config true | grep -c ^stacks)" -eq 0 ]
	printf 'stacks: fp\n' >p.yaml
	reports 125 "*p.yaml:1:9: stacks: has no effect without os: samples*" ptrace-run -c p.yaml true
}

@test "without libdw, dwarf is refused, and not used by default" {
	needs_os
	mkdir none
	echo 'no library' >none/libdw.so.1
	export LD_LIBRARY_PATH=$PWD/none
	reports 125 "*--stacks: dwarf is not possible: *; fp is*" ptrace-run --os=samples --stacks=dwarf true
	silently 0 ptrace-run --os=samples -o a.log -- "$work" spin 200
	unset LD_LIBRARY_PATH
	has_symbols || return 0
	chains a.log >chains
	most "$(grep -c '^work_inner work_middle work_outer main\( \|$\)' chains)" "$(grep -c work_ chains)"
}

@test "a process that runs already has whole stacks, and no frame outside its code" {
	needs_dwarf
	compile bare "$PTRC_SOURCE/tests/support/os_work.c"
	./bare spins 60000 2 3>&- &
	pids=$!
	for way in dwarf fp; do
		ptrace-create --os=samples --stacks=$way --start --name="$me" -o $way.log --pid="$pids"
		wait_until has_samples $way.log 60
		ptrace-shutdown "$me"
	done
	kill "$pids"
	chains dwarf.log >chains
	most "$(grep -c '^work_inner work_middle work_outer spin_thread' chains)" "$(wc -l <chains)"
	for way in dwarf fp; do
		ptrace-stat --json $way.log >stat.json
		fields $way.log os.sample '.data.stack[1:][]' | sort -u >addresses
		[ $way = fp ] || [ -s addresses ]
		jq -R --slurpfile s stat.json -n 'def n: if type == "number" then . else
				ltrimstr("0x") | ascii_downcase | explode |
				reduce .[] as $c (0; . * 16 + (if $c > 57 then $c - 87 else $c - 48 end)) end;
			[inputs | . as $a | select($s[0].processes | map(.mappings[]?) |
				any((.start | n) < ($a | n) and ($a | n) <= (.end | n)) | not)]' addresses >outside
		[ "$(jq length outside)" -eq 0 ]
	done
}

has_samples() {
	ptrace-flush "$me"
	[ "$(events "$1" os.sample)" -ge "$2" ]
}
