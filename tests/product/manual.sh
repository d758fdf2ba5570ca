#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# The manual agrees with the headers and the requirements, and its programs work. TAP.

include=$PTRC_SOURCE/include
man=$PTRC_SOURCE/man
docs=$PTRC_SOURCE/docs
static=$PTRC_BUILD/lib/.libs/libposixtrace.a
# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"

# What the installed headers declare, one name a line.
public_functions() {
	cat "$include/trace.h" "$include/posixtrace.h" "$include/posixtrace-control.h" \
		"$include/posixtrace-log.h" |
		sed -n 's/^\(int\|void\|const char \*\|trace_event_id_t\) *\(posix_*trace_[a-z_]*\)(.*/\2/p'
}

# The page that a name opens, links followed.
page_of() {
	link=$(sed -n 's|^\.so man[37]/||p' "$man/$1")
	echo "$man/${link:-$1}"
}

every_function_has_a_page() {
	count=0
	for f in $(public_functions); do
		count=$((count + 1))
		if ! test -r "$man/$f.3"; then
			echo "no page $f.3"
			continue
		fi
		page=$(page_of "$f.3")
		# The names, in the line behind .SH NAME; the prototype.
		sed -n '/^\.SH NAME/{n;p;}' "$page" | tr -s ', ' '\n' | grep -qx "$f" ||
			echo "$page: NAME lacks $f"
		grep -q "^\.BI* .*[ *]$f(" "$page" || echo "$page: SYNOPSIS lacks $f"
		grep -q "%D%/$f\.3" "$man/local.mk" || echo "local.mk lacks $f.3"
	done
	test "$count" -eq 94 || echo "$count functions in the headers"
}

every_name_is_a_function() {
	public_functions >"$dir/functions"
	for page in "$man"/*.3; do
		file=${page##*/}
		# What other languages have, and macros.
		case $file in
		posixtrace.hpp.3 | posixtrace-node.3 | posixtrace-python.3) continue ;;
		POSIXTRACE_*)
			grep -q "^#define ${file%.3}(" "$PTRC_SOURCE/include/posixtrace.h" && continue ;;
		esac
		grep -qx "${file%.3}" "$dir/functions" || echo "$file: no such function"
		test -r "$(page_of "$file")" || echo "$file links to nothing"
	done
}

# Pages of ours that the text and SEE ALSO speak of.
every_reference_leads_somewhere() {
	for page in "$man"/*.[1357]; do
		refs=$(sed 's/\\-/-/g' "$page" |
			grep -oE '(\\fB|^\.BR |^\.RB \( )(posix|ptrace)[a-z_.-]*(\\fR| )\([1357]\)' |
			sed -E 's/^.*(posix|ptrace)([a-z_.-]*)(\\fR| )\(([1357])\)$/\1\2.\4/' | sort -u)
		for ref in $refs; do
			case $ref in
			posix_spawn.3) continue ;;
			esac
			test -r "$man/$ref" || echo "${page##*/}: $ref"
		done
	done
}

every_section_is_there() {
	for page in "$man"/*.3; do
		grep -q '^\.so ' "$page" && continue
		sed -n '/^\.SH SYNOPSIS/,/^\.SH DESC/p' "$page" | grep -q '^\.EE' &&
			echo "${page##*/}: .EE in SYNOPSIS, which joins the prototypes after it"
		for section in NAME SYNOPSIS DESCRIPTION '"RETURN VALUE"' ERRORS ATTRIBUTES NOTES \
			'"SEE ALSO"'; do
			grep -qx "\.SH $section" "$page" || echo "${page##*/}: $section"
		done
	done
}

# Requirements with a decision of ours.
decided() {
	awk '/^- [A-Z]+-[0-9]+ \[/ { id = $2 } /^ *Decision:/ { print id }' \
		"$docs/requirements.md"
	echo GEN-03
}

every_decision_is_told() {
	decided | sort -u >"$dir/decided"
	test "$(wc -l <"$dir/decided")" -gt 200 || echo "cannot find the decisions"
	sed -n 's/^| \([A-Z]*-[0-9]*\) |.*/\1/p' "$docs/conformance.md" | sort -u |
		comm -23 "$dir/decided" - | sed 's/^/conformance.md: /'
}

every_choice_is_required() {
	ids=$(grep -oE '\b[A-Z]{3,}-[0-9]{2}\b' "$docs/conformance.md" |
		sort -u)
	for id in $ids; do
		grep -q "^- $id " "$docs/requirements.md" || echo "unknown: $id"
	done
}

every_command_is_in_the_overview() {
	for page in "$man"/ptrace-*.1; do
		command=${page##*/}
		command=$(echo "${command%.1}" | sed 's/-/\\\\-/g')
		sed -n '/^\.SH COMMANDS/,/^\.SH /p' "$man/posixtrace.7" | grep -q "^\.BR $command (1)" ||
			echo "COMMANDS: $command"
		sed -n '/^\.SH "SEE ALSO"/,$p' "$man/posixtrace.7" | grep -q "^\.BR $command (1)" ||
			echo "SEE ALSO: $command"
	done
}

# Those of a command are among those of all; ptrace-run's are also COMMAND's.
statuses_are_shared() {
	sed -n '/^\.SH "EXIT STATUS OF THE COMMANDS"/,/^\.SH PROCESSES/p' "$man/posixtrace.7" |
		grep -A 1 '^\.TP' | grep -oE '\b[0-9]+\b' | sort -u >"$dir/all"
	test "$(wc -l <"$dir/all")" -eq 9 || cat "$dir/all"
	for page in $(grep -L '^\.so ' "$man"/ptrace-*.1); do
		sed -n '/^\.SH "EXIT STATUS"/,/^\.SH /p' "$page" | grep -A 1 '^\.TP' |
			grep -E '^\.B' | grep -v ' 0 to 124\| 128+' | grep -oE '\b[0-9]+\b' |
			sort -u >"$dir/its"
		test -s "$dir/its" || echo "${page##*/}: no exit status"
		comm -23 "$dir/its" "$dir/all" | sed "s/^/${page##*/}: /"
		sed -n '/^\.SH "SEE ALSO"/,$p' "$page" | grep -q '^\.BR posixtrace (7)' ||
			echo "${page##*/}: SEE ALSO posixtrace(7)"
	done
}

# Neither formatter has anything to say. A page that only links to another has no text.
pages_are_sound() {
	for formatter in groff mandoc; do
		command -v "$formatter" >/dev/null || { echo "no $formatter"; return 77; }
	done
	pages=$(grep -L '^\.so ' "$man"/*.[1357])
	# One after the other: where a sheet ends does not depend on other pages.
	for page in $pages; do
		groff -t -man -ww -Tutf8 "$page" >/dev/null
	done 2>"$dir/warnings"
	# shellcheck disable=SC2086 # their names
	! grep . "$dir/warnings" && mandoc -Tlint -Werror $pages
}

# ---- the programs in pages ----

# example PAGE NAME: the program of that name, as a reader of the page sees it
example() {
	sed -n "/^\.\\\\\" BEGIN $2\$/,/^\.\\\\\" END $2\$/p" "$man/$1" |
		sed -e '/^\./d' -e 's/\\-/-/g' -e 's/\\&//g' -e 's/\\e/\\/g'
}

# What groff takes without a word and shows otherwise than it is written: quotes that open an argument
# are not shown, and of words that change their font in turn those without blanks in quotes join.
fonts_are_as_written() {
	grep -nE '^\.[BI] [^"]* "' "$man"/*.[1357] &&
		echo 'quotes that are not shown: write \\(dq'
	grep -nE '^\.[BIR][BIR] [^" ]*[A-Za-z][,:;]( |$)' "$man"/*.[1357] &&
		echo 'the mark belongs to the second word'
}

# lines COUNT PATTERN: so many lines of what the analyzer has shown
lines() {
	found=$(grep -c "$2" "$dir/shown")
	test "$found" -eq "$1" || { echo "$found lines with: $2"; cat "$dir/shown"; return 1; }
}

# What posixtrace.hpp(3) shows.
cxx_example_works() {
	test -n "$CXX" || { echo 'no C++ compiler'; return 77; }
	test -r "$static" || { echo "no $static"; return 77; }
	example posixtrace.hpp.3 events.cc >"$dir/events.cc"
	grep -q 'int main' "$dir/events.cc" || { echo 'no program'; return 1; }
	# shellcheck disable=SC2086 # CXX may be a command with arguments
	$CXX -std=c++17 $PTRC_SAN_CFLAGS -I"$include" -Wall -Wextra -Werror "$dir/events.cc" \
		"$static" -pthread -o "$dir/events" || return 1
	"$PTRC_BUILD/src/ptrace-run" -o "$dir/events.log" -- "$dir/events" || return 1
	"$PTRC_BUILD/src/ptrace-dump" --decode='db.query=u64 id, u32 rows, str sql' --decode='slept=i64 us' \
		--json "$dir/events.log" >"$dir/shown" || return 1
	lines 3 '"data":{"id":[123],"rows":7,"sql":"select name from user"}' || return 1
	lines 3 '"data":{"us":[123]000}' || return 1
	"$PTRC_BUILD/src/ptrace-stat" --pairs "$dir/events.log" >"$dir/shown" || return 1
	lines 1 '^request  *3 '
}

# What posixtrace-python(3) shows.
python_example_works() (
	command -v python3 >/dev/null || { echo 'no python3'; exit 77; }
	test -e "$PTRC_BUILD/bindings/python/importable" || { echo 'no module for Python, as configure said'; exit 77; }
	test -z "${PTRC_SAN_CFLAGS-}" || { echo 'the interpreter has no sanitizers'; exit 77; }
	PYTHONPATH=$PTRC_BUILD/bindings/python LD_LIBRARY_PATH=$PTRC_BUILD/lib/.libs PYTHONDONTWRITEBYTECODE=1
	export PYTHONPATH LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE
	PATH=$PTRC_BUILD/src:$PATH
	cd "$dir" || exit 1
	for program in events reader table; do
		example posixtrace-python.3 "$program.py" >"$program.py"
		test -s "$program.py" || { echo "no $program.py"; exit 1; }
	done
	ptrace-run -o run.log -- python3 events.py || exit 1
	python3 reader.py >shown || exit 1
	lines 3 '^20.* [0-9]* [012] select 1$'
	example posixtrace-columns.5 columns.py >columns.py
	test -s columns.py || { echo 'no columns.py'; exit 1; }
	python=python3
	"$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
	"$python" -c 'import numpy' 2>/dev/null || { echo 'no NumPy'; exit 77; }
	"$python" table.py >shown || exit 1
	lines 1 '^3\.0 [0-9]*$'
	ptrace-dump --format=columns run.log | "$python" columns.py >shown || exit 1
	lines 1 '^3$'
)

# What posixtrace-node(3) shows.
node_example_works() (
	command -v node >/dev/null || { echo 'no node'; exit 77; }
	NODE_PATH=$PTRC_BUILD/bindings/node LD_LIBRARY_PATH=$PTRC_BUILD/lib/.libs
	export NODE_PATH LD_LIBRARY_PATH
	test -r "$NODE_PATH/posixtrace/posixtrace.node" || { echo 'the package is not built'; exit 77; }
	cd "$dir" || exit 1
	example posixtrace-node.3 events.js >events.js
	test -s events.js || exit 1
	"$PTRC_BUILD/src/ptrace-run" -o node.log -- node events.js || exit 1
	"$PTRC_BUILD/src/ptrace-dump" --json node.log >shown || exit 1
	lines 3 '"data":{"id":[012],"rows":3,"sql":"select 1"}' || exit 1
	lines 3 '"data":{"key":"user:[012]","size":512}' || exit 1
	"$PTRC_BUILD/src/ptrace-stat" --pairs node.log >shown || exit 1
	lines 1 '^request  *by data.key  *3 '
)

result 'every function has a page, which names and declares it' silent every_function_has_a_page
result 'every page is one of a function or a macro' silent every_name_is_a_function
result 'every page that is referred to exists' silent every_reference_leads_somewhere
result 'every page of a function has all sections and unjoined prototypes' silent every_section_is_there
result 'every decision is in the conformance statement [GEN-03]' \
	silent every_decision_is_told
result 'every requirement that it speaks of exists' silent every_choice_is_required
result 'every command is in the overview' silent every_command_is_in_the_overview
result 'exit statuses of the commands are those of the overview' silent statuses_are_shared
result 'the formatters find nothing wrong' pages_are_sound
result 'words and their fonts are shown as they are written' silent fonts_are_as_written

result 'the program of posixtrace.hpp(3) works, and its events say what they mean' \
	cxx_example_works
result 'the programs of posixtrace-python(3) and posixtrace-columns(5) work' python_example_works
result 'the program of posixtrace-node(3) works' node_example_works

echo "1..$number"
exit "$status"
