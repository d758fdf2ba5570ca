#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Selections, merges and live sessions that become logs: ptrace-dump --to-log.

load ../../support/helpers

# What an event is, but for the number of its type and the log that it comes from.
plain() {
	jq -c 'del(.type_id, .log)' "$@"
}

# same_dump LOG COMMAND...: the log has the events that the command dumps
same_dump() {
	ptrace-dump "$1" | plain >copied
	"${@:2}" | plain >original
	[ -s original ]
	diff original copied
}

@test "a selection becomes a log" {
	ptrace-run -o run.log --max-data-size=40 -- "$traced" -N 5 -t 4 -s 60 -n 20
	for selection in --user '-e *event.3' '--first=7' '--where=truncated=="no"' \
		'--around=traced.event.2 --context=1ms,1ms' ''; do
		says_nothing ptrace-dump $selection --to-log=part.log run.log
		same_dump part.log ptrace-dump $selection run.log
		ptrace-dump --verify part.log
	done
	[ "$(stat -c %a part.log)" = 600 ]
	[ "$(ptrace-stat --json part.log | jq -c '.attributes | del(.log_max_size, .full_wait_ns)')" = \
		"$(ptrace-stat --json run.log | jq -c '.attributes | del(.log_max_size, .full_wait_ns)')" ]
	ptrace-dump --to-log=other.log --summary --json -e traced.event.1 run.log |
		jq -e '.summary.shown > 0 and .summary.complete'
}

@test "logs that are merged have the events of all, in their order" {
	ptrace-run -o a.log -- "$traced" -N 4 &
	ptrace-run -o b.log -- "$traced" -e traced.event.2 -t 3 -n 500
	wait $!
	ptrace-dump --to-log=both.log b.log a.log
	same_dump both.log ptrace-dump b.log a.log
	[ "$(events both.log traced.event.2)" -eq "$(($(events a.log traced.event.2) + 1500))" ]
	# The same events from two logs are of one time.
	cp b.log copy.log
	ptrace-dump --to-log=twice.log b.log copy.log
	same_dump twice.log ptrace-dump b.log copy.log
}

@test "layouts are carried over, and none is taken for another" {
	ptrace-run -o a.log -- "$traced" -e query -l 'u32 id' -d abcd
	ptrace-run -o b.log -- "$traced" -e query -l 'char[4] text' -d efgh
	ptrace-run -o c.log -- "$traced" -e query -l 'u32 id' -d ijkl
	reports 0 "*b.log: event type query has another layout than in the log or session before: it is called query (2)*" \
		ptrace-dump --user --to-log=all.log a.log b.log c.log
	ptrace-events --json --user all.log |
		jq -se 'map([.event, .layout, .count]) == [["query", "u32 id", 2], ["query (2)", "char[4] text", 1]]'
	ptrace-dump --verify all.log
	record "$me.a" -- -e query -l 'u32 id' -d abcd
	ptrace-snapshot -o held.log "$me.a"
	ptrace-events --json --user held.log | jq -se 'map(.layout) == ["u32 id"]'
}

@test "a filter keeps its meaning, and leaves nothing out" {
	record "$me.a" -o f.log -- -N 4
	ptrace-filter --set "$me.a" traced.event.2 traced.event.4
	ptrace-shutdown "$me.a"
	ptrace-run -o g.log -- "$traced" -e traced.event.4 -n 3
	# The types have other numbers there: one is missing.
	ptrace-dump --to-log=part.log -e 'posix_trace_filter' -e '*.[234]' f.log
	same_dump part.log ptrace-dump -e 'posix_trace_filter' -e '*.[234]' f.log
	ptrace-dump part.log | jq -se 'any(.[]; .new == ["traced.event.2", "traced.event.4"])'
	# The filter of one log is none of another.
	ptrace-dump --to-log=both.log f.log g.log
	same_dump both.log ptrace-dump f.log g.log
	[ "$(events both.log traced.event.4)" -eq 4 ]
}

@test "losses are told in the copy, and their events stay" {
	ptrace-run -o lossy.log --stream-min-size=4K --stream-full-policy=loop --allow-loss -- \
		"$traced" -n 100000
	reports 3 "* lost in the stream, which was full" ptrace-dump --to-log=copy.log lossy.log
	same_dump copy.log ptrace-dump --allow-loss lossy.log
	lost=$(ptrace-stat --allow-loss --json lossy.log | jq .losses.stream_events)
	[ "$lost" -gt 0 ]
	[ "$(ptrace-stat --allow-loss --json copy.log | jq .losses.stream_events)" -eq "$lost" ]
	ptrace-dump --allow-loss --to-log=copy.log lossy.log
	# Of a gap of which only the begin is selected nothing is left, and nothing behind it is lost.
	ptrace-dump --allow-loss --to-log=part.log -e posix_trace_overflow -e traced.event lossy.log
	ptrace-dump --allow-loss -e traced.event lossy.log | plain >original
	[ -s original ]
	ptrace-dump --allow-loss part.log | plain >copied
	diff original copied
	# Of several logs the numbers are added.
	cp lossy.log copy.log
	ptrace-dump --allow-loss --to-log=twice.log lossy.log copy.log
	[ "$(ptrace-stat --allow-loss --json twice.log | jq .losses.stream_events)" -eq $((2 * lost)) ]
	[ "$(events twice.log traced.event)" -eq "$((2 * $(events lossy.log traced.event)))" ]
}

@test "a damaged log: what is readable, and status 3" {
	ptrace-run --no-loss -o run.log -- "$traced" -n 60000
	size=$(stat -c %s run.log)
	cp run.log bad.log
	damages bad.log '\377\377\377\377' $((size / 2))
	reports 3 "*as the log is damaged*" ptrace-dump --to-log=copy.log bad.log
	ptrace-dump --allow-loss -e traced.event bad.log | plain >original
	ptrace-dump --allow-loss -e traced.event copy.log | plain >copied
	diff original copied
	# The copy says why, also that of the copy.
	missing=$(ptrace-stat --allow-loss --json bad.log | jq .losses.unreadable_events)
	ptrace-dump --allow-loss --to-log=again.log copy.log
	for log in copy.log again.log; do
		reports 3 "$log: $missing events missing, as what this log was made from lacked them or was damaged" ptrace-stat --json "$log"
		jq -e --argjson n "$missing" '.losses.source_unreadable_events == $n and
			.losses.log_events == 0 and .losses.unreadable_events == 0 and
			(.losses.unknown | not) and (.complete | not)' <<<"$stdout"
		exits 3 ptrace-dump --count "$log"
	done
	# Without an end nobody knows how many there were.
	head -c $((size - 288)) run.log >open.log
	exits 3 ptrace-dump --to-log=copy.log open.log
	reports 3 "*events may be missing, and it is not known how many, as what this log was made from *" ptrace-stat --json copy.log
	jq -e '.losses.unknown' <<<"$stdout"
}

@test "a copy says that names, machine or a process were damaged in its source, and so does its copy" {
	ptrace-run -o run.log -- "$traced" -e the.name -n 3
	# The name of the event type, of the machine, and the path of the program.
	for at in "$(grep -abo the.name run.log | head -n 1 | cut -d: -f1)" $((1760 + 110)) \
		"$(grep -abo "$traced" run.log | head -n 1 | cut -d: -f1)"; do
		cp run.log bad.log
		damages bad.log '\377' "$at"
		reports 3 '*' ptrace-dump --to-log=copy.log bad.log
		ptrace-dump --allow-loss --to-log=again.log copy.log
		for log in copy.log again.log; do
			tells 3 "ptrace-dump: $log: 1 part without events was damaged in what this log was made from: names of event types, and what it says of machine, processes or clocks, may be missing" ptrace-dump --verify "$log"
			answers 3 '.losses.source_damaged_parts == 1 and .losses.damaged_parts == 0 and
				.losses.missing_names == 0 and .losses.source_unreadable_events == 0 and
				(.losses.unknown | not) and (.complete | not)' ptrace-stat --json "$log"
		done
	done
	# Of several sources the parts are added.
	ptrace-dump --allow-loss --to-log=both.log bad.log copy.log
	ptrace-stat --json --allow-loss both.log | jq -e '.losses.source_damaged_parts == 2'
	ptrace-dump --to-log=copy.log run.log
	ptrace-stat --json copy.log | jq -e '.losses.source_damaged_parts == 0'
}

@test "a reader of standard output that has enough is no error, also where that is named" {
	ptrace-run --no-loss -o run.log -- "$traced" -n 20000
	for command in 'ptrace-dump --to-log=/dev/stdout' 'ptrace-report -o /dev/stdout' 'ptrace-export --to=csv -o /dev/stdout'; do
		# shellcheck disable=SC2086 # words
		{ $command run.log 2>err; echo $? >status; } | head -c 10 >/dev/null
		[ "$(cat status)" -eq 0 ]
		[ ! -s err ]
	done
}

@test "a session that is followed, one that is shown, a pipe" {
	traced_session "$me.a" --start -- -w -W -n 50
	begins follower ptrace-dump -f "$me.a" --to-log=live.log
	wait_until [ -s live.log ]
	go done
	ptrace-dump --to-log=now.log "$me.a"
	same_dump now.log ptrace-dump "$me.a"
	ptrace-shutdown "$me.a"
	wait "$follower"
	[ "$(events live.log traced.event)" -eq 50 ]
	ptrace-dump --verify live.log
	cat live.log | ptrace-dump --to-log=/dev/stdout - | cat >piped.log
	same_dump piped.log ptrace-dump live.log
}

@test "what cannot be combined" {
	ptrace-run -o run.log -- "$traced"
	for options in --count --verify --last=3 --fields=time --relative '--header=always --relative' \
		'--to-log=b.log' '--follow=x --around=y'; do
		case $options in *follow*) log= ;; *) log=run.log ;; esac
		reports 2 '*' ptrace-dump $options --to-log=a.log $log
	done
	for options in --force --to-log= --to-log=-; do
		reports 2 '*' ptrace-dump $options run.log
	done
	reports 2 "--to-log: '/dev/stdout' is standard output; name another file*" ptrace-dump --summary --to-log=/dev/stdout run.log
	[ ! -e a.log ]
}

@test "only a log is replaced, and none that is read" {
	ptrace-run -o run.log -- "$traced" -n 9
	cp run.log kept.log
	ln -s run.log link.log
	for name in run.log link.log; do
		reports 1 "$name: is read, and cannot be written to meanwhile" ptrace-dump --to-log="$name" run.log
		cmp run.log kept.log
	done
	echo mine >text
	reports 1 "text: exists and is not a trace log*" ptrace-dump --to-log=text run.log
	[ "$(cat text)" = mine ]
	ptrace-dump --to-log=text --force run.log
	[ "$(events text traced.event)" -eq 9 ]
	ptrace-dump --to-log=text --until=2001-01-01 run.log
	[ "$(events text)" -eq 0 ]
	exits 1 ptrace-dump --to-log=new.log none.log
	[ ! -e new.log ]
	reports 1 '*' ptrace-dump --to-log=no/new.log run.log
}

@test "of a name that is not there no log is made, and none is replaced" {
	ptrace-run -o run.log -- "$traced" -n 9
	cp run.log old.log
	for options in '-e traced.evnt' '-e a -e b' '--around=nosuch'; do
		for log in new.log old.log; do
			prints 1 '' ptrace-dump $options --to-log="$log" run.log
			[[ $stderr == *": no event type has such a name"* ]]
		done
		[ ! -e new.log ]
		cmp run.log old.log
	done
	# One name that is there is enough.
	exits 1 ptrace-dump -e nosuch -e traced.event --to-log=new.log run.log
	[ "$(events new.log)" -eq 9 ]
	# The name may be what a log lacks that has no end.
	size=$(stat -c %s run.log)
	head -c $((size - 288)) run.log >open.log
	exits 3 ptrace-dump -e nosuch --to-log=none.log open.log
	[ "$(events none.log)" -eq 0 ]
}

# whose LOG: what it tells of its machine, clocks and processes
whose() {
	ptrace-stat --json --allow-loss "$1" | jq -S '[.host, .clocks, .processes]'
}

@test "a copy tells machine, clocks and the processes that have events" {
	ptrace-run -o run.log -- "$traced" -c 1 -n 3
	[ "$(jq length <<<"$(whose run.log)")" -eq 3 ]
	ptrace-dump --to-log=copy.log run.log
	[ "$(whose copy.log)" = "$(whose run.log)" ]
	ptrace-dump --verify copy.log
	# A copy of a copy, and a part: the other processes have no events there.
	ptrace-dump --to-log=again.log copy.log
	[ "$(whose again.log)" = "$(whose run.log)" ]
	child=$(ptrace-dump --user --json run.log | head -n 1 | jq .pid)
	ptrace-dump --to-log=part.log --pid="$child" run.log
	[ "$(ptrace-stat --json part.log | jq -c '[.processes[].pid] | unique')" = "[$child]" ]
	[ "$(ptrace-dump --fields=host --user --json part.log | sort -u)" = \
		"$(ptrace-dump --fields=host --user --json run.log | sort -u)" ]
	# Of several logs of one machine it has the processes of all.
	ptrace-run -o more.log -- "$traced"
	silently 0 ptrace-dump --to-log=both.log run.log more.log
	[ "$(ptrace-stat --json both.log | jq -c '[.processes[].pid] | unique')" = \
		"$({ whose run.log; whose more.log; } | jq -sc '[.[][2][].pid] | unique')" ]
	# A snapshot of a session with a log.
	traced_start -w -W
	ptrace-create -n "$me" --start -p "$pid" -o session.log
	go done
	ptrace-snapshot "$me" -o shot.log
	[ "$(ptrace-stat --json shot.log | jq -c '[.processes[] | select(.name == "traced").pid] |
		unique')" = "[$pid]" ]
}

@test "a copy has the times of programs that were observed and looked at" {
	needs_os
	ptrace-run --os=process -o run.log -- sh -c "exec sh -c 'exec $traced'"
	ptrace-dump --to-log=copy.log run.log
	[ "$(whose copy.log)" = "$(whose run.log)" ]
}

@test "processes of different machines are not mixed up" {
	[ "$EUID" -eq 0 ] || skip "root only"
	unshare -u true 2>/dev/null || skip "no namespaces of host names"
	ptrace-run -o here.log -- "$traced"
	unshare -u sh -c 'echo elsewhere >/proc/sys/kernel/hostname && exec ptrace-run -o there.log -- \
		"$1"' _ "$traced"
	reports 0 "*does not tell machine and processes*" ptrace-dump --to-log=both.log here.log there.log
	[ "$(ptrace-stat --json both.log | jq -c '[.host, .processes]')" = '[null,[]]' ]
	[ "$(ptrace-dump --user both.log | wc -l)" -eq 2 ]
}

@test "no part of a log is left for which there is no room" {
	ptrace-run -o run.log -- "$traced" -n 20000 -s 100
	record "$me.a" -- -n 5000 -s 100
	mkdir full
	in_mounts 0 'mount -t tmpfs -o size=64k tmpfs full
		for command in "ptrace-dump --to-log=full/new.log run.log" "ptrace-snapshot -o full/new.log $1"; do
			: >full/old.log
			for file in new old; do
				status=0
				${command/new.log/$file.log} || status=$?
				[ "$status" -eq 1 ]
			done
			[ ! -e full/new.log ]
			[ -e full/old.log ]
			[ ! -s full/old.log ]
		done' "$me.a"
	[ -z "$stdout" ]
	[ "$(grep -c "full/...\.log: writing the log failed: No space left on device" stderr.txt)" -eq 4 ]
}

@test "a copy says which processes and names its sources lack" {
	made one.log <<-END
		event 100 7 8 a
		untraced 2 24
		refused 5
	END
	made two.log <<-END
		event 200 7 8 a
		untraced 1 12
		refused 3
	END
	made whole.log <<<'event 300 7 8 a'
	# lacks COPY: its processes, their error, its names
	lacks() {
		ptrace-stat --allow-loss --json "$1" 2>stderr.txt |
			jq -c '.losses | [.untraced_processes, .untraced_error, .refused_names]'
	}
	tells 3 '*one.log: 2 processes could not be traced: too few descriptors*' ptrace-dump --to-log=copy.log one.log
	[ "$(lacks copy.log)" = '[2,24,5]' ]
	ptrace-dump --allow-loss --to-log=again.log copy.log
	[ "$(lacks again.log)" = '[2,24,5]' ]
	grep -qx 'ptrace-stat: again.log: 2 processes could not be traced: too few descriptors' stderr.txt
	grep -q 'again.log: at least 5 event names got no type' stderr.txt
	# The names that two lack may be the same.
	ptrace-dump --allow-loss --to-log=both.log one.log two.log whole.log
	[ "$(lacks both.log)" = '[3,12,5]' ]
	exits 0 ptrace-dump --to-log=copy.log whole.log
	[ "$(lacks copy.log)" = '[0,0,0]' ]
}
