#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# The module posixtrace for Python: cases of python_module.py, and how it is installed. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"

command -v python3 >/dev/null || skip_all 'no python3'
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip_all 'no python3 of 3.10 or later'
test -e "$PTRC_BUILD/bindings/python/importable" || skip_all 'no module for Python, as configure said'
test -z "${PTRC_SAN_CFLAGS-}" || skip_all 'the interpreter has no sanitizers'
PYTHONPATH=$PTRC_BUILD/bindings/python
LD_LIBRARY_PATH=$PTRC_BUILD/lib/.libs
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE
PATH=$PTRC_BUILD/src:$PATH

# passes CASE [PYTHON]: of python_module.py, or of python_functions.py if it is one of Functions
passes() {
	file=python_module.py
	case $1 in Functions*) file=python_functions.py ;; esac
	timeout $((120 * ${PTRC_TEST_SLOWDOWN:-1})) "${2-python3}" -W error "$PTRC_SOURCE/tests/bindings/python/$file" "$1"
}

# numbers CASE: the same, by an interpreter that has NumPy
numbers() (
	python3 -c 'import numpy' 2>/dev/null || PATH=/usr/bin:$PATH
	python3 -c 'import numpy' 2>/dev/null || { echo 'no NumPy'; exit 77; }
	passes "$1"
)

# Without the variables, from where it is installed, with the library and the command beside it.
installed() (
	grep -q "^PYTHON_LDFLAGS = -" "$PTRC_BUILD/Makefile" || { echo 'the library has a directory of its own'; exit 77; }
	prefix=$dir/prefix
	mkdir -p "$prefix/bin" "$prefix/lib/python3/dist-packages" || exit 1
	cp -rL "$PYTHONPATH/posixtrace" "$prefix/lib/python3/dist-packages" || exit 1
	cp "$LD_LIBRARY_PATH/libposixtrace.so.0" "$prefix/lib" || exit 1
	ln -s "$PTRC_BUILD/src/ptrace-dump" "$prefix/bin" || exit 1
	ptrace-run -o "$dir/installed.log" -- true || exit 1
	unset LD_LIBRARY_PATH
	PATH=/usr/bin:/bin
	PYTHONPATH=$prefix/lib/python3/dist-packages
	python=$(cd / && command -v python3) || exit 77
	"$python" -W error - "$dir/installed.log" "$prefix" <<-'END'
		import sys, posixtrace
		posixtrace.event("e", "u8 a")(1)
		with open("/proc/self/maps") as maps:
		    assert sys.argv[2] + "/lib/libposixtrace.so.0" in maps.read()
		with posixtrace.open(sys.argv[1]) as log:
		    assert [e.name for e in log][0] == "posix_trace_start"
	END
)

# All cases of python_functions.py, by a python3 that has sys.monitoring.
with_monitoring() {
	for version in 12 13 14; do
		python=python3.$version
		"$python" -c 'import sys; sys.monitoring' 2>/dev/null || continue
		passes Functions "$python"
		return
	done
	echo 'no python3.12 or later'
	return 77
}

result 'fields by position, by name and by layout' passes Recording.test_fields
result 'numbers stand as in a structure of C' passes Recording.test_numbers
result 'arrays, enumerations, units, JSON and bytes' passes Recording.test_others
result 'texts, whatever is in them' passes Recording.test_texts
result 'events without a layout' passes Recording.test_untyped
result 'random layouts, as structures of C' passes Recording.test_as_c
result 'objects that are converted' passes Recording.test_conversions
result 'several threads' passes Recording.test_threads
result 'a second interpreter in the process' passes Recording.test_interpreters
result 'what does not fit is an error that names event and field' \
	passes Recording.test_what_does_not_fit
result 'layouts that are none' passes Recording.test_wrong_layouts
result 'names, also such that are no UTF-8, and a second layout' passes Recording.test_names
result 'where nobody traces' passes Untraced.test_untraced
result 'objects and calls of them' passes Untraced.test_forms
result 'records of logging' passes Records.test_records
result 'records of logging that cannot be events' passes Records.test_bad_records
result 'a record of logging that is cut' passes Logs.test_cut_record
result 'processes of multiprocessing' passes Logs.test_processes
result 'a process that is killed' passes Logs.test_killed_program
result 'spans, and their keys' passes Spans.test_with
result 'an object that is a span already' passes Spans.test_misuse
result 'functions as spans' passes Spans.test_decorator
result 'spans that begin where nobody traces' passes Untraced.test_spans
result 'async functions as spans' passes Spans.test_async
result 'a forked child goes on' passes Spans.test_fork
result 'logs are read event by event' passes Logs.test_iterator
result 'events are selected as by ptrace-dump' passes Logs.test_selection
result 'floating-point numbers without a point in JSON are floats' passes Logs.test_whole_floats
result 'a live session is followed' passes Logs.test_follow
result 'losses are told' passes Logs.test_losses
result 'output that was cut is an error' passes Logs.test_cut
result 'whole logs as arrays' numbers Logs.test_arrays
result 'losses are told with arrays, too' numbers Logs.test_losses_in_arrays
result 'a ptrace-dump that is killed is an error' numbers Logs.test_killed
result 'without NumPy or pandas, an error says so' passes Logs.test_no_numpy
result 'what cannot be read is an error that names it' passes Logs.test_errors
result 'readers that are closed, forgotten or forked' passes Logs.test_closed
result 'a library that is not there' passes Untraced.test_no_library
for case in nesting generators no_begin tasks selection threshold threads sessions trials fork program no_program untraced mistakes names freed many; do
	result "functions: $case" passes "Functions.test_$case"
done
result 'functions, by sys.monitoring' with_monitoring
result 'installed, it finds library and command beside it' installed

echo "1..$number"
exit "$status"
