/* SPDX-License-Identifier: MIT */
/* The forms in which a command writes the verdicts, and its options for them. */
#ifndef PTRC_SRC_CHECK_FORM_H
#define PTRC_SRC_CHECK_FORM_H

#include "src/check/report.h"

/* The forms of the verdicts, in the order of the words of --format. */
enum ptrc_check_format {
	PTRC_CHECK_TEXT,
	PTRC_CHECK_JSON,
	PTRC_CHECK_TAP,
	PTRC_CHECK_JUNIT,
	PTRC_CHECK_GITHUB,
	PTRC_CHECK_FORMATS,
};

/* Rows of a command's table of options, for the forms that services of continuous integration read. The key of a
 * form is the first key plus the form. `file` is the argument of those that may go to a file, or null. */
#define PTRC_CHECK_FORMAT_OPTIONS(first_key, file)                                \
	{"tap", (first_key) + PTRC_CHECK_TAP, file,                               \
	 "write the verdicts in the Test Anything\nProtocol"},                    \
		{"junit", (first_key) + PTRC_CHECK_JUNIT, file,                   \
		 "write them as XML, as JUnit does"},                             \
	{                                                                         \
		"github", (first_key) + PTRC_CHECK_GITHUB, NULL,                  \
			"write them as text with annotations for\nGitHub Actions" \
	}

/* Puts all rules in this form; only text has colours. */
void ptrc_check_put(struct ptrc_buffer *, const struct ptrc_check *, enum ptrc_check_format,
		    bool is_coloured);

#endif
