/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/view/correction.h"

#include "src/view/when.h"

/* The number of the last knot at this time or before it; -1: it is before all of them. */
static long knot_before(const struct ptrc_correction *c, int64_t log_ns)
{
	size_t low = 0, high = c->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->knots[middle].log_ns <= log_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return (long)low - 1;
}

/* Knots are not far enough apart for these differences to overflow. */
static int64_t shift_between(const struct ptrc_correction_knot *a,
			     const struct ptrc_correction_knot *b, int64_t log_ns)
{
	__int128 part = (__int128)(b->shift_ns - a->shift_ns) * (log_ns - a->log_ns);

	return a->shift_ns + (int64_t)(part / (b->log_ns - a->log_ns));
}

static int64_t shift_at(const struct ptrc_correction *c, long before, int64_t log_ns)
{
	if (!c->count)
		return 0;
	if (before < 0)
		return c->knots[0].shift_ns;
	if ((size_t)before + 1 == c->count)
		return c->knots[before].shift_ns;
	return shift_between(&c->knots[before], &c->knots[before + 1], log_ns);
}

int64_t ptrc_correction_own_time(const struct ptrc_correction *c, int64_t log_ns)
{
	return ptrc_when_add(log_ns, shift_at(c, knot_before(c, log_ns), log_ns));
}

int64_t ptrc_clock_link_ahead(const struct ptrc_clock_link *l, int64_t own_ns)
{
	double since =
		(double)ptrc_when_subtract(ptrc_when_subtract(own_ns, l->base_ns), l->middle_ns);
	double ahead = l->line.offset_ns +
		       l->line.slope * (since - l->line.offset_ns) / (1 + l->line.slope);

	return ptrc_when_add(l->base_ns, (int64_t)ahead);
}

int64_t ptrc_correction_time(const struct ptrc_correction *c, int64_t log_ns)
{
	int64_t ns;

	if (c->is_as_recorded)
		return log_ns;
	ns = ptrc_correction_own_time(c, log_ns);
	for (const struct ptrc_clock_link *l = c->link; l; l = l->next)
		ns = ptrc_when_subtract(ns, ptrc_clock_link_ahead(l, ns));
	return ns;
}

/* The error of a knot so far away. */
static int64_t error_from(const struct ptrc_correction_knot *k, int64_t distance_ns)
{
	int64_t grown = distance_ns / 1000000 * PTRC_CLOCK_TOLERANCE_PPM +
			distance_ns % 1000000 * PTRC_CLOCK_TOLERANCE_PPM / 1000000;

	return ptrc_when_add(k->error_ns, ptrc_when_add(grown, distance_ns != 0));
}

static int64_t distance(int64_t a, int64_t b)
{
	int64_t d = ptrc_when_subtract(a, b);

	return d == INT64_MIN ? INT64_MAX : d < 0 ? -d : d;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* How wrong the host's own time may be. */
static int64_t own_bound(const struct ptrc_correction *c, int64_t log_ns)
{
	long before = knot_before(c, log_ns);
	const struct ptrc_correction_knot *a, *b;
	int64_t shift, from_a, from_b;

	if (!c->count)
		return PTRC_BOUND_UNKNOWN;
	shift = shift_at(c, before, log_ns);
	a = &c->knots[before < 0 ? 0 : before];
	from_a = error_from(a, distance(log_ns, a->log_ns));
	if (before >= 0 && log_ns > a->log_ns && (size_t)before + 1 < c->count) {
		b = &c->knots[before + 1];
		from_b = error_from(b, distance(b->log_ns, log_ns));
		/* Where the shift changes by more than the clock may go, nobody knows when it did. */
		if (distance(a->shift_ns, b->shift_ns) <= a->noise_ns + b->noise_ns)
			from_a = least(from_a, from_b);
		else
			from_a = most(from_a, from_b);
		from_a = ptrc_when_add(
			from_a, most(distance(shift, a->shift_ns), distance(shift, b->shift_ns)));
	}
	if (c->is_as_recorded)
		from_a = ptrc_when_add(from_a, distance(shift, 0));
	return from_a;
}

static double value_at(const struct ptrc_clock_line *l, double since)
{
	return l->offset_ns + l->slope * since;
}

int64_t ptrc_clock_link_bound(const struct ptrc_clock_link *l, int64_t other_ns)
{
	double since = (double)ptrc_when_subtract(other_ns, l->middle_ns);
	double at = value_at(&l->line, since);
	double more = 0;

	if (!l->high_count || !l->low_count)
		return PTRC_BOUND_UNKNOWN;
	for (size_t i = 0; i < l->high_count; i++)
		if (value_at(&l->highs[i], since) - at > more)
			more = value_at(&l->highs[i], since) - at;
	for (size_t i = 0; i < l->low_count; i++)
		if (at - value_at(&l->lows[i], since) > more)
			more = at - value_at(&l->lows[i], since);
	/* The moment is as uncertain as what is asked for there, and slopes are less than a thousandth. A
	 * nanosecond is for rounding. */
	more = (more + l->slack_ns) * (1 + 1.0 / 256);
	return more < 1e18 ? (int64_t)more + 1 : PTRC_BOUND_UNKNOWN;
}

int64_t ptrc_correction_bound(const struct ptrc_correction *c, int64_t log_ns)
{
	int64_t ns, bound = 0;

	if (!c->is_linked)
		return ptrc_when_add(own_bound(c, log_ns), c->more_ns);
	ns = ptrc_correction_own_time(c, log_ns);
	for (const struct ptrc_clock_link *l = c->link; l; l = l->next) {
		ns = ptrc_when_subtract(ns, ptrc_clock_link_ahead(l, ns));
		bound = ptrc_when_add(bound, ptrc_clock_link_bound(l, ns));
	}
	return bound;
}

int64_t ptrc_correction_first(const struct ptrc_correction *c, int64_t ns)
{
	int64_t low = INT64_MIN, high = INT64_MAX;

	if (ns == INT64_MIN || ns == INT64_MAX)
		return ns;
	while (low < high) {
		int64_t middle = low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);

		if (ptrc_correction_time(c, middle) >= ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

int64_t ptrc_correction_last(const struct ptrc_correction *c, int64_t ns)
{
	if (ns == INT64_MIN || ns == INT64_MAX)
		return ns;
	return ptrc_when_subtract(ptrc_correction_first(c, ns + 1), 1);
}

int64_t ptrc_correction_worst(const struct ptrc_correction *c)
{
	int64_t worst = c->count ? c->knots[0].error_ns : PTRC_BOUND_UNKNOWN;

	for (size_t i = 1; i < c->count; i++) {
		const struct ptrc_correction_knot *a = &c->knots[i - 1], *b = &c->knots[i];

		/* Both errors, grown towards each other, are no greater where they meet. */
		worst = most(worst, error_from(a->error_ns > b->error_ns ? a : b,
					       (b->log_ns - a->log_ns) / 2));
		worst = ptrc_when_add(worst, distance(a->shift_ns, b->shift_ns));
	}
	return worst;
}

void ptrc_correction_finish(struct ptrc_correction *c)
{
	size_t kept = 0;
	bool is_noise = true;

	for (size_t i = 0; i < c->count; i++) {
		struct ptrc_correction_knot k = c->knots[i];
		const struct ptrc_correction_knot *last = &c->knots[kept - !!kept];

		if (kept && (k.log_ns <= last->log_ns ||
			     k.log_ns + k.shift_ns < last->log_ns + last->shift_ns))
			continue;
		is_noise &= distance(k.shift_ns, 0) <= k.noise_ns;
		c->knots[kept++] = k;
	}
	c->count = kept;
	for (size_t i = 0; i < c->count && is_noise; i++) {
		c->knots[i].error_ns =
			ptrc_when_add(c->knots[i].error_ns, distance(c->knots[i].shift_ns, 0));
		c->knots[i].shift_ns = 0;
	}
	c->is_moving = !c->is_as_recorded && !is_noise;
}
