/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/mangled.h"

#include <string.h>

struct parser {
	const char *at;
	char *to, *end;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads an identifier, which is preceded by its length in decimal digits. */
static bool take_identifier(struct parser *p, const char **text, size_t *size)
{
	size_t n = 0;

	if (!is_digit(*p->at))
		return false;
	while (is_digit(*p->at) && n < PTRC_MANGLED_MAX)
		n = n * 10 + (size_t)(*p->at++ - '0');
	/* The symbol may be shorter than the length says. */
	for (size_t i = 0; i < n; i++)
		if (!p->at[i])
			return false;
	*text = p->at;
	*size = n;
	p->at += n;
	return n > 0;
}

static bool put(struct parser *p, const char *text, size_t size)
{
	if ((size_t)(p->end - p->to) <= size)
		return false;
	for (size_t i = 0; i < size; i++)
		*p->to++ = text[i];
	return true;
}

/* Appends an identifier to the names of its enclosing scopes. */
static bool put_part(struct parser *p, const char *begin, const char *text, size_t size)
{
	if (size >= 10 && !memcmp(text, "_GLOBAL__N", 10)) {
		text = "(anonymous)";
		size = 11;
	}
	return (p->to == begin || put(p, "::", 2)) && put(p, text, size);
}

/* Skips a substitution (S_, S0_, St), or a parameter of a template (T_, T0_). */
static void skip_reference(struct parser *p)
{
	char kind = *p->at++;

	if (kind == 'S' && *p->at >= 'a' && *p->at <= 'z') {
		p->at++;
		return;
	}
	while (is_digit(*p->at) || (*p->at >= 'A' && *p->at <= 'Z'))
		p->at++;
	if (*p->at == '_')
		p->at++;
}

/* Skips the arguments of a template. p->at is at first after the I that starts them, then after the
 * matching E. */
static bool skip_arguments(struct parser *p)
{
	const char *text;
	size_t size;

	for (int depth = 1; depth;) {
		char c = *p->at;

		if (!c)
			return false;
		if (is_digit(c)) {
			if (!take_identifier(p, &text, &size))
				return false;
			continue;
		}
		if (c == 'S' || c == 'T') {
			skip_reference(p);
			continue;
		}
		p->at++;
		if (c == 'E') {
			depth--;
		} else if (c == 'L' && *p->at != '_') {
			/* A literal: its type and its value, up to an E. Its digits must not be
			 * taken for the length of an identifier. */
			while (*p->at && *p->at != 'E' && !is_digit(*p->at) && *p->at != 'n')
				p->at++;
			while (*p->at && *p->at != 'E')
				p->at++;
			p->at += *p->at == 'E';
		} else if (c == 'I' || c == 'N' || c == 'X' || c == 'L' || c == 'J' || c == 'F') {
			depth++;
		} else if (c == 'D' && *p->at) {
			p->at++;
		}
	}
	return true;
}

/* Appends the parts of a nested name. At first p->at is after the N that starts it. */
static bool put_nested(struct parser *p, const char *begin)
{
	const char *text = NULL;
	size_t size = 0;

	while (*p->at == 'K' || *p->at == 'V' || *p->at == 'r' || *p->at == 'R' || *p->at == 'O')
		p->at++;
	while (*p->at && *p->at != 'E') {
		if (p->at[0] == 'S' && p->at[1] == 't') {
			p->at += 2;
			if (!put_part(p, begin, "std", 3))
				return false;
		} else if (*p->at == 'I') {
			p->at++;
			if (!skip_arguments(p))
				return false;
		} else if ((*p->at == 'C' || *p->at == 'D') && is_digit(p->at[1]) && text) {
			/* Constructors and destructors have the name of their class. */
			if (!put(p, "::~", *p->at == 'D' ? 3 : 2) || !put(p, text, size))
				return false;
			p->at += 2;
		} else {
			p->at += *p->at == 'L';
			if (!take_identifier(p, &text, &size) || !put_part(p, begin, text, size))
				return false;
			/* An ABI tag is not part of the name. */
			while (*p->at == 'B') {
				const char *tag;
				size_t tag_size;

				p->at++;
				if (!take_identifier(p, &tag, &tag_size))
					return false;
			}
		}
	}
	return *p->at == 'E';
}

bool ptrc_mangled_name(const char *symbol, char name[PTRC_MANGLED_MAX])
{
	struct parser p = {symbol + 2, name, name + PTRC_MANGLED_MAX - 1};
	const char *text;
	size_t size;

	if (symbol[0] != '_' || symbol[1] != 'Z')
		return false;
	if (*p.at == 'N') {
		p.at++;
		if (!put_nested(&p, name))
			return false;
	} else {
		if (p.at[0] == 'S' && p.at[1] == 't') {
			p.at += 2;
			if (!put_part(&p, name, "std", 3))
				return false;
		}
		p.at += *p.at == 'L';
		if (!take_identifier(&p, &text, &size) || !put_part(&p, name, text, size))
			return false;
	}
	*p.to = '\0';
	return p.to > name;
}
