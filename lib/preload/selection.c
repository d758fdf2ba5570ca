/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/selection.h"

#include <string.h>

#include "lib/base/common.h"
#include "lib/base/file.h"
#include "lib/base/pid_lock.h"
#include "lib/base/sys.h"
#include "lib/preload/function_names.h"
#include "lib/preload/mangled.h"
#include "lib/preload/patterns.h"
#include "lib/process/self.h"

/* The release of this library. ptrace-run searches the file for this text
 * (src/session/preload.c), because only the library of its own release understands the
 * environment variables that it sets. */
PTRC_USED static const char release[] = "posixtrace-preload " PACKAGE_VERSION;

enum { SIZE_FIRST = 4096 };

/* Until the patterns are read, this empty table is in use: it contains no function, so every
 * lookup calls ptrc_selection_learn(). It stays in use if no function is wanted. */
static struct {
	uint64_t size, used;
	_Atomic uint64_t words[1];
} unknown = {.size = 1};

struct ptrc_selection *_Atomic ptrc_selection = (struct ptrc_selection *)&unknown;

/* A thread holds this lock (ptrc_pid_lock()) while it adds functions to the table. A child that was
 * forked meanwhile finds its parent's pid here, so the lock counts as free. Functions that are
 * missing from the child's table are added when they are looked up. */
static _Atomic int32_t lock;

static char *patterns;
/* no function is recorded: there are no patterns, or there was no memory */
static _Atomic bool is_none;

static struct ptrc_selection *new_table(uint64_t size)
{
	struct ptrc_selection *s =
		ptrc_file_zeros(sizeof(struct ptrc_selection) + size * sizeof(uint64_t));

	if (s)
		s->size = size;
	return s;
}

static void put(struct ptrc_selection *s, uint64_t address, bool is_selected)
{
	_Atomic uint64_t *place = ptrc_selection_find(s, address);
	uint64_t word = ptrc_load_relaxed(place);

	s->used += !word;
	/* A function with several names is recorded if one of its names is selected, so the lowest
	 * bit is never cleared. */
	ptrc_store_relaxed(place, word | address << 1 | is_selected);
}

/* Replaces the table by one of twice the size. The old table is not freed, because hooks may be
 * reading it. All old tables together are as large as the new table. */
static bool grow(struct ptrc_selection *s)
{
	struct ptrc_selection *larger = new_table(2 * s->size);

	if (!larger)
		return false;
	for (uint64_t i = 0; i < s->size; i++) {
		uint64_t word = ptrc_load_relaxed(&s->words[i]);

		if (word)
			put(larger, word >> 1, word & 1);
	}
	ptrc_store_release(&ptrc_selection, larger);
	return true;
}

/* Adds an address. If the table is three quarters full, it first grows; if it cannot, the address
 * is not added: a search ends only at an empty word, so the table must never become full. */
static void add(uint64_t address, bool is_selected)
{
	struct ptrc_selection *s = ptrc_load_relaxed(&ptrc_selection);

	if (4 * s->used >= 3 * s->size && !grow(s))
		return;
	put(ptrc_load_relaxed(&ptrc_selection), address, is_selected);
}

/* Whether a pattern matches the symbol, the name in the source, or the symbol without the suffix
 * that compilers add to variants of a function (foo.constprop.0). */
static bool is_selected(const char *symbol)
{
	const char *dot = strchr(symbol, '.');
	char name[PTRC_MANGLED_MAX];
	size_t size = dot ? (size_t)(dot - symbol) : 0;

	if (ptrc_patterns_match(patterns, symbol) ||
	    (ptrc_mangled_name(symbol, name) && ptrc_patterns_match(patterns, name)))
		return true;
	if (!size || size >= sizeof(name))
		return false;
	memcpy(name, symbol, size);
	name[size] = '\0';
	return ptrc_patterns_match(patterns, name);
}

static void visit(uint64_t function, const char *name)
{
	add(function, is_selected(name));
}

static void begin(void)
{
	struct ptrc_selection *s = NULL;
	bool is_any;

	patterns = ptrc_patterns_read(PTRC_SELECTION_VARIABLE);
	is_any = patterns != NULL;
	/* A pattern that matches the empty name, such as *, matches every name. */
	if (is_any && !ptrc_patterns_match(patterns, "")) {
		s = new_table(SIZE_FIRST);
		is_any = s != NULL;
	}
	if (is_any)
		ptrc_store_release(&ptrc_selection, s);
	else
		ptrc_store_relaxed(&is_none, true);
}

/* The word of the function in the table; 0: the table does not contain it. Without a table, 1:
 * every function is recorded. */
static uint64_t look_up(uint64_t address)
{
	struct ptrc_selection *s = ptrc_load_relaxed(&ptrc_selection);

	return s ? ptrc_load_relaxed(ptrc_selection_find(s, address)) : 1;
}

bool ptrc_selection_learn(uint64_t address)
{
	uint64_t word;

	if (ptrc_load_relaxed(&is_none))
		return false;
	/* Do nothing in the child of a vfork(). It shares its parent's memory, but has another
	 * pid, so the lock would not exclude the parent's threads. The child records nothing
	 * anyway. */
	if (ptrc_self_pid() != 0 && ptrc_self_pid() != ptrc_sys_getpid())
		return false;
	PTRC_NO_SIGNALS();
	ptrc_pid_lock(&lock);
	if (ptrc_load_relaxed(&ptrc_selection) == (struct ptrc_selection *)&unknown)
		begin();
	word = look_up(address);
	if (!word && ptrc_load_relaxed(&ptrc_selection) != (struct ptrc_selection *)&unknown) {
		ptrc_function_names(address, visit);
		word = look_up(address);
		/* If no symbol has this address, the function has no name and is not selected. */
		if (!word)
			add(address, false);
	}
	ptrc_pid_unlock(&lock);
	return word & 1;
}
