/* SPDX-License-Identifier: MIT */
#ifndef PTRC_SRC_CLI_COMMAND_H
#define PTRC_SRC_CLI_COMMAND_H

#include <limits.h>

/*
 * Finds the file of a command as execvp() does, and writes its path. Returns 0, or
 *   ENOENT  there is no such command
 *   others  why the file that is there cannot be executed: EACCES for a directory, too
 */
int ptrc_command_find(const char *name, char path[PATH_MAX]);

#endif
