/* SPDX-License-Identifier: MIT */
/*
 * The traces of Perfetto: a protocol buffer Trace, which is a series of TracePacket messages. The field
 * numbers are those of perfetto_trace.proto, and never change. A reader sorts the packets by time, and
 * keeps those of one time in their order; a slice is two packets, which are written at its end, so that
 * of slices with the same end the inner one ends first. Of two that began at the same time on a thread the
 * inner one would come first, too, which is wrong there, so it is shown by itself.
 *
 * All packets are of one sequence, whose names are interned: each is written once, with a number.
 */
#include "config.h"
#include "src/export/perfetto.h"

#include <stdlib.h>
#include <string.h>

#include "src/cli/escape.h"
#include "src/cli/json.h"
#include "src/cli/message.h"
#include "src/export/sampled.h"
#include "src/pairs/table.h"
#include "src/view/event_format.h"

/* Fields of messages, by their numbers. */
enum {
	TRACE_PACKET = 1,

	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_PERF_SAMPLE = 66,
	PACKET_FOR_TESTING = 900,

	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_COUNTER = 30,
	EVENT_DOUBLE_COUNTER = 44,
	EVENT_FLOWS = 47,

	INTERNED_EVENT_NAMES = 2,
	INTERNED_FUNCTIONS = 5,
	INTERNED_FRAMES = 6,
	INTERNED_CALLSTACKS = 7,
	INTERNED_PATHS = 17,
	INTERNED_MAPPINGS = 19,
	NAME_IID = 1,
	NAME_TEXT = 2,

	ANNOTATION_UINT = 3,
	ANNOTATION_BOOL = 2,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_NAME = 10,
	ANNOTATION_ENTRIES = 11,
	ANNOTATION_ARRAY = 12,

	SNAPSHOT_CLOCKS = 1,
	CLOCK_ID = 1,
	CLOCK_TIME = 2,

	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT_NAME = 6,

	TEST_TEXT = 1,

	SAMPLE_CPU = 1,
	SAMPLE_PID = 2,
	SAMPLE_TID = 3,
	SAMPLE_CALLSTACK = 4,
	SAMPLE_MODE = 5,
	SAMPLE_COUNT = 6,
	/* Each interned thing has a number, NAME_IID. */
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	CALLSTACK_FRAMES = 2,
	MAPPING_PATHS = 7,
};

/* The code of a sample is of user space. */
enum { MODE_USER = 2 };
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };
/* The interned names begin anew; the packet needs them. */
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 };
/* The number of the sequence; clocks that every reader knows. */
enum { SEQUENCE = 1, CLOCK_REALTIME_ID = 1, CLOCK_BOOTTIME_ID = 6 };

/* The most bytes of a varint; the bytes of a length that is written once it is known. */
enum { VARINT_BYTES = 10, LENGTH_BYTES = 4 };

/* With this begins each file: a packet for tests, which readers skip, with the name of the command. */
static const char signature[] = "\n\x12\xa2\x38\x0f\n\x0d"
				"ptrace-export";

/* Tracks have numbers of 64 bits: what they are of, and which of these. */
enum track_of { OF_PROCESS = 1, OF_THREAD, OF_STATES, OF_LOSSES, OF_COUNTER, OF_SLICES };
#define TRACK(of, number) ((uint64_t)(of) << 48 | (uint64_t)(number))

/* A name that is interned; a counter or a row of slices, which are tracks of their own. */
struct interned {
	struct ptrc_table_entry entry;
	uint64_t number;
};

/* Slices that do not overlap, of one name and process. */
struct row {
	struct row *next;
	uint64_t number;
	uint64_t end_ns;
};

struct rows {
	struct ptrc_table_entry entry;
	struct row *first;
};

struct perfetto {
	struct ptrc_table names;
	struct ptrc_table counters;
	struct ptrc_table rows;
	uint64_t name_count;
	uint64_t counter_count;
	uint64_t row_count;
	bool has_clock;
	struct ptrc_buffer text;
	/* The stacks of samples; how many of the frames have been written, and which stacks. */
	struct ptrc_flames flames;
	struct ptrc_sampled sampled;
	uint32_t frame_count;
	struct ptrc_table stacks;
};

/* ---- the wire ---- */

static char *write_varint(char *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (char)(v | 0x80);
		v >>= 7;
	}
	*p++ = (char)v;
	return p;
}

static inline void put_varint(struct ptrc_buffer *b, uint64_t v)
{
	b->used = (size_t)(write_varint(ptrc_buffer_room(b, VARINT_BYTES), v) - b->bytes);
}

static inline void put_number(struct ptrc_buffer *b, unsigned int field, uint64_t v)
{
	put_varint(b, field << 3 | WIRE_VARINT);
	put_varint(b, v);
}

static void put_double(struct ptrc_buffer *b, unsigned int field, double v)
{
	put_varint(b, field << 3 | WIRE_FIXED64);
	ptrc_buffer_bytes(b, &v, sizeof(v));
}

/* Puts text; bytes that are not UTF-8, which a reader may refuse, are replaced. */
static void put_string(struct ptrc_buffer *b, unsigned int field, const char *text, size_t size)
{
	struct ptrc_buffer whole = PTRC_BUFFER_INIT;

	put_varint(b, field << 3 | WIRE_BYTES);
	if (__builtin_expect(ptrc_text_is_utf8(text, size), 1)) {
		put_varint(b, size);
		ptrc_buffer_bytes(b, text, size);
		return;
	}
	ptrc_export_put_utf8(&whole, text, size);
	put_varint(b, whole.used);
	ptrc_buffer_bytes(b, whole.bytes, whole.used);
	ptrc_buffer_free(&whole);
}

/* Begins a message, whose length close_message() writes when it is known: as a varint of so many bytes,
 * of which leading ones may be 0. */
static size_t open_message(struct ptrc_buffer *b, unsigned int field)
{
	put_varint(b, field << 3 | WIRE_BYTES);
	ptrc_buffer_room(b, LENGTH_BYTES);
	b->used += LENGTH_BYTES;
	return b->used;
}

static void close_message(struct ptrc_buffer *b, size_t begin)
{
	size_t size = b->used - begin;

	for (size_t i = 0; i < LENGTH_BYTES; i++) {
		b->bytes[begin - LENGTH_BYTES + i] =
			(char)((size & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
		size >>= 7;
	}
}

/* ---- packets ---- */

/* Begins a packet of the sequence. */
static size_t open_packet(struct ptrc_buffer *b)
{
	size_t at = open_message(b, TRACE_PACKET);

	put_number(b, PACKET_SEQUENCE_ID, SEQUENCE);
	return at;
}

static size_t open_track(struct ptrc_buffer *b, size_t *packet, uint64_t track)
{
	size_t at;

	*packet = open_packet(b);
	at = open_message(b, PACKET_TRACK_DESCRIPTOR);
	put_number(b, TRACK_UUID, track);
	return at;
}

static void close_track(struct ptrc_buffer *b, size_t packet, size_t track)
{
	close_message(b, track);
	close_message(b, packet);
}

/* Tells of a track that has nothing but a name. */
static void tell_of_track(struct ptrc_buffer *b, uint64_t track, uint64_t parent, const char *name,
			  size_t size)
{
	size_t packet;
	size_t at = open_track(b, &packet, track);

	if (parent)
		put_number(b, TRACK_PARENT, parent);
	put_string(b, TRACK_NAME, name, size);
	close_track(b, packet, at);
}

static void tell_of_process(struct ptrc_buffer *b, struct ptrc_lane_process *p)
{
	struct ptrc_buffer name = PTRC_BUFFER_INIT;
	size_t packet, at, process;

	ptrc_lane_put_process(&name, p);
	at = open_track(b, &packet, TRACK(OF_PROCESS, p->number));
	if (p->pid) {
		process = open_message(b, TRACK_PROCESS);
		put_number(b, PROCESS_PID, (uint64_t)p->pid);
		put_string(b, PROCESS_NAME, name.bytes, name.used);
		close_message(b, process);
	} else {
		put_string(b, TRACK_NAME, name.bytes, name.used);
	}
	close_track(b, packet, at);
	ptrc_buffer_free(&name);
	p->is_told = true;
}

/* Tells of a thread. Readers take thread 0 for one of the kernel, so what is none is a track with a name. */
static void tell_of_thread(struct ptrc_buffer *b, struct ptrc_lane *lane)
{
	struct ptrc_buffer name = PTRC_BUFFER_INIT;
	size_t packet, at, thread;

	if (!lane->process->is_told)
		tell_of_process(b, lane->process);
	ptrc_lane_put_thread(&name, lane);
	at = open_track(b, &packet, TRACK(OF_THREAD, lane->number));
	put_number(b, TRACK_PARENT, TRACK(OF_PROCESS, lane->process->number));
	if (lane->pid && lane->tid) {
		thread = open_message(b, TRACK_THREAD);
		put_number(b, THREAD_PID, (uint64_t)lane->pid);
		put_number(b, THREAD_TID, (uint64_t)lane->tid);
		put_string(b, THREAD_NAME, name.bytes, name.used);
		close_message(b, thread);
	} else {
		put_string(b, TRACK_NAME, name.bytes, name.used);
	}
	close_track(b, packet, at);
	ptrc_buffer_free(&name);
	lane->is_told = true;
}

/* The track of a thread, which has been told of. */
static inline uint64_t thread_track(struct ptrc_buffer *b, struct ptrc_lane *lane)
{
	if (__builtin_expect(!lane->is_told, 0))
		tell_of_thread(b, lane);
	return TRACK(OF_THREAD, lane->number);
}

/* Says what the first packet has to: that names begin, and when the times begin. */
static void put_clock(struct ptrc_export *x)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->dump->out;
	size_t packet, snapshot, one;

	p->has_clock = true;
	packet = open_packet(b);
	put_number(b, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
	snapshot = open_message(b, PACKET_CLOCK_SNAPSHOT);
	one = open_message(b, SNAPSHOT_CLOCKS);
	put_number(b, CLOCK_ID, CLOCK_BOOTTIME_ID);
	put_number(b, CLOCK_TIME, 0);
	close_message(b, one);
	one = open_message(b, SNAPSHOT_CLOCKS);
	put_number(b, CLOCK_ID, CLOCK_REALTIME_ID);
	put_number(b, CLOCK_TIME, (uint64_t)x->start_ns);
	close_message(b, one);
	close_message(b, snapshot);
	close_message(b, packet);
}

/* A packet of an event that is open. */
struct packet {
	size_t packet;
	size_t event;
};

static struct packet open_event(struct ptrc_export *x, int type, uint64_t track, uint64_t ns,
				const char *name, size_t size)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->dump->out;
	struct interned *i = name ? ptrc_table_find(&p->names, name, size, sizeof(*i)) : NULL;
	struct packet at;
	size_t data, one;

	if (__builtin_expect(!p->has_clock, 0))
		put_clock(x);
	at.packet = open_packet(b);
	put_number(b, PACKET_TIMESTAMP, ns);
	put_number(b, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	if (__builtin_expect(i && !i->number, 0)) {
		i->number = ++p->name_count;
		data = open_message(b, PACKET_INTERNED_DATA);
		one = open_message(b, INTERNED_EVENT_NAMES);
		put_number(b, NAME_IID, i->number);
		put_string(b, NAME_TEXT, name, size);
		close_message(b, one);
		close_message(b, data);
	}
	at.event = open_message(b, PACKET_TRACK_EVENT);
	put_number(b, EVENT_TYPE, (uint64_t)type);
	put_number(b, EVENT_TRACK, track);
	if (i)
		put_number(b, EVENT_NAME_IID, i->number);
	return at;
}

static void close_event(struct ptrc_export *x, struct packet at)
{
	close_message(&x->dump->out, at.event);
	close_message(&x->dump->out, at.packet);
	ptrc_export_write_some(x);
}

/* ---- annotations ---- */

static void put_text(struct ptrc_buffer *b, unsigned int field, const char *name, const char *text,
		     size_t size)
{
	size_t at = open_message(b, field);

	put_string(b, ANNOTATION_NAME, name, strlen(name));
	put_string(b, ANNOTATION_STRING, text, size);
	close_message(b, at);
}

/* Puts the value of an annotation that is open. */
static void put_scalar(struct ptrc_buffer *b, struct ptrc_buffer *room, const struct ptrc_value *v)
{
	struct ptrc_value plain = *v;

	switch (v->kind) {
	case PTRC_VALUE_SIGNED:
		put_number(b, ANNOTATION_INT, (uint64_t)v->i);
		break;
	case PTRC_VALUE_UNSIGNED:
		put_number(b, ANNOTATION_UINT, v->u);
		break;
	case PTRC_VALUE_BOOL:
		put_number(b, ANNOTATION_BOOL, v->u != 0);
		break;
	case PTRC_VALUE_FLOAT:
	case PTRC_VALUE_DOUBLE:
		put_double(b, ANNOTATION_DOUBLE, v->f);
		break;
	case PTRC_VALUE_TEXT:
	case PTRC_VALUE_ENUM:
		put_string(b, ANNOTATION_STRING, v->bytes, v->size);
		break;
	default:
		plain.unit = PTRC_UNIT_NONE;
		room->used = 0;
		ptrc_value_text(room, &plain);
		put_string(b, ANNOTATION_STRING, room->bytes, room->used);
		break;
	}
}

static void put_value(struct ptrc_buffer *b, struct ptrc_buffer *room, const char *name,
		      const struct ptrc_value *v)
{
	size_t at = open_message(b, ANNOTATION_ENTRIES);
	struct ptrc_value item;
	size_t one;

	put_string(b, ANNOTATION_NAME, name, strlen(name));
	if (v->kind != PTRC_VALUE_ARRAY) {
		put_scalar(b, room, v);
	} else {
		for (uint64_t i = 0; i < ptrc_value_count(v); i++) {
			ptrc_value_element(v, i, &item);
			one = open_message(b, ANNOTATION_ARRAY);
			put_scalar(b, room, &item);
			close_message(b, one);
		}
	}
	close_message(b, at);
}

/* Puts the data of the event as annotations, whose field is given: of an event, or of another one. */
static void put_data(struct ptrc_export *x, unsigned int field, struct ptrc_view *view)
{
	struct ptrc_buffer *room = &((struct perfetto *)x->state)->text;
	const struct ptrc_reader *r = view->reader;
	struct ptrc_buffer *b = &x->dump->out;
	const struct ptrc_decoded *d = view->layout ? ptrc_view_decode(view) : NULL;
	const struct ptrc_layout_field *f;
	size_t size = r->size;
	size_t at;

	if (d) {
		at = open_message(b, field);
		put_string(b, ANNOTATION_NAME, "data", strlen("data"));
		for (size_t i = 0; (f = ptrc_layout_field(view->layout, i)); i++)
			if (d->values[i].kind != PTRC_VALUE_NONE)
				put_value(b, room, *f->name ? f->name : "json", &d->values[i]);
		close_message(b, at);
	}
	room->used = 0;
	if (!d && r->event.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT) {
		ptrc_event_put_data(room, view);
		if (room->used)
			put_text(b, field, "data", room->bytes, room->used);
	} else if (!d && size && ptrc_text_is_clean(r->data, &size)) {
		put_text(b, field, "data", (const char *)r->data, size);
	} else if (size && (!d || d->error != PTRC_LAYOUT_FITS)) {
		room->used = 0;
		ptrc_buffer_hex_bytes(room, r->data, r->size);
		put_text(b, field, "data_hex", room->bytes, room->used);
	}
	if (ptrc_view_is_cut(view))
		put_text(b, field, "truncated", ptrc_reader_truncation(r),
			 strlen(ptrc_reader_truncation(r)));
	if (x->dump->format.has_symbols) {
		const struct ptrc_symbol *s = ptrc_view_symbol(view);

		if (s->function)
			put_text(b, field, "function", s->function, strlen(s->function));
		if (s->file)
			put_text(b, field, "file", s->file, strlen(s->file));
		if (s->line) {
			at = open_message(b, field);
			put_string(b, ANNOTATION_NAME, "line", strlen("line"));
			put_number(b, ANNOTATION_INT, (uint64_t)s->line);
			close_message(b, at);
		}
	}
}

/* ---- what is exported ---- */

/* ---- samples ---- */

static void put_interned(struct ptrc_buffer *b, unsigned int field, uint64_t number,
			 const struct ptrc_buffer *text)
{
	size_t one = open_message(b, field);

	put_number(b, NAME_IID, number);
	if (text)
		put_string(b, NAME_TEXT, text->bytes, text->used);
	close_message(b, one);
}

/* Writes the frames that are new. Readers want each to be in a file: all are in one without a name. */
static void put_frames(struct perfetto *p, struct ptrc_buffer *b)
{
	size_t one;

	if (!p->frame_count) {
		put_interned(b, INTERNED_PATHS, 1,
			     &(struct ptrc_buffer){.bytes = (char[]){'-'}, .used = 1});
		one = open_message(b, INTERNED_MAPPINGS);
		put_number(b, NAME_IID, 1);
		put_number(b, MAPPING_PATHS, 1);
		close_message(b, one);
	}
	for (; p->frame_count < p->flames.frame_count; p->frame_count++) {
		put_interned(b, INTERNED_FUNCTIONS, p->frame_count + UINT64_C(1),
			     &p->flames.frames[p->frame_count]);
		one = open_message(b, INTERNED_FRAMES);
		put_number(b, NAME_IID, p->frame_count + UINT64_C(1));
		put_number(b, FRAME_FUNCTION, p->frame_count + UINT64_C(1));
		put_number(b, FRAME_MAPPING, 1);
		close_message(b, one);
	}
}

/* Writes a stack, whose frames go from the outermost to the innermost. */
static void put_stack(struct perfetto *p, struct ptrc_buffer *b, uint32_t stack)
{
	const struct ptrc_flame_stack *stacks = p->flames.stacks;
	size_t one = open_message(b, INTERNED_CALLSTACKS);
	size_t depth = 0;
	uint64_t *frames;

	for (uint32_t i = stack; i; i = stacks[i].below)
		depth++;
	frames = ptrc_cli_allocate(depth * sizeof(*frames));
	depth = 0;
	for (uint32_t i = stack; i; i = stacks[i].below)
		frames[depth++] = stacks[i].frame + UINT64_C(1);
	put_number(b, NAME_IID, stack);
	while (depth)
		put_number(b, CALLSTACK_FRAMES, frames[--depth]);
	close_message(b, one);
	free(frames);
}

/* The number of the processor, if the sample says it. */
static bool find_processor(struct ptrc_export *x, struct ptrc_view *view, uint64_t *number)
{
	int name = ptrc_layouts_name(&x->dump->layouts, "processor", strlen("processor"));
	const struct ptrc_value *v = NULL;

	if (view->layout && name >= 0)
		v = ptrc_layout_value(view->layout, ptrc_view_decode(view), name);
	if (!v || v->kind != PTRC_VALUE_UNSIGNED)
		return false;
	*number = v->u;
	return true;
}

static void put_sample(struct ptrc_export *x, const struct ptrc_export_event *e)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->dump->out;
	uint32_t stack = ptrc_sampled_stack(&p->sampled, &p->flames, x->dump, x->source, 0);
	struct interned *told;
	uint64_t processor;
	size_t packet, at;

	thread_track(b, e->lane);
	if (!p->has_clock)
		put_clock(x);
	packet = open_packet(b);
	put_number(b, PACKET_TIMESTAMP, e->ns);
	put_number(b, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	told = ptrc_table_find(&p->stacks, &stack, sizeof(stack), sizeof(*told));
	if (stack && !told->number) {
		told->number = 1;
		at = open_message(b, PACKET_INTERNED_DATA);
		put_frames(p, b);
		put_stack(p, b, stack);
		close_message(b, at);
	}
	at = open_message(b, PACKET_PERF_SAMPLE);
	if (find_processor(x, e->view, &processor))
		put_number(b, SAMPLE_CPU, processor);
	put_number(b, SAMPLE_PID, (uint64_t)e->lane->pid);
	put_number(b, SAMPLE_TID, (uint64_t)e->lane->tid);
	if (stack)
		put_number(b, SAMPLE_CALLSTACK, stack);
	put_number(b, SAMPLE_MODE, MODE_USER);
	put_number(b, SAMPLE_COUNT, 1);
	close_message(b, at);
	close_message(b, packet);
	ptrc_export_write_some(x);
}

static void put_instant(struct ptrc_export *x, const struct ptrc_export_event *e)
{
	const struct ptrc_reader_name *name =
		ptrc_reader_name(e->view->reader, e->view->reader->event.posix_event_id);
	struct packet at = open_event(x, INSTANT, thread_track(&x->dump->out, e->lane), e->ns,
				      name->text, name->size);

	put_data(x, EVENT_ANNOTATIONS, e->view);
	if (e->missing)
		put_text(&x->dump->out, EVENT_ANNOTATIONS, "missing", e->missing,
			 strlen(e->missing));
	close_event(x, at);
}

static void event(struct ptrc_export *x, const struct ptrc_export_event *e)
{
	if (e->type->is_sample && x->has_samples)
		put_sample(x, e);
	else
		put_instant(x, e);
}

/* A track among those of slices of this name and process on which nothing overlaps the slice. Slices
 * come in the order of their ends. */
static uint64_t row_track(struct ptrc_export *x, const struct ptrc_slice *s)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->dump->out;
	struct rows *rows;
	struct row *row;

	thread_track(b, s->lane);
	p->text.used = 0;
	ptrc_buffer_format(&p->text, "%d ", (int)s->lane->pid);
	ptrc_buffer_bytes(&p->text, s->name->bytes, s->name->used);
	rows = ptrc_table_find(&p->rows, p->text.bytes, p->text.used, sizeof(*rows));
	for (row = rows->first; row && row->end_ns > s->begin_ns;)
		row = row->next;
	if (!row) {
		row = ptrc_cli_allocate(sizeof(*row));
		*row = (struct row){.next = rows->first, .number = ++p->row_count};
		rows->first = row;
		tell_of_track(b, TRACK(OF_SLICES, row->number),
			      TRACK(OF_PROCESS, s->lane->process->number), s->name->bytes,
			      s->name->used);
	}
	row->end_ns = s->end ? s->end_ns : UINT64_MAX;
	return TRACK(OF_SLICES, row->number);
}

static uint64_t slice_track(struct ptrc_export *x, const struct ptrc_slice *s)
{
	struct ptrc_buffer *b = &x->dump->out;
	/* That of an open slice may be gone already. */
	struct ptrc_export_kept *around = s->end ? s->lane->latest : NULL;
	uint64_t track;

	if (s->kind == PTRC_SLICE_STATE) {
		static const char name[] = "running and waiting";

		thread_track(b, s->lane);
		track = TRACK(OF_STATES, s->lane->number);
		if (!s->lane->is_state_told)
			tell_of_track(b, track, TRACK(OF_THREAD, s->lane->number), name,
				      sizeof(name) - 1);
		s->lane->is_state_told = true;
		return track;
	}
	if (s->kind == PTRC_SLICE_ASYNC || (around && around->ns == s->begin_ns))
		return row_track(x, s);
	return thread_track(b, s->lane);
}

/* An end of an arrow from one thread to another. */
static void put_flow_end(struct ptrc_export *x, const struct ptrc_slice *s, struct ptrc_lane *lane,
			 uint64_t ns)
{
	struct ptrc_buffer *b = &x->dump->out;
	struct packet at =
		open_event(x, INSTANT, thread_track(b, lane), ns, s->name->bytes, s->name->used);

	put_varint(b, EVENT_FLOWS << 3 | WIRE_FIXED64);
	ptrc_buffer_bytes(b, &s->number, sizeof(s->number));
	close_event(x, at);
}

static void slice(struct ptrc_export *x, const struct ptrc_slice *s)
{
	struct ptrc_buffer *b = &x->dump->out;
	uint64_t track = slice_track(x, s);
	struct packet at =
		open_event(x, SLICE_BEGIN, track, s->begin_ns, s->name->bytes, s->name->used);

	put_data(x, EVENT_ANNOTATIONS, s->begin);
	if (s->is_cut) {
		size_t one = open_message(b, EVENT_ANNOTATIONS);

		put_string(b, ANNOTATION_NAME, "events_lost", strlen("events_lost"));
		put_number(b, ANNOTATION_BOOL, true);
		close_message(b, one);
	}
	if (!s->end)
		put_text(b, EVENT_ANNOTATIONS, "missing", "end", strlen("end"));
	close_event(x, at);
	if (!s->end)
		return;
	at = open_event(x, SLICE_END, track, s->end_ns, NULL, 0);
	if (s->end->reader->size || s->end->layout) {
		size_t one = open_message(b, EVENT_ANNOTATIONS);

		put_string(b, ANNOTATION_NAME, "end", strlen("end"));
		put_data(x, ANNOTATION_ENTRIES, s->end);
		close_message(b, one);
	}
	close_event(x, at);
	if (s->end_lane != s->lane) {
		put_flow_end(x, s, s->lane, s->begin_ns);
		put_flow_end(x, s, s->end_lane, s->end_ns);
	}
}

static void counter(struct ptrc_export *x, const struct ptrc_export_counter *c,
		    const struct ptrc_value *v)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->dump->out;
	struct ptrc_lane *lane = ptrc_export_lane(x);
	const char *unit = ptrc_unit_word(v->unit);
	struct interned *i;
	struct packet event_at;
	size_t packet, at, one;

	thread_track(b, lane);
	p->text.used = 0;
	ptrc_buffer_format(&p->text, "%d ", (int)lane->pid);
	ptrc_buffer_bytes(&p->text, c->name.bytes, c->name.used);
	i = ptrc_table_find(&p->counters, p->text.bytes, p->text.used, sizeof(*i));
	if (!i->number) {
		i->number = ++p->counter_count;
		at = open_track(b, &packet, TRACK(OF_COUNTER, i->number));
		put_number(b, TRACK_PARENT, TRACK(OF_PROCESS, lane->process->number));
		put_string(b, TRACK_NAME, c->name.bytes, c->name.used);
		one = open_message(b, TRACK_COUNTER);
		if (*unit)
			put_string(b, COUNTER_UNIT_NAME, unit, strlen(unit));
		close_message(b, one);
		close_track(b, packet, at);
	}
	event_at = open_event(x, COUNTER, TRACK(OF_COUNTER, i->number), x->now_ns, NULL, 0);
	if (v->kind == PTRC_VALUE_FLOAT || v->kind == PTRC_VALUE_DOUBLE)
		put_double(b, EVENT_DOUBLE_COUNTER, v->f);
	else if (v->kind != PTRC_VALUE_SIGNED && v->u > INT64_MAX)
		put_double(b, EVENT_DOUBLE_COUNTER, (double)v->u);
	else
		put_number(b, EVENT_COUNTER, v->u);
	close_event(x, event_at);
}

static uint64_t loss_track(struct ptrc_export *x, const struct ptrc_source *s)
{
	struct perfetto *p = x->state;
	uint64_t track = TRACK(OF_LOSSES, s->order + 1);

	p->text.used = 0;
	ptrc_buffer_text(&p->text, "events lost: ");
	ptrc_buffer_text(&p->text, ptrc_reader_shown_name(&s->reader));
	/* Readers take the last word; there are few of these. */
	tell_of_track(&x->dump->out, track, 0, p->text.bytes, p->text.used);
	return track;
}

static void loss(struct ptrc_export *x, const struct ptrc_export_loss *l)
{
	static const char name[] = "events lost";
	struct ptrc_buffer *b = &x->dump->out;
	uint64_t track = loss_track(x, l->source);
	struct packet at = open_event(x, SLICE_BEGIN, track, l->begin_ns, name, sizeof(name) - 1);
	size_t one;

	if (l->is_counted) {
		one = open_message(b, EVENT_ANNOTATIONS);
		put_string(b, ANNOTATION_NAME, "unreadable_events", strlen("unreadable_events"));
		put_number(b, ANNOTATION_UINT, l->events);
		close_message(b, one);
	}
	close_event(x, at);
	close_event(x, open_event(x, SLICE_END, track, l->end_ns, NULL, 0));
}

static void begin(struct ptrc_export *x)
{
	struct perfetto *p = ptrc_cli_allocate(sizeof(*p));

	*p = (struct perfetto){.name_count = 0};
	x->state = p;
	if (x->has_samples)
		ptrc_sampled_begin(&p->sampled, x->dump);
	ptrc_buffer_bytes(&x->dump->out, signature, sizeof(signature) - 1);
}

/* Puts what is missing at the end of the track of losses, as JSON has it. */
static bool end(struct ptrc_export *x)
{
	static const char name[] = "losses";
	struct ptrc_dump *d = x->dump;

	for (size_t i = 0; i < d->source_count; i++) {
		struct ptrc_buffer text = PTRC_BUFFER_INIT;
		struct ptrc_json j = {&text, true};
		struct packet at;

		if (!ptrc_losses_is_any(&d->sources[i].losses))
			continue;
		ptrc_buffer_char(&text, '{');
		ptrc_losses_json(&d->sources[i].losses, &j);
		ptrc_buffer_char(&text, '}');
		at = open_event(x, INSTANT, loss_track(x, &d->sources[i]), x->now_ns, name,
				sizeof(name) - 1);
		put_text(&d->out, EVENT_ANNOTATIONS, "losses", text.bytes, text.used);
		close_event(x, at);
		ptrc_buffer_free(&text);
	}
	ptrc_sampled_report(&((struct perfetto *)x->state)->sampled);
	return true;
}

static void free_rows(void *thing, void *arg)
{
	struct rows *rows = thing;

	(void)arg;
	while (rows->first) {
		struct row *next = rows->first->next;

		free(rows->first);
		rows->first = next;
	}
}

static void free_perfetto(struct ptrc_export *x)
{
	struct perfetto *p = x->state;

	if (!p)
		return;
	ptrc_table_visit(&p->rows, free_rows, NULL);
	ptrc_table_free(&p->rows);
	ptrc_table_free(&p->names);
	ptrc_table_free(&p->counters);
	ptrc_table_free(&p->stacks);
	ptrc_sampled_free(&p->sampled);
	ptrc_flames_free(&p->flames);
	ptrc_buffer_free(&p->text);
	free(p);
}

const struct ptrc_export_format ptrc_export_perfetto = {
	.name = "perfetto",
	.kind = {.mode = 0600,
		 .signature = signature,
		 .signature_bytes = sizeof(signature) - 1,
		 .noun = "an export to perfetto"},
	.begin = begin,
	.event = event,
	.slice = slice,
	.counter = counter,
	.loss = loss,
	.end = end,
	.free = free_perfetto,
};
