/* SPDX-License-Identifier: MIT */
/*
 * Quantiles of durations. Up to PTRC_QUANTILES_EXACT durations they are exact, at 8 bytes a duration. Beyond, only a
 * histogram is kept, whose places are less than 1.6 % wide, so a quantile is at most 0.8 % off; count, total, least
 * and greatest stay exact.
 */
#ifndef PTRC_SRC_SPANS_QUANTILES_H
#define PTRC_SRC_SPANS_QUANTILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/json.h"

enum { PTRC_QUANTILES_EXACT = 1 << 24 };

struct ptrc_lengths;

/* Starts zeroed. Lengths are nanoseconds. */
struct ptrc_quantiles {
	uint64_t count;
	/* At most UINT64_MAX, which also stands for more. */
	uint64_t total;
	/* Valid if .count is not 0. */
	uint64_t least;
	uint64_t greatest;
	/* The histogram: the counts of the places from first_place on. All others are empty. */
	uint64_t *counts;
	size_t first_place;
	size_t place_count;
	/* Each length; NULL if there are none or too many. */
	struct ptrc_lengths *exact;
};

void ptrc_quantiles_add(struct ptrc_quantiles *, uint64_t length);

/* Adds all lengths of the other one, as if they had been added one by one. */
void ptrc_quantiles_merge(struct ptrc_quantiles *, const struct ptrc_quantiles *other);

/* Quantiles are given in millionths: 0 is the least, this one the greatest. */
enum { PTRC_QUANTILE_MAX = 1000000 };

/* Reads the name of a quantile: min, p50, p99.99, max. Returns false if the text is something else. */
bool ptrc_quantile_read(const char *text, unsigned int *per_million);

/* The position, from 1, of the quantile among `count` sorted lengths. */
uint64_t ptrc_quantile_rank(uint64_t count, unsigned int per_million);

/* The least length that at least this share of all lengths does not exceed; 0 if there are none. */
uint64_t ptrc_quantiles_at(const struct ptrc_quantiles *, unsigned int per_million);
bool ptrc_quantiles_is_exact(const struct ptrc_quantiles *);

/* The number of lengths in [2^power, 2^(power + 1)). Lengths of 0 count as 1. */
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

/* Puts the members from "min_ns" to "total_ns". There is at least one length. */
void ptrc_quantiles_json(struct ptrc_json *, const struct ptrc_quantiles *);

/* Puts one of the lengths, or a dash if there are none. */
void ptrc_quantiles_put(struct ptrc_buffer *, const struct ptrc_quantiles *, uint64_t length_ns);

/* Puts a quantile, with ~ before it if it is not exact. */
void ptrc_quantiles_put_at(struct ptrc_buffer *, const struct ptrc_quantiles *,
			   unsigned int per_million);

#endif
