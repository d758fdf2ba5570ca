/* SPDX-License-Identifier: MIT */
/* The options of a command as tables, which the parser, --help and the completions of the shells
 * read. */
#ifndef PTRC_SRC_BASE_OPTION_H
#define PTRC_SRC_BASE_OPTION_H

#include <limits.h>
#include <stdbool.h>

/* A command numbers its options without a letter from PTRC_CLI_KEY_FIRST on. Options that
 * commands share (configuration.h, selection.h) are numbered from PTRC_CLI_KEY_SHARED on. */
enum {
	PTRC_CLI_KEY_FIRST = CHAR_MAX + 1,
	PTRC_CLI_KEY_SHARED = 1024,
};

struct ptrc_cli_option {
	const char *name;
	/* Its letter, or a key above CHAR_MAX. */
	int key;
	/* The argument as --help names it; NULL if the option takes none. An optional one is in
	 * brackets, as [=FILE]. */
	const char *argument;
	/* The explanation in --help: one or more lines. */
	const char *help;
};

#define PTRC_CLI_OPTIONS_END        \
	{                           \
		NULL, 0, NULL, NULL \
	}

/* Names of options without their dashes, and a list of what belongs to each of them. Both are
 * words with blanks between them. */
struct ptrc_cli_row {
	const char *options;
	const char *list;
};

/* A table of such rows, which ends with an empty one. */
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
	/* Options that exclude those in the list, where a word in capitals is an operand; or
	 * NULL. */
	const struct ptrc_cli_row *exclusions;
	/* Options that need one of those in the list; or NULL. */
	const struct ptrc_cli_row *needs;
	/* Options whose value is one of the words in the list, or several with commas between
	 * them; or NULL. */
	const struct ptrc_cli_row *words;
	/* Kinds of the operands, with blanks between them, by the names in complete.c, as in
	 * "RULES|LOG"; the last one is that of all further operands. NULL: no proposals. */
	const char *operand_kinds;
	/* Lines at the end of --help, or NULL. */
	const char *notes;
	/* The exit status for a wrong command line; 0: PTRC_EXIT_USAGE. */
	int usage_status;
	/* The first operand ends the options: the rest belongs to COMMAND. */
	bool has_command;
};

/* The longest word of a list, with its null byte. */
enum { PTRC_OPTION_WORD = 40 };

/* Copies the first word of the list. Returns the start of the next one, or NULL if there is no
 * word. */
const char *ptrc_option_next_word(const char *list, char word[PTRC_OPTION_WORD]);

bool ptrc_option_is_in(const char *list, const char *word);

/* The words that can be the value of the option, or NULL. */
const char *ptrc_option_words(const struct ptrc_cli *, const char *name);

/* Refuses options that exclude each other, and options without one that they need. `given`: the
 * names of the options that were given, ending with NULL. */
void ptrc_option_check(const struct ptrc_cli *, const char *const *given, bool has_operands);

#endif
