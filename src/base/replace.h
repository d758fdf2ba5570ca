/* SPDX-License-Identifier: MIT */
/* Opens output files that may exist already. Without --force, a command replaces only empty files
 * and files of the kind that it writes itself. */
#ifndef PTRC_SRC_BASE_REPLACE_H
#define PTRC_SRC_BASE_REPLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A kind of file: the mode of a new one, the bytes that such a file starts with, and its name
 * with an article, for messages. */
struct ptrc_replace_kind {
	mode_t mode;
	const char *signature;
	size_t signature_bytes;
	const char *noun;
};

/*
 * Opens the path for writing without changing its contents; the caller may then truncate and
 * write the file. The checks are made on the opened file, so it cannot be exchanged meanwhile.
 * Symbolic links are followed.
 *
 * Unless is_forced, refuses a block device, and a regular file that is neither new, empty nor of
 * the kind. FIFOs, terminals, sockets and other devices have no contents to lose. If a FIFO has
 * no reader, prints a message and waits for one; a signal then ends the process.
 *
 * *is_new: the file did not exist before. Returns the descriptor, which the caller closes, or -1
 * after a message.
 */
int ptrc_replace_open(const char *path, const struct ptrc_replace_kind *, bool is_forced,
		      bool *is_new);

#endif
