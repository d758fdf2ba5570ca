/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/config/configuration.h"

#include <string.h>

#include "src/config/yaml_file.h"
#include "src/fields/layout.h"

/* The keys that belong to the whole file, not to a session. */
#define KEY_SESSIONS "sessions"
#define KEY_DEFAULTS "defaults"

struct reader {
	struct ptrc_yaml yaml;
	struct ptrc_config_file *file;
	enum ptrc_config_user user;
	/* The settings of the key KEY_DEFAULTS, and which of the keys KEY_DEFAULTS and KEY_SESSIONS
	 * were read so far. */
	struct ptrc_config defaults;
	bool has_defaults;
	bool has_sessions;
};

/* For messages: what the value of each kind of setting has to be. */
static const char *const expected[] = {
	[PTRC_CONFIG_TEXT] = "text",
	[PTRC_CONFIG_NUMBER] = "a number",
	[PTRC_CONFIG_SIZE] = "a size",
	[PTRC_CONFIG_BOOL] = "true or false",
	[PTRC_CONFIG_POLICY] = "a word",
	[PTRC_CONFIG_LIST] = "a list",
	[PTRC_CONFIG_MAP] = "a mapping",
	[PTRC_CONFIG_DURATION] = "a duration",
	[PTRC_CONFIG_ROTATION] = "a size or a duration",
	[PTRC_CONFIG_OS_KINDS] = "words with commas between",
};

static void read_scalar(struct reader *r, struct ptrc_config *c, enum ptrc_config_key key)
{
	const struct ptrc_config_setting *s = &ptrc_config_settings[key];
	enum ptrc_config_kind kind = s->kind == PTRC_CONFIG_LIST ? PTRC_CONFIG_TEXT : s->kind;
	struct ptrc_cli_reason why;
	const char *text;

	if (r->yaml.event.type != YAML_SCALAR_EVENT || ptrc_yaml_is_null(&r->yaml))
		ptrc_yaml_refuse(&r->yaml, "%s: has to be %s, not %s", s->key, expected[kind],
				 ptrc_yaml_what(&r->yaml));
	if (kind == PTRC_CONFIG_BOOL && !ptrc_yaml_is_plain(&r->yaml))
		ptrc_yaml_refuse(&r->yaml, "%s: has to be true or false, not text", s->key);
	text = kind == PTRC_CONFIG_TEXT ? ptrc_yaml_quoted_text(&r->yaml, s->key)
					: ptrc_yaml_text(&r->yaml);
	if (!ptrc_config_set(c, key, r->user, text, &why))
		ptrc_yaml_refuse(&r->yaml, "%s: %s", s->key, why.text);
}

/* Ends the process if a layout of the key `decode' is wrong. Only ptrace-dump uses layouts, but every command
 * checks them, so that the user notices a mistake before the trace is made. */
static void check_layout(const struct reader *r, const char *key,
			 const struct ptrc_config_layout *l)
{
	struct ptrc_layouts layouts = {0};
	struct ptrc_cli_reason why;

	if (!ptrc_layouts_add(&layouts, l->event, l->text, &why))
		ptrc_yaml_refuse(&r->yaml, "%s: %.80s: %s", key, l->event, why.text);
	ptrc_layouts_free(&layouts);
}

static void read_map(struct reader *r, struct ptrc_config *c, enum ptrc_config_key key)
{
	const char *name = ptrc_config_settings[key].key;
	struct ptrc_cli_reason why;

	while (ptrc_yaml_next(&r->yaml) != YAML_MAPPING_END_EVENT) {
		struct ptrc_config_layout l;

		if (r->yaml.event.type != YAML_SCALAR_EVENT)
			ptrc_yaml_refuse(&r->yaml,
					 "%s: a key has to be the name of an event, not %s", name,
					 ptrc_yaml_what(&r->yaml));
		l.event = ptrc_yaml_text(&r->yaml);
		for (size_t i = 0; i < c->decode.count; i++)
			if (!strcmp(c->decode.layouts[i].event, l.event))
				ptrc_yaml_refuse(&r->yaml, "%s: '%.80s' is given twice", name,
						 l.event);
		ptrc_yaml_next(&r->yaml);
		if (r->yaml.event.type != YAML_SCALAR_EVENT || ptrc_yaml_is_null(&r->yaml))
			ptrc_yaml_refuse(&r->yaml, "%s: %.80s: has to be text, not %s", name,
					 l.event, ptrc_yaml_what(&r->yaml));
		l.text = ptrc_yaml_quoted_text(&r->yaml, name);
		l.mark = ptrc_yaml_mark(&r->yaml);
		if (!ptrc_config_add_layout(c, &l, &why))
			ptrc_yaml_refuse(&r->yaml, "%s: '%.80s' %s", name, l.event, why.text);
		check_layout(r, name, &l);
	}
}

static void read_value(struct reader *r, struct ptrc_config *c, enum ptrc_config_key key)
{
	const struct ptrc_config_setting *s = &ptrc_config_settings[key];
	bool is_list = s->kind == PTRC_CONFIG_LIST;
	bool is_map = s->kind == PTRC_CONFIG_MAP;
	yaml_event_type_t type = ptrc_yaml_next(&r->yaml);

	c->marks[key] = ptrc_yaml_mark(&r->yaml);
	if ((is_list && type != YAML_SEQUENCE_START_EVENT) ||
	    (is_map && type != YAML_MAPPING_START_EVENT))
		ptrc_yaml_refuse(&r->yaml, "%s: has to be %s, not %s", s->key, expected[s->kind],
				 ptrc_yaml_what(&r->yaml));
	if (is_map)
		read_map(r, c, key);
	else if (!is_list)
		read_scalar(r, c, key);
	while (is_list && ptrc_yaml_next(&r->yaml) != YAML_SEQUENCE_END_EVENT)
		read_scalar(r, c, key);
	/* Even an empty list or mapping counts as given, because it overrides that of KEY_DEFAULTS. */
	c->given |= 1U << key;
}

static void __attribute__((noreturn))
refuse_key(const struct reader *r, const char *text, bool is_root)
{
	struct ptrc_nearest nearest = {0};

	for (int key = 0; key < PTRC_CONFIG_KEYS; key++)
		if (ptrc_config_settings[key].users & r->user)
			ptrc_nearest_offer(&nearest, text, ptrc_config_settings[key].key);
	if (is_root) {
		ptrc_nearest_offer(&nearest, text, KEY_SESSIONS);
		ptrc_nearest_offer(&nearest, text, KEY_DEFAULTS);
	}
	ptrc_yaml_refuse_key(&r->yaml, text, &nearest);
}

static enum ptrc_config_key find_key(const struct reader *r, const char *text, bool is_root)
{
	for (int key = 0; key < PTRC_CONFIG_KEYS; key++) {
		if (strcmp(ptrc_config_settings[key].key, text))
			continue;
		if (!(ptrc_config_settings[key].users & r->user))
			ptrc_yaml_refuse(&r->yaml,
					 r->user == PTRC_CONFIG_FOR_RUN
						 ? "'%s' is not for ptrace-run, which starts the "
						   "program that it traces"
						 : "'%s' is only for ptrace-run, which starts the "
						   "program that it traces",
					 text);
		return (enum ptrc_config_key)key;
	}
	refuse_key(r, text, is_root);
}

static void read_setting(struct reader *r, struct ptrc_config *c, bool is_root)
{
	const char *text = ptrc_yaml_key(&r->yaml);
	enum ptrc_config_key key = find_key(r, text, is_root);

	if (c->given & 1U << key)
		ptrc_yaml_refuse(&r->yaml, "'%s' is given twice, first in line %zu", text,
				 c->marks[key].line);
	read_value(r, c, key);
}

static void read_session(struct reader *r, struct ptrc_config *c)
{
	if (r->yaml.event.type != YAML_MAPPING_START_EVENT)
		ptrc_yaml_refuse(&r->yaml, "has to be a mapping of settings, not %s",
				 ptrc_yaml_what(&r->yaml));
	c->mark = ptrc_yaml_mark(&r->yaml);
	while (ptrc_yaml_next(&r->yaml) != YAML_MAPPING_END_EVENT)
		read_setting(r, c, false);
}

static struct ptrc_config *add_session(struct reader *r)
{
	struct ptrc_config *s = ptrc_append(r->file->sessions, r->file->count);

	memset(s, 0, sizeof(*s));
	return s;
}

static void read_sessions(struct reader *r)
{
	if (r->yaml.event.type != YAML_SEQUENCE_START_EVENT)
		ptrc_yaml_refuse(&r->yaml, KEY_SESSIONS ": has to be a list, not %s",
				 ptrc_yaml_what(&r->yaml));
	while (ptrc_yaml_next(&r->yaml) != YAML_SEQUENCE_END_EVENT) {
		if (r->file->count == PTRC_CONFIG_SESSIONS_MAX)
			ptrc_yaml_refuse(&r->yaml, "more than %d sessions",
					 PTRC_CONFIG_SESSIONS_MAX);
		read_session(r, add_session(r));
	}
	if (!r->file->count)
		ptrc_yaml_refuse(&r->yaml, KEY_SESSIONS ": the list is empty");
}

/* Reads the value of KEY_SESSIONS or KEY_DEFAULTS. libyaml's current event is the key. */
static void read_common(struct reader *r, bool is_sessions)
{
	bool *is_given = is_sessions ? &r->has_sessions : &r->has_defaults;

	if (*is_given)
		ptrc_yaml_refuse(&r->yaml, "'%s' is given twice",
				 is_sessions ? KEY_SESSIONS : KEY_DEFAULTS);
	*is_given = true;
	ptrc_yaml_next(&r->yaml);
	if (is_sessions)
		read_sessions(r);
	else
		read_session(r, &r->defaults);
}

/* Reads a file that has either a list of sessions and their defaults, or the settings of a single session. Refuses
 * a file with both. */
static void read_mapping(struct reader *r, struct ptrc_config *one)
{
	while (ptrc_yaml_next(&r->yaml) != YAML_MAPPING_END_EVENT) {
		const char *key = ptrc_yaml_key(&r->yaml);
		bool is_sessions = !strcmp(key, KEY_SESSIONS);
		bool is_common = is_sessions || !strcmp(key, KEY_DEFAULTS);

		if (!is_common)
			find_key(r, key, true);
		if (is_common && one->given)
			ptrc_yaml_refuse(
				&r->yaml,
				"'%s' cannot be used next to settings: move these into '%s' "
				"or a session",
				key, KEY_DEFAULTS);
		if (!is_common && (r->has_sessions || r->has_defaults))
			ptrc_yaml_refuse(
				&r->yaml,
				"'%s' cannot be used next to '%s': move it into '%s' or a session",
				key, r->has_sessions ? KEY_SESSIONS : KEY_DEFAULTS, KEY_DEFAULTS);
		if (is_common)
			read_common(r, is_sessions);
		else
			read_setting(r, one, true);
	}
	if (r->has_defaults && !r->has_sessions)
		ptrc_yaml_refuse_at(r->yaml.name, &one->mark,
				    "'%s' needs '%s', the sessions that it is for", KEY_DEFAULTS,
				    KEY_SESSIONS);
}

static void read_root(struct reader *r)
{
	struct ptrc_config one = {.mark = ptrc_yaml_mark(&r->yaml)};

	if (r->yaml.event.type == YAML_MAPPING_START_EVENT)
		read_mapping(r, &one);
	else if (r->yaml.event.type != YAML_SCALAR_EVENT || !ptrc_yaml_is_plain(&r->yaml) ||
		 r->yaml.event.data.scalar.length)
		ptrc_yaml_refuse(&r->yaml, "has to be a mapping of settings, not %s",
				 ptrc_yaml_what(&r->yaml));
	/* An empty document is allowed: its root is an empty plain scalar. */
	r->file->is_list = r->has_sessions;
	if (!r->has_sessions)
		*add_session(r) = one;
}

/* Fills in the settings that the session does not give, from the file's defaults or the built-in values. */
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
				ptrc_yaml_refuse_at(f->name,
						    &f->sessions[i].marks[PTRC_CONFIG_NAME],
						    "name: '%s' is the name of the session in line "
						    "%zu too",
						    f->sessions[i].name, f->sessions[k].mark.line);
}

void ptrc_config_parse(struct ptrc_config_file *file, const char *name, const void *bytes,
		       size_t size, enum ptrc_config_user user)
{
	static struct reader r;

	*file = (struct ptrc_config_file){.name = name};
	r = (struct reader){.file = file, .user = user};
	r.yaml.name = name;
	r.yaml.anchor_advice = "; put what sessions have in common into '" KEY_DEFAULTS "'";
	if (ptrc_yaml_begin(&r.yaml, bytes, size))
		read_root(&r);
	else
		*add_session(&r) = (struct ptrc_config){.mark = {1, 1}};
	ptrc_yaml_end(&r.yaml);
	for (size_t i = 0; i < file->count; i++)
		complete(&r, &file->sessions[i]);
	check_names(file);
}

void ptrc_config_read(struct ptrc_config_file *file, const char *path, enum ptrc_config_user user)
{
	const char *name;
	size_t size;
	const void *bytes = ptrc_yaml_read(path, &name, &size);

	ptrc_config_parse(file, name, bytes, size, user);
}
