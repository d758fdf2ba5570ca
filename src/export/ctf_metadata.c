/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/export/ctf_metadata.h"

#include <string.h>

#include "src/base/json.h"
#include "src/export/ctf_files.h"
#include "src/fields/when.h"

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
	struct ptrc_buffer whole = PTRC_BUFFER_INIT;

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
	ptrc_buffer_free(&whole);
}

/* ---- classes of events ---- */

/* Puts the name of the TSDL type for a number. */
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

/* Puts a field of this type. If count is not 0, the field is an array. */
static void put_line(struct ptrc_buffer *b, const char *type, const char *name, size_t count)
{
	ptrc_buffer_format(b, "\t\t%s _%s", type, *name ? name : "data");
	if (count)
		ptrc_buffer_format(b, "[%zu]", count);
	ptrc_buffer_text(b, ";\n");
}

/* Whether the layout has a field whose name consists of `name` and `rest`. */
static bool has_field(const struct ptrc_layout *l, const char *name, const char *rest)
{
	const struct ptrc_layout_field *f;
	size_t size = strlen(name);

	for (size_t i = 0; l && (f = ptrc_layout_field(l, i)); i++)
		if (!strncmp(f->name, name, size) && !strcmp(f->name + size, rest))
			return true;
	return false;
}

/* Appends underscores to `rest` until no field of the layout is named `name` and `rest`. */
static void keep_apart(const struct ptrc_layout *l, const char *name, char *rest, size_t size)
{
	while (has_field(l, name, rest) && strlen(rest) + 2 < size)
		strcat(rest, "_");
}

/* Puts an array of this type. Its length precedes it, in a field named NAME_length. */
static void put_sequence(struct ptrc_buffer *b, const struct ptrc_layout *l, const char *type,
			 const char *name)
{
	char length[PTRC_LAYOUT_NAME_MAX + 16] = "_length";

	keep_apart(l, name, length, sizeof(length));
	ptrc_buffer_format(b, "\t\tu32 _%s%s;\n\t\t%s _%s[_%s%s];\n", name, length, type, name,
			   name, length);
}

/* Puts a field of numbers: a single number, or an array of fixed or open size. */
static void put_numbers(struct ptrc_buffer *b, const struct ptrc_layout *l,
			const struct ptrc_layout_field *f, const char *type)
{
	if (f->count == PTRC_LAYOUT_COUNT_OPEN)
		put_sequence(b, l, type, f->name);
	else
		put_line(b, type, f->name, f->count);
}

static void put_field(struct ptrc_buffer *b, const struct ptrc_layout *l,
		      const struct ptrc_layout_field *f)
{
	struct ptrc_buffer type = PTRC_BUFFER_INIT;

	switch (f->kind) {
	case PTRC_LAYOUT_PADDING:
		break;
	case PTRC_LAYOUT_CHARS:
		put_line(b, "letter", f->name, f->size);
		break;
	case PTRC_LAYOUT_STRING:
	case PTRC_LAYOUT_JSON:
		put_line(b, "text", f->name, 0);
		break;
	case PTRC_LAYOUT_BYTES:
		if (f->size)
			put_line(b, "x8", f->name, f->size);
		else
			put_sequence(b, l, "x8", f->name);
		break;
	case PTRC_LAYOUT_BOOL:
		put_numbers(b, l, f, "enum : u8 { \"false\" = 0, \"true\" = 1 }");
		break;
	default:
		if (f->member_count)
			put_members(&type, f);
		else
			put_number_type(&type, f);
		ptrc_buffer_char(&type, '\0');
		put_numbers(b, l, f, type.bytes);
		break;
	}
	ptrc_buffer_free(&type);
}

void ptrc_ctf_put_class(struct ptrc_buffer *b, uint32_t id, enum ptrc_ctf_kind kind, bool is_cut,
			const struct ptrc_layout *layout, const struct ptrc_reader_name *name)
{
	char cut[PTRC_LAYOUT_NAME_MAX + 16] = "truncated";
	const struct ptrc_layout_field *f;

	ptrc_buffer_text(b, "event {\n\tname = ");
	put_quoted(b, name->text, name->size);
	ptrc_buffer_format(b, ";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n",
			   (unsigned int)id);
	if (is_cut) {
		keep_apart(layout, "", cut, sizeof(cut));
		put_line(b, "enum : u8 { \"record\" = 1, \"read\" = 2 }", cut, 0);
	}
	switch (kind) {
	case PTRC_CTF_FIELDS:
		for (size_t i = 0; (f = ptrc_layout_field(layout, i)); i++)
			put_field(b, layout, f);
		break;
	case PTRC_CTF_TEXT:
		put_line(b, "text", "data", 0);
		break;
	case PTRC_CTF_BYTES:
		put_sequence(b, NULL, "x8", "data");
		break;
	default:
		break;
	}
	ptrc_buffer_text(b, "\t};\n};\n");
}

/* ---- the trace ---- */

/* Puts a text of the environment (facts about the trace). For logs after the first one, the name ends with
 * the number of the log; `number` counts from 0. */
static void put_env(struct ptrc_buffer *b, const char *name, size_t number, const char *text,
		    size_t size)
{
	if (!size)
		return;
	ptrc_buffer_format(b, number ? "\t%s_%zu = " : "\t%s = ", name, number + 1);
	put_quoted(b, text, size);
	ptrc_buffer_text(b, ";\n");
}

/* Puts facts about the log: its host, its program, and its losses. */
static void put_log(struct ptrc_buffer *b, const struct ptrc_source *s, unsigned long process)
{
	struct posixtrace_log_host host = {0};
	struct posixtrace_log_process p = {0};
	struct ptrc_buffer text = PTRC_BUFFER_INIT;
	struct ptrc_json j = {&text, true};
	trace_id_t trace = s->reader.trace;
	size_t n = s->order;

	put_env(b, s->reader.source ? "session" : "log", n, s->reader.path, strlen(s->reader.path));
	if (!posixtrace_log_get_host(trace, &host, sizeof(host))) {
		put_env(b, "hostname", n, host.ph_name, strlen(host.ph_name));
		put_env(b, "sysname", n, host.ph_system, strlen(host.ph_system));
		put_env(b, "kernel_release", n, host.ph_release, strlen(host.ph_release));
		put_env(b, "kernel_version", n, host.ph_version, strlen(host.ph_version));
		put_env(b, "machine", n, host.ph_machine, strlen(host.ph_machine));
		put_env(b, "machine_id", n, host.ph_machine_id, strlen(host.ph_machine_id));
		put_env(b, "boot_id", n, host.ph_boot_id, strlen(host.ph_boot_id));
	}
	if (!posixtrace_log_get_process(trace, process, &p, sizeof(p))) {
		char line[PTRC_COMMAND_LINE_BYTES];

		put_env(b, "program", n, p.pp_executable, p.pp_executable_size);
		put_env(b, "command_line", n, line, ptrc_command_line(&p, line));
	}
	ptrc_buffer_char(&text, '{');
	ptrc_losses_json(&s->losses, &j);
	ptrc_buffer_char(&text, '}');
	if (ptrc_losses_is_any(&s->losses))
		put_env(b, "losses", n, text.bytes, text.used);
	ptrc_buffer_free(&text);
}

void ptrc_ctf_put_head(struct ptrc_buffer *b, const struct ptrc_export *x,
		       const unsigned char uuid[PTRC_CTF_UUID_BYTES],
		       const unsigned long *processes)
{
	struct timespec start = ptrc_when_timespec(ptrc_export_start_ns(x));
	const struct ptrc_query *q = x->query;

	ptrc_buffer_text(b, PTRC_CTF_SIGNATURE " " PACKAGE_VERSION " */\n\n");
	ptrc_buffer_text(b, types);
	ptrc_buffer_text(b, "\ntrace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
	for (size_t i = 0; i < PTRC_CTF_UUID_BYTES; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			ptrc_buffer_char(b, '-');
		ptrc_buffer_hex_bytes(b, uuid + i, 1);
	}
	ptrc_buffer_text(
		b, "\";\n\tbyte_order = le;\n\tpacket.header := struct {\n"
		   "\t\tu32 magic;\n\t\tu8 uuid[16];\n\t\tu32 stream_id;\n"
		   "\t\tu32 stream_instance_id;\n\t};\n};\n\nenv {\n"
		   "\ttracer_name = \"posixtrace\";\n\texporter = \"ptrace-export " PACKAGE_VERSION
		   "\";\n");
	for (size_t i = 0; i < q->source_count; i++)
		put_log(b, &q->sources[i], processes[i]);
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
			    "stream {\n\tid = 0;\n\tpacket.context := struct {\n"
			    "\t\ttime timestamp_begin;\n\t\ttime timestamp_end;\n"
			    "\t\tu64 content_size;\n\t\tu64 packet_size;\n"
			    "\t\tu64 packet_seq_num;\n\t\tu64 events_discarded;\n");
	if (q->source_count > 1)
		ptrc_buffer_text(b, "\t\ttext _log;\n");
	if (q->has_host)
		ptrc_buffer_text(b, "\t\ttext _host;\n");
	ptrc_buffer_text(b, "\t};\n\tevent.header := struct {\n"
			    "\t\tu32 id;\n\t\tlow_time timestamp;\n\t};\n"
			    "\tevent.context := struct {\n\t\tx64 _address;\n"
			    "\t\ti32 _pid;\n\t\ti32 _tid;\n\t\ttext _thread_name;\n");
	if (q->symbols)
		ptrc_buffer_text(b, "\t\ttext _function;\n\t\ttext _file;\n\t\tu32 _line;\n");
	ptrc_buffer_text(b, "\t};\n};\n\n");
}
