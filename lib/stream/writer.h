/* SPDX-License-Identifier: MIT */
/*
 * A writer: what one thread (one level of signal nesting of it) needs to record into one
 * stream: its slot, the chunk it owns, where it stands in it. Private to the process, but
 * for its slot. The controller and the keeper have one each for their own events.
 *
 * writer.c is the careful, general way to record; event.c has the fast one for the case
 * that nothing special is up. Both follow the same protocol on slot, control and pos.
 */
#ifndef PTRC_LIB_STREAM_WRITER_H
#define PTRC_LIB_STREAM_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/pool.h"

struct ptrc_writer {
	/* What the event path touches. */
	uint64_t expect; /* the control word last acted on */
	struct ptrc_slot *slot;
	union {
		struct ptrc_stream_header *header; /* the same as pool.header */
		struct ptrc_pool pool;
	};
	uint64_t base;
	uint64_t delta_max;	  /* a stamp further from base takes the general way */
	uint8_t *at;		  /* where the next record goes; null: no chunk */
	uint8_t *limit;		  /* up to where it may write without asking */
	uint64_t pos_bias;	  /* at + pos_bias is the chunk's pos word */
	uint64_t last;		  /* last stamp given: the chunk is sorted for certain */
	uint64_t data_max;	  /* longer data takes the general way */
	uint64_t count;		  /* events in the chunk */
	struct ptrc_chunk *chunk; /* null: none */
	const uint8_t *wants;	  /* by event id, see event.c */

	struct ptrc_writer *next; /* of the same thread and stream */
	uint32_t index;		  /* of chunk */
	uint32_t gen;
	uint32_t slot_index;
	uint64_t slot_owner;		 /* value it claimed the slot with */
	uint64_t epoch;			 /* of the chunk */
	struct ptrc_context origin;	 /* whose events come */
	struct ptrc_context last_origin; /* whose the chunk's last record is */
	bool is_orphan;			 /* left by siglongjmp: not used again for now */
};

/* What to record. */
struct ptrc_put {
	uint32_t id_flags;
	uint32_t len;
	const void *data;
	uint64_t addr;
	uint64_t frame; /* mark for the slot, not 0 */
	bool is_forced; /* goes in though the stream is full, whatever control says */
};

enum ptrc_put_result {
	PTRC_PUT_DONE,
	PTRC_PUT_STALE,	 /* control is not as expected: look again and start over */
	PTRC_PUT_FULL,	 /* no room; *stamp says when */
	PTRC_PUT_TOO_BIG /* for this stream even when empty */
};

void ptrc_writer_init(struct ptrc_writer *w, const struct ptrc_pool *pool,
		      uint32_t slot_index);
/* Record. *stamp: the event's counter, or that of the failure. Signals are blocked. */
enum ptrc_put_result ptrc_writer_put(struct ptrc_writer *w, const struct ptrc_put *p,
				     uint64_t *stamp);
/* An event call's part of it, for the control word just read (it says RUN): p->data has so
 * many bytes and is cut to max-data-size; a reader is woken, a stream without room stopped, an
 * event that nobody keeps counted. STALE: nothing was done, look again. */
enum ptrc_put_result ptrc_writer_record(struct ptrc_writer *w, uint64_t control,
					struct ptrc_put *p, uint64_t bytes);
/* Give the chunk back (thread ends, stream detached): others may fill it up. */
void ptrc_writer_release(struct ptrc_writer *w);
/* The stream found itself full at `stamp`: nothing from then on belongs to this run. False
 * if control is not as expected any more: look again. */
bool ptrc_writer_stop_full(struct ptrc_stream_header *h, uint64_t expect, uint64_t stamp);
/* One more event that nobody keeps. */
void ptrc_writer_count_loss(struct ptrc_stream_header *h);

/* Claim a slot for the calling thread: its index, or UINT32_MAX if all are taken. */
uint32_t ptrc_slot_claim(const struct ptrc_pool *pool, int pid, int tid, uint64_t image,
			 uint64_t *owner);
void ptrc_slot_release(struct ptrc_stream_header *h, uint32_t slot_index, uint64_t owner);
/* Seal the chunks of dead threads and free their slots. pid and image (if not 0): those of
 * an earlier image of this process are dead, too. */
void ptrc_slots_reap(const struct ptrc_pool *pool, int pid, uint64_t image);

/* ---- chunks, for readers too ---- */

#define PTRC_CHUNK_STATE(word) ((word)&PTRC_CHUNK_STATE_MASK)
#define PTRC_CHUNK_GEN(word) ((uint32_t)((word) >> PTRC_CHUNK_GEN_SHIFT))
#define PTRC_CHUNK_SLOT(word) \
	((uint32_t)(((word)&PTRC_CHUNK_SLOT_MASK) >> PTRC_CHUNK_SLOT_SHIFT))

/* Offset behind the last record of a chunk in use whose word was seen, checked; 0 if the
 * chunk holds none (yet). */
uint32_t ptrc_chunk_end(const struct ptrc_pool *pool, uint32_t index, uint64_t word);
/* Offset of the first record not consumed. */
uint32_t ptrc_chunk_rpos(const struct ptrc_chunk_ctl *ctl, uint64_t word, uint32_t end);

/* The chunk of a dead owner: it ends behind its last complete record. Of each slot there is
 * one at a time who does this. */
void ptrc_chunk_seal_dead(const struct ptrc_pool *pool, uint32_t index, uint64_t word);

/* Walking over the records of a chunk or of a copy of one; bounds-checked. */
struct ptrc_walk {
	const uint8_t *bytes; /* of the chunk, header included */
	uint32_t off, end;
	uint64_t base;
	struct ptrc_context origin;
};

struct ptrc_walk_record {
	uint64_t stamp;
	uint64_t addr;
	uint32_t id_flags;
	uint32_t len;
	uint32_t off;  /* of the record */
	uint32_t data; /* offset of its data */
};

/* Next record that is an event (HIDDEN ones too); contexts are applied. False at the end or
 * at damage; then off < end tells that it is damage. */
bool ptrc_walk_next(struct ptrc_walk *k, struct ptrc_walk_record *r);

/* Loss of a chunk that is about to be overwritten: horizon and first_lost. */
void ptrc_chunk_note_loss(const struct ptrc_pool *pool, uint32_t index, uint64_t word);

/* LOOP: does the next event overwrite older ones, however small it is? */
bool ptrc_pool_would_overwrite(const struct ptrc_pool *pool);

void ptrc_ring_keeper(struct ptrc_stream_header *h);

#endif
