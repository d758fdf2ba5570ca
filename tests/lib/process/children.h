/* SPDX-License-Identifier: MIT */
/* Streams that children inherit or not, and the events of the program prog_emit. */
#ifndef TESTS_PROCESS_CHILDREN_H
#define TESTS_PROCESS_CHILDREN_H

#include "tests/support/logs.h"

#define KIB ((size_t)1024)

__attribute__((unused)) static char *no_environment[] = {NULL};

__attribute__((unused)) static const int inherit_policies[] = {POSIX_TRACE_CLOSE_FOR_CHILD,
							       POSIX_TRACE_INHERITED};

static trace_attr_t inherit_attr(int policy)
{
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 1024 * KIB, 0);
	CHECK_OK(posix_trace_attr_setinherited(&attr, policy));
	return attr;
}

static trace_id_t create_inherited(pid_t pid, int policy)
{
	trace_attr_t attr = inherit_attr(policy);
	return ts_create_running(pid, &attr);
}

/* A stream of this process without a log, and one with an APPEND log in a new file; both run. */
struct two_streams {
	trace_id_t plain, logged;
	int fd;
};

__attribute__((unused)) static struct two_streams start_two(int policy)
{
	trace_attr_t attr = inherit_attr(policy);
	struct two_streams two = {.fd = ts_temp_file()};

	CHECK_OK(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND));
	two.plain = ts_create_running(0, &attr);
	two.logged = ts_create_log(0, &attr, two.fd);
	ts_start(two.logged);
	return two;
}

/* The events of prog_emit: of this name, numbered 0 to count - 1, all of one process. Its
 * pid; 0 if there is no such event and none is wanted. */
__attribute__((unused)) static pid_t expect_emitted(trace_id_t trid, const struct ts_events *events,
						    const char *name, uint32_t count)
{
	char got[TRACE_EVENT_NAME_MAX + 1];
	uint32_t due = 0;
	pid_t pid = 0;
	for (size_t i = 0; i < events->count; i++) {
		const struct posix_trace_event_info *info = &events->at[i].info;
		CHECK_OK(posix_trace_eventid_get_name(trid, info->posix_event_id, got));
		if (strcmp(got, name) != 0)
			continue;
		CHECK_EQ(ts_number(&events->at[i]), due++);
		if (!pid)
			pid = info->posix_pid;
		CHECK_EQ(info->posix_pid, pid);
	}
	CHECK_EQ(due, count);
	return pid;
}

#endif
