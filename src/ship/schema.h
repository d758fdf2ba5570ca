/* SPDX-License-Identifier: MIT */
/*
 * The tables that events of many machines are kept in, as SQL of ClickHouse. There are two dialects:
 * the current engine's, and what the old server of Debian (18.16) understands. posixtrace-fleet(7)
 * describes the tables.
 */
#ifndef PTRC_SRC_SHIP_SCHEMA_H
#define PTRC_SRC_SHIP_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buffer.h"

/* What the view `schema` says. A change of a table that an older ptrace-ship would write wrongly, or
 * an older query would read wrongly, raises it. */
#define PTRC_SHIP_SCHEMA_VERSION 1

/* The name of the database, if none is given. */
#define PTRC_SHIP_DATABASE "posixtrace"

enum ptrc_ship_dialect {
	/* The current engine. */
	PTRC_SHIP_MODERN,
	/* The old server: no DateTime64, Map, LowCardinality, codecs or TTL. */
	PTRC_SHIP_PLAIN,
	PTRC_SHIP_DIALECTS,
};

/* Returns whether there is a dialect of this name, and which one. */
bool ptrc_ship_dialect_named(const char *name, enum ptrc_ship_dialect *);

/* Puts the name as an identifier of SQL, in quotes, whatever bytes it has. */
void ptrc_ship_identifier_put(struct ptrc_buffer *, const char *name);

/*
 * Puts the statement with this number, which counts from 0, without a semicolon, and returns whether
 * there is one. Each may be executed again: what is there already stays as it is. In this order they
 * make the database, the tables, and in the end `schema', by which one sees that all of them are there.
 */
bool ptrc_ship_schema_statement(struct ptrc_buffer *, enum ptrc_ship_dialect, const char *database,
				size_t number);

/* Puts all statements, each with a semicolon at the end of its last line. */
void ptrc_ship_schema_put(struct ptrc_buffer *, enum ptrc_ship_dialect, const char *database);

#endif
