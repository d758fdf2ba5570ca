/* SPDX-License-Identifier: MIT */
/* What shells propose to complete an operand or the argument of an option: sessions, processes, logs, files of rules,
 * and names of event types. */
#ifndef PTRC_SRC_BASE_PROPOSALS_H
#define PTRC_SRC_BASE_PROPOSALS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buffer.h"

enum {
	PTRC_PROPOSE_SESSIONS = 1,
	PTRC_PROPOSE_PROCESSES = 2,
	PTRC_PROPOSE_LOGS = 4,
	/* Files of rules, which are in YAML. */
	PTRC_PROPOSE_RULES = 8,
	PTRC_PROPOSE_EVENTS = 16,
	/* The following kinds are proposed by the shell itself. */
	PTRC_PROPOSE_FILES = 32,
	PTRC_PROPOSE_DIRECTORIES = 64,
	PTRC_PROPOSE_COMMANDS = 128,
};

/* Puts a line for each thing of these kinds, except for event types. Puts only files whose paths start with the
 * text `begin`. Returns what the shell is to propose in addition (a word of complete.h), such as all files if logs or
 * files of rules were wanted and none was found. */
const char *ptrc_proposals_put(struct ptrc_buffer *, unsigned int kinds, const char *begin);

/* Whether the path ends with .yaml or .yml, as those of files of rules do. */
bool ptrc_is_rules_name(const char *path);

/* Executes ptrace-events, which lists the event types of those sessions and logs that are among the words. The
 * words are operands or options with values. Returns if no word is a session or a log. */
void ptrc_proposals_become_events(char **words, size_t count);

#endif
