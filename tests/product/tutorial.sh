#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# The commands of posixtrace-tutorial(7), run one after the other by one shell, print what
# the page shows and exit as it says. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
# shellcheck source=tests/support/shown.sh
. "$PTRC_SOURCE/tests/support/shown.sh"

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

# What needs debug information, and samples, which are the kernel's, may be missing.
: >"$dir/empty"
no_symbols=$(ptrace-dump --symbols "$dir/empty" 2>&1 | grep -o 'built without libdw')
refusal=$(ptrace-run --os=samples -o "$dir/needs.log" true 2>&1 | grep 'no events of the operating system')

# unless REASON COMMAND...: the command, which is skipped if there is a reason
unless() {
	[ -z "$1" ] || { echo "$1"; return 77; }
	shift
	"$@"
}

shown_run "$dir/work" "$cases"
# shellcheck disable=SC2086 # words
[ -n "$no_postgres" ] || HOME=$postgres shown_run "$postgres/work" "$postgres/cases" $as_postgres

for command in "$cases"/*.command "$postgres"/cases/*.command; do
	[ -e "$command" ] || continue
	lacking=
	! grep -q 'hot\.log' "$command" || lacking=$refusal
	! grep -q 'waits --symbols' "$command" || lacking=$no_symbols
	result "$(head -n 1 "$command" | sed 's/#/\\#/g')" unless "$lacking" shown_judge "${command%.command}"
done
[ -n "$engine" ] || result 'MANY MACHINES' unless "$absent"
[ -z "$no_postgres" ] || result 'WHY WAS IT SLOW? of PostgreSQL' unless "$no_postgres"
[ "$number" -gt 20 ] || { echo "# the page has $number commands"; status=1; }
echo "1..$number"
exit "$status"
