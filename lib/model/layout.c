/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/model/layout.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An error message quotes at most this many bytes of a layout. */
enum { QUOTED_MAX = 20 };

static const struct type {
	char name[8];
	unsigned char kind;
	/* bytes of one number; 0 if the size depends on the layout's text or on the data */
	unsigned char size;
} types[] = {
	{"u8", PTRC_LAYOUT_UNSIGNED, 1},  {"u16", PTRC_LAYOUT_UNSIGNED, 2},
	{"u32", PTRC_LAYOUT_UNSIGNED, 4}, {"u64", PTRC_LAYOUT_UNSIGNED, 8},
	{"i8", PTRC_LAYOUT_SIGNED, 1},	  {"i16", PTRC_LAYOUT_SIGNED, 2},
	{"i32", PTRC_LAYOUT_SIGNED, 4},	  {"i64", PTRC_LAYOUT_SIGNED, 8},
	{"x8", PTRC_LAYOUT_HEX, 1},	  {"x16", PTRC_LAYOUT_HEX, 2},
	{"x32", PTRC_LAYOUT_HEX, 4},	  {"x64", PTRC_LAYOUT_HEX, 8},
	{"f32", PTRC_LAYOUT_FLOAT, 4},	  {"f64", PTRC_LAYOUT_FLOAT, 8},
	{"bool", PTRC_LAYOUT_BOOL, 1},	  {"char", PTRC_LAYOUT_CHARS, 0},
	{"str", PTRC_LAYOUT_STRING, 0},	  {"bytes", PTRC_LAYOUT_BYTES, 0},
	{"pad", PTRC_LAYOUT_PADDING, 0},  {"json", PTRC_LAYOUT_JSON, 0},
	{"code", PTRC_LAYOUT_CODE, 8},	  {"caller", PTRC_LAYOUT_CALLER, 8},
};

/* An enum without an integer type is an int, as in C. */
static const struct type enum_type = {"enum", PTRC_LAYOUT_SIGNED, 4};

static const char *const type_words[] = {
	"u8",  "u16",	"u32", "u64",  "i8",   "i16",  "i32",	 "i64",
	"x8",  "x16",	"x32", "x64",  "f32",  "f64",  "bool",	 "char",
	"str", "bytes", "pad", "json", "enum", "code", "caller", NULL,
};

static const char *const base_words[] = {"u8",	"u16", "u32", "u64", "i8",
					 "i16", "i32", "i64", NULL};

/* The words for the units, in the order of enum ptrc_unit, without PTRC_UNIT_NONE. */
static const char *const unit_words[] = {"ns",	"us",  "ms",	  "s",	   "B",
					 "KiB", "MiB", "percent", "count", NULL};

_Static_assert(PTRC_ARRAY_COUNT(unit_words) == PTRC_UNIT_COUNT + 1, "each unit has a word");

const char *ptrc_unit_word(enum ptrc_unit unit)
{
	return unit ? unit_words[unit - 1] : "";
}

uint64_t ptrc_unit_ns(enum ptrc_unit unit)
{
	static const uint32_t ns[] = {
		[PTRC_UNIT_NS] = 1,
		[PTRC_UNIT_US] = 1000,
		[PTRC_UNIT_MS] = 1000000,
		[PTRC_UNIT_S] = 1000000000,
	};

	return unit < PTRC_ARRAY_COUNT(ns) ? ns[unit] : 0;
}

/* Can hold every integer of 64 bits, signed or unsigned, and the number after it, which the next
 * member of an enum gets. */
__extension__ typedef __int128 value;

/* The start of the one allocation that holds a parsed layout: this structure, then the fields, the
 * members of enums and the names. Its size is computed from the length of the layout's text
 * alone. */
struct memory {
	struct ptrc_layout_fields layout;
	struct ptrc_layout_field fields[];
};

struct parser {
	const char *begin;
	const char *at;
	const char *end;
	struct ptrc_layout_fields *layout;
	/* Memory for the next member and the next name. */
	struct ptrc_layout_member *members;
	char *names;
	/* size in bits of all fields so far, as far as the layout gives their sizes */
	uint64_t bits;
	struct ptrc_layout_mistake *mistake;
};

/* Describes an error at position `at` of the text in p->mistake. Always returns false, which the
 * caller returns. */
static bool __attribute__((format(printf, 3, 4)))
refuse(struct parser *p, const char *at, const char *format, ...)
{
	va_list values;

	p->mistake->column = (size_t)(at - p->begin) + 1;
	va_start(values, format);
	vsnprintf(p->mistake->reason, sizeof(p->mistake->reason), format, values);
	va_end(values);
	return false;
}

static bool refuse_missing(struct parser *p, const char *what)
{
	size_t size = (size_t)(p->end - p->at);

	if (!size)
		return refuse(p, p->at, "%s is missing at the end", what);
	return refuse(p, p->at, "%s is missing before '%.*s'", what,
		      size < QUOTED_MAX ? (int)size : QUOTED_MAX, p->at);
}

static void skip_blanks(struct parser *p)
{
	while (p->at < p->end &&
	       (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
		p->at++;
}

/* Skips blanks, and then `c` if it is the next character. Returns whether it was. */
static bool take(struct parser *p, char c)
{
	skip_blanks(p);
	if (p->at == p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return c == '_' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A word of the text; empty if none comes next. */
struct word {
	const char *at;
	size_t size;
};

static bool take_word(struct parser *p, struct word *w)
{
	skip_blanks(p);
	*w = (struct word){.at = p->at};
	while (p->at < p->end && is_word(*p->at))
		p->at++;
	w->size = (size_t)(p->at - w->at);
	if (w->size > PTRC_LAYOUT_NAME_MAX)
		return refuse(p, w->at, "'%.*s...' is too long: a word has at most %d letters",
			      QUOTED_MAX, w->at, PTRC_LAYOUT_NAME_MAX);
	return true;
}

static bool is(const struct word *w, const char *text)
{
	return strlen(text) == w->size && !memcmp(w->at, text, w->size);
}

static bool refuse_word(struct parser *p, const struct word *w, const char *what,
			const char *const *words)
{
	memcpy(p->mistake->word, w->at, w->size);
	p->mistake->word[w->size] = '\0';
	p->mistake->words = words;
	return refuse(p, w->at, "'%.*s' is not %s", (int)w->size, w->at, what);
}

static const struct type *find_type(const struct word *w)
{
	for (size_t i = 0; i < PTRC_ARRAY_COUNT(types); i++)
		if (is(w, types[i].name))
			return &types[i];
	return NULL;
}

static bool is_integer(const struct type *t)
{
	return t->kind == PTRC_LAYOUT_UNSIGNED || t->kind == PTRC_LAYOUT_SIGNED;
}

/* The value of the digit `c` in base 10 or 16; `base` if the character is no digit. */
static unsigned int digit_of(char c, unsigned int base)
{
	unsigned int d = base;

	if (is_digit(c))
		d = (unsigned int)(c - '0');
	else if (c >= 'a' && c <= 'f')
		d = (unsigned int)(c - 'a') + 10;
	else if (c >= 'A' && c <= 'F')
		d = (unsigned int)(c - 'A') + 10;
	return d < base ? d : base;
}

/* Reads a number. Returns false, without describing an error, if there are no digits or the
 * number exceeds `most`. */
static bool take_digits(struct parser *p, unsigned int base, uint64_t most, uint64_t *n)
{
	const char *begin;
	unsigned int d;

	skip_blanks(p);
	begin = p->at;
	for (*n = 0; p->at < p->end && (d = digit_of(*p->at, base)) < base; p->at++) {
		if (d > most || *n > (most - d) / base)
			return false;
		*n = base * *n + d;
	}
	return p->at > begin;
}

/* Reads an optional [N] or [] after a type. *count is 0 if there is neither. */
static bool take_count(struct parser *p, const struct type *type, uint32_t *count)
{
	const char *begin;
	uint64_t n;

	*count = 0;
	if (!take(p, '['))
		return true;
	begin = p->at - 1;
	if (type->kind == PTRC_LAYOUT_STRING || type->kind == PTRC_LAYOUT_JSON)
		return refuse(p, begin, "'%s' takes no [N]", type->name);
	if (type->size && take(p, ']')) {
		*count = PTRC_LAYOUT_COUNT_OPEN;
		return true;
	}
	if (!take_digits(p, 10, PTRC_LAYOUT_SIZE_MAX, &n) || !n || !take(p, ']'))
		return refuse(p, begin, "'%s[' needs a number from 1 to %d and ']'", type->name,
			      PTRC_LAYOUT_SIZE_MAX);
	*count = (uint32_t)n;
	return true;
}

static const char *keep_name(struct parser *p, const struct word *w)
{
	char *name = p->names;

	memcpy(name, w->at, w->size);
	name[w->size] = '\0';
	p->names += w->size + 1;
	return name;
}

/* Whether an integer of `bits` bits can hold `v`; `type` says whether it is signed. */
static bool fits(const struct type *type, unsigned int bits, value v)
{
	bool is_signed = type->kind == PTRC_LAYOUT_SIGNED;
	value end = (value)1 << (is_signed ? bits - 1 : bits);

	return v < end && v >= (is_signed ? -end : 0);
}

/* Reads the value of a member of an enum, after the '='. */
static bool take_value(struct parser *p, value *v)
{
	bool is_negative = take(p, '-');
	const char *begin = p->at;
	bool is_hex = p->end - p->at > 2 && p->at[0] == '0' && (p->at[1] | 0x20) == 'x', is_read;
	uint64_t n = 0;

	p->at += is_hex ? 2 : 0;
	is_read = take_digits(p, is_hex ? 16 : 10, UINT64_MAX, &n);
	*v = is_negative ? -(value)n : (value)n;
	if (!is_read || (p->at < p->end && is_word(*p->at)))
		return refuse(p, begin, "'=' needs a number, decimal or 0x, of up to 64 bits");
	return true;
}

/* Reads one member of an enum. *next is the member's value if no '=' follows; the function stores
 * in it the value of the next member without '='. */
static bool take_member(struct parser *p, const struct type *type, struct ptrc_layout_field *f,
			value *next)
{
	struct word w;

	if (!take_word(p, &w))
		return false;
	if (!w.size && !f->member_count && p->at < p->end && *p->at == '}')
		return refuse(p, p->at, "an enum has members, such as {idle, busy}");
	if (!w.size)
		return refuse_missing(p, "the name of a member");
	if (is_digit(*w.at))
		return refuse(p, w.at, "the name of a member cannot begin with a digit");
	if (f->member_count == PTRC_LAYOUT_MEMBERS_MAX)
		return refuse(p, w.at, "the enum has more than %d members",
			      PTRC_LAYOUT_MEMBERS_MAX);
	for (uint32_t i = 0; i < f->member_count; i++)
		if (is(&w, f->members[i].name))
			return refuse(p, w.at, "two members have the same name '%.*s'", (int)w.size,
				      w.at);
	if (take(p, '=') && !take_value(p, next))
		return false;
	if (!fits(type, 8U * type->size, *next))
		return refuse(p, w.at, "the value of '%.*s' does not fit the %u bits of the enum",
			      (int)w.size, w.at, 8U * type->size);
	p->members->name = keep_name(p, &w);
	p->members->value = (uint64_t)*next;
	p->members++;
	f->member_count++;
	++*next;
	return true;
}

static bool take_enum(struct parser *p, const struct type **type, struct ptrc_layout_field *f)
{
	struct word w;
	value next = 0;

	*type = &enum_type;
	if (!take_word(p, &w))
		return false;
	if (w.size) {
		*type = find_type(&w);
		if (!*type || !is_integer(*type))
			return refuse_word(p, &w, "the integer type of an enum", base_words);
	}
	if (!take(p, '{'))
		return refuse_missing(p, "'{' of the enum");
	f->members = p->members;
	do {
		/* As in C, a comma may follow the last member. */
		if (f->member_count && take(p, '}'))
			return true;
		if (!take_member(p, *type, f, &next))
			return false;
	} while (take(p, ','));
	return take(p, '}') || refuse_missing(p, "',' or '}' of the enum");
}

/* Whether `name` is `other` followed by _hex. Such a name is not allowed, because in JSON it is
 * the key for the bytes of the field `other`. */
static bool is_hex_of(const char *name, const char *other)
{
	size_t n = strlen(other);

	return !strncmp(name, other, n) && !strcmp(name + n, "_hex");
}

static bool take_name(struct parser *p, const struct type *type, struct ptrc_layout_field *f)
{
	struct ptrc_layout_fields *l = p->layout;
	struct word w;

	f->name = "";
	if (!take_word(p, &w))
		return false;
	if (type->kind == PTRC_LAYOUT_PADDING)
		return !w.size || refuse(p, w.at, "'pad' takes no name");
	if (!w.size && type->kind == PTRC_LAYOUT_JSON) {
		if (l->count)
			return refuse(p, w.at, "'json' needs a name, unless it is the only field");
		return true;
	}
	if (!w.size || is_digit(*w.at))
		return refuse(p, w.at, "'%s' needs a name after it: letters, digits and _",
			      type->name);
	f->name = keep_name(p, &w);
	for (size_t i = 0; i < l->count; i++) {
		const char *other = l->fields[i].name;

		if (!*other)
			continue;
		if (!strcmp(f->name, other))
			return refuse(p, w.at, "two fields have the same name '%s'", other);
		if (is_hex_of(f->name, other) || is_hex_of(other, f->name))
			return refuse(p, w.at,
				      "'%s' and '%s' cannot both be names: in JSON the one "
				      "with _hex holds bytes of the other",
				      other, f->name);
	}
	return true;
}

static bool take_bits(struct parser *p, const struct type *type, struct ptrc_layout_field *f)
{
	uint64_t most = type->kind == PTRC_LAYOUT_BOOL ? 1 : 8U * type->size;
	const char *begin = p->at;
	uint64_t bits;

	if (!take(p, ':'))
		return true;
	if (!type->size || type->kind == PTRC_LAYOUT_FLOAT || ptrc_layout_is_code(type->kind))
		return refuse(p, begin, "'%s' cannot be a bit field", type->name);
	if (f->count)
		return refuse(p, begin, "an array cannot be a bit field");
	if (!take_digits(p, 10, most, &bits) || !bits)
		return refuse(p, begin, "a bit field of '%s' has 1 to %u bits", type->name,
			      (unsigned int)most);
	f->bits = (unsigned char)bits;
	for (uint32_t i = 0; i < f->member_count; i++) {
		uint64_t bits_of_value = f->members[i].value;
		value v = type->kind == PTRC_LAYOUT_SIGNED ? (value)(int64_t)bits_of_value
							   : (value)bits_of_value;

		if (!fits(type, f->bits, v))
			return refuse(p, begin, "the value of '%s' does not fit so few bits",
				      f->members[i].name);
	}
	return true;
}

static bool take_unit(struct parser *p, const struct type *type, struct ptrc_layout_field *f)
{
	struct word w;

	if (!take_word(p, &w))
		return false;
	if (!w.size)
		return true;
	/* A type instead of a unit starts the next field, so a comma is missing. */
	if (find_type(&w) || is(&w, enum_type.name)) {
		p->at = w.at;
		return refuse_missing(p, "a comma");
	}
	while (!is(&w, unit_words[f->unit]))
		if (!unit_words[++f->unit])
			return refuse_word(p, &w, "a unit", unit_words);
	f->unit++;
	if ((!is_integer(type) && type->kind != PTRC_LAYOUT_FLOAT) || f->member_count)
		return refuse(p, w.at, "'%s' takes no unit", f->member_count ? "enum" : type->name);
	return true;
}

/*
 * Finds the place of a field that follows *bits bits of data: stores its offset in bytes in *at and
 * its first bit in that byte in *bit_at. Adds to *bits the padding before the field and the size of
 * the field; if the size depends on the data, adds only the padding. The parser uses this function.
 * ptrc_layout_next() uses it, too: after a field whose size depends on the data, the places of the
 * next fields are known only from the data.
 */
static void find_place(const struct ptrc_layout_fields *l, const struct ptrc_layout_field *f,
		       uint64_t *bits, size_t *at, unsigned char *bit_at)
{
	uint64_t unit = 8ULL * f->item_size;

	if (!f->bits) {
		/* Advance to the next byte or, if the layout is not packed, to the next aligned
		 * offset. */
		uint64_t step = l->is_packed ? 8 : unit;

		*bits = (*bits + step - 1) / step * step;
	} else if (!l->is_packed && *bits % unit + f->bits > unit) {
		/* As in C, a bit field does not cross the end of a unit of its type. */
		*bits = (*bits + unit - 1) / unit * unit;
	}
	*at = *bits / 8;
	*bit_at = *bits % 8;
	*bits += f->bits ? f->bits : 8 * (uint64_t)f->size;
}

/* The field before the one that is being read; NULL if there is none. */
static const struct ptrc_layout_field *last_field(const struct parser *p)
{
	return p->layout->count ? &p->layout->fields[p->layout->count - 1] : NULL;
}

static bool place(struct parser *p, const char *at, struct ptrc_layout_field *f)
{
	struct ptrc_layout_fields *l = p->layout;
	const struct ptrc_layout_field *last = last_field(p);

	if (!l->is_packed && f->item_size > l->alignment)
		l->alignment = f->item_size;
	f->is_placed = l->is_fixed;
	/* The length of a str is known only from the data. Here the str before this field is taken
	 * to be empty: one zero byte. */
	if (last && last->kind == PTRC_LAYOUT_STRING)
		p->bits += 8;
	find_place(l, f, &p->bits, &f->at, &f->bit_at);
	l->is_fixed = l->is_fixed && (f->size || f->bits);
	l->size = (p->bits + 7) / 8;
	if (l->size > PTRC_LAYOUT_SIZE_MAX)
		return refuse(p, at, "the fields take more than %d bytes", PTRC_LAYOUT_SIZE_MAX);
	return true;
}

/* Fails if no field may follow the last field, because that field takes the rest of the data. */
static bool check_last(struct parser *p)
{
	const struct ptrc_layout_field *last = last_field(p);

	if (last && last->kind == PTRC_LAYOUT_JSON)
		return refuse(p, p->at, "nothing can follow 'json'");
	if (last && last->kind == PTRC_LAYOUT_BYTES && !last->size)
		return refuse(p, p->at, "nothing can follow 'bytes' without [N]");
	if (last && last->count == PTRC_LAYOUT_COUNT_OPEN)
		return refuse(p, p->at, "nothing can follow an array without a number, []");
	return true;
}

static bool take_field(struct parser *p)
{
	struct ptrc_layout_fields *l = p->layout;
	struct ptrc_layout_field *f = &l->fields[l->count];
	const struct type *type;
	const char *begin;
	struct word w;

	if (!check_last(p) || !take_word(p, &w))
		return false;
	begin = w.at;
	if (!w.size)
		return refuse_missing(p, "a type");
	if (l->count == PTRC_LAYOUT_FIELDS_MAX)
		return refuse(p, w.at, "there are more than %d fields", PTRC_LAYOUT_FIELDS_MAX);
	*f = (struct ptrc_layout_field){0};
	if (is(&w, enum_type.name)) {
		if (!take_enum(p, &type, f))
			return false;
	} else {
		type = find_type(&w);
		if (!type && is(&w, "align") && !l->count)
			return refuse(p, w.at,
				      "'align' is no word any more: fields are aligned, unless "
				      "the first word is 'packed'");
		if (!type)
			return refuse_word(p, &w, "a type", type_words);
	}
	f->kind = type->kind;
	f->item_size = type->size ? type->size : 1;
	if (!take_count(p, type, &f->count))
		return false;
	if (!f->count && (type->kind == PTRC_LAYOUT_CHARS || type->kind == PTRC_LAYOUT_PADDING))
		return refuse(p, p->at, "'%s' needs [N] after it", type->name);
	if (!take_name(p, type, f))
		return false;
	if (type->size && take(p, '['))
		return refuse(p, p->at - 1, "[N] stands after the type: %s[4] %s",
			      f->member_count ? "enum {...}" : type->name, f->name);
	if (!take_bits(p, type, f) || !take_unit(p, type, f))
		return false;
	if (f->count == PTRC_LAYOUT_COUNT_OPEN)
		f->size = 0;
	else if (!f->bits)
		f->size = type->size ? (size_t)type->size * (f->count ? f->count : 1) : f->count;
	/* For char, bytes and pad, [N] is not a number of elements but the size of the field, which
	 * f->size now holds. */
	if (!type->size)
		f->count = 0;
	if (!place(p, begin, f))
		return false;
	l->count++;
	return true;
}

static bool take_fields(struct parser *p)
{
	struct ptrc_layout_fields *l = p->layout;
	const char *begin;
	struct word w;

	if (!take_word(p, &w))
		return false;
	l->is_packed = is(&w, "packed");
	if (!l->is_packed)
		p->at = w.at;
	do {
		if (!take_field(p))
			return false;
		begin = p->at;
	} while (take(p, ','));
	skip_blanks(p);
	if (p->at < p->end)
		return refuse_missing(p, "a comma");
	l->padded_size = (l->size + l->alignment - 1) / l->alignment * l->alignment;
	if (l->padded_size > PTRC_LAYOUT_SIZE_MAX)
		return refuse(p, begin, "the fields take more than %d bytes", PTRC_LAYOUT_SIZE_MAX);
	return true;
}

int ptrc_layout_parse(const char *text, size_t size, struct ptrc_layout_fields **fields,
		      struct ptrc_layout_mistake *mistake)
{
	struct ptrc_layout_mistake unused;
	struct parser p = {
		.begin = text,
		.at = text,
		.end = text + size,
		.mistake = mistake ? mistake : &unused,
	};
	struct memory *m;
	size_t most;

	*p.mistake = (struct ptrc_layout_mistake){0};
	if (size > PTRC_LAYOUT_TEXT_MAX) {
		refuse(&p, text + PTRC_LAYOUT_TEXT_MAX, "the layout has more than %d bytes",
		       PTRC_LAYOUT_TEXT_MAX);
		return EINVAL;
	}
	/* The most fields, and the most members of enums, that the text can have: each has at
	 * least one letter, and a comma separates it from the next. */
	most = size / 2 + 1;
	m = malloc(sizeof(*m) + most * (sizeof(*m->fields) + sizeof(struct ptrc_layout_member)) +
		   size + most);
	if (!m)
		return ENOMEM;
	m->layout =
		(struct ptrc_layout_fields){.fields = m->fields, .is_fixed = true, .alignment = 1};
	p.layout = &m->layout;
	p.members = (struct ptrc_layout_member *)(m->fields + most);
	p.names = (char *)(p.members + most);
	if (!take_fields(&p)) {
		free(m);
		return EINVAL;
	}
	*fields = &m->layout;
	return 0;
}

void ptrc_layout_fields_free(struct ptrc_layout_fields *l)
{
	/* *l is the first member of struct memory, so it is the start of the allocation. */
	free(l);
}

/* Stores in *taken the size of a field whose size depends on the data. The field starts at `data`,
 * and `size` bytes are left from there to the end. Returns false if they are too few. */
static bool measure(const struct ptrc_layout_field *f, bool is_last, const char *data, size_t size,
		    size_t *taken)
{
	*taken = size;
	if (f->kind == PTRC_LAYOUT_JSON)
		return size;
	/* An incomplete element at the end is not part of the array. */
	if (f->count)
		*taken -= size % f->item_size;
	if (f->kind != PTRC_LAYOUT_STRING)
		return true;
	*taken = strnlen(data, size);
	/* The zero byte, if there is one, belongs to the string. */
	*taken += *taken < size;
	/* If no bytes are left, not even for a zero byte, the last field may still be an empty
	 * string; an earlier field may not. */
	return size || is_last;
}

const struct ptrc_layout_field *ptrc_layout_next(const struct ptrc_layout_fields *l,
						 const char *data, size_t size,
						 struct ptrc_layout_walk *w)
{
	const struct ptrc_layout_field *f = &l->fields[w->number];

	/* No data fits a json without a name (posixtrace-layout(5)). */
	if (w->number == l->count || (!size && ptrc_layout_is_json(l)))
		return NULL;
	find_place(l, f, &w->bits, &w->at, &w->bit_at);
	w->size = f->size;
	w->is_short = w->at > size || w->bits > 8 * (uint64_t)size;
	if (!w->is_short && !f->size && !f->bits) {
		w->is_short = !measure(f, w->number + 1 == l->count, data + w->at, size - w->at,
				       &w->size);
		w->bits += 8 * (uint64_t)w->size;
	}
	w->number++;
	return w->is_short ? NULL : f;
}

bool ptrc_layout_ends(const struct ptrc_layout_fields *l, const struct ptrc_layout_walk *w,
		      size_t size)
{
	size_t end = (w->bits + 7) / 8;

	return end == size || (end + l->alignment - 1) / l->alignment * l->alignment == size;
}
