/* SPDX-License-Identifier: MIT */
/* Values of comma-separated values (RFC 4180). */
#ifndef PTRC_SRC_TEXT_CSV_H
#define PTRC_SRC_TEXT_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buffer.h"
#include "src/fields/value.h"

/* Makes what was put from an offset on a value: puts quotes around it if it has a character that would end it, or
 * blanks at its ends, which some readers leave out. */
void ptrc_csv_end(struct ptrc_buffer *, size_t begin);

/* Puts a text as a value. Returns whether it is put as it is: what is not UTF-8 is replaced. */
bool ptrc_csv_text(struct ptrc_buffer *, const char *text, size_t size);

/* Puts a value, without its unit: an array in brackets, text unchanged. Returns whether every byte is in it. */
bool ptrc_csv_value(struct ptrc_buffer *, const struct ptrc_value *);

#endif
