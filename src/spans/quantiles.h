/* SPDX-License-Identifier: MIT */
/*
 * Quantiles of durations. They are exact for up to PTRC_QUANTILES_EXACT durations, which take 8
 * bytes each. For more durations, only a histogram is kept. Its buckets are less than 1.6 % wide,
 * so a quantile is wrong by at most 0.8 %. Count, total, least and greatest duration stay exact.
 */
#ifndef PTRC_SRC_SPANS_QUANTILES_H
#define PTRC_SRC_SPANS_QUANTILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/json.h"

enum { PTRC_QUANTILES_EXACT = 1 << 24, PTRC_QUANTILES_EXACT_BRIEF = 1 << 14 };

struct ptrc_lengths;

/* Starts zeroed. Lengths are nanoseconds. */
struct ptrc_quantiles {
	uint64_t count;
	/* The sum of all lengths; UINT64_MAX if it is that or more. */
	uint64_t total;
	/* The least and the greatest length. Valid if .count is not 0. */
	uint64_t least;
	uint64_t greatest;
	/* The histogram: counts[i] is the number of lengths in bucket first_place + i, which is a
	 * range of lengths. All other buckets are empty. */
	uint64_t *counts;
	size_t first_place;
	size_t place_count;
	/* All lengths; NULL if there are none, or too many to keep. */
	struct ptrc_lengths *exact;
	/* .exact has at most PTRC_QUANTILES_EXACT_BRIEF lengths, because quantiles are asked for
	 * often, and each time the lengths have to be sorted. */
	bool is_brief;
};

void ptrc_quantiles_add(struct ptrc_quantiles *, uint64_t length);

/* Adds all lengths of `other`, with the same result as if they were added one by one. */
void ptrc_quantiles_merge(struct ptrc_quantiles *, const struct ptrc_quantiles *other);

/* Quantiles are given in millionths: 0 is the least length, PTRC_QUANTILE_MAX the greatest. */
enum { PTRC_QUANTILE_MAX = 1000000 };

/* Reads the name of a quantile, such as min, p50, p99.99 or max. Returns false if the text is something else. */
bool ptrc_quantile_read(const char *text, unsigned int *per_million);

/* The rank, from 1 on, of the quantile among `count` sorted lengths. */
uint64_t ptrc_quantile_rank(uint64_t count, unsigned int per_million);

/* The quantile: the least length such that at least per_million millionths of all lengths are not greater than it. 0
 * if there are no lengths. */
uint64_t ptrc_quantiles_at(const struct ptrc_quantiles *, unsigned int per_million);
bool ptrc_quantiles_is_exact(const struct ptrc_quantiles *);

/* The number of lengths that are greater than this one: if is_exact, for which the exact lengths must be kept; else by
 * the histogram, and those of the bucket of this length do not count. */
uint64_t ptrc_quantiles_above(const struct ptrc_quantiles *, uint64_t length, bool is_exact);

/* The number of lengths from 2^power to 2^(power + 1) - 1. A length of 0 counts as a length of 1. */
uint64_t ptrc_quantiles_octave(const struct ptrc_quantiles *, unsigned int power);

void ptrc_quantiles_free(struct ptrc_quantiles *);

/* The quantiles that tables and JSON show. */
enum { PTRC_QUANTILES_SHOWN = 3 };
struct ptrc_quantile {
	unsigned int per_million;
	const char *name;
	const char *key;
};
extern const struct ptrc_quantile ptrc_quantiles_shown[PTRC_QUANTILES_SHOWN];

/* Puts the JSON members from "min_ns" to "total_ns". There must be at least one length. */
void ptrc_quantiles_json(struct ptrc_json *, const struct ptrc_quantiles *);

/* The text of a length, or a dash if there are no lengths at all. It is that of ptrc_duration_text(), whose fourth call
 * after this one overwrites it. */
const char *ptrc_quantiles_text(const struct ptrc_quantiles *, uint64_t length_ns);

#endif
