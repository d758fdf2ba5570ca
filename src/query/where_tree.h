/* SPDX-License-Identifier: MIT */
/* An expression of --where between its two halves: where_parse.c makes it, where.c evaluates it. */
#ifndef PTRC_SRC_QUERY_WHERE_TREE_H
#define PTRC_SRC_QUERY_WHERE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/fields/quantity.h"
#include "src/fields/regex.h"
#include "src/query/view.h"
#include "src/fields/when.h"

/* A field, a literal, or what is calculated of operands. */
struct ptrc_operand {
	bool is_field;
	struct ptrc_field field;
	/* Owned; NULL if it is not calculated. */
	struct ptrc_calculation *calculation;
	/* What its values may measure. */
	unsigned int dimensions;
	struct ptrc_value literal;
	/* The literal as a number, worked out once. */
	bool has_number;
	struct ptrc_quantity number;
	/* The literal is a time, this far from the start or the end of the trace. Its number is worked
	 * out when these are known. */
	struct ptrc_when when;
	/* The text of a string literal; owned. */
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
	/* A field alone. */
	PTRC_NODE_TRUTH,
	PTRC_NODE_COMPARISON,
	PTRC_NODE_REGEX,
	PTRC_NODE_GLOB,
};

struct ptrc_node {
	enum ptrc_node_kind kind;
	/* The relations for which a comparison holds. */
	unsigned int relations;
	struct ptrc_operand operands[2];
	struct ptrc_node *children[2];
	/* Owned. */
	struct ptrc_regex *regex;
	/* Of a comparison: an operand is calculated, or may have a unit of time. */
	bool is_calculated;
	/* The text or the pattern that the names of events are compared with, else NULL; whether one of the names
	 * that were tried is the one or matches the other; and the next such comparison. */
	const struct ptrc_operand *name;
	bool has_name;
	struct ptrc_node *next_of_names;
};

struct ptrc_where {
	/* The arguments of ptrc_where_parse(). */
	const char *text;
	const struct ptrc_layouts *layouts;
	struct ptrc_node *root, *names;
	/* The fields and the bases of times that it has, a bit each. */
	uint64_t fields;
	unsigned int bases;
	/* When the trace begins and ends, once that is known. */
	bool is_resolved;
	int64_t first_ns, last_ns;
	/* Room for the digits that bytes are compared as, and for a text with a null byte
	 * appended. */
	struct ptrc_buffer scratch[2];
	uint64_t undecided_count;
	/* What depends on a field that the event lacks for a loss is undecided. */
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
