#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs, their controllers and keepers killed together, and what is left of their events.

load ../../support/helpers

# The tests know by the shared objects of root that nobody else has unfinished streams.
[ -z "$("$PTRACE_BIN/ptrace-salvage" --json)" ] || lacking="others have unfinished streams"

teardown() {
	ptrace-salvage --all --discard >/dev/null 2>&1 || true
	clean_up
}

# crash LOG: crash_run of 100 events, which are in the stream
crash() {
	# The default policy writes the log once in a while by itself.
	crash_run "$1" --stream-full-policy=until-full --stream-min-size=1M -- \
		"$traced" -W -n 100
}

# crash_flushed LOG [OPTION]...: a log whose first flush has 3000 events, and has no end, with the stream of the rest
crash_flushed() {
	crash_run "$1" --name="$me" --stream-full-policy=until-full --stream-min-size=1M "${@:2}" -- \
		sh -c '"$0" -n 3000; ptrace-flush "$1"; exec "$0" -W -n 100' "$traced" "$me"
}

@test "there is none: it says so" {
	silently 0 ptrace-salvage
	[ "$stdout" = "You have no unfinished streams." ]
	reports 1 '*' ptrace-salvage 0123456789abcdef
}

@test "a log that is there is finished; list and doctor name it before" {
	crash other.log
	ptrace-salvage --all --discard
	crash run.log
	reports 0 "1 unfinished stream of killed controllers stands in /dev/shm; 'ptrace-salvage' lists it" ptrace-list
	exits 0 ptrace-salvage
	[[ $stdout == *" events  "*"/run.log" && -z $stderr ]]
	ptrace-doctor --json | jq -se 'any(.[]; .check == "unfinished" and .status == "note")'
	# So do the commands that find the log without its end, but of another log they do not.
	for c in dump stat; do
		exits 3 ptrace-$c run.log
		[[ $stderr == *"has no end"*"an unfinished stream of process "*"'ptrace-salvage "*"' writes it" ]]
		run_split ptrace-$c other.log
		[[ $stderr == *"has no end"* && $stderr != *unfinished* ]]
	done
	run_split ptrace-check --no-loss run.log
	[[ $stderr == *"an unfinished stream of process "*"'ptrace-salvage "*"' writes it" ]]
	ptrace-doctor --json ./run.log | jq -se 'any(.[]; .check == "log" and (.message |
		test("is not closed: process [0-9]+, which was to write it, was killed")) and
		(.advice | test("ptrace-salvage")))'
	ptrace-salvage --all --json >salvaged
	jq -e '.events > 100 and .error == 0 and .written == .log and (.discarded | not)' salvaged
	valid salvage <salvaged
	[ "$(events run.log traced.event)" -eq 100 ]
	silently 0 ptrace-list
	# All processes of the trace had ended.
	silently 0 ptrace-stat run.log
}

# names_stream LOG...: commands say that the stream of each of these logs is unfinished
names_stream() {
	local log c left="an unfinished stream of process * stands in /dev/shm; 'ptrace-salvage *' writes it"
	for log; do
		for c in ptrace-stat ptrace-events 'ptrace-dump --verify' 'ptrace-dump --count'; do
			tells 3 "*/run.log*: $left*" $c "$log"
		done
		prints 1 '*was killed, and its last events stand in /dev/shm; ptrace-salvage writes them*' \
			ptrace-doctor "./$log"
	done
}

@test "the stream of a log that was renamed or copied is named" {
	crash_flushed run.log
	mv run.log new.log
	mkdir there
	cp new.log there
	names_stream new.log there/new.log
	ptrace-salvage --all
	counts new.log traced.event=3100
}

@test "a log that is finished while its processes go on says so" {
	listens run done ptrace-run -o run.log -- "$traced" -W -n 100
	finds_keeper run.log
	kills "$keeper" "$run"
	ptrace-salvage --all
	reports 3 "run.log: processes went on when the recording ended: their later events are missing" ptrace-stat run.log
	[ "$(ptrace-dump --allow-loss --event=os.went_on run.log | jq .data.processes)" -eq 1 ]
	counts run.log traced.event=100
}

# kills_both LOG: the controller of the session $me and the keeper of its log
kills_both() {
	local controller
	controller=$(controller "$me")
	finds_keeper "$1"
	# It starts no other keeper.
	kill -STOP "$controller"
	kills "$keeper" "$controller"
}

# gives_number PID VARIABLE COMMAND...: begins it as a process with the ID of one that has ended
gives_number() {
	wait_until [ ! -e "/proc/$1" ]
	for _ in {1..20}; do
		echo $(($1 - 1)) 2>/dev/null >/proc/sys/kernel/ns_last_pid || skip "process IDs cannot be chosen"
		begins "${@:2}"
		[ "${!2}" -ne "$1" ] || return 0
	done
	return 1
}

@test "a process that goes on and had recorded nothing yet has gone on" {
	for how in 'ptrace-salvage --all' 'ptrace-run -o other.log -- true'; do
		traced_session "$me" -o run.log --start -- -w -W -n 100
		kills_both run.log
		exits 0 $how
		[ "$(ptrace-dump --allow-loss --event=os.went_on run.log | jq .data.processes)" -eq 1 ]
		exits 4 ptrace-check --no-loss run.log
		go done
		reports 3 "run.log: processes went on when the recording ended: their later events are missing" ptrace-stat run.log
	done
}

@test "the log of a stream without a log says that its processes went on" {
	for how in salvage list; do
		traced_session "$me.g" --start -- -w -n 2000000000 -p 1000
		controller=$(controller "$me.g")
		go
		recorded() { [ "$(ptrace-stat --json --allow-loss "$me.g" | jq .event_count)" -gt 20 ]; }
		wait_until recorded
		kills "$controller"
		# Another run may have found the stream, and ended it, before.
		[ "$how" = salvage ] || ptrace-run --count-only --quiet -- true
		ptrace-salvage -o "$how.log" "$controller"
		reports 3 "$how.log: processes went on when the recording ended: their later events are missing" ptrace-stat "$how.log"
		[ "$(ptrace-dump --allow-loss --event=os.went_on "$how.log" | jq .data.processes)" -eq 1 ]
		kills "$pid"
	done
	# If they had ended, it does not.
	record "$me.g" -- -n 10
	controller=$(controller "$me.g")
	kills "$controller" "$pid"
	ptrace-salvage -o ended.log "$controller"
	silently 0 ptrace-stat ended.log
}

@test "a stream that has no events yet is not listed, and --all ends it" {
	for how in --all '--all --discard'; do
		traced_session "$me" --start -- -w -W -n 100
		kills "$(controller "$me")"
		prints 0 "You have no unfinished streams." ptrace-salvage
		prints 0 "You have no unfinished streams." ptrace-salvage $how
		go done
		prints 0 "You have no unfinished streams." ptrace-salvage
		kills "$pid"
	done
	# What has recorded something meanwhile is listed.
	traced_session "$me" --start -- -w -W -n 100
	kills "$(controller "$me")"
	prints 0 "You have no unfinished streams." ptrace-salvage
	go done
	prints 0 "* 101 events  no log" ptrace-salvage
}

@test "streams that cannot be listed are not denied" {
	crash run.log
	local own=/dev/shm/posixtrace-$EUID c
	local read_only='mount --bind /dev/shm /dev/shm; mount -o remount,ro,bind /dev/shm; "$@"'
	chmod 755 "$own"
	for c in '' --all --json '--all --discard' 0123456789abcdef; do
		reports 1 "$own: not safe to use*" ptrace-salvage $c
		[ -z "$stdout" ]
	done
	run_split ptrace-dump ./run.log
	[[ $stderr == *"has no end"*"$own: not safe to use"* ]]
	chmod 700 "$own"
	own_mounts "$read_only" ptrace-salvage
	[[ $status == 1 && -z $stdout && $stderr == "ptrace-salvage: /dev/shm: is mounted read-only, "* ]]
	own_mounts "$read_only" ptrace-list
	[[ $status == 1 && $stderr == "ptrace-list: /dev/shm: is mounted read-only, "* ]]
	ptrace-salvage --all
}

@test "every command says of a session that was killed what it left, at any time" {
	for c in doctor start stop clear flush shutdown filter events dump "dump -f" stat; do
		traced_start -w -W -n 10
		controller=$(ptrace-create --pid="$pid" --name="$me.g" --start --json | jq .controller)
		go done
		kills "$controller" "$pid"
		# The first one who asks frees the name.
		for _ in first second; do
			exits 1 ptrace-$c "$me.g"
			[ "$c" = doctor ] || assert_one_message "ptrace-${c% *}"
			grep -F "$me.g: the session is gone: the background process that controlled it was killed; an unfinished stream of process $controller with " \
				stderr.txt stdout.txt | grep "'ptrace-salvage [0-9a-f]*' writes it"
		done
		ptrace-salvage --all --discard
	done
	# Another one, and what was salvaged, are not spoken of.
	reports 1 "$me.g: no such session" ptrace-stop "$me.g"
	reports 1 "$me.g: no such session or log" ptrace-stat "$me.g"
}

@test "a log that is gone is written beside it, or to the file that is given" {
	crash run.log
	rm run.log
	exits 0 ptrace-salvage --all
	[[ $stdout == *" process "*"/run.log.salvaged" ]]
	[ "$(events run.log.salvaged traced.event)" -eq 100 ]
	crash run.log
	rm run.log
	echo mine >rescued.log
	ptrace-salvage -o rescued.log "$(ptrace-salvage --json | jq .controller)"
	[ "$(events rescued.log.2 traced.event)" -eq 100 ]
	[ "$(cat rescued.log)" = mine ]
}

@test "a new log for the rest of a log says that the events before it are missing" {
	crash_flushed run.log
	before=$(ptrace-stat --json run.log | jq .counts.log_events)
	[ "$before" -gt 100 ]
	rm run.log
	exits 0 ptrace-salvage --all
	reports 3 "run.log.salvaged: 1 file of the log is missing, with $before events" ptrace-stat run.log.salvaged
	[ "$(events run.log.salvaged traced.event)" -eq 100 ]
	ptrace-stat --json run.log.salvaged | jq -e '(.complete | not) and .losses.missing_events == '"$before"
	exits 3 ptrace-dump --verify run.log.salvaged
	exits 1 ptrace-check --no-loss run.log.salvaged
}

@test "a new log for the rest of a ring says how many events the ring had lost" {
	crash_flushed run.log --log-full-policy=loop --log-max-size=16K
	lost=$(ptrace-stat --json --allow-loss run.log | jq .counts.log_lost_events)
	[ "$lost" -gt 100 ]
	rm run.log
	exits 0 ptrace-salvage --all --json
	[ "$(jq .events <<<"$stdout")" -eq "$(ptrace-stat --json --allow-loss run.log.salvaged | jq .counts.log_events)" ]
	exits 3 ptrace-stat run.log.salvaged
	[[ $stderr == *"run.log.salvaged: $lost events lost in the log, which was full"* && $stderr != *"not known"* ]]
	exits 3 ptrace-dump --verify run.log.salvaged
	[[ $stderr == *"$lost events lost in the log"* && $stderr != *"not known"* ]]
}

@test "a new log for the rest of a log with --log-keep does not say that this deleted a file" {
	crash_flushed run.log --log-rotate=16K --log-keep=2
	[[ -e run.log && -e run.log.000001 ]]
	before=$(ptrace-stat --json --allow-loss run.log | jq .counts.log_events)
	mkdir there
	mv run.log* there
	exits 0 ptrace-salvage --all -o rest.log
	reports 3 "rest.log: 2 files of the log are missing, with $before events" ptrace-stat rest.log
	ptrace-stat --json --allow-loss rest.log | jq -e --argjson n "$before" \
		'.losses | .deleted_files == 0 and .missing_files == 2 and .missing_events == $n'
}

# Kills the keeper, and the run and its program, in mounts of their own, and waits until they are gone.
kills_run() {
	local one all
	# It starts no other keeper.
	kill -STOP "$run"
	all="$keeper $(pgrep -P "$run") $run"
	kill -KILL $all
	for one in $all; do
		until is_ended "$one"; do sleep 0.02; done
	done
}

# fills_disk NAME PROGRAM, in mounts of its own: begins a run whose log is on a small disk, and fills this; sets $run, the
# process of the run, and $keeper
fills_disk() {
	mount -t tmpfs -o size=256k tmpfs disk
	ptrace-run -o disk/run.log --stream-full-policy=until-full --stream-min-size=1M --name="$1" -- \
		"$2" -W -n 3000 <in >out 7>&- &
	run=$!
	exec 7>in
	for ((i = 0; i < 3000; i++)); do ! grep -qx done out || break; sleep 0.02; done
	head -c 256K /dev/zero >disk/filler 2>/dev/null || true
	finds_keeper disk/run.log
}

# The keeper ends, and the disk has room again.
has_room() {
	for ((i = 0; i < 3000; i++)); do kill -0 "$keeper" 2>/dev/null || break; sleep 0.02; done
	rm disk/filler
}

@test "a log that could not be written for a time, and that is salvaged, is complete" {
	mkdir disk
	mkfifo in
	export -f finds_keeper fills_disk has_room is_ended kills_run
	own_mounts '
		fills_disk "$@"
		! ptrace-flush "$1" 2>error
		kills_run
		has_room
		ptrace-salvage --all
		ptrace-stat --json disk/run.log' "$me" "$traced"
	[[ $(<error) == *"No space left on device" ]]
	[ "$status" -eq 0 ]
	tail -n 1 <<<"$stdout" | jq -e '.complete and any(.events[]; .event == "traced.event" and .count == 3000)'
}

@test "a controller that is killed while the disk is full leaves the stream" {
	mkdir disk
	mkfifo in
	export -f finds_keeper fills_disk has_room
	in_mounts 0 '
		fills_disk "$@"
		kill -KILL $run
		has_room
		exec 7>&-
		ptrace-salvage --all
		ptrace-stat --json disk/run.log || [ $? -eq 3 ]' "$me" "$traced"
	tail -n 1 <<<"$stdout" | jq -e '(.losses | .stream_events + .unwritten_events + .missing_events == 0) and
		any(.events[]; .event == "traced.event" and .count == 3000) and any(.events[]; .event == "os.went_on")'
}

@test "the message about a log that cannot be written names it and another way" {
	crash_run run.log --name="$me" -- "$traced" -W -n 100
	rm run.log
	mkdir disk
	in_mounts 1 '
		mount -t tmpfs -o size=8k tmpfs disk
		head -c 8K /dev/zero >disk/filler || true
		ptrace-salvage --all -o disk/new.log'
	[[ $stderr == "ptrace-salvage: "*": disk/new.log cannot be written: No space left on device; --output names another file" ]]
	# Another file would not help this one.
	exits 1 bash -c 'exec 3<&- 4<&- 5<&-; ulimit -n 6; ptrace-salvage --all -o new.log'
	[[ $stderr == "ptrace-salvage: "* && $stderr != *"--output"* ]]
	ptrace-salvage --all --discard
}

@test "the stream of a rotated log is named, whichever of its files is asked" {
	crash_flushed run.log --log-rotate=16K
	[ -e run.log.000001 ]
	names_stream run.log "$(ls run.log* | tail -n 1)"
	ptrace-salvage --all
	counts run.log traced.event=3100
}

@test "a rerun keeps the unfinished log that it replaces" {
	crash run.log
	reports 0 "*/run.log.salvaged: is now the log of process *" ptrace-run -o run.log -- "$traced" -n 7
	[ "$(events run.log traced.event)" -eq 7 ]
	[ "$(events run.log.salvaged traced.event)" -eq 100 ]
	# What is finished is replaced, as always.
	silently 0 ptrace-run -o run.log -- "$traced" -n 8
	[ "$(events run.log traced.event)" -eq 8 ]
	crash run.log
	traced_start -w
	reports 0 "*/run.log.salvaged.2: is now the log of process *" ptrace-create --pid="$pid" --name="$me.a" -o run.log
	[ "$(events run.log.salvaged.2 traced.event)" -eq 100 ]
	ptrace-shutdown "$me.a"
}

@test "a rerun keeps an unfinished log whose stream is gone, too" {
	crash_flushed run.log
	cp run.log unfinished.log
	[[ $(ptrace-salvage --all) == *" $(($(events run.log) - $(events unfinished.log))) events  $PWD/run.log" ]]
	rm run.log
	crash_flushed run.log
	ptrace-salvage --all --discard
	ln -s run.log link.log
	reports 0 "$PWD/run.log.salvaged: is now the older log, which has no end" ptrace-run -o link.log -- "$traced" -n 7
	[ -L link.log ]
	counts run.log traced.event=7
	counts run.log.salvaged traced.event=3000
	crash_flushed ptrace.log
	ptrace-salvage --all --discard
	ptrace-run --name="$me" -- "$traced" -n 8 2>stderr.txt
	[[ $(<stderr.txt) == "ptrace-run: $PWD/ptrace.log.salvaged: is now the older log, which has no end" ]]
	counts ptrace.log.salvaged traced.event=3000
	[ ! -e ptrace.log.old ]
	crash_flushed ptrace.log
	ptrace-salvage --all --discard
	traced_start -w
	reports 0 "$PWD/ptrace.log.salvaged.2: is now *" ptrace-create --pid="$pid" --name="$me.a" -o ptrace.log
	counts ptrace.log.salvaged.2 traced.event=3000
	# Another session writes it now, so it is neither kept nor replaced.
	reports 125 "ptrace.log: another trace is writing to this file" ptrace-run -o ptrace.log -- true
	ptrace-shutdown "$me.a"
}

@test "a rerun keeps a rotated log whose last file is missing, and replaces no other log" {
	ptrace-run -o run.log --log-rotate=16K --stream-min-size=64K --no-loss -- "$traced" -n 9000
	last=$(printf '%s\n' run.log.0* | tail -n 1)
	mv "$last" elsewhere
	count=$(ptrace-dump --allow-loss --count run.log)
	ptrace-run -o one.log -- "$traced" -n 2
	mv one.log run.log.salvaged.000001
	reports 0 "$PWD/run.log.salvaged.2: is now the older log, which has no end" ptrace-run -o run.log -- "$traced" -n 7
	[ "$(ptrace-dump --allow-loss --count run.log.salvaged.2)" -eq "$count" ]
	[ "$(events run.log.salvaged.000001 traced.event)" -eq 2 ]
	[ "$(events run.log traced.event)" -eq 7 ]
}

@test "a rerun on a full disk names the stream of the log that it puts away" {
	mkdir disk
	mkfifo in
	export -f finds_keeper fills_disk is_ended kills_run
	in_mounts 0 '
		fills_disk "$@"
		! ptrace-flush "$1" 2>error
		kills_run
		ptrace-run -o disk/run.log -- "$2" -n 7 || true
		[ -e disk/run.log.salvaged ]
		ptrace-salvage --all --discard' "$me" "$traced"
	[[ $stderr == *"disk/run.log: an unfinished stream of process "*" stands in /dev/shm; 'ptrace-salvage "*"' writes it"* ]]
	[[ $stderr == *"disk/run.log.salvaged: is now the older log, which has no end"* ]]
}

@test "a rerun keeps all files of an unfinished log that was rotated" {
	for expected in 3000 3100; do
		# It is the same log by the name of any of its files.
		for name in run.log run.log.000001; do
			crash_flushed run.log --log-rotate=16K
			[ -e run.log.000001 ]
			[ "$expected" -eq 3100 ] || ptrace-salvage --all --discard
			reports 0 "*/run.log.salvaged: is now the *" ptrace-run -o "$name" -- "$traced" -n 7
			counts "$name" traced.event=7
			counts run.log.salvaged traced.event=$expected
			[ "$(find . -name 'run.log' -o -name 'run.log.0*')" = "./$name" ]
			rm run.log*
		done
	done
}

@test "a rerun keeps an unfinished log whose first file is deleted" {
	for name in run.log.salvaged run.log.salvaged.2 run.log.salvaged.3; do
		crash_run run.log --name="$me" --stream-full-policy=until-full --stream-min-size=1M --log-rotate=16K --log-keep=2 -- \
			sh -c 'for i in 1 2 3 4; do "$0" -n 1000; ptrace-flush "$1"; done; exec "$0" -W -n 100' "$traced" "$me"
		[ ! -e run.log ]
		[ "$name" != run.log.salvaged.2 ] || ptrace-salvage --all --discard
		reports 0 "*$name: is now the *" ptrace-run -o run.log -- "$traced" -n 7
		counts run.log traced.event=7
		[ ! -e "$name" ]
		ptrace-dump --count --allow-loss --event=traced.event "$name" >count
		[ "$(<count)" -ge 100 ]
		[ "$(find . -name 'run.log.0*')" = "" ]
		rm run.log
	done
}

@test "a rotated log that is finished by another run, and goes on in its file, is not spoken of" {
	crash_flushed run.log --log-rotate=16K
	silently 0 ptrace-run -o other.log -- "$traced" -n 7
	counts run.log traced.event=3100
}

@test "the next run salvages what is gone, and is silent about what stays" {
	mkdir there
	crash there/run.log
	rm -r there
	silently 0 ptrace-run -o other.log -- "$traced" -n 1
	mkdir there
	reports 0 "*/there/run.log.salvaged: has the last events of process *" ptrace-run -o other.log -- "$traced" -n 1
	[ "$(events there/run.log.salvaged traced.event)" -eq 100 ]
}

@test "a session without a log, killed, is salvaged or discarded" {
	for how in --json --discard; do
		traced_session "$me.a" --start -- -w -W -n 50
		controller=$(controller "$me.a")
		go done
		kills "$controller"
		reports 0 '*' ptrace-list
		[[ $(ptrace-salvage) == *"process $controller  51 events  no log" ]]
		[ ! -e ptrace.salvaged ] || [ "$how" = --discard ]
		exits 0 ptrace-salvage "$how" "$controller"
		[ "$how" = --discard ] || {
			[[ $stderr == "ptrace-salvage: ptrace.salvaged: in the current directory is where"* ]]
			# As the program lives, the log has more events than the stream had: os.went_on, for instance.
			jq -e --argjson n "$(events ptrace.salvaged)" '.events == $n and $n > 51' <<<"$stdout"
		}
	done
	[[ $stdout == *"discarded" ]]
	[ "$(events ptrace.salvaged traced.event)" -eq 50 ]
	[ ! -e ptrace.salvaged.2 ]
	[ -z "$(ptrace-salvage --json)" ]
}

@test "a stream whose log was a FIFO is written like one without a log" {
	mkfifo fifo
	cat fifo >out &
	pids="$pids $!"
	crash fifo
	exits 0 ptrace-salvage
	[[ $stdout == *"  no log" ]]
	exits 0 ptrace-salvage --all
	[[ $stderr == "ptrace-salvage: ptrace.salvaged: in the current directory is where"* ]]
	[[ $stdout == *"/ptrace.salvaged" ]]
	counts ptrace.salvaged traced.event=100
	[ "$(ptrace-salvage)" = "You have no unfinished streams." ]
}

@test "events keep their names if another session of the process ends before they are salvaged" {
	traced_start -w -W -n 10
	ptrace-create --pid="$pid" --name="$me.a" --start
	ptrace-create --pid="$pid" --name="$me.b" --start
	go done
	kills "$(controller "$me.a")" "$pid"
	wait_until eval '[ -z "$(ptrace-list 2>/dev/null)" ]'
	ptrace-salvage --all -o left.log
	counts left.log traced.event=10
	# The next trace removes the names that nothing needs any more.
	ptrace-run -o run.log -- true
	[ "$(ls "/dev/shm/posixtrace-$EUID")" = bells ]
}

@test "a program that dies together with its keeper keeps its name" {
	record "$me" -o run.log -- -n 10
	finds_keeper run.log
	ptrace-flush "$me"
	ptrace-event --pid="$pid" last
	kills "$keeper" "$(controller "$me")" "$pid"
	ptrace-salvage --all
	counts run.log traced.event=10 last=1
	ptrace-stat --json run.log | jq -e --arg pid "$pid" '[.processes[] | select(.pid == ($pid | tonumber)) | .name] == ["traced"]'
}

@test "names that were removed are missing" {
	[ -n "${PTRC_TEST_NUMBER-}" ] || skip "needs a /dev/shm of its own"
	traced_session "$me.a" --start -- -w -W -n 10
	go done
	kills "$(controller "$me.a")" "$pid"
	rm "/dev/shm/posixtrace-$EUID"/n.*
	ptrace-salvage --all -o left.log
	exits 3 ptrace-dump --count left.log
	[[ $stderr == *"1 event name is not readable, as the log is damaged or lacks it: "* ]]
	[ "$(ptrace-stat --json left.log | jq .losses.missing_names)" -eq 1 ]
}

@test "a killed session that has only events of ptrace-event is salvaged" {
	mkfifo go
	begins script sh -c 'read -r line <go; for i in 1 2 3; do ptrace-event step "$i"; done; : >ran
		exec sleep 1000'
	ptrace-create --pid="$script" --name="$me.a" --start 2>/dev/null
	controller=$(controller "$me.a")
	echo >go
	wait_until [ -e ran ]
	kill -STOP "$controller"
	kill -KILL "$script" "$controller"
	wait_until is_ended "$controller"
	# The end of a program, too, looks for what the dead have left.
	ptrace-run -o other.log -- "$traced" 2>/dev/null
	[[ $(ptrace-salvage) == *"process $controller  4 events  no log" ]]
	ptrace-salvage --all
	[ "$(events ptrace.salvaged step)" -eq 3 ]
}

@test "what another pid namespace controls is not unfinished" {
	[ "$EUID" -eq 0 ] || skip "root only"
	unshare -pf true 2>/dev/null || skip "no pid namespaces"
	listens other done unshare -pf --mount-proc "$(command -v ptrace-run)" -o run.log -- "$traced" -W -n 100
	run_split ptrace-salvage
	[ "$stdout" = "You have no unfinished streams." ]
	ptrace-run -o other.log -- "$traced" -n 1
	silently 0 ptrace-list
	go
	wait "$other"
	[ "$(events run.log traced.event)" -eq 100 ]
}

@test "of processes of a killed container the salvager knows nothing" {
	[ "$EUID" -eq 0 ] || skip "root only"
	unshare -pf true 2>/dev/null || skip "no pid namespaces"
	sleeper
	# shellcheck disable=SC2016 # the inner shell's
	listens other done unshare -pf --mount-proc "$(command -v ptrace-run)" -o run.log \
		--stream-full-policy=until-full --stream-min-size=1M -- \
		sh -c 'echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid; "$0" -W -n 100; :' "$traced" "$sleeper"
	kills "$(pgrep -P "$other")"
	ptrace-salvage --all
	[ "$(fields run.log traced.event .pid | sort -u)" = "$sleeper" ]
	[ "$(events run.log traced.event)" -eq 100 ]
	ptrace-dump --json --fields=event,comm,exe run.log | jq -se 'all(has("comm") or has("exe") | not)'
	ptrace-stat --json run.log | jq -e '.processes == []'
}

@test "a process that has the ID of a traced one by now is not taken for that" {
	[ "$EUID" -eq 0 ] || skip "root only"
	traced_session "$me.a" --start -o a.log --stream-full-policy=until-full --stream-min-size=1M -- -w -W -n 100
	finds_keeper a.log
	kill -STOP "$keeper"
	go done
	kills "$(controller "$me.a")" "$keeper" "$pid"
	gives_number "$pid" other sleep 1000
	ptrace-salvage --all
	# Nor has it gone on.
	silently 0 ptrace-stat a.log
	[ "$(events a.log traced.event)" -eq 100 ]
	ptrace-stat --json a.log | jq -e --argjson pid "$pid" '[.processes[] | select(.pid == $pid)] |
		length == 1 and (.[0] | .had_ended and (has("name") or has("start") | not))'
}

@test "a thread that has the ID of a traced one by now does not give it its name" {
	[ "$EUID" -eq 0 ] || skip "root only"
	cp "$traced" other
	begins pid "$traced" -t 1 -n 1000000 -p 1000
	disown "$pid"
	wait_until [ -e "/proc/$pid/task/$((pid + 1))" ]
	ptrace-create --pid="$pid" --name="$me.a" --start -o a.log --stream-full-policy=until-full --stream-min-size=1M
	finds_keeper a.log
	kill -STOP "$keeper"
	wait_until eval '[ "$(events "$me.a" traced.event)" -gt 100 ]'
	kills "$(controller "$me.a")" "$keeper" "$pid"
	gives_number "$pid" other ./other -t 1 -n 1000 -p 1000000
	# A process that was started meanwhile could take the ID of the thread.
	wait_until [ -e "/proc/$pid/task/$((pid + 1))" ]
	ptrace-salvage --all
	[ "$(fields a.log traced.event .tid | sort -u)" -eq $((pid + 1)) ]
	ptrace-stat --json a.log | jq -e 'all(.threads[]; .name != "other")'
}

@test "what root recorded of another user's process is salvaged by that user, and root is told so" {
	[ "$EUID" -eq 0 ] || skip "root only"
	command -v setpriv >/dev/null || skip "no setpriv"
	local user="setpriv --reuid=54321 --regid=54321 --clear-groups" controller id left
	cp "$traced" "$(command -v ptrace-salvage)" .
	mkdir -m 777 theirs
	chmod 755 .
	$user test -x ./traced || skip "another user cannot get at the test"
	listens pid ready $user ./traced -w -W -n 100
	ptrace-create --pid="$pid" --name="$me.a" --start -o a.log
	finds_keeper a.log
	controller=$(controller "$me.a")
	# Both are killed at a time when the keeper has written nothing yet.
	kill -STOP "$keeper"
	go done
	kills "$controller"
	kills "$keeper"
	id=$(ls /dev/shm/posixtrace-54321 | sed -n 's/^s[.]//p')
	left="its last events stand in /dev/shm, in a stream of user 54321; as that user, 'ptrace-salvage --output=LOG $id' writes them"
	tells 3 "*ptrace-stat: a.log: $left*" ptrace-stat a.log
	tells 3 "*ptrace-dump: a.log: $left*" ptrace-dump a.log
	exits 1 ptrace-doctor ./a.log
	[[ $stdout == *"$left"* ]]
	exits 0 ptrace-salvage
	[ "$stdout" = "You have no unfinished streams." ]
	# Root writes nothing at a place that the other user could choose, and neither does root's next trace.
	ptrace-create --pid="$pid" --name="$me.b" -o b.log
	ptrace-shutdown "$me.b"
	tells 3 "*ptrace-stat: a.log: $left*" ptrace-stat a.log
	[ ! -e a.log.salvaged ]
	# The file has a number if it exists.
	exits 0 $user ./ptrace-salvage --output=theirs/rest.log "$id"
	[ "$(events theirs/rest.log traced.event)" -eq 100 ]
	run_split ptrace-stat a.log
	[[ $stderr != *"user 54321"* ]]
	rm -rf /dev/shm/posixtrace-54321
}

@test "the new log is a new file, and not standard output" {
	mkfifo fifo
	mkdir sub
	for to in /dev/stdout /dev/null fifo . .. sub sub/; do
		refuses 2 "--output: '$to' is standard output, a directory or a special file; name a new file*" ptrace-salvage --all -o "$to"
	done
	reports 2 "--output: '-' is not standard output; ./- is a file of this name*" ptrace-salvage --all -o -
}

@test "a log that was cut after the crash: the rest is written beside it, once" {
	crash run.log
	truncate -s 1000 run.log
	silently 0 ptrace-salvage --all
	[[ $stdout == *"/run.log.salvaged" ]]
	[ "$(stat -c %s run.log)" -eq 1000 ]
	[ "$(events run.log.salvaged traced.event)" -eq 100 ]
	silently 0 ptrace-salvage
	[ "$stdout" = "You have no unfinished streams." ]
}

@test "without a STREAM nothing is written or removed unless --all says so" {
	for bad in --discard --output=x; do
		reports 2 "${bad%=*}: needs a STREAM, or --all*" ptrace-salvage "$bad"
	done
	exits 2 ptrace-salvage --all 17
}
