/* SPDX-License-Identifier: MIT */
#include "lib/log_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <trace.h>

#include "lib/crc32c.h"
#include "lib/eventset.h"
#include "lib/sys.h"

#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x00000020
#endif

/* One packet in a ring. */
struct ptrc_log_lap_entry {
	uint64_t place; /* from the begin of the ring */
	uint64_t size;	/* of the packet */
	uint64_t seq;
	uint64_t bytes; /* of events */
	int64_t first_ns, last_ns;
	uint64_t events;
	uint64_t is_names;
};

/* The automatic STOP of a full log: header and an int. */
#define STOP_BYTES UINT64_C(24)

/* A ring gives up a packet at a time: a sixteenth of it, or less. And a packet is what
 * damage takes away. Larger ones would gain nothing in speed. */
#define SLICE_MIN UINT64_C(1024)
#define SLICE_MAX UINT64_C(65536)
#define NAMES_BYTES UINT64_C(4096) /* per packet, so that they fit between events */

/* ---- output ---- */

int ptrc_log_check(int fd, int log_policy)
{
	struct stat st;
	long flags = ptrc_sys(SYS_fcntl, fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH))
		return EBADF;
	if (ptrc_sys(SYS_fstat, fd, &st) < 0)
		return EBADF;
	if (S_ISREG(st.st_mode))
		return 0;
	if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode) && !S_ISCHR(st.st_mode))
		return EINVAL;
	return log_policy == POSIX_TRACE_APPEND ? 0 : EINVAL;
}

/* The output takes nothing now. */
static int wait_writable(struct ptrc_log_writer *w)
{
	struct pollfd p = { .fd = w->fd, .events = POLLOUT };
	struct timespec second = { 1, 0 };
	long n = ptrc_sys(SYS_ppoll, &p, 1, &second, 0, 8);

	if (n == 0 && w->give_up && w->give_up(w->arg))
		return EPIPE;
	return 0;
}

/* Writes all of it. *done: how much reached the output, also on error. */
static int write_all(struct ptrc_log_writer *w, uint64_t offset, const uint8_t *bytes,
		     uint64_t count, uint64_t *done)
{
	*done = 0;
	if (w->is_regular) {
		uint64_t limit =
			atomic_load_explicit(&w->header->fsize_limit, memory_order_relaxed);
		uint64_t end;

		if (__builtin_add_overflow(offset, count, &end))
			return EFBIG;
		if (limit > INT64_MAX)
			limit = INT64_MAX; /* there is none */
		if (end > limit || limit - end < w->close_reserve)
			return EFBIG;
	}
	while (*done < count) {
		const uint8_t *from = bytes + *done;
		/* More than this is cut by the kernel anyway. */
		uint64_t part = count - *done < 1 << 30 ? count - *done : 1 << 30;
		long n;
		int err;

		if (w->is_regular && w->must_not_append) {
			struct iovec v = { (void *)(uintptr_t)from, part };

			n = ptrc_sys(SYS_pwritev2, w->fd, &v, 1, offset + *done, 0, RWF_NOAPPEND);
		} else if (w->is_regular) {
			n = ptrc_sys(SYS_pwrite64, w->fd, from, part, offset + *done);
		} else if (w->is_socket) {
			n = ptrc_sys(SYS_sendto, w->fd, from, part, MSG_NOSIGNAL | MSG_DONTWAIT,
				     0, 0);
		} else {
			n = ptrc_sys(SYS_write, w->fd, from, part);
		}
		if (n > 0) {
			*done += (uint64_t)n;
		} else if (n == -EAGAIN) {
			err = wait_writable(w);
			if (err)
				return err;
		} else if (n != -EINTR) {
			return n == 0 ? EIO : (int)-n;
		}
	}
	return 0;
}

/* Of a sequential log, at its end. */
static int append(struct ptrc_log_writer *w, const uint8_t *bytes, uint64_t count)
{
	uint64_t done;
	int err = write_all(w, w->state.offset, bytes, count, &done);

	if (!err)
		w->state.offset += count;
	else if (w->is_regular && done)
		ptrc_sys(SYS_ftruncate, w->fd, w->state.offset);
	/* Elsewhere a torn packet stays: a reader finds the next one by its magic. */
	return err;
}

/* ---- packets ---- */

/* Begins a packet in w->out. */
static int packet_begin(struct ptrc_log_writer *w)
{
	static const struct ptrc_log_packet none;

	w->out.used = 0;
	return ptrc_log_buffer_add(&w->out, &none, sizeof(none));
}

struct packet {
	uint16_t type, flags;
	uint64_t bytes; /* of events */
	int64_t first_ns, last_ns;
	uint64_t events;
};

/* Fills in the header of the last packet in w->out, which began at `start`, and pads it. */
static int packet_end(struct ptrc_log_writer *w, uint64_t start, const struct packet *p)
{
	static const uint8_t zero[8];
	uint64_t length = w->out.used - start - sizeof(struct ptrc_log_packet);
	struct ptrc_log_packet head = {
		.magic = PTRC_LOG_PACKET_MAGIC,
		.type = p->type,
		.flags = p->flags,
		.length = length,
		.log_id = w->header->id,
		.seq = w->state.seq,
		.first_ns = p->first_ns,
		.last_ns = p->last_ns,
		.event_count = (uint32_t)p->events,
	};

	head.payload_crc = ptrc_crc32c(0, w->out.bytes + start + sizeof(head), length);
	head.header_crc = ptrc_crc32c(0, &head, offsetof(struct ptrc_log_packet, header_crc));
	memcpy(w->out.bytes + start, &head, sizeof(head));
	return ptrc_log_buffer_add(&w->out, zero, ptrc_align8(length) - length);
}

/* ---- state ---- */

void ptrc_log_writer_save(struct ptrc_log_writer *w)
{
	struct ptrc_stream_header *h = w->header;
	uint64_t words[PTRC_LOG_STATE_WORDS] = { 0 };
	uint64_t which = atomic_load_explicit(&h->log_state[0], memory_order_relaxed) == 1 ? 2 : 1;
	_Atomic uint64_t *to = &h->log_state[1 + (which - 1) * PTRC_LOG_STATE_WORDS];

	memcpy(words, &w->state, sizeof(w->state));
	for (uint32_t i = 0; i < PTRC_LOG_STATE_WORDS; i++)
		atomic_store_explicit(&to[i], words[i], memory_order_relaxed);
	atomic_store_explicit(&h->log_state[0], which, memory_order_release);

	atomic_store_explicit(&h->log_events, w->state.events, memory_order_relaxed);
	atomic_store_explicit(&h->log_bytes, w->state.bytes, memory_order_relaxed);
	atomic_store_explicit(&h->log_lost_events,
			      w->state.lost_events + w->state.overwritten_events,
			      memory_order_relaxed);
}

static bool load_state(struct ptrc_log_writer *w)
{
	struct ptrc_stream_header *h = w->header;
	uint64_t which = atomic_load_explicit(&h->log_state[0], memory_order_acquire);
	uint64_t words[PTRC_LOG_STATE_WORDS];

	if (which != 1 && which != 2)
		return false;
	for (uint32_t i = 0; i < PTRC_LOG_STATE_WORDS; i++)
		words[i] = atomic_load_explicit(
			&h->log_state[1 + (which - 1) * PTRC_LOG_STATE_WORDS + i],
			memory_order_relaxed);
	memcpy(&w->state, words, sizeof(w->state));
	return true;
}

static void note_loss(struct ptrc_log_writer *w)
{
	ptrc_status_set(w->header, PTRC_ST_LOG_OVERRUN | PTRC_ST_EVER_LOG_OVERRUN);
}

/* ---- a ring ---- */

static struct ptrc_log_lap_entry *lap_entries(const struct ptrc_log_writer *w)
{
	return (struct ptrc_log_lap_entry *)(void *)w->lap.bytes;
}

static uint64_t lap_count(const struct ptrc_log_writer *w)
{
	return w->lap.used / sizeof(struct ptrc_log_lap_entry);
}

static void note_overwritten(struct ptrc_log_writer *w, uint64_t events, int64_t first_ns,
			     int64_t last_ns)
{
	struct ptrc_log_state *s = &w->state;

	if (events == 0)
		return;
	if (s->overwritten_events == 0 || first_ns < s->lost_first_ns)
		s->lost_first_ns = first_ns;
	if (s->overwritten_events == 0 || last_ns > s->lost_last_ns)
		s->lost_last_ns = last_ns;
	s->overwritten_events += events;
	ptrc_status_set(w->header, PTRC_ST_LOG_FULL);
	note_loss(w);
}

/* Give up the oldest packet. */
static void lap_drop(struct ptrc_log_writer *w)
{
	const struct ptrc_log_lap_entry *e = &lap_entries(w)[w->lap_first++];

	if (!e->is_names) {
		w->state.oldest_seq = e->seq + 1;
		w->state.events -= e->events;
		w->state.bytes -= e->bytes;
		note_overwritten(w, e->events, e->first_ns, e->last_ns);
	}
	if (w->lap_first >= 1024 && w->lap_first >= lap_count(w) / 2) {
		uint64_t gone = w->lap_first * sizeof(*e);

		memmove(w->lap.bytes, w->lap.bytes + gone, w->lap.used - gone);
		w->lap.used -= gone;
		w->lap_first = 0;
	}
}

/* Where a packet of `size` bytes with so many bytes of events goes; gives up what is in its
 * place and what the limit does not allow beside it. */
static uint64_t ring_place(struct ptrc_log_writer *w, uint64_t size, uint64_t bytes)
{
	uint64_t old = w->state.offset, place = old;
	bool is_wrap = place + size > w->ring_size;

	if (is_wrap)
		place = 0;
	while (w->lap_first < lap_count(w)) {
		const struct ptrc_log_lap_entry *e = &lap_entries(w)[w->lap_first];
		bool is_in_place = e->place < place + size && e->place + e->size > place;

		/* Behind the place that a wrap leaves unused stands the oldest. */
		if (!(is_wrap && e->place >= old) && !is_in_place &&
		    w->state.bytes + bytes <= w->limit)
			break;
		lap_drop(w);
	}
	return place;
}

/* The packet in w->out, whose place is known. */
static int ring_write(struct ptrc_log_writer *w, uint64_t place, const struct packet *p)
{
	struct ptrc_log_lap_entry e = { .place = place,
					.size = w->out.used,
					.seq = w->state.seq,
					.bytes = p->bytes,
					.first_ns = p->first_ns,
					.last_ns = p->last_ns,
					.events = p->events,
					.is_names = p->type == PTRC_LOG_NAMES };
	uint64_t done;
	int err;

	err = ptrc_log_buffer_reserve(&w->lap, sizeof(e));
	if (!err)
		err = write_all(w, PTRC_LOG_RING_OFFSET + place, w->out.bytes, w->out.used,
				&done);
	if (err)
		return err;
	w->state.offset = place + w->out.used;
	return ptrc_log_buffer_add(&w->lap, &e, sizeof(e));
}

/* Take back what a failed flush has written. What it overwrote stays lost. */
static void lap_undo(struct ptrc_log_writer *w, uint64_t seq)
{
	while (lap_count(w) > w->lap_first) {
		const struct ptrc_log_lap_entry *e = &lap_entries(w)[lap_count(w) - 1];

		if (e->is_names || e->seq < seq)
			break;
		w->state.events -= e->events;
		w->state.bytes -= e->bytes;
		w->lap.used -= sizeof(*e);
	}
}

/* ---- names ---- */

static int names_payload(struct ptrc_log_writer *w, const struct ptrc_names_object *names,
			 uint32_t *index, uint32_t count, uint64_t most)
{
	static const uint8_t zero[8];
	uint64_t start = w->out.used;

	while (*index < count) {
		const char *name = names->name[*index];
		struct ptrc_log_name head = { .id = (uint16_t)(PTRC_ID_FIRST + *index) };
		uint64_t size;
		int err;

		while (head.name_bytes < PTRC_NAME_BYTES - 1 && name[head.name_bytes])
			head.name_bytes++;
		size = sizeof(head) + ptrc_align8(head.name_bytes);
		if (w->out.used > start && w->out.used - start + size > most)
			break;
		err = ptrc_log_buffer_add(&w->out, &head, sizeof(head));
		if (!err)
			err = ptrc_log_buffer_add(&w->out, name, head.name_bytes);
		if (!err)
			err = ptrc_log_buffer_add(&w->out, zero,
						  ptrc_align8(head.name_bytes) - head.name_bytes);
		if (err)
			return err;
		++*index;
	}
	return 0;
}

/* Behind the ring, at a place nothing else gets. */
static int names_behind(struct ptrc_log_writer *w)
{
	uint64_t done;
	uint64_t base = PTRC_LOG_RING_OFFSET + w->ring_size;
	int err = write_all(w, base + w->state.tail, w->out.bytes, w->out.used, &done);

	if (!err)
		w->state.tail += w->out.used;
	return err;
}

static int names_from(struct ptrc_log_writer *w, const struct ptrc_names_object *names,
		      uint32_t index, uint32_t count, bool is_behind)
{
	static const struct packet p = { .type = PTRC_LOG_NAMES };

	while (index < count) {
		int err = packet_begin(w);

		if (!err)
			err = names_payload(w, names, &index, count, NAMES_BYTES);
		if (!err)
			err = packet_end(w, 0, &p);
		if (err)
			return err;
		if (w->kind == PTRC_LOG_SEQUENTIAL)
			err = append(w, w->out.bytes, w->out.used);
		else if (is_behind || (w->state.flags & PTRC_LOG_STATE_WRAPPED) ||
			 w->state.offset + w->out.used > w->ring_size)
			err = names_behind(w);
		else
			err = ring_write(w, w->state.offset, &p);
		if (err)
			return err;
		if (w->state.names < index)
			w->state.names = index;
	}
	return 0;
}

int ptrc_log_writer_names(struct ptrc_log_writer *w, const struct ptrc_names_object *names)
{
	uint32_t count;
	int err;

	w->names = names;
	if (!names)
		return 0;
	count = atomic_load_explicit(&names->count, memory_order_acquire);
	if (count > PTRC_NAMES_MAX)
		count = PTRC_NAMES_MAX;
	if (w->state.names >= count)
		return 0;
	err = names_from(w, names, (uint32_t)w->state.names, count, false);
	ptrc_log_writer_save(w);
	return err;
}

/* The first lap ends, and with it the names that stand between its events. */
static int names_before_wrap(struct ptrc_log_writer *w)
{
	struct ptrc_log_buffer packet = w->out; /* the packet that wraps is being made there */
	int err = 0;

	if (w->names) {
		memset(&w->out, 0, sizeof(w->out));
		err = names_from(w, w->names, 0, (uint32_t)w->state.names, true);
		ptrc_log_buffer_free(&w->out);
		w->out = packet;
	}
	if (!err)
		w->state.flags |= PTRC_LOG_STATE_WRAPPED;
	return err;
}

/* ---- head ---- */

static uint64_t ring_size_for(uint64_t limit)
{
	/* Headers of packets and sections, and the place left unused before a wrap. */
	uint64_t most = UINT64_C(1) << 60;

	if (limit > most)
		limit = most;
	return ptrc_align8(limit + limit / 16 + 8192);
}

int ptrc_log_writer_head(struct ptrc_log_writer *w)
{
	const struct ptrc_stream_header *h = w->header;
	const struct ptrc_attr *a = &h->attr;
	struct ptrc_log_prefix prefix = { .byte_order = PTRC_LOG_BYTE_ORDER,
					  .version = PTRC_LOG_VERSION,
					  .word_size = PTRC_LOG_WORD_SIZE,
					  .machine = PTRC_LOG_MACHINE };
	struct ptrc_log_head head = {
		.create_sec = a->createtime_sec,
		.create_nsec = a->createtime_nsec,
		.clockres_sec = a->clockres_sec,
		.clockres_nsec = a->clockres_nsec,
		.inherited = (uint32_t)a->inherited,
		.log_policy = (uint32_t)a->log_full_policy,
		.stream_policy = (uint32_t)a->stream_full_policy,
		.kind = w->kind,
		.max_data_size = a->max_data_size,
		.stream_min_size = a->stream_min_size,
		.log_max_size = a->log_max_size,
		.target_pid = h->target_pid,
		.controller_pid = h->controller_pid,
		.owner_uid = h->owner_uid,
		.stream_id = h->id,
	};
	static const struct packet p = { .type = PTRC_LOG_HEAD };
	uint64_t done;
	int err;

	memcpy(prefix.signature, PTRC_LOG_SIGNATURE, sizeof(prefix.signature));
	memcpy(head.name, a->name, sizeof(head.name));
	memcpy(head.genversion, a->genversion, sizeof(head.genversion));
	head.name[sizeof(head.name) - 1] = head.genversion[sizeof(head.genversion) - 1] = '\0';
	if (w->kind == PTRC_LOG_RING) {
		head.close_offset = PTRC_LOG_CLOSE_OFFSET;
		head.ring_offset = PTRC_LOG_RING_OFFSET;
		head.ring_size = w->ring_size;
	}
	memset(&w->state, 0, sizeof(w->state));
	w->state.flags = PTRC_LOG_STATE_AFTER_STOP;
	w->has_retry = false;
	w->held.used = 0;
	w->lap.used = w->lap_first = 0;
	if (w->is_regular) {
		long ret = ptrc_sys(SYS_ftruncate, w->fd, 0);

		if (ret < 0)
			return (int)-ret;
	}
	w->out.used = 0;
	err = ptrc_log_buffer_add(&w->out, &prefix, sizeof(prefix));
	if (!err) {
		static const struct ptrc_log_packet none;

		err = ptrc_log_buffer_add(&w->out, &none, sizeof(none));
	}
	if (!err)
		err = ptrc_log_buffer_add(&w->out, &head, sizeof(head));
	if (!err)
		err = packet_end(w, sizeof(prefix), &p);
	if (err)
		return err;
	if (w->kind == PTRC_LOG_SEQUENTIAL)
		err = append(w, w->out.bytes, w->out.used);
	else
		err = write_all(w, 0, w->out.bytes, w->out.used, &done);
	if (!err)
		ptrc_log_writer_save(w);
	return err;
}

/* ---- start ---- */

/* What is in the ring, from the file itself. */
static int lap_read(struct ptrc_log_writer *w, uint64_t from, uint64_t to)
{
	while (from + sizeof(struct ptrc_log_packet) <= to) {
		struct ptrc_log_packet p;
		struct ptrc_log_lap_entry e = { .place = from };
		long n = ptrc_sys(SYS_pread64, w->fd, &p, sizeof(p), PTRC_LOG_RING_OFFSET + from);
		int err;

		if (n < 0)
			return (int)-n;
		if (n < (long)sizeof(p))
			break;
		if (p.magic != PTRC_LOG_PACKET_MAGIC || p.log_id != w->header->id ||
		    p.header_crc != ptrc_crc32c(0, &p, offsetof(struct ptrc_log_packet,
								header_crc)) ||
		    p.length > to - from - sizeof(p)) {
			from += 8;
			continue;
		}
		e.size = sizeof(p) + ptrc_align8(p.length);
		e.seq = p.seq;
		e.is_names = p.type != PTRC_LOG_EVENTS;
		e.first_ns = p.first_ns;
		e.last_ns = p.last_ns;
		e.events = p.event_count;
		/* More than it is: headers of sections count too. The ring holds a little
		 * less for it until it has wrapped. */
		e.bytes = e.is_names ? 0 : p.length;
		from += e.size;
		if (!e.is_names && (p.seq < w->state.oldest_seq || p.seq >= w->state.seq))
			continue;
		err = ptrc_log_buffer_add(&w->lap, &e, sizeof(e));
		if (err)
			return err;
		w->state.events += e.events;
		w->state.bytes += e.bytes;
	}
	return 0;
}

static int lap_restore(struct ptrc_log_writer *w)
{
	uint64_t events = w->state.events;
	int err;

	w->state.events = w->state.bytes = 0;
	err = lap_read(w, w->state.offset, w->ring_size);
	if (!err)
		err = lap_read(w, 0, w->state.offset);
	if (err == ENOMEM)
		return err;
	if (err) {
		/* A descriptor for writing only, and no leave to read the file: what is in
		 * the ring can no longer be told apart, so it is given up. */
		w->lap.used = 0;
		w->state.events = w->state.bytes = 0;
		w->state.oldest_seq = w->state.seq;
		note_overwritten(w, events, w->header->attr.createtime_sec * 1000000000,
				 w->state.lost_last_ns);
	}
	return 0;
}

int ptrc_log_writer_init(struct ptrc_log_writer *w, struct ptrc_stream_header *header, int fd,
			 bool is_restart)
{
	struct stat st;
	long flags = ptrc_sys(SYS_fcntl, fd, F_GETFL);

	memset(w, 0, sizeof(*w));
	w->header = header;
	w->fd = fd;
	w->policy = header->attr.log_full_policy;
	if (flags < 0 || ptrc_sys(SYS_fstat, fd, &st) < 0)
		return EINVAL;
	w->is_regular = S_ISREG(st.st_mode);
	w->is_socket = S_ISSOCK(st.st_mode);
	w->must_not_append = w->is_regular && (flags & O_APPEND);
	w->kind = w->policy == POSIX_TRACE_LOOP ? PTRC_LOG_RING : PTRC_LOG_SEQUENTIAL;
	w->limit = header->attr.log_max_size;
	if (w->limit < PTRC_ATTR_LOG_SIZE_FLOOR)
		w->limit = PTRC_ATTR_LOG_SIZE_FLOOR;
	if (w->policy == POSIX_TRACE_APPEND || w->limit > INT64_MAX)
		w->limit = INT64_MAX;
	w->skip_ns = INT64_MIN;
	if (w->kind == PTRC_LOG_RING) {
		w->ring_size = ring_size_for(w->limit);
		if (w->limit > w->ring_size)
			w->limit = w->ring_size;
	}
	w->batch.most = w->policy == POSIX_TRACE_UNTIL_FULL ? w->limit - STOP_BYTES : w->limit;
	w->close_reserve = 2 * sizeof(struct ptrc_log_packet) + sizeof(struct ptrc_log_status);
	w->state.flags = PTRC_LOG_STATE_AFTER_STOP;
	if (!is_restart || !load_state(w))
		return 0;
	w->state.flags |= PTRC_LOG_STATE_FILTER_UNKNOWN;
	if (w->kind == PTRC_LOG_RING)
		return lap_restore(w);
	/* A predecessor may have died in the middle of a packet. */
	if (w->is_regular && (uint64_t)st.st_size > w->state.offset)
		ptrc_sys(SYS_ftruncate, fd, w->state.offset);
	return 0;
}

void ptrc_log_writer_free(struct ptrc_log_writer *w)
{
	ptrc_log_buffer_free(&w->out);
	ptrc_log_buffer_free(&w->held);
	ptrc_log_buffer_free(&w->held_next);
	ptrc_log_buffer_free(&w->lap);
	ptrc_log_batch_free(&w->batch);
}

/* ---- events ---- */

static bool is_marker(uint32_t id)
{
	return id == POSIX_TRACE_FLUSH_START || id == POSIX_TRACE_FLUSH_STOP;
}

/* Follow what the event tells of the filter. */
static void follow(struct ptrc_log_writer *w, const struct ptrc_log_item *item)
{
	const uint8_t *data = (const uint8_t *)item->record + ptrc_record_head(item->record);
	uint32_t len = ptrc_record_len(item->record);
	trace_event_set_t set;

	if (item->id == POSIX_TRACE_START && len == sizeof(set))
		memcpy(&set, data, sizeof(set));
	else if (item->id == POSIX_TRACE_FILTER && len == 2 * sizeof(set))
		memcpy(&set, data + sizeof(set), sizeof(set));
	else
		return;
	ptrc_set_to_bits(&set, w->state.filter);
	w->state.flags &= ~PTRC_LOG_STATE_FILTER_UNKNOWN;
}

/* The earliest event of the batch is on its way. */
static void take(struct ptrc_log_writer *w, const struct ptrc_log_item *item)
{
	follow(w, item);
	if (!is_marker(item->id)) {
		if (item->id == POSIX_TRACE_STOP)
			w->state.flags |= PTRC_LOG_STATE_AFTER_STOP;
		else
			w->state.flags &= ~PTRC_LOG_STATE_AFTER_STOP;
	}
	ptrc_log_batch_take(&w->batch);
}

/* It is not wanted. */
static void discard(struct ptrc_log_writer *w, const struct ptrc_log_item *item)
{
	if (!item->is_hidden && !is_marker(item->id)) {
		w->state.lost_events++;
		note_loss(w);
	}
	follow(w, item);
	ptrc_log_batch_take(&w->batch);
}

static int add_stop(struct ptrc_log_writer *w, int64_t ns)
{
	static const int reason = 2;
	struct ptrc_log_section section = { .base_ns = ns,
					    .bytes = STOP_BYTES,
					    .order = UINT32_MAX };
	struct ptrc_record r;
	uint8_t record[STOP_BYTES] = { 0 };
	int err;

	ptrc_record_fill(&r, 0, POSIX_TRACE_STOP, sizeof(reason), 0);
	memcpy(record, &r, sizeof(r));
	memcpy(record + sizeof(r), &reason, sizeof(reason));
	err = ptrc_log_buffer_add(&w->out, &section, sizeof(section));
	return err ? err : ptrc_log_buffer_add(&w->out, record, sizeof(record));
}

static bool header_filters(const struct ptrc_log_writer *w, uint32_t id)
{
	return atomic_load_explicit(&w->header->filter[id / 64], memory_order_relaxed) >> id % 64 &
	       1;
}

static int write_events(struct ptrc_log_writer *w, const struct packet *p)
{
	int err = packet_end(w, 0, p);

	if (!err)
		err = append(w, w->out.bytes, w->out.used);
	if (err)
		return err;
	w->state.seq++;
	w->state.events += p->events;
	w->state.bytes += p->bytes;
	return 0;
}

static bool filter_is_empty(const uint64_t filter[17])
{
	for (int i = 0; i < 17; i++)
		if (filter[i])
			return false;
	return true;
}

/* The begin of a slice's packet. In a ring any packet may come to be the first that is
 * left, so each brings the filter along. */
static int slice_begin(struct ptrc_log_writer *w, struct packet *p)
{
	static const struct ptrc_log_ring none;
	int err = packet_begin(w);

	memset(p, 0, sizeof(*p));
	p->type = PTRC_LOG_EVENTS;
	if (err || w->kind != PTRC_LOG_RING)
		return err;
	p->flags = PTRC_LOG_HAS_RING;
	err = ptrc_log_buffer_add(&w->out, &none, sizeof(none));
	if (w->state.flags & PTRC_LOG_STATE_FILTER_UNKNOWN) {
		p->flags |= PTRC_LOG_FILTER_UNKNOWN;
	} else if (!err && !filter_is_empty(w->state.filter)) {
		p->flags |= PTRC_LOG_HAS_FILTER;
		err = ptrc_log_buffer_add(&w->out, w->state.filter, sizeof(w->state.filter));
	}
	return err;
}

static int ring_write_events(struct ptrc_log_writer *w, const struct packet *p)
{
	uint64_t place;
	struct ptrc_log_ring info;
	int err;

	if (w->state.offset + w->out.used > w->ring_size &&
	    !(w->state.flags & PTRC_LOG_STATE_WRAPPED)) {
		err = names_before_wrap(w);
		if (err)
			return err;
	}
	place = ring_place(w, w->out.used, p->bytes);
	info = (struct ptrc_log_ring){ .oldest_seq = w->state.oldest_seq,
				       .lost_first_ns = w->state.lost_first_ns,
				       .lost_last_ns = w->state.lost_last_ns,
				       .lost_events = w->state.overwritten_events };
	memcpy(w->out.bytes + sizeof(struct ptrc_log_packet), &info, sizeof(info));
	err = packet_end(w, 0, p);
	if (!err)
		err = ring_write(w, place, p);
	if (err)
		return err;
	w->state.seq++;
	w->state.events += p->events;
	w->state.bytes += p->bytes;
	return 0;
}

/* Take the next slice from the batch. *stop_ns: set if the log is full now, the time of the
 * event that did not fit. */
static void slice_fill(struct ptrc_log_writer *w, struct packet *p, int64_t *stop_ns,
		       bool *is_full)
{
	struct ptrc_log_item item;
	uint64_t target = w->limit / 16;

	target = target < SLICE_MIN ? SLICE_MIN : target > SLICE_MAX ? SLICE_MAX : target;
	if (target > w->limit)
		target = w->limit;
	ptrc_log_batch_mark(&w->batch);
	while (ptrc_log_batch_peek(&w->batch, &item)) {
		if (item.size > w->batch.most) {
			if (p->bytes)
				return;
			discard(w, &item);
			ptrc_log_batch_mark(&w->batch);
			continue;
		}
		if (item.ns <= w->skip_ns) { /* then it is among the first */
			ptrc_log_batch_take(&w->batch);
			ptrc_log_batch_mark(&w->batch);
			continue;
		}
		if (p->bytes && p->bytes + item.size > target)
			return;
		if (w->policy == POSIX_TRACE_UNTIL_FULL) {
			/* The place of the last STOP is kept free from all but a STOP. */
			uint64_t need = item.size +
					(item.id == POSIX_TRACE_STOP ? 0 : STOP_BYTES);

			if (need > w->limit - w->state.bytes - p->bytes) {
				*stop_ns = item.ns;
				*is_full = true;
				return;
			}
		}
		if (p->bytes == 0)
			p->first_ns = item.ns;
		p->last_ns = item.ns;
		p->bytes += item.size;
		p->events += !item.is_hidden;
		take(w, &item);
	}
}

/* The newest events that a ring can hold are all it needs. */
static void discard_oldest(struct ptrc_log_writer *w)
{
	struct ptrc_log_item item;
	int64_t first_ns = 0, last_ns = 0;
	uint64_t events = 0;
	bool has_any = false;

	while (w->batch.bytes - w->batch.too_big > w->limit &&
	       ptrc_log_batch_peek(&w->batch, &item)) {
		if (item.size > w->batch.most) {
			discard(w, &item);
			continue;
		}
		if (!has_any)
			first_ns = item.ns;
		last_ns = item.ns;
		has_any = true;
		events += !item.is_hidden;
		take(w, &item);
	}
	if (!has_any)
		return;
	while (w->lap_first < lap_count(w)) /* older still */
		if (!lap_entries(w)[w->lap_first].is_names)
			lap_drop(w);
		else
			w->lap_first++;
	note_overwritten(w, events, first_ns, last_ns);
}

static int write_batch(struct ptrc_log_writer *w)
{
	bool is_full = ptrc_log_writer_is_full(w);
	struct ptrc_log_item item;
	int err = ptrc_log_batch_sort(&w->batch);

	if (err)
		return err;
	if (w->kind == PTRC_LOG_RING)
		discard_oldest(w);
	while (!is_full && w->batch.heap.used) {
		struct packet p;
		int64_t stop_ns = 0;

		err = slice_begin(w, &p);
		if (err)
			return err;
		slice_fill(w, &p, &stop_ns, &is_full);
		if (p.bytes) {
			err = ptrc_log_batch_slice(&w->batch, &w->out);
			if (err)
				return err;
		}
		if (is_full) {
			w->state.flags |= PTRC_LOG_STATE_FULL;
			if (!(w->state.flags & PTRC_LOG_STATE_AFTER_STOP) &&
			    !header_filters(w, POSIX_TRACE_STOP)) {
				err = add_stop(w, stop_ns);
				if (err)
					return err;
				if (p.bytes == 0)
					p.first_ns = stop_ns;
				p.last_ns = stop_ns;
				p.bytes += STOP_BYTES;
				p.events++;
				w->state.flags |= PTRC_LOG_STATE_AFTER_STOP;
			}
		}
		if (p.bytes == 0)
			continue;
		err = w->kind == PTRC_LOG_RING ? ring_write_events(w, &p) : write_events(w, &p);
		if (err)
			return err;
		w->last_ns = p.last_ns;
	}
	while (ptrc_log_batch_peek(&w->batch, &item))
		discard(w, &item);
	return 0;
}

/* What the failed flush has written comes again. */
static void undo(struct ptrc_log_writer *w)
{
	struct ptrc_log_state now = w->state;

	if (!w->is_regular)
		return; /* see skip_ns */
	if (w->kind == PTRC_LOG_SEQUENTIAL) {
		ptrc_sys(SYS_ftruncate, w->fd, w->retry.offset);
		w->state = w->retry;
		return;
	}
	lap_undo(w, w->retry.seq);
	w->retry.events = w->state.events;
	w->retry.bytes = w->state.bytes;
	w->state = w->retry;
	w->state.flags |= now.flags & PTRC_LOG_STATE_WRAPPED;
	w->state.names = now.names;
	w->state.tail = now.tail;
	w->state.oldest_seq = now.oldest_seq < w->retry.seq ? now.oldest_seq : w->retry.seq;
	w->state.overwritten_events = now.overwritten_events;
	w->state.lost_first_ns = now.lost_first_ns;
	w->state.lost_last_ns = now.lost_last_ns;
}

void ptrc_log_writer_begin(struct ptrc_log_writer *w)
{
	ptrc_log_batch_clear(&w->batch);
	w->retry.written_until = 0;
	if (w->has_retry)
		undo(w);
	w->has_retry = false;
}

int ptrc_log_writer_add(struct ptrc_log_writer *w, const struct ptrc_run *run)
{
	return ptrc_log_batch_add(&w->batch, run);
}

static int add_held(struct ptrc_log_writer *w)
{
	struct ptrc_run run = { .records = w->held.bytes,
				.bytes = (uint32_t)w->held.used,
				.order = 1 };
	int err = w->held.used ? ptrc_log_batch_add(&w->batch, &run) : 0;

	w->held_next.used = 0;
	if (!err)
		err = ptrc_log_batch_hold(&w->batch, w->state.flags & PTRC_LOG_STATE_AFTER_STOP,
					  &w->held_next);
	return err;
}

int ptrc_log_writer_end(struct ptrc_log_writer *w)
{
	struct ptrc_log_state before = w->state;
	int err = 0;

	w->last_ns = INT64_MIN;
	if (w->policy == POSIX_TRACE_UNTIL_FULL)
		err = add_held(w);
	if (!err)
		err = write_batch(w);
	ptrc_log_batch_clear(&w->batch);
	if (err) {
		w->retry = before;
		w->has_retry = true;
		if (!w->is_regular && w->last_ns > w->skip_ns)
			w->skip_ns = w->last_ns;
		return err;
	}
	w->skip_ns = INT64_MIN;
	if (w->policy == POSIX_TRACE_UNTIL_FULL) {
		struct ptrc_log_buffer old = w->held;

		w->held = w->held_next;
		w->held_next = old;
	}
	ptrc_log_writer_save(w);
	return 0;
}

/* ---- clear, close ---- */

/* What was written stays. The filter is empty from now on, without an event. */
static int write_clear(struct ptrc_log_writer *w, int64_t now_ns)
{
	struct {
		struct ptrc_log_section section;
		struct ptrc_record record;
		trace_event_set_t set[2];
	} mark = { .section = { .base_ns = now_ns } };
	struct packet p = { .type = PTRC_LOG_EVENTS, .first_ns = now_ns, .last_ns = now_ns };
	static const uint64_t none[17];
	int err;

	mark.section.bytes = sizeof(mark) - sizeof(mark.section);
	ptrc_record_fill(&mark.record, 0, POSIX_TRACE_FILTER | PTRC_REC_HIDDEN, sizeof(mark.set),
			 0);
	ptrc_set_from_bits(&mark.set[0], none);
	ptrc_set_from_bits(&mark.set[1], none);
	err = packet_begin(w);
	if (!err)
		err = ptrc_log_buffer_add(&w->out, &mark, sizeof(mark));
	return err ? err : write_events(w, &p);
}

int ptrc_log_writer_clear(struct ptrc_log_writer *w, int64_t now_ns)
{
	int err;

	w->skip_ns = INT64_MIN;
	w->has_retry = false;
	if (w->is_regular) {
		err = ptrc_log_writer_head(w);
		return err ? err : ptrc_log_writer_names(w, w->names);
	}
	err = write_clear(w, now_ns);
	if (!err) {
		w->state.events = w->state.bytes = w->state.lost_events = 0;
		ptrc_log_writer_save(w);
	}
	return err;
}

int ptrc_log_writer_close(struct ptrc_log_writer *w)
{
	uint64_t bits = atomic_load_explicit(&w->header->status, memory_order_acquire);
	struct ptrc_log_status status = {
		.stream_status = POSIX_TRACE_SUSPENDED,
		.stream_full = bits & PTRC_ST_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL,
		.stream_overrun = bits & PTRC_ST_EVER_OVERRUN ? POSIX_TRACE_OVERRUN :
								POSIX_TRACE_NO_OVERRUN,
		.flush_status = POSIX_TRACE_NOT_FLUSHING,
		.flush_error = (uint32_t)(bits >> PTRC_ST_ERROR_SHIFT),
		.log_overrun = bits & PTRC_ST_EVER_LOG_OVERRUN ? POSIX_TRACE_OVERRUN :
								 POSIX_TRACE_NO_OVERRUN,
		.log_full = bits & PTRC_ST_LOG_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL,
		.lost_events =
			atomic_load_explicit(&w->header->lost_events, memory_order_relaxed),
		.log_lost_events = w->state.lost_events + w->state.overwritten_events,
		.log_events = w->state.events,
		.log_bytes = w->state.bytes,
	};
	static const struct packet is_status = { .type = PTRC_LOG_STATUS };
	static const struct packet is_end = { .type = PTRC_LOG_END };
	static const struct ptrc_log_packet none;
	uint64_t start, done;
	int err;

	w->close_reserve = 0;
	err = packet_begin(w);
	if (!err)
		err = ptrc_log_buffer_add(&w->out, &status, sizeof(status));
	if (!err)
		err = packet_end(w, 0, &is_status);
	start = w->out.used;
	if (!err)
		err = ptrc_log_buffer_add(&w->out, &none, sizeof(none));
	if (!err)
		err = packet_end(w, start, &is_end);
	if (err)
		return err;
	if (w->kind == PTRC_LOG_RING)
		return write_all(w, PTRC_LOG_CLOSE_OFFSET, w->out.bytes, w->out.used, &done);
	return append(w, w->out.bytes, w->out.used);
}
