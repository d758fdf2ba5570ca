/* SPDX-License-Identifier: MIT */
/*
 * Every function that takes a stream, with good arguments otherwise, and the kinds of streams that
 * it accepts.
 */
#ifndef TESTS_API_CALLS_H
#define TESTS_API_CALLS_H

#include "tests/support/support.h"

#define UNNAMED POSIX_TRACE_UNNAMED_USEREVENT

struct results {
	struct posix_trace_event_info event;
	struct posix_trace_status_info status;
	trace_event_set_t set;
	trace_attr_t attr;
	trace_event_id_t id;
	char name[TRACE_EVENT_NAME_MAX + 1];
	unsigned char data[1024];
};

static _Thread_local struct results results;
static _Thread_local int unavailable;
static _Thread_local size_t data_len;

static int call_get_attr(trace_id_t trid)
{
	return posix_trace_get_attr(trid, &results.attr);
}
static int call_get_status(trace_id_t trid)
{
	return posix_trace_get_status(trid, &results.status);
}
static int call_get_filter(trace_id_t trid)
{
	return posix_trace_get_filter(trid, &results.set);
}
static int call_set_filter(trace_id_t trid)
{
	trace_event_set_t set = ts_set(POSIX_TRACE_ERROR, 0U);
	return posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
}
static int call_get_name(trace_id_t trid)
{
	return posix_trace_eventid_get_name(trid, POSIX_TRACE_STOP, results.name);
}
static int call_trid_eventid_open(trace_id_t trid)
{
	return posix_trace_trid_eventid_open(trid, "errors", &results.id);
}
static int call_list_getnext(trace_id_t trid)
{
	/* Both are results; `unavailable' is that of the reads. */
	int is_last;
	return posix_trace_eventtypelist_getnext_id(trid, &results.id, &is_last);
}
static int call_getnext(trace_id_t trid)
{
	return posix_trace_getnext_event(trid, &results.event, results.data, sizeof(results.data),
					 &data_len, &unavailable);
}
static int call_timedgetnext(trace_id_t trid)
{
	static const struct timespec past;
	return posix_trace_timedgetnext_event(trid, &results.event, results.data,
					      sizeof(results.data), &data_len, &unavailable, &past);
}
static int call_trygetnext(trace_id_t trid)
{
	return posix_trace_trygetnext_event(trid, &results.event, results.data,
					    sizeof(results.data), &data_len, &unavailable);
}

enum { PLAIN = 1, LOGGED = 2, ACTIVE = PLAIN | LOGGED, RECORDED = 4, ALL = 7 };

static const struct {
	const char *name;
	int (*call)(trace_id_t);
	int accepts;
	bool is_getnext;
} functions[] = {
	{"start", posix_trace_start, ACTIVE, false},
	{"getnext_event", call_getnext, ALL, true},
	{"stop", posix_trace_stop, ACTIVE, false},
	{"timedgetnext_event", call_timedgetnext, ALL, true},
	{"trygetnext_event", call_trygetnext, ACTIVE, true},
	{"flush", posix_trace_flush, LOGGED, false},
	{"get_filter", call_get_filter, ACTIVE, false},
	{"set_filter", call_set_filter, ACTIVE, false},
	{"trid_eventid_open", call_trid_eventid_open, ACTIVE, false},
	{"get_attr", call_get_attr, ALL, false},
	{"get_status", call_get_status, ALL, false},
	{"eventid_get_name", call_get_name, ALL, false},
	{"eventtypelist_getnext_id", call_list_getnext, ALL, false},
	{"eventtypelist_rewind", posix_trace_eventtypelist_rewind, ALL, false},
	{"rewind", posix_trace_rewind, RECORDED, false},
	{"close", posix_trace_close, RECORDED, false},
	{"clear", posix_trace_clear, ACTIVE, false},
	{"shutdown", posix_trace_shutdown, ACTIVE, false},
};
#define FUNCTIONS (sizeof(functions) / sizeof(*functions))

/* Function i on trid gives EINVAL and nothing else. Result objects are filled with a pattern before
 * the call and looked at after it. */
static void expect_refusal(size_t i, trace_id_t trid)
{
	struct results before;

	memset(&results, 0xc3, sizeof(results));
	memcpy(&before, &results, sizeof(before));
	unavailable = 0;
	data_len = 99;
	int err = functions[i].call(trid);
	if (err != EINVAL)
		harness_fail("posix_trace_%s(%#lx): %d instead of EINVAL", functions[i].name, trid,
			     err);
	if (memcmp(&results, &before, sizeof(before)) != 0)
		harness_fail("posix_trace_%s(%#lx) changed an object", functions[i].name, trid);
	if (functions[i].is_getnext) {
		CHECK_NE(unavailable, 0);
		CHECK_EQ(data_len, 0);
	}
}

static void expect_refusals(trace_id_t trid)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		expect_refusal(i, trid);
}

/* Calls all functions. Those that accept a stream of this kind succeed; the last one ends it. There is
 * always an event, so that none waits. */
static inline void use_all(trace_id_t trid, int kind)
{
	for (size_t i = 0; i < FUNCTIONS; i++) {
		if (!(functions[i].accepts & kind)) {
			expect_refusal(i, trid);
			continue;
		}
		if (kind & ACTIVE)
			ts_emit(UNNAMED, 1);
		int err = functions[i].call(trid);
		if (err)
			harness_fail("posix_trace_%s on kind %d: %s", functions[i].name, kind,
				     strerror(err));
		if (functions[i].call == posix_trace_stop || functions[i].call == posix_trace_clear)
			CHECK_OK(posix_trace_start(trid));
	}
	expect_refusals(trid);
}

#endif
