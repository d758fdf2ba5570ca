/* SPDX-License-Identifier: MIT */
/*
 * The directory of a CTF trace: a file "metadata", and a file "stream_N" for each log. The file "metadata" is
 * created first, with a signature in it, so that an unfinished trace is recognized and may be replaced. The
 * rest of its text is written last, so that no reader takes an unfinished trace for a complete one.
 */
#ifndef PTRC_SRC_EXPORT_CTF_FILES_H
#define PTRC_SRC_EXPORT_CTF_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"

struct ptrc_ctf_files {
	const char *path;
	/* The descriptor of the directory; -1 if it is not open. */
	int dir;
	/* Whether this process has made the directory. */
	bool is_new;
	/* The descriptors of the files that this process has made: first the metadata, then the streams. */
	int *files;
	size_t count;
	/* Everything has been written. */
	bool is_whole;
};

/*
 * Makes the directory, or uses an existing one that is empty. With is_forced, it also replaces a
 * trace that ptrace-export has made in the directory, of either version of CTF, if there is nothing
 * else in it. Opens the files, and writes the signature. On failure, prints a message, removes what
 * it has made, and returns false; nothing needs to be closed then.
 */
bool ptrc_ctf_files_open(struct ptrc_ctf_files *, const char *path, bool is_forced, size_t streams,
			 const char *signature);

/* These functions write to a stream or read from it. If that fails, they remove the trace, print a message
 * and end the process. */
void ptrc_ctf_files_write(const struct ptrc_ctf_files *, size_t stream, const void *, size_t size);
void ptrc_ctf_files_write_at(const struct ptrc_ctf_files *, size_t stream, uint64_t at,
			     const void *, size_t size);
void ptrc_ctf_files_read_at(const struct ptrc_ctf_files *, size_t stream, uint64_t at, void *,
			    size_t size);

/* Writes the metadata and closes all files. A failure has the same effect as in ptrc_ctf_files_write(). */
void ptrc_ctf_files_finish(struct ptrc_ctf_files *, const struct ptrc_buffer *metadata);

/* Closes the open files, and removes an unfinished trace. */
void ptrc_ctf_files_free(struct ptrc_ctf_files *);

#endif
