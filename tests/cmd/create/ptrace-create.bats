#!/usr/bin/env bats
# SPDX-License-Identifier: MIT

load ../../support/helpers

@test "without --name the name is made of the process" {
	traced_start -w
	# Before, its name is that of the shell that becomes it.
	wait_until says ready
	name=$(ptrace-create --pid="$pid")
	[ "$name" = "traced-$pid" ]
	second=$(ptrace-create --pid="$pid")
	[ "$second" = "traced-$pid-2" ]
	ptrace-shutdown "$name" "$second"
}

@test "a session ends with its process, unless it is kept" {
	traced_session "$me.a" -o run.log --start -- -w -n 10
	go
	wait_until is_ended "$pid"
	wait_until no_session
	[ "$(events run.log traced.event)" -eq 10 ]
	ptrace-stat run.log
	traced_session "$me.a" --start -- -w -n 10
	ptrace-create --pid="$pid" --name="$me.b" --start --keep
	ptrace-stat --json "$me.a" | jq -e .until_exit
	ptrace-stat --json "$me.b" | jq -e '.until_exit | not'
	ptrace-dump --follow="$me.a" >lines 3>&- 7>&- &
	wait_until test -s lines
	go
	wait_until is_ended "$pid"
	# Who follows gets all, and status 0.
	wait $!
	[ "$(grep -c traced.event lines)" -eq 10 ]
	one_session() { [ "$(session_files)" -eq 1 ]; }
	wait_until one_session
	is_target_ended() { ptrace-stat --json "$me.b" | jq -e '.target_alive | not'; }
	wait_until is_target_ended
	[ "$(ptrace-dump --count -e traced.event "$me.b")" -eq 10 ]
	ptrace-shutdown "$me.b"
}

@test "a session whose controller is terminated ends as by ptrace-shutdown" {
	record "$me.a" -o run.log -- -n 10
	kill -TERM "$(controller "$me.a")"
	wait_until no_session
	wait_until ptrace-stat run.log
	[ "$(events run.log traced.event)" -eq 10 ]
}

@test "the next session or run removes the sockets of killed controllers" {
	local directory=/dev/shm/posixtrace-$EUID n=0 c
	traced_start -w
	for c in "ptrace-create --pid=$pid --name=$me.new" 'ptrace-run -o run.log true' "ptrace-stat $me.other3"; do
		n=$((n + 1))
		ptrace-create --pid="$pid" --name="$me.$n"
		ptrace-create --pid="$pid" --name="$me.other$n"
		kills "$(controller "$me.$n")" "$(controller "$me.other$n")"
		# One that was killed before it had a name.
		mv "$directory/c.$me.$n" "$directory/c.~$pid"
		[ -S "$directory/c.$me.other$n" ]
		run_split $c
		[ ! -e "$directory/c.~$pid" ]
		[ ! -e "$directory/c.$me.other$n" ]
	done
	[ "$(session_files)" -eq 1 ]
	ptrace-shutdown "$me.new"
}

@test "a name that is taken is refused, and nothing is left" {
	traced_session "$me.a" -- -w
	refuses 1 '*' ptrace-create --pid="$pid" --name="$me.a" -o run.log
	[ ! -e run.log ]
	[ "$(session_files)" -eq 1 ]
}

@test "names that are no names are refused" {
	traced_start -w
	for name in 'a b' 'a/b' '../x' $'a\nb' '"' -x "$(printf '%065d' 0)"; do
		refuses 2 '*' ptrace-create --pid="$pid" --name="$name"
	done
}

@test "a process that is not there" {
	(exit) &
	gone=$!
	wait "$gone"
	refuses 1 "*$gone: no such process" ptrace-create --pid="$gone" --name="$me.a" -o run.log
	[ ! -e run.log ]
	[ "$(session_files)" -eq 0 ]
}

@test "a process of somebody else" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	chmod 755 .
	cp "$PTRACE_BIN/ptrace-create" . || true
	refuses 1 "* runs as user 0; you are 65534; trace it as that user, or as root" \
		setpriv --reuid=65534 --clear-groups ./ptrace-create --pid=$$ --name="$me.x"
	rm -rf /dev/shm/posixtrace-65534
}

@test "wrong values of options" {
	for option in --pid=0 --pid=-1 --pid=abc --pid=99999999999999999999 --pid= \
		--stream-min-size=1KB --log-full-policy=never; do
		refuses 2 "*${option%%=*}*" ptrace-create --pid=$$ "$option"
	done
	reports 2 "--stream-full-policy: flush needs a log*" ptrace-create --pid=$$ --stream-full-policy=flush --name="$me.a"
	[ "$(session_files)" -eq 0 ]
}

@test "a log or a stream that cannot be made leaves no session" {
	traced_start -w
	reports 1 '*' ptrace-create --pid="$pid" --name="$me.a" --stream-min-size=1000000G
	reports 1 '*' ptrace-create --pid="$pid" --name="$me.a" -o no/such/directory
	[ "$(session_files)" -eq 0 ]
	[ -w /dev/full ] || skip "no /dev/full"
	reports 1 '*' ptrace-create --pid="$pid" --name="$me.a" -o /dev/full
	[ "$(session_files)" -eq 0 ]
}

@test "a log that does not go with its policy is told why" {
	traced_start -w
	reports 1 "a.log: the log-max-size is too small for a log" ptrace-create --pid="$pid" -o a.log --log-full-policy=loop --log-max-size=1
	reports 1 "/dev/null: is not a regular file, which needs the log-full-policy append" ptrace-create --pid="$pid" -o /dev/null --log-full-policy=loop
	[ ! -e a.log ]
}

@test "a FIFO that nobody reads is waited for with a word, before there is any session" {
	traced_start -w
	mkfifo fifo
	cat >file.yaml <<-END
		defaults: {pid: $pid}
		sessions:
		  - {name: $me.a, output: a.log}
		  - {name: $me.b, output: fifo}
	END
	# Signals end the wait, and leave no session.
	for signal in INT TERM; do
		begins creator env --default-signal=INT ptrace-create --all -c file.yaml 2>err
		wait_until grep -qsx 'ptrace-create: fifo: is a FIFO without a reader; waiting for one' err
		[ "$(session_files)" -eq 0 ]
		kill -"$signal" "$creator"
		ends $((128 + $(kill -l "$signal"))) "$creator"
		[ "$(session_files)" -eq 0 ]
		# What comes next is not to take this message for its own.
		rm err
	done
	begins creator ptrace-create --all -c file.yaml >out.txt 2>err
	wait_until grep -qs 'waiting for one' err
	cat fifo >copy 3>&- &
	reader=$!
	wait "$creator"
	[ "$(tr '\n' ' ' <out.txt)" = "$me.a $me.b " ]
	ptrace-shutdown "$me.a" "$me.b"
	wait "$reader"
	ptrace-dump copy
	for policy in loop until-full; do
		reports 1 "fifo: is not a regular file, which needs the log-full-policy append" \
			timeout "$patience" ptrace-create --pid="$pid" -o fifo --log-full-policy="$policy"
	done
}

# unread 1|2 COMMAND...: what it writes there goes into a pipe that nobody reads
unread() {
	python3 -c 'import os, subprocess, sys
r, w = os.pipe()
os.close(r)
sys.exit(subprocess.call(sys.argv[2:], **{{"1": "stdout", "2": "stderr"}[sys.argv[1]]: w}))
' "$@"
}

@test "a session whose name, or the message about another, cannot be written is ended again" {
	traced_start -w
	exits 1 unread 1 ptrace-create --pid="$pid" --name="$me.a" -o run.log
	grep -qx 'ptrace-create: standard output: Broken pipe' stderr.txt
	[ "$(session_files)" -eq 0 ]
	[ ! -e run.log ]
	exits 1 sh -c 'ptrace-create --pid="$1" --name="$2" >&-' _ "$pid" "$me.a"
	[ "$(session_files)" -eq 0 ]
	printf 'sessions:\n- {name: %s, pid: %s}\n- {name: %s, pid: 999999999}\n' \
		"$me.a" "$pid" "$me.b" >all.yaml
	prints 1 '' unread 2 ptrace-create --all --config=all.yaml
	[ "$(session_files)" -eq 0 ]
	silently 0 unread 1 ptrace-create --pid="$pid" --dump-config
}

@test "it holds neither the directory nor the descriptors of its caller" {
	traced_start -w
	mkdir away
	(cd away && ptrace-create --pid="$pid" --name="$me.a" -o ../run.log)
	controller=$(controller "$me.a")
	[ "$(readlink /proc/"$controller"/cwd)" = / ]
	[ "$(readlink /proc/"$controller"/fd/0)" = /dev/null ]
	rmdir away
	[ "$(ptrace-stat --format=json "$me.a" | jq -r .log)" = "$(realpath run.log)" ]
	ptrace-shutdown "$me.a"
}

@test "a file or a foreign socket in the place of a session" {
	traced_session "$me.a" -- -w
	ptrace-shutdown "$me.a"
	echo x >/dev/shm/posixtrace-"$EUID"/c."$me.a"
	reports 1 '*' ptrace-stat "$me.a"
	ptrace-create --pid="$pid" --name="$me.a"
	ptrace-shutdown "$me.a"
}

@test "--json tells all that is to be known of it" {
	traced_start -w
	silently 0 ptrace-create --json --pid="$pid" --name="$me.a" -o run.log
	[ "$(wc -l <stdout.txt)" -eq 1 ]
	jq -e --arg name "$me.a" --argjson pid "$pid" --arg log "$(realpath run.log)" \
		'.version == 1 and .session == $name and .target == $pid and .log == $log' \
		<stdout.txt
	[ "$(jq .controller <stdout.txt)" -eq \
		"$(controller "$me.a")" ]
	ptrace-create --json --pid="$pid" --name="$me.b" | jq -e 'has("log") | not'
}

@test "what is excluded is not recorded from the start" {
	traced_session "$me.a" -o a.log --start --exclude=traced.event -- -w -W -n 5
	ptrace-create --pid="$pid" --name="$me.b" -o b.log --start --exclude='tra*d.[a-f]*' \
		--exclude=posix_trace_start
	ptrace-create --pid="$pid" --name="$me.c" -o c.log --start --exclude='other.*'
	ptrace-create --pid="$pid" --name="$me.d" -o d.log --start --only='other.*'
	go done
	reports 0 "$me.c: no event has a name that matches --exclude=other.\*" ptrace-shutdown "$me.a" "$me.b" "$me.c"
	exits 0 ptrace-shutdown --json "$me.d"
	valid session <<<"$stdout"
	jq -e '.unmatched == [{"how": "only", "glob": "other.*"}]' <<<"$stdout"
	counts d.log traced.event=0
	counts a.log traced.event=0
	counts b.log traced.event=0 posix_trace_start=0
	[ "$(events c.log traced.event)" -eq 5 ]
}

@test "the log of a session replaces nothing but a log or an empty file" {
	traced_start -w
	echo precious >text
	reports 1 "text: exists and is not a trace log; name another file, or replace this one with --force" ptrace-create --pid="$pid" --name="$me.a" -o text
	[ "$(cat text)" = precious ]
	[ "$(session_files)" -eq 0 ]
	ptrace-create --pid="$pid" --name="$me.a" -o text --force
	ptrace-shutdown "$me.a"
	ptrace-create --pid="$pid" --name="$me.a" -o text
	ptrace-shutdown "$me.a"
	ptrace-stat text
}

@test "a process that is not traced as yet is told, and its session made" {
	sleeper
	exits 0 ptrace-create --json --pid="$sleeper" --name="$me.a"
	valid create <<<"$stdout"
	why="$sleeper (sleep): runs $(readlink "/proc/$sleeper/exe"), which is not linked with the library: it has no events of its own, unless it loads the library later, as Python does; programs that it starts are traced if they have it; if its own events are missing, link it with -lposixtrace"
	[ "$stderr" = "ptrace-create: $why" ]
	[ "$(jq -r .obstacle <<<"$stdout")" = "$why" ]
	run_split ptrace-doctor "$me.a"
	[[ $stdout == *"note     $why"* ]]
	# One that has the library, with its first event or before.
	traced_start -w
	silently 0 ptrace-create --json --pid="$pid" --name="$me.b"
	jq -e 'has("obstacle") | not' <<<"$stdout"
	# Events of the operating system are recorded without the library, too.
	needs_os
	silently 0 ptrace-create --os=process --pid="$sleeper" --name="$me.c"
}

@test "--os=auto records processes if no program recorded an event" {
	needs_os
	sleeper
	exits 0 ptrace-create --os=auto --keep --pid="$sleeper" --name="$me.a" -o run.log
	ptrace-start "$me.a"
	kill "$sleeper"
	wait "$sleeper" || true
	ptrace-shutdown "$me.a"
	ptrace-dump --json run.log | jq -se --argjson pid "$sleeper" 'any(.event == "os.exit" and .pid == $pid)'
	ptrace-stat --json run.log | jq -e --argjson pid "$sleeper" 'any(.processes[]; .pid == $pid)'
}

@test "a process with another /dev/shm is told, and its session made" {
	[ "$EUID" -eq 0 ] || skip "root only"
	unshare -m true 2>/dev/null || skip "no mount namespaces"
	listens pid ready unshare -m "$BASH" -c 'mount -t tmpfs tmpfs /dev/shm && exec "$0" -w' "$traced"
	reports 0 "$pid (traced): has another /dev/shm, as it is in another mount namespace (a container); run the commands where it is (nsenter, docker exec), or give both the same /dev/shm" \
		ptrace-create --pid="$pid" --name="$me.a" -o run.log
}

@test "what is in another time or pid namespace is told by name" {
	[ "$EUID" -eq 0 ] || skip "root only"
	unshare --time true 2>/dev/null || skip "no time namespaces"
	# At its end the sanitizer looks for leaks in another process, which it cannot have here.
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
	exits 0 unshare --time ptrace-create --pid="$BASHPID" --name="$me.a"
	[[ $stderr == *"is in another time namespace, so it cannot be traced from here"* ]]
	exits 1 timeout "$patience" unshare --pid ptrace-create --pid="$BASHPID" --name="$me.b"
	[[ $stderr == *"in another pid namespace"* ]]
	exits 125 timeout "$patience" unshare --pid ptrace-run -o run.log -- true
	[[ $stderr == *"what this command starts is in another pid namespace"* ]]
	[ ! -e run.log ]
}

@test "that /proc is missing, or of another pid namespace, is the reason given" {
	# A sanitizer needs /proc to look for leaks, and warns that it is missing.
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
	own_mounts 'mount -t tmpfs tmpfs /proc; ptrace-create --pid=$$ --name="$1"' "$me.a"
	[[ $stderr == *"ptrace-create: /proc: is not mounted: processes cannot be told apart; mount the proc of this pid namespace: mount -t proc proc /proc"* ]]
	# The log that the command would replace is one, though /proc does not show what is open.
	ptrace-run -o run.log -- "$traced"
	own_mounts 'mount -t tmpfs tmpfs /proc; ptrace-run -o run.log -- true'
	[[ $stderr == *"ptrace-run: /proc: is not mounted: "* ]]
	unshare -p -f true 2>/dev/null || skip "no pid namespaces"
	run_split unshare -p -f ptrace-run -o run.log -- true
	[[ $stderr == *"ptrace-run: /proc: is of another pid namespace: "* ]]
}

@test "--full-wait is an attribute of the session's stream" {
	traced_session "$me.a" -o run.log --full-wait=1500ms -- -w
	run_split ptrace-stat --json "$me.a"
	jq -e '.attributes.full_wait_ns == 1500000000 and .counts.waits == 0 and
		.counts.wait_ns == 0' <<<"$stdout"
	valid stat <<<"$stdout"
}

@test "standard output gets the names, and is no log" {
	traced_start -w
	ptrace-run -o names -- true 2>/dev/null
	for to in names fifo; do
		[ "$to" = names ] || { mkfifo fifo; cat fifo >copy 3>&- & pids="$pids $!"; }
		exits 1 sh -c 'ptrace-create --pid="$1" --name="$2" -o /dev/stdout >>"$3"' _ "$pid" "$me.o" "$to"
		[ "$stderr" = "ptrace-create: /dev/stdout: is standard output, which gets the names of sessions; name another file" ]
	done
	reports 2 "--output: '-' is not standard output, which gets the names of sessions; ./- is a file of this name*" ptrace-create --pid="$pid" --name="$me.o" -o -
	exits 1 ptrace-create --pid="$pid" --name="$me.o" -o /dev/stdout --json
	ptrace-dump names >/dev/null
	[ ! -s copy ]
	# A device keeps nothing, so that names in it do no harm.
	ptrace-create --pid="$pid" --name="$me.o" -o /dev/stdout >/dev/null
	go
}

@test "a process in a user namespace is traced, also if its user has no number there" {
	unshare -c true 2>/dev/null || skip "no user namespaces"
	mkfifo same.in other.in
	unshare -c "$traced" -w <same.in >same.out 3>&- &
	same=$!
	exec 7>same.in
	pids=$same
	# The program is the one after unshare. It makes the directory, whose name the other one cannot know.
	wait_until grep -qs ready same.out
	unshare -U "$traced" -w <other.in >other.out 3>&- &
	other=$!
	exec 8>other.in
	pids="$same $other"
	wait_until grep -qs ready other.out
	ptrace-create --pid="$same" --name="$me.a" -o a.log --start
	silently 0 ptrace-create --pid="$other" --name="$me.b" -o b.log --start
	echo >&7
	wait "$same"
	echo >&8
	wait "$other"
	exec 8>&-
	wait_until ptrace-stat a.log
	wait_until ptrace-stat b.log
	[ "$(events a.log traced.event)" -ge 1 ]
	[ "$(events b.log traced.event)" -ge 1 ]
}

@test "a refused system call, a limit on address space and a missing /dev/shm are named" {
	local work=$PTRC_BUILD/tests/support/os_work call said
	traced_start -w
	for call in fcntl fallocate; do
		said="cannot be traced: the system call $call is refused to this command (Operation not permitted), as by a seccomp filter"
		run_split "$work" refuse $call 1 ptrace-create --pid="$pid" --name="$me.a"
		[ "$status" -ne 77 ] || skip "no seccomp here"
		[ "$status" -eq 1 ]
		[ "$stderr" = "ptrace-create: $pid: $said" ]
		reports 125 "true: $said" "$work" refuse $call 1 ptrace-run -o run.log true
	done
	# The address sanitizer takes more address space than that.
	if ! grep -q __asan_init "$PTRACE_BIN/ptrace-create"; then
		exits 1 bash -c 'ulimit -v 60000; ptrace-create --pid="$1" --name="$2"' _ "$pid" "$me.a"
		[ "$stderr" = "ptrace-create: $pid: no memory for the stream: the limit on address space (ulimit -v) is too low" ]
	fi
	own_mounts 'mount -t tmpfs tmpfs /dev
		mknod -m 666 /dev/null c 1 3
		! ptrace-create --pid="$1" --name="$2"
		! ptrace-run -o run.log true' "$pid" "$me.a"
	[ "$stderr" = "ptrace-create: /dev/shm: does not exist, and a trace needs memory there: mount -t tmpfs -o mode=1777 tmpfs /dev/shm
ptrace-run: /dev/shm: does not exist, and a trace needs memory there: mount -t tmpfs -o mode=1777 tmpfs /dev/shm" ]
}
