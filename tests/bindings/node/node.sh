#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154,SC2016 # functions are called through result, which tap.sh has; JavaScript has $
# The package posixtrace for Node: cases of node_package.js, and what needs a process of its own. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"

command -v node >/dev/null || skip_all 'no node (scripts/setup --bindings)'
command -v jq >/dev/null || skip_all 'no jq'
NODE_PATH=$PTRC_BUILD/bindings/node
test -r "$NODE_PATH/posixtrace/posixtrace.node" || skip_all 'not built: see the end of what configure says'
LD_LIBRARY_PATH=$PTRC_BUILD/lib/.libs
PATH=$PTRC_BUILD/src:$PATH
tests=$PTRC_SOURCE/tests/bindings/node
export NODE_PATH LD_LIBRARY_PATH
cd "$dir" || exit 99
# Where import and the compiler of TypeScript look.
mkdir node_modules && ln -s "$NODE_PATH/posixtrace" node_modules/posixtrace || exit 99

# passes CASE: of those that node_package.js has printed
passes() {
	grep -A 1000 -Fx "# case: $1" cases | sed '1d; /^ok$/q; /^not ok$/q' >of_case
	cat of_case
	grep -qx ok of_case
}

# events FILE: what ptrace-dump shows of the program's events in the log
events() {
	ptrace-dump --format=json "$1" | jq -r 'select(.type_id > 9) | .event + " " + (.data | tostring)'
}

# The two lines of the README, with the commands that follow them.
first_event() (
	sed -n '/^```js/,/^```/{/^```/d;p;};/^    \$ ptrace-dump/q' "$PTRC_SOURCE/bindings/node/README.md" >hello.js
	test "$(wc -l <hello.js)" -eq 2 || exit 1
	sed -n 's/^    \$ \(.*hello\.log\)/\1/p;s/^    \$ \(.* hello\.js\)/\1/p' "$PTRC_SOURCE/bindings/node/README.md" >hello
	test "$(wc -l <hello)" -eq 2 && sh -e hello >shown && cat shown
	grep '"event":"hello.greeting".*"data":{"number":1,"text":"world"}' shown
)

untraced() {
	node -e '
		const assert = require("node:assert");
		const { event, trace, span, startSpan, currentKey, isTraced, version } = require("posixtrace");
		assert(!isTraced());
		assert.match(version(), /^posixtrace \d/);
		trace("t", { a: 1, b: "" });
		const some = event("e", "u8 a, bytes[3] b, str c, json d");
		some(1, Buffer.alloc(3), "x".repeat(5000), []);
		assert.strictEqual(span("s", () => 7), 7);
		assert.throws(() => span("s", () => { throw new Error("mine"); }), /mine/);
		span("s", () => assert.strictEqual(currentKey(), 0n));
		startSpan("s").end();
		// No value is looked at.
		const watched = { get toJSON() { throw new Error("looked at"); } };
		some(256, 7, Symbol("x"), watched);
		some();
		trace("t", { get a() { throw new Error("looked at"); } });
		assert.throws(() => span("s"), /a function is needed/);'
}

# A session that begins later traces spans that begin later, whole.
traced_later() (
	mkfifo ready go
	node -e '
		const { readFileSync, writeFileSync } = require("node:fs");
		const { span, startSpan } = require("posixtrace");
		const rendezvous = () => { writeFileSync("ready", ""); readFileSync("go"); };
		const early = startSpan("early");
		span("around", () => {
			rendezvous();
			early.end();
			span("late", () => {});
		});
		rendezvous();' &
	cat ready
	session=$(ptrace-create --pid=$! -o later.log --start) || exit 1
	echo >go
	cat ready
	ptrace-shutdown "$session" || exit 1
	echo >go
	events later.log | sed 's/ .*//' | paste -sd ' ' | tee shown
	test "$(cat shown)" = 'late.begin late.end'
)

requests() {
	ptrace-run -o http.log -- node "$tests/requests.js" || return 1
	ptrace-dump --format=json http.log | node "$tests/requests.js" check
}

preloaded() {
	echo 'fetch("http://127.0.0.1:8/main").catch(() => {});
		const { Worker, isMainThread } = require("node:worker_threads");
		if (isMainThread) new Worker("fetch(`http://127.0.0.1:8/worker`).catch(() => {});", { eval: true });' >plain.js
	ptrace-run -o plain.log -- node -r posixtrace/subscribe plain.js || return 1
	events plain.log | tee shown
	grep 'http.client.begin .*"host":"127.0.0.1:8","path":"/main"' shown &&
		grep 'http.client.begin .*"host":"127.0.0.1:8","path":"/worker"' shown &&
		test "$(grep -c 'http.client.end .*"status":0}' shown)" -eq 2
}

# Node unloads addons with the last thread that uses them.
only_workers() {
	ptrace-run -o workers.log -- node -e '
		const { Worker } = require("node:worker_threads");
		const run = (next) => new Worker("require(`posixtrace`).span(`s`, () => {});", { eval: true }).on("exit", next);
		run(() => run(() => {}));' || return 1
	events workers.log | grep '^s\.begin' | tee shown
	test "$(sort -u shown | wc -l)" -eq 2
}

imported() {
	echo 'import { trace } from "posixtrace"; import "posixtrace/subscribe"; trace("imported");' >program.mjs
	NODE_PATH='' ptrace-run -o imported.log -- node program.mjs || return 1
	events imported.log | grep '^imported'
}

types() {
	command -v tsc >/dev/null || { echo 'no tsc (scripts/setup --bindings)'; return 77; }
	cp "$tests/types.mts" . && tsc --noEmit --strict --target es2022 --lib es2022 --module nodenext types.mts
}

# With the library in the prefix of the installation, and without the environment.
installed() (
	mkdir -p prefix/lib/nodejs && cp -r "$NODE_PATH/posixtrace" prefix/lib/nodejs || exit 1
	cp "$LD_LIBRARY_PATH/libposixtrace.so.0" prefix/lib || exit 1
	unset LD_LIBRARY_PATH
	cd / || exit 1
	NODE_PATH=$dir/prefix/lib/nodejs node -e '
		require("posixtrace").trace("a");
		console.log(require("fs").readFileSync("/proc/self/maps", "utf8"));' >"$dir/maps" || exit 1
	grep -q "$dir/prefix/lib/libposixtrace.so.0" "$dir/maps"
)

killed() {
	ptrace-run -o killed.log -- node -e '
		const { trace } = require("posixtrace");
		for (let n = 0; n < 1000; n++) trace("n", { n });
		process.kill(process.pid, "SIGKILL");'
	test $? -eq 137 && test "$(events killed.log | grep -c '^n ')" -eq 1000
}

timeout $((120 * ${PTRC_TEST_SLOWDOWN:-1})) node "$tests/node_package.js" "$dir" >cases 2>&1 || cat cases
sed -n 's/^# case: //p' cases >names
test -s names || { sed 's/^/# /' cases; echo 'Bail out!'; exit 99; }
while read -r name; do result "$name" passes "$name"; done <names
result 'the two lines of the README record an event' first_event
result 'a process that is not traced' untraced
result 'a process that is traced later' traced_later
result 'requests and connections, of http, net and fetch' requests
result 'an unchanged program with -r posixtrace/subscribe' preloaded
result 'keys where only worker threads use the package, one after the other' only_workers
result 'a module that is imported' imported
result 'the types of TypeScript' types
result 'installed, it finds the library of its prefix' installed
result 'events of a process that is killed' killed
echo "1..$number"
exit "$status"
