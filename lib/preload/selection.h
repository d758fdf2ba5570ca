/* SPDX-License-Identifier: MIT */
/*
 * Selects the functions that are recorded. The user selects them by name, but a hook has only an
 * address. So when a function of an executable or library is first called, all functions in the
 * symbol table of that file are compared with the patterns and put into a table by address. Hooks
 * look functions up in this table without a lock.
 */
#ifndef PTRC_LIB_PRELOAD_SELECTION_H
#define PTRC_LIB_PRELOAD_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"

/* The environment variable in which ptrace-run passes the patterns for names of functions, one on
 * each line. Without it no function is recorded. */
#define PTRC_SELECTION_VARIABLE "POSIXTRACE_FUNCTIONS"

/* An open-addressed hash table of functions; size is a power of two. A word that is not 0 is the
 * address of a function, shifted left by one bit. Its lowest bit is set if the function is
 * recorded. Words are never removed. */
struct ptrc_selection {
	uint64_t size, used;
	_Atomic uint64_t words[];
};

/* The table in use, which hooks read; NULL: every function is recorded. */
extern PTRC_HIDDEN struct ptrc_selection *_Atomic ptrc_selection;

/* The place of the address in the table, or the empty word into which the address would be put. */
static PTRC_ALWAYS_INLINE _Atomic uint64_t *ptrc_selection_find(struct ptrc_selection *s,
								uint64_t address)
{
	uint64_t i = (address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (s->size - 1), word;

	for (; (word = ptrc_load_relaxed(&s->words[i])); i = (i + 1) & (s->size - 1))
		if (PTRC_LIKELY(word >> 1 == address))
			break;
	return &s->words[i];
}

/* Adds a function that is not in the table yet, and returns whether the function is recorded.
 * Async-signal-safe. */
PTRC_COLD bool ptrc_selection_learn(uint64_t address);

static PTRC_ALWAYS_INLINE bool ptrc_selection_has(uint64_t address)
{
	struct ptrc_selection *s = ptrc_load_acquire(&ptrc_selection);
	uint64_t word;

	if (PTRC_LIKELY(!s))
		return true;
	word = ptrc_load_relaxed(ptrc_selection_find(s, address));
	return PTRC_LIKELY(word) ? word & 1 : ptrc_selection_learn(address);
}

#endif
