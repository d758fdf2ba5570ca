/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/report/text.h"

#include <stdlib.h>
#include <string.h>

#include "src/spans/pair_report.h"
#include "src/spans/wait_report.h"

enum {
	COLUMN = 12,
	/* How many threads are shown (those with the longest gaps), and how many functions (those with the
	 * most samples). */
	GAPS_MAX = 10,
	FUNCTIONS_MAX = 20,
	/* The width of a duration such as "999.999ms", and that of a count. */
	DURATION_COLUMNS = 9,
	COUNT_COLUMNS = 10,
	NAME_COLUMNS_MAX = 40,
};

static void put_label(struct ptrc_buffer *b, const char *label)
{
	ptrc_buffer_text(b, label);
	ptrc_buffer_blanks(b, COLUMN - (long)strlen(label));
}

static void put_time(struct ptrc_buffer *b, struct ptrc_time_format *f, int64_t ns)
{
	struct timespec t = ptrc_when_timespec(ns);

	ptrc_buffer_time(b, f, &t);
}

/* Pads the column that starts at offset `begin` with blanks to its width: on the left if the column is
 * right-aligned, else on the right. */
static void end_column(struct ptrc_buffer *b, size_t begin, size_t width, bool is_right)
{
	ptrc_buffer_pad(b, begin, width, is_right);
	ptrc_buffer_char(b, ' ');
}

static void put_duration(struct ptrc_buffer *b, uint64_t ns)
{
	size_t begin = b->used;

	ptrc_buffer_duration(b, ns, false);
	end_column(b, begin, DURATION_COLUMNS, true);
}

static void put_summary(struct ptrc_buffer *b, const struct ptrc_report *r,
			struct ptrc_time_format *time)
{
	bool is_complete = true;

	for (size_t i = 0; i < r->query->source_count; i++) {
		const struct ptrc_source *s = &r->query->sources[i];
		struct posixtrace_log_host h;

		put_label(b, s->reader.source ? "session" : "log");
		ptrc_text_put(b, s->reader.path, strlen(s->reader.path));
		if (s->reader.label) {
			ptrc_buffer_text(b, " of host ");
			ptrc_text_put(b, s->reader.label, strlen(s->reader.label));
		} else if (!posixtrace_log_get_host(s->reader.trace, &h, sizeof(h)) && *h.ph_name) {
			ptrc_buffer_text(b, " of host ");
			ptrc_text_put(b, h.ph_name, strlen(h.ph_name));
		}
		ptrc_buffer_char(b, '\n');
		is_complete &= !ptrc_losses_is_any(&s->losses) && !s->losses.read_error;
	}
	put_label(b, "events");
	ptrc_buffer_u64(b, r->event_count);
	ptrc_buffer_char(b, '\n');
	put_label(b, "threads");
	ptrc_buffer_format(b, "%zu%s\n", r->lanes->count, r->lanes->rest ? " or more" : "");
	if (r->event_count) {
		put_label(b, "from");
		put_time(b, time, r->first_ns);
		ptrc_buffer_char(b, '\n');
		put_label(b, "to");
		put_time(b, time, r->last_ns);
		ptrc_buffer_char(b, '\n');
		put_label(b, "took");
		ptrc_buffer_duration(b, (uint64_t)ptrc_when_subtract(r->last_ns, r->first_ns),
				     false);
		ptrc_buffer_char(b, '\n');
	}
	put_label(b, "data");
	ptrc_buffer_text(b, is_complete ? "complete\n" : "incomplete\n");
}

/* Returns the width of the longest name, not counting names that are longer than NAME_COLUMNS_MAX. */
static size_t name_width(const struct ptrc_report *r)
{
	size_t width = strlen("event");

	for (size_t i = 0; i < r->class_count; i++)
		if (r->classes[i].name_size > width && r->classes[i].name_size <= NAME_COLUMNS_MAX)
			width = r->classes[i].name_size;
	return width;
}

static void put_head(struct ptrc_buffer *b, const char *name, size_t width, bool is_right)
{
	size_t begin = b->used;

	ptrc_buffer_text(b, name);
	end_column(b, begin, width, is_right);
}

static void put_classes(struct ptrc_buffer *b, const struct ptrc_report *r,
			enum ptrc_report_kind kind, const char *title, const char *what)
{
	size_t width = name_width(r);
	bool has_head = false;

	for (size_t i = 0; i < r->class_count; i++) {
		const struct ptrc_report_class *c = &r->classes[i];
		const struct ptrc_quantiles *q = &c->lengths;
		size_t begin;

		if (c->kind != kind || !c->count)
			continue;
		if (!has_head) {
			ptrc_buffer_format(b, "\n%s\n", title);
			put_head(b, what, width, false);
			put_head(b, "count", COUNT_COLUMNS, true);
			put_head(b, "p50", DURATION_COLUMNS, true);
			put_head(b, "p99", DURATION_COLUMNS, true);
			put_head(b, "max", DURATION_COLUMNS, true);
			b->bytes[b->used - 1] = '\n';
			has_head = true;
		}
		begin = b->used;
		ptrc_text_put(b, c->name, c->name_size);
		end_column(b, begin, width, false);
		begin = b->used;
		ptrc_buffer_u64(b, c->count);
		end_column(b, begin, COUNT_COLUMNS, true);
		if (q->count) {
			put_duration(b, ptrc_quantiles_at(q, 500000));
			put_duration(b, ptrc_quantiles_at(q, 990000));
			put_duration(b, q->greatest);
		}
		b->bytes[b->used - 1] = '\n';
	}
}

/* Puts the function, file and line of the pair's first event, as far as symbols are asked for and known. */
static void put_place(struct ptrc_buffer *b, const struct ptrc_report *r,
		      const struct ptrc_report_longest *l)
{
	/* The source was read to its end, so its view is free to be used for this event. */
	struct ptrc_view *view = &l->source->view;
	const struct ptrc_symbol *s;

	if (!r->query->symbols)
		return;
	view->reader->event = l->info;
	view->reader->log_time = ptrc_reader_log_time_of(view->reader, &l->info.posix_timestamp);
	s = ptrc_view_symbol(view);
	if (s->function && !ptrc_pair_is_function(&r->pairs->list[r->classes[l->class].pair])) {
		ptrc_buffer_text(b, " in ");
		ptrc_text_put(b, s->function, strlen(s->function));
	}
	if (s->file) {
		ptrc_buffer_text(b, " at ");
		ptrc_text_put(b, s->file, strlen(s->file));
		ptrc_buffer_format(b, ":%d", s->line);
	}
}

static void put_longest(struct ptrc_buffer *b, const struct ptrc_report *r,
			struct ptrc_time_format *time)
{
	if (!r->longest_count)
		return;
	ptrc_buffer_format(b, "\nThe longest pairs\n");
	for (size_t i = 0; i < r->longest_count; i++) {
		const struct ptrc_report_longest *l = &r->longest[i];
		const struct ptrc_report_class *c = &r->classes[l->class];
		const struct ptrc_pair *pair = &r->pairs->list[c->pair];
		struct ptrc_buffer name = PTRC_BUFFER_INIT;

		put_time(b, time, l->begin_ns);
		ptrc_buffer_char(b, ' ');
		put_duration(b, l->duration_ns);
		if (r->pairs->label || ptrc_report_has_own_class(r, pair))
			ptrc_buffer_bytes(&name, c->name, c->name_size);
		else
			ptrc_buffer_text(&name, pair->name);
		ptrc_text_put(b, name.bytes, name.used);
		ptrc_buffer_format(b, " (process %ld, thread %ld)", (long)l->info.posix_pid,
				   (long)l->info.posix_tid);
		if (l->fate != PTRC_SPAN_NO_BEGIN)
			put_place(b, r, l);
		if (l->fate == PTRC_SPAN_NO_BEGIN)
			ptrc_buffer_text(b,
					 ", at least: it has no begin among the selected events");
		else if (l->fate == PTRC_SPAN_NO_END)
			ptrc_buffer_text(b, ", at least: it has no end among the selected events");
		ptrc_buffer_char(b, '\n');
		ptrc_buffer_free(&name);
	}
}

static int compare_gaps(const void *a, const void *b)
{
	const struct ptrc_report_lane *s = *(struct ptrc_report_lane *const *)a;
	const struct ptrc_report_lane *t = *(struct ptrc_report_lane *const *)b;

	if (s->gap_ns != t->gap_ns)
		return s->gap_ns > t->gap_ns ? -1 : 1;
	return (s->lane.number > t->lane.number) - (s->lane.number < t->lane.number);
}

static void put_gaps(struct ptrc_buffer *b, const struct ptrc_report *r,
		     struct ptrc_time_format *time)
{
	struct ptrc_report_lane **sorted =
		ptrc_cli_allocate((r->lanes->count + 1) * sizeof(struct ptrc_report_lane *));
	size_t count = 0;

	for (size_t i = 0; i < r->lanes->count; i++)
		if (ptrc_report_lane(r, i)->gap_ns && !r->lanes->list[i]->is_rest)
			sorted[count++] = ptrc_report_lane(r, i);
	if (count) {
		qsort(sorted, count, sizeof(*sorted), compare_gaps);
		ptrc_buffer_text(b, "\nThe longest time without an event, by thread\n");
	}
	for (size_t i = 0; i < count && i < GAPS_MAX; i++) {
		put_time(b, time, sorted[i]->gap_begin_ns);
		ptrc_buffer_char(b, ' ');
		put_duration(b, sorted[i]->gap_ns);
		ptrc_lane_put(b, &sorted[i]->lane, sorted[i]->last_ns);
		ptrc_buffer_char(b, '\n');
	}
	if (count > GAPS_MAX)
		ptrc_buffer_format(b, "and of %zu more\n", count - GAPS_MAX);
	free(sorted);
}

struct function {
	/* .self counts the samples in which the function is the innermost frame, .total those in which it is
	 * anywhere in the stack. */
	const struct ptrc_buffer *name;
	uint64_t self;
	uint64_t total;
	/* The number of the stack whose samples were added to .total last. A recursive function is in a stack several
	 * times, but the stack counts once. */
	uint32_t stack;
};

static int compare_functions(const void *a, const void *b)
{
	const struct function *s = a;
	const struct function *t = b;

	if (s->self != t->self)
		return s->self > t->self ? -1 : 1;
	if (s->total != t->total)
		return s->total > t->total ? -1 : 1;
	return (s->name > t->name) - (s->name < t->name);
}

static void count_functions(const struct ptrc_flames *f, struct function *functions)
{
	for (uint32_t i = 0; i < f->frame_count; i++)
		functions[i] = (struct function){.name = &f->frames[i]};
	for (uint32_t i = 1; i < f->stack_count; i++) {
		uint64_t count = f->stacks[i].count;

		if (count)
			functions[f->stacks[i].frame].self += count;
		for (uint32_t k = i; k && count; k = f->stacks[k].below) {
			struct function *one = &functions[f->stacks[k].frame];

			if (one->stack != i)
				one->total += count;
			one->stack = i;
		}
	}
}

static void put_share(struct ptrc_buffer *b, uint64_t count, uint64_t all)
{
	size_t begin = b->used;

	ptrc_buffer_u64(b, count);
	end_column(b, begin, COUNT_COLUMNS, true);
	begin = b->used;
	ptrc_buffer_format(b, "%.1f %%", 100.0 * (double)count / (double)all);
	end_column(b, begin, DURATION_COLUMNS, true);
}

static void put_functions(struct ptrc_buffer *b, const struct ptrc_report *r)
{
	size_t count = r->flames.frame_count;
	struct function *functions;

	if (!r->sample_count)
		return;
	functions = ptrc_cli_allocate((count + 1) * sizeof(*functions));
	count_functions(&r->flames, functions);
	qsort(functions, count, sizeof(*functions), compare_functions);
	ptrc_buffer_format(
		b,
		"\nFunctions, and how many of %llu samples found them running (self), or "
		"what they had called (total)\n",
		(unsigned long long)r->sample_count);
	put_head(b, "self", COUNT_COLUMNS, true);
	put_head(b, "", DURATION_COLUMNS, true);
	put_head(b, "total", COUNT_COLUMNS, true);
	put_head(b, "", DURATION_COLUMNS, true);
	ptrc_buffer_text(b, "function\n");
	for (size_t i = 0; i < count && i < FUNCTIONS_MAX; i++) {
		put_share(b, functions[i].self, r->sample_count);
		put_share(b, functions[i].total, r->sample_count);
		ptrc_text_put(b, functions[i].name->bytes, functions[i].name->used);
		ptrc_buffer_char(b, '\n');
	}
	if (count > FUNCTIONS_MAX)
		ptrc_buffer_format(b, "and %zu more\n", count - FUNCTIONS_MAX);
	free(functions);
}

void ptrc_report_put_text(struct ptrc_buffer *b, const struct ptrc_report *r, bool is_utc)
{
	struct ptrc_time_format time = {.is_local = !is_utc};

	put_summary(b, r, &time);
	put_classes(b, r, PTRC_REPORT_EVENTS,
		    "Events, and how long they were after the one before of their type", "event");
	put_classes(b, r, PTRC_REPORT_RUNS, "Times on a processor", "state");
	if (r->pairs->rows.count) {
		ptrc_buffer_text(b, "\nPairs, and the distribution of their durations\n");
		ptrc_pairs_put_text(b, r->pairs, true);
	}
	put_longest(b, r, &time);
	if (ptrc_waits_has_any(&r->waits) || r->waits.has_switches)
		ptrc_waits_put_text(b, &r->waits);
	put_functions(b, r);
	put_gaps(b, r, &time);
}
