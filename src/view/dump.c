/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/view/dump.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/heap.h"
#include "src/cli/message.h"
#include "src/cli/output.h"

/* Output is written in pieces of about this size, for few system calls, and for a reader
 * that soon sees something. */
enum { WRITE_SIZE = 65536 };

/* A longer name does not push all columns behind it to the right. */
enum { NAME_COLUMNS_MAX = 40 };

void ptrc_source_begin(struct ptrc_source *s, struct ptrc_dump *d, size_t order)
{
	struct ptrc_reader *r = &s->reader;
	size_t width = ptrc_reader_load_names(r);

	memset(&s->labels, 0, sizeof(s->labels));
	memset(&s->types, 0, sizeof(s->types));
	s->view = (struct ptrc_view){.reader = r};
	s->order = order;
	if (width > (size_t)d->format.name_width && width <= NAME_COLUMNS_MAX)
		d->format.name_width = (int)width;
}

void ptrc_source_free(struct ptrc_source *s)
{
	ptrc_reader_close(&s->reader);
	ptrc_event_labels_free(&s->labels);
	free(s->view.decoded.values);
}

bool ptrc_dump_is_selected(struct ptrc_dump *d, struct ptrc_source *s)
{
	if (d->layouts.count)
		ptrc_view_find_layout(&s->view, &d->layouts);
	return ptrc_select_event(&d->select, &s->types, &s->view);
}

static void write_some(struct ptrc_dump *d)
{
	if (d->out.used >= WRITE_SIZE)
		ptrc_output_write(&d->out);
}

void ptrc_dump_event(struct ptrc_dump *d, struct ptrc_source *s)
{
	d->shown_count++;
	if (d->is_counting)
		return;
	ptrc_event_put(&d->out, &d->format, &s->labels, &s->view);
	if (__builtin_expect(d->last_count == UINT64_MAX, 1)) {
		write_some(d);
		return;
	}
	if (d->last.count == d->last_count && d->last.count)
		ptrc_lines_drop(&d->last);
	if (d->last_count)
		ptrc_lines_add(&d->last, 0, &d->out);
	d->out.used = 0;
}

void ptrc_dump_lines(struct ptrc_dump *d, struct ptrc_lines *lines, int64_t since_ns)
{
	for (; lines->count; ptrc_lines_drop(lines)) {
		const struct ptrc_line *line = ptrc_lines_first(lines);

		if (line->ns < since_ns || d->shown_count >= d->first_count)
			continue;
		ptrc_buffer_bytes(&d->out, line->text, line->used);
		write_some(d);
		d->shown_count++;
	}
}

/* Reads on to the next event of the source that is selected. */
static bool advance(struct ptrc_dump *d, struct ptrc_source *s)
{
	while (ptrc_reader_next(&s->reader))
		if (ptrc_dump_is_selected(d, s))
			return true;
	return false;
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

/* The heap holds the sources that have an event. */
PTRC_HEAP_DEFINE(heap, struct ptrc_source, is_before);

bool ptrc_dump_logs(struct ptrc_dump *d)
{
	struct ptrc_source **heap =
		ptrc_cli_allocate(d->source_count * sizeof(struct ptrc_source *));
	size_t count = 0;

	for (size_t i = 0; i < d->source_count; i++)
		if (advance(d, &d->sources[i]))
			heap[count++] = &d->sources[i];
	heap_build(heap, count);
	while (count && d->shown_count < d->first_count) {
		struct ptrc_source *s = heap[0];

		if (!d->select.around || ptrc_select_is_in_window(&d->select, ptrc_source_ns(s)))
			ptrc_dump_event(d, s);
		if (advance(d, s))
			heap_sift_down(heap, count, 0);
		else
			heap_pop(heap, count--);
	}
	if (d->last_count != UINT64_MAX) {
		d->shown_count = 0;
		ptrc_dump_lines(d, &d->last, INT64_MIN);
		ptrc_lines_free(&d->last);
	}
	free(heap);
	return !count;
}
