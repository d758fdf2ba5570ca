/* SPDX-License-Identifier: MIT */
/* Creation of streams: posix_trace_create. */
#include "tests/support/logs.h"

#include <limits.h>
#include <posixtrace.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "lib/base/shmdir.h"
#include "lib/process/bell.h"

#define SMALL 8192

/* Other tests may hold streams of root; these users are this program's alone. */
enum { USER_LIMIT, USER_OTHER, USER_TARGET };

static trace_attr_t small_attr(void)
{
	return ts_attr(POSIX_TRACE_LOOP, SMALL, 256);
}

/* A user of its own if there is one to be had; else the limit is shared. */
static void be_alone(unsigned int n)
{
	if (geteuid() == 0)
		ts_drop_privileges(n);
}

/* Streams until EAGAIN; how many. */
static int create_all(trace_id_t trids[TRACE_SYS_MAX + 1])
{
	trace_attr_t attr = small_attr();
	int count = 0;
	for (; count <= TRACE_SYS_MAX; count++) {
		int err = posix_trace_create(0, &attr, &trids[count]);
		if (err == EAGAIN)
			break;
		CHECK_OK(err);
	}
	return count;
}

static void require_full_set(int count)
{
	if (count < TRACE_SYS_MAX && geteuid() != ts_user(USER_LIMIT))
		SKIP("this user has other streams");
	CHECK_EQ(count, TRACE_SYS_MAX);
}

static void need_root(void)
{
	if (geteuid() != 0)
		SKIP("needs root, for another user");
}

/* The result of the call, which stores an identifier only if it succeeds. */
static int create_result(pid_t pid, const trace_attr_t *attr)
{
	trace_id_t trid = 42;
	int err = posix_trace_create(pid, attr, &trid);

	CHECK_EQ(trid == 42, err != 0);
	return err;
}

static int create_small(pid_t pid)
{
	trace_attr_t attr = small_attr();
	return create_result(pid, &attr);
}

TEST(null_attributes_are_the_defaults, "CREATE-03 POLICY-09")
{
	trace_attr_t attr = ts_attr(0, 0, 0);
	struct ts_values fresh = ts_values(&attr), got = ts_values_of(ts_create(0, NULL));

	CHECK_STR_EQ(got.name, fresh.name);
	CHECK_EQ(got.inherited, fresh.inherited);
	CHECK_EQ(got.log_policy, fresh.log_policy);
	CHECK_EQ(got.stream_policy, POSIX_TRACE_LOOP);
	CHECK_EQ(got.log_bytes, fresh.log_bytes);
	CHECK_EQ(got.data_bytes, fresh.data_bytes);
	CHECK_EQ(got.stream_bytes, fresh.stream_bytes);
}

TEST(a_stream_keeps_the_attributes_of_its_creation, "CREATE-06 ATTR-13 ATTR-14 ATTR-15")
{
	trace_attr_t attr = small_attr();
	struct ts_values got;

	CHECK_OK(posix_trace_attr_setname(&attr, "first"));
	CHECK_OK(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED));
	trace_id_t first = ts_create(0, &attr);
	got = ts_values(&attr);
	CHECK_STR_EQ(got.name, "first");
	CHECK_EQ(got.stream_bytes, SMALL);

	CHECK_OK(posix_trace_attr_setname(&attr, "second"));
	CHECK_OK(posix_trace_attr_setinherited(&attr, POSIX_TRACE_CLOSE_FOR_CHILD));
	CHECK_OK(posix_trace_attr_setmaxdatasize(&attr, 16));
	trace_id_t second = ts_create(0, &attr);
	CHECK_OK(posix_trace_attr_destroy(&attr));

	got = ts_values_of(first);
	CHECK_STR_EQ(got.name, "first");
	CHECK_EQ(got.inherited, POSIX_TRACE_INHERITED);
	CHECK_EQ(got.data_bytes, 256);
	CHECK_STR_EQ(ts_values_of(second).name, "second");

	/* And it records by them. */
	char data[100] = {0};
	ts_start(first);
	ts_start(second);
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, data, sizeof(data));
	ts_expect(first, POSIX_TRACE_START);
	ts_expect(second, POSIX_TRACE_START);
	CHECK_EQ(ts_expect(first, POSIX_TRACE_UNNAMED_USEREVENT).len, sizeof(data));
	CHECK_EQ(ts_expect(second, POSIX_TRACE_UNNAMED_USEREVENT).len, 16);
}

TEST(streams_of_one_process_and_one_name_are_separate,
     "NAME-08 CREATE-05 CREATE-07 FILTER-06 FILTER-19 STARTSTOP-15")
{
	trace_event_id_t a = ts_id("a"), b = ts_id("b");
	trace_event_set_t only_a = ts_set(a, 0U);
	trace_attr_t attr = small_attr();

	CHECK_OK(posix_trace_attr_setname(&attr, "one name"));
	trace_id_t all = ts_create_running(0, &attr), without_a = ts_create(getpid(), &attr),
		   idle = ts_create(0, &attr);
	CHECK_STR_EQ(ts_values_of(all).name, "one name");
	CHECK_STR_EQ(ts_values_of(without_a).name, "one name");

	ts_set_filter(without_a, &only_a, POSIX_TRACE_SET_EVENTSET);
	ts_start(without_a);
	ts_emit(a, 1);
	ts_emit(b, 2);
	ts_expect(all, POSIX_TRACE_START);
	ts_stop(all);
	ts_emit(b, 3);

	ts_read_ids(without_a, POSIX_TRACE_START, b, b, 0U);
	ts_read_ids(all, a, b, POSIX_TRACE_STOP, 0U);
	ts_expect_none(idle);
	ts_expect_suspended(all);
	ts_expect_running(without_a);
	ts_expect_suspended(idle);
	ts_expect_filter(all, 0U);
	ts_expect_filter(without_a, a, 0U);
	ts_shutdown(all);
	ts_emit(b, 4);
	ts_expect_number(without_a, b, 4);
}

static trace_id_t routine_trids[TRACE_SYS_MAX + 1];
static int routine_count;

TS_ROUTINE(do_create_many)
{
	trace_attr_t attr = small_attr();
	const int wanted = *(const int *)arg;
	for (routine_count = 0; routine_count < wanted; routine_count++) {
		int err = posix_trace_create(0, &attr, &routine_trids[routine_count]);
		if (err)
			return -err;
	}
	return 0;
}

TS_ROUTINE(do_shutdown_one)
{
	return posix_trace_shutdown(routine_trids[--routine_count]);
}

TEST(there_are_64_streams_over_all_processes, "CREATE-09 CREATE-25 SHUTDOWN-04")
{
	be_alone(USER_LIMIT);
	struct ts_target other = ts_target_fork();
	trace_id_t trids[TRACE_SYS_MAX + 1];
	trace_attr_t attr = small_attr();
	int theirs = 24;

	require_full_set(create_all(trids));
	/* What is refused leaves nothing behind. */
	int descriptors = count_entries("/proc/self/fd"), maps = count_lines("/proc/self/maps");
	for (int i = 0; i < 3 * TRACE_SYS_MAX; i++)
		CHECK_EQ(create_result(i % 2 ? 0 : other.pid, &attr), EAGAIN);
	CHECK_EQ(count_entries("/proc/self/fd"), descriptors);
	CHECK_LE(count_lines("/proc/self/maps"), maps + 2);
	int one = 1;
	CHECK_EQ(ts_target_call(&other, do_create_many, &one, sizeof(one)), -EAGAIN);

	for (int i = 0; i < theirs; i++)
		ts_shutdown(trids[i]);
	CHECK_EQ(ts_target_call(&other, do_create_many, &theirs, sizeof(theirs)), 0);
	CHECK_EQ(create_result(0, &attr), EAGAIN);
	/* One goes, in the other process or here, and one comes here; at once, every time. */
	for (int i = 0; i < 10; i++) {
		if (i < 5)
			CHECK_EQ(ts_target_call(&other, do_shutdown_one, NULL, 0), 0);
		else
			ts_shutdown(trids[i % 5]);
		CHECK_OK(posix_trace_create(0, &attr, &trids[i % 5]));
		CHECK_EQ(create_result(0, &attr), EAGAIN);
	}
	ts_target_end(&other);
}

TS_ROUTINE(do_drop)
{
	ts_drop_privileges(*(const unsigned int *)arg);
	return 0;
}

static void change_user(struct ts_target *target, unsigned int n)
{
	CHECK_EQ(ts_target_call(target, do_drop, &n, sizeof(n)), 0);
}

static void drop_and_exec(struct ts_target *target, unsigned int n)
{
	change_user(target, n);
	/* So that its page is that user's from the start. */
	ts_target_exec(target);
}

TEST(one_user_does_not_use_up_the_streams_of_another, "CREATE-10", NEEDS_EXEC)
{
	need_root();
	struct ts_target first = ts_target_fork(), second = ts_target_fork();
	int all = TRACE_SYS_MAX, one = 1;

	drop_and_exec(&first, USER_LIMIT);
	drop_and_exec(&second, USER_OTHER);
	CHECK_EQ(ts_target_call(&first, do_create_many, &all, sizeof(all)), 0);
	CHECK_EQ(ts_target_call(&first, do_create_many, &one, sizeof(one)), -EAGAIN);
	CHECK_EQ(ts_target_call(&second, do_create_many, &all, sizeof(all)), 0);
	CHECK_EQ(ts_target_call(&second, do_create_many, &one, sizeof(one)), -EAGAIN);
	ts_target_end(&first);
	ts_target_end(&second);
}

TEST(open_logs_do_not_count_as_streams, "CREATE-11", NEEDS_KEEPER)
{
	be_alone(USER_LIMIT);
	trace_id_t trids[TRACE_SYS_MAX + 1], logs[TRACE_SYS_MAX + 6];
	trace_attr_t attr = small_attr();
	int fd = ts_temp_file();
	trace_id_t trid = ts_create_log(0, &attr, fd);

	ts_start(trid);
	ts_shutdown(trid);
	for (int i = 0; i < TRACE_SYS_MAX + 5; i++)
		logs[i] = ts_open_log(fd);
	require_full_set(create_all(trids));
	logs[TRACE_SYS_MAX + 5] = ts_open_log(fd);
	for (int i = 0; i < TRACE_SYS_MAX + 6; i++)
		ts_close_log(logs[i]);
}

/* Tells its thread ID until that is 0 again. */
static void *report_tid(void *arg)
{
	_Atomic pid_t *tid = arg;

	*tid = ts_gettid();
	CHECK_EVENTUALLY(*tid == 0);
	return NULL;
}

TEST(what_is_no_process_is_esrch, "CREATE-13 CREATE-21 ERRORS-10")
{
	CHECK_EQ(create_small(-1), ESRCH);
	CHECK_EQ(create_small(-getpid()), ESRCH);
	CHECK_EQ(create_small(INT_MIN), ESRCH);
	CHECK_EQ(create_result(INT_MAX, NULL), ESRCH);

	pid_t gone = harness_fork();
	if (gone == 0)
		_exit(0);
	siginfo_t info;
	CHECK_SYS(waitid(P_PID, (id_t)gone, &info, WEXITED | WNOWAIT));
	CHECK_EQ(create_small(gone), ESRCH);
	CHECK_EXIT(gone, 0);
	CHECK_EQ(create_small(gone), ESRCH);

	_Atomic pid_t tid = 0;
	pthread_t thread = ts_thread(report_tid, &tid);
	CHECK_EVENTUALLY(tid != 0);
	CHECK_EQ(create_small(tid), ESRCH);
	tid = 0;
	ts_join(thread);
}

/* Ends by exec of nothing: its leader leaves, another thread stays. */
static void *outlive_leader(void *arg)
{
	for (;;)
		pause();
	return arg;
}

TEST(a_process_whose_first_thread_ended_is_one, "CREATE-13")
{
	pid_t pid = harness_fork();

	if (pid == 0) {
		ts_thread(outlive_leader, NULL);
		pthread_exit(NULL);
	}
	/* The leader is a zombie now, the process is not. */
	CHECK_EVENTUALLY(thread_state(pid, pid) == 'Z');
	trace_id_t trid = ts_run_of(pid, POSIX_TRACE_LOOP, SMALL, 256);
	ts_shutdown(trid);
	harness_kill(pid);
}

TEST(a_process_of_another_user_is_eperm, "CREATE-14 CREATE-15 CREATE-21", NEEDS_EXEC)
{
	need_root();
	struct ts_target roots = ts_target_fork(), users = ts_target_fork();
	drop_and_exec(&users, USER_OTHER);

	if (IN_CHILD()) {
		ts_drop_privileges(USER_LIMIT);
		CHECK_EQ(create_small(roots.pid), EPERM);
		CHECK_EQ(create_small(users.pid), EPERM);
		CHECK_EQ(create_small(1), EPERM);
		/* No process comes before no permission. */
		CHECK_EQ(create_small(-1), ESRCH);
		CHECK_OK(create_small(0));
		_exit(0);
	}
	ts_target_end(&roots);
	ts_target_end(&users);
}

TEST(who_gives_up_his_user_can_end_his_log, "LOG-13 EXIT-01", NEEDS_KEEPER)
{
	need_root();
	trace_event_id_t id = ts_id("event");
	int fd = ts_temp_file();

	for (int is_exit = 0; is_exit < 2; is_exit++) {
		pid_t child = harness_fork();

		if (child == 0) {
			trace_id_t trid =
				start_log(POSIX_TRACE_UNTIL_FULL, 65536, POSIX_TRACE_APPEND, 0, fd);
			ts_emit(id, 0);
			ts_drop_privileges(USER_LIMIT);
			ts_emit(id, 1);
			if (is_exit)
				exit(0);
			CHECK_OK(posix_trace_flush(trid));
			CHECK_OK(posix_trace_shutdown(trid));
			_exit(0);
		}
		CHECK_EXIT(child, 0);
		struct ts_events events = ts_log_events(fd);
		ts_expect_numbers(&events, id, 0, 1);
		expect_closed_log(fd);
	}
}

TEST(root_traces_processes_of_every_user, "CREATE-15", NEEDS_EXEC)
{
	need_root();
	struct ts_target users = ts_target_fork();

	drop_and_exec(&users, USER_TARGET);
	trace_id_t trid = ts_run_of(users.pid, POSIX_TRACE_LOOP, SMALL, 256);
	trace_event_id_t id = ts_target_id(&users, "of a user");
	ts_target_emit(&users, id, 5);
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect_number(trid, id, 5);
	ts_expect_name(trid, id, "of a user");
	ts_shutdown(trid);
	ts_target_end(&users);
}

TS_ROUTINE(do_attach)
{
	return posixtrace_attach();
}

/* The bells that root has raised: all of them together. */
static uint64_t roots_bells(void)
{
	struct ptrc_bells *bells;
	uint64_t sum = 0;
	int dirfd;

	CHECK_OK(ptrc_shmdir_open(0, false, &dirfd));
	CHECK_OK(ptrc_bells_open(dirfd, 0, &bells));
	for (unsigned int i = 0; i < PTRC_BELL_COUNT; i++)
		sum += bells->pages[i];
	ptrc_bells_unmap(bells);
	close(dirfd);
	return sum;
}

/* It may have nothing of root, a page without names, or names that go on having their ids. */
TEST(root_traces_a_process_that_was_roots, "CREATE-15 EVENTID-10", NEEDS_EXEC)
{
	need_root();
	enum { NOTHING, PAGE, NAMES, CHILD, WAYS };

	for (int way = NOTHING; way < WAYS; way++) {
		struct ts_target target = ts_target_fork(), parent;
		trace_event_id_t early = 0;

		ts_target_exec(&target);
		if (way == PAGE)
			CHECK_EQ(ts_target_call(&target, do_attach, NULL, 0), 0);
		if (way >= NAMES)
			early = ts_target_id(&target, "of root");
		change_user(&target, USER_TARGET);
		if (way == CHILD) {
			parent = target;
			target = ts_target_fork_child(&parent);
		}
		uint64_t bells = roots_bells();
		/* Its user may not, unless it has made a page for him. */
		if (way != CHILD && IN_CHILD()) {
			ts_drop_privileges(USER_TARGET);
			CHECK_EQ(create_small(target.pid), EPERM);
			_exit(0);
		}
		for (int i = 0; i < 2; i++) {
			trace_id_t trid =
				ts_past_start(ts_run_of(target.pid, POSIX_TRACE_LOOP, SMALL, 256));
			trace_event_id_t id = early ? early : POSIX_TRACE_UNNAMED_USEREVENT;
			ts_target_emit(&target, id, 5);
			ts_expect_number(trid, id, 5);
			ts_expect_name(trid, id,
				       early ? "of root" : "posix_trace_unnamed_userevent");
			id = ts_target_id(&target, "of its user");
			ts_target_emit(&target, id, 6);
			ts_expect_number(trid, id, 6);
			ts_expect_name(trid, id, "of its user");
			ts_expect_none(trid);
			ts_shutdown(trid);
			CHECK_EQ(roots_bells(), bells);
		}
		ts_target_end(&target);
		if (way == CHILD)
			ts_target_end(&parent);
	}
}

TEST(stream_of_root_follows_a_process_that_changes_its_user, "CREATE-15 EXEC-13", NEEDS_EXEC)
{
	need_root();

	for (int is_early = 0; is_early < 2; is_early++) {
		struct ts_target target = ts_target_fork();
		trace_id_t trid;

		/* The program maps stream and names when it starts, or when it asks for it; not
		 * with its first event. */
		if (is_early)
			trid = ts_run_of(target.pid, POSIX_TRACE_LOOP, SMALL, 256);
		ts_target_exec(&target);
		if (is_early) {
			CHECK_EQ(ts_figure(trid, "processes"), 0);
		} else {
			trid = ts_run_of(target.pid, POSIX_TRACE_LOOP, SMALL, 256);
			CHECK_EQ(ts_target_call(&target, do_attach, NULL, 0), 0);
			CHECK_EQ(ts_figure(trid, "processes"), 1);
		}
		change_user(&target, USER_TARGET);
		trace_event_id_t id = ts_target_id(&target, "late");
		ts_target_emit(&target, id, 5);
		ts_expect(trid, POSIX_TRACE_START);
		ts_expect_number(trid, id, 5);
		CHECK_EQ(ts_figure(trid, "processes"), 1);
		/* It uses root's page, and so finds no stream that is in the directory of its
		 * user. */
		CHECK_EQ(create_small(target.pid), EPERM);
		ts_shutdown(trid);
		trid = ts_run_of(target.pid, POSIX_TRACE_LOOP, SMALL, 256);
		ts_target_emit(&target, id, 6);
		ts_expect(trid, POSIX_TRACE_START);
		ts_expect_number(trid, id, 6);
		ts_shutdown(trid);
		ts_target_end(&target);
	}
}

/* It uses streams and names of root's directory that nobody else can find. It gets a page when no stream is left, and it
 * opens an event type. */
TEST(child_of_a_process_that_has_changed_its_user_takes_no_other_stream, "CREATE-15 FORK-01",
     NEEDS_EXEC)
{
	need_root();
	trace_attr_t attr = ts_inherited_attr(POSIX_TRACE_LOOP, SMALL, 256);
	struct ts_target parent = ts_target_fork();

	ts_target_exec(&parent);
	trace_event_id_t early = ts_target_id(&parent, "of root");
	trace_id_t trid = ts_create_running(parent.pid, &attr);
	CHECK_EQ(ts_target_call(&parent, do_attach, NULL, 0), 0);
	change_user(&parent, USER_TARGET);
	struct ts_target child = ts_target_fork_child(&parent);
	ts_expect(trid, POSIX_TRACE_START);
	ts_target_emit(&child, early, 5);
	ts_expect_number(trid, early, 5);
	CHECK_EQ(create_result(child.pid, &attr), EPERM);
	ts_shutdown(trid);
	ts_target_emit(&child, early, 6);
	trace_event_id_t late = ts_target_id(&child, "of its user");
	trid = ts_past_start(ts_create_running(child.pid, &attr));
	ts_target_emit(&child, early, 7);
	ts_expect_number(trid, early, 7);
	ts_target_emit(&child, late, 8);
	ts_expect_number(trid, late, 8);
	ts_expect_name(trid, early, "of root");
	ts_expect_name(trid, late, "of its user");
	ts_shutdown(trid);
	ts_target_end(&child);
	ts_target_end(&parent);
}

TS_ROUTINE(do_hide_objects)
{
	return !enter_mount_namespace() || mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL);
}

TEST(target_that_changes_its_user_before_it_maps_the_stream_is_counted, "CREATE-15",
     NEEDS_EXEC | NEEDS_KEEPER)
{
	need_root();
	trace_attr_t attr = ts_inherited_attr(POSIX_TRACE_FLUSH, 65536, 256);
	enum { NO_PAGE, PAGE, CHILD, OTHER_DIRECTORY, WAYS };

	for (int way = NO_PAGE; way < WAYS; way++) {
		struct ts_target target = ts_target_fork();
		trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;
		int fd = ts_temp_file();

		ts_target_exec(&target);
		if (way != NO_PAGE)
			id = ts_target_id(&target, "of root");
		trace_id_t trid = ts_create_log(target.pid, &attr, fd);
		ts_start(trid);
		CHECK_EQ(ts_figure(trid, "untraced_processes"), 0);
		if (way == OTHER_DIRECTORY)
			CHECK_EQ(ts_target_call(&target, do_hide_objects, NULL, 0), 0);
		else
			change_user(&target, USER_TARGET);
		if (way == CHILD) {
			struct ts_target child = ts_target_fork_child(&target);
			ts_target_emit(&child, id, 5);
			ts_target_end(&child);
		} else {
			ts_target_emit(&target, id, 5);
		}
		CHECK_EQ(ts_figure(trid, "untraced_processes"), 1);
		CHECK_EQ(ts_figure(trid, "untraced_error"), EPERM);
		ts_target_end(&target);
		trid = ts_end_and_open_log(trid, fd);
		CHECK_EQ(ts_figure(trid, "untraced_processes"), 1);
		CHECK_EQ(ts_figure(trid, "untraced_error"), EPERM);
		ts_close_log(trid);
	}
}

TEST(target_that_forks_before_its_first_event_has_mapped_the_stream, "FORK-01", NEEDS_EXEC)
{
	need_root();
	struct ts_target target = ts_target_fork();

	ts_target_exec(&target);
	trace_id_t trid = ts_run_inherited(target.pid, POSIX_TRACE_UNTIL_FULL, 65536, 256);
	struct ts_target child = ts_target_fork_child(&target);
	ts_target_end(&child);
	CHECK_EQ(ts_target_call(&target, do_hide_objects, NULL, 0), 0);
	ts_target_emit(&target, POSIX_TRACE_UNNAMED_USEREVENT, 5);
	ts_read_numbers(trid, POSIX_TRACE_UNNAMED_USEREVENT, 5, 5);
	CHECK_EQ(ts_figure(trid, "untraced_processes"), 0);
	ts_shutdown(trid);
	ts_target_end(&target);
}

TS_ROUTINE(do_undumpable)
{
	return prctl(PR_SET_DUMPABLE, 0);
}

TEST(no_ptrace_permission_is_needed, "CREATE-15 GEN-06", NEEDS_EXEC)
{
	be_alone(USER_LIMIT);
	struct ts_target target = ts_target_fork();

	ts_target_exec(&target);
	CHECK_EQ(ts_target_call(&target, do_undumpable, NULL, 0), 0);
	trace_id_t trid = ts_run_of(target.pid, POSIX_TRACE_LOOP, SMALL, 256);
	ts_target_emit(&target, POSIX_TRACE_UNNAMED_USEREVENT, 5);
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect(trid, POSIX_TRACE_UNNAMED_USEREVENT);
	ts_target_end(&target);
}

TEST(unusable_attributes_are_einval, "CREATE-16 POLICY-12 CREATE-21")
{
	trace_attr_t zero, destroyed, flush = ts_attr(POSIX_TRACE_FLUSH, SMALL, 256);

	memset(&zero, 0, sizeof(zero));
	CHECK_EQ(create_result(0, &zero), EINVAL);
	CHECK_OK(posix_trace_attr_init(&destroyed));
	CHECK_OK(posix_trace_attr_destroy(&destroyed));
	CHECK_EQ(create_result(0, &destroyed), EINVAL);
	CHECK_EQ(create_result(0, &flush), EINVAL);
}

/* In a mount namespace whose /dev/shm has 6 MiB, started before the library was. */
HELPER(in_small_shm)
{
	const size_t stream_bytes = 1 << 20;
	trace_attr_t big = ts_attr(POSIX_TRACE_UNTIL_FULL, 16 << 20, 4096);

	CHECK_EQ(create_result(0, &big), ENOMEM);
	trace_id_t trid = ts_make(POSIX_TRACE_UNTIL_FULL, stream_bytes, 4096);
	trace_event_id_t id = ts_id("no room elsewhere");
	fill_shm();
	/* A full disk must not be a SIGBUS. */
	ts_start(trid);
	uint32_t end = ts_fill(trid, stream_bytes, id, 1000, 0);
	struct ts_events events = ts_read_all(trid);
	CHECK_EQ(events.at[0].info.posix_event_id, POSIX_TRACE_START);
	size_t count = ts_count(&events, id);
	CHECK_GE(count * 1000, stream_bytes / 2);
	CHECK_LE(count, end);
	for (size_t i = 0; i < count; i++)
		CHECK_EQ(ts_number(&events.at[1 + i]), i);
	ts_shutdown(trid);
	return 0;
}

/* A stream of 1 MiB is an object of 138 MB, most of which is no memory until much later. */
TEST(hard_file_size_limit_leaves_room_for_a_stream, "CREATE-17 SIZE-11", NEEDS_KEEPER)
{
	static const size_t limits[] = {64 << 20, 8 << 20};
	for (int i = 0; i < 2; i++) {
		if (IN_CHILD()) {
			struct rlimit limit = {limits[i], limits[i]};
			trace_event_id_t id = ts_id("event");
			trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 1 << 20, 64);
			int fd = ts_temp_file();
			CHECK_SYS(setrlimit(RLIMIT_FSIZE, &limit));
			trace_id_t trid = ts_create_running(0, &attr);
			CHECK_GE(ts_fill(trid, 1 << 20, id, 64, 0) * ts_user_bytes(&attr, 64),
				 1 << 20);
			ts_shutdown(trid);
			trid = ts_create_log(0, &attr, fd);
			ts_start(trid);
			ts_emit_numbers(id, 0, 999);
			ts_expect_logged(trid, fd, id, 0, 999);
			/* What cannot be is an error as ever. */
			attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 128 << 20, 64);
			CHECK_EQ(create_result(0, &attr), ENOMEM);
			exit(0);
		}
	}
}

TEST(event_memory_is_reserved_at_creation, "CREATE-17 SIZE-17", NEEDS_EXEC)
{
	run_in_small_shm("6m", "in_small_shm", NULL);
}

static void *create_in_thread(void *arg)
{
	*(trace_id_t *)arg = ts_make(POSIX_TRACE_LOOP, SMALL, 256);
	return NULL;
}

static void *use_in_thread(void *arg)
{
	trace_id_t trid = *(trace_id_t *)arg;
	ts_stop(trid);
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect_number(trid, POSIX_TRACE_UNNAMED_USEREVENT, 9);
	return NULL;
}

static void *shut_down_in_thread(void *arg)
{
	ts_shutdown(*(trace_id_t *)arg);
	return NULL;
}

TEST(every_thread_may_use_it_after_its_maker_ended, "CREATE-20 EXIT-04")
{
	trace_id_t trid = 0;
	ts_join(ts_thread(create_in_thread, &trid));
	ts_start(trid);
	ts_emit(POSIX_TRACE_UNNAMED_USEREVENT, 9);
	ts_join(ts_thread(use_in_thread, &trid));
	ts_expect(trid, POSIX_TRACE_STOP);
	ts_join(ts_thread(shut_down_in_thread, &trid));
	CHECK_EQ(posix_trace_start(trid), EINVAL);
}

TEST(a_process_that_never_has_the_library_can_be_traced, "CREATE-23 CREATE-26")
{
	int to_shell;
	struct ts_target target = ts_target_late(&to_shell);
	trace_id_t trid = ts_run_of(target.pid, POSIX_TRACE_LOOP, SMALL, 256);

	/* The shell ends: nobody ever answers. */
	harness_kill(target.pid);
	ts_stop(trid);
	ts_read_ids(trid, POSIX_TRACE_START, POSIX_TRACE_STOP, 0U);
}

enum { CROWD = 4, CROWD_ROUNDS = 40 };

/* Streams come and go, of itself and of a process that is new each time. */
static void *come_and_go(void *arg)
{
	for (uint32_t i = 0; i < CROWD_ROUNDS; i++) {
		struct ts_target target = ts_target_fork();
		trace_event_id_t id = ts_target_id(&target, "come and go");
		trace_id_t own = ts_run(POSIX_TRACE_LOOP, SMALL, 256);
		trace_id_t other = ts_run_of(target.pid, POSIX_TRACE_LOOP, SMALL, 256);

		ts_emit(POSIX_TRACE_UNNAMED_USEREVENT, i);
		ts_target_emit(&target, id, i);
		ts_read_ids(own, POSIX_TRACE_START, POSIX_TRACE_UNNAMED_USEREVENT, 0U);
		ts_read_ids(other, POSIX_TRACE_START, id, 0U);
		/* Half of the targets end before their streams; and there is something to
		 * be swept, by whoever comes first. */
		if (i % 2)
			ts_target_end(&target);
		if (i % 3 == 0) {
			pid_t pid = harness_fork();
			if (pid == 0) {
				ts_run(POSIX_TRACE_LOOP, SMALL, 256);
				ts_run_of(getppid(), POSIX_TRACE_LOOP, SMALL, 256);
				raise(SIGKILL);
			}
			harness_reap(pid);
		} else if (i % 3 == 1) {
			struct ts_target brief = ts_target_fork();
			ts_target_exec(&brief);
			ts_target_end(&brief);
		}
		ts_shutdown(own);
		ts_shutdown(other);
		if (i % 2 == 0)
			ts_target_end(&target);
	}
	return arg;
}

static void run_in_a_crowd(void *(*run)(void *))
{
	pid_t pids[CROWD];

	for (int i = 0; i < CROWD; i++)
		pids[i] = ts_process(run, NULL);
	for (int i = 0; i < CROWD; i++)
		CHECK_EXIT(pids[i], 0);
}

TEST(many_processes_create_streams_at_the_same_time, "CREATE-08 CREATE-26 CREATE-12 GEN-05",
     NEEDS_EXEC)
{
	run_in_a_crowd(come_and_go);
}

/* Short streams of its own, one after the other; whoever creates looks for what dead
 * processes left, and must not take this for it. */
static void *trace_itself_often(void *arg)
{
	for (int round = 0; round < 600; round++) {
		trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 65536, 64);
		ts_emit_numbers(POSIX_TRACE_UNNAMED_USEREVENT, 0, 99);
		ts_stop(trid);
		struct ts_events events = ts_read_all(trid);
		CHECK_EQ(events.count, 102);
		ts_expect_numbers(&events, POSIX_TRACE_UNNAMED_USEREVENT, 0, 99);
		ts_shutdown(trid);
	}
	return arg;
}

TEST(processes_that_create_do_not_sweep_each_other_away, "CREATE-26 CREATE-09 GEN-05 EVENT-16")
{
	run_in_a_crowd(trace_itself_often);
}
