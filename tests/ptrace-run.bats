#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load helpers

@test "COMMAND is traced from its first event to its last" {
	ptrace-run -o run.log -- "$traced" -n 1000
	[ "$(events run.log traced.event)" -eq 1000 ]
	ptrace-dump -e traced.event run.log | jq -r .data >numbers
	seq 0 999 | diff - numbers
}

@test "threads and children are in the log" {
	ptrace-run -o run.log -- "$traced" -n 100 -t 4 -c 2
	[ "$(events run.log traced.event)" -eq 1200 ]
	[ "$(ptrace-dump -e traced.event run.log | jq -s 'map(.pid) | unique | length')" -eq 3 ]
}

@test "children of a shell are traced although the shell is not" {
	ptrace-run -o run.log -- sh -c '"$0" -d one; "$0" -d two; :' "$traced"
	[ "$(ptrace-dump -e traced.event run.log | jq -r .data)" = $'one\ntwo' ]
}

@test "children are not traced with close-for-child" {
	ptrace-run -o run.log --inheritance=close-for-child -- "$traced" -c 2
	[ "$(events run.log traced.event)" -eq 1 ]
}

@test "standard input, output and error are COMMAND's" {
	run_split ptrace-run -o run.log -- sh -c 'cat; echo error >&2' <<<input
	[ "$status" -eq 0 ]
	[ "$stdout" = input ]
	[[ $stderr == error* ]]
}

@test "the exit status is COMMAND's, 128+N for a signal" {
	for n in 0 1 2 3 77 124; do
		run_split ptrace-run -o run.log -- "$traced" -x "$n"
		[ "$status" -eq "$n" ]
		[ -z "$stderr" ]
	done
	run_split ptrace-run -o run.log -- "$traced" -k 9
	[ "$status" -eq 137 ]
	[ "$(events run.log traced.event)" -eq 1 ]
	run_split ptrace-run -o run.log -- "$traced" -k 15
	[ "$status" -eq 143 ]
}

@test "what cannot be run leaves no log" {
	run_split ptrace-run -o run.log -- no-such-command
	[ "$status" -eq 127 ]
	[ ! -e run.log ]
	assert_one_message ptrace-run
	[ "$stderr" = "ptrace-run: no-such-command: command not found" ]
	run_split ptrace-run -o run.log -- ./no-such-file
	[ "$status" -eq 127 ]
	[ ! -e run.log ]
	assert_one_message ptrace-run
	echo x >file
	run_split ptrace-run -o run.log -- ./file
	[ "$status" -eq 126 ]
	[ ! -e run.log ]
	assert_one_message ptrace-run
	mkdir directory
	run_split ptrace-run -o run.log -- ./directory
	[ "$status" -eq 126 ]
	[ ! -e run.log ]
	printf '#!/no/such/interpreter\n' >script
	chmod +x script
	run_split ptrace-run -o run.log -- ./script
	[ "$status" -eq 127 ]
	[ ! -e run.log ]
	assert_one_message ptrace-run
	[[ $stderr == "ptrace-run: ./script: the interpreter of this script,"* ]]
}

@test "a configuration that cannot be shown has the status of its own failures" {
	[ -w /dev/full ] || skip "no /dev/full"
	status=0
	ptrace-run --dump-config >/dev/full 2>stderr.txt || status=$?
	[ "$status" -eq 125 ]
}

@test "a misspelt COMMAND costs no older log" {
	ptrace-run -o run.log -- "$traced" -n 3
	run_split ptrace-run -o run.log -- no-such-command
	[ "$status" -eq 127 ]
	[ "$(events run.log traced.event)" -eq 3 ]
}

@test "a log that cannot be written is 125, and COMMAND does not run" {
	run_split ptrace-run -o no/such/directory/run.log -- touch ran
	[ "$status" -eq 125 ]
	[ ! -e ran ]
	assert_one_message ptrace-run
	mkdir directory
	run_split ptrace-run -o directory -- touch ran
	[ "$status" -eq 125 ]
	[ ! -e ran ]
	assert_one_message ptrace-run
	[ -w /dev/full ] || skip "no /dev/full"
	run_split ptrace-run -o /dev/full -- touch ran
	[ "$status" -eq 125 ]
	[ ! -e ran ]
	assert_one_message ptrace-run
	[[ $stderr == *"No space left on device"* ]]
}

@test "a wrong option is 125, and COMMAND does not run" {
	for option in --stream-min-size=1T --stream-min-size=-1 --stream-min-size=1Kx \
		--max-data-size= --log-full-policy=flush --stream-full-policy=append \
		--inheritance=yes; do
		run_split ptrace-run "$option" -- touch ran
		[ "$status" -eq 125 ]
		[ ! -e ran ]
		[ ! -e ptrace.log ]
		assert_one_message ptrace-run
		[[ $stderr == *"${option%%=*}"* ]]
	done
}

@test "the default log is ptrace.log, which is not put in the place of another file" {
	ptrace-run -- "$traced" -n 2
	[ "$(events ptrace.log traced.event)" -eq 2 ]
	ptrace-run -- "$traced" -n 3
	[ "$(events ptrace.log traced.event)" -eq 3 ]
	echo precious >ptrace.log
	run_split ptrace-run -- "$traced"
	[ "$status" -eq 125 ]
	assert_one_message ptrace-run
	[ "$(cat ptrace.log)" = precious ]
}

@test "attributes given as options are those of the log" {
	ptrace-run -o run.log --name='my trace' --stream-min-size=2M --max-data-size=10 \
		--stream-full-policy=until-full --log-max-size=1M --log-full-policy=loop \
		--inheritance=close-for-child -- "$traced" -s 20
	ptrace-stat --format=json run.log | jq -e '.attributes |
		.trace_name == "my trace" and .stream_min_size == 2097152 and
		.max_data_size == 10 and .stream_full_policy == "until-full" and
		.log_max_size == 1048576 and .log_full_policy == "loop" and
		.inheritance == "close-for-child"'
	ptrace-dump -e traced.event run.log |
		jq -e '.len == 10 and .truncated == "record" and .data == "xxxxxxxxxx"'
}

# signalled_start: the program that says what signals it gets, under ptrace-run in a process
# group of its own. $runner is ptrace-run, $child the program.
signalled_start() {
	rm -f out
	setsid ptrace-run -o run.log -- sh -c 'echo $$ >pid; exec "$0"' \
		"$PTRC_BUILD/tests/signalled" >out 3>&- &
	runner=$!
	pids="$pids $runner"
	wait_until says ready
	child=$(cat pid)
}

# What is passed on comes in order, so nothing else is on its way when this one is there.
signalled_end() {
	kill -USR2 "$runner"
	status=0
	wait "$runner" || status=$?
	[ "$status" -eq 7 ]
	[ "$(ptrace-stat --format=json run.log | jq .complete)" = true ]
}

@test "signals to it alone are passed on" {
	signalled_start
	for signal in HUP INT QUIT TERM USR1 CONT; do
		kill -"$signal" "$runner"
		wait_until says "$signal"
	done
	signalled_end
	[ "$(cat out)" = $'ready\nHUP\nINT\nQUIT\nTERM\nUSR1\nCONT\nUSR2' ]
}

@test "signals to the whole process group reach COMMAND once" {
	signalled_start
	for signal in HUP INT QUIT TERM USR1 CONT; do
		kill -"$signal" -- -"$runner"
		wait_until says "$signal"
	done
	signalled_end
	[ "$(cat out)" = $'ready\nHUP\nINT\nQUIT\nTERM\nUSR1\nCONT\nUSR2' ]
}

@test "several signals to the group at once, and one to it alone" {
	signalled_start
	kill -STOP "$runner"
	for signal in HUP INT TERM; do kill -"$signal" -- -"$runner"; done
	wait_until says HUP
	wait_until says INT
	wait_until says TERM
	kill -CONT "$runner"
	wait_until says CONT
	kill -TERM "$runner"
	said_twice() { [ "$(grep -cx TERM out)" -eq 2 ]; }
	wait_until said_twice
	signalled_end
	[ "$(grep -cE '^(HUP|INT|TERM)$' out)" -eq 4 ]
	[ "$(tail -n 3 out)" = $'CONT\nTERM\nUSR2' ]
}

@test "what COMMAND tells its parent does not come back" {
	setsid ptrace-run -o run.log -- sh -c 'kill -USR1 $PPID; kill -TERM $PPID; exec "$0"' \
		"$PTRC_BUILD/tests/signalled" >out 3>&- &
	runner=$!
	pids="$pids $runner"
	wait_until says ready
	signalled_end
	[ "$(cat out)" = $'ready\nUSR2' ]
}

@test "the witness that tells whom a signal was for is replaced when it is killed" {
	signalled_start
	witness=$(grep -lsx ptrace-witness $(printf '/proc/%s/comm ' \
		$(cat /proc/"$runner"/task/*/children)))
	witness=${witness//[!0-9]/}
	kill -KILL "$witness"
	wait_until is_ended "$witness"
	kill -INT "$runner"
	wait_until says INT
	kill -TERM -- -"$runner"
	wait_until says TERM
	signalled_end
	[ "$(cat out)" = $'ready\nINT\nTERM\nUSR2' ]
}

@test "no process is left of it" {
	signalled_start
	children=$(cat /proc/"$runner"/task/*/children)
	kill -TERM -- -"$runner"
	wait_until says TERM
	children="$children $(cat /proc/"$runner"/task/*/children)"
	signalled_end
	for p in $children; do is_ended "$p"; done
	signalled_start
	children=$(cat /proc/"$runner"/task/*/children)
	pids="$pids $child"
	kill -KILL "$runner"
	wait "$runner" || true
	for p in $children; do
		[ "$p" -eq "$child" ] || wait_until is_ended "$p"
	done
}

@test "in a terminal: Ctrl-Z, fg, Ctrl-C, once each" {
	command -v script >/dev/null || skip "no script"
	mkfifo keys
	script -qc 'bash --norc --noprofile -i' /dev/null <keys >screen 2>&1 3>&- &
	disown
	pids="$pids $!"
	exec 7>keys
	echo "ptrace-run -o run.log -- sh -c 'echo \$\$ >pid; exec $PTRC_BUILD/tests/signalled' >out" >&7
	wait_until says ready
	printf '\032' >&7
	echo 'jobs >jobs' >&7
	wait_until grep -qs Stopped jobs
	echo fg >&7
	wait_until says CONT
	printf '\003' >&7
	wait_until says INT
	kill -USR2 "$(cat pid)"
	wait_until says USR2
	echo 'echo $? >status; exit' >&7
	wait_until test -s status
	[ "$(cat status)" -eq 7 ]
	[ "$(cat out)" = $'ready\nCONT\nINT\nUSR2' ]
}

@test "Ctrl-C ends a loop of a shell, as COMMAND alone would" {
	command -v script >/dev/null || skip "no script"
	# What is started in the background by a shell without job control ignores SIGINT.
	env --default-signal=INT true || skip "no env --default-signal"
	mkfifo keys
	cat >loop <<-'END'
		for i in 1 2; do
			ptrace-run -o run.log -- sh -c 'echo run; exec sleep 60'
		done >>out
	END
	env --default-signal=INT,QUIT script -qc 'bash --norc --noprofile -i' /dev/null <keys >screen 2>&1 3>&- &
	disown
	pids="$pids $!"
	exec 7>keys
	echo 'bash loop; echo $? >status; exit' >&7
	wait_until says run
	printf '\003' >&7
	# What follows on the line is not run either; a shell that is interrupted says 130.
	echo 'echo $? >status; exit' >&7
	wait_until test -s status
	[ "$(cat status)" -eq 130 ]
	[ "$(cat out)" = run ]
}

@test "it stops when COMMAND stops, and goes on with it" {
	state() { [ "$(sed 's/.*) \(.\).*/\1/' /proc/"$1"/stat)" = "$2" ]; }
	ptrace-run -o run.log -- sh -c 'echo $$ >pid; kill -STOP $$; exit 5' 3>&- &
	runner=$!
	wait_until test -s pid
	wait_until state "$runner" T
	kill -CONT "$runner"
	status=0
	wait "$runner" || status=$?
	[ "$status" -eq 5 ]
}

@test "a program that ends by SIGKILL in the middle has all its events in the log" {
	mkfifo in
	ptrace-run -o run.log -- "$traced" -n 5000 -W <in >out 3>&- &
	runner=$!
	exec 7>in
	wait_until says done
	child=$(cat /proc/"$runner"/task/*/children)
	kill -KILL $child
	status=0
	wait "$runner" || status=$?
	[ "$status" -eq 137 ]
	[ "$(events run.log traced.event)" -eq 5000 ]
	ptrace-stat run.log
}

@test "if it is killed itself the log is complete all the same" {
	mkfifo in
	ptrace-run -o run.log -- "$traced" -n 5000 -W <in >out 3>&- &
	runner=$!
	exec 7>in
	wait_until says done
	child=$(cat /proc/"$runner"/task/*/children)
	pids="$pids $child"
	kill -KILL "$runner"
	wait "$runner" || true
	[ "$(events run.log traced.event)" -eq 5000 ]
	[ "$(ptrace-stat --format=json run.log | jq .complete)" = true ]
}

@test "lost events are told in one line, and do not change the status of a failure" {
	run_split ptrace-run -o run.log --stream-min-size=4K --stream-full-policy=loop -- \
		"$traced" -n 100000 -x 4
	[ "$status" -eq 4 ]
	assert_one_message ptrace-run
	lost=$(grep -oE '[0-9]+ events lost' <<<"$stderr" | cut -d' ' -f1)
	[ "$((lost + $(events run.log traced.event)))" -ge 100000 ]
	run_split ptrace-dump run.log
	[ "$status" -eq 3 ]
}

@test "if events were lost a success is 3, or 0 with --allow-loss" {
	lossy="--stream-min-size=4K --stream-full-policy=loop"
	run_split ptrace-run -o run.log $lossy -- "$traced" -n 100000
	[ "$status" -eq 3 ]
	assert_one_message ptrace-run
	[[ $stderr == *"run.log: "*" events lost in the stream, which was full" ]]
	run_split ptrace-run -o run.log $lossy --allow-loss -- "$traced" -n 100000
	[ "$status" -eq 0 ]
	assert_one_message ptrace-run
}

@test "--json tells what came of it in the last line of standard error" {
	run_split ptrace-run --json -o run.log -- "$traced" -n 10 -x 4
	[ "$status" -eq 4 ]
	[ -z "$stdout" ]
	[ "$(wc -l <stderr.txt)" -eq 1 ]
	jq -e --arg c "$traced" '.version == 1 and .log == "run.log" and .command == $c and
		.exit_status == 4 and (has("signal") | not) and .events >= 12 and .complete and
		.losses.stream_events == 0' <stderr.txt
	[ "$(jq .events <stderr.txt)" -eq "$(events run.log)" ]
	run_split ptrace-run --json -o run.log --stream-min-size=4K --stream-full-policy=loop -- \
		"$traced" -n 100000 -k 9
	[ "$status" -eq 137 ]
	[ "$(wc -l <stderr.txt)" -eq 2 ]
	lost=$(grep -oE '[0-9]+ events lost' stderr.txt | cut -d' ' -f1)
	tail -n 1 stderr.txt | jq -e --argjson lost "$lost" '.signal == 9 and
		(has("exit_status") | not) and (.complete | not) and
		.losses.stream_events == $lost'
	run_split ptrace-run --json -o >(cat >/dev/null) -- "$traced"
	jq -e 'has("events") | not' <stderr.txt
}

@test "filtered events are not recorded: names, patterns, system events" {
	run_split ptrace-run -o run.log --filter=traced.event --filter=posix_trace_stop -- \
		sh -c '"$0"; "$0" -e other.event' "$traced"
	[ "$status" -eq 0 ]
	[ "$(events run.log traced.event)" -eq 0 ]
	[ "$(events run.log posix_trace_stop)" -eq 0 ]
	[ "$(events run.log other.event)" -eq 1 ]
	# A pattern holds some milliseconds after a program has opened the name.
	ptrace-run -o run.log --filter='noise.*' -- \
		sh -c 'for i in $(seq 60); do "$0" -e noise.x; "$0" -e sound.x; done' "$traced"
	[ "$(events run.log sound.x)" -eq 60 ]
	[ "$(events run.log noise.x)" -lt 50 ]
}

@test "what the last flush could not keep is told, too" {
	for policy in until-full loop; do
		run_split ptrace-run -o run.log --log-full-policy=$policy --log-max-size=64K -- \
			"$traced" -n 100000 -x 4
		[ "$status" -eq 4 ]
		assert_one_message ptrace-run
		lost=$(grep -oE '[0-9]+ events lost in the log' <<<"$stderr" | cut -d' ' -f1)
		run_split ptrace-stat --format=json run.log
		[ "$status" -eq 3 ]
		jq -e --argjson lost "$lost" '.losses.log_events == $lost' <<<"$stdout"
		[ "$(events run.log traced.event)" -lt 100000 ]
	done
}

@test "a limit on file size ends the log, not the command" {
	status=0
	(ulimit -S -f 200 && ptrace-run -o run.log -- "$traced" -n 200000 -x 4) 2>stderr.txt ||
		status=$?
	stderr=$(cat stderr.txt)
	[ "$status" -eq 4 ]
	[[ $stderr == *"ptrace-run: run.log: "*" events lost, as writing the log failed: File too large"* ]]
	run_split ptrace-dump run.log
	[ "$status" -eq 3 ]
}

@test "that nothing was recorded is told in one line" {
	run_split ptrace-run -o run.log -- sh -c 'exit 3'
	[ "$status" -eq 3 ]
	[ -z "$stdout" ]
	assert_one_message ptrace-run
	[[ $stderr == "ptrace-run: sh: no event was recorded"* ]]
}

@test "the log may be a pipe" {
	ptrace-run -o >(cat >piped.log) -- "$traced" -n 10
	wait_until ptrace-stat piped.log
	[ "$(events piped.log traced.event)" -eq 10 ]
	run_split ptrace-run --log-full-policy=loop -o >(cat >/dev/null) -- touch ran
	[ "$status" -eq 125 ]
	[ ! -e ran ]
	assert_one_message ptrace-run
}

@test "two traces do not write to one log" {
	mkfifo in
	ptrace-run -o run.log -- "$traced" -w <in >out 3>&- &
	runner=$!
	exec 7>in
	wait_until says ready
	run_split ptrace-run -o run.log -- touch ran
	[ "$status" -eq 125 ]
	[ ! -e ran ]
	assert_one_message ptrace-run
	go
	wait "$runner"
	[ "$(events run.log traced.event)" -eq 1 ]
}

# gone COMMAND...: a log to which that is done while it is written is told to be gone
gone() {
	run_split ptrace-run --json -o run.log -- sh -c '"$0" -n 10; "$@"; "$0" -n 10' \
		"$traced" "$@"
	[ "$status" -eq 3 ]
	[ "$(wc -l <stderr.txt)" -eq 2 ]
	tail -n 1 stderr.txt | validates run
	tail -n 1 stderr.txt | jq -e '.losses.log_gone and (.complete or has("events") | not)'
	grep -q '^ptrace-run: run[.]log: the log is not there any more' stderr.txt
}

@test "a log that is deleted, renamed, replaced or truncated meanwhile is no log" {
	ptrace-run -o other.log -- "$traced"
	gone rm run.log
	gone mv run.log renamed.log
	gone cp --remove-destination other.log run.log
	gone truncate -s 0 run.log
	run_split ptrace-run --allow-loss -o run.log -- rm run.log
	[ "$status" -eq 0 ]
	grep -q 'not there any more' stderr.txt
	# What was read out of a FIFO is safe.
	mkfifo fifo
	cat fifo >piped.log &
	local reader=$!
	run_split ptrace-run -o fifo -- sh -c 'rm fifo; exec "$0"' "$traced"
	[ "$status" -eq 0 ]
	wait "$reader"
	[ "$(events piped.log traced.event)" -eq 1 ]
}

@test "closed standard descriptors do no harm to the log" {
	ptrace-run -o run.log -- "$traced" -n 5 <&- >&- 2>&-
	[ "$(events run.log traced.event)" -eq 5 ]
	# COMMAND has what was given to us.
	ptrace-run -o run.log -- sh -c 'for n in 0 1 2; do
		[ ! -e /proc/$$/fd/$n ] || touch open; done; touch looked' <&- >&- 2>&-
	[ -e looked ]
	[ ! -e open ]
	# What is said about the failure is no word for COMMAND to go on.
	status=0
	ptrace-run -o run.log --stream-min-size=1000000G -- touch ran >&- 2>&- || status=$?
	[ "$status" -eq 125 ]
	[ ! -e ran ]
}

# on_small_disk COMMAND...: in the directory full, whose disk holds 128 KiB
on_small_disk() {
	mkdir -p full
	unshare -m sh -c 'mount -t tmpfs -o size=128k tmpfs full && exec "$@"' sh "$@"
}

@test "a full disk: how many events were lost is told" {
	on_small_disk true || skip "no mount namespaces"
	run_split on_small_disk ptrace-run --json -o full/run.log -- "$traced" -n 100000
	[ "$status" -eq 3 ]
	[ "$(wc -l <stderr.txt)" -eq 2 ]
	tail -n 1 stderr.txt | validates run
	# Those of the program, start and stop.
	tail -n 1 stderr.txt | jq -e '(.complete | not) and .losses.write_error == 28 and
		.events > 0 and .events + .losses.unwritten_events == 100002'
	lost=$(tail -n 1 stderr.txt | jq .losses.unwritten_events)
	[ "$(head -n 1 stderr.txt)" = "ptrace-run: full/run.log: $lost events lost, as writing the log failed: No space left on device" ]
	run_split on_small_disk ptrace-run --allow-loss -o full/run.log -- "$traced" -n 100000
	[ "$status" -eq 0 ]
	assert_one_message ptrace-run
}

@test "only its owner can read a log, whatever the umask allows" {
	(umask 0 && ptrace-run -o run.log -- "$traced")
	[ "$(stat -c %a run.log)" = 600 ]
	# A file that is there keeps its mode.
	chmod 640 run.log
	ptrace-run -o run.log -- "$traced"
	[ "$(stat -c %a run.log)" = 640 ]
}
