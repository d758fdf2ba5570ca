#!/bin/sh
# SPDX-License-Identifier: MIT
# The ways that other machines make necessary, forced here: no usable counter, so that
# events are stamped with CLOCK_MONOTONIC; no membarrier, so that writers fence for
# themselves. What depends on them of some test programs once more on each of them. TAP.

number=0
status=0

# again VARIABLE IDS PROGRAM...: the cases that show one of the requirements
again() {
	variable=$1 ids=$2
	shift 2
	for program; do
		number=$((number + 1))
		name="$program with $variable"
		program=$PTRC_BUILD/tests/lib/stream/$program
		cases=$("$program" -l | awk -F '\t' -v ids="$ids" '{
			for (i = split(ids, id, " "); i; i--)
				if (index(" " $2 " ", " " id[i] " ")) { print $1; next } }')
		# shellcheck disable=SC2086 # names of cases
		if [ -n "$cases" ] && output=$(env "$variable=1" "$program" $cases 2>&1); then
			echo "ok $number - $name [$ids]"
		else
			printf '%s\n' "$output" | grep -v '^ok' | sed 's/^/# /'
			echo "not ok $number - $name [$ids]"
			status=1
		fi
	done
}

again POSIXTRACE_CLOCK_MONOTONIC 'EVENT-11 GETNEXT-03 CLOCK-02' test_clock
again POSIXTRACE_CLOCK_MONOTONIC 'STARTSTOP-12' test_startstop
again POSIXTRACE_CLOCK_MONOTONIC 'FILTER-13' test_filter
again POSIXTRACE_CLOCK_MONOTONIC 'SYSEVENT-13 SYSEVENT-22' test_sysevent
again POSIXTRACE_CLOCK_MONOTONIC 'SIZE-13' test_size
again POSIXTRACE_FENCE 'STARTSTOP-11' test_startstop
again POSIXTRACE_FENCE 'FILTER-07 FILTER-13' test_filter
again POSIXTRACE_FENCE 'SYSEVENT-13' test_sysevent
echo "1..$number"
exit $status
