/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/summary/stat.h"

#include <string.h>

#include "src/base/json.h"
#include "src/summary/whose.h"
#include "src/fields/when.h"

enum kind {
	U64,
	/* A U64 that a log states at its end. If a log has no end, what is known of it is a lower bound. */
	U64_AT_END,
	I64,
	I32,
	/* An int that is 1 for true. */
	FLAG,
	/* An array of char. */
	TEXT,
	/* Two numbers of type int64_t: seconds and nanoseconds. */
	TIME,
	STREAM_STATUS,
	STREAM_FULL_POLICY,
	LOG_FULL_POLICY,
	INHERITANCE,
	ERROR_NUMBER,
};

/* The conditions under which a field is shown: a set of bits, all of which must be met. */
enum {
	ANY = 0,
	SESSION = 1,
	WITH_LOG = 2,
	/* The session has the setting snapshot-on. */
	WITH_SNAPSHOTS = 4,
	/* The session has written a snapshot. */
	WITH_SNAPSHOT = 8,
};

struct field {
	const char *key;
	/* The label in text. NULL: this row is no field, but the key of the JSON object that has the following
	 * fields. */
	const char *label;
	enum kind kind;
	size_t offset;
	unsigned int needs;
};

#define AT(member) offsetof(struct ptrc_stat, state.member)

static const struct field fields[] = {
	{"controller", "controller", I32, AT(controller), SESSION},
	{"target", "target", I32, AT(target), SESSION},
	{"target_alive", "target alive", FLAG, AT(is_target_alive), SESSION},
	{"until_exit", "until exit", FLAG, AT(is_until_exit), SESSION},
	{.key = "attributes"},
	{"trace_name", "trace name", TEXT, AT(attributes.trace_name), ANY},
	{"generation_version", "generation version", TEXT, AT(attributes.generation_version), ANY},
	{"creation_time", "creation time", TIME, AT(attributes.creation_s), ANY},
	{"clock_resolution_ns", "clock resolution (ns)", I64, AT(attributes.clock_resolution_ns),
	 ANY},
	{"stream_min_size", "stream min size", U64, AT(attributes.stream_min_size), ANY},
	{"stream_full_policy", "stream full policy", STREAM_FULL_POLICY,
	 AT(attributes.stream_full_policy), ANY},
	{"full_wait_ns", "full wait (ns)", U64, AT(attributes.full_wait_ns), WITH_LOG},
	{"max_data_size", "max data size", U64, AT(attributes.max_data_size), ANY},
	{"inheritance", "inheritance", INHERITANCE, AT(attributes.inheritance), ANY},
	{"log_max_size", "log max size", U64, AT(attributes.log_max_size), WITH_LOG},
	{"log_full_policy", "log full policy", LOG_FULL_POLICY, AT(attributes.log_full_policy),
	 WITH_LOG},
	{"log_rotate_bytes", "log rotate (bytes)", U64, AT(attributes.log_rotate_bytes), WITH_LOG},
	{"log_rotate_ns", "log rotate (ns)", U64, AT(attributes.log_rotate_ns), WITH_LOG},
	{"log_keep", "log keep", U64, AT(attributes.log_keep), WITH_LOG},
	{.key = "status"},
	{"stream", "status", STREAM_STATUS, AT(status.posix_stream_status), ANY},
	{"stream_full", "stream full", FLAG, AT(status.posix_stream_full_status), ANY},
	{"stream_overrun", "stream overrun", FLAG, AT(status.posix_stream_overrun_status), ANY},
	{"flushing", "flushing", FLAG, AT(status.posix_stream_flush_status), WITH_LOG},
	{"flush_error", "flush error", ERROR_NUMBER, AT(status.posix_stream_flush_error), WITH_LOG},
	{"log_overrun", "log overrun", FLAG, AT(status.posix_log_overrun_status), WITH_LOG},
	{"log_full", "log full", FLAG, AT(status.posix_log_full_status), WITH_LOG},
	{.key = "counts"},
	{"lost_events", "events lost (stream)", U64_AT_END, AT(counts.pt_lost_events), ANY},
	{"log_lost_events", "events lost (log)", U64_AT_END, AT(counts.pt_log_lost_events),
	 WITH_LOG},
	{"unobserved_events", "events lost (kernel)", U64_AT_END, AT(counts.pt_unobserved_events),
	 ANY},
	{"unwritten_events", "events not written", U64_AT_END,
	 offsetof(struct ptrc_stat, losses.unwritten_events), WITH_LOG},
	{"log_events", "events in the log", U64, AT(counts.pt_log_events), WITH_LOG},
	{"log_bytes", "bytes in the log", U64, AT(counts.pt_log_bytes), WITH_LOG},
	{"waits", "waits for room", U64_AT_END, AT(counts.pt_waits), WITH_LOG},
	{"wait_ns", "time waited (ns)", U64_AT_END, AT(counts.pt_wait_ns), WITH_LOG},
	{"truncated_events", "events with data cut", U64,
	 offsetof(struct ptrc_stat, types.truncated_count), ANY},
	{"data_needed", "largest data cut", U64_AT_END, AT(counts.pt_data_needed), ANY},
	{"stream_bytes", "bytes in the stream", U64, AT(counts.pt_stream_bytes), SESSION},
	{"processes", "processes", U64, AT(counts.pt_processes), SESSION},
	{"threads", "threads", U64, AT(counts.pt_threads), SESSION},
	{"rotation_error", "rotation error", ERROR_NUMBER,
	 offsetof(struct ptrc_stat, losses.rotation_error), SESSION | WITH_LOG},
	{.key = "snapshots"},
	{"max", "snapshots at most", U64, AT(snapshots.max), WITH_SNAPSHOTS},
	{"written", "snapshots written", U64, AT(snapshots.written), WITH_SNAPSHOTS},
	{"failed", "snapshots failed", U64, AT(snapshots.failed), WITH_SNAPSHOTS},
	{"error", "snapshot error", ERROR_NUMBER, AT(snapshots.error), WITH_SNAPSHOTS},
	{"used_up", "snapshots used up", FLAG, AT(snapshots.is_used_up), WITH_SNAPSHOTS},
	{"event", "last snapshot of", TEXT, AT(snapshots.event), WITH_SNAPSHOT},
	{"time", "recorded at", TIME, AT(snapshots.time_s), WITH_SNAPSHOT},
	{"last_log", "last snapshot", TEXT, AT(snapshots.path), WITH_SNAPSHOT},
	{0},
};

_Static_assert(sizeof(unsigned long) == sizeof(uint64_t), "counts are printed as U64");

void ptrc_stat_from_session(struct ptrc_stat *s, const struct ptrc_session_state *state,
			    const struct ptrc_event_types *types)
{
	*s = (struct ptrc_stat){
		.is_session = true, .thing = state->name, .state = *state, .types = *types};
	ptrc_session_count_log(state, &s->state.counts);
	ptrc_losses_gather(&s->losses, &state->status, &s->state.counts);
	s->losses.is_log_gone = state->is_log_gone;
}

void ptrc_stat_from_log(struct ptrc_stat *s, struct ptrc_reader *r)
{
	struct ptrc_counts counts;

	*s = (struct ptrc_stat){
		.thing = r->path,
		.label = r->label,
		.trace = r->trace,
		.state = {.has_log = true,
			  .attributes = r->attributes,
			  .status = r->status,
			  .counts = r->counts},
	};
	ptrc_event_types_from_log(&s->types, r, true);
	/* Only events that could be read are counted here. Events that are damaged, or in a missing file, are among
	 * the losses. */
	s->state.counts.pt_log_events = s->types.event_count - ptrc_losses_stand_ins(r->trace);
	if (!ptrc_trace_counts(r->trace, &counts))
		s->state.counts.pt_log_bytes = counts.pt_log_bytes;
	ptrc_reader_losses(r, true, &s->losses);
}

/* For a session, how long it has been running; for a log, the time from its first to its last event; 0 if it is
 * unknown. */
static uint64_t span_ns(const struct ptrc_stat *s)
{
	int64_t first = ptrc_when_ns(&s->types.first), last = ptrc_when_ns(&s->types.last);

	if (s->is_session)
		return s->state.running_ns < INT64_MAX ? s->state.running_ns : 0;
	/* The last event is earlier than the first one if the clock was set back. */
	return last < first ? 0 : (uint64_t)last - (uint64_t)first;
}

/* The number of events that were recorded. In a session, it includes those that a stream with the policy loop
 * has overwritten since. */
static uint64_t recorded(const struct ptrc_stat *s)
{
	uint64_t overwritten =
		s->is_session ? ptrc_session_recorded(&s->state) - s->state.event_count : 0;

	return s->types.event_count + overwritten;
}

/* The number of events or bytes per second, times 100, for a count in `ns` nanoseconds. */
static uint64_t per_second(uint64_t count, uint64_t ns)
{
	return (uint64_t)((double)count * 1e11 / (double)ns + 0.5);
}

static bool applies(const struct field *f, const struct ptrc_stat *s)
{
	unsigned int lacks = (s->is_session ? 0 : SESSION) | (s->state.has_log ? 0 : WITH_LOG) |
			     (s->state.snapshots.max ? 0 : WITH_SNAPSHOTS) |
			     (*s->state.snapshots.path ? 0 : WITH_SNAPSHOT);

	return !(f->needs & lacks);
}

static const void *value_of(const struct field *f, const struct ptrc_stat *s)
{
	return (const char *)s + f->offset;
}

/* The value of a field that is a number. A U64 above INT64_MAX becomes negative here; the caller casts it back. */
static int64_t number_of(const struct field *f, const struct ptrc_stat *s)
{
	int64_t wide;
	int narrow;

	if (f->kind == U64 || f->kind == U64_AT_END || f->kind == I64) {
		memcpy(&wide, value_of(f, s), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, value_of(f, s), sizeof(narrow));
	return narrow;
}

static struct timespec time_of(const struct field *f, const struct ptrc_stat *s)
{
	int64_t v[2];

	memcpy(v, value_of(f, s), sizeof(v));
	return (struct timespec){.tv_sec = v[0], .tv_nsec = v[1]};
}

static const char *word_of(const struct field *f, const struct ptrc_stat *s)
{
	static const struct ptrc_attributes_policy *const policies[] = {
		[STREAM_FULL_POLICY] = &ptrc_attributes_stream_full_policies,
		[LOG_FULL_POLICY] = &ptrc_attributes_log_full_policies,
		[INHERITANCE] = &ptrc_attributes_inheritance_policies,
	};
	int v = (int)number_of(f, s);

	if (f->kind == STREAM_STATUS)
		return v == POSIX_TRACE_RUNNING ? "running" : "suspended";
	return ptrc_attributes_word(policies[f->kind], v);
}

static void put_end_count(struct ptrc_buffer *b, uint64_t count, bool is_unclosed)
{
	if (is_unclosed && !count)
		ptrc_buffer_text(b, "unknown");
	else
		ptrc_buffer_format(b, "%s%llu", is_unclosed ? "at least " : "",
				   (unsigned long long)count);
}

static void put_field_text(struct ptrc_buffer *b, const struct field *f, const struct ptrc_stat *s,
			   bool is_utc)
{
	struct ptrc_time_format time = {.is_local = !is_utc};
	struct timespec t;
	int v;

	ptrc_stat_put_label(b, f->label);
	switch (f->kind) {
	case U64_AT_END:
		put_end_count(b, (uint64_t)number_of(f, s), s->losses.is_unclosed);
		break;
	case U64:
		ptrc_buffer_u64(b, (uint64_t)number_of(f, s));
		break;
	case I64:
	case I32:
		ptrc_buffer_i64(b, number_of(f, s));
		break;
	case FLAG:
		ptrc_buffer_text(b, number_of(f, s) == 1 ? "yes" : "no");
		break;
	case TEXT:
		ptrc_text_put(b, value_of(f, s), strlen(value_of(f, s)));
		break;
	case TIME:
		t = time_of(f, s);
		ptrc_buffer_time(b, &time, &t);
		break;
	case ERROR_NUMBER:
		v = (int)number_of(f, s);
		ptrc_buffer_text(b, v ? strerror(v) : "none");
		break;
	default:
		ptrc_buffer_text(b, word_of(f, s));
		break;
	}
	ptrc_buffer_char(b, '\n');
}

static void put_rate_text(struct ptrc_buffer *b, const char *label, uint64_t count, uint64_t ns)
{
	uint64_t rate = per_second(count, ns);

	ptrc_stat_put_label(b, label);
	ptrc_buffer_format(b, "%llu.%02llu\n", (unsigned long long)rate / 100,
			   (unsigned long long)rate % 100);
}

static void put_rates_text(struct ptrc_buffer *b, const struct ptrc_stat *s, bool is_utc)
{
	uint64_t ns = span_ns(s);

	if (!s->is_session && s->types.event_count) {
		ptrc_stat_put_time(b, "first event", &s->types.first, is_utc);
		ptrc_stat_put_time(b, "last event", &s->types.last, is_utc);
	}
	ptrc_stat_put_label(b, s->is_session ? "time running (s)" : "time span (s)");
	ptrc_buffer_format(b, "%llu.%09llu\n", (unsigned long long)(ns / 1000000000),
			   (unsigned long long)(ns % 1000000000));
	ptrc_stat_put_number(b, "events", (int64_t)s->types.event_count);
	ptrc_stat_put_number(b, "bytes of data", (int64_t)s->types.event_bytes);
	if (!ns)
		return;
	put_rate_text(b, "events per second", recorded(s), ns);
	/* If events were overwritten, the bytes that they had are not known. */
	if (recorded(s) == s->types.event_count)
		put_rate_text(b, "bytes per second", s->types.event_bytes, ns);
}

void ptrc_stat_put_text(struct ptrc_buffer *b, const struct ptrc_stat *s, bool is_utc)
{
	const char *log = s->state.has_log ? s->state.log : "none";

	ptrc_stat_put_line(b, s->is_session ? "session" : "log", s->thing, strlen(s->thing));
	if (s->is_session)
		ptrc_stat_put_line(b, "log", log, strlen(log));
	if (s->label)
		ptrc_stat_put_line(b, "label", s->label, strlen(s->label));
	if (!s->is_session) {
		ptrc_whose_put_host_text(b, s->trace);
		ptrc_whose_put_clock_text(b, s->trace);
	}
	for (const struct field *f = fields; f->key; f++)
		if (f->label && applies(f, s))
			put_field_text(b, f, s, is_utc);
	if (s->losses.unreadable_events)
		ptrc_stat_put_number(b, "events not readable",
				     (int64_t)s->losses.unreadable_events);
	ptrc_stat_put_label(b, "complete");
	ptrc_buffer_text(b, ptrc_losses_is_any(&s->losses) ? "no\n" : "yes\n");
	put_rates_text(b, s, is_utc);
	ptrc_buffer_char(b, '\n');
	ptrc_event_types_put_text(b, &s->types);
	if (!s->is_session)
		ptrc_whose_put_processes_text(b, s->trace, is_utc);
}

static void put_field_json(struct ptrc_json *j, const struct field *f, const struct ptrc_stat *s)
{
	struct timespec t;

	switch (f->kind) {
	case U64:
	case U64_AT_END:
		ptrc_json_u64(j, f->key, (uint64_t)number_of(f, s));
		break;
	case I64:
	case I32:
	case ERROR_NUMBER:
		ptrc_json_i64(j, f->key, number_of(f, s));
		break;
	case FLAG:
		ptrc_json_bool(j, f->key, number_of(f, s) == 1);
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

static void put_rate_json(struct ptrc_json *j, const char *key, uint64_t count, uint64_t ns)
{
	uint64_t rate = per_second(count, ns);

	ptrc_json_u64(j, key, rate / 100);
	ptrc_buffer_format(j->buffer, ".%02llu", (unsigned long long)rate % 100);
}

static void put_rates_json(struct ptrc_json *j, const struct ptrc_stat *s)
{
	uint64_t ns = span_ns(s);

	ptrc_json_u64(j, "event_count", s->types.event_count);
	ptrc_json_u64(j, "event_bytes", s->types.event_bytes);
	if (s->is_session)
		ptrc_json_u64(j, "running_ns", ns);
	if (!s->is_session && s->types.event_count) {
		ptrc_json_time(j, "first", &s->types.first);
		ptrc_json_time(j, "last", &s->types.last);
	}
	if (!ns)
		return;
	put_rate_json(j, "events_per_second", recorded(s), ns);
	if (recorded(s) == s->types.event_count)
		put_rate_json(j, "bytes_per_second", s->types.event_bytes, ns);
}

void ptrc_stat_put_json(struct ptrc_buffer *b, const struct ptrc_stat *s)
{
	struct ptrc_json j = ptrc_json_begin(b);
	const char *group = NULL, *open_group = NULL;

	ptrc_json_text(&j, "kind", s->is_session ? "session" : "log");
	if (s->is_session) {
		ptrc_json_text(&j, "session", s->thing);
		if (s->state.has_log)
			ptrc_json_bytes(&j, "log", s->state.log, strlen(s->state.log));
	} else {
		ptrc_json_bytes(&j, "log", s->thing, strlen(s->thing));
	}
	if (s->label)
		ptrc_json_bytes(&j, "label", s->label, strlen(s->label));
	for (const struct field *f = fields; f->key; f++) {
		if (!f->label)
			group = f->key;
		if (!f->label || !applies(f, s))
			continue;
		if (group != open_group) {
			if (open_group)
				ptrc_json_close(&j, '}');
			ptrc_json_open(&j, group, '{');
			open_group = group;
		}
		put_field_json(&j, f, s);
	}
	ptrc_json_close(&j, '}');
	ptrc_losses_json(&s->losses, &j);
	ptrc_json_bool(&j, "complete", !ptrc_losses_is_any(&s->losses));
	put_rates_json(&j, s);
	ptrc_event_types_json(&j, "events", &s->types, s->is_session);
	if (!s->is_session)
		ptrc_whose_put_json(&j, s->trace);
	ptrc_json_end(&j);
}
