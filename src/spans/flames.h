/* SPDX-License-Identifier: MIT */
/*
 * Stacks of frames, each with a count: of samples, or of the nanoseconds spent in its innermost frame itself.
 * Memory grows with the number of different stacks. A frame of a sample (os.sample) is named by its function if
 * debug information is found, else by the file that was mapped there, else by its address.
 */
#ifndef PTRC_SRC_SPANS_FLAMES_H
#define PTRC_SRC_SPANS_FLAMES_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/table.h"
#include "src/query/query.h"
#include "src/query/symbols.h"

/* A frame on top of another stack. Stack 0 is the empty one. */
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
	/* For samples: the frame of each address of a process; symbols, or NULL, and their cache for each source. */
	struct ptrc_table addresses;
	struct ptrc_symbols *symbols;
	struct ptrc_symbol_cache **caches;
	size_t source_count;
};

/* Returns the number of the frame with this text, adding it if it is new. */
uint32_t ptrc_flames_frame(struct ptrc_flames *, const char *text, size_t size);

/* Returns the number of the stack made of another stack and a frame on top. */
uint32_t ptrc_flames_stack(struct ptrc_flames *, uint32_t below, uint32_t frame);

void ptrc_flames_add(struct ptrc_flames *, uint32_t stack, uint64_t count);

/* Returns the frames of a stack, outermost first, which the caller frees. */
uint32_t *ptrc_flames_unwind(const struct ptrc_flames *, uint32_t stack, size_t *count);

/* Opens what ptrc_flames_sample() needs to find functions. */
void ptrc_flames_begin_samples(struct ptrc_flames *, const struct ptrc_query *);

/* Returns the stack that the sample just read from the source has on top of another one. */
uint32_t ptrc_flames_sample(struct ptrc_flames *, const struct ptrc_query *, struct ptrc_source *,
			    uint32_t below);

/* Prints a message for each file without debug information. */
void ptrc_flames_report(struct ptrc_flames *);

void ptrc_flames_free(struct ptrc_flames *);

#endif
