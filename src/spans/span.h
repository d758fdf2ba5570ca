/* SPDX-License-Identifier: MIT */
/*
 * What takes time: a span has a begin and an end, or lacks one of them. Its begin is kept until the end comes; the
 * sink of the query is given each begin, if it asks for these, and each span that is over.
 */
#ifndef PTRC_SRC_SPANS_SPAN_H
#define PTRC_SRC_SPANS_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/query/query.h"
#include "src/spans/lanes.h"

/* An event that is kept beyond its reading, decoded once, so that data that does not fit its layout counts
 * once. */
struct ptrc_kept {
	struct ptrc_source *source;
	struct posix_trace_event_info event;
	struct timespec log_time;
	struct ptrc_reader_gap gap;
	int64_t since_before;
	const unsigned char *data;
	size_t size;
};

enum ptrc_span_fate {
	PTRC_SPAN_MEASURED,
	/* There is a loss between both, or where the other one may have been. */
	PTRC_SPAN_CUT,
	PTRC_SPAN_NO_BEGIN,
	PTRC_SPAN_NO_END,
};

struct ptrc_span {
	/* The one of the same key that began before it and has no end either. */
	struct ptrc_span *before;
	struct ptrc_pair_row *row;
	/* The number of its pair. */
	size_t pair;
	int64_t ns;
	/* Of the field that both events have. */
	uint64_t common_hash;
	/* Grows with the losses in its source or, if a field is the key, in all; how far it had grown when this
	 * one began. */
	const uint64_t *gaps;
	uint64_t gap_count;

	/* All that follows exists for a sink of spans only. The last of its users frees the span. */
	size_t users;
	/* Once it is over; the source has just read the event that ends it, or is null. */
	enum ptrc_span_fate fate;
	struct ptrc_source *end;
	/* Once ptrc_pairs_select() was asked: views of its events, or null. */
	struct ptrc_view *begin_view;
	struct ptrc_view *end_view;
	/* The source is null if the span has no begin. Then the sink's own members do not exist. */
	struct ptrc_kept begin;
	/* The lane of the begin, if the sink has set it; the span that this one lies within. */
	struct ptrc_lane *lane;
	struct ptrc_span *outer;
	/* Grows from each one that is nested to the next; 0: it never was. */
	uint64_t number;
	/* Others may lie within it: nothing that began before it on its lane has ended. */
	bool is_nested;
	/* The event that ended it, if the sink has it kept. */
	struct ptrc_kept *end_kept;
};

/* Starts zeroed; without a query, spans go to no sink, and their events are not kept. */
struct ptrc_spans {
	struct ptrc_query *query;
	/* The size of a span: that of a structure of the sink, whose first member is the span. */
	size_t span_size;
	uint64_t open_count;
	uint64_t nested_count;
	/* For the sink, which says what a lane takes. */
	struct ptrc_lanes lanes;
	/* By the order of the sources: views of kept events, of begins and of ends; null: not needed yet. */
	struct ptrc_kept_view **views[2];
};

/* Has spans of this size go to the sink of the query, whose sources are open. */
void ptrc_spans_begin(struct ptrc_spans *, struct ptrc_query *, size_t span_size);

/* Makes one that the event begins which the source has read. */
struct ptrc_span *ptrc_span_make(struct ptrc_spans *, struct ptrc_source *);

/* Gives the sink one that begins; one that is over, or, if it is null, one of the pair that has no begin. */
void ptrc_span_begin(struct ptrc_spans *, struct ptrc_span *);
void ptrc_span_end(struct ptrc_spans *, struct ptrc_span *, size_t pair, enum ptrc_span_fate,
		   struct ptrc_source *end);

void ptrc_span_free(struct ptrc_spans *, struct ptrc_span *);

/* Keeps the event that ends it. */
void ptrc_span_keep_end(struct ptrc_span *);

/* The views of the begin, if there is one, and of the end, if it is being read or was kept: until those of another
 * span of the same sources are asked for. That of the end knows the begin. */
struct ptrc_view *ptrc_span_begin_view(struct ptrc_spans *, const struct ptrc_span *);
struct ptrc_view *ptrc_span_end_view(struct ptrc_spans *, const struct ptrc_span *);

/* Puts a span that begins within the latest one of its lane. */
void ptrc_span_nest(struct ptrc_spans *, struct ptrc_span *);

/* Takes it out again, and with it all that began after it: these overlap it, or their ends were lost. */
void ptrc_span_leave(struct ptrc_span *);

/* Gives up one use; frees the span, and what it lies within, when no use is left. */
void ptrc_span_release(struct ptrc_span *);

void ptrc_spans_free(struct ptrc_spans *);

#endif
