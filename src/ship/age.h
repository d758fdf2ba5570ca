/* SPDX-License-Identifier: MIT */
/* How long ago a log was written. */
#ifndef PTRC_SRC_SHIP_AGE_H
#define PTRC_SRC_SHIP_AGE_H

#include <stdint.h>

/* How many nanoseconds ago one of the log's files, of which this is the path of the first one, was written
 * last. If nobody knows, as a clock was set back, it is 0. */
int64_t ptrc_ship_age_ns(const char *path);

#endif
