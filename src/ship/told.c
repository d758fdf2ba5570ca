/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/told.h"

#include <string.h>

/* FNV-1a: with 64 bits, two different rows that are told at one time do not have the same number. */
static uint64_t number_of(const char *row, size_t size)
{
	uint64_t number = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		number = (number ^ (unsigned char)row[i]) * UINT64_C(0x100000001b3);
	return number ? number : 1;
}

bool ptrc_ship_told_has(struct ptrc_ship_told *told, const char *row, size_t size)
{
	uint64_t number = number_of(row, size);
	uint64_t *set = told->rows[(number >> 32) % PTRC_SHIP_TOLD_SETS];

	for (size_t i = 0; i < PTRC_SHIP_TOLD_WAYS; i++)
		if (set[i] == number)
			return true;
	memmove(set + 1, set, (PTRC_SHIP_TOLD_WAYS - 1) * sizeof(*set));
	*set = number;
	return false;
}
