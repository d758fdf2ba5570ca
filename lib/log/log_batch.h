/* SPDX-License-Identifier: MIT */
/*
 * The batch: all stretches of a flush on their way into the log. They are packed when they come, and
 * stay so: what the batch chooses for a packet are whole pieces, as far as possible. A piece is
 * split if only a part of it is earlier than what the next packet begins with. Freestanding; memory
 * by mmap.
 */
#ifndef PTRC_LIB_LOG_LOG_BATCH_H
#define PTRC_LIB_LOG_LOG_BATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/model/packed.h"
#include "lib/stream/drain.h"

/* Bytes that grow in number, and move when they do. */
struct ptrc_log_buffer {
	uint8_t *bytes;
	uint64_t used, size;
	bool is_short; /* an addition since the last clear has found no memory */
};

/* Makes room for `more` bytes beyond those used. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_buffer_reserve(struct ptrc_log_buffer *b, uint64_t more);
/* ENOMEM. A caller that adds several things may look at is_short once instead. */
int ptrc_log_buffer_add(struct ptrc_log_buffer *b, const void *data, uint64_t bytes);
/* Adds zeros up to a multiple of 8. */
void ptrc_log_buffer_pad(struct ptrc_log_buffer *b);
void ptrc_log_buffer_clear(struct ptrc_log_buffer *b);
void ptrc_log_buffer_free(struct ptrc_log_buffer *b);

/* A stretch in the batch, or a part of one. */
struct ptrc_log_piece {
	struct ptrc_stretch
		s;	  /* `packed` and `sums` mean nothing, as what the batch has may move: */
	uint64_t at;	  /* of its packed events in the batch's data */
	uint64_t sums_at; /* offset in the batch's sums; of the events that are not HIDDEN */
	uint32_t rank;	  /* pieces of the same times and order come in the order of this number */
	uint32_t chosen;  /* how many of its first events are chosen */
};

/* Does an event of the program in this piece come after all of those in `last`? NULL: there are none. */
static inline bool ptrc_log_piece_is_last(const struct ptrc_log_piece *p,
					  const struct ptrc_log_piece *last)
{
	return p->s.kind != PTRC_STRETCH_MARKER &&
	       (!last || p->s.last_ns > last->s.last_ns ||
		(p->s.last_ns == last->s.last_ns && p->s.order >= last->s.order));
}

struct ptrc_log_work;

struct ptrc_log_batch {
	struct ptrc_log_buffer data;
	struct ptrc_log_buffer pieces; /* struct ptrc_log_piece */
	struct ptrc_log_buffer sums;   /* struct ptrc_type_sum */
	/* Numbers (uint32_t) of pieces: those that wait, from `next` on in the order of their first
	 * events; those that are chosen, in the same order. */
	struct ptrc_log_buffer waiting, slice;
	uint64_t next;
	struct ptrc_log_buffer cursors; /* for choosing event by event */
	struct ptrc_log_work *work;	/* for splitting pieces */
	uint64_t counted;		/* of the pieces that wait */
	uint64_t most;			/* the log takes no larger event; set by the writer */
};

/* What was chosen. */
struct ptrc_log_slice {
	uint64_t counted, records, events;
	int64_t first_ns, last_ns;
};

/* Gives memory back, except for so much. A keeper calls this before it sleeps. While many
 * events come the memory is kept from flush to flush: fresh pages cost as much time as all the
 * rest of a flush. */
#define PTRC_LOG_BATCH_KEEP_BYTES (UINT64_C(1) << 20)
void ptrc_log_batch_trim(struct ptrc_log_batch *b);

/* Room for a stretch that is to be packed into the batch: *out. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_batch_room(struct ptrc_log_batch *b, uint64_t bytes, uint8_t **out);
/* Adds the stretch; a copy of it if it was packed elsewhere. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_batch_add(struct ptrc_log_batch *b,
				       const struct ptrc_stretch *stretch);
void ptrc_log_batch_clear(struct ptrc_log_batch *b);
void ptrc_log_batch_free(struct ptrc_log_batch *b);

/* A marker of a flush that is held back. */
struct ptrc_log_held {
	int64_t ns;
	uint32_t id;
};

/* Adds such markers as events of the trace system. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_batch_add_held(struct ptrc_log_batch *b,
					    const struct ptrc_log_buffer *held);
/* Holds back markers of flushes behind the last STOP. If the last other event of the batch is a
 * STOP (or the batch has none, and is_after_stop is set), the markers behind it move from the
 * batch to `held`. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_batch_hold(struct ptrc_log_batch *b, bool is_after_stop,
					struct ptrc_log_buffer *held);

/* The origin of the piece number `i`, whose first event has the time *first_ns. Null behind the last
 * piece. */
const struct ptrc_context *ptrc_log_batch_origin(const struct ptrc_log_batch *b, uint64_t i,
						 int64_t *first_ns);

/* Puts the batch in order once all stretches are there. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_batch_sort(struct ptrc_log_batch *b);
/* Does any piece wait? */
static inline bool ptrc_log_batch_waits(const struct ptrc_log_batch *b)
{
	return b->next < b->waiting.used / sizeof(uint32_t);
}

/* The functions that choose put the earliest events that wait into the slice, in the place of what
 * was chosen before. ENOMEM. */

/* Chooses events up to some time, so that they take about `target` bytes in a packet and never
 * more than twice as much, but at least one event. */
PTRC_MUST_CHECK int ptrc_log_batch_choose(struct ptrc_log_batch *b, uint64_t target,
					  struct ptrc_log_slice *slice);
/* Chooses all events up to this time. */
PTRC_MUST_CHECK int ptrc_log_batch_choose_until(struct ptrc_log_batch *b, int64_t ns,
						struct ptrc_log_slice *slice);

/* Where choosing event by event ends. */
struct ptrc_log_end {
	uint64_t target;  /* counted bytes of all, unless it is a single event */
	uint64_t room;	  /* counted bytes that may be chosen at all... */
	uint64_t reserve; /* ... of which this much is for a STOP only */
	bool is_full;	  /* out: the room has no place for the next event... */
	int64_t next_ns;  /* ... which has this time */
};
PTRC_MUST_CHECK int ptrc_log_batch_choose_exactly(struct ptrc_log_batch *b,
						  struct ptrc_log_end *end,
						  struct ptrc_log_slice *slice);

/* The piece number `i` of the slice; null behind the last. */
const struct ptrc_log_piece *ptrc_log_batch_chosen(const struct ptrc_log_batch *b, uint64_t i);
/* The first event of a piece, which is its only one if it is not PLAIN. False: it has none. */
bool ptrc_log_batch_first(const struct ptrc_log_batch *b, const struct ptrc_log_piece *piece,
			  struct ptrc_packed_event *e);

/* Takes events that are larger than `most` out of the batch. Behind it the slice is the pieces of
 * kinds other than PLAIN that are gone by this; *lost is how many events are, apart from markers
 * and HIDDEN ones. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_batch_strip(struct ptrc_log_batch *b, uint64_t *lost);

/* Adds to `out` the sums of the slice's events by type. */
PTRC_MUST_CHECK int ptrc_log_batch_put_sums(struct ptrc_log_batch *b, struct ptrc_log_buffer *out);
/* Adds the slice to `out`, as sections of an EVENTS packet. If memory is short, out->is_short
 * tells. */
void ptrc_log_batch_put_sections(const struct ptrc_log_batch *b, struct ptrc_log_buffer *out);

#endif
