/* SPDX-License-Identifier: MIT */
/* The text of a layout: checking it, and making it from a description of a C structure. */
#ifndef PTRC_LIB_MODEL_LAYOUT_TEXT_H
#define PTRC_LIB_MODEL_LAYOUT_TEXT_H

#include <posixtrace.h>
#include <stddef.h>

#include "lib/base/common.h"

/* Checks a text. EINVAL: it is no layout. ENAMETOOLONG: it has more than POSIXTRACE_LAYOUT_MAX
 * bytes. ENOMEM. */
PTRC_MUST_CHECK int ptrc_layout_check(const char *text);

/* Writes the layout of a C structure with these members, which macros of posixtrace.h have
 * described. EINVAL: there are no members, two members overlap, or a member has an unknown kind.
 * ENAMETOOLONG: the text would have more than POSIXTRACE_LAYOUT_MAX bytes. Async-signal-safe. */
PTRC_MUST_CHECK int ptrc_layout_of_members(const struct posixtrace_member *members, size_t count,
					   char text[POSIXTRACE_LAYOUT_MAX + 1]);

#endif
