/* SPDX-License-Identifier: MIT */
/* What has become of the rules, for people and for programs. */
#ifndef PTRC_SRC_CHECK_REPORT_H
#define PTRC_SRC_CHECK_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/check/check.h"
#include "src/cli/buffer.h"

/* "pass", "fail" or "undecided". */
const char *ptrc_verdict_name(enum ptrc_verdict);

/* Puts what a case says on one line, for people. */
void ptrc_check_put_case(struct ptrc_buffer *, const struct ptrc_case *);

/* Puts the command that shows the events of a case and those around it. */
void ptrc_check_put_command(struct ptrc_buffer *, const struct ptrc_check *,
			    const struct ptrc_case *);

/* How many rules have this verdict. */
uint64_t ptrc_check_count(const struct ptrc_check *, enum ptrc_verdict);

/* Puts how many have each verdict. */
void ptrc_check_put_counts(struct ptrc_buffer *, const struct ptrc_check *);

/* These put all rules. */
void ptrc_check_put_text(struct ptrc_buffer *, const struct ptrc_check *, bool is_coloured);
void ptrc_check_put_json(struct ptrc_buffer *, const struct ptrc_check *);
void ptrc_check_put_tap(struct ptrc_buffer *, const struct ptrc_check *);
void ptrc_check_put_junit(struct ptrc_buffer *, const struct ptrc_check *);
/* Annotations, and how many rules have which verdict. */
void ptrc_check_put_github(struct ptrc_buffer *, const struct ptrc_check *);

#endif
