/* SPDX-License-Identifier: MIT */
/* Begins of pairs, kept until their ends come, and views of them. */
#ifndef PTRC_SRC_SPANS_KEPT_H
#define PTRC_SRC_SPANS_KEPT_H

#include <stddef.h>

#include "src/query/query.h"

/* What is kept of an event. */
struct ptrc_kept {
	struct ptrc_source *source;
	struct posix_trace_event_info event;
	struct timespec log_time;
	struct ptrc_reader_gap gap;
	int64_t since_before;
	const unsigned char *data;
	size_t size;
};

/* The views of the sources' begins, by the order of the sources; null: not needed yet. */
struct ptrc_kept_views {
	struct ptrc_kept_view **views;
};

/* Keeps the event that the source has read, decoded once, so that data that does not fit its layout
 * counts once. The data goes to the room, which has as many bytes. */
void ptrc_keep(struct ptrc_kept *, struct ptrc_source *, void *room);

void ptrc_kept_views_begin(struct ptrc_kept_views *, const struct ptrc_query *);

/* The view of a kept event, until another one of its source is asked for. */
struct ptrc_view *ptrc_kept_look(struct ptrc_kept_views *, const struct ptrc_query *,
				 const struct ptrc_kept *);

void ptrc_kept_views_free(struct ptrc_kept_views *, const struct ptrc_query *);

#endif
