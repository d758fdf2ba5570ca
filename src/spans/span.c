/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/span.h"

#include <stdlib.h>
#include <string.h>

/* A view of a kept event. It has a copy of the source's reader, because the reader itself has read other events
 * since. */
struct ptrc_kept_view {
	struct ptrc_reader reader;
	struct ptrc_view view;
};

void ptrc_spans_begin(struct ptrc_spans *s, struct ptrc_query *q, size_t span_size)
{
	*s = (struct ptrc_spans){.query = q, .span_size = span_size};
	for (size_t i = 0; i < 2; i++)
		s->views[i] = ptrc_cli_allocate(q->source_count * sizeof(struct ptrc_kept_view *));
}

/* Copies the latest event of the source to *k. `room` has space for its data. */
static void keep(struct ptrc_kept *k, struct ptrc_source *s, void *room)
{
	const struct ptrc_reader *r = &s->reader;

	if (s->view.layout)
		ptrc_view_decode(&s->view);
	*k = (struct ptrc_kept){
		.source = s,
		.event = r->event,
		.log_time = r->log_time,
		.gap = r->gap,
		.since_before = r->since_before,
		.data = room,
		.size = r->size,
	};
	if (r->size)
		memcpy(room, r->data, r->size);
}

struct ptrc_span *ptrc_span_make(struct ptrc_spans *all, struct ptrc_source *source)
{
	struct ptrc_span *s;

	if (!all->query)
		return ptrc_cli_allocate(offsetof(struct ptrc_span, users));
	s = ptrc_cli_allocate(all->span_size + source->reader.size);
	s->users = 1;
	keep(&s->begin, source, (char *)s + all->span_size);
	all->open_count++;
	return s;
}

void ptrc_span_free(struct ptrc_spans *all, struct ptrc_span *s)
{
	if (all->query) {
		all->open_count--;
		ptrc_span_release(s);
	} else {
		free(s);
	}
}

void ptrc_span_begin(struct ptrc_spans *all, struct ptrc_span *s)
{
	if (all->query && all->query->sink.begin)
		all->query->sink.begin(all->query->sink.self, s);
}

void ptrc_span_end(struct ptrc_spans *all, struct ptrc_span *s, size_t pair,
		   enum ptrc_span_fate fate, struct ptrc_source *end)
{
	struct ptrc_span half;

	if (!all->query)
		return;
	if (!s) {
		half = (struct ptrc_span){.pair = pair};
		s = &half;
	}
	s->fate = fate;
	s->end = end;
	all->query->sink.span(all->query->sink.self, s);
}

void ptrc_span_keep_end(struct ptrc_span *s)
{
	s->end_kept = ptrc_cli_allocate(sizeof(*s->end_kept) + s->end->reader.size);
	keep(s->end_kept, s->end, s->end_kept + 1);
}

static struct ptrc_view *look(const struct ptrc_query *q, struct ptrc_kept_view **views,
			      const struct ptrc_kept *k)
{
	struct ptrc_source *s = k->source;
	struct ptrc_kept_view *v = views[s->order];

	if (!v) {
		v = views[s->order] = ptrc_cli_allocate(sizeof(*v));
		v->reader = s->reader;
		/* The source's reader frees its label, so the copy must not share it, and makes one of its own. */
		v->reader.label_in_lines = NULL;
		v->view = (struct ptrc_view){
			.reader = &v->reader, .symbols = q->symbols, .is_again = true};
	}
	v->reader.event = k->event;
	v->reader.log_time = k->log_time;
	v->reader.gap = k->gap;
	v->reader.since_before = k->since_before;
	v->reader.data = k->data;
	v->reader.size = k->size;
	ptrc_view_find_layout(&v->view, &q->layouts);
	return &v->view;
}

struct ptrc_view *ptrc_span_begin_view(struct ptrc_spans *all, const struct ptrc_span *s)
{
	return s->begin.source ? look(all->query, all->views[0], &s->begin) : NULL;
}

struct ptrc_view *ptrc_span_end_view(struct ptrc_spans *all, const struct ptrc_span *s)
{
	return s->end_kept ? look(all->query, all->views[1], s->end_kept)
	       : s->end	   ? &s->end->view
			   : NULL;
}

void ptrc_span_nest(struct ptrc_spans *all, struct ptrc_span *s)
{
	s->number = ++all->nested_count;
	s->is_nested = true;
	s->outer = s->lane->latest;
	if (s->outer)
		s->outer->users++;
	s->lane->latest = s;
}

void ptrc_span_leave(struct ptrc_span *s)
{
	struct ptrc_span **latest = &s->lane->latest;

	/* If this span left the chain together with a span around it, the spans that are in the chain now do not lie
	 * within this span, so they stay. */
	if (!s->is_nested)
		return;
	for (; *latest && (*latest)->number >= s->number; *latest = (*latest)->outer)
		(*latest)->is_nested = false;
}

void ptrc_span_release(struct ptrc_span *s)
{
	while (s && !--s->users) {
		struct ptrc_span *outer = s->outer;

		free(s->end_kept);
		free(s);
		s = outer;
	}
}

void ptrc_spans_free(struct ptrc_spans *all)
{
	for (size_t i = 0; i < 2 && all->query; i++) {
		for (size_t k = 0; k < all->query->source_count; k++)
			if (all->views[i][k]) {
				ptrc_view_free(&all->views[i][k]->view);
				free(all->views[i][k]->reader.label_in_lines);
				free(all->views[i][k]);
			}
		free(all->views[i]);
	}
	ptrc_lanes_free(&all->lanes);
	*all = (struct ptrc_spans){0};
}
