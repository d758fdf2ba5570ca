/* SPDX-License-Identifier: MIT */
/* What <trace.h> defines, seen by a program. What a compiler must say is in header.sh. */
#include <trace.h>

/* Before anything else is included: only <trace.h> can have brought these. */
static pid_t only_pid;
static size_t only_size;
static pthread_t only_thread;
static struct timespec only_timespec;

#include <posixtrace.h>
#include <stdlib.h>

#include "tests/support/harness.h"

#define IS_TYPE(expression, type) _Generic((expression), type : true, default : false)

TEST(types_are_complete, "HDR-03 HDR-05")
{
	trace_attr_t attrs[2];
	trace_id_t ids[2];
	trace_event_id_t event_ids[2];
	trace_event_set_t sets[2];

	CHECK_EQ(sizeof(attrs), 2 * sizeof(trace_attr_t));
	CHECK_EQ(sizeof(ids), 2 * sizeof(trace_id_t));
	CHECK_EQ(sizeof(event_ids), 2 * sizeof(trace_event_id_t));
	CHECK_EQ(sizeof(sets), 2 * sizeof(trace_event_set_t));
	only_pid = 1;
	only_size = 1;
	only_thread = pthread_self();
	only_timespec.tv_sec = 1;
	only_timespec.tv_nsec = 1;
	CHECK_EQ(only_pid + (pid_t)only_size + only_timespec.tv_sec + only_timespec.tv_nsec, 4);
	CHECK(pthread_equal(only_thread, pthread_self()));
}

TEST(event_info_has_its_members, "HDR-07")
{
	struct posix_trace_event_info info;

	CHECK(IS_TYPE(info.posix_event_id, trace_event_id_t));
	CHECK(IS_TYPE(info.posix_pid, pid_t));
	CHECK(IS_TYPE(info.posix_prog_address, void *));
	CHECK(IS_TYPE(info.posix_truncation_status, int));
	CHECK(IS_TYPE(info.posix_timestamp, struct timespec));
	CHECK(IS_TYPE(info.posix_thread_id, pthread_t));
}

TEST(event_info_has_one_member_more, "HDR-09")
{
	struct posix_trace_event_info info;

	CHECK(IS_TYPE(info.posix_tid, pid_t));
	/* In what would be padding. */
	CHECK_EQ(sizeof(info), sizeof(info.posix_event_id) + sizeof(info.posix_pid) +
				       sizeof(info.posix_prog_address) +
				       sizeof(info.posix_truncation_status) +
				       sizeof(info.posix_tid) + sizeof(info.posix_timestamp) +
				       sizeof(info.posix_thread_id));
}

TEST(status_info_has_its_members, "HDR-08 HDR-09")
{
	struct posix_trace_status_info status;

	CHECK(IS_TYPE(status.posix_stream_status, int));
	CHECK(IS_TYPE(status.posix_stream_full_status, int));
	CHECK(IS_TYPE(status.posix_stream_overrun_status, int));
	CHECK(IS_TYPE(status.posix_stream_flush_status, int));
	CHECK(IS_TYPE(status.posix_stream_flush_error, int));
	CHECK(IS_TYPE(status.posix_log_overrun_status, int));
	CHECK(IS_TYPE(status.posix_log_full_status, int));
	/* No more members than those: any others would come behind and be documented. */
	CHECK_EQ(sizeof(status), 7 * sizeof(int));
}

TEST(values_of_one_kind_differ, "HDR-10 HDR-11 HDR-12 HDR-13 HDR-14 HDR-15 HDR-16 HDR-17 HDR-18")
{
	CHECK_NE(POSIX_TRACE_RUNNING, POSIX_TRACE_SUSPENDED);
	CHECK_NE(POSIX_TRACE_FULL, POSIX_TRACE_NOT_FULL);
	CHECK_NE(POSIX_TRACE_OVERRUN, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ(POSIX_TRACE_NO_OVERRUN, 0);
	CHECK_NE(POSIX_TRACE_FLUSHING, POSIX_TRACE_NOT_FLUSHING);
	CHECK_NE(POSIX_TRACE_NOT_TRUNCATED, POSIX_TRACE_TRUNCATED_RECORD);
	CHECK_NE(POSIX_TRACE_NOT_TRUNCATED, POSIX_TRACE_TRUNCATED_READ);
	CHECK_NE(POSIX_TRACE_TRUNCATED_RECORD, POSIX_TRACE_TRUNCATED_READ);
	CHECK_NE(POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL);
	CHECK_NE(POSIX_TRACE_LOOP, POSIX_TRACE_FLUSH);
	CHECK_NE(POSIX_TRACE_LOOP, POSIX_TRACE_APPEND);
	CHECK_NE(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH);
	CHECK_NE(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND);
	CHECK_NE(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND);
	CHECK_NE(POSIX_TRACE_CLOSE_FOR_CHILD, POSIX_TRACE_INHERITED);
	CHECK_NE(POSIX_TRACE_WOPID_EVENTS, POSIX_TRACE_SYSTEM_EVENTS);
	CHECK_NE(POSIX_TRACE_WOPID_EVENTS, POSIX_TRACE_ALL_EVENTS);
	CHECK_NE(POSIX_TRACE_SYSTEM_EVENTS, POSIX_TRACE_ALL_EVENTS);
	CHECK_NE(POSIX_TRACE_SET_EVENTSET, POSIX_TRACE_ADD_EVENTSET);
	CHECK_NE(POSIX_TRACE_SET_EVENTSET, POSIX_TRACE_SUB_EVENTSET);
	CHECK_NE(POSIX_TRACE_ADD_EVENTSET, POSIX_TRACE_SUB_EVENTSET);
}

/* Two equal ones would be an error: case labels must differ, and be constants. */
static int event_place(trace_event_id_t id)
{
	switch (id) {
	case POSIX_TRACE_START:
		return 1;
	case POSIX_TRACE_STOP:
		return 2;
	case POSIX_TRACE_FILTER:
		return 3;
	case POSIX_TRACE_OVERFLOW:
		return 4;
	case POSIX_TRACE_RESUME:
		return 5;
	case POSIX_TRACE_FLUSH_START:
		return 6;
	case POSIX_TRACE_FLUSH_STOP:
		return 7;
	case POSIX_TRACE_ERROR:
		return 8;
	case POSIX_TRACE_UNNAMED_USEREVENT:
		return 9;
	default:
		return 0;
	}
}

TEST(predefined_events_differ, "HDR-19 HDR-20 HDR-21 HDR-22")
{
	static const trace_event_id_t ids[] = {
		POSIX_TRACE_START,	POSIX_TRACE_STOP,   POSIX_TRACE_FILTER,
		POSIX_TRACE_OVERFLOW,	POSIX_TRACE_RESUME, POSIX_TRACE_FLUSH_START,
		POSIX_TRACE_FLUSH_STOP, POSIX_TRACE_ERROR,  POSIX_TRACE_UNNAMED_USEREVENT,
	};

	for (int i = 0; i < 9; i++)
		CHECK_EQ(event_place(ids[i]), i + 1);
	CHECK(IS_TYPE(POSIX_TRACE_START, trace_event_id_t));
	CHECK(IS_TYPE(POSIX_TRACE_STOP, trace_event_id_t));
	CHECK(IS_TYPE(POSIX_TRACE_FILTER, trace_event_id_t));
	CHECK(IS_TYPE(POSIX_TRACE_OVERFLOW, trace_event_id_t));
	CHECK(IS_TYPE(POSIX_TRACE_RESUME, trace_event_id_t));
	CHECK(IS_TYPE(POSIX_TRACE_FLUSH_START, trace_event_id_t));
	CHECK(IS_TYPE(POSIX_TRACE_FLUSH_STOP, trace_event_id_t));
	CHECK(IS_TYPE(POSIX_TRACE_ERROR, trace_event_id_t));
	CHECK_EQ(POSIX_TRACE_UNNAMED_USER_EVENT, POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK(IS_TYPE(POSIX_TRACE_UNNAMED_USER_EVENT, trace_event_id_t));
}

/* Usable where only integer constant expressions are: array sizes at file scope. */
#define CONSTANT(name) sizeof(char[(name) + 1])
static const size_t constants[] = {
	CONSTANT(POSIX_TRACE_RUNNING),
	CONSTANT(POSIX_TRACE_SUSPENDED),
	CONSTANT(POSIX_TRACE_FULL),
	CONSTANT(POSIX_TRACE_NOT_FULL),
	CONSTANT(POSIX_TRACE_OVERRUN),
	CONSTANT(POSIX_TRACE_NO_OVERRUN),
	CONSTANT(POSIX_TRACE_FLUSHING),
	CONSTANT(POSIX_TRACE_NOT_FLUSHING),
	CONSTANT(POSIX_TRACE_NOT_TRUNCATED),
	CONSTANT(POSIX_TRACE_TRUNCATED_RECORD),
	CONSTANT(POSIX_TRACE_TRUNCATED_READ),
	CONSTANT(POSIX_TRACE_LOOP),
	CONSTANT(POSIX_TRACE_UNTIL_FULL),
	CONSTANT(POSIX_TRACE_FLUSH),
	CONSTANT(POSIX_TRACE_APPEND),
	CONSTANT(POSIX_TRACE_CLOSE_FOR_CHILD),
	CONSTANT(POSIX_TRACE_INHERITED),
	CONSTANT(POSIX_TRACE_WOPID_EVENTS),
	CONSTANT(POSIX_TRACE_SYSTEM_EVENTS),
	CONSTANT(POSIX_TRACE_ALL_EVENTS),
	CONSTANT(POSIX_TRACE_SET_EVENTSET),
	CONSTANT(POSIX_TRACE_ADD_EVENTSET),
	CONSTANT(POSIX_TRACE_SUB_EVENTSET),
	CONSTANT(POSIX_TRACE_START),
	CONSTANT(POSIX_TRACE_STOP),
	CONSTANT(POSIX_TRACE_FILTER),
	CONSTANT(POSIX_TRACE_OVERFLOW),
	CONSTANT(POSIX_TRACE_RESUME),
	CONSTANT(POSIX_TRACE_FLUSH_START),
	CONSTANT(POSIX_TRACE_FLUSH_STOP),
	CONSTANT(POSIX_TRACE_ERROR),
	CONSTANT(POSIX_TRACE_UNNAMED_USEREVENT),
	CONSTANT(POSIX_TRACE_UNNAMED_USER_EVENT),
};

TEST(constants_are_constant_expressions, "HDR-24")
{
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		CHECK_GE(constants[i], 1);
}

TEST(limits_and_minima, "HDR-25 HDR-26")
{
	CHECK_EQ(TRACE_EVENT_NAME_MAX, 255);
	CHECK_EQ(TRACE_NAME_MAX, 255);
	CHECK_EQ(TRACE_SYS_MAX, 64);
	CHECK_EQ(TRACE_USER_EVENT_MAX, 8183);
	CHECK_EQ(_POSIX_TRACE_EVENT_NAME_MAX, 30);
	CHECK_EQ(_POSIX_TRACE_NAME_MAX, 8);
	CHECK_EQ(_POSIX_TRACE_SYS_MAX, 8);
	CHECK_EQ(_POSIX_TRACE_USER_EVENT_MAX, 32);
	CHECK_GE(TRACE_EVENT_NAME_MAX, _POSIX_TRACE_EVENT_NAME_MAX);
	CHECK_GE(TRACE_NAME_MAX, _POSIX_TRACE_NAME_MAX);
	CHECK_GE(TRACE_SYS_MAX, _POSIX_TRACE_SYS_MAX);
	CHECK_GE(TRACE_USER_EVENT_MAX, _POSIX_TRACE_USER_EVENT_MAX);
}

TEST(option_macros_say_supported, "HDR-28")
{
	CHECK_EQ(_POSIX_TRACE, 200809L);
	CHECK_EQ(_POSIX_TRACE_EVENT_FILTER, 200809L);
	CHECK_EQ(_POSIX_TRACE_LOG, 200809L);
	CHECK_EQ(_POSIX_TRACE_INHERIT, 200809L);
	CHECK_EQ(sysconf(_SC_TRACE), -1);
}

TEST(library_and_header_are_of_one_version, "GENVERSION-01")
{
	CHECK_STR_EQ(posixtrace_version(), "posixtrace " POSIXTRACE_VERSION);
}
