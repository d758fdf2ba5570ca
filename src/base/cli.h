/* SPDX-License-Identifier: MIT */
/* Parses the command line: options and their values, --help and --version. */
#ifndef PTRC_SRC_BASE_CLI_H
#define PTRC_SRC_BASE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/message.h"
#include "src/base/option.h"

/* Makes *cli the command that runs, opens placeholders for standard descriptors that are closed, so that no
 * other file gets their numbers, and ignores SIGXFSZ. main() calls this first. */
void ptrc_cli_begin(const struct ptrc_cli *cli);

/* Called in a child before it executes the user's program: restores what the command did on SIGXFSZ when it started. */
void ptrc_cli_restore_signals(void);

/* Returns the key of the next option, whose argument is in optarg, or -1 if only operands are left, from
 * argv[optind] on. Ends the process after --help, --version and an option that is wrong. */
int ptrc_cli_next(int argc, char **argv);

/* Reads the whole text as a decimal number from `low` to `high`. If the text is no such number, returns false,
 * stores the reason in *why, and leaves *value unchanged. */
bool ptrc_cli_parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *value,
			   struct ptrc_cli_reason *why);

/* Reads a size in bytes, as ptrc_cli_parse_number() reads a number. The text may end with K, M or G, for 1024,
 * 1024^2 or 1024^3. */
bool ptrc_cli_parse_size(const char *text, uint64_t *value, struct ptrc_cli_reason *why);

/* Returns the index of the text in a list of words, which ends with NULL. If the list does not have the text,
 * returns -1 and stores a reason that lists the words. */
int ptrc_cli_parse_word(const char *text, const char *const *words, struct ptrc_cli_reason *why);

/* ptrc_cli_number() and ptrc_cli_word() read the value of an option as the ptrc_cli_parse_ functions do. If it
 * is not valid, they end the process with a message about the option. */
uint64_t ptrc_cli_number(const char *option, const char *text, uint64_t low, uint64_t high);
/* Returns the index of the text in the option's list of words (ptrc_cli.words). */
int ptrc_cli_word(const char *option, const char *text);

/* Stores the argument of an option that may be given only once. If *text is not NULL, the option was given before,
 * so the process ends with a message. */
void ptrc_cli_once(const char *option, const char **text);

/* The arguments, in order, of an option that may be given several times. Zeroed at the start. */
struct ptrc_cli_texts {
	const char **texts;
	size_t count;
};
void ptrc_cli_add_text(struct ptrc_cli_texts *, const char *text);
/* For a list that owns its texts: adds a copy of a text unless the list has it; and frees the list. */
void ptrc_cli_add_copy(struct ptrc_cli_texts *, const char *text);
void ptrc_cli_free_copies(struct ptrc_cli_texts *);

/* The value of --format. */
enum ptrc_format {
	PTRC_FORMAT_TEXT,
	PTRC_FORMAT_JSON,
	PTRC_FORMAT_CSV,
	PTRC_FORMAT_COLUMNS,
};

/* Whether standard output is a terminal, and the environment variable NO_COLOR is not set or is empty. */
bool ptrc_cli_has_colours(void);

#endif
