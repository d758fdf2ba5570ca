/* SPDX-License-Identifier: MIT */
/* The exit statuses of all commands. Scripts rely on them; each manual page lists those of its
 * command. */
#ifndef PTRC_SRC_BASE_EXIT_STATUS_H
#define PTRC_SRC_BASE_EXIT_STATUS_H

enum ptrc_exit {
	/* Done; nothing is missing. */
	PTRC_EXIT_DONE = 0,
	/* Failed; a message on standard error says what failed and why. */
	PTRC_EXIT_FAILED = 1,
	/* The command line or a configuration is wrong; nothing was done. */
	PTRC_EXIT_USAGE = 2,
	/* Done, but the data is incomplete: events were lost, or the log was never closed or is damaged.
	 * ptrace-run exits with this status only if COMMAND exited with 0. */
	PTRC_EXIT_INCOMPLETE = 3,
	/* ptrace-check and ptrace-run --check only: no rule is broken, but some rule could not be decided. */
	PTRC_EXIT_UNDECIDED = 4,

	/* ptrace-stat --diff only: a condition of --fail-if holds. */
	PTRC_EXIT_CHANGED = 5,

	/* ptrace-run only, with the numbers of env(1) and nohup(1): ptrace-run failed itself, or COMMAND
	 * was not executed. */
	PTRC_EXIT_RUN_FAILED = 125,
	PTRC_EXIT_RUN_CANNOT_EXECUTE = 126,
	PTRC_EXIT_RUN_NOT_FOUND = 127,
	/* The exit status of ptrace-run is 128 plus the number of the signal that ended COMMAND. */
	PTRC_EXIT_RUN_SIGNAL = 128,
};

/* Returns the worse of two exit statuses. Each is PTRC_EXIT_DONE, _INCOMPLETE or _FAILED. */
static inline enum ptrc_exit ptrc_exit_worse(enum ptrc_exit a, enum ptrc_exit b)
{
	return a == PTRC_EXIT_FAILED || b == PTRC_EXIT_DONE ? a : b;
}

#endif
