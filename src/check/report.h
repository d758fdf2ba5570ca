/* SPDX-License-Identifier: MIT */
/* The verdicts of the rules, for people and for programs. */
#ifndef PTRC_SRC_CHECK_REPORT_H
#define PTRC_SRC_CHECK_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/check/check.h"
#include "src/base/buffer.h"

/* The output formats, in the order of the words of --format. */
enum ptrc_check_format {
	PTRC_CHECK_TEXT,
	PTRC_CHECK_JSON,
	PTRC_CHECK_TAP,
	PTRC_CHECK_JUNIT,
	PTRC_CHECK_GITHUB,
	PTRC_CHECK_FORMATS,
};

/* Rows of a command's table of options, for the formats that services of continuous integration read. The key
 * of each option is first_key plus its format. `file` is the name of the option's argument for formats that
 * may be written to a file; NULL if the options take no argument. */
/* clang-format off */
#define PTRC_CHECK_FORMAT_OPTIONS(first_key, file) \
	{"tap", (first_key) + PTRC_CHECK_TAP, file, \
	 "write the verdicts in the Test Anything\nProtocol"}, \
	{"junit", (first_key) + PTRC_CHECK_JUNIT, file, "write them as XML, as JUnit does"}, \
	{"github", (first_key) + PTRC_CHECK_GITHUB, NULL, \
	 "write them as text with annotations for\nGitHub Actions"}
/* clang-format on */

/* Returns "pass", "fail" or "undecided". */
const char *ptrc_verdict_name(enum ptrc_verdict);

/* Puts a ptrace-dump command that shows the events of a case and the events around them. */
void ptrc_check_put_command(struct ptrc_buffer *, const struct ptrc_check *,
			    const struct ptrc_case *);

/* Whether the user gave the rule a name. Otherwise its text is its name. */
bool ptrc_trial_is_named(const struct ptrc_trial *);

void ptrc_check_put_rule(struct ptrc_buffer *, const struct ptrc_check *, struct ptrc_trial *,
			 bool is_coloured);

/* Puts the notes on the rule, then the rule's cases, each with the command that shows its events. Each line begins
 * with a line feed and the indent. */
void ptrc_check_put_details(struct ptrc_buffer *, const struct ptrc_check *, struct ptrc_trial *,
			    const char *indent);

uint64_t ptrc_check_count(const struct ptrc_check *, enum ptrc_verdict);

/* Puts "N passed, N failed, N undecided" and a line feed. */
void ptrc_check_put_counts(struct ptrc_buffer *, const struct ptrc_check *);

/* Puts the verdicts on all rules in this format. Only the format text has colours. */
void ptrc_check_put(struct ptrc_buffer *, const struct ptrc_check *, enum ptrc_check_format,
		    bool is_coloured);

void ptrc_check_put_text(struct ptrc_buffer *, const struct ptrc_check *, bool is_coloured);
void ptrc_check_put_json(struct ptrc_buffer *, const struct ptrc_check *);

#endif
