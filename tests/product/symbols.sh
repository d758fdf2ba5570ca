#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# What the libraries show to a linker, and whether a build without an optional library links. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
lib=$PTRC_BUILD/lib/.libs
include=$PTRC_SOURCE/include

# Functions that the installed headers declare.
sed -n 's/^\(int\|void\|const char \*\|trace_event_id_t\) *\(posix_\{0,1\}trace_[a-z_]*\)(.*/\2/p' \
	"$include/trace.h" "$include/posixtrace.h" "$include/posixtrace-control.h" \
	"$include/posixtrace-log.h" | sort >"$dir/declared"

# Not what sanitizers and coverage put in.
nm -g --defined-only "$lib/libposixtrace.a" 2>/dev/null |
	awk 'NF == 3 && $3 !~ /^(__asan|__odr_asan|__tsan|__gcov|__llvm|DW\.ref)/ { print $3 }' |
	sort -u >"$dir/static"

own_prefixes() {
	test -s "$dir/static" && ! grep -vE '^(posix_trace_|posixtrace_|ptrc_)' "$dir/static"
}

in_static() {
	grep -E '^posix_?trace_' "$dir/static" | diff "$dir/declared" - &&
		test "$(grep -c '^posix_trace_' "$dir/declared")" -eq 50
}

in_shared() {
	test -e "$lib/libposixtrace.so" || { echo 'no shared library in this build'; return 77; }
	nm -D --defined-only "$lib/libposixtrace.so" |
		awk '$2 != "A" && $3 !~ /^(__asan|__odr_asan|__tsan|__gcov|__llvm)/ {
			sub(/@.*/, "", $3); print $3 }' | sort | diff "$dir/declared" -
}

in_map() {
	sed -n 's/^\t\([a-z_]*\);$/\1/p' "$PTRC_SOURCE/lib/libposixtrace.map" | diff "$dir/declared" -
}

# functions_of OBJECT: those that it defines
functions_of() {
	nm -g --defined-only "$1" | awk '$2 == "T" { print $3 }' | sort
}

# In a build without libdw, x_none.c replaces x.c.
replaced_units() {
	for none in "$PTRC_SOURCE"/src/*/*_none.c; do
		unit=${none#"$PTRC_SOURCE"/}
		unit=${unit%_none.c}
		object=$PTRC_BUILD/${unit%/*}/libcommands_a-${unit##*/}.o
		[ -e "$object" ] || continue
		${CC:-cc} -I"$PTRC_BUILD" -I"$PTRC_SOURCE" -I"$include" -c "$none" -o "$dir/none.o"
		functions_of "$object" >"$dir/whole"
		functions_of "$dir/none.o" | diff "$dir/whole" -
	done
}

result 'the static library defines names of its own prefixes only [GEN-09]' own_prefixes
result 'the static library has each public function and no other [GEN-09 GEN-11]' in_static
result 'the shared library exports each public function and nothing else [GEN-09 GEN-11]' in_shared
result 'the version map lists each public function and no other [GEN-11]' in_map
result 'what replaces a unit in a build without its library defines the same functions' silent replaced_units
echo "1..$number"
exit "$status"
