/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/report/collect.h"

#include <stdlib.h>
#include <string.h>

#include "src/spans/function.h"
#include "src/spans/pair_report.h"
#include "src/query/losses.h"

/* If there are more losses than this, later ones are merged with the last one of the same source. */
enum { LOSSES_MAX = 4096 };

/* If the pairs have more names of functions, programs or labels than this, the records of the other names are
 * counted in the classes of the pairs themselves. */
enum { NAMES_MAX = 1000 };

/* The report's data about an event type. */
struct type {
	size_t class;
	enum { ROLE_NONE, ROLE_SWITCH_IN, ROLE_SWITCH_OUT, ROLE_SAMPLE } role;
};

/* ---- lanes ---- */

/* Takes an event of the lane (one thread's row in the report). If events were lost since the lane's last
 * event, it is unknown whether the thread had events meanwhile and whether it ran. An event of the keeper ends no time
 * without an event of the thread. */
static void take_lane(struct ptrc_report_lane *lane, int64_t ns, uint64_t gap_count,
		      bool is_of_keeper)
{
	bool is_cut = lane->gap_count != gap_count;
	uint64_t gap = lane->count && !is_cut && !is_of_keeper
			       ? (uint64_t)ptrc_when_subtract(ns, lane->last_ns)
			       : 0;

	if (is_cut) {
		free(lane->running);
		lane->running = NULL;
		lane->has_switched = true;
		lane->gap_count = gap_count;
	}
	if (!lane->count)
		lane->first_ns = ns;
	if (gap > lane->gap_ns) {
		lane->gap_ns = gap;
		lane->gap_begin_ns = lane->last_ns;
	}
	lane->count++;
	lane->last_ns = ns;
}

/* ---- dropped records ---- */

/* Doubles the time that each bucket covers. A lane counts its dropped records in buckets, by time. */
static void widen(struct ptrc_report *r)
{
	for (size_t i = 0; i < r->lanes->count; i++) {
		uint32_t *d = ptrc_report_lane(r, i)->dropped;

		for (size_t k = 0; d && k < PTRC_REPORT_BUCKETS / 2; k++)
			d[k] = d[2 * k] + d[2 * k + 1];
		if (d)
			memset(d + PTRC_REPORT_BUCKETS / 2, 0,
			       PTRC_REPORT_BUCKETS / 2 * sizeof(*d));
	}
	r->shift++;
}

static void count_dropped(struct ptrc_report *r, struct ptrc_report_class *c, size_t lane,
			  int64_t ns)
{
	struct ptrc_report_lane *l = ptrc_report_lane(r, lane);
	uint64_t since = ns > r->first_ns ? (uint64_t)ptrc_when_subtract(ns, r->first_ns) : 0;

	while (since >> r->shift >= PTRC_REPORT_BUCKETS)
		widen(r);
	if (!l->dropped)
		l->dropped = ptrc_cli_allocate(PTRC_REPORT_BUCKETS * sizeof(*l->dropped));
	l->dropped[since >> r->shift]++;
	c->dropped_count++;
	r->dropped_count++;
}

static uint64_t size_of(const struct ptrc_report_record *record)
{
	return (record->begin ? sizeof(*record->begin) + record->begin->size : 0) +
	       (record->end ? sizeof(*record->end) + record->end->size : 0);
}

static void drop(struct ptrc_report *r, struct ptrc_report_class *c,
		 const struct ptrc_report_record *record)
{
	count_dropped(r, c, record->lane, record->ns);
	free(record->begin);
	free(record->end);
}

static int compare_lengths(const void *a, const void *b)
{
	const uint64_t *s = a;
	const uint64_t *t = b;

	return (*s > *t) - (*s < *t);
}

/* Returns the median duration of the records. If their number is even, the longer one of the two in the
 * middle. */
static uint64_t median(const struct ptrc_report_class *c)
{
	uint64_t *lengths = ptrc_cli_allocate(c->record_count * sizeof(*lengths));
	uint64_t found;

	for (size_t i = 0; i < c->record_count; i++)
		lengths[i] = c->records[i].duration_ns;
	qsort(lengths, c->record_count, sizeof(*lengths), compare_lengths);
	found = lengths[c->record_count / 2];
	free(lengths);
	return found;
}

bool ptrc_report_thin(struct ptrc_report *r)
{
	struct ptrc_report_class *most = NULL;
	uint64_t most_bytes = 0;
	size_t kept = 0;

	for (size_t i = 0; i < r->class_count; i++) {
		struct ptrc_report_class *c = &r->classes[i];
		uint64_t bytes = c->record_count * sizeof(*c->records) + c->record_bytes;

		if (c->record_count && bytes > most_bytes) {
			most = c;
			most_bytes = bytes;
		}
	}
	if (!most)
		return false;
	r->record_bytes -= most->record_bytes;
	r->record_count -= most->record_count;
	most->record_bytes = 0;
	if (most->kind == PTRC_REPORT_EVENTS)
		most->mask = 2 * most->mask + 1;
	else
		most->least_ns = median(most) + 1;
	for (size_t i = 0; i < most->record_count; i++) {
		struct ptrc_report_record *record = &most->records[i];
		/* Many records may have exactly the median duration. Every second one of them stays, because
		 * otherwise all might go. The first record never stays, so that the number of records gets
		 * smaller. */
		bool is_kept =
			most->kind == PTRC_REPORT_EVENTS
				? i & 1
				: (i && record->duration_ns >= most->least_ns) ||
					  (record->duration_ns + 1 == most->least_ns && i & 1);

		if (!is_kept) {
			drop(r, most, record);
			continue;
		}
		most->record_bytes += size_of(record);
		most->records[kept++] = *record;
	}
	most->record_count = kept;
	r->record_count += kept;
	r->record_bytes += most->record_bytes;
	return true;
}

/* ---- records ---- */

static struct ptrc_report_event *copy_event(struct ptrc_source *s, size_t lane,
					    const struct posix_trace_event_info *info,
					    const void *data, size_t size)
{
	struct ptrc_report_event *e = ptrc_cli_allocate(sizeof(*e) + size);

	*e = (struct ptrc_report_event){
		.info = *info, .source = s, .lane = lane, .size = (uint32_t)size};
	if (size)
		memcpy(e->data, data, size);
	return e;
}

static struct ptrc_report_event *keep_event(struct ptrc_source *s, size_t lane)
{
	return copy_event(s, lane, &s->reader.event, s->reader.data, s->reader.size);
}

/* Adds a record, which from then on owns its events. If there is no room for it, counts it as dropped. */
static void add_record(struct ptrc_report *r, size_t class, struct ptrc_report_record record)
{
	struct ptrc_report_class *c = &r->classes[class];
	bool is_kept = c->kind == PTRC_REPORT_EVENTS ? !(c->seen_count & c->mask)
						     : record.duration_ns >= c->least_ns;

	if (r->is_text) {
		free(record.begin);
		free(record.end);
		return;
	}
	c->seen_count++;
	record.class = (uint32_t) class;
	if (!is_kept) {
		drop(r, c, &record);
		return;
	}
	*ptrc_append(c->records, c->record_count) = record;
	c->record_bytes += size_of(&record);
	r->record_count++;
	r->record_bytes += size_of(&record);
	while (r->record_count > r->records_max || r->record_bytes > r->bytes_max)
		ptrc_report_thin(r);
}

static void add_length(struct ptrc_report_class *c, uint64_t length, int64_t begin_ns)
{
	if (!c->lengths.count || length > c->lengths.greatest)
		c->longest_ns = begin_ns;
	ptrc_quantiles_add(&c->lengths, length);
}

/* ---- classes ---- */

static size_t add_class(struct ptrc_report *r, enum ptrc_report_kind kind, const char *name,
			size_t size)
{
	struct ptrc_report_class *c;

	c = ptrc_append(r->classes, r->class_count);
	*c = (struct ptrc_report_class){.kind = kind, .name_size = size};
	c->name = ptrc_cli_copy_bytes(name, size);
	return r->class_count - 1;
}

/* Returns the type of the event that the source has read. If types of several logs have the same name and
 * layout, they share a class. */
static const struct type *type_of(struct ptrc_report *r, struct ptrc_source *s)
{
	struct ptrc_type *own = ptrc_reader_type(&s->reader, s->reader.event.posix_event_id);
	const struct ptrc_reader_name *name = &own->name;
	struct type *type = own->of_sink;
	size_t class;

	if (type)
		return type;
	for (class = 0; class < r->class_count; class ++)
		if (r->classes[class].kind == PTRC_REPORT_EVENTS &&
		    r->classes[class].layout == s->view.layout &&
		    !strcmp(r->classes[class].name, name->text))
			break;
	if (class == r->class_count) {
		add_class(r, PTRC_REPORT_EVENTS, name->text, name->size);
		r->classes[class].layout = s->view.layout;
	}
	type = own->of_sink = ptrc_cli_allocate(sizeof(*type));
	type->class = class;
	type->role = !name->is_known			    ? ROLE_NONE
		     : !strcmp(name->text, "os.switch_in")  ? ROLE_SWITCH_IN
		     : !strcmp(name->text, "os.switch_out") ? ROLE_SWITCH_OUT
		     : !strcmp(name->text, "os.sample")	    ? ROLE_SAMPLE
							    : ROLE_NONE;
	return type;
}

static size_t class_of_pair(struct ptrc_report *r, const struct ptrc_pair *pair)
{
	size_t number = (size_t)(pair - r->pairs->list);
	struct ptrc_buffer name = PTRC_BUFFER_INIT;

	while (number >= r->class_of_pair_count)
		*ptrc_append(r->class_of_pair, r->class_of_pair_count) = 0;
	if (!r->class_of_pair[number]) {
		size_t class;

		if (pair->by_text && !pair->is_own_key)
			ptrc_pair_put_whole_name(&name, pair);
		else
			ptrc_buffer_text(&name, pair->name);
		class = add_class(r, PTRC_REPORT_PAIRS, name.bytes, name.used);
		r->classes[class].pair = number;
		r->class_of_pair[number] = class + 1;
		ptrc_buffer_free(&name);
	}
	return r->class_of_pair[number] - 1;
}

/* An entry of the tables .functions and .places of struct ptrc_report. */
struct function {
	struct ptrc_table_entry entry;
	/* 1 + the index of the class; 0 until there is a class. */
	size_t class;
};

/* Returns the class for the pair's records that have this name. If there are too many names already, returns the
 * class for all records of the pair. */
static size_t class_of_name(struct ptrc_report *r, const struct ptrc_pair *pair, const char *name,
			    size_t size)
{
	struct ptrc_buffer key = PTRC_BUFFER_INIT;
	size_t number = (size_t)(pair - r->pairs->list);
	struct function *f;

	ptrc_buffer_bytes(&key, &number, sizeof(number));
	ptrc_buffer_bytes(&key, name, size);
	f = r->functions.count < NAMES_MAX
		    ? ptrc_table_find(&r->functions, key.bytes, key.used, sizeof(*f))
		    : ptrc_table_seek(&r->functions, key.bytes, key.used);
	ptrc_buffer_free(&key);
	if (!f)
		return class_of_pair(r, pair);
	if (!f->class) {
		f->class = add_class(r, PTRC_REPORT_PAIRS, name, size) + 1;
		r->classes[f->class - 1].pair = number;
	}
	return f->class - 1;
}

/* Returns the class for the function that the view's event enters or leaves. */
static size_t class_of_function(struct ptrc_report *r, const struct ptrc_pair *pair,
				struct ptrc_view *view)
{
	const struct ptrc_symbol *symbol = ptrc_view_symbol(view);
	uint64_t key[] = {r->source->order, (uint64_t)view->reader->event.posix_pid, 0};
	struct ptrc_buffer name = PTRC_BUFFER_INIT;
	struct function *f;

	if (symbol->function)
		return class_of_name(r, pair, symbol->function, strlen(symbol->function));
	r->has_nameless = true;
	key[2] = ptrc_function_address(&r->query->layouts, view);
	f = ptrc_table_find(&r->places, key, sizeof(key), sizeof(*f));
	if (!f->class) {
		ptrc_function_put_place(&name, view->reader, key[2]);
		f->class = class_of_name(r, pair, name.bytes, name.used) + 1;
		ptrc_buffer_free(&name);
	}
	return f->class - 1;
}

bool ptrc_report_has_own_class(const struct ptrc_report *r, const struct ptrc_pair *pair)
{
	return ptrc_pair_is_program(pair) ||
	       ((r->query->symbols || !r->is_text) && ptrc_pair_is_function(pair));
}

/* Returns the class for the pair that the view's event starts, or for the function that the event leaves.
 * With --label-by, each label of a pair has a class of its own. */
static size_t class_of_span(struct ptrc_report *r, const struct ptrc_pair *pair,
			    struct ptrc_view *view)
{
	struct ptrc_buffer name = PTRC_BUFFER_INIT;
	bool has_own = ptrc_report_has_own_class(r, pair);
	size_t class;

	if (has_own && ptrc_pair_is_function(pair))
		return class_of_function(r, pair, view);
	if (has_own)
		ptrc_pair_put_own_name(&name, pair, &r->query->layouts, view);
	else
		has_own = ptrc_pair_put_labelled_name(&name, r->pairs, pair, view);
	class = has_own ? class_of_name(r, pair, name.bytes, name.used) : class_of_pair(r, pair);
	ptrc_buffer_free(&name);
	return class;
}

static size_t class_of_runs(struct ptrc_report *r)
{
	static const char name[] = "on a processor";

	if (!r->class_of_runs)
		r->class_of_runs = add_class(r, PTRC_REPORT_RUNS, name, strlen(name)) + 1;
	return r->class_of_runs - 1;
}

static void extend(struct ptrc_report *r, int64_t ns)
{
	if (!r->has_time || ns < r->first_ns)
		r->first_ns = ns;
	if (!r->has_time || ns > r->last_ns)
		r->last_ns = ns;
	r->has_time = true;
}

/* ---- pairs ---- */

struct span {
	struct ptrc_span span;
	size_t class;
	struct ptrc_waits_start wait;
};

static void begin_span(void *self, struct ptrc_span *span)
{
	struct ptrc_report *r = self;
	struct span *s = (struct span *)span;

	r->is_in_pair = true;
	span->lane = &r->lane->lane;
	s->class = class_of_span(r, &r->pairs->list[span->pair], &r->source->view);
	ptrc_waits_take_begin(&r->waits, span, &s->wait);
}

/* Adds a pair, which from then on owns its events. Keeps it in the list of the longest pairs if it is one of
 * them. If durations are equal, the earlier pairs stay in the list. */
static void add_pair(struct ptrc_report *r, const struct ptrc_report_record *record)
{
	const struct ptrc_report_event *e = record->begin ? record->begin : record->end;
	uint64_t duration_ns = record->duration_ns;
	size_t at = r->longest_count;

	while (at && r->longest[at - 1].duration_ns < duration_ns)
		at--;
	if (at < PTRC_REPORT_LONGEST) {
		r->longest_count += r->longest_count < PTRC_REPORT_LONGEST;
		memmove(r->longest + at + 1, r->longest + at,
			(r->longest_count - at - 1) * sizeof(*r->longest));
		r->longest[at] = (struct ptrc_report_longest){
			.class = record->class,
			.fate = record->fate,
			.duration_ns = duration_ns,
			.info = e->info,
			.begin_ns = record->ns,
			.source = e->source,
		};
	}
	add_record(r, record->class, *record);
}

/* Whether the pair may lack an event only because the event is outside the selected time: the log goes on
 * there, and the rest of the selection would select the event. */
static bool is_cut_by_time(const struct ptrc_report *r, const struct ptrc_pair *pair,
			   enum ptrc_span_fate fate)
{
	const struct ptrc_query *q = r->query;
	const struct ptrc_select *s = &q->select;
	bool is_beyond = fate == PTRC_SPAN_NO_BEGIN
				 ? s->span.first > q->trace.first
				 : fate == PTRC_SPAN_NO_END && s->span.last < q->trace.last;

	return is_beyond && !s->around && !s->where_count && q->first_count == UINT64_MAX &&
	       q->last_count == UINT64_MAX &&
	       !(pair->by_text && (s->pids.count || s->tids.count)) &&
	       ptrc_select_has_name(s, fate == PTRC_SPAN_NO_BEGIN ? pair->begin : pair->end);
}

/* Adds the part of a pair that is within the selected time. As the duration of the whole pair is
 * not known, the pair is not in the statistics of durations. */
static void add_part(struct ptrc_report *r, struct ptrc_report_record *record)
{
	const struct ptrc_period *span = &r->query->select.span;
	struct ptrc_report_class *c = &r->classes[record->class];
	int64_t end_ns = span->last;

	if (record->begin) {
		c->behind_count++;
		extend(r, span->last);
	} else {
		c->before_count++;
		extend(r, span->first);
		record->ns = span->first;
		end_ns = ptrc_when_ns(&record->end->info.posix_timestamp);
	}
	record->duration_ns = (uint64_t)ptrc_when_subtract(end_ns, record->ns);
	add_pair(r, record);
}

/* Adds a wait that has no end, up to the end of its thread or of the trace. */
static void add_open_wait(struct ptrc_report *r, const struct span *span,
			  struct ptrc_report_record *record)
{
	r->classes[record->class].behind_count++;
	record->duration_ns = ptrc_waits_time_so_far(&r->waits, &span->span, &span->wait);
	add_pair(r, record);
}

/* Adds an event of a pair whose other event is missing. */
static void add_half(struct ptrc_report *r, struct ptrc_report_event *e, enum ptrc_span_fate fate)
{
	const struct type *type =
		ptrc_reader_type(&e->source->reader, e->info.posix_event_id)->of_sink;

	add_record(r, type->class,
		   (struct ptrc_report_record){.ns = ptrc_when_ns(&e->info.posix_timestamp),
					       .begin = e,
					       .lane = (uint32_t)e->lane,
					       .fate = (unsigned char)fate});
}

static void take(void *self, struct ptrc_span *span)
{
	struct ptrc_report *r = self;
	const struct ptrc_pair *pair = &r->pairs->list[span->pair];
	const struct ptrc_kept *k = &span->begin;
	const struct span *s = k->source ? (const struct span *)span : NULL;
	size_t class = s ? s->class
		       : ptrc_report_has_own_class(r, pair)
			       ? class_of_span(r, pair, &span->end->view)
			       : class_of_pair(r, pair);
	struct ptrc_report_class *c = &r->classes[class];
	enum ptrc_span_fate fate = span->fate;
	struct ptrc_report_record record = {
		.ns = span->ns,
		.class = (uint32_t) class,
		.lane = (uint32_t)(s ? span->lane : &r->lane->lane)->number,
		.fate = (unsigned char)fate,
	};
	bool is_open = ptrc_waits_take_end(&r->waits, span, s ? &s->wait : NULL, true);

	r->is_in_pair |= span->end != NULL;
	if (s)
		record.begin =
			copy_event(k->source, span->lane->number, &k->event, k->data, k->size);
	if (span->end)
		record.end = keep_event(r->source, r->lane->lane.number);
	if (fate == PTRC_SPAN_MEASURED) {
		record.duration_ns =
			(uint64_t)ptrc_when_subtract(ptrc_source_ns(r->source), record.ns);
		c->count++;
		add_length(c, record.duration_ns, record.ns);
		add_pair(r, &record);
		return;
	}
	if (is_open) {
		add_open_wait(r, s, &record);
		return;
	}
	if (is_cut_by_time(r, pair, fate)) {
		add_part(r, &record);
		return;
	}
	c->no_begin_count += fate == PTRC_SPAN_NO_BEGIN;
	c->no_end_count += fate == PTRC_SPAN_NO_END;
	c->cut_count += fate == PTRC_SPAN_CUT;
	if (record.begin)
		add_half(r, record.begin, fate);
	if (record.end)
		add_half(r, record.end, fate);
}

/* ---- times on a processor ---- */

static void end_run(struct ptrc_report *r, struct ptrc_report_lane *lane, int64_t begin_ns,
		    int64_t end_ns, struct ptrc_report_event *end)
{
	struct ptrc_report_event *begin = lane->running;
	uint64_t duration_ns = (uint64_t)ptrc_when_subtract(end_ns, begin_ns);
	size_t class = class_of_runs(r);

	lane->running = NULL;
	r->classes[class].count++;
	add_length(&r->classes[class], duration_ns, begin_ns);
	add_record(r, class,
		   (struct ptrc_report_record){.ns = begin_ns,
					       .duration_ns = duration_ns,
					       .begin = begin,
					       .end = end,
					       .lane = (uint32_t)lane->lane.number});
}

static void take_switch(struct ptrc_report *r, struct ptrc_report_lane *lane, bool is_in)
{
	struct ptrc_source *s = r->source;
	int64_t ns = ptrc_source_ns(s);

	if (lane->running && is_in) {
		free(lane->running);
		lane->running = NULL;
	}
	if (is_in)
		lane->running = keep_event(s, lane->lane.number);
	else if (lane->running)
		end_run(r, lane, ptrc_when_ns(&lane->running->info.posix_timestamp), ns,
			keep_event(s, lane->lane.number));
	else if (!lane->has_switched)
		/* The thread was running already when the first event was recorded. */
		end_run(r, lane, r->first_ns, ns, keep_event(s, lane->lane.number));
	lane->has_switched = true;
}

/* ---- samples ---- */

static void take_sample(struct ptrc_report *r, struct ptrc_source *s)
{
	uint32_t stack;

	if (!r->sample_count++)
		ptrc_flames_begin_samples(&r->flames, r->query);
	stack = ptrc_flames_sample(&r->flames, r->query, s, 0);
	if (stack)
		ptrc_flames_add(&r->flames, stack, 1);
}

/* ---- losses ---- */

static void add_loss(struct ptrc_report *r, struct ptrc_source *s, int64_t ns)
{
	size_t *last = &r->last_loss[s->order];

	if (r->loss_count >= LOSSES_MAX && *last) {
		r->loss_merged_count++;
		r->open_loss[s->order] = *last;
		return;
	}
	*ptrc_append(r->losses, r->loss_count) =
		(struct ptrc_report_loss){.source = s,
					  .first_ns = ns,
					  .last_ns = ns,
					  .is_damage = ptrc_reader_is_at_damage(&s->reader)};
	*last = r->loss_count;
	if (s->reader.event.posix_event_id != POSIX_TRACE_RESUME)
		r->open_loss[s->order] = r->loss_count;
}

/* Removes the source's open loss, which ended before the selected time. */
static void drop_loss(struct ptrc_report *r, size_t order)
{
	size_t number = r->open_loss[order];

	memmove(&r->losses[number - 1], &r->losses[number],
		(r->loss_count - number) * sizeof(*r->losses));
	r->loss_count--;
	for (size_t i = 0; i < r->query->source_count; i++) {
		r->open_loss[i] -= r->open_loss[i] > number;
		r->last_loss[i] -= r->last_loss[i] > number;
	}
	r->last_loss[order] = 0;
}

/* Takes any event, as it may report a loss, end a loss, or be a START after a stop. The event may be outside the
 * selected time; a loss is shown only as far as it is within that time. */
static void take_loss(struct ptrc_report *r, struct ptrc_source *s)
{
	const struct ptrc_period *span = &r->query->select.span;
	int64_t event_ns = ptrc_source_ns(s);
	int64_t ns = event_ns < span->first  ? span->first
		     : event_ns > span->last ? span->last
					     : event_ns;
	size_t *open = &r->open_loss[s->order];
	bool is_loss = ptrc_reader_is_loss(&s->reader), is_open = *open;

	if (is_open && event_ns < span->first) {
		drop_loss(r, s->order);
	} else if (is_open) {
		r->losses[*open - 1].last_ns = ns;
		extend(r, r->losses[*open - 1].first_ns);
		extend(r, ns);
	}
	*open = 0;
	if (event_ns > span->last)
		return;
	if (!is_loss && !is_open && !ptrc_pairs_is_restart(r->pairs, s))
		return;
	r->all_gap_count++;
	r->gap_counts[s->order]++;
	if (!is_loss)
		return;
	/* A RESUME reports the same loss as the OVERFLOW before it, and ends it. */
	if (s->reader.event.posix_event_id == POSIX_TRACE_RESUME &&
	    (is_open || event_ns < span->first))
		return;
	add_loss(r, s, ns);
	if (event_ns >= span->first)
		extend(r, ns);
}

/* ---- the sink ---- */

/* If --around selects several windows of time, events between two windows are unknown: the ends and begins of other
 * pairs may be there. So the time between them counts as a loss, and pairs across it as cut. */
static void look_at_window(struct ptrc_report *r, int64_t ns)
{
	const struct ptrc_select *s = &r->query->select;

	if (!s->around || r->window >= s->window_count || s->windows[r->window].last >= ns)
		return;
	while (r->window < s->window_count && s->windows[r->window].last < ns)
		r->window++;
	if (!r->event_count)
		return;
	r->pairs->gap_count++;
	for (size_t i = 0; i < r->pairs->source_count; i++)
		if (r->pairs->sources[i])
			r->pairs->sources[i]->gap_count++;
	r->all_gap_count++;
	for (size_t i = 0; i < r->query->source_count; i++)
		r->gap_counts[i]++;
}

static void add(void *self, struct ptrc_source *s)
{
	struct ptrc_report *r = self;
	struct ptrc_query *q = r->query;
	int64_t ns = ptrc_source_ns(s);
	struct ptrc_report_lane *lane;
	const struct type *type;
	struct ptrc_report_class *c;
	bool is_switch;

	if (!s->is_for_loss && !ptrc_query_is_due(q))
		return;
	if (q->is_rehearsal)
		return;
	look_at_window(r, ns);
	if (!s->is_for_loss)
		extend(r, ns);
	take_loss(r, s);
	if (s->is_for_loss) {
		ptrc_pairs_take(r->pairs, s);
		return;
	}
	if (s->view.layout)
		ptrc_view_decode(&s->view);
	lane = (struct ptrc_report_lane *)ptrc_lanes_find(r->lanes, s);
	take_lane(lane, ns, r->gap_counts[s->order],
		  ptrc_reader_type(&s->reader, s->reader.event.posix_event_id)->is_of_keeper);
	r->event_count++;
	type = type_of(r, s);
	c = &r->classes[type->class];
	if (c->count++ && c->gap_count == r->all_gap_count)
		add_length(c, (uint64_t)ptrc_when_subtract(ns, c->last_ns), c->last_ns);
	c->last_ns = ns;
	c->gap_count = r->all_gap_count;
	r->source = s;
	r->lane = lane;
	ptrc_waits_take(&r->waits, s);
	if (type->role == ROLE_SAMPLE && r->is_text)
		take_sample(r, s);
	is_switch = type->role == ROLE_SWITCH_IN || type->role == ROLE_SWITCH_OUT;
	r->is_in_pair = false;
	ptrc_pairs_take(r->pairs, s);
	/* All threads beyond the limit of lanes share one lane (is_rest). They may run at the same time, so their
	 * switches stay single events. */
	if (is_switch && !lane->lane.is_rest) {
		take_switch(r, lane, type->role == ROLE_SWITCH_IN);
		return;
	}
	if (r->is_in_pair || r->is_text)
		return;
	add_record(r, type->class,
		   (struct ptrc_report_record){.ns = ns,
					       .begin = keep_event(s, lane->lane.number),
					       .lane = (uint32_t)lane->lane.number});
}

/* With --last, the events are read twice. In the first pass add() keeps nothing, so there is
 * nothing to forget. */
static void restart(void *self)
{
	(void)self;
}

static void finish(void *self, bool is_read)
{
	struct ptrc_report *r = self;

	(void)is_read;
	for (size_t i = 0; i < r->lanes->count; i++) {
		struct ptrc_report_lane *lane = ptrc_report_lane(r, i);

		if (lane->running && lane->gap_count == r->gap_counts[lane->lane.source->order])
			end_run(r, lane, ptrc_when_ns(&lane->running->info.posix_timestamp),
				r->last_ns, NULL);
		free(lane->running);
		lane->running = NULL;
	}
	ptrc_waits_end(&r->waits, true);
	if (r->waits.open_count)
		extend(r, r->waits.last_ns);
	for (size_t i = 0; i < r->query->source_count; i++)
		if (r->open_loss[i]) {
			extend(r, r->losses[r->open_loss[i] - 1].first_ns);
			r->losses[r->open_loss[i] - 1].last_ns = r->last_ns;
		}
}

static bool tell(void *self)
{
	const struct ptrc_report *r = self;

	return !ptrc_pairs_report_missing(r->pairs, r->query, false);
}

static bool end(void *self)
{
	struct ptrc_report *r = self;
	bool is_written = r->write(r);

	ptrc_flames_report(&r->flames);
	return is_written;
}

void ptrc_report_begin(struct ptrc_report *r)
{
	size_t count = r->query->source_count;

	r->query->sink = (struct ptrc_sink){
		.self = r,
		.event = add,
		.begin = begin_span,
		.span = take,
		.finish = finish,
		.restart = restart,
		.tell = tell,
		.end = end,
		.takes_losses = true,
		.needs_trace = true,
	};
	ptrc_spans_begin(&r->pairs->spans, r->query, sizeof(struct span));
	r->pairs->is_without_rows = !r->is_text;
	r->waits.query = r->query;
	r->waits.pairs = r->pairs;
	r->lanes = &r->pairs->spans.lanes;
	r->lanes->lane_size = sizeof(struct ptrc_report_lane);
	r->lanes->max = r->lanes_max;
	r->open_loss = ptrc_cli_allocate(count * sizeof(*r->open_loss));
	r->last_loss = ptrc_cli_allocate(count * sizeof(*r->last_loss));
	r->gap_counts = ptrc_cli_allocate(count * sizeof(*r->gap_counts));
}

void ptrc_report_free(struct ptrc_report *r)
{
	for (size_t i = 0; i < r->class_count; i++) {
		struct ptrc_report_class *c = &r->classes[i];

		for (size_t k = 0; k < c->record_count; k++) {
			free(c->records[k].begin);
			free(c->records[k].end);
		}
		free(c->records);
		free(c->name);
		ptrc_quantiles_free(&c->lengths);
	}
	for (size_t i = 0; i < r->lanes->count; i++)
		free(ptrc_report_lane(r, i)->dropped);
	free(r->classes);
	free(r->class_of_pair);
	ptrc_table_free(&r->functions);
	ptrc_table_free(&r->places);
	free(r->losses);
	free(r->open_loss);
	free(r->last_loss);
	free(r->gap_counts);
	ptrc_flames_free(&r->flames);
	ptrc_waits_forget(&r->waits);
	ptrc_pairs_forget(r->pairs);
	ptrc_spans_free(&r->pairs->spans);
}
