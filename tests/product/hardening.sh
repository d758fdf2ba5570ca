#!/bin/sh
# SPDX-License-Identifier: MIT
# What makes an error in the code harder to exploit: in the commands and the library as configure
# says, in the keeper always, and never on the event path. TAP.
. "$PTRC_SOURCE/tests/support/tap.sh"
cd "$PTRC_BUILD" || exit 99

# has NAME: did configure find flags of that name?
has() {
	grep -q "^HARDEN_$1 = ." Makefile || {
		echo "not in this build"
		return 1
	}
}

# program FILE: the program itself, where libtool has put a script in its place
program() {
	directory=${1%/*}
	if [ -e "$directory/.libs/${1##*/}" ]; then
		echo "$directory/.libs/${1##*/}"
	else
		echo "$1"
	fi
}

relocations_are_read_only() {
	has LDFLAGS || return 77
	readelf -dW "$(program src/ptrace-dump)" | grep -q BIND_NOW || return 1
	readelf -lW "$(program src/ptrace-dump)" | grep -q GNU_RELRO
}

stacks_are_protected() {
	has CFLAGS || return 77
	nm "$(program src/ptrace-dump)" | grep -q __stack_chk_fail
}

buffers_are_checked() {
	has CPPFLAGS || return 77
	nm "$(program src/ptrace-dump)" | grep -q _chk@
}

# Where the thread's canary is, on x86-64.
event_path_is_not_slower() {
	[ "$(uname -m)" = x86_64 ] || return 77
	for function in posix_trace_event ptrc_event_each; do
		objdump -d --disassemble=$function "$(program tests/support/traced)" >"$dir/code"
		grep -q "<$function>:" "$dir/code" || return 1
		grep '%fs:0x28' "$dir/code" && return 1
	done
	return 0
}

keeper_writes_no_code() {
	readelf -lW lib/keeper/program >"$dir/segments"
	grep -q LOAD "$dir/segments" || return 1
	! grep -E ' (RWE|RW E) ' "$dir/segments" && ! grep -E 'GNU_STACK.* RWE' "$dir/segments"
}

# The section that holds its constants is in a segment that is only read.
keeper_executes_no_constants() {
	readelf -lW lib/keeper/program | awk '
		/LOAD/ { flags[count++] = $7 $8 }
		/^ +[0-9]+ .*\.rodata/ { is_there = 1; if (flags[$1 + 0] ~ /E/) exit 1 }
		END { exit !is_there }'
}

echo 1..6
result 'relocations of a command are read-only' relocations_are_read_only
result 'stacks of a command are protected' stacks_are_protected
result 'calls that fill buffers are checked' buffers_are_checked
result 'the event path has no canary' event_path_is_not_slower
result 'no segment of the keeper is writable and executable' keeper_writes_no_code
result 'constants of the keeper are not executable' keeper_executes_no_constants
exit "$status"
