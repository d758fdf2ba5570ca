/* SPDX-License-Identifier: MIT */
/*
 * Writes a log whose pairs of events take times of a known distribution, which no machine and no load
 * changes:
 *
 *     prog_durations LOG [PAIR COUNT LEAST GREATEST TAIL SEED]...
 *
 * COUNT pairs PAIR.begin, PAIR.end that take from LEAST to GREATEST nanoseconds, all of them equally
 * often, and one of fifty TAIL times as long; SEED is that of the numbers.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <posixtrace.h>

static uint64_t random_state;

static uint64_t random_below(uint64_t end)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (random_state >> 33) % end;
}

static void check(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "prog_durations: %s: %s\n", what, strerror(error));
	exit(EXIT_FAILURE);
}

static void add(struct posixtrace_log *log, trace_event_id_t type, int64_t ns)
{
	struct posixtrace_event e = {.pt_data = ""};

	e.pt_info.posix_event_id = type;
	e.pt_info.posix_pid = 1;
	e.pt_info.posix_truncation_status = POSIX_TRACE_NOT_TRUNCATED;
	e.pt_info.posix_timestamp.tv_sec = ns / 1000000000;
	e.pt_info.posix_timestamp.tv_nsec = ns % 1000000000;
	check(posixtrace_log_add(log, &e), "posixtrace_log_add");
}

/* Adds pairs from a time on; returns the time behind the last one. */
static int64_t add_pairs(struct posixtrace_log *log, char **arguments, int64_t ns)
{
	uint64_t least = strtoull(arguments[2], NULL, 10);
	uint64_t greatest = strtoull(arguments[3], NULL, 10);
	uint64_t tail = strtoull(arguments[4], NULL, 10);
	trace_event_id_t begin, end;
	char name[TRACE_EVENT_NAME_MAX];

	random_state = strtoull(arguments[5], NULL, 10);
	snprintf(name, sizeof(name), "%s.begin", arguments[0]);
	check(posixtrace_log_type(log, name, &begin), name);
	snprintf(name, sizeof(name), "%s.end", arguments[0]);
	check(posixtrace_log_type(log, name, &end), name);
	for (unsigned long i = strtoul(arguments[1], NULL, 10); i; i--) {
		uint64_t took = least + random_below(greatest - least + 1);

		if (!random_below(50))
			took *= tail;
		add(log, begin, ns);
		add(log, end, ns + (int64_t)took);
		ns += (int64_t)took + 1000000;
	}
	return ns;
}

int main(int argc, char **argv)
{
	struct timespec created = {.tv_sec = 1700000000};
	struct posixtrace_counts lost = {.pt_size = sizeof(lost)};
	int64_t ns = (int64_t)created.tv_sec * 1000000000;
	struct posixtrace_log *log;
	trace_attr_t attr;
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	if (fd < 0) {
		fprintf(stderr, "prog_durations: no log\n");
		return EXIT_FAILURE;
	}
	check(posix_trace_attr_init(&attr), "posix_trace_attr_init");
	check(posixtrace_log_create(fd, &attr, &created, &log), argv[1]);
	for (int i = 2; i + 6 <= argc; i += 6)
		ns = add_pairs(log, argv + i, ns);
	check(posixtrace_log_close(log, &lost), argv[1]);
	close(fd);
	return EXIT_SUCCESS;
}
