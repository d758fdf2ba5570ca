#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# A program with the thread sanitizer, whose library has none, gets no report from the library. TAP.

# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"

# Two threads, of which the second does what the first has done, and nothing that the sanitizer knows says so.
cat >"$dir/two.c" <<'END'
#include <posixtrace.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMES = 50 };

static _Atomic int turn;

static void open_all(void)
{
	char name[TRACE_EVENT_NAME_MAX];
	trace_event_id_t id;

	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "name.%d", i);
		if (i % 2 ? posix_trace_eventid_open(name, &id)
			  : posixtrace_eventid_open_layout(name, "u32 number, u32 other", &id))
			exit(1);
		posix_trace_event(id, "12345678", 8);
	}
}

static void *first(void *arg)
{
	open_all();
	atomic_store_explicit(&turn, 1, memory_order_relaxed);
	return arg;
}

static void *second(void *arg)
{
	while (!atomic_load_explicit(&turn, memory_order_relaxed))
		;
	open_all();
	return arg;
}

int main(void)
{
	pthread_t threads[2];
	trace_id_t trace;

	if (posix_trace_create(0, NULL, &trace) || posix_trace_start(trace) ||
	    pthread_create(&threads[0], NULL, first, NULL) ||
	    pthread_create(&threads[1], NULL, second, NULL))
		return 1;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return posix_trace_shutdown(trace);
}
END
# Two threads record into a stream that overwrites, while another thread reads it.
cat >"$dir/reads.c" <<'END'
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

enum { THREADS = 2, EVENTS = 5000 };

static trace_event_id_t id;
static _Atomic int ended;

static void *record(void *arg)
{
	char data[300];

	for (int i = 0; i < EVENTS; i++) {
		memset(data, i, sizeof(data));
		posix_trace_event(id, data, (size_t)i % sizeof(data));
	}
	atomic_fetch_add_explicit(&ended, 1, memory_order_relaxed);
	return arg;
}

int main(void)
{
	struct posix_trace_event_info info;
	pthread_t threads[THREADS];
	int unavailable = 0;
	trace_attr_t attr;
	trace_id_t trace;
	char data[300];
	size_t size;

	if (posix_trace_attr_init(&attr) || posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP) ||
	    posix_trace_create(0, &attr, &trace) || posix_trace_eventid_open("read", &id) ||
	    posix_trace_start(trace))
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, record, NULL))
			return 1;
	while (!unavailable || atomic_load_explicit(&ended, memory_order_relaxed) < THREADS)
		if (posix_trace_trygetnext_event(trace, &info, data, sizeof(data), &size, &unavailable))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return posix_trace_shutdown(trace);
}
END
echo 'int main(void) { return 0; }' >"$dir/none.c"

has_sanitizer() {
	# shellcheck disable=SC2086 # CC may be a command with arguments
	$CC -fsanitize=thread -o "$dir/none" "$dir/none.c" >/dev/null 2>&1 && "$dir/none" 2>/dev/null
}

# no_report PROGRAM
no_report() {
	has_sanitizer || { echo 'no thread sanitizer'; return 77; }
	# shellcheck disable=SC2086
	$CC -fsanitize=thread -I"$PTRC_SOURCE/include" -o "$dir/$1" "$dir/$1.c" \
		"$PTRC_BUILD/lib/.libs/libposixtrace.a" -lpthread || return 1
	TSAN_OPTIONS=exitcode=66 "$dir/$1" 2>"$dir/report" && ! [ -s "$dir/report" ] ||
		{ cat "$dir/report"; return 1; }
}

result 'threads that open the same names' no_report two
result 'threads that record, and one that reads' no_report reads
echo "1..$number"
exit "$status"
