/* SPDX-License-Identifier: MIT */
/*
 * Comparing names with the patterns of a stream, and giving a stream other patterns. The lists of
 * patterns are in shared memory that any process of the user can change at any moment: what is
 * used of them is copied first.
 */
#ifndef PTRC_LIB_STREAM_PATTERNS_H
#define PTRC_LIB_STREAM_PATTERNS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/names.h"
#include "lib/stream/filter.h"

/* What filter and patterns say of a type, whose name is compared if it must be. PTRC_UNJUDGED: it
 * has no name, or the patterns change all the time. Async-signal-safe. */
enum ptrc_verdict ptrc_patterns_verdict(struct ptrc_stream_header *h, uint32_t id,
					const struct ptrc_names *n);

/* ---- the controller, under its lock ---- */

/* Judges every name that exists now, so that ptrc_filter_told() tells of all of them. Returns how
 * many names there are. */
uint32_t ptrc_patterns_judge_all(struct ptrc_stream_header *h, const struct ptrc_names *n);

/* Makes a change ready that puts other patterns in force. Names that exist are judged at once; but
 * a type of which posix_trace_set_filter() has decided stays decided if the new patterns say of
 * its name what the old ones said. ENOMEM. */
int ptrc_patterns_prepare(struct ptrc_stream_header *h, const struct ptrc_names *n,
			  const struct ptrc_pattern *patterns, uint32_t count,
			  struct ptrc_filter_change *change);

/* Copies the patterns in force, at most `size`. Returns how many there are. */
uint32_t ptrc_patterns_get(struct ptrc_stream_header *h, struct ptrc_pattern *patterns,
			   uint32_t size);
/* Whether the pattern matches a name that exists. */
bool ptrc_pattern_has_match(const struct ptrc_pattern *pattern, const struct ptrc_names *n);

#endif
