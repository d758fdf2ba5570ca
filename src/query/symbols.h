/* SPDX-License-Identifier: MIT */
/* Finds places in the source code. An address is looked up first in the mappings that the log has of the process,
 * then in the file that was mapped there. */
#ifndef PTRC_SRC_QUERY_SYMBOLS_H
#define PTRC_SRC_QUERY_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#include "src/base/message.h"
#include "src/query/symbol_file.h"

/* The files that a command has opened. Several threads may use them. */
struct ptrc_symbols;

/* The places in the source code that one thread has found in one log. NULL at first; freed by one
 * free(). */
struct ptrc_symbol_cache;

/* Returns NULL, and stores the reason, if this command cannot read debug information. */
struct ptrc_symbols *ptrc_symbols_open(struct ptrc_cli_reason *);

/* Finds the place of the call that returns to the address. `process` is an index in the log. is_growing: the log
 * may get more mappings later, so an address that was not found is looked up again. The texts of the result stay
 * valid as long as the symbols, and the result itself until the next call with this cache. */
const struct ptrc_symbol *ptrc_symbols_find(struct ptrc_symbols *, struct ptrc_symbol_cache **,
					    trace_id_t log, unsigned long process, uint64_t address,
					    bool is_growing);

/* Finds the global or static variable at the address, in a file whose code the process had mapped. *offset becomes
 * the offset of the address in the variable. Returns NULL if there is no such variable. The text stays valid as
 * long as the symbols. */
const char *ptrc_symbols_find_variable(struct ptrc_symbols *, trace_id_t log, unsigned long process,
				       uint64_t address, uint64_t *offset);

/* Prints a message for each file in which no names could be looked up. If has_lines, prints one for
 * each file without line numbers, too. */
void ptrc_symbols_report(struct ptrc_symbols *, bool has_lines);

/* Frees the symbols, which may be NULL. */
void ptrc_symbols_free(struct ptrc_symbols *);

#endif
