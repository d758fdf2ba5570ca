/* SPDX-License-Identifier: MIT */
/* The exit statuses of all commands. Scripts rely on them: every manual page lists those of
 * its command. */
#ifndef PTRC_SRC_BASE_EXIT_STATUS_H
#define PTRC_SRC_BASE_EXIT_STATUS_H

enum ptrc_exit {
	/* Done, and nothing is missing. */
	PTRC_EXIT_DONE = 0,
	/* Failed; standard error says what and why. */
	PTRC_EXIT_FAILED = 1,
	/* The command line or a configuration makes no sense; nothing was done. */
	PTRC_EXIT_USAGE = 2,
	/* Done, but the data is incomplete: events were lost, the log was never closed,
	 * or it is damaged. ptrace-run exits with it only if COMMAND exited with 0. */
	PTRC_EXIT_INCOMPLETE = 3,
	/* Only for ptrace-check, and ptrace-run --check: no rule is broken, but one could not be
	 * decided. */
	PTRC_EXIT_UNDECIDED = 4,

	/* Only for ptrace-stat --diff: what --fail-if says is so. */
	PTRC_EXIT_CHANGED = 5,

	/* Only ptrace-run has these, as env(1) and nohup(1) do. Lower ones come from COMMAND. */
	PTRC_EXIT_RUN_FAILED = 125,
	PTRC_EXIT_RUN_CANNOT_EXECUTE = 126,
	PTRC_EXIT_RUN_NOT_FOUND = 127,
	/* Added to the number of the signal that ended COMMAND. */
	PTRC_EXIT_RUN_SIGNAL = 128,
};

#endif
