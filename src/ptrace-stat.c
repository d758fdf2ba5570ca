/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/cli.h"
#include "src/base/end_signal.h"
#include "src/base/exit_status.h"
#include "src/base/output.h"
#include "src/base/same_file.h"
#include "src/diff/conditions.h"
#include "src/diff/diff.h"
#include "src/diff/diff_report.h"
#include "src/spans/pair_report.h"
#include "src/spans/pairs.h"
#include "src/spans/wait_report.h"
#include "src/session/orphans.h"
#include "src/session/session_client.h"
#include "src/summary/live.h"
#include "src/summary/selection.h"
#include "src/summary/stat.h"
#include "src/summary/wait_stat.h"
#include "src/query/query.h"

enum {
	KEY_FORMAT = PTRC_CLI_KEY_FIRST,
	KEY_JSON,
	KEY_PER,
	KEY_WATCH,
	KEY_BASELINE,
	KEY_FAIL_IF,
};

static struct ptrc_stat stat_of_it;
static struct ptrc_pairs pairs;
static struct ptrc_query query;
static struct ptrc_selection selection;
static bool is_waits;
static bool is_diff;
static struct ptrc_diff diff;
static struct ptrc_conditions conditions;
static struct ptrc_cli_texts befores;
static enum ptrc_format format = PTRC_FORMAT_TEXT;
static bool is_utc;
static bool has_histogram;
/* The interval of --watch in nanoseconds; 0 if it was not given. */
static int64_t watch_ns;
/* Whether some operand could not be read, and whether the data of some operand is incomplete. */
static bool is_failed;
static bool is_incomplete;
/* Whether some operand lacks an event type or a field of a pair that the user has named. */
static bool has_missing;

static const struct ptrc_cli_option options[] = {
	{"pair", PTRC_SELECTION_PAIR, "PAIR",
	 "show how long it took from one event to another:\n"
	 "'req' (of req.begin and req.end) or 'a..b', of the\nsame thread, or with ' by data.id' of those with\n"
	 "the same value in the field; may be given several\ntimes"},
	{"pairs", 0, NULL, "the same of all event types X.begin and X.end"},
	{"per", KEY_PER, "FIELD", "with these: for each value of the field, of the\nfirst event"},
	{"histogram", 0, NULL, "with these: the distribution of durations"},
	{"waits", 0, NULL,
	 "show why threads waited: for which locks, files,\npeers and calls, as ptrace-run --waits records it"},
	{"symbols", 0, NULL,
	 "with --waits: name the functions that waited, and\nlocks that are variables"},
	{"watch", KEY_WATCH, "[=TIME]",
	 "show the rates of a session again and again, each\nTIME (default: 1s), until it ends"},
	PTRC_SELECTION_EVENT_OPTIONS,
	PTRC_SELECTION_HOST_OPTIONS,
	{"diff", 0, NULL,
	 "compare two logs: events, losses, and how long all\npairs took, with tests of what is noise"},
	{"baseline", KEY_BASELINE, "LOG",
	 "with --diff: a log from before the change, so that\nall operands are from after it; may be given\nseveral times"},
	{"fail-if", KEY_FAIL_IF, "CONDITION",
	 "with --diff: exit with 5 if this is so, such as\n'p99 req > +10%', 'p50 req > 5ms',\n"
	 "'rate db.query < -20%', 'count app.error > +0' or\n'loss > 0'; may be given several times"},
	{"decode", PTRC_SELECTION_DECODE, "EVENT=LAYOUT",
	 "what the data of events means, see ptrace-dump(1);\nmay be given several times"},
	{"config", 'c', "FILE",
	 "read layouts as for --decode from this file, see\nptrace.yaml(5); - for standard input"},
	{"strict", 0, NULL, "exit with 3 if the data of an event does not fit\nits layout"},
	{"format", KEY_FORMAT, "FORMAT", "text (the default) or json"},
	{"json", KEY_JSON, NULL, "the same as --format=json"},
	{"utc", 0, NULL, "times in text are UTC, not local time"},
	{"allow-loss", 0, NULL, "exit with 0 even if the data is incomplete"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-stat",
	.operands = "[OPTION]... SESSION|LOG... | --diff BEFORE AFTER\n"
		    "       ptrace-stat --watch[=TIME] [OPTION]... SESSION",
	.summary = "Shows status, attributes, counts, losses and rates of sessions and\n"
		   "trace logs, and how often each type of event was recorded. A name that\n"
		   "has a / in it, or that no session has, is the path of a log. --pair and\n"
		   "--pairs show how long it took from one event to another in place of these,\n"
		   "--waits why threads waited, and --diff what differs between two logs.\n"
		   "--watch shows live numbers of a session.",
	.options = options,
	.flags = PTRC_CLI_FLAGS(PTRC_SELECTION_FLAGS(selection, query), {"utc", &is_utc},
				{"pairs", &pairs.is_by_name}, {"histogram", &has_histogram},
				{"waits", &is_waits}, {"diff", &is_diff}),
	.exclusions = PTRC_CLI_ROWS({"label clock-sync per histogram", "diff"},
				    {"pair pairs diff", "waits"},
				    {"diff waits label clock-sync since until strict", "watch"}),
	.needs = PTRC_CLI_ROWS(
		{"baseline fail-if", "diff"}, {"per histogram", "pair pairs"}, {"symbols", "waits"},
		{"decode config strict pid tid since until where", "pair pairs diff waits"},
		{"event user", "pair pairs diff waits watch"}),
	.words = PTRC_CLI_ROWS({"format", "text json"}),
	.operand_kinds = "SESSION|LOG",
	.notes = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the data is incomplete,\n"
		 "5 a condition of --fail-if holds.",
};

/* Whether options ask for pairs of events: --pair, --pairs or --waits. */
static bool has_pairs(void)
{
	return pairs.is_by_name || pairs.given_count;
}

/* Fills in stat_of_it for a session. Returns false if no session has this name. If the session does not
 * answer, prints a message and sets *has_no_answer. */
static bool stat_session(const char *name, bool *has_no_answer)
{
	const struct ptrc_session_state *state;
	int error = ptrc_session_stat(name, &state);
	struct ptrc_event_types types;

	if (error == ENOENT)
		return false;
	if (!error)
		error = ptrc_event_types_from_session(&types, name);
	if (error) {
		ptrc_orphans_say_session(name, error);
		*has_no_answer = true;
	} else {
		ptrc_stat_from_session(&stat_of_it, state, &types);
	}
	return true;
}

/* Appends an empty line between the texts about two operands. */
static void separate(struct ptrc_buffer *b)
{
	static bool has_text;

	if (has_text)
		ptrc_buffer_char(b, '\n');
	has_text = true;
}

static void put_stat(void)
{
	static struct ptrc_buffer out;

	if (format == PTRC_FORMAT_JSON) {
		ptrc_stat_put_json(&out, &stat_of_it);
	} else {
		separate(&out);
		ptrc_stat_put_text(&out, &stat_of_it, is_utc);
	}
	ptrc_output_write(&out);
	ptrc_losses_report(&stat_of_it.losses, stat_of_it.thing);
	if (stat_of_it.losses.is_unclosed)
		ptrc_orphans_say_of(stat_of_it.thing);
	is_failed |= stat_of_it.losses.read_error != 0;
	is_incomplete |= ptrc_losses_is_any(&stat_of_it.losses) && !query.is_loss_allowed;
	ptrc_event_types_free(&stat_of_it.types);
}

/* Shows the figures of the logs, with times corrected by the clocks of all their hosts. */
static void put_logs(char **operands, size_t count)
{
	is_failed |= !ptrc_selection_open(&selection, operands, count);
	for (size_t i = 0; i < query.source_count; i++) {
		ptrc_stat_from_log(&stat_of_it, &query.sources[i].reader);
		put_stat();
	}
	ptrc_selection_close(&selection);
}

static void put(char *thing)
{
	bool has_no_answer = false;

	if (ptrc_summary_is_session_name(thing) && stat_session(thing, &has_no_answer)) {
		is_failed |= has_no_answer;
		if (!has_no_answer)
			put_stat();
		return;
	}
	put_logs(&thing, 1);
}

/* ---- pairs ---- */

/* The option that makes the command treat all operands together; NULL if there is none, so that each operand is
 * treated alone. */
static const char *together_option(void)
{
	return selection.labels.count	    ? "--label"
	       : selection.sync_texts.count ? "--clock-sync"
					    : NULL;
}

static void take_event(void *self, struct ptrc_source *s)
{
	(void)self;
	ptrc_pairs_take(&pairs, s);
}

static bool tell_pairs(void *self)
{
	bool is_missing = ptrc_pairs_report_missing(&pairs, self, true);

	has_missing |= is_missing;
	return !is_missing;
}

static const char *source_kind(const struct ptrc_reader *r)
{
	return r->source ? "session" : "log";
}

/* Puts the sources of the query, and its pairs or, if `waits` is not NULL, the waits. */
static void put_spans_json(struct ptrc_buffer *b, const struct ptrc_query *q,
			   const struct ptrc_waits *waits)
{
	const struct ptrc_reader *r = &q->sources->reader;
	struct ptrc_json j = ptrc_json_begin(b);
	bool is_together = together_option();

	ptrc_json_text(&j, "kind", is_together ? "logs" : source_kind(r));
	if (!is_together)
		ptrc_json_bytes(&j, source_kind(r), r->path, strlen(r->path));
	if (waits)
		ptrc_waits_json(&j, waits, SIZE_MAX);
	else
		ptrc_pairs_json(&pairs, &j, has_histogram);
	if (q->hosts.count)
		ptrc_hosts_json(&q->hosts, &j);
	if (is_together)
		ptrc_query_sources_json(q, &j);
	else
		ptrc_losses_json(&q->sources->losses, &j);
	ptrc_json_bool(&j, "complete", ptrc_query_lacks_nothing(q));
	ptrc_json_end(&j);
}

static void put_spans_text(struct ptrc_buffer *b, const struct ptrc_query *q,
			   const struct ptrc_waits *waits)
{
	separate(b);
	for (size_t i = 0; i < q->source_count; i++) {
		const struct ptrc_reader *r = &q->sources[i].reader;

		ptrc_buffer_text(b, source_kind(r));
		ptrc_buffer_char(b, ' ');
		ptrc_text_put(b, r->path, strlen(r->path));
		if (r->label) {
			ptrc_buffer_text(b, " of ");
			ptrc_text_put(b, r->label, strlen(r->label));
		}
		ptrc_buffer_char(b, '\n');
	}
	if (waits)
		ptrc_waits_put_text(b, waits);
	else
		ptrc_pairs_put_text(b, &pairs, has_histogram);
}

static void put_spans(struct ptrc_query *q, const struct ptrc_waits *waits)
{
	(format == PTRC_FORMAT_JSON ? put_spans_json : put_spans_text)(&q->out, q, waits);
}

static void end_pairs(void *self, bool is_read)
{
	struct ptrc_query *q = self;

	ptrc_pairs_end(&pairs, is_read);
	put_spans(q, NULL);
}

static void end_waits(struct ptrc_wait_stat *w)
{
	put_spans(w->waits.query, &w->waits);
}

/* Shows the pairs or the waits of all operands together, with times corrected by the clocks of their hosts. */
static void put_pairs(char **operands, size_t count)
{
	enum ptrc_exit status = PTRC_EXIT_DONE;
	struct ptrc_wait_stat waits;

	is_failed |= !ptrc_selection_open(&selection, operands, count);
	query.sink = (struct ptrc_sink){
		.self = &query,
		.event = take_event,
		.finish = end_pairs,
		.tell = tell_pairs,
		.takes_losses = true,
	};
	if (is_waits)
		ptrc_wait_stat_begin(&waits, &query, &pairs, end_waits);
	if (query.source_count)
		status = ptrc_selection_run(&selection);
	is_failed |= status == PTRC_EXIT_FAILED;
	is_incomplete |= status == PTRC_EXIT_INCOMPLETE;
	if (is_waits)
		ptrc_wait_stat_end(&waits);
	else
		ptrc_pairs_forget(&pairs);
	ptrc_selection_close(&selection);
	ptrc_misfits_free(&query.misfits);
}

static void put_each(char **operands, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (has_pairs())
			put_pairs(&operands[i], 1);
		else
			put(operands[i]);
	if (has_missing && count > 1)
		ptrc_cli_message(NULL, "each operand was measured by itself; with "
				       "--label=NAME=LOG all are measured together");
}

/* ---- live numbers ---- */

static void put_live(const char *session)
{
	const struct ptrc_live live = {.session = session,
				       .interval_ns = watch_ns,
				       .format = format,
				       .is_utc = is_utc,
				       .has_histogram = has_histogram,
				       .query = &query,
				       .pairs = has_pairs() ? &pairs : NULL};
	enum ptrc_exit status;

	ptrc_end_signal_catch();
	if (has_pairs()) {
		is_failed |= !ptrc_selection_open(&selection, NULL, 0);
		query.sink = (struct ptrc_sink){
			.self = &query, .event = take_event, .takes_losses = true};
		pairs.is_live = true;
	}
	if (is_failed)
		return;
	status = ptrc_live_run(&live);
	is_failed |= status == PTRC_EXIT_FAILED;
	is_incomplete |= status == PTRC_EXIT_INCOMPLETE;
	ptrc_pairs_forget(&pairs);
}

static void read_interval(const char *text)
{
	watch_ns = INT64_C(1000000000);
	if (text && (!ptrc_when_plain_duration(text, &watch_ns) ||
		     watch_ns < PTRC_LIVE_INTERVAL_MIN || watch_ns > PTRC_LIVE_INTERVAL_MAX))
		ptrc_cli_usage("--watch", "'%.60s' is not a duration from 50ms to 1d, such as 5s",
			       text);
}

/* ---- what differs ---- */

/* The names that compared logs lack. */
static struct ptrc_missing missing;

/* Takes the events of a log for one side of the comparison. Returns false, after a message, if the log cannot be
 * read. */
static bool take_side(size_t side, char *thing)
{
	const struct ptrc_losses *losses;
	bool is_read;

	if (!ptrc_selection_open(&selection, &thing, 1)) {
		ptrc_selection_close(&selection);
		return false;
	}
	ptrc_diff_begin(&diff, side, &query);
	is_read = ptrc_query_scan(&query) && ptrc_query_run(&query);
	ptrc_query_finish(&query, is_read);
	ptrc_query_find_missing(&query, &missing);
	ptrc_pairs_find_missing_types(&pairs, diff.asked_count, &query, &missing);
	ptrc_pairs_find_missing(&pairs, &query, &missing);
	losses = &query.sources->losses;
	is_read &= !losses->read_error;
	ptrc_losses_report(losses, query.sources->reader.path);
	if (losses->is_unclosed)
		ptrc_orphans_say_of(query.sources->reader.path);
	is_incomplete |= ptrc_losses_is_any(losses) && !query.is_loss_allowed;
	ptrc_selection_close(&selection);
	return is_read;
}

/* Prints messages about pairs that no event is of, unless one of the names is in none of the logs, and about events
 * that were left out because they have no key. */
static void report_pairs(size_t log_count)
{
	for (size_t i = 0; i < diff.pair_count; i++) {
		const struct ptrc_diff_pair *p = diff.pair_list[i];
		uint64_t without_key = 0;
		uint64_t alone = 0;

		for (size_t k = 0; k < PTRC_DIFF_SIDES; k++) {
			const struct ptrc_diff_pair_side *s = &p->sides[k];

			without_key += s->without_key;
			alone += s->halves.begins + s->halves.ends + s->halves.cut;
		}
		if (without_key)
			ptrc_cli_message(p->pair.name, "%llu event%s no %s, and %s left out",
					 (unsigned long long)without_key,
					 without_key == 1 ? " has" : "s have", p->pair.by_text,
					 without_key == 1 ? "was" : "were");
		if (p->verdict == PTRC_DIFF_NONE && !alone && !without_key &&
		    !ptrc_missing_has(&missing, p->pair.name, log_count)) {
			ptrc_cli_message(p->whole_name,
					 "none of the compared events is of this pair");
			is_failed = true;
		}
		is_failed |= !p->pair.has_key && without_key > p->pair.cut_keys;
	}
}

/* Ends the process if a log is given twice for one side, because the tests for noise take each log for another run. */
static void check_runs(const char *const *logs, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(logs[i], logs[k]) ||
			    ptrc_is_path_of_same_file(logs[i], logs[k]))
				ptrc_cli_usage(logs[i], "is given twice, but each log of a side "
							"must be of another run");
}

static void put_diff(char **operands, size_t count)
{
	static struct ptrc_buffer out;
	size_t first_after = befores.count ? 0 : 1;
	bool is_read = true;

	check_runs(befores.texts, befores.count);
	check_runs((const char *const *)operands + first_after, count - first_after);
	pairs.is_by_name = true;
	diff.pairs = &pairs;
	for (size_t i = 0; i < befores.count; i++)
		is_read &= take_side(PTRC_DIFF_BEFORE, (char *)(uintptr_t)befores.texts[i]);
	for (size_t i = 0; i < count; i++)
		is_read &= take_side(i < first_after ? PTRC_DIFF_BEFORE : PTRC_DIFF_AFTER,
				     operands[i]);
	ptrc_diff_end(&diff);
	/* If a log could not be read, nothing is compared, because a comparison of only some of the logs would
	 * mislead. */
	is_failed = !is_read;
	if (is_read) {
		ptrc_conditions_judge(&conditions, &diff);
		if (format == PTRC_FORMAT_JSON)
			ptrc_diff_put_json(&out, &diff, &conditions);
		else
			ptrc_diff_put_text(&out, &diff, &conditions);
		ptrc_output_write(&out);
		if (diff.has_hidden && !diff.type_count && !diff.pair_count)
			ptrc_cli_message(NULL, "there is no event of a program to compare; "
					       "--event='os.*' compares those of the operating "
					       "system");
		report_pairs(befores.count + count);
		is_failed |= ptrc_missing_report(&missing, befores.count + count);
		ptrc_query_report_undecided(&query);
		is_incomplete |= ptrc_query_undecided(&query) && !query.is_loss_allowed;
		is_failed |= ptrc_conditions_has(&conditions, PTRC_CONDITION_MISSING);
	}
	ptrc_misfits_report(&query.misfits);
	is_incomplete |= query.is_strict && query.misfits.count;
	ptrc_diff_free(&diff);
}

static void check_together_usage(char *const *operands, size_t count)
{
	const char *option = together_option();

	/* --label and --clock-sync correct times of events. Without pairs, a session shows counts, which have
	 * no times. */
	for (size_t i = 0; option && i < count && !has_pairs(); i++)
		if (ptrc_summary_is_session_name(operands[i]) && !ptrc_session_knock(operands[i]))
			ptrc_cli_usage(option,
				       "%s is a session, of which it needs --pair, --pairs or "
				       "--waits",
				       operands[i]);
}

/* Whether --event or --where names event types, so that those of the operating system are selected like others. */
static bool has_type_names(void)
{
	bool is_found = query.select.globs.count;

	for (size_t i = 0; i < query.select.where_count; i++)
		is_found |= ptrc_where_has_field(query.select.wheres[i], PTRC_FIELD_EVENT);
	return is_found;
}

/* Reads the options about pairs. Called after all options were taken, because pairs may have fields of a layout
 * that a later --decode has. */
static void read_pairs(const char *per)
{
	static struct ptrc_field per_field;
	struct ptrc_cli_reason why;

	ptrc_selection_read(&selection);
	pairs.is_without_os = is_diff && !has_type_names();
	diff.asked_count = pairs.count;
	if (!ptrc_conditions_add_pairs(&conditions, &pairs, &query.layouts, &why) ||
	    !ptrc_conditions_suit(&conditions, &pairs, &why))
		ptrc_cli_usage("--fail-if", "%s", why.text);
	if (!per)
		return;
	if (!ptrc_field_find_key(per, &query.layouts, &per_field, &why))
		ptrc_cli_usage("--per", "%s", why.text);
	if (ptrc_field_is_of_source(per_field.id))
		ptrc_cli_usage("--per",
			       "function, file and line need --symbols, which cannot be used here");
	pairs.per = &per_field;
}

static void parse(int argc, char **argv)
{
	struct ptrc_cli_texts condition_texts = {0};
	struct ptrc_cli_reason why;
	const char *per = NULL;
	int key;

	ptrc_selection_begin(&selection, &query, &pairs);
	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		if (key == KEY_FORMAT)
			format = (enum ptrc_format)ptrc_cli_word("--format", optarg);
		else if (key == KEY_JSON)
			format = PTRC_FORMAT_JSON;
		else if (key == KEY_PER)
			ptrc_cli_once("--per", &per);
		else if (key == KEY_WATCH)
			read_interval(optarg);
		else if (key == KEY_BASELINE)
			ptrc_cli_add_text(&befores, optarg);
		else if (key == KEY_FAIL_IF)
			ptrc_cli_add_text(&condition_texts, optarg);
		else
			ptrc_selection_take(&selection, key);
	}
	for (size_t i = 0; i < condition_texts.count; i++)
		if (!ptrc_conditions_add(&conditions, condition_texts.texts[i], &why))
			ptrc_cli_usage("--fail-if", "%s", why.text);
	if (is_diff && (befores.count ? optind == argc : argc - optind != 2))
		ptrc_cli_usage("--diff",
			       "compares two logs, BEFORE and AFTER; several are given as "
			       "--baseline=LOG... AFTER...");
	/* For pairs, the options select the events of which pairs are made. For waits, they select
	 * whole waits. */
	selection.is_by_begin = !is_waits;
	selection.is_without_symbols = !is_waits;
	if (is_waits)
		ptrc_waits_add_pairs(&selection.pair_texts);
	read_pairs(per);
	free(condition_texts.texts);
	if (optind == argc)
		ptrc_cli_usage(NULL, "no SESSION or LOG given");
	if (watch_ns && (argc - optind > 1 || !ptrc_session_is_name(argv[optind])))
		ptrc_cli_usage("--watch", "needs the name of one session");
	if (watch_ns)
		query.session = argv[optind];
	ptrc_selection_check(&selection, argc - optind);
	check_together_usage(argv + optind, (size_t)(argc - optind));
}

int main(int argc, char **argv)
{
	bool is_broken;

	parse(argc, argv);
	if (!ptrc_selection_load_symbols(&selection))
		return PTRC_EXIT_FAILED;
	ptrc_output_begin();
	/* If no process reads the differences, the status must not say that no condition holds. */
	if (conditions.count)
		ptrc_output_need_reader();
	if (watch_ns)
		put_live(argv[optind]);
	else if (is_diff)
		put_diff(argv + optind, (size_t)(argc - optind));
	else if (together_option())
		(has_pairs() ? put_pairs : put_logs)(argv + optind, (size_t)(argc - optind));
	else
		put_each(argv + optind, (size_t)(argc - optind));
	ptrc_output_end(&(struct ptrc_buffer)PTRC_BUFFER_INIT);
	ptrc_selection_free(&selection);
	is_broken = ptrc_conditions_has(&conditions, PTRC_CONDITION_FAILED);
	ptrc_conditions_free(&conditions);
	free(befores.texts);
	ptrc_end_signal_raise();
	if (is_failed)
		return PTRC_EXIT_FAILED;
	if (is_broken)
		return PTRC_EXIT_CHANGED;
	if (is_incomplete)
		return PTRC_EXIT_INCOMPLETE;
	return PTRC_EXIT_DONE;
}
