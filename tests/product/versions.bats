#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Two releases meet: what one of them cannot read is refused by a message that names both versions and what to
# do; nothing crashes, and no event is lost. posixtrace-stability(7)

load ../support/helpers

peer=$PTRC_BUILD/tests/support/session_peer
shared=/dev/shm/posixtrace-$EUID

teardown() {
	ptrace-salvage --all --discard >/dev/null 2>&1 || true
	clean_up
}

# object PREFIX: the newest object of shared memory whose name begins with this
object() {
	ls -t "$shared/$1".* | head -n 1
}

# stream_version FILE NUMBER: gives a stream this version, after its magic number
stream_version() {
	local at
	at=$(head -c 16384 "$1" | grep -obUam 1 PTRSTRM1) || return 1
	damages "$1" "\\x$(printf %02x "$2")" $((${at%%:*} + 8))
}

# names_version FILE NUMBER
names_version() {
	[ "$(head -c 8 "$1")" = PTRNAMES ] || return 1
	damages "$1" "\\x$(printf %02x "$2")" 16
}

# log_version FILE NUMBER: in both heads
log_version() {
	damages "$1" "\\x$(printf %02x "$2")" 12 892
}

# of_log NUMBER: what is said of a log of this version
of_log() {
	echo "a trace log of format version $1, and this command (posixtrace *) reads version 3; use the commands of the release that wrote it"
}

untraced="1 process could not be traced: its libposixtrace knows the shared memory up to version 1, and this trace has version 2; link it with the libposixtrace of these commands, or use the commands of its release"

@test "a log of another version is refused, by each command that reads logs" {
	local version
	made x.log <<<'event 1 1 1 a'
	for version in 1 2 4 255; do
		log_version x.log $version
		refuses 1 "x.log: $(of_log $version)" ptrace-dump x.log
		refuses 1 "x.log: $(of_log $version)" ptrace-stat x.log
		refuses 1 "x.log: $(of_log $version)" ptrace-events x.log
		refuses 1 "x.log: $(of_log $version)" ptrace-export --to=csv x.log
		refuses 1 "standard input: $(of_log $version)" ptrace-dump - <x.log
	done
	exits 1 ptrace-doctor x.log
	[[ $stdout == *"format version 255, and this command"*"reads version 3"* ]]
	# What was in it is still there.
	log_version x.log 3
	counts x.log a=1
}

@test "a log of which one head has another version is damaged there, and read by the other" {
	made x.log <<<'event 1 1 1 a'
	damages x.log '\x04' 12
	exits 3 ptrace-dump --names-only x.log || exits 3 ptrace-dump x.log
	[[ $stderr == *damaged* ]]
	counts x.log a=1
}

@test "a file of another version in a rotated log is named; the other files can be read" {
	# shellcheck disable=SC2016 # the inner shell's
	ptrace-run -o x.log --name="$me" --log-rotate=16K -- \
		sh -c 'for i in 1 2 3; do "$0" -n 3000; ptrace-flush "$1"; done' "$traced" "$me"
	[ -e x.log.000002 ]
	log_version x.log.000002 4
	refuses 1 "x.log: x.log.000002 is $(of_log 4)" ptrace-dump x.log
	exits 1 ptrace-doctor x.log
	[[ $stdout == *"x.log.000002 is a trace log of format version 4"* ]]
	[ "$(events x.log.000001 traced.event)" -gt 0 ]
	# The first file was moved away.
	mv x.log first.log
	refuses 1 "x.log: x.log.000002 is $(of_log 4)" ptrace-dump x.log
	log_version x.log.000002 3
	mv first.log x.log
	counts x.log traced.event=9000
}

@test "a program does not use a stream of another version: its trace, its log and the doctor say so" {
	traced_session "$me" --output=x.log --start -- -w -W -n 5
	stream_version "$(object s)" 2
	go done
	exits 1 ptrace-doctor "$pid"
	[[ $stdout == *"has version 2 of the shared memory, and this command knows it up to version 1"* ]]
	# ptrace-event records nothing for it, either.
	refuses 1 "$pid: a stream that traces this process has version 2 of the shared memory, and this command knows it up to version 1; *" \
		ptrace-event --pid="$pid" other
	stream_version "$(object s)" 1
	# The program keeps away from it, which the doctor knows from the program itself.
	exits 1 ptrace-doctor "$pid"
	[[ $stdout == *"its libposixtrace knows the shared memory up to version 1, and the stream has version 2"* ]]
	reports 3 "$me: $untraced" ptrace-stat "$me"
	run_split ptrace-shutdown "$me"
	[[ $stderr == *"$untraced" ]]
	go
	reports 3 "*$untraced" ptrace-dump x.log
	counts x.log traced.event=0
	# A log that is made of this one says the same.
	run_split ptrace-dump --to-log=copy.log x.log
	reports 3 "*$untraced" ptrace-dump copy.log
}

@test "event names of another version in the program: no trace of it is made" {
	traced_start -w -n 5
	names_version "$(object n)" 2
	refuses 1 "$pid: cannot be traced: its event names have version 2 of the shared memory, and this command knows it up to version 1; use the commands of the release that it is linked with" \
		ptrace-create --pid="$pid" --name="$me"
	exits 1 ptrace-doctor --pid="$pid"
	[[ $stdout == *"its event names have version 2"*"up to version 1"* ]]
	names_version "$(object n)" 1
	ptrace-create --pid="$pid" --name="$me" --output=x.log --start
	go
	wait_until no_session
	counts x.log traced.event=5
}

@test "event names of another version from the controller: the program records nothing, and works" {
	listens pid '' bash -c 'read -r; "$0" -w -W -n 5; echo status $?' "$traced"
	disown "$pid"
	ptrace-create --pid="$pid" --name="$me" --output=x.log --inheritance=inherited --start
	names_version "$(object n)" 2
	go ready
	go done
	run_split ptrace-stat "$me"
	[[ $stderr == *"$untraced" ]]
	go 'status 0'
	wait_until no_session
	reports 3 "*$untraced" ptrace-dump x.log
	counts x.log traced.event=0
}

@test "an unfinished stream of another version stays, and the right release writes it" {
	local stream
	[ -z "$(ptrace-salvage --json)" ] || skip "others have unfinished streams"
	crash_run x.log --stream-full-policy=until-full --stream-min-size=1M -- "$traced" -W -n 100
	stream_version "$(object s)" 2
	local why='it has version 2 of the shared memory, and this command knows it up to version 1; the ptrace-salvage of the release that made it can write it'
	exits 0 ptrace-salvage
	[[ $stdout == *"$why"* ]]
	exits 1 ptrace-salvage --all
	[[ $stderr == *": $why" ]]
	exits 1 ptrace-salvage --all --json
	jq -se --arg why "$why" '.[0].message == $why' <stdout.txt
	# Another trace leaves it alone.
	ptrace-run -o other.log -- "$traced"
	stream=$(object o)
	stream_version "$stream" 1
	exits 0 ptrace-salvage --all
	counts x.log traced.event=100
}

@test "a session of another version of the protocol" {
	begins pid "$peer" listen "$me" version
	wait_until test -S "$shared/c.$me"
	local why='the session has version 2 of the session protocol, and this command version 1; use the commands of the release that made the session'
	refuses 1 "$me: $why" ptrace-stat "$me"
	refuses 1 "$me: $why" ptrace-dump "$me"
	refuses 1 "$me: $why" ptrace-dump --follow "$me"
	refuses 1 "$me: $why" ptrace-stop "$me"
	refuses 1 "$me: $why" ptrace-shutdown "$me"
	reports 1 "$me: $why" ptrace-list
	exits 1 ptrace-doctor
	[[ $stdout == *"$why"* ]]
}

@test "a session that sends a log of another version" {
	begins pid "$peer" listen "$me" later
	wait_until test -S "$shared/c.$me"
	refuses 1 "$me: the session sends a log of format version 99, which this command (posixtrace *) does not read; use the commands of the release that made the session" \
		ptrace-dump --follow "$me"
}

@test "a client of another version gets the version of the session, which goes on" {
	record "$me" --output=x.log -- -n 5
	# 38: ENOSYS. The verbs are STAT, and one that a later release has added; then a flag of such a release.
	[ "$("$peer" ask "$me" 2 1 0)" = '1 38' ]
	[ "$("$peer" ask "$me" 1 99 0)" = '1 38' ]
	[ "$("$peer" ask "$me" 1 1 128)" = '1 38' ]
	[ "$("$peer" ask "$me" 1 7 128)" = '1 38' ]
	[ "$("$peer" ask "$me" 1 1 0)" = '1 0' ]
	ptrace-shutdown "$me"
	counts x.log traced.event=5
}

@test "the preloaded library of another release is not loaded" {
	local library=$PTRC_BUILD/lib/posixtrace-preload.so own
	own=$(ptrace-run --version)
	own=${own##* }
	own=${own%)}
	mkdir bin lib
	cp "$PTRACE_BIN/ptrace-run" bin
	LC_ALL=C sed "s/posixtrace-preload ${own//./\\.}/posixtrace-preload 9${own:1}/" "$library" >lib/posixtrace-preload.so
	fails cmp -s "$library" lib/posixtrace-preload.so
	run_split bin/ptrace-run -o x.log --waits -- touch ran
	[ "$status" -eq 125 ]
	[[ $stderr == *"/posixtrace-preload.so: is of release 9${own:1}, and this command of release $own; --functions, --waits and --sdt need both of the same release" ]]
	[ ! -e ran ]
	cp "$library" lib
	exits 0 bin/ptrace-run -o x.log --waits -- touch ran
	[ -e ran ]
}

@test "the preloaded library in a stream of another version: the program works, untraced" {
	local library=$PTRC_BUILD/lib/posixtrace-preload.so
	[ -e "$library" ] || skip "no preloaded library"
	listens pid '' bash -c 'read -r; LD_PRELOAD=$0 POSIXTRACE_WAITS="*" sleep 0.01; echo status $?; read -r' "$library"
	disown "$pid"
	ptrace-create --pid="$pid" --name="$me" --output=x.log --inheritance=inherited --start
	stream_version "$(object s)" 2
	go 'status 0'
	run_split ptrace-shutdown "$me"
	[[ $stderr == *"$untraced" ]]
}
