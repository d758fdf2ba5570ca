/* SPDX-License-Identifier: MIT */
#include "lib/log/log_write.h"

#include <errno.h>
#include <string.h>

#include "lib/base/sys.h"

/* A packet in the ring: an item of w->lap. */
struct ptrc_log_lap_entry {
	uint64_t place; /* offset from the start of the ring */
	struct ptrc_log_packet head;
};

static bool is_events(const struct ptrc_log_lap_entry *e)
{
	return e->head.type == PTRC_LOG_EVENTS;
}

static const struct ptrc_log_lap_entry *lap_at(const struct ptrc_log_writer *w, uint64_t i)
{
	return i < PTRC_LOG_COUNT(&w->lap, struct ptrc_log_lap_entry)
		       ? &PTRC_LOG_ITEMS(&w->lap, struct ptrc_log_lap_entry)[i]
		       : NULL;
}

void ptrc_log_ring_note_lost(struct ptrc_log_writer *w, uint64_t events, int64_t first_ns,
			     int64_t last_ns)
{
	struct ptrc_log_state *s = &w->state;

	if (events == 0)
		return;
	if (s->ring.lost_events == 0 || first_ns < s->ring.lost_first_ns)
		s->ring.lost_first_ns = first_ns;
	if (s->ring.lost_events == 0 || last_ns > s->ring.lost_last_ns)
		s->ring.lost_last_ns = last_ns;
	s->ring.lost_events += events;
}

static void subtract(struct ptrc_log_writer *w, const struct ptrc_log_lap_entry *e)
{
	w->state.events -= e->head.event_count;
	w->state.bytes -= e->head.counted;
}

/* Gives up the oldest packet. The caller has checked that one exists. Its entry stays in w->lap
 * until the next flush, because a failed write may get it back. */
static void lap_drop(struct ptrc_log_writer *w)
{
	const struct ptrc_log_lap_entry *e = lap_at(w, w->lap_first++);

	if (is_events(e)) {
		w->state.ring.oldest_seq = e->head.seq + 1;
		subtract(w, e);
		ptrc_log_ring_note_lost(w, e->head.event_count, e->head.first_ns, e->head.last_ns);
	}
}

/* The number of the first entry from which on all are EVENTS packets with numbers from seq on. */
static uint64_t lap_since(const struct ptrc_log_writer *w, uint64_t seq)
{
	uint64_t end = PTRC_LOG_COUNT(&w->lap, struct ptrc_log_lap_entry);

	while (end && is_events(lap_at(w, end - 1)) && lap_at(w, end - 1)->head.seq >= seq)
		end--;
	return end;
}

void ptrc_log_ring_begin(struct ptrc_log_writer *w)
{
	const uint64_t size = sizeof(struct ptrc_log_lap_entry);
	uint64_t count = lap_since(w, w->state.seq);

	w->lap.used = count * size;
	/* Entries that were given up are removed many at a time, because moving the rest takes
	 * long. */
	if (w->lap_first >= 1024 && w->lap_first >= count / 2) {
		w->lap.used -= w->lap_first * size;
		memmove(w->lap.bytes, w->lap.bytes + w->lap_first * size, w->lap.used);
		w->lap_first = 0;
	}
	w->lap_begin = w->lap_first;
}

void ptrc_log_ring_drop_all(struct ptrc_log_writer *w)
{
	while (lap_at(w, w->lap_first))
		lap_drop(w);
}

static bool overlaps(const struct ptrc_log_lap_entry *e, uint64_t place, uint64_t size)
{
	return e->place < place + size && e->place + ptrc_log_packet_size(&e->head) > place;
}

uint64_t ptrc_log_ring_place(struct ptrc_log_writer *w, uint64_t size, uint64_t bytes)
{
	uint64_t old = w->state.offset;
	bool is_wrap = old + size > w->ring_size;
	uint64_t place = is_wrap ? 0 : old;
	const struct ptrc_log_lap_entry *e;

	while ((e = lap_at(w, w->lap_first))) {
		bool is_in_place = overlaps(e, place, size);

		/* A wrap, a return to the start of the ring, leaves the bytes after the last packet
		 * unused. The oldest packets are given up, too, if they are in these bytes. */
		if (!(is_wrap && e->place >= old) && !is_in_place &&
		    w->state.bytes + bytes <= w->limit)
			break;
		lap_drop(w);
	}
	return place;
}

/* Overwrites the header of a packet, so that no reader finds the packet. If that fails, the packet
 * stays until the next flush overwrites it. */
static void erase(struct ptrc_log_writer *w, const struct ptrc_log_lap_entry *e)
{
	static const struct ptrc_log_packet none;
	int error;

	ptrc_log_buffer_clear(&w->out);
	ptrc_log_buffer_add(&w->out, &none, sizeof(none));
	error = ptrc_log_write_at(w, PTRC_LOG_RING_OFFSET + e->place);
	(void)error;
}

int ptrc_log_ring_write(struct ptrc_log_writer *w, uint64_t place)
{
	struct ptrc_log_lap_entry e = {.place = place};
	int error = ptrc_log_buffer_reserve(&w->lap, sizeof(e))
			    ?: ptrc_log_write_at(w, PTRC_LOG_RING_OFFSET + place);

	memcpy(&e.head, w->out.bytes, sizeof(e.head));
	if (error && !w->is_torn)
		return error;
	/* In a closed log, a reader would take a packet of names that was partly written for a
	 * damaged one. Such a packet has overwritten nothing. */
	if (error && !is_events(&e)) {
		erase(w, &e);
		return error;
	}
	/* A packet without events takes the place of those that a failed flush has left. If their
	 * entries stayed, the next flush that fails would take them for packets of the log that it
	 * has overwritten, and give up all packets before them. */
	if (!is_events(&e))
		w->lap.used = lap_since(w, w->state.seq) * sizeof(e);
	/* A packet that was partly written has no events, but it has overwritten others. */
	if (error)
		e.head.event_count = e.head.counted = 0;
	else
		w->state.offset = place + w->out.used;
	ptrc_log_buffer_add(&w->lap, &e, sizeof(e));
	return error;
}

void ptrc_log_ring_return(struct ptrc_log_writer *w, const struct ptrc_log_state *before,
			  uint64_t first)
{
	uint64_t since = lap_since(w, before->seq), lost = first;
	const struct ptrc_log_lap_entry *e;

	w->state.ring = before->ring;
	w->state.events = before->events;
	w->state.bytes = before->bytes;
	w->lap_first = first;
	for (uint64_t i = since; (e = lap_at(w, i)); i++) {
		for (uint64_t k = lost; k < since; k++)
			if (overlaps(lap_at(w, k), e->place, ptrc_log_packet_size(&e->head)))
				lost = k + 1;
		erase(w, e);
	}
	/* The log has no hole: with each packet, those before it are lost. */
	while (w->lap_first < lost) {
		erase(w, lap_at(w, w->lap_first));
		lap_drop(w);
	}
}

/* Reads the header of the packet at `place`, which must not extend beyond `end`. EBADMSG: there is
 * no such packet. ENODATA: the file ends earlier. Otherwise the error number of the read. */
static int read_header(struct ptrc_log_writer *w, uint64_t place, uint64_t end,
		       struct ptrc_log_packet *p)
{
	long n = ptrc_sys(SYS_pread64, w->fd, p, sizeof(*p), PTRC_LOG_RING_OFFSET + place);

	if (n < (long)sizeof(*p))
		return n < 0 ? (int)-n : ENODATA;
	return ptrc_log_is_packet(p, w->trace.id, end - place) ? 0 : EBADMSG;
}

/* Adds to w->lap the packets between two offsets in the ring, and their events to the counts in
 * w->state. Leaves out EVENTS packets that were given up, or written after the state was saved.
 * ENOMEM, or the error number of a read. */
static int lap_read(struct ptrc_log_writer *w, uint64_t from, uint64_t to)
{
	while (from + sizeof(struct ptrc_log_packet) <= to) {
		struct ptrc_log_lap_entry e = {.place = from};
		int error = read_header(w, from, to, &e.head);

		if (error == ENODATA)
			break;
		from += error ? 8 : ptrc_log_packet_size(&e.head);
		if (error == EBADMSG || (is_events(&e) && (e.head.seq < w->state.ring.oldest_seq ||
							   e.head.seq >= w->state.seq)))
			continue;
		if (!error)
			error = ptrc_log_buffer_add(&w->lap, &e, sizeof(e));
		if (error)
			return error;
		w->state.events += e.head.event_count;
		w->state.bytes += e.head.counted;
	}
	return 0;
}

/* Counts as lost the events that a dead keeper overwrote without counting them. Their times are
 * unknown, because they cannot be read any more; but they were older than the oldest event left,
 * and newer than the events already counted as lost. */
static void note_missing(struct ptrc_log_writer *w, uint64_t events)
{
	const struct ptrc_attr *a = w->trace.attr;
	int64_t first_ns = ptrc_log_creation_ns(a->createtime_sec, a->createtime_nsec), last_ns;
	const struct ptrc_log_lap_entry *e;

	if (w->state.ring.lost_events)
		first_ns = w->state.ring.lost_last_ns;
	for (uint64_t i = 0; (e = lap_at(w, i)) && !is_events(e);)
		i++;
	if (e) {
		w->state.ring.oldest_seq = e->head.seq;
		last_ns = e->head.first_ns - (e->head.first_ns > INT64_MIN);
	} else {
		w->state.ring.oldest_seq = w->state.seq;
		last_ns = first_ns;
	}
	ptrc_log_ring_note_lost(w, events, first_ns, last_ns);
}

int ptrc_log_ring_restore(struct ptrc_log_writer *w)
{
	uint64_t events = w->state.events;
	int error;

	w->state.events = w->state.bytes = 0;
	error = lap_read(w, w->state.offset, w->ring_size);
	/* In the first lap, these packets were written after the state was saved, so the next ones
	 * take their place. A rest of them would be taken for damage; and if they stayed in w->lap,
	 * a flush that fails would erase what is in their place. */
	if (!(w->state.flags & PTRC_LOG_STATE_WRAPPED)) {
		for (uint64_t i = 0; lap_at(w, i); i++)
			erase(w, lap_at(w, i));
		w->lap.used = 0;
	}
	error = error ?: lap_read(w, 0, w->state.offset);
	if (error == ENOMEM)
		return error;
	if (error) {
		/* The descriptor is for writing only, and the file could not be opened for reading:
		 * the contents of the ring are unknown, so they are given up. */
		w->lap.used = 0;
		w->state.events = w->state.bytes = 0;
	}
	/* A keeper that was killed during a flush has overwritten events that its saved state still
	 * counts. */
	if (w->state.events < events)
		note_missing(w, events - w->state.events);
	return 0;
}

/* ---- packets other than EVENTS ---- */

int ptrc_log_aside_write(struct ptrc_log_writer *w, bool between)
{
	int error;

	if (w->kind == PTRC_LOG_SEQUENTIAL) {
		error = ptrc_log_append(w);
		if (!error)
			ptrc_log_index_note(w);
		return error;
	}
	if (between && !(w->state.flags & PTRC_LOG_STATE_WRAPPED) &&
	    w->state.offset + w->out.used <= w->ring_size)
		return ptrc_log_ring_write(w, w->state.offset);
	error = ptrc_log_write_at(w, PTRC_LOG_RING_OFFSET + w->ring_size + w->state.tail);
	if (!error)
		w->state.tail += w->out.used;
	return error;
}

bool ptrc_log_aside_put(struct ptrc_log_writer *w, uint16_t type, const void *payload,
			uint64_t bytes)
{
	uint64_t log = w->kind == PTRC_LOG_RING ? w->ring_size : w->state.offset;
	bool is_counted;

	ptrc_log_buffer_clear(&w->out);
	if (ptrc_log_packet_put(w, type, payload, bytes))
		return false;
	is_counted = w->kind == PTRC_LOG_RING || !w->origins.is_observed;
	if (is_counted && w->state.aside + w->out.used > PTRC_LOG_ASIDE_BYTES + log / 16)
		return true;
	if (ptrc_log_aside_write(w, w->state.aside + w->out.used <= w->ring_size / 32))
		return false;
	w->state.aside += is_counted ? w->out.used : 0;
	return true;
}

/* Called before a ring overwrites packets for the first time. Loads into w->out the next packet
 * from *place on that is neither EVENTS nor NAMES, and moves *place (at first 0) past it. Reads the
 * file and not w->lap, because packets that were dropped from w->lap are still in the file. False:
 * there are no more. */
static bool load_aside(struct ptrc_log_writer *w, uint64_t *place)
{
	struct ptrc_log_packet p;

	while (*place + sizeof(p) <= w->state.offset &&
	       !read_header(w, *place, w->state.offset, &p)) {
		uint64_t at = PTRC_LOG_RING_OFFSET + *place, size = ptrc_log_packet_size(&p);

		*place += size;
		if (p.type == PTRC_LOG_EVENTS || p.type == PTRC_LOG_NAMES)
			continue;
		ptrc_log_buffer_clear(&w->out);
		if (ptrc_log_buffer_reserve(&w->out, size) ||
		    ptrc_sys(SYS_pread64, w->fd, w->out.bytes, size, at) != (long)size)
			break;
		w->out.used = size;
		return true;
	}
	return false;
}

void ptrc_log_aside_before_wrap(struct ptrc_log_writer *w)
{
	uint64_t place = 0;

	while (load_aside(w, &place) && !ptrc_log_aside_write(w, false))
		;
}
