#!/bin/sh
# SPDX-License-Identifier: MIT
# The driver of the tests itself: a test that hangs or dies fails the run and is named, and what took
# longest last time begins first. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
support=$PTRC_SOURCE/tests/support

# drive SCRIPT: runs a shell script as a test, as make does; its result is in $dir/case.trs
drive() {
	rm -f "$dir/case.trs"
	printf '%s\n' "$1" >"$dir/case.sh"
	PTRC_TEST_LIMIT=${2:-60} PTRC_TEST_SLOWDOWN=1 PTRC_TEST_LOCK=$dir/lock "$support/driver" \
		"$PTRC_SOURCE/build-aux/tap-driver.sh" --test-name case --log-file "$dir/case.log" \
		--trs-file "$dir/case.trs" --color-tests no --enable-hard-errors yes --expect-failure no \
		-- sh "$dir/case.sh"
}

ended() {
	drive 'echo 1..1; while :; do sleep 1; done' 1
	grep -q '^:test-result: ERROR it did not come to its end' "$dir/case.trs" &&
		grep -q '^# .*case.sh' "$dir/case.log"
}

dead() {
	drive 'echo 1..2; echo ok 1; kill -KILL $$'
	grep -q '^:test-result: ERROR' "$dir/case.trs"
}

passed() {
	drive 'echo 1..1; echo ok 1 - it' && grep -q '^:test-result: PASS' "$dir/case.trs" &&
		grep -qE '^:seconds: [0-9.]+ [0-9.]+ 1$' "$dir/case.trs"
}

order() {
	printf '%s\n' '3 1 1 tests/lib/a/test_a' '5 1 4 tests/cmd/b/b' >"$dir/times"
	[ "$(PTRC_TEST_TIMES=$dir/times "$support/by_time" tests/lib/a/test_a tests/product/new.sh \
		tests/cmd/b/b.bats | tr '\n' ' ')" = 'tests/product/new.sh tests/cmd/b/b.bats tests/lib/a/test_a ' ] &&
		[ "$(PTRC_TEST_TIMES=$dir/times "$support/by_time" --seconds "$dir/tests/cmd/b/b.bats")" = 20 ]
}

result 'a test that hangs is ended, and has failed' ended
result 'so has one that dies in its midst' dead
result 'one that passes has its times noted' passed
result 'what took longest last time begins first, after what is new' order
echo "1..$number"
exit $status
