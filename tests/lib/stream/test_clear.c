/* SPDX-License-Identifier: MIT */
/* posix_trace_clear. */
#include "tests/support/keeper.h"

#define SMALL 16384
#define UNNAMED POSIX_TRACE_UNNAMED_USEREVENT

TEST(events_of_other_processes_and_threads_are_gone_too, "CLEAR-01")
{
	struct ts_target target = ts_target_fork();
	trace_id_t trid = ts_run_inherited(target.pid, POSIX_TRACE_UNTIL_FULL, SMALL, 256);
	struct ts_target child = ts_target_fork_child(&target);

	ts_target_emit(&target, UNNAMED, 1);
	ts_target_emit(&child, UNNAMED, 2);
	ts_clear(trid);
	ts_expect_none(trid);
	ts_target_emit(&child, UNNAMED, 3);
	ts_target_emit(&target, UNNAMED, 4);
	struct ts_events events = ts_read_numbers(trid, UNNAMED, 3, 4);
	CHECK_EQ(events.count, 2);
	ts_target_end(&child);
	ts_clear(trid);
	ts_target_emit(&target, UNNAMED, 5);
	ts_read_numbers(trid, UNNAMED, 5, 5);
	ts_target_end(&target);
}

TEST(events_are_gone_and_a_stream_runs_on_or_stays_suspended, "CLEAR-01 CLEAR-02 STATUS-06")
{
	for (int policy = POSIX_TRACE_LOOP; policy <= POSIX_TRACE_UNTIL_FULL; policy++) {
		trace_id_t trid = ts_make(policy, SMALL, 256);

		ts_clear(trid);
		ts_expect_suspended(trid);
		ts_expect_none(trid);
		ts_emit(UNNAMED, 1);
		ts_expect_none(trid);
		ts_start(trid);
		ts_emit_numbers(UNNAMED, 0, 49);
		/* Some of them read, some not. */
		for (int n = 0; n < 10; n++)
			ts_next(trid);
		CHECK_EQ(posix_trace_clear(trid), 0);
		ts_expect_running(trid);
		ts_clear(trid);
		ts_expect_none(trid);
		ts_expect_running(trid);
		ts_emit(UNNAMED, 51);
		ts_expect_number(trid, UNNAMED, 51);
		ts_emit(UNNAMED, 52);
		ts_stop(trid);
		ts_clear(trid);
		ts_expect_suspended(trid);
		ts_expect_none(trid);
		ts_start(trid);
		ts_expect(trid, POSIX_TRACE_START);
	}
}

TEST(a_full_loop_stream_is_not_full_afterwards, "CLEAR-03 CLEAR-06")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, SMALL, 256);

	ts_fill(trid, SMALL, UNNAMED, 100, 0);
	ts_clear(trid);
	ts_expect_running(trid);
	ts_flood(SMALL, UNNAMED, 100, 0);
	/* OVERRUN, and OVERFLOW still to be reported. */
	ts_clear(trid);
	ts_expect_running(trid);
	ts_emit(UNNAMED, 1);
	ts_read_ids(trid, UNNAMED, 0U);

	/* OVERFLOW was reported, its RESUME not yet; RESUME was reported, its event not. */
	for (uint32_t marks = 1; marks <= 2; marks++) {
		ts_flood(SMALL, UNNAMED, 100, 0);
		ts_expect(trid, POSIX_TRACE_OVERFLOW);
		if (marks == 2)
			ts_expect(trid, POSIX_TRACE_RESUME);
		ts_clear(trid);
		ts_emit(UNNAMED, marks);
		ts_expect_number(trid, UNNAMED, marks);
		ts_expect_none(trid);
	}
}

/* The next event is too big for the stream, but not for what is left of the chunk with the events
 * that the clear has removed. */
TEST(an_event_too_big_for_the_stream_is_lost_afterwards_too, "CLEAR-01 EVENT-27")
{
	static unsigned char data[2050];
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, 2000, sizeof(data));

	ts_emit_numbers(UNNAMED, 0, 4);
	ts_clear(trid);
	for (unsigned long lost = 1; lost <= 4; lost++) {
		posix_trace_event(UNNAMED, data, sizeof(data));
		CHECK_EQ(counts_of(trid).pt_lost_events, lost);
	}
	ts_expect_none(trid);
	ts_emit(UNNAMED, 5);
	ts_expect_number(trid, UNNAMED, 5);
}

struct filtered_thread {
	pthread_barrier_t barrier;
	trace_event_id_t excluded;
};

static void *emit_excluded_first(void *arg)
{
	struct filtered_thread *thread = arg;

	ts_emit(UNNAMED, 1);
	pthread_barrier_wait(&thread->barrier);
	pthread_barrier_wait(&thread->barrier);
	ts_emit(thread->excluded, 2);
	ts_emit(UNNAMED, 3);
	return NULL;
}

/* There are two streams, so that threads share what is known of the filter: this thread finds out that
 * the event type is recorded, and the other one need not look for its second event. */
TEST(a_thread_whose_next_event_is_filtered_out_records_the_one_after_it, "CLEAR-01")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, SMALL, 256);
	trace_id_t other = ts_run(POSIX_TRACE_LOOP, SMALL, 256);
	struct filtered_thread arg = {.excluded = ts_id("excluded")};
	trace_event_set_t set = ts_set(arg.excluded, 0U);

	CHECK_OK(pthread_barrier_init(&arg.barrier, NULL, 2));
	pthread_t thread = ts_thread(emit_excluded_first, &arg);
	pthread_barrier_wait(&arg.barrier);
	ts_clear(trid);
	ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
	ts_emit(UNNAMED, 2);
	pthread_barrier_wait(&arg.barrier);
	ts_join(thread);
	struct ts_events events = ts_read_all(trid);
	ts_expect_numbers(&events, UNNAMED, 2, 3);
	events = ts_read_all(other);
	ts_expect_numbers(&events, UNNAMED, 1, 3);
}

TEST(names_stay, "CLEAR-04")
{
	struct ts_target target = ts_target_fork();
	trace_id_t trid = ts_run_of(target.pid, POSIX_TRACE_LOOP, SMALL, 256);
	trace_event_id_t a = ts_target_id(&target, "a"), b = ts_trid_id(trid, "b");

	ts_target_emit(&target, a, 1);
	ts_clear(trid);
	ts_expect_name(trid, a, "a");
	ts_expect_name(trid, b, "b");
	CHECK_EQ(ts_target_id(&target, "b"), b);
	CHECK_EQ(ts_trid_id(trid, "a"), a);
	ts_target_emit(&target, a, 2);
	ts_expect(trid, a);
	ts_target_end(&target);
}

TEST(attributes_and_capacity_stay, "CLEAR-05 CLOCK-05 SIZE-11")
{
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, SMALL, 256);

	CHECK_OK(posix_trace_attr_setname(&attr, "cleared"));
	trace_id_t trid = ts_create_running(0, &attr);
	int64_t created_ns = ts_values_of(trid).created_ns;
	for (int i = 0; i < 4; i++) {
		uint32_t count = ts_fill(trid, SMALL, UNNAMED, 100, 0);
		/* At least what is guaranteed, every time. */
		CHECK_GE((count + 2) * ts_user_bytes(&attr, 100), SMALL);
		ts_clear(trid);
		ts_start(trid);
		struct ts_values after = ts_values_of(trid);
		CHECK_STR_EQ(after.name, "cleared");
		CHECK_EQ(after.stream_bytes, SMALL);
		CHECK_EQ(after.created_ns, created_ns);
	}
}

TEST(losses_and_flush_errors_are_forgotten, "CLEAR-06 STATUS-14 STATUS-17", NEEDS_KEEPER)
{
	int ends[2];

	open_pipe(ends, 0);
	trace_id_t trid = create_log(POSIX_TRACE_UNTIL_FULL, SMALL, POSIX_TRACE_APPEND, 0, ends[1]);
	close(ends[0]);
	close(ends[1]);
	ts_start(trid);
	ts_flood(SMALL, UNNAMED, 100, 0);
	CHECK_EQ(posix_trace_flush(trid), EPIPE);
	ts_clear(trid);
	struct posix_trace_status_info info = ts_status(trid);
	CHECK_EQ(info.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ(info.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
	CHECK_EQ(info.posix_stream_flush_error, 0);
	CHECK_EQ(info.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
}

TEST(the_filter_is_empty_afterwards, "CLEAR-07 FILTER-09")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, SMALL, 256);
	trace_event_id_t a = ts_id("a");
	trace_event_set_t set = ts_set(a, POSIX_TRACE_STOP, 0U);

	ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
	ts_emit(a, 1);
	ts_clear(trid);
	ts_expect_filter(trid, 0U);
	ts_expect_none(trid);
	ts_emit(a, 2);
	ts_stop(trid);
	ts_read_ids(trid, a, POSIX_TRACE_STOP, 0U);
	ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
	ts_clear(trid);
	ts_start(trid);
	struct ts_event event = ts_expect(trid, POSIX_TRACE_START);
	trace_event_set_t filter = ts_set_in(&event, 0);
	ts_expect_set(&filter, 0U);
}

TEST(the_event_type_list_starts_again, "CLEAR-08")
{
	trace_id_t trid = ts_make(POSIX_TRACE_LOOP, SMALL, 256);
	trace_event_id_t first, id;
	int unavailable;

	CHECK_OK(posix_trace_eventtypelist_getnext_id(trid, &first, &unavailable));
	CHECK_OK(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable));
	CHECK_NE(id, first);
	ts_clear(trid);
	CHECK_OK(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable));
	CHECK_EQ(unavailable, 0);
	CHECK_EQ(id, first);
}

TEST(a_stream_that_stopped_for_being_full_needs_a_start, "CLEAR-09 CLEAR-03 POLICY-19")
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, SMALL, 256);

	ts_fill(trid, SMALL, UNNAMED, 100, 0);
	ts_emit(UNNAMED, 1);
	ts_clear(trid);
	ts_expect_suspended(trid);
	/* Not lost, only not wanted. */
	ts_emit(UNNAMED, 2);
	ts_expect_suspended(trid);
	ts_expect_none(trid);
	ts_expect_suspended(trid);
	ts_start(trid);
	ts_expect_running(trid);
	ts_emit(UNNAMED, 3);
	ts_read_ids(trid, POSIX_TRACE_START, UNNAMED, 0U);
	/* From here on everything is as ever. */
	ts_fill(trid, SMALL, UNNAMED, 100, 0);
	struct ts_events events = ts_read_all(trid);
	CHECK_EQ(events.at[events.count - 1].info.posix_event_id, POSIX_TRACE_START);
	ts_expect_running(trid);
}

TEST(a_log_that_cannot_be_emptied_is_an_error, "CLEAR-10 CLEAR-01", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_id_t trid = start_log(POSIX_TRACE_UNTIL_FULL, SMALL, POSIX_TRACE_APPEND, 0, fd);

	emit_run(UNNAMED, 0, 30, 100);
	CHECK_GT(counts_of(trid).pt_stream_bytes, 30 * 100);
	limit_file_size(100);
	CHECK_EQ(posix_trace_clear(trid), EFBIG);
	limit_file_size(RLIM_INFINITY);
	/* The stream is cleared all the same; another clear repairs the log. */
	CHECK_EQ(counts_of(trid).pt_stream_bytes, 0);
	ts_clear(trid);
	emit_run(UNNAMED, 30, 40, 100);
	ts_expect_logged(trid, fd, UNNAMED, 30, 39);
}

TEST(a_pipe_keeps_what_was_written, "CLEAR-12", NEEDS_KEEPER)
{
	struct drain drain = {0};
	int ends[2], fd = ts_temp_file();

	open_pipe(ends, 0);
	trace_id_t trid = create_log(POSIX_TRACE_UNTIL_FULL, SMALL, POSIX_TRACE_APPEND, 0, ends[1]);
	close(ends[1]);
	drain_start(&drain, ends[0], fd);
	ts_start(trid);
	emit_run(UNNAMED, 0, 10, 100);
	ts_flush(trid);
	emit_run(UNNAMED, 10, 20, 100);
	ts_clear(trid);
	emit_run(UNNAMED, 20, 30, 100);
	ts_shutdown(trid);
	ts_join(drain.thread);
	struct ts_events all = ts_log_events(fd), events = without_markers(&all);
	/* What had been written, and what came after the clear; nothing between. */
	CHECK_EQ(events.count, 22);
	CHECK_EQ(events.at[0].info.posix_event_id, POSIX_TRACE_START);
	for (uint32_t i = 0; i < 20; i++)
		CHECK_EQ(ts_number(&events.at[1 + i]), i < 10 ? i : i + 10);
	CHECK_EQ(ts_stop_reason(&events.at[21]), 0);
}

struct emitter {
	_Atomic uint32_t begun;
	_Atomic bool is_over;
};

static void *emit_on(void *arg)
{
	struct emitter *emitter = arg;
	unsigned char data[64];
	while (!emitter->is_over) {
		uint32_t number = emitter->begun++;
		size_t len = 4 + number % 60;
		memset(data, (int)(number & 0xff), sizeof(data));
		memcpy(data, &number, sizeof(number));
		posix_trace_event(UNNAMED, data, len);
		if (number % 8 == 0)
			sched_yield();
	}
	return NULL;
}

TEST(events_during_the_call_are_whole_or_gone, "CLEAR-13 CLEAR-01")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, 1 << 20, 256);
	struct emitter emitters[2] = {0};
	pthread_t threads[2] = {ts_thread(emit_on, &emitters[0]), ts_thread(emit_on, &emitters[1])};

	for (int i = 0; i < 100; i++) {
		uint32_t seen = emitters[0].begun;
		while (emitters[0].begun < seen + 20)
			sched_yield();
		uint32_t before[2] = {emitters[0].begun, emitters[1].begun};
		ts_clear(trid);
		ts_stop(trid);
		/* Whatever began after the clear and before the stop is here; what was
		 * done before it is not. The two threads' numbers tell nothing of each
		 * other, but each one's run has no hole. */
		struct ts_events events = ts_read_until(trid, POSIX_TRACE_STOP);
		int64_t last[2] = {-1, -1};
		for (size_t j = 0; j < events.count; j++) {
			const struct ts_event *event = &events.at[j];
			if (event->info.posix_event_id != UNNAMED)
				continue;
			int who = pthread_equal(event->info.posix_thread_id, threads[1]) != 0;
			CHECK(pthread_equal(event->info.posix_thread_id, threads[who]));
			uint32_t number = ts_number(event);
			CHECK_EQ(event->len, 4 + number % 60);
			for (size_t k = 4; k < event->len; k++)
				CHECK_EQ(event->data[k], number & 0xff);
			CHECK_GE((int64_t)number, (int64_t)before[who] - 1);
			if (last[who] >= 0)
				CHECK_EQ(number, last[who] + 1);
			last[who] = number;
		}
		CHECK_EQ(ts_stop_reason(&events.at[events.count - 1]), 0);
		ts_start(trid);
	}
	for (int i = 0; i < 2; i++) {
		emitters[i].is_over = true;
		ts_join(threads[i]);
	}
}

struct clearer {
	trace_id_t trid;
	_Atomic pid_t tid;
	_Atomic bool is_over;
};

static void *clear_in_thread(void *arg)
{
	struct clearer *clearer = arg;
	clearer->tid = ts_gettid();
	ts_clear(clearer->trid);
	clearer->is_over = true;
	return NULL;
}

TEST(clear_waits_for_a_flush, "CLEAR-14 CLEAR-12 LOG-17", NEEDS_KEEPER)
{
	trace_attr_t attr = log_attr(POSIX_TRACE_UNTIL_FULL, SMALL, POSIX_TRACE_APPEND, 0);
	struct ts_stuck stuck;
	trace_id_t trid = ts_create_stuck(0, &attr, &stuck);

	ts_start(trid);
	emit_run(UNNAMED, 0, 80, 100);
	pthread_t flusher = begin_flush(&trid);
	struct clearer clearer = {.trid = trid};
	pthread_t thread = ts_thread(clear_in_thread, &clearer);
	CHECK_EVENTUALLY(clearer.tid != 0);
	ts_wait_asleep(getpid(), clearer.tid);
	CHECK(!clearer.is_over);
	ts_unstick(&stuck);
	CHECK_EQ((intptr_t)ts_join(flusher), 0);
	ts_join(thread);
	ts_shutdown(trid);
	/* What the flush had begun came through whole. */
	struct ts_events events = ts_log_events(ts_stuck_log(&stuck));
	ts_expect_numbers(&events, UNNAMED, 0, 79);
}

TEST(a_blocked_reader_stays_blocked, "CLEAR-15 GETNEXT-06")
{
	trace_id_t trid = ts_past_start(ts_run(POSIX_TRACE_LOOP, SMALL, 256));
	struct ts_reader reader;

	ts_reader_start(&reader, trid);
	for (int i = 0; i < 20; i++)
		ts_clear(trid);
	ts_wait_asleep(getpid(), reader.tid);
	CHECK(ts_reader_is_waiting(&reader));
	ts_emit(UNNAMED, 7);
	ts_reader_expect(&reader, 7);
}
