/* SPDX-License-Identifier: MIT */
/*
 * Where in the source an event was generated: its address is looked up among the mappings that the
 * log has of its process, and then in the file that was mapped there.
 */
#ifndef PTRC_SRC_QUERY_SYMBOLS_H
#define PTRC_SRC_QUERY_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#include "src/base/message.h"
#include "src/query/symbol_file.h"

/* All that a command has found. Several threads may use it. */
struct ptrc_symbols;

/* What one thread has found in one log, so that it need not ask again. Starts as null. */
struct ptrc_symbol_cache;

/* Null, with the reason, if this command cannot read debug information. */
struct ptrc_symbols *ptrc_symbols_open(struct ptrc_cli_reason *);

/*
 * Finds the source of a call that returned to the address. The process is one of the log, by its
 * number there. If the log is growing, it may tell more of the process later. The texts stay as long as the
 * symbols; the rest until the next call with this cache.
 */
const struct ptrc_symbol *ptrc_symbols_find(struct ptrc_symbols *, struct ptrc_symbol_cache **,
					    trace_id_t log, unsigned long process, uint64_t address,
					    bool is_growing);

/* Says for each file that events came from, and of which nothing or only a part is known, why. Whoever
 * shows no lines does not miss them. */
void ptrc_symbols_report(struct ptrc_symbols *, bool has_lines);

void ptrc_symbol_cache_free(struct ptrc_symbol_cache *);
/* Null is allowed. */
void ptrc_symbols_free(struct ptrc_symbols *);

#endif
