/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/fields/quantity.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* The greatest ptrc_whole, 2^127 - 1. */
static const ptrc_whole WHOLE_MAX = ((((ptrc_whole)1 << 126) - 1) << 1) + 1;

enum {
	NUMBER = PTRC_DIMENSION_NUMBER,
	DURATION = PTRC_DIMENSION_DURATION,
	MOMENT = PTRC_DIMENSION_MOMENT,
	TEXT = PTRC_DIMENSION_TEXT,
	BOOL = PTRC_DIMENSION_BOOL,
	BYTES = PTRC_DIMENSION_BYTES,
	ARRAY = PTRC_DIMENSION_ARRAY,
};

/* The possible operations, with the dimensions of the operands a and b and of the result. */
static const struct rule {
	char operations[6];
	unsigned char a;
	unsigned char b;
	unsigned char result;
} rules[] = {
	{"+-*/%", NUMBER, NUMBER, NUMBER}, {"+-%", DURATION, DURATION, DURATION},
	{"/", DURATION, DURATION, NUMBER}, {"*/", DURATION, NUMBER, DURATION},
	{"*", NUMBER, DURATION, DURATION}, {"+-", MOMENT, DURATION, MOMENT},
	{"+", DURATION, MOMENT, MOMENT},   {"-", MOMENT, MOMENT, DURATION},
};

unsigned int ptrc_dimension_of(enum ptrc_operation operation, unsigned int a, unsigned int b)
{
	unsigned int result = 0;

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (strchr(rules[i].operations, (char)operation) && (a & rules[i].a) &&
		    (b & rules[i].b))
			result |= rules[i].result;
	return result;
}

/* A text can be compared with a number, because the text may be a number, such as "12", and so can bytes; `true` is the
 * number 1. */
bool ptrc_dimension_is_comparable(unsigned int a, unsigned int b)
{
	const unsigned int mixed = NUMBER | BOOL | TEXT | BYTES;

	return ((a & mixed) && (b & mixed)) || (a & b & (DURATION | MOMENT));
}

const char *ptrc_dimension_words(unsigned int set, char text[PTRC_DIMENSION_WORDS])
{
	static const struct {
		unsigned int dimension;
		const char *words;
	} all[] = {
		{MOMENT, "a time"},	 {DURATION, "a duration"}, {NUMBER, "a number"},
		{BOOL, "true or false"}, {TEXT, "text"},	   {BYTES, "bytes"},
		{ARRAY, "an array"},
	};
	char *end = text;

	*end = '\0';
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (set & all[i].dimension)
			end = stpcpy(stpcpy(end, end > text ? " or " : ""), all[i].words);
	return text;
}

struct ptrc_quantity ptrc_quantity_whole(unsigned int dimension, ptrc_whole whole)
{
	return (struct ptrc_quantity){.dimension = dimension, .is_whole = true, .whole = whole};
}

struct ptrc_quantity ptrc_quantity_number(unsigned int dimension, long double number)
{
	/* Outside of these bounds, converting to an integer could overflow. */
	bool is_small = fabsl(number) <= 0x1p64L;

	/* A fraction is rounded to a double, because fields are doubles: otherwise a field of 0.1 would not equal
	 * the literal 0.1. */
	if (is_small && (long double)(ptrc_whole)number != number)
		number = (double)number;
	if (is_small && (long double)(ptrc_whole)number == number)
		return ptrc_quantity_whole(dimension, (ptrc_whole)number);
	return (struct ptrc_quantity){.dimension = dimension, .number = number};
}

/* If the number is whole up to the precision of a double, rounds it: 1.1 ms are 1100000 ns, though the double
 * nearest to 1.1 is not exactly 1.1. */
static long double settle_fraction(long double number)
{
	long double whole;

	if (!(fabsl(number) <= 0x1p62L))
		return number;
	whole = (long double)(int64_t)(number < 0 ? number - 0.5L : number + 0.5L);
	return fabsl(whole - number) <= fabsl(number) * DBL_EPSILON ? whole : number;
}

void ptrc_quantity_take_unit(struct ptrc_quantity *q, enum ptrc_unit unit)
{
	uint64_t ns = ptrc_unit_ns(unit);

	q->dimension = ns ? PTRC_DIMENSION_DURATION : PTRC_DIMENSION_NUMBER;
	if (ns && q->is_whole)
		q->whole *= ns;
	else if (ns)
		*q = ptrc_quantity_number(PTRC_DIMENSION_DURATION,
					  settle_fraction(q->number * (long double)ns));
}

bool ptrc_quantity_read_whole(const char *text, size_t size, ptrc_whole *whole)
{
	bool is_negative = size > 1 && *text == '-';

	*whole = 0;
	for (size_t i = is_negative; i < size; i++) {
		int digit = text[i] - '0';

		if (digit < 0 || digit > 9 || *whole > (WHOLE_MAX - digit) / 10)
			return false;
		*whole = 10 * *whole + digit;
	}
	if (is_negative)
		*whole = -*whole;
	return size > 0;
}

long double ptrc_quantity_value(const struct ptrc_quantity *q)
{
	return q->is_whole ? (long double)q->whole : q->number;
}

/* Stores the quantity as a whole number. Returns false if it has a fraction or does not fit in 128 bits. */
static bool take_whole(const struct ptrc_quantity *q, ptrc_whole *whole)
{
	*whole = q->whole;
	if (q->is_whole)
		return true;
	if (!(fabsl(q->number) < 0x1p127L))
		return false;
	*whole = (ptrc_whole)q->number;
	return (long double)*whole == q->number;
}

/* Adds two numbers. Returns false if the result does not fit. The result -2^127 is refused, too, so that every
 * number can be negated. */
static bool add(ptrc_whole a, ptrc_whole b, ptrc_whole *result)
{
	if (b > 0 ? a > WHOLE_MAX - b : a < -WHOLE_MAX - b)
		return false;
	*result = a + b;
	return true;
}

/* Multiplies two numbers. Returns false if the result does not fit. (__builtin_mul_overflow() for 128 bits needs
 * a library function that not every compiler has.) */
static bool multiply(ptrc_whole a, ptrc_whole b, ptrc_whole *result)
{
	ptrc_whole a_size = a < 0 ? -a : a;
	ptrc_whole b_size = b < 0 ? -b : b;

	/* Only large factors need the division, which is slow. */
	if ((a_size | b_size) >> 63 && a_size && b_size > WHOLE_MAX / a_size)
		return false;
	*result = a * b;
	return true;
}

static bool calculate_whole(enum ptrc_operation operation, ptrc_whole a, ptrc_whole b,
			    ptrc_whole *result)
{
	switch (operation) {
	case PTRC_ADD:
		return add(a, b, result);
	case PTRC_SUBTRACT:
		return add(a, -b, result);
	case PTRC_MULTIPLY:
		return multiply(a, b, result);
	default:
		*result = a / b;
		return true;
	}
}

static long double calculate_number(enum ptrc_operation operation, long double a, long double b)
{
	return operation == PTRC_ADD	    ? a + b
	       : operation == PTRC_SUBTRACT ? a - b
	       : operation == PTRC_MULTIPLY ? a * b
					    : a / b;
}

bool ptrc_quantity_calculate(enum ptrc_operation operation, const struct ptrc_quantity *a,
			     const struct ptrc_quantity *b, struct ptrc_quantity *result)
{
	unsigned int dimension = ptrc_dimension_of(operation, a->dimension, b->dimension);
	bool is_division = operation == PTRC_DIVIDE || operation == PTRC_REMAINDER;
	ptrc_whole i = 0, j = 0, whole;
	bool is_integral = take_whole(a, &i) && take_whole(b, &j);

	if (!dimension || (is_division && ptrc_quantity_value(b) == 0))
		return false;
	if (operation == PTRC_REMAINDER) {
		if (!is_integral)
			return false;
		*result = ptrc_quantity_whole(dimension, i % j);
	} else if (a->is_whole && b->is_whole && operation == PTRC_DIVIDE && i % j) {
		/* The quotient of whole numbers may have a fraction (7 / 2 is 3.5): rounds it to a double. */
		*result = (struct ptrc_quantity){
			.dimension = dimension,
			.number = (double)(ptrc_quantity_value(a) / ptrc_quantity_value(b))};
	} else if (a->is_whole && b->is_whole && calculate_whole(operation, i, j, &whole)) {
		*result = ptrc_quantity_whole(dimension, whole);
	} else {
		*result = ptrc_quantity_number(dimension,
					       calculate_number(operation, ptrc_quantity_value(a),
								ptrc_quantity_value(b)));
	}
	return true;
}

enum ptrc_relation ptrc_quantity_relation(const struct ptrc_quantity *a,
					  const struct ptrc_quantity *b)
{
	long double x = ptrc_quantity_value(a);
	long double y = ptrc_quantity_value(b);
	ptrc_whole i, j;

	/* Different whole numbers beyond 64 bits may have the same value as a long double. */
	if (x == y && take_whole(a, &i) && take_whole(b, &j))
		return i < j ? PTRC_BELOW : i == j ? PTRC_EQUAL : PTRC_ABOVE;
	return x < y ? PTRC_BELOW : x == y ? PTRC_EQUAL : x > y ? PTRC_ABOVE : PTRC_UNORDERED;
}
