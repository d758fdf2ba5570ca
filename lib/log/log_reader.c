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
#include "lib/base/sys.h"

/* Headers are looked at through this much of the file at a time. */
#define WINDOW_BYTES 65536U
/* Looking for the next packet behind damage goes no further than this in all, what was
 * read of packets that are none included, so that no file, however big or sparse, keeps an
 * open busy for long. */
#define SEARCH_MAX (UINT64_C(256) << 20)
/* Names of one packet; it is 270 KB at most. */
#define NAMES_MAX (UINT64_C(1) << 20)

struct window {
	const struct ptrc_log_reader *r;
	uint64_t from;
	uint64_t bytes;
	uint64_t searched;
	uint8_t data[WINDOW_BYTES];
};

/* Exactly so many bytes: EINVAL if the file does not have them. */
static int read_at(const struct ptrc_log_reader *r, uint64_t offset, void *to,
		   uint64_t bytes)
{
	uint8_t *out = to;

	while (bytes) {
		long n = ptrc_sys(SYS_pread64, r->fd, out,
				  bytes < 1 << 30 ? bytes : 1 << 30, offset);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return EINVAL;
		out += n;
		offset += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return 0;
}

/* So many bytes of the file, or null. */
static const uint8_t *look(struct window *w, uint64_t offset, uint64_t bytes)
{
	if (offset >= w->from && offset - w->from <= w->bytes &&
	    w->bytes - (offset - w->from) >= bytes)
		return w->data + (offset - w->from);
	if (offset > w->r->size || w->r->size - offset < bytes)
		return NULL;
	w->from = offset;
	w->bytes =
		w->r->size - offset < WINDOW_BYTES ? w->r->size - offset : WINDOW_BYTES;
	if (read_at(w->r, offset, w->data, w->bytes)) {
		w->bytes = 0;
		return NULL;
	}
	return w->data;
}

static bool is_packet(const struct ptrc_log_reader *r, const struct ptrc_log_packet *p,
		      uint64_t offset)
{
	uint64_t room = r->size - offset;

	return p->magic == PTRC_LOG_PACKET_MAGIC &&
	       p->header_crc ==
		       ptrc_crc32c(0, p, offsetof(struct ptrc_log_packet, header_crc)) &&
	       (r->log_id == 0 || p->log_id == r->log_id) && room >= sizeof(*p) &&
	       p->length <= room - sizeof(*p);
}

/* The packet at *offset, or the next one behind it before `end`. */
static bool next_packet(struct window *w, uint64_t *offset, uint64_t end,
			struct ptrc_log_packet *p)
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
		if (is_packet(w->r, p, *offset))
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

static int64_t valid_policy(uint32_t policy)
{
	return policy <= INT32_MAX ? (int64_t)policy : -1;
}

static int read_head(struct ptrc_log_reader *r)
{
	struct ptrc_log_prefix prefix, zero = {.zero0 = 0};
	struct ptrc_log_packet p;
	struct ptrc_log_head *h = &r->head;
	uint8_t *payload;
	int err;

	if (read_at(r, 0, &prefix, sizeof(prefix)) ||
	    read_at(r, sizeof(prefix), &p, sizeof(p)))
		return EINVAL;
	if (memcmp(prefix.signature, PTRC_LOG_SIGNATURE, sizeof(prefix.signature)) != 0 ||
	    prefix.byte_order != PTRC_LOG_BYTE_ORDER ||
	    prefix.version != PTRC_LOG_VERSION ||
	    prefix.word_size != PTRC_LOG_WORD_SIZE ||
	    prefix.machine != PTRC_LOG_MACHINE || prefix.zero0 != 0 ||
	    memcmp(prefix.zero1, zero.zero1, sizeof(zero.zero1)) != 0)
		return EINVAL;
	if (!is_packet(r, &p, sizeof(prefix)) || p.type != PTRC_LOG_HEAD ||
	    p.length < sizeof(*h) || p.length > NAMES_MAX || p.log_id == 0)
		return EINVAL;
	payload = malloc(p.length);
	if (!payload)
		return ENOMEM;
	err = read_at(r, sizeof(prefix) + sizeof(p), payload, p.length);
	if (!err && ptrc_crc32c(0, payload, p.length) != p.payload_crc)
		err = EINVAL;
	memcpy(h, payload, sizeof(*h));
	free(payload);
	if (err)
		return err;
	r->log_id = p.log_id;
	r->head_end = sizeof(prefix) + packet_size(&p);
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
	r->attr.inherited = (int32_t)valid_policy(h->inherited);
	r->attr.log_full_policy = (int32_t)valid_policy(h->log_policy);
	r->attr.stream_full_policy = (int32_t)valid_policy(h->stream_policy);
	r->attr.is_stream_size_set = 1;
	r->attr.max_data_size = h->max_data_size;
	r->attr.stream_min_size = h->stream_min_size;
	r->attr.log_max_size = h->log_max_size;
	return ptrc_attr_validate(&r->attr);
}

/* ---- names ---- */

static int add_name(struct ptrc_log_reader *r, uint32_t id, const uint8_t *bytes,
		    uint32_t count)
{
	struct ptrc_log_reader_name *n;

	if (id < PTRC_ID_FIRST || id > PTRC_SET_ID_MAX || count > sizeof(n->name) - 1)
		return 0;
	if (r->name_index[id]) /* told twice: in a ring they are */
		return 0;
	if (r->name_count == r->name_size) {
		size_t size = r->name_size ? 2 * r->name_size : 16;

		n = realloc(r->names, size * sizeof(*n));
		if (!n)
			return ENOMEM;
		r->names = n;
		r->name_size = size;
	}
	n = &r->names[r->name_count++];
	n->id = id;
	memcpy(n->name, bytes, count);
	n->name[count] = '\0';
	r->name_index[id] = (uint16_t)r->name_count;
	return 0;
}

/* Ids are given in the order of registration; packets of a ring come in any order. */
static void sort_names(struct ptrc_log_reader *r)
{
	struct ptrc_log_reader_name swap;

	/* Nearly always they are in order already. */
	for (size_t i = 1; i < r->name_count; i++)
		for (size_t k = i; k && r->names[k - 1].id > r->names[k].id; k--) {
			swap = r->names[k];
			r->names[k] = r->names[k - 1];
			r->names[k - 1] = swap;
		}
	for (size_t i = 0; i < r->name_count; i++)
		r->name_index[r->names[i].id] = (uint16_t)(i + 1);
}

static int read_names(struct ptrc_log_reader *r, const struct ptrc_log_packet *p,
		      uint64_t offset)
{
	uint64_t at = 0;
	uint8_t *payload;
	int err = 0;

	if (p->length > NAMES_MAX)
		return 0;
	payload = malloc(p->length + 1);
	if (!payload)
		return ENOMEM;
	if (read_at(r, offset + sizeof(*p), payload, p->length) ||
	    ptrc_crc32c(0, payload, p->length) != p->payload_crc) {
		free(payload);
		return 0; /* its names are missing, everything else may be sound */
	}
	while (!err && p->length - at >= sizeof(struct ptrc_log_name)) {
		struct ptrc_log_name n;
		uint64_t bytes;

		memcpy(&n, payload + at, sizeof(n));
		at += sizeof(n);
		bytes = ptrc_align8((uint64_t)n.name_bytes + n.description_bytes);
		if (p->length - at < bytes)
			break;
		err = add_name(r, n.id, payload + at, n.name_bytes);
		at += bytes;
	}
	free(payload);
	return err;
}

/* ---- index ---- */

static int add_entry(struct ptrc_log_reader *r, const struct ptrc_log_packet *p,
		     uint64_t offset)
{
	struct ptrc_log_entry *e;

	if (r->entry_count == r->entry_size) {
		size_t size = r->entry_size ? 2 * r->entry_size : 64;

		e = realloc(r->entries, size * sizeof(*e));
		if (!e)
			return ENOMEM;
		r->entries = e;
		r->entry_size = size;
	}
	e = &r->entries[r->entry_count++];
	*e = (struct ptrc_log_entry){.offset = offset,
				     .length = p->length,
				     .seq = p->seq,
				     .first_ns = p->first_ns,
				     .last_ns = p->last_ns,
				     .event_count = p->event_count,
				     .payload_crc = p->payload_crc,
				     .flags = p->flags};
	return 0;
}

static bool read_status(struct ptrc_log_reader *r, const struct ptrc_log_packet *p,
			uint64_t offset)
{
	struct ptrc_log_status s;
	uint8_t rest[256];

	if (p->length < sizeof(s) || p->length > sizeof(rest) ||
	    read_at(r, offset + sizeof(*p), rest, p->length) ||
	    ptrc_crc32c(0, rest, p->length) != p->payload_crc)
		return false;
	memcpy(&s, rest, sizeof(s));
	if ((s.stream_status != POSIX_TRACE_RUNNING &&
	     s.stream_status != POSIX_TRACE_SUSPENDED) ||
	    s.stream_full > 1 || s.stream_overrun > 1 || s.flush_status > 1 ||
	    s.log_overrun > 1 || s.log_full > 1 || s.flush_error > INT32_MAX)
		return false;
	r->status = s;
	return true;
}

/* Takes what the packet holds, but for END. */
static int take_packet(struct ptrc_log_reader *r, const struct ptrc_log_packet *p,
		       uint64_t offset, bool has_events, bool *has_status)
{
	switch (p->type) {
	case PTRC_LOG_NAMES:
		return read_names(r, p, offset);
	case PTRC_LOG_EVENTS:
		return has_events ? add_entry(r, p, offset) : 0;
	case PTRC_LOG_STATUS:
		*has_status = read_status(r, p, offset);
		return 0;
	default: /* of a later version: not for us */
		return 0;
	}
}

/* EINVAL: the payload is not what was written. */
static int check_payload(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e)
{
	uint8_t *payload;
	int err = ptrc_log_reader_load(r, e, &payload);

	if (!err)
		free(payload);
	return err;
}

/* Packets one behind the other from `offset`; EVENTS are entered as they come. */
static int walk(struct ptrc_log_reader *r, struct window *w, uint64_t offset,
		uint64_t end, bool has_events)
{
	bool has_status = false, is_sure = true;
	struct ptrc_log_packet p;
	int err = 0;

	while (!err) {
		uint64_t at = offset;
		bool is_there = next_packet(w, &at, end, &p);

		if (!is_sure && (!is_there || at != offset)) {
			/* Not followed by a packet: the last one may be torn, and then
			 * its length leads astray. Look again from within it. */
			struct ptrc_log_entry *e = &r->entries[r->entry_count - 1];

			err = check_payload(r, e);
			if (err == EINVAL) {
				offset = e->offset + sizeof(p);
				r->entry_count--;
				is_sure = true;
				err = 0;
				w->searched += e->length;
				if (w->searched > SEARCH_MAX)
					break;
				continue;
			}
		}
		if (err || !is_there)
			break;
		if (p.type == PTRC_LOG_END && has_status) {
			r->is_closed = true;
			break;
		}
		err = take_packet(r, &p, at, has_events, &has_status);
		is_sure = !has_events || p.type != PTRC_LOG_EVENTS;
		offset = at + packet_size(&p);
	}
	return err;
}

static int by_seq(const void *x, const void *y)
{
	const struct ptrc_log_entry *a = x, *b = y;

	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int by_time(const void *x, const void *y)
{
	const struct ptrc_log_entry *a = x, *b = y;

	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns ? -1 : 1;
	return by_seq(x, y);
}

/* In a sequential log the numbers count up from 0; where they do not, something is
 * missing, and the log ends there. */
static void keep_unbroken(struct ptrc_log_reader *r, uint64_t seq)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->entry_count; i++) {
		if (r->entries[i].seq < seq)
			continue; /* written again after a failure */
		if (r->entries[i].seq > seq)
			break;
		r->entries[kept++] = r->entries[i];
		seq++;
	}
	r->entry_count = kept;
}

/* What the newest packet says of the ring. */
static int read_ring(struct ptrc_log_reader *r)
{
	for (size_t i = r->entry_count; i-- > 0;) {
		const struct ptrc_log_entry *e = &r->entries[i];
		uint8_t *payload;
		int err;

		if (!(e->flags & PTRC_LOG_HAS_RING) || e->length < sizeof(r->ring))
			continue;
		err = ptrc_log_reader_load(r, e, &payload);
		if (err == ENOMEM)
			return err;
		if (err)
			continue;
		memcpy(&r->ring, payload, sizeof(r->ring));
		free(payload);
		return 0;
	}
	return 0;
}

static int index_ring(struct ptrc_log_reader *r, struct window *w)
{
	uint64_t behind = r->head.ring_offset + r->head.ring_size;
	uint64_t oldest;
	size_t first = 0;
	int err;

	err = walk(r, w, r->head.close_offset, r->head.ring_offset, false);
	if (!err)
		err = walk(r, w, r->head.ring_offset, behind, true);
	if (!err && behind < r->size)
		err = walk(r, w, behind, r->size, false);
	if (err)
		return err;
	if (r->entry_count)
		qsort(r->entries, r->entry_count, sizeof(*r->entries), by_seq);
	err = read_ring(r);
	if (err)
		return err;
	oldest = r->ring.oldest_seq;
	while (first < r->entry_count && r->entries[first].seq < oldest)
		first++;
	/* The oldest may be missing: a writer that died while overwriting it. */
	if (first < r->entry_count)
		keep_unbroken(r, r->entries[first].seq);
	else
		r->entry_count = 0;
	return 0;
}

/* A descriptor of our own. With O_DIRECT, which asks for alignment, it is of an open file of
 * our own, if that may be. */
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
	int err = take_file(fd, &r);

	if (!err)
		err = read_head(&r);
	if (!err)
		*head = r.head;
	ptrc_log_reader_close(&r);
	return err;
}

int ptrc_log_reader_open(int fd, struct ptrc_log_reader *r)
{
	struct window *w;
	int err;

	memset(r, 0, sizeof(*r));
	err = take_file(fd, r);
	if (err)
		return err;
	w = malloc(sizeof(*w));
	if (!w) {
		ptrc_log_reader_close(r);
		return ENOMEM;
	}
	w->r = r;
	w->from = w->bytes = w->searched = 0;
	err = read_head(r);
	if (!err && r->head.kind == PTRC_LOG_RING) {
		err = index_ring(r, w);
	} else if (!err) {
		err = walk(r, w, r->head_end, r->size, true);
		if (!err)
			keep_unbroken(r, 0);
	}
	free(w);
	if (err) {
		ptrc_log_reader_close(r);
		return err;
	}
	sort_names(r);
	if (r->entry_count)
		qsort(r->entries, r->entry_count, sizeof(*r->entries), by_time);
	return 0;
}

void ptrc_log_reader_close(struct ptrc_log_reader *r)
{
	if (r->fd >= 0)
		ptrc_sys(SYS_close, r->fd);
	r->fd = -1;
	free(r->entries);
	free(r->names);
	r->entries = NULL;
	r->names = NULL;
	r->entry_count = r->name_count = 0;
}

int ptrc_log_reader_load(const struct ptrc_log_reader *r, const struct ptrc_log_entry *e,
			 uint8_t **payload)
{
	uint8_t *bytes = malloc(e->length + 1);

	if (!bytes)
		return ENOMEM;
	if (read_at(r, e->offset + sizeof(struct ptrc_log_packet), bytes, e->length) ||
	    ptrc_crc32c(0, bytes, e->length) != e->payload_crc) {
		free(bytes);
		return EINVAL;
	}
	*payload = bytes;
	return 0;
}

bool ptrc_log_reader_is_replaced(const struct ptrc_log_reader *r,
				 const struct ptrc_log_entry *e)
{
	struct ptrc_log_packet p;

	if (r->head.kind != PTRC_LOG_RING || r->is_closed)
		return false;
	return read_at(r, e->offset, &p, sizeof(p)) || p.magic != PTRC_LOG_PACKET_MAGIC ||
	       p.log_id != r->log_id || p.seq != e->seq ||
	       p.payload_crc != e->payload_crc;
}
