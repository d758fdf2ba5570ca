/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/export/ctf_metadata.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/json.h"
#include "src/base/message.h"

/* ---- members of packets and events ---- */

#define NUMBER(kind_, size_, name_)                                            \
	{                                                                      \
		.name = (name_), .kind = PTRC_LAYOUT_##kind_, .size = (size_), \
		.item_size = (size_)                                           \
	}
#define STRING(name_)                                                       \
	{                                                                   \
		.name = (name_), .kind = PTRC_LAYOUT_STRING, .item_size = 1 \
	}

static const struct ptrc_ctf_member packet_header[] = {
	{NUMBER(UNSIGNED, 4, "magic"), "packet-magic-number"},
	{{.name = "uuid", .kind = PTRC_LAYOUT_BYTES, .size = PTRC_CTF_UUID_BYTES, .item_size = 1},
	 "metadata-stream-uuid"},
	{NUMBER(UNSIGNED, 4, "stream_id"), "data-stream-class-id"},
	{NUMBER(UNSIGNED, 4, "stream_instance_id"), "data-stream-id"},
	{.role = NULL},
};

static const struct ptrc_ctf_member packet_context[] = {
	{NUMBER(UNSIGNED, 8, "timestamp_begin"), "default-clock-timestamp"},
	{NUMBER(UNSIGNED, 8, "timestamp_end"), "packet-end-default-clock-timestamp"},
	{NUMBER(UNSIGNED, 8, "content_size"), "packet-content-length"},
	{NUMBER(UNSIGNED, 8, "packet_size"), "packet-total-length"},
	{NUMBER(UNSIGNED, 8, "packet_seq_num"), "packet-sequence-number"},
	{NUMBER(UNSIGNED, 8, "events_discarded"), "discarded-event-record-counter-snapshot"},
	{.role = NULL},
};

static const struct ptrc_ctf_member log_member = {STRING("log"), NULL};
static const struct ptrc_ctf_member host_member = {STRING("host"), NULL};

static const struct ptrc_ctf_member event_header[] = {
	{NUMBER(UNSIGNED, 4, "id"), "event-record-class-id"},
	{NUMBER(UNSIGNED, 4, "timestamp"), "default-clock-timestamp"},
	{.role = NULL},
};

static const struct ptrc_ctf_member event_context[] = {
	{NUMBER(HEX, 8, "address"), NULL},
	{NUMBER(SIGNED, 4, "pid"), NULL},
	{NUMBER(SIGNED, 4, "tid"), NULL},
	{STRING("thread_name"), NULL},
	{.role = NULL},
};

static const struct ptrc_ctf_member symbol_members[] = {
	{STRING("function"), NULL},
	{STRING("file"), NULL},
	{NUMBER(UNSIGNED, 4, "line"), NULL},
	{.role = NULL},
};

static void add(const struct ptrc_ctf_member **members, size_t *count,
		const struct ptrc_ctf_member *list)
{
	for (; list->field.name; list++)
		members[(*count)++] = list;
}

size_t ptrc_ctf_members(const struct ptrc_export *x, enum ptrc_ctf_scope scope,
			const struct ptrc_ctf_member *members[PTRC_CTF_MEMBERS_MAX])
{
	size_t count = 0;

	switch (scope) {
	case PTRC_CTF_PACKET_HEADER:
		add(members, &count, packet_header);
		break;
	case PTRC_CTF_PACKET_CONTEXT:
		add(members, &count, packet_context);
		if (x->query->source_count > 1)
			members[count++] = &log_member;
		if (x->query->has_host)
			members[count++] = &host_member;
		break;
	case PTRC_CTF_EVENT_HEADER:
		add(members, &count, event_header);
		break;
	case PTRC_CTF_EVENT_CONTEXT:
		add(members, &count, event_context);
		if (x->query->symbols)
			add(members, &count, symbol_members);
		break;
	}
	return count;
}

/* ---- classes of events ---- */

const char *ptrc_ctf_field_name(const struct ptrc_layout_field *f)
{
	return *f->name ? f->name : "data";
}

/* Whether the class has a field whose name consists of `name` and `rest`. */
static bool has_field(const struct ptrc_ctf_class *c, const char *name, const char *rest)
{
	size_t size = strlen(name);

	for (size_t i = 0; i < c->count; i++) {
		const char *other = c->fields[i]->name;

		if (!strncmp(other, name, size) && !strcmp(other + size, rest))
			return true;
	}
	return false;
}

/* Stores a name that consists of `name`, `rest` and as many underscores as are needed for it to differ from the
 * names of all fields, even after readers have removed an underscore from the start of a field's name. */
static void keep_apart(const struct ptrc_ctf_class *c, const char *name, const char *rest,
		       char text[PTRC_CTF_NAME_BYTES])
{
	char apart[PTRC_CTF_NAME_BYTES] = "";

	strcat(strcpy(apart, name), rest);
	while ((has_field(c, apart, "") || has_field(c, "_", apart)) &&
	       strlen(apart) + 2 < PTRC_CTF_NAME_BYTES)
		strcat(apart, "_");
	strcpy(text, apart);
}

bool ptrc_ctf_has_length(const struct ptrc_ctf_class *c, const struct ptrc_layout_field *f,
			 char name[PTRC_CTF_NAME_BYTES])
{
	if (f->count != PTRC_LAYOUT_COUNT_OPEN && (f->kind != PTRC_LAYOUT_BYTES || f->size))
		return false;
	keep_apart(c, ptrc_ctf_field_name(f), "_length", name);
	return true;
}

void ptrc_ctf_put_class(const struct ptrc_ctf_version *version, struct ptrc_buffer *b, uint32_t id,
			enum ptrc_ctf_kind kind, bool is_cut, const struct ptrc_layout *layout,
			const struct ptrc_reader_name *name)
{
	static const struct ptrc_layout_member places[] = {{"record", 1}, {"read", 2}};
	static const struct ptrc_layout_field text = STRING("data");
	static const struct ptrc_layout_field bytes = {
		.name = "data", .kind = PTRC_LAYOUT_BYTES, .item_size = 1};
	struct ptrc_ctf_class c = {.id = id, .name = name};
	char cut_name[PTRC_CTF_NAME_BYTES];
	struct ptrc_layout_field cut = {.name = cut_name,
					.kind = PTRC_LAYOUT_UNSIGNED,
					.size = 1,
					.item_size = 1,
					.members = places,
					.member_count = 2};
	const struct ptrc_layout_field *f;

	if (is_cut)
		*ptrc_append(c.fields, c.count) = &cut;
	*cut_name = '\0';
	for (size_t i = 0; kind == PTRC_CTF_FIELDS && (f = ptrc_layout_field(layout, i)); i++)
		if (f->kind != PTRC_LAYOUT_PADDING) {
			c.has_underscored |= has_field(&c, "_", f->name);
			*ptrc_append(c.fields, c.count) = f;
		}
	if (kind == PTRC_CTF_TEXT)
		*ptrc_append(c.fields, c.count) = &text;
	if (kind == PTRC_CTF_BYTES)
		*ptrc_append(c.fields, c.count) = &bytes;
	keep_apart(&c, "", "truncated", cut_name);
	version->put_class(b, &c);
	free(c.fields);
}

/* ---- facts about the trace ---- */

void ptrc_ctf_put_uuid(struct ptrc_buffer *b, const unsigned char uuid[PTRC_CTF_UUID_BYTES])
{
	for (size_t i = 0; i < PTRC_CTF_UUID_BYTES; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			ptrc_buffer_char(b, '-');
		ptrc_buffer_hex_bytes(b, uuid + i, 1);
	}
}

struct facts {
	void (*take)(void *arg, const char *name, const char *text, size_t size);
	void *arg;
	/* The number of the log, from 0. */
	size_t number;
};

static void visit(const struct facts *f, const char *name, const char *text, size_t size)
{
	PTRC_SCOPED_BUFFER numbered = PTRC_BUFFER_INIT;

	if (!size)
		return;
	ptrc_buffer_text(&numbered, name);
	if (f->number)
		ptrc_buffer_format(&numbered, "_%zu", f->number + 1);
	ptrc_buffer_char(&numbered, '\0');
	f->take(f->arg, numbered.bytes, text, size);
}

static void visit_text(const struct facts *f, const char *name, const char *text)
{
	visit(f, name, text, strlen(text));
}

static void visit_log(const struct facts *f, const struct ptrc_source *s, unsigned long process)
{
	struct posixtrace_log_host host = {0};
	struct posixtrace_log_process p = {0};
	PTRC_SCOPED_BUFFER text = PTRC_BUFFER_INIT;
	struct ptrc_json j = {&text, true};
	trace_id_t trace = s->reader.trace;

	visit_text(f, s->reader.source ? "session" : "log", s->reader.path);
	if (!posixtrace_log_get_host(trace, &host, sizeof(host))) {
		visit_text(f, "hostname", host.ph_name);
		visit_text(f, "sysname", host.ph_system);
		visit_text(f, "kernel_release", host.ph_release);
		visit_text(f, "kernel_version", host.ph_version);
		visit_text(f, "machine", host.ph_machine);
		visit_text(f, "machine_id", host.ph_machine_id);
		visit_text(f, "boot_id", host.ph_boot_id);
	}
	if (!posixtrace_log_get_process(trace, process, &p, sizeof(p))) {
		char line[PTRC_COMMAND_LINE_BYTES];

		visit(f, "program", p.pp_executable, p.pp_executable_size);
		visit(f, "command_line", line, ptrc_command_line(&p, line));
	}
	ptrc_buffer_char(&text, '{');
	ptrc_losses_json(&s->losses, &j);
	ptrc_buffer_char(&text, '}');
	if (ptrc_losses_is_any(&s->losses))
		visit(f, "losses", text.bytes, text.used);
}

void ptrc_ctf_each_fact(const struct ptrc_export *x, const unsigned long *processes,
			void (*take)(void *arg, const char *name, const char *text, size_t size),
			void *arg)
{
	struct facts f = {.take = take, .arg = arg};

	visit_text(&f, "tracer_name", "posixtrace");
	visit_text(&f, "exporter", "ptrace-export " PACKAGE_VERSION);
	for (; f.number < x->query->source_count; f.number++)
		visit_log(&f, &x->query->sources[f.number], processes[f.number]);
}
