/* SPDX-License-Identifier: MIT */
/*
 * OTLP, the protocol of OpenTelemetry, as lines of JSON: each line is an ExportTraceServiceRequest or an
 * ExportLogsServiceRequest. Pairs are spans, all other events are log records. A line has the spans, or the
 * records, of several processes, each process with its resource. The numbers of traces and spans are made of the
 * logs' own numbers and the number of the span, so the same logs give the same bytes.
 */
#include "config.h"
#include "src/export/format.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/json.h"
#include "src/base/message.h"
#include "src/fields/json_text.h"
#include "src/text/event_format.h"

/* A line ends when its items and resources have this many bytes. By default, OpenTelemetry's collector reads
 * lines of up to 1 MiB. */
enum { LINE_BYTES = 256 * 1024 };

/* A JSON object with more members than this is put as one text, not as attributes. Programs of
 * OpenTelemetry have this limit, too. */
enum { MEMBERS_MAX = 128 };

enum { KIND_INTERNAL = 1 };
enum { SEVERITY_INFO = 9, SEVERITY_WARN = 13 };

enum item { ITEM_SPAN, ITEM_RECORD, ITEMS };

/* For each kind of item: the start of a line, and the text between a resource and its items. */
static const struct {
	const char *begin, *items;
} words[ITEMS] = {
	[ITEM_SPAN] = {"{\"resourceSpans\":[",
		       "\"scopeSpans\":[{\"scope\":{\"name\":\"posixtrace\","
		       "\"version\":\"" PACKAGE_VERSION "\"},\"spans\":["},
	[ITEM_RECORD] = {"{\"resourceLogs\":[",
			 "\"scopeLogs\":[{\"scope\":{\"name\":\"posixtrace\",\"version\":"
			 "\"" PACKAGE_VERSION "\"},\"logRecords\":["},
};

/* A resource of OTLP, a process or the trace system: attributes that its items (spans or records) share. */
struct resource {
	/* The attributes as JSON. */
	struct ptrc_buffer attributes;
	/* The items that wait until the line is put, separated by commas. */
	struct ptrc_buffer items[ITEMS];
	/* Element k: the next one in the list of resources with waiting items of kind k; NULL at its end. */
	struct resource *next[ITEMS];
};

struct otlp {
	/* The numbers of traces and spans are made from this number. */
	uint64_t seed;
	/* The resources of processes. The index is the number of the process minus 1; an element is NULL until it
	 * is needed. */
	struct resource **processes;
	size_t process_count;
	/* For each source, by its order, the resource of the records about its losses; NULL until needed. */
	struct resource **losses;
	/* The list of resources with waiting items, in the order of the line, and the bytes that these items
	 * and the resources' attributes take. */
	struct resource *first[ITEMS], *last[ITEMS];
	size_t bytes[ITEMS];
	/* Scratch space for text. */
	struct ptrc_buffer text;
};

/* ---- numbers of traces and spans ---- */

/* The finalizer of splitmix64. Different numbers give different results. */
static uint64_t mix(uint64_t n)
{
	n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
	return n ^ n >> 31;
}

static void add_bytes(uint64_t *seed, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		*seed = mix(*seed ^ (unsigned char)bytes[i]);
}

/* Returns the log's own number; for a session that has none yet, the time at which its stream was created. */
static uint64_t source_number(const struct ptrc_reader *r)
{
	struct ptrc_reading_place place;

	if (!ptrc_log_get_place(r->trace, &place))
		return place.pl_log_id;
	return (uint64_t)r->attributes.creation_s * 1000000000 +
	       (uint64_t)r->attributes.creation_ns;
}

/* Makes the seed from the numbers of all logs, and from the pairs that the user has given: with other pairs, the
 * same number would mean another span. */
static void begin(struct ptrc_export *x)
{
	struct otlp *o = x->state;
	uint64_t seed = 0;

	for (size_t i = 0; i < x->query->source_count; i++)
		seed = mix(seed ^ source_number(&x->query->sources[i].reader));
	for (size_t i = 0; i < x->pairs->given_count; i++) {
		ptrc_pair_put_whole_name(&o->text, &x->pairs->list[i]);
		ptrc_buffer_char(&o->text, '\n');
	}
	add_bytes(&seed, o->text.bytes, o->text.used);
	o->seed = seed;
}

/* Returns the number that the span has in OTLP. OTLP does not allow 0. */
static inline uint64_t span_id(const struct otlp *o, uint64_t number)
{
	uint64_t id = mix(o->seed + number * UINT64_C(0x9e3779b97f4a7c15));

	return __builtin_expect(id != 0, 1) ? id : 1;
}

static inline void put_id(struct ptrc_buffer *b, uint64_t id)
{
	uint64_t big_endian = __builtin_bswap64(id);

	ptrc_buffer_hex_bytes(b, &big_endian, sizeof(big_endian));
}

/* Puts the number of the span's trace and the number of the span. A span and all spans within it form a trace,
 * whose number ends with the number of the outermost span. */
static void put_ids(const struct otlp *o, struct ptrc_buffer *b,
		    const struct ptrc_export_span *span)
{
	ptrc_buffer_text(b, "\"traceId\":\"");
	put_id(b, mix(o->seed));
	put_id(b, span_id(o, span->root));
	ptrc_buffer_text(b, "\",\"spanId\":\"");
	put_id(b, span_id(o, span->number));
	ptrc_buffer_char(b, '"');
}

/* ---- attributes ---- */

/* A list of attributes, whose keys get the prefix. */
struct list {
	struct ptrc_buffer *buffer;
	const char *prefix;
	bool is_first;
};

/* Opens an attribute and its value. The attribute's key is the list's prefix, `group` and `key`, all three escaped
 * for JSON already. */
static void open_value(struct list *l, const char *group, const char *key, size_t key_size)
{
	struct ptrc_buffer *b = l->buffer;

	if (!l->is_first)
		ptrc_buffer_char(b, ',');
	l->is_first = false;
	ptrc_buffer_text(b, "{\"key\":\"");
	ptrc_buffer_text(b, l->prefix);
	ptrc_buffer_text(b, group);
	ptrc_buffer_bytes(b, key, key_size);
	ptrc_buffer_text(b, "\",\"value\":{");
}

static inline void close_value(struct list *l)
{
	ptrc_buffer_text(l->buffer, "}}");
}

static void put_text(struct list *l, const char *key, const char *text, size_t size)
{
	open_value(l, "", key, strlen(key));
	ptrc_buffer_text(l->buffer, "\"stringValue\":");
	ptrc_text_json(l->buffer, text, size);
	close_value(l);
}

static void put_word(struct list *l, const char *key, const char *word)
{
	put_text(l, key, word, strlen(word));
}

static void put_number(struct list *l, const char *key, int64_t number)
{
	open_value(l, "", key, strlen(key));
	ptrc_buffer_text(l->buffer, "\"intValue\":\"");
	ptrc_buffer_i64(l->buffer, number);
	ptrc_buffer_char(l->buffer, '"');
	close_value(l);
}

static void put_true(struct list *l, const char *key)
{
	open_value(l, "", key, strlen(key));
	ptrc_buffer_text(l->buffer, "\"boolValue\":true");
	close_value(l);
}

static void put_bytes(struct ptrc_buffer *b, const void *bytes, size_t size)
{
	ptrc_buffer_text(b, "\"bytesValue\":\"");
	ptrc_buffer_base64(b, bytes, size);
	ptrc_buffer_char(b, '"');
}

static void put_double(struct ptrc_buffer *b, const struct ptrc_value *v)
{
	struct ptrc_value plain = {.kind = v->kind, .f = v->f};
	struct ptrc_json j = {b, true};

	if (isnan(v->f))
		ptrc_buffer_text(b, "\"doubleValue\":\"NaN\"");
	else if (isinf(v->f))
		ptrc_buffer_text(b, v->f < 0 ? "\"doubleValue\":\"-Infinity\""
					     : "\"doubleValue\":\"Infinity\"");
	else
		ptrc_value_json(&j, "doubleValue", &plain);
}

/* Whether OTLP can hold this number of a JSON text: as an integer of 64 bits or, if it is no integer, as a double. */
static bool has_number(const char *digits, size_t size, bool is_integer)
{
	char copy[400];

	if (size >= sizeof(copy))
		return false;
	memcpy(copy, digits, size);
	copy[size] = '\0';
	errno = 0;
	if (!is_integer)
		return isfinite(strtod(copy, NULL));
	(void)strtoll(copy, NULL, 10);
	return !errno;
}

/* Puts a number of a JSON text: as a number if OTLP can hold it, else as text. */
static void put_json_number(struct ptrc_buffer *b, const char *digits, size_t size)
{
	bool is_integer = true;
	bool is_fraction;

	for (size_t i = 0; i < size; i++)
		is_integer = is_integer && !strchr(".eE", digits[i]);
	is_fraction = !is_integer && has_number(digits, size, false);
	if (is_fraction)
		ptrc_buffer_text(b, "\"doubleValue\":");
	else if (is_integer && has_number(digits, size, true))
		ptrc_buffer_text(b, "\"intValue\":\"");
	else
		ptrc_buffer_text(b, "\"stringValue\":\"");
	ptrc_buffer_bytes(b, digits, size);
	if (!is_fraction)
		ptrc_buffer_char(b, '"');
}

/* Puts a JSON text as a value: a text, a number or a boolean as such, null as an empty value, and anything else
 * as text. */
static void put_json_value(struct ptrc_buffer *b, struct ptrc_buffer *room, const char *text,
			   size_t size)
{
	switch (*text) {
	case '"':
		ptrc_buffer_text(b, "\"stringValue\":");
		ptrc_json_text_put(b, text, size, false);
		return;
	case 't':
	case 'f':
		ptrc_buffer_text(b, "\"boolValue\":");
		ptrc_buffer_bytes(b, text, size);
		return;
	case 'n':
		return;
	case '{':
	case '[':
		room->used = 0;
		ptrc_json_text_put(room, text, size, false);
		ptrc_buffer_text(b, "\"stringValue\":");
		ptrc_text_json(b, room->bytes, room->used);
		return;
	default:
		put_json_number(b, text, size);
		return;
	}
}

/* Puts a value that is no array. */
static void put_scalar(struct ptrc_buffer *b, struct ptrc_buffer *room, const struct ptrc_value *v)
{
	switch (v->kind) {
	case PTRC_VALUE_SIGNED:
		ptrc_buffer_text(b, "\"intValue\":\"");
		ptrc_buffer_i64(b, v->i);
		break;
	case PTRC_VALUE_UNSIGNED:
		/* OTLP has no larger integers, and a double would be rounded. */
		ptrc_buffer_text(b, v->u <= INT64_MAX ? "\"intValue\":\"" : "\"stringValue\":\"");
		ptrc_buffer_u64(b, v->u);
		break;
	case PTRC_VALUE_HEX:
		ptrc_buffer_text(b, "\"stringValue\":\"");
		ptrc_buffer_hex(b, v->u);
		break;
	case PTRC_VALUE_BOOL:
		ptrc_buffer_text(b, v->u ? "\"boolValue\":true" : "\"boolValue\":false");
		return;
	case PTRC_VALUE_FLOAT:
	case PTRC_VALUE_DOUBLE:
		put_double(b, v);
		return;
	case PTRC_VALUE_BYTES:
		put_bytes(b, v->bytes, v->size);
		return;
	case PTRC_VALUE_JSON:
		put_json_value(b, room, v->bytes, v->size);
		return;
	default:
		ptrc_buffer_text(b, "\"stringValue\":");
		ptrc_text_json(b, v->bytes, v->size);
		return;
	}
	ptrc_buffer_char(b, '"');
}

/* Puts the elements of an array. Returns false if the array's bytes cannot all be restored from them. */
static bool put_array(struct ptrc_buffer *b, struct ptrc_buffer *room,
		      const struct ptrc_value *array)
{
	bool is_exact = true;
	struct ptrc_value item;

	ptrc_buffer_text(b, "\"arrayValue\":{\"values\":[");
	for (uint64_t i = 0; i < ptrc_value_count(array); i++) {
		ptrc_value_element(array, i, &item);
		is_exact &= !item.raw;
		ptrc_buffer_text(b, i ? ",{" : "{");
		put_scalar(b, room, &item);
		ptrc_buffer_char(b, '}');
	}
	ptrc_buffer_text(b, "]}");
	return is_exact;
}

/* Whether a member from `first` on, up to but not including `last`, has the same name as `name`. */
static bool has_name(const struct ptrc_json_text_member *first,
		     const struct ptrc_json_text_member *last,
		     const struct ptrc_json_text_member *name)
{
	for (; first < last; first++)
		if (first->name_size == name->name_size &&
		    !memcmp(first->name, name->name, name->name_size))
			return true;
	return false;
}

/* Puts the members of a JSON object as attributes. If several have the same name, only the last one is put, because
 * the keys of attributes must differ. Returns false, and puts nothing, if there are too many members. */
static bool put_members(struct list *l, struct ptrc_buffer *room, const struct ptrc_value *object)
{
	struct ptrc_json_text_member members[MEMBERS_MAX + 1];
	const char *at = object->bytes;
	size_t count = 0;

	while (count <= MEMBERS_MAX &&
	       ptrc_json_text_next_member(&at, object->bytes + object->size, &members[count]))
		count++;
	if (count > MEMBERS_MAX)
		return false;
	for (const struct ptrc_json_text_member *m = members; m < members + count; m++) {
		if (has_name(m + 1, members + count, m))
			continue;
		room->used = 0;
		ptrc_json_text_put(room, m->name, m->name_size, false);
		/* The name is put without its quotes. */
		open_value(l, "data.", room->bytes + 1, room->used - 2);
		put_json_value(l->buffer, room, m->value, m->value_size);
		close_value(l);
	}
	return true;
}

static void put_field(struct list *l, struct ptrc_buffer *room, const char *name,
		      const struct ptrc_value *v)
{
	struct ptrc_buffer *b = l->buffer;
	bool is_exact = !v->raw;
	char hex[PTRC_LAYOUT_NAME_MAX + sizeof("_hex")];

	open_value(l, "data.", name, strlen(name));
	if (v->kind == PTRC_VALUE_ARRAY)
		is_exact = put_array(b, room, v);
	else
		put_scalar(b, room, v);
	close_value(l);
	if (v->kind == PTRC_VALUE_TEXT)
		is_exact = is_exact && ptrc_text_is_utf8(v->bytes, v->size);
	if (__builtin_expect(is_exact, 1))
		return;
	stpcpy(stpcpy(hex, name), "_hex");
	open_value(l, "data.", hex, strlen(hex));
	ptrc_buffer_text(b, "\"stringValue\":\"");
	ptrc_buffer_hex_bytes(b, v->raw ? v->raw : v->bytes, v->raw ? v->raw_size : v->size);
	ptrc_buffer_char(b, '"');
	close_value(l);
}

/* Puts data that has no layout, or does not fit its layout, as text or as bytes. */
static void put_plain_data(struct list *l, struct ptrc_buffer *room, struct ptrc_view *view)
{
	const struct ptrc_reader *r = view->reader;
	size_t size = r->size;

	if (!view->layout && r->event.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT) {
		room->used = 0;
		ptrc_event_put_data(room, view);
		if (room->used)
			put_text(l, "data", room->bytes, room->used);
	} else if (!view->layout && size && ptrc_text_is_clean(r->data, &size)) {
		put_text(l, "data", (const char *)r->data, size);
	} else if (size) {
		open_value(l, "", "data", strlen("data"));
		put_bytes(l->buffer, r->data, r->size);
		close_value(l);
	}
}

static void put_symbol(struct list *l, const struct ptrc_symbol *s)
{
	if (s->function)
		put_word(l, "code.function.name", s->function);
	if (s->file)
		put_word(l, "code.file.path", s->file);
	if (s->line)
		put_number(l, "code.line.number", s->line);
}

/* Puts decoded data. The members of a JSON object become attributes; an object with too many is put as one
 * text. */
static void put_decoded(struct list *l, struct ptrc_buffer *room, const struct ptrc_layout *layout,
			const struct ptrc_decoded *d)
{
	const struct ptrc_value *whole = ptrc_layout_whole(layout, d);
	const struct ptrc_layout_field *f;

	if (whole) {
		if (whole->kind != PTRC_VALUE_JSON || put_members(l, room, whole))
			return;
		open_value(l, "", "data", strlen("data"));
		put_json_value(l->buffer, room, whole->bytes, whole->size);
		close_value(l);
		return;
	}
	for (size_t i = 0; (f = ptrc_layout_field(layout, i)); i++)
		if (d->values[i].kind != PTRC_VALUE_NONE)
			put_field(l, room, f->name, &d->values[i]);
}

static void put_data(struct ptrc_export *x, struct list *l, struct ptrc_view *view)
{
	struct ptrc_buffer *room = &((struct otlp *)x->state)->text;
	bool is_whole = false;

	if (view->layout) {
		const struct ptrc_decoded *d = ptrc_view_decode(view);

		put_decoded(l, room, view->layout, d);
		is_whole = d->error == PTRC_LAYOUT_FITS;
	}
	if (!is_whole)
		put_plain_data(l, room, view);
	if (__builtin_expect(ptrc_view_is_cut(view), 0))
		put_word(l, "truncated", ptrc_reader_truncation(view->reader));
	if (__builtin_expect(x->query->symbols != NULL, 0))
		put_symbol(l, ptrc_view_symbol(view));
}

/* ---- resources ---- */

/* Returns the name that OpenTelemetry has for the processor architecture that uname() calls `machine`. */
static const char *arch_of(const char *machine)
{
	static const char *const names[][2] = {
		{"x86_64", "amd64"}, {"aarch64", "arm64"}, {"armv7l", "arm32"},
		{"i686", "x86"},     {"ppc64le", "ppc64"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(machine, names[i][0]))
			return names[i][1];
	return machine;
}

static void put_host(struct list *l, const struct ptrc_reader *r)
{
	struct posixtrace_log_host h = {.ph_size = 0};
	const char *name;

	if (posixtrace_log_get_host(r->trace, &h, sizeof(h)))
		h = (struct posixtrace_log_host){.ph_size = 0};
	name = r->label ? r->label : h.ph_name;
	if (*name)
		put_word(l, "host.name", name);
	if (*h.ph_machine)
		put_word(l, "host.arch", arch_of(h.ph_machine));
}

/* Makes the resource of the trace system if pid is 0. Otherwise makes the resource of a process, from the last
 * description of the process in the log. */
static struct resource *make_resource(const struct ptrc_reader *r, pid_t pid)
{
	struct resource *one = ptrc_cli_allocate(sizeof(*one));
	struct list l = {&one->attributes, "", true};
	struct posixtrace_log_process p = {.pp_size = 0};
	char command[PTRC_COMMAND_LINE_BYTES];

	if (!pid || !ptrc_reader_find_process(r, pid, &p))
		p = (struct posixtrace_log_process){.pp_size = 0};
	if (!pid)
		put_word(&l, "service.name", "posixtrace");
	else if (p.pp_is_known && p.pp_name_size)
		put_text(&l, "service.name", p.pp_name, p.pp_name_size);
	else
		put_word(&l, "service.name", "unknown_service");
	put_host(&l, r);
	if (pid)
		put_number(&l, "process.pid", pid);
	if (p.pp_executable_size)
		put_text(&l, "process.executable.path", p.pp_executable, p.pp_executable_size);
	if (p.pp_command_line_size)
		put_text(&l, "process.command_line", command, ptrc_command_line(&p, command));
	if (p.pp_has_user)
		put_number(&l, "process.user.id", p.pp_user);
	return one;
}

static inline struct resource *
resource_of(struct ptrc_export *x, const struct ptrc_export_lane *lane, const struct ptrc_reader *r)
{
	struct otlp *o = x->state;
	size_t index = (size_t)lane->process->number - 1;

	while (__builtin_expect(index >= o->process_count, 0))
		*ptrc_append(o->processes, o->process_count) = NULL;
	if (__builtin_expect(!o->processes[index], 0))
		o->processes[index] = make_resource(r, lane->lane.pid);
	return o->processes[index];
}

/* ---- lines ---- */

/* Puts a line with all waiting items of this kind. */
static void put_line(struct ptrc_export *x, enum item kind)
{
	struct otlp *o = x->state;
	struct ptrc_buffer *b = &x->query->out;
	struct resource *next;

	if (!o->first[kind])
		return;
	ptrc_buffer_text(b, words[kind].begin);
	for (struct resource *r = o->first[kind]; r; r = next) {
		ptrc_buffer_text(b, r == o->first[kind] ? "{\"resource\":{\"attributes\":["
							: ",{\"resource\":{\"attributes\":[");
		ptrc_buffer_bytes(b, r->attributes.bytes, r->attributes.used);
		ptrc_buffer_text(b, "]},");
		ptrc_buffer_text(b, words[kind].items);
		ptrc_buffer_bytes(b, r->items[kind].bytes, r->items[kind].used);
		ptrc_buffer_text(b, "]}]}");
		ptrc_buffer_free(&r->items[kind]);
		next = r->next[kind];
		r->next[kind] = NULL;
	}
	ptrc_buffer_text(b, "]}\n");
	o->first[kind] = o->last[kind] = NULL;
	o->bytes[kind] = 0;
	ptrc_output_write_some(&x->query->out);
}

/* Starts an item of the resource. Returns the buffer to which the caller appends it before close_item(). */
static struct ptrc_buffer *open_item(struct otlp *o, struct resource *r, enum item kind)
{
	struct ptrc_buffer *b = &r->items[kind];

	if (b->used) {
		o->bytes[kind] -= b->used;
		ptrc_buffer_char(b, ',');
		return b;
	}
	if (o->first[kind])
		o->last[kind]->next[kind] = r;
	else
		o->first[kind] = r;
	o->last[kind] = r;
	o->bytes[kind] += r->attributes.used;
	return b;
}

static void close_item(struct ptrc_export *x, const struct ptrc_buffer *b, enum item kind)
{
	struct otlp *o = x->state;

	o->bytes[kind] += b->used;
	if (__builtin_expect(o->bytes[kind] >= LINE_BYTES, 0))
		put_line(x, kind);
}

static void put_time(const struct ptrc_export *x, struct ptrc_buffer *b, const char *key,
		     uint64_t ns)
{
	ptrc_buffer_text(b, key);
	ptrc_buffer_u64(b, (uint64_t)ptrc_export_start_ns(x) + ns);
	ptrc_buffer_char(b, '"');
}

/* Starts a list of attributes with those of the thread. */
static struct list open_list(struct ptrc_buffer *b, struct ptrc_export_lane *lane)
{
	struct list l = {b, "", false};

	ptrc_buffer_text(b, ",\"attributes\":[");
	if (__builtin_expect(!lane->is_written, 0)) {
		struct list own = {&lane->text, "", true};

		if (lane->lane.tid)
			put_number(&own, "thread.id", lane->lane.tid);
		if (lane->name.used)
			put_text(&own, "thread.name", lane->name.bytes, lane->name.used);
		lane->is_written = true;
	}
	l.is_first = !lane->text.used;
	ptrc_buffer_bytes(b, lane->text.bytes, lane->text.used);
	return l;
}

/* ---- the format ---- */

static void put_end(struct ptrc_export *x, struct list *l, const struct ptrc_slice *s)
{
	l->prefix = "end.";
	if (s->end_lane->process != s->lane->process)
		put_number(l, "process.pid", s->end_lane->lane.pid);
	if (s->end_lane != s->lane)
		put_number(l, "thread.id", s->end_lane->lane.tid);
	put_data(x, l, s->end);
	l->prefix = "";
}

static void slice(struct ptrc_export *x, const struct ptrc_slice *s)
{
	struct otlp *o = x->state;
	struct resource *r = resource_of(x, s->lane, s->begin->reader);
	struct ptrc_buffer *b = open_item(o, r, ITEM_SPAN);
	struct list l;

	ptrc_buffer_char(b, '{');
	put_ids(o, b, s->span);
	if (s->span->outer) {
		ptrc_buffer_text(b, ",\"parentSpanId\":\"");
		put_id(b, span_id(o, s->span->outer));
		ptrc_buffer_char(b, '"');
	}
	ptrc_buffer_text(b, ",\"name\":");
	ptrc_buffer_bytes(b, s->name->json.bytes, s->name->json.used);
	ptrc_buffer_text(b, ",\"kind\":");
	ptrc_buffer_u64(b, KIND_INTERNAL);
	put_time(x, b, ",\"startTimeUnixNano\":\"", s->begin_ns);
	put_time(x, b, ",\"endTimeUnixNano\":\"", s->end_ns);
	l = open_list(b, s->lane);
	put_data(x, &l, s->begin);
	if (s->end)
		put_end(x, &l, s);
	else
		put_word(&l, "missing", "end");
	if (s->is_cut)
		put_true(&l, "events_lost");
	ptrc_buffer_text(b, "]}");
	close_item(x, b, ITEM_SPAN);
}

/* Puts the start of a log record, up to its attributes. `name` is a JSON string. */
static void open_record(const struct ptrc_export *x, struct ptrc_buffer *b, uint64_t ns,
			unsigned int severity, const char *name, size_t name_size)
{
	put_time(x, b, "{\"timeUnixNano\":\"", ns);
	ptrc_buffer_text(b, ",\"severityNumber\":");
	ptrc_buffer_u64(b, severity);
	ptrc_buffer_text(b, ",\"eventName\":");
	ptrc_buffer_bytes(b, name, name_size);
	ptrc_buffer_text(b, ",\"body\":{\"stringValue\":");
	ptrc_buffer_bytes(b, name, name_size);
	ptrc_buffer_char(b, '}');
}

static void event(struct ptrc_export *x, const struct ptrc_export_event *e)
{
	struct resource *r = resource_of(x, e->lane, e->view->reader);
	struct ptrc_buffer *b = open_item(x->state, r, ITEM_RECORD);
	bool is_loss = e->view->reader->event.posix_event_id == POSIX_TRACE_OVERFLOW;
	struct list l;

	open_record(x, b, e->ns, is_loss ? SEVERITY_WARN : SEVERITY_INFO, e->type->name.json.bytes,
		    e->type->name.json.used);
	l = open_list(b, e->lane);
	put_data(x, &l, e->view);
	if (e->missing)
		put_word(&l, "missing", e->missing);
	ptrc_buffer_char(b, ']');
	if (e->span) {
		ptrc_buffer_char(b, ',');
		put_ids(x->state, b, e->span);
	}
	ptrc_buffer_char(b, '}');
	close_item(x, b, ITEM_RECORD);
}

/* Starts a log record about the losses of a source, with the attribute `log`. `name` is a JSON string. */
static struct list open_loss(struct ptrc_export *x, const struct ptrc_source *s, uint64_t ns,
			     const char *name)
{
	struct otlp *o = x->state;
	struct list l = {NULL, "", true};

	if (!o->losses)
		o->losses = ptrc_cli_allocate(x->query->source_count * sizeof(struct resource *));
	if (!o->losses[s->order])
		o->losses[s->order] = make_resource(&s->reader, 0);
	l.buffer = open_item(o, o->losses[s->order], ITEM_RECORD);
	open_record(x, l.buffer, ns, SEVERITY_WARN, name, strlen(name));
	ptrc_buffer_text(l.buffer, ",\"attributes\":[");
	put_word(&l, "log", ptrc_reader_shown_name(&s->reader));
	return l;
}

static void close_loss(struct ptrc_export *x, struct list *l)
{
	ptrc_buffer_text(l->buffer, "]}");
	close_item(x, l->buffer, ITEM_RECORD);
}

static void loss(struct ptrc_export *x, const struct ptrc_export_loss *lost)
{
	struct list l = open_loss(x, lost->source, lost->begin_ns, "\"events lost\"");

	put_number(&l, "duration_ns", (int64_t)(lost->end_ns - lost->begin_ns));
	if (lost->is_counted)
		put_number(&l, "unreadable_events", (int64_t)lost->events);
	close_loss(x, &l);
}

/* Adds a record for each log with losses, with the numbers of losses as JSON. Then puts all waiting items. */
static bool end(struct ptrc_export *x)
{
	struct ptrc_query *q = x->query;
	struct otlp *o = x->state;

	for (size_t i = 0; i < q->source_count; i++) {
		struct ptrc_json j = {&o->text, true};
		struct list l;

		if (!ptrc_losses_is_any(&q->sources[i].losses))
			continue;
		l = open_loss(x, &q->sources[i], x->now_ns, "\"losses\"");
		o->text.used = 0;
		ptrc_buffer_char(&o->text, '{');
		ptrc_losses_json(&q->sources[i].losses, &j);
		ptrc_buffer_char(&o->text, '}');
		put_text(&l, "losses", o->text.bytes, o->text.used);
		close_loss(x, &l);
	}
	put_line(x, ITEM_SPAN);
	put_line(x, ITEM_RECORD);
	return true;
}

static void free_resources(struct resource **list, size_t count)
{
	for (size_t i = 0; list && i < count; i++) {
		if (!list[i])
			continue;
		ptrc_buffer_free(&list[i]->attributes);
		for (size_t k = 0; k < ITEMS; k++)
			ptrc_buffer_free(&list[i]->items[k]);
		free(list[i]);
	}
	free(list);
}

static void free_otlp(struct ptrc_export *x)
{
	struct otlp *o = x->state;

	free_resources(o->processes, o->process_count);
	free_resources(o->losses, x->query->source_count);
	ptrc_buffer_free(&o->text);
}

const struct ptrc_export_format ptrc_export_otlp = {
	.name = "otlp",
	.kind = {.mode = 0600,
		 .signature = "{\"resource",
		 .signature_bytes = sizeof("{\"resource") - 1,
		 .noun = "an export to otlp"},
	.has_no_states = true,
	.state_size = sizeof(struct otlp),
	.begin = begin,
	.event = event,
	.slice = slice,
	.loss = loss,
	.end = end,
	.free = free_otlp,
};
