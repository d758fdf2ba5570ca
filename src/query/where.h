/* SPDX-License-Identifier: MIT */
/*
 * An expression over the fields of an event, as --where takes it:
 *
 * 	expression  all { "||" all }
 * 	all         condition { "&&" condition }
 * 	condition   "!" condition | "(" expression ")" | comparison
 * 	comparison  value
 * 	            value ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) value
 * 	            value ( "=~" | "~" ) string
 * 	value       product { ( "+" | "-" ) product }
 * 	product     factor { ( "*" | "/" | "%" ) factor }
 * 	factor      ( "-" | "+" ) factor | "(" value ")" | operand
 * 	operand     field | number | duration | string | "true" | "false"
 *
 * =~ matches an extended regular expression, ~ a pattern of the shell. A value alone holds
 * if the event has it and it is not 0, false or empty.
 *
 * Values have dimensions (src/fields/quantity.h): what is known not to go together is refused. A string
 * that is compared with a time, or added to or subtracted from something, is a time. A comparison
 * is false, also with !=, if a value cannot be compared with the other one, or there is none: the event
 * lacks the field, text does not read as a number, or a calculation has no result.
 *
 * A match of a pattern that would take too much time or memory is undecided, and so is what depends
 * on it: the expression does not hold then, and the event is counted.
 */
#ifndef PTRC_SRC_QUERY_WHERE_H
#define PTRC_SRC_QUERY_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/message.h"
#include "src/fields/quantity.h"
#include "src/query/view.h"
#include "src/fields/when.h"

struct ptrc_where;

/* Reads an expression, which then refers to the text and to the layouts. If it is wrong, returns null with a
 * reason that begins with the column in the text. */
struct ptrc_where *ptrc_where_parse(const char *text, const struct ptrc_layouts *,
				    struct ptrc_cli_reason *why);

/* The first, or the last, place of a word of the text outside of the quotes of expressions; the size if there is
 * none. */
size_t ptrc_where_find_word(const char *text, size_t size, const char *word, bool is_last);

/* Splits EVENT where EXPRESSION: stores the size of EVENT, without trailing blanks, and returns the expression; NULL
 * if the text has none. */
const char *ptrc_where_split(const char *text, size_t *size);

/* Whether the expression has a field that tells of the source. */
bool ptrc_where_has_source_field(const struct ptrc_where *);

/* Whether the expression has the field. Of gap, only a reader that watches threads tells; of bound, one with
 * a correction. */
bool ptrc_where_has_field(const struct ptrc_where *, enum ptrc_field_id);

/* Calls the function for each field of the expression. */
void ptrc_where_each_field(struct ptrc_where *, void (*)(const struct ptrc_field *, void *arg),
			   void *arg);

/* Whether the expression has a time that is relative to the begin or to the end of the trace. */
bool ptrc_where_has_base(const struct ptrc_where *, enum ptrc_when_base);

/* Says when the trace begins and ends: what is compared with a time that is relative to these is
 * false until this is called. */
void ptrc_where_resolve(struct ptrc_where *, int64_t first_ns, int64_t last_ns);

/* Between which numbers, or outside of which, a field has to be for the expression to hold. */
struct ptrc_where_bounds {
	const struct ptrc_field *field; /* of the expression */
	ptrc_whole low, high;
	bool is_outside;
};

/* Stores the bounds of the comparison that is made first, if the expression is false whenever that is
 * false, and if it is one of a number that stands in the event with a literal. Returns false if not. */
bool ptrc_where_get_bounds(const struct ptrc_where *, struct ptrc_where_bounds *);

/* Whether all expressions hold for the event; there may be NULL among them. Counts the event in one of them if
 * this cannot be decided. */
bool ptrc_where_all_hold(struct ptrc_where *const *, size_t count, struct ptrc_view *);
bool ptrc_where_holds(struct ptrc_where *, struct ptrc_view *);

/* Whether the expression may hold for the event as it was before its data was cut, or if its data
 * fitted its layout. Stores whether it may as well not. Does not count it. */
bool ptrc_where_may_hold(struct ptrc_where *, struct ptrc_view *, bool *is_unsure);

/* Counts the events of which it could not be decided whether the expression holds. */
uint64_t *ptrc_where_undecided(struct ptrc_where *);

const char *ptrc_where_text(const struct ptrc_where *);

/* Parses the same expression once more, for another thread. */
struct ptrc_where *ptrc_where_again(const struct ptrc_where *);

/*
 * Returns whether the expression may hold for an event of this name, whatever else is true of
 * it; remembers which comparisons of the field `event` with a name or a pattern have met what
 * they ask for.
 */
bool ptrc_where_try_name(struct ptrc_where *, const char *name, size_t size);

/*
 * The names and patterns of the expression of which no name that was tried is the one or
 * matches the other, each once, one after the other; null behind the last one. *place is null
 * at first. Stores whether it is a name, or a pattern that is like one.
 */
const char *ptrc_where_next_missing(const struct ptrc_where *, const void **place, bool *is_name);

void ptrc_where_free(struct ptrc_where *);

#endif
