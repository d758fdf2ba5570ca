#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# That the benchmark works and reports every figure that it promises; what it measures is no
# verdict.

load ../support/helpers

# report ARGUMENT...: of a log as small as may be
report() {
	TMPDIR=$PWD BENCH_DIR=$PWD BENCH_SIZE=400K run_split \
		bash "$PTRC_SOURCE/bench/report" --quick --rounds=1 --output=report "$@"
}

# The rows that bench/README.md lists, but for those of bench/peers and bench/fleet.
promised() {
	sed -n '/^## Other tracers/q; s/^| `\([a-z_]*\.[a-z0-9_.]*\)` |.*/\1/p' "$PTRC_SOURCE/bench/README.md"
}

is_built() {
	[ -x "$PTRC_BUILD/bench/latency" ] && [ -x "$PTRC_BUILD/bench/timed" ] || skip "not built"
}

@test "bench/report writes every row that README.md lists, as Markdown and as JSON" {
	is_built
	report --no-lttng
	[ "$status" -eq 0 ]
	[ "$(promised | wc -l)" -gt 30 ]
	diff <(promised) <(jq -r '.rows[].name' report.json)
	[ "$stdout" = "$(cat report.md)" ]
	[ "$(grep -c '^| .* |$' report.md)" -eq $(($(promised | wc -l) + 1)) ]
	jq -e '.schema == "posixtrace-bench-report" and .schema_version == 1 and .quick
		and .rounds == 1 and .log.events > 10000 and .log.bytes > 300000
		and (.machine | .cores >= 1 and .load_begin >= 0 and .load_end >= 0
			and (.cpu, .kernel, .compiler | length > 0))
		and .peers == {"lttng": null, "babeltrace2": null}' report.json
	# What needs neither another tracer nor another library has a figure.
	jq -e '[.rows[] | select(.median == null) | .name]
		- ["event.lttng", "event.cxx", "event.function", "event.function.glob", "xray.off", "event.python", "event.python.off", "event.python.function",
			"event.rust", "event.tracing", "event.node", "read.python", "read.python.arrays", "latency.lttng.p99_9", "latency.lttng.worst", "bytes.sqlite",
			"start.shared", "os.sched", "os.sched.cpu", "os.samples", "os.samples.perf", "report.made",
			"report.size"] == []' report.json
	jq -e '.rows[] | select(.median != null) | .min <= .median and .median <= .max
		and (.samples | length > 0)' report.json
	# What was left out has a reason; what is above its goal, or below, says so.
	jq -e '.rows[] | select(.median == null and .name != "start.shared") | .note | length > 0' \
		report.json
	jq -e '.rows[] | select(.goal and .median != null)
		| (if .goal.of == "ratio" then .ratio else .median end) as $is
		| .reached == (if .goal.at_most != null then $is <= .goal.at_most
			else $is >= .goal.at_least end)' report.json
	# Figures that no machine changes much.
	jq -e '[.rows[] | {(.name): .median}] | add
		| ."no_loss.lost" == 0 and ."bytes.16" > 16 and ."bytes.16" < 32' report.json
	[ -z "$(find . -name 'posixtrace-bench.*')" ]
}

@test "a report of a part that is named, on a machine that is busy, says so" {
	is_built
	# A load of 1000 makes any machine busy.
	own_mounts 'echo 1000.00 1 1 1/1 1 >load; mount --bind load /proc/loadavg
		BENCH_DIR=$PWD BENCH_SIZE=400K exec bash "$PTRC_SOURCE/bench/report" --quick \
			--rounds=1 --output=report --no-lttng start'
	[ "$status" -eq 0 ]
	[ "$(jq -r '[.rows[].part] | unique | join(" ")' report.json)" = start ]
	jq -e '.machine.load_begin == 1000 and
		(.warnings | map(startswith("Figures of a busy machine")) | any)' report.json
	grep -q '^\*\*Figures of a busy machine: ' report.md
}

@test "bench/report refuses an option, a part and a size that it does not know" {
	exits 2 bash "$PTRC_SOURCE/bench/report" --wrong
	[[ $stderr == "Usage: report "* ]]
	exits 2 bash "$PTRC_SOURCE/bench/report" wrong
	[[ $stderr == "report: no part wrong; there are: event "* ]]
	BENCH_SIZE=much exits 2 bash "$PTRC_SOURCE/bench/report" queries
	BENCH_SIZE=1K exits 2 bash "$PTRC_SOURCE/bench/report" queries
	[[ $stderr == "report: BENCH_SIZE is too small: "* ]]
}
