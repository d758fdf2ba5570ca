/* SPDX-License-Identifier: MIT */
/* The differences between logs as text and as JSON. */
#ifndef PTRC_SRC_DIFF_DIFF_REPORT_H
#define PTRC_SRC_DIFF_DIFF_REPORT_H

#include "src/base/buffer.h"
#include "src/diff/conditions.h"
#include "src/diff/diff.h"

/* Puts tables as text. They are at most 80 columns wide, except for long names. */
void ptrc_diff_put_text(struct ptrc_buffer *, const struct ptrc_diff *,
			const struct ptrc_conditions *);

void ptrc_diff_put_json(struct ptrc_buffer *, const struct ptrc_diff *,
			const struct ptrc_conditions *);

#endif
