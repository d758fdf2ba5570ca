/* SPDX-License-Identifier: MIT */
/* Messages of a command on standard error. Some end the process: wrong usage, wrong input, no
 * memory. */
#ifndef PTRC_SRC_BASE_MESSAGE_H
#define PTRC_SRC_BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Sets the name of the command, with which messages begin, and its exit status for a wrong
 * command line. ptrc_cli_begin() calls this. */
void ptrc_message_begin(const char *program, int usage_status);

/* Prints "program: thing: reason"; a null thing is left out, and an empty one is shown as ''. What ptrc_escape() escapes is
 * escaped, so a message always is one line. */
void ptrc_cli_message(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2)));

/* Prints "program: thing: COUNT text", where [one|several] in the text stands for the first of the two if the count is 1, and
 * else for the second. */
void ptrc_cli_count(const char *thing, unsigned long long count, const char *text);

/* The last message of this process, without the name of the program, or an empty text. */
const char *ptrc_message_last(void);

/* The system's text for the error number of starting a process or of what needs one. EAGAIN, which
 * then means a limit on processes, is told as that. */
const char *ptrc_cli_process_reason(int error);

/* Prints such a message whose reason is the system's text for the error number. */
void ptrc_cli_error(const char *thing, int error);

/* Prints such a message with a hint at --help, and ends the process with the status for
 * wrong usage. */
void ptrc_cli_usage(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2), noreturn));

/* Does the same without the hint, for wrong input such as a configuration file. */
void ptrc_cli_refuse(const char *thing, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2), noreturn));

/* Why something is refused. The caller adds where it stands. A longer reason is cut. */
struct ptrc_cli_reason {
	char text[400];
	/* It is no mistake of writing: what is refused would find nothing. */
	bool is_vain;
};

/* Fills in the reason. Always returns false, so that a function that refuses something can
 * return what this one returns. */
bool ptrc_cli_because(struct ptrc_cli_reason *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The exit status for a failure that is not wrong usage. ptrace-run has one status for both. */
int ptrc_cli_failure_status(void);

/* Says that memory is short, and ends the process. */
void ptrc_cli_no_memory(void) __attribute__((noreturn));

/* Zeroed memory, and realloc(), which end the process when memory is short; size may be 0. */
void *ptrc_cli_allocate(size_t size) __attribute__((malloc, returns_nonnull));
void *ptrc_cli_reallocate(void *, size_t size) __attribute__((returns_nonnull));

/* Makes room for one more thing in a list of `count` things of `size` bytes each. The room doubles. Returns the
 * list. */
void *ptrc_cli_grow(void *list, size_t count, size_t size) __attribute__((returns_nonnull));

/* Appends a thing to a list, which is a variable, and counts it. Is the pointer to the new thing, whose bytes
 * are whatever they were. The list has to be appended to by nothing else. */
#define ptrc_append(list, count) \
	((list) = ptrc_cli_grow((list), (count), sizeof(*(list))), &(list)[(count)++])

/* A text that is put together, which the caller frees. */
char *ptrc_cli_text(const char *format, ...)
	__attribute__((format(printf, 1, 2), malloc, returns_nonnull));

/* A copy of the text, which the caller frees. */
char *ptrc_cli_copy(const char *) __attribute__((malloc, nonnull, returns_nonnull));

/* A copy of the bytes, followed by a null byte. */
char *ptrc_cli_copy_bytes(const char *, size_t) __attribute__((malloc, nonnull, returns_nonnull));

#endif
