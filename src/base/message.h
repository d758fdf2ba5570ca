/* SPDX-License-Identifier: MIT */
/* Messages of a command on standard error; some end the process (wrong usage, wrong input, no
 * memory). Memory and text that need no check. */
#ifndef PTRC_SRC_BASE_MESSAGE_H
#define PTRC_SRC_BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Sets the name of the command, with which messages start, and its exit status for a wrong
 * command line. ptrc_cli_begin() calls this. */
void ptrc_message_begin(const char *program, int usage_status);

/* Prints "program: thing: reason" on one line, escaped by ptrc_escape(). A NULL thing is left
 * out; an empty one is shown as ''. */
void ptrc_cli_message(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2)));

/* Prints "program: thing: COUNT text". [one|several] in the text becomes the first word if the
 * count is 1, else the second. */
void ptrc_cli_count(const char *thing, unsigned long long count, const char *text);

/* Writes "COUNT text" into the buffer. */
void ptrc_cli_count_text(char *buffer, size_t size, unsigned long long count, const char *text);

/* The last message of this process without the name of the program, or "". */
const char *ptrc_message_last(void);

/* The text for an error number of fork() and the like, where EAGAIN means a limit on
 * processes. */
const char *ptrc_cli_process_reason(int error);

/* Prints a message whose reason is strerror(error). */
void ptrc_cli_error(const char *thing, int error);

/* Prints a message with a hint at --help, and exits with the status for wrong usage. */
void ptrc_cli_usage(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2), noreturn));

/* Does the same without the hint, for wrong input such as a configuration file. */
void ptrc_cli_refuse(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2), noreturn));

/* Why something is refused. The caller adds where it was found. A longer reason is cut. */
struct ptrc_cli_reason {
	char text[400];
	/* The text is well formed, but would select nothing. */
	bool is_vain;
};

/* Fills in the reason. Always returns false, which a function that refuses something can
 * return. */
bool ptrc_cli_because(struct ptrc_cli_reason *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The exit status for a failure other than wrong usage; for ptrace-run they are the same. */
int ptrc_cli_failure_status(void);

/* Reports that memory is short, and ends the process. */
void ptrc_cli_no_memory(void) __attribute__((noreturn));

/* calloc() and realloc() that end the process if memory is short; size may be 0. */
void *ptrc_cli_allocate(size_t size) __attribute__((malloc, returns_nonnull));
void *ptrc_cli_reallocate(void *, size_t size) __attribute__((returns_nonnull));

/* Makes room for one more thing in a list of `count` things of `size` bytes, by doubling. Returns
 * the list. */
void *ptrc_cli_grow(void *list, size_t count, size_t size) __attribute__((returns_nonnull));

/* Appends a thing to a list, a variable that nothing else appends to, and counts it. The value is
 * a pointer to the new thing, which is not initialised. */
#define ptrc_append(list, count) \
	((list) = ptrc_cli_grow((list), (count), sizeof(*(list))), &(list)[(count)++])

/* asprintf(); the caller frees the text. */
char *ptrc_cli_text(const char *format, ...)
	__attribute__((format(printf, 1, 2), malloc, returns_nonnull));

/* Copies of a text, and of bytes with a null byte after them; the caller frees them. */
char *ptrc_cli_copy(const char *) __attribute__((malloc, nonnull, returns_nonnull));

char *ptrc_cli_copy_bytes(const char *, size_t) __attribute__((malloc, nonnull, returns_nonnull));

#endif
