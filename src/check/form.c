/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/check/form.h"

void ptrc_check_put(struct ptrc_buffer *b, const struct ptrc_check *c,
		    enum ptrc_check_format format, bool is_coloured)
{
	switch (format) {
	case PTRC_CHECK_JSON:
		ptrc_check_put_json(b, c);
		break;
	case PTRC_CHECK_TAP:
		ptrc_check_put_tap(b, c);
		break;
	case PTRC_CHECK_JUNIT:
		ptrc_check_put_junit(b, c);
		break;
	case PTRC_CHECK_GITHUB:
		ptrc_check_put_github(b, c);
		break;
	default:
		ptrc_check_put_text(b, c, is_coloured);
	}
}
