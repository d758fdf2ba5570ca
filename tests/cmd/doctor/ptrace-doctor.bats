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

# diagnoses STATUS CHECK PATTERN [OPERAND]...: whether it finds this
diagnoses() {
	doctor "${@:4}"
	finds "${@:1:3}"
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
	diagnoses ok library 'statically' -- "$traced" -n 1
	diagnoses note library '/cat: is not linked with the library.*programs that it starts.*-lposixtrace' -- cat --no-such-option
	diagnoses ok waits '/cat: the calls in which' -- cat
	diagnoses note functions '/cat: .* no hooks' -- cat
	diagnoses note sdt '/cat: neither it nor its libraries' -- cat
	# What runs others is all right as it is.
	for it in sh bash env nice; do
		diagnoses note library "/$it: is not linked" -- $it "$traced"
		[ "$status" -eq 0 ]
	done
	printf '#!/usr/bin/env -S cat\n' >script
	chmod +x script
	diagnoses note command 'is a script' -- ./script
	finds note library '/cat: is not linked'
	diagnoses problem command 'no such command' -- ./none-of-that-name
	# The shell runs a file that the kernel refuses.
	printf '%s -n 1\n' "$traced" >text
	chmod +x text
	ptrace-run -o text.log -- ./text
	doctor -- ./text
	[ "$status" -eq 0 ]
	finds note command 'text: has no #! line, so /bin/sh runs it'
	finds note library '/bin/sh: is not linked'
	printf 'x\0y\377' >bytes
	chmod +x bytes
	diagnoses note command 'bytes: has no #! line, so /bin/sh runs it' -- ./bytes
	printf '#!/no/such/interpreter\n' >script
	chmod +x script
	diagnoses problem command 'script: the interpreter of this script, .* was not found' -- ./script
	# That of what env(1) runs, in PATH.
	cp script outer
	python3 -c 'import sys; sys.stdout.buffer.write(sys.stdin.buffer.read().replace(b"/ld-linux", b"/no-linux"))' \
		<"$(command -v cat)" >loaderless
	chmod +x loaderless
	for command in outer loaderless; do
		printf '#!/usr/bin/env %s\n' "$command" >script
		PATH=$PWD:$PATH diagnoses problem command 'script: the interpreter of this script, .* was not found' -- ./script
	done
	head -c 64 "$traced" >part
	chmod +x part
	diagnoses problem library 'no program of this machine' -- ./part
	diagnoses problem command '' -- .
	diagnoses ok event 'has the name traced.event in it' --event=traced.event -- "$traced"
	diagnoses note event 'cannot be searched for the pattern traced[.][*]' --event='traced.*' -- "$traced"
	printf '#!/bin/sh\nptrace-event step\n' >script
	diagnoses ok event 'script: has the name step in it' --event=step -- ./script
	diagnoses note event 'script: does not have the name stop' --event=stop -- ./script
	diagnoses note event 'does not have the name no.such.text' --event=no.such.text -- "$traced"
	# The name has to end where it is found; linkers may merge it into a longer text that ends with it.
	diagnoses note event 'does not have the name traced.even' --event=traced.even -- "$traced"
}

@test "a program with the shared library, found and not" {
	local lib=$PTRC_BUILD/lib/.libs
	[ -e "$lib/libposixtrace.so" ] || skip "no shared library in this build"
	"${CC:-cc}" -I"$PTRC_SOURCE/include" "$PTRC_SOURCE/examples/hello.c" -o hello \
		-L"$lib" -lposixtrace || skip "no compiler for this build"
	ldconfig -p 2>/dev/null | grep -q libposixtrace ||
		diagnoses problem library 'cannot be found' -- ./hello
	LD_LIBRARY_PATH=$lib diagnoses ok library 'a shared one' -- ./hello
	# By way of another library, and by $ORIGIN.
	echo 'int between(void) { return 0; }' >between.c
	"${CC:-cc}" -shared -fPIC between.c -o libbetween.so -Wl,--no-as-needed -L"$lib" \
		-lposixtrace -Wl,-rpath,"$lib"
	echo 'int between(void); int main(void) { return between(); }' >main.c
	"${CC:-cc}" main.c -o main -L. -lbetween '-Wl,-rpath,$ORIGIN' -Wl,-rpath-link,"$lib"
	diagnoses ok library 'a shared one' -- ./main
	# A program may name any file as its loader: that is not started.
	printf '#!/bin/sh\n: >"$0.started"\n' >ld-mine
	chmod +x ld-mine
	"${CC:-cc}" main.c -o mine -L. -lbetween -Wl,-rpath-link,"$lib" \
		-Wl,--dynamic-linker="$PWD/ld-mine"
	diagnoses note library "a loader that is not the system's" -- ./mine
	[ ! -e ld-mine.started ]
}

@test "damaged programs are no problem for it" {
	cp "$traced" damaged
	for offset in 16 32 54 64 100 200 400; do
		cp "$traced" damaged
		damages damaged '\377\377\377\377\377\377\377\377' "$offset"
		doctor -- ./damaged
	done
	for size in 10 64 100 1000; do
		head -c "$size" "$traced" >damaged
		diagnoses problem library '' -- ./damaged
	done
}

@test "a process: none, without the library, not traced, ended" {
	diagnoses problem process 'no such process' 999999999
	sleeper
	diagnoses note library 'sleep, which is not linked with the library' "$sleeper"
	finds problem traced 'ptrace-create --start --pid'
	traced_start -w
	diagnoses ok library '' "$pid"
	finds problem traced
}

@test "--pid: whether a process can be traced" {
	diagnoses problem process 'no such process' --pid=999999999
	sleeper
	diagnoses problem library 'sleep, which is not linked with the library' --pid="$sleeper"
	exits 1 ptrace-doctor --pid="$sleeper"
	traced_start -w
	exits 0 ptrace-doctor -p "$pid"
	grep -q "^ok .*: can be traced; ptrace-create --start --pid=$pid\$" <<<"$stdout"
	exits 1 ptrace-doctor --pid="$pid" --pid="$sleeper"
	# What a session does is another question.
	ptrace-create --pid="$pid" --name="$me" >/dev/null
	exits 0 ptrace-doctor --json --pid="$pid"
	jq -se 'any(.check == "traced" and .status == "ok" and (.message | startswith("is traced")))' <<<"$stdout"
	exits 1 ptrace-doctor "$pid"
	for pid_text in x 0 -1 99999999999; do
		reports 2 '*--pid: *' ptrace-doctor --pid="$pid_text"
	done
	reports 2 '*--pid: is not expected together with a COMMAND*' ptrace-doctor --pid=1 -- ls
}

@test "a session: not started, running, its process gone, its controller killed" {
	traced_session "$me.a" -o run.log --keep -- -w -W
	diagnoses problem suspended "ptrace-start $me.a" "$me.a"
	diagnoses problem suspended "session $me.a.*ptrace-start $me.a" "$pid"
	ptrace-start "$me.a"
	doctor "$me.a"
	[ "$status" -eq 0 ]
	finds ok running
	# Unless the session has flushed by itself since.
	finds note flush 'none in the log yet' || [ "$(events run.log)" -gt 0 ]
	diagnoses note writer "session $me.a writes it" run.log
	kills "$pid"
	gone() { ptrace-list --format=json | jq -e 'select(.session == "'"$me.a"'") |
		.target_alive | not'; }
	wait_until gone
	diagnoses problem target "has ended; .*: ptrace-shutdown $me.a\$" "$me.a"
	kills "$(controller "$me.a")"
	for i in 1 2; do
		# Nothing is changed by looking.
		diagnoses problem session 'the background process that controlled it was killed' "$me.a"
	done
	[ -S "/dev/shm/posixtrace-$EUID/c.$me.a" ]
	diagnoses problem session "$me.a: the background process that controlled it was killed"
	rm -f "/dev/shm/posixtrace-$EUID/c.$me.a"
}

@test "a session whose process has ended traces a child of it" {
	traced_session "$me" --start -o run.log --keep -- -w -c 1 -n 2 -p 100000000
	go
	forked() { child=$(pgrep -P "$pid"); }
	wait_until forked
	wait_until eval 'ptrace-stat --json "$me" | jq -e ".counts.processes == 1"'
	kills "$pid"
	wait_until eval 'ptrace-list --json | jq -e "select(.session == \"$me\") | .target_alive | not"'
	diagnoses note target "process $pid has ended; still traced: traced .$child.; \$" "$me"
	kills "$child"
	diagnoses problem target "process $pid, which it traces, has ended; .*: ptrace-shutdown $me\$" "$me"
}

@test "a stream without a log whose controller was killed" {
	traced_session "$me" --start -- -w -W -n 10
	go done
	kills "$(controller "$me")"
	diagnoses problem controller 'was killed: its last events stand in /dev/shm; ptrace-salvage writes them$' "$pid"
	ptrace-salvage -o left.log "$pid"
	[ "$(ptrace-dump --allow-loss --count --event=traced.event left.log)" -eq 10 ]
	# What ptrace-salvage does not find is not promised.
	ptrace-create --pid="$pid" --name="$me.b"
	kills "$(controller "$me.b")"
	diagnoses problem controller 'was killed; no event is left of it; make another session$' "$pid"
	[ "$(ptrace-salvage)" = "You have no unfinished streams." ]
}

@test "a session whose controller alone was killed: its log may lack what came later" {
	traced_session "$me" --start -o run.log -- -w -W -n 10
	kills "$(controller "$me")"
	diagnoses problem session 'was killed; ptrace-doctor LOG examines its log, if it had one; the name is free$' "$me"
}

@test "a directory that is removed, and a file of it that is not the one of the library" {
	[ -n "${PTRC_TEST_NUMBER-}" ] || skip "needs a /dev/shm of its own"
	traced_start -w -W -n 10
	directory=/dev/shm/posixtrace-$EUID
	rm -r "$directory"
	diagnoses problem library 'cannot be reached: .* or was removed since, ' "$pid"
	fails finds problem traced
	kills "$pid"
	for it in 'mkdir bells' ': >bells' 'ln -s /dev/null bells'; do
		rm -rf "$directory"
		mkdir -m 700 "$directory"
		(cd "$directory" && eval "$it")
		diagnoses problem directory 'bells: is not what the library has made, .*; remove it, and start anew'
		reports 125 "$directory/bells: is not what the library has made*" ptrace-run -- "$traced" -n 1
	done
	rm -r "$directory"
	diagnoses ok directory
}

@test "a log by another path than its session's, and one that only its session sees" {
	traced_start -w -W
	mkdir D E
	own_mounts 'mount -t tmpfs none D
		mount --bind D E
		ptrace-create --pid="$2" --name="$1.a" --start -o E/run.log
		ptrace-doctor ./D/run.log
		unshare -m sh -ec "mount -t tmpfs none E; ptrace-create --pid=$2 --name=$1.b --start -o E/run.log"
		ptrace-doctor "$1.b"
		ptrace-shutdown "$1.a" "$1.b"' "$me" "$pid"
	[[ $status == 0 && $stdout == *"D/run.log: process "*" (ptrace-keeper) writes it; "* ]]
}

@test "a controller that is stopped is told within seconds" {
	traced_session "$me.s" --start -- -w
	controller=$(controller "$me.s")
	kill -STOP "$controller"
	why="does not answer: its process $controller is stopped; kill -CONT $controller continues it"
	diagnoses problem session "$why" "$me.s"
	run_split ptrace-list
	[[ $stderr == *"$me.s: the session $why"* ]]
	kill -CONT "$controller"
	# Its log, too.
	traced_session "$me.l" -o run.log --start -- -w
	controller=$(controller "$me.l")
	kill -STOP "$controller"
	diagnoses problem writer "process $controller (.*), which writes it, is stopped; kill -CONT $controller" ./run.log
	kill -CONT "$controller"
}

@test "a keeper that is stopped" {
	traced_session "$me.k" --start -o run.log -- -w
	finds_keeper run.log
	kill -STOP "$keeper"
	wait_until grep -q '^State:	T' "/proc/$keeper/status"
	diagnoses problem keeper "ptrace-keeper .$keeper., which writes its log, is stopped; kill -CONT $keeper continues it" "$me.k"
	kill -CONT "$keeper"
}

@test "a log that is a pipe which takes nothing" {
	mkfifo fifo
	exec 8<>fifo
	sleep 1000 <fifo 3>&- 8<&- &
	local reader=$!
	pids="$pids $reader"
	wait_until grep -qsx sleep "/proc/$reader/comm"
	exec 8<&-
	traced_session "$me.p" --start -o fifo -- -w -W -n 20000
	doctor "$me.p"
	[[ $stdout != *pipe* ]]
	go done
	begins flusher ptrace-flush "$me.p" 2>flush.err
	is_full() { diagnoses problem log 'fifo: is a pipe that is full: ptrace-keeper, which writes it, waits' "$me.p" >/dev/null; }
	wait_until is_full
	kills "$reader"
	diagnoses problem log 'fifo: is a pipe that no process reads' "$me.p"
}

@test "a keeper that was killed" {
	traced_session "$me.k" --start -o run.log -- -w
	controller=$(controller "$me.k")
	finds_keeper run.log
	# Else the session would replace it at once.
	kill -STOP "$controller"
	kills "$keeper"
	diagnoses problem keeper 'was killed' "$pid"
	kill -CONT "$controller"
}

@test "a stream that is full, a log that is full" {
	traced_session "$me.f" --start --stream-min-size=16K --stream-full-policy=until-full \
		-- -w -W -n 20000
	ptrace-create --pid="$pid" --name="$me.l" --start -o run.log --log-max-size=20K \
		--log-full-policy=until-full
	go done
	diagnoses problem stream-full "ptrace-clear $me.f.*ptrace-start $me.f" "$me.f"
	finds problem lost 'which was full; $'
	ptrace-flush "$me.l" || [ $? -eq 3 ]
	diagnoses problem log-full "ptrace-clear $me.l.*ptrace-start $me.l" "$me.l"
	finds problem lost 'which was full; $'
	ptrace-shutdown --allow-loss "$me.l" || true
	diagnoses problem lost '; use a larger --log-max-size' run.log
	fails finds problem log-full
}

@test "the advice on lost events fits where they were lost" {
	ptrace-run -o log.log --log-max-size=20K --log-full-policy=until-full --stream-min-size=4M \
		-- "$traced" -n 20000 ||
		[ $? -eq 3 ]
	diagnoses problem lost ': [1-9][0-9]* events lost in the log, which was full; use a larger --log-max-size$' ./log.log
	traced_session "$me.p" --start --stream-min-size=16K -- -w -W -n 20000
	go done
	diagnoses note lost '; use a larger --stream-min-size$' "$me.p"
	# A ring takes events from the stream though it is full, so each loss has its own remedy.
	record "$me.r" -o ring.log --log-full-policy=loop --log-max-size=20K --stream-full-policy=until-full \
		--stream-min-size=256K -- -n 20000
	ptrace-flush "$me.r" || [ $? -eq 3 ]
	diagnoses problem lost 'lost in the stream, which was full; use a larger --stream-min-size$' "$me.r"
	finds problem lost 'lost in the log, which was full; use a larger --log-max-size$'
	ptrace-shutdown --allow-loss "$me.r"
	diagnoses problem lost 'lost in the stream, which was full; use a larger --stream-min-size$' ./ring.log
	finds problem lost 'lost in the log, which was full; use a larger --log-max-size$'
	# A full log that is no ring takes none.
	record "$me.u" -o full.log --log-full-policy=until-full --log-max-size=20K --stream-full-policy=until-full \
		--stream-min-size=256K -- -n 20000
	ptrace-flush "$me.u" || [ $? -eq 3 ]
	ptrace-shutdown --allow-loss "$me.u" || true
	diagnoses problem lost 'lost in the stream, which was full; use a larger --log-max-size first; ' ./full.log
	finds problem lost 'lost in the log, which was full; use a larger --log-max-size$'
}

@test "an event that was never opened, and the nearest names" {
	traced_session "$me.e" --start -- -w -e shop.order
	diagnoses problem event "no process that it traces has opened an event shop.oder .did you mean 'shop.order'" --event=shop.oder "$me.e"
	diagnoses problem event "has not opened an event shop.oder .did you mean 'shop.order'" -e shop.oder "$pid"
	diagnoses note event 'has not happened' -e shop.order "$me.e"
	diagnoses ok event '' -e shop.order "$pid"
	[ "$status" -eq 0 ]
}

@test "an event that is filtered" {
	traced_session "$me.e" --start -- -w -e shop.order
	ptrace-filter --add "$me.e" shop.order
	diagnoses problem filtered 'filters out shop.order' --event=shop.order "$me.e"
	finds problem filtered "ptrace-filter --remove $me.e shop.order"
	diagnoses problem filtered 'all events that the process has: shop.order' "$pid"
	diagnoses problem filtered 'filters out shop.order' --event=shop.order "$pid"
	ptrace-filter --add --new "$me.e" 'later.*'
	diagnoses problem filtered "when it is opened, because a pattern of --exclude matches it; ptrace-filter --remove $me.e 'later[.][*]'$" --event=later.one "$me.e"
	ptrace-filter --only='shop.*' --exclude='ne?' --exclude='o*' --exclude='n*' "$me.e"
	diagnoses problem filtered "ptrace-filter --remove $me.e 'ne[?]' 'n[*]'$" -e new "$me.e"
	finds problem filtered 'no pattern of --only'
}

# advised: runs the command that the doctor advises to let the event of the session through
advised() {
	local command
	doctor --event="$2" "$1"
	command=$(jq -r --arg session "$1" 'select(.check == "filtered" and .thing == $session).advice' <<<"$stdout")
	run ptrace-doctor --event="$2" "$1"
	[[ $output == *"; $command"* ]]
	eval "$command"
	doctor --event="$2" "$1"
	fails finds problem filtered
}

@test "the advice about a filter is a command for the shell, whatever the names" {
	local name n=0
	for name in "it's" -dash '[z]' 'back\' $'line\nfeed'; do
		traced_session "$me.$((++n))" --start -- -w -e "$name"
		ptrace-filter --set --all "$me.$n"
		advised "$me.$n" "$name"
		[ "$(ptrace-filter "$me.$n" | wc -l)" -eq 10 ]
	done
	ptrace-filter --exclude='-*' --exclude='-z?' "$me.1"
	advised "$me.1" -z1
	[ "$(ptrace-filter "$me.1" | wc -l)" -eq 9 ]
	# A pattern, and a name that it does not match, although it is the same text.
	mkfifo never
	begins pid ptrace-run --name="$me.p" -o run.log -- sh -c '"$0" -e z
		exec "$0" -w -e "[z]" <>never' "$traced"
	is_open() { ptrace-events --names "$me.p" | grep -Fqx '[z]'; }
	wait_until is_open
	ptrace-filter --set --all "$me.p"
	diagnoses problem filtered "filters out 2 of 2 event types .*remove $me.p '[\\\\][[]z]' '[[]z]'\$" --event='[z]' "$me.p"
	advised "$me.p" '[z]'
}

@test "logs: without events, with them, cut short, none" {
	ptrace-run -o empty.log -- true || [ $? -lt 125 ]
	diagnoses problem events 'ptrace-doctor -- COMMAND' empty.log
	ptrace-run -o run.log -- "$traced" -n 10
	doctor ./run.log
	[ "$status" -eq 0 ]
	finds ok events 'has 10 events'
	diagnoses problem event "did you mean 'traced.event'" --event=traced.evnt run.log
	diagnoses ok event 'happened 10 times' --event=traced.event run.log
	# The trace left them out, whether by the name or altogether.
	for only in --only='x.*' --exclude='*'; do
		ptrace-run -o out.log "$only" -- "$traced" -n 10 2>/dev/null
		diagnoses problem event 'no event of it was recorded: none happened.*or the trace left it out' --event=traced.event ./out.log
		finds problem events 'programs opened 1 event type, .*--exclude'
		[[ $stdout != *"has the library"* ]]
	done
	head -c 1000 run.log >cut.log
	diagnoses problem log 'not closed' ./cut.log
	ptrace-run -o long.log --stream-min-size=16K --no-loss --quiet -- "$traced" -n 5000
	head -c $(($(stat -c %s long.log) * 3 / 4)) long.log >short.log
	diagnoses problem log 'not closed, and no process writes it: .*its disk was full' ./short.log
	finds ok events 'has [0-9]* events'
	# So many that most of the log is events.
	ptrace-run -o damaged.log -- "$traced" -n 5000
	damages damaged.log '\377\377' $(($(stat -c %s damaged.log) / 2))
	diagnoses problem log '[0-9] events not readable, as the log is damaged' ./damaged.log
	# What cannot be read says nothing about programs and names.
	[[ $stdout != *library* ]]
	for it in damaged cut; do
		for event in traced.event other; do
			diagnoses problem events 'has no event of a program in what is left' --event=$event ./$it.log
			finds note event 'in what is left'
			[[ $stdout != *library* ]]
		done
	done
	: >nothing
	diagnoses problem log 'is empty' nothing
	# Of a file that is no log nothing else is said, such as how much room its disk has.
	echo text >text
	chmod 444 text
	for it in text README; do
		[ $it = text ] || seq 10000 >$it
		diagnoses problem log 'not a trace log' ./$it
		jq -es 'map(.check) == ["log"]' <<<"$stdout"
	done
	cp run.log newer.log
	damages newer.log '\377' 12 $((880 + 12))
	diagnoses problem log 'a trace log of format version 255' ./newer.log
	mkfifo fifo
	for it in ./none . fifo; do
		diagnoses problem log '' "$it"
	done
	diagnoses problem operand 'no such session, log or process' "$me.none"
}

@test "a log whose last events are in a stream that is left" {
	record "$me" -o run.log -- -n 10
	controller=$(controller "$me")
	finds_keeper run.log
	kills "$keeper" "$controller"
	diagnoses problem log 'killed, and its last events stand in /dev/shm; ptrace-salvage writes them' ./run.log
	# The traced process goes on, but no command can do anything else with that stream.
	diagnoses problem controller 'its last events stand in /dev/shm; ptrace-salvage writes them' "$pid"
	fails finds problem keeper
	fails finds ok running
	stream=$(ptrace-salvage --json | jq -r .stream)
	ptrace-salvage "$stream"
}

@test "what ptrace-stat says that a log lacks, and no more" {
	# agrees LOG STATUS: both say the same
	agrees() {
		exits "$2" ptrace-stat --json "$1"
		local line said=$stderr
		doctor "./$1"
		[ "$status" -eq $(($2 ? 1 : 0)) ]
		while [ -n "$said" ] && read -r line; do
			jq -es --arg text "${line#ptrace-stat: "$1": }" \
				'any(.status == "problem" and .message == $text)' <<<"$stdout"
		done <<<"$said"
	}
	made run.log <<<$'event 100 7 8 a\nuntraced 1 12'
	agrees run.log 3
	finds problem attach '1 process could not be traced: too little room in /dev/shm, or too little memory or address space'
	few='exec 3<&- 4<&- 5<&-; ulimit -n 4'
	ptrace-run -o none.log -- bash -c "$few; exec \"\$0\"" "$traced" || [ $? -eq 3 ]
	agrees none.log 3
	finds problem attach 'too few descriptors'
	[[ $stdout != *"none happened"* && $stdout != *"no program"* ]]
	ptrace-run -o on.log -- "$traced" -f >child || [ $? -eq 3 ]
	kill -KILL "$(<child)"
	agrees on.log 3
	finds problem lost 'processes went on'
	ptrace-run -o parts.log --name="$me" --log-rotate=16K -- sh -c \
		'for i in 1 2 3; do "$0" -n 3000; ptrace-flush "$1"; done' "$traced" "$me"
	agrees parts.log 0
	rm parts.log.000001
	agrees parts.log 3
	finds problem log '1 file of the log is missing, with [0-9]* events'
	# The last one; a flush may have taken what the end of the run would have written.
	rm "$(printf "%s\n" parts.log.* | tail -n 1)"
	agrees parts.log 3
	finds problem log 'files of the log are missing: the last one here says'
	[[ $stdout != *"is not closed"* ]]
}

@test "the log of a run that goes on" {
	listens pid ready ptrace-run -o run.log -- "$traced" -w -W -n 10
	doctor run.log
	[ "$status" -eq 0 ]
	finds note writer 'writes it'
	finds note events 'yet'
	[[ $stdout != *"not closed"* ]]
	doctor --event=traced.event run.log
	[ "$status" -eq 0 ]
	finds note event 'in what has been written so far'
	go done
	go
	wait "${pids##* }"
	diagnoses ok event 'happened 10 times' --event=traced.event run.log
}

@test "an event by a pattern" {
	ptrace-run -o run.log -- sh -c '"$0" -e shop.order -n 3; "$0" -e shop.bill -n 4' "$traced"
	diagnoses ok event 'shop[.][*] happened 7 times' --event='shop.*' run.log
	diagnoses problem event 'has opened an event x[.][*]' --event='x.*' run.log
	traced_session "$me.e" --start -- -w -W -e shop.order
	diagnoses note event 'has not happened' --event='shop.*' "$me.e"
	diagnoses ok event 'has opened shop.order' --event='shop.*' "$pid"
	ptrace-filter --add "$me.e" shop.order
	for it in "$me.e" "$pid"; do
		diagnoses problem filtered 'filters out' --event='s*r' "$it"
	done
}

@test "the log on a full disk" {
	mkdir small
	in_mounts 1 'mount -t tmpfs -o size=128k tmpfs small; cd small; mkfifo in
		"$1" -w -W -n 20000 <in >out & exec 7>in
		until grep -qsx ready out; do sleep 0.02; done
		ptrace-create --pid=$! --name="$2" --start -o run.log >/dev/null
		head -c 1m /dev/zero >fill 2>/dev/null || true
		echo >&7; until grep -qsx done out; do sleep 0.02; done
		ptrace-flush "$2" 2>/dev/null || true
		status=0; ptrace-doctor --json "$2" || status=$?
		ptrace-shutdown --allow-loss "$2" 2>/dev/null || true
		kill $!; exit $status' "$traced" "$me.d"
	finds problem log 'No space left on device.*make room on the disk, then ptrace-flush'
	fails finds note flush
	finds problem disk 'is full'
}

@test "a log that has reached the limit on file size" {
	traced_start -w -W -n 20000
	(ulimit -S -f 8 && ptrace-create --pid="$pid" --name="$me.d" --start -o run.log --stream-min-size=64K)
	go done
	refuses 1 "$me.d: writing the log failed: File too large (see ulimit -f)" ptrace-flush "$me.d"
	diagnoses problem log 'File too large [(]see ulimit -f[)].*ptrace-shutdown .*larger ulimit -f' "$me.d"
	exits 3 ptrace-shutdown "$me.d"
}

@test "a finished log on a full disk is all right" {
	ptrace-run -o run.log -- "$traced" -n 1
	mkdir small
	in_mounts 0 'mount -t tmpfs -o size=32k tmpfs small
		cp run.log small; head -c 1m /dev/zero >small/fill 2>/dev/null || true
		ptrace-doctor --json small/run.log'
	finds ok events 'has 1 event of programs'
	[[ $stdout != *full* ]]
}

@test "shared memory that is full, missing, or open to renaming" {
	in_mounts 1 'mount -t tmpfs -o size=1m,mode=1777 tmpfs /dev/shm
		head -c 2m /dev/zero >/dev/shm/fill 2>/dev/null || true
		ptrace-doctor --json'
	finds problem shared-memory 'is full'
	in_mounts 125 'mount -t tmpfs -o size=64k,mode=1777 tmpfs /dev/shm
		ptrace-doctor --json || exec ptrace-run true'
	finds problem shared-memory 'is too small: it has 64 KiB'
	[ "$stderr" = "ptrace-run: true: no memory for the stream: /dev/shm is too small" ]
	# The advised size fits, and the default size fits where nothing is advised.
	for size in 9m: 5m:1M 1536k:1M 1m:64K 320k:64K; do
		advice=${size#*:} size=${size%:*}
		own_mounts 'mount -t tmpfs -o size="$1",mode=1777 tmpfs /dev/shm
			ptrace-doctor --json; exec ptrace-run -o shm.log "$2"' "$size" "$traced"
		if [ -z "$advice" ]; then
			[ "$status" -eq 0 ]
			finds ok shared-memory
			continue
		fi
		[ "$status" -eq 125 ]
		finds note shared-memory "use --stream-min-size=$advice"
		[[ $stderr == "ptrace-run: $traced: no memory for the stream: /dev/shm has too little room "*"; --stream-min-size=$advice needs less" ]]
		in_mounts 0 'mount -t tmpfs -o size="$1",mode=1777 tmpfs /dev/shm
			exec ptrace-run -o shm.log --stream-min-size="$2" "$3"' "$size" "$advice" "$traced"
	done
	# The patterns are the last for which there is no room.
	for size in $(seq 1200 30 1600); do
		own_mounts 'mount -t tmpfs -o size="$1"k,mode=1777 tmpfs /dev/shm
			exec ptrace-run -o shm.log --force --stream-min-size=1M --exclude="x*" "$2"' "$size" "$traced"
		if [ "$status" -ne 125 ]; then
			break
		fi
		[[ $stderr == "ptrace-run: $traced: no memory for the stream: /dev/shm has too little room "*"; --stream-min-size=64K needs less" ]]
	done
	[ "$status" -ne 125 ]
	in_mounts 125 'mount -t tmpfs -o nr_inodes=6,mode=1777 tmpfs /dev/shm
		ptrace-doctor --json || exec ptrace-run true'
	finds problem shared-memory 'can have only [0-9] more files'
	[[ $stderr == "ptrace-run: true: no memory for the stream: /dev/shm can have too few more files (df -i /dev/shm)" ]]
	own_mounts 'mount -t tmpfs -o size=100m,mode=777 tmpfs /dev/shm; ptrace-doctor --json'
	finds problem shared-memory 'chmod 1777'
	own_mounts 'mount -t tmpfs tmpfs /dev; ptrace-doctor --json'
	finds problem shared-memory 'cannot be used: No such file or directory'
	own_mounts 'mount -t tmpfs tmpfs /dev; : >/dev/shm; ptrace-doctor --json'
	finds problem shared-memory 'cannot be used: Not a directory'
}

@test "a directory that is another's, a file, or open to others" {
	own_mounts 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm
		mkdir -m 700 /dev/shm/posixtrace-0; chown 1234 /dev/shm/posixtrace-0
		ptrace-doctor --json'
	finds ok directory 'yours, and closed to others'
	[[ $stdout == *'/dev/shm/posixtrace-0.'* ]]
	in_mounts 1 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm
		mkdir -m 777 /dev/shm/posixtrace-0; chmod 777 /dev/shm/posixtrace-0
		ptrace-doctor --json -- "$1"' "$traced"
	finds problem directory 'has mode 777'
	own_mounts 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm
		: >/dev/shm/posixtrace-0; ptrace-doctor --json'
	finds problem directory 'is no directory'
}

@test "a process in another mount namespace, with another /dev/shm" {
	[ "$EUID" -eq 0 ] || skip "root only"
	listens pid ready unshare -m sh -c 'mount -t tmpfs tmpfs /dev/shm && exec "$@"' _ "$traced" -w
	diagnoses problem mount-namespace 'another mount namespace' "$pid"
}

@test "a process in another pid namespace" {
	[ "$EUID" -eq 0 ] || skip "root only"
	unshare -p -f true 2>/dev/null || skip "no pid namespaces"
	listens outer ready unshare -p -f --kill-child "$traced" -w
	pid=$(tr -d ' \n' <"/proc/$outer/task/$outer/children")
	diagnoses problem pid-namespace 'nsenter' "$pid"
}

@test "a process in another time namespace than its trace" {
	unshare -T true 2>/dev/null || skip "no time namespaces"
	cat >look.sh <<-'END'
		mkfifo lines
		exec 8<>lines
		"$1" -n 3 -W <lines >said &
		until grep -qsx done said; do sleep 0.1; done
		ptrace-doctor --json "$!" >found
		kill "$!"
	END
	run_split ptrace-run -o run.log -- unshare -T sh look.sh "$traced"
	stdout=$(<found)
	finds problem attach 'another pid or time namespace than the trace'
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
	begins sleeper sleep 1000
	exits 1 $user ./ptrace-doctor --json "$sleeper"
	finds problem user 'runs as user 0; you are 54321'
	chmod 4755 traced
	run_split $user ./ptrace-doctor --json -- ./traced
	finds problem privileged 'set-user-ID'
	# Of a log of another user nobody else knows whether a process still writes it.
	ptrace-run -o whole.log -- "$traced" -n 500
	head -c $(($(stat -c %s whole.log) - 8)) whole.log >cut.log
	chmod 644 cut.log
	exits 0 $user ./ptrace-doctor --json ./cut.log
	finds note log "not closed: another user's trace writes it"
	rm -rf /dev/shm/posixtrace-54321
}

@test "a process that root traces since before it changed its user, and its child" {
	[ "$EUID" -eq 0 ] || skip "root only"
	begins run ptrace-run -o run.log --name="$me.u" -- "$traced" -u 54321 -c 1 -n 2 -p 1000000000
	wait_until pgrep -u 54321 -x traced
	parent=$(pgrep -u 54321 -o -x traced)
	wait_until pgrep -P "$parent"
	child=$(pgrep -P "$parent")
	pids="$pids $child $parent"
	diagnoses ok running "session $me.u: is running" "$parent"
	diagnoses ok traced 'is traced by root' "$child"
	[ "$status" -eq 0 ]
	[[ $stdout != *"no event"* ]]
	for pid in "$parent" "$child"; do
		reports 1 "$pid: has changed its user and is traced by root*" ptrace-create --pid="$pid" --name="$me.x"
	done
	# The parent would report the death of its child, and exit.
	kill -KILL "$parent" "$child"
	ends 137 "$run"
	rm -rf /dev/shm/posixtrace-54321
}

@test "limits, and all streams taken" {
	exits 1 bash -c 'ulimit -f 1000; ptrace-doctor --json'
	finds problem limits 'ulimit -f'
	exits 0 bash -c 'ulimit -f 6000; ptrace-doctor --json && exec ptrace-run --stream-min-size=64K -o run.log -- true'
	finds note limits 'stream-min-size=64K'
	run_split bash -c 'ulimit -n 16; ptrace-doctor --json'
	finds problem limits 'ulimit -n'
	if unshare -pf --mount-proc test -w /proc/sys/vm/memfd_noexec; then
		run_split unshare -pf --mount-proc sh -c 'echo 2 >/proc/sys/vm/memfd_noexec; ptrace-doctor --json'
		finds note keeper memfd_noexec
	fi
	# The address sanitizer takes more address space than that.
	if ! grep -q __asan_init "$PTRACE_BIN/ptrace-doctor"; then
		run_split bash -c 'ulimit -v 300000; ptrace-doctor --json'
		finds problem limits 'ulimit -v'
	fi
	traced_start -w
	for ((i = 0; i < 64; i++)); do
		ptrace-create --pid="$pid" --name="$me.m$i" --stream-min-size=16K || break
	done >/dev/null
	diagnoses problem streams 'can be no more'
}

@test "a wrong command line" {
	reports 2 '*' ptrace-doctor --
	reports 2 '*' ptrace-doctor 1 -- ls
	reports 2 '*' ptrace-doctor --event=x
	# Names of any kind are one line.
	doctor "$(printf 'a\nb\033c')"
	run_split ptrace-doctor "$(printf 'a\nb\033c')"
	[ "$(wc -l <stdout.txt)" -eq 1 ]
	[ "$(grep -c "$(printf '\033')" stdout.txt)" -eq 0 ]
}

@test "a /dev/shm that is read-only is called that, by doctor, run and create" {
	in_mounts 1 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm; ptrace-event x; mount -o remount,ro /dev/shm
		ptrace-doctor' || true
	[ "$(grep -c '^problem' <<<"$stdout")" -eq 1 ]
	[[ $stdout == *"/dev/shm: is mounted read-only"*"mount -o remount,rw /dev/shm"* ]]
	[[ $stdout != *chmod* ]]
	in_mounts 125 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm; mount -o remount,ro /dev/shm
		exec ptrace-run -o run.log true'
	[ "$stderr" = "ptrace-run: /dev/shm: is mounted read-only, and a trace needs memory there: mount -o remount,rw /dev/shm" ]
	in_mounts 1 'mount -t tmpfs -o ro tmpfs /dev/shm; exec ptrace-create -p $$'
	[ "$stderr" = "ptrace-create: /dev/shm: is mounted read-only, and a trace needs memory there: mount -o remount,rw /dev/shm" ]
}

@test "a process of another pid namespace is not taken for one of this" {
	[ "$EUID" -eq 0 ] || skip "root only"
	unshare -pf --mount-proc true 2>/dev/null || skip "no pid namespaces"
	# Both have /dev/shm in common, and the session its numbers from elsewhere.
	begins runner unshare -pf --mount-proc ptrace-run --name="$me.ns" -o ns.log sleep 1000
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
