/* SPDX-License-Identifier: MIT */
/*
 * Quantiles of durations. They are exact up to PTRC_QUANTILES_EXACT durations, which takes 8 bytes each.
 * Of more only a histogram is kept, in which lengths that differ by less than 1.6 % count as the same, so
 * that a quantile is within 0.8 % of the exact one; count, total, least and greatest stay exact.
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
	/* UINT64_MAX if it has no room. */
	uint64_t total;
	/* Of no use if there are none. */
	uint64_t least;
	uint64_t greatest;
	/* The numbers of the places from first_place on; all others have none. */
	uint64_t *counts;
	size_t first_place;
	size_t place_count;
	/* Each length; null if there are none or too many. */
	struct ptrc_lengths *exact;
};

void ptrc_quantiles_add(struct ptrc_quantiles *, uint64_t length);

/* Adds all lengths of the other one, as if they had been added one by one. */
void ptrc_quantiles_merge(struct ptrc_quantiles *, const struct ptrc_quantiles *other);

/* Reads the name of a quantile: min, p50, p99.9, max. Returns false if the text is none. */
bool ptrc_quantile_read(const char *text, unsigned int *per_mille);

/* The least length for which at least so many of 1,000 are not longer; 0 if there are none. */
uint64_t ptrc_quantiles_at(const struct ptrc_quantiles *, unsigned int per_mille);

/* Whether that is exact. */
bool ptrc_quantiles_is_exact(const struct ptrc_quantiles *);

/* How many lengths are in [2^power, 2^(power + 1)); those of 0 and 1 both are at power 0. */
uint64_t ptrc_quantiles_octave(const struct ptrc_quantiles *, unsigned int power);

void ptrc_quantiles_free(struct ptrc_quantiles *);

/* The quantiles that people are shown, and their names. */
enum { PTRC_QUANTILES_SHOWN = 3 };
struct ptrc_quantile {
	unsigned int per_mille;
	const char *name;
	const char *key;
};
extern const struct ptrc_quantile ptrc_quantiles_shown[PTRC_QUANTILES_SHOWN];

/* Puts the members from "min_ns" to "total_ns" of durations, of which there are some. */
void ptrc_quantiles_json(struct ptrc_json *, const struct ptrc_quantiles *);

/* Puts a duration that is one of these, or a dash if there are none. */
void ptrc_quantiles_put(struct ptrc_buffer *, const struct ptrc_quantiles *, uint64_t length_ns);

/* Puts a quantile, with ~ before one that is not exact. */
void ptrc_quantiles_put_at(struct ptrc_buffer *, const struct ptrc_quantiles *,
			   unsigned int per_mille);

#endif
