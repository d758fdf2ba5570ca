/* SPDX-License-Identifier: MIT */
/* Replaces symbols.c and symbol_file.c in a build without libdw. As ptrc_symbols_open() fails, the other functions
 * have nothing to do. */
#include "config.h"
#include "src/query/symbols.h"

struct ptrc_symbols *ptrc_symbols_open(struct ptrc_cli_reason *why)
{
	ptrc_cli_because(why, "this command was built without libdw, which it needs");
	return NULL;
}

const struct ptrc_symbol *ptrc_symbols_find(struct ptrc_symbols *s,
					    struct ptrc_symbol_cache **cache, trace_id_t log,
					    unsigned long process, uint64_t address,
					    bool is_growing)
{
	(void)s;
	(void)cache;
	(void)log;
	(void)process;
	(void)address;
	(void)is_growing;
	return NULL;
}

const char *ptrc_symbols_find_variable(struct ptrc_symbols *s, trace_id_t log,
				       unsigned long process, uint64_t address, uint64_t *offset)
{
	(void)s;
	(void)log;
	(void)process;
	(void)address;
	(void)offset;
	return NULL;
}

void ptrc_symbols_report(struct ptrc_symbols *s, bool has_lines)
{
	(void)s;
	(void)has_lines;
}

void ptrc_symbols_free(struct ptrc_symbols *s)
{
	(void)s;
}
