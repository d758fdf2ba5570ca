#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# What compilers say about <trace.h>. TAP.

include=$PTRC_SOURCE/include
# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"

skip() {
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

# compile FLAG...: the C program on standard input, without a warning
compile() {
	cat >"$dir/a.c"
	# shellcheck disable=SC2086 # CC may be a command with arguments
	$CC -I"$include" -Wall -Wextra -pedantic -Werror -fsyntax-only "$@" "$dir/a.c"
}

standards='c99 c11 c17'
features='-DPLAIN=1 -D_POSIX_C_SOURCE=200112L -D_POSIX_C_SOURCE=200809L'

# All constants, as the preprocessor names them, and all functions.
constants='RUNNING SUSPENDED FULL NOT_FULL OVERRUN NO_OVERRUN FLUSHING NOT_FLUSHING
	NOT_TRUNCATED TRUNCATED_RECORD TRUNCATED_READ LOOP UNTIL_FULL FLUSH APPEND
	CLOSE_FOR_CHILD INHERITED WOPID_EVENTS SYSTEM_EVENTS ALL_EVENTS SET_EVENTSET
	ADD_EVENTSET SUB_EVENTSET START STOP FILTER OVERFLOW RESUME FLUSH_START FLUSH_STOP
	ERROR UNNAMED_USEREVENT UNNAMED_USER_EVENT'
limits='EVENT_NAME_MAX NAME_MAX SYS_MAX USER_EVENT_MAX'

everywhere() {
	for std in $standards; do
		for feature in $features; do
			echo "-std=$std $feature"
			compile "-std=$std" "$feature" <"$1" || return 1
		done
	done
}

cat >"$dir/alone.c" <<'END'
#include <trace.h>
int f(void);
int f(void) { return POSIX_TRACE_RUNNING; }
END
result 'alone in every standard and feature level [HDR-01]' everywhere "$dir/alone.c"

cat >"$dir/types.c" <<'END'
#include <trace.h>
trace_attr_t attrs[2];
trace_id_t ids[2];
trace_event_id_t event_ids[2];
trace_event_set_t sets[2];
struct posix_trace_event_info info;
struct posix_trace_status_info status;
pid_t pid;
size_t size = sizeof(attrs) + sizeof(ids) + sizeof(event_ids) + sizeof(sets);
pthread_t thread;
struct timespec timespec = {1, 2};
END
# An array of this size needs a constant expression of integers.
for c in $constants; do echo "char is_${c}[(int)POSIX_TRACE_$c + 1];"; done >>"$dir/types.c"
result 'types and constants in every feature level [HDR-03 HDR-05 HDR-06 HDR-24]' \
	everywhere "$dir/types.c"

any_order() {
	others='sys/types.h time.h signal.h pthread.h limits.h unistd.h'
	for other in $others; do
		for feature in $features; do
			printf '#include <%s>\n#include <trace.h>\n#include <trace.h>\n' "$other" \
				>"$dir/order.c"
			printf '#include <%s>\nint i = _POSIX_TRACE == 200809L;\n' "$other" \
				>>"$dir/order.c"
			compile -std=c99 "$feature" <"$dir/order.c" || return 1
			{
				echo '#include <trace.h>'
				for o in $others; do echo "#include <$o>"; done
				echo '#include <trace.h>'
				echo 'int i = 0;'
			} >"$dir/order.c"
			compile -std=c11 "$feature" <"$dir/order.c" || return 1
		done
		others="${others#* } ${others%% *}"
	done
}
result 'in any order with other headers and repeatedly [HDR-02]' any_order

system_alone() {
	printf '#include <sys/types.h>\ntypedef int trace_attr_t, trace_id_t;\n%s\n' \
		'typedef int trace_event_id_t, trace_event_set_t; trace_id_t i;' | compile -std=c11
}
result 'the headers of the C library are left alone [HDR-04]' system_alone

{
	echo '#include <trace.h>'
	for c in $constants; do
		printf '#ifndef POSIX_TRACE_%s\n#error "%s is no macro"\n#endif\n' "$c" "$c"
	done
	echo 'int i = 0;'
} >"$dir/ifdef.c"
result 'every constant is a macro [HDR-23]' everywhere "$dir/ifdef.c"

{
	echo '#include <trace.h>'
	for l in $limits; do
		printf '#if !(TRACE_%s >= _POSIX_TRACE_%s)\n#error "%s"\n#endif\n' "$l" "$l" "$l"
	done
	for o in '' _EVENT_FILTER _LOG _INHERIT; do
		printf '#if _POSIX_TRACE%s != 200809L\n#error "%s"\n#endif\n' "$o" "$o"
	done
	echo 'int i = 0;'
} >"$dir/limits.c"
result 'limits and options are preprocessor integers [HDR-25 HDR-26 HDR-27 HDR-28]' \
	everywhere "$dir/limits.c"

{
	for l in $limits; do
		printf '#define TRACE_%s 7777\n#define _POSIX_TRACE_%s 7\n' "$l" "$l"
	done
	echo '#include <trace.h>'
	for l in $limits; do
		printf '#if TRACE_%s != 7777 || _POSIX_TRACE_%s != 7\n#error "%s"\n#endif\n' \
			"$l" "$l" "$l"
	done
	echo 'int i = 0;'
} >"$dir/guarded.c"
result 'limits given by the C library are kept [HDR-27]' everywhere "$dir/guarded.c"

# Each member that POSIXTRACE_TYPE cannot record: an error that names it, and no other.
members() {
	while IFS='|' read -r member message; do
		{
			echo '#include <posixtrace.h>'
			echo "struct s { int i; $member; };"
			echo 'POSIXTRACE_TYPE(t, "t", struct s, i, it);'
		} >"$dir/member.c"
		if compile -std=c11 <"$dir/member.c" >"$dir/said" 2>&1 ||
			[ "$(grep -c 'error:' "$dir/said")" -ne 1 ] || ! grep -q "$message" "$dir/said"; then
			echo "with: $member"
			cat "$dir/said"
			return 1
		fi
	done <<'END'
struct { int i; } it|the type of the member it cannot be recorded
const char *it|the type of the member it cannot be recorded
char *it|the pointer it means nothing to readers of the event
int it[2][2]|the type of the member it cannot be recorded
long double it|the type of the member it cannot be recorded
END
}
result 'a member of a structure that cannot be recorded is named' members

# Parameter names of the standard's pages and other likely ones.
unreserved='attr set event how data trid what name info status fd policy size type id
	num_bytes data_len unavailable abs_timeout event_id event_name data_ptr ismember
	restrict_ resolution createtime genversion tracename statusinfo file_desc pid
	inheritancepolicy logpolicy streampolicy logsize maxdatasize eventsize streamsize
	event1 event2 magic bits opaque word words time_ result'
clobbered() {
	flags=
	for n in $unreserved; do
		# These are names of the C library itself.
		case $n in pid | restrict_) continue ;; esac
		flags="$flags -D$n=@"
	done
	printf '#include <trace.h>\n' >"$dir/clobber.c"
	echo 'int i = 0;' >>"$dir/clobber.c"
	for std in $standards; do
		# shellcheck disable=SC2086 # a list of flags
		compile "-std=$std" $flags <"$dir/clobber.c" || return 1
	done
}
result "macros of the program's own do no harm [HDR-31]" clobbered

# Identifiers that stand in <trace.h> itself: words of what is left after preprocessing, from
# lines of that file, and macros defined there.
own_names() {
	echo '#include <trace.h>' >"$dir/names.c"
	# shellcheck disable=SC2086 # CC may be a command with arguments
	$CC -std=c11 -I"$include" -E -dD "$dir/names.c" >"$dir/names.i" || return 1
	awk '
	/^# [0-9]+ "/ { is_own = /\/include\/trace\.h"/; next }
	!is_own { next }
	/^#define / { sub(/\(.*/, "", $2); print $2; next }
	/^#/ { next }
	{ gsub(/[^A-Za-z0-9_]+/, " "); for (i = 1; i <= NF; i++) if ($i !~ /^[0-9]/) print $i }
	' "$dir/names.i" | sort -u >"$dir/names"
	grep -q posix_trace_create "$dir/names" || return 1
	bad=$(grep -vE '^(_?posix_trace_|_?POSIX_TRACE|_?TRACE_|trace_.*_t$|posix_|_[_A-Z])' \
		"$dir/names" | grep -vxE \
		'struct|typedef|unsigned|long|int|char|void|const|restrict|size_t|pid_t|pthread_t|timespec')
	[ -z "$bad" ] && return 0
	echo "$bad"
	return 1
}
result 'its names are reserved or of the prefixes allowed [HDR-30]' own_names

cat >"$dir/others.c" <<'END'
#include <trace.h>
static int access = 1, pause = 2, dup = 3, link = 4, alarm = 5, sync = 6;
int f(void);
int f(void) { return access + pause + dup + link + alarm + sync + (_POSIX_TRACE > 0); }
#include <unistd.h>
#if _POSIX_TRACE < 0 || _POSIX_TRACE_LOG < 0
#error "the option macros"
#endif
END
sed 's/^static.*//; s/access.*sync + //' "$dir/others.c" >"$dir/options.c"
sed '/^#include <unistd/,$d' "$dir/others.c" >"$dir/free.c"
result 'names of <unistd.h> are free [HDR-30]' everywhere "$dir/free.c"
result 'the option macros stay when <unistd.h> follows [HDR-28]' everywhere "$dir/options.c"

if [ -n "$CXX" ]; then
	cxx() {
		for std in c++98 c++11 c++17 c++20; do
			for first in trace.h posixtrace.h posixtrace-control.h posixtrace-log.h; do
				printf '#include <%s>\n#include <trace.h>\ntrace_attr_t a;\n' "$first" \
					>"$dir/a.cc"
				echo 'timespec t; pthread_t p; pid_t i; size_t s;' >>"$dir/a.cc"
				echo "-std=$std <$first>"
				# shellcheck disable=SC2086 # CXX may be a command with arguments
				$CXX -std=$std -I"$include" -Wall -Wextra -pedantic -Werror \
					-fsyntax-only "$dir/a.cc" || return 1
			done
		done
	}
	result 'in every C++ standard [HDR-29]' cxx
	# The functions are those of test_functions.c.
	link() {
		{
			echo '#include <trace.h>'
			echo 'typedef void function(); extern function *const functions[]; function *const functions[] = {'
			sed -n 's/^DECLARED([a-z]*, \([a-z_]*\),.*/reinterpret_cast<function *>(posix_trace_\1),/p' \
				"$PTRC_SOURCE/tests/lib/api/test_functions.c"
			echo '0}; int main() { return sizeof(functions) / sizeof(functions[0]) != 51; }'
		} >"$dir/all.cc"
		for std in c++98 c++17; do
			# shellcheck disable=SC2086 # lists of words
			$CXX -std=$std -I"$include" -Wall -Wextra -pedantic -Werror \
				$PTRC_SAN_CFLAGS -o "$dir/a.out" "$dir/all.cc" \
				"$PTRC_BUILD/lib/.libs/libposixtrace.a" -pthread || return 1
			"$dir/a.out" || return 1
		done
	}
	result 'a C++ program with every function links [HDR-29]' link
else
	skip 'in every C++ standard [HDR-29]' 'no C++ compiler'
	skip 'a C++ program with every function links [HDR-29]' 'no C++ compiler'
fi

extension() {
	for header in '.h:struct posixtrace_type' '-control.h:struct posixtrace_orphan' \
		'-log.h:struct posixtrace_block'; do
		printf '#include <posixtrace%s>\n#include <trace.h>\n%s x;\n' "${header%%:*}" "${header#*:}" |
			compile -std=c99 || return 1
	done
	printf '#include <trace.h>\nint posixtrace_version, posixtrace_attach;\n' | compile -std=c99
}
result 'extensions are in headers of their own only [HDR-30]' extension

echo "1..$number"
exit $status
