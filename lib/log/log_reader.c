/* SPDX-License-Identifier: MIT */
#include "lib/log/log_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/model/layout.h"
#include "lib/model/names.h"
#include "lib/model/packed.h"

/* A larger packet of names or about origins (HOST, PROCESS, THREADS, CLOCK) is damaged: a keeper
 * puts about 4 KiB of names, or at most 64 KiB about origins, into one. */
#define NAMES_MAX (UINT64_C(1) << 20)
/* A larger TOTALS packet is damaged (TOTALS_MAX). If all INDEX packets of a file together are
 * larger than INDEX_MAX, the index is not used, which is no damage: in a sparse file a packet can
 * be of any size without taking any space, and reading it takes long. An index of INDEX_MAX bytes
 * lists 3.3 million packets, nearly a terabyte. */
#define TOTALS_MAX                                            \
	(sizeof(struct ptrc_log_totals_head) +                \
	 sizeof(struct ptrc_log_total) * PTRC_TYPE_SUMS_MAX + \
	 sizeof(uint64_t) * PTRC_SET_WORD_COUNT)
#define INDEX_MAX (UINT64_C(256) << 20)
/* In a payload with a single event, at most this many bytes come before the data of the event. */
#define PAYLOAD_HEADS_MAX 2048U

/* No packed event takes fewer bytes: one for the code of its shape (lib/model/packed.h), and one
 * for the time since the previous event. */
#define EVENT_BYTES_MIN 2U

/* ---- the bytes of a log ---- */

/* After damage, a file is searched for the next packet. This is the limit for all bytes of a file
 * that are searched, including the payloads of packets that turn out to be damaged. So no file,
 * however large or sparse, keeps an open busy for long. */
#define SEARCH_MAX (UINT64_C(256) << 20)

/* Gives *f a descriptor of its own: a duplicate of fd or, if fd has O_DIRECT, which demands
 * alignment, a new descriptor of the same file. EINVAL: fd is not open for reading, or not a
 * regular file. ENOMEM. */
static int file_open(int fd, struct ptrc_log_file *f)
{
	struct stat st;
	long own, flags = ptrc_sys(SYS_fcntl, fd, F_GETFL);

	*f = (struct ptrc_log_file){.fd = -1};
	if (flags < 0 || (flags & O_PATH) || (flags & O_ACCMODE) == O_WRONLY ||
	    ptrc_sys(SYS_fstat, fd, &st) < 0 || !S_ISREG(st.st_mode))
		return EINVAL;
	f->size = (uint64_t)st.st_size;
	if ((flags & O_DIRECT) && ptrc_file_reopen(fd, O_RDONLY | O_NOCTTY, &f->fd) == 0)
		return 0;
	own = ptrc_sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
	if (own < 0)
		return own == -EBADF ? EINVAL : ENOMEM;
	f->fd = (int)own;
	return 0;
}

static void file_close(struct ptrc_log_file *f)
{
	free(f->bytes);
	f->bytes = NULL;
	ptrc_file_end(&f->fd);
	f->fd = -1;
}

/* Adds received bytes to those kept, and drops the kept bytes before offset `first` of the log.
 * ENOMEM. */
static int file_add(struct ptrc_log_file *f, uint64_t first, const void *bytes, size_t size)
{
	size_t gone = first < f->size ? (size_t)(first - f->from) : f->used;

	f->used -= gone;
	f->from += gone;
	if (gone)
		memmove(f->bytes, f->bytes + gone, f->used);
	if (!PTRC_ARRAY_RESERVE(f->bytes, f->used, size + 1, &f->room))
		return ENOMEM;
	if (size)
		memcpy(f->bytes + f->used, bytes, size);
	f->used += size;
	f->size = f->from + f->used;
	return 0;
}

/* Reads exactly `bytes` bytes. EINVAL: the file ends earlier. */
static int file_read(const struct ptrc_log_file *f, uint64_t offset, void *to, uint64_t bytes)
{
	size_t got = 0;

	if (f->fd >= 0)
		return ptrc_file_read(f->fd, to, bytes, offset, &got) || got != bytes ? EINVAL : 0;
	if (offset < f->from || offset - f->from > f->used || f->used - (offset - f->from) < bytes)
		return EINVAL;
	memcpy(to, f->bytes + (offset - f->from), bytes);
	return 0;
}

/* Compares a payload, which is read in pieces, with its checksum. EINVAL: it is damaged, or extends
 * past the end of the file. */
static int file_compare(const struct ptrc_log_file *f, uint64_t offset, uint64_t length,
			uint32_t crc)
{
	uint8_t piece[4096];
	uint32_t sum = 0;

	while (length) {
		size_t bytes = length < sizeof(piece) ? length : sizeof(piece);

		if (file_read(f, offset, piece, bytes))
			return EINVAL;
		sum = ptrc_crc32c(sum, piece, bytes);
		offset += bytes;
		length -= bytes;
	}
	return sum == crc ? 0 : EINVAL;
}

/* Reads a payload, which the caller frees. A long payload is checked before memory is allocated for
 * it, because in a sparse file a false length of any size is easy to make. EINVAL: it is damaged,
 * or extends past the end of the file. ENOMEM. */
static int file_load(const struct ptrc_log_file *f, uint64_t offset, uint64_t length, uint32_t crc,
		     uint8_t **payload)
{
	uint8_t *bytes;

	if (length > PTRC_LOG_PAYLOAD_MAX && file_compare(f, offset, length, crc))
		return EINVAL;
	bytes = malloc(length + 1);
	if (!bytes)
		return ENOMEM;
	if (file_read(f, offset, bytes, length) || ptrc_crc32c(0, bytes, length) != crc) {
		free(bytes);
		return EINVAL;
	}
	*payload = bytes;
	return 0;
}

/* Reads the header of the packet at this offset. False: there is no complete packet at this
 * offset. */
static bool file_packet(const struct ptrc_log_file *f, uint64_t offset, struct ptrc_log_packet *p)
{
	return offset <= f->size && !file_read(f, offset, p, sizeof(*p)) &&
	       ptrc_log_is_packet(p, f->log_id, f->size - offset);
}

/* ---- head ---- */

/* Reads the head. EINVAL: the file is no log, or one of another kind of machine. EPROTO: this
 * library does not know the version of the log. */
static int file_head(struct ptrc_log_file *f)
{
	struct ptrc_log_begin begin[PTRC_LOG_HEAD_COPIES];
	const struct ptrc_log_begin *sound = NULL;
	const struct ptrc_log_head *h = &f->head;
	bool is_other = false;

	for (uint64_t i = PTRC_LOG_HEAD_COPIES; i-- > 0;) {
		bool is_read = !file_read(f, i * sizeof(*begin), &begin[i], sizeof(*begin));
		bool is_sound = is_read && ptrc_log_is_begin(&begin[i]);

		is_other |= is_read && ptrc_log_is_prefix(&begin[i].prefix) &&
			    !ptrc_log_version_is_known(begin[i].prefix.version);
		f->is_head_damaged |=
			!is_sound || (sound && memcmp(sound, &begin[i], sizeof(*sound)));
		sound = is_sound ? &begin[i] : sound;
	}
	if (!sound)
		return is_other ? EPROTO : EINVAL;
	f->head = sound->head;
	f->log_id = sound->packet.log_id;
	if (h->kind > PTRC_LOG_RING ||
	    (h->kind == PTRC_LOG_RING &&
	     (h->close_offset > INT64_MAX || h->ring_offset > INT64_MAX ||
	      h->ring_size > INT64_MAX - h->ring_offset)))
		return EINVAL;
	f->attr = (struct ptrc_attr){
		.magic = PTRC_ATTR_MAGIC,
		.createtime_sec = h->create_sec,
		.createtime_nsec = h->create_nsec,
		.clockres_sec = h->clockres_sec,
		.clockres_nsec = h->clockres_nsec,
		.inherited = (int32_t)h->inherited,
		.log_full_policy = (int32_t)h->log_policy,
		.stream_full_policy = (int32_t)h->stream_policy,
		.is_stream_size_set = 1,
		.max_data_size = h->max_data_size,
		.full_wait_ns = h->full_wait_ns,
		.log_rotate_bytes = h->rotate_bytes,
		.log_rotate_ns = h->rotate_ns,
		.log_keep = h->keep,
		.stream_min_size = h->stream_min_size,
		.log_max_size = h->log_max_size,
	};
	memcpy(f->attr.name, h->name, sizeof(f->attr.name));
	memcpy(f->attr.genversion, h->genversion, sizeof(f->attr.genversion));
	return ptrc_attr_validate(&f->attr);
}

/* ---- finding the packets of a file ---- */

/* Finds the packets of a file one after the other, and after damage searches for the next one.
 * `data` is a window on the file; `searched` counts towards SEARCH_MAX. All members but `f` start
 * as 0. */
struct ptrc_log_walk {
	struct ptrc_log_file *f;
	uint64_t from, bytes; /* offset and size of the window */
	uint64_t searched;
	uint8_t data[4096];
};

static bool walk_spend(struct ptrc_log_walk *w, uint64_t bytes)
{
	w->searched += bytes;
	return w->searched <= SEARCH_MAX;
}

/* Returns the bytes of the header at `offset`, and moves the window there if necessary. NULL: the
 * file ends earlier. */
static const uint8_t *look(struct ptrc_log_walk *w, uint64_t offset)
{
	const uint64_t bytes = sizeof(struct ptrc_log_packet);

	if (offset > w->f->size || w->f->size - offset < bytes)
		return NULL;
	if (offset < w->from || offset + bytes > w->from + w->bytes) {
		w->from = offset;
		w->bytes = ptrc_log_at_most(w->f->size - offset, sizeof(w->data));
		if (file_read(w->f, offset, w->data, w->bytes)) {
			w->bytes = 0;
			return NULL;
		}
	}
	return w->data + (offset - w->from);
}

/* Finds the packet at *offset, or the next one after it that begins before `end`. False: there is
 * no such packet, or too many bytes were searched. */
static bool walk_next(struct ptrc_log_walk *w, uint64_t *offset, uint64_t end,
		      struct ptrc_log_packet *p)
{
	static const uint8_t first = PTRC_LOG_PACKET_MAGIC & 0xff;
	const uint8_t *at;

	while (*offset < end && (at = look(w, *offset))) {
		const uint8_t *magic;
		uint64_t count;

		memcpy(p, at, sizeof(*p));
		if (ptrc_log_is_packet(p, w->f->log_id, w->f->size - *offset))
			return true;
		count = w->bytes - (*offset - w->from) - 1;
		magic = memchr(at + 1, first, count);
		count = magic ? (uint64_t)(magic - at) : count + 1;
		if (!walk_spend(w, count))
			return false;
		*offset += count;
	}
	return false;
}

/* ---- names ---- */

/* Sets the layout of a name, unless an earlier packet had a valid one. Ignores a layout of an
 * impossible size. ENOMEM. */
static int add_layout(struct ptrc_log_reader_name *n, const void *bytes, uint32_t count)
{
	if (n->layout || !count || count >= PTRC_NAMES_LAYOUT_BYTES || memchr(bytes, '\0', count))
		return 0;
	n->layout = strndup(bytes, count);
	return n->layout ? 0 : ENOMEM;
}

/* Adds a name that the file contains, unless it is known: a ring has all names twice, and if a
 * layout is set later, the name comes once more with it. */
static int add_name(struct ptrc_log_reader *r, struct ptrc_log_file *f, uint32_t id,
		    const void *bytes, uint32_t count, const void *layout, uint32_t layout_count)
{
	struct ptrc_log_reader_name *n;

	if (id < PTRC_ID_FIRST || id > PTRC_SET_ID_MAX || count >= sizeof(n->name))
		return 0;
	if (!r->names)
		r->names = calloc(PTRC_SET_ID_MAX + 1, sizeof(*r->names));
	if (!r->names)
		return ENOMEM;
	n = r->names[id];
	if (!n) {
		n = r->names[id] = calloc(1, sizeof(*n));
		if (!n)
			return ENOMEM;
		memcpy(n->name, bytes, count);
		r->name_count++;
	}
	f->name_count += n->file != f;
	n->file = f;
	return add_layout(n, layout, layout_count);
}

static int take_names(struct ptrc_log_reader *r, struct ptrc_log_file *f, const uint8_t *payload,
		      uint64_t length)
{
	uint64_t at = 0;
	int error = 0;

	while (!error && length - at >= sizeof(struct ptrc_log_name)) {
		struct ptrc_log_name n;
		uint64_t bytes;

		memcpy(&n, payload + at, sizeof(n));
		at += sizeof(n);
		bytes = ptrc_align8((uint64_t)n.name_bytes + n.layout_bytes);
		if (length - at < bytes)
			break;
		error = add_name(r, f, n.id, payload + at, n.name_bytes,
				 payload + at + n.name_bytes, n.layout_bytes);
		at += bytes;
	}
	return error;
}

/* The number of missing names. `recorded` is the number of names that STATUS states, which may be a
 * wrong number; `count` is the number of names found. */
static uint64_t missing_names(uint64_t recorded, uint64_t count)
{
	if (recorded > PTRC_NAMES_MAX)
		recorded = PTRC_NAMES_MAX;
	return recorded > count ? recorded - count : 0;
}

/* ---- packets ---- */

static int add_entry(struct ptrc_log_reader *r, struct ptrc_log_entry entry)
{
	if (!PTRC_ARRAY_RESERVE(r->entries, r->entry_count, 1, &r->entry_size))
		return ENOMEM;
	r->entries[r->entry_count++] = entry;
	return 0;
}

static bool read_status(const struct ptrc_log_file *f, const struct ptrc_log_packet *p,
			uint64_t offset, struct ptrc_log_status *status)
{
	struct ptrc_log_status s;
	uint8_t rest[256];

	if (p->length < sizeof(s) || p->length > sizeof(rest) ||
	    file_read(f, offset + sizeof(*p), rest, p->length) ||
	    ptrc_crc32c(0, rest, p->length) != p->payload_crc)
		return false;
	memcpy(&s, rest, sizeof(s));
	if ((s.stream_status != POSIX_TRACE_RUNNING && s.stream_status != POSIX_TRACE_SUSPENDED) ||
	    s.stream_full > 1 || s.stream_overrun > 1 || s.flush_status > 1 || s.log_overrun > 1 ||
	    s.log_full > 1 || s.flush_error > INT32_MAX)
		return false;
	*status = s;
	return true;
}

/* Takes the payload of a packet of names, or of one about origins (HOST, PROCESS, THREADS,
 * CLOCK). */
static int take_payload(struct ptrc_log_reader *r, struct ptrc_log_file *f,
			const struct ptrc_log_packet *p, uint64_t offset)
{
	bool has_names = p->type == PTRC_LOG_NAMES;
	uint8_t *payload;
	int error = p->length > NAMES_MAX ? EINVAL
					  : file_load(f, offset + sizeof(*p), p->length,
						      p->payload_crc, &payload);

	if (error == EINVAL) {
		/* A damaged NAMES packet counts as a missing name, unless it is the last packet,
		 * which may never have been completely written. A damaged packet about origins
		 * counts only as a damaged part. */
		r->is_names_torn = has_names;
		r->damaged_parts += !has_names;
		return 0;
	}
	if (error)
		return error;
	if (!has_names)
		return ptrc_log_whose_take(&r->whose, p->type, payload, p->length);
	error = take_names(r, f, payload, p->length);
	free(payload);
	return error;
}

/* Takes a packet. has_events: EVENTS packets may be in the range of the file that the caller walks;
 * in other ranges they are ignored. */
static int take_packet(struct ptrc_log_reader *r, struct ptrc_log_file *f,
		       const struct ptrc_log_packet *p, uint64_t offset, bool has_events)
{
	r->missing_names += r->is_names_torn;
	r->is_names_torn = false;
	switch (p->type) {
	case PTRC_LOG_EVENTS:
		return has_events ? add_entry(r,
					      (struct ptrc_log_entry){
						      .offset = offset,
						      .head = *p,
						      .events = p->event_count,
						      .file = (uint32_t)(f - r->files),
						      .is_lying = p->event_count >
								  p->length / EVENT_BYTES_MIN})
				  : 0;
	case PTRC_LOG_STATUS:
		f->has_status = read_status(f, p, offset, &f->status);
		return 0;
	case PTRC_LOG_NAMES:
	case PTRC_LOG_HOST:
	case PTRC_LOG_PROCESS:
	case PTRC_LOG_CLOCK:
	case PTRC_LOG_THREADS:
		return take_payload(r, f, p, offset);
	default: /* a type that a later version of the format has */
		return 0;
	}
}

/* Whether a payload of more than PTRC_LOG_PAYLOAD_MAX bytes has a single event, as it must. This is
 * checked before the whole payload is read, because its length may be damaged or forged. */
static bool is_single_event(const struct ptrc_log_file *f, const struct ptrc_log_entry *e)
{
	uint64_t at = ptrc_log_sections_offset(&e->head);
	struct ptrc_unpacker_shape shape;
	uint8_t heads[PAYLOAD_HEADS_MAX];
	struct ptrc_log_section section;
	struct ptrc_unpacker u;
	uint64_t len;

	if (at > sizeof(heads) - sizeof(section) - PTRC_PACKED_HEAD_MAX ||
	    file_read(f, e->offset + sizeof(struct ptrc_log_packet), heads, sizeof(heads)))
		return false;
	memcpy(&section, heads + at, sizeof(section));
	at += sizeof(section);
	u = ptrc_unpacker_begin(heads + at, PTRC_PACKED_HEAD_MAX, section.base_ns, &shape);
	return section.bytes == e->head.length - at && ptrc_unpacker_length(&u, &len) &&
	       len <= section.bytes && section.bytes - len <= PTRC_PACKED_HEAD_MAX;
}

/* Whether the packet can be undamaged, judging by its header, and by the start of its payload if
 * that is long. */
static bool can_be_whole(const struct ptrc_log_file *f, const struct ptrc_log_entry *e)
{
	return e->head.sums_bytes <= e->head.length &&
	       e->head.sums_bytes % sizeof(struct ptrc_type_sum) == 0 &&
	       (e->head.length <= PTRC_LOG_PAYLOAD_MAX || is_single_event(f, e));
}

/* Compares the payload of a packet with its checksum. EINVAL: it is damaged. */
static int check_payload(const struct ptrc_log_file *f, const struct ptrc_log_entry *e)
{
	if (!can_be_whole(f, e))
		return EINVAL;
	return file_compare(f, e->offset + sizeof(struct ptrc_log_packet), e->head.length,
			    e->head.payload_crc);
}

static void note_taken(struct ptrc_log_tail *t, const struct ptrc_log_packet *p, uint64_t offset)
{
	t->is_broken |= offset != t->end || p->seq != t->seq;
	t->crc = ptrc_crc32c(t->crc, p, offsetof(struct ptrc_log_packet, header_crc));
	t->end = offset + ptrc_log_packet_size(p);
	t->seq = p->seq + (p->type == PTRC_LOG_EVENTS);
}

/* Takes the packets from `offset` on. Adds to *damaged the number of places where the bytes between
 * two packets must be a damaged packet without events. That number is right only if these bytes
 * have never been overwritten: in a ring, they may be the rest of an old packet. */
static int walk(struct ptrc_log_reader *r, struct ptrc_log_walk *w, uint64_t offset, uint64_t end,
		bool has_events, uint64_t *damaged)
{
	struct ptrc_log_file *f = w->f;
	bool is_sure = true, is_torn = false;
	struct ptrc_log_packet p;
	uint64_t seq = f->head.first_seq; /* number that the next EVENTS packet should have */
	int error = 0;

	f->has_status = false;
	r->tail = (struct ptrc_log_tail){.from = offset, .end = offset, .seq = seq};
	while (!error) {
		uint64_t at = offset;
		bool is_there = walk_next(w, &at, end, &p);

		if (!is_sure && (!is_there || at != offset)) {
			/* No packet follows directly after the last EVENTS packet. If that packet
			 * is torn (not completely written), its length means nothing, and the next
			 * packet may begin within it. */
			struct ptrc_log_entry *e = &r->entries[r->entry_count - 1];

			if (check_payload(f, e)) {
				offset = e->offset + sizeof(p);
				e->is_damaged = true;
				is_sure = is_torn = true;
				r->tail.is_broken = true;
				if (!walk_spend(w, e->head.length))
					break;
				continue;
			}
		}
		if (!is_there)
			break;
		/* Bytes before this packet are a damaged packet without events, unless a number of
		 * an EVENTS packet is missing here. Fewer bytes than a header are not counted: a
		 * killed writer may have left them. (More bytes of such a writer would start with a
		 * valid header.) */
		*damaged += !is_torn && at - offset >= sizeof(p) && (!has_events || p.seq == seq);
		is_torn = false;
		seq = p.seq + (p.type == PTRC_LOG_EVENTS);
		note_taken(&r->tail, &p, at);
		if (p.type == PTRC_LOG_END && f->has_status) {
			f->is_closed = true;
			f->end_seq = p.seq;
			break;
		}
		error = take_packet(r, f, &p, at, has_events);
		is_sure = !has_events || p.type != PTRC_LOG_EVENTS;
		offset = at + ptrc_log_packet_size(&p);
	}
	return error;
}

static int by_seq(const void *x, const void *y)
{
	const struct ptrc_log_entry *a = x, *b = y;

	return PTRC_ORDER(a->head.seq, b->head.seq)
		       ?: PTRC_ORDER(a->is_damaged, b->is_damaged)
		       ?: PTRC_ORDER(a->offset, b->offset);
}

static int by_time(const void *x, const void *y)
{
	const struct ptrc_log_entry *a = x, *b = y;

	return PTRC_ORDER(a->head.first_ns, b->head.first_ns) ?: by_seq(x, y);
}

static void sort(struct ptrc_log_reader *r, size_t first,
		 int (*compare)(const void *x, const void *y))
{
	for (size_t i = first + 1; i < r->entry_count; i++)
		if (compare(&r->entries[i - 1], &r->entries[i]) > 0) {
			qsort(r->entries + first, r->entry_count - first, sizeof(*r->entries),
			      compare);
			return;
		}
}

/* Sorts the entries from index `first` on by their numbers, and keeps one entry of each number,
 * because after a failure a packet may have been written again. */
static void sort_entries(struct ptrc_log_reader *r, size_t first)
{
	size_t kept = first;

	sort(r, first, by_seq);
	for (size_t i = first; i < r->entry_count; i++)
		if (kept == first || r->entries[kept - 1].head.seq != r->entries[i].head.seq)
			r->entries[kept++] = r->entries[i];
	r->entry_count = kept;
}

bool ptrc_log_reader_absent_events(const struct ptrc_log_file *m, uint64_t *events)
{
	uint64_t had;

	if (!m->is_closed || m[1].head.ordinal - m->head.ordinal <= 1 ||
	    __builtin_add_overflow(m->head.events_before, m->status.log_events, &had) ||
	    had > m[1].head.events_before)
		return false;
	*events = m[1].head.events_before - had;
	return true;
}

/* Whether the packets with the numbers from `seq` to `end` - 1 are exactly those of missing files,
 * and the number of their events is known. Stores that number in *events, computed from the file
 * before and the file after them. */
static bool count_absent(const struct ptrc_log_reader *r, uint64_t seq, uint64_t end,
			 uint64_t *events)
{
	uint32_t low = 0, high = r->file_count;
	const struct ptrc_log_file *m;

	/* Finds the first file that begins with a packet of a number above `seq`. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (r->files[middle].head.first_seq > seq)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == 0 || low == r->file_count)
		return false;
	m = &r->files[low - 1];
	return m->end_seq == seq && m[1].head.first_seq == end &&
	       ptrc_log_reader_absent_events(m, events);
}

/* Makes an entry for the packets from number `seq` on that are missing between the packets `before`
 * and `after`, each of which may be NULL. */
static struct ptrc_log_entry missing_between(const struct ptrc_log_reader *r, uint64_t seq,
					     const struct ptrc_log_entry *before,
					     const struct ptrc_log_entry *after)
{
	struct ptrc_log_entry e = {
		.is_missing = true,
		.head = {.seq = seq,
			 .first_ns = ptrc_log_creation_ns(r->files->head.create_sec,
							  r->files->head.create_nsec)}};

	/* The gap begins a nanosecond after the last event before it, so that it comes after that
	 * event. */
	if (before)
		e.head.first_ns = before->head.last_ns + (before->head.last_ns < INT64_MAX);
	if (after && e.head.first_ns > after->head.first_ns)
		e.head.first_ns = after->head.first_ns;
	e.head.last_ns = after ? after->head.first_ns : e.head.first_ns;
	e.file = after ? after->file : before ? before->file : 0;
	e.is_absent = count_absent(r, seq, after ? after->head.seq : r->end_seq, &e.events);
	e.is_uncounted = !e.is_absent;
	e.events = e.is_absent ? e.events : 0;
	return e;
}

/* If packets are missing at a single place of a closed log, computes the number of their events:
 * STATUS has the number of all events. */
static void count_missing(struct ptrc_log_reader *r)
{
	struct ptrc_log_entry *missing = NULL;
	size_t places = 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < r->entry_count; i++) {
		if (r->entries[i].is_lying)
			return;
		sum += r->entries[i].events;
		if (r->entries[i].is_missing && !r->entries[i].is_absent) {
			missing = &r->entries[i];
			places++;
		}
	}
	if (places != 1 || !missing || !r->is_closed)
		return;
	missing->events = r->status.log_events > sum ? r->status.log_events - sum : 0;
	missing->is_uncounted = false;
}

/* Adds an entry for each place where packets are missing, from number `seq` on and, in a closed
 * log, up to end_seq. The entries are sorted by their numbers, without duplicates; the new ones are
 * added at the end, unsorted. ENOMEM. */
static int add_missing(struct ptrc_log_reader *r, uint64_t seq)
{
	size_t count = r->entry_count;

	for (size_t i = 0; i <= count; i++) {
		const struct ptrc_log_entry *e = r->entries;
		uint64_t next = i < count ? e[i].head.seq : r->is_closed ? r->end_seq : 0;

		if (next > seq && add_entry(r, missing_between(r, seq, i ? &e[i - 1] : NULL,
							       i < count ? &e[i] : NULL)))
			return ENOMEM;
		seq = next + 1;
	}
	if (r->entry_count > count)
		count_missing(r);
	return 0;
}

static int read_ring(struct ptrc_log_reader *r)
{
	for (size_t i = r->entry_count; i-- > 0;) {
		const struct ptrc_log_entry *e = &r->entries[i];
		uint8_t *payload;
		int error;

		if (!(e->head.flags & PTRC_LOG_HAS_RING) ||
		    e->head.length < (uint64_t)e->head.sums_bytes + sizeof(r->ring))
			continue;
		error = ptrc_log_reader_load(r, e, false, &payload);
		if (error == ENOMEM)
			return error;
		if (error)
			continue;
		memcpy(&r->ring, payload + e->head.sums_bytes, sizeof(r->ring));
		r->ring_seq = e->head.seq;
		free(payload);
		return 0;
	}
	return 0;
}

/* Drops damaged packets at the end of a file that was not closed: they may never have been
 * completely written. */
static void drop_torn_end(struct ptrc_log_reader *r, const struct ptrc_log_file *f, size_t first)
{
	while (!f->is_closed && r->entry_count > first && r->entries[r->entry_count - 1].is_damaged)
		r->entry_count--;
}

/* Whether no packet of the ring was ever overwritten. Only then are bytes that are no packet
 * certainly damage, and not the rest of an overwritten packet. The entries are in the order of
 * their numbers. */
static bool is_first_lap(const struct ptrc_log_reader *r)
{
	for (size_t i = 1; i < r->entry_count; i++)
		if (r->entries[i].offset < r->entries[i - 1].offset)
			return false;
	return r->ring.oldest_seq == 0;
}

static int open_ring(struct ptrc_log_reader *r, struct ptrc_log_walk *w)
{
	struct ptrc_log_file *f = w->f;
	uint64_t end = f->head.ring_offset + f->head.ring_size;
	uint64_t in_ring = 0, unused = 0;
	size_t first = 0;
	int error = walk(r, w, f->head.close_offset, f->head.ring_offset, false, &unused)
			    ?: walk(r, w, f->head.ring_offset, end, true, &in_ring);

	if (!error && end < f->size)
		error = walk(r, w, end, f->size, false, &r->damaged_parts);
	if (error)
		return error;
	sort_entries(r, 0);
	/* Drops packets that a failed flush has left and that are no part of the log: their numbers
	 * are not below that of END. */
	while (f->is_closed && r->entry_count &&
	       r->entries[r->entry_count - 1].head.seq >= f->end_seq)
		r->entry_count--;
	drop_torn_end(r, f, 0);
	error = read_ring(r);
	if (error)
		return error;
	if (is_first_lap(r))
		r->damaged_parts += in_ring;
	while (first < r->entry_count && r->entries[first].head.seq < r->ring.oldest_seq)
		first++;
	r->entry_count -= first;
	if (first)
		memmove(r->entries, r->entries + first, r->entry_count * sizeof(*r->entries));
	/* Only the newest packet says which packet should be the oldest. If the log is not closed,
	 * that oldest packet may be missing without damage: a keeper may have died while
	 * overwriting it. */
	if (!r->entry_count)
		f->first_seq = f->end_seq - (f->end_seq && f->status.log_events);
	else if (f->is_closed && r->entries[r->entry_count - 1].head.seq + 1 == f->end_seq &&
		 r->ring_seq + 1 == f->end_seq)
		f->first_seq = r->ring.oldest_seq;
	else
		f->first_seq = r->entries[0].head.seq;
	return 0;
}

/* ---- opening by the index ---- */

/* An INDEX packet. */
struct index_piece {
	uint64_t offset, size; /* offset and size of the packet */
	uint32_t count;
	uint8_t *payload;
};

struct index_pieces {
	struct index_piece *piece; /* in reverse order: the last INDEX packet of the file first */
	size_t count, size;
};

static void free_pieces(struct index_pieces *all)
{
	for (size_t i = 0; i < all->count; i++)
		free(all->piece[i].payload);
	free(all->piece);
}

/* Reads the packet of this type at `offset`, whose payload must have at most `most` bytes; the
 * caller frees the payload. EINVAL: there is no packet of this type, or it is damaged. EFBIG: it is
 * an INDEX packet with more bytes. ENOMEM. */
static int load_packet(const struct ptrc_log_file *f, uint64_t offset, uint16_t type, uint64_t most,
		       struct ptrc_log_packet *p, uint8_t **payload)
{
	if (offset < PTRC_LOG_HEADS_BYTES || !file_packet(f, offset, p) || p->type != type)
		return EINVAL;
	if (p->length > most)
		return type == PTRC_LOG_INDEX ? EFBIG : EINVAL;
	return file_load(f, offset + sizeof(*p), p->length, p->payload_crc, payload);
}

/* Reads the INDEX packets, from the last one, at `offset`, back to the first. EINVAL: one of them
 * is damaged. EFBIG: they are larger than INDEX_MAX. ENOMEM. */
static int load_pieces(const struct ptrc_log_file *f, uint64_t offset, struct index_pieces *all)
{
	uint64_t most = INDEX_MAX;

	do {
		struct ptrc_log_index_head head;
		struct ptrc_log_packet p;
		struct index_piece *piece;
		int error;

		if (!PTRC_ARRAY_RESERVE(all->piece, all->count, 1, &all->size))
			return ENOMEM;
		piece = &all->piece[all->count];
		error = load_packet(f, offset, PTRC_LOG_INDEX, most, &p, &piece->payload);
		if (error)
			return error;
		all->count++;
		most -= p.length;
		if (p.length < sizeof(head))
			return EINVAL;
		memcpy(&head, piece->payload, sizeof(head));
		if (head.previous >= offset ||
		    p.length != sizeof(head) + head.count * sizeof(struct ptrc_log_packet))
			return EINVAL;
		piece->offset = offset;
		piece->size = ptrc_log_packet_size(&p);
		piece->count = head.count;
		offset = head.previous;
	} while (offset);
	return 0;
}

/* Whether the header at `offset` in the file equals `said`, the header in the index. */
static bool has_header(const struct ptrc_log_file *f, uint64_t offset,
		       const struct ptrc_log_packet *said)
{
	struct ptrc_log_packet p;

	return !file_read(f, offset, &p, sizeof(p)) && memcmp(&p, said, sizeof(p)) == 0;
}

/* Visits the packets that the INDEX packets list, and takes them if `takes` is set. *events becomes
 * the number of their events, *offset the end of the last INDEX packet. EINVAL: by the index, the
 * packets do not follow directly on each other. ENOMEM. */
static int go_over(struct ptrc_log_reader *r, struct ptrc_log_file *f,
		   const struct index_pieces *all, bool takes, uint64_t *events, uint64_t *offset)
{
	*offset = PTRC_LOG_HEADS_BYTES;
	*events = 0;
	for (size_t i = all->count; i-- > 0;) {
		const struct index_piece *piece = &all->piece[i];
		const struct ptrc_log_packet *packets =
			(const void *)(piece->payload + sizeof(struct ptrc_log_index_head));

		for (uint32_t k = 0; k < piece->count; k++) {
			struct ptrc_log_packet p = packets[k];
			int error;

			if (p.magic || p.type == PTRC_LOG_STATUS || p.length > piece->offset ||
			    ptrc_log_packet_size(&p) > piece->offset - *offset)
				return EINVAL;
			p.magic = PTRC_LOG_PACKET_MAGIC;
			*events += p.type == PTRC_LOG_EVENTS ? p.event_count : 0;
			error = takes ? take_packet(r, f, &p, *offset, true) : 0;
			if (error)
				return error;
			/* The headers of EVENTS packets are compared later
			 * (ptrc_log_reader_verify()); the others are few, and are compared here. */
			if (takes && p.type != PTRC_LOG_EVENTS)
				r->differing_headers += !has_header(f, *offset, &p);
			*offset += ptrc_log_packet_size(&p);
		}
		if (*offset != piece->offset)
			return EINVAL;
		*offset += piece->size;
	}
	return 0;
}

/* Adds the payload of a TOTALS packet to r->totals. EINVAL: the payload is impossible, or the sum
 * of its counts is not `events`. ENOMEM. */
static int take_totals(struct ptrc_log_reader *r, const uint8_t *payload, uint64_t length,
		       uint64_t events)
{
	const struct ptrc_log_total *total =
		(const void *)(payload + sizeof(struct ptrc_log_totals_head));
	struct ptrc_log_totals_head head;
	const uint64_t *filter;
	uint32_t next_id = 0;

	if (length < sizeof(head))
		return EINVAL;
	memcpy(&head, payload, sizeof(head));
	if (head.type_count > PTRC_TYPE_SUMS_MAX || head.filter_words > PTRC_SET_WORD_COUNT ||
	    length != sizeof(head) + head.type_count * sizeof(*total) +
			      head.filter_words * sizeof(*filter))
		return EINVAL;
	for (uint32_t i = 0; i < head.type_count; i++) {
		if (total[i].id >= PTRC_TYPE_SUMS_MAX || total[i].id < next_id)
			return EINVAL;
		next_id = total[i].id + 1;
		events -= total[i].events;
	}
	if (events)
		return EINVAL;
	if (!r->totals)
		r->totals = calloc(PTRC_TYPE_SUMS_MAX, sizeof(*r->totals));
	if (!r->totals)
		return ENOMEM;
	for (uint32_t i = 0; i < head.type_count; i++)
		ptrc_log_total_add(&r->totals[total[i].id], total[i].events, total[i].bytes,
				   total[i].truncated);
	filter = (const void *)&total[head.type_count];
	for (uint32_t i = 0; i < head.filter_words; i++)
		r->filtered[i] |= filter[i];
	return 0;
}

/* Takes the packets that the INDEX packets list, and the TOTALS packet between these and `end`.
 * `events` is the number of events by STATUS. EINVAL: index, TOTALS and STATUS contradict each
 * other, and nothing has changed. ENOMEM. */
static int take_index(struct ptrc_log_reader *r, struct ptrc_log_file *f,
		      const struct index_pieces *all, uint64_t events, uint64_t end)
{
	struct ptrc_log_packet p;
	uint64_t offset, listed;
	uint8_t *totals;
	int error = go_over(r, f, all, false, &listed, &offset)
			    ?: load_packet(f, offset, PTRC_LOG_TOTALS, TOTALS_MAX, &p, &totals);
	if (error)
		return error;
	error = listed != events || offset + ptrc_log_packet_size(&p) != end
			? EINVAL
			: take_totals(r, totals, p.length, events);
	free(totals);
	return error ?: go_over(r, f, all, true, &listed, &offset);
}

/* Opens a closed sequential file by the index before its end. EINVAL: there is no index, or a byte
 * of it is wrong. EFBIG: it is too large. After these two, nothing has changed. ENOMEM. */
static int open_by_index(struct ptrc_log_reader *r, struct ptrc_log_file *f)
{
	uint64_t status = f->size - PTRC_LOG_CLOSE_BYTES;
	struct ptrc_log_packet p, end;
	struct index_pieces all = {0};
	struct ptrc_log_status s;
	int error;

	if (f->size < PTRC_LOG_HEADS_BYTES + PTRC_LOG_CLOSE_BYTES || !file_packet(f, status, &p) ||
	    p.type != PTRC_LOG_STATUS || ptrc_log_packet_size(&p) != sizeof(p) + sizeof(s) ||
	    !file_packet(f, f->size - sizeof(end), &end) || end.type != PTRC_LOG_END ||
	    !read_status(f, &p, status, &s) || !s.index_offset)
		return EINVAL;
	error = load_pieces(f, s.index_offset, &all)
			?: take_index(r, f, &all, s.log_events, status);
	free_pieces(&all);
	if (error)
		return error;
	r->missing_names += r->is_names_torn;
	r->is_names_torn = false;
	f->status = s;
	f->has_totals = f->has_status = f->is_closed = true;
	f->end_seq = end.seq;
	return 0;
}

/* ---- opening ---- */

int ptrc_log_reader_head(int fd, struct ptrc_log_head *head)
{
	struct ptrc_log_file f;
	int error = file_open(fd, &f) ?: file_head(&f);
	if (!error)
		*head = f.head;
	file_close(&f);
	return error;
}

static int take_file(struct ptrc_log_reader *r, struct ptrc_log_file *f)
{
	struct ptrc_log_walk w = {.f = f};
	size_t first = r->entry_count;
	bool is_refused;
	int error;

	f->first_seq = f->head.first_seq;
	if (f->head.kind == PTRC_LOG_RING)
		return open_ring(r, &w);
	error = open_by_index(r, f);
	is_refused = error == EINVAL;
	if (error == EINVAL || error == EFBIG)
		error = walk(r, &w, PTRC_LOG_HEADS_BYTES, f->size, true, &r->damaged_parts);
	/* STATUS names an index that could not be used, or bytes follow END. */
	r->damaged_parts += f->is_closed && !f->has_totals &&
			    ((is_refused && f->status.index_offset) || r->tail.end < f->size);
	sort_entries(r, first);
	drop_torn_end(r, f, first);
	return error;
}

/* Opens the next file of the log, and adds its contents to those of the files before it. */
static int open_file(struct ptrc_log_reader *r, int fd)
{
	struct ptrc_log_file *f = &r->files[r->file_count];
	uint64_t before = r->missing_names, torn;
	int error = file_open(fd, f);

	if (error)
		return error;
	r->file_count++;
	error = file_head(f) ?: take_file(r, f);
	if (error)
		return error;
	r->damaged_parts += f->is_head_damaged;
	if (!f->is_closed || !f->status.names)
		return 0;
	/* The number of missing names follows from STATUS, and not from the damaged NAMES packets:
	 * a ring has each name twice, and a packet whose header is damaged is not found at all. */
	torn = r->missing_names - before;
	r->missing_names = before + missing_names(f->status.names, f->name_count);
	/* If no name is missing, each damaged NAMES packet counts as a damaged part, because it may
	 * have had the only copy of a layout. */
	if (r->missing_names == before)
		r->damaged_parts += torn;
	return 0;
}

/* Adds `own`, the losses of one file, to *count, the losses of the files before it. First raises
 * *count to `least`, the losses before the file by its head: an earlier STATUS may be missing. */
static void join(uint64_t *count, uint64_t least, uint64_t own)
{
	*count = (*count < least ? least : *count) + own;
}

/* Stores in r->status the losses of all files together. */
static void join_losses(struct ptrc_log_reader *r)
{
	const struct ptrc_log_file *m = r->files;
	struct ptrc_log_before all = m[0].head.before;
	const struct ptrc_log_before none = {0}, first = r->is_whole ? none : all;
	const struct ptrc_log_status unknown = {0};
	uint64_t unobserved = all.unobserved_events;
	struct ptrc_log_status *s = &r->status;

	all.is_overrun &= r->is_whole;
	for (uint32_t i = 0; i < r->file_count; i++) {
		const struct ptrc_log_before *before = &m[i].head.before;
		const struct ptrc_log_status *own = m[i].is_closed ? &m[i].status : &unknown;

		join(&all.lost_events, before->lost_events, own->lost_events);
		join(&all.log_lost_events, before->log_lost_events, own->log_lost_events);
		join(&unobserved, before->unobserved_events, own->unobserved_events);
		join(&all.waits, before->waits, own->waits);
		join(&all.wait_ns, before->wait_ns, own->wait_ns);
		all.is_overrun |= own->stream_overrun | (before->is_overrun && (i || r->is_whole));
	}
	s->lost_events = all.lost_events - first.lost_events;
	s->log_lost_events = all.log_lost_events - first.log_lost_events;
	s->unobserved_events =
		(uint32_t)ptrc_log_at_most(unobserved - first.unobserved_events, UINT32_MAX);
	s->waits = all.waits - first.waits;
	s->wait_ns = all.wait_ns - first.wait_ns;
	s->stream_overrun = all.is_overrun != 0;
}

/* Makes r->status, the status of the whole log, from the STATUS packets of its files. */
static void join_status(struct ptrc_log_reader *r)
{
	const struct ptrc_log_file *last = &r->files[r->file_count - 1];
	struct ptrc_log_status *s = &r->status;

	*s = last->status;
	r->is_closed = last->is_closed;
	r->end_seq = last->end_seq;
	r->is_last_missing =
		r->is_whole && last->is_closed && (last->status.flags & PTRC_LOG_GOES_ON);
	for (uint32_t i = 0; i + 1 < r->file_count; i++) {
		const struct ptrc_log_status *m = &r->files[i].status;

		s->log_bytes += m->log_bytes;
		s->log_overrun |= m->log_overrun;
		/* A file is ended before the next one is begun. */
		r->damaged_parts += !r->files[i].is_closed;
	}
	/* Each head says how many events precede its file, so the events of missing and damaged
	 * files are counted, too. */
	s->log_events += last->head.events_before - r->files->head.events_before;
	join_losses(r);
	if (r->is_closed && s->names)
		r->missing_names = missing_names(s->names, r->name_count);
}

static int finish(struct ptrc_log_reader *r)
{
	int error;

	ptrc_log_whose_sort(&r->whose);
	join_status(r);
	sort_entries(r, 0);
	if (!r->is_closed && r->entry_count)
		r->end_seq = r->entries[r->entry_count - 1].head.seq + 1;
	error = add_missing(r, r->files->first_seq);
	sort(r, 0, by_time);
	return error;
}

int ptrc_log_reader_open_all(const int *fds, size_t count, bool is_whole, struct ptrc_log_reader *r)
{
	int error = 0;

	memset(r, 0, sizeof(*r));
	r->is_whole = is_whole;
	r->files = calloc(count, sizeof(*r->files));
	if (!r->files)
		return ENOMEM;
	for (size_t i = 0; i < count && !error; i++)
		error = open_file(r, fds[i]);
	if (!error)
		error = finish(r);
	if (error)
		ptrc_log_reader_close(r);
	return error;
}

void ptrc_log_reader_close(struct ptrc_log_reader *r)
{
	for (uint32_t i = 0; i < r->file_count; i++)
		file_close(&r->files[i]);
	for (size_t id = 0; r->names && id <= PTRC_SET_ID_MAX; id++)
		if (r->names[id]) {
			ptrc_layout_fields_free(r->names[id]->fields);
			free(r->names[id]->layout);
			free(r->names[id]);
		}
	free(r->names);
	free(r->files);
	free(r->entries);
	free(r->totals);
	ptrc_log_whose_free(&r->whose);
	memset(r, 0, sizeof(*r));
}

/* ---- a log that grows ---- */

/* Whether the payload of a packet of this type can be as long as the header says. A longer one is
 * damage, and must not make the reader wait for bytes that never come. */
static bool has_good_length(const struct ptrc_log_packet *p)
{
	return p->length <= (p->type == PTRC_LOG_EVENTS
				     ? UINT32_MAX + UINT64_C(1) + PAYLOAD_HEADS_MAX
				     : NAMES_MAX);
}

/* Takes the complete packet `p` at r->tail.end. ESTALE: the packet is wrong, or the file has to be
 * opened again. ENOMEM. */
static int take_next(struct ptrc_log_reader *r, struct ptrc_log_file *f,
		     const struct ptrc_log_packet *p)
{
	uint64_t offset = r->tail.end;
	bool is_end = p->type == PTRC_LOG_END, is_status = p->type == PTRC_LOG_STATUS;
	int error;

	if (f->is_closed || p->seq != r->tail.seq || (!r->is_parts && (is_end || is_status)) ||
	    (is_end && !f->has_status))
		return ESTALE;
	if (p->type != PTRC_LOG_EVENTS &&
	    file_compare(f, offset + sizeof(*p), p->length, p->payload_crc))
		return ESTALE;
	error = take_packet(r, f, p, offset, true);
	if (error || (is_status && !f->has_status))
		return error ?: ESTALE;
	f->is_closed = is_end;
	note_taken(&r->tail, p, offset);
	return 0;
}

/* Takes all complete packets after r->tail.end. ESTALE: something else than a packet follows, or
 * take_next() has refused a packet. ENOMEM. */
static int take_following(struct ptrc_log_reader *r, struct ptrc_log_file *f)
{
	struct ptrc_log_packet p;
	int error = 0;

	while (!error && !file_read(f, r->tail.end, &p, sizeof(p))) {
		if (!ptrc_log_is_header(&p, f->log_id) || !has_good_length(&p))
			error = ESTALE;
		else if (ptrc_log_is_packet(&p, f->log_id, f->size - r->tail.end))
			error = take_next(r, f, &p);
		else
			break;
	}
	r->end_seq = r->tail.seq;
	return error;
}

/* ---- a file that grows ---- */

/* Whether the log is of a kind that can grow, and everything taken so far is undamaged, so that
 * only the bytes that were appended later have to be read. */
static bool can_grow(const struct ptrc_log_reader *r)
{
	const struct ptrc_log_head *h = &r->files->head;

	return r->file_count == 1 && h->kind == PTRC_LOG_SEQUENTIAL && !h->rotate_bytes &&
	       !h->rotate_ns && !r->is_closed && !r->tail.is_broken && !r->missing_names &&
	       !r->is_names_torn && !r->damaged_parts;
}

static bool has_same_head(const struct ptrc_log_file *f)
{
	struct ptrc_log_file now = {.fd = f->fd, .size = f->size};

	return !file_head(&now) && !now.is_head_damaged && now.log_id == f->log_id &&
	       memcmp(&now.head, &f->head, sizeof(now.head)) == 0;
}

/* Checks that the headers since t->from are unchanged. Then moves t->from to the packet number
 * `first`, or to the last packet if that comes earlier. ESTALE: a header has changed. */
static int compare_tail(struct ptrc_log_reader *r, struct ptrc_log_walk *w, uint64_t first)
{
	struct ptrc_log_tail *t = &r->tail, all = {.from = t->from, .end = t->from}, kept = all;
	bool is_kept = false;

	while (all.end < t->end) {
		uint64_t at = all.end;
		struct ptrc_log_packet p;

		if (!walk_next(w, &at, at + 1, &p))
			return ESTALE;
		note_taken(&all, &p, at);
		if (!is_kept && (p.seq >= first || all.end == t->end)) {
			is_kept = true;
			kept = (struct ptrc_log_tail){.from = at, .end = at};
		}
		if (is_kept)
			note_taken(&kept, &p, at);
	}
	if (all.end != t->end || all.crc != t->crc)
		return ESTALE;
	t->from = kept.from;
	t->crc = kept.crc;
	return 0;
}

static void forget_entries(struct ptrc_log_reader *r, uint64_t first)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->entry_count; i++) {
		const struct ptrc_log_entry *e = &r->entries[i];

		if (e->head.seq >= first) {
			r->entries[kept++] = *e;
		} else if (!e->is_lying) {
			r->forgotten_events += e->events;
			r->forgotten_bytes += e->head.counted;
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

/* Whether another packet follows the incomplete packet at the end. Packets are written one after
 * the other; so the writer of the incomplete packet is gone, and that packet stays incomplete. */
static bool is_abandoned(const struct ptrc_log_reader *r, struct ptrc_log_walk *w)
{
	uint64_t at = r->tail.end + sizeof(struct ptrc_log_packet);
	struct ptrc_log_packet p;

	return walk_next(w, &at, UINT64_MAX, &p);
}

static bool ends_with_events(const struct ptrc_log_reader *r)
{
	const struct ptrc_log_entry *e = &r->entries[r->entry_count - 1];

	return e->offset + ptrc_log_packet_size(&e->head) == r->tail.end;
}

/* Takes the packets that were appended to the file. ESTALE, ENOMEM. */
static int take_new(struct ptrc_log_reader *r, struct ptrc_log_file *f, struct ptrc_log_walk *w)
{
	size_t count = r->entry_count;
	struct ptrc_log_packet end;
	int error;

	/* A log that was closed has to be opened again, because only an open reads its index. */
	if (file_packet(f, f->size - sizeof(end), &end) && end.type == PTRC_LOG_END)
		return ESTALE;
	error = take_following(r, f);
	if (error)
		return error;
	/* Only the last packet can be torn (not completely written): each earlier one is complete,
	 * because another packet follows it. */
	if (!can_grow(r) || is_abandoned(r, w) ||
	    (r->entry_count > count && ends_with_events(r) &&
	     check_payload(f, &r->entries[r->entry_count - 1])))
		return ESTALE;
	return 0;
}

int ptrc_log_reader_grow(struct ptrc_log_reader *r, uint64_t first)
{
	struct ptrc_log_file *f = r->files;
	struct ptrc_log_walk w = {.f = f};
	struct stat st;
	int error;

	if (!can_grow(r) || ptrc_sys(SYS_fstat, f->fd, &st) < 0 ||
	    (uint64_t)st.st_size < r->tail.end)
		return ESTALE;
	f->size = (uint64_t)st.st_size;
	if (!has_same_head(f))
		return ESTALE;
	error = compare_tail(r, &w, first);
	if (!error) {
		forget_entries(r, first);
		error = take_new(r, f, &w);
	}
	sort(r, 0, by_time);
	ptrc_log_whose_sort(&r->whose);
	return error;
}

/* ---- a log that comes in parts ---- */

/* Takes the packets that are complete with these bytes. ESTALE: the bytes are no packets of the
 * log. ENOMEM. */
static int take_parts(struct ptrc_log_reader *r, const void *bytes, size_t size)
{
	struct ptrc_log_file *f = r->files;
	uint64_t needed = r->entry_count ? r->entries[0].offset : r->tail.end;
	int error = file_add(f, needed, bytes, size) ?: take_following(r, f);
	r->status = f->status;
	r->is_closed = f->is_closed;
	return error;
}

int ptrc_log_reader_begin(const void *bytes, size_t size, struct ptrc_log_reader *r)
{
	struct ptrc_log_file *f = calloc(1, sizeof(*f));
	int error;

	memset(r, 0, sizeof(*r));
	if (!f)
		return ENOMEM;
	f->fd = -1;
	r->files = f;
	r->file_count = 1;
	r->is_parts = true;
	error = file_add(f, 0, bytes, size) ?: file_head(f);
	if (!error && (f->head.kind != PTRC_LOG_SEQUENTIAL || f->is_head_damaged))
		error = EINVAL;
	r->tail = (struct ptrc_log_tail){.end = PTRC_LOG_HEADS_BYTES};
	if (!error)
		error = take_parts(r, "", 0);
	if (error)
		ptrc_log_reader_close(r);
	return error == ESTALE ? EINVAL : error;
}

int ptrc_log_reader_feed(struct ptrc_log_reader *r, const void *bytes, size_t size, size_t read)
{
	int error;

	r->entry_count -= read;
	if (read)
		memmove(r->entries, r->entries + read, r->entry_count * sizeof(*r->entries));
	if (r->is_refused)
		return EPROTO;
	error = take_parts(r, bytes, size);
	r->is_refused = error;
	return error == ESTALE ? EPROTO : error;
}

/* ---- reading ---- */

int ptrc_log_reader_load(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e,
			 bool sums_only, uint8_t **payload)
{
	const struct ptrc_log_file *f = &r->files[e->file];

	if (e->is_missing || e->is_damaged || !can_be_whole(f, e) ||
	    (sums_only && e->head.sums_bytes > PTRC_TYPE_SUMS_MAX * sizeof(struct ptrc_type_sum)))
		return EINVAL;
	return file_load(f, e->offset + sizeof(e->head),
			 sums_only ? e->head.sums_bytes : e->head.length,
			 sums_only ? e->head.sums_crc : e->head.payload_crc, payload);
}

bool ptrc_log_reader_has_totals(const struct ptrc_log_reader *r)
{
	for (uint32_t i = 0; i < r->file_count; i++)
		if (!r->files[i].has_totals)
			return false;
	return ptrc_log_last_ordinal(r) - r->files->head.ordinal + 1 == r->file_count;
}

/* Subtracts the sums of a packet from `all`. EINVAL: the packet is unreadable. ENOMEM. */
static int subtract_sums(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e,
			 struct ptrc_log_total *all)
{
	const struct ptrc_type_sum *sums;
	uint8_t *payload;
	int error = ptrc_log_reader_load(r, e, true, &payload);

	if (error)
		return error;
	sums = (const void *)payload;
	for (size_t i = 0; i < e->head.sums_bytes / sizeof(*sums); i++)
		ptrc_log_total_add(&all[sums[i].id & PTRC_REC_ID_MASK], -(uint64_t)sums[i].events,
				   -(uint64_t)sums[i].bytes, -(uint64_t)sums[i].truncated);
	free(payload);
	return 0;
}

int ptrc_log_reader_verify(const struct ptrc_log_reader *r, uint64_t *differing)
{
	struct ptrc_log_total *all;
	bool differs = false;

	*differing = r->damaged_parts + r->differing_headers;
	if (!r->totals)
		return 0;
	all = malloc(PTRC_TYPE_SUMS_MAX * sizeof(*all));
	if (!all)
		return ENOMEM;
	memcpy(all, r->totals, PTRC_TYPE_SUMS_MAX * sizeof(*all));
	for (size_t i = 0; i < r->entry_count; i++) {
		const struct ptrc_log_entry *e = &r->entries[i];
		const struct ptrc_log_file *f = &r->files[e->file];
		int error;

		if (!f->has_totals || e->is_absent)
			continue;
		error = subtract_sums(r, e, all);
		if (error == ENOMEM) {
			free(all);
			return ENOMEM;
		}
		*differing += error || !has_header(f, e->offset, &e->head);
	}
	for (size_t id = 0; id < PTRC_TYPE_SUMS_MAX; id++)
		differs |= all[id].events || all[id].bytes || all[id].truncated;
	*differing += differs && !*differing;
	free(all);
	return 0;
}

bool ptrc_log_reader_is_replaced(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e)
{
	struct ptrc_log_packet p;

	if (r->files->head.kind != PTRC_LOG_RING || r->is_closed)
		return false;
	if (e->is_missing)
		return true;
	return file_read(r->files, e->offset, &p, sizeof(p)) || p.magic != PTRC_LOG_PACKET_MAGIC ||
	       p.log_id != r->files->log_id || p.seq != e->head.seq ||
	       p.payload_crc != e->head.payload_crc;
}
