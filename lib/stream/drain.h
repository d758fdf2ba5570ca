/* SPDX-License-Identifier: MIT */
/*
 * Taking events out of a stream for the log. The keeper drains the stream at each flush. Raw system
 * calls only.
 *
 * A drain returns the events of each chunk as stretches. Its steps are: begin; next, until there
 * are no more; the keeper writes the stretches to the log; commit, for each stretch; end. A keeper
 * that is short of memory goes stretch by stretch: begin, { next, write, commit }, end. A stretch
 * that is not committed stays in the stream, and the next drain returns it again.
 *
 * If the keeper dies after writing and before committing, its successor must commit exactly the
 * same events. ptrc_drain_begin_again() returns those.
 */
#ifndef PTRC_LIB_STREAM_DRAIN_H
#define PTRC_LIB_STREAM_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/packed.h"
#include "lib/stream/chunk.h"
#include "lib/stream/clock.h"
#include "lib/stream/consumer.h"
#include "lib/stream/stream.h"

/* The contents of a stretch. All kinds but PLAIN are a single event. */
enum ptrc_stretch_kind {
	PTRC_STRETCH_PLAIN,
	PTRC_STRETCH_MARKER, /* FLUSH_START or FLUSH_STOP, which are no events of the program */
	PTRC_STRETCH_STOP,
	PTRC_STRETCH_FILTER,  /* START or FILTER, which contain the filter */
	PTRC_STRETCH_PROCESS, /* a PTRC_REC_PROCESS record, which is no event */
	PTRC_STRETCH_GAP,     /* OVERFLOW and RESUME; the lost events may include a FILTER */
};

/* The kind of a stretch with an event of this type. */
enum ptrc_stretch_kind ptrc_stretch_kind_of(uint32_t id);

/* Events of one writer, packed (lib/model/packed.h), in the order of their times in ns of
 * CLOCK_REALTIME. */
struct ptrc_stretch {
	struct ptrc_context origin;
	int64_t first_ns,
		/* times of the first event, to which the others are relative, and the last */
		last_ns;
	const uint8_t *packed;
	uint32_t bytes;
	enum ptrc_stretch_kind kind;
	uint32_t records; /* events, HIDDEN ones included */
	uint32_t event_count;
	uint64_t counted;		  /* bytes by which it counts for log-max-size */
	uint64_t largest;		  /* and those of its largest event */
	const struct ptrc_type_sum *sums; /* of the events that are not HIDDEN */
	uint32_t sum_count;
	/* Orders events of equal time: OVERFLOW and RESUME, which the drain makes up, come
	 * before the events that they announce. */
	uint32_t order;
};

/* Ends the packer's section and sets all members of the stretch but origin, kind and order. */
void ptrc_stretch_pack(struct ptrc_stretch *stretch, struct ptrc_packer *p);

/* What committing a stretch needs. */
struct ptrc_drain_note {
	/* Its chunk, or one of these for events that the drain made up. */
	uint32_t chunk;
#define PTRC_DRAIN_GAP UINT32_MAX
#define PTRC_DRAIN_STOP (UINT32_MAX - 1)
	uint32_t gen;	    /* of the chunk; if it is later now, the events are gone */
	uint32_t consumed;  /* offset of the end of the stretch in the chunk */
	uint32_t events;    /* events up to there */
	uint32_t lost;	    /* events among them that are no part of the trace */
	uint32_t sum_count; /* number of the stretch's sums */
	bool is_damaged;    /* the rest of the chunk is skipped */
};

struct ptrc_drain {
	struct ptrc_stream *stream;
	struct ptrc_consumer consumer;
	uint64_t until; /* events with stamps up to here belong to this drain */
	/* Once this drain is committed, the log has all events with stamps up to this. */
	uint64_t flushed;
	uint64_t run; /* number of the run at the start of the drain */
	struct ptrc_clock_cursor clock;
	struct ptrc_excluded excluded;
	bool has_gap;	  /* events with stamps in [gap.first, gap.last] are lost */
	bool is_gap_told; /* the stretch with OVERFLOW and RESUME was returned */
	struct ptrc_gap gap;
	uint64_t resume; /* stamp of the first event after the gap */
	bool is_stopped; /* the run stopped for want of room */
	bool has_stop;	 /* the drain returns the STOP of the run */
	bool is_again;	 /* this drain only returns what a dead keeper has taken */
	int phase;
	uint32_t chunk; /* the current or next one */
	bool is_pinned; /* the chunk is pinned, by `pinned` */
	struct ptrc_pinned pinned;
	uint32_t rpos;	 /* offset of its first unconsumed record */
	bool is_damaged; /* the rest of the pinned chunk is skipped */
	/* a stretch of the chunk was returned and is not committed yet */
	bool is_owed;
	struct ptrc_drain_note note; /* of the current stretch */
	struct ptrc_walk walk;	     /* over the pinned chunk */
	uint64_t stretch_max;	     /* limit for the packed bytes of a stretch of several events */
	struct ptrc_packer *packer;
};

/* Starts a drain, which includes every event whose call has returned. Waits for event calls
 * under way, at most 100 ms for each and a second in all. ENOMEM, or 0. */
int ptrc_drain_begin(struct ptrc_stream *s, struct ptrc_drain *d);
/* The state of a drain, in addition to the notes in the chunks, that the next keeper needs if
 * this one dies. */
struct ptrc_drain_given {
	uint8_t is_gap_told; /* OVERFLOW and RESUME were returned; older events were dropped */
	/* All events of a run that had stopped by itself were returned, and its STOP. */
	uint8_t is_run_over;
	uint8_t run_tag; /* low byte of the number of that run */
	uint64_t until;
};
struct ptrc_drain_given ptrc_drain_given(const struct ptrc_drain *d);
/* Records in the chunk that the stretch is about to be written to the log. */
void ptrc_drain_take(struct ptrc_drain *d, const struct ptrc_drain_note *note);
/* Starts the drain of a successor, after a keeper has died that had written all that it took.
 * Returns what that keeper has not committed, with contents of no use. ENOMEM, or 0. */
int ptrc_drain_begin_again(struct ptrc_stream *s, struct ptrc_drain *d,
			   const struct ptrc_drain_given *given);
/* Limits the size of stretches from now on, except those of a single event. */
void ptrc_drain_limit(struct ptrc_drain *d, uint64_t bytes);
/* The bytes of memory that packing a stretch may need. */
uint64_t ptrc_drain_room(const struct ptrc_drain *d);
/* Packs the next stretch at `out`, which has ptrc_drain_room() bytes. ENODATA if there are no
 * more. Its sums are valid until the next call. Skips damaged memory. */
int ptrc_drain_next(struct ptrc_drain *d, uint8_t *out, struct ptrc_stretch *stretch);
/* The stretch is in the log: frees its room. Nothing happens if its chunk was cleared or
 * overwritten meanwhile. Events that the writer has added since then stay. Stretches are
 * committed in the order of their return. */
void ptrc_drain_commit(struct ptrc_drain *d, const struct ptrc_drain_note *note,
		       const struct ptrc_type_sum *sums);
/* Ends the drain. is_complete: every stretch was committed. Then a stream that stopped because
 * it was full restarts, unless log_is_full. */
void ptrc_drain_end(struct ptrc_drain *d, bool is_complete, bool log_is_full);

#endif
