/* SPDX-License-Identifier: MIT */
/* Options, keys of files, and fields that were renamed. The message for the old name says the new one. */
#ifndef PTRC_SRC_BASE_RENAMED_H
#define PTRC_SRC_BASE_RENAMED_H

#include <stdbool.h>

#include "src/base/message.h"

/* The value of `where` for names of fields. For other words, `where` names the command or the file. */
#define PTRC_RENAMED_FIELDS "fields"

/* If the word `old` of this place was renamed, stores a reason that has the new words, each preceded by `dashes`.
 * Returns false if the word was not renamed. */
bool ptrc_renamed(const char *where, const char *old, const char *dashes,
		  struct ptrc_cli_reason *why);

#endif
