/* SPDX-License-Identifier: MIT */
/*
 * A span is the time from one event, its first, to another, its last. Either may be missing. A copy of the first
 * event is kept until the last event comes. The sink of the query gets each span when it ends and, if the sink
 * wants that, also when it starts.
 */
#ifndef PTRC_SRC_SPANS_SPAN_H
#define PTRC_SRC_SPANS_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/query/query.h"
#include "src/spans/common.h"
#include "src/spans/lanes.h"

/* A copy of an event that was read. The event was decoded before it was copied, which has counted its data if it does
 * not fit its layout. Views of the copy do not count the data again (.is_again). */
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
	/* Events were lost between the two events or, if one is missing, at a time when it may have come. */
	PTRC_SPAN_CUT,
	PTRC_SPAN_NO_BEGIN,
	PTRC_SPAN_NO_END,
};

struct ptrc_span {
	/* The latest earlier span with the same key that is still open. */
	struct ptrc_span *before;
	struct ptrc_pair_row *row;
	/* The index of the pair in struct ptrc_pairs. */
	size_t pair;
	/* How many spans have started before this one. */
	uint64_t order;
	int64_t ns;
	/* The hashes that ptrc_common_take() makes of values of the first event. */
	uint64_t hashes[PTRC_COMMON_FIELDS];
	/* A counter of losses, and its value when the span started. It counts the losses of the source or, if a
	 * field is the key, of all sources. */
	const uint64_t *gaps;
	uint64_t gap_count;

	/* The number of references to the span; the last ptrc_span_release() frees it. This member and those after
	 * it exist only if the sink takes spans. */
	size_t users;
	/* Valid when the span has ended: how it ended, and the source whose latest event is the last event of the
	 * span; NULL if that event is missing. */
	enum ptrc_span_fate fate;
	struct ptrc_source *end;
	/* Valid after ptrc_pairs_select(): views of the two events. The view of a missing event is NULL. */
	struct ptrc_view *begin_view;
	struct ptrc_view *end_view;
	/* The first event. If it is missing, its source is NULL. A sink may have a larger structure whose first member
	 * is the span (span_size); a span without a first event is not part of such a structure. */
	struct ptrc_kept begin;
	/* The lane (the thread's row in a picture) of the first event, if the sink has set it. */
	struct ptrc_lane *lane;
	/* The span in which this span lies, or NULL. */
	struct ptrc_span *outer;
	/* The number of the span, from 1 on, in the order of the calls of ptrc_span_nest(); 0: not
	 * called yet. */
	uint64_t number;
	/* The span is in its lane's chain of open spans (lane->latest, and then by .outer): ptrc_span_leave() was
	 * called neither for this span nor for a span around it. */
	bool is_nested;
	/* The last event; NULL unless the sink has called ptrc_span_keep_end(). */
	struct ptrc_kept *end_kept;
};

/* Starts zeroed. If there is no query, spans are given to no sink, and their events are not kept. */
struct ptrc_spans {
	struct ptrc_query *query;
	/* The sink has a structure for each span, with the span as its first member. This is the size of that
	 * structure. */
	size_t span_size;
	uint64_t open_count;
	uint64_t nested_count;
	/* The lanes, for use by the sink, which sets their lane_size. */
	struct ptrc_lanes lanes;
	/* Views of kept events: [0] those of first events, [1] those of last events; one for each source, NULL
	 * until it is needed. */
	struct ptrc_kept_view **views[2];
};

/* Prepares to give spans of this size to the sink of the query, whose sources are open. */
void ptrc_spans_begin(struct ptrc_spans *, struct ptrc_query *, size_t span_size);

/* Makes a span whose first event is the latest event of the source. */
struct ptrc_span *ptrc_span_make(struct ptrc_spans *, struct ptrc_source *);

/* ptrc_span_begin() gives the sink a span that starts, ptrc_span_end() one that has ended. For a span without a
 * first event, the span passed is NULL. */
void ptrc_span_begin(struct ptrc_spans *, struct ptrc_span *);
void ptrc_span_end(struct ptrc_spans *, struct ptrc_span *, size_t pair, enum ptrc_span_fate,
		   struct ptrc_source *end);

void ptrc_span_free(struct ptrc_spans *, struct ptrc_span *);

/* Keeps a copy of the last event of the span. */
void ptrc_span_keep_end(struct ptrc_span *);

/* ptrc_span_begin_view() returns the view of the first event, or NULL if that is missing. ptrc_span_end_view()
 * returns the view of the last event if that is the latest event of its source or was kept, else NULL. The caller
 * sets .begin of this view, if that is needed. Each view is valid until the same function is called for another span
 * whose event is of the same source. */
struct ptrc_view *ptrc_span_begin_view(struct ptrc_spans *, const struct ptrc_span *);
struct ptrc_view *ptrc_span_end_view(struct ptrc_spans *, const struct ptrc_span *);

/* Called for a span that starts: notes that it lies within the latest span of its lane. */
void ptrc_span_nest(struct ptrc_spans *, struct ptrc_span *);

/* Takes the span, and the spans that still lie within it, off its lane's chain of open spans. (Those spans overlap
 * this one, or their last events were lost.) Does nothing if the span has left the chain already. */
void ptrc_span_leave(struct ptrc_span *);

/* Gives up one reference to the span. If that was the last one, frees the span, and gives up its reference to the
 * span in which it lies (.outer). */
void ptrc_span_release(struct ptrc_span *);

void ptrc_spans_free(struct ptrc_spans *);

#endif
