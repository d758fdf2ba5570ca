/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/summary/selection.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/scope.h"
#include "src/config/layouts.h"
#include "src/session/orphans.h"
#include "src/session/reader_follow.h"
#include "src/session/session_client.h"
#include "src/summary/event_types.h"
#include "src/fields/when.h"
#include "src/query/where.h"

enum { WHERE_MAX = 100 };

/* The default of --context. */
static const int64_t around_default_ns = 1000000000;

void ptrc_selection_begin(struct ptrc_selection *s, struct ptrc_query *q, struct ptrc_pairs *pairs)
{
	*s = (struct ptrc_selection){.query = q, .pairs = pairs};
	q->select.span = (struct ptrc_period){INT64_MIN, INT64_MAX};
	q->since = (struct ptrc_when){PTRC_WHEN_ABSOLUTE, INT64_MIN};
	q->until = (struct ptrc_when){PTRC_WHEN_ABSOLUTE, INT64_MAX};
	q->before_ns = q->after_ns = around_default_ns;
	q->first_count = q->last_count = UINT64_MAX;
}

static void add_process(struct ptrc_select_numbers *numbers, const char *option, const char *text)
{
	/* The number 0 is allowed, because it stands for the trace system itself. */
	*ptrc_append(numbers->numbers, numbers->count) =
		(pid_t)ptrc_cli_number(option, text, 0, INT32_MAX);
}

static struct ptrc_when time_of(const char *option, const char *text)
{
	struct ptrc_cli_reason why;
	struct ptrc_when w;

	if (!ptrc_when_parse(text, &w, &why))
		ptrc_cli_usage(option, "%s", why.text);
	return w;
}

/* Reads --context: one duration for before and after the event, or two with a comma between them. */
static void read_context(struct ptrc_query *q, const char *text)
{
	PTRC_SCOPED char *before = ptrc_cli_copy(text);
	char *comma = strchr(before, ',');
	const char *after = comma ? comma + 1 : before;

	if (comma)
		*comma = '\0';
	if (!ptrc_when_plain_duration(before, &q->before_ns) ||
	    !ptrc_when_plain_duration(after, &q->after_ns))
		ptrc_cli_usage(
			"--context",
			"'%s' is not a duration such as 10s or 1.5ms, or two with a comma between them",
			text);
}

bool ptrc_selection_take(struct ptrc_selection *s, int key)
{
	struct ptrc_query *q = s->query;

	switch (key) {
	case 'e':
		ptrc_cli_add_text(&q->select.globs, optarg);
		break;
	case 'p':
		add_process(&q->select.pids, "--pid", optarg);
		break;
	case PTRC_SELECTION_TID:
		add_process(&q->select.tids, "--tid", optarg);
		break;
	case PTRC_SELECTION_SINCE:
		q->since = time_of("--since", optarg);
		break;
	case PTRC_SELECTION_UNTIL:
		q->until = time_of("--until", optarg);
		break;
	case PTRC_SELECTION_AROUND:
		ptrc_cli_once("--around", &s->around_text);
		break;
	case PTRC_SELECTION_CONTEXT:
		read_context(q, optarg);
		break;
	case PTRC_SELECTION_WHERE:
		ptrc_cli_add_text(&s->wheres, optarg);
		break;
	case PTRC_SELECTION_FIRST:
		q->first_count = ptrc_cli_number("--first", optarg, 0, INT64_MAX);
		break;
	case PTRC_SELECTION_LAST:
		q->last_count = ptrc_cli_number("--last", optarg, 0, INT64_MAX);
		break;
	case PTRC_SELECTION_PAIR:
		ptrc_cli_add_text(&s->pair_texts, optarg);
		break;
	case PTRC_SELECTION_LABEL_BY:
		ptrc_cli_once("--label-by", &s->label_text);
		break;
	case PTRC_SELECTION_DECODE:
		ptrc_config_take_layout(&q->layouts, optarg);
		break;
	case 'c':
		ptrc_cli_once("--config", &s->config);
		break;
	case PTRC_SELECTION_SYNC:
		ptrc_cli_add_text(&s->sync_texts, optarg);
		break;
	case PTRC_SELECTION_LABEL:
		ptrc_cli_add_text(&s->labels, optarg);
		break;
	default:
		return false;
	}
	return true;
}

/* Reads --label-by. Its field is a field of single events, so this must be done before add_pairs(), after which
 * fields are looked up as fields of pairs. */
static void read_label(struct ptrc_selection *s)
{
	struct ptrc_cli_reason why;

	if (!s->label_text)
		return;
	if (!ptrc_field_find_key(s->label_text, &s->query->layouts, &s->label.field, &why))
		ptrc_cli_usage("--label-by", "%s", why.text);
	if (!s->has_symbols && ptrc_field_is_of_source(s->label.field.id))
		ptrc_cli_usage("--label-by", "function, file and line need --symbols");
	s->pairs->label = &s->label;
}

/* Reads --pair. If there are pairs, fields are from then on looked up as fields of pairs (unless is_by_begin is set),
 * because the expressions of --where, which are read next, are then about pairs. */
static void add_pairs(struct ptrc_selection *s)
{
	struct ptrc_cli_reason why;

	for (size_t i = 0; i < s->pair_texts.count; i++)
		if (!ptrc_pairs_add(s->pairs, s->pair_texts.texts[i], &s->query->layouts, &why))
			ptrc_cli_usage("--pair", "%s", why.text);
	s->query->layouts.is_for_pairs =
		!s->is_by_begin && (s->pairs->count || s->pairs->is_by_name);
}

static struct ptrc_where *read_where(const struct ptrc_selection *s, const char *option,
				     const char *text)
{
	struct ptrc_layouts *layouts = &s->query->layouts;
	struct ptrc_cli_reason why;
	struct ptrc_where *w;

	/* A program that has not used an event type has no layout for it in its logs. */
	layouts->takes_unknown = true;
	w = ptrc_where_parse(text, layouts, &why);
	layouts->takes_unknown = false;
	if (!w)
		ptrc_cli_usage(option, "%s", why.text);
	return w;
}

/* Reads --around. The fields in its expression are fields of events, even if those in --where are fields of
 * pairs. */
static void read_around(struct ptrc_selection *s)
{
	struct ptrc_select *select = &s->query->select;
	bool is_for_pairs = s->query->layouts.is_for_pairs;
	const char *where;
	size_t size;

	if (!s->around_text)
		return;
	where = ptrc_where_split(s->around_text, &size);
	if (!select->around)
		select->around = ptrc_cli_copy_bytes(s->around_text, size);
	if (!where)
		return;
	if (select->around_where)
		ptrc_where_free(select->around_where);
	s->query->layouts.is_for_pairs = false;
	select->around_where = read_where(s, "--around", where);
	s->query->layouts.is_for_pairs = is_for_pairs;
}

void ptrc_selection_read(struct ptrc_selection *s)
{
	struct ptrc_query *q = s->query;

	q->given_layout_count = q->layouts.count;
	if (s->config)
		ptrc_config_read_layouts(&q->layouts, s->config, q->session);
	/* The sources, which are not open yet, may have further layouts, so a field that no layout has is
	 * accepted. */
	q->layouts.is_open = true;
	ptrc_sync_read(&s->sync, &s->sync_texts, &q->layouts);
	read_label(s);
	add_pairs(s);
	if (s->wheres.count > WHERE_MAX)
		ptrc_cli_usage("--where", "is given more than %d times", (int)WHERE_MAX);
	for (size_t i = 0; i < s->wheres.count; i++)
		*ptrc_append(q->select.wheres, q->select.where_count) =
			read_where(s, "--where", s->wheres.texts[i]);
	read_around(s);
}

static void check_sources_of_time(const struct ptrc_query *q, int operands)
{
	bool has_end = q->since.base == PTRC_WHEN_FROM_END || q->until.base == PTRC_WHEN_FROM_END;

	if (q->since.base == q->until.base && q->since.ns > q->until.ns)
		ptrc_cli_usage("--until", "is before --since");
	if (q->session && has_end)
		ptrc_cli_usage("--follow", "cannot be used with times before the end, which is "
					   "not known yet");
	if (!q->session && !operands && !ptrc_reader_is_there(PTRC_SELECTION_LOG))
		ptrc_cli_usage(NULL, "no SESSION or LOG given, and there is no " PTRC_SELECTION_LOG
				     " in this directory");
}

void ptrc_selection_check(const struct ptrc_selection *s, int operands)
{
	struct ptrc_query *q = s->query;
	const char *why =
		s->is_without_symbols
			? "function, file and line need --symbols, which cannot be used here"
			: "function, file and line need --symbols";
	const struct ptrc_where *w;

	for (size_t i = 0; i < s->pairs->count && !s->has_symbols; i++)
		if (s->pairs->list[i].by_text && ptrc_field_is_of_source(s->pairs->list[i].by.id))
			ptrc_cli_usage("--pair", "%s", why);
	for (size_t i = 0; (w = ptrc_select_where(&q->select, i)); i++) {
		const char *option = w == q->select.around_where ? "--around" : "--where";

		if (!s->has_symbols && ptrc_where_has_source_field(w))
			ptrc_cli_usage(option, "%s", why);
		if (q->session && ptrc_where_has_base(w, PTRC_WHEN_FROM_END))
			ptrc_cli_usage(option, "cannot have times before the end of a session "
					       "that goes on");
	}
	check_sources_of_time(q, operands);
}

/* Whether the operand of a command that reads logs only is a session. If so, says what it can read instead. */
static bool is_session(const char *name)
{
	const struct ptrc_session_state *state;

	if (!ptrc_summary_is_session_name(name) || !access(name, F_OK) ||
	    ptrc_session_stat(name, &state))
		return false;
	if (state->has_log)
		ptrc_cli_message(name, "is a session; its log is %s", state->log);
	else
		ptrc_cli_message(name,
				 "is a session without a log; ptrace-snapshot makes one of it");
	return true;
}

static bool open_source(const struct ptrc_selection *s, struct ptrc_reader *r, const char *name)
{
	int error = ENOENT;

	if (s->is_of_logs)
		return !is_session(name) && ptrc_reader_open(r, name);
	if (s->query->session)
		return ptrc_reader_follow(r, s->query->session);
	if (ptrc_summary_is_session_name(name))
		error = ptrc_reader_dump(r, name);
	return error == ENOENT ? ptrc_summary_open_log(r, name) : !error;
}

static bool has_text(char *const *texts, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(texts[i], text))
			return true;
	return false;
}

/* Ends the process if a value of --label is not NAME=LOG, if LOG is no operand, or if a LOG has two labels. */
static void check_labels(const struct ptrc_cli_texts *labels, char *const *operands, size_t count)
{
	for (size_t i = 0; i < labels->count; i++) {
		const char *log = strchr(labels->texts[i], '=');

		if (!log || log == labels->texts[i] || !log[1])
			ptrc_cli_usage("--label", "'%s' is not NAME=LOG", labels->texts[i]);
		if (!has_text(operands, count, log + 1))
			ptrc_cli_usage("--label", "'%s' is none of the logs that are named",
				       log + 1);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(strchr(labels->texts[k], '='), log))
				ptrc_cli_usage("--label", "'%s' has two names", log + 1);
	}
}

/* Returns the label that --label gives to an operand, or NULL. The caller frees it. */
static char *find_label(const struct ptrc_cli_texts *labels, const char *operand)
{
	for (size_t i = 0; i < labels->count; i++) {
		const char *text = labels->texts[i];
		const char *log = strchr(text, '=');

		if (strcmp(log + 1, operand) == 0)
			return ptrc_cli_copy_bytes(text, (size_t)(log - text));
	}
	return NULL;
}

static void refuse_twice(const char *operand)
{
	ptrc_cli_usage(operand, "is given twice, so its events would count twice");
}

/* Whether the operand is a later file of a rotated log whose first file is an operand, too. The first file brings
 * the events of all files. Ends the process if the same operand was given earlier. */
static bool is_read_already(char *const *operands, size_t count, size_t i)
{
	PTRC_SCOPED char *first = NULL;

	if (has_text(operands, i, operands[i]))
		refuse_twice(operands[i]);
	first = ptrc_reader_first_path(operands[i]);
	return strcmp(first, operands[i]) && has_text(operands, count, first);
}

/* Ends the process if the reader and a source that was opened before read the same file. */
static void check_file(const struct ptrc_query *q, const struct ptrc_reader *r, const char *operand)
{
	for (size_t i = 0; i < q->source_count; i++) {
		const struct ptrc_reader *other = &q->sources[i].reader;

		if (!ptrc_log_find_file(other->trace, r->fd) ||
		    !ptrc_log_find_file(r->trace, other->fd))
			refuse_twice(operand);
	}
}

/* Finds the fields of --pair again, now that the layouts of the logs are known. If a field is in
 * none of them, and the logs have an event type of its pair, ends the process with a message. */
static void find_keys(struct ptrc_selection *s)
{
	struct ptrc_query *q = s->query;
	bool is_for_pairs = q->layouts.is_for_pairs;
	struct ptrc_cli_reason why;

	q->layouts.is_for_pairs = false;
	for (size_t i = 0; i < s->pair_texts.count; i++) {
		struct ptrc_pair *pair = &s->pairs->list[i];

		if (pair->by_text &&
		    (ptrc_query_has_type(q, pair->begin, NULL) ||
		     ptrc_query_has_type(q, pair->end, NULL)) &&
		    !ptrc_field_find_key(pair->by_text, &q->layouts, &pair->by, &why))
			ptrc_cli_usage("--pair", "%s", why.text);
	}
	q->layouts.is_for_pairs = is_for_pairs;
}

/* Takes in the layouts of the events that --event leaves. The other event of a pair need not match --event. */
static void take_layouts(struct ptrc_selection *s)
{
	struct ptrc_query *q = s->query;

	if (!q->select.globs.count)
		return;
	ptrc_layouts_leave_out(&q->layouts);
	for (size_t i = 0; i < q->select.globs.count; i++)
		ptrc_query_take_layouts(q, q->select.globs.texts[i]);
	for (size_t i = 0; i < s->pairs->count; i++) {
		ptrc_query_take_layouts(q, s->pairs->list[i].begin);
		ptrc_query_take_layouts(q, s->pairs->list[i].end);
	}
	if (s->pairs->is_by_name) {
		ptrc_query_take_layouts(q, "*.begin");
		ptrc_query_take_layouts(q, "*.end");
	}
}

/* Reads the expressions again, because the layouts of the logs are known now. Only the layouts of events that an
 * expression is for count: members of JSON data, which may have any name and type, are accepted only if one of these
 * events has such data. */
static void close_layouts(struct ptrc_selection *s)
{
	struct ptrc_query *q = s->query;

	q->layouts.is_open = false;
	find_keys(s);
	take_layouts(s);
	for (size_t i = 0; i < s->wheres.count; i++) {
		struct ptrc_where *w = read_where(s, "--where", s->wheres.texts[i]);

		ptrc_where_free(q->select.wheres[i]);
		q->select.wheres[i] = w;
	}
	ptrc_layouts_leave_out(&q->layouts);
	if (q->select.around)
		ptrc_query_take_layouts(q, q->select.around);
	read_around(s);
	ptrc_layouts_take_all(&q->layouts);
}

bool ptrc_selection_open(struct ptrc_selection *s, char **operands, size_t count)
{
	/* This is static because the reader keeps the pointer to its path. */
	static char name[] = PTRC_SELECTION_LOG;
	static char *standard[] = {name};
	struct ptrc_query *q = s->query;
	size_t wanted = 0;

	if (!count) {
		operands = standard;
		count = 1;
	}
	check_labels(&s->labels, operands, count);
	q->sources = ptrc_cli_allocate(count * sizeof(*q->sources));
	for (size_t i = 0; i < count; i++) {
		size_t n = q->source_count;

		if (is_read_already(operands, count, i))
			continue;
		wanted++;
		if (!open_source(s, &q->sources[n].reader, operands[i]))
			continue;
		check_file(q, &q->sources[n].reader, operands[i]);
		q->sources[n].operand = operands[i];
		q->sources[n].reader.label = find_label(&s->labels, operands[i]);
		ptrc_source_begin(&q->sources[n], q, n);
		q->source_count++;
	}
	q->has_log = wanted > 1;
	q->has_host = s->labels.count;
	/* While a session is followed, programs may open event types with new layouts, so the layouts stay open. */
	if (!q->session && q->source_count)
		close_layouts(s);
	ptrc_query_find_hosts(q, s->is_for_log);
	if (q->source_count != wanted)
		return false;
	if (s->sync_texts.count) {
		if (!ptrc_sync_hosts(&s->sync, q))
			return false;
		ptrc_sync_report(&s->sync);
	}
	return true;
}

bool ptrc_selection_load_symbols(struct ptrc_selection *s)
{
	struct ptrc_cli_reason why;

	if (!s->has_symbols)
		return true;
	s->query->symbols = ptrc_symbols_open(&why);
	if (!s->query->symbols)
		ptrc_cli_message("--symbols", "%s", why.text);
	return s->query->symbols != NULL;
}

void ptrc_selection_say_orphans(const struct ptrc_selection *s)
{
	for (size_t i = 0; i < s->query->source_count; i++)
		if (s->query->sources[i].losses.is_unclosed)
			ptrc_orphans_say_of(s->query->sources[i].reader.path);
}

enum ptrc_exit ptrc_selection_run(struct ptrc_selection *s)
{
	enum ptrc_exit status = PTRC_EXIT_DONE;
	bool is_read = true;

	if (ptrc_query_scan(s->query))
		is_read = ptrc_query_run(s->query);
	else
		status = PTRC_EXIT_FAILED;
	status = ptrc_query_end(s->query, status, is_read);
	ptrc_selection_say_orphans(s);
	return status;
}

void ptrc_selection_close(struct ptrc_selection *s)
{
	struct ptrc_query *q = s->query;

	ptrc_hosts_free(&q->hosts);
	for (size_t i = 0; i < q->source_count; i++)
		ptrc_source_free(&q->sources[i]);
	free(q->sources);
	q->sources = NULL;
	q->source_count = 0;
	q->layouts.is_open = true;
}

void ptrc_selection_free(struct ptrc_selection *s)
{
	struct ptrc_query *q = s->query;

	ptrc_selection_close(s);
	ptrc_sync_free(&s->sync);
	ptrc_misfits_free(&q->misfits);
	ptrc_symbols_free(q->symbols);
	ptrc_select_free(&q->select);
	ptrc_layouts_free(&q->layouts);
	free(s->wheres.texts);
	free(s->pair_texts.texts);
	free(s->labels.texts);
	free(s->sync_texts.texts);
}
