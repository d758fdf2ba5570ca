/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/complete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/exit_status.h"
#include "src/base/output.h"
#include "src/base/proposals.h"

/* The kinds of values to propose for an argument or operand of this name. A name in lower case is that of an
 * option, whose values are of the same kinds in all commands, whatever the name of its argument. */
static const struct {
	const char *word;
	unsigned int kinds;
} meanings[] = {
	{"config", PTRC_PROPOSE_RULES},
	{"event", PTRC_PROPOSE_EVENTS},
	{"output", PTRC_PROPOSE_FILES},
	{"COMMAND", PTRC_PROPOSE_COMMANDS},
	{"DIRECTORY", PTRC_PROPOSE_DIRECTORIES},
	{"EVENT", PTRC_PROPOSE_EVENTS},
	{"FILE", PTRC_PROPOSE_FILES},
	{"GLOB", PTRC_PROPOSE_EVENTS},
	{"LOG", PTRC_PROPOSE_LOGS},
	{"PID", PTRC_PROPOSE_PROCESSES},
	{"RULES", PTRC_PROPOSE_RULES},
	{"SESSION", PTRC_PROPOSE_SESSIONS},
	{"WHERE", PTRC_PROPOSE_SESSIONS | PTRC_PROPOSE_DIRECTORIES},
};

/* The last word of the command line, which is to be completed, and what it can be. */
struct place {
	const char *word;
	/* The part of the word that is completed, which reaches to the end of the word: the value in
	 * --option=VALUE, for instance. */
	const char *rest;
	/* The word is the name of an option. */
	bool is_option;
	/* The set of kinds of values (PTRC_PROPOSE_*) that the word can be. */
	unsigned int kinds;
	/* The words that can be the value, separated by blanks; NULL if they are not known. */
	const char *words;
	/* The number, from 1 on, of the word COMMAND, which starts the command line of another command; 0 if
	 * there is no such word. */
	size_t command;
	/* The option of which the last word is the value, or NULL. */
	const struct ptrc_cli_option *waiting;
	/* The number of operands before the last word; and whether a word before it is --. */
	size_t operands;
	bool is_ended;
};

static const struct ptrc_cli *command;
/* The command's tables of options: its own, the shared ones, and the standard ones. */
enum { TABLES = 3 };
static const struct ptrc_cli_option *tables[TABLES];

/* Finds the option with this name or, if the name is NULL, with this letter. Returns NULL if there is none. */
static const struct ptrc_cli_option *find_option(const char *name, size_t size, int letter)
{
	for (size_t t = 0; t < TABLES; t++)
		for (const struct ptrc_cli_option *o = tables[t]; o && o->name; o++)
			if (name ? !strncmp(o->name, name, size) && !o->name[size]
				 : o->key == letter)
				return o;
	return NULL;
}

static unsigned int kinds_of(const char *word, size_t size)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
		if (strlen(meanings[i].word) == size && !memcmp(meanings[i].word, word, size))
			return meanings[i].kinds;
	return 0;
}

/* Returns the kinds of values for an argument or operand of this name; for A|B, the kinds of both A and B. */
static unsigned int kinds_of_names(const char *names)
{
	unsigned int kinds = 0;

	while (*names && *names != ' ') {
		size_t size = strcspn(names, "|] ");

		kinds |= kinds_of(names, size);
		names += size + (names[size] == '|' || names[size] == ']');
	}
	return kinds;
}

/* Returns the kinds of values for the operand with this number, from 0 on. The last word of operand_kinds is also
 * for all further operands. */
static unsigned int kinds_of_operand(size_t number)
{
	const char *names = command->operand_kinds ? command->operand_kinds : "";

	for (; number && strchr(names, ' '); number--)
		names = strchr(names, ' ') + 1;
	return kinds_of_names(names);
}

/* Fills in the place for a word that is, or ends with, the value of an option. `o` is NULL if the option is unknown.
 * If the value is a list with commas, its last word is completed. */
static void place_value(struct place *p, const struct ptrc_cli_option *o, const char *value)
{
	const char *argument = o && o->argument ? o->argument : "";
	const char *comma = strrchr(value, ',');

	p->rest = value;
	if (!*argument)
		return;
	p->words = ptrc_option_words(command, o->name);
	if (p->words && comma && (strchr(argument, ',') || !strcmp(argument, "LIST")))
		p->rest = comma + 1;
	p->kinds = kinds_of(o->name, strlen(o->name));
	if (!p->kinds && !p->words)
		p->kinds = kinds_of_names(argument + (*argument == '[' ? 2 : 0));
}

/* Returns the option in this word, if the next word is its value; else NULL. */
static const struct ptrc_cli_option *find_waiting(const char *word)
{
	const struct ptrc_cli_option *o;

	if (word[1] == '-') {
		o = find_option(word + 2, strlen(word + 2), 0);
		return o && o->argument && *o->argument != '[' ? o : NULL;
	}
	while (*++word) {
		o = find_option(NULL, 0, *word);
		if (o && o->argument)
			return word[1] ? NULL : o;
	}
	return NULL;
}

/* Finds out what the last word, which starts with a dash, can be: an option, or an option with its value. */
static void place_option(struct place *p)
{
	const char *word = p->word;
	const char *value = strchr(word, '=');
	const struct ptrc_cli_option *o;

	if (word[1] == '-' && value) {
		place_value(p, find_option(word + 2, (size_t)(value - word - 2), 0), value + 1);
		return;
	}
	o = word[1] && word[1] != '-' && word[2] ? find_option(NULL, 0, word[1]) : NULL;
	if (o && o->argument)
		place_value(p, o, word + 2);
	else
		p->is_option = true;
}

/* Interprets a word before the last one as getopt_long() does. `number` is the number of the word, from 1 on. */
static void read_word(struct place *p, const char *word, size_t number)
{
	if (p->waiting) {
		p->waiting = NULL;
	} else if (p->is_ended || *word != '-' || !word[1]) {
		p->operands++;
		if (command->has_command)
			p->command = number;
	} else if (!strcmp(word, "--")) {
		p->is_ended = true;
		if (command->operand_kinds && strstr(command->operand_kinds, "COMMAND"))
			p->command = number + 1;
	} else {
		p->waiting = find_waiting(word);
	}
}

static struct place find_place(char **words, size_t count)
{
	const char *word = words[count - 1];
	struct place p = {.word = word, .rest = word};

	for (size_t i = 0; i + 1 < count && !p.command; i++)
		read_word(&p, words[i], i + 1);
	if (p.command && p.command < count)
		return p;
	if (p.command)
		p.kinds = PTRC_PROPOSE_COMMANDS;
	else if (p.waiting)
		place_value(&p, p.waiting, word);
	else if (*word == '-' && !p.is_ended)
		place_option(&p);
	else
		p.kinds = kinds_of_operand(p.operands);
	return p;
}

/* Puts proposals for an option: its letter, its name, and its name with a value. */
static void put_option(struct ptrc_buffer *b, const struct ptrc_cli_option *o)
{
	bool has_value = o->argument;
	char help[200];

	/* Leaves out the explanation's details, which follow a semicolon. */
	snprintf(help, sizeof(help), "%.*s", (int)strcspn(o->help, ";"), o->help);
	for (char *line = help; (line = strchr(line, '\n'));)
		*line = ' ';
	if (ptrc_option_has_letter(o))
		ptrc_buffer_format(b, "-%c\t%s\n", o->key, help);
	if (!has_value || *o->argument == '[')
		ptrc_buffer_format(b, "--%s\t%s\n", o->name, help);
	if (has_value)
		ptrc_buffer_format(b, "--%s=\t%s\n", o->name, help);
}

static void put_words(struct ptrc_buffer *b, const char *list)
{
	char word[PTRC_OPTION_WORD];

	while (list && (list = ptrc_option_next_word(list, word)))
		ptrc_buffer_format(b, "%s\n", word);
}

static void put_options(struct ptrc_buffer *b)
{
	for (size_t t = 0; t < TABLES; t++)
		for (const struct ptrc_cli_option *o = tables[t]; o && o->name; o++)
			put_option(b, o);
}

/* Puts the first line of the answer, which complete.h describes. `knows` is the word for what the shell itself is
 * to propose, such as "files". */
static void put_head(struct ptrc_buffer *b, const struct place *p, size_t count, const char *knows)
{
	ptrc_buffer_format(b, "%td ", p->rest - p->word);
	if (p->command && p->command < count)
		ptrc_buffer_format(b, "command %zu\n", p->command);
	else
		ptrc_buffer_format(b, "%s\n", knows);
}

void ptrc_complete(const struct ptrc_cli *c, const struct ptrc_cli_option *standard_options,
		   char **words)
{
	static char nothing[] = "";
	static char *no_words[] = {nothing, NULL};
	struct ptrc_buffer b = PTRC_BUFFER_INIT;
	struct ptrc_buffer head = PTRC_BUFFER_INIT;
	size_t count = 0;
	struct place p;

	command = c;
	tables[0] = c->options;
	tables[1] = c->shared_options;
	tables[2] = standard_options;
	if (!*words)
		words = no_words;
	while (words[count])
		count++;
	p = find_place(words, count);
	if (p.is_option)
		put_options(&b);
	put_words(&b, p.words);
	put_head(&head, &p, count, ptrc_proposals_put(&b, p.kinds, p.rest));
	ptrc_output_write(&head);
	ptrc_output_write(&b);
	if (p.kinds & PTRC_PROPOSE_EVENTS)
		ptrc_proposals_become_events(words, count - 1);
	exit(PTRC_EXIT_DONE);
}
