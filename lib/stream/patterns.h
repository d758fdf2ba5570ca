/* SPDX-License-Identifier: MIT */
/*
 * Comparing names with the patterns of a stream, and changing the patterns. The lists of patterns
 * are in shared memory that any process of the user can change at any time, so they are copied
 * before use.
 */
#ifndef PTRC_LIB_STREAM_PATTERNS_H
#define PTRC_LIB_STREAM_PATTERNS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/names.h"
#include "lib/stream/filter.h"

/* The verdict of filter and patterns on a type. Compares the type's name with the patterns if
 * that was not done before. PTRC_UNJUDGED: the type has no name, or the patterns keep changing.
 * Async-signal-safe. */
enum ptrc_verdict ptrc_patterns_verdict(struct ptrc_stream_header *h, uint32_t id,
					const struct ptrc_names *n);

/* ---- for the controller, which holds its lock ---- */

/* Compares every registered name with the patterns, so that the set of ptrc_filter_told() is
 * complete. Returns the number of names. */
uint32_t ptrc_patterns_judge_all(struct ptrc_stream_header *h, const struct ptrc_names *n);

/* Prepares a change of the patterns, and judges all registered names. A type on which
 * posix_trace_set_filter() has decided stays decided if the new patterns have the same verdict on
 * its name as the old ones. Returns 0 or ENOMEM. */
int ptrc_patterns_prepare(struct ptrc_stream_header *h, const struct ptrc_names *n,
			  const struct ptrc_pattern *patterns, uint32_t count,
			  struct ptrc_filter_change *change);

/* Copies the patterns in force, and returns their number. */
uint32_t ptrc_patterns_get(struct ptrc_stream_header *h,
			   struct ptrc_pattern patterns[PTRC_PATTERNS_MAX]);
/* Whether the pattern matches a registered name. */
bool ptrc_pattern_has_match(const struct ptrc_pattern *pattern, const struct ptrc_names *n);

#endif
