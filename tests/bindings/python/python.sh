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

# cases FILE...: each as Class.case
cases() {
	awk '/^class [A-Za-z]*\(unittest/ { sub(/\(.*/, "", $2); class = $2 }
		/^    def test_/ { sub(/\(.*/, "", $2); print class "." $2 }' "$@"
}

for case in $(cases "$PTRC_SOURCE"/tests/bindings/python/python_*.py); do
	case $case in
	Logs.test_arrays | Logs.test_losses_in_arrays | Logs.test_killed) how=numbers ;;
	*) how=passes ;;
	esac
	result "$case" $how "$case"
done
result 'functions, by sys.monitoring' with_monitoring
result 'installed, it finds library and command beside it' installed

echo "1..$number"
exit "$status"
