/* SPDX-License-Identifier: MIT */
/*
 * The stacks of samples, os.sample, as stacks of flames: addresses become functions, as far as the logs and
 * the files that they name tell them, else files or addresses.
 */
#ifndef PTRC_SRC_SPANS_SAMPLED_H
#define PTRC_SRC_SPANS_SAMPLED_H

#include "src/spans/flame.h"
#include "src/query/query.h"
#include "src/query/symbols.h"

/* Starts zeroed. */
struct ptrc_sampled {
	/* The frame of each address of a process. */
	struct ptrc_table addresses;
	struct ptrc_symbols *symbols;
	/* By the order of the sources. */
	struct ptrc_symbol_cache **caches;
	size_t source_count;
};

void ptrc_sampled_begin(struct ptrc_sampled *, const struct ptrc_query *);

/* The stack that the event which the source has read, a sample, has above another one. */
uint32_t ptrc_sampled_stack(struct ptrc_sampled *, struct ptrc_flames *, const struct ptrc_query *,
			    struct ptrc_source *, uint32_t below);

/* Says of which files nothing is known. */
void ptrc_sampled_report(struct ptrc_sampled *);
void ptrc_sampled_free(struct ptrc_sampled *);

#endif
