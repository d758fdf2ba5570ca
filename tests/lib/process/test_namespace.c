/* SPDX-License-Identifier: MIT */
/*
 * Processes that share /dev/shm but not the numbers of processes: a thread of one pid
 * namespace would be taken for dead, or for another, by those of another one. And those that
 * do not share CLOCK_MONOTONIC, which a stream's clock follows.
 */
#include "tests/support/logs.h"

#include <posixtrace.h>

#include "lib/base/procfs.h"
#include "lib/process/process.h"
#include "lib/process/target.h"
#include "lib/recorder/attach.h"

#define KIB ((size_t)1024)
#define NO_NAMESPACE 77

/* Children of the caller, not itself, are in a pid namespace of their own from now on. Who
 * is not root is another user in there, too, and opens no shared object any more. */
static void bear_elsewhere(bool needs_root)
{
	if (unshare(CLONE_NEWPID) < 0 &&
	    (needs_root || !enter_mount_namespace() || unshare(CLONE_NEWPID) < 0))
		_exit(NO_NAMESPACE);
}

static void reap_or_skip(pid_t pid)
{
	int status = harness_reap(pid);

	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACE)
		SKIP("no such namespace can be made");
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The process page has streams and is traced by none of them, because of the namespace or,
 * without root (bear_elsewhere()), for want of permission. */
static void check_refused(unsigned count)
{
	unsigned refused = 0;

	CHECK_EQ(ptrc_page_self->active, 0);
	for (unsigned i = 0; i < PTRC_PAGE_SLOT_COUNT; i++) {
		if (!ptrc_page_self->slots[i].stream_id)
			continue;
		CHECK(ptrc_page_self->slots[i].error == EXDEV ||
		      ptrc_page_self->slots[i].error == EPERM);
		CHECK(!ptrc_attachments[i].header);
		refused++;
	}
	CHECK_EQ(refused, count);
}

static void *emit_in_thread(void *id)
{
	ts_emit(*(const trace_event_id_t *)id, 1000001);
	return NULL;
}

/* In a child that has joined by the fork: nothing of it is recorded. */
static void emit_elsewhere(trace_event_id_t id, unsigned stream_count)
{
	ts_emit(id, 1000000);
	check_refused(stream_count);
	ts_join(ts_thread(emit_in_thread, &id));
	posixtrace_attach();
	ts_emit(id, 1000002);
	check_refused(stream_count);
	/* A child of it is no better off. */
	if (IN_CHILD()) {
		ts_emit(id, 1000003);
		check_refused(stream_count);
		exit(0);
	}
}

/* A child that bears elsewhere stays one of ours; its own child is not traced. Events 0 to 3
 * are recorded. */
static void emit_around(trace_event_id_t id, void (*bear)(void), unsigned stream_count)
{
	ts_emit(id, 0);
	pid_t pid = harness_fork();
	if (pid == 0) {
		ts_emit(id, 1);
		bear();
		if (IN_CHILD()) {
			emit_elsewhere(id, stream_count);
			exit(0);
		}
		ts_emit(id, 2);
		exit(0);
	}
	reap_or_skip(pid);
	ts_emit(id, 3);
}

/* The two processes of emit_elsewhere() are known as untraced to the stream. */
static void check_counted(trace_id_t trid)
{
	if (geteuid() != 0)
		return;
	CHECK_EQ(ts_figure(trid, "untraced_processes"), 2);
	CHECK_EQ(ts_figure(trid, "untraced_error"), EXDEV);
}

static void bear_in_another_pid_namespace(void)
{
	bear_elsewhere(false);
}

TEST(child_in_another_pid_namespace_records_nothing, "FORK-01")
{
	trace_attr_t attr = ts_inherited_attr(POSIX_TRACE_UNTIL_FULL, 256 * KIB, 0);
	trace_id_t trid = ts_create_running(0, &attr), other = ts_create_running(0, &attr);
	trace_event_id_t id = ts_id("namespace");

	emit_around(id, bear_in_another_pid_namespace, 2);
	for (int i = 0; i < 2; i++) {
		struct ts_events events = ts_read_all(i ? other : trid);
		ts_expect_numbers(&events, id, 0, 3);
		check_counted(i ? other : trid);
	}
	ts_shutdown(trid);
	ts_shutdown(other);
}

TEST(log_is_none_the_worse_for_a_child_in_another_pid_namespace, "FORK-01", NEEDS_KEEPER)
{
	trace_attr_t attr = ts_inherited_attr(POSIX_TRACE_FLUSH, 256 * KIB, 0);
	int fd = ts_temp_file();
	trace_id_t trid = ts_create_log(0, &attr, fd);
	trace_event_id_t id = ts_id("namespace");

	ts_start(trid);
	emit_run(id, 0, 1000, 64);
	pid_t pid = harness_fork();
	if (pid == 0) {
		bear_elsewhere(false);
		if (IN_CHILD()) {
			pid_t grandchild = harness_fork();
			if (grandchild == 0) {
				emit_elsewhere(id, 1);
				/* Nothing is tidied up. */
				raise(SIGKILL);
			}
			int status = harness_reap(grandchild);
			_exit(!WIFSIGNALED(status));
		}
		exit(0);
	}
	reap_or_skip(pid);
	emit_run(id, 1000, 2000, 64);
	ts_flush(trid);
	check_counted(trid);
	ts_expect_logged(trid, fd, id, 0, 1999);
}

TEST(process_in_another_pid_namespace_cannot_be_targeted, "CREATE-14 CREATE-15")
{
	pid_t pid = harness_fork();
	if (pid == 0) {
		trace_id_t trid = 0;
		int ends[2];
		char byte;

		CHECK_SYS(pipe(ends));
		bear_elsewhere(false);
		pid_t child = harness_fork();
		if (child == 0) {
			close(ends[1]);
			(void)!read(ends[0], &byte, 1);
			CHECK_EQ(ptrc_page_self->active, 0);
			exit(0);
		}
		CHECK_EQ(posix_trace_create(child, NULL, &trid), EPERM);
		CHECK_EQ(trid, 0);
		/* Nor by one that is in there, too, where /proc has another process under that number. */
		if (IN_CHILD()) {
			struct ptrc_procfs_status status;

			CHECK_EQ(ptrc_target_status(1, &status), EPERM);
			exit(0);
		}
		close(ends[1]);
		CHECK_EXIT(child, 0);
		exit(0);
	}
	reap_or_skip(pid);
}

/* The keeper would be in the other one. */
TEST(log_of_who_bears_in_another_pid_namespace_is_refused, "CREATE-14", NEEDS_KEEPER)
{
	pid_t pid = harness_fork();
	if (pid == 0) {
		trace_attr_t attr = ts_inherited_attr(POSIX_TRACE_FLUSH, 256 * KIB, 0);
		trace_event_id_t id = ts_id("namespace");
		int fd = ts_temp_file(), before = ts_temp_file();
		trace_id_t trid = 0, old = ts_create_log(0, &attr, before);

		ts_start(old);
		bear_elsewhere(true);
		CHECK_EQ(posix_trace_create_withlog(0, &attr, fd, &trid), EPERM);
		CHECK_EQ(trid, 0);
		/* No harm is done: a keeper there is still at work, and children can be made. */
		emit_run(id, 0, 10, 8);
		ts_flush(old);
		if (IN_CHILD())
			exit(0);
		ts_expect_logged(old, before, id, 0, 9);
		/* A stream without a log needs no keeper. */
		attr = ts_attr(POSIX_TRACE_LOOP, 0, 0);
		trid = ts_create_running(0, &attr);
		ts_emit(id, 7);
		ts_expect(trid, POSIX_TRACE_START);
		ts_expect(trid, id);
		ts_shutdown(trid);
		exit(0);
	}
	reap_or_skip(pid);
}

/*
 * Time namespaces
 */

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* Children of the caller have another CLOCK_MONOTONIC from now on. */
static void bear_in_another_time(void)
{
	static const char offsets[] = "monotonic 1000 0\nboottime 1000 0\n";

	if (unshare(CLONE_NEWTIME) < 0)
		_exit(NO_NAMESPACE);
	int fd = CHECK_SYS(open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC));
	CHECK_EQ(write(fd, offsets, sizeof(offsets) - 1), (ssize_t)sizeof(offsets) - 1);
	close(fd);
}

TEST(child_in_another_time_namespace_records_nothing, "FORK-01 EVENT-11 GETNEXT-03")
{
	trace_attr_t attr = ts_inherited_attr(POSIX_TRACE_UNTIL_FULL, 256 * KIB, 0);
	trace_id_t trid = ts_create_running(0, &attr);
	trace_event_id_t id = ts_id("namespace");

	emit_around(id, bear_in_another_time, 1);
	struct ts_events events = ts_read_all(trid);
	ts_expect_numbers(&events, id, 0, 3);
	check_counted(trid);
	ts_shutdown(trid);
}

TEST(log_of_who_bears_in_another_time_namespace_is_refused, "CREATE-14")
{
	pid_t pid = harness_fork();
	if (pid == 0) {
		trace_attr_t attr = ts_inherited_attr(POSIX_TRACE_FLUSH, 256 * KIB, 0);
		trace_id_t trid = 0;

		bear_in_another_time();
		CHECK_EQ(posix_trace_create_withlog(0, &attr, ts_temp_file(), &trid), EPERM);
		CHECK_EQ(trid, 0);
		exit(0);
	}
	reap_or_skip(pid);
}
