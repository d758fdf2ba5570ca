#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# That the comparison with other tracers works, and reports or leaves out each row; what it measures is no verdict.

load ../support/helpers

# peers [OPTION]...
peers() {
	TMPDIR=$PWD run_split timeout $((120 * ${PTRC_TEST_SLOWDOWN:-1})) bash "$PTRC_SOURCE/bench/peers" "$@"
}

# The rows that bench/README.md lists.
promised() {
	sed -n '/^## Other tracers/,/^## [^O]/s/^| `\([a-z.]*\)` |.*/\1/p' "$PTRC_SOURCE/bench/README.md"
}

# shown ROW: the columns from ours on
shown() {
	grep "^| \`$1\` |" stdout.txt | cut -d'|' -f4-
}

# Commands of tracers that fail, in place of those that are installed.
failing() {
	mkdir -p bin
	for it in uftrace strace perf babeltrace2; do
		printf '#!/bin/sh\necho "%s: does not work here" >&2\nexit 1\n' $it >bin/$it
	done
	chmod +x bin/*
	PATH=$PWD/bin:$PATH
}

@test "bench/peers reports every row that README.md lists, or says why not" {
	[ -x "$PTRC_BUILD/bench/event" ] || skip "not built"
	peers --quick
	[ "$status" -eq 0 ]
	[ "$(promised | wc -l)" -ge 7 ]
	diff <(promised) <(sed -n 's/^| `\([a-z.]*\)` |.*/\1/p' stdout.txt)
	for row in $(promised); do
		shown "$row" | grep -Eq '^ -?[0-9.e+]+ \| -?[0-9.e+]+ \| (ns|events|calls) \| ([0-9.e+-]+)? \|$' ||
			shown "$row" | grep -Eq '^ - \| - \| (ns|events|calls) \| left out: .+ \|$'
	done
	# A program that is killed loses nothing here.
	for row in killed.lttng killed.uftrace; do
		shown $row | grep -Eq '^ (0|-) '
	done
	[ -z "$(find . -name 'posixtrace-peers.*')" ]
}

@test "a tracer that does not work is left out, with what it says" {
	[ -x "$PTRC_BUILD/bench/event" ] || skip "not built"
	failing
	peers --quick
	[ "$status" -eq 0 ]
	for it in function.uftrace killed.uftrace syscall.strace syscall.perf; do
		shown $it | grep -Fq "left out: ${it#*.}: does not work here" || shown $it | grep -q 'not allowed here'
	done
	shown killed.lttng | grep -Eq 'left out: (LTTng|babeltrace2|lttng)'
}

@test "bench/peers refuses an option and a number of rounds that it does not know" {
	exits 2 bash "$PTRC_SOURCE/bench/peers" --wrong
	[[ $stderr == "usage: peers "* ]]
	exits 2 bash "$PTRC_SOURCE/bench/peers" --rounds=0
	[[ $stderr == "peers: not a number of rounds: "* ]]
}

@test "docs/comparison.md has a figure of each row, a row for each claim, and a source for each number in brackets" {
	it=$PTRC_SOURCE/docs/comparison.md
	diff <(promised) <(sed -n 's/^| `\([a-z]*\.[a-z.]*\)` | .* | [0-9.e+-]* | [0-9.e+-]* | .*/\1/p' "$it")
	used=$(sed '/^## Sources/,$d' "$it" | grep -o '\[[0-9]*\]' | tr -d '[]' | sort -nu)
	sources=$(sed -n '/^## Sources/,$s/^\([0-9]*\)\. .*/\1/p' "$it")
	[ "$(wc -w <<<"$sources")" -gt 8 ]
	[ "$used" = "$sources" ]
}
