/* SPDX-License-Identifier: MIT */
/*
 * Skips events of a block that --where refuses, before they are even copied; most events that --where looks at are
 * refused. A sieve has the first comparison of an expression, if the whole expression depends on it and it compares an
 * integer with a literal: the type, process, thread, time or length of an event, or a member of data with a fixed
 * offset. Events that pass it still have to be selected.
 */
#ifndef PTRC_SRC_QUERY_SIEVE_H
#define PTRC_SRC_QUERY_SIEVE_H

#include <posixtrace-log.h>
#include <stddef.h>

#include "src/query/view.h"
#include "src/query/where.h"

struct ptrc_sieve;

/* Returns the sieve of an expression, one allocation, or NULL if it has none. It refers to both; the layouts are
 * complete. */
struct ptrc_sieve *ptrc_sieve_make(const struct ptrc_where *, const struct ptrc_layouts *);

/* The index of the first event, from `from` on, that passes; the number of events if none does. */
size_t ptrc_sieve_pass(struct ptrc_sieve *, struct ptrc_view *, const struct posixtrace_block *,
		       size_t from);

#endif
