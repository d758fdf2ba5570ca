/* SPDX-License-Identifier: MIT */
#ifndef PTRC_SRC_BASE_COMMAND_H
#define PTRC_SRC_BASE_COMMAND_H

#include <limits.h>

/*
 * Finds the file of a command as execvp() does, and stores its path. Returns 0; ENOENT if there is no such
 * command; or the reason why a file that was found cannot be executed: EACCES for a directory, too, and ELIBACC if the
 * interpreter of a script or the loader of a program does not exist. The path is then that of this file.
 */
int ptrc_command_find(const char *name, char path[PATH_MAX]);

/* The message for ELIBACC, or if execve() fails with ENOENT although the file exists. */
#define PTRC_COMMAND_NO_INTERPRETER \
	"the interpreter of this script, or the loader of this program, was not found"

#endif
