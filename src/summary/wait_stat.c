/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/summary/wait_stat.h"

#include "src/query/where.h"
#include "src/spans/wait_report.h"

struct span {
	struct ptrc_span span;
	struct ptrc_waits_start start;
};

static void take_event(void *self, struct ptrc_source *s)
{
	struct ptrc_wait_stat *w = self;

	/* The expressions of --where are about waits, so they are evaluated when a wait has ended,
	 * not here. */
	s->is_for_loss = !ptrc_select_meets_rest(&w->waits.query->select, &s->view);
	if (s->is_for_loss && !ptrc_reader_sees_losses(&s->reader, s->reader.event.posix_event_id))
		return;
	ptrc_query_check_layout(w->waits.query, s);
	if (!s->is_for_loss)
		ptrc_waits_take(&w->waits, s);
	ptrc_pairs_take(w->waits.pairs, s);
}

static void begin_span(void *self, struct ptrc_span *span)
{
	struct ptrc_wait_stat *w = self;

	ptrc_waits_take_begin(&w->waits, span, &((struct span *)span)->start);
}

/* Whether the expressions of --where hold for a wait that has no end. */
static bool is_half_selected(struct ptrc_wait_stat *w, const struct ptrc_span *span)
{
	const struct ptrc_select *select = &w->waits.query->select;
	struct ptrc_view *begin = ptrc_span_begin_view(&w->waits.pairs->spans, span);
	bool is_selected;

	begin->begin = begin;
	begin->pair = w->waits.pairs->list[span->pair].name;
	begin->duration_ns =
		ptrc_waits_time_so_far(&w->waits, span, &((const struct span *)span)->start);
	is_selected = ptrc_where_all_hold(select->wheres, select->where_count, begin);
	begin->begin = NULL;
	return is_selected;
}

static void take_span(void *self, struct ptrc_span *span)
{
	struct ptrc_wait_stat *w = self;
	bool is_selected = span->begin.source && !span->end
				   ? is_half_selected(w, span)
				   : ptrc_pairs_select(w->waits.pairs, span);

	ptrc_waits_take_end(&w->waits, span, &((struct span *)span)->start, is_selected);
}

static void finish(void *self, bool is_read)
{
	struct ptrc_wait_stat *w = self;

	ptrc_waits_end(&w->waits, is_read);
	w->put(w);
}

static bool tell(void *self)
{
	const struct ptrc_wait_stat *w = self;

	return !ptrc_waits_report_missing(&w->waits);
}

void ptrc_wait_stat_begin(struct ptrc_wait_stat *w, struct ptrc_query *q, struct ptrc_pairs *pairs,
			  void (*put)(struct ptrc_wait_stat *))
{
	*w = (struct ptrc_wait_stat){.waits = {.query = q, .pairs = pairs, .symbols = q->symbols},
				     .put = put};
	q->sink = (struct ptrc_sink){
		.self = w,
		.event = take_event,
		.begin = begin_span,
		.span = take_span,
		.finish = finish,
		.tell = tell,
		.takes_all = true,
		.needs_trace = true,
	};
	ptrc_spans_begin(&pairs->spans, q, sizeof(struct span));
	pairs->is_without_rows = true;
}

void ptrc_wait_stat_end(struct ptrc_wait_stat *w)
{
	ptrc_waits_forget(&w->waits);
	ptrc_pairs_forget(w->waits.pairs);
	ptrc_spans_free(&w->waits.pairs->spans);
}
