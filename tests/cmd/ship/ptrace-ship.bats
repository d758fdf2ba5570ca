#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Events for a server: ptrace-ship. tests/cmd/ship/ship_server.py is a server that does what a test wants; where
# clickhouse-server is installed, it is asked, too.
# Takes long, as one log has 6,600,000 events, and each case starts that server, which is in Python.

load ../../support/helpers

setup() {
	[ -x "$PTRACE_BIN/ptrace-ship" ] || skip "built without libcurl"
	command -v zstd >/dev/null || skip "no zstd"
	PATH=$PTRACE_BIN:$PATH
	cd "$BATS_TEST_TMPDIR" || return 1
	unset TZ
	mkdir server
	serve
}

# serve: starts the server, at the port that it had before
serve() {
	local before
	before=$(cat server/port 2>/dev/null) || true
	python3 "$PTRC_SOURCE/tests/cmd/ship/ship_server.py" server 2>>server/errors 3>&- &
	server=$!
	disown "$server"
	pids="$pids $server"
	wait_until test -s server/port
	url=http://127.0.0.1:$(cat server/port)
	[ -z "$before" ] || wait_until curl -so /dev/null -d 'SELECT version()' "$url"
}

# acts LINE...: what the server does with the next batches
acts() {
	printf '%s\n' "$@" >server/script
}

ship() {
	run_split ptrace-ship --server="$url" "$@"
}

# release: the answer that was held comes
release() {
	: >server/release
}

# ships STATUS OPTION...
ships() {
	exits "$1" ptrace-ship --server="$url" "${@:2}"
}

# ship_reports STATUS MESSAGE OPTION...
ship_reports() {
	reports "$1" "$2" ptrace-ship --server="$url" "${@:3}"
}

# held LINE OPTION...: ptrace-ship waits for the answer to a batch of a.log; $pid
held() {
	acts "$1"
	begins pid ptrace-ship --server="$url" "${@:2}" a.log 2>err
	wait_until grep -qs ^events server/requests
}

# dies_within MS OPTION...: it is killed at any moment of so many milliseconds
dies_within() {
	begins pid ptrace-ship --server="$url" "${@:2}" 2>/dev/null
	read -rt "0.$(printf %03d $((RANDOM % $1)))" -u "$idle" || true
	kill -KILL "$pid" 2>/dev/null || true
	wait_until is_ended "$pid"
}

# many LOG COUNT [STEP]: so many events, as many ns apart
many() {
	made "$1" <<-END
		layout tick u64 n
		event 1000 7 8 tick u64:1
		event 2000 7 8 tick u64:2
		repeat $((($2 - 2) / 2)) ${3:-2000}
	END
}

# rotated LOG NUMBER: a log in so many files, and its first one
rotated() {
	ptrace-run -o "$1" --name="$me" --log-rotate=16K -- sh -c \
		'for i in $(seq "$2"); do "$0" -n 3000; ptrace-flush "$1"; done' "$traced" "$me" "$2"
	[ -e "$1.00000$2" ]
}

# has_once LOG COUNT: whether the server has each row once
has_once() {
	jq -se --arg log "$(sed -n 's/^log //p' "$1.ship")" --argjson count "$2" \
		'map(select(.log == $log).seq) | sort == [range($count)]' server/events >/dev/null
}

# sends COUNT [OPTION]... LOG: the log is sent, and the server has each of its rows once
sends() {
	ships 0 "${@:2}"
	has_once "${*: -1}" "$1"
}

@test "each event of a closed log is a row, with its fields as what they are" {
	made a.log <<-END
		layout all packed u8 a, i8 b, u64 c, f64 d, char[4] e, bytes[2] f, enum u8 {idle=0,busy=1} g, bool h, f32 i
		layout note json
		event 1000 7 8 all hex:01ffffffffffffffffff000000000000f83f6162630000ff0101cdcccc3d
		event 2000 7 9 note hex:7b2261223a312c2262223a7b2263223a5b312c325d7d2c2264223a22785c225c6e79222c2265223a312e352c2266223a747275652c2267223a6e756c6c7d
		event 3000 7 9 we%0aird%ff%27name hex:00ff0a27
	END
	ptrace-dump a.log >/dev/null
	ships 0 a.log
	[ -z "$stdout$stderr" ]
	has_once a.log 3
	jq -se 'map(.time) == [1700000000000001000, 1700000000000002000, 1700000000000003000]' server/events
	jq -se 'map([.pid, .tid]) == [[7, 8], [7, 9], [7, 9]]' server/events
	jq -se '.[0] | .event == "all" and .ints == {a: 1, b: -1, g: 1, h: 1}' server/events
	jq -se '.[0].floats == {d: 1.5, i: 0.1} and (.[0].uints | keys) == ["c"]' server/events
	jq -se '.[0].strings | .e == "abc" and .g == "busy" and (.f | length) == 2' server/events
	jq -se '.[1] | .ints == {a: 1, f: 1} and .floats == {e: 1.5}' server/events
	jq -se '.[1].strings == {b: "{\"c\":[1,2]}", d: "x\"\ny"}' server/events
	python3 - <<-'END'
		import json
		row = [json.loads(line) for line in open('server/events')][2]
		to_bytes = lambda text: text.encode('utf-8', 'surrogateescape')
		assert to_bytes(row['event']) == b"we\nird\xff'name", row
		assert to_bytes(row['data']) == b"\x00\xff\x0a'", row
	END
	[ "$(sed -n 's/^complete //p' a.log.ship)" = 1 ]
	# Nothing is sent twice.
	: >server/requests
	ships 0 --verbose a.log
	[ "$stdout" = "a.log: 0 rows, 0 bytes" ]
	fails grep ^events server/requests
}

@test "numbers of JSON are what they say, and of two members of one name the last one counts" {
	cat >texts.py <<-'END'
		texts = (
		    '{"max": 9223372036854775807, "more": 9223372036854775808, "most": 18446744073709551615,'
		    ' "beyond": 18446744073709551616, "min": -9223372036854775808, "below": -9223372036854775809,'
		    ' "zero": -0, "half": 5e-1, "long": 0.' + '25' * 40 + '}',
		    ' { "a" : 1 , "b":[{"a" : 3}, "} {"] , "\\u0061" : "x\\"y" , "c":1,"c":null, "":{} } ',
		    '{}')
		print('layout note json')
		for i, text in enumerate(texts):
		    print(f'event {i + 1}000 7 9 note hex:{text.encode().hex()}')
	END
	python3 texts.py | made a.log
	ships 0 a.log
	cat >expect.py <<-'END'
		import json
		rows = [json.loads(line) for line in open('server/events')]
		rows = [{kind: row[kind] for kind in ('ints', 'uints', 'floats', 'strings') if row[kind]}
		        for row in rows]
		assert rows[0] == {
		    'ints': {'max': 2**63 - 1, 'min': -2**63, 'zero': 0},
		    'uints': {'more': 2**63, 'most': 2**64 - 1},
		    'floats': {'beyond': 2.0**64, 'below': -2.0**63, 'half': 0.5,
		               'long': float('0.' + '25' * 40)}}, rows[0]
		assert rows[1] == {'strings': {'a': 'x"y', 'b': '[{"a":3},"} {"]', '': '{}'}}, rows[1]
		assert rows[2] == {}, rows[2]
	END
	python3 expect.py
	# A field of a layout gives its members its name.
	made b.log <<-END
		layout named json j
		event 1000 7 9 named hex:$(printf '{"a":1,"a":2}' | od -An -v -tx1 | tr -d ' \n')
		event 2000 7 9 named hex:$(printf ' "text" ' | od -An -v -tx1 | tr -d ' \n')
	END
	ships 0 b.log
	tail -n 2 server/events | jq -se 'map([.ints, .strings]) == [[{"j.a": 2}, {}], [{}, {j: "text"}]]'
}

@test "rows tell machine, process and bound of the time" {
	ptrace-run -o a.log -- ptrace-event app.start n=1
	ships 0 a.log
	jq -se --arg host "$(uname -n)" --arg boot "$(cat /proc/sys/kernel/random/boot_id)" \
		'all(.host == $host and .boot == $boot)' server/events
	jq -se 'map(select(.event == "app.start"))[0].bound | . > 0 and . < 1e12' server/events
	jq -se 'map(select(.event == "app.start"))[0].ints == {n: 1}' server/events
	jq -e --arg host "$(uname -n)" '.host == $host and (.kernel | startswith("Linux "))' server/hosts
	jq -se --slurpfile p server/processes 'map(.process) | unique | . == (. - (. - ($p | map(.process))))' \
		server/events
	jq -se 'map(select(.command | contains("ptrace-run -o a.log"))) | length == 1 and
		(.[0] | .user == '"$EUID"' and .start > 1e18)' server/processes
	jq -se 'map([.process, .pid]) | length == (unique | length)' server/processes
}

@test "a process is told once, however often a log that grows is looked at; in batches as events" {
	mkdir logs
	follow --follow=logs
	random() { head -c 150 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }
	export -f random
	ptrace-run -o logs/a.log --name="$me" -- bash -c 'for i in 1 2 3 4; do
		for j in 1 2 3 4 5; do "$0" -d "$(random)"; done
		ptrace-flush "$1"
		until [ "$(grep -cs traced.event server/events)" -ge $((5 * i)) ]; do sleep 0.05; done
	done' "$traced" "$me"
	wait_until is_complete logs/a.log
	end_follow 0
	# It was looked at several times, while processes came.
	[ "$(grep -c ^processes server/requests)" -ge 3 ]
	[ "$(grep -c ^hosts server/requests)" -eq 1 ]
	# One that was seen when it had just begun is told once more.
	jq -se 'length >= 20 and length <= 2 * (map([.process, .pid]) | unique | length)' server/processes
	jq -se 'map(tojson) | length == (unique | length)' server/processes
	# Who starts anew tells all of them, and no more of them at once than fits.
	: >server/requests
	: >server/processes
	rm logs/a.log.ship
	ships 0 --batch-size=1K logs/a.log
	[ "$(grep -c ^processes server/requests)" -ge 2 ]
	jq -se 'length >= 20 and length == (map([.process, .pid]) | unique | length)' server/processes
}

# The kernel's events come late, so that some are older than events that the ring has overwritten already.
@test "the row at the end of a ring counts what the ring cannot show, as ptrace-stat does" {
	needs_calls
	ptrace-run --quiet -o a.log --os=syscalls --stream-min-size=1M --log-full-policy=loop --log-max-size=256K -- \
		"$traced" -n 60000 || [ $? -eq 3 ]
	ptrace-stat --json a.log >stat.json || [ $? -eq 3 ]
	ships 3 a.log
	jq -se --slurpfile stat stat.json 'map(select(.strings.cause == "log"))[0].ints.lost == $stat[0].losses.log_events' \
		server/events
}

@test "what is missing in a log is rows, and the exit status says so" {
	timeline a.log 1000:one 2000:two 'lost 5'
	ship_reports 3 "*a.log: *5*" a.log
	jq -se '.[2] | .event == "posixtrace.lost" and .ints == {lost: 5} and
		.strings == {cause: "stream"} and .seq == 2' server/events
	# Events that were overrun are told before what comes next, on the day of that.
	timeline b.log 1000:one 2000:posix_trace_overflow 90000000000000:posix_trace_resume 90000000001000:two
	: >server/events
	: >server/requests
	ships 0 b.log
	jq -se 'map([.seq, .event]) == [[0, "one"], [1, "posix_trace_overflow"], [2, "posixtrace.lost"],
		[3, "posix_trace_resume"], [4, "two"]]' server/events
	jq -se '.[2] | .strings == {cause: "overrun"}' server/events
	grep -q '"seq": 2, "time": 1700006400000000000, .*"from_ns": 1700000000000002000, "until_ns": 1700090000000000000' \
		server/events
	[ "$(grep -c ^events server/requests)" -eq 2 ]
	# So is a full stream, which stops until it has been flushed.
	lossy_session full.log
	ptrace-shutdown --allow-loss "$me"
	: >server/events
	ships 3 --batch-size=1K full.log
	has_once full.log "$(wc -l <server/events)"
	jq -se 'map(select(.event | startswith("posix"))) | . as $e |
		[range(length) | select($e[.].event == "posixtrace.lost" and $e[.].strings.cause == "overrun")] as $lost |
		($lost | length) > 0 and all($lost[]; . as $i | $e[$i - 1].event == "posix_trace_stop" and
			$e[$i + 1].event == "posix_trace_start" and $e[$i].ints.from_ns <= $e[$i].ints.until_ns)' server/events
	# The progress file says that a loss has begun.
	timeline d.log 1000:one 2000:posix_trace_stop:u32:1 90000000000000:posix_trace_start 90000000001000:two
	: >server/events
	acts ok 'code 16 not now'
	ships 1 d.log
	grep -qx 'loss 1700000000000002000' d.log.ship
	ships 0 d.log
	jq -se 'map([.seq, .event]) == [[0, "one"], [1, "posix_trace_stop"], [2, "posixtrace.lost"],
		[3, "posix_trace_start"], [4, "two"]]' server/events
	fails grep ^loss d.log.ship
	# Damage is told where it is.
	seq 2 400 | awk '{ printf "event %d000 7 8 other hex:%04000d\n", $1, $1 }' | made c.log
	python3 - <<-'END'
		data = bytearray(open('c.log', 'rb').read())
		data[300000:300004] = b'\xff\xff\xff\xff'
		open('c.log', 'wb').write(data)
	END
	: >server/events
	ships 3 c.log
	jq -se 'map(select(.event == "posixtrace.lost"))[0] | .strings.cause == "damage" and
		.ints.lost > 0 and .ints.until_ns > .ints.from_ns' server/events
	has_once c.log "$(wc -l <server/events)"
	[ "$(($(jq -se 'map(select(.event == "other")) | length' server/events) +
		$(jq -se 'map(.ints.lost // 0) | add' server/events)))" -eq 399 ]
}

@test "a log that was not closed is sent as far as it goes, and on when there is more" {
	many a.log 10
	cp a.log whole.log
	# The packet END.
	truncate -s -80 a.log
	ship_reports 3 "*a.log: the log has no end*" a.log
	has_once a.log 10
	[ "$(sed -n 's/^complete //p' a.log.ship)" = 0 ]
	cp whole.log a.log
	ships 0 --verbose a.log
	[ "$stdout" = "a.log: 0 rows, 0 bytes" ]
	[ "$(sed -n 's/^complete //p' a.log.ship)" = 1 ]
}

@test "both dialects are sent what they understand" {
	many a.log 10
	echo 24.8.1.1 >server/version
	sends 10 a.log
	jq -se 'map(.ints.n) | sort == [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]' server/events
	: >server/events
	rm a.log.ship
	kill "$server"
	serve
	sends 10 --dialect=plain --state-directory=. a.log
}

@test "batches end with a day, and with their size" {
	many a.log 40 "$((6 * 3600 * 1000000000))"
	sends 40 a.log
	[ "$(grep -c ^events server/requests)" -ge 5 ]
	od -An -v -tx1 -w6000 -N $((22 * 6000)) /dev/urandom | tr -d ' ' |
		awk '{ print "event " NR "000 7 8 one hex:" $0 }' | made b.log
	: >server/requests
	ships 0 --batch-size=16K b.log
	[ "$(grep -c ^events server/requests)" -ge 4 ]
	has_once b.log 22
}

@test "whatever happens to a batch, each row is there once" {
	local n=0
	for act in drop half silent 'part 0' 'part 1' 'part 999' 'part 1000' endless \
		'code 252 Too many parts' 'code 243 Cannot reserve 1.00 MiB, not enough space' \
		'code 241 Memory limit' 'code 201 Quota' 'code 236 Shutdown' 'code 216 Query with id = x is already running' \
		'status 503 busy' 'status 502 <html>'; do
		# Each time another log.
		many $((++n)).log 1000
		acts "$act" ok
		ships 0 --give-up=0 $n.log
		[[ $stderr == *"it is tried again"*"answers again"* ]]
		has_once $n.log 1000
	done
	# Several mishaps, one after the other.
	many a.log 1000
	acts 'part 10' 'part 20' half silent
	sends 1000 --give-up=0 a.log
}

@test "a progress file that was lost is made again of what the server has" {
	many a.log 1000
	ship a.log
	rm a.log.ship
	: >server/requests
	sends 1000 --verbose a.log
	fails grep ^events server/requests
	echo nonsense >a.log.ship
	ship_reports 1 "a.log.ship: is not a progress file of ptrace-ship*" a.log
}

@test "a server that will not do is told before anything is sent" {
	many a.log 10
	echo 2 >server/schema
	ship_reports 1 "$url: has tables of version 2, *version 1" a.log
	echo none >server/schema
	ship_reports 1 "*'ptrace-ship --create-table' makes them*" a.log
	echo 1 >server/schema
	echo '<h1>Welcome</h1>' >server/version
	ship_reports 1 "*is no ClickHouse server, as it answers: <h1>Welcome</h1>" a.log
	rm server/version
	[ ! -e server/events ]
	while IFS='|' read -r act message; do
		acts "$act"
		rm -f a.log.ship
		ship_reports 1 "*$message" a.log
	done <<-'END'
		status 302 moved|redirect to 'http://127.0.0.1:1/elsewhere' (status 302)*
		code 16 There is no column|answers with status 500: Code: 16*
		garbage|makes no sense: <html>It works!</html>
	END
	# What the last answer has left in doubt is found out.
	sends 10 a.log
}

@test "user and password come from a file or the environment, and stand on no command line" {
	many a.log 10
	echo secret >server/password
	ship_reports 1 "*refuses this user or password (status 401)*" a.log
	POSIXTRACE_SHIP_PASSWORD=wrong ships 1 --login=me a.log
	POSIXTRACE_SHIP_PASSWORD=secret ships 0 --login=me a.log
	rm a.log.ship
	printf 'secret\nmore\n' >password
	ships 0 --password-file=password a.log
	: >password
	ship_reports 1 "*password: has no password in its first line" --password-file=password a.log
	ships 1 --password-file=none a.log
	exits 2 ptrace-ship --server="http://me:secret@127.0.0.1" a.log
	[[ $stderr != *secret* ]]
}

@test "a server that is away is waited for, up to --give-up" {
	many a.log 10
	kills "$server"
	# The first failure leaves time for another attempt, so a message says that there will be one.
	ships 1 --give-up=1s a.log
	[[ $stderr == *"it is tried again"*"given up: "* ]]
	begins pid ptrace-ship --server="$url" --give-up=0 a.log 2>err
	wait_until grep -q 'it is tried again' err
	serve
	wait "$pid"
	has_once a.log 10
	grep -q 'answers again' err
}

@test "a signal ends it behind the batch, and the rest is sent later" {
	many a.log 2000
	held hold --batch-size=1K
	kill -TERM "$pid"
	release
	ends 1 "$pid"
	grep -q 'stopped by a signal' err
	wait_until test -s server/events
	sends 2000 a.log
}

@test "a server that goes silent, drips or never says anything is given up, and a signal ends the wait" {
	many a.log 10
	python3 - <<-'END' >port 2>/dev/null 3>&- &
		import socket, time
		server = socket.create_server(('127.0.0.1', 0))
		print(server.getsockname()[1], flush=True)
		time.sleep(3600)
	END
	pids="$pids $!"
	disown
	wait_until test -s port
	for act in mute drip none; do
		acts $act
		[ $act != none ] || { url=http://127.0.0.1:$(cat port); rm a.log.ship; }
		: >server/requests
		ships 1 --give-up=3s a.log
		echo "$act: $stderr"
		[[ $stderr == *"$url: given up: gives no answer" && $stderr != *"it is tried again"* ]]
		[ $act = none ] || grep -q "^events $act" server/requests
		acts $act
		: >server/requests
		begins pid ptrace-ship --server="$url" --give-up=0 a.log 2>err
		[ $act = none ] || wait_until grep -q "^events $act" server/requests
		wait_until is_connected "$pid"
		# Nobody has to wonder what takes so long.
		[ $act != mute ] || wait_until grep -q "$url: gives no answer; it is waited for" err
		kill -TERM "$pid"
		ends 1 "$pid"
		grep -q 'stopped by a signal' err
	done
}

@test "two at one log, another server, another log: each is told" {
	many a.log 10
	held hold
	ship_reports 1 "a.log.ship: another ptrace-ship is at work on this log" a.log
	release
	ends 0 "$pid"
	ship_reports 1 "*belongs to the database 'posixtrace' of $url; --state-directory*" --database=other a.log
	mkdir other
	ships 0 --database=other --state-directory=other a.log
	[ -s other/a.log.ship ]
	# Another log under this name.
	many b.log 20
	mv b.log a.log
	ships 0 a.log
	[ -z "$stderr" ]
	has_once a.log 20
	# It replaces one that was not sent as a whole.
	many b.log 6000
	sed -i 's/^complete 1/complete 0/' a.log.ship
	mv b.log a.log
	ship_reports 0 "*a.log: has replaced another log, of which 20 rows were shipped, maybe not all" --batch-size=1K a.log
}

@test "a log that lacks what was sent of it is told" {
	many a.log 10
	truncate -s -80 a.log
	ships 3 a.log
	truncate -s 1800 a.log
	ship_reports 1 "*a.log: has fewer events than were shipped: it was cut off or is damaged" a.log
	echo text >no.log
	ships 1 no.log gone.log
	[[ $stderr == *"no.log: not a trace log"*"gone.log: "* ]]
}

@test "a log that is cut off while the server has a part of a batch is told" {
	many a.log 1000
	held 'hold part 10'
	truncate -s 10000 a.log
	release
	ends 1 "$pid"
	grep -q 'a.log: has fewer events than were shipped: it was cut off or is damaged' err
	[ "$(wc -l <server/events)" -eq 10 ]
}

@test "it is killed at any moment, and each row is there once" {
	many a.log 20000
	: >server/events
	for i in $(seq 20); do
		case $((RANDOM % 5)) in
		0) acts silent ;;
		1) acts "part $((RANDOM % 200))" ;;
		2) acts half ;;
		*) acts ok ;;
		esac
		dies_within 400 --batch-size=1K a.log
	done
	rm -f server/script
	sends 20000 a.log
	jq -se 'map(.ints.n) | group_by(.) | map(length) == [10000, 10000]' server/events
}

@test "an event of 16 bytes takes 25 bytes on the wire at most" {
	cat >numbers.py <<-'END'
		import random
		print('layout app.request u64 id, u32 rows, u32 us')
		random.seed(1)
		ns = 0
		for i in range(20000):
		    ns += random.randrange(200, 40000)
		    data = b''.join(n.to_bytes(size, 'little') for n, size in
		                    ((i, 8), (random.randrange(1024), 4), (random.randrange(4096), 4)))
		    print('event', ns, 7, random.randrange(7, 11), 'app.request', 'hex:' + data.hex())
	END
	python3 numbers.py | made a.log
	ships 0 --verbose a.log
	bytes=${stdout#*rows, }
	echo "$stdout"
	[ "${bytes% bytes}" -le $((25 * 20000)) ]
}

@test "--print-schema and --create-table" {
	exits 0 ptrace-ship --print-schema
	[[ $stdout == *"CREATE TABLE IF NOT EXISTS \`posixtrace\`.events"*DateTime64* ]]
	run_split ptrace-ship --print-schema --dialect=plain --database=mine
	[[ $stdout == *"\`mine\`.events"* ]]
	[[ $stdout != *DateTime64* ]]
	ships 0 --create-table
	grep -q '^CREATE TABLE IF NOT EXISTS' server/requests
	exits 2 ptrace-ship
	for wrong in --server=ftp://x --server=localhost --batch-size=1 --give-up=soon --dialect=old \
		--database=; do
		reports 2 "${wrong%%=*}: *" ptrace-ship "$wrong" a.log
	done
}

@test "what is wrong on this machine is told before the server is asked" {
	many a.log 10
	mkdir dir logs
	: >empty.log
	echo text >text
	mkfifo pipe
	says() {
		ship_reports 1 "$@"
		[ ! -e server/requests ]
	}
	says 'gone.log: No such file or directory' gone.log
	says "dir: is a directory: '--follow=dir' sends the logs in it" dir
	says 'empty.log: not a trace log: the file is empty' empty.log
	says 'text: not a trace log' text
	says 'standard input: cannot be sent: a log has to be a file that stays until the server has it' -
	says 'pipe: cannot be sent: a log has to be a file that stays until the server has it' pipe
	says 'none: No such file or directory' --password-file=none a.log
	says 'none: No such file or directory' --ca-file=none a.log
	says 'text: has no certificate in PEM' --ca-file=text a.log
	says 'none: No such file or directory' --state-directory=none a.log
	says 'text: Not a directory' --state-directory=text --follow=logs
	says 'none/: No such file or directory' --follow=none/
	says "$me: no such session" --follow="$me"
	says 'text: no such session; a log is sent without --follow' --follow=text
	refused='a.log.ship: is not a progress file of ptrace-ship; if it is removed, the log is compared with the rows that the server has'
	echo nonsense >a.log.ship
	says "$refused" a.log
	printf 'posixtrace-ship 1\n' >a.log.ship
	says "$refused" a.log
	rm a.log.ship
	# One that can be sent is. A server that is away leaves no empty progress file behind.
	ships 1 gone.log a.log text
	[[ $stderr == *"gone.log: "*"text: "* ]]
	has_once a.log 10
	rm a.log.ship
	kills "$server"
	ships 1 --give-up=1ms a.log
	[ ! -e a.log.ship ]
}

@test "each file of a rotated log stands for all of it" {
	rotated r.log 2
	count=$(events r.log)
	ships 0 --verbose r.log.000001
	[[ $stdout == "r.log: $count rows, "* ]]
	[ ! -e r.log.000001.ship ]
	has_once r.log "$count"
	: >server/requests
	ships 0 --verbose r.log*[!p]
	[ "$stdout" = 'r.log: 0 rows, 0 bytes' ]
	# One that is alone would have the numbers of others.
	mkdir alone
	cp r.log.000001 alone/one.log
	: >server/requests
	ship_reports 1 "alone/one.log: is a later file of a rotated log, and cannot be sent alone" alone/one.log
	# The first files and the progress file are gone.
	rm r.log r.log.ship
	ship_reports 1 "*r.log: its first files and the progress file r.log.ship are gone, so it is not known*" r.log
}

@test "events after files that --log-keep has deleted are all sent" {
	# While the log has one file, its events are sent; then this file is deleted.
	ptrace-run -o r.log --name="$me" --log-rotate=16K --log-keep=2 -- sh -c '"$0" -n 500; ptrace-flush "$1"
		ptrace-ship --server="$2" r.log 2>/dev/null; cp r.log.ship first
		for i in 1 2 3 4; do "$0" -n 3000; ptrace-flush "$1"; done' "$traced" "$me" "$url"
	[ ! -e r.log ]
	sent=$(wc -l <server/events)
	[ "$sent" -gt 500 ]
	count=$(events r.log)
	ship_reports 0 "r.log: its first files were deleted before all of their events were sent" r.log
	has_once r.log $((sent + count))
	# A batch was being sent when the file was deleted: its rows may be those of the server.
	sed 's/^batch 0 /batch 7 /' first >r.log.ship
	: >server/events
	ship_reports 0 "r.log: its first files were deleted before all of their events were sent" r.log
	jq -se --argjson first $((sent + 7)) --argjson count "$count" \
		'map(.seq) | sort == [range($first; $first + $count)]' server/events
}

@test "it is a failure if the reports are not read, as the other logs are not sent" {
	many a.log 10
	many b.log 10
	reports 1 "standard output: Broken pipe" unread ptrace-ship --verbose --server="$url" a.log b.log
	ships 0 b.log
}

@test "what speaks something else is told at once, and so are rights that are missing" {
	many a.log 10
	ship_reports 1 "https://${url#http://}: speaks HTTP without TLS at this port: --server has to begin with http://" \
		--give-up=0 --server="https://${url#http://}" a.log
	python3 - <<-'END' >port 2>/dev/null 3>&- &
		import socket
		server = socket.socket()
		server.bind(('127.0.0.1', 0))
		server.listen()
		print(server.getsockname()[1], flush=True)
		clients = []
		while True:
		    clients.append(server.accept()[0])
		    clients[-1].send(b'SSH-2.0-none\r\n')
	END
	pids="$pids $!"
	disown
	wait_until test -s port
	ship_reports 1 "*: speaks something else than HTTP at this port *" --give-up=0 --server="http://127.0.0.1:$(cat port)" a.log
	for act in 'code 164 Cannot execute query in readonly mode' 'code 291 access denied' \
		'code 497 Not enough privileges'; do
		acts "$act"
		ship_reports 1 "*does not let this user do what is needed (status 500): Code: *" --give-up=0 a.log
	done
	acts 'status 501 <h1>POST?</h1>'
	ship_reports 1 '*answers with status 501: <h1>POST\?</h1>' --give-up=0 a.log
	ship_reports 1 "*: is of release 18, which does not understand the dialect 'modern'" --give-up=0 --dialect=modern a.log
	# With a slash behind it, it is the same server.
	sends 10 --server="$url/" a.log
	ships 0 a.log
	for wrong in http:// http://127.0.0.1:99999 http://:80 http://127.0.0.1:http; do
		exits 2 ptrace-ship --server="$wrong" a.log
	done
}

@test "a server that answers and takes nothing is given up, too" {
	many a.log 10
	for i in $(seq 40); do
		echo "code 75 Cannot write to file $i, errno: 28, strerror: No space left on device"
	done >server/script
	ships 1 --give-up=5s a.log
	[[ $stderr == *": has no room left on its disk (status 500): Code: 75, "*"; it is tried again"* ]]
	[[ $stderr == *": given up: has no room left on its disk "* ]]
	[[ $stderr != *"answers again"* ]]
	rm server/script
	sends 10 a.log
}

@test "--json says of each log what came of it" {
	many a.log 10
	made b.log <<-END
		event 1000 7 8 one
		lost 5
	END
	many c.log 10
	truncate -s -80 c.log
	acts ok 'code 252 Too many parts'
	ships 1 --json --verbose gone.log a.log b.log c.log
	printf '%s\n' "$stdout" >objects
	cat objects
	jq -se 'map([.log, .state, .rows, .batches, .next_seq, .retries, .complete]) == [
		["gone.log", "failed", 0, 0, null, 0, false], ["a.log", "whole", 10, 1, 10, 0, true],
		["b.log", "whole", 2, 1, 2, 1, false], ["c.log", "open", 10, 1, 10, 0, false]]' objects
	jq -se --arg url "$url" 'all(.version == 1 and .server == $url and .database == "posixtrace")' objects
	jq -se '.[0].error == "gone.log: No such file or directory" and (.[1] | has("error") | not)' objects
	jq -se '.[1].bytes > 0 and .[2].losses.stream_events == 5 and .[3].losses.unclosed' objects
	[ "$(jq -sr '.[1].log_id' objects)" = "$(sed -n 's/^log //p' a.log.ship)" ]
	valid ship <objects
	# A batch whose answer was lost was sent, too, once.
	for act in silent 'part 3'; do
		many "$act.log" 10
		acts "$act"
		ships 0 --json "$act.log"
		jq -e '[.rows, .batches, .bytes] == [10, 1, 200] and .retries > 0' <<<"$stdout"
	done
	# Nothing is sent of what is there.
	ships 0 --json a.log
	jq -e '[.state, .rows, .next_seq, .complete] == ["whole", 0, 10, true]' <<<"$stdout"
	# Where a server refuses, there is an object of each log, too.
	many d.log 10
	echo 2 >server/schema
	ships 1 --json d.log a.log "$(printf 'e\377.log')"
	printf '%s\n' "$stdout" >objects
	valid ship <objects
	jq -se 'length == 3 and all(.state == "failed")' objects
	jq -se '.[0].log_hex == "65ff2e6c6f67" and (.[1:] | all(.error | contains("has tables of version 2")))' objects
	echo 1 >server/schema
	# With --follow, once nothing more comes of it, and at the end.
	mkdir logs
	many logs/a.log 20
	many logs/b.log 30
	truncate -s -80 logs/b.log
	begins pid ptrace-ship --server="$url" --batch-time=50ms --json --follow=logs 2>err >out
	wait_until grep -q '"logs/a.log"' out
	both() { [ "$(wc -l <server/events)" -ge 72 ]; }
	wait_until both
	end_follow 0
	jq -se 'map([.log, .rows, .next_seq]) | sort == [["logs/a.log", 20, 20], ["logs/b.log", 30, 30]]' out
	jq -se 'map(.state) | sort | .[1] == "whole" and (.[0] == "open" or .[0] == "stopped")' out
	valid ship <out
}

# follow OPTION...: in the background; $pid is its process
follow() {
	begins pid ptrace-ship --server="$url" --batch-time=50ms "$@" 2>err
}

# is_complete LOG: whether all of the log is said to be sent
is_complete() {
	grep -qsx 'complete 1' "$1.ship"
}

# end_follow STATUS: ends it by a signal, with this status
end_follow() {
	kill -TERM "$pid"
	ends "$1" "$pid"
}

@test "--follow sends what appears and grows in a directory" {
	mkdir logs
	many logs/a.log 10
	echo text >logs/notes
	follow --verbose --follow=logs >said
	wait_until is_complete logs/a.log
	# A program that is traced while its log grows.
	begins run ptrace-run -o logs/c.log --name="$me" -- sh -c 'for i in 1 2 3; do
		ptrace-event grow n=$i; ptrace-flush "$0"; until [ -e go$i ]; do sleep 0.05; done; done' "$me"
	has_grow() { [ "$(grep -c '"grow"' server/events)" -ge "$1" ]; }
	for i in 1 2 3; do
		wait_until has_grow $i
		fails is_complete logs/c.log
		touch go$i
	done
	ends 0 "$run"
	wait_until is_complete logs/c.log
	has_grow 3
	has_once logs/c.log "$(events logs/c.log)"
	many late.log 20
	mv late.log logs
	wait_until is_complete logs/late.log
	end_follow 0
	[ "$(sed 's/, [0-9]* bytes$//' said)" = "logs/a.log: 10 rows
logs/c.log: $(events logs/c.log) rows
logs/late.log: 20 rows" ]
	[ -e logs/a.log ]
	[ "$(cat logs/notes)" = text ]
	[ ! -e logs/notes.ship ]
}

@test "--follow: a rotated log is one, and --remove-shipped removes what is sent" {
	mkdir logs
	rotated logs/r.log 3
	count=$(events logs/r.log)
	many logs/a.log 10
	# This one is no file of a log a.log.
	many logs/a.log.000001 12
	truncate -s -80 logs/a.log.000001
	follow --follow=logs --remove-shipped --state-directory=.
	gone() {
		[ ! -e logs/r.log ] && [ ! -e logs/r.log.000001 ] && [ ! -e logs/a.log ] && [ ! -e r.log.ship ]
	}
	wait_until gone
	rows() { [ "$(wc -l <server/events)" -eq "$1" ]; }
	wait_until rows $((count + 10 + 12))
	end_follow 0
	[ -e logs/a.log.000001 ]
	jq -se 'group_by(.log) | map(map(.seq) | sort == [range(length)]) | all' server/events
}

@test "a damaged log is not removed, and stays known as damaged" {
	mkdir logs
	ptrace-run -o logs/d.log -- "$traced" -n 100000
	damages logs/d.log '\377\377\377\377' 100000
	follow --follow=logs --remove-shipped --state-directory=.
	wait_until is_complete d.log
	end_follow 3
	grep -q "d.log: .*damaged" err
	[ -e logs/d.log ]
	# What is damaged stands before the place from which it goes on.
	[ "$(sed -n 's/^place \([0-9]*\) .*/\1/p' d.log.ship)" -gt 1 ]
	follow --follow=logs --remove-shipped --state-directory=.
	for log in one two; do
		many $log.log 10
		mv $log.log logs
		wait_until test ! -e logs/$log.log
	done
	end_follow 3
	[ "$(cat err)" = "ptrace-ship: logs/d.log: is damaged, as was found when it was sent" ]
	[ -e logs/d.log ]
}

# parts LOG: of each part that has events, where it ends, the number of the next one, and the rows up to there
parts() {
	python3 - "$1" <<-'END'
		import struct
		import sys

		with open(sys.argv[1], 'rb') as file:
		    log = file.read()
		at, rows = 1760, 0
		while at < len(log):
		    kind, _, length, _, number = struct.unpack_from('<HHQQQ', log, at + 4)
		    events, = struct.unpack_from('<I', log, at + 48)
		    at += 80 + (length + 7) // 8 * 8
		    if kind == 3:
		        rows += events
		        print(at, number + 1, rows)
	END
}

# part NUMBER: sets $end, $next and $rows of that line
part() {
	read -r end next rows < <(sed -n "$1p" parts)
}

# has_sent LOG.ship ROWS
has_sent() {
	grep -qsx "place [0-9]* [0-9]* $2" "$1"
}

# grows LOG NUMBER [PROGRESS]: it gets all of whole.log up to the end of this part, at once, and that is sent
grows() {
	local before
	before=$(stat -c %s "$1" 2>/dev/null) || before=0
	part "$2"
	dd if=whole.log of="$1" bs=$((end - before)) count=1 iflag=skip_bytes skip="$before" \
		oflag=append conv=notrunc status=none
	wait_until has_sent "${3-$1.ship}" "$rows"
}

@test "--follow looks only at what is new of a log, however long that is" {
	[ -r /proc/self/io ] || skip "the kernel does not count reads"
	mkdir logs
	many whole.log 6600000
	parts whole.log >parts
	all=$(wc -l <parts)
	[ "$all" -gt 1000 ]
	part 1
	first=$rows
	head -c "$end" whole.log >logs/a.log
	ship --state-directory=. logs/a.log
	has_sent a.log.ship "$first"
	# As if it had been sent up to here.
	part $((all - 7))
	last=$rows
	head -c "$end" whole.log >logs/a.log
	sed -i "s/^place .*/place $next 0 $rows/" a.log.ship
	follow --follow=logs --state-directory=. --batch-time=1s
	for i in 6 5 4 3 2; do
		grows logs/a.log $((all - i)) a.log.ship
		# The looks before have found out what it had.
		[ "$i" -ne 5 ] || reads=$(sed -n 's/^syscr: //p' "/proc/$pid/io")
	done
	reads=$(($(sed -n 's/^syscr: //p' "/proc/$pid/io") - reads))
	echo "# $reads reads in three looks at $all parts"
	[ "$reads" -lt "$all" ]
	# Its end is found as well.
	tail -c +$((end + 1)) whole.log >>logs/a.log
	wait_until is_complete a.log
	end_follow 0
	jq -se --argjson first "$first" --argjson last "$last" \
		'map(.seq) | sort == [range($first)] + [range($last; 6600000)]' server/events
}

@test "--follow: whatever comes of a log that is kept open is told as of one that is opened" {
	mkdir logs
	many whole.log 60000
	parts whole.log >parts
	follow --follow=logs
	grows logs/a.log 3
	grows logs/a.log 4
	# Nobody knows any more what was sent.
	rm logs/a.log.ship
	grows logs/a.log 5
	has_once logs/a.log "$rows"
	[ ! -s err ]
	# It is cut off, and comes back in another file.
	part 2
	truncate -s "$end" logs/a.log
	wait_until grep -q 'a.log: has fewer events than were shipped' err
	part 6
	head -c "$end" whole.log >a.new
	mv a.new logs/a.log
	wait_until has_sent logs/a.log.ship "$rows"
	# Others begin to send it elsewhere.
	sed -i 's/^database .*/database other/' logs/a.log.ship
	part 7
	head -c "$end" whole.log | tail -c +$(($(stat -c %s logs/a.log) + 1)) >>logs/a.log
	wait_until grep -q "belongs to the database 'other'" err
	sed -i 's/^database .*/database posixtrace/' logs/a.log.ship
	cp whole.log logs/a.log
	wait_until is_complete logs/a.log
	has_once logs/a.log 60000
	# Another log takes its place while it grows.
	grows logs/b.log 3
	many other.log 50
	cp other.log logs/b.log
	wait_until is_complete logs/b.log
	has_once logs/b.log 50
	grep -q 'b.log: has replaced another log' err
	grows logs/c.log 3
	many other.log 60
	mv other.log logs/c.log
	wait_until is_complete logs/c.log
	has_once logs/c.log 60
	# One that was kept open is gone.
	grows logs/d.log 3
	rm logs/d.log
	is_let_go() { ! ls -l "/proc/$pid/fd" | grep -q 'd\.log (deleted)'; }
	wait_until is_let_go
	end_follow 1
}

@test "a shortage of memory where the next rows are looked for is not the end of a log" {
	local short=0
	command -v ${CC:-cc} >/dev/null || skip "no compiler"
	! grep -q __asan_init "$PTRACE_BIN/ptrace-ship" || skip "a sanitizer has its own malloc"
	# Memory for many events or for a part of a log: the request with this number is refused.
	cat >short.c <<-'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <errno.h>
		#include <stdlib.h>
		void *malloc(size_t size)
		{
			static void *(*real)(size_t);
			static int count;
			if (!real)
				real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
			if (size >= SIZE && getenv("REFUSE") && ++count == atoi(getenv("REFUSE"))) {
				errno = ENOMEM;
				return NULL;
			}
			return real(size);
		}
	END
	${CC:-cc} -shared -fPIC -DSIZE=16000 -o short.so short.c
	# A batch ends with a day, and here with what is read at a time. When it is sent again, nobody has
	# looked at what comes behind it.
	made a.log <<-END
		layout tick u64 n
		event 1000 7 8 tick u64:1
		event 2000 7 8 tick u64:2
		repeat 511 2000
		event 86400000000000 7 8 tick u64:1
		event 86400000002000 7 8 tick u64:2
		repeat 511 2000
	END
	# The first batch arrives, and nobody is there any more who could be told.
	held hold
	wait_until grep -qs '^batch 1024 ' a.log.ship
	kills "$pid"
	release
	wait_until test -s server/events
	grep -q '^batch 1024 ' a.log.ship
	cp a.log.ship pending
	for i in $(seq 25); do
		cp pending a.log.ship
		: >server/requests
		run_split env REFUSE="$i" LD_PRELOAD="$PWD/short.so" ptrace-ship --server="$url" a.log
		if [ "$status" -eq 0 ]; then
			has_sent a.log.ship 2048
			continue
		fi
		[ "$status" -eq 1 ]
		[[ $stderr == *'Cannot allocate memory'* ]]
		grep -qx 'complete 0' a.log.ship
		# What had arrived was asked for, so the batch had been read.
		! grep -q DISTINCT server/requests || short=$((short + 1))
	done
	[ "$short" -gt 0 ]
}

@test "--follow goes on when the server comes back, and with what others of its kind began" {
	mkdir logs
	many logs/a.log 2000
	many logs/b.log 2000
	acts 'part 7' half silent
	follow --follow=logs --batch-size=1K
	wait_until grep -q 'it is tried again' err
	kill -KILL "$server"
	kill -KILL "$pid"
	wait_until is_ended "$server"
	follow --follow=logs --batch-size=1K
	wait_until grep -q 'it is tried again' err
	serve
	wait_until is_complete logs/a.log
	wait_until is_complete logs/b.log
	end_follow 0
	has_once logs/a.log 2000
	has_once logs/b.log 2000
	reports 1 "gone/: *" ptrace-ship --server="$url" --follow=gone/
}

@test "--follow=SESSION sends what a session records, until it ends" {
	traced_session "$me" --start -o s.log -- -e traced.one -w -W
	session_pid=$pid
	follow --follow="$me"
	ship_pid=$pid
	go
	wait_until grep -qs traced.one server/events
	ptrace-shutdown "$me"
	ends 0 "$ship_pid"
	is_complete s.log
	has_once s.log "$(events s.log)"
	kill -KILL "$session_pid"
	ships 1 --follow="$me"
	assert_one_message ptrace-ship
}

@test "--follow=SESSION: a session that is stopped for a while is not over" {
	traced_session "$me" --start -o s.log -- -e traced.one -w -W
	session_pid=$(ptrace-list --json | jq .controller)
	follow --follow="$me"
	ship_pid=$pid
	wait_until test -s s.log.ship
	kill -STOP "$session_pid"
	wait_until grep -q 'the session does not answer: its process .* is stopped; .*; it is asked again' err
	kill -CONT "$session_pid"
	go
	wait_until grep -qs traced.one server/events
	kill -0 "$ship_pid"
	ptrace-shutdown "$me"
	ends 0 "$ship_pid"
	[ "$(wc -l <err)" -eq 1 ]
	has_once s.log "$(events s.log)"
}

@test "--follow=SESSION: a session whose log is still being closed is not over" {
	traced_session "$me" --start -o s.log -- -e traced.one -w -W
	follow --follow="$me" --batch-time=1s
	ship_pid=$pid
	wait_until test -s s.log.ship
	go
	# While the keeper is stopped, the session ends and answers no more questions.
	finds_keeper s.log
	kill -STOP "$keeper"
	ptrace-shutdown "$me" 2>/dev/null || true
	kill -0 "$ship_pid"
	kill -CONT "$keeper"
	ends 0 "$ship_pid"
	# If the session was asked before it was shut down, the stopped keeper is named.
	fails grep -v 'which writes its log, is stopped; .*; it is asked again$' err
	is_complete s.log
	has_once s.log "$(events s.log)"
}

@test "what was written just now is left for later, as it may be written again" {
	command -v ${CC:-cc} >/dev/null || skip "no compiler"
	! grep -q __asan_init "$PTRACE_BIN/ptrace-ship" || skip "a sanitizer wants to be loaded first"
	# The first time that the program waits, this does what is to happen then.
	cat >nap.c <<-'END'
		#define _GNU_SOURCE
		#include <poll.h>
		#include <signal.h>
		#include <stdlib.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *time, const sigset_t *mask)
		{
			const char *what = getenv("WHAT");
			struct timespec left = *time;
			if (what) {
				unsetenv("LD_PRELOAD");
				unsetenv("WHAT");
				if (system(what))
					exit(99);
			}
			return (int)syscall(SYS_ppoll, fds, count, &left, mask, _NSIG / 8);
		}
	END
	${CC:-cc} -shared -fPIC -o nap.so nap.c
	ship_while() {
		# What is younger than now is young, however slow this machine is.
		touch -d '+1 hour' a.log
		run_split env WHAT="$1; touch -d '+1 hour' a.log" LD_PRELOAD="$PWD/nap.so" ptrace-ship --server="$url" --verbose a.log
	}
	# A part of the log is 256 KiB.
	ptrace-run -o whole.log -- "$traced" -n 100000
	count=$(events whole.log)
	head -c 300000 whole.log >a.log
	first=$(ptrace-dump a.log 2>/dev/null | wc -l)
	[ "$first" -gt 0 ]
	# What is written while one waits is left for the next time.
	ship_while 'head -c 600000 whole.log >a.log'
	[ "$status" -eq 3 ]
	[[ $stdout == "a.log: $first rows, "* ]]
	# A keeper was killed, and the next one has not yet written again what that had written last.
	head -c 600000 whole.log >a.log
	ship_while 'truncate -s 300000 a.log'
	[ "$status" -eq 3 ]
	[ "$stdout" = 'a.log: 0 rows, 0 bytes' ]
	# A log that is closed meanwhile is sent as a whole.
	head -c 600000 whole.log >a.log
	ship_while 'cp whole.log a.log'
	[ "$status" -eq 0 ]
	has_once a.log "$count"
	# Who has not been written to for a while is not waited for.
	rm a.log.ship
	touch -d '1 hour ago' a.log
	exits 0 env WHAT=false LD_PRELOAD="$PWD/nap.so" ptrace-ship --server="$url" a.log
	# Of the files beside it, those of a rotated log count, and no others.
	exits 0 env WHAT=false LD_PRELOAD="$PWD/nap.so" ptrace-ship --server="$url" a.log
	touch -d '+1 hour' a.log.000001
	exits 99 env WHAT=false LD_PRELOAD="$PWD/nap.so" ptrace-ship --server="$url" a.log
}

@test "a server is asked only what is not known, and by host, as its tables are sorted" {
	many a.log 100
	ships 0 a.log
	# The log of which nothing is known, here or there.
	host=$(jq -sr '.[0].host' server/events | sed 's/[^A-Za-z0-9]/.*/g')
	grep -q "max(seq).* WHERE host = '$host' AND log = " server/requests
	rm a.log.ship server/events server/requests
	kills "$server"
	begins pid ptrace-ship --server="$url" --give-up=0 --batch-size=1K a.log 2>err
	wait_until grep -q 'it is tried again' err
	serve
	wait_until is_complete a.log
	has_once a.log 100
	fails grep -q DISTINCT server/requests
	# What it has taken, but did not confirm.
	rm a.log.ship
	acts silent
	ships 0 a.log
	grep -q "DISTINCT.* WHERE host = '$host' AND log = " server/requests
}

# connections PID: how many it has to servers
connections() {
	find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' | tr -dc '0-9\n' |
		awk 'NR == FNR { mine[$1]; next } $10 in mine && $4 == "01"' - /proc/net/tcp | wc -l
}

is_connected() {
	[ "$(connections "$1")" -gt 0 ]
}

# sleeps PID: how often it has gone to sleep
sleeps() {
	sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$1/status"
}

# says_sleeping PID: it is in ppoll()
says_sleeping() {
	[[ $(cat "/proc/$1/syscall") =~ ^(271|73)\  ]]
}

@test "--follow with a long pause sleeps, has no connection meanwhile, and ends at a signal" {
	mkdir logs
	many logs/a.log 10
	follow --follow=logs
	wait_until is_complete logs/a.log
	wait_until is_connected "$pid"
	end_follow 0
	rm logs/a.log.ship
	follow --follow=logs --batch-time=1000h
	wait_until is_complete logs/a.log
	wait_until says_sleeping "$pid"
	[ "$(connections "$pid")" -eq 0 ]
	before=$(sleeps "$pid")
	read -rt 1 -u "$idle" || true
	[ "$(sleeps "$pid")" -eq "$before" ]
	end_follow 0
}

@test "machines that start together do not send together for ever" {
	for i in 1 2 3 4 5 6 7 8; do
		mkdir "logs$i"
		follow --follow="logs$i" --batch-time=4s
		all="$all $pid"
	done
	for pid in $all; do
		wait_until says_sleeping "$pid"
	done
	for i in 1 2 3 4 5 6 7 8; do
		many a.log 10
		mv a.log "logs$i"
	done
	for i in 1 2 3 4 5 6 7 8; do
		wait_until is_complete "logs$i/a.log"
	done
	# When each progress file was finished, in milliseconds.
	times=$(stat -c %.3Y logs*/a.log.ship | tr -d . | sort -n)
	echo "$times"
	[ $(($(tail -n 1 <<<"$times") - $(head -n 1 <<<"$times"))) -ge 400 ]
	for pid in $all; do
		end_follow 0
	done
}

@test "settings come from a file; options override it, and mistakes have a place" {
	many a.log 10
	cat >ship.yaml <<-END
		server: http://127.0.0.1:1
		database: mine
		batch-size: 1M
		verbose: true
	END
	exits 0 ptrace-ship -c ship.yaml --server="$url" a.log
	[[ $stdout == "a.log: 10 rows, "* ]]
	grep -qx 'database mine' a.log.ship
	while IFS='|' read -r text message; do
		printf '%b\n' "$text" >ship.yaml
		exits 2 ptrace-ship -c ship.yaml a.log
		[[ $stderr == "ptrace-ship: ship.yaml:$message"* ]] || { echo "$stderr"; false; }
	done <<-'END'
		servers: x|1:1: unknown key 'servers' (did you mean
		server: [x]|1:9: server: has to be a single value
		batch-size: 1\nbatch-time: x|1:13: batch-size: '1' is not in the range
		verbose: 3|1:10: verbose: has to be true or false
		server: ftp://x|1:9: server: 'ftp://x' has to begin with
		a\nb|1:1: has to be a mapping
		login: a\nlogin: b|2:1: 'login' is given twice, first in line 1
	END
}

# engine has|start|kill|stop ...: of a real server
engine() {
	sh "$PTRC_SOURCE/tests/cmd/ship/fleet/server" "$@"
}

# clickhouse: starts a real server in a directory of its own; $url is where it is
clickhouse() {
	local why
	why=$(engine has "$1") || skip "$why"
	mkdir -p real
	engine start "$1" "$PWD/real" 3>&-
	pids="$pids $(cat real/pid)"
	url=http://127.0.0.1:$(cat real/port)
}

ask() {
	curl -sS "$url" --data-binary "$1"
}

@test "a real server has each row once, whoever is killed at random" {
	clickhouse plain
	ships 0 --create-table
	many a.log 40000
	for i in $(seq "${PTRC_KILLS:-20}"); do
		dies_within 700 --batch-size=4K a.log
		# The server, too, now and then.
		if [ $((i % 7)) -eq 3 ]; then
			engine kill "$PWD/real"
			engine start plain "$PWD/real" "$(cat real/port)" 3>&-
			pids="$pids $(cat real/pid)"
		fi
		# A log that is sent as a whole is no test any more.
		! is_complete a.log || rm a.log.ship
	done
	ships 0 --give-up=60s a.log
	[ "$(ask 'SELECT count(), uniqExact(seq), min(seq), max(seq), sum(ints.value[1])
		FROM posixtrace.events FINAL')" = $'40000\t40000\t0\t39999\t60000' ]
	[ "$(ask "SELECT count() FROM posixtrace.events FINAL WHERE event != 'tick' OR pid != 7
		OR ints.name != ['n'] OR length(data) != 8
		OR time != 1700000000000001000 + toInt64(seq) * 1000")" = 0 ]
	engine stop "$PWD/real"
}

# certificate NAME SUBJECT: NAME/cert.pem and NAME/key.pem, for the host SUBJECT
certificate() {
	mkdir "$1"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$2" \
		-addext "subjectAltName=DNS:$2" -keyout "$1/key.pem" -out "$1/cert.pem" 2>openssl.out
}

@test "a real server is spoken to by TLS, and has to show a certificate that is accepted" {
	command -v openssl >/dev/null || skip "no openssl (scripts/setup --fleet)"
	many a.log 1000
	certificate ours localhost
	certificate others localhost
	certificate elsewhere elsewhere.example
	echo secret >password
	FLEET_PASSWORD=secret FLEET_TLS=$PWD/ours clickhouse plain
	tls=https://localhost:$(cat real/tls-port)
	exits 0 ptrace-ship --server="$tls" --ca-file=ours/cert.pem --password-file=password --create-table
	# None of these waits.
	while IFS='|' read -r options message; do
		# shellcheck disable=SC2086 # several options
		reports 1 "*$message*" ptrace-ship --give-up=0 --server="$tls" $options a.log
	done <<-END
		--password-file=password|has a certificate that is not accepted (
		--password-file=password|); --ca-file names trusted ones
		--password-file=password --ca-file=others/cert.pem|has a certificate that is not accepted (
		--password-file=password --ca-file=ours/key.pem|ours/key.pem
		--ca-file=ours/cert.pem|refuses this user or password
		--ca-file=ours/cert.pem --server=http://${tls#https://}|speaks HTTPS at this port: --server has to begin with https://
	END
	ask_it() {
		curl -sS "$url" -u default:secret --data-binary "$1"
	}
	[ "$(ask_it 'SELECT count() FROM posixtrace.events')" = 0 ]
	exits 0 ptrace-ship --server="$tls" --ca-file=ours/cert.pem --password-file=password \
		--batch-size=1K a.log
	[ "$(ask_it 'SELECT count(), uniqExact(seq), max(seq) FROM posixtrace.events FINAL')" = $'1000\t1000\t999' ]
	engine stop "$PWD/real"
	# The certificate is good, and of another host.
	FLEET_TLS=$PWD/elsewhere clickhouse plain
	rm a.log.ship
	reports 1 '*has a certificate that is not accepted (*localhost*)' \
		ptrace-ship --give-up=0 --server="https://localhost:$(cat real/tls-port)" --ca-file=elsewhere/cert.pem a.log
	engine stop "$PWD/real"
}

@test "a real server whose disk is full is waited for, and has each row once then" {
	local why engine=$PTRC_SOURCE/tests/cmd/ship/fleet/server
	why=$(sh "$engine" has plain) || skip "$why"
	mkdir -p real/data
	unshare -m mount -t tmpfs tmpfs real/data 2>/dev/null || skip "mounts are not allowed here"
	python3 - <<-'END' | made a.log
		import random
		print('layout blob u64 n, bytes rest')
		for i in range(4000):
		    data = i.to_bytes(8, 'little') + random.randbytes(3000)
		    print('event', i * 1000, 7, 8, 'blob', 'hex:' + data.hex())
	END
	# shellcheck disable=SC2016 # the other shell does
	unshare -m sh -c 'mount -t tmpfs -o size=6m tmpfs "$2/data" && exec sh "$1" start plain "$2"' \
		sh "$engine" "$PWD/real" 3>&-
	pids="$pids $(cat real/pid)"
	url=http://127.0.0.1:$(cat real/port)
	ships 0 --create-table
	ships 1 --batch-size=1M --give-up=10s a.log
	echo "$stderr"
	[[ $stderr == *"given up: has no room left on its disk "* ]]
	had=$(ask 'SELECT uniqExact(seq) FROM posixtrace.events')
	[ "$had" -gt 0 ]
	[ "$had" -lt 4000 ]
	begins pid ptrace-ship --server="$url" --batch-size=1M --give-up=0 a.log 2>err
	wait_until grep -q 'has no room left on its disk .*; it is tried again' err
	nsenter -t "$(cat real/pid)" -m mount -o remount,size=200m "$PWD/real/data"
	wait "$pid"
	[ "$(grep -c 'it is tried again' err)" -eq 1 ]
	[ "$(grep -c 'answers again' err)" -eq 1 ]
	[ "$(ask 'SELECT count(), uniqExact(seq), max(seq), sum(ints.value[1]) FROM posixtrace.events FINAL')" = \
		$'4000\t4000\t3999\t7998000' ]
	is_complete a.log
	sh "$engine" stop "$PWD/real"
}

@test "the current engine takes what it is sent, and each row once" {
	clickhouse modern
	ships 0 --create-table
	made a.log <<-END
		layout all packed u8 a, i8 b, u64 c, f64 d, char[4] e, enum u8 {idle=0,busy=1} g
		event 1000 7 8 all hex:01ffffffffffffffffff000000000000f83f6162630001
		event 2000 7 9 bytes hex:00ff0a27
		event 90000000002000 7 9 all hex:02ffffffffffffffffff000000000000f83f6162630000
		lost 5
	END
	ships 3 a.log
	rm a.log.ship
	# The second time without the answers of before: tokens tell the batches apart, rows do it.
	ships 3 a.log
	[ "$(ask "SELECT seq, toString(time), pid, tid, event, ints['a'], ints['b'], uints['c'], floats['d'],
		strings['e'], strings['g'], hex(data) FROM posixtrace.events ORDER BY seq LIMIT 2")" = \
		$'0\t2023-11-14 22:13:20.000001000\t7\t8\tall\t1\t-1\t18446744073709551615\t1.5\tabc\tbusy\t01FFFFFFFFFFFFFFFFFF000000000000F83F6162630001
1\t2023-11-14 22:13:20.000002000\t7\t9\tbytes\t0\t0\t0\t0\t\t\t00FF0A27' ]
	[ "$(ask "SELECT count(), uniqExact(seq), sum(ints['lost']), uniqExact(toDate(time)) FROM posixtrace.events")" = \
		$'4\t4\t5\t2' ]
	many b.log 3000
	for i in 1 2 3 4; do
		dies_within 900 --batch-size=1K b.log
	done
	ships 0 --give-up=60s b.log
	[ "$(ask "SELECT count(), uniqExact(seq) FROM posixtrace.events WHERE event = 'tick'")" = $'3000\t3000' ]
	engine stop "$PWD/real"
}
