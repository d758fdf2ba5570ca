#!/bin/sh
# SPDX-License-Identifier: MIT
# Some rounds of the kill matrix; scripts/faults runs any number. TAP.

output=$("$PTRC_SOURCE/scripts/faults" -b "$PTRC_BUILD" 20 2>&1)
status=$?
echo 1..1
if [ $status -eq 77 ]; then
	echo "ok 1 - whatever dies, no complete event is lost in silence # SKIP $output"
	exit 0
fi
echo "$output" | sed 's/^/# /'
[ $status -eq 0 ] || printf 'not '
echo 'ok 1 - whatever dies, no complete event is lost in silence'
exit $status
