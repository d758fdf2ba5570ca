/* SPDX-License-Identifier: MIT */
/*
 * Expressions over the fields of an event (--where). posixtrace-select(7) has their grammar and says what they mean.
 *
 * Values have dimensions (src/fields/quantity.h), and an expression is refused if it compares or combines values whose
 * dimensions do not allow it. A match that would take too much time or memory is undecided. If the expression depends
 * on this match, it does not hold, and the event is counted as undecided.
 */
#ifndef PTRC_SRC_QUERY_WHERE_H
#define PTRC_SRC_QUERY_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/cli.h"
#include "src/base/message.h"
#include "src/fields/quantity.h"
#include "src/fields/when.h"
#include "src/query/view.h"

struct ptrc_where;

/* Parses an expression. The result keeps referring to the text and to the layouts. Returns NULL if the expression
 * is wrong, and stores a reason, which starts with the column. */
struct ptrc_where *ptrc_where_parse(const char *text, const struct ptrc_layouts *,
				    struct ptrc_cli_reason *why);

/* The offset of the first (is_last: the last) occurrence of a word in the text, outside of quotes; `size` if
 * there is none. */
size_t ptrc_where_find_word(const char *text, size_t size, const char *word, bool is_last);

/* Splits "EVENT where EXPRESSION": stores the size of EVENT, without trailing blanks, and returns the expression,
 * or NULL if the text has no "where". */
const char *ptrc_where_split(const char *text, size_t *size);

bool ptrc_where_has_source_field(const struct ptrc_where *);

bool ptrc_where_has_field(const struct ptrc_where *, enum ptrc_field_id);

struct ptrc_query;

/* Calls find() for each field of the expression. If no event has the field, find() returns a message that says so,
 * which this function frees; otherwise find() returns NULL. Adds to `vain` a copy of the message of each field
 * because of which the expression can hold for no event. find() is ptrc_query_missing_member(), or calls it, and gets
 * the two other arguments. */
typedef char *ptrc_where_find(struct ptrc_query *, const struct ptrc_field *, const char *event);
void ptrc_where_find_vain(struct ptrc_where *, ptrc_where_find *find, struct ptrc_query *,
			  const char *event, struct ptrc_cli_texts *vain);

/* Whether the expression has a time that is relative to this base, the start or the end of the trace. */
bool ptrc_where_has_base(const struct ptrc_where *, enum ptrc_when_base);

/* Sets the start and the end of the trace. Until then, comparisons with times that are relative to these are
 * false. */
void ptrc_where_resolve(struct ptrc_where *, int64_t first_ns, int64_t last_ns);

/* The expression can hold only if the field is from `low` to `high` or, if is_outside, only if it is not. */
struct ptrc_where_bounds {
	const struct ptrc_field *field; /* part of the expression */
	ptrc_whole low, high;
	bool is_outside;
};

/* Stores between which values a field must be for the expression to hold: the bounds of its first comparison.
 * Returns false if the expression may hold without that comparison, or if that does not compare an integer of the
 * event with a literal. */
bool ptrc_where_get_bounds(const struct ptrc_where *, struct ptrc_where_bounds *);

/* Whether all expressions hold for the event; some may be NULL. If this cannot be decided, counts the event as
 * undecided in one of the expressions. */
bool ptrc_where_all_hold(struct ptrc_where *const *, size_t count, struct ptrc_view *);

/* Called if the event's data was cut, or does not fit its layout: whether the expression may hold for the complete
 * event. *is_unsure becomes whether that cannot be decided, because data is missing or a match takes too long. Does
 * not count the event as undecided. */
bool ptrc_where_may_hold(struct ptrc_where *, struct ptrc_view *, bool *is_unsure);

uint64_t *ptrc_where_undecided(struct ptrc_where *);

const char *ptrc_where_text(const struct ptrc_where *);

/* A copy of the expression, which another thread can use at the same time. */
struct ptrc_where *ptrc_where_again(const struct ptrc_where *);

/* Returns whether the expression may hold for an event or a pair (the field PTRC_FIELD_EVENT or PTRC_FIELD_PAIR) with
 * this name, whatever its other fields are. Notes which comparisons of the field with a name or a pattern match this
 * name. */
bool ptrc_where_try_name(struct ptrc_where *, enum ptrc_field_id, const char *name, size_t size);

/* Iterates over the names and patterns with which the expression compares the field, and which matched none of the names
 * tried so far. Returns each once, and NULL after the last. *place is NULL for the first call. *is_name becomes whether
 * the result is a name, or a pattern without special characters. */
const char *ptrc_where_next_missing(const struct ptrc_where *, enum ptrc_field_id,
				    const void **place, bool *is_name);

void ptrc_where_free(struct ptrc_where *);

#endif
