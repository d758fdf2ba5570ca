/* SPDX-License-Identifier: MIT */
/*
 * Numbers that --where calculates with and compares, and what they measure: a time and a number do
 * not go together, and the difference of two times is a duration.
 *
 * Times and durations are nanoseconds. Whole numbers are exact; a result that does not fit in 128
 * bits, or a division by 0, is no value.
 */
#ifndef PTRC_SRC_FIELDS_QUANTITY_H
#define PTRC_SRC_FIELDS_QUANTITY_H

#include <stdbool.h>

#include "src/fields/value.h"

/* Holds every value of a field that is an integer, and what a few of them make together. */
__extension__ typedef __int128 ptrc_whole;

/* Of one dimension. */
struct ptrc_quantity {
	unsigned int dimension;
	/* A whole number that fits is in .whole, anything else in .number. */
	bool is_whole;
	ptrc_whole whole;
	long double number;
};

/* The operations; as characters, they are written so. */
enum ptrc_operation {
	PTRC_ADD = '+',
	PTRC_SUBTRACT = '-',
	PTRC_MULTIPLY = '*',
	PTRC_DIVIDE = '/',
	PTRC_REMAINDER = '%',
};

/* How two values stand to each other, a bit each; a relation holds for some of them. */
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

/* Makes a duration of a number of units of time; of other units it is a number. */
void ptrc_quantity_take_unit(struct ptrc_quantity *, enum ptrc_unit);

/* The dimensions that results may have if each operand has one of a set of dimensions. None: no such
 * operands go together. */
unsigned int ptrc_dimension_of(enum ptrc_operation, unsigned int a, unsigned int b);

/* Whether values of some dimension of the one set can be compared with some of the other. */
bool ptrc_dimension_is_comparable(unsigned int a, unsigned int b);

/* "a time", "a duration or a number". The text has room for all of them. */
enum { PTRC_DIMENSION_WORDS = 80 };
const char *ptrc_dimension_words(unsigned int set, char text[PTRC_DIMENSION_WORDS]);

/* Stores the result. Returns false if there is none. */
bool ptrc_quantity_calculate(enum ptrc_operation, const struct ptrc_quantity *,
			     const struct ptrc_quantity *, struct ptrc_quantity *result);

/* Stores how they stand to each other. Returns false if they cannot be compared. */
bool ptrc_quantity_compare(const struct ptrc_quantity *, const struct ptrc_quantity *,
			   enum ptrc_relation *);

#endif
