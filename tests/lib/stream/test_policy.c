/* SPDX-License-Identifier: MIT */
/* Inheritance, log-full and stream-full policies: the attributes, and what LOOP and
 * UNTIL_FULL streams without log do when they are full. */
#include "tests/support/support.h"

#include <limits.h>
#include <semaphore.h>

#define STREAM_BYTES ((size_t)65536)
#define DATA_BYTES 200

/* Numbered events of so many bytes that must be present among the newest. */
static size_t guaranteed(const trace_attr_t *attr, size_t len)
{
	return ts_values(attr).stream_bytes / ts_user_bytes(attr, len);
}

/* The same, behind a START. */
static size_t guaranteed_after_start(const trace_attr_t *attr, size_t len)
{
	struct ts_values v = ts_values(attr);

	return (v.stream_bytes - v.system_bytes) / ts_user_bytes(attr, len);
}

static void emit_bytes(trace_event_id_t id, uint32_t number, size_t len)
{
	unsigned char data[DATA_BYTES] = {0};

	memcpy(data, &number, sizeof(number));
	posix_trace_event(id, data, len);
}

/*
 * Attributes
 */

/* Each policy: its default, which comes last of those that are valid, and some that are not. */
static const struct {
	const char *name;
	int (*get)(const trace_attr_t *, int *);
	int (*set)(trace_attr_t *, int);
	int valid[3], invalid[6];
} attributes[] = {
	{"inherited",
	 posix_trace_attr_getinherited,
	 posix_trace_attr_setinherited,
	 {POSIX_TRACE_INHERITED, POSIX_TRACE_INHERITED, POSIX_TRACE_CLOSE_FOR_CHILD},
	 {2, 3, 4, -1, INT_MAX, INT_MIN}},
	{"logfullpolicy",
	 posix_trace_attr_getlogfullpolicy,
	 posix_trace_attr_setlogfullpolicy,
	 {POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, POSIX_TRACE_LOOP},
	 {POSIX_TRACE_FLUSH, 0, 5, -1, INT_MAX, INT_MIN}},
	{"streamfullpolicy",
	 posix_trace_attr_getstreamfullpolicy,
	 posix_trace_attr_setstreamfullpolicy,
	 {POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH, POSIX_TRACE_LOOP},
	 {POSIX_TRACE_APPEND, 0, 5, -1, INT_MAX, INT_MIN}},
};

TEST(policies_are_kept,
     "POLICY-01 POLICY-02 POLICY-03 POLICY-04 POLICY-05 POLICY-06 POLICY-07 POLICY-08 POLICY-10 ATTR-12")
{
	for (size_t p = 0; p < 3; p++) {
		trace_attr_t attr = ts_attr(0, 0, 0);
		int policy = -1;

		NOTE("%s", attributes[p].name);
		CHECK_OK(attributes[p].get(&attr, &policy));
		CHECK_EQ(policy, attributes[p].valid[2]);
		for (int v = 0; v < 3; v++) {
			CHECK_OK(attributes[p].set(&attr, attributes[p].valid[v]));
			for (int i = 0; i < 6; i++) {
				CHECK_OK(attributes[p].get(&attr, &policy));
				CHECK_EQ(policy, attributes[p].valid[v]);
				CHECK_EQ(attributes[p].set(&attr, attributes[p].invalid[i]),
					 EINVAL);
			}
			CHECK_OK(attributes[p].get(&attr, &policy));
			CHECK_EQ(policy, attributes[p].valid[v]);
		}
	}
}

TEST(a_stream_has_the_policy_that_was_set_or_the_default_of_its_kind,
     "POLICY-09 POLICY-10 POLICY-11 POLICY-26", NEEDS_KEEPER)
{
	/* 0: none is set. */
	for (int set = 0; set <= POSIX_TRACE_FLUSH; set++)
		for (int is_logged = set == POSIX_TRACE_FLUSH; is_logged < 2; is_logged++) {
			trace_attr_t attr = ts_attr(set, STREAM_BYTES, 0);
			trace_id_t trid = is_logged ? ts_create_log(0, &attr, ts_temp_file())
						    : ts_create(0, &attr);
			int policy = set ? set : is_logged ? POSIX_TRACE_FLUSH : POSIX_TRACE_LOOP;
			NOTE("set %d, logged %d", set, is_logged);
			CHECK_EQ(ts_values_of(trid).stream_policy, policy);
			if (policy == POSIX_TRACE_FLUSH)
				continue;
			/* Not only by name. */
			ts_start(trid);
			ts_flood(STREAM_BYTES, POSIX_TRACE_UNNAMED_USEREVENT, 1000, 0);
			ts_expect_status(trid,
					 policy == POSIX_TRACE_LOOP ? POSIX_TRACE_RUNNING
								    : POSIX_TRACE_SUSPENDED,
					 POSIX_TRACE_FULL, POSIX_TRACE_OVERRUN);
		}
}

/*
 * LOOP
 */

/* Running, and START has been read. */
static trace_id_t create_loop(const trace_attr_t *attr)
{
	return ts_past_start(ts_create_running(0, attr));
}

/* What a LOOP stream holds after a gap: OVERFLOW, RESUME, and without a gap the newest
 * up to `next' - 1, as many as are guaranteed. The number of the first. */
static uint32_t expect_window(const struct ts_events *all, trace_event_id_t id, uint32_t next,
			      size_t at_least)
{
	CHECK_GE(all->count, at_least + 2);
	CHECK_EQ(all->at[0].info.posix_event_id, POSIX_TRACE_OVERFLOW);
	CHECK_EQ(all->at[1].info.posix_event_id, POSIX_TRACE_RESUME);
	CHECK_EQ(all->at[2].info.posix_event_id, id);
	uint32_t first = ts_number(&all->at[2]);
	ts_expect_numbers(all, id, first, next - 1);
	CHECK_EQ(ts_count(all, id), all->count - 2);
	CHECK_GE(next - first, at_least);
	ts_expect_sorted(all);
	return first;
}

/* START, which is never read, is the oldest one and gives way first. */
TEST(a_loop_stream_has_the_newest_events_without_gap, "POLICY-13 POLICY-14 STATUS-05 SYSEVENT-15")
{
	static const size_t lens[] = {4, 8, 13, 64, DATA_BYTES};
	trace_event_id_t id = ts_id("event");

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		trace_attr_t attr = ts_attr(POSIX_TRACE_LOOP, STREAM_BYTES, DATA_BYTES);
		trace_id_t trid = ts_create_running(0, &attr);
		uint32_t next = 0;
		struct ts_events all;
		/* Some numbers of events that leave the last ones in different places. */
		for (uint32_t round = 0; round < 6; round++) {
			next = ts_flood(STREAM_BYTES, id, lens[i], next);
			for (uint32_t more = 0; more < round * 37; more++)
				emit_bytes(id, next++, lens[i]);
			ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_FULL,
					 POSIX_TRACE_OVERRUN);
			all = ts_read_all(trid);
			expect_window(&all, id, next, guaranteed(&attr, lens[i]));
			ts_expect_running(trid);
		}
		ts_shutdown(trid);
	}
}

TEST(a_loop_stream_read_in_parts_keeps_the_newest, "POLICY-13 POLICY-18")
{
	trace_attr_t attr = ts_attr(POSIX_TRACE_LOOP, STREAM_BYTES, DATA_BYTES);
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = ts_create_running(0, &attr);
	size_t window = guaranteed(&attr, DATA_BYTES);
	uint32_t next = 0, random = 1;
	int64_t last = -1;

	/* Whatever was read before, the newest `window' numbers are never gone. */
	for (int round = 0; round < 300; round++) {
		random = random * 1103515245 + 12345;
		uint32_t writes = (random >> 16) % (uint32_t)window * (uint32_t)(round % 3);
		random = random * 1103515245 + 12345;
		uint32_t reads = (random >> 16) % (uint32_t)window;
		for (uint32_t i = 0; i < writes; i++)
			emit_bytes(id, next++, DATA_BYTES);
		for (uint32_t i = 0; i < reads; i++) {
			struct ts_event event;
			if (!ts_try_next(trid, &event)) {
				CHECK(last == (int64_t)next - 1 || next == 0);
				break;
			}
			if (event.info.posix_event_id != id)
				continue;
			uint32_t number = ts_number(&event);
			CHECK_GT((int64_t)number, last);
			/* A gap may only swallow what is out of the window. */
			if ((int64_t)number > last + 1)
				CHECK_LE((int64_t)number, (int64_t)next - (int64_t)window);
			last = number;
		}
	}
}

struct turn_writer {
	trace_event_id_t id;
	uint32_t self;
	uint32_t writers;
	uint32_t count;
	sem_t *turns;
};

/* Longer than the stamps of two processors may disagree, so that what happens one after
 * the other has stamps in that order. */
static void let_time_pass(void)
{
	int64_t end = harness_now_ns() + 3000;

	while (harness_now_ns() < end)
		;
}

/* Numbers go round: each thread writes every writers-th one, strictly in turn. */
static void *write_in_turn(void *arg)
{
	struct turn_writer *w = (struct turn_writer *)arg;

	for (uint32_t number = w->self; number < w->count; number += w->writers) {
		while (sem_wait(&w->turns[w->self]) < 0)
			;
		emit_bytes(w->id, number, 40);
		let_time_pass();
		sem_post(&w->turns[(w->self + 1) % w->writers]);
	}
	return NULL;
}

static void write_by_turns(trace_event_id_t id, uint32_t writers, uint32_t count)
{
	struct turn_writer args[8];
	pthread_t threads[8];
	sem_t turns[8];

	for (uint32_t w = 0; w < writers; w++)
		CHECK_SYS(sem_init(&turns[w], 0, w == 0));
	for (uint32_t w = 0; w < writers; w++) {
		args[w] = (struct turn_writer){id, w, writers, count, turns};
		threads[w] = ts_thread(write_in_turn, &args[w]);
	}
	for (uint32_t w = 0; w < writers; w++)
		ts_join(threads[w]);
}

static void loop_with_threads_in_turn(uint32_t writers)
{
	enum { stream_bytes = 32768 };
	trace_attr_t attr = ts_attr(POSIX_TRACE_LOOP, stream_bytes, DATA_BYTES);
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = create_loop(&attr);
	uint32_t count = (uint32_t)(8 * guaranteed(&attr, 40) + 2 * stream_bytes / 40 + 3000);

	write_by_turns(id, writers, count);
	struct ts_events all = ts_read_all(trid);
	expect_window(&all, id, count, guaranteed(&attr, 40));
	NOTE("%u threads: %zu events kept, %zu guaranteed", writers, all.count - 2,
	     guaranteed(&attr, 40));
	ts_shutdown(trid);
}

TEST(a_loop_stream_has_the_newest_events_of_several_threads, "POLICY-13")
{
	loop_with_threads_in_turn(2);
	loop_with_threads_in_turn(8);
}

static void *write_some(void *arg)
{
	struct turn_writer *w = (struct turn_writer *)arg;

	for (uint32_t number = w->self; number < w->self + w->count; number++)
		emit_bytes(w->id, number, 40);
	return NULL;
}

TEST(a_loop_stream_has_the_newest_events_of_many_short_threads, "POLICY-13")
{
	enum { stream_bytes = 32768, each = 5 };
	trace_attr_t attr = ts_attr(POSIX_TRACE_LOOP, stream_bytes, DATA_BYTES);
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = create_loop(&attr);
	uint32_t count = (uint32_t)(4 * stream_bytes / 40);

	for (uint32_t number = 0; number < count; number += each) {
		struct turn_writer arg = {.id = id, .self = number, .count = each};
		ts_join(ts_thread(write_some, &arg));
	}
	struct ts_events all = ts_read_all(trid);
	expect_window(&all, id, (count + each - 1) / each * each, guaranteed(&attr, 40));
}

static pthread_barrier_t idle_meet;

static void *write_once_and_stay(void *number)
{
	trace_event_id_t id = ts_id("idle");

	emit_bytes(id, *(uint32_t *)number, 40);
	pthread_barrier_wait(&idle_meet);
	pthread_barrier_wait(&idle_meet);
	emit_bytes(id, *(uint32_t *)number + 100, 40);
	return NULL;
}

TEST(threads_that_went_idle_keep_nobody_from_looping, "POLICY-13")
{
	enum { idle = 20, stream_bytes = 32768 };
	trace_attr_t attr = ts_attr(POSIX_TRACE_LOOP, stream_bytes, DATA_BYTES);
	trace_event_id_t id = ts_id("event"), idle_id = ts_id("idle");
	trace_id_t trid = create_loop(&attr);
	uint32_t numbers[idle], next, seen = 0;
	pthread_t threads[idle];

	CHECK_OK(pthread_barrier_init(&idle_meet, NULL, idle + 1));
	for (uint32_t t = 0; t < idle; t++) {
		numbers[t] = t;
		threads[t] = ts_thread(write_once_and_stay, &numbers[t]);
	}
	pthread_barrier_wait(&idle_meet);
	next = ts_flood(stream_bytes, id, 40, 0);
	next = ts_flood(stream_bytes, id, 40, next);
	pthread_barrier_wait(&idle_meet);
	for (int t = 0; t < idle; t++)
		ts_join(threads[t]);
	struct ts_events all = ts_read_all(trid);
	ts_expect_sorted(&all);
	/* One clean gap: what is older than the newest lost event went with it. */
	CHECK_EQ(all.at[0].info.posix_event_id, POSIX_TRACE_OVERFLOW);
	CHECK_EQ(all.at[1].info.posix_event_id, POSIX_TRACE_RESUME);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_OVERFLOW), 1);
	CHECK_EQ(all.at[2].info.posix_event_id, id);
	ts_expect_numbers(&all, id, ts_number(&all.at[2]), next - 1);
	CHECK_GE(ts_count(&all, id), guaranteed(&attr, 40) - idle);
	for (size_t i = 0; i < all.count; i++)
		if (all.at[i].info.posix_event_id == idle_id) {
			CHECK_GE(ts_number(&all.at[i]), 100);
			seen++;
		}
	CHECK_EQ(seen, idle);
}

/*
 * UNTIL_FULL
 */

TEST(an_until_full_stream_stops_when_full, "POLICY-15 POLICY-16 POLICY-17 STATUS-12")
{
	static const size_t lens[] = {4, 13, DATA_BYTES};
	trace_event_id_t id = ts_id("event");

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, STREAM_BYTES, DATA_BYTES);
		trace_id_t trid = ts_create_running(0, &attr);
		struct posix_trace_status_info status;
		uint32_t next = 0;

		do {
			emit_bytes(id, next++, lens[i]);
			status = ts_status(trid);
			if (status.posix_stream_status == POSIX_TRACE_RUNNING) {
				CHECK_EQ(status.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
				CHECK_EQ(status.posix_stream_overrun_status,
					 POSIX_TRACE_NO_OVERRUN);
			}
		} while (status.posix_stream_status == POSIX_TRACE_RUNNING);
		CHECK_EQ(status.posix_stream_full_status, POSIX_TRACE_FULL);
		struct ts_events all = ts_read_all(trid);
		/* START, the numbers, STOP; and START of the restart, as it is empty
		 * now. */
		size_t count = ts_count(&all, id);
		CHECK_EQ(all.count, count + 3);
		CHECK_EQ(all.at[0].info.posix_event_id, POSIX_TRACE_START);
		CHECK_EQ(all.at[count + 1].info.posix_event_id, POSIX_TRACE_STOP);
		CHECK_NE(ts_stop_reason(&all.at[count + 1]), 0);
		CHECK_EQ(all.at[count + 2].info.posix_event_id, POSIX_TRACE_START);
		ts_expect_numbers(&all, id, 0, (uint32_t)count - 1);
		/* It became full with the last event: because that did not fit, or
		 * because after it nothing fits. */
		if (status.posix_stream_overrun_status == POSIX_TRACE_OVERRUN)
			CHECK_EQ(count, next - 1);
		else
			CHECK_EQ(count, next);
		CHECK_GE(count, guaranteed_after_start(&attr, lens[i]));
		ts_shutdown(trid);
	}
}

TEST(a_full_stream_records_nothing_until_its_stop_was_read,
     "POLICY-15 POLICY-19 POLICY-20 POLICY-21 STATUS-07 STATUS-09 STATUS-12 STATUS-14")
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, STREAM_BYTES, DATA_BYTES);
	trace_event_set_t set = ts_set(ts_id("filtered"), 0), in_start;
	struct ts_event event;
	uint32_t next = ts_fill(trid, STREAM_BYTES, id, DATA_BYTES, 0), kept = 0;

	ts_expect(trid, POSIX_TRACE_START);
	for (;;) {
		/* All room of the events read so far is free, and yet. */
		ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL,
				 kept == 0 ? POSIX_TRACE_NO_OVERRUN : POSIX_TRACE_OVERRUN);
		emit_bytes(id, 1000000, 4);
		event = ts_next(trid);
		if (event.info.posix_event_id == POSIX_TRACE_STOP)
			break;
		CHECK_EQ(event.info.posix_event_id, id);
		CHECK_EQ(ts_number(&event), kept);
		kept++;
		if (kept == 10)
			ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
	}
	CHECK_EQ(ts_stop_reason(&event), 1);
	CHECK(kept == next || kept == next - 1);
	ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_NOT_FULL, POSIX_TRACE_OVERRUN);
	ts_expect_running(trid);

	/* START is there at once, with the filter now in force. */
	CHECK(ts_try_next(trid, &event));
	CHECK_EQ(event.info.posix_event_id, POSIX_TRACE_START);
	CHECK_EQ(event.len, sizeof(in_start));
	in_start = ts_set_in(&event, 0);
	CHECK(ts_same_set(&in_start, &set));
	ts_expect_none(trid);
	emit_bytes(id, 2000000, 4);
	ts_expect_number(trid, id, 2000000);
	ts_expect_none(trid);
}

TEST(start_is_recorded_before_the_next_event_of_any_thread, "POLICY-20 POLICY-21 SYSEVENT-19")
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 16384, 0);
	struct ts_events all;

	for (int round = 0; round < 20; round++) {
		uint32_t next = ts_fill(trid, 16384, id, DATA_BYTES, 0), kept;
		ts_flood(16384, id, 4, 1000000);
		all = ts_read_all(trid);
		kept = (uint32_t)ts_count(&all, id);
		CHECK(kept == next || kept == next - 1);
		/* The stream was empty but for START; it is so again. No mark tells of the gap. */
		CHECK_EQ(all.count, kept + (round == 0 ? 3 : 2));
		CHECK_EQ(all.at[all.count - 2].info.posix_event_id, POSIX_TRACE_STOP);
		CHECK_EQ(all.at[all.count - 1].info.posix_event_id, POSIX_TRACE_START);
		ts_expect_numbers(&all, id, 0, kept - 1);
		ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_NOT_FULL,
				 POSIX_TRACE_OVERRUN);
	}
}

TEST(an_until_full_stream_read_in_time_never_stops, "POLICY-18 GETNEXT-05")
{
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, STREAM_BYTES, DATA_BYTES);
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = ts_create_running(0, &attr);
	/* Room for a small one left, or it would be full. */
	uint32_t batch = (uint32_t)guaranteed(&attr, DATA_BYTES) - 1;
	uint32_t next = 0, due = 0;

	ts_expect(trid, POSIX_TRACE_START);
	for (int round = 0; round < 60; round++) {
		for (uint32_t i = 0; i < batch; i++)
			emit_bytes(id, next++, DATA_BYTES);
		for (uint32_t i = 0; i < batch; i++)
			ts_expect_number(trid, id, due++);
		ts_expect_running(trid);
	}
}

static _Atomic bool is_over;

static void *write_until_told(void *arg)
{
	trace_event_id_t id = *(trace_event_id_t *)arg;

	for (uint32_t number = 0; !is_over; number++)
		emit_bytes(id, number, 40);
	return NULL;
}

TEST(what_a_full_stream_holds_is_unbroken_for_all_threads, "POLICY-15 POLICY-17 POLICY-21")
{
	enum { writers = 3, rounds = 150, stream_bytes = 16384 };
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, stream_bytes, 0);
	trace_event_id_t ids[writers] = {ts_id("a"), ts_id("b"), ts_id("c")};
	trace_id_t trid = ts_create_running(0, &attr);
	pthread_t threads[writers];

	for (int w = 0; w < writers; w++)
		threads[w] = ts_thread(write_until_told, &ids[w]);
	/* START, events, automatic STOP, START, events, ...: within a run no thread
	 * misses any number, and between STOP and START there is nothing. */
	for (int round = 0; round < rounds; round++) {
		int64_t last[writers] = {-1, -1, -1}, last_time = 0;
		size_t count = 0;
		struct ts_event event = ts_expect(trid, POSIX_TRACE_START);
		for (;;) {
			CHECK_GE(ts_time_ns(&event.info.posix_timestamp), last_time);
			last_time = ts_time_ns(&event.info.posix_timestamp);
			event = ts_next(trid);
			if (event.info.posix_event_id == POSIX_TRACE_STOP)
				break;
			CHECK_GE(event.info.posix_event_id, ids[0]);
			CHECK_LE(event.info.posix_event_id, ids[writers - 1]);
			uint32_t writer = event.info.posix_event_id - ids[0];
			if (last[writer] >= 0)
				CHECK_EQ(ts_number(&event), last[writer] + 1);
			last[writer] = ts_number(&event);
			count++;
		}
		CHECK_EQ(ts_stop_reason(&event), 1);
		CHECK_GE(ts_time_ns(&event.info.posix_timestamp), last_time);
		/* Others may have been in the middle of one each. */
		CHECK_GE(count + writers, guaranteed_after_start(&attr, 40));
	}
	is_over = true;
	for (int w = 0; w < writers; w++)
		ts_join(threads[w]);
}

TEST(a_stream_is_filled_to_the_last_event_and_stop_still_fits,
     "POLICY-16 STARTSTOP-04 STARTSTOP-10")
{
	/* In one of these less is left than STOP takes, but enough for the smallest event. */
	for (size_t bytes = 16384; bytes <= 16384 + 24; bytes += 8) {
		trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, bytes, 256);
		trace_id_t trid = ts_create_running(0, &attr);
		struct posix_trace_status_info status;
		uint32_t most = 0;

		do {
			posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
			most++;
			status = ts_status(trid);
		} while (status.posix_stream_full_status == POSIX_TRACE_NOT_FULL);
		/* Not even one more fits, and none was lost to find that out. */
		CHECK_EQ(status.posix_stream_status, POSIX_TRACE_SUSPENDED);
		CHECK_EQ(status.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
		ts_shutdown(trid);

		trid = ts_create_running(0, &attr);
		for (uint32_t n = 1; n < most; n++)
			posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
		ts_expect_running(trid);
		ts_stop(trid);
		struct ts_events events = ts_read_all(trid);
		CHECK_EQ(events.count, most + 1);
		CHECK_EQ(ts_stop_reason(&events.at[events.count - 1]), 0);
		ts_shutdown(trid);
	}
}

TEST(no_thread_gets_past_the_first_lost_event, "POLICY-15")
{
	/* In strict turns the numbers kept are a prefix of all. */
	enum { stream_bytes = 32768 };
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, stream_bytes, DATA_BYTES);
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = ts_create_running(0, &attr);
	uint32_t count = (uint32_t)((2 * stream_bytes + TS_SLACK_BYTES) / 40);

	write_by_turns(id, 4, count);
	ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL, POSIX_TRACE_OVERRUN);
	struct ts_events all = ts_read_all(trid);
	uint32_t kept = (uint32_t)ts_count(&all, id);
	CHECK_LT(kept, count);
	ts_expect_numbers(&all, id, 0, kept - 1);
	CHECK_EQ(all.at[kept + 1].info.posix_event_id, POSIX_TRACE_STOP);
	CHECK_GE(kept, guaranteed_after_start(&attr, 40));
}
