/* SPDX-License-Identifier: MIT */
/*
 * The file to which a command writes its data: standard output or another file. If the reader of a pipe goes away
 * (EPIPE), as head(1) does, the process ends without a message. Any other error ends the process with a message.
 */
#ifndef PTRC_SRC_BASE_OUTPUT_H
#define PTRC_SRC_BASE_OUTPUT_H

#include <signal.h>
#include <stdbool.h>

#include "src/base/buffer.h"

/* From now on, output goes to the descriptor `fd` of the file `name`, not to standard output. It is then an error
 * if a reader goes away, unless `name` is a path that leads to standard output. If an error ends the process, no
 * part of the output stays in the file; if the process created the file (is_new), the file is removed. */
void ptrc_output_to(int fd, const char *name, bool is_new);

/* If the output is a file, empties it. */
void ptrc_output_clear(void);

/* Called before an error ends the process: if the output is a file, removes what was written to it. */
void ptrc_output_abandon(void);

/* Called before anything was written: drops the buffer, and removes the file if the process created
 * it. Returns false, which the caller can return. */
bool ptrc_output_give_up(struct ptrc_buffer *);

/* Ignores SIGPIPE, so that write() fails if the reader goes away. Called before anything is written. */
void ptrc_output_begin(void);

/* From now on, it is an error if the reader of the output goes away (EPIPE). */
void ptrc_output_need_reader(void);

/* Whether the path leads to standard output. Returns false if that is a character device, such as a terminal. */
bool ptrc_output_is(const char *path);

/* Once a signal handler has set *flag, output that the reader does not take at once is dropped. */
void ptrc_output_give_up_at(const volatile sig_atomic_t *flag);

void ptrc_output_write(struct ptrc_buffer *);

/* Writes the buffer if it has at least 64 KiB: few system calls, and a reader soon sees something. */
static inline void ptrc_output_write_some(struct ptrc_buffer *b)
{
	if (__builtin_expect(b->used >= 65536, 0))
		ptrc_output_write(b);
}

/*
 * Waits until `fd` is readable; -1 means no descriptor. Returns false after a signal, or after `ms` milliseconds.
 * Also ends the process if the reader of standard output goes away; a command that has nothing to write would not
 * notice this otherwise.
 */
bool ptrc_output_wait(int fd, int ms);

/* Writes and frees the buffer. Also closes the output, because network file systems report some errors only then. */
void ptrc_output_end(struct ptrc_buffer *);

/* Writes all bytes to any descriptor. Returns 0 or an error number. */
int ptrc_write_all(int fd, const void *bytes, size_t size);

#endif
