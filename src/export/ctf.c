/* SPDX-License-Identifier: MIT */
/*
 * The Common Trace Format: a directory with a file of metadata and a stream of events for each log. Versions 1.8
 * and 2 differ only in the metadata.
 *
 * A stream is a series of packets. A packet has the full time of its first event, but only the lower 32 bits of the
 * time of each event. So a packet ends where two events are 2^32 ns or more apart. A packet also ends where events
 * were lost. The loss is then a packet without events, which raises the number of discarded events, so that readers
 * report the loss at the right place.
 *
 * An event type has up to eight classes of events. A class is made when it is first needed. There are classes for
 * data that fits the layout, for text, for bytes and for no data, and a second one of each for data that was cut.
 */
#include "config.h"
#include "src/export/format.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "src/base/message.h"
#include "src/export/ctf_files.h"
#include "src/export/ctf_metadata.h"
#include "src/base/table.h"
#include "src/session/logfile.h"
#include "src/text/event_format.h"

/* When an event comes and the open packet has at least this many bytes, the packet is closed and written. */
enum { PACKET_BYTES = 1 << 18 };

struct type {
	const struct ptrc_layout *layout;
	/* Element 2 * kind + is_cut is 1 + the number of the class, or 0 if the class does not exist yet. */
	uint32_t classes[2 * PTRC_CTF_KINDS];
	/* The layout has no bit fields, so data of fixed size can be copied without decoding it. `parts` says which
	 * bytes are copied: all but the padding. */
	bool has_parts;
	size_t part_count;
	struct part {
		size_t at;
		size_t size;
	} parts[];
};

/* An event class of CTF. Events with the same name, kind and layout are of the same class, even if they are
 * from different logs. */
struct class
{
	struct ptrc_table_entry entry;
	uint32_t number;
};

struct stream {
	/* The bytes of the open packet, if is_open. */
	struct ptrc_buffer packet;
	bool is_open;
	struct ptrc_ctf_packet head;
	/* The time of the last event or, after a packet was closed, the end of that packet. */
	uint64_t last_ns;
	/* The number of bytes written so far. */
	uint64_t bytes;
	/* The number of losses for which the log does not say how many events were lost. */
	uint64_t uncounted;
	/* The offset in the stream, in bytes, of the packet of the first uncounted loss. */
	uint64_t uncounted_at;
};

struct ctf {
	struct ptrc_ctf_files files;
	const struct ptrc_ctf_version *version;
	unsigned char uuid[PTRC_CTF_UUID_BYTES];
	struct stream *streams;
	/* For each log, the index in it (posixtrace_log_get_process()) of the process that recorded its first user
	 * event; ULONG_MAX if it is unknown. */
	unsigned long *processes;
	struct ptrc_table classes;
	/* The descriptions of the classes, in the language of the metadata. */
	struct ptrc_buffer text;
};

/* ---- packets ---- */

/* Puts a text and a null byte. For NULL, puts only the null byte. */
static void put_text(struct ptrc_buffer *b, const char *text)
{
	if (text)
		ptrc_buffer_text(b, text);
	ptrc_buffer_char(b, '\0');
}

static void open_packet(struct ptrc_export *x, const struct ptrc_source *source, uint64_t ns)
{
	struct ctf *c = x->state;
	struct stream *s = &c->streams[source->order];
	struct ptrc_value host;

	s->is_open = true;
	s->head.timestamp_begin = s->last_ns = ns;
	s->packet.used = 0;
	ptrc_buffer_room(&s->packet, sizeof(s->head));
	s->packet.used = sizeof(s->head);
	if (x->query->source_count > 1)
		put_text(&s->packet, source->reader.path);
	if (!x->query->has_host)
		return;
	host = ptrc_view_value(&x->query->sources[source->order].view,
			       &(struct ptrc_field){.id = PTRC_FIELD_HOST});
	if (host.kind == PTRC_VALUE_TEXT)
		ptrc_buffer_bytes(&s->packet, host.bytes, host.size);
	ptrc_buffer_char(&s->packet, '\0');
}

static void close_packet(struct ctf *c, size_t order, uint64_t ns)
{
	struct stream *s = &c->streams[order];

	s->head.timestamp_end = s->last_ns = ns;
	s->head.content_size = s->head.packet_size = 8 * (uint64_t)s->packet.used;
	memcpy(s->packet.bytes, &s->head, sizeof(s->head));
	ptrc_ctf_files_write(&c->files, order, s->packet.bytes, s->packet.used);
	s->bytes += s->packet.used;
	s->head.packet_seq_num++;
	s->is_open = false;
}

/* Adds `count` to the number of discarded events in the packet at offset `at` and in all later packets. */
static void add_discarded(struct ctf *c, size_t order, uint64_t at, uint64_t count)
{
	struct ptrc_ctf_packet head;

	for (; at < c->streams[order].bytes; at += head.packet_size / 8) {
		ptrc_ctf_files_read_at(&c->files, order, at, &head, sizeof(head));
		head.events_discarded += count;
		ptrc_ctf_files_write_at(&c->files, order, at, &head, sizeof(head));
	}
}

/* ---- event types ---- */

/* Finds the parts of the data that can be copied without decoding. */
static void plan(struct type *t)
{
	const struct ptrc_layout_field *f;

	t->has_parts = true;
	for (size_t i = 0; (f = ptrc_layout_field(t->layout, i)); i++) {
		struct part *last = t->part_count ? &t->parts[t->part_count - 1] : NULL;

		/* Bit fields have to be decoded. For any other field of fixed size, even a text, put_value() would put
		 * the same bytes as the field has in the data, so these can be copied. */
		t->has_parts &= !f->bits;
		if (f->kind == PTRC_LAYOUT_PADDING)
			continue;
		if (last && last->at + last->size == f->at) {
			last->size += f->size;
			continue;
		}
		t->parts[t->part_count++] = (struct part){f->at, f->size};
	}
}

static struct type *type_of(const struct ptrc_export_event *e)
{
	const struct ptrc_layout *layout = e->view->layout;
	struct type *t = e->type->of_format;
	size_t fields = 0;

	/* The layout of an event type may become known later, if the events come from a session. */
	if (__builtin_expect(t && t->layout == layout, 1))
		return t;
	free(t);
	while (layout && ptrc_layout_field(layout, fields))
		fields++;
	t = e->type->of_format = ptrc_cli_allocate(sizeof(*t) + fields * sizeof(*t->parts));
	t->layout = layout;
	if (layout)
		plan(t);
	return t;
}

static bool is_of_fixed_size(const struct type *t, size_t size)
{
	return t->has_parts && ptrc_layout_has_places(t->layout, size);
}

static bool has_fields(const struct type *t, struct ptrc_view *view)
{
	const struct ptrc_decoded *d = ptrc_view_decode(view);
	const struct ptrc_value *whole = ptrc_layout_whole(t->layout, d);

	return d->error == PTRC_LAYOUT_FITS && (!whole || whole->kind != PTRC_VALUE_NONE);
}

static enum ptrc_ctf_kind kind_of(const struct type *t, struct ptrc_view *view)
{
	const struct ptrc_reader *r = view->reader;
	size_t size = r->size;

	if (t->layout && (is_of_fixed_size(t, size) || has_fields(t, view)))
		return PTRC_CTF_FIELDS;
	if (!size)
		return PTRC_CTF_EMPTY;
	if (!t->layout && (r->event.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT ||
			   ptrc_text_is_clean(r->data, &size)))
		return PTRC_CTF_TEXT;
	return PTRC_CTF_BYTES;
}

static void add_class(struct ctf *c, size_t order, struct type *t, uint32_t *number,
		      struct ptrc_view *view, enum ptrc_ctf_kind kind, bool is_cut)
{
	const struct posix_trace_event_info *info = &view->reader->event;
	const struct ptrc_reader_name *name = ptrc_reader_name(view->reader, info->posix_event_id);
	const struct ptrc_layout *layout = kind == PTRC_CTF_FIELDS ? t->layout : NULL;
	PTRC_SCOPED_BUFFER key = PTRC_BUFFER_INIT;
	struct class *class;

	if (c->processes[order] == ULONG_MAX &&
	    info->posix_event_id >= POSIX_TRACE_UNNAMED_USEREVENT &&
	    posixtrace_log_find_process(view->reader->trace, info->posix_pid,
					ptrc_reader_log_time(view->reader), &c->processes[order]))
		c->processes[order] = ULONG_MAX;
	ptrc_buffer_bytes(&key, &layout, sizeof(layout));
	ptrc_buffer_char(&key, (char)kind);
	ptrc_buffer_char(&key, (char)is_cut);
	ptrc_buffer_bytes(&key, name->text, name->size);
	class = ptrc_table_find(&c->classes, key.bytes, key.used, sizeof(*class));
	if (!class->number) {
		class->number = (uint32_t)c->classes.count;
		ptrc_ctf_put_class(c->version, &c->text, class->number - 1, kind, is_cut, layout,
				   name);
	}
	*number = class->number;
}

/* ---- events ---- */

/* Puts the value of a field. Numbers are copied from the data. A bit field is put as a number with
 * the size of its type. */
static void put_value(struct ptrc_buffer *b, const struct ptrc_layout_field *f,
		      const struct ptrc_value *v)
{
	uint32_t count = (uint32_t)v->size;
	float single;

	if (v->kind == PTRC_VALUE_NONE)
		return;
	switch (f->kind) {
	case PTRC_LAYOUT_STRING:
	case PTRC_LAYOUT_JSON:
		ptrc_buffer_bytes(b, v->bytes, v->size);
		ptrc_buffer_char(b, '\0');
		return;
	case PTRC_LAYOUT_BYTES:
		if (!f->size)
			ptrc_buffer_bytes(b, &count, sizeof(count));
		ptrc_buffer_bytes(b, v->bytes, v->size);
		return;
	case PTRC_LAYOUT_CHARS:
		ptrc_buffer_bytes(b, v->bytes, f->size);
		return;
	default:
		break;
	}
	if (v->kind == PTRC_VALUE_ARRAY) {
		count = (uint32_t)ptrc_value_count(v);
		if (f->count == PTRC_LAYOUT_COUNT_OPEN)
			ptrc_buffer_bytes(b, &count, sizeof(count));
		ptrc_buffer_bytes(b, v->bytes, v->size);
	} else if (v->raw && !f->bits) {
		ptrc_buffer_bytes(b, v->raw, f->item_size);
	} else if (v->kind == PTRC_VALUE_FLOAT) {
		single = (float)v->f;
		ptrc_buffer_bytes(b, &single, sizeof(single));
	} else {
		ptrc_buffer_bytes(b, &v->u, f->item_size);
	}
}

static void put_fields(struct ptrc_buffer *b, const struct type *t, struct ptrc_view *view)
{
	const unsigned char *data = view->reader->data;
	const struct ptrc_layout_field *f;
	const struct ptrc_decoded *d;

	if (is_of_fixed_size(t, view->reader->size)) {
		for (size_t i = 0; i < t->part_count; i++)
			ptrc_buffer_bytes(b, data + t->parts[i].at, t->parts[i].size);
		return;
	}
	d = ptrc_view_decode(view);
	for (size_t i = 0; (f = ptrc_layout_field(t->layout, i)); i++)
		put_value(b, f, &d->values[i]);
}

static void put_data(struct ptrc_buffer *b, const struct type *t, struct ptrc_view *view,
		     enum ptrc_ctf_kind kind)
{
	const struct ptrc_reader *r = view->reader;
	size_t size = r->size;
	uint32_t length = (uint32_t)size;

	switch (kind) {
	case PTRC_CTF_FIELDS:
		put_fields(b, t, view);
		break;
	case PTRC_CTF_TEXT:
		if (r->event.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT) {
			ptrc_event_put_data(b, view);
		} else {
			ptrc_text_is_clean(r->data, &size);
			ptrc_buffer_bytes(b, r->data, size);
		}
		ptrc_buffer_char(b, '\0');
		break;
	case PTRC_CTF_BYTES:
		ptrc_buffer_bytes(b, &length, sizeof(length));
		ptrc_buffer_bytes(b, r->data, r->size);
		break;
	default:
		break;
	}
}

static void put_symbol(struct ptrc_buffer *b, struct ptrc_view *view)
{
	const struct ptrc_symbol *s = ptrc_view_symbol(view);
	uint32_t line = s->line > 0 ? (uint32_t)s->line : 0;

	put_text(b, s->function);
	put_text(b, s->file);
	ptrc_buffer_bytes(b, &line, sizeof(line));
}

/* Returns the name of the thread as a string of CTF, which ends with the first null byte. */
static const struct ptrc_buffer *thread_name(struct ptrc_export_lane *lane)
{
	if (__builtin_expect(!lane->is_written, 0)) {
		ptrc_buffer_bytes(&lane->text, lane->name.bytes, lane->name.used);
		ptrc_buffer_char(&lane->text, '\0');
		lane->text.used = strlen(lane->text.bytes) + 1;
		lane->is_written = true;
	}
	return &lane->text;
}

static void event(struct ptrc_export *x, const struct ptrc_export_event *e)
{
	struct ctf *c = x->state;
	const struct ptrc_source *source = x->source;
	struct stream *s = &c->streams[source->order];
	const struct posix_trace_event_info *info = &e->view->reader->event;
	const struct ptrc_buffer *name = thread_name(e->lane);
	struct type *t = type_of(e);
	enum ptrc_ctf_kind kind = kind_of(t, e->view);
	bool is_cut = ptrc_view_is_cut(e->view);
	uint32_t *class = &t->classes[2 * kind + is_cut];
	/* Times may go back in a damaged log, but must not do so in a stream of CTF. */
	uint64_t ns = e->ns > s->last_ns ? e->ns : s->last_ns;
	struct ptrc_buffer *b = &s->packet;
	struct ptrc_ctf_event head = {
		.timestamp = (uint32_t)ns,
		.address = (uintptr_t)info->posix_prog_address,
		.pid = info->posix_pid,
		.tid = info->posix_tid,
	};

	if (__builtin_expect(!*class, 0))
		add_class(c, source->order, t, class, e->view, kind, is_cut);
	head.id = *class - 1;
	if (s->is_open && (b->used >= PACKET_BYTES || ns - s->last_ns > UINT32_MAX))
		close_packet(c, source->order, s->last_ns);
	if (!s->is_open)
		open_packet(x, source, ns);
	s->last_ns = ns;
	ptrc_buffer_bytes(b, &head, sizeof(head));
	ptrc_buffer_bytes(b, name->bytes, name->used);
	if (x->query->symbols)
		put_symbol(b, e->view);
	if (is_cut)
		ptrc_buffer_char(
			b, info->posix_truncation_status == POSIX_TRACE_TRUNCATED_RECORD ? 1 : 2);
	put_data(b, t, e->view, kind);
}

/* ---- losses ---- */

/* Puts a packet without events for a loss. The packet before it ends at the start of the loss, because
 * readers show a loss between the ends of these two packets. */
static void loss(struct ptrc_export *x, const struct ptrc_export_loss *l)
{
	struct ctf *c = x->state;
	size_t order = l->source->order;
	struct stream *s = &c->streams[order];
	uint64_t begin = l->begin_ns > s->last_ns ? l->begin_ns : s->last_ns;
	uint64_t end = l->end_ns > begin ? l->end_ns : begin;
	bool is_counted = l->is_counted && l->events;

	if (!s->is_open)
		open_packet(x, l->source, begin);
	close_packet(c, order, begin);
	if (!is_counted && !s->uncounted++)
		s->uncounted_at = s->bytes;
	/* If it is unknown how many events this loss cost, counts one. If the sum of all losses is known at the
	 * end, put_rest() adds the rest. */
	s->head.events_discarded += is_counted ? l->events : 1;
	open_packet(x, l->source, begin);
	close_packet(c, order, end);
}

/* Whether no option has selected a time (--since, --until, --around) or a number of events (--first, --last). If so,
 * the export covers all of the logs, and loss() has got each of their losses. */
static bool is_whole(const struct ptrc_query *q)
{
	const struct ptrc_period *span = &q->select.span;

	return span->first == INT64_MIN && span->last == INT64_MAX && !q->select.around &&
	       q->first_count == UINT64_MAX && q->last_count == UINT64_MAX;
}

/* Adds the lost events that no packet has counted yet. If the log lacks the number of lost events for exactly one
 * loss, adds them to that loss, otherwise in a packet at the end. */
static void put_rest(struct ptrc_export *x, const struct ptrc_source *source)
{
	struct ctf *c = x->state;
	struct stream *s = &c->streams[source->order];
	uint64_t lost = ptrc_losses_events(&source->losses);
	uint64_t rest;

	if (!is_whole(x->query) || lost <= s->head.events_discarded)
		return;
	rest = lost - s->head.events_discarded;
	if (s->uncounted == 1) {
		add_discarded(c, source->order, s->uncounted_at, rest);
		return;
	}
	s->head.events_discarded += rest;
	open_packet(x, source, s->last_ns);
	close_packet(c, source->order, s->last_ns);
}

/* ---- begin and end ---- */

static bool open_trace(struct ptrc_export *x)
{
	struct ctf *c = x->state;
	size_t count = x->query->source_count;

	c->files.dir = -1;
	c->version = x->options.ctf_version;
	c->streams = ptrc_cli_allocate(count * sizeof(*c->streams));
	c->processes = ptrc_cli_allocate(count * sizeof(*c->processes));
	for (size_t i = 0; i < count; i++)
		c->processes[i] = ULONG_MAX;
	/* Readers treat traces with the same UUID as one trace, so each export gets a random
	 * UUID. */
	if (getrandom(c->uuid, sizeof(c->uuid), 0) != (ssize_t)sizeof(c->uuid))
		return ptrc_cli_error("random numbers", errno);
	/* These bits mark a random UUID (RFC 4122). */
	c->uuid[6] = (c->uuid[6] & 0x0f) | 0x40;
	c->uuid[8] = (c->uuid[8] & 0x3f) | 0x80;
	for (size_t i = 0; i < count; i++) {
		struct ptrc_ctf_packet *head = &c->streams[i].head;

		*head = (struct ptrc_ctf_packet){.magic = PTRC_CTF_MAGIC};
		memcpy(head->uuid, c->uuid, sizeof(head->uuid));
		head->stream_instance_id = (uint32_t)i;
	}
	return ptrc_log_target_is_free(x->query, x->options.path, NULL) &&
	       ptrc_ctf_files_open(&c->files, x->options.path, x->options.is_forced, count,
				   c->version->signature);
}

static bool end(struct ptrc_export *x)
{
	struct ctf *c = x->state;
	const struct ptrc_query *q = x->query;
	PTRC_SCOPED_BUFFER metadata = PTRC_BUFFER_INIT;

	for (size_t i = 0; i < q->source_count; i++) {
		struct stream *s = &c->streams[i];

		/* A stream needs at least one packet, even if it has no events. */
		if (!s->is_open && !s->bytes)
			open_packet(x, &q->sources[i], 0);
		if (s->is_open)
			close_packet(c, i, s->last_ns);
		put_rest(x, &q->sources[i]);
	}
	c->version->put_head(&metadata, x, c->uuid, c->processes);
	ptrc_buffer_bytes(&metadata, c->text.bytes, c->text.used);
	ptrc_ctf_files_finish(&c->files, &metadata);
	return true;
}

static void free_ctf(struct ptrc_export *x)
{
	struct ctf *c = x->state;

	ptrc_ctf_files_free(&c->files);
	for (size_t i = 0; i < x->query->source_count; i++)
		ptrc_buffer_free(&c->streams[i].packet);
	free(c->streams);
	free(c->processes);
	ptrc_table_free(&c->classes);
	ptrc_buffer_free(&c->text);
}

const struct ptrc_export_format ptrc_export_ctf = {
	.name = "ctf",
	.state_size = sizeof(struct ctf),
	.open = open_trace,
	.has_only_events = true,
	.event = event,
	.loss = loss,
	.end = end,
	.free = free_ctf,
};
