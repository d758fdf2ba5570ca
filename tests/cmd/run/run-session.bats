#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A run of ptrace-run as a session: what other commands see of it and do with it.

load ../../support/helpers

# run_start [OPTION...] -- [OPTION...]: the traced program under ptrace-run, with the options of
# either. $runner is ptrace-run; `go` and `says` are for the program.
run_start() {
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	listens runner ready ptrace-run -o run.log "${options[@]}" -- "$traced" "${@:2}" 2>err
}

# run_ends STATUS: ptrace-run ends with it
run_ends() {
	ends "$1" "$runner"
}

# follow SESSION FILE: ptrace-dump follows in the background; $follower
follow() {
	begins follower env --default-signal=INT ptrace-dump --user --follow="$1" >"$2" 2>"$2.err" 7>&-
	wait_until is_following
}

# It has its socket, and waits in poll or ppoll, no longer for the session's answer.
is_following() {
	[ -n "$(find "/proc/$follower/fd" -lname 'socket:*' 2>/dev/null)" ] &&
		[[ $(cat "/proc/$follower/syscall" 2>/dev/null) =~ ^(7|271|73)\  ]]
}

# recorded SESSION: how many events of the program the session has recorded
recorded() {
	ptrace-stat --json "$1" | jq '[.events[] | select(.event == "traced.event").count] | add // 0'
}

has_recorded() {
	[ "$(recorded "$1")" -eq "$2" ]
}

@test "a run is listed, under its name or that of COMMAND, and no longer when it ends" {
	run_start --name="$me.a" -- -w -x 7
	ptrace-list --json | jq -e --arg name "$me.a" 'select(.session == $name) |
		.kind == "run" and .status == "running" and .command == "traced" and
			.target_alive and .controller == '"$runner"' and (.log | endswith("/run.log"))'
	[ "$(ptrace-stat --json "$me.a" | jq -r .attributes.trace_name)" = "$me.a" ]
	go
	run_ends 7
	[ -z "$(ptrace-list --json | jq "select(.session == \"$me.a\")")" ]
	[ "$(session_files)" -eq 0 ]
	[ "$(ptrace-stat --json run.log | jq -r .attributes.trace_name)" = "$me.a" ]
	# The file has another name than the program of the tests, so that nobody else has it.
	ln -s "$traced" "$me b"
	traced=./"$me b" run_start -- -w
	[ "$(ptrace-list --json | jq -r "select(.session == \"${me}_b\").kind")" = run ]
	go
	run_ends 0
	[ ! -s err ]
}

@test "two runs of the same COMMAND at once have names of their own" {
	ln -s "$traced" "$me"
	traced=./$me
	mkdir one two
	cd one
	ln -s "../$me" "$me"
	run_start -- -w
	first=$runner
	exec 8>&7
	cd ../two
	ln -s "../$me" "$me"
	run_start -- -w
	ptrace-list --json | jq -r "select(.session | startswith(\"$me\")) |
		\"\(.session) \(.controller)\"" >list
	diff list - <<-END
		$me $first
		$me-2 $runner
	END
	go
	run_ends 0
	echo >&8
	runner=$first
	run_ends 0
	exec 8>&-
}

@test "a name that is taken is an error before COMMAND starts, and costs no log" {
	ptrace-run -o old.log -- "$traced"
	cp old.log copy
	run_start --name="$me.a" -- -w
	does_not_run "$me.a: a session of this name exists already" --name="$me.a" -o old.log --json=result
	jq -e '.exit_status == 125 and (.error | contains("exists already"))' result
	[ ! -e ran ]
	cmp old.log copy
	exits 125 ptrace-run --name="$me.a" -o new.log -- touch ran
	[ ! -e new.log ]
	exits 1 ptrace-create --pid=$$ --name="$me.a"
	for name in 'a b' a/b -x "$(printf %65s '' | tr ' ' a)"; do
		does_not_run '*' --name="$name" -o new.log
	done
	[ ! -e ran ]
	go
	run_ends 0
}

# A stream that is flushed by itself waits a tenth of a second for those who follow it; what
# a busy machine has not shown them by then is in the log only.
never_flushed=--stream-full-policy=until-full

@test "the end of a run waits until those who follow it have every event" {
	for _ in 1 2 3; do
		run_start --name="$me.a" $never_flushed -- -w -n 20000
		follow "$me.a" first
		one=$follower
		follow "$me.a" second
		go
		run_ends 0
		ends 0 "$one"
		ends 0 "$follower"
		[ "$(wc -l <first)" -eq 20000 ]
		cmp first second
	done
	[ "$(events run.log traced.event)" -eq 20000 ]
}

@test "a run is stopped, started, filtered, flushed and cleared" {
	run_start --name="$me.a" --exclude='*.other' -- -w -W -n 10
	ptrace-stop "$me.a"
	[ "$(ptrace-list --json | jq -r "select(.session == \"$me.a\").status")" = suspended ]
	go done
	[ "$(recorded "$me.a")" -eq 0 ]
	ptrace-start "$me.a"
	ptrace-filter --add "$me.a" traced.event
	ptrace-filter --json "$me.a" | jq -e '.events[0].event == "traced.event" and
		.globs[0].glob == "*.other"'
	ptrace-events --json "$me.a" | jq -se 'any(.[]; .event == "traced.event" and .filtered)'
	ptrace-flush "$me.a"
	[ "$(events run.log posix_trace_filter)" -ge 1 ]
	ptrace-clear "$me.a"
	go
	run_ends 0
	# Flushes that are due by time add events of their own.
	[ "$(fields run.log '*' .event | sort -u)" = $'posix_trace_flush_start\nposix_trace_flush_stop\nposix_trace_stop' ]
}

@test "ptrace-shutdown ends the recording, and COMMAND goes on" {
	run_start --name="$me.a" --json=result -- -w -W -n 10 -x 9
	follow "$me.a" lines
	go done
	wait_until has_recorded "$me.a" 10
	answers 0 '.error == 0 and .complete' ptrace-shutdown --json "$me.a"
	wait "$follower"
	[ "$(wc -l <lines)" -eq 10 ]
	kill -0 "$runner"
	[ "$(session_files)" -eq 0 ]
	[ "$(events run.log traced.event)" -eq 10 ]
	# The log is the user's now: others write there, or it goes away.
	ptrace-run -o run.log -- true
	rm run.log
	kill -STOP "$runner"
	kill -CONT "$runner"
	go
	run_ends 9
	grep -qx 'ptrace-run: run.log: ends before COMMAND did: .*' err
	[ "$(wc -l <err)" -eq 1 ]
	jq -e '.ended_early and .complete and .exit_status == 9 and .events >= 10' result
	valid run <result
}

@test "of a run that is killed nothing is left, and who follows it ends" {
	run_start --name="$me.a" -- -w -W -n 10
	follow "$me.a" lines
	go done
	wait_until has_recorded "$me.a" 10
	kill -KILL "$runner"
	wait_until is_ended "$follower"
	status=0
	wait "$follower" || status=$?
	[ "$status" -ne 0 ]
	wait "$runner" || true
	ptrace-list --json >list 2>err
	[ -z "$(grep "$me" list)" ]
	[ "$(session_files)" -eq 0 ]
	go
	# COMMAND may have gone on for longer than the log waits for what was killed with its run.
	closed() { ptrace-stat --allow-loss --json run.log | jq -e '.losses.unclosed | not'; }
	wait_until closed
	counts run.log traced.event=10
}

@test "COMMAND gets no descriptor, signal mask or environment of the session" {
	seen() {
		"$@" sh -c 'ls -l /proc/self/fd | sed -n "s/.* \([0-9]*\) -> .*/\1/p"
			grep -E "^(SigBlk|SigIgn)" /proc/self/status
			env' 3>&- | grep -v '^_='
	}
	seen >without
	seen ptrace-run -o run.log -- >with 2>/dev/null
	diff without with
}

@test "if there can be no session, one line says so, and the run is recorded" {
	ptrace-run -o run.log -- true 2>/dev/null
	# Without the lock of the directory no name can be taken.
	directory=$(find /dev/shm -maxdepth 1 -name "posixtrace-$EUID*" | head -n 1)
	exec 9<"$directory"
	flock 9
	run_split ptrace-run -o run.log --json -- "$traced" -n 5 -x 4 9<&-
	exec 9<&-
	[ "$status" -eq 4 ]
	[ "$(head -n 1 stderr.txt)" = "ptrace-run: $traced: is traced, but other commands cannot reach this run as a session: a process that does not go on locks the directory of sessions" ]
	[ "$(wc -l <stderr.txt)" -eq 2 ]
	tail -n 1 stderr.txt | jq -e '.complete and .exit_status == 4'
	[ "$(events run.log traced.event)" -eq 5 ]
	[ "$(find "$directory" -name 'c.~*' | wc -l)" -eq 0 ]
}

# ptrace-run waits for its log in a thread, beside the main thread and the one for its keeper.
is_flushing() {
	[ "$(ls "/proc/$runner/task" | wc -l)" -eq 3 ]
}

@test "a log that stalls while a run is flushed holds up no command, and no signal" {
	mkfifo log in
	exec 8<>log
	# Its threads are counted.
	ptrace-run --os=none -o log --name="$me.a" -- \
		"$traced" -w -W -n 20000 <in >out 2>err 3>&- 8>&- &
	runner=$!
	pids="$pids $runner"
	exec 7>in
	wait_until says ready
	go done
	ptrace-flush "$me.a" >/dev/null 2>&1 3>&- 7>&- 8>&- &
	pids="$pids $!"
	wait_until is_flushing
	[ "$(recorded "$me.a")" -eq 20000 ]
	go
	has_no_child() { [ -z "$(children_of "$runner")" ]; }
	wait_until has_no_child
	kill -TERM "$runner"
	run_ends 3
	exec 8>&-
	grep -q 'was given up' err
}
