/* SPDX-License-Identifier: MIT */
/*
 * Options, keys of files and fields that have a new name: the message for the old name states the new one.
 */
#ifndef PTRC_SRC_BASE_RENAMED_H
#define PTRC_SRC_BASE_RENAMED_H

#include <stdbool.h>

#include "src/base/message.h"

/* Where fields of events are named. Other places are called as the command or the file is. */
#define PTRC_RENAMED_FIELDS "fields"

/* Stores what replaces the word in this place; `dashes` precede each new word. Returns false if nothing does. */
bool ptrc_renamed(const char *where, const char *old, const char *dashes,
		  struct ptrc_cli_reason *why);

#endif
