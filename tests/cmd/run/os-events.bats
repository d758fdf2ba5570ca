#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Events of the operating system: --os of ptrace-run and ptrace-create.

load ../../support/helpers

work=$PTRC_BUILD/tests/support/os_work

# A loss is in the log, for a shell.
until_told='until ptrace-dump --event=os.lost a.log 2>/dev/null | grep -q .; do sleep 0.02; done'

@test "forks, programs and ends of a whole tree are recorded" {
	needs_os
	silently 0 ptrace-run --os=process -o a.log -- sh -c '/bin/true; /bin/echo hello; (exit 5); :'
	[ "$stdout" = hello ]
	[ "$(events a.log os.fork)" -eq 3 ]
	[ "$(fields a.log os.exec .data.name)" = $'sh\ntrue\necho' ]
	[ "$(events a.log os.exit)" -eq 4 ]
	# Each child ends, and is the child of the one that had the first event.
	fields a.log os.fork .data.pid | sort >children
	fields a.log os.exit .pid | sort >ended
	[ "$(comm -12 children ended | wc -l)" -eq 3 ]
	[ "$(fields a.log os.fork .pid | sort -u)" = "$(comm -13 children ended)" ]
	[ "$(events a.log 'os.switch_*')" -eq 0 ]
}

@test "a program that the kernel hides has no end, and is waited for" {
	[ "$EUID" -eq 0 ] || skip "root only"
	needs_os
	cp "$(type -P sleep)" privileged
	chown daemon privileged
	chmod 4755 privileged
	silently 0 ptrace-run --os=process,sched -o a.log -- ./privileged 0.2
	counts a.log os.exec=1 os.exit=0
	reports 0 "a.log: 1 process that COMMAND started and that is not traced went on: privileged (*); --until=all records to the end" \
		ptrace-run --os=process -o a.log -- sh -c './privileged 3 & until grep -qx privileged /proc/$!/comm; do :; done'
	silently 0 ptrace-run --os=process --until=all -o a.log -- sh -c '(./privileged 0.3; : >slept) & exit 0'
	[ -e slept ]
	[ "$(fields a.log os.exec .data.name)" = $'sh\nprivileged' ]
	counts a.log os.exit=2
	# A program that is killed before it is mapped has an end.
	ptrace-run --os=process -o a.log -- sh -c '(ulimit -v 60; exec /bin/true); :' 2>/dev/null
	counts a.log os.exec=2 os.exit=2
}

@test "a program that the kernel hides does not get the command line of the next one" {
	[ "$EUID" -eq 0 ] || skip "root only"
	needs_os
	cp "$(type -P env)" privileged
	chown daemon privileged
	chmod 4755 privileged
	# The keeper looks at processes several times meanwhile.
	ptrace-run --os=process -o a.log -- sh -c 'for i in 1 2 3 4 5; do ./privileged sleep 0.3; done'
	ptrace-stat --json a.log | jq -e '(.processes | map(.name) | unique) == ["privileged", "ptrace-run", "sh"] and
		([.processes[] | select(.name == "privileged")] |
			length == 5 and (map(select(has("command_line"))) == []))'
}

@test "in a time namespace events have the times of the clocks there" {
	[ "$EUID" -eq 0 ] || skip "root only"
	unshare --time true 2>/dev/null || skip "no time namespaces"
	needs_os
	for offset in 5000 -5; do
		silently 0 unshare --time --fork --monotonic "$offset" ptrace-run --os=process -o a.log -- sleep 0.2
		counts a.log os.exec=1 os.exit=1
		fields a.log 'os.ex*' .ns >times
		[ $(($(tail -n 1 times) - $(head -n 1 times))) -ge 200000000 ]
	done
}

@test "of programs without the library a run has their processes, unless one records an event" {
	needs_os
	said="no event was recorded but of processes: no program "
	reports 0 "sh: $said*" ptrace-run -o a.log -- sh -c '/bin/true; :'
	[ "$(fields a.log os.exec .data.name)" = $'sh\ntrue' ]
	[ "$(fields a.log os.command '[.data.status, .data.signal] | join(" ")')" = "0 0" ]
	counts a.log os.exit=2 'os.switch_*'=0
	# More than the rings hold, several times.
	POSIXTRACE_OS_BYTES=65536 ptrace-run -o a.log -- \
		sh -c 'for i in $(seq 300); do /bin/true; done; :'
	[ "$(events a.log os.exit)" -eq 302 ]

	silently 0 ptrace-run -o a.log -- sh -c "/bin/true; $PTRC_BUILD/tests/support/traced -n 3; /bin/true"
	counts a.log 'os.*'=0 traced.event=3
	run_split ptrace-run -o a.log -- sh -c '/bin/true; ptrace-event mine'
	counts a.log 'os.*'=0 mine=1

	for no in --os=none --exclude='os.*'; do
		reports 0 "*true: no event was recorded: no program *" ptrace-run "$no" -o a.log -- true
		[ "$(events a.log 'os.*')" -eq 0 ]
	done
	ptrace-run --dump-config true | grep -x 'os: auto'
	printf 'os: none\n' >p.yaml
	ptrace-run -c p.yaml --dump-config true | grep -x 'os: none'
	[ "$(ptrace-create -p $$ --dump-config | grep -c ^os)" -eq 0 ]
}

@test "each program is a bar from its exec to the next one of its process, or to its end" {
	needs_os
	cat >wrapper <<-'END'
		#!/bin/sh
		/bin/true
		(:)
		exec sh -c '/bin/true; exit 3'
	END
	chmod +x wrapper
	exits 3 ptrace-run -o a.log -- ./wrapper
	ptrace-export --to=chrome -o a.json a.log
	bars=$(jq -r '.traceEvents[] | select(.ph == "X") | "\(.name) \(.pid)"' a.json | sort)
	pid=$(fields a.log os.command .pid)
	[ "$(sed 's/ .*//' <<<"$bars")" = $'sh\ntrue\ntrue\nwrapper' ]
	[[ $bars == "sh $pid"* ]] && [[ $bars == *"wrapper $pid" ]]
	# Where one ends the other begins; the end of a process that executed nothing is an event.
	jq -e --argjson pid "$pid" '.traceEvents | map(select(.ph == "X" and .pid == $pid)) |
		sort_by(.ts) | map(.name) == ["wrapper", "sh"] and .[0].ts + .[0].dur <= .[1].ts + 0.001' a.json
	[ "$(jq -c '.traceEvents[] | select(.ph == "i" and .name == "os.exit")' a.json | wc -l)" -eq 1 ]
	# What COMMAND returned is behind its bar.
	[ "$(jq -c '.traceEvents[] | select(.name == "os.command") | [.pid, .args.data.status]' a.json)" = "[$pid,3]" ]
	[ "$(ptrace-dump --tree a.log | grep -c '  name="true"')" -eq 2 ]
	ptrace-report --text a.log | grep " wrapper (process $pid, "
	ptrace-stat --pairs --per=data.name --json a.log | jq -e '.pairs | map(select(.value == "true") | .count) == [2]'
	# One that goes on has no end, and none is looked for.
	ptrace-dump --event='os.exec' --to-log=b.log a.log
	reports 0 "*os.exec..os.exit: *without end*" ptrace-export --to=chrome -o b.json b.log
}

@test "a kernel that refuses is not told of unless its events are wanted" {
	refused "true: no event was recorded: no program *" ptrace-run -o a.log -- true
}

@test "threads are forks of their process, and end, too" {
	needs_os
	ptrace-run --os=process -o a.log -- "$work" threads 3 >tids
	[ "$(fields a.log os.fork 'select(.data.pid == .pid) | .data.tid')" = "$(cat tids)" ]
	[ "$(fields a.log os.exit 'select(.tid != .pid) | .tid')" = "$(cat tids)" ]
}

@test "event types have layouts, and are listed like any others" {
	needs_os
	ptrace-run --os=process,sched -o a.log -- true
	run_split ptrace-stat a.log
	[[ $stdout == *"os.fork {u32 pid, u32 tid}"* ]]
	[[ $stdout == *"os.exec {str name}"* ]]
	[[ $stdout == *"os.switch_in {u32 processor}"* ]]
	[[ $stdout == *"os.switch_out {u32 processor, bool preempted}"* ]]
	# There were no losses, so there is no type for them.
	[[ $stdout != *os.lost* ]]
}

@test "switches are as many as the kernel counts" {
	needs_os
	ptrace-run --os=sched,process -o a.log -- "$work" switches 500 >counted
	read -r waited preempted begin end <counted
	pid=$(fields a.log os.exec .pid)
	period=(--count --since="$begin" --until="$end" --pid="$pid")
	waits=$(ptrace-dump "${period[@]}" --event=os.switch_out --where='data.preempted == false' a.log)
	out=$(ptrace-dump "${period[@]}" --event=os.switch_out --where='data.preempted == true' a.log)
	in=$(ptrace-dump "${period[@]}" --event=os.switch_in a.log)
	echo "waited $waited, preempted $preempted; waits $waits, out $out, in $in"
	# A few of the 500 sleeps are over before the thread gives its processor up: it does not wait.
	[ "$waited" -ge 50 ]
	[ "$waits" -ge $((waited - 5)) ]
	[ "$waits" -le $((waited + 5)) ]
	[ "$out" -ge $((preempted - 5)) ]
	[ "$out" -le $((preempted + 5)) ]
	[ "$in" -ge $((waited + preempted - 10)) ]
	[ "$in" -le $((waited + preempted + 10)) ]
	# A thread is on a processor, or it is not: in and out take turns.
	fields a.log 'os.switch_*' "select(.pid == $pid) | .event" | uniq -d >twice
	[ ! -s twice ]
	# What has ended runs no more.
	[ "$(ptrace-dump --pid="$pid" --event='os.[!c]*' a.log | tail -n 2 | jq -r .event | tr '\n' ' ')" = \
		"os.exit os.switch_out " ]
	ptrace-run --os=sched -o b.log -- sh -c '/bin/true; :'
	ptrace-stat --pair=os.switch_in..os.switch_out --json b.log |
		jq -e '.pairs[0].unmatched_begins == 0 and .pairs[0].count > 0'
	fields a.log 'os.switch_*' .data.processor | sort -u | grep -qx '[0-9]*'
}

@test "they stand among the events of programs by their time" {
	needs_os
	ptrace-run --os=process -o a.log -- \
		sh -c 'ptrace-event first; /bin/true; ptrace-event second; ptrace-flush run 2>/dev/null; /bin/true; ptrace-event third; :'
	ptrace-dump --json a.log | jq -r 'if .event == "os.exec" then .data.name else .event end' |
		grep -Ex 'first|second|third|true' >order
	[ "$(tr '\n' ' ' <order)" = "first true second true third " ]
	ptrace-dump --json a.log | jq .ns >times
	sort -nc times
}

# waits_for_look OPTION...: a shell without the library and its child, which ends when the run has told of it
waits_for_look() {
	mkfifo in
	begins run ptrace-run "$@" -o a.log --name="$me" -- sh -c 'cat in; : secret' >stdout.txt 2>stderr.txt
	exec 7>in
	is_told() {
		ptrace-flush "$me"
		ptrace-stat --allow-loss --json a.log 2>/dev/null | jq -e 'any(.processes[]?; .name == "cat")'
	}
	wait_until is_told
	exec 7>&-
	ends 0 "$run"
	[ ! -s stderr.txt ]
	ptrace-stat --json a.log >stat.json
}

@test "a program without the library has a log, and its processes are told" {
	needs_os
	waits_for_look --os=sched,process
	sh=$(fields a.log os.exec 'select(.data.name == "sh") | .pid')
	cat=$(fields a.log os.exec 'select(.data.name == "cat") | .pid')
	jq -e --argjson pid "$cat" --argjson sh "$sh" '.processes[] | select(.pid == $pid) |
		.parent == $sh and .name == "cat" and .command_line == ["cat", "in"] and
		(.executable | endswith("cat")) and
		(.mappings | map(.path) | any(endswith("cat")) and any(contains("libc")))' stat.json
	jq -e --argjson pid "$sh" '.processes[] | select(.pid == $pid) |
		.name == "sh" and .command_line == ["sh", "-c", "cat in; : secret"]' stat.json
}

@test "processes that end at once are told, too" {
	needs_os
	ptrace-run --os=process -o a.log -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done'
	ptrace-stat --json a.log >stat.json
	pids=$(fields a.log os.exec 'select(.data.name == "true") | .pid')
	[ "$(wc -l <<<"$pids")" -ge 9 ]
	for pid in $pids; do
		jq -e --argjson pid "$pid" '[.processes[] | select(.pid == $pid)] | length == 1 and
			.[0].name == "true" and (.[0].executable | endswith("true")) and
			.[0].had_ended == false and (.[0].mappings | length) >= 2' stat.json
	done
}

@test "an exec belongs to the program that it starts" {
	needs_os
	# What the process executes at last has the library, so the keeper looks at it, too.
	ptrace-run --os=process -o a.log -- \
		bash -c "for i in {1..20}; do sh -c 'exec true'; done; exec $PTRC_BUILD/tests/support/traced -n 3"
	[ "$(fields a.log os.exec .data.name | sort | uniq -c | tr -s ' \n' ' ')" = " 1 bash 20 sh 1 traced 20 true " ]
	ptrace-dump --event=os.exec --fields=time,pid,comm,exe,data a.log |
		jq -c 'select(.comm != .data.name)' >wrong
	cat wrong
	[ ! -s wrong ]
}

@test "a process that executes the same program again at once has an entry for each" {
	needs_os
	silently 0 ptrace-run --os=process -o a.log -- sh -c 'exec sh -c "exec sh -c \"exec sh -c :\""'
	ptrace-stat --json a.log | jq -r '.processes[] | select(.name == "sh") | .from' >entries
	fields a.log os.exec .time >execs
	[ "$(wc -l <execs)" -eq 4 ]
	diff execs entries
	# All have the same start, also the last one that has the library, at which the keeper looks as well.
	ptrace-run --os=process -o a.log -- sh -c "sleep 0.1; exec sh -c 'exec $traced -n 3'"
	ptrace-stat --json a.log | jq -e --argjson pid "$(fields a.log traced.event .pid | head -n 1)" \
		'[.processes[] | select(.pid == $pid)] | map(.name) == ["sh", "sh", "traced"] and
			(map(.start) | unique | length) == 1'
}

@test "--no-command-line keeps command lines out" {
	needs_os
	waits_for_look --os=process --no-command-line
	fails grep -qa secret a.log
	jq -e 'all(.processes[]; has("command_line") | not)' stat.json
}

@test "they are filtered, selected and counted like any others" {
	needs_os
	ptrace-run --os=process --only='os.exec' -o a.log -- sh -c '/bin/true; :'
	# The end of COMMAND is there in any case.
	[ "$(events a.log)" -eq "$(($(events a.log 'posix_trace_*') + 3))" ]
	counts a.log os.exec=2 os.command=1
	ptrace-run --os=process,sched --exclude='os.switch_*' -o b.log -- sh -c '/bin/true; :'
	counts b.log 'os.switch_*'=0 os.exit=2
	ptrace-run --os=process,sched -o c.log -- sh -c '/bin/true; :'
	[ "$(events c.log 'os.exit')" -eq 2 ]
	ptrace-stat --json c.log |
		jq -e '.events[] | select(.event == "os.exit") | .count == 2 and .bytes == 0'
	[ "$(ptrace-dump --count --format=text --where 'data.processor >= 0' c.log)" -eq \
		"$(events c.log 'os.switch_*')" ]
}

@test "records that the kernel has lost are told in their place, and counted" {
	needs_os
	# A ring of one page has 128 switches; who empties it stands still meanwhile.
	exits 3 env POSIXTRACE_OS_BYTES=4096 ptrace-run --os=sched -o a.log --json=result -- \
		sh -c "kill -STOP \$PPID; $work switches 2000 >/dev/null; kill -CONT \$PPID; $until_told; $work switches 10"
	lost=$(lost_of_os a.log)
	[ "$lost" -gt 1000 ]
	[ "$stderr" = "ptrace-run: a.log: $lost events of the operating system lost in the kernel, as its buffer for a processor was full or it withheld samples: fewer kinds of --os, or fewer samples a second, lose less" ]
	jq -e --argjson n "$lost" '.losses | .unobserved_events == $n and .stream_events == 0' result
	valid run <result
	exits 3 ptrace-stat --json a.log
	jq -e --argjson n "$lost" '.counts.unobserved_events == $n and .counts.lost_events == 0 and
		(.status.stream_overrun | not) and .losses.unobserved_events == $n and (.complete | not)' stdout.txt
	valid stat <stdout.txt
	ptrace-dump --json --event=os.lost --allow-loss a.log | jq -se 'all(.data.withheld | not)'
	# Whatever is read of the log, and of a copy of a part of it.
	for command in "dump --count a.log" "dump --event=os.switch_out a.log" "dump --event=os.switch_out --to-log=part.log a.log" \
		"dump --count part.log" "dump --verify --summary a.log" "report -o a.html a.log"; do
		# shellcheck disable=SC2086 # the options are words
		reports 3 "*: $lost events of the operating system lost in the kernel, *" ptrace-$command
	done
	exits 4 ptrace-check a.log --never=os.fault
	# What came before and after is there.
	ptrace-dump --json a.log 2>/dev/null | jq -r 'select(.event | startswith("os.")) | .event' | uniq | tr '\n' ' ' >order
	grep -q 'os.switch_in .*os.lost .*os.switch_in' order
}

@test "what the kernel has lost is known if os.lost is not recorded, and if the files that had it were deleted" {
	needs_os
	exits 3 env POSIXTRACE_OS_BYTES=4096 ptrace-run --os=sched --exclude=os.lost -o a.log -- \
		sh -c "kill -STOP \$PPID; $work switches 2000 >/dev/null; kill -CONT \$PPID; $work switches 10"
	[[ $stderr == *" events of the operating system lost in the kernel, "* && $stderr != *"in the stream"* ]]
	reports 3 "*a.log: * events of the operating system lost in the kernel, *" ptrace-dump --count a.log
	exits 3 env POSIXTRACE_OS_BYTES=4096 ptrace-run --name="$me" --os=sched -o b.log --log-rotate=16K --log-keep=2 --json=result -- \
		sh -c "kill -STOP \$PPID; $work switches 2000 >/dev/null; kill -CONT \$PPID; sleep 0.1
			for i in 1 2 3; do ptrace-flush $me; $work switches 3000 >/dev/null; done"
	lost=$(jq .losses.unobserved_events result)
	[ "$lost" -gt 1000 ]
	jq -e '.losses.deleted_files > 0' result
	ptrace-stat --allow-loss --json b.log | jq -e --argjson n "$lost" '.losses | .unobserved_events == $n and .stream_events == 0'
}

@test "what a processor lost is told, if nothing is recorded there any more" {
	needs_os
	[ "$(nproc)" -gt 1 ] || skip "one processor"
	# Before, the kernel tells of a loss only when it writes again.
	[ "$(printf '6.0\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.0 ] || skip "Linux before 6.0"
	mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' | sed 's/-/\n/')
	exits 3 env POSIXTRACE_OS_BYTES=4096 ptrace-run --os=sched -o a.log -- \
		sh -c "taskset -cp ${cpus[0]} \$\$ >/dev/null; kill -STOP \$PPID
			taskset -c ${cpus[-1]} $work switches 2000 >/dev/null; kill -CONT \$PPID; $until_told"
	[ "$(lost_of_os a.log)" -gt 3000 ]
	[[ $stderr == *": $(lost_of_os a.log) events of the operating system lost"* ]]
	# Where others run, too, the first one may lose some as well.
	ptrace-dump --json --event=os.lost a.log | jq -se --argjson last "${cpus[-1]}" 'map(.data.processor) | index($last)'
}

@test "where the kernel refuses, a line says why and what would allow it" {
	refused "*no events of the operating system: perf_event_open(2): Operation not permitted*" \
		ptrace-run --os=process,sched -o a.log -- "$traced" -n 10
	[[ $stderr == *seccomp* || $stderr == *perf_event_paranoid=2* ]]
	[ "$(events a.log 'os.*')" -eq 0 ]
	[ "$(events a.log)" -gt 10 ]
	sleep 60 &
	pids=$!
	exits 0 "$work" refused ptrace-create --os=process --name="$me" --pid=$!
	[ "$stdout" = "$me" ]
	[[ $stderr == *"no events of the operating system"* ]]
	# Once for all sessions.
	printf 'defaults: {pid: %s, os: process}\nsessions: [{name: %s.a}, {name: %s.b}]\n' $! "$me" "$me" >file.yaml
	exits 0 "$work" refused ptrace-create --all -c file.yaml
	[ "$(grep -c 'no events of the operating system' stderr.txt)" -eq 1 ]
}

@test "ptrace-doctor tells whether the kernel refuses" {
	run_split "$work" refused ptrace-doctor
	[ "$status" -ne 77 ] || skip "no seccomp here"
	[ "$status" -eq 0 ]
	grep -q '^note .*--os: no events of the operating system: perf_event_open(2): Operation not' stdout.txt
	"$work" refused ptrace-doctor --json | jq -se '.[] | select(.check == "os-events") | .status == "note"'
	needs_os
	ptrace-doctor | grep -q '^ok .*perf_event_open(2): allowed'
}

# runs_program NUMBER: the shell executes another program, the one of this number
runs_program() {
	go
	wait_until says_count "$1"
}

@test "a session records them while its trace runs" {
	needs_os
	listens pid '' sh -c 'while read -r line; do /bin/true; echo done; done'
	ptrace-create --os=process --name="$me" -o a.log --pid=$!
	runs_program 1
	ptrace-start "$me"
	runs_program 2
	ptrace-flush "$me"
	[ "$(events a.log os.exec)" -eq 1 ]
	ptrace-stop "$me"
	runs_program 3
	ptrace-start "$me"
	runs_program 4
	ptrace-clear "$me"
	runs_program 5
	runs_program 6
	ptrace-shutdown "$me"
	[ "$(events a.log os.exec)" -eq 2 ]
	[ "$(fields a.log os.fork .pid | sort -u)" -eq "$pids" ]
}

says_count() {
	[ "$(grep -c done out)" -ge "$1" ]
}

@test "a session that a signal ends has all of them" {
	needs_os
	listens pid '' sh -c 'while read -r line; do /bin/true; echo done; done'
	ptrace-create --os=process --name="$me" -o a.log --pid=$! --start
	runs_program 1
	kill -TERM "$(controller "$me")"
	wait_until closed a.log
	[ "$(events a.log os.exec)" -eq 1 ]
}

@test "all threads of a process that runs already are seen" {
	needs_os
	mkfifo in
	# A sanitizer that looks for leaks does so in one more thread.
	ASAN_OPTIONS=detect_leaks=0 "$work" idle 3 <in >tids 3>&- &
	pids=$!
	exec 7>in
	wait_until says_threads 3
	ptrace-create --os=sched,process --start --name="$me" -o a.log --pid="$pids"
	echo >&7
	wait_until is_ended "$pids"
	wait_until test ! -S /dev/shm/posixtrace-"$EUID"/c."$me"
	[ "$(fields a.log os.exit .tid | sort)" = "$({ cat tids; echo "$pids"; } | sort)" ]
	for tid in $(cat tids); do
		[ "$(fields a.log os.switch_in "select(.tid == $tid) | .pid" | sort -u)" -eq "$pids" ]
	done
}

says_threads() {
	[ "$(wc -l <tids)" -ge "$1" ]
}

is_over() {
	! ptrace-stat "$me" >/dev/null 2>&1
}

@test "each program of a process that runs already is told" {
	needs_os
	mkfifo go
	bash -c "read -r _ <go; /bin/true; exec sh -c '/bin/true; exec $work spin 20'" 3>&- &
	pids=$!
	ptrace-create --os=process --name="$me" --start -o a.log --pid="$pids"
	echo >go
	wait "$pids"
	wait_until is_over
	wait_until closed a.log
	ptrace-stat --json a.log | jq -c --argjson pid "$pids" \
		'[.processes[] | select(.pid == $pid) | [.name, (.executable | sub(".*/"; ""))]]' >told
	[ "$(jq -r '.[][0]' told)" = $'bash\nsh\nos_work' ]
	[ "$(jq -r '.[0][1]' told)" = bash ]
	# The parent of the first true is the shell, and its events are those of a shell.
	[ "$(ptrace-dump --json --fields=comm --event=os.fork --first=1 a.log | jq -r .comm)" = bash ]
}

@test "a process that runs already is described, and its descendants are seen" {
	needs_os
	mkfifo go
	# The child is there before the trace, and its own child comes later.
	bash -c "bash -c 'read -r _ <go; $work spin 50; :' mine; :" 3>&- &
	pids=$!
	wait_until has_children "$pids"
	child=$(pgrep -P "$pids")
	ptrace-create --os=process,sched,samples --name="$me" --start -o a.log --pid="$pids"
	echo >go
	wait "$pids"
	wait_until is_over
	wait_until closed a.log
	ptrace-stat --json a.log >stat.json
	for pid in "$pids" "$child"; do
		jq -e --argjson pid "$pid" '[.processes[] | select(.pid == $pid)] | length == 1 and
			.[0].name == "bash" and (.[0].mappings | length) >= 2 and
			(.[0].command_line | .[0:2]) == ["bash", "-c"] and .[0].build_id != null' stat.json
		[ "$(fields a.log os.exit "select(.pid == $pid) | .tid" | sort)" = "$pid" ]
		fields a.log 'os.switch_*' "select(.pid == $pid) | .event" | grep -q .
	done
	[ "$(fields a.log os.fork "select(.pid == $child) | .data.pid" | wc -l)" -eq 1 ]
	spin=$(fields a.log os.exec 'select(.data.name == "os_work") | .pid')
	[ "$(fields a.log os.sample "select(.pid == $spin) | .event" | wc -l)" -ge 10 ]
	# Nothing of the controller.
	[ -z "$(ptrace-dump --event='os.*' --fields=comm a.log | grep ptrace-create)" ]
}

has_children() { pgrep -P "$1"; }

@test "the setting is a key of ptrace.yaml" {
	needs_os
	printf 'os: sched,process\n' >p.yaml
	[ "$(ptrace-run -c p.yaml --dump-config true | grep ^os)" = "os: process,sched" ]
	ptrace-run -c p.yaml -o a.log true
	[ "$(events a.log os.exit)" -eq 1 ]
	[ "$(events a.log os.switch_in)" -ge 1 ]
	ptrace-run -c p.yaml --os=none -o b.log true 2>/dev/null
	[ "$(events b.log 'os.*')" -eq 0 ]
}

@test "a kind that there is not is refused with its place" {
	printf 'os: process,schedule\n' >p.yaml
	reports 125 "*p.yaml:1:5: os: 'schedule' is none of*" ptrace-run -c p.yaml true
	for bad in '' , process, 'process sched' none,process; do
		reports 125 "*--os: *" ptrace-run --os="$bad" true
	done
	[ ! -e ptrace.log ]
}

@test "without --os nothing of it is in the log of a program with the library" {
	ptrace-run -o a.log -- "$traced" -n 10
	[ "$(events a.log 'os.*')" -eq 0 ]
	run_split ptrace-stat a.log
	[[ $stdout != *os.* ]]
}

@test "what was handed over stays when the controller is killed" {
	needs_os
	has_ended='ptrace-stat --json "$0" | jq -e ".events[] | select(.event == \"os.exit\" and .count > 0)"'
	ptrace-run --os=process --name="$me" -o a.log -- \
		sh -c "/bin/true; until $has_ended; do sleep 0.02; done; kill -KILL \$PPID" "$me" 3>&- || true
	wait_until closed a.log
	[ "$(fields a.log os.exec .data.name | head -2)" = $'sh\ntrue' ]
	[ "$(fields a.log os.exit .pid | wc -l)" -ge 1 ]
}

closed() {
	ptrace-stat --json "$1" 2>/dev/null | jq -e '.complete' >/dev/null
}

@test "an unprivileged user gets them as far as the kernel lets him" {
	paranoid=$(cat /proc/sys/kernel/perf_event_paranoid) || skip "no perf_event_paranoid"
	without_privileges --os=process,sched -- sh -c '/bin/true; :'
	if [ "$paranoid" -gt 2 ]; then
		[[ $stderr == *"perf_event_paranoid=2"* ]]
	else
		[ -z "$stderr" ] || skip "$stderr"
		[ "$(events a.log os.exec)" -eq 2 ]
		[ "$(events a.log os.switch_in)" -ge 1 ]
	fi
}

@test "a cleared trace has no event from before, however many come meanwhile" {
	needs_os
	sh -c 'yes | cat >/dev/null' 3>&- &
	pids=$!
	POSIXTRACE_OS_BYTES=65536 ptrace-create --pid="$pids" --name="$me" --os=process,sched --start -o a.log
	for _ in $(seq 20); do
		now=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)
		ptrace-clear "$me"
		ptrace-flush "$me"
		[ "$(ptrace-dump --count --until="$now" a.log)" = 0 ]
	done
	[ "$(events a.log os.switch_in)" -gt 0 ]
	ptrace-shutdown --allow-loss "$me"
	pkill -P "$pids"
}

@test "to start a trace that runs drops no event" {
	needs_os
	mkfifo go
	sh -c 'read -r _ <go; for i in $(seq 200); do /bin/true; done' 3>&- &
	pids=$!
	ptrace-create --os=process --pid="$pids" --name="$me" --start -o a.log
	echo >go
	# The session ends with the process.
	while ptrace-start "$me" 2>/dev/null; do :; done
	wait_until closed a.log
	[ "$(fields a.log os.exec .data.name | grep -cx true)" -eq 200 ]
}
