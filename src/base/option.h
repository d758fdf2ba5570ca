/* SPDX-License-Identifier: MIT */
/* The options of a command as tables. The parser, --help and the completions of the shells read them. */
#ifndef PTRC_SRC_BASE_OPTION_H
#define PTRC_SRC_BASE_OPTION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The keys with which ptrc_cli_next() reports options that have no letter. The keys of a command's own options
 * start at PTRC_CLI_KEY_FIRST, the keys of options that commands share (configuration.h, selection.h) at
 * PTRC_CLI_KEY_SHARED. From PTRC_CLI_KEY_FLAG on are keys that only the parser knows. */
enum {
	PTRC_CLI_KEY_FIRST = CHAR_MAX + 1,
	PTRC_CLI_KEY_SHARED = 1024,
	PTRC_CLI_KEY_FLAG = 2048,
};

struct ptrc_cli_option {
	const char *name;
	/* The letter of the option, or a key above CHAR_MAX if it has none; 0 for a flag (ptrc_cli.flags). */
	int key;
	/* The name of the argument in --help; NULL if the option takes none. An argument that may be left out is
	 * in brackets, as [=FILE]. */
	const char *argument;
	/* The explanation in --help: one or more lines. */
	const char *help;
};

#define PTRC_CLI_OPTIONS_END        \
	{                           \
		NULL, 0, NULL, NULL \
	}

static inline bool ptrc_option_has_letter(const struct ptrc_cli_option *o)
{
	return o->key && o->key < PTRC_CLI_KEY_FIRST;
}

/* An option without an argument, and the variable that ptrc_cli_next() sets if it is given. */
struct ptrc_cli_flag {
	const char *option;
	bool *is_given;
};

/* A table of flags, with an empty one at its end. */
#define PTRC_CLI_FLAGS(...) ((const struct ptrc_cli_flag[]){__VA_ARGS__, {NULL, NULL}})

/* A row of a table that relates options to a list. Both are words separated by blanks; `options` has names of
 * options without their dashes. */
struct ptrc_cli_row {
	const char *options;
	const char *list;
};

/* A table of rows, with an empty row at its end. */
#define PTRC_CLI_ROWS(...) ((const struct ptrc_cli_row[]){__VA_ARGS__, {NULL, NULL}})

struct ptrc_cli {
	const char *program;
	/* The text after the name of the program in the first line of --help. */
	const char *operands;
	/* One or more lines that describe the command. */
	const char *summary;
	/* The command's own options, without --help and --version. */
	const struct ptrc_cli_option *options;
	/* Further options, which commands share, or NULL. */
	const struct ptrc_cli_option *shared_options;
	/* The options whose key is 0. */
	const struct ptrc_cli_flag *flags;
	/* Options that cannot be used together with those in the list of their row; a word in
	 * capitals in the list is an operand. NULL if there are none. */
	const struct ptrc_cli_row *exclusions;
	/* Options that can be given only with one of those in the list of their row. NULL if there are none. */
	const struct ptrc_cli_row *needs;
	/* Options whose value is one of the words in the list of their row, or several of these
	 * with commas between them. NULL if there are none. */
	const struct ptrc_cli_row *words;
	/* The proposals of the shells' completions for each operand: words of `meanings' in complete.c,
	 * separated by blanks, such as "RULES|LOG". The last word is for all further operands. NULL: nothing is
	 * proposed. */
	const char *operand_kinds;
	/* Lines at the end of --help, or NULL. */
	const char *notes;
	/* The exit status for a wrong command line; 0 stands for PTRC_EXIT_USAGE. */
	int usage_status;
	/* The first operand is COMMAND, and ends the options: all further words belong to COMMAND. */
	bool has_command;
};

/* The size of the longest word in a list, with its null byte. */
enum { PTRC_OPTION_WORD = 40 };

/* Copies the first word of the list. Returns what follows the word in the list, or NULL if the list has no word. */
const char *ptrc_option_next_word(const char *list, char word[PTRC_OPTION_WORD]);

bool ptrc_option_is_in(const char *list, const char *word);

/* Returns the list of words that can be the value of the option, or NULL if there is none. */
const char *ptrc_option_words(const struct ptrc_cli *, const char *name);

/* Ends the process with a message if options that exclude each other were given, or if an option was given without any
 * of those of which it needs one. `given` has the names of the options that were given, and ends with NULL. */
void ptrc_option_check(const struct ptrc_cli *, const char *const *given, bool has_operands);

#endif
