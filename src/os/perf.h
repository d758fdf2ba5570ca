/* SPDX-License-Identifier: MIT */
/*
 * The kernel's records about a process and its descendants (perf_event_open(2)). The kernel writes them into
 * a ring buffer for each processor. Each processor has a second, small ring, which only wakes the reader at
 * each exec. The lengths and contents of records are not trusted.
 */
#ifndef PTRC_SRC_OS_PERF_H
#define PTRC_SRC_OS_PERF_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/os/perf_records.h"
#include "src/os/tracepoints.h"

struct ptrc_perf_plan {
	bool has_switches;
	/* Also opens perf events for the descendants that exist already; later ones inherit them. */
	bool has_descendants;
	/* Samples of the stack per second of processor time; 0: none. */
	unsigned int frequency;
	/* Samples have a copy of the stack and of these registers, as in perf_event_attr.sample_regs_user. 0:
	 * samples have the addresses that the kernel finds by frame pointers. */
	uint64_t registers;
	/* Whether page faults in user space are recorded. */
	bool has_faults;
	/* The tracepoints of system calls; NULL: system calls are not recorded. */
	const struct ptrc_tracepoints *calls;
	/* The most bytes of a ring: a power of two times the page size; 0: as many as are useful. If the kernel
	 * allows fewer, rings are smaller. */
	size_t ring_bytes;
};

/* The most addresses of a stack. This is the usual value of kernel.perf_event_max_stack. */
#define PTRC_PERF_STACK_MAX 127U
/* The bytes of the stack that a sample copies, if the rings are large enough for that. */
#define PTRC_PERF_COPY_BYTES 8192

struct ptrc_perf {
	/* The samples per second of processor time, or 0 for no samples; and the most addresses of a sample. If a stack
	 * has as many, the kernel may have cut it. */
	unsigned int frequency, stack_max;
	/* The registers (bits of perf_event_attr.sample_regs_user) and the bytes of the stack that a sample copies. If
	 * samples have no copies, copy_bytes is 0. The bytes and the frequency may be fewer than planned, because the
	 * kernel limits the frequency and the size of a ring. */
	uint64_t registers;
	size_t copy_bytes;
	/* has_small_rings: the frequency is lower than planned because the rings are too small for more. has_calls:
	 * system calls are recorded. */
	bool has_small_rings, has_calls;
	/* The processes for whose threads perf events were opened: the one that the caller named and, if
	 * plan->has_descendants was set, the descendants that it had then. */
	pid_t *pids;
	size_t pid_count;
	struct ptrc_perf_source *sources;
	size_t source_count;
	struct ptrc_perf_ring *rings, *exec_rings;
	size_t ring_count;
	struct ptrc_perf_records *records, *execs;
};

/* Opens perf events and rings for a process, all its threads, and all threads and processes that these start
 * later. From then on, the kernel writes records. If it refuses, returns NULL and stores the error number. */
struct ptrc_perf *ptrc_perf_open(const struct ptrc_perf_plan *, pid_t, int *error);
/* Returns the size of the smallest ring in bytes, without its control page. */
size_t ptrc_perf_ring_bytes(const struct ptrc_perf *);
/* Returns the value of a setting of the kernel, such as "kernel/perf_event_paranoid"; -1 if it is unknown. */
long ptrc_perf_setting(const char *name);
void ptrc_perf_close(struct ptrc_perf *);

/* Stores .source_count descriptors for poll(), with -1 in place of those that need no polling. */
void ptrc_perf_poll(struct ptrc_perf *, struct pollfd *);
/* Takes the result of poll(). Returns whether a ring has to be emptied soon. An exec, which also wakes poll(), is no
 * reason for that. */
bool ptrc_perf_polled(struct ptrc_perf *, const struct pollfd *);

/* Returns an array of records that has each exec (PTRC_PERF_EXEC) since the last call, among others. */
const struct ptrc_perf_record *ptrc_perf_take_execs(struct ptrc_perf *, size_t *count);

/* Empties the rings. Returns an array of the records up to `until_ns` (CLOCK_MONOTONIC), sorted by time.
 * Later records are returned by a later call. */
const struct ptrc_perf_record *ptrc_perf_take(struct ptrc_perf *, int64_t until_ns, size_t *count);

#endif
