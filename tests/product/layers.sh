#!/bin/sh
# SPDX-License-Identifier: MIT
# The rooms of the house: what ARCHITECTURE.md lists between `<!-- rooms: lowest first -->' and
# `<!-- /rooms -->'. A file includes files of its own room and of lower ones, and calls functions
# of these only. A unit is a .c file and the .h file of its name; no circle of units include or
# call each other. The commands use the library as every program does, and by seven headers that are
# not installed. Each header is in a list of local.mk.
#
# Calls are what nm finds in the objects of the build: a symbol that one leaves undefined and
# another one defines. What only the keeper's program calls is not seen. The preloaded library wraps
# functions of the C library (lib/preload/preload.map): who calls these calls the C library. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
cd "$PTRC_SOURCE" || exit 99

# verdict NAME: fails if something was written to $dir/found
verdict() {
	result "$1" silent sort -u "$dir/found"
}

echo 1..7
sed -n '/^<!-- rooms: lowest first -->/,/^<!-- \/rooms -->/s/^- \([a-z/]*\):.*/\1/p' \
	ARCHITECTURE.md >"$dir/rooms"
find lib src -name '*.[chS]' | sort >"$dir/files"

# Room of each file; its place in the order.
awk 'NR == FNR { place[$1] = NR; next }
	{
		room = $1
		sub(/\/[^\/]*$/, "", room)
		if (!(room in place))
			print $1 ": its room is not in the list"
		is_used[room] = 1
	}
	END {
		for (room in place)
			if (!(room in is_used))
				print room ": nothing is in that room"
	}' "$dir/rooms" "$dir/files" >"$dir/found"
verdict 'each file is in a room of the list'

# Lines "from to": what includes what, what calls what.
# shellcheck disable=SC2046 # names without blanks
awk '/^[ \t]*#[ \t]*include[ \t]*"(lib|src)\// {
		split($0, part, "\"")
		print FILENAME, part[2]
	}' $(cat "$dir/files") >"$dir/includes"
(cd "$PTRC_BUILD" && find lib src -name '*.o' ! -path '*/.libs/*' ! -name 'tests_*' \
	-exec nm -A -P {} +) | awk '
	# lib/room/libposixtrace_la-unit.o is made of lib/room/unit.c; an object that is left of
	# a file that has gone, of nothing.
	function source_of(object,    path, name) {
		if (object in source)
			return source[object]
		path = name = object
		sub(/[^\/]*$/, "", path)
		sub(/.*\//, "", name)
		sub(/\.o$/, ".c", name)
		if (!((path name) in is_file))
			sub(/^[^-]*-/, "", name)
		return source[object] = (path name) in is_file ? path name : ""
	}
	FILENAME ~ /\.map$/ { is_wrapped[substr($1, 1, length($1) - 1)] = 1; next }
	FILENAME != "-" { is_file[$1] = 1; next }
	{
		object = $1
		sub(/:$/, "", object)
		if (source_of(object) == "")
			next
		if ($3 == "U")
			wants[++count] = source_of(object) SUBSEP $2
		else if ($3 ~ /^[A-Z]$/ && !($2 in is_wrapped))
			definer[$2] = source_of(object)
	}
	END {
		for (i = 1; i <= count; i++) {
			split(wants[i], want, SUBSEP)
			if (want[2] in definer)
				print want[1], definer[want[2]], want[2]
		}
	}' lib/preload/preload.map "$dir/files" - >"$dir/calls"

# up VERB FILE: the lines of the file that run up
up() {
	awk -v verb="$1" '
		function place_of(file) {
			sub(/\/[^\/]*$/, "", file)
			return place[file]
		}
		NR == FNR { place[$1] = NR; next }
		place_of($1) < place_of($2) {
			print $1 " " verb " " ($3 == "" ? $2 : $3 " of " $2)
		}' "$dir/rooms" "$2"
}
up includes "$dir/includes" >"$dir/found"
verdict 'no include runs up'
up calls "$dir/calls" >"$dir/found"
[ -s "$dir/calls" ] || echo "no objects in $PTRC_BUILD" >"$dir/found"
verdict 'no call runs up'

# tsort names what is in a circle; the arrows among these explain it.
sed 's/\.[chS]\( \|$\)/\1/g' "$dir/includes" "$dir/calls" | awk '$1 != $2' >"$dir/arrows"
awk '{ print $1, $2 }' "$dir/arrows" | sort -u | tsort 2>&1 >"$dir/sorted" |
	sed -n 's|^tsort: \([a-z]*/.*\)|\1|p' | sort -u >"$dir/circle"
awk 'NR == FNR { is_in[$1] = 1; next }
	is_in[$1] && is_in[$2] {
		print $1 " -> " $2 ($3 == "" ? " (includes)" : " (calls " $3 ")")
	}' "$dir/circle" "$dir/arrows" >"$dir/found"
verdict 'no circle of units'

grep '^src/[^ ]* lib/' "$dir/includes" | grep -Ev ' lib/(base/(heap|procfs)|model/(glob|layout)|preload/(notes|operand))\.h$' >"$dir/found"
verdict 'of the library, commands include its public headers, the private one, the heap, /proc, globs, layouts, and the notes of probes'
grep -l 'posixtrace-private\|"lib/' examples/* include/posixtrace.h* include/posixtrace-log.h \
	include/posixtrace-control.h include/trace.h >"$dir/found"
verdict 'examples and public headers include public headers only'
# A .c file that no list has is not linked; a .h file is only missing in the tarball.
find lib src -name '*.h' | while read -r header; do
	grep -q "^	%D%/${header#*/}\( \|\$\)" "${header%%/*}/local.mk" || echo "$header"
done >"$dir/found"
verdict 'each header is in the lists of local.mk, by which the tarball has it'
exit "$status"
