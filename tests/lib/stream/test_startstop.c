/* SPDX-License-Identifier: MIT */
/* posix_trace_start, posix_trace_stop. */
#include "tests/support/logs.h"

#include "tests/support/slow_page.h"

#include <sys/ptrace.h>

#define SMALL 16384
#define UNNAMED POSIX_TRACE_UNNAMED_USEREVENT

static void expect_stop(trace_id_t trid, int reason)
{
	struct ts_event event = ts_expect(trid, POSIX_TRACE_STOP);
	CHECK_EQ(ts_stop_reason(&event), reason);
}

TEST(start_makes_a_suspended_stream_run_and_stop_suspends_it,
     "STARTSTOP-01 STARTSTOP-04 SYSEVENT-01 SYSEVENT-02 SYSEVENT-13 STATUS-02 STATUS-04 STATUS-06")
{
	for (int policy = POSIX_TRACE_LOOP; policy <= POSIX_TRACE_UNTIL_FULL; policy++) {
		trace_id_t trid = ts_make(policy, SMALL, 256);
		ts_expect_suspended(trid);
		CHECK_EQ(posix_trace_start(trid), 0);
		ts_expect_running(trid);
		ts_expect(trid, POSIX_TRACE_START);
		ts_expect_none(trid);
		ts_emit(UNNAMED, 1);
		CHECK_EQ(posix_trace_stop(trid), 0);
		ts_expect_suspended(trid);
		ts_emit(UNNAMED, 2);
		ts_expect_number(trid, UNNAMED, 1);
		expect_stop(trid, 0);
		ts_expect_none(trid);
		ts_shutdown(trid);
	}
}

TEST(start_of_a_full_flush_stream_does_nothing, "STARTSTOP-03 STATUS-13 STARTSTOP-14", NEEDS_KEEPER)
{
	trace_attr_t attr = log_attr(POSIX_TRACE_FLUSH, SMALL, POSIX_TRACE_APPEND, 0);
	struct ts_stuck stuck;

	/* A log that takes nothing more: the stream fills and stays so. */
	trace_id_t trid = ts_create_stuck(0, &attr, &stuck);
	ts_start(trid);
	struct posix_trace_status_info info;
	uint32_t count = 0;
	do {
		count = ts_flood(SMALL, UNNAMED, 100, count);
		info = ts_status(trid);
	} while (info.posix_stream_full_status != POSIX_TRACE_FULL ||
		 info.posix_stream_status != POSIX_TRACE_SUSPENDED);
	/* Full for good: the device is stuck, and what was lost is reported. */
	ts_emit(UNNAMED, count);
	ts_status(trid);
	CHECK_EQ(posix_trace_start(trid), 0);
	ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL, POSIX_TRACE_NO_OVERRUN);
	ts_emit(UNNAMED, count);
	ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL, POSIX_TRACE_OVERRUN);
	ts_unstick(&stuck);
	CHECK_EVENTUALLY(ts_status(trid).posix_stream_status == POSIX_TRACE_RUNNING);
	ts_shutdown(trid);
	/* The thread that empties the pipe ends before the function. */
	close(ts_stuck_log(&stuck));
}

/* Readers take the time until a restart by itself for recorded, if no event was lost. */
TEST(the_restart_of_a_full_stream_says_whether_a_call_had_stopped_it, "STARTSTOP-08 POLICY-20")
{
	for (int is_called = 0; is_called <= 1; is_called++) {
		for (int is_read = 0; is_read <= is_called; is_read++) {
			trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, SMALL, 256);
			struct ts_event event;

			ts_fill(trid, SMALL, UNNAMED, 100, 0);
			if (is_called)
				ts_stop(trid);
			if (is_called && !is_read)
				ts_start(trid);
			do
				event = ts_next(trid);
			while (event.info.posix_event_id != POSIX_TRACE_STOP);
			CHECK_EQ(ts_stop_reason(&event), 1);
			if (is_read) {
				ts_expect_none(trid);
				ts_start(trid);
			}
			event = ts_expect(trid, POSIX_TRACE_START);
			CHECK_EQ(event.info.posix_pid, is_called ? getpid() : 0);
			ts_shutdown(trid);
		}
	}
}

TEST(start_of_a_running_stream_and_stop_of_a_suspended_one_do_nothing, "STARTSTOP-02 STARTSTOP-05")
{
	trace_id_t trid = ts_make(POSIX_TRACE_UNTIL_FULL, SMALL, 256);

	CHECK_EQ(posix_trace_stop(trid), 0);
	ts_expect_suspended(trid);
	ts_expect_none(trid);
	ts_start(trid);
	ts_emit(UNNAMED, 1);
	CHECK_EQ(posix_trace_start(trid), 0);
	CHECK_EQ(posix_trace_start(trid), 0);
	ts_expect_running(trid);
	ts_emit(UNNAMED, 2);
	ts_stop(trid);
	CHECK_EQ(posix_trace_stop(trid), 0);
	CHECK_EQ(posix_trace_stop(trid), 0);
	ts_expect_suspended(trid);
	ts_read_ids(trid, POSIX_TRACE_START, UNNAMED, UNNAMED, POSIX_TRACE_STOP, 0U);
}

TEST(stop_and_start_work_on_a_full_loop_stream,
     "STARTSTOP-06 STARTSTOP-07 STARTSTOP-10 STATUS-05 STATUS-07 POLICY-14")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, SMALL, 256);

	uint32_t end = ts_fill(trid, SMALL, UNNAMED, 100, 0);
	ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_FULL, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ(posix_trace_stop(trid), 0);
	CHECK_EQ(ts_status(trid).posix_stream_status, POSIX_TRACE_SUSPENDED);
	ts_emit(UNNAMED, 4711);
	CHECK_EQ(posix_trace_start(trid), 0);
	CHECK_EQ(ts_status(trid).posix_stream_status, POSIX_TRACE_RUNNING);
	uint32_t second_end = ts_fill(trid, SMALL, UNNAMED, 100, end);
	CHECK_EQ(posix_trace_stop(trid), 0);
	CHECK_EQ(posix_trace_start(trid), 0);
	ts_emit(UNNAMED, second_end);

	/* The newest are there: what came last, in order. */
	struct ts_events events = ts_read_all(trid);
	CHECK_GT(events.count, 20);
	const struct ts_event *last = &events.at[events.count - 1];
	CHECK_EQ(last->info.posix_event_id, UNNAMED);
	CHECK_EQ(ts_number(last), second_end);
	CHECK_EQ(last[-1].info.posix_event_id, POSIX_TRACE_START);
	CHECK_EQ(ts_stop_reason(&last[-2]), 0);
	CHECK_EQ(ts_number(&last[-3]), second_end - 1);
	for (size_t i = 0; i < events.count; i++)
		if (events.at[i].info.posix_event_id == UNNAMED)
			CHECK_NE(ts_number(&events.at[i]), 4711);
}

TEST(stop_calls_off_the_automatic_restart, "STARTSTOP-08 STARTSTOP-13")
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, SMALL, 256);

	ts_fill(trid, SMALL, UNNAMED, 100, 0);
	CHECK_EQ(posix_trace_stop(trid), 0);
	ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL, POSIX_TRACE_NO_OVERRUN);
	/* No loss: it is stopped because somebody wants it so. */
	ts_emit(UNNAMED, 4711);
	ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL, POSIX_TRACE_NO_OVERRUN);
	struct ts_events events = ts_read_all(trid);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_START), 1);
	CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
	CHECK_EQ(ts_stop_reason(&events.at[events.count - 1]), 1);
	/* It was the last, and nothing started. */
	CHECK_EQ(ts_status(trid).posix_stream_status, POSIX_TRACE_SUSPENDED);
	ts_emit(UNNAMED, 4712);
	ts_expect_none(trid);

	ts_start(trid);
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect_running(trid);
	ts_emit(UNNAMED, 1);
	ts_expect(trid, UNNAMED);
}

TEST(start_of_a_full_until_full_stream_leaves_it_to_restart_itself,
     "STARTSTOP-03 STARTSTOP-08 POLICY-15 POLICY-19 STATUS-07")
{
	/* A stop calls the restart off; the start arms it again. */
	for (int is_stopped = 0; is_stopped < 2; is_stopped++) {
		trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, SMALL, 256);

		ts_fill(trid, SMALL, UNNAMED, 100, 0);
		ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL,
				 POSIX_TRACE_NO_OVERRUN);
		if (is_stopped)
			ts_stop(trid);
		CHECK_EQ(posix_trace_start(trid), 0);
		ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL,
				 POSIX_TRACE_NO_OVERRUN);
		ts_emit(UNNAMED, 4711);
		ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL,
				 POSIX_TRACE_OVERRUN);
		/* START, events, one automatic STOP, and START as it is empty now. */
		struct ts_events events = ts_read_all(trid);
		uint32_t count = (uint32_t)events.count - 3;
		CHECK_EQ(id_at(&events, 0), POSIX_TRACE_START);
		ts_expect_numbers(&events, UNNAMED, 0, count - 1);
		CHECK_EQ(ts_stop_reason(&events.at[count + 1]), 1);
		CHECK_EQ(id_at(&events, count + 2), POSIX_TRACE_START);
		ts_expect_running(trid);
		ts_shutdown(trid);
	}
}

TEST(a_start_without_room_leaves_the_stream_full, "STARTSTOP-09 STARTSTOP-10")
{
	trace_id_t trid = ts_make(POSIX_TRACE_UNTIL_FULL, SMALL, 256);
	size_t starts = 0, bytes = 0;

	/* START is big: it is what runs out of room, if nothing else is recorded. */
	for (;;) {
		CHECK_EQ(posix_trace_start(trid), 0);
		struct posix_trace_status_info info = ts_status(trid);
		if (info.posix_stream_full_status == POSIX_TRACE_FULL) {
			CHECK_EQ(info.posix_stream_status, POSIX_TRACE_SUSPENDED);
			break;
		}
		CHECK_EQ(info.posix_stream_status, POSIX_TRACE_RUNNING);
		CHECK_EQ(posix_trace_stop(trid), 0);
		starts++;
		bytes += sizeof(trace_event_set_t);
		CHECK_LE(bytes, 2 * SMALL + TS_SLACK_BYTES);
	}
	CHECK_GT(starts, 10);
	/* Every STOP is there, explicit. */
	for (size_t i = 0; i < starts; i++) {
		ts_expect(trid, POSIX_TRACE_START);
		expect_stop(trid, 0);
	}
	/* And with room again it starts by itself. */
	struct ts_event event = ts_next(trid);
	if (event.info.posix_event_id == POSIX_TRACE_STOP) {
		CHECK_NE(ts_stop_reason(&event), 0);
		event = ts_next(trid);
	}
	CHECK_EQ(event.info.posix_event_id, POSIX_TRACE_START);
	ts_expect_running(trid);
	ts_emit(UNNAMED, 1);
	ts_expect(trid, UNNAMED);
}

TEST(start_and_stop_hold_from_their_return_on, "STARTSTOP-11 STARTSTOP-12")
{
	enum { CYCLES = 60, EVENTS = 1000 };
	struct ts_emitter *progress = harness_share(sizeof(*progress));
	size_t recorded = 0;

	progress->id = UNNAMED;
	pid_t pid = ts_process(ts_emit_on, progress);
	trace_id_t trid = ts_make_of(pid, POSIX_TRACE_UNTIL_FULL, 1 << 20, 64);
	for (int cycle = 0; cycle < CYCLES; cycle++) {
		uint32_t before_start = progress->done;
		progress->allowed += EVENTS;
		while (progress->done < before_start + 50)
			sched_yield();
		ts_start(trid);
		uint32_t started = progress->begun;
		while (progress->done < started + 200 && progress->done < progress->allowed)
			sched_yield();
		uint32_t before_stop = progress->done;
		ts_stop(trid);
		uint32_t stopped = progress->begun;
		while (progress->done < progress->allowed)
			sched_yield();

		struct ts_events events = ts_read_all(trid);
		CHECK_GE(events.count, 2);
		CHECK_EQ(events.at[0].info.posix_event_id, POSIX_TRACE_START);
		CHECK_EQ(ts_stop_reason(&events.at[events.count - 1]), 0);
		size_t count = events.count - 2;
		CHECK_EQ(ts_count(&events, UNNAMED), count);
		/* No hole, nothing from before the start or after the stop; all of what
		 * began after the one and was done before the other. */
		if (before_stop > started) {
			CHECK_GE(count, before_stop - started);
			CHECK_LE(ts_number(&events.at[1]), started);
			CHECK_GE(ts_number(&events.at[count]), before_stop - 1);
		}
		if (count) {
			uint32_t first = ts_number(&events.at[1]);
			CHECK_GE(first, before_start);
			ts_expect_numbers(&events, UNNAMED, first, first + (uint32_t)count - 1);
			CHECK_LT(ts_number(&events.at[count]), stopped);
		}
		recorded += count;
		ts_expect_suspended(trid);
	}
	CHECK_GT(recorded, 0);
	progress->is_over = true;
	CHECK_EXIT(pid, 0);
}

TEST(no_event_is_reported_between_stop_and_start, "STARTSTOP-12 STARTSTOP-11 GETNEXT-03")
{
	enum { THREADS = 3, CYCLES = 150 };
	struct ts_emitter progress[THREADS];
	pthread_t threads[THREADS];

	trace_id_t trid = ts_make(POSIX_TRACE_LOOP, 4 << 20, 64);
	for (int i = 0; i < THREADS; i++) {
		progress[i] = (struct ts_emitter){.id = UNNAMED, .allowed = 15000};
		threads[i] = ts_thread(ts_emit_on, &progress[i]);
	}
	for (int cycle = 0; cycle < CYCLES; cycle++) {
		struct ts_emitter *one = &progress[cycle % THREADS];
		uint32_t seen = one->done;
		ts_start(trid);
		while (one->done < seen + 10 && one->done < one->allowed)
			sched_yield();
		ts_stop(trid);
	}
	for (int i = 0; i < THREADS; i++) {
		progress[i].is_over = true;
		ts_join(threads[i]);
	}
	struct ts_events events = ts_read_all(trid);
	ts_expect_sorted(&events);
	bool is_running = false;
	int starts = 0;
	for (size_t i = 0; i < events.count; i++) {
		trace_event_id_t id = events.at[i].info.posix_event_id;
		bool is_start = id == POSIX_TRACE_START;

		CHECK_EQ(is_running, !is_start);
		CHECK(is_start || id == POSIX_TRACE_STOP || id == UNNAMED);
		is_running = id != POSIX_TRACE_STOP;
		starts += is_start;
	}
	CHECK_EQ(starts, CYCLES);
	CHECK(!is_running);
}

TEST(events_while_suspended_are_no_losses, "STARTSTOP-13")
{
	for (int policy = POSIX_TRACE_LOOP; policy <= POSIX_TRACE_UNTIL_FULL; policy++) {
		trace_id_t trid = ts_make(policy, SMALL, 256);
		ts_flood(SMALL, UNNAMED, 100, 0);
		ts_expect_suspended(trid);
		ts_start(trid);
		ts_stop(trid);
		ts_flood(SMALL, UNNAMED, 100, 0);
		ts_expect_suspended(trid);
		ts_read_ids(trid, POSIX_TRACE_START, POSIX_TRACE_STOP, 0U);
	}
}

struct slow_event {
	struct slow_page page;
	trace_event_id_t id;
};

static void *emit_slowly(void *arg)
{
	const struct slow_event *event = (const struct slow_event *)arg;

	posix_trace_event(event->id, event->page.data, sizeof(uint32_t));
	return NULL;
}

/* Where the kernel has no membarrier: who had seen the stream run is waited for, 100 ms at
 * most. */
TEST(stop_waits_for_an_event_at_work, "STARTSTOP-11 STARTSTOP-12")
{
	static const uint32_t number = 7;
	struct slow_event event = {slow_page_make(), ts_id("slow")};

	CHECK_SYS(setenv("POSIXTRACE_FENCE", "1", 1));
	trace_id_t trid = ts_create_running(0, NULL);
	pthread_t thread = ts_thread(emit_slowly, &event);
	slow_page_wait(&event.page);
	int64_t begin = harness_now_ns();
	ts_stop(trid);
	CHECK_GE(harness_now_ns() - begin, 90000000);
	slow_page_fill(&event.page, &number, sizeof(number));
	ts_join(thread);
	/* It began before. */
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect(trid, event.id);
	expect_stop(trid, 0);
	ts_shutdown(trid);
}

#ifdef __x86_64__

/* A controller is stopped at instructions of its call, and the process that it traces records an event
 * at each of these moments. */
TEST(no_event_follows_STOP_wherever_the_call_has_got_to, "STARTSTOP-11 STARTSTOP-12")
{
	volatile bool *is_over = harness_share(sizeof(*is_over));
	pid_t target = getpid(), pid = harness_fork();
	uint32_t steps = 0;
	int status;

	if (pid == 0) {
		trace_id_t trid = ts_run_of(target, POSIX_TRACE_UNTIL_FULL, 1 << 20, 64);

		CHECK_SYS(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		__asm__ volatile("int3" ::: "memory");
		ts_stop(trid);
		*is_over = true;
		struct ts_events events = ts_read_all(trid);
		NOTE("%zu events", events.count);
		CHECK_GT(events.count, 100);
		CHECK_EQ(ts_count(&events, POSIX_TRACE_STOP), 1);
		CHECK_EQ(events.at[events.count - 1].info.posix_event_id, POSIX_TRACE_STOP);
		ts_shutdown(trid);
		_exit(0);
	}
	CHECK_SYS(waitpid(pid, &status, 0));
	for (; !*is_over; steps++) {
		CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
		if (steps % 4 == 0)
			ts_emit(UNNAMED, steps);
		CHECK_SYS(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
		CHECK_SYS(waitpid(pid, &status, 0));
	}
	CHECK_SYS(ptrace(PTRACE_DETACH, pid, NULL, NULL));
	CHECK_EXIT(pid, 0);
}

#endif
