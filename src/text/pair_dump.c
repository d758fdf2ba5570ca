/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/text/pair_dump.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/heap.h"
#include "src/base/output.h"
#include "src/fields/when.h"
#include "src/spans/function.h"
#include "src/spans/pair_report.h"
#include "src/text/pair_tree.h"

enum {
	/* The width of the longest usual duration, "999.999ms". */
	DURATION_COLUMNS = 9,
	/* A name longer than this does not widen its column. */
	NAME_COLUMNS_MAX = 40,
	/* Each level of a tree is indented by TREE_COLUMNS blanks. Levels deeper than TREE_DEPTH_MAX are not
	 * indented further; their lines show the level as a number. */
	TREE_COLUMNS = 2,
	TREE_DEPTH_MAX = 40,
};

/* A line for one of the longest pairs. */
struct line {
	uint64_t duration_ns;
	/* The number of pairs that ended before this one. It decides between equal durations. */
	uint64_t number;
	struct ptrc_buffer text;
};

/* The columns of text that both events of a pair have. */
enum { LOG, PID, TID, SOURCE, COLUMNS };

struct ptrc_pair_dump {
	struct ptrc_text *text;
	struct ptrc_query *query;
	struct ptrc_pairs *pairs;
	/* The pairs are shown as a tree. .tree is initialized when the first pair starts. */
	bool is_tree;
	struct ptrc_pair_tree tree;
	/* The greatest width that each column, and the name, has had so far. */
	size_t widths[COLUMNS];
	size_t name_width;
	/* A heap of the longest pairs so far, with the shortest of these on top. */
	struct line **longest;
	size_t count;
	uint64_t longest_count;
	uint64_t found_count;
	struct ptrc_buffer line;
	struct ptrc_buffer name;
	/* The name of the pair, with unprintable characters escaped. */
	struct ptrc_buffer shown_name;
};

/* Whether the pair of line a is shorter than that of line b. If both took the same time, the one that ended first
 * is treated as longer. */
static bool is_shorter(const struct line *a, const struct line *b)
{
	if (a->duration_ns != b->duration_ns)
		return a->duration_ns < b->duration_ns;
	return a->number > b->number;
}

PTRC_HEAP_DEFINE(heap, struct line, is_shorter);

/* ---- lines of text ---- */

static void end_column(struct ptrc_buffer *b, size_t begin, size_t *width, bool is_right)
{
	if (*width < b->used - begin)
		*width = b->used - begin;
	ptrc_buffer_pad(b, begin, *width, is_right);
	ptrc_buffer_char(b, ' ');
}

typedef void put_function(struct ptrc_buffer *, struct ptrc_view *);

/* Appends something that two events have, as `put` formats it: FIRST..LAST, or only once if it is the same for
 * both. Returns whether it is the same. */
static bool put_both(struct ptrc_buffer *b, put_function *put, struct ptrc_view *first,
		     struct ptrc_view *last)
{
	size_t begin = b->used, middle, size;

	put(b, first);
	middle = b->used;
	put(b, last);
	size = b->used - middle;
	if (size == middle - begin && !memcmp(b->bytes + begin, b->bytes + middle, size)) {
		b->used = middle;
		return true;
	}
	ptrc_buffer_text(b, "..");
	memmove(b->bytes + middle + 2, b->bytes + middle, size);
	memcpy(b->bytes + middle, "..", 2);
	return false;
}

static void put_pid(struct ptrc_buffer *b, struct ptrc_view *v)
{
	ptrc_buffer_i64(b, v->reader->event.posix_pid);
}

static void put_tid(struct ptrc_buffer *b, struct ptrc_view *v)
{
	ptrc_buffer_i64(b, v->reader->event.posix_tid);
}

static void put_log(struct ptrc_buffer *b, struct ptrc_view *v)
{
	const char *name = ptrc_reader_shown_name(v->reader);

	ptrc_text_put(b, name, strlen(name));
}

static const struct {
	const char *name;
	put_function *put;
	bool is_right;
} columns[COLUMNS] = {
	[LOG] = {"log", put_log, false},
	[PID] = {"pid", put_pid, true},
	[TID] = {"tid", put_tid, true},
	[SOURCE] = {"source", ptrc_event_put_source, false},
};

static bool is_shown(const struct ptrc_pair_dump *p, size_t column)
{
	return column == LOG	  ? p->text->format.has_log
	       : column == SOURCE ? p->text->format.has_symbols
				  : true;
}

/* Appends the columns that precede the name. The two views may be the same. If the duration is NULL, its column
 * stays blank. */
static void put_columns(struct ptrc_pair_dump *p, struct ptrc_view *first, struct ptrc_view *last,
			const uint64_t *duration_ns)
{
	struct ptrc_buffer *b = &p->line;
	size_t duration;

	ptrc_event_put_time(b, &p->text->format, first->reader);
	ptrc_buffer_char(b, ' ');
	duration = b->used;
	if (duration_ns)
		ptrc_buffer_duration(b, *duration_ns, false);
	ptrc_buffer_pad(b, duration, DURATION_COLUMNS, true);
	ptrc_buffer_char(b, ' ');
	for (size_t i = 0; i < COLUMNS; i++)
		if (is_shown(p, i)) {
			size_t begin = b->used;

			put_both(b, columns[i].put, first, last);
			end_column(b, begin, &p->widths[i], columns[i].is_right);
		}
}

/* Appends the data of both events as FIRST .. LAST, or nothing if both have none. */
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
	if (b->used == dots + strlen(".. "))
		b->used = dots > begin ? dots + strlen("..") : begin - 1;
}

static void put_name(struct ptrc_pair_dump *p, const char *name, size_t size)
{
	p->shown_name.used = 0;
	ptrc_text_put(&p->shown_name, name, size);
	ptrc_event_put_name(&p->line, &p->text->format, &p->shown_name);
}

static void put_text(struct ptrc_pair_dump *p, const struct ptrc_pair *pair, struct ptrc_view *end)
{
	struct ptrc_buffer *b = &p->line;
	size_t width;

	put_columns(p, end->begin, end, &end->duration_ns);
	put_name(p, pair->name, strlen(pair->name));
	width = p->shown_name.used;
	if (width > p->name_width)
		p->name_width = width < NAME_COLUMNS_MAX ? width : NAME_COLUMNS_MAX;
	ptrc_buffer_blanks(b, (long)p->name_width - (long)width);
	ptrc_buffer_char(b, ' ');
	put_data(b, end);
	ptrc_buffer_char(b, '\n');
}

static void put_header(struct ptrc_pair_dump *p, struct ptrc_buffer *b)
{
	const struct ptrc_event_format *f = &p->text->format;

	if (f->field_count) {
		ptrc_event_put_header(b, f);
		return;
	}
	ptrc_event_put_time_name(b, f);
	ptrc_buffer_format(b, "%*s ", DURATION_COLUMNS, "duration");
	for (size_t i = 0; i < COLUMNS; i++)
		if (is_shown(p, i))
			ptrc_buffer_format(b, columns[i].is_right ? "%*s " : "%-*s ",
					   (int)p->widths[i], columns[i].name);
	ptrc_buffer_format(b, "%-*s data\n", p->is_tree ? 0 : (int)p->name_width, "pair");
}

/* ---- JSON ---- */

static void put_event_json(struct ptrc_pair_dump *p, const char *key, struct ptrc_view *view)
{
	ptrc_buffer_text(&p->line, key);
	ptrc_event_put(&p->line, &p->text->format, view);
	/* Removes the line feed, because the event is a member of the pair's object. */
	p->line.used--;
}

static void put_json(struct ptrc_pair_dump *p, const struct ptrc_pair *pair,
		     struct ptrc_source *end)
{
	const struct timespec *time = &end->view.begin->reader->event.posix_timestamp;
	struct ptrc_json j = {&p->line, true};

	ptrc_json_open(&j, NULL, '{');
	ptrc_json_bytes(&j, "pair", pair->name, strlen(pair->name));
	ptrc_json_time(&j, "time", time);
	ptrc_json_i64(&j, "ns", ptrc_when_ns(time));
	ptrc_json_u64(&j, "duration_ns", end->view.duration_ns);
	put_event_json(p, ",\"begin\":", end->view.begin);
	put_event_json(p, ",\"end\":", &end->view);
	ptrc_json_close(&j, '}');
	ptrc_buffer_char(&p->line, '\n');
}

/* ---- pairs ---- */

static void put_line(struct ptrc_pair_dump *p, const char *line, size_t size)
{
	struct ptrc_query *q = p->query;

	if (p->text->is_header_due)
		put_header(p, &q->out);
	p->text->is_header_due = false;
	ptrc_buffer_bytes(&q->out, line, size);
	ptrc_output_write_some(&q->out);
}

static void make_line(struct ptrc_pair_dump *p, const struct ptrc_pair *pair,
		      struct ptrc_source *end)
{
	p->line.used = 0;
	if (p->text->format.field_count)
		ptrc_event_put(&p->line, &p->text->format, &end->view);
	else if (p->text->format.format == PTRC_FORMAT_JSON)
		put_json(p, pair, end);
	else
		put_text(p, pair, &end->view);
}

static void add_longest(struct ptrc_pair_dump *p, const struct ptrc_pair *pair,
			struct ptrc_source *end)
{
	uint64_t number = p->found_count++;
	struct line *l;

	if (p->count == p->longest_count) {
		/* A pair as long as the shortest one in the heap ended later, so it is treated as shorter. */
		if (!p->count || end->view.duration_ns <= p->longest[0]->duration_ns)
			return;
		l = p->longest[0];
		heap_pop(p->longest, p->count--);
	} else {
		l = ptrc_cli_allocate(sizeof(*l));
		l->text = (struct ptrc_buffer)PTRC_BUFFER_INIT;
	}
	make_line(p, pair, end);
	l->duration_ns = end->view.duration_ns;
	l->number = number;
	l->text.used = 0;
	ptrc_buffer_bytes(&l->text, p->line.bytes, p->line.used);
	p->longest = ptrc_cli_grow(p->longest, p->count, sizeof(*p->longest));
	heap_push(p->longest, p->count++, l);
}

static void show(struct ptrc_pair_dump *p, const struct ptrc_pair *pair, struct ptrc_source *end)
{
	struct ptrc_query *q = p->query;

	if (p->longest_count != UINT64_MAX) {
		add_longest(p, pair, end);
		return;
	}
	if (q->shown_count >= q->first_count)
		return;
	q->shown_count++;
	if (p->text->is_counting)
		return;
	make_line(p, pair, end);
	if (q->last_count == UINT64_MAX)
		put_line(p, p->line.bytes, p->line.used);
	else
		ptrc_lines_keep(&p->text->last, q->last_count, 0, &p->line);
}

static void take(void *self, struct ptrc_span *s)
{
	struct ptrc_pair_dump *p = self;

	if (!ptrc_pairs_select(p->pairs, s))
		return;
	ptrc_pairs_count_half(p->pairs, s);
	if (s->fate == PTRC_SPAN_MEASURED)
		show(p, &p->pairs->list[s->pair], s->end);
}

/* ---- the tree ---- */

/* Whether each pair that starts is shown, whatever its last event is. */
static bool selects_all(const struct ptrc_select *s)
{
	return ptrc_select_is_by_type(s) && !s->globs.count && !s->is_user;
}

static void put_tree_name(struct ptrc_pair_dump *p, const struct ptrc_tree_node *n,
			  enum ptrc_tree_line line, struct ptrc_view *begin)
{
	const struct ptrc_pair *pair = &p->pairs->list[n->span.pair];
	struct ptrc_buffer *b = &p->line;

	if (n->depth > TREE_DEPTH_MAX) {
		ptrc_buffer_blanks(b, TREE_DEPTH_MAX * TREE_COLUMNS);
		ptrc_buffer_format(b, "[%zu] ", n->depth);
	} else {
		ptrc_buffer_blanks(b, (long)n->depth * TREE_COLUMNS);
	}
	if (line == PTRC_TREE_CLOSE)
		ptrc_buffer_text(b, "} ");
	p->name.used = 0;
	if (ptrc_pair_has_own_name(pair))
		ptrc_pair_put_own_name(&p->name, pair, &p->query->layouts, begin);
	else
		ptrc_buffer_text(&p->name, pair->name);
	put_name(p, p->name.bytes, p->name.used);
	if (line == PTRC_TREE_OPEN)
		ptrc_buffer_text(b, " {");
	ptrc_buffer_text(b, "  ");
}

static void put_tree_line(void *arg, const struct ptrc_tree_node *n, enum ptrc_tree_line line)
{
	struct ptrc_pair_dump *p = arg;
	struct ptrc_buffer *b = &p->line;
	struct ptrc_view *begin = ptrc_span_begin_view(&p->pairs->spans, &n->span);
	struct ptrc_view *end =
		line == PTRC_TREE_OPEN ? NULL : ptrc_span_end_view(&p->pairs->spans, &n->span);
	struct ptrc_view *view = line == PTRC_TREE_CLOSE ? end : begin;
	uint64_t duration_ns = 0;
	size_t at;

	if (end) {
		end->begin = begin;
		duration_ns = (uint64_t)ptrc_when_subtract(
			ptrc_when_ns(&end->reader->event.posix_timestamp), n->span.ns);
	}
	b->used = 0;
	put_columns(p, view, view, end && n->span.fate == PTRC_SPAN_MEASURED ? &duration_ns : NULL);
	put_tree_name(p, n, line, begin);
	at = b->used;
	if (line != PTRC_TREE_LEAF) {
		ptrc_event_put_data(b, view);
	} else if (!put_both(b, ptrc_event_put_data, begin, end)) {
		b->used = at;
		put_data(b, end);
	}
	if (b->used <= at)
		b->used = at - strlen("  ");
	ptrc_buffer_char(b, '\n');
	put_line(p, b->bytes, b->used);
	p->query->shown_count += line != PTRC_TREE_CLOSE;
}

static void begin_branch(void *self, struct ptrc_span *s)
{
	struct ptrc_pair_dump *p = self;

	if (!p->tree.put)
		p->tree = (struct ptrc_pair_tree){.is_holding = !selects_all(&p->query->select),
						  .put = put_tree_line,
						  .arg = p};
	ptrc_pair_tree_begin(&p->tree, &p->pairs->spans, (struct ptrc_tree_node *)s);
}

static void take_branch(void *self, struct ptrc_span *s)
{
	struct ptrc_pair_dump *p = self;
	bool is_selected = ptrc_pairs_select(p->pairs, s);
	/* An expression selects only complete pairs: the duration of a pair that was cut is unknown. */
	bool is_shown =
		is_selected && (s->fate == PTRC_SPAN_MEASURED || !p->query->select.where_count);

	if (is_selected)
		ptrc_pairs_count_half(p->pairs, s);
	if (s->begin.source)
		ptrc_pair_tree_end(&p->tree, (struct ptrc_tree_node *)s, is_shown);
}

/* ---- the sink ---- */

static void add(void *self, struct ptrc_source *s)
{
	struct ptrc_pair_dump *p = self;

	ptrc_pairs_take(p->pairs, s);
}

static int by_length(const void *a, const void *b)
{
	const struct line *s = *(struct line *const *)a;
	const struct line *t = *(struct line *const *)b;

	return is_shorter(t, s) ? -1 : 1;
}

static void finish(void *self, bool is_read)
{
	struct ptrc_pair_dump *p = self;
	struct ptrc_query *q = p->query;

	ptrc_pairs_end(p->pairs, is_read);
	ptrc_sort(p->longest, p->count, by_length);
	for (size_t i = 0; i < p->count; i++)
		put_line(p, p->longest[i]->text.bytes, p->longest[i]->text.used);
	q->shown_count += p->count;
	if (q->last_count != UINT64_MAX)
		q->shown_count = p->text->last.count;
	for (; p->text->last.count; ptrc_lines_drop(&p->text->last))
		put_line(p, p->text->last.first->text, p->text->last.first->used);
}

static bool tell(void *self)
{
	struct ptrc_pair_dump *p = self;

	ptrc_pairs_report_halves(p->pairs, p->is_tree ? ": not measured" : ": not shown",
				 "cut by lost events or a restart");
	return !ptrc_pairs_report_missing(p->pairs, p->query, true);
}

static void summarize(void *self, struct ptrc_json *j)
{
	struct ptrc_pair_dump *p = self;

	ptrc_json_open(j, "pairs", '[');
	for (size_t i = 0; i < p->pairs->count; i++) {
		const struct ptrc_pair *pair = &p->pairs->list[i];

		ptrc_json_open(j, NULL, '{');
		ptrc_pair_json(j, pair);
		ptrc_pair_halves_json(j, &pair->halves, pair->without_key);
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

struct ptrc_pair_dump *ptrc_pair_dump_begin(struct ptrc_text *text, struct ptrc_pairs *pairs,
					    uint64_t longest_count, bool is_tree)
{
	struct ptrc_query *q = text->query;
	struct ptrc_pair_dump *p = ptrc_cli_allocate(sizeof(*p));

	*p = (struct ptrc_pair_dump){
		.text = text,
		.query = q,
		.pairs = pairs,
		.longest_count = longest_count,
		.is_tree = is_tree,
		/* At first, each column is as wide as its name. */
		.widths = {[LOG] = 3, [PID] = 3, [TID] = 3, [SOURCE] = 6},
		.name_width = 4,
	};
	ptrc_spans_begin(&pairs->spans, q,
			 is_tree ? sizeof(struct ptrc_tree_node) : sizeof(struct ptrc_span));
	pairs->is_without_rows = true;
	pairs->spans.lanes.lane_size = sizeof(struct ptrc_lane);
	q->sink = (struct ptrc_sink){
		.self = p,
		.fields = p->text->format.fields,
		.field_count = p->text->format.field_count,
		.event = add,
		.begin = is_tree ? begin_branch : NULL,
		.span = is_tree ? take_branch : take,
		.finish = finish,
		.tell = tell,
		.summarize = summarize,
		.takes_all = true,
		.noun = "pair",
	};
	return p;
}

void ptrc_pair_dump_free(struct ptrc_pair_dump *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++) {
		ptrc_buffer_free(&p->longest[i]->text);
		free(p->longest[i]);
	}
	ptrc_pair_tree_free(&p->tree);
	ptrc_pairs_forget(p->pairs);
	ptrc_spans_free(&p->pairs->spans);
	free(p->longest);
	ptrc_buffer_free(&p->line);
	ptrc_buffer_free(&p->name);
	ptrc_buffer_free(&p->shown_name);
	free(p);
}
