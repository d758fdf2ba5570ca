/* SPDX-License-Identifier: MIT */
/* Comma-separated values (RFC 4180). */
#ifndef PTRC_SRC_TEXT_CSV_H
#define PTRC_SRC_TEXT_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buffer.h"
#include "src/fields/value.h"

/* Makes the text since `begin` a value: quotes it if it has a character that would end it, or a blank at either end,
 * which some readers leave out. */
void ptrc_csv_end(struct ptrc_buffer *, size_t begin);

/* Puts a text as a value. Returns false if bytes that are not UTF-8 were replaced. */
bool ptrc_csv_text(struct ptrc_buffer *, const char *text, size_t size);

/* Puts a value without its unit, an array in brackets. Returns whether no byte was replaced. */
bool ptrc_csv_value(struct ptrc_buffer *, const struct ptrc_value *);

#endif
