#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # options that are several words
# Logs that go on in another file: --log-rotate and --log-keep.

load ../../support/helpers

# At least four files, with 9000 events in all: a flush that is due by time may begin another.
make_log() {
	ptrace-run -o run.log --name="$me" --log-rotate=16K "$@" -- sh -c "$in_parts" "$traced" "$me"
}

in_parts='for i in 1 2 3; do "$0" -n 3000; ptrace-flush "$1"; done'

@test "a log goes on in other files, which are one log to the commands" {
	make_log
	[ -f run.log.000003 ]
	[ "$(events run.log traced.event)" -eq 9000 ]
	ptrace-dump --verify run.log
	# In order, and the same as the files one by one.
	ptrace-dump run.log >all.json
	jq -s -e 'map(.ns) | . == sort' all.json
	for file in run.log*; do ptrace-dump - <"$file"; done | diff - all.json
	ptrace-dump --threads=1 run.log | diff - all.json
	[ "$(events run.log)" -eq "$(wc -l <all.json)" ]
	ptrace-dump --last=1500 run.log | diff - <(tail -n 1500 all.json)
	ptrace-dump --first=1500 run.log | diff - <(head -n 1500 all.json)
	ptrace-stat --json run.log | jq -e --argjson n "$(wc -l <all.json)" \
		'.counts.log_events == $n and .attributes.log_rotate_bytes == 16384 and
		 .attributes.log_rotate_ns == 0 and .attributes.log_keep == 0'
	ptrace-dump --to-log=one.log run.log
	ptrace-dump one.log | diff - all.json
	[ "$(ls one.log*)" = one.log ]
	since=$(sed -n 4501p all.json | jq -r .time)
	ptrace-dump --since="$since" one.log >late.json
	[ "$(wc -l <late.json)" -ge 4000 ]
	ptrace-dump --since="$since" run.log | diff - late.json
	ptrace-stat --json one.log | jq -e '.attributes.log_rotate_bytes == 0'
}

@test "the files of a log beside its first file are read once, and a log twice is refused" {
	make_log
	ptrace-dump run.log >all.json
	silently 0 ptrace-dump run.log*
	diff stdout.txt all.json
	silently 0 ptrace-check --times='traced.event max 9000' $(printf '%s\n' run.log* | sort -r)
	ptrace-report --text run.log* | diff - <(ptrace-report --text run.log)
	for command in 'ptrace-dump --count' 'ptrace-check --no-loss' 'ptrace-report --text' 'ptrace-stat --label=h=run.log'; do
		refuses 2 "run.log: is given twice*" $command run.log run.log.000002 run.log
	done
	ln -s run.log same.log
	for other in ./run.log same.log; do
		refuses 2 "$other: is given twice*" ptrace-dump run.log $other
	done
	# A later file that is not named as the first one is.
	refuses 2 "./run.log.000001: is given twice*" ptrace-dump run.log ./run.log.000001
	refuses 2 "run.log: is given twice*" ptrace-dump ./run.log.000001 run.log
	ptrace-stat --diff run.log run.log
	# Without the first name, each file is a log.
	first=$(ptrace-dump --count - <run.log)
	rm run.log
	silently 0 ptrace-dump --count run.log.*
	[ "$stdout" -eq $(($(wc -l <all.json) - first)) ]
}

@test "files that are missing are told with status 3" {
	make_log
	missing=$(ptrace-dump --count run.log.000001)
	rm run.log.000001
	reports 3 "run.log: 1 file of the log is missing, with [1-9]* events" ptrace-dump --count run.log
	readable=$stdout
	exits 3 ptrace-stat --json run.log
	# An OVERFLOW and a RESUME stand for the file.
	[ "$(jq .counts.log_events <<<"$stdout")" -eq $((readable - 2)) ]
	jq -e --argjson n "$missing" '.losses.missing_files == 1 and .losses.deleted_files == 0 and
		.losses.missing_events == $n and .losses.unreadable_events == 0 and
		(.losses.unknown | not)' <<<"$stdout"
	# A log of what is there lacks as many; and so does one without the first file.
	ptrace-dump --to-log=one.log run.log || [ $? -eq 3 ]
	reports 3 "one.log: $missing events missing, as what this log was made from lacked them or was damaged" ptrace-stat --json one.log
	jq -e --argjson n "$missing" '.losses.source_unreadable_events == $n' <<<"$stdout"
	earlier=$(ptrace-dump --count - <run.log)
	mv run.log away
	run_split ptrace-stat --json run.log
	jq -e --argjson n "$((missing + earlier))" \
		'.losses.missing_files == 2 and .losses.missing_events == $n' <<<"$stdout"
	mv away run.log
	# A file alone lacks nothing.
	silently 0 ptrace-dump --count run.log.000002
	# Who judges it is told that it is not all.
	note="is one file of a log that is rotated: what the others have, or lack, is not judged"
	exits 0 ptrace-check --no-loss run.log.000002 - <run.log
	[ "$(grep -cE "^ +note: (run.log.000002|-|standard input) $note$" stdout.txt)" -eq 2 ]
	# Another rule that it breaks, too, or leaves undecided.
	exits 1 ptrace-check --exists=other --exists=traced.event run.log.000002
	[ "$(grep -c "note: run.log.000002 $note$" stdout.txt)" -eq 1 ]
	ptrace-run -o one.log --log-rotate=1G -- "$traced" -n 3
	ptrace-check --no-loss one.log run.log >all.txt || [ $? -eq 1 ]
	fails grep note: all.txt
}

@test "files that are missing at the end are told with status 3" {
	make_log
	for name in $(printf "%s\n" run.log.0* | sort -r); do
		rm "$name"
		for options in --verify --count; do
			reports 3 "run.log: at least 1 file of the log is missing: the last one here says that another follows" ptrace-dump "$options" run.log
		done
		exits 3 ptrace-stat --json run.log
		jq -e '.losses.missing_files == 1 and .losses.missing_events == 0 and .losses.unclosed and
			.losses.unreadable_events == 0 and (.losses.unknown | not) and (.complete | not)' \
			<<<"$stdout"
	done
	exits 1 ptrace-check --no-loss run.log
	# A log of what is there may lack events; a file alone lacks nothing.
	exits 3 ptrace-dump --to-log=one.log run.log
	ptrace-stat --json --allow-loss one.log | jq -e '.losses.unknown and .losses.missing_files == 0'
	silently 0 ptrace-dump --count - <run.log
	# Some of the middle are missing, too.
	rm run.log
	make_log
	rm run.log.000001 "$(printf '%s\n' run.log.* | tail -n 1)"
	reports 3 "run.log: at least 2 files of the log are missing: the last one here says that another follows" ptrace-dump --count run.log
}

@test "without -o all files of the log before are kept, and go together" {
	count() { events "$1" traced.event; }
	in_files() {
		ptrace-run --name="$me" --log-rotate=16K -- sh -c \
			'for i in $(seq $2); do "$0" -n 3000; ptrace-flush "$1"; done' "$traced" "$me" "$1"
	}
	in_files 4
	[ -e ptrace.log.000003 ]
	first=$(count ptrace.log)
	in_files 2
	[ "$(count ptrace.log.old)" -eq "$first" ]
	second=$(count ptrace.log)
	ptrace-run -- "$traced" -n 3
	[ "$(count ptrace.log)" -eq 3 ]
	[ "$(count ptrace.log.old)" -eq "$second" ]
	ptrace-dump --verify ptrace.log.old
	# Whoever was killed before the first file was renamed has left the rest there.
	in_files 4
	third=$(count ptrace.log)
	mv ptrace.log.000002 ptrace.log.old.000002
	ptrace-run -- "$traced" -n 4
	[ "$(count ptrace.log.old)" -eq "$third" ]
	[ -z "$(find . -name 'ptrace.log.0*')" ]
	# One that has a single file replaces all; what is no log stays.
	in_files 2
	ptrace-run -- "$traced" -n 5
	ptrace-run -- "$traced" -n 6
	[ "$(find . -name 'ptrace.log.*' | sort)" = ./ptrace.log.old ]
	[ "$(count ptrace.log.old)" -eq 5 ]
	in_files 2
	echo mine >ptrace.log.old.000001
	refused() { reports 125 "ptrace.log: cannot be renamed to ptrace.log.old, as a file of something else has the name of one of its later files; *" ptrace-run -- "$traced" -n 7; }
	before=$(sha256sum ptrace.log*)
	refused
	# So does another log.
	ptrace-run -o one.log -- "$traced" -n 2
	mv one.log ptrace.log.old.000001
	before=${before/$(sha256sum <<<mine | cut -c1-64)/$(sha256sum <ptrace.log.old.000001 | cut -c1-64)}
	refused
	[ "$(sha256sum ptrace.log*)" = "$before" ]
}

@test "a new log replaces all files of a rotated one, and no other file" {
	files() { find . -name 'run.log*' | sort | tr '\n' ' '; }
	for keep in '' --log-keep=2; do
		make_log $keep
		[ -e run.log.000003 ]
		[ -e run.log ] || [ -n "$keep" ]
		ptrace-run -o one.log -- "$traced" -n 2
		mv one.log run.log.20301230
		echo mine >run.log.000777
		# A run that fails replaces nothing.
		before=$(files)
		exits 125 ptrace-run -o run.log --name=/ -- "$traced" -n 7
		exits 125 ptrace-run -o run.log --check=none.yaml -- "$traced" -n 7
		[ "$(files)" = "$before" ]
		ln -s run.log link.log
		[ -n "$keep" ] || exits 0 ptrace-run -o link.log -- "$traced" -n 7
		silently 0 ptrace-run -o run.log -- "$traced" -n 7
		[ "$(files)" = "./run.log ./run.log.000777 ./run.log.20301230 " ]
		[ "$(events run.log traced.event)" -eq 7 ]
		rm run.log* link.log
	done
	# ptrace-create does so, too.
	make_log
	traced_session "$me.a" --start -o run.log -- -w -n 10
	[ "$(files)" = "./run.log " ]
}

@test "without -o a log whose first file is deleted is kept, too" {
	for n in 1 2; do
		ptrace-run --name="$me" --log-rotate=16K --log-keep=2 -- sh -c "$in_parts" "$traced" "$me"
		[ ! -e ptrace.log ]
		last=$(events ptrace.log traced.event)
	done
	[ ! -e ptrace.log.old ]
	ptrace-run -- "$traced" -n 3
	[ "$(events ptrace.log traced.event)" -eq 3 ]
	[ "$(events ptrace.log.old traced.event)" -eq "$last" ]
	[ -z "$(find . -name 'ptrace.log.0*')" ]
	ptrace-run -- "$traced" -n 4
	[ "$(find . -name 'ptrace.log*' | sort | tr '\n' ' ')" = "./ptrace.log ./ptrace.log.old " ]
}

# is_busy FILE: no command writes to it, as the session $me does, of whatever it is to write
is_busy() {
	local read told="$1: another trace is writing to this file"
	does_not_run "$told" -o "$1"
	reports 1 "$told" ptrace-create --pid=$$ --name="$me.a" -o "$1"
	reports 1 "$told" ptrace-snapshot -o "$1" "$me"
	for read in one.log "$me"; do
		reports 1 "$told" ptrace-dump --to-log="$1" "$read"
		reports 1 "$told" ptrace-report --force -o "$1" "$read"
		reports 1 "$told" ptrace-export --to=csv -o "$1" "$read"
		reports 1 "$told" ptrace-export --to=ctf -o "$1" "$read"
	done
}

@test "a log whose first file is deleted is not replaced while it is written" {
	begin_kept_log
	ptrace-run -o one.log -- "$traced" -n 2
	ln -s run.log link.log
	for file in run.log link.log "$(printf '%s\n' run.log.0* | tail -n 1)"; do is_busy "$file"; done
	cp one.log run.log.20301230
	ptrace-run -o run.log.20301230 -- "$traced" -n 3
	[ ! -e run.log ]
	touch seen
	ends 0 "$running"
}

@test "a log whose first file is deleted is not replaced while its keeper goes on to another file" {
	# Then the last file is whole, and says that another one follows. The keeper has it locked.
	make_log
	rm run.log "$(printf '%s\n' run.log.0* | tail -n 1)"
	files=$(ls run.log.*)
	python3 -c 'import fcntl, signal, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX, 1, 1 << 61)
open("locked", "w")
signal.pause()' "$(printf '%s\n' run.log.0* | tail -n 1)" 3>&- &
	pids="$pids $!"
	wait_until test -e locked
	does_not_run "run.log: another trace is writing to this file" -o run.log
	[ "$(ls run.log.*)" = "$files" ]
}

@test "no file of a log that is being written is replaced, put away or given to another log" {
	begins running ptrace-run -o run.log --name="$me" --log-rotate=16K --no-loss -- \
		sh -c "$in_parts; touch done; until [ -e seen ]; do sleep 0.02; done" "$traced" "$me"
	wait_until test -e done -a -e run.log.000003
	ptrace-run -o one.log -- "$traced" -n 2
	ln -s run.log.000001 link.log
	for file in run.log.0* link.log; do is_busy "$file"; done
	# A file of another log has the name only.
	cp one.log run.log.20301230
	ptrace-run -o run.log.20301230 -- "$traced" -n 3
	[ "$(events run.log.20301230 traced.event)" -eq 3 ]
	touch seen
	ends 0 "$running"
	ptrace-check --no-loss run.log
	[ "$(events run.log traced.event)" -eq 9000 ]
	# Once it is not written any more, the file is a log like any other.
	ptrace-run -o run.log.000001 -- "$traced" -n 4
	[ "$(events run.log.000001 traced.event)" -eq 4 ]
}

@test "ptrace-doctor knows a log whose first file is deleted, while and after it is written" {
	ptrace-run -o run.log --name="$me" --log-rotate=16K --log-keep=2 -- \
		sh -c "$in_parts; until [ -e seen ]; do sleep 0.02; done" "$traced" "$me" 3>&- &
	wait_until test -e run.log.000003 -a ! -e run.log
	run_split ptrace-doctor run.log
	[[ $stdout == *"note     run.log: session $me writes it"* ]]
	[[ $stdout != *"no longer here"* ]]
	touch seen
	wait
	exits 0 ptrace-doctor run.log
	[ "$stdout" = "ok       run.log: has $(events run.log traced.event) events of programs" ]
}

# A run that records as make_log does with --log-keep=2, and waits for the file `seen`; its first files are deleted
begin_kept_log() {
	begins running ptrace-run -o run.log --name="$me" --log-rotate=16K --log-keep=2 -- \
		sh -c "$in_parts; touch done; until [ -e seen ]; do sleep 0.02; done" "$traced" "$me"
	wait_until test -e done -a -e run.log.000003 -a ! -e run.log
}

@test "a session is shown as its log when the first files of that are deleted" {
	begin_kept_log
	exits 0 ptrace-dump --count --event=traced.event "$me"
	[ "$stdout" -eq "$(events run.log traced.event)" ]
	[ "$stdout" -gt 0 ]
	[[ $stderr == *"--log-keep has deleted the first "* ]]
	exits 0 ptrace-snapshot -o snap.log "$me"
	[ "$(events snap.log traced.event)" -eq "$(events run.log traced.event)" ]
	agree() {
		ptrace-stat --json --allow-loss "$me" >session.json
		ptrace-stat --json --allow-loss run.log >log.json
		facts='.counts.log_events, .counts.log_bytes, .losses.missing_files, .losses.deleted_files'
		[ "$(jq -c "$facts" session.json)" = "$(jq -c "$facts" log.json)" ]
	}
	wait_until agree
	jq -e '.losses.log_gone | not' session.json
	# A file that was moved away is missing.
	mv "$(printf '%s\n' run.log.* | head -n 1)" away
	exits 3 ptrace-dump --count --event=traced.event "$me"
	[[ $stderr == *"ptrace-dump: $PWD/run.log: 1 file of the log is missing"* ]]
	[ "$stdout" -eq "$(events run.log traced.event)" ]
	tells 3 "*ptrace-stat: $me: 1 file of the log is missing*" ptrace-stat "$me"
	wait_until agree
	touch seen
	ends 3 "$running"
}

@test "a rotated log is gone when all its files are, or another file has its name" {
	begin_kept_log
	: >run.log
	ptrace-stat --json --allow-loss "$me" | jq -e .losses.log_gone
	rm run.log*
	exits 3 ptrace-stat --json "$me"
	jq -e .losses.log_gone <<<"$stdout"
	reports 3 "$me: the log is not there any more*" ptrace-dump --count "$me"
	touch seen
	ends 3 "$running"
}

@test "--log-keep deletes the oldest files, which is no loss" {
	silently 0 make_log --log-keep=2
	[ ! -e run.log ]
	[ "$(ls run.log* | wc -l)" -eq 2 ]
	exits 0 ptrace-dump --count run.log
	last=$(printf '%s\n' run.log.* | tail -n 1)
	deleted=$((10#${last##*.} - 1))
	[ "$deleted" -ge 2 ]
	first=$(printf '%s\n' run.log.* | head -n 1)
	[[ $stderr == *": the log begins with the file whose name ends with ${first#run.log}, as --log-keep has deleted the first $deleted; "*" events came before"* ]]
	ptrace-stat --json run.log 2>/dev/null |
		jq -e --argjson n "$deleted" '.losses.missing_files == 0 and .losses.deleted_files == $n'
	# Of the two that were left the last one is missing.
	rm "$last"
	exits 3 ptrace-stat --json run.log
	jq -e --argjson n "$deleted" '.losses.missing_files == 1 and .losses.deleted_files == $n' <<<"$stdout"
}

@test "events lost in the stream are told if --log-keep has deleted the file that told them" {
	run_split ptrace-run -o run.log --name="$me" --log-rotate=16K --log-keep=2 --stream-min-size=64K \
		--json=run.json -- sh -c '"$0" -n 100000; for i in 1 2 3 4 5 6 7; do
			ptrace-flush "$1"; "$0" -n 1000; done' "$traced" "$me"
	[ "$status" -eq 3 ]
	lost=$(jq .losses.stream_events run.json)
	[ "$lost" -gt 0 ]
	# Who has asked for that is not told that files were deleted.
	[ "$stderr" = "ptrace-run: run.log: $lost events lost in the stream, which was full" ]
	jq -e '.losses.deleted_files >= 2 and .losses.missing_files == 0 and (.complete | not)' run.json
	tells 3 "*: $lost events lost in the stream, which was full*" ptrace-dump --count run.log
	ptrace-stat --json --allow-loss run.log | jq -e --argjson lost "$lost" '.losses.stream_events == $lost'
}

@test "a session's log is rotated by time, with its commands in between" {
	printf 'log-rotate: 1s\nlog-keep: 100\noutput: run.log\n' >file.yaml
	record "$me" --config=file.yaml -- -n 10
	ptrace-flush "$me"
	wait_until test -e run.log.000001
	ptrace-stat --json "$me" | jq -e '(.log | endswith("run.log")) and .losses.log_gone == false'
	ptrace-clear "$me"
	[ ! -e run.log ]
	ptrace-shutdown "$me"
	[ "$(ptrace-dump --count run.log)" -ge 1 ]
}

@test "sizes, times and numbers that make no sense are refused" {
	while IFS=$'\t' read -r reason options; do
		does_not_run "*$reason*" -o run.log $options
	done <<-'END'
		'x' is neither a size such as 100M nor a duration such as 1h	--log-rotate=x
		'15K' is less than 16K	--log-rotate=15K
		'1ms' is less than a second	--log-rotate=1ms
		needs log-rotate	--log-keep=3
		--log-keep	--log-rotate=1h --log-keep=1
		needs the log-full-policy append	--log-rotate=1h --log-full-policy=loop
	END
	does_not_run "*is not a regular file, so it cannot be rotated*" -o /dev/null --log-rotate=1h
	[ "$(ptrace-run --dump-config --log-rotate=90m --log-keep=3 | grep '^log-[rk]')" = \
		$'log-rotate: 90m\nlog-keep: 3' ]
}

@test "a deleted first file keeps no space, and the log goes on without it when the keeper is killed" {
	# Who has the file open keeps its space. Later files had no name when they were opened.
	is_free() { ! find /proc/[0-9]*/fd -lname "$PWD/run.log (deleted)" 2>/dev/null | grep .; }
	begins run ptrace-run -o run.log --name="$me" --log-rotate=16K --log-keep=2 --no-loss -- \
		sh -c "$in_parts; until [ -e more ]; do sleep 0.02; done; $in_parts" "$traced" "$me"
	wait_until test -e run.log.000003
	[ ! -e run.log ]
	wait_until is_free
	finds_keeper "$(printf '%s\n' run.log.* | tail -n 1)"
	kill -KILL "$keeper"
	touch more
	wait "$run"
	ptrace-check --no-loss run.log
	[ "$(printf '%s\n' run.log.* | wc -l)" -eq 2 ]
	# The same of a session, and of a user who deletes the file.
	rm more run.log.*
	traced_session "$me" --start -o run.log --log-rotate=16K -- -w -W -n 3000
	go done
	wait_until test -e run.log.000001
	rm run.log
	wait_until is_free
	ptrace-shutdown --allow-loss "$me"
}

@test "the log of another user's process goes on in other files when the keeper is killed" {
	[ "$EUID" -eq 0 ] || skip "root only"
	command -v setpriv >/dev/null || skip "no setpriv"
	mkfifo in
	exec 7<>in
	setpriv --reuid=54321 --regid=54321 --clear-groups "$traced" -w -n 3000 <in >/dev/null 3>&- &
	pids="$pids $!"
	pid=$!
	wait_until grep -qsx traced "/proc/$pid/comm"
	ptrace-create --pid="$pid" --name="$me" --keep --start -o run.log --log-rotate=16K
	finds_keeper run.log
	kill -KILL "$keeper"
	echo >&7
	wait "$pid"
	ptrace-flush "$me"
	ptrace-shutdown "$me"
	[ -e run.log.000001 ]
	[ "$(events run.log traced.event)" -eq 3000 ]
}

@test "a next file that cannot be made is told with its name, and is no loss" {
	mkdir small
	# There is room for the directory and one file.
	in_mounts 0 'mount -t tmpfs -o nr_inodes=2 none small
		ptrace-run -o small/run.log --name="$2" --log-rotate=16K --no-loss -- sh -c "$3
			ptrace-stat --json \"\$1\" >stat.json 2>stat.txt
			ptrace-doctor \"\$1\" >doctor.txt; echo \$? >>doctor.txt" "$1" "$2"
		ls small; ptrace-check --no-loss small/run.log >check.txt
		ptrace-dump --count --event=traced.event small/run.log' "$traced" "$me" "$in_parts"
	[ "$stdout" = $'run.log\n9000' ]
	told="the next file, whose name ends with .000001, cannot be made: No space left on device; the log goes on in the file before it"
	[ "$stderr" = "ptrace-run: small/run.log: $told" ]
	[ "$(<stat.txt)" = "ptrace-stat: $me: $told" ]
	valid stat <stat.json
	jq -e '.complete and .status.flush_error == 0 and .losses.write_error == 0 and .counts.rotation_error == 28' stat.json
	grep -qx "note     $me: $told; make room on the disk, also for one more file; .*" doctor.txt
	grep -qx "note     .*/small/run.log: its file system has no room for another file; .*" doctor.txt
	[ "$(tail -n 1 doctor.txt)" = 0 ]
	# It is said once, also if the log is no longer at its path.
	mkdir d
	exits 3 ptrace-run -o d/run.log --name="$me" --log-rotate=16K -- sh -c "mv d e; { $in_parts; } 2>ignored
		until grep -q . stderr.txt; do sleep 0.05; done" "$traced" "$me"
	[ "$(head -n 1 stderr.txt)" = "ptrace-run: d/run.log: ${told/No space left on device/No such file or directory}" ]
	[[ $(tail -n +2 stderr.txt) == "ptrace-run: d/run.log: the log is not there any more"* ]]
	[ "$(wc -l <stderr.txt)" -eq 2 ]
	ptrace-dump --verify e/run.log
}

@test "no file of a log that a command reads is replaced, not even with --force" {
	make_log
	last=$(printf '%s\n' run.log.0* | tail -n 1)
	ln -s run.log.000001 link.log
	cp run.log.000001 copy.log
	before=$(sha256sum run.log*)
	refused() {
		for file in run.log.000001 "$last" link.log; do
			reports 1 "$file: is read, and cannot be written to meanwhile" ptrace-dump --to-log="$file" run.log
			reports 1 "$file: is read, and cannot be written to meanwhile" ptrace-export --to=csv --force -o "$file" run.log
			reports 1 "$file: is the log that the report is to be made of" ptrace-report --force -o "$file" run.log
		done
	}
	refused
	[ "$(sha256sum run.log*)" = "$before" ]
	ptrace-dump --to-log=copy.log run.log
	[ "$(events copy.log traced.event)" -eq 9000 ]
	# The same if the first file was deleted. Nor is another file put in its place.
	rm run.log
	ln -s run.log first.log
	before=$(sha256sum run.log*)
	refused
	for file in run.log first.log; do
		told="$file: is read, and cannot be written to meanwhile"
		reports 1 "$told" ptrace-dump --to-log="$file" run.log
		for format in csv ctf; do
			reports 1 "$told" ptrace-export --to=$format -o "$file" run.log
			reports 1 "$told" ptrace-export --to=$format -o "$file" run.log.000001
		done
		reports 1 "$file: is the log that the report is to be made of" ptrace-report -o "$file" run.log
	done
	[ "$(sha256sum run.log*)" = "$before" ]
}
