/* SPDX-License-Identifier: MIT */
#include "lib/log/log_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/crc32c.h"
#include "lib/model/eventset.h"
#include "lib/base/file.h"
#include "lib/model/names.h"
#include "lib/model/packed.h"
#include "lib/model/sequencer.h"
#include "lib/base/sys.h"

/* The file is searched for headers through a window of this size. Where the packets are large only
 * so many bytes are read at the place of the next one, as its payload need not be. */
#define WINDOW_BYTES 65536U
#define GLANCE_BYTES 512U
#define GLANCE_MAX 16384U
/* How many bytes of a file are searched, in all, for the next packet behind damage. The
 * payloads of packets that turn out to be none count too. So no file, however large or sparse,
 * keeps an open busy for long. */
#define SEARCH_MAX (UINT64_C(256) << 20)
/* A larger NAMES packet is damaged: a keeper puts about 4 KiB of names into one. */
#define NAMES_MAX (UINT64_C(1) << 20)
/* Larger TOTALS are damaged. If all INDEX packets together are larger, the index is not used: a packet
 * of a sparse file may be of any size, and takes as long to read. So large an index has 3.7 million
 * packets, of nearly a terabyte. */
#define TOTALS_MAX                                            \
	(sizeof(struct ptrc_log_totals_head) +                \
	 sizeof(struct ptrc_log_total) * PTRC_TYPE_SUMS_MAX + \
	 sizeof(uint64_t) * PTRC_SET_WORD_COUNT)
#define INDEX_MAX (UINT64_C(256) << 20)
/* What comes before the first section of a payload that has a single event, with the headers of that
 * section and event, fits in so many bytes. */
#define PAYLOAD_HEADS_MAX 2048U

/* No event takes fewer bytes: the code of a shape, and the time since the event before. */
#define EVENT_BYTES_MIN 2U

struct window {
	const struct ptrc_log_reader *r;
	uint64_t from;
	uint64_t bytes;
	uint64_t searched;
	bool is_searching; /* the last place had no packet */
	uint8_t data[WINDOW_BYTES];
};

/* Reads exactly so many bytes. EINVAL: the file does not have them. */
static int read_at(const struct ptrc_log_reader *r, uint64_t offset, void *to, uint64_t bytes)
{
	size_t got = 0;

	if (r->is_parts) {
		const struct ptrc_log_parts *p = &r->parts;

		if (offset < p->from || offset - p->from > p->used ||
		    p->used - (offset - p->from) < bytes)
			return EINVAL;
		memcpy(to, p->bytes + (offset - p->from), bytes);
		return 0;
	}
	return ptrc_file_read(r->fd, to, bytes, offset, &got) || got != bytes ? EINVAL : 0;
}

/* Compares the checksum of a payload, which is read piece by piece. EINVAL: it is not there, or
 * damaged. */
static int compare(const struct ptrc_log_reader *r, uint64_t offset, uint64_t length, uint32_t crc)
{
	uint8_t piece[4096];
	uint32_t sum = 0;

	while (length) {
		size_t bytes = length < sizeof(piece) ? length : sizeof(piece);

		if (read_at(r, offset, piece, bytes))
			return EINVAL;
		sum = ptrc_crc32c(sum, piece, bytes);
		offset += bytes;
		length -= bytes;
	}
	return sum == crc ? 0 : EINVAL;
}

/* Reads a payload, which the caller frees. EINVAL: it is not there, or damaged. ENOMEM. A long
 * one is compared before there is memory for it: in a sparse file a length costs nothing. */
static int load(const struct ptrc_log_reader *r, uint64_t offset, uint64_t length, uint32_t crc,
		uint8_t **payload)
{
	uint8_t *bytes;

	if (length > PTRC_LOG_PAYLOAD_MAX && compare(r, offset, length, crc))
		return EINVAL;
	bytes = malloc(length + 1);
	if (!bytes)
		return ENOMEM;
	if (read_at(r, offset, bytes, length) || ptrc_crc32c(0, bytes, length) != crc) {
		free(bytes);
		return EINVAL;
	}
	*payload = bytes;
	return 0;
}

/* The array, of *size items of `bytes` bytes, with room for one more than `count`; null: there
 * is no memory for it. */
static void *make_room(void *array, size_t count, size_t *size, size_t bytes)
{
	size_t more = count ? 2 * count : 16;

	if (count < *size)
		return array;
	array = realloc(array, more * bytes);
	if (array)
		*size = more;
	return array;
}

/* Shows so many bytes of the file, moving the window if necessary. Null: it does not have
 * them. */
static const uint8_t *look(struct window *w, uint64_t offset, uint64_t bytes)
{
	bool is_near;

	if (offset >= w->from && offset - w->from <= w->bytes &&
	    w->bytes - (offset - w->from) >= bytes)
		return w->data + (offset - w->from);
	if (offset > w->r->size || w->r->size - offset < bytes)
		return NULL;
	is_near = offset >= w->from && offset - w->from < GLANCE_MAX;
	w->from = offset;
	w->bytes = w->is_searching || is_near ? WINDOW_BYTES : GLANCE_BYTES;
	if (w->bytes > w->r->size - offset)
		w->bytes = w->r->size - offset;
	if (read_at(w->r, offset, w->data, w->bytes)) {
		w->bytes = 0;
		return NULL;
	}
	return w->data;
}

static bool is_header(const struct ptrc_log_reader *r, const struct ptrc_log_packet *p)
{
	return p->magic == PTRC_LOG_PACKET_MAGIC &&
	       p->header_crc == ptrc_crc32c(0, p, offsetof(struct ptrc_log_packet, header_crc)) &&
	       (r->log_id == 0 || p->log_id == r->log_id);
}

static bool is_packet(const struct ptrc_log_reader *r, const struct ptrc_log_packet *p,
		      uint64_t offset)
{
	uint64_t room = r->size - offset;

	return is_header(r, p) && room >= sizeof(*p) && p->length <= room - sizeof(*p);
}

/* Finds the packet at *offset, or the next one behind it that begins before `end`. */
static bool next_packet(struct window *w, uint64_t *offset, uint64_t end, struct ptrc_log_packet *p)
{
	static const uint8_t first = PTRC_LOG_PACKET_MAGIC & 0xff;

	for (;;) {
		const uint8_t *at, *magic;
		uint64_t count;

		if (*offset >= end)
			return false;
		at = look(w, *offset, sizeof(*p));
		if (!at)
			return false;
		memcpy(p, at, sizeof(*p));
		w->is_searching = !is_packet(w->r, p, *offset);
		if (!w->is_searching)
			return true;
		count = w->bytes - (*offset - w->from) - 1;
		magic = count ? memchr(at + 1, first, count) : NULL;
		count = magic ? (uint64_t)(magic - at) : count + 1;
		w->searched += count;
		if (w->searched > SEARCH_MAX)
			return false;
		*offset += count;
	}
}

static uint64_t packet_size(const struct ptrc_log_packet *p)
{
	return sizeof(*p) + ptrc_align8(p->length);
}

/* ---- head ---- */

/* Reads the prefix and the HEAD packet that begin at `offset`. EINVAL: they are not there. ENOMEM. */
static int read_head_at(struct ptrc_log_reader *r, uint64_t offset)
{
	struct ptrc_log_prefix prefix, zero = {.zero0 = 0};
	struct ptrc_log_packet p;
	uint8_t *payload;
	int error;

	if (r->size < offset + PTRC_LOG_HEAD_BYTES || read_at(r, offset, &prefix, sizeof(prefix)) ||
	    read_at(r, offset + sizeof(prefix), &p, sizeof(p)))
		return EINVAL;
	if (memcmp(prefix.signature, PTRC_LOG_SIGNATURE, sizeof(prefix.signature)) != 0 ||
	    prefix.byte_order != PTRC_LOG_BYTE_ORDER || prefix.version != PTRC_LOG_VERSION ||
	    prefix.word_size != PTRC_LOG_WORD_SIZE || prefix.machine != PTRC_LOG_MACHINE ||
	    prefix.zero0 != 0 || memcmp(prefix.zero1, zero.zero1, sizeof(zero.zero1)) != 0)
		return EINVAL;
	if (!is_packet(r, &p, offset + sizeof(prefix)) || p.type != PTRC_LOG_HEAD ||
	    p.length != sizeof(r->head) || p.log_id == 0)
		return EINVAL;
	error = load(r, offset + sizeof(prefix) + sizeof(p), p.length, p.payload_crc, &payload);
	if (error)
		return error;
	memcpy(&r->head, payload, sizeof(r->head));
	free(payload);
	r->log_id = p.log_id;
	return 0;
}

/* Has the log the same bytes in both places where its head stands? */
static bool has_equal_heads(const struct ptrc_log_reader *r)
{
	uint8_t one[PTRC_LOG_HEAD_BYTES], other[PTRC_LOG_HEAD_BYTES];

	return !read_at(r, 0, one, sizeof(one)) &&
	       !read_at(r, PTRC_LOG_HEAD_BYTES, other, sizeof(other)) &&
	       memcmp(one, other, sizeof(one)) == 0;
}

static int read_head(struct ptrc_log_reader *r)
{
	struct ptrc_log_head *h = &r->head;
	int error = EINVAL;

	for (uint64_t i = 0; i < PTRC_LOG_HEAD_COPIES && error == EINVAL; i++)
		error = read_head_at(r, i * PTRC_LOG_HEAD_BYTES);
	if (error)
		return error;
	r->is_head_damaged = !has_equal_heads(r);
	if (h->kind > PTRC_LOG_RING)
		return EINVAL;
	if (h->kind == PTRC_LOG_RING &&
	    (h->close_offset > INT64_MAX || h->ring_offset > INT64_MAX ||
	     h->ring_size > INT64_MAX - h->ring_offset))
		return EINVAL;
	r->attr.magic = PTRC_ATTR_MAGIC;
	memcpy(r->attr.name, h->name, sizeof(r->attr.name));
	memcpy(r->attr.genversion, h->genversion, sizeof(r->attr.genversion));
	r->attr.createtime_sec = h->create_sec;
	r->attr.createtime_nsec = h->create_nsec;
	r->attr.clockres_sec = h->clockres_sec;
	r->attr.clockres_nsec = h->clockres_nsec;
	r->attr.inherited = (int32_t)h->inherited;
	r->attr.log_full_policy = (int32_t)h->log_policy;
	r->attr.stream_full_policy = (int32_t)h->stream_policy;
	r->attr.is_stream_size_set = 1;
	r->attr.max_data_size = h->max_data_size;
	r->attr.full_wait_ns = h->full_wait_ns;
	r->attr.log_rotate_bytes = h->rotate_bytes;
	r->attr.log_rotate_ns = h->rotate_ns;
	r->attr.log_keep = h->keep;
	r->attr.stream_min_size = h->stream_min_size;
	r->attr.log_max_size = h->log_max_size;
	return ptrc_attr_validate(&r->attr);
}

/* ---- names ---- */

/* Gives a name the layout that the log has for it. The first one that can be one counts. */
static int add_layout(struct ptrc_log_reader_name *n, const void *bytes, uint32_t count)
{
	if (n->layout || !count || count >= PTRC_NAMES_LAYOUT_BYTES || memchr(bytes, '\0', count))
		return 0;
	n->layout = malloc(count + 1);
	if (!n->layout)
		return ENOMEM;
	memcpy(n->layout, bytes, count);
	n->layout[count] = '\0';
	return 0;
}

/* Adds a name, if it is not there: a ring tells all names twice, and a layout that a name got later
 * comes with the name. */
static int add_name(struct ptrc_log_reader *r, uint32_t id, const void *bytes, uint32_t count,
		    const void *layout, uint32_t layout_count)
{
	struct ptrc_log_reader_name *n;

	if (id < PTRC_ID_FIRST || id > PTRC_SET_ID_MAX || count > sizeof(n->name) - 1)
		return 0;
	if (r->name_index[id])
		return add_layout(&r->names[r->name_index[id] - 1], layout, layout_count);
	n = make_room(r->names, r->name_count, &r->name_size, sizeof(*n));
	if (!n)
		return ENOMEM;
	r->names = n;
	n = &r->names[r->name_count++];
	n->id = id;
	n->layout = NULL;
	memcpy(n->name, bytes, count);
	n->name[count] = '\0';
	r->name_index[id] = (uint16_t)r->name_count;
	return add_layout(n, layout, layout_count);
}

static void free_names(struct ptrc_log_reader *r)
{
	for (size_t i = 0; i < r->name_count; i++)
		free(r->names[i].layout);
	free(r->names);
	r->names = NULL;
	r->name_count = r->name_size = 0;
}

static int by_id(const void *x, const void *y)
{
	const struct ptrc_log_reader_name *a = x, *b = y;

	return a->id < b->id ? -1 : a->id > b->id;
}

/* Puts the names into the order of their registration, which is that of their identifiers. The
 * packets of a ring may stand in another order. */
static void sort_names(struct ptrc_log_reader *r)
{
	if (r->name_count)
		qsort(r->names, r->name_count, sizeof(*r->names), by_id);
	for (size_t i = 0; i < r->name_count; i++)
		r->name_index[r->names[i].id] = (uint16_t)(i + 1);
}

static int read_names(struct ptrc_log_reader *r, const struct ptrc_log_packet *p, uint64_t offset)
{
	uint64_t at = 0;
	uint8_t *payload;
	int error;

	error = p->length > NAMES_MAX
			? EINVAL
			: load(r, offset + sizeof(*p), p->length, p->payload_crc, &payload);
	if (error == ENOMEM)
		return error;
	if (error) {
		/* Its names are missing, unless this was never wholly written. */
		r->is_names_torn = true;
		return 0;
	}
	while (!error && p->length - at >= sizeof(struct ptrc_log_name)) {
		struct ptrc_log_name n;
		uint64_t bytes;

		memcpy(&n, payload + at, sizeof(n));
		at += sizeof(n);
		bytes = ptrc_align8((uint64_t)n.name_bytes + n.layout_bytes);
		if (p->length - at < bytes)
			break;
		error = add_name(r, n.id, payload + at, n.name_bytes, payload + at + n.name_bytes,
				 n.layout_bytes);
		at += bytes;
	}
	free(payload);
	return error;
}

/* ---- whose log it is ---- */

/* What is damaged is left out: it is not worth as much as the events. */
static int read_whose(struct ptrc_log_reader *r, const struct ptrc_log_packet *p, uint64_t offset)
{
	uint8_t *payload;
	int error = p->length > NAMES_MAX
			    ? EINVAL
			    : load(r, offset + sizeof(*p), p->length, p->payload_crc, &payload);

	if (error == ENOMEM)
		return error;
	if (error) {
		r->damaged_parts++;
		return 0;
	}
	if (p->type == PTRC_LOG_PROCESS)
		return ptrc_log_whose_take_process(&r->whose, payload, p->length);
	if (p->type == PTRC_LOG_THREADS)
		return ptrc_log_whose_take_threads(&r->whose, payload, p->length);
	if (p->type == PTRC_LOG_CLOCK)
		return ptrc_log_whose_take_clock(&r->whose, payload, p->length);
	ptrc_log_whose_take_host(&r->whose, payload, p->length);
	return 0;
}

/* ---- index ---- */

static int add_entry(struct ptrc_log_reader *r, const struct ptrc_log_packet *p, uint64_t offset)
{
	struct ptrc_log_entry *e;

	e = make_room(r->entries, r->entry_count, &r->entry_size, sizeof(*e));
	if (!e)
		return ENOMEM;
	r->entries = e;
	e = &r->entries[r->entry_count++];
	*e = (struct ptrc_log_entry){.offset = offset,
				     .length = p->length,
				     .seq = p->seq,
				     .first_ns = p->first_ns,
				     .last_ns = p->last_ns,
				     .event_count = p->event_count,
				     .counted = p->counted,
				     .payload_crc = p->payload_crc,
				     .sums_bytes = p->sums_bytes,
				     .sums_crc = p->sums_crc,
				     .flags = p->flags,
				     .is_lying = p->event_count > p->length / EVENT_BYTES_MIN};
	return 0;
}

static bool read_status(struct ptrc_log_reader *r, const struct ptrc_log_packet *p, uint64_t offset)
{
	struct ptrc_log_status s;
	uint8_t rest[256];

	if (p->length < sizeof(s) || p->length > sizeof(rest) ||
	    read_at(r, offset + sizeof(*p), rest, p->length) ||
	    ptrc_crc32c(0, rest, p->length) != p->payload_crc)
		return false;
	memcpy(&s, rest, sizeof(s));
	if ((s.stream_status != POSIX_TRACE_RUNNING && s.stream_status != POSIX_TRACE_SUSPENDED) ||
	    s.stream_full > 1 || s.stream_overrun > 1 || s.flush_status > 1 || s.log_overrun > 1 ||
	    s.log_full > 1 || s.flush_error > INT32_MAX)
		return false;
	r->status = s;
	return true;
}

/* Takes what a packet holds. has_events: EVENTS packets stand here. */
static int take_packet(struct ptrc_log_reader *r, const struct ptrc_log_packet *p, uint64_t offset,
		       bool has_events, bool *has_status)
{
	r->missing_names += r->is_names_torn;
	r->is_names_torn = false;
	switch (p->type) {
	case PTRC_LOG_NAMES:
		return read_names(r, p, offset);
	case PTRC_LOG_EVENTS:
		return has_events ? add_entry(r, p, offset) : 0;
	case PTRC_LOG_STATUS:
		*has_status = read_status(r, p, offset);
		return 0;
	case PTRC_LOG_HOST:
	case PTRC_LOG_PROCESS:
	case PTRC_LOG_CLOCK:
	case PTRC_LOG_THREADS:
		return read_whose(r, p, offset);
	default: /* a kind of a later version */
		return 0;
	}
}

/* Is the payload, which is longer than any other may be, that of a single event? Its headers
 * tell. So nobody has to read as many bytes as a damaged or forged length says. */
static bool is_single_event(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e)
{
	uint64_t at = (uint64_t)e->sums_bytes + ptrc_log_filter_bytes(e->flags);
	struct ptrc_unpacker_shape shape;
	uint8_t heads[PAYLOAD_HEADS_MAX];
	struct ptrc_log_section section;
	struct ptrc_unpacker u;
	uint64_t len;

	if (e->flags & PTRC_LOG_HAS_RING)
		at += sizeof(struct ptrc_log_ring);
	if (at > sizeof(heads) - sizeof(section) - PTRC_PACKED_HEAD_MAX ||
	    read_at(r, e->offset + sizeof(struct ptrc_log_packet), heads, sizeof(heads)))
		return false;
	memcpy(&section, heads + at, sizeof(section));
	at += sizeof(section);
	u = ptrc_unpacker_begin(heads + at, PTRC_PACKED_HEAD_MAX, section.base_ns, &shape);
	return section.bytes == e->length - at && ptrc_unpacker_length(&u, &len) &&
	       len <= section.bytes && section.bytes - len <= PTRC_PACKED_HEAD_MAX;
}

/* Can the packet be whole, as far as its headers tell? */
static bool can_be_whole(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e)
{
	return e->sums_bytes <= e->length && e->sums_bytes % sizeof(struct ptrc_type_sum) == 0 &&
	       (e->length <= PTRC_LOG_PAYLOAD_MAX || is_single_event(r, e));
}

/* EINVAL: the payload is damaged. */
static int check_payload(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e)
{
	if (!can_be_whole(r, e))
		return EINVAL;
	return compare(r, e->offset + sizeof(struct ptrc_log_packet), e->length, e->payload_crc);
}

/* Notes a packet that was taken. */
static void note_taken(struct ptrc_log_tail *t, const struct ptrc_log_packet *p, uint64_t offset)
{
	t->is_broken |= offset != t->behind || p->seq != t->seq;
	t->crc = ptrc_crc32c(t->crc, p, offsetof(struct ptrc_log_packet, header_crc));
	t->behind = offset + packet_size(p);
	t->seq = p->seq + (p->type == PTRC_LOG_EVENTS);
}

/* Takes the packets that stand one behind the other from `offset` on. Adds to *damaged how often
 * between them there are bytes that were a packet without events, if no other has ever stood there. */
static int walk(struct ptrc_log_reader *r, struct window *w, uint64_t offset, uint64_t end,
		bool has_events, uint64_t *damaged)
{
	bool has_status = false, is_sure = true, is_torn = false;
	struct ptrc_log_packet p;
	uint64_t seq = r->head.first_seq; /* of the next EVENTS packet */
	int error = 0;

	r->tail = (struct ptrc_log_tail){.from = offset, .behind = offset, .seq = seq};
	while (!error) {
		uint64_t at = offset;
		bool is_there = next_packet(w, &at, end, &p);

		if (!is_sure && (!is_there || at != offset)) {
			/* No packet follows directly upon the last EVENTS packet. If that is
			 * torn its length means nothing, and the next packet may begin within
			 * it. */
			struct ptrc_log_entry *e = &r->entries[r->entry_count - 1];

			if (check_payload(r, e)) {
				offset = e->offset + sizeof(p);
				e->is_damaged = true;
				is_sure = is_torn = true;
				r->tail.is_broken = true;
				w->searched += e->length;
				if (w->searched > SEARCH_MAX)
					break;
				continue;
			}
		}
		if (!is_there)
			break;
		/* The numbers tell of a packet with events. What is shorter than a header was left by a
		 * writer that was killed: of any more, there is a header, which is right. */
		*damaged += !is_torn && at - offset >= sizeof(p) && (!has_events || p.seq == seq);
		is_torn = false;
		seq = p.seq + (p.type == PTRC_LOG_EVENTS);
		if (p.type == PTRC_LOG_END && has_status) {
			r->is_closed = true;
			r->end_seq = p.seq;
			break;
		}
		error = take_packet(r, &p, at, has_events, &has_status);
		note_taken(&r->tail, &p, at);
		is_sure = !has_events || p.type != PTRC_LOG_EVENTS;
		offset = at + packet_size(&p);
	}
	return error;
}

static int by_seq(const void *x, const void *y)
{
	const struct ptrc_log_entry *a = x, *b = y;

	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	if (a->is_damaged != b->is_damaged)
		return a->is_damaged ? 1 : -1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int by_time(const void *x, const void *y)
{
	const struct ptrc_log_entry *a = x, *b = y;

	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns ? -1 : 1;
	return by_seq(x, y);
}

/* Sorts the entries by their numbers, and keeps one of each number: a packet may have been
 * written again after a failure. */
static void sort_entries(struct ptrc_log_reader *r)
{
	size_t kept = 0;

	if (r->entry_count)
		qsort(r->entries, r->entry_count, sizeof(*r->entries), by_seq);
	for (size_t i = 0; i < r->entry_count; i++)
		if (!kept || r->entries[kept - 1].seq != r->entries[i].seq)
			r->entries[kept++] = r->entries[i];
	r->entry_count = kept;
}

/* The creation of the stream: no event is earlier. */
static int64_t begin_ns(const struct ptrc_log_reader *r)
{
	int64_t ns;

	if (__builtin_mul_overflow(r->head.create_sec, INT64_C(1000000000), &ns) ||
	    __builtin_add_overflow(ns, r->head.create_nsec, &ns))
		return INT64_MIN;
	return ns;
}

/* If all packets from number `seq` up to the one before `end` are in files that are missing, and in no
 * other, then their heads and ends tell how many events these have. */
static bool count_absent(const struct ptrc_log_reader *r, uint64_t seq, uint64_t end,
			 uint64_t *events)
{
	uint32_t low = 0, high = r->member_count;
	const struct ptrc_log_reader *m;
	uint64_t had;

	/* The first file that begins behind `seq`. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (r->members[middle].head.first_seq > seq)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == 0 || low == r->member_count)
		return false;
	m = &r->members[low - 1];
	if (!m->is_closed || m->end_seq != seq || m[1].head.first_seq != end ||
	    __builtin_add_overflow(m->head.events_before, m->status.log_events, &had) ||
	    had > m[1].head.events_before)
		return false;
	*events = m[1].head.events_before - had;
	return m[1].head.ordinal - m->head.ordinal > 1;
}

/* The entry for the packets missing between two others, one of which may be null. */
static struct ptrc_log_entry missing_between(const struct ptrc_log_reader *r, uint64_t seq,
					     const struct ptrc_log_entry *before,
					     const struct ptrc_log_entry *behind)
{
	struct ptrc_log_entry e = {.seq = seq, .is_missing = true, .first_ns = begin_ns(r)};

	/* Behind the last event of the packet before, and not at its time. */
	if (before)
		e.first_ns = before->last_ns + (before->last_ns < INT64_MAX);
	if (behind && e.first_ns > behind->first_ns)
		e.first_ns = behind->first_ns;
	e.last_ns = behind ? behind->first_ns : e.first_ns;
	e.is_absent = count_absent(r, seq, behind ? behind->seq : r->end_seq, &e.event_count);
	e.is_uncounted = !e.is_absent;
	e.event_count = e.is_absent ? e.event_count : 0;
	return e;
}

/* If packets are missing at a single place of a closed log, the number of their events is known:
 * the log says how many it has in all. */
static void count_missing(struct ptrc_log_reader *r)
{
	struct ptrc_log_entry *missing = NULL;
	size_t places = 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < r->entry_count; i++) {
		if (r->entries[i].is_lying)
			return;
		sum += r->entries[i].event_count;
		if (r->entries[i].is_missing && !r->entries[i].is_absent) {
			missing = &r->entries[i];
			places++;
		}
	}
	if (places != 1 || !missing || !r->is_closed)
		return;
	missing->event_count = r->status.log_events > sum ? r->status.log_events - sum : 0;
	missing->is_uncounted = false;
}

/* Adds an entry for each place where packets are missing, from the number `seq` on and, in a
 * closed log, up to the last. The entries are in order of their numbers, each of which is there
 * once. ENOMEM. */
static int add_missing(struct ptrc_log_reader *r, uint64_t seq)
{
	size_t count = r->entry_count, places = 0, to;
	struct ptrc_log_entry *all;
	uint64_t next = seq;
	bool is_end_missing;

	for (size_t i = 0; i < count; i++) {
		places += r->entries[i].seq > next;
		next = r->entries[i].seq + 1;
	}
	is_end_missing = r->is_closed && r->end_seq > next;
	places += is_end_missing;
	if (!places)
		return 0;
	all = realloc(r->entries, (count + places) * sizeof(*all));
	if (!all)
		return ENOMEM;
	r->entries = all;
	r->entry_count = r->entry_size = to = count + places;
	if (is_end_missing)
		all[--to] = missing_between(r, next, count ? &all[count - 1] : NULL, NULL);
	/* From the end on, so that each entry moves only once. */
	for (size_t i = count; i-- > 0;) {
		struct ptrc_log_entry behind = all[i];
		uint64_t expected = i ? all[i - 1].seq + 1 : seq;

		all[--to] = behind;
		if (behind.seq > expected)
			all[--to] = missing_between(r, expected, i ? &all[i - 1] : NULL, &behind);
	}
	count_missing(r);
	return 0;
}

/* Takes the state of the ring from its newest sound packet. */
static int read_ring(struct ptrc_log_reader *r)
{
	for (size_t i = r->entry_count; i-- > 0;) {
		const struct ptrc_log_entry *e = &r->entries[i];
		uint8_t *payload;
		int error;

		if (!(e->flags & PTRC_LOG_HAS_RING) ||
		    e->length < (uint64_t)e->sums_bytes + sizeof(r->ring))
			continue;
		error = ptrc_log_reader_load(r, e, &payload);
		if (error == ENOMEM)
			return error;
		if (error)
			continue;
		memcpy(&r->ring, payload + e->sums_bytes, sizeof(r->ring));
		r->ring_seq = e->seq;
		free(payload);
		return 0;
	}
	return 0;
}

/* The end of a log that was not closed may be a packet that was never wholly written. */
static void drop_torn_end(struct ptrc_log_reader *r)
{
	while (!r->is_closed && r->entry_count && r->entries[r->entry_count - 1].is_damaged)
		r->entry_count--;
}

/* Has the ring never begun anew, so that what is no packet is none that was overwritten? The entries are
 * in the order of their numbers. */
static bool is_first_lap(const struct ptrc_log_reader *r)
{
	for (size_t i = 1; i < r->entry_count; i++)
		if (r->entries[i].offset < r->entries[i - 1].offset)
			return false;
	return r->ring.oldest_seq == 0;
}

static int index_ring(struct ptrc_log_reader *r, struct window *w)
{
	uint64_t behind = r->head.ring_offset + r->head.ring_size;
	uint64_t in_ring = 0;
	size_t first = 0;
	int error;

	error = walk(r, w, r->head.close_offset, r->head.ring_offset, false, &in_ring);
	in_ring = 0;
	if (!error)
		error = walk(r, w, r->head.ring_offset, behind, true, &in_ring);
	if (!error && behind < r->size)
		error = walk(r, w, behind, r->size, false, &r->damaged_parts);
	if (error)
		return error;
	sort_entries(r);
	/* A flush that failed may have left packets with numbers that were not used again. */
	while (r->is_closed && r->entry_count && r->entries[r->entry_count - 1].seq >= r->end_seq)
		r->entry_count--;
	drop_torn_end(r);
	error = read_ring(r);
	if (error)
		return error;
	if (is_first_lap(r))
		r->damaged_parts += in_ring;
	while (first < r->entry_count && r->entries[first].seq < r->ring.oldest_seq)
		first++;
	r->entry_count -= first;
	if (first)
		memmove(r->entries, r->entries + first, r->entry_count * sizeof(*r->entries));
	/* Only the newest packet knows which one is the oldest, and a log that is not closed may
	 * lack that: a keeper may have died while it overwrote it. */
	if (r->is_closed && r->entry_count &&
	    r->entries[r->entry_count - 1].seq + 1 == r->end_seq && r->ring_seq + 1 == r->end_seq)
		return add_missing(r, r->ring.oldest_seq);
	if (r->entry_count)
		return add_missing(r, r->entries[0].seq);
	return add_missing(r, r->end_seq - (r->end_seq && r->status.log_events));
}

/* ---- opening by the index ---- */

/* An INDEX packet. */
struct index_piece {
	uint64_t offset, size; /* of the packet */
	uint32_t count;
	uint8_t *payload;
};

struct index_pieces {
	struct index_piece *piece; /* the last one of the file first */
	size_t count, size;
};

static void free_pieces(struct index_pieces *all)
{
	for (size_t i = 0; i < all->count; i++)
		free(all->piece[i].payload);
	free(all->piece);
}

/* Reads the packet of this type at `offset`, which has no more than `most` bytes; the caller frees the
 * payload. EINVAL: it is not there. ENOMEM. */
static int load_packet(const struct ptrc_log_reader *r, uint64_t offset, uint16_t type,
		       uint64_t most, struct ptrc_log_packet *p, uint8_t **payload)
{
	if (offset < PTRC_LOG_HEADS_BYTES || offset > r->size || r->size - offset < sizeof(*p) ||
	    read_at(r, offset, p, sizeof(*p)) || !is_packet(r, p, offset) || p->type != type ||
	    p->length > most)
		return EINVAL;
	return load(r, offset + sizeof(*p), p->length, p->payload_crc, payload);
}

/* Reads the INDEX packets, from the last one back to the first. EINVAL, ENOMEM. */
static int load_pieces(const struct ptrc_log_reader *r, uint64_t offset, struct index_pieces *all)
{
	uint64_t most = INDEX_MAX;

	do {
		struct ptrc_log_index_head head;
		struct index_piece piece = {.offset = offset};
		struct ptrc_log_packet p;
		struct index_piece *more =
			make_room(all->piece, all->count, &all->size, sizeof(piece));
		int error;

		if (!more)
			return ENOMEM;
		all->piece = more;
		error = load_packet(r, offset, PTRC_LOG_INDEX, most, &p, &piece.payload);
		if (error)
			return error;
		most -= p.length;
		piece.size = packet_size(&p);
		all->piece[all->count++] = piece;
		if (p.length < sizeof(head))
			return EINVAL;
		memcpy(&head, piece.payload, sizeof(head));
		if (head.previous >= offset ||
		    p.length != sizeof(head) + head.count * sizeof(struct ptrc_log_index_entry))
			return EINVAL;
		all->piece[all->count - 1].count = head.count;
		offset = head.previous;
	} while (offset);
	return 0;
}

/* Is the packet's header in the file what the index says? */
static bool has_header(const struct ptrc_log_reader *r, uint64_t offset,
		       struct ptrc_log_packet said)
{
	struct ptrc_log_packet p;

	said.magic = PTRC_LOG_PACKET_MAGIC;
	said.log_id = r->log_id;
	said.header_crc = ptrc_crc32c(0, &said, offsetof(struct ptrc_log_packet, header_crc));
	return !read_at(r, offset, &p, sizeof(p)) && memcmp(&p, &said, sizeof(p)) == 0;
}

/* Takes the packets that the piece lists, which stand one behind the other from *offset on, and
 * moves *offset behind the piece itself. */
static int take_piece(struct ptrc_log_reader *r, const struct index_piece *piece, uint64_t *offset)
{
	const uint8_t *at = piece->payload + sizeof(struct ptrc_log_index_head);
	int error = 0;

	for (uint32_t i = 0; i < piece->count && !error; i++) {
		struct ptrc_log_index_entry e;
		struct ptrc_log_packet p;
		bool has_status;

		memcpy(&e, at + i * sizeof(e), sizeof(e));
		p = (struct ptrc_log_packet){.type = e.type,
					     .flags = e.flags,
					     .length = e.length,
					     .seq = e.seq,
					     .first_ns = e.first_ns,
					     .last_ns = e.last_ns,
					     .event_count = e.event_count,
					     .payload_crc = e.payload_crc,
					     .sums_bytes = e.sums_bytes,
					     .sums_crc = e.sums_crc,
					     .counted = e.counted};
		if (e.offset != *offset || e.length > piece->offset || e.type == PTRC_LOG_STATUS)
			return EINVAL;
		*offset += packet_size(&p);
		if (*offset > piece->offset)
			return EINVAL;
		error = take_packet(r, &p, e.offset, true, &has_status);
		/* Of the others there are few, and they are not looked at again. */
		if (!error && e.type != PTRC_LOG_EVENTS)
			r->differing_headers += !has_header(r, e.offset, p);
	}
	if (!error && *offset != piece->offset)
		return EINVAL;
	*offset += piece->size;
	return error;
}

/* Takes the totals from the payload of a TOTALS packet. EINVAL, ENOMEM. */
static int take_totals(struct ptrc_log_reader *r, const uint8_t *payload, uint64_t length)
{
	struct ptrc_log_totals_head head;
	uint64_t bytes;

	if (length < sizeof(head))
		return EINVAL;
	memcpy(&head, payload, sizeof(head));
	bytes = head.type_count * sizeof(struct ptrc_log_total);
	if (head.type_count > PTRC_TYPE_SUMS_MAX || head.filter_words > PTRC_SET_WORD_COUNT ||
	    length != sizeof(head) + bytes + head.filter_words * sizeof(uint64_t))
		return EINVAL;
	r->totals = malloc(bytes + 1);
	if (!r->totals)
		return ENOMEM;
	r->total_count = head.type_count;
	memcpy(r->totals, payload + sizeof(head), bytes);
	memcpy(r->filtered, payload + sizeof(head) + bytes, head.filter_words * sizeof(uint64_t));
	return 0;
}

/* Do index, totals and status agree? */
static bool has_agreeing_totals(const struct ptrc_log_reader *r)
{
	uint64_t listed = 0, counted = 0;

	for (size_t i = 0; i < r->entry_count; i++)
		listed += r->entries[i].event_count;
	for (size_t i = 0; i < r->total_count; i++) {
		if (r->totals[i].id >= PTRC_TYPE_SUMS_MAX ||
		    (i && r->totals[i].id <= r->totals[i - 1].id))
			return false;
		counted += r->totals[i].events;
	}
	return listed == counted && counted == r->status.log_events;
}

/* Takes what the pieces, the TOTALS behind them, and the rest of the file up to `end` tell. */
static int take_index(struct ptrc_log_reader *r, const struct index_pieces *all, uint64_t end)
{
	uint64_t offset = PTRC_LOG_HEADS_BYTES;
	struct ptrc_log_packet p;
	uint8_t *payload;
	int error = 0;

	for (size_t i = all->count; i-- > 0 && !error;)
		error = take_piece(r, &all->piece[i], &offset);
	if (!error)
		error = load_packet(r, offset, PTRC_LOG_TOTALS, TOTALS_MAX, &p, &payload);
	if (error)
		return error;
	error = offset + packet_size(&p) == end ? take_totals(r, payload, p.length) : EINVAL;
	free(payload);
	if (!error && !has_agreeing_totals(r))
		error = EINVAL;
	return error;
}

/* Forgets what the log was found to have. */
static void forget_contents(struct ptrc_log_reader *r)
{
	free(r->entries);
	free_names(r);
	free(r->totals);
	ptrc_log_whose_free(&r->whose);
	r->entries = NULL;
	r->totals = NULL;
	r->entry_count = r->entry_size = r->total_count = 0;
	r->missing_names = r->damaged_parts = r->differing_headers = 0;
	r->is_names_torn = false;
	memset(r->name_index, 0, sizeof(r->name_index));
	memset(&r->status, 0, sizeof(r->status));
}

/* Opens a closed sequential log by the index that stands before its end. EINVAL: there is none, or
 * not each byte of it is right: then nothing has changed. ENOMEM. */
static int open_by_index(struct ptrc_log_reader *r)
{
	uint64_t end_size = sizeof(struct ptrc_log_packet),
		 status_size = end_size + sizeof(struct ptrc_log_status), status;
	struct ptrc_log_packet p, end;
	struct index_pieces all = {0};
	int error;

	if (r->size < PTRC_LOG_HEADS_BYTES ||
	    r->size - PTRC_LOG_HEADS_BYTES < status_size + end_size)
		return EINVAL;
	status = r->size - end_size - status_size;
	if (read_at(r, status, &p, sizeof(p)) || !is_packet(r, &p, status) ||
	    p.type != PTRC_LOG_STATUS || packet_size(&p) != status_size ||
	    read_at(r, r->size - end_size, &end, sizeof(end)) ||
	    !is_packet(r, &end, r->size - end_size) || end.type != PTRC_LOG_END)
		return EINVAL;
	if (!read_status(r, &p, status) || !r->status.index_offset) {
		forget_contents(r);
		return EINVAL;
	}
	error = load_pieces(r, r->status.index_offset, &all);
	if (!error)
		error = take_index(r, &all, status);
	free_pieces(&all);
	if (error) {
		forget_contents(r);
		return error;
	}
	r->missing_names += r->is_names_torn;
	r->is_names_torn = false;
	r->is_closed = true;
	r->end_seq = end.seq;
	return 0;
}

/* Gives the reader a descriptor of its own. A file that was opened with O_DIRECT, which demands
 * alignment, is opened once more if possible. */
static int take_file(int fd, struct ptrc_log_reader *r)
{
	struct stat st;
	long own, flags = ptrc_sys(SYS_fcntl, fd, F_GETFL);

	r->fd = -1;
	if (flags < 0 || (flags & O_PATH) || (flags & O_ACCMODE) == O_WRONLY ||
	    ptrc_sys(SYS_fstat, fd, &st) < 0 || !S_ISREG(st.st_mode))
		return EINVAL;
	r->size = (uint64_t)st.st_size;
	if ((flags & O_DIRECT) && ptrc_file_reopen(fd, O_RDONLY | O_NOCTTY, &r->fd) == 0)
		return 0;
	own = ptrc_sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
	if (own < 0)
		return own == -EBADF ? EINVAL : ENOMEM;
	r->fd = (int)own;
	return 0;
}

int ptrc_log_reader_head(int fd, struct ptrc_log_head *head)
{
	struct ptrc_log_reader r = {.fd = -1};
	int error = take_file(fd, &r);

	if (!error)
		error = read_head(&r);
	if (!error)
		*head = r.head;
	ptrc_log_reader_close(&r);
	return error;
}

/* Of those that a closed log says it has. */
static uint64_t missing_names(const struct ptrc_log_reader *r)
{
	uint64_t all = r->status.names < PTRC_NAMES_MAX ? r->status.names : PTRC_NAMES_MAX;

	return all > r->name_count ? all - r->name_count : 0;
}

int ptrc_log_reader_open(int fd, struct ptrc_log_reader *r)
{
	struct window *w;
	int error;

	memset(r, 0, sizeof(*r));
	error = take_file(fd, r);
	if (error)
		return error;
	w = malloc(sizeof(*w));
	if (!w) {
		ptrc_log_reader_close(r);
		return ENOMEM;
	}
	w->r = r;
	w->from = w->bytes = w->searched = 0;
	w->is_searching = false;
	error = read_head(r);
	if (!error && r->head.kind == PTRC_LOG_RING) {
		error = index_ring(r, w);
	} else if (!error) {
		error = open_by_index(r);
		if (error == EINVAL)
			error = walk(r, w, PTRC_LOG_HEADS_BYTES, r->size, true, &r->damaged_parts);
		if (!error) {
			sort_entries(r);
			drop_torn_end(r);
			error = add_missing(r, r->head.first_seq);
		}
	}
	free(w);
	if (error) {
		ptrc_log_reader_close(r);
		return error;
	}
	sort_names(r);
	ptrc_log_whose_sort(&r->whose);
	/* A ring tells names twice; and a damaged header hides that there are any. */
	if (r->is_closed && r->status.names) {
		uint64_t torn = r->missing_names;

		r->missing_names = missing_names(r);
		/* It may have told a layout that is nowhere else. */
		if (!r->missing_names)
			r->damaged_parts += torn;
	}
	r->damaged_parts += r->is_head_damaged;
	if (!r->is_closed && r->entry_count)
		r->end_seq = r->entries[r->entry_count - 1].seq + 1;
	if (r->entry_count)
		qsort(r->entries, r->entry_count, sizeof(*r->entries), by_time);
	r->last_ordinal = r->head.ordinal;
	return 0;
}

/* ---- a log that has grown ---- */

/* Is all that was taken as it should be, so that only what comes behind it need be looked at? */
static bool can_grow(const struct ptrc_log_reader *r)
{
	return r->fd >= 0 && r->head.kind == PTRC_LOG_SEQUENTIAL && !r->head.rotate_bytes &&
	       !r->head.rotate_ns && !r->is_closed && !r->tail.is_broken && !r->missing_names &&
	       !r->is_names_torn && !r->damaged_parts;
}

/* Has the file the head that it had? */
static bool has_same_head(const struct ptrc_log_reader *r)
{
	struct ptrc_log_reader now = {.fd = r->fd, .size = r->size};

	return !read_head(&now) && !now.is_head_damaged && now.log_id == r->log_id &&
	       memcmp(&now.head, &r->head, sizeof(now.head)) == 0;
}

/* Shows the packet at `offset`. False: there is none. */
static bool show_packet(struct window *w, uint64_t offset, struct ptrc_log_packet *p)
{
	const uint8_t *at = look(w, offset, sizeof(*p));

	if (at)
		memcpy(p, at, sizeof(*p));
	return at && is_packet(w->r, p, offset);
}

/* Is there a header, and somebody who has still to write some of what it tells of? */
static bool is_under_way(struct window *w, uint64_t offset)
{
	struct ptrc_log_packet p;
	const uint8_t *at = look(w, offset, sizeof(p));

	if (at)
		memcpy(&p, at, sizeof(p));
	return at && is_header(w->r, &p) && !is_packet(w->r, &p, offset);
}

/* Compares the headers that are not forgotten with what they were, and forgets those before number `first`,
 * but never the last one. ESTALE. */
static int compare_tail(struct ptrc_log_reader *r, struct window *w, uint64_t first)
{
	struct ptrc_log_tail *t = &r->tail, all = {.from = t->from, .behind = t->from}, kept = all;
	bool is_kept = false;

	while (all.behind < t->behind) {
		uint64_t at = all.behind;
		struct ptrc_log_packet p;

		if (!show_packet(w, at, &p))
			return ESTALE;
		note_taken(&all, &p, at);
		if (!is_kept && (p.seq >= first || all.behind == t->behind)) {
			is_kept = true;
			kept = (struct ptrc_log_tail){.from = at, .behind = at};
		}
		if (is_kept)
			note_taken(&kept, &p, at);
	}
	if (all.behind != t->behind || all.crc != t->crc)
		return ESTALE;
	t->from = kept.from;
	t->crc = kept.crc;
	return 0;
}

/* Removes the entries of the packets before number `first`. */
static void forget_entries(struct ptrc_log_reader *r, uint64_t first)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->entry_count; i++) {
		const struct ptrc_log_entry *e = &r->entries[i];

		if (e->seq >= first) {
			r->entries[kept++] = *e;
		} else if (!e->is_lying) {
			r->forgotten_events += e->event_count;
			r->forgotten_bytes += e->counted;
		}
	}
	r->entry_count = kept;
	if (first > r->forgotten_seq)
		r->forgotten_seq = first;
	if (r->entry_size > 64 && kept < r->entry_size / 4) {
		size_t size = kept > 16 ? kept : 16;
		struct ptrc_log_entry *less = realloc(r->entries, size * sizeof(*less));

		r->entries = less ? less : r->entries;
		r->entry_size = less ? size : r->entry_size;
	}
}

/* Takes the packets behind those that were taken. ESTALE, ENOMEM. */
static int take_new(struct ptrc_log_reader *r, struct window *w)
{
	struct ptrc_log_tail *t = &r->tail;
	struct ptrc_log_packet last;
	bool has_status, is_sure = true;

	/* An open looks for the end there. */
	if (show_packet(w, r->size - sizeof(last), &last) && last.type == PTRC_LOG_END)
		return ESTALE;

	/* Less than a header is what somebody writes just now. */
	while (r->size - t->behind >= sizeof(struct ptrc_log_packet)) {
		uint64_t behind = t->behind + sizeof(struct ptrc_log_packet);
		struct ptrc_log_packet p;
		int error;

		if (is_under_way(w, t->behind)) {
			/* Nobody goes on with a packet that others stand behind. */
			if (next_packet(w, &behind, r->size, &p))
				return ESTALE;
			break;
		}
		if (!show_packet(w, t->behind, &p) || p.seq != t->seq ||
		    p.type == PTRC_LOG_STATUS || p.type == PTRC_LOG_END)
			return ESTALE;
		error = take_packet(r, &p, t->behind, true, &has_status);
		if (error)
			return error;
		note_taken(t, &p, t->behind);
		is_sure = p.type != PTRC_LOG_EVENTS;
	}
	if (!can_grow(r) || (!is_sure && check_payload(r, &r->entries[r->entry_count - 1])))
		return ESTALE;
	return 0;
}

int ptrc_log_reader_grow(struct ptrc_log_reader *r, uint64_t first)
{
	uint32_t processes = r->whose.process_count, threads = r->whose.thread_count,
		 clocks = r->whose.clock_count;
	struct window *w;
	struct stat st;
	int error;

	if (!can_grow(r) || ptrc_sys(SYS_fstat, r->fd, &st) < 0 ||
	    (uint64_t)st.st_size < r->tail.behind)
		return ESTALE;
	r->size = (uint64_t)st.st_size;
	if (!has_same_head(r))
		return ESTALE;
	w = malloc(sizeof(*w));
	if (!w)
		return ENOMEM;
	w->r = r;
	w->from = w->bytes = w->searched = 0;
	w->is_searching = false;
	error = compare_tail(r, w, first);
	if (!error) {
		forget_entries(r, first);
		error = take_new(r, w);
	}
	free(w);
	r->end_seq = r->tail.seq;
	if (r->entry_count)
		qsort(r->entries, r->entry_count, sizeof(*r->entries), by_time);
	sort_names(r);
	if (r->whose.process_count != processes || r->whose.thread_count != threads ||
	    r->whose.clock_count != clocks)
		ptrc_log_whose_sort(&r->whose);
	return error;
}

/* ---- a log that comes in parts ---- */

/* Adds bytes to those that are kept, and forgets those before the first packet that is needed. */
static int keep(struct ptrc_log_reader *r, const void *bytes, size_t size)
{
	struct ptrc_log_parts *p = &r->parts;
	uint64_t first = r->entry_count ? r->entries[0].offset : p->next;
	size_t gone = first < p->from + p->used ? (size_t)(first - p->from) : p->used;

	if (gone) {
		p->used -= gone;
		p->from += gone;
		memmove(p->bytes, p->bytes + gone, p->used);
	}
	if (size > p->size - p->used) {
		size_t more = p->size ? p->size : WINDOW_BYTES;
		uint8_t *larger;

		while (more - p->used < size)
			more *= 2;
		larger = realloc(p->bytes, more);
		if (!larger)
			return ENOMEM;
		p->bytes = larger;
		p->size = more;
	}
	if (size)
		memcpy(p->bytes + p->used, bytes, size);
	p->used += size;
	r->size = p->from + p->used;
	return 0;
}

/* Is the payload no longer than one of this type can be? Otherwise nobody need wait for its end. */
static bool has_good_length(const struct ptrc_log_packet *p)
{
	return p->length <= (p->type == PTRC_LOG_EVENTS
				     ? UINT32_MAX + UINT64_C(1) + PAYLOAD_HEADS_MAX
				     : NAMES_MAX);
}

/* Takes a packet that is whole. */
static int take_whole(struct ptrc_log_reader *r, const struct ptrc_log_packet *p)
{
	uint64_t offset = r->parts.next;
	bool has_status = false;
	int error;

	if (r->is_closed)
		return EPROTO;
	if (p->type == PTRC_LOG_EVENTS) {
		error = p->seq == r->end_seq ? add_entry(r, p, offset) : EPROTO;
		r->end_seq += !error;
		return error;
	}
	if (compare(r, offset + sizeof(*p), p->length, p->payload_crc))
		return EPROTO;
	if (p->type == PTRC_LOG_END) {
		r->is_closed = r->parts.has_status;
		return r->is_closed ? 0 : EPROTO;
	}
	error = take_packet(r, p, offset, true, &has_status);
	if (!error && p->type == PTRC_LOG_STATUS && !has_status)
		return EPROTO;
	r->parts.has_status |= has_status;
	r->parts.is_whose_unsorted |= p->type == PTRC_LOG_PROCESS || p->type == PTRC_LOG_CLOCK ||
				      p->type == PTRC_LOG_THREADS;
	return error;
}

/* Takes the packets that are whole. EPROTO, ENOMEM. */
static int take_parts(struct ptrc_log_reader *r)
{
	int error = 0;

	while (!error) {
		struct ptrc_log_packet p;

		if (read_at(r, r->parts.next, &p, sizeof(p)))
			return 0;
		if (!is_header(r, &p) || !has_good_length(&p))
			return EPROTO;
		if (r->size - r->parts.next < packet_size(&p))
			return 0;
		error = take_whole(r, &p);
		if (!error)
			r->parts.next += packet_size(&p);
	}
	return error;
}

int ptrc_log_reader_begin(const void *bytes, size_t size, struct ptrc_log_reader *r)
{
	int error;

	memset(r, 0, sizeof(*r));
	r->fd = -1;
	r->is_parts = true;
	error = keep(r, bytes, size);
	if (!error)
		error = read_head(r);
	if (!error && (r->head.kind != PTRC_LOG_SEQUENTIAL || r->is_head_damaged))
		error = EINVAL;
	r->parts.next = PTRC_LOG_HEADS_BYTES;
	if (!error)
		error = take_parts(r);
	if (error)
		ptrc_log_reader_close(r);
	return error;
}

int ptrc_log_reader_feed(struct ptrc_log_reader *r, const void *bytes, size_t size, size_t read)
{
	int error;

	r->entry_count -= read;
	if (read)
		memmove(r->entries, r->entries + read, r->entry_count * sizeof(*r->entries));
	if (r->parts.is_refused)
		return EPROTO;
	error = keep(r, bytes, size);
	if (!error)
		error = take_parts(r);
	r->parts.is_refused = error;
	return error;
}

/* ---- several files ---- */

/* Takes from a member, whose number is `number`, what the log as a whole is to have. ENOMEM. */
static int join(struct ptrc_log_reader *r, struct ptrc_log_reader *m, uint32_t number)
{
	int error = 0;

	for (size_t i = 0; i < m->entry_count && !error; i++) {
		struct ptrc_log_entry *e;

		/* What is missing in all shows when all are there. */
		if (m->entries[i].is_missing)
			continue;
		e = make_room(r->entries, r->entry_count, &r->entry_size, sizeof(*e));
		if (!e)
			return ENOMEM;
		r->entries = e;
		e = &r->entries[r->entry_count++];
		*e = m->entries[i];
		e->member = number;
	}
	for (size_t i = 0; i < m->name_count && !error; i++) {
		const struct ptrc_log_reader_name *n = &m->names[i];

		error = add_name(r, n->id, n->name, (uint32_t)strlen(n->name), n->layout,
				 n->layout ? (uint32_t)strlen(n->layout) : 0);
	}
	free_names(m);
	r->missing_names += m->missing_names;
	r->damaged_parts += m->damaged_parts;
	return error ? error : ptrc_log_whose_join(&r->whose, &m->whose);
}

/* Adds the totals of a member to those of the others, of which there is one for each type. */
static void add_totals(struct ptrc_log_reader *r, const struct ptrc_log_reader *m,
		       struct ptrc_log_total *all)
{
	for (size_t i = 0; i < m->total_count; i++) {
		struct ptrc_log_total *total = &all[m->totals[i].id];

		total->events += m->totals[i].events;
		total->bytes += m->totals[i].bytes;
		total->truncated += m->totals[i].truncated;
	}
	for (uint32_t i = 0; i < PTRC_SET_WORD_COUNT; i++)
		r->filtered[i] |= m->filtered[i];
}

/* The totals of the whole, if all members have theirs and none is missing. ENOMEM. */
static int join_totals(struct ptrc_log_reader *r)
{
	struct ptrc_log_total *all;

	if (r->last_ordinal - r->head.ordinal + 1 != r->member_count)
		return 0;
	for (uint32_t i = 0; i < r->member_count; i++)
		if (!r->members[i].totals)
			return 0;
	all = calloc(PTRC_TYPE_SUMS_MAX, sizeof(*all));
	if (!all)
		return ENOMEM;
	for (uint32_t i = 0; i < r->member_count; i++)
		add_totals(r, &r->members[i], all);
	for (uint32_t id = 0; id < PTRC_TYPE_SUMS_MAX; id++)
		if (all[id].events) {
			all[r->total_count] = all[id];
			all[r->total_count++].id = id;
		}
	r->totals = all;
	return 0;
}

static void at_least(uint64_t *count, uint64_t least)
{
	if (*count < least)
		*count = least;
}

/* What was lost in all: as far as the STATUS of the members do not tell it, since some are not there or
 * damaged, the head of a later one does. */
static void join_losses(struct ptrc_log_reader *r)
{
	const struct ptrc_log_reader *m = r->members ? r->members : r;
	uint32_t count = r->members ? r->member_count : 1;
	struct ptrc_log_before all = m[0].head.before;
	const struct ptrc_log_before none = {0}, first = r->is_whole ? none : all;
	struct ptrc_log_status *s = &r->status;

	all.is_overrun &= r->is_whole;
	for (uint32_t i = 0; i < count; i++) {
		const struct ptrc_log_before *before = &m[i].head.before;
		const struct ptrc_log_status *own = &m[i].status;

		at_least(&all.lost_events, before->lost_events);
		at_least(&all.log_lost_events, before->log_lost_events);
		at_least(&all.waits, before->waits);
		at_least(&all.wait_ns, before->wait_ns);
		all.is_overrun |= before->is_overrun && (i || r->is_whole);
		if (!m[i].is_closed)
			continue;
		all.lost_events += own->lost_events;
		all.log_lost_events += own->log_lost_events;
		all.waits += own->waits;
		all.wait_ns += own->wait_ns;
		all.is_overrun |= own->stream_overrun;
	}
	s->lost_events = all.lost_events - first.lost_events;
	s->log_lost_events = all.log_lost_events - first.log_lost_events;
	s->waits = all.waits - first.waits;
	s->wait_ns = all.wait_ns - first.wait_ns;
	s->stream_overrun = all.is_overrun != 0;
}

/* The status of the whole: what has happened in any of the members. */
static void join_status(struct ptrc_log_reader *r)
{
	const struct ptrc_log_reader *last = &r->members[r->member_count - 1];
	struct ptrc_log_status *s = &r->status;

	*s = last->status;
	r->is_closed = last->is_closed;
	r->end_seq = last->end_seq;
	s->index_offset = 0;
	for (uint32_t i = 0; i + 1 < r->member_count; i++) {
		const struct ptrc_log_status *m = &r->members[i].status;

		s->log_bytes += m->log_bytes;
		s->log_overrun |= m->log_overrun;
	}
	/* Each head tells how many events come before it. So those of members that are missing, and
	 * of damaged ones, count, too. */
	s->log_events += last->head.events_before - r->head.events_before;
	join_losses(r);
	if (r->is_closed && s->names)
		r->missing_names = missing_names(r);
}

static bool says_that_another_follows(const struct ptrc_log_reader *last)
{
	return last->is_closed && (last->status.flags & PTRC_LOG_GOES_ON);
}

int ptrc_log_reader_open_all(const int *fds, size_t count, bool is_whole, struct ptrc_log_reader *r)
{
	struct ptrc_log_reader *m;
	int error = 0;

	if (count == 1) {
		error = ptrc_log_reader_open(fds[0], r);
		r->is_whole = is_whole && !error;
		if (r->is_whole) {
			join_losses(r);
			r->is_last_missing = says_that_another_follows(r);
		}
		return error;
	}
	memset(r, 0, sizeof(*r));
	r->fd = -1;
	r->is_whole = is_whole;
	r->members = m = calloc(count, sizeof(*m));
	if (!m)
		return ENOMEM;
	for (size_t i = 0; i < count && !error; i++) {
		error = ptrc_log_reader_open(fds[i], &m[i]);
		r->member_count += !error;
		if (!error)
			error = join(r, &m[i], (uint32_t)i);
	}
	if (!error) {
		r->head = m[0].head;
		r->attr = m[0].attr;
		r->log_id = m[0].log_id;
		r->last_ordinal = m[count - 1].head.ordinal;
		r->is_last_missing = is_whole && says_that_another_follows(&m[count - 1]);
		sort_names(r);
		ptrc_log_whose_sort(&r->whose);
		join_status(r);
		sort_entries(r);
		error = add_missing(r, r->head.first_seq);
	}
	if (!error)
		error = join_totals(r);
	if (error) {
		ptrc_log_reader_close(r);
		return error;
	}
	if (!r->is_closed && r->entry_count)
		r->end_seq = r->entries[r->entry_count - 1].seq + 1;
	if (r->entry_count)
		qsort(r->entries, r->entry_count, sizeof(*r->entries), by_time);
	return 0;
}

/* The reader of the file that the packet stands in. */
static const struct ptrc_log_reader *member_of(const struct ptrc_log_reader *r,
					       const struct ptrc_log_entry *e)
{
	return r->members ? &r->members[e->member] : r;
}

void ptrc_log_reader_close(struct ptrc_log_reader *r)
{
	free(r->parts.bytes);
	memset(&r->parts, 0, sizeof(r->parts));
	for (uint32_t i = 0; i < r->member_count; i++)
		ptrc_log_reader_close(&r->members[i]);
	free(r->members);
	r->members = NULL;
	r->member_count = 0;
	if (r->fd >= 0)
		ptrc_sys(SYS_close, r->fd);
	r->fd = -1;
	forget_contents(r);
}

int ptrc_log_reader_load(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e,
			 uint8_t **payload)
{
	r = member_of(r, e);
	if (e->is_missing || e->is_damaged || !can_be_whole(r, e))
		return EINVAL;
	return load(r, e->offset + sizeof(struct ptrc_log_packet), e->length, e->payload_crc,
		    payload);
}

int ptrc_log_reader_sums(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e,
			 struct ptrc_type_sum **sums, size_t *count)
{
	uint8_t *bytes;
	int error;

	r = member_of(r, e);
	if (e->is_missing || e->is_damaged || !can_be_whole(r, e) ||
	    e->sums_bytes > PTRC_TYPE_SUMS_MAX * sizeof(**sums))
		return EINVAL;
	error = load(r, e->offset + sizeof(struct ptrc_log_packet), e->sums_bytes, e->sums_crc,
		     &bytes);
	if (error)
		return error;
	*sums = (struct ptrc_type_sum *)(void *)bytes;
	*count = e->sums_bytes / sizeof(**sums);
	return 0;
}

static bool has_header_of(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e)
{
	struct ptrc_log_packet p = {.type = PTRC_LOG_EVENTS,
				    .flags = e->flags,
				    .length = e->length,
				    .seq = e->seq,
				    .first_ns = e->first_ns,
				    .last_ns = e->last_ns,
				    .event_count = e->event_count,
				    .payload_crc = e->payload_crc,
				    .sums_bytes = e->sums_bytes,
				    .sums_crc = e->sums_crc,
				    .counted = e->counted};

	return has_header(r, e->offset, p);
}

/* Subtracts the sums of a packet from those of all. EINVAL: they are not readable. ENOMEM. */
static int subtract_sums(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e,
			 struct ptrc_log_total *all)
{
	struct ptrc_type_sum *sums;
	size_t count;
	int error = ptrc_log_reader_sums(r, e, &sums, &count);

	if (error)
		return error;
	for (size_t i = 0; i < count; i++) {
		struct ptrc_log_total *total = &all[sums[i].id & PTRC_REC_ID_MASK];

		total->events -= sums[i].events;
		total->bytes -= sums[i].bytes;
		total->truncated -= sums[i].truncated;
	}
	free(sums);
	return 0;
}

static int verify(const struct ptrc_log_reader *r, uint64_t *differing)
{
	struct ptrc_log_total *all;
	bool differs = false;

	/* An index that is there and was of no use is damaged. */
	*differing = r->damaged_parts + r->differing_headers +
		     (r->is_closed && r->head.kind == PTRC_LOG_SEQUENTIAL &&
		      r->status.index_offset && !r->totals);
	if (!r->totals)
		return 0;
	all = calloc(PTRC_TYPE_SUMS_MAX, sizeof(*all));
	if (!all)
		return ENOMEM;
	for (size_t i = 0; i < r->total_count; i++)
		all[r->totals[i].id] = r->totals[i];
	for (size_t i = 0; i < r->entry_count; i++) {
		const struct ptrc_log_entry *e = &r->entries[i];
		int error = e->is_missing ? 0 : subtract_sums(r, e, all);

		if (error == ENOMEM) {
			free(all);
			return ENOMEM;
		}
		*differing += e->is_missing || error || !has_header_of(r, e);
	}
	for (size_t id = 0; id < PTRC_TYPE_SUMS_MAX; id++)
		differs |= all[id].events || all[id].bytes || all[id].truncated;
	*differing += differs && !*differing;
	free(all);
	return 0;
}

int ptrc_log_reader_verify(const struct ptrc_log_reader *r, uint64_t *differing)
{
	int error = 0;

	if (!r->members)
		return verify(r, differing);
	*differing = 0;
	for (uint32_t i = 0; i < r->member_count && !error; i++) {
		uint64_t more;

		error = verify(&r->members[i], &more);
		*differing += error ? 0 : more;
	}
	return error;
}

bool ptrc_log_reader_is_replaced(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e)
{
	struct ptrc_log_packet p;

	if (r->head.kind != PTRC_LOG_RING || r->is_closed)
		return false;
	if (e->is_missing)
		return true;
	return read_at(r, e->offset, &p, sizeof(p)) || p.magic != PTRC_LOG_PACKET_MAGIC ||
	       p.log_id != r->log_id || p.seq != e->seq || p.payload_crc != e->payload_crc;
}
