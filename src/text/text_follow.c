/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>

#include "src/base/end_signal.h"
#include "src/base/output.h"
#include "src/text/text.h"

/* The greatest memory for lines that are held because an event that matches --around may follow. */
static const size_t held_max_bytes = (size_t)64 << 20;

/* While no event comes, signals are checked at this interval. */
enum { LOOK_UP_MS = 1000 };

/* An event reaches this process at most this long after its timestamp, unless its thread was stopped while it
 * recorded the event. */
static const int64_t late_ns = 200000000;

/* Whether the time of --until has passed, so that no further event can be selected. */
static bool is_over(const struct ptrc_query *q)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return ptrc_when_ns(&now) > ptrc_when_add(q->select.span.last, late_ns);
}

/* Reads the next event. Before it waits for one, writes all output that is ready. Returns false at the end of the
 * session, after a signal, and when the time of --until has passed. */
static bool read_live(struct ptrc_text *t, struct ptrc_reader *r)
{
	struct ptrc_query *q = t->query;

	for (;;) {
		bool is_waiting = ptrc_reader_is_waiting(r);

		if (is_waiting)
			ptrc_columns_flush(&t->columns, &q->out);
		if (q->out.used && is_waiting)
			ptrc_output_write(&q->out);
		if (ptrc_end_signal_has_come())
			return false;
		if (!is_waiting || ptrc_output_wait(r->fd, LOOK_UP_MS)) {
			if (ptrc_reader_next(r))
				return true;
			if (r->error != EINTR)
				return false;
			r->error = 0;
		}
		if (is_over(q))
			return false;
	}
}

/* Keeps the line of an event that is not in the context of an earlier match of --around: a match may follow so soon
 * that the line is in the context of that match. */
static void hold(struct ptrc_text *t, struct ptrc_source *s, struct ptrc_lines *held)
{
	struct ptrc_query *q = t->query;
	struct ptrc_event_format *f = &t->format;
	bool has_last = f->has_last;
	int64_t last_ns = f->last_ns;
	PTRC_SCOPED_BUFFER line = PTRC_BUFFER_INIT;
	int64_t ns = ptrc_source_ns(s);
	int64_t since_ns = ptrc_when_add(ns, -q->before_ns);

	while (held->count && held->first->ns < since_ns)
		ptrc_lines_drop(held);
	if (!q->before_ns)
		return;
	f->has_last = false;
	if (!t->is_counting)
		ptrc_text_add_alone(t, &line, &s->view);
	ptrc_lines_add(held, ns, &line);
	if (f->has_last) {
		held->last->since_before_at = f->since_before_at;
		held->last->since_before_size = (size_t)f->since_before_width;
	}
	f->has_last = has_last;
	f->last_ns = last_ns;
	for (; held->bytes > held_max_bytes; q->unheld_count++)
		ptrc_lines_drop(held);
}

bool ptrc_text_follow(struct ptrc_text *t)
{
	struct ptrc_query *q = t->query;
	struct ptrc_source *s = q->sources;
	struct ptrc_reader *r = &s->reader;
	struct ptrc_lines held = {0};
	int64_t shown_until_ns = INT64_MIN;
	bool is_first = true;

	/* If --until is relative to the start of the trace, its time is known only when the first event comes. */
	q->select.span.last = q->until.base == PTRC_WHEN_ABSOLUTE ? q->until.ns : INT64_MAX;
	while (q->shown_count < q->first_count && !ptrc_query_is_full(q) && read_live(t, r)) {
		int64_t ns = ptrc_source_ns(s);

		if (is_first) {
			ptrc_query_resolve(q, &(struct ptrc_period){ns, ns});
			t->format.begin_ns = ns;
		}
		is_first = false;
		if (ns > q->select.span.last)
			break;
		if (ptrc_query_is_around(q, s)) {
			ptrc_text_put_lines(t, &held, ptrc_when_add(ns, -q->before_ns));
			shown_until_ns = ptrc_when_add(ns, q->after_ns);
		}
		if (!ptrc_query_is_selected(q, s) || q->shown_count >= q->first_count)
			continue;
		if (!q->select.around || ns <= shown_until_ns)
			ptrc_query_take(q, s);
		else
			hold(t, s, &held);
	}
	while (held.count)
		ptrc_lines_drop(&held);
	return !ptrc_end_signal_has_come() && q->shown_count < q->first_count &&
	       !ptrc_query_is_full(q);
}
