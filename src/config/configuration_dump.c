/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/config/configuration.h"

#include <string.h>
#include <strings.h>

#include "src/base/escape.h"

/* Whether some YAML readers would take this word, without quotes, as a boolean or as null instead of a text. */
static bool is_reserved(const char *text)
{
	static const char *const words[] = {"true", "false", "null", "yes", "no",
					    "on",   "off",   "y",    "n",   NULL};

	for (int i = 0; words[i]; i++)
		if (!strcasecmp(text, words[i]))
			return true;
	return false;
}

/* Whether the text needs no quotes: it contains no special characters of YAML, and cannot be taken for a
 * number, because it starts with a letter, / or _. */
static bool is_plain(const char *text)
{
	static const char harmless[] = "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ_/0123456789.-+@";

	return *text && !strchr("0123456789.-+@", *text) && !text[strspn(text, harmless)] &&
	       !is_reserved(text);
}

/* Whether this code point, not ASCII, is a visible character that YAML allows in quotes unescaped. */
static bool is_printable(unsigned int c)
{
	if (c == 0x2028 || c == 0x2029 || c == 0xfeff)
		return false;
	return (c >= 0xa0 && c < 0xfff0) || c >= 0x10000;
}

static void put_quoted(struct ptrc_buffer *b, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t length;

	ptrc_buffer_char(b, '"');
	for (; *p; p += length) {
		unsigned int c;

		length = *p < 0x80 ? 1 : ptrc_utf8_length(p, 4);
		c = ptrc_utf8_number(p, length);
		if (c == '"' || c == '\\')
			ptrc_buffer_format(b, "\\%c", (int)c);
		else if (c == '\n')
			ptrc_buffer_text(b, "\\n");
		else if (c == '\t')
			ptrc_buffer_text(b, "\\t");
		else if ((c >= 0x20 && c < 0x7f) || is_printable(c))
			ptrc_buffer_bytes(b, p, length);
		else if (c < 0x100)
			ptrc_buffer_format(b, "\\x%02X", c);
		else if (c < 0x10000)
			ptrc_buffer_format(b, "\\u%04X", c);
		else
			ptrc_buffer_format(b, "\\U%08X", c);
	}
	ptrc_buffer_char(b, '"');
}

static void put_text(struct ptrc_buffer *b, const char *key, const char *text)
{
	if (!ptrc_text_is_utf8(text, strlen(text)))
		ptrc_cli_refuse(text,
				"the value of %s is not UTF-8, so it cannot be "
				"written as YAML",
				key);
	if (is_plain(text))
		ptrc_buffer_text(b, text);
	else
		put_quoted(b, text);
}

/* Puts the size in bytes as a multiple of the largest unit that divides it, such as 64M. */
static void put_size(struct ptrc_buffer *b, uint64_t size)
{
	static const char units[] = "KMG";
	size_t n = 0;

	while (size && n < sizeof(units) - 1 && !(size % 1024)) {
		size /= 1024;
		n++;
	}
	ptrc_buffer_u64(b, size);
	if (n)
		ptrc_buffer_char(b, units[n - 1]);
}

/* Puts the time as a multiple of the largest unit that divides it, such as 90s. */
static void put_duration(struct ptrc_buffer *b, uint64_t ns)
{
	static const struct {
		const char *unit;
		/* How many of this unit make the next larger one; 0: there is none. */
		uint64_t factor;
	} units[] = {{"ns", 1000}, {"us", 1000}, {"ms", 1000}, {"s", 60},
		     {"m", 60},	   {"h", 24},	 {"d", 0}};
	size_t n = 0;

	while (units[n].factor && ns % units[n].factor == 0 && (ns || strcmp(units[n].unit, "s"))) {
		ns /= units[n].factor;
		n++;
	}
	ptrc_buffer_u64(b, ns);
	ptrc_buffer_text(b, units[n].unit);
}

static void put_list(struct ptrc_buffer *b, const struct ptrc_config_setting *s,
		     const struct ptrc_cli_texts *list, const char *indent)
{
	if (!list->count)
		ptrc_buffer_text(b, " []");
	for (size_t i = 0; i < list->count; i++) {
		ptrc_buffer_format(b, "\n%s  - ", indent);
		put_text(b, s->key, list->texts[i]);
	}
}

static void put_map(struct ptrc_buffer *b, const struct ptrc_config_setting *s,
		    const struct ptrc_config_map *map, const char *indent)
{
	if (!map->count)
		ptrc_buffer_text(b, " {}");
	for (size_t i = 0; i < map->count; i++) {
		ptrc_buffer_format(b, "\n%s  ", indent);
		put_text(b, s->key, map->layouts[i].event);
		ptrc_buffer_text(b, ": ");
		put_text(b, s->key, map->layouts[i].text);
	}
}

static void put_value(struct ptrc_buffer *b, const struct ptrc_config *c,
		      const struct ptrc_config_setting *s, const char *indent, bool has_log)
{
	const void *field = (const char *)c + s->offset;
	const struct ptrc_config_rotation *rotation = field;
	char os[PTRC_CONFIG_OS_BYTES];
	int policy;

	if (s->kind != PTRC_CONFIG_LIST && s->kind != PTRC_CONFIG_MAP)
		ptrc_buffer_char(b, ' ');
	switch (s->kind) {
	case PTRC_CONFIG_LIST:
		put_list(b, s, field, indent);
		break;
	case PTRC_CONFIG_MAP:
		put_map(b, s, field, indent);
		break;
	case PTRC_CONFIG_TEXT:
		put_text(b, s->key, *(const char *const *)field);
		break;
	case PTRC_CONFIG_NUMBER:
		ptrc_buffer_u64(b, *(const uint64_t *)field);
		break;
	case PTRC_CONFIG_SIZE:
		put_size(b, *(const uint64_t *)field);
		break;
	case PTRC_CONFIG_DURATION:
		put_duration(b, *(const uint64_t *)field);
		break;
	case PTRC_CONFIG_OS_KINDS:
		ptrc_config_os_text(field, os);
		ptrc_buffer_text(b, os);
		break;
	case PTRC_CONFIG_ROTATION:
		if (rotation->ns)
			put_duration(b, rotation->ns);
		else
			put_size(b, rotation->bytes);
		break;
	case PTRC_CONFIG_BOOL:
		ptrc_buffer_text(b, *(const bool *)field ? "true" : "false");
		break;
	default:
		policy = *(const int *)field;
		if (s == &ptrc_config_settings[PTRC_CONFIG_STREAM_FULL_POLICY])
			policy = ptrc_config_stream_full_policy(c, has_log);
		ptrc_buffer_text(b, ptrc_attributes_word(s->policy, policy));
		break;
	}
}

/* Whether --dump-config leaves the setting out, because the setting has no value, or because it has no effect
 * (such as a setting of the log without a log) and was not given for this session itself. */
static bool is_missing(const struct ptrc_config *c, int key, bool has_log)
{
	unsigned int own = c->given & ~c->from_defaults;

	if (key == PTRC_CONFIG_COUNT_ONLY)
		return !c->only_counts;
	if (c->only_counts && ptrc_config_is_of_kept_events((enum ptrc_config_key)key))
		return true;
	if (key == PTRC_CONFIG_SNAPSHOT_ON || key == PTRC_CONFIG_SNAPSHOT_MAX)
		return !c->snapshot_on.count && !(own & 1U << key);
	/* `stacks`, `log-rotate` and `log-keep` have no built-in value. */
	if (key == PTRC_CONFIG_STACKS)
		return !(c->given & 1U << key);
	if (key == PTRC_CONFIG_LOG_ROTATE || key == PTRC_CONFIG_LOG_KEEP)
		return !(c->given & 1U << key) || (!has_log && !(own & 1U << key));
	if (key == PTRC_CONFIG_OS)
		return !c->os.kinds && !(c->given & 1U << key);
	if (ptrc_config_settings[key].users & PTRC_CONFIG_OF_LOG)
		return !has_log && !(own & 1U << key);
	return !(c->given & 1U << key) &&
	       (key == PTRC_CONFIG_NAME || key == PTRC_CONFIG_PID || key == PTRC_CONFIG_OUTPUT);
}

static void put_session(struct ptrc_buffer *b, const struct ptrc_config *c,
			enum ptrc_config_user user, bool is_item)
{
	const char *indent = is_item ? "    " : "";
	bool has_log = c->output || user == PTRC_CONFIG_FOR_RUN;
	bool is_first = is_item;

	for (int key = 0; key < PTRC_CONFIG_KEYS; key++) {
		const struct ptrc_config_setting *s = &ptrc_config_settings[key];

		if (!(s->users & user) || is_missing(c, key, has_log))
			continue;
		ptrc_buffer_format(b, "%s%s:", is_first ? "  - " : indent, s->key);
		put_value(b, c, s, indent, has_log);
		ptrc_buffer_char(b, '\n');
		is_first = false;
	}
}

void ptrc_config_dump(const struct ptrc_config_file *file, enum ptrc_config_user user,
		      struct ptrc_buffer *b)
{
	if (file->is_list)
		ptrc_buffer_text(b, "sessions:\n");
	for (size_t i = 0; i < file->count; i++)
		put_session(b, &file->sessions[i], user, file->is_list);
}
