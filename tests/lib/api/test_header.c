/* SPDX-License-Identifier: MIT */
/* What <trace.h> defines, seen by a program. What a compiler must say is in header.sh. */
#include <trace.h>

#include <posixtrace.h>
#include <stdlib.h>

#include "tests/support/harness.h"

#define IS_TYPE(expression, type) _Generic((expression), type : true, default : false)

TEST(event_info_has_its_members_and_one_more, "HDR-07 HDR-09")
{
	struct posix_trace_event_info info;

	CHECK(IS_TYPE(info.posix_event_id, trace_event_id_t));
	CHECK(IS_TYPE(info.posix_pid, pid_t));
	CHECK(IS_TYPE(info.posix_prog_address, void *));
	CHECK(IS_TYPE(info.posix_truncation_status, int));
	CHECK(IS_TYPE(info.posix_timestamp, struct timespec));
	CHECK(IS_TYPE(info.posix_thread_id, pthread_t));
	/* In what would be padding. */
	CHECK(IS_TYPE(info.posix_tid, pid_t));
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

/* Whether no two of the values are equal. */
static bool differ(const int *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (values[i] == values[j])
				return false;
	return true;
}

#define DIFFER(...)                                                                         \
	do {                                                                                \
		const int values[] = {__VA_ARGS__};                                         \
		if (!differ(values, sizeof(values) / sizeof(values[0])))                    \
			harness_fail("%s:%d: equal: %s", __FILE__, __LINE__, #__VA_ARGS__); \
	} while (0)

TEST(values_of_one_kind_differ, "HDR-10 HDR-11 HDR-12 HDR-13 HDR-14 HDR-15 HDR-16 HDR-17 HDR-18")
{
	DIFFER(POSIX_TRACE_RUNNING, POSIX_TRACE_SUSPENDED);
	DIFFER(POSIX_TRACE_FULL, POSIX_TRACE_NOT_FULL);
	DIFFER(POSIX_TRACE_OVERRUN, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ(POSIX_TRACE_NO_OVERRUN, 0);
	DIFFER(POSIX_TRACE_FLUSHING, POSIX_TRACE_NOT_FLUSHING);
	DIFFER(POSIX_TRACE_NOT_TRUNCATED, POSIX_TRACE_TRUNCATED_RECORD, POSIX_TRACE_TRUNCATED_READ);
	DIFFER(POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND);
	DIFFER(POSIX_TRACE_CLOSE_FOR_CHILD, POSIX_TRACE_INHERITED);
	DIFFER(POSIX_TRACE_WOPID_EVENTS, POSIX_TRACE_SYSTEM_EVENTS, POSIX_TRACE_ALL_EVENTS);
	DIFFER(POSIX_TRACE_SET_EVENTSET, POSIX_TRACE_ADD_EVENTSET, POSIX_TRACE_SUB_EVENTSET);
}

TEST(predefined_events_differ, "HDR-19 HDR-20 HDR-21 HDR-22")
{
	DIFFER(POSIX_TRACE_START, POSIX_TRACE_STOP, POSIX_TRACE_FILTER, POSIX_TRACE_OVERFLOW,
	       POSIX_TRACE_RESUME, POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP,
	       POSIX_TRACE_ERROR, POSIX_TRACE_UNNAMED_USEREVENT);
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
}

/* header.sh has the option macros. */
TEST(sysconf_of_the_c_library_knows_no_tracing, "HDR-28")
{
	CHECK_EQ(sysconf(_SC_TRACE), -1);
}
