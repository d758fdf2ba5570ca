/* SPDX-License-Identifier: MIT */
/*
 * Proposals for the word that the user is typing, for the completions of the shells: `ptrace-X
 * --complete WORD...` completes the last word; the others are those between the command and that
 * one on the line.
 *
 * The first line says how many bytes of the word stay, and what the shell itself is to propose
 * for the rest: `files`, `directories`, `commands`, `command N` (the Nth word starts a command
 * line of its own), or `-`, nothing. Each further line is a proposal for the rest; a tab and an
 * explanation may follow. The shell leaves out those that do not start as the rest does.
 */
#ifndef PTRC_SRC_BASE_COMPLETE_H
#define PTRC_SRC_BASE_COMPLETE_H

#include "src/base/option.h"

/* Answers for words, which end with NULL, and ends the process. */
void ptrc_complete(const struct ptrc_cli *, const struct ptrc_cli_option *standard_options,
		   char **words) __attribute__((noreturn));

#endif
