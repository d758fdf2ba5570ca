/* SPDX-License-Identifier: MIT */
/*
 * The addon of the package for Node: event types as functions of JavaScript, which turn their arguments
 * into the data of an event. The rest of the package is JavaScript, see index.js.
 *
 * Layouts are parsed by the parser of the library and the commands, lib/model/layout.c. Each thread of
 * JavaScript (worker_threads) makes functions of its own; threads share nothing but the counter of keys.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <node_api.h>
#include <posixtrace.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>
#include <unistd.h>

#include "lib/base/common.h"
#include "lib/model/layout.h"

enum {
	/* The arguments that are fetched at once: more than most events have. */
	FEW_ARGUMENTS = 4,
	MESSAGE_BYTES = 1024,
	EVENT_NAME_MAX = 255,
	/* An escape in JSON, such as \ud800. */
	HALF_BYTES = 6,
	/* How much of a text a message shows. */
	SHOWN_BYTES = 80,
};

/* An event type: what its function needs to record an event. */
struct type {
	trace_event_id_t id;
	/* NULL if the events have no layout. */
	struct ptrc_layout_fields *layout;
	/* The number of arguments: one for each field that is no padding. */
	size_t argument_count;
	char name[];
};

/* One call of such a function. The data of the event is in `first`, or in allocated memory if it is
 * larger than that. */
struct call {
	napi_env env;
	const struct type *type;
	const struct ptrc_layout_field *field;
	char *data;
	size_t size, room;
	char first[1024];
};

/* ---- errors ---- */

/* napi_create_error, napi_create_type_error or napi_create_range_error. */
typedef napi_status create_error(napi_env, napi_value code, napi_value message, napi_value *);

/* Throws an error with this message. */
static void throw_text(napi_env env, create_error *create, const char *code, const char *text)
{
	napi_value error, message, word = NULL;

	if (code)
		napi_create_string_utf8(env, code, NAPI_AUTO_LENGTH, &word);
	if (!napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &message) &&
	    !create(env, word, message, &error))
		napi_throw(env, error);
}

/* Throws an error about an event type. `error` is an error number, whose name becomes the member `code`
 * of the error, as in errors of Node. */
__attribute__((format(printf, 4, 5))) static void refuse_type(napi_env env, const char *name,
							      int error, const char *format, ...)
{
	const char *code = error == EEXIST ? "EEXIST" : error == EINVAL ? "EINVAL" : NULL;
	char text[MESSAGE_BYTES];
	int used = snprintf(text, sizeof(text), "event type '%s': ", name);
	va_list values;

	va_start(values, format);
	vsnprintf(text + used, sizeof(text) - (size_t)used, format, values);
	va_end(values);
	throw_text(env, napi_create_error, code, text);
}

/* Throws an error about a value, which names the event and the field. Returns false, as do all functions
 * that convert a value if they have thrown an error. */
__attribute__((format(printf, 3, 4))) static bool refuse(struct call *c, create_error *create,
							 const char *format, ...)
{
	char text[2 * MESSAGE_BYTES];
	int used = snprintf(text, sizeof(text), "event '%s', field '%s': ", c->type->name,
			    *c->field->name ? c->field->name : "json");
	va_list values;

	va_start(values, format);
	vsnprintf(text + used, sizeof(text) - (size_t)used, format, values);
	va_end(values);
	throw_text(c->env, create, NULL, text);
	return false;
}

static bool refuse_kind(struct call *c, napi_value value, const char *wanted)
{
	static const char *const words[] = {
		[napi_undefined] = "undefined", [napi_null] = "null",
		[napi_boolean] = "a boolean",	[napi_number] = "a number",
		[napi_string] = "a string",	[napi_symbol] = "a symbol",
		[napi_object] = "an object",	[napi_function] = "a function",
		[napi_external] = "an object",	[napi_bigint] = "a bigint",
	};
	napi_valuetype kind = napi_undefined;

	napi_typeof(c->env, value, &kind);
	return refuse(c, napi_create_type_error, "%s is needed, not %s", wanted, words[kind]);
}

/* Refuses a number that the field cannot hold. */
static bool refuse_number(struct call *c, napi_value value)
{
	static const char *const words[] = {
		[PTRC_LAYOUT_UNSIGNED] = "u", [PTRC_LAYOUT_SIGNED] = "i",
		[PTRC_LAYOUT_HEX] = "x",      [PTRC_LAYOUT_FLOAT] = "f",
		[PTRC_LAYOUT_CODE] = "x",     [PTRC_LAYOUT_CALLER] = "x",
	};
	char number[64] = "";
	napi_value text;
	size_t size;

	if (!napi_coerce_to_string(c->env, value, &text))
		napi_get_value_string_utf8(c->env, text, number, sizeof(number), &size);
	return refuse(c, napi_create_range_error, "%s is no %s%d", number, words[c->field->kind],
		      8 * c->field->item_size);
}

/* ---- the data of an event ---- */

/* Makes room for so many further bytes. */
static bool reserve(struct call *c, size_t more)
{
	size_t room = 2 * (c->size + more);
	char *data;

	if (PTRC_LIKELY(more <= c->room - c->size))
		return true;
	data = realloc(c->data == c->first ? NULL : c->data, room);
	if (!data)
		return refuse(c, napi_create_error, "there is no memory for %zu bytes", room);
	if (c->data == c->first)
		memcpy(data, c->first, c->size);
	c->data = data;
	c->room = room;
	return true;
}

static bool put_zeros(struct call *c, size_t count)
{
	if (!reserve(c, count))
		return false;
	memset(c->data + c->size, 0, count);
	c->size += count;
	return true;
}

/* Converts a number of JavaScript, which must be an integer that the field can hold. */
static bool integer_of_double(const struct ptrc_layout_field *f, double x, uint64_t *u)
{
	bool is_signed = f->kind == PTRC_LAYOUT_SIGNED;
	double half = (double)(UINT64_C(1) << (8 * f->item_size - 1));

	if (is_signed ? !(x >= -half && x < half) : !(x >= 0 && x < 2 * half))
		return false;
	*u = is_signed ? (uint64_t)(int64_t)x : (uint64_t)x;
	return (is_signed ? (double)(int64_t)*u : (double)*u) == x;
}

static bool integer_of_bigint(struct call *c, napi_value value, uint64_t *u, bool *is_held)
{
	unsigned int unused_bits = 64 - 8 * (unsigned int)c->field->item_size;
	int64_t i;

	if (c->field->kind == PTRC_LAYOUT_SIGNED) {
		if (napi_get_value_bigint_int64(c->env, value, &i, is_held))
			return false;
		*u = (uint64_t)i;
		*is_held = *is_held && (int64_t)(*u << unused_bits) >> unused_bits == i;
		return true;
	}
	if (napi_get_value_bigint_uint64(c->env, value, u, is_held))
		return false;
	*is_held = *is_held && *u << unused_bits >> unused_bits == *u;
	return true;
}

/* Stores the value of the member of the enum with this name. */
static bool integer_of_member(struct call *c, napi_value value, uint64_t *u)
{
	const struct ptrc_layout_field *f = c->field;
	char name[PTRC_LAYOUT_NAME_MAX + 2], names[MESSAGE_BYTES - 200] = "";
	size_t size, used = 0;

	napi_get_value_string_utf8(c->env, value, name, sizeof(name), &size);
	for (uint32_t i = 0; i < f->member_count; i++) {
		if (strlen(f->members[i].name) == size && !strcmp(f->members[i].name, name)) {
			*u = f->members[i].value;
			return true;
		}
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 i ? ", " : "", f->members[i].name);
	}
	return refuse(c, napi_create_range_error, "'%s' is none of %s", name, names);
}

static bool integer(struct call *c, napi_value value, uint64_t *u)
{
	napi_valuetype kind;
	bool is_held;
	double x;

	if (PTRC_LIKELY(!napi_get_value_double(c->env, value, &x)))
		return integer_of_double(c->field, x, u) || refuse_number(c, value);
	if (integer_of_bigint(c, value, u, &is_held))
		return is_held || refuse_number(c, value);
	if (!c->field->member_count)
		return refuse_kind(c, value, "a number or bigint");
	if (napi_typeof(c->env, value, &kind) || kind != napi_string)
		return refuse_kind(c, value, "a number or the name of a member");
	return integer_of_member(c, value, u);
}

static bool put_number(struct call *c, napi_value value)
{
	char *to = c->data + c->size;
	uint64_t u;
	double x;
	float y;
	bool b;

	switch (c->field->kind) {
	case PTRC_LAYOUT_BOOL:
		if (napi_get_value_bool(c->env, value, &b))
			return refuse_kind(c, value, "a boolean");
		*to = b;
		break;
	case PTRC_LAYOUT_FLOAT:
		if (napi_get_value_double(c->env, value, &x))
			return refuse_kind(c, value, "a number");
		y = (float)x;
		if (c->field->item_size == sizeof(x))
			memcpy(to, &x, sizeof(x));
		else if (isinf(y) && !isinf(x))
			return refuse_number(c, value);
		else
			memcpy(to, &y, sizeof(y));
		break;
	default:
		if (!integer(c, value, &u))
			return false;
		memcpy(to, &u, c->field->item_size);
	}
	c->size += c->field->item_size;
	return true;
}

/* Adds the elements of an array or of a typed array. Getting an element may call JavaScript, which may throw. */
static bool put_array(struct call *c, napi_value value)
{
	uint32_t count = 0, wanted = c->field->count;
	bool is_array = false, is_typed = false;
	size_t typed_count;
	napi_value item;

	napi_is_array(c->env, value, &is_array);
	napi_is_typedarray(c->env, value, &is_typed);
	if (is_array) {
		napi_get_array_length(c->env, value, &count);
	} else if (is_typed) {
		napi_get_typedarray_info(c->env, value, NULL, &typed_count, NULL, NULL, NULL);
		count = (uint32_t)typed_count;
	} else {
		return refuse_kind(c, value, "an array");
	}
	if (wanted != PTRC_LAYOUT_COUNT_OPEN && count != wanted)
		return refuse(c, napi_create_range_error, "%u values are needed, not %u", wanted,
			      count);
	if (!reserve(c, (size_t)count * c->field->item_size))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (napi_get_element(c->env, value, i, &item) || !put_number(c, item))
			return false;
	}
	return true;
}

/* Returns whether the value is a Buffer or another view of memory; if so, adds its bytes. */
static bool put_view(struct call *c, napi_value value, bool *is_put)
{
	void *bytes;
	size_t size;
	bool is_view = false;

	napi_is_buffer(c->env, value, &is_view);
	if (!is_view)
		return false;
	*is_put = true;
	if (napi_get_buffer_info(c->env, value, &bytes, &size) || !size)
		return true;
	*is_put = reserve(c, size);
	if (*is_put) {
		memcpy(c->data + c->size, bytes, size);
		c->size += size;
	}
	return true;
}

/* Adds a string as UTF-8; U+FFFD replaces half of a surrogate pair. */
static bool put_string(struct call *c, napi_value value)
{
	/* napi_get_value_string_utf8() adds a null byte, and stops before a character that does not
	 * fit, which has 4 bytes at most. */
	enum { AT_END = 5 };
	size_t size;

	if (!reserve(c, AT_END + 1))
		return false;
	if (napi_get_value_string_utf8(c->env, value, c->data + c->size, c->room - c->size, &size))
		return refuse_kind(c, value, "a string or bytes");
	if (PTRC_UNLIKELY(size + AT_END > c->room - c->size)) {
		napi_get_value_string_utf8(c->env, value, NULL, 0, &size);
		if (!reserve(c, size + AT_END))
			return false;
		napi_get_value_string_utf8(c->env, value, c->data + c->size, c->room - c->size,
					   &size);
	}
	c->size += size;
	return true;
}

static bool put_text(struct call *c, napi_value value)
{
	bool is_put;

	return put_view(c, value, &is_put) ? is_put : put_string(c, value);
}

/* Adds a text, which its first null byte ends; if other fields follow, a null byte is added. */
static bool put_str(struct call *c, napi_value value, bool is_last)
{
	size_t begin = c->size;
	const char *end;

	if (!put_text(c, value))
		return false;
	end = memchr(c->data + begin, '\0', c->size - begin);
	if (end)
		c->size = (size_t)(end - c->data);
	return is_last || put_zeros(c, 1);
}

/* Adds a text in a field of fixed size: cuts it, or fills the field with null bytes. */
static bool put_chars(struct call *c, napi_value value)
{
	size_t end = c->size + c->field->size;

	if (!put_text(c, value))
		return false;
	if (c->size < end)
		return put_zeros(c, end - c->size);
	c->size = end;
	return true;
}

static bool put_bytes(struct call *c, napi_value value)
{
	bool is_put, is_view = false;
	size_t size;

	napi_is_buffer(c->env, value, &is_view);
	if (!is_view)
		return refuse_kind(c, value, "a Buffer or another view");
	if (c->field->size && !napi_get_buffer_info(c->env, value, NULL, &size) &&
	    size != c->field->size)
		return refuse(c, napi_create_range_error, "%zu bytes are needed, not %zu",
			      c->field->size, size);
	return put_view(c, value, &is_put) && is_put;
}

/* JSON.stringify() has thrown a TypeError, if the value is not one of JSON: throws another one, which names event
 * and field. Whatever else the program has thrown meanwhile is thrown again. */
static bool refuse_json(struct call *c, napi_value global)
{
	char text[MESSAGE_BYTES] = "";
	napi_value error, type, message;
	bool is_type_error = false;
	size_t size;

	if (napi_get_and_clear_last_exception(c->env, &error))
		return false;
	if (!napi_get_named_property(c->env, global, "TypeError", &type))
		napi_instanceof(c->env, error, type, &is_type_error);
	if (!is_type_error || napi_get_named_property(c->env, error, "message", &message) ||
	    napi_get_value_string_utf8(c->env, message, text, sizeof(text), &size)) {
		napi_throw(c->env, error);
		return false;
	}
	return refuse(c, napi_create_type_error, "%s", text);
}

/* Whether an escape such as \ud800 is here: half a surrogate pair. */
static bool is_half(const char *at, const char *end)
{
	return end - at >= HALF_BYTES && !memcmp(at, "\\ud", 3) && at[3] >= '8';
}

/* Replaces each half of a surrogate pair by U+FFFD in the JSON text at the end of the data. JSON.stringify()
 * writes such halves as escapes, which no reader takes; it writes a pair so only for JSON.rawJSON(). */
static void replace_halves(struct call *c, size_t begin)
{
	char *to = c->data + begin;
	const char *from = to, *end = c->data + c->size;
	size_t size;

	/* Most texts have none. */
	if (!memmem(from, c->size - begin, "\\ud", 3))
		return;
	while (from < end) {
		size = *from == '\\' && end - from > 1 ? 2 : 1;
		if (is_half(from, end)) {
			size = HALF_BYTES;
			if (from[3] < 'c' && is_half(from + size, end) && from[size + 3] >= 'c')
				size *= 2;
		}
		if (size == HALF_BYTES) {
			memcpy(to, "\xef\xbf\xbd", 3);
			to += 3;
		} else {
			memmove(to, from, size);
			to += size;
		}
		from += size;
	}
	c->size = (size_t)(to - c->data);
}

static bool put_json(struct call *c, napi_value value)
{
	napi_value global = NULL, json, stringify, text;
	napi_valuetype kind;
	size_t begin = c->size;

	if (napi_get_global(c->env, &global) ||
	    napi_get_named_property(c->env, global, "JSON", &json) ||
	    napi_get_named_property(c->env, json, "stringify", &stringify) ||
	    napi_call_function(c->env, json, stringify, 1, &value, &text))
		return refuse_json(c, global);
	if (napi_typeof(c->env, text, &kind) || kind != napi_string)
		return refuse_kind(c, value, "a value that JSON has");
	if (!put_string(c, text))
		return false;
	/* The members of a json without a name are fields. */
	if (!*c->field->name && c->data[begin] != '{')
		return refuse(c, napi_create_type_error, "an object is needed, not %.*s",
			      (int)(c->size - begin < SHOWN_BYTES ? c->size - begin : SHOWN_BYTES),
			      c->data + begin);
	replace_halves(c, begin);
	return true;
}

/* Adds the current field. */
static bool put(struct call *c, napi_value value, bool is_last)
{
	const struct ptrc_layout_field *f = c->field;
	size_t gap = c->type->layout->is_packed ? 0 : -c->size % f->item_size;

	if (!reserve(c, gap + sizeof(uint64_t)))
		return false;
	memset(c->data + c->size, 0, gap);
	c->size += gap;
	switch (f->kind) {
	case PTRC_LAYOUT_CHARS:
		return put_chars(c, value);
	case PTRC_LAYOUT_STRING:
		return put_str(c, value, is_last);
	case PTRC_LAYOUT_BYTES:
		return put_bytes(c, value);
	case PTRC_LAYOUT_JSON:
		return put_json(c, value);
	default:
		return f->count ? put_array(c, value) : put_number(c, value);
	}
}

/* ---- events ---- */

static void begin_call(struct call *c, napi_env env, const struct type *t)
{
	c->env = env;
	c->type = t;
	c->data = c->first;
	c->size = 0;
	c->room = sizeof(c->first);
}

static void end_call(struct call *c, bool is_put)
{
	if (is_put)
		posix_trace_event(c->type->id, c->data, c->size);
	if (c->data != c->first)
		free(c->data);
}

/* The function of an event type with a layout. */
static napi_value record(napi_env env, napi_callback_info info)
{
	napi_value values[PTRC_LAYOUT_FIELDS_MAX], *value = values;
	size_t count = FEW_ARGUMENTS;
	struct type *t;
	struct call c;
	bool is_put = true;

	if (!posixtrace_is_traced() ||
	    napi_get_cb_info(env, info, &count, values, NULL, (void **)&t))
		return NULL;
	if (PTRC_UNLIKELY(count != t->argument_count)) {
		char text[MESSAGE_BYTES];

		snprintf(text, sizeof(text), "event '%s': %zu values are needed, not %zu", t->name,
			 t->argument_count, count);
		throw_text(env, napi_create_type_error, NULL, text);
		return NULL;
	}
	if (count > FEW_ARGUMENTS)
		napi_get_cb_info(env, info, &count, values, NULL, NULL);
	begin_call(&c, env, t);
	for (size_t i = 0; is_put && i < t->layout->count; i++) {
		c.field = &t->layout->fields[i];
		if (c.field->kind == PTRC_LAYOUT_PADDING)
			is_put = put_zeros(&c, c.field->size);
		else
			is_put = put(&c, *value++, i + 1 == t->layout->count);
	}
	end_call(&c, is_put);
	return NULL;
}

/* The function of an event type without a layout: its data is a text, bytes or nothing. */
static napi_value record_plain(napi_env env, napi_callback_info info)
{
	static const struct ptrc_layout_field data = {.name = "data"};
	size_t count = 1;
	napi_value value;
	struct type *t;
	struct call c;

	if (!posixtrace_is_traced() ||
	    napi_get_cb_info(env, info, &count, &value, NULL, (void **)&t))
		return NULL;
	begin_call(&c, env, t);
	c.field = &data;
	if (count > 1)
		refuse(&c, napi_create_type_error, "at most one value is needed, not %zu", count);
	else
		end_call(&c, !count || put_text(&c, value));
	return NULL;
}

/* ---- event types ---- */

static void free_type(struct type *t)
{
	ptrc_layout_fields_free(t->layout);
	free(t);
}

static void finalize_type(napi_env env, void *type, void *hint)
{
	(void)env;
	(void)hint;
	free_type(type);
}

/* Parses the layout of a type. */
static bool parse(napi_env env, struct type *t, const char *layout, size_t size)
{
	struct ptrc_layout_mistake mistake;
	int error = ptrc_layout_parse(layout, size, &t->layout, &mistake);

	if (error == EINVAL)
		refuse_type(env, t->name, error, "layout '%.200s', column %zu: %s", layout,
			    mistake.column, mistake.reason);
	else if (error)
		refuse_type(env, t->name, error, "%s", strerror(error));
	for (size_t i = 0; !error && i < t->layout->count; i++) {
		const struct ptrc_layout_field *f = &t->layout->fields[i];

		if (f->kind != PTRC_LAYOUT_PADDING)
			t->argument_count++;
		if (!f->bits)
			continue;
		refuse_type(env, t->name, EINVAL,
			    "'%s' is a bit field, which cannot be recorded: use a whole integer",
			    f->name);
		error = EINVAL;
	}
	return !error;
}

/* Opens a type in the library. */
static bool open_type(napi_env env, struct type *t, const char *layout)
{
	int error = layout ? posixtrace_eventid_open_layout(t->name, layout, &t->id)
			   : posix_trace_eventid_open(t->name, &t->id);

	if (!error && t->id >= POSIX_TRACE_UNNAMED_USEREVENT)
		return true;
	if (!error)
		refuse_type(env, t->name, EINVAL, "it is a type of the trace system");
	else if (error == EEXIST)
		refuse_type(env, t->name, error, "it has another layout than '%.200s'", layout);
	else
		refuse_type(env, t->name, error, "it cannot be opened: %s", strerror(error));
	return false;
}

/* Returns the text of a string in allocated memory; NULL, and throws an error, if it is not a string. */
static char *text_of(napi_env env, napi_value value, const char *what, size_t *size)
{
	char *text;

	if (napi_get_value_string_utf8(env, value, NULL, 0, size)) {
		throw_text(env, napi_create_type_error, NULL, what);
		return NULL;
	}
	text = malloc(*size + 1);
	if (!text)
		throw_text(env, napi_create_error, NULL, strerror(ENOMEM));
	else
		napi_get_value_string_utf8(env, value, text, *size + 1, size);
	return text;
}

static struct type *make_type(napi_env env, napi_value name)
{
	size_t size;
	char *text = text_of(env, name, "the name of an event type is a string", &size);
	struct type *t = NULL;

	if (text && size > EVENT_NAME_MAX)
		throw_text(env, napi_create_range_error, NULL,
			   "the name of an event type has 255 bytes at most");
	else if (text && strlen(text) < size)
		throw_text(env, napi_create_range_error, NULL,
			   "the name of an event type cannot have a null byte");
	else if (text && !(t = calloc(1, sizeof(*t) + size + 1)))
		throw_text(env, napi_create_error, NULL, strerror(ENOMEM));
	if (t)
		memcpy(t->name, text, size);
	free(text);
	return t;
}

static napi_value function_of(napi_env env, struct type *t)
{
	napi_value function;

	if (napi_create_function(env, t->name, NAPI_AUTO_LENGTH, t->layout ? record : record_plain,
				 t, &function) ||
	    napi_add_finalizer(env, function, t, finalize_type, NULL, NULL)) {
		free_type(t);
		return NULL;
	}
	return function;
}

/* event(name, layout): opens an event type, and returns the function that records its events. */
static napi_value event(napi_env env, napi_callback_info info)
{
	napi_value values[2];
	size_t count = 2, size;
	napi_valuetype kind = napi_undefined;
	char *layout = NULL;
	struct type *t;
	bool is_open;

	if (napi_get_cb_info(env, info, &count, values, NULL, NULL))
		return NULL;
	t = make_type(env, values[0]);
	if (!t)
		return NULL;
	napi_typeof(env, values[1], &kind);
	if (kind == napi_undefined) {
		is_open = open_type(env, t, NULL);
	} else {
		layout = text_of(env, values[1], "a layout is a string, or an object of types",
				 &size);
		is_open = layout && parse(env, t, layout, size) && open_type(env, t, layout);
	}
	free(layout);
	if (is_open)
		return function_of(env, t);
	free_type(t);
	return NULL;
}

/* ---- the rest of the addon ---- */

/* Whether a stream traces this process. */
static napi_value is_traced(napi_env env, napi_callback_info info)
{
	napi_value value = NULL;

	(void)info;
	napi_get_boolean(env, posixtrace_is_traced(), &value);
	return value;
}

/* The version of the library. */
static napi_value version(napi_env env, napi_callback_info info)
{
	napi_value value = NULL;

	(void)info;
	napi_create_string_utf8(env, posixtrace_version(), NAPI_AUTO_LENGTH, &value);
	return value;
}

/* Returns a key for a span that no other span on the machine has, as one log may have the spans of several
 * processes: 22 bits of the process ID, then those of a counter. Python makes the same keys. */
static napi_value new_key(napi_env env, napi_callback_info info)
{
	static _Atomic uint64_t counter;
	uint64_t number = atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed) + 1;
	napi_value value = NULL;

	(void)info;
	napi_create_bigint_uint64(
		env, (uint64_t)getpid() << 42 | (number & ((UINT64_C(1) << 42) - 1)), &value);
	return value;
}

NAPI_MODULE_INIT()
{
	static const struct {
		const char *name;
		napi_callback call;
	} functions[] = {
		{"event", event},
		{"isTraced", is_traced},
		{"version", version},
		{"newKey", new_key},
	};
	napi_value function;

	for (size_t i = 0; i < PTRC_ARRAY_COUNT(functions); i++) {
		if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH,
					 functions[i].call, NULL, &function) ||
		    napi_set_named_property(env, exports, functions[i].name, function))
			return NULL;
	}
	return exports;
}
