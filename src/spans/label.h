/* SPDX-License-Identifier: MIT */
/* What tells pairs of one name apart: the value of a field of their begins. */
#ifndef PTRC_SRC_SPANS_LABEL_H
#define PTRC_SRC_SPANS_LABEL_H

#include <stdbool.h>

#include "src/query/view.h"

struct ptrc_label {
	struct ptrc_field field;
	/* Pairs are measured by their labels. */
	bool has_rows;
	/* Whether any begin has had the field. */
	bool has_any;
};

/* Puts the value that the event has, which the view's reader has read: text as it is, and other values as they
 * are shown. Returns false, and puts nothing, if it lacks the field. */
bool ptrc_label_put(struct ptrc_buffer *, const struct ptrc_label *, struct ptrc_view *);

#endif
