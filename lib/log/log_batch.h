/* SPDX-License-Identifier: MIT */
/*
 * The batch: all stretches of a flush on their way into the log. They are copied into the batch
 * together, and then taken out of it event by event, in time order over all of them. What is
 * taken between two marks is a slice, which becomes a packet. Freestanding; memory by mmap.
 */
#ifndef PTRC_LIB_LOG_LOG_BATCH_H
#define PTRC_LIB_LOG_LOG_BATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/stream/drain.h"

/* Bytes that grow in number, and move when they do. */
struct ptrc_log_buffer {
	uint8_t *bytes;
	uint64_t used, size;
	bool is_short; /* an addition since the last clear has found no memory */
};

/* Makes room for `more` bytes beyond those used. ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_buffer_reserve(struct ptrc_log_buffer *b, uint64_t more);
/* ENOMEM. A caller that adds several things may look at is_short once instead. */
PTRC_NONNULL(1)
int ptrc_log_buffer_add(struct ptrc_log_buffer *b, const void *data, uint64_t bytes);
/* Adds zeros up to a multiple of 8. */
PTRC_NONNULL() void ptrc_log_buffer_pad(struct ptrc_log_buffer *b);
PTRC_NONNULL() void ptrc_log_buffer_clear(struct ptrc_log_buffer *b);
PTRC_NONNULL() void ptrc_log_buffer_free(struct ptrc_log_buffer *b);

/* A stretch of the batch, and a cursor in it. */
struct ptrc_log_stretch {
	/* Offsets in the batch's data. */
	uint64_t pos, end; /* of the next event; behind the last event */
	uint64_t done;	   /* behind the last event taken */
	uint64_t mark;	   /* where the slice begins in this stretch */
	int64_t base_ns;
	int64_t next_ns;	    /* time of the event at pos */
	int64_t first_ns;	    /* time of the first event of all */
	struct ptrc_context origin; /* of the event at pos */
	struct ptrc_context mark_origin;
	uint32_t order;
};

struct ptrc_log_batch {
	struct ptrc_log_buffer data;
	struct ptrc_log_buffer stretches; /* struct ptrc_log_stretch */
	struct ptrc_log_buffer heap;	  /* pointers to stretches, a heap: earliest first */
	uint64_t bytes;			  /* of events not taken yet, HIDDEN ones included */
	uint64_t events;		  /* the number of those that are not HIDDEN */
	uint64_t most;			  /* the log takes no larger event; set by the writer */
	uint64_t too_big;		  /* bytes of larger ones, part of `bytes` */
};

/* An event of the batch; valid until the batch changes. */
struct ptrc_log_item {
	const struct ptrc_record *record;
	struct ptrc_log_stretch *stretch;
	int64_t ns;
	uint64_t size;
	uint32_t id;
	bool is_hidden;
};

/* Gives memory back, except for so much. A keeper calls this before it sleeps. While many
 * events come the memory is kept from flush to flush: fresh pages cost as much time as all the
 * rest of a flush. */
#define PTRC_LOG_BATCH_KEEP_BYTES (UINT64_C(1) << 20)
PTRC_NONNULL() void ptrc_log_batch_trim(struct ptrc_log_batch *b);

/* Adds a copy of the stretch, as far as it is undamaged. ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK
int ptrc_log_batch_add(struct ptrc_log_batch *b, const struct ptrc_stretch *stretch);
PTRC_NONNULL() void ptrc_log_batch_clear(struct ptrc_log_batch *b);
PTRC_NONNULL() void ptrc_log_batch_free(struct ptrc_log_batch *b);

/* Is it a marker of a flush, and no event of the traced program? */
static inline bool ptrc_log_is_marker(uint32_t id)
{
	return id == POSIX_TRACE_FLUSH_START || id == POSIX_TRACE_FLUSH_STOP;
}

/* Holds back markers of flushes behind the last STOP. If the last other event of the batch is a
 * STOP (or the batch has none, and is_after_stop is set), the markers behind it move from the
 * batch to `held`, as records with full stamps. ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_batch_hold(struct ptrc_log_batch *b, bool is_after_stop,
					struct ptrc_log_buffer *held);

/* Puts the batch in order once all stretches are there. ENOMEM. */
PTRC_NONNULL() PTRC_MUST_CHECK int ptrc_log_batch_sort(struct ptrc_log_batch *b);
/* The earliest event that was not taken; false: there is none. */
PTRC_NONNULL()
bool ptrc_log_batch_peek(const struct ptrc_log_batch *b, struct ptrc_log_item *item);
/* Takes that event. */
PTRC_NONNULL() void ptrc_log_batch_take(struct ptrc_log_batch *b);
/* A slice begins here. */
PTRC_NONNULL() void ptrc_log_batch_mark(struct ptrc_log_batch *b);
/* Adds the events that were taken since then to `out`, as sections of an EVENTS packet. If
 * memory is short, out->is_short tells. */
PTRC_NONNULL()
void ptrc_log_batch_slice(const struct ptrc_log_batch *b, struct ptrc_log_buffer *out);

#endif
