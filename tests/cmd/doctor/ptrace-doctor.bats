#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Each cause is really produced.

load ../../support/helpers

# finds STATUS CHECK [PATTERN]: whether the last `doctor` found this
finds() {
	jq -es --arg status "$1" --arg check "$2" --arg pattern "${3:-.}" 'any(.[];
		.status == $status and .check == $check and
		(.thing + ": " + .message + "; " + (.advice // "") | test($pattern)))' \
		<<<"$stdout" >/dev/null || { echo "$stdout"; return 1; }
}

doctor() {
	run_split timeout "$patience" ptrace-doctor --json "$@"
	[ -z "$stderr" ]
	valid doctor <stdout.txt
	# The status is what was found.
	local problems
	problems=$(jq -s 'map(select(.status == "problem")) | length' <<<"$stdout")
	if [ "$problems" -eq 0 ]; then [ "$status" -eq 0 ]; else [ "$status" -eq 1 ]; fi
}

@test "a fit machine, each check with version, status and thing" {
	doctor
	for check in shared-memory directory streams limits proc membarrier clock keeper session; do
		jq -es --arg check "$check" 'any(.[]; .check == $check and .version == 1)' \
			<<<"$stdout"
	done
	jq -es 'all(.[]; (.message | length > 0) and (.thing | length > 0))' <<<"$stdout"
	finds ok shared-memory
	run_split ptrace-doctor
	grep -Eq '^ok       /dev/shm: ' stdout.txt
}

@test "a program: with the library, without, a script, none" {
	doctor -- "$traced" -n 1
	finds ok library 'statically'
	doctor -- cat --no-such-option
	finds note library '/cat: is not linked with the library.*programs that it starts.*-lposixtrace'
	# What runs others is all right as it is.
	for it in sh bash env nice; do
		doctor -- $it "$traced"
		finds note library "/$it: is not linked"
		[ "$status" -eq 0 ]
	done
	printf '#!/usr/bin/env -S cat\n' >script
	chmod +x script
	doctor -- ./script
	finds note command 'is a script'
	finds note library '/cat: is not linked'
	doctor -- ./none-of-that-name
	finds problem command 'no such command'
	# The shell runs a file that the kernel refuses.
	printf '%s -n 1\n' "$traced" >text
	chmod +x text
	ptrace-run -o text.log -- ./text
	doctor -- ./text
	[ "$status" -eq 0 ]
	finds note command 'text: has no #! line, so /bin/sh runs it'
	finds note library '/bin/sh: is not linked'
	head -c 64 "$traced" >part
	chmod +x part
	doctor -- ./part
	finds problem library 'no program of this machine'
	doctor -- .
	finds problem command
	doctor --event=traced.event -- "$traced"
	finds ok event 'has the name traced.event in it'
	doctor --event='traced.*' -- "$traced"
	finds note event 'cannot be searched for the pattern traced[.][*]'
	printf '#!/bin/sh\nptrace-event step\n' >script
	doctor --event=step -- ./script
	finds ok event 'script: has the name step in it'
	doctor --event=stop -- ./script
	finds note event 'script: does not have the name stop'
	doctor --event=no.such.text -- "$traced"
	finds note event 'does not have the name no.such.text'
}

@test "a program with the shared library, found and not" {
	local lib=$PTRC_BUILD/lib/.libs
	[ -e "$lib/libposixtrace.so" ] || skip "no shared library in this build"
	"${CC:-cc}" -I"$PTRC_SOURCE/include" "$PTRC_SOURCE/examples/hello.c" -o hello \
		-L"$lib" -lposixtrace || skip "no compiler for this build"
	ldconfig -p 2>/dev/null | grep -q libposixtrace ||
		{ doctor -- ./hello; finds problem library 'cannot be found'; }
	LD_LIBRARY_PATH=$lib doctor -- ./hello
	finds ok library 'a shared one'
	# By way of another library, and by $ORIGIN.
	echo 'int between(void) { return 0; }' >between.c
	"${CC:-cc}" -shared -fPIC between.c -o libbetween.so -Wl,--no-as-needed -L"$lib" \
		-lposixtrace -Wl,-rpath,"$lib"
	echo 'int between(void); int main(void) { return between(); }' >main.c
	"${CC:-cc}" main.c -o main -L. -lbetween '-Wl,-rpath,$ORIGIN' -Wl,-rpath-link,"$lib"
	doctor -- ./main
	finds ok library 'a shared one'
	# A program may name any file as its loader: that is not started.
	printf '#!/bin/sh\n: >"$0.started"\n' >ld-mine
	chmod +x ld-mine
	"${CC:-cc}" main.c -o mine -L. -lbetween -Wl,-rpath-link,"$lib" \
		-Wl,--dynamic-linker="$PWD/ld-mine"
	doctor -- ./mine
	finds note library "a loader that is not the system's"
	[ ! -e ld-mine.started ]
}

@test "damaged programs are no problem for it" {
	cp "$traced" damaged
	for offset in 16 32 54 64 100 200 400; do
		cp "$traced" damaged
		printf '\377\377\377\377\377\377\377\377' |
			dd of=damaged bs=1 seek="$offset" conv=notrunc status=none
		doctor -- ./damaged
	done
	for size in 10 64 100 1000; do
		head -c "$size" "$traced" >damaged
		doctor -- ./damaged
		finds problem library
	done
}

@test "a process: none, without the library, not traced, ended" {
	doctor 999999999
	finds problem process 'no such process'
	sleep 1000 3>&- &
	# Waiting starts a process, too.
	local sleeper=$!
	pids="$pids $sleeper"
	wait_until grep -qx sleep "/proc/$sleeper/comm"
	doctor "$sleeper"
	finds note library 'sleep, which is not linked with the library'
	finds problem traced 'ptrace-create --start --pid'
	traced_start -w
	wait_until says ready
	doctor "$pid"
	finds ok library
	finds problem traced
}

@test "a session: not started, running, its process gone, its controller killed" {
	traced_session "$me.a" -o run.log --keep -- -w -W
	doctor "$me.a"
	finds problem suspended "ptrace-start $me.a"
	doctor "$pid"
	finds problem suspended "session $me.a.*ptrace-start $me.a"
	ptrace-start "$me.a"
	doctor "$me.a"
	[ "$status" -eq 0 ]
	finds ok running
	# Unless the session has flushed by itself since.
	finds note flush 'none in the log yet' || [ "$(events run.log)" -gt 0 ]
	doctor run.log
	finds note writer "session $me.a writes it"
	kills "$pid"
	gone() { ptrace-list --format=json | jq -e 'select(.session == "'"$me.a"'") |
		.target_alive | not'; }
	wait_until gone
	doctor "$me.a"
	finds problem target 'has ended'
	controller=$(controller "$me.a")
	kills "$controller"
	for i in 1 2; do
		# Nothing is changed by looking.
		doctor "$me.a"
		finds problem session 'the background process that controlled it was killed'
	done
	[ -S "/dev/shm/posixtrace-$EUID/c.$me.a" ]
	doctor
	finds problem session "$me.a: the background process that controlled it was killed"
	rm -f "/dev/shm/posixtrace-$EUID/c.$me.a"
}

@test "a controller that is stopped is told within seconds" {
	traced_session "$me.s" --start -- -w
	controller=$(controller "$me.s")
	kill -STOP "$controller"
	doctor "$me.s"
	finds problem session 'does not answer.*kill -CONT'
	kill -CONT "$controller"
}

@test "a keeper that was killed" {
	traced_session "$me.k" --start -o run.log -- -w
	controller=$(controller "$me.k")
	finds_keeper run.log
	# Else the session would replace it at once.
	kill -STOP "$controller"
	kills "$keeper"
	doctor "$pid"
	finds problem keeper 'was killed'
	kill -CONT "$controller"
}

@test "a stream that is full, a log that is full" {
	traced_session "$me.f" --start --stream-min-size=16K --stream-full-policy=until-full \
		-- -w -W -n 20000
	ptrace-create --pid="$pid" --name="$me.l" --start -o run.log --log-max-size=20K \
		--log-full-policy=until-full
	go
	wait_until says done
	doctor "$me.f"
	finds problem stream-full "ptrace-clear $me.f"
	finds note lost
	ptrace-flush "$me.l" || [ $? -eq 3 ]
	doctor "$me.l"
	finds problem log-full "ptrace-clear $me.l.*ptrace-start $me.l"
	ptrace-shutdown --allow-loss "$me.l" || true
	doctor run.log
	finds problem lost
}

@test "the advice on lost events fits where they were lost" {
	ptrace-run -o log.log --log-max-size=20K --log-full-policy=until-full --stream-min-size=4M \
		-- "$traced" -n 20000 ||
		[ $? -eq 3 ]
	doctor ./log.log
	finds problem lost ' 0 events were lost in the stream, [1-9][0-9]* in the log; use a larger --log-max-size$'
	traced_session "$me.p" --start --stream-min-size=16K -- -w -W -n 20000
	ptrace-create --pid="$pid" --name="$me.l" --start -o run.log --log-max-size=20K \
		--log-full-policy=until-full --stream-min-size=4M
	go
	wait_until says done
	doctor "$me.p"
	finds note lost '; use a larger --stream-min-size$'
	ptrace-flush "$me.l" || [ $? -eq 3 ]
	doctor "$me.l"
	finds note lost '; use a larger --log-max-size'
}

@test "an event that was never opened, and the nearest names" {
	traced_session "$me.e" --start -- -w -e shop.order
	doctor --event=shop.oder "$me.e"
	finds problem event "no process that it traces has opened an event shop.oder .did you mean 'shop.order'"
	doctor -e shop.oder "$pid"
	finds problem event "has not opened an event shop.oder .did you mean 'shop.order'"
	doctor -e shop.order "$me.e"
	finds note event 'has not happened'
	doctor -e shop.order "$pid"
	finds ok event
	[ "$status" -eq 0 ]
}

@test "an event that is filtered" {
	traced_session "$me.e" --start -- -w -e shop.order
	ptrace-filter --add "$me.e" shop.order
	doctor --event=shop.order "$me.e"
	finds problem filtered 'filters out shop.order'
	finds problem filtered "ptrace-filter --remove $me.e 'shop.order'"
	doctor "$pid"
	finds problem filtered 'all events that the process has: shop.order'
	doctor --event=shop.order "$pid"
	finds problem filtered 'filters out shop.order'
	ptrace-filter --add --new "$me.e" 'later.*'
	doctor --event=later.one "$me.e"
	finds problem filtered 'when it is opened, because of the pattern later[.][*]'
}

@test "logs: without events, with them, cut short, none" {
	ptrace-run -o empty.log -- true || [ $? -lt 125 ]
	doctor empty.log
	finds problem events 'ptrace-doctor -- COMMAND'
	ptrace-run -o run.log -- "$traced" -n 10
	doctor ./run.log
	[ "$status" -eq 0 ]
	finds ok events 'has 10 events'
	doctor --event=traced.evnt run.log
	finds problem event "did you mean 'traced.event'"
	doctor --event=traced.event run.log
	finds ok event 'happened 10 times'
	# The trace left them out, whether by the name or altogether.
	for only in --only='x.*' --exclude='*'; do
		ptrace-run -o out.log "$only" -- "$traced" -n 10 2>/dev/null
		doctor --event=traced.event ./out.log
		finds problem event 'no event of it was recorded: none happened.*or the trace left it out'
		finds problem events 'programs have opened 1: .*--exclude'
		[[ $stdout != *"has the library"* ]]
	done
	head -c 1000 run.log >cut.log
	doctor ./cut.log
	finds note log 'not closed'
	# So many that most of the log is events.
	ptrace-run -o damaged.log -- "$traced" -n 5000
	printf '\377\377' | dd of=damaged.log bs=1 seek=$(($(stat -c %s damaged.log) / 2)) \
		conv=notrunc status=none
	doctor ./damaged.log
	[ "$status" -eq 1 ]
	finds problem log 'is damaged: [0-9]* events could not be read'
	# What cannot be read says nothing about programs and names.
	[[ $stdout != *library* ]]
	for it in damaged cut; do
		for event in traced.event other; do
			doctor --event=$event ./$it.log
			finds problem events 'that can be read'
			finds note event 'in what can be read'
			[[ $stdout != *library* ]]
		done
	done
	: >nothing
	doctor nothing
	finds problem log 'is empty'
	# Of a file that is no log nothing else is said, such as how much room its disk has.
	echo text >text
	chmod 444 text
	for it in text README; do
		[ $it = text ] || seq 10000 >$it
		doctor ./$it
		finds problem log 'not a trace log'
		jq -es 'map(.check) == ["log"]' <<<"$stdout"
	done
	cp run.log newer.log
	for at in 12 $((880 + 12)); do
		printf '\377' | dd of=newer.log bs=1 seek="$at" conv=notrunc status=none
	done
	doctor ./newer.log
	finds problem log 'a trace log of format version 255'
	mkfifo fifo
	for it in ./none . fifo; do
		doctor "$it"
		finds problem log
	done
	doctor "$me.none"
	finds problem operand 'no such session, log or process'
}

@test "the log of a run that goes on" {
	mkfifo in
	ptrace-run -o run.log -- "$traced" -w -W -n 10 <in >out 3>&- &
	pids="$pids $!"
	exec 7>in
	wait_until says ready
	doctor run.log
	[ "$status" -eq 0 ]
	finds note writer 'writes it'
	finds note events 'yet'
	[[ $stdout != *"not closed"* ]]
	doctor --event=traced.event run.log
	[ "$status" -eq 0 ]
	finds note event 'in what has been written so far'
	go
	wait_until says done
	go
	wait "${pids##* }"
	doctor --event=traced.event run.log
	finds ok event 'happened 10 times'
}

@test "an event by a pattern" {
	ptrace-run -o run.log -- sh -c '"$0" -e shop.order -n 3; "$0" -e shop.bill -n 4' "$traced"
	doctor --event='shop.*' run.log
	finds ok event 'shop[.][*] happened 7 times'
	doctor --event='x.*' run.log
	finds problem event 'has opened an event x[.][*]'
	traced_session "$me.e" --start -- -w -W -e shop.order
	doctor --event='shop.*' "$me.e"
	finds note event 'has not happened'
	doctor --event='shop.*' "$pid"
	finds ok event 'has opened shop.order'
	ptrace-filter --add "$me.e" shop.order
	for it in "$me.e" "$pid"; do
		doctor --event='s*r' "$it"
		finds problem filtered 'filters out'
	done
}

@test "the log on a full disk" {
	mkdir small
	own_mounts 'mount -t tmpfs -o size=128k tmpfs small; cd small; mkfifo in
		"$1" -w -W -n 20000 <in >out & exec 7>in
		until grep -qsx ready out; do sleep 0.02; done
		ptrace-create --pid=$! --name="$2" --start -o run.log >/dev/null
		head -c 1m /dev/zero >fill 2>/dev/null || true
		echo >&7; until grep -qsx done out; do sleep 0.02; done
		ptrace-flush "$2" 2>/dev/null || true
		status=0; ptrace-doctor --json "$2" || status=$?
		ptrace-shutdown --allow-loss "$2" 2>/dev/null || true
		kill $!; exit $status' "$traced" "$me.d"
	[ "$status" -eq 1 ]
	finds problem log 'No space left on device.*make room on the disk'
	finds problem disk 'is full'
}

@test "a finished log on a full disk is all right" {
	ptrace-run -o run.log -- "$traced" -n 1
	mkdir small
	own_mounts 'mount -t tmpfs -o size=32k tmpfs small
		cp run.log small; head -c 1m /dev/zero >small/fill 2>/dev/null || true
		ptrace-doctor --json small/run.log'
	[ "$status" -eq 0 ]
	finds ok events 'has 1 event of programs'
	[[ $stdout != *full* ]]
}

@test "shared memory that is full, missing, or open to renaming" {
	own_mounts 'mount -t tmpfs -o size=1m,mode=1777 tmpfs /dev/shm
		head -c 2m /dev/zero >/dev/shm/fill 2>/dev/null || true
		ptrace-doctor --json'
	[ "$status" -eq 1 ]
	finds problem shared-memory 'is full'
	own_mounts 'mount -t tmpfs -o size=100m,mode=777 tmpfs /dev/shm; ptrace-doctor --json'
	finds problem shared-memory 'chmod 1777'
	own_mounts 'mount -t tmpfs tmpfs /dev; ptrace-doctor --json'
	finds problem shared-memory 'is not there'
}

@test "a directory that is another's, a file, or open to others" {
	own_mounts 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm
		mkdir -m 700 /dev/shm/posixtrace-0; chown 1234 /dev/shm/posixtrace-0
		ptrace-doctor --json'
	finds ok directory 'yours, and closed to others'
	[[ $stdout == *'/dev/shm/posixtrace-0.'* ]]
	own_mounts 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm
		mkdir -m 777 /dev/shm/posixtrace-0; chmod 777 /dev/shm/posixtrace-0
		ptrace-doctor --json -- "$1"' "$traced"
	[ "$status" -eq 1 ]
	finds problem directory 'has mode 777'
	own_mounts 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm
		: >/dev/shm/posixtrace-0; ptrace-doctor --json'
	finds problem directory 'is no directory'
}

@test "a process in another mount namespace, with another /dev/shm" {
	[ "$EUID" -eq 0 ] || skip "root only"
	mkfifo in
	unshare -m sh -c 'mount -t tmpfs tmpfs /dev/shm && exec "$@"' _ "$traced" -w <in >out 3>&- &
	pid=$!
	pids="$pids $pid"
	exec 7>in
	wait_until says ready
	doctor "$pid"
	finds problem mount-namespace 'another mount namespace'
}

@test "a process in another pid namespace" {
	[ "$EUID" -eq 0 ] || skip "root only"
	unshare -p -f true 2>/dev/null || skip "no pid namespaces"
	mkfifo in
	unshare -p -f --kill-child "$traced" -w <in >out 3>&- &
	outer=$!
	pids="$pids $outer"
	exec 7>in
	wait_until says ready
	pid=$(tr -d ' \n' <"/proc/$outer/task/$outer/children")
	doctor "$pid"
	finds problem pid-namespace 'nsenter'
}

@test "a /proc of another pid namespace" {
	[ "$EUID" -eq 0 ] || skip "root only"
	unshare -p -f true 2>/dev/null || skip "no pid namespaces"
	exits 1 unshare -p -f ptrace-doctor --json
	finds problem proc 'another pid namespace'
}

@test "another user's process, and a set-user-ID program" {
	[ "$EUID" -eq 0 ] || skip "root only"
	command -v setpriv >/dev/null || skip "no setpriv"
	cp "$(command -v ptrace-doctor)" "$traced" .
	chmod 755 . ptrace-doctor
	user="setpriv --reuid=54321 --regid=54321 --clear-groups"
	$user test -x ./ptrace-doctor || skip "another user cannot get at the test"
	sleep 1000 3>&- &
	pids="$pids $!"
	exits 1 $user ./ptrace-doctor --json $!
	finds problem user 'runs as user 0; you are 54321'
	chmod 4755 traced
	run_split $user ./ptrace-doctor --json -- ./traced
	finds problem privileged 'set-user-ID'
	rm -rf /dev/shm/posixtrace-54321
}

@test "limits, and all streams taken" {
	exits 1 bash -c 'ulimit -f 1000; ptrace-doctor --json'
	finds problem limits 'ulimit -f'
	run_split bash -c 'ulimit -n 16; ptrace-doctor --json'
	finds problem limits 'ulimit -n'
	# The address sanitizer takes more address space than that.
	if ! grep -q __asan_init "$PTRACE_BIN/ptrace-doctor"; then
		run_split bash -c 'ulimit -v 300000; ptrace-doctor --json'
		finds problem limits 'ulimit -v'
	fi
	traced_start -w
	wait_until says ready
	local i
	for ((i = 0; i < 64; i++)); do
		ptrace-create --pid="$pid" --name="$me.m$i" --stream-min-size=16K || break
	done >/dev/null
	doctor
	finds problem streams 'can be no more'
}

@test "a wrong command line" {
	exits 2 ptrace-doctor --
	assert_one_message ptrace-doctor
	exits 2 ptrace-doctor 1 -- ls
	assert_one_message ptrace-doctor
	exits 2 ptrace-doctor --event=x
	assert_one_message ptrace-doctor
	# Names of any kind are one line.
	doctor "$(printf 'a\nb\033c')"
	run_split ptrace-doctor "$(printf 'a\nb\033c')"
	[ "$(wc -l <stdout.txt)" -eq 1 ]
	[ "$(grep -c "$(printf '\033')" stdout.txt)" -eq 0 ]
}

@test "a /dev/shm that is read-only is called that, by doctor and by run" {
	own_mounts 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm; mount -o remount,ro /dev/shm
		ptrace-doctor' || true
	[ "$status" -eq 1 ]
	[[ $stdout == *"/dev/shm: is mounted read-only"*"mount -o remount,rw /dev/shm"* ]]
	[[ $stdout != *chmod* ]]
	own_mounts 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm; mount -o remount,ro /dev/shm
		exec ptrace-run -o run.log true'
	[ "$status" -eq 125 ]
	assert_one_message ptrace-run
	[[ $stderr == "ptrace-run: /dev/shm: is mounted read-only, and a trace needs memory there: mount -o remount,rw /dev/shm" ]]
}

@test "a process of another pid namespace is not taken for one of this" {
	[ "$EUID" -eq 0 ] || skip "root only"
	unshare -pf --mount-proc true 2>/dev/null || skip "no pid namespaces"
	# Both have /dev/shm in common, and the session its numbers from elsewhere.
	unshare -pf --mount-proc ptrace-run --name="$me.ns" -o ns.log sleep 1000 3>&- &
	pids="$pids $!"
	listed() { ptrace-list --json | jq -se 'any(.[]; .session == "'"$me.ns"'")' >/dev/null; }
	wait_until listed
	ptrace-list --json | jq -se '.[0] | .foreign_namespace and (has("command") | not)'
	target=$(ptrace-list --json | jq -r .target)
	ptrace-list | grep -q "pid $target of another namespace"
	run_split ptrace-doctor "$me.ns"
	[[ $stdout == *"$me.ns: traces pid $target of another namespace"* ]]
	[[ $stdout != *"thread of the kernel"* ]]
	[[ $stdout != *"no such process"* ]]
	ptrace-shutdown --allow-loss "$me.ns"
}
