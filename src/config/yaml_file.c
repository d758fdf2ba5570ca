/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/config/yaml_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "src/base/message.h"
#include "src/config/kept.h"

/* The longest wait for the next bytes of a pipe such as <(command). After it the process ends with a message, because
 * the file may be a FIFO to which no process writes. */
enum { SILENCE_MS = 3000 };

static struct ptrc_config_mark mark_of(const yaml_mark_t *m)
{
	return (struct ptrc_config_mark){m->line + 1, m->column + 1};
}

void ptrc_yaml_refuse_values(const char *name, const struct ptrc_config_mark *mark,
			     const char *format, va_list values)
{
	char reason[600];
	char place[PATH_MAX + 48];

	vsnprintf(reason, sizeof(reason), format, values);
	if (!mark->line)
		ptrc_cli_refuse(name, "%s", reason);
	snprintf(place, sizeof(place), "%s:%zu:%zu", name, mark->line, mark->column);
	ptrc_cli_refuse(place, "%s", reason);
}

void ptrc_yaml_refuse_at(const char *name, const struct ptrc_config_mark *mark, const char *format,
			 ...)
{
	va_list values;

	va_start(values, format);
	ptrc_yaml_refuse_values(name, mark, format, values);
}

void ptrc_yaml_refuse(const struct ptrc_yaml *r, const char *format, ...)
{
	struct ptrc_config_mark mark = mark_of(&r->event.start_mark);
	va_list values;

	va_start(values, format);
	ptrc_yaml_refuse_values(r->name, &mark, format, values);
}

void ptrc_yaml_refuse_key(const struct ptrc_yaml *r, const char *key,
			  const struct ptrc_nearest *nearest)
{
	char proposal[160];

	ptrc_yaml_refuse(r, "unknown key '%.80s'%s", key,
			 ptrc_nearest_text(nearest, proposal, sizeof(proposal)));
}

struct ptrc_config_mark ptrc_yaml_mark(const struct ptrc_yaml *r)
{
	return mark_of(&r->event.start_mark);
}

/* Converts an offset into a line and a column: for bytes that are not UTF-8, libyaml reports only an offset. */
static struct ptrc_config_mark mark_of_offset(const struct ptrc_yaml *r, size_t offset)
{
	struct ptrc_config_mark m = {1, 1};

	for (size_t i = 0; i < offset && i < r->size; i++) {
		if (r->bytes[i] == '\n') {
			m.line++;
			m.column = 1;
		} else if ((r->bytes[i] & 0xc0) != 0x80) {
			m.column++;
		}
	}
	return m;
}

static bool is_tab(const struct ptrc_yaml *r, const yaml_mark_t *m)
{
	size_t i = 0;

	for (size_t line = 0; line < m->line && i < r->size; i++)
		line += r->bytes[i] == '\n';
	/* Only spaces, of one byte each, can precede a tab that indents, so the column is an offset in bytes. */
	return i + m->column < r->size && r->bytes[i + m->column] == '\t';
}

static const char star_advice[] = "a text that begins with * needs quotes";

static void __attribute__((noreturn)) refuse_syntax(const struct ptrc_yaml *r)
{
	const yaml_parser_t *p = &r->parser;
	const char *problem = p->problem ? p->problem : "cannot be read";
	struct ptrc_config_mark mark;

	switch (p->error) {
	case YAML_MEMORY_ERROR:
		ptrc_cli_no_memory();
	case YAML_READER_ERROR:
		mark = mark_of_offset(r, p->problem_offset);
		ptrc_yaml_refuse_at(r->name, &mark, "not a text in UTF-8: %s", problem);
	default:
		break;
	}
	/* The usual mistake in a list of patterns is a pattern such as *.debug without quotes. */
	if (p->context && strstr(p->context, "scanning an alias")) {
		mark = mark_of(&p->context_mark);
		ptrc_yaml_refuse_at(r->name, &mark, "%s", star_advice);
	}
	mark = mark_of(&p->problem_mark);
	if (is_tab(r, &p->problem_mark))
		ptrc_yaml_refuse_at(r->name, &mark, "a tab: YAML allows only spaces here");
	if (p->context)
		ptrc_yaml_refuse_at(r->name, &mark, "not YAML: %s, %s", problem, p->context);
	ptrc_yaml_refuse_at(r->name, &mark, "not YAML: %s", problem);
}

yaml_event_type_t ptrc_yaml_next(struct ptrc_yaml *r)
{
	bool is_node;

	yaml_event_delete(&r->event);
	if (!yaml_parser_parse(&r->parser, &r->event))
		refuse_syntax(r);
	/* In libyaml's structures for scalars, sequences and mappings, anchor and tag are the first members, so
	 * data.scalar gives them for all three kinds of nodes. */
	is_node = r->event.type == YAML_SCALAR_EVENT ||
		  r->event.type == YAML_SEQUENCE_START_EVENT ||
		  r->event.type == YAML_MAPPING_START_EVENT;
	if (r->event.type == YAML_ALIAS_EVENT)
		ptrc_yaml_refuse(r, "anchors and aliases are not supported; %s", star_advice);
	if (is_node && r->event.data.scalar.anchor)
		ptrc_yaml_refuse(r, "anchors and aliases are not supported%s", r->anchor_advice);
	if (is_node && r->event.data.scalar.tag)
		ptrc_yaml_refuse(r, "tags are not supported");
	return r->event.type;
}

bool ptrc_yaml_is_plain(const struct ptrc_yaml *r)
{
	const yaml_event_t *e = &r->event;

	return e->type == YAML_SCALAR_EVENT && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

bool ptrc_yaml_is_null(const struct ptrc_yaml *r)
{
	const char *text = (const char *)r->event.data.scalar.value;

	return ptrc_yaml_is_plain(r) && (!*text || !strcmp(text, "~") || !strcasecmp(text, "null"));
}

bool ptrc_yaml_is_value(const struct ptrc_yaml *r)
{
	return r->event.type == YAML_SCALAR_EVENT && !ptrc_yaml_is_null(r);
}

const char *ptrc_yaml_what(const struct ptrc_yaml *r)
{
	switch (r->event.type) {
	case YAML_MAPPING_START_EVENT:
		return "a mapping";
	case YAML_SEQUENCE_START_EVENT:
		return "a list";
	default:
		return ptrc_yaml_is_null(r) ? "nothing" : "a single value";
	}
}

const char *ptrc_yaml_text(const struct ptrc_yaml *r)
{
	const yaml_event_t *e = &r->event;
	char *copy;

	if (memchr(e->data.scalar.value, '\0', e->data.scalar.length))
		ptrc_yaml_refuse(r, "there is a null character in the text");
	copy = ptrc_config_keep(e->data.scalar.length + 1);
	memcpy(copy, e->data.scalar.value, e->data.scalar.length);
	copy[e->data.scalar.length] = '\0';
	return copy;
}

const char *ptrc_yaml_quoted_text(const struct ptrc_yaml *r, const char *key)
{
	const char *text = ptrc_yaml_text(r);

	if (ptrc_yaml_is_plain(r) && (!strcasecmp(text, "true") || !strcasecmp(text, "false")))
		ptrc_yaml_refuse(r, "%s: has to be text: put it in quotes", key);
	return text;
}

const char *ptrc_yaml_key(const struct ptrc_yaml *r)
{
	if (r->event.type != YAML_SCALAR_EVENT)
		ptrc_yaml_refuse(r, "a key has to be a word, not %s", ptrc_yaml_what(r));
	return ptrc_yaml_text(r);
}

bool ptrc_yaml_begin(struct ptrc_yaml *r, const void *bytes, size_t size)
{
	r->bytes = bytes;
	r->size = size;
	if (!yaml_parser_initialize(&r->parser))
		ptrc_cli_no_memory();
	yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r->parser, bytes, size);
	/* Skips the event for the start of the stream. The start of a document follows unless the file has only
	 * comments. */
	ptrc_yaml_next(r);
	if (ptrc_yaml_next(r) != YAML_DOCUMENT_START_EVENT)
		return false;
	ptrc_yaml_next(r);
	return true;
}

void ptrc_yaml_end(struct ptrc_yaml *r)
{
	if (r->event.type != YAML_STREAM_END_EVENT) {
		/* Skips the event for the end of the document. */
		ptrc_yaml_next(r);
		if (ptrc_yaml_next(r) != YAML_STREAM_END_EVENT)
			ptrc_yaml_refuse(r, "a second YAML document: a file can have only one");
	}
	yaml_event_delete(&r->event);
	yaml_parser_delete(&r->parser);
}

/* Reads the file, and returns the number of bytes. Ends the process if there are more than PTRC_YAML_BYTES_MAX or,
 * unless is_patient, if no bytes come for SILENCE_MS. */
static size_t read_bytes(const char *name, int fd, bool is_patient, unsigned char *bytes)
{
	size_t size = 0;

	while (size <= PTRC_YAML_BYTES_MAX) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (!is_patient && poll(&p, 1, SILENCE_MS) == 0)
			ptrc_cli_refuse(name, "nothing was written to it for %d seconds",
					SILENCE_MS / 1000);
		n = read(fd, bytes + size, PTRC_YAML_BYTES_MAX + 1 - size);
		if (n < 0 && (errno == EINTR || (!is_patient && errno == EAGAIN)))
			continue;
		if (n < 0)
			ptrc_cli_refuse(name, "%s", strerror(errno));
		if (!n)
			break;
		size += (size_t)n;
	}
	if (size > PTRC_YAML_BYTES_MAX)
		ptrc_cli_refuse(name, "is larger than %d KiB", PTRC_YAML_BYTES_MAX >> 10);
	return size;
}

const void *ptrc_yaml_read(const char *path, const char **name, size_t *size)
{
	/* The array is static because it is too large for the stack. */
	static unsigned char bytes[PTRC_YAML_BYTES_MAX + 1];
	bool is_input = !strcmp(path, "-");
	int fd = STDIN_FILENO;

	*name = is_input ? "<stdin>" : path;
	if (!is_input)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		ptrc_cli_refuse(*name, "%s", strerror(errno));
	/* Waits for standard input without a limit, because the user may be typing it. */
	*size = read_bytes(*name, fd, is_input, bytes);
	if (!is_input)
		close(fd);
	return bytes;
}
