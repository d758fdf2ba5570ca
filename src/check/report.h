/* SPDX-License-Identifier: MIT */
/* What has become of the rules, for people and for programs. */
#ifndef PTRC_SRC_CHECK_REPORT_H
#define PTRC_SRC_CHECK_REPORT_H

#include <stdbool.h>

#include "src/check/check.h"
#include "src/cli/buffer.h"

/* "pass", "fail" or "undecided". */
const char *ptrc_verdict_name(enum ptrc_verdict);

/* Puts what a case says on one line, for people. */
void ptrc_check_put_case(struct ptrc_buffer *, const struct ptrc_case *);

/* Puts the command that shows the events of a case and those around it. */
void ptrc_check_put_command(struct ptrc_buffer *, const struct ptrc_check *,
			    const struct ptrc_case *);

/* These put all rules. */
void ptrc_check_put_text(struct ptrc_buffer *, const struct ptrc_check *, bool is_colored);

#endif
