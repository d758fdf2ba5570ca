/* SPDX-License-Identifier: MIT */
/* SQL statements that make the tables of posixtrace-fleet(7), in two dialects of ClickHouse. */
#ifndef PTRC_SRC_SHIP_SCHEMA_H
#define PTRC_SRC_SHIP_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buffer.h"

/* The version in the view `schema`. Raise it with each change of a table that would make an older ptrace-ship
 * write the table wrongly, or an older query read it wrongly. */
#define PTRC_SHIP_SCHEMA_VERSION 1

#define PTRC_SHIP_DATABASE "posixtrace"

enum ptrc_ship_dialect {
	/* The engine of ClickHouse 21 and later. */
	PTRC_SHIP_MODERN,
	/* The old server of Debian (18.16), which has no DateTime64, Map, LowCardinality, codecs or TTL. */
	PTRC_SHIP_PLAIN,
	PTRC_SHIP_DIALECTS,
};

/* Stores the dialect of this name. Returns false if there is no such dialect. */
bool ptrc_ship_dialect_named(const char *name, enum ptrc_ship_dialect *);

/* Puts a name, which may have any bytes, as a quoted SQL identifier. */
void ptrc_ship_identifier_put(struct ptrc_buffer *, const char *name);

/*
 * Puts the statement with this number, without a semicolon. Statements are numbered from 0. Returns false
 * after the last one. The statements make the database, then the tables, and last the view `schema`: if it
 * exists, the statements before it have succeeded. Each statement leaves existing objects unchanged.
 */
bool ptrc_ship_schema_statement(struct ptrc_buffer *, enum ptrc_ship_dialect, const char *database,
				size_t number);

void ptrc_ship_schema_put(struct ptrc_buffer *, enum ptrc_ship_dialect, const char *database);

#endif
