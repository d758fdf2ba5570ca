/* SPDX-License-Identifier: MIT */
/*
 * The command line: its options, --help, --version, and the values of options.
 */
#ifndef PTRC_SRC_BASE_CLI_H
#define PTRC_SRC_BASE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/message.h"
#include "src/base/option.h"

/* Makes *cli the running command, and occupies standard descriptors that are closed. main()
 * calls this first. */
void ptrc_cli_begin(const struct ptrc_cli *cli);

/*
 * Returns the key of the next option, with its argument in optarg. Returns -1 when only
 * operands are left; they begin at argv[optind]. Ends the process after --help, --version
 * and a wrong option.
 */
int ptrc_cli_next(int argc, char **argv);

/*
 * Reads the whole text as a decimal number in [low, high]. Returns false, with *value
 * unchanged and the reason in *why, if it is not one.
 */
bool ptrc_cli_parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *value,
			   struct ptrc_cli_reason *why);

/* Reads a number of bytes in the same way. It may end with K, M or G, which multiplies it by
 * 1024, 1024^2 or 1024^3. */
bool ptrc_cli_parse_size(const char *text, uint64_t *value, struct ptrc_cli_reason *why);

/* Returns the index of the text in a list of words that ends with null. Returns -1, with a
 * reason that lists the words, if it is not there. */
int ptrc_cli_parse_word(const char *text, const char *const *words, struct ptrc_cli_reason *why);

/* These do the same for the value of an option. If the text is not valid, they end the process
 * with a message about the option. */
uint64_t ptrc_cli_number(const char *option, const char *text, uint64_t low, uint64_t high);
/* The words are those of the command's table. */
int ptrc_cli_word(const char *option, const char *text);

/* The arguments of an option that may be given several times, in order. Starts zeroed. */
struct ptrc_cli_texts {
	const char **texts;
	size_t count;
};
void ptrc_cli_add_text(struct ptrc_cli_texts *, const char *text);

/* The output formats of the commands that have --format. */
enum ptrc_format {
	PTRC_FORMAT_TEXT,
	PTRC_FORMAT_JSON,
	PTRC_FORMAT_CSV,
};
enum ptrc_format ptrc_cli_format(const char *text);

#endif
