/* SPDX-License-Identifier: MIT */
/* A report as a single HTML file with a script, which loads no other file. Everything from a log is in the file as
 * JSON without '<', or as base64, so that it cannot act as HTML. */
#ifndef PTRC_SRC_REPORT_PAGE_H
#define PTRC_SRC_REPORT_PAGE_H

#include "src/report/collect.h"
#include "src/query/symbols.h"

/* The first bytes of a report. By these, the command recognizes a file that it may replace. */
#define PTRC_REPORT_SIGNATURE "<!doctype html><!--ptrace-report"

struct ptrc_page_options {
	/* The most bytes that the report may have. */
	uint64_t size_max;
	/* Finds the function, file and line of code; NULL if that is not possible, for the reason in why_no_symbols. */
	struct ptrc_symbols *symbols;
	const char *why_no_symbols;
	/* The arguments with which the command was called. */
	char **arguments;
	size_t argument_count;
};

/* Puts the report. Drops records until it is small enough, and prints a message that says what was dropped.
 * Returns false, after a message, if it is too large even without any record. */
bool ptrc_page_put(struct ptrc_buffer *, struct ptrc_report *, const struct ptrc_page_options *);

#endif
