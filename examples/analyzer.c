/* SPDX-License-Identifier: MIT */
/* An analyzer: shows the events of a log by <trace.h> alone. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <trace.h>

int main(int argc, char **argv)
{
	char name[TRACE_EVENT_NAME_MAX + 1], trace[TRACE_NAME_MAX];
	struct posix_trace_status_info status;
	struct posix_trace_event_info event;
	unsigned char data[4096];
	trace_attr_t attr;
	trace_id_t trid;
	int error, none;
	size_t len;
	int log = argc == 2 ? open(argv[1], O_RDONLY) : -1;

	if (log < 0) {
		fputs("Usage: analyzer LOG\n", stderr);
		return 2;
	}
	error = posix_trace_open(log, &trid);
	if (error) {
		fprintf(stderr, "analyzer: %s: %s\n", argv[1], strerror(error));
		return 1;
	}
	posix_trace_get_attr(trid, &attr);
	posix_trace_attr_getname(&attr, trace);
	printf("trace of %s\n", trace);

	for (;;) {
		error = posix_trace_getnext_event(trid, &event, data, sizeof(data), &len, &none);
		if (error || none)
			break;
		posix_trace_eventid_get_name(trid, event.posix_event_id, name);
		printf("%lld.%09ld %ld %s", (long long)event.posix_timestamp.tv_sec,
		       event.posix_timestamp.tv_nsec, (long)event.posix_pid, name);
		/* Longer data, such as the event sets of system events, is not shown. */
		for (size_t i = 0; i < len && len <= 16; i++)
			printf(" %02x", data[i]);
		putchar('\n');
	}

	posix_trace_get_status(trid, &status);
	if (status.posix_stream_overrun_status == POSIX_TRACE_OVERRUN ||
	    status.posix_log_overrun_status == POSIX_TRACE_OVERRUN)
		fputs("analyzer: the log is incomplete\n", stderr);
	posix_trace_close(trid);
	return error ? 1 : 0;
}
