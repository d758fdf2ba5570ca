#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# That the benchmark of the commands works; what it measures is no verdict.

load ../support/helpers

@test "bench/cli --quick prints its table and leaves nothing" {
	[ -x "$PTRC_BUILD/bench/cli_worker" ] || skip "not built"
	TMPDIR=$PWD exits 0 bash "$PTRC_SOURCE/bench/cli" --quick --no-lttng
	[[ $stdout =~ measured\ +goal\ +LTTng ]]
	[[ $stdout =~ added\ lines\ +2,\ 2\ +2,\ 2\  ]]
	for row in 'first event read in the log' 'shutdown of an idle session' \
		'memory of an idle session without its stream'; do
		grep -Eq "$row +[0-9.]+ (ms|MiB) +[0-9]+ (ms|MiB) +-$" stdout.txt
	done
	[ -z "$(find . -name 'posixtrace-cli.*')" ]
}

@test "bench/cli refuses an option it does not know" {
	exits 2 bash "$PTRC_SOURCE/bench/cli" --wrong
	[[ $stderr == "usage: cli "* ]]
}
