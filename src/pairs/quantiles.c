/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/pairs/quantiles.h"

#include <stdlib.h>
#include <string.h>

#include "src/cli/message.h"

/*
 * Each power of two is cut into STEPS places of the same width. So up to 2 * STEPS a place has one
 * length, and beyond it at most 1/STEPS of the length that it begins with.
 */
enum { STEPS_POWER = 6, STEPS = 1 << STEPS_POWER };

static unsigned int power_of(uint64_t length)
{
	return length < 2 ? 0 : 63 - (unsigned int)__builtin_clzll(length);
}

static size_t place_of(uint64_t length)
{
	unsigned int power = power_of(length);

	if (power < STEPS_POWER)
		return (size_t)length;
	return (power - STEPS_POWER) * (size_t)STEPS + (size_t)(length >> (power - STEPS_POWER));
}

/* The middle of the lengths of a place. */
static uint64_t length_of(size_t place)
{
	unsigned int shift = place < 2 * STEPS ? 0 : (unsigned int)(place / STEPS - 1);
	uint64_t begin = (place - (size_t)shift * STEPS) << shift;

	return begin + (UINT64_C(1) << shift) / 2;
}

/* Makes the places from `first` to `last` part of those that have a number. */
static void cover(struct ptrc_quantiles *q, size_t first, size_t last)
{
	size_t end = q->first_place + q->place_count;
	uint64_t *counts;

	if (!q->place_count)
		q->first_place = end = first;
	if (first > q->first_place)
		first = q->first_place;
	if (last + 1 < end)
		last = end - 1;
	counts = ptrc_cli_allocate((last + 1 - first) * sizeof(*counts));
	memset(counts, 0, (last + 1 - first) * sizeof(*counts));
	if (q->place_count)
		memcpy(counts + (q->first_place - first), q->counts,
		       q->place_count * sizeof(*counts));
	free(q->counts);
	q->counts = counts;
	q->first_place = first;
	q->place_count = last + 1 - first;
}

void ptrc_quantiles_add(struct ptrc_quantiles *q, uint64_t length)
{
	size_t place = place_of(length);

	if (!q->count || length < q->least)
		q->least = length;
	if (!q->count || length > q->greatest)
		q->greatest = length;
	q->count++;
	if (__builtin_add_overflow(q->total, length, &q->total))
		q->total = UINT64_MAX;
	/* The whole power of two: others of it mostly follow. */
	if (place < q->first_place || place - q->first_place >= q->place_count)
		cover(q, place / STEPS * STEPS, place / STEPS * STEPS + STEPS - 1);
	q->counts[place - q->first_place]++;
}

void ptrc_quantiles_merge(struct ptrc_quantiles *q, const struct ptrc_quantiles *other)
{
	if (!other->count)
		return;
	if (!q->count || other->least < q->least)
		q->least = other->least;
	if (!q->count || other->greatest > q->greatest)
		q->greatest = other->greatest;
	q->count += other->count;
	if (__builtin_add_overflow(q->total, other->total, &q->total))
		q->total = UINT64_MAX;
	cover(q, other->first_place, other->first_place + other->place_count - 1);
	for (size_t i = 0; i < other->place_count; i++)
		q->counts[other->first_place - q->first_place + i] += other->counts[i];
}

uint64_t ptrc_quantiles_at(const struct ptrc_quantiles *q, unsigned int per_mille)
{
	/* Rounded up, without a product that may have no room. */
	uint64_t rank = q->count / 1000 * per_mille + (q->count % 1000 * per_mille + 999) / 1000;
	uint64_t length = 0;

	if (!q->count)
		return 0;
	if (!rank)
		rank = 1;
	for (size_t i = 0; i < q->place_count; i++) {
		if (q->counts[i] >= rank) {
			length = length_of(q->first_place + i);
			break;
		}
		rank -= q->counts[i];
	}
	if (length < q->least)
		return q->least;
	return length > q->greatest ? q->greatest : length;
}

uint64_t ptrc_quantiles_octave(const struct ptrc_quantiles *q, unsigned int power)
{
	uint64_t begin = UINT64_C(1) << power;
	size_t first = power ? place_of(begin) : 0;
	size_t last = place_of(begin + (begin - 1));
	uint64_t count = 0;

	for (size_t place = first; place <= last; place++)
		if (place >= q->first_place && place - q->first_place < q->place_count)
			count += q->counts[place - q->first_place];
	return count;
}

void ptrc_quantiles_free(struct ptrc_quantiles *q)
{
	free(q->counts);
	*q = (struct ptrc_quantiles){0};
}

void ptrc_quantiles_put(struct ptrc_buffer *b, const struct ptrc_quantiles *q, uint64_t length_ns)
{
	if (q->count)
		ptrc_buffer_duration(b, length_ns);
	else
		ptrc_buffer_char(b, '-');
}
