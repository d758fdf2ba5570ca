/* SPDX-License-Identifier: MIT */
/*
 * main() of the commands that ask every session named as an operand for one thing.
 */
#ifndef PTRC_SRC_SESSION_SESSION_MAIN_H
#define PTRC_SRC_SESSION_SESSION_MAIN_H

#include "src/cli/cli.h"
#include "src/session/session_protocol.h"

/* The command's table of options has those of these keys that it offers. */
enum {
	PTRC_SESSION_KEY_ALLOW_LOSS = PTRC_CLI_KEY_FIRST,
	PTRC_SESSION_KEY_JSON,
	PTRC_SESSION_KEY_ALL,
};

/* Returns the exit status. */
int ptrc_session_main(int argc, char **argv, const struct ptrc_cli *, enum ptrc_session_verb);

#endif
