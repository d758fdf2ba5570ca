/* SPDX-License-Identifier: MIT */
/*
 * The output of ptrace-run --check: verdicts on standard error, as standard output belongs to COMMAND, and in the
 * files of --tap and --junit.
 */
#ifndef PTRC_SRC_SUMMARY_RUN_VERDICTS_H
#define PTRC_SRC_SUMMARY_RUN_VERDICTS_H

#include <stdbool.h>

#include "src/check/report.h"

/* Takes the option of this format. Without a path, it is the format on standard error. Ends the process if the path
 * is not valid. */
void ptrc_run_verdicts_option(enum ptrc_check_format, const char *path);

/* Opens and empties the files before COMMAND runs. Existing files are replaced only if they are empty, hold such
 * verdicts, or by force. Returns false, after a message, if one cannot be opened or is the log. */
bool ptrc_run_verdicts_open(int log_fd, bool is_forced);

/* Writes the verdicts. Returns false, after a message, if a file could not be written. */
bool ptrc_run_verdicts_put(const struct ptrc_check *);

#endif
