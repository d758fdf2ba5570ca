/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/scope.h"
#include "src/fields/when.h"
#include "src/query/losses.h"
#include "src/query/where.h"
#include "src/spans/key.h"

/* Two event types whose names are equal up to these suffixes make a pair. */
static const char begin_suffix[] = ".begin";
static const char end_suffix[] = ".end";

/* The event types that begin and end a program. */
static const char exec_name[] = "os.exec";
static const char exit_name[] = "os.exit";

/* The first events with one key whose last events have not come yet: a list of their spans, which
 * starts with the latest one and is linked by .before. */
struct open_begins {
	struct ptrc_table_entry entry;
	struct ptrc_span *latest;
};

/* ---- pairs as users write them ---- */

/* Moves the start and the end of a text so that the blanks around it are left out. */
static void trim(const char **text, size_t *size)
{
	while (*size && **text == ' ') {
		++*text;
		--*size;
	}
	while (*size && (*text)[*size - 1] == ' ')
		--*size;
}

/* Makes a pair of two event types. The pair then owns the two names. */
static struct ptrc_pair make_pair(char *begin, char *end)
{
	size_t size = strlen(begin), suffix = strlen(begin_suffix);
	size_t stem =
		size > suffix && !strcmp(begin + size - suffix, begin_suffix) ? size - suffix : 0;

	return (struct ptrc_pair){
		.name = stem && !strncmp(end, begin, stem) && !strcmp(end + stem, end_suffix)
				? ptrc_cli_copy_bytes(begin, stem)
				: ptrc_cli_text("%s..%s", begin, end),
		.begin = begin,
		.end = end,
	};
}

/* Finds the last " by " of the text. Returns NULL if there is none. */
static const char *find_by(const char *text)
{
	const char *found = NULL;

	for (const char *at = strstr(text, " by "); at; at = strstr(at + 1, " by "))
		found = at;
	return found;
}

void ptrc_pair_free(struct ptrc_pair *pair)
{
	free(pair->name);
	free(pair->begin);
	free(pair->end);
	free(pair->by_text);
}

bool ptrc_pair_read_names(const char *text, size_t size, char *names[2])
{
	static const char where_word[] = " where ";
	const char *where = memmem(text, size, where_word, sizeof(where_word) - 1);
	const char *last = text + size;
	const char *dots, *end;
	size_t end_size;

	where = where ? where : last;
	dots = memmem(text, (size_t)(where - text), "..", 2);
	if (!dots)
		dots = where + ptrc_where_find_word(where, (size_t)(last - where), "..", false);
	end = dots < last ? dots + 2 : where;
	end_size = (size_t)(last - end);
	size = (size_t)((dots < last ? dots : where) - text);
	trim(&text, &size);
	if (dots < last)
		trim(&end, &end_size);
	if (!size || (dots < last && !end_size))
		return false;
	if (dots < last) {
		names[0] = ptrc_cli_copy_bytes(text, size);
		names[1] = ptrc_cli_copy_bytes(end, end_size);
	} else {
		names[0] = ptrc_cli_text("%.*s%s%.*s", (int)size, text, begin_suffix, (int)end_size,
					 end);
		names[1] = ptrc_cli_text("%.*s%s", (int)size, text, end_suffix);
	}
	return true;
}

bool ptrc_pair_read(struct ptrc_pair *pair, const char *text, struct ptrc_cli_reason *why)
{
	const char *dots = strstr(text, "..");
	const char *by = find_by(dots ? dots : text);
	char *names[2];

	*pair = (struct ptrc_pair){0};
	if (!ptrc_pair_read_names(text, by ? (size_t)(by - text) : strlen(text), names))
		return ptrc_cli_because(
			why,
			"'%.80s' is not X, for X.begin..X.end, or BEGIN..END, or one of these by FIELD",
			text);
	*pair = make_pair(names[0], names[1]);
	if (by) {
		size_t size = strlen(by += strlen(" by "));

		trim(&by, &size);
		pair->by_text = ptrc_cli_copy_bytes(by, size);
	}
	return true;
}

bool ptrc_pairs_add(struct ptrc_pairs *p, const char *text, const struct ptrc_layouts *layouts,
		    struct ptrc_cli_reason *why)
{
	struct ptrc_pair pair;

	if (!ptrc_pair_read(&pair, text, why))
		return false;
	if (pair.by_text && !ptrc_field_find_key(pair.by_text, layouts, &pair.by, why)) {
		ptrc_pair_free(&pair);
		return false;
	}
	*ptrc_append(p->list, p->count) = pair;
	p->given_count = p->count;
	return true;
}

void ptrc_pairs_add_types(struct ptrc_pairs *p, const char *begin, const char *end)
{
	for (size_t i = 0; i < p->count; i++)
		if (!strcmp(p->list[i].begin, begin) && !strcmp(p->list[i].end, end))
			return;
	*ptrc_append(p->list, p->count) = make_pair(ptrc_cli_copy(begin), ptrc_cli_copy(end));
}

/* Makes the key of an event of the pair. If the event lacks the field that is the key, counts the event and
 * returns false. */
static bool make_key(struct ptrc_pairs *p, size_t number, size_t source, struct ptrc_view *view,
		     struct ptrc_key *k)
{
	struct ptrc_pair *pair = &p->list[number];

	if (ptrc_key_make(k, number, source, view, pair->by_text ? &pair->by : NULL)) {
		pair->has_key = true;
		return true;
	}
	/* An event may be both a first and a last event of the pair. */
	if (pair->keyless_event == p->event_count)
		return false;
	pair->keyless_event = p->event_count;
	pair->without_key++;
	pair->cut_keys += ptrc_view_is_cut(view) && ptrc_view_has_lost(view, &pair->by);
	return false;
}

static const struct ptrc_layout_field *member_of(const struct ptrc_layout *layout, const char *name)
{
	const struct ptrc_layout_field *f;

	for (size_t i = 0; layout && (f = ptrc_layout_field(layout, i)); i++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

bool ptrc_pair_may_have_key(struct ptrc_view *view, const struct ptrc_layouts *layouts,
			    trace_event_id_t id)
{
	const struct ptrc_layout *layout = ptrc_view_layout(view, layouts, id);

	return layout && (layout->is_json || member_of(layout, PTRC_PAIR_KEY));
}

bool ptrc_pair_has_key(struct ptrc_view *view, const struct ptrc_field *key)
{
	struct ptrc_value v;

	if (!view->layout || !view->layout->is_json)
		return true;
	v = ptrc_view_value(view, key);
	return !ptrc_value_is_missing(&v);
}

/* Finds an event type by its name. Returns 0 if it is not known. A session announces a type only
 * with the first event of the type, so for a session only the type of the latest event is
 * compared. */
static trace_event_id_t find_type(const struct ptrc_view *view, const char *name)
{
	const struct ptrc_reader *r = view->reader;

	if (r->source)
		return strcmp(r->types[r->event.posix_event_id]->name.text, name)
			       ? 0
			       : r->event.posix_event_id;
	return ptrc_reader_find_type(r, name);
}

/* Called once for a pair, when an event of one of its types is first read. If the user has named no key for
 * the pair, chooses it: the member `key` if both events have it, else the thread. If it is the thread, the common
 * field is sought from now on. */
static void bind(struct ptrc_pair *pair, struct ptrc_view *view)
{
	trace_event_id_t ids[2] = {find_type(view, pair->begin), find_type(view, pair->end)};
	struct ptrc_cli_reason why;
	bool has_key = true;

	pair->is_bound = true;
	/* Events of the operating system are paired by thread: their fields do not identify pairs. */
	if (!view->layouts || pair->by_text || ptrc_pair_is_function(pair) ||
	    ptrc_is_os_name(pair->begin))
		return;
	for (size_t i = 0; i < 2; i++)
		if (ids[i])
			has_key &= ptrc_pair_may_have_key(view, view->layouts, ids[i]);
	if (has_key) {
		ptrc_field_find("data." PTRC_PAIR_KEY, view->layouts, &pair->by, &why);
		/* It is the field of each event, not that of the pair's first event. */
		pair->by.is_of_begin = false;
		pair->is_own_key = ptrc_pair_has_key(view, &pair->by);
	}
	if (pair->is_own_key)
		pair->by_text = ptrc_cli_copy("data." PTRC_PAIR_KEY);
	else
		pair->common.state = PTRC_COMMON_SOUGHT;
}

/* How many begins is_crossed() compares with an end, and for how many ends look_elsewhere() searches. */
enum { LOOKS_MAX = 64 };

/* Whether the end that the view has read shares its value of the common field with an earlier open
 * begin, but not with the latest one. Then the two pairs do not nest, and both durations are
 * wrong. */
static bool is_crossed(struct ptrc_pair *pair, const struct ptrc_span *latest,
		       struct ptrc_view *view)
{
	struct ptrc_common *common = &pair->common;
	const struct ptrc_span *b = latest->before;
	uint64_t hashes[PTRC_COMMON_FIELDS] = {0};
	uint64_t hash;

	if (!b && common->state != PTRC_COMMON_SOUGHT)
		return false;
	ptrc_common_take(common, view, true, hashes);
	hash = hashes[common->found];
	if (!hash || hash == latest->hashes[common->found])
		return false;
	for (int i = 0; b && b->hashes[common->found] != hash;
	     b = i++ < LOOKS_MAX ? b->before : NULL)
		continue;
	return b;
}

/* For an end that has no open begin on its own thread: notes whether another thread has one with the same value of
 * the common field. */
static void look_elsewhere(struct ptrc_pairs *p, size_t number, struct ptrc_view *view)
{
	struct ptrc_pair *pair = &p->list[number];
	uint64_t hashes[PTRC_COMMON_FIELDS] = {0};
	size_t field;

	if (pair->is_across_threads || !strcmp(pair->begin, pair->end) ||
	    pair->look_count >= LOOKS_MAX)
		return;
	ptrc_common_take(&pair->common, view, true, hashes);
	field = pair->common.found;
	if (!hashes[field])
		return;
	pair->look_count++;
	for (const struct open_begins *open = NULL; (open = ptrc_table_next(&p->open, open));)
		for (const struct ptrc_span *b = open->latest; b && b->pair == number;
		     b = b->before)
			pair->is_across_threads |= b->hashes[field] == hashes[field];
}

/* ---- rows ---- */

static struct ptrc_pair_row *row_with(struct ptrc_pairs *p, size_t number,
				      const struct ptrc_value *v)
{
	struct ptrc_pair_row *row;
	struct ptrc_key k;
	size_t count = p->rows.count;

	ptrc_key_begin(&k, number);
	ptrc_key_add(&k, v);
	row = ptrc_table_find(&p->rows, k.bytes, k.size, sizeof(*row));
	ptrc_key_free(&k);
	if (p->rows.count > count) {
		row->pair = number;
		row->lengths.is_brief = p->is_live;
		row->value = ptrc_value_is_missing(v) ? (struct ptrc_value){0} : *v;
		row->value.raw = NULL;
		if (ptrc_value_has_bytes(&row->value))
			row->value.bytes = ptrc_cli_copy_bytes(v->bytes, v->size);
	}
	return row;
}

/* Returns the row for a pair to which the event belongs, or NULL if rows are not wanted. */
static struct ptrc_pair_row *row_of(struct ptrc_pairs *p, size_t number, struct ptrc_view *view)
{
	struct ptrc_value v = {0};

	if (p->is_without_rows)
		return NULL;
	if (p->per)
		v = ptrc_view_value(view, p->per);
	else if (p->has_functions && ptrc_pair_is_function(&p->list[number]))
		v = ptrc_view_value(view, &(struct ptrc_field){.id = PTRC_FIELD_FUNCTION});
	else if (p->list[number].plain_row)
		return p->list[number].plain_row;
	else
		return p->list[number].plain_row = row_with(p, number, &v);
	return row_with(p, number, &v);
}

/* Returns the row for a pair that begins with this event, as row_of() does. But if each label of --label-by has a
 * row of its own and the event has a label, returns the row of the label. */
static struct ptrc_pair_row *row_of_begin(struct ptrc_pairs *p, size_t number,
					  struct ptrc_view *view)
{
	PTRC_SCOPED_BUFFER name = PTRC_BUFFER_INIT;
	bool has_label = ptrc_pair_put_labelled_name(&name, p, &p->list[number], view);
	struct ptrc_value label = {.kind = PTRC_VALUE_TEXT, .bytes = name.bytes, .size = name.used};
	struct ptrc_pair_row *row = has_label && p->label->has_rows ? row_with(p, number, &label)
								    : row_of(p, number, view);

	if (has_label)
		p->label->has_any = true;
	return row;
}

void ptrc_pair_halves_count(struct ptrc_pair_halves *h, enum ptrc_span_fate fate)
{
	h->begins += fate == PTRC_SPAN_NO_END;
	h->ends += fate == PTRC_SPAN_NO_BEGIN;
	h->cut += fate == PTRC_SPAN_CUT;
}

static void count(struct ptrc_pair_row *row, enum ptrc_span_fate fate, uint64_t length)
{
	if (!row)
		return;
	ptrc_pair_halves_count(&row->halves, fate);
	if (fate == PTRC_SPAN_MEASURED)
		ptrc_quantiles_add(&row->lengths, length);
}

/* ---- events ---- */

/* Returns the counter of the losses that may have cut this pair: that of the source if the key is the thread, else
 * that of all sources. */
static const uint64_t *gaps_of(const struct ptrc_pairs *p, const struct ptrc_pair *pair,
			       size_t source)
{
	return pair->by_text ? &p->gap_count : &p->sources[source]->gap_count;
}

static void take_begin(struct ptrc_pairs *p, size_t number, struct ptrc_source *source)
{
	struct ptrc_pair *pair = &p->list[number];
	struct ptrc_view *view = &source->view;
	struct open_begins *open;
	struct ptrc_span *b;
	struct ptrc_key k;

	pair->has_begin = true;
	if (!make_key(p, number, source->order, view, &k))
		return;
	open = ptrc_table_find(&p->open, k.bytes, k.size, sizeof(*open));
	ptrc_key_free(&k);
	b = ptrc_span_make(&p->spans, source);
	b->before = open->latest;
	b->order = p->begin_count++;
	b->ns = ptrc_source_ns(source);
	b->gaps = gaps_of(p, pair, source->order);
	b->gap_count = *b->gaps;
	b->row = row_of_begin(p, number, view);
	ptrc_common_take(&pair->common, view, false, b->hashes);
	open->latest = b;
	b->pair = number;
	ptrc_span_begin(&p->spans, b);
}

/* Whether a log may lack events between these two events of a pair by a field, because it begins late or ends early. */
static bool is_unknown(const struct ptrc_pair *pair, int64_t begin_ns, struct ptrc_source *end)
{
	return pair->by_text && !(ptrc_period_has(end->known, begin_ns) &&
				  ptrc_period_has(end->known, ptrc_source_ns(end)));
}

/* Ends the span of an open begin. If events were lost since it started, its fate becomes CUT, not `fate`. */
static void end_span(struct ptrc_pairs *p, struct ptrc_span *b, enum ptrc_span_fate fate,
		     struct ptrc_source *end)
{
	if (b->gap_count != *b->gaps || (end && is_unknown(&p->list[b->pair], b->ns, end)))
		fate = PTRC_SPAN_CUT;
	count(b->row, fate, end ? (uint64_t)ptrc_when_subtract(ptrc_source_ns(end), b->ns) : 0);
	ptrc_span_end(&p->spans, b, b->pair, fate, end);
	ptrc_span_free(&p->spans, b);
}

static void take_end(struct ptrc_pairs *p, size_t number, struct ptrc_source *source)
{
	struct ptrc_pair *pair = &p->list[number];
	struct ptrc_view *view = &source->view;
	struct open_begins *open;
	struct ptrc_span *b;
	struct ptrc_key k;

	pair->has_end = true;
	if (!make_key(p, number, source->order, view, &k))
		return;
	open = ptrc_table_seek(&p->open, k.bytes, k.size);
	ptrc_key_free(&k);
	if (!open && ptrc_pair_is_program(pair))
		return;
	if (!open) {
		enum ptrc_span_fate fate =
			*gaps_of(p, pair, source->order) ? PTRC_SPAN_CUT : PTRC_SPAN_NO_BEGIN;

		look_elsewhere(p, number, view);
		count(row_of(p, number, view), fate, 0);
		ptrc_span_end(&p->spans, NULL, number, fate, source);
		return;
	}
	b = open->latest;
	pair->is_crossed = pair->is_crossed || is_crossed(pair, b, view);
	open->latest = b->before;
	end_span(p, b, PTRC_SPAN_MEASURED, source);
	if (!open->latest)
		ptrc_table_remove(&p->open, open);
}

/* Adds a role of an event type in a pair. Ends precede begins in the list: if events of a type both end and begin
 * pairs, each first ends what an earlier event began. */
static struct ptrc_pair_roles *add_role(struct ptrc_pair_roles *r, size_t pair, bool is_end)
{
	r = ptrc_cli_reallocate(r, sizeof(*r) + (r->count + 1) * sizeof(*r->roles));
	if (is_end && r->count)
		memmove(r->roles + 1, r->roles, r->count * sizeof(*r->roles));
	r->roles[is_end ? 0 : r->count] = (struct ptrc_pair_role){pair, is_end};
	r->count++;
	return r;
}

/* Whether the name has the suffix. If so, stores the size of what precedes the suffix. */
static bool has_suffix(const struct ptrc_reader_name *name, const char *suffix, size_t *stem_size)
{
	size_t size = strlen(suffix);

	if (!name->is_known || name->size <= size ||
	    strcmp(name->text + name->size - size, suffix) != 0)
		return false;
	*stem_size = name->size - size;
	return true;
}

static bool is_of_program(const struct ptrc_reader_name *name)
{
	return name->is_known && (!strcmp(name->text, exec_name) || !strcmp(name->text, exit_name));
}

bool ptrc_pair_has_name(const struct ptrc_reader_name *name)
{
	size_t size;

	return is_of_program(name) || has_suffix(name, begin_suffix, &size) ||
	       has_suffix(name, end_suffix, &size);
}

/* If the event type makes a pair by its name, adds that pair, unless it exists. */
static void find_by_name(struct ptrc_pairs *p, const struct ptrc_reader_name *name)
{
	PTRC_SCOPED char *begin = NULL, *end = NULL;
	size_t size;

	if (p->is_without_os && ptrc_is_os_name(name->text))
		return;
	if (is_of_program(name)) {
		for (size_t i = 0; i < p->count; i++)
			if (ptrc_pair_is_program(&p->list[i]))
				return;
		*ptrc_append(p->list, p->count) =
			make_pair(ptrc_cli_copy(exec_name), ptrc_cli_copy(exit_name));
	}
	if (!has_suffix(name, begin_suffix, &size) && !has_suffix(name, end_suffix, &size))
		return;
	begin = ptrc_cli_text("%.*s%s", (int)size, name->text, begin_suffix);
	end = ptrc_cli_text("%.*s%s", (int)size, name->text, end_suffix);
	ptrc_pairs_add_types(p, begin, end);
}

static struct ptrc_pair_roles *find_roles(struct ptrc_pairs *p, struct ptrc_type *type,
					  struct ptrc_view *view)
{
	const struct ptrc_reader_name *name = &type->name;
	struct ptrc_pair_roles *r = ptrc_cli_reallocate(type->of_pairs, sizeof(*r));

	*r = (struct ptrc_pair_roles){.generation = p->generation};
	if (p->is_by_name)
		find_by_name(p, name);
	for (size_t i = 0; i < p->count && name->is_known; i++) {
		if (!strcmp(p->list[i].begin, name->text))
			r = add_role(r, i, false);
		/* An os.exec begins a program, and ends the program that the process executed before. */
		if (!strcmp(p->list[i].end, name->text) ||
		    (ptrc_pair_is_program(&p->list[i]) && !strcmp(p->list[i].begin, name->text)))
			r = add_role(r, i, true);
	}
	for (size_t i = 0; i < r->count; i++)
		if (!p->list[r->roles[i].pair].is_bound)
			bind(&p->list[r->roles[i].pair], view);
	return type->of_pairs = r;
}

bool ptrc_pairs_is_restart(const struct ptrc_pairs *p, const struct ptrc_source *source)
{
	return source->order < p->source_count && p->sources[source->order] &&
	       ptrc_reader_is_restart(&source->reader, &p->sources[source->order]->stop);
}

void ptrc_pairs_take(struct ptrc_pairs *p, struct ptrc_source *source)
{
	struct ptrc_reader *reader = &source->reader;
	struct ptrc_pair_source *s;
	struct ptrc_type *type = ptrc_reader_type(reader, reader->event.posix_event_id);
	struct ptrc_pair_roles *r = type->of_pairs;
	size_t role_count;
	bool is_open = ptrc_reader_is_loss_open(reader);
	bool is_restart;
	size_t i = 0;

	while (source->order >= p->source_count)
		*ptrc_append(p->sources, p->source_count) = NULL;
	if (!p->sources[source->order])
		p->sources[source->order] = ptrc_cli_allocate(sizeof(*s));
	s = p->sources[source->order];
	if (!r || r->generation != p->generation)
		r = find_roles(p, type, &source->view);
	role_count = source->is_for_loss ? 0 : r->count;
	p->event_count++;
	/* Unlike a loss, which an event of its own reports, this one cuts also the pairs that the event ends. */
	if (reader->is_after_lack) {
		p->gap_count++;
		s->gap_count++;
	}
	for (; i < role_count && r->roles[i].is_end; i++)
		take_end(p, r->roles[i].pair, source);
	/* A STOP, an OVERFLOW or an os.lost precedes the lost events, so the pairs that this event itself ends are
	 * not cut: they were ended above. The loss lasts until the next event of the source, a START or
	 * RESUME. Pairs that begin in other sources before that event may have lost their ends, too. If a call or
	 * command stopped the trace, the time until the next START counts as a loss only if there is a next START:
	 * a trace that ends after such a STOP lacks nothing. */
	is_restart = ptrc_reader_is_restart(reader, &s->stop);
	ptrc_reader_take_stop(reader, &s->stop);
	is_open |= ptrc_reader_will_restart(&source->restarts, &s->stop);
	if (is_restart || s->is_at_loss || is_open || ptrc_reader_is_loss(reader)) {
		p->gap_count++;
		s->gap_count++;
	}
	p->at_loss_count += (size_t)is_open - (size_t)s->is_at_loss;
	s->is_at_loss = is_open;
	for (; i < role_count; i++)
		take_begin(p, r->roles[i].pair, source);
	p->gap_count += p->at_loss_count > (size_t)s->is_at_loss;
}

static int compare_begins(const void *a, const void *b)
{
	const struct ptrc_span *s = *(struct ptrc_span *const *)a;
	const struct ptrc_span *t = *(struct ptrc_span *const *)b;

	return (s->order > t->order) - (s->order < t->order);
}

/* Ends the open begins in the order in which they came, because the order of the table is random. */
static void end_open(struct ptrc_pairs *p)
{
	PTRC_SCOPED struct ptrc_span **spans = NULL;
	size_t count = 0;

	for (const struct open_begins *open = NULL; (open = ptrc_table_next(&p->open, open));)
		for (struct ptrc_span *b = open->latest; b; b = b->before)
			*ptrc_append(spans, count) = b;
	ptrc_sort(spans, count, compare_begins);
	for (size_t i = 0; i < count; i++)
		end_span(p, spans[i], PTRC_SPAN_NO_END, NULL);
}

void ptrc_pairs_drop(struct ptrc_pairs *p, bool (*is_dropped)(const struct ptrc_span *))
{
	for (struct open_begins *open = ptrc_table_next(&p->open, NULL), *next; open; open = next) {
		struct ptrc_span **at = &open->latest;

		next = ptrc_table_next(&p->open, open);
		while (*at) {
			struct ptrc_span *b = *at;

			if (is_dropped && !is_dropped(b)) {
				at = &b->before;
				continue;
			}
			*at = b->before;
			ptrc_span_free(&p->spans, b);
		}
		if (!open->latest)
			ptrc_table_remove(&p->open, open);
	}
}

/* Makes rows for the pairs that the user gave and that had no events. */
static void make_given_rows(struct ptrc_pairs *p)
{
	for (size_t i = 0; i < p->given_count && !p->per && !p->is_without_rows; i++)
		if (!p->has_functions || !ptrc_pair_is_function(&p->list[i]))
			row_with(p, i, &(struct ptrc_value){0});
}

void ptrc_pairs_end(struct ptrc_pairs *p, bool is_read)
{
	const struct ptrc_query *q = p->spans.query;

	if (q && !is_read && q->shown_count >= q->first_count)
		ptrc_pairs_drop(p, NULL);
	end_open(p);
	ptrc_table_free(&p->open);
	make_given_rows(p);
}

/* ---- for a sink of spans ---- */

bool ptrc_pairs_select(struct ptrc_pairs *p, struct ptrc_span *s)
{
	struct ptrc_select *select = &p->spans.query->select;
	const struct ptrc_pair *pair = &p->list[s->pair];
	struct ptrc_view *begin = s->begin_view = ptrc_span_begin_view(&p->spans, s);
	struct ptrc_view *end = s->end_view = ptrc_span_end_view(&p->spans, s);
	int64_t last = end ? ptrc_when_ns(&end->reader->event.posix_timestamp) : s->ns;
	int64_t first = begin ? s->ns : last;
	bool is_open = s->fate == PTRC_SPAN_NO_END;

	if (begin && end) {
		end->begin = begin;
		end->pair = pair->name;
		end->duration_ns = (uint64_t)ptrc_when_subtract(last, first);
	}
	return ptrc_select_pair(select, begin, end, begin ? pair->end : pair->begin) &&
	       (!select->around ||
		ptrc_select_meets_window(select, first, is_open ? INT64_MAX : last));
}

void ptrc_pairs_count_half(struct ptrc_pairs *p, const struct ptrc_span *s)
{
	ptrc_pair_halves_count(&p->list[s->pair].halves, s->fate);
}

/* ---- results ---- */

static int compare(const void *a, const void *b)
{
	const struct ptrc_pair_row *s = *(struct ptrc_pair_row *const *)a;
	const struct ptrc_pair_row *t = *(struct ptrc_pair_row *const *)b;
	size_t size = s->entry.key_size < t->entry.key_size ? s->entry.key_size : t->entry.key_size;
	int order;

	if (s->pair != t->pair)
		return s->pair < t->pair ? -1 : 1;
	if (s->lengths.total != t->lengths.total)
		return s->lengths.total > t->lengths.total ? -1 : 1;
	/* Rows with equal totals are sorted by their keys, so that the same log always gives the same order. */
	order = memcmp(s->entry.key, t->entry.key, size);
	return order ? order : (s->entry.key_size > size) - (t->entry.key_size > size);
}

struct ptrc_pair_row **ptrc_pairs_rows(const struct ptrc_pairs *p, size_t *count)
{
	struct ptrc_pair_row **rows =
		ptrc_cli_allocate(p->rows.count * sizeof(struct ptrc_pair_row *));

	*count = 0;
	for (struct ptrc_pair_row *row = NULL; (row = ptrc_table_next(&p->rows, row));)
		rows[(*count)++] = row;
	ptrc_sort(rows, *count, compare);
	return rows;
}

static void free_row(struct ptrc_pair_row *row)
{
	ptrc_quantiles_free(&row->lengths);
	if (ptrc_value_has_bytes(&row->value))
		free((char *)row->value.bytes);
}

void ptrc_pairs_begin_rows(struct ptrc_pairs *p)
{
	size_t count;
	PTRC_SCOPED struct ptrc_pair_row **rows = ptrc_pairs_rows(p, &count);

	for (const struct open_begins *open = NULL;
	     p->per && (open = ptrc_table_next(&p->open, open));)
		for (struct ptrc_span *s = open->latest; s; s = s->before)
			s->row->has_open = true;
	for (size_t i = 0; i < count; i++) {
		struct ptrc_pair_row *row = rows[i];
		bool was_used = row->lengths.count || row->halves.ends || row->halves.cut;

		if (p->per && !was_used && !row->has_open) {
			free_row(row);
			ptrc_table_remove(&p->rows, row);
			continue;
		}
		ptrc_quantiles_free(&row->lengths);
		row->lengths.is_brief = p->is_live;
		row->halves = (struct ptrc_pair_halves){0};
		row->has_open = false;
	}
	make_given_rows(p);
}

/* Resets the pair, except for what the user has given. */
static void forget_pair(struct ptrc_pair *pair)
{
	struct ptrc_pair given = {.name = pair->name, .begin = pair->begin, .end = pair->end};

	if (pair->is_own_key) {
		free(pair->by_text);
	} else {
		given.by = pair->by;
		given.by_text = pair->by_text;
	}
	*pair = given;
}

void ptrc_pairs_forget(struct ptrc_pairs *p)
{
	ptrc_pairs_drop(p, NULL);
	ptrc_table_free(&p->open);
	for (struct ptrc_pair_row *row = NULL; (row = ptrc_table_next(&p->rows, row));)
		free_row(row);
	ptrc_table_free(&p->rows);
	p->generation++;
	for (size_t i = 0; i < p->source_count; i++)
		free(p->sources[i]);
	free(p->sources);
	p->sources = NULL;
	p->source_count = 0;
	while (p->count > p->given_count)
		ptrc_pair_free(&p->list[--p->count]);
	for (size_t i = 0; i < p->count; i++)
		forget_pair(&p->list[i]);
	p->gap_count = p->at_loss_count = 0;
}

/* ---- labels ---- */

/* The greatest size of a label. A label is a name, and the start of a longer value identifies it well enough. */
enum { LABEL_BYTES_MAX = 200 };

/* If more than LABEL_BYTES_MAX bytes follow `begin`, replaces the rest by "...", without cutting a UTF-8 character. */
static void cut(struct ptrc_buffer *b, size_t begin)
{
	size_t end = begin + LABEL_BYTES_MAX;

	if (b->used <= end)
		return;
	while (end > begin && ((unsigned char)b->bytes[end] & 0xC0) == 0x80)
		end--;
	b->used = end;
	ptrc_buffer_text(b, "...");
}

bool ptrc_pair_put_labelled_name(struct ptrc_buffer *b, const struct ptrc_pairs *p,
				 const struct ptrc_pair *pair, struct ptrc_view *view)
{
	struct ptrc_buffer room = PTRC_BUFFER_INIT;
	struct ptrc_value v;
	size_t begin;

	if (!p->label || ptrc_pair_is_function(pair) || ptrc_pair_is_program(pair))
		return false;
	v = ptrc_view_value(view, &p->label->field);
	ptrc_value_take_name(&v);
	/* A null in JSON becomes a value of kind NONE here, and gives no label. */
	ptrc_value_settle(&v, &room);
	if (v.kind == PTRC_VALUE_NONE)
		return false;
	ptrc_buffer_text(b, pair->name);
	ptrc_buffer_text(b, ": ");
	begin = b->used;
	if (v.kind == PTRC_VALUE_TEXT)
		ptrc_buffer_bytes(b, v.bytes, v.size);
	else
		ptrc_value_text(b, &v, true);
	cut(b, begin);
	ptrc_buffer_free(&room);
	return true;
}

bool ptrc_pair_may_be_wrong(const struct ptrc_pair *pair)
{
	return !pair->is_bound || (pair->common.state != PTRC_COMMON_NONE && !pair->is_crossed &&
				   !pair->is_across_threads);
}

bool ptrc_pair_is_function(const struct ptrc_pair *pair)
{
	return !strcmp(pair->begin, "function.begin");
}

bool ptrc_pair_is_program(const struct ptrc_pair *pair)
{
	return !pair->by_text && !strcmp(pair->begin, exec_name) && !strcmp(pair->end, exit_name);
}

void ptrc_pair_put_whole_name(struct ptrc_buffer *b, const struct ptrc_pair *pair)
{
	ptrc_buffer_format(b, "%s..%s%s%s", pair->begin, pair->end, pair->by_text ? " by " : "",
			   pair->by_text ? pair->by_text : "");
}
