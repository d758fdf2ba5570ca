#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What programs see of the library that ptrace-run preloads.

load ../../support/helpers

library=$PTRC_BUILD/lib/posixtrace-preload.so

@test "the library has only functions that the C library has, too" {
	libc=$(ldd "$library" | awk '$1 ~ /^libc\.so/ { print $3 }')
	nm -D --defined-only "$library" | awk '{ print $3 }' | sort >ours
	nm -D --defined-only "$libc" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u >theirs
	grep -qx read ours
	[ -z "$(comm -23 ours theirs)" ]
	# Every name of the version script is defined.
	sed -n 's/^\t\([A-Za-z_0-9]*\);$/\1/p' "$PTRC_SOURCE/lib/preload/preload.map" | sort | diff - ours
}
