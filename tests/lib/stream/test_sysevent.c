/* SPDX-License-Identifier: MIT */
/* The predefined events: their names, data, origin, order and number. */
#include "tests/support/logs.h"

static void expect_automatic(const struct ts_event *event)
{
	pthread_t nobody;

	memset(&nobody, 0, sizeof(nobody));
	CHECK_EQ(event->info.posix_pid, 0);
	CHECK(pthread_equal(event->info.posix_thread_id, nobody));
	CHECK(event->info.posix_prog_address == NULL);
	CHECK_EQ(event->info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
}

static int64_t time_of(const struct ts_event *event)
{
	return ts_time_ns(&event->info.posix_timestamp);
}

/*
 * Names
 */

static void expect_names(trace_id_t trid)
{
	for (size_t i = 0; i < TS_PREDEFINED; i++)
		ts_expect_name(trid, ts_predefined[i].id, ts_predefined[i].name);
}

TEST(predefined_events_have_the_names_of_the_standard,
     "SYSEVENT-01 SYSEVENT-02 SYSEVENT-03 SYSEVENT-04 SYSEVENT-05 SYSEVENT-06 SYSEVENT-07 SYSEVENT-08 SYSEVENT-09 EVENTID-23",
     NEEDS_KEEPER)
{
	trace_id_t plain = ts_create(0, NULL), logged, log;
	int fd = ts_temp_file();

	expect_names(plain);
	logged = ts_create_log(0, NULL, fd);
	expect_names(logged);
	log = ts_end_and_open_log(logged, fd);
	expect_names(log);
}

TEST(there_are_no_further_system_events, "SYSEVENT-25 EVENTSET-04")
{
	trace_id_t trid = ts_create(0, NULL);
	trace_event_id_t user = ts_id("user event"), id;
	trace_event_set_t set;
	uint32_t count = 0;
	int unavailable;

	CHECK_OK(posix_trace_eventset_fill(&set, POSIX_TRACE_SYSTEM_EVENTS));
	for (trace_event_id_t i = 1; i <= 8 + TRACE_USER_EVENT_MAX; i++)
		CHECK_EQ(ts_is_member(&set, i), i <= POSIX_TRACE_ERROR);
	for (;;) {
		CHECK_OK(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable));
		if (unavailable)
			break;
		CHECK(id == user || ts_is_member(&set, id) || id == POSIX_TRACE_UNNAMED_USEREVENT);
		count++;
	}
	CHECK_EQ(count, TS_PREDEFINED + 1);
}

/*
 * START, STOP, FILTER
 */

TEST(start_carries_the_filter_in_force,
     "SYSEVENT-01 SYSEVENT-10 SYSEVENT-11 SYSEVENT-12 FILTER-07 FILTER-09")
{
	trace_event_id_t one = ts_id("one"), two = ts_id("two"), three = ts_id("three");
	trace_event_set_t sets[4], added = ts_set(two, three, POSIX_TRACE_STOP, 0), got;
	trace_id_t trid = ts_create(0, NULL);
	struct ts_event event;

	CHECK_OK(posix_trace_eventset_empty(&sets[0]));
	sets[1] = ts_set(one, 0);
	sets[2] = ts_set(one, two, three, POSIX_TRACE_STOP, 0);
	CHECK_OK(posix_trace_eventset_fill(&sets[3], POSIX_TRACE_ALL_EVENTS));
	CHECK_OK(posix_trace_eventset_del(POSIX_TRACE_START, &sets[3]));
	CHECK_OK(posix_trace_eventset_del(POSIX_TRACE_STOP, &sets[3]));
	for (int i = 0; i < 4; i++) {
		/* Of changes while it is suspended nothing else tells. */
		if (i == 2)
			ts_set_filter(trid, &added, POSIX_TRACE_ADD_EVENTSET);
		else if (i > 0)
			ts_set_filter(trid, &sets[i], POSIX_TRACE_SET_EVENTSET);
		ts_expect_none(trid);
		ts_start(trid);
		event = ts_expect(trid, POSIX_TRACE_START);
		CHECK_EQ(event.len, sizeof(trace_event_set_t));
		CHECK_EQ(event.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
		got = ts_set_in(&event, 0);
		CHECK(ts_same_set(&got, &sets[i]));
		CHECK_EQ(ts_is_member(&got, one), i > 0);
		CHECK_EQ(ts_is_member(&got, two), i == 2 || i == 3);
		ts_stop(trid);
		if (i == 2)
			continue;
		event = ts_expect(trid, POSIX_TRACE_STOP);
		CHECK_EQ(ts_stop_reason(&event), 0);
		CHECK_EQ(event.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	}
	ts_expect_none(trid);
}

TEST(start_comes_first_whoever_records, "SYSEVENT-13 STARTSTOP-12")
{
	enum { writers = 3, rounds = 60 };
	struct ts_emitter emitters[writers];
	pthread_t threads[writers];

	for (int w = 0; w < writers; w++) {
		emitters[w] = (struct ts_emitter){.id = ts_id("event"), .allowed = UINT32_MAX};
		threads[w] = ts_thread(ts_emit_on, &emitters[w]);
		CHECK_EVENTUALLY(emitters[w].done > 0);
	}
	for (int round = 0; round < rounds; round++) {
		trace_id_t trid = ts_make(POSIX_TRACE_UNTIL_FULL, 65536, 0);
		/* Start and stop in a row, too. */
		ts_start(trid);
		if (round % 2) {
			ts_stop(trid);
			ts_start(trid);
		}
		struct ts_event event = ts_expect(trid, POSIX_TRACE_START);
		bool is_running = true;
		ts_stop(trid);
		while (ts_try_next(trid, &event)) {
			bool is_start = event.info.posix_event_id == POSIX_TRACE_START;

			CHECK_EQ(is_running, !is_start);
			is_running = event.info.posix_event_id != POSIX_TRACE_STOP;
		}
		ts_shutdown(trid);
	}
	for (int w = 0; w < writers; w++) {
		emitters[w].is_over = true;
		ts_join(threads[w]);
	}
}

TEST(automatic_stop_and_start_are_the_systems, "SYSEVENT-02 SYSEVENT-14 SYSEVENT-22")
{
	enum { stream_bytes = 16384 };
	trace_event_id_t id = ts_id("event");
	trace_event_set_t set = ts_set(ts_id("other"), ts_id("more"), 0), got;
	trace_id_t trid = ts_make(POSIX_TRACE_UNTIL_FULL, stream_bytes, 0);

	ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
	ts_start(trid);
	(void)ts_fill(trid, stream_bytes, id, 100, 0);
	struct ts_events all = ts_read_all(trid);
	const struct ts_event *stop = &all.at[all.count - 2];
	const struct ts_event *start = &all.at[all.count - 1];
	CHECK_EQ(stop->info.posix_event_id, POSIX_TRACE_STOP);
	CHECK_EQ(ts_stop_reason(stop), 1);
	expect_automatic(stop);
	CHECK_EQ(start->info.posix_event_id, POSIX_TRACE_START);
	CHECK_EQ(start->len, sizeof(got));
	got = ts_set_in(start, 0);
	CHECK(ts_same_set(&got, &set));
	expect_automatic(start);
	ts_expect_sorted(&all);
}

/*
 * Who caused it
 */

__attribute__((noinline)) static void start_here(trace_id_t trid)
{
	CHECK_OK(posix_trace_start(trid));
	__asm__ volatile("");
}

__attribute__((noinline)) static void stop_here(trace_id_t trid)
{
	CHECK_OK(posix_trace_stop(trid));
	__asm__ volatile("");
}

__attribute__((noinline)) static void filter_here(trace_id_t trid, const trace_event_set_t *set)
{
	CHECK_OK(posix_trace_set_filter(trid, set, POSIX_TRACE_SET_EVENTSET));
	__asm__ volatile("");
}

static void *call_all(void *arg)
{
	trace_id_t trid = *(trace_id_t *)arg;
	trace_event_set_t set = ts_set(0);

	start_here(trid);
	filter_here(trid, &set);
	stop_here(trid);
	return NULL;
}

TEST(events_caused_by_a_call_tell_of_the_caller, "SYSEVENT-21")
{
	struct ts_target target = ts_target_fork();
	trace_id_t trid = ts_create(target.pid, NULL);
	const uintptr_t functions[] = {(uintptr_t)start_here, (uintptr_t)filter_here,
				       (uintptr_t)stop_here};

	for (int round = 0; round < 2; round++) {
		pthread_t thread = ts_thread(call_all, &trid);
		ts_join(thread);
		struct ts_events all = ts_read_ids(trid, POSIX_TRACE_START, POSIX_TRACE_FILTER,
						   POSIX_TRACE_STOP, 0);
		for (size_t i = 0; i < 3; i++) {
			uintptr_t address = (uintptr_t)all.at[i].info.posix_prog_address;
			/* The controller, not the target. */
			CHECK_EQ(all.at[i].info.posix_pid, getpid());
			CHECK(pthread_equal(all.at[i].info.posix_thread_id, thread));
			CHECK_GT(address, functions[i]);
			CHECK_LT(address, functions[i] + 512);
		}
	}
	ts_target_end(&target);
}

/*
 * OVERFLOW and RESUME
 */

#define LOOP_BYTES ((size_t)16384)
#define NUMBERS_MAX 100000

static trace_id_t run_loop(void)
{
	return ts_past_start(ts_run(POSIX_TRACE_LOOP, LOOP_BYTES, 0));
}

/* Around every numbered event. */
static int64_t time_before[NUMBERS_MAX], time_after[NUMBERS_MAX];

static void emit_timed(trace_event_id_t id, uint32_t number)
{
	unsigned char data[100] = {0};

	CHECK_LT(number, NUMBERS_MAX);
	memcpy(data, &number, sizeof(number));
	time_before[number] = ts_realtime_ns();
	posix_trace_event(id, data, sizeof(data));
	time_after[number] = ts_realtime_ns();
}

static uint32_t flood_timed(trace_event_id_t id, uint32_t next)
{
	uint32_t count = (uint32_t)((2 * LOOP_BYTES + TS_SLACK_BYTES) / 100 + 1);

	for (uint32_t i = 0; i < count; i++)
		emit_timed(id, next++);
	return next;
}

/* Where numbers are missing there is OVERFLOW with the time of the first missing one and
 * RESUME with that of the next one there, and nowhere else. The number of gaps. */
static uint32_t expect_marked_gaps(const struct ts_events *all, trace_event_id_t id, uint32_t due,
				   uint32_t next)
{
	uint32_t gaps = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct ts_event *event = &all->at[i];
		/* A stamp is exact to 10 us. */
		CHECK_GE(time_of(event), time_before[due] - 10000);
		CHECK_LE(time_of(event), time_after[due] + 10000);
		if (event->info.posix_event_id == POSIX_TRACE_OVERFLOW) {
			CHECK_LT(i + 2, all->count);
			CHECK_EQ(event->len, 0);
			expect_automatic(event);
			CHECK_EQ(event[1].info.posix_event_id, POSIX_TRACE_RESUME);
			CHECK_EQ(event[1].len, 0);
			expect_automatic(&event[1]);
			CHECK_EQ(event[2].info.posix_event_id, id);
			uint32_t number = ts_number(&event[2]);
			CHECK_GT(number, due);
			CHECK_EQ(time_of(&event[1]), time_of(&event[2]));
			due = number;
			gaps++;
			i++;
			continue;
		}
		CHECK_EQ(event->info.posix_event_id, id);
		CHECK_EQ(ts_number(event), due);
		due++;
	}
	CHECK_EQ(due, next);
	ts_expect_sorted(all);
	return gaps;
}

static void append_events(struct ts_events *to, struct ts_events more)
{
	to->at = (struct ts_event *)realloc(to->at, (to->count + more.count + 1) * sizeof(*to->at));
	CHECK(to->at != NULL);
	if (more.count)
		memcpy(to->at + to->count, more.at, more.count * sizeof(*to->at));
	to->count += more.count;
}

static void append_next(struct ts_events *to, trace_id_t trid)
{
	struct ts_event event = ts_next(trid);

	append_events(to, (struct ts_events){1, &event});
}

TEST(a_gap_is_marked_by_overflow_and_resume,
     "SYSEVENT-04 SYSEVENT-05 SYSEVENT-10 SYSEVENT-15 SYSEVENT-16 SYSEVENT-17 SYSEVENT-18 SYSEVENT-22",
     NEEDS_SPEED)
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = run_loop();

	emit_timed(id, 0);
	/* The first one lost is far from the second one. */
	while (ts_realtime_ns() < time_after[0] + 300000)
		;
	uint32_t next = 1;
	/* However often the stream is overwritten, unread: it is one gap. */
	for (int round = 0; round < 10; round++) {
		next = flood_timed(id, next);
		(void)ts_status(trid);
	}
	struct ts_events all = ts_read_all(trid);
	CHECK_EQ(all.at[0].info.posix_event_id, POSIX_TRACE_OVERFLOW);
	CHECK_EQ(expect_marked_gaps(&all, id, 0, next), 1);
}

TEST(each_gap_is_marked_once, "SYSEVENT-15 SYSEVENT-16 SYSEVENT-18", NEEDS_SPEED)
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = run_loop();
	struct ts_events all = {0, NULL};
	uint32_t next = 0;

	for (int round = 0; round < 10; round++) {
		/* Something is read between the gaps: they are not one. */
		next = flood_timed(id, next);
		for (int i = 0; i < 5 + round * 3; i++)
			append_next(&all, trid);
	}
	append_events(&all, ts_read_all(trid));
	CHECK_EQ(expect_marked_gaps(&all, id, 0, next), 10);
}

TEST(the_event_resume_announced_is_held, "SYSEVENT-16 SYSEVENT-17", NEEDS_SPEED)
{
	trace_event_id_t id = ts_id("event");

	/* Overwritten behind OVERFLOW, behind RESUME, behind the event. */
	for (int read = 1; read <= 3; read++) {
		trace_id_t trid = run_loop();
		struct ts_events all = {0, NULL};
		uint32_t next = flood_timed(id, 0);
		for (int i = 0; i < read; i++)
			append_next(&all, trid);
		CHECK_EQ(all.at[0].info.posix_event_id, POSIX_TRACE_OVERFLOW);
		for (int i = 0; i < 3; i++)
			next = flood_timed(id, next);
		append_events(&all, ts_read_all(trid));
		uint32_t gaps = expect_marked_gaps(&all, id, 0, next);
		if (read > 1)
			CHECK_EQ(gaps, 2);
		ts_shutdown(trid);
	}
}

TEST(overflow_and_resume_can_be_filtered, "SYSEVENT-20")
{
	trace_event_id_t id = ts_id("event");
	const trace_event_set_t sets[] = {ts_set(POSIX_TRACE_OVERFLOW, 0),
					  ts_set(POSIX_TRACE_RESUME, 0),
					  ts_set(POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME, 0)};
	trace_event_set_t none = ts_set(0);

	for (int s = 0; s < 3; s++)
		for (int is_late = 0; is_late < 3; is_late++) {
			trace_id_t trid = ts_run(POSIX_TRACE_LOOP, LOOP_BYTES, 0);
			bool is_filtered = is_late < 2;
			/* The filter when the gap is reported decides, not an earlier
			 * one. */
			if (is_late != 1)
				ts_set_filter(trid, &sets[s], POSIX_TRACE_SET_EVENTSET);
			flood_timed(id, 0);
			if (is_late == 1)
				ts_set_filter(trid, &sets[s], POSIX_TRACE_SET_EVENTSET);
			if (is_late == 2)
				ts_set_filter(trid, &none, POSIX_TRACE_SET_EVENTSET);
			struct ts_events all = ts_read_all(trid);
			CHECK_EQ(ts_count(&all, POSIX_TRACE_OVERFLOW),
				 !(is_filtered && ts_is_member(&sets[s], POSIX_TRACE_OVERFLOW)));
			CHECK_EQ(ts_count(&all, POSIX_TRACE_RESUME),
				 !(is_filtered && ts_is_member(&sets[s], POSIX_TRACE_RESUME)));
			CHECK_EQ(ts_status(trid).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
			ts_shutdown(trid);
		}
}

/*
 * Flush markers
 */

static bool is_marker(const struct ts_event *event)
{
	return event->info.posix_event_id == POSIX_TRACE_FLUSH_START ||
	       event->info.posix_event_id == POSIX_TRACE_FLUSH_STOP;
}

static void expect_paired_markers(const struct ts_events *all)
{
	bool is_flushing = false;

	for (size_t i = 0; i < all->count; i++) {
		const struct ts_event *event = &all->at[i];
		if (!is_marker(event))
			continue;
		CHECK_EQ(is_flushing, event->info.posix_event_id == POSIX_TRACE_FLUSH_STOP);
		CHECK_EQ(event->len, 0);
		is_flushing = !is_flushing;
	}
	CHECK(!is_flushing);
	ts_expect_sorted(all);
}

__attribute__((noinline)) static void flush_here(trace_id_t trid)
{
	CHECK_OK(posix_trace_flush(trid));
	__asm__ volatile("");
}

TEST(each_flush_leaves_a_pair_of_markers,
     "SYSEVENT-06 SYSEVENT-07 SYSEVENT-10 SYSEVENT-21 SYSEVENT-23 SYSEVENT-24", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	int fd = ts_temp_file();
	trace_id_t trid = create_log(POSIX_TRACE_LOOP, 65536, POSIX_TRACE_APPEND, 0, fd);

	/* Not started, running, stopped. */
	flush_here(trid);
	ts_start(trid);
	ts_emit(id, 1);
	int64_t begin = ts_realtime_ns();
	flush_here(trid);
	int64_t end = ts_realtime_ns();
	ts_emit(id, 2);
	ts_stop(trid);
	flush_here(trid);
	flush_here(trid);
	ts_start(trid);
	ts_emit(id, 3);
	struct ts_events all = ts_end_log(trid, fd);
	ts_expect_ids(&all, POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP, POSIX_TRACE_START, id,
		      POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP, id, POSIX_TRACE_STOP,
		      POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP, POSIX_TRACE_FLUSH_START,
		      POSIX_TRACE_FLUSH_STOP, POSIX_TRACE_START, id, POSIX_TRACE_STOP,
		      POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP, 0);
	expect_paired_markers(&all);
	for (size_t i = 0; i < all.count; i++) {
		uintptr_t address = (uintptr_t)all.at[i].info.posix_prog_address;
		CHECK_EQ(all.at[i].info.posix_pid, getpid());
		CHECK(pthread_equal(all.at[i].info.posix_thread_id, pthread_self()));
		if (i < all.count - 2 && is_marker(&all.at[i])) {
			CHECK_GT(address, (uintptr_t)flush_here);
			CHECK_LT(address, (uintptr_t)flush_here + 512);
		}
	}
	for (size_t i = 4; i <= 5; i++) {
		CHECK_GE(time_of(&all.at[i]), begin - 10000);
		CHECK_LE(time_of(&all.at[i]), end + 10000);
	}
}

TEST(an_automatic_flush_is_the_systems, "SYSEVENT-22 SYSEVENT-23 POLICY-23", NEEDS_KEEPER)
{
	trace_event_id_t id = ts_id("event");
	int fd = ts_temp_file();
	trace_id_t trid = start_log(POSIX_TRACE_FLUSH, 65536, POSIX_TRACE_APPEND, 0, fd);
	size_t seen = 0;

	ts_emit_numbers(id, 0, 19);
	/* A second at the latest. */
	CHECK_EVENTUALLY(count_so_far(fd, id) == 20);
	struct ts_events all = ts_end_log(trid, fd);
	ts_expect_numbers(&all, id, 0, 19);
	CHECK_GE(ts_count(&all, POSIX_TRACE_FLUSH_START), 2);
	expect_paired_markers(&all);
	for (size_t i = 0; i < all.count - 2; i++)
		if (is_marker(&all.at[i])) {
			expect_automatic(&all.at[i]);
			seen++;
		}
	CHECK_GE(seen, 2);
	CHECK_EQ(all.at[all.count - 3].info.posix_event_id, POSIX_TRACE_STOP);
}

/* has_names: the names of the events are in the log when the flushes begin to fail. */
static void fail_flushes(int log_policy, bool has_names)
{
	trace_event_id_t id = ts_id("event");
	int fd = ts_temp_file();
	trace_id_t trid = start_log(POSIX_TRACE_UNTIL_FULL, 65536, log_policy, 0, fd);

	ts_emit(id, 1);
	if (has_names)
		ts_flush(trid);
	ts_emit(id, 2);
	limit_file_size((rlim_t)ts_file_size(fd));
	for (int i = 0; i < 200; i++)
		CHECK_EQ(posix_trace_flush(trid), EFBIG);
	limit_file_size(RLIM_INFINITY);
	ts_expect_running(trid);
	ts_emit(id, 3);
	ts_flush(trid);
	struct ts_events all = ts_end_log(trid, fd);
	ts_expect_numbers(&all, id, 1, 3);
	/* Of the failed ones one, of the good ones and of shutdown at most one each. */
	CHECK_LE(ts_count(&all, POSIX_TRACE_FLUSH_START), 3 + (size_t)has_names);
	CHECK_GE(ts_count(&all, POSIX_TRACE_FLUSH_START), 1 + (size_t)has_names);
	expect_paired_markers(&all);
}

TEST(failing_flushes_do_not_pile_up_markers, "SYSEVENT-26", NEEDS_KEEPER)
{
	for (size_t i = 0; i < 3; i++) {
		fail_flushes(log_policies[i], false);
		fail_flushes(log_policies[i], true);
	}
}
