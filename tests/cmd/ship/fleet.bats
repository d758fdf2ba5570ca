#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The tables for events of many machines, and docs/queries.sql, in real engines: tests/cmd/ship/fleet/server
# starts those that are installed. What the queries have to find is in tests/cmd/ship/fleet/rows.py.

load ../../support/helpers

fleet=$PTRC_SOURCE/tests/cmd/ship/fleet

[ -x "$PTRACE_BIN/ptrace-ship" ] || lacking="built without libcurl"

setup_file() {
	local dialect
	[ -z "$lacking" ] || return 0
	for dialect in plain modern; do
		if "$PTRC_SOURCE/tests/cmd/ship/fleet/server" has $dialect >"$BATS_FILE_TMPDIR/$dialect.has"; then
			"$PTRC_SOURCE/tests/cmd/ship/fleet/server" start $dialect "$BATS_FILE_TMPDIR/$dialect" || return 1
			make_tables $dialect posixtrace
			python3 "$PTRC_SOURCE/tests/cmd/ship/fleet/rows.py" $dialect "$(date +%s)" |
				insert $dialect posixtrace.events
		fi
	done
}

teardown_file() {
	local dialect
	for dialect in plain modern; do
		[ ! -e "$BATS_FILE_TMPDIR/$dialect/pid" ] ||
			"$PTRC_SOURCE/tests/cmd/ship/fleet/server" stop "$BATS_FILE_TMPDIR/$dialect"
	done
}

# The dialects of the engines that are here; the test is skipped if there is none.
engines() {
	local dialect
	here=
	for dialect in plain modern; do
		[ ! -e "$BATS_FILE_TMPDIR/$dialect/pid" ] || here+="$dialect "
	done
	[ -n "$here" ] || skip "no engine (scripts/setup --fleet)"
}

url() {
	echo "http://127.0.0.1:$(cat "$BATS_FILE_TMPDIR/$1/port")/"
}

# ask DIALECT [PARAMETER=VALUE] <QUERY: the server's answer; fails if that is an error
ask() {
	curl -sS --fail-with-body --data-binary @- "$(url "$1")${2+?$2}"
}

# insert DIALECT TABLE [PARAMETER=VALUE] <ROWS
insert() {
	gzip | curl -sS --fail-with-body -H 'Content-Encoding: gzip' --data-binary @- \
		"$(url "$1")?query=INSERT+INTO+$2+FORMAT+RowBinary${3+&$3}"
}

# make_tables DIALECT DATABASE: as a user does who has the statements
make_tables() {
	local statement
	"$PTRACE_BIN/ptrace-ship" --print-schema --dialect="$1" --database="$2" >"$BATS_FILE_TMPDIR/statements"
	while IFS= read -r -d ';' statement; do
		ask "$1" <<<"$statement" || return 1
	done <"$BATS_FILE_TMPDIR/statements"
}

# expect COLUMN... <ROWS: that is what query prints
expect() {
	local columns=$* wanted
	wanted=$(sed 's/  */\t/g')
	diff <(echo "$wanted") <(echo "$printed" | cut -f "${columns:-1-}")
}

# query DIALECT NAME [SED-EXPRESSION]: its result becomes $printed
query() {
	printed=$("$fleet/query" "$1" "$2" | sed "${3-}" | ask "$1")
}

@test "the old server of Debian is here" {
	"$fleet/server" has plain || skip "$(cat "$BATS_FILE_TMPDIR/plain.has")"
	[[ $(ask plain <<<'SELECT version()') == [0-9]*.* ]]
}

@test "the current engine is here" {
	"$fleet/server" has modern || skip "$(cat "$BATS_FILE_TMPDIR/modern.has")"
	[[ $(ask modern <<<'SELECT version()') == [2-9][0-9].* ]]
}

@test "the statements make the tables, again and again, in a database of any name" {
	engines
	for dialect in $here; do
		for name in posixtrace 'a`b\c"d'\''e $.' 'ü-1'; do
			make_tables "$dialect" "$name"
			make_tables "$dialect" "$name"
			ask "$dialect" <<<"SELECT name FROM system.databases" >names
			# The server escapes what it prints in this format.
			printf '%s\n' "$name" | sed -e 's/\\/\\\\/g' -e "s/'/\\\\'/g" >wanted
			grep -qxFf wanted names
		done
		[ "$(ask "$dialect" database=%C3%BC-1 <<<'SELECT count() FROM events')" = 0 ]
		[ "$(ask "$dialect" database=%C3%BC-1 <<<'SELECT version FROM schema')" = 1 ]
		[ "$(ask "$dialect" database=%C3%BC-1 <<<'SHOW TABLES' | xargs)" = "events hosts processes schema" ]
	done
}

@test "the columns stand in the order that is documented" {
	engines
	for dialect in $here; do
		wanted='host boot log seq time bound pid tid process event'
		case $dialect in
		plain)
			for field in ints uints floats strings; do
				wanted+=" $field.name $field.value"
			done
			;;
		modern) wanted+=' ints uints floats strings' ;;
		esac
		[ "$(ask "$dialect" <<-END | xargs
			SELECT name FROM system.columns WHERE database = 'posixtrace' AND table = 'events'
			AND default_kind NOT IN ('ALIAS', 'MATERIALIZED')
		END
		)" = "$wanted data" ]
		[ "$(ask "$dialect" <<<"DESCRIBE TABLE posixtrace.processes" | cut -f 1 | xargs)" = \
			"host boot log process pid parent start user program command build_id" ]
		[ "$(ask "$dialect" <<<"DESCRIBE TABLE posixtrace.hosts" | cut -f 1 | xargs)" = \
			"host boot machine kernel zone" ]
	done
}

@test "processes and hosts are there once, however often they are sent" {
	engines
	for dialect in $here; do
		for table in "processes (host, log, process, program)" "hosts (host, boot, kernel)"; do
			for last in first last; do
				case $table in
				processes*) values="('h', 'l', 7, '$last')" ;;
				*) values="('h', 'b', '$last')" ;;
				esac
				ask "$dialect" <<<"INSERT INTO posixtrace.$table VALUES $values"
			done
		done
		[ "$(ask "$dialect" <<<'SELECT program FROM posixtrace.processes FINAL')" = last ]
		[ "$(ask "$dialect" <<<'SELECT kernel FROM posixtrace.hosts FINAL')" = last ]
	done
}

@test "rows that are sent twice are in the table once" {
	engines
	python3 "$fleet/rows.py" plain 1700000000 >plain.rows
	python3 "$fleet/rows.py" modern 1700000000 >modern.rows
	for dialect in $here; do
		make_tables "$dialect" twice
		case $dialect in
		plain)
			for _ in 1 2 3; do
				insert plain twice.events <plain.rows
			done
			count=$(ask plain <<<'SELECT count() FROM twice.events FINAL')
			[ "$(ask plain <<<'SELECT uniqExact(log, seq) FROM twice.events')" = "$count" ]
			;;
		modern)
			for _ in 1 2 3; do
				insert modern twice.events insert_deduplication_token=log:1 <modern.rows
			done
			count=$(ask modern <<<'SELECT count() FROM twice.events')
			[ "$(ask modern <<<'SELECT uniqExact(log, seq) FROM twice.events')" = "$count" ]
			# It is the token that tells, and not what the rows are.
			insert modern twice.events insert_deduplication_token=log:2 <modern.rows
			[ "$(ask modern <<<'SELECT count() FROM twice.events')" = $((2 * count)) ]
			;;
		esac
		[ "$count" -gt 500 ]
	done
}

@test "numbers are numbers up to both ends, times are exact, and bytes stay what they are" {
	engines
	for dialect in $here; do
		make_tables "$dialect" ends
		python3 - "$dialect" >rows <<-'END'
			import struct, sys
			def string(b):
			    return bytes([len(b)]) + b
			def fields(pairs):
			    if sys.argv[1] == "modern":
			        return bytes([len(pairs)]) + b"".join(string(k) + v for k, v in pairs)
			    return (bytes([len(pairs)]) + b"".join(string(k) for k, v in pairs) +
			            bytes([len(pairs)]) + b"".join(v for k, v in pairs))
			every = bytes(range(100)), bytes(range(100, 200)), bytes(range(200, 256))
			for time in (0, 1, 1795443123123456789, 4294967295999999999):
			    sys.stdout.buffer.write(
			        string(b"h") + string(b"b") + string(b"l") +
			        struct.pack("<QqQiiQ", 2**64 - 1, time, 2**64 - 1, 2**31 - 1, -1, 2**64 - 1) +
			        string(every[0]) +
			        fields([(every[1], struct.pack("<q", -2**63)), (b"x", struct.pack("<q", 2**63 - 1))]) +
			        fields([(b"", struct.pack("<Q", 2**64 - 1))]) +
			        fields([(b"f", struct.pack("<d", 5e-324))]) +
			        fields([(b"s", string(every[2]))]) + string(every[0]))
		END
		insert "$dialect" ends.events <rows
		[ "$(ask "$dialect" <<<'SELECT ns FROM ends.events ORDER BY ns' | xargs)" = \
			"0 1 1795443123123456789 4294967295999999999" ]
		# Byte for byte what was sent.
		ask "$dialect" <<<'SELECT * FROM ends.events ORDER BY time FORMAT RowBinary' >back
		cmp rows back
	done
}

@test "every query is there for both dialects, and has a test here" {
	[ "$("$fleet/query" | wc -l)" -ge 8 ]
	for name in $("$fleet/query"); do
		"$fleet/query" plain "$name" >/dev/null
		"$fleet/query" modern "$name" >/dev/null
		grep -q "^	*query \"\$dialect\" $name" "$BATS_TEST_FILENAME"
	done
}

@test "each query finds what is in the rows" {
	engines
	for dialect in $here; do
		query "$dialect" p99-by-host-and-minute
		expect 1,3- <<-END
			web1 202 1 50 50
			web2 1 400 400 400
			web2 1 3 3 3
		END
		[ "$(cut -f 2 <<<"$printed" | uniq -c | awk '{ print $1 }' | xargs)" = "2 1" ]
		query "$dialect" changed-since-yesterday
		expect <<-END
			request.begin 205 0 2
			request.end 205 0 2
			net.recv 7 0 2
			net.send 6 0 2
			new 5 0 1
			old 0 5 1
			cache.miss 40 10 1
			lock.wait 2 0 1
			lock.free 1 0 1
		END
		query "$dialect" slower-since-yesterday
		expect <<<'db1 query 20 8 2 4'
		query "$dialect" slowest-with-neighbours
		expect 1-6 <<-END
			400 web2 0 10 11 request.begin
			400 web2 100 10 13 lock.wait
			400 web2 390 10 13 lock.free
			400 web2 400 10 11 request.end
			50 web1 0 10 11 request.begin
			50 web1 50 10 11 request.end
			50 web1 0 10 11 request.begin
			50 web1 50 10 11 request.end
		END
		[[ $printed == *table* && $printed != *queue* ]]
		query "$dialect" hosts-with-losses
		expect 1,2,4 <<-END
			db1 1500 2
			web2 7 1
		END
		# Of 47 and 72 other events.
		[ "$(cut -f 3 <<<"$printed" | cut -c 1-6 | xargs)" = "0.9696 0.0886" ]
		query "$dialect" clocks-by-host
		expect <<-END
			db1 3 0 50
			web1 0.05 0 412
			web2 0.05 0 73
		END
		# A number, a text, and a number over 2^63.
		for change in '' "s/ints/strings/g; s/4711/'4711'/" 's/ints/uints/g; s/4711/9223372036854780519/'; do
			query "$dialect" request-across-hosts "$change"
			expect 1,3-5,8 <<-END
				web1 0 0.05 sure net.send
				db1 2 3 unsure net.recv
				db1 7 3 sure net.send
				web1 31 0.05 sure net.recv
			END
		done
		query "$dialect" request-across-hosts 's/4711/4713/'
		[ -z "$printed" ]
	done
}

@test "nothing is removed by itself, and what is to be removed goes by days" {
	local oldest='SELECT (max(ns) - min(ns)) > 2 * 86400 * 1000000000 FROM kept.events' statements
	engines
	for dialect in $here; do
		make_tables "$dialect" kept
		python3 "$fleet/rows.py" "$dialect" "$(date +%s)" | insert "$dialect" kept.events
		ask "$dialect" <<<'OPTIMIZE TABLE kept.events FINAL'
		[ "$(ask "$dialect" <<<"$oldest")" = 1 ]
		query "$dialect" retention 's/posixtrace/kept/; s/30/400/'
		[ -z "$printed" ]
		query "$dialect" retention 's/posixtrace/kept/; s/30/2/'
		case $dialect in
		plain)
			[ "$(wc -l <<<"$printed")" -eq 1 ]
			# As one copies it from a terminal.
			ask plain <<<"$(ask plain <<<"$("$fleet/query" plain retention |
				sed 's/posixtrace/kept/; s/30/2/') FORMAT TSVRaw")"
			;;
		modern) ask modern <<<'OPTIMIZE TABLE kept.events FINAL' ;;
		esac
		[ "$(ask "$dialect" <<<"$oldest")" = 0 ]
		[ "$(ask "$dialect" <<<'SELECT count() > 500 FROM kept.events')" = 1 ]
	done
}

@test "an engine for tests: what it has answered is there after it was killed; errors; passwords" {
	engines
	for dialect in $here; do
		"$fleet/server" start "$dialect" "$PWD/$dialect"
		port=$(cat "$dialect/port")
		here_url=http://127.0.0.1:$port/
		curl -sS --fail-with-body --data-binary 'CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n' \
			"$here_url"
		printf '\5\0\0\0\0\0\0\0' | curl -sS --fail-with-body --data-binary @- \
			"$here_url?query=INSERT+INTO+t+FORMAT+RowBinary"
		# Half a row.
		run_split curl -s -w '%{http_code}' --data-binary abc \
			"$here_url?query=INSERT+INTO+t+FORMAT+RowBinary"
		[[ $stdout == *'Code: 33'*[45]00 ]]
		run_split curl -s --data-binary 'SELECT 1' "$here_url?no_such_setting=1"
		[[ $stdout == *'Code: 115'* ]]
		run_split curl -s --data-binary 'SELECT 1 FROM nothing' "$here_url"
		[[ $stdout == *'Code: 60'* ]]
		# Half a request.
		exec 9<>"/dev/tcp/127.0.0.1/$port"
		printf 'POST /?query=INSERT+INTO+t+FORMAT+RowBinary HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n1234' >&9
		exec 9>&-
		"$fleet/server" kill "$PWD/$dialect"
		FLEET_PASSWORD=secret "$fleet/server" start "$dialect" "$PWD/$dialect" "$port"
		run_split curl -s --data-binary 'SELECT 1' "$here_url"
		[[ $stdout == *'Code: '[15]9[34]* || $stdout == *'Code: 516'* ]]
		[ "$(curl -s -u default:secret --data-binary 'SELECT n FROM t' "$here_url")" = 5 ]
		"$fleet/server" stop "$PWD/$dialect"
		# Nobody is there.
		exits 7 curl -sS "$here_url"
	done
}
