/* SPDX-License-Identifier: MIT */
/*
 * Skips the events of a block that --where refuses, usually most of them, before they are even copied. A sieve is
 * made from the first comparison of an expression, unless the expression may hold without it. The comparison has to
 * compare an integer with a literal: the type, process, thread, time or length of an event, or a member of the data
 * with a fixed offset. Events that pass the sieve still have to be selected.
 */
#ifndef PTRC_SRC_QUERY_SIEVE_H
#define PTRC_SRC_QUERY_SIEVE_H

#include <posixtrace-log.h>
#include <stddef.h>

#include "src/query/view.h"
#include "src/query/where.h"

struct ptrc_sieve;

/* Returns the sieve of an expression, which is one allocation, or NULL if the expression has none. The sieve
 * refers to the expression and to the layouts, to which no layout may be added any more. */
struct ptrc_sieve *ptrc_sieve_make(const struct ptrc_where *, const struct ptrc_layouts *);

/* Returns the index of the first event, from index `from` on, that passes the sieve; or the number of events of
 * the block if none passes. */
size_t ptrc_sieve_pass(struct ptrc_sieve *, struct ptrc_view *, const struct posixtrace_block *,
		       size_t from);

#endif
