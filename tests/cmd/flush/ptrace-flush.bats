#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../../support/helpers

@test "after a flush the log of a living session has its events" {
	record "$me.a" -o run.log --stream-full-policy=loop -- -n 10
	says_nothing ptrace-flush "$me.a"
	reports 3 '*' ptrace-dump --count --format=text -e traced.event run.log
	[ "$stdout" -eq 10 ]
	ptrace-shutdown "$me.a"
	[ "$(events run.log traced.event)" -eq 10 ]
}

@test "a log that is not there any more is told" {
	traced_session "$me.a" -o run.log --start -- -w
	rm run.log
	for i in 1 2; do
		reports 3 "$me.a: the log is not there any more: *" ptrace-flush "$me.a"
		# Nor is another file of that name the log.
		echo text >run.log
	done
	exits 3 ptrace-flush --json "$me.a"
	jq -e '.error == 0 and .losses.log_gone and (.complete | not)' stdout.txt
	valid session <stdout.txt
}

@test "a log that is full is told, and what was lost" {
	traced_session "$me.l" --start -o run.log --log-max-size=20K --log-full-policy=until-full --stream-min-size=4M \
		-- -w -W -n 20000
	silently 0 ptrace-flush "$me.l"
	go done
	for i in 1 2; do
		refuses 3 '*' ptrace-flush "$me.l"
		lost=$(ptrace-stat --json "$me.l" 2>/dev/null | jq .losses.log_events)
		[ "$lost" -gt 0 ]
		[ "$stderr" = "ptrace-flush: $me.l: the log $PWD/run.log is full: $lost events were lost, and nothing is recorded before ptrace-clear $me.l and ptrace-start $me.l" ]
	done
	exits 3 ptrace-flush --json "$me.l"
	jq -e --argjson n "$lost" '.error == 0 and .log_full and .losses.log_events == $n and
		(.losses.log_gone or .complete | not)' stdout.txt
	valid session <stdout.txt
	# Both, as they come.
	rm run.log
	exits 3 ptrace-flush "$me.l"
	[ "$(wc -l <stderr.txt)" -eq 2 ]
	ptrace-clear "$me.l"
	ptrace-start "$me.l"
	run_split ptrace-flush --json "$me.l"
	jq -e 'has("log_full") | not' stdout.txt
}

@test "a log that is a ring, or a stream that was full, is no matter of the flush" {
	traced_session "$me.r" --start -o ring.log --log-max-size=20K --log-full-policy=loop \
		-- -w -W -n 20000
	ptrace-create --pid="$pid" --name="$me.s" --start -o run.log --stream-min-size=16K \
		--stream-full-policy=until-full
	go done
	for s in r s; do
		silently 0 ptrace-flush "$me.$s"
		ptrace-stat --json "$me.$s" 2>/dev/null | jq -e '.status.stream == "running"'
	done
}

@test "a keeper that is stopped is named, and is waited for again when it goes on" {
	record "$me.a" -o run.log -- -n 10
	finds_keeper run.log
	kill -STOP "$keeper"
	said="$me.a: ptrace-keeper ($keeper), which writes its log, is stopped; kill -CONT $keeper continues it"
	for c in ptrace-flush 'ptrace-dump --count' 'ptrace-snapshot -o copy.log'; do
		refuses 1 "$said" $c "$me.a"
	done
	[ ! -e copy.log ]
	exits 1 ptrace-flush --json "$me.a"
	jq -e --arg said "${said#*: }" '.message == $said' stdout.txt
	valid session <stdout.txt
	kill -CONT "$keeper"
	[ "$(ptrace-dump --count -e traced.event "$me.a")" -eq 10 ]
}

@test "a session whose controller is killed while a flush waits for its answer is gone" {
	record "$me" -o run.log
	controller=$(ptrace-list --json | jq --arg me "$me" 'select(.session == $me).controller')
	kill -STOP "$controller"
	ptrace-flush "$me" 2>stderr.txt &
	flush=$!
	asks() { [[ $(ls -l "/proc/$flush/fd") == *socket:* && $(<"/proc/$flush/stat") == *") S "* ]]; }
	wait_until asks
	kill -KILL "$controller"
	ends 1 "$flush"
	grep -q "the session is gone: " stderr.txt
}

@test "a log that nobody reads is named as what a flush waits for" {
	mkfifo fifo
	exec 8<>fifo
	record "$me.a" -o fifo -- -n 20000 8>&-
	reports 1 "$me.a: ptrace-keeper (*), which writes its log, waits; is the log a pipe that no process reads\?" ptrace-flush "$me.a" 8>&-
	kill -TERM "$(controller "$me.a")" 8>&-
	wait_until no_session
	exec 8>&-
}

# fails_once NAME PROGRAM EVENTS OPTION..., in mounts of its own: a session whose program has recorded so
# many events on a full disk, and a flush that fails
fails_once() {
	mount -t tmpfs -o size=1m tmpfs disk
	mkfifo in
	"$2" -w -W -n "$3" <in >out &
	exec 7>in
	until grep -qsx ready out; do sleep 0.02; done
	ptrace-create --pid=$! --name="$1" --start -o disk/run.log "${@:4}" >/dev/null
	head -c 1M /dev/zero >disk/filler 2>/dev/null || true
	echo >&7
	until grep -qx done out; do sleep 0.02; done
	! ptrace-flush "$1" 2>error
}

@test "what an earlier flush could not write is no loss once it is written" {
	mkdir disk
	export -f fails_once
	own_mounts '
		fails_once "$@" 1000
		ptrace-stat --json "$1" >before || echo $? >>before
		rm disk/filler
		ptrace-flush "$1"
		ptrace-stat --json "$1" >after
		ptrace-doctor "$1" >doctor
		ptrace-shutdown "$1"
		kill $!' "$me" "$traced"
	[[ $(<error) == *": writing the log failed: No space left on device" ]]
	[ "$(tail -n 1 before)" = 3 ]
	head -n 1 before | jq -e '.losses.write_error == 28 and (.complete | not)'
	jq -e '.losses.write_error == 0 and .complete' after
	[ "$status" -eq 0 ]
	[[ $(<doctor) != *problem* ]]
}

@test "what an earlier flush could not write is the reason why the stream was full, even once it is written" {
	mkdir disk
	export -f fails_once
	own_mounts '
		fails_once "$@" 20000 --stream-min-size=64K
		rm disk/filler
		ptrace-flush "$1"
		ptrace-shutdown --json "$1" >json 2>error || echo $? >status
		kill $!' "$me" "$traced"
	[ "$(<status)" = 3 ]
	jq -e '.losses.write_error == 28 and .losses.stream_events > 0 and .losses.unwritten_events == 0' json
	[[ $(<error) == *" lost in the stream, "*": writing the log failed: No space left on device" ]]
}
