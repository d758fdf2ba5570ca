/* SPDX-License-Identifier: MIT */
/*
 * The Trace Event Format of Chromium, in JSON, for about:tracing, Perfetto's viewer, speedscope and others.
 * Times are microseconds with three decimals, and count from the first event: a time since 1970 would not fit a
 * double to the nanosecond. Viewers sort the events themselves, so a slice, which shows a pair, is put when it ends.
 */
#include "config.h"
#include "src/export/format.h"

#include <string.h>

#include "src/base/json.h"
#include "src/text/event_format.h"
#include "src/fields/when.h"

/* The states of a thread (running, waiting) are shown on a lane (a row of the viewer) of their own. The tid of this
 * lane is the thread's tid plus STATES_TID. */
enum { STATES_TID = 1000000000 };

static void put_ts(struct ptrc_buffer *b, const char *key, uint64_t ns)
{
	uint64_t fraction = ns % 1000;
	char *p;

	ptrc_buffer_text(b, key);
	p = ptrc_write_u64(ptrc_buffer_room(b, PTRC_U64_BYTES + 4), ns / 1000);
	p[0] = '.';
	p[1] = (char)('0' + fraction / 100);
	p[2] = (char)('0' + fraction / 10 % 10);
	p[3] = (char)('0' + fraction % 10);
	b->used = (size_t)(p + 4 - b->bytes);
}

/* Opens an event of the kind `phase`. begin() has put the first event, so this one starts with a comma. */
static inline void put_phase(struct ptrc_buffer *b, const char *phase)
{
	ptrc_buffer_text(b, ",\n{\"ph\":\"");
	ptrc_buffer_text(b, phase);
	ptrc_buffer_char(b, '"');
}

static void put_numbers(struct ptrc_buffer *b, int64_t pid, int64_t tid)
{
	ptrc_buffer_text(b, ",\"pid\":");
	ptrc_buffer_i64(b, pid);
	ptrc_buffer_text(b, ",\"tid\":");
	ptrc_buffer_i64(b, tid);
}

/* Puts the name of a process or a thread. If `name` is NULL, puts its place in the viewer's list
 * (sort_index) instead. */
static void put_metadata(struct ptrc_buffer *b, const struct ptrc_export_lane *lane, int64_t tid,
			 const char *what, const struct ptrc_buffer *name, int64_t place)
{
	put_phase(b, "M");
	put_numbers(b, lane->pid, tid);
	ptrc_buffer_text(b, ",\"name\":\"");
	ptrc_buffer_text(b, what);
	ptrc_buffer_text(b, name ? "\",\"args\":{\"name\":" : "\",\"args\":{\"sort_index\":");
	if (name)
		ptrc_text_json(b, name->bytes, name->used);
	else
		ptrc_buffer_i64(b, place);
	ptrc_buffer_text(b, "}}");
}

/* Puts the name and the place of a new lane. The lane is a thread or, if is_state, the states of a thread,
 * which are shown right below it. */
static void put_new_lane(struct ptrc_buffer *b, struct ptrc_export_lane *lane, bool is_state)
{
	PTRC_SCOPED_BUFFER name = PTRC_BUFFER_INIT;
	int64_t tid = is_state ? (int64_t)STATES_TID + lane->tid : lane->tid;

	if (!lane->process->is_written) {
		put_metadata(b, lane, 0, "process_name", &lane->process->name, 0);
		lane->process->is_written = true;
	}
	ptrc_export_put_thread(&name, lane);
	if (is_state)
		ptrc_buffer_text(&name, ": running and waiting");
	put_metadata(b, lane, tid, "thread_name", &name, 0);
	put_metadata(b, lane, tid, "thread_sort_index", NULL, 2 * (int64_t)lane->tid + is_state);
	if (is_state) {
		lane->is_state_written = true;
		return;
	}
	lane->is_written = true;
	put_numbers(&lane->text, lane->pid, lane->tid);
}

static inline void need(struct ptrc_buffer *b, struct ptrc_export_lane *lane)
{
	if (__builtin_expect(!lane->is_written, 0))
		put_new_lane(b, lane, false);
}

static void put_name(struct ptrc_buffer *b, const struct ptrc_export_name *name,
		     const char *category)
{
	ptrc_buffer_text(b, ",\"name\":");
	ptrc_buffer_bytes(b, name->json.bytes, name->json.used);
	ptrc_buffer_text(b, ",\"cat\":\"");
	ptrc_buffer_text(b, category);
	ptrc_buffer_char(b, '"');
}

/* Opens an event on a lane that has been named. The caller closes it. */
static void open_event(struct ptrc_buffer *b, const char *phase, uint64_t ns,
		       const struct ptrc_export_lane *lane, const struct ptrc_export_name *name,
		       const char *category)
{
	put_phase(b, phase);
	put_ts(b, ",\"ts\":", ns);
	ptrc_buffer_bytes(b, lane->text.bytes, lane->text.used);
	put_name(b, name, category);
}

/* Puts into the open object: the event's data, how the data was cut, if it was, and with --symbols the place in the
 * source code that recorded the event. */
static void put_details(const struct ptrc_export *x, struct ptrc_json *j, struct ptrc_view *view)
{
	const struct ptrc_reader *r = view->reader;

	if (r->size || view->layout)
		ptrc_event_put_data_json(j, view);
	if (__builtin_expect(ptrc_view_is_cut(view), 0))
		ptrc_json_text(j, "truncated", ptrc_reader_truncation(r));
	if (__builtin_expect(x->query->symbols != NULL, 0))
		ptrc_event_put_symbol_json(j, view);
}

static void put_sample(struct ptrc_export *x, const struct ptrc_export_event *e)
{
	struct ptrc_flames *f = &x->flames;
	struct ptrc_buffer *b = &x->query->out;
	uint32_t stack = ptrc_flames_sample(f, x->query, x->source, 0);

	/* If a sample has no stack, viewers assume that no sample has one. So the sample gets a stack with the
	 * frame "-". */
	if (!stack)
		stack = ptrc_flames_stack(f, 0, ptrc_flames_frame(f, "-", 1));
	open_event(b, "P", e->ns, e->lane, &e->type->name, "sample");
	ptrc_buffer_text(b, ",\"sf\":");
	ptrc_buffer_u64(b, stack);
	ptrc_buffer_char(b, '}');
	ptrc_output_write_some(&x->query->out);
}

static void event(struct ptrc_export *x, const struct ptrc_export_event *e)
{
	struct ptrc_buffer *b = &x->query->out;
	struct ptrc_json j = {b, true};

	need(b, e->lane);
	if (e->type->is_sample && x->has_samples) {
		put_sample(x, e);
		return;
	}
	open_event(b, "i", e->ns, e->lane, &e->type->name, "event\",\"s\":\"t");
	ptrc_buffer_text(b, ",\"args\":{");
	put_details(x, &j, e->view);
	if (e->missing)
		ptrc_json_text(&j, "missing", e->missing);
	ptrc_buffer_text(b, "}}");
	ptrc_output_write_some(&x->query->out);
}

static void put_slice_args(struct ptrc_export *x, const struct ptrc_slice *s)
{
	struct ptrc_json j = {&x->query->out, true};

	ptrc_buffer_text(j.buffer, ",\"args\":{");
	put_details(x, &j, s->begin);
	if (s->end && (s->end->reader->size || s->end->layout || x->query->symbols ||
		       s->end_lane != s->lane)) {
		ptrc_json_open(&j, "end", '{');
		if (s->end_lane != s->lane) {
			ptrc_json_i64(&j, "pid", s->end_lane->pid);
			ptrc_json_i64(&j, "tid", s->end_lane->tid);
		}
		put_details(x, &j, s->end);
		ptrc_json_close(&j, '}');
	}
	if (!s->end)
		ptrc_json_text(&j, "missing", "end");
	if (s->is_cut)
		ptrc_json_bool(&j, "events_lost", true);
	ptrc_buffer_char(j.buffer, '}');
}

/* Puts one end of the arrow from the thread on which a slice started to the thread on which it ended. Viewers
 * draw arrows only between slices, so each end is a slice of 1 ns, which is too short to overlap others. */
static void put_flow_end(struct ptrc_export *x, const struct ptrc_slice *s, bool is_end)
{
	struct ptrc_export_lane *lane = is_end ? s->end_lane : s->lane;
	uint64_t ns = is_end ? s->end_ns : s->begin_ns;
	struct ptrc_buffer *b = &x->query->out;

	need(b, lane);
	put_phase(b, "X");
	put_ts(b, ",\"ts\":", ns);
	put_ts(b, ",\"dur\":", 1);
	ptrc_buffer_bytes(b, lane->text.bytes, lane->text.used);
	put_name(b, s->name, "flow");
	ptrc_buffer_char(b, '}');
	open_event(b, is_end ? "f\",\"bp\":\"e" : "s", ns, lane, s->name, "flow");
	ptrc_buffer_text(b, ",\"id\":");
	ptrc_buffer_u64(b, s->number);
	ptrc_buffer_char(b, '}');
}

/* Opens an event that starts or ends an asynchronous slice. The caller closes it. */
static void put_async(struct ptrc_buffer *b, const struct ptrc_slice *s, const char *phase,
		      uint64_t ns)
{
	open_event(b, phase, ns, s->lane, s->name, "pair");
	ptrc_buffer_text(b, ",\"id\":\"");
	ptrc_buffer_hex(b, s->number);
	ptrc_buffer_char(b, '"');
}

static void slice(struct ptrc_export *x, const struct ptrc_slice *s)
{
	struct ptrc_buffer *b = &x->query->out;

	need(b, s->lane);
	if (s->kind == PTRC_SLICE_ASYNC) {
		put_async(b, s, "b", s->begin_ns);
	} else {
		if (s->kind == PTRC_SLICE_STATE && !s->lane->is_state_written)
			put_new_lane(b, s->lane, true);
		put_phase(b, s->end ? "X" : "B");
		put_ts(b, ",\"ts\":", s->begin_ns);
		if (s->end)
			put_ts(b, ",\"dur\":", s->end_ns - s->begin_ns);
		if (s->kind == PTRC_SLICE_STATE)
			put_numbers(b, s->lane->pid, (int64_t)STATES_TID + s->lane->tid);
		else
			ptrc_buffer_bytes(b, s->lane->text.bytes, s->lane->text.used);
		put_name(b, s->name, s->kind == PTRC_SLICE_STATE ? "state" : "pair");
	}
	put_slice_args(x, s);
	ptrc_buffer_char(b, '}');
	if (s->kind == PTRC_SLICE_ASYNC && s->end) {
		put_async(b, s, "e", s->end_ns);
		ptrc_buffer_char(b, '}');
	}
	if (s->end_lane != s->lane) {
		put_flow_end(x, s, false);
		put_flow_end(x, s, true);
	}
	ptrc_output_write_some(&x->query->out);
}

static void counter(struct ptrc_export *x, struct ptrc_export_counter *c,
		    const struct ptrc_value *v)
{
	struct ptrc_buffer *b = &x->query->out;
	struct ptrc_export_lane *lane = ptrc_export_lane(x);
	struct ptrc_value plain = *v;
	const char *unit = ptrc_unit_word(v->unit);
	struct ptrc_json j = {b, true};

	/* JSON has no infinity and no NaN, and viewers would take a text such as "NaN" for 0, so nothing is put. */
	if ((v->kind == PTRC_VALUE_FLOAT || v->kind == PTRC_VALUE_DOUBLE) && !isfinite(v->f))
		return;
	if (plain.kind == PTRC_VALUE_HEX)
		plain.kind = PTRC_VALUE_UNSIGNED;
	plain.raw = NULL;
	need(b, lane);
	open_event(b, "C", x->now_ns, lane, &c->name, "counter");
	ptrc_buffer_text(b, ",\"args\":{");
	ptrc_value_json(&j, *unit ? unit : "value", &plain);
	ptrc_buffer_text(b, "}}");
	ptrc_output_write_some(&x->query->out);
}

/* Puts a loss on the lane for the losses of its log. This lane belongs to process 0, the trace system. */
static void loss(struct ptrc_export *x, const struct ptrc_export_loss *l)
{
	struct ptrc_buffer *b = &x->query->out;
	int64_t tid = STATES_TID + (int64_t)l->source->order;
	struct ptrc_export_lane lane = {.pid = 0};
	PTRC_SCOPED_BUFFER name = PTRC_BUFFER_INIT;
	struct ptrc_json j = {b, true};

	ptrc_buffer_text(&name, "events lost: ");
	ptrc_buffer_text(&name, ptrc_reader_shown_name(&l->source->reader));
	put_metadata(b, &lane, tid, "thread_name", &name, 0);
	put_metadata(b, &lane, tid, "thread_sort_index", NULL, -1);
	put_phase(b, "X");
	put_ts(b, ",\"ts\":", l->begin_ns);
	put_ts(b, ",\"dur\":", l->end_ns - l->begin_ns);
	put_numbers(b, 0, tid);
	ptrc_buffer_text(b, ",\"name\":\"events lost\",\"cat\":\"loss\",\"cname\":\"terrible\"");
	ptrc_buffer_text(b, ",\"args\":{");
	if (l->is_counted)
		ptrc_json_u64(&j, "unreadable_events", l->events);
	ptrc_buffer_text(b, "}}");
	ptrc_output_write_some(&x->query->out);
}

static void begin(struct ptrc_export *x)
{
	struct ptrc_buffer *b = &x->query->out;

	ptrc_buffer_format(b, "{\"exporter\":\"ptrace-export %s\",\"displayTimeUnit\":\"ns\",\n",
			   PACKAGE_VERSION);
	/* Starts the list with an event, because put_phase() puts a comma before each later one. */
	ptrc_buffer_text(b, "\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\","
			    "\"args\":{\"name\":\"trace system\"}}");
}

/* Puts the stacks of samples. A stack is put as the name of its innermost frame and the number of another stack,
 * that of the frames around it. */
static void put_stacks(struct ptrc_export *x)
{
	const struct ptrc_flames *f = &x->flames;
	struct ptrc_buffer *b = &x->query->out;

	ptrc_buffer_text(b, ",\n\"stackFrames\":{");
	for (uint32_t i = 1; i < f->stack_count; i++) {
		const struct ptrc_flame_stack *s = &f->stacks[i];
		const struct ptrc_buffer *name = &f->frames[s->frame];

		ptrc_buffer_format(b, "%s\n\"%u\":{\"name\":", i > 1 ? "," : "", i);
		ptrc_text_json(b, name->bytes, name->used);
		if (s->below)
			ptrc_buffer_format(b, ",\"parent\":\"%u\"", s->below);
		ptrc_buffer_char(b, '}');
		ptrc_output_write_some(&x->query->out);
	}
	ptrc_buffer_char(b, '}');
}

static bool end(struct ptrc_export *x)
{
	struct ptrc_query *q = x->query;
	struct timespec start = ptrc_when_timespec(ptrc_export_start_ns(x));
	struct ptrc_json j = {&q->out, true};

	ptrc_buffer_text(&q->out, "\n]");
	if (x->has_samples)
		put_stacks(x);
	ptrc_buffer_text(&q->out, ",\n\"otherData\":{");
	if (ptrc_export_start_ns(x)) {
		ptrc_json_time(&j, "start", &start);
		/* The number is put as a string, because readers of JSON would round it to a
		 * double. */
		ptrc_json_key(&j, "start_ns");
		ptrc_buffer_char(&q->out, '"');
		ptrc_buffer_i64(&q->out, ptrc_export_start_ns(x));
		ptrc_buffer_char(&q->out, '"');
	}
	ptrc_json_open(&j, "logs", '[');
	for (size_t i = 0; i < q->source_count; i++) {
		const struct ptrc_reader *r = &q->sources[i].reader;

		ptrc_json_open(&j, NULL, '{');
		ptrc_json_bytes(&j, r->source ? "session" : "log", r->path, strlen(r->path));
		ptrc_losses_json(&q->sources[i].losses, &j);
		ptrc_json_close(&j, '}');
	}
	ptrc_json_close(&j, ']');
	ptrc_buffer_text(&q->out, "}}\n");
	return true;
}

const struct ptrc_export_format ptrc_export_chrome = {
	.name = "chrome",
	.kind = {.mode = 0600,
		 .signature = "{\"exporter\":\"ptrace-export",
		 .signature_bytes = sizeof("{\"exporter\":\"ptrace-export") - 1,
		 .noun = "an export to chrome or speedscope"},
	.begin = begin,
	.event = event,
	.slice = slice,
	.counter = counter,
	.loss = loss,
	.end = end,
};
