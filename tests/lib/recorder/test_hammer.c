/* SPDX-License-Identifier: MIT */
/*
 * Everything at once: threads of several processes record events that prove themselves
 * (tests/support/payload.h), timers interrupt them with handlers that record too and now and then
 * leave by siglongjmp, processes are killed, stopped and replaced, and a reader beside
 * them checks that nothing is damaged, duplicated, missing or backward.
 *
 * PTRC_HAMMER_MS is how long each case goes on; 2000 by default, less for a sample.
 */
#include "tests/support/support.h"

#include <setjmp.h>

#include "tests/support/payload.h"

#define SLOTS 4U
#define THREADS 2U
#define WRITERS_MAX (1U << 20)
#define DATA_MAX 120U
#define TIMER_US 400

/*
 * A writer is a sequence 1, 2, 3, ... of events of one thread that is never left by
 * siglongjmp; whoever leaves one begins a new one. So the events of a writer that must
 * be there are 1 to `completed', and at most one more may.
 */
struct writer_progress {
	_Atomic uint32_t started;
	_Atomic uint32_t completed;
	/* The last one that took so long that the reader need not have waited for it. */
	_Atomic uint32_t slow;
};

/* Well below what the reader waits for a writer at work. */
#define SLOW_NS INT64_C(50000000)

struct shared {
	_Atomic bool stop;
	_Atomic uint32_t writers;
	_Atomic uint64_t written;
	_Atomic uint64_t read;
	/* Writers hold back while so many are unread; 0: never. */
	uint64_t most_unread;
	trace_event_id_t id;
	_Atomic uint32_t handlers, jumps;
	struct writer_progress progress[WRITERS_MAX];
};

static struct shared *shared;

/* What the reader knows. */
struct reader_view {
	uint32_t last[WRITERS_MAX];
	uint32_t gap_seen[WRITERS_MAX];
	int64_t time;
	uint32_t gaps, late;
	uint64_t events;
	/* Events may be missing anywhere: streams were stopped, cleared. */
	bool is_lossy;
};

static struct reader_view *view;

/*
 * Writing
 */

static _Thread_local uint32_t own_writer, handler_writer;
static _Thread_local uint32_t own_seq, handler_seq, handler_calls;
static _Thread_local volatile bool is_in_event;
static _Thread_local sigjmp_buf jump_target;

static uint32_t new_writer(void)
{
	uint32_t writer = atomic_fetch_add(&shared->writers, 1);

	if (writer >= WRITERS_MAX)
		harness_fail("out of writers");
	return writer;
}

static void write_one(uint32_t writer, uint32_t seq)
{
	struct writer_progress *progress = &shared->progress[writer];
	unsigned char data[DATA_MAX];
	uint32_t len = payload_len(DATA_MAX, writer, seq);

	payload_fill(data, len, writer, seq);
	int64_t begin = harness_now_ns();
	atomic_store(&progress->started, seq);
	posix_trace_event(shared->id, data, len);
	if (harness_now_ns() - begin > SLOW_NS)
		atomic_store(&progress->slow, seq);
	atomic_store(&progress->completed, seq);
	atomic_fetch_add(&shared->written, 1);
}

static void on_timer(int sig)
{
	int saved = errno;

	(void)sig;
	atomic_fetch_add(&shared->handlers, 1);
	write_one(handler_writer, ++handler_seq);
	if (is_in_event && ++handler_calls % 4 == 0) {
		is_in_event = false;
		atomic_fetch_add(&shared->jumps, 1);
		errno = saved;
		siglongjmp(jump_target, 1);
	}
	errno = saved;
}

static void be_interrupted_every(long us)
{
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	struct sigevent notify = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	struct itimerspec every = {{0, us * 1000}, {0, us * 1000}};
	timer_t timer;

	CHECK_SYS(sigaction(SIGUSR1, &action, NULL));
	notify._sigev_un._tid = ts_gettid();
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &notify, &timer));
	CHECK_SYS(timer_settime(timer, 0, &every, NULL));
}

static void *write_until_stopped(void *arg)
{
	sigset_t set;

	handler_writer = new_writer();
	handler_seq = 0;
	own_writer = new_writer();
	own_seq = 0;
	if (arg)
		be_interrupted_every(TIMER_US);
	if (sigsetjmp(jump_target, 1) != 0) {
		own_writer = new_writer();
		own_seq = 0;
	}
	while (!atomic_load(&shared->stop)) {
		while (shared->most_unread && !atomic_load(&shared->stop) &&
		       atomic_load(&shared->written) >
			       atomic_load(&shared->read) + shared->most_unread)
			sched_yield();
		own_seq++;
		is_in_event = true;
		write_one(own_writer, own_seq);
		is_in_event = false;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	return NULL;
}

static pid_t begin_process(void)
{
	pid_t pid = harness_fork();

	if (pid == 0) {
		pthread_t threads[THREADS];
		for (uint32_t t = 1; t < THREADS; t++)
			threads[t] = ts_thread(write_until_stopped, &threads[t]);
		write_until_stopped(threads);
		for (uint32_t t = 1; t < THREADS; t++)
			ts_join(threads[t]);
		_exit(0);
	}
	return pid;
}

/* Kills, replaces, stops and continues the writing processes. */
struct keeper_of_processes {
	pid_t pids[SLOTS];
	uint32_t kills, stops;
};

static void *kill_and_replace(void *arg)
{
	struct keeper_of_processes *self = (struct keeper_of_processes *)arg;

	for (uint32_t turn = 0; !atomic_load(&shared->stop); turn++) {
		pid_t *pid = &self->pids[turn % SLOTS];
		if (turn % 5 == 4) {
			harness_stop(*pid);
			harness_sleep_ms(1);
			CHECK_SYS(kill(*pid, SIGCONT));
			self->stops++;
		} else {
			CHECK_SYS(kill(*pid, SIGKILL));
			int status = harness_reap(*pid);
			CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
			*pid = begin_process();
			self->kills++;
		}
		harness_sleep_ms(4);
	}
	return NULL;
}

/*
 * Reading
 */

/* A late report is right only if its writer was stopped, or got no processor, for long in
 * the middle of the call (GETNEXT-33); one that did not return may have been, too. */
static void excuse_late_one(const struct ts_event *event, int64_t time)
{
	uint32_t writer, seq;
	int64_t end = harness_now_ns() + INT64_C(300000000);

	if (event->info.posix_event_id == shared->id) {
		CHECK(payload_read(event->data, event->len, &writer, &seq));
		CHECK_LT(writer, WRITERS_MAX);
		while (atomic_load(&shared->progress[writer].completed) < seq &&
		       harness_now_ns() < end)
			sched_yield();
		if (atomic_load(&shared->progress[writer].completed) < seq ||
		    atomic_load(&shared->progress[writer].slow) == seq) {
			view->late++;
			return;
		}
	}
	harness_fail("event %u is %lld ns older than the one reported before",
		     event->info.posix_event_id, (long long)(view->time - time));
}

static void look_at(const struct ts_event *event)
{
	int64_t time = ts_time_ns(&event->info.posix_timestamp);
	uint32_t writer, seq;

	if (time < view->time)
		excuse_late_one(event, time);
	else
		view->time = time;
	if (event->info.posix_event_id == POSIX_TRACE_OVERFLOW)
		view->gaps++;
	if (event->info.posix_event_id != shared->id) {
		CHECK_LE(event->info.posix_event_id, POSIX_TRACE_FLUSH_STOP);
		return;
	}
	view->events++;
	CHECK(payload_read(event->data, event->len, &writer, &seq));
	CHECK_LT(writer, atomic_load(&shared->writers));
	CHECK_GT(seq, view->last[writer]);
	CHECK_LE(seq, atomic_load(&shared->progress[writer].started));
	if (view->gap_seen[writer] == view->gaps && !view->is_lossy)
		CHECK_EQ(seq, view->last[writer] + 1);
	view->last[writer] = seq;
	view->gap_seen[writer] = view->gaps;
}

static void read_for_a_time(trace_id_t trid)
{
	const char *text = getenv("PTRC_HAMMER_MS");
	int64_t end =
		harness_now_ns() + (text ? atoi(text) : 2000) * INT64_C(1000000) / harness_sample();

	while (harness_now_ns() < end || view->events < 1000) {
		struct ts_event event;
		if (!ts_try_next(trid, &event)) {
			sched_yield();
			continue;
		}
		atomic_fetch_add(&shared->read, 1);
		look_at(&event);
		ts_event_free(&event);
	}
}

/* Up to an event of this thread, the newest: "unavailable" may be said, for a moment,
 * because of the dead. */
static void read_the_rest(trace_id_t trid)
{
	uint32_t writer = new_writer();

	write_one(writer, 1);
	while (view->last[writer] == 0) {
		struct ts_event event = ts_next(trid);
		look_at(&event);
		ts_event_free(&event);
	}
}

static void prepare(uint64_t most_unread)
{
	shared = harness_share(sizeof(*shared));
	view = harness_share(sizeof(*view));
	shared->id = ts_id("hammer");
	shared->most_unread = most_unread;
}

static trace_id_t hammer(int policy, size_t stream_bytes, uint64_t most_unread,
			 void *(*disturb)(void *))
{
	struct keeper_of_processes keeper = {.kills = 0};
	pthread_t killer, own, disturber;

	prepare(most_unread);
	view->is_lossy = disturb != NULL;
	trace_id_t trid = ts_run_inherited(0, policy, stream_bytes, DATA_MAX);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		keeper.pids[slot] = begin_process();
	own = ts_thread(write_until_stopped, NULL);
	killer = ts_thread(kill_and_replace, &keeper);
	if (disturb)
		disturber = ts_thread(disturb, &trid);
	read_for_a_time(trid);
	atomic_store(&shared->stop, true);
	ts_join(killer);
	ts_join(own);
	if (disturb)
		ts_join(disturber);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		CHECK_EXIT(keeper.pids[slot], 0);
	read_the_rest(trid);
	NOTE("%" PRIu64 " events read, %u gaps, %u late, %u kills, %u stops, %u handlers, %u left",
	     view->events, view->gaps, view->late, keeper.kills, keeper.stops,
	     atomic_load(&shared->handlers), atomic_load(&shared->jumps));
	return trid;
}

TEST(nothing_is_lost_while_there_is_room,
     "EVENT-16 EVENT-17 EVENT-23 EVENT-28 EVENT-13 GETNEXT-03 GETNEXT-04 GETNEXT-33 GETNEXT-34 SIZE-11",
     NEEDS_THREADED_FORK)
{
	const size_t stream_bytes = (size_t)8 << 20;
	trace_attr_t attr = ts_attr(0, 0, DATA_MAX);
	uint32_t writers, missing = 0;

	/* Half is left for handlers, which do not wait, and for what the killed took. */
	trace_id_t trid = hammer(POSIX_TRACE_UNTIL_FULL, stream_bytes,
				 stream_bytes / ts_user_bytes(&attr, DATA_MAX) / 2, NULL);
	ts_expect_running(trid);
	CHECK_EQ(view->gaps, 0);
	writers = atomic_load(&shared->writers);
	for (uint32_t writer = 0; writer < writers; writer++) {
		uint32_t completed = atomic_load(&shared->progress[writer].completed);
		uint32_t started = atomic_load(&shared->progress[writer].started);
		CHECK_GE(view->last[writer], completed);
		CHECK_LE(view->last[writer], started);
		CHECK_LE(started, completed + 1);
		missing += started - view->last[writer];
	}
	NOTE("%u writers, %u events unfinished", writers, missing);
}

TEST(a_small_loop_stream_stays_sound,
     "EVENT-16 EVENT-23 EVENT-28 GETNEXT-03 GETNEXT-04 POLICY-13 POLICY-14 SYSEVENT-18",
     NEEDS_THREADED_FORK)
{
	trace_id_t trid = hammer(POSIX_TRACE_LOOP, 65536, 0, NULL);

	CHECK_GT(view->events, 0);
	CHECK_EQ(ts_status(trid).posix_stream_status, POSIX_TRACE_RUNNING);
	/* And works as before. */
	ts_expect_none(trid);
	uint32_t next = ts_flood(65536, shared->id, 100, 0);
	struct ts_events all = ts_read_all(trid);
	CHECK_EQ(ts_number(&all.at[all.count - 1]), next - 1);
	CHECK_EQ(ts_count(&all, POSIX_TRACE_OVERFLOW), 1);
	ts_expect_numbers(&all, shared->id, next - (uint32_t)(all.count - 2), next - 1);
}

static void *start_and_stop(void *arg)
{
	trace_id_t trid = *(trace_id_t *)arg;
	trace_event_set_t set = ts_set(ts_id("other"), 0);

	for (uint32_t turn = 0; !atomic_load(&shared->stop); turn++) {
		ts_stop(trid);
		ts_start(trid);
		ts_set_filter(trid, &set,
			      turn % 2 ? POSIX_TRACE_ADD_EVENTSET : POSIX_TRACE_SUB_EVENTSET);
		if (turn % 7 == 0)
			ts_clear(trid);
		(void)ts_status(trid);
		harness_sleep_ms(1);
	}
	return NULL;
}

TEST(calls_of_the_controller_damage_nothing,
     "EVENT-16 EVENT-23 EVENT-28 GETNEXT-03 GETNEXT-04 CLEAR-13 GEN-01", NEEDS_THREADED_FORK)
{
	trace_id_t trid = hammer(POSIX_TRACE_LOOP, 131072, 0, start_and_stop);

	CHECK_GT(view->events, 0);
	ts_clear(trid);
	ts_emit(shared->id, 4711);
	ts_expect_number(trid, shared->id, 4711);
}
