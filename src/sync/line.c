/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/sync/line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/message.h"
#include "src/fields/when.h"
#include "src/query/select.h"

/* The largest error that all roundings together can cause. */
static const double rounding_ns = 1;

void ptrc_sync_points_add(struct ptrc_sync_points *p, int64_t at_ns, int64_t ahead_ns)
{
	*ptrc_append(p->list, p->count) = (struct ptrc_sync_point){at_ns, ahead_ns};
}

void ptrc_sync_evidence_free(struct ptrc_sync_evidence *e)
{
	free(e->highs.list);
	free(e->lows.list);
	free(e->said_highs.list);
	free(e->said_lows.list);
	memset(e, 0, sizeof(*e));
}

void ptrc_sync_link_free(struct ptrc_clock_link *l)
{
	free(l->highs);
	free(l->lows);
	memset(l, 0, sizeof(*l));
}

struct corner {
	double at, ahead;
};

/* One of the two convex hulls of line.h. The lower bounds are turned upside down (.sign is -1), so that both
 * are lower hulls: the line passes below each. */
struct hull {
	struct corner *corners;
	size_t count;
	double sign;
};

static int by_time(const void *one, const void *other)
{
	const struct ptrc_sync_point *a = one, *b = other;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->ahead_ns > b->ahead_ns) - (a->ahead_ns < b->ahead_ns);
}

/* Whether b is on the line from a to c or above that line. */
static bool is_above(const struct corner *a, const struct corner *b, const struct corner *c)
{
	return (long double)(b->ahead - a->ahead) * (long double)(c->at - a->at) >=
	       (long double)(c->ahead - a->ahead) * (long double)(b->at - a->at);
}

static void add_corner(struct hull *h, struct corner c)
{
	/* Among points with the same time, only the lowest one matters. */
	if (h->count && h->corners[h->count - 1].at == c.at) {
		if (h->corners[h->count - 1].ahead <= c.ahead)
			return;
		h->count--;
	}
	while (h->count >= 2 && is_above(&h->corners[h->count - 2], &h->corners[h->count - 1], &c))
		h->count--;
	h->corners[h->count++] = c;
}

static void make_hull(struct hull *h, const struct ptrc_sync_points *a,
		      const struct ptrc_sync_points *b, const struct ptrc_clock_link *l,
		      double sign)
{
	size_t count = a->count + b->count;
	struct ptrc_sync_point *all = ptrc_cli_allocate((count + 1) * sizeof(*all));

	if (a->count)
		memcpy(all, a->list, a->count * sizeof(*all));
	if (b->count)
		memcpy(all + a->count, b->list, b->count * sizeof(*all));
	ptrc_sort(all, count, by_time);
	*h = (struct hull){.sign = sign};
	h->corners = ptrc_cli_allocate((count + 1) * sizeof(*h->corners));
	for (size_t i = 0; i < count; i++)
		add_corner(h,
			   (struct corner){
				   (double)ptrc_when_subtract(all[i].at_ns, l->middle_ns),
				   sign * (double)ptrc_when_subtract(all[i].ahead_ns, l->base_ns),
			   });
	free(all);
}

static double edge(const struct hull *h, size_t i)
{
	const struct corner *a = &h->corners[i], *b = a + 1;

	return (b->ahead - a->ahead) / (b->at - a->at);
}

/* Returns the value at time 0 of the highest line of this slope that passes below the hull. For a
 * hull that is turned upside down, the caller negates the slope and the result. */
static double reach(const struct hull *h, double slope)
{
	size_t low = 0, high = h->count - 1;

	/* Finds the first corner after which the hull is steeper than the slope. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (edge(h, middle) > slope)
			high = middle;
		else
			low = middle + 1;
	}
	return h->corners[low].ahead - slope * h->corners[low].at;
}

/* high_at() returns the value at time 0 of the highest line of this slope below the upper bounds, low_at() that of
 * the lowest line above the lower bounds. */
static double high_at(const struct hull *highs, double slope)
{
	return highs->count ? reach(highs, slope) : HUGE_VAL;
}

static double low_at(const struct hull *lows, double slope)
{
	return lows->count ? -reach(lows, -slope) : -HUGE_VAL;
}

static int by_size(const void *one, const void *other)
{
	const double *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

/* Returns, sorted, the slopes of all edges of the hulls, as far as they are possible for a clock,
 * and the least and the greatest possible slope. For all slopes between two successive ones, the
 * highest and the lowest line that pass between the hulls touch the same corners. */
static double *find_slopes(const struct hull *highs, const struct hull *lows, size_t *count)
{
	double *slopes = ptrc_cli_allocate((highs->count + lows->count + 2) * sizeof(*slopes));
	const struct hull *hulls[] = {highs, lows};

	*count = 0;
	slopes[(*count)++] = -PTRC_SYNC_DRIFT_MAX;
	slopes[(*count)++] = PTRC_SYNC_DRIFT_MAX;
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i + 1 < hulls[k]->count; i++) {
			double slope = hulls[k]->sign * edge(hulls[k], i);

			if (slope > -PTRC_SYNC_DRIFT_MAX && slope < PTRC_SYNC_DRIFT_MAX)
				slopes[(*count)++] = slope;
		}
	ptrc_sort(slopes, *count, by_size);
	return slopes;
}

/* Returns the slope between a and b at which the room is 0. The room of a slope is how far the highest line of this
 * slope below the upper bounds is above the lowest one above the lower bounds. It is negative at either a or b, but
 * not at both. */
static double find_zero(double a, double room_a, double b, double room_b)
{
	return isinf(room_b) || isinf(room_a) ? (room_a < 0 ? b : a)
					      : a + (b - a) * (room_a / (room_a - room_b));
}

struct passage {
	/* The range of the slopes of lines that pass between the hulls. */
	double least, greatest;
	/* The slope with the most room, and that room. If the room is negative, no line passes. */
	double widest, room;
};

static struct passage find_passage(const struct hull *highs, const struct hull *lows)
{
	struct passage p = {.room = -HUGE_VAL};
	bool has_least = false;
	size_t count;
	double *slopes = find_slopes(highs, lows, &count);
	double last = 0, last_room = 0;

	for (size_t i = 0; i < count; i++) {
		double room = high_at(highs, slopes[i]) - low_at(lows, slopes[i]);

		if (room > p.room) {
			p.room = room;
			p.widest = slopes[i];
		}
		if (room >= 0) {
			if (!has_least)
				p.least = i && last_room < 0
						  ? find_zero(last, last_room, slopes[i], room)
						  : slopes[i];
			has_least = true;
			p.greatest = slopes[i];
		} else if (has_least && last_room >= 0) {
			p.greatest = find_zero(last, last_room, slopes[i], room);
		}
		last = slopes[i];
		last_room = room;
	}
	free(slopes);
	if (!has_least)
		p.least = p.greatest = p.widest;
	return p;
}

/* Returns lines through the corners of a hull. For the hull of the upper bounds: at any time, no line that passes
 * between the hulls is above all of these lines. For the hull of the lower bounds: none is below all of them. */
static struct ptrc_clock_line *find_bounds(const struct hull *h, const struct passage *p,
					   size_t *count)
{
	struct ptrc_clock_line *lines = ptrc_cli_allocate((h->count + 2) * sizeof(*lines));
	double ends[] = {p->least, p->greatest};

	*count = 0;
	for (size_t i = 0; i < 2 && h->count; i++)
		lines[(*count)++] =
			(struct ptrc_clock_line){h->sign * reach(h, h->sign * ends[i]), ends[i]};
	for (size_t i = 0; i + 1 < h->count; i++) {
		double slope = h->sign * edge(h, i);

		if (slope > p->least && slope < p->greatest)
			lines[(*count)++] = (struct ptrc_clock_line){
				h->sign * reach(h, h->sign * slope), slope};
	}
	return lines;
}

static double between(double low, double x, double high)
{
	return x < low ? low : x > high ? high : x;
}

/* Chooses the line if all messages go in one direction: the one that changes the clocks' own times least. `zero` is
 * the offset that does not change them. Such messages do not determine a drift. */
static struct ptrc_clock_line choose_nearest(const struct hull *highs, const struct hull *lows,
					     const struct passage *p, double zero, bool has_highs)
{
	struct ptrc_clock_line best = {0, between(p->least, 0, p->greatest)};
	double low = low_at(lows, best.slope), high = high_at(highs, best.slope);

	best.offset_ns = between(low, zero, high);
	/* If some messages arrived before they were sent, by the clocks' own times, they now arrive one nanosecond
	 * after they were sent, because events with the same time have no order. */
	if (best.offset_ns != zero)
		best.offset_ns = between(low, best.offset_ns + (has_highs ? -1 : 1), high);
	return best;
}

static struct ptrc_clock_line choose(const struct ptrc_sync_evidence *e, const struct hull *highs,
				     const struct hull *lows, const struct passage *p, double zero)
{
	bool is_drift_known = p->least > -PTRC_SYNC_DRIFT_MAX && p->greatest < PTRC_SYNC_DRIFT_MAX;
	struct ptrc_clock_line line;

	if (p->room >= 0 && !(e->highs.count && e->lows.count))
		return choose_nearest(highs, lows, p, zero, e->highs.count);
	/* If the messages are few or close in time, they do not determine the drift. Then a drift of 0 is
	 * assumed, if it is possible. */
	line.slope =
		is_drift_known ? (p->least + p->greatest) / 2 : between(p->least, 0, p->greatest);
	line.offset_ns = (high_at(highs, line.slope) + low_at(lows, line.slope)) / 2;
	return line;
}

/* Finds the line. If with_said, the errors that the clocks state give bounds, too; then returns false, without a
 * result, if no line passes between all bounds. */
static bool fit(const struct ptrc_sync_evidence *e, bool with_said, struct ptrc_clock_link *l)
{
	static const struct ptrc_sync_points none;
	struct hull highs, lows;
	struct passage p;
	bool is_fitting;

	make_hull(&highs, &e->highs, with_said ? &e->said_highs : &none, l, 1);
	make_hull(&lows, &e->lows, with_said ? &e->said_lows : &none, l, -1);
	p = find_passage(&highs, &lows);
	is_fitting = p.room >= -rounding_ns || !with_said;
	if (is_fitting) {
		l->slack_ns = p.room < -rounding_ns ? -p.room : 0;
		l->highs = find_bounds(&highs, &p, &l->high_count);
		l->lows = find_bounds(&lows, &p, &l->low_count);
		l->line = choose(e, &highs, &lows, &p, -(double)l->base_ns);
	}
	free(highs.corners);
	free(lows.corners);
	return is_fitting;
}

void ptrc_sync_fit(const struct ptrc_sync_evidence *e, struct ptrc_clock_link *l,
		   bool *is_contradicted)
{
	const struct ptrc_sync_points *first = e->highs.count ? &e->highs : &e->lows;
	struct ptrc_period span = ptrc_period_none;
	const struct ptrc_sync_points *all[] = {&e->highs, &e->lows};

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < all[k]->count; i++)
			ptrc_period_widen(&span, all[k]->list[i].at_ns);
	*l = (struct ptrc_clock_link){
		.middle_ns = span.first / 2 + span.last / 2,
		/* The offset at the first message is subtracted: clocks may be years apart, and a double has
		 * only 53 bits. */
		.base_ns = first->list[0].ahead_ns,
	};
	*is_contradicted = false;
	if ((e->said_highs.count || e->said_lows.count) && fit(e, true, l))
		return;
	fit(e, false, l);
	*is_contradicted = (e->said_highs.count || e->said_lows.count) && l->slack_ns <= 0;
}
