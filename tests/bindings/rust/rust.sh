#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# The crates for Rust: what the programs of src/ record, what the compiler must not let pass, and the README. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"
# shellcheck source=tests/support/cargo.sh
. "$PTRC_SOURCE/tests/support/cargo.sh"

! missing=$(cargo_lacks) || skip_all "$missing"
test -z "${PTRC_SAN_CFLAGS-}" || skip_all 'the standard library of Rust has no sanitizers'
cargo_begin bindings/rust tests/bindings/rust || exit 99
PATH=$PTRC_BUILD/src:$PATH
RUST_BACKTRACE=0
# This is faster and takes less disk space.
CARGO_INCREMENTAL=0
CARGO_PROFILE_DEV_DEBUG=0
export RUST_BACKTRACE CARGO_INCREMENTAL CARGO_PROFILE_DEV_DEBUG
cases=$target/debug/cases

compiles() {
	(cd "$work/tests/bindings/rust" && RUSTFLAGS='-D warnings' cargo build --target-dir "$target")
}

# run CASE: records its events into $dir/log; the first line of the errors of a case is shown
run() {
	rm -rf "$dir/log"
	ptrace-run --allow-loss -o "$dir/log" -- "$cases" "$1"
}

# recorded: the events of the log, a line for each: its name, with LINE for the number of a line of the program, and
# its data. Keys that no program chose are called by their order.
recorded() {
	ptrace-dump --user --format=json "$dir/log" 2>"$dir/messages" |
		sed 's/.*"event":"\([^"]*\)".*,"data\(_hex\)*":\(.*\)}$/\1 \3/
			s/^\([^ ]*\):[0-9][0-9]*\(#[0-9]*\)\{0,1\} /\1:LINE\2 /' |
		awk '{
			while (match($0, /(key|parent|span)":[0-9][0-9][0-9][0-9][0-9][0-9]+/)) {
				all = substr($0, RSTART, RLENGTH)
				number = all
				sub(/.*:/, "", number)
				if (!(number in names))
					names[number] = "K" ++count
				sub(number, names[number])
			}
			print
		}'
}

# same: the events of the log are those on standard input
same() {
	cat >"$dir/expected"
	recorded >"$dir/found"
	diff "$dir/expected" "$dir/found"
}

# layouts: those of the types of the log
layouts() {
	ptrace-events --user --json "$dir/log" | sed -n 's/.*"event":"\([^"]*\)".*"layout":"\([^"]*\)".*/\1: \2/p'
}

# unmatched: prints how many pairs of types there are, if each begin has an end and each end a begin
unmatched() {
	sed 's/{"begin"/\n&/g' | awk '
		/^{"begin"/ { n++ }
		/^{"begin"/ && !/"unmatched_begins":0,"unmatched_ends":0/ { print; bad = 1 }
		END { if (!bad) print n }'
}

fields() {
	run fields || return 1
	same <<'END' || return 1
numbers {"a":255,"b":18446744073709551615,"c":-32768,"d":0.5,"e":true,"f":-0.25,"g":-1,"h":7,"i":-7,"j":65535,"k":-2147483648,"l":-9223372036854775808,"m":4}
hexadecimal {"a":"0x1","b":"0x102","c":"0x1020304","d":"0xffffffffffffffff","e":["0x1","0x2"],"f":["0x3","0x4"]}
units {"took":5000,"size":3,"load":12.5,"both":[18446744073709551615,0],"x":[1,2]}
arrays {"a":[1,2,3],"b":"010203ff","c":[true,false],"d":["inf"]}
texts {"a":"grün","b":5,"c":"ab","d":"end"}
bytes {"a":1,"rest":"010203"}
json {"a":1,"all":{"b":[2,"x"]}}
empty ""
raw {"type":1,"in":2}
END
	layouts >"$dir/found"
	diff - "$dir/found" <<'END'
numbers: u8 a, u64 b, i16 c, f32 d, bool e, f64 f, i8 g, u64 h, i64 i, u16 j, i32 k, i64 l, u32 m
hexadecimal: x8 a, x16 b, x32 c, x64 d, x32[2] e, x8[2] f
units: u64 took ns, u32 size KiB, f32 load percent, u64[2] both ns, u16[2] x ms
arrays: u16[3] a, bytes[4] b, bool[2] c, f64[1] d
texts: str a, u32 b, char[4] c, str d
bytes: u8 a, bytes rest
json: u8 a, json all
raw: u8 type, u16 in
END
}

texts() {
	run texts || return 1
	recorded | head -n 3 >"$dir/found"
	diff - "$dir/found" <<'END' || return 1
texts {"a":"a�","a_hex":"61ff","b":5,"c":"abcd","d":"�","d_hex":"fe"}
texts {"a":"cut","b":5,"c":"a","c_hex":"61006200","d":"cut"}
texts {"a":"","b":5,"c":"","d":""}
END
	# All data fits its layout.
	! grep 'texts: .*does not fit' "$dir/messages"
}

large() {
	run texts 2>"$dir/said" || return 1
	# The texts with their null byte, and the bytes: all of them are there, until the stream cuts them.
	ptrace-dump --event=large --event=after --format=json "$dir/log" 2>/dev/null |
		sed 's/.*"event":"\([^"]*\)".*"truncated":"\([^"]*\)","len":\([0-9]*\).*/\1 \2 \3/' >"$dir/found"
	for size in 0 100 255 256 257 4000 4095 4096 5000 100000; do
		for it in "large $((size * 2 + 1))" "after $(((size + 8) / 8 * 8 + 8))"; do
			if [ "${it#* }" -gt 4096 ]; then echo "${it% *} record 4096"; else echo "${it% *} no ${it#* }"; fi
		done
	done | diff - "$dir/found" || return 1
	grep 'as the largest has 200001 bytes' "$dir/said" || return 1
	ptrace-run --max-data-size=300000 -o "$dir/whole.log" -- "$cases" texts || return 1
	ptrace-dump --event=after --format=json "$dir/whole.log" | tail -n 1 |
		awk '{ exit !(gsub(/x/, "x") >= 100000 && /"truncated":"no".*"b":100000}/) }'
}

threads() {
	run threads || return 1
	ptrace-dump --event=pair --format=json "$dir/log" |
		sed 's/.*"tid":\([0-9]*\).*"data":{"a":\([0-9]*\).*/\1 \2/' | sort | uniq -c |
		awk '$1 == 1000 { n++ } END { exit n != 4 || NR != 4 }' || return 1
	ptrace-stat --pair=thread --format=json "$dir/log" | grep '"count":4,'
}

conflict() {
	run conflict >"$dir/said" || return 1
	printf '%s\n' "Err(\"event type \\\"posix_trace_start\\\": it cannot be opened: Invalid argument (os error 22)\")" |
		diff - "$dir/said" || return 1
	same <<'END'
pair {"a":1,"b":2}
posix_trace_unnamed_userevent "03000000"
END
}

spans() {
	run spans || return 1
	same <<'END' || return 1
outer.begin {"key":K1}
inner.begin {"key":7}
outer.end {"key":K1}
inner.end {"key":7}
async.begin {"key":9}
async.end {"key":9}
moved.begin {"key":K2}
moved.end {"key":K2}
panic.begin {"key":K3}
pair {"a":1,"b":1}
panic.end {"key":K3}
END
	ptrace-stat --pairs --format=json "$dir/log" | unmatched | grep -x 5
}

# The span that had begun before has no end either.
late() {
	mkfifo "$dir/to" "$dir/from" || return 1
	"$cases" late <"$dir/to" >"$dir/from" &
	pid=$!
	exec 3>"$dir/to" 4<"$dir/from"
	read -r _ <&4
	ptrace-create --pid="$pid" --start -o "$dir/log" --name=late || return 1
	echo >&3
	read -r _ <&4
	ptrace-shutdown late || return 1
	exec 3>&- 4<&-
	wait "$pid" || return 1
	same <<'END'
pair {"a":1,"b":1}
request.begin {"key":K1}
request.end {"key":K1}
END
}

forks() {
	run fork || return 1
	same <<'END'
request.begin {"key":K1}
pair {"a":1,"b":1}
request.begin {"key":K2}
db.query {"id":2,"rows":2,"sql":"child"}
pair {"a":2,"b":2}
request.end {"key":K2}
request.begin {"key":K3}
db.query {"id":3,"rows":3,"sql":"parent"}
request.end {"key":K3}
request.end {"key":K1}
END
}

child() {
	run child && recorded | grep -c . | grep -x 9
}

memory() {
	run memory >"$dir/said" || return 1
	diff - "$dir/said" <<'END'
numbers 0
texts 0
large 2
span 0
layer 0
END
}

# A process that dies in a span: what it has recorded is there.
killed() {
	run killed && return 1
	same <<'END'
request.begin {"key":K1}
pair {"a":1,"b":2}
os.command {"status":-1,"signal":6}
END
}

layer() {
	run layer || return 1
	recorded | sed 's/y\{90,\}/Y/; s/\(79\)\{90,\}/Y/' >"$dir/found"
	diff - "$dir/found" <<'END' || return 1
cases::layer:LINE {"span":0,"level":"INFO","message":"of 1","id":7,"change":-3,"load":0.5,"ok":true,"sql":"select 1","shown":"shown"}
cases::layer:LINE {"span":0,"level":"ERROR","message":"text"}
audit:src/layer.rs:LINE {"span":0,"level":"WARN","user":"anna","failing":"half"}
audit::in:src/layer.rs:LINE {"span":0,"level":"DEBUG","message":"names","key":1,"span_":2,"level_":3,"http_status":200,"size":4,"size_hex_":5}
cases::layer:LINE {"span":0,"level":"INFO","large":"1267650600228229401496703205376","cut":"a","last":"c"}
cases::layer:LINE {"span":0,"level":"INFO","message":"option","user":1}
cases::layer:LINE#2 {"span":0,"level":"INFO","message":"option"}
cases::layer:LINE {"span":0,"level":"INFO","message":"option","user":2}
cases::layer::outer.begin {"key":K1,"parent":0,"level":"INFO","id":1}
cases::layer::inner.begin {"key":K2,"parent":K1,"level":"TRACE"}
cases::layer:LINE {"span":K1,"level":"INFO","message":"in outer"}
cases::layer:LINE {"span":K2,"level":"INFO","message":"in inner"}
cases::layer::outer.record {"key":K1,"status":200}
cases::layer::outer#2.record {"key":K1,"name":"x"}
cases::layer:LINE {"span":K2,"level":"INFO","message":"explicit"}
cases::layer:LINE {"span":0,"level":"INFO","message":"root"}
cases::layer::inner.end {"key":K2}
cases::layer::outer.end {"key":K1}
cases::layer::moved.begin {"key":K3,"parent":0,"level":"INFO"}
cases::layer::moved.end {"key":K3}
cases::layer:LINE "000000000000000002Y","decode_error":"short"
END
}

# Each span has its end, also if its type has a number.
layer_numbers() {
	run layer-conflict || return 1
	recorded | sed 's/long /l/g; s/l\{40,\}/LONG/' >"$dir/found"
	diff - "$dir/found" <<'END' || return 1
cases::layer::new.begin {"key":K1,"parent":0,"level":"INFO","a":1}
cases::layer::new.end {"key":K1}
cases::layer::new#2.begin {"key":K2,"parent":0,"level":"INFO","b":"x"}
cases::layer::new#2.end {"key":K2}
cases::layer::new.begin {"key":K3,"parent":0,"level":"INFO","a":1}
cases::layer::new.end {"key":K3}
t_t::LONGon.begin {"key":K4,"parent":0,"level":"INFO","a":1}
t_t::LONGon.end {"key":K4}
END
	ptrace-stat --pairs --format=json "$dir/log" | unmatched | grep -x 3
}

# Events and spans are in the nearest span that passes the filter of the layer. An explicit parent that does not pass
# counts as none.
layer_filter() {
	run layer-filter || return 1
	same <<'END'
cases::layer::outer.begin {"key":K1,"parent":0,"level":"INFO"}
cases::layer:LINE {"span":K1,"level":"INFO","message":"event"}
cases::layer::inner.begin {"key":K2,"parent":K1,"level":"INFO"}
cases::layer::inner.end {"key":K2}
cases::layer:LINE {"span":0,"level":"INFO","message":"explicit"}
cases::layer::outer.end {"key":K1}
END
}

# Events of a child that are in a span of the parent have a key that no span has.
layer_forks() {
	run layer-fork || return 1
	same <<'END'
cases::layer::forked.begin {"key":K1,"parent":0,"level":"INFO"}
cases::layer:LINE {"span":K1,"level":"INFO","message":"before"}
cases::layer:LINE {"span":K2,"level":"INFO","message":"in the child"}
cases::layer::of the child.begin {"key":K3,"parent":K2,"level":"INFO"}
cases::layer::of the child.end {"key":K3}
cases::layer::forked.end {"key":K1}
END
}

# Spans that exist at the same time have different keys, whatever subscriber they have.
layer_subscribers() {
	run layer-subscribers || return 1
	same <<'END'
cases::layer::one of two.begin {"key":K1,"parent":0,"level":"INFO"}
cases::layer::one of two.begin {"key":K2,"parent":0,"level":"INFO"}
cases::layer::one of two.end {"key":K1}
cases::layer::one of two.end {"key":K2}
END
}

# mistakes: what no layout can have, or no field takes, is an error of the compiler that names it
mistakes() {
	library=$(find "$target"/debug/deps -name 'libposixtrace-*.rmeta' | head -n 1)
	long=$(printf '%0250d' 0)
	set -- --edition=2021 --crate-type=lib --emit=metadata -o "$dir/mistake" -L "$target/debug/deps" \
		--extern "posixtrace=$library"
	# wrong|what the compiler says
	while IFS='|' read -r body message; do
		echo "$body" | sed "s/LONG/$long/g" >"$dir/mistake.rs"
		if rustc "$@" "$dir/mistake.rs" >"$dir/said" 2>&1 || ! grep -q "$message" "$dir/said"; then
			echo "with: $body"
			cat "$dir/said"
			return 1
		fi
	done <<'END'
posixtrace::event! { static E: "e" { a: u32 } } fn f() { E.emit("text") }|mismatched types
posixtrace::event! { static E: "e" { a: u32 } } fn f() { E.emit(1, 2) }|takes 1 argument
posixtrace::event! { static E: "e" { a: str } } fn f() { E.emit(3) }|AsRef<\[u8\]>` is not
posixtrace::event! { static E: "e" { a: String } }|String: .*Number` is not satisfied
posixtrace::event! { static E: "e" { a: [[u8; 2]; 2] } }|\[u8; 2\]: .*Element` is not satisfied
posixtrace::event! { static E: "e" { a: u32[4] } }|only char has a number in brackets after it
posixtrace::event! { static E: "e" { a: u8, a: u8 } }|`a` is bound more than once
posixtrace::event! { static E: "e.x" { a: u32 KB } }|event type e.x, field a: a number may have one of the units ns
posixtrace::event! { static E: "e.x" { a: str ns } }|event type e.x, field a: a number may have one of the units ns
posixtrace::event! { static E: "e.x" { a: x64 ns } }|event type e.x, field a: a number may have one of the units ns
posixtrace::event! { static E: "e.x" { a: bool ns } }|event type e.x, field a: a number may have one of the units ns
posixtrace::event! { static E: "e.x" { a: Duration us } }|event type e.x, field a: a number may have one of the units ns
posixtrace::event! { static E: "e.x" { a: json, b: u8 } }|field a: json and \[u8\] can only be the last
posixtrace::event! { static E: "e.x" { a: [u8], b: u8 } }|field a: json and \[u8\] can only be the last
posixtrace::event! { static E: "e.x" { grün: u8 } }|field grün: its name may have ASCII letters
posixtrace::event! { static E: "e.x" { a_hex: u8, a: u8 } }|field a_hex: JSON uses this name
posixtrace::event! { static E: "e.x" { a: [u32; 0] } }|field a: it has no elements
posixtrace::event! { static E: "e.x" { a: char[0] } }|field a: it has no elements
posixtrace::event! { static E: "e\0x" {} }|the name of an event type cannot have a null byte
posixtrace::event! { static E: "LONGLONG" {} }|the name of an event type has at most 255 bytes
fn f() { let _ = posixtrace::span!("LONG"); }|the name of an event type has at most 255 bytes
#![deny(unused_must_use)] fn f() { posixtrace::span!("s"); }|a span ends where its value is dropped
END
}

# block PATTERN: the lines of the README that are indented after the line that matches
block() {
	sed -n "/$1/,/^[^ ]/{/^    /p;/^$/p;}" "$PTRC_SOURCE/bindings/rust/README.md" | sed 's/^    //'
}

# The lines of the README, with the crates of the tree.
first_event() (
	mkdir "$dir/first" && cd "$dir/first" || exit 1
	CARGO_TARGET_DIR=$target-first
	export CARGO_TARGET_DIR
	block '^## A first event' | sed '/apt-get/d; s|/usr/share/posixtrace/|'"$work/|; s/&& cd.*//" >new
	grep -q '^cargo new hello' new || exit 1
	block '^## A first event' | sed -n 's|/usr/share/posixtrace/|'"$work/|; s/.*&& cargo add/cargo add/p" >add
	block '^.src.main.rs' >main.rs
	block '^Then:' >run
	sh -e new && cd hello && sh -e ../add && cp ../main.rs src && sh -e ../run >../said || exit 1
	grep '"data":{"id":7,"rows":3,"sql":"select 1"}' ../said || exit 1
	grep '^request by data.key  *1 ' ../said || exit 1
	# The same program with the library in it.
	cargo run --features posixtrace/static || exit 1
	! ldd "$CARGO_TARGET_DIR/debug/hello" | grep posixtrace
)

# Those for tracing.
first_span() (
	mkdir "$dir/tracing" && cd "$dir/tracing" && cargo new hello && cd hello || exit 1
	CARGO_TARGET_DIR=$target-first
	export CARGO_TARGET_DIR
	block '^Below .*Cargo.toml' | sed "s|/usr/share/posixtrace/|$work/|" >>Cargo.toml
	block '^In .src.main.rs' >src/main.rs
	ptrace-run -o ../run.log -- cargo run && ptrace-dump --format=json ../run.log >../said || exit 1
	grep '"event":"hello::request.begin"' ../said || exit 1
	grep '"level":"INFO","message":"answered","rows":3}' ../said
)

# What pkg-config lacks is said.
no_library() (
	PKG_CONFIG_PATH=$dir/none
	export PKG_CONFIG_PATH
	cd "$work/bindings/rust/posixtrace-sys" && CARGO_TARGET_DIR=$dir/none || exit 1
	export CARGO_TARGET_DIR
	! cargo build 2>"$dir/said" || exit 1
	grep "posixtrace-sys: libposixtrace is not found; install libposixtrace-dev, or name" "$dir/said" || exit 1
	grep "Package posixtrace was not found" "$dir/said" || exit 1
	! PKG_CONFIG=none cargo build 2>"$dir/said" || exit 1
	grep "posixtrace-sys: none, which finds libposixtrace: .*; install pkg-config" "$dir/said"
)

# The examples in the comments.
comments() {
	(cd "$work/bindings/rust" && RUSTFLAGS='-D warnings' cargo test --doc --target-dir "$target")
}

# The crates have the version of the library.
version() {
	expected=$(sed -n 's/^#define POSIXTRACE_VERSION "\(.*\)"$/\1/p' "$PTRC_SOURCE/include/posixtrace.h")
	test -n "$expected" || return 1
	for it in "$PTRC_SOURCE"/bindings/rust/*/Cargo.toml; do
		grep -Fx "version = \"$expected\"" "$it" || { echo "$it"; return 1; }
		! grep 'path = ' "$it" | grep -v "version = \"$expected\"" || return 1
	done
}

result 'they compile without a warning' compiles
test -x "$cases" || { echo "1..$number"; exit 1; }
result 'fields of all types, and their layouts' fields
result 'texts that are no UTF-8, have null bytes, or do not fit their field' texts
result 'data of any size' large
result 'several threads' threads
result 'a name with another layout' conflict
result 'spans: keys, a panic, threads, asynchronous functions' spans
result 'a process that is not traced' "$cases" untraced
result 'a process that is traced later' late
result 'a forked child goes on' forks
result 'a child that is another program' child
result 'a process that dies in a span' killed
result 'no memory is allocated' memory
result 'the layer: events, spans, fields' layer
result 'the layer: spans of one name' layer_numbers
result 'the layer: a filter' layer_filter
result 'the layer: a forked child' layer_forks
result 'the layer: two subscribers' layer_subscribers
result 'mistakes are errors of the compiler' mistakes
result 'the lines of the README, and the static library' first_event
result 'the lines of the README for tracing' first_span
result 'a library that is not there' no_library
result 'the examples in the comments' comments
result 'their version is that of the library' version
echo "1..$number"
exit "$status"
