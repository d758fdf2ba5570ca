# SPDX-License-Identifier: MIT
# What the tests of the commands share. Each test has a directory of its own to work in;
# names of sessions carry the test's process ID, and teardown leaves nothing running.

: "${PTRC_BUILD:?the build tree}" "${PTRC_SOURCE:?the source tree}"

# Under bats --jobs the cases of a file run side by side. Each begins anew here, with a /dev/shm and
# process IDs of its own, as the file has by tests/support/isolated; where that cannot be, alone.
if [ "${BATS_SEMAPHORE_NUMBER_OF_SLOTS:-1}" -gt 1 ] && [ "${0##*/}" = bats-exec-test ]; then
	if [ "${PTRC_CASE-}" != "$BATS_SUITE_TEST_NUMBER" ]; then
		export PTRC_CASE=$BATS_SUITE_TEST_NUMBER
		mapfile -d '' words </proc/$$/cmdline
		spaces='-mp --fork --mount-proc --kill-child'
		rmdir "$BATS_TEST_TMPDIR"
		# shellcheck disable=SC2086 # the options are words
		if [ "$EUID" -eq 0 ] && unshare $spaces mount -t tmpfs tmpfs /dev/shm 2>/dev/null; then
			# shellcheck disable=SC2016 # the inner shell's
			exec unshare $spaces sh -c 'mount -t tmpfs tmpfs /dev/shm && "$@"; exit $?' sh "${words[@]}"
		fi
		exec flock --close "$BATS_FILE_TMPDIR" "${words[@]}"
	fi
	# bats tells cases apart by their process IDs.
	BATS_OUT=$BATS_RUN_TMPDIR/case.$PTRC_CASE.out
fi

PTRACE_BIN=${PTRACE_BIN:-$PTRC_BUILD/src}
traced=$PTRC_BUILD/tests/support/traced
me=t$$

# jq 1.6 takes 40 ms to begin, and `jq -e` succeeds without input; gojq takes 4, and does not. But gojq sorts the
# keys of objects, so it is not asked where these are printed; `command jq` is jq.
jq() {
	if [[ $1 =~ ^-[a-z]*[cS] || $* == *keys_unsorted* ]] || ! command -v gojq >/dev/null; then
		command jq "$@"
	else
		gojq "$@"
	fi
}

commands='check clear create doctor dump event events export filter flush list report run salvage shutdown snapshot start stat stop'

[ ! -x "$PTRACE_BIN/ptrace-ship" ] || commands+=' ship'

# Every wait is bounded; what takes longer has failed. Who succeeds does not wait so long.
patience=$((60 * ${PTRC_TEST_SLOWDOWN:-1}))

# A file whose cases all need something that is missing says so in `lacking`, where it is sourced: bats 1.8 takes
# `skip` in setup_file for a failure.
lacking=

setup() {
	[ -z "$lacking" ] || skip "$lacking"
	PATH=$PTRACE_BIN:$PATH
	cd "$BATS_TEST_TMPDIR" || return 1
	unset TZ
}

# Of a pipe that nobody writes to: a pause of a shell without another process.
exec {idle}<> <(:)

teardown() {
	clean_up
}

teardown_file() {
	are_valid
}

clean_up() {
	local name socket pid
	for socket in /dev/shm/posixtrace-"$EUID"/c."$me"*; do
		[ -S "$socket" ] || continue
		name=${socket##*/c.}
		ptrace-shutdown --allow-loss "$name" || rm -f "$socket"
	done
	for pid in $pids; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	# Whoever waits for input from the test gets its end.
	exec 7>&-
}

# run_split COMMAND...: status, stdout and stderr of a command, apart.
run_split() {
	status=0
	"$@" >stdout.txt 2>stderr.txt 3>&- || status=$?
	stdout=$(<stdout.txt)
	stderr=$(<stderr.txt)
}

# exits STATUS COMMAND...: the same, and the command has this status
exits() {
	run_split "${@:2}"
	[ "$status" -eq "$1" ] || { echo "${*:2}: status $status: $stderr"; return 1; }
}

# silently STATUS COMMAND...: the same, and it has no message
silently() {
	exits "$@" || return
	[ -z "$stderr" ] || { echo "${*:2}: $stderr"; return 1; }
}

# reports STATUS MESSAGE COMMAND...: the same, and it has one message of one line, which begins with its name;
# what follows that is of the pattern MESSAGE. The name is that of ours that a command such as env executes.
reports() {
	local message name
	for name in "${@:3}" "$3"; do
		[[ ${name##*/} != ptrace-* ]] || break
	done
	exits "$1" "${@:3}" || return
	IFS= read -rd '' message <stderr.txt || true
	# shellcheck disable=SC2053 # a pattern
	[[ $message == "${name##*/}: "$2$'\n' && ${message%$'\n'} != *$'\n'* ]] || { echo "${*:3}: $stderr"; return 1; }
}

# refuses STATUS MESSAGE COMMAND...: the same, and it prints nothing on standard output
refuses() {
	reports "$@" || return
	[ -z "$stdout" ] || { echo "${*:3}: $stdout"; return 1; }
}

# prints STATUS TEXT COMMAND...: the status, and its standard output is of the pattern TEXT
prints() {
	exits "$1" "${@:3}" || return
	# shellcheck disable=SC2053 # a pattern
	[[ $stdout == $2 ]] || { echo "${*:3}: $stdout"; return 1; }
}

# tells STATUS TEXT COMMAND...: the same of its standard error, however many lines that has
tells() {
	exits "$1" "${@:3}" || return
	# shellcheck disable=SC2053 # a pattern
	[[ $stderr == $2 ]] || { echo "${*:3}: $stderr"; return 1; }
}

# answers STATUS FILTER COMMAND...: the status, and the filter of jq holds for the JSON that it prints
answers() {
	exits "$1" "${@:3}" || return
	jq -e "$2" stdout.txt || { echo "${*:3}: $stdout"; return 1; }
}

# says_nothing COMMAND...: it succeeds and prints nothing at all
says_nothing() {
	silently 0 "$@" || return
	[ -z "$stdout" ] || { echo "$*: $stdout"; return 1; }
}

# does_not_run MESSAGE OPTION...: ptrace-run reports this about itself, and COMMAND does not run
does_not_run() {
	reports 125 "$1" ptrace-run "${@:2}" -- touch ran || return
	[ ! -e ran ]
}

# begins VARIABLE COMMAND...: in the background; the variable gets its process
begins() {
	"${@:2}" 3>&- &
	printf -v "$1" %s "$!"
	pids="$pids $!"
}

# sleeper: a process that is not linked with the library; $sleeper
sleeper() {
	begins sleeper sleep 1000
	# Before, it is the shell that becomes it.
	wait_until grep -qsx sleep "/proc/$sleeper/comm"
}

# ends STATUS PID: the process, which the test has begun, ends with this status
ends() {
	status=0
	wait "$2" || status=$?
	[ "$status" -eq "$1" ] || { echo "status $status"; return 1; }
}

# unread COMMAND...: its standard output is a pipe that no process reads any more
unread() {
	(
		set -o pipefail
		trap '' PIPE
		{
			while echo; do :; done 2>/dev/null
			"$@"
		} | true
	)
}

# own_mounts SCRIPT ARGUMENT...: run_split of a script, in mounts of its own
own_mounts() {
	[ "$EUID" -eq 0 ] || skip "root only"
	unshare -m true 2>/dev/null || skip "no mount namespaces"
	run_split unshare -m bash -ec "$1" _ "${@:2}"
}

# in_mounts STATUS SCRIPT ARGUMENT...: the same, and the script has this status
in_mounts() {
	own_mounts "${@:2}"
	[ "$status" -eq "$1" ] || { echo "status $status: $stderr"; return 1; }
}

# Exactly one line on standard error, which begins with the name of the program.
assert_one_message() {
	[ "$(wc -l <stderr.txt)" -eq 1 ] && [[ $stderr == "$1: "* ]]
}

# wait_until COMMAND...: until it succeeds; asked less and less often
wait_until() {
	local end=$((SECONDS + patience)) ms=10 pause
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		printf -v pause 0.%03d "$ms"
		read -rt "$pause" -u "$idle" || true
		[ "$ms" -ge 100 ] || ms=$((ms + 10))
	done
}

# Programs in the background have descriptor 3 closed: it belongs to bats, which waits until
# nobody has it any more.

# listens VARIABLE WORD COMMAND...: begins it, and waits until it has written the word, if there is one; `go`
# writes a line to its standard input, `go WORD` also waits for the word, `says WORD` is whether it is there
listens() {
	rm -f in out
	mkfifo in
	"${@:3}" <in >out 3>&- &
	printf -v "$1" %s "$!"
	pids="$pids $!"
	exec 7>in
	[ -z "$2" ] || wait_until says "$2"
}

# traced_start OPTION...: runs the traced program in the background, up to its wait if it has -w; $pid is its
# process, `go` lets it pass its next wait
traced_start() {
	local word=
	[[ " $* " != *" -w "* ]] || word=ready
	listens pid "$word" "$traced" "$@"
	disown "$pid"
}

# traced_session NAME [OPTION]... -- [OPTION]...: the session of this name of the traced program, which waits;
# options of ptrace-create, and of the program
traced_session() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	traced_start "${@:2}"
	ptrace-create --pid="$pid" --name="$name" "${options[@]}"
}

# lossy_session LOG: the session $me has lost events of the traced program in the stream, since its keeper stood still
lossy_session() {
	traced_session "$me" --start -o "$1" --stream-min-size=16K -- -w -W -n 2000
	finds_keeper "$1"
	kill -STOP "$keeper"
	go done
	kill -CONT "$keeper"
	ptrace-flush "$me"
}

# record NAME [OPTION]... [-- OPTION...]: such a session runs, and the program has recorded its events
record() {
	local options=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	traced_session "${options[@]}" --start -- -w -W "${@:2}"
	go done
}

go() {
	echo >&7
	[ $# -eq 0 ] || wait_until says "$1"
}

says() {
	grep -qsx "$1" out
}

# fails COMMAND...: a line that begins with "!" never fails a test.
fails() {
	! "$@"
}

# finds_keeper LOG [PID]: whether a keeper writes the log that is not this one; $keeper is its process
finds_keeper() {
	local comm log fd
	log=$(realpath "$1")
	for comm in $(grep -lsx ptrace-keeper /proc/[0-9]*/comm); do
		keeper=${comm//[!0-9]/}
		[ "$keeper" != "${2-}" ] || continue
		[[ $(readlink /proc/"$keeper"/fd/* 2>/dev/null) != *"$log"* ]] || return 0
		# A later file of a rotated log had no name when it was opened.
		for fd in /proc/"$keeper"/fd/*; do
			[ ! "$fd" -ef "$log" ] || return 0
		done
	done
	return 1
}

# kills_keepers LOG: three times the keeper that writes the log, as soon as there is one; $keeper is the last of them
kills_keepers() {
	keeper=
	for _ in 1 2 3; do
		wait_until finds_keeper "$1" "$keeper"
		kill -KILL "$keeper"
	done
}

# crash_run LOG [OPTION]... -- COMMAND...: a run whose COMMAND says "done" is killed with its keeper and COMMAND
crash_run() {
	local run keeper
	listens run done ptrace-run -o "$1" "${@:2}"
	disown "$run"
	finds_keeper "$1" || finds_keeper "$(printf '%s\n' "$1".0* | tail -n 1)"
	kill -STOP "$keeper"
	pids="$pids $keeper $(pgrep -P "$run") $run"
	# shellcheck disable=SC2046 # the children are words
	kill -KILL $(pgrep -P "$run") "$run"
	wait_until is_ended "$run"
	kills "$keeper"
	exec 7>&-
}

# children_of PID: those of all its threads, of which one may just be ending
children_of() {
	cat /proc/"$1"/task/*/children 2>/dev/null || true
}

# events LOG [GLOB]: number of events
events() {
	ptrace-dump --count --format=text ${2:+--event="$2"} "$1"
}

# counts LOG GLOB=NUMBER...: so many events have such names
counts() {
	local pair
	for pair in "${@:2}"; do
		[ "$(events "$1" "${pair%=*}")" -eq "${pair##*=}" ] || { echo "not $pair"; return 1; }
	done
}

# damages FILE BYTES OFFSET...: overwrites it there; the bytes are as printf takes them
damages() {
	local offset
	for offset in "${@:3}"; do
		# shellcheck disable=SC2059 # a format
		printf "$2" | dd of="$1" bs=1 seek="$offset" conv=notrunc status=none
	done
}

# flips FILE BITS OFFSET: turns these bits of a byte over
flips() {
	damages "$1" "\\$(printf %o $(($(od -An -tu1 -j "$3" -N 1 "$1") ^ $2)))" "$3"
}

# Gone, or a zombie that nobody has waited for yet. A zombie of which another thread has not ended
# yet still has its memory, and with it the locks that say that it lives.
is_ended() {
	local line fields
	line=$(cat /proc/"$1"/stat 2>/dev/null) || return 0
	read -ra fields <<<"${line##*) }"
	[ "${fields[0]}" = Z ] && [ "${fields[17]}" -le 1 ]
}

# kills PID...: at once, and they are gone
kills() {
	local one
	kill -KILL "$@"
	for one; do wait_until is_ended "$one"; done
}

# controller SESSION: the process that controls it
controller() {
	ptrace-stat --json --allow-loss "$1" | jq .controller
}

no_session() {
	[ "$(session_files)" -eq 0 ]
}

# made LOG: a log of the events that standard input lists, see tests/support/made_log.c
made() {
	"$PTRC_BUILD/tests/support/made_log" "$1"
}

# timeline LOG NS[/THREAD]:NAME[:KIND:VALUE]...: a log of these events of the thread, which is 8 if it has no number, of
# process 7, or of the trace system; what has a blank is a line of made_log.c
timeline() {
	local ns name data thread
	for name in "${@:2}"; do
		[[ $name != *' '* ]] || { echo "$name"; continue; }
		IFS=: read -r ns name data <<<"$name"
		thread="7 8"
		[[ $ns != */* ]] || thread="7 ${ns#*/}"
		[[ $name != posix_trace_* ]] || thread="0 0"
		echo "event ${ns%/*} $thread $name $data"
	done | made "$1"
}

# job_log LOG LAYOUT 'NS TID begin|end [KIND:VALUE]'...: a log of events job.begin and job.end with this layout
job_log() {
	{
		printf "layout job.%s $2\n" begin end
		printf '%s\n' "${@:3}" | sed -E 's/^([^ ]+) ([^ ]+) /event \1 1 \2 job./'
	} | made "$1"
}

# durations LOG [PAIR COUNT LEAST GREATEST TAIL SEED]...: a log of pairs, see tests/support/durations.py
durations() {
	python3 "$PTRC_SOURCE/tests/support/durations.py" "${@:2}" | made "$1"
}

# session_files: how many sockets of sessions of this test there are
session_files() {
	local socket n=0
	for socket in /dev/shm/posixtrace-"$EUID"/c.*"$me"*; do
		[ -e "$socket" ] && n=$((n + 1))
	done
	echo "$n"
}

# Whether there is a validator; asked once in a file.
has_validator() {
	local answer=$BATS_RUN_TMPDIR/validator
	if [ ! -s "$answer" ]; then
		python3 -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null &&
			echo yes >"$answer" || echo no >"$answer"
	fi
	[ "$(<"$answer")" = yes ]
}

# validates KIND [FILE]...: whether each line of the files, or of standard input, is what
# docs/ptrace-KIND.schema.json says, and there is one
validates() {
	python3 "$PTRC_SOURCE/tests/support/validate.py" "$PTRC_SOURCE/docs" "$@"
}

# valid KIND: the same of standard input, but not before all cases of the file have ended, as a validator takes
# longer to begin than to judge; which case it was is in the name that are_valid prints
valid() {
	cat >"$BATS_TEST_TMPDIR.new"
	[ -s "$BATS_TEST_TMPDIR.new" ] &&
		cat "$BATS_TEST_TMPDIR.new" >>"$BATS_FILE_TMPDIR/case-$BATS_TEST_NUMBER.$1"
}

are_valid() {
	local kind status=0
	for kind in $(printf '%s\n' "$BATS_FILE_TMPDIR"/case-* | sed -n 's|.*/case-[0-9]*\.||p' | sort -u); do
		! has_validator || validates "$kind" "$BATS_FILE_TMPDIR"/case-*."$kind" || status=1
	done
	return "$status"
}

# Functions have names in builds with libdw.
has_symbols() {
	! grep -q 'built without libdw' <(ptrace-dump --symbols /dev/null 2>&1)
}

needs_symbols() {
	has_symbols || skip "built without libdw"
}

# Skips what needs events of the operating system where the kernel refuses them; the line that says why
# is shown.
needs_os() {
	local why
	why=$(ptrace-run --os=sched -o needs.log true 2>&1) || true
	[[ $why != *"no events of the operating system"* ]] || skip "$why"
}

needs_calls() {
	local why
	needs_os
	why=$(ptrace-run --os=syscalls -o needs.log true 2>&1) || true
	[[ $why != *"no system calls"* ]] || skip "$why"
}

# refused MESSAGE COMMAND...: where the kernel refuses such events, it succeeds with this message
refused() {
	"$PTRC_BUILD/tests/support/os_work" refused true || skip "no seccomp here"
	reports 0 "$1" "$PTRC_BUILD/tests/support/os_work" refused "${@:2}"
}

# without_privileges OPTION...: ptrace-run of another user, with such events; its log becomes a.log
without_privileges() {
	local dir user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	[ "$EUID" -eq 0 ] || skip "root only"
	"${user[@]}" test -x "$PTRACE_BIN/ptrace-run" || skip "another user cannot execute the commands here"
	# The directories above are closed to others.
	dir=$(mktemp -d)
	chown 65534:65534 "$dir"
	run_split "${user[@]}" sh -c 'cd "$1" && shift && exec ptrace-run -o a.log "$@"' _ "$dir" "$@"
	mv "$dir"/a.log . || true
	rm -rf "$dir"
	[ "$status" -eq 0 ] || skip "another user cannot write here: $stderr"
}

# chains LOG: the functions of each sample, innermost first
chains() {
	ptrace-dump --json --symbols --event=os.sample "$1" 2>chains.err |
		jq -r '[.symbols.stack[].function // "?"] | join(" ")'
}

# lost_of_os LOG: how many events the kernel has lost
lost_of_os() {
	ptrace-dump --json --event=os.lost "$1" | jq -s 'map(.data.events) | add // 0'
}

# fields LOG GLOB JQ: of each event whose name matches
fields() {
	ptrace-dump --json --event="$2" "$1" | jq -r "$3"
}
