/* SPDX-License-Identifier: MIT */
/*
 * Taking events out of a stream for the log. The keeper drains the stream at each flush. Free of
 * the C library: raw system calls only.
 *
 * A drain gives out the events of each chunk as a stretch. Its steps are: begin; next, until
 * there is none; the keeper writes the stretches to the log; commit, for each stretch; end. A
 * keeper that is short of memory goes stretch by stretch: begin, { next, write, commit } and so
 * on, end. A stretch that is not committed stays in the stream, and the next drain gives it out
 * again.
 *
 * If the keeper dies after it wrote and before it committed, its successor must commit the same
 * events, no more and no fewer. ptrc_drain_begin_again gives it those.
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

/* What a stretch has. All kinds but PLAIN are a single event. */
enum ptrc_stretch_kind {
	PTRC_STRETCH_PLAIN,
	PTRC_STRETCH_MARKER, /* FLUSH_START or FLUSH_STOP, which are no events of the program */
	PTRC_STRETCH_STOP,
	PTRC_STRETCH_FILTER,  /* START or FILTER, which tell the filter */
	PTRC_STRETCH_PROCESS, /* one record of that kind (PTRC_REC_PROCESS), and no event */
	PTRC_STRETCH_GAP,     /* OVERFLOW and RESUME: a FILTER may be among the events lost */
};

/* The kind of a stretch that has an event of this type. */
enum ptrc_stretch_kind ptrc_stretch_kind_of(uint32_t id);

/* Events of one writer, packed (lib/model/packed.h), in the order of their times, which are
 * nanoseconds of CLOCK_REALTIME. */
struct ptrc_stretch {
	struct ptrc_context origin;
	int64_t first_ns,
		last_ns; /* times of the first and the last event; the first is the base */
	const uint8_t *packed;
	uint32_t bytes;
	enum ptrc_stretch_kind kind;
	uint32_t records; /* events, HIDDEN ones included */
	uint32_t event_count;
	uint64_t counted;		  /* bytes that log-max-size counts */
	uint64_t largest;		  /* those of the largest event */
	const struct ptrc_type_sum *sums; /* of the events that are not HIDDEN */
	uint32_t sum_count;
	/* Events of equal time come in the order of this number: OVERFLOW and RESUME, which the
	 * drain makes up, before the events that they announce. */
	uint32_t order;
};

/* End the section that the packer has, and say of the stretch what is in it: all but origin, kind and order. */
void ptrc_stretch_pack(struct ptrc_stretch *stretch, struct ptrc_packer *p);

/* What it takes to commit a stretch. */
struct ptrc_drain_note {
	/* Its chunk. A stretch of events that the drain made up has one of these instead. */
	uint32_t chunk;
#define PTRC_DRAIN_GAP UINT32_MAX
#define PTRC_DRAIN_STOP (UINT32_MAX - 1)
	uint32_t gen;	    /* of the chunk; in a later one the events are gone */
	uint32_t consumed;  /* offset behind the stretch */
	uint32_t events;    /* up to there */
	uint32_t lost;	    /* those of them that are no part of the trace */
	uint32_t sum_count; /* of the stretch's sums */
	bool is_damaged;    /* what follows the stretch in the chunk is skipped */
};

struct ptrc_drain {
	struct ptrc_stream *stream;
	struct ptrc_consumer consumer;
	uint64_t until; /* events with stamps up to here belong to this drain */
	/* The stamp up to which the log has all events once this drain is committed. */
	uint64_t flushed;
	uint64_t run; /* number of the run when the drain began */
	struct ptrc_clock_cursor clock;
	struct ptrc_excluded excluded;
	bool has_gap;	  /* OVERFLOW and RESUME tell of [gap.first, gap.last] */
	bool is_gap_told; /* it was given out */
	struct ptrc_gap gap;
	uint64_t resume; /* stamp of the first event behind the gap */
	bool is_stopped; /* the run stopped for want of room */
	bool has_stop;	 /* the drain gives out its STOP */
	bool is_again;	 /* this drain only repeats what a dead keeper has taken */
	int phase;
	uint32_t chunk; /* at work on, or next */
	bool is_pinned; /* the chunk; then `pinned` says what it is */
	struct ptrc_pinned pinned;
	uint32_t rpos;		     /* of the pinned chunk */
	bool is_damaged;	     /* what follows in the pinned chunk is skipped */
	bool is_owed;		     /* a stretch of the chunk is given out, not committed */
	struct ptrc_drain_note note; /* of the current stretch */
	struct ptrc_walk walk;	     /* over the pinned chunk */
	uint64_t stretch_max;	     /* packed bytes of a stretch of several events */
	struct ptrc_packer *packer;  /* of the current stretch */
};

/* Begin a drain, to which every event belongs whose call has returned. Waits for event calls
 * under way, for each 100 ms at most and a second in all. ENOMEM, or 0. */
int ptrc_drain_begin(struct ptrc_stream *s, struct ptrc_drain *d);
/* What the next keeper must know of a drain, beside the notes in the chunks, if this one dies:
 * what the drain has given out. */
struct ptrc_drain_given {
	uint8_t is_gap_told; /* OVERFLOW and RESUME; older events were dropped */
	/* All events of a run that had stopped by itself, and its STOP. */
	uint8_t is_run_over;
	uint8_t run_tag; /* low byte of the number of that run */
	uint64_t until;
};
struct ptrc_drain_given ptrc_drain_given(const struct ptrc_drain *d);
/* Note in the chunk that the log is going to get the stretch of this note. */
void ptrc_drain_take(struct ptrc_drain *d, const struct ptrc_drain_note *note);
/* Begin the drain of a keeper that died after it wrote all that it took. It gives out what that
 * keeper has not committed; the records' contents are of no use any more. ENOMEM, or 0. */
int ptrc_drain_begin_again(struct ptrc_stream *s, struct ptrc_drain *d,
			   const struct ptrc_drain_given *given);
/* Give out no larger stretches from now on, unless they have a single event. */
void ptrc_drain_limit(struct ptrc_drain *d, uint64_t bytes);
/* How many bytes of memory a stretch may take while it is packed. */
uint64_t ptrc_drain_room(const struct ptrc_drain *d);
/* The next stretch, which is packed at `out`, where ptrc_drain_room() bytes are: 0, or ENODATA when
 * there is none. Its sums are valid until the next call. Skips damaged memory. */
int ptrc_drain_next(struct ptrc_drain *d, uint8_t *out, struct ptrc_stretch *stretch);
/* The stretch of this note is in the log: its room is free again. Nothing happens if its chunk
 * was cleared or overwritten meanwhile. What its writer has added since then stays. Stretches are
 * committed in the order in which they were given out. */
void ptrc_drain_commit(struct ptrc_drain *d, const struct ptrc_drain_note *note,
		       const struct ptrc_type_sum *sums);
/* End the drain. is_complete: every stretch was committed. Then a stream that stopped because it
 * was full restarts, unless log_is_full. */
void ptrc_drain_end(struct ptrc_drain *d, bool is_complete, bool log_is_full);

#endif
