/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/base/thread_life.h"

#include <fcntl.h>

/* The unit of start times is 10 ms (USER_HZ). A thread claims something after its start;
 * the slack is for rounding. */
#define TICK_MS 10
#define SLACK_TICKS 2
/* The start time in /proc/TID/stat, counted from 0 behind the bracket that closes the
 * name. */
#define START_FIELD 20

static long read_stat(int tid, char *text, unsigned long size)
{
	char path[32] = "/proc/", digits[12];
	int count = 0, at = 6;
	long fd, got;

	for (; tid > 0; tid /= 10)
		digits[count++] = (char)('0' + tid % 10);
	while (count > 0)
		path[at++] = digits[--count];
	for (const char *tail = "/stat"; *tail; tail++)
		path[at++] = *tail;
	fd = ptrc_sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fd;
	got = ptrc_sys(SYS_read, fd, text, size);
	ptrc_sys(SYS_close, fd);
	return got;
}

bool ptrc_thread_has_ended(int tid, uint64_t claim_ms)
{
	char text[512];
	uint64_t start_ticks = 0;
	long size, at;
	int field;

	if (ptrc_thread_is_gone(tid))
		return true;
	size = read_stat(tid, text, sizeof(text));
	for (at = size - 1; at >= 0 && text[at] != ')'; at--)
		;
	for (field = 0, at++; at > 0 && at < size && field < START_FIELD; at++)
		field += text[at] == ' ';
	for (; at > 0 && at < size && text[at] >= '0' && text[at] <= '9'; at++)
		start_ticks = start_ticks * 10 + (uint64_t)(text[at] - '0');
	return start_ticks > claim_ms / TICK_MS + SLACK_TICKS;
}
