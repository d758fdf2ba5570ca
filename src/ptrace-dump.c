/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cli/cli.h"
#include "src/cli/exit_status.h"
#include "src/cli/output.h"
#include "src/config/layouts.h"
#include "src/pairs/pair_dump.h"
#include "src/session/dump_target.h"
#include "src/session/orphans.h"
#include "src/session/reader_follow.h"
#include "src/summary/event_types.h"
#include "src/view/dump.h"
#include "src/view/dump_threads.h"
#include "src/view/reader.h"
#include "src/view/when.h"
#include "src/view/where.h"

#define DEFAULT_LOG "ptrace.log"

enum {
	KEY_FORMAT = PTRC_CLI_KEY_FIRST,
	KEY_JSON,
	KEY_USER,
	KEY_TID,
	KEY_SINCE,
	KEY_UNTIL,
	KEY_AROUND,
	KEY_BEFORE,
	KEY_AFTER,
	KEY_WHERE,
	KEY_FIRST,
	KEY_LAST,
	KEY_COUNT,
	KEY_PAIR,
	KEY_PAIRS,
	KEY_LONGEST,
	KEY_TREE,
	KEY_VERIFY,
	KEY_THREADS,
	KEY_TO_LOG,
	KEY_FORCE,
	KEY_FIELDS,
	KEY_DECODE,
	KEY_SYMBOLS,
	KEY_UTC,
	KEY_RELATIVE,
	KEY_HEADER,
	KEY_COLOR,
	KEY_SUMMARY,
	KEY_STRICT,
	KEY_ALLOW_LOSS,
};

static const struct ptrc_cli_option options[] = {
	{"follow", 'f', "SESSION", "show the events of a session as they come, to its\nend"},
	{"event", 'e', "GLOB", "show only events whose name matches; may be given\nseveral times"},
	{"user", KEY_USER, NULL, "leave the system's own events out"},
	{"pid", 'p', "PID", "show only events of the process; may be given\nseveral times"},
	{"tid", KEY_TID, "TID",
	 "show only events of the thread with this kernel\nnumber (gettid); may be given several times"},
	{"since", KEY_SINCE, "TIME",
	 "show only events from this time on, as text shows\nit or such as 2026-01-02T03:04:05Z, "
	 "2026-01-02\n03:04 (local), 03:04 (today), now, today,\nyesterday, 1h ago, @SECONDS since "
	 "1970, +2s after\nthe begin, -5s before the end"},
	{"until", KEY_UNTIL, "TIME", "show only events up to this time"},
	{"around", KEY_AROUND, "GLOB", "show only events near those whose name matches"},
	{"before", KEY_BEFORE, "DURATION",
	 "with --around: how long before, such as 10s, 1.5ms\nor 1m30s"},
	{"after", KEY_AFTER, "DURATION", "with --around: how long after (default: both 1s)"},
	{"where", KEY_WHERE, "EXPR",
	 "show only events for which the expression holds,\n"
	 "such as 'len > 9 && data.rows == 0'; may be given\nseveral times"},
	{"first", KEY_FIRST, "N", "show only the first N events"},
	{"last", KEY_LAST, "N", "show only the last N events"},
	{"count", KEY_COUNT, NULL, "show only how many events there are"},
	{"pair", KEY_PAIR, "PAIR",
	 "show pairs of events in place of events:\n'req.begin..req.end by data.id', of those with the\n"
	 "same value in the field, or without 'by' of the\nsame thread; may be given several times"},
	{"pairs", KEY_PAIRS, NULL, "the same of all event types X.begin and X.end"},
	{"longest", KEY_LONGEST, "N",
	 "with these: show only the N pairs that took\nlongest, the longest first"},
	{"tree", KEY_TREE, NULL,
	 "show pairs as a tree of calls with durations: of\neach thread what lies within what; --pairs, if no\n"
	 "pair is given"},
	{"verify", KEY_VERIFY, NULL,
	 "show no events, but read all of them, and compare\nthem with what the logs say of "
	 "themselves"},
	{"decode", KEY_DECODE, "EVENT=LAYOUT",
	 "what the data of events means, such as\n"
	 "'db.query=u64 id, u32 rows, str sql'; may be given\nseveral times"},
	{"strict", KEY_STRICT, NULL,
	 "exit with 3 if the data of a selected event does\nnot fit its layout"},
	{"symbols", KEY_SYMBOLS, NULL,
	 "show function, file and line of the call that\nrecorded each event"},
	{"config", 'c', "FILE",
	 "read layouts as for --decode from this file, see\n"
	 "ptrace.yaml(5); - for standard input"},
	{"fields", KEY_FIELDS, "LIST",
	 "show these fields, in this order: time, ns, event,\n"
	 "id, pid, tid, thread, address, truncated, len,\n"
	 "data, data_hex, log, reason, error, data.NAME,\nhost, comm, thread_name, exe, user, command_line,\ngap, and, with "
	 "--symbols, function, file, line"},
	{"format", KEY_FORMAT, "FORMAT",
	 "text or json (default: text on a terminal and of\n--count, else json)"},
	{"json", KEY_JSON, NULL, "the same as --format=json"},
	{"utc", KEY_UTC, NULL, "times in text are UTC, not local time"},
	{"relative", KEY_RELATIVE, NULL,
	 "in place of the time, show the time since the\nfirst event and since the event before"},
	{"header", KEY_HEADER, "WHEN",
	 "a line that names the columns of text: auto,\nalways or never (default: auto, that is, "
	 "on a\nterminal)"},
	{"color", KEY_COLOR, "WHEN",
	 "colours in text: auto, always or never (default:\n"
	 "auto, that is, on a terminal unless NO_COLOR is\nset)"},
	{"summary", KEY_SUMMARY, NULL, "at the end, say how many were shown and what is\nmissing"},
	{"to-log", KEY_TO_LOG, "FILE", "write the events to a log, in place of showing\nthem"},
	{"force", KEY_FORCE, NULL, "let the log replace a file that is not one"},
	{"threads", KEY_THREADS, "N",
	 "how many threads format the events (default: as\nmany as there are processors)"},
	{"allow-loss", KEY_ALLOW_LOSS, NULL, "exit with 0 even if the data is incomplete"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-dump",
	.operands = "[OPTION]... [SESSION|LOG]... | --follow=SESSION",
	.summary =
		"Shows the events of trace logs, and what sessions hold now, merged by time; or\n"
		"those of a session as they come. Nothing is taken away from a session. A name\n"
		"that has a / in it, or that no session has, is the path of a log; LOG may be\n"
		"- for standard input. Without any, it is " DEFAULT_LOG ".",
	.options = options,
	.notes = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the data is incomplete.",
	.usage_status = PTRC_EXIT_USAGE,
};

/* How often --where may be given. */
enum { WHERE_MAX = 100 };

/* What --around shows if neither --before nor --after is given. */
static const int64_t around_default_ns = 1000000000;

static struct ptrc_dump dump = {
	.select.span = {INT64_MIN, INT64_MAX},
	/* Wide enough for the shorter names of system events. */
	.format.name_width = 17,
	.since = {PTRC_WHEN_ABSOLUTE, INT64_MIN},
	.until = {PTRC_WHEN_ABSOLUTE, INT64_MAX},
	.before_ns = -1,
	.after_ns = -1,
	.first_count = UINT64_MAX,
	.last_count = UINT64_MAX,
};

static void add_process(struct ptrc_select_numbers *numbers, const char *option, const char *text)
{
	/* Events of the trace system itself have process and thread 0. */
	ptrc_select_add_number(numbers, (pid_t)ptrc_cli_number(option, text, 0, INT32_MAX));
}

static struct ptrc_when time_of(const char *option, const char *text)
{
	struct ptrc_cli_reason why;
	struct ptrc_when w;

	if (!ptrc_when_parse(text, &w, &why))
		ptrc_cli_usage(option, "%s", why.text);
	return w;
}

static int64_t duration_of(const char *option, const char *text)
{
	int64_t ns;

	if (!ptrc_when_duration(text, &ns))
		ptrc_cli_usage(option, "'%s' is not a duration such as 10s or 1.5ms", text);
	return ns;
}

/* Adds the layouts of the file, behind those of --decode. */
static void read_layouts(const char *path)
{
	dump.given_layout_count = dump.layouts.count;
	if (path)
		ptrc_config_read_layouts(&dump.layouts, path, dump.session);
	/* The sources may tell of others. */
	dump.layouts.is_open = true;
}

/* The expressions of --where. */
static struct ptrc_cli_texts wheres;

static struct ptrc_where *read_where(const char *text)
{
	struct ptrc_cli_reason why;
	struct ptrc_where *w = ptrc_where_parse(text, &dump.layouts, &why);

	if (!w)
		ptrc_cli_usage("--where", "%s", why.text);
	return w;
}

static void add_wheres(void)
{
	if (wheres.count > WHERE_MAX)
		ptrc_cli_usage("--where", "is given more than %d times", (int)WHERE_MAX);
	for (size_t i = 0; i < wheres.count; i++)
		ptrc_select_add_where(&dump.select, read_where(wheres.texts[i]));
}

/* Reads expressions and fields once more, with the layouts that the logs tell: all that there are. */
static void close_layouts(void)
{
	struct ptrc_cli_reason why;

	dump.layouts.is_open = false;
	for (size_t i = 0; i < wheres.count; i++) {
		struct ptrc_where *w = read_where(wheres.texts[i]);

		ptrc_where_free(dump.select.wheres[i]);
		dump.select.wheres[i] = w;
	}
	for (size_t i = 0; i < dump.format.field_count; i++) {
		struct ptrc_field *field = &dump.format.fields[i];
		char name[sizeof("data.") + PTRC_FIELD_TEXT_MAX];

		if (field->id != PTRC_FIELD_MEMBER)
			continue;
		snprintf(name, sizeof(name), "data.%s", field->text);
		if (!ptrc_field_find(name, &dump.layouts, field, &why))
			ptrc_cli_usage("--fields", "%s", why.text);
	}
}

/* When there are colours or a header. */
enum { AUTO, ALWAYS, NEVER };

static bool is_colour_wanted(int when)
{
	const char *no_colour = getenv("NO_COLOR");
	const char *terminal = getenv("TERM");

	if (when != AUTO)
		return when == ALWAYS;
	return isatty(STDOUT_FILENO) && !(no_colour && *no_colour) &&
	       !(terminal && !strcmp(terminal, "dumb"));
}

/* The file of --to-log, or null. */
static const char *to_log;
static bool is_forced;
static bool has_symbols;
static struct ptrc_pairs pairs;
/* Only so many of the longest pairs are shown; UINT64_MAX: all. */
static uint64_t longest_count = UINT64_MAX;

static bool is_tree;

/* Reads --pair; the expressions of --where that follow are about pairs, too. */
static void add_pairs(const struct ptrc_cli_texts *texts)
{
	struct ptrc_cli_reason why;

	for (size_t i = 0; i < texts->count; i++)
		if (!ptrc_pairs_add(&pairs, texts->texts[i], &dump.layouts, &why))
			ptrc_cli_usage("--pair", "%s", why.text);
	dump.layouts.is_for_pairs = pairs.count || pairs.is_by_name;
}

static void check_pairs_usage(void)
{
	const char *option = is_tree ? "--tree" : pairs.is_by_name ? "--pairs" : "--pair";
	bool is_longest = longest_count != UINT64_MAX;

	if (is_longest && !dump.layouts.is_for_pairs)
		ptrc_cli_usage("--longest", "needs --pair or --pairs");
	if (!dump.layouts.is_for_pairs)
		return;
	if (dump.select.is_user)
		ptrc_cli_usage(option, "cannot be used together with --user: a pair has the events "
				       "that it is made of");
	if (dump.select.around)
		ptrc_cli_usage(option, "cannot be used together with --around");
	if (dump.is_verifying)
		ptrc_cli_usage(option, "cannot be used together with --verify");
	if (to_log)
		ptrc_cli_usage(option, "cannot be used together with --to-log: a log has events");
	if (dump.format.field_count)
		ptrc_cli_usage(option, "cannot be used together with --fields: JSON has the "
				       "fields of both events");
	if (is_tree && is_longest)
		ptrc_cli_usage("--tree", "cannot be used together with --longest");
	if (is_tree && (dump.first_count != UINT64_MAX || dump.last_count != UINT64_MAX))
		ptrc_cli_usage("--tree", "cannot be used together with --first or --last: --since "
					 "and --until select a part");
	if (is_tree && dump.is_counting)
		ptrc_cli_usage("--tree", "cannot be used together with --count: --pairs counts");
	if (is_longest && (dump.first_count != UINT64_MAX || dump.last_count != UINT64_MAX))
		ptrc_cli_usage("--longest", "cannot be used together with --first or --last");
	if (is_longest && dump.is_counting)
		ptrc_cli_usage("--longest", "cannot be used together with --count");
	if (is_longest && dump.format.is_relative)
		ptrc_cli_usage("--longest", "cannot be used together with --relative, which tells "
					    "the time since the line before");
}

static void check_usage(int operands)
{
	bool is_first = dump.first_count != UINT64_MAX;
	bool is_last = dump.last_count != UINT64_MAX;
	bool is_around = dump.select.around;

	check_pairs_usage();
	if (is_first && is_last)
		ptrc_cli_usage("--last", "cannot be used together with --first");
	if (dump.is_counting && (is_first || is_last))
		ptrc_cli_usage("--count", "cannot be used together with --first or --last");
	if (dump.is_counting && dump.format.field_count)
		ptrc_cli_usage("--count", "cannot be used together with --fields");
	if (is_forced && !to_log)
		ptrc_cli_usage("--force", "needs --to-log");
	if (to_log)
		ptrc_dump_target_check("--to-log", to_log, dump.has_summary);
	if (to_log && (dump.is_counting || dump.is_verifying || is_last))
		ptrc_cli_usage("--to-log",
			       "cannot be used together with --count, --verify or --last");
	if (to_log && dump.session && is_around)
		ptrc_cli_usage("--to-log", "cannot be used together with --follow and --around");
	if (to_log && (dump.format.field_count || dump.format.is_relative))
		ptrc_cli_usage("--to-log", "shows nothing, so there is nothing to format");
	if (!has_symbols && ptrc_event_has_source_field(&dump.format))
		ptrc_cli_usage("--fields", "function, file and line need --symbols");
	for (size_t i = 0; i < dump.select.where_count; i++) {
		const struct ptrc_where *w = dump.select.wheres[i];

		if (!has_symbols && ptrc_where_has_source_field(w))
			ptrc_cli_usage("--where", "function, file and line need --symbols");
		if (dump.session && ptrc_where_has_base(w, PTRC_WHEN_FROM_END))
			ptrc_cli_usage("--where", "cannot have times before the end with --follow, "
						  "where the end is not known yet");
	}
	if (dump.is_verifying && dump.is_counting)
		ptrc_cli_usage("--verify", "cannot be used together with --count");
	if (dump.is_verifying &&
	    (is_first || is_last || !ptrc_select_is_by_type(&dump.select) ||
	     dump.select.globs.count || dump.select.is_user || dump.since.ns != INT64_MIN ||
	     dump.until.ns != INT64_MAX || dump.session))
		ptrc_cli_usage("--verify", "reads whole logs, and cannot be used together with an "
					   "option that selects events");
	if (!is_around && dump.before_ns >= 0)
		ptrc_cli_usage("--before", "needs --around");
	if (!is_around && dump.after_ns >= 0)
		ptrc_cli_usage("--after", "needs --around");
	if (dump.since.base == dump.until.base && dump.since.ns > dump.until.ns)
		ptrc_cli_usage("--until", "is before --since");
	if (dump.session && operands)
		ptrc_cli_usage("--follow", "cannot be used together with LOG");
	if (dump.session && is_last)
		ptrc_cli_usage("--follow", "cannot be used together with --last");
	if (dump.session &&
	    (dump.since.base == PTRC_WHEN_FROM_END || dump.until.base == PTRC_WHEN_FROM_END))
		ptrc_cli_usage("--follow", "cannot be used with times before the end, which is "
					   "not known yet");
	if (!dump.session && !operands && !ptrc_reader_is_there(DEFAULT_LOG))
		ptrc_cli_usage(NULL, "no SESSION or LOG given, and there is no " DEFAULT_LOG
				     " in this directory");
}

static void parse(int argc, char **argv)
{
	static const char *const whens[] = {"auto", "always", "never", NULL};
	/* Are read after all options, as they may name fields of a --decode that comes later. */
	struct ptrc_cli_texts fields = {0};
	struct ptrc_cli_texts pair_texts = {0};
	const char *config = NULL;
	struct ptrc_cli_reason why;
	bool is_format_given = false;
	bool is_text;
	bool is_utc = false;
	int header = AUTO;
	int colour = AUTO;
	int key;

	dump.format.format = isatty(STDOUT_FILENO) ? PTRC_FORMAT_TEXT : PTRC_FORMAT_JSON;
	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		switch (key) {
		case 'e':
			ptrc_cli_add_text(&dump.select.globs, optarg);
			break;
		case KEY_USER:
			dump.select.is_user = true;
			break;
		case 'p':
			add_process(&dump.select.pids, "--pid", optarg);
			break;
		case KEY_TID:
			add_process(&dump.select.tids, "--tid", optarg);
			break;
		case KEY_SINCE:
			dump.since = time_of("--since", optarg);
			break;
		case KEY_UNTIL:
			dump.until = time_of("--until", optarg);
			break;
		case KEY_AROUND:
			dump.select.around = optarg;
			break;
		case KEY_BEFORE:
			dump.before_ns = duration_of("--before", optarg);
			break;
		case KEY_AFTER:
			dump.after_ns = duration_of("--after", optarg);
			break;
		case KEY_WHERE:
			ptrc_cli_add_text(&wheres, optarg);
			break;
		case KEY_FIRST:
			dump.first_count = ptrc_cli_number("--first", optarg, 0, INT64_MAX);
			break;
		case KEY_LAST:
			dump.last_count = ptrc_cli_number("--last", optarg, 0, INT64_MAX);
			break;
		case KEY_COUNT:
			dump.is_counting = true;
			break;
		case KEY_PAIR:
			ptrc_cli_add_text(&pair_texts, optarg);
			break;
		case KEY_PAIRS:
			pairs.is_by_name = true;
			break;
		case KEY_LONGEST:
			longest_count = ptrc_cli_number("--longest", optarg, 0, INT64_MAX);
			break;
		case KEY_TREE:
			is_tree = true;
			break;
		case KEY_TO_LOG:
			if (to_log)
				ptrc_cli_usage("--to-log", "is given twice");
			to_log = optarg;
			break;
		case KEY_FORCE:
			is_forced = true;
			break;
		case KEY_THREADS:
			dump.thread_count =
				(unsigned int)ptrc_cli_number("--threads", optarg, 1, 1024);
			break;
		case KEY_VERIFY:
			dump.is_verifying = true;
			break;
		case KEY_DECODE:
			ptrc_config_take_layout(&dump.layouts, optarg);
			break;
		case KEY_SYMBOLS:
			has_symbols = true;
			break;
		case 'c':
			if (config)
				ptrc_cli_usage("--config", "is given twice");
			config = optarg;
			break;
		case KEY_FIELDS:
			ptrc_cli_add_text(&fields, optarg);
			break;
		case KEY_FORMAT:
			dump.format.format = ptrc_cli_format(optarg);
			is_format_given = true;
			break;
		case KEY_JSON:
			dump.format.format = PTRC_FORMAT_JSON;
			is_format_given = true;
			break;
		case KEY_COLOR:
			colour = ptrc_cli_word("--color", optarg, whens);
			break;
		case KEY_UTC:
			is_utc = true;
			break;
		case KEY_RELATIVE:
			dump.format.is_relative = true;
			break;
		case KEY_HEADER:
			header = ptrc_cli_word("--header", optarg, whens);
			break;
		case 'f':
			if (dump.session)
				ptrc_cli_usage("--follow", "is given twice");
			dump.session = optarg;
			break;
		case KEY_SUMMARY:
			dump.has_summary = true;
			break;
		case KEY_STRICT:
			dump.is_strict = true;
			break;
		case KEY_ALLOW_LOSS:
			dump.is_loss_allowed = true;
			break;
		default:
			break;
		}
	}
	if (!is_format_given && (dump.is_counting || dump.is_verifying || dump.format.is_relative ||
				 header == ALWAYS || is_tree))
		dump.format.format = PTRC_FORMAT_TEXT;
	is_text = dump.format.format == PTRC_FORMAT_TEXT;
	if (!is_text && (dump.format.is_relative || header == ALWAYS))
		ptrc_cli_usage(dump.format.is_relative ? "--relative" : "--header",
			       "is for text, not for JSON");
	if (!is_text && is_tree)
		ptrc_cli_usage("--tree", "is for text: the JSON of --pairs has what it shows");
	if (is_utc && dump.format.is_relative)
		ptrc_cli_usage("--relative", "cannot be used together with --utc");
	dump.format.time.is_local = is_text && !is_utc;
	read_layouts(config);
	pairs.is_by_name |= is_tree && !pair_texts.count;
	add_pairs(&pair_texts);
	add_wheres();
	for (size_t i = 0; i < fields.count; i++)
		if (!ptrc_event_fields(&dump.format, fields.texts[i], &dump.layouts, &why))
			ptrc_cli_usage("--fields", "%s", why.text);
	free(fields.texts);
	free(pair_texts.texts);
	check_usage(argc - optind);
	if (dump.is_verifying)
		dump.is_counting = dump.has_summary = true;
	if (dump.before_ns < 0 && dump.after_ns < 0)
		dump.before_ns = dump.after_ns = around_default_ns;
	else if (dump.before_ns < 0)
		dump.before_ns = 0;
	else if (dump.after_ns < 0)
		dump.after_ns = 0;
	dump.format.has_symbols = has_symbols;
	dump.format.is_coloured = is_colour_wanted(colour);
	dump.is_header_due =
		is_text && (header == ALWAYS || (header == AUTO && isatty(STDOUT_FILENO)));
	if (dump.is_header_due)
		ptrc_event_widen(&dump.format);
}

static bool open_source(struct ptrc_reader *r, const char *name)
{
	int error = ENOENT;

	if (dump.session)
		return ptrc_reader_follow(r, dump.session);
	if (ptrc_summary_is_session_name(name))
		error = ptrc_reader_dump(r, name);
	return error == ENOENT ? ptrc_summary_open_log(r, name) : !error;
}

/* Opens the logs or the sessions. Returns false, after messages, if not all could be opened. */
static bool open_sources(char **operands, size_t count)
{
	dump.sources = ptrc_cli_allocate(count * sizeof(*dump.sources));
	for (size_t i = 0; i < count; i++) {
		size_t n = dump.source_count;
		struct ptrc_source *s = &dump.sources[n];

		if (!open_source(&s->reader, operands[i]))
			continue;
		ptrc_source_begin(s, &dump, n);
		dump.source_count++;
	}
	dump.format.has_log = count > 1;
	return dump.source_count == count;
}

static enum ptrc_exit show(void)
{
	enum ptrc_exit status = PTRC_EXIT_DONE;
	bool is_read = true;

	if (dump.session)
		is_read = ptrc_dump_live(&dump);
	else if (ptrc_dump_scan(&dump))
		is_read = ptrc_dump_count(&dump) || ptrc_dump_by_threads(&dump) ||
			  ptrc_dump_logs(&dump);
	else
		status = PTRC_EXIT_FAILED;
	status = ptrc_dump_end(&dump, status, is_read);
	for (size_t i = 0; i < dump.source_count; i++)
		if (dump.sources[i].losses.is_unclosed)
			ptrc_orphans_say_of(dump.sources[i].reader.path);
	return status;
}

/* Returns false, after a message, if symbols are wanted and nothing can read them. */
static bool load_symbols(void)
{
	struct ptrc_cli_reason why;

	if (!has_symbols)
		return true;
	dump.symbols = ptrc_symbols_open(&why);
	if (!dump.symbols)
		ptrc_cli_message("--symbols", "%s", why.text);
	return dump.symbols != NULL;
}

int main(int argc, char **argv)
{
	enum ptrc_exit status = PTRC_EXIT_DONE;
	enum ptrc_exit shown = PTRC_EXIT_DONE;
	char *standard[] = {(char[]){DEFAULT_LOG}};
	struct ptrc_logfile file = {.fd = -1};

	parse(argc, argv);
	if (!load_symbols())
		return PTRC_EXIT_FAILED;
	ptrc_output_begin();
	if (dump.session)
		ptrc_dump_catch_signals();
	if (optind < argc ? !open_sources(argv + optind, (size_t)(argc - optind))
			  : !open_sources(standard, 1))
		status = PTRC_EXIT_FAILED;
	/* A session that is followed may still open event types. */
	if (!dump.session && dump.source_count)
		close_layouts();
	if (dump.layouts.is_for_pairs && dump.source_count)
		ptrc_pair_dump_begin(&dump, &pairs, longest_count, is_tree);
	/* A name that is not there is a mistake, which the end tells: no log is made or replaced. */
	if (to_log && dump.source_count && ptrc_dump_may_select(&dump) &&
	    !ptrc_dump_target_open(&file, &dump, to_log, is_forced))
		status = PTRC_EXIT_FAILED;
	else if (dump.source_count)
		shown = show();
	if (to_log)
		ptrc_logfile_close(&file, true);
	if (status == PTRC_EXIT_DONE)
		status = shown;
	ptrc_output_end(&dump.out);
	ptrc_pair_dump_free(&dump);
	for (size_t i = 0; i < dump.source_count; i++)
		ptrc_source_free(&dump.sources[i]);
	free(dump.sources);
	ptrc_symbols_free(dump.symbols);
	ptrc_select_free(&dump.select);
	ptrc_layouts_free(&dump.layouts);
	free(wheres.texts);
	ptrc_event_format_free(&dump.format);
	ptrc_dump_raise_signal();
	return (int)status;
}
