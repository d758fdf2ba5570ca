/* SPDX-License-Identifier: MIT */
/* Comma-separated values (RFC 4180). */
#ifndef PTRC_SRC_TEXT_CSV_H
#define PTRC_SRC_TEXT_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buffer.h"
#include "src/fields/value.h"

/* Makes the text after offset `begin` a value of CSV. Quotes it if it has a character that would end the value,
 * or a blank at either end, which some readers would leave out. */
void ptrc_csv_end(struct ptrc_buffer *, size_t begin);

/* Appends a text as a value of CSV. Bytes that are not UTF-8 are replaced; returns false if there were any. */
bool ptrc_csv_text(struct ptrc_buffer *, const char *text, size_t size);

/* Appends a field's value without its unit as a value of CSV; an array in brackets, and a string in JSON without its
 * quotes. Returns false if the text does not
 * show all bytes of the value (see ptrc_value_is_exact()). */
bool ptrc_csv_value(struct ptrc_buffer *, const struct ptrc_value *);

#endif
