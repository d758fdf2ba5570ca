/* SPDX-License-Identifier: MIT */
/*
 * Stacks of frames, with what was counted of each: samples, or the nanoseconds that no frame above it
 * took. Memory grows with the stacks that differ.
 */
#ifndef PTRC_SRC_SPANS_FLAME_H
#define PTRC_SRC_SPANS_FLAME_H

#include <stddef.h>
#include <stdint.h>

#include "src/cli/buffer.h"
#include "src/cli/table.h"

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
};

/* The number of the frame with this text. */
uint32_t ptrc_flames_frame(struct ptrc_flames *, const char *text, size_t size);

/* The number of the stack that has the frame above another stack. */
uint32_t ptrc_flames_stack(struct ptrc_flames *, uint32_t below, uint32_t frame);

void ptrc_flames_add(struct ptrc_flames *, uint32_t stack, uint64_t count);

void ptrc_flames_free(struct ptrc_flames *);

#endif
