#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# The programs of posixtrace-languages(7) work as they stand there, and record the same in each language. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
# shellcheck source=tests/support/cargo.sh
. "$PTRC_SOURCE/tests/support/cargo.sh"

command -v jq >/dev/null || skip_all 'no jq'
test -z "${PTRC_SAN_CFLAGS-}" || skip_all 'interpreters have no sanitizers'
PATH=$PTRC_BUILD/src:$PATH
LD_LIBRARY_PATH=$PTRC_BUILD/lib/.libs
PYTHONPATH=$PTRC_BUILD/bindings/python
PYTHONDONTWRITEBYTECODE=1
NODE_PATH=$PTRC_BUILD/bindings/node
export LD_LIBRARY_PATH PYTHONPATH PYTHONDONTWRITEBYTECODE NODE_PATH
cd "$dir" || exit 99

sed -e 's/\\-/-/g' "$PTRC_SOURCE/man/posixtrace-languages.7" | awk '
	/^\.\\" BEGIN / { file = $3; next }
	/^\.\\" END / { file = ""; next }
	file { print >file }'

# Each of these makes ./LANGUAGE, which runs the program of that language.
c() {
	$CC -Wall -Werror -I"$PTRC_SOURCE/include" jobs.c -L"$LD_LIBRARY_PATH" -lposixtrace -o c
}

cxx() {
	$CXX -std=c++17 -Wall -Werror -I"$PTRC_SOURCE/include" jobs.cc -L"$LD_LIBRARY_PATH" -lposixtrace -o cxx
}

python() {
	test -e "$PTRC_BUILD/bindings/python/importable" || { echo 'no module for Python, as configure said'; return 77; }
	printf '#!/bin/sh\nexec python3 jobs.py\n' >python
}

rust() {
	! cargo_lacks || return 77
	(
		cargo_begin bindings/rust || exit 1
		mkdir -p "$work/jobs/src" && cp jobs.rs "$work/jobs/src/main.rs" && cd "$work/jobs" || exit 1
		printf '[package]\nname = "jobs"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n' >Cargo.toml
		printf '[dependencies]\nposixtrace = { path = "../bindings/rust/posixtrace" }\n' >>Cargo.toml
		cargo build --quiet --target-dir "$target" && cp "$target/debug/jobs" "$dir/rust"
	)
}

node() {
	command -v node >/dev/null || { echo 'no node (scripts/setup --bindings)'; return 77; }
	test -r "$NODE_PATH/posixtrace/posixtrace.node" || { echo 'no package for Node, as configure said'; return 77; }
	printf '#!/bin/sh\nexec node jobs.js\n' >node
}

shell() {
	printf '#!/bin/sh\nexec sh jobs.sh\n' >shell
}

# recorded LOG: what a log has of the jobs, without what differs from run to run
recorded() {
	ptrace-dump --json --user "$1" | jq -c '[.event, .truncated, .len, (.data | if .key then .key = "a number" else . end)]'
}

layouts() {
	ptrace-events --json "$1" | jq -c 'select(.event | startswith("job.")) | [.event, .layout]' | sort
}

# works LANGUAGE: untraced it says nothing; traced, it makes three pairs
works() {
	$1 || return
	chmod +x "$1"
	"./$1" >said 2>&1 && ! grep . said || return 1
	ptrace-run -o "$1.log" -- "./$1" || return 1
	pairs=$(ptrace-stat --pairs --json "$1.log" | jq -c '[.pairs[] | [.begin, .count]]')
	echo "$pairs"
	test "$pairs" = '[["job.begin",3]]' || return 1
	recorded "$1.log" | jq -c 'select(.[0] == "job.done")[3]' >data
	cat data
	printf '{"id":1,"size":0.5}\n{"id":2,"size":1}\n{"id":3,"size":1.5}\n' | jq -c . | cmp - data
}

# as_c LANGUAGE: its log has the bytes and the layouts of that of C
as_c() {
	test -e "$1.log" || { echo 'not recorded'; return 77; }
	recorded c.log >expected
	recorded "$1.log" | diff expected - || return 1
	layouts c.log >expected
	test "$(wc -l <expected)" -eq 3 || return 1
	layouts "$1.log" | diff expected -
}

# cut_as_c LANGUAGE: data that the trace does not take whole are cut as those of C
cut_as_c() {
	test -e "$1.log" || { echo 'not recorded'; return 77; }
	for language in c "$1"; do
		ptrace-run --max-data-size=8 -o cut.log -- "./$language" || return 1
		recorded cut.log >"cut.$language"
		ptrace-stat --json cut.log | jq -c .losses >"losses.$language"
	done
	grep -q '"job.done","record",8' cut.c && diff cut.c "cut.$1" && diff losses.c "losses.$1"
}

together() {
	count=0
	for language in c cxx python rust node shell; do
		test ! -e "$language.log" || { echo "./$language" && count=$((count + 3)); }
	done >all
	ptrace-run -o all.log -- sh -e all || return 1
	test "$(ptrace-stat --pairs --json all.log | jq -c '[.pairs[] | [.begin, .count]]')" = "[[\"job.begin\",$count]]" &&
		layouts all.log | diff expected -
}

for language in c cxx python rust node shell; do
	result "$language: the program of the page works" works $language
done
for language in cxx python rust node shell; do
	result "$language: the log is that of C" as_c $language
	result "$language: cut data are those of C" cut_as_c $language
done
result 'all languages record into one trace, with one layout for each event type' together
echo "1..$number"
exit $status
