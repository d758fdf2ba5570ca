/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/model/glob.h"

#include <stddef.h>
#include <string.h>

/* `p` points after a "[:". If a class name and ":]" follow, returns the address after the ":]",
 * and sets *is_in if `c` is in the class. NULL: no class follows. */
static const char *find_class(const char *p, unsigned char c, bool *is_in)
{
	/* ranges: for each range of bytes in the class, its first and its last byte. */
	static const struct {
		const char *name;
		const char *ranges;
	} classes[] = {
		{"alnum:]", "azAZ09"},	 {"alpha:]", "azAZ"},
		{"blank:]", "  \t\t"},	 {"cntrl:]", "\x01\x1f\x7f\x7f"},
		{"digit:]", "09"},	 {"graph:]", "!~"},
		{"lower:]", "az"},	 {"print:]", " ~"},
		{"punct:]", "!/:@[`{~"}, {"space:]", "\t\r  "},
		{"upper:]", "AZ"},	 {"xdigit:]", "09afAF"},
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		size_t length = strlen(classes[i].name);

		if (strncmp(p, classes[i].name, length) != 0)
			continue;
		for (const char *r = classes[i].ranges; *r; r += 2)
			*is_in |= (unsigned char)r[0] <= c && c <= (unsigned char)r[1];
		return p + length;
	}
	return NULL;
}

/* Takes one byte of a bracket expression, which a backslash may precede. Returns 0 at the end of
 * the pattern. */
static unsigned char take_byte(const char **p)
{
	if (**p == '\\' && (*p)[1])
		++*p;
	return **p ? (unsigned char)*(*p)++ : '\0';
}

/* Matches a byte against a bracket expression; `p` points after its '['. Returns the address
 * after the closing bracket, or NULL if there is none. */
static const char *match_bracket(const char *p, unsigned char c, bool *is_match)
{
	bool is_negated = *p == '!' || *p == '^';
	bool is_in = false;
	const char *first = p += is_negated;

	while (*p != ']' || p == first) {
		unsigned char low, high;

		if (p[0] == '[' && p[1] == ':') {
			const char *end = find_class(p + 2, c, &is_in);

			if (end) {
				p = end;
				continue;
			}
		}
		low = high = take_byte(&p);
		if (!low)
			return NULL;
		if (p[0] == '-' && p[1] && p[1] != ']') {
			p++;
			high = take_byte(&p);
		}
		is_in |= low <= c && c <= high;
	}
	*is_match = is_in != is_negated;
	return p + 1;
}

/* Matches one byte against the pattern at `p`, which is no star. Returns the rest of the
 * pattern; NULL if the byte does not match. */
static const char *match_one(const char *p, unsigned char c)
{
	const char *end;
	bool is_match;

	if (*p == '?')
		return p + 1;
	if (*p == '[') {
		end = match_bracket(p + 1, c, &is_match);
		if (end)
			return is_match ? end : NULL;
	} else if (*p == '\\') {
		p++;
	}
	return *p && (unsigned char)*p == c ? p + 1 : NULL;
}

bool ptrc_glob_matches(const char *glob, const char *name)
{
	/* star: the pattern after the last star so far. rest: the first byte of the name that
	 * this star does not cover. If the pattern after the star does not match there, the star
	 * is made to cover one more byte; changing earlier stars is never necessary. */
	const char *star = NULL, *rest = NULL;

	while (*name) {
		const char *next = *glob == '*' ? NULL : match_one(glob, (unsigned char)*name);

		if (*glob == '*') {
			star = ++glob;
			rest = name;
		} else if (next) {
			glob = next;
			name++;
		} else if (star) {
			glob = star;
			name = ++rest;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}
