#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

# Snapshots that a session makes by itself when an event comes: --snapshot-on, --snapshot-max.
load ../../support/helpers

# session OPTION...: a session without a log of a program that has recorded 50 events and waits
session() {
	record "$me.a" "$@" -- -n 50
}

# snapshots_are COUNT: whether the session says that it has written so many
snapshots_are() {
	[ "$(ptrace-stat --json "$me.a" | jq .snapshots.written)" = "$1" ]
}

# is_closed LOG: it can be read, to its end, and is what it says of itself
is_closed() {
	ptrace-dump --verify --allow-loss "$1" >/dev/null 2>&1 &&
		ptrace-stat --allow-loss --json "$1" | jq -e '.losses.unclosed | not' >/dev/null
}

@test "an event just before the end of a run makes a snapshot" {
	reports 0 "no event has a name that matches --snapshot-on=boo\*" ptrace-run -o run.log --json=result --snapshot-on='boo*' -- \
		"$traced" -e quiet -n 100
	[ "$(jq -c '.snapshots | [.made, .used_up, .unmatched]' result)" = '[[],false,[{"glob":"boo*"}]]' ]
	[ "$(echo run.log*)" = run.log ]
	reports 0 "$PWD/run.log.snapshot-001: snapshot of boom at 2*: * events" ptrace-run -o run.log --json=result --snapshot-on='boo*' -- \
		sh -c '"$1" -e quiet -n 100; exec "$1" -e boom' _ "$traced"
	# The event, and what was before it. The stream had more; nothing was taken from it.
	is_closed run.log.snapshot-001
	counts run.log.snapshot-001 quiet=100 boom=1
	counts run.log boom=1 quiet=100
	[ "$(stat -c %a run.log.snapshot-001)" = 600 ]
	[ "$(ls)" = $'result\nrun.log\nrun.log.snapshot-001\nstderr.txt\nstdout.txt' ]
	jq -e --arg log "$PWD/run.log.snapshot-001" '.snapshots | .made[0].log == $log and
		.made[0].event == "boom" and .made[0].error == 0 and (.used_up | not) and
		.unseen_events == 0 and .unmatched == []' result
	[ "$(jq -r '.snapshots.made[0].time' result)" = \
		"$(ptrace-dump --event=boom run.log.snapshot-001 | jq -r .time)" ]
	[ "$(jq '.snapshots.made[0].events' result)" -eq "$(events run.log.snapshot-001)" ]
	# It tells whose it is, and which policy makes that the stream has what was before.
	ptrace-stat --json run.log.snapshot-001 | jq -e --arg host "$(uname -n)" \
		'.host.name == $host and .attributes.stream_full_policy == "loop"'
	valid run <result
}

@test "a session without a log writes them where it was made, and goes on" {
	session --snapshot-on=alarm --snapshot-on='*.failed'
	ptrace-stat --json "$me.a" >json
	jq -e '.snapshots == {max: 10, written: 0, failed: 0, error: 0, used_up: false}' json
	valid stat <json
	ptrace-event --pid="$pid" calm
	ptrace-event --pid="$pid" alarm
	wait_until snapshots_are 1
	counts "$me.a.snapshot-001" traced.event=50 calm=1 alarm=1
	is_closed "$me.a.snapshot-001"
	# A name that nobody had opened when the session was made, and an event that makes none.
	ptrace-event --pid="$pid" calm
	ptrace-event --pid="$pid" disk.failed
	wait_until snapshots_are 2
	counts "$me.a.snapshot-002" calm=2 disk.failed=1
	ptrace-stat --json "$me.a" >json
	jq -e --arg log "$PWD/$me.a.snapshot-002" '.snapshots |
		.event == "disk.failed" and .last_log == $log' json
	[ "$(jq -r .snapshots.time json)" = \
		"$(ptrace-dump --event=disk.failed "$me.a.snapshot-002" | jq -r .time)" ]
	valid stat <json
	ptrace-stat "$me.a" | grep -x "last snapshot of  *disk.failed"
	[ "$(ptrace-dump --count --format=text "$me.a")" -eq 55 ]
	ptrace-shutdown --json "$me.a" >json
	jq -e '.snapshots.written == 2 and .error == 0' json
	valid session <json
	[ ! -e "$me.a.snapshot-003" ]
}

@test "ptrace-shutdown names the patterns that no event has matched" {
	# More than one page of them, and one that is matched.
	mapfile -t many < <(seq -f "--snapshot-on=none.%.0f.$(printf 'x%.0s' {1..100})*" 200)
	session --snapshot-on=alarm "${many[@]}" --snapshot-on=$'odd\n' --only='*'
	ptrace-event --pid="$pid" alarm
	wait_until snapshots_are 1
	# They are no patterns of what is recorded.
	ptrace-filter --json "$me.a" >json
	jq -e '[.globs[].glob] == ["*"]' json
	exits 0 ptrace-shutdown --json "$me.a"
	[ "$(grep -c "no event has a name that matches --snapshot-on=none" stderr.txt)" -eq 200 ]
	[ "$(wc -l <stderr.txt)" -eq 201 ]
	fails grep -q alarm stderr.txt
	jq -e '(.snapshots.unmatched | length) == 201 and (has("unmatched") | not) and
		.snapshots.unmatched[200] == {"glob": "odd\n"}' <<<"$stdout"
	valid session <<<"$stdout"
}

@test "a pair whose end or whose field no event has is named at the end" {
	cat >program <<-'END'
		for name in "$@"; do
			ptrace-event "$name" id=1
		done
	END
	local end='job.begin..job.edn by data.id > 1h' field='job by data.idd > 1h'
	reports 0 "no event has the name of the end of --snapshot-on=$end" \
		ptrace-run -o run.log --json=result --snapshot-on="$end" -- sh program job.begin job.end
	[ "$(jq -c .snapshots.unmatched result)" = "[{\"glob\":\"$end\"}]" ]
	reports 0 "no event of the pair that was read has the field of --snapshot-on=$field" \
		ptrace-run -o run.log --json=result --snapshot-on="$field" -- sh program job.begin job.end
	[ "$(jq -c .snapshots.unmatched result)" = "[{\"glob\":\"$field\"}]" ]
	# The begin is the first that is missed, and one event with the field is enough.
	reports 0 "no event has a name that matches --snapshot-on=$field" \
		ptrace-run -o run.log --snapshot-on="$field" -- sh program job.end
	says_nothing ptrace-run -o run.log --snapshot-on="$field" -- \
		sh -c 'sh program job.begin job.end; ptrace-event job.end idd=1'
	session --snapshot-on="$end" --snapshot-on="$field" --snapshot-on='job by data.id > 1h'
	for name in job.begin job.end; do
		ptrace-event --pid="$pid" "$name" id=1
	done
	exits 0 ptrace-shutdown --json "$me.a"
	[ "$stderr" = "ptrace-shutdown: $me.a: no event has the name of the end of --snapshot-on=$end
ptrace-shutdown: $me.a: no event of the pair that was read has the field of --snapshot-on=$field" ]
	jq -e --arg end "$end" --arg field "$field" '[.snapshots.unmatched[].glob] == [$end, $field]' <<<"$stdout"
	valid session <<<"$stdout"
}

@test "how many there are is bounded, and how often they come" {
	: >"$me.a.snapshot-001"
	echo mine >"$me.a.snapshot-003"
	: >"$me.a.snapshot-004.partial"
	session --snapshot-on=alarm --snapshot-max=2
	ptrace-event --pid="$pid" alarm
	wait_until snapshots_are 1
	# However long it takes to record them, the session finds all of these at once.
	controller=$(controller "$me.a")
	kill -STOP "$controller"
	for i in 1 2 3 4; do
		ptrace-event --pid="$pid" alarm
	done
	kill -CONT "$controller"
	wait_until snapshots_are 2
	# Files that are there stay, and their numbers are left out.
	[ ! -s "$me.a.snapshot-001" ]
	[ "$(cat "$me.a.snapshot-003")" = mine ]
	is_closed "$me.a.snapshot-002"
	is_closed "$me.a.snapshot-005"
	# They make one together, a second after the other.
	[ "$(events "$me.a.snapshot-005" alarm)" -eq 5 ]
	first=$(ptrace-dump --event=alarm --first=1 "$me.a.snapshot-002" | jq .ns)
	file=$(($(date -d "$(stat -c %y "$me.a.snapshot-005")" +%s%N)))
	[ $((file - first)) -ge 950000000 ]
	# No more than two.
	ptrace-event --pid="$pid" alarm
	wait_until eval '[ "$(ptrace-stat --json "$me.a" | jq .snapshots.used_up)" = true ]'
	reports 0 "*--snapshot-max*" ptrace-shutdown "$me.a"
	[ "$(find . -name "*.snapshot-*" | wc -l)" -eq 5 ]
	# Of a run, the first event that makes none is told, and no later one.
	run_split ptrace-run -o run.log --snapshot-max=1 --snapshot-on=storm --json=result -- \
		sh -c '"$0" -e storm; until [ -e run.log.snapshot-001 ]; do sleep 0.02; done
			exec "$0" -e storm -n 400' "$traced"
	[ "$status" -eq 0 ]
	[ "$(grep -c "snapshot of storm at" stderr.txt)" -eq 1 ]
	[ "$(grep -c "no snapshot is made" stderr.txt)" -eq 1 ]
	[ "$(wc -l <stderr.txt)" -eq 2 ]
	[ "$(jq '.snapshots | .used_up and (.made | length) == 1' result)" = true ]
}

@test "what is about to be flushed or cleared makes its snapshot before" {
	session --snapshot-on=alarm -o own.log --stream-full-policy=until-full
	ptrace-event --pid="$pid" alarm
	ptrace-flush "$me.a"
	counts own.log.snapshot-001 alarm=1 traced.event=50
	ptrace-event --pid="$pid" alarm
	ptrace-clear "$me.a"
	counts own.log.snapshot-002 alarm=1 traced.event=0
	ptrace-event --pid="$pid" alarm
	ptrace-shutdown "$me.a"
	[ "$(events own.log.snapshot-003 alarm)" -eq 1 ]
	[ "$(events own.log alarm)" -eq 1 ]
}

@test "events that a full stream did not take are lost, not overwritten" {
	tells 0 "*ptrace-run: * events were lost before they could be compared with --snapshot-on; a larger *" \
		ptrace-run -o run.log --quiet --allow-loss --json=result --snapshot-on=none \
		--stream-full-policy=until-full --stream-min-size=16K -- "$traced" -n 30000
	[[ $stderr == *": $(jq .snapshots.unseen_events result) events were lost before"* ]]
}

@test "each flush or clear makes one snapshot, however many events match" {
	local begin=$SECONDS
	begins runner ptrace-run --name="$me.a" -o run.log --quiet --stream-min-size=64K --snapshot-on=storm --snapshot-max=900 -- \
		"$traced" -e storm -n 2000000000
	wait_until snapshots_are 1
	for verb in clear flush clear; do
		exits 0 timeout "$patience" "ptrace-$verb" "$me.a"
	done
	written=$(ptrace-stat --json "$me.a" | jq .snapshots.written)
	# One for each of the three, and one a second.
	[ "$written" -le $((SECONDS - begin + 5)) ]
	kill "$runner"
	ends 143 "$runner"
}

@test "events do not name files, and stay on one line" {
	name=$'../../x\n\e[1m/tmp/y'
	reports 0 '*' ptrace-run -o run.log --snapshot-on='*' --json=result -- "$traced" -e "$name"
	[[ $stderr != *$'\e'* ]]
	[ "$(jq -r '.snapshots.made[0].event' result)" = "$name" ]
	[ "$(ls -A)" = $'result\nrun.log\nrun.log.snapshot-001\nstderr.txt\nstdout.txt' ]
	# A log that is no regular file has no place for others beside it.
	ptrace-run -o /dev/null --name="$me.r" --snapshot-on='*' -- "$traced"
	[ -s "$me.r.snapshot-001" ]
	[ ! -e /dev/null.snapshot-001 ]
}

@test "a snapshot that cannot be written leaves no file, and is told" {
	# More than the limit of files.
	traced_session "$me.a" --start --snapshot-on=alarm -- -w -W -n 1000
	prlimit --fsize=2048 --pid="$(controller "$me.a")"
	go done
	ptrace-event --pid="$pid" alarm
	wait_until eval '[ "$(ptrace-stat --json "$me.a" | jq .snapshots.failed)" = 1 ]'
	[ "$(ptrace-stat --json "$me.a" | jq .snapshots.error)" -eq 27 ]
	[ -z "$(find . -name "*snapshot-*")" ]
	reports 3 "$me.a: 1 snapshot could not be written: File too large" ptrace-shutdown --json "$me.a"
	jq -e '.snapshots.failed == 1 and .snapshots.written == 0' stdout.txt
	valid session <stdout.txt
	# A disk that is full, and one on which nothing can be written at all.
	mkdir disk
	printf '%s -e quiet -n 9000 -s 100\nexec %s -e boom\n' "$traced" "$traced" >program
	in_mounts 1 'mount -t tmpfs -o size=300k none disk
		cd disk
		ptrace-run --allow-loss -o run.log --snapshot-on=boom -- sh ../program
		ls -A
		mount -o remount,ro none .
		ptrace-create --pid=$$ --name="$1" --snapshot-on=boom' "$me.b"
	[[ $stderr == *": cannot write the snapshot of boom at "*": No space left on device"* ]]
	[[ $stderr == *"ptrace-create: --snapshot-on: no snapshots can be written here: Read-only"* ]]
	[ "$stdout" = run.log ]
}

@test "a session that is killed while it writes leaves no half file under the name" {
	record "$me.a" --snapshot-on=alarm --stream-min-size=64M -- -n 600000
	controller=$(controller "$me.a")
	ptrace-event --pid="$pid" alarm
	wait_until test -e "$me.a.snapshot-001.partial" -o -e "$me.a.snapshot-001"
	kills "$controller"
	if [ -e "$me.a.snapshot-001" ]; then is_closed "$me.a.snapshot-001"; fi
	ptrace-salvage --all --discard
}

@test "a pair that takes longer than its limit makes a snapshot" {
	# The pair with the id 1 ends after its limit. Those with the ids 2 and 3 lie within it, and are of another type
	# or within the limit.
	cat >program <<-'END'
		ptrace-event job.begin id=1
		ptrace-event step.begin id=2
		ptrace-event step.end id=2
		sleep 0.3
		ptrace-event job.begin id=3
		ptrace-event job.end id=3
		ptrace-event job.end id=1
	END
	exits 0 ptrace-run -o run.log --json=result --snapshot-on='job by data.id > 250ms' \
		--snapshot-on='step.begin..step.end > 1h' \
		--snapshot-on='none by data.id > 1s' -- sh program
	jq -e '.snapshots | (.made | length == 1) and (.unmatched == [{"glob": "none by data.id > 1s"}])' result
	is_closed run.log.snapshot-001
	[[ $stderr == *"$PWD/run.log.snapshot-001: snapshot of job."* ]]
	says_nothing ptrace-run -o nested.log --snapshot-on='job > 1h' -- sh program
	[ ! -e nested.log.snapshot-001 ]
}

@test "a pair that does not end makes a snapshot while it is open, and one only" {
	cat >program <<-'END'
		ptrace-event job.begin id=1
		while [ ! -e run.log.snapshot-001 ]; do sleep 0.01; done
		ptrace-event job.end id=1
		sleep 1.2
		ptrace-event job.begin id=2
	END
	reports 0 "$PWD/run.log.snapshot-001: snapshot of job.begin at *" ptrace-run -o run.log --json=result \
		--snapshot-on='job by data.id > 100ms' -- sh program
	counts run.log.snapshot-001 job.begin=1
	[ "$(jq -c '[.snapshots.made[].event]' result)" = '["job.begin"]' ]
	[ "$(jq -r '.snapshots.made[0].time' result)" = \
		"$(ptrace-dump --event=job.begin run.log.snapshot-001 | jq -r .time)" ]
}

@test "a pair whose last event a full stream has lost makes no snapshot" {
	cat >program <<-END
		ptrace-event job.begin id=1
		'$traced' -n 5000
		ptrace-event job.end id=1
		sleep 0.5
	END
	exits 3 ptrace-run -o run.log --stream-full-policy=until-full --stream-min-size=16K --json=result \
		--snapshot-on='job by data.id > 200ms' -- sh program
	[ "$(jq -c .snapshots.made result)" = '[]' ]
}

@test "a session answers while a program records pairs faster than they are read" {
	begins runner ptrace-run --name="$me.a" -o run.log --snapshot-on='traced.event.1..traced.event.2 > 1h' -- \
		"$traced" -N 2 -n 2000000000
	wait_until snapshots_are 0
	# What is about to be cleared is looked at before, to the moment of the command.
	exits 0 timeout "$patience" ptrace-clear "$me.a"
	kill "$runner"
	ends 143 "$runner"
}

@test "pairs that never end do not fill the memory" {
	exits 0 ptrace-run --name="$me.a" -o run.log --quiet --snapshot-on='job > 1ms' --snapshot-max=999 -- sh -c '
		for i in 1 2 3 4 5 6; do
			"$0" -e job.begin -n 200000
			ptrace-clear "$1" >&2
			sed -n "s/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p" /proc/$PPID/status
		done' "$traced" "$me.a"
	mapfile -t kilobytes <stdout.txt
	[ "${#kilobytes[@]}" -eq 6 ]
	[ -z "${PTRC_SAN_CFLAGS-}" ] || return 0 # the address sanitizer keeps what was freed
	# 200,000 open pairs take 50 MB.
	[ $((kilobytes[5] - kilobytes[1])) -lt 100000 ]
}

@test "settings that cannot be" {
	while IFS=$'\t' read -r want options; do
		# shellcheck disable=SC2086 # several options
		reports 125 "*$want*" ptrace-run -o run.log $options -- true
	done <<-'END'
		needs snapshot-on	--snapshot-max=3
		stream-full-policy loop	--snapshot-on=a --stream-full-policy=flush
		stream-full-policy flush	--snapshot-on=a --full-wait=1s
		--snapshot-max	--snapshot-on=a --snapshot-max=0
		--snapshot-max	--snapshot-on=a --snapshot-max=1000
		is empty	--snapshot-on=
		is not X, for X.begin..X.end	--snapshot-on=..end>1s
	END
	for text in 'x > y' 'req>5' 'req>' 'req<5ms'; do
		reports 125 "*'$text' is not PAIR > TIME, *" ptrace-run -o run.log --snapshot-on="$text" -- true
	done
	reports 125 "*events have no field 'no'*" ptrace-run -o run.log --snapshot-on="job by no > 1s" -- true
	[ ! -e run.log ]
	printf 'snapshot-on:\n  - "*.failed"\n  - alarm\nsnapshot-max: 3\noutput: run.log\n' >file.yaml
	ptrace-run --dump-config -c file.yaml >dump
	[ "$(grep -A2 '^snapshot-on' dump)" = $'snapshot-on:\n  - "*.failed"\n  - alarm' ]
	grep -x 'snapshot-max: 3' dump
	grep -x 'stream-full-policy: loop' dump
	ptrace-run -c file.yaml -- "$traced" -e disk.failed
	is_closed run.log.snapshot-001
	# Without patterns there is nothing to show, and the built-in policy is another one.
	ptrace-run --dump-config >dump
	[ "$(grep -c snapshot dump)" -eq 0 ]
	grep -x 'stream-full-policy: flush' dump
}
