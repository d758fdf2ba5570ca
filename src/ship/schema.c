/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/schema.h"

#include <string.h>

_Static_assert(PTRC_SHIP_SCHEMA_VERSION == 1, "the view at the end says the version");

/* A column, and its type in each dialect; the type is NULL if the dialect does not have the column. */
struct column {
	const char *name;
	const char *types[PTRC_SHIP_DIALECTS];
};

#define WORD "LowCardinality(String)"
/* toDateTime() uses only the low 32 bits of its argument, so the seconds are limited to 32 bits. */
#define SECOND "toDateTime(least(greatest(intDiv(time, 1000000000), 0), 4294967295), 'UTC')"

/* The columns of the table `events', in the order in which ptrace-ship sends their values. The server itself
 * calculates the columns with ALIAS or MATERIALIZED. */
static const struct column event_columns[] = {
	{"host", {WORD, "String"}},
	{"boot", {WORD, "String"}},
	{"log", {WORD, "String"}},
	{"seq", {"UInt64 CODEC(Delta, ZSTD)", "UInt64"}},
	{"time", {"DateTime64(9, 'UTC') CODEC(DoubleDelta, ZSTD)", "Int64"}},
	{"bound", {"UInt64 CODEC(Delta, ZSTD)", "UInt64"}},
	{"pid", {"Int32 CODEC(ZSTD)", "Int32"}},
	{"tid", {"Int32 CODEC(ZSTD)", "Int32"}},
	{"process", {"UInt64 CODEC(ZSTD)", "UInt64"}},
	{"event", {WORD, "String"}},
	{"ints", {"Map(" WORD ", Int64) CODEC(ZSTD)", "Nested(name String, value Int64)"}},
	{"uints", {"Map(" WORD ", UInt64) CODEC(ZSTD)", "Nested(name String, value UInt64)"}},
	{"floats", {"Map(" WORD ", Float64) CODEC(ZSTD)", "Nested(name String, value Float64)"}},
	{"strings", {"Map(" WORD ", String) CODEC(ZSTD)", "Nested(name String, value String)"}},
	{"data", {"String CODEC(ZSTD)", "String"}},
	{"second", {NULL, "DateTime('UTC') MATERIALIZED " SECOND}},
	{"day", {NULL, "Date MATERIALIZED toDate(" SECOND ", 'UTC')"}},
	{"ns", {"Int64 ALIAS toUnixTimestamp64Nano(time)", "Int64 ALIAS time"}},
	{0},
};

static const struct column process_columns[] = {
	{"host", {WORD, "String"}},
	{"boot", {WORD, "String"}},
	{"log", {"String", "String"}},
	{"process", {"UInt64", "UInt64"}},
	{"pid", {"Int32", "Int32"}},
	{"parent", {"Int32", "Int32"}},
	{"start", {"DateTime64(9, 'UTC')", "Int64"}},
	{"user", {"UInt32", "UInt32"}},
	{"program", {WORD, "String"}},
	{"command", {"String", "String"}},
	{"build_id", {WORD, "String"}},
	{0},
};

static const struct column host_columns[] = {
	{"host", {"String", "String"}},	   {"boot", {"String", "String"}},
	{"machine", {"String", "String"}}, {"kernel", {"String", "String"}},
	{"zone", {"String", "String"}},	   {0},
};

/*
 * No row of the table `events' may be counted twice. The current engine of ClickHouse drops a batch if it has
 * seen its deduplication token before. The old engine has no such tokens. There the number of a row is part of
 * its key, and the engine drops rows with the same key when it merges parts or when a query has FINAL. It
 * compares only rows of the same partition, which is a day. So a row must have the same time each time it is
 * sent.
 */
static const struct table {
	const char *name;
	const struct column *columns;
	const char *engines[PTRC_SHIP_DIALECTS];
} tables[] = {
	{"events",
	 event_columns,
	 {"MergeTree\nPARTITION BY toDate(time)\nORDER BY (host, event, time, log, seq)\n"
	  "SETTINGS non_replicated_deduplication_window = 10000",
	  "ReplacingMergeTree\nPARTITION BY day\nORDER BY (host, log, seq)"}},
	{"processes",
	 process_columns,
	 {"ReplacingMergeTree\nORDER BY (host, log, process)",
	  "ReplacingMergeTree\nORDER BY (host, log, process)"}},
	{"hosts",
	 host_columns,
	 {"ReplacingMergeTree\nORDER BY (host, boot)",
	  "ReplacingMergeTree\nORDER BY (host, boot)"}},
};

enum { TABLES = sizeof(tables) / sizeof(*tables) };

bool ptrc_ship_dialect_named(const char *name, enum ptrc_ship_dialect *dialect)
{
	*dialect = strcmp(name, "plain") ? PTRC_SHIP_MODERN : PTRC_SHIP_PLAIN;
	return *dialect == PTRC_SHIP_PLAIN || !strcmp(name, "modern");
}

void ptrc_ship_identifier_put(struct ptrc_buffer *b, const char *name)
{
	ptrc_buffer_char(b, '`');
	for (; *name; name++) {
		if (*name == '`' || *name == '\\')
			ptrc_buffer_char(b, '\\');
		ptrc_buffer_char(b, *name);
	}
	ptrc_buffer_char(b, '`');
}

static void put_table(struct ptrc_buffer *b, enum ptrc_ship_dialect dialect, const struct table *t)
{
	const char *separator = "\n(\n";

	ptrc_buffer_text(b, t->name);
	for (const struct column *c = t->columns; c->name; c++) {
		if (!c->types[dialect])
			continue;
		ptrc_buffer_format(b, "%s    %s %s", separator, c->name, c->types[dialect]);
		separator = ",\n";
	}
	ptrc_buffer_format(b, "\n)\nENGINE = %s", t->engines[dialect]);
}

bool ptrc_ship_schema_statement(struct ptrc_buffer *b, enum ptrc_ship_dialect dialect,
				const char *database, size_t number)
{
	if (number > TABLES + 1)
		return false;
	ptrc_buffer_format(b, "CREATE %s IF NOT EXISTS ",
			   !number	      ? "DATABASE"
			   : number <= TABLES ? "TABLE"
					      : "VIEW");
	ptrc_ship_identifier_put(b, database);
	if (number)
		ptrc_buffer_char(b, '.');
	if (number > TABLES)
		ptrc_buffer_text(b, "schema AS SELECT toUInt32(1) AS version");
	else if (number)
		put_table(b, dialect, &tables[number - 1]);
	return true;
}

void ptrc_ship_schema_put(struct ptrc_buffer *b, enum ptrc_ship_dialect dialect,
			  const char *database)
{
	for (size_t i = 0; ptrc_ship_schema_statement(b, dialect, database, i); i++)
		ptrc_buffer_text(b, ";\n");
}
