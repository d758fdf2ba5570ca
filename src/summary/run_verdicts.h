/* SPDX-License-Identifier: MIT */
/*
 * Prints the verdicts of ptrace-run --check: on standard error, because standard output belongs to COMMAND, and
 * in the files of --tap and --junit.
 */
#ifndef PTRC_SRC_SUMMARY_RUN_VERDICTS_H
#define PTRC_SRC_SUMMARY_RUN_VERDICTS_H

#include <stdbool.h>

#include "src/check/report.h"

/* Called for the option of a format. With a path, verdicts in this format go to that file; without one, the
 * verdicts on standard error have this format. Ends the process if the path is not valid, or if another format was
 * given for standard error before. */
void ptrc_run_verdicts_option(enum ptrc_check_format, const char *path);

/* Opens and empties the files before COMMAND runs. Unless is_forced, an existing file is replaced only if it is empty
 * or has verdicts in the format of its option. Returns false, after a message, if a file cannot be opened or is the
 * log. */
bool ptrc_run_verdicts_open(int log_fd, bool is_forced);

/* Writes the verdicts. Returns false, after a message, if a file could not be written. */
bool ptrc_run_verdicts_put(const struct ptrc_check *);

#endif
