/* SPDX-License-Identifier: MIT */
/*
 * The directory of a CTF trace: a file "metadata" and a file "stream_N" for each log. The file metadata is created
 * first, with a signature, so that an unfinished trace is recognized and may be replaced. Its text is written last,
 * so no reader takes an unfinished trace for a whole one.
 */
#ifndef PTRC_SRC_EXPORT_CTF_FILES_H
#define PTRC_SRC_EXPORT_CTF_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/buffer.h"

/* The first bytes of the file metadata. */
#define PTRC_CTF_SIGNATURE "/* CTF 1.8 */\n/* ptrace-export"

struct ptrc_ctf_files {
	const char *path;
	/* The directory, -1 if it is not open; and whether this process has made it. */
	int dir;
	bool is_new;
	/* The files that this process has made: the metadata, then the streams. */
	int *files;
	size_t count;
	/* Everything has been written. */
	bool is_whole;
};

/*
 * Makes the directory, or uses an empty one, or, with is_forced, replaces a trace of ours in it if there is nothing
 * else. Opens the files. On failure prints a message, removes what it made, and returns false; nothing is left to
 * close.
 */
bool ptrc_ctf_files_open(struct ptrc_ctf_files *, const char *path, bool is_forced, size_t streams);

/* Write to a stream, or read from it. On failure they remove the trace, print a message and end the process. */
void ptrc_ctf_files_write(const struct ptrc_ctf_files *, size_t stream, const void *, size_t size);
void ptrc_ctf_files_write_at(const struct ptrc_ctf_files *, size_t stream, uint64_t at,
			     const void *, size_t size);
void ptrc_ctf_files_read_at(const struct ptrc_ctf_files *, size_t stream, uint64_t at, void *,
			    size_t size);

/* Writes the metadata and closes all files. Failure is the same as above. */
void ptrc_ctf_files_finish(struct ptrc_ctf_files *, const struct ptrc_buffer *metadata);

/* Closes what is open, and removes an unfinished trace. */
void ptrc_ctf_files_free(struct ptrc_ctf_files *);

#endif
