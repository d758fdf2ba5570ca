/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/query.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/heap.h"
#include "lib/model/glob.h"
#include "src/base/json.h"
#include "src/base/nearest.h"
#include "src/base/output.h"
#include "src/base/scope.h"
#include "src/fields/json_text.h"

static bool has_field(const struct ptrc_query *q, enum ptrc_field_id id)
{
	struct ptrc_where *w;
	bool is_found = false;

	for (size_t i = 0; (w = ptrc_select_where(&q->select, i)); i++)
		is_found |= ptrc_where_has_field(w, id);
	return is_found;
}

void ptrc_source_begin(struct ptrc_source *s, struct ptrc_query *q, size_t order)
{
	struct ptrc_reader *r = &s->reader;

	ptrc_reader_load_names(r);
	s->view = (struct ptrc_view){.reader = r, .symbols = q->symbols};
	s->order = order;
	q->known = ptrc_period_all;
	s->known = &q->known;
	if (q->needs_gap || has_field(q, PTRC_FIELD_GAP))
		ptrc_reader_watch_threads(r);
	ptrc_view_take_layouts(&s->view, &q->layouts);
}

void ptrc_query_find_hosts(struct ptrc_query *q, bool is_for_log)
{
	PTRC_SCOPED struct ptrc_reader **readers = NULL;

	/* The times of a single log are not corrected, so its host is needed only for the errors of its times. */
	if (q->source_count < 2 && !q->needs_bound && !has_field(q, PTRC_FIELD_BOUND))
		return;
	readers = ptrc_cli_allocate(q->source_count * sizeof(struct ptrc_reader *));
	for (size_t i = 0; i < q->source_count; i++)
		readers[i] = &q->sources[i].reader;
	ptrc_hosts_begin(&q->hosts, readers, q->source_count, is_for_log);
}

void ptrc_source_free(struct ptrc_source *s)
{
	ptrc_reader_close(&s->reader);
	ptrc_view_free(&s->view);
	free(s->sieve);
	free(s->restarts.stops);
}

void ptrc_source_make_sieve(struct ptrc_source *s, const struct ptrc_query *q)
{
	free(s->sieve);
	s->sieve = NULL;
	/* A sieve, a filter on undecoded data (sieve.h), needs all layouts from the start, but a session adds
	 * layouts later. A sieve compares the times in the log, so these must not be corrected. */
	if (q->select.where_count && !ptrc_reader_is_moving(&s->reader) && !s->reader.source &&
	    !q->sink.takes_all)
		s->sieve = ptrc_sieve_make(q->select.wheres[0], &q->layouts);
}

static void find_layout(struct ptrc_query *q, struct ptrc_source *s)
{
	if (s->reader.source)
		ptrc_view_take_layout(&s->view, &q->layouts);
	if (q->layouts.count)
		ptrc_view_find_layout(&s->view, &q->layouts);
	s->view.is_counted =
		q->has_counted_around &&
		ptrc_select_is_around(&q->select, &s->reader, s->reader.event.posix_event_id);
}

bool ptrc_query_is_around(struct ptrc_query *q, struct ptrc_source *s)
{
	trace_event_id_t id = s->reader.event.posix_event_id;

	if (!q->select.around || !ptrc_select_is_around(&q->select, &s->reader, id))
		return false;
	if (!q->select.around_where)
		return true;
	find_layout(q, s);
	s->view.is_counted = false;
	q->has_counted_around = true;
	return ptrc_where_all_hold(&q->select.around_where, 1, &s->view);
}

bool ptrc_query_is_selected(struct ptrc_query *q, struct ptrc_source *s)
{
	bool is_of_loss = s->is_at_loss;

	find_layout(q, s);
	s->is_for_loss = !q->sink.takes_all && !ptrc_select_event(&q->select, &s->view);
	if (q->sink.takes_losses) {
		s->is_at_loss = ptrc_reader_is_loss_open(&s->reader);
		is_of_loss |= ptrc_reader_sees_losses(&s->reader, s->reader.event.posix_event_id);
	}
	return !s->is_for_loss || is_of_loss;
}

static int64_t resolve(const struct ptrc_when *w, const struct ptrc_period *trace)
{
	if (w->base == PTRC_WHEN_ABSOLUTE)
		return w->ns;
	return ptrc_when_add(w->base == PTRC_WHEN_FROM_BEGIN ? trace->first : trace->last, w->ns);
}

void ptrc_query_resolve(struct ptrc_query *q, const struct ptrc_period *trace)
{
	struct ptrc_where *w;

	q->trace = *trace;
	q->select.span.first = resolve(&q->since, trace);
	q->select.span.last = resolve(&q->until, trace);
	for (size_t i = 0; (w = ptrc_select_where(&q->select, i)); i++)
		ptrc_where_resolve(w, trace->first, trace->last);
}

/* Whether a time in an option is relative to this base, the start or the end of the trace. */
static bool has_base(const struct ptrc_query *q, enum ptrc_when_base base)
{
	bool is_found = q->since.base == base || q->until.base == base;
	struct ptrc_where *w;

	for (size_t i = 0; (w = ptrc_select_where(&q->select, i)); i++)
		is_found |= ptrc_where_has_base(w, base);
	return is_found;
}

static bool report(const struct ptrc_reader *r, int error)
{
	if (error)
		ptrc_cli_error(r->path, error);
	return !error;
}

/* Reads on up to the next event of one of these types. The reader may give events of other types, too. */
static bool read_next(struct ptrc_reader *r, const trace_event_set_t *types)
{
	bool is_found = false;

	while (!is_found && ptrc_reader_next(r))
		is_found = !types || ptrc_is_in_set(types, r->event.posix_event_id);
	return is_found;
}

/* Extends the period *trace so that it includes the first event of the source, of these types. Returns an error number
 * or 0, as do the next two functions. */
static int find_first(struct ptrc_source *s, const trace_event_set_t *types,
		      struct ptrc_period *trace)
{
	int error = types ? ptrc_reader_select(&s->reader, NULL, 0, types) : 0;

	if (error)
		return error;
	if (read_next(&s->reader, types))
		ptrc_period_widen(trace, ptrc_source_ns(s));
	return ptrc_reader_rewind(&s->reader);
}

/* Extends the period *trace so that it includes the last event of the source, of these types. */
static int find_last(struct ptrc_source *s, const trace_event_set_t *types,
		     struct ptrc_period *trace)
{
	int64_t from_ns = INT64_MAX;
	bool is_found = false;

	for (uint64_t count = 1; !is_found && from_ns != INT64_MIN; count *= 16) {
		int error = ptrc_reader_select_last(&s->reader, count, INT64_MAX, types, &from_ns);

		if (error)
			return error;
		while (read_next(&s->reader, types)) {
			is_found = true;
			ptrc_period_widen(trace, ptrc_source_ns(s));
		}
	}
	return ptrc_reader_select(&s->reader, NULL, 0, NULL);
}

int ptrc_query_find_period(struct ptrc_source *s, const trace_event_set_t *types,
			   struct ptrc_period *period)
{
	int error;

	*period = ptrc_period_none;
	error = find_first(s, types, period);
	return error ? error : find_last(s, types, period);
}

/* Adds a window for each event of the source that matches --around: a period around the event, whose events are
 * shown. */
static bool find_windows(struct ptrc_query *q, struct ptrc_source *s)
{
	struct ptrc_reader *r = &s->reader;
	struct ptrc_counts counts;
	trace_event_set_t types;
	int error;

	ptrc_select_get_around(&q->select, r, &types);
	error = ptrc_reader_select(r, NULL, 0, &types);
	while (!error && ptrc_reader_next(r)) {
		int64_t ns = ptrc_source_ns(s);

		if (ptrc_query_is_around(q, s))
			ptrc_select_add_window(&q->select, ptrc_when_add(ns, -q->before_ns),
					       ptrc_when_add(ns, q->after_ns));
	}
	if (!ptrc_trace_counts(r->trace, &counts))
		s->is_damaged |= counts.pt_damaged_gaps != 0;
	if (!error)
		error = ptrc_reader_select(r, NULL, 0, NULL);
	return report(r, error);
}

/* Finds the restarts of the log, which is read for that if its end does not say that there is none. They stay unknown if
 * the log may go on or has no beginning. */
static void find_restarts(struct ptrc_source *s)
{
	PTRC_SCOPED struct posixtrace_type_count *counts = NULL;
	struct ptrc_reader *r = &s->reader;
	struct ptrc_reader_stop stop = {0};
	trace_event_set_t types;

	s->restarts.count = 0;
	if (r->source || r->counts.pt_earlier_files)
		return;
	counts = ptrc_type_counts(r->trace);
	if (counts && (!counts[POSIX_TRACE_START].pt_events || !counts[POSIX_TRACE_STOP].pt_events))
		return;
	posix_trace_eventset_empty(&types);
	posix_trace_eventset_add(POSIX_TRACE_START, &types);
	posix_trace_eventset_add(POSIX_TRACE_STOP, &types);
	if (!ptrc_reader_select(r, NULL, 0, &types))
		while (ptrc_reader_next(r)) {
			if (ptrc_reader_is_restart(r, &stop))
				*ptrc_append(s->restarts.stops, s->restarts.count) = stop.number;
			ptrc_reader_take_stop(r, &stop);
		}
}

/* Excludes from q->known the time before the first event of the source if first files of its log are missing, and the
 * time after its last event if the log was not closed or processes went on. Returns an error number, or 0. */
static int find_known(struct ptrc_query *q, struct ptrc_source *s)
{
	bool is_late = s->reader.counts.pt_earlier_files;
	struct ptrc_period period;
	struct ptrc_losses losses;
	bool is_early;
	int error;

	ptrc_reader_losses(&s->reader, false, &losses);
	is_early = losses.is_unclosed || losses.has_gone_on;
	if (s->reader.source || (!is_late && !is_early))
		return 0;
	error = ptrc_query_find_period(s, NULL, &period);
	if (is_late && period.first > q->known.first)
		q->known.first = period.first;
	if (is_early && period.last < q->known.last)
		q->known.last = period.last;
	return error;
}

/* Selects the times and event types for the reader, so that it need not read other parts of the log. */
static bool select_wanted(struct ptrc_query *q, struct ptrc_source *s)
{
	const struct ptrc_period *all = &q->select.span;
	bool has_all_losses = q->sink.takes_losses && !q->select.around;
	trace_event_set_t types, marks;
	bool is_by_type = ptrc_select_get_types(&q->select, &s->reader, &types);
	PTRC_SCOPED struct posixtrace_span *spans = NULL;
	size_t count = 0;

	posix_trace_eventset_empty(&marks);
	for (trace_event_id_t id = 1; q->sink.takes_losses && id < PTRC_READER_IDS; id++)
		if ((ptrc_is_system_type(id) || s->reader.types[id]) &&
		    ptrc_reader_sees_losses(&s->reader, id)) {
			posix_trace_eventset_add(id, &types);
			posix_trace_eventset_add(id, &marks);
		}
	if (q->source_count > 1 && (q->sink.takes_all || has_all_losses))
		find_restarts(s);
	if (q->source_count > 1 && !report(&s->reader, find_known(q, s)))
		return false;
	/* If an earlier search met damage, reads the whole log, so that the losses include the damage. */
	if (s->is_damaged || q->sink.takes_all)
		return report(&s->reader, ptrc_reader_select(&s->reader, NULL, 0, NULL));
	spans = ptrc_cli_allocate((q->select.window_count + 1) * sizeof(*spans));
	for (size_t i = 0; i < q->select.window_count; i++) {
		const struct ptrc_period *w = &q->select.windows[i];

		if (w->last >= all->first && w->first <= all->last)
			spans[count++] = ptrc_when_span(w->first, w->last);
	}
	if (!q->select.around && (all->first != INT64_MIN || all->last != INT64_MAX))
		spans[count++] = ptrc_when_span(all->first, all->last);
	/* If --around has no window in the selected time, selects an empty span, because without any span the
	 * reader would give all events. */
	if (q->select.around && !count)
		spans[count++] = ptrc_when_span(INT64_MAX, INT64_MIN);
	return report(&s->reader, ptrc_reader_select_always(&s->reader, spans, count,
							    is_by_type ? &types : NULL,
							    has_all_losses ? &marks : NULL));
}

bool ptrc_query_scan(struct ptrc_query *q)
{
	struct ptrc_period trace = ptrc_period_none;
	bool needs_trace = q->sink.needs_trace;
	bool is_last = needs_trace || has_base(q, PTRC_WHEN_FROM_END);
	bool is_first = needs_trace || q->needs_first || has_base(q, PTRC_WHEN_FROM_BEGIN);

	for (size_t i = 0; i < q->source_count; i++) {
		struct ptrc_source *s = &q->sources[i];

		if (is_first && !report(&s->reader, find_first(s, NULL, &trace)))
			return false;
		if (is_last && !report(&s->reader, find_last(s, NULL, &trace)))
			return false;
	}
	ptrc_query_resolve(q, &trace);
	for (size_t i = 0; i < q->source_count && q->select.around; i++)
		if (!find_windows(q, &q->sources[i]))
			return false;
	ptrc_select_sort_windows(&q->select);
	for (size_t i = 0; i < q->source_count; i++)
		if (!select_wanted(q, &q->sources[i]))
			return false;
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

/* A heap of the sources that have a next event, with the earliest event first. */
PTRC_HEAP_DEFINE(heap, struct ptrc_source, is_before);

/* Reads the next selected event of the source. Returns false at the end of the source. But if the log was not
 * closed or processes went on, and the sink has .early_end, first sets is_over and returns true once more. */
static bool has_next(struct ptrc_query *q, struct ptrc_source *s)
{
	struct ptrc_losses losses;

	if (s->is_over)
		return false;
	ptrc_source_skip(s, &q->sink, &s->reader.block);
	while (ptrc_reader_next(&s->reader)) {
		if (ptrc_query_is_selected(q, s))
			return true;
		ptrc_source_skip(s, &q->sink, &s->reader.block);
	}
	if (!q->sink.early_end)
		return false;
	ptrc_reader_losses(&s->reader, false, &losses);
	if (!losses.is_unclosed && !losses.has_gone_on)
		return false;
	s->is_over = true;
	ptrc_reader_go_to_end(&s->reader);
	return true;
}

/* Gives the sink the latest event of the source. If the source is over, calls the sink's .early_end instead, unless no
 * other source has events left (is_last). */
static void take(struct ptrc_query *q, struct ptrc_source *s, bool is_last)
{
	if (s->is_over) {
		if (!is_last)
			q->sink.early_end(q->sink.self, s);
		return;
	}
	if (q->select.around && !q->sink.takes_all &&
	    !ptrc_select_meets_window(&q->select, ptrc_source_ns(s), ptrc_source_ns(s)))
		return;
	if (q->hosts.count > 1)
		ptrc_hosts_note(&q->hosts, s->order, &s->reader);
	ptrc_query_take(q, s);
}

/* Gives the sink the selected events of all sources, merged by time. Returns whether all sources were read to their
 * ends. */
static bool show(struct ptrc_query *q)
{
	PTRC_SCOPED struct ptrc_source **heap =
		ptrc_cli_allocate(q->source_count * sizeof(struct ptrc_source *));
	size_t count = 0;

	ptrc_hosts_forget(&q->hosts);
	for (size_t i = 0; i < q->source_count; i++) {
		q->sources[i].is_over = q->sources[i].is_at_loss = false;
		ptrc_source_make_sieve(&q->sources[i], q);
		if (has_next(q, &q->sources[i]))
			heap[count++] = &q->sources[i];
	}
	heap_build(heap, count);
	while (count && q->shown_count < q->first_count && !ptrc_query_is_full(q)) {
		struct ptrc_source *s = heap[0];

		take(q, s, count == 1);
		if (has_next(q, s))
			heap_sift_down(heap, count, 0);
		else
			heap_pop(heap, count--);
	}
	return !count;
}

/* Resets the counts of events, before the events are read again. */
static void forget_counts(struct ptrc_query *q)
{
	q->shown_count = 0;
	q->has_counted_around = false;
	for (size_t i = 0; i < q->select.where_count; i++)
		*ptrc_where_undecided(q->select.wheres[i]) = 0;
	for (size_t i = 0; i < q->source_count; i++)
		ptrc_misfits_forget(&q->sources[i].reader);
}

/* Gives the sink the last_count last events. This takes two passes, the first of which only counts events.
 * Returns what show() returns; or false, after a message, if a log cannot be read again. */
static bool show_last_to_sink(struct ptrc_query *q)
{
	q->is_rehearsal = true;
	show(q);
	q->sink.restart(q->sink.self);
	q->is_rehearsal = false;
	q->skip_count = q->shown_count > q->last_count ? q->shown_count - q->last_count : 0;
	forget_counts(q);
	for (size_t i = 0; i < q->source_count; i++) {
		q->sources[i].reader.read_count = 0;
		if (!select_wanted(q, &q->sources[i]))
			return false;
	}
	return show(q);
}

bool ptrc_query_select_last(struct ptrc_query *q, uint64_t count, int64_t *from_ns)
{
	forget_counts(q);
	*from_ns = INT64_MIN;
	for (size_t i = 0; i < q->source_count; i++) {
		struct ptrc_reader *r = &q->sources[i].reader;
		trace_event_set_t types;
		bool is_by_type = ptrc_select_get_types(&q->select, r, &types);
		int64_t from_of_log;

		if (!report(r, ptrc_reader_select_last(r, count, q->select.span.last,
						       is_by_type ? &types : NULL, &from_of_log)))
			return false;
		if (from_of_log > *from_ns)
			*from_ns = from_of_log;
	}
	return true;
}

bool ptrc_query_run(struct ptrc_query *q)
{
	return q->last_count != UINT64_MAX && q->sink.restart ? show_last_to_sink(q) : show(q);
}

uint64_t ptrc_query_undecided(const struct ptrc_query *q)
{
	struct ptrc_where *w;
	uint64_t count = 0;

	for (size_t i = 0; (w = ptrc_select_where(&q->select, i)); i++)
		count += *ptrc_where_undecided(w);
	return count;
}

void ptrc_query_report_undecided(const struct ptrc_query *q)
{
	struct ptrc_where *w;

	for (size_t i = 0; (w = ptrc_select_where(&q->select, i)); i++) {
		uint64_t count = *ptrc_where_undecided(w);

		if (count)
			ptrc_cli_message(
				w == q->select.around_where ? "--around" : "--where",
				"%llu event%s could not be decided, because a pattern would "
				"take too long: %s",
				(unsigned long long)count, count == 1 ? "" : "s",
				ptrc_where_text(w));
	}
}

void ptrc_query_sources_json(const struct ptrc_query *q, struct ptrc_json *j)
{
	ptrc_json_open(j, "logs", '[');
	for (size_t i = 0; i < q->source_count; i++) {
		const struct ptrc_reader *r = &q->sources[i].reader;

		ptrc_json_open(j, NULL, '{');
		ptrc_json_bytes(j, r->source ? "session" : "log", r->path, strlen(r->path));
		ptrc_json_u64(j, "read", q->sources[i].read_count);
		ptrc_losses_json(&q->sources[i].losses, j);
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

/* Iterates over the names of the sources' event types, in any order. *place is 0 for the first call. Returns NULL
 * after the last name. */
static const struct ptrc_reader_name *next_name(const struct ptrc_query *q, size_t *place)
{
	while (*place < q->source_count * PTRC_READER_IDS) {
		const struct ptrc_reader *r = &q->sources[*place / PTRC_READER_IDS].reader;
		const struct ptrc_type *type = r->types[(*place)++ % PTRC_READER_IDS];

		if (type)
			return &type->name;
	}
	return NULL;
}

bool ptrc_query_has_type(const struct ptrc_query *q, const char *name, struct ptrc_nearest *nearest)
{
	const struct ptrc_reader_name *known;

	for (size_t place = 0; (known = next_name(q, &place));) {
		if (!known->is_known)
			continue;
		if (!strcmp(known->text, name))
			return true;
		if (nearest)
			ptrc_nearest_offer(nearest, name, known->text);
	}
	return false;
}

static const char decode_hint[] = "; see --decode";

/* The size of a message without what it proposes, which depends on the names in a log. */
static size_t size_without_proposal(const char *text)
{
	const char *at = strstr(text, " (did you mean") ?: strstr(text, decode_hint);

	return at ? (size_t)(at - text) : strlen(text);
}

void ptrc_missing_note(struct ptrc_missing *m, const char *option, char *text)
{
	size_t size = size_without_proposal(text);

	for (size_t i = 0; i < m->count; i++) {
		struct ptrc_missing_name *n = &m->list[i];

		if (strcmp(n->option, option) || size_without_proposal(n->text) != size ||
		    strncmp(n->text, text, size))
			continue;
		n->source_count += n->source != m->source;
		n->source = m->source;
		free(text);
		return;
	}
	*ptrc_append(m->list, m->count) =
		(struct ptrc_missing_name){ptrc_cli_copy(option), text, m->source, 1};
}

bool ptrc_missing_has(const struct ptrc_missing *m, const char *option, size_t source_count)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].source_count >= source_count && !strcmp(m->list[i].option, option))
			return true;
	return false;
}

bool ptrc_missing_report(struct ptrc_missing *m, size_t source_count)
{
	bool is_any = false;

	for (size_t i = 0; i < m->count; i++) {
		const struct ptrc_missing_name *n = &m->list[i];

		if (n->source_count >= source_count)
			ptrc_cli_message(n->option, "%s", n->text);
		is_any |= n->source_count >= source_count;
		free(n->option);
		free(n->text);
	}
	free(m->list);
	*m = (struct ptrc_missing){0};
	return is_any;
}

/* Notes that no event type matches the pattern. If the pattern is a plain name (is_name), the note has names that are
 * similar. */
static void note_pattern(const struct ptrc_query *q, const char *pattern, bool is_name,
			 struct ptrc_missing *m)
{
	struct ptrc_nearest nearest = {0};
	char proposal[3 * TRACE_EVENT_NAME_MAX];

	if (is_name)
		ptrc_query_has_type(q, pattern, &nearest);
	ptrc_missing_note(m, pattern,
			  ptrc_cli_text("no event type has such a name%s",
					ptrc_nearest_text(&nearest, proposal, sizeof(proposal))));
}

bool ptrc_query_has_match(const struct ptrc_query *q, const char *pattern)
{
	const struct ptrc_reader_name *name;

	for (size_t place = 0; (name = next_name(q, &place));)
		if (ptrc_glob_matches(pattern, name->text))
			return true;
	return false;
}

void ptrc_query_take_layouts(struct ptrc_query *q, const char *pattern)
{
	for (size_t i = 0; i < q->source_count; i++) {
		struct ptrc_source *s = &q->sources[i];

		for (trace_event_id_t id = 0; id < PTRC_READER_IDS; id++) {
			const struct ptrc_type *type = s->reader.types[id];
			const struct ptrc_layout *layout =
				type && ptrc_glob_matches(pattern, type->name.text)
					? ptrc_view_layout(&s->view, &q->layouts, id)
					: NULL;

			if (layout)
				ptrc_layouts_take(&q->layouts, layout->number);
		}
	}
}

static void find_pattern(const struct ptrc_query *q, const char *pattern, struct ptrc_missing *m)
{
	if (!ptrc_query_has_match(q, pattern))
		note_pattern(q, pattern, !strpbrk(pattern, "*?[\\"), m);
}

/* Whether the expression may hold for an event whose name matches the pattern, or is any name if that is NULL. */
static bool may_hold(const struct ptrc_query *q, struct ptrc_where *w, const char *events)
{
	const struct ptrc_reader_name *name;
	bool is_found = false;

	for (size_t place = 0; (name = next_name(q, &place));)
		if (!events || ptrc_glob_matches(events, name->text))
			is_found |=
				ptrc_where_try_name(w, PTRC_FIELD_EVENT, name->text, name->size);
	return is_found;
}

/* If the expression can hold for no event because it has names or patterns that match no event type, notes these. */
static void find_where(const struct ptrc_query *q, struct ptrc_where *w, struct ptrc_missing *m)
{
	bool is_vain = !may_hold(q, w, NULL);
	const void *at = NULL;
	const char *missing;
	bool is_name;

	while (is_vain && (missing = ptrc_where_next_missing(w, PTRC_FIELD_EVENT, &at, &is_name)))
		note_pattern(q, missing, is_name, m);
}

void ptrc_query_find_vain_names(const struct ptrc_query *q, struct ptrc_where *w,
				const char *events, struct ptrc_cli_texts *vain)
{
	bool is_vain = !may_hold(q, w, events);
	const struct ptrc_reader_name *name;
	const void *at = NULL;
	const char *missing;
	bool is_name;

	while (is_vain && (missing = ptrc_where_next_missing(w, PTRC_FIELD_EVENT, &at, &is_name))) {
		struct ptrc_nearest nearest = {0};
		char proposal[3 * TRACE_EVENT_NAME_MAX];
		PTRC_SCOPED char *text = NULL;

		for (size_t place = 0; is_name && (name = next_name(q, &place));)
			if (name->is_known && ptrc_glob_matches(events, name->text))
				ptrc_nearest_offer(&nearest, missing, name->text);
		text = ptrc_cli_text("no event type that matches %s is called %s%s", events,
				     missing,
				     ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
		ptrc_cli_add_copy(vain, text);
	}
}

/* Whether a source may have event types whose names are unknown. */
static bool may_lack_names(const struct ptrc_query *q)
{
	for (size_t i = 0; i < q->source_count; i++) {
		struct ptrc_losses losses;

		ptrc_reader_losses(&q->sources[i].reader, false, &losses);
		if (losses.is_unclosed || losses.missing_names || losses.refused_names)
			return true;
	}
	return q->session;
}

bool ptrc_query_may_select(const struct ptrc_query *q)
{
	bool has_any = !q->select.globs.count;

	for (size_t i = 0; i < q->select.globs.count; i++)
		has_any |= ptrc_query_has_match(q, q->select.globs.texts[i]);
	if (q->select.around)
		has_any &= ptrc_query_has_match(q, q->select.around);
	return has_any || may_lack_names(q);
}

/* Notes the patterns of options that match no event type. A pattern of a configuration file may be for other logs, so
 * it is not looked for. */
static void find_patterns(const struct ptrc_query *q, struct ptrc_missing *m)
{
	struct ptrc_where *w;

	for (size_t i = 0; i < q->select.globs.count; i++)
		find_pattern(q, q->select.globs.texts[i], m);
	if (q->select.around)
		find_pattern(q, q->select.around, m);
	for (size_t i = 0; (w = ptrc_select_where(&q->select, i)); i++)
		find_where(q, w, m);
	for (size_t i = 0; i < q->given_layout_count; i++)
		find_pattern(q, q->layouts.layouts[i]->pattern, m);
}

/* Whether an event is of the process with this number; if is_thread, of the thread. Reads the logs again, up to the
 * first such event. */
static bool has_number(struct ptrc_query *q, pid_t number, bool is_thread)
{
	for (size_t i = 0; i < q->source_count; i++) {
		struct ptrc_reader *r = &q->sources[i].reader;

		if (ptrc_reader_select(r, NULL, 0, NULL))
			return true;
		while (ptrc_reader_next(r))
			if ((is_thread ? r->event.posix_tid : r->event.posix_pid) == number)
				return true;
	}
	return false;
}

/* Notes each number of the list that no event of the logs has as process number (is_thread: as thread number). A
 * session has none, because later events may have the number. */
static void find_numbers(struct ptrc_query *q, const struct ptrc_select_numbers *n, bool is_thread,
			 struct ptrc_missing *m)
{
	for (size_t i = 0; i < q->source_count; i++)
		if (q->session || q->sources[i].reader.source)
			return;
	for (size_t i = 0; i < n->count; i++)
		if (!has_number(q, n->numbers[i], is_thread))
			ptrc_missing_note(m, is_thread ? "--tid" : "--pid",
					  ptrc_cli_text("no event is of %s %d",
							is_thread ? "thread" : "process",
							(int)n->numbers[i]));
}

/* The most names of members that are kept for proposals. */
enum { KEYS_MAX = 64 };

static void add_key(struct ptrc_cli_texts *keys, const char *prefix, const char *key, int size)
{
	PTRC_SCOPED char *name = ptrc_cli_text("%s%.*s", prefix, size, key);

	if (keys->count < KEYS_MAX)
		ptrc_cli_add_copy(keys, name);
}

/* Adds the keys of a JSON object. The name of a field is the prefix and then a key. */
static void add_keys(struct ptrc_cli_texts *keys, const char *prefix, const struct ptrc_value *v)
{
	struct ptrc_json_text_member m;
	const char *at = v->bytes;

	while (v->kind == PTRC_VALUE_JSON &&
	       ptrc_json_text_next_member(&at, v->bytes + v->size, &m))
		add_key(keys, prefix, m.name + 1, (int)m.name_size - 2);
}

/* Whether the latest event of the source has the field, or may have had it before its data was cut. Adds the keys of
 * the JSON data in which the field was looked for to *keys. */
static bool has_member(struct ptrc_query *q, struct ptrc_source *s, const struct ptrc_field *f,
		       struct ptrc_cli_texts *keys)
{
	char prefix[sizeof("data..") + PTRC_FIELD_TEXT_MAX];
	const struct ptrc_value *json;
	struct ptrc_value v;
	int name = ptrc_field_number(f, &q->layouts);

	find_layout(q, s);
	if (!s->view.layout)
		return false;
	ptrc_view_get(&s->view, f, &v);
	json = ptrc_layout_value(s->view.layout, ptrc_view_decode(&s->view), name);
	snprintf(prefix, sizeof(prefix), "data.%.*s.", f->path, f->text);
	if (!json) {
		json = ptrc_layout_whole(s->view.layout, &s->view.decoded);
		strcpy(prefix, "data.");
	}
	if (json)
		add_keys(keys, prefix, json);
	return v.kind != PTRC_VALUE_NONE ||
	       (ptrc_view_is_cut(&s->view) && ptrc_view_has_lost(&s->view, f));
}

/* Whether the field may be a member of JSON data: of data that is one JSON text, or of a field of type json. */
static bool is_in_json(const struct ptrc_query *q, const struct ptrc_field *f)
{
	if (f->id != PTRC_FIELD_MEMBER)
		return false;
	return f->name == PTRC_FIELD_OF_JSON ||
	       (f->text[f->path] &&
		(q->layouts.has_json ||
		 ptrc_layouts_uses(&q->layouts, ptrc_field_number(f, &q->layouts)).is_json));
}

char *ptrc_query_missing_member(struct ptrc_query *q, const struct ptrc_field *f,
				const char *events)
{
	const char *event = f->is_of_begin ? NULL : events;
	struct ptrc_field field = *f;
	struct ptrc_nearest nearest = {0};
	struct ptrc_cli_texts keys = {0};
	bool is_found = q->session || f->id != PTRC_FIELD_MEMBER || (!event && !is_in_json(q, f));
	bool has_event = !event;
	char name[sizeof("data.") + PTRC_FIELD_TEXT_MAX];
	char proposal[200];

	field.is_of_begin = false;
	for (size_t i = 0; i < q->source_count && !is_found; i++) {
		struct ptrc_source *s = &q->sources[i];
		trace_event_set_t types;

		posix_trace_eventset_empty(&types);
		for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++)
			if (event &&
			    ptrc_glob_matches(event, ptrc_reader_name(&s->reader, id)->text))
				posix_trace_eventset_add(id, &types);
		is_found = s->reader.source ||
			   ptrc_reader_select(&s->reader, NULL, 0, event ? &types : NULL);
		while (!is_found && ptrc_reader_next(&s->reader)) {
			trace_event_id_t id = s->reader.event.posix_event_id;

			/* The reader may give events of other types, too. */
			if (event &&
			    !ptrc_glob_matches(event, ptrc_reader_name(&s->reader, id)->text))
				continue;
			has_event = true;
			is_found = has_member(q, s, &field, &keys);
		}
	}
	for (size_t i = 0; i < q->layouts.name_count && !is_found; i++)
		if (f->name == PTRC_FIELD_OF_JSON && *q->layouts.names[i])
			add_key(&keys, "data.", q->layouts.names[i], INT_MAX);
	snprintf(name, sizeof(name), "data.%s", f->text);
	for (size_t i = 0; i < keys.count && !is_found; i++)
		ptrc_nearest_offer(&nearest, name, keys.texts[i]);
	ptrc_nearest_text(&nearest, proposal, sizeof(proposal));
	if (!*proposal && !event && !q->layouts.has_json)
		strcpy(proposal, decode_hint);
	ptrc_cli_free_copies(&keys);
	if (is_found || !has_event)
		return NULL;
	return ptrc_cli_text("no event%s%s has %s%s", event ? " " : "", event ? event : "", name,
			     proposal);
}

/* Notes the fields that are members of JSON data and that no event has: those of --fields, and those because of which
 * an expression can hold for no event. */
static void find_members(struct ptrc_query *q, struct ptrc_missing *m)
{
	struct ptrc_where *w;

	for (size_t i = 0; (w = ptrc_select_where(&q->select, i)); i++) {
		bool is_around = w == q->select.around_where;
		const char *event = q->select.globs.count == 1 ? *q->select.globs.texts : NULL;
		struct ptrc_cli_texts vain = {0};

		ptrc_where_find_vain(w, ptrc_query_missing_member, q,
				     is_around ? q->select.around : event, &vain);
		for (size_t k = 0; k < vain.count; k++)
			ptrc_missing_note(m, is_around ? "--around" : "--where",
					  ptrc_cli_copy(vain.texts[k]));
		ptrc_cli_free_copies(&vain);
	}
	for (size_t i = 0; i < q->sink.field_count; i++) {
		char *text = ptrc_query_missing_member(q, &q->sink.fields[i], NULL);

		if (text)
			ptrc_missing_note(m, "--fields", text);
	}
}

static void find_what_events_have(struct ptrc_query *q, struct ptrc_missing *m)
{
	find_numbers(q, &q->select.pids, false, m);
	find_numbers(q, &q->select.tids, true, m);
	find_members(q, m);
}

void ptrc_query_find_missing(struct ptrc_query *q, struct ptrc_missing *m)
{
	m->source++;
	find_patterns(q, m);
	find_what_events_have(q, m);
}

bool ptrc_query_lacks_nothing(const struct ptrc_query *q)
{
	bool is_whole = !ptrc_query_undecided(q);

	for (size_t i = 0; i < q->source_count; i++)
		is_whole &= !ptrc_losses_is_any(&q->sources[i].losses);
	return is_whole;
}

bool ptrc_query_finish(struct ptrc_query *q, bool is_read)
{
	bool is_done = true;

	for (size_t i = 0; i < q->source_count; i++) {
		struct ptrc_source *s = &q->sources[i];

		s->read_count = s->reader.read_count;
		ptrc_reader_losses(&s->reader, is_read, &s->losses);
		s->losses.unshown_events += q->unheld_count;
		if (!q->is_verifying)
			continue;
		q->shown_count -= ptrc_losses_stand_ins(s->reader.trace);
		is_done &= ptrc_reader_verify(&s->reader, &s->losses);
	}
	if (q->sink.finish)
		q->sink.finish(q->sink.self, is_read);
	for (size_t i = 0; i < q->source_count; i++)
		ptrc_misfits_take(&q->misfits, &q->sources[i].reader);
	return is_done;
}

enum ptrc_exit ptrc_query_tell(struct ptrc_query *q, enum ptrc_exit status, bool is_read)
{
	bool is_complete = ptrc_query_lacks_nothing(q);
	/* Whether the names of all event types are known. A session that was not read to its end may still add
	 * names. */
	bool has_all_names = !q->session || is_read;
	struct ptrc_missing missing = {0};
	bool is_found;

	/* Writes the events first: standard output and standard error may be the same terminal, where the messages
	 * shall follow them. */
	if (q->out.used)
		ptrc_output_write(&q->out);
	find_patterns(q, &missing);
	is_found = !ptrc_missing_report(&missing, 1);
	if (q->sink.tell)
		is_found &= q->sink.tell(q->sink.self);
	ptrc_misfits_report(&q->misfits);
	ptrc_query_report_undecided(q);
	ptrc_hosts_report(&q->hosts);
	if (q->symbols)
		ptrc_symbols_report(q->symbols, true);
	for (size_t i = 0; i < q->source_count; i++) {
		const struct ptrc_losses *losses = &q->sources[i].losses;

		ptrc_losses_report(losses, q->sources[i].reader.path);
		if (losses->read_error)
			status = PTRC_EXIT_FAILED;
		has_all_names &= !losses->is_unclosed && !losses->unreadable_events &&
				 !losses->missing_names && !losses->refused_names &&
				 !losses->is_unreadable_uncounted;
	}
	if (status == PTRC_EXIT_DONE) {
		find_what_events_have(q, &missing);
		is_found &= !ptrc_missing_report(&missing, 1);
	}
	if (q->sink.end && !q->sink.end(q->sink.self))
		status = PTRC_EXIT_FAILED;
	q->is_complete = is_complete && status == PTRC_EXIT_DONE;
	if (status == PTRC_EXIT_DONE &&
	    ((!is_complete && !q->is_loss_allowed) || (q->is_strict && q->misfits.count)))
		status = PTRC_EXIT_INCOMPLETE;
	return is_found || !has_all_names ? status : PTRC_EXIT_FAILED;
}

enum ptrc_exit ptrc_query_end(struct ptrc_query *q, enum ptrc_exit status, bool is_read)
{
	if (!ptrc_query_finish(q, is_read))
		status = PTRC_EXIT_FAILED;
	return ptrc_query_tell(q, status, is_read);
}
