/* SPDX-License-Identifier: MIT */
/*
 * The origins of a log's events: machine, clocks, processes and threads, from the payloads of HOST,
 * CLOCK, PROCESS and THREADS packets. No byte of these is trusted.
 */
#ifndef PTRC_LIB_LOG_LOG_WHOSE_H
#define PTRC_LIB_LOG_LOG_WHOSE_H

#include <posixtrace-log.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/log/log_layout.h"

/* A description of a process, from a PROCESS packet: a copy of the payload's head, and the
 * payload. */
struct ptrc_log_whose_process {
	struct ptrc_log_process head;
	uint8_t *payload;
	uint64_t length;
	const uint8_t **mappings; /* addresses in `payload` and in the additions' payloads */
	uint32_t mapping_count;
	uint32_t number; /* how many descriptions were taken before this one */
	/* The descriptions whose mappings were added to this one. */
	struct ptrc_log_whose_process *additions;
	size_t addition_count, addition_size;
};

struct ptrc_log_whose {
	uint8_t *host;	     /* payload of the first HOST packet; NULL: none */
	uint64_t host_bytes; /* its bytes without padding */
	/* Sorted by pid, then by time. */
	struct ptrc_log_whose_process *processes;
	size_t process_count, process_size;
	struct ptrc_log_thread *threads; /* sorted by pid, then by tid, then by time */
	size_t thread_count, thread_size;
	struct ptrc_log_clock *clocks; /* sorted by CLOCK_MONOTONIC */
	size_t clock_count, clock_size;
	uint32_t taken_count; /* descriptions of processes so far, duplicates included */
	uint64_t bytes;	      /* bytes of processes, threads and clocks; limit: BYTES_MAX */
	bool is_unsorted;     /* a payload has been taken since the last sort */
};

/* Takes the payload of a packet of this type, and becomes its owner. An impossible payload is freed
 * and ignored. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_whose_take(struct ptrc_log_whose *x, uint16_t type, uint8_t *payload,
					uint64_t length);
/* Sorts processes, threads and clocks, and removes duplicates, if payloads have been taken since
 * the last sort. The functions below need sorted contents. */
void ptrc_log_whose_sort(struct ptrc_log_whose *x);
void ptrc_log_whose_free(struct ptrc_log_whose *x);

/* These implement the public functions posixtrace_log_get_*() and posixtrace_log_find_*().
 * ENODATA. */
int ptrc_log_whose_host(const struct ptrc_log_whose *x, struct posixtrace_log_host *host);
int ptrc_log_whose_process(const struct ptrc_log_whose *x, unsigned long index,
			   struct posixtrace_log_process *process);
int ptrc_log_whose_find(const struct ptrc_log_whose *x, pid_t pid, int64_t ns,
			unsigned long *index);
int ptrc_log_whose_mapping(const struct ptrc_log_whose *x, unsigned long process,
			   unsigned long index, struct posixtrace_log_mapping *mapping);
int ptrc_log_whose_thread(const struct ptrc_log_whose *x, unsigned long index,
			  struct posixtrace_log_thread *thread);
int ptrc_log_whose_find_thread(const struct ptrc_log_whose *x, pid_t pid, pid_t tid, int64_t ns,
			       unsigned long *index);
int ptrc_log_whose_clock(const struct ptrc_log_whose *x, unsigned long index,
			 struct posixtrace_log_clock *clock);

#endif
