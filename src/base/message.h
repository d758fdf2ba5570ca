/* SPDX-License-Identifier: MIT */
/* Messages of a command on standard error, some of which end the process (wrong usage, wrong input, no memory).
 * Also functions that allocate memory and copy texts, and end the process if memory is short. */
#ifndef PTRC_SRC_BASE_MESSAGE_H
#define PTRC_SRC_BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Sets the name of the command, with which messages start, and its exit status for a wrong command line.
 * ptrc_cli_begin() calls this. */
void ptrc_message_begin(const char *program, int usage_status);

/* Prints "program: thing: reason" on one line, escaped by ptrc_escape(). `thing` is what the message is about,
 * such as a path; NULL is left out, and "" is printed as ''. Always returns false, so that a function that fails can
 * return the result. */
bool ptrc_cli_message(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2)));

/* Prints "program: thing: COUNT text". Where the text has [one|several], the first word is printed if the count
 * is 1, else the second. */
void ptrc_cli_count(const char *thing, unsigned long long count, const char *text);

/* Writes "COUNT text", as ptrc_cli_count() prints it, into the buffer. */
void ptrc_cli_count_text(char *buffer, size_t size, unsigned long long count, const char *text);

/* Returns the last message that this process printed, without the name of the program; "" if it printed none. */
const char *ptrc_message_last(void);

/* Returns the text for an error number of fork() and similar functions, whose EAGAIN means that a limit on
 * processes was reached. */
const char *ptrc_cli_process_reason(int error);

/* Returns the text for an error number of writing a log. EFBIG mostly means that the limit on file size was
 * reached. */
const char *ptrc_cli_write_reason(int error);

/* Prints "program: thing: reason", where the reason is the text of the error number. Always returns false. */
bool ptrc_cli_error(const char *thing, int error);

/* Prints a message that also mentions --help, and exits with the status for wrong usage. */
void ptrc_cli_usage(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2), noreturn));

/* Prints a message about wrong input elsewhere than on the command line, in a configuration file for instance, and
 * exits with the status for wrong usage. */
void ptrc_cli_refuse(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2), noreturn));

/* Why a function refuses something. The caller that prints the reason adds where the mistake was found. A reason
 * that is longer than the array is cut. */
struct ptrc_cli_reason {
	char text[400];
};

/* Fills in the reason. Always returns false, so that a function that refuses something can return the result. */
bool ptrc_cli_because(struct ptrc_cli_reason *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns the exit status for a failure: PTRC_EXIT_FAILED, but in ptrace-run the one for wrong usage. */
int ptrc_cli_failure_status(void);

/* Reports that memory is short, and ends the process. */
void ptrc_cli_no_memory(void) __attribute__((noreturn));

/* Like calloc() and realloc(), but they end the process if memory is short. `size` may be 0. */
void *ptrc_cli_allocate(size_t size) __attribute__((malloc, returns_nonnull));
void *ptrc_cli_reallocate(void *, size_t size) __attribute__((returns_nonnull));

/* Makes room for one more thing in a list of `count` things of `size` bytes each: doubles the room
 * when it is full. Returns the list, which may have moved. */
void *ptrc_cli_grow(void *list, size_t count, size_t size) __attribute__((returns_nonnull));

/* Sorts a list, which may be empty, by qsort(), to which an empty list must not be given. */
#define ptrc_sort(list, count, compare) \
	((count) ? qsort((list), (count), sizeof(*(list)), (compare)) : (void)0)

/* Appends a thing to a list, and adds 1 to `count`. `list` and `count` are variables; only this macro may append to
 * the list. Its value is a pointer to the new thing, which is not initialised. */
#define ptrc_append(list, count) \
	((list) = ptrc_cli_grow((list), (count), sizeof(*(list))), &(list)[(count)++])

/* Formats a text as asprintf() does. The caller frees the text. */
char *ptrc_cli_text(const char *format, ...)
	__attribute__((format(printf, 1, 2), malloc, returns_nonnull));

/* ptrc_cli_copy() copies a text, ptrc_cli_copy_bytes() copies bytes and adds a null byte. The caller frees the
 * copy. */
char *ptrc_cli_copy(const char *) __attribute__((malloc, nonnull, returns_nonnull));

char *ptrc_cli_copy_bytes(const char *, size_t) __attribute__((malloc, nonnull, returns_nonnull));

#endif
