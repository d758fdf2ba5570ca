/* SPDX-License-Identifier: MIT */
/* Shows a text on a terminal, in place of the text shown before. Each such output ends by undoing its
 * changes of the terminal's modes, so a process that is killed leaves a usable terminal. */
#ifndef PTRC_SRC_BASE_SCREEN_H
#define PTRC_SRC_BASE_SCREEN_H

#include <stdbool.h>

#include "src/base/buffer.h"

/* Returns whether standard output is a terminal on which a text can be replaced. If so, changes of
 * its size are noticed from now on. */
bool ptrc_screen_begin(void);

/* Whether the size of the terminal has changed since the last call. */
bool ptrc_screen_has_changed(void);

/* Shows the first lines of the text, as many as the terminal has, and clears the rest of the terminal. */
void ptrc_screen_show(const struct ptrc_buffer *text);

/* Moves the cursor below the text. */
void ptrc_screen_end(void);

#endif
