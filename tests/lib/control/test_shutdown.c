/* SPDX-License-Identifier: MIT */
/* posix_trace_shutdown. */
#include "tests/support/logs.h"

#define SMALL 16384
#define UNNAMED POSIX_TRACE_UNNAMED_USEREVENT

static trace_attr_t append_attr(int policy)
{
	return log_attr(policy, SMALL, POSIX_TRACE_APPEND, 0);
}

/* test_errors has what all the other functions say. */
static void expect_invalid(trace_id_t trid)
{
	struct posix_trace_status_info status;

	CHECK_EQ(posix_trace_start(trid), EINVAL);
	CHECK_EQ(posix_trace_flush(trid), EINVAL);
	CHECK_EQ(posix_trace_shutdown(trid), EINVAL);
	CHECK_EQ(posix_trace_get_status(trid, &status), EINVAL);
	CHECK_EQ(posix_trace_close(trid), EINVAL);
}

TEST(streams_end_with_and_without_a_log, "SHUTDOWN-01 SHUTDOWN-02 SHUTDOWN-03", NEEDS_KEEPER)
{
	for (int is_logged = 0; is_logged < 2; is_logged++) {
		for (int state = 0; state < 4; state++) {
			trace_attr_t attr = append_attr(POSIX_TRACE_UNTIL_FULL);
			int fd = ts_temp_file();
			trace_id_t trid =
				is_logged ? ts_create_log(0, &attr, fd) : ts_create(0, &attr);
			if (state > 0)
				ts_start(trid);
			if (state == 2)
				ts_stop(trid);
			if (state == 3)
				ts_fill(trid, SMALL, UNNAMED, 100, 0);
			CHECK_EQ(posix_trace_shutdown(trid), 0);
			expect_invalid(trid);
			/* Nor does it become valid with the next. */
			trace_id_t other = ts_create(0, &attr);
			expect_invalid(trid);
			ts_shutdown(other);
			expect_invalid(trid);
			ts_emit(UNNAMED, 1);
			close(fd);
		}
	}
}

TEST(unread_events_do_not_hold_it_up, "SHUTDOWN-05")
{
	struct ts_target target = ts_target_fork();
	trace_id_t trid = ts_run_of(target.pid, POSIX_TRACE_LOOP, SMALL, 256);

	for (uint32_t i = 0; i < 100; i++)
		ts_target_emit(&target, UNNAMED, i);
	ts_shutdown(trid);
	expect_invalid(trid);
	/* A new one has none of them. */
	trid = ts_make_of(target.pid, POSIX_TRACE_LOOP, SMALL, 256);
	ts_expect_none(trid);
	ts_start(trid);
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect_none(trid);
	ts_target_end(&target);
}

TEST(the_log_is_complete_when_it_returns,
     "SHUTDOWN-07 SHUTDOWN-08 SHUTDOWN-09 STATUS-23 LOG-36 OPEN-11", NEEDS_KEEPER)
{
	for (int policy = POSIX_TRACE_LOOP; policy <= POSIX_TRACE_FLUSH; policy++) {
		for (int times = 0; times < 5; times++) {
			int fd = ts_temp_file();
			trace_id_t trid = start_log(policy, SMALL, POSIX_TRACE_APPEND, 0, fd);
			emit_run(UNNAMED, 0, 40, 64);
			if (times % 2)
				ts_flush(trid);
			emit_run(UNNAMED, 40, 80, 64);
			CHECK_EQ(posix_trace_shutdown(trid), 0);

			expect_complete_log(fd, UNNAMED, 80);
			struct ts_events all = ts_log_events(fd);
			ssize_t stop = ts_find(&all, POSIX_TRACE_STOP, 0);
			CHECK_EQ(all.at[stop].info.posix_pid, getpid());
			/* No process writes to it any more. */
			CHECK_EQ(other_holder(fd, getppid()), 0);
			close(fd);
		}
	}
}

TEST(a_suspended_stream_gets_no_further_stop, "SHUTDOWN-09", NEEDS_KEEPER)
{
	trace_attr_t attr = append_attr(POSIX_TRACE_UNTIL_FULL);
	int fd = ts_temp_file();
	trace_id_t trid = ts_create_log(0, &attr, fd);

	ts_start(trid);
	ts_emit(UNNAMED, 1);
	ts_stop(trid);
	struct ts_events all = ts_end_log(trid, fd), events = without_markers(&all);
	ts_expect_ids(&events, POSIX_TRACE_START, UNNAMED, POSIX_TRACE_STOP, 0U);
	CHECK_EQ(ts_stop_reason(&events.at[2]), 0);

	/* Never started: nothing to stop. */
	trid = ts_create_log(0, &attr, fd);
	all = ts_end_log(trid, fd);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_STOP), 0);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_START), 0);

	/* Stopped for being full: that STOP is the only one. */
	trid = ts_create_log(0, &attr, fd);
	ts_start(trid);
	ts_fill(trid, SMALL, UNNAMED, 100, 0);
	all = ts_end_log(trid, fd);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_STOP), 1);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_START), 1);
	CHECK_EQ(ts_stop_reason(&all.at[ts_find(&all, POSIX_TRACE_STOP, 0)]), 1);
}

TEST(a_failed_last_flush_is_reported_and_frees_all_the_same, "SHUTDOWN-10 LOG-22 SHUTDOWN-03",
     NEEDS_KEEPER)
{
	trace_attr_t attr = append_attr(POSIX_TRACE_UNTIL_FULL);
	int fd = ts_temp_file();
	trace_id_t trid = ts_create_log(0, &attr, fd);

	ts_start(trid);
	emit_run(UNNAMED, 0, 5, 100);
	ts_flush(trid);
	emit_run(UNNAMED, 5, 100, 100);
	limit_file_size((rlim_t)ts_file_size(fd) + 16);
	CHECK_EQ(posix_trace_shutdown(trid), EFBIG);
	limit_file_size(RLIM_INFINITY);
	expect_invalid(trid);
	/* What had come to the log is there, in order. */
	struct ts_events events = ts_log_events(fd);
	size_t count = ts_count(&events, UNNAMED);
	CHECK_GE(count, 5);
	ts_expect_numbers(&events, UNNAMED, 0, (uint32_t)count - 1);

	/* It takes no slot, however often. */
	for (int i = 0; i < TRACE_SYS_MAX + 5; i++) {
		trid = ts_create_log(0, &attr, fd);
		ts_start(trid);
		emit_run(UNNAMED, 0, 20, 100);
		limit_file_size((rlim_t)ts_file_size(fd) + 16);
		CHECK_EQ(posix_trace_shutdown(trid), EFBIG);
		limit_file_size(RLIM_INFINITY);
	}
}

static pthread_barrier_t race;

static void *shut_down_in_a_race(void *arg)
{
	pthread_barrier_wait(&race);
	return (void *)(intptr_t)posix_trace_shutdown(*(trace_id_t *)arg);
}

TEST(of_two_threads_one_does_it, "SHUTDOWN-12", NEEDS_KEEPER)
{
	pthread_barrier_init(&race, NULL, 2);
	for (int i = 0; i < 60; i++) {
		trace_attr_t attr = append_attr(POSIX_TRACE_UNTIL_FULL);
		int fd = ts_temp_file();
		trace_id_t trid = i % 3 ? ts_create(0, &attr) : ts_create_log(0, &attr, fd);
		ts_start(trid);
		pthread_t threads[2];
		intptr_t results[2];
		for (int j = 0; j < 2; j++)
			threads[j] = ts_thread(shut_down_in_a_race, &trid);
		for (int j = 0; j < 2; j++)
			results[j] = (intptr_t)ts_join(threads[j]);
		CHECK(results[0] == 0 || results[1] == 0);
		CHECK_EQ(results[0] + results[1], EINVAL);
		close(fd);
	}
}

/* Waits until so many events have been recorded. */
static void await_done(const struct ts_emitter *emitter, uint32_t events)
{
	for (int64_t begin_ns = harness_now_ns(); emitter->done < events; sched_yield())
		CHECK_LT(harness_now_ns() - begin_ns, harness_patience_ms() * 1000000);
}

/* A process that records all the time. */
static pid_t begin_emitter(struct ts_emitter *emitter)
{
	emitter->id = UNNAMED;
	emitter->is_over = false;
	emitter->allowed = UINT32_MAX;
	return ts_process(ts_emit_on, emitter);
}

TEST(traced_processes_and_their_other_streams_go_on, "SHUTDOWN-13 EVENT-24")
{
	struct ts_emitter *emitter = harness_share(sizeof(*emitter));
	uint32_t due = 0;

	emitter->id = UNNAMED;
	pid_t pid = ts_process(ts_emit_on, emitter);
	trace_id_t lasting = ts_past_start(ts_run_of(pid, POSIX_TRACE_UNTIL_FULL, 1 << 20, 256));
	for (int i = 0; i < 60; i++) {
		uint32_t seen = emitter->done;
		emitter->allowed += 2000;
		trace_id_t other = ts_run_of(pid, POSIX_TRACE_LOOP, SMALL, 256);
		await_done(emitter, seen + 20);
		ts_shutdown(other);
		await_done(emitter, emitter->allowed);
		struct ts_events events = ts_read_numbers(lasting, UNNAMED, due, due + 1999);
		CHECK_EQ(events.count, 2000);
		due += 2000;
	}
	ts_shutdown(lasting);
	emitter->allowed = UINT32_MAX;
	await_done(emitter, emitter->done + 100);
	emitter->is_over = true;
	CHECK_EXIT(pid, 0);
}

TEST(it_does_not_wait_for_a_stopped_or_dead_process, "SHUTDOWN-14 SHUTDOWN-08 EVENT-23",
     NEEDS_KEEPER)
{
	struct ts_emitter *emitter = harness_share(sizeof(*emitter));

	for (int i = 0; i < 40; i++) {
		bool has_log = i % 2, is_dead = i % 4 > 1;
		trace_attr_t attr =
			append_attr(i % 8 > 3 ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL);
		int fd = ts_temp_file();
		pid_t pid = begin_emitter(emitter);
		trace_id_t trid = has_log ? ts_create_log(pid, &attr, fd) : ts_create(pid, &attr);

		ts_start(trid);
		await_done(emitter, emitter->done + 20);
		/* Anywhere: in the middle of recording, too. */
		if (is_dead)
			harness_kill(pid);
		else
			harness_stop(pid);
		ts_shutdown(trid);
		if (has_log) {
			struct ts_events all = ts_log_events(fd);
			ts_expect_sorted(&all);
		}
		close(fd);
		if (is_dead)
			continue;
		/* It goes on as if nothing had happened. */
		kill(pid, SIGCONT);
		await_done(emitter, emitter->done + 20);
		emitter->is_over = true;
		CHECK_EXIT(pid, 0);
	}
}
