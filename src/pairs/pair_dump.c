/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/pairs/pair_dump.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/heap.h"
#include "src/cli/output.h"
#include "src/pairs/pair_report.h"
#include "src/view/when.h"

enum {
	/* Output is written in pieces of about this size. */
	WRITE_SIZE = 65536,
	/* The columns of "999.999ms", and what a name does not widen its column beyond. */
	DURATION_COLUMNS = 9,
	NAME_COLUMNS_MAX = 40,
};

/* What is kept of a begin until its end comes. */
struct kept {
	struct ptrc_source *source;
	struct posix_trace_event_info event;
	struct ptrc_reader_gap gap;
	int64_t since_before;
	size_t size;
	unsigned char data[];
};

/* The line of one of the longest pairs. */
struct line {
	uint64_t duration_ns;
	/* The pairs that were found before it. */
	uint64_t number;
	struct ptrc_buffer text;
};

/* Begins and ends of a pair that the conditions meet and that are not shown. */
struct unshown {
	uint64_t begins;
	uint64_t ends;
	uint64_t cut;
};

/* A view of a begin: a copy of the reader of its source, which has read something else by now. */
struct begin {
	struct ptrc_reader reader;
	struct ptrc_view view;
};

/* The columns of text get as wide as what was put into them. */
struct widths {
	size_t log;
	size_t pid;
	size_t tid;
	size_t source;
	size_t name;
};

struct ptrc_pair_dump {
	struct ptrc_dump *dump;
	struct ptrc_pairs *pairs;
	/* The source of the event that is taken now. */
	struct ptrc_source *source;
	/* By the order of the sources; null: not needed yet. */
	struct begin **begins;
	/* By the number of the pair. */
	struct unshown *unshown;
	size_t unshown_count;
	struct widths widths;
	/* The longest pairs so far, the shortest of them on top; its room doubles. */
	struct line **longest;
	size_t count;
	size_t room;
	uint64_t longest_count;
	uint64_t found_count;
	struct ptrc_buffer line;
	struct ptrc_buffer name;
};

/* Of two pairs that took the same time, the one that ended first counts as longer. */
static bool is_shorter(const struct line *a, const struct line *b)
{
	if (a->duration_ns != b->duration_ns)
		return a->duration_ns < b->duration_ns;
	return a->number > b->number;
}

PTRC_HEAP_DEFINE(heap, struct line, is_shorter);

/* ---- lines of text ---- */

/* Ends a column that began at an offset, on its right or left side. */
static void end_column(struct ptrc_buffer *b, size_t begin, size_t *width, bool is_right)
{
	size_t size = b->used - begin;
	size_t blanks;

	if (*width < size)
		*width = size;
	blanks = *width - size;
	ptrc_buffer_blanks(b, (long)blanks);
	if (is_right && blanks) {
		memmove(b->bytes + begin + blanks, b->bytes + begin, size);
		memset(b->bytes + begin, ' ', blanks);
	}
	ptrc_buffer_char(b, ' ');
}

/* If what was put from `middle` on is the same as what was put before it, from `begin` on, takes it
 * out again, and else puts two dots between. */
static void join(struct ptrc_buffer *b, size_t begin, size_t middle)
{
	size_t size = b->used - middle;

	if (size == middle - begin && !memcmp(b->bytes + begin, b->bytes + middle, size)) {
		b->used = middle;
		return;
	}
	ptrc_buffer_text(b, "..");
	memmove(b->bytes + middle + 2, b->bytes + middle, size);
	memcpy(b->bytes + middle, "..", 2);
}

static void put_numbers(struct ptrc_buffer *b, int64_t first, int64_t last, size_t *width)
{
	size_t begin = b->used;
	size_t middle;

	ptrc_buffer_i64(b, first);
	middle = b->used;
	ptrc_buffer_i64(b, last);
	join(b, begin, middle);
	end_column(b, begin, width, true);
}

static void put_logs(struct ptrc_buffer *b, const struct ptrc_view *end, size_t *width)
{
	const char *first = end->begin->reader->path;
	const char *last = end->reader->path;
	size_t begin = b->used;
	size_t middle;

	ptrc_text_put(b, first, strlen(first));
	middle = b->used;
	ptrc_text_put(b, last, strlen(last));
	join(b, begin, middle);
	end_column(b, begin, width, false);
}

static void put_sources(struct ptrc_buffer *b, struct ptrc_view *end, size_t *width)
{
	size_t begin = b->used;
	size_t middle;

	ptrc_event_put_source(b, end->begin);
	middle = b->used;
	ptrc_event_put_source(b, end);
	join(b, begin, middle);
	end_column(b, begin, width, false);
}

/* Puts the data of both, and nothing if neither has any. */
static void put_data(struct ptrc_buffer *b, struct ptrc_view *end)
{
	size_t begin = b->used;
	size_t dots;

	ptrc_event_put_data(b, end->begin);
	if (b->used > begin)
		ptrc_buffer_char(b, ' ');
	dots = b->used;
	ptrc_buffer_text(b, ".. ");
	ptrc_event_put_data(b, end);
	if (b->used > dots + strlen(".. "))
		return;
	/* No data of the end. */
	b->used = dots > begin ? dots + strlen("..") : begin - 1;
}

static void put_text(struct ptrc_pair_dump *p, const struct ptrc_pair *pair, struct ptrc_view *end)
{
	struct ptrc_event_format *f = &p->dump->format;
	struct widths *w = &p->widths;
	struct ptrc_buffer *b = &p->line;
	size_t duration = DURATION_COLUMNS;
	size_t begin;

	ptrc_event_put_time(b, f, end->begin->reader);
	ptrc_buffer_char(b, ' ');
	begin = b->used;
	ptrc_buffer_duration(b, end->duration_ns);
	end_column(b, begin, &duration, true);
	if (f->has_log)
		put_logs(b, end, &w->log);
	put_numbers(b, end->begin->reader->event.posix_pid, end->reader->event.posix_pid, &w->pid);
	put_numbers(b, end->begin->reader->event.posix_tid, end->reader->event.posix_tid, &w->tid);
	if (f->has_symbols)
		put_sources(b, end, &w->source);
	p->name.used = 0;
	ptrc_pair_put_name(&p->name, pair);
	ptrc_event_put_name(b, f, &p->name);
	if (p->name.used > w->name)
		w->name = p->name.used < NAME_COLUMNS_MAX ? p->name.used : NAME_COLUMNS_MAX;
	ptrc_buffer_blanks(b, (long)w->name - (long)p->name.used + 1);
	put_data(b, end);
	ptrc_buffer_char(b, '\n');
}

static void put_header_name(struct ptrc_buffer *b, const char *name, size_t width, bool is_right)
{
	size_t begin = b->used;

	ptrc_buffer_text(b, name);
	end_column(b, begin, &width, is_right);
}

static void put_header(struct ptrc_pair_dump *p, struct ptrc_buffer *b)
{
	const struct ptrc_event_format *f = &p->dump->format;
	const struct widths *w = &p->widths;

	ptrc_event_put_time_name(b, f);
	put_header_name(b, "duration", DURATION_COLUMNS, true);
	if (f->has_log)
		put_header_name(b, "log", w->log, false);
	put_header_name(b, "pid", w->pid, true);
	put_header_name(b, "tid", w->tid, true);
	if (f->has_symbols)
		put_header_name(b, "source", w->source, false);
	put_header_name(b, "pair", w->name, false);
	ptrc_buffer_text(b, "data\n");
}

/* ---- JSON ---- */

/* Puts an event as the object that stands for it alone. */
static void put_event_json(struct ptrc_pair_dump *p, const char *key, struct ptrc_source *s,
			   struct ptrc_view *view)
{
	struct ptrc_buffer *b = &p->line;

	ptrc_buffer_format(b, ",\"%s\":", key);
	ptrc_event_put(b, &p->dump->format, &s->labels, view);
	/* The end of its line. */
	b->used--;
}

static void put_json(struct ptrc_pair_dump *p, const struct ptrc_pair *pair,
		     struct ptrc_source *begin, struct ptrc_source *end)
{
	const struct timespec *time = &end->view.begin->reader->event.posix_timestamp;
	struct ptrc_json j = {&p->line, true};

	p->name.used = 0;
	ptrc_pair_put_name(&p->name, pair);
	ptrc_json_open(&j, NULL, '{');
	ptrc_json_bytes(&j, "pair", p->name.bytes, p->name.used);
	ptrc_json_time(&j, "time", time);
	ptrc_json_i64(&j, "ns", ptrc_when_ns(time));
	ptrc_json_u64(&j, "duration_ns", end->view.duration_ns);
	put_event_json(p, "begin", begin, end->view.begin);
	put_event_json(p, "end", end, &end->view);
	ptrc_json_close(&j, '}');
	ptrc_buffer_char(&p->line, '\n');
}

/* ---- pairs ---- */

/* Keeps a begin, decoded once, so that data that does not fit its layout counts once. */
static void *keep(void *arg, struct ptrc_view *view)
{
	const struct ptrc_pair_dump *p = arg;
	const struct ptrc_reader *r = view->reader;
	struct kept *k = ptrc_cli_allocate(sizeof(*k) + r->size);

	if (view->layout)
		ptrc_view_decode(view);
	*k = (struct kept){
		.source = p->source,
		.event = r->event,
		.gap = r->gap,
		.since_before = r->since_before,
		.size = r->size,
	};
	if (r->size)
		memcpy(k->data, r->data, r->size);
	return k;
}

/* Makes the view of a begin. */
static struct ptrc_view *look_at(struct ptrc_pair_dump *p, struct kept *k)
{
	struct ptrc_source *s = k->source;
	trace_event_id_t id = k->event.posix_event_id;
	size_t place = id < PTRC_READER_IDS ? id : 0;
	struct begin *b = p->begins[s->order];

	if (!b) {
		b = p->begins[s->order] = ptrc_cli_allocate(sizeof(*b));
		b->reader = s->reader;
		b->view = (struct ptrc_view){.reader = &b->reader, .symbols = p->dump->symbols};
	}
	b->reader.names[place] = s->reader.names[place];
	b->reader.event = k->event;
	b->reader.gap = k->gap;
	b->reader.since_before = k->since_before;
	b->reader.data = k->data;
	b->reader.size = k->size;
	ptrc_view_find_layout(&b->view, &p->dump->layouts);
	return &b->view;
}

static struct unshown *unshown_of(struct ptrc_pair_dump *p, const struct ptrc_pair *pair)
{
	size_t number = (size_t)(pair - p->pairs->list);

	if (number >= p->unshown_count) {
		p->unshown = ptrc_cli_reallocate(p->unshown, (number + 1) * sizeof(*p->unshown));
		memset(p->unshown + p->unshown_count, 0,
		       (number + 1 - p->unshown_count) * sizeof(*p->unshown));
		p->unshown_count = number + 1;
	}
	return &p->unshown[number];
}

static void count_unshown(struct ptrc_pair_dump *p, const struct ptrc_pair *pair,
			  enum ptrc_pair_fate fate)
{
	struct unshown *u = unshown_of(p, pair);

	u->begins += fate == PTRC_PAIR_NO_END;
	u->ends += fate == PTRC_PAIR_NO_BEGIN;
	u->cut += fate == PTRC_PAIR_CUT;
}

/* Writes a line, and the header before the first one. */
static void put_line(struct ptrc_pair_dump *p, const struct ptrc_buffer *line)
{
	struct ptrc_dump *d = p->dump;

	if (d->is_header_due)
		put_header(p, &d->out);
	d->is_header_due = false;
	ptrc_buffer_bytes(&d->out, line->bytes, line->used);
	if (d->out.used >= WRITE_SIZE)
		ptrc_output_write(&d->out);
}

static void make_line(struct ptrc_pair_dump *p, const struct ptrc_pair *pair,
		      struct ptrc_source *begin, struct ptrc_source *end)
{
	p->line.used = 0;
	if (p->dump->format.format == PTRC_FORMAT_JSON)
		put_json(p, pair, begin, end);
	else
		put_text(p, pair, &end->view);
}

/* Keeps the pair if it is one of the longest so far. */
static void add_longest(struct ptrc_pair_dump *p, const struct ptrc_pair *pair,
			struct ptrc_source *begin, struct ptrc_source *end)
{
	uint64_t number = p->found_count++;
	struct line *l;

	if (p->count == p->longest_count) {
		/* One that takes as long as the shortest of them has ended after it. */
		if (!p->count || end->view.duration_ns <= p->longest[0]->duration_ns)
			return;
		l = p->longest[0];
		heap_pop(p->longest, p->count--);
	} else {
		l = ptrc_cli_allocate(sizeof(*l));
		l->text = (struct ptrc_buffer)PTRC_BUFFER_INIT;
	}
	make_line(p, pair, begin, end);
	l->duration_ns = end->view.duration_ns;
	l->number = number;
	l->text.used = 0;
	ptrc_buffer_bytes(&l->text, p->line.bytes, p->line.used);
	if (p->count == p->room) {
		p->room = p->room ? 2 * p->room : 16;
		p->longest = ptrc_cli_reallocate(p->longest, p->room * sizeof(struct line *));
	}
	heap_push(p->longest, p->count++, l);
}

static void show(struct ptrc_pair_dump *p, const struct ptrc_pair *pair, struct ptrc_source *begin,
		 struct ptrc_source *end)
{
	struct ptrc_dump *d = p->dump;

	if (p->longest_count != UINT64_MAX) {
		add_longest(p, pair, begin, end);
		return;
	}
	if (d->shown_count >= d->first_count)
		return;
	d->shown_count++;
	if (d->is_counting)
		return;
	make_line(p, pair, begin, end);
	if (d->last_count == UINT64_MAX) {
		put_line(p, &p->line);
		return;
	}
	if (d->last.count == d->last_count && d->last.count)
		ptrc_lines_drop(&d->last);
	if (d->last_count)
		ptrc_lines_add(&d->last, 0, &p->line);
}

static void take(void *arg, const struct ptrc_pair *pair, enum ptrc_pair_fate fate, void *kept,
		 struct ptrc_view *end)
{
	struct ptrc_pair_dump *p = arg;
	struct ptrc_select *select = &p->dump->select;
	struct kept *k = kept;
	struct ptrc_view *begin = k ? look_at(p, k) : NULL;
	bool is_selected;

	if (k && end) {
		end->begin = begin;
		end->duration_ns = (uint64_t)ptrc_when_subtract(
			ptrc_when_ns(&end->reader->event.posix_timestamp),
			ptrc_when_ns(&k->event.posix_timestamp));
		is_selected = ptrc_select_pair(select, end);
	} else {
		is_selected = ptrc_select_half(select, k ? begin->reader : end->reader,
					       k ? pair->end : pair->begin, !k);
	}
	if (is_selected && fate == PTRC_PAIR_MEASURED)
		show(p, pair, k->source, p->source);
	else if (is_selected)
		count_unshown(p, pair, fate);
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

/* ---- the dump ---- */

static void add(struct ptrc_dump *d, struct ptrc_source *s)
{
	d->pairs->source = s;
	ptrc_pairs_take(d->pairs->pairs, &s->view);
}

static bool has_failed(const struct ptrc_dump *d)
{
	(void)d;
	return false;
}

static int by_length(const void *a, const void *b)
{
	const struct line *s = *(struct line *const *)a;
	const struct line *t = *(struct line *const *)b;

	return is_shorter(t, s) ? -1 : 1;
}

static void finish(struct ptrc_dump *d, bool is_read)
{
	struct ptrc_pair_dump *p = d->pairs;

	/* If --first has ended the reading, what is open has its end in what was not read. */
	if (!is_read && d->shown_count >= d->first_count)
		p->pairs->taker.take = drop;
	ptrc_pairs_end(p->pairs);
	if (p->count)
		qsort(p->longest, p->count, sizeof(*p->longest), by_length);
	for (size_t i = 0; i < p->count; i++)
		put_line(p, &p->longest[i]->text);
	d->shown_count += p->count;
	if (d->last_count != UINT64_MAX)
		d->shown_count = d->last.count;
	for (; d->last.count; ptrc_lines_drop(&d->last)) {
		p->line.used = 0;
		ptrc_buffer_bytes(&p->line, d->last.first->text, d->last.first->used);
		put_line(p, &p->line);
	}
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

/* Says what is not shown of each pair, and which types are not there. */
static bool tell(struct ptrc_dump *d)
{
	struct ptrc_pair_dump *p = d->pairs;
	struct ptrc_reader **readers =
		ptrc_cli_allocate(d->source_count * sizeof(struct ptrc_reader *));
	struct ptrc_buffer what = PTRC_BUFFER_INIT;
	bool is_missing;

	for (size_t i = 0; i < p->pairs->count; i++) {
		const struct ptrc_pair *pair = &p->pairs->list[i];
		const struct unshown *u = unshown_of(p, pair);

		what.used = p->name.used = 0;
		put_count(&what, u->begins, "begin without end", "begins without end");
		put_count(&what, u->ends, "end without begin", "ends without begin");
		put_count(&what, u->cut, "cut by lost events", "cut by lost events");
		if (!what.used)
			continue;
		ptrc_pair_put_name(&p->name, pair);
		ptrc_buffer_char(&p->name, '\0');
		ptrc_cli_message(p->name.bytes, "%.*s: not shown", (int)what.used, what.bytes);
	}
	ptrc_buffer_free(&what);
	for (size_t i = 0; i < d->source_count; i++)
		readers[i] = &d->sources[i].reader;
	is_missing = ptrc_pairs_report_missing(p->pairs, readers, d->source_count,
					       d->source_count == 1 ? readers[0]->path : NULL);
	free(readers);
	return !is_missing;
}

static void summarize(const struct ptrc_dump *d, struct ptrc_json *j)
{
	struct ptrc_pair_dump *p = d->pairs;

	ptrc_json_open(j, "pairs", '[');
	for (size_t i = 0; i < p->pairs->count; i++) {
		const struct ptrc_pair *pair = &p->pairs->list[i];
		const struct unshown *u = unshown_of(p, pair);

		ptrc_json_open(j, NULL, '{');
		ptrc_json_bytes(j, "begin", pair->begin, strlen(pair->begin));
		ptrc_json_bytes(j, "end", pair->end, strlen(pair->end));
		if (pair->by_text)
			ptrc_json_text(j, "by", pair->by_text);
		ptrc_json_u64(j, "unmatched_begins", u->begins);
		ptrc_json_u64(j, "unmatched_ends", u->ends);
		ptrc_json_u64(j, "cut", u->cut);
		ptrc_json_u64(j, "without_key", pair->without_key);
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

static bool end(struct ptrc_dump *d)
{
	(void)d;
	return true;
}

static const struct ptrc_dump_sink sink = {
	.add = add,
	.has_failed = has_failed,
	.end = end,
	.takes_all = true,
	.finish = finish,
	.tell = tell,
	.summarize = summarize,
	.noun = "pair",
};

void ptrc_pair_dump_begin(struct ptrc_dump *d, struct ptrc_pairs *pairs, uint64_t longest_count)
{
	struct ptrc_pair_dump *p = ptrc_cli_allocate(sizeof(*p));

	*p = (struct ptrc_pair_dump){
		.dump = d,
		.pairs = pairs,
		.longest_count = longest_count,
		/* As wide as the names of the columns. */
		.widths = {.log = 3, .pid = 3, .tid = 3, .source = 6, .name = 4},
	};
	p->begins = ptrc_cli_allocate(d->source_count * sizeof(struct begin *));
	memset(p->begins, 0, d->source_count * sizeof(struct begin *));
	pairs->taker = (struct ptrc_pair_taker){keep, take, p};
	d->sink = &sink;
	d->pairs = p;
}

void ptrc_pair_dump_free(struct ptrc_dump *d)
{
	struct ptrc_pair_dump *p = d->pairs;

	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++) {
		ptrc_buffer_free(&p->longest[i]->text);
		free(p->longest[i]);
	}
	for (size_t i = 0; i < d->source_count; i++)
		if (p->begins[i]) {
			ptrc_view_free(&p->begins[i]->view);
			free(p->begins[i]);
		}
	p->pairs->taker.take = drop;
	ptrc_pairs_forget(p->pairs);
	free(p->begins);
	free(p->unshown);
	free(p->longest);
	ptrc_buffer_free(&p->line);
	ptrc_buffer_free(&p->name);
	free(p);
	d->sink = NULL;
	d->pairs = NULL;
}
