/* SPDX-License-Identifier: MIT */
/*
 * Taking events out of a stream for the log. The keeper drains the stream at each flush. This file
 * makes raw system calls only, because the keeper has no C library.
 *
 * A drain returns the events of each chunk as stretches: packed sequences of events of one
 * writer. The keeper calls ptrc_drain_begin(); then ptrc_drain_next() until there are no more
 * stretches; writes the stretches to the log; calls ptrc_drain_commit() for each stretch, which
 * frees its memory in the stream; and calls ptrc_drain_end(). A keeper that is short of memory
 * writes and commits each stretch before it asks for the next. A stretch that is not committed
 * stays in the stream, and the next drain returns it again.
 *
 * If the keeper dies after it has written stretches and before it has committed them, the next
 * keeper must commit exactly the same events. ptrc_drain_begin_again() starts a drain that
 * returns these events.
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

/* The kinds of stretches (packed events of one writer). PLAIN: any number of events. GAP: the
 * events OVERFLOW and RESUME. A stretch of any other kind has a single event. */
enum ptrc_stretch_kind {
	PTRC_STRETCH_PLAIN,
	PTRC_STRETCH_MARKER, /* FLUSH_START or FLUSH_STOP, which are no events of the program */
	PTRC_STRETCH_STOP,
	PTRC_STRETCH_FILTER,  /* START or FILTER, which contain the filter */
	PTRC_STRETCH_PROCESS, /* the controller's description of a process, no event */
	/* OVERFLOW and RESUME; a change of the filter may be among the events lost between them */
	PTRC_STRETCH_GAP,
};

/* The kind of a stretch with an event of this type. */
enum ptrc_stretch_kind ptrc_stretch_kind_of(uint32_t id);

/* The limit for the packed bytes of a stretch that a drain returns, unless it has a single event: a
 * quarter of a packet of a log, because splitting a larger one among packets would take long. */
#define PTRC_STRETCH_BYTES (UINT64_C(64) << 10)

/* Events of one writer, packed (lib/model/packed.h), in the order of their times in ns of
 * CLOCK_REALTIME. */
struct ptrc_stretch {
	struct ptrc_context origin;
	/* times of the first and of the last event; the packed times are relative to first_ns */
	int64_t first_ns, last_ns;
	const uint8_t *packed;
	uint32_t bytes;
	enum ptrc_stretch_kind kind;
	uint32_t records; /* number of events, including HIDDEN records */
	uint32_t event_count;
	/* bytes by which the stretch counts towards log-max-size */
	uint64_t counted;
	uint64_t largest;		  /* bytes by which its largest event counts */
	const struct ptrc_type_sum *sums; /* sums by event type, without HIDDEN records */
	uint32_t sum_count;
	/* If events have equal times, the stretch with the smaller order comes first: OVERFLOW and
	 * RESUME, which the drain makes up, come before the events that they announce. */
	uint32_t order;
};

/* Ends the packing (ptrc_packer_end) and sets all members of the stretch but origin, kind and
 * order. */
void ptrc_stretch_pack(struct ptrc_stretch *stretch, struct ptrc_packer *p);

/* The facts about a stretch that ptrc_drain_commit() needs. */
struct ptrc_drain_note {
	/* The chunk of the stretch; or PTRC_DRAIN_GAP or PTRC_DRAIN_STOP, for events that the
	 * drain made up. */
	uint32_t chunk;
#define PTRC_DRAIN_GAP UINT32_MAX
#define PTRC_DRAIN_STOP (UINT32_MAX - 1)
	/* generation of the chunk when the stretch was packed; if it differs at the commit, the
	 * events are gone */
	uint32_t gen;
	uint32_t consumed;  /* offset of the end of the stretch in the chunk */
	uint32_t events;    /* number of events that the commit consumes, without HIDDEN records */
	uint32_t lost;	    /* number of those events that are no part of the trace */
	uint32_t sum_count; /* number of sums by event type */
	bool is_damaged;    /* the rest of the chunk is damaged and is skipped */
	uint64_t filter;    /* stamp of the last START or FILTER of the stretch; 0: it has none */
};

struct ptrc_drain {
	struct ptrc_stream *stream;
	struct ptrc_consumer consumer;
	uint64_t until; /* events with stamps up to this belong to this drain */
	/* Once this drain is committed, the log has all events with stamps up to this. */
	uint64_t flushed;
	uint64_t run; /* number of the run at the start of the drain */
	struct ptrc_clock_cursor clock;
	struct ptrc_excluded excluded;
	bool has_gap;	  /* events with stamps in [gap.first, gap.last] are lost */
	bool is_gap_told; /* the stretch with OVERFLOW and RESUME was returned */
	struct ptrc_gap gap;
	uint64_t resume; /* stamp of the first event after the gap */
	bool is_stopped; /* the run has stopped because the stream was full */
	bool has_stop;	 /* the drain returns the STOP event of the run */
	bool is_again;	 /* this drain returns only the events that a dead keeper had taken */
	int phase;	 /* PHASE_* of drain.c: which events the drain returns next */
	uint32_t chunk;	 /* index of the current or next chunk */
	bool is_pinned;	 /* the current chunk is pinned */
	struct ptrc_pinned pinned;
	uint32_t rpos;	 /* offset of the first unconsumed record of the pinned chunk */
	bool is_damaged; /* the rest of the pinned chunk is skipped */
	/* a stretch of the current chunk was returned and is not committed yet */
	bool is_owed;
	struct ptrc_drain_note note; /* what is needed to commit the current stretch */
	struct ptrc_walk walk;	     /* position in the pinned chunk */
	/* Number of events that are no part of the trace and do not count as lost yet, because
	 * their stretches are not committed. */
	uint64_t left_out;
	/* Set by the keeper before the first stretch: the drain only counts events. Each stretch
	 * then stands for all events of a chunk, of any writers; its members packed, bytes, origin
	 * and the times are not set. Each must be committed before the next one is asked for. */
	bool only_counts;
	struct ptrc_packer *packer;
};

/* Starts taking out, for the log, all events whose calls have returned. Waits for event calls under
 * way, at most 100 ms for each call and one second in all. Returns 0 or ENOMEM. */
int ptrc_drain_begin(struct ptrc_stream *s, struct ptrc_drain *d);
/* The state of a drain that the next keeper needs if this keeper dies, in addition to the notes
 * in the chunks. */
struct ptrc_drain_given {
	uint8_t is_gap_told; /* OVERFLOW and RESUME were returned, and older events were dropped */
	/* The run had stopped because the stream was full, and all its events and its STOP event
	 * were returned. */
	uint8_t is_run_over;
	uint8_t run_tag; /* low byte of the number of the run */
	uint64_t until;
};
struct ptrc_drain_given ptrc_drain_given(const struct ptrc_drain *d);
/* Stores in the chunk which events the keeper is about to write to the log (note). If the keeper
 * is killed, its successor reads there which events the keeper had taken. */
void ptrc_drain_take(struct ptrc_drain *d, const struct ptrc_drain_note *note);
/* Starts a drain for the successor of a keeper that has died after it had written all events that
 * it had taken. This drain returns the stretches that the dead keeper had not committed, only so
 * that they can be committed: they are in the log already. Returns 0 or ENOMEM. */
int ptrc_drain_begin_again(struct ptrc_stream *s, struct ptrc_drain *d,
			   const struct ptrc_drain_given *given);
/* The bytes of memory that packing a stretch may need. */
uint64_t ptrc_drain_room(const struct ptrc_drain *d);
/* Packs the next stretch (events of one writer) at `out`, which has ptrc_drain_room() bytes.
 * ENODATA: there are no more stretches. The sums of the stretch are valid until the next call
 * of this function or of ptrc_drain_end(). Damaged memory is skipped. */
int ptrc_drain_next(struct ptrc_drain *d, uint8_t *out, struct ptrc_stretch *stretch);
/* Frees the memory of a stretch that is now in the log. Nothing happens if its chunk was cleared
 * or overwritten meanwhile. Events that the chunk's writer has added after the stretch stay in
 * the stream. Stretches must be committed in the order in which ptrc_drain_next() returned them. */
void ptrc_drain_commit(struct ptrc_drain *d, const struct ptrc_drain_note *note,
		       const struct ptrc_type_sum *sums);
/* Ends the drain. is_complete says that every stretch was committed; then a stream that had
 * stopped because it was full restarts, unless log_is_full. */
void ptrc_drain_end(struct ptrc_drain *d, bool is_complete, bool log_is_full);

#endif
