/* SPDX-License-Identifier: MIT */
/*
 * Events as typed columns, for programs that take many events at once. posixtrace-columns(5) describes the format: the
 * output is a sequence of blocks, each a line of JSON and the columns of some thousand events.
 *
 * A block refers to no other block, so several threads can make blocks at once.
 */
#ifndef PTRC_SRC_TEXT_COLUMNS_H
#define PTRC_SRC_TEXT_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/table.h"
#include "src/query/view.h"
#include "src/text/event_format.h"

/* The block that is being filled. Starts zeroed. */
struct ptrc_columns {
	/* The columns of the events: the time, the number of the event's origin, and the size of the data. */
	struct ptrc_buffer ns, origin, len;
	uint32_t event_count;
	/* The approximate size of the data in the block. */
	size_t data_bytes;
	/* kinds: the combinations of event type and form of data in this block and earlier ones.
	 * origins: sets of values, such as the thread, that many events of this block have in common. The lists have
	 * the kinds and origins of this block in the order of their numbers. */
	struct ptrc_table kinds, origins;
	struct ptrc_columns_kind **kind_list;
	size_t kind_count;
	struct ptrc_columns_origin **origin_list;
	size_t origin_count;
	/* Scratch space for the columns of the block that is being written. */
	struct ptrc_buffer body;
};

/* Adds to the block the event that the view's reader has read. Appends the block to the buffer if it is full. */
void ptrc_columns_put(struct ptrc_columns *, struct ptrc_buffer *, const struct ptrc_event_format *,
		      struct ptrc_view *);

/* Appends the block to the buffer, unless it is empty, and starts the next one. */
void ptrc_columns_flush(struct ptrc_columns *, struct ptrc_buffer *);

void ptrc_columns_free(struct ptrc_columns *);

#endif
