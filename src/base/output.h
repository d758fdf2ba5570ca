/* SPDX-License-Identifier: MIT */
/*
 * Standard output, or another file, to which a command writes its data. If the reader of a pipe goes away
 * (EPIPE), it has all that it wants, so the process ends silently. Any other error ends the
 * process with a message.
 */
#ifndef PTRC_SRC_BASE_OUTPUT_H
#define PTRC_SRC_BASE_OUTPUT_H

#include <signal.h>
#include <stdbool.h>

#include "src/base/buffer.h"

/* From now on what is written goes to the descriptor, of a file with this name, in place of standard
 * output. That nobody reads it is an error. If an error ends the process, no part of the output stays in
 * the file, which is removed if the process has made it (is_new). */
void ptrc_output_to(int fd, const char *name, bool is_new);

/* Empties the file; where the output is none, does nothing. */
void ptrc_output_clear(void);

/* Leaves no part of the output in the file, for who ends the process with an error. */
void ptrc_output_abandon(void);

/* Drops what the buffer holds: nothing was written, and a new file goes. Returns false. */
bool ptrc_output_give_up(struct ptrc_buffer *);

/* Ignores SIGPIPE, so that write() fails if the reader goes away. A command calls this before
 * it writes anything. */
void ptrc_output_begin(void);

/* From now on it is an error, like a full disk, if the reader goes away. */
void ptrc_output_need_reader(void);

/* Whether the path leads to standard output, and that keeps or hands on what is written to it, as a
 * device does not. */
bool ptrc_output_is(const char *path);

/* When this flag is set, by the handler of a signal, what the reader of the output does not take at once is
 * given up. */
void ptrc_output_give_up_at(const volatile sig_atomic_t *flag);

/* Writes the buffer and empties it. */
void ptrc_output_write(struct ptrc_buffer *);

/*
 * Waits until there is something to read from the descriptor. Returns false if a signal
 * came first, or if a second has passed. Also notices that the reader of standard output
 * goes away, which a command without anything to write would not.
 */
bool ptrc_output_wait(int fd);

/* Writes and frees the buffer and closes standard output, as network file systems report
 * some errors only then. */
void ptrc_output_end(struct ptrc_buffer *);

/* Writes all the bytes to another descriptor. Returns 0 or an error number. */
int ptrc_write_all(int fd, const void *bytes, size_t size);

#endif
