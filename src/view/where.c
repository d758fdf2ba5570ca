/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/view/where.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/model/glob.h"
#include "src/cli/message.h"
#include "src/view/quantity.h"
#include "src/view/regex.h"
#include "src/view/when.h"

/* Limits of an expression: far above what anybody writes, and far below what would fill the stack. */
enum {
	DEPTH_MAX = 100,
	TESTS_MAX = 1000,
	WORD_MAX_BYTES = 100,
	PATTERN_MAX_BYTES = 1000,
	/* The most of the bytes of a pattern of ~ times the bytes of a text. */
	GLOB_WORK_MAX = 16 << 20,
};

enum kind {
	OR,
	AND,
	NOT,
	/* A field alone. */
	TRUTH,
	COMPARISON,
	REGEX,
	GLOB,
};

/* The ways of two values to stand to each other for which a comparison holds. */
enum relation {
	BELOW = PTRC_BELOW,
	EQUAL = PTRC_EQUAL,
	ABOVE = PTRC_ABOVE,
	UNORDERED = PTRC_UNORDERED,
	UNEQUAL = BELOW | ABOVE | UNORDERED,
	NOT_ABOVE = BELOW | EQUAL,
	NOT_BELOW = ABOVE | EQUAL,
};

enum {
	NUMBER_DIMENSION = PTRC_DIMENSION_NUMBER,
	DURATION_DIMENSION = PTRC_DIMENSION_DURATION,
	MOMENT_DIMENSION = PTRC_DIMENSION_MOMENT,
	TEXT_DIMENSION = PTRC_DIMENSION_TEXT,
	BOOL_DIMENSION = PTRC_DIMENSION_BOOL,
};

/* A field, a literal, or what is calculated of operands. */
struct operand {
	bool is_field;
	struct ptrc_field field;
	/* Owned; null: it is not calculated. */
	struct calculation *calculation;
	/* What its values may measure. */
	unsigned int dimensions;
	struct ptrc_value literal;
	/* The literal as a number, worked out once. */
	bool has_number;
	long double number;
	/* The same, if it is a whole number. */
	bool is_whole;
	ptrc_whole whole;
	/* The literal is a time, this far from the begin or the end of the trace. Its number is worked
	 * out when these are known. */
	struct ptrc_when when;
	/* The text of a string literal; owned. */
	char *text;
	/* The offset in the expression. */
	size_t at;
};

struct calculation {
	enum ptrc_operation operation;
	struct operand operands[2];
};

struct node {
	enum kind kind;
	enum relation relation;
	struct operand operands[2];
	struct node *children[2];
	/* Owned. */
	struct ptrc_regex *regex;
	/* Of what compares the names of events with a text or a pattern: whether one of the names
	 * that were tried is the one or matches the other, and the next such comparison. */
	bool has_name;
	struct node *next_of_names;
	/* Of a comparison: an operand is calculated, or may have a unit of time. */
	bool is_calculated;
};

struct ptrc_where {
	/* What it was made of. */
	const char *text;
	const struct ptrc_layouts *layouts;
	struct node *root;
	struct node *names;
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

enum token {
	END,
	FIELD,
	NUMBER,
	DURATION,
	STRING,
	TRUE,
	FALSE,
	LEFT,
	RIGHT,
	OR_SIGN,
	AND_SIGN,
	NOT_SIGN,
	RELATION,
	/* An operation: + - * / % */
	OPERATION,
	REGEX_SIGN,
	GLOB_SIGN,
	/* The expression is wrong, and the reason has been stored. */
	BAD,
};

struct parser {
	const char *begin;
	const char *at;
	const struct ptrc_layouts *layouts;
	struct ptrc_cli_reason *why;
	size_t depth;
	size_t tests;
	/* The comparisons of names, and where the next one belongs. */
	struct node *names;
	struct node **names_end;

	/* The next token, and where it begins. */
	enum token token;
	enum relation relation;
	enum ptrc_operation operation;
	const char *token_at;
	char word[WORD_MAX_BYTES + 1];
	struct ptrc_quantity number;
	struct ptrc_quantity duration;
	/* The text of the last string; owned until an operand takes it. */
	char *string;
	size_t string_size;
};

static void __attribute__((format(printf, 3, 4)))
refuse(struct parser *p, const char *at, const char *format, ...)
{
	char reason[sizeof(p->why->text)];
	va_list values;

	/* Only the first mistake is reported: others may follow from it. */
	if (p->token == BAD)
		return;
	va_start(values, format);
	vsnprintf(reason, sizeof(reason), format, values);
	va_end(values);
	ptrc_cli_because(p->why, "column %zu: %s", (size_t)(at - p->begin) + 1, reason);
	p->token = BAD;
}

static bool is_letter(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void read_word(struct parser *p)
{
	size_t n = 0;

	while (is_letter(p->at[n]) || is_digit(p->at[n]) || p->at[n] == '.' || p->at[n] == '[' ||
	       p->at[n] == ']')
		n++;
	if (n > WORD_MAX_BYTES) {
		refuse(p, p->at, "the name is too long");
		return;
	}
	memcpy(p->word, p->at, n);
	p->word[n] = '\0';
	p->at += n;
	if (!strcmp(p->word, "true"))
		p->token = TRUE;
	else if (!strcmp(p->word, "false"))
		p->token = FALSE;
	else
		p->token = FIELD;
}

/* Whether the number is one of 64 bits, as those of fields: what is beyond would be above all of them, or
 * below. */
static bool is_in_range(long double number)
{
	return isfinite((double)number);
}

/* Reads a number with one unit, which is exact if it has no exponent: fields may be longer than 292 years,
 * and are shown so. */
static bool read_long_duration(const char *text, struct ptrc_quantity *q)
{
	size_t size = strspn(text, "0123456789.eE+-");
	const char *point = memchr(text, '.', size);
	size_t digits = point ? (size_t)(text + size - point) - 1 : 0;
	enum ptrc_unit unit = PTRC_UNIT_NS;
	uint64_t one;
	long double number;

	while (unit <= PTRC_UNIT_S && strcmp(text + size, ptrc_unit_word(unit)))
		unit++;
	if (unit > PTRC_UNIT_S || !ptrc_value_read_number(text, size, &number) ||
	    !is_in_range(number * (long double)ptrc_unit_ns(unit)))
		return false;
	one = ptrc_unit_ns(unit);
	*q = ptrc_quantity_number(NUMBER_DIMENSION, number);
	if (strspn(text, "0123456789.") == size && number < 0x1p64L && digits <= 9) {
		/* Whole units, and then the digits behind the point of the nanoseconds. */
		q->is_whole = true;
		q->whole = (ptrc_whole)strtoull(text, NULL, 10) * one;
		q->dimension = DURATION_DIMENSION;
		for (size_t i = 1; i <= digits && one; i++) {
			if (one % 10)
				return false;
			one /= 10;
			q->whole += (ptrc_whole)(point[i] - '0') * one;
		}
		return true;
	}
	ptrc_quantity_take_unit(q, unit);
	return true;
}

/* Reads a duration. Returns false if the text is none, or one that is too long. */
static bool read_duration(const char *text, struct ptrc_quantity *q)
{
	int64_t ns;

	if (!ptrc_when_duration(text, &ns) || ns == INT64_MAX)
		return read_long_duration(text, q);
	*q = ptrc_quantity_whole(DURATION_DIMENSION, ns);
	return true;
}

/* Reads all digits of a whole number that 128 bits hold. */
static void read_whole(const char *text, struct ptrc_quantity *q)
{
	static const ptrc_whole max = ((((ptrc_whole)1 << 126) - 1) << 1) + 1;
	ptrc_whole whole = 0;

	for (const char *at = text; *at || at == text; at++) {
		if (!is_digit(*at) || whole > (max - (*at - '0')) / 10)
			return;
		whole = 10 * whole + (*at - '0');
	}
	*q = ptrc_quantity_whole(NUMBER_DIMENSION, whole);
}

/* Reads a number, or a duration, which has units. */
static void read_number(struct parser *p)
{
	char word[WORD_MAX_BYTES + 1];
	long double number;
	int64_t ns;
	size_t n = 1;

	/* Takes everything that could belong to a number, so that 1x2 is a wrong number
	 * rather than a number and a name. Signs can only follow the letter of an
	 * exponent. */
	while (is_letter(p->at[n]) || is_digit(p->at[n]) || p->at[n] == '.' ||
	       ((p->at[n] == '+' || p->at[n] == '-') && is_digit(p->at[n + 1]) &&
		(p->at[n - 1] == 'e' || p->at[n - 1] == 'E') && strncmp(p->at, "0x", 2) &&
		strncmp(p->at, "0X", 2)))
		n++;
	snprintf(word, sizeof(word), "%.*s", n < sizeof(word) ? (int)n : 0, p->at);
	if (ptrc_value_read_number(p->at, n, &number)) {
		p->token = NUMBER;
		p->number = ptrc_quantity_number(NUMBER_DIMENSION, number);
		read_whole(word, &p->number);
		if (!is_in_range(number))
			refuse(p, p->at, "'%.*s' is beyond the largest number, 1.79e308",
			       n < 40 ? (int)n : 40, p->at);
	} else if (read_duration(word, &p->duration)) {
		p->token = DURATION;
	} else if (ptrc_when_duration(word, &ns)) {
		refuse(p, p->at, "the duration is longer than 292 years");
	} else {
		refuse(p, p->at, "'%.*s' is not a number, and not a duration such as 5ms",
		       n < 40 ? (int)n : 40, p->at);
	}
	p->at += n;
}

/* Reads a string in quotes. A backslash escapes the quote and the backslash. Before any other
 * character it stands for itself, so that regular expressions need not double it. */
static void read_string(struct parser *p)
{
	char quote = *p->at;
	const char *from = p->at + 1;
	char *to;

	free(p->string);
	p->string = to = ptrc_cli_allocate(strlen(p->at));
	for (; *from && *from != quote; from++) {
		if (*from == '\\' && (from[1] == quote || from[1] == '\\'))
			from++;
		*to++ = *from;
	}
	*to = '\0';
	p->string_size = (size_t)(to - p->string);
	if (!*from) {
		refuse(p, p->at, "the string has no end");
		return;
	}
	p->at = from + 1;
	p->token = STRING;
}

/* The length in bytes of a UTF-8 character, which messages must not cut. */
static int character_length(const char *text)
{
	int n = 1;

	while (((unsigned char)text[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static void read_sign(struct parser *p)
{
	static const struct {
		char text[4];
		enum token token;
		enum relation relation;
	} signs[] = {
		{"==", RELATION, EQUAL},     {"!=", RELATION, UNEQUAL}, {"<=", RELATION, NOT_ABOVE},
		{">=", RELATION, NOT_BELOW}, {"=~", REGEX_SIGN, EQUAL}, {"&&", AND_SIGN, EQUAL},
		{"||", OR_SIGN, EQUAL},	     {"<", RELATION, BELOW},	{">", RELATION, ABOVE},
		{"~", GLOB_SIGN, EQUAL},     {"!", NOT_SIGN, EQUAL},	{"(", LEFT, EQUAL},
		{")", RIGHT, EQUAL},
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		size_t n = strlen(signs[i].text);

		if (strncmp(p->at, signs[i].text, n))
			continue;
		p->token = signs[i].token;
		p->relation = signs[i].relation;
		p->at += n;
		return;
	}
	if (*p->at && strchr("+-*/%", *p->at)) {
		p->token = OPERATION;
		p->operation = (enum ptrc_operation) * p->at++;
		return;
	}
	if (*p->at == '=' || *p->at == '&' || *p->at == '|')
		refuse(p, p->at, "write '%c%c' instead of '%c'", *p->at, *p->at, *p->at);
	else
		refuse(p, p->at, "'%.*s' has no meaning here", character_length(p->at), p->at);
}

/* Reads the next token. The expression ends at a wrong one. */
static void next(struct parser *p)
{
	if (p->token == BAD)
		return;
	p->at += strspn(p->at, " \t\n\r");
	p->token_at = p->at;
	if (!*p->at)
		p->token = END;
	else if (is_letter(*p->at))
		read_word(p);
	else if (*p->at == '.' && is_letter(p->at[1]))
		refuse(p, p->at, "a field is written without a dot in front");
	else if (is_digit(*p->at) || *p->at == '.')
		read_number(p);
	else if (*p->at == '"' || *p->at == '\'')
		read_string(p);
	else
		read_sign(p);
}

static void free_operand(struct operand *o)
{
	free(o->text);
	for (size_t i = 0; o->calculation && i < 2; i++)
		free_operand(&o->calculation->operands[i]);
	free(o->calculation);
}

static void free_node(struct node *n)
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

static struct node *make_node(enum kind kind)
{
	struct node *n = ptrc_cli_allocate(sizeof(*n));

	memset(n, 0, sizeof(*n));
	n->kind = kind;
	return n;
}

static void set_quantity(struct operand *o, const struct ptrc_quantity *q)
{
	o->dimensions = q->dimension;
	o->has_number = true;
	o->is_whole = q->is_whole;
	o->whole = q->is_whole ? q->whole : 0;
	o->number = q->is_whole ? (long double)q->whole : q->number;
}

static void set_whole(struct operand *o, unsigned int dimension, ptrc_whole whole)
{
	struct ptrc_quantity q = ptrc_quantity_whole(dimension, whole);

	set_quantity(o, &q);
}

static void set_number(struct operand *o, unsigned int dimension, long double number)
{
	struct ptrc_quantity q = ptrc_quantity_number(dimension, number);

	set_quantity(o, &q);
}

static bool is_literal(const struct operand *o)
{
	return !o->is_field && !o->calculation;
}

/* "'pid' is a number", "this is a number or text". */
static const char *describe(const struct operand *o, char text[PTRC_DIMENSION_WORDS + 40])
{
	char words[PTRC_DIMENSION_WORDS];

	ptrc_dimension_words(o->dimensions, words);
	if (o->is_field && o->field.id < PTRC_FIELD_MEMBER)
		snprintf(text, PTRC_DIMENSION_WORDS + 40, "'%s' is %s",
			 ptrc_field_name(o->field.id), words);
	else
		snprintf(text, PTRC_DIMENSION_WORDS + 40, "this is %s", words);
	return text;
}

/* ---- conditions and values ---- */

/* A part of the expression: a condition, or a value. Which one it is shows behind a parenthesis
 * only. */
struct part {
	/* Null if it is a value. */
	struct node *condition;
	struct operand value;
	/* Where it begins. */
	const char *at;
};

static struct node *make_test(struct parser *p, enum kind kind)
{
	if (++p->tests > TESTS_MAX)
		refuse(p, p->token_at, "more than %d comparisons and operations", (int)TESTS_MAX);
	return make_node(kind);
}

/* Makes a condition of a part that ends in front of the next token: a value holds if it is true. */
static struct node *condition_of(struct parser *p, struct part *part)
{
	struct node *n = part->condition;

	if (n)
		return n;
	if (is_literal(&part->value))
		refuse(p, p->token_at, "a comparison is missing: a value alone is no condition");
	n = make_test(p, TRUTH);
	n->operands[0] = part->value;
	return n;
}

/* Takes the value that a part is. A condition is none. */
static struct operand value_of(struct parser *p, struct part *part)
{
	if (part->condition) {
		refuse(p, part->at,
		       "a condition is not a value that can be compared or calculated with");
		free_node(part->condition);
		return (struct operand){0};
	}
	return part->value;
}

static void read_operand(struct parser *p, struct operand *o, bool is_right)
{
	struct ptrc_cli_reason why;
	long double number;

	o->at = (size_t)(p->token_at - p->begin);
	switch (p->token) {
	case FIELD:
		o->is_field = true;
		if (!ptrc_field_find(p->word, p->layouts, &o->field, &why))
			refuse(p, p->token_at, "%s%s", why.text,
			       is_right ? "; text has to be in quotes" : "");
		else if (o->field.id == PTRC_FIELD_ID && *ptrc_field_id_hint(p->layouts))
			refuse(p, p->token_at, "'%s' is the number of the event type%s", p->word,
			       ptrc_field_id_hint(p->layouts));
		else
			o->dimensions = ptrc_field_dimensions(&o->field);
		break;
	case NUMBER:
		set_quantity(o, &p->number);
		break;
	case DURATION:
		set_quantity(o, &p->duration);
		break;
	case TRUE:
	case FALSE:
		set_whole(o, BOOL_DIMENSION, p->token == TRUE);
		break;
	case STRING:
		o->text = p->string;
		p->string = NULL;
		o->literal.kind = PTRC_VALUE_TEXT;
		o->literal.bytes = o->text;
		o->literal.size = p->string_size;
		if (ptrc_value_number(&o->literal, &number) && is_in_range(number))
			set_number(o, NUMBER_DIMENSION, number);
		o->dimensions = TEXT_DIMENSION;
		break;
	case BAD:
		break;
	case END:
		refuse(p, p->token_at,
		       "the expression ends where a field, number or string is "
		       "missing");
		break;
	default:
		refuse(p, p->token_at, "a field, number or string is missing before '%.2s'",
		       p->token_at);
		break;
	}
	next(p);
}

/* Reads the time that a string is. */
static void make_moment(struct parser *p, struct operand *o)
{
	const char *at = p->begin + o->at;
	struct ptrc_cli_reason why;

	if (p->token == BAD)
		return;
	if (!ptrc_when_parse(o->text, &o->when, &why)) {
		refuse(p, at, "%s", why.text);
		return;
	}
	set_whole(o, MOMENT_DIMENSION, o->when.ns);
	/* The number is worked out when the begin and the end of the trace are known. */
	o->has_number = o->when.base == PTRC_WHEN_ABSOLUTE;
	o->is_whole = o->has_number;
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

/* Says what is wrong with a calculation of such operands, at its sign. */
static void refuse_operation(struct parser *p, enum ptrc_operation operation, const char *at,
			     unsigned int left, unsigned int right)
{
	char words[2][PTRC_DIMENSION_WORDS];
	unsigned int both = left | right;
	const char *hint = "";

	if (both & TEXT_DIMENSION)
		hint = "; of text in quotes only a time can be calculated with, by + and -";
	else if (both == (NUMBER_DIMENSION | DURATION_DIMENSION) ||
		 both == (NUMBER_DIMENSION | MOMENT_DIMENSION))
		hint = "; a duration has a unit, such as 5ms";
	refuse(p, at, "%s cannot be %s %s%s", ptrc_dimension_words(right, words[1]),
	       operation_word(operation), ptrc_dimension_words(left, words[0]), hint);
}

static bool is_known(const struct operand *o)
{
	return is_literal(o) && o->has_number;
}

static struct ptrc_quantity quantity_of(const struct operand *o)
{
	return (struct ptrc_quantity){
		.dimension = o->text ? NUMBER_DIMENSION : o->dimensions,
		.is_whole = o->is_whole,
		.whole = o->whole,
		.number = o->number,
	};
}

/* Makes one operand of two, that of a literal if it can be calculated now. */
static void calculate(struct parser *p, enum ptrc_operation operation, const char *sign,
		      struct operand *left, struct operand *right)
{
	struct operand result = {.at = left->at};
	struct ptrc_quantity a, b, q;
	bool is_shift = operation == PTRC_ADD || operation == PTRC_SUBTRACT;

	if (++p->tests > TESTS_MAX)
		refuse(p, sign, "more than %d comparisons and operations", (int)TESTS_MAX);
	if (is_shift && left->text)
		make_moment(p, left);
	if (is_shift && right->text)
		make_moment(p, right);
	result.dimensions = ptrc_dimension_of(operation, left->dimensions, right->dimensions);
	if (!result.dimensions)
		refuse_operation(p, operation, sign, left->dimensions, right->dimensions);
	if (p->token != BAD && is_known(left) && is_known(right)) {
		a = quantity_of(left);
		b = quantity_of(right);
		if (ptrc_quantity_calculate(operation, &a, &b, &q))
			set_quantity(&result, &q);
		else
			refuse(p, sign,
			       "this has no result: it is a division by 0, a remainder of a "
			       "fraction, or too large");
	} else {
		result.calculation = ptrc_cli_allocate(sizeof(*result.calculation));
		*result.calculation = (struct calculation){operation, {*left, *right}};
	}
	*left = result;
}

static void read_or(struct parser *, struct part *);

/* Negation, parentheses and signs, the ways to nest, all pass here. */
static void begin_nest(struct parser *p)
{
	if (++p->depth > DEPTH_MAX)
		refuse(p, p->token_at, "'!', '(' and signs are nested deeper than %d",
		       (int)DEPTH_MAX);
}

static void read_factor(struct parser *p, struct part *part, bool is_right)
{
	const char *at = p->token_at;

	*part = (struct part){.at = at};
	if (p->token == OPERATION && (p->operation == PTRC_SUBTRACT || p->operation == PTRC_ADD)) {
		/* -x is x * -1, which is right of numbers and durations. */
		struct operand sign = {.at = (size_t)(at - p->begin)};

		set_whole(&sign, NUMBER_DIMENSION, p->operation == PTRC_ADD ? 1 : -1);
		begin_nest(p);
		next(p);
		read_factor(p, part, true);
		p->depth--;
		part->value = value_of(p, part);
		part->condition = NULL;
		part->at = at;
		if (!(part->value.dimensions & (NUMBER_DIMENSION | DURATION_DIMENSION)))
			refuse(p, at, "a sign needs a number or a duration behind it");
		calculate(p, PTRC_MULTIPLY, at, &part->value, &sign);
		part->value.at = sign.at;
	} else if (p->token == LEFT) {
		begin_nest(p);
		next(p);
		read_or(p, part);
		part->at = at;
		if (p->token == RIGHT)
			next(p);
		else
			refuse(p, p->token_at, "')' is missing");
		p->depth--;
	} else {
		read_operand(p, &part->value, is_right);
	}
}

/* Reads what stands on the right side of a sign, and calculates. */
static void read_right(struct parser *p, struct part *left,
		       void (*read)(struct parser *, struct part *, bool))
{
	enum ptrc_operation operation = p->operation;
	const char *sign = p->token_at;
	struct operand a = value_of(p, left);
	struct operand b;
	struct part right;

	next(p);
	read(p, &right, true);
	b = value_of(p, &right);
	calculate(p, operation, sign, &a, &b);
	left->condition = NULL;
	left->value = a;
}

static void read_product(struct parser *p, struct part *part, bool is_right)
{
	read_factor(p, part, is_right);
	while (p->token == OPERATION && p->operation != PTRC_ADD && p->operation != PTRC_SUBTRACT)
		read_right(p, part, read_factor);
}

static void read_sum(struct parser *p, struct part *part, bool is_right)
{
	read_product(p, part, is_right);
	while (p->token == OPERATION)
		read_right(p, part, read_product);
}

/* ---- comparisons ---- */

/* The time as a number is the only number that times are compared with. */
static bool are_time_and_ns(const struct operand *a, const struct operand *b)
{
	return a->is_field && b->is_field &&
	       ((a->field.id == PTRC_FIELD_TIME && b->field.id == PTRC_FIELD_NS) ||
		(a->field.id == PTRC_FIELD_NS && b->field.id == PTRC_FIELD_TIME));
}

/* Whether a field of a layout is compared with a duration, and has no unit of time. */
static bool lacks_unit(const struct operand *field, const struct operand *other)
{
	return field->is_field && field->field.id == PTRC_FIELD_MEMBER &&
	       other->dimensions == DURATION_DIMENSION;
}

/* What would be right in place of such a comparison. */
static const char *hint_for(const struct operand *a, const struct operand *b)
{
	unsigned int both = a->dimensions | b->dimensions;

	if (lacks_unit(a, b) || lacks_unit(b, a))
		return "; it is a duration if its layout gives it a unit, or if it is multiplied "
		       "with 1us";
	if (both & MOMENT_DIMENSION)
		return both & DURATION_DIMENSION
			       ? "; the difference of two times is a duration"
			       : "; a time is in quotes, such as '2026-01-02 03:04', and 'ns' is the "
				 "time as a number";
	return both & TEXT_DIMENSION ? "; a duration is not in quotes: 5ms"
				     : "; a duration has a unit, such as 5ms";
}

/* Refuses a string that is compared with a number or a time, but is not one itself. */
static void check_string(struct parser *p, const struct operand *other, struct operand *string)
{
	char reason[PTRC_DIMENSION_WORDS + 40];

	if (!string->text)
		return;
	if (other->dimensions == MOMENT_DIMENSION)
		make_moment(p, string);
	else if (other->dimensions == NUMBER_DIMENSION && !string->has_number)
		refuse(p, p->begin + string->at, "'%.60s' is not a number, but %s", string->text,
		       describe(other, reason));
}

/* Refuses a field that the layouts say to be text, and that is compared with a number. */
static void check_text(struct parser *p, const struct operand *text, const struct operand *other)
{
	const char *name = text->field.text;

	if (!text->is_field || text->field.id != PTRC_FIELD_MEMBER || !text->field.is_text ||
	    other->text || other->dimensions != NUMBER_DIMENSION || p->token == BAD)
		return;
	refuse(p, p->begin + text->at,
	       "'data.%s' is text, and is compared with a number; put that in quotes, or write "
	       "data.%s + 0 for text that reads as a number",
	       name, name);
	p->why->is_vain = true;
}

static void check_comparison(struct parser *p, struct node *n)
{
	struct operand *a = &n->operands[0];
	struct operand *b = &n->operands[1];
	char words[2][PTRC_DIMENSION_WORDS];
	bool is_left;

	check_string(p, a, b);
	check_string(p, b, a);
	check_text(p, a, b);
	check_text(p, b, a);
	if (ptrc_dimension_is_comparable(a->dimensions, b->dimensions) || are_time_and_ns(a, b))
		return;
	/* Tells it where a literal is, as that is what can be written otherwise, or what is not a
	 * time. */
	is_left =
		is_literal(a) != is_literal(b) ? is_literal(a) : b->dimensions == MOMENT_DIMENSION;
	refuse(p, p->begin + (is_left ? a : b)->at, "%s cannot be compared with %s%s",
	       ptrc_dimension_words(a->dimensions, words[0]),
	       ptrc_dimension_words(b->dimensions, words[1]), hint_for(a, b));
}

static void read_pattern(struct parser *p, struct node *n)
{
	struct operand *left = &n->operands[0];
	struct operand *pattern = &n->operands[1];
	const char *sign = p->token == REGEX_SIGN ? "=~" : "~";
	enum kind kind = p->token == REGEX_SIGN ? REGEX : GLOB;
	char reason[PTRC_DIMENSION_WORDS + 40];
	struct ptrc_cli_reason why;

	next(p);
	if (p->token != STRING)
		refuse(p, p->token_at, "'%s' needs text in quotes behind it", sign);
	else
		read_operand(p, pattern, true);
	if (p->token == BAD)
		return;
	if (!(left->dimensions & TEXT_DIMENSION)) {
		refuse(p, p->begin + left->at, "'%s' needs text, but %s", sign,
		       describe(left, reason));
		return;
	}
	if (pattern->literal.size > PATTERN_MAX_BYTES) {
		refuse(p, p->begin + pattern->at, "the pattern is too large");
		return;
	}
	n->kind = kind;
	if (kind == REGEX && !(n->regex = ptrc_regex_make(pattern->text, &why)))
		refuse(p, p->begin + pattern->at, "%s", why.text);
}

/* The operand that is the name of the event, or -1. */
static int name_operand(const struct node *n)
{
	for (int i = 0; i < 2; i++)
		if (n->operands[i].is_field && n->operands[i].field.id == PTRC_FIELD_EVENT)
			return i;
	return -1;
}

/* The name or the pattern that a node compares the name of the event with; null if it does not
 * do that. */
static const struct operand *wanted_name(const struct node *n)
{
	int i = name_operand(n);
	bool has_relation =
		n->kind == REGEX || n->kind == GLOB ||
		(n->kind == COMPARISON && (n->relation == EQUAL || n->relation == UNEQUAL));

	return has_relation && i >= 0 && n->operands[!i].text ? &n->operands[!i] : NULL;
}

/* Whether the number of a value is worked out: also that of a field of a layout that may have a unit
 * of time. */
static bool is_calculated(const struct operand *o)
{
	return o->calculation || (o->is_field && o->field.id == PTRC_FIELD_MEMBER &&
				  (o->dimensions & DURATION_DIMENSION));
}

static void read_comparison(struct parser *p, struct part *part)
{
	bool is_relation;
	struct part right;
	struct node *n;

	read_sum(p, part, false);
	is_relation = p->token == RELATION;
	if (!is_relation && p->token != REGEX_SIGN && p->token != GLOB_SIGN)
		return;
	n = make_test(p, is_relation ? COMPARISON : TRUTH);
	n->operands[0] = value_of(p, part);
	part->condition = n;
	if (is_relation) {
		n->relation = p->relation;
		next(p);
		read_sum(p, &right, true);
		n->operands[1] = value_of(p, &right);
		check_comparison(p, n);
	} else {
		read_pattern(p, n);
	}
	n->is_calculated = is_calculated(&n->operands[0]) || is_calculated(&n->operands[1]);
	if (wanted_name(n)) {
		*p->names_end = n;
		p->names_end = &n->next_of_names;
	}
}

static void read_not(struct parser *p, struct part *part)
{
	struct node *n;

	if (p->token != NOT_SIGN) {
		read_comparison(p, part);
		return;
	}
	begin_nest(p);
	n = make_node(NOT);
	part->at = p->token_at;
	next(p);
	read_not(p, part);
	n->children[0] = condition_of(p, part);
	part->condition = n;
	p->depth--;
}

/* Joins what was read with the condition behind the sign. */
static void join(struct parser *p, enum kind kind, struct part *part,
		 void (*read)(struct parser *, struct part *))
{
	struct node *n = make_node(kind);
	struct part right = {0};

	n->children[0] = condition_of(p, part);
	next(p);
	read(p, &right);
	n->children[1] = condition_of(p, &right);
	part->condition = n;
}

static void read_and(struct parser *p, struct part *part)
{
	read_not(p, part);
	while (p->token == AND_SIGN)
		join(p, AND, part, read_not);
}

static void read_or(struct parser *p, struct part *part)
{
	read_and(p, part);
	while (p->token == OR_SIGN)
		join(p, OR, part, read_and);
}

struct ptrc_where *ptrc_where_parse(const char *text, const struct ptrc_layouts *layouts,
				    struct ptrc_cli_reason *why)
{
	struct parser p = {
		.begin = text,
		.at = text,
		.layouts = layouts,
		.why = why,
	};
	struct ptrc_where *w;
	struct part part;
	struct node *root;

	p.names_end = &p.names;
	next(&p);
	read_or(&p, &part);
	root = condition_of(&p, &part);
	if (p.token != END)
		refuse(&p, p.token_at, "'&&' or '||' is missing before '%.20s'", p.token_at);
	free(p.string);
	if (p.token == BAD) {
		free_node(root);
		return NULL;
	}
	w = ptrc_cli_allocate(sizeof(*w));
	*w = (struct ptrc_where){.text = text, .layouts = layouts, .root = root, .names = p.names};
	return w;
}

struct ptrc_where *ptrc_where_again(const struct ptrc_where *w)
{
	struct ptrc_cli_reason why;
	struct ptrc_where *again = ptrc_where_parse(w->text, w->layouts, &why);

	if (again && w->is_resolved)
		ptrc_where_resolve(again, w->first_ns, w->last_ns);
	return again;
}

/* ---- what the expression has ---- */

/* Fields that are whole numbers in every event that has them. */
static bool is_whole_field(const struct operand *o)
{
	const struct ptrc_field *f = &o->field;

	if (!o->is_field || f->is_of_begin)
		return false;
	/* Not in JSON, nor an element. */
	if (f->id == PTRC_FIELD_MEMBER)
		return !f->text[f->path];
	return f->id == PTRC_FIELD_ID || f->id == PTRC_FIELD_PID || f->id == PTRC_FIELD_TID ||
	       f->id == PTRC_FIELD_LEN || f->id == PTRC_FIELD_NS || f->id == PTRC_FIELD_TIME;
}

bool ptrc_where_get_bounds(const struct ptrc_where *w, struct ptrc_where_bounds *b)
{
	/* Beyond all numbers of 64 bits. */
	const ptrc_whole far = (ptrc_whole)1 << 100;
	const struct node *n = w->root;
	const struct operand *literal;
	enum relation relation;
	bool is_left;

	while (n->kind == AND)
		n = n->children[0];
	if (n->kind != COMPARISON || n->is_calculated)
		return false;
	is_left = is_whole_field(&n->operands[0]);
	literal = &n->operands[is_left];
	if (!is_whole_field(&n->operands[!is_left]) || !is_literal(literal) ||
	    !literal->has_number || !literal->is_whole || literal->whole > far / 2 ||
	    literal->whole < -far / 2)
		return false;
	relation = n->relation & (BELOW | EQUAL | ABOVE);
	/* As if the field stood on the left. */
	if (!is_left)
		relation = (relation & EQUAL) | (relation & BELOW ? ABOVE : 0) |
			   (relation & ABOVE ? BELOW : 0);
	*b = (struct ptrc_where_bounds){
		.field = &n->operands[!is_left].field,
		.low = relation & BELOW ? -far : literal->whole + !(relation & EQUAL),
		.high = relation & ABOVE ? far : literal->whole - !(relation & EQUAL),
	};
	/* Unequal. */
	if ((relation & BELOW) && (relation & ABOVE)) {
		b->low = b->high = literal->whole;
		b->is_outside = true;
	}
	return true;
}

/* Calls the function for each operand, those of calculations too. */
static void visit_operand(struct operand *o, void (*visit)(struct operand *, void *), void *arg)
{
	visit(o, arg);
	for (size_t i = 0; o->calculation && i < 2; i++)
		visit_operand(&o->calculation->operands[i], visit, arg);
}

static void visit_operands(struct node *n, void (*visit)(struct operand *, void *), void *arg)
{
	if (!n)
		return;
	for (size_t i = 0; i < 2; i++) {
		visit_operand(&n->operands[i], visit, arg);
		visit_operands(n->children[i], visit, arg);
	}
}

static void resolve(struct operand *o, void *arg)
{
	const struct ptrc_where *w = arg;

	if (o->when.base != PTRC_WHEN_ABSOLUTE)
		set_whole(o, MOMENT_DIMENSION,
			  ptrc_when_add(o->when.base == PTRC_WHEN_FROM_BEGIN ? w->first_ns
									     : w->last_ns,
					o->when.ns));
}

void ptrc_where_resolve(struct ptrc_where *w, int64_t first_ns, int64_t last_ns)
{
	w->is_resolved = true;
	w->first_ns = first_ns;
	w->last_ns = last_ns;
	visit_operands(w->root, resolve, w);
}

struct base {
	enum ptrc_when_base wanted;
	bool is_found;
};

static void look_for_base(struct operand *o, void *arg)
{
	struct base *b = arg;

	b->is_found |= o->when.base == b->wanted;
}

bool ptrc_where_has_base(const struct ptrc_where *w, enum ptrc_when_base base)
{
	struct base b = {.wanted = base};

	visit_operands(w->root, look_for_base, &b);
	return b.is_found;
}

static void look_for_source(struct operand *o, void *arg)
{
	bool *is_found = arg;

	*is_found |= o->is_field && ptrc_field_is_of_source(o->field.id);
}

bool ptrc_where_has_source_field(const struct ptrc_where *w)
{
	bool is_found = false;

	visit_operands(w->root, look_for_source, &is_found);
	return is_found;
}

struct field_search {
	enum ptrc_field_id id;
	bool is_found;
};

static void look_for_field(struct operand *o, void *arg)
{
	struct field_search *s = arg;

	s->is_found |= o->is_field && o->field.id == s->id;
}

bool ptrc_where_has_field(const struct ptrc_where *w, enum ptrc_field_id id)
{
	struct field_search s = {.id = id};

	visit_operands(w->root, look_for_field, &s);
	return s.is_found;
}

/* ---- events ---- */

/* Of an enum, takes the name if that is to be compared with a text, and else the number. */
static void settle_enum(const struct node *n, size_t i, struct ptrc_value *v)
{
	const struct operand *other = &n->operands[!i];

	if (n->kind == TRUTH || (n->kind == COMPARISON && !other->is_field && !other->text))
		ptrc_value_take_number(v);
	else
		ptrc_value_take_name(v);
}

/* The value of operand i as it is compared: bytes become the hexadecimal digits that JSON
 * shows for them, JSON what it says. */
static const struct ptrc_value *evaluate(struct ptrc_where *w, const struct node *n, size_t i,
					 struct ptrc_view *view, struct ptrc_value *room)
{
	const struct operand *o = &n->operands[i];
	struct ptrc_buffer *b = &w->scratch[i];

	if (!o->is_field)
		return &o->literal;
	ptrc_view_get(view, &o->field, room);
	if (__builtin_expect(room->kind >= PTRC_VALUE_BYTES, 0)) {
		ptrc_value_settle(room, b);
		settle_enum(n, i, room);
	}
	return room;
}

static bool number_of(const struct operand *o, const struct ptrc_value *v, long double *number)
{
	if (o->is_field)
		return ptrc_value_number(v, number);
	*number = o->number;
	return o->has_number;
}

static bool whole_of(const struct operand *o, const struct ptrc_value *v, ptrc_whole *number)
{
	if (!o->is_field) {
		*number = o->whole;
		return o->is_whole;
	}
	*number = v->kind == PTRC_VALUE_SIGNED ? (ptrc_whole)v->i : (ptrc_whole)v->u;
	return v->kind == PTRC_VALUE_SIGNED || v->kind == PTRC_VALUE_UNSIGNED ||
	       v->kind == PTRC_VALUE_HEX;
}

static int compare_texts(const struct ptrc_value *a, const struct ptrc_value *b)
{
	size_t size = a->size < b->size ? a->size : b->size;
	int order = size ? memcmp(a->bytes, b->bytes, size) : 0;

	if (order)
		return order;
	return (a->size > b->size) - (a->size < b->size);
}

/* Stores the number that the value of a field is. Returns false if it is none. */
static bool quantify_value(const struct operand *o, const struct ptrc_value *v,
			   struct ptrc_quantity *q)
{
	long double number;

	switch (v->kind) {
	case PTRC_VALUE_SIGNED:
		*q = ptrc_quantity_whole(o->dimensions, v->i);
		break;
	case PTRC_VALUE_UNSIGNED:
	case PTRC_VALUE_HEX:
		*q = ptrc_quantity_whole(o->dimensions, v->u);
		break;
	case PTRC_VALUE_BOOL:
		*q = ptrc_quantity_whole(BOOL_DIMENSION, v->u);
		break;
	default:
		if (!ptrc_value_number(v, &number))
			return false;
		*q = ptrc_quantity_number(o->dimensions, number);
		break;
	}
	if (o->field.id != PTRC_FIELD_MEMBER) {
		/* What may be text as well is a number now. */
		if (q->dimension & (q->dimension - 1))
			q->dimension = NUMBER_DIMENSION;
	} else if (q->dimension != BOOL_DIMENSION) {
		ptrc_quantity_take_unit(q, v->unit);
	}
	return true;
}

/* Stores the number that an operand of a calculation is for the event. Returns false if it is none. */
static bool quantify(const struct operand *o, struct ptrc_view *view, struct ptrc_quantity *q)
{
	const struct calculation *c = o->calculation;
	struct ptrc_quantity a;
	struct ptrc_quantity b;
	struct ptrc_buffer text = PTRC_BUFFER_INIT;
	struct ptrc_value v;
	bool is_number;

	if (c)
		return quantify(&c->operands[0], view, &a) && quantify(&c->operands[1], view, &b) &&
		       ptrc_quantity_calculate(c->operation, &a, &b, q);
	if (!o->is_field) {
		*q = quantity_of(o);
		return o->has_number;
	}
	ptrc_view_get(view, &o->field, &v);
	ptrc_value_take_number(&v);
	if (v.kind != PTRC_VALUE_JSON)
		return quantify_value(o, &v, q);
	ptrc_value_settle(&v, &text);
	is_number = quantify_value(o, &v, q);
	ptrc_buffer_free(&text);
	return is_number;
}

static bool compare(struct ptrc_where *w, const struct node *n, struct ptrc_view *view)
{
	struct ptrc_value room[2];
	const struct ptrc_value *u = evaluate(w, n, 0, view, &room[0]);
	const struct ptrc_value *v = evaluate(w, n, 1, view, &room[1]);
	ptrc_whole i;
	ptrc_whole j;
	long double a;
	long double b;

	if (whole_of(&n->operands[0], u, &i) && whole_of(&n->operands[1], v, &j))
		return n->relation & (i < j ? BELOW : i == j ? EQUAL : ABOVE);
	if (u->kind == PTRC_VALUE_TEXT && v->kind == PTRC_VALUE_TEXT) {
		a = (long double)compare_texts(u, v);
		b = 0;
	} else if (!number_of(&n->operands[0], u, &a) || !number_of(&n->operands[1], v, &b)) {
		return false;
	}
	/* What is shown as 0.1 is 0.1, in an f32 too. */
	if ((u->kind == PTRC_VALUE_FLOAT && !whole_of(&n->operands[1], v, &j)) ||
	    (v->kind == PTRC_VALUE_FLOAT && !whole_of(&n->operands[0], u, &i))) {
		a = (float)a;
		b = (float)b;
	}
	return n->relation & (a < b ? BELOW : a == b ? EQUAL : a > b ? ABOVE : UNORDERED);
}

static bool compare_calculated(struct ptrc_where *w, const struct node *n, struct ptrc_view *view)
{
	enum ptrc_relation relation;
	struct ptrc_quantity a;
	struct ptrc_quantity b;

	if (quantify(&n->operands[0], view, &a) && quantify(&n->operands[1], view, &b))
		return ptrc_quantity_compare(&a, &b, &relation) &&
		       (n->relation & (enum relation)relation);
	/* A field that has a unit in one layout may be text in another one. */
	return !n->operands[0].calculation && !n->operands[1].calculation && compare(w, n, view);
}

static bool is_true(struct ptrc_where *w, const struct node *n, struct ptrc_view *view)
{
	struct ptrc_value room;
	const struct ptrc_value *v;
	struct ptrc_quantity q;
	long double number;

	if (n->operands[0].calculation)
		return quantify(&n->operands[0], view, &q) &&
		       (q.is_whole ? q.whole != 0 : q.number != 0);
	v = evaluate(w, n, 0, view, &room);
	if (v->kind == PTRC_VALUE_TEXT)
		return v->size;
	if (v->kind == PTRC_VALUE_ARRAY || v->kind == PTRC_VALUE_JSON)
		return true;
	return number_of(&n->operands[0], v, &number) && number != 0;
}

static enum ptrc_answer answer_of(bool is_so)
{
	return is_so ? PTRC_YES : PTRC_NO;
}

/* The text itself may be in the first scratch buffer, which evaluate() uses. */
static enum ptrc_answer matches_glob(struct ptrc_where *w, const struct operand *pattern,
				     const struct ptrc_value *v)
{
	struct ptrc_buffer *b = &w->scratch[1];

	if (v->size > GLOB_WORK_MAX / (pattern->literal.size + 1))
		return PTRC_UNDECIDED;
	b->used = 0;
	ptrc_buffer_bytes(b, v->bytes, v->size);
	ptrc_buffer_char(b, '\0');
	return answer_of(strlen(b->bytes) == v->size && ptrc_glob_matches(pattern->text, b->bytes));
}

static enum ptrc_answer matches(struct ptrc_where *w, const struct node *n, struct ptrc_view *view)
{
	struct ptrc_value room;
	const struct ptrc_value *v = evaluate(w, n, 0, view, &room);

	if (v->kind != PTRC_VALUE_TEXT)
		return PTRC_NO;
	return n->kind == GLOB ? matches_glob(w, &n->operands[1], v)
			       : ptrc_regex_match(n->regex, v->bytes, v->size);
}

/* Whether a part of an expression holds is what its parts say. */
static enum ptrc_answer join_answers(enum kind kind, enum ptrc_answer a, enum ptrc_answer b)
{
	return (kind == OR) == (a > b) ? a : b;
}

struct loss {
	struct ptrc_view *view;
	bool is_found;
};

static void look_for_loss(struct operand *o, void *arg)
{
	struct loss *l = arg;

	l->is_found |= o->is_field && ptrc_view_has_lost(l->view, &o->field);
}

static bool has_lost(struct node *n, struct ptrc_view *view)
{
	struct loss loss = {.view = view};

	visit_operands(n, look_for_loss, &loss);
	return loss.is_found;
}

static enum ptrc_answer judge(struct ptrc_where *w, struct node *n, struct ptrc_view *view)
{
	enum ptrc_answer a;

	switch (n->kind) {
	case OR:
	case AND:
		a = judge(w, n->children[0], view);
		if (a == answer_of(n->kind == OR))
			return a;
		return join_answers(n->kind, a, judge(w, n->children[1], view));
	case NOT:
		return PTRC_YES - judge(w, n->children[0], view);
	default:
		break;
	}
	if (w->has_doubts && has_lost(n, view))
		return PTRC_UNDECIDED;
	if (n->kind == TRUTH)
		return answer_of(is_true(w, n, view));
	if (n->kind != COMPARISON)
		return matches(w, n, view);
	return answer_of(n->is_calculated ? compare_calculated(w, n, view) : compare(w, n, view));
}

bool ptrc_where_all_hold(struct ptrc_where *const *wheres, size_t count, struct ptrc_view *view)
{
	struct ptrc_where *undecided = NULL;

	for (size_t i = 0; i < count; i++) {
		enum ptrc_answer answer =
			wheres[i] ? judge(wheres[i], wheres[i]->root, view) : PTRC_YES;

		if (answer == PTRC_NO)
			return false;
		if (answer == PTRC_UNDECIDED)
			undecided = wheres[i];
	}
	if (undecided)
		undecided->undecided_count++;
	return !undecided;
}

bool ptrc_where_holds(struct ptrc_where *w, struct ptrc_view *view)
{
	return ptrc_where_all_hold(&w, 1, view);
}

bool ptrc_where_may_hold(struct ptrc_where *w, struct ptrc_view *view, bool *is_unsure)
{
	enum ptrc_answer answer;

	w->has_doubts = true;
	answer = judge(w, w->root, view);
	w->has_doubts = false;
	*is_unsure = answer == PTRC_UNDECIDED;
	return answer != PTRC_NO;
}

uint64_t *ptrc_where_undecided(struct ptrc_where *w)
{
	return &w->undecided_count;
}

const char *ptrc_where_text(const struct ptrc_where *w)
{
	return w->text;
}

/* Whether a comparison of names holds for this name. */
static enum ptrc_answer judge_name(struct node *n, const char *name, size_t size)
{
	const struct operand *wanted = wanted_name(n);
	enum ptrc_answer answer;

	if (n->kind == REGEX)
		answer = ptrc_regex_match(n->regex, name, size);
	else if (n->kind == GLOB)
		answer = answer_of(ptrc_glob_matches(wanted->text, name));
	else
		answer = answer_of(size == wanted->literal.size &&
				   !memcmp(name, wanted->text, size));
	n->has_name |= answer != PTRC_NO;
	return n->kind == COMPARISON && n->relation == UNEQUAL ? PTRC_YES - answer : answer;
}

/* Looks at all children, so that each comparison sees the name. What else it is about is undecided. */
static enum ptrc_answer look(struct node *n, const char *name, size_t size)
{
	enum ptrc_answer a;

	if (n->kind == NOT)
		return PTRC_YES - look(n->children[0], name, size);
	if (n->kind == OR || n->kind == AND) {
		a = look(n->children[0], name, size);
		return join_answers(n->kind, a, look(n->children[1], name, size));
	}
	return wanted_name(n) ? judge_name(n, name, size) : PTRC_UNDECIDED;
}

bool ptrc_where_try_name(struct ptrc_where *w, const char *name, size_t size)
{
	return look(w->root, name, size) != PTRC_NO;
}

/* Whether an expression in front of this one has the same in vain. */
static bool is_repeated(const struct ptrc_where *w, const struct node *n)
{
	for (const struct node *m = w->names; m != n; m = m->next_of_names)
		if (!m->has_name && m->kind == n->kind &&
		    !strcmp(wanted_name(m)->text, wanted_name(n)->text))
			return true;
	return false;
}

const char *ptrc_where_next_missing(const struct ptrc_where *w, const void **place, bool *is_name)
{
	const struct node *n = *place ? ((const struct node *)*place)->next_of_names : w->names;
	const char *text;

	while (n && (n->has_name || is_repeated(w, n)))
		n = n->next_of_names;
	*place = n;
	if (!n)
		return NULL;
	text = wanted_name(n)->text;
	*is_name =
		n->kind == COMPARISON || !strpbrk(text, n->kind == GLOB ? "*?[\\" : "*?[\\^$+(|{");
	return text;
}

void ptrc_where_free(struct ptrc_where *w)
{
	free_node(w->root);
	ptrc_buffer_free(&w->scratch[0]);
	ptrc_buffer_free(&w->scratch[1]);
	free(w);
}
