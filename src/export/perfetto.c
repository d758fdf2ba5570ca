/* SPDX-License-Identifier: MIT */
/*
 * The traces of Perfetto: a protocol buffer Trace, which is a series of TracePacket messages. The field
 * numbers are those of perfetto_trace.proto, and never change. A reader sorts the packets by time, and
 * keeps those of one time in their order; a slice is two packets, which are written at its end, so that
 * of slices with the same end the inner one ends first. Of two that began at the same time on a thread the
 * inner one would come first, too, which is wrong there, so it is shown by itself.
 *
 * All packets are of one sequence, whose names, of events and of fields, are interned: each is written once,
 * with a number.
 */
#include "config.h"
#include "src/export/format.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/heap.h"
#include "src/base/escape.h"
#include "src/base/json.h"
#include "src/base/message.h"
#include "src/base/table.h"
#include "src/text/event_format.h"

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
	INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_FUNCTIONS = 5,
	INTERNED_FRAMES = 6,
	INTERNED_CALLSTACKS = 7,
	INTERNED_PATHS = 17,
	INTERNED_MAPPINGS = 19,
	NAME_IID = 1,
	NAME_TEXT = 2,

	ANNOTATION_NAME_IID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
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
	OWNER_PID = 1,
	PROCESS_NAME = 6,
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

/* The most bytes of a message with a few numbers. */
enum { FEW_NUMBERS_BYTES = 96 };
/* A length below this takes one byte. */
enum { SHORT_LENGTH = 0x80 };

/* With this begins each file: a packet for tests, which readers skip, with the name of the command. */
static const char signature[] = "\n\x12\xa2\x38\x0f\n\x0d"
				"ptrace-export";

/* Tracks have numbers: which of these, and what they are of, in the lowest bits, as each event tells the
 * number and small ones take few bytes. */
enum track_of { OF_PROCESS = 1, OF_THREAD, OF_STATES, OF_LOSSES, OF_COUNTER, OF_SLICES };
#define TRACK(of, number) ((uint64_t)(number) << 3 | (uint64_t)(of))

/* The names of annotations that any event may have, by their numbers; behind these come the fields of
 * layouts. */
enum word {
	WORD_DATA = 1,
	WORD_DATA_HEX,
	WORD_END,
	WORD_EVENTS_LOST,
	WORD_FILE,
	WORD_FUNCTION,
	WORD_LINE,
	WORD_LOSSES,
	WORD_MISSING,
	WORD_TRUNCATED,
	WORD_UNREADABLE_EVENTS,
	WORDS,
};

static const char *const words[WORDS] = {
	[WORD_DATA] = "data",
	[WORD_DATA_HEX] = "data_hex",
	[WORD_END] = "end",
	[WORD_EVENTS_LOST] = "events_lost",
	[WORD_FILE] = "file",
	[WORD_FUNCTION] = "function",
	[WORD_LINE] = "line",
	[WORD_LOSSES] = "losses",
	[WORD_MISSING] = "missing",
	[WORD_TRUNCATED] = "truncated",
	[WORD_UNREADABLE_EVENTS] = "unreadable_events",
};

/* A name that is interned. */
struct interned {
	struct ptrc_table_entry entry;
	uint64_t number;
};

/* A process and a name, by their numbers: of a counter, or of slices. */
struct key {
	uint64_t process;
	uint64_t name;
};

/* Slices that do not overlap, of one name and process. */
struct row {
	uint64_t number;
	uint64_t end_ns;
};

/* A heap: the row that ends first is at the top. */
struct rows {
	struct ptrc_table_entry entry;
	struct row **heap;
	size_t count;
};

static bool ends_before(const struct row *a, const struct row *b)
{
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->number < b->number;
}

PTRC_HEAP_DEFINE(heap, struct row, ends_before);

struct perfetto {
	/* Of events, and of fields; the counters of processes, which are tracks of their own. */
	struct ptrc_table names;
	struct ptrc_table field_names;
	struct ptrc_table counters;
	struct ptrc_table rows;
	uint64_t name_count;
	uint64_t field_name_count;
	uint64_t counter_count;
	uint64_t row_count;
	bool has_begun;
	/* By the number of a layout: the numbers of the names of its fields; null: it was not met yet. */
	uint64_t **layout_names;
	size_t layout_count;
	struct ptrc_buffer text;
	/* Of samples: how many of the frames have been written, and which stacks. */
	uint32_t frame_count;
	struct ptrc_table stacks;
};

/* ---- the wire ---- */

/* No field has a number beyond 2047, so a tag is a varint of at most two bytes. */
static inline char *write_tag(char *p, unsigned int field, unsigned int wire)
{
	unsigned int tag = field << 3 | wire;

	if (tag >= 0x80) {
		*p++ = (char)(tag | 0x80);
		tag >>= 7;
	}
	*p++ = (char)tag;
	return p;
}

static inline char *write_number(char *p, unsigned int field, uint64_t v)
{
	return ptrc_write_varint(write_tag(p, field, WIRE_VARINT), v);
}

static inline char *write_double(char *p, unsigned int field, double v)
{
	p = write_tag(p, field, WIRE_FIXED64);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

/* Begins a message that will be short; its length goes into the byte before what is returned. */
static inline char *write_open(char *p, unsigned int field)
{
	p = write_tag(p, field, WIRE_BYTES);
	*p++ = 0;
	return p;
}

/* Room for a few numbers; advance() says where what was written there ends. */
static inline char *room_for_few(struct ptrc_buffer *b)
{
	return ptrc_buffer_room(b, FEW_NUMBERS_BYTES);
}

static inline void advance(struct ptrc_buffer *b, const char *p)
{
	b->used = (size_t)(p - b->bytes);
}

static inline void put_number(struct ptrc_buffer *b, unsigned int field, uint64_t v)
{
	advance(b, write_number(room_for_few(b), field, v));
}

/* Puts text; bytes that are not UTF-8, which a reader may refuse, are replaced. */
static void put_string(struct ptrc_buffer *b, unsigned int field, const char *text, size_t size)
{
	struct ptrc_buffer whole = PTRC_BUFFER_INIT;
	bool is_whole = ptrc_text_is_utf8(text, size);

	if (__builtin_expect(!is_whole, 0)) {
		ptrc_text_put_utf8(&whole, text, size);
		text = whole.bytes;
		size = whole.used;
	}
	advance(b, ptrc_write_varint(write_tag(room_for_few(b), field, WIRE_BYTES), size));
	ptrc_buffer_bytes(b, text, size);
	ptrc_buffer_free(&whole);
}

/* Begins a message, whose length close_message() writes when it is known. */
static inline size_t open_message(struct ptrc_buffer *b, unsigned int field)
{
	advance(b, write_open(room_for_few(b), field));
	return b->used;
}

/* Makes room for a length that takes more than the one byte that is there, and writes it. */
static void write_long_length(struct ptrc_buffer *b, size_t begin)
{
	size_t size = b->used - begin;
	char length[PTRC_VARINT_BYTES];
	size_t more = (size_t)(ptrc_write_varint(length, size) - length) - 1;

	ptrc_buffer_room(b, more);
	memmove(b->bytes + begin + more, b->bytes + begin, size);
	memcpy(b->bytes + begin - 1, length, more + 1);
	b->used += more;
}

static inline void close_message(struct ptrc_buffer *b, size_t begin)
{
	size_t size = b->used - begin;

	if (__builtin_expect(size < SHORT_LENGTH, 1))
		b->bytes[begin - 1] = (char)size;
	else
		write_long_length(b, begin);
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

/* Tells of a track: of a process, of a thread, or, if there is no pid, of what has nothing but a name. */
static void tell_of_track(struct ptrc_buffer *b, uint64_t track, uint64_t parent, const char *name,
			  size_t size, int32_t pid, int32_t tid)
{
	size_t packet, one;
	size_t at = open_track(b, &packet, track);

	if (parent)
		put_number(b, TRACK_PARENT, parent);
	if (pid) {
		one = open_message(b, tid ? TRACK_THREAD : TRACK_PROCESS);
		put_number(b, OWNER_PID, (uint64_t)pid);
		if (tid)
			put_number(b, THREAD_TID, (uint64_t)tid);
		put_string(b, tid ? THREAD_NAME : PROCESS_NAME, name, size);
		close_message(b, one);
	} else {
		put_string(b, TRACK_NAME, name, size);
	}
	close_track(b, packet, at);
}

/* Tells of a thread, and of its process before. Readers take thread 0 for one of the kernel, so what is none is a
 * track with a name. */
static void tell_of_thread(struct ptrc_buffer *b, struct ptrc_export_lane *lane)
{
	struct ptrc_export_process *p = lane->process;
	struct ptrc_buffer name = PTRC_BUFFER_INIT;

	if (!p->is_told) {
		ptrc_export_put_process(&name, p);
		tell_of_track(b, TRACK(OF_PROCESS, p->number), 0, name.bytes, name.used, p->pid, 0);
		name.used = 0;
	}
	ptrc_export_put_thread(&name, lane);
	tell_of_track(b, TRACK(OF_THREAD, lane->number), TRACK(OF_PROCESS, p->number), name.bytes,
		      name.used, lane->tid ? lane->pid : 0, lane->tid);
	ptrc_buffer_free(&name);
	p->is_told = lane->is_told = true;
}

/* The track of a thread, which has been told of. */
static inline uint64_t thread_track(struct ptrc_buffer *b, struct ptrc_export_lane *lane)
{
	if (__builtin_expect(!lane->is_told, 0))
		tell_of_thread(b, lane);
	return TRACK(OF_THREAD, lane->number);
}

static void put_interned(struct ptrc_buffer *b, unsigned int field, uint64_t number,
			 const char *text, size_t size)
{
	size_t one = open_message(b, field);

	put_number(b, NAME_IID, number);
	put_string(b, NAME_TEXT, text, size);
	close_message(b, one);
}

/* A packet that interns, which is open. */
struct interning {
	size_t packet;
	size_t data;
};

static struct interning open_interning(struct ptrc_buffer *b)
{
	struct interning at = {.packet = open_packet(b)};

	put_number(b, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	at.data = open_message(b, PACKET_INTERNED_DATA);
	return at;
}

static void close_interning(struct ptrc_buffer *b, struct interning at)
{
	close_message(b, at.data);
	close_message(b, at.packet);
}

/* The number of the name of an event, which is written when it is first asked for. */
static uint64_t find_name(struct ptrc_export *x, const char *text, size_t size)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	struct interned *i = ptrc_table_find(&p->names, text, size, sizeof(*i));

	if (!i->number) {
		struct interning at = open_interning(b);

		i->number = ++p->name_count;
		put_interned(b, INTERNED_EVENT_NAMES, i->number, text, size);
		close_interning(b, at);
	}
	return i->number;
}

static inline uint64_t number_of_name(struct ptrc_export *x, struct ptrc_export_name *name)
{
	if (__builtin_expect(!name->number, 0))
		name->number = find_name(x, name->text.bytes, name->text.used);
	return name->number;
}

/* Numbers the names of the layout's fields, and writes those that are new. */
static void learn_layout(struct ptrc_export *x, const struct ptrc_layout *layout)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	struct interning at = open_interning(b);
	size_t number = layout->number;
	const struct ptrc_layout_field *f;
	size_t count = 0;

	while (ptrc_layout_field(layout, count))
		count++;
	while (number >= p->layout_count)
		*ptrc_append(p->layout_names, p->layout_count) = NULL;
	p->layout_names[number] = ptrc_cli_allocate((count + 1) * sizeof(uint64_t));
	for (size_t i = 0; (f = ptrc_layout_field(layout, i)); i++) {
		const char *name = *f->name ? f->name : "json";
		struct interned *known =
			ptrc_table_find(&p->field_names, name, strlen(name), sizeof(*known));

		if (!known->number) {
			known->number = WORDS + p->field_name_count++;
			put_interned(b, INTERNED_ANNOTATION_NAMES, known->number, name,
				     strlen(name));
		}
		p->layout_names[number][i] = known->number;
	}
	close_interning(b, at);
}

/* Has the names of the event's fields written, if it has a layout: before the packet that needs them. */
static inline void need_layout(struct ptrc_export *x, const struct ptrc_view *view)
{
	const struct perfetto *p = x->state;
	size_t number;

	if (!view || !view->layout)
		return;
	number = view->layout->number;
	if (__builtin_expect(number >= p->layout_count || !p->layout_names[number], 0))
		learn_layout(x, view->layout);
}

/* Says what the first packet has to: that names begin, the ones that any event may need, and when the times
 * begin. */
static void put_begin(struct ptrc_export *x)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	size_t packet, data, snapshot, one;

	p->has_begun = true;
	packet = open_packet(b);
	put_number(b, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
	snapshot = open_message(b, PACKET_CLOCK_SNAPSHOT);
	one = open_message(b, SNAPSHOT_CLOCKS);
	put_number(b, CLOCK_ID, CLOCK_BOOTTIME_ID);
	put_number(b, CLOCK_TIME, 0);
	close_message(b, one);
	one = open_message(b, SNAPSHOT_CLOCKS);
	put_number(b, CLOCK_ID, CLOCK_REALTIME_ID);
	put_number(b, CLOCK_TIME, (uint64_t)ptrc_export_start_ns(x));
	close_message(b, one);
	close_message(b, snapshot);
	data = open_message(b, PACKET_INTERNED_DATA);
	for (size_t i = 1; i < WORDS; i++)
		put_interned(b, INTERNED_ANNOTATION_NAMES, i, words[i], strlen(words[i]));
	close_message(b, data);
	close_message(b, packet);
}

static inline void need_begin(struct ptrc_export *x)
{
	const struct perfetto *p = x->state;

	if (__builtin_expect(!p->has_begun, 0))
		put_begin(x);
}

/* A packet of an event that is open. */
struct packet {
	size_t packet;
	size_t event;
};

/* Begins the packet of an event; the number of its name is 0 if it has none. */
static inline struct packet open_event(struct ptrc_buffer *b, unsigned int type, uint64_t track,
				       uint64_t ns, uint64_t name)
{
	char *p = room_for_few(b);
	struct packet at;

	p = write_open(p, TRACE_PACKET);
	at.packet = (size_t)(p - b->bytes);
	p = write_number(p, PACKET_SEQUENCE_ID, SEQUENCE);
	p = write_number(p, PACKET_TIMESTAMP, ns);
	p = write_number(p, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	p = write_open(p, PACKET_TRACK_EVENT);
	at.event = (size_t)(p - b->bytes);
	p = write_number(p, EVENT_TYPE, type);
	p = write_number(p, EVENT_TRACK, track);
	if (name)
		p = write_number(p, EVENT_NAME_IID, name);
	advance(b, p);
	return at;
}

static inline void close_event(struct ptrc_export *x, struct packet at)
{
	close_message(&x->query->out, at.event);
	close_message(&x->query->out, at.packet);
	ptrc_export_write_some(x);
}

/* ---- annotations ---- */

/* Begins an annotation: that of an event, or an entry of another one. */
static inline size_t open_annotation(struct ptrc_buffer *b, unsigned int field, uint64_t name)
{
	size_t at = open_message(b, field);

	put_number(b, ANNOTATION_NAME_IID, name);
	return at;
}

static void put_text(struct ptrc_buffer *b, unsigned int field, enum word name, const char *text,
		     size_t size)
{
	size_t at = open_annotation(b, field, name);

	put_string(b, ANNOTATION_STRING, text, size);
	close_message(b, at);
}

/* Puts an annotation that is a number; field and kind are those of what it is in, and what it is. */
static void put_figure(struct ptrc_buffer *b, unsigned int field, enum word name, unsigned int kind,
		       uint64_t v)
{
	size_t at = open_annotation(b, field, name);

	put_number(b, kind, v);
	close_message(b, at);
}

/* Writes the value of an annotation, if it is a number; null if it is none. */
static inline char *write_scalar(char *p, const struct ptrc_value *v)
{
	switch (v->kind) {
	case PTRC_VALUE_SIGNED:
		return write_number(p, ANNOTATION_INT, (uint64_t)v->i);
	case PTRC_VALUE_UNSIGNED:
		return write_number(p, ANNOTATION_UINT, v->u);
	case PTRC_VALUE_BOOL:
		return write_number(p, ANNOTATION_BOOL, v->u != 0);
	case PTRC_VALUE_FLOAT:
	case PTRC_VALUE_DOUBLE:
		return write_double(p, ANNOTATION_DOUBLE, v->f);
	default:
		return NULL;
	}
}

/* Puts a value that is not a number, of an annotation that is open. */
static void put_other(struct ptrc_buffer *b, struct ptrc_buffer *room, const struct ptrc_value *v)
{
	struct ptrc_value plain = *v;

	if (v->kind == PTRC_VALUE_TEXT || v->kind == PTRC_VALUE_ENUM) {
		put_string(b, ANNOTATION_STRING, v->bytes, v->size);
		return;
	}
	plain.unit = PTRC_UNIT_NONE;
	room->used = 0;
	ptrc_value_text(room, &plain);
	put_string(b, ANNOTATION_STRING, room->bytes, room->used);
}

/* Puts a value that is no array, as an entry of the annotation that is open, or an element, which has no
 * name (0). */
static inline void put_item(struct ptrc_buffer *b, struct ptrc_buffer *room, unsigned int field,
			    uint64_t name, const struct ptrc_value *v)
{
	char *begin = write_open(room_for_few(b), field);
	char *p = name ? write_number(begin, ANNOTATION_NAME_IID, name) : begin;
	char *number_end = write_scalar(p, v);
	size_t at = (size_t)(begin - b->bytes);

	if (__builtin_expect(number_end != NULL, 1)) {
		begin[-1] = (char)(number_end - begin);
		advance(b, number_end);
		return;
	}
	advance(b, p);
	put_other(b, room, v);
	close_message(b, at);
}

static void put_array(struct ptrc_buffer *b, struct ptrc_buffer *room, uint64_t name,
		      const struct ptrc_value *array)
{
	size_t at = open_annotation(b, ANNOTATION_ENTRIES, name);
	uint64_t count = ptrc_value_count(array);
	struct ptrc_value item;

	for (uint64_t i = 0; i < count; i++) {
		ptrc_value_element(array, i, &item);
		put_item(b, room, ANNOTATION_ARRAY, 0, &item);
	}
	close_message(b, at);
}

/* Puts the values that the data has as entries of the annotation that is open. */
static void put_fields(struct ptrc_buffer *b, struct ptrc_buffer *room,
		       const struct ptrc_layout *layout, const struct ptrc_decoded *d,
		       const uint64_t *names)
{
	for (size_t i = 0; ptrc_layout_field(layout, i); i++) {
		const struct ptrc_value *v = &d->values[i];

		if (v->kind == PTRC_VALUE_ARRAY)
			put_array(b, room, names[i], v);
		else if (v->kind != PTRC_VALUE_NONE)
			put_item(b, room, ANNOTATION_ENTRIES, names[i], v);
	}
}

/* Puts what the data of the event is that no layout explains, or not to its end. */
static void put_plain_data(struct ptrc_export *x, unsigned int field, struct ptrc_view *view)
{
	struct ptrc_buffer *room = &((struct perfetto *)x->state)->text;
	const struct ptrc_reader *r = view->reader;
	struct ptrc_buffer *b = &x->query->out;
	size_t size = r->size;

	room->used = 0;
	if (!view->layout && r->event.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT) {
		ptrc_event_put_data(room, view);
		if (room->used)
			put_text(b, field, WORD_DATA, room->bytes, room->used);
	} else if (!view->layout && size && ptrc_text_is_clean(r->data, &size)) {
		put_text(b, field, WORD_DATA, (const char *)r->data, size);
	} else if (size) {
		ptrc_buffer_hex_bytes(room, r->data, r->size);
		put_text(b, field, WORD_DATA_HEX, room->bytes, room->used);
	}
}

static void put_symbol(struct ptrc_buffer *b, unsigned int field, const struct ptrc_symbol *s)
{
	if (s->function)
		put_text(b, field, WORD_FUNCTION, s->function, strlen(s->function));
	if (s->file)
		put_text(b, field, WORD_FILE, s->file, strlen(s->file));
	if (s->line)
		put_figure(b, field, WORD_LINE, ANNOTATION_INT, (uint64_t)s->line);
}

/* Puts the data of the event as annotations, whose field is given: of an event, or of another one. The names
 * of its layout have been written. */
static void put_data(struct ptrc_export *x, unsigned int field, struct ptrc_view *view)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	bool is_told = false;

	if (view->layout) {
		const struct ptrc_decoded *d = ptrc_view_decode(view);
		size_t at = open_annotation(b, field, WORD_DATA);

		put_fields(b, &p->text, view->layout, d, p->layout_names[view->layout->number]);
		is_told = d->error == PTRC_LAYOUT_FITS;
		close_message(b, at);
	}
	if (!is_told)
		put_plain_data(x, field, view);
	if (__builtin_expect(ptrc_view_is_cut(view), 0))
		put_text(b, field, WORD_TRUNCATED, ptrc_reader_truncation(view->reader),
			 strlen(ptrc_reader_truncation(view->reader)));
	if (__builtin_expect(x->query->symbols != NULL, 0))
		put_symbol(b, field, ptrc_view_symbol(view));
}

/* ---- what is exported ---- */

/* ---- samples ---- */

/* Writes the frames that are new. Readers want each to be in a file: all are in one without a name. */
static void put_frames(struct ptrc_export *x)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	size_t one;

	if (!p->frame_count) {
		put_interned(b, INTERNED_PATHS, 1, "-", 1);
		one = open_message(b, INTERNED_MAPPINGS);
		put_number(b, NAME_IID, 1);
		put_number(b, MAPPING_PATHS, 1);
		close_message(b, one);
	}
	for (; p->frame_count < x->flames.frame_count; p->frame_count++) {
		const struct ptrc_buffer *function = &x->flames.frames[p->frame_count];

		put_interned(b, INTERNED_FUNCTIONS, p->frame_count + UINT64_C(1), function->bytes,
			     function->used);
		one = open_message(b, INTERNED_FRAMES);
		put_number(b, NAME_IID, p->frame_count + UINT64_C(1));
		put_number(b, FRAME_FUNCTION, p->frame_count + UINT64_C(1));
		put_number(b, FRAME_MAPPING, 1);
		close_message(b, one);
	}
}

/* Writes a stack, whose frames go from the outermost to the innermost. */
static void put_stack(struct ptrc_export *x, uint32_t stack)
{
	struct ptrc_buffer *b = &x->query->out;
	size_t one = open_message(b, INTERNED_CALLSTACKS);
	size_t depth;
	uint32_t *frames = ptrc_flames_unwind(&x->flames, stack, &depth);

	put_number(b, NAME_IID, stack);
	for (size_t i = 0; i < depth; i++)
		put_number(b, CALLSTACK_FRAMES, frames[i] + UINT64_C(1));
	close_message(b, one);
	free(frames);
}

/* The number of the processor, if the sample says it. */
static bool find_processor(struct ptrc_export *x, struct ptrc_view *view, uint64_t *number)
{
	const struct ptrc_value *v = ptrc_view_member(view, &x->query->layouts, "processor");

	if (!v || v->kind != PTRC_VALUE_UNSIGNED)
		return false;
	*number = v->u;
	return true;
}

static void put_sample(struct ptrc_export *x, const struct ptrc_export_event *e)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	uint32_t stack = ptrc_flames_sample(&x->flames, x->query, x->source, 0);
	struct interned *told;
	uint64_t processor;
	size_t packet, at;

	thread_track(b, e->lane);
	packet = open_packet(b);
	put_number(b, PACKET_TIMESTAMP, e->ns);
	put_number(b, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	told = ptrc_table_find(&p->stacks, &stack, sizeof(stack), sizeof(*told));
	if (stack && !told->number) {
		told->number = 1;
		at = open_message(b, PACKET_INTERNED_DATA);
		put_frames(x);
		put_stack(x, stack);
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
	struct ptrc_buffer *b = &x->query->out;
	uint64_t track = thread_track(b, e->lane);
	uint64_t name = number_of_name(x, &e->type->name);
	struct packet at;

	need_layout(x, e->view);
	at = open_event(b, INSTANT, track, e->ns, name);
	put_data(x, EVENT_ANNOTATIONS, e->view);
	if (e->missing)
		put_text(b, EVENT_ANNOTATIONS, WORD_MISSING, e->missing, strlen(e->missing));
	close_event(x, at);
}

static void event(struct ptrc_export *x, const struct ptrc_export_event *e)
{
	need_begin(x);
	if (e->type->is_sample && x->has_samples)
		put_sample(x, e);
	else
		put_instant(x, e);
}

/* A track among those of slices of this name and process on which nothing overlaps the slice. */
static uint64_t row_track(struct ptrc_export *x, const struct ptrc_slice *s)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	struct key key = {s->lane->process->number, number_of_name(x, s->name)};
	struct rows *rows = ptrc_table_find(&p->rows, &key, sizeof(key), sizeof(*rows));
	struct row *row;

	thread_track(b, s->lane);
	row = rows->count ? rows->heap[0] : NULL;
	if (row && row->end_ns <= s->begin_ns) {
		row->end_ns = s->end ? s->end_ns : UINT64_MAX;
		heap_sift_down(rows->heap, rows->count, 0);
	} else {
		row = ptrc_cli_allocate(sizeof(*row));
		*row = (struct row){.number = ++p->row_count,
				    .end_ns = s->end ? s->end_ns : UINT64_MAX};
		rows->heap = ptrc_cli_grow(rows->heap, rows->count, sizeof(row));
		heap_push(rows->heap, rows->count++, row);
		tell_of_track(b, TRACK(OF_SLICES, row->number),
			      TRACK(OF_PROCESS, s->lane->process->number), s->name->text.bytes,
			      s->name->text.used, 0, 0);
	}
	return TRACK(OF_SLICES, row->number);
}

static uint64_t slice_track(struct ptrc_export *x, const struct ptrc_slice *s)
{
	struct ptrc_buffer *b = &x->query->out;
	/* That of an open slice may be gone already. */
	const struct ptrc_span *around = s->end ? s->lane->lane.latest : NULL;
	uint64_t track;

	if (s->kind == PTRC_SLICE_STATE) {
		static const char name[] = "running and waiting";

		thread_track(b, s->lane);
		track = TRACK(OF_STATES, s->lane->number);
		if (!s->lane->is_state_told)
			tell_of_track(b, track, TRACK(OF_THREAD, s->lane->number), name,
				      sizeof(name) - 1, 0, 0);
		s->lane->is_state_told = true;
		return track;
	}
	if (s->kind == PTRC_SLICE_ASYNC ||
	    (around && ptrc_export_since_start(x, around->ns) == s->begin_ns))
		return row_track(x, s);
	return thread_track(b, s->lane);
}

/* An end of an arrow from one thread to another. */
static void put_flow_end(struct ptrc_export *x, const struct ptrc_slice *s,
			 struct ptrc_export_lane *lane, uint64_t ns)
{
	struct ptrc_buffer *b = &x->query->out;
	uint64_t track = thread_track(b, lane);
	struct packet at = open_event(b, INSTANT, track, ns, number_of_name(x, s->name));
	char *p = write_tag(room_for_few(b), EVENT_FLOWS, WIRE_FIXED64);

	memcpy(p, &s->number, sizeof(s->number));
	advance(b, p + sizeof(s->number));
	close_event(x, at);
}

static void put_slice_end(struct ptrc_export *x, const struct ptrc_slice *s, uint64_t track)
{
	struct ptrc_buffer *b = &x->query->out;
	struct packet at = open_event(b, SLICE_END, track, s->end_ns, 0);

	if (s->end->reader->size || s->end->layout) {
		size_t one = open_annotation(b, EVENT_ANNOTATIONS, WORD_END);

		put_data(x, ANNOTATION_ENTRIES, s->end);
		close_message(b, one);
	}
	close_event(x, at);
}

static void slice(struct ptrc_export *x, const struct ptrc_slice *s)
{
	struct ptrc_buffer *b = &x->query->out;
	struct packet at;
	uint64_t track, name;

	need_begin(x);
	need_layout(x, s->begin);
	need_layout(x, s->end);
	track = slice_track(x, s);
	name = number_of_name(x, s->name);
	at = open_event(b, SLICE_BEGIN, track, s->begin_ns, name);
	put_data(x, EVENT_ANNOTATIONS, s->begin);
	if (s->is_cut)
		put_figure(b, EVENT_ANNOTATIONS, WORD_EVENTS_LOST, ANNOTATION_BOOL, true);
	if (!s->end)
		put_text(b, EVENT_ANNOTATIONS, WORD_MISSING, "end", strlen("end"));
	close_event(x, at);
	if (!s->end)
		return;
	put_slice_end(x, s, track);
	if (s->end_lane != s->lane) {
		put_flow_end(x, s, s->lane, s->begin_ns);
		put_flow_end(x, s, s->end_lane, s->end_ns);
	}
}

/* The track of the counter in the process. */
static uint64_t counter_track(struct ptrc_export *x, struct ptrc_export_counter *c,
			      const struct ptrc_export_process *process, const char *unit)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	struct key key = {process->number, number_of_name(x, &c->name)};
	struct interned *i = ptrc_table_find(&p->counters, &key, sizeof(key), sizeof(*i));
	size_t packet, at, one;

	if (i->number)
		return TRACK(OF_COUNTER, i->number);
	i->number = ++p->counter_count;
	at = open_track(b, &packet, TRACK(OF_COUNTER, i->number));
	put_number(b, TRACK_PARENT, TRACK(OF_PROCESS, process->number));
	put_string(b, TRACK_NAME, c->name.text.bytes, c->name.text.used);
	one = open_message(b, TRACK_COUNTER);
	if (*unit)
		put_string(b, COUNTER_UNIT_NAME, unit, strlen(unit));
	close_message(b, one);
	close_track(b, packet, at);
	return TRACK(OF_COUNTER, i->number);
}

static void counter(struct ptrc_export *x, struct ptrc_export_counter *c,
		    const struct ptrc_value *v)
{
	struct ptrc_buffer *b = &x->query->out;
	struct ptrc_export_lane *lane = ptrc_export_lane(x);
	struct packet at;
	uint64_t track;
	char *p;

	need_begin(x);
	thread_track(b, lane);
	track = counter_track(x, c, lane->process, ptrc_unit_word(v->unit));
	at = open_event(b, COUNTER, track, x->now_ns, 0);
	p = room_for_few(b);
	if (v->kind == PTRC_VALUE_FLOAT || v->kind == PTRC_VALUE_DOUBLE)
		p = write_double(p, EVENT_DOUBLE_COUNTER, v->f);
	else if (v->kind != PTRC_VALUE_SIGNED && v->u > INT64_MAX)
		p = write_double(p, EVENT_DOUBLE_COUNTER, (double)v->u);
	else
		p = write_number(p, EVENT_COUNTER, v->u);
	advance(b, p);
	close_event(x, at);
}

static uint64_t loss_track(struct ptrc_export *x, const struct ptrc_source *s)
{
	struct perfetto *p = x->state;
	uint64_t track = TRACK(OF_LOSSES, s->order + 1);

	p->text.used = 0;
	ptrc_buffer_text(&p->text, "events lost: ");
	ptrc_buffer_text(&p->text, ptrc_reader_shown_name(&s->reader));
	/* Readers take the last word; there are few of these. */
	tell_of_track(&x->query->out, track, 0, p->text.bytes, p->text.used, 0, 0);
	return track;
}

static void loss(struct ptrc_export *x, const struct ptrc_export_loss *l)
{
	static const char name[] = "events lost";
	struct ptrc_buffer *b = &x->query->out;
	struct packet at;
	uint64_t track;

	need_begin(x);
	track = loss_track(x, l->source);
	at = open_event(b, SLICE_BEGIN, track, l->begin_ns, find_name(x, name, sizeof(name) - 1));
	if (l->is_counted)
		put_figure(b, EVENT_ANNOTATIONS, WORD_UNREADABLE_EVENTS, ANNOTATION_UINT,
			   l->events);
	close_event(x, at);
	close_event(x, open_event(b, SLICE_END, track, l->end_ns, 0));
}

static void begin(struct ptrc_export *x)
{
	ptrc_buffer_bytes(&x->query->out, signature, sizeof(signature) - 1);
}

/* Puts what is missing at the end of the track of losses, as JSON has it. */
static bool end(struct ptrc_export *x)
{
	static const char name[] = "losses";
	struct ptrc_query *q = x->query;

	for (size_t i = 0; i < q->source_count; i++) {
		struct ptrc_buffer text = PTRC_BUFFER_INIT;
		struct ptrc_json j = {&text, true};
		struct packet at;
		uint64_t track;

		if (!ptrc_losses_is_any(&q->sources[i].losses))
			continue;
		ptrc_buffer_char(&text, '{');
		ptrc_losses_json(&q->sources[i].losses, &j);
		ptrc_buffer_char(&text, '}');
		need_begin(x);
		track = loss_track(x, &q->sources[i]);
		at = open_event(&q->out, INSTANT, track, x->now_ns,
				find_name(x, name, sizeof(name) - 1));
		put_text(&q->out, EVENT_ANNOTATIONS, WORD_LOSSES, text.bytes, text.used);
		close_event(x, at);
		ptrc_buffer_free(&text);
	}
	return true;
}

static void free_rows(void *thing, void *arg)
{
	struct rows *rows = thing;

	(void)arg;
	for (size_t i = 0; i < rows->count; i++)
		free(rows->heap[i]);
	free(rows->heap);
}

static void free_perfetto(struct ptrc_export *x)
{
	struct perfetto *p = x->state;

	ptrc_table_visit(&p->rows, free_rows, NULL);
	ptrc_table_free(&p->rows);
	ptrc_table_free(&p->names);
	ptrc_table_free(&p->field_names);
	ptrc_table_free(&p->counters);
	for (size_t i = 0; i < p->layout_count; i++)
		free(p->layout_names[i]);
	free(p->layout_names);
	ptrc_table_free(&p->stacks);
	ptrc_buffer_free(&p->text);
}

const struct ptrc_export_format ptrc_export_perfetto = {
	.name = "perfetto",
	.kind = {.mode = 0600,
		 .signature = signature,
		 .signature_bytes = sizeof(signature) - 1,
		 .noun = "an export to perfetto"},
	.state_size = sizeof(struct perfetto),
	.begin = begin,
	.event = event,
	.slice = slice,
	.counter = counter,
	.loss = loss,
	.end = end,
	.free = free_perfetto,
};
