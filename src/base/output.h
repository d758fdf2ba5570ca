/* SPDX-License-Identifier: MIT */
/*
 * The file to which a command writes its data: standard output or another one. If the reader of a
 * pipe goes away (EPIPE), it has all that it wants, so the process ends silently. Any other error
 * ends the process with a message.
 */
#ifndef PTRC_SRC_BASE_OUTPUT_H
#define PTRC_SRC_BASE_OUTPUT_H

#include <signal.h>
#include <stdbool.h>

#include "src/base/buffer.h"

/* Writes to this descriptor of a file from now on, not to standard output. A reader that goes
 * away is then an error. If an error ends the process, no part of the output stays in the file,
 * which is removed if the process created it (is_new). */
void ptrc_output_to(int fd, const char *name, bool is_new);

/* Empties the file, if the output is one. */
void ptrc_output_clear(void);

/* Leaves no part of the output in the file, before an error ends the process. */
void ptrc_output_abandon(void);

/* Drops the buffer, before anything was written, and removes a file that the process created.
 * Returns false. */
bool ptrc_output_give_up(struct ptrc_buffer *);

/* Ignores SIGPIPE, so that write() fails if the reader goes away. Called before anything is
 * written. */
void ptrc_output_begin(void);

/* Makes it an error, like a full disk, if the reader goes away. */
void ptrc_output_need_reader(void);

/* Whether the path leads to standard output, and that is not a character device. */
bool ptrc_output_is(const char *path);

/* Once a signal handler has set this flag, output that the reader does not take at once is given
 * up. */
void ptrc_output_give_up_at(const volatile sig_atomic_t *flag);

void ptrc_output_write(struct ptrc_buffer *);

/*
 * Waits until the descriptor is readable. Returns false after a signal, or after a second. Also
 * notices that the reader of standard output goes away, which a command with nothing to write
 * would not.
 */
bool ptrc_output_wait(int fd);

/* Writes and frees the buffer and closes the output, because network file systems report some
 * errors only then. */
void ptrc_output_end(struct ptrc_buffer *);

/* Writes all bytes to any descriptor. Returns 0 or an error number. */
int ptrc_write_all(int fd, const void *bytes, size_t size);

#endif
