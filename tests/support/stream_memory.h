/* SPDX-License-Identifier: MIT */
/*
 * The shared memory of a stream, for tests that look into it or change it.
 */
#ifndef TESTS_STREAM_MEMORY_H
#define TESTS_STREAM_MEMORY_H

#include "lib/stream/stream.h"
#include "tests/support/harness.h"

/* Finds the header of the stream that this process has mapped; there must be only one. */
static inline struct ptrc_stream_header *find_stream(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	struct ptrc_stream_header *found = NULL;
	char line[512];

	CHECK(maps);
	while (!found && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;
		char flags[5];

		if (sscanf(line, "%lx-%lx %4s", &from, &to, flags) != 3 ||
		    strcmp(flags, "rw-s") != 0 || !strstr(line, "/dev/shm/") ||
		    to - from < PTRC_STREAM_CLOCK_OFFSET)
			continue;
		if (((struct ptrc_stream_header *)from)->magic == PTRC_STREAM_MAGIC)
			found = (struct ptrc_stream_header *)from;
	}
	fclose(maps);
	CHECK(found);
	return found;
}

#endif
