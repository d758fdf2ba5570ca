/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/renamed.h"

#include <string.h>

#include "src/base/option.h"

/* The words that were renamed: `where` is a list of the places in which the word had the name `old`, `new` a list
 * of the words that replace it. NEWS has the same table. */
static const struct {
	const char *where;
	const char *old;
	const char *new;
} renamed[] = {
	{"ptrace-dump ptrace-export ptrace-report", "before", "context"},
	{"ptrace-dump ptrace-export ptrace-report", "after", "context"},
	{"ptrace-stat", "before", "baseline"},
	{"ptrace-check", "count", "times"},
	{"ptrace-dump ptrace-export ptrace-report ptrace-stat ptrace-check", "sync", "clock-sync"},
	{"ptrace-create ptrace-run ptrace.yaml", "no-sync", "no-fsync"},
	{"ptrace-create ptrace-run ptrace.yaml", "filter", "exclude only"},
	{"ptrace-ship", "user", "login"},
	{PTRC_RENAMED_FIELDS, "id", "type_id"},
};

bool ptrc_renamed(const char *where, const char *old, const char *dashes,
		  struct ptrc_cli_reason *why)
{
	char first[PTRC_OPTION_WORD];
	const char *second;

	for (size_t i = 0; i < sizeof(renamed) / sizeof(*renamed); i++) {
		if (strcmp(renamed[i].old, old) || !ptrc_option_is_in(renamed[i].where, where))
			continue;
		second = ptrc_option_next_word(renamed[i].new, first);
		ptrc_cli_because(why,
				 *second ? "was replaced by '%s%s' or '%s%s'"
					 : "was replaced by '%s%s'",
				 dashes, first, dashes, second);
		return true;
	}
	return false;
}
