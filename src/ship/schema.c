/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/schema.h"

#include <string.h>

_Static_assert(PTRC_SHIP_SCHEMA_VERSION == 1,
	       "the views at the end of both dialects say the version");

/*
 * In the statements, `$' stands for the name of the database. The columns stand in the order in which
 * ptrace-ship sends them; those with ALIAS or MATERIALIZED are calculated by the server.
 *
 * The rows of `events' are not to be doubled. The current engine drops a batch whose deduplication token
 * it has seen. The old one does not know such tokens, so there the rows of a log have their numbers as
 * the key, and it drops all rows of a key but one, when it merges parts or is asked with FINAL. It does
 * so within a partition only, and it is the time that says which: so a row has to have the same time
 * whenever it is sent.
 */
static const char *const modern[] = {
	"CREATE DATABASE IF NOT EXISTS $",

	"CREATE TABLE IF NOT EXISTS $.events\n"
	"(\n"
	"    host LowCardinality(String),\n"
	"    boot LowCardinality(String),\n"
	"    log LowCardinality(String),\n"
	"    seq UInt64 CODEC(Delta, ZSTD),\n"
	"    time DateTime64(9, 'UTC') CODEC(DoubleDelta, ZSTD),\n"
	"    bound UInt64 CODEC(Delta, ZSTD),\n"
	"    pid Int32 CODEC(ZSTD),\n"
	"    tid Int32 CODEC(ZSTD),\n"
	"    process UInt64 CODEC(ZSTD),\n"
	"    event LowCardinality(String),\n"
	"    ints Map(LowCardinality(String), Int64) CODEC(ZSTD),\n"
	"    uints Map(LowCardinality(String), UInt64) CODEC(ZSTD),\n"
	"    floats Map(LowCardinality(String), Float64) CODEC(ZSTD),\n"
	"    strings Map(LowCardinality(String), String) CODEC(ZSTD),\n"
	"    data String CODEC(ZSTD),\n"
	"    ns Int64 ALIAS toUnixTimestamp64Nano(time)\n"
	")\n"
	"ENGINE = MergeTree\n"
	"PARTITION BY toDate(time)\n"
	"ORDER BY (host, event, time, log, seq)\n"
	"SETTINGS non_replicated_deduplication_window = 10000",

	"CREATE TABLE IF NOT EXISTS $.processes\n"
	"(\n"
	"    host LowCardinality(String),\n"
	"    boot LowCardinality(String),\n"
	"    log String,\n"
	"    process UInt64,\n"
	"    pid Int32,\n"
	"    parent Int32,\n"
	"    start DateTime64(9, 'UTC'),\n"
	"    user UInt32,\n"
	"    program LowCardinality(String),\n"
	"    command String,\n"
	"    build_id LowCardinality(String)\n"
	")\n"
	"ENGINE = ReplacingMergeTree\n"
	"ORDER BY (host, log, process)",

	"CREATE TABLE IF NOT EXISTS $.hosts\n"
	"(\n"
	"    host String,\n"
	"    boot String,\n"
	"    machine String,\n"
	"    kernel String,\n"
	"    zone String\n"
	")\n"
	"ENGINE = ReplacingMergeTree\n"
	"ORDER BY (host, boot)",

	"CREATE VIEW IF NOT EXISTS $.schema AS SELECT toUInt32(1) AS version",
	NULL,
};

/* toDateTime() takes 32 bits of what it is given. */
#define SECOND "toDateTime(least(greatest(intDiv(time, 1000000000), 0), 4294967295), 'UTC')"

static const char *const plain[] = {
	"CREATE DATABASE IF NOT EXISTS $",

	"CREATE TABLE IF NOT EXISTS $.events\n"
	"(\n"
	"    host String,\n"
	"    boot String,\n"
	"    log String,\n"
	"    seq UInt64,\n"
	"    time Int64,\n"
	"    bound UInt64,\n"
	"    pid Int32,\n"
	"    tid Int32,\n"
	"    process UInt64,\n"
	"    event String,\n"
	"    ints Nested(name String, value Int64),\n"
	"    uints Nested(name String, value UInt64),\n"
	"    floats Nested(name String, value Float64),\n"
	"    strings Nested(name String, value String),\n"
	"    data String,\n"
	"    second DateTime('UTC') MATERIALIZED " SECOND ",\n"
	"    day Date MATERIALIZED toDate(" SECOND ", 'UTC'),\n"
	"    ns Int64 ALIAS time\n"
	")\n"
	"ENGINE = ReplacingMergeTree\n"
	"PARTITION BY day\n"
	"ORDER BY (host, log, seq)",

	"CREATE TABLE IF NOT EXISTS $.processes\n"
	"(\n"
	"    host String,\n"
	"    boot String,\n"
	"    log String,\n"
	"    process UInt64,\n"
	"    pid Int32,\n"
	"    parent Int32,\n"
	"    start Int64,\n"
	"    user UInt32,\n"
	"    program String,\n"
	"    command String,\n"
	"    build_id String\n"
	")\n"
	"ENGINE = ReplacingMergeTree\n"
	"ORDER BY (host, log, process)",

	"CREATE TABLE IF NOT EXISTS $.hosts\n"
	"(\n"
	"    host String,\n"
	"    boot String,\n"
	"    machine String,\n"
	"    kernel String,\n"
	"    zone String\n"
	")\n"
	"ENGINE = ReplacingMergeTree\n"
	"ORDER BY (host, boot)",

	"CREATE VIEW IF NOT EXISTS $.schema AS SELECT toUInt32(1) AS version",
	NULL,
};

static const struct {
	const char *name;
	const char *const *statements;
} dialects[] = {
	[PTRC_SHIP_MODERN] = {"modern", modern},
	[PTRC_SHIP_PLAIN] = {"plain", plain},
};

bool ptrc_ship_dialect_named(const char *name, enum ptrc_ship_dialect *dialect)
{
	for (int i = 0; i < PTRC_SHIP_DIALECTS; i++) {
		if (strcmp(dialects[i].name, name) == 0) {
			*dialect = (enum ptrc_ship_dialect)i;
			return true;
		}
	}
	return false;
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

bool ptrc_ship_schema_statement(struct ptrc_buffer *b, enum ptrc_ship_dialect dialect,
				const char *database, size_t number)
{
	const char *const *statement = dialects[dialect].statements;

	for (; *statement && number; number--)
		statement++;
	if (!*statement)
		return false;
	for (const char *at = *statement; *at; at++) {
		if (*at == '$')
			ptrc_ship_identifier_put(b, database);
		else
			ptrc_buffer_char(b, *at);
	}
	return true;
}

void ptrc_ship_schema_put(struct ptrc_buffer *b, enum ptrc_ship_dialect dialect,
			  const char *database)
{
	for (size_t i = 0; ptrc_ship_schema_statement(b, dialect, database, i); i++)
		ptrc_buffer_text(b, ";\n");
}
