/* SPDX-License-Identifier: MIT */
/*
 * A report as one file of HTML with a script, which loads nothing else. Everything from a log is in it as JSON
 * without '<', or as base64.
 */
#ifndef PTRC_SRC_REPORT_PAGE_H
#define PTRC_SRC_REPORT_PAGE_H

#include "src/report/collect.h"
#include "src/query/symbols.h"

/* The first bytes of a report, by which the command recognizes a file that it may replace. */
#define PTRC_REPORT_SIGNATURE "<!doctype html><!--ptrace-report"

struct ptrc_page_options {
	/* The most bytes that the report may have. */
	uint64_t size_max;
	/* For function, file and line of code; NULL: there are none, for this reason. */
	struct ptrc_symbols *symbols;
	const char *why_no_symbols;
	/* The arguments of the command. */
	char **arguments;
	size_t argument_count;
};

/* Puts the report. Drops records until it is small enough, and reports on standard error what it has left out.
 * Returns false, after a message, if it is too large even without any record. */
bool ptrc_page_put(struct ptrc_buffer *, struct ptrc_report *, const struct ptrc_page_options *);

#endif
