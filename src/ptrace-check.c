/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <getopt.h>
#include <stdbool.h>
#include <posixtrace-log.h>
#include <sys/stat.h>
#include <trace.h>

#include "src/check/check.h"
#include "src/check/report.h"
#include "src/base/cli.h"
#include "src/base/exit_status.h"
#include "src/base/output.h"
#include "src/base/proposals.h"
#include "src/summary/selection.h"

enum {
	/* The keys of the options that are rules, which are the first rows of options[], start here. */
	KEY_RULE = PTRC_CLI_KEY_FIRST,
	KEY_TOLERANCE = KEY_RULE + 16,
	KEY_FORMAT,
	/* The keys of the options that are formats start here. */
	KEY_TEXT,
	KEY_JSON = KEY_TEXT + PTRC_CHECK_JSON,
};

static bool is_utc;

static const struct ptrc_cli_option options[] = {
	{"never", KEY_RULE + 0, "EVENT", "no such event happens"},
	{"exists", KEY_RULE + 1, "RULE",
	 "one happens: 'EVENT within DURATION of EVENT'; all\nfrom 'within' on may be left out"},
	{"times", KEY_RULE + 2, "RULE", "'EVENT min N max N per FIELD'"},
	{"after", KEY_RULE + 3, "RULE",
	 "'EVENT -> EVENT within DURATION by FIELD': after\nthe first one comes the second"},
	{"before", KEY_RULE + 4, "RULE",
	 "'EVENT require EVENT by FIELD': before the first\none there has been the second"},
	{"order", KEY_RULE + 5, "RULE",
	 "'EVENT, EVENT... by FIELD': the first ones come in\nthis order"},
	{"p50", KEY_RULE + 6, "RULE",
	 "'PAIR by FIELD < DURATION': how long half of the\npairs take at most; PAIR is EVENT..EVENT, or X for\n"
	 "X.begin..X.end"},
	{"p90", KEY_RULE + 7, "RULE", "the same of 90 in 100"},
	{"p99", KEY_RULE + 8, "RULE", "of 99 in 100"},
	{"max", KEY_RULE + 9, "RULE", "of the longest"},
	{"min", KEY_RULE + 10, "RULE", "of the shortest: '> DURATION'"},
	{"pair", KEY_RULE + 11, "RULE",
	 "'PAIR by FIELD QUANTILE < DURATION': the same of\nany quantile, such as p99.9"},
	{"at-most", KEY_RULE + 12, "RULE",
	 "'PAIR by FIELD N at once': how many pairs are open\nat a time"},
	{"no-loss", KEY_RULE + 13, NULL, "nothing is missing from the logs"},
	{"tolerance", KEY_TOLERANCE, "DURATION",
	 "events of two threads that are at most this far\napart are in any order that a rule wants (default:\n1us)"},
	PTRC_SELECTION_EVENT_OPTIONS,
	PTRC_SELECTION_HOST_OPTIONS,
	{"decode", PTRC_SELECTION_DECODE, "EVENT=LAYOUT",
	 "what the data of events means, see ptrace-dump(1);\nmay be given several times"},
	{"config", 'c', "FILE", "read layouts as for --decode from this file, see\nptrace.yaml(5)"},
	{"format", KEY_FORMAT, "FORMAT", "text (the default), json, tap, junit or github"},
	{"json", KEY_JSON, NULL, "the same as --format=json"},
	PTRC_CHECK_FORMAT_OPTIONS(KEY_TEXT, NULL),
	{"utc", 0, NULL, "times in text are UTC, not local time"},
	{"allow-loss", 0, NULL,
	 "exit with 0, not 3, if the rules are kept though\nsomething is missing"},
	PTRC_CLI_OPTIONS_END,
};

static struct ptrc_query query;
static struct ptrc_selection selection;

static const struct ptrc_cli cli = {
	.program = "ptrace-check",
	.operands = "[OPTION]... [RULES.yaml] LOG...",
	.summary = "Judges trace logs by rules: what must happen, and when, and what must not.\n"
		   "Rules stand in a file, see posixtrace-rules(5), or are given as options. With\n"
		   "such an option the first operand is a file of rules only if its name ends in\n"
		   ".yaml or .yml. EVENT is a pattern; 'EVENT where EXPRESSION' selects by fields.",
	.options = options,
	.flags = PTRC_CLI_FLAGS(PTRC_SELECTION_FLAGS(selection, query), {"utc", &is_utc}),
	.words = PTRC_CLI_ROWS({"format", "text json tap junit github"}),
	.operand_kinds = "RULES|LOG",
	.notes = "Exit status: 0 all rules are kept, 1 a rule is broken, or the command failed,\n"
		 "2 wrong usage or a mistake in the rules, 3 all are kept but something is\n"
		 "missing from the logs, 4 a rule is undecided.",
};

static struct ptrc_pairs pairs;
static struct ptrc_rules rules = {.tolerance_ns = PTRC_RULE_TOLERANCE, .layouts = &query.layouts};
static enum ptrc_check_format format;

/* Refuses the operand if it is a log in the place of a file of rules. */
static void refuse_log(const char *path)
{
	trace_id_t trace;
	struct stat st;

	/* Opens only a regular file, because opening a FIFO would wait for a writer. */
	if (stat(path, &st) || !S_ISREG(st.st_mode) || posixtrace_log_open(path, &trace))
		return;
	posix_trace_close(trace);
	ptrc_cli_usage(NULL,
		       "there are no rules: %s is a log; name a file of rules before it, or give a "
		       "rule as an option, such as --never=EVENT or --no-loss",
		       path);
}

static void parse(int argc, char **argv)
{
	const char *tolerance = NULL;
	struct ptrc_cli_reason why;
	int key;

	ptrc_selection_begin(&selection, &query, &pairs);
	selection.is_of_logs = true;
	selection.is_without_symbols = true;
	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		if (key >= KEY_RULE && key < KEY_TOLERANCE)
			ptrc_rules_take(&rules, options[key - KEY_RULE].name, optarg);
		else if (key == KEY_TOLERANCE)
			tolerance = optarg;
		else if (key == KEY_FORMAT)
			format = (enum ptrc_check_format)ptrc_cli_word("--format", optarg);
		else if (key >= KEY_TEXT && key < KEY_TEXT + PTRC_CHECK_FORMATS)
			format = (enum ptrc_check_format)(key - KEY_TEXT);
		else
			ptrc_selection_take(&selection, key);
	}
	ptrc_selection_read(&selection);
	rules.config = selection.config;
	rules.config_first = query.given_layout_count;
	rules.config_end = query.layouts.count;
	if (optind < argc && !rules.count)
		refuse_log(argv[optind]);
	if (optind < argc && (!rules.count || ptrc_is_rules_name(argv[optind])))
		ptrc_rules_read(&rules, argv[optind++]);
	if (!rules.count)
		ptrc_cli_usage(NULL, "no RULES given: name a file of rules, or give a rule as an "
				     "option, such as --never=EVENT or --no-loss");
	if (optind == argc)
		ptrc_cli_usage(NULL, "no LOG given");
	ptrc_selection_check(&selection, argc - optind);
	if (tolerance && !ptrc_rule_duration(tolerance, &rules.tolerance_ns, &why))
		ptrc_cli_usage("--tolerance", "%s", why.text);
	if (rules.tolerance_ns > PTRC_RULE_TOLERANCE_MAX)
		ptrc_cli_usage("--tolerance", "is more than a minute");
	ptrc_rules_bind(&rules);
	query.needs_gap = rules.has_gap;
	query.needs_bound = rules.has_bound;
}

int main(int argc, char **argv)
{
	static struct ptrc_check check;
	enum ptrc_exit status, told;

	parse(argc, argv);
	ptrc_output_begin();
	/* If no process reads the verdicts, the status must not be that of rules that were kept. */
	ptrc_output_need_reader();
	if (!ptrc_selection_open(&selection, argv + optind, (size_t)(argc - optind)))
		return PTRC_EXIT_FAILED;
	if (!ptrc_rules_bind_again(&rules, &query))
		return PTRC_EXIT_USAGE;
	ptrc_check_begin(&check, &rules, &query);
	check.messages = selection.sync_texts.count ? &selection.sync_texts : NULL;
	check.is_utc = is_utc;
	status = ptrc_check_judge(&check);
	ptrc_check_put(&query.out, &check, format, ptrc_cli_has_colours());
	told = ptrc_query_tell(&query, PTRC_EXIT_DONE, true);
	/* An option that names events which do not exist is a mistake, whatever the verdicts
	 * are. */
	if (told == PTRC_EXIT_FAILED)
		status = told;
	ptrc_check_report_times(&check);
	ptrc_selection_say_orphans(&selection);
	ptrc_output_end(&query.out);
	ptrc_judge_free(&check.judge);
	ptrc_selection_free(&selection);
	return (int)status;
}
