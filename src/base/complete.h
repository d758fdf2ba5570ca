/* SPDX-License-Identifier: MIT */
/*
 * Proposals for the word that the user is typing, for the completions of the shells. `ptrace-X --complete WORD...`
 * completes the last word; the other words are those between the command and the last word on the user's line.
 *
 * The first line of output says how many bytes of the last word stay unchanged, and what the shell itself is to
 * propose for the rest of the word: `files`, `directories`, `commands`, `command N` (the Nth word starts another
 * command line), or `-`, nothing. Each further line is a proposal for the rest; a tab and an explanation may follow
 * it. The shell leaves out proposals that do not start with the user's text.
 */
#ifndef PTRC_SRC_BASE_COMPLETE_H
#define PTRC_SRC_BASE_COMPLETE_H

#include "src/base/option.h"

/* Prints the answer for the words, which end with NULL, and ends the process. */
void ptrc_complete(const struct ptrc_cli *, const struct ptrc_cli_option *standard_options,
		   char **words) __attribute__((noreturn));

#endif
