/* SPDX-License-Identifier: MIT */
/* What exists now and can be proposed to the user: sessions, processes, logs, files of rules, names of events. */
#ifndef PTRC_SRC_BASE_PROPOSALS_H
#define PTRC_SRC_BASE_PROPOSALS_H

#include <stddef.h>

#include "src/base/buffer.h"

enum {
	PTRC_PROPOSE_SESSIONS = 1,
	PTRC_PROPOSE_PROCESSES = 2,
	PTRC_PROPOSE_LOGS = 4,
	/* YAML. */
	PTRC_PROPOSE_RULES = 8,
	PTRC_PROPOSE_EVENTS = 16,
	/* The shell proposes these itself. */
	PTRC_PROPOSE_FILES = 32,
	PTRC_PROPOSE_DIRECTORIES = 64,
	PTRC_PROPOSE_COMMANDS = 128,
};

/* Puts a line for each thing of these kinds, without events; files only if their paths begin with the text.
 * Returns what the shell is to propose, too: all files where no log and no rules are found. */
const char *ptrc_proposals_put(struct ptrc_buffer *, unsigned int kinds, const char *begin);

/* Executes ptrace-events, which lists the names of events of the sessions and logs that the words name, as operands
 * or values of options. Returns if they name none. */
void ptrc_proposals_become_events(char **words, size_t count);

#endif
