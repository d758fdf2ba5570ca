/* SPDX-License-Identifier: MIT */
/*
 * libyaml takes a file apart into events. Each function here reads the events that may come
 * next and refuses all others, so a file cannot be nested deeper than these functions are.
 */
#include "config.h"
#include "src/config/configuration.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include "src/view/layout.h"
#include "src/cli/nearest.h"

/* How long a pipe such as <(command) may be silent. It may be a FIFO to which nobody will ever
 * write. */
enum { SILENCE_MS = 3000 };

/* The keys that belong to the whole file rather than to a session. */
#define KEY_SESSIONS "sessions"
#define KEY_DEFAULTS "defaults"

struct reader {
	yaml_parser_t parser;
	yaml_event_t event;
	struct ptrc_config_file *file;
	enum ptrc_config_user user;
	const unsigned char *bytes;
	size_t size;
	/* What has been read so far. */
	struct ptrc_config defaults;
	bool has_defaults;
	bool has_sessions;
};

static struct ptrc_config_mark mark_of(const yaml_mark_t *m)
{
	return (struct ptrc_config_mark){m->line + 1, m->column + 1};
}

static void __attribute__((format(printf, 3, 0), noreturn))
refuse_values(const char *name, const struct ptrc_config_mark *mark, const char *format,
	      va_list values)
{
	char reason[600];
	char place[PATH_MAX + 48];

	vsnprintf(reason, sizeof(reason), format, values);
	if (!mark->line)
		ptrc_cli_refuse(name, "%s", reason);
	snprintf(place, sizeof(place), "%s:%zu:%zu", name, mark->line, mark->column);
	ptrc_cli_refuse(place, "%s", reason);
}

void ptrc_config_refuse(const struct ptrc_config_file *file, const struct ptrc_config_mark *mark,
			const char *format, ...)
{
	va_list values;

	va_start(values, format);
	refuse_values(file->name, mark, format, values);
}

/* Refuses the current event. */
static void __attribute__((format(printf, 2, 3), noreturn))
refuse(const struct reader *r, const char *format, ...)
{
	struct ptrc_config_mark mark = mark_of(&r->event.start_mark);
	va_list values;

	va_start(values, format);
	refuse_values(r->file->name, &mark, format, values);
}

/* libyaml gives only the offset, not the line, of bytes that are not UTF-8. */
static struct ptrc_config_mark mark_of_offset(const struct reader *r, size_t offset)
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

static bool is_tab(const struct reader *r, const yaml_mark_t *m)
{
	size_t i = 0;

	for (size_t line = 0; line < m->line && i < r->size; i++)
		line += r->bytes[i] == '\n';
	/* Only spaces can stand before a tab that indents, so columns are bytes here. */
	return i + m->column < r->size && r->bytes[i + m->column] == '\t';
}

static const char star_advice[] = "a text that begins with * needs quotes";

static void __attribute__((noreturn)) refuse_syntax(const struct reader *r)
{
	const yaml_parser_t *p = &r->parser;
	const char *problem = p->problem ? p->problem : "cannot be read";
	struct ptrc_config_mark mark;

	switch (p->error) {
	case YAML_MEMORY_ERROR:
		ptrc_cli_no_memory();
	case YAML_READER_ERROR:
		mark = mark_of_offset(r, p->problem_offset);
		ptrc_config_refuse(r->file, &mark, "not a text in UTF-8: %s", problem);
	default:
		break;
	}
	/* The usual mistake in a list of patterns is *.debug without quotes. */
	if (p->context && strstr(p->context, "scanning an alias")) {
		mark = mark_of(&p->context_mark);
		ptrc_config_refuse(r->file, &mark, "%s", star_advice);
	}
	mark = mark_of(&p->problem_mark);
	if (is_tab(r, &p->problem_mark))
		ptrc_config_refuse(r->file, &mark, "a tab: YAML allows only spaces here");
	if (p->context)
		ptrc_config_refuse(r->file, &mark, "not YAML: %s, %s", problem, p->context);
	ptrc_config_refuse(r->file, &mark, "not YAML: %s", problem);
}

/* Replaces the current event by the next one. */
static yaml_event_type_t next(struct reader *r)
{
	bool is_node;

	yaml_event_delete(&r->event);
	if (!yaml_parser_parse(&r->parser, &r->event))
		refuse_syntax(r);
	/* The structures of the three kinds of nodes all begin with anchor and tag. */
	is_node = r->event.type == YAML_SCALAR_EVENT ||
		  r->event.type == YAML_SEQUENCE_START_EVENT ||
		  r->event.type == YAML_MAPPING_START_EVENT;
	if (r->event.type == YAML_ALIAS_EVENT)
		refuse(r, "anchors and aliases are not supported; %s", star_advice);
	if (is_node && r->event.data.scalar.anchor)
		refuse(r,
		       "anchors and aliases are not supported; put what sessions have in "
		       "common into '%s'",
		       KEY_DEFAULTS);
	if (is_node && r->event.data.scalar.tag)
		refuse(r, "tags are not supported");
	return r->event.type;
}

static bool is_plain(const yaml_event_t *e)
{
	return e->type == YAML_SCALAR_EVENT && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

/* Whether YAML takes the scalar for "no value": empty, ~ or null without quotes. */
static bool is_null(const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;

	return is_plain(e) && (!*text || !strcmp(text, "~") || !strcasecmp(text, "null"));
}

static const char *what(const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_MAPPING_START_EVENT:
		return "a mapping";
	case YAML_SEQUENCE_START_EVENT:
		return "a list";
	default:
		return is_null(e) ? "nothing" : "a single value";
	}
}

/* A copy of the current scalar; it is never freed. */
static const char *text_of(const struct reader *r)
{
	const yaml_event_t *e = &r->event;
	char *copy;

	if (memchr(e->data.scalar.value, '\0', e->data.scalar.length))
		refuse(r, "there is a null character in the text");
	copy = ptrc_config_keep(e->data.scalar.length + 1);
	memcpy(copy, e->data.scalar.value, e->data.scalar.length);
	copy[e->data.scalar.length] = '\0';
	return copy;
}

/* Does the same, but refuses true and false without quotes, which YAML takes for values of
 * another kind. */
static const char *quoted_text_of(const struct reader *r, const char *key)
{
	const char *text = text_of(r);

	if (is_plain(&r->event) && (!strcasecmp(text, "true") || !strcasecmp(text, "false")))
		refuse(r, "%s: has to be text: put it in quotes", key);
	return text;
}

/* What the value of a setting has to be, by its kind. */
static const char *const expected[] = {
	[PTRC_CONFIG_TEXT] = "text",	 [PTRC_CONFIG_NUMBER] = "a number",
	[PTRC_CONFIG_SIZE] = "a size",	 [PTRC_CONFIG_BOOL] = "true or false",
	[PTRC_CONFIG_POLICY] = "a word", [PTRC_CONFIG_LIST] = "a list",
	[PTRC_CONFIG_MAP] = "a mapping",
};

/* Reads the current scalar: the value of a setting, or an item of its list. */
static void read_scalar(struct reader *r, struct ptrc_config *c, enum ptrc_config_key key)
{
	const struct ptrc_config_setting *s = &ptrc_config_settings[key];
	enum ptrc_config_kind kind = s->kind == PTRC_CONFIG_LIST ? PTRC_CONFIG_TEXT : s->kind;
	struct ptrc_cli_reason why;
	const char *text;

	if (r->event.type != YAML_SCALAR_EVENT || is_null(&r->event))
		refuse(r, "%s: has to be %s, not %s", s->key, expected[kind], what(&r->event));
	if (kind == PTRC_CONFIG_BOOL && !is_plain(&r->event))
		refuse(r, "%s: has to be true or false, not text", s->key);
	text = kind == PTRC_CONFIG_TEXT ? quoted_text_of(r, s->key) : text_of(r);
	if (!ptrc_config_set(c, key, r->user, text, &why))
		refuse(r, "%s: %s", s->key, why.text);
}

static void read_list(struct reader *r, struct ptrc_config *c, enum ptrc_config_key key)
{
	while (next(r) != YAML_SEQUENCE_END_EVENT)
		read_scalar(r, c, key);
	/* An empty list counts as given: it overrides the defaults. */
	c->given |= 1U << key;
}

/* Only ptrace-dump uses layouts, but every command refuses wrong ones: the user should
 * not learn of a mistake when the trace is over. */
static void check_layout(const struct reader *r, const char *key,
			 const struct ptrc_config_layout *l)
{
	struct ptrc_layouts layouts = {0};
	struct ptrc_cli_reason why;

	if (!ptrc_layouts_add(&layouts, l->event, l->text, &why))
		refuse(r, "%s: %.80s: %s", key, l->event, why.text);
	ptrc_layouts_free(&layouts);
}

static void read_map(struct reader *r, struct ptrc_config *c, enum ptrc_config_key key)
{
	const char *name = ptrc_config_settings[key].key;
	struct ptrc_cli_reason why;

	while (next(r) != YAML_MAPPING_END_EVENT) {
		struct ptrc_config_layout l;

		if (r->event.type != YAML_SCALAR_EVENT)
			refuse(r, "%s: a key has to be the name of an event, not %s", name,
			       what(&r->event));
		l.event = text_of(r);
		for (size_t i = 0; i < c->decode.count; i++)
			if (!strcmp(c->decode.layouts[i].event, l.event))
				refuse(r, "%s: '%.80s' is given twice", name, l.event);
		next(r);
		if (r->event.type != YAML_SCALAR_EVENT || is_null(&r->event))
			refuse(r, "%s: %.80s: has to be text, not %s", name, l.event,
			       what(&r->event));
		l.text = quoted_text_of(r, name);
		l.mark = mark_of(&r->event.start_mark);
		if (!ptrc_config_add_layout(c, &l, &why))
			refuse(r, "%s: '%.80s' %s", name, l.event, why.text);
		check_layout(r, name, &l);
	}
	c->given |= 1U << key;
}

static void read_value(struct reader *r, struct ptrc_config *c, enum ptrc_config_key key)
{
	const struct ptrc_config_setting *s = &ptrc_config_settings[key];
	bool is_list = s->kind == PTRC_CONFIG_LIST;
	bool is_map = s->kind == PTRC_CONFIG_MAP;
	yaml_event_type_t type = next(r);

	c->marks[key] = mark_of(&r->event.start_mark);
	if ((is_list && type != YAML_SEQUENCE_START_EVENT) ||
	    (is_map && type != YAML_MAPPING_START_EVENT))
		refuse(r, "%s: has to be %s, not %s", s->key, expected[s->kind], what(&r->event));
	if (is_list)
		read_list(r, c, key);
	else if (is_map)
		read_map(r, c, key);
	else
		read_scalar(r, c, key);
}

static void __attribute__((noreturn))
refuse_key(const struct reader *r, const char *text, bool is_root)
{
	struct ptrc_nearest nearest = {0};
	char proposal[160];

	/* A key of an earlier version. */
	if (!strcmp(text, "filter"))
		refuse(r, "there is no key 'filter' any more: use 'exclude' for what is not to be "
			  "recorded, or 'only' for what is");
	for (int key = 0; key < PTRC_CONFIG_KEYS; key++)
		if (ptrc_config_settings[key].users & r->user)
			ptrc_nearest_offer(&nearest, text, ptrc_config_settings[key].key);
	if (is_root) {
		ptrc_nearest_offer(&nearest, text, KEY_SESSIONS);
		ptrc_nearest_offer(&nearest, text, KEY_DEFAULTS);
	}
	refuse(r, "unknown key '%.80s'%s", text,
	       ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
}

static enum ptrc_config_key find_key(const struct reader *r, const char *text, bool is_root)
{
	for (int key = 0; key < PTRC_CONFIG_KEYS; key++) {
		if (strcmp(ptrc_config_settings[key].key, text))
			continue;
		if (!(ptrc_config_settings[key].users & r->user))
			refuse(r,
			       "'%s' is not for ptrace-run, which starts the program that "
			       "it traces",
			       text);
		return (enum ptrc_config_key)key;
	}
	refuse_key(r, text, is_root);
}

static const char *read_key(const struct reader *r)
{
	if (r->event.type != YAML_SCALAR_EVENT)
		refuse(r, "a key has to be a word, not %s", what(&r->event));
	return text_of(r);
}

/* Reads a setting; its key is the current event. */
static void read_setting(struct reader *r, struct ptrc_config *c, bool is_root)
{
	const char *text = read_key(r);
	enum ptrc_config_key key = find_key(r, text, is_root);

	if (c->given & 1U << key)
		refuse(r, "'%s' is given twice, first in line %zu", text, c->marks[key].line);
	read_value(r, c, key);
}

/* Reads a mapping of settings; its begin is the current event. */
static void read_session(struct reader *r, struct ptrc_config *c)
{
	if (r->event.type != YAML_MAPPING_START_EVENT)
		refuse(r, "has to be a mapping of settings, not %s", what(&r->event));
	c->mark = mark_of(&r->event.start_mark);
	while (next(r) != YAML_MAPPING_END_EVENT)
		read_setting(r, c, false);
}

static struct ptrc_config *add_session(struct reader *r)
{
	struct ptrc_config_file *f = r->file;

	f->sessions = ptrc_cli_reallocate(f->sessions, (f->count + 1) * sizeof(*f->sessions));
	memset(&f->sessions[f->count], 0, sizeof(*f->sessions));
	return &f->sessions[f->count++];
}

static void read_sessions(struct reader *r)
{
	next(r);
	if (r->event.type != YAML_SEQUENCE_START_EVENT)
		refuse(r, KEY_SESSIONS ": has to be a list, not %s", what(&r->event));
	while (next(r) != YAML_SEQUENCE_END_EVENT) {
		if (r->file->count == PTRC_CONFIG_SESSIONS_MAX)
			refuse(r, "more than %d sessions", PTRC_CONFIG_SESSIONS_MAX);
		read_session(r, add_session(r));
	}
	if (!r->file->count)
		refuse(r, KEY_SESSIONS ": the list is empty");
}

/* Reads the list of sessions, or the defaults; the key is the current event. */
static void read_common(struct reader *r, bool is_sessions)
{
	if (is_sessions ? r->has_sessions : r->has_defaults)
		refuse(r, "'%s' is given twice", is_sessions ? KEY_SESSIONS : KEY_DEFAULTS);
	if (is_sessions) {
		r->has_sessions = true;
		read_sessions(r);
	} else {
		r->has_defaults = true;
		next(r);
		read_session(r, &r->defaults);
	}
}

/* Reads either a list of sessions with their defaults, or the settings of one session; a
 * mixture of both is refused. */
static void read_mapping(struct reader *r, struct ptrc_config *one)
{
	while (next(r) != YAML_MAPPING_END_EVENT) {
		const char *key = read_key(r);
		bool is_sessions = !strcmp(key, KEY_SESSIONS);
		bool is_common = is_sessions || !strcmp(key, KEY_DEFAULTS);

		if (!is_common)
			find_key(r, key, true);
		if (is_common && one->given)
			refuse(r,
			       "'%s' cannot stand beside settings: move these into '%s' or "
			       "a session",
			       key, KEY_DEFAULTS);
		if (!is_common && (r->has_sessions || r->has_defaults))
			refuse(r, "'%s' cannot stand beside '%s': move it into '%s' or a session",
			       key, r->has_sessions ? KEY_SESSIONS : KEY_DEFAULTS, KEY_DEFAULTS);
		if (is_common)
			read_common(r, is_sessions);
		else
			read_setting(r, one, true);
	}
	if (r->has_defaults && !r->has_sessions)
		ptrc_config_refuse(r->file, &one->mark,
				   "'%s' needs '%s', the sessions that it is for", KEY_DEFAULTS,
				   KEY_SESSIONS);
}

static void read_root(struct reader *r)
{
	struct ptrc_config one = {.mark = mark_of(&r->event.start_mark)};

	if (r->event.type == YAML_MAPPING_START_EVENT)
		read_mapping(r, &one);
	else if (r->event.type != YAML_SCALAR_EVENT || !is_plain(&r->event) ||
		 r->event.data.scalar.length)
		refuse(r, "has to be a mapping of settings, not %s", what(&r->event));
	/* An empty document is an empty plain scalar, and allowed. */
	r->file->is_list = r->has_sessions;
	if (!r->has_sessions)
		*add_session(r) = one;
}

/* Gives each setting that the session lacks its value in the defaults, or else the built-in
 * one. */
static void complete(const struct reader *r, struct ptrc_config *session)
{
	struct ptrc_config c;

	ptrc_config_init(&c);
	ptrc_config_overlay(&c, &r->defaults);
	c.from_defaults = c.given;
	ptrc_config_overlay(&c, session);
	c.mark = session->mark;
	*session = c;
}

static void check_names(const struct ptrc_config_file *f)
{
	for (size_t i = 0; i < f->count; i++)
		for (size_t k = 0; k < i; k++)
			if (f->sessions[i].name && f->sessions[k].name &&
			    !strcmp(f->sessions[i].name, f->sessions[k].name))
				ptrc_config_refuse(f, &f->sessions[i].marks[PTRC_CONFIG_NAME],
						   "name: '%s' is the name of the session in line "
						   "%zu too",
						   f->sessions[i].name, f->sessions[k].mark.line);
}

void ptrc_config_parse(struct ptrc_config_file *file, const char *name, const void *bytes,
		       size_t size, enum ptrc_config_user user)
{
	static struct reader r;

	*file = (struct ptrc_config_file){.name = name};
	r = (struct reader){.file = file, .user = user, .bytes = bytes, .size = size};
	if (!yaml_parser_initialize(&r.parser))
		ptrc_cli_no_memory();
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, bytes, size);
	/* The first event begins the stream; a document follows, unless the file has only
	 * comments. */
	next(&r);
	if (next(&r) == YAML_DOCUMENT_START_EVENT) {
		next(&r);
		read_root(&r);
		/* The end of the document. */
		next(&r);
		if (next(&r) != YAML_STREAM_END_EVENT)
			refuse(&r, "a second YAML document: a file can have only one");
	} else {
		*add_session(&r) = (struct ptrc_config){.mark = {1, 1}};
	}
	yaml_event_delete(&r.event);
	yaml_parser_delete(&r.parser);
	for (size_t i = 0; i < file->count; i++)
		complete(&r, &file->sessions[i]);
	check_names(file);
}

/* Reads everything, up to one byte more than a file may have. Returns the size. */
static size_t read_bytes(const char *name, int fd, bool is_patient, unsigned char *bytes)
{
	size_t size = 0;

	while (size <= PTRC_CONFIG_BYTES_MAX) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (!is_patient && poll(&p, 1, SILENCE_MS) == 0)
			ptrc_cli_refuse(name, "nothing was written to it for %d seconds",
					SILENCE_MS / 1000);
		n = read(fd, bytes + size, PTRC_CONFIG_BYTES_MAX + 1 - size);
		if (n < 0 && (errno == EINTR || (!is_patient && errno == EAGAIN)))
			continue;
		if (n < 0)
			ptrc_cli_refuse(name, "%s", strerror(errno));
		if (!n)
			break;
		size += (size_t)n;
	}
	if (size > PTRC_CONFIG_BYTES_MAX)
		ptrc_cli_refuse(name, "is larger than %d KiB, too large for a configuration",
				PTRC_CONFIG_BYTES_MAX >> 10);
	return size;
}

void ptrc_config_read(struct ptrc_config_file *file, const char *path, enum ptrc_config_user user)
{
	/* Too large for the stack. */
	static unsigned char bytes[PTRC_CONFIG_BYTES_MAX + 1];
	bool is_input = !strcmp(path, "-");
	const char *name = is_input ? "<stdin>" : path;
	size_t size;
	int fd = STDIN_FILENO;

	if (!is_input)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		ptrc_cli_refuse(name, "%s", strerror(errno));
	/* Waits for standard input as long as it takes, as the user chose who writes to it. */
	size = read_bytes(name, fd, is_input, bytes);
	if (!is_input)
		close(fd);
	ptrc_config_parse(file, name, bytes, size, user);
}
