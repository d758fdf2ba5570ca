/* SPDX-License-Identifier: MIT */
/* posixtrace_get_type_counts. */
#include <posixtrace-control.h>

#include "include/posixtrace-private.h"
#include "tests/support/keeper.h"

#define KIB ((size_t)1024)
#define SMALL ((size_t)16384)
#define MIB ((size_t)1024 * 1024)
#define TYPES 1100

static struct posixtrace_type_count counts[TYPES];

static void count_types(trace_id_t trid)
{
	/* Rubbish: every member is stored. */
	memset(counts, 0xa5, sizeof(counts));
	CHECK_OK(posixtrace_get_type_counts(trid, counts, TYPES));
}

static void expect_count(trace_event_id_t id, unsigned long events, unsigned long bytes,
			 unsigned long truncated)
{
	CHECK_EQ(counts[id].pt_events, events);
	CHECK_EQ(counts[id].pt_bytes, bytes);
	CHECK_EQ(counts[id].pt_truncated, truncated);
}

/* The same, in a new count. */
static void expect_counted(trace_id_t trid, trace_event_id_t id, unsigned long events,
			   unsigned long bytes, unsigned long truncated)
{
	count_types(trid);
	expect_count(id, events, bytes, truncated);
}

/* Everything but these two and what is 0. */
static void expect_no_others(trace_event_id_t a, trace_event_id_t b)
{
	for (trace_event_id_t id = 0; id < TYPES; id++)
		if (id != a && id != b && id != POSIX_TRACE_START)
			expect_count(id, 0, 0, 0);
}

TEST(types_are_counted_read_or_not, "")
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 64 * KIB, 100);
	trace_event_id_t a = ts_id("a"), b = a;
	static const char data[200];
	char name[16];

	/* The counts of the two are not in one page of memory. */
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "b%d", i);
		b = ts_id(name);
	}
	expect_counted(trid, POSIX_TRACE_START, 1, sizeof(trace_event_set_t), 0);
	expect_no_others(0, 0);
	for (int i = 0; i < 10; i++)
		posix_trace_event(a, data, 30);
	posix_trace_event(b, data, 200);
	posix_trace_event(b, NULL, 0);
	for (int left = 13; left >= 0; left--) {
		expect_counted(trid, a, 10, 300, 0);
		expect_count(b, 2, 100, 1);
		expect_no_others(a, b);
		if (left > 0)
			ts_next(trid);
	}
	ts_expect_none(trid);
	/* Without room for all, and with none. */
	memset(counts, 0xa5, sizeof(counts));
	CHECK_OK(posixtrace_get_type_counts(trid, counts, a + 1));
	expect_count(a, 10, 300, 0);
	CHECK_EQ(counts[a + 1].pt_events, 0xa5a5a5a5a5a5a5a5UL);
	CHECK_OK(posixtrace_get_type_counts(trid, NULL, 0));
}

static void expect_unread(trace_id_t trid, trace_event_id_t id, unsigned long unread)
{
	count_types(trid);
	CHECK_EQ(counts[id].pt_unread, unread);
}

TEST(the_largest_data_that_was_cut_is_known, "")
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 64 * KIB, 100);
	static const char data[200];

	for (size_t bytes = 100; bytes <= 200; bytes += 50) {
		posix_trace_event(ts_id("a"), data, bytes);
		posix_trace_event(ts_id("a"), data, 1);
		CHECK_EQ(counts_of(trid).pt_data_needed, bytes > 100 ? bytes : 0);
	}
	posix_trace_event(ts_id("a"), data, 101);
	CHECK_EQ(counts_of(trid).pt_data_needed, 200);
	ts_clear(trid);
	CHECK_EQ(counts_of(trid).pt_data_needed, 0);
}

TEST(a_clear_begins_anew_what_is_counted_and_what_a_reader_still_gets, "", NEEDS_KEEPER)
{
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 64 * KIB, 100);
	trace_event_id_t id = ts_id("event");
	int fd = ts_temp_file();

	for (int is_logged = 0; is_logged < 2; is_logged++) {
		trace_id_t trid = is_logged ? ts_create_log(0, &attr, fd) : ts_create(0, &attr);

		ts_start(trid);
		expect_unread(trid, id, 0);
		ts_emit_numbers(id, 0, 9);
		expect_unread(trid, id, 10);
		ts_expect(trid, POSIX_TRACE_START);
		for (unsigned long left = 10; left-- > 5;) {
			ts_expect(trid, id);
			expect_unread(trid, id, left);
		}
		/* More behind what the reader knows of. */
		ts_emit(id, 10);
		expect_unread(trid, id, 6);
		if (is_logged) {
			/* Half of it was never read, and never will be. */
			ts_flush(trid);
			expect_unread(trid, id, 0);
			ts_emit(id, 11);
			expect_unread(trid, id, 1);
			ts_read_all(trid);
		} else {
			for (unsigned long left = 6; left-- > 0;) {
				ts_expect(trid, id);
				expect_unread(trid, id, left);
			}
			ts_emit(id, 11);
			ts_expect(trid, id);
		}
		ts_expect_none(trid);
		expect_unread(trid, id, 0);
		ts_emit(id, 12);
		expect_unread(trid, id, 1);
		expect_count(id, 13, 52, 0);
		ts_clear(trid);
		count_types(trid);
		for (trace_event_id_t i = 0; i < TYPES; i++)
			expect_count(i, 0, 0, 0);
		CHECK_EQ(counts[id].pt_unread, 0);
		for (uint32_t count = 1; count <= 2; count++) {
			ts_emit(id, count);
			expect_unread(trid, id, 1);
			expect_count(id, count, 4 * count, 0);
			if (is_logged)
				ts_flush(trid);
			else
				ts_expect(trid, id);
		}
		ts_shutdown(trid);
	}
}

/* The first flush after the clear writes the gap before any event of the stream. */
TEST(after_a_clear_the_marks_of_a_gap_are_counted, "", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	int fd = ts_temp_file();
	trace_id_t trid = start_log(POSIX_TRACE_LOOP, SMALL, POSIX_TRACE_APPEND, 0, fd);

	ts_emit(id, 0);
	ts_flush(trid);
	ts_clear(trid);
	ts_flood(SMALL, id, 100, 0);
	ts_flush(trid);
	expect_counted(trid, POSIX_TRACE_OVERFLOW, 1, 0, 0);
	expect_count(POSIX_TRACE_RESUME, 1, 0, 0);
	struct ts_events events = ts_end_log(trid, fd);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_OVERFLOW), 1);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_RESUME), 1);
}

TEST(what_was_flushed_is_counted_as_the_log_has_it, "", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	int fd = ts_temp_file();
	trace_id_t trid = start_log(POSIX_TRACE_UNTIL_FULL, MIB, POSIX_TRACE_APPEND, 0, fd);
	static struct posixtrace_type_count before[TYPES];

	for (uint32_t n = 0; n < 3000; n++) {
		ts_emit(id, n);
		if (n % 1000 == 500)
			ts_flush(trid);
	}
	/* A tee takes nothing out. */
	ts_read_until(trid, id);
	ts_stop(trid);
	count_types(trid);
	memcpy(before, counts, sizeof(before));
	ts_flush(trid);
	count_types(trid);
	before[POSIX_TRACE_FLUSH_START].pt_events++;
	before[POSIX_TRACE_FLUSH_STOP].pt_events++;
	/* All but the flush's own are gone for readers. */
	CHECK_EQ(counts[id].pt_unread, 0u);
	for (trace_event_id_t i = 0; i < TYPES; i++)
		before[i].pt_unread = counts[i].pt_unread;
	CHECK_MEM_EQ(counts, before, sizeof(counts));
	struct ts_events events = ts_end_log(trid, fd);
	/* The last flush, of the shutdown, has its marks. */
	before[POSIX_TRACE_FLUSH_START].pt_events++;
	before[POSIX_TRACE_FLUSH_STOP].pt_events++;
	for (trace_event_id_t i = 0; i < TYPES; i++)
		CHECK_EQ(ts_count(&events, i), before[i].pt_events);
}

TEST(lost_events_are_not_counted, "")
{
	/* A filter leaves START out of the trace, so it cannot be lost. */
	static const struct {
		int policy;
		bool has_start;
	} rows[] = {
		{POSIX_TRACE_LOOP, true},
		{POSIX_TRACE_LOOP, false},
		{POSIX_TRACE_UNTIL_FULL, true},
	};
	trace_event_set_t set = ts_set(POSIX_TRACE_START, 0);
	trace_event_id_t id = ts_id("event");

	for (int row = 0; row < 3; row++) {
		trace_id_t trid = ts_make(rows[row].policy, SMALL, 256);
		NOTE("row %d", row);
		if (!rows[row].has_start)
			ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
		ts_start(trid);
		uint32_t all = ts_flood(SMALL, id, 100, 0);
		unsigned long lost = counts_of(trid).pt_lost_events;
		CHECK_GT(lost, 0);
		count_types(trid);
		/* A LOOP stream overwrote START, which is one of the lost. */
		CHECK_EQ(counts[id].pt_events + counts[POSIX_TRACE_START].pt_events + lost,
			 all + rows[row].has_start);
		unsigned long kept = counts[id].pt_events;
		struct ts_events events = ts_read_all(trid);
		CHECK_EQ(ts_count(&events, id), kept);
		CHECK_EQ(counts_of(trid).pt_lost_events, lost);
		expect_counted(trid, id, kept, kept * 100, 0);
		for (trace_event_id_t t = 0; t < POSIX_TRACE_UNNAMED_USEREVENT; t++)
			CHECK_EQ(counts[t].pt_events, ts_count(&events, t));
		ts_events_free(&events);
		ts_shutdown(trid);
	}
}

/* An event in a chunk that stays this thread's, and so is not overwritten. */
static void *emit_and_wait(void *arg)
{
	_Atomic int *step = arg;

	ts_emit(ts_id("survivor"), 0);
	*step = 1;
	while (*step == 1)
		harness_sleep_ms(1);
	return NULL;
}

TEST(what_survived_a_loss_but_is_older_is_lost_when_it_is_dropped, "STATUS-11 STATUS-14",
     NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event"), survivor = ts_id("survivor");
	trace_attr_t attr = ts_attr(POSIX_TRACE_LOOP, SMALL, 256);

	for (int is_logged = 0; is_logged < 2; is_logged++) {
		int fd = ts_temp_file();
		trace_id_t trid = is_logged ? ts_create_log(0, &attr, fd) : ts_create(0, &attr);
		_Atomic int step = 0;

		ts_start(trid);
		pthread_t thread = ts_thread(emit_and_wait, (void *)&step);
		CHECK_EVENTUALLY(step == 1);
		ts_flood(SMALL, id, 100, 0);
		unsigned long overwritten = counts_of(trid).pt_lost_events;
		expect_counted(trid, survivor, 0, 0, 0);
		unsigned long kept = counts[id].pt_events;
		ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_FULL, POSIX_TRACE_OVERRUN);
		ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_FULL,
				 POSIX_TRACE_NO_OVERRUN);
		if (is_logged) {
			ts_flush(trid);
		} else {
			struct ts_events events = ts_read_all(trid);
			CHECK_EQ(ts_count(&events, survivor), 0);
			CHECK_EQ(ts_count(&events, id), kept);
		}
		CHECK_GT(counts_of(trid).pt_lost_events, overwritten);
		ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_NOT_FULL,
				 POSIX_TRACE_OVERRUN);
		ts_expect_running(trid);
		expect_counted(trid, survivor, 0, 0, 0);
		expect_count(id, kept, kept * 100, 0);
		step = 2;
		ts_join(thread);
		ts_shutdown(trid);
	}
}

/* Counts never miss what had returned and never have what had not begun. */
static void count_meanwhile(trace_id_t trid, struct ts_emitter *emitter)
{
	for (int i = 0; i < 5; i++) {
		emitter->allowed += 100;
		uint32_t at_least = emitter->done;
		count_types(trid);
		CHECK_GE(counts[emitter->id].pt_events, at_least);
		CHECK_LE(counts[emitter->id].pt_events, emitter->begun);
	}
}

static bool has_ended(pthread_t thread)
{
	return pthread_tryjoin_np(thread, NULL) == 0;
}

static void count_while_flushing(int fd)
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = start_log(POSIX_TRACE_UNTIL_FULL, 4 * MIB, POSIX_TRACE_APPEND, 0, fd);
	unsigned long all = 0;

	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 50000; i++)
			ts_emit(id, (uint32_t)all++);
		pthread_t flusher = ts_thread(flush_in_thread, &trid);
		do
			expect_counted(trid, id, all, 4 * all, 0);
		while (!has_ended(flusher));
	}
	ts_shutdown(trid);
}

TEST(counts_are_exact_while_a_flush_moves_events, "", NEEDS_KEEPER)
{
	count_while_flushing(ts_temp_file());
	count_while_flushing(CHECK_SYS(open("/dev/null", O_WRONLY | O_CLOEXEC)));
}

static void *emit_various(void *arg)
{
	const trace_event_id_t *ids = arg;

	for (uint32_t n = 0; n < 2000; n++)
		posix_trace_event(ids[n % 3 == 0], "0123456789abcdef", n % 12);
	return NULL;
}

/* The keeper of such a log does not pack the events, so it counts them in another way. */
TEST(a_log_in_dev_null_counts_as_a_file_does, "", NEEDS_KEEPER)
{
	int fds[2] = {ts_temp_file(), CHECK_SYS(open("/dev/null", O_WRONLY | O_CLOEXEC))};
	trace_event_id_t ids[2] = {ts_id("often"), ts_id("seldom")};
	static struct posixtrace_type_count of_file[TYPES];
	struct ptrc_counts totals[2];
	trace_id_t trids[2];

	for (int i = 0; i < 2; i++) {
		trace_attr_t attr =
			log_attr(POSIX_TRACE_UNTIL_FULL, 4 * MIB, POSIX_TRACE_APPEND, 0);

		CHECK_OK(posix_trace_attr_setmaxdatasize(&attr, 8));
		trids[i] = ts_create_log(0, &attr, fds[i]);
		ts_start(trids[i]);
	}
	for (int round = 0; round < 3; round++) {
		emit_various(ids);
		ts_join(ts_thread(emit_various, ids));
		for (int i = 0; i < 2; i++)
			ts_flush(trids[i]);
	}
	count_types(trids[0]);
	memcpy(of_file, counts, sizeof(counts));
	CHECK_EQ(of_file[ids[0]].pt_events + of_file[ids[1]].pt_events, 12000);
	CHECK_GT(of_file[ids[0]].pt_truncated, 0);
	count_types(trids[1]);
	CHECK_MEM_EQ(counts, of_file, sizeof(counts));
	for (int i = 0; i < 2; i++)
		totals[i] = counts_of(trids[i]);
	CHECK_EQ(totals[1].pt_log_events, totals[0].pt_log_events);
	CHECK_EQ(totals[1].pt_log_bytes, totals[0].pt_log_bytes);
	CHECK_EQ(totals[1].pt_stream_bytes, totals[0].pt_stream_bytes);
	for (int i = 0; i < 2; i++)
		ts_shutdown(trids[i]);
}

TEST(what_makes_room_is_counted_once_and_the_next_keeper_goes_on_counting, "LOG-39", NEEDS_KEEPER)
{
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, SMALL, POSIX_TRACE_APPEND, 0);
	/* The keeper of the second one only counts. */
	int fds[2] = {ts_temp_file(), CHECK_SYS(open("/dev/null", O_WRONLY | O_CLOEXEC))};
	trace_event_id_t id = ts_id("event");
	enum { ROUNDS = 3, EVENTS = 20000 };

	CHECK_OK(posixtrace_attr_setfullwait(&attr, &(struct timespec){.tv_sec = 60}));
	for (int i = 0; i < 2; i++) {
		trace_id_t trid = ts_create_log(0, &attr, fds[i]);
		ts_start(trid);
		for (uint32_t round = 1; round <= ROUNDS; round++) {
			ts_emit_numbers(id, 0, EVENTS - 1);
			ts_flush(trid);
			expect_counted(trid, id, round * EVENTS, 4UL * round * EVENTS, 0);
			CHECK_EQ(counts_of(trid).pt_lost_events, 0);
			/* This call starts the next keeper, which goes on counting. */
			kill_keeper(trid);
			expect_counted(trid, id, round * EVENTS, 4UL * round * EVENTS, 0);
		}
		CHECK_OK(posix_trace_clear(trid));
		expect_counted(trid, id, 0, 0, 0);
		CHECK_EQ(counts_of(trid).pt_log_events, 0);
		ts_shutdown(trid);
	}
}

static void *read_all(void *trid)
{
	struct ts_event event;

	while (ts_try_next(*(trace_id_t *)trid, &event))
		ts_event_free(&event);
	return NULL;
}

TEST(counts_are_exact_while_another_thread_reads, "")
{
	enum { EVENTS = 50000 };
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 4 * MIB, 0);
	trace_event_id_t id = ts_id("event");
	unsigned long unread = EVENTS;

	ts_emit_numbers(id, 0, EVENTS - 1);
	pthread_t reader = ts_thread(read_all, &trid);
	while (!has_ended(reader)) {
		count_types(trid);
		CHECK_EQ(counts[id].pt_events, EVENTS);
		CHECK_LE(counts[id].pt_unread, unread);
		unread = counts[id].pt_unread;
	}
	ts_shutdown(trid);
}

TEST(counts_are_exact_while_others_flush_and_record, "", NEEDS_KEEPER)
{
	struct ts_emitter emitter = {.id = ts_id("event")};
	int fd = ts_temp_file();
	trace_id_t trid = start_log(POSIX_TRACE_UNTIL_FULL, 16 * MIB, POSIX_TRACE_APPEND, 0, fd);

	pthread_t thread = ts_thread(ts_emit_on, &emitter);
	for (int i = 0; i < 30; i++) {
		count_meanwhile(trid, &emitter);
		pthread_t flusher = ts_thread(flush_in_thread, &trid);
		count_meanwhile(trid, &emitter);
		CHECK_EQ((intptr_t)ts_join(flusher), 0);
	}
	emitter.is_over = true;
	ts_join(thread);
	expect_counted(trid, emitter.id, emitter.done, 4UL * emitter.done, 0);
	ts_shutdown(trid);
}

TEST(what_a_filter_withholds_is_not_counted, "FILTER-13", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");

	/* Events recorded under the old filter, and later than the change. */
	trace_event_set_t set = ts_set(id, 0);
	for (int has_log = 0; has_log < 2; has_log++) {
		trace_attr_t attr =
			has_log ? log_attr(POSIX_TRACE_UNTIL_FULL, 64 * MIB, POSIX_TRACE_APPEND, 0)
				: ts_attr(POSIX_TRACE_UNTIL_FULL, 64 * MIB, 100);
		trace_id_t trid =
			has_log ? ts_create_log(0, &attr, ts_temp_file()) : ts_create(0, &attr);
		struct ts_emitter emitter = {.id = id, .allowed = UINT32_MAX};
		unsigned long read = 0;
		struct ts_event event;
		pthread_t threads[2];

		ts_start(trid);
		for (int i = 0; i < 2; i++)
			threads[i] = ts_thread(ts_emit_on, &emitter);
		for (int n = 0; n < 60; n++) {
			CHECK_OK(posix_trace_set_filter(trid, &set,
							n % 2 ? POSIX_TRACE_SUB_EVENTSET
							      : POSIX_TRACE_ADD_EVENTSET));
			sched_yield();
		}
		emitter.is_over = true;
		for (int i = 0; i < 2; i++)
			ts_join(threads[i]);
		ts_stop(trid);
		while (ts_try_next(trid, &event)) {
			read += event.info.posix_event_id == id;
			ts_event_free(&event);
		}
		count_types(trid);
		CHECK_EQ(counts[id].pt_unread, 0);
		CHECK_EQ(counts[id].pt_events, read);
		ts_shutdown(trid);
	}
}

TEST(a_reader_that_sleeps_does_not_keep_the_counts, "")
{
	trace_id_t trid = ts_make(POSIX_TRACE_UNTIL_FULL, 64 * KIB, 100);
	struct ts_reader reader;

	ts_reader_start(&reader, trid);
	count_types(trid);
	CHECK(ts_reader_is_waiting(&reader));
	ts_start(trid);
	ts_reader_join(&reader);
	expect_counted(trid, POSIX_TRACE_START, 1, sizeof(trace_event_set_t), 0);
}

TEST(streams_that_have_ended_have_no_type_counts, "ERRORS-03 ERRORS-04 ERRORS-06", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_id_t trid = create_log(POSIX_TRACE_UNTIL_FULL, MIB, POSIX_TRACE_APPEND, 0, fd);

	CHECK_EQ(posixtrace_get_type_counts(trid, NULL, 1), EINVAL);
	ts_shutdown(trid);
	counts[1].pt_events = 4711;
	CHECK_EQ(posixtrace_get_type_counts(trid, counts, TYPES), EINVAL);
	CHECK_EQ(posixtrace_get_type_counts(0, counts, TYPES), EINVAL);
	CHECK_EQ(counts[1].pt_events, 4711);
}
