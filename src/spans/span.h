/* SPDX-License-Identifier: MIT */
/*
 * A span is the time from one event to another, its first and its last event; one of them may be missing. The first
 * event is kept until the last one comes. The sink of the query gets each span that is over and, if it asks for
 * these, each span that starts.
 */
#ifndef PTRC_SRC_SPANS_SPAN_H
#define PTRC_SRC_SPANS_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/query/query.h"
#include "src/spans/lanes.h"

/* A copy of an event that was read. It was decoded before it was copied, so that data which does not fit its layout
 * counts once. */
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
	/* Events were lost between the two, or where the missing one may have been. */
	PTRC_SPAN_CUT,
	PTRC_SPAN_NO_BEGIN,
	PTRC_SPAN_NO_END,
};

struct ptrc_span {
	/* The latest earlier span of the same key that is not over either. */
	struct ptrc_span *before;
	struct ptrc_pair_row *row;
	/* The number of its pair. */
	size_t pair;
	int64_t ns;
	/* A hash of the value of the field that both events have, see `common` of the pair; 0 without one. */
	uint64_t common_hash;
	/* A counter of losses: those of its source or, if a field is the key, of all sources; and its value when the
	 * span started. */
	const uint64_t *gaps;
	uint64_t gap_count;

	/* All that follows exists for a sink of spans only. The last user frees the span. */
	size_t users;
	/* Valid once the span is over. The source has just read the last event, or is NULL if that is missing. */
	enum ptrc_span_fate fate;
	struct ptrc_source *end;
	/* Valid after ptrc_pairs_select(): views of the two events; NULL for the one that is missing. */
	struct ptrc_view *begin_view;
	struct ptrc_view *end_view;
	/* The first event. If it is missing, the source is NULL, and the sink's own members do not exist. */
	struct ptrc_kept begin;
	/* The lane of the first event, if the sink has set it; the span that this one lies within. */
	struct ptrc_lane *lane;
	struct ptrc_span *outer;
	/* Numbers the spans that were nested, from 1; 0: this one was not. */
	uint64_t number;
	/* Other spans may lie within it: no span that started earlier on its lane has ended since. */
	bool is_nested;
	/* The last event, if the sink has called ptrc_span_keep_end(). */
	struct ptrc_kept *end_kept;
};

/* Starts zeroed. Without a query, spans go to no sink, and their events are not kept. */
struct ptrc_spans {
	struct ptrc_query *query;
	/* The size of a span: that of a structure of the sink, whose first member is the span. */
	size_t span_size;
	uint64_t open_count;
	uint64_t nested_count;
	/* For the sink, which sets the size of a lane. */
	struct ptrc_lanes lanes;
	/* For each source, views of kept events: of first events and of last events. NULL: not needed yet. */
	struct ptrc_kept_view **views[2];
};

/* Sends spans of this size to the sink of the query, whose sources are open. */
void ptrc_spans_begin(struct ptrc_spans *, struct ptrc_query *, size_t span_size);

/* Makes a span whose first event is the one that the source has read. */
struct ptrc_span *ptrc_span_make(struct ptrc_spans *, struct ptrc_source *);

/* Gives the sink a span that starts, and one that is over. A span without a first event is passed as NULL. */
void ptrc_span_begin(struct ptrc_spans *, struct ptrc_span *);
void ptrc_span_end(struct ptrc_spans *, struct ptrc_span *, size_t pair, enum ptrc_span_fate,
		   struct ptrc_source *end);

void ptrc_span_free(struct ptrc_spans *, struct ptrc_span *);

/* Keeps a copy of the last event. */
void ptrc_span_keep_end(struct ptrc_span *);

/* The view of the first event, or NULL; and that of the last event if it is being read or was kept, else NULL. Each is
 * valid until that of another span of the same source is asked for. The view of the last event points to that of the
 * first. */
struct ptrc_view *ptrc_span_begin_view(struct ptrc_spans *, const struct ptrc_span *);
struct ptrc_view *ptrc_span_end_view(struct ptrc_spans *, const struct ptrc_span *);

/* Notes that a span which starts lies within the latest one of its lane. */
void ptrc_span_nest(struct ptrc_spans *, struct ptrc_span *);

/* Undoes that for the span and for all that started after it on its lane: these overlap it, or their last events were
 * lost. */
void ptrc_span_leave(struct ptrc_span *);

/* Gives up one use; frees the span, and what it lies within, when no use is left. */
void ptrc_span_release(struct ptrc_span *);

void ptrc_spans_free(struct ptrc_spans *);

#endif
