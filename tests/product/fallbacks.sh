#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# The ways that other machines make necessary, forced here: no usable counter, so that
# events are stamped with CLOCK_MONOTONIC; no membarrier, so that writers fence for
# themselves. What depends on them of some test programs once more on each of them. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"

# passes VARIABLE IDS PROGRAM: the cases that show one of the requirements
passes() {
	program=$PTRC_BUILD/tests/lib/stream/$3
	cases=$("$program" -l | awk -F '\t' -v ids="$2" '{
		for (i = split(ids, id, " "); i; i--)
			if (index(" " $2 " ", " " id[i] " ")) { print $1; next } }')
	# shellcheck disable=SC2086 # names of cases
	test -n "$cases" && env "$1=1" "$program" $cases
}

again() {
	result "$3 with $1 [$2]" passes "$@"
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
exit "$status"
