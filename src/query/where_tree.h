/* SPDX-License-Identifier: MIT */
/* The tree of an expression of --where: where_parse.c makes it, where.c evaluates it. */
#ifndef PTRC_SRC_QUERY_WHERE_TREE_H
#define PTRC_SRC_QUERY_WHERE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/fields/quantity.h"
#include "src/fields/regex.h"
#include "src/fields/when.h"
#include "src/query/view.h"

/* An operand: a field, a literal, or a calculation. */
struct ptrc_operand {
	bool is_field;
	struct ptrc_field field;
	/* The calculation, owned, or NULL. */
	struct ptrc_calculation *calculation;
	/* The set of dimensions that the operand's values may have. */
	unsigned int dimensions;
	struct ptrc_value literal;
	/* The literal as a number, if it is one. */
	bool has_number;
	struct ptrc_quantity number;
	/* The literal as a time, if it is one. The number of a relative time is set when the start and the end of
	 * the trace are known. */
	struct ptrc_when when;
	/* The text of a string literal, owned. */
	char *text;
	/* Within ptrc_where_find_vain(): the message that no event has the field, or NULL. */
	char *missing;
	/* The offset of the operand in the text of the expression. */
	size_t at;
};

struct ptrc_calculation {
	enum ptrc_operation operation;
	struct ptrc_operand operands[2];
};

enum ptrc_node_kind {
	PTRC_NODE_OR,
	PTRC_NODE_AND,
	PTRC_NODE_NOT,
	/* A value alone, which is true or false. */
	PTRC_NODE_TRUTH,
	PTRC_NODE_COMPARISON,
	PTRC_NODE_REGEX,
	PTRC_NODE_GLOB,
};

struct ptrc_node {
	enum ptrc_node_kind kind;
	/* The set of relations between the operands (PTRC_BELOW, PTRC_EQUAL, PTRC_ABOVE) for which the comparison
	 * holds. */
	unsigned int relations;
	struct ptrc_operand operands[2];
	struct ptrc_node *children[2];
	/* The regular expression of PTRC_NODE_REGEX, owned. */
	struct ptrc_regex *regex;
	/* One of the operands is calculated, or may have a unit of time. */
	bool is_calculated;
	/* The name or pattern with which the field `event` or `pair` is compared, or NULL. */
	const struct ptrc_operand *name;
	/* One of the names tried so far (ptrc_where_try_name()) matches `name`. */
	bool has_name;
	/* The next comparison of the field `event` or `pair` with a name or pattern. */
	struct ptrc_node *next_of_names;
};

struct ptrc_where {
	/* The arguments that were given to ptrc_where_parse(). */
	const char *text;
	const struct ptrc_layouts *layouts;
	struct ptrc_node *root, *names;
	/* The fields in the expression, and the bases of its relative times: a bit for each. */
	uint64_t fields;
	unsigned int bases;
	/* Set by ptrc_where_resolve(): the start and the end of the trace are known. */
	bool is_resolved;
	int64_t first_ns, last_ns;
	/* Memory for the two operands of a comparison: for the hexadecimal digits of bytes, which are compared in
	 * this form, and for a text with a null byte appended. */
	struct ptrc_buffer scratch[2];
	uint64_t undecided_count;
	/* Set while an event is judged whose data was cut or does not fit its layout: conditions on
	 * fields that are missing for that reason are undecided, not false. */
	bool has_doubts;
};

static inline bool ptrc_operand_is_literal(const struct ptrc_operand *o)
{
	return !o->is_field && !o->calculation;
}

static inline void ptrc_operand_set(struct ptrc_operand *o, struct ptrc_quantity q)
{
	o->dimensions = q.dimension;
	o->has_number = true;
	o->number = q;
}

#endif
