/* SPDX-License-Identifier: MIT */
/*
 * A writer: what one thread needs to record into one stream, namely its slot, its chunk, and its
 * position in the chunk. A thread has a writer for each stream and each level of nested signal
 * handlers. Controller and keeper each have a writer for their own events. struct ptrc_writer is
 * private to the process; slot and chunk are in shared memory.
 *
 * The functions of recording.h can record in every case; lib/recorder/fast.h has the fast way for
 * the usual case. Both follow the same protocol on slot, control and pos.
 */
#ifndef PTRC_LIB_STREAM_WRITER_H
#define PTRC_LIB_STREAM_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/pool.h"

struct ptrc_writer {
	/* An event call touches the members down to `wants`: two cache lines. */

	uint64_t expect; /* the control word that this writer last acted on */
	struct ptrc_slot *slot;
	union {
		struct ptrc_stream_header *header; /* the same as pool.header */
		struct ptrc_pool pool;
	};
	uint64_t base;		  /* the stamp to which the times in the chunk are relative */
	uint64_t delta_max;	  /* events later than base + delta_max do not take the fast way */
	uint8_t *at;		  /* where the next record goes; NULL if the writer has no chunk */
	uint8_t *limit;		  /* the writer may write up to here without a search for room */
	uint64_t pos_bias;	  /* chunk->pos is (uintptr_t)at + pos_bias */
	uint64_t last;		  /* stamp of the last record in the chunk; the next stamp must
				   * not be earlier */
	uint64_t data_max;	  /* longer data does not take the fast way */
	uint64_t count;		  /* number of events in the chunk, without HIDDEN records */
	struct ptrc_chunk *chunk; /* NULL: the writer has no chunk */
	const uint8_t *wants;	  /* which event types to record, by id (lib/recorder/attach.h) */

	struct ptrc_writer *next; /* next writer of the same thread for the same stream */
	uint32_t index;		  /* index of the chunk */
	uint32_t gen;		  /* generation of the chunk */
	uint32_t slot_index;
	uint64_t slot_owner; /* owner word of the slot */
	/* number of clears of the stream when the chunk was taken */
	uint64_t epoch;
	struct ptrc_context origin;	 /* origin of the next events */
	struct ptrc_context last_origin; /* origin of the last record in the chunk */
	/* Not 0: the stamp for the next record, which is about an earlier moment. Never
	 * decreases. */
	uint64_t stamp;
	/* siglongjmp has left an event call of this writer, and the program may yet jump back into
	 * that call. The thread uses this writer again only when it has too many writers that were
	 * left. */
	bool is_left;
	/* Set by a search for room that found none: whether a flush would make room. If false,
	 * there is no memory for another chunk, and every chunk belongs to another writer. The
	 * search itself stores the answer, because right after it the keeper may change the state
	 * of the chunks. */
	bool is_room_coming;
};

void ptrc_writer_init(struct ptrc_writer *w, const struct ptrc_pool *pool, uint32_t slot_index);
/* Gives the chunk back when the thread ends or stops using the stream. Another writer may use the
 * room that is left in the chunk. */
void ptrc_writer_release(struct ptrc_writer *w);
/* Compares the writer with shared memory and corrects it. Another process may have taken the
 * chunk away, by reaping or a clear; and after siglongjmp has left an event call, `at` may be
 * wrong by one record. */
void ptrc_writer_look_again(struct ptrc_writer *w);

/* ---- for space.c and recording.c ---- */

/* Gives the chunk back because it is full or belongs to an earlier epoch. No other writer
 * continues in it. */
void ptrc_writer_seal(struct ptrc_writer *w);
/* Makes chunk `index` of generation `gen` the writer's chunk, with the next record at offset
 * `pos`. */
void ptrc_writer_stand_at(struct ptrc_writer *w, uint32_t index, uint32_t gen, uint32_t pos);
/* Whether a record can start at this offset. The offset comes from shared memory, which may be
 * damaged. */
bool ptrc_writer_is_place(const struct ptrc_writer *w, uint32_t pos);

#endif
