/* SPDX-License-Identifier: MIT */
/* What differs between logs, for people and as JSON. */
#ifndef PTRC_SRC_DIFF_DIFF_REPORT_H
#define PTRC_SRC_DIFF_DIFF_REPORT_H

#include "src/base/buffer.h"
#include "src/diff/conditions.h"
#include "src/diff/diff.h"

/* Puts tables of at most 80 columns, but for long names. */
void ptrc_diff_put_text(struct ptrc_buffer *, const struct ptrc_diff *,
			const struct ptrc_conditions *);

/* Puts an object. */
void ptrc_diff_put_json(struct ptrc_buffer *, const struct ptrc_diff *,
			const struct ptrc_conditions *);

#endif
