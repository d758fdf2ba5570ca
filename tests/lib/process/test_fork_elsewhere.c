/* SPDX-License-Identifier: MIT */
/*
 * Children of a process that can open its streams no longer, because it has changed its user, its
 * root directory, or what is mounted at /dev/shm. Root only.
 */
#include "tests/lib/process/children.h"

#include <fcntl.h>
#include <sys/mount.h>

enum { USER, ROOT, MOUNT, WAYS };

static char empty_directory[] = "/tmp/ptrc-empty-XXXXXX";

static pid_t maker;

static void remove_empty_directory(void)
{
	/* Its children, too, call what runs at exit. */
	if (getpid() == maker)
		rmdir(empty_directory);
}

/* From now on the process can open nothing in root's directory of shared objects. */
static void leave(int way)
{
	if (way == USER) {
		ts_drop_privileges(0);
	} else if (way == ROOT) {
		CHECK_SYS(chroot(empty_directory));
		CHECK_SYS(chdir("/"));
	} else {
		CHECK(enter_mount_namespace());
		CHECK_SYS(mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL));
	}
}

static void need_root(void)
{
	if (geteuid() != 0)
		SKIP("needs root");
	pid_t pid = harness_fork();
	if (pid == 0)
		_exit(!enter_mount_namespace());
	if (harness_reap(pid))
		SKIP("no mount namespaces");
	CHECK(mkdtemp(empty_directory) != NULL);
	maker = getpid();
	atexit(remove_empty_directory);
}

/* Events are numbered in their order: 0 and 6 are those of `parent`, the process that has left, 1
 * to 3 those of its child and 4 and 5 those of the child of that one. */
static void check_events(trace_id_t trid, trace_event_id_t id, pid_t parent)
{
	static const char *const names[] = {"early", "early",	     "child's", "early",
					    "early", "grandchild's", "early"};
	static const int generation[] = {0, 1, 1, 1, 2, 2, 0};
	struct ts_events events;
	pid_t pids[3] = {parent, 0, 0};
	uint32_t due = 0;

	ts_stop(trid);
	events = ts_read_all(trid);
	for (size_t i = 0; i < events.count; i++) {
		const struct posix_trace_event_info *info = &events.at[i].info;

		if (info->posix_event_id < id)
			continue;
		CHECK_LT(due, 7);
		CHECK_EQ(ts_number(&events.at[i]), due);
		ts_expect_name(trid, info->posix_event_id, names[due]);
		pid_t *pid = &pids[generation[due++]];
		if (*pid == 0)
			*pid = info->posix_pid;
		CHECK_EQ(info->posix_pid, *pid);
	}
	CHECK_EQ(due, 7);
	CHECK(pids[1] != parent && pids[2] != parent && pids[1] != pids[2]);
	CHECK_EQ(ts_figure(trid, "processes"), 4); /* with this one */
	CHECK_EQ(ts_figure(trid, "untraced_processes"), 0);
	ts_events_free(&events);
}

static void be_child(trace_event_id_t id, pid_t (*do_fork)(void))
{
	ts_emit(id, 1);
	ts_emit(ts_id("child's"), 2);
	ts_emit(id, 3);
	pid_t pid = do_fork();
	if (pid == 0) {
		ts_emit(id, 4);
		ts_emit(ts_id("grandchild's"), 5);
		_exit(0);
	}
	CHECK_EXIT(pid, 0);
	_exit(0);
}

TEST(child_of_a_process_that_can_open_nothing_any_more_is_traced, "FORK-01 FORK-03 FORK-04",
     NEEDS_FORK_ADVICE)
{
	need_root();
	for (int i = 0; i < 2 * WAYS; i++) {
		pid_t (*do_fork)(void) = i < WAYS ? harness_fork : harness_raw_clone;
		trace_id_t trid = create_inherited(0, POSIX_TRACE_INHERITED);
		trace_id_t closed = create_inherited(0, POSIX_TRACE_CLOSE_FOR_CHILD);
		trace_event_id_t id = ts_id("early");
		pid_t pid = harness_fork();

		if (pid == 0) {
			leave(i % WAYS);
			ts_emit(id, 0);
			pid_t child = do_fork();
			if (child == 0)
				be_child(id, do_fork);
			CHECK_EXIT(child, 0);
			ts_emit(id, 6);
			exit(0);
		}
		CHECK_EXIT(pid, 0);
		check_events(trid, id, pid);
		struct ts_events events = ts_read_all(closed);
		CHECK_EQ(ts_count(&events, id), 0);
		ts_events_free(&events);
		ts_shutdown(closed);
		ts_shutdown(trid);
	}
}

#define CHILDREN 10U
#define EVENTS 100U

static _Atomic bool is_over;
static _Atomic uint32_t thread_count;

static void *record_all_the_time(void *arg)
{
	const trace_event_id_t *id = arg;

	while (!is_over) {
		ts_emit(*id, thread_count++);
		harness_sleep_ms(1);
	}
	return NULL;
}

/* The pids of children are written to the pipe; the last child goes on until the other one is
 * closed. */
static void bear_children(trace_event_id_t id, trace_event_id_t by_thread, int out, int in)
{
	pthread_t thread = ts_thread(record_all_the_time, &by_thread);

	(void)thread;
	while (thread_count < 3)
		harness_sleep_ms(1);
	for (uint32_t i = 0; i < CHILDREN; i++) {
		bool is_last = i + 1 == CHILDREN;
		pid_t pid = harness_fork();
		char byte;

		if (pid == 0) {
			for (uint32_t n = 0; n < EVENTS; n++)
				ts_emit(id, n);
			/* Nothing is read before its parent is dead. */
			if (is_last && read(in, &byte, 1) == 0)
				ts_emit(id, EVENTS);
			_exit(0);
		}
		if (!is_last)
			CHECK_EXIT(pid, 0);
		CHECK_EQ(write(out, &pid, sizeof(pid)), (ssize_t)sizeof(pid));
	}
	for (;;)
		pause();
}

TEST(threads_and_the_death_of_the_parent_leave_its_children_traced, "FORK-01 FORK-03 EVENT-16",
     NEEDS_THREADED_FORK)
{
	need_root();
	for (int way = 0; way < WAYS; way++) {
		trace_id_t trid = create_inherited(0, POSIX_TRACE_INHERITED);
		trace_event_id_t id = ts_id("of a child"), by_thread = ts_id("of the thread");
		pid_t pids[CHILDREN], pid;
		uint32_t due[CHILDREN] = {0}, by_parent = 0, i = 0;
		int out[2], in[2];

		CHECK_SYS(pipe(out));
		CHECK_SYS(pipe(in));
		pid_t parent = harness_fork();
		if (parent == 0) {
			close(in[1]);
			close(out[0]);
			leave(way);
			bear_children(id, by_thread, out[1], in[0]);
		}
		close(out[1]);
		close(in[0]);
		for (; i < CHILDREN; i++)
			CHECK_EQ(read(out[0], &pids[i], sizeof(pid)), (ssize_t)sizeof(pid));
		harness_kill(parent);
		close(in[1]);
		/* The last child has ended when nobody holds the pipe any more. */
		while (read(out[0], &pid, sizeof(pid)) > 0)
			;
		close(out[0]);
		ts_stop(trid);
		struct ts_events events = ts_read_all(trid);
		for (size_t e = 0; e < events.count; e++) {
			const struct posix_trace_event_info *info = &events.at[e].info;

			if (info->posix_event_id == by_thread) {
				CHECK_EQ(info->posix_pid, parent);
				CHECK_EQ(ts_number(&events.at[e]), by_parent++);
			}
			if (info->posix_event_id != id)
				continue;
			for (i = 0; i < CHILDREN && pids[i] != info->posix_pid; i++)
				;
			CHECK_LT(i, CHILDREN);
			CHECK_EQ(ts_number(&events.at[e]), due[i]++);
		}
		CHECK_GE(by_parent, 3);
		for (i = 0; i < CHILDREN; i++)
			CHECK_EQ(due[i], EVENTS + (i + 1 == CHILDREN));
		ts_events_free(&events);
		ts_shutdown(trid);
	}
}
