/* SPDX-License-Identifier: MIT */
/* Logs that come in parts: what a cursor makes of an active stream, and reading it. */
#include "include/posixtrace-private.h"
#include "tests/support/keeper.h"
#include "tests/support/log_maker.h"

#include <limits.h>
#include <malloc.h>
#include <posixtrace-control.h>

enum { DATA = 100 };

/* The bytes of parts, one upon the other. */
struct bytes {
	unsigned char *at;
	size_t used, size;
};

static void append(struct bytes *b, const struct ptrc_part *part)
{
	if (b->size <= b->used + part->pt_length) {
		b->size = 2 * (b->used + part->pt_length) + 1;
		b->at = realloc(b->at, b->size);
		CHECK(b->at);
	}
	memcpy(b->at + b->used, part->pt_bytes, part->pt_length);
	b->used += part->pt_length;
}

/* Takes what there is; returns how many events. */
static unsigned long take(struct posixtrace_cursor *cursor, struct bytes *b)
{
	struct ptrc_part part;
	unsigned long events = 0;

	do {
		CHECK_OK(ptrc_cursor_get_part(cursor, &part));
		append(b, &part);
		events += part.pt_events;
	} while (part.pt_is_more);
	return events;
}

static void take_end(struct posixtrace_cursor *cursor, struct bytes *b, unsigned long lost,
		     int is_end)
{
	const struct posix_trace_status_info status = {
		.posix_stream_status = POSIX_TRACE_SUSPENDED,
		.posix_stream_overrun_status = lost ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN};
	const struct ptrc_counts counts = {.pt_lost_events = lost, .pt_log_lost_events = 7};
	struct ptrc_part part;

	CHECK_OK(ptrc_cursor_end_part(cursor, &status, &counts, is_end, &part));
	CHECK_EQ(part.pt_events, 0u);
	append(b, &part);
}

static trace_id_t begin(struct posixtrace_cursor **cursor)
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 4 << 20, 300000);

	CHECK_OK(posixtrace_cursor_open(trid, 0, cursor));
	return trid;
}

static void *emit(void *number)
{
	trace_event_id_t id = ts_id("threads");
	char data[DATA];

	memset(data, (int)(intptr_t)number, sizeof(data));
	for (size_t i = 0; i < 2000; i++)
		posix_trace_event(id, data, i % DATA);
	return NULL;
}

/* A complete log with several threads, a filter, and an event that is larger than a part. */
static struct bytes make(void)
{
	static const char large[300000] = "large";
	struct posixtrace_cursor *cursor;
	trace_id_t trid = begin(&cursor);
	struct bytes b = {NULL, 0, 0};
	pthread_t threads[3];

	take(cursor, &b);
	for (intptr_t i = 0; i < 3; i++)
		threads[i] = ts_thread(emit, (void *)i);
	for (int i = 0; i < 3; i++)
		ts_join(threads[i]);
	take(cursor, &b);
	posix_trace_event(ts_id("large"), large, sizeof(large));
	trace_event_set_t set = ts_set(ts_id("large"), 0);
	ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
	posix_trace_event(ts_id("large"), large, sizeof(large));
	ts_emit(ts_id("later name"), 1);
	ts_stop(trid);
	take(cursor, &b);
	take_end(cursor, &b, 3, 1);
	posixtrace_cursor_close(cursor);
	ts_shutdown(trid);
	/* So that a sanitizer sees who reads behind it. */
	b.at = realloc(b.at, b.used);
	CHECK(b.at);
	return b;
}

/* What is read of the parts: each event, as bytes. */
struct taken {
	struct bytes all;
	size_t events;
};

static void see(struct taken *s, const struct posixtrace_event *e)
{
	struct ptrc_part info = {.pt_bytes = &e->pt_info, .pt_length = sizeof(e->pt_info)};
	struct ptrc_part data = {.pt_bytes = e->pt_data, .pt_length = e->pt_size};

	append(&s->all, &info);
	append(&s->all, &data);
	s->events++;
}

static int see_all(trace_id_t log, struct taken *s)
{
	struct posixtrace_block *block;
	int error;

	while (!(error = posixtrace_log_next_block(log, &block)) && block) {
		for (size_t i = 0; i < block->pt_count; i++)
			see(s, &block->pt_events[i]);
		posixtrace_log_free_block(block);
	}
	return error;
}

/* Reads the bytes in parts of this size; events at once, or at the end. Small parts are at the begin and the
 * end of the log: what is in between is all alike. */
static struct taken read_by(const struct bytes *b, size_t size, bool is_eager)
{
	enum { SMALL = 4096, EDGE = 20000 };
	struct taken s = {.events = 0};
	int is_complete = 0;
	trace_id_t log;

	CHECK_OK(ptrc_log_open_parts(b->at, PTRC_LOG_HEADS_BYTES, &log));
	for (size_t at = PTRC_LOG_HEADS_BYTES, n; at < b->used; at += n) {
		CHECK(!is_complete);
		n = size < b->used - at ? size : b->used - at;
		if (size < SMALL && at >= EDGE && at + EDGE < b->used)
			n = b->used - EDGE - at;
		CHECK_OK(ptrc_log_add_part(log, b->at + at, n, &is_complete));
		if (is_eager)
			CHECK_OK(see_all(log, &s));
	}
	CHECK(is_complete);
	CHECK_OK(see_all(log, &s));
	ts_close_log(log);
	return s;
}

static void expect_same(const struct taken *a, const struct taken *b)
{
	CHECK_EQ(a->events, b->events);
	CHECK_EQ(a->all.used, b->all.used);
	CHECK_MEM_EQ(a->all.at, b->all.at, a->all.used);
}

TEST(parts_of_any_size_are_the_log_that_they_are_in_a_file, "")
{
	static const size_t sizes[] = {1, 79, 80, 4096, 65537, 1 << 30};
	struct bytes b = make();
	struct taken whole = {.events = 0};
	int fd = ts_temp_file();

	put_bytes(fd, b.at, b.used);
	trace_id_t log = ts_open_log(fd);
	CHECK_OK(see_all(log, &whole));
	ts_close_log(log);
	/* START, the threads' events, the large one, FILTER, the last one, STOP. */
	CHECK_EQ(whole.events, 1u + 6000 + 1 + 1 + 1 + 1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		/* Asking for events after each byte would take long. */
		struct taken eager = read_by(&b, sizes[i] > 1 ? sizes[i] : 61, true);
		struct taken late = read_by(&b, sizes[i], false);

		expect_same(&whole, &eager);
		expect_same(&whole, &late);
	}
}

/* Adds the bytes from this place on. Returns whether the log is complete. */
static int add_from(trace_id_t log, const struct bytes *b, size_t from)
{
	int is_complete;

	CHECK_OK(ptrc_log_add_part(log, b->at + from, b->used - from, &is_complete));
	return is_complete;
}

TEST(an_event_is_there_as_soon_as_its_part_is, "")
{
	struct posixtrace_cursor *cursor;
	trace_id_t trid = begin(&cursor), log;
	struct posixtrace_log_process p;
	struct posixtrace_log_host host;
	struct bytes b = {NULL, 0, 0};
	struct taken s = {.events = 0};

	CHECK_EQ(take(cursor, &b), 1u);
	CHECK_OK(ptrc_log_open_parts(b.at, b.used, &log));
	CHECK_OK(see_all(log, &s));
	CHECK_EQ(s.events, 1u);
	CHECK_EQ(ts_status(log).posix_stream_flush_error, EOWNERDEAD);
	CHECK_OK(posixtrace_log_get_host(log, &host, sizeof(host)));
	/* Nothing new: no part. */
	size_t from = b.used;
	CHECK_EQ(take(cursor, &b), 0u);
	CHECK_EQ(b.used, from);
	for (int i = 0; i < 5; i++) {
		char text[20];

		snprintf(text, sizeof(text), "name %d", i);
		trace_event_id_t id = ts_id(text);
		from = b.used;
		ts_emit(id, (unsigned)i);
		CHECK_EQ(take(cursor, &b), 1u);
		CHECK(!add_from(log, &b, from));
		CHECK_OK(see_all(log, &s));
		CHECK_EQ(s.events, 2u + (unsigned)i);
		ts_expect_name(log, id, text);
	}
	CHECK_OK(posixtrace_log_get_process(log, 0, &p, sizeof(p)));
	CHECK_EQ(p.pp_pid, getpid());
	CHECK_GT(p.pp_name_size, 0u);
	/* A status in between, and one at the end. */
	from = b.used;
	take_end(cursor, &b, 2, 0);
	CHECK(!add_from(log, &b, from));
	struct posix_trace_status_info status = ts_status(log);
	CHECK_EQ(status.posix_stream_status, POSIX_TRACE_RUNNING);
	CHECK_EQ(status.posix_stream_flush_error, 0);
	CHECK_EQ(status.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	struct ptrc_counts counts = counts_of(log);
	CHECK_EQ(counts.pt_lost_events, 2u);
	CHECK_EQ(counts.pt_log_lost_events, 7u);
	/* Also when the stream is gone. */
	ts_shutdown(trid);
	from = b.used;
	take_end(cursor, &b, 5, 1);
	CHECK(add_from(log, &b, from));
	CHECK_EQ(ts_status(log).posix_stream_status, POSIX_TRACE_SUSPENDED);
	counts = counts_of(log);
	CHECK_EQ(counts.pt_lost_events, 5u);
	CHECK_EQ(counts.pt_log_events, 6u);
	posixtrace_cursor_close(cursor);
	ts_close_log(log);
}

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

TEST(memory_is_that_of_what_was_not_read, "")
{
	static char data[30000];
	struct posixtrace_cursor *cursor;
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, 4 << 20, sizeof(data)), log = 0;
	trace_event_id_t id = ts_id("event");
	struct ptrc_part part;
	struct taken s = {.events = 0};
	size_t most = 0, before = 0;

	CHECK_OK(posixtrace_cursor_open(trid, 0, &cursor));
	for (unsigned i = 0; i < 2000; i++) {
		posix_trace_event(id, data, sizeof(data));
		CHECK_OK(ptrc_cursor_get_part(cursor, &part));
		most = part.pt_length > most ? part.pt_length : most;
		if (log)
			CHECK_OK(ptrc_log_add_part(log, part.pt_bytes, part.pt_length, NULL));
		else
			CHECK_OK(ptrc_log_open_parts(part.pt_bytes, part.pt_length, &log));
		CHECK_OK(see_all(log, &s));
		free(s.all.at);
		s.all = (struct bytes){NULL, 0, 0};
		if (i == 200)
			before = allocated();
	}
	CHECK_LT(allocated(), before + (1 << 20));
	CHECK_EQ(s.events, 2001u);
	CHECK_LT(most, 70000u);
	posixtrace_cursor_close(cursor);
	ts_close_log(log);
	ts_shutdown(trid);
}

/* ---- what is none ---- */

/* The place of the first packet of this type. */
static size_t find(const struct bytes *b, uint16_t type)
{
	size_t at = PTRC_LOG_HEADS_BYTES;
	struct ptrc_log_packet p;

	while (at < b->used) {
		memcpy(&p, b->at + at, sizeof(p));
		if (p.type == type)
			return at;
		at += sizeof(p) + (size_t)ptrc_align8(p.length);
	}
	CHECK(!"there is such a packet");
	return 0;
}

/* Whether the reading ends at the damage, with EPROTO, whichever call finds it, and stays ended. */
static void expect_refused(const struct bytes *b)
{
	struct taken s = {.events = 0};
	trace_id_t log;

	CHECK_OK(ptrc_log_open_parts(b->at, PTRC_LOG_HEADS_BYTES, &log));
	int error = ptrc_log_add_part(log, b->at + PTRC_LOG_HEADS_BYTES,
				      b->used - PTRC_LOG_HEADS_BYTES, NULL);
	CHECK(error == 0 || error == EPROTO);
	if (error) {
		see_all(log, &s);
		CHECK_EQ(ptrc_log_add_part(log, "", 0, NULL), EPROTO);
	} else {
		CHECK_EQ(see_all(log, &s), EPROTO);
		CHECK_EQ(see_all(log, &s), EPROTO);
	}
	ts_close_log(log);
}

/* Changes a header, makes it right again, and looks whether that is refused. */
#define REFUSE_HEADER(b, type, change)                                                           \
	do {                                                                                     \
		struct bytes copy = {malloc((b).used), (b).used, (b).used};                      \
		struct ptrc_log_packet p;                                                        \
		size_t at = find(&(b), type);                                                    \
                                                                                                 \
		memcpy(copy.at, (b).at, (b).used);                                               \
		memcpy(&p, copy.at + at, sizeof(p));                                             \
		change;                                                                          \
		p.header_crc = ptrc_crc32c(0, &p, offsetof(struct ptrc_log_packet, header_crc)); \
		memcpy(copy.at + at, &p, sizeof(p));                                             \
		expect_refused(&copy);                                                           \
		free(copy.at);                                                                   \
	} while (0)

TEST(what_is_no_part_of_the_log_ends_the_reading, "")
{
	static const unsigned char zeros[sizeof(struct ptrc_log_packet) + 1];
	struct bytes b = make(), again;
	size_t events = find(&b, PTRC_LOG_EVENTS);

	REFUSE_HEADER(b, PTRC_LOG_EVENTS, p.log_id++);
	REFUSE_HEADER(b, PTRC_LOG_EVENTS, p.magic++);
	REFUSE_HEADER(b, PTRC_LOG_EVENTS, p.seq++);
	REFUSE_HEADER(b, PTRC_LOG_EVENTS, p.event_count++);
	REFUSE_HEADER(b, PTRC_LOG_EVENTS, p.last_ns++);
	REFUSE_HEADER(b, PTRC_LOG_EVENTS, p.length = UINT64_MAX - 200);
	REFUSE_HEADER(b, PTRC_LOG_NAMES, p.payload_crc++);
	REFUSE_HEADER(b, PTRC_LOG_NAMES, p.length = UINT64_C(1) << 40);
	REFUSE_HEADER(b, PTRC_LOG_STATUS, p.length = 8);
	/* The end comes twice, and an end without a status. */
	REFUSE_HEADER(b, PTRC_LOG_STATUS, p.type = PTRC_LOG_END);
	/* Payloads that say something else than their headers. */
	b.at[events + sizeof(struct ptrc_log_packet) + 4]++;
	expect_refused(&b);
	sign(b.at, b.used, events);
	expect_refused(&b);
	again = make();
	/* Bytes behind the end. */
	again.at = realloc(again.at, again.used + sizeof(zeros));
	CHECK(again.at);
	memcpy(again.at + again.used, zeros, sizeof(zeros));
	again.used += sizeof(zeros);
	expect_refused(&again);
}

TEST(only_the_begin_of_a_log_opens_one, "", NEEDS_KEEPER)
{
	struct bytes b = make();
	int fd = ts_temp_file();
	size_t size;
	unsigned char *ring;
	trace_id_t log;

	for (size_t i = 0; i < PTRC_LOG_HEADS_BYTES; i += 13)
		CHECK_EQ(ptrc_log_open_parts(b.at, i, &log), EINVAL);
	for (size_t i = 0; i < PTRC_LOG_HEADS_BYTES; i += 13) {
		b.at[i] ^= 1;
		CHECK_EQ(ptrc_log_open_parts(b.at, b.used, &log), EINVAL);
		b.at[i] ^= 1;
	}
	b.at[find(&b, PTRC_LOG_NAMES)] ^= 1;
	CHECK_EQ(ptrc_log_open_parts(b.at, b.used, &log), EINVAL);
	b = make();
	for (size_t i = 0; i < 2; i++)
		b.at[12 + i * PTRC_LOG_HEADS_BYTES / 2] = 255;
	CHECK_EQ(ptrc_log_open_parts(b.at, b.used, &log), EPROTO);
	/* Nobody gets a ring in parts. */
	ts_shutdown(create_log(POSIX_TRACE_UNTIL_FULL, 0, POSIX_TRACE_LOOP, 100000, fd));
	ring = file_bytes(fd, &size);
	CHECK_EQ(ptrc_log_open_parts(ring, size, &log), EINVAL);
}

TEST(who_goes_back_in_parts_is_refused, "")
{
	struct posixtrace_cursor *cursor;
	trace_id_t trid = begin(&cursor), log, file;
	struct ptrc_part part;
	struct posix_trace_status_info status = {.posix_stream_status = POSIX_TRACE_RUNNING};
	struct ptrc_counts counts = {0};
	struct bytes b = {NULL, 0, 0};
	int fd = ts_temp_file();

	CHECK_EQ(ptrc_cursor_end_part(cursor, &status, &counts, 0, &part), EINVAL);
	take(cursor, &b);
	CHECK_OK(ptrc_log_open_parts(b.at, b.used, &log));
	CHECK_EQ(posix_trace_rewind(log), EINVAL);
	CHECK_EQ(ptrc_log_select_parts(log, 0, ULONG_MAX), EINVAL);
	CHECK_EQ(ptrc_log_refresh(log, 0), EINVAL);
	CHECK_EQ(posixtrace_log_select(log, NULL, 0, NULL), EINVAL);
	CHECK_OK(ptrc_log_add_part(log, NULL, 0, NULL));
	CHECK_EQ(ptrc_log_add_part(trid, "", 0, NULL), EINVAL);
	put_bytes(fd, b.at, b.used);
	file = ts_open_log(fd);
	CHECK_EQ(ptrc_log_add_part(file, "", 0, NULL), EINVAL);
	ts_shutdown(trid);
	CHECK_EQ(ptrc_cursor_get_part(cursor, &part), EINVAL);
	posixtrace_cursor_close(cursor);
	ts_close_log(file);
	ts_close_log(log);
}
