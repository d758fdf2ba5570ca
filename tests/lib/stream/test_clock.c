/* SPDX-License-Identifier: MIT */
/* Times: of creation, of events, and the order that reports have because of them. */
#include "tests/support/support.h"

#include "tests/support/payload.h"

/* What EVENT-11 allows. */
#define EXACT_NS 10000

static trace_id_t stream_on(pid_t pid)
{
	return ts_past_start(ts_run_inherited(pid, POSIX_TRACE_UNTIL_FULL, (size_t)8 << 20, 0));
}

/*
 * Attributes
 */

TEST(the_creation_time_is_that_of_the_create,
     "CLOCK-02 CLOCK-03 CLOCK-06 CREATE-06 ATTR-15 ATTR-16")
{
	trace_attr_t attr = ts_attr(0, 8192, 0);
	int64_t last = 0;

	for (int i = 0; i < 50; i++) {
		int64_t before = ts_realtime_ns();
		trace_id_t trid = ts_create(0, &attr);
		int64_t after = ts_realtime_ns();
		int64_t created = ts_values_of(trid).created_ns;
		CHECK_GE(created, before);
		CHECK_LE(created, after);
		CHECK_GT(created, last);
		CHECK_EQ(ts_values_of(trid).created_ns, created);
		/* The object that it was made with describes what it did before. */
		CHECK_EQ(ts_values(&attr).created_ns, last);
		CHECK_OK(posix_trace_get_attr(trid, &attr));
		last = created;
		ts_shutdown(trid);
	}
}

/*
 * Events
 */

/* The next event has this type, and a time between these, as exactly as it must be. */
static struct ts_event expect_stamped(trace_id_t trid, trace_event_id_t id, int64_t from_ns,
				      int64_t to_ns)
{
	struct ts_event event = ts_expect(trid, id);

	CHECK_GE(ts_time_ns(&event.info.posix_timestamp), from_ns - EXACT_NS);
	CHECK_LE(ts_time_ns(&event.info.posix_timestamp), to_ns + EXACT_NS);
	return event;
}

/* Reads the clock around each event, so that it does not matter where the scheduler
 * strikes. */
static void expect_exact(trace_id_t trid, uint32_t count)
{
	int64_t *before = (int64_t *)malloc(count * sizeof(*before));
	int64_t *after = (int64_t *)malloc(count * sizeof(*after));

	CHECK(before && after);
	for (uint32_t i = 0; i < count; i++) {
		before[i] = ts_realtime_ns();
		ts_emit(POSIX_TRACE_UNNAMED_USEREVENT, i);
		after[i] = ts_realtime_ns();
	}
	for (uint32_t i = 0; i < count; i++) {
		struct ts_event event =
			expect_stamped(trid, POSIX_TRACE_UNNAMED_USEREVENT, before[i], after[i]);
		CHECK_EQ(ts_number(&event), i);
	}
	free(before);
	free(after);
}

TEST(a_stamp_is_the_time_of_the_call, "EVENT-11 CLOCK-06", NEEDS_SPEED)
{
	trace_id_t trid = stream_on(0);

	expect_exact(trid, 20000);
	/* And after idle times, over a second. */
	for (int ms = 1; ms < 600; ms = ms * 2 + 1) {
		harness_sleep_ms(ms);
		expect_exact(trid, 100);
	}
}

TEST(system_events_are_stamped_as_exactly, "EVENT-11 CLOCK-06", NEEDS_SPEED)
{
	trace_event_set_t set = ts_set(ts_id("other"), 0);
	trace_id_t trid = ts_create(0, NULL);

	for (int i = 0; i < 50; i++) {
		static const trace_event_id_t ids[] = {POSIX_TRACE_START, POSIX_TRACE_FILTER,
						       POSIX_TRACE_STOP};
		int64_t times[4];
		times[0] = ts_realtime_ns();
		ts_start(trid);
		times[1] = ts_realtime_ns();
		ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
		times[2] = ts_realtime_ns();
		ts_stop(trid);
		times[3] = ts_realtime_ns();
		for (int k = 0; k < 3; k++)
			expect_stamped(trid, ids[k], times[k], times[k + 1]);
	}
}

TEST(several_streams_agree_on_the_time, "EVENT-11", NEEDS_SPEED)
{
	trace_id_t first = stream_on(0), second;
	int64_t before, after;

	harness_sleep_ms(20);
	second = stream_on(0);
	for (uint32_t i = 0; i < 100; i++) {
		before = ts_realtime_ns();
		ts_emit(POSIX_TRACE_UNNAMED_USEREVENT, i);
		after = ts_realtime_ns();
		expect_stamped(first, POSIX_TRACE_UNNAMED_USEREVENT, before, after);
		expect_stamped(second, POSIX_TRACE_UNNAMED_USEREVENT, before, after);
	}
}

/*
 * Order
 */

struct shared_turns {
	_Atomic uint32_t turn;
	/* Of the numbers; lowered when there is no time for more. */
	_Atomic uint32_t count;
};

struct turn_taker {
	struct shared_turns *shared;
	uint32_t self;
	uint32_t takers;
};

/* Numbers go round, each written strictly after the one before. The pause is longer than
 * the stamps of two processors may disagree. */
static void *take_turns(void *arg)
{
	struct turn_taker *t = (struct turn_taker *)arg;

	for (uint32_t number = t->self;; number += t->takers) {
		while (number < atomic_load(&t->shared->count) &&
		       atomic_load(&t->shared->turn) != number)
			sched_yield();
		if (number >= atomic_load(&t->shared->count))
			return NULL;
		if (!harness_has_time())
			atomic_store(&t->shared->count, number + 1);
		ts_emit(POSIX_TRACE_UNNAMED_USEREVENT, number);
		int64_t end = harness_now_ns() + 5000;
		while (harness_now_ns() < end)
			;
		atomic_store(&t->shared->turn, number + 1);
	}
}

/* Reads while the numbers are still being written; they come in order. */
static void expect_turns(uint32_t takers, bool are_processes)
{
	struct shared_turns *shared = harness_share(sizeof(struct shared_turns));
	trace_id_t trid = stream_on(0);
	struct turn_taker args[4];
	pthread_t threads[4];
	pid_t pids[4];
	int64_t last = 0;

	atomic_store(&shared->count, 1000 * takers);
	for (uint32_t t = 0; t < takers; t++) {
		args[t] = (struct turn_taker){shared, t, takers};
		if (are_processes)
			pids[t] = ts_process(take_turns, &args[t]);
		else
			threads[t] = ts_thread(take_turns, &args[t]);
	}
	for (uint32_t number = 0; number < atomic_load(&shared->count); number++) {
		struct ts_event event = ts_expect(trid, POSIX_TRACE_UNNAMED_USEREVENT);
		CHECK_EQ(ts_number(&event), number);
		CHECK_GE(ts_time_ns(&event.info.posix_timestamp), last);
		last = ts_time_ns(&event.info.posix_timestamp);
	}
	ts_expect_none(trid);
	for (uint32_t t = 0; t < takers; t++) {
		if (are_processes)
			CHECK_EXIT(pids[t], 0);
		else
			ts_join(threads[t]);
	}
}

TEST(events_of_threads_are_reported_in_the_order_they_happened, "GETNEXT-03 EVENT-17")
{
	expect_turns(4, false);
}

TEST(events_of_processes_are_reported_in_the_order_they_happened, "GETNEXT-03")
{
	expect_turns(3, true);
}

TEST(a_step_of_the_wall_clock_is_not_seen, "EVENT-11 GETNEXT-03 CLOCK-05")
{
	const char *allowed = getenv("PTRC_TEST_STEP_CLOCK");
	struct timespec stepped;
	int64_t base, origin, now;

	/* It would hurt everything else that runs here. */
	if (!allowed || strcmp(allowed, "1") != 0)
		SKIP("PTRC_TEST_STEP_CLOCK is not 1");
	trace_id_t trid = stream_on(0);
	base = ts_realtime_ns();
	origin = harness_now_ns();
	for (uint32_t i = 0; i < 4; i++) {
		ts_emit(POSIX_TRACE_UNNAMED_USEREVENT, i);
		/* An hour back, then an hour ahead, then right again. */
		now = base + (harness_now_ns() - origin) +
		      (i == 0	? -INT64_C(3600000000000)
		       : i == 1 ? INT64_C(3600000000000)
				: 0);
		stepped = (struct timespec){(time_t)(now / 1000000000), (long)(now % 1000000000)};
		if (clock_settime(CLOCK_REALTIME, &stepped) < 0)
			SKIP("the clock may not be set");
	}
	struct ts_events all = ts_read_numbers(trid, POSIX_TRACE_UNNAMED_USEREVENT, 0, 3);
	for (size_t i = 0; i < all.count; i++) {
		CHECK_GE(ts_time_ns(&all.at[i].info.posix_timestamp), base - EXACT_NS);
		CHECK_LE(ts_time_ns(&all.at[i].info.posix_timestamp), base + INT64_C(60000000000));
	}
}
