/* SPDX-License-Identifier: MIT */
/*
 * POSIX extended regular expressions, as regcomp(3) of the C library reads them in the locale "C", with its
 * additions \w \W \s \S \b \B \< \> \` \'. A character is a byte, $ matches only at the end of the text, and
 * there are no back references. PCRE2 does the matching, in a limited time: a match that would take longer is
 * undecided.
 */
#ifndef PTRC_SRC_FIELDS_REGEX_H
#define PTRC_SRC_FIELDS_REGEX_H

#include <stddef.h>

#include "src/base/message.h"

/* The answers to a comparison in --where. They are in this order so that && yields the smaller of
 * two answers, and || the greater. */
enum ptrc_answer {
	PTRC_NO,
	PTRC_UNDECIDED,
	PTRC_YES,
};

struct ptrc_regex;

/* Compiles the pattern. If it is wrong, returns NULL, and stores the reason and the position. */
struct ptrc_regex *ptrc_regex_make(const char *pattern, struct ptrc_cli_reason *why);

/* Whether a part of the text matches. */
enum ptrc_answer ptrc_regex_match(struct ptrc_regex *, const char *text, size_t size);

/* Frees the expression, which may be NULL. */
void ptrc_regex_free(struct ptrc_regex *);

#endif
