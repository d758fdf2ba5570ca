# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034 # the test that reads this uses the variables
# For the shell tests that run commands as cases: `. tap.sh', then result, then at the end
# the plan and `exit $status'. $dir is a directory of their own, gone afterwards. TAP.

dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
number=0
status=0

# result NAME COMMAND...: one test, passed if the command succeeds, skipped if it exits 77
result() {
	name=$1
	shift
	number=$((number + 1))
	"$@" >"$dir/out" 2>&1
	case $? in
	0)
		echo "ok $number - $name"
		;;
	77)
		echo "ok $number - $name # SKIP $(head -n 1 "$dir/out")"
		;;
	*)
		sed 's/^/# /' "$dir/out"
		echo "not ok $number - $name"
		status=1
		;;
	esac
}

# skip_all REASON: this test ends, all of it skipped
skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

# silent COMMAND...: succeeds if the command prints nothing
silent() {
	! "$@" 2>&1 | grep .
}
