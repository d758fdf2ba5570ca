/* SPDX-License-Identifier: MIT */
/* A target: records an event for each number from 1 to COUNT. It does not know whether it is traced. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <trace.h>

/* The data of an event may be anything that its readers know. */
struct square {
	uint32_t of;
	uint32_t is;
};

int main(int argc, char **argv)
{
	uint32_t count = argc > 1 ? (uint32_t)atoi(argv[1]) : 10;
	trace_event_id_t begin, square;

	if (posix_trace_eventid_open("example.begin", &begin) ||
	    posix_trace_eventid_open("example.square", &square)) {
		fputs("target: no event type\n", stderr);
		return 1;
	}
	posix_trace_event(begin, NULL, 0);
	for (uint32_t i = 1; i <= count; i++) {
		struct square s = {i, i * i};

		posix_trace_event(square, &s, sizeof(s));
	}
	return 0;
}
