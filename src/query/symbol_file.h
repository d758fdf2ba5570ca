/* SPDX-License-Identifier: MIT */
/*
 * Functions, files and lines in an executable or a shared library, as its debug information tells
 * them. libdw reads it, which this loads when it is first needed: a command that shows no symbols
 * starts without it. Only one thread at a time may call any of these functions.
 */
#ifndef PTRC_SRC_QUERY_SYMBOL_FILE_H
#define PTRC_SRC_QUERY_SYMBOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/message.h"

/* A place in the source. What is not known is null or 0. The texts live as long as the file. */
struct ptrc_symbol {
	const char *function;
	const char *file;
	int line;
};

/* What a process has mapped of a file. */
struct ptrc_symbol_mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* in the file */
};

struct ptrc_symbol_file;

/* Loads libdw. Returns false with the reason if that cannot be done. */
bool ptrc_symbol_file_load(struct ptrc_cli_reason *);

/*
 * Opens the file at this path if it has the build id, else one that /usr/lib/debug/.build-id has for
 * it. Null, with the reason, if there is none; the file at the path may be another one by now.
 */
struct ptrc_symbol_file *ptrc_symbol_file_open(const char *path, const unsigned char *build_id,
					       size_t size, struct ptrc_cli_reason *);

/* Finds the source of an address in the mapping. */
void ptrc_symbol_file_find(struct ptrc_symbol_file *, const struct ptrc_symbol_mapping *,
			   uint64_t address, struct ptrc_symbol *);

/* Whether the file, or one beside it, has debug information. */
bool ptrc_symbol_file_has_lines(struct ptrc_symbol_file *);

void ptrc_symbol_file_free(struct ptrc_symbol_file *);

#endif
