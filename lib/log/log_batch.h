/* SPDX-License-Identifier: MIT */
/*
 * Runs on their way into a log: copied together, then taken out again in time order over
 * all of them, a slice at a time, so that what a bounded log keeps or gives up is always a
 * clean stretch of time. Freestanding; memory by mmap.
 */
#ifndef PTRC_LIB_LOG_LOG_BATCH_H
#define PTRC_LIB_LOG_LOG_BATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/stream/drain.h"

/* Grows; contents move. */
struct ptrc_log_buffer {
	uint8_t *bytes;
	uint64_t used, size;
};

/* Room for `more` bytes beyond those used: ENOMEM, or 0. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_buffer_reserve(struct ptrc_log_buffer *b, uint64_t more);
PTRC_NONNULL(1, 2)
PTRC_MUST_CHECK int ptrc_log_buffer_add(struct ptrc_log_buffer *b, const void *data,
					uint64_t bytes);
PTRC_NONNULL() void ptrc_log_buffer_free(struct ptrc_log_buffer *b);

/* A run of the batch, and a cursor in it. */
struct ptrc_log_batch_run {
	uint64_t pos, end; /* offsets in data: of the next event, behind the last */
	uint64_t done;	   /* behind the last event taken */
	uint64_t mark;	   /* where the slice begins in this run */
	int64_t base_ns;
	int64_t next_ns;	    /* time of the event at pos */
	int64_t first_ns;	    /* of the whole run */
	struct ptrc_context origin; /* of the event at pos */
	struct ptrc_context mark_origin;
	uint32_t order;
};

struct ptrc_log_batch {
	struct ptrc_log_buffer data;
	struct ptrc_log_buffer runs; /* struct ptrc_log_batch_run */
	struct ptrc_log_buffer heap; /* pointers to runs, a heap: earliest first */
	uint64_t bytes;		     /* of events not taken yet, HIDDEN ones too */
	uint64_t events;	     /* those of them that count */
	uint64_t most;		     /* the log takes no larger event; set by the user */
	uint64_t too_big;	     /* bytes of larger ones, part of `bytes` */
};

/* An event of the batch. */
struct ptrc_log_item {
	const struct ptrc_record *record;
	struct ptrc_log_batch_run *run;
	int64_t ns;
	uint64_t size;
	uint32_t id;
	bool is_hidden;
};

/* Give memory back, but for so much. While events come in quantity it is kept from flush to
 * flush: fresh pages cost as much as all else. A keeper that goes to sleep calls this. */
#define PTRC_LOG_BATCH_KEEP_BYTES (UINT64_C(1) << 20)
PTRC_NONNULL() void ptrc_log_batch_trim(struct ptrc_log_batch *b);

/* Copies the run. What is damaged in it is left out. ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK
int ptrc_log_batch_add(struct ptrc_log_batch *b, const struct ptrc_stretch *run);
PTRC_NONNULL() void ptrc_log_batch_clear(struct ptrc_log_batch *b);
PTRC_NONNULL() void ptrc_log_batch_free(struct ptrc_log_batch *b);
static inline struct ptrc_log_batch_run *
ptrc_log_batch_runs(const struct ptrc_log_batch *b)
{
	return (struct ptrc_log_batch_run *)(void *)b->runs.bytes;
}

static inline uint32_t ptrc_log_batch_run_count(const struct ptrc_log_batch *b)
{
	return (uint32_t)(b->runs.used / sizeof(struct ptrc_log_batch_run));
}

/* Of a flush, not of what is traced. */
static inline bool ptrc_log_is_marker(uint32_t id)
{
	return id == POSIX_TRACE_FLUSH_START || id == POSIX_TRACE_FLUSH_STOP;
}

/* Takes away the markers that follow the last other event, if
 * that is a STOP, or if there is none and is_after_stop; appends them to `held`, as
 * records with full stamps. ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_batch_hold(struct ptrc_log_batch *b, bool is_after_stop,
					struct ptrc_log_buffer *held);

/* All runs are there: order them. ENOMEM. */
PTRC_NONNULL() PTRC_MUST_CHECK int ptrc_log_batch_sort(struct ptrc_log_batch *b);
/* The earliest event not taken; false if there is none. */
PTRC_NONNULL()
bool ptrc_log_batch_peek(const struct ptrc_log_batch *b, struct ptrc_log_item *item);
/* Take it. */
PTRC_NONNULL() void ptrc_log_batch_take(struct ptrc_log_batch *b);
/* A slice begins: what is taken from here on, ... */
PTRC_NONNULL() void ptrc_log_batch_mark(struct ptrc_log_batch *b);
/* ... added to `out` as sections of an EVENTS packet. ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_batch_slice(const struct ptrc_log_batch *b,
					 struct ptrc_log_buffer *out);

#endif
