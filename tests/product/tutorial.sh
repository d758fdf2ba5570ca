#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # variables of tap.sh
# The commands of posixtrace-tutorial(7), run one after the other by one shell, print what
# the page shows and exit as it says. TAP.
#
# Numbers, durations and addresses may be others, and so may what a line of three dots stands for. A
# command exits with 0 unless `echo $?' follows.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}
command -v jq >/dev/null || skip_all 'no jq'

mkdir "$dir/bin" "$dir/cases" "$dir/work" || exit 99
cases=$dir/cases

# The library is not installed, and the compiler that it goes with may want to be told so.
cat >"$dir/bin/cc" <<END
#!/bin/sh
exec $CC ${PTRC_SAN_CFLAGS-} -I"$PTRC_SOURCE/include" -L"$PTRC_BUILD/lib/.libs" "\$@" -lpthread
END
chmod +x "$dir/bin/cc"
PATH=$dir/bin:$PATH
LD_LIBRARY_PATH=$PTRC_BUILD/lib/.libs
export LD_LIBRARY_PATH

# The page as a reader sees it.
sed -e "s/\\\\(aq/'/g" -e 's/\\-/-/g' -e 's/\\&//g' -e 's/\\e/\\/g' \
	"$PTRC_SOURCE/man/posixtrace-tutorial.7" >"$dir/page"
# What a server is needed for, between two NEED, has one of its own, if there is any here.
engine=
absent='no ptrace-ship'
if ! unshare -r --uts true 2>/dev/null; then
	absent='no user namespaces'
elif [ -x "$PTRC_BUILD/src/ptrace-ship" ]; then
	for dialect in plain modern; do
		absent=$("$PTRC_SOURCE/tests/cmd/ship/fleet/server" has "$dialect") || continue
		"$PTRC_SOURCE/tests/cmd/ship/fleet/server" start "$dialect" "$dir/engine" || exit 99
		trap '"$PTRC_SOURCE/tests/cmd/ship/fleet/server" stop "$dir/engine"; rm -rf "$dir"' EXIT
		engine=127.0.0.1:$(cat "$dir/engine/port")
		sed -i "s/localhost:8123/$engine/" "$dir/page"
		break
	done
fi

# PostgreSQL runs as an ordinary user, who needs a shell and a directory of its own.
postgres=$dir/postgres
no_postgres=
mkdir "$postgres" "$postgres/cases" "$postgres/work" || exit 99
as_postgres='env'
if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
	no_postgres='no PostgreSQL'
elif [ -n "${PTRC_SAN_CFLAGS-}" ]; then
	no_postgres='PostgreSQL is not run with sanitizers'
elif [ "$(id -u)" -eq 0 ]; then
	as_postgres='setpriv --reuid=postgres --regid=postgres --clear-groups'
	chmod 711 "$dir"
	chown -R postgres "$postgres" 2>/dev/null &&
		$as_postgres test -x "$PTRC_BUILD/src/ptrace-run" -a -r "$PTRC_BUILD/lib" ||
		no_postgres='no user postgres that can use the build'
fi

# Files between BEGIN and END; in other examples what follows `$ ' and `> ' is a command,
# the rest its output.
awk -v work="$dir/work" -v ordinary="$cases" -v postgres="$postgres/cases" -v engine="$engine" \
	-v no_postgres="$no_postgres" '
	BEGIN { cases = ordinary }
	/^\.\\" NEED/ {
		is_left_out = ($3 == "engine" && !engine) || ($3 == "postgres" && no_postgres)
		cases = $3 == "postgres" ? postgres : ordinary
	}
	is_left_out { next }
	/^\.\\" BEGIN / { file = work "/" $3; next }
	/^\.\\" END / { file = ""; next }
	/^\.EX$/ { is_example = 1; next }
	/^\.EE$/ { is_example = 0; next }
	!is_example || (!file && /^\.[A-Z]/) { next }
	file { print >file; next }
	/^\$ / {
		name = sprintf("%s/%03d", cases, ++count[cases])
		print substr($0, 3) >(name ".command")
		printf "" >(name ".expected")
		next
	}
	/^> / { print substr($0, 3) >(name ".command"); next }
	{ print >(name ".expected") }
' "$dir/page"

# What may differ becomes the same; that is also what a busy machine makes of a comparison.
plain() {
	sed -E -e 's/\/[^ "]*\/([^ "\/]+)/\1/g' -e 's/\b[0-9]+(\.[0-9]+)?(ns|us|ms|s)\b/0ms/g' \
		-e 's/0x[0-9a-f]+/X/g' -e 's/[0-9]+/0/g' \
		-e 's/^req: (slower|changed|noise)/req: compared/' -e 's/ +/ /g' "$1"
}

# What ptrace-doctor finds about this machine is not in the page.
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

# What needs debug information, and samples, which are the kernel's, may be missing.
: >"$dir/empty"
no_symbols=$(ptrace-dump --symbols "$dir/empty" 2>&1 | grep -o 'built without libdw')
refusal=$(ptrace-run --os=samples -o "$dir/needs.log" true 2>&1 | grep 'no events of the operating system')

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
timeout $((120 * ${PTRC_TEST_SLOWDOWN:-1})) sh "$dir/driver" "$dir/work" "$cases" || echo "# the shell ended with $?"
[ -n "$no_postgres" ] || HOME=$postgres timeout $((120 * ${PTRC_TEST_SLOWDOWN:-1})) \
	$as_postgres sh "$dir/driver" "$postgres/work" "$postgres/cases" || echo "# the shell ended with $?"

for command in "$cases"/*.command "$postgres"/cases/*.command; do
	[ -e "$command" ] || continue
	case=${command%.command}
	number=$((number + 1))
	name=$(head -n 1 "$command" | sed 's/#/\\#/g')
	was=$(cat "$case.status" 2>/dev/null || echo none)
	next=${case%/*}/$(printf '%03d' "$(expr "${case##*/}" + 1)")
	# shellcheck disable=SC2016 # what the page says
	if grep -qsx 'echo $?' "$next.command"; then
		wanted=$(cat "$next.expected")
	else
		wanted=0
	fi
	# Numbers count, where they are all there is.
	if [ -n "$refusal" ] && grep -q 'hot\.log' "$command"; then
		echo "ok $number - $name # SKIP $refusal"
	elif [ -n "$no_symbols" ] && grep -q 'waits --symbols' "$command"; then
		echo "ok $number - $name # SKIP $no_symbols"
	elif [ "$was" = "$wanted" ] && matches "$case.expected" "$case.printed" &&
		{ ! grep -qx '[0-9]*' "$case.expected" ||
			[ "$(grep -x '[0-9]*' "$case.expected")" = \
				"$(grep -x '[0-9]*' "$case.printed")" ]; }; then
		echo "ok $number - $name"
	else
		sed 's/^/# shown: /' "$case.expected"
		sed 's/^/# printed: /' "$case.printed"
		echo "# status $was, not $wanted"
		echo "not ok $number - $name"
		status=1
	fi
done
if [ -z "$engine" ]; then
	number=$((number + 1))
	echo "ok $number - MANY MACHINES # SKIP $absent"
fi
if [ -n "$no_postgres" ]; then
	number=$((number + 1))
	echo "ok $number - WHY WAS IT SLOW? of PostgreSQL # SKIP $no_postgres"
fi
[ "$number" -gt 20 ] || { echo "# the page has $number commands"; status=1; }
echo "1..$number"
exit "$status"
