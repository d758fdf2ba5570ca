/* SPDX-License-Identifier: MIT */
/* The metadata of CTF 1.8, in the language TSDL. Names from the log get a leading underscore, which readers
 * remove, so that none of them is a keyword. */
#include "config.h"
#include "src/export/ctf_metadata.h"

#include <string.h>

#include "src/fields/when.h"

#define SIGNATURE "/* CTF 1.8 */\n/* ptrace-export"

static const char types[] =
	"typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := u16;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
	"typealias integer { size = 8; align = 8; signed = true; } := i8;\n"
	"typealias integer { size = 16; align = 8; signed = true; } := i16;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := i32;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := i64;\n"
	"typealias integer { size = 8; align = 8; signed = false; base = 16; } := x8;\n"
	"typealias integer { size = 16; align = 8; signed = false; base = 16; } := x16;\n"
	"typealias integer { size = 32; align = 8; signed = false; base = 16; } := x32;\n"
	"typealias integer { size = 64; align = 8; signed = false; base = 16; } := x64;\n"
	"typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := letter;\n"
	"typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := f32;\n"
	"typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;\n"
	"typealias string { encoding = UTF8; } := text;\n";

/* Puts a text of the log as a TSDL string: in UTF-8, with escapes. Octal escapes have three digits, so that a
 * digit may follow. */
static void put_quoted(struct ptrc_buffer *b, const char *text, size_t size)
{
	PTRC_SCOPED_BUFFER whole = PTRC_BUFFER_INIT;

	ptrc_text_put_utf8(&whole, text, size);
	ptrc_buffer_char(b, '"');
	for (size_t i = 0; i < whole.used; i++) {
		unsigned char c = (unsigned char)whole.bytes[i];

		if (c < ' ' || c == 0x7f) {
			ptrc_buffer_format(b, "\\%03o", c);
			continue;
		}
		if (c == '"' || c == '\\')
			ptrc_buffer_char(b, '\\');
		ptrc_buffer_char(b, (char)c);
	}
	ptrc_buffer_char(b, '"');
}

/* ---- classes of events ---- */

static void put_number_type(struct ptrc_buffer *b, const struct ptrc_layout_field *f)
{
	char letter = 'u';

	if (f->kind == PTRC_LAYOUT_SIGNED)
		letter = 'i';
	else if (f->kind == PTRC_LAYOUT_FLOAT)
		letter = 'f';
	else if (f->kind == PTRC_LAYOUT_HEX || ptrc_layout_is_code(f->kind))
		letter = 'x';
	ptrc_buffer_format(b, "%c%u", letter, 8U * f->item_size);
}

static void put_members(struct ptrc_buffer *b, const struct ptrc_layout_field *f)
{
	ptrc_buffer_text(b, "enum : ");
	put_number_type(b, f);
	for (uint32_t i = 0; i < f->member_count; i++) {
		const struct ptrc_layout_member *m = &f->members[i];

		ptrc_buffer_text(b, i ? ", " : " { ");
		put_quoted(b, m->name, strlen(m->name));
		ptrc_buffer_text(b, " = ");
		if (f->kind == PTRC_LAYOUT_SIGNED)
			ptrc_buffer_i64(b, (int64_t)m->value);
		else
			ptrc_buffer_u64(b, m->value);
	}
	ptrc_buffer_text(b, " }");
}

/* Returns the text before the name of each field. It starts with an underscore, so that no name is a keyword of the
 * language. Readers remove this underscore. But they then confuse the fields `_x`, written as `__x`, and `x`,
 * written as `_x`, and refuse the second one. With "_field_" the two stay different. */
static const char *prefix(const struct ptrc_ctf_class *c)
{
	return c->has_underscored ? "_field_" : "_";
}

/* Puts a field of this type. If count is not 0, the field is an array. */
static void put_line(struct ptrc_buffer *b, const struct ptrc_ctf_class *c,
		     const struct ptrc_layout_field *f, const char *type, size_t count)
{
	ptrc_buffer_format(b, "\t\t%s %s%s", type, prefix(c), ptrc_ctf_field_name(f));
	if (count)
		ptrc_buffer_format(b, "[%zu]", count);
	ptrc_buffer_text(b, ";\n");
}

/* Puts a number, bytes or an array. If the number of bytes or elements is not fixed, a field that has this number is
 * put first. */
static void put_items(struct ptrc_buffer *b, const struct ptrc_ctf_class *c,
		      const struct ptrc_layout_field *f, const char *type, size_t count)
{
	const char *name = ptrc_ctf_field_name(f);
	char length[PTRC_CTF_NAME_BYTES];

	if (ptrc_ctf_has_length(c, f, length))
		ptrc_buffer_format(b, "\t\tu32 %s%s;\n\t\t%s %s%s[%s%s];\n", prefix(c), length,
				   type, prefix(c), name, prefix(c), length);
	else
		put_line(b, c, f, type, count);
}

static void put_field(struct ptrc_buffer *b, const struct ptrc_ctf_class *c,
		      const struct ptrc_layout_field *f)
{
	PTRC_SCOPED_BUFFER type = PTRC_BUFFER_INIT;

	switch (f->kind) {
	case PTRC_LAYOUT_CHARS:
		put_line(b, c, f, "letter", f->size);
		break;
	case PTRC_LAYOUT_STRING:
	case PTRC_LAYOUT_JSON:
		put_line(b, c, f, "text", 0);
		break;
	case PTRC_LAYOUT_BYTES:
		put_items(b, c, f, "x8", f->size);
		break;
	case PTRC_LAYOUT_BOOL:
		put_items(b, c, f, "enum : u8 { \"false\" = 0, \"true\" = 1 }", f->count);
		break;
	default:
		if (f->member_count)
			put_members(&type, f);
		else
			put_number_type(&type, f);
		ptrc_buffer_char(&type, '\0');
		put_items(b, c, f, type.bytes, f->count);
		break;
	}
}

static void put_class(struct ptrc_buffer *b, const struct ptrc_ctf_class *c)
{
	ptrc_buffer_text(b, "event {\n\tname = ");
	put_quoted(b, c->name->text, c->name->size);
	ptrc_buffer_format(b, ";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n",
			   (unsigned int)c->id);
	for (size_t i = 0; i < c->count; i++)
		put_field(b, c, c->fields[i]);
	ptrc_buffer_text(b, "\t};\n};\n");
}

/* ---- the trace ---- */

/* Puts a member that readers use. They find it by its name, so the name has no prefix. */
static void put_used(struct ptrc_buffer *b, const struct ptrc_ctf_member *m)
{
	const struct ptrc_layout_field *f = &m->field;

	if (strstr(m->role, "clock-timestamp"))
		ptrc_buffer_format(b, "\t\t%s %s;\n", f->item_size == 8 ? "time" : "low_time",
				   f->name);
	else if (f->kind == PTRC_LAYOUT_BYTES)
		ptrc_buffer_format(b, "\t\tu8 %s[%zu];\n", f->name, f->size);
	else
		ptrc_buffer_format(b, "\t\tu%u %s;\n", 8U * f->item_size, f->name);
}

static void put_scope(struct ptrc_buffer *b, const struct ptrc_export *x, const char *name,
		      enum ptrc_ctf_scope scope)
{
	const struct ptrc_ctf_member *members[PTRC_CTF_MEMBERS_MAX];
	const struct ptrc_ctf_class none = {0};
	size_t count = ptrc_ctf_members(x, scope, members);

	ptrc_buffer_format(b, "\t%s := struct {\n", name);
	for (size_t i = 0; i < count; i++) {
		if (members[i]->role)
			put_used(b, members[i]);
		else
			put_field(b, &none, &members[i]->field);
	}
	ptrc_buffer_text(b, "\t};\n");
}

static void put_fact(void *arg, const char *name, const char *text, size_t size)
{
	struct ptrc_buffer *b = arg;

	ptrc_buffer_format(b, "\t%s = ", name);
	put_quoted(b, text, size);
	ptrc_buffer_text(b, ";\n");
}

static void put_head(struct ptrc_buffer *b, const struct ptrc_export *x,
		     const unsigned char uuid[PTRC_CTF_UUID_BYTES], const unsigned long *processes)
{
	struct timespec start = ptrc_when_timespec(ptrc_export_start_ns(x));

	ptrc_buffer_text(b, SIGNATURE " " PACKAGE_VERSION " */\n\n");
	ptrc_buffer_text(b, types);
	ptrc_buffer_text(b, "\ntrace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
	ptrc_ctf_put_uuid(b, uuid);
	ptrc_buffer_text(b, "\";\n\tbyte_order = le;\n");
	put_scope(b, x, "packet.header", PTRC_CTF_PACKET_HEADER);
	ptrc_buffer_text(b, "};\n\nenv {\n");
	ptrc_ctf_each_fact(x, processes, put_fact, b);
	ptrc_buffer_format(b,
			   "};\n\nclock {\n\tname = posixtrace;\n"
			   "\tdescription = \"nanoseconds since the first event\";\n"
			   "\tfreq = 1000000000;\n\tprecision = 1;\n\toffset_s = %lld;\n"
			   "\toffset = %ld;\n\tabsolute = true;\n};\n\n",
			   (long long)start.tv_sec, start.tv_nsec);
	ptrc_buffer_text(b, "typealias integer { size = 64; align = 8; signed = false; "
			    "map = clock.posixtrace.value; } := time;\n"
			    "typealias integer { size = 32; align = 8; signed = false; "
			    "map = clock.posixtrace.value; } := low_time;\n\n"
			    "stream {\n\tid = 0;\n");
	put_scope(b, x, "packet.context", PTRC_CTF_PACKET_CONTEXT);
	put_scope(b, x, "event.header", PTRC_CTF_EVENT_HEADER);
	put_scope(b, x, "event.context", PTRC_CTF_EVENT_CONTEXT);
	ptrc_buffer_text(b, "};\n\n");
}

const struct ptrc_ctf_version ptrc_ctf_tsdl = {
	.signature = SIGNATURE,
	.put_head = put_head,
	.put_class = put_class,
};
