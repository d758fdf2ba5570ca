/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/view.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/nearest.h"
#include "src/fields/json_text.h"
#include "src/fields/when.h"

enum { MEMBER_NAME_MAX = 80 };

/* The value of ptrc_field.name if no layout had the name when it was looked up, but a layout that is added later
 * may have it. */
enum { FOUND_LATER = -3 };

static const struct field {
	const char *name;
	unsigned char dimensions;
} fields[] = {
	[PTRC_FIELD_TIME] = {"time", PTRC_DIMENSION_MOMENT},
	[PTRC_FIELD_NS] = {"ns", PTRC_DIMENSION_NUMBER},
	[PTRC_FIELD_EVENT] = {"event", PTRC_DIMENSION_TEXT},
	[PTRC_FIELD_TYPE_ID] = {"type_id", PTRC_DIMENSION_NUMBER},
	[PTRC_FIELD_PID] = {"pid", PTRC_DIMENSION_NUMBER},
	[PTRC_FIELD_TID] = {"tid", PTRC_DIMENSION_NUMBER},
	[PTRC_FIELD_THREAD] = {"thread", PTRC_DIMENSION_NUMBER},
	[PTRC_FIELD_ADDRESS] = {"address", PTRC_DIMENSION_NUMBER},
	[PTRC_FIELD_TRUNCATED] = {"truncated", PTRC_DIMENSION_TEXT},
	[PTRC_FIELD_LEN] = {"len", PTRC_DIMENSION_NUMBER},
	/* Data without a layout may be text that reads as a number. */
	[PTRC_FIELD_DATA] = {"data", PTRC_DIMENSION_TEXT | PTRC_DIMENSION_NUMBER},
	[PTRC_FIELD_DATA_HEX] = {"data_hex", PTRC_DIMENSION_TEXT},
	[PTRC_FIELD_LOG] = {"log", PTRC_DIMENSION_TEXT},
	[PTRC_FIELD_REASON] = {"reason", PTRC_DIMENSION_NUMBER},
	[PTRC_FIELD_ERROR] = {"error", PTRC_DIMENSION_NUMBER},
	[PTRC_FIELD_HOST] = {"host", PTRC_DIMENSION_TEXT},
	[PTRC_FIELD_COMM] = {"comm", PTRC_DIMENSION_TEXT},
	[PTRC_FIELD_THREAD_NAME] = {"thread_name", PTRC_DIMENSION_TEXT},
	[PTRC_FIELD_EXE] = {"exe", PTRC_DIMENSION_TEXT},
	[PTRC_FIELD_USER] = {"user", PTRC_DIMENSION_NUMBER},
	[PTRC_FIELD_COMMAND_LINE] = {"command_line", PTRC_DIMENSION_TEXT},
	[PTRC_FIELD_FUNCTION] = {"function", PTRC_DIMENSION_TEXT},
	[PTRC_FIELD_FILE] = {"file", PTRC_DIMENSION_TEXT},
	[PTRC_FIELD_LINE] = {"line", PTRC_DIMENSION_NUMBER},
	[PTRC_FIELD_DURATION] = {"duration", PTRC_DIMENSION_DURATION},
	[PTRC_FIELD_PAIR] = {"pair", PTRC_DIMENSION_TEXT},
	[PTRC_FIELD_GAP] = {"gap", PTRC_DIMENSION_DURATION},
	[PTRC_FIELD_BOUND] = {"bound", PTRC_DIMENSION_DURATION},
};

enum { FIELD_COUNT = sizeof(fields) / sizeof(*fields) };

/* Keys of JSON objects that --fields=data may print, but that are not names of fields. */
static const char *const data_keys[] = {"decode_error", "filter", "old", "new"};

static const char member_prefix[] = "data.";
static const char word_characters[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
enum { PREFIX_BYTES = sizeof(member_prefix) - 1 };

const char *ptrc_field_name(enum ptrc_field_id id)
{
	return fields[id].name;
}

static bool is_of_pairs(size_t id)
{
	return id == PTRC_FIELD_DURATION || id == PTRC_FIELD_PAIR;
}

bool ptrc_field_is_of_source(enum ptrc_field_id id)
{
	return id == PTRC_FIELD_FUNCTION || id == PTRC_FIELD_FILE || id == PTRC_FIELD_LINE;
}

bool ptrc_field_is_number(const struct ptrc_field *f)
{
	return !(ptrc_field_dimensions(f) & (PTRC_DIMENSION_TEXT | PTRC_DIMENSION_BOOL |
					     PTRC_DIMENSION_BYTES | PTRC_DIMENSION_ARRAY));
}

unsigned int ptrc_field_dimensions(const struct ptrc_field *f)
{
	return f->id < PTRC_FIELD_MEMBER ? fields[f->id].dimensions : f->dimensions;
}

/* The name without "begin." or "end.", which say to which event of a pair a field belongs. */
static const char *skip_pair_prefix(const char *name)
{
	static const char *const prefixes[] = {"begin.", "end."};

	for (size_t i = 0; i < 2; i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return name + strlen(prefixes[i]);
	return name;
}

static void say_no_field(const char *name, const struct ptrc_layouts *l,
			 struct ptrc_cli_reason *why)
{
	struct ptrc_nearest nearest = {0}, of_data = {0};
	char members[64][MEMBER_NAME_MAX];
	char proposal[3 * MEMBER_NAME_MAX];
	const char *of_event = skip_pair_prefix(name);

	if (!l->is_for_pairs &&
	    (of_event != name || !strcmp(name, fields[PTRC_FIELD_DURATION].name) ||
	     !strcmp(name, fields[PTRC_FIELD_PAIR].name))) {
		ptrc_cli_because(why, "'%.80s' is a field of pairs, not of events", name);
		return;
	}
	name = of_event;
	for (size_t i = 0; i < FIELD_COUNT; i++)
		if (!is_of_pairs(i) || l->is_for_pairs)
			ptrc_nearest_offer(&nearest, name, fields[i].name);
	for (size_t i = 0; i < l->name_count && i < 64; i++) {
		snprintf(members[i], sizeof(members[i]), "%s%s", member_prefix, l->names[i]);
		if (*l->names[i])
			ptrc_nearest_offer(&nearest, name, members[i]);
	}
	/* "data" may be misspelt, as in dta.i, while its members are not known yet. */
	if (!nearest.count && strncmp(name, member_prefix, PREFIX_BYTES)) {
		size_t size = strcspn(name, ".");

		snprintf(members[0], sizeof(members[0]), "%.*s", (int)size, name);
		ptrc_nearest_offer(&of_data, members[0], "data");
		snprintf(members[0], sizeof(members[0]), "data%s", name + size);
		if (of_data.count && name[size])
			ptrc_nearest_offer(&nearest, name, members[0]);
	}
	for (size_t i = 0; i < sizeof(data_keys) / sizeof(*data_keys); i++)
		if (!strcmp(name, data_keys[i])) {
			ptrc_cli_because(why, "'%s' cannot be chosen alone: it is part of 'data'",
					 name);
			return;
		}
	if (l->has_json && !strncmp(name, member_prefix, PREFIX_BYTES))
		ptrc_cli_because(
			why,
			"'%.80s' is no path: data.KEY, data.KEY.KEY or data.KEY[N], where a KEY "
			"has letters, digits and _",
			name);
	else if (!nearest.count && !strncmp(name, member_prefix, PREFIX_BYTES))
		ptrc_cli_because(why, "no layout has a field '%.80s'; see --decode", name);
	else if (ptrc_layouts_name(l, name, strlen(name)) >= 0)
		ptrc_cli_because(why, "events have no field '%.80s' (did you mean 'data.%.80s'?)",
				 name, name);
	/* Members of the data are known only after the logs were opened, so the name may be that of a member. */
	else if (!nearest.count && l->is_open && !name[strspn(name, word_characters)])
		ptrc_cli_because(why,
				 "events have no field '%.80s'; fields of the data are written "
				 "data.NAME",
				 name);
	else
		ptrc_cli_because(why, "events have no field '%.80s'%s", name,
				 ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
}

/* Finds the field data.NAME, data.NAME[N], or a path into JSON data; `name` lacks the "data.". Returns false if
 * it does not exist, and may store the reason. */
static bool find_member(const char *name, const struct ptrc_layouts *l, struct ptrc_field *f,
			struct ptrc_cli_reason *why)
{
	size_t size = strcspn(name, ".[");
	const char *path = name + size;
	int number = ptrc_layouts_name(l, name, size);
	struct ptrc_layout_uses uses = ptrc_layouts_uses(l, number);
	unsigned long long index = 0;
	char end = 0;
	bool is_element = sscanf(path, "[%18llu%c", &index, &end) == 2 &&
			  isdigit((unsigned char)path[1]) && end == ']' && !strchr(path, ']')[1];

	*f = (struct ptrc_field){PTRC_FIELD_MEMBER, .name = number, .index = -1};
	if (number < 0 && size && l->is_open)
		f->name = FOUND_LATER;
	if (strlen(name) > PTRC_FIELD_TEXT_MAX)
		return false;
	strcpy(f->text, name);
	f->path = (unsigned char)size;
	f->dimensions = is_element ? uses.element_dimensions : uses.dimensions;
	/* A layout that is added later may have a field of this name, and of any type. */
	if (l->is_open)
		f->dimensions |= PTRC_DIMENSION_DURATION;
	/* A value in JSON may have any type. */
	if (l->is_open || l->has_json || number < 0)
		f->dimensions |= PTRC_DIMENSION_NUMBER | PTRC_DIMENSION_TEXT | PTRC_DIMENSION_BOOL;
	if (is_element)
		f->index = (int64_t)index;
	if (number >= 0 && (!*path || (is_element && index < uses.element_count)))
		return true;
	if (f->name == FOUND_LATER && (!*path || is_element || ptrc_json_text_is_path(path)))
		return true;
	if (uses.is_json && ptrc_json_text_is_path(path))
		return true;
	if (*path == '[' && !is_element && !l->has_json &&
	    (uses.element_count || f->name == FOUND_LATER))
		return ptrc_cli_because(
			why, "'data.%.80s': an element is data.%.*s[N], where N counts from 0",
			name, (int)size, name);
	/* Data may be a JSON text, so the name may be a key of its object, even if a layout has a field of this
	 * name. */
	if (l->has_json || (l->takes_unknown && number < 0)) {
		char whole[PTRC_FIELD_TEXT_MAX + 2] = ".";

		return ptrc_json_text_is_path(strcat(whole, name));
	}
	if (is_element && uses.element_count)
		ptrc_cli_because(why, "'data.%.80s': the array has %u elements, from 0 on", name,
				 uses.element_count);
	else if (number >= 0 && *path == '[')
		ptrc_cli_because(why, "'data.%.*s' is no array", (int)size, name);
	else if (number >= 0)
		ptrc_cli_because(why, "'data.%.*s' has no members: it is not JSON", (int)size,
				 name);
	return false;
}

bool ptrc_field_find(const char *name, const struct ptrc_layouts *l, struct ptrc_field *f,
		     struct ptrc_cli_reason *why)
{
	const char *of_event = l->is_for_pairs ? skip_pair_prefix(name) : name;
	bool is_of_begin = l->is_for_pairs && (of_event == name || *name == 'b');

	for (size_t i = 0; i < FIELD_COUNT; i++)
		if (is_of_pairs(i) ? l->is_for_pairs && !strcmp(name, fields[i].name)
				   : !strcmp(of_event, fields[i].name)) {
			*f = (struct ptrc_field){.id = (enum ptrc_field_id)i,
						 .is_of_begin = is_of_begin && !is_of_pairs(i)};
			return true;
		}
	*why->text = '\0';
	if (!strncmp(of_event, member_prefix, PREFIX_BYTES) &&
	    find_member(of_event + PREFIX_BYTES, l, f, why)) {
		f->is_of_begin = is_of_begin;
		return true;
	}
	if (!*why->text)
		say_no_field(name, l, why);
	return false;
}

bool ptrc_field_find_key(const char *name, const struct ptrc_layouts *l, struct ptrc_field *f,
			 struct ptrc_cli_reason *why)
{
	if (!ptrc_field_find(name, l, f, why))
		return false;
	if (f->id == PTRC_FIELD_TYPE_ID)
		return ptrc_cli_because(
			why, "'%s' is the number of the event type, and no field of the data",
			name);
	if (f->id == PTRC_FIELD_GAP || f->id == PTRC_FIELD_BOUND)
		return ptrc_cli_because(why, "'%s' is no key: it is another one in each event",
					name);
	return true;
}

/* Adds the layout that the source has for the event type. */
static void take_layout(struct ptrc_view *v, struct ptrc_layouts *layouts, trace_event_id_t id)
{
	char text[POSIXTRACE_LAYOUT_MAX + 1];
	struct ptrc_cli_reason why;
	const char *name;

	if (id <= POSIX_TRACE_UNNAMED_USEREVENT || !ptrc_reader_layout(v->reader, id, text))
		return;
	name = ptrc_reader_name(v->reader, id)->text;
	if (!ptrc_layouts_find(layouts, name) && !ptrc_layouts_add_told(layouts, text, &why))
		ptrc_cli_message(v->reader->path,
				 "the layout of event type %s cannot be read, so its data is not "
				 "decoded: %s",
				 name, why.text);
}

void ptrc_view_take_layouts(struct ptrc_view *v, struct ptrc_layouts *layouts)
{
	for (trace_event_id_t id = 0; id < PTRC_READER_IDS; id++)
		if (v->reader->types[id] && v->reader->types[id]->name.is_known)
			take_layout(v, layouts, id);
}

void ptrc_view_take_layout(struct ptrc_view *v, struct ptrc_layouts *layouts)
{
	trace_event_id_t id = v->reader->event.posix_event_id;

	if (ptrc_reader_type(v->reader, id)->has_sought_layout)
		return;
	take_layout(v, layouts, id);
	/* Sets has_sought_layout, so that this function returns early for the type from now on. As long as
	 * there are no layouts, a query calls ptrc_view_layout() only here. */
	ptrc_view_layout(v, layouts, id);
}

const struct ptrc_layout *ptrc_view_layout(struct ptrc_view *v, const struct ptrc_layouts *layouts,
					   trace_event_id_t id)
{
	struct ptrc_type *type = ptrc_reader_type(v->reader, id);
	char text[POSIXTRACE_LAYOUT_MAX + 1];

	v->layouts = layouts;
	if (!type->has_sought_layout) {
		type->has_sought_layout = true;
		if (id >= POSIX_TRACE_UNNAMED_USEREVENT)
			type->layout = ptrc_layouts_find(layouts, type->name.text);
		if (!type->layout && id > POSIX_TRACE_UNNAMED_USEREVENT &&
		    ptrc_reader_layout(v->reader, id, text))
			type->layout = ptrc_layouts_find_told(layouts, text);
	}
	return type->layout;
}

void ptrc_view_find_layout(struct ptrc_view *v, const struct ptrc_layouts *layouts)
{
	v->layout = ptrc_view_layout(v, layouts, v->reader->event.posix_event_id);
	v->is_decoded = false;
}

/* Counts, for its event type, the event that was just decoded and does not fit its layout. */
static void add_misfit(struct ptrc_view *v)
{
	struct ptrc_misfits one = {
		.short_count = v->decoded.error == PTRC_LAYOUT_SHORT,
		.rest_count = v->decoded.error == PTRC_LAYOUT_REST,
		.not_json_count = v->decoded.error == PTRC_LAYOUT_NOT_JSON,
		.least = v->reader->size,
		.most = v->reader->size,
	};

	ptrc_misfits_add(&ptrc_reader_type(v->reader, v->reader->event.posix_event_id)->misfits,
			 &one);
}

const struct ptrc_decoded *ptrc_view_decode(struct ptrc_view *v)
{
	if (!v->is_decoded) {
		ptrc_layout_decode(v->layout, v->reader->data, v->reader->size, &v->decoded);
		v->is_decoded = true;
		if (v->decoded.error != PTRC_LAYOUT_FITS && !v->is_again && !v->is_counted)
			add_misfit(v);
	}
	return &v->decoded;
}

const struct ptrc_value *ptrc_view_member(struct ptrc_view *v, const struct ptrc_layouts *layouts,
					  const char *name)
{
	int number = ptrc_layouts_name(layouts, name, strlen(name));

	if (!v->layout || number < 0)
		return NULL;
	return ptrc_layout_value(v->layout, ptrc_view_decode(v), number);
}

static struct ptrc_value signed_value(int64_t i)
{
	return (struct ptrc_value){.kind = PTRC_VALUE_SIGNED, .i = i};
}

static struct ptrc_value unsigned_value(enum ptrc_value_kind kind, uint64_t u)
{
	return (struct ptrc_value){.kind = kind, .u = u};
}

static struct ptrc_value bytes_value(enum ptrc_value_kind kind, const void *bytes, size_t size)
{
	return (struct ptrc_value){.kind = kind, .bytes = bytes, .size = size};
}

/* The text as a value. For NULL the value has the kind PTRC_VALUE_NONE. */
static struct ptrc_value text_value(const char *text)
{
	return text ? bytes_value(PTRC_VALUE_TEXT, text, strlen(text)) : (struct ptrc_value){0};
}

/* Without data there are no digits, unless the layout wants data: JSON then has data_hex next to data. Always decodes,
 * so that the number of events that do not fit their layout is complete. */
static struct ptrc_value hex_value(struct ptrc_view *view)
{
	const struct ptrc_reader *r = view->reader;
	bool fits = !view->layout || ptrc_view_decode(view)->error == PTRC_LAYOUT_FITS;

	return bytes_value(fits && !r->size ? PTRC_VALUE_NONE : PTRC_VALUE_BYTES, r->data, r->size);
}

static struct ptrc_value data_value(const struct ptrc_reader *r)
{
	size_t size = r->size;

	/* Leaves out the null byte at the end of a text, if there is one. */
	ptrc_text_is_clean(r->data, &size);
	return bytes_value(PTRC_VALUE_TEXT, r->data, size);
}

/* An enum whose number is 0 if the data is complete, so that the field alone is a condition. */
static struct ptrc_value truncation_value(const struct ptrc_reader *r)
{
	struct ptrc_value v = text_value(ptrc_reader_truncation(r));

	v.kind = PTRC_VALUE_ENUM;
	v.u = (uint64_t)r->event.posix_truncation_status;
	return v;
}

/* The number that is the data of a system event of type `id`. If the latest event has another type,
 * a value of the kind PTRC_VALUE_NONE. */
static struct ptrc_value system_value(const struct ptrc_reader *r, trace_event_id_t id)
{
	int number;

	if (r->event.posix_event_id != id || r->size != sizeof(number))
		return (struct ptrc_value){0};
	memcpy(&number, r->data, sizeof(number));
	return signed_value(number);
}

static struct ptrc_value host_value(struct ptrc_view *view)
{
	const char *label = view->reader->label;
	struct posixtrace_log_host host;

	if (label)
		return text_value(label);
	if (!view->has_host && !posixtrace_log_get_host(view->reader->trace, &host, sizeof(host)))
		memcpy(view->host, host.ph_name, sizeof(view->host));
	view->has_host = true;
	return text_value(*view->host ? view->host : NULL);
}

size_t ptrc_command_line(const struct posixtrace_log_process *p, char text[PTRC_COMMAND_LINE_BYTES])
{
	size_t size = p->pp_command_line_size;

	if (size > PTRC_COMMAND_LINE_BYTES)
		size = PTRC_COMMAND_LINE_BYTES;
	if (size)
		memcpy(text, p->pp_command_line, size);
	while (size && !text[size - 1])
		size--;
	for (size_t i = 0; i < size; i++)
		if (!text[i])
			text[i] = ' ';
	return size;
}

static struct ptrc_value process_value(struct ptrc_view *view, enum ptrc_field_id id)
{
	struct posixtrace_log_process p;

	if (posixtrace_log_get_process(view->reader->trace, ptrc_reader_process(view->reader), &p,
				       sizeof(p)))
		return (struct ptrc_value){0};
	if (id == PTRC_FIELD_COMM && p.pp_is_known)
		return bytes_value(PTRC_VALUE_TEXT, p.pp_name, p.pp_name_size);
	if (id == PTRC_FIELD_EXE && p.pp_executable_size)
		return bytes_value(PTRC_VALUE_TEXT, p.pp_executable, p.pp_executable_size);
	if (id == PTRC_FIELD_USER && p.pp_has_user)
		return unsigned_value(PTRC_VALUE_UNSIGNED, p.pp_user);
	if (id == PTRC_FIELD_COMMAND_LINE && p.pp_has_command_line)
		return bytes_value(PTRC_VALUE_TEXT, view->command_line,
				   ptrc_command_line(&p, view->command_line));
	return (struct ptrc_value){0};
}

/* The name of the event's thread. The first thread of a process has the name of the process. An event that was
 * recorded on behalf of a process has no thread. */
static struct ptrc_value thread_name_value(struct ptrc_view *view)
{
	const struct posix_trace_event_info *e = &view->reader->event;
	struct posixtrace_log_thread t;
	unsigned long index;

	if (e->posix_pid && e->posix_tid == e->posix_pid)
		return process_value(view, PTRC_FIELD_COMM);
	if (posixtrace_log_find_thread(view->reader->trace, e->posix_pid, e->posix_tid,
				       ptrc_reader_log_time(view->reader), &index) ||
	    posixtrace_log_get_thread(view->reader->trace, index, &t, sizeof(t)))
		return (struct ptrc_value){0};
	return bytes_value(PTRC_VALUE_TEXT, t.pt_name, t.pt_name_size);
}

/* The place in the source code of the call that returns to the address, in the process of the event. */
static const struct ptrc_symbol *find_symbol(struct ptrc_view *view, uint64_t address)
{
	static const struct ptrc_symbol none;
	const struct ptrc_reader *r = view->reader;
	unsigned long process = view->symbols && address ? ptrc_reader_process(r) : ULONG_MAX;

	if (process == ULONG_MAX)
		return &none;
	return ptrc_symbols_find(view->symbols, &view->symbol_cache, r->trace, process, address,
				 r->source);
}

const struct ptrc_symbol *ptrc_view_symbol(struct ptrc_view *view)
{
	return find_symbol(view, (uintptr_t)view->reader->event.posix_prog_address);
}

const struct ptrc_symbol *ptrc_view_symbol_of(struct ptrc_view *view,
					      const struct ptrc_layout_field *f, uint64_t index,
					      const struct ptrc_value *v)
{
	bool is_call = f->kind == PTRC_LAYOUT_CALLER || (index && ptrc_layout_is_stack(f));

	/* find_symbol() takes a return address, which is after the call, and subtracts 1. If the value is an
	 * address within the function itself, 1 is added before. */
	return find_symbol(view, is_call || !v->u ? v->u : v->u + 1);
}

static struct ptrc_value symbol_value(struct ptrc_view *view, enum ptrc_field_id id)
{
	const struct ptrc_symbol *s = ptrc_view_symbol(view);

	if (id == PTRC_FIELD_LINE)
		return s->line ? signed_value(s->line) : (struct ptrc_value){0};
	return text_value(id == PTRC_FIELD_FUNCTION ? s->function : s->file);
}

void ptrc_view_free(struct ptrc_view *view)
{
	free(view->decoded.values);
	free(view->symbol_cache);
}

/* Replaces the value *v: an array by its element f->index, JSON by the value to which `path` leads in it. */
static __attribute__((noinline)) void follow_path(const struct ptrc_field *f, const char *path,
						  struct ptrc_value *v)
{
	struct ptrc_value from = *v;

	*v = (struct ptrc_value){0};
	if (from.kind == PTRC_VALUE_ARRAY && f->index >= 0)
		ptrc_value_element(&from, (uint64_t)f->index, v);
	else if (from.kind == PTRC_VALUE_JSON &&
		 ptrc_json_text_find(from.bytes, from.size, path, &v->bytes, &v->size))
		v->kind = PTRC_VALUE_JSON;
}

int ptrc_field_number(const struct ptrc_field *f, const struct ptrc_layouts *layouts)
{
	return __builtin_expect(f->name == FOUND_LATER, 0)
		       ? ptrc_layouts_name(layouts, f->text, f->path)
		       : f->name;
}

static void get_member(struct ptrc_view *view, const struct ptrc_field *f, struct ptrc_value *v)
{
	char path_in_whole[PTRC_FIELD_TEXT_MAX + 2];
	const struct ptrc_reader *r = view->reader;
	const struct ptrc_value *found;
	const char *path = f->text + f->path;
	int name;

	if (!view->layout) {
		*v = (struct ptrc_value){0};
		return;
	}
	name = ptrc_field_number(f, view->layouts);
	if (!ptrc_layout_pick(view->layout, r->data, r->size, name, v)) {
		found = ptrc_layout_value(view->layout, ptrc_view_decode(view), name);
		if (!found && (found = ptrc_layout_whole(view->layout, &view->decoded))) {
			stpcpy(stpcpy(path_in_whole, "."), f->text);
			path = path_in_whole;
		}
		*v = found ? *found : (struct ptrc_value){0};
	}
	if (__builtin_expect(*path, 0))
		follow_path(f, path, v);
}

/* The value of one of the fields that ptrc_view_get() does not store itself. */
static struct ptrc_value other_value(struct ptrc_view *view, enum ptrc_field_id id)
{
	struct ptrc_reader *r = view->reader;
	const struct posix_trace_event_info *e = &r->event;
	int64_t bound;

	_Static_assert(sizeof(pthread_t) == sizeof(uint64_t), "pthread_t is an address");
	switch (id) {
	case PTRC_FIELD_TIME:
	case PTRC_FIELD_NS:
		return signed_value(ptrc_when_ns(&e->posix_timestamp));
	case PTRC_FIELD_EVENT:
		return text_value(ptrc_reader_name(r, e->posix_event_id)->text);
	case PTRC_FIELD_THREAD:
		return unsigned_value(PTRC_VALUE_HEX, (uint64_t)e->posix_thread_id);
	case PTRC_FIELD_ADDRESS:
		return unsigned_value(PTRC_VALUE_HEX, (uintptr_t)e->posix_prog_address);
	case PTRC_FIELD_TRUNCATED:
		return truncation_value(r);
	case PTRC_FIELD_DATA:
		return data_value(r);
	case PTRC_FIELD_DATA_HEX:
		return hex_value(view);
	case PTRC_FIELD_LOG:
		return text_value(r->path);
	case PTRC_FIELD_REASON:
		return system_value(r, POSIX_TRACE_STOP);
	case PTRC_FIELD_ERROR:
		return system_value(r, POSIX_TRACE_ERROR);
	case PTRC_FIELD_HOST:
		return host_value(view);
	case PTRC_FIELD_THREAD_NAME:
		return thread_name_value(view);
	case PTRC_FIELD_COMM:
	case PTRC_FIELD_EXE:
	case PTRC_FIELD_USER:
	case PTRC_FIELD_COMMAND_LINE:
		return process_value(view, id);
	case PTRC_FIELD_FUNCTION:
	case PTRC_FIELD_FILE:
	case PTRC_FIELD_LINE:
		return symbol_value(view, id);
	case PTRC_FIELD_DURATION:
		return unsigned_value(PTRC_VALUE_UNSIGNED, view->duration_ns);
	case PTRC_FIELD_PAIR:
		return text_value(view->pair);
	case PTRC_FIELD_GAP:
		if (r->since_before == PTRC_THREAD_GAP_NONE)
			return (struct ptrc_value){0};
		return signed_value(r->since_before);
	case PTRC_FIELD_BOUND:
		bound = ptrc_reader_bound(r);
		return bound == PTRC_BOUND_UNKNOWN ? (struct ptrc_value){0} : signed_value(bound);
	default:
		return (struct ptrc_value){0};
	}
}

void ptrc_view_get(struct ptrc_view *view, const struct ptrc_field *f, struct ptrc_value *v)
{
	if (__builtin_expect(f->is_of_begin, 0))
		view = view->begin;
	/* The most frequent fields are stored right here: returning and copying a structure would take longer
	 * than the rest of a comparison. */
	v->kind = PTRC_VALUE_UNSIGNED;
	v->unit = PTRC_UNIT_NONE;
	switch (f->id) {
	case PTRC_FIELD_LEN:
		v->u = view->reader->size;
		return;
	case PTRC_FIELD_TYPE_ID:
		v->u = view->reader->event.posix_event_id;
		return;
	case PTRC_FIELD_PID:
		v->kind = PTRC_VALUE_SIGNED;
		v->i = view->reader->event.posix_pid;
		return;
	case PTRC_FIELD_TID:
		v->kind = PTRC_VALUE_SIGNED;
		v->i = view->reader->event.posix_tid;
		return;
	case PTRC_FIELD_MEMBER:
		get_member(view, f, v);
		return;
	default:
		*v = other_value(view, f->id);
	}
}

struct ptrc_value ptrc_view_value(struct ptrc_view *view, const struct ptrc_field *f)
{
	struct ptrc_value v = {0};

	ptrc_view_get(view, f, &v);
	return v;
}

/* Does the work of ptrc_view_has_lost() for a member of data that has a layout. */
static bool has_lost_member(struct ptrc_view *view, const struct ptrc_field *f)
{
	const struct ptrc_reader *r = view->reader;
	const struct ptrc_decoded *d = ptrc_view_decode(view);
	int name = ptrc_field_number(f, view->layouts);
	struct ptrc_value v = {0};

	/* If the layout has no such field, even complete data would not have it. */
	if (!ptrc_layout_value(view->layout, d, name) && !ptrc_layout_whole(view->layout, d))
		return false;
	get_member(view, f, &v);
	if (v.kind == PTRC_VALUE_NONE)
		return ptrc_view_is_maimed(view);
	/* A value that ends where the data was cut may have been longer. */
	return ptrc_view_is_cut(view) && ptrc_value_has_bytes(&v) &&
	       (const unsigned char *)v.bytes + v.size == (const unsigned char *)r->data + r->size;
}

bool ptrc_view_has_lost(struct ptrc_view *view, const struct ptrc_field *f)
{
	if (f->is_of_begin)
		view = view->begin;
	switch (f->id) {
	case PTRC_FIELD_DATA:
	case PTRC_FIELD_DATA_HEX:
	case PTRC_FIELD_LEN:
		return ptrc_view_is_cut(view);
	case PTRC_FIELD_MEMBER:
		return view->layout && has_lost_member(view, f);
	default:
		return false;
	}
}
