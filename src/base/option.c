/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/option.h"

#include <stdio.h>
#include <string.h>

#include "src/base/message.h"

const char *ptrc_option_next_word(const char *list, char word[PTRC_OPTION_WORD])
{
	size_t size = strcspn(list, " ");

	snprintf(word, PTRC_OPTION_WORD, "%.*s", (int)size, list);
	return size ? list + size + (list[size] == ' ') : NULL;
}

bool ptrc_option_is_in(const char *list, const char *word)
{
	char one[PTRC_OPTION_WORD];

	while ((list = ptrc_option_next_word(list, one)))
		if (!strcmp(one, word))
			return true;
	return false;
}

const char *ptrc_option_words(const struct ptrc_cli *c, const char *name)
{
	for (const struct ptrc_cli_row *r = c->words; r && r->options; r++)
		if (ptrc_option_is_in(r->options, name))
			return r->list;
	return NULL;
}

/* Returns an option that was given, is in the list and is not `except`; NULL if there is no such option. */
static const char *find_given(const char *list, const char *const *given, const char *except)
{
	for (; *given; given++)
		if (*given != except && ptrc_option_is_in(list, *given))
			return *given;
	return NULL;
}

/* Stores the first operand of the list, which is a word in capitals. Returns false if there is none. */
static bool find_operand(const char *list, char word[PTRC_OPTION_WORD])
{
	while ((list = ptrc_option_next_word(list, word)))
		if (*word >= 'A' && *word <= 'Z')
			return true;
	return false;
}

static void check_exclusion(const struct ptrc_cli_row *row, const char *const *given,
			    bool has_operands)
{
	const char *option = find_given(row->options, given, NULL);
	const char *other = option ? find_given(row->list, given, option) : NULL;
	char text[PTRC_OPTION_WORD + 2], operand[PTRC_OPTION_WORD];

	snprintf(text, sizeof(text), "--%s", option ? option : "");
	if (other)
		ptrc_cli_usage(text, "cannot be used together with --%s", other);
	if (option && has_operands && find_operand(row->list, operand))
		ptrc_cli_usage(text, "cannot be used together with %s", operand);
}

static void check_need(const struct ptrc_cli_row *row, const char *const *given)
{
	const char *option = find_given(row->options, given, NULL);
	const char *list = row->list;
	char text[PTRC_OPTION_WORD + 2], word[PTRC_OPTION_WORD], needed[200] = "";

	if (!option || find_given(list, given, option))
		return;
	while ((list = ptrc_option_next_word(list, word))) {
		size_t used = strlen(needed);

		snprintf(needed + used, sizeof(needed) - used, "%s--%s",
			 !used	 ? ""
			 : *list ? ", "
				 : " or ",
			 word);
	}
	snprintf(text, sizeof(text), "--%s", option);
	ptrc_cli_usage(text, "needs %s", needed);
}

void ptrc_option_check(const struct ptrc_cli *c, const char *const *given, bool has_operands)
{
	for (const struct ptrc_cli_row *r = c->exclusions; r && r->options; r++)
		check_exclusion(r, given, has_operands);
	for (const struct ptrc_cli_row *r = c->needs; r && r->options; r++)
		check_need(r, given);
}
