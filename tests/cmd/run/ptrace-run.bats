#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # options that are several words
# Takes long, as each of its several hundred runs is a program, ptrace-run and a keeper, and mostly a reader.

load ../../support/helpers

@test "COMMAND is traced from its first event to its last, with its threads and children" {
	ptrace-run -o run.log -- "$traced" -n 1000
	ptrace-dump -e traced.event run.log | jq -r .data >numbers
	seq 0 999 | diff - numbers
	ptrace-run -o run.log -- "$traced" -n 100 -t 4 -c 2
	[ "$(events run.log traced.event)" -eq 1200 ]
	[ "$(ptrace-dump -e traced.event run.log | jq -s 'map(.pid) | unique | length')" -eq 3 ]
	ptrace-run -o run.log --inheritance=close-for-child -- "$traced" -c 2
	[ "$(events run.log traced.event)" -eq 1 ]
}

@test "standard input, output and error are COMMAND's" {
	exits 0 ptrace-run -o run.log -- sh -c 'cat; echo error >&2' <<<input
	[ "$stdout" = input ]
	[[ $stderr == error* ]]
}

@test "the exit status is COMMAND's, 128+N for a signal" {
	for n in 0 1 2 3 77 124; do
		silently "$n" ptrace-run -o run.log -- "$traced" -x "$n"
	done
	# All events before that are in the log.
	exits 137 ptrace-run -o run.log -- "$traced" -n 5000 -k 9
	counts run.log traced.event=5000
	ptrace-stat run.log
	exits 143 ptrace-run -o run.log -- "$traced" -k 15
}

@test "what cannot be run leaves no log, but an object of --json with the reason" {
	echo x >file
	mkdir directory
	printf '#!/no/such/interpreter\n' >script
	chmod +x script
	while read -r wanted command message; do
		reports "$wanted" "$message" ptrace-run --json=run.json -o run.log -- "$command"
		[ ! -e run.log ]
		jq -e --argjson wanted "$wanted" --arg command "$command" '.exit_status == $wanted and
			.command == $command and (.complete | not)' run.json
		[ "ptrace-run: $(jq -r .error run.json)" = "$stderr" ]
	done <<-'END'
		127 no-such-command no-such-command: command not found
		127 ./no-such-file *
		126 ./file ./file: Permission denied
		126 ./file/x ./file/x: Not a directory
		126 ./directory *
		127 ./script ./script: the interpreter of this script,*
	END
}

@test "a configuration that cannot be shown has the status of its own failures" {
	[ -w /dev/full ] || skip "no /dev/full"
	exits 125 sh -c 'ptrace-run --dump-config >/dev/full'
}

@test "a COMMAND that cannot be found costs no older log and no verdicts" {
	printf 'rules:\n  - exists: "*"\n' >rules.yaml
	ptrace-run -o run.log --check=rules.yaml --junit=junit.xml -- "$traced" -n 3
	cp junit.xml first.xml
	printf '#!/bin/sh\r\necho\n' >script
	printf '#!./script\n' >outer
	python3 - "$(command -v cat)" <<-'END'
		import sys
		program = open(sys.argv[1], "rb").read()
		open("program", "wb").write(program.replace(b"/ld-linux", b"/no-linux"))
	END
	chmod +x script outer program
	for command in no-such-command ./script ./outer ./program; do
		exits 127 ptrace-run -o run.log --check=rules.yaml --junit=junit.xml -- "$command"
		[ "$(events run.log traced.event)" -eq 3 ]
		cmp junit.xml first.xml
		exits 127 ptrace-run -- "$command"
		[ ! -e ptrace.log ]
	done
	# The search in PATH goes on after a file whose interpreter is missing.
	mkdir bin
	printf '#!/bin/sh\nexec "$traced" -n 2\n' >bin/script
	chmod +x bin/script
	traced=$traced PATH=$PWD:$PWD/bin:$PATH ptrace-run -o other.log -- script
	[ "$(events other.log traced.event)" -eq 2 ]
	# A file without permission is reported rather than one without its interpreter.
	mkdir refused
	: >refused/outer
	rm script
	exits 126 env PATH="$PWD/refused:$PWD:$PATH" "$(command -v ptrace-run)" -o run.log -- outer
	# The kernel refuses a file whose first 256 bytes do not have the whole name, and execvp() starts a shell.
	{
		printf '#!/%0300d\n' 0
		echo 'exec "$traced" -n 4'
	} >long
	chmod +x long
	traced=$traced ptrace-run -o other.log -- ./long
	[ "$(events other.log traced.event)" -eq 4 ]
}

@test "a log that cannot be written is 125, and COMMAND does not run" {
	does_not_run '*' -o no/such/directory/run.log
	mkdir directory
	does_not_run '*' -o directory
	[ -w /dev/full ] || skip "no /dev/full"
	does_not_run "*No space left on device*" -o /dev/full
}

@test "-o replaces nothing but a log or an empty file, unless it is forced" {
	# A signature that is cut short, and one that is not at the begin.
	printf '\211PTRLOG' >short.txt
	printf ' \211PTRLOG\n and more' >shifted.txt
	echo 'int main(void);' >main.c
	ln -s main.c link
	for file in short.txt shifted.txt main.c link; do
		cp "$file" before
		does_not_run "$file: exists and is not a trace log; name another file, or replace this one with --force" -o "$file"
		cmp before "$file"
	done
	[ -L link ]
	# Empty: also through a link, and a link whose target is not there yet.
	: >empty
	ln -s new dangling
	ln -s empty link.empty
	for file in link.empty empty dangling dangling; do
		ptrace-run -o "$file" -- "$traced" -n 2
		[ "$(events "$file" traced.event)" -eq 2 ]
	done
	[ -f new ]
	[ -L dangling ]
	# A log that is cut or damaged is a log.
	truncate -s 100 new
	ptrace-run -o new -- "$traced" -n 3
	[ "$(events new traced.event)" -eq 3 ]
	# By option and by file.
	ptrace-run --force -o main.c -- "$traced" -n 4
	[ "$(events link traced.event)" -eq 4 ]
	echo text >main.c
	printf 'output: main.c\nforce: true\n' >file.yaml
	ptrace-run -c file.yaml -- "$traced" -n 5
	[ "$(events main.c traced.event)" -eq 5 ]
	ptrace-run -c file.yaml --dump-config | grep -qx 'force: true'
}

@test "a reader of the log that goes away: how many events are lost is told, without those that it has got" {
	mkfifo fifo
	for bytes in 300000 900000; do
		head -c "$bytes" fifo >part 3>&- &
		# All is written in the end, in several parts.
		exits 3 ptrace-run --stream-min-size=32M --json=run.json -o fifo -- "$traced" -n 200000
		wait $!
		lost=$(jq 'select(.losses.write_error == 32) | .losses.unwritten_events' run.json)
		# It may wait for its reader, which it says first.
		[ "${stderr##*$'\n'}" = "ptrace-run: fifo: at least $lost events lost, as writing the log failed: Broken pipe" ]
		got=$(ptrace-dump --count --allow-loss part)
		[ "$got" -gt 10000 ]
		# A pipe has at most 64 KiB, and an event takes more than a byte. Each flush adds two events, and a
		# slow machine flushes more often.
		[ $((got + lost)) -le 201002 ]
		[ $((got + lost)) -gt $((200002 - 65536)) ]
	done
}

@test "--no-loss: no event waits for a reader of the log that has gone away" {
	mkfifo fifo
	head -c 1000 fifo >part 3>&- &
	exits 3 ptrace-run --no-loss --stream-min-size=64K -o fifo -- sh -c '
		"$0" -n 20000
		until grep -q Broken "$1"; do sleep 0.05; done
		"$0" -n 20000' "$traced" stderr.txt
	# It may wait for its reader, which it says first.
	grep -qx "ptrace-run: fifo: writing the log fails: Broken pipe; events are lost when the stream is full" stderr.txt
	[[ $stderr == *" events lost in the stream, which was full"* ]]
}

@test "-o: what has no contents is written to, what cannot be read is not replaced" {
	ptrace-run -o /dev/null -- "$traced"
	mkfifo fifo
	cat fifo >copy 3>&- &
	ptrace-run -o fifo -- "$traced" -n 2
	wait $!
	[ "$(events copy traced.event)" -eq 2 ]
	ptrace-run -o /dev/stdout -- "$traced" -n 3 | cat >copy
	[ "$(events copy traced.event)" -eq 3 ]
	# Nobody reads it any more: COMMAND does not run, or the loss is told.
	exec {unread}> >(:)
	# The shell may have forgotten it once it has ended.
	wait $! || true
	exits 125 bash -c "exec ptrace-run -o /dev/stdout -- touch ran >&$unread"
	exec {unread}>&-
	[ ! -e ran ]
	[ "$stderr" = "ptrace-run: /dev/stdout: Broken pipe" ]
	{ ptrace-run -o /dev/stdout -- "$traced" -n 100000 2>stderr.txt || echo $? >status; } | head -c 1 >start
	[ "$(<status)" -eq 3 ]
	# The program's, the start, the stop, and two for each flush that came in between.
	[[ $(tail -n 1 stderr.txt) == "ptrace-run: /dev/stdout: at least 10000"[2-9]" events lost, as writing the log failed: Broken pipe" ]]
	# It is closed: what takes its place is no file.
	for options in '-o /dev/stdout' '-o run.log --json=/dev/stdout'; do
		exits 125 bash -c "exec ptrace-run $options -- touch ran >&-"
		[ ! -e ran ]
		[ "$stderr" = "ptrace-run: /dev/stdout: Bad file descriptor" ]
	done
	# Standard output is a file: the same rule.
	echo precious >text
	exits 125 sh -c 'ptrace-run -o /dev/stdout -- touch ran >>text'
	[ ! -e ran ]
	[ "$(cat text)" = precious ]
	local as_user=()
	[ "$EUID" -ne 0 ] || as_user=(setpriv --reuid=65534 --clear-groups)
	echo precious >secret
	chmod 222 secret
	chmod 777 .
	"${as_user[@]}" test -x "$PTRACE_BIN/ptrace-run" || skip "no other user can run the commands"
	reports 125 'secret: exists and cannot be read*--force*' "${as_user[@]}" "$PTRACE_BIN/ptrace-run" -o secret -- touch ran
	chmod 600 secret
	[ "$(cat secret)" = precious ]
}

@test "attributes given as options are those of the log" {
	ptrace-run -o run.log --name=my-trace --stream-min-size=2M --max-data-size=10 \
		--stream-full-policy=until-full --log-max-size=1M --log-full-policy=loop \
		--inheritance=close-for-child -- "$traced" -s 20
	ptrace-stat --format=json run.log | jq -e '.attributes |
		.trace_name == "my-trace" and .stream_min_size == 2097152 and
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
	begins runner setsid ptrace-run -o run.log -- sh -c 'echo $$ >pid; exec "$0"' \
		"$PTRC_BUILD/tests/support/signalled" >out
	wait_until says ready
	child=$(cat pid)
}

# What is passed on comes in order, so nothing else is on its way when this one is there.
signalled_end() {
	kill -USR2 "$runner"
	ends 7 "$runner"
	[ "$(ptrace-stat --format=json run.log | jq .complete)" = true ]
}

@test "signals reach COMMAND once, whether to ptrace-run alone or to the whole process group" {
	for group in '' -; do
		signalled_start
		for signal in HUP INT QUIT TERM USR1 CONT; do
			kill -"$signal" -- $group"$runner"
			wait_until says "$signal"
		done
		signalled_end
		[ "$(cat out)" = $'ready\nHUP\nINT\nQUIT\nTERM\nUSR1\nCONT\nUSR2' ]
	done
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
	begins runner setsid ptrace-run -o run.log -- sh -c 'kill -USR1 $PPID; kill -TERM $PPID; exec "$0"' \
		"$PTRC_BUILD/tests/support/signalled" >out
	wait_until says ready
	signalled_end
	[ "$(cat out)" = $'ready\nUSR2' ]
}

@test "the witness that tells whom a signal was for is replaced when it is killed" {
	signalled_start
	witness=$(grep -lsx ptrace-witness $(printf '/proc/%s/comm ' \
		$(children_of "$runner")))
	witness=${witness//[!0-9]/}
	kills "$witness"
	kill -INT "$runner"
	wait_until says INT
	kill -TERM -- -"$runner"
	wait_until says TERM
	signalled_end
	[ "$(cat out)" = $'ready\nINT\nTERM\nUSR2' ]
}

@test "no process is left of it" {
	signalled_start
	children=$(children_of "$runner")
	kill -TERM -- -"$runner"
	wait_until says TERM
	children="$children $(children_of "$runner")"
	signalled_end
	for p in $children; do is_ended "$p"; done
	signalled_start
	children=$(children_of "$runner")
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
	echo "ptrace-run -o run.log -- sh -c 'echo \$\$ >pid; exec $PTRC_BUILD/tests/support/signalled' >out" >&7
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

# What a shell that does job control does with a job: gives it a process group, and waits for its
# end. (bash may wait for ever, and say so without end, for a job that stops and goes on quickly.)
# shellcheck disable=SC2016
job_shell='
	my $job = fork;
	unless ($job) {
		setpgrp;
		exec @ARGV;
	}
	open my $runner, ">", "runner";
	print $runner "$job\n";
	close $runner;
	waitpid $job, 0;
	open my $status, ">", "status";
	print $status $? & 127 ? 128 + ($? & 127) : $? >> 8, "\n";
	close $status'

# job SCRIPT: runs it under ptrace-run as such a job. $runner is ptrace-run, $child the script, whose
# process ID is in the file pid; `status` gets the status.
job() {
	setsid perl -e "$job_shell" ptrace-run -o run.log -- sh -c "echo \$\$ >pid; $1" 3>&- &
	disown
	wait_until test -s runner
	wait_until test -s pid
	runner=$(cat runner) child=$(cat pid)
	pids="$pids $child $runner"
}

state() { [ "$(sed 's/.*) \(.\).*/\1/' /proc/"$1"/stat)" = "$2" ]; }

@test "it stops when COMMAND stops, and goes on with it, whoever continues or kills that" {
	job 'kill -STOP $$; exit 5'
	wait_until state "$runner" T
	kill -CONT "$runner"
	wait_until test -s status
	[ "$(cat status)" -eq 5 ]
	rm status runner pid
	job 'kill -STOP $$; kill -STOP $$; exit 5'
	wait_until state "$runner" T
	kill -CONT "$child"
	wait_until state "$child" T
	wait_until state "$runner" T
	kill -CONT "$child"
	wait_until test -s status
	[ "$(cat status)" -eq 5 ]
	rm status runner pid
	job 'kill -STOP $$; exit 5'
	wait_until state "$runner" T
	kill -KILL "$child"
	wait_until test -s status
	[ "$(cat status)" -eq 137 ]
}

@test "where no shell does job control it does not stop" {
	begins runner setsid ptrace-run -o run.log -- sh -c 'echo $$ >pid; kill -STOP $$; exec "$0"' \
		"$PTRC_BUILD/tests/support/signalled" >out
	wait_until test -s pid
	child=$(cat pid)
	wait_until state "$child" T
	# A process that has stopped itself would not pass this on.
	kill -CONT "$child"
	wait_until says ready
	kill -TERM "$runner"
	wait_until says TERM
	signalled_end
}

closed() { ptrace-stat --allow-loss --format=json "$1" | jq -e '.losses.unclosed | not'; }

@test "if it is killed itself the log has everything until then, and says that COMMAND went on" {
	listens runner done ptrace-run -o run.log -- "$traced" -n 5000 -W
	child=$(children_of "$runner")
	pids="$pids $child"
	kill -KILL "$runner"
	wait "$runner" || true
	wait_until closed run.log
	counts run.log traced.event=5000 os.went_on=1
	ptrace-dump --allow-loss run.log | jq -se 'map(select(.event == "os.went_on" or .event == "traced.event")) |
		last.data == {processes: 1} and (map(.pid) | unique | length == 1)'
	for command in "stat run.log" "dump --verify --summary run.log" "dump --count run.log" "report -o report.html run.log"; do
		reports 3 "run.log: processes went on when the recording ended: their later events are missing" ptrace-$command
	done
	# So does a copy of a part that has not this event.
	ptrace-dump --allow-loss --event=traced.event --to-log=copy.log run.log
	reports 3 "copy.log: processes went on when the recording ended: their later events are missing" ptrace-dump --count copy.log
	# What waits for an answer is not decided.
	exits 4 ptrace-check run.log --exists=never.there
}

@test "killed: what a COMMAND recorded that was killed soon after it is in the log, or the log says that it went on" {
	listens runner ready ptrace-run -o run.log -- "$traced" -w -n 100 -W
	command=$(pgrep -P "$runner" -x traced)
	pids="$pids $command"
	kill -KILL "$runner"
	# The process that writes the log notices the death, and COMMAND records before it is killed, too.
	read -rt 0.02 -u "$idle" || true
	go done
	kill -KILL "$command"
	wait_until closed run.log
	counts run.log traced.event=100 || counts run.log os.went_on=1
}

@test "killed: a COMMAND without the library and a child of it count, and what was killed with it does not" {
	listens runner done ptrace-run -o run.log --log-full-policy=loop -- bash -c 'echo $$ >pid; "$0" -W; :' "$traced"
	command=$(<pid)
	kill -KILL "$runner"
	wait "$runner" || true
	wait_until closed run.log
	[ "$(ptrace-dump --allow-loss --event=os.went_on run.log | jq -c '[.pid, .data.processes]')" = "[$command,2]" ]
	# shellcheck disable=SC2046 # the children are words
	kill -KILL $(children_of "$command") "$command"
	listens runner done ptrace-run -o all.log -- "$traced" -n 10 -W
	kill -STOP "$runner"
	kills $(children_of "$runner")
	kill -KILL "$runner"
	wait "$runner" || true
	wait_until closed all.log
	silently 0 ptrace-stat all.log
	[ "$(events all.log traced.event)" -eq 10 ]
}

@test "lost events are told in one line: a success is 3, or 0 with --allow-loss, a failure stays what it is" {
	lossy=(-o run.log --stream-min-size=4K --stream-full-policy=loop)
	reports 3 "run.log: * events lost in the stream, which was full" ptrace-run "${lossy[@]}" -- "$traced" -n 100000
	reports 0 '*' ptrace-run "${lossy[@]}" --allow-loss -- "$traced" -n 100000
	reports 4 '*' ptrace-run "${lossy[@]}" -- "$traced" -n 100000 -x 4
	lost=$(grep -oE '[0-9]+ events lost' <<<"$stderr" | cut -d' ' -f1)
	[ "$((lost + $(events run.log traced.event)))" -ge 100000 ]
	exits 3 ptrace-dump run.log
	answers 3 ".losses.stream_events == $lost and .counts.lost_events == $lost and (.complete | not)" \
		ptrace-stat --json run.log
}

# tells LINES JQ...: standard error has so many lines, and the last one is a result of which this is true
tells() {
	[ "$(wc -l <stderr.txt)" -eq "$1" ] || { cat stderr.txt; return 1; }
	tail -n 1 stderr.txt >result.json
	valid run <result.json
	jq -e "${@:2}" result.json
}

@test "--json tells what came of it in the last line of standard error" {
	exits 4 ptrace-run --json -o run.log -- "$traced" -n 10 -x 4
	[ -z "$stdout" ]
	tells 1 --arg c "$traced" '.version == 1 and .log == "run.log" and .command == $c and
		.exit_status == 4 and (has("signal") | not) and .events >= 12 and .complete and
		.losses.stream_events == 0'
	[ "$(jq .events <stderr.txt)" -eq "$(events run.log)" ]
	exits 137 ptrace-run --json -o run.log --stream-min-size=4K --stream-full-policy=loop -- \
		"$traced" -n 100000 -k 9
	lost=$(grep -oE '[0-9]+ events lost' stderr.txt | cut -d' ' -f1)
	tells 2 --argjson lost "$lost" '.signal == 9 and
		(has("exit_status") | not) and (.complete | not) and
		.losses.stream_events == $lost'
	run_split ptrace-run --json -o >(cat >/dev/null) -- "$traced"
	jq -e 'has("events") | not' <stderr.txt
}

@test "--json to a file or a descriptor" {
	exits 4 ptrace-run --json=run.json -o run.log -- sh -c 'echo error >&2; exit 4'
	jq -e '.exit_status == 4 and .log == "run.log"' run.json
	[[ $stderr == error* && $stderr != *version* ]]
	# What was such an object is replaced, and what was not is not.
	ptrace-run --json=run.json -o run.log -- "$traced" -n 3
	[ "$(jq -s length run.json)" -eq 1 ]
	jq -e '.exit_status == 0 and .complete' run.json
	echo precious >text
	does_not_run "text: exists and is not the result of a run; name another file, or replace this one with --force" --json=text -o run.log
	[ "$(cat text)" = precious ]
	ptrace-run --json=text --force -o run.log -- "$traced"
	jq -e .complete text
	# The log of a run that did not begin is not left, nor is a log the result.
	does_not_run "new: is the log*" --json=new -o new
	[ ! -e new ]
	# Nor do two results get one file.
	printf 'rules: [{exists: e}]\n' >rules.yaml
	does_not_run "./both: is the file of another result already" --check=rules.yaml --json=both --junit=./both -o new
	ptrace-run --json-fd=5 -o run.log -- "$traced" -n 3 5>fd.json
	jq -e '.exit_status == 0 and .events >= 5' fd.json
	# Neither COMMAND nor what it leaves running has the descriptor.
	ptrace-run --json-fd=5 -o run.log -- sh -c 'echo >&5' 5>fd.json 2>/dev/null || true
	[ "$(wc -l <fd.json)" -eq 1 ]
	ptrace-run --json-fd=1 -o run.log -- "$traced" | jq -e .complete
	for option in --json-fd=99 --json-fd=0 --json-fd=x --json-fd= --json=; do
		reports 125 "*${option%%=*}: *" ptrace-run "$option" -o run.log -- touch ran <text
	done
	exits 125 ptrace-run --json --json-fd=1 -o run.log -- touch ran
	[[ $stderr == *"one place only"* ]]
	[ ! -e ran ]
	does_not_run "*- does not stand for standard output*./-*" --json=- -o run.log
	[ ! -e ./- ]
	[ -w /dev/full ] || skip "no /dev/full"
	reports 3 "/dev/full: No space left on device" ptrace-run --json=/dev/full -o run.log -- "$traced"
}

@test "--json: an object comes also if the log, the trace, the settings or the command line is at fault" {
	echo precious >text
	for option in --output=text --stream-min-size=1000000G --config=no.yaml --no-such-option; do
		rm -f run.json
		exits 125 ptrace-run --json=run.json "$option" -- touch ran
		jq -e '.exit_status == 125 and (.complete | not) and (.error | length > 0)' run.json
	done
	valid run <run.json
	run_split ptrace-run --json -- no-such-command
	tail -n 1 stderr.txt | jq -e '.exit_status == 127'
	[ ! -e ran ]
}

@test "what is excluded is not recorded: names, patterns, system events" {
	exits 0 ptrace-run -o run.log --exclude=traced.event --exclude=posix_trace_stop -- \
		sh -c '"$0"; "$0" -e other.event' "$traced"
	[ -z "$stdout$stderr" ]
	counts run.log traced.event=0 posix_trace_stop=0 other.event=1
	# From the first event of a name on, in however short a program.
	ptrace-run -o run.log --exclude='*.noise' -- "$traced" -e x.noise -n 5000
	[ "$(events run.log x.noise)" -eq 0 ]
	ptrace-run -o run.log --exclude='*.noise' -- \
		sh -c 'for i in $(seq 60); do "$0" -e x.noise; "$0" -e x.sound; done' "$traced"
	counts run.log x.sound=60 x.noise=0
	# In a forked child, and in the image that it executes.
	ptrace-run -o run.log --exclude='*.noise' -- \
		"$PTRC_BUILD/tests/support/prog_emit" -f -x "$PTRC_BUILD/tests/support/prog_emit" x.noise 3 2
	[ "$(events run.log x.noise)" -eq 0 ]
}

@test "only what is to be recorded is recorded" {
	exits 0 ptrace-run -o run.log --only='x.*' --only=y --exclude='*.noise' -- \
		sh -c 'for name in x.noise x.sound y z; do "$0" -e $name -n 2; done' "$traced"
	[ -z "$stdout$stderr" ]
	[ "$(ptrace-dump --format=json run.log | jq -r .event | grep -v _flush_ |
		sort | uniq -c | tr -s ' \n' ' ')" = \
		' 1 posix_trace_start 1 posix_trace_stop 2 x.sound 2 y ' ]
	printf 'only: [x.*]\nexclude: [x.noise]\noutput: run.log\n' >file.yaml
	ptrace-run -c file.yaml -- sh -c '"$0" -e x.noise; "$0" -e x.sound; "$0" -e z' "$traced"
	counts run.log x.sound=1 x.noise=0 z=0
}

@test "a pattern that matched no name is told" {
	exits 0 ptrace-run --json -o run.log --only='traced.*' --exclude='*.nosie' \
		--exclude=$'odd\xff' -- "$traced"
	[ "$(sed -n 1p stderr.txt)" = \
		"ptrace-run: no event has a name that matches --exclude=*.nosie" ]
	tells 3 '.complete and (.unmatched | length == 2) and
		.unmatched[0] == {"how": "exclude", "glob": "*.nosie"} and .unmatched[1].glob_hex'
	run_split ptrace-run --json -o run.log --only='traced.*' -- "$traced"
	tells 1 'has("unmatched") | not'
}

@test "too many patterns are refused before anything is done" {
	{
		echo 'exclude:'
		printf '  - event.%d\n' {1..257}
	} >file.yaml
	does_not_run "file.yaml:2:3: exclude: there are more than 256 patterns*" -c file.yaml -o run.log
	[ ! -e run.log ]
	head -n 257 file.yaml >most.yaml
	exits 125 ptrace-run -c most.yaml --only=x -o run.log -- touch ran
	[ ! -e ran ]
	exits 0 ptrace-run -c most.yaml -o run.log -- touch ran
}

# untraced COMMAND...: the only traced process could not be traced; prints the cause
untraced() {
	exits 3 ptrace-run --json -o run.log -- "$@"
	tells 2 '.losses.untraced_processes == 1 and (.complete | not)' >&2
	ptrace-stat --json run.log >stat.json || [ $? -eq 3 ]
	valid stat <stat.json
	jq -e '.losses.untraced_processes == 1' stat.json >&2
	sed -n '1s/^ptrace-run: run[.]log: 1 process could not be traced: //p' stderr.txt
	[ "$(ls "/dev/shm/posixtrace-$(id -u)")" = bells ]
}

@test "a process that could not be traced for want of descriptors or memory is a loss" {
	few='exec 3<&- 4<&- 5<&-; ulimit -n'
	# The program itself, and a program that it runs. One descriptor is left for libraries.
	[ "$(untraced bash -c "$few 4; exec \"\$0\" -n 5" "$traced")" = "too few descriptors" ]
	[ "$(untraced bash -c "$few 4; \"\$0\" -n 5; true" "$traced")" = "too few descriptors" ]
	# A program that cannot look for streams of its ancestors, but is traced itself.
	exits 0 ptrace-run -o run.log -- bash -c "$few 5; exec \"\$0\" -n 5" "$traced"
	[ "$(events run.log traced.event)" -eq 5 ]
	# It lists only pids, which is all that earlier releases read.
	exits 3 ptrace-run -o run.log -- bash -c \
		"($few 5; \"\$0\" -n 5; true); readlink /dev/shm/posixtrace-*/u.0000000000000000.*" "$traced"
	[[ $stdout =~ ^24(\ [0-9]+)+$ ]]
	# With one more each time, either all is recorded or the loss is told.
	for limit in $(seq 5 16); do
		run_split ptrace-run -o run.log -- bash -c "$few $limit; \"\$0\" -n 5; true" "$traced"
		if [ "$status" -eq 0 ]; then
			[ "$(events run.log traced.event)" -eq 5 ]
		else
			[ "$status" -eq 3 ]
			grep -q 'could not be traced: too few descriptors' stderr.txt
		fi
	done
	[ "$status" -eq 0 ]
	# The address sanitizer takes more address space than that.
	if grep -q __asan_init "$traced"; then
		return
	fi
	for size in 10000 20000 60000; do
		[ "$(untraced bash -c "ulimit -v $size; exec \"\$0\" -n 5" "$traced")" = \
			"too little room in /dev/shm, or too little memory or address space" ]
	done
}

@test "a process for which /dev/shm can have no more files is a loss" {
	# With one more each time, each process is traced or counted, or both: one that finds no file when it starts may
	# be traced after another has ended.
	for files in $(seq 7 14); do
		own_mounts 'mount -t tmpfs -o nr_inodes="$1",mode=1777 tmpfs /dev/shm
			exec ptrace-run --json=run.json -o run.log --force -- \
				sh -c "\"\$0\" -n 5; \"\$0\" -n 5 & \"\$0\" -n 5 & wait; true" "$2"' "$files" "$traced"
		if [ "$status" -eq 125 ]; then
			continue
		fi
		lost=$(jq .losses.untraced_processes run.json)
		count=$(ptrace-dump --json run.log 2>dump.txt | grep -c '"event":"traced.event"') || true
		[ "$count" -ge $((15 - 5 * lost)) ]
		[ "$count" -le 15 ]
		[ "$status" -eq $((lost ? 3 : 0)) ]
		[[ ! $lost -gt 0 || $stderr == *"run.log: $lost process"*" could not be traced: too little room in /dev/shm, "* ]]
	done
	[ "$lost" -eq 0 ]
	# No room, or no file but the last one, in which the process leaves its note.
	fill='head -c 32m /dev/zero >/dev/shm/fill'
	for fill in "$fill" "$fill"'; i=0; while true >/dev/shm/$i; do i=$((i + 1)); done; rm /dev/shm/0'; do
		in_mounts 3 'mount -t tmpfs -o size=16m,nr_inodes=40,mode=1777 tmpfs /dev/shm
			exec ptrace-run -o run.log --force --stream-min-size=64K -- \
				sh -c "{ $2; } 2>/dev/null; \"\$0\"; true >/dev/shm/fill" "$1"' \
			"$traced" "$fill"
		[ "$stderr" = "ptrace-run: run.log: 1 process could not be traced: too little room in /dev/shm, or too little memory or address space" ]
	done
}

@test "a name for which /dev/shm has no room is a loss" {
	echo 'rules: [{name: complete, loss: none}]' >rules.yaml
	in_mounts 1 'mount -t tmpfs -o size=16m,mode=1777 tmpfs /dev/shm
		fill="head -c 32m /dev/zero >/dev/shm/fill 2>/dev/null; truncate -s -4k /dev/shm/fill"
		exec ptrace-run --json=run.json -o run.log --stream-min-size=64K --check=rules.yaml -- \
			sh -c "$fill; \"\$0\" -e many -N 40; rm /dev/shm/fill" "$1"' "$traced"
	jq -e '.losses.refused_names > 0 and .losses.untraced_processes == 0 and (.complete | not)' run.json
	grep -q '^ptrace-run: run.log: at least . event names* got no type of .* own, as .*, /dev/shm or memory had no room' stderr.txt
	[[ $stderr != *'no event was recorded'* ]]
}

@test "children of a process that has changed its user are traced" {
	[ "$EUID" -eq 0 ] || skip "root only"
	exits 0 ptrace-run --json -o run.log -- "$traced" -u 54321 -c 3 -n 5
	tells 1 '.complete and .losses.untraced_processes == 0'
	[ "$(ptrace-dump --json --event=traced.event run.log | jq .pid | sort | uniq -c | awk '{ print $1 }' | xargs)" = "5 5 5 5" ]
	rm -rf /dev/shm/posixtrace-54321
}

@test "a process in another time namespace is a loss" {
	unshare -T true 2>/dev/null || skip "no time namespaces"
	reason="in another pid or time namespace than the trace; trace inside that namespace"
	[ "$(untraced unshare -T "$traced" -n 5)" = "$reason" ]
	[ "$(untraced sh -c '"$0" -n 20; unshare -T "$0" -n 5' "$traced")" = "$reason" ]
	# A program there that records nothing loses nothing.
	exits 0 ptrace-run -o run.log -- sh -c '"$0" -n 20; unshare -T true' "$traced"
}

@test "what the last flush could not keep is told, too" {
	for policy in until-full loop; do
		reports 4 '*' ptrace-run -o run.log --full-wait=1m --log-full-policy=$policy --log-max-size=64K -- \
			"$traced" -n 100000 -x 4
		lost=$(grep -oE '[0-9]+ events lost in the log' <<<"$stderr" | cut -d' ' -f1)
		exits 3 ptrace-stat --format=json run.log
		jq -e --argjson lost "$lost" '.losses.log_events == $lost' <<<"$stdout"
		[ "$(events run.log traced.event)" -lt 100000 ]
	done
}

@test "a limit on file size ends the log, not the command" {
	exits 4 bash -c 'ulimit -S -f 200 && ptrace-run -o run.log -- "$0" -n 200000 -x 4' "$traced"
	[[ $stderr == *"ptrace-run: run.log: "*" events lost, as writing the log failed: File too large (see ulimit -f)"* ]]
	exits 3 ptrace-dump run.log
}

@test "a limit on file size ends COMMAND as it would without ptrace-run" {
	(ulimit -S -f 200 && exits 153 ptrace-run -o run.log -- sh -c 'head -c 1M /dev/zero >big')
	(trap '' XFSZ && ulimit -S -f 200 && exits 1 ptrace-run -o run.log -- sh -c 'head -c 1M /dev/zero >big')
}

@test "without room for a file there is a message and no file" {
	# Nothing can be written to a file, so the message goes through a pipe.
	[ "$( (ulimit -f 0 && ptrace-run -o a.log -- "$traced") 2>&1)" = \
		"ptrace-run: $traced: no memory for the stream: the limit on file size (ulimit -f) is too low" ]
	[ "$( (ulimit -f 4100 && ptrace-run -o a.log -- "$traced") 2>&1)" = \
		"ptrace-run: $traced: no memory for the stream: the limit on file size (ulimit -f) is too low for a stream of this size; --stream-min-size=64K needs less" ]
	[ ! -e a.log ]
}

@test "why nothing was recorded is told as far as it is known" {
	none="no program with the library, of this user and namespace, with /proc and this /dev/shm, opened an event type"
	reports 0 "true: no event was recorded*: $none; 'ptrace-doctor -- true' looks for the library" ptrace-run -o run.log -- true
	opened="programs opened 1 event type, and no event of it happened while the trace ran"
	for os in auto none process; do
		reports 0 "$traced: no event was recorded*: $opened" ptrace-run --os=$os -o run.log -- "$traced" -n 0
		diagnoses_events "$opened, or the trace left them out"
	done
	closed="or only in child processes, which --inheritance=close-for-child leaves out"
	reports 0 "sh: *: $none, $closed; *" ptrace-run --inheritance=close-for-child -o run.log -- sh -c "$traced; :"
	diagnoses_events "$none, $closed"
	reports 0 "$traced: *: $opened, $closed" ptrace-run --inheritance=close-for-child -o run.log -- "$traced" -n 0
	# Events of the operating system were asked for, and may be all that was wanted.
	needs_os
	says_nothing ptrace-run --os=process -o run.log -- true
	says_nothing ptrace-run --os=samples -o run.log -- true
	reports 0 "$traced: no event was recorded but of the operating system: $opened" ptrace-run --os=sched -o run.log -- "$traced" -n 0
	says_nothing ptrace-run --quiet -o run.log -- "$traced" -n 0
}

@test "processes that go on and are not traced are named, and --until=all waits for them" {
	needs_os
	# Until the child has executed sleep, its name is sh.
	local program='sleep 3 & until grep -qx sleep /proc/$!/comm; do :; done'
	reports 0 "sh: no event was recorded but of processes: no program had opened an event type when COMMAND ended, and 1 process that it started goes on untraced: sleep (*); have COMMAND wait for it" \
		ptrace-run -o run.log -- sh -c "$program"
	reports 0 "sh: no event was recorded: no program with the library, *" ptrace-run --os=none -o run.log -- sh -c "$program"
	for kind in process sched; do
		reports 0 "run.log: 1 process that COMMAND started and that is not traced went on: sleep (*); --until=all records to the end" \
			ptrace-run --os="$kind" -o run.log -- sh -c "$program"
		counts run.log os.command=1 os.went_on=0
		rm -f slept
		silently 0 ptrace-run --os="$kind" --until=all -o run.log -- sh -c '(sleep 0.3; : >slept) & exit 0'
		[ -e slept ]
	done
}

# diagnoses_events REASON: ptrace-doctor has this one, too
diagnoses_events() {
	exits 1 ptrace-doctor ./run.log
	[[ $stdout == *"has no event of a program: $1"* ]]
}

@test "that the patterns leave out everything is told in one line" {
	why="no event was recorded: the patterns (--only, --exclude, ptrace-filter) leave out every event type of the programs"
	for patterns in '--exclude=*' '--exclude=traced.*' '--only=traced.* --exclude=*.event'; do
		reports 0 "$traced: $why" ptrace-run -o run.log $patterns -- "$traced" -n 3
	done
	printf 'exclude: ["*"]\n' >file.yaml
	reports 0 "$traced: $why" ptrace-run -c file.yaml -o run.log -- "$traced" -n 3
	# With the pattern that matches nothing.
	run_split ptrace-run -o run.log --only=nothing -- "$traced" -n 3
	[ "$(wc -l <stderr.txt)" -eq 2 ]
	# Some types are left out, or no program has any.
	run_split ptrace-run -o run.log --exclude=posix_* -- "$traced" -n 3
	[ -z "$stderr" ]
	reports 0 "true: no event was recorded: no program with the library, *" ptrace-run -o run.log '--exclude=*' -- true
}

# stalled COMMAND...: ptrace-run with a log that nobody reads, a FIFO that is open; $runner, whose
# threads are counted
stalled() {
	rm -f fifo ran
	mkfifo fifo
	exec 7<>fifo
	ptrace-run --os=none -o fifo -- sh -c '"$@"; : >ran' _ "$@" >out 2>err 3>&- 7>&- &
	runner=$!
	pids="$pids $runner"
}

# COMMAND, which has made a file, has ended, and ptrace-run waits for its log.
is_waiting() {
	[ -e ran ] && [ -z "$(children_of "$runner")" ] &&
		[ "$(ls /proc/"$runner"/task | wc -l)" -ge 2 ]
}

has_keeper() { grep -qsx ptrace-keeper /proc/[0-9]*/comm; }
has_no_keeper() { ! has_keeper; }

@test "a log that stalls does not keep signals from it" {
	for signal in TERM HUP QUIT; do
		stalled "$traced" -n 20000
		wait_until is_waiting
		kill -"$signal" "$runner"
		ends 3 "$runner"
		grep -qx 'ptrace-run: fifo: [0-9]* events are missing, as the log took nothing and was given up' err
		[ "$(grep -o '[0-9]* events are' err | grep -o '[0-9]*')" -gt 10000 ]
	done
	stalled "$traced" -n 20000
	wait_until is_waiting
	kill -INT "$runner"
	wait_until grep -q 'another interrupt gives it up' err
	kill -INT "$runner"
	ends 3 "$runner"
	grep -q 'was given up' err
}

@test "a log that stalls before COMMAND runs does not keep signals from it" {
	mkfifo fifo
	exec 7<>fifo
	dd if=/dev/zero of=fifo oflag=nonblock bs=4096 2>/dev/null || true
	begins runner ptrace-run -o fifo -- touch ran >out 2>err 7>&-
	wait_until has_keeper
	kill -TERM "$runner"
	ends 143 "$runner"
	[ ! -e ran ]
	wait_until has_no_keeper
	# Nothing was recorded, so there is nothing to salvage.
	[ -z "$(ptrace-list 2>&1)" ]
	silently 0 ptrace-run -o run.log -- "$traced"
	[ "$(ls "/dev/shm/posixtrace-$EUID")" = bells ]
}

@test "-o: a FIFO that nobody reads is waited for with a word" {
	mkfifo fifo
	begins runner ptrace-run -o fifo -- "$traced" -n 2 2>err
	wait_until grep -qx 'ptrace-run: fifo: is a FIFO without a reader; waiting for one' err
	cat fifo >copy
	wait "$runner"
	[ "$(events copy traced.event)" -eq 2 ]
	[ "$(wc -l <err)" -eq 1 ]
	# A reader that waits for a writer misses nothing, and nothing is said.
	cat fifo >copy 3>&- &
	reader=$!
	wait_until grep -qx '[0-9]* (cat) S .*' /proc/"$reader"/stat
	ptrace-run -o fifo -- "$traced" -n 2
	wait "$reader"
	[ "$(events copy traced.event)" -eq 2 ]
	# Signals end the wait. The message of the one before is not taken for its own.
	for signal in INT TERM HUP; do
		rm err
		begins runner env --default-signal=INT ptrace-run -o fifo -- touch ran 2>err
		wait_until grep -qs 'waiting for one' err
		kill -"$signal" "$runner"
		ends $((128 + $(kill -l "$signal"))) "$runner"
	done
	[ ! -e ran ]
	# What can never be is refused at once.
	for policy in loop until-full; do
		reports 125 'fifo: is not a regular file, which needs the log-full-policy append' \
			timeout "$patience" ptrace-run -o fifo --log-full-policy="$policy" -- touch ran
	done
	[ ! -e ran ]
}

# gone COMMAND...: a log to which that is done while it is written is told to be gone
gone() {
	exits 3 ptrace-run --json -o run.log -- sh -c '"$0" -n 10; "$@"; "$0" -n 10' \
		"$traced" "$@"
	tells 2 '.losses.log_gone and (.complete or has("events") | not)'
	grep -q '^ptrace-run: run[.]log: the log is not there any more' stderr.txt
}

@test "a keeper that is killed is replaced at once" {
	# Each program records twice what the stream holds, and waits for room.
	begins runner ptrace-run --no-loss -o run.log --stream-min-size=256K -- \
		bash -c 'until [ -e killed ]; do "$0" -n 1000 -s 500; echo >>programs; done' "$traced"
	wait_until test -s run.log
	kills_keepers run.log
	touch killed
	ends 0 "$runner"
	[ "$(events run.log traced.event)" -eq $((1000 * $(wc -l <programs))) ]
}

@test "a log that somebody cut short or wrote into is not complete" {
	# The first program has ended, and its events are in the log, when the file is cut.
	for what in 'truncate -s 2000 run.log' \
		'dd if=/dev/zero of=run.log bs=1 seek=3000 count=100000 conv=notrunc'; do
		rm -f run.log
		run_split ptrace-run --json --no-loss -o run.log --stream-min-size=64K -- \
			bash -c '"$0" -n 5000; until [ "$(stat -c %s run.log)" -gt 5000 ]; do :; done
				'"$what"' 2>&-; "$0" -n 10' "$traced"
		[ "$status" -eq 3 ]
		[ "$(grep -vcE 'events waited|is damaged|are damaged' stderr.txt)" -eq 2 ]
		tail -n 1 stderr.txt | valid run
		tail -n 1 stderr.txt | jq -e '.losses.write_error == 116 and (.complete | not)'
		grep -q 'truncated or written to by another process' stderr.txt
		# The log tells it, too.
		exits 3 ptrace-dump run.log
		grep -q 'truncated or written to by another process' stderr.txt
	done
}

@test "a log that is deleted, renamed, replaced or truncated meanwhile is no log" {
	ptrace-run -o other.log -- "$traced"
	gone rm run.log
	gone mv run.log renamed.log
	gone cp --remove-destination other.log run.log
	gone truncate -s 0 run.log
	rm run.log
	exits 0 ptrace-run --allow-loss -o run.log -- rm run.log
	grep -q 'not there any more' stderr.txt
	# What was read out of a FIFO is safe.
	mkfifo fifo
	cat fifo >piped.log &
	local reader=$!
	exits 0 ptrace-run -o fifo -- sh -c 'rm fifo; exec "$0"' "$traced"
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
	exits 125 bash -c 'exec ptrace-run -o run.log --stream-min-size=1000000G -- touch ran >&- 2>&-'
	[ ! -e ran ]
}

# on_small_disk COMMAND...: in the directory full, whose disk holds 640 KiB
on_small_disk() {
	mkdir -p full
	unshare -m sh -c 'mount -t tmpfs -o size=640k tmpfs full && exec "$@"' sh "$@"
}

@test "a full disk: how many events were lost is told" {
	on_small_disk true || skip "no mount namespaces"
	exits 3 on_small_disk ptrace-run --json -o full/run.log -- "$traced" -n 100000
	# A slow run says this before it ends.
	sed -i '/writing the log fails/d' stderr.txt
	# Those of the program, start and stop.
	tells 2 '(.complete | not) and .losses.write_error == 28 and
		.events > 0 and .events + .losses.unwritten_events == 100002'
	lost=$(jq .losses.unwritten_events result.json)
	[ "$(head -n 1 stderr.txt)" = "ptrace-run: full/run.log: $lost events lost, as writing the log failed: No space left on device" ]
	exits 0 on_small_disk ptrace-run --allow-loss -o full/run.log -- "$traced" -n 100000
	[ "$(grep -c 'events lost, as writing the log failed' stderr.txt)" -eq 1 ]
	# The table, the object and all messages have one number.
	for options in '' --no-loss --log-full-policy={append,loop,until-full}' --log-max-size=4M'; do
		run_split on_small_disk sh -c 'ptrace-run -o full/run.log $1 -- "$0" -n 100000 2>run.err
			ptrace-dump --allow-loss --count full/run.log >count
			ptrace-stat --allow-loss full/run.log
			ptrace-stat --allow-loss --json full/run.log' "$traced" "$options"
		lost=$(sed -n 's/^events not written  *//p' stdout.txt)
		[ "$lost" -gt 0 ]
		[ "$(cat run.err stderr.txt | grep -c ": $lost events lost, as writing the log failed")" -eq 4 ]
		tail -n 1 stdout.txt | jq -e "[.counts, .losses | .unwritten_events] == [$lost, $lost]"
	done
}

@test "a full disk: a run whose command was ended does not wait for its own event" {
	on_small_disk true || skip "no mount namespaces"
	exits 143 on_small_disk timeout "$patience" "$BASH" -c '
		ptrace-run --json=run.json --no-loss --stream-min-size=64K -o full/run.log -- "$0" -n 300000 &
		runner=$!
		until [ "$(ptrace-stat --json "$1" 2>/dev/null | jq .losses.write_error)" = 28 ]; do
			sleep 0.1
		done
		until grep -q . "$2"; do
			sleep 0.1
		done
		kill -TERM $runner
		wait $runner' "$traced" "${traced##*/}" stderr.txt
	# A message says once why COMMAND stands still, while it does.
	[ "$(grep -c "No space left on device; events wait" <<<"$stderr")" -eq 1 ]
	[ "$(head -n 1 <<<"$stderr")" = "ptrace-run: full/run.log: writing the log fails: No space left on device; events wait until it succeeds, for at most 600 s" ]
	valid run <run.json
	jq -e '.signal == 15 and .losses.write_error == 28 and .losses.unwritten_events > 0' run.json
}

@test "a full disk: at the end of COMMAND --no-loss waits no longer" {
	on_small_disk true || skip "no mount namespaces"
	reports 3 "full/run.log: * events lost, as writing the log failed: No space left on device" \
		on_small_disk ptrace-run --no-loss -o full/run.log -- "$traced" -n 100000
}

@test "a full disk that has room again is named as the reason why events were lost" {
	on_small_disk true || skip "no mount namespaces"
	exits 3 on_small_disk ptrace-run --stream-min-size=64K --json=run.json -o full/run.log -- sh -c '
		head -c 1M /dev/zero >full/filler 2>/dev/null
		"$0" -n 20000
		until grep -q . "$1"; do sleep 0.05; done
		rm full/filler
		"$0" -n 5' "$traced" stderr.txt
	mapfile -t lines <stderr.txt
	[ "${lines[0]}" = "ptrace-run: full/run.log: writing the log fails: No space left on device; events are lost when the stream is full" ]
	[[ ${lines[1]} == "ptrace-run: full/run.log: "*" events lost in the stream, which was full" ]]
	[ "${#lines[@]}" -eq 2 ]
	valid run <run.json
	jq -e '.losses.write_error == 28 and .losses.stream_events > 0 and .losses.unwritten_events == 0' run.json
}

@test "a full disk without room for the end of the log: all losses are told" {
	full=$PTRC_BUILD/tests/support/full_disk
	"$full" 0 true || skip "no filters of system calls"
	for options in '' --full-wait=10ms --log-full-policy=until-full; do
		exits 3 "$full" 8000 ptrace-run $options --stream-min-size=64K --json=run.json -o run.log --force -- "$traced" -n 200000
		valid run <run.json
		# There are few system events.
		jq -e '.losses.unclosed and .losses.write_error == 28 and .losses.stream_events > 100000 and
			(.events + .losses.stream_events + .losses.unwritten_events |
				. >= 200000 and . < 200200)' run.json
		lost=$(jq .losses.stream_events run.json)
		[[ $stderr == *": $lost events lost in the stream, which was full"* ]]
		# Why the log has no end was said.
		[[ $stderr != *"has no end"* ]]
		reports 3 "run.log: the log has no end: *, its disk was full, *" ptrace-dump --count run.log
		rm run.log
	done
}

@test "a log that is given up: the object is written, and the last word is true" {
	listens runner ready ptrace-run --os=none --json=run.json -o run.log -- "$traced" -w 2>err
	finds_keeper run.log
	kill -STOP "$keeper"
	go
	wait_until has_no_child
	for _ in 1 2; do
		kill -TERM "$runner"
		wait_until takes_no_signal
	done
	ends 3 "$runner"
	[ "$(cat err)" = "ptrace-run: run.log: given up before the log was finished; 'ptrace-dump --verify' counts what is missing" ]
	valid run <run.json
	jq -e '(.complete | not) and .losses.unclosed and .exit_status == 0' run.json
	kill -CONT "$keeper"
}

has_no_child() { [ -z "$(children_of "$runner")" ]; }

# No signal is pending for ptrace-run, or it has ended.
takes_no_signal() { ! grep -q '^ShdPnd:.*[1-9a-f]' /proc/"$runner"/status 2>/dev/null; }

@test "only its owner can read a log, whatever the umask allows" {
	(umask 0 && ptrace-run -o run.log -- "$traced")
	[ "$(stat -c %a run.log)" = 600 ]
	# A file that is there keeps its mode.
	chmod 640 run.log
	ptrace-run -o run.log -- "$traced"
	[ "$(stat -c %a run.log)" = 640 ]
}

@test "each of 8182 names is found, and those beyond are told" {
	local message="at least 19 event names got no type of their own, as they have another \
layout, /dev/shm or memory had no room, or a program and its children have 8182 names: the events are there as \
posix_trace_unnamed_userevent, unless the program does not record them so, or the trace leaves that out (--only, \
--exclude)"

	exits 3 ptrace-run --json -o log -- "$traced" -e many -N 8200
	[ "$(head -n 1 <<<"$stderr")" = "ptrace-run: log: $message" ]
	tail -n 1 <<<"$stderr" |
		jq -e '.losses.refused_names == 19 and (.complete | not) and .exit_status == 0'
	reports 3 "log: $message" ptrace-dump --fields=event -e 'many.*' log
	[ "$(grep -c . <<<"$stdout")" -eq 8181 ]
	cmp <(jq -r .event <<<"$stdout" | sort) <(seq -f 'many.%.0f' 8181 | sort)
	[ "$(ptrace-dump --count -e many.8181 log || true)" = 1 ]
	[ "$(ptrace-dump --count -e posix_trace_unnamed_userevent log || true)" = 19 ]
	[ "$(ptrace-events --names log | wc -l)" -eq 8191 ]
	reports 3 "log: $message" ptrace-stat --json log
	jq -e '.losses.refused_names == 19' <<<"$stdout"
	exits 1 ptrace-doctor log
	[[ $stdout == *"at least 19 event names got no type of their own"* ]]
	# A name that is not there may be among those.
	run_split ptrace-doctor --event=many.8190 ./log
	[[ $stdout == *"no event is called many.8190 in what is left; it may be among the at least 19 names"* ]]
	[[ $stdout != *"has opened"* ]]
	exits 3 ptrace-dump --event=many.8190 --count log
	[[ $stderr == *"$message"* ]]
	# A trace that leaves the unnamed type out has none of these events.
	reports 3 "log: $message" ptrace-run -o log --only='many.*' -- "$traced" -e many -N 8200
	[ "$(ptrace-dump --count --user log || true)" = 8181 ]
}

@test "a log that does not come to its disk is told, unless nobody cares" {
	local failing=$PTRC_BUILD/tests/support/failing_sync
	"$failing" true || skip "no filters of system calls"
	reports 3 "run.log: writing the log failed: Input/output error" \
		"$failing" ptrace-run -o run.log --json=run.json -- "$traced" -n 10
	jq -e '(.complete | not) and .losses.write_error == 5 and .events >= 10' run.json
	reports 3 "*run.log: writing the log failed: Input/output error*" ptrace-dump -e traced.event run.log
	[ "$(wc -l <<<"$stdout")" -eq 10 ]
	silently 0 "$failing" ptrace-run -o run.log --no-fsync -- "$traced" -n 10
	echo 'no-fsync: true' >file.yaml
	exits 0 "$failing" ptrace-run -o run.log -c file.yaml -- "$traced" -n 10
}

@test "who writes the log dies again and again: nothing is called lost, and ptrace-salvage has it" {
	local failing=$PTRC_BUILD/tests/support/failing_sync
	"$failing" true || skip "no filters of system calls"
	reports 3 "run.log: the log is not finished, as the process that writes it, ptrace-keeper, dies again and again; 'ptrace-salvage' finishes it" \
		"$failing" -k ptrace-run -o run.log --json=run.json -- "$traced" -n 10
	jq -e '(.complete | not) and .losses.write_error == 10 and .losses.unwritten_events == 0' run.json
	ptrace-salvage --all
	exits 0 ptrace-dump -e traced.event run.log
	[ "$(wc -l <<<"$stdout")" -eq 10 ]
}

@test "a clock that shows a time that no trace can hold is refused" {
	[ -z "$PTRC_SAN_CFLAGS" ] || skip "a sanitizer wants to be loaded first"
	ldd "$(command -v ptrace-run)" >/dev/null 2>&1 || skip "a static command takes no other clock"
	cat >clock.c <<-'END'
		#define _GNU_SOURCE
		#include <stdlib.h>
		#include <sys/syscall.h>
		#include <time.h>
		#include <unistd.h>
		int clock_gettime(clockid_t clock, struct timespec *t)
		{
			long error = syscall(SYS_clock_gettime, clock, t);
			if (clock == CLOCK_REALTIME)
				t->tv_sec = atoll(getenv("NOW"));
			return error ? -1 : 0;
		}
	END
	${CC:-cc} -shared -fPIC -o clock.so clock.c
	# The second before the Epoch, the first second of 2262, times that 64 bits of nanoseconds do not
	# hold.
	for now in -1 9214646400 9223372037 99999999999; do
		reports 125 "CLOCK_REALTIME: shows a time before 1970 or after 2261, which no trace can hold: set the clock" \
			env NOW="$now" LD_PRELOAD="$PWD/clock.so" ptrace-run -o run.log -- touch ran
		[ ! -e ran ]
		[ ! -e run.log ]
	done
	# The first and the last second that are not refused.
	while read -r now day; do
		NOW=$now LD_PRELOAD=$PWD/clock.so ptrace-run -o run.log -- "$traced" -n 3
		ptrace-dump --verify run.log
		[ "$(ptrace-dump --user --fields=time run.log | jq -r .time | cut -c -10 | uniq -c)" = \
			"      3 $day" ]
	done <<-END
		0 1970-01-01
		9214646340 2261-12-31
	END
}

@test "--no-command-line keeps command lines out of the log" {
	ptrace-run -o run.log -- "$traced" -n 3
	ptrace-stat --json run.log >stat.json
	jq -e --arg traced "$traced" 'any(.processes[]; .command_line == [$traced, "-n", "3"])' stat.json
	ptrace-run -o run.log --no-command-line -- "$traced" -n 3
	ptrace-stat --json run.log >stat.json
	jq -e --arg traced "$traced" 'any(.processes[]; .executable == $traced)' stat.json
	jq -e 'all(.processes[]; has("command_line") | not)' stat.json
	run ptrace-stat run.log
	[[ $output != *"command line"* ]]
	echo 'no-command-line: true' >file.yaml
	ptrace-run -o run.log -c file.yaml -- "$traced" -n 3
	ptrace-stat --json run.log | jq -e 'all(.processes[]; has("command_line") | not)'
}

@test "a log that was cut to nothing and grew again is replaced only with --force" {
	ptrace-run -o run.log --allow-loss -- sh -c ': >run.log; exec "$0" -n 10' "$traced" || true
	[ "$(head -c 8 run.log | tr -d '\0' | wc -c)" -eq 0 ]
	[ -s run.log ]
	cp run.log before
	reports 125 "run.log: exists and is not a trace log; * --force" ptrace-run -o run.log -- "$traced"
	cmp before run.log
	ptrace-run -o run.log --force -- "$traced"
}

@test "--no-loss waits for the log rather than lose an event, and tells it" {
	# Each of these is a sixteenth of the stream.
	reports 0 '*' ptrace-run --no-loss -o run.log --stream-min-size=64K --json=result -- \
		"$traced" -n 3000 -s 4000 -t 2
	[ -z "$stdout" ]
	[[ $stderr =~ ^"ptrace-run: run.log: events waited "[1-9][0-9]*" time"s?" for room, "[0-9]+\.[0-9]{3}" s in all"$ ]]
	[ "$(events run.log traced.event)" -eq 6000 ]
	jq -e '.complete and .losses.stream_events == 0 and .waits > 0 and .wait_ns > 0' result
	valid run <result
	# The log has the same numbers.
	ptrace-stat --json run.log | jq -e --slurpfile result result '.complete and
		.attributes.full_wait_ns == 600000000000 and .counts.waits == $result[0].waits and
		.counts.wait_ns == $result[0].wait_ns'
	ptrace-stat run.log | grep -Eq '^waits for room +[1-9]'
	ptrace-stat run.log | grep -Eq '^full wait \(ns\) +600000000000$'
}

@test "without --no-loss nobody waits, and nothing is told of it" {
	ptrace-run -o run.log --json=result --allow-loss --stream-min-size=64K -- \
		"$traced" -n 3000 -s 4000
	jq -e '.waits == 0 and .wait_ns == 0' result
	does_not_run "--full-wait: needs, like --no-loss, the stream-full-policy flush*" -o run.log --full-wait=1s --stream-full-policy=loop
	does_not_run "--full-wait: '1' is not a duration such as 10s or 1.5ms.*" -o run.log --full-wait=1
}

@test "data that is cut is counted and reported once, with the size that was needed" {
	reports 0 "run.log: the data of 21 events was cut, as the largest has 60 bytes; see --max-data-size" \
		ptrace-run -o run.log --max-data-size=40 --json=run.json -- sh -c '"$0" -n 20 -s 60; "$0" -s 50' "$traced"
	jq -e '.truncated_events == 21 and .data_needed == 60 and .complete' run.json
	ptrace-dump --to-log=copy.log run.log
	for log in run.log copy.log; do
		ptrace-stat --json "$log" | jq -e '.counts.truncated_events == 21 and .counts.data_needed == 60'
		ptrace-stat "$log" | grep -Eq '^largest data cut +60$'
	done
	silently 0 ptrace-run -o run.log --quiet --max-data-size=59 -- "$traced" -s 60
	silently 0 ptrace-run -o run.log --json=run.json --max-data-size=60 -- "$traced" -s 60
	jq -e '.truncated_events == 0 and .data_needed == 0' run.json
	# A ring tells it, too, and so do the files of a rotated log.
	ptrace-run -o ring.log --quiet --log-full-policy=loop --max-data-size=40 -- "$traced" -s 60
	ptrace-run -o parts.log --quiet --log-rotate=16K --name="$me" --max-data-size=40 -- \
		sh -c '"$0" -s 60 -n 1000; ptrace-flush "$1"; "$0" -n 1000' "$traced" "$me"
	[ -e parts.log.000001 ]
	for log in ring.log parts.log; do
		ptrace-stat --json "$log" | jq -e '.counts.data_needed == 60'
	done
}

@test "a run that waits can be looked at, and COMMAND be interrupted" {
	listens runner ready ptrace-run --no-loss -o run.log --name="$me.a" --stream-min-size=64K -- \
		sh -c 'echo $$ >pid; exec "$@"' _ "$traced" -w -n 3000 -s 4000
	command=$(cat pid)
	wait_until finds_keeper run.log
	kill -STOP "$keeper"
	go
	waits() { ptrace-stat --json "$me.a" | jq -e '.counts.waits > 0 and .counts.wait_ns > 0'; }
	wait_until waits
	ptrace-stat --json "$me.a" |
		jq -e '.complete and .status.stream == "running" and (.status.stream_full | not)'
	kill -TERM "$runner"
	wait_until is_ended "$command"
	kill -CONT "$keeper"
	ends 143 "$runner"
}

# open_input: a FIFO, in, to which `go` writes
open_input() {
	rm -f in
	mkfifo in
	exec 7<>in
}

# A shell that starts the traced program in the background, and ends when that is ready.
background='"$0" -n 3 -w <in >out & until grep -qsx ready out; do sleep 0.02; done'

@test "processes that go on after COMMAND are named, and the log is not complete" {
	open_input
	reports 3 "run.log: 1 process went on after COMMAND and is no longer traced: traced (*); --until=all records to the end of it" \
		ptrace-run -o run.log --json=result -- bash -c "$background" "$traced"
	went_on=$(sed 's/.*traced (\([0-9]*\)).*/\1/' stderr.txt)
	jq -e '.went_on == 1 and (.complete | not) and .losses.unknown' result
	[ "$(ptrace-dump --json --allow-loss run.log | jq -c 'select(.event == "os.went_on") | .data')" = '{"processes":1}' ]
	reports 3 "*run.log: processes went on when the recording ended: their later events are missing" ptrace-stat run.log
	grep -q '^complete  *no$' stdout.txt
	go
	wait_until is_ended "$went_on"
	# Whatever is recorded, the log says so. The file says "ready" for the first program.
	rm out
	exits 3 ptrace-run -o run.log --only=traced.event -- bash -c "$background" "$traced"
	[ "$(ptrace-dump --count --format=text --allow-loss --event='os.*' run.log)" -eq 1 ]
	go
}

@test "another log of processes that went on does not say so" {
	echo 'rules: [{name: r, exists: never.there}]' >rules.yaml
	listens runner ready ptrace-run -o run.log --check=rules.yaml -- \
		bash -c '"$0" -w -W <&8 & echo $! >pid; read -r line' "$traced" 8<&"$idle"
	wait_until [ -s pid ]
	pid=$(<pid)
	pids="$pids $pid"
	go
	ends 4 "$runner"
	counts run.log os.command=1 os.went_on=1
	# No event was lost before the end.
	exits 4 ptrace-check run.log --never=never.there
	[[ $stdout == "undecided  never never.there: did not happen; processes went on when the recording ended"$'\n'* ]]
	ptrace-create --name="$me" --pid="$pid" -o later.log --start
	ptrace-event --pid="$pid" later
	ptrace-shutdown "$me"
	silently 0 ptrace-stat later.log
	# Nor does it say that all processes had ended.
	exits 4 ptrace-check later.log --after='later -> never.there'
	kill -KILL "$pid"
}

@test "a process that was just forked goes on, too" {
	reports 3 "run.log: 1 process went on after COMMAND and is no longer traced: traced (*); *" ptrace-run -o run.log -- "$traced" -f
	went_on=$(sed 's/.*traced (\([0-9]*\)).*/\1/' stderr.txt)
	kill -KILL "$went_on"
	begins runner ptrace-run -o run.log --until=all -- bash -c '"$0" -f >child; touch ended' "$traced"
	wait_until [ -e ended ]
	[ -d "/proc/$runner" ]
	kill -KILL "$(<child)"
	ends 0 "$runner"
}

# A process that COMMAND has forked goes on; before ptrace-run looks at it, it forks another process, and ends.
hops='(echo "$BASHPID" >pid; read -r _ <in; sleep 1000 & echo "$!" >left) & until [ -s pid ]; do :; done'

needs_ptrace() {
	# The leak checker cannot look into what is traced.
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
	"$PTRC_BUILD/tests/support/meanwhile" file none none true || skip "no process may trace another by ptrace(2)"
}

# hops LOOK OPTION...: runs that
hops() {
	rm -f pid left
	open_input
	"$PTRC_BUILD/tests/support/meanwhile" "$1" pid in ptrace-run -o run.log "${@:2}" -- bash -c "$hops"
}

# finds_hops STATUS MESSAGE OPTION...: it is found after COMMAND, and --until=all waits for it
finds_hops() {
	local look
	needs_ptrace
	for look in file pidfd; do
		exits "$1" hops "$look" "${@:3}"
		pids="$pids $(<left)"
		[[ $stderr == "ptrace-run: run.log: 1 process $2: "*" ($(<left)); --until=all records "* ]]
		[ "$1" -eq 0 ] || counts run.log os.went_on=1
		rm left
		begins runner hops "$look" "${@:3}" --until=all --quiet 2>err
		wait_until [ -s left ]
		kills "$(<left)"
		ends 0 "$runner"
		[ ! -s err ]
	done
}

@test "a process that goes on is found although its parent ends meanwhile" {
	finds_hops 3 'went on after COMMAND and is no longer traced' --waits=lock
}

@test "also one that is not traced" {
	needs_os
	finds_hops 0 'that COMMAND started and that is not traced went on' --os=process
}

# Each process of the shell has the library that --waits preloads, until it executes a program without it.
@test "a process that a traced one has forked goes on, also without the library, as its children are traced" {
	late='LD_PRELOAD= sh -c "read -r _ <in; ptrace-event late" & :'
	open_input
	reports 3 "run.log: 1 process went on after COMMAND and is no longer traced: sh (*); *" \
		ptrace-run --waits=lock -o run.log -- sh -c "$late"
	go
	begins runner ptrace-run --waits=lock --until=all -o run.log -- sh -c "$late"
	go
	ends 0 "$runner"
	[ "$(ptrace-dump --count --event=late run.log)" -eq 1 ]
}

@test "a shell that has recorded an event goes on, without the library" {
	worker='worker() { ptrace-event --pid="$BASHPID" begin; : >begun; read -r _ <in; ptrace-event --pid="$BASHPID" end; echo $? >done; }
		rm -f begun done; echo $$ >pid; worker & until [ -e begun ]; do sleep 0.02; done'
	echo 'rules: [{after: begin, expect: end}]' >rules.yaml
	open_input
	reports 3 "run.log: 1 process went on after COMMAND and is no longer traced: bash (*); --until=all records to the end of it" \
		ptrace-run -o run.log --json=result -- bash -c "$worker"
	jq -e '.went_on == 1 and (.complete | not)' result
	counts run.log begin=1 os.went_on=1
	go
	wait_until [ -e done ]
	exits 4 ptrace-run -o run.log --check=rules.yaml -- bash -c "$worker"
	go
	wait_until [ -e done ]
	# It is still traced when the process by which it has found the trace has ended.
	rm begun
	begins runner ptrace-run -o run.log --until=all --check=rules.yaml -- bash -c "$worker"
	wait_until [ -e begun ]
	wait_until is_ended "$(<pid)"
	go
	ends 0 "$runner"
	counts run.log begin=1 end=1 os.went_on=0
}

@test "of many processes that go on the first ones are named" {
	exits 3 ptrace-run -o run.log -- bash -c 'for i in {1..24}; do "$0" -f; done >children' "$traced"
	while read -r child; do kill -KILL "$child"; done <children
	assert_one_message ptrace-run
	# The names end with the last one that has room, and what follows them is intact.
	[[ $stderr == *": 24 processes went on after COMMAND and are no longer traced: traced ("*"), ...; --until=all records to the end of them"* ]]
	[ "$(grep -o 'traced ([0-9]*)' <<<"$stderr" | wc -l)" -ge 5 ]
}

@test "a helper that ends because COMMAND has ended has not gone on" {
	local command='rm -f ready; "$0" -w -n 3 -p 15000 <in >ready & exec 9>in; until [ -s ready ]; do sleep 0.01; done'
	mkfifo in
	# It may take too long on a machine that is busy.
	complete() { ptrace-run -o run.log -- bash -c "$command" "$traced"; }
	wait_until complete
	[ "$(events run.log traced.event)" -eq 3 ]
}

@test "--until=all records to the end of all processes that are traced" {
	open_input
	begins runner ptrace-run -o run.log --json=result --until=all -- bash -c "$background; touch ended" "$traced"
	wait_until [ -e ended ]
	go
	wait "$runner"
	[ "$(events run.log traced.event)" -eq 3 ]
	jq -e '.complete and (has("went_on") | not)' result
	# A signal ends it earlier. The file says "ready" for the first program.
	rm ended out
	begins runner ptrace-run -o run.log --until=all -- bash -c "echo \$\$ >pid; $background; touch ended" "$traced" 2>err
	wait_until [ -e ended ]
	wait_until is_ended "$(cat pid)"
	kill -TERM "$runner"
	ends 3 "$runner"
	grep -q '1 process went on.*; a signal, ' err
	fails grep -q -e --until=all err
	exits 125 ptrace-run --until=never true
	go
}

@test "--until=all: after COMMAND the session says that it has ended, and its end that processes went on" {
	open_input
	begins runner ptrace-run -o run.log --name="$me" --json=result --until=all -- bash -c "echo \$\$ >pid; $background; touch ended" "$traced" 2>err
	wait_until [ -e ended ]
	target=$(<pid)
	wait_until is_ended "$target"
	state() { ptrace-list --json | jq -e --arg me "$me" "select(.session == \$me) | $1"; }
	wait_until state '.target_alive | not'
	state '.command == null'
	[[ $(ptrace-list) == *"$me "*" $target+  - "* ]]
	ptrace-stat --json "$me" | jq -e '(.target_alive or .until_exit) | not'
	exits 0 ptrace-doctor "$me"
	[[ $stdout == *"note     $me: process $target has ended; still traced: traced ("* ]]
	reports 3 "$me: processes went on when the recording ended: their later events are missing" ptrace-shutdown --json "$me"
	jq -e '(.complete | not) and .losses.unknown' stdout.txt
	ends 3 "$runner"
	[[ $(<err) == "ptrace-run: run.log: 1 process went on after COMMAND and is no longer traced: traced ("*"); a signal, ptrace-shutdown, or the like, ended the recording" ]]
	jq -e '.went_on == 1 and (.complete | not) and (has("ended_early") | not) and .exit_status == 0' result
	go
}

@test "without -o the log before is kept as ptrace.log.old" {
	ptrace-run -- "$traced" -n 1
	[ ! -e ptrace.log.old ]
	ptrace-run -- "$traced" -n 2
	ptrace-run -- "$traced" -n 3
	[ "$(events ptrace.log.old traced.event)" -eq 2 ]
	[ "$(events ptrace.log traced.event)" -eq 3 ]
	# With -o it is not, and what is no log is not replaced.
	ptrace-run -o ptrace.log -- "$traced" -n 4
	[ "$(events ptrace.log.old traced.event)" -eq 2 ]
	echo mine >ptrace.log.old
	reports 125 "ptrace.log.old: exists and is not a trace log*" ptrace-run -- "$traced" -n 5
	[ "$(cat ptrace.log.old)" = mine ]
	[ "$(events ptrace.log traced.event)" -eq 4 ]
	echo precious >ptrace.log
	reports 125 '*' ptrace-run -- "$traced"
	[ "$(cat ptrace.log)" = precious ]
}

@test "a run does not replace a log that another run writes meanwhile" {
	strace -qq -o /dev/null true || skip "strace cannot trace here"
	ptrace-run -- "$traced" -n 1
	# This run stops after it has renamed the older log, and before it opens its own.
	ASAN_OPTIONS=detect_leaks=0 strace -qq -o calls -e trace=/^rename -e inject=/^rename:signal=STOP:when=1 ptrace-run -- "$traced" -n 2 &
	wait_until grep -q 'SIGSTOP' calls
	ptrace-run -- "$traced" -n 3
	[ "$(events ptrace.log traced.event)" -eq 3 ]
	pkill -CONT -P $!
	wait $!
	[ "$(events ptrace.log.old traced.event)" -eq 3 ]
	[ "$(events ptrace.log traced.event)" -eq 2 ]
}

@test "the log says how COMMAND ended, if it failed" {
	exits 7 ptrace-run -o run.log -- "$traced" -x 7
	how() { ptrace-dump --json --event=os.command run.log | jq -c '[.data, .pid == .tid]'; }
	[ "$(how)" = '[{"status":7,"signal":0},true]' ]
	run_split ptrace-run -o run.log -- "$traced" -k 9
	[ "$(how)" = '[{"status":-1,"signal":9},true]' ]
	ptrace-run -o run.log -- "$traced"
	[ "$(ptrace-events --json run.log | jq -r .event | grep -c os.command || true)" -eq 0 ]
}

@test "--quiet silences what is no loss, and nothing else" {
	run_split ptrace-run -o run.log --only=none -- true
	[ -n "$stderr" ]
	silently 0 ptrace-run --quiet -o run.log --only=none -- true
	reports 3 '*' ptrace-run --quiet -o run.log --stream-min-size=4K --stream-full-policy=loop -- \
		"$traced" -n 1000 -s 100
}

@test "--count-only: the counts at the end, and no log" {
	exits 0 ptrace-run --count-only --no-loss --stream-min-size=16K --json=run.json -- "$traced" -n 20000 -d abcd
	[ ! -e ptrace.log ]
	grep -Eq '^ +10 +20000 +80000 +0  traced\.event$' <<<"$stderr"
	jq -e '.log == "/dev/null" and .complete and (has("events") | not) and
		([.types[] | select(.event == "traced.event")] ==
			[{event: "traced.event", type_id: 10, count: 20000, bytes: 80000, truncated: 0}])' run.json
	says_nothing ptrace-run --count-only --quiet -- "$traced" -n 10
	echo 'count-only: true' >count.yaml
	exits 0 ptrace-run -c count.yaml -- "$traced" -n 10
	grep -Eq '^ +10 +10 +[0-9]+ +0  traced\.event$' <<<"$stderr"
	ptrace-run -o run.log --json=run.json -- "$traced"
	jq -e 'has("types") | not' run.json
}

@test "--count-only: --force replaces the file of --json" {
	echo text >notes
	does_not_run "notes: exists and is not the result of a run; *--force" --count-only --json=notes
	exits 0 ptrace-run --count-only --quiet --force --json=notes -- "$traced" -n 10
	jq -e '.types | any(.event == "traced.event" and .count == 10)' notes
	[ -c /dev/null ]
	# Without it, ptrace-create has nothing to replace.
	refuses 2 "--force: cannot be used together with count-only*" ptrace-create --pid=$$ --count-only --force
}

@test "--count-only: what needs events is refused" {
	for option in --output=x.log --no-fsync --log-max-size=1M --log-full-policy=append --log-rotate=1M \
		--log-keep=2 --snapshot-on=x --snapshot-max=2 --stream-full-policy=flush; do
		does_not_run "${option%=*}: cannot be used together with count-only, which keeps no event. Try *" \
			--count-only "$option"
	done
	echo 'rules: []' >rules.yaml
	does_not_run "--check: needs a log, and count-only keeps no event. Try *" --count-only --check=rules.yaml
	printf 'output: x.log\ncount-only: true\n' >both.yaml
	does_not_run "both.yaml:1:9: output: cannot be used together with count-only*" -c both.yaml
	[ ! -e x.log ]
	# A file of several sessions: its defaults are for those that keep events.
	cat >many.yaml <<-'END'
		defaults: {output: x.log, log-full-policy: loop, log-max-size: 1M, snapshot-on: [x]}
		sessions: [{name: a, count-only: true}]
	END
	ptrace-run -c many.yaml --dump-config >whole.yaml
	grep -q 'count-only: true' whole.yaml
	[ -z "$(grep -E 'output|log-|snapshot|policy' whole.yaml)" ]
	ptrace-run -c whole.yaml --dump-config | diff whole.yaml -
	exits 0 ptrace-run -c many.yaml -- "$traced" -n 3
	[ ! -e x.log ]
}

@test "a session that only counts: other commands" {
	record "$me.a" --count-only -- -n 100 -d abcd
	[[ $(ptrace-doctor "$me.a") != *"none in the log"* ]]
	jq -e '.log == "/dev/null" and (.events[] | select(.event == "traced.event") | .count == 100 and .bytes == 400)' \
		<<<"$(ptrace-stat --json "$me.a")"
	for command in dump 'snapshot -o x.log' 'export --to=csv -o x.csv' 'stat --pairs' 'report -o x.html'; do
		refuses 1 "$me.a: its events are counted and not kept; *" ptrace-$command "$me.a"
	done
	[ -z "$(compgen -G 'x.*')" ]
	ptrace-filter --add "$me.a" traced.event
	ptrace-flush "$me.a"
	ptrace-clear "$me.a"
	jq -e '[.events[] | select(.event == "traced.event").count] == [0]' <<<"$(ptrace-stat --json "$me.a")"
	silently 0 ptrace-shutdown "$me.a"
}
