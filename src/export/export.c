/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/model/glob.h"
#include "src/cli/output.h"
#include "src/spans/function.h"
#include "src/spans/pair_report.h"
#include "src/session/log_target.h"
#include "src/fields/when.h"

/* What the kernel did with a thread, as ptrace-run --os records it. */
static const char switch_in[] = "os.switch_in";
static const char switch_out[] = "os.switch_out";
static const char sample[] = "os.sample";

static size_t place_of(const struct ptrc_reader *r)
{
	trace_event_id_t id = r->event.posix_event_id;

	return id < PTRC_READER_IDS ? id : 0;
}

/* Completes a name, whose text is there. */
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

/* The name is made before anybody asks for it, as a pair may do so while the type is learnt. */
static struct ptrc_export_type *type_of(struct ptrc_export *x, const struct ptrc_source *s,
					struct ptrc_reader *r)
{
	struct ptrc_export_type *t = &x->sources[s->order].types[place_of(r)];

	if (__builtin_expect(!t->name.json.used, 0)) {
		const struct ptrc_reader_name *name = ptrc_reader_name(r, r->event.posix_event_id);

		ptrc_buffer_bytes(&t->name.text, name->text, name->size);
		end_name(&t->name);
	}
	return t;
}

/* ---- selection ---- */

/* Whether all expressions hold. An event that is no pair is both begin and end of itself. */
static bool holds(struct ptrc_export *x, struct ptrc_view *view)
{
	const struct ptrc_select *select = &x->query->select;

	view->begin = view;
	view->duration_ns = 0;
	return ptrc_where_all_hold(select->wheres, select->where_count, view);
}

static bool is_near(const struct ptrc_export *x, int64_t first_ns, int64_t last_ns)
{
	const struct ptrc_select *select = &x->query->select;

	return !select->around || ptrc_select_meets_window(select, first_ns, last_ns);
}

/* Whether the latest event is selected. */
static bool is_event_selected(struct ptrc_export *x)
{
	struct ptrc_source *s = x->source;
	int64_t ns = ptrc_source_ns(s);

	s->view.begin = &s->view;
	s->view.duration_ns = 0;
	return ptrc_select_event(&x->query->select, &s->view) && is_near(x, ns, ns);
}

/* ---- pairs ---- */

static struct ptrc_export_pair *info_of(struct ptrc_export *x, const struct ptrc_pair *pair)
{
	size_t number = (size_t)(pair - x->pairs->list);
	struct ptrc_export_pair *info;

	while (number >= x->pair_info_count) {
		info = ptrc_append(x->pair_infos, x->pair_info_count);
		*info = (struct ptrc_export_pair){0};
		ptrc_pair_put_name(&info->name.text, &x->pairs->list[x->pair_info_count - 1]);
		end_name(&info->name);
	}
	return &x->pair_infos[number];
}

static void free_pairs(struct ptrc_export *x)
{
	for (size_t i = 0; i < x->pair_info_count; i++)
		free_name(&x->pair_infos[i].name);
	free(x->pair_infos);
	x->pair_infos = NULL;
	x->pair_info_count = 0;
}

static size_t number_of(const struct ptrc_export *x, const struct ptrc_pair *pair)
{
	return (size_t)(pair - x->pairs->list);
}

static bool is_state(const struct ptrc_export *x, const struct ptrc_pair *pair)
{
	size_t number = number_of(x, pair);

	return number == x->running_pair || number == x->waiting_pair;
}

/* Whether a begin of the pair is nested on its lane. */
static bool is_nested(const struct ptrc_export *x, const struct ptrc_pair *pair)
{
	return !pair->by_text && !is_state(x, pair);
}

/* Whether the pair of the begin that was read is shown as a flame, which has to be known at its begin. */
static bool is_flame(struct ptrc_export *x)
{
	struct ptrc_select *select = &x->query->select;
	struct ptrc_span span = select->span;
	bool is_selected;

	/* How much of its time counts is found out later. */
	select->span = (struct ptrc_span){INT64_MIN, INT64_MAX};
	is_selected = ptrc_select_event(select, &x->source->view);
	select->span = span;
	return is_selected;
}

/* Stores what the pair is called that the event begins, or the function that it ends, if it has another name
 * than others of its kind. */
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

static void *keep(void *arg, const struct ptrc_pair *pair, struct ptrc_view *view)
{
	struct ptrc_export *x = arg;
	struct ptrc_export_kept *k = ptrc_cli_allocate(sizeof(*k) + view->reader->size);

	*k = (struct ptrc_export_kept){
		.lane = ptrc_export_lane(x),
		.ns = x->now_ns,
		.is_nested = is_nested(x, pair),
	};
	ptrc_keep(&k->event, x->source, k + 1);
	x->open_count++;
	x->is_in_pair = true;
	if (k->is_nested && x->format->push && (x->has_samples || !is_flame(x)))
		k->is_nested = false;
	if (!k->is_nested)
		return k;
	k->number = ++x->kept_count;
	k->before = k->lane->latest;
	k->lane->latest = k;
	if (x->format->push)
		x->format->push(x, k,
				name_by_itself(x, pair, view) ? &x->own_name.text
							      : &info_of(x, pair)->name.text);
	return k;
}

/* A nested begin has ended: what began after it on its thread and has not ended overlaps it. Of those that
 * overlap nothing, which are in the list, these are the latest ones, so each is taken out once. */
static void unlink_kept(struct ptrc_export_kept *k)
{
	struct ptrc_lane *lane = k->lane;

	for (; lane->latest && lane->latest->number > k->number;
	     lane->latest = lane->latest->before)
		lane->latest->is_crossed = true;
	if (lane->latest == k)
		lane->latest = k->before;
}

/* Whether a slice is selected; the view of its end may be null. */
static bool is_slice_selected(struct ptrc_export *x, const struct ptrc_pair *pair,
			      struct ptrc_view *begin, struct ptrc_view *end)
{
	struct ptrc_select *select = &x->query->select;
	int64_t first = begin ? ptrc_when_ns(&begin->reader->event.posix_timestamp) : INT64_MIN;
	int64_t last = end ? ptrc_when_ns(&end->reader->event.posix_timestamp) : INT64_MAX;

	if (begin && end) {
		end->begin = begin;
		end->duration_ns = (uint64_t)ptrc_when_subtract(last, first);
		return ptrc_select_pair(select, end) && is_near(x, first, last);
	}
	return ptrc_select_half(select, begin ? begin->reader : end->reader,
				begin ? pair->end : pair->begin, !begin) &&
	       holds(x, begin ? begin : end) &&
	       is_near(x, begin ? first : last, begin ? first : last);
}

/* Whether the switch from the processor was against the thread's will. */
static bool is_preempted(struct ptrc_export *x, struct ptrc_view *view)
{
	const struct ptrc_value *v = ptrc_view_member(view, &x->query->layouts, "preempted");

	return v && v->kind >= PTRC_VALUE_SIGNED && v->kind <= PTRC_VALUE_BOOL && v->u;
}

static void put_slice(struct ptrc_export *x, const struct ptrc_pair *pair,
		      const struct ptrc_export_kept *k, struct ptrc_view *begin,
		      struct ptrc_view *end, bool is_cut)
{
	struct ptrc_export_pair *info = info_of(x, pair);
	struct ptrc_slice s = {
		.kind = is_state(x, pair)		 ? PTRC_SLICE_STATE
			: k->is_nested && !k->is_crossed ? PTRC_SLICE_NESTED
							 : PTRC_SLICE_ASYNC,
		.number = ++x->slice_count,
		.name = &info->name,
		.lane = k->lane,
		.end_lane = end ? ptrc_export_lane(x) : k->lane,
		.begin_ns = k->ns,
		.end_ns = x->now_ns,
		.begin = begin,
		.end = end,
		.is_cut = is_cut,
	};

	if (is_state(x, pair)) {
		size_t state = number_of(x, pair) == x->running_pair ? PTRC_STATE_RUNNING
			       : is_preempted(x, begin)		     ? PTRC_STATE_PREEMPTED
								     : PTRC_STATE_WAITING;

		s.name = &x->state_names[state];
	} else if (name_by_itself(x, pair, begin)) {
		s.name = &x->own_name;
	}
	x->format->slice(x, &s);
}

/* An event whose other half is missing is shown by itself: a begin that was kept, or the latest event. */
static void put_half(struct ptrc_export *x, const struct ptrc_export_kept *k,
		     struct ptrc_view *view)
{
	struct ptrc_export_event e = {
		.lane = k ? k->lane : ptrc_export_lane(x),
		.ns = k ? k->ns : x->now_ns,
		.type = type_of(x, k ? k->event.source : x->source, view->reader),
		.view = view,
		.missing = k ? "end" : "begin",
	};

	if (x->format->event)
		x->format->event(x, &e);
}

/* Counts what is told of the pair at the end: halves, and those with a loss in between. */
static void count(struct ptrc_export *x, const struct ptrc_pair *pair, bool is_cut,
		  const struct ptrc_export_kept *k, const struct ptrc_view *end)
{
	struct ptrc_export_pair *info = info_of(x, pair);

	info->begins += k && !end && !is_cut;
	info->ends += !k && !is_cut;
	info->cut += is_cut;
}

/* Shows a pair, or the half of one that is there. */
static void show(struct ptrc_export *x, const struct ptrc_pair *pair, bool is_cut,
		 const struct ptrc_export_kept *k, struct ptrc_view *end)
{
	struct ptrc_view *begin = k ? ptrc_kept_look(&x->begins, x->query, &k->event) : NULL;

	/* A thread that began to run before anybody looked, and one that still runs, lack nothing. */
	if (is_state(x, pair) && !k)
		return;
	if (!is_slice_selected(x, pair, begin, end))
		return;
	if (!is_state(x, pair))
		count(x, pair, is_cut, k, end);
	if (!ptrc_query_is_due(x->query))
		return;
	if (k && (end || !is_cut))
		put_slice(x, pair, k, begin, end, is_cut);
	else
		put_half(x, k, k ? begin : end);
}

static void take(void *arg, const struct ptrc_pair *pair, enum ptrc_pair_fate fate, void *kept,
		 struct ptrc_view *end)
{
	struct ptrc_export *x = arg;
	struct ptrc_export_kept *k = kept;

	x->is_in_pair |= end != NULL;
	if (k && k->is_nested && end) {
		if (x->format->pop)
			x->format->pop(x, k);
		unlink_kept(k);
	}
	if (x->format->slice)
		show(x, pair, fate == PTRC_PAIR_CUT, k, end);
	else if (x->format->push && !x->has_samples && (k ? k->is_nested : is_flame(x)))
		count(x, pair, fate == PTRC_PAIR_CUT, k, end);
	x->open_count -= k != NULL;
	free(k);
}

/* Frees a begin that is not told. */
static void drop(void *arg, const struct ptrc_pair *pair, enum ptrc_pair_fate fate, void *kept,
		 struct ptrc_view *end)
{
	(void)arg;
	(void)pair;
	(void)fate;
	(void)end;
	free(kept);
}

/* ---- losses ---- */

/* Ends the place with losses where the source is now. These are told whichever events are selected, as any
 * may be among them, but not those far from what is shown. */
static void end_loss(struct ptrc_export *x, struct ptrc_export_source *s)
{
	const struct ptrc_span *span = &x->query->select.span;
	int64_t first = ptrc_when_add(x->start_ns, (int64_t)s->loss.begin_ns);
	int64_t last = ptrc_when_add(x->start_ns, (int64_t)x->now_ns);

	s->loss.end_ns = x->now_ns;
	if (x->format->loss && !x->query->is_rehearsal && first <= span->last &&
	    last >= span->first && is_near(x, first, last))
		x->format->loss(x, &s->loss);
}

/* Sees whether events were lost at the latest event, and whether those before it were. */
static void look_for_loss(struct ptrc_export *x, struct ptrc_export_source *s)
{
	const struct ptrc_reader *r = &x->source->reader;
	bool is_loss = ptrc_is_loss(r->event.posix_event_id, r->data, r->size);

	if (s->is_behind_loss)
		end_loss(x, s);
	/* RESUME ends one. */
	s->is_behind_loss = is_loss && r->event.posix_event_id != POSIX_TRACE_RESUME;
	if (!s->is_behind_loss)
		return;
	s->loss = (struct ptrc_export_loss){
		.source = x->source,
		.begin_ns = x->now_ns,
		.is_counted = ptrc_reader_is_at_damage(r) && !r->gap.is_uncounted,
		.events = r->gap.events,
	};
}

/* ---- counters ---- */

static bool is_number(const struct ptrc_layout_field *f)
{
	return f->kind <= PTRC_LAYOUT_FLOAT && !f->count && *f->name && !f->member_count;
}

/* Finds the fields that become counters. */
static void find_counters(struct ptrc_export *x, struct ptrc_export_type *t,
			  const struct ptrc_view *view, const struct ptrc_reader_name *name)
{
	const char *glob = x->options.counters;
	const struct ptrc_layout_field *f;

	for (size_t i = 0; (f = ptrc_layout_field(view->layout, i)); i++) {
		struct ptrc_export_counter c = {.field = i};

		if (!is_number(f) || (!glob && !f->unit))
			continue;
		ptrc_buffer_bytes(&c.name.text, name->text, name->size);
		ptrc_buffer_char(&c.name.text, '.');
		ptrc_buffer_text(&c.name.text, f->name);
		ptrc_buffer_char(&c.name.text, '\0');
		c.name.text.used--;
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

static void learn(struct ptrc_export *x, struct ptrc_export_type *t)
{
	struct ptrc_view *view = &x->source->view;
	const struct ptrc_reader_name *name =
		ptrc_reader_name(view->reader, view->reader->event.posix_event_id);

	t->is_known = true;
	t->is_sample = name->is_known && !strcmp(name->text, sample);
	if (!x->format->has_only_events) {
		ptrc_pairs_take(x->pairs, view);
		t->is_paired = ptrc_pairs_has_type(x->pairs, view->reader,
						   view->reader->event.posix_event_id);
	}
	if (x->options.has_counters && view->layout)
		find_counters(x, t, view, name);
}

/* Gives the pairs what concerns them. Returns whether the event is in one. */
static bool take_pairs(struct ptrc_export *x, struct ptrc_export_source *xs,
		       struct ptrc_export_type *t)
{
	bool is_system = x->source->reader.event.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT;
	bool is_new = !t->is_known;

	x->is_in_pair = false;
	if (is_new)
		learn(x, t);
	else if (t->is_paired || is_system || xs->is_behind_pairs)
		ptrc_pairs_take(x->pairs, &x->source->view);
	/* The event behind a loss ends it for the pairs, too. */
	xs->is_behind_pairs = is_system;
	return x->is_in_pair;
}

static void add(void *self, struct ptrc_source *s)
{
	struct ptrc_export *x = self;
	struct ptrc_export_source *xs = &x->sources[s->order];
	int64_t ns = ptrc_source_ns(s);
	struct ptrc_export_type *t;
	bool is_paired = false;

	if (!x->has_start)
		x->start_ns = ns;
	x->has_start = true;
	x->source = s;
	x->now_ns = ptrc_export_since_start(x, ns);
	t = type_of(x, s, &s->reader);
	if (s->reader.event.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT || xs->is_behind_loss)
		look_for_loss(x, xs);
	if (!x->format->has_only_events)
		is_paired = take_pairs(x, xs, t);
	else if (!t->is_known)
		learn(x, t);
	if (is_paired && !t->counter_count)
		return;
	if (!x->format->event || !is_event_selected(x))
		return;
	if (t->counter_count && x->format->counter && !x->query->is_rehearsal)
		put_counters(x, t, &s->view);
	if (!is_paired && ptrc_query_is_due(x->query))
		x->format->event(x, &(struct ptrc_export_event){.lane = ptrc_export_lane(x),
								.ns = x->now_ns,
								.type = t,
								.view = &s->view});
}

static bool is_full(const void *self)
{
	const struct ptrc_export *x = self;

	/* Nothing behind the span is shown, once no slice reaches into it any more. */
	return x->has_start && !x->open_count &&
	       ptrc_when_add(x->start_ns, (int64_t)x->now_ns) > x->query->select.span.last;
}

static void finish(void *self, bool is_read)
{
	struct ptrc_export *x = self;
	const struct ptrc_query *q = x->query;

	/* If --first has ended the reading, what is open has its end in what was not read. */
	if (!is_read && q->shown_count >= q->first_count)
		x->pairs->taker.take = drop;
	if (!x->format->has_only_events)
		ptrc_pairs_end(x->pairs);
	for (size_t i = 0; i < q->source_count; i++)
		if (x->sources[i].is_behind_loss)
			end_loss(x, &x->sources[i]);
}

/* Forgets what was counted, but not the lanes, which will be needed again. */
static void restart(void *self)
{
	struct ptrc_export *x = self;

	/* What is open at the end counts, too. */
	finish(x, true);
	if (!x->format->has_only_events)
		ptrc_pairs_forget(x->pairs);
	for (size_t i = 0; i < x->lanes.count; i++)
		x->lanes.list[i]->latest = NULL;
	for (size_t i = 0; i < x->query->source_count; i++)
		x->sources[i].is_behind_loss = x->sources[i].is_behind_pairs = false;
	free_pairs(x);
	x->slice_count = x->open_count = 0;
}

/* Puts "3 begins without end", behind what is there. */
static void put_count(struct ptrc_buffer *b, uint64_t count, const char *one, const char *several)
{
	if (!count)
		return;
	if (b->used)
		ptrc_buffer_text(b, ", ");
	ptrc_buffer_format(b, "%llu %s", (unsigned long long)count, count == 1 ? one : several);
}

/* Says what lacks its other half, and which types of given pairs are not there. */
static bool tell(void *self)
{
	struct ptrc_export *x = self;
	struct ptrc_buffer what = PTRC_BUFFER_INIT;
	bool is_missing;

	for (size_t i = 0; i < x->pair_info_count; i++) {
		struct ptrc_export_pair *info = &x->pair_infos[i];

		what.used = 0;
		put_count(&what, info->begins, "begin without end", "begins without end");
		put_count(&what, info->ends, "end without begin", "ends without begin");
		put_count(&what, info->cut, "with lost events in between",
			  "with lost events in between");
		if (!what.used)
			continue;
		ptrc_buffer_char(&info->name.text, '\0');
		ptrc_cli_message(info->name.text.bytes, "%.*s", (int)what.used, what.bytes);
	}
	ptrc_buffer_free(&what);
	is_missing = ptrc_pairs_report_missing(x->pairs, x->query, false);
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

/* Whether a source has the event type, and it may be selected. */
static bool has_type(const struct ptrc_query *q, const char *name)
{
	const struct ptrc_cli_texts *globs = &q->select.globs;
	bool is_selected = !globs->count;

	for (size_t i = 0; i < globs->count; i++)
		is_selected |= ptrc_glob_matches(globs->texts[i], name);
	for (size_t i = 0; i < q->source_count && is_selected; i++)
		if (ptrc_reader_find_type(&q->sources[i].reader, name))
			return true;
	return false;
}

/* Adds a pair of two types that are known; it is the last one then. */
static size_t add_pair(struct ptrc_export *x, const char *begin, const char *end_name)
{
	struct ptrc_buffer text = PTRC_BUFFER_INIT;
	struct ptrc_cli_reason why;

	ptrc_buffer_format(&text, "%s..%s", begin, end_name);
	ptrc_buffer_char(&text, '\0');
	if (!ptrc_pairs_add(x->pairs, text.bytes, &x->query->layouts, &why))
		ptrc_cli_refuse(NULL, "%s", why.text);
	ptrc_buffer_free(&text);
	return x->pairs->count - 1;
}

static void find_system_events(struct ptrc_export *x)
{
	static const char *const names[PTRC_STATES] = {"running", "waiting", "preempted"};

	x->running_pair = x->waiting_pair = SIZE_MAX;
	x->has_samples = has_type(x->query, sample);
	if (!x->format->slice || !has_type(x->query, switch_in) || !has_type(x->query, switch_out))
		return;
	x->running_pair = add_pair(x, switch_in, switch_out);
	x->waiting_pair = add_pair(x, switch_out, switch_in);
	for (size_t i = 0; i < PTRC_STATES; i++) {
		ptrc_buffer_text(&x->state_names[i].text, names[i]);
		end_name(&x->state_names[i]);
	}
}

/* Opens the file, which may be none of the logs. */
static bool open_file(struct ptrc_export *x)
{
	const char *path = x->options.path;
	bool is_new;
	int fd = ptrc_replace_open(path, &x->format->kind, x->options.is_forced, &is_new);
	struct stat st;

	if (fd < 0)
		return false;
	if (ptrc_log_target_is_read(x->query, fd, path)) {
		close(fd);
		return false;
	}
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && ftruncate(fd, 0)) {
		ptrc_cli_error(path, errno);
		close(fd);
		return false;
	}
	ptrc_output_to(fd, path, is_new);
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
	x->sources = ptrc_cli_allocate(q->source_count * sizeof(*x->sources));
	memset(x->sources, 0, q->source_count * sizeof(*x->sources));
	ptrc_kept_views_begin(&x->begins, q);
	if (!ptrc_lanes_begin(&x->lanes, q))
		return false;
	if (!x->format->has_only_events) {
		find_system_events(x);
		if (x->format->push && !x->has_samples && q->select.around)
			ptrc_cli_usage("--around",
				       "cannot be used together with --to=%s where pairs are shown",
				       x->format->name);
		pairs->is_by_name = true;
		pairs->taker = (struct ptrc_pair_taker){keep, take, x};
	}
	q->sink = (struct ptrc_sink){
		.self = x,
		.event = add,
		.is_full = is_full,
		.finish = finish,
		.restart = restart,
		.tell = x->format->has_only_events ? NULL : tell,
		.end = end,
		.takes_all = !x->format->has_only_events,
		.takes_losses = x->format->loss,
	};
	if (x->format->state_size) {
		x->state = ptrc_cli_allocate(x->format->state_size);
		memset(x->state, 0, x->format->state_size);
	}
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
	free_name(&t->name);
	for (size_t i = 0; i < t->counter_count; i++)
		free_name(&t->counters[i].name);
	free(t->counters);
}

void ptrc_export_free(struct ptrc_export *x)
{
	if (!x)
		return;
	if (x->state && x->format->free)
		x->format->free(x);
	free(x->state);
	ptrc_flames_free(&x->flames);
	if (!x->format->has_only_events) {
		x->pairs->taker = (struct ptrc_pair_taker){keep, drop, x};
		ptrc_pairs_forget(x->pairs);
	}
	for (size_t i = 0; i < x->query->source_count; i++)
		for (size_t id = 0; id < PTRC_READER_IDS; id++)
			free_type(&x->sources[i].types[id]);
	free(x->sources);
	free_pairs(x);
	free_name(&x->own_name);
	for (size_t i = 0; i < PTRC_STATES; i++)
		free_name(&x->state_names[i]);
	ptrc_kept_views_free(&x->begins, x->query);
	ptrc_lanes_free(&x->lanes);
	free(x);
}
