/* SPDX-License-Identifier: MIT */
/*
 * The directory of a trace of CTF: a file "metadata" and a file "stream_N" for each log. The file
 * metadata is there from the begin on, so that a trace that was not finished can be told from other
 * directories; its text comes last, so no reader takes such a trace for a whole one.
 */
#ifndef PTRC_SRC_EXPORT_CTF_FILES_H
#define PTRC_SRC_EXPORT_CTF_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/buffer.h"

/* With this begins the file metadata of each such trace. */
#define PTRC_CTF_SIGNATURE "/* CTF 1.8 */\n/* ptrace-export"

struct ptrc_ctf_files {
	const char *path;
	/* The directory, and whether this process has made it. */
	int dir;
	bool is_new;
	/* The files that this process has made: the metadata, and the streams. */
	int *files;
	size_t count;
	/* All is written. */
	bool is_whole;
};

/*
 * Makes the directory, or takes an empty one, or with is_forced one that has such a trace and nothing
 * else, which is removed. Opens the files in it. Prints why that fails and returns false; then nothing
 * is left there, and there is nothing to close.
 */
bool ptrc_ctf_files_open(struct ptrc_ctf_files *, const char *path, bool is_forced, size_t streams);

/* These write to a stream, or read from it. If that fails, they remove all of the trace, print a message
 * and end the process. */
void ptrc_ctf_files_write(const struct ptrc_ctf_files *, size_t stream, const void *, size_t size);
void ptrc_ctf_files_write_at(const struct ptrc_ctf_files *, size_t stream, uint64_t at,
			     const void *, size_t size);
void ptrc_ctf_files_read_at(const struct ptrc_ctf_files *, size_t stream, uint64_t at, void *,
			    size_t size);

/* Writes the text of the metadata and closes all files, which may fail as above. */
void ptrc_ctf_files_finish(struct ptrc_ctf_files *, const struct ptrc_buffer *metadata);

/* Closes what is open. What was not finished is removed. */
void ptrc_ctf_files_free(struct ptrc_ctf_files *);

#endif
