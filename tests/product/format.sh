#!/bin/sh
# SPDX-License-Identifier: MIT
# Every C and C++ file is as .clang-format says. Versions of clang-format differ: Debian 12 has 14. TAP.

cd "$PTRC_SOURCE" || exit 99
format=clang-format-14
command -v "$format" >/dev/null || format=clang-format
case $("$format" --version 2>/dev/null) in
*' version 14.'*) ;;
*)
	echo '1..0 # SKIP no clang-format 14'
	exit 0
	;;
esac
echo 1..1
bad=$(find lib src include bindings tests examples bench \( -name '*.[ch]' -o -name '*.hpp' -o -name '*.cc' \) | sort |
	xargs -P "$(nproc)" -n 20 "$format" --dry-run 2>&1 | sed -n 's/^\([^ :]*\):.*warning:.*/\1/p' |
	sort | uniq -c)
if [ -n "$bad" ]; then
	echo "$bad" | sed 's/^/# lines to be changed: /'
	echo 'not ok 1 - every C and C++ file is as .clang-format says'
	exit 1
fi
echo 'ok 1 - every C and C++ file is as .clang-format says'
