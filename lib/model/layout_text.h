/* SPDX-License-Identifier: MIT */
/* The text of a layout, as it stands beside the name of an event type. */
#ifndef PTRC_LIB_MODEL_LAYOUT_TEXT_H
#define PTRC_LIB_MODEL_LAYOUT_TEXT_H

#include <posixtrace.h>
#include <stddef.h>

#include "lib/base/common.h"

/* Is this a layout? EINVAL; ENAMETOOLONG: it has more than POSIXTRACE_LAYOUT_MAX bytes; ENOMEM. */
PTRC_MUST_CHECK int ptrc_layout_check(const char *text);

/* Writes the layout of a structure with these members, which the compiler has described, and a null
 * byte. EINVAL: there are none, two of them overlap, or one of them is of no known kind.
 * ENAMETOOLONG. Async-signal-safe. */
PTRC_MUST_CHECK int ptrc_layout_of_members(const struct posixtrace_member *members, size_t count,
					   char text[POSIXTRACE_LAYOUT_MAX + 1]);

#endif
