/* SPDX-License-Identifier: MIT */
/*
 * Which functions are recorded. The user selects them by their names, but an event has only the
 * address. So the names are compared once, when a function of an executable or a library is first seen:
 * then all functions that its symbol table names get into a table by address, which a hook looks up
 * without a lock.
 */
#ifndef PTRC_LIB_FUNCTIONS_SELECTION_H
#define PTRC_LIB_FUNCTIONS_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"

/* The patterns, as ptrace-run hands them over: one a line. */
#define PTRC_SELECTION_VARIABLE "POSIXTRACE_FUNCTIONS"

/* An open-addressed table of so many words, a power of two. A word that is not 0 is an address, shifted
 * left by one, and in the lowest bit whether that function is recorded. Words are only ever added. */
struct ptrc_selection {
	uint64_t size, used;
	_Atomic uint64_t words[];
};

/* Null: every function is recorded. */
extern PTRC_HIDDEN struct ptrc_selection *_Atomic ptrc_selection;

/* The place of the address in the table: it has a word that is not 0 if the table has the address. */
static PTRC_ALWAYS_INLINE _Atomic uint64_t *ptrc_selection_find(struct ptrc_selection *s,
								uint64_t address)
{
	uint64_t i = (address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (s->size - 1), word;

	for (; (word = ptrc_load_relaxed(&s->words[i])); i = (i + 1) & (s->size - 1))
		if (PTRC_LIKELY(word >> 1 == address))
			break;
	return &s->words[i];
}

/* The address is in no table yet: find out, and add it. Async-signal-safe. */
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
