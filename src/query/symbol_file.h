/* SPDX-License-Identifier: MIT */
/* Looks up functions, files and lines in the debug information of an executable or a shared library. This uses
 * libdw, which ptrc_libdw_load() has loaded before. Only one thread at a time may call any of these functions. */
#ifndef PTRC_SRC_QUERY_SYMBOL_FILE_H
#define PTRC_SRC_QUERY_SYMBOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <posixtrace-log.h>

#include "src/base/message.h"

/* A place in the source code. Unknown members are NULL or 0. The texts stay valid as long as the file is open. */
struct ptrc_symbol {
	const char *function;
	const char *file;
	int line;
};

struct ptrc_symbol_file;

/* Opens the file at this path if it has this build id. Otherwise, the file was deleted or replaced: opens the debug
 * file for the build id in /usr/lib/debug/.build-id. Returns NULL, and stores the reason, if neither can be
 * opened. */
struct ptrc_symbol_file *ptrc_symbol_file_open(const char *path, const unsigned char *build_id,
					       size_t size, struct ptrc_cli_reason *);

/* Finds the place in the source code of an address, which lies within the mapping. */
void ptrc_symbol_file_find(struct ptrc_symbol_file *, const struct posixtrace_log_mapping *,
			   uint64_t address, struct ptrc_symbol *);

/* Finds the variable at an address of the process. The mapping is one of code, and only says where the process has
 * the segments of the file; the address may be in another segment. Stores the offset of the address in the
 * variable. Returns NULL if the file has no variable there. */
const char *ptrc_symbol_file_find_variable(struct ptrc_symbol_file *,
					   const struct posixtrace_log_mapping *, uint64_t address,
					   uint64_t *offset);

/* Whether the file, or its separate debug file, has debug information. */
bool ptrc_symbol_file_has_lines(struct ptrc_symbol_file *);
/* Whether the file has a symbol of a function that it defines. */
bool ptrc_symbol_file_has_names(struct ptrc_symbol_file *);

void ptrc_symbol_file_free(struct ptrc_symbol_file *);

#endif
