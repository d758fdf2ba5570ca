/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/cli/message.h"
#include "src/view/dump.h"

static int64_t resolve(const struct ptrc_when *w, const struct ptrc_span *trace)
{
	switch (w->base) {
	case PTRC_WHEN_FROM_BEGIN:
		return ptrc_when_add(trace->first, w->ns);
	case PTRC_WHEN_FROM_END:
		return ptrc_when_add(trace->last, w->ns);
	default:
		return w->ns;
	}
}

void ptrc_dump_resolve(struct ptrc_dump *d, const struct ptrc_span *trace)
{
	d->select.span.first = resolve(&d->since, trace);
	d->select.span.last = resolve(&d->until, trace);
}

/* Reads a log to its end, or only its first event, and goes back. Extends the span of the
 * trace to the events, and adds a window around each one that --around names. */
static bool scan(struct ptrc_dump *d, struct ptrc_source *s, bool is_first_enough,
		 struct ptrc_span *trace)
{
	struct ptrc_reader *r = &s->reader;
	int error;

	while (ptrc_reader_next(r)) {
		int64_t ns = ptrc_source_ns(s);

		if (ns < trace->first)
			trace->first = ns;
		if (ns > trace->last)
			trace->last = ns;
		if (is_first_enough)
			break;
		if (d->select.around &&
		    ptrc_select_is_around(&d->select, &s->types, r, r->event.posix_event_id))
			ptrc_select_add_window(&d->select, ptrc_when_add(ns, -d->before_ns),
					       ptrc_when_add(ns, d->after_ns));
	}
	error = ptrc_reader_rewind(r);
	if (error)
		ptrc_cli_error(r->path, error);
	return !error;
}

bool ptrc_dump_scan(struct ptrc_dump *d)
{
	struct ptrc_span trace = {INT64_MAX, INT64_MIN};
	bool is_to_end = d->since.base == PTRC_WHEN_FROM_END ||
			 d->until.base == PTRC_WHEN_FROM_END || d->select.around;
	bool is_needed = is_to_end || d->since.base == PTRC_WHEN_FROM_BEGIN ||
			 d->until.base == PTRC_WHEN_FROM_BEGIN;

	for (size_t i = 0; i < d->source_count && is_needed; i++)
		if (!scan(d, &d->sources[i], !is_to_end, &trace))
			return false;
	ptrc_dump_resolve(d, &trace);
	ptrc_select_sort_windows(&d->select);
	return true;
}
