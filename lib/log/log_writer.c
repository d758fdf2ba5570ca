/* SPDX-License-Identifier: MIT */
#include "lib/log/log_writer_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <trace.h>

#include "lib/base/crc32c.h"
#include "lib/model/eventset.h"
#include "lib/base/sys.h"

/* Names per packet: little enough that they fit between the events of a small ring. */
#define NAMES_BYTES UINT64_C(4096)

/* ---- packets ---- */

/* Begins a packet in w->out. */
int ptrc_log_packet_begin(struct ptrc_log_writer *w)
{
	static const struct ptrc_log_packet none;

	w->out.used = 0;
	return ptrc_log_buffer_add(&w->out, &none, sizeof(none));
}

/* Fills in the header of the last packet in w->out, which began at `start`, and pads
 * it. */
int ptrc_log_packet_end(struct ptrc_log_writer *w, uint64_t start,
			const struct ptrc_log_facts *p)
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
	head.header_crc =
		ptrc_crc32c(0, &head, offsetof(struct ptrc_log_packet, header_crc));
	memcpy(w->out.bytes + start, &head, sizeof(head));
	return ptrc_log_buffer_add(&w->out, zero, ptrc_align8(length) - length);
}

/* ---- state ---- */

void ptrc_log_writer_save(struct ptrc_log_writer *w)
{
	struct ptrc_stream_header *h = w->header;
	uint64_t words[PTRC_LOG_STATE_WORDS] = {0};
	uint64_t which =
		atomic_load_explicit(&h->log_state[0], memory_order_relaxed) == 1 ? 2 : 1;
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

void ptrc_log_writer_leave(struct ptrc_log_writer *w)
{
	uint64_t waits = w->state.flags & PTRC_LOG_STATE_MARKERS_WAIT;

	/* Where it begins is what was stored last. */
	if (waits && load_state(w)) {
		w->state.flags |= waits;
		ptrc_log_writer_save(w);
	}
}

void ptrc_log_note_loss(struct ptrc_log_writer *w)
{
	ptrc_status_set(w->header, PTRC_ST_LOG_OVERRUN | PTRC_ST_EVER_LOG_OVERRUN);
}

/* ---- names ---- */

static int names_payload(struct ptrc_log_writer *w, const struct ptrc_names_object *names,
			 uint32_t *index, uint32_t count, uint64_t most)
{
	static const uint8_t zero[8];
	uint64_t start = w->out.used;

	while (*index < count) {
		const char *name = names->name[*index];
		struct ptrc_log_name head = {.id = (uint16_t)(PTRC_ID_FIRST + *index)};
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
						  ptrc_align8(head.name_bytes) -
							  head.name_bytes);
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
	int err = ptrc_log_write_at(w, base + w->state.tail, w->out.bytes, w->out.used,
				    &done);

	if (!err)
		w->state.tail += w->out.used;
	return err;
}

static int names_from(struct ptrc_log_writer *w, const struct ptrc_names_object *names,
		      uint32_t index, uint32_t count, bool is_behind)
{
	static const struct ptrc_log_facts p = {.type = PTRC_LOG_NAMES};

	while (index < count) {
		int err = ptrc_log_packet_begin(w);

		if (!err)
			err = names_payload(w, names, &index, count, NAMES_BYTES);
		if (!err)
			err = ptrc_log_packet_end(w, 0, &p);
		if (err)
			return err;
		if (w->kind == PTRC_LOG_SEQUENTIAL)
			err = ptrc_log_append(w, w->out.bytes, w->out.used);
		else if (is_behind || (w->state.flags & PTRC_LOG_STATE_WRAPPED) ||
			 w->state.offset + w->out.used > w->ring_size)
			err = names_behind(w);
		else
			err = ptrc_log_ring_write(w, w->state.offset, &p);
		if (err)
			return err;
		if (w->state.names < index)
			w->state.names = index;
	}
	return 0;
}

int ptrc_log_writer_names(struct ptrc_log_writer *w,
			  const struct ptrc_names_object *names)
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
int ptrc_log_names_before_wrap(struct ptrc_log_writer *w)
{
	struct ptrc_log_buffer packet =
		w->out; /* the packet that wraps is being made there */
	int err = 0;

	if (w->names) {
		memset(&w->out, 0, sizeof(w->out));
		err = names_from(w, w->names, 0,
				 w->state.names < PTRC_NAMES_MAX
					 ? (uint32_t)w->state.names
					 : PTRC_NAMES_MAX,
				 true);
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
	return ptrc_align8(limit + limit / 16 + 16384);
}

int ptrc_log_writer_head(struct ptrc_log_writer *w)
{
	const struct ptrc_stream_header *h = w->header;
	const struct ptrc_attr *a = &h->attr;
	struct ptrc_log_prefix prefix = {.byte_order = PTRC_LOG_BYTE_ORDER,
					 .version = PTRC_LOG_VERSION,
					 .word_size = PTRC_LOG_WORD_SIZE,
					 .machine = PTRC_LOG_MACHINE};
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
	static const struct ptrc_log_facts p = {.type = PTRC_LOG_HEAD};
	uint64_t done;
	int err;

	memcpy(prefix.signature, PTRC_LOG_SIGNATURE, sizeof(prefix.signature));
	memcpy(head.name, a->name, sizeof(head.name));
	memcpy(head.genversion, a->genversion, sizeof(head.genversion));
	head.name[sizeof(head.name) - 1] = head.genversion[sizeof(head.genversion) - 1] =
		'\0';
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
		err = ptrc_log_packet_end(w, sizeof(prefix), &p);
	if (err)
		return err;
	if (w->kind == PTRC_LOG_SEQUENTIAL)
		err = ptrc_log_append(w, w->out.bytes, w->out.used);
	else
		err = ptrc_log_write_at(w, 0, w->out.bytes, w->out.used, &done);
	if (!err)
		ptrc_log_writer_save(w);
	return err;
}

/* ---- begin, clear, end ---- */

int ptrc_log_writer_init(struct ptrc_log_writer *w, struct ptrc_stream_header *header,
			 int fd, bool is_restart)
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
	w->batch.most = w->policy == POSIX_TRACE_UNTIL_FULL
				? w->limit - PTRC_LOG_STOP_BYTES
				: w->limit;
	w->close_reserve =
		2 * sizeof(struct ptrc_log_packet) + sizeof(struct ptrc_log_status);
	w->state.flags = PTRC_LOG_STATE_AFTER_STOP;
	if (!is_restart || !load_state(w))
		return 0;
	w->state.flags |= PTRC_LOG_STATE_FILTER_UNKNOWN;
	if (w->kind == PTRC_LOG_RING) {
		if (w->state.offset > w->ring_size)
			w->state.offset = w->ring_size;
		return ptrc_log_ring_restore(w);
	}
	if (w->is_regular && w->state.offset > (uint64_t)st.st_size)
		w->state.offset = (uint64_t)st.st_size;
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

/* What was written stays. The filter is empty from now on, without an event. */
static int write_clear(struct ptrc_log_writer *w, int64_t now_ns)
{
	struct {
		struct ptrc_log_section section;
		struct ptrc_record record;
		trace_event_set_t set[2];
	} mark = {.section = {.base_ns = now_ns}};
	struct ptrc_log_facts p = {
		.type = PTRC_LOG_EVENTS, .first_ns = now_ns, .last_ns = now_ns};
	static const uint64_t none[17];
	int err;

	mark.section.bytes = sizeof(mark) - sizeof(mark.section);
	ptrc_record_fill(&mark.record, 0, POSIX_TRACE_FILTER | PTRC_REC_HIDDEN,
			 sizeof(mark.set), 0);
	ptrc_set_from_bits(&mark.set[0], none);
	ptrc_set_from_bits(&mark.set[1], none);
	err = ptrc_log_packet_begin(w);
	if (!err)
		err = ptrc_log_buffer_add(&w->out, &mark, sizeof(mark));
	return err ? err : ptrc_log_write_events(w, &p);
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
	/* Nothing is emptied there; a reader that is gone misses nothing. */
	err = write_clear(w, now_ns);
	if (!err) {
		w->state.events = w->state.bytes = w->state.lost_events = 0;
		ptrc_log_writer_save(w);
	}
	return err == ENOMEM ? err : 0;
}

int ptrc_log_writer_close(struct ptrc_log_writer *w)
{
	uint64_t bits = atomic_load_explicit(&w->header->status, memory_order_acquire);
	struct ptrc_log_status status = {
		.stream_status = POSIX_TRACE_SUSPENDED,
		.stream_full =
			bits & PTRC_ST_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL,
		.stream_overrun = bits & PTRC_ST_EVER_OVERRUN ? POSIX_TRACE_OVERRUN
							      : POSIX_TRACE_NO_OVERRUN,
		.flush_status = POSIX_TRACE_NOT_FLUSHING,
		.flush_error = (uint32_t)(bits >> PTRC_ST_ERROR_SHIFT),
		.log_overrun = bits & PTRC_ST_EVER_LOG_OVERRUN ? POSIX_TRACE_OVERRUN
							       : POSIX_TRACE_NO_OVERRUN,
		.log_full =
			bits & PTRC_ST_LOG_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL,
		.lost_events = atomic_load_explicit(&w->header->lost_events,
						    memory_order_relaxed),
		.log_lost_events = w->state.lost_events + w->state.overwritten_events,
		.log_events = w->state.events,
		.log_bytes = w->state.bytes,
	};
	static const struct ptrc_log_facts is_status = {.type = PTRC_LOG_STATUS};
	static const struct ptrc_log_facts is_end = {.type = PTRC_LOG_END};
	static const struct ptrc_log_packet none;
	uint64_t start, done;
	int err;

	w->close_reserve = 0;
	err = ptrc_log_packet_begin(w);
	if (!err)
		err = ptrc_log_buffer_add(&w->out, &status, sizeof(status));
	if (!err)
		err = ptrc_log_packet_end(w, 0, &is_status);
	start = w->out.used;
	if (!err)
		err = ptrc_log_buffer_add(&w->out, &none, sizeof(none));
	if (!err)
		err = ptrc_log_packet_end(w, start, &is_end);
	if (err)
		return err;
	if (w->kind == PTRC_LOG_RING)
		return ptrc_log_write_at(w, PTRC_LOG_CLOSE_OFFSET, w->out.bytes,
					 w->out.used, &done);
	return ptrc_log_append(w, w->out.bytes, w->out.used);
}
