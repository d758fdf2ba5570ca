/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/cli.h"
#include "src/base/end_signal.h"
#include "src/base/exit_status.h"
#include "src/base/output.h"
#include "src/text/pair_dump.h"
#include "src/session/logfile.h"
#include "src/summary/selection.h"
#include "src/text/text.h"
#include "src/fields/when.h"
#include "src/query/where.h"

enum {
	KEY_FORMAT = PTRC_CLI_KEY_FIRST,
	KEY_JSON,
	KEY_LONGEST,
	KEY_THREADS,
	KEY_TO_LOG,
	KEY_FIELDS,
	KEY_HEADER,
	KEY_COLOR,
};

static struct ptrc_query query;
static struct ptrc_text text = {
	.query = &query,
	/* The width at first: enough for the shorter names of system events. */
	.format.widths[PTRC_COLUMN_EVENT] = 17,
};

static struct ptrc_pairs pairs;
static struct ptrc_selection selection;

static bool is_tree, is_forced, is_utc;

static const struct ptrc_cli_option options[] = {
	{"follow", 'f', "SESSION", "show the events of a session as they come, to its\nend"},
	PTRC_SELECTION_OPTIONS,
	{"count", 0, NULL, "show only the number of events"},
	{"pair", PTRC_SELECTION_PAIR, "PAIR",
	 "show pairs of events in place of events:\n"
	 "'req' (of req.begin and req.end) or 'a..b', of the\nsame thread, or with ' by data.id' of those with\n"
	 "the same value in the field; may be given several\ntimes"},
	{"pairs", 0, NULL, "the same of all event types X.begin and X.end"},
	{"longest", KEY_LONGEST, "N",
	 "with these: show only the N pairs that took\nlongest, the longest first"},
	{"tree", 0, NULL,
	 "show pairs as a tree of calls with durations, one\ntree for each thread; --pairs, if no pair is\n"
	 "given"},
	{"verify", 0, NULL,
	 "show no events, but read all of them, and compare\nthem with what the logs say of "
	 "themselves"},
	PTRC_SELECTION_HOST_OPTIONS,
	PTRC_SELECTION_DATA_OPTIONS,
	{"fields", KEY_FIELDS, "LIST",
	 "show these fields, in this order: time, ns, event,\n"
	 "type_id, pid, tid, thread, address, truncated,\n"
	 "len, data, data_hex, log, reason, error,\ndata.NAME, host, comm, thread_name, exe, user,\n"
	 "command_line, gap, bound, and, with --symbols,\nfunction, file, line; of pairs pair, duration, and\n"
	 "begin.NAME and end.NAME of these"},
	{"format", KEY_FORMAT, "FORMAT",
	 "text, json, csv or columns (default: text on a\nterminal and of --count, else json)"},
	{"json", KEY_JSON, NULL, "the same as --format=json"},
	{"utc", 0, NULL, "times in text are UTC, not local time"},
	{"relative", 0, NULL,
	 "in place of the time, show the time since the\nfirst event and since the event before"},
	{"header", KEY_HEADER, "WHEN",
	 "a line that names the columns of text: auto,\nalways or never (default: auto, that is, "
	 "on a\nterminal)"},
	{"color", KEY_COLOR, "WHEN",
	 "colours in text: auto, always or never (default:\n"
	 "auto, that is, on a terminal unless NO_COLOR is\nset)"},
	{"summary", 0, NULL, "at the end, say how many were shown and what is\nmissing"},
	{"to-log", KEY_TO_LOG, "FILE", "write the events to a log, in place of showing\nthem"},
	{"force", 0, NULL, "let the log replace a file that is not one"},
	{"threads", KEY_THREADS, "N",
	 "how many threads format the events (default: as\nmany as there are processors)"},
	{"allow-loss", 0, NULL, "exit with 0 even if the data is incomplete"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-dump",
	.operands = "[OPTION]... [SESSION|LOG]... | --follow=SESSION",
	.summary =
		"Shows the events of trace logs, and what sessions hold now, merged by time; or\n"
		"those of a session as they come. Nothing is taken away from a session. A name\n"
		"that has a / in it, or that no session has, is the path of a log; LOG may be\n"
		"- for standard input. Without any, it is " PTRC_SELECTION_LOG ".",
	.options = options,
	.flags = PTRC_CLI_FLAGS(PTRC_SELECTION_FLAGS(selection, query),
				{"count", &text.is_counting}, {"pairs", &pairs.is_by_name},
				{"tree", &is_tree}, {"verify", &query.is_verifying},
				{"utc", &is_utc}, {"relative", &text.format.is_relative},
				{"summary", &text.has_summary}, {"force", &is_forced}),
	/* clang-format off */
	.exclusions = PTRC_CLI_ROWS(
		PTRC_SELECTION_EXCLUSIONS,
		/* These options are about single events, so they do not apply to pairs. */
		{"pair pairs tree", "user around verify to-log"},
		{"tree", "longest fields"},
		{"tree longest count", "first last"},
		{"tree longest verify to-log", "count"},
		/* --relative shows the time since the preceding line, and --longest does not sort lines by time. */
		{"longest", "relative"},
		{"count to-log", "fields"},
		/* --verify reads whole logs, so it excludes options that select events. */
		{"verify", "event user pid tid since until around where first last follow to-log"},
		{"to-log", "last relative"},
		{"follow", "last label clock-sync LOG"},
		{"relative", "utc"}),
	/* clang-format on */
	.needs =
		PTRC_CLI_ROWS(PTRC_SELECTION_NEEDS, {"longest", "pair pairs"}, {"force", "to-log"}),
	.words = PTRC_CLI_ROWS(
		{"format", "text json csv columns"}, {"header color", "auto always never"},
		{"fields",
		 "time ns event type_id pid tid thread address truncated len data data_hex log reason error host "
		 "comm thread_name exe user command_line gap bound function file line"}),
	.operand_kinds = "SESSION|LOG",
	.notes = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the data is incomplete.",
};

static const char csv_fields[] = "time,event,pid,tid,data";
static const char csv_pair_fields[] = "pair,time,duration,pid,tid,begin.data,end.data";

/* The values of --color and --header. */
enum { AUTO, ALWAYS, NEVER };

static bool is_colour_wanted(int when)
{
	const char *terminal = getenv("TERM");

	return when == AUTO ? ptrc_cli_has_colours() && !(terminal && !strcmp(terminal, "dumb"))
			    : when == ALWAYS;
}

static const char *to_log;
/* The value of --longest; UINT64_MAX if it was not given. */
static uint64_t longest_count = UINT64_MAX;

/* --fields has function, file or line, which need --symbols. */
static bool has_source_field;

static void check_usage(int operands)
{
	if (to_log)
		ptrc_log_target_check("--to-log", to_log, text.has_summary);
	if (to_log && query.session && query.select.around)
		ptrc_cli_usage("--to-log", "cannot be used together with --follow and --around");
	if (!selection.has_symbols && has_source_field)
		ptrc_cli_usage("--fields", "function, file and line need --symbols");
	ptrc_selection_check(&selection, operands);
}

/* Whether the user wants the first or last events as text, and gives neither --event nor --where nor --around. Then
 * the system events about flushes of the log are left out. */
static bool is_without_flushes(void)
{
	const struct ptrc_select *s = &query.select;
	bool is_part = query.first_count != UINT64_MAX || query.last_count != UINT64_MAX;

	return is_part && text.format.format == PTRC_FORMAT_TEXT && !to_log &&
	       !query.layouts.is_for_pairs && !s->globs.count && !s->where_count && !s->around;
}

static void parse(int argc, char **argv)
{
	/* The values of --fields. They are parsed after all options, because they may name fields of a layout
	 * that a later --decode has. */
	struct ptrc_cli_texts fields = {0};
	struct ptrc_cli_reason why;
	bool is_format_given = false;
	bool is_text, is_csv, is_columns;
	int header = AUTO;
	int colour = AUTO;
	int key;

	text.format.format = isatty(STDOUT_FILENO) ? PTRC_FORMAT_TEXT : PTRC_FORMAT_JSON;
	ptrc_cli_begin(&cli);
	ptrc_selection_begin(&selection, &query, &pairs);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		if (ptrc_selection_take(&selection, key))
			continue;
		is_format_given |= key == KEY_FORMAT || key == KEY_JSON;
		if (key == KEY_LONGEST)
			longest_count = ptrc_cli_number("--longest", optarg, 0, INT64_MAX);
		else if (key == KEY_TO_LOG)
			ptrc_cli_once("--to-log", &to_log);
		else if (key == KEY_THREADS)
			text.thread_count =
				(unsigned int)ptrc_cli_number("--threads", optarg, 1, 1024);
		else if (key == KEY_FIELDS)
			ptrc_cli_add_text(&fields, optarg);
		else if (key == KEY_FORMAT)
			text.format.format = (enum ptrc_format)ptrc_cli_word("--format", optarg);
		else if (key == KEY_JSON)
			text.format.format = PTRC_FORMAT_JSON;
		else if (key == KEY_COLOR)
			colour = ptrc_cli_word("--color", optarg);
		else if (key == KEY_HEADER)
			header = ptrc_cli_word("--header", optarg);
		else if (key == 'f')
			ptrc_cli_once("--follow", &query.session);
	}
	if (!is_format_given && (text.is_counting || query.is_verifying ||
				 text.format.is_relative || header == ALWAYS || is_tree))
		text.format.format = PTRC_FORMAT_TEXT;
	is_text = text.format.format == PTRC_FORMAT_TEXT;
	is_csv = text.format.format == PTRC_FORMAT_CSV;
	is_columns = text.format.format == PTRC_FORMAT_COLUMNS;
	if (is_csv &&
	    (text.is_counting || text.has_summary || query.is_verifying || is_tree || to_log))
		ptrc_cli_usage("--format",
			       "csv has events and pairs alone, and cannot be used together "
			       "with --count, --summary, --verify, --tree and --to-log");
	if (!is_text && (text.format.is_relative || (header == ALWAYS && !is_csv)))
		ptrc_cli_usage(text.format.is_relative ? "--relative" : "--header",
			       "is for text, not for %s",
			       is_csv	    ? "CSV"
			       : is_columns ? "columns"
					    : "JSON");
	if (!is_text && is_tree)
		ptrc_cli_usage("--tree", "is for text: the JSON of --pairs has what it shows");
	text.format.time.is_local = is_text && !is_utc;
	pairs.is_by_name |= is_tree && !selection.pair_texts.count;
	ptrc_selection_read(&selection);
	if (is_columns && (text.is_counting || fields.count || query.layouts.is_for_pairs ||
			   selection.has_symbols || query.is_verifying || to_log))
		ptrc_cli_usage(
			"--format",
			"columns have all fields of events, and cannot be used together with "
			"--count, --fields, --pair, --pairs, --symbols, --to-log and "
			"--verify");
	/* The columns end with the summary, so that their reader can see that no event is missing. */
	text.has_summary |= is_columns;
	if (is_csv && !fields.count) {
		if (argc - optind > 1)
			ptrc_cli_add_text(&fields, "log");
		ptrc_cli_add_text(&fields,
				  query.layouts.is_for_pairs ? csv_pair_fields : csv_fields);
	}
	for (size_t i = 0; i < fields.count; i++)
		if (!ptrc_event_fields(&text.format, fields.texts[i], &query.layouts, &why))
			ptrc_cli_usage("--fields", "%s", why.text);
	free(fields.texts);
	for (size_t i = 0; i < text.format.field_count; i++) {
		has_source_field |= ptrc_field_is_of_source(text.format.fields[i].id);
		query.needs_gap |= text.format.fields[i].id == PTRC_FIELD_GAP;
		query.needs_bound |= text.format.fields[i].id == PTRC_FIELD_BOUND;
	}
	query.needs_first = text.format.is_relative;
	check_usage(argc - optind);
	query.select.is_without_flushes = is_without_flushes();
	if (query.is_verifying)
		text.is_counting = text.has_summary = true;
	text.format.has_symbols = selection.has_symbols;
	text.format.is_coloured = is_text && is_colour_wanted(colour);
	text.is_header_due =
		is_csv ? header != NEVER
		       : is_text && (header == ALWAYS || (header == AUTO && isatty(STDOUT_FILENO)));
	if (text.is_header_due)
		ptrc_event_widen(&text.format);
}

static enum ptrc_exit show(void)
{
	enum ptrc_exit status = PTRC_EXIT_DONE;
	bool is_read = true;

	if (query.session)
		is_read = ptrc_text_follow(&text);
	else if (ptrc_query_scan(&query))
		is_read = ptrc_text_count(&text) || ptrc_text_by_threads(&text) ||
			  ptrc_text_show(&text);
	else
		status = PTRC_EXIT_FAILED;
	status = ptrc_text_end(&text, status, is_read);
	ptrc_selection_say_orphans(&selection);
	return status;
}

int main(int argc, char **argv)
{
	enum ptrc_exit status = PTRC_EXIT_DONE;
	struct ptrc_logfile file = {.fd = -1};
	struct ptrc_pair_dump *pair_dump = NULL;

	parse(argc, argv);
	if (!ptrc_selection_load_symbols(&selection))
		return PTRC_EXIT_FAILED;
	ptrc_output_begin();
	selection.is_for_log = to_log;
	if (query.session)
		ptrc_end_signal_catch();
	if (!ptrc_selection_open(&selection, argv + optind, (size_t)(argc - optind)))
		status = PTRC_EXIT_FAILED;
	ptrc_text_begin(&text);
	if (query.layouts.is_for_pairs && query.source_count)
		pair_dump = ptrc_pair_dump_begin(&text, &pairs, longest_count, is_tree);
	/* If a pattern matches no event type, that is reported at the end, and no log is made or replaced. */
	if (to_log && query.source_count && ptrc_query_may_select(&query) &&
	    !ptrc_log_target_open(&file, &query, to_log, is_forced))
		status = PTRC_EXIT_FAILED;
	else if (query.source_count)
		status = ptrc_exit_worse(status, show());
	if (to_log)
		ptrc_log_target_close(&file);
	ptrc_output_end(&query.out);
	ptrc_pair_dump_free(pair_dump);
	ptrc_event_format_free(&text.format);
	ptrc_selection_free(&selection);
	ptrc_end_signal_raise();
	return (int)status;
}
