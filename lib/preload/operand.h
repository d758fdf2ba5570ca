/* SPDX-License-Identifier: MIT */
/*
 * The arguments of a probe (notes.h), which are written as operands of instructions: -4@%eax is a signed number of 4
 * bytes in the register eax, 8@-16(%rbp) one of 8 bytes in memory. Their values are taken from the registers that
 * a signal handler finds.
 */
#ifndef PTRC_LIB_PRELOAD_OPERAND_H
#define PTRC_LIB_PRELOAD_OPERAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

enum ptrc_operand_place {
	PTRC_OPERAND_CONSTANT,
	PTRC_OPERAND_REGISTER,
	/* A register for vectors and floating point numbers. */
	PTRC_OPERAND_VECTOR,
	PTRC_OPERAND_MEMORY,
};

/* Stands for no register. */
#define PTRC_OPERAND_NONE 255

struct ptrc_operand {
	enum ptrc_operand_place place;
	/* Of the value, in bytes: 1, 2, 4 or 8. */
	uint8_t size;
	bool is_signed;
	bool is_float;
	/* The register, by the number that the machine's registers have in this program; for memory, the base
	 * and the index, each of which may be PTRC_OPERAND_NONE, and by how many bits the index is shifted. */
	uint8_t base;
	uint8_t index;
	uint8_t shift;
	/* How many bits of the register are below the value: 8 for %ah. */
	uint8_t skip;
	/* The constant, or what is added to base and index. */
	int64_t number;
};

/* The greatest number of arguments; sdt.h allows no more. */
#define PTRC_OPERANDS_MAX 12

/* Reads the arguments of a probe. Returns false if there are more than PTRC_OPERANDS_MAX, or if one has a form that
 * is not known; this includes names of symbols. */
bool ptrc_operands_read(const char *text, struct ptrc_operand[PTRC_OPERANDS_MAX], size_t *count);

/* The arguments as the events of a probe have them. A probe may be at several places, where its arguments differ:
 * then an argument has the greatest size, and is signed if it is so at one place. Starts zeroed. */
struct ptrc_arguments {
	size_t place_count;
	size_t count;
	struct {
		uint8_t size;
		bool is_signed;
		bool is_float;
	} list[PTRC_OPERANDS_MAX];
};

/* Adds a place. Returns false if its arguments cannot be those of the others. */
bool ptrc_arguments_add(struct ptrc_arguments *, const struct ptrc_operand *, size_t count);

#define PTRC_ARGUMENTS_LAYOUT_BYTES (PTRC_OPERANDS_MAX * sizeof("i64 a12, "))

/* Writes the layout: u32 a1, i64 a2, f64 a3. */
void ptrc_arguments_layout(const struct ptrc_arguments *, char *layout);

/* Returns the value, extended to 64 bits; a floating point number by its bits. An address that cannot be read
 * gives 0. may_call: system calls may be made; otherwise an address gives 0 unless it is on the page of the
 * stack pointer. Async-signal-safe. */
uint64_t ptrc_operand_value(const struct ptrc_operand *, const ucontext_t *, bool may_call);

#endif
