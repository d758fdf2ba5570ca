/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/report/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "src/base/json.h"
#include "src/report/columns.h"
#include "src/report/page_text.h"
#include "src/spans/wait_report.h"
#include "src/text/event_format.h"

enum {
	/* Rows for overlapping pairs in a lane. If more pairs overlap, they share the last row. */
	ROWS_MAX = 48,
	/* The columns of a histogram: one for each power of two of nanoseconds. */
	OCTAVES = 64,
};

/* A record with the keys by which records are sorted: first place_of(), then the time. */
struct item {
	uint64_t place;
	int64_t ns;
	struct ptrc_report_record *record;
};

/* A column: a field of the events of a class. The two events of a pair have separate columns. */
struct field {
	const char *name;
	/* i, u: numbers; x: hexadecimal; b: bool; e: enum; f: double; g: float; s: text; j: JSON; a: a place in the
	 * program; l: a lane; t: a flag; z: a stack */
	char kind;
	bool is_end;
	unsigned char unit;
	const struct ptrc_layout_field *model;
	struct ptrc_report_column column;
};

/* Used for the first events of the records of a class, and again for their last events: the layout of the event that
 * was put last and, for each field of it, the index of its column in .fields of struct page; SIZE_MAX for padding. */
struct side {
	const struct ptrc_layout *layout;
	size_t *fields;
};

/* An address in code; the entry's key has the address and its process. */
struct place {
	struct ptrc_table_entry entry;
	/* 1 + the number of the text that the page shows for the address; 0 until the text is made. */
	uint64_t text;
};

struct page {
	struct ptrc_report *report;
	const struct ptrc_page_options *options;
	/* JSON with everything except the records and their data. */
	struct ptrc_buffer meta;
	/* The records, in binary (put_records()). */
	struct ptrc_buffer records;
	/* The columns of the classes, and the tables of texts and stacks, in binary. */
	struct ptrc_buffer data;
	struct ptrc_report_texts texts;
	struct ptrc_report_texts stacks;
	struct ptrc_table places;
	/* Symbols that were found, one cache for each source. */
	struct ptrc_symbol_cache **caches;
	struct item *items;
	size_t item_count;
	struct field *fields;
	size_t field_count;
	struct side sides[2];
	struct ptrc_decoded decoded;
	struct ptrc_buffer text;
};

static uint64_t offset_of(const struct page *p, int64_t ns)
{
	return (uint64_t)ptrc_when_subtract(ns, p->report->first_ns);
}

/* ---- records by lane ---- */

static int compare(const void *a, const void *b)
{
	const struct item *s = a;
	const struct item *t = b;

	if (s->place != t->place)
		return s->place < t->place ? -1 : 1;
	if (s->ns != t->ns)
		return s->ns < t->ns ? -1 : 1;
	/* A pair comes before the pairs within it. */
	return (s->record->duration_ns < t->record->duration_ns) -
	       (s->record->duration_ns > t->record->duration_ns);
}

static void sort(struct page *p)
{
	bool is_sorted = true;

	for (size_t i = 1; i < p->item_count && is_sorted; i++)
		is_sorted = compare(&p->items[i - 1], &p->items[i]) <= 0;
	if (!is_sorted)
		qsort(p->items, p->item_count, sizeof(*p->items), compare);
}

/* Returns the sort key: the lane, then the kind (events, runs, pairs), then the row. */
static uint64_t place_of(const struct ptrc_report *r, const struct ptrc_report_record *record)
{
	enum ptrc_report_kind kind = r->classes[record->class].kind;
	unsigned int order = kind == PTRC_REPORT_EVENTS ? 0 : kind == PTRC_REPORT_RUNS ? 1 : 2;

	return (uint64_t)record->lane << 16 | order << 8 | record->row;
}

/* Puts pairs that overlap into different rows: a pair is shown below those that contain it. */
static void set_rows(struct page *p)
{
	int64_t ends[ROWS_MAX];
	uint64_t place = UINT64_MAX;
	size_t row_count = 0;

	for (size_t i = 0; i < p->item_count; i++) {
		struct ptrc_report_record *record = p->items[i].record;
		size_t row = 0;

		if (p->items[i].place != place)
			row_count = 0;
		place = p->items[i].place;
		if ((place >> 8 & 0xff) != 2)
			continue;
		while (row < row_count && ends[row] > record->ns)
			row++;
		if (row == ROWS_MAX)
			row--;
		if (row == row_count)
			row_count++;
		ends[row] = ptrc_when_add(record->ns, (int64_t)record->duration_ns);
		record->row = (unsigned char)row;
	}
	for (size_t i = 0; i < p->item_count; i++)
		p->items[i].place = place_of(p->report, p->items[i].record);
}

static void collect_items(struct page *p)
{
	struct ptrc_report *r = p->report;

	p->items = ptrc_cli_allocate((r->record_count + 1) * sizeof(*p->items));
	for (size_t i = 0; i < r->class_count; i++)
		for (size_t k = 0; k < r->classes[i].record_count; k++) {
			struct ptrc_report_record *record = &r->classes[i].records[k];

			record->row = 0;
			p->items[p->item_count++] =
				(struct item){place_of(r, record), record->ns, record};
		}
	sort(p);
	set_rows(p);
	sort(p);
}

/* Returns the index after the last item of this place. The items of the place start at `at`. */
static size_t end_of(const struct page *p, size_t at, uint64_t place)
{
	while (at < p->item_count && p->items[at].place == place)
		at++;
	return at;
}

static size_t put_items(struct page *p, size_t at, size_t end, unsigned int order)
{
	struct ptrc_buffer *b = &p->records;
	int64_t before = p->report->first_ns;

	ptrc_buffer_varint(b, end - at);
	for (; at < end; at++) {
		const struct ptrc_report_record *record = p->items[at].record;

		ptrc_buffer_varint(b, (uint64_t)ptrc_when_subtract(record->ns, before));
		before = record->ns;
		if (order)
			ptrc_buffer_varint(b, record->duration_ns);
		if (order != 1)
			ptrc_buffer_varint(b, (uint64_t)record->class << 2 | record->fate);
	}
	return end;
}

static void put_dropped(struct ptrc_buffer *b, const uint32_t *dropped)
{
	size_t count = 0, before = 0;

	for (size_t i = 0; dropped && i < PTRC_REPORT_BUCKETS; i++)
		count += dropped[i] != 0;
	ptrc_buffer_varint(b, count);
	for (size_t i = 0; count && i < PTRC_REPORT_BUCKETS; i++) {
		if (!dropped[i])
			continue;
		ptrc_buffer_varint(b, i - before);
		ptrc_buffer_varint(b, dropped[i]);
		before = i;
	}
}

static void put_records(struct page *p)
{
	size_t at = 0;

	for (size_t i = 0; i < p->report->lanes->count; i++) {
		uint64_t place = (uint64_t)i << 16;
		size_t last, rows;

		at = put_items(p, at, end_of(p, at, place), 0);
		at = put_items(p, at, end_of(p, at, place | 1 << 8), 1);
		for (last = at; last < p->item_count && p->items[last].place >> 16 == i;)
			last++;
		rows = last > at ? (p->items[last - 1].place & 0xff) + 1 : 0;
		ptrc_buffer_varint(&p->records, rows);
		for (size_t row = 0; row < rows; row++)
			at = put_items(p, at, end_of(p, at, place | 2 << 8 | row), 2);
		put_dropped(&p->records, ptrc_report_lane(p->report, i)->dropped);
	}
}

/* ---- data ---- */

static const struct ptrc_symbol *symbol_of(struct page *p, const struct ptrc_report_event *e,
					   uint64_t address)
{
	static const struct ptrc_symbol none;
	const struct ptrc_reader *r = &e->source->reader;
	struct timespec time;
	unsigned long process;

	if (!p->options->symbols)
		return &none;
	time = ptrc_reader_log_time_of(r, &e->info.posix_timestamp);
	if (posixtrace_log_find_process(r->trace, e->info.posix_pid, &time, &process))
		return &none;
	return ptrc_symbols_find(p->options->symbols, &p->caches[e->source->order], r->trace,
				 process, address, false);
}

/*
 * Returns the number of the text for an address: "function (file:line)", as far as it is known; for
 * a frame of a stack, only the function. If is_exact, the address is that of the instruction
 * itself; otherwise it is the one after a call. The texts are found by process and address only. So
 * if a process executes another program that uses the same address, both may get the text of one of
 * them.
 */
static uint64_t number_of_place(struct page *p, const struct ptrc_report_event *e, uint64_t address,
				bool is_exact, bool is_frame)
{
	struct {
		uint64_t address;
		size_t source;
		pid_t pid;
		int kind;
	} key = {address, e->source->order, e->info.posix_pid, 2 * is_exact + is_frame};
	struct place *place = ptrc_table_find(&p->places, &key, sizeof(key), sizeof(*place));
	const struct ptrc_symbol *s;
	struct ptrc_buffer b = PTRC_BUFFER_INIT;

	if (place->text)
		return place->text - 1;
	s = symbol_of(p, e, address + is_exact);
	if (s->function)
		ptrc_text_put(&b, s->function, strlen(s->function));
	else
		ptrc_buffer_hex(&b, address);
	if (s->file && !is_frame) {
		ptrc_buffer_text(&b, " (");
		ptrc_text_put(&b, s->file, strlen(s->file));
		ptrc_buffer_format(&b, ":%d)", s->line);
	}
	place->text = ptrc_report_text_number(&p->texts, b.bytes, b.used) + 1;
	ptrc_buffer_free(&b);
	return place->text - 1;
}

/* Finds a column of the current class in p->fields, or adds it. Stores its index in *number unless `number` is NULL. */
static struct ptrc_report_column *column(struct page *p, const char *name, char kind, bool is_end,
					 const struct ptrc_layout_field *model, size_t *number)
{
	unsigned char unit = model ? model->unit : PTRC_UNIT_NONE;
	struct field *f;
	size_t i;

	for (i = 0; i < p->field_count; i++) {
		f = &p->fields[i];
		if (f->is_end == is_end && f->kind == kind && f->unit == unit &&
		    !strcmp(f->name, name))
			break;
	}
	if (i == p->field_count) {
		p->fields = ptrc_cli_reallocate(p->fields, (i + 1) * sizeof(*p->fields));
		p->fields[i] = (struct field){
			.name = name, .kind = kind, .is_end = is_end, .unit = unit, .model = model};
		p->fields[i].column.is_signed = kind == 'i';
		p->fields[i].column.is_float = kind == 'f' || kind == 'g';
		p->field_count++;
	}
	if (number)
		*number = i;
	return &p->fields[i].column;
}

static char kind_of(const struct ptrc_layout_field *f, bool is_sample)
{
	if (f->count)
		return is_sample && !strcmp(f->name, "stack") ? 'z' : 's';
	if (ptrc_layout_is_code((enum ptrc_layout_kind)f->kind))
		return 'a';
	switch (f->kind) {
	case PTRC_LAYOUT_UNSIGNED:
		return f->member_count ? 'e' : 'u';
	case PTRC_LAYOUT_SIGNED:
		return f->member_count ? 'e' : 'i';
	case PTRC_LAYOUT_HEX:
		return 'x';
	case PTRC_LAYOUT_BOOL:
		return 'b';
	case PTRC_LAYOUT_FLOAT:
		return f->item_size == sizeof(float) ? 'g' : 'f';
	case PTRC_LAYOUT_JSON:
		return 'j';
	default:
		return 's';
	}
}

static void learn_layout(struct page *p, const struct ptrc_layout *layout, bool is_end,
			 bool is_sample)
{
	struct side *s = &p->sides[is_end];
	const struct ptrc_layout_field *f;

	if (s->layout == layout)
		return;
	s->layout = layout;
	for (size_t i = 0; (f = ptrc_layout_field(layout, i)); i++) {
		s->fields = ptrc_cli_reallocate(s->fields, (i + 1) * sizeof(*s->fields));
		s->fields[i] = SIZE_MAX;
		if (f->kind != PTRC_LAYOUT_PADDING)
			column(p, f->name, kind_of(f, is_sample), is_end, f, &s->fields[i]);
	}
}

static uint64_t number_of_stack(struct page *p, const struct ptrc_report_event *e,
				const struct ptrc_value *array)
{
	struct ptrc_buffer numbers = PTRC_BUFFER_INIT;
	struct ptrc_value v;
	uint64_t stack;

	for (uint64_t i = 0;; i++) {
		v = (struct ptrc_value){0};
		ptrc_value_element(array, i, &v);
		if (v.kind == PTRC_VALUE_NONE)
			break;
		ptrc_buffer_varint(&numbers, number_of_place(p, e, v.u, !i, true));
	}
	stack = ptrc_report_text_number(&p->stacks, numbers.bytes, numbers.used);
	ptrc_buffer_free(&numbers);
	return stack;
}

static void put_value(struct page *p, struct field *f, size_t row,
		      const struct ptrc_report_event *e, const struct ptrc_value *v)
{
	uint64_t number;

	if (v->kind == PTRC_VALUE_NONE)
		return;
	if (f->kind == 'z') {
		number = number_of_stack(p, e, v);
	} else if (f->kind == 'a') {
		number = number_of_place(p, e, v->u, f->model->kind == PTRC_LAYOUT_CODE, false);
	} else if (f->kind != 's' && f->kind != 'j') {
		memcpy(&number, &v->u, sizeof(number));
	} else {
		p->text.used = 0;
		if (v->kind == PTRC_VALUE_TEXT)
			ptrc_text_put(&p->text, v->bytes, v->size);
		else
			ptrc_value_text(&p->text, v, true);
		number = ptrc_report_text_number(&p->texts, p->text.bytes, p->text.used);
	}
	ptrc_report_column_add(&f->column, row, number);
}

/* Makes a kept event the latest event of its source's view and reader, so that functions for views can be
 * used for the event. The source was read to its end, so its true latest event is no longer needed. */
static struct ptrc_view *look_at(const struct ptrc_report_event *e)
{
	struct ptrc_view *v = &e->source->view;

	v->reader->event = e->info;
	v->reader->data = e->data;
	v->reader->size = e->size;
	v->layout = NULL;
	v->is_decoded = false;
	return v;
}

static void put_data(struct page *p, size_t row, const struct ptrc_report_event *e, bool is_end,
		     bool is_sample)
{
	trace_event_id_t id = e->info.posix_event_id;
	const struct ptrc_layout *layout = ptrc_reader_type(&e->source->reader, id)->layout;
	uint64_t address = (uintptr_t)e->info.posix_prog_address;

	if (address)
		ptrc_report_column_add(column(p, "from", 'a', is_end, NULL, NULL), row,
				       number_of_place(p, e, address, false, false));
	if (e->info.posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED)
		ptrc_report_column_add(column(p, "cut", 't', is_end, NULL, NULL), row, 1);
	if (layout) {
		struct ptrc_decoded *d = &p->decoded;

		learn_layout(p, layout, is_end, is_sample);
		ptrc_layout_decode(layout, e->data, e->size, d);
		for (size_t i = 0; i < d->size && ptrc_layout_field(layout, i); i++)
			if (p->sides[is_end].fields[i] != SIZE_MAX)
				put_value(p, &p->fields[p->sides[is_end].fields[i]], row, e,
					  &d->values[i]);
		if (d->error == PTRC_LAYOUT_FITS)
			return;
		ptrc_report_column_add(column(p, "does not fit", 't', is_end, NULL, NULL), row, 1);
	}
	if (!e->size)
		return;
	p->text.used = 0;
	ptrc_event_put_data(&p->text, look_at(e));
	ptrc_report_column_add(
		column(p, layout ? "all of the data" : "data", 's', is_end, NULL, NULL), row,
		ptrc_report_text_number(&p->texts, p->text.bytes, p->text.used));
}

/* Makes the columns of the class from its records: those of p->items whose indexes are in `places`. */
static void make_columns(struct page *p, const struct ptrc_report_class *c, const size_t *places,
			 size_t count)
{
	bool is_sample = c->kind == PTRC_REPORT_EVENTS && !strcmp(c->name, "os.sample");

	for (size_t row = 0; row < count; row++) {
		const struct ptrc_report_record *record = p->items[places[row]].record;

		if (record->begin)
			put_data(p, row, record->begin, false, is_sample);
		if (record->end)
			put_data(p, row, record->end, true, is_sample);
		if (record->end && record->end->lane != record->lane)
			ptrc_report_column_add(column(p, "ended by", 'l', true, NULL, NULL), row,
					       record->end->lane);
	}
	for (size_t i = 0; i < p->field_count; i++)
		ptrc_report_column_end(&p->fields[i].column, count);
}

static void free_columns(struct page *p)
{
	for (size_t i = 0; i < p->field_count; i++)
		ptrc_report_column_free(&p->fields[i].column);
	free(p->fields);
	p->fields = NULL;
	p->field_count = 0;
	for (size_t i = 0; i < 2; i++) {
		free(p->sides[i].fields);
		p->sides[i] = (struct side){0};
	}
}

/* ---- JSON ---- */

static void put_shown(struct page *p, struct ptrc_json *j, const char *key, const char *bytes,
		      size_t size)
{
	p->text.used = 0;
	ptrc_text_put(&p->text, bytes, size);
	ptrc_json_bytes(j, key, p->text.used ? p->text.bytes : "", p->text.used);
}

static void put_column_json(struct page *p, struct ptrc_json *j, const struct field *f)
{
	const struct ptrc_layout_field *model = f->model;
	size_t offset = p->data.used;
	bool is_wide;
	char form[2] = {0}, kind[2] = {f->kind};

	form[0] = ptrc_report_column_put(&p->data, &f->column, &is_wide);
	ptrc_json_open(j, NULL, '{');
	put_shown(p, j, "name", f->name, strlen(f->name));
	ptrc_json_text(j, "kind", kind);
	ptrc_json_bool(j, "end", f->is_end);
	if (f->unit)
		ptrc_json_text(j, "unit", ptrc_unit_word(f->unit));
	ptrc_json_text(j, "form", form);
	ptrc_json_u64(j, "at", offset);
	ptrc_json_bool(j, "gaps", f->column.has_missing);
	ptrc_json_bool(j, "wide", is_wide);
	ptrc_json_bool(j, "signed", f->column.is_signed);
	if (f->kind == 'e') {
		ptrc_json_open(j, "members", '[');
		for (size_t i = 0; i < model->member_count; i++) {
			/* The number is put as text, because JavaScript reads numbers as doubles,
			 * which cannot hold every number. */
			char number[24];

			snprintf(number, sizeof(number),
				 model->kind == PTRC_LAYOUT_SIGNED ? "%lld" : "%llu",
				 (unsigned long long)model->members[i].value);
			ptrc_json_text(j, NULL, number);
			put_shown(p, j, NULL, model->members[i].name,
				  strlen(model->members[i].name));
		}
		ptrc_json_close(j, ']');
	}
	ptrc_json_close(j, '}');
}

static void put_class_json(struct page *p, struct ptrc_json *j, const struct ptrc_report_class *c)
{
	const struct ptrc_quantiles *q = &c->lengths;

	ptrc_json_open(j, NULL, '{');
	put_shown(p, j, "name", c->name, c->name_size);
	ptrc_json_u64(j, "kind", c->kind);
	ptrc_json_u64(j, "count", c->count);
	ptrc_json_u64(j, "kept", c->record_count);
	ptrc_json_u64(j, "dropped", c->dropped_count);
	ptrc_json_u64(j, "least", c->least_ns);
	ptrc_json_u64(j, "no_begin", c->no_begin_count);
	ptrc_json_u64(j, "no_end", c->no_end_count);
	ptrc_json_u64(j, "cut", c->cut_count);
	ptrc_json_u64(j, "before", c->before_count);
	ptrc_json_u64(j, "behind", c->behind_count);
	if (q->count) {
		ptrc_json_u64(j, "total", q->total);
		ptrc_json_u64(j, "min", q->least);
		ptrc_json_u64(j, "p50", ptrc_quantiles_at(q, 500000));
		ptrc_json_u64(j, "p99", ptrc_quantiles_at(q, 990000));
		ptrc_json_u64(j, "max", q->greatest);
		ptrc_json_u64(j, "longest", offset_of(p, c->longest_ns));
		ptrc_json_open(j, "histogram", '[');
		for (unsigned int power = 0; power < OCTAVES; power++)
			ptrc_json_u64(j, NULL, ptrc_quantiles_octave(q, power));
		ptrc_json_close(j, ']');
	}
	ptrc_json_open(j, "columns", '[');
	for (size_t i = 0; i < p->field_count; i++)
		put_column_json(p, j, &p->fields[i]);
	ptrc_json_close(j, ']');
	ptrc_json_close(j, '}');
}

static void put_classes(struct page *p, struct ptrc_json *j)
{
	struct ptrc_report *r = p->report;
	size_t **places = ptrc_cli_allocate((r->class_count + 1) * sizeof(size_t *));
	size_t *counts = ptrc_cli_allocate((r->class_count + 1) * sizeof(*counts));

	for (size_t i = 0; i < r->class_count; i++) {
		places[i] = ptrc_cli_allocate((r->classes[i].record_count + 1) * sizeof(size_t));
		counts[i] = 0;
	}
	for (size_t i = 0; i < p->item_count; i++) {
		size_t class = p->items[i].record->class;

		places[class][counts[class]++] = i;
	}
	ptrc_json_open(j, "classes", '[');
	for (size_t i = 0; i < r->class_count; i++) {
		make_columns(p, &r->classes[i], places[i], counts[i]);
		put_class_json(p, j, &r->classes[i]);
		free_columns(p);
		free(places[i]);
	}
	ptrc_json_close(j, ']');
	free(places);
	free(counts);
}

static void put_log(struct page *p, struct ptrc_json *j, const struct ptrc_source *s)
{
	const char *name = ptrc_reader_shown_name(&s->reader);
	struct posixtrace_log_host h;
	struct ptrc_loss loss;

	ptrc_json_open(j, NULL, '{');
	put_shown(p, j, "path", s->reader.path, strlen(s->reader.path));
	put_shown(p, j, "name", name, strlen(name));
	ptrc_json_bool(j, "is_session", s->reader.source != NULL);
	ptrc_json_bool(j, "is_complete", !ptrc_losses_is_any(&s->losses) && !s->losses.read_error);
	ptrc_json_open(j, "missing", '[');
	for (size_t place = 0; ptrc_losses_next(&s->losses, &place, &loss);)
		if (loss.is_loss)
			ptrc_json_text(j, NULL, loss.text);
	ptrc_json_close(j, ']');
	if (!posixtrace_log_get_host(s->reader.trace, &h, sizeof(h))) {
		put_shown(p, j, "host", h.ph_name, strlen(h.ph_name));
		put_shown(p, j, "system", h.ph_system, strlen(h.ph_system));
		put_shown(p, j, "release", h.ph_release, strlen(h.ph_release));
		put_shown(p, j, "machine", h.ph_machine, strlen(h.ph_machine));
		put_shown(p, j, "zone", h.ph_time_zone, strlen(h.ph_time_zone));
		if (h.ph_has_utc_offset)
			ptrc_json_i64(j, "utc_offset_s", h.ph_utc_offset);
	}
	ptrc_json_close(j, '}');
}

static void put_lane(struct page *p, struct ptrc_json *j, const struct ptrc_report_lane *lane)
{
	struct posixtrace_log_process process;
	struct posixtrace_log_thread thread;
	unsigned long index;

	ptrc_json_open(j, NULL, '{');
	ptrc_json_u64(j, "log", lane->lane.source->order);
	ptrc_json_i64(j, "pid", lane->lane.pid);
	ptrc_json_i64(j, "tid", lane->lane.tid);
	ptrc_json_u64(j, "count", lane->count);
	ptrc_json_u64(j, "gap", lane->gap_ns);
	ptrc_json_u64(j, "gap_at", lane->gap_ns ? offset_of(p, lane->gap_begin_ns) : 0);
	if (lane->lane.is_rest)
		ptrc_json_bool(j, "is_rest", true);
	if (ptrc_lane_thread(&lane->lane, lane->last_ns, &thread))
		put_shown(p, j, "name", thread.pt_name, thread.pt_name_size);
	if (ptrc_lane_process(&lane->lane, lane->last_ns, &index, &process)) {
		put_shown(p, j, "process", process.pp_name, process.pp_name_size);
		if (process.pp_executable_size)
			put_shown(p, j, "executable", process.pp_executable,
				  process.pp_executable_size);
		if (process.pp_has_command_line && process.pp_command_line_size) {
			char line[PTRC_COMMAND_LINE_BYTES];

			put_shown(p, j, "command", line, ptrc_command_line(&process, line));
		}
	}
	ptrc_json_close(j, '}');
}

static void put_losses(struct page *p, struct ptrc_json *j)
{
	const struct ptrc_report *r = p->report;

	ptrc_json_open(j, "losses", '[');
	for (size_t i = 0; i < r->loss_count; i++) {
		const struct ptrc_report_loss *l = &r->losses[i];

		ptrc_json_open(j, NULL, '{');
		ptrc_json_u64(j, "log", l->source->order);
		ptrc_json_u64(j, "from", offset_of(p, l->first_ns));
		ptrc_json_u64(j, "to", offset_of(p, l->last_ns));
		ptrc_json_bool(j, "is_damage", l->is_damage);
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

static void put_table(struct page *p, struct ptrc_json *j, const char *key,
		      const struct ptrc_report_texts *t)
{
	ptrc_json_open(j, key, '{');
	ptrc_json_u64(j, "count", t->table.count);
	ptrc_json_u64(j, "at", p->data.used);
	ptrc_json_close(j, '}');
	ptrc_buffer_bytes(&p->data, t->bytes.bytes, t->bytes.used);
}

/* Puts the tables of waits, cut after PTRC_WAITS_ROWS rows, and the number of rows that each has uncut. */
static void put_waits(struct ptrc_json *j, const struct ptrc_waits *w)
{
	if (!ptrc_waits_has_any(w) && !w->has_switches)
		return;
	ptrc_json_open(j, "waits", '{');
	ptrc_json_bool(j, "has_any", ptrc_waits_has_any(w));
	ptrc_json_open(j, "rows", '{');
	ptrc_json_u64(j, "threads", w->threads.count);
	ptrc_json_u64(j, "still_waiting", w->open_count);
	for (size_t kind = 0; kind < PTRC_WAITS_KINDS; kind++)
		ptrc_json_u64(j, ptrc_waits_keys[kind], w->row_counts[kind]);
	ptrc_json_close(j, '}');
	ptrc_waits_json(j, w, PTRC_WAITS_ROWS);
	ptrc_json_close(j, '}');
}

static void put_meta(struct page *p)
{
	struct ptrc_report *r = p->report;
	struct ptrc_json j = {&p->meta, true};
	struct timespec now;
	char number[24];

	ptrc_json_open(&j, NULL, '{');
	ptrc_json_u64(&j, "version", 1);
	ptrc_json_text(&j, "generator", posixtrace_version());
	clock_gettime(CLOCK_REALTIME, &now);
	ptrc_json_time(&j, "made", &now);
	ptrc_json_open(&j, "arguments", '[');
	for (size_t i = 0; i < p->options->argument_count; i++)
		put_shown(p, &j, NULL, p->options->arguments[i], strlen(p->options->arguments[i]));
	ptrc_json_close(&j, ']');
	/* The number is put as text, because JavaScript would read it as a double, which cannot
	 * hold it exactly. */
	snprintf(number, sizeof(number), "%lld", (long long)r->first_ns);
	ptrc_json_text(&j, "begin_ns", number);
	ptrc_json_u64(&j, "span", offset_of(p, r->last_ns));
	ptrc_json_u64(&j, "events", r->event_count);
	ptrc_json_u64(&j, "kept", r->record_count);
	ptrc_json_u64(&j, "dropped", r->dropped_count);
	ptrc_json_u64(&j, "shift", r->shift);
	ptrc_json_u64(&j, "size_max", p->options->size_max);
	if (!p->options->symbols)
		ptrc_json_text(&j, "no_symbols", p->options->why_no_symbols);
	if (r->has_nameless && !r->query->symbols)
		ptrc_json_bool(&j, "is_without_names", true);
	ptrc_json_open(&j, "logs", '[');
	for (size_t i = 0; i < r->query->source_count; i++)
		put_log(p, &j, &r->query->sources[i]);
	ptrc_json_close(&j, ']');
	ptrc_json_open(&j, "lanes", '[');
	for (size_t i = 0; i < r->lanes->count; i++)
		put_lane(p, &j, ptrc_report_lane(r, i));
	ptrc_json_close(&j, ']');
	put_losses(p, &j);
	ptrc_json_u64(&j, "losses_merged", r->loss_merged_count);
	put_waits(&j, &r->waits);
	put_classes(p, &j);
	put_table(p, &j, "texts", &p->texts);
	put_table(p, &j, "stacks", &p->stacks);
	ptrc_json_close(&j, '}');
}

/* ---- the file ---- */

/* Puts JSON without '<', so that it can neither end the HTML element around it nor start a comment there. */
static void put_json(struct ptrc_buffer *b, const struct ptrc_buffer *json)
{
	const char *at = json->bytes, *end = at + json->used, *next;

	while ((next = memchr(at, '<', (size_t)(end - at)))) {
		ptrc_buffer_bytes(b, at, (size_t)(next - at));
		ptrc_buffer_text(b, "\\u003c");
		at = next + 1;
	}
	ptrc_buffer_bytes(b, at, (size_t)(end - at));
}

/* Makes a random text that marks this page's script and style. Browsers run nothing in the page that does not
 * have this mark. */
static void make_nonce(char nonce[33])
{
	unsigned char bytes[16];
	struct ptrc_buffer b = PTRC_BUFFER_INIT;

	while (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		if (errno != EINTR)
			ptrc_cli_refuse(NULL, "there are no random numbers: %s", strerror(errno));
	ptrc_buffer_hex_bytes(&b, bytes, sizeof(bytes));
	memcpy(nonce, b.bytes, 32);
	nonce[32] = '\0';
	ptrc_buffer_free(&b);
}

static void put_page(struct ptrc_buffer *b, const struct page *p)
{
	char nonce[33];

	make_nonce(nonce);
	ptrc_buffer_text(b, PTRC_REPORT_SIGNATURE "-->\n<html lang=\"en\">\n<head>\n"
						  "<meta charset=\"utf-8\">\n");
	ptrc_buffer_format(b,
			   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
			   "'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; base-uri 'none'; "
			   "form-action 'none'\">\n",
			   nonce, nonce);
	ptrc_buffer_text(b, ptrc_page_head);
	ptrc_buffer_format(b, "<style nonce=\"%s\">\n", nonce);
	ptrc_buffer_text(b, ptrc_page_style);
	ptrc_buffer_text(b, "</style>\n</head>\n");
	ptrc_buffer_text(b, ptrc_page_body);
	ptrc_buffer_text(b, "<script type=\"application/json\" id=\"meta\">");
	put_json(b, &p->meta);
	ptrc_buffer_text(b, "</script>\n<script type=\"text/plain\" id=\"records\">");
	ptrc_buffer_base64(b, p->records.bytes, p->records.used);
	ptrc_buffer_text(b, "</script>\n<script type=\"text/plain\" id=\"data\">");
	ptrc_buffer_base64(b, p->data.bytes, p->data.used);
	ptrc_buffer_format(b, "</script>\n<script nonce=\"%s\">\n", nonce);
	ptrc_buffer_text(b, ptrc_page_script);
	ptrc_buffer_text(b, "</script>\n</body>\n</html>\n");
}

/* Makes the whole file from the records that have not been dropped. */
static void make(struct ptrc_buffer *b, struct ptrc_report *r,
		 const struct ptrc_page_options *options)
{
	size_t count = r->query->source_count;
	struct page p = {.report = r, .options = options};

	p.caches = ptrc_cli_allocate(count * sizeof(struct ptrc_symbol_cache *));
	collect_items(&p);
	put_records(&p);
	put_meta(&p);
	put_page(b, &p);
	for (size_t i = 0; i < count; i++)
		free(p.caches[i]);
	free(p.caches);
	free(p.items);
	free(p.decoded.values);
	ptrc_table_free(&p.places);
	ptrc_report_texts_free(&p.texts);
	ptrc_report_texts_free(&p.stacks);
	ptrc_buffer_free(&p.meta);
	ptrc_buffer_free(&p.records);
	ptrc_buffer_free(&p.data);
	ptrc_buffer_free(&p.text);
}

bool ptrc_page_put(struct ptrc_buffer *b, struct ptrc_report *r,
		   const struct ptrc_page_options *options)
{
	for (;;) {
		size_t least = r->record_count;

		b->used = 0;
		make(b, r, options);
		if (b->used <= options->size_max)
			break;
		if (!least) {
			ptrc_cli_message(NULL,
					 "the report takes %zu bytes even without single events, "
					 "which is more than --max-size",
					 b->used);
			return false;
		}
		/* Estimates the number of records that fit, from the size so far, but a bit too low. The loop
		 * repeats this until the page is small enough. */
		least = (size_t)((double)least * 0.95 * (double)options->size_max /
				 (double)b->used);
		while (r->record_count > least && ptrc_report_thin(r))
			;
	}
	if (r->dropped_count)
		ptrc_cli_message(
			NULL,
			"the report leaves out %llu of %llu events and pairs, the shortest "
			"pairs and some of the most frequent events, and only counts them: "
			"--max-size, --since, --until and --event let more be in it",
			(unsigned long long)r->dropped_count,
			(unsigned long long)(r->dropped_count + r->record_count));
	return true;
}
