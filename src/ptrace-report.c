/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "src/base/cli.h"
#include "src/base/exit_status.h"
#include "src/base/output.h"
#include "src/base/replace.h"
#include "src/report/collect.h"
#include "src/report/page.h"
#include "src/report/text.h"
#include "src/session/logfile.h"
#include "src/summary/selection.h"

enum {
	KEY_MAX_SIZE = PTRC_CLI_KEY_FIRST,
};

static struct ptrc_report report;
static bool is_forced;
static bool is_utc;

static const struct ptrc_cli_option options[] = {
	{"output", 'o', "FILE", "write the report to this file; - for standard\noutput"},
	{"force", 0, NULL, "let it replace a file that is not a report"},
	{"max-size", KEY_MAX_SIZE, "SIZE",
	 "the most bytes that the report may have, such as\n5M (default: 20M)"},
	{"text", 0, NULL, "show summary, durations and gaps as text instead"},
	{"utc", 0, NULL, "with --text: times are UTC, not local time"},
	PTRC_SELECTION_OPTIONS,
	{"pair", PTRC_SELECTION_PAIR, "PAIR",
	 "take these for pairs, too, as all X.begin and\nX.end are:\n"
	 "'req' (of req.begin and req.end) or 'a..b', of the\nsame thread, or with ' by data.id' of those with\n"
	 "the same value in the field; may be given several\ntimes"},
	PTRC_SELECTION_LABEL_BY_OPTION,
	PTRC_SELECTION_HOST_OPTIONS,
	PTRC_SELECTION_DATA_OPTIONS,
	{"allow-loss", 0, NULL, "exit with 0 even if the data is incomplete"},
	PTRC_CLI_OPTIONS_END,
};

static struct ptrc_query query;
static struct ptrc_selection selection;

static const struct ptrc_cli cli = {
	.program = "ptrace-report",
	.operands = "[OPTION]... [SESSION|LOG]... -o FILE | --text",
	.summary =
		"Makes a report of trace logs, and of what sessions hold now: one file of HTML,\n"
		"which any browser opens and which needs nothing else. It shows threads in\n"
		"time, how long pairs of events took, and each event. A name that has a / in\n"
		"it, or that no session has, is the path of a log; LOG may be - for standard\n"
		"input. Without any, it is " PTRC_SELECTION_LOG ".",
	.options = options,
	.flags = PTRC_CLI_FLAGS(PTRC_SELECTION_FLAGS(selection, query), {"force", &is_forced},
				{"text", &report.is_text}, {"utc", &is_utc}),
	.exclusions = PTRC_CLI_ROWS(PTRC_SELECTION_EXCLUSIONS, {"text", "output force max-size"}),
	.needs = PTRC_CLI_ROWS(PTRC_SELECTION_NEEDS, {"utc", "text"}),
	.operand_kinds = "SESSION|LOG",
	.notes = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the data is incomplete.",
};

static const struct ptrc_replace_kind report_kind = {
	/* Only the owner can read the file, as with logs. */
	.mode = 0600,
	.signature = PTRC_REPORT_SIGNATURE,
	.signature_bytes = sizeof(PTRC_REPORT_SIGNATURE) - 1,
	.noun = "a report",
};

enum {
	/* The least size: enough for the script, the style and some data. */
	SIZE_MIN = 1 << 18,
	SIZE_DEFAULT = 20 << 20,
	/* Estimates. RECORD_BYTES: the least size of a record in the report. MEMORY_FACTOR: the memory for records
	 * while the report is made, as a multiple of the report's size. LANE_BYTES: the size of a lane (a thread's
	 * row) in the report. */
	RECORD_BYTES = 6,
	MEMORY_FACTOR = 12,
	LANE_BYTES = 300,
};

static struct ptrc_pairs pairs;
static struct ptrc_page_options page_options;
static const char *output;
static struct ptrc_buffer out;
/* No event type matches the selection, so there is no report. */
static bool is_vain;

/* Whether the user may want system events: --event, --where or --around is given, or a pair of system events. */
static bool asks_for_system(void)
{
	static const char prefix[] = "posix_trace_";
	const struct ptrc_select *s = &query.select;
	bool is_asked = s->globs.count || s->where_count || s->around;

	for (size_t i = 0; i < pairs.count && !is_asked; i++)
		is_asked = !strncmp(pairs.list[i].begin, prefix, sizeof(prefix) - 1) ||
			   !strncmp(pairs.list[i].end, prefix, sizeof(prefix) - 1);
	return is_asked;
}

static void parse(int argc, char **argv)
{
	struct ptrc_cli_reason why;
	int key;

	ptrc_selection_begin(&selection, &query, &pairs);
	page_options.size_max = SIZE_DEFAULT;
	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		if (key == 'o')
			ptrc_cli_once("--output", &output);
		else if (key != KEY_MAX_SIZE)
			ptrc_selection_take(&selection, key);
		else if (!ptrc_cli_parse_size(optarg, &page_options.size_max, &why))
			ptrc_cli_usage("--max-size", "%s", why.text);
		else if (page_options.size_max < SIZE_MIN || page_options.size_max > UINT32_MAX / 8)
			ptrc_cli_usage("--max-size", "is not between 256K and 511M");
	}
	if (!output && !report.is_text)
		ptrc_cli_usage(NULL, "neither -o FILE nor --text given");
	/* Expressions are about single events, not about pairs. */
	selection.is_by_begin = true;
	ptrc_selection_read(&selection);
	ptrc_selection_check(&selection, argc - optind);
	query.select.is_user |= !asks_for_system();
	pairs.is_by_name = true;
	selection.label.has_rows = report.is_text;
	pairs.has_functions = report.is_text && selection.has_symbols;
}

/* Opens the file of the report without changing its contents. Returns false after a message. */
static bool open_output(void)
{
	return report.is_text || !strcmp(output, "-") ||
	       ptrc_log_target_output(&query, output, &report_kind, is_forced,
				      "is the log that the report is to be made of");
}

static bool write_report(struct ptrc_report *r)
{
	if (is_vain)
		return true;
	if (r->is_text)
		ptrc_report_put_text(&out, r, is_utc);
	else if (!ptrc_page_put(&out, r, &page_options))
		return ptrc_output_give_up(&out);
	ptrc_output_clear();
	ptrc_output_write(&out);
	return true;
}

/* Loads symbols, by which events get places in the source code. Returns false, after a message, if that fails and
 * --symbols was given. */
static bool load_symbols(void)
{
	static struct ptrc_cli_reason why;

	if (report.is_text && !selection.has_symbols)
		return true;
	page_options.symbols = ptrc_symbols_open(&why);
	page_options.why_no_symbols = why.text;
	if (!selection.has_symbols)
		return true;
	query.symbols = page_options.symbols;
	if (!query.symbols)
		ptrc_cli_message("--symbols", "%s", why.text);
	return query.symbols != NULL;
}

static enum ptrc_exit show(void)
{
	report.query = &query;
	report.pairs = &pairs;
	report.waits.symbols = page_options.symbols;
	report.records_max = (size_t)(page_options.size_max / RECORD_BYTES);
	report.bytes_max = page_options.size_max * MEMORY_FACTOR;
	report.lanes_max = (size_t)(page_options.size_max / LANE_BYTES);
	report.write = write_report;
	ptrc_report_begin(&report);
	return ptrc_selection_run(&selection);
}

int main(int argc, char **argv)
{
	enum ptrc_exit status = PTRC_EXIT_DONE;

	parse(argc, argv);
	page_options.arguments = argv + 1;
	page_options.argument_count = (size_t)argc - 1;
	if (!load_symbols())
		return PTRC_EXIT_FAILED;
	ptrc_output_begin();
	if (!ptrc_selection_open(&selection, argv + optind, (size_t)(argc - optind)))
		status = PTRC_EXIT_FAILED;
	/* If a pattern matches no event type, that is reported at the end, and no file is made or replaced. */
	is_vain = query.source_count && !ptrc_query_may_select(&query);
	if (query.source_count && (is_vain || open_output()))
		status = ptrc_exit_worse(status, show());
	else
		status = PTRC_EXIT_FAILED;
	ptrc_output_end(&out);
	if (report.query)
		ptrc_report_free(&report);
	if (page_options.symbols != query.symbols)
		ptrc_symbols_free(page_options.symbols);
	ptrc_selection_free(&selection);
	return (int)status;
}
