#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# Every C and C++ file is as .clang-format says. Versions of clang-format differ: Debian 12 has 14. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
cd "$PTRC_SOURCE" || exit 99
format=clang-format-14
command -v "$format" >/dev/null || format=clang-format
"$format" --version 2>/dev/null | grep -q ' version 14\.' || skip_all 'no clang-format 14'

# to_be_changed: prints how many lines of which files
to_be_changed() {
	find lib src include bindings tests examples bench \( -name '*.[ch]' -o -name '*.hpp' -o -name '*.cc' \) | sort |
		xargs -P "$(nproc)" -n 20 "$format" --dry-run 2>&1 | sed -n 's/^\([^ :]*\):.*warning:.*/\1/p' | sort | uniq -c
}

result 'every C and C++ file is as .clang-format says' silent to_be_changed
echo "1..$number"
exit "$status"
