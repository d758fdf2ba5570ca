#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# The commands and programs of README.md, run one after the other, print what it shows. With the argument
# `installed', in what its first commands have built and installed. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
readme=$PTRC_SOURCE/README.md

command -v pkg-config >/dev/null || skip_all 'no pkg-config'
test -z "${PTRC_SAN_CFLAGS-}" || skip_all 'interpreters have no sanitizers'

# block PATTERN: the first indented block after the line that matches
block() {
	awk -v pattern="$1" '$0 ~ pattern { found = 1 }
		found && /^    / { is_block = 1; print substr($0, 5); next }
		found && is_block && NF { exit }' "$readme"
}

mkdir "$dir/bin" "$dir/cases" "$dir/work" "$dir/home" || exit 99
cases=$dir/cases work=$dir/work
if [ "${1-}" = installed ]; then
	unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC CXX LD_LIBRARY_PATH
	cp -r "$PTRC_SOURCE" "$dir/tree" && rm -rf "$dir/tree/build" "$dir/tree/configure" || exit 99
	block '^Install it' >"$dir/install"
	grep -q '^\./autogen\.sh$' "$dir/install" || exit 99
	# The tools of some languages are in the real one.
	own_home=$HOME HOME=$dir/home
	cd "$dir/tree" || exit 99
	set -e
	# shellcheck source=/dev/null
	. "$dir/install" >"$dir/installed" 2>&1 || { tail "$dir/installed"; exit 99; }
	set +e
	HOME=$own_home
	installed=$dir/home/.local
	test "$(command -v ptrace-run)" = "$installed/bin/ptrace-run" || exit 99
	PYTHONPATH=$(find "$installed/lib" -name posixtrace -path '*python*' -printf '%h\n')
	NODE_PATH=$installed/lib/nodejs
else
	# The compilers are those of the build, and pkg-config finds what is not installed.
	for it in "cc $CC" "c++ $CXX"; do
		printf '#!/bin/sh\nexec %s "$@"\n' "${it#* }" >"$dir/bin/${it%% *}"
	done
	chmod +x "$dir/bin"/*
	PKG_CONFIG_PATH=$dir/bin
	export PKG_CONFIG_PATH
	printf 'Name: posixtrace\nDescription: of the build tree\nVersion: 0\nCflags: -I%s\nLibs: -L%s -lposixtrace\n' \
		"$PTRC_SOURCE/include" "$PTRC_BUILD/lib/.libs" >"$dir/bin/posixtrace.pc"
	PATH=$dir/bin:$PTRC_BUILD/src:$PATH
	LD_LIBRARY_PATH=$PTRC_BUILD/lib/.libs
	PYTHONPATH=$PTRC_BUILD/bindings/python
	NODE_PATH=$PTRC_BUILD/bindings/node
	export LD_LIBRARY_PATH
fi
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH NODE_PATH PYTHONDONTWRITEBYTECODE
# shellcheck source=tests/support/shown.sh
. "$PTRC_SOURCE/tests/support/shown.sh"
# shellcheck source=tests/support/cargo.sh
. "$PTRC_SOURCE/tests/support/cargo.sh"

# Files between FILE and the next FILE or END; in other blocks `$ ' begins a command, and its output follows.
awk -v work="$work" -v cases="$cases" '
	/^<!-- FILE / { file = work "/" $3; next }
	/^<!-- END -->$/ { file = ""; next }
	!/^    / && !/^$/ { is_command = 0 }
	file && /^    / { print substr($0, 5) >file; next }
	file && /^$/ { if (file ~ /\.c$/) print "" >file; next }
	/^    \$ / {
		is_command = 1
		name = sprintf("%s/%03d", cases, ++count)
		print substr($0, 7) >(name ".command")
		printf "" >(name ".expected")
		next
	}
	is_command && /^    / { print substr($0, 5) >(name ".expected") }
' "$readme"
shown_run "$work" "$cases"

# records LANGUAGE COMMAND...: run by the command, the program records the event of the README
records() (
	cd "$work" || exit 1
	log=$1.log
	shift
	"$@" >said 2>&1 && ! grep . said || exit 1
	ptrace-run -o "$log" -- "$@" || exit 1
	ptrace-dump --user --fields=event,data "$log" >seen
	cat seen
	test "$(cat seen)" = '{"event":"db.query","data":{"id":7,"rows":3,"sql":"select 1"}}'
)

cxx() (
	# shellcheck disable=SC2046 # words
	cd "$work" && c++ -std=c++17 -Wall -Werror query.cc $(pkg-config --cflags --libs posixtrace) -o query_cc &&
		records cc ./query_cc
)

python() {
	test -n "$PYTHONPATH" && PYTHONPATH=$PYTHONPATH python3 -c 'import posixtrace' 2>/dev/null || {
		echo 'no module for Python, as configure said'
		return 77
	}
	records py python3 query.py
}

node_records() {
	test -r "$NODE_PATH/posixtrace/posixtrace.node" && command -v node >/dev/null || {
		echo 'no package for Node, as configure said'
		return 77
	}
	records js node query.js
}

rust() {
	! cargo_lacks || return 77
	(
		query=$work/query.rs
		cargo_begin bindings/rust || exit 1
		mkdir -p "$work/query/src" && cp "$query" "$work/query/src/main.rs" && cd "$work/query" || exit 1
		printf '[package]\nname = "query"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n' >Cargo.toml
		printf '[dependencies]\nposixtrace = { path = "../bindings/rust/posixtrace" }\n' >>Cargo.toml
		cargo build --quiet --target-dir "$target" && cp "$target/debug/query" "$dir/query_rs"
	) && records rs "$dir/query_rs"
}

# What stands first in the README, and how long it may be.
head_and_length() {
	commands=$(awk '/^    / { print $1 } /^Both work/ { exit }' "$readme" | tr '\n' ' ')
	echo "first: $commands"
	test "$commands" = 'scripts/demo scripts/check ' && test "$(wc -l <"$readme")" -le 220
}

# Which standard has the option, and which no more.
standard() (
	cd "$PTRC_SOURCE" || exit 1
	for file in README.md man/posixtrace.7 docs/conformance.md debian/control rpm/posixtrace.spec; do
		grep -q 'POSIX\.1-2008/2017 *(Issue 7)\|POSIX\.1-2008/2017$' "$file" && grep -q 'POSIX\.1-2024' "$file" ||
			{ echo "$file does not say which POSIX has the Trace option"; exit 1; }
		! grep -n 'option of POSIX\.1[^-]' "$file" || exit 1
	done
)

for command in "$cases"/*.command; do
	result "$(sed 's/#/\\#/g' "$command")" shown_judge "${command%.command}"
done
[ "$number" -ge 10 ] || { echo "# the README has $number commands"; status=1; }
result 'C++: the program of the README' cxx
result 'Python: the program of the README' python
result 'Rust: the program of the README' rust
result 'JavaScript: the program of the README' node_records
result 'shell: the program of the README' records sh sh query.sh
result 'scripts/demo and scripts/check come first, and all of it is short' head_and_length
result 'every document says which POSIX has the option' standard
echo "1..$number"
exit "$status"
