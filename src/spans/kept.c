/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/kept.h"

#include <stdlib.h>
#include <string.h>

/* A view of kept events: of a copy of the reader of their source, which has read something else by
 * now. */
struct ptrc_kept_view {
	struct ptrc_reader reader;
	struct ptrc_view view;
};

void ptrc_keep(struct ptrc_kept *k, struct ptrc_source *s, void *room)
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

void ptrc_kept_views_begin(struct ptrc_kept_views *v, const struct ptrc_query *q)
{
	v->views = ptrc_cli_allocate(q->source_count * sizeof(struct ptrc_kept_view *));
	memset(v->views, 0, q->source_count * sizeof(struct ptrc_kept_view *));
}

struct ptrc_view *ptrc_kept_look(struct ptrc_kept_views *v, const struct ptrc_query *q,
				 const struct ptrc_kept *k)
{
	struct ptrc_source *s = k->source;
	struct ptrc_kept_view *b = v->views[s->order];

	if (!b) {
		b = v->views[s->order] = ptrc_cli_allocate(sizeof(*b));
		b->reader = s->reader;
		b->view = (struct ptrc_view){
			.reader = &b->reader, .symbols = q->symbols, .is_again = true};
	}
	b->reader.event = k->event;
	b->reader.log_time = k->log_time;
	b->reader.gap = k->gap;
	b->reader.since_before = k->since_before;
	b->reader.data = k->data;
	b->reader.size = k->size;
	ptrc_view_find_layout(&b->view, &q->layouts);
	return &b->view;
}

void ptrc_kept_views_free(struct ptrc_kept_views *v, const struct ptrc_query *q)
{
	for (size_t i = 0; i < q->source_count; i++)
		if (v->views[i]) {
			ptrc_view_free(&v->views[i]->view);
			free(v->views[i]);
		}
	free(v->views);
}
