/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/pair_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/nearest.h"
#include "src/base/scope.h"

/* The greatest number of rows of a histogram, one for each power of two; and the length of its longest bar. */
enum { POWERS = 64, BAR_COLUMNS = 40 };

/* The columns of text, with two blanks before each, as formats that lack their last letters. */
#define NUMBER "  %8"
#define DURATION "  %9"

/* ---- text ---- */

void ptrc_pair_put_name(struct ptrc_buffer *b, const struct ptrc_pair *pair)
{
	ptrc_text_put(b, pair->name, strlen(pair->name));
	if (pair->by_text) {
		ptrc_buffer_text(b, " by ");
		ptrc_text_put(b, pair->by_text, strlen(pair->by_text));
	}
}

/* Appends the first column of a row: with --per, the value of its field; otherwise the label or the function that
 * the row is for, or else the name of the pair. */
static void put_subject(struct ptrc_buffer *b, const struct ptrc_pairs *p,
			const struct ptrc_pair_row *row)
{
	bool has_value = row->value.kind != PTRC_VALUE_NONE;

	if (p->per)
		ptrc_buffer_text(b, has_value ? "  " : "  (none)");
	if (!p->per && has_value)
		ptrc_text_put(b, row->value.bytes, row->value.size);
	else if (has_value)
		ptrc_value_text(b, &row->value, true);
	else if (!p->per)
		ptrc_pair_put_name(b, &p->list[row->pair]);
}

static void put_histogram(struct ptrc_buffer *b, const struct ptrc_quantiles *q)
{
	uint64_t counts[POWERS];
	uint64_t most = 0;
	unsigned int first = POWERS;
	unsigned int last = 0;

	for (unsigned int i = 0; i < POWERS; i++) {
		counts[i] = ptrc_quantiles_octave(q, i);
		if (!counts[i])
			continue;
		first = first < i ? first : i;
		last = i;
		most = most > counts[i] ? most : counts[i];
	}
	for (unsigned int i = first; i <= last; i++) {
		const char *from = ptrc_duration_text(i ? (int64_t)(UINT64_C(1) << i) : 0, false);
		/* The length of the bar. A count other than 0 gets a bar of at least 1, below. */
		uint64_t bar = (uint64_t)((double)counts[i] / (double)most * BAR_COLUMNS);

		ptrc_buffer_format(b, "  %*s%s" NUMBER PRIu64, 17 - (int)strlen(from), "from ",
				   from, counts[i]);
		if (counts[i])
			ptrc_buffer_text(b, "  ");
		for (uint64_t k = 0; counts[i] && k < (bar ? bar : 1); k++)
			ptrc_buffer_char(b, '#');
		ptrc_buffer_char(b, '\n');
	}
}

static void put_row(struct ptrc_buffer *b, const struct ptrc_pairs *p,
		    const struct ptrc_pair_row *row, size_t columns)
{
	const struct ptrc_quantiles *q = &row->lengths;
	size_t begin = b->used;

	put_subject(b, p, row);
	ptrc_buffer_blanks(b, (long)columns - (long)(b->used - begin));
	ptrc_buffer_format(b, NUMBER PRIu64 NUMBER PRIu64 NUMBER PRIu64 NUMBER PRIu64 DURATION "s",
			   q->count, row->halves.begins, row->halves.ends, row->halves.cut,
			   ptrc_quantiles_text(q, q->least));
	for (size_t i = 0; i < PTRC_QUANTILES_SHOWN; i++) {
		uint64_t length = ptrc_quantiles_at(q, ptrc_quantiles_shown[i].per_million);
		char text[32];

		snprintf(text, sizeof(text), "%s%s", ptrc_quantiles_is_exact(q) ? "" : "~",
			 ptrc_quantiles_text(q, length));
		ptrc_buffer_format(b, DURATION "s", text);
	}
	ptrc_buffer_format(b, DURATION "s" DURATION "s\n", ptrc_quantiles_text(q, q->greatest),
			   ptrc_quantiles_text(q, q->total));
}

static void put_head(struct ptrc_buffer *b, size_t columns)
{
	ptrc_buffer_format(b, "%-*s" NUMBER "s" NUMBER "s" NUMBER "s" NUMBER "s" DURATION "s",
			   (int)columns, "pair", "count", "no end", "no begin", "cut", "min");
	for (size_t i = 0; i < PTRC_QUANTILES_SHOWN; i++)
		ptrc_buffer_format(b, DURATION "s", ptrc_quantiles_shown[i].name);
	ptrc_buffer_format(b, DURATION "s" DURATION "s\n", "max", "total");
}

static size_t longest_subject(const struct ptrc_pairs *p, struct ptrc_pair_row **rows, size_t count)
{
	PTRC_SCOPED_BUFFER subject = PTRC_BUFFER_INIT;
	size_t columns = 4;

	for (size_t i = 0; i < count; i++) {
		subject.used = 0;
		put_subject(&subject, p, rows[i]);
		columns = columns > subject.used ? columns : subject.used;
	}
	return columns;
}

void ptrc_pairs_put_text(struct ptrc_buffer *b, const struct ptrc_pairs *p, bool has_histogram)
{
	size_t count;
	PTRC_SCOPED struct ptrc_pair_row **rows = ptrc_pairs_rows(p, &count);
	size_t columns = longest_subject(p, rows, count);

	put_head(b, columns);
	for (size_t i = 0; i < count; i++) {
		/* With --per, a line with the name of the pair precedes the rows of the pair. */
		if (p->per && (!i || rows[i - 1]->pair != rows[i]->pair)) {
			ptrc_pair_put_name(b, &p->list[rows[i]->pair]);
			ptrc_buffer_char(b, '\n');
		}
		put_row(b, p, rows[i], columns);
		if (has_histogram)
			put_histogram(b, &rows[i]->lengths);
	}
}

/* ---- JSON ---- */

static void put_histogram_json(struct ptrc_json *j, const struct ptrc_quantiles *q)
{
	ptrc_json_open(j, "histogram", '[');
	for (unsigned int i = 0; i < POWERS; i++) {
		uint64_t count = ptrc_quantiles_octave(q, i);

		if (!count)
			continue;
		ptrc_json_open(j, NULL, '{');
		ptrc_json_u64(j, "from_ns", i ? UINT64_C(1) << i : 0);
		ptrc_json_u64(j, "count", count);
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

void ptrc_pair_json(struct ptrc_json *j, const struct ptrc_pair *pair)
{
	ptrc_json_bytes(j, "begin", pair->begin, strlen(pair->begin));
	ptrc_json_bytes(j, "end", pair->end, strlen(pair->end));
	if (pair->by_text)
		ptrc_json_text(j, "by", pair->by_text);
}

void ptrc_pair_halves_json(struct ptrc_json *j, const struct ptrc_pair_halves *h,
			   uint64_t without_key)
{
	ptrc_json_u64(j, "unmatched_begins", h->begins);
	ptrc_json_u64(j, "unmatched_ends", h->ends);
	ptrc_json_u64(j, "cut", h->cut);
	ptrc_json_u64(j, "without_key", without_key);
}

void ptrc_pairs_json(const struct ptrc_pairs *p, struct ptrc_json *j, bool has_histogram)
{
	size_t count;
	PTRC_SCOPED struct ptrc_pair_row **rows = ptrc_pairs_rows(p, &count);

	ptrc_json_open(j, "pairs", '[');
	for (size_t i = 0; i < count; i++) {
		const struct ptrc_pair_row *row = rows[i];
		const struct ptrc_pair *pair = &p->list[row->pair];

		ptrc_json_open(j, NULL, '{');
		ptrc_pair_json(j, pair);
		if (p->per)
			ptrc_value_json(j, "value", &row->value);
		ptrc_json_u64(j, "count", row->lengths.count);
		ptrc_pair_halves_json(j, &row->halves, pair->without_key);
		if (row->lengths.count)
			ptrc_quantiles_json(j, &row->lengths);
		if (has_histogram)
			put_histogram_json(j, &row->lengths);
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

/* ---- messages ---- */

static void put_count(struct ptrc_buffer *b, uint64_t count, const char *one, const char *several)
{
	if (count)
		ptrc_buffer_format(b, "%s%llu %s", b->used ? ", " : "", (unsigned long long)count,
				   count == 1 ? one : several);
}

void ptrc_pairs_report_halves(const struct ptrc_pairs *p, const char *rest, const char *cut)
{
	PTRC_SCOPED_BUFFER what = PTRC_BUFFER_INIT;

	for (size_t i = 0; i < p->count; i++) {
		const struct ptrc_pair_halves *h = &p->list[i].halves;

		what.used = 0;
		put_count(&what, h->begins, "begin without end", "begins without end");
		put_count(&what, h->ends, "end without begin", "ends without begin");
		put_count(&what, h->cut, cut, cut);
		if (!what.used)
			continue;
		ptrc_cli_message(p->list[i].name, "%.*s%s", (int)what.used, what.bytes, rest);
	}
}

/* If the text, which was taken for the X of X.begin..X.end, has the names of two event types with something else than
 * ".." between them, returns them as a pair is written. Else returns NULL. */
static char *find_two_types(const struct ptrc_query *q, const char *text)
{
	static const char marks[] = "->, ";

	for (const char *at = strpbrk(text, marks); at; at = strpbrk(at, marks)) {
		PTRC_SCOPED char *first = ptrc_cli_copy_bytes(text, (size_t)(at - text));

		at += strspn(at, marks);
		if (ptrc_query_has_type(q, first, NULL) && ptrc_query_has_type(q, at, NULL))
			return ptrc_cli_text("%s..%s", first, at);
	}
	return NULL;
}

/* Returns false, after a message, if no source has the type of the pair's first or last events. */
static bool has_types(const struct ptrc_query *q, const struct ptrc_pair *p, const char *thing)
{
	struct ptrc_nearest nearest = {0};
	char proposal[4 * TRACE_EVENT_NAME_MAX];
	bool has_begin = p->has_begin || ptrc_query_has_type(q, p->begin, NULL);
	bool has_end = p->has_end || ptrc_query_has_type(q, p->end, NULL);
	PTRC_SCOPED char *pair = has_begin || has_end ? NULL : find_two_types(q, p->name);

	if (pair)
		ptrc_nearest_offer(&nearest, pair, pair);
	if (!has_begin && !pair)
		ptrc_query_has_type(q, p->begin, &nearest);
	if (!has_end && !pair)
		ptrc_query_has_type(q, p->end, &nearest);
	ptrc_nearest_text(&nearest, proposal, sizeof(proposal));
	if (!has_begin && !has_end && strcmp(p->begin, p->end) != 0)
		ptrc_cli_message(thing, "no event type is named '%s' or '%s'%s", p->begin, p->end,
				 proposal);
	else if (!has_begin || !has_end)
		ptrc_cli_message(thing, "no event type is named '%s'%s",
				 has_begin ? p->end : p->begin, proposal);
	return has_begin && has_end;
}

static void report_without_key(const struct ptrc_pair *pair, const char *thing)
{
	char cut[64] = "";

	if (pair->cut_keys)
		snprintf(cut, sizeof(cut), "; %llu of them had their data cut",
			 (unsigned long long)pair->cut_keys);
	ptrc_cli_message(thing, "%llu event%s of %s ha%s no %s, and %s left out%s",
			 (unsigned long long)pair->without_key, pair->without_key == 1 ? "" : "s",
			 pair->name, pair->without_key == 1 ? "s" : "ve", pair->by_text,
			 pair->without_key == 1 ? "was" : "were", cut);
}

/* Offers `nearest` the names of the fields in the layout of this event type. The offered texts are
 * added to `names`, so that the caller can free them later. */
static void offer_fields(struct ptrc_nearest *nearest, struct ptrc_cli_texts *names,
			 const char *wanted, const struct ptrc_query *q, const char *event)
{
	for (size_t i = 0; i < q->source_count; i++) {
		struct ptrc_source *s = &q->sources[i];
		trace_event_id_t id = ptrc_reader_find_type(&s->reader, event);
		const struct ptrc_layout *layout =
			id ? ptrc_view_layout(&s->view, &q->layouts, id) : NULL;
		const struct ptrc_layout_field *f;

		for (size_t k = 0; layout && (f = ptrc_layout_field(layout, k)); k++) {
			if (!*f->name)
				continue;
			ptrc_cli_add_text(names, ptrc_cli_text("data.%s", f->name));
			ptrc_nearest_offer(nearest, wanted, names->texts[names->count - 1]);
		}
	}
}

/* Prints a message that no first event of a pair has the field of the option. It proposes similar names of fields of
 * these events. */
static void say_without_value(const char *option, const struct ptrc_field *f,
			      const struct ptrc_pairs *p, const struct ptrc_query *q)
{
	char name[sizeof("data.") + PTRC_FIELD_TEXT_MAX];
	char proposal[4 * TRACE_EVENT_NAME_MAX];
	struct ptrc_cli_texts names = {0};
	struct ptrc_nearest nearest = {0};
	bool is_member = f->id == PTRC_FIELD_MEMBER;

	snprintf(name, sizeof(name), "%s%s", is_member ? "data." : "",
		 is_member ? f->text : ptrc_field_name(f->id));
	for (size_t i = 0; is_member && i < p->count; i++)
		offer_fields(&nearest, &names, name, q, p->list[i].begin);
	ptrc_cli_message(option, "no event that begins a pair has %s%s", name,
			 ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
	ptrc_cli_free_copies(&names);
}

/* Returns false, after messages, if there are pairs but none of their first events has the field of --per, or if none
 * has the field of --label-by. */
static bool has_values(const struct ptrc_pairs *p, const struct ptrc_query *q)
{
	bool has_per = !p->per || !p->rows.count;
	bool has_label = !p->label || p->label->has_any;

	for (const struct ptrc_pair_row *row = NULL; (row = ptrc_table_next(&p->rows, row));)
		has_per |= row->value.kind != PTRC_VALUE_NONE;
	if (!has_per)
		say_without_value("--per", p->per, p, q);
	if (!has_label)
		say_without_value("--label-by", &p->label->field, p, q);
	return has_per && has_label;
}

/* Whether a source has an event type that makes a pair by its name, even if its events are not selected. */
static bool has_pair_names(const struct ptrc_query *q)
{
	for (size_t i = 0; i < q->source_count; i++)
		for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++)
			if (q->sources[i].reader.types[id] &&
			    ptrc_pair_has_name(&q->sources[i].reader.types[id]->name))
				return true;
	return false;
}

void ptrc_pair_report_order(const struct ptrc_pair *pair, const char *thing, bool is_of_rule)
{
	const char *field = ptrc_common_name(&pair->common);
	PTRC_SCOPED char *advice = NULL;

	if (!field)
		return;
	advice = is_of_rule ? ptrc_cli_text("add 'by data.%s' to the rule", field)
			    : ptrc_cli_text("measure them with --pair='%s by data.%s'", pair->name,
					    field);
	if (pair->is_crossed)
		ptrc_cli_message(thing,
				 "%s: ends come in another order than they would nest, so the "
				 "durations are wrong; %s",
				 pair->name, advice);
	if (pair->is_across_threads)
		ptrc_cli_message(
			thing,
			"%s: begins and ends with the same data.%s are on different threads; %s",
			pair->name, field, advice);
}

/* Notes that no source has an event type of this name, which is one of the pair's. */
static void find_type(const struct ptrc_query *q, const struct ptrc_pair *pair, const char *name,
		      struct ptrc_missing *m)
{
	struct ptrc_nearest nearest = {0};
	char proposal[4 * TRACE_EVENT_NAME_MAX];

	if (ptrc_query_has_type(q, name, &nearest))
		return;
	ptrc_nearest_text(&nearest, proposal, sizeof(proposal));
	ptrc_missing_note(m, pair->name,
			  ptrc_cli_text("no event type is named '%s'%s", name, proposal));
}

void ptrc_pairs_find_missing_types(const struct ptrc_pairs *p, size_t count,
				   const struct ptrc_query *q, struct ptrc_missing *m)
{
	for (size_t i = 0; i < count; i++) {
		const struct ptrc_pair *pair = &p->list[i];

		find_type(q, pair, pair->begin, m);
		if (strcmp(pair->begin, pair->end) != 0)
			find_type(q, pair, pair->end, m);
	}
}

void ptrc_pairs_find_missing(const struct ptrc_pairs *p, struct ptrc_query *q,
			     struct ptrc_missing *m)
{
	for (size_t i = 0; i < p->given_count; i++) {
		const struct ptrc_pair *pair = &p->list[i];
		char *of_begin, *of_end;

		if (!pair->by_text || pair->has_key || !ptrc_query_has_type(q, pair->begin, NULL))
			continue;
		of_begin = ptrc_query_missing_member(q, &pair->by, pair->begin);
		of_end = of_begin ? ptrc_query_missing_member(q, &pair->by, pair->end) : NULL;
		if (of_end)
			ptrc_missing_note(m, pair->name, of_begin);
		else
			free(of_begin);
		free(of_end);
	}
}

/* If an expression of --where can hold for no pair, because it compares the field `pair` with names or patterns that
 * match none, prints a message for each of these. Returns whether there is one. */
static bool report_vain_names(const struct ptrc_pairs *p, const struct ptrc_query *q)
{
	bool is_any = false, is_name;

	for (size_t i = 0; i < q->select.where_count; i++) {
		struct ptrc_where *w = q->select.wheres[i];
		bool is_vain = true;
		const void *at = NULL;
		const char *missing;

		for (size_t k = 0; k < p->count; k++)
			is_vain &= !ptrc_where_try_name(w, PTRC_FIELD_PAIR, p->list[k].name,
							strlen(p->list[k].name));
		while (is_vain &&
		       (missing = ptrc_where_next_missing(w, PTRC_FIELD_PAIR, &at, &is_name))) {
			struct ptrc_nearest nearest = {0};
			char proposal[4 * TRACE_EVENT_NAME_MAX];

			for (size_t k = 0; k < p->count && is_name; k++)
				ptrc_nearest_offer(&nearest, missing, p->list[k].name);
			ptrc_cli_message(missing, "no pair has such a name%s",
					 ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
			is_any = true;
		}
	}
	return is_any;
}

/* If the field is one of the event that begins a pair, and no event of this type has it, but others may, returns a message
 * that says so, which the caller frees. Otherwise returns NULL. */
static char *missing_of_begin(struct ptrc_query *q, const struct ptrc_field *f, const char *event)
{
	struct ptrc_field field = *f;
	PTRC_SCOPED char *of_begin = NULL, *of_any = NULL;

	field.is_of_begin = false;
	of_begin = f->is_of_begin ? ptrc_query_missing_member(q, &field, event) : NULL;
	of_any = of_begin ? ptrc_query_missing_member(q, &field, NULL) : NULL;
	return !of_begin || of_any
		       ? NULL
		       : ptrc_cli_text("no event that begins a pair has data.%s; that of the event "
				       "that ends it is end.data.%s",
				       f->text, f->text);
}

/* If no pair was shown, and an expression of --where can hold for none because no event that begins a pair has a member
 * of its data, prints a message for each of these members. Returns whether there is one. */
static bool report_vain_members(const struct ptrc_pairs *p, struct ptrc_query *q)
{
	struct ptrc_missing missing = {0};

	for (size_t i = 0; i < p->count && !q->shown_count; i++) {
		missing.source++;
		for (size_t k = 0; k < q->select.where_count; k++) {
			struct ptrc_cli_texts vain = {0};

			ptrc_where_find_vain(q->select.wheres[k], missing_of_begin, q,
					     p->list[i].begin, &vain);
			for (size_t m = 0; m < vain.count; m++)
				ptrc_missing_note(&missing, "--where",
						  ptrc_cli_copy(vain.texts[m]));
			ptrc_cli_free_copies(&vain);
		}
	}
	return ptrc_missing_report(&missing, p->count);
}

bool ptrc_pairs_report_missing(const struct ptrc_pairs *p, struct ptrc_query *q, bool has_asked)
{
	const char *thing = q->source_count == 1 ? q->sources->reader.path : NULL;
	struct ptrc_missing missing = {0};
	bool is_missing;

	for (size_t i = 0; i < q->source_count; i++)
		ptrc_reader_load_names(&q->sources[i].reader);
	if (has_asked && p->is_by_name && !p->count && !has_pair_names(q)) {
		ptrc_cli_message(thing, "no event type has a name that ends with .begin or .end");
		return true;
	}
	is_missing = !has_values(p, q);
	is_missing |= report_vain_names(p, q) || report_vain_members(p, q);
	ptrc_pairs_find_missing(p, q, &missing);
	is_missing |= ptrc_missing_report(&missing, 1);
	for (size_t i = 0; i < p->count; i++) {
		const struct ptrc_pair *pair = &p->list[i];

		if (i < p->given_count)
			is_missing |= !has_types(q, pair, thing);
		if (pair->without_key)
			report_without_key(pair, thing);
		ptrc_pair_report_order(pair, thing, false);
		/* A key that no event has is treated like an event type that does not exist: something that the
		 * user named is missing. */
		is_missing |= !pair->has_key && pair->without_key > pair->cut_keys;
	}
	return is_missing;
}
