/* SPDX-License-Identifier: MIT */
/* posix_trace_get_status, posix_trace_get_attr. */
#include "tests/support/logs.h"

#define SMALL 16384
#define UNNAMED POSIX_TRACE_UNNAMED_USEREVENT

static trace_attr_t small_attr(int policy)
{
	return ts_attr(policy, SMALL, 256);
}

TEST(all_members_are_filled_in, "STATUS-01 STATUS-06 STATUS-10 STATUS-18 STATUS-21 STATUS-17",
     NEEDS_KEEPER)
{
	trace_attr_t attr = small_attr(POSIX_TRACE_LOOP);
	int fd = ts_temp_file();
	trace_id_t plain = ts_create(0, &attr), logged = ts_create_log(0, &attr, fd);

	/* ts_status() fills the structure with rubbish first. */
	expect_pristine(plain);
	expect_pristine(logged);
	ts_shutdown(logged);
	expect_pristine(ts_open_log(fd));
	/* Of a stream without log these stay. */
	ts_start(plain);
	ts_flood(SMALL, UNNAMED, 100, 0);
	struct posix_trace_status_info info = ts_status(plain);
	CHECK_EQ(info.posix_stream_full_status, POSIX_TRACE_FULL);
	CHECK_EQ(info.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	CHECK_EQ(info.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
	CHECK_EQ(info.posix_stream_flush_error, 0);
	CHECK_EQ(info.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ(info.posix_log_full_status, POSIX_TRACE_NOT_FULL);
}

TEST(a_full_loop_stream_runs_on, "STATUS-03 STATUS-05 STATUS-08 STATUS-11 STATUS-14 STATUS-26")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, SMALL, 256);

	uint32_t end = ts_fill(trid, SMALL, UNNAMED, 100, 0);
	struct posix_trace_status_info info = ts_status(trid);
	CHECK_EQ(info.posix_stream_status, POSIX_TRACE_RUNNING);
	CHECK_EQ(info.posix_stream_full_status, POSIX_TRACE_FULL);
	/* Going on overwrites. A call that fails resets nothing. */
	end = ts_flood(SMALL, UNNAMED, 100, end);
	CHECK_EQ(posix_trace_get_status(trid, NULL), EINVAL);
	ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_FULL, POSIX_TRACE_OVERRUN);
	ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_FULL, POSIX_TRACE_NO_OVERRUN);
	end = ts_flood(SMALL, UNNAMED, 100, end);
	ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_FULL, POSIX_TRACE_OVERRUN);

	/* Reading everything makes room, and the window has the newest. */
	struct ts_events events = ts_read_all(trid);
	CHECK_EQ(ts_number(&events.at[events.count - 1]), end - 1);
	ts_expect_running(trid);
	ts_emit(UNNAMED, end);
	ts_expect_running(trid);
	ts_fill(trid, SMALL, UNNAMED, 100, end);
	ts_clear(trid);
	ts_expect_running(trid);
}

TEST(a_loop_stream_is_full_as_soon_as_it_would_overwrite, "STATUS-08 STATUS-11 STATUS-03")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, SMALL, 256);
	size_t count = 0;

	/* Never OVERRUN before FULL: what was NOT_FULL had room for one more. */
	for (bool was_full = false;;) {
		/* The smallest one there is. */
		posix_trace_event(UNNAMED, NULL, 0);
		struct posix_trace_status_info info = ts_status(trid);
		bool is_full = info.posix_stream_full_status == POSIX_TRACE_FULL;
		if (info.posix_stream_overrun_status == POSIX_TRACE_OVERRUN) {
			CHECK(was_full);
			CHECK(is_full);
			break;
		}
		CHECK(is_full || !was_full);
		was_full = is_full;
		CHECK_LE(++count, 2 * SMALL + TS_SLACK_BYTES);
	}
	/* It tells the truth: something is gone. */
	struct ts_event event = ts_next(trid);
	CHECK_EQ(event.info.posix_event_id, POSIX_TRACE_OVERFLOW);
}

TEST(flushing_makes_room_in_a_logged_loop_stream, "STATUS-08 LOG-18 STATUS-11", NEEDS_KEEPER)
{
	trace_attr_t attr = small_attr(POSIX_TRACE_LOOP);
	int fd = ts_temp_file();
	trace_id_t trid = ts_create_log(0, &attr, fd);

	ts_start(trid);
	ts_fill(trid, SMALL, UNNAMED, 100, 0);
	/* Reading is a tee, it frees nothing. */
	ts_read_all(trid);
	CHECK_EQ(ts_status(trid).posix_stream_full_status, POSIX_TRACE_FULL);
	ts_flush(trid);
	ts_expect_running(trid);
	/* Read but not flushed is lost when it is overwritten. */
	uint32_t end = ts_fill(trid, SMALL, UNNAMED, 100, 0);
	ts_read_all(trid);
	ts_flood(SMALL, UNNAMED, 100, end);
	ts_expect_status(trid, POSIX_TRACE_RUNNING, POSIX_TRACE_FULL, POSIX_TRACE_OVERRUN);
	ts_shutdown(trid);
}

TEST(events_behind_a_full_log_are_an_overrun_of_the_stream,
     "STATUS-12 STATUS-14 STATUS-24 LOG-29 STARTSTOP-08 STARTSTOP-13", NEEDS_KEEPER)
{
	for (int policy = POSIX_TRACE_LOOP; policy <= POSIX_TRACE_FLUSH; policy++) {
		int fd = ts_temp_file();
		trace_id_t trid = start_log(policy, SMALL, POSIX_TRACE_UNTIL_FULL, 2000, fd);

		emit_run(UNNAMED, 0, 100, 16);
		ts_flush(trid);
		CHECK_EQ(ts_status(trid).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
		emit_run(UNNAMED, 100, 200, 16);
		ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL,
				 POSIX_TRACE_OVERRUN);
		CHECK_EQ(ts_figure(trid, "lost_events"), 100);
		ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL,
				 POSIX_TRACE_NO_OVERRUN);
		/* Stopped, they are none; nor once it is started again are they not. */
		ts_stop(trid);
		emit_run(UNNAMED, 200, 300, 16);
		ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL,
				 POSIX_TRACE_NO_OVERRUN);
		ts_start(trid);
		emit_run(UNNAMED, 300, 301, 16);
		ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL,
				 POSIX_TRACE_OVERRUN);
		CHECK_EQ(ts_figure(trid, "lost_events"), 101);
		ts_shutdown(trid);
		CHECK_EQ(log_status(fd).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	}
}

TEST(an_until_full_log_that_fills_up_when_stopped_loses_nothing, "STARTSTOP-13 STATUS-12 LOG-29",
     NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_id_t trid =
		start_log(POSIX_TRACE_UNTIL_FULL, SMALL, POSIX_TRACE_UNTIL_FULL, 2000, fd);

	emit_run(UNNAMED, 0, 100, 16);
	ts_stop(trid);
	ts_flush(trid);
	CHECK_EQ(ts_status(trid).posix_log_full_status, POSIX_TRACE_FULL);
	emit_run(UNNAMED, 100, 200, 16);
	CHECK_EQ(ts_status(trid).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ(ts_figure(trid, "lost_events"), 0);
	ts_shutdown(trid);
}

TEST(an_append_log_is_never_full, "STATUS-20", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_id_t trid = start_log(POSIX_TRACE_UNTIL_FULL, SMALL, POSIX_TRACE_APPEND, 1, fd);

	for (uint32_t i = 0; i < 20; i++) {
		emit_run(UNNAMED, 50 * i, 50 * (i + 1), 100);
		ts_flush(trid);
		expect_log_status(trid, POSIX_TRACE_NOT_FULL, POSIX_TRACE_NO_OVERRUN);
	}
	ts_shutdown(trid);
	expect_log_status(ts_open_log(fd), POSIX_TRACE_NOT_FULL, POSIX_TRACE_NO_OVERRUN);
}

TEST(every_loss_shows_once, "STATUS-15 STATUS-14 STATUS-12")
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, SMALL, 256);
	struct ts_emitter loser = {.id = UNNAMED};

	ts_fill(trid, SMALL, UNNAMED, 100, 0);
	pthread_t thread = ts_thread(ts_emit_on, &loser);
	for (int i = 0; i < 5000 && (i < 100 || harness_has_time()); i++) {
		int shown = 0;
		bool is_done;
		loser.allowed++;
		/* The loss comes at any time among these calls; the last begins when it
		 * has happened. */
		do {
			is_done = loser.done == loser.allowed;
			struct posix_trace_status_info info = ts_status(trid);
			shown += info.posix_stream_overrun_status == POSIX_TRACE_OVERRUN;
			if (!is_done && i % 2)
				sched_yield();
		} while (!is_done);
		CHECK_EQ(shown, 1);
	}
	loser.is_over = true;
	ts_join(thread);
}

TEST(a_log_has_the_status_its_stream_had, "STATUS-22 STATUS-23 STATUS-24", NEEDS_KEEPER)
{
	for (int lossy = 0; lossy < 2; lossy++) {
		int overrun = lossy ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
		int fd = ts_temp_file();
		trace_id_t trid = start_log(POSIX_TRACE_LOOP, SMALL, POSIX_TRACE_APPEND, 0, fd);
		ts_emit(UNNAMED, 1);
		if (lossy) {
			ts_flood(SMALL, UNNAMED, 100, 0);
			CHECK_EQ(ts_status(trid).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
			CHECK_EQ(ts_status(trid).posix_stream_overrun_status,
				 POSIX_TRACE_NO_OVERRUN);
		}
		trace_id_t log = ts_end_and_open_log(trid, fd);
		for (int i = 0; i < 3; i++) {
			struct posix_trace_status_info info = ts_status(log);
			CHECK_EQ(info.posix_stream_status, POSIX_TRACE_SUSPENDED);
			CHECK_EQ(info.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
			CHECK_EQ(info.posix_stream_overrun_status, overrun);
			CHECK_EQ(info.posix_stream_flush_error, 0);
			CHECK_EQ(info.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
			CHECK_EQ(info.posix_log_full_status, POSIX_TRACE_NOT_FULL);
		}
		/* Another opening says the same, and so does reading. */
		trace_id_t again = ts_open_log(fd);
		ts_read_log(again);
		CHECK_EQ(ts_status(again).posix_stream_overrun_status, overrun);
		ts_close_log(again);
		ts_close_log(log);
	}
}

TEST(clear_makes_the_log_forget_losses, "STATUS-24 CLEAR-06 CLEAR-10", NEEDS_KEEPER)
{
	for (int is_flushed = 0; is_flushed < 2; is_flushed++) {
		int fd = ts_temp_file();
		trace_id_t trid = start_log(POSIX_TRACE_LOOP, SMALL, POSIX_TRACE_APPEND, 0, fd);
		ts_flood(SMALL, UNNAMED, 100, 0);
		if (is_flushed)
			ts_flush(trid);
		ts_clear(trid);
		ts_emit(UNNAMED, 1);
		ts_shutdown(trid);
		CHECK_EQ(log_status(fd).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	}
}

struct poller {
	trace_id_t trid;
	_Atomic bool is_over;
	bool is_loop;
};

static void *poll_status(void *arg)
{
	struct poller *poller = arg;
	while (!poller->is_over) {
		struct posix_trace_status_info info = ts_status(poller->trid);
		bool is_full = info.posix_stream_full_status == POSIX_TRACE_FULL;
		bool is_running = info.posix_stream_status == POSIX_TRACE_RUNNING;
		if (poller->is_loop) {
			/* Only a full one loses events; and it stays full here. */
			if (info.posix_stream_overrun_status == POSIX_TRACE_OVERRUN)
				CHECK(is_full);
			CHECK(is_running);
		} else {
			/* Never stopped explicitly: full and stopped are one step. */
			CHECK_EQ(is_full, !is_running);
		}
	}
	return NULL;
}

TEST(all_members_are_of_one_moment, "STATUS-25 STATUS-05 STATUS-07 STATUS-04")
{
	for (int policy = POSIX_TRACE_LOOP; policy <= POSIX_TRACE_UNTIL_FULL; policy++) {
		trace_id_t trid = ts_run(policy, SMALL, 256);
		bool is_loop = policy == POSIX_TRACE_LOOP;
		struct poller poller = {.trid = trid, .is_loop = is_loop};
		pthread_t threads[2] = {ts_thread(poll_status, &poller),
					ts_thread(poll_status, &poller)};

		for (int round = 0; round < 100; round++) {
			ts_flood(SMALL, UNNAMED, 200, 0);
			if (!is_loop)
				ts_read_all(trid);
		}
		poller.is_over = true;
		ts_join(threads[0]);
		ts_join(threads[1]);
		ts_shutdown(trid);
	}
}

/*
 * Attributes of a stream
 */

/* Nothing of it is a default. */
static trace_attr_t peculiar_attr(int stream_policy)
{
	trace_attr_t attr = ts_attr(stream_policy, 12345, 77);
	CHECK_OK(posix_trace_attr_setname(&attr, "peculiar name"));
	CHECK_OK(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED));
	CHECK_OK(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL));
	CHECK_OK(posix_trace_attr_setlogsize(&attr, 54321));
	return attr;
}

static void expect_peculiar(const trace_attr_t *attr, int stream_policy)
{
	trace_attr_t fresh = ts_attr(0, 0, 77);
	struct ts_values v = ts_values(attr), of_fresh = ts_values(&fresh);
	struct timespec clock;

	CHECK_STR_EQ(v.name, "peculiar name");
	CHECK_STR_EQ(v.version, of_fresh.version);
	CHECK_EQ(v.inherited, POSIX_TRACE_INHERITED);
	CHECK_EQ(v.log_policy, POSIX_TRACE_UNTIL_FULL);
	CHECK_EQ(v.stream_policy, stream_policy);
	CHECK_EQ(v.log_bytes, 54321);
	CHECK_EQ(v.data_bytes, 77);
	CHECK_EQ(v.stream_bytes, 12345);
	CHECK_SYS(clock_getres(CLOCK_REALTIME, &clock));
	CHECK_EQ(v.clock_ns, ts_time_ns(&clock));
	CHECK_LE(v.created_ns, ts_realtime_ns());
	CHECK_GE(v.created_ns, ts_realtime_ns() - 100000000000);
	CHECK_EQ(v.system_bytes, of_fresh.system_bytes);
	CHECK_EQ(ts_user_bytes(attr, 1000), ts_user_bytes(&fresh, 1000));
}

/* The attributes of a stream or log; they are the peculiar ones. */
static trace_attr_t get_peculiar(trace_id_t trid, int stream_policy)
{
	trace_attr_t got;

	CHECK_OK(posix_trace_get_attr(trid, &got));
	expect_peculiar(&got, stream_policy);
	return got;
}

static trace_id_t create_peculiar(int stream_policy)
{
	trace_attr_t attr = peculiar_attr(stream_policy);
	return ts_create(0, &attr);
}

TEST(a_log_has_the_attributes_of_its_stream,
     "ATTRGET-02 ATTRGET-01 CLOCK-04 NAME-07 GENVERSION-04 LOG-36", NEEDS_KEEPER)
{
	trace_attr_t attr = peculiar_attr(POSIX_TRACE_FLUSH);
	int fd = ts_temp_file();
	trace_id_t trid = ts_create_log(0, &attr, fd);
	trace_attr_t of_stream = get_peculiar(trid, POSIX_TRACE_FLUSH);
	trace_id_t log = ts_end_and_open_log(trid, fd);
	trace_attr_t of_log = get_peculiar(log, POSIX_TRACE_FLUSH);

	CHECK_EQ(ts_values(&of_stream).created_ns, ts_values(&of_log).created_ns);
	/* Also when reading has gone on. */
	ts_read_log(log);
	get_peculiar(log, POSIX_TRACE_FLUSH);
}

static void expect_created(trace_id_t trid, int64_t created_ns)
{
	trace_attr_t got = get_peculiar(trid, POSIX_TRACE_UNTIL_FULL);
	CHECK_EQ(ts_values(&got).created_ns, created_ns);
}

TEST(attributes_can_be_had_in_any_state, "ATTRGET-03 CLOCK-05")
{
	trace_id_t trid = create_peculiar(POSIX_TRACE_UNTIL_FULL);
	int64_t created_ns = ts_values_of(trid).created_ns;

	ts_start(trid);
	expect_created(trid, created_ns);
	ts_clear(trid);
	expect_created(trid, created_ns);
	ts_fill(trid, 12345, UNNAMED, 77, 0);
	expect_created(trid, created_ns);
	ts_next(trid);
	expect_created(trid, created_ns);
	ts_stop(trid);
	expect_created(trid, created_ns);
	ts_clear(trid);
	expect_created(trid, created_ns);
	ts_start(trid);
	expect_created(trid, created_ns);
}

TEST(the_copy_is_independent_of_the_stream,
     "ATTRGET-01 ATTRGET-04 ATTRGET-06 ATTR-13 ATTR-16 NAME-07 POLICY-26 SIZE-23")
{
	trace_id_t trid = create_peculiar(POSIX_TRACE_LOOP);
	trace_attr_t got = get_peculiar(trid, POSIX_TRACE_LOOP), again;

	CHECK_OK(posix_trace_attr_setname(&got, "another name"));
	CHECK_OK(posix_trace_attr_setmaxdatasize(&got, 1));
	CHECK_OK(posix_trace_attr_setinherited(&got, POSIX_TRACE_CLOSE_FOR_CHILD));
	again = get_peculiar(trid, POSIX_TRACE_LOOP);
	CHECK_OK(posix_trace_attr_destroy(&got));
	ts_shutdown(trid);
	/* It outlives the stream and can make another. */
	expect_peculiar(&again, POSIX_TRACE_LOOP);
	got = get_peculiar(ts_create(0, &again), POSIX_TRACE_LOOP);
	CHECK_OK(posix_trace_attr_destroy(&got));
	CHECK_OK(posix_trace_attr_destroy(&again));
}

TEST(any_storage_receives_the_attributes, "ATTRGET-05")
{
	trace_id_t trid = create_peculiar(POSIX_TRACE_LOOP);
	trace_attr_t got;

	for (int filler = 0; filler < 256; filler += 51) {
		memset(&got, filler, sizeof(got));
		for (int is_reused = 0; is_reused < 2; is_reused++) {
			CHECK_OK(posix_trace_get_attr(trid, &got));
			expect_peculiar(&got, POSIX_TRACE_LOOP);
			CHECK_OK(posix_trace_attr_destroy(&got));
		}
		CHECK_OK(posix_trace_attr_init(&got));
	}
	CHECK_OK(posix_trace_get_attr(trid, &got));
	expect_peculiar(&got, POSIX_TRACE_LOOP);
	CHECK_EQ(posix_trace_get_attr(trid, NULL), EINVAL);
}
