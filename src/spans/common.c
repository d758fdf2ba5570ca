/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/common.h"

#include <string.h>

#include "src/base/scope.h"
#include "src/base/table.h"
#include "src/fields/json_text.h"
#include "src/spans/key.h"

/* After this many end events without any of the fields, no common field is sought any more. */
enum { VAIN_MAX = 64 };

/* Adds the field data.NAME, unless it is in the list. A member of JSON whose name options cannot have is no field. */
static void add_field(struct ptrc_common *c, const struct ptrc_layouts *layouts, const char *name,
		      size_t size)
{
	struct ptrc_field *f = &c->fields[c->count];
	struct ptrc_cli_reason why;
	PTRC_SCOPED char *text = NULL;

	for (size_t i = 0; i < c->count; i++)
		if (!strncmp(c->fields[i].text, name, size) && !c->fields[i].text[size])
			return;
	if (!size || c->count == PTRC_COMMON_FIELDS || memchr(name, '.', size) ||
	    memchr(name, '[', size))
		return;
	text = ptrc_cli_text("data.%.*s", (int)size, name);
	if (ptrc_field_find(text, layouts, f, &why)) {
		/* If the layouts are for pairs, it is nevertheless the field of the event itself. */
		f->is_of_begin = false;
		c->count++;
	}
}

/* Adds the fields of the event. The member `key` of JSON goes first, because events that have it are meant to be
 * paired by it. */
static void add_fields(struct ptrc_common *c, struct ptrc_view *view)
{
	const struct ptrc_layout_field *f;
	const struct ptrc_value *json;
	struct ptrc_json_text_member m;
	const char *at;

	for (size_t i = 0; (f = ptrc_layout_field(view->layout, i)); i++)
		add_field(c, view->layouts, f->name, strlen(f->name));
	if (!view->layout->is_json)
		return;
	json = ptrc_layout_whole(view->layout, ptrc_view_decode(view));
	add_field(c, view->layouts, PTRC_PAIR_KEY, strlen(PTRC_PAIR_KEY));
	at = json->bytes;
	while (json->kind == PTRC_VALUE_JSON &&
	       ptrc_json_text_next_member(&at, json->bytes + json->size, &m))
		add_field(c, view->layouts, m.name + 1, m.name_size - 2);
}

/* Returns 0 if the event lacks the field. */
static uint64_t hash_field(const struct ptrc_field *f, struct ptrc_view *view)
{
	struct ptrc_key k;
	uint64_t hash = 0;

	if (ptrc_key_make(&k, 0, 0, view, f))
		hash = ptrc_table_hash(k.bytes, k.size);
	ptrc_key_free(&k);
	return hash;
}

/* Makes the hashes of an event that begins a pair, while the common field is sought. */
static void take_begin(struct ptrc_common *c, struct ptrc_view *view, uint64_t hashes[])
{
	if (view->layout)
		add_fields(c, view);
	for (size_t i = 0; i < c->count; i++)
		hashes[i] = hash_field(&c->fields[i], view);
}

/* Finds the common field, if the end event has one of the fields. */
static void take_end(struct ptrc_common *c, struct ptrc_view *view, uint64_t hashes[])
{
	for (size_t i = 0; i < c->count; i++)
		if ((hashes[i] = hash_field(&c->fields[i], view))) {
			c->state = PTRC_COMMON_FOUND;
			c->found = i;
			return;
		}
	c->vain_count += c->count > 0;
	if (c->vain_count == VAIN_MAX)
		c->state = PTRC_COMMON_NONE;
}

void ptrc_common_take(struct ptrc_common *c, struct ptrc_view *view, bool is_end, uint64_t hashes[])
{
	bool is_again = view->is_again, is_decoded = view->is_decoded;

	/* Data that does not fit its layout counts only if it is decoded for another purpose, too. */
	view->is_again = true;
	if (c->state == PTRC_COMMON_FOUND)
		hashes[c->found] = hash_field(&c->fields[c->found], view);
	else if (c->state == PTRC_COMMON_SOUGHT)
		(is_end ? take_end : take_begin)(c, view, hashes);
	view->is_again = is_again;
	view->is_decoded = is_decoded;
}

const char *ptrc_common_name(const struct ptrc_common *c)
{
	return c->state == PTRC_COMMON_FOUND ? c->fields[c->found].text : NULL;
}
