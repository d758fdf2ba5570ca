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

#include "src/cli/buffer.h"
#include "src/ship/progress.h"
#include "src/ship/row.h"
#include "src/query/losses.h"

#define PTRC_SHIP_LOST "posixtrace.lost"

struct ptrc_ship_log;

/* Opens a log, which ends before the part with the number `end' (UINT64_MAX: where it ends); a rotated one by
 * the path of its first file. Returns null after a message. */
struct ptrc_ship_log *ptrc_ship_log_open(const char *path, uint64_t end);
void ptrc_ship_log_close(struct ptrc_ship_log *);

/* Looks at what the log has got since, so that it is as if it had been opened now, but for what was passed
 * before: it begins at ptrc_ship_log_first(). What it costs does not depend on the length of the log. Returns
 * false if it has to be opened anew. */
bool ptrc_ship_log_refresh(struct ptrc_ship_log *, uint64_t end);

/* The number of the part before which nobody can go. */
uint64_t ptrc_ship_log_first(const struct ptrc_ship_log *);

/* What all files of the log have in common and no other log has: 16 hexadecimal digits; and as a
 * number. */
const char *ptrc_ship_log_name(const struct ptrc_ship_log *);
uint64_t ptrc_ship_log_id(const struct ptrc_ship_log *);

/* The name of the machine that it is of. */
const char *ptrc_ship_log_host(const struct ptrc_ship_log *);

/* From now on rows are put in this dialect. */
void ptrc_ship_log_speak(struct ptrc_ship_log *, enum ptrc_ship_dialect);

/* Whether files that a rotated log began with are gone. */
bool ptrc_ship_log_is_shortened(const struct ptrc_ship_log *);

/* Whether the log was closed, so that nothing will come. */
bool ptrc_ship_log_is_closed(const struct ptrc_ship_log *);

/* The number of the part behind the last one that is in the files. */
uint64_t ptrc_ship_log_end_part(const struct ptrc_ship_log *);

/*
 * Goes to a place that was told before. Returns false after a message: the log does not have so many
 * events any more, as it was cut off or replaced, or cannot be read.
 */
bool ptrc_ship_log_seek(struct ptrc_ship_log *, const struct ptrc_ship_place *);

/* Where it is: before the row that comes next. */
struct ptrc_ship_place ptrc_ship_log_place(const struct ptrc_ship_log *);

/*
 * Goes to what comes next, which is one row or several; it may be called again and does nothing then.
 * Returns false at the end, or if the rest cannot be read (ptrc_ship_log_error()).
 */
bool ptrc_ship_log_next(struct ptrc_ship_log *);

/* What ptrc_ship_log_next() has gone to: the day of all its rows, from 0 in 1970, in UTC; and how many
 * rows it is. */
int64_t ptrc_ship_log_day(const struct ptrc_ship_log *);
size_t ptrc_ship_log_rows(const struct ptrc_ship_log *);

/* Puts its row with this number, which counts from 0; returns the time of that. */
int64_t ptrc_ship_log_put(struct ptrc_ship_log *, size_t number, struct ptrc_buffer *);

/* Goes on behind it. */
void ptrc_ship_log_pass(struct ptrc_ship_log *);

/* The error number that ended the reading, or 0. */
int ptrc_ship_log_error(const struct ptrc_ship_log *);

/* How many entries with processes the log has. */
size_t ptrc_ship_log_processes(const struct ptrc_ship_log *);

/* Put the row of the table `hosts', and that of `processes' for the entry with this number. Return false if
 * the log does not tell of its host, or tells more of the process in a later entry. */
bool ptrc_ship_log_put_host(const struct ptrc_ship_log *, struct ptrc_buffer *);
bool ptrc_ship_log_put_process(const struct ptrc_ship_log *, size_t number, struct ptrc_buffer *);

/* Whether something of what has been read cannot be read, as the log is damaged or a file of it is missing. */
bool ptrc_ship_log_is_damaged(const struct ptrc_ship_log *);

/* What the log lacks, as far as it says so and reading has found out. */
void ptrc_ship_log_losses(const struct ptrc_ship_log *, struct ptrc_losses *);

#endif
