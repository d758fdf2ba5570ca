/* SPDX-License-Identifier: MIT */
/*
 * A writer: what one thread needs to record into one stream, namely its slot, the chunk that it
 * owns, and where in the chunk it stands. A thread has one for each stream and each level of
 * signal nesting; the controller and the keeper have one each for their own events. All of it but
 * the slot is private to the process.
 *
 * recording.h records with a writer in every case; lib/recorder/event.c has the fast way for the
 * usual case. Both follow the same protocol on slot, control and pos.
 */
#ifndef PTRC_LIB_STREAM_WRITER_H
#define PTRC_LIB_STREAM_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/pool.h"

struct ptrc_writer {
	/* The members down to `wants` are what the event path touches: two cache lines. */

	uint64_t expect; /* the control word that this writer last acted on */
	struct ptrc_slot *slot;
	union {
		struct ptrc_stream_header *header; /* the same as pool.header */
		struct ptrc_pool pool;
	};
	uint64_t base;	    /* the stamp from which the chunk's deltas count */
	uint64_t delta_max; /* a stamp further from base does not take the fast way */
	uint8_t *at;	    /* where the next record goes; null without a chunk */
	uint8_t *limit;	    /* up to here it may write without asking for room */
	uint64_t pos_bias;  /* (uintptr_t)at + pos_bias is the value for chunk->pos */
	uint64_t last;	    /* the last stamp: records that follow in the chunk are not older */
	uint64_t data_max;  /* longer data does not take the fast way */
	uint64_t count;	    /* events in the chunk */
	struct ptrc_chunk *chunk; /* null: this writer owns none */
	const uint8_t *wants;	  /* by event id; see event.c */

	struct ptrc_writer *next; /* of the same thread and stream */
	uint32_t index;		  /* of the chunk */
	uint32_t gen;		  /* of the chunk */
	uint32_t slot_index;
	uint64_t slot_owner;		 /* the value with which it claimed the slot */
	uint64_t epoch;			 /* of the chunk */
	struct ptrc_context origin;	 /* of the events that come */
	struct ptrc_context last_origin; /* of the last record in the chunk */
	/* Not 0: the stamp of the next record, which is of an earlier moment, instead of that of now. It
	 * never goes backwards either. */
	uint64_t stamp;
	/* siglongjmp left an event call of this writer, which may go on some day. The thread uses
	 * this writer again only when it has too many such writers. */
	bool is_left;
	/* When room was last sought and there was none: would a flush make some? No: what is lacking
	 * is memory, and every chunk that there is belongs to another writer. It is decided by the
	 * same look, as the keeper makes room meanwhile. */
	bool is_room_coming;
};

void ptrc_writer_init(struct ptrc_writer *w, const struct ptrc_pool *pool, uint32_t slot_index);
/* Give the chunk back, since the thread ends or lets go of the stream: another writer may fill
 * what room is left in it. */
void ptrc_writer_release(struct ptrc_writer *w);

/* ---- for space.c and recording.c ---- */

/* Give the chunk back because it is full, or of an earlier epoch: no writer may go on in it. */
void ptrc_writer_seal(struct ptrc_writer *w);
/* The writer owns chunk `index` of generation `gen`, and its next record goes to `pos`. */
void ptrc_writer_stand_at(struct ptrc_writer *w, uint32_t index, uint32_t gen, uint32_t pos);
/* May a record begin at this offset? It comes from shared memory, which may be damaged. */
bool ptrc_writer_is_place(const struct ptrc_writer *w, uint32_t pos);
/* Take over what the shared memory says of the writer's chunk: a reaper or a clear may have taken
 * the chunk away; and after siglongjmp left a call, `at` may be one record too far or too near. */
void ptrc_writer_look_again(struct ptrc_writer *w);

#endif
