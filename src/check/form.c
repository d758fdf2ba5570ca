/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/check/report.h"

void ptrc_check_put(struct ptrc_buffer *b, const struct ptrc_check *c,
		    enum ptrc_check_format format, bool is_coloured)
{
	static void (*const forms[])(struct ptrc_buffer *, const struct ptrc_check *) = {
		[PTRC_CHECK_JSON] = ptrc_check_put_json,
		[PTRC_CHECK_TAP] = ptrc_check_put_tap,
		[PTRC_CHECK_JUNIT] = ptrc_check_put_junit,
		[PTRC_CHECK_GITHUB] = ptrc_check_put_github,
	};

	if (forms[format])
		forms[format](b, c);
	else
		ptrc_check_put_text(b, c, is_coloured);
}
