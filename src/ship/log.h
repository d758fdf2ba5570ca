/* SPDX-License-Identifier: MIT */
/*
 * A log as rows. Its events are read in the order in which they were written, so a log that grows starts
 * with the same rows whenever it is opened. The rows are numbered in this order, from 0.
 *
 * Where events are missing there is a row `posixtrace.lost' before that of the RESUME. It has the time of the
 * OVERFLOW, or, if that was on another day, the start of the RESUME's day. Its fields are from_ns, until_ns,
 * and `lost' if the number of events is known. A closed log ends with such a row for each kind of loss that
 * the log reports.
 */
#ifndef PTRC_SRC_SHIP_LOG_H
#define PTRC_SRC_SHIP_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/ship/progress.h"
#include "src/ship/row.h"
#include "src/ship/whose.h"
#include "src/query/losses.h"
#include "src/query/reader.h"
#include "src/query/view.h"

#define PTRC_SHIP_LOST "posixtrace.lost"

/* The number of kinds of losses that a closed log may report. */
enum { PTRC_SHIP_END_ROWS_MAX = 6 };

struct ptrc_ship_log {
	struct ptrc_reader reader;
	struct ptrc_view view;
	struct ptrc_layouts layouts;
	struct ptrc_ship_whose whose;
	struct ptrc_ship_fields fields;
	/* Identifies the log; all its files share it. Also as 16 hexadecimal digits. */
	uint64_t id;
	char name[17];
	/* One past the number of the log's last part. */
	uint64_t end_part;
	/* Parts from this number on are not read. */
	uint64_t limit;
	/* Parts before this number can no longer be read. */
	uint64_t first;
	/* The log was closed: it does not grow any more. */
	bool is_closed;
	/* The first files of a rotated log are gone. */
	bool is_shortened;
	/* The first columns of every row: host, boot and log. */
	struct ptrc_buffer head;
	/* Before the first event of the block, and before the next event. */
	struct ptrc_ship_place block_place;
	struct ptrc_ship_place place;
	/* The current item: an event that was read and not passed, the rows of the end, or nothing. */
	bool is_at_event;
	bool is_at_end;
	bool is_past_end;
	/* The time of the current item, and its rows. */
	int64_t ns;
	size_t row_count;
	/* The time of the event before. */
	int64_t last_ns;
	/* The loss of the last OVERFLOW; zero after a STOP. */
	struct ptrc_reader_gap loss;
	struct {
		const char *cause;
		uint64_t lost;
	} ends[PTRC_SHIP_END_ROWS_MAX];
	size_t end_count;
};

/* Opens a log as if it ended before part number `end' (UINT64_MAX: at its end); a rotated one by the path of
 * its first file. Returns NULL after a message. */
struct ptrc_ship_log *ptrc_ship_log_open(const char *path, uint64_t end);
void ptrc_ship_log_close(struct ptrc_ship_log *);

/* Updates a log that has grown, as if it had been opened now, but without what was passed before. The cost
 * does not depend on the length of the log. Returns false if it has to be opened again. */
bool ptrc_ship_log_refresh(struct ptrc_ship_log *, uint64_t end);

/* Goes to a place of a former run. Returns false after a message: the log was cut off or replaced and has
 * fewer events, or cannot be read. */
bool ptrc_ship_log_seek(struct ptrc_ship_log *, const struct ptrc_ship_place *);

/* Goes to the next item, of one or more rows, unless the current one was not passed. Returns false at the
 * end, or if the rest cannot be read (.reader.error). */
bool ptrc_ship_log_next(struct ptrc_ship_log *);

/* Puts row `number`, from 0, of the current item; returns the row's time. All rows of an item are of one
 * day. */
int64_t ptrc_ship_log_put(struct ptrc_ship_log *, size_t number, struct ptrc_buffer *);

/* The day of a time in UTC, 0 for 1970-01-01. */
int64_t ptrc_ship_day_of(int64_t ns);

/* Goes past the current item. */
void ptrc_ship_log_pass(struct ptrc_ship_log *);

/* Whether something of what was read so far is damaged, or a file is missing. */
bool ptrc_ship_log_is_damaged(const struct ptrc_ship_log *);

/* The log's losses: those that it reports and those that reading has found. */
void ptrc_ship_log_losses(const struct ptrc_ship_log *, struct ptrc_losses *);

#endif
