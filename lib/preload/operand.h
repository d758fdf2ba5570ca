/* SPDX-License-Identifier: MIT */
/*
 * The arguments of a probe (notes.h), which are written as operands of instructions: -4@%eax is a
 * signed number of 4 bytes in the register eax, 8@-16(%rbp) an unsigned number of 8 bytes in
 * memory. Their values are computed from the registers that the context of a signal handler has.
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

/* A value of ptrc_operand.base and index: no register. */
#define PTRC_OPERAND_NONE 255

struct ptrc_operand {
	enum ptrc_operand_place place;
	/* size of the value in bytes: 1, 2, 4 or 8 */
	uint8_t size;
	bool is_signed;
	bool is_float;
	/* base: the number of the register; for x86-64 as in <sys/ucontext.h>, such as REG_RAX. For
	 * memory, base and index are two registers, each of which may be PTRC_OPERAND_NONE; the
	 * index is shifted left by `shift` bits. */
	uint8_t base;
	uint8_t index;
	uint8_t shift;
	/* number of bits of the register below the value: 8 for %ah, otherwise 0 */
	uint8_t skip;
	/* the constant, or the offset that is added to base and index */
	int64_t number;
};

/* The greatest number of arguments; sdt.h allows no more. */
#define PTRC_OPERANDS_MAX 12

/* Parses the arguments of a probe. Returns false if there are more than PTRC_OPERANDS_MAX, or if
 * one has a form that is not supported, such as the name of a symbol. */
bool ptrc_operands_read(const char *text, struct ptrc_operand[PTRC_OPERANDS_MAX], size_t *count);

/* The types of the arguments in the events of a probe. At several places of one probe an argument
 * may have different types: then it gets the greatest size, and is signed if it is signed at any
 * place. The caller zeroes the structure first. */
struct ptrc_arguments {
	size_t place_count;
	size_t count;
	struct {
		uint8_t size;
		bool is_signed;
		bool is_float;
	} list[PTRC_OPERANDS_MAX];
};

/* Adds the arguments of one place of the probe. Returns false, and changes nothing, if their number
 * or kind differs from that of the earlier places. */
bool ptrc_arguments_add(struct ptrc_arguments *, const struct ptrc_operand *, size_t count);

#define PTRC_ARGUMENTS_LAYOUT_BYTES (PTRC_OPERANDS_MAX * sizeof("i64 a12, "))

/* Writes the layout, such as "u32 a1, i64 a2, f64 a3", into `layout`, which has
 * PTRC_ARGUMENTS_LAYOUT_BYTES. */
void ptrc_arguments_layout(const struct ptrc_arguments *, char *layout);

/* Returns the value of the argument, extended to 64 bits; for a floating point number, its bits.
 * Returns 0 if its address cannot be read. may_call: system calls are allowed; without them only
 * addresses on the page of the stack pointer can be read. Async-signal-safe. */
uint64_t ptrc_operand_value(const struct ptrc_operand *, const ucontext_t *, bool may_call);

#endif
