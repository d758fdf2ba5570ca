/* SPDX-License-Identifier: MIT */
/*
 * The command line: option tables, --help, --version, numbers, messages.
 *
 * One table per command feeds getopt_long() and --help; a test compares --help with the
 * manual page and the completions.
 */
#ifndef PTRC_SRC_CLI_CLI_H
#define PTRC_SRC_CLI_CLI_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keys of options without a letter. Keys of the shared attribute options (attributes.h)
 * follow from PTRC_CLI_KEY_SHARED on. */
enum {
	PTRC_CLI_KEY_FIRST = CHAR_MAX + 1,
	PTRC_CLI_KEY_SHARED = 1024,
};

struct ptrc_cli_option {
	const char *name;
	/* The letter, or a key above CHAR_MAX. */
	int key;
	/* What --help calls the argument; null if the option takes none. */
	const char *argument;
	/* May have several lines. */
	const char *help;
};

/* Every table ends with this. */
#define PTRC_CLI_OPTIONS_END        \
	{                           \
		NULL, 0, NULL, NULL \
	}

struct ptrc_cli {
	const char *program;
	/* What follows the name of the program in the usage line. */
	const char *operands;
	/* Says what the command does, in one or more lines. */
	const char *summary;
	/* The command's own options; --help and --version are added to every command. */
	const struct ptrc_cli_option *options;
	/* Further ones that commands share, or null. */
	const struct ptrc_cli_option *shared_options;
	/* Lines for the end of --help, or null. */
	const char *notes;
	/* Status for a wrong command line. */
	int usage_status;
	/* The first operand ends the options, as what follows belongs to COMMAND. */
	bool has_command;
};

/*
 * Names the running command in messages, and sees to it that nothing is opened in the place
 * of a closed standard descriptor; to be called first in main().
 */
void ptrc_cli_begin(const struct ptrc_cli *);

/*
 * The key of the next option, with its argument in optarg, or -1 when only operands are
 * left, from argv[optind] on. Answers --help and --version itself, and ends the process
 * for an option that does not exist.
 */
int ptrc_cli_next(int argc, char **argv);

/*
 * "program: thing: reason" on standard error, in one line whatever bytes the thing has. A
 * null thing is left out.
 */
void ptrc_cli_message(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2)));

/* The same with the text for an error number. */
void ptrc_cli_error(const char *thing, int error);

/* The same with a hint at --help; ends the process with the status for wrong usage. */
void ptrc_cli_usage(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2), noreturn));

/* The same without the hint, for input that is wrong: a configuration file, say. */
void ptrc_cli_refuse(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2), noreturn));

/* The status for a failure. ptrace-run has one for whatever goes wrong, as most belong to
 * COMMAND. */
int ptrc_cli_failure_status(void);

/* Out of memory: says so and ends the process. */
void ptrc_cli_no_memory(void) __attribute__((noreturn));

/* Why a text is no value; a long text is cut. */
struct ptrc_cli_reason {
	char text[400];
};

/*
 * The whole text as a decimal number in [low, high]. False, with *value unchanged and
 * *why filled in, if it is none.
 */
bool ptrc_cli_parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *value,
			   struct ptrc_cli_reason *why);

/*
 * The same for bytes: a decimal number with one optional suffix K, M or G, which stand
 * for powers of 1024.
 */
bool ptrc_cli_parse_size(const char *text, uint64_t *value, struct ptrc_cli_reason *why);

/* The index of the text in a list of words that ends with null, or -1 with *why filled
 * in, which shows the list. */
int ptrc_cli_parse_word(const char *text, const char *const *words,
			struct ptrc_cli_reason *why);

/* The same for the value of an option; they end the process with a message about it. */
uint64_t ptrc_cli_number(const char *option, const char *text, uint64_t low,
			 uint64_t high);
int ptrc_cli_word(const char *option, const char *text, const char *const *words);

/* Output formats of those commands that have --format. */
enum ptrc_format {
	PTRC_FORMAT_TEXT,
	PTRC_FORMAT_JSON,
};
enum ptrc_format ptrc_cli_format(const char *text);

/* malloc() and realloc() that end the process when memory is short; size may be 0. */
void *ptrc_cli_allocate(size_t size) __attribute__((malloc, returns_nonnull));
void *ptrc_cli_reallocate(void *, size_t size) __attribute__((returns_nonnull));

#endif
