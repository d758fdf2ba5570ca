/* SPDX-License-Identifier: MIT */
/*
 * Stacks of frames, as flame graphs show them, each with a count: the number of samples, or the nanoseconds that
 * were spent in the innermost frame of the stack itself. The memory grows with the number of different stacks. A
 * frame of a sample (os.sample) is named after its function if debug information is found, else after the file that
 * was mapped at its address, else by the address.
 */
#ifndef PTRC_SRC_SPANS_FLAMES_H
#define PTRC_SRC_SPANS_FLAMES_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/table.h"
#include "src/query/query.h"
#include "src/query/symbols.h"

/* A stack: a frame on top of another stack (`below`). Stack 0 is empty. */
struct ptrc_flame_stack {
	uint32_t below;
	uint32_t frame;
	uint64_t count;
};

/* Starts zeroed. */
struct ptrc_flames {
	/* The text of each frame. */
	struct ptrc_buffer *frames;
	uint32_t frame_count;
	struct ptrc_flame_stack *stacks;
	uint32_t stack_count;
	struct ptrc_table frame_table;
	struct ptrc_table stack_table;
	/* For samples: the number of the frame for each address of a process. */
	struct ptrc_table addresses;
	/* For samples: `symbols` looks up the function at an address; it is NULL if libdw is missing. Those of the
	 * query are used if it has any, because the query reports in which files it found nothing; else own_symbols.
	 * `caches` has the results found so far, for each source. */
	struct ptrc_symbols *symbols, *own_symbols;
	struct ptrc_symbol_cache **caches;
	size_t source_count;
};

/* Returns the number of the frame with this text. Adds the frame if it is new. */
uint32_t ptrc_flames_frame(struct ptrc_flames *, const char *text, size_t size);

/* Returns the number of the stack that has this frame on top of the stack `below`. Adds the stack if it is new. */
uint32_t ptrc_flames_stack(struct ptrc_flames *, uint32_t below, uint32_t frame);

void ptrc_flames_add(struct ptrc_flames *, uint32_t stack, uint64_t count);

/* Returns the numbers of the frames of a stack, the outermost first. The caller frees them. */
uint32_t *ptrc_flames_unwind(const struct ptrc_flames *, uint32_t stack, size_t *count);

/* Prepares for ptrc_flames_sample(). Prints a message if functions cannot be found by their addresses. */
void ptrc_flames_begin_samples(struct ptrc_flames *, const struct ptrc_query *);

/* Returns the number of the stack that has the frames of the sample on top of the stack `below`. The sample is
 * the latest event of the source. */
uint32_t ptrc_flames_sample(struct ptrc_flames *, const struct ptrc_query *, struct ptrc_source *,
			    uint32_t below);

/* Prints a message for each file in which no functions could be looked up, unless the query does. */
void ptrc_flames_report(struct ptrc_flames *);

void ptrc_flames_free(struct ptrc_flames *);

#endif
