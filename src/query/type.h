/* SPDX-License-Identifier: MIT */
/* An event type of a source: its name, and what readers, selections and sinks keep for it. */
#ifndef PTRC_SRC_QUERY_TYPE_H
#define PTRC_SRC_QUERY_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trace.h>

#include "src/fields/layout.h"

struct ptrc_reader_name {
	/* Whether the source has the name of the type. If not, `text` is "#" and the type's number. */
	bool is_known;
	size_t size;
	char text[TRACE_EVENT_NAME_MAX + 1];
};

/* The numbers of decoded events of a type whose data does not fit the layout: it is too short, has bytes
 * after the last field, or is not valid JSON. `least` and `most` are the least and the greatest size of that
 * data. */
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

/* The place of a member in the data of an event type, where a sieve (src/query/sieve.h) reads it, and the range with
 * which the sieve compares the value: from `low` to `low` + `span`, with `bias` applied. The member has this place only
 * in data that has one of the two sizes. */
struct ptrc_sieve_place {
	/* PTRC_TYPE_YES: the sieve compares the member. PTRC_TYPE_NO: each event of the type passes, for example
	 * because the member has no fixed place. */
	unsigned char answer;
	struct ptrc_layout_spot spot;
	/* For a signed member, `bias` is the highest bit: inverting it turns the value into an unsigned number of
	 * the same order. `shift` is 64 minus the number of bits of the member. Both are 0 for unsigned members. */
	uint64_t bias;
	unsigned int shift;
	uint64_t low, span;
};

struct ptrc_type {
	/* As enum ptrc_type_answer: whether the selection includes the type, and whether its name matches the
	 * pattern of --around. */
	unsigned char is_selected;
	unsigned char is_around;
	/* The layout of the type's data, or NULL if it has none. Valid if has_sought_layout. */
	bool has_sought_layout;
	const struct ptrc_layout *layout;
	struct ptrc_misfits misfits;
	struct ptrc_sieve_place place;
	/* Data that other modules keep for the type. Each pointer is NULL until it is needed, and
	 * is freed with the type by one free(). */
	/* The name of the type in the form in which src/text shows it. */
	void *label;
	/* Owned by the sink, the consumer of the query's events. */
	void *of_sink;
	/* Owned by src/spans. */
	void *of_pairs;
	/* Whether the type is os.lost: the kernel lost events between an event of this type and the next event. */
	bool is_os_lost;
	/* Its name is PTRC_COMMAND_ENDED. */
	bool is_command_end;
	/* Its name is PTRC_COMMAND_ENDED or PTRC_WENT_ON: the keeper has recorded it at the end of the log, with the
	 * numbers of a thread that may have ended before. */
	bool is_of_keeper;
	struct ptrc_reader_name name;
};

#endif
