/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/sieve.h"

#include <stdlib.h>

#include "src/base/message.h"
#include "src/fields/when.h"

/* Exclusive or with this bit turns signed numbers into unsigned numbers of the same order. */
#define BIAS (UINT64_C(1) << 63)

struct ptrc_sieve {
	const struct ptrc_layouts *layouts;
	struct ptrc_where_bounds bounds;
	/* The bounds, unless the field is a member of the data. For such a field, each event type has the bounds
	 * (ptrc_type.place). */
	struct ptrc_sieve_place place;
};

/* Stores in *p the part of the bounds *b that is from min to max, the range of the field's values. Returns false if
 * there is none. */
static bool set_bounds(struct ptrc_sieve_place *p, const struct ptrc_where_bounds *b,
		       ptrc_whole min, ptrc_whole max)
{
	ptrc_whole low = b->low > min ? b->low : min;
	ptrc_whole high = b->high < max ? b->high : max;

	if (low > high)
		return false;
	p->bias = min < 0 ? BIAS : 0;
	p->low = (uint64_t)low ^ p->bias;
	p->span = (uint64_t)(high - low);
	return true;
}

/* Stores where the member is in the data of this layout. Returns PTRC_TYPE_NO if the member has no fixed offset
 * there, or if the bounds of the sieve include no value of the member. */
static enum ptrc_type_answer
find_place(const struct ptrc_sieve *s, const struct ptrc_layout *layout, struct ptrc_sieve_place *p)
{
	bool is_signed;

	if (!layout || !ptrc_layout_find_spot(
			       layout, ptrc_field_number(s->bounds.field, s->layouts), &p->spot))
		return PTRC_TYPE_NO;
	is_signed = p->spot.is_signed;
	p->shift = is_signed ? 64 - 8U * p->spot.bytes : 0;
	return set_bounds(p, &s->bounds, is_signed ? INT64_MIN : 0,
			  is_signed ? (ptrc_whole)INT64_MAX : (ptrc_whole)UINT64_MAX)
		       ? PTRC_TYPE_YES
		       : PTRC_TYPE_NO;
}

struct ptrc_sieve *ptrc_sieve_make(const struct ptrc_where *where,
				   const struct ptrc_layouts *layouts)
{
	struct ptrc_where_bounds bounds;
	struct ptrc_sieve *s;

	if (!ptrc_where_get_bounds(where, &bounds))
		return NULL;
	s = ptrc_cli_allocate(sizeof(*s));
	s->layouts = layouts;
	s->bounds = bounds;
	if (bounds.field->id != PTRC_FIELD_MEMBER &&
	    !set_bounds(&s->place, &bounds, INT64_MIN, INT64_MAX)) {
		free(s);
		return NULL;
	}
	return s;
}

static inline bool is_inside(const struct ptrc_sieve_place *p, uint64_t number)
{
	return (number ^ p->bias) - p->low <= p->span;
}

static inline int64_t number_of(const struct posixtrace_event *e, enum ptrc_field_id field)
{
	switch (field) {
	case PTRC_FIELD_TYPE_ID:
		return (int64_t)e->pt_info.posix_event_id;
	case PTRC_FIELD_PID:
		return e->pt_info.posix_pid;
	case PTRC_FIELD_TID:
		return e->pt_info.posix_tid;
	case PTRC_FIELD_LEN:
		return (int64_t)e->pt_size;
	default:
		return ptrc_when_ns(&e->pt_info.posix_timestamp);
	}
}

/* Whether all events of this type pass: they may report a loss, and some sinks take such events, selected or
 * not. */
static inline bool passes_always(struct ptrc_view *view, trace_event_id_t id)
{
	return ptrc_is_system_type(id) || ptrc_reader_type(view->reader, id)->is_os_lost;
}

static size_t pass_members(struct ptrc_sieve *s, struct ptrc_view *view,
			   const struct posixtrace_block *b, size_t at)
{
	for (; at < b->pt_count; at++) {
		const struct posixtrace_event *e = &b->pt_events[at];
		trace_event_id_t id = e->pt_info.posix_event_id;
		struct ptrc_sieve_place *p = &ptrc_reader_type(view->reader, id)->place;
		uint64_t u;

		if (__builtin_expect(p->answer == PTRC_TYPE_UNKNOWN, 0))
			p->answer =
				passes_always(view, id)
					? PTRC_TYPE_NO
					: find_place(s, ptrc_view_layout(view, s->layouts, id), p);
		/* Data that does not fit its layout passes the sieve: either it lacks the member, or it has to be
		 * reported. */
		if (p->answer != PTRC_TYPE_YES ||
		    (e->pt_size != p->spot.sizes[0] && e->pt_size != p->spot.sizes[1]))
			break;
		u = ptrc_layout_load((const char *)e->pt_data + p->spot.at, p->spot.bytes);
		if (p->bias)
			u = (uint64_t)((int64_t)(u << p->shift) >> p->shift);
		if (is_inside(p, u) != s->bounds.is_outside)
			break;
	}
	return at;
}

size_t ptrc_sieve_pass(struct ptrc_sieve *s, struct ptrc_view *view,
		       const struct posixtrace_block *b, size_t from)
{
	enum ptrc_field_id field = s->bounds.field->id;
	size_t at = from;

	if (field == PTRC_FIELD_MEMBER)
		return pass_members(s, view, b, from);
	while (at < b->pt_count &&
	       is_inside(&s->place, (uint64_t)number_of(&b->pt_events[at], field)) ==
		       s->bounds.is_outside &&
	       !passes_always(view, b->pt_events[at].pt_info.posix_event_id))
		at++;
	return at;
}
