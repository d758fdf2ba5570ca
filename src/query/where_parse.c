/* SPDX-License-Identifier: MIT */
/* The parser of expressions, by the grammar in posixtrace-select(7). */
#include "config.h"
#include "src/query/where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/nearest.h"
#include "src/query/reader.h"
#include "src/query/where_token.h"

/* Limits of an expression. They are far above what users write, and far below what would overflow the stack. */
enum {
	DEPTH_MAX = 100,
	TESTS_MAX = 1000,
	PATTERN_MAX_BYTES = 1000,
};

static void free_operand(struct ptrc_operand *o)
{
	free(o->text);
	for (size_t i = 0; o->calculation && i < 2; i++)
		free_operand(&o->calculation->operands[i]);
	free(o->calculation);
}

static void free_node(struct ptrc_node *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < 2; i++) {
		free_node(n->children[i]);
		free_operand(&n->operands[i]);
	}
	ptrc_regex_free(n->regex);
	free(n);
}

static struct ptrc_node *make_node(enum ptrc_node_kind kind)
{
	struct ptrc_node *n = ptrc_cli_allocate(sizeof(*n));

	n->kind = kind;
	return n;
}

static const char element_hint[] = "; an element of an array is data.NAME[N]";

enum { DESCRIPTION_BYTES = PTRC_DIMENSION_WORDS + 100 };

/* Describes an operand for a message: stores "'pid' is a number" or "this is a number or text". */
static const char *describe(const struct ptrc_operand *o, char text[DESCRIPTION_BYTES])
{
	char words[PTRC_DIMENSION_WORDS];

	ptrc_dimension_words(o->dimensions, words);
	if (o->is_field && o->field.id == PTRC_FIELD_MEMBER)
		snprintf(text, DESCRIPTION_BYTES, "'data.%.80s' is %s", o->field.text, words);
	else if (o->is_field)
		snprintf(text, DESCRIPTION_BYTES, "'%s' is %s", ptrc_field_name(o->field.id),
			 words);
	else
		snprintf(text, DESCRIPTION_BYTES, "this is %s", words);
	return text;
}

/* ---- conditions and values ---- */

/* A part of the expression, a condition or a value. Parentheses around it make no difference. */
struct part {
	/* NULL if the part is a value. */
	struct ptrc_node *condition;
	struct ptrc_operand value;
	/* The start of the part in the text. */
	const char *at;
};

static void count_test(struct ptrc_parser *p, const char *at)
{
	if (++p->tests > TESTS_MAX)
		ptrc_parser_refuse(p, at, "more than %d comparisons and operations",
				   (int)TESTS_MAX);
}

/* Turns a part, which the parser has just read, into a condition. A value becomes the condition that the value is
 * true. */
static struct ptrc_node *condition_of(struct ptrc_parser *p, struct part *part)
{
	struct ptrc_node *n = part->condition;

	if (n)
		return n;
	if (ptrc_operand_is_literal(&part->value))
		ptrc_parser_refuse(p, p->token_at,
				   "a comparison is missing: a value alone is no condition");
	count_test(p, p->token_at);
	n = make_node(PTRC_NODE_TRUTH);
	n->operands[0] = part->value;
	return n;
}

static struct ptrc_operand value_of(struct ptrc_parser *p, struct part *part)
{
	if (part->condition) {
		ptrc_parser_refuse(
			p, part->at,
			"a condition is not a value that can be compared or calculated with");
		free_node(part->condition);
		return (struct ptrc_operand){0};
	}
	return part->value;
}

static void read_operand(struct ptrc_parser *p, struct ptrc_operand *o, bool is_right)
{
	struct ptrc_cli_reason why;
	long double number;

	o->at = (size_t)(p->token_at - p->begin);
	switch (p->token) {
	case PTRC_TOKEN_FIELD:
		o->is_field = true;
		if (!ptrc_field_find(p->word, p->layouts, &o->field, &why))
			ptrc_parser_refuse(p, p->token_at, "%s%s", why.text,
					   is_right ? "; text has to be in quotes" : "");
		else
			o->dimensions = ptrc_field_dimensions(&o->field);
		if (p->token != PTRC_TOKEN_BAD)
			p->fields |= UINT64_C(1) << o->field.id;
		break;
	case PTRC_TOKEN_NUMBER:
		ptrc_operand_set(o, p->number);
		break;
	case PTRC_TOKEN_STRING:
		o->text = p->string;
		p->string = NULL;
		o->literal.kind = PTRC_VALUE_TEXT;
		o->literal.bytes = o->text;
		o->literal.size = p->string_size;
		if (ptrc_value_number(&o->literal, &number) && ptrc_parser_is_in_range(number))
			ptrc_operand_set(o, ptrc_quantity_number(PTRC_DIMENSION_NUMBER, number));
		o->dimensions = PTRC_DIMENSION_TEXT;
		break;
	case PTRC_TOKEN_BAD:
		break;
	case PTRC_TOKEN_END:
		ptrc_parser_refuse(p, p->token_at,
				   "the expression ends where a field, number or string is "
				   "missing");
		break;
	default:
		ptrc_parser_refuse(p, p->token_at,
				   "a field, number or string is missing before '%.2s'",
				   p->token_at);
		break;
	}
	ptrc_parser_next(p);
}

static void make_moment(struct ptrc_parser *p, struct ptrc_operand *o)
{
	const char *at = p->begin + o->at;
	struct ptrc_cli_reason why;

	if (p->token == PTRC_TOKEN_BAD)
		return;
	if (!ptrc_when_parse(o->text, &o->when, &why)) {
		ptrc_parser_refuse(p, at, "%s", why.text);
		return;
	}
	ptrc_operand_set(o, ptrc_quantity_whole(PTRC_DIMENSION_MOMENT, o->when.ns));
	p->bases |= 1U << o->when.base;
	/* A time relative to the start or the end of the trace becomes a number when these are
	 * known. */
	o->has_number = o->when.base == PTRC_WHEN_ABSOLUTE;
	free(o->text);
	o->text = NULL;
	o->literal = (struct ptrc_value){0};
}

/* ---- calculations ---- */

static const char *operation_word(enum ptrc_operation operation)
{
	return operation == PTRC_ADD	    ? "added to"
	       : operation == PTRC_SUBTRACT ? "subtracted from"
	       : operation == PTRC_MULTIPLY ? "multiplied with"
					    : "a divisor of";
}

static void refuse_operation(struct ptrc_parser *p, enum ptrc_operation operation, const char *at,
			     unsigned int left, unsigned int right)
{
	char words[2][PTRC_DIMENSION_WORDS];
	unsigned int both = left | right;
	const char *hint = "";

	if (both & PTRC_DIMENSION_ARRAY)
		hint = element_hint;
	else if (both & PTRC_DIMENSION_TEXT)
		hint = "; of text in quotes only a time can be calculated with, by + and -";
	else if (both == (PTRC_DIMENSION_NUMBER | PTRC_DIMENSION_DURATION) ||
		 both == (PTRC_DIMENSION_NUMBER | PTRC_DIMENSION_MOMENT))
		hint = "; a duration has a unit, such as 5ms";
	ptrc_parser_refuse(p, at, "%s cannot be %s %s%s", ptrc_dimension_words(right, words[1]),
			   operation_word(operation), ptrc_dimension_words(left, words[0]), hint);
}

/* The dimensions that the operand's values may have in a calculation. Text in the data may read as a number. */
static unsigned int dimensions_in_calculation(const struct ptrc_operand *o)
{
	bool is_text = o->is_field && o->field.id == PTRC_FIELD_MEMBER &&
		       (o->dimensions & PTRC_DIMENSION_TEXT);

	return is_text ? o->dimensions | PTRC_DIMENSION_NUMBER : o->dimensions;
}

static bool is_known(const struct ptrc_operand *o)
{
	return ptrc_operand_is_literal(o) && o->has_number;
}

/* Combines two operands of an operation into one, in *left. If both are literals, the result is a literal. */
static void calculate(struct ptrc_parser *p, enum ptrc_operation operation, const char *sign,
		      struct ptrc_operand *left, struct ptrc_operand *right)
{
	struct ptrc_operand result = {.at = left->at};
	struct ptrc_quantity q;
	bool is_shift = operation == PTRC_ADD || operation == PTRC_SUBTRACT;

	count_test(p, sign);
	if (is_shift && left->text)
		make_moment(p, left);
	if (is_shift && right->text)
		make_moment(p, right);
	result.dimensions = ptrc_dimension_of(operation, dimensions_in_calculation(left),
					      dimensions_in_calculation(right));
	if (!result.dimensions)
		refuse_operation(p, operation, sign, left->dimensions, right->dimensions);
	if (p->token != PTRC_TOKEN_BAD && is_known(left) && is_known(right)) {
		if (ptrc_quantity_calculate(operation, &left->number, &right->number, &q))
			ptrc_operand_set(&result, q);
		else
			ptrc_parser_refuse(
				p, sign,
				"this has no result: it is a division by 0, a remainder of a "
				"fraction, or too large");
	} else {
		result.calculation = ptrc_cli_allocate(sizeof(*result.calculation));
		*result.calculation = (struct ptrc_calculation){operation, {*left, *right}};
	}
	*left = result;
}

static void read_or(struct ptrc_parser *, struct part *);

/* Called at each negation, parenthesis and sign, which can be nested: refuses an expression that is nested too
 * deeply. */
static void begin_nest(struct ptrc_parser *p)
{
	if (++p->depth > DEPTH_MAX)
		ptrc_parser_refuse(p, p->token_at, "'!', '(' and signs are nested deeper than %d",
				   (int)DEPTH_MAX);
}

static void read_factor(struct ptrc_parser *p, struct part *part, bool is_right)
{
	const char *at = p->token_at;

	*part = (struct part){.at = at};
	if (p->token == PTRC_TOKEN_OPERATION &&
	    (p->operation == PTRC_SUBTRACT || p->operation == PTRC_ADD)) {
		/* -x is calculated as x * -1, for numbers and durations. */
		struct ptrc_operand sign = {.at = (size_t)(at - p->begin)};

		ptrc_operand_set(&sign, ptrc_quantity_whole(PTRC_DIMENSION_NUMBER,
							    p->operation == PTRC_ADD ? 1 : -1));
		begin_nest(p);
		ptrc_parser_next(p);
		read_factor(p, part, true);
		p->depth--;
		part->value = value_of(p, part);
		part->condition = NULL;
		part->at = at;
		if (!(dimensions_in_calculation(&part->value) &
		      (PTRC_DIMENSION_NUMBER | PTRC_DIMENSION_DURATION)))
			ptrc_parser_refuse(p, at, "a sign needs a number or a duration after it");
		calculate(p, PTRC_MULTIPLY, at, &part->value, &sign);
		part->value.at = sign.at;
	} else if (p->token == PTRC_TOKEN_LEFT) {
		begin_nest(p);
		ptrc_parser_next(p);
		read_or(p, part);
		part->at = at;
		if (p->token == PTRC_TOKEN_RIGHT)
			ptrc_parser_next(p);
		else
			ptrc_parser_refuse(p, p->token_at, "')' is missing");
		p->depth--;
	} else {
		read_operand(p, &part->value, is_right);
	}
}

static void read_right(struct ptrc_parser *p, struct part *left,
		       void (*read)(struct ptrc_parser *, struct part *, bool))
{
	enum ptrc_operation operation = p->operation;
	const char *sign = p->token_at;
	struct ptrc_operand a = value_of(p, left);
	struct ptrc_operand b;
	struct part right;

	ptrc_parser_next(p);
	read(p, &right, true);
	b = value_of(p, &right);
	calculate(p, operation, sign, &a, &b);
	left->condition = NULL;
	left->value = a;
}

static void read_product(struct ptrc_parser *p, struct part *part, bool is_right)
{
	read_factor(p, part, is_right);
	while (p->token == PTRC_TOKEN_OPERATION && p->operation != PTRC_ADD &&
	       p->operation != PTRC_SUBTRACT)
		read_right(p, part, read_factor);
}

static void read_sum(struct ptrc_parser *p, struct part *part, bool is_right)
{
	read_product(p, part, is_right);
	while (p->token == PTRC_TOKEN_OPERATION)
		read_right(p, part, read_product);
}

/* ---- comparisons ---- */

/* Whether one operand is the field `ns`, the time as a number, and the other the field `time`. No other number
 * can be compared with a time. */
static bool are_time_and_ns(const struct ptrc_operand *a, const struct ptrc_operand *b)
{
	return a->is_field && b->is_field &&
	       ((a->field.id == PTRC_FIELD_TIME && b->field.id == PTRC_FIELD_NS) ||
		(a->field.id == PTRC_FIELD_NS && b->field.id == PTRC_FIELD_TIME));
}

/* Called for operands that cannot be compared. Whether the reason is that `field`, a member of the data, has no unit of
 * time, while `other` is a duration. */
static bool lacks_unit(const struct ptrc_operand *field, const struct ptrc_operand *other)
{
	return field->is_field && field->field.id == PTRC_FIELD_MEMBER &&
	       other->dimensions == PTRC_DIMENSION_DURATION;
}

/* A hint for the message that operands a and b cannot be compared, because their dimensions or units differ: how
 * the user can write the comparison correctly. */
static const char *hint_for(const struct ptrc_operand *a, const struct ptrc_operand *b)
{
	unsigned int both = a->dimensions | b->dimensions;

	if (both & PTRC_DIMENSION_ARRAY)
		return element_hint;
	if (both & PTRC_DIMENSION_BYTES)
		return "";
	if (lacks_unit(a, b) || lacks_unit(b, a))
		return "; it is a duration if its layout gives it a unit, or if it is multiplied "
		       "with 1us";
	if (both & PTRC_DIMENSION_MOMENT)
		return both & PTRC_DIMENSION_DURATION
			       ? "; the difference of two times is a duration"
			       : "; a time is in quotes, such as '2026-01-02 03:04', and 'ns' is the "
				 "time as a number";
	return both & PTRC_DIMENSION_TEXT ? "; a duration is not in quotes: 5ms"
					  : "; a duration has a unit, such as 5ms";
}

/* Whether the field `truncated` can have this value. Offers its values to `nearest`. */
static bool is_truncation(const char *text, struct ptrc_nearest *nearest)
{
	static const int statuses[] = {POSIX_TRACE_NOT_TRUNCATED, POSIX_TRACE_TRUNCATED_RECORD,
				       POSIX_TRACE_TRUNCATED_READ};
	bool is_found = false;

	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		is_found |= !strcmp(ptrc_truncation_word(statuses[i]), text);
		ptrc_nearest_offer(nearest, text, ptrc_truncation_word(statuses[i]));
	}
	return is_found;
}

/* Whether the operand may have a value that is named by the string. Otherwise it is an enum; offers the names of its
 * values to `nearest`. */
static bool may_have_name(const struct ptrc_parser *p, const struct ptrc_operand *o,
			  const struct ptrc_operand *string, struct ptrc_nearest *nearest)
{
	if (o->is_field && o->field.id == PTRC_FIELD_TRUNCATED)
		return is_truncation(string->text, nearest);
	return !o->is_field || o->field.id != PTRC_FIELD_MEMBER || o->field.name < 0 ||
	       o->dimensions & PTRC_DIMENSION_BOOL || string->has_number ||
	       ptrc_layouts_allow_text(p->layouts, o->field.name, string->text, nearest);
}

/* Refuses the expression if the operand `other` is an enum, and cannot have a value that is named by the string. A
 * member of the data is an enum if it is one in all layouts. */
static void check_name(struct ptrc_parser *p, const struct ptrc_operand *other,
		       const struct ptrc_operand *string)
{
	const struct ptrc_field *f = &other->field;
	bool is_member = f->id == PTRC_FIELD_MEMBER;
	struct ptrc_nearest nearest = {0};
	char proposal[300];

	if (may_have_name(p, other, string, &nearest))
		return;
	ptrc_parser_refuse(p, p->begin + string->at, "'%.60s' is no name of a value of %s%.80s%s",
			   string->text, is_member ? "data." : "",
			   is_member ? f->text : ptrc_field_name(f->id),
			   ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
}

/* Refuses the expression if the operand `other` can have no value that may equal the string. Makes the string a time
 * if it is compared with one. */
static void check_string(struct ptrc_parser *p, const struct ptrc_node *n,
			 const struct ptrc_operand *other, struct ptrc_operand *string)
{
	const unsigned int numbers = PTRC_DIMENSION_NUMBER | PTRC_DIMENSION_BOOL;
	char reason[DESCRIPTION_BYTES];

	if (!string->text)
		return;
	if (other->dimensions == PTRC_DIMENSION_MOMENT)
		make_moment(p, string);
	else if (other->dimensions == PTRC_DIMENSION_BOOL && !string->has_number)
		ptrc_parser_refuse(p, p->begin + string->at,
				   "'%.60s' is text, but %s, without quotes", string->text,
				   describe(other, reason));
	else if (other->dimensions && !(other->dimensions & ~numbers) && !string->has_number)
		ptrc_parser_refuse(p, p->begin + string->at, "'%.60s' is not a number, but %s",
				   string->text, describe(other, reason));
	else if (n->relations == PTRC_EQUAL || n->relations == PTRC_UNEQUAL)
		check_name(p, other, string);
}

/* Refuses the expression if `text` is a field that is text in all layouts, and is compared with a number. */
static void check_text(struct ptrc_parser *p, const struct ptrc_operand *text,
		       const struct ptrc_operand *other)
{
	const char *name = text->field.text;

	if (text->is_field && text->field.id == PTRC_FIELD_MEMBER &&
	    text->dimensions == PTRC_DIMENSION_TEXT && !other->text &&
	    other->dimensions == PTRC_DIMENSION_NUMBER)
		ptrc_parser_refuse(
			p, p->begin + text->at,
			"'data.%s' is text, and is compared with a number; put that in quotes, or "
			"write data.%s + 0 for text that reads as a number",
			name, name);
}

static void check_comparison(struct ptrc_parser *p, struct ptrc_node *n)
{
	struct ptrc_operand *a = &n->operands[0];
	struct ptrc_operand *b = &n->operands[1];
	char words[2][PTRC_DIMENSION_WORDS];
	bool is_left;

	check_string(p, n, a, b);
	check_string(p, n, b, a);
	check_text(p, a, b);
	check_text(p, b, a);
	if (ptrc_dimension_is_comparable(a->dimensions, b->dimensions) || are_time_and_ns(a, b))
		return;
	/* The message is about the operand that is a literal, since the user can rewrite that, or else about the
	 * operand that is not a time. */
	is_left = ptrc_operand_is_literal(a) != ptrc_operand_is_literal(b)
			  ? ptrc_operand_is_literal(a)
			  : b->dimensions == PTRC_DIMENSION_MOMENT;
	ptrc_parser_refuse(p, p->begin + (is_left ? a : b)->at, "%s cannot be compared with %s%s",
			   ptrc_dimension_words(a->dimensions, words[0]),
			   ptrc_dimension_words(b->dimensions, words[1]), hint_for(a, b));
}

static void read_pattern(struct ptrc_parser *p, struct ptrc_node *n)
{
	struct ptrc_operand *left = &n->operands[0];
	struct ptrc_operand *pattern = &n->operands[1];
	const char *sign = p->token == PTRC_TOKEN_REGEX_SIGN ? "=~" : "~";
	enum ptrc_node_kind kind =
		p->token == PTRC_TOKEN_REGEX_SIGN ? PTRC_NODE_REGEX : PTRC_NODE_GLOB;
	char reason[DESCRIPTION_BYTES];
	struct ptrc_cli_reason why;

	ptrc_parser_next(p);
	if (p->token != PTRC_TOKEN_STRING)
		ptrc_parser_refuse(p, p->token_at, "'%s' needs text in quotes after it", sign);
	else
		read_operand(p, pattern, true);
	if (p->token == PTRC_TOKEN_BAD)
		return;
	if (!(left->dimensions & (PTRC_DIMENSION_TEXT | PTRC_DIMENSION_BYTES))) {
		ptrc_parser_refuse(p, p->begin + left->at, "'%s' needs text, but %s", sign,
				   describe(left, reason));
		return;
	}
	if (pattern->literal.size > PATTERN_MAX_BYTES) {
		ptrc_parser_refuse(p, p->begin + pattern->at, "the pattern is too large");
		return;
	}
	n->kind = kind;
	if (kind == PTRC_NODE_REGEX && !(n->regex = ptrc_regex_make(pattern->text, &why)))
		ptrc_parser_refuse(p, p->begin + pattern->at, "%s", why.text);
}

/* The name or pattern with which a node compares the field `event` or `pair`, or NULL. */
static const struct ptrc_operand *wanted_name(const struct ptrc_node *n)
{
	bool has_relation = n->kind != PTRC_NODE_COMPARISON || n->relations == PTRC_EQUAL ||
			    n->relations == PTRC_UNEQUAL;

	for (size_t i = 0; i < 2; i++)
		if (n->operands[i].is_field && (n->operands[i].field.id == PTRC_FIELD_EVENT ||
						n->operands[i].field.id == PTRC_FIELD_PAIR))
			return has_relation && n->operands[!i].text ? &n->operands[!i] : NULL;
	return NULL;
}

/* Whether the operand is a calculation, or a member of the data that may have a unit of time, so that its value
 * is converted. */
static bool is_calculated(const struct ptrc_operand *o)
{
	return o->calculation || (o->is_field && o->field.id == PTRC_FIELD_MEMBER &&
				  (o->dimensions & PTRC_DIMENSION_DURATION));
}

static void read_comparison(struct ptrc_parser *p, struct part *part)
{
	bool is_relation;
	struct part right;
	struct ptrc_node *n;

	read_sum(p, part, false);
	is_relation = p->token == PTRC_TOKEN_RELATION;
	if (!is_relation && p->token != PTRC_TOKEN_REGEX_SIGN && p->token != PTRC_TOKEN_GLOB_SIGN)
		return;
	count_test(p, p->token_at);
	n = make_node(is_relation ? PTRC_NODE_COMPARISON : PTRC_NODE_TRUTH);
	n->operands[0] = value_of(p, part);
	part->condition = n;
	if (is_relation) {
		n->relations = p->relations;
		ptrc_parser_next(p);
		read_sum(p, &right, true);
		n->operands[1] = value_of(p, &right);
		check_comparison(p, n);
	} else {
		read_pattern(p, n);
	}
	n->is_calculated = is_calculated(&n->operands[0]) || is_calculated(&n->operands[1]);
	n->name = wanted_name(n);
	if (n->name) {
		*p->names_end = n;
		p->names_end = &n->next_of_names;
	}
}

static void read_not(struct ptrc_parser *p, struct part *part)
{
	struct ptrc_node *n;

	if (p->token != PTRC_TOKEN_NOT_SIGN) {
		read_comparison(p, part);
		return;
	}
	begin_nest(p);
	n = make_node(PTRC_NODE_NOT);
	part->at = p->token_at;
	ptrc_parser_next(p);
	read_not(p, part);
	n->children[0] = condition_of(p, part);
	part->condition = n;
	p->depth--;
}

/* Joins the condition in *part, which precedes the sign && or ||, with the condition after the sign, which the
 * function `read` reads. */
static void join(struct ptrc_parser *p, enum ptrc_node_kind kind, struct part *part,
		 void (*read)(struct ptrc_parser *, struct part *))
{
	struct ptrc_node *n = make_node(kind);
	struct part right = {0};

	n->children[0] = condition_of(p, part);
	ptrc_parser_next(p);
	read(p, &right);
	n->children[1] = condition_of(p, &right);
	part->condition = n;
}

static void read_and(struct ptrc_parser *p, struct part *part)
{
	read_not(p, part);
	while (p->token == PTRC_TOKEN_AND_SIGN)
		join(p, PTRC_NODE_AND, part, read_not);
}

static void read_or(struct ptrc_parser *p, struct part *part)
{
	read_and(p, part);
	while (p->token == PTRC_TOKEN_OR_SIGN)
		join(p, PTRC_NODE_OR, part, read_and);
}

struct ptrc_where *ptrc_where_parse(const char *text, const struct ptrc_layouts *layouts,
				    struct ptrc_cli_reason *why)
{
	struct ptrc_parser p = {.begin = text, .at = text, .layouts = layouts, .why = why};
	struct ptrc_where *w;
	struct part part;
	struct ptrc_node *root;

	p.names_end = &p.names;
	ptrc_parser_next(&p);
	read_or(&p, &part);
	root = condition_of(&p, &part);
	if (p.token != PTRC_TOKEN_END)
		ptrc_parser_refuse(&p, p.token_at, "'&&' or '||' is missing before '%.20s'",
				   p.token_at);
	free(p.string);
	if (p.token == PTRC_TOKEN_BAD) {
		free_node(root);
		return NULL;
	}
	w = ptrc_cli_allocate(sizeof(*w));
	*w = (struct ptrc_where){.text = text,
				 .layouts = layouts,
				 .root = root,
				 .names = p.names,
				 .fields = p.fields,
				 .bases = p.bases};
	return w;
}

struct ptrc_where *ptrc_where_again(const struct ptrc_where *w)
{
	struct ptrc_layouts layouts = *w->layouts;
	struct ptrc_cli_reason why;
	struct ptrc_where *again;

	/* The expression was accepted, perhaps with such members. */
	layouts.takes_unknown = true;
	again = ptrc_where_parse(w->text, &layouts, &why);
	again->layouts = w->layouts;
	if (w->is_resolved)
		ptrc_where_resolve(again, w->first_ns, w->last_ns);
	return again;
}

void ptrc_where_free(struct ptrc_where *w)
{
	free_node(w->root);
	ptrc_buffer_free(&w->scratch[0]);
	ptrc_buffer_free(&w->scratch[1]);
	free(w);
}
