#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2086 # options that are several words

load ../../support/helpers

# script OPTION... <SCRIPT: runs the script of standard input, traced into run.log; it finds
# the build's programs, and `traced`, in its PATH
script() {
	cat >script.sh
	ptrace-run -o run.log "$@" -- sh script.sh
}

# shown EVENT FILTER: what jq makes of the events of that name
shown() {
	ptrace-dump --format=json -e "$1" run.log | jq -r "$2"
}

@test "steps of a script and events of its programs are on one timeline" {
	ln -s "$traced" traced
	script <<-'END'
		ptrace-event begin a=1
		./traced -n 3
		ptrace-event end
		echo $$ >script.pid
	END
	names=$(ptrace-dump --format=json run.log | jq -r .event | grep -v '^posix_trace_' | uniq)
	[ "$names" = $'begin\ntraced.event\nend' ]
	[ "$(shown begin '.data.a')" = 1 ]
	[ "$(shown begin .pid)" = "$(cat script.pid)" ]
	[ "$(shown end .pid)" = "$(cat script.pid)" ]
	[ "$(shown traced.event .pid | uniq)" != "$(cat script.pid)" ]
	# Nobody of the script has called.
	[ "$(shown begin .address)" = 0x0 ]
	[ "$(shown begin .thread)" = 0x0 ]
}

@test "KEY=VALUE is JSON, and its type says so" {
	silently 0 script <<-'END'
		ptrace-event row rows=17 name=users ratio=-1.5e3 ok=true none=null zip=007 plus=+1 \
			dot=1. minus=- exp=1e big=123456789012345678901234567890 word=truer zero=0
		ptrace-event row rows=3 name=orders
	END
	[ "$(ptrace-events --json --user run.log | jq -r 'select(.event == "row").layout')" = json ]
	ptrace-dump --format=json -e row run.log | jq -se '.[0].data | del(.big) == {rows: 17, name: "users",
		ratio: -1500, ok: true, none: null, zip: "007", plus: "+1", dot: "1.", minus: "-",
		exp: "1e", word: "truer", zero: 0}'
	ptrace-dump --format=json -e row run.log | grep -q '"big":123456789012345678901234567890,'
	[ "$(ptrace-dump --where='data.rows > 10' --fields=data.name --json run.log | jq -r .data.name)" = users ]
	[ "$(ptrace-dump --count --where='data.name == "orders"' run.log)" = 1 ]
}

@test "an event without data is no JSON, and fits its type" {
	script <<-'END'
		ptrace-event step a=1
		ptrace-event step
	END
	silently 0 ptrace-dump --strict -e step run.log
	[ "$(jq -c .data <<<"$stdout")" = $'{"a":1}\n{}' ]
	[ "$(ptrace-export --to=csv -e step run.log | tr -d '\r' | awk -F, 'END { print $(NF - 1) "," $NF }')" = , ]
	ptrace-export --to=ctf --ctf-version=2 -o out.ctf run.log
	python3 "$PTRC_SOURCE/tests/cmd/export/read_ctf.py" ctf2 out.ctf >ctf
	[ "$(grep -c '"step"' ctf)" = 2 ]
	[ "$(ptrace-dump --count --where='data.a == 1' run.log)" = 1 ]
}

@test "a type that is not JSON" {
	ln -s "$traced" traced
	script <<-'END'
		./traced -e row -l 'u32 rows' -X 07000000
		ptrace-event row rows=7 2>said
		echo "$?" >>said
		ptrace-event row abcd
	END
	[ "$(cat said)" = "ptrace-event: row: this event type exists already, and its layout is not 'json'; ptrace-events shows the one that it has, for --layout
1" ]
	[ "$(shown row .data.rows | tr '\n' ' ')" = '7 1684234849 ' ]
}

@test "--layout: the values of fields" {
	ln -s "$traced" traced
	script <<-'END'
		./traced -e row -l 'u32 rows' -X 07000000
		ptrace-event --layout='u32 rows' row rows=0x10
		ptrace-event --layout='u8 a, i64 b, str s, f32 t, bool u' gaps u=true t=-0.1 s='x y' b=-9223372036854775808 a=255
		ptrace-event --layout='packed u8 a, i16 b, f64 c, enum u8 {idle, busy=4} d, enum i8 {no=-1} e, char[4] f, bytes[2] g, pad[3], x32 h, json i' \
			packed a=0 b=-32768 c=1e3 d=busy e=7 f=ab g=01fF h=0xdeadbeef i='{"x":[1]}'
	END
	ptrace-events --json run.log | jq -se 'any(.[]; .event == "row" and .layout == "u32 rows")'
	[ "$(shown row .data.rows | tr '\n' ' ')" = '7 16 ' ]
	silently 0 ptrace-dump --strict -e gaps -e packed --fields=data run.log
	[ "$stdout" = '{"data":{"a":255,"b":-9223372036854775808,"s":"x y","t":-0.1,"u":true}}
{"data":{"a":0,"b":-32768,"c":1000,"d":"busy","e":7,"f":"ab","g":"01ff","h":"0xdeadbeef","i":{"x":[1]}}}' ]
}

@test "--layout: what is no value of a field is refused" {
	while IFS='|' read -r layout pairs want; do
		refuses 2 "$want*" ptrace-event --layout="$layout" n $pairs
	done <<-'END'
		u8 a, i8 b|a=256 b=1|a: '256' is no whole number from 0 to 255.
		u8 a, i8 b|a=-1 b=1|a: '-1' is no whole number from 0 to 255.
		u8 a, i8 b|a=1 b=-129|b: '-129' is no whole number from -128 to 127.
		u64 a|a=18446744073709551616|a: '18446744073709551616' is no whole number from 0 to 18446744073709551615.
		i64 a|a=9223372036854775808|a: '9223372036854775808' is no whole number from -9223372036854775808 to 9223372036854775807.
		u8 a|a=|a: '' is no whole number
		u8 a|a=1x|a: '1x' is no whole number
		u8 a, i8 b|a=1|b: has no value
		u8 abc|abc=1 abd=1|abd: the layout has no such field (did you mean 'abc'?)
		u8 a|a=1 a=1|a: is given twice
		u8 a|a|a: has no value
		u8 a|a a=1|a: has no value
		u8 a|1|1: the layout has no such field
		u8 a:3|a=1|a: a bit field has no value in this form
		u8[2] a|a=1|a: an array has no value in this form
		enum {idle, busy} a|a=bsy|a: 'bsy' is no member of the enum (did you mean 'busy'?)
		f32 a|a=x|a: 'x' is no number
		f32 a|a=4e38|a: '4e38' is too large
		f64 a|a=-1e999|a: '-1e999' is too large
		bool a|a=1|a: '1' is neither true nor false
		char[2] a|a=abc|a: 'abc' has more than 2 bytes
		bytes a|a=123|a: '123' is not made of pairs of hexadecimal digits
		bytes[2] a|a=12|a: '12' are not 2 bytes
		json a|a=2x|a: '2x' is no JSON
		json|a=1|--layout: without this option, KEY=VALUE are a JSON object
		u7 a|a=1|--layout: column 1: 'u7' is not a type (did you mean 'u8'?)
	END
	# Names that are longer than the longest name of a field.
	long=$(printf '%064d' 0 | tr 0 a)
	refuses 2 "${long}a: the layout has no such field *" ptrace-event --layout="u8 $long" n "${long}aa=1"
	refuses 2 "*--layout: cannot be used together with --json*" ptrace-event --json --layout='u8 a' n a=1
}

@test "the data of an event" {
	printf 'from\0here' >input
	silently 0 script <<-'END'
		ptrace-event none
		ptrace-event text 'a text, as it is '
		ptrace-event text '=5'
		ptrace-event text 'a b=c'
		ptrace-event stdin - <input
		ptrace-event stdin --stdin <input
		ptrace-event pair key=
		ptrace-event pairs k1='a "b" \c' k.2_x-=é=1 _=$(printf '\377x')
		:
	END
	[ "$(shown none .len)" = 0 ]
	[ "$(shown text .data)" = $'a text, as it is \n=5\na b=c' ]
	[ "$(shown stdin .data_hex)" = $'66726f6d0068657265\n66726f6d0068657265' ]
	[ "$(shown pair '.data | tojson')" = '{"key":""}' ]
	[ "$(shown pairs '.data.k1')" = 'a "b" \c' ]
	[ "$(shown pairs '.data["k.2_x-"]')" = 'é=1' ]
	[ "$(shown pairs '.data.__hex')" = ff78 ]
}

@test "an event that finds the stream full is lost once" {
	exits 3 script --quiet --stream-min-size=16K --stream-full-policy=until-full <<-'END'
		n=0
		while ptrace-event --require step "$(printf %900s)"; do n=$((n + 1)); done
		ptrace-event step
		# Without the library, neither of these has an own list of streams.
		(ptrace-event step; :)
		sh -c 'ptrace-event step; :'
		echo $n >recorded
	END
	ptrace-stat --json --allow-loss run.log >stat.json
	[ "$(ptrace-dump --count --allow-loss -e step run.log)" = "$(cat recorded)" ]
	[ "$(jq .counts.lost_events stat.json)" = 4 ]
}

@test "whose event it is" {
	script <<-'END'
		echo $$ >script.pid
		(ptrace-event subshell; :)
		(ptrace-event named --pid=$$; :)
		sh -c 'echo $$ >inner.pid; ptrace-event inner; :'
		echo | { ptrace-event pipe; :; }
		exec ptrace-event last
	END
	[ "$(shown named .pid)" = "$(cat script.pid)" ]
	[ "$(shown last .pid)" = "$(cat script.pid)" ]
	[ "$(shown inner .pid)" = "$(cat inner.pid)" ]
	[ "$(shown subshell .pid)" != "$(cat script.pid)" ]
	[ "$(shown pipe '"there"')" = there ]
}

@test "the last command of a subshell of bash" {
	cat >script.sh <<-'END'
		echo $$ >script.pid
		(: ; ptrace-event script)
		(: ; echo $BASHPID >subshell.pid; ptrace-event --pid=$BASHPID subshell)
		:
	END
	ptrace-run -o run.log -- bash script.sh
	[ "$(shown script .pid)" = "$(cat script.pid)" ]
	[ "$(shown subshell .pid)" = "$(cat subshell.pid)" ]
}

@test "children of a script that do not inherit are not traced" {
	script --inheritance=close-for-child <<-'END'
		ptrace-event outer
		sh -c 'ptrace-event inner; :'
		:
	END
	counts run.log outer=1 inner=0
}

@test "an untraced script runs as it would" {
	silently 0 sh -c 'ptrace-event step a=1; echo $?'
	[ "$stdout" = 0 ]
	exits 1 sh -c 'ptrace-event --require step; exit $?'
	[[ $stderr == "ptrace-event: step: recorded nowhere: "* && $stderr != *$'\n'* ]]
}

@test "--json: the data is JSON" {
	silently 0 script <<-'END'
		ptrace-event --json job user='{"name":"ann","groups":[1,2]}' note='no [JSON' quoted='"7"' n=7
		ptrace-event --json job ' {"deep": {"a": [true]}}'
		echo '{"from": ["input"]}' | ptrace-event --json job -
		ptrace-event text user='{"name":"ann"}'
	END
	[ "$(ptrace-dump --format=json -e job run.log | jq -c .data)" = '{"user":{"name":"ann","groups":[1,2]},"note":"no [JSON","quoted":"7","n":7}
{"deep":{"a":[true]}}
{"from":["input"]}' ]
	[ "$(shown text .data.user)" = '{"name":"ann"}' ]
	[ "$(ptrace-dump --count --where='data.user.groups[1] == 2' run.log)" = 1 ]
	for data in '{"a":' '[1]' '{"a":1} x' text; do
		reports 2 "${data/[/\\[}: is not a JSON object. Try 'ptrace-event --help'." ptrace-event --json job "$data"
		reports 1 "standard input: is not a JSON object" ptrace-event --json job - <<<"$data"
	done
	exits 1 ptrace-event --json --stdin job </dev/null
	exits 2 ptrace-event --json job ''
	reports 2 "--json needs data*" ptrace-event --json job
}

@test "a stream that the script does not have gets the event, too" {
	cat >inner.sh <<-'END'
		ptrace-create --pid=$$ --name="$1" -o own.log --start
		exec ptrace-event --require x
	END
	# ptrace-create is traced, too, and may go on.
	ptrace-run --quiet --only='y*' -o run.log -- sh -c "sh inner.sh $me.own; :" || [ $? -eq 3 ]
	wait_until test -s own.log
	is_there() { [ "$(ptrace-dump --count --allow-loss -e x own.log 2>/dev/null)" = 1 ]; }
	wait_until is_there
}

@test "a session on a running script that does not know us" {
	listens pid '' sh -c 'read line; ptrace-event from.within n=1; read line'
	ptrace-create --pid="$pid" --name="$me.a" -o run.log --start
	ptrace-event --pid="$pid" --require from.outside
	go
	within() { ptrace-flush "$me.a" && ptrace-dump --allow-loss run.log 2>/dev/null | grep -q from.within; }
	wait_until within
	ptrace-stop "$me.a"
	exits 1 ptrace-event --pid="$pid" --require from.outside
	ptrace-shutdown "$me.a"
	counts run.log from.outside=1 from.within=1
}

@test "wrong names, operands and processes" {
	long=$(printf '%0255d' 0)
	ptrace-event "$long"
	for name in '' "${long}0" posix_trace_start; do
		reports 2 '*' ptrace-event "$name"
	done
	reports 2 "*has at most 255 bytes*" ptrace-event "${long}0"
	for operands in 'one two' 'a=1 two' 'a=1 a=2' '--stdin a=1' '- a=1'; do
		reports 2 '*' ptrace-event name $operands
	done
	for pid in 0 -1 x 99999999999; do
		reports 2 '*' ptrace-event --pid="$pid" name
	done
	sh -c : 3>&- &
	pid=$!
	wait "$pid"
	reports 1 "$pid: no such process" ptrace-event --pid="$pid" name
	reports 1 "standard input: *" ptrace-event name - <&-
	head -c $((16 * 1024 * 1024 + 1)) /dev/zero >big
	reports 1 "standard input: more than 16777216 bytes" ptrace-event name - <big
}

@test "as many keys as a command line has room for" {
	# No loop: bats looks at each command of a test.
	mapfile -t keys < <(seq -f 'key%.0f=' 0 59999)
	timeout "$patience" ptrace-event step "${keys[@]}"
	reports 2 "key7=*: the key is given twice*" timeout "$patience" ptrace-event step "${keys[@]}" key7=1
	reports 2 "key1_hex=1: the key is reserved*" ptrace-event step key1_hex=1 other=2 key1=$'\xff'
	ptrace-event step key1_hex=1 _hex=2 hex=3
}

@test "data that begins with a minus sign" {
	script -o run.log <<-'END'
		ptrace-event -- step -5
		ptrace-event --pid=$$ -- step --help
	END
	[ "$(ptrace-dump -e step run.log | jq -r .data | tr '\n' ' ')" = '-5 --help ' ]
}

@test "an event before an exec has nothing of the program that follows" {
	cat >script <<-END
		#!/bin/sh
		keeper=\$(grep -lsx ptrace-keeper /proc/[0-9]*/comm | tr -dc '0-9\n')
		kill -STOP \$keeper
		ptrace-event w.one
		(sleep 0.3; kill -CONT \$keeper) &
		exec sleep 0.6
	END
	chmod +x script
	ptrace-run --os=none -o a.log -- ./script
	ptrace-dump --event=w.one --fields=event,comm,exe,command_line a.log >event
	cat event
	[ "$(jq -c . event)" = '{"event":"w.one"}' ]
	# In time the keeper looks before the script goes on.
	printf '#!/bin/sh\nptrace-event w.one\nexec sleep 0.1\n' >script
	ptrace-run --os=none -o a.log -- ./script
	ptrace-dump --event=w.one --fields=comm a.log >event
	[ "$(jq -r .comm event)" = script ]
}
