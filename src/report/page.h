/* SPDX-License-Identifier: MIT */
/*
 * A report as one file of HTML, which shows itself in a browser without asking for anything else. All
 * that comes from a log stands in it as JSON without a '<', or as base64.
 */
#ifndef PTRC_SRC_REPORT_PAGE_H
#define PTRC_SRC_REPORT_PAGE_H

#include "src/report/collect.h"
#include "src/query/symbols.h"

/* What every report begins with, by which a command knows one that it may replace. */
#define PTRC_REPORT_SIGNATURE "<!doctype html><!--ptrace-report"

struct ptrc_page_options {
	/* The most bytes that the report may have. */
	uint64_t size_max;
	/* For function, file and line of what recorded an event; null: nothing can tell, for this
	 * reason. */
	struct ptrc_symbols *symbols;
	const char *why_no_symbols;
	/* The arguments of the command. */
	char **arguments;
	size_t argument_count;
};

/*
 * Puts the report. Drops single events and pairs until it is not too large, and says on standard error
 * what it has left out. Returns false, after a message, if it is too large even without any.
 */
bool ptrc_page_put(struct ptrc_buffer *, struct ptrc_report *, const struct ptrc_page_options *);

#endif
