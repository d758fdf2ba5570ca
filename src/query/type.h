/* SPDX-License-Identifier: MIT */
/* An event type of a source: its name, and what readers, selections and sinks keep for it. */
#ifndef PTRC_SRC_QUERY_TYPE_H
#define PTRC_SRC_QUERY_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trace.h>

struct ptrc_layout;

struct ptrc_reader_name {
	/* The source has the name. Otherwise the text is "#" and the number. */
	bool is_known;
	size_t size;
	char text[TRACE_EVENT_NAME_MAX + 1];
};

/* Counts of decoded events that do not fit their layout: their data is too short, too long, or not valid JSON; and its
 * least and greatest size. */
struct ptrc_misfits {
	uint64_t short_count;
	uint64_t rest_count;
	uint64_t not_json_count;
	size_t least;
	size_t most;
};

static inline uint64_t ptrc_misfits_sum(const struct ptrc_misfits *m)
{
	return m->short_count + m->rest_count + m->not_json_count;
}

static inline void ptrc_misfits_add(struct ptrc_misfits *m, const struct ptrc_misfits *more)
{
	if (!ptrc_misfits_sum(m) || more->least < m->least)
		m->least = more->least;
	if (more->most > m->most)
		m->most = more->most;
	m->short_count += more->short_count;
	m->rest_count += more->rest_count;
	m->not_json_count += more->not_json_count;
}

enum ptrc_type_answer { PTRC_TYPE_UNKNOWN, PTRC_TYPE_NO, PTRC_TYPE_YES };

/* The place of a sieve's member in the data of a type, and the bounds: from `low` to `low` + `span`. */
struct ptrc_sieve_place {
	/* An enum ptrc_type_answer. Without a place, each event of the type passes. */
	unsigned char answer;
	unsigned char bytes;
	unsigned int at;
	size_t sizes[2];
	/* For signed numbers: what makes them unsigned, and the bits by which they are shorter than 64. */
	uint64_t bias;
	unsigned int shift;
	uint64_t low, span;
};

struct ptrc_type {
	/* Whether the selection's patterns, and that of --around, match the name: an enum ptrc_type_answer. */
	unsigned char is_selected;
	unsigned char is_around;
	/* The layout of its data, or NULL, once it was looked up. */
	bool has_sought_layout;
	const struct ptrc_layout *layout;
	struct ptrc_misfits misfits;
	struct ptrc_sieve_place place;
	/* The type as src/text shows it, and the data of the sink and of the pairs: one allocation each, freed with the type;
	 * NULL until it is needed. */
	void *label;
	void *of_sink;
	void *of_pairs;
	struct ptrc_reader_name name;
};

#endif
