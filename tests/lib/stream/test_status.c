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
}

TEST(running_means_accepting_events, "STATUS-02 STATUS-04 STATUS-06")
{
	trace_id_t trid = ts_make(POSIX_TRACE_UNTIL_FULL, SMALL, 256);

	ts_expect_suspended(trid);
	ts_start(trid);
	ts_expect_running(trid);
	ts_emit(UNNAMED, 1);
	ts_expect_running(trid);
	ts_stop(trid);
	ts_expect_suspended(trid);
	ts_start(trid);
	ts_clear(trid);
	ts_expect_running(trid);
	ts_stop(trid);
	ts_clear(trid);
	ts_expect_suspended(trid);
}

TEST(a_full_loop_stream_runs_on, "STATUS-03 STATUS-05 STATUS-08 STATUS-11 STATUS-14")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, SMALL, 256);

	uint32_t end = ts_fill(trid, SMALL, UNNAMED, 100, 0);
	struct posix_trace_status_info info = ts_status(trid);
	CHECK_EQ(info.posix_stream_status, POSIX_TRACE_RUNNING);
	CHECK_EQ(info.posix_stream_full_status, POSIX_TRACE_FULL);
	/* Going on overwrites. */
	end = ts_flood(SMALL, UNNAMED, 100, end);
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

TEST(overwriting_what_was_read_is_no_loss, "STATUS-11 GETNEXT-05")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, SMALL, 256);
	uint32_t number = 0;

	for (int round = 0; round < 60; round++) {
		for (int i = 0; i < 20; i++)
			ts_emit(UNNAMED, number++);
		struct ts_events events = ts_read_all(trid);
		ts_expect_numbers(&events, UNNAMED, number - 20, number - 1);
		CHECK_EQ(events.count, round ? 20 : 21);
		ts_expect_running(trid);
		ts_events_free(&events);
	}
}

TEST(an_until_full_log_that_filled_is_full_and_overrun,
     "STATUS-18 STATUS-19 LOG-27 LOG-28 LOG-29 STATUS-07", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	trace_id_t trid =
		start_log(POSIX_TRACE_UNTIL_FULL, SMALL, POSIX_TRACE_UNTIL_FULL, SMALL, fd);
	struct posix_trace_status_info info;
	uint32_t number = 0;
	bool was_lost = false;

	do {
		emit_run(UNNAMED, number, number + 20, 100);
		number += 20;
		CHECK_OK(posix_trace_flush(trid));
		info = ts_status(trid);
		was_lost |= info.posix_log_overrun_status == POSIX_TRACE_OVERRUN;
		CHECK_LE(number * 100, 2 * SMALL + 2 * TS_SLACK_BYTES);
	} while (info.posix_log_full_status != POSIX_TRACE_FULL);
	CHECK_EQ(info.posix_stream_status, POSIX_TRACE_SUSPENDED);
	CHECK_EQ(info.posix_stream_full_status, POSIX_TRACE_FULL);
	/* Nothing restarts it. */
	CHECK_OK(posix_trace_start(trid));
	ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL, POSIX_TRACE_NO_OVERRUN);
	CHECK_OK(posix_trace_flush(trid));
	CHECK_EQ(ts_status(trid).posix_stream_status, POSIX_TRACE_SUSPENDED);
	trace_id_t log = ts_end_and_open_log(trid, fd);
	struct ts_events events = ts_read_log(log);
	size_t kept = ts_count(&events, UNNAMED);
	CHECK_GT(kept, 0);
	ts_expect_numbers(&events, UNNAMED, 0, (uint32_t)kept - 1);
	CHECK_EQ(ts_stop_reason(&events.at[events.count - 1]), 2);
	/* OVERRUN was said if and only if something is missing. */
	CHECK_EQ(was_lost, kept < number);
	expect_log_status(log, POSIX_TRACE_FULL,
			  kept < number ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN);
}

TEST(events_behind_a_full_log_are_an_overrun_of_the_stream,
     "STATUS-12 STATUS-14 STATUS-24 LOG-29 STARTSTOP-08 STARTSTOP-13", NEEDS_KEEPER)
{
	static const int policies[] = {POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH};

	for (int i = 0; i < 3; i++) {
		int fd = ts_temp_file();
		trace_id_t trid = start_log(policies[i], SMALL, POSIX_TRACE_UNTIL_FULL, 2000, fd);

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

TEST(a_plain_stream_has_no_log_and_no_flush, "STATUS-21")
{
	static const int policies[] = {POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL};
	for (int i = 0; i < 2; i++) {
		trace_attr_t attr = small_attr(policies[i]);
		CHECK_OK(posix_trace_attr_setlogsize(&attr, 1));
		trace_id_t trid = ts_create_running(0, &attr);
		ts_flood(SMALL, UNNAMED, 100, 0);
		struct posix_trace_status_info info = ts_status(trid);
		CHECK_EQ(info.posix_stream_full_status, POSIX_TRACE_FULL);
		CHECK_EQ(info.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
		CHECK_EQ(info.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
		CHECK_EQ(info.posix_stream_flush_error, 0);
		CHECK_EQ(info.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
		CHECK_EQ(info.posix_log_full_status, POSIX_TRACE_NOT_FULL);
	}
}

struct loser {
	_Atomic uint32_t wanted, done;
	_Atomic bool is_over;
};

static void *lose_events(void *arg)
{
	struct loser *loser = arg;
	while (!loser->is_over) {
		if (loser->done == loser->wanted) {
			sched_yield();
			continue;
		}
		ts_emit(UNNAMED, 4711);
		loser->done++;
	}
	return NULL;
}

TEST(every_loss_shows_once, "STATUS-15 STATUS-14 STATUS-12")
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, SMALL, 256);
	struct loser loser = {0};

	ts_fill(trid, SMALL, UNNAMED, 100, 0);
	pthread_t thread = ts_thread(lose_events, &loser);
	for (int i = 0; i < 5000 && (i < 100 || harness_has_time()); i++) {
		int shown = 0;
		bool is_done;
		loser.wanted++;
		/* The loss comes at any time among these calls; the last begins when it
		 * has happened. */
		do {
			is_done = loser.done == loser.wanted;
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
	int fds[2] = {ts_temp_file(), ts_temp_file()};

	for (int lossy = 0; lossy < 2; lossy++) {
		trace_id_t trid =
			start_log(POSIX_TRACE_LOOP, SMALL, POSIX_TRACE_APPEND, 0, fds[lossy]);
		ts_emit(UNNAMED, 1);
		if (lossy) {
			ts_flood(SMALL, UNNAMED, 100, 0);
			CHECK_EQ(ts_status(trid).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
			CHECK_EQ(ts_status(trid).posix_stream_overrun_status,
				 POSIX_TRACE_NO_OVERRUN);
		}
		ts_shutdown(trid);
		trace_id_t log = ts_open_log(fds[lossy]);
		for (int i = 0; i < 3; i++) {
			struct posix_trace_status_info info = ts_status(log);
			CHECK_EQ(info.posix_stream_status, POSIX_TRACE_SUSPENDED);
			CHECK_EQ(info.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
			CHECK_EQ(info.posix_stream_overrun_status,
				 lossy ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN);
			CHECK_EQ(info.posix_stream_flush_error, 0);
			CHECK_EQ(info.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
			CHECK_EQ(info.posix_log_full_status, POSIX_TRACE_NOT_FULL);
		}
		/* Another opening says the same, and so does reading. */
		trace_id_t again = ts_open_log(fds[lossy]);
		ts_read_log(again);
		CHECK_EQ(ts_status(again).posix_stream_overrun_status,
			 lossy ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN);
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
	for (int is_loop = 0; is_loop < 2; is_loop++) {
		trace_id_t trid =
			ts_run(is_loop ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL, SMALL, 256);
		struct poller poller = {.trid = trid, .is_loop = is_loop};
		pthread_t threads[2] = {ts_thread(poll_status, &poller),
					ts_thread(poll_status, &poller)};

		for (int round = 0; round < 100; round++) {
			ts_flood(SMALL, UNNAMED, 200, 0);
			if (!is_loop) {
				struct ts_events events = ts_read_all(trid);
				ts_events_free(&events);
			}
		}
		poller.is_over = true;
		ts_join(threads[0]);
		ts_join(threads[1]);
		ts_shutdown(trid);
	}
}

TEST(a_failed_call_resets_nothing, "STATUS-26")
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, SMALL, 256);

	ts_fill(trid, SMALL, UNNAMED, 100, 0);
	ts_emit(UNNAMED, 1);
	CHECK_EQ(posix_trace_get_status(trid, NULL), EINVAL);
	ts_expect_status(trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL, POSIX_TRACE_OVERRUN);
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
	char name[TRACE_NAME_MAX], version[TRACE_NAME_MAX], own[TRACE_NAME_MAX];
	struct timespec time, resolution, clock;
	trace_attr_t fresh;
	size_t bytes, fresh_bytes;
	int policy;

	CHECK_OK(posix_trace_attr_getname(attr, name));
	CHECK_STR_EQ(name, "peculiar name");
	CHECK_OK(posix_trace_attr_getinherited(attr, &policy));
	CHECK_EQ(policy, POSIX_TRACE_INHERITED);
	CHECK_OK(posix_trace_attr_getlogfullpolicy(attr, &policy));
	CHECK_EQ(policy, POSIX_TRACE_UNTIL_FULL);
	CHECK_OK(posix_trace_attr_getstreamfullpolicy(attr, &policy));
	CHECK_EQ(policy, stream_policy);
	CHECK_OK(posix_trace_attr_getlogsize(attr, &bytes));
	CHECK_EQ(bytes, 54321);
	CHECK_OK(posix_trace_attr_getmaxdatasize(attr, &bytes));
	CHECK_EQ(bytes, 77);
	CHECK_OK(posix_trace_attr_getstreamsize(attr, &bytes));
	CHECK_EQ(bytes, 12345);
	CHECK_OK(posix_trace_attr_getclockres(attr, &resolution));
	CHECK_SYS(clock_getres(CLOCK_REALTIME, &clock));
	CHECK_EQ(ts_time_ns(&resolution), ts_time_ns(&clock));
	CHECK_OK(posix_trace_attr_getcreatetime(attr, &time));
	CHECK_LE(ts_time_ns(&time), ts_realtime_ns());
	CHECK_GE(ts_time_ns(&time), ts_realtime_ns() - 100000000000);
	CHECK_OK(posix_trace_attr_init(&fresh));
	CHECK_OK(posix_trace_attr_getgenversion(attr, version));
	CHECK_OK(posix_trace_attr_getgenversion(&fresh, own));
	CHECK_STR_EQ(version, own);
	CHECK_OK(posix_trace_attr_setmaxdatasize(&fresh, 77));
	CHECK_OK(posix_trace_attr_getmaxsystemeventsize(attr, &bytes));
	CHECK_OK(posix_trace_attr_getmaxsystemeventsize(&fresh, &fresh_bytes));
	CHECK_EQ(bytes, fresh_bytes);
	CHECK_OK(posix_trace_attr_getmaxusereventsize(attr, 1000, &bytes));
	CHECK_OK(posix_trace_attr_getmaxusereventsize(&fresh, 1000, &fresh_bytes));
	CHECK_EQ(bytes, fresh_bytes);
}

TEST(all_attributes_of_a_stream_can_be_had, "ATTRGET-01 ATTRGET-06 NAME-07 POLICY-26 SIZE-23")
{
	static const int policies[] = {POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_LOOP};
	for (int i = 0; i < 2; i++) {
		trace_attr_t attr = peculiar_attr(policies[i]), got;
		trace_id_t trid = ts_create(0, &attr);
		CHECK_OK(posix_trace_get_attr(trid, &got));
		expect_peculiar(&got, policies[i]);
	}
}

TEST(a_log_has_the_attributes_of_its_stream,
     "ATTRGET-02 ATTRGET-01 CLOCK-04 NAME-07 GENVERSION-04 LOG-36", NEEDS_KEEPER)
{
	trace_attr_t attr = peculiar_attr(POSIX_TRACE_FLUSH), of_stream, of_log;
	struct timespec stream_time, log_time;
	int fd = ts_temp_file();
	trace_id_t trid = ts_create_log(0, &attr, fd);

	CHECK_OK(posix_trace_get_attr(trid, &of_stream));
	expect_peculiar(&of_stream, POSIX_TRACE_FLUSH);
	trace_id_t log = ts_end_and_open_log(trid, fd);
	CHECK_OK(posix_trace_get_attr(log, &of_log));
	expect_peculiar(&of_log, POSIX_TRACE_FLUSH);
	CHECK_OK(posix_trace_attr_getcreatetime(&of_stream, &stream_time));
	CHECK_OK(posix_trace_attr_getcreatetime(&of_log, &log_time));
	CHECK_EQ(ts_time_ns(&stream_time), ts_time_ns(&log_time));
	/* Also when reading has gone on. */
	ts_read_log(log);
	CHECK_OK(posix_trace_get_attr(log, &of_log));
	expect_peculiar(&of_log, POSIX_TRACE_FLUSH);
}

TEST(attributes_can_be_had_in_any_state, "ATTRGET-03 CLOCK-05")
{
	trace_attr_t attr = peculiar_attr(POSIX_TRACE_UNTIL_FULL), got;
	struct timespec created, time;
	trace_id_t trid = ts_create(0, &attr);

	CHECK_OK(posix_trace_get_attr(trid, &got));
	CHECK_OK(posix_trace_attr_getcreatetime(&got, &created));
	for (int step = 0; step < 6; step++) {
		switch (step) {
		case 0:
			ts_start(trid);
			break;
		case 1:
			ts_fill(trid, 12345, UNNAMED, 77, 0);
			break;
		case 2:
			ts_next(trid);
			break;
		case 3:
			ts_stop(trid);
			break;
		case 4:
			ts_clear(trid);
			break;
		case 5:
			ts_start(trid);
			break;
		}
		CHECK_OK(posix_trace_get_attr(trid, &got));
		expect_peculiar(&got, POSIX_TRACE_UNTIL_FULL);
		CHECK_OK(posix_trace_attr_getcreatetime(&got, &time));
		CHECK_EQ(ts_time_ns(&time), ts_time_ns(&created));
	}
}

TEST(the_copy_is_independent_of_the_stream, "ATTRGET-04 ATTR-16 ATTR-13")
{
	trace_attr_t attr = peculiar_attr(POSIX_TRACE_LOOP), got, again;
	trace_id_t trid = ts_create(0, &attr);

	CHECK_OK(posix_trace_get_attr(trid, &got));
	CHECK_OK(posix_trace_attr_setname(&got, "another name"));
	CHECK_OK(posix_trace_attr_setmaxdatasize(&got, 1));
	CHECK_OK(posix_trace_attr_setinherited(&got, POSIX_TRACE_CLOSE_FOR_CHILD));
	CHECK_OK(posix_trace_get_attr(trid, &again));
	expect_peculiar(&again, POSIX_TRACE_LOOP);
	CHECK_OK(posix_trace_attr_destroy(&got));
	ts_shutdown(trid);
	/* It outlives the stream and can make another. */
	expect_peculiar(&again, POSIX_TRACE_LOOP);
	trid = ts_create(0, &again);
	CHECK_OK(posix_trace_get_attr(trid, &got));
	expect_peculiar(&got, POSIX_TRACE_LOOP);
	CHECK_OK(posix_trace_attr_destroy(&got));
	CHECK_OK(posix_trace_attr_destroy(&again));
}

TEST(any_storage_receives_the_attributes, "ATTRGET-05")
{
	trace_attr_t attr = peculiar_attr(POSIX_TRACE_LOOP), got;
	trace_id_t trid = ts_create(0, &attr);

	for (int filler = 0; filler < 256; filler += 51) {
		memset(&got, filler, sizeof(got));
		CHECK_OK(posix_trace_get_attr(trid, &got));
		expect_peculiar(&got, POSIX_TRACE_LOOP);
	}
	CHECK_OK(posix_trace_attr_init(&got));
	CHECK_OK(posix_trace_get_attr(trid, &got));
	expect_peculiar(&got, POSIX_TRACE_LOOP);
	CHECK_OK(posix_trace_attr_destroy(&got));
	CHECK_OK(posix_trace_get_attr(trid, &got));
	expect_peculiar(&got, POSIX_TRACE_LOOP);
	CHECK_EQ(posix_trace_get_attr(trid, NULL), EINVAL);
}
