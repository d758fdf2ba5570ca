#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# The module posixtrace for Python: cases of python_module.py, and how it is installed. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

command -v python3 >/dev/null || skip_all 'no python3'
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || skip_all 'no python3 of 3.9 or later'
POSIXTRACE_LIBRARY=$PTRC_BUILD/lib/.libs/libposixtrace.so.0
test -r "$POSIXTRACE_LIBRARY" || skip_all 'no shared library'
test -z "${PTRC_SAN_CFLAGS-}" || skip_all 'the interpreter has no sanitizers'
PYTHONPATH=$PTRC_SOURCE/bindings/python
PYTHONDONTWRITEBYTECODE=1
export POSIXTRACE_LIBRARY PYTHONPATH PYTHONDONTWRITEBYTECODE
PATH=$PTRC_BUILD/src:$PATH

# passes CASE: of python_module.py
passes() {
	timeout $((120 * ${PTRC_TEST_SLOWDOWN:-1})) python3 -W error "$PTRC_SOURCE/tests/bindings/python/python_module.py" "$1"
}

# numbers CASE: the same, by an interpreter that has NumPy
numbers() (
	python3 -c 'import numpy' 2>/dev/null || PATH=/usr/bin:$PATH
	python3 -c 'import numpy' 2>/dev/null || { echo 'no NumPy'; exit 77; }
	passes "$1"
)

# The name of the library that the module looks for is that of the one that is built.
soname() {
	named=$(sed -n 's/^_SONAME = "\(.*\)"$/\1/p' "$PYTHONPATH/posixtrace/__init__.py")
	test -n "$named" && test -e "$PTRC_BUILD/lib/.libs/$named"
}

# Without the variables, from where it is installed, with the library and the command beside it.
installed() (
	prefix=$dir/prefix
	mkdir -p "$prefix/bin" "$prefix/lib/python3/dist-packages" || exit 1
	cp -r "$PYTHONPATH/posixtrace" "$prefix/lib/python3/dist-packages" || exit 1
	cp "$POSIXTRACE_LIBRARY" "$prefix/lib" || exit 1
	ln -s "$PTRC_BUILD/src/ptrace-dump" "$prefix/bin" || exit 1
	ptrace-run -o "$dir/installed.log" -- true || exit 1
	unset POSIXTRACE_LIBRARY
	PATH=/usr/bin:/bin
	PYTHONPATH=$prefix/lib/python3/dist-packages
	python=$(cd / && command -v python3) || exit 77
	"$python" -W error - "$dir/installed.log" "$prefix" <<-'END'
		import sys, posixtrace
		posixtrace.event("e", "u8 a")(1)
		assert posixtrace._library().record is not None
		with open("/proc/self/maps") as maps:
		    assert sys.argv[2] + "/lib/libposixtrace.so.0" in maps.read()
		with posixtrace.open(sys.argv[1]) as log:
		    assert [e.name for e in log][0] == "posix_trace_start"
	END
)

result 'fields by position, by name and by layout' passes Recording.test_fields
result 'numbers stand as in a structure of C' passes Recording.test_numbers
result 'arrays, enumerations, units, JSON and bytes' passes Recording.test_others
result 'texts, whatever is in them' passes Recording.test_texts
result 'events without a layout' passes Recording.test_untyped
result 'the fast way packs as the slow one does' passes Recording.test_fast_as_slow
result 'several threads' passes Recording.test_threads
result 'what does not fit is an error that names event and field' \
	passes Recording.test_what_does_not_fit
result 'layouts that are none' passes Recording.test_wrong_layouts
result 'names, also such that are no UTF-8, and a second layout' passes Recording.test_names
result 'where nobody traces' passes Untraced.test_untraced
result 'spans, and their keys' passes Spans.test_with
result 'functions as spans' passes Spans.test_decorator
result 'async functions as spans' passes Spans.test_async
result 'a forked child goes on' passes Spans.test_fork
result 'logs are read event by event' passes Logs.test_iterator
result 'events are selected as by ptrace-dump' passes Logs.test_selection
result 'a live session is followed' passes Logs.test_follow
result 'losses are told' passes Logs.test_losses
result 'output that was cut is an error' passes Logs.test_cut
result 'whole logs as arrays' numbers Logs.test_arrays
result 'losses are told with arrays, too' numbers Logs.test_losses_in_arrays
result 'a ptrace-dump that is killed is an error' numbers Logs.test_killed
result 'without NumPy or pandas, an error says so' passes Logs.test_no_numpy
result 'what cannot be read is an error that names it' passes Logs.test_errors
result 'readers that are closed, forgotten or forked' passes Logs.test_closed
result 'a library that is not there or too old' passes Untraced.test_no_library
result 'the module looks for the library that is built' soname
result 'installed, it finds library and command beside it' installed

echo "1..$number"
exit "$status"
