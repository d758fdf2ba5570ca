/* SPDX-License-Identifier: MIT */
/*
 * A writer: what one thread needs to record into one stream, namely its slot, its chunk, and its
 * position in the chunk. A thread has one for each stream and each level of signal nesting;
 * controller and keeper have one each for their own events. All of it but the slot is private to
 * the process.
 *
 * recording.h records with a writer in every case; lib/recorder/fast.h has the fast way for the
 * usual case. Both follow the same protocol on slot, control and pos.
 */
#ifndef PTRC_LIB_STREAM_WRITER_H
#define PTRC_LIB_STREAM_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/pool.h"

struct ptrc_writer {
	/* The event path touches the members down to `wants`: two cache lines. */

	uint64_t expect; /* the control word that this writer last acted on */
	struct ptrc_slot *slot;
	union {
		struct ptrc_stream_header *header; /* the same as pool.header */
		struct ptrc_pool pool;
	};
	uint64_t base;		  /* the stamp to which the chunk's deltas are relative */
	uint64_t delta_max;	  /* later stamps than base + delta_max do not take the fast way */
	uint8_t *at;		  /* where the next record goes; NULL without a chunk */
	uint8_t *limit;		  /* it may write up to here without asking for room */
	uint64_t pos_bias;	  /* chunk->pos is (uintptr_t)at + pos_bias */
	uint64_t last;		  /* the last stamp: later records in the chunk are not older */
	uint64_t data_max;	  /* longer data does not take the fast way */
	uint64_t count;		  /* events in the chunk */
	struct ptrc_chunk *chunk; /* NULL: none */
	const uint8_t *wants;	  /* by event id (lib/recorder/attach.h) */

	struct ptrc_writer *next; /* of the same thread and stream */
	uint32_t index;		  /* of the chunk */
	uint32_t gen;		  /* of the chunk */
	uint32_t slot_index;
	uint64_t slot_owner;		 /* owner word of its slot */
	uint64_t epoch;			 /* of the chunk */
	struct ptrc_context origin;	 /* of the next events */
	struct ptrc_context last_origin; /* of the last record in the chunk */
	/* Not 0: the stamp of the next record, which is of an earlier moment, instead of now. It
	 * never goes back. */
	uint64_t stamp;
	/* siglongjmp left an event call of this writer, which may continue some day. The thread
	 * uses this writer again only when it has too many such writers. */
	bool is_left;
	/* After a search for room found none: whether a flush would make some. If not, memory is
	 * short, and every chunk belongs to another writer. Decided by that search, because the
	 * keeper makes room meanwhile. */
	bool is_room_coming;
};

void ptrc_writer_init(struct ptrc_writer *w, const struct ptrc_pool *pool, uint32_t slot_index);
/* Gives the chunk back when the thread ends or lets go of the stream: another writer may use the
 * room left in it. */
void ptrc_writer_release(struct ptrc_writer *w);

/* ---- for space.c and recording.c ---- */

/* Gives the chunk back because it is full, or of an earlier epoch: no other writer continues in
 * it. */
void ptrc_writer_seal(struct ptrc_writer *w);
/* Makes chunk `index` of generation `gen` the writer's, with the next record at `pos`. */
void ptrc_writer_stand_at(struct ptrc_writer *w, uint32_t index, uint32_t gen, uint32_t pos);
/* Whether a record can start at this offset from shared memory, which may be damaged. */
bool ptrc_writer_is_place(const struct ptrc_writer *w, uint32_t pos);
/* Reloads what the shared memory says of the writer's chunk: a reaper or a clear may have taken
 * the chunk away, and after siglongjmp left a call, `at` may be one record too far or too near. */
void ptrc_writer_look_again(struct ptrc_writer *w);

#endif
