/* SPDX-License-Identifier: MIT */
/*
 * The options of a command as data: tables that the parser, --help and the completions of the shells read.
 */
#ifndef PTRC_SRC_BASE_OPTION_H
#define PTRC_SRC_BASE_OPTION_H

#include <limits.h>
#include <stdbool.h>

/* A command numbers its options without a letter from PTRC_CLI_KEY_FIRST on. Those that
 * commands share (configuration.h) are numbered from PTRC_CLI_KEY_SHARED on. */
enum {
	PTRC_CLI_KEY_FIRST = CHAR_MAX + 1,
	PTRC_CLI_KEY_SHARED = 1024,
};

struct ptrc_cli_option {
	const char *name;
	/* The option's letter, or a key above CHAR_MAX. */
	int key;
	/* The argument as --help names it; null if the option takes none. One that may be left
	 * out stands in brackets, as [=FILE]. */
	const char *argument;
	/* The explanation in --help, of one or more lines. */
	const char *help;
};

/* Every table of options ends with this. */
#define PTRC_CLI_OPTIONS_END        \
	{                           \
		NULL, 0, NULL, NULL \
	}

/* Names of options, without their dashes, and what belongs to each of them. Both are lists with blanks
 * between the words. */
struct ptrc_cli_row {
	const char *options;
	const char *list;
};

/* Every table of such rows ends with this. */
#define PTRC_CLI_ROWS_END  \
	{                  \
		NULL, NULL \
	}

struct ptrc_cli {
	const char *program;
	/* What follows the name of the program in the first line of --help. */
	const char *operands;
	/* One or more lines that say what the command does. */
	const char *summary;
	/* The command's own options; --help and --version are added to every command. */
	const struct ptrc_cli_option *options;
	/* Further options, which commands share, or null. */
	const struct ptrc_cli_option *shared_options;
	/* The options that cannot be used together with any of those in the list. A word in capitals there
	 * is an operand. Null: there are none. */
	const struct ptrc_cli_row *exclusions;
	/* The options that need one of those in the list, or null. */
	const struct ptrc_cli_row *needs;
	/* The words of which one, or several with commas between them, is the value of an option; or null. */
	const struct ptrc_cli_row *words;
	/* What the operands are: for each a blank and the names of what it can be, as in RULES|LOG, of
	 * src/base/complete.c; the last one stands for all that follow. Null: nothing that can be proposed. */
	const char *operand_kinds;
	/* Lines at the end of --help, or null. */
	const char *notes;
	/* The exit status for a wrong command line. */
	int usage_status;
	/* The first operand ends the options, as what follows belongs to COMMAND. */
	bool has_command;
};

/* The most bytes of a word of a list, with the terminating zero. */
enum { PTRC_OPTION_WORD = 40 };

/* Copies the first word of the list. Returns where the next one begins, or null if there is no word. */
const char *ptrc_option_next_word(const char *list, char word[PTRC_OPTION_WORD]);

/* Whether the word is in the list. */
bool ptrc_option_is_in(const char *list, const char *word);

/* The list of the words that the option can have as its value, or null. */
const char *ptrc_option_words(const struct ptrc_cli *, const char *name);

/* Refuses a command line with options that exclude each other, or without one that another one needs. The
 * names of the options that were given end with null. */
void ptrc_option_check(const struct ptrc_cli *, const char *const *given, bool has_operands);

#endif
