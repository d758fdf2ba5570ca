/* SPDX-License-Identifier: MIT */
/*
 * What the kernel tells of a process and its descendants, by perf_event_open(2). There is a ring of
 * records for each processor, that the kernel writes and this reads; a second, small one for each is
 * there only to wake the reader at each exec. Lengths and contents of records are not trusted.
 */
#ifndef PTRC_SRC_OS_PERF_H
#define PTRC_SRC_OS_PERF_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/os/perf_records.h"

struct ptrc_perf_plan {
	bool has_switches;
	/* Samples of the stack in a second of processor time; 0: none. */
	unsigned int frequency;
	/* Bytes of a ring, a power of two times that of a page; 0: as large as may be. */
	size_t ring_bytes;
};

struct ptrc_perf;

/* Why there is none. */
struct ptrc_perf_refusal {
	int error;
	/* kernel.perf_event_paranoid, or -1 if it is not known. */
	long paranoid;
};

/* Opens the rings for a process, all its threads, and what they start from then on. Nothing comes
 * before ptrc_perf_enable(). Null: the kernel refuses, or memory is lacking. */
struct ptrc_perf *ptrc_perf_open(const struct ptrc_perf_plan *, pid_t,
				 struct ptrc_perf_refusal *why);
/* How many samples there are in a second, which the kernel may have limited. */
unsigned int ptrc_perf_frequency(const struct ptrc_perf *);
/* A stack that has more addresses was cut behind them by the kernel. */
size_t ptrc_perf_stack_max(const struct ptrc_perf *);
void ptrc_perf_enable(struct ptrc_perf *);
void ptrc_perf_close(struct ptrc_perf *);

/* How many descriptors there are to wait for, and what they are. One that has hung up is not among
 * them any more. After the wait: whether a ring is half full, and not only an exec to be looked at. */
size_t ptrc_perf_poll_max(const struct ptrc_perf *);
size_t ptrc_perf_poll(struct ptrc_perf *, struct pollfd *);
bool ptrc_perf_polled(struct ptrc_perf *, const struct pollfd *, size_t count);

/* Calls `found` for each process that has executed a program since the last call. */
void ptrc_perf_take_execs(struct ptrc_perf *, void (*found)(void *arg, pid_t, int64_t ns),
			  void *arg);

/* Takes all records out of the rings and sets the array of those that are not later than `until_ns`
 * (CLOCK_MONOTONIC), in the order of time. The others come with a later call. */
const struct ptrc_perf_record *ptrc_perf_take(struct ptrc_perf *, int64_t until_ns, size_t *count);

#endif
