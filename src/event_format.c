/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/event_format.h"

#include <string.h>

#include "src/json.h"

/* The members of a set of event types, in one of the forms below. */
struct set_rule {
	const char *key;
	/* Where in the data. */
	size_t offset;
};

/* What the trace system tells with its own events; see <trace.h>. */
static const struct set_rule start_sets[] = {{"filter", 0}, {NULL, 0}};
static const struct set_rule filter_sets[] = {
	{"old", 0},
	{"new", sizeof(trace_event_set_t)},
	{NULL, 0},
};

static const struct set_rule *sets_of(trace_event_id_t id, size_t size)
{
	if (id == POSIX_TRACE_START && size == sizeof(trace_event_set_t))
		return start_sets;
	if (id == POSIX_TRACE_FILTER && size == 2 * sizeof(trace_event_set_t))
		return filter_sets;
	return NULL;
}

static const char *number_of(trace_event_id_t id, size_t size)
{
	if (size != sizeof(int))
		return NULL;
	if (id == POSIX_TRACE_STOP)
		return "reason";
	return id == POSIX_TRACE_ERROR ? "error" : NULL;
}

static int number_at(const unsigned char *data)
{
	int number;

	memcpy(&number, data, sizeof(number));
	return number;
}

static bool is_member(const trace_event_set_t *set, trace_event_id_t id)
{
	int found = 0;

	return !posix_trace_eventset_ismember(id, set, &found) && found;
}

/* The names in the set; then, as key_ids, the numbers of those without a name, if any. */
static void put_set_json(struct ptrc_json *j, struct ptrc_reader *r,
			 const struct set_rule *rule)
{
	trace_event_set_t set;
	bool has_unknown = false;
	char key[16];

	memcpy(&set, r->data + rule->offset, sizeof(set));
	ptrc_json_open(j, rule->key, '[');
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++) {
		const struct ptrc_reader_name *name;

		if (!is_member(&set, id))
			continue;
		name = ptrc_reader_name(r, id);
		if (name->is_known)
			ptrc_json_text(j, NULL, name->text);
		else
			has_unknown = true;
	}
	ptrc_json_close(j, ']');
	if (!has_unknown)
		return;
	stpcpy(stpcpy(key, rule->key), "_ids");
	ptrc_json_open(j, key, '[');
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++)
		if (is_member(&set, id) && !ptrc_reader_name(r, id)->is_known)
			ptrc_json_u64(j, NULL, id);
	ptrc_json_close(j, ']');
}

/* Names separated by commas; runs of types without a name as #first-#last. */
static void put_set_text(struct ptrc_buffer *b, struct ptrc_reader *r,
			 const struct set_rule *rule)
{
	trace_event_set_t set;
	const char *separator = "";

	memcpy(&set, r->data + rule->offset, sizeof(set));
	ptrc_buffer_text(b, rule->key);
	ptrc_buffer_char(b, '=');
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++) {
		const struct ptrc_reader_name *name;
		trace_event_id_t last = id;

		if (!is_member(&set, id))
			continue;
		name = ptrc_reader_name(r, id);
		ptrc_buffer_text(b, separator);
		separator = ",";
		if (name->is_known) {
			ptrc_text_put(b, name->text, name->size);
			continue;
		}
		while (last + 1 < PTRC_READER_IDS && is_member(&set, last + 1) &&
		       !ptrc_reader_name(r, last + 1)->is_known)
			last++;
		ptrc_buffer_format(b, last > id ? "#%u-#%u" : "#%u", id, last);
		id = last;
	}
	if (!*separator)
		ptrc_buffer_text(b, "none");
}

static void put_data_json(struct ptrc_buffer *b, struct ptrc_reader *r)
{
	trace_event_id_t id = r->event.posix_event_id;
	const struct set_rule *sets;
	const char *number;
	size_t size = r->size;

	if (__builtin_expect(id < POSIX_TRACE_UNNAMED_USEREVENT, 0)) {
		struct ptrc_json j = {b, false};

		sets = sets_of(id, size);
		for (; sets && sets->key; sets++)
			put_set_json(&j, r, sets);
		if (sets)
			return;
		number = number_of(id, size);
		if (number) {
			ptrc_json_i64(&j, number, number_at(r->data));
			return;
		}
	}
	if (ptrc_text_is_clean(r->data, &size)) {
		ptrc_buffer_text(b, ",\"data\":");
		ptrc_json_string(b, (const char *)r->data, size);
	} else {
		ptrc_buffer_text(b, ",\"data_hex\":\"");
		ptrc_buffer_hex_bytes(b, r->data, size);
		ptrc_buffer_char(b, '"');
	}
}

static void put_data_text(struct ptrc_buffer *b, struct ptrc_reader *r)
{
	trace_event_id_t id = r->event.posix_event_id;
	size_t size = r->size;

	if (id < POSIX_TRACE_UNNAMED_USEREVENT) {
		const struct set_rule *sets = sets_of(id, size);
		const char *number = number_of(id, size);

		for (const struct set_rule *s = sets; s && s->key; s++) {
			ptrc_buffer_char(b, ' ');
			put_set_text(b, r, s);
		}
		if (number)
			ptrc_buffer_format(b, " %s=%d", number, number_at(r->data));
		if (sets || number)
			return;
	}
	if (!size)
		return;
	ptrc_buffer_char(b, ' ');
	if (ptrc_text_is_clean(r->data, &size)) {
		ptrc_json_string(b, (const char *)r->data, size);
	} else {
		ptrc_buffer_text(b, "0x");
		ptrc_buffer_hex_bytes(b, r->data, size);
	}
}

static void make_label(struct ptrc_buffer *label, const struct ptrc_reader_name *name,
		       trace_event_id_t id, enum ptrc_format format)
{
	struct ptrc_json j = {label, false};

	if (format == PTRC_FORMAT_TEXT) {
		ptrc_text_put(label, name->text, name->size);
		return;
	}
	ptrc_json_bytes(&j, "event", name->text, name->size);
	ptrc_json_u64(&j, "id", id);
	ptrc_buffer_text(label, ",\"pid\":");
}

static const char *truncation(int status)
{
	switch (status) {
	case POSIX_TRACE_NOT_TRUNCATED:
		return "no";
	case POSIX_TRACE_TRUNCATED_RECORD:
		return "record";
	default:
		return "read";
	}
}

static uint64_t thread_number(pthread_t thread)
{
	_Static_assert(sizeof(pthread_t) == sizeof(uint64_t), "pthread_t is an address");
	return (uint64_t)thread;
}

/* The members and their order are in docs/json-schema.md. */
static void put_json(struct ptrc_buffer *b, struct ptrc_event_format *f,
		     const struct ptrc_buffer *label, struct ptrc_event_labels *labels,
		     struct ptrc_reader *r)
{
	ptrc_buffer_text(b, "{\"time\":\"");
	ptrc_buffer_time(b, &f->time, &r->event.posix_timestamp);
	ptrc_buffer_text(b, "\",\"ns\":");
	ptrc_buffer_ns(b, &f->time, &r->event.posix_timestamp);
	ptrc_buffer_bytes(b, label->bytes, label->used);
	ptrc_buffer_i64(b, r->event.posix_pid);
	ptrc_buffer_text(b, ",\"thread\":\"");
	ptrc_buffer_hex(b, thread_number(r->event.posix_thread_id));
	ptrc_buffer_text(b, "\",\"address\":\"");
	ptrc_buffer_hex(b, (uintptr_t)r->event.posix_prog_address);
	ptrc_buffer_text(b, "\",\"truncated\":\"");
	ptrc_buffer_text(b, truncation(r->event.posix_truncation_status));
	ptrc_buffer_text(b, "\",\"len\":");
	ptrc_buffer_u64(b, r->size);
	put_data_json(b, r);
	if (f->has_log) {
		if (!labels->log.used) {
			struct ptrc_json j = {&labels->log, false};

			ptrc_json_bytes(&j, "log", r->path, strlen(r->path));
		}
		ptrc_buffer_bytes(b, labels->log.bytes, labels->log.used);
	}
	ptrc_buffer_text(b, "}\n");
}

/* Ends a column that began at the byte, and makes it as wide as it ever was. */
static void end_column(struct ptrc_buffer *b, size_t begin, int *width)
{
	int used = (int)(b->used - begin);

	if (used > *width)
		*width = used;
	ptrc_buffer_blanks(b, *width - used);
}

/* The same for numbers, which stand at the right side of their column. */
static void put_number_right(struct ptrc_buffer *b, int64_t v, int *width)
{
	char digits[24];
	struct ptrc_buffer number = {digits, 0, sizeof(digits)};

	ptrc_buffer_i64(&number, v);
	if ((int)number.used > *width)
		*width = (int)number.used;
	ptrc_buffer_blanks(b, *width - (int)number.used);
	ptrc_buffer_bytes(b, digits, number.used);
}

static void put_text(struct ptrc_buffer *b, struct ptrc_event_format *f,
		     const struct ptrc_buffer *label, struct ptrc_event_labels *labels,
		     struct ptrc_reader *r)
{
	size_t begin;
	int width = f->name_width;

	ptrc_buffer_time(b, &f->time, &r->event.posix_timestamp);
	ptrc_buffer_char(b, ' ');
	if (f->has_log) {
		if (!labels->log.used)
			ptrc_text_put(&labels->log, r->path, strlen(r->path));
		begin = b->used;
		ptrc_buffer_bytes(b, labels->log.bytes, labels->log.used);
		end_column(b, begin, &f->log_width);
		ptrc_buffer_char(b, ' ');
	}
	put_number_right(b, r->event.posix_pid, &f->pid_width);
	ptrc_buffer_char(b, ' ');
	begin = b->used;
	ptrc_buffer_hex(b, thread_number(r->event.posix_thread_id));
	end_column(b, begin, &f->thread_width);
	ptrc_buffer_char(b, ' ');
	begin = b->used;
	ptrc_buffer_bytes(b, label->bytes, label->used);
	end_column(b, begin, &width);
	ptrc_buffer_char(b, ' ');
	begin = b->used;
	ptrc_buffer_hex(b, (uintptr_t)r->event.posix_prog_address);
	if (r->size || r->event.posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED)
		end_column(b, begin, &f->address_width);
	put_data_text(b, r);
	if (r->event.posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED)
		ptrc_buffer_text(b, " (cut)");
	ptrc_buffer_char(b, '\n');
}

void ptrc_event_put(struct ptrc_buffer *b, struct ptrc_event_format *f,
		    struct ptrc_event_labels *labels, struct ptrc_reader *r)
{
	trace_event_id_t id = r->event.posix_event_id;
	struct ptrc_buffer *label = &labels->name[id < PTRC_READER_IDS ? id : 0];

	if (__builtin_expect(!label->bytes, 0))
		make_label(label, ptrc_reader_name(r, id), id, f->format);
	if (f->format == PTRC_FORMAT_JSON)
		put_json(b, f, label, labels, r);
	else
		put_text(b, f, label, labels, r);
}

void ptrc_event_labels_free(struct ptrc_event_labels *labels)
{
	for (size_t i = 0; i < PTRC_READER_IDS; i++)
		ptrc_buffer_free(&labels->name[i]);
	ptrc_buffer_free(&labels->log);
}
