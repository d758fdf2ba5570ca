/* SPDX-License-Identifier: MIT */
/*
 * Numbers with which --where calculates, and which it compares. Each has a dimension: a time and a number, for
 * example, cannot be compared, and the difference of two times is a duration.
 *
 * Times and durations are in nanoseconds. Whole numbers are exact. A calculation has no result if it divides by 0,
 * takes the remainder of a fraction, or if its whole result does not fit in 128 bits.
 */
#ifndef PTRC_SRC_FIELDS_QUANTITY_H
#define PTRC_SRC_FIELDS_QUANTITY_H

#include <stdbool.h>

#include "src/fields/value.h"

/* An integer that can hold every integer of a field, and sums and products of a few of these. */
__extension__ typedef __int128 ptrc_whole;

struct ptrc_quantity {
	/* One of enum ptrc_dimension. */
	unsigned int dimension;
	/* If is_whole, the number is in .whole; otherwise (a fraction or a very large number) it is in .number. */
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

/* How two values compare. Each outcome is one bit. An operator such as <= is the set of the outcomes for which it
 * holds. */
enum ptrc_relation {
	PTRC_BELOW = 1,
	PTRC_EQUAL = 2,
	PTRC_ABOVE = 4,
	/* One of the values is not a number (NaN). */
	PTRC_UNORDERED = 8,
	PTRC_UNEQUAL = PTRC_BELOW | PTRC_ABOVE | PTRC_UNORDERED,
	PTRC_NOT_ABOVE = PTRC_BELOW | PTRC_EQUAL,
	PTRC_NOT_BELOW = PTRC_ABOVE | PTRC_EQUAL,
};

struct ptrc_quantity ptrc_quantity_whole(unsigned int dimension, ptrc_whole);
struct ptrc_quantity ptrc_quantity_number(unsigned int dimension, long double);

/* Reads decimal digits, which a minus sign may precede. Returns false if the text has something else, or if the number
 * does not fit in a signed integer of 128 bits. */
bool ptrc_quantity_read_whole(const char *text, size_t size, ptrc_whole *);

long double ptrc_quantity_value(const struct ptrc_quantity *);

/* If the unit is one of time, turns the number into a duration in nanoseconds. With another unit it stays a
 * number. */
void ptrc_quantity_take_unit(struct ptrc_quantity *, enum ptrc_unit);

/* Returns the set of dimensions that the result may have if the operands have dimensions of the sets a and b, or 0
 * if the operation is not possible. */
unsigned int ptrc_dimension_of(enum ptrc_operation, unsigned int a, unsigned int b);

/* Whether some dimension of set a can be compared with some dimension of set b. */
bool ptrc_dimension_is_comparable(unsigned int a, unsigned int b);

/* The words for a set of dimensions, such as "a time" or "a duration or a number". */
enum { PTRC_DIMENSION_WORDS = 100 };
const char *ptrc_dimension_words(unsigned int set, char text[PTRC_DIMENSION_WORDS]);

/* Stores the result of the operation. Returns false if there is no result. */
bool ptrc_quantity_calculate(enum ptrc_operation, const struct ptrc_quantity *,
			     const struct ptrc_quantity *, struct ptrc_quantity *result);

/* How the numbers of the two quantities compare, whatever their dimensions are. */
enum ptrc_relation ptrc_quantity_relation(const struct ptrc_quantity *,
					  const struct ptrc_quantity *);

#endif
