/* SPDX-License-Identifier: MIT */
/*
 * The metadata of CTF 2: a JSON text sequence (RFC 7464), which is a series of objects, called fragments, each
 * between a record separator and a line feed. CTF 2 can say more than CTF 1.8: that a number is a bool, that bytes
 * are no numbers, and the units of numbers, as attributes in a namespace of our own.
 */
#include "config.h"
#include "src/export/ctf_metadata.h"

#include "src/base/json.h"
#include "src/fields/when.h"

#define NAMESPACE "posixtrace"
#define SIGNATURE                                                               \
	"\x1e{\"type\":\"preamble\",\"version\":2,\"attributes\":{\"" NAMESPACE \
	"\":{\"exporter\":\"ptrace-export"
#define CLOCK "posixtrace"

enum { STREAM_CLASS = 0 };

static struct ptrc_json open_fragment(struct ptrc_buffer *b, const char *type)
{
	struct ptrc_json j = {b, true};

	ptrc_buffer_char(b, '\x1e');
	ptrc_json_open(&j, NULL, '{');
	ptrc_json_text(&j, "type", type);
	return j;
}

static void close_fragment(struct ptrc_json *j)
{
	ptrc_json_close(j, '}');
	ptrc_buffer_char(j->buffer, '\n');
}

/* Puts a text from the log, which may need escapes, as the value of this key. */
static void put_text(struct ptrc_json *j, const char *key, const char *text, size_t size)
{
	ptrc_json_key(j, key);
	ptrc_text_json(j->buffer, text, size);
}

/* ---- classes of fields ---- */

/* Opens the description of a field, as the value of this key; CTF calls it a class of fields. */
static void open_field_class(struct ptrc_json *j, const char *key, const char *type)
{
	ptrc_json_open(j, key, '{');
	ptrc_json_text(j, "type", type);
}

static void put_length_place(struct ptrc_json *j, const char *length)
{
	ptrc_json_open(j, "length-field-location", '{');
	ptrc_json_text(j, "origin", "event-record-payload");
	ptrc_json_open(j, "path", '[');
	ptrc_json_text(j, NULL, length);
	ptrc_json_close(j, ']');
	ptrc_json_close(j, '}');
}

/* Puts the names of the values of an enum, each with a range of values, whose first and last value are the same. */
static void put_mappings(struct ptrc_json *j, const struct ptrc_layout_field *f)
{
	ptrc_json_open(j, "mappings", '{');
	for (uint32_t i = 0; i < f->member_count; i++) {
		ptrc_json_open(j, f->members[i].name, '[');
		ptrc_json_open(j, NULL, '[');
		for (size_t end = 0; end < 2; end++) {
			if (f->kind == PTRC_LAYOUT_SIGNED)
				ptrc_json_i64(j, NULL, (int64_t)f->members[i].value);
			else
				ptrc_json_u64(j, NULL, f->members[i].value);
		}
		ptrc_json_close(j, ']');
		ptrc_json_close(j, ']');
	}
	ptrc_json_close(j, '}');
}

static void put_role(struct ptrc_json *j, const char *role)
{
	if (!role)
		return;
	ptrc_json_open(j, "roles", '[');
	ptrc_json_text(j, NULL, role);
	ptrc_json_close(j, ']');
}

static const char *number_type(const struct ptrc_layout_field *f)
{
	switch (f->kind) {
	case PTRC_LAYOUT_SIGNED:
		return "fixed-length-signed-integer";
	case PTRC_LAYOUT_FLOAT:
		return "fixed-length-floating-point-number";
	case PTRC_LAYOUT_BOOL:
		return "fixed-length-boolean";
	default:
		return "fixed-length-unsigned-integer";
	}
}

/* Puts the description of a number, or of each element of an array of numbers. */
static void put_number(struct ptrc_json *j, const char *key, const struct ptrc_layout_field *f,
		       const char *role)
{
	open_field_class(j, key, number_type(f));
	ptrc_json_u64(j, "length", 8U * f->item_size);
	ptrc_json_text(j, "byte-order", "little-endian");
	ptrc_json_u64(j, "alignment", 8);
	if (f->kind == PTRC_LAYOUT_HEX || ptrc_layout_is_code(f->kind))
		ptrc_json_u64(j, "preferred-display-base", 16);
	if (f->member_count)
		put_mappings(j, f);
	put_role(j, role);
	if (f->unit != PTRC_UNIT_NONE) {
		ptrc_json_open(j, "attributes", '{');
		ptrc_json_open(j, NAMESPACE, '{');
		ptrc_json_text(j, "unit", ptrc_unit_word(f->unit));
		ptrc_json_close(j, '}');
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, '}');
}

/* Puts the description of bytes, text or an array. `length` is the name of the field that has its size; NULL if the
 * size is fixed. */
static void put_items(struct ptrc_json *j, const struct ptrc_layout_field *f, const char *role,
		      const char *length)
{
	static const char key[] = "field-class";
	bool is_array = f->kind != PTRC_LAYOUT_BYTES && f->kind != PTRC_LAYOUT_CHARS;

	if (is_array)
		open_field_class(j, key, length ? "dynamic-length-array" : "static-length-array");
	else if (f->kind == PTRC_LAYOUT_CHARS)
		open_field_class(j, key, "static-length-string");
	else
		open_field_class(j, key, length ? "dynamic-length-blob" : "static-length-blob");
	if (length)
		put_length_place(j, length);
	else
		ptrc_json_u64(j, "length", is_array ? f->count : f->size);
	if (is_array)
		put_number(j, "element-field-class", f, NULL);
	put_role(j, role);
	ptrc_json_close(j, '}');
}

static void open_member(struct ptrc_json *j, const char *name)
{
	ptrc_json_open(j, NULL, '{');
	ptrc_json_text(j, "name", name);
}

/* Puts a member of a structure. `length` is the name of the member before it that has its length; NULL if there is
 * none. */
static void put_member(struct ptrc_json *j, const struct ptrc_layout_field *f, const char *role,
		       const char *length)
{
	open_member(j, ptrc_ctf_field_name(f));
	switch (f->kind) {
	case PTRC_LAYOUT_STRING:
	case PTRC_LAYOUT_JSON:
		open_field_class(j, "field-class", "null-terminated-string");
		ptrc_json_close(j, '}');
		break;
	case PTRC_LAYOUT_CHARS:
	case PTRC_LAYOUT_BYTES:
		put_items(j, f, role, length);
		break;
	default:
		if (f->count)
			put_items(j, f, NULL, length);
		else
			put_number(j, "field-class", f, role);
		break;
	}
	ptrc_json_close(j, '}');
}

static void open_structure(struct ptrc_json *j, const char *key)
{
	open_field_class(j, key, "structure");
	ptrc_json_open(j, "member-classes", '[');
}

static void close_structure(struct ptrc_json *j)
{
	ptrc_json_close(j, ']');
	ptrc_json_close(j, '}');
}

static void put_class(struct ptrc_buffer *b, const struct ptrc_ctf_class *c)
{
	struct ptrc_json j = open_fragment(b, "event-record-class");
	char length[PTRC_CTF_NAME_BYTES];

	ptrc_json_u64(&j, "data-stream-class-id", STREAM_CLASS);
	ptrc_json_u64(&j, "id", c->id);
	put_text(&j, "name", c->name->text, c->name->size);
	open_structure(&j, "payload-field-class");
	for (size_t i = 0; i < c->count; i++) {
		const struct ptrc_layout_field *f = c->fields[i];
		bool has_length = ptrc_ctf_has_length(c, f, length);

		if (has_length)
			put_member(&j,
				   &(struct ptrc_layout_field){.name = length,
							       .kind = PTRC_LAYOUT_UNSIGNED,
							       .item_size = sizeof(uint32_t)},
				   NULL, NULL);
		put_member(&j, f, NULL, has_length ? length : NULL);
	}
	close_structure(&j);
	close_fragment(&j);
}

/* ---- the trace ---- */

static void put_scope(struct ptrc_json *j, const struct ptrc_export *x, const char *key,
		      enum ptrc_ctf_scope scope)
{
	const struct ptrc_ctf_member *members[PTRC_CTF_MEMBERS_MAX];
	size_t count = ptrc_ctf_members(x, scope, members);

	open_structure(j, key);
	for (size_t i = 0; i < count; i++)
		put_member(j, &members[i]->field, members[i]->role, NULL);
	close_structure(j);
}

/* Puts the first fragment, the preamble. It has the UUID that each packet has, too. */
static void put_preamble(struct ptrc_buffer *b, const unsigned char uuid[PTRC_CTF_UUID_BYTES])
{
	struct ptrc_json j = {b, true};

	ptrc_buffer_text(b, SIGNATURE " " PACKAGE_VERSION "\"}},");
	ptrc_json_open(&j, "uuid", '[');
	for (size_t i = 0; i < PTRC_CTF_UUID_BYTES; i++)
		ptrc_json_u64(&j, NULL, uuid[i]);
	ptrc_json_close(&j, ']');
	close_fragment(&j);
}

static void put_fact(void *arg, const char *name, const char *text, size_t size)
{
	put_text(arg, name, text, size);
}

static void put_trace_class(struct ptrc_buffer *b, const struct ptrc_export *x,
			    const unsigned char uuid[PTRC_CTF_UUID_BYTES],
			    const unsigned long *processes)
{
	struct ptrc_json j = open_fragment(b, "trace-class");
	PTRC_SCOPED_BUFFER uid = PTRC_BUFFER_INIT;

	ptrc_ctf_put_uuid(&uid, uuid);
	put_text(&j, "uid", uid.bytes, uid.used);
	ptrc_json_open(&j, "environment", '{');
	ptrc_ctf_each_fact(x, processes, put_fact, &j);
	ptrc_json_close(&j, '}');
	put_scope(&j, x, "packet-header-field-class", PTRC_CTF_PACKET_HEADER);
	close_fragment(&j);
}

static void put_clock(struct ptrc_buffer *b, const struct ptrc_export *x)
{
	struct timespec start = ptrc_when_timespec(ptrc_export_start_ns(x));
	struct ptrc_json j = open_fragment(b, "clock-class");

	ptrc_json_text(&j, "id", CLOCK);
	ptrc_json_text(&j, "name", CLOCK);
	ptrc_json_text(&j, "description", "nanoseconds since the first event");
	ptrc_json_u64(&j, "frequency", UINT64_C(1000000000));
	ptrc_json_u64(&j, "precision", 1);
	ptrc_json_text(&j, "origin", "unix-epoch");
	ptrc_json_open(&j, "offset-from-origin", '{');
	ptrc_json_i64(&j, "seconds", start.tv_sec);
	ptrc_json_u64(&j, "cycles", (uint64_t)start.tv_nsec);
	ptrc_json_close(&j, '}');
	close_fragment(&j);
}

static void put_head(struct ptrc_buffer *b, const struct ptrc_export *x,
		     const unsigned char uuid[PTRC_CTF_UUID_BYTES], const unsigned long *processes)
{
	struct ptrc_json j;

	put_preamble(b, uuid);
	put_trace_class(b, x, uuid, processes);
	put_clock(b, x);
	j = open_fragment(b, "data-stream-class");
	ptrc_json_u64(&j, "id", STREAM_CLASS);
	ptrc_json_text(&j, "default-clock-class-id", CLOCK);
	put_scope(&j, x, "packet-context-field-class", PTRC_CTF_PACKET_CONTEXT);
	put_scope(&j, x, "event-record-header-field-class", PTRC_CTF_EVENT_HEADER);
	put_scope(&j, x, "event-record-common-context-field-class", PTRC_CTF_EVENT_CONTEXT);
	close_fragment(&j);
}

const struct ptrc_ctf_version ptrc_ctf_json = {
	.signature = SIGNATURE,
	.put_head = put_head,
	.put_class = put_class,
};
