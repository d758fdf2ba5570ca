/* SPDX-License-Identifier: MIT */
/*
 * The traced program of bench/cli and bench/peers, and the program that measures when its events
 * arrive at a reader (lag):
 *
 * 	tick USEC         prints "ready", then records an event every USEC microseconds until
 * 	                  it is killed
 * 	mark COUNT USEC   records COUNT events, one every USEC (0: as fast as it can), each with
 * 	                  its time as data
 * 	kill COUNT        records COUNT events, then kills itself by SIGKILL
 * 	lag KEY           reads lines from standard input; for each line that contains KEY, prints
 * 	                  the microseconds from the time in nanoseconds that follows KEY until the
 * 	                  line was read
 */
#ifndef BENCH_CLI_WORKER_H
#define BENCH_CLI_WORKER_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/measure.h"

typedef void (*bench_emitter)(uint64_t now);

static inline void bench_pause(unsigned long usec)
{
	struct timespec pause = {.tv_sec = (time_t)(usec / 1000000),
				 .tv_nsec = (long)(usec % 1000000) * 1000};

	nanosleep(&pause, NULL);
}

static inline int bench_lag(const char *key)
{
	char line[4096];

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t now = bench_now_ns(CLOCK_MONOTONIC);
		const char *at = strstr(line, key);
		uint64_t then;

		if (!at)
			continue;
		at += strlen(key);
		then = strtoull(at + strcspn(at, "0123456789"), NULL, 10);
		printf("%.1f\n", (double)(int64_t)(now - then) / 1e3);
		fflush(stdout);
	}
	return 0;
}

static inline int bench_cli_worker(int argc, char **argv, bench_emitter emit)
{
	unsigned long count = 0;

	if (argc == 3 && !strcmp(argv[1], "lag"))
		return bench_lag(argv[2]);
	printf("ready\n");
	fflush(stdout);
	if (argc == 3 && !strcmp(argv[1], "tick")) {
		for (;;) {
			emit(bench_now_ns(CLOCK_MONOTONIC));
			bench_pause(strtoul(argv[2], NULL, 10));
		}
	}
	if (argc == 4 && !strcmp(argv[1], "mark")) {
		unsigned long end = strtoul(argv[2], NULL, 10), usec = strtoul(argv[3], NULL, 10);

		for (; count < end; count++) {
			if (usec)
				bench_pause(usec);
			emit(bench_now_ns(CLOCK_MONOTONIC));
		}
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "kill")) {
		for (unsigned long end = strtoul(argv[2], NULL, 10); count < end; count++)
			emit(bench_now_ns(CLOCK_MONOTONIC));
		raise(SIGKILL);
	}
	fputs("cli worker: tick USEC, mark COUNT USEC, kill COUNT or lag KEY\n", stderr);
	return 2;
}

#endif
