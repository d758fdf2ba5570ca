/* SPDX-License-Identifier: MIT */
/* The names of event types and their layouts, in NAMES packets. */
#ifndef PTRC_LIB_LOG_LOG_NAMES_H
#define PTRC_LIB_LOG_LOG_NAMES_H

#include "lib/base/common.h"
#include "lib/log/log_state.h"

/* Both return ENOMEM, or the error number of a write. */

/* Writes the names and layouts that are not in the log yet; `names` null: there are none. */
PTRC_MUST_CHECK int ptrc_log_names_write(struct ptrc_log_writer *w,
					 const struct ptrc_names_object *names);
/* At the end of a ring's first lap. The NAMES packets of that lap stand between its events and
 * will be overwritten with them, so this writes all names once more behind the ring, where they
 * stay. Leaves w->out alone, which holds the packet that wraps. */
PTRC_MUST_CHECK int ptrc_log_names_before_wrap(struct ptrc_log_writer *w);

/* How many names the log has. */
uint64_t ptrc_log_names_count(const struct ptrc_log_writer *w);

#endif
