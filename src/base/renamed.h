/* SPDX-License-Identifier: MIT */
/* Options, keys of files and fields that were renamed: the message for the old name states the
 * new one. */
#ifndef PTRC_SRC_BASE_RENAMED_H
#define PTRC_SRC_BASE_RENAMED_H

#include <stdbool.h>

#include "src/base/message.h"

/* The place of names of fields. Other places are named after the command or the file. */
#define PTRC_RENAMED_FIELDS "fields"

/* Stores a reason that names the replacement of a word in this place, with `dashes` before each
 * new word. Returns false if the word was not renamed. */
bool ptrc_renamed(const char *where, const char *old, const char *dashes,
		  struct ptrc_cli_reason *why);

#endif
