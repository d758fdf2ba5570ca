/* SPDX-License-Identifier: MIT */
/*
 * A log as rows of the server's table `events'. The events are read in the order in which they were written. So a log
 * that grows starts with the same rows each time it is opened. The rows are numbered in this order, from 0.
 *
 * Where events are missing, there is a row `posixtrace.lost' before the row of the event that ends the loss: a
 * RESUME, or the START after a full stream has stopped. The time of this row is that of the OVERFLOW or STOP with
 * which the loss began; if that was on an earlier day, it is the start of the day on which the loss ended. Its
 * fields are cause, from_ns, until_ns and, if the number of lost events is known, `lost'. After the events of a
 * closed log, there is a row `posixtrace.lost' with the fields cause and `lost' for each kind of loss that the log
 * reports.
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

/* The most kinds of losses that a closed log may report: the calls of note_end() in log.c. */
enum { PTRC_SHIP_END_ROWS_MAX = 7 };

struct ptrc_ship_log {
	struct ptrc_reader reader;
	struct ptrc_view view;
	struct ptrc_layouts layouts;
	struct ptrc_ship_whose whose;
	struct ptrc_ship_fields fields;
	/* Identifies the log, in all its files. `name` is the same number as 16 hexadecimal digits. */
	uint64_t id;
	char name[17];
	/* One more than the number of the log's last part. The log consists of parts, numbered from 0. */
	uint64_t end_part;
	/* Parts with this number or a higher one are not read. */
	uint64_t limit;
	/* The number of the first part that can be read: ptrc_ship_log_refresh() forgets earlier ones. */
	uint64_t first;
	/* The log was closed, so it does not grow any more. */
	bool is_closed;
	/* The log was rotated, and its first files are gone. */
	bool is_shortened;
	/* The number of the first part that exists: not 0 if .is_shortened. */
	uint64_t first_part;
	/* The first columns of every row: host, boot and log. */
	struct ptrc_buffer head;
	/* The place before the first event of the current block. */
	struct ptrc_ship_place block_place;
	/* The place before the next event. */
	struct ptrc_ship_place place;
	/* The current item: an event that was read and not passed (is_at_event), or the rows at the end of a
	 * closed log (is_at_end), or nothing. */
	bool is_at_event;
	bool is_at_end;
	bool is_past_end;
	/* The time of the current item. */
	int64_t ns;
	/* How many rows the current item has. */
	size_t row_count;
	/* The time of the event before the current item. */
	int64_t last_ns;
	/* The loss that the last OVERFLOW reports; zeroed after a STOP, which reports none. */
	struct ptrc_reader_gap loss;
	/* The losses that the closed log reports: the cause of each, as words for users, and the number of lost events
	 * or, for the cause "untraced processes", of these processes. */
	struct {
		const char *cause;
		uint64_t lost;
	} ends[PTRC_SHIP_END_ROWS_MAX];
	size_t end_count;
};

/* Opens a log as if it ended before part number `end' (UINT64_MAX: where it ends). A rotated log is opened by
 * the path of its first file. Returns NULL after a message. */
struct ptrc_ship_log *ptrc_ship_log_open(const char *path, uint64_t end);
void ptrc_ship_log_close(struct ptrc_ship_log *);

/* Reads what was added to a log, up to part number `end`, not included. Afterwards the log is as if it had just
 * been opened and started with part number .place.part; ptrc_ship_log_seek() has to follow. How long this takes does
 * not depend on the length of the log. Returns false if the log has to be opened again. */
bool ptrc_ship_log_refresh(struct ptrc_ship_log *, uint64_t end);

/* Goes to a place that a progress file has stored. Returns false, after a message, if the log cannot be read
 * or was cut off or replaced, so that it has fewer events. */
bool ptrc_ship_log_seek(struct ptrc_ship_log *, const struct ptrc_ship_place *);

/* Goes to the next item, which has one row or more. If the current item was not passed, stays at it. Returns false
 * at the end, or if the rest cannot be read (.reader.error). */
bool ptrc_ship_log_next(struct ptrc_ship_log *);

/* Puts row `number` of the current item, from 0 on, into the buffer. Returns the time of the row. All rows of an
 * item belong to the same day. */
int64_t ptrc_ship_log_put(struct ptrc_ship_log *, size_t number, struct ptrc_buffer *);

/* Returns the day of a time in UTC; 1970-01-01 is day 0. */
int64_t ptrc_ship_day_of(int64_t ns);

/* Goes past the current item, at which ptrc_ship_log_next() has stopped. */
void ptrc_ship_log_pass(struct ptrc_ship_log *);

/* Whether a part of the log that was read so far is damaged, or a file is missing. */
bool ptrc_ship_log_is_damaged(const struct ptrc_ship_log *);

/* Stores the losses of the log: those that it reports, and those that were found by reading it. */
void ptrc_ship_log_losses(const struct ptrc_ship_log *, struct ptrc_losses *);

#endif
