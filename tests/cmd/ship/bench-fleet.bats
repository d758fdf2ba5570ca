#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# That bench/fleet works, reports every figure that it promises, and finds each event once, although the
# server is killed; what it measures is no verdict.

load ../../support/helpers

# fleet ARGUMENT...: of few machines, for as short as may be
fleet() {
	BENCH_DIR=$PWD run_split timeout $((300 * ${PTRC_TEST_SLOWDOWN:-1})) python3 "$PTRC_SOURCE/bench/fleet" --hosts=3 --rate=100 \
		--batch-time=0.5 --seconds=3 --killed=1 --events=20000 --output=report "$@"
}

is_built() {
	[ -x "$PTRC_BUILD/bench/fleet_host" ] && [ -x "$PTRC_BUILD/bench/keeper" ] || skip "not built"
	[ -x "$PTRC_BUILD/src/ptrace-ship" ] || skip "no ptrace-ship"
	unshare -Urn true 2>/dev/null || skip "no network namespaces"
}

# The rows that bench/README.md lists.
promised() {
	sed -n '/^## Many machines/,$s/^| `\([a-z_]*\.[a-z0-9_.]*\)` |.*/\1/p' "$PTRC_SOURCE/bench/README.md"
}

@test "bench/fleet writes every row that README.md lists, and finds every event once" {
	local dialect has_run=
	is_built
	for dialect in plain modern; do
		"$PTRC_SOURCE/tests/cmd/ship/fleet/server" has "$dialect" || continue
		has_run=yes
		fleet --dialect="$dialect"
		[ "$status" -eq 0 ]
		[ "$(promised | wc -l)" -ge 20 ]
		diff <(promised) <(jq -r '.rows[].name' report.json)
		[ "$stdout" = "$(cat report.md)" ]
		jq -e --arg dialect "$dialect" '.schema == "posixtrace-bench-fleet" and .schema_version == 2
			and .hosts == 3 and .events == 20000 and .dialect == $dialect' report.json
		jq -e '[.rows[] | select(.value == null)] == []' report.json
		jq -e '[.rows[] | select(.name | startswith("killed.m") or startswith("killed.d")) | .value][1:]
			== [0, 0]' report.json
		[ -z "$(find . -name 'posixtrace-fleet.*')" ]
	done
	[ -n "$has_run" ] || skip "no engine (scripts/setup --fleet)"
}

@test "bench/fleet refuses an option, a part and a number that it does not know" {
	fleet --wrong
	[ "$status" -eq 2 ]
	fleet wrong
	[ "$status" -eq 2 ]
	[[ $stderr == *"no part wrong"* ]]
	fleet --hosts=0
	[ "$status" -eq 2 ]
}
