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

struct ptrc_perf;

struct ptrc_perf_refusal {
	int error;
	/* The setting kernel.perf_event_paranoid; -1 if it is unknown. */
	long paranoid;
};

/* Opens perf events and rings for a process, all its threads, and all threads and processes that these start
 * later. From then on, the kernel writes records. If it refuses, returns NULL and stores the reason. */
struct ptrc_perf *ptrc_perf_open(const struct ptrc_perf_plan *, pid_t,
				 struct ptrc_perf_refusal *why);
/* Return the samples per second of processor time, and the bytes of the stack that a sample copies (0: no copies).
 * Both may be fewer than planned, because the kernel limits the frequency and the size of a ring. */
unsigned int ptrc_perf_frequency(const struct ptrc_perf *);
size_t ptrc_perf_copy_bytes(const struct ptrc_perf *);
bool ptrc_perf_has_calls(const struct ptrc_perf *);
/* Whether the frequency is lower than planned because the rings are too small for more. */
bool ptrc_perf_has_small_rings(const struct ptrc_perf *);
/* Returns the size of the smallest ring in bytes, without its control page. */
size_t ptrc_perf_ring_bytes(const struct ptrc_perf *);
/* Returns the setting kernel.perf_event_paranoid; -1 if it is unknown. */
long ptrc_perf_paranoid(void);
/* Returns the most addresses of a complete stack. If a stack has more, the kernel may have cut it. */
size_t ptrc_perf_stack_max(const struct ptrc_perf *);
/* Returns the IDs of the process that was passed to ptrc_perf_open() and, if plan->has_descendants was set, of the
 * descendants that it had then. */
const pid_t *ptrc_perf_processes(const struct ptrc_perf *, size_t *count);
void ptrc_perf_close(struct ptrc_perf *);

/* ptrc_perf_poll_max() returns the number of descriptors for poll(). ptrc_perf_poll() stores the descriptors,
 * with -1 in place of those that need no polling, and returns their number. */
size_t ptrc_perf_poll_max(const struct ptrc_perf *);
size_t ptrc_perf_poll(struct ptrc_perf *, struct pollfd *);
/* Takes the result of poll(). Returns whether a ring has to be emptied soon. An exec, which also wakes poll(), is no
 * reason for that. */
bool ptrc_perf_polled(struct ptrc_perf *, const struct pollfd *, size_t count);

/* Calls `found` for each exec since the last call, with the process ID and the monotonic time of the exec. */
void ptrc_perf_take_execs(struct ptrc_perf *, void (*found)(void *arg, pid_t, int64_t ns),
			  void *arg);

/* Empties the rings. Returns an array of the records up to `until_ns` (CLOCK_MONOTONIC), sorted by time.
 * Later records are returned by a later call. */
const struct ptrc_perf_record *ptrc_perf_take(struct ptrc_perf *, int64_t until_ns, size_t *count);

#endif
