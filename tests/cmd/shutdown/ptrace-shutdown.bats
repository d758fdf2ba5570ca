#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../../support/helpers

@test "a shutdown leaves neither process nor file, and is quick" {
	traced_session "$me.a" -o run.log -- -w
	controller=$(controller "$me.a")
	says_nothing ptrace-shutdown "$me.a"
	is_ended "$controller"
	[ "$(session_files)" -eq 0 ]
	reports 1 "$me.a: no such session" ptrace-shutdown "$me.a"
}

@test "losses are told, with exit status 3" {
	record "$me.a" -o run.log --stream-min-size=4K --stream-full-policy=loop -- -n 100000
	reports 3 "*events lost in the stream*" ptrace-shutdown "$me.a"
}

@test "a log that was deleted or replaced meanwhile is told" {
	traced_start -w
	ptrace-run -o other.log -- "$traced"
	for how in 'rm run.log' 'cp --remove-destination other.log run.log'; do
		ptrace-create --pid="$pid" -o run.log --name="$me.a" --start
		$how
		exits 3 ptrace-stat --json "$me.a"
		jq -e '.losses.log_gone and (.complete | not)' stdout.txt
		valid stat <stdout.txt
		run_split ptrace-doctor "$me.a"
		grep -q '^problem .*run[.]log: ' stdout.txt
		reports 3 "*the log is not there any more*" ptrace-shutdown --json "$me.a"
		jq -e '.losses.log_gone and (.complete | not)' stdout.txt
		valid session <stdout.txt
	done
}

@test "a session whose controller was killed: said, then its name is free" {
	traced_session "$me.a" -- -w
	kills "$(controller "$me.a")"
	reports 1 "*the background process that controlled it was killed" ptrace-shutdown "$me.a"
	[ "$(session_files)" -eq 0 ]
}

@test "a stopped controller does not hang a command" {
	traced_session "$me.a" -- -w
	controller=$(controller "$me.a")
	kill -STOP "$controller"
	reports 1 "$me.a: the session does not answer: its process $controller is stopped; kill -CONT $controller continues it" \
		ptrace-stat "$me.a"
	kill -CONT "$controller"
	ptrace-shutdown "$me.a"
}

@test "a controller that is stopped while it ends its session is named" {
	mkfifo fifo
	# A reader that reads nothing: the end of the session waits for it.
	exec 6<>fifo
	traced_session "$me.a" --start -o fifo -- -w -W -n 200000
	go done
	controller=$(controller "$me.a")
	# A process that sleeps.
	[ "$(cat "/proc/$pid/wchan")" != 0 ] || skip "no /proc/PID/wchan"
	ptrace-shutdown "$me.a" 2>err 3>&- 6>&- &
	ender=$!
	# It has the word that the session ends, and waits.
	wait_until grep -q poll "/proc/$ender/wchan"
	kill -STOP "$controller"
	ends 1 "$ender"
	[ "$(<err)" = "ptrace-shutdown: $me.a: the session does not answer: its process $controller is stopped; kill -CONT $controller continues it" ]
	cat <&6 >/dev/null 3>&- &
	kill -CONT "$controller"
	wait_until eval '! kill -0 "$controller" 2>/dev/null'
	kill %cat 2>/dev/null || kill $!
}

@test "while a session is being ended, commands say so, and name a keeper that is stopped" {
	record "$me.a" -o run.log -- -n 10
	finds_keeper run.log
	kill -STOP "$keeper"
	begins ender ptrace-shutdown "$me.a"
	is_stopped() { ptrace-list --json | jq -e '.status == "suspended"'; }
	wait_until is_stopped
	stopped="$me.a: ptrace-keeper ($keeper), which writes its log, is stopped; kill -CONT $keeper continues it"
	for command in 'ptrace-dump --count' ptrace-stat 'ptrace-snapshot -o snap.log' ptrace-stop ptrace-flush \
		ptrace-filter 'ptrace-dump --follow'; do
		# shellcheck disable=SC2086 # words
		refuses 1 "$stopped" $command "$me.a"
	done
	exits 1 ptrace-doctor --json "$me.a"
	jq -se '[.[].check] | index("ending") and index("keeper") and (index("suspended") | not)' <<<"$stdout"
	[ ! -e snap.log ]
	ends 1 "$ender"
	kill -CONT "$keeper"
	wait_until no_session
	counts run.log traced.event=10
}

@test "a full disk: the session ends, and how many events were lost is told" {
	unshare -m true || skip "no mount namespaces"
	traced_start -w -W -n 100000
	mkdir full
	cat >script <<-'END'
		mount -t tmpfs -o size=128k tmpfs full
		ptrace-create --pid="$1" --name="$2.a" -o full/a.log --start
		ptrace-create --pid="$1" --name="$2.b" -o full/b.log --start
		echo >&7
		until grep -qx done out; do sleep 0.02; done
		status=0
		ptrace-shutdown --json "$2.a" >json 2>stderr.txt || status=$?
		echo "$status" >status
		ptrace-shutdown --allow-loss "$2.b" 2>/dev/null
	END
	unshare -m bash -e script "$pid" "$me"
	[ "$(cat status)" -eq 3 ]
	stderr=$(cat stderr.txt)
	assert_one_message ptrace-shutdown
	[[ $stderr == *" events lost, as writing the log failed: No space left on device" ]]
	valid session <json
	jq -e '.error == 0 and (.complete | not) and .losses.write_error == 28 and
		.losses.unwritten_events > 0' json
	[ "$(session_files)" -eq 0 ]
}

@test "a full disk without room for the end of the log: all losses are told" {
	full=$PTRC_BUILD/tests/support/full_disk
	"$full" 0 true || skip "no filters of system calls"
	traced_start -w -W -n 200000
	"$full" 8000 ptrace-create --pid="$pid" -o run.log --name="$me.a" --stream-min-size=64K --start
	go
	wait_until says done
	exits 3 ptrace-shutdown --json "$me.a"
	jq -e '.losses.unclosed and .losses.write_error == 28 and .losses.stream_events > 100000' <<<"$stdout"
	lost=$(jq '.losses.stream_events + .losses.unwritten_events' <<<"$stdout")
	recorded=$(ptrace-dump --count --allow-loss run.log 2>/dev/null)
	[ $((lost + recorded)) -ge 200000 ]
}

@test "a log that does not come to its disk is told, unless nobody cares" {
	local failing=$PTRC_BUILD/tests/support/failing_sync
	"$failing" true || skip "no filters of system calls"
	traced_start -w
	"$failing" ptrace-create --pid="$pid" -o run.log --name="$me.a" --start
	reports 3 "*: writing the log failed: Input/output error" ptrace-shutdown --json "$me.a"
	jq -e '(.complete | not) and .losses.write_error == 5' <<<"$stdout"
	"$failing" ptrace-create --pid="$pid" -o run.log --name="$me.a" --start --no-fsync
	silently 0 ptrace-shutdown "$me.a"
}

@test "a reader that goes away keeps no session from its end" {
	for name in a b; do
		ptrace-create --pid=$$ --name="$me.$name" 2>/dev/null
	done
	reports 1 "standard output: Broken pipe" unread ptrace-shutdown --json "$me.a" "$me.b"
	[ -z "$(ptrace-list | grep "^$me\.")" ]
}
