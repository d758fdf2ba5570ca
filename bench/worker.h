/* SPDX-License-Identifier: MIT */
/*
 * A worker of bench/event: measures, in a process of its own, a loop that cannot be part of
 * bench/event. The worker writes a line "ready" to standard output. For each byte that it reads
 * from standard input, it measures one round and writes the samples, one a line. It ends at the end
 * of its input.
 */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include <stdio.h>
#include <unistd.h>

#include "bench/measure.h"

static inline int bench_worker(bench_loop loop)
{
	struct bench_sample samples[BENCH_BATCHES];
	char byte;

	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) == 1) {
		bench_round(loop, samples);
		for (int i = 0; i < BENCH_BATCHES; i++)
			printf("%.4f %.4f %.4f\n", samples[i].ns, samples[i].counter_ns,
			       samples[i].call_ns);
		if (fflush(stdout))
			return 1;
	}
	return 0;
}

#endif
