/* SPDX-License-Identifier: MIT */
/*
 * The records that the kernel writes into a ring (perf_event_open(2)), as what they mean. Neither
 * lengths nor contents are trusted: whatever a ring has, it can do no more than make records missing.
 */
#ifndef PTRC_SRC_OS_PERF_RECORDS_H
#define PTRC_SRC_OS_PERF_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ptrc_perf_kind {
	PTRC_PERF_FORK,
	PTRC_PERF_EXEC,
	/* It has got another name. */
	PTRC_PERF_RENAME,
	PTRC_PERF_EXIT,
	PTRC_PERF_MAPPING,
	PTRC_PERF_SWITCH_IN,
	PTRC_PERF_SWITCH_OUT,
	PTRC_PERF_SAMPLE,
	PTRC_PERF_LOST,
	/* There were too many samples: there are none until it is unthrottled. */
	PTRC_PERF_THROTTLE,
	PTRC_PERF_UNTHROTTLE,
};

#define PTRC_PERF_BUILD_ID_MAX 20
#define PTRC_PERF_NAME_BYTES 16

struct ptrc_perf_mapping {
	uint64_t address, bytes, offset;
	uint8_t build_id[PTRC_PERF_BUILD_ID_MAX];
	size_t build_id_bytes;
	const char *path;
};

/* A record. Of a fork, pid and tid are those of the parent. Texts and stacks are valid until the next
 * ptrc_perf_records_begin(). */
struct ptrc_perf_record {
	enum ptrc_perf_kind kind;
	int64_t ns; /* CLOCK_MONOTONIC */
	int32_t pid, tid;
	uint32_t processor;
	uint32_t generation; /* for perf_records.c */
	union {
		struct {
			int32_t pid, tid;
		} child;
		char name[PTRC_PERF_NAME_BYTES];
		bool is_preempted;
		uint64_t lost;
		const struct ptrc_perf_mapping *mapping;
		/* Of user space, innermost first. */
		struct {
			const uint64_t *addresses;
			size_t count;
		} stack;
	};
};

/* A ring that the kernel writes: .size bytes, a power of two, and the page before them. */
struct perf_event_mmap_page;
struct ptrc_perf_ring {
	struct perf_event_mmap_page *page;
	const uint8_t *bytes;
	size_t size;
	/* The last record. */
	struct ptrc_perf_record last;
	/* The losses that records have told, and those that ptrc_perf_records_lost() has told before these. */
	uint64_t told, ahead;
};

struct ptrc_perf_records;

struct ptrc_perf_records *ptrc_perf_records_new(void);
void ptrc_perf_records_free(struct ptrc_perf_records *);

/* Forgets the records that were given out. */
void ptrc_perf_records_begin(struct ptrc_perf_records *);
/* Takes all records out of a ring. Returns how many bytes they had. */
uint64_t ptrc_perf_records_take(struct ptrc_perf_records *, struct ptrc_perf_ring *);
/* The kernel has lost so many records of the ring in all: behind the last one comes a record of those that
 * none has told yet. The kernel tells of a loss only when it writes into the ring again. */
void ptrc_perf_records_lost(struct ptrc_perf_records *, struct ptrc_perf_ring *, uint64_t all);
/* Gives out those that are not later than this, in the order of time. The others stay. */
const struct ptrc_perf_record *ptrc_perf_records_until(struct ptrc_perf_records *, int64_t until_ns,
						       size_t *count);

#endif
