#!/bin/sh
# SPDX-License-Identifier: MIT
# What the libraries show to a linker, and whether a build without an optional library links. TAP.

lib=$PTRC_BUILD/lib/.libs
include=$PTRC_SOURCE/include
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
status=0
echo 1..5

# Functions that the installed headers declare.
sed -n 's/^\(int\|void\|const char \*\|trace_event_id_t\) *\(posix_\{0,1\}trace_[a-z_]*\)(.*/\2/p' \
	"$include/trace.h" "$include/posixtrace.h" "$include/posixtrace-control.h" \
	"$include/posixtrace-log.h" | sort >"$dir/declared"

# Not what sanitizers and coverage put in.
nm -g --defined-only "$lib/libposixtrace.a" 2>/dev/null |
	awk 'NF == 3 && $3 !~ /^(__asan|__odr_asan|__tsan|__gcov|__llvm|DW\.ref)/ { print $3 }' |
	sort -u >"$dir/static"

alien=$(grep -vE '^(posix_trace_|posixtrace_|ptrc_)' "$dir/static")
if [ -s "$dir/static" ] && [ -z "$alien" ]; then
	echo 'ok 1 - the static library defines names of its own prefixes only [GEN-09]'
else
	echo "$alien" | sed 's/^/# /'
	echo 'not ok 1 - the static library defines names of its own prefixes only [GEN-09]'
	status=1
fi

if grep -E '^posix_?trace_' "$dir/static" | diff "$dir/declared" - >"$dir/diff" &&
	[ "$(grep -c '^posix_trace_' "$dir/declared")" -eq 50 ]; then
	echo 'ok 2 - the static library has each public function and no other [GEN-09 GEN-11]'
else
	sed 's/^/# /' "$dir/diff"
	echo 'not ok 2 - the static library has each public function and no other [GEN-09 GEN-11]'
	status=1
fi

name='the shared library exports each public function and nothing else [GEN-09 GEN-11]'
if [ ! -e "$lib/libposixtrace.so" ]; then
	echo "ok 3 - $name # SKIP no shared library in this build"
else
	nm -D --defined-only "$lib/libposixtrace.so" |
		awk '$2 != "A" && $3 !~ /^(__asan|__odr_asan|__tsan|__gcov|__llvm)/ {
			sub(/@.*/, "", $3); print $3 }' | sort >"$dir/shared"
	if diff "$dir/declared" "$dir/shared" >"$dir/diff"; then
		echo "ok 3 - $name"
	else
		sed 's/^/# /' "$dir/diff"
		echo "not ok 3 - $name"
		status=1
	fi
fi
name='the version map lists each public function and no other [GEN-11]'
if sed -n 's/^\t\([a-z_]*\);$/\1/p' "$PTRC_SOURCE/lib/libposixtrace.map" | diff "$dir/declared" - >"$dir/diff"; then
	echo "ok 4 - $name"
else
	sed 's/^/# /' "$dir/diff"
	echo "not ok 4 - $name"
	status=1
fi

# functions_of OBJECT: those that it defines
functions_of() {
	nm -g --defined-only "$1" | awk '$2 == "T" { print $3 }' | sort
}

# In a build without libdw, x_none.c replaces x.c.
name='what replaces a unit in a build without its library defines the same functions'
: >"$dir/diff"
for none in "$PTRC_SOURCE"/src/*/*_none.c; do
	unit=${none#"$PTRC_SOURCE"/}
	unit=${unit%_none.c}
	object=$PTRC_BUILD/${unit%/*}/libcommands_a-${unit##*/}.o
	[ -e "$object" ] || continue
	${CC:-cc} -I"$PTRC_BUILD" -I"$PTRC_SOURCE" -I"$include" -c "$none" -o "$dir/none.o" 2>>"$dir/diff"
	functions_of "$object" >"$dir/whole"
	functions_of "$dir/none.o" | diff "$dir/whole" - >>"$dir/diff"
done
if [ -s "$dir/diff" ]; then
	sed 's/^/# /' "$dir/diff"
	echo "not ok 5 - $name"
	status=1
else
	echo "ok 5 - $name"
fi
exit $status
