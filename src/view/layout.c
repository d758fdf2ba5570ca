/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/view/layout.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/model/glob.h"
#include "src/cli/message.h"
#include "src/cli/nearest.h"

/* Numbers are copied from the data without swapping bytes. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "layouts are little endian");

enum {
	FIELDS_MAX = 256,
	NAME_MAX_BYTES = 64,
	/* The N of char[N] and the like. */
	COUNT_MAX = 1 << 24,
};

enum type_kind {
	UNSIGNED,
	SIGNED,
	HEX,
	FLOAT,
	BOOL,
	CHARS,
	STRING,
	BYTES,
	PADDING,
};

static const struct type {
	char name[8];
	unsigned char kind;
	/* 0 if the layout or the data gives the size. */
	unsigned char size;
} types[] = {
	{"u8", UNSIGNED, 1}, {"u16", UNSIGNED, 2}, {"u32", UNSIGNED, 4}, {"u64", UNSIGNED, 8},
	{"i8", SIGNED, 1},   {"i16", SIGNED, 2},   {"i32", SIGNED, 4},	 {"i64", SIGNED, 8},
	{"x8", HEX, 1},	     {"x16", HEX, 2},	   {"x32", HEX, 4},	 {"x64", HEX, 8},
	{"f32", FLOAT, 4},   {"f64", FLOAT, 8},	   {"bool", BOOL, 1},	 {"char", CHARS, 0},
	{"str", STRING, 0},  {"bytes", BYTES, 0},  {"pad", PADDING, 0},
};

enum { TYPE_COUNT = sizeof(types) / sizeof(*types) };

struct field {
	const struct type *type;
	/* The size in bytes; 0 if the data gives it. */
	size_t size;
	/* The number of the name; -1 for padding. */
	int name;
	const char *text;
	/* Where it stands, in a layout whose fields all have a size. */
	size_t at;
};

struct ptrc_layout {
	char *pattern;
	struct field *fields;
	size_t count;
	/* The size of the largest number, if fields are aligned, else 1. */
	size_t alignment;
	/* Of a layout whose fields all have a size: the size of all, without and with the padding
	 * at the end of an aligned structure. */
	bool is_fixed;
	size_t size, aligned_size;
};

struct parser {
	struct ptrc_layouts *layouts;
	/* What has been read so far, and where the rest of the text begins. */
	struct ptrc_layout *layout;
	const char *at;
	struct ptrc_cli_reason *why;
};

static void skip_blanks(struct parser *p)
{
	p->at += strspn(p->at, " \t\n\r");
}

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* Stores the next word, or an empty one if there is none. */
static bool take_word(struct parser *p, char word[NAME_MAX_BYTES + 1])
{
	size_t n = 0;

	skip_blanks(p);
	while (is_word(p->at[n]))
		n++;
	if (n > NAME_MAX_BYTES)
		return ptrc_cli_because(p->why, "'%.20s...' is too long for a type or a name",
					p->at);
	memcpy(word, p->at, n);
	word[n] = '\0';
	p->at += n;
	return true;
}

static const struct type *find_type(const char *name)
{
	for (size_t i = 0; i < TYPE_COUNT; i++)
		if (!strcmp(types[i].name, name))
			return &types[i];
	return NULL;
}

static bool say_no_type(struct parser *p, const char *word)
{
	struct ptrc_nearest nearest = {0};
	char proposal[200] = " (the types are";

	if (!*word && *p->at)
		return ptrc_cli_because(p->why, "a type is missing before '%.20s'", p->at);
	if (!*word)
		return ptrc_cli_because(p->why, "a type is missing at the end");
	for (size_t i = 0; i < TYPE_COUNT; i++)
		ptrc_nearest_offer(&nearest, word, types[i].name);
	if (nearest.count) {
		ptrc_nearest_text(&nearest, proposal, sizeof(proposal));
	} else {
		for (size_t i = 0; i < TYPE_COUNT; i++)
			strcat(strcat(proposal, " "), types[i].name);
		strcat(proposal, ")");
	}
	return ptrc_cli_because(p->why, "'%s' is not a type%s", word, proposal);
}

/* Reads [N], which may be missing: the count then is 0. */
static bool take_count(struct parser *p, const struct type *type, size_t *count)
{
	size_t n = 0;

	*count = 0;
	skip_blanks(p);
	if (*p->at != '[')
		return true;
	if (type->size || type->kind == STRING)
		return ptrc_cli_because(p->why, "'%s' takes no [N]", type->name);
	p->at++;
	skip_blanks(p);
	for (; *p->at >= '0' && *p->at <= '9' && n <= COUNT_MAX; p->at++)
		n = 10 * n + (size_t)(*p->at - '0');
	skip_blanks(p);
	if (!n || n > COUNT_MAX || *p->at != ']')
		return ptrc_cli_because(p->why, "'%s[' needs a number from 1 to %d and ']'",
					type->name, (int)COUNT_MAX);
	p->at++;
	*count = n;
	return true;
}

/* Whether the name is the other one with _hex appended. In JSON that is the key of the other
 * field's bytes. */
static bool is_hex_of(const char *name, const char *other)
{
	size_t n = strlen(other);

	return !strncmp(name, other, n) && !strcmp(name + n, "_hex");
}

static bool take_name(struct parser *p, const struct type *type, struct field *f)
{
	char name[NAME_MAX_BYTES + 1];
	struct ptrc_layouts *l = p->layouts;

	if (!take_word(p, name))
		return false;
	if (type->kind == PADDING)
		return *name ? ptrc_cli_because(p->why, "'pad' takes no name") : true;
	if (!*name || (*name >= '0' && *name <= '9'))
		return ptrc_cli_because(
			p->why, "'%s' needs a name behind it: letters, digits and _", type->name);
	for (size_t i = 0; i < p->layout->count; i++) {
		const char *other = p->layout->fields[i].text;

		if (other && !strcmp(name, other))
			return ptrc_cli_because(p->why, "two fields have the same name '%s'", name);
		if (other && (is_hex_of(name, other) || is_hex_of(other, name)))
			return ptrc_cli_because(
				p->why,
				"'%s' and '%s' cannot both be names: in JSON the one "
				"with _hex holds bytes of the other",
				other, name);
	}
	f->name = ptrc_layouts_name(l, name);
	if (f->name < 0) {
		l->names = ptrc_cli_reallocate(l->names, (l->name_count + 1) * sizeof(*l->names));
		l->names[l->name_count] = ptrc_cli_allocate(strlen(name) + 1);
		strcpy(l->names[l->name_count], name);
		f->name = (int)l->name_count++;
	}
	f->text = l->names[f->name];
	return true;
}

static bool take_field(struct parser *p)
{
	struct ptrc_layout *l = p->layout;
	char word[NAME_MAX_BYTES + 1];
	const struct type *type;
	struct field f = {.name = -1};

	if (!take_word(p, word))
		return false;
	type = find_type(word);
	if (!type)
		return say_no_type(p, word);
	if (l->count == FIELDS_MAX)
		return ptrc_cli_because(p->why, "has more than %d fields", (int)FIELDS_MAX);
	if (l->count && l->fields[l->count - 1].type->kind == BYTES &&
	    !l->fields[l->count - 1].size)
		return ptrc_cli_because(p->why, "nothing can follow 'bytes' without [N]");
	f.type = type;
	if (!take_count(p, type, &f.size))
		return false;
	if (type->size)
		f.size = type->size;
	else if (!f.size && (type->kind == CHARS || type->kind == PADDING))
		return ptrc_cli_because(p->why, "'%s' needs [N] behind it", type->name);
	if (!take_name(p, type, &f))
		return false;
	l->fields = ptrc_cli_reallocate(l->fields, (l->count + 1) * sizeof(*l->fields));
	l->fields[l->count++] = f;
	return true;
}

/* The first offset from `at` on at which a field of this size may stand. */
static size_t align(const struct ptrc_layout *l, size_t at, size_t size)
{
	return l->alignment > 1 && size > 1 ? (at + size - 1) & ~(size - 1) : at;
}

/* Works out where the fields stand, if that is the same in all data. */
static void place_fields(struct ptrc_layout *l)
{
	l->is_fixed = true;
	for (size_t i = 0; i < l->count; i++) {
		struct field *f = &l->fields[i];

		f->at = align(l, l->size, f->type->size);
		l->size = f->at + f->size;
		l->is_fixed &= f->size != 0;
	}
	l->aligned_size = align(l, l->size, l->alignment);
}

static bool take_fields(struct parser *p)
{
	static const char keyword[] = "align";
	size_t n = sizeof(keyword) - 1;
	bool is_aligned = false;

	skip_blanks(p);
	if (!strncmp(p->at, keyword, n) && !is_word(p->at[n])) {
		p->at += n;
		is_aligned = true;
	}
	for (;;) {
		if (!take_field(p))
			return false;
		skip_blanks(p);
		if (!*p->at)
			break;
		if (*p->at != ',')
			return ptrc_cli_because(p->why, "a comma is missing before '%.20s'", p->at);
		p->at++;
	}
	for (size_t i = 0; is_aligned && i < p->layout->count; i++)
		if (p->layout->fields[i].type->size > p->layout->alignment)
			p->layout->alignment = p->layout->fields[i].type->size;
	place_fields(p->layout);
	return true;
}

static void free_layout(struct ptrc_layout *l)
{
	free(l->pattern);
	free(l->fields);
	free(l);
}

bool ptrc_layouts_add(struct ptrc_layouts *l, const char *pattern, const char *layout,
		      struct ptrc_cli_reason *why)
{
	struct parser p = {l, ptrc_cli_allocate(sizeof(*p.layout)), layout, why};

	*p.layout = (struct ptrc_layout){.alignment = 1};
	if (!take_fields(&p)) {
		free_layout(p.layout);
		return false;
	}
	p.layout->pattern = ptrc_cli_allocate(strlen(pattern) + 1);
	strcpy(p.layout->pattern, pattern);
	l->layouts = ptrc_cli_reallocate(l->layouts, (l->count + 1) * sizeof(*l->layouts));
	l->layouts[l->count++] = p.layout;
	return true;
}

void ptrc_layouts_free(struct ptrc_layouts *l)
{
	for (size_t i = 0; i < l->count; i++)
		free_layout(l->layouts[i]);
	for (size_t i = 0; i < l->name_count; i++)
		free(l->names[i]);
	free(l->layouts);
	free(l->names);
}

const struct ptrc_layout *ptrc_layouts_find(const struct ptrc_layouts *l, const char *event)
{
	for (size_t i = 0; i < l->count; i++)
		if (ptrc_glob_matches(l->layouts[i]->pattern, event))
			return l->layouts[i];
	return NULL;
}

int ptrc_layouts_name(const struct ptrc_layouts *l, const char *name)
{
	for (size_t i = 0; i < l->name_count; i++)
		if (!strcmp(l->names[i], name))
			return (int)i;
	return -1;
}

const char *ptrc_layout_pattern(const struct ptrc_layout *l)
{
	return l->pattern;
}

static void decode_number(const struct field *f, const char *data, struct ptrc_value *v)
{
	uint64_t u = 0;
	unsigned int unused_bits = 64 - 8 * (unsigned int)f->size;
	float single;

	memcpy(&u, data, f->size);
	v->u = u;
	switch (f->type->kind) {
	case SIGNED:
		v->kind = PTRC_VALUE_SIGNED;
		v->i = (int64_t)(u << unused_bits) >> unused_bits;
		break;
	case HEX:
		v->kind = PTRC_VALUE_HEX;
		break;
	case BOOL:
		v->kind = PTRC_VALUE_BOOL;
		if (u > 1)
			v->raw = data;
		break;
	case FLOAT:
		if (f->size == sizeof(float)) {
			v->kind = PTRC_VALUE_FLOAT;
			memcpy(&single, data, sizeof(single));
			v->f = (double)single;
		} else {
			v->kind = PTRC_VALUE_DOUBLE;
			memcpy(&v->f, data, sizeof(v->f));
		}
		if (isnan(v->f))
			v->raw = data;
		break;
	default:
		v->kind = PTRC_VALUE_UNSIGNED;
		break;
	}
	v->raw_size = f->size;
}

static bool is_zero(const char *p, size_t size)
{
	while (size && !p[size - 1])
		size--;
	return !size;
}

/* Stores how many bytes of the data the field takes. Returns false if the data has too few
 * bytes. */
static bool measure(const struct field *f, bool is_last, const char *data, size_t size,
		    size_t *taken)
{
	*taken = f->size;
	if (f->size)
		return f->size <= size;
	*taken = size;
	if (f->type->kind != STRING)
		return true;
	*taken = strnlen(data, size);
	/* The null byte, if there is one, belongs to the string. */
	*taken += *taken < size;
	/* A string that lacks even its null byte is empty, which only the last field may
	 * be. */
	return size || is_last;
}

static void decode_field(const struct field *f, const char *data, size_t size, struct ptrc_value *v)
{
	switch (f->type->kind) {
	case CHARS:
	case STRING:
		v->kind = PTRC_VALUE_TEXT;
		v->bytes = data;
		v->size = strnlen(data, size);
		if (!is_zero(data + v->size, size - v->size)) {
			v->raw = data;
			v->raw_size = size;
		}
		break;
	case BYTES:
		v->kind = PTRC_VALUE_BYTES;
		v->bytes = data;
		v->size = size;
		break;
	case PADDING:
		break;
	default:
		decode_number(f, data, v);
		break;
	}
}

/* Does the layout say of data of that size where each field stands, and does the data fit? */
static bool is_of_fixed_size(const struct ptrc_layout *l, size_t size)
{
	return l->is_fixed && (size == l->size || size == l->aligned_size);
}

void ptrc_layout_decode(const struct ptrc_layout *l, const void *bytes, size_t size,
			struct ptrc_decoded *d)
{
	const char *data = bytes;
	size_t at = 0;

	if (d->size < l->count) {
		d->values = ptrc_cli_reallocate(d->values, l->count * sizeof(*d->values));
		d->size = l->count;
	}
	memset(d->values, 0, l->count * sizeof(*d->values));
	d->error = PTRC_LAYOUT_SHORT;
	for (size_t i = 0; i < l->count; i++) {
		const struct field *f = &l->fields[i];
		size_t taken;

		at = align(l, at, f->type->size);
		if (at > size || !measure(f, i + 1 == l->count, data + at, size - at, &taken))
			return;
		decode_field(f, data + at, taken, &d->values[i]);
		at += taken;
	}
	/* An aligned structure may have padding at its end, too. */
	if (at == size || align(l, at, l->alignment) == size)
		d->error = PTRC_LAYOUT_FITS;
	else
		d->error = PTRC_LAYOUT_REST;
}

bool ptrc_layout_pick(const struct ptrc_layout *l, const void *bytes, size_t size, int name,
		      struct ptrc_value *v)
{
	const char *data = bytes;

	if (!is_of_fixed_size(l, size))
		return false;
	*v = (struct ptrc_value){0};
	for (size_t i = 0; i < l->count; i++) {
		const struct field *f = &l->fields[i];

		if (f->name != name)
			continue;
		decode_field(f, data + f->at, f->size, v);
		break;
	}
	return true;
}

const struct ptrc_value *ptrc_layout_value(const struct ptrc_layout *l,
					   const struct ptrc_decoded *d, int name)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->fields[i].name == name)
			return &d->values[i];
	return NULL;
}

void ptrc_layout_json(struct ptrc_json *j, const struct ptrc_layout *l,
		      const struct ptrc_decoded *d)
{
	for (size_t i = 0; i < l->count; i++)
		ptrc_value_json(j, l->fields[i].text, &d->values[i]);
}

void ptrc_layout_text(struct ptrc_buffer *b, const struct ptrc_layout *l,
		      const struct ptrc_decoded *d)
{
	const char *separator = "";

	for (size_t i = 0; i < l->count; i++) {
		if (d->values[i].kind == PTRC_VALUE_NONE)
			continue;
		ptrc_buffer_text(b, separator);
		ptrc_buffer_text(b, l->fields[i].text);
		ptrc_buffer_char(b, '=');
		ptrc_value_text(b, &d->values[i]);
		separator = " ";
	}
}
