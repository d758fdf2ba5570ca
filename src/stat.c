/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/stat.h"

#include <string.h>

#include "src/json.h"

enum kind {
	U64,
	I64,
	I32,
	/* An int that is 1 for yes. */
	FLAG,
	/* An array of char. */
	TEXT,
	/* Two int64_t: seconds, nanoseconds. */
	TIME,
	STREAM_STATUS,
	STREAM_FULL_POLICY,
	LOG_FULL_POLICY,
	INHERITANCE,
	ERROR_NUMBER,
};

/* For what a field has a meaning. */
enum {
	SESSION = 1,
	LOG = 2,
	/* Both of these have a log. */
	WITH_LOG = 4,
	ANY = SESSION | LOG,
};

struct field {
	const char *key;
	const char *label;
	enum kind kind;
	size_t offset;
	unsigned int where;
};

struct group {
	/* Key of the object in JSON; null: in the outermost. */
	const char *key;
	const struct field *fields;
};

#define AT(member) offsetof(struct ptrc_stat, member)

static const struct field session_fields[] = {
	{"controller", "controller", I32, AT(controller), SESSION},
	{"target", "target", I32, AT(target), SESSION},
	{"target_alive", "target alive", FLAG, AT(is_target_alive), SESSION},
	{"until_exit", "until exit", FLAG, AT(is_until_exit), SESSION},
	{0},
};

static const struct field attribute_fields[] = {
	{"trace_name", "trace name", TEXT, AT(attributes.trace_name), ANY},
	{"generation_version", "generation version", TEXT,
	 AT(attributes.generation_version), ANY},
	{"creation_time", "creation time", TIME, AT(attributes.creation_s), ANY},
	{"clock_resolution_ns", "clock resolution (ns)", I64,
	 AT(attributes.clock_resolution_ns), ANY},
	{"stream_min_size", "stream min size", U64, AT(attributes.stream_min_size), ANY},
	{"stream_full_policy", "stream full policy", STREAM_FULL_POLICY,
	 AT(attributes.stream_full_policy), ANY},
	{"max_data_size", "max data size", U64, AT(attributes.max_data_size), ANY},
	{"inheritance", "inheritance", INHERITANCE, AT(attributes.inheritance), ANY},
	{"log_max_size", "log max size", U64, AT(attributes.log_max_size),
	 ANY | WITH_LOG},
	{"log_full_policy", "log full policy", LOG_FULL_POLICY,
	 AT(attributes.log_full_policy), ANY | WITH_LOG},
	{0},
};

static const struct field status_fields[] = {
	{"stream", "status", STREAM_STATUS, AT(status.posix_stream_status), ANY},
	{"stream_full", "stream full", FLAG, AT(status.posix_stream_full_status), ANY},
	{"stream_overrun", "stream overrun", FLAG, AT(status.posix_stream_overrun_status),
	 ANY},
	{"flushing", "flushing", FLAG, AT(status.posix_stream_flush_status),
	 ANY | WITH_LOG},
	{"flush_error", "flush error", ERROR_NUMBER, AT(status.posix_stream_flush_error),
	 ANY | WITH_LOG},
	{"log_overrun", "log overrun", FLAG, AT(status.posix_log_overrun_status),
	 ANY | WITH_LOG},
	{"log_full", "log full", FLAG, AT(status.posix_log_full_status), ANY | WITH_LOG},
	{0},
};

static const struct field count_fields[] = {
	{"lost_events", "events lost (stream)", U64, AT(counts.pt_lost_events), ANY},
	{"log_lost_events", "events lost (log)", U64, AT(counts.pt_log_lost_events),
	 ANY | WITH_LOG},
	{"log_events", "events in the log", U64, AT(counts.pt_log_events),
	 ANY | WITH_LOG},
	{"log_bytes", "bytes in the log", U64, AT(counts.pt_log_bytes), ANY | WITH_LOG},
	{"stream_bytes", "bytes in the stream", U64, AT(counts.pt_stream_bytes), SESSION},
	{"processes", "processes", U64, AT(counts.pt_processes), SESSION},
	{"threads", "threads", U64, AT(counts.pt_threads), SESSION},
	{0},
};

_Static_assert(sizeof(unsigned long) == sizeof(uint64_t), "counts are printed as U64");

static const struct group groups[] = {
	{NULL, session_fields},
	{"attributes", attribute_fields},
	{"status", status_fields},
	{"counts", count_fields},
};

void ptrc_stat_from_session(struct ptrc_stat *s, const struct ptrc_session_state *state)
{
	memset(s, 0, sizeof(*s));
	s->is_session = true;
	s->has_log = state->has_log;
	s->thing = state->name;
	s->controller = state->controller;
	s->target = state->target;
	s->is_target_alive = state->is_target_alive;
	s->is_until_exit = state->is_until_exit;
	s->log = state->has_log ? state->log : NULL;
	s->attributes = state->attributes;
	s->status = state->status;
	s->counts = state->counts;
	ptrc_losses_gather(&s->losses, &s->status, &s->counts);
}

void ptrc_stat_from_log(struct ptrc_stat *s, struct ptrc_reader *r)
{
	memset(s, 0, sizeof(*s));
	s->has_log = true;
	s->thing = r->path;
	s->attributes = r->attributes;
	s->status = r->status;
	s->counts = r->counts;
	s->reader = r;
	ptrc_reader_load_names(r);
	while (ptrc_reader_next(r)) {
		trace_event_id_t id = r->event.posix_event_id;
		struct ptrc_stat_type *type = &s->types[id < PTRC_READER_IDS ? id : 0];

		type->count++;
		type->bytes += r->size;
		type->truncated_count +=
			r->event.posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED;
		if (!s->event_count++)
			s->first = r->event.posix_timestamp;
		s->last = r->event.posix_timestamp;
	}
	ptrc_reader_losses(r, true, &s->losses);
}

static bool applies(const struct field *f, const struct ptrc_stat *s)
{
	if (!(f->where & (s->is_session ? SESSION : LOG)))
		return false;
	return !(f->where & WITH_LOG) || s->has_log;
}

static const void *value_of(const struct field *f, const struct ptrc_stat *s)
{
	return (const char *)s + f->offset;
}

static int int_of(const struct field *f, const struct ptrc_stat *s)
{
	int v;

	memcpy(&v, value_of(f, s), sizeof(v));
	return v;
}

static int64_t i64_of(const struct field *f, const struct ptrc_stat *s)
{
	int64_t v;

	memcpy(&v, value_of(f, s), sizeof(v));
	return v;
}

static struct timespec time_of(const struct field *f, const struct ptrc_stat *s)
{
	int64_t v[2];

	memcpy(v, value_of(f, s), sizeof(v));
	return (struct timespec){.tv_sec = v[0], .tv_nsec = v[1]};
}

static const char *word_of(const struct field *f, const struct ptrc_stat *s)
{
	int v = int_of(f, s);

	switch (f->kind) {
	case STREAM_STATUS:
		return v == POSIX_TRACE_RUNNING ? "running" : "suspended";
	case STREAM_FULL_POLICY:
		return ptrc_attributes_stream_full_policy(v);
	case LOG_FULL_POLICY:
		return ptrc_attributes_log_full_policy(v);
	default:
		return ptrc_attributes_inheritance(v);
	}
}

/* Where values begin. */
enum { COLUMN = 24 };

static void put_label(struct ptrc_buffer *b, const char *label)
{
	ptrc_buffer_text(b, label);
	ptrc_buffer_blanks(b, COLUMN - (long)strlen(label));
}

static void put_field_text(struct ptrc_buffer *b, const struct field *f,
			   const struct ptrc_stat *s)
{
	struct ptrc_time_format time = {0};
	struct timespec t;
	int v;

	put_label(b, f->label);
	switch (f->kind) {
	case U64:
		ptrc_buffer_u64(b, (uint64_t)i64_of(f, s));
		break;
	case I64:
		ptrc_buffer_i64(b, i64_of(f, s));
		break;
	case I32:
		ptrc_buffer_i64(b, int_of(f, s));
		break;
	case FLAG:
		ptrc_buffer_text(b, int_of(f, s) == 1 ? "yes" : "no");
		break;
	case TEXT:
		ptrc_text_put(b, value_of(f, s), strlen(value_of(f, s)));
		break;
	case TIME:
		t = time_of(f, s);
		ptrc_buffer_time(b, &time, &t);
		break;
	case ERROR_NUMBER:
		v = int_of(f, s);
		ptrc_buffer_text(b, v ? strerror(v) : "none");
		break;
	default:
		ptrc_buffer_text(b, word_of(f, s));
		break;
	}
	ptrc_buffer_char(b, '\n');
}

static void put_span_text(struct ptrc_buffer *b, const struct ptrc_stat *s)
{
	struct ptrc_time_format time = {0};
	int64_t ns = (s->last.tv_sec - s->first.tv_sec) * 1000000000 + s->last.tv_nsec -
		     s->first.tv_nsec;

	put_label(b, "first event");
	ptrc_buffer_time(b, &time, &s->first);
	ptrc_buffer_char(b, '\n');
	put_label(b, "last event");
	ptrc_buffer_time(b, &time, &s->last);
	ptrc_buffer_char(b, '\n');
	put_label(b, "time span (s)");
	ptrc_buffer_format(b, "%lld.%09lld\n", (long long)(ns / 1000000000),
			   (long long)(ns < 0 ? 0 : ns % 1000000000));
}

static bool is_shown(const struct ptrc_stat *s, size_t id)
{
	/* System events and names that were opened and never used are part of the
	 * list. */
	return s->types[id].count ||
	       (id >= POSIX_TRACE_UNNAMED_USEREVENT + 1 && s->reader->names[id] &&
		s->reader->names[id]->is_known);
}

static void put_types_text(struct ptrc_buffer *b, const struct ptrc_stat *s)
{
	ptrc_buffer_format(b, "\n%12s %12s %12s  %s\n", "events", "bytes", "truncated",
			   "event type");
	for (size_t id = 0; id < PTRC_READER_IDS; id++) {
		const struct ptrc_stat_type *type = &s->types[id];
		const struct ptrc_reader_name *name;

		if (!is_shown(s, id))
			continue;
		name = ptrc_reader_name(s->reader, (trace_event_id_t)id);
		ptrc_buffer_format(b, "%12llu %12llu %12llu  ",
				   (unsigned long long)type->count,
				   (unsigned long long)type->bytes,
				   (unsigned long long)type->truncated_count);
		ptrc_text_put(b, name->text, name->size);
		ptrc_buffer_char(b, '\n');
	}
}

void ptrc_stat_put_text(struct ptrc_buffer *b, const struct ptrc_stat *s)
{
	put_label(b, s->is_session ? "session" : "log");
	ptrc_text_put(b, s->thing, strlen(s->thing));
	ptrc_buffer_char(b, '\n');
	if (s->is_session) {
		put_label(b, "log");
		if (s->log)
			ptrc_text_put(b, s->log, strlen(s->log));
		else
			ptrc_buffer_text(b, "none");
		ptrc_buffer_char(b, '\n');
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (const struct field *f = groups[i].fields; f->key; f++)
			if (applies(f, s))
				put_field_text(b, f, s);
	if (s->losses.unreadable_events) {
		put_label(b, "events not readable");
		ptrc_buffer_u64(b, s->losses.unreadable_events);
		ptrc_buffer_char(b, '\n');
	}
	put_label(b, "complete");
	ptrc_buffer_text(b, ptrc_losses_is_any(&s->losses) ? "no\n" : "yes\n");
	if (!s->reader)
		return;
	if (s->event_count)
		put_span_text(b, s);
	put_types_text(b, s);
}

static void put_field_json(struct ptrc_json *j, const struct field *f,
			   const struct ptrc_stat *s)
{
	struct timespec t;

	switch (f->kind) {
	case U64:
		ptrc_json_u64(j, f->key, (uint64_t)i64_of(f, s));
		break;
	case I64:
		ptrc_json_i64(j, f->key, i64_of(f, s));
		break;
	case I32:
	case ERROR_NUMBER:
		ptrc_json_i64(j, f->key, int_of(f, s));
		break;
	case FLAG:
		ptrc_json_bool(j, f->key, int_of(f, s) == 1);
		break;
	case TEXT:
		ptrc_json_bytes(j, f->key, value_of(f, s), strlen(value_of(f, s)));
		break;
	case TIME:
		t = time_of(f, s);
		ptrc_json_time(j, f->key, &t);
		break;
	default:
		ptrc_json_text(j, f->key, word_of(f, s));
		break;
	}
}

static void put_types_json(struct ptrc_json *j, const struct ptrc_stat *s)
{
	ptrc_json_open(j, "events", '[');
	for (size_t id = 0; id < PTRC_READER_IDS; id++) {
		const struct ptrc_stat_type *type = &s->types[id];
		const struct ptrc_reader_name *name;

		if (!is_shown(s, id))
			continue;
		name = ptrc_reader_name(s->reader, (trace_event_id_t)id);
		ptrc_json_open(j, NULL, '{');
		ptrc_json_bytes(j, "event", name->text, name->size);
		ptrc_json_u64(j, "id", id);
		ptrc_json_u64(j, "count", type->count);
		ptrc_json_u64(j, "bytes", type->bytes);
		ptrc_json_u64(j, "truncated", type->truncated_count);
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

void ptrc_stat_put_json(struct ptrc_buffer *b, const struct ptrc_stat *s)
{
	struct ptrc_json j = {b, true};

	ptrc_json_open(&j, NULL, '{');
	ptrc_json_u64(&j, "version", 1);
	ptrc_json_text(&j, "kind", s->is_session ? "session" : "log");
	if (s->is_session) {
		ptrc_json_text(&j, "session", s->thing);
		if (s->log)
			ptrc_json_bytes(&j, "log", s->log, strlen(s->log));
	} else {
		ptrc_json_bytes(&j, "log", s->thing, strlen(s->thing));
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (groups[i].key)
			ptrc_json_open(&j, groups[i].key, '{');
		for (const struct field *f = groups[i].fields; f->key; f++)
			if (applies(f, s))
				put_field_json(&j, f, s);
		if (groups[i].key)
			ptrc_json_close(&j, '}');
	}
	ptrc_json_open(&j, "losses", '{');
	ptrc_losses_json(&s->losses, &j);
	ptrc_json_close(&j, '}');
	ptrc_json_bool(&j, "complete", !ptrc_losses_is_any(&s->losses));
	if (s->reader) {
		ptrc_json_u64(&j, "event_count", s->event_count);
		if (s->event_count) {
			ptrc_json_time(&j, "first", &s->first);
			ptrc_json_time(&j, "last", &s->last);
		}
		put_types_json(&j, s);
	}
	ptrc_json_close(&j, '}');
	ptrc_buffer_char(b, '\n');
}
