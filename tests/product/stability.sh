#!/bin/sh
# SPDX-License-Identifier: MIT
# What 1.0 has promised, posixtrace-stability(7): what it stored is still right. TAP.

. "$PTRC_SOURCE/tests/support/tap.sh"
stored=$PTRC_SOURCE/tests/product/stored/1.0
tools=$PTRC_SOURCE/tests/product/stored
bin=${PTRACE_BIN:-$PTRC_BUILD/src}
shared=$PTRC_BUILD/lib/.libs/libposixtrace.so.0
pids=
trap 'kill $pids 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 99
echo 1..9

# until COMMAND...: waits, at most a minute, until it succeeds
until_is() {
	tries=0
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || { echo "never: $*"; return 1; }
		sleep 0.1
	done
}

# skips_unless COMMAND...: status 77 and the reason, if there is no such command
needs() {
	command -v "$1" >/dev/null || { echo "no $1"; return 77; }
}

abi() {
	needs abidiff || return
	[ -e "$shared" ] || { echo 'no shared library in this build'; return 77; }
	readelf -S "$shared" | grep -q debug_info || { echo 'built without -g'; return 77; }
	abidiff --exported-interfaces-only --no-added-syms --drop-private-types \
		--headers-dir2 "$PTRC_SOURCE/include" "$stored/libposixtrace.abi" "$shared"
}

# Of a library from which a function was removed, abidiff has to complain: otherwise it would compare nothing.
abi_is_compared() {
	needs abidiff || return
	sed '/elf-symbol name=.posix_trace_event. /s/posix_trace_event/posix_trace_no_event/' "$stored/libposixtrace.abi" >less.abi
	if abidiff --no-added-syms "$stored/libposixtrace.abi" less.abi >/dev/null; then return 1; fi
}

soname() {
	[ -e "$shared" ] || { echo 'no shared library in this build'; return 77; }
	readelf -d "$shared" | grep -F 'Library soname: [libposixtrace.so.0]' && readelf -V "$shared" | grep -F 'Name: POSIXTRACE_1.0'
}

stored_log() {
	"$tools/read" "$bin" "$stored/stored.log" "$dir" || return 1
	for file in event stat check; do
		python3 "$tools/superset" "$stored/$file.json" "$file.json" || return 1
	done
}

valid_json() {
	python3 -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null || { echo 'no jsonschema'; return 77; }
	for file in event stat check; do
		python3 "$PTRC_SOURCE/tests/support/validate.py" "$PTRC_SOURCE/docs" "$file" "$stored/$file.json" || return 1
	done
}

schemas_grow() {
	python3 "$tools/properties" "$PTRC_SOURCE"/docs/*.schema.json | sort >properties
	[ -s "$stored/properties" ] && sort "$stored/properties" | comm -23 - properties | grep . && return 1
	[ -s "$stored/properties" ]
}

# The program as 1.0.0 linked it.
unpacks() {
	[ "$(uname -m)" = x86_64 ] || { echo 'for x86-64'; return 77; }
	needs xz || return
	[ -x program ] || { xz -dc "$stored/program.xz" >program && chmod +x program; }
}

# has_points LOG: the log has what "program record" records
has_points() {
	"$bin/ptrace-dump" --json --event=stored.point "$1" >points || return 1
	[ "$(wc -l <points)" -eq 6 ] || { cat points; return 1; }
	[ "$(grep -c '"number":2,"weight":1,"label":"stored"' points)" -eq 2 ] || { cat points; return 1; }
}

traced_by_run() {
	unpacks || return
	"$bin/ptrace-run" -o run.log -- ./program record && has_points run.log
}

traced_by_create() {
	unpacks || return
	mkfifo create.in
	./program record wait <create.in >create.out &
	pids="$pids $!"
	exec 8>create.in
	until_is grep ready create.out || return 1
	"$bin/ptrace-create" --start --pid=$! --name="stable$$" --output=create.log || return 1
	python3 "$tools/ask" "/dev/shm/posixtrace-$(id -u)/c.stable$$" >asked || return 1
	[ "$(cut -d' ' -f1-2 asked)" = "stable$$ $dir/create.log" ] || { cat asked; return 1; }
	# At least the START event.
	[ "$(cut -d' ' -f3 asked)" -ge 1 ] || { cat asked; return 1; }
	exec 8>&-
	wait $!
	until_is test ! -e "/dev/shm/posixtrace-$(id -u)/c.stable$$" || return 1
	has_points create.log
}

# A controller and a keeper of 1.0, a program and commands of today.
traces_today() {
	unpacks || return
	mkfifo today.in control.in
	"$PTRC_BUILD/tests/support/traced" -w -W -n 5 <today.in >today.out &
	traced=$!
	exec 8>today.in
	until_is grep ready today.out || return 1
	./program control $traced today.log <control.in >control.out &
	pids="$pids $traced $!"
	exec 9>control.in
	until_is grep tracing control.out || return 1
	echo >&8
	until_is grep "done" today.out || return 1
	"$bin/ptrace-event" --pid=$traced today.event || return 1
	exec 9>&-
	wait $! || return 1
	exec 8>&-
	wait $traced
	[ "$("$bin/ptrace-dump" --count --format=text --event=traced.event today.log)" -eq 5 ] &&
		[ "$("$bin/ptrace-dump" --count --format=text --event=today.event today.log)" -eq 1 ]
}

result 'the shared library has every function and structure of 1.0, unchanged' abi
result 'a function that is missing is noticed' abi_is_compared
result 'the library has the name and the symbol version of 1.0' soname
result 'the log of 1.0 is read as 1.0 read it' stored_log
result 'the JSON of 1.0 is what the schemas describe' valid_json
result 'the schemas have every property of 1.0, with the same type' schemas_grow
result 'a program with the library of 1.0 is traced by ptrace-run' traced_by_run
result 'a program with the library of 1.0 is traced by ptrace-create, and a client of 1.0 is answered' traced_by_create
result 'a controller and a keeper of 1.0 trace a program of today' traces_today
exit $status
