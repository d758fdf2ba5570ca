/* SPDX-License-Identifier: MIT */
/* Data of a layout, made from texts: the inverse of layout.h. */
#ifndef PTRC_SRC_FIELDS_ENCODE_H
#define PTRC_SRC_FIELDS_ENCODE_H

#include <stdbool.h>

#include "src/base/buffer.h"
#include "src/base/message.h"
#include "src/fields/layout.h"

/* Appends the data that has these values in the fields of the layout. `pairs` ends with NULL; each pair is NAME=VALUE.
 * Returns false, with the reason, if a field has no value, a value does not fit its field, a name is that of no field
 * or given twice, or the layout has an array or a bit field. */
bool ptrc_layout_encode(const struct ptrc_layout *, char *const *pairs, struct ptrc_buffer *data,
			struct ptrc_cli_reason *why);

#endif
