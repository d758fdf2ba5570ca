/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/view/dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/heap.h"
#include "lib/model/glob.h"
#include "src/cli/json.h"
#include "src/cli/nearest.h"
#include "src/cli/output.h"
#include "src/view/misfits.h"

/* Output is written in pieces of about this size: large enough for few system calls, small
 * enough that a reader soon sees something. */
enum { WRITE_SIZE = 65536 };

/* A name that is longer than this does not widen the column of names. */
enum { NAME_COLUMNS_MAX = 40 };

/* Whether the field is shown or asked for. */
static bool has_field(const struct ptrc_dump *d, enum ptrc_field_id id)
{
	bool is_found = false;

	for (size_t i = 0; i < d->format.field_count; i++)
		is_found |= d->format.fields[i].id == id;
	for (size_t i = 0; i < d->select.where_count; i++)
		is_found |= ptrc_where_has_field(d->select.wheres[i], id);
	return is_found;
}

void ptrc_source_begin(struct ptrc_source *s, struct ptrc_dump *d, size_t order)
{
	struct ptrc_reader *r = &s->reader;
	size_t width = ptrc_reader_load_names(r);

	memset(&s->labels, 0, sizeof(s->labels));
	memset(&s->types, 0, sizeof(s->types));
	s->view = (struct ptrc_view){.reader = r, .symbols = d->symbols};
	s->order = order;
	s->sieve = NULL;
	s->is_damaged = false;
	s->is_over = false;
	if (d->needs_gap || has_field(d, PTRC_FIELD_GAP))
		ptrc_reader_watch_threads(r);
	ptrc_view_take_layouts(&s->view, &d->layouts);
	if (width > (size_t)d->format.name_width && width <= NAME_COLUMNS_MAX)
		d->format.name_width = (int)width;
}

void ptrc_dump_find_hosts(struct ptrc_dump *d, bool is_for_log)
{
	struct ptrc_reader **readers;

	/* The times of a single log are shown as they are. */
	if (d->source_count < 2 && !d->needs_bound && !has_field(d, PTRC_FIELD_BOUND))
		return;
	readers = ptrc_cli_allocate((d->source_count + 1) * sizeof(struct ptrc_reader *));
	for (size_t i = 0; i < d->source_count; i++)
		readers[i] = &d->sources[i].reader;
	ptrc_hosts_begin(&d->hosts, readers, d->source_count, is_for_log);
	free(readers);
}

void ptrc_source_free(struct ptrc_source *s)
{
	ptrc_reader_close(&s->reader);
	ptrc_event_labels_free(&s->labels);
	ptrc_view_free(&s->view);
	ptrc_sieve_free(s->sieve);
}

void ptrc_source_make_sieve(struct ptrc_source *s, const struct ptrc_dump *d)
{
	ptrc_sieve_free(s->sieve);
	s->sieve = NULL;
	/* A session may tell of more layouts. A sieve sees times as the log has them. */
	if (d->select.where_count && !ptrc_reader_is_moving(&s->reader) && !s->reader.source &&
	    !d->sink.takes_all)
		s->sieve = ptrc_sieve_make(d->select.wheres[0], &d->layouts);
}

bool ptrc_dump_is_selected(struct ptrc_dump *d, struct ptrc_source *s)
{
	if (s->reader.source)
		ptrc_view_take_layout(&s->view, &d->layouts);
	if (d->layouts.count)
		ptrc_view_find_layout(&s->view, &d->layouts);
	return d->sink.takes_all ||
	       (d->sink.takes_losses && ptrc_dump_sees_losses(s->reader.event.posix_event_id)) ||
	       ptrc_select_event(&d->select, &s->types, &s->view);
}

static void write_some(struct ptrc_dump *d)
{
	if (d->out.used >= WRITE_SIZE)
		ptrc_output_write(&d->out);
}

/* Puts the header, if it is due, in front of what the output has from an offset on. */
static void put_header(struct ptrc_dump *d, size_t offset)
{
	struct ptrc_buffer header = PTRC_BUFFER_INIT;
	char *at;

	if (!d->is_header_due)
		return;
	d->is_header_due = false;
	ptrc_event_put_header(&header, &d->format);
	ptrc_buffer_room(&d->out, header.used);
	at = d->out.bytes + offset;
	memmove(at + header.used, at, d->out.used - offset);
	memcpy(at, header.bytes, header.used);
	d->out.used += header.used;
	ptrc_buffer_free(&header);
}

void ptrc_dump_event(struct ptrc_dump *d, struct ptrc_source *s)
{
	size_t offset = d->out.used;

	ptrc_dump_check_layout(d, s);
	if (d->sink.event) {
		d->sink.event(d->sink.self, s);
		return;
	}
	d->shown_count++;
	if (d->is_counting)
		return;
	ptrc_event_put(&d->out, &d->format, &s->labels, &s->view);
	if (__builtin_expect(d->last_count == UINT64_MAX, 1)) {
		put_header(d, offset);
		write_some(d);
		return;
	}
	if (d->last.count == d->last_count && d->last.count)
		ptrc_lines_drop(&d->last);
	if (d->last_count)
		ptrc_lines_add(&d->last, 0, &d->out);
	d->out.used = 0;
}

void ptrc_dump_lines(struct ptrc_dump *d, struct ptrc_lines *lines, int64_t since_ns)
{
	for (; lines->count; ptrc_lines_drop(lines)) {
		const struct ptrc_line *line = lines->first;

		if (line->ns < since_ns || d->shown_count >= d->first_count)
			continue;
		put_header(d, d->out.used);
		ptrc_buffer_bytes(&d->out, line->text, line->used);
		write_some(d);
		d->shown_count++;
	}
}

static int64_t resolve(const struct ptrc_when *w, const struct ptrc_span *trace)
{
	if (w->base == PTRC_WHEN_ABSOLUTE)
		return w->ns;
	return ptrc_when_add(w->base == PTRC_WHEN_FROM_BEGIN ? trace->first : trace->last, w->ns);
}

void ptrc_dump_resolve(struct ptrc_dump *d, const struct ptrc_span *trace)
{
	d->format.begin_ns = trace->first;
	d->select.span.first = resolve(&d->since, trace);
	d->select.span.last = resolve(&d->until, trace);
	for (size_t i = 0; i < d->select.where_count; i++)
		ptrc_where_resolve(d->select.wheres[i], trace->first, trace->last);
}

/* Whether a time of an option is relative to the begin, or to the end, of the trace. */
static bool has_base(const struct ptrc_dump *d, enum ptrc_when_base base)
{
	bool is_found = d->since.base == base || d->until.base == base;

	for (size_t i = 0; i < d->select.where_count; i++)
		is_found |= ptrc_where_has_base(d->select.wheres[i], base);
	return is_found;
}

static bool report(const struct ptrc_reader *r, int error)
{
	if (error)
		ptrc_cli_error(r->path, error);
	return !error;
}

static void extend(struct ptrc_span *trace, int64_t ns)
{
	if (ns < trace->first)
		trace->first = ns;
	if (ns > trace->last)
		trace->last = ns;
}

/* Finds the first event, and extends the span of the trace to it. */
static bool find_first(struct ptrc_source *s, struct ptrc_span *trace)
{
	if (ptrc_reader_next(&s->reader))
		extend(trace, ptrc_source_ns(s));
	return report(&s->reader, ptrc_reader_rewind(&s->reader));
}

/* Finds the last event, and extends the span of the trace to it. */
static bool find_last(struct ptrc_source *s, struct ptrc_span *trace)
{
	bool is_found = false, is_all = false;

	for (uint64_t count = 1; !is_found && !is_all; count *= 16) {
		int error = ptrc_reader_select_last(&s->reader, count, INT64_MAX, NULL, &is_all);

		if (error)
			return report(&s->reader, error);
		while (ptrc_reader_next(&s->reader)) {
			is_found = true;
			extend(trace, ptrc_source_ns(s));
		}
	}
	return report(&s->reader, ptrc_reader_select(&s->reader, NULL, 0, NULL));
}

/* Adds a window around each event that --around names. */
static bool find_windows(struct ptrc_dump *d, struct ptrc_source *s)
{
	struct ptrc_reader *r = &s->reader;
	struct posixtrace_counts counts;
	trace_event_set_t types;
	int error;

	ptrc_select_get_around(&d->select, &s->types, r, &types);
	error = ptrc_reader_select(r, NULL, 0, &types);
	while (!error && ptrc_reader_next(r)) {
		int64_t ns = ptrc_source_ns(s);

		if (ptrc_select_is_around(&d->select, &s->types, r, r->event.posix_event_id))
			ptrc_select_add_window(&d->select, ptrc_when_add(ns, -d->before_ns),
					       ptrc_when_add(ns, d->after_ns));
	}
	if (!posixtrace_get_counts(r->trace, &counts, sizeof(counts)))
		s->is_damaged |= counts.pt_damaged_gaps != 0;
	if (!error)
		error = ptrc_reader_select(r, NULL, 0, NULL);
	return report(r, error);
}

/* Lets the reader skip what is not to be shown. */
static bool select_wanted(struct ptrc_dump *d, struct ptrc_source *s)
{
	const struct ptrc_span *all = &d->select.span;
	trace_event_set_t types;
	bool is_by_type = ptrc_select_get_types(&d->select, &s->reader, &types);
	struct posixtrace_span *spans;
	size_t count = 0;
	int error;

	for (trace_event_id_t id = 1; d->sink.takes_losses && id < PTRC_READER_IDS; id++)
		if (ptrc_dump_sees_losses(id))
			posix_trace_eventset_add(id, &types);
	/* The end then tells of the damage again. */
	if (s->is_damaged || d->sink.takes_all)
		return report(&s->reader, ptrc_reader_select(&s->reader, NULL, 0, NULL));
	spans = ptrc_cli_allocate((d->select.window_count + 1) * sizeof(*spans));
	for (size_t i = 0; i < d->select.window_count; i++) {
		const struct ptrc_span *w = &d->select.windows[i];

		if (w->last >= all->first && w->first <= all->last)
			spans[count++] = ptrc_when_span(w->first, w->last);
	}
	if (!d->select.around && (all->first != INT64_MIN || all->last != INT64_MAX))
		spans[count++] = ptrc_when_span(all->first, all->last);
	/* Without a window there is nothing to be shown. */
	if (d->select.around && !count)
		spans[count++] = ptrc_when_span(INT64_MAX, INT64_MIN);
	error = ptrc_reader_select(&s->reader, spans, count, is_by_type ? &types : NULL);
	free(spans);
	return report(&s->reader, error);
}

bool ptrc_dump_scan(struct ptrc_dump *d)
{
	struct ptrc_span trace = {INT64_MAX, INT64_MIN};
	bool needs_trace = d->sink.needs_trace;
	bool is_last = needs_trace || has_base(d, PTRC_WHEN_FROM_END);
	bool is_first = needs_trace || d->format.is_relative || has_base(d, PTRC_WHEN_FROM_BEGIN);

	for (size_t i = 0; i < d->source_count; i++) {
		struct ptrc_source *s = &d->sources[i];

		if ((is_first && !find_first(s, &trace)) || (is_last && !find_last(s, &trace)) ||
		    (d->select.around && !find_windows(d, s)))
			return false;
	}
	d->trace = trace;
	ptrc_dump_resolve(d, &trace);
	ptrc_select_sort_windows(&d->select);
	for (size_t i = 0; i < d->source_count; i++)
		if (!select_wanted(d, &d->sources[i]))
			return false;
	return true;
}

/* Reads the source up to its next selected event. Returns false if there is none. */
static bool advance(struct ptrc_dump *d, struct ptrc_source *s)
{
	do {
		ptrc_source_skip(s, &d->sink, &s->reader.block);
		if (!ptrc_reader_next(&s->reader))
			return false;
	} while (!ptrc_dump_is_selected(d, s));
	return true;
}

static bool is_before(const struct ptrc_source *a, const struct ptrc_source *b)
{
	const struct timespec *t = &a->reader.event.posix_timestamp;
	const struct timespec *u = &b->reader.event.posix_timestamp;

	if (t->tv_sec != u->tv_sec)
		return t->tv_sec < u->tv_sec;
	if (t->tv_nsec != u->tv_nsec)
		return t->tv_nsec < u->tv_nsec;
	return a->order < b->order;
}

/* The heap holds the sources that have an event. */
PTRC_HEAP_DEFINE(heap, struct ptrc_source, is_before);

static bool has_no_end(const struct ptrc_source *s)
{
	struct ptrc_losses losses;

	ptrc_reader_losses(&s->reader, false, &losses);
	return losses.is_unclosed;
}

/* Whether the source comes in the order of times once more: with an event, or with its end, if it has none
 * that was written and the sink asks for that. */
static bool has_next(struct ptrc_dump *d, struct ptrc_source *s)
{
	if (s->is_over)
		return false;
	if (advance(d, s))
		return true;
	if (!d->sink.early_end || !has_no_end(s))
		return false;
	s->is_over = true;
	ptrc_reader_go_to_end(&s->reader);
	return true;
}

/* Has the sink, or the output, take what the source has come to. */
static void take(struct ptrc_dump *d, struct ptrc_source *s, bool is_last)
{
	if (s->is_over) {
		if (!is_last)
			d->sink.early_end(d->sink.self, s);
		return;
	}
	if (d->select.around && !ptrc_select_is_in_window(&d->select, ptrc_source_ns(s)))
		return;
	if (d->hosts.count > 1)
		ptrc_hosts_note(&d->hosts, s->order, &s->reader);
	ptrc_dump_event(d, s);
}

/* Shows what the sources have selected, merged. Returns whether all of that was read. */
static bool show(struct ptrc_dump *d)
{
	struct ptrc_source **heap =
		ptrc_cli_allocate(d->source_count * sizeof(struct ptrc_source *));
	size_t count = 0;

	ptrc_hosts_forget(&d->hosts);
	for (size_t i = 0; i < d->source_count; i++) {
		ptrc_source_make_sieve(&d->sources[i], d);
		if (has_next(d, &d->sources[i]))
			heap[count++] = &d->sources[i];
	}
	heap_build(heap, count);
	while (count && d->shown_count < d->first_count && !ptrc_dump_is_full(d)) {
		struct ptrc_source *s = heap[0];

		take(d, s, count == 1);
		if (has_next(d, s))
			heap_sift_down(heap, count, 0);
		else
			heap_pop(heap, count--);
	}
	free(heap);
	return !count;
}

/* Shows the last events: reads more and more of the logs, from their ends, until there are enough.
 * Returns false, after a message, if a log cannot be read. */
static bool show_last(struct ptrc_dump *d)
{
	/* A relative time needs the event before. */
	uint64_t wanted = (d->last_count ? d->last_count : 1) + d->format.is_relative;
	uint64_t count = wanted;
	bool is_all = false;

	while (!is_all && d->shown_count < wanted) {
		while (d->last.count)
			ptrc_lines_drop(&d->last);
		d->shown_count = 0;
		d->format.has_last = false;
		for (size_t i = 0; i < d->select.where_count; i++)
			*ptrc_where_undecided(d->select.wheres[i]) = 0;
		is_all = true;
		for (size_t i = 0; i < d->source_count; i++) {
			struct ptrc_source *s = &d->sources[i];
			trace_event_set_t types;
			bool is_by_type = ptrc_select_get_types(&d->select, &s->reader, &types);
			bool is_all_of_it;

			ptrc_view_forget_misfits(&s->view);
			if (!report(&s->reader, ptrc_reader_select_last(
							&s->reader, count, d->select.span.last,
							is_by_type ? &types : NULL, &is_all_of_it)))
				return false;
			is_all &= is_all_of_it;
		}
		show(d);
		count = count > UINT64_MAX / 4 ? UINT64_MAX : count * 4;
	}
	d->shown_count = 0;
	ptrc_dump_lines(d, &d->last, INT64_MIN);
	return true;
}

/* Adds the events of a log that --event and --user select, by what the log says of itself. Returns
 * false if it does not. */
static bool count_source(struct ptrc_dump *d, struct ptrc_source *s)
{
	static struct posixtrace_type_count totals[PTRC_READER_IDS];
	struct ptrc_reader *r = &s->reader;
	trace_event_set_t types;
	bool is_by_type = ptrc_select_get_types(&d->select, r, &types);

	if (posixtrace_get_log_totals(r->trace, totals, PTRC_READER_IDS))
		return false;
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++) {
		int is_member = 1;

		if (is_by_type)
			posix_trace_eventset_ismember(id, &types, &is_member);
		if (is_member)
			d->shown_count += totals[id].pt_events;
		r->read_count += totals[id].pt_events;
	}
	return true;
}

bool ptrc_dump_count(struct ptrc_dump *d)
{
	bool is_counted = d->is_counting && !d->is_verifying && !d->sink.event &&
			  !(d->is_strict && d->layouts.count) && ptrc_select_is_by_type(&d->select);

	for (size_t i = 0; i < d->source_count && is_counted; i++)
		is_counted = count_source(d, &d->sources[i]);
	if (is_counted)
		return true;
	d->shown_count = 0;
	for (size_t i = 0; i < d->source_count; i++)
		d->sources[i].reader.read_count = 0;
	return false;
}

/* Lets the sink have the last events: counts them, and reads them once more. Returns false, after a
 * message, if a log cannot be read again. */
static bool show_last_to_sink(struct ptrc_dump *d)
{
	d->is_rehearsal = true;
	show(d);
	d->sink.restart(d->sink.self);
	d->is_rehearsal = false;
	d->skip_count = d->shown_count > d->last_count ? d->shown_count - d->last_count : 0;
	d->shown_count = 0;
	for (size_t i = 0; i < d->select.where_count; i++)
		*ptrc_where_undecided(d->select.wheres[i]) = 0;
	for (size_t i = 0; i < d->source_count; i++) {
		ptrc_view_forget_misfits(&d->sources[i].view);
		d->sources[i].reader.read_count = 0;
		if (!select_wanted(d, &d->sources[i]))
			return false;
	}
	return show(d);
}

bool ptrc_dump_logs(struct ptrc_dump *d)
{
	if (d->last_count != UINT64_MAX && d->sink.restart)
		return show_last_to_sink(d);
	return d->last_count == UINT64_MAX || d->sink.event ? show(d) : show_last(d);
}

/* The number of events of which it could not be decided whether they are selected. */
static uint64_t undecided_count(const struct ptrc_dump *d)
{
	uint64_t count = 0;

	for (size_t i = 0; i < d->select.where_count; i++)
		count += *ptrc_where_undecided(d->select.wheres[i]);
	return count;
}

static void report_undecided(const struct ptrc_dump *d)
{
	for (size_t i = 0; i < d->select.where_count; i++) {
		uint64_t count = *ptrc_where_undecided(d->select.wheres[i]);

		if (count)
			ptrc_cli_message(
				"--where",
				"%llu event%s could not be decided, because a pattern would "
				"take too long: %s",
				(unsigned long long)count, count == 1 ? "" : "s",
				ptrc_where_text(d->select.wheres[i]));
	}
}

static void put_count(struct ptrc_dump *d)
{
	struct ptrc_json j = {&d->out, true};

	if (d->format.format == PTRC_FORMAT_JSON) {
		ptrc_json_open(&j, NULL, '{');
		ptrc_json_u64(&j, "count", d->shown_count);
		if (d->layouts.count)
			ptrc_misfits_json(&d->misfits, &j);
		if (d->select.where_count)
			ptrc_json_u64(&j, "undecided", undecided_count(d));
		ptrc_json_close(&j, '}');
	} else {
		ptrc_buffer_u64(&d->out, d->shown_count);
	}
	ptrc_buffer_char(&d->out, '\n');
}

void ptrc_dump_sources_json(const struct ptrc_dump *d, struct ptrc_json *j)
{
	ptrc_json_open(j, "logs", '[');
	for (size_t i = 0; i < d->source_count; i++) {
		const struct ptrc_reader *r = &d->sources[i].reader;

		ptrc_json_open(j, NULL, '{');
		ptrc_json_bytes(j, r->source ? "session" : "log", r->path, strlen(r->path));
		ptrc_json_u64(j, "read", r->read_count);
		ptrc_losses_json(&d->sources[i].losses, j);
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

static void put_summary(struct ptrc_dump *d, bool is_complete)
{
	const struct ptrc_misfit_types *misfits = &d->misfits;
	struct ptrc_json j = {&d->out, true};

	if (d->format.format == PTRC_FORMAT_TEXT) {
		ptrc_buffer_format(&d->out, "%llu %s%s", (unsigned long long)d->shown_count,
				   d->sink.noun ? d->sink.noun : "event",
				   d->shown_count == 1 ? "" : "s");
		ptrc_buffer_text(&d->out, is_complete ? ", complete" : ", data incomplete");
		if (misfits->count) {
			ptrc_buffer_text(&d->out, ", not fitting their layouts: ");
			ptrc_buffer_u64(&d->out, ptrc_misfits_count(misfits));
		}
		if (undecided_count(d)) {
			ptrc_buffer_text(&d->out, ", undecided: ");
			ptrc_buffer_u64(&d->out, undecided_count(d));
		}
		ptrc_buffer_char(&d->out, '\n');
		return;
	}
	ptrc_json_open(&j, NULL, '{');
	ptrc_json_open(&j, "summary", '{');
	ptrc_json_u64(&j, "version", 1);
	ptrc_json_u64(&j, "shown", d->shown_count);
	ptrc_json_bool(&j, "complete", is_complete);
	if (d->sink.summarize)
		d->sink.summarize(d->sink.self, &j);
	ptrc_misfits_json(misfits, &j);
	if (d->select.where_count)
		ptrc_json_u64(&j, "undecided", undecided_count(d));
	if (d->hosts.count)
		ptrc_hosts_json(&d->hosts, &j);
	ptrc_dump_sources_json(d, &j);
	ptrc_json_close(&j, '}');
	ptrc_json_close(&j, '}');
	ptrc_buffer_char(&d->out, '\n');
}

/* The next name of an event type of the sources, in any order; null behind the last one. *place
 * is 0 at first. */
static const struct ptrc_reader_name *next_name(const struct ptrc_dump *d, size_t *place)
{
	while (*place < d->source_count * PTRC_READER_IDS) {
		const struct ptrc_reader *r = &d->sources[*place / PTRC_READER_IDS].reader;
		const struct ptrc_reader_name *name = r->names[(*place)++ % PTRC_READER_IDS];

		if (name)
			return name;
	}
	return NULL;
}

/* Says that no event type has the name or matches the pattern. Of a name, lists similar ones. */
static void report_missing(const struct ptrc_dump *d, const char *pattern, bool is_name)
{
	const struct ptrc_reader_name *name;
	struct ptrc_nearest nearest = {0};
	char proposal[3 * TRACE_EVENT_NAME_MAX];

	for (size_t place = 0; is_name && (name = next_name(d, &place));)
		if (name->is_known)
			ptrc_nearest_offer(&nearest, pattern, name->text);
	ptrc_cli_message(pattern, "no event type has such a name%s",
			 ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
}

/* Returns whether the pattern matches an event type of a source. */
static bool has_match(const struct ptrc_dump *d, const char *pattern)
{
	const struct ptrc_reader_name *name;

	for (size_t place = 0; (name = next_name(d, &place));)
		if (ptrc_glob_matches(pattern, name->text))
			return true;
	return false;
}

/* The same. If it does not, says so. */
static bool check_pattern(const struct ptrc_dump *d, const char *pattern)
{
	if (has_match(d, pattern))
		return true;
	report_missing(d, pattern, !strpbrk(pattern, "*?[\\"));
	return false;
}

/* Says which names and patterns for names the expression has in vain. Returns false if it can
 * hold for no event because of them. */
static bool check_where(const struct ptrc_dump *d, struct ptrc_where *w)
{
	const struct ptrc_reader_name *name;
	const void *at = NULL;
	const char *missing;
	bool can_hold = false;
	bool is_missing = false;
	bool is_name;

	for (size_t place = 0; (name = next_name(d, &place));)
		can_hold |= ptrc_where_try_name(w, name->text, name->size);
	while ((missing = ptrc_where_next_missing(w, &at, &is_name))) {
		is_missing = true;
		report_missing(d, missing, is_name);
	}
	return can_hold || !is_missing;
}

/* Whether a source may have names of event types that it does not tell. */
static bool may_lack_names(const struct ptrc_dump *d)
{
	for (size_t i = 0; i < d->source_count; i++) {
		struct ptrc_losses losses;

		ptrc_reader_losses(&d->sources[i].reader, false, &losses);
		if (losses.is_unclosed || losses.missing_names || losses.refused_names)
			return true;
	}
	return d->session;
}

bool ptrc_dump_may_select(const struct ptrc_dump *d)
{
	bool has_any = !d->select.globs.count;

	for (size_t i = 0; i < d->select.globs.count; i++)
		has_any |= has_match(d, d->select.globs.texts[i]);
	if (d->select.around)
		has_any &= has_match(d, d->select.around);
	return has_any || may_lack_names(d);
}

/* Returns whether each pattern that selects events matches an event type, and each expression can
 * hold for one. */
static bool check_patterns(const struct ptrc_dump *d)
{
	bool is_found = true;

	for (size_t i = 0; i < d->select.globs.count; i++)
		is_found &= check_pattern(d, d->select.globs.texts[i]);
	if (d->select.around)
		is_found &= check_pattern(d, d->select.around);
	for (size_t i = 0; i < d->select.where_count; i++)
		is_found &= check_where(d, d->select.wheres[i]);
	/* The patterns of a configuration file are not checked: it may be for other logs, too. */
	for (size_t i = 0; i < d->given_layout_count; i++)
		check_pattern(d, ptrc_layout_pattern(d->layouts.layouts[i]));
	return is_found;
}

/* Whether an event has the number. Reads the logs once more, up to the first one that has. */
static bool has_number(struct ptrc_dump *d, pid_t number, bool is_thread)
{
	for (size_t i = 0; i < d->source_count; i++) {
		struct ptrc_reader *r = &d->sources[i].reader;

		if (ptrc_reader_select(r, NULL, 0, NULL))
			return true;
		while (ptrc_reader_next(r))
			if ((is_thread ? r->event.posix_tid : r->event.posix_pid) == number)
				return true;
	}
	return false;
}

/* Returns whether events have the processes or threads that select events. A session may get others yet. */
static bool check_numbers(struct ptrc_dump *d, const struct ptrc_select_numbers *n, bool is_thread)
{
	bool is_found = true;

	for (size_t i = 0; i < d->source_count; i++)
		if (d->session || d->sources[i].reader.source)
			return true;
	for (size_t i = 0; i < n->count; i++) {
		if (has_number(d, n->numbers[i], is_thread))
			continue;
		is_found = false;
		ptrc_cli_message(is_thread ? "--tid" : "--pid", "no event is of %s %d",
				 is_thread ? "thread" : "process", (int)n->numbers[i]);
	}
	return is_found;
}

bool ptrc_dump_finish(struct ptrc_dump *d, bool is_read)
{
	bool is_done = true;

	for (size_t i = 0; i < d->source_count; i++) {
		struct ptrc_source *s = &d->sources[i];

		ptrc_reader_losses(&s->reader, is_read, &s->losses);
		s->losses.unshown_events += d->unheld_count;
		if (d->is_verifying)
			is_done &= ptrc_reader_verify(&s->reader, &s->losses);
	}
	if (d->sink.finish)
		d->sink.finish(d->sink.self, is_read);
	for (size_t i = 0; i < d->source_count; i++)
		ptrc_misfits_add(&d->misfits, &d->sources[i].view);
	return is_done;
}

enum ptrc_exit ptrc_dump_tell(struct ptrc_dump *d, enum ptrc_exit status, bool is_read)
{
	bool is_complete = !undecided_count(d);
	/* Whether a name that is not found cannot be anywhere else. */
	bool has_all_names = !d->session || is_read;
	bool is_found;

	if (d->is_counting && !d->is_verifying && status == PTRC_EXIT_DONE)
		put_count(d);
	/* Standard output and standard error may be the same terminal, where the events have to
	 * come before the messages. */
	if (d->out.used)
		ptrc_output_write(&d->out);
	is_found = check_patterns(d);
	if (d->sink.tell)
		is_found &= d->sink.tell(d->sink.self);
	ptrc_misfits_report(&d->misfits);
	report_undecided(d);
	ptrc_hosts_report(&d->hosts);
	if (d->symbols)
		ptrc_symbols_report(d->symbols, true);
	for (size_t i = 0; i < d->source_count; i++) {
		const struct ptrc_losses *losses = &d->sources[i].losses;

		ptrc_losses_report(losses, d->sources[i].reader.path);
		if (losses->read_error)
			status = PTRC_EXIT_FAILED;
		else if (ptrc_losses_is_any(losses))
			is_complete = false;
		has_all_names &= !losses->is_unclosed && !losses->unreadable_events &&
				 !losses->missing_names && !losses->refused_names &&
				 !losses->is_unreadable_uncounted;
	}
	if (status == PTRC_EXIT_DONE) {
		is_found &= check_numbers(d, &d->select.pids, false);
		is_found &= check_numbers(d, &d->select.tids, true);
	}
	if (d->sink.end && !d->sink.end(d->sink.self))
		status = PTRC_EXIT_FAILED;
	if (d->has_summary)
		put_summary(d, is_complete && status == PTRC_EXIT_DONE);
	if (status == PTRC_EXIT_DONE &&
	    ((!is_complete && !d->is_loss_allowed) || (d->is_strict && d->misfits.count)))
		status = PTRC_EXIT_INCOMPLETE;
	return is_found || !has_all_names ? status : PTRC_EXIT_FAILED;
}

enum ptrc_exit ptrc_dump_end(struct ptrc_dump *d, enum ptrc_exit status, bool is_read)
{
	if (!ptrc_dump_finish(d, is_read))
		status = PTRC_EXIT_FAILED;
	return ptrc_dump_tell(d, status, is_read);
}
