/* SPDX-License-Identifier: MIT */
/*
 * Names of functions whose code a program made at run time. Many JIT compilers write /tmp/perf-PID.map with these
 * names, for perf(1). Only functions in which samples have addresses are kept.
 */
#ifndef PTRC_SRC_OS_CODE_NAMES_H
#define PTRC_SRC_OS_CODE_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/table.h"

struct ptrc_code_function {
	uint64_t start, bytes, samples;
	char *name;
};

/* Notes an address of a sample in code that a process made at run time, in the table of that process. */
void ptrc_code_names_note(struct ptrc_table *, uint64_t address);

/* Reads /tmp/perf-PID.map, which has to be a regular file of the user. Returns the functions that it has at the noted
 * addresses, those with most samples first; NULL if it has none. The caller frees the array and each name in it. */
struct ptrc_code_function *ptrc_code_names_read(const struct ptrc_table *, pid_t, uid_t,
						size_t *count);

#endif
