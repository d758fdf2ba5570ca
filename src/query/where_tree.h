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

/* A field, a literal, or a calculation. */
struct ptrc_operand {
	bool is_field;
	struct ptrc_field field;
	/* Owned, or NULL. */
	struct ptrc_calculation *calculation;
	/* The set that its values may have. */
	unsigned int dimensions;
	struct ptrc_value literal;
	/* The literal as a number. */
	bool has_number;
	struct ptrc_quantity number;
	/* The literal as a time. If it is relative, its number is set when start and end of the trace are known. */
	struct ptrc_when when;
	/* The text of a string literal, owned. */
	char *text;
	/* The offset in the expression. */
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
	/* A value alone. */
	PTRC_NODE_TRUTH,
	PTRC_NODE_COMPARISON,
	PTRC_NODE_REGEX,
	PTRC_NODE_GLOB,
};

struct ptrc_node {
	enum ptrc_node_kind kind;
	/* The orders for which a comparison holds. */
	unsigned int relations;
	struct ptrc_operand operands[2];
	struct ptrc_node *children[2];
	/* Owned. */
	struct ptrc_regex *regex;
	/* An operand of a comparison is calculated, or may have a unit of time. */
	bool is_calculated;
	/* The name or pattern that the field `event` is compared with, else NULL; whether a name that was tried matches;
	 * and the next such comparison. */
	const struct ptrc_operand *name;
	bool has_name;
	struct ptrc_node *next_of_names;
};

struct ptrc_where {
	/* The arguments of ptrc_where_parse(). */
	const char *text;
	const struct ptrc_layouts *layouts;
	struct ptrc_node *root, *names;
	/* The fields and the bases of times in the expression, a bit each. */
	uint64_t fields;
	unsigned int bases;
	/* The start and the end of the trace are known. */
	bool is_resolved;
	int64_t first_ns, last_ns;
	/* Memory for the digits that bytes are compared as, and for a text with a null byte appended. */
	struct ptrc_buffer scratch[2];
	uint64_t undecided_count;
	/* A condition on a field that is missing because data was cut or does not fit is undecided. */
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
