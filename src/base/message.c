/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/message.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/escape.h"
#include "src/base/exit_status.h"

static const char *program_name;
static int usage_status;
static char last[PATH_MAX + 1024];

void ptrc_message_begin(const char *program, int status)
{
	program_name = program;
	usage_status = status;
}

int ptrc_cli_failure_status(void)
{
	return usage_status == PTRC_EXIT_USAGE ? PTRC_EXIT_FAILED : usage_status;
}

static void print_escaped(FILE *f, const char *text)
{
	size_t length;

	for (const char *p = text; *p; p += length) {
		char escape[PTRC_ESCAPE_BYTES];

		length = ptrc_escape((const unsigned char *)p, strlen(p), escape);
		if (*escape)
			fputs(escape, f);
		else
			fwrite(p, 1, length, f);
	}
}

static void __attribute__((format(printf, 2, 0)))
message(const char *thing, const char *format, va_list values, bool has_hint)
{
	char reason[1024];
	char *line = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&line, &size);

	if (!f)
		return;
	if (thing && !*thing)
		thing = "''";
	fprintf(f, "%s: ", program_name);
	if (thing) {
		print_escaped(f, thing);
		fputs(": ", f);
	}
	vsnprintf(reason, sizeof(reason), format, values);
	snprintf(last, sizeof(last), "%s%s%s", thing ? thing : "", thing ? ": " : "", reason);
	print_escaped(f, reason);
	if (has_hint)
		fprintf(f, ". Try '%s --help'.", program_name);
	fputc('\n', f);
	/* The whole line is written by one call, so that lines of several processes do not mix. */
	if (!fclose(f) && write(STDERR_FILENO, line, size) < 0) {
		/* A failure to write to standard error can be reported nowhere. */
	}
	free(line);
}

const char *ptrc_cli_process_reason(int error)
{
	return error == EAGAIN ? "there are as many processes as 'ulimit -u' or the control group "
				 "(pids.max) allows"
			       : strerror(error);
}

const char *ptrc_cli_write_reason(int error)
{
	return error == EFBIG ? "File too large (see ulimit -f)" : strerror(error);
}

bool ptrc_cli_message(const char *thing, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	message(thing, format, values, false);
	va_end(values);
	return false;
}

void ptrc_cli_count_text(char *text, size_t size, unsigned long long count, const char *format)
{
	enum { BOTH, ONE, SEVERAL } of = BOTH;
	size_t used = (size_t)snprintf(text, size, "%llu ", count);

	for (; *format && used + 1 < size; format++) {
		if (*format == '[')
			of = ONE;
		else if (*format == '|')
			of = SEVERAL;
		else if (*format == ']')
			of = BOTH;
		else if (of == BOTH || (of == ONE) == (count == 1))
			text[used++] = *format;
	}
	text[used] = '\0';
}

void ptrc_cli_count(const char *thing, unsigned long long count, const char *format)
{
	char text[400];

	ptrc_cli_count_text(text, sizeof(text), count, format);
	ptrc_cli_message(thing, "%s", text);
}

const char *ptrc_message_last(void)
{
	return last;
}

bool ptrc_cli_error(const char *thing, int error)
{
	return ptrc_cli_message(thing, "%s", strerror(error));
}

void ptrc_cli_usage(const char *thing, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	message(thing, format, values, true);
	va_end(values);
	exit(usage_status);
}

void ptrc_cli_refuse(const char *thing, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	message(thing, format, values, false);
	va_end(values);
	exit(usage_status);
}

bool ptrc_cli_because(struct ptrc_cli_reason *why, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(why->text, sizeof(why->text), format, values);
	va_end(values);
	return false;
}

void ptrc_cli_no_memory(void)
{
	ptrc_cli_error(NULL, ENOMEM);
	exit(ptrc_cli_failure_status());
}

void *ptrc_cli_allocate(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	if (!memory)
		ptrc_cli_no_memory();
	return memory;
}

void *ptrc_cli_grow(void *list, size_t count, size_t size)
{
	/* A list has room for 0 things or for a power of two, so it is full if `count` is 0 or a power of two. */
	if (count & (count - 1))
		return list;
	return ptrc_cli_reallocate(list, (count ? 2 * count : 1) * size);
}

void *ptrc_cli_reallocate(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p)
		ptrc_cli_no_memory();
	return p;
}

char *ptrc_cli_text(const char *format, ...)
{
	char *text;
	va_list values;

	va_start(values, format);
	if (vasprintf(&text, format, values) < 0)
		ptrc_cli_no_memory();
	va_end(values);
	return text;
}

char *ptrc_cli_copy(const char *text)
{
	return ptrc_cli_copy_bytes(text, strlen(text));
}

char *ptrc_cli_copy_bytes(const char *bytes, size_t size)
{
	char *copy = ptrc_cli_allocate(size + 1);

	memcpy(copy, bytes, size);
	return copy;
}
