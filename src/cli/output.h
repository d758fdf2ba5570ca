/* SPDX-License-Identifier: MIT */
/*
 * Standard output, where a command writes its data. A reader of it that goes away (EPIPE)
 * has all that it wants, so the process then ends silently; any other error ends the
 * process with a message.
 */
#ifndef PTRC_SRC_CLI_OUTPUT_H
#define PTRC_SRC_CLI_OUTPUT_H

#include <stdbool.h>

#include "src/cli/buffer.h"

/* Makes a reader that goes away an error of write() instead of a signal. A command calls
 * this before it writes anything. */
void ptrc_output_begin(void);

/* From now on a reader that goes away is an error like a full disk. */
void ptrc_output_need_reader(void);

/* Writes the buffer and empties it. */
void ptrc_output_write(struct ptrc_buffer *);

/*
 * Waits until there is something to read from the descriptor; false if a signal came
 * first, or a second has passed. Also notices when the reader of standard output goes
 * away, which a command that has nothing to write would not.
 */
bool ptrc_output_wait(int fd);

/* Writes and frees the buffer and closes standard output, as network file systems report
 * some errors only then. */
void ptrc_output_end(struct ptrc_buffer *);

#endif
