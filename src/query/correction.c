/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/correction.h"

#include "src/base/sorted.h"
#include "src/fields/when.h"

/* The index of the last knot at or before the time, or -1 if the time is before the first knot. A
 * knot is a time of the log for which the correction is known. */
static long knot_before(const struct ptrc_correction *c, int64_t log_ns)
{
	return (long)ptrc_sorted_up_to(c->knots, c->count, sizeof(*c->knots), log_ns) - 1;
}

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

int64_t ptrc_clock_error_after(int64_t error_ns, int64_t ns)
{
	int64_t grown = ns / 1000000 * PTRC_CLOCK_TOLERANCE_PPM +
			ns % 1000000 * PTRC_CLOCK_TOLERANCE_PPM / 1000000;

	return ptrc_when_add(error_ns, ptrc_when_add(grown, ns != 0));
}

int64_t ptrc_clock_whole(long double ns)
{
	return ns >= 0x1p63L ? INT64_MAX : ns < -0x1p63L ? INT64_MIN : (int64_t)ns;
}

/* Calculates with long double, which holds all 64 bits of a time. If times were rounded to double,
 * the corrected time of a later event could be before that of an earlier one. */
int64_t ptrc_clock_link_ahead(const struct ptrc_clock_link *l, int64_t own_ns)
{
	long double since =
		ptrc_when_subtract(ptrc_when_subtract(own_ns, l->base_ns), l->middle_ns);
	long double offset_ns = l->line.offset_ns, slope = l->line.slope;

	return ptrc_when_add(l->base_ns, ptrc_clock_whole(offset_ns + slope * (since - offset_ns) /
									      (1 + slope)));
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

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Finds the two knots between which the time lies. Returns false if the time is that of a knot, or is before
 * the first or after the last knot. */
static bool find_between(const struct ptrc_correction *c, int64_t log_ns,
			 const struct ptrc_correction_knot **a,
			 const struct ptrc_correction_knot **b)
{
	long before = knot_before(c, log_ns);

	if (before < 0 || (size_t)before + 1 == c->count || log_ns == c->knots[before].log_ns)
		return false;
	*a = &c->knots[before];
	*b = *a + 1;
	return true;
}

/* The shift at the time, interpolated between the two knots, differs from the shift of either knot.
 * Returns the greater of the two differences. */
static int64_t change_at(const struct ptrc_correction_knot *a, const struct ptrc_correction_knot *b,
			 int64_t log_ns)
{
	int64_t shift = shift_between(a, b, log_ns);

	return most(ptrc_when_distance(shift, a->shift_ns), ptrc_when_distance(shift, b->shift_ns));
}

/* Whether the shifts of the two knots differ by more than the error of reading the clocks. If so,
 * it is not known when, between the knots, the shift changed. */
static bool is_changing(const struct ptrc_correction_knot *a, const struct ptrc_correction_knot *b)
{
	return ptrc_when_distance(a->shift_ns, b->shift_ns) > a->noise_ns + b->noise_ns;
}

/* Whether the shifts of the two knots differ by more than clocks may drift apart in the time
 * between them. This happens if the machine slept. */
static bool is_jumping(const struct ptrc_correction_knot *a, const struct ptrc_correction_knot *b)
{
	return ptrc_when_distance(a->shift_ns, b->shift_ns) >
	       ptrc_clock_error_after(a->noise_ns + b->noise_ns, b->log_ns - a->log_ns);
}

/* The greatest error of a time after the correction by the knots of its own host
 * (ptrc_correction_own_time()) or, if c->is_as_recorded, without it. Links to other hosts are left out. */
static int64_t own_bound(const struct ptrc_correction *c, int64_t log_ns)
{
	long before = knot_before(c, log_ns);
	const struct ptrc_correction_knot *a, *b;
	int64_t bound, from_b;

	if (!c->count)
		return PTRC_BOUND_UNKNOWN;
	a = &c->knots[before < 0 ? 0 : before];
	bound = ptrc_clock_error_after(a->error_ns, ptrc_when_distance(log_ns, a->log_ns));
	if (find_between(c, log_ns, &a, &b)) {
		from_b = ptrc_clock_error_after(b->error_ns, b->log_ns - log_ns);
		bound = is_changing(a, b) ? most(bound, from_b) : least(bound, from_b);
		bound = ptrc_when_add(bound, change_at(a, b, log_ns));
	}
	if (c->is_as_recorded)
		bound = ptrc_when_add(bound, ptrc_when_distance(shift_at(c, before, log_ns), 0));
	return bound;
}

int64_t ptrc_correction_doubt(const struct ptrc_correction *c, int64_t log_ns)
{
	const struct ptrc_correction_knot *a, *b;

	if (c->is_apart)
		return PTRC_BOUND_UNKNOWN;
	return find_between(c, log_ns, &a, &b) && is_jumping(a, b) ? change_at(a, b, log_ns) : 0;
}

int64_t ptrc_correction_worst_doubt(const struct ptrc_correction *c)
{
	int64_t worst = c->is_apart ? PTRC_BOUND_UNKNOWN : 0;

	for (size_t i = 1; i < c->count; i++) {
		const struct ptrc_correction_knot *a = &c->knots[i - 1], *b = &c->knots[i];

		if (is_jumping(a, b))
			worst = most(worst, ptrc_when_distance(a->shift_ns, b->shift_ns));
	}
	return worst;
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
	/* The lines were evaluated at other_ns, which itself may be wrong by as much as the result.
	 * Their slopes are less than a thousandth, so adding 1/256 of the result is enough. The
	 * nanosecond that is added below makes up for rounding down. */
	more = (more + l->slack_ns) * (1 + 1.0 / 256);
	return more < 1e18 ? (int64_t)more + 1 : PTRC_BOUND_UNKNOWN;
}

int64_t ptrc_correction_bound(const struct ptrc_correction *c, int64_t log_ns)
{
	int64_t ns, doubt, bound;

	if (!c->is_linked)
		return ptrc_when_add(own_bound(c, log_ns), c->more_ns);
	/* Links assume that clocks run evenly. If the host slept, its own clock may deviate from an even clock by
	 * up to `doubt`. */
	bound = doubt = ptrc_correction_doubt(c, log_ns);
	ns = ptrc_correction_own_time(c, log_ns);
	for (const struct ptrc_clock_link *l = c->link; l; l = l->next) {
		ns = ptrc_when_subtract(ns, ptrc_clock_link_ahead(l, ns));
		bound = ptrc_when_add(bound, ptrc_clock_link_bound(l, ns));
	}
	/* The links were evaluated at a time that may be wrong by `doubt`. As their slopes are less than a
	 * thousandth, this changes the result by less than doubt / 256. */
	return c->link ? ptrc_when_add(bound, doubt / 256) : bound;
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
	if (ptrc_correction_time(c, INT64_MAX) <= ns)
		return INT64_MAX;
	return ptrc_when_subtract(ptrc_correction_first(c, ns + 1), 1);
}

int64_t ptrc_correction_worst(const struct ptrc_correction *c)
{
	int64_t worst = c->count ? c->knots[0].error_ns : PTRC_BOUND_UNKNOWN, shift = 0;

	for (size_t i = 1; i < c->count; i++) {
		const struct ptrc_correction_knot *a = &c->knots[i - 1], *b = &c->knots[i];
		/* At a time between two knots, the error is that of either knot plus the drift between the knot and
		 * that time. If the shift does not change, the lesser of these two sums applies. It is greatest
		 * where both sums are equal: there, the error of the worse knot has grown for at most half of the
		 * time between the knots. */
		int64_t bound = ptrc_clock_error_after(most(a->error_ns, b->error_ns),
						       (b->log_ns - a->log_ns) /
							       (is_changing(a, b) ? 1 : 2));

		bound = ptrc_when_add(bound, ptrc_when_distance(a->shift_ns, b->shift_ns));
		worst = most(worst, bound);
	}
	for (size_t i = 0; i < c->count && c->is_as_recorded; i++)
		shift = most(shift, ptrc_when_distance(c->knots[i].shift_ns, 0));
	return ptrc_when_add(worst, shift);
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
		is_noise &= ptrc_when_distance(k.shift_ns, 0) <= k.noise_ns;
		c->knots[kept++] = k;
	}
	c->count = kept;
	for (size_t i = 0; i < c->count && is_noise; i++) {
		c->knots[i].error_ns = ptrc_when_add(c->knots[i].error_ns,
						     ptrc_when_distance(c->knots[i].shift_ns, 0));
		c->knots[i].shift_ns = 0;
	}
	c->is_moving = !c->is_as_recorded && !is_noise;
}
