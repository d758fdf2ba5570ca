#!/bin/sh
# SPDX-License-Identifier: MIT
# Reports of ptrace-report in a browser: makes them, and has report-browser.mjs use them in Chromium.
# PTRC_NODE_MODULES is where playwright-core is; scripts/setup --browser installs both. TAP.
# Pictures are left in PTRC_SHOTS, if that is set.

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

modules=${PTRC_NODE_MODULES-$PTRC_SOURCE/build/node/node_modules}
chromium=$(command -v chromium) || skip_all 'no chromium (scripts/setup --browser)'
command -v node >/dev/null || skip_all 'no node (scripts/setup --browser)'
test -d "$modules/playwright-core" || skip_all 'no playwright-core (scripts/setup --browser)'
test -z "${PTRC_SAN_CFLAGS-}" || skip_all 'a browser is tested without sanitizers'
modules=$(cd "$modules" && pwd)
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99
PATH=$PTRC_BUILD/src:$PATH
export HOME="$dir"

# report NAME [OPTION]...: of NAME.log; what it says of losses is no news
report() {
	name=$1
	shift
	ptrace-report "$@" --allow-loss -o "$name.html" "$name.log" 2>messages || {
		cat messages >&2
		exit 99
	}
}

# scene LOG SCENE [COUNT]: a log that tests/support/scene.py lists
scene() {
	log=$1
	shift
	python3 "$PTRC_SOURCE/tests/support/scene.py" "$@" | "$PTRC_BUILD/tests/support/made_log" "$log" || exit 99
}

# hex TEXT: its bytes
hex() {
	printf %s "$1" | od -An -tx1 | tr -d ' \n'
}

scene work.log work 1000
report work
scene names.log names
report names
scene threads.log threads 10000
report threads
scene halves.log halves 1000
report halves
"$PTRC_BUILD/tests/support/made_log" part.log <<END || exit 99
event 1000 7 8 around.begin
event 2000 7 8 first
event 3000 7 8 around.end
event 4000 7 8 open.begin
event 6000 7 8 last
event 7000 7 8 open.end
END
report part --since=+1us --until=+5us
"$PTRC_BUILD/tests/support/made_log" fields.log <<END || exit 99
layout v u64 latency us, i64 neg ms, f64 fl s, u64 rest ns, u64 size B, f32 f, bool odd, enum u8 {get, put} kind
layout job json
layout mixed u32 a, json more
layout p.begin json
layout p.end u32 status
event 1000 7 8 v u64:50000 u64:-7 f64:2.5 u64:1234567 u64:512 hex:cdcccc3d u8:1 u8:1
event 2000 7 8 v u64:60001 u64:3 f64:1.5 u64:50 u64:40 hex:0000003f u8:0 u8:0
event 3000 7 8 job hex:$(hex '{"job":7,"kind":"bash","deep":{"list":[1,{"ok":true}]}}')
event 4000 7 8 job hex:$(hex '{"job":12,"kind":"sh"}')
event 5000 7 8 mixed u32:5 hex:$(hex '{"x":1}')
event 6000 7 8 p.begin hex:$(hex '{"job":7}')
event 7234 7 8 p.end u32:3
END
report fields
"$PTRC_BUILD/tests/support/made_log" waits.log <<END || exit 99
thread 0 7 8 teller
thread 0 7 9 clerk
layout wait.lock.begin enum u32 {pthread_mutex_lock} call, i32 holder, x64 lock, caller call_site
layout wait.lock.end i64 result, i32 error
layout wait.io.begin enum u32 {read} call, i32 fd, u64 size, caller call_site, str path
layout wait.io.end i64 result, i32 error
event 1000 7 7 wait.io.begin u32:0 u32:3 u64:10 u64:0x100 str:/etc/passwd
event 5000 7 7 wait.io.end u64:9 u32:0
event 6000 7 9 work.begin
event 7000 7 8 wait.lock.begin u32:0 u32:9 u64:0xabc0 u64:0x200
event 9000 7 9 work.end
event 9500 7 8 wait.lock.end u64:0 u32:0
event 9600 7 9 wait.lock.begin u32:0 u32:8 u64:0xabc0 u64:0x300
event 9700 7 6 wait.lock.begin u32:0 u32:0 u64:0xabc01 u64:0x300
event 9720 7 6 wait.lock.end u64:0 u32:0
event 9730 7 6 wait.io.begin u32:0 u32:3 u64:10 u64:0x100 str:/etc
event 9740 7 6 wait.io.end u64:9 u32:0
event 9750 7 6 wait.lock.x.begin
event 9760 7 6 wait.lock.x.end
event 10000 7 8 last
END
report waits
"$PTRC_BUILD/tests/support/made_log" switches.log <<END || exit 99
layout os.switch_out u32 processor, bool preempted
event 1000 5 5 os.switch_in u32:0
event 2000 5 5 os.switch_out u32:0 u8:0
event 5000 5 5 os.switch_in u32:0
END
report switches
scene years.log years 4000
report years
scene small.log work 20000
report small --max-size=512K
scene empty.log none
report empty
head -c 200000 work.log >cut.log
report cut
if "$PTRC_BUILD/src/ptrace-run" --os=samples -o sampled.log -- "$PTRC_BUILD/tests/support/os_work" spin 300 2>messages &&
	! grep -q 'no events of the operating system' messages; then
	report sampled
else
	echo "# no samples here: $(cat messages)"
fi
scene million.log work 76400
report million
timeout $((300 * ${PTRC_TEST_SLOWDOWN:-1})) node "$PTRC_SOURCE/tests/cmd/report/report-browser.mjs" "$chromium" "$modules" ${PTRC_SHOTS:+"$PTRC_SHOTS"}
