/* SPDX-License-Identifier: MIT */
/* Places in the source code: an address is looked up in the mappings of its process in the log, and then in the file
 * that was mapped there. */
#ifndef PTRC_SRC_QUERY_SYMBOLS_H
#define PTRC_SRC_QUERY_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#include "src/base/message.h"
#include "src/query/symbol_file.h"

/* The files that a command has opened. Several threads may use them. */
struct ptrc_symbols;

/* What one thread has found in one log: one allocation, NULL at first. */
struct ptrc_symbol_cache;

/* Returns NULL with the reason if this command cannot read debug information. */
struct ptrc_symbols *ptrc_symbols_open(struct ptrc_cli_reason *);

/* Finds the place of a call that returns to the address. The process is an index of the log. If the log is growing, its
 * mappings may be added later. The texts are valid as long as the symbols, the rest until the next call with this
 * cache. */
const struct ptrc_symbol *ptrc_symbols_find(struct ptrc_symbols *, struct ptrc_symbol_cache **,
					    trace_id_t log, unsigned long process, uint64_t address,
					    bool is_growing);

/* Prints for each file why nothing is known about it, or, if lines are shown (has_lines), why no lines are. */
void ptrc_symbols_report(struct ptrc_symbols *, bool has_lines);

/* Accepts NULL. */
void ptrc_symbols_free(struct ptrc_symbols *);

#endif
