/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/view/view.h"

#include <stdio.h>
#include <string.h>

#include "src/cli/nearest.h"
#include "src/view/when.h"

enum { MEMBER_NAME_MAX = 80 };

static const struct field {
	const char *name;
	bool is_number;
} fields[] = {
	[PTRC_FIELD_TIME] = {"time", true},
	[PTRC_FIELD_NS] = {"ns", true},
	[PTRC_FIELD_EVENT] = {"event", false},
	[PTRC_FIELD_ID] = {"id", true},
	[PTRC_FIELD_PID] = {"pid", true},
	[PTRC_FIELD_TID] = {"tid", true},
	[PTRC_FIELD_THREAD] = {"thread", true},
	[PTRC_FIELD_ADDRESS] = {"address", true},
	[PTRC_FIELD_TRUNCATED] = {"truncated", false},
	[PTRC_FIELD_LEN] = {"len", true},
	[PTRC_FIELD_DATA] = {"data", false},
	[PTRC_FIELD_LOG] = {"log", false},
	[PTRC_FIELD_REASON] = {"reason", true},
	[PTRC_FIELD_ERROR] = {"error", true},
};

enum { FIELD_COUNT = sizeof(fields) / sizeof(*fields) };

/* Keys of the JSON that --fields=data puts; they are no fields themselves. */
static const char *const data_keys[] = {"data_hex", "decode_error", "filter", "old", "new"};

static const char member_prefix[] = "data.";
enum { PREFIX_BYTES = sizeof(member_prefix) - 1 };

const char *ptrc_field_name(enum ptrc_field_id id)
{
	return fields[id].name;
}

bool ptrc_field_is_number(const struct ptrc_field *f)
{
	return f->id < PTRC_FIELD_MEMBER && fields[f->id].is_number;
}

static void say_no_field(const char *name, const struct ptrc_layouts *l,
			 struct ptrc_cli_reason *why)
{
	struct ptrc_nearest nearest = {0};
	char members[64][MEMBER_NAME_MAX];
	char proposal[3 * MEMBER_NAME_MAX];

	for (size_t i = 0; i < FIELD_COUNT; i++)
		ptrc_nearest_offer(&nearest, name, fields[i].name);
	for (size_t i = 0; i < l->name_count && i < 64; i++) {
		snprintf(members[i], sizeof(members[i]), "%s%s", member_prefix, l->names[i]);
		ptrc_nearest_offer(&nearest, name, members[i]);
	}
	for (size_t i = 0; i < sizeof(data_keys) / sizeof(*data_keys); i++)
		if (!strcmp(name, data_keys[i])) {
			ptrc_cli_because(why, "'%s' is part of 'data' here", name);
			return;
		}
	if (!nearest.count && !strncmp(name, member_prefix, PREFIX_BYTES))
		ptrc_cli_because(why, "'%.80s' is in no layout; see --decode", name);
	else
		ptrc_cli_because(why, "events have no field '%.80s'%s", name,
				 ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
}

bool ptrc_field_find(const char *name, const struct ptrc_layouts *l, struct ptrc_field *f,
		     struct ptrc_cli_reason *why)
{
	for (size_t i = 0; i < FIELD_COUNT; i++)
		if (!strcmp(name, fields[i].name)) {
			*f = (struct ptrc_field){.id = (enum ptrc_field_id)i};
			return true;
		}
	if (!strncmp(name, member_prefix, PREFIX_BYTES)) {
		int number = ptrc_layouts_name(l, name + PREFIX_BYTES);

		if (number >= 0) {
			*f = (struct ptrc_field){PTRC_FIELD_MEMBER, number, l->names[number]};
			return true;
		}
	}
	say_no_field(name, l, why);
	return false;
}

void ptrc_view_find_layout(struct ptrc_view *v, const struct ptrc_layouts *layouts)
{
	trace_event_id_t id = v->reader->event.posix_event_id;
	size_t place = id < PTRC_READER_IDS ? id : 0;

	if (!v->is_type_looked_up[place]) {
		v->is_type_looked_up[place] = true;
		if (id >= POSIX_TRACE_UNNAMED_USEREVENT)
			v->layout_by_type[place] =
				ptrc_layouts_find(layouts, ptrc_reader_name(v->reader, id)->text);
	}
	v->layout = v->layout_by_type[place];
	v->is_decoded = false;
}

const struct ptrc_decoded *ptrc_view_decode(struct ptrc_view *v)
{
	if (!v->is_decoded) {
		ptrc_layout_decode(v->layout, v->reader->data, v->reader->size, &v->decoded);
		v->is_decoded = true;
	}
	return &v->decoded;
}

static void set_text(struct ptrc_value *v, const char *text, size_t size)
{
	v->kind = PTRC_VALUE_TEXT;
	v->bytes = text;
	v->size = size;
}

static void set_signed(struct ptrc_value *v, int64_t i)
{
	v->kind = PTRC_VALUE_SIGNED;
	v->i = i;
}

static void set_unsigned(struct ptrc_value *v, enum ptrc_value_kind kind, uint64_t u)
{
	v->kind = kind;
	v->u = u;
}

static void set_data(struct ptrc_value *v, const struct ptrc_reader *r)
{
	size_t size = r->size;

	/* Leaves out the null byte that ends a text. */
	ptrc_text_is_clean(r->data, &size);
	set_text(v, (const char *)r->data, size);
}

static void set_system_number(struct ptrc_value *v, const struct ptrc_reader *r,
			      trace_event_id_t id)
{
	int number;

	if (r->event.posix_event_id != id || r->size != sizeof(number))
		return;
	memcpy(&number, r->data, sizeof(number));
	set_signed(v, number);
}

static void set_member(struct ptrc_value *v, struct ptrc_view *view, int name)
{
	const struct ptrc_value *found;

	if (!view->layout)
		return;
	found = ptrc_layout_value(view->layout, ptrc_view_decode(view), name);
	if (found)
		*v = *found;
}

void ptrc_view_value(struct ptrc_view *view, const struct ptrc_field *f, struct ptrc_value *v)
{
	struct ptrc_reader *r = view->reader;
	const struct posix_trace_event_info *e = &r->event;
	const struct ptrc_reader_name *name;
	const char *text;

	_Static_assert(sizeof(pthread_t) == sizeof(uint64_t), "pthread_t is an address");
	memset(v, 0, sizeof(*v));
	switch (f->id) {
	case PTRC_FIELD_TIME:
	case PTRC_FIELD_NS:
		set_signed(v, ptrc_when_ns(&e->posix_timestamp));
		break;
	case PTRC_FIELD_EVENT:
		name = ptrc_reader_name(r, e->posix_event_id);
		set_text(v, name->text, name->size);
		break;
	case PTRC_FIELD_ID:
		set_unsigned(v, PTRC_VALUE_UNSIGNED, e->posix_event_id);
		break;
	case PTRC_FIELD_PID:
		set_signed(v, e->posix_pid);
		break;
	case PTRC_FIELD_TID:
		set_signed(v, e->posix_tid);
		break;
	case PTRC_FIELD_THREAD:
		set_unsigned(v, PTRC_VALUE_HEX, (uint64_t)e->posix_thread_id);
		break;
	case PTRC_FIELD_ADDRESS:
		set_unsigned(v, PTRC_VALUE_HEX, (uintptr_t)e->posix_prog_address);
		break;
	case PTRC_FIELD_TRUNCATED:
		text = ptrc_reader_truncation(r);
		set_text(v, text, strlen(text));
		break;
	case PTRC_FIELD_LEN:
		set_unsigned(v, PTRC_VALUE_UNSIGNED, r->size);
		break;
	case PTRC_FIELD_DATA:
		set_data(v, r);
		break;
	case PTRC_FIELD_LOG:
		set_text(v, r->path, strlen(r->path));
		break;
	case PTRC_FIELD_REASON:
		set_system_number(v, r, POSIX_TRACE_STOP);
		break;
	case PTRC_FIELD_ERROR:
		set_system_number(v, r, POSIX_TRACE_ERROR);
		break;
	case PTRC_FIELD_MEMBER:
		set_member(v, view, f->name);
		break;
	}
}
