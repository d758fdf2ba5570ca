/* SPDX-License-Identifier: MIT */
/*
 * Explains to users why a trace could not be made.
 */
#ifndef PTRC_SRC_SESSION_TRACE_ERROR_H
#define PTRC_SRC_SESSION_TRACE_ERROR_H

/*
 * Prints the message for an error number of posix_trace_create(), or of
 * posix_trace_create_withlog() if the path of a log is given. The target is what the user
 * calls the process.
 */
void ptrc_trace_error(int error, const char *target, const char *log_path);

#endif
