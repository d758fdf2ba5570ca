/* SPDX-License-Identifier: MIT */
/*
 * The reader of logs against files that are cut, damaged, foreign or changing.
 *
 * With a sanitizer it takes long, as the whole log is read anew for each byte that is damaged or cut off.
 */
#include "tests/support/log_maker.h"
#include "tests/support/thread_state.h"

#include <limits.h>

/* A small log and the events that are in it. */
struct sample {
	const char *what;
	int fd;
	uint8_t *bytes;
	size_t size;
	uint64_t *events; /* id << 48 | number of the event or, lacking one, its time */
	size_t count;
	uint64_t numbers; /* the numbers of the events of type 10 are below this */
	bool is_ring;
};

static uint64_t digest(const struct seen *s)
{
	uint64_t n =
		s->info.posix_event_id == 10 && s->len >= 8 ? seen_number(s) : (uint64_t)seen_ns(s);

	return (uint64_t)s->info.posix_event_id << 48 | (n & 0xffffffffffff);
}

static void sample_from(struct sample *p, struct maker *m, const char *what)
{
	struct seen s;

	p->what = what;
	p->fd = m->fd;
	p->numbers = m->next;
	p->is_ring = m->w.kind == PTRC_LOG_RING;
	p->bytes = bytes_of(m->fd, &p->size);
	struct ptrc_log_stream *l = log_open(m->fd);
	while (next_seen(l, &s)) {
		p->events = realloc(p->events, (p->count + 1) * sizeof(*p->events));
		p->events[p->count++] = digest(&s);
	}
	ptrc_log_stream_close(l);
	maker_free(m);
}

/* How a log ends. A reader of one without an index goes over the headers of its packets. */
enum ending { NOT_CLOSED, CLOSED, CLOSED_WITHOUT_INDEX };

static void close_sample(struct maker *m, enum ending ending)
{
	if (ending == CLOSED_WITHOUT_INDEX)
		m->w.index.is_lost = true;
	if (ending != NOT_CLOSED)
		maker_close(m);
}

/* kind: a policy, or its negative for a ring that has not wrapped. */
static void make_sample(struct sample *p, int kind, enum ending ending)
{
	int policy = kind < 0 ? -kind : kind;

	memset(p, 0, sizeof(*p));
	struct maker m = maker_new(policy, kind == POSIX_TRACE_LOOP ? 1200 : 4000);
	maker_name(&m, "ten");
	for (int k = 0; k < 6; k++) {
		struct maker_run r[2];

		run_begin(&r[0], 0, 1);
		run_begin(&r[1], 1, 1);
		if (k == 0)
			run_start(&r[0], -1);
		run_numbers(&m, &r[1], kind == POSIX_TRACE_LOOP ? 12 : 5, (size_t)k);
		if (k == 5)
			run_stop(&r[0], 100000, 0);
		flush_runs(&m, r, 2);
		if (k == 3)
			maker_name(&m, "eleven");
	}
	close_sample(&m, ending);
	sample_from(p, &m,
		    kind < 0			 ? "LOOP, first lap"
		    : kind == POSIX_TRACE_LOOP	 ? "LOOP"
		    : kind == POSIX_TRACE_APPEND ? "APPEND"
						 : "UNTIL_FULL");
}

/* Where the packet number `n`, from 0, of this type begins; 0 if there are fewer. *h: its header. */
static size_t packet_at(const struct sample *p, uint16_t type, int n, struct ptrc_log_packet *h)
{
	size_t at = p->is_ring ? PTRC_LOG_RING_OFFSET : PTRC_LOG_HEADS_BYTES;

	for (; at + sizeof(*h) <= p->size; at += sizeof(*h) + ptrc_align8(h->length)) {
		memcpy(h, p->bytes + at, sizeof(*h));
		/* The rest of a ring is empty, and what is behind it has no events. */
		if (p->is_ring && h->magic == 0)
			break;
		CHECK_EQ(h->magic, PTRC_LOG_PACKET_MAGIC);
		if (h->type == type && n-- == 0)
			return at;
	}
	return 0;
}

/* The place behind the NAMES packet, which comes before the events. *h: its header. */
static size_t behind_names(const struct sample *p, struct ptrc_log_packet *h)
{
	return packet_at(p, PTRC_LOG_NAMES, 0, h) + sizeof(*h) + ptrc_align8(h->length);
}

/* Makes these bytes the file. */
static void rewrite(const struct sample *p, const uint8_t *bytes, size_t size)
{
	CHECK_SYS(ftruncate(p->fd, 0));
	CHECK_EQ(pwrite(p->fd, bytes, size, 0), size);
}

/* Reads the log, which has so many events, without those that tell of gaps, of which there must be
 * so many. Returns its counts at the end. */
static struct ptrc_counts check_gaps(const struct sample *p, size_t events, size_t gaps)
{
	struct ptrc_log_stream *l = log_open(p->fd);
	struct seen s;
	size_t all = 0, overflows = 0, resumes = 0;

	for (; next_seen(l, &s); all++) {
		overflows += s.info.posix_event_id == POSIX_TRACE_OVERFLOW;
		resumes += s.info.posix_event_id == POSIX_TRACE_RESUME;
	}
	struct ptrc_counts counts = read_counts(l);
	ptrc_log_stream_close(l);
	CHECK_EQ(overflows, gaps);
	CHECK_EQ(resumes, gaps);
	CHECK_EQ(all - 2 * gaps, events);
	return counts;
}

static const int kinds[] = {POSIX_TRACE_LOOP, -POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL,
			    POSIX_TRACE_APPEND};

/* Sample number i of 6: one of each kind, and the sequential ones with this ending. */
static void make_one_of_six(struct sample *p, size_t i, enum ending ending)
{
	make_sample(p, kinds[i < 4 ? i : i - 2], i < 4 ? CLOSED : ending);
	NOTE("%s, %zu bytes, %zu events", p->what, p->size, p->count);
}

/* A numbered event is as it was written, and later than the one with the number *last. */
static void check_numbered(const struct sample *p, const struct seen *s, int64_t *last)
{
	int64_t number = (int64_t)seen_number(s);

	CHECK_GT(number, *last);
	CHECK_LT(number, p->numbers);
	for (size_t i = 8; i < s->len; i++)
		CHECK_EQ(s->data[i], (uint8_t)number);
	*last = number;
}

/* Whatever was done to the file: it is no log, or it has events that were written to
 * it, in their order (without its newest packet, a ring may show some that it had given
 * up); a sequential log has OVERFLOW and RESUME where some are missing, unless these are
 * the last. Returns their number, -1: no log. */
static long check_remains(const struct sample *p)
{
	struct posix_trace_status_info st;
	bool is_gap = false;
	struct ptrc_log_stream *l;
	trace_event_id_t id;
	struct seen s;
	int64_t last_ns = -1, last_number = -1;
	long count = 0, all = 0;
	size_t place = 0;
	int unavailable = 0;
	int err = ptrc_log_stream_open_all(&p->fd, 1, false, &l);

	if (err) {
		CHECK_EQ(err, EINVAL);
		return -1;
	}
	while (next_seen(l, &s)) {
		uint64_t event = digest(&s);

		all++;
		if (last_ns >= 0)
			CHECK_GE(seen_ns(&s), last_ns);
		last_ns = seen_ns(&s);
		if (s.info.posix_event_id == 10)
			check_numbered(p, &s, &last_number);
		if (s.info.posix_event_id == POSIX_TRACE_OVERFLOW)
			continue;
		if (s.info.posix_event_id == POSIX_TRACE_RESUME) {
			is_gap = true;
			continue;
		}
		if (!p->is_ring) {
			while (is_gap && place < p->count && p->events[place] != event)
				place++;
			CHECK_LT(place, p->count);
			CHECK_EQ(p->events[place], event);
			place++;
		}
		is_gap = false;
		count++;
	}
	ptrc_log_stream_status(l, &st);
	while (!unavailable)
		CHECK_OK(ptrc_log_stream_next_id(l, &id, &unavailable));
	ptrc_log_stream_rewind(l);
	for (; next_seen(l, &s); all--)
		CHECK_GT(all, 0);
	CHECK_EQ(all, 0);
	ptrc_log_stream_close(l);
	return count;
}

/* The place behind this one that is worth a try: each byte of a header is, but of a payload, where
 * one is as good as another, each seventh, and of what is unused fewer. */
static size_t next_place(const struct sample *p, size_t at)
{
	static const uint8_t unused[100];

	if (at >= PTRC_LOG_HEADS_BYTES && at + sizeof(unused) < p->size &&
	    memcmp(p->bytes + at, unused, sizeof(unused)) == 0)
		return at + sizeof(unused) - sizeof(struct ptrc_log_packet);
	for (at++; at < p->size && at >= PTRC_LOG_HEADS_BYTES && at % 7; at++)
		for (size_t back = 4; back < sizeof(struct ptrc_log_packet); back++)
			if (memcmp(p->bytes + at - back, "PTPK", 4) == 0)
				return at;
	return at;
}

TEST(cut_anywhere, "OPEN-15 OPEN-03")
{
	for (size_t i = 0; i < 6; i++) {
		struct sample p;
		long last = -1;

		make_one_of_six(&p, i, CLOSED_WITHOUT_INDEX);
		for (size_t size = 0; size <= p.size;
		     size = size < p.size ? next_place(&p, size) : size + 1) {
			rewrite(&p, p.bytes, size);
			long count = check_remains(&p);
			if (size < PTRC_LOG_HEAD_BYTES)
				CHECK_EQ(count, -1);
			else
				CHECK_GE(count, 0);
			if (!p.is_ring)
				CHECK_GE(count, last);
			last = count;
		}
		if (!p.is_ring)
			CHECK_EQ(last, p.count);
	}
}

TEST(any_bit_flipped, "OPEN-15 OPEN-03 LOG-41")
{
	for (size_t i = 0; i < 6; i++) {
		struct sample p;
		long worst = LONG_MAX, whole;

		make_one_of_six(&p, i, CLOSED_WITHOUT_INDEX);
		whole = check_remains(&p);
		/* Of the heads the_head_stands_twice flips each byte. */
		for (size_t at = 0; at < p.size; at = next_place(&p, at))
			for (unsigned bit = at % 3; bit < 8; bit += 3) {
				if (at >= 128 && at < PTRC_LOG_HEADS_BYTES)
					continue;
				flip(p.fd, at, (uint8_t)(1 << bit));
				long count = check_remains(&p);
				if (at < PTRC_LOG_HEADS_BYTES)
					CHECK_EQ(count, whole);
				else if (count < worst)
					worst = count;
				flip(p.fd, at, (uint8_t)(1 << bit));
			}
		/* It is never more than one packet. */
		CHECK_GE(worst, p.is_ring ? 0 : (long)p.count - 7);
	}
}

TEST(the_head_stands_twice, "")
{
	for (size_t i = 0; i < 6; i += 5) {
		uint8_t nothing[PTRC_LOG_HEAD_BYTES] = {0};
		struct sample p;

		make_one_of_six(&p, i, NOT_CLOSED);
		long whole = check_remains(&p);
		CHECK_GE(whole, (long)p.count - 2); /* a ring begins with OVERFLOW and RESUME */
		CHECK_EQ(counts_in(p.fd).pt_damaged_parts, 0);
		for (size_t at = 0; at < PTRC_LOG_HEADS_BYTES; at++) {
			flip(p.fd, at, (uint8_t)(1 << at % 8));
			CHECK_EQ(check_remains(&p), whole);
			CHECK_EQ(counts_in(p.fd).pt_damaged_parts, 1);
			flip(p.fd, at, (uint8_t)(1 << at % 8));
		}
		/* A whole copy; then both. */
		for (int k = 0; k < 2; k++) {
			CHECK_EQ(pwrite(p.fd, nothing, sizeof(nothing),
					k * (off_t)PTRC_LOG_HEAD_BYTES),
				 sizeof(nothing));
			CHECK_EQ(check_remains(&p), whole);
			CHECK_EQ(counts_in(p.fd).pt_damaged_parts, 1);
			CHECK_EQ(pwrite(p.fd, p.bytes, PTRC_LOG_HEADS_BYTES, 0),
				 PTRC_LOG_HEADS_BYTES);
		}
		CHECK_EQ(pwrite(p.fd, "?", 1, 100), 1);
		CHECK_EQ(pwrite(p.fd, "?", 1, PTRC_LOG_HEAD_BYTES + 300), 1);
		CHECK_EQ(check_remains(&p), -1);
	}
}

/* What a reader learns of types: their names by number. */
static void read_type_names(int fd, char names[16][TRACE_EVENT_NAME_MAX + 1])
{
	struct ptrc_log_stream *l = log_open(fd);
	trace_event_id_t id;
	int unavailable = 0;

	memset(names, 0, 16 * sizeof(*names));
	while (!ptrc_log_stream_next_id(l, &id, &unavailable) && !unavailable) {
		CHECK_LT(id, 16);
		CHECK_OK(ptrc_log_stream_name(l, id, names[id]));
	}
	ptrc_log_stream_close(l);
}

TEST(damage_at_the_begin_is_told_and_renames_nothing, "")
{
	/* With an index, without, not closed; a ring in its first lap. */
	for (int i = 0; i < 5; i++) {
		static const enum ending endings[] = {CLOSED, CLOSED_WITHOUT_INDEX, NOT_CLOSED,
						      CLOSED, NOT_CLOSED};
		char names[16][TRACE_EVENT_NAME_MAX + 1], now[16][TRACE_EVENT_NAME_MAX + 1];
		size_t silent = 0, told = 0, begin;
		struct ptrc_log_packet h;
		struct sample p;

		make_sample(&p, i < 3 ? POSIX_TRACE_APPEND : -POSIX_TRACE_LOOP, endings[i]);
		begin = i < 3 ? PTRC_LOG_HEADS_BYTES : PTRC_LOG_RING_OFFSET;
		read_type_names(p.fd, names);
		for (size_t at = begin;; at += sizeof(h) + ptrc_align8(h.length)) {
			memcpy(&h, p.bytes + at, sizeof(h));
			CHECK_EQ(h.magic, PTRC_LOG_PACKET_MAGIC);
			if (h.type == PTRC_LOG_EVENTS)
				break;
			for (size_t k = at; k < at + sizeof(h) + h.length; k++) {
				unsigned long differing = 0;

				flip(p.fd, k, (uint8_t)(1 << k % 8));
				CHECK_EQ(check_remains(&p), p.count);
				read_type_names(p.fd, now);
				for (int id = 0; id < 16; id++)
					CHECK(!*now[id] || !strcmp(now[id], names[id]));
				struct ptrc_log_stream *l = log_open(p.fd);
				CHECK_OK(ptrc_log_stream_verify(l, &differing));
				struct ptrc_counts counts = read_counts(l);
				ptrc_log_stream_close(l);
				if (counts.pt_damaged_parts || counts.pt_missing_names) {
					told++;
				} else {
					/* The index tells what is in a header, and nothing is missing. */
					silent++;
					CHECK_EQ(i, 0);
					CHECK_LT(k, at + sizeof(h));
					CHECK_EQ(differing, 1);
					CHECK_EQ(memcmp(now, names, sizeof(now)), 0);
				}
				flip(p.fd, k, (uint8_t)(1 << k % 8));
			}
		}
		NOTE("%s: %zu told, %zu silent", p.what, told, silent);
		CHECK_GT(told, 200);
		CHECK_EQ(silent > 0, i == 0);
	}
}

/* Someone means harm: everything he writes has the right CRC. */
TEST(forged_with_right_checksums, "OPEN-15")
{
	for (size_t i = 0; i < 4; i++) {
		struct ptrc_log_packet h;
		struct sample p;
		size_t offsets[64], count = 0, status = 0;

		make_sample(&p, kinds[i], i == 2 ? NOT_CLOSED : CLOSED);
		for (size_t at = 32; at + sizeof(struct ptrc_log_packet) <= p.size && count < 64;
		     at++)
			if (memcmp(p.bytes + at, "PTPK", 4) == 0) {
				memcpy(&h, p.bytes + at, sizeof(h));
				status = h.type == PTRC_LOG_STATUS ? at : status;
				offsets[count++] = at;
			}
		CHECK_GT(count, 3);
		uint8_t *copy = malloc(p.size);
		for (int round = 0; round < 1000; round++) {
			struct ptrc_log_stream *l;
			struct posix_trace_status_info st;
			struct seen s;
			size_t seen = 0;

			memcpy(copy, p.bytes, p.size);
			if (status && round < 7) {
				copy[status + sizeof(h) + 4 * (size_t)round] = round ? 2 : 3;
				sign(copy, p.size, status);
			}
			for (uint64_t k = harness_draw(3); k < 3; k++) {
				static const uint64_t values[] = {
					0,	    1,	       8,	   0x7f,
					0xff,	    0x8000,    0xffff,	   0x7fffffff,
					0xffffffff, INT64_MAX, UINT64_MAX, UINT64_MAX - 63};
				size_t offset = offsets[harness_draw(count)], at;
				uint64_t value = harness_draw(2) ? values[harness_draw(12)]
								 : harness_draw(UINT64_MAX);
				size_t width = (size_t)1 << harness_draw(4);

				memcpy(&h, copy + offset, sizeof(h));
				if (harness_draw(3) == 0)
					at = harness_draw(72);
				else
					at = sizeof(h) + harness_draw(h.length < 2048 && h.length
									      ? h.length
									      : 64);
				if (offset + at + width > p.size)
					continue;
				memcpy(copy + offset + at, &value, width);
				sign(copy, p.size, offset);
			}
			CHECK_EQ(pwrite(p.fd, copy, p.size, 0), p.size);
			if (ptrc_log_stream_open_all(&p.fd, 1, false, &l))
				continue;
			ptrc_log_stream_status(l, &st);
			CHECK(st.posix_stream_status == 1 || st.posix_stream_status == 2);
			CHECK((st.posix_stream_full_status | st.posix_stream_flush_status |
			       st.posix_log_overrun_status | st.posix_log_full_status) <= 1);
			while (next_seen(l, &s)) {
				CHECK_GE(s.info.posix_event_id, 1);
				CHECK_LE(s.info.posix_event_id, 8191);
				CHECK(s.info.posix_timestamp.tv_nsec >= 0 &&
				      s.info.posix_timestamp.tv_nsec < 1000000000);
				CHECK_LT(seen++, 2000);
			}
			ptrc_log_stream_close(l);
		}
	}
}

TEST(packets_of_unknown_type_are_skipped, "OPEN-18")
{
	struct sample p;
	struct ptrc_log_packet h;

	make_sample(&p, POSIX_TRACE_APPEND, CLOSED);
	uint8_t *longer = malloc(p.size + sizeof(h) + 24);
	/* Behind the names, which come first. */
	size_t at = behind_names(&p, &h);
	memcpy(longer, p.bytes, at);
	h.type = 4711;
	h.length = 21;
	memcpy(longer + at, &h, sizeof(h));
	memset(longer + at + sizeof(h), 'P', 24);
	sign(longer, p.size + sizeof(h) + 24, at);
	memcpy(longer + at + sizeof(h) + 24, p.bytes + at, p.size - at);
	CHECK_EQ(pwrite(p.fd, longer, p.size + sizeof(h) + 24, 0), p.size + sizeof(h) + 24);
	CHECK_EQ(check_remains(&p), p.count);
}

TEST(torn_packet_written_again_is_no_loss, "LOG-25 LOG-35")
{
	struct sample p;
	struct ptrc_log_packet h;
	size_t at;

	/* What a pipe looks like whose keeper died within a packet, at any place of
	 * it. */
	make_sample(&p, POSIX_TRACE_APPEND, CLOSED);
	uint8_t *longer = malloc(2 * p.size);
	at = behind_names(&p, &h);
	memcpy(&h, p.bytes + at, sizeof(h));
	for (size_t torn = 1; torn < sizeof(h) + h.length; torn++) {
		memcpy(longer, p.bytes, at + torn);
		memcpy(longer + at + torn, p.bytes + at, p.size - at);
		CHECK_EQ(pwrite(p.fd, longer, p.size + torn, 0), p.size + torn);
		CHECK_EQ(check_remains(&p), p.count);
	}
}

/* Headers one behind the other, each of which claims the rest of the file. To look at all
 * of it again from each of them would take hours. */
TEST(headers_that_lie_keep_no_open_busy, "OPEN-15")
{
	enum {
		BYTES = (16 << 20) / (int)sizeof(struct ptrc_log_packet) *
			(int)sizeof(struct ptrc_log_packet)
	};
	struct seen s;
	struct maker m = maker_new(POSIX_TRACE_APPEND, 4000);
	maker_name(&m, "ten");
	struct maker_run r = run_of(0, 1);
	run_start(&r, -1);
	run_numbers(&m, &r, 5, 0);
	flush_run(&m, &r);
	struct ptrc_log_packet *p = calloc(BYTES / sizeof(*p), sizeof(*p));
	CHECK(p);
	for (size_t i = 0; i < BYTES / sizeof(*p); i++) {
		p[i] = (struct ptrc_log_packet){.magic = PTRC_LOG_PACKET_MAGIC,
						.type = PTRC_LOG_EVENTS,
						.length = i < BYTES / sizeof(*p) * 15 / 16
								  ? 1 << 20
								  : BYTES - (i + 1) * sizeof(*p),
						.log_id = m.h->id,
						.seq = 1,
						.payload_crc = 1};
		p[i].header_crc =
			ptrc_crc32c(0, &p[i], offsetof(struct ptrc_log_packet, header_crc));
	}
	CHECK_EQ(pwrite(m.fd, p, BYTES, (off_t)size_of(m.fd)), BYTES);
	struct ptrc_log_stream *l = log_open(m.fd);
	int count = 0;
	while (next_seen(l, &s))
		count++;
	CHECK_EQ(count, 6);
	ptrc_log_stream_close(l);
}

TEST(packet_missing_in_the_middle_is_a_gap, "OPEN-15")
{
	struct sample p;
	struct ptrc_log_packet h;

	make_sample(&p, POSIX_TRACE_APPEND, CLOSED);
	size_t at = packet_at(&p, PTRC_LOG_EVENTS, 2, &h);
	size_t next = at + sizeof(h) + ptrc_align8(h.length);
	uint8_t *shorter = malloc(p.size);
	memcpy(shorter, p.bytes, at);
	memcpy(shorter + at, p.bytes + next, p.size - next);
	rewrite(&p, shorter, p.size - (next - at));
	/* One flush is missing. */
	CHECK_EQ(check_remains(&p), p.count - 5);
}

TEST(damage_of_a_slice_in_a_ring, "OPEN-15")
{
	struct sample p;
	struct ptrc_log_packet h;
	int packets = 0;

	/* Any packet's payload: all others are there. */
	make_sample(&p, -POSIX_TRACE_LOOP, CLOSED);
	for (size_t at; (at = packet_at(&p, PTRC_LOG_EVENTS, packets, &h)); packets++) {
		flip(p.fd, at + sizeof(h) + 50, 0x10);
		CHECK_EQ(check_remains(&p), p.count - h.event_count);
		flip(p.fd, at + sizeof(h) + 50, 0x10);
	}
	CHECK_GT(packets, 5);
	CHECK_EQ(check_remains(&p), p.count);
}

/* Reads a log of numbers in which some are missing at one place, and gives the first of those and
 * the next number that is there. */
static void read_around_gap(struct ptrc_log_stream *l, uint64_t *first, uint64_t *behind)
{
	struct ptrc_counts counts;
	uint64_t next = 0;
	int gaps = 0;
	struct seen s;

	while (next_seen(l, &s)) {
		ptrc_log_stream_counts(l, &counts);
		if (s.info.posix_event_id != POSIX_TRACE_OVERFLOW) {
			CHECK_EQ(seen_number(&s), next);
			next++;
			continue;
		}
		/* It is later than the event before, and not later than the first that is lost; of
		 * that the time may be known to be behind the creation, which is at 7. */
		CHECK_GT(seen_ns(&s), ((int64_t)next - 1) * 1000);
		CHECK_LE(seen_ns(&s), next ? (int64_t)next * 1000 : 7);
		CHECK_EQ(counts.pt_damaged_gaps, 1);
		CHECK_EQ(counts.pt_uncounted_gaps, 0);
		gaps++;
		*first = next;
		CHECK_SEEN(l, &s, POSIX_TRACE_RESUME);
		*behind = next + counts.pt_damaged_events;
		next = *behind;
	}
	CHECK_EQ(gaps, 1);
	ptrc_log_stream_counts(l, &counts);
	CHECK_EQ(next, counts.pt_log_events);
	CHECK_EQ(counts.pt_made_up_events, 2);
}

TEST(damage_is_told_in_its_place_and_with_its_number, "OPEN-15")
{
	/* A payload, and a header, so that only the numbers of the packets tell; in the first
	 * packet, in the middle, in the last; of a sequential log and of a ring. */
	for (int i = 0; i < 12; i++) {
		bool is_ring = i % 2, is_header = i / 2 % 2;
		/* With an index nobody needs the headers. */
		enum ending ending = is_header ? CLOSED_WITHOUT_INDEX : CLOSED;
		uint64_t first = 0, behind = 0;
		struct sample p = {.fd = -1};
		struct ptrc_log_packet h;
		int count = 0;
		struct maker m =
			maker_new(is_ring ? POSIX_TRACE_LOOP : POSIX_TRACE_APPEND, 1 << 20);
		for (int k = 0; k < 10; k++)
			flush_numbers(&m, 1000, 0);
		close_sample(&m, ending);
		sample_from(&p, &m, "numbers");
		while (packet_at(&p, PTRC_LOG_EVENTS, count, &h))
			count++;
		CHECK_GE(count, 10);
		int chosen = i / 4 == 0 ? 0 : i / 4 == 1 ? count / 2 : count - 1;
		size_t at = packet_at(&p, PTRC_LOG_EVENTS, chosen, &h);
		flip(p.fd, at + (is_header ? 9 : sizeof(h) + 500), 0x10);
		struct ptrc_log_stream *l = log_open(p.fd);
		for (int round = 0; round < 2; round++) {
			read_around_gap(l, &first, &behind);
			CHECK_EQ(behind - first, h.event_count);
			CHECK_EQ(MAKER_EPOCH + (int64_t)first * 1000, h.first_ns);
			ptrc_log_stream_rewind(l);
		}
		ptrc_log_stream_close(l);
	}
}

TEST(several_gaps_are_told_each, "OPEN-15")
{
	struct ptrc_log_packet h;
	struct sample p;

	/* The headers of two packets: how many events each of them had is not known. */
	make_sample(&p, POSIX_TRACE_APPEND, CLOSED_WITHOUT_INDEX);
	flip(p.fd, packet_at(&p, PTRC_LOG_EVENTS, 1, &h), 0x10);
	flip(p.fd, packet_at(&p, PTRC_LOG_EVENTS, 3, &h), 0x10);
	struct ptrc_counts counts = check_gaps(&p, p.count - 10, 2);
	CHECK_EQ(counts.pt_damaged_gaps, 2);
	CHECK_EQ(counts.pt_uncounted_gaps, 2);
	CHECK_EQ(counts.pt_damaged_events, 0);
	CHECK_EQ(counts.pt_made_up_events, 4);
}

TEST(a_packet_without_a_header_in_a_ring_without_an_end_is_no_damage, "OPEN-15")
{
	struct ptrc_log_packet h;
	struct sample p;

	make_sample(&p, -POSIX_TRACE_LOOP, NOT_CLOSED);
	flip(p.fd, packet_at(&p, PTRC_LOG_EVENTS, 1, &h) + 9, 0x10);
	struct ptrc_counts counts = check_gaps(&p, p.count - h.event_count, 1);
	/* A keeper may have overwritten it since. */
	CHECK_EQ(counts.pt_damaged_gaps, 0);
	CHECK_EQ(counts.pt_damaged_events, 0);
}

TEST(a_cut_loses_only_what_is_behind_it, "OPEN-15")
{
	struct ptrc_log_packet h[6];
	struct ptrc_log_stream *l;
	struct sample p;
	struct seen s;
	size_t at[6];

	make_sample(&p, POSIX_TRACE_APPEND, CLOSED);
	for (int k = 0; k < 6; k++)
		at[k] = packet_at(&p, PTRC_LOG_EVENTS, k, &h[k]);
	for (size_t size = at[4]; size <= p.size; size++) {
		size_t count = 0, whole = 0;

		for (int k = 0; k < 6; k++)
			if (at[k] + sizeof(h[k]) + h[k].length <= size)
				whole += h[k].event_count;
		rewrite(&p, p.bytes, size);
		l = log_open(p.fd);
		for (; next_seen(l, &s); count++)
			CHECK_EQ(digest(&s), p.events[count]);
		CHECK_EQ(count, whole);
		ptrc_log_stream_close(l);
	}
}

TEST(a_header_that_lies_is_damage, "OPEN-15")
{
	static const size_t fields[] = {
		offsetof(struct ptrc_log_packet, first_ns),
		offsetof(struct ptrc_log_packet, last_ns),
		offsetof(struct ptrc_log_packet, event_count),
		offsetof(struct ptrc_log_packet, counted),
		offsetof(struct ptrc_log_packet, sums_bytes),
		/* The sums: type, number, bytes, truncated ones. */
		sizeof(struct ptrc_log_packet),
		sizeof(struct ptrc_log_packet) + 4,
		sizeof(struct ptrc_log_packet) + 8,
		sizeof(struct ptrc_log_packet) + 12,
	};
	struct ptrc_log_packet h;
	struct sample p;

	make_sample(&p, POSIX_TRACE_APPEND, CLOSED_WITHOUT_INDEX);
	for (size_t i = 0; i < 9; i++)
		for (int more = -1; more <= 1; more += 2) {
			size_t at = packet_at(&p, PTRC_LOG_EVENTS, 2, &h);
			uint8_t *copy = malloc(p.size);

			CHECK(copy);
			memcpy(copy, p.bytes, p.size);
			copy[at + fields[i]] = (uint8_t)(copy[at + fields[i]] + more);
			sign(copy, p.size, at);
			CHECK_EQ(pwrite(p.fd, copy, p.size, 0), p.size);
			CHECK_EQ(check_gaps(&p, p.count - h.event_count, 1).pt_damaged_gaps, 1);
		}
}

TEST(a_number_of_events_that_cannot_be_is_not_counted, "")
{
	/* One more than it has; more than fit, in a packet that is whole, and in one that is
	 * damaged. */
	for (int i = 0; i < 6; i++) {
		bool is_closed = i % 2;
		struct ptrc_log_packet h;
		struct sample p;

		make_sample(&p, POSIX_TRACE_APPEND, is_closed ? CLOSED_WITHOUT_INDEX : NOT_CLOSED);
		size_t at = packet_at(&p, PTRC_LOG_EVENTS, 2, &h);
		unsigned long others = p.count - h.event_count;
		h.event_count = i < 2 ? h.event_count + 1 : 1000000000;
		memcpy(p.bytes + at, &h, sizeof(h));
		sign(p.bytes, p.size, at);
		if (i >= 4)
			p.bytes[at + sizeof(h) + h.length - 1] ^= 1;
		CHECK_EQ(pwrite(p.fd, p.bytes, p.size, 0), p.size);
		struct ptrc_counts counts = check_gaps(&p, others, 1);
		CHECK_EQ(counts.pt_damaged_gaps, 1);
		CHECK_EQ(counts.pt_damaged_events, 0);
		CHECK_EQ(counts.pt_uncounted_gaps, 1);
		CHECK_EQ(counts.pt_log_events, is_closed ? p.count : others);
	}
}

/* A file that takes 8 KiB on the disk may be of any size, and say that it is all one packet. */
TEST(sparse_file_costs_no_memory, "OPEN-15")
{
	struct rlimit limit = {UINT64_C(256) << 20, UINT64_C(256) << 20};

#ifdef HARNESS_IS_SANITIZED
	SKIP("a sanitizer maps more than the limit allows");
#endif
	for (int i = 0; i < 3; i++) {
		/* Zeros; the end of another packet; an event of that size, in a packet whose
		 * checksum is wrong. */
		uint64_t size = i == 2 ? UINT64_C(512) << 20 : UINT64_C(1) << 40;
		struct ptrc_log_packet h = {.magic = PTRC_LOG_PACKET_MAGIC,
					    .type = PTRC_LOG_EVENTS,
					    .length = size - sizeof(h),
					    .seq = 1,
					    .event_count = 1,
					    .payload_crc = 1};
		struct ptrc_log_section section = {
			.base_ns = MAKER_EPOCH,
			.bytes = (uint32_t)(size - sizeof(h) - sizeof(section))};
		uint8_t event[PTRC_PACKED_HEAD_MAX], *to = event;
		uint64_t key = ptrc_packed_key(0, 10);
		struct seen s;
		int count = 0;
		struct maker m = maker_new(POSIX_TRACE_APPEND, 0);
		flush_numbers(&m, 5, 0);
		const off_t begin = (off_t)size_of(m.fd);
		h.log_id = m.h->id;
		h.header_crc = ptrc_crc32c(0, &h, offsetof(struct ptrc_log_packet, header_crc));
		CHECK_EQ(pwrite(m.fd, &h, sizeof(h), begin), sizeof(h));
		*to++ = PTRC_PACKED_DEFINE;
		memcpy(to, &key, sizeof(key));
		to = ptrc_packed_put(to + sizeof(key), section.bytes - 15 + 1);
		*to++ = 0;
		if (i == 2) {
			off_t at = begin + (off_t)sizeof(h);

			CHECK_EQ(pwrite(m.fd, &section, sizeof(section), at), sizeof(section));
			CHECK_EQ(pwrite(m.fd, event, (size_t)(to - event),
					at + (off_t)sizeof(section)),
				 to - event);
		}
		CHECK_SYS(ftruncate(m.fd, begin + (off_t)size));
		h.seq = 2;
		h.length = 0;
		h.payload_crc = 0;
		h.header_crc = ptrc_crc32c(0, &h, offsetof(struct ptrc_log_packet, header_crc));
		if (i == 1)
			CHECK_EQ(pwrite(m.fd, &h, sizeof(h), begin + (off_t)size), sizeof(h));
		CHECK_SYS(setrlimit(RLIMIT_AS, &limit));
		struct ptrc_log_stream *l = log_open(m.fd);
		while (next_seen(l, &s))
			count += s.info.posix_event_id == 10;
		CHECK_EQ(count, 5);
		ptrc_log_stream_close(l);
		maker_end(&m);
	}
}

TEST(file_that_shrinks_while_open, "OPEN-15")
{
	for (size_t i = 0; i < 4; i++) {
		struct sample p;
		struct seen s;

		make_sample(&p, kinds[i], CLOSED);
		struct ptrc_log_stream *l = log_open(p.fd);
		CHECK(next_seen(l, &s));
		CHECK_SYS(ftruncate(p.fd, 1000));
		for (size_t n = 0; next_seen(l, &s); n++)
			CHECK_LT(n, p.count);
		ptrc_log_stream_rewind(l);
		CHECK(!next_seen(l, &s) || s.info.posix_event_id == POSIX_TRACE_OVERFLOW);
		ptrc_log_stream_close(l);
	}
}

TEST(ring_overwritten_while_it_is_read, "OPEN-14 OPEN-15 LOG-31")
{
	struct maker m;
	struct seen s;
	int fd = maker_file(), gaps = 0;

	maker_open(&m, fd, POSIX_TRACE_LOOP, 20000);
	flush_numbers(&m, 5000, 0);
	struct ptrc_log_stream *l = log_open(fd);
	for (int k = 0; k < 10; k++)
		CHECK(next_seen(l, &s));
	uint64_t last = seen_number(&s);
	/* The first of these flushes fits into what the ring has left, the second does not. */
	for (int k = 0; k < 2; k++)
		flush_numbers(&m, 1000, 0);
	while (next_seen(l, &s)) {
		if (s.info.posix_event_id == POSIX_TRACE_OVERFLOW) {
			gaps++;
			CHECK_SEEN(l, &s, POSIX_TRACE_RESUME);
			CHECK(next_seen(l, &s));
			CHECK_GT(seen_number(&s), last + 1);
		} else {
			CHECK_EQ(seen_number(&s), last + 1);
		}
		last = seen_number(&s);
	}
	CHECK_EQ(gaps, 1);
	CHECK_EQ(last, 4999);
	ptrc_log_stream_close(l);
}

TEST(logs_of_other_machines_and_versions_are_none, "OPEN-03 LOG-37 LOG-41")
{
	struct ptrc_log_stream *l = NULL;
	struct sample p;

	make_sample(&p, POSIX_TRACE_APPEND, CLOSED);
	/* Byte order, version, word size, machine, in both places. */
	for (off_t at = 8; at < 32; at++) {
		CHECK_EQ(pwrite(p.fd, "\x42", 1, at), 1);
		CHECK_EQ(pwrite(p.fd, "\x42", 1, (off_t)PTRC_LOG_HEAD_BYTES + at), 1);
		CHECK_EQ(ptrc_log_stream_open_all(&p.fd, 1, false, &l),
			 at / 2 == 6 ? EPROTO : EINVAL);
		CHECK_EQ(pwrite(p.fd, p.bytes, PTRC_LOG_HEADS_BYTES, 0), PTRC_LOG_HEADS_BYTES);
	}
	CHECK_EQ(l, NULL);
	CHECK_EQ(check_remains(&p), p.count);
}

static struct ptrc_log_stream *open_without_a_wait(int fd)
{
	long naps = harness_naps();
	struct ptrc_log_stream *l = log_open(fd);

	/* It would sleep a hundred times before it sleeps for longer than 200 us. */
	CHECK_LT(harness_naps() - naps, 50);
	return l;
}

TEST(waits_for_a_keeper_that_is_finishing, "EXIT-02 OPEN-14")
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	struct posix_trace_status_info st;
	const struct harness_gate to_parent = harness_gate(), to_keeper = harness_gate();
	struct maker m = maker_new(POSIX_TRACE_APPEND, 0);

	pid_t keeper = harness_fork();
	if (keeper == 0) {
		lock.l_start = PTRC_LOG_LOCK_KEEPER;
		CHECK_SYS(fcntl(m.fd, F_SETLK, &lock));
		harness_open(&to_parent);
		harness_pass(&to_keeper);
		lock.l_start = PTRC_LOG_LOCK_FINISHING;
		CHECK_SYS(fcntl(m.fd, F_SETLK, &lock));
		harness_open(&to_parent);
		/* The open has begun to wait, as nothing else lets the parent sleep. */
		CHECK_EVENTUALLY(thread_state(getppid(), getppid()) == 'S');
		flush_numbers(&m, 5, 0);
		maker_close(&m);
		_exit(0);
	}
	/* At work for a controller that lives, as far as can be told: no waiting. */
	harness_pass(&to_parent);
	struct ptrc_log_stream *l = open_without_a_wait(m.fd);
	ptrc_log_stream_close(l);
	harness_open(&to_keeper);
	harness_pass(&to_parent);
	l = log_open(m.fd);
	ptrc_log_stream_status(l, &st);
	CHECK_EQ(st.posix_stream_status, POSIX_TRACE_SUSPENDED);
	ptrc_log_stream_close(l);
	CHECK_EXIT(keeper, 0);
}

TEST(waits_not_for_ever_for_who_lets_a_log_grow, "")
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 2};
	int fd = maker_file();
	struct maker m;

	maker_open(&m, fd, POSIX_TRACE_APPEND, 0);
	maker_close(&m);
	size_t size = size_of(fd);
	pid_t owner = harness_fork();
	if (owner == 0) {
		lock.l_start = PTRC_LOG_LOCK_KEEPER;
		CHECK_SYS(fcntl(fd, F_SETLK, &lock));
		for (;; harness_sleep_ms(1))
			CHECK_SYS(ftruncate(fd, (off_t)++size));
	}
	CHECK_EVENTUALLY(size_of(fd) > size);
	struct ptrc_log_stream *l = log_open(fd);
	/* The owner still lives, and grows the log. */
	CHECK_EQ(waitpid(owner, NULL, WNOHANG), 0);
	ptrc_log_stream_close(l);
	harness_kill(owner);
}

TEST(does_not_wait_for_who_has_locked_the_whole_log, "OPEN-14 EXIT-02")
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = maker_file();
	struct maker m;

	maker_open(&m, fd, POSIX_TRACE_APPEND, 0);
	maker_close(&m);
	pid_t pid = harness_fork();
	if (pid == 0) {
		CHECK_SYS(fcntl(fd, F_SETLK, &all));
		harness_stand_still();
	}
	harness_wait_until_still(pid);
	struct ptrc_log_stream *l = open_without_a_wait(fd);
	ptrc_log_stream_close(l);
	harness_kill(pid);
}
