/* SPDX-License-Identifier: MIT */
/*
 * Numbers that --where calculates with and compares, with their dimensions: a time and a number cannot be compared,
 * and the difference of two times is a duration.
 *
 * Times and durations are nanoseconds. Whole numbers are exact; a result beyond 128 bits, or a division by 0, has no
 * value.
 */
#ifndef PTRC_SRC_FIELDS_QUANTITY_H
#define PTRC_SRC_FIELDS_QUANTITY_H

#include <stdbool.h>

#include "src/fields/value.h"

/* Holds every integer of a field, and sums and products of a few. */
__extension__ typedef __int128 ptrc_whole;

struct ptrc_quantity {
	/* One enum ptrc_dimension. */
	unsigned int dimension;
	/* A whole number that fits is in .whole, any other in .number. */
	bool is_whole;
	ptrc_whole whole;
	long double number;
};

enum ptrc_operation {
	PTRC_ADD = '+',
	PTRC_SUBTRACT = '-',
	PTRC_MULTIPLY = '*',
	PTRC_DIVIDE = '/',
	PTRC_REMAINDER = '%',
};

/* The order of two values, a bit each. A comparison such as <= holds for a set of them. */
enum ptrc_relation {
	PTRC_BELOW = 1,
	PTRC_EQUAL = 2,
	PTRC_ABOVE = 4,
	/* One of them is not a number (NaN). */
	PTRC_UNORDERED = 8,
	PTRC_UNEQUAL = PTRC_BELOW | PTRC_ABOVE | PTRC_UNORDERED,
	PTRC_NOT_ABOVE = PTRC_BELOW | PTRC_EQUAL,
	PTRC_NOT_BELOW = PTRC_ABOVE | PTRC_EQUAL,
};

struct ptrc_quantity ptrc_quantity_whole(unsigned int dimension, ptrc_whole);
struct ptrc_quantity ptrc_quantity_number(unsigned int dimension, long double);

/* Turns a number of units of time into a duration. With another unit it stays a number. */
void ptrc_quantity_take_unit(struct ptrc_quantity *, enum ptrc_unit);

/* The set of dimensions that results may have if the operands have dimensions of these sets; 0: the operation is not
 * possible. */
unsigned int ptrc_dimension_of(enum ptrc_operation, unsigned int a, unsigned int b);

/* Whether values of any dimension of one set can be compared with any of the other. */
bool ptrc_dimension_is_comparable(unsigned int a, unsigned int b);

/* The words for a set: "a time", "a duration or a number". */
enum { PTRC_DIMENSION_WORDS = 80 };
const char *ptrc_dimension_words(unsigned int set, char text[PTRC_DIMENSION_WORDS]);

/* Stores the result. Returns false if there is none. */
bool ptrc_quantity_calculate(enum ptrc_operation, const struct ptrc_quantity *,
			     const struct ptrc_quantity *, struct ptrc_quantity *result);

/* Stores the order. Returns false if the two cannot be compared. */
bool ptrc_quantity_compare(const struct ptrc_quantity *, const struct ptrc_quantity *,
			   enum ptrc_relation *);

#endif
