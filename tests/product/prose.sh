#!/bin/sh
# SPDX-License-Identifier: MIT
# Comments, pages and documents have no phrase that scripts/prose lists. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"

prose_is_plain() {
	command -v python3 >/dev/null || { echo 'no python3'; return 77; }
	python3 "$PTRC_SOURCE/scripts/prose"
}

result 'no phrase that readers stumble over' prose_is_plain

echo "1..$number"
exit "$status"
