/* SPDX-License-Identifier: MIT */
/* Existing things to propose to the user: sessions, processes, logs, files of rules, names of
 * events. */
#ifndef PTRC_SRC_BASE_PROPOSALS_H
#define PTRC_SRC_BASE_PROPOSALS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buffer.h"

enum {
	PTRC_PROPOSE_SESSIONS = 1,
	PTRC_PROPOSE_PROCESSES = 2,
	PTRC_PROPOSE_LOGS = 4,
	/* Files in YAML. */
	PTRC_PROPOSE_RULES = 8,
	PTRC_PROPOSE_EVENTS = 16,
	/* The shell proposes these itself. */
	PTRC_PROPOSE_FILES = 32,
	PTRC_PROPOSE_DIRECTORIES = 64,
	PTRC_PROPOSE_COMMANDS = 128,
};

/* Puts a line for each thing of these kinds except events; files only if their paths start with
 * the text. Returns what the shell is to propose in addition (complete.h): all files if no log
 * and no rules are found. */
const char *ptrc_proposals_put(struct ptrc_buffer *, unsigned int kinds, const char *begin);

/* Whether the path is that of a file of rules: it ends with .yaml or .yml. */
bool ptrc_is_rules_name(const char *path);

/* Executes ptrace-events, which lists the names of the events of the sessions and logs among the
 * words, which are operands or values of options. Returns if there are none. */
void ptrc_proposals_become_events(char **words, size_t count);

#endif
