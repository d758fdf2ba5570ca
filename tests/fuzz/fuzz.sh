#!/bin/sh
# SPDX-License-Identifier: MIT
# Each fuzzer once more on what was a finding (tests/fuzz/NAME/), and on the inputs that it begins
# with. TAP.

. "$PTRC_SOURCE/tests/support/tap.sh"

# again NAME
# shellcheck disable=SC2317,SC3045 # result calls it; the shells that matter have ulimit -v
again() (
	"$PTRC_SOURCE/tests/fuzz/seeds" "$1" "$dir/$1" || exit 1
	# An input that takes all the memory or time of the machine shall take no other test's.
	# Sanitizers need most of the address space.
	[ -n "${PTRC_SAN_CFLAGS-}" ] || ulimit -v 4000000
	# No thread for a limit of memory, see scripts/fuzz.
	timeout $((300 * ${PTRC_TEST_SLOWDOWN:-1})) "$PTRC_BUILD/tests/fuzz/fuzz_$1" -rss_limit_mb=0 \
		"$PTRC_SOURCE/tests/fuzz/$1"/* "$dir/$1"/*
)

for fuzzer in "$PTRC_SOURCE"/tests/fuzz/fuzz_*.c; do
	name=${fuzzer##*/fuzz_}
	name=${name%.c}
	result "what fuzz_$name found is no finding any more" again "$name"
done
echo "1..$number"
exit "$status"
