/* SPDX-License-Identifier: MIT */
/* The tokens of an expression of --where. */
#ifndef PTRC_SRC_QUERY_WHERE_TOKEN_H
#define PTRC_SRC_QUERY_WHERE_TOKEN_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/message.h"
#include "src/fields/quantity.h"
#include "src/query/where_tree.h"

enum { PTRC_WORD_MAX_BYTES = 100 };

enum ptrc_token {
	PTRC_TOKEN_END,
	PTRC_TOKEN_FIELD,
	PTRC_TOKEN_NUMBER,
	PTRC_TOKEN_STRING,
	PTRC_TOKEN_LEFT,
	PTRC_TOKEN_RIGHT,
	PTRC_TOKEN_OR_SIGN,
	PTRC_TOKEN_AND_SIGN,
	PTRC_TOKEN_NOT_SIGN,
	PTRC_TOKEN_RELATION,
	/* An operation: + - * / % */
	PTRC_TOKEN_OPERATION,
	PTRC_TOKEN_REGEX_SIGN,
	PTRC_TOKEN_GLOB_SIGN,
	/* The expression is wrong. The reason has been stored. */
	PTRC_TOKEN_BAD,
};

struct ptrc_parser {
	const char *begin;
	const char *at;
	const struct ptrc_layouts *layouts;
	struct ptrc_cli_reason *why;
	size_t depth;
	size_t tests;
	/* The list of comparisons of event names. */
	struct ptrc_node *names;
	struct ptrc_node **names_end;
	/* `fields` has a bit for each field in the expression, 1 << enum ptrc_field_id; `bases` has a bit for each
	 * base of its relative times, 1 << enum ptrc_when_base. */
	uint64_t fields;
	unsigned int bases;

	/* The next token. */
	enum ptrc_token token;
	unsigned int relations;
	enum ptrc_operation operation;
	const char *token_at;
	char word[PTRC_WORD_MAX_BYTES + 1];
	struct ptrc_quantity number;
	/* The text of the last string token; owned by the parser until an operand takes it. */
	char *string;
	size_t string_size;
};

/* Refuses the expression because of a mistake at this place. Only the first mistake is reported, as others may
 * follow from it. */
void ptrc_parser_refuse(struct ptrc_parser *, const char *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Reads the next token. Does nothing after a mistake. */
void ptrc_parser_next(struct ptrc_parser *);

/* Whether a double can hold the number. A number out of this range would be above, or below, the values of all
 * fields. */
static inline bool ptrc_parser_is_in_range(long double number)
{
	return isfinite((double)number);
}

#endif
