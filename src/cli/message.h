/* SPDX-License-Identifier: MIT */
/*
 * Messages of a command on standard error, and the ends of the process that follow from
 * them: wrong usage, wrong input, no memory.
 */
#ifndef PTRC_SRC_CLI_MESSAGE_H
#define PTRC_SRC_CLI_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Tells under which name the command speaks and with which status it ends after a wrong
 * command line. ptrc_cli_begin() calls this.
 */
void ptrc_message_begin(const char *program, int usage_status);

/*
 * Whether the bytes are one of the control characters U+0080 to U+009F, which some
 * terminals obey. They must be a valid UTF-8 character, or lie in a string that ends with
 * a null byte.
 */
static inline bool ptrc_is_high_control(const unsigned char *bytes)
{
	return bytes[0] == 0xc2 && bytes[1] >= 0x80 && bytes[1] < 0xa0;
}

/*
 * Prints "program: thing: reason". Control characters in it are escaped, so that it
 * always is one line. A null thing is left out.
 */
void ptrc_cli_message(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2)));

/* Prints such a message with the system's text for an error number. */
void ptrc_cli_error(const char *thing, int error);

/* Prints such a message with a hint at --help, and ends the process with the status for
 * wrong usage. */
void ptrc_cli_usage(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2), noreturn));

/* Does the same without the hint: the input is wrong, such as a configuration file, not
 * the command line. */
void ptrc_cli_refuse(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2), noreturn));

/* Why something is refused, for a caller that knows the place of it; longer reasons are
 * cut. */
struct ptrc_cli_reason {
	char text[400];
};

/* Fills in the reason. Always returns false, so that a function can refuse by returning
 * it. */
bool ptrc_cli_because(struct ptrc_cli_reason *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The exit status for a failure. ptrace-run has the same status for every failure of its
 * own, as most statuses belong to COMMAND. */
int ptrc_cli_failure_status(void);

/* Says that memory is short, and ends the process. */
void ptrc_cli_no_memory(void) __attribute__((noreturn));

/* malloc() and realloc() that end the process when memory is short; size may be 0. */
void *ptrc_cli_allocate(size_t size) __attribute__((malloc, returns_nonnull));
void *ptrc_cli_reallocate(void *, size_t size) __attribute__((returns_nonnull));

#endif
