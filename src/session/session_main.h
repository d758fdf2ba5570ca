/* SPDX-License-Identifier: MIT */
/*
 * The commands that ask each session named as an operand for the same one thing: ptrace-start,
 * -stop, -clear, -flush and -shutdown.
 */
#ifndef PTRC_SRC_SESSION_SESSION_MAIN_H
#define PTRC_SRC_SESSION_SESSION_MAIN_H

#include "src/session/session_protocol.h"

/* All that main() of such a command does. The summary says in --help what the command does.
 * Returns the exit status. */
int ptrc_session_main(int argc, char **argv, enum ptrc_session_verb, const char *program,
		      const char *summary);

#endif
