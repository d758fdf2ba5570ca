/* SPDX-License-Identifier: MIT */
/* Files of logs: which of them can be sent, and how old they are. Their events are not read. */
#ifndef PTRC_SRC_SHIP_FILES_H
#define PTRC_SRC_SHIP_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Whether the file is a log or belongs to a rotated log. Stores its stat data if it could be opened. */
bool ptrc_ship_is_log(const char *path, struct stat *);

/* Whether the path is that of a log that can be sent. If not, prints a message with the reason. */
bool ptrc_ship_look_at(const char *path);

/* Returns the nanoseconds since the last write to any file of the log; 0 if they are unknown, for example because
 * a clock was set back. `path` is that of the log's first file. */
int64_t ptrc_ship_age_ns(const char *path);

#endif
