# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # $dir is of tap.sh
# For the tests that run the commands which a document shows, and compare what they print. After tap.sh.
#
# A directory of cases has, for each command, N.command and N.expected; shown_run adds N.printed and N.status.
# Numbers, durations and addresses may be others, and so may what a line of three dots stands for. A
# command exits with 0 unless `echo $?' follows.

# What may differ becomes the same; that is also what a busy machine makes of a comparison.
plain() {
	sed -E -e 's/\/[^ "]*\/([^ "\/]+)/\1/g' -e 's/\b[0-9]+(\.[0-9]+)?(ns|us|ms|s)\b/0ms/g' \
		-e 's/0x[0-9a-f]+/X/g' -e 's/[0-9]+/0/g' \
		-e 's/^req: (slower|changed|noise)/req: compared/' -e 's/ +/ /g' "$1"
}

# What ptrace-doctor finds about this machine is in no document.
ptrace-doctor | grep -v '^ok ' >"$dir/machine"
plain "$dir/machine" >"$dir/plain-machine"

matches() {
	plain "$1" >"$dir/shown"
	plain "$2" | grep -vxFf "$dir/plain-machine" >"$dir/printed"
	awk -v printed="$dir/printed" '
		function fits(i, j) {
			if (i > n)
				return j > m
			if (e[i] != "...")
				return j <= m && e[i] == a[j] && fits(i + 1, j + 1)
			for (; j <= m + 1; j++)
				if (fits(i + 1, j))
					return 1
			return 0
		}
		{ e[++n] = $0 }
		END {
			while ((getline line <printed) > 0)
				a[++m] = line
			exit !fits(1, 1)
		}
	' "$dir/shown"
}

cat >"$dir/driver" <<'END'
cd "$1" || exit 1
last=0
for command in "$2"/*.command; do
	(exit "$last")
	. "$command" >"${command%.command}.printed" 2>&1 </dev/null
	last=$?
	echo "$last" >"${command%.command}.status"
	# Nobody types so fast that what was begun is not that program yet.
	case $(cat "$command") in
	*'&') while [ "/proc/$!/exe" -ef "/proc/$$/exe" ]; do sleep 0.01; done ;;
	esac
done
END

# shown_run WORK CASES [COMMAND...]: runs the commands in the directory WORK, one after the other by one shell,
# which COMMAND starts
shown_run() {
	work=$1 these=$2
	shift 2
	timeout $((120 * ${PTRC_TEST_SLOWDOWN:-1})) "$@" sh "$dir/driver" "$work" "$these" ||
		echo "# the shell ended with $?"
}

# shown_judge CASE: did the command exit and print as shown? Says what differs
shown_judge() {
	was=$(cat "$1.status" 2>/dev/null || echo none)
	next=${1%/*}/$(printf '%03d' "$(expr "${1##*/}" + 1)")
	# shellcheck disable=SC2016 # what the document says
	if grep -qsx 'echo $?' "$next.command"; then
		wanted=$(cat "$next.expected")
	else
		wanted=0
	fi
	# Numbers count, where they are all there is.
	[ "$was" = "$wanted" ] && matches "$1.expected" "$1.printed" &&
		{ ! grep -qx '[0-9]*' "$1.expected" ||
			[ "$(grep -x '[0-9]*' "$1.expected")" = "$(grep -x '[0-9]*' "$1.printed")" ]; } && return
	sed 's/^/shown: /' "$1.expected"
	sed 's/^/printed: /' "$1.printed"
	echo "status $was, not $wanted"
	return 1
}
