/* SPDX-License-Identifier: MIT */
/*
 * What the server was told lately of machines and processes. A log that is followed is opened anew at each
 * look and tells of all its processes each time; by this only those are sent that are new. It has a fixed
 * size: what was told long ago is forgotten first, and would be sent once more, which the server's tables
 * bear.
 */
#ifndef PTRC_SRC_SHIP_TOLD_H
#define PTRC_SRC_SHIP_TOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PTRC_SHIP_TOLD_SETS = 4096, PTRC_SHIP_TOLD_WAYS = 8 };

struct ptrc_ship_told {
	/* Of each row a number; those of a set begin with what was told last. 0: there is none. */
	uint64_t rows[PTRC_SHIP_TOLD_SETS][PTRC_SHIP_TOLD_WAYS];
};

/* Whether the row was told before; if not, it counts as told from now on. */
bool ptrc_ship_told_has(struct ptrc_ship_told *, const char *row, size_t size);

#endif
