/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/export/export.h"

#include <stdlib.h>
#include <string.h>

#include "lib/model/glob.h"
#include "src/base/output.h"
#include "src/base/scope.h"
#include "src/spans/function.h"
#include "src/spans/pair_report.h"
#include "src/session/logfile.h"
#include "src/fields/when.h"

/* Event types that ptrace-run --os records. */
#define SWITCH_IN "os.switch_in"
#define SWITCH_OUT "os.switch_out"
#define SAMPLE "os.sample"
#define EXIT "os.exit"

/* Called after the text of a name was changed: makes the JSON string of the name, and drops the number that a
 * format gave to the old name. */
static void end_name(struct ptrc_export_name *name)
{
	name->json.used = 0;
	ptrc_text_json(&name->json, name->text.bytes, name->text.used);
	name->number = 0;
}

static void free_name(struct ptrc_export_name *name)
{
	ptrc_buffer_free(&name->text);
	ptrc_buffer_free(&name->json);
}

/* ---- selection ---- */

/* Makes a single event the first event of its own pair, so that expressions about pairs can be evaluated for
 * it. */
static struct ptrc_view *single(struct ptrc_view *view)
{
	view->begin = view;
	view->pair = NULL;
	view->duration_ns = 0;
	return view;
}

static bool is_near(const struct ptrc_export *x, int64_t first_ns, int64_t last_ns)
{
	const struct ptrc_select *select = &x->query->select;

	return !select->around || ptrc_select_meets_window(select, first_ns, last_ns);
}

/* ---- pairs ---- */

static struct ptrc_export_pair *info_of(struct ptrc_export *x, size_t pair)
{
	while (pair >= x->pair_info_count) {
		struct ptrc_export_pair *info = ptrc_append(x->pair_infos, x->pair_info_count);
		const struct ptrc_pair *p = &x->pairs->list[x->pair_info_count - 1];

		*info = (struct ptrc_export_pair){0};
		ptrc_buffer_text(&info->name.text, p->name);
		end_name(&info->name);
		if (!ptrc_waits_find_kind(p, &info->wait))
			info->wait = PTRC_WAITS_KINDS;
	}
	return &x->pair_infos[pair];
}

static void free_pair_infos(struct ptrc_export *x)
{
	for (size_t i = 0; i < x->pair_info_count; i++)
		free_name(&x->pair_infos[i].name);
	free(x->pair_infos);
	x->pair_infos = NULL;
	x->pair_info_count = 0;
}

static bool is_state(const struct ptrc_export *x, size_t pair)
{
	return pair == x->running_pair || pair == x->waiting_pair;
}

/* Whether the latest event, which starts or ends a pair, is selected. If so, the pair is a frame of a flame graph. */
static bool is_flame(struct ptrc_export *x)
{
	struct ptrc_select *select = &x->query->select;
	struct ptrc_period span = select->span;
	bool is_selected;

	/* The selected time is ignored here, because the format itself clips frames to it. */
	select->span = (struct ptrc_period){INT64_MIN, INT64_MAX};
	is_selected = ptrc_select_event(select, &x->source->view);
	select->span = span;
	return is_selected;
}

/* Stores in x->own_name the name that this one pair has, if the pair is a function or a program, or has a label
 * (--label-by). Returns false if there is none: the pair then has the name that all pairs of its definition share. */
static bool name_by_itself(struct ptrc_export *x, const struct ptrc_pair *pair,
			   struct ptrc_view *view)
{
	x->own_name.text.used = 0;
	if (ptrc_pair_has_own_name(pair))
		ptrc_pair_put_own_name(&x->own_name.text, pair, &x->query->layouts, view);
	else if (!ptrc_pair_put_labelled_name(&x->own_name.text, x->pairs, pair, view))
		return false;
	end_name(&x->own_name);
	return true;
}

/* The innermost open span of the lane. NULL if there is none, or if events were lost since that span started: its end
 * may be among them, and so may the ends of the spans around it. Valid only while events are read: at the end of the
 * events, open spans are freed. */
static const struct ptrc_export_span *innermost(const struct ptrc_lane *lane)
{
	const struct ptrc_span *s = lane->latest;

	return s && *s->gaps == s->gap_count ? (const struct ptrc_export_span *)s : NULL;
}

static void number_span(struct ptrc_export *x, struct ptrc_span *s)
{
	struct ptrc_export_span *own = (struct ptrc_export_span *)s;
	const struct ptrc_export_span *outer = innermost(s->lane);

	own->number = ++x->span_count;
	own->outer = outer ? outer->number : 0;
	own->root = outer ? outer->root : own->number;
}

/* Returns the thread's innermost open wait whose end cannot have been lost; NULL if there is none. */
static const struct ptrc_span *wait_around(struct ptrc_export *x, const struct ptrc_lane *lane)
{
	const struct ptrc_span *s = lane->latest;

	while (s && (info_of(x, s->pair)->wait == PTRC_WAITS_KINDS || *s->gaps != s->gap_count))
		s = s->outer;
	return s;
}

/* If the span that starts is a wait, or the state of a thread that is off its processor, stores the kind of the wait
 * around it. A wait that the thread has left by longjmp() stays open without an end. So once a later wait has
 * started or ended, the earlier one is not taken as the reason why the thread is off its processor. */
static void find_wait(struct ptrc_export *x, struct ptrc_span *s)
{
	struct ptrc_export_lane *lane = (struct ptrc_export_lane *)s->lane;
	struct ptrc_export_span *own = (struct ptrc_export_span *)s;
	bool is_wait = info_of(x, s->pair)->wait != PTRC_WAITS_KINDS;
	const struct ptrc_span *around;

	own->wait = PTRC_WAITS_KINDS;
	if (!is_wait && s->pair != x->waiting_pair)
		return;
	around = wait_around(x, s->lane);
	if (around && (is_wait || around == lane->latest_wait))
		own->wait = info_of(x, around->pair)->wait;
	if (is_wait)
		lane->latest_wait = s;
}

static bool is_preempted(struct ptrc_export *x, struct ptrc_view *view)
{
	const struct ptrc_value *v = ptrc_view_member(view, &x->query->layouts, "preempted");

	return v && v->kind >= PTRC_VALUE_SIGNED && v->kind <= PTRC_VALUE_BOOL && v->u;
}

static void begin_state(struct ptrc_export *x, struct ptrc_span *s)
{
	struct ptrc_export_lane *lane = (struct ptrc_export_lane *)s->lane;

	lane->latest_state = s;
	if (s->pair != x->waiting_pair)
		return;
	/* After os.exit, a thread may be preempted, and later runs again to finish its exit. The first time that it
	 * leaves its processor without being preempted is the last time. */
	((struct ptrc_export_span *)s)->is_after_exit = lane->has_ended;
	lane->has_ended = lane->has_ended && is_preempted(x, &x->source->view);
}

static void begin_span(void *self, struct ptrc_span *s)
{
	struct ptrc_export *x = self;
	const struct ptrc_pair *pair = &x->pairs->list[s->pair];

	s->lane = &ptrc_export_lane(x)->lane;
	((struct ptrc_export_span *)s)->place = x->query->shown_count;
	x->is_in_pair = true;
	if (is_state(x, s->pair))
		begin_state(x, s);
	else
		number_span(x, s);
	find_wait(x, s);
	if (pair->by_text && !(x->format->push && pair->is_own_key)) {
		x->unnested_count += x->format->push && !x->has_samples && is_flame(x);
		return;
	}
	if (is_state(x, s->pair) || (x->format->push && (x->has_samples || !is_flame(x))))
		return;
	ptrc_span_nest(&x->pairs->spans, s);
	if (x->format->push)
		x->format->push(x, s,
				name_by_itself(x, pair, &x->source->view)
					? &x->own_name.text
					: &info_of(x, s->pair)->name.text);
}

static struct ptrc_export_name *state_name(struct ptrc_export *x, const struct ptrc_slice *s)
{
	enum ptrc_waits_kind wait = s->span->wait;
	size_t state = s->span->span.pair == x->running_pair ? PTRC_STATE_RUNNING
		       : is_preempted(x, s->begin)	     ? PTRC_STATE_PREEMPTED
		       : wait != PTRC_WAITS_KINDS	     ? PTRC_STATE_WAITING + 1 + wait
							     : PTRC_STATE_WAITING;

	return &x->state_names[state];
}

static void put_slice(struct ptrc_export *x, const struct ptrc_span *span,
		      enum ptrc_slice_kind kind)
{
	struct ptrc_export_lane *lane = (struct ptrc_export_lane *)span->lane;
	enum ptrc_waits_kind wait = info_of(x, span->pair)->wait;
	struct ptrc_slice s = {
		.kind = kind,
		.number = ++x->slice_count,
		.span = (const struct ptrc_export_span *)span,
		.name = &info_of(x, span->pair)->name,
		.lane = lane,
		.end_lane = span->end ? ptrc_export_lane(x) : lane,
		.begin_ns = ptrc_export_since_start(x, span->ns),
		.end_ns = x->now_ns,
		.begin = span->begin_view,
		.end = span->end_view,
		.is_cut = span->fate == PTRC_SPAN_CUT,
	};

	if (kind == PTRC_SLICE_STATE)
		s.name = state_name(x, &s);
	else if (name_by_itself(x, &x->pairs->list[span->pair], s.begin))
		s.name = &x->own_name;
	if (kind == PTRC_SLICE_NESTED && x->running_pair == SIZE_MAX && wait != PTRC_WAITS_KINDS &&
	    s.span->wait == PTRC_WAITS_KINDS && !s.is_cut)
		s.wait_state = &x->state_names[PTRC_STATE_WAITING + 1 + wait];
	x->format->slice(x, &s);
}

/* Shows an event of a pair by itself, because the other event is missing. */
static void put_half(struct ptrc_export *x, const struct ptrc_span *s)
{
	bool has_begin = s->begin.source;
	struct ptrc_view *view = has_begin ? s->begin_view : s->end_view;
	struct ptrc_export_lane *lane =
		has_begin ? (struct ptrc_export_lane *)s->lane : ptrc_export_lane(x);
	struct ptrc_export_event e = {
		.lane = lane,
		.ns = has_begin ? ptrc_export_since_start(x, s->ns) : x->now_ns,
		.type = ptrc_reader_type(view->reader, view->reader->event.posix_event_id)->of_sink,
		.view = view,
		.missing = has_begin ? "end" : "begin",
		.span = has_begin ? (const struct ptrc_export_span *)s : innermost(&lane->lane),
	};

	if (x->format->event)
		x->format->event(x, &e);
}

/* Whether the span is a state of a thread, and the thread has had another switch of the processor
 * since the span started. Then the end of the state is missing, and the span's last event belongs
 * to another state. */
static bool is_stale(const struct ptrc_export *x, const struct ptrc_span *s)
{
	return is_state(x, s->pair) &&
	       ((const struct ptrc_export_lane *)s->lane)->latest_state != s;
}

/* Whether the only known event of a pair is selected by its own name and by the expressions, and is not later than the
 * selected time. (The end event of a complete pair may be later.) */
static bool is_half_selected(struct ptrc_export *x, struct ptrc_view *view)
{
	const struct ptrc_select *select = &x->query->select;
	trace_event_id_t id = view->reader->event.posix_event_id;

	return ptrc_when_ns(&view->reader->event.posix_timestamp) <= select->span.last &&
	       ptrc_select_has_name(select, ptrc_reader_name(view->reader, id)->text) &&
	       ptrc_where_all_hold(select->wheres, select->where_count, single(view));
}

/* Called for a span without an end: whether it started before the events and pairs of --last. That it has no end is known
 * only when the logs have been read, but the span counts at the place of its first event. */
static bool is_early(struct ptrc_export *x, const struct ptrc_span *s)
{
	if (x->query->is_rehearsal)
		*ptrc_append(x->open_places, x->open_place_count) =
			((const struct ptrc_export_span *)s)->place;
	if (!x->early_count)
		return false;
	x->early_count--;
	return true;
}

/* Shows a pair, or the only known event of a pair. */
static void show(struct ptrc_export *x, struct ptrc_span *s, enum ptrc_slice_kind kind)
{
	bool has_begin = s->begin.source;

	/* A state without a first event started before the trace did, and is not shown. A thread that has ended has
	 * no state. */
	if (kind == PTRC_SLICE_STATE &&
	    (!has_begin || ((const struct ptrc_export_span *)s)->is_after_exit))
		return;
	if (!ptrc_pairs_select(x->pairs, s))
		return;
	if (!(has_begin && s->end) && !is_half_selected(x, has_begin ? s->begin_view : s->end_view))
		return;
	if (kind != PTRC_SLICE_STATE)
		ptrc_pairs_count_half(x->pairs, s);
	if ((!s->end && is_early(x, s)) || !ptrc_query_is_due(x->query))
		return;
	if (has_begin && (s->end || s->fate != PTRC_SPAN_CUT) && !is_stale(x, s))
		put_slice(x, s, kind);
	else
		put_half(x, s);
}

static void take(void *self, struct ptrc_span *s)
{
	struct ptrc_export *x = self;
	enum ptrc_slice_kind kind = is_state(x, s->pair) ? PTRC_SLICE_STATE
				    : s->is_nested	 ? PTRC_SLICE_NESTED
							 : PTRC_SLICE_ASYNC;

	x->is_in_pair |= s->end != NULL;
	if (s->begin.source && s->end && info_of(x, s->pair)->wait != PTRC_WAITS_KINDS)
		((struct ptrc_export_lane *)s->lane)->latest_wait = NULL;
	if (s->number && s->end) {
		x->overlap_count += x->format->push && !s->is_nested;
		if (x->format->pop)
			x->format->pop(x, s);
		ptrc_span_leave(s);
	}
	if (x->format->slice)
		show(x, s, kind);
	else if (x->format->push && !x->has_samples &&
		 (s->begin.source ? s->number > 0 : is_flame(x)))
		ptrc_pairs_count_half(x->pairs, s);
}

/* ---- losses ---- */

/* Ends the loss at the time of the latest event. A loss may concern any event, so it is exported whatever
 * events are selected, if it overlaps the selected time. */
static void end_loss(struct ptrc_export *x, struct ptrc_export_loss *l)
{
	const struct ptrc_period *span = &x->query->select.span;
	int64_t first = ptrc_when_add(ptrc_export_start_ns(x), (int64_t)l->begin_ns);
	int64_t last = ptrc_when_add(ptrc_export_start_ns(x), (int64_t)x->now_ns);

	l->end_ns = x->now_ns;
	if (x->format->cut)
		x->format->cut(x, l->source, l->begin_ns);
	if (x->format->loss && !x->query->is_rehearsal && first <= span->last &&
	    last >= span->first && is_near(x, first, last))
		x->format->loss(x, l);
}

/* Ends the loss that was going on before the latest event. If the trace was restarted before this event, cuts the open
 * pairs. If this event reports a loss, starts a new one. */
static void look_for_loss(struct ptrc_export *x, struct ptrc_export_loss *l)
{
	struct ptrc_reader *r = &x->source->reader;

	if (l->source)
		end_loss(x, l);
	l->source = NULL;
	if (x->format->cut && ptrc_pairs_is_restart(x->pairs, x->source))
		x->format->cut(
			x, x->source,
			ptrc_export_since_start(x, x->pairs->sources[x->source->order]->stop.ns));
	if (!ptrc_reader_is_loss_open(r))
		return;
	*l = (struct ptrc_export_loss){
		.source = x->source,
		.begin_ns = x->now_ns,
		.is_counted = ptrc_reader_is_at_damage(r) && !r->gap.is_uncounted,
		.events = r->gap.events,
	};
}

/* ---- counters ---- */

static void find_counters(const struct ptrc_export *x, struct ptrc_export_type *t,
			  const struct ptrc_layout *layout, const struct ptrc_reader_name *name)
{
	const char *glob = x->options.counters;
	const struct ptrc_layout_field *f;

	for (size_t i = 0; (f = ptrc_layout_field(layout, i)); i++) {
		struct ptrc_export_counter c = {.field = i};
		bool is_number =
			f->kind <= PTRC_LAYOUT_FLOAT && !f->count && *f->name && !f->member_count;

		if (!is_number || (!glob && !f->unit))
			continue;
		ptrc_buffer_format(&c.name.text, "%s.%s", name->text, f->name);
		if (glob && !ptrc_glob_matches(glob, c.name.text.bytes)) {
			free_name(&c.name);
			continue;
		}
		end_name(&c.name);
		*ptrc_append(t->counters, t->counter_count) = c;
	}
}

static void put_counters(struct ptrc_export *x, struct ptrc_export_type *t, struct ptrc_view *view)
{
	const struct ptrc_decoded *decoded = ptrc_view_decode(view);

	x->has_counter |= t->counter_count != 0;
	for (size_t i = 0; i < t->counter_count; i++) {
		const struct ptrc_value *v = &decoded->values[t->counters[i].field];

		if (v->kind != PTRC_VALUE_NONE)
			x->format->counter(x, &t->counters[i], v);
	}
}

/* ---- the sink ---- */

static struct ptrc_export_type *type_of(const struct ptrc_export *x, struct ptrc_source *s)
{
	struct ptrc_type *type = ptrc_reader_type(&s->reader, s->reader.event.posix_event_id);
	const struct ptrc_reader_name *name = &type->name;
	struct ptrc_export_type *t = type->of_sink;

	if (__builtin_expect(t != NULL, 1))
		return t;
	t = type->of_sink = ptrc_cli_allocate(sizeof(*t));
	t->is_sample = name->is_known && !strcmp(name->text, SAMPLE);
	t->is_exit = name->is_known && !strcmp(name->text, EXIT);
	ptrc_buffer_bytes(&t->name.text, name->text, name->size);
	end_name(&t->name);
	if (x->options.has_counters && s->view.layout)
		find_counters(x, t, s->view.layout, name);
	return t;
}

static void add(void *self, struct ptrc_source *s)
{
	struct ptrc_export *x = self;
	struct ptrc_export_loss *loss = &x->losses[s->order];
	int64_t ns = ptrc_source_ns(s);
	struct ptrc_export_type *t = type_of(x, s);

	x->source = s;
	x->now_ns = ptrc_export_since_start(x, ns);
	x->is_in_pair = false;
	look_for_loss(x, loss);
	if (t->is_exit)
		ptrc_export_lane(x)->has_ended = true;
	if (!x->format->has_only_events)
		ptrc_pairs_take(x->pairs, s);
	if (x->is_in_pair && !t->counter_count)
		return;
	if (!x->format->event || !ptrc_select_event(&x->query->select, single(&s->view)) ||
	    !is_near(x, ns, ns))
		return;
	if (t->counter_count && x->format->counter && !x->query->is_rehearsal)
		put_counters(x, t, &s->view);
	if (!x->is_in_pair && ptrc_query_is_due(x->query)) {
		struct ptrc_export_lane *lane = ptrc_export_lane(x);

		x->format->event(x, &(struct ptrc_export_event){.lane = lane,
								.ns = x->now_ns,
								.type = t,
								.view = &s->view,
								.span = innermost(&lane->lane)});
	}
}

static bool is_full(const void *self)
{
	const struct ptrc_export *x = self;

	/* After the selected time, only slices that started within it can still be shown. */
	return x->source && !x->pairs->spans.open_count &&
	       ptrc_when_add(ptrc_export_start_ns(x), (int64_t)x->now_ns) >
		       x->query->select.span.last;
}

static void finish(void *self, bool is_read)
{
	struct ptrc_export *x = self;
	const struct ptrc_query *q = x->query;

	ptrc_pairs_end(x->pairs, is_read);
	for (size_t i = 0; i < q->source_count; i++)
		if (x->losses[i].source)
			end_loss(x, &x->losses[i]);
}

/* Counts the spans without an end that started before the last events and pairs. They are left out, so they are none of
 * those that the second pass has to skip. */
static void count_early(struct ptrc_export *x)
{
	struct ptrc_query *q = x->query;

	while (x->early_count < x->open_place_count &&
	       x->open_places[x->early_count] + x->early_count + q->last_count < q->shown_count)
		x->early_count++;
	q->shown_count -= x->early_count;
	free(x->open_places);
	x->open_places = NULL;
}

/* Called before a second reading (--last). Keeps the lanes (rows of threads): the same threads come again. */
static void restart(void *self)
{
	struct ptrc_export *x = self;

	/* Counts the pairs that are still open, because these are shown, too. */
	finish(x, true);
	count_early(x);
	ptrc_pairs_forget(x->pairs);
	x->source = NULL;
	for (size_t i = 0; i < x->pairs->spans.lanes.count; i++) {
		struct ptrc_lane *lane = x->pairs->spans.lanes.list[i];

		lane->latest = NULL;
		((struct ptrc_export_lane *)lane)->has_ended = false;
	}
	for (size_t i = 0; i < x->query->source_count; i++)
		x->losses[i].source = NULL;
	free_pair_infos(x);
	x->slice_count = x->span_count = 0;
}

/* Reports pairs of which one event is missing, and those that a flame graph leaves out or cuts short. Returns false,
 * after messages, if the logs lack something that --pair, --label-by or --counters names. */
static bool tell(void *self)
{
	struct ptrc_export *x = self;
	bool is_missing;

	ptrc_pairs_report_halves(x->pairs, "", "with lost events or a restart in between");
	is_missing = ptrc_pairs_report_missing(x->pairs, x->query, false);
	if (x->unnested_count)
		ptrc_cli_count(x->format->name, x->unnested_count,
			       "pair[|s] by a field left out, as a frame is of one thread");
	if (x->overlap_count)
		ptrc_cli_count(x->format->name, x->overlap_count,
			       "pair[|s] cut short, at the end of the pair around");
	if (x->options.has_counters && !x->has_counter) {
		if (x->options.counters)
			ptrc_cli_message("--counters", "no event has a number called '%s'",
					 x->options.counters);
		else
			ptrc_cli_message("--counters", "no event has a number with a unit");
		is_missing = true;
	}
	return !is_missing;
}

static bool end(void *self)
{
	struct ptrc_export *x = self;
	bool is_whole = !x->format->end || x->format->end(x);

	ptrc_flames_report(&x->flames);
	return is_whole;
}

/* ---- begin and end ---- */

/* Whether a source has this event type, and its events may be selected. */
static bool has_type(const struct ptrc_query *q, const char *name)
{
	return ptrc_select_has_name(&q->select, name) && ptrc_query_has_type(q, name, NULL);
}

/* Whether the sources have samples, which may be selected. A log that was not closed has no counts; there the event type
 * alone decides. */
static bool has_samples(const struct ptrc_query *q)
{
	for (size_t i = 0; ptrc_select_has_name(&q->select, SAMPLE) && i < q->source_count; i++) {
		const struct ptrc_reader *r = &q->sources[i].reader;
		trace_event_id_t id = ptrc_reader_find_type(r, SAMPLE);
		PTRC_SCOPED struct posixtrace_type_count *counts = ptrc_type_counts(r->trace);

		if (id && (!counts || counts[id].pt_events))
			return true;
	}
	return false;
}

static size_t add_pair(struct ptrc_export *x, const char *names)
{
	struct ptrc_cli_reason why;

	if (!ptrc_pairs_add(x->pairs, names, &x->query->layouts, &why))
		ptrc_cli_refuse(NULL, "%s", why.text);
	return x->pairs->count - 1;
}

static void name_states(struct ptrc_export *x)
{
	static const char *const names[] = {"running", "preempted", "waiting"};

	for (size_t i = 0; i < PTRC_STATES; i++) {
		struct ptrc_buffer *text = &x->state_names[i].text;

		if (i <= PTRC_STATE_WAITING)
			ptrc_buffer_text(text, names[i]);
		else
			ptrc_buffer_format(text, "waiting: %s",
					   ptrc_waits_kinds[i - PTRC_STATE_WAITING - 1]);
		end_name(&x->state_names[i]);
	}
}

static void find_system_events(struct ptrc_export *x)
{
	x->running_pair = x->waiting_pair = SIZE_MAX;
	x->has_samples = has_samples(x->query);
	if (!x->format->slice || x->format->has_no_states || !has_type(x->query, SWITCH_IN) ||
	    !has_type(x->query, SWITCH_OUT))
		return;
	x->running_pair = add_pair(x, SWITCH_IN ".." SWITCH_OUT);
	x->waiting_pair = add_pair(x, SWITCH_OUT ".." SWITCH_IN);
}

/* Opens the output file. It must not be one of the logs. */
static bool open_file(struct ptrc_export *x)
{
	if (!ptrc_log_target_output(x->query, x->options.path, &x->format->kind,
				    x->options.is_forced, NULL))
		return false;
	ptrc_output_clear();
	return true;
}

bool ptrc_export_begin(struct ptrc_export **export, struct ptrc_query *q, struct ptrc_pairs *pairs,
		       const struct ptrc_export_options *options)
{
	struct ptrc_export *x = *export = ptrc_cli_allocate(sizeof(*x));

	*x = (struct ptrc_export){
		.query = q,
		.pairs = pairs,
		.options = *options,
		.format = options->format,
	};
	x->losses = ptrc_cli_allocate(q->source_count * sizeof(*x->losses));
	if (!x->format->has_only_events) {
		name_states(x);
		find_system_events(x);
		if (x->format->push && !x->has_samples && q->select.around)
			ptrc_cli_usage("--around",
				       "cannot be used together with --to=%s where pairs are shown",
				       x->format->name);
		pairs->is_by_name = pairs->is_without_rows = true;
		ptrc_spans_begin(&pairs->spans, q, sizeof(struct ptrc_export_span));
	}
	if (!ptrc_export_begin_lanes(x))
		return false;
	q->needs_first = true;
	q->sink = (struct ptrc_sink){
		.self = x,
		.event = add,
		.begin = begin_span,
		.span = take,
		.is_full = is_full,
		.finish = finish,
		.restart = restart,
		.tell = x->format->has_only_events ? NULL : tell,
		.end = end,
		.takes_all = !x->format->has_only_events,
		.takes_losses = x->format->loss,
	};
	if (x->format->state_size)
		x->state = ptrc_cli_allocate(x->format->state_size);
	if (x->format->open ? !x->format->open(x) : options->path && !open_file(x))
		return false;
	if (x->has_samples)
		ptrc_flames_begin_samples(&x->flames, q);
	if (x->format->begin)
		x->format->begin(x);
	return true;
}

static void free_type(struct ptrc_export_type *t)
{
	free(t->of_format);
	free_name(&t->name);
	for (size_t i = 0; i < t->counter_count; i++)
		free_name(&t->counters[i].name);
	free(t->counters);
}

void ptrc_export_free(struct ptrc_export *x)
{
	const struct ptrc_query *q;

	if (!x)
		return;
	q = x->query;
	if (x->state && x->format->free)
		x->format->free(x);
	free(x->state);
	ptrc_flames_free(&x->flames);
	ptrc_export_free_lanes(x);
	ptrc_pairs_forget(x->pairs);
	ptrc_spans_free(&x->pairs->spans);
	for (size_t i = 0; i < q->source_count; i++)
		for (size_t id = 0; id < PTRC_READER_IDS; id++)
			if (q->sources[i].reader.types[id] &&
			    q->sources[i].reader.types[id]->of_sink)
				free_type(q->sources[i].reader.types[id]->of_sink);
	free(x->losses);
	free_pair_infos(x);
	free_name(&x->own_name);
	for (size_t i = 0; i < PTRC_STATES; i++)
		free_name(&x->state_names[i]);
	free(x);
}
