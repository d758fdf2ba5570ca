/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/pairs/key.h"

#include <stdlib.h>
#include <string.h>

#include "src/cli/message.h"

void ptrc_key_begin(struct ptrc_key *k, size_t number)
{
	k->bytes = k->room;
	memcpy(k->bytes, &number, sizeof(number));
	k->size = sizeof(number);
}

static inline void add_bytes(struct ptrc_key *k, const void *bytes, size_t size)
{
	if (size > sizeof(k->room) - k->size) {
		unsigned char *grown = ptrc_cli_allocate(k->size + size);

		memcpy(grown, k->bytes, k->size);
		k->bytes = grown;
	}
	if (size)
		memcpy(k->bytes + k->size, bytes, size);
	k->size += size;
}

/* Adds what JSON says, so that a number and a text are as those of other fields. */
static void add_json(struct ptrc_key *k, struct ptrc_value v)
{
	struct ptrc_buffer b = PTRC_BUFFER_INIT;
	unsigned char kind = PTRC_VALUE_JSON;

	ptrc_value_settle(&v, &b);
	if (v.kind == PTRC_VALUE_JSON) {
		add_bytes(k, &kind, sizeof(kind));
		add_bytes(k, v.bytes, v.size);
	} else {
		ptrc_key_add(k, &v);
	}
	ptrc_buffer_free(&b);
}

void ptrc_key_add(struct ptrc_key *k, const struct ptrc_value *v)
{
	unsigned char kind = (unsigned char)v->kind;

	if (v->kind == PTRC_VALUE_JSON) {
		add_json(k, *v);
		return;
	}
	switch (v->kind) {
	case PTRC_VALUE_SIGNED:
		kind = v->i < 0 ? PTRC_VALUE_SIGNED : PTRC_VALUE_UNSIGNED;
		break;
	case PTRC_VALUE_HEX:
	case PTRC_VALUE_BOOL:
		kind = PTRC_VALUE_UNSIGNED;
		break;
	case PTRC_VALUE_FLOAT:
		kind = PTRC_VALUE_DOUBLE;
		break;
	case PTRC_VALUE_ENUM:
		/* Two enums may have other names for one number. */
		kind = v->is_signed && v->i < 0 ? PTRC_VALUE_SIGNED : PTRC_VALUE_UNSIGNED;
		break;
	default:
		break;
	}
	if (!ptrc_value_has_bytes(v) && kind != PTRC_VALUE_NONE) {
		unsigned char number[sizeof(kind) + sizeof(v->u)] = {kind};

		memcpy(number + sizeof(kind), &v->u, sizeof(v->u));
		add_bytes(k, number, sizeof(number));
		return;
	}
	add_bytes(k, &kind, sizeof(kind));
	if (ptrc_value_has_bytes(v))
		add_bytes(k, v->bytes, v->size);
}

bool ptrc_key_make(struct ptrc_key *k, size_t number, size_t source, struct ptrc_view *view,
		   const struct ptrc_field *by)
{
	const struct posix_trace_event_info *e = &view->reader->event;
	struct ptrc_value v;

	ptrc_key_begin(k, number);
	if (!by) {
		add_bytes(k, &source, sizeof(source));
		add_bytes(k, &e->posix_pid, sizeof(e->posix_pid));
		add_bytes(k, &e->posix_tid, sizeof(e->posix_tid));
		add_bytes(k, &e->posix_thread_id, sizeof(e->posix_thread_id));
		return true;
	}
	v = ptrc_view_value(view, by);
	if (v.kind == PTRC_VALUE_NONE)
		return false;
	ptrc_key_add(k, &v);
	return true;
}

void ptrc_key_free(struct ptrc_key *k)
{
	if (k->bytes != k->room)
		free(k->bytes);
}
