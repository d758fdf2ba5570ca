/* SPDX-License-Identifier: MIT */
/* Files of logs, as far as one sees without reading them: which ones can be sent, and how old they are. */
#ifndef PTRC_SRC_SHIP_FILES_H
#define PTRC_SRC_SHIP_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Whether the file at the path is a log, or a file of a rotated one; stores what it is like. */
bool ptrc_ship_is_log(const char *path, struct stat *);

/* The path of the log that the file belongs to, which the caller frees: that of the first file of a rotated
 * log, or its own. */
char *ptrc_ship_log_of(const char *path) __attribute__((returns_nonnull));

/* Looks whether there is something at the path that can be sent. Returns false after a message. */
bool ptrc_ship_look_at(const char *path);

/* How many nanoseconds ago one of the log's files, of which this is the path of the first one, was written
 * last. It is 0 if it is not known, because a clock was set back. */
int64_t ptrc_ship_age_ns(const char *path);

#endif
