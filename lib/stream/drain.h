/* SPDX-License-Identifier: MIT */
/*
 * Taking events out of a stream for good, a chunk at a time: what a flush is made
 * of. Used by the keeper (and by whoever finishes an orphaned stream), hence free
 * of libc: raw system calls only.
 *
 * A drain goes: begin, next until there is none, <write the runs to the log>, a commit for
 * each, end. Or one by one: begin, { next, <write>, commit }*, end. A run that was not
 * committed stays in the stream and comes again in the next drain.
 *
 * A process that dies between writing and committing leaves behind what another needs to
 * commit the same, no more and no less: ptrc_drain_begin_again.
 */
#ifndef PTRC_LIB_STREAM_DRAIN_H
#define PTRC_LIB_STREAM_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/chunk.h"
#include "lib/stream/clock.h"
#include "lib/model/record.h"
#include "lib/stream/stream.h"
#include "lib/stream/type_counts.h"

/* Events of one chunk, in time order, their times already nanoseconds of
 * CLOCK_REALTIME: record time = base_ns + delta, or the full stamp. */
struct ptrc_run {
	struct ptrc_context
		origin; /* of the first record; CONTEXT records may change it */
	int64_t base_ns;
	int64_t first_ns, last_ns; /* times of the first and the last record */
	const void *records;	   /* valid until the next call on the drain */
	uint32_t bytes;
	uint32_t event_count; /* CONTEXT and HIDDEN records not counted */
	/* Bytes of the largest record of a run that is whole and has no CONTEXT records; 0:
	 * nothing is known of it but what it holds. */
	uint32_t largest;
	/* Among records of equal time, those of the run with the smaller order come
	 * first: made-up OVERFLOW, RESUME before the events they announce. */
	uint32_t order;
};

/* What committing a run takes. */
struct ptrc_drain_note {
	uint32_t chunk; /* or one of the following, of runs that are made up */
#define PTRC_DRAIN_GAP UINT32_MAX
#define PTRC_DRAIN_STOP (UINT32_MAX - 1)
	uint32_t gen;	   /* of the chunk: later ones are not what was taken */
	uint32_t consumed; /* offset behind the run */
	uint32_t events;   /* up to there, all of them */
	uint32_t lost;	   /* those of them that are not part of the trace */
	uint32_t sum_count;
	bool is_damaged; /* what is behind the run is skipped */
};

struct ptrc_drain_sums;

struct ptrc_drain {
	struct ptrc_stream *stream;
	uint64_t until;	  /* counter: events up to here belong to this drain */
	uint64_t flushed; /* the same, of whom it was that wrote */
	uint64_t run;	  /* number of the run at its begin */
	struct ptrc_clock_cursor clock;
	/* What is not part of the trace: [gap_first, gap_last] was overwritten or is older
	 * than the last that was; from cut on the stream had stopped; [dead_from, dead_until) came
	 * too late for that stop. */
	bool has_gap, has_cut, is_stopped, is_gap_told, stop_is_out;
	uint64_t gap_first, gap_last;
	uint64_t resume; /* counter of the first event behind the gap */
	uint64_t cut, dead_from, dead_until;
	bool is_again; /* only what a dead one has taken belongs to it */
	int phase;
	uint32_t chunk; /* at work on, or next */
	bool is_pinned;
	bool is_damaged; /* the chunk: what is behind the run is skipped */
	bool is_owed;	 /* of the chunk a run was given out that is not committed */
	struct ptrc_drain_note note;  /* of the current run */
	uint64_t word;		      /* of the chunk */
	struct ptrc_walk walk;	      /* over its copy in buffer */
	uint8_t *buffer;	      /* chunk_size bytes */
	struct ptrc_drain_sums *sums; /* behind them: of the current run */
};

/* Fixes which events belong to this drain: every event whose call had returned
 * before. May wait for events half recorded, for each 100 ms at most and for all a second.
 * ENOMEM, or 0. */
int ptrc_drain_begin(struct ptrc_stream *s, struct ptrc_drain *d);
/* What a drain has given out beside the events of chunks. */
struct ptrc_drain_given {
	bool is_gap_told; /* OVERFLOW and RESUME, and what is older was dropped */
	bool is_run_over; /* everything of a run that had stopped by itself, the STOP too */
	uint8_t run_tag; /* of that run */
	uint64_t until;
};
struct ptrc_drain_given ptrc_drain_given(const struct ptrc_drain *d);
/* The run of this note is going to be written. */
void ptrc_drain_take(struct ptrc_drain *d, const struct ptrc_drain_note *note);
/* The drain of a process that died when all it took was written: gives what that has not
 * committed. Its contents are of no use any more. ENOMEM, or 0. */
int ptrc_drain_begin_again(struct ptrc_stream *s, struct ptrc_drain *d,
			   const struct ptrc_drain_given *given);
/* The next run: 0, or ENODATA when there is none. Skips damaged memory. */
int ptrc_drain_next(struct ptrc_drain *d, struct ptrc_run *run);
/* The sums by type of the last run: note.sum_count of them. */
const struct ptrc_type_sum *ptrc_drain_run_sums(const struct ptrc_drain *d);
/* A run is in the log: its room is free again. Nothing if it is gone meanwhile: cleared, or
 * overwritten. What was added behind it since stays. In the order of the runs. */
void ptrc_drain_commit(struct ptrc_drain *d, const struct ptrc_drain_note *note,
		       const struct ptrc_type_sum *sums);
/* With is_complete every run was committed: a stream that had stopped because it was
 * full restarts now, unless log_is_full. Frees the drain's buffer. */
void ptrc_drain_end(struct ptrc_drain *d, bool is_complete, bool log_is_full);

#endif
