/* SPDX-License-Identifier: MIT */
/* Cursors: events of an active stream that are read without being taken out. */
#include "tests/support/logs.h"

#include <posixtrace-control.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

static struct posixtrace_cursor *open_cursor(trace_id_t trid, int flags)
{
	struct posixtrace_cursor *cursor;

	CHECK_OK(posixtrace_cursor_open(trid, flags, &cursor));
	return cursor;
}

/* The next event, false if there is none. */
static bool next(struct posixtrace_cursor *cursor, struct posix_trace_event_info *info,
		 uint32_t *number)
{
	size_t size;
	int unavailable;

	CHECK_OK(posixtrace_cursor_trygetnext_event(cursor, info, number, sizeof(*number), &size,
						    &unavailable));
	return !unavailable;
}

/* Reads user events, which are numbered from `first` on, to the end. The number after the last. */
static uint32_t read_numbers(struct posixtrace_cursor *cursor, uint32_t first)
{
	struct posix_trace_event_info info;
	uint32_t number;

	while (next(cursor, &info, &number))
		if (info.posix_event_id >= POSIX_TRACE_UNNAMED_USEREVENT)
			CHECK_EQ(number, first++);
	return first;
}

static void emit(trace_event_id_t id, uint32_t from, uint32_t to)
{
	ts_emit_numbers(id, from, to - 1);
}

static unsigned long missed(struct posixtrace_cursor *cursor)
{
	unsigned long count;

	CHECK_OK(posixtrace_cursor_get_missed(cursor, &count));
	return count;
}

TEST(cursors_take_nothing_away_from_each_other_and_from_who_reads, "")
{
	trace_id_t trid = ts_create_running(0, NULL);
	trace_event_id_t id = ts_id("event");
	struct posixtrace_cursor *first = open_cursor(trid, 0);

	emit(id, 0, 10);
	CHECK_EQ(read_numbers(first, 0), 10u);
	struct posixtrace_cursor *second = open_cursor(trid, 0);
	emit(id, 10, 30);
	CHECK_EQ(read_numbers(second, 0), 30u);
	CHECK_EQ(read_numbers(first, 10), 30u);
	struct ts_events all = ts_read_all(trid);
	/* START is among them. */
	CHECK_EQ(all.count, 31u);
	CHECK_EQ(missed(first), 0u);
	posixtrace_cursor_close(first);
	CHECK_EQ(read_numbers(second, 30), 30u);
}

TEST(a_full_stream_that_cursors_have_read_stays_full, "")
{
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 64 * KIB, 0);
	struct posixtrace_cursor *cursor = open_cursor(trid, 0);
	uint32_t end = ts_fill(trid, 64 * KIB, ts_id("event"), 4, 0);

	CHECK(read_numbers(cursor, 0) <= end);
	CHECK_EQ(ts_status(trid).posix_stream_status, POSIX_TRACE_SUSPENDED);
	CHECK_EQ(ts_status(trid).posix_stream_full_status, POSIX_TRACE_FULL);
}

TEST(a_snapshot_ends_with_what_was_there, "")
{
	static const int policies[] = {POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL};
	trace_event_id_t id = ts_id("event");

	for (int i = 0; i < 2; i++) {
		trace_id_t trid = ts_run(policies[i], 64 * KIB, 0);
		emit(id, 0, 10);
		struct posixtrace_cursor *snapshot = open_cursor(trid, POSIXTRACE_CURSOR_SNAPSHOT);
		struct posixtrace_cursor *follower = open_cursor(trid, 0);
		emit(id, 10, 20);
		CHECK_EQ(read_numbers(snapshot, 0), 10u);
		CHECK_EQ(read_numbers(snapshot, 10), 10u);
		CHECK_EQ(read_numbers(follower, 0), 20u);
		ts_shutdown(trid);
	}
}

/* Reads to the end. The number of events, without those that the cursor makes up; and how many gaps
 * there were. */
static unsigned long count_events(struct posixtrace_cursor *cursor, unsigned *gaps)
{
	struct posix_trace_event_info info;
	unsigned long count = 0;
	uint32_t number;

	*gaps = 0;
	while (next(cursor, &info, &number)) {
		*gaps += info.posix_event_id == POSIX_TRACE_OVERFLOW;
		count += info.posix_event_id != POSIX_TRACE_OVERFLOW &&
			 info.posix_event_id != POSIX_TRACE_RESUME;
	}
	return count;
}

TEST(what_was_overwritten_before_a_cursor_came_is_told_and_counted, "")
{
	enum { ROUNDS = 3, EVENTS = 20000 };
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, 64 * KIB, 0);
	trace_event_id_t id = ts_id("event");
	struct posixtrace_cursor *slow = open_cursor(trid, 0);
	struct posixtrace_cursor *fast = open_cursor(trid, 0);
	unsigned long read = 0, quick = 0;
	unsigned gaps;

	for (uint32_t i = 0; i < EVENTS; i++) {
		ts_emit(id, i);
		if (i % 100 == 0) {
			quick += count_events(fast, &gaps);
			CHECK_EQ(gaps, 0u);
		}
	}
	quick += count_events(fast, &gaps);
	/* START is one more. */
	CHECK_EQ(quick, EVENTS + 1ul);
	CHECK_EQ(missed(fast), 0u);
	read += count_events(slow, &gaps);
	CHECK_EQ(gaps, 1u);
	CHECK(missed(slow) > 0);
	CHECK_EQ(read + missed(slow), EVENTS + 1ul);
	/* What was lost before is nothing that a new one has missed, and only a snapshot tells it. */
	struct posixtrace_cursor *late = open_cursor(trid, 0);
	CHECK(count_events(late, &gaps) > 0);
	CHECK_EQ(gaps, 0u);
	CHECK_EQ(missed(late), 0u);
	posixtrace_cursor_close(late);
	late = open_cursor(trid, POSIXTRACE_CURSOR_SNAPSHOT);
	CHECK(count_events(late, &gaps) > 0);
	CHECK_EQ(gaps, 1u);
}

struct flood {
	trace_event_id_t id;
	_Atomic bool is_over;
	_Atomic uint32_t count;
};

/* Records as fast as it can, but lets others go first who share the processor. */
static void *flood(void *arg)
{
	struct flood *f = arg;

	CHECK_SYS(setpriority(PRIO_PROCESS, (id_t)ts_gettid(), 10));
	while (!atomic_load(&f->is_over))
		ts_emit(f->id, f->count++);
	return NULL;
}

/* Reads a snapshot of what one thread has numbered. The events behind the gap are there one and all; how
 * many they are. */
static uint32_t count_newest(struct posixtrace_cursor *snapshot)
{
	struct posix_trace_event_info info;
	uint32_t number, before = 0, count = 0;
	bool has_resumed = false;

	while (next(snapshot, &info, &number)) {
		if (info.posix_event_id == POSIX_TRACE_RESUME) {
			CHECK(!has_resumed);
			has_resumed = true;
			count = 0;
		}
		if (info.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT)
			continue;
		if (count++)
			CHECK_EQ(number, before + 1);
		before = number;
	}
	CHECK(has_resumed);
	return count;
}

TEST(a_snapshot_of_a_stream_that_is_overwritten_fast_has_the_better_part_of_it, "")
{
	enum { SIZE = 4 * MIB };
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, SIZE, 0);
	struct flood f = {.id = ts_id("event")};
	struct posixtrace_cursor *snapshot;
	uint32_t count = 0, most = 0, full;
	pthread_t thread;

	thread = ts_thread(flood, &f);
	CHECK_EVENTUALLY(ts_status(trid).posix_stream_overrun_status == POSIX_TRACE_OVERRUN);
	/* This process may have to give its processor away again and again. */
	do {
		snapshot = open_cursor(trid, POSIXTRACE_CURSOR_SNAPSHOT);
		/* What comes now changes nothing in it. */
		uint32_t now = f.count;
		CHECK_EVENTUALLY(f.count > now + 1000);
		count = count_newest(snapshot);
		if (count > most)
			most = count;
		posixtrace_cursor_close(snapshot);
	} while (most < SIZE / 24 / 2);
	atomic_store(&f.is_over, true);
	ts_join(thread);
	/* Nothing moves any more: all of it, and nothing is missed. */
	snapshot = open_cursor(trid, POSIXTRACE_CURSOR_SNAPSHOT);
	full = count_newest(snapshot);
	CHECK_EQ(missed(snapshot), 0u);
	NOTE("%u of %u events", most, full);
	CHECK(most > full / 2);
}

#ifdef __x86_64__

/* A controller that makes a snapshot is stopped after its barrier, when it knows which events the snapshot
 * is to have, and a few times while it copies them. Each time the process that it traces records events. */
static void record_while_a_snapshot_is_made(pid_t pid, trace_event_id_t id, uint32_t number)
{
	struct user_regs_struct regs = {0};
	int status;

	while (regs.orig_rax != SYS_membarrier) {
		CHECK_SYS(ptrace(PTRACE_SYSCALL, pid, NULL, NULL));
		CHECK_SYS(waitpid(pid, &status, 0));
		CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
		CHECK_SYS(ptrace(PTRACE_GETREGS, pid, NULL, &regs));
	}
	for (uint32_t steps = 0; steps < 12000; steps++) {
		if (steps % 2000 == 0)
			for (int i = 0; i < 100; i++)
				ts_emit(id, number++);
		CHECK_SYS(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
		CHECK_SYS(waitpid(pid, &status, 0));
		CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	}
	CHECK_SYS(ptrace(PTRACE_DETACH, pid, NULL, NULL));
}

TEST(what_is_overwritten_while_a_snapshot_is_made_is_missed_by_it, "")
{
	enum { SIZE = 16384 };
	trace_event_id_t id = ts_id("event");
	pid_t target = getpid(), pid = harness_fork();
	int status;

	if (pid == 0) {
		trace_id_t trid = ts_run_of(target, POSIX_TRACE_LOOP, SIZE, 0);
		struct posixtrace_cursor *snapshot;
		uint32_t count;

		CHECK_SYS(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		__asm__ volatile("int3" ::: "memory");
		snapshot = open_cursor(trid, POSIXTRACE_CURSOR_SNAPSHOT);
		count = count_newest(snapshot);
		NOTE("%u events, %lu missed", count, missed(snapshot));
		CHECK(missed(snapshot) > 0);
		CHECK_GE(count + missed(snapshot), SIZE / 24);
		posixtrace_cursor_close(snapshot);
		ts_shutdown(trid);
		_exit(0);
	}
	CHECK_SYS(waitpid(pid, &status, 0));
	emit(id, 0, SIZE);
	record_while_a_snapshot_is_made(pid, id, SIZE);
	CHECK_EXIT(pid, 0);
}

#endif

TEST(a_snapshot_of_a_stream_that_is_overwritten_stays_when_the_stream_is_cleared, "")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, 64 * KIB, 0);
	trace_event_id_t id = ts_id("event");

	emit(id, 0, 100);
	struct posixtrace_cursor *snapshot = open_cursor(trid, POSIXTRACE_CURSOR_SNAPSHOT);
	CHECK_OK(posix_trace_clear(trid));
	emit(id, 100, 5000);
	CHECK_EQ(read_numbers(snapshot, 0), 100u);
	CHECK_EQ(missed(snapshot), 0u);
}

TEST(a_snapshot_that_finds_no_memory_is_enomem, "", NEEDS_ADDRESS_LIMIT)
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, 16 * MIB, 0);
	struct posixtrace_cursor *snapshot;
	struct rlimit limit;

	CHECK_SYS(getrlimit(RLIMIT_AS, &limit));
	limit_address_space(8 * MIB);
	CHECK_EQ(posixtrace_cursor_open(trid, POSIXTRACE_CURSOR_SNAPSHOT, &snapshot), ENOMEM);
	CHECK_SYS(setrlimit(RLIMIT_AS, &limit));
	posixtrace_cursor_close(open_cursor(trid, POSIXTRACE_CURSOR_SNAPSHOT));
}

TEST(what_was_flushed_before_a_cursor_came_is_counted, "", NEEDS_KEEPER)
{
	trace_attr_t attr = log_attr(POSIX_TRACE_UNTIL_FULL, 8 * MIB, POSIX_TRACE_APPEND, 0);
	trace_id_t trid = ts_create_log(0, &attr, ts_temp_file());
	trace_event_id_t id = ts_id("event");
	struct posixtrace_cursor *cursor = open_cursor(trid, 0);
	unsigned gaps;

	ts_start(trid);
	emit(id, 0, 10);
	CHECK_EQ(read_numbers(cursor, 0), 10u);
	emit(id, 10, 17);
	ts_flush(trid);
	emit(id, 17, 20);
	CHECK_EQ(read_numbers(cursor, 17), 20u);
	CHECK_EQ(missed(cursor), 7u);
	ts_flush(trid);
	CHECK_EQ(missed(cursor), 7u);
	ts_clear(trid);
	CHECK_EQ(missed(cursor), 0u);
	emit(id, 0, 5);
	CHECK_EQ(count_events(cursor, &gaps), 5u);
	CHECK_EQ(missed(cursor), 0u);
}

/* Has the cursor report this type alone, or none if the name is null. */
static void select_type(struct posixtrace_cursor *cursor, const char *name)
{
	trace_event_set_t set = ts_set(name ? ts_id(name) : 0, 0);
	CHECK_OK(posixtrace_cursor_select(cursor, &set));
}

TEST(a_cursor_reports_the_types_that_are_wanted, "")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, 64 * KIB, 0);
	struct posixtrace_cursor *cursor = open_cursor(trid, 0);
	struct posix_trace_event_info info;
	uint32_t number;
	unsigned gaps;

	select_type(cursor, "rare");
	for (uint32_t i = 0; i < 30000; i++) {
		ts_emit(ts_id(i % 1000 ? "event" : "rare"), i);
		/* The stream overwrites what the cursor has walked over. That is no gap. */
		if (i % 100 == 0)
			for (uint32_t j = i % 1000 == 0; next(cursor, &info, &number); j--) {
				CHECK_EQ(info.posix_event_id, ts_id("rare"));
				CHECK_EQ(number, i);
				CHECK_EQ(j, 1u);
			}
	}
	CHECK_EQ(missed(cursor), 0u);
	/* What is overwritten before is a gap, of which it is not known whether it has such events. */
	emit(ts_id("event"), 0, 30000);
	ts_emit(ts_id("rare"), 7);
	CHECK_EQ(count_events(cursor, &gaps), 1u);
	CHECK_EQ(gaps, 1u);
	CHECK(missed(cursor) > 0);
	/* STOP, the first event after the gap, is not wanted either. */
	emit(ts_id("event"), 0, 30000);
	ts_stop(trid);
	ts_start(trid);
	ts_emit(ts_id("rare"), 8);
	CHECK_EQ(count_events(cursor, &gaps), 1u);
	CHECK_EQ(gaps, 1u);
	/* The last call counts, also for types that nobody had opened when it was made. */
	emit(ts_id("rare"), 0, 5);
	select_type(cursor, NULL);
	CHECK_EQ(count_events(cursor, &gaps), 0u);
	select_type(cursor, "later");
	emit(ts_id("later"), 0, 5);
	emit(ts_id("rare"), 0, 5);
	CHECK_EQ(count_events(cursor, &gaps), 5u);
}

TEST(a_cursor_that_skips_events_obeys_the_filter_of_their_time, "")
{
	trace_id_t trid = ts_create_running(0, NULL);
	struct posixtrace_cursor *cursor = open_cursor(trid, 0);
	trace_event_set_t set = ts_set(ts_id("wanted"), 0);
	unsigned gaps;

	select_type(cursor, "wanted");
	emit(ts_id("wanted"), 0, 3);
	ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
	emit(ts_id("wanted"), 3, 9);
	emit(ts_id("other"), 3, 9);
	ts_set_filter(trid, &set, POSIX_TRACE_SUB_EVENTSET);
	emit(ts_id("wanted"), 9, 11);
	CHECK_EQ(count_events(cursor, &gaps), 5u);
	CHECK_EQ(missed(cursor), 0u);
}

/* The filter is removed, which the readers do not see, as the event of this is taken away. */
static void expect_filter_is_gone(trace_id_t trid, struct posixtrace_cursor *cursor, bool is_logged)
{
	trace_event_set_t set = ts_set(ts_id("late"), 0);
	unsigned gaps;

	ts_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
	count_events(cursor, &gaps);
	if (is_logged)
		ts_read_all(trid);
	ts_set_filter(trid, &set, POSIX_TRACE_SUB_EVENTSET);
	if (is_logged)
		ts_flush(trid);
	ts_read_all(trid);
	emit(ts_id("late"), 0, 3);
	CHECK_EQ(read_numbers(cursor, 0), 3u);
	for (uint32_t i = 0; i < 3; i++)
		ts_expect_number(trid, ts_id("late"), i);
}

TEST(who_has_missed_that_a_filter_was_removed_reads_all_events, "", NEEDS_KEEPER)
{
	trace_id_t trid = ts_create_running(0, NULL);
	trace_attr_t attr = ts_attr(POSIX_TRACE_LOOP, 1 << 20, 64);

	expect_filter_is_gone(trid, open_cursor(trid, 0), false);
	ts_shutdown(trid);
	trid = ts_create_log(0, &attr, ts_temp_file());
	ts_start(trid);
	expect_filter_is_gone(trid, open_cursor(trid, 0), true);
}

enum { ROUNDS = 400, PER_ROUND = 1000 };
static uint32_t hot_limit, hot_count;

/* Records up to hot_limit events, as fast as it can. */
static void *hot(void *unused)
{
	trace_event_id_t id = ts_id("hot");

	(void)unused;
	for (uint32_t i = 0; i < ROUNDS * PER_ROUND; i++) {
		while (i == __atomic_load_n(&hot_limit, __ATOMIC_ACQUIRE))
			sched_yield();
		ts_emit(id, i);
		__atomic_store_n(&hot_count, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* While the filter changes, the stream also has events that the old filter or the new one excludes. */
TEST(a_cursor_has_the_events_that_a_reader_has_while_the_filter_changes, "")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, 16 * MIB, 64);
	struct posixtrace_cursor *cursor = open_cursor(trid, 0);
	trace_event_set_t set = ts_set(ts_id("hot"), 0);
	struct posix_trace_event_info info;
	uint32_t number;
	pthread_t thread;

	ts_set_filter(trid, &set, POSIX_TRACE_ADD_EVENTSET);
	CHECK_OK(pthread_create(&thread, NULL, hot, NULL));
	for (uint32_t i = 0; i < ROUNDS; i++) {
		unsigned long seen = 0, taken = 0;
		struct ts_event event;

		__atomic_store_n(&hot_limit, (i + 1) * PER_ROUND, __ATOMIC_RELEASE);
		ts_set_filter(trid, &set, POSIX_TRACE_SUB_EVENTSET);
		ts_set_filter(trid, &set, POSIX_TRACE_ADD_EVENTSET);
		while (__atomic_load_n(&hot_count, __ATOMIC_ACQUIRE) < (i + 1) * PER_ROUND)
			sched_yield();
		while (next(cursor, &info, &number))
			seen += info.posix_event_id == ts_id("hot");
		while (ts_try_next(trid, &event)) {
			taken += event.info.posix_event_id == ts_id("hot");
			ts_event_free(&event);
		}
		CHECK_EQ(seen, taken);
	}
	CHECK_OK(pthread_join(thread, NULL));
}

TEST(cursors_of_what_is_no_active_stream_are_refused, "")
{
	trace_id_t trid = ts_create_running(0, NULL);
	struct posixtrace_cursor *cursor = open_cursor(trid, 0);
	struct posixtrace_cursor *other;
	struct posix_trace_event_info info;
	trace_event_set_t set = ts_set(0), no_set = {0};
	unsigned long count;
	size_t size = 1;
	int unavailable = 0;

	CHECK_EQ(posixtrace_cursor_open(trid, 2, &other), EINVAL);
	CHECK_EQ(posixtrace_cursor_open(trid, 0, NULL), EINVAL);
	CHECK_EQ(posixtrace_cursor_trygetnext_event(NULL, &info, NULL, 0, &size, &unavailable),
		 EINVAL);
	CHECK_EQ(unavailable, 1);
	CHECK_EQ(posixtrace_cursor_trygetnext_event(cursor, &info, NULL, 1, &size, &unavailable),
		 EINVAL);
	CHECK_EQ(posixtrace_cursor_get_missed(cursor, NULL), EINVAL);
	CHECK_EQ(posixtrace_cursor_select(NULL, &set), EINVAL);
	CHECK_EQ(posixtrace_cursor_select(cursor, NULL), EINVAL);
	CHECK_EQ(posixtrace_cursor_select(cursor, &no_set), EINVAL);
	ts_shutdown(trid);
	CHECK_EQ(posixtrace_cursor_select(cursor, &set), EINVAL);
	CHECK_EQ(posixtrace_cursor_open(trid, 0, &other), EINVAL);
	CHECK_EQ(posixtrace_cursor_trygetnext_event(cursor, &info, NULL, 0, &size, &unavailable),
		 EINVAL);
	CHECK_EQ(posixtrace_cursor_get_missed(cursor, &count), EINVAL);
	posixtrace_cursor_close(cursor);
	posixtrace_cursor_close(NULL);
}
