#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../../support/helpers

@test "start and stop decide what is recorded, and may be repeated" {
	traced_session "$me.a" -o run.log -- -w -W -n 10
	status_of() { ptrace-stat --format=json "$me.a" | jq -r .status.stream; }
	[ "$(status_of)" = suspended ]
	[ "$(stat -c %a run.log)" = 600 ]
	says_nothing ptrace-start "$me.a"
	[ "$(status_of)" = running ]
	ptrace-start "$me.a"
	go done
	ptrace-stop "$me.a"
	[ "$(status_of)" = suspended ]
	ptrace-shutdown "$me.a"
	counts run.log traced.event=10 posix_trace_start=1
}

@test "several sessions at once; a wrong one does not hinder the others" {
	traced_session "$me.a" -- -w
	ptrace-create --pid="$pid" --name="$me.b"
	reports 1 "$me.nobody: no such session" ptrace-start "$me.a" "$me.nobody" "$me.b"
	for s in a b; do
		[ "$(ptrace-stat --format=json "$me.$s" | jq -r .status.stream)" = running ]
	done
}

@test "a trace that has no room stays suspended, and that is an error" {
	traced_session "$me.s" --start --stream-min-size=16K --stream-full-policy=until-full \
		-- -w -W -n 20000
	ptrace-create --pid="$pid" --name="$me.l" --start -o run.log --log-max-size=20K \
		--log-full-policy=until-full
	go done
	ptrace-flush "$me.l" || [ $? -eq 3 ]
	for i in 's stream' 'l log'; do
		s=$me.${i% *}
		reports 1 "$s: stays suspended, as its ${i#* } is full: ptrace-clear $s, then ptrace-start $s" ptrace-start "$s"
		ptrace-clear "$s"
		ptrace-stat --json "$s" | jq -e '.status.stream == "suspended"'
		ptrace-start "$s"
		ptrace-stat --json "$s" | jq -e '.status.stream == "running"'
	done
}

@test "one program with five names: it does what its name says, whatever was added to it" {
	for c in clear flush shutdown stop; do
		[ "$PTRACE_BIN/ptrace-$c" -ef "$PTRACE_BIN/ptrace-start" ]
	done
	ln -s "$PTRACE_BIN/ptrace-start" my-ptrace-stop-2
	./my-ptrace-stop-2 --help | grep -q '^Usage: ptrace-stop '
	ln -s "$PTRACE_BIN/ptrace-start" ptrace-halt
	exits 2 ./ptrace-halt x
	[[ $stderr == "ptrace-start: ./ptrace-halt: is not a name of this program"* ]]
}
