/* SPDX-License-Identifier: MIT */
/* Streams that children inherit or not, and the events of the program prog_emit. */
#ifndef TESTS_PROCESS_CHILDREN_H
#define TESTS_PROCESS_CHILDREN_H

#include "tests/support/logs.h"

#define KIB ((size_t)1024)

__attribute__((unused)) static char *no_environment[] = {NULL};

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
