#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Columns have what JSON has: everything here is written in both, and compared by columns.py, which makes JSON of the
# columns by the module for Python.

load ../../support/helpers

export PYTHONPATH=$PTRC_BUILD/bindings/python LD_LIBRARY_PATH=$PTRC_BUILD/lib/.libs PYTHONDONTWRITEBYTECODE=1
[ -e "$PYTHONPATH/importable" ] || lacking="no module for Python, as configure said"

columns() {
	python3 "$PTRC_SOURCE/tests/cmd/dump/columns.py" "$@"
}

# agrees COUNT OPTION...: columns and JSON have the same events, which are so many; +: one or more
agrees() {
	local count
	count=$(columns same "${@:2}") || { echo "${*:2}: $count"; return 1; }
	[ "$1" = "$count" ] || { [ "$1" = + ] && [ "$count" -gt 0 ]; } || { echo "${*:2}: $count events"; return 1; }
}

@test "the columns of the logs with which the fuzzer begins are their JSON" {
	mkdir logs
	"$PTRC_SOURCE/tests/fuzz/seeds" log logs
	[ "$(find logs -type f | wc -l)" -ge 14 ]
	for log in logs/*; do
		# The first 900 bytes of a log have no event.
		if [ "${log##*/}" = head ]; then agrees 0 "$log"; else agrees + "$log"; fi
	done
	agrees + --threads=1 logs/ring
	agrees + --strict --decode='*=u32 a, str b' logs/threads
	agrees 0 --where='len > 100000' logs/ring
	# The end of this one is missing, so its losses are unknown.
	exits 3 ptrace-dump --format=columns logs/unclosed
}

# A log that has a value of each type, and values at the limits of their types.
make_values() {
	made values.log <<-'END'
		layout int u8 a, i8 b, u16 c, i16 d, u32 e, i32 f, u64 g, i64 h
		event 0 1 1 int hex:00000000000000000000000000000000000000000000000000000000000000
		event 1 1 1 int hex:ff80ffff0080000000000080ffffffffffffffff0000000000000080
		layout hex x8 a, x16 b, x32 c, x64 d, code e, caller f
		event 2 1 1 hex u64:0xfedcba9876543210 u64:0xffffffffffffffff u64:1 u64:2
		layout float f64 a, f32 b
		event 3 1 1 float f64:0.1 hex:cdcccc3d
		event 4 1 1 float f64:inf hex:000080ff
		event 5 1 1 float f64:-inf hex:0000807f
		event 6 1 1 float f64:nan hex:00000000
		event 7 1 1 float f64:-0.0 hex:00000080
		event 8 1 1 float f64:5e-324 hex:01000000
		event 9 1 1 float f64:1.7976931348623157e308 hex:ffff7f7f
		event 10 1 1 float f64:1e22 hex:0000a07f
		event 10 1 1 float f64:1 hex:ffff7f00
		layout bool bool a, bool b : 1, u8 c : 3, i8 d : 4
		event 11 1 1 bool hex:0035
		event 12 1 1 bool hex:01ff
		event 13 1 1 bool hex:02ff
		layout enum enum i8 {no, yes, maybe=1, least=-128} a, enum u64 {most=18446744073709551615} b
		event 14 1 1 enum hex:0000000000000000ffffffffffffffff
		event 15 1 1 enum hex:0100000000000000ffffffffffffffff
		event 16 1 1 enum hex:80000000000000000500000000000000
		layout text char[4] a, str b, str c
		event 17 1 1 text hex:61620000 str:x str:y
		event 18 1 1 text hex:61626364 str:gr%C3%BCn hex:c3bc
		event 19 1 1 text hex:61006300 str:x str:y
		event 20 1 1 text hex:ff000000 str:x str:y
		event 21 1 1 text hex:61000000 str: hex:6100620000
		layout bytes bytes[3] a, bytes b
		event 22 1 1 bytes hex:00ff10
		event 23 1 1 bytes hex:00ff1000000aff
		layout array u16[2] a, f32[2] b, enum i8 {x, y}[2] c, code[] d
		event 24 1 1 array hex:010002000000803f0000803f0001000000000000 u64:4096 u64:1
		event 25 1 1 array hex:010002000000803f0000c07f0005000000000000
		layout json u8 a, json b
		event 26 1 1 json hex:07 str:{"n":123456789012345678901234567890,"l":[1.50,null,"\u00e9"]}
		event 27 1 1 json hex:07 str:[
		layout object json
		event 28 1 1 object str:{"z":1,"a":{"b":[true]}}
		event 29 1 1 object str:[1]
		event 30 1 1 object hex:ff
		layout gap pad[4]
		event 31 1 1 gap hex:00000000
		event 32 1 1 gap hex:0000
		layout short u32 a, u32 b
		event 33 1 1 short hex:01000000
		event 34 1 1 short hex:0100000002000000ff
		event 35 1 1 short hex:0100000002000000
		event 36 1 1 plain str:text
		event 37 1 1 plain hex:74657874
		event 38 1 1 plain hex:7465787400
		event 39 1 1 plain hex:746578740000
		event 40 1 1 plain hex:1b7f
		event 41 1 1 plain
		event 42 0 0 na%FFme hex:ff
		event 43 4194303 4194303 plain hex:c3a90a09
		lost 3
	END
}

@test "values of each type are the same in both" {
	make_values
	agrees + values.log
	agrees + --decode='*=u32 x, i16 y' values.log
	agrees 9 --threads=1 --event=float values.log
	# Times before 1970.
	timeline early.log -9000000000000000000:plain:str:1738 -1700000005000000000:plain:str:before \
		-1700000000000000000:plain:str:1970
	agrees 3 early.log
	# What a byte of text is counts once for all readers.
	made texts.log < <(for i in {0..255}; do printf 'event %d 1 1 plain hex:61%02x\nevent %d 1 1 plain hex:%02x\n' "$i" "$i" "$i" "$i"; done)
	agrees 512 texts.log
}

@test "arrays and frames have what events have" {
	python=python3
	"$python" -c 'import numpy, pandas' 2>/dev/null || python=/usr/bin/python3
	"$python" -c 'import numpy, pandas' 2>/dev/null || skip "no NumPy, or no pandas"
	tables() { "$python" "$PTRC_SOURCE/tests/cmd/dump/columns.py" table "$@"; }
	make_values
	tables values.log
	[ "$(tables values.log --where='event == "enum"')" -eq 3 ]
	ptrace-run -o a.log -- "$traced" -n 30 -t 2 -l 'u64 id'
	ptrace-run -o b.log -- "$traced" -n 30 -l 'u32 id'
	tables a.log b.log
	[ "$(tables a.log --where='len > 100000')" -eq 0 ]
}

@test "random data is the same in both, whatever its layout" {
	seed=$RANDOM
	for layout in 'u8 a, i64 b, x16 c' 'f32 a, f64 b' 'f32[] a' 'enum u8 {z, o, t=2, a=97} a, bool b' \
		'packed u8 a, u16 b : 5, i16 c : 11, i32 d' 'str a, u8 b, str c' 'char[5] a, bytes b' 'json' 'str a, json b' \
		'bool[3] a, i8[] b' 'caller a, code[] b'; do
		made random.log < <(columns random "$layout" "$seed")
		agrees 400 random.log || { echo "layout $layout, seed $seed"; return 1; }
	done
}

@test "several logs, their hosts and their clocks" {
	ptrace-run -o a.log -- "$traced" -n 3 -t 2 -l 'u64 id' -e db.query
	ptrace-run -o b.log -- "$traced" -n 3 -d text
	cp a.log $'c\xff.log'
	agrees + a.log b.log
	cp b.log copy.log
	agrees + b.log copy.log $'c\xff.log'
	agrees + --label=web=a.log --label=$'h\xff=b.log' a.log b.log
	agrees + --last=5 a.log b.log
	# The second host's clock was 3 ms slow at first, so its times are corrected.
	made one.log <<-'END'
		host one m1 b1
		event 0 7 7 send u64:1
		event 5000000 7 7 send u64:2
		clock 0 50 5000000000 200000 0
		clock 9000000 9000060 5009000000 200000 0
	END
	made two.log <<-'END'
		host two m2 b2
		event -2000000 7 7 recv u64:1
		event 6000000 7 7 recv u64:2
		clock -3000000 -3000000 7000000000 16000000000 64
		clock 7000000 10000000 7010000000 300000 0
	END
	[ "$(ptrace-dump -e recv one.log two.log 2>/dev/null | jq -r .ns | head -n 1)" != 1699999999998000000 ]
	agrees 4 one.log two.log
	agrees 4 --decode='*=u64 id' --clock-sync='send..recv by data.id' one.log two.log
}

@test "losses and damage" {
	ptrace-run -o run.log --log-full-policy=loop --log-max-size=64K -- "$traced" -n 6000 || [ $? -eq 3 ]
	flips run.log 1 30000
	exits 3 ptrace-dump run.log
	[ "$(ptrace-dump run.log 2>/dev/null | jq -s 'map(select(has("unreadable_events"))) | length')" -ge 1 ]
	agrees + run.log
	head -c 40000 run.log >cut.log
	agrees + cut.log
	ptrace-run -o loop.log --stream-full-policy=loop --stream-min-size=64K -- "$traced" -n 60000 -s 200 || [ $? -eq 3 ]
	agrees + loop.log
}

@test "options select events as in JSON" {
	ptrace-run -o run.log -- sh -c '"$0" -n 9000 -e a -l "u64 id, u32 rows"; "$0" -n 4000 -e b -d text' "$traced"
	all=$(ptrace-dump --count run.log)
	[ "$all" -gt 13000 ]
	agrees "$all" run.log
	agrees "$all" --threads=1 run.log
	agrees "$all" --threads=3 run.log
	agrees 13000 --user --event='[ab]' run.log
	agrees 5 --first=5 run.log
	agrees 0 --first=0 run.log
	agrees 5 --last=5 run.log
	agrees 4000 --event=b --last=4000 run.log
	agrees + --since=+1ms run.log
	agrees + --around=posix_trace_stop --context=1ms run.log
	agrees + --where='gap > 1us' run.log
	silently 0 ptrace-dump --format=columns --where='len > 100000' run.log
	[ "$(jq -c '.summary | [.shown, .complete]' <<<"$stdout")" = '[0,true]' ]
	refuses 1 '*' ptrace-dump --format=columns ./none.log
}

@test "what cannot be in columns is refused" {
	ptrace-run -o run.log -- "$traced"
	for option in --count --fields=pid --pairs --pair=a..b --symbols --to-log=x.log --verify; do
		refuses 2 '--format: columns have all fields of events, and cannot be used together with *' \
			ptrace-dump --format=columns "$option" run.log
	done
	refuses 2 '--relative: is for text, not for columns*' ptrace-dump --format=columns --relative run.log
	refuses 2 '--header: is for text, not for columns*' ptrace-dump --format=columns --header=always run.log
	refuses 2 '--tree: *' ptrace-dump --format=columns --tree run.log
	[ ! -e x.log ]
}

# has_rows COUNT: the columns on standard input have so many events, which come without waiting for others
has_rows() {
	timeout "$patience" python3 -c '
import sys
from posixtrace import _columns
count = 0
while count < int(sys.argv[1]):
    count += _columns.read(sys.stdin.buffer).rows
sys.exit(count != int(sys.argv[1]))
' "$1"
}

@test "the columns of a followed session come with its events" {
	traced_session "$me" --start -- -w -n 5 -W
	mkfifo columns near
	exec 5<>columns 6<>near
	begins reader ptrace-dump --format=columns --follow="$me" --event=traced.event >columns
	# What precedes the event is held until the event comes.
	begins reader ptrace-dump --format=columns --follow="$me" --event=traced.event \
		--around='traced.event where data == 3' --context=1h,0s >near
	go done
	# The session still runs, and its events are here.
	has_rows 5 <&5
	has_rows 4 <&6
	exec 5<&- 6<&-
	ptrace-shutdown "$me"
}

@test "a full disk and a reader that goes away end it" {
	ptrace-run -o run.log -- "$traced" -n 9000
	tells 1 'ptrace-dump: *No space left on device*' sh -c 'ptrace-dump --format=columns "$1" >/dev/full' sh run.log
	cp run.log copy.log
	ptrace-dump --format=columns run.log copy.log | head -c 100 >/dev/null
	[ "${PIPESTATUS[0]}" -eq 0 ]
}
