#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Hostile neighbours: what other users, and containers with the same /dev/shm, can do. Two users
# that need no entry in passwd.

load ../support/helpers

one=64901
two=64902

setup() {
	PATH=$PTRACE_BIN:$PATH
	unset TZ
	[ "$EUID" -eq 0 ] || skip "root only"
	command -v setpriv >/dev/null || skip "no setpriv"
	# A place where both may write; the one of bats is closed to them.
	place=$(mktemp -d)
	chmod 1777 "$place"
	cd "$place" || return 1
	as "$one" test -x "$PTRACE_BIN/ptrace-run" || skip "the build cannot be entered by others"
}

teardown() {
	clean_up
	rm -rf "${place:?}" /dev/shm/posixtrace-"$one"* /dev/shm/posixtrace-"$two"*
}

# as USER COMMAND...
as() {
	setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"
}

# directories USER: the names of his directories in /dev/shm, as far as they are his
directories() {
	find /dev/shm -maxdepth 1 -type d -user "$1" -name 'posixtrace-*' -printf '%f\n'
}

# has_no_session USER: his session has ended with its process. One that is too busy to answer has
# not: ptrace-list says so.
has_no_session() {
	[ -z "$(as "$1" ptrace-list 2>&1)" ]
}

# works USER: everything that a user does
works() {
	as "$1" ptrace-run -o run."$1" -- "$traced" -n 10
	[ "$(events run."$1" traced.event)" -eq 10 ]
	listens pid ready as "$1" "$traced" -w
	pid=$(pgrep -u "$1" -x traced)
	as "$1" ptrace-create --pid="$pid" --name="$me.a" --start \
		-o session."$1"
	[ "$(as "$1" ptrace-list --json | jq -r .session)" = "$me.a" ]
	go
	wait_until is_ended "$pid"
	wait_until has_no_session "$1"
	[ "$(events session."$1" traced.event)" -eq 1 ]
}

@test "somebody has taken the name of a user's directory" {
	as "$one" mkdir -m 777 /dev/shm/posixtrace-"$two"
	works "$two"
	[ -z "$(ls -A /dev/shm/posixtrace-"$two")" ]
	[ "$(directories "$two" | wc -l)" -eq 1 ]
	[[ $(directories "$two") =~ ^posixtrace-$two\.[0-9a-f]{8}$ ]]
	# It stays in use when the name is free again.
	rmdir /dev/shm/posixtrace-"$two"
	as "$two" ptrace-run -o again -- "$traced" -n 10
	[ "$(directories "$two" | wc -l)" -eq 1 ]
}

@test "somebody has taken the name by a link, or by a file" {
	as "$two" mkdir -m 700 target
	as "$one" ln -s "$place/target" /dev/shm/posixtrace-"$two"
	works "$two"
	[ -z "$(ls -A target)" ]
	rm -rf /dev/shm/posixtrace-"$two"* run.* session.*
	as "$one" touch /dev/shm/posixtrace-"$two"
	works "$two"
}

@test "many processes that meet a taken name at once find the same directory" {
	as "$one" mkdir /dev/shm/posixtrace-"$two"
	for i in 1 2 3 4 5 6 7 8; do
		as "$two" "$traced" 3>&- &
	done
	wait
	[ "$(directories "$two" | wc -l)" -eq 1 ]
}

@test "a process that could not be traced is told where the name is taken, too" {
	as "$one" mkdir -m 777 /dev/shm/posixtrace-"$two"
	reports 3 "run.log: 1 process could not be traced: too few descriptors" as "$two" ptrace-run -o run.log -- bash -c \
		'exec 3<&- 4<&- 5<&-; ulimit -n 4; exec "$0" -n 5' "$traced"
	[ -z "$(ls -A /dev/shm/posixtrace-"$two")" ]
}

@test "completions find sessions where the name is taken, and no made-up ones" {
	as "$one" mkdir -m 777 /dev/shm/posixtrace-"$two" /dev/shm/posixtrace-"$two".00000000
	python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' /dev/shm/posixtrace-"$two".00000000/c."$me".x
	begins target as "$two" "$BASH" -c "ptrace-create --pid=\$\$ --name=$me.a; sleep 1000"
	wait_until as "$two" ptrace-stat "$me.a"
	[ "$(as "$two" ptrace-start --complete '' | tail -n +2)" = "$me.a	session" ]
	as "$two" ptrace-shutdown "$me.a"
}

@test "names that others make up are not taken for the user's" {
	as "$one" mkdir -m 777 /dev/shm/posixtrace-"$two" /dev/shm/posixtrace-"$two".00000000
	works "$two"
	[ -z "$(ls -A /dev/shm/posixtrace-"$two".00000000)" ]
}

@test "root traces the process of a user whose name is taken" {
	as "$one" mkdir /dev/shm/posixtrace-"$two"
	listens pid ready as "$two" "$traced" -w
	pid=$(pgrep -u "$two" -x traced)
	ptrace-create --pid="$pid" --name="$me.a" --start -o root.log
	go
	wait_until is_ended "$pid"
	wait_until has_no_session 0
	[ "$(events root.log traced.event)" -eq 1 ]
}

@test "a user namespace with the same /dev/shm goes by the number outside" {
	as "$two" unshare -r true || skip "no user namespaces"
	as "$two" unshare -r "$BASH" -c "cd $place; ptrace-run -o in.log -- $traced -n 10"
	[ "$(events in.log traced.event)" -eq 10 ]
	[ "$(directories "$two")" = posixtrace-"$two" ]
	[ ! -e /dev/shm/posixtrace-0 ] || [ "$(stat -c %u /dev/shm/posixtrace-0)" -eq 0 ]
	# Library and commands see each other.
	as "$two" unshare -r "$BASH" -c "ptrace-create --keep --pid=\$\$ --name=$me.a; ptrace-list"
	[ "$(as "$two" ptrace-list --json | jq -r .session)" = "$me.a" ]
	as "$two" ptrace-shutdown "$me.a"
}

@test "a user without a number in the namespace has the directory that is its own" {
	as "$two" unshare -U true || skip "no user namespaces"
	# There, all of these have the same owner.
	for user in 1 "$one" 65533; do
		as "$user" mkdir -m 700 "/dev/shm/posixtrace-$user"
		as "$user" mkdir -m 700 "/dev/shm/posixtrace-1$two.0000000$user"
	done
	as "$two" ptrace-run -o in.log -- unshare -U "$traced" -n 10
	[ "$(events in.log traced.event)" -eq 10 ]
	for user in 1 "$one" 65533; do
		[ -z "$(ls -A "/dev/shm/posixtrace-$user" "/dev/shm/posixtrace-1$two.0000000$user" | grep -v ':$')" ]
		rm -rf "/dev/shm/posixtrace-$user" "/dev/shm/posixtrace-1$two.0000000$user"
	done
	[ "$(directories "$two")" = posixtrace-"$two" ]
	# Where there is none, none is made: its name would be that of another user.
	rm -rf /dev/shm/posixtrace-"$two"
	as "$two" unshare -U "$traced" -n 10
	[ -z "$(directories "$two")" ]
}

@test "a user namespace within another one does not take root's name" {
	as "$two" unshare -r unshare -r true || skip "no nested user namespaces"
	as "$two" unshare -r unshare -r "$BASH" -c \
		"cd $place; ptrace-run -o in.log -- $traced -n 10"
	[ "$(events in.log traced.event)" -eq 10 ]
	[ ! -e /dev/shm/posixtrace-0 ] || [ "$(stat -c %u /dev/shm/posixtrace-0)" -eq 0 ]
	ptrace-run -o root.log -- "$traced" -n 10
	[ "$(events root.log traced.event)" -eq 10 ]
}

# container OPTION...: the traced program in a container of user $two, which shares /dev/shm; $pid
container() {
	listens pid ready as "$two" unshare "$@" "$traced" -w
	disown "$pid"
	pid=$(pgrep -u "$two" -x traced)
	pids="$pids $pid"
}

@test "a container with the same /dev/shm and pids is traced from outside" {
	as "$two" unshare -rm true || skip "no user namespaces"
	container -rm
	as "$two" ptrace-create --keep --pid="$pid" --name="$me.a" --start -o two.log 2>err
	[ ! -s err ]
	go
	wait_until is_ended "$pid"
	as "$two" ptrace-shutdown "$me.a"
	[ "$(events two.log traced.event)" -eq 1 ]
}

@test "a container with the same /dev/shm and pids of its own is refused by name" {
	as "$two" unshare -rmpf --mount-proc true || skip "no user namespaces"
	container -rmpf --mount-proc
	reports 1 "$pid: is in another pid namespace, so it cannot be traced from here; run the commands where it is (nsenter, docker exec)" \
		as "$two" ptrace-create --pid="$pid" -o two.log
	go
	wait_until is_ended "$pid"
	# Inside and outside, runs at the same time do not disturb each other.
	as "$two" unshare -rmpf --mount-proc "$(command -v ptrace-run)" -o in.log -- "$traced" -n 1000 &
	as "$two" ptrace-run -o out.log -- "$traced" -n 1000
	wait "$!"
	[ "$(events in.log traced.event)" -eq 1000 ]
	[ "$(events out.log traced.event)" -eq 1000 ]
	[ "$(ls -A /dev/shm/posixtrace-"$two")" = bells ]
}

@test "what ends outside leaves the trace of a container alone, whatever program is in it" {
	as "$two" unshare -rmpf --mount-proc true || skip "no user namespaces"
	mkfifo -m 666 in
	# The shell does not have the library, and says when it is there.
	begins run as "$two" unshare -rmpf --mount-proc "$(command -v ptrace-run)" -o in.log -- \
		sh -c 'echo ready >out; read -r line <in; exec "$0" -n 10' "$traced"
	wait_until says ready
	as "$two" ptrace-run -o out.log -- "$traced" -n 10
	echo >in
	wait "$run"
	[ "$(events in.log traced.event)" -eq 10 ]
	[ "$(events out.log traced.event)" -eq 10 ]
	# What was killed inside is removed with its stream, from outside.
	setpriv --reuid="$two" --regid="$two" --clear-groups \
		unshare -rmpf --kill-child --mount-proc "$(command -v ptrace-run)" -o killed.log -- \
		sh -c 'echo again >out; exec sleep 1000' 3>&- &
	pids="$pids $!"
	wait_until says again
	ls /dev/shm/posixtrace-"$two"/p.*.*
	kill -KILL "$!"
	is_swept() {
		as "$two" ptrace-run -o out.log -- "$traced" -n 10
		[ -z "$(find /dev/shm/posixtrace-"$two" -name '[ps].*')" ]
	}
	wait_until is_swept
}

# counted COMMAND...: as user $one, in a user namespace of its own, where only the processes of the
# command count towards a limit, whatever other tests of this machine run as that user. A sanitizer
# that looks for leaks would need a process for it.
counted() {
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 as "$one" \
		unshare --map-user="$one" --map-group="$one" "$@"
}

too_many="there are as many processes as 'ulimit -u' or the control group (pids.max) allows"

@test "a limit on processes is told as that" {
	counted true || skip "no user namespaces"
	for command in 'ptrace-run -o run.log -- true' 'ptrace-create --pid=$! -o run.log' \
		'ptrace-create --pid=$!'; do
		count=0
		for limit in $(seq 2 20); do
			run_split counted bash -c "sleep 1000 3>&- & prlimit --nproc=$limit $command
				status=\$?; ptrace-shutdown --all; kill \$!; exit \$status"
			[ "$status" -ne 0 ] && [ "$status" -ne 3 ] || break
			[[ $stderr == *": cannot start "*": $too_many" ]] || { echo "$limit: $command: $stderr"; false; }
			count=$((count + 1))
		done
		[ "$limit" -lt 20 ]
		[ "$count" -ge 2 ]
	done
}

@test "a killed process that a limit keeps from being replaced is told with the limit" {
	counted true || skip "no user namespaces"
	counted bash -c 'sleep 1000 3>&- & echo $! >target
		controller=$(ptrace-create --pid=$! --name='"$me"'.a --start -o run.log --json |
			jq .controller)
		prlimit --nproc=1 --pid="$controller"
		pkill -KILL --ns $$ --nslist user -x ptrace-keeper
		for verb in flush clear flush shutdown; do
			ptrace-$verb '"$me"'.a 2>$verb.txt
			echo $? >>statuses
		done'
	kill "$(<target)"
	[ "$(tr '\n' ' ' <statuses)" = "1 1 1 3 " ]
	for verb in flush clear; do
		[ "$(<"$verb.txt")" = "ptrace-$verb: $me.a: cannot start the process that writes the log: $too_many" ]
	done
	[ "$(<shutdown.txt)" = "ptrace-shutdown: $me.a: the log is not finished, as the process that writes it has ended and no other can be started: $too_many; 'ptrace-salvage' finishes it" ]
	# Nor can the rest be salvaged under the limit.
	reports 1 "*: $too_many" counted prlimit --nproc=1 ptrace-salvage --all
	as "$one" ptrace-salvage --all
	as "$one" ptrace-dump run.log >/dev/null
}

# are_explained REASON COMMAND...: with the prefix COMMAND, ptrace-create refuses process $pid for this reason, and
# ptrace-doctor gives the same one
are_explained() {
	exits 1 "${@:2}" ptrace-create --pid="$pid"
	[[ $stderr == "ptrace-create: $pid: $1"* ]] || { echo "$stderr"; return 1; }
	exits 1 "${@:2}" ptrace-doctor --pid "$pid"
	[[ $stdout == *"): $1"* ]] || { echo "$stdout"; return 1; }
}

@test "who is refused learns the reason, the same of ptrace-create and ptrace-doctor" {
	daemon='import os, sys, time
os.setgroups([])
os.setgid(int(sys.argv[2]))
getattr(os, sys.argv[1])(int(sys.argv[2]))
print("ready", flush=True)
time.sleep(1000)'
	listens pid ready python3 -c "$daemon" setuid "$one"
	are_explained "runs as user $one; you are $two; trace it as that user, or as root" as "$two"
	are_explained "is closed to its user: it is set-user-ID, has changed its user, or has closed itself" as "$one"
	# For root it is a process like others.
	exits 0 ptrace-create --pid="$pid" --name="$me.a"
	[[ $stderr == *"is not linked with the library"* ]]
	ptrace-shutdown "$me.a"
	listens pid ready python3 -c "$daemon" seteuid "$one"
	are_explained "is user $one, but its real user is 0, and its saved one 0; trace it when it has one user" env
	listens pid ready as "$one" "$traced" -w
	pid=$(pgrep -u "$one" -x traced)
	rm -rf /dev/shm/posixtrace-"$one"
	chmod 755 /dev/shm
	reports 1 "/dev/shm: may not be written, and a trace needs memory there: chmod 1777 /dev/shm" as "$one" ptrace-create --pid="$pid"
	exits 1 as "$one" ptrace-doctor --pid "$pid"
	[[ $stdout == *"/dev/shm: may not be written: Permission denied; chmod 1777 /dev/shm"* ]]
	chmod 777 /dev/shm
	reports 1 "/dev/shm: others may rename what is in it, so a trace is not safe there: chmod 1777 /dev/shm" as "$one" ptrace-create --pid="$pid"
	chmod 1777 /dev/shm
}

@test "a user sees nothing of another one" {
	listens pid ready as "$two" "$traced" -w
	pid=$(pgrep -u "$two" -x traced)
	as "$two" ptrace-create --pid="$pid" --name="$me.b" --start -o two.log
	[ -z "$(as "$one" ptrace-list)" ]
	exits 1 as "$one" ptrace-stat "$me.b"
	exits 1 as "$one" ptrace-shutdown "$me.b"
	reports 1 "*runs as user $two; you are $one; *" as "$one" ptrace-create --pid="$pid"
	run_split as "$one" ls /dev/shm/posixtrace-"$two"
	[ "$status" -ne 0 ]
	run_split as "$one" ptrace-dump two.log
	[ "$status" -ne 0 ]
	go
	wait_until is_ended "$pid"
	wait_until has_no_session "$two"
	[ "$(events two.log traced.event)" -eq 1 ]
}
