/* SPDX-License-Identifier: MIT */
/*
 * Traces of Perfetto: a protocol buffer Trace, which is a series of TracePacket messages. The field numbers
 * are those of perfetto_trace.proto, and never change. Readers sort packets by time and keep the order of
 * packets with the same time. Both packets of a slice are written at its end, so that if two slices end at
 * the same time, the inner one ends first. If two slices of a thread start at the same time, this order would
 * also make the inner one start first, which is wrong. So the inner one gets a track of its own.
 *
 * The states of a thread are on a state track, which has no slices: each event there sets the state, until the
 * next one. The event at the end of a state sets none. If another state starts at that time, its event follows.
 *
 * All packets belong to one sequence. The sequence interns the names of events and fields: it writes each
 * name once, with a number, and later uses the number.
 */
#include "config.h"
#include "src/export/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/heap.h"
#include "src/base/json.h"
#include "src/base/message.h"
#include "src/base/scope.h"
#include "src/base/table.h"
#include "src/text/event_format.h"

/* The numbers of the fields of messages, as in perfetto_trace.proto. */
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
	TRACK_STATE = 18,
	OWNER_PID = 1,
	PROCESS_NAME = 6,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT_NAME = 6,

	SAMPLE_CPU = 1,
	SAMPLE_PID = 2,
	SAMPLE_TID = 3,
	SAMPLE_CALLSTACK = 4,
	SAMPLE_MODE = 5,
	SAMPLE_COUNT = 6,
	/* Field 1 (NAME_IID) of an interned name, frame or stack is its number. */
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	CALLSTACK_FRAMES = 2,
	MAPPING_PATHS = 7,
};

enum { MODE_USER = 2 };
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4, STATE = 5 };
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };
/* Flags of a packet. STATE_CLEARED: no names have been interned yet. NEEDS_STATE: the packet uses interned
 * names. */
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 };
/* The number of the only sequence, and the numbers of built-in clocks. */
enum { SEQUENCE = 1, CLOCK_REALTIME_ID = 1, CLOCK_BOOTTIME_ID = 6 };

enum { FEW_NUMBERS_BYTES = 96 };
/* A length below this takes one byte as a varint; larger lengths take more. */
enum { SHORT_LENGTH = 0x80 };

/* The first bytes of each file: a packet for tests, which readers skip. It contains the name of the command. */
static const char signature[] = "\n\x12\xa2\x38\x0f\n\x0d"
				"ptrace-export";

/* The number of a track is made of its kind, in the lowest bits, and the number of what the track shows. The
 * track's number is kept small, because each event has it, and small numbers take few bytes. */
enum track_of { OF_PROCESS = 1, OF_THREAD, OF_STATES, OF_LOSSES, OF_COUNTER, OF_SLICES };
#define TRACK(of, number) ((uint64_t)(number) << 3 | (uint64_t)(of))

/* The numbers of the names of annotations that any event may have. The numbers of the names of fields of
 * layouts follow. */
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

/* A name, counter or stack, which is written once and then referred to by its number. `number` is 0 until it is
 * written. A stack has its number in struct ptrc_flames, so here `number` is only 0 or 1. */
struct interned {
	struct ptrc_table_entry entry;
	uint64_t number;
};

/* The key of `counters` and `rows` in struct perfetto: the numbers of a process and of a name. */
struct key {
	uint64_t process;
	uint64_t name;
};

/* A track for slices of one process that have the same name. The slices on a track do not
 * overlap. */
struct row {
	uint64_t number;
	uint64_t end_ns;
};

/* The tracks for slices of one name and process, as a heap: the track whose last slice ends first
 * is at the top. */
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
	/* The interned names of events. */
	struct ptrc_table names;
	struct ptrc_table field_names;
	struct ptrc_table counters;
	struct ptrc_table rows;
	uint64_t row_count;
	bool has_begun;
	/* For each layout, by its number: the numbers of the names of its fields. NULL until these names have
	 * been written. */
	uint64_t **layout_names;
	size_t layout_count;
	/* Scratch space for text. */
	struct ptrc_buffer text;
	/* The number of frames, the functions in stacks of samples, that have been interned. */
	uint32_t frame_count;
	/* The stacks that have been written. */
	struct ptrc_table stacks;
};

/* ---- the wire ---- */

/* Writes the tag of a field. Field numbers are at most 2047, so a tag takes at most two bytes. */
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

/* Opens a message: writes its tag and leaves one byte for its length. Returns the address after that byte. */
static inline char *write_open(char *p, unsigned int field)
{
	p = write_tag(p, field, WIRE_BYTES);
	*p++ = 0;
	return p;
}

/* Returns room for a few numbers. The caller writes there and then calls advance(). */
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

/* Puts text as UTF-8. Replaces bytes that are not UTF-8, because readers may refuse them. */
static void put_string(struct ptrc_buffer *b, unsigned int field, const char *text, size_t size)
{
	PTRC_SCOPED_BUFFER whole = PTRC_BUFFER_INIT;
	bool is_whole = ptrc_text_is_utf8(text, size);

	if (__builtin_expect(!is_whole, 0)) {
		ptrc_text_put_utf8(&whole, text, size);
		text = whole.bytes;
		size = whole.used;
	}
	advance(b, ptrc_write_varint(write_tag(room_for_few(b), field, WIRE_BYTES), size));
	ptrc_buffer_bytes(b, text, size);
}

/* Opens a message. Returns what close_message() needs. */
static inline size_t open_message(struct ptrc_buffer *b, unsigned int field)
{
	advance(b, write_open(room_for_few(b), field));
	return b->used;
}

/* Writes a length that takes more than one byte. Moves the message to make room for it. */
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

/* An open packet and the open message in it, as open_message() returned them. */
struct packet {
	size_t packet;
	size_t message;
};

/* Opens a packet of the sequence, with flags unless they are 0, and a message in this field of the packet. */
static struct packet open_packet(struct ptrc_buffer *b, uint64_t flags, unsigned int field)
{
	struct packet at = {.packet = open_message(b, TRACE_PACKET)};

	put_number(b, PACKET_SEQUENCE_ID, SEQUENCE);
	if (flags)
		put_number(b, PACKET_SEQUENCE_FLAGS, flags);
	at.message = open_message(b, field);
	return at;
}

static inline void close_packet(struct ptrc_buffer *b, struct packet at)
{
	close_message(b, at.message);
	close_message(b, at.packet);
}

/* Puts the descriptor of a track: that of a thread or, if tid is 0, of a process. If pid is 0, the track only has a
 * name. */
static void put_track(struct ptrc_buffer *b, uint64_t track, uint64_t parent, const char *name,
		      size_t size, int32_t pid, int32_t tid)
{
	struct packet at = open_packet(b, 0, PACKET_TRACK_DESCRIPTOR);
	size_t one;

	put_number(b, TRACK_UUID, track);
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
	close_packet(b, at);
}

/* Puts the tracks of the thread and of its process. The trace system has pid 0, which readers would take for
 * a thread of the kernel. So it gets a track that only has a name. */
static void put_thread(struct ptrc_buffer *b, struct ptrc_export_lane *lane)
{
	struct ptrc_export_process *p = lane->process;
	PTRC_SCOPED_BUFFER name = PTRC_BUFFER_INIT;

	if (!p->is_written)
		put_track(b, TRACK(OF_PROCESS, p->number), 0, p->name.bytes, p->name.used, p->pid,
			  0);
	ptrc_export_put_thread(&name, lane);
	put_track(b, TRACK(OF_THREAD, lane->number), TRACK(OF_PROCESS, p->number), name.bytes,
		  name.used, lane->lane.tid ? lane->pid : 0, lane->tid);
	p->is_written = lane->is_written = true;
}

/* Returns the track of a thread. If it is new, its descriptor is put first. */
static inline uint64_t thread_track(struct ptrc_buffer *b, struct ptrc_export_lane *lane)
{
	if (__builtin_expect(!lane->is_written, 0))
		put_thread(b, lane);
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

/* Returns the number of an event's name. If the name is new, interns it. */
static uint64_t find_name(struct ptrc_export *x, const char *text, size_t size)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	struct interned *i = ptrc_table_find(&p->names, text, size, sizeof(*i));

	if (!i->number) {
		struct packet at = open_packet(b, NEEDS_STATE, PACKET_INTERNED_DATA);

		i->number = p->names.count;
		put_interned(b, INTERNED_EVENT_NAMES, i->number, text, size);
		close_packet(b, at);
	}
	return i->number;
}

static inline uint64_t number_of_name(struct ptrc_export *x, struct ptrc_export_name *name)
{
	if (__builtin_expect(!name->number, 0))
		name->number = find_name(x, name->text.bytes, name->text.used);
	return name->number;
}

/* Interns the names of the layout's fields. */
static void learn_layout(struct ptrc_export *x, const struct ptrc_layout *layout)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	struct packet at = open_packet(b, NEEDS_STATE, PACKET_INTERNED_DATA);
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
			known->number = WORDS - 1 + p->field_names.count;
			put_interned(b, INTERNED_ANNOTATION_NAMES, known->number, name,
				     strlen(name));
		}
		p->layout_names[number][i] = known->number;
	}
	close_packet(b, at);
}

/* Interns the names of the event's fields. They need a packet of their own, so this is done before the packet
 * that uses the names is opened. */
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

static void put_clock(struct ptrc_buffer *b, uint64_t id, uint64_t time)
{
	size_t one = open_message(b, SNAPSHOT_CLOCKS);

	put_number(b, CLOCK_ID, id);
	put_number(b, CLOCK_TIME, time);
	close_message(b, one);
}

/* Puts the first packet: starts the sequence, relates its clock to the time of day, and interns words[]. */
static void put_begin(struct ptrc_export *x)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	struct packet at = open_packet(b, STATE_CLEARED, PACKET_CLOCK_SNAPSHOT);

	p->has_begun = true;
	put_clock(b, CLOCK_BOOTTIME_ID, 0);
	put_clock(b, CLOCK_REALTIME_ID, (uint64_t)ptrc_export_start_ns(x));
	close_message(b, at.message);
	at.message = open_message(b, PACKET_INTERNED_DATA);
	for (size_t i = 1; i < WORDS; i++)
		put_interned(b, INTERNED_ANNOTATION_NAMES, i, words[i], strlen(words[i]));
	close_packet(b, at);
}

static inline void need_begin(struct ptrc_export *x)
{
	const struct perfetto *p = x->state;

	if (__builtin_expect(!p->has_begun, 0))
		put_begin(x);
}

/* Opens the packet of an event. `name` is the number of the event's name, or 0 if it has none. */
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
	at.message = (size_t)(p - b->bytes);
	p = write_number(p, EVENT_TYPE, type);
	p = write_number(p, EVENT_TRACK, track);
	if (name)
		p = write_number(p, EVENT_NAME_IID, name);
	advance(b, p);
	return at;
}

static inline void close_event(struct ptrc_export *x, struct packet at)
{
	close_packet(&x->query->out, at);
	ptrc_output_write_some(&x->query->out);
}

/* ---- annotations ---- */

/* Opens an annotation, which is this field of an event or of another annotation. */
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

/* Puts a number as an annotation. `kind` is the field for numbers of this type. */
static void put_figure(struct ptrc_buffer *b, unsigned int field, enum word name, unsigned int kind,
		       uint64_t v)
{
	size_t at = open_annotation(b, field, name);

	put_number(b, kind, v);
	close_message(b, at);
}

/* Writes a value as a number. Returns NULL if the value is not a number. */
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
		return write_double(p, ANNOTATION_DOUBLE, ptrc_value_shown_float(v));
	default:
		return NULL;
	}
}

/* Puts a value that is not a number into the open annotation. */
static void put_other(struct ptrc_buffer *b, struct ptrc_buffer *room, const struct ptrc_value *v)
{
	if (v->kind == PTRC_VALUE_TEXT || v->kind == PTRC_VALUE_ENUM) {
		put_string(b, ANNOTATION_STRING, v->bytes, v->size);
		return;
	}
	room->used = 0;
	ptrc_value_text(room, v, false);
	put_string(b, ANNOTATION_STRING, room->bytes, room->used);
}

/* Puts a value that is not an array: as an entry of the open annotation, or, if `name` is 0, as an element of
 * an array. */
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

/* Puts data that has no layout, or does not fit its layout, as text or as bytes. */
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

/* Puts the data of the event as annotations, in this field of an event or of another annotation. The names of
 * its layout's fields have been interned. */
static void put_data(struct ptrc_export *x, unsigned int field, struct ptrc_view *view)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	bool is_whole = false;

	if (view->layout) {
		const struct ptrc_decoded *d = ptrc_view_decode(view);
		size_t at = open_annotation(b, field, WORD_DATA);

		put_fields(b, &p->text, view->layout, d, p->layout_names[view->layout->number]);
		is_whole = d->error == PTRC_LAYOUT_FITS;
		close_message(b, at);
	}
	if (!is_whole)
		put_plain_data(x, field, view);
	if (__builtin_expect(ptrc_view_is_cut(view), 0))
		put_text(b, field, WORD_TRUNCATED, ptrc_reader_truncation(view->reader),
			 strlen(ptrc_reader_truncation(view->reader)));
	if (__builtin_expect(x->query->symbols != NULL, 0))
		put_symbol(b, field, ptrc_view_symbol(view));
}

/* ---- samples ---- */

/* Interns the frames that are new. Readers require a file for each frame, so all frames are in one file,
 * named "-". */
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

/* Interns a stack. Its frames are in order from the outermost to the innermost. */
static void put_stack(struct ptrc_export *x, uint32_t stack)
{
	struct ptrc_buffer *b = &x->query->out;
	size_t one = open_message(b, INTERNED_CALLSTACKS);
	size_t depth;
	PTRC_SCOPED uint32_t *frames = ptrc_flames_unwind(&x->flames, stack, &depth);

	put_number(b, NAME_IID, stack);
	for (size_t i = 0; i < depth; i++)
		put_number(b, CALLSTACK_FRAMES, frames[i] + UINT64_C(1));
	close_message(b, one);
}

static void put_sample(struct ptrc_export *x, const struct ptrc_export_event *e)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	uint32_t stack = ptrc_flames_sample(&x->flames, x->query, x->source, 0);
	const struct ptrc_value *processor;
	struct interned *known;
	size_t packet, at;

	thread_track(b, e->lane);
	packet = open_message(b, TRACE_PACKET);
	put_number(b, PACKET_SEQUENCE_ID, SEQUENCE);
	put_number(b, PACKET_TIMESTAMP, e->ns);
	put_number(b, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	known = ptrc_table_find(&p->stacks, &stack, sizeof(stack), sizeof(*known));
	if (stack && !known->number) {
		known->number = 1;
		at = open_message(b, PACKET_INTERNED_DATA);
		put_frames(x);
		put_stack(x, stack);
		close_message(b, at);
	}
	at = open_message(b, PACKET_PERF_SAMPLE);
	processor = ptrc_view_member(e->view, &x->query->layouts, "processor");
	if (processor && processor->kind == PTRC_VALUE_UNSIGNED)
		put_number(b, SAMPLE_CPU, processor->u);
	put_number(b, SAMPLE_PID, (uint64_t)e->lane->pid);
	put_number(b, SAMPLE_TID, (uint64_t)e->lane->tid);
	if (stack)
		put_number(b, SAMPLE_CALLSTACK, stack);
	put_number(b, SAMPLE_MODE, MODE_USER);
	put_number(b, SAMPLE_COUNT, 1);
	close_message(b, at);
	close_message(b, packet);
	ptrc_output_write_some(&x->query->out);
}

static void event(struct ptrc_export *x, const struct ptrc_export_event *e)
{
	struct ptrc_buffer *b = &x->query->out;
	uint64_t track, name;
	struct packet at;

	need_begin(x);
	if (e->type->is_sample && x->has_samples) {
		put_sample(x, e);
		return;
	}
	track = thread_track(b, e->lane);
	name = number_of_name(x, &e->type->name);
	need_layout(x, e->view);
	at = open_event(b, INSTANT, track, e->ns, name);
	put_data(x, EVENT_ANNOTATIONS, e->view);
	if (e->missing)
		put_text(b, EVENT_ANNOTATIONS, WORD_MISSING, e->missing, strlen(e->missing));
	close_event(x, at);
}

/* Returns a track for slices with the slice's name and process, on which no other slice overlaps it. */
static uint64_t row_track(struct ptrc_export *x, const struct ptrc_slice *s)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	struct key key = {s->lane->process->number, number_of_name(x, s->name)};
	struct rows *rows = ptrc_table_find(&p->rows, &key, sizeof(key), sizeof(*rows));
	uint64_t end_ns = s->end ? s->end_ns : UINT64_MAX;
	struct row *row;

	thread_track(b, s->lane);
	row = rows->count ? rows->heap[0] : NULL;
	if (row && row->end_ns <= s->begin_ns) {
		row->end_ns = end_ns;
		heap_sift_down(rows->heap, rows->count, 0);
	} else {
		row = ptrc_cli_allocate(sizeof(*row));
		*row = (struct row){.number = ++p->row_count, .end_ns = end_ns};
		rows->heap = ptrc_cli_grow(rows->heap, rows->count, sizeof(row));
		heap_push(rows->heap, rows->count++, row);
		put_track(b, TRACK(OF_SLICES, row->number),
			  TRACK(OF_PROCESS, s->lane->process->number), s->name->text.bytes,
			  s->name->text.used, 0, 0);
	}
	return TRACK(OF_SLICES, row->number);
}

static uint64_t slice_track(struct ptrc_export *x, const struct ptrc_slice *s)
{
	/* The span around the slice; not used for a slice without an end, because at the end of the events
	 * that span may have been freed. */
	const struct ptrc_span *around = s->end ? s->lane->lane.latest : NULL;

	if (s->kind == PTRC_SLICE_ASYNC ||
	    (around && ptrc_export_since_start(x, around->ns) == s->begin_ns))
		return row_track(x, s);
	return thread_track(&x->query->out, s->lane);
}

/* Puts one end of the arrow from the thread on which a slice started to the thread on which it ended. */
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

/* Puts the data of the slice's first event, whether events were lost within the slice, and whether it has no
 * end. */
static void put_slice_data(struct ptrc_export *x, const struct ptrc_slice *s)
{
	struct ptrc_buffer *b = &x->query->out;

	put_data(x, EVENT_ANNOTATIONS, s->begin);
	if (s->is_cut)
		put_figure(b, EVENT_ANNOTATIONS, WORD_EVENTS_LOST, ANNOTATION_BOOL, true);
	if (!s->end)
		put_text(b, EVENT_ANNOTATIONS, WORD_MISSING, "end", strlen("end"));
}

/* Returns the track for the states of the thread. If it is new, its descriptor is put first. */
static uint64_t state_track(struct ptrc_buffer *b, struct ptrc_export_lane *lane)
{
	uint64_t track = TRACK(OF_STATES, lane->number), parent = thread_track(b, lane);
	struct packet at;

	if (lane->is_state_written)
		return track;
	lane->is_state_written = true;
	at = open_packet(b, 0, PACKET_TRACK_DESCRIPTOR);
	put_number(b, TRACK_UUID, track);
	put_number(b, TRACK_PARENT, parent);
	put_string(b, TRACK_NAME, "state", strlen("state"));
	close_message(b, open_message(b, TRACK_STATE));
	close_packet(b, at);
	return track;
}

/* Puts a state of a thread. It has the data of its first event, but not those of its last event, which is also the
 * first event of the next state. If the state comes from a wait, it has no data, because the wait is also put as a
 * slice with its data. */
static void put_state(struct ptrc_export *x, const struct ptrc_slice *s)
{
	struct ptrc_buffer *b = &x->query->out;
	struct ptrc_export_name *name = s->wait_state ? s->wait_state : s->name;
	uint64_t track = state_track(b, s->lane), number = number_of_name(x, name);
	struct packet at = open_event(b, STATE, track, s->begin_ns, number);

	if (!s->wait_state)
		put_slice_data(x, s);
	close_event(x, at);
	if (s->end)
		close_event(x, open_event(b, STATE, track, s->end_ns, 0));
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
	if (s->kind == PTRC_SLICE_STATE || s->wait_state)
		put_state(x, s);
	if (s->kind == PTRC_SLICE_STATE)
		return;
	track = slice_track(x, s);
	name = number_of_name(x, s->name);
	at = open_event(b, SLICE_BEGIN, track, s->begin_ns, name);
	put_slice_data(x, s);
	close_event(x, at);
	if (!s->end)
		return;
	put_slice_end(x, s, track);
	if (s->end_lane != s->lane) {
		put_flow_end(x, s, s->lane, s->begin_ns);
		put_flow_end(x, s, s->end_lane, s->end_ns);
	}
}

/* Returns the track of the counter in the process. If it is new, its descriptor is put first. */
static uint64_t counter_track(struct ptrc_export *x, struct ptrc_export_counter *c,
			      const struct ptrc_export_process *process, const char *unit)
{
	struct perfetto *p = x->state;
	struct ptrc_buffer *b = &x->query->out;
	struct key key = {process->number, number_of_name(x, &c->name)};
	struct interned *i = ptrc_table_find(&p->counters, &key, sizeof(key), sizeof(*i));
	struct packet at;
	size_t one;

	if (i->number)
		return TRACK(OF_COUNTER, i->number);
	i->number = p->counters.count;
	at = open_packet(b, 0, PACKET_TRACK_DESCRIPTOR);
	put_number(b, TRACK_UUID, TRACK(OF_COUNTER, i->number));
	put_number(b, TRACK_PARENT, TRACK(OF_PROCESS, process->number));
	put_string(b, TRACK_NAME, c->name.text.bytes, c->name.text.used);
	one = open_message(b, TRACK_COUNTER);
	if (*unit)
		put_string(b, COUNTER_UNIT_NAME, unit, strlen(unit));
	close_message(b, one);
	close_packet(b, at);
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

	/* Viewers cannot draw infinity and NaN. */
	if ((v->kind == PTRC_VALUE_FLOAT || v->kind == PTRC_VALUE_DOUBLE) && !isfinite(v->f))
		return;
	need_begin(x);
	thread_track(b, lane);
	track = counter_track(x, c, lane->process, ptrc_unit_word(v->unit));
	at = open_event(b, COUNTER, track, x->now_ns, 0);
	p = room_for_few(b);
	if (v->kind == PTRC_VALUE_FLOAT || v->kind == PTRC_VALUE_DOUBLE)
		p = write_double(p, EVENT_DOUBLE_COUNTER, ptrc_value_shown_float(v));
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
	/* The descriptor is put again for each loss. Losses are few, and readers use the last descriptor. */
	put_track(&x->query->out, track, 0, p->text.bytes, p->text.used, 0, 0);
	return track;
}

static void loss(struct ptrc_export *x, const struct ptrc_export_loss *l)
{
	struct ptrc_buffer *b = &x->query->out;
	struct packet at;
	uint64_t track;

	need_begin(x);
	track = loss_track(x, l->source);
	at = open_event(b, SLICE_BEGIN, track, l->begin_ns,
			find_name(x, "events lost", strlen("events lost")));
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

/* Puts the numbers of losses of each log, as JSON, at the end of the track for its losses. */
static bool end(struct ptrc_export *x)
{
	struct ptrc_query *q = x->query;

	for (size_t i = 0; i < q->source_count; i++) {
		PTRC_SCOPED_BUFFER text = PTRC_BUFFER_INIT;
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
				find_name(x, "losses", strlen("losses")));
		put_text(&q->out, EVENT_ANNOTATIONS, WORD_LOSSES, text.bytes, text.used);
		close_event(x, at);
	}
	return true;
}

static void free_perfetto(struct ptrc_export *x)
{
	struct perfetto *p = x->state;

	for (struct rows *rows = NULL; (rows = ptrc_table_next(&p->rows, rows));) {
		for (size_t i = 0; i < rows->count; i++)
			free(rows->heap[i]);
		free(rows->heap);
	}
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
