/* SPDX-License-Identifier: MIT */
/*
 * Events that --where refuses, found among those of a block before anything else is done with them. The
 * sieve takes the comparison that the expression begins with, if all of the expression is false without it
 * and it compares a whole number with a literal: the identifier, the process, the thread, the time or the
 * length of an event, or a member of data whose layout puts it in a fixed place. What it lets pass is
 * still to be selected. That is worth it as most events that --where looks at are refused, and as they are
 * not even copied then.
 */
#ifndef PTRC_SRC_QUERY_SIEVE_H
#define PTRC_SRC_QUERY_SIEVE_H

#include <posixtrace-log.h>
#include <stddef.h>

#include "src/query/view.h"
#include "src/query/where.h"

struct ptrc_sieve;

/* Makes the sieve of an expression, of which it takes nothing; null if it has none. The layouts have to
 * stay, and be complete. */
struct ptrc_sieve *ptrc_sieve_make(const struct ptrc_where *, const struct ptrc_layouts *);
void ptrc_sieve_free(struct ptrc_sieve *);

/* The index of the first event, from this one on, that is not known to be refused; their number if there is
 * none. The view is that of the source. */
size_t ptrc_sieve_pass(struct ptrc_sieve *, struct ptrc_view *, const struct posixtrace_block *,
		       size_t from);

#endif
