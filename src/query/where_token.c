/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/where_token.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fields/value.h"
#include "src/fields/when.h"
#include "src/query/where.h"

void ptrc_parser_refuse(struct ptrc_parser *p, const char *at, const char *format, ...)
{
	char reason[sizeof(p->why->text)];
	va_list values;

	if (p->token == PTRC_TOKEN_BAD)
		return;
	va_start(values, format);
	vsnprintf(reason, sizeof(reason), format, values);
	va_end(values);
	ptrc_cli_because(p->why, "column %zu: %s", (size_t)(at - p->begin) + 1, reason);
	p->token = PTRC_TOKEN_BAD;
}

static bool is_letter(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void read_word(struct ptrc_parser *p)
{
	size_t n = 0;

	/* A sign that is written before an index is part of the name, so that a message shows it. */
	while (is_letter(p->at[n]) || is_digit(p->at[n]) || p->at[n] == '.' || p->at[n] == '[' ||
	       p->at[n] == ']' ||
	       (n && p->at[n - 1] == '[' && (p->at[n] == '-' || p->at[n] == '+')))
		n++;
	if (n > PTRC_WORD_MAX_BYTES) {
		ptrc_parser_refuse(p, p->at, "the name is too long");
		return;
	}
	memcpy(p->word, p->at, n);
	p->word[n] = '\0';
	p->at += n;
	p->token = PTRC_TOKEN_FIELD;
	if (!strcmp(p->word, "true") || !strcmp(p->word, "false")) {
		p->token = PTRC_TOKEN_NUMBER;
		p->number = ptrc_quantity_whole(PTRC_DIMENSION_BOOL, *p->word == 't');
	}
}

/* Reads a duration that is a number with one unit. The result is exact if it is whole nanoseconds, written
 * without an exponent. Also accepts durations above 292 years, because fields may have them. */
static bool read_long_duration(const char *text, struct ptrc_quantity *q)
{
	size_t size = strspn(text, "0123456789.eE+-");
	const char *point = memchr(text, '.', size);
	size_t digits = point ? (size_t)(text + size - point) - 1 : 0;
	enum ptrc_unit unit = PTRC_UNIT_NS;
	uint64_t one;
	long double number;
	ptrc_whole whole;

	while (unit <= PTRC_UNIT_S && strcmp(text + size, ptrc_unit_word(unit)))
		unit++;
	if (unit > PTRC_UNIT_S || !ptrc_value_read_number(text, size, &number))
		return false;
	one = ptrc_unit_ns(unit);
	*q = ptrc_quantity_number(PTRC_DIMENSION_NUMBER, number);
	if (number * (long double)one < 0x1p127L && digits <= 9 &&
	    strspn(text, "0123456789.") == size &&
	    ptrc_quantity_read_whole(text, point ? (size_t)(point - text) : size, &whole)) {
		/* Calculates the nanoseconds of the digits before the point, then adds those of the digits after
		 * it. */
		size_t i = 1;

		whole *= one;
		for (; i <= digits && one % 10 == 0; i++) {
			one /= 10;
			whole += (ptrc_whole)(point[i] - '0') * one;
		}
		if (i > digits) {
			*q = ptrc_quantity_whole(PTRC_DIMENSION_DURATION, whole);
			return true;
		}
	}
	ptrc_quantity_take_unit(q, unit);
	return true;
}

/* Returns false if the text is not a duration, or is too long a duration. */
static bool read_duration(const char *text, struct ptrc_quantity *q)
{
	int64_t ns;

	if (read_long_duration(text, q))
		return true;
	if (!ptrc_when_duration(text, &ns) || ns == INT64_MAX)
		return false;
	*q = ptrc_quantity_whole(PTRC_DIMENSION_DURATION, ns);
	return true;
}

static void read_number(struct ptrc_parser *p)
{
	char word[PTRC_WORD_MAX_BYTES + 1];
	long double number;
	ptrc_whole whole;
	int64_t ns;
	size_t n = 1;

	/* Takes all characters that could belong to a number, so that 1x2 is reported as a wrong number, not read
	 * as a number and a name. A sign can only follow the letter of an exponent. */
	while (is_letter(p->at[n]) || is_digit(p->at[n]) || p->at[n] == '.' ||
	       ((p->at[n] == '+' || p->at[n] == '-') && is_digit(p->at[n + 1]) &&
		(p->at[n - 1] == 'e' || p->at[n - 1] == 'E') && strncmp(p->at, "0x", 2) &&
		strncmp(p->at, "0X", 2)))
		n++;
	snprintf(word, sizeof(word), "%.*s", n < sizeof(word) ? (int)n : 0, p->at);
	if (ptrc_value_read_number(p->at, n, &number)) {
		p->token = PTRC_TOKEN_NUMBER;
		p->number = ptrc_quantity_number(PTRC_DIMENSION_NUMBER, number);
		if (ptrc_quantity_read_whole(p->at, n, &whole))
			p->number = ptrc_quantity_whole(PTRC_DIMENSION_NUMBER, whole);
	} else if (read_duration(word, &p->number)) {
		p->token = PTRC_TOKEN_NUMBER;
	} else if (ptrc_when_duration(word, &ns)) {
		ptrc_parser_refuse(p, p->at, "the duration is longer than 292 years");
	} else {
		ptrc_parser_refuse(p, p->at,
				   "'%.*s' is not a number, and not a duration such as 5ms",
				   n < 40 ? (int)n : 40, p->at);
	}
	if (p->token == PTRC_TOKEN_NUMBER &&
	    !ptrc_parser_is_in_range(ptrc_quantity_value(&p->number)))
		ptrc_parser_refuse(
			p, p->at, "'%.*s' is beyond the largest %s", n < 40 ? (int)n : 40, p->at,
			p->number.dimension == PTRC_DIMENSION_DURATION ? "duration, 1.79e308ns"
								       : "number, 1.79e308");
	p->at += n;
}

/* Reads a string in quotes. A backslash before the quote or before a backslash escapes that character. Before any
 * other character the backslash stands for itself, so that regular expressions need not double it. */
static void read_string(struct ptrc_parser *p)
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
		ptrc_parser_refuse(p, p->at, "the string has no end");
		return;
	}
	p->at = from + 1;
	p->token = PTRC_TOKEN_STRING;
}

/* The size in bytes of the UTF-8 character at `text`. Messages quote whole characters. */
static int character_length(const char *text)
{
	int n = 1;

	while (((unsigned char)text[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static void read_sign(struct ptrc_parser *p)
{
	static const struct {
		char text[4];
		enum ptrc_token token;
		unsigned int relations;
	} signs[] = {
		{"==", PTRC_TOKEN_RELATION, PTRC_EQUAL},
		{"!=", PTRC_TOKEN_RELATION, PTRC_UNEQUAL},
		{"<=", PTRC_TOKEN_RELATION, PTRC_NOT_ABOVE},
		{">=", PTRC_TOKEN_RELATION, PTRC_NOT_BELOW},
		{"=~", PTRC_TOKEN_REGEX_SIGN, 0},
		{"&&", PTRC_TOKEN_AND_SIGN, 0},
		{"||", PTRC_TOKEN_OR_SIGN, 0},
		{"<", PTRC_TOKEN_RELATION, PTRC_BELOW},
		{">", PTRC_TOKEN_RELATION, PTRC_ABOVE},
		{"~", PTRC_TOKEN_GLOB_SIGN, 0},
		{"!", PTRC_TOKEN_NOT_SIGN, 0},
		{"(", PTRC_TOKEN_LEFT, 0},
		{")", PTRC_TOKEN_RIGHT, 0},
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		size_t n = strlen(signs[i].text);

		if (strncmp(p->at, signs[i].text, n))
			continue;
		p->token = signs[i].token;
		p->relations = signs[i].relations;
		p->at += n;
		return;
	}
	if (*p->at && strchr("+-*/%", *p->at)) {
		p->token = PTRC_TOKEN_OPERATION;
		p->operation = (enum ptrc_operation) * p->at++;
		return;
	}
	if (*p->at == '=' || *p->at == '&' || *p->at == '|')
		ptrc_parser_refuse(p, p->at, "write '%c%c' instead of '%c'", *p->at, *p->at,
				   *p->at);
	else
		ptrc_parser_refuse(p, p->at, "'%.*s' has no meaning here", character_length(p->at),
				   p->at);
}

void ptrc_parser_next(struct ptrc_parser *p)
{
	if (p->token == PTRC_TOKEN_BAD)
		return;
	p->at += strspn(p->at, " \t\n\r");
	p->token_at = p->at;
	if (!*p->at)
		p->token = PTRC_TOKEN_END;
	else if (is_letter(*p->at))
		read_word(p);
	else if (*p->at == '.' && is_letter(p->at[1]))
		ptrc_parser_refuse(p, p->at, "a field is written without a dot in front");
	else if (is_digit(*p->at) || *p->at == '.')
		read_number(p);
	else if (*p->at == '"' || *p->at == '\'')
		read_string(p);
	else
		read_sign(p);
}

size_t ptrc_where_find_word(const char *text, size_t size, const char *word, bool is_last)
{
	size_t word_size = strlen(word);
	size_t found = size;
	char quote = '\0';

	for (size_t i = 0; i + word_size <= size; i++) {
		char c = text[i];

		if (quote && c == '\\') {
			i++;
		} else if (quote) {
			quote = c == quote ? '\0' : quote;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (!memcmp(text + i, word, word_size)) {
			found = i;
			if (!is_last)
				break;
		}
	}
	return found;
}

const char *ptrc_where_split(const char *text, size_t *size)
{
	static const char word[] = " where";
	const char *at = text;

	while ((at = strstr(at, word)) && at[sizeof(word) - 1] && at[sizeof(word) - 1] != ' ')
		at++;
	*size = at ? (size_t)(at - text) : strlen(text);
	while (*size && text[*size - 1] == ' ')
		--*size;
	return at ? at + sizeof(word) - 1 + strspn(at + sizeof(word) - 1, " ") : NULL;
}
