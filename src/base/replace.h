/* SPDX-License-Identifier: MIT */
/* Opens output files that may already exist. Without --force, a command replaces only empty files, and files of
 * the kind that it writes itself. */
#ifndef PTRC_SRC_BASE_REPLACE_H
#define PTRC_SRC_BASE_REPLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A kind of file: the mode of a new file, the bytes with which such files start, and a noun with its article, for
 * messages. */
struct ptrc_replace_kind {
	mode_t mode;
	const char *signature;
	size_t signature_bytes;
	const char *noun;
};

/*
 * Opens the path for writing without changing its contents; the caller may then truncate and write the file. The
 * checks are made on the opened file, so it cannot be exchanged after them. Symbolic links are followed.
 *
 * Unless is_forced, refuses a block device, and a regular file that is neither new nor empty nor of the kind.
 * FIFOs, terminals, sockets and other devices have no contents to lose. If a FIFO has no reader, prints a message
 * and waits for one; meanwhile a signal ends the process.
 *
 * *is_new becomes whether the file did not exist before. Returns the descriptor, which the caller closes, or -1
 * after a message.
 */
int ptrc_replace_open(const char *path, const struct ptrc_replace_kind *, bool is_forced,
		      bool *is_new);

#endif
