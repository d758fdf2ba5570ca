/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/fields/layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/model/glob.h"
#include "src/base/nearest.h"
#include "src/fields/json_text.h"

/* Stores a proposal for the message: the possible words that are similar to the wrong word or, if none is similar,
 * all possible words. */
static void propose(const struct ptrc_layout_mistake *m, char *proposal, size_t size)
{
	struct ptrc_nearest nearest = {0};
	size_t used;

	*proposal = '\0';
	if (!m->words)
		return;
	for (const char *const *word = m->words; *word; word++)
		ptrc_nearest_offer(&nearest, m->word, *word);
	if (nearest.count) {
		ptrc_nearest_text(&nearest, proposal, size);
		return;
	}
	used = (size_t)snprintf(proposal, size, " (there are");
	for (const char *const *word = m->words; *word && used < size; word++)
		used += (size_t)snprintf(proposal + used, size - used, " %s", *word);
	if (used < size)
		snprintf(proposal + used, size - used, ")");
}

static bool read_layout(const char *text, struct ptrc_layout_fields **fields,
			struct ptrc_cli_reason *why)
{
	struct ptrc_layout_mistake mistake;
	char proposal[200];
	int error = ptrc_layout_parse(text, strlen(text), fields, &mistake);

	if (error == ENOMEM)
		ptrc_cli_no_memory();
	if (!error)
		return true;
	propose(&mistake, proposal, sizeof(proposal));
	return ptrc_cli_because(why, "column %zu: %s%s", mistake.column, mistake.reason, proposal);
}

/* Returns the number of a field's name, which is its index in l->names. Adds the name if it is new. */
static int number_of(struct ptrc_layouts *l, const char *name)
{
	size_t size = strlen(name);
	int number = ptrc_layouts_name(l, name, size);

	if (!size)
		return PTRC_LAYOUT_NAMELESS;
	if (number >= 0)
		return number;
	*ptrc_append(l->names, l->name_count) = ptrc_cli_copy(name);
	return (int)l->name_count - 1;
}

/* Parses and adds a layout. Returns NULL, and stores the reason, if the layout is wrong. */
static struct ptrc_layout *add(struct ptrc_layouts *l, const char *text,
			       struct ptrc_cli_reason *why)
{
	struct ptrc_layout_fields *model;
	struct ptrc_layout *layout;

	if (!read_layout(text, &model, why))
		return NULL;
	layout = ptrc_cli_allocate(sizeof(*layout));
	*layout = (struct ptrc_layout){
		.text = ptrc_cli_copy(text),
		.model = model,
		.is_json = ptrc_layout_is_json(model),
		.number = l->count,
	};
	layout->names = ptrc_cli_allocate(model->count * sizeof(*layout->names));
	for (size_t i = 0; i < model->count; i++) {
		layout->names[i] = number_of(l, model->fields[i].name);
		layout->has_code |= ptrc_layout_is_code(model->fields[i].kind);
	}
	*ptrc_append(l->layouts, l->count) = layout;
	l->has_json |= layout->is_json;
	return layout;
}

void ptrc_layouts_leave_out(struct ptrc_layouts *l)
{
	for (size_t i = 0; i < l->count; i++)
		l->layouts[i]->is_left_out = true;
	l->has_json = false;
}

void ptrc_layouts_take(struct ptrc_layouts *l, size_t number)
{
	l->layouts[number]->is_left_out = false;
	l->has_json |= l->layouts[number]->is_json;
}

void ptrc_layouts_take_all(struct ptrc_layouts *l)
{
	for (size_t i = 0; i < l->count; i++)
		ptrc_layouts_take(l, i);
}

bool ptrc_layouts_add(struct ptrc_layouts *l, const char *pattern, const char *text,
		      struct ptrc_cli_reason *why)
{
	struct ptrc_layout *layout = add(l, text, why);

	if (layout)
		layout->pattern = ptrc_cli_copy(pattern);
	return layout;
}

bool ptrc_layouts_add_told(struct ptrc_layouts *l, const char *text, struct ptrc_cli_reason *why)
{
	return ptrc_layouts_find_told(l, text) || add(l, text, why);
}

const struct ptrc_layout *ptrc_layouts_find_told(const struct ptrc_layouts *l, const char *text)
{
	for (size_t i = 0; i < l->count; i++)
		if (!l->layouts[i]->pattern && !strcmp(l->layouts[i]->text, text))
			return l->layouts[i];
	return NULL;
}

void ptrc_layouts_free(struct ptrc_layouts *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->layouts[i]->pattern);
		free(l->layouts[i]->text);
		free(l->layouts[i]->names);
		ptrc_layout_fields_free(l->layouts[i]->model);
		free(l->layouts[i]);
	}
	for (size_t i = 0; i < l->name_count; i++)
		free(l->names[i]);
	free(l->layouts);
	free(l->names);
}

const struct ptrc_layout *ptrc_layouts_find(const struct ptrc_layouts *l, const char *event)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->layouts[i]->pattern && ptrc_glob_matches(l->layouts[i]->pattern, event))
			return l->layouts[i];
	return NULL;
}

int ptrc_layouts_name(const struct ptrc_layouts *l, const char *name, size_t size)
{
	for (size_t i = 0; i < l->name_count; i++)
		if (strlen(l->names[i]) == size && !memcmp(l->names[i], name, size))
			return (int)i;
	return -1;
}

/* The set of dimensions that values of the field or, if it is an array, its elements may have. */
static unsigned int dimensions_of(const struct ptrc_layout_field *f)
{
	const unsigned int number = ptrc_unit_ns((enum ptrc_unit)f->unit) ? PTRC_DIMENSION_DURATION
									  : PTRC_DIMENSION_NUMBER;

	switch (f->kind) {
	case PTRC_LAYOUT_CHARS:
	case PTRC_LAYOUT_STRING:
		return PTRC_DIMENSION_TEXT;
	case PTRC_LAYOUT_BYTES:
		return PTRC_DIMENSION_BYTES;
	case PTRC_LAYOUT_BOOL:
		return PTRC_DIMENSION_BOOL;
	case PTRC_LAYOUT_JSON:
		return PTRC_DIMENSION_TEXT | PTRC_DIMENSION_NUMBER | PTRC_DIMENSION_BOOL;
	default:
		return f->member_count ? number | PTRC_DIMENSION_TEXT : number;
	}
}

static bool has_name(const struct ptrc_layout *l, int name)
{
	for (size_t k = 0; k < l->model->count; k++)
		if (l->names[k] == name)
			return true;
	return false;
}

/* Whether a layout that is not left out has a field of this name. */
static bool is_name_used(const struct ptrc_layouts *l, int name)
{
	for (size_t i = 0; i < l->count; i++)
		if (!l->layouts[i]->is_left_out && has_name(l->layouts[i], name))
			return true;
	return false;
}

bool ptrc_layouts_allow_text(const struct ptrc_layouts *l, int name, const char *text,
			     struct ptrc_nearest *nearest)
{
	bool is_used = is_name_used(l, name);
	bool is_allowed = false;

	for (size_t i = 0; i < l->count; i++)
		for (size_t k = 0; k < l->layouts[i]->model->count; k++) {
			const struct ptrc_layout_field *f = &l->layouts[i]->model->fields[k];

			if (l->layouts[i]->names[k] != name ||
			    (is_used && l->layouts[i]->is_left_out))
				continue;
			is_allowed |= !f->member_count;
			for (uint32_t m = 0; m < f->member_count; m++) {
				is_allowed |= !strcmp(f->members[m].name, text);
				ptrc_nearest_offer(nearest, text, f->members[m].name);
			}
		}
	return is_allowed;
}

struct ptrc_layout_uses ptrc_layouts_uses(const struct ptrc_layouts *l, int name)
{
	struct ptrc_layout_uses uses = {0};
	bool is_used = is_name_used(l, name);

	for (size_t i = 0; i < l->count; i++) {
		const struct ptrc_layout *layout = l->layouts[i];

		for (size_t k = 0; k < layout->model->count; k++) {
			const struct ptrc_layout_field *f = &layout->model->fields[k];

			if (layout->names[k] != name || (is_used && layout->is_left_out))
				continue;
			uses.dimensions |= f->count ? PTRC_DIMENSION_ARRAY : dimensions_of(f);
			uses.element_dimensions |= dimensions_of(f);
			uses.is_json |= f->kind == PTRC_LAYOUT_JSON;
			if (f->count > uses.element_count)
				uses.element_count = f->count;
		}
	}
	return uses;
}

size_t ptrc_layout_size(const struct ptrc_layout *l, bool *is_open)
{
	*is_open = !l->model->is_fixed;
	return l->model->is_fixed ? l->model->padded_size : l->model->size;
}

static bool is_zero(const char *p, size_t size)
{
	while (size && !p[size - 1])
		size--;
	return !size;
}

static void decode_text(const char *data, size_t size, struct ptrc_value *v)
{
	v->kind = PTRC_VALUE_TEXT;
	v->bytes = data;
	v->size = strnlen(data, size);
	if (!is_zero(data + v->size, size - v->size)) {
		v->raw = data;
		v->raw_size = size;
	}
}

/* Decodes a field of type json. If the text is not valid, or if a field without a name (all the data) is no object,
 * v->kind stays PTRC_VALUE_NONE. */
static void decode_json(const struct ptrc_layout_field *f, const char *data, size_t size,
			struct ptrc_value *v)
{
	/* Many programs record the null byte at the end of a text. This byte is no part of the value. */
	if (!data[size - 1])
		size--;
	if (!ptrc_json_text_is_valid(data, size))
		return;
	while (strchr(" \t\n\r", *data)) {
		data++;
		size--;
	}
	if (!*f->name && *data != '{')
		return;
	while (strchr(" \t\n\r", data[size - 1]))
		size--;
	*v = (struct ptrc_value){.kind = PTRC_VALUE_JSON, .bytes = data, .size = size};
}

/* Decodes a field. Single numbers do not need `size`, and only bit fields need `bit_at`. */
static inline void decode_field(const struct ptrc_layout_field *f, const char *data,
				unsigned int bit_at, size_t size, struct ptrc_value *v)
{
	switch (f->kind) {
	case PTRC_LAYOUT_CHARS:
	case PTRC_LAYOUT_STRING:
		decode_text(data, size, v);
		return;
	case PTRC_LAYOUT_BYTES:
		v->kind = PTRC_VALUE_BYTES;
		v->bytes = data;
		v->size = size;
		return;
	case PTRC_LAYOUT_PADDING:
		return;
	case PTRC_LAYOUT_JSON:
		decode_json(f, data, size, v);
		return;
	default:
		break;
	}
	if (__builtin_expect(!f->count, 1)) {
		ptrc_value_decode(f, data, bit_at, v);
		return;
	}
	v->kind = PTRC_VALUE_ARRAY;
	v->unit = f->unit;
	v->elements = f;
	v->bytes = data;
	v->size = size;
	/* .raw is printed only if the printed form of an element does not show all of the element's bytes. */
	v->raw = data;
	v->raw_size = size;
}

bool ptrc_layout_has_places(const struct ptrc_layout *l, size_t size)
{
	const struct ptrc_layout_fields *m = l->model;

	return m->is_fixed && (size == m->size || size == m->padded_size);
}

void ptrc_layout_decode(const struct ptrc_layout *l, const void *bytes, size_t size,
			struct ptrc_decoded *d)
{
	const struct ptrc_layout_fields *m = l->model;
	const struct ptrc_layout_field *f;
	struct ptrc_layout_walk w = {0};
	const char *data = bytes;

	if (d->size < m->count) {
		d->values = ptrc_cli_reallocate(d->values, m->count * sizeof(*d->values));
		d->size = m->count;
	}
	memset(d->values, 0, m->count * sizeof(*d->values));
	if (__builtin_expect(ptrc_layout_has_places(l, size), 1)) {
		d->error = PTRC_LAYOUT_FITS;
		for (size_t i = 0; i < m->count; i++)
			decode_field(&m->fields[i], data + m->fields[i].at, m->fields[i].bit_at,
				     m->fields[i].size, &d->values[i]);
		return;
	}
	while ((f = ptrc_layout_next(m, data, size, &w))) {
		struct ptrc_value *v = &d->values[w.number - 1];

		decode_field(f, data + w.at, w.bit_at, w.size, v);
		if (f->kind == PTRC_LAYOUT_JSON && v->kind == PTRC_VALUE_NONE) {
			d->error = PTRC_LAYOUT_NOT_JSON;
			return;
		}
	}
	if (w.is_short)
		d->error = PTRC_LAYOUT_SHORT;
	else
		d->error = ptrc_layout_ends(m, &w, size) ? PTRC_LAYOUT_FITS : PTRC_LAYOUT_REST;
}

bool ptrc_layout_pick(const struct ptrc_layout *l, const void *bytes, size_t size, int name,
		      struct ptrc_value *v)
{
	const struct ptrc_layout_fields *m = l->model;
	const char *data = bytes;

	if (!ptrc_layout_has_places(l, size))
		return false;
	*v = (struct ptrc_value){0};
	for (size_t i = 0; i < m->count; i++) {
		const struct ptrc_layout_field *f = &m->fields[i];

		if (l->names[i] == name) {
			decode_field(f, data + f->at, f->bit_at, f->size, v);
			break;
		}
	}
	return true;
}

bool ptrc_layout_find_spot(const struct ptrc_layout *l, int name, struct ptrc_layout_spot *spot)
{
	const struct ptrc_layout_fields *m = l->model;
	const struct ptrc_layout_field *f;
	size_t i = 0;

	while (i < m->count && l->names[i] != name)
		i++;
	if (!m->is_fixed || i == m->count)
		return false;
	f = &m->fields[i];
	if ((f->kind != PTRC_LAYOUT_SIGNED && f->kind != PTRC_LAYOUT_UNSIGNED &&
	     f->kind != PTRC_LAYOUT_HEX) ||
	    f->count || f->member_count || f->bits)
		return false;
	*spot = (struct ptrc_layout_spot){.at = f->at,
					  .bytes = f->item_size,
					  .is_signed = f->kind == PTRC_LAYOUT_SIGNED,
					  .sizes = {m->size, m->padded_size}};
	return true;
}

const struct ptrc_layout_field *ptrc_layout_field(const struct ptrc_layout *l, size_t number)
{
	return number < l->model->count ? &l->model->fields[number] : NULL;
}

const struct ptrc_value *ptrc_layout_value(const struct ptrc_layout *l,
					   const struct ptrc_decoded *d, int name)
{
	for (size_t i = 0; i < l->model->count; i++)
		if (l->names[i] == name)
			return &d->values[i];
	return NULL;
}

const struct ptrc_value *ptrc_layout_whole(const struct ptrc_layout *l,
					   const struct ptrc_decoded *d)
{
	return l->is_json ? d->values : NULL;
}

void ptrc_layout_json(struct ptrc_json *j, const struct ptrc_layout *l,
		      const struct ptrc_decoded *d)
{
	const struct ptrc_value *whole = ptrc_layout_whole(l, d);

	if (whole && whole->kind != PTRC_VALUE_NONE) {
		ptrc_value_json(j, "data", whole);
		return;
	}
	ptrc_json_open(j, "data", '{');
	for (size_t i = 0; i < l->model->count; i++)
		ptrc_value_json(j, l->model->fields[i].name, &d->values[i]);
	ptrc_json_close(j, '}');
}
