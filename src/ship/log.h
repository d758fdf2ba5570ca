/* SPDX-License-Identifier: MIT */
/*
 * A log as rows. Its events are read in the order in which they were written, so that a log that grows
 * begins with the same rows whenever it is opened; the rows have numbers in this order, from 0 on.
 *
 * Where events are missing, a row `posixtrace.lost' tells it: its time is that of the OVERFLOW, or, if
 * that was on another day, the begin of the day of the RESUME, whose row comes next. Its fields are from_ns,
 * until_ns, and `lost', if the number is known. At the end of a log that was closed, there is one for each
 * kind of what the log says it lacks.
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

/* How many kinds of losses the end of a log tells. */
enum { PTRC_SHIP_END_ROWS_MAX = 6 };

struct ptrc_ship_log {
	struct ptrc_reader reader;
	struct ptrc_view view;
	struct ptrc_layouts layouts;
	struct ptrc_ship_whose whose;
	struct ptrc_ship_fields fields;
	/* What all files of the log have in common and no other log has: as a number, and as 16 hexadecimal
	 * digits. */
	uint64_t id;
	char name[17];
	/* The number of the part after the last one, and of the one before which reading ends. */
	uint64_t end_part;
	uint64_t limit;
	/* What stood in the parts before this one is forgotten: reading cannot go back there. */
	uint64_t first;
	/* The log was closed, so that nothing will come. */
	bool is_closed;
	/* Files that a rotated log began with are gone. */
	bool is_shortened;
	/* Host, boot and log, as every row begins. */
	struct ptrc_buffer head;
	/* Before the first event of the block; and before the event that comes next. */
	struct ptrc_ship_place block_place;
	struct ptrc_ship_place place;
	/* An event was read and not passed; or a row of the end. */
	bool is_at_event;
	bool is_at_end;
	bool is_past_end;
	/* The time of what ptrc_ship_log_next() has gone to, and how many rows that is. */
	int64_t ns;
	size_t row_count;
	/* That of the event before. */
	int64_t last_ns;
	/* An OVERFLOW has come, and no RESUME yet. */
	bool is_in_loss;
	int64_t loss_ns;
	struct ptrc_reader_gap loss;
	/* The rows of the end. */
	struct {
		const char *cause;
		uint64_t lost;
	} ends[PTRC_SHIP_END_ROWS_MAX];
	size_t end_count;
};

/* Opens a log, which ends before the part with the number `end' (UINT64_MAX: where it ends); a rotated one by
 * the path of its first file. Returns null after a message. */
struct ptrc_ship_log *ptrc_ship_log_open(const char *path, uint64_t end);
void ptrc_ship_log_close(struct ptrc_ship_log *);

/* Looks at what the log has got since, so that it is as if it had been opened now, but for what was passed
 * before. What it costs does not depend on the length of the log. Returns false if it has to be opened
 * anew. */
bool ptrc_ship_log_refresh(struct ptrc_ship_log *, uint64_t end);

/*
 * Goes to a place that was told before. Returns false after a message: the log does not have so many
 * events any more, as it was cut off or replaced, or cannot be read.
 */
bool ptrc_ship_log_seek(struct ptrc_ship_log *, const struct ptrc_ship_place *);

/*
 * Goes to what comes next, which is one row or several; it may be called again and does nothing then.
 * Returns false at the end, or if the rest cannot be read (.reader.error).
 */
bool ptrc_ship_log_next(struct ptrc_ship_log *);

/* Puts its row with this number, which counts from 0; returns the time of that. */
int64_t ptrc_ship_log_put(struct ptrc_ship_log *, size_t number, struct ptrc_buffer *);

/* The day of a time, from 0 in 1970, in UTC; that of all rows of one such step is the same. */
int64_t ptrc_ship_day_of(int64_t ns);

/* Goes on behind it. */
void ptrc_ship_log_pass(struct ptrc_ship_log *);

/* Whether something of what has been read cannot be read, as the log is damaged or a file of it is missing. */
bool ptrc_ship_log_is_damaged(const struct ptrc_ship_log *);

/* What the log lacks, as far as it says so and reading has found out. */
void ptrc_ship_log_losses(const struct ptrc_ship_log *, struct ptrc_losses *);

#endif
