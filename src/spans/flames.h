/* SPDX-License-Identifier: MIT */
/*
 * Flames: stacks of frames, with what was counted of each: samples, or the nanoseconds that no frame above it
 * took. Memory grows with the stacks that differ. The addresses of samples, os.sample, become functions, as far as
 * the logs and the files that they name tell them, else files or addresses.
 */
#ifndef PTRC_SRC_SPANS_FLAMES_H
#define PTRC_SRC_SPANS_FLAMES_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/table.h"
#include "src/query/query.h"
#include "src/query/symbols.h"

/* Number 0 is the empty stack. */
struct ptrc_flame_stack {
	uint32_t below;
	uint32_t frame;
	uint64_t count;
};

/* Starts zeroed. */
struct ptrc_flames {
	struct ptrc_buffer *frames;
	uint32_t frame_count;
	struct ptrc_flame_stack *stacks;
	uint32_t stack_count;
	struct ptrc_table frame_table;
	struct ptrc_table stack_table;
	/* Of samples: the frame of each address of a process; symbols, and by the order of the sources what was
	 * found there. */
	struct ptrc_table addresses;
	struct ptrc_symbols *symbols;
	struct ptrc_symbol_cache **caches;
	size_t source_count;
};

/* The number of the frame with this text. */
uint32_t ptrc_flames_frame(struct ptrc_flames *, const char *text, size_t size);

/* The number of the stack that has the frame above another stack. */
uint32_t ptrc_flames_stack(struct ptrc_flames *, uint32_t below, uint32_t frame);

void ptrc_flames_add(struct ptrc_flames *, uint32_t stack, uint64_t count);

/* The frames of a stack, from the outermost to the innermost, and how many they are; the caller frees them. */
uint32_t *ptrc_flames_unwind(const struct ptrc_flames *, uint32_t stack, size_t *count);

/* Has functions be looked for, which samples need. */
void ptrc_flames_begin_samples(struct ptrc_flames *, const struct ptrc_query *);

/* The stack that the event which the source has read, a sample, has above another one. */
uint32_t ptrc_flames_sample(struct ptrc_flames *, const struct ptrc_query *, struct ptrc_source *,
			    uint32_t below);

/* Says of which files nothing is known. */
void ptrc_flames_report(struct ptrc_flames *);

void ptrc_flames_free(struct ptrc_flames *);

#endif
