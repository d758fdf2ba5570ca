/* SPDX-License-Identifier: MIT */
/* An event type of a source: its name, and what readers, selections and sinks keep of it. */
#ifndef PTRC_SRC_QUERY_TYPE_H
#define PTRC_SRC_QUERY_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trace.h>

struct ptrc_layout;

struct ptrc_reader_name {
	/* The log or session has the name. Otherwise the text is "#" and the number. */
	bool is_known;
	size_t size;
	char text[TRACE_EVENT_NAME_MAX + 1];
};

/* Events of one type that have been decoded and do not fit their layout: their data has too few bytes, or too many,
 * or is not the JSON that it should be; and the least and the most bytes that it has. */
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

/*
 * Where the member that a sieve asks for stands in the data of a type, and which numbers are between the bounds:
 * those that are not more than `span` above `low`.
 */
struct ptrc_sieve_place {
	/* PTRC_TYPE_UNKNOWN; PTRC_TYPE_NO: it has no such place, and each event of the type passes. */
	unsigned char answer;
	unsigned char bytes;
	unsigned int at;
	size_t sizes[2];
	/* Of signed numbers, what makes them unsigned; and how far up they begin in 64 bits. */
	uint64_t bias;
	unsigned int shift;
	uint64_t low, span;
};

struct ptrc_type {
	/* Whether the selection's patterns match the name, and whether that of --around does: an enum ptrc_type_answer. */
	unsigned char is_selected;
	unsigned char is_around;
	/* The layout of its data, once it was looked for; null: it has none. */
	bool has_sought_layout;
	const struct ptrc_layout *layout;
	struct ptrc_misfits misfits;
	struct ptrc_sieve_place place;
	/* What lines say of the type, and what the sink and the pairs keep of it: one allocation each, which goes
	 * with the type. Null until they need it. */
	void *label;
	void *of_sink;
	void *of_pairs;
	struct ptrc_reader_name name;
};

#endif
