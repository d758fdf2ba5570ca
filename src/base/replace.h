/* SPDX-License-Identifier: MIT */
/*
 * Output files that may exist already. A command replaces only files of the kind that it
 * writes itself, and empty ones; whatever else a path names stays as it is, unless the user
 * forces the command.
 */
#ifndef PTRC_SRC_BASE_REPLACE_H
#define PTRC_SRC_BASE_REPLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A kind of file: the mode of a new one, what such a file begins with, and its name with an
 * article, for messages. */
struct ptrc_replace_kind {
	mode_t mode;
	const char *signature;
	size_t signature_bytes;
	const char *noun;
};

/*
 * Opens the path for writing and changes no contents; the caller may then truncate and write
 * what the descriptor refers to. The function looks at the very file that it has opened, so
 * nobody can put another one in its place meanwhile. A symbolic link stands for its target.
 *
 * A regular file that is neither new, empty nor of the kind is refused, and so is a block
 * device, unless is_forced. FIFOs, terminals, sockets and other devices have no contents that
 * could be lost. If nobody reads a FIFO, the function says so and waits for a reader; a signal ends
 * the process then.
 *
 * Stores whether the file did not exist before. Returns the descriptor, which the caller
 * closes, or prints why there is none and returns -1.
 */
int ptrc_replace_open(const char *path, const struct ptrc_replace_kind *, bool is_forced,
		      bool *is_new);

#endif
