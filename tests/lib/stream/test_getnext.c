/* SPDX-License-Identifier: MIT */
/* posix_trace_getnext_event, _timedgetnext_event, _trygetnext_event. */
#include "tests/support/logs.h"

#include <sched.h>
#include <setjmp.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "lib/stream/marks.h"
#include "lib/stream/slots.h"
#include "tests/support/payload.h"
#include "tests/support/slow_page.h"
#include "tests/support/stream_memory.h"

#define ROOMY ((size_t)8 << 20)

static trace_id_t stream_on(pid_t pid)
{
	return ts_past_start(ts_run_of(pid, POSIX_TRACE_UNTIL_FULL, ROOMY, 0));
}

static trace_id_t inherited_stream(int policy)
{
	return ts_past_start(ts_run_inherited(0, policy, 0, 0));
}

/* One call of any of the three, with everything around its results watched. */
enum which { GETNEXT, TIMED, TRY };

struct call {
	int result;
	int unavailable;
	size_t len;
	struct posix_trace_event_info info;
	unsigned char data[64];
};

/* GETNEXT, TIMED or TRY with the pointers given. */
static int raw_next(enum which which, trace_id_t trid, struct posix_trace_event_info *info,
		    void *data, size_t num_bytes, size_t *len, int *unavailable,
		    const struct timespec *abs_timeout)
{
	if (which == GETNEXT)
		return posix_trace_getnext_event(trid, info, data, num_bytes, len, unavailable);
	if (which == TIMED)
		return posix_trace_timedgetnext_event(trid, info, data, num_bytes, len, unavailable,
						      abs_timeout);
	return posix_trace_trygetnext_event(trid, info, data, num_bytes, len, unavailable);
}

static struct call call_next(enum which which, trace_id_t trid, size_t num_bytes,
			     const struct timespec *abs_timeout)
{
	struct call call;

	memset(&call, 0xa5, sizeof(call));
	call.result = raw_next(which, trid, &call.info, call.data, num_bytes, &call.len,
			       &call.unavailable, abs_timeout);
	return call;
}

/* The time until which a call may wait that is expected to return before. */
static struct timespec patience(void)
{
	return ts_deadline((int)harness_patience_ms());
}

static bool is_untouched(const void *object, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)object;

	for (size_t i = 0; i < bytes; i++)
		if (at[i] != 0xa5)
			return false;
	return true;
}

/* GETNEXT-19: what all returns without an event have in common. */
static void expect_no_event(struct call call, int result)
{
	CHECK_EQ(call.result, result);
	CHECK_NE(call.unavailable, 0);
	CHECK_EQ(call.len, 0);
	CHECK(is_untouched(&call.info, sizeof(call.info)));
	CHECK(is_untouched(call.data, sizeof(call.data)));
}

static void expect_event(const struct call *call)
{
	CHECK_EQ(call->result, 0);
	CHECK_EQ(call->unavailable, 0);
}

/* There is an event; the number in its data. */
static uint32_t number_in(const struct call *call)
{
	uint32_t number;

	expect_event(call);
	memcpy(&number, call->data, sizeof(number));
	return number;
}

static void on_signal(int sig, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigemptyset(&action.sa_mask);
	CHECK_SYS(sigaction(sig, &action, NULL));
}

static volatile sig_atomic_t signal_count;

static void count_signal(int sig)
{
	(void)sig;
	signal_count++;
}

/*
 * Reporting
 */

TEST(the_oldest_event_is_reported_with_everything_about_it, "GETNEXT-01 GETNEXT-02 SYSEVENT-12")
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = ts_create_running(0, NULL);
	const int no_reason = 0;
	/* START is longer than the buffer. */
	const struct {
		enum which which;
		trace_event_id_t id;
		size_t len;
		int truncation;
		const void *data;
	} rows[] = {
		{GETNEXT, POSIX_TRACE_START, 64, POSIX_TRACE_TRUNCATED_READ, NULL},
		{TIMED, id, 7, POSIX_TRACE_NOT_TRUNCATED, "abcdefg"},
		{TRY, id, 0, POSIX_TRACE_NOT_TRUNCATED, ""},
		{TRY, POSIX_TRACE_STOP, sizeof(int), POSIX_TRACE_NOT_TRUNCATED, &no_reason},
	};

	posix_trace_event(id, "abcdefg", 7);
	posix_trace_event(id, NULL, 0);
	ts_stop(trid);
	for (size_t i = 0; i < 4; i++) {
		struct timespec later = patience();
		struct call call = call_next(rows[i].which, trid, sizeof(call.data), &later);
		NOTE("event %zu", i);
		expect_event(&call);
		CHECK_EQ(call.info.posix_event_id, rows[i].id);
		CHECK_EQ(call.info.posix_pid, getpid());
		CHECK(pthread_equal(call.info.posix_thread_id, pthread_self()));
		CHECK(!is_untouched(&call.info.posix_prog_address, sizeof(void *)));
		CHECK(call.info.posix_prog_address != NULL);
		CHECK_GE(call.info.posix_timestamp.tv_nsec, 0);
		CHECK_LT(call.info.posix_timestamp.tv_nsec, 1000000000);
		CHECK_LE(ts_time_ns(&call.info.posix_timestamp), ts_realtime_ns() + 10000);
		CHECK_GE(ts_time_ns(&call.info.posix_timestamp),
			 ts_realtime_ns() - INT64_C(60000000000));
		CHECK_EQ(call.len, rows[i].len);
		CHECK_EQ(call.info.posix_truncation_status, rows[i].truncation);
		if (rows[i].data) {
			CHECK_MEM_EQ(call.data, rows[i].data, rows[i].len);
			CHECK(is_untouched(call.data + call.len, sizeof(call.data) - call.len));
		}
	}
	ts_expect_none(trid);
}

enum { SHARED = 20000 };

static _Atomic uint32_t reports[SHARED];
static _Atomic uint32_t unreported = SHARED;
static trace_id_t shared_trid;

static void *share_reading(void *which)
{
	int64_t last_time = 0, last_number = -1;

	while (atomic_load(&unreported) > 0) {
		struct timespec soon = ts_deadline(20);
		struct call call = call_next(*(enum which *)which, shared_trid, 64, &soon);
		if (call.result == ETIMEDOUT || call.unavailable)
			continue;
		uint32_t number = number_in(&call);
		CHECK_GT(number, last_number);
		CHECK_GE(ts_time_ns(&call.info.posix_timestamp), last_time);
		last_number = number;
		last_time = ts_time_ns(&call.info.posix_timestamp);
		CHECK_EQ(atomic_fetch_add(&reports[number], 1), 0);
		atomic_fetch_sub(&unreported, 1);
	}
	return NULL;
}

TEST(several_readers_share_the_events, "GETNEXT-04 GEN-01")
{
	enum which which[] = {TIMED, TRY, TIMED, TRY};
	trace_event_id_t id = ts_id("event");
	pthread_t threads[4];

	shared_trid = stream_on(0);
	ts_emit_numbers(id, 0, SHARED / 2 - 1);
	for (int r = 0; r < 4; r++)
		threads[r] = ts_thread(share_reading, &which[r]);
	ts_emit_numbers(id, SHARED / 2, SHARED - 1);
	for (int r = 0; r < 4; r++)
		ts_join(threads[r]);
	for (uint32_t number = 0; number < SHARED; number++)
		CHECK_EQ(atomic_load(&reports[number]), 1);
	ts_expect_none(shared_trid);
}

/*
 * Waiting
 */

TEST(getnext_waits_for_an_event_of_any_traced_process, "GETNEXT-06")
{
	trace_attr_t attr = ts_inherited_attr(POSIX_TRACE_LOOP, 0, 0);
	trace_event_id_t id = ts_id("event");
	struct ts_target target = ts_target_fork();
	struct ts_reader reader;

	trace_id_t trid = ts_create(target.pid, &attr);
	struct ts_target child = ts_target_fork_child(&target);

	/* Suspended: START is what comes. */
	ts_reader_start(&reader, trid);
	ts_target_emit(&target, id, 1);
	CHECK(ts_reader_is_waiting(&reader));
	ts_start(trid);
	ts_reader_join(&reader);
	CHECK_EQ(reader.result, 0);
	CHECK_EQ(reader.unavailable, 0);
	CHECK_EQ(reader.event.info.posix_event_id, POSIX_TRACE_START);

	for (uint32_t number = 0; number < 20; number++) {
		struct ts_target *writer = number % 2 ? &child : &target;
		ts_reader_start(&reader, trid);
		ts_emit(id, 99);
		CHECK(ts_reader_is_waiting(&reader));
		ts_target_emit(writer, id, number);
		ts_reader_expect(&reader, number);
		CHECK_EQ(reader.event.info.posix_pid, writer->pid);
	}
	ts_reader_start(&reader, trid);
	ts_stop(trid);
	ts_reader_join(&reader);
	CHECK_EQ(reader.event.info.posix_event_id, POSIX_TRACE_STOP);
	ts_target_end(&child);
	ts_target_end(&target);
}

TEST(no_wake_up_is_lost, "GETNEXT-06 GETNEXT-34")
{
	enum { count = 20000 };
	trace_event_id_t id = ts_id("event");
	_Atomic uint32_t *due = harness_share(4096);
	int ready[2];

	/* Writer and reader take turns as fast as they can, so that the reader falls
	 * asleep at all points of an event. A lost wake-up hangs. On a single busy processor, where
	 * the reader always sleeps, turns take milliseconds: the writer ends early. */
	CHECK_SYS(pipe(ready));
	pid_t pid = harness_fork();
	if (pid == 0) {
		char byte;
		CHECK_EQ(read(ready[0], &byte, 1), 1);
		for (uint32_t number = 0; number <= count; number++) {
			while (atomic_load(due) < number)
				sched_yield();
			if (!harness_has_time())
				number = count;
			for (volatile uint32_t delay = payload_mix(number) % 4000; delay > 0;
			     delay--)
				;
			ts_emit(id, number);
		}
		_exit(0);
	}
	trace_id_t trid = stream_on(pid);
	CHECK_EQ(write(ready[1], "", 1), 1);
	for (uint32_t number = 0, got = 0; got < count; number++) {
		struct call call = call_next(GETNEXT, trid, 64, NULL);
		CHECK_EQ(call.result, 0);
		memcpy(&got, call.data, sizeof(got));
		CHECK(got == number || got == count);
		atomic_store(due, number + 1);
	}
	CHECK_EXIT(pid, 0);
}

TEST(the_wait_outlasts_the_traced_processes, "GETNEXT-07")
{
	struct ts_target target = ts_target_fork();
	trace_id_t trid = stream_on(target.pid);
	struct ts_reader reader;

	ts_target_emit(&target, POSIX_TRACE_UNNAMED_USEREVENT, 1);
	ts_expect_number(trid, POSIX_TRACE_UNNAMED_USEREVENT, 1);
	ts_reader_start(&reader, trid);
	ts_target_end(&target);
	CHECK(ts_reader_is_waiting(&reader));
	struct timespec soon = ts_deadline(30);
	expect_no_event(call_next(TIMED, trid, 64, &soon), ETIMEDOUT);
	CHECK(ts_reader_is_waiting(&reader));
	ts_shutdown(trid);
	ts_reader_join(&reader);
	CHECK_EQ(reader.result, EINVAL);
}

TEST(a_log_is_read_to_its_end_without_waiting, "GETNEXT-08 GETNEXT-14 GETNEXT-19", NEEDS_KEEPER)
{
	struct logged s = start_logged(0, 0, 0, 0);
	static const struct timespec invalid = {0, -1};

	ts_emit_numbers(s.id, 1, 3);
	trace_id_t log = ts_end_and_open_log(s.trid, s.fd);
	struct ts_events all = ts_read_log(log);
	ts_expect_numbers(&all, s.id, 1, 3);
	for (int i = 0; i < 3; i++) {
		expect_no_event(call_next(GETNEXT, log, 64, NULL), 0);
		expect_no_event(call_next(TIMED, log, 64, NULL), 0);
		expect_no_event(call_next(TIMED, log, 64, &invalid), 0);
	}
	CHECK_OK(posix_trace_rewind(log));
	for (size_t i = 0; i < all.count; i++) {
		/* The time does not matter, whatever it is. */
		struct timespec times[] = {{0, -1}, {0, 0}, patience()};
		struct call call = call_next(TIMED, log, 64, i % 4 == 3 ? NULL : &times[i % 4]);
		expect_event(&call);
		CHECK_EQ(call.info.posix_event_id, all.at[i].info.posix_event_id);
		CHECK_EQ(ts_time_ns(&call.info.posix_timestamp),
			 ts_time_ns(&all.at[i].info.posix_timestamp));
	}
	expect_no_event(call_next(TIMED, log, 64, NULL), 0);
}

TEST(timedgetnext_looks_at_the_time_only_without_event, "GETNEXT-09 GETNEXT-12 GETNEXT-19")
{
	/* The result is the one without an event. */
	static const struct {
		struct timespec time;
		int result;
	} rows[] = {
		{{0, 0}, ETIMEDOUT},
		{{-1, 0}, ETIMEDOUT},
		{{-1, 999999999}, ETIMEDOUT},
		{{(time_t)INT64_MIN, 0}, ETIMEDOUT},
		{{0, -1}, EINVAL},
		{{0, 1000000000}, EINVAL},
		{{-5, -1}, EINVAL},
		{{0, INT64_MIN}, EINVAL},
		{{(time_t)INT32_MAX * 100, -1}, EINVAL},
		{{(time_t)INT32_MAX * 100, 1000000000}, EINVAL},
	};
	enum { count = sizeof(rows) / sizeof(rows[0]) };
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = stream_on(0);

	for (uint32_t row = 0; row <= count; row++) {
		const struct timespec *time = row < count ? &rows[row].time : NULL;
		NOTE("row %" PRIu32, row);
		expect_no_event(call_next(TIMED, trid, 64, time), time ? rows[row].result : EINVAL);
		ts_emit(id, row);
		struct call call = call_next(TIMED, trid, 64, time);
		CHECK_EQ(number_in(&call), row);
	}
	ts_expect_none(trid);
}

TEST(without_event_timedgetnext_waits_until_the_time_and_trygetnext_returns,
     "GETNEXT-10 GETNEXT-11 GETNEXT-15 GETNEXT-19")
{
	trace_id_t trid = ts_create(0, NULL);

	for (int is_running = 0; is_running < 2; is_running++) {
		if (is_running) {
			ts_start(trid);
			ts_expect(trid, POSIX_TRACE_START);
		}
		struct timespec then = ts_deadline(40);
		expect_no_event(call_next(TRY, trid, 64, NULL), 0);
		expect_no_event(call_next(TIMED, trid, 64, &then), ETIMEDOUT);
		CHECK_GE(ts_realtime_ns(), ts_time_ns(&then));
		expect_no_event(call_next(TIMED, trid, 64, &then), ETIMEDOUT);
		expect_no_event(call_next(TRY, trid, 64, NULL), 0);
	}
}

struct timed_reader {
	trace_id_t trid;
	struct timespec until;
	_Atomic pid_t tid;
	struct call call;
};

static void *read_timed(void *arg)
{
	struct timed_reader *self = (struct timed_reader *)arg;

	atomic_store(&self->tid, ts_gettid());
	self->call = call_next(TIMED, self->trid, 64, &self->until);
	return NULL;
}

static pthread_t start_timed(struct timed_reader *reader)
{
	atomic_store(&reader->tid, 0);
	pthread_t thread = ts_thread(read_timed, reader);
	CHECK_EVENTUALLY(atomic_load(&reader->tid) != 0);
	ts_wait_asleep(getpid(), atomic_load(&reader->tid));
	return thread;
}

TEST(timedgetnext_wakes_for_an_event_before_the_time, "GETNEXT-10 GETNEXT-06")
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = stream_on(0);
	/* The farthest time there is: no overflow on the way. */
	static const struct timespec far[] = {
		{(time_t)INT64_MAX, 999999999}, {(time_t)INT32_MAX * 100, 0}, {0, 0}};

	for (size_t i = 0; i < 3; i++) {
		struct timed_reader reader = {.trid = trid, .until = far[i]};
		if (i == 2)
			reader.until = patience();
		pthread_t thread = start_timed(&reader);
		ts_emit(id, (uint32_t)i);
		ts_join(thread);
		CHECK_EQ(number_in(&reader.call), i);
	}
}

/*
 * Signals
 */

TEST(a_handler_without_restart_ends_the_wait, "GETNEXT-17 GETNEXT-19")
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = stream_on(0);
	struct timed_reader timed = {.trid = trid, .until = patience()};
	struct ts_reader reader;
	pthread_t thread;

	on_signal(SIGUSR1, count_signal, 0);
	for (int i = 1; i <= 10; i++) {
		ts_reader_start(&reader, trid);
		CHECK_OK(pthread_kill(reader.thread, SIGUSR1));
		ts_reader_join(&reader);
		CHECK_EQ(reader.result, EINTR);
		CHECK_NE(reader.unavailable, 0);
		CHECK_EQ(signal_count, 2 * i - 1);

		thread = start_timed(&timed);
		CHECK_OK(pthread_kill(thread, SIGUSR1));
		ts_join(thread);
		expect_no_event(timed.call, EINTR);
		CHECK_EQ(signal_count, 2 * i);

		ts_emit(id, (uint32_t)i);
		ts_expect_number(trid, id, (uint32_t)i);
		ts_expect_none(trid);
	}
}

TEST(a_handler_with_restart_leaves_getnext_waiting, "GETNEXT-18")
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = stream_on(0);
	struct timed_reader timed = {.trid = trid, .until = patience()};
	struct ts_reader reader;

	on_signal(SIGUSR1, count_signal, SA_RESTART);
	ts_reader_start(&reader, trid);
	for (int i = 1; i <= 10; i++) {
		CHECK_OK(pthread_kill(reader.thread, SIGUSR1));
		CHECK_EVENTUALLY(signal_count == i);
		ts_wait_asleep(getpid(), atomic_load(&reader.tid));
		CHECK(ts_reader_is_waiting(&reader));
	}
	ts_emit(id, 1);
	ts_reader_expect(&reader, 1);

	/* timedgetnext may do either. */
	pthread_t thread = start_timed(&timed);
	CHECK_OK(pthread_kill(thread, SIGUSR1));
	CHECK_EVENTUALLY(signal_count == 11);
	ts_emit(id, 2);
	ts_join(thread);
	if (timed.call.result == EINTR) {
		expect_no_event(timed.call, EINTR);
		ts_expect_number(trid, id, 2);
	} else {
		CHECK_EQ(timed.call.result, 0);
	}
	ts_expect_none(trid);
}

static trace_event_id_t handler_id;

static void emit_in_handler(int sig)
{
	(void)sig;
	ts_emit(handler_id, 77);
}

TEST(a_handler_that_interrupts_the_wait_may_record_the_event_waited_for,
     "GETNEXT-06 GETNEXT-18 EVENT-12")
{
	trace_id_t trid = stream_on(0);
	struct ts_reader reader;

	handler_id = ts_id("handler");
	on_signal(SIGUSR1, emit_in_handler, SA_RESTART);
	for (int i = 0; i < 20; i++) {
		ts_reader_start(&reader, trid);
		CHECK_OK(pthread_kill(reader.thread, SIGUSR1));
		ts_reader_expect(&reader, 77);
		CHECK_EQ(reader.event.info.posix_event_id, handler_id);
	}
	ts_expect_none(trid);
}

/*
 * Small buffers
 */

/* The three functions in turn, which share one position. */
TEST(the_buffer_decides_on_truncation_at_reading,
     "GETNEXT-01 GETNEXT-04 GETNEXT-20 GETNEXT-21 GETNEXT-23")
{
	enum { len = 20 };
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = stream_on(0);
	unsigned char data[len];

	for (int i = 0; i < len; i++)
		data[i] = (unsigned char)(i + 1);
	for (data[0] = 0; data[0] <= 40; data[0]++)
		posix_trace_event(id, data, len);
	for (size_t num_bytes = 0; num_bytes <= 40; num_bytes++) {
		data[0] = (unsigned char)num_bytes;
		struct timespec later = patience();
		struct call call = call_next((enum which)(num_bytes % 3), trid, num_bytes, &later);
		size_t stored = num_bytes < len ? num_bytes : len;
		expect_event(&call);
		CHECK_EQ(call.info.posix_event_id, id);
		CHECK_EQ(call.len, stored);
		CHECK_EQ(call.info.posix_truncation_status,
			 num_bytes < len ? POSIX_TRACE_TRUNCATED_READ : POSIX_TRACE_NOT_TRUNCATED);
		CHECK_MEM_EQ(call.data, data, stored);
		CHECK(is_untouched(call.data + stored, sizeof(call.data) - stored));
	}
	ts_expect_none(trid);
}

TEST(truncation_at_reading_hides_that_of_recording, "GETNEXT-20 GETNEXT-22")
{
	enum { max = 16 };
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = ts_past_start(ts_run(POSIX_TRACE_LOOP, 0, max));
	static const unsigned char data[max + 1] = "0123456789abcdef";
	static const size_t buffers[] = {max + 1, max, max - 1, 1, 0};

	for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) {
		posix_trace_event(id, data, max + 1);
		struct call call = call_next(TRY, trid, buffers[i], NULL);
		CHECK_EQ(call.result, 0);
		CHECK_EQ(call.len, buffers[i] < max ? buffers[i] : max);
		CHECK_EQ(call.info.posix_truncation_status, buffers[i] < max
								    ? POSIX_TRACE_TRUNCATED_READ
								    : POSIX_TRACE_TRUNCATED_RECORD);
		CHECK_MEM_EQ(call.data, data, call.len);
	}
}

TEST(a_buffer_of_no_bytes_need_not_exist, "GETNEXT-24")
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = stream_on(0);

	for (enum which which = GETNEXT; which <= TRY; which++)
		for (int has_data = 0; has_data <= 1; has_data++) {
			struct posix_trace_event_info info;
			size_t len = 99;
			int unavailable = 99;
			posix_trace_event(id, "x", (size_t)has_data);
			CHECK_OK(raw_next(which, trid, &info, NULL, 0, &len, &unavailable,
					  &(struct timespec){0, 0}));
			CHECK_EQ(unavailable, 0);
			CHECK_EQ(len, 0);
			CHECK_EQ(info.posix_event_id, id);
			CHECK_EQ(info.posix_truncation_status,
				 has_data ? POSIX_TRACE_TRUNCATED_READ : POSIX_TRACE_NOT_TRUNCATED);
		}
	ts_expect_none(trid);
}

TEST(a_log_is_read_with_small_buffers_likewise,
     "GETNEXT-20 GETNEXT-21 GETNEXT-22 GETNEXT-23 GETNEXT-24 SYSEVENT-12", NEEDS_KEEPER)
{
	trace_attr_t attr = ts_attr(0, 0, 8);
	trace_event_id_t id = ts_id("event");
	int fd = ts_temp_file();
	trace_id_t trid = ts_create_log(0, &attr, fd), log;
	static const size_t lens[] = {0, 8, 9};

	ts_start(trid);
	for (size_t i = 0; i < 3; i++)
		posix_trace_event(id, "123456789", lens[i]);
	log = ts_end_and_open_log(trid, fd);
	for (size_t num_bytes = 0; num_bytes <= 9; num_bytes++) {
		size_t at = 0;
		CHECK_OK(posix_trace_rewind(log));
		while (at < 3) {
			size_t kept = lens[at] < 8 ? lens[at] : 8;
			struct call call = call_next(GETNEXT, log, num_bytes, NULL);
			expect_event(&call);
			if (call.info.posix_event_id == POSIX_TRACE_START)
				CHECK_EQ(call.info.posix_truncation_status,
					 POSIX_TRACE_TRUNCATED_READ);
			if (call.info.posix_event_id != id)
				continue;
			CHECK_EQ(call.len, num_bytes < kept ? num_bytes : kept);
			CHECK_MEM_EQ(call.data, "123456789", call.len);
			CHECK(is_untouched(call.data + call.len, sizeof(call.data) - call.len));
			CHECK_EQ(call.info.posix_truncation_status,
				 num_bytes < kept ? POSIX_TRACE_TRUNCATED_READ
				 : lens[at] > 8	  ? POSIX_TRACE_TRUNCATED_RECORD
						  : POSIX_TRACE_NOT_TRUNCATED);
			at++;
		}
	}
}

/*
 * Shutdown and cancellation
 */

TEST(shutdown_ends_all_waits, "GETNEXT-26 GETNEXT-19 SHUTDOWN-06")
{
	enum { readers = 4 };
	trace_id_t trid = stream_on(0);
	trace_id_t other = stream_on(0);
	struct ts_reader waiting[readers], other_reader;
	struct timed_reader timed = {.trid = trid, .until = patience()};

	for (int i = 0; i < readers; i++)
		ts_reader_start(&waiting[i], trid);
	pthread_t thread = start_timed(&timed);
	ts_reader_start(&other_reader, other);
	ts_shutdown(trid);
	for (int i = 0; i < readers; i++) {
		ts_reader_join(&waiting[i]);
		CHECK_EQ(waiting[i].result, EINVAL);
		CHECK_NE(waiting[i].unavailable, 0);
	}
	ts_join(thread);
	expect_no_event(timed.call, EINVAL);
	CHECK(ts_reader_is_waiting(&other_reader));
	ts_emit(POSIX_TRACE_UNNAMED_USEREVENT, 1);
	ts_reader_join(&other_reader);
	CHECK_EQ(other_reader.result, 0);
}

TEST(a_cancelled_wait_loses_nothing, "GETNEXT-28 GEN-10")
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = stream_on(0);
	struct timed_reader timed = {.trid = trid, .until = patience()};
	struct ts_reader reader, other;
	pthread_t thread;

	for (uint32_t i = 0; i < 20; i++) {
		ts_reader_start(&other, trid);
		ts_reader_start(&reader, trid);
		CHECK_OK(pthread_cancel(reader.thread));
		CHECK(ts_join(reader.thread) == PTHREAD_CANCELED);
		thread = start_timed(&timed);
		CHECK_OK(pthread_cancel(thread));
		CHECK(ts_join(thread) == PTHREAD_CANCELED);
		CHECK(ts_reader_is_waiting(&other));
		ts_emit(id, 2 * i);
		ts_reader_expect(&other, 2 * i);
		ts_emit(id, 2 * i + 1);
		ts_expect_number(trid, id, 2 * i + 1);
		ts_expect_none(trid);
	}
	ts_shutdown(trid);
}

struct pending_cancel {
	trace_id_t trid;
	enum which which;
	struct call call;
	bool has_returned;
	bool is_disabled;
};

static void *read_with_pending_cancel(void *arg)
{
	struct pending_cancel *self = (struct pending_cancel *)arg;
	struct timespec past = {0, 0};

	if (self->is_disabled)
		CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
	CHECK_OK(pthread_cancel(pthread_self()));
	self->call = call_next(self->which, self->trid, 64, &past);
	self->has_returned = true;
	if (self->is_disabled)
		CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
	pthread_testcancel();
	return NULL;
}

TEST(cancellation_acts_only_while_waiting, "GETNEXT-28 GEN-10")
{
	static const struct {
		enum which which;
		bool has_event, is_disabled, has_returned;
		int result;
	} rows[] = {
		{GETNEXT, true, false, true, 0}, {TIMED, true, false, true, 0},
		{TRY, true, false, true, 0},	 {GETNEXT, false, false, false, 0},
		{TRY, false, false, true, 0},	 {TIMED, false, true, true, ETIMEDOUT},
	};
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = stream_on(0);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pending_cancel call = {
			.trid = trid, .which = rows[i].which, .is_disabled = rows[i].is_disabled};
		NOTE("row %zu", i);
		if (rows[i].has_event)
			ts_emit(id, 7);
		CHECK(ts_join(ts_thread(read_with_pending_cancel, &call)) == PTHREAD_CANCELED);
		CHECK_EQ(call.has_returned, rows[i].has_returned);
		if (rows[i].has_event)
			expect_event(&call.call);
		else if (call.has_returned)
			expect_no_event(call.call, rows[i].result);
		ts_expect_none(trid);
	}
	ts_emit(id, 8);
	ts_expect_number(trid, id, 8);
}

TEST(a_wait_cancelled_while_the_event_comes_loses_it_not, "GETNEXT-28")
{
	enum { rounds = 150 };
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = stream_on(0);
	uint32_t cancelled = 0;

	for (uint32_t i = 0; i < rounds; i++) {
		struct timed_reader timed = {.trid = trid, .until = patience()};
		pthread_t thread = start_timed(&timed);
		if (i % 2) {
			ts_emit(id, i);
			for (volatile uint32_t delay = i * 20; delay > 0; delay--)
				;
			CHECK_OK(pthread_cancel(thread));
		} else {
			CHECK_OK(pthread_cancel(thread));
			ts_emit(id, i);
		}
		void *result = ts_join(thread);
		if (result == PTHREAD_CANCELED) {
			cancelled++;
			ts_expect_number(trid, id, i);
		} else {
			CHECK_EQ(number_in(&timed.call), i);
		}
		ts_expect_none(trid);
	}
	NOTE("%u of %u cancelled", cancelled, rounds);
}

/*
 * Tee: a stream with log
 */

TEST(events_of_a_logged_stream_are_reported_and_still_logged, "GETNEXT-29", NEEDS_KEEPER)
{
	struct logged s = start_logged(POSIX_TRACE_UNTIL_FULL, 0, 0, 0);
	struct ts_reader reader;

	ts_expect(s.trid, POSIX_TRACE_START);
	ts_reader_start(&reader, s.trid);
	ts_emit(s.id, 0);
	ts_reader_expect(&reader, 0);
	ts_emit_numbers(s.id, 1, 30);
	for (uint32_t number = 1; number <= 30; number++) {
		struct timespec later = patience();
		struct call call = call_next((enum which)(number % 3), s.trid, 64, &later);
		CHECK_EQ(number_in(&call), number);
	}
	ts_expect_none(s.trid);
	ts_emit(s.id, 31);
	struct ts_events all = ts_end_log(s.trid, s.fd);
	ts_expect_numbers(&all, s.id, 0, 31);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_START), 1);
}

TEST(events_flushed_before_they_were_read_are_skipped, "GETNEXT-30", NEEDS_KEEPER)
{
	struct logged s = start_logged(POSIX_TRACE_LOOP, 0, 0, 0);

	ts_emit_numbers(s.id, 0, 4);
	ts_expect(s.trid, POSIX_TRACE_START);
	ts_expect_number(s.trid, s.id, 0);
	ts_expect_number(s.trid, s.id, 1);
	ts_flush(s.trid);
	ts_emit_numbers(s.id, 5, 7);
	struct ts_events all = ts_read_numbers(s.trid, s.id, 5, 7);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_OVERFLOW), 0);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_RESUME), 0);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_START), 0);
	ts_flush(s.trid);
	all = ts_read_all(s.trid);
	CHECK_EQ(ts_count(&all, s.id), 0);
	ts_expect_logged(s.trid, s.fd, s.id, 0, 7);
}

TEST(reading_a_logged_stream_frees_nothing, "GETNEXT-31 POLICY-19", NEEDS_KEEPER)
{
	enum { stream_bytes = 32768 };
	struct logged s = start_logged(POSIX_TRACE_UNTIL_FULL, stream_bytes, 0, 0);

	(void)ts_fill(s.trid, stream_bytes, s.id, 500, 0);
	struct ts_events all = ts_read_all(s.trid);
	CHECK_EQ(all.at[all.count - 1].info.posix_event_id, POSIX_TRACE_STOP);
	CHECK_GT(all.count, stream_bytes / 1000);
	ts_emit(s.id, 1000000);
	ts_expect_none(s.trid);
	ts_expect_status(s.trid, POSIX_TRACE_SUSPENDED, POSIX_TRACE_FULL, POSIX_TRACE_OVERRUN);
	ts_flush(s.trid);
	ts_expect_running(s.trid);
	ts_emit(s.id, 1000001);
	all = ts_read_numbers(s.trid, s.id, 1000001, 1000001);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_START), 1);
}

TEST(a_logged_loop_stream_shows_the_reader_its_gaps, "GETNEXT-32", NEEDS_KEEPER)
{
	enum { stream_bytes = 32768 };
	struct logged s = start_logged(POSIX_TRACE_LOOP, stream_bytes, 0, 0);

	ts_expect(s.trid, POSIX_TRACE_START);
	uint32_t next = ts_flood(stream_bytes, s.id, 500, 0);
	struct ts_events all = ts_read_all(s.trid);
	CHECK_GT(all.count, 2 + stream_bytes / 1000);
	CHECK_EQ(id_at(&all, 0), POSIX_TRACE_OVERFLOW);
	CHECK_EQ(id_at(&all, 1), POSIX_TRACE_RESUME);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_OVERFLOW), 1);
	ts_expect_numbers(&all, s.id, ts_number(&all.at[2]), next - 1);
	CHECK_EQ(ts_count(&all, s.id), all.count - 2);
}

/*
 * An older record still being written
 */

static struct slow_page slow;
static uint32_t slow_contents = 7654321;

struct hanging {
	trace_event_id_t id;
	/* No numbered event before each slow one, only one at the begin. */
	bool is_slow_only;
	/* Slow calls that may be begun so far, and that there will be in all. */
	_Atomic uint32_t allowed, rounds;
	_Atomic int64_t call_begin;
	_Atomic int64_t call_end;
};

static void *hang_in_event(void *arg)
{
	struct hanging *self = (struct hanging *)arg;

	for (uint32_t i = 0; i < atomic_load(&self->rounds); i++) {
		if (i == 0 || !self->is_slow_only)
			ts_emit(self->id, i);
		while (i >= atomic_load(&self->allowed)) {
			if (i >= atomic_load(&self->rounds))
				return NULL;
			sched_yield();
		}
		atomic_store(&self->call_begin, ts_realtime_ns());
		posix_trace_event(self->id, slow.data, sizeof(slow_contents));
		atomic_store(&self->call_end, ts_realtime_ns());
		slow_page_rearm(&slow);
	}
	return NULL;
}

/* Starts a thread, and returns when it hangs in an event. */
static pthread_t begin_hanging(struct hanging *hanging)
{
	slow = slow_page_make();
	pthread_t thread = ts_thread(hang_in_event, hanging);
	slow_page_wait(&slow);
	return thread;
}

static void fill_slow_page(void)
{
	slow_page_fill(&slow, &slow_contents, sizeof(slow_contents));
}

/* The number is due next, and is held back, as a writer hangs since `since_ns` at the earliest. For 100 ms in
 * which the reader looks each 200 us; not at all if that time was over when it came to look. */
static void expect_held_back(trace_id_t trid, trace_event_id_t id, uint32_t number,
			     int64_t since_ns)
{
	long naps = harness_naps();

	ts_expect_number(trid, id, number);
	naps = harness_naps() - naps;
	bool is_late = harness_now_ns() - since_ns > 50000000;
	NOTE("held back for %ld naps", naps);
	CHECK(naps > 0 || is_late);
	CHECK_LE(naps, 1000);
}

TEST(a_hanging_writer_does_not_keep_the_reader_for_ever, "GETNEXT-33")
{
	struct hanging hanging = {.id = ts_id("hanging"), .rounds = 1, .allowed = 1};
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = stream_on(0);
	struct ts_reader reader;
	int64_t since_ns = harness_now_ns();

	pthread_t thread = begin_hanging(&hanging);
	ts_emit(id, 1);
	ts_expect_number(trid, hanging.id, 0);
	expect_held_back(trid, id, 1, since_ns);

	/* Nobody will ever wake this reader but the clock. */
	ts_reader_start(&reader, trid);
	ts_emit(id, 2);
	ts_reader_expect(&reader, 2);
	ts_emit(id, 3);
	ts_expect_number(trid, id, 3);

	/* The late record comes, with the time of its call. */
	ts_expect_none(trid);
	fill_slow_page();
	ts_join(thread);
	ts_emit(id, 4);
	struct ts_events rest = ts_read_all(trid);
	CHECK_EQ(rest.count, 2);
	CHECK_EQ(ts_count(&rest, id), 1);
	CHECK_EQ(ts_count(&rest, hanging.id), 1);
	CHECK_EQ(ts_number(&rest.at[ts_find(&rest, id, 0)]), 4);
	struct ts_event *late = &rest.at[ts_find(&rest, hanging.id, 0)];
	CHECK_EQ(ts_number(late), slow_contents);
	CHECK_GE(ts_time_ns(&late->info.posix_timestamp), atomic_load(&hanging.call_begin) - 10000);
	CHECK_LE(ts_time_ns(&late->info.posix_timestamp), atomic_load(&hanging.call_end) + 10000);
}

TEST(a_late_event_in_a_gap_does_not_date_it_back, "GETNEXT-03 GETNEXT-33 SYSEVENT-18")
{
	struct hanging hanging = {.id = ts_id("hanging"), .rounds = 1, .allowed = 1};
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, 16384, 0);

	pthread_t thread = begin_hanging(&hanging);
	ts_emit(id, 1);
	/* Reported although an older one hangs, which then comes among what is dropped. */
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect_number(trid, hanging.id, 0);
	struct ts_event last = ts_expect(trid, id);
	ts_flood(65536, id, 100, 2);
	fill_slow_page();
	ts_join(thread);
	struct ts_event event = ts_expect(trid, POSIX_TRACE_OVERFLOW);
	/* A tick of the counter may be less than a nanosecond. */
	CHECK_GE(ts_time_ns(&event.info.posix_timestamp), ts_time_ns(&last.info.posix_timestamp));
}

/* When the first thread waits. */
static void *fill_page_soon(void *arg)
{
	CHECK_EVENTUALLY(thread_state(getpid(), getpid()) == 'S');
	fill_slow_page();
	return arg;
}

static struct hanging late_writer;

/* After a while the reader has the right to report out of order. So `read_two`, which has the page
 * filled and reads a later event and that in which a writer hangs, returns whether it was fast
 * enough. A busy machine has few such rounds, or none, and need not try for ever. */
static void read_beside_a_late_writer(uint32_t wanted, uint32_t most,
				      bool (*read_two)(trace_id_t trid, uint32_t round,
						       struct ts_event events[2]))
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = stream_on(0);
	uint32_t timely = 0, i;

	late_writer = (struct hanging){
		.id = ts_id("hanging"), .rounds = UINT32_MAX, .is_slow_only = true};
	slow = slow_page_make();
	pthread_t writer = ts_thread(hang_in_event, &late_writer);
	ts_expect_number(trid, late_writer.id, 0);
	for (i = 0; timely < wanted && i < most && harness_has_time(); i++) {
		struct ts_event events[2];
		struct ts_events all = {2, events};

		atomic_store(&late_writer.allowed, i + 1);
		slow_page_wait(&slow);
		ts_emit(id, i);
		bool is_timely = read_two(trid, i, events);
		CHECK_NE(id_at(&all, 0), id_at(&all, 1));
		if (!is_timely)
			continue;
		timely++;
		ts_expect_sorted(&all);
	}
	atomic_store(&late_writer.rounds, i);
	ts_join(writer);
	ts_expect_none(trid);
	ts_shutdown(trid);
	NOTE("%u of %u rounds were fast enough to count", timely, i);
}

static bool read_at_once(trace_id_t trid, uint32_t round, struct ts_event events[2])
{
	pthread_t filler = ts_thread(fill_page_soon, NULL);

	(void)round;
	/* There is one, so it is not said that there is none; and it comes after
	 * the older record. */
	CHECK(ts_try_next(trid, &events[0]));
	int64_t took = ts_realtime_ns() - atomic_load(&late_writer.call_begin);
	events[1] = ts_next(trid);
	ts_join(filler);
	return took <= 50000000;
}

TEST(later_events_wait_for_an_older_one_in_the_making, "GETNEXT-33 GETNEXT-03")
{
	read_beside_a_late_writer(20, 60, read_at_once);
}

TEST(after_a_stop_all_is_there_at_once, "STARTSTOP-11 GETNEXT-15 GETNEXT-33")
{
	struct hanging hanging = {.id = ts_id("hanging"), .rounds = 1, .allowed = 1};
	trace_id_t trid = stream_on(0);
	struct ts_event event;
	pthread_t threads[2];

	/* stop waits for what was begun: nobody who asks until there is nothing is told so
	 * too early. */
	threads[0] = begin_hanging(&hanging);
	threads[1] = ts_thread(fill_page_soon, NULL);
	CHECK_OK(posix_trace_stop(trid));
	CHECK(ts_try_next(trid, &event));
	CHECK_EQ(event.info.posix_event_id, hanging.id);
	CHECK(ts_try_next(trid, &event));
	while (event.info.posix_event_id == hanging.id)
		CHECK(ts_try_next(trid, &event));
	CHECK_EQ(event.info.posix_event_id, POSIX_TRACE_STOP);
	ts_join(threads[0]);
	ts_join(threads[1]);
}

TEST(other_writers_go_on_beside_a_hanging_one, "GETNEXT-33 EVENT-16")
{
	enum { writers = 3, count = 2000 };
	struct hanging hanging = {.id = ts_id("hanging"), .rounds = 1, .allowed = 1};
	struct ts_emitter others[writers];
	trace_id_t trid = stream_on(0);
	pthread_t threads[writers];
	uint32_t next[writers] = {0};

	pthread_t thread = begin_hanging(&hanging);
	ts_expect_number(trid, hanging.id, 0);
	for (int w = 0; w < writers; w++) {
		char name[20];
		snprintf(name, sizeof(name), "writer %d", w);
		others[w] = (struct ts_emitter){.id = ts_id(name), .allowed = count};
		threads[w] = ts_thread(ts_emit_on, &others[w]);
	}
	for (int i = 0; i < writers * count; i++) {
		struct ts_event event = ts_next(trid);
		int w = 0;
		while (w < writers && others[w].id != event.info.posix_event_id)
			w++;
		CHECK_LT(w, writers);
		CHECK_EQ(ts_number(&event), next[w]);
		next[w]++;
	}
	for (int w = 0; w < writers; w++) {
		atomic_store(&others[w].is_over, true);
		ts_join(threads[w]);
	}
	fill_slow_page();
	ts_join(thread);
	ts_expect_number(trid, hanging.id, slow_contents);
	ts_expect_none(trid);
}

/* A process that hangs in the middle of its eleventh event. */
struct hanging_process {
	pid_t pid;
	int go[2];   /* a byte to it: the page is to be filled */
	int said[2]; /* a byte from it: it hangs, and then: the event is complete */
};

enum { COMPLETE = 10 };

static void *see_first_thread_hang(void *arg)
{
	struct hanging_process *p = (struct hanging_process *)arg;
	char byte = 0;

	slow_page_wait(&slow);
	CHECK_EQ(write(p->said[1], &byte, 1), 1);
	CHECK_EQ(read(p->go[0], &byte, 1), 1);
	fill_slow_page();
	return NULL;
}

/* Its first thread hangs, which is the one that stays as a zombie. */
static struct hanging_process hanging_process(void)
{
	struct hanging_process p;
	char byte = 0;

	CHECK(close(slow_page_make().fd) == 0);
	CHECK_SYS(pipe(p.go));
	CHECK_SYS(pipe(p.said));
	p.pid = harness_fork();
	if (p.pid == 0) {
		slow = slow_page_make();
		ts_emit_numbers(POSIX_TRACE_UNNAMED_USEREVENT, 0, COMPLETE - 1);
		pthread_t thread = ts_thread(see_first_thread_hang, &p);
		posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, slow.data, sizeof(slow_contents));
		ts_join(thread);
		CHECK_EQ(write(p.said[1], &byte, 1), 1);
		pause();
	}
	CHECK_EQ(read(p.said[0], &byte, 1), 1);
	return p;
}

/* The next event is there now, without a wait for another one. */
static void expect_number_now(trace_id_t trid, trace_event_id_t id, uint32_t number)
{
	struct ts_event event;

	CHECK(ts_try_next(trid, &event));
	CHECK_EQ(event.info.posix_event_id, id);
	CHECK_EQ(ts_number(&event), number);
}

TEST(a_writer_stopped_or_killed_in_the_middle_delays_the_reader_shortly, "GETNEXT-33 EVENT-23")
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = inherited_stream(POSIX_TRACE_LOOP);
	int64_t since_ns = harness_now_ns();
	struct hanging_process p = hanging_process();

	harness_stop(p.pid);
	ts_emit(id, 1);
	for (uint32_t i = 0; i < COMPLETE; i++)
		expect_number_now(trid, POSIX_TRACE_UNNAMED_USEREVENT, i);
	expect_held_back(trid, id, 1, since_ns);
	/* And once only. */
	long naps = harness_naps();
	for (uint32_t n = 2; n < 200; n++) {
		ts_emit(id, n);
		ts_expect_number(trid, id, n);
	}
	CHECK_LT(harness_naps() - naps, 100);
	harness_kill(p.pid);
	ts_emit(id, 200);
	naps = harness_naps();
	ts_expect_number(trid, id, 200);
	CHECK_LT(harness_naps() - naps, 100);
	ts_expect_none(trid);
}

TEST(a_stopped_writer_holds_back_only_what_is_later_than_its_last_event, "GETNEXT-33 GETNEXT-03")
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = inherited_stream(POSIX_TRACE_LOOP);
	char byte = 0;

	ts_emit(id, 0);
	struct hanging_process p = hanging_process();
	ts_emit(id, 1);
	harness_stop(p.pid);
	ts_emit(id, 2);
	expect_number_now(trid, id, 0);
	for (uint32_t i = 0; i < COMPLETE; i++)
		expect_number_now(trid, POSIX_TRACE_UNNAMED_USEREVENT, i);
	/* The reader has not waited, and so has not given the writer up: its event is still in
	 * time. */
	CHECK_SYS(kill(p.pid, SIGCONT));
	CHECK_EQ(write(p.go[1], &byte, 1), 1);
	CHECK_EQ(read(p.said[0], &byte, 1), 1);
	expect_number_now(trid, POSIX_TRACE_UNNAMED_USEREVENT, slow_contents);
	expect_number_now(trid, id, 1);
	expect_number_now(trid, id, 2);
	ts_expect_none(trid);
	harness_kill(p.pid);
}

TEST(unavailable_is_said_only_if_nothing_is_there, "GETNEXT-15 GETNEXT-33 EVENT-23")
{
	enum { later = 50 };
	static const int signals[] = {SIGSTOP, SIGKILL, 0};
	trace_event_id_t id = ts_id("event");

	for (unsigned n = 0; n < sizeof(signals) / sizeof(signals[0]); n++) {
		trace_id_t trid =
			inherited_stream(n % 2 ? POSIX_TRACE_UNTIL_FULL : POSIX_TRACE_LOOP);
		struct hanging_process p = hanging_process();

		CHECK_SYS(kill(p.pid, signals[n]));
		ts_emit_numbers(id, 0, later - 1);
		for (uint32_t i = 0; i < COMPLETE; i++)
			expect_number_now(trid, POSIX_TRACE_UNNAMED_USEREVENT, i);
		for (uint32_t i = 0; i < later; i++)
			expect_number_now(trid, id, i);
		ts_expect_none(trid);
		ts_shutdown(trid);
		harness_kill(p.pid);
	}
}

static bool has_slot(struct ptrc_stream_header *h, int tid)
{
	for (uint32_t i = 0; i < ptrc_slots_used(h); i++)
		if (ptrc_slot_tid(atomic_load(&ptrc_stream_slots(h)[i].owner)) == tid)
			return true;
	return false;
}

TEST(nobody_waits_for_a_zombie_and_it_keeps_no_room, "EVENT-23 GETNEXT-33")
{
	trace_event_id_t id = ts_id("event");
	trace_id_t trid = inherited_stream(POSIX_TRACE_LOOP);
	struct hanging_process p = hanging_process();
	struct ptrc_stream_header *h = find_stream();
	struct ptrc_pool pool = {h, h->chunk_size, h->chunk_count};
	struct ptrc_given_up given_up = {0};
	int64_t left = 1;
	siginfo_t info;

	ts_emit(id, 1);
	CHECK_NE(ptrc_marks_wait(h, &given_up, 0, &left), UINT32_MAX);
	ptrc_slots_reap(&pool, 0, 0, true);
	CHECK(has_slot(h, p.pid));
	CHECK_SYS(kill(p.pid, SIGKILL));
	CHECK_SYS(waitid(P_PID, (id_t)p.pid, &info, WEXITED | WNOWAIT));
	left = 1;
	CHECK_EQ(ptrc_marks_wait(h, &given_up, 0, &left), UINT32_MAX);
	CHECK_EQ(left, 1);
	ptrc_slots_reap(&pool, 0, 0, true);
	CHECK(!has_slot(h, p.pid));
	for (uint32_t i = 0; i < COMPLETE; i++)
		expect_number_now(trid, POSIX_TRACE_UNNAMED_USEREVENT, i);
	expect_number_now(trid, id, 1);
	ts_expect_none(trid);
	harness_reap(p.pid);
}

/*
 * Reader and writers stopped together
 */

struct standstill {
	/* Rounds in which the reader waits. */
	_Atomic uint32_t reading;
	/* ts_realtime_ns when it had begun, and when it was over. */
	_Atomic int64_t begin;
	_Atomic int64_t over;
};

/* fill_page_after_standstill has looked at the clock once: it will see the standstill. */
static atomic_bool is_watching;

/* The writer needs a few milliseconds more after the standstill. */
static void *fill_page_after_standstill(void *arg)
{
	int64_t now, last = harness_now_ns();
	bool is_over = false;

	atomic_store(&is_watching, true);
	for (unsigned left = 10; left > 0; last = now) {
		harness_sleep_ms(1);
		now = harness_now_ns();
		if (is_over)
			left--;
		is_over = is_over || now - last > 100000000;
	}
	fill_slow_page();
	return arg;
}

static struct ts_event poll_next(trace_id_t trid)
{
	struct ts_event event;

	CHECK_EVENTUALLY(ts_try_next(trid, &event));
	return event;
}

static struct standstill *standstill;
static struct ts_event (*standstill_next)(trace_id_t trid);

static bool read_in_standstill(trace_id_t trid, uint32_t round, struct ts_event events[2])
{
	atomic_store(&is_watching, false);
	pthread_t filler = ts_thread(fill_page_after_standstill, NULL);
	CHECK_EVENTUALLY(atomic_load(&is_watching));
	int64_t begin = ts_realtime_ns();
	atomic_store(&standstill->reading, round + 1);
	events[0] = standstill_next(trid);
	events[1] = standstill_next(trid);
	ts_join(filler);
	return atomic_load(&standstill->begin) - begin <= 40000000 &&
	       ts_realtime_ns() - atomic_load(&standstill->over) <= 40000000;
}

static void read_while_stopped_now_and_then(struct ts_event (*next)(trace_id_t trid))
{
	pid_t child, ended = 0;
	int status;

	CHECK(close(slow_page_make().fd) == 0);
	standstill = harness_share(sizeof(*standstill));
	child = harness_fork();
	if (child == 0) {
		standstill_next = next;
		read_beside_a_late_writer(3, 40, read_in_standstill);
		_exit(0);
	}
	for (uint32_t i = 0;; i++) {
		CHECK_EVENTUALLY(atomic_load(&standstill->reading) > i ||
				 (ended = waitpid(child, &status, WNOHANG)));
		if (ended)
			break;
		CHECK_EVENTUALLY(thread_state(child, child) == 'S');
		harness_stop(child);
		atomic_store(&standstill->begin, ts_realtime_ns());
		harness_sleep_ms(150);
		atomic_store(&standstill->over, ts_realtime_ns());
		CHECK_SYS(kill(child, SIGCONT));
	}
	CHECK_EQ(status, 0);
}

TEST(a_writer_that_stood_still_with_a_waiting_reader_is_not_given_up, "GETNEXT-33 GETNEXT-03")
{
	read_while_stopped_now_and_then(ts_next);
}

TEST(a_writer_that_stood_still_with_a_polling_reader_is_not_given_up, "GETNEXT-33 GETNEXT-03")
{
	read_while_stopped_now_and_then(poll_next);
}

/*
 * A writer that wakes a reader, left in the middle
 */

static struct {
	trace_id_t trid;
	trace_event_id_t id;
	_Atomic pid_t reader;
	_Atomic uint32_t read;
} woken;

static void *read_numbers(void *arg)
{
	struct call call;

	atomic_store(&woken.reader, ts_gettid());
	do {
		call = call_next(GETNEXT, woken.trid, sizeof(call.data), NULL);
		CHECK_OK(call.result);
		if (call.info.posix_event_id == woken.id)
			atomic_store(&woken.read, number_in(&call));
	} while (call.info.posix_event_id != POSIX_TRACE_STOP);
	return arg;
}

static sigjmp_buf leave_target;
static volatile sig_atomic_t may_leave;

static void leave(int sig)
{
	(void)sig;
	if (may_leave) {
		may_leave = 0;
		siglongjmp(leave_target, 1);
	}
}

TEST(a_waker_that_is_left_leaves_it_to_the_next, "GETNEXT-06 EVENT-23 EVENT-28")
{
	struct sigaction action = {.sa_handler = leave};
	struct sigevent notify = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
	const uint32_t last_round = 8000 / harness_sample();
	volatile uint32_t number = 0, rounds = 0;
	sigset_t blocked;
	timer_t timer;

	woken.trid = stream_on(0);
	woken.id = ts_id("event");
	CHECK_SYS(sigemptyset(&blocked));
	CHECK_SYS(sigaddset(&blocked, SIGUSR2));
	CHECK_SYS(sigaction(SIGUSR2, &action, NULL));
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &notify, &timer));
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &blocked, NULL));
	pthread_t reader = ts_thread(read_numbers, NULL);
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &blocked, NULL));
	for (; rounds < last_round && harness_has_time(); rounds++) {
		struct itimerspec soon = {.it_value.tv_nsec = 50000 + rounds * 7919 % 100000};
		struct timespec pause = {.tv_nsec = 20000};

		/* The reader is asleep before each event, as a rule. */
		may_leave = 1;
		if (sigsetjmp(leave_target, 1) == 0) {
			CHECK_SYS(timer_settime(timer, 0, &soon, NULL));
			while (may_leave) {
				ts_emit(woken.id, ++number);
				nanosleep(&pause, NULL);
			}
		}
		/* Whatever became of it: the next event wakes. */
		ts_emit(woken.id, ++number);
		for (int64_t since = harness_now_ns(); atomic_load(&woken.read) != number;
		     sched_yield())
			CHECK_LT(harness_now_ns() - since, harness_patience_ms() * 1000000);
	}
	NOTE("%u rounds, %u events", rounds, number);
	CHECK_SYS(timer_delete(timer));
	CHECK_OK(posix_trace_stop(woken.trid));
	ts_join(reader);
	ts_shutdown(woken.trid);
}

#ifdef __x86_64__

/* Goes on with the process up to its call of futex, and kills it before the kernel does anything. */
static void kill_at_futex(pid_t pid)
{
	struct user_regs_struct regs = {0};
	int status;

	CHECK_SYS(waitpid(pid, &status, 0));
	while (regs.orig_rax != SYS_futex) {
		CHECK(WIFSTOPPED(status));
		CHECK_SYS(ptrace(PTRACE_SYSCALL, pid, NULL, NULL));
		CHECK_SYS(waitpid(pid, &status, 0));
		CHECK_SYS(ptrace(PTRACE_GETREGS, pid, NULL, &regs));
	}
	harness_kill(pid);
}

TEST(a_waker_that_is_killed_leaves_it_to_the_next, "GETNEXT-06 EVENT-23")
{
	const struct ptrc_stream_header *h;
	pthread_t reader;
	pid_t pid;

	woken.trid = ts_run_inherited(0, POSIX_TRACE_UNTIL_FULL, ROOMY, 0);
	woken.id = ts_id("event");
	h = find_stream();
	pid = harness_fork();
	if (pid == 0) {
		CHECK_SYS(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		__asm__ volatile("int3" ::: "memory");
		ts_emit(woken.id, 1);
		_exit(0);
	}
	reader = ts_thread(read_numbers, NULL);
	CHECK_EVENTUALLY(atomic_load(&h->waiters) &&
			 thread_state(getpid(), atomic_load(&woken.reader)) == 'S');
	kill_at_futex(pid);
	CHECK_EQ(atomic_load(&woken.read), 0);
	ts_emit(woken.id, 2);
	CHECK_EVENTUALLY(atomic_load(&woken.read) == 2);
	CHECK_OK(posix_trace_stop(woken.trid));
	ts_join(reader);
	ts_shutdown(woken.trid);
}

#endif

/*
 * Reading while others write
 */

struct paced_writer {
	trace_event_id_t id;
	uint32_t writer;
	uint32_t count;
	/* How many events all may have unread; given out before, taken back after. */
	_Atomic int32_t *credit;
};

static void *write_paced(void *arg)
{
	struct paced_writer *self = (struct paced_writer *)arg;
	unsigned char data[128];

	for (uint32_t seq = 1; seq <= self->count; seq++) {
		uint32_t len = payload_len(sizeof(data), self->writer, seq);
		for (;;) {
			int32_t credit = atomic_load(self->credit);
			if (credit > 0 &&
			    atomic_compare_exchange_strong(self->credit, &credit, credit - 1))
				break;
			sched_yield();
		}
		payload_fill(data, len, self->writer, seq);
		posix_trace_event(self->id, data, len);
	}
	return NULL;
}

static void read_while_written(int policy)
{
	enum { writers = 4, count = 8000, stream_bytes = 65536 };
	trace_attr_t attr = ts_inherited_attr(policy, stream_bytes, 128);
	trace_event_id_t id = ts_id("event");
	struct paced_writer args[writers];
	pthread_t threads[2];
	uint32_t last[writers] = {0};
	int64_t last_time = 0;
	_Atomic int32_t *credit = harness_share(4096);

	/* Never more unread than surely fit, START included. */
	atomic_store(credit, (int32_t)(stream_bytes / ts_user_bytes(&attr, 128)) - 8);
	trace_id_t trid = ts_past_start(ts_create_running(0, &attr));
	for (uint32_t w = 0; w < writers; w++)
		args[w] = (struct paced_writer){id, w, count, credit};
	pid_t child = harness_fork();
	if (child == 0) {
		threads[0] = ts_thread(write_paced, &args[0]);
		write_paced(&args[1]);
		ts_join(threads[0]);
		_exit(0);
	}
	threads[0] = ts_thread(write_paced, &args[2]);
	threads[1] = ts_thread(write_paced, &args[3]);
	for (uint32_t i = 0; i < writers * count; i++) {
		struct ts_event event = ts_expect(trid, id);
		uint32_t writer, seq;
		CHECK(payload_read(event.data, event.len, &writer, &seq));
		CHECK_LT(writer, writers);
		CHECK_EQ(seq, last[writer] + 1);
		last[writer] = seq;
		CHECK_GE(ts_time_ns(&event.info.posix_timestamp), last_time);
		last_time = ts_time_ns(&event.info.posix_timestamp);
		atomic_fetch_add(credit, 1);
	}
	ts_join(threads[0]);
	ts_join(threads[1]);
	CHECK_EXIT(child, 0);
	ts_expect_none(trid);
	ts_expect_running(trid);
	ts_shutdown(trid);
}

TEST(reading_disturbs_no_recording, "GETNEXT-34 GETNEXT-03 SIZE-12")
{
	read_while_written(POSIX_TRACE_UNTIL_FULL);
	read_while_written(POSIX_TRACE_LOOP);
}
