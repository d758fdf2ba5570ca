/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cli/cli.h"
#include "src/config/configuration_yaml.h"
#include "src/view/event_format.h"
#include "src/cli/exit_status.h"
#include "src/view/layout.h"
#include "src/cli/lines.h"
#include "src/cli/nearest.h"
#include "src/cli/output.h"
#include "src/session/reader_follow.h"
#include "src/view/reader.h"
#include "src/view/select.h"
#include "src/view/view.h"
#include "src/view/when.h"
#include "src/view/where.h"

enum {
	KEY_FORMAT = PTRC_CLI_KEY_FIRST,
	KEY_JSON,
	KEY_USER,
	KEY_PID,
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
	KEY_FIELDS,
	KEY_DECODE,
	KEY_COLOR,
	KEY_SUMMARY,
	KEY_FOLLOW,
	KEY_ALLOW_LOSS,
};

static const struct ptrc_cli_option options[] = {
	{"follow", KEY_FOLLOW, "SESSION",
	 "show the events of a session as they come, to its\nend"},
	{"event", 'e', "GLOB",
	 "show only events whose name matches; may be given\nseveral times"},
	{"user", KEY_USER, NULL, "leave the system's own events out"},
	{"pid", KEY_PID, "PID",
	 "show only events of the process; may be given\nseveral times"},
	{"tid", KEY_TID, "TID",
	 "show only events of the thread, as the kernel\nnumbers it; may be given several times"},
	{"since", KEY_SINCE, "TIME",
	 "show only events from then on:\n2026-01-02T03:04:05Z, 2026-01-02 03:04 (local),\n"
	 "03:04 (today), +2s after the begin, -5s before the\nend"},
	{"until", KEY_UNTIL, "TIME", "show only events up to then"},
	{"around", KEY_AROUND, "GLOB",
	 "show only events near to those whose name matches"},
	{"before", KEY_BEFORE, "DURATION", "how long before them: 10s, 1.5ms, 1m30s"},
	{"after", KEY_AFTER, "DURATION", "how long after them (default: both 1s)"},
	{"where", KEY_WHERE, "EXPR",
	 "show only events for which it holds, such as\n"
	 "'len > 9 && data.rows == 0'; may be given several\ntimes"},
	{"first", KEY_FIRST, "N", "show only the first N of them"},
	{"last", KEY_LAST, "N", "show only the last N of them"},
	{"count", KEY_COUNT, NULL, "show only how many there are"},
	{"decode", KEY_DECODE, "EVENT=LAYOUT",
	 "what the data of events means, such as\n"
	 "'db.query=u64 id, u32 rows, str sql'; may be given\nseveral times"},
	{"config", 'c', "FILE",
	 "take layouts from the decode: of this file, see\n"
	 "ptrace.yaml(5); - for standard input"},
	{"fields", KEY_FIELDS, "LIST",
	 "show these, in this order: time, ns, event, id,\n"
	 "pid, tid, thread, address, truncated, len, data,\n"
	 "log, reason, error, data.NAME"},
	{"format", KEY_FORMAT, "FORMAT",
	 "text or json (default: text on a terminal,\nelse json)"},
	{"json", KEY_JSON, NULL, "the same as --format=json"},
	{"color", KEY_COLOR, "WHEN",
	 "colours in text: auto, always or never (default:\n"
	 "auto, that is, on a terminal unless NO_COLOR is\nset)"},
	{"summary", KEY_SUMMARY, NULL,
	 "at the end, say how many were shown and what is\nmissing"},
	{"allow-loss", KEY_ALLOW_LOSS, NULL,
	 "exit with 0 even if the data is incomplete"},
	PTRC_CLI_OPTIONS_END,
};

static const struct ptrc_cli cli = {
	.program = "ptrace-dump",
	.operands = "[OPTION]... LOG... | --follow=SESSION",
	.summary =
		"Shows the events of trace logs, merged by time, or of a live session.\n"
		"LOG may be - for standard input.",
	.options = options,
	.notes =
		"Exit status: 0 done, 1 failed, 2 wrong usage, 3 the data is incomplete.",
	.usage_status = PTRC_EXIT_USAGE,
};

/* Output is written in pieces of about this size: few system calls, and a reader that
 * sees something soon. */
enum { WRITE_SIZE = 65536 };

/* More --where than anybody gives, and fewer than what fills the stack. */
enum { WHERE_MAX = 100 };

/* Most that lines may take which are shown if the event comes that --around waits for. */
static const size_t held_max_bytes = (size_t)64 << 20;

/* What --around shows if neither --before nor --after says it. */
static const int64_t around_default_ns = 1000000000;

struct source {
	struct ptrc_reader reader;
	struct ptrc_event_labels labels;
	struct ptrc_select_types types;
	/* By event type; looked up when first needed. */
	const struct ptrc_layout *layouts[PTRC_READER_IDS];
	bool has_layout[PTRC_READER_IDS];
	struct ptrc_view view;
	struct ptrc_losses losses;
	/* Position on the command line, which decides between events of one time. */
	size_t order;
};

static struct ptrc_select wanted = PTRC_SELECT_INIT;
static struct ptrc_layouts layouts;
/* Those from the command line come first. */
static size_t given_layouts;
static struct ptrc_event_format format = {
	/* Wide enough for the shorter system events. */
	.name_width = 17,
};
/* Millions of events per second are selected by their type at most. */
static bool is_type_enough;
static struct ptrc_when since = {PTRC_WHEN_ABSOLUTE, INT64_MIN};
static struct ptrc_when until = {PTRC_WHEN_ABSOLUTE, INT64_MAX};
static const char *session;
static int64_t before_ns = -1;
static int64_t after_ns = -1;
static uint64_t first_count = UINT64_MAX;
static uint64_t last_count = UINT64_MAX;
static bool is_counting;
static bool has_summary;
static bool is_loss_allowed;

static struct ptrc_buffer out = PTRC_BUFFER_INIT;
static uint64_t shown_count;
/* Selected, but let go of for want of memory. */
static uint64_t unheld_count;

/* The signal that ends --follow. */
static volatile sig_atomic_t end_signal;

static const struct ptrc_layout *find_layout(struct source *s)
{
	trace_event_id_t id = s->reader.event.posix_event_id;
	size_t place = id < PTRC_READER_IDS ? id : 0;

	if (!s->has_layout[place]) {
		s->has_layout[place] = true;
		/* What the trace system records is known. */
		if (id >= POSIX_TRACE_UNNAMED_USEREVENT)
			s->layouts[place] = ptrc_layouts_find(
				&layouts, ptrc_reader_name(&s->reader, id)->text);
	}
	return s->layouts[place];
}

static bool is_selected(struct source *s)
{
	if (layouts.count) {
		s->view.layout = find_layout(s);
		s->view.is_decoded = false;
	}
	if (is_type_enough)
		return ptrc_select_type(&wanted, &s->types, &s->reader,
					s->reader.event.posix_event_id);
	return ptrc_select_event(&wanted, &s->types, &s->view);
}

/* Also asks about names that no event has, so that only patterns without any type are
 * complained about. */
static int load_names(struct source *s)
{
	size_t width = ptrc_reader_load_names(&s->reader);

	for (trace_event_id_t id = 1; wanted.glob_count && id < PTRC_READER_IDS; id++)
		if (s->reader.names[id] && s->reader.names[id]->is_known)
			ptrc_select_type(&wanted, &s->types, &s->reader, id);
	return (int)width;
}

/* Reads on to the next event that is selected. */
static bool advance(struct source *s)
{
	while (ptrc_reader_next(&s->reader))
		if (is_selected(s))
			return true;
	return false;
}

static bool is_before(const struct source *a, const struct source *b)
{
	const struct timespec *t = &a->reader.event.posix_timestamp;
	const struct timespec *u = &b->reader.event.posix_timestamp;

	if (t->tv_sec != u->tv_sec)
		return t->tv_sec < u->tv_sec;
	if (t->tv_nsec != u->tv_nsec)
		return t->tv_nsec < u->tv_nsec;
	return a->order < b->order;
}

/* The heap holds the sources that have an event, the oldest at its top; moves the one at
 * i down to where it belongs. */
static void sift(struct source **heap, size_t count, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1;
		struct source *s = heap[i];

		if (child >= count)
			return;
		if (child + 1 < count && is_before(heap[child + 1], heap[child]))
			child++;
		if (!is_before(heap[child], s))
			return;
		heap[i] = heap[child];
		heap[child] = s;
		i = child;
	}
}

/* ---- what is known only when all has been read ---- */

static int64_t event_ns(const struct source *s)
{
	return ptrc_when_ns(&s->reader.event.posix_timestamp);
}

/* Reads the source, or its first event only, for its begin and end and the windows. */
static bool scan(struct source *s, bool is_first_enough, struct ptrc_span *all)
{
	struct ptrc_reader *r = &s->reader;
	int error;

	while (ptrc_reader_next(r)) {
		int64_t ns = event_ns(s);

		if (ns < all->first)
			all->first = ns;
		if (ns > all->last)
			all->last = ns;
		if (is_first_enough)
			break;
		if (wanted.around &&
		    ptrc_select_is_around(&wanted, &s->types, r, r->event.posix_event_id))
			ptrc_select_add_window(&wanted, ptrc_when_add(ns, -before_ns),
					       ptrc_when_add(ns, after_ns));
	}
	error = ptrc_reader_rewind(r);
	if (error)
		ptrc_cli_error(r->path, error);
	return !error;
}

static int64_t resolve(const struct ptrc_when *w, const struct ptrc_span *all)
{
	switch (w->base) {
	case PTRC_WHEN_FROM_BEGIN:
		return ptrc_when_add(all->first, w->ns);
	case PTRC_WHEN_FROM_END:
		return ptrc_when_add(all->last, w->ns);
	default:
		return w->ns;
	}
}

/* Turns what is relative into moments. */
static void resolve_moments(const struct ptrc_span *all)
{
	wanted.span.first = resolve(&since, all);
	wanted.span.last = resolve(&until, all);
	is_type_enough = !ptrc_select_has_more(&wanted);
}

/* The same for logs, with the windows. False if a log cannot be read twice. */
static bool resolve_times(struct source *sources, size_t count)
{
	struct ptrc_span all = {INT64_MAX, INT64_MIN};
	bool is_any = since.base != PTRC_WHEN_ABSOLUTE ||
		      until.base != PTRC_WHEN_ABSOLUTE || wanted.around;
	bool is_first_enough = since.base != PTRC_WHEN_FROM_END &&
			       until.base != PTRC_WHEN_FROM_END && !wanted.around;

	for (size_t i = 0; i < count && is_any; i++)
		if (!scan(&sources[i], is_first_enough, &all))
			return false;
	resolve_moments(&all);
	ptrc_select_sort_windows(&wanted);
	return true;
}

/* ---- output ---- */

static void write_some(void)
{
	if (out.used >= WRITE_SIZE)
		ptrc_output_write(&out);
}

/* Shows the last lines at last. */
static void put_lines(struct ptrc_lines *lines)
{
	for (; lines->count; ptrc_lines_drop(lines)) {
		const struct ptrc_line *line = ptrc_lines_first(lines);

		ptrc_buffer_bytes(&out, line->text, line->used);
		write_some();
	}
	ptrc_lines_free(lines);
}

static void put_count(void)
{
	struct ptrc_json j = {&out, true};

	if (format.format == PTRC_FORMAT_JSON) {
		ptrc_json_open(&j, NULL, '{');
		ptrc_json_u64(&j, "count", shown_count);
		ptrc_json_close(&j, '}');
	} else {
		ptrc_buffer_u64(&out, shown_count);
	}
	ptrc_buffer_char(&out, '\n');
}

static void put_summary(const struct source *sources, size_t count, bool is_complete)
{
	struct ptrc_json j = {&out, true};

	if (format.format == PTRC_FORMAT_TEXT) {
		ptrc_buffer_u64(&out, shown_count);
		ptrc_buffer_text(&out, shown_count == 1 ? " event" : " events");
		ptrc_buffer_text(&out,
				 is_complete ? ", complete\n" : ", data incomplete\n");
		return;
	}
	ptrc_json_open(&j, NULL, '{');
	ptrc_json_open(&j, "summary", '{');
	ptrc_json_u64(&j, "version", 1);
	ptrc_json_u64(&j, "shown", shown_count);
	ptrc_json_bool(&j, "complete", is_complete);
	ptrc_json_open(&j, "logs", '[');
	for (size_t i = 0; i < count; i++) {
		const struct ptrc_reader *r = &sources[i].reader;

		ptrc_json_open(&j, NULL, '{');
		ptrc_json_bytes(&j, session ? "session" : "log", r->path,
				strlen(r->path));
		ptrc_json_u64(&j, "read", r->read_count);
		ptrc_json_open(&j, "losses", '{');
		ptrc_losses_json(&sources[i].losses, &j);
		ptrc_json_close(&j, '}');
		ptrc_json_close(&j, '}');
	}
	ptrc_json_close(&j, ']');
	ptrc_json_close(&j, '}');
	ptrc_json_close(&j, '}');
	ptrc_buffer_char(&out, '\n');
}

/* Shows it, or keeps it in *last if only the last ones are shown. */
static void put_event(struct source *s, struct ptrc_lines *last)
{
	shown_count++;
	if (is_counting)
		return;
	ptrc_event_put(&out, &format, &s->labels, &s->view);
	if (__builtin_expect(last_count == UINT64_MAX, 1)) {
		write_some();
		return;
	}
	if (last->count == last_count && last->count)
		ptrc_lines_drop(last);
	if (last_count)
		ptrc_lines_add(last, 0, &out);
	out.used = 0;
}

/* Returns whether all of the logs was read. */
static bool dump(struct source *sources, size_t count)
{
	struct source **heap = ptrc_cli_allocate(count * sizeof(struct source *));
	struct ptrc_lines last = {0};
	size_t live = 0;

	for (size_t i = 0; i < count; i++)
		if (advance(&sources[i]))
			heap[live++] = &sources[i];
	for (size_t i = live / 2; i-- > 0;)
		sift(heap, live, i);
	while (live && shown_count < first_count) {
		struct source *s = heap[0];

		if (!wanted.around || ptrc_select_is_in_window(&wanted, event_ns(s)))
			put_event(s, &last);
		if (!advance(s))
			heap[0] = heap[--live];
		sift(heap, live, 0);
	}
	if (last_count != UINT64_MAX) {
		shown_count = last.count;
		put_lines(&last);
	}
	if (is_counting)
		put_count();
	if (out.used)
		ptrc_output_write(&out);
	free(heap);
	return !live;
}

/* ---- a live session ---- */

static void on_signal(int number)
{
	end_signal = number;
}

/* What ends us ends the following, so that counts and summaries are still printed; the
 * second time, it ends us. */
static void catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal,
				   .sa_flags = (int)SA_RESETHAND};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct sigaction old;

		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

/* Whether nothing that may still come is wanted. An event is here some milliseconds after
 * it was recorded, unless its thread was stopped meanwhile. */
static bool is_over(void)
{
	const int64_t late_ns = 200000000;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return ptrc_when_ns(&now) > ptrc_when_add(wanted.span.last, late_ns);
}

/* With what waits in the buffer written. */
static bool read_live(struct ptrc_reader *r)
{
	for (;;) {
		bool is_waiting = ptrc_reader_is_waiting(r);

		if (out.used && is_waiting)
			ptrc_output_write(&out);
		if (end_signal)
			return false;
		if (is_waiting && !ptrc_output_wait(r->fd)) {
			if (is_over())
				return false;
			continue;
		}
		if (ptrc_reader_next(r))
			return true;
		if (r->error != EINTR)
			return false;
		r->error = 0;
		if (is_over())
			return false;
	}
}

/* The lines of the time before an event that --around waits for. */
static void show_held(struct ptrc_lines *held, int64_t since_ns)
{
	for (; held->count; ptrc_lines_drop(held)) {
		const struct ptrc_line *line = ptrc_lines_first(held);

		if (line->ns < since_ns || shown_count >= first_count)
			continue;
		ptrc_buffer_bytes(&out, line->text, line->used);
		write_some();
		shown_count++;
	}
}

static void hold(struct source *s, struct ptrc_lines *held, int64_t ns)
{
	struct ptrc_buffer line = PTRC_BUFFER_INIT;

	while (held->count && ptrc_lines_first(held)->ns < ptrc_when_add(ns, -before_ns))
		ptrc_lines_drop(held);
	if (!before_ns)
		return;
	if (!is_counting)
		ptrc_event_put(&line, &format, &s->labels, &s->view);
	ptrc_lines_add(held, ns, &line);
	ptrc_buffer_free(&line);
	for (; held->bytes > held_max_bytes; unheld_count++)
		ptrc_lines_drop(held);
}

/* Returns whether it came to the end of the session. */
static bool follow(struct source *s)
{
	struct ptrc_reader *r = &s->reader;
	struct ptrc_lines held = {0};
	int64_t shown_until_ns = INT64_MIN;
	bool is_first = true;

	/* Known before the first event comes, or only then. */
	wanted.span.last = until.base == PTRC_WHEN_ABSOLUTE ? until.ns : INT64_MAX;
	while (shown_count < first_count && read_live(r)) {
		int64_t ns = event_ns(s);

		if (is_first) {
			struct ptrc_span all = {ns, ns};

			resolve_moments(&all);
			is_first = false;
		}
		if (ns > wanted.span.last)
			break;
		if (wanted.around && ptrc_select_is_around(&wanted, &s->types, r,
							   r->event.posix_event_id)) {
			show_held(&held, ptrc_when_add(ns, -before_ns));
			shown_until_ns = ptrc_when_add(ns, after_ns);
		}
		if (!is_selected(s) || shown_count >= first_count)
			continue;
		if (!wanted.around || ns <= shown_until_ns)
			put_event(s, NULL);
		else
			hold(s, &held, ns);
	}
	ptrc_lines_free(&held);
	if (is_counting)
		put_count();
	if (out.used)
		ptrc_output_write(&out);
	return !end_signal && shown_count < first_count;
}

/* ---- patterns without any event type ---- */

static void say_no_type(const struct source *sources, size_t count, const char *pattern)
{
	struct ptrc_nearest nearest = {0};
	char proposal[3 * TRACE_EVENT_NAME_MAX];

	for (size_t i = 0; i < count && !strpbrk(pattern, "*?[\\"); i++)
		for (size_t id = 1; id < PTRC_READER_IDS; id++) {
			const struct ptrc_reader_name *name = sources[i].reader.names[id];

			if (name && name->is_known)
				ptrc_nearest_offer(&nearest, pattern, name->text);
		}
	ptrc_cli_message(pattern, "no event type has such a name%s",
			 ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
}

static bool is_any_type(const struct source *sources, size_t count, const char *pattern)
{
	for (size_t i = 0; i < count; i++)
		for (size_t id = 1; id < PTRC_READER_IDS; id++) {
			const struct ptrc_reader_name *name = sources[i].reader.names[id];

			if (name && name->is_known && !fnmatch(pattern, name->text, 0))
				return true;
		}
	return false;
}

static void check_patterns(const struct source *sources, size_t count)
{
	for (size_t i = 0; i < wanted.glob_count; i++)
		if (!wanted.globs[i].has_matched)
			say_no_type(sources, count, wanted.globs[i].pattern);
	if (wanted.around && !is_any_type(sources, count, wanted.around))
		say_no_type(sources, count, wanted.around);
	/* A file may be for other logs, too. */
	for (size_t i = 0; i < given_layouts; i++) {
		const char *pattern = ptrc_layout_pattern(layouts.layouts[i]);

		if (!is_any_type(sources, count, pattern))
			say_no_type(sources, count, pattern);
	}
}

/* ---- the command line ---- */

/* In order, as --decode may come behind what names its fields. */
struct text_list {
	const char **texts;
	size_t count;
};

static void add_text(struct text_list *l, const char *text)
{
	l->texts = ptrc_cli_reallocate(l->texts, (l->count + 1) * sizeof(*l->texts));
	l->texts[l->count++] = text;
}

static pid_t number_of_process(const char *option, const char *text)
{
	/* 0 is what the trace system itself has. */
	return (pid_t)ptrc_cli_number(option, text, 0, INT32_MAX);
}

static struct ptrc_when time_of(const char *option, const char *text)
{
	struct ptrc_when w;

	if (!ptrc_when_parse(text, &w))
		ptrc_cli_usage(option,
			       "'%s' is not a time such as 2026-01-02T03:04:05Z, "
			       "03:04:05, +2s or -5s",
			       text);
	return w;
}

static int64_t duration_of(const char *option, const char *text)
{
	int64_t ns;

	if (!ptrc_when_duration(text, &ns))
		ptrc_cli_usage(option, "'%s' is not a duration such as 10s or 1.5ms",
			       text);
	return ns;
}

static void add_layout(const char *text)
{
	const char *sign = strrchr(text, '=');
	char reason[300];
	char *pattern;

	if (!sign || sign == text)
		ptrc_cli_usage("--decode", "'%s' is not EVENT=LAYOUT", text);
	pattern = strndup(text, (size_t)(sign - text));
	if (!pattern)
		ptrc_cli_no_memory();
	if (!ptrc_layouts_add(&layouts, pattern, sign + 1, reason, sizeof(reason)))
		ptrc_cli_usage("--decode", "%s: %s", pattern, reason);
	free(pattern);
}

/* The layouts of a file's sessions; of the one that is followed, if it has a name there. */
static void read_layouts(const char *path)
{
	/* What is read stays. */
	static struct ptrc_config_file file;
	const struct ptrc_config *only = NULL;
	char reason[300];

	given_layouts = layouts.count;
	if (!path)
		return;
	ptrc_config_read(&file, path, PTRC_CONFIG_FOR_DUMP);
	for (size_t i = 0; i < file.count && session; i++)
		if (file.sessions[i].name && !strcmp(file.sessions[i].name, session))
			only = &file.sessions[i];
	for (size_t i = 0; i < file.count; i++) {
		const struct ptrc_config_map *map = &file.sessions[i].decode;

		if (only && only != &file.sessions[i])
			continue;
		for (size_t k = 0; k < map->count; k++) {
			const struct ptrc_config_layout *l = &map->layouts[k];

			if (!ptrc_layouts_add(&layouts, l->event, l->text, reason,
					      sizeof(reason)))
				ptrc_config_refuse(&file, &l->mark, "decode: %s: %s",
						   l->event, reason);
		}
	}
}

static struct ptrc_where *make_where(const struct text_list *wheres)
{
	struct ptrc_where *all = NULL;
	char reason[400];

	if (wheres->count > WHERE_MAX)
		ptrc_cli_usage("--where", "is given more than %d times", (int)WHERE_MAX);
	for (size_t i = 0; i < wheres->count; i++) {
		struct ptrc_where *w = ptrc_where_parse(wheres->texts[i], &layouts,
							reason, sizeof(reason));

		if (!w)
			ptrc_cli_usage("--where", "%s", reason);
		all = all ? ptrc_where_and(all, w) : w;
	}
	return all;
}

static bool is_colour_wanted(int when)
{
	enum { AUTO, ALWAYS };
	const char *no_colour = getenv("NO_COLOR");
	const char *terminal = getenv("TERM");

	if (when != AUTO)
		return when == ALWAYS;
	return isatty(STDOUT_FILENO) && !(no_colour && *no_colour) &&
	       !(terminal && !strcmp(terminal, "dumb"));
}

static void check_usage(int operands)
{
	bool is_part = first_count != UINT64_MAX || last_count != UINT64_MAX;

	if (first_count != UINT64_MAX && last_count != UINT64_MAX)
		ptrc_cli_usage("--last", "cannot be used together with --first");
	if (is_counting && is_part)
		ptrc_cli_usage("--count",
			       "cannot be used together with --first or --last");
	if (is_counting && format.field_count)
		ptrc_cli_usage("--count", "cannot be used together with --fields");
	if (!wanted.around && before_ns >= 0)
		ptrc_cli_usage("--before", "wants --around");
	if (!wanted.around && after_ns >= 0)
		ptrc_cli_usage("--after", "wants --around");
	if (since.base == until.base && since.ns > until.ns)
		ptrc_cli_usage("--until", "is before --since");
	if (session && operands)
		ptrc_cli_usage("--follow", "cannot be used together with LOG");
	if (session && last_count != UINT64_MAX)
		ptrc_cli_usage("--follow", "cannot be used together with --last");
	if (session &&
	    (since.base == PTRC_WHEN_FROM_END || until.base == PTRC_WHEN_FROM_END))
		ptrc_cli_usage("--follow", "the end of a session is not known: no times "
					   "relative to it");
	if (!session && !operands)
		ptrc_cli_usage(NULL, "no LOG given");
}

static void parse(int argc, char **argv)
{
	static const char *const colours[] = {"auto", "always", "never", NULL};
	struct text_list wheres = {0};
	struct text_list fields = {0};
	const char *config = NULL;
	char reason[400];
	int colour = 0;
	int key;

	format.format = isatty(STDOUT_FILENO) ? PTRC_FORMAT_TEXT : PTRC_FORMAT_JSON;
	ptrc_cli_begin(&cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1) {
		switch (key) {
		case 'e':
			ptrc_select_add_glob(&wanted, optarg);
			break;
		case KEY_USER:
			wanted.is_user = true;
			break;
		case KEY_PID:
			ptrc_select_add_number(&wanted.pids,
					       number_of_process("--pid", optarg));
			break;
		case KEY_TID:
			ptrc_select_add_number(&wanted.tids,
					       number_of_process("--tid", optarg));
			break;
		case KEY_SINCE:
			since = time_of("--since", optarg);
			break;
		case KEY_UNTIL:
			until = time_of("--until", optarg);
			break;
		case KEY_AROUND:
			wanted.around = optarg;
			break;
		case KEY_BEFORE:
			before_ns = duration_of("--before", optarg);
			break;
		case KEY_AFTER:
			after_ns = duration_of("--after", optarg);
			break;
		case KEY_WHERE:
			add_text(&wheres, optarg);
			break;
		case KEY_FIRST:
			first_count = ptrc_cli_number("--first", optarg, 0, INT64_MAX);
			break;
		case KEY_LAST:
			last_count = ptrc_cli_number("--last", optarg, 0, INT64_MAX);
			break;
		case KEY_COUNT:
			is_counting = true;
			break;
		case KEY_DECODE:
			add_layout(optarg);
			break;
		case 'c':
			if (config)
				ptrc_cli_usage("--config", "is given twice");
			config = optarg;
			break;
		case KEY_FIELDS:
			add_text(&fields, optarg);
			break;
		case KEY_FORMAT:
			format.format = ptrc_cli_format(optarg);
			break;
		case KEY_JSON:
			format.format = PTRC_FORMAT_JSON;
			break;
		case KEY_COLOR:
			colour = ptrc_cli_word("--color", optarg, colours);
			break;
		case KEY_FOLLOW:
			if (session)
				ptrc_cli_usage("--follow", "one session only");
			session = optarg;
			break;
		case KEY_SUMMARY:
			has_summary = true;
			break;
		case KEY_ALLOW_LOSS:
			is_loss_allowed = true;
			break;
		default:
			break;
		}
	}
	read_layouts(config);
	wanted.where = make_where(&wheres);
	for (size_t i = 0; i < fields.count; i++)
		if (!ptrc_event_fields(&format, fields.texts[i], &layouts, reason,
				       sizeof(reason)))
			ptrc_cli_usage("--fields", "%s", reason);
	free(wheres.texts);
	free(fields.texts);
	check_usage(argc - optind);
	if (before_ns < 0 && after_ns < 0)
		before_ns = after_ns = around_default_ns;
	else if (before_ns < 0)
		before_ns = 0;
	else if (after_ns < 0)
		after_ns = 0;
	format.is_coloured = is_colour_wanted(colour);
}

static void source_free(struct source *s)
{
	ptrc_reader_close(&s->reader);
	ptrc_event_labels_free(&s->labels);
	free(s->view.decoded.values);
}

/* Opens a log or a session. */
static bool open_source(struct source *s, const char *thing, size_t order)
{
	int width;

	memset(s, 0, sizeof(*s));
	s->order = order;
	s->view.reader = &s->reader;
	if (!(session ? ptrc_reader_follow(&s->reader, thing)
		      : ptrc_reader_open(&s->reader, thing)))
		return false;
	width = load_names(s);
	/* One very long name should not push everything to the right. */
	if (width > format.name_width && width <= 40)
		format.name_width = width;
	return true;
}

/* Shows all, then tells what is missing. */
static enum ptrc_exit show(struct source *sources, size_t count)
{
	enum ptrc_exit status = PTRC_EXIT_DONE;
	bool is_complete = true;
	bool is_read = true;

	if (session)
		is_read = follow(sources);
	else if (resolve_times(sources, count))
		is_read = dump(sources, count);
	else
		status = PTRC_EXIT_FAILED;
	check_patterns(sources, count);
	for (size_t i = 0; i < count; i++) {
		struct ptrc_losses *losses = &sources[i].losses;

		ptrc_reader_losses(&sources[i].reader, is_read, losses);
		losses->unshown_events += unheld_count;
		ptrc_losses_report(losses, sources[i].reader.path);
		if (losses->read_error)
			status = PTRC_EXIT_FAILED;
		else if (ptrc_losses_is_any(losses))
			is_complete = false;
	}
	if (has_summary)
		put_summary(sources, count, is_complete && status == PTRC_EXIT_DONE);
	if (status == PTRC_EXIT_DONE && !is_complete && !is_loss_allowed)
		status = PTRC_EXIT_INCOMPLETE;
	return status;
}

int main(int argc, char **argv)
{
	enum ptrc_exit status = PTRC_EXIT_DONE;
	struct source *sources;
	size_t operands;
	size_t count = 0;

	parse(argc, argv);
	operands = session ? 1 : (size_t)(argc - optind);
	sources = ptrc_cli_allocate(operands * sizeof(*sources));
	ptrc_output_begin();
	if (session)
		catch_signals();
	for (size_t i = 0; i < operands; i++) {
		const char *thing = session ? session : argv[(size_t)optind + i];

		if (open_source(&sources[count], thing, count))
			count++;
		else
			status = PTRC_EXIT_FAILED;
	}
	format.has_log = operands > 1;
	if (count) {
		enum ptrc_exit shown = show(sources, count);

		if (status == PTRC_EXIT_DONE)
			status = shown;
	}
	ptrc_output_end(&out);
	for (size_t i = 0; i < count; i++)
		source_free(&sources[i]);
	free(sources);
	ptrc_select_free(&wanted);
	ptrc_layouts_free(&layouts);
	ptrc_event_format_free(&format);
	if (end_signal) {
		signal(end_signal, SIG_DFL);
		raise(end_signal);
	}
	return (int)status;
}
