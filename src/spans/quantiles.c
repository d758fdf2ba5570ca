/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/quantiles.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/message.h"

/* The histogram divides the range from each power of two to the next into STEPS buckets of equal
 * width, here called places. So a place below 2 * STEPS has a single length, and a place above that
 * is at most 1/STEPS as wide as its least length. */
enum { STEPS_POWER = 6, STEPS = 1 << STEPS_POWER };

const struct ptrc_quantile ptrc_quantiles_shown[PTRC_QUANTILES_SHOWN] = {
	{500000, "p50", "p50_ns"}, {900000, "p90", "p90_ns"}, {990000, "p99", "p99_ns"}};

struct ptrc_lengths {
	size_t room;
	bool is_sorted;
	/* The lengths; .count of the quantiles is their number. */
	uint64_t list[];
};

/* Returns room for `count` more exact lengths. If all of them together are too many, frees them and returns NULL. */
static uint64_t *extend(struct ptrc_quantiles *q, uint64_t count)
{
	struct ptrc_lengths *e = q->exact;
	size_t room = e ? e->room : 0;
	uint64_t most = q->is_brief ? PTRC_QUANTILES_EXACT_BRIEF : PTRC_QUANTILES_EXACT;

	if ((q->count && !e) || q->count + count > most) {
		free(e);
		q->exact = NULL;
		return NULL;
	}
	if (q->count + count > room) {
		room = room * 2 > q->count + count ? room * 2 : (size_t)(q->count + count);
		e = ptrc_cli_reallocate(e, sizeof(*e) + room * sizeof(e->list[0]));
		e->room = room;
		q->exact = e;
	}
	e->is_sorted = false;
	return &e->list[q->count];
}

static int compare(const void *a, const void *b)
{
	uint64_t s = *(const uint64_t *)a;
	uint64_t t = *(const uint64_t *)b;

	return (s > t) - (s < t);
}

/* Returns the exact lengths in ascending order. */
static const uint64_t *sorted(const struct ptrc_quantiles *q)
{
	if (!q->exact->is_sorted)
		ptrc_sort(q->exact->list, (size_t)q->count, compare);
	q->exact->is_sorted = true;
	return q->exact->list;
}

static size_t place_of(uint64_t length)
{
	unsigned int power = length < 2 ? 0 : 63 - (unsigned int)__builtin_clzll(length);

	if (power < STEPS_POWER)
		return (size_t)length;
	return (power - STEPS_POWER) * (size_t)STEPS + (size_t)(length >> (power - STEPS_POWER));
}

/* The length in the middle of a place of the histogram, which stands for all lengths there. */
static uint64_t length_of(size_t place)
{
	unsigned int shift = place < 2 * STEPS ? 0 : (unsigned int)(place / STEPS - 1);
	uint64_t begin = (place - (size_t)shift * STEPS) << shift;

	return begin + (UINT64_C(1) << shift) / 2;
}

/* Extends the histogram so that it has the places from `first` to `last`. */
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
	if (q->place_count)
		memcpy(counts + (q->first_place - first), q->counts,
		       q->place_count * sizeof(*counts));
	free(q->counts);
	q->counts = counts;
	q->first_place = first;
	q->place_count = last + 1 - first;
}

/* Updates the count, the total, and the least and greatest length. */
static void note(struct ptrc_quantiles *q, uint64_t count, uint64_t least, uint64_t greatest,
		 uint64_t total)
{
	if (!q->count || least < q->least)
		q->least = least;
	if (!q->count || greatest > q->greatest)
		q->greatest = greatest;
	q->count += count;
	if (__builtin_add_overflow(q->total, total, &q->total))
		q->total = UINT64_MAX;
}

void ptrc_quantiles_add(struct ptrc_quantiles *q, uint64_t length)
{
	size_t place = place_of(length);
	uint64_t *exact = extend(q, 1);

	if (exact)
		*exact = length;
	note(q, 1, length, length, length);
	/* Adds the places of the whole power of two, because similar lengths mostly follow. */
	if (place < q->first_place || place - q->first_place >= q->place_count)
		cover(q, place / STEPS * STEPS, place / STEPS * STEPS + STEPS - 1);
	q->counts[place - q->first_place]++;
}

void ptrc_quantiles_merge(struct ptrc_quantiles *q, const struct ptrc_quantiles *other)
{
	uint64_t *exact;

	if (!other->count)
		return;
	exact = extend(q, other->exact ? other->count : PTRC_QUANTILES_EXACT + 1);
	if (exact)
		memcpy(exact, other->exact->list, (size_t)other->count * sizeof(*exact));
	note(q, other->count, other->least, other->greatest, other->total);
	cover(q, other->first_place, other->first_place + other->place_count - 1);
	for (size_t i = 0; i < other->place_count; i++)
		q->counts[other->first_place - q->first_place + i] += other->counts[i];
}

bool ptrc_quantile_read(const char *text, unsigned int *per_million)
{
	unsigned int part = PTRC_QUANTILE_MAX / 100;
	size_t digits;

	if (!strcmp(text, "min") || !strcmp(text, "max")) {
		*per_million = text[1] == 'a' ? PTRC_QUANTILE_MAX : 0;
		return true;
	}
	if (*text++ != 'p')
		return false;
	digits = strspn(text, "0123456789");
	if (!digits || digits > 2)
		return false;
	*per_million = 0;
	for (size_t i = 0; i < digits; i++)
		*per_million = *per_million * 10 + (unsigned int)(*text++ - '0') * part;
	if (*text == '.' && text[1])
		for (text++; *text >= '0' && *text <= '9' && part > 1; text++) {
			part /= 10;
			*per_million += (unsigned int)(*text - '0') * part;
		}
	return !*text && *per_million;
}

uint64_t ptrc_quantile_rank(uint64_t count, unsigned int per_million)
{
	/* count * per_million / PTRC_QUANTILE_MAX, rounded up, without a product that could overflow. */
	uint64_t rank = count / PTRC_QUANTILE_MAX * per_million +
			(count % PTRC_QUANTILE_MAX * per_million + PTRC_QUANTILE_MAX - 1) /
				PTRC_QUANTILE_MAX;

	return rank ? rank : 1;
}

uint64_t ptrc_quantiles_at(const struct ptrc_quantiles *q, unsigned int per_million)
{
	uint64_t rank = ptrc_quantile_rank(q->count, per_million);
	uint64_t length = 0;

	if (!q->count)
		return 0;
	if (per_million == 0)
		return q->least;
	if (per_million == PTRC_QUANTILE_MAX)
		return q->greatest;
	if (q->exact)
		return sorted(q)[rank - 1];
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

bool ptrc_quantiles_is_exact(const struct ptrc_quantiles *q)
{
	return q->exact || !q->count;
}

uint64_t ptrc_quantiles_above(const struct ptrc_quantiles *q, uint64_t length, bool is_exact)
{
	uint64_t first = 0, end = q->count, count = 0;

	if (!is_exact) {
		for (size_t i = q->place_count; i-- && q->first_place + i > place_of(length);)
			count += q->counts[i];
		return count;
	}
	while (first < end) {
		uint64_t middle = first + (end - first) / 2;

		if (sorted(q)[middle] > length)
			end = middle;
		else
			first = middle + 1;
	}
	return q->count - first;
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
	free(q->exact);
	*q = (struct ptrc_quantiles){0};
}

const char *ptrc_quantiles_text(const struct ptrc_quantiles *q, uint64_t length_ns)
{
	return q->count ? ptrc_duration_text((int64_t)length_ns, false) : "-";
}

void ptrc_quantiles_json(struct ptrc_json *j, const struct ptrc_quantiles *q)
{
	ptrc_json_u64(j, "min_ns", q->least);
	for (size_t i = 0; i < PTRC_QUANTILES_SHOWN; i++)
		ptrc_json_u64(j, ptrc_quantiles_shown[i].key,
			      ptrc_quantiles_at(q, ptrc_quantiles_shown[i].per_million));
	ptrc_json_u64(j, "max_ns", q->greatest);
	ptrc_json_u64(j, "total_ns", q->total);
}
