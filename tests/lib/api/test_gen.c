/* SPDX-License-Identifier: MIT */
/*
 * Rules for the whole library: leaks, what is left outside the process, signals, children,
 * output, cancellation, threads, and the separation of roles.
 */
#include "tests/support/private_user.h"

#include "include/posixtrace-private.h"
#include "tests/lib/api/calls.h"
#include "tests/support/keeper.h"
#include "tests/support/shared_objects.h"
#include "tests/support/slow_page.h"

#include <posixtrace-control.h>
#include <posixtrace.h>
#include <sched.h>
#include <sys/time.h>

#define KIB ((size_t)1024)

static trace_attr_t small_attr(void)
{
	return log_attr(POSIX_TRACE_UNTIL_FULL, 16 * KIB, POSIX_TRACE_APPEND, 0);
}

/*
 * Leaks
 */

/* The C library's allocator and stacks may have grown by a mapping or two. A sanitizer, which keeps
 * freed memory for a while, takes some eighty more in the first 600 cycles, and none in the 900 after
 * them. A leak would be one in each of hundreds of cycles. */
#ifdef HARNESS_IS_SANITIZED
#define MAPPINGS_TOLERANCE 128
#else
#define MAPPINGS_TOLERANCE 2
#endif

struct usage {
	size_t descriptors, mappings, threads, objects;
};

static struct usage current_usage(void)
{
	struct usage usage;
	char dir[64];
	private_user_dir(dir);
	usage.descriptors = count_entries("/proc/self/fd");
	usage.mappings = count_lines("/proc/self/maps");
	usage.threads = count_entries("/proc/self/task");
	/* Others of this user come and go. */
	usage.objects = private_user_is_on() ? count_entries(dir) : 0;
	return usage;
}

static void check_usage(const struct usage *before)
{
	/* One that was joined may be there for a moment more. */
	CHECK_EVENTUALLY(current_usage().threads <= before->threads);
	struct usage now = current_usage();
	CHECK_EQ(now.descriptors, before->descriptors);
	CHECK_LE(now.mappings, before->mappings + MAPPINGS_TOLERANCE);
	CHECK_EQ(now.objects, before->objects);
}

/* Runs so many cycles; the first ones warm up. */
static void run_cycles(void (*cycle)(int number), int count)
{
	int i = 0;
	for (; i < 20; i++)
		cycle(i);
	struct usage before = current_usage();
	for (; i < count; i++)
		cycle(i);
	check_usage(&before);
}

static trace_event_id_t event_id;

static void plain_cycle(int number)
{
	trace_attr_t attr = small_attr();
	trace_id_t trid;
	(void)number;
	CHECK_OK(posix_trace_create(0, &attr, &trid));
	CHECK_OK(posix_trace_start(trid));
	posix_trace_event(event_id, "data", 4);
	CHECK_OK(posix_trace_stop(trid));
	CHECK_OK(posix_trace_shutdown(trid));
}

TEST(thousands_of_plain_streams_leave_nothing, "GEN-04 SHUTDOWN-01")
{
	event_id = ts_id("event");
	run_cycles(plain_cycle, 5000);
}

static int log_fd, other_fd;

static void logged_cycle(int number)
{
	trace_attr_t attr = small_attr();
	trace_id_t trid, log;
	(void)number;
	CHECK_OK(posix_trace_create_withlog(0, &attr, log_fd, &trid));
	CHECK_OK(posix_trace_start(trid));
	posix_trace_event(event_id, "data", 4);
	CHECK_OK(posix_trace_flush(trid));
	CHECK_OK(posix_trace_clear(trid));
	posix_trace_event(event_id, "data", 4);
	CHECK_OK(posix_trace_shutdown(trid));
	CHECK_OK(posix_trace_open(log_fd, &log));
	CHECK_OK(posix_trace_close(log));
}

TEST(logged_streams_leave_nothing, "GEN-04 SHUTDOWN-07", NEEDS_KEEPER)
{
	event_id = ts_id("event");
	log_fd = ts_temp_file();
	run_cycles(logged_cycle, 400);
	CHECK_EVENTUALLY(other_holder(log_fd, getppid()) == 0);
}

static void failing_cycle(int number)
{
	trace_attr_t attr = small_attr(), flush = ts_attr(POSIX_TRACE_FLUSH, 0, 0);
	trace_attr_t huge = ts_attr(0, SIZE_MAX / 4, 0), large = ts_attr(0, (size_t)1 << 50, 0);
	trace_id_t trid;
	(void)number;
	CHECK_EQ(posix_trace_create(0, &flush, &trid), EINVAL);
	CHECK_EQ(posix_trace_create(0, &huge, &trid), ENOMEM);
	CHECK_EQ(posix_trace_create(0, &large, &trid), ENOMEM);
	CHECK_EQ(posix_trace_create(0, &attr, NULL), EINVAL);
	CHECK_EQ(posix_trace_create(-5, &attr, &trid), ESRCH);
	CHECK_EQ(posix_trace_create_withlog(0, &attr, -1, &trid), EBADF);
	CHECK_EQ(posix_trace_create_withlog(0, &attr, other_fd, &trid), ENOSPC);
	CHECK_EQ(posix_trace_open(other_fd, &trid), EINVAL);
	CHECK_EQ(posix_trace_open(log_fd, &trid), EINVAL);
}

TEST(failures_leave_nothing, "GEN-04 CREATE-21 CREATE-25 SIZE-17", NEEDS_KEEPER)
{
	log_fd = ts_temp_file();
	other_fd = CHECK_SYS(open("/dev/full", O_WRONLY | O_CLOEXEC));
	run_cycles(failing_cycle, 400);
}

static struct ts_target cycle_target;

static void foreign_cycle(int number)
{
	trace_attr_t attr = small_attr();
	trace_id_t trid;
	CHECK_OK(posix_trace_create(cycle_target.pid, &attr, &trid));
	CHECK_OK(posix_trace_start(trid));
	ts_target_emit(&cycle_target, event_id, (uint32_t)number);
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect_number(trid, event_id, (uint32_t)number);
	CHECK_OK(posix_trace_shutdown(trid));
}

TS_ROUTINE(do_usage)
{
	return (intptr_t)(count_lines("/proc/self/maps") + 1000 * count_entries("/proc/self/fd") +
			  1000000 * count_entries("/proc/self/task"));
}

TEST(traced_process_keeps_nothing_either, "GEN-04 SHUTDOWN-13")
{
	event_id = ts_id("event");
	cycle_target = ts_target_fork();
	for (int i = 0; i < 50; i++)
		foreign_cycle(i);
	intptr_t before = ts_target_call(&cycle_target, do_usage, NULL, 0);
	run_cycles(foreign_cycle, 1000);
	/* What it had mapped last it may notice at its next event only. */
	ts_target_emit(&cycle_target, event_id, 0);
	intptr_t after = ts_target_call(&cycle_target, do_usage, NULL, 0);
	CHECK_EQ(after / 1000, before / 1000);
	CHECK_LE(after % 1000, before % 1000 + 5);
	ts_target_end(&cycle_target);
}

static void *one_event(void *arg)
{
	posix_trace_event(event_id, arg, 4);
	return NULL;
}

TEST(threads_leave_nothing, "GEN-04 EVENT-16")
{
	event_id = ts_id("event");
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, 64 * KIB, 0);
	struct usage before = {0};
	for (int i = 0; i < 3000; i++) {
		ts_join(ts_thread(one_event, &i));
		if (i == 50)
			before = current_usage();
		/* More threads than the stream ever had room for at a time. */
		if (i % 100 == 99) {
			struct ts_events events = ts_read_all(trid);
			CHECK_GE(ts_count(&events, event_id), 90);
			ts_events_free(&events);
		}
	}
	check_usage(&before);
}

/*
 * Objects outside the process
 */

#define MOST_NAMES 256

struct names {
	size_t count;
	char at[MOST_NAMES][64];
};

static struct names shared_objects(void)
{
	struct names names = {0};
	struct dirent *entry;
	char path[64];
	private_user_dir(path);
	DIR *dir = opendir(path);
	if (!dir)
		return names;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		CHECK_LT(names.count, MOST_NAMES);
		snprintf(names.at[names.count++], 64, "%.63s", entry->d_name);
	}
	closedir(dir);
	return names;
}

/* True if nothing has been added; says what has. */
static bool is_nothing_new(const struct names *before, bool is_said)
{
	struct names now = shared_objects();
	bool is_same = true;
	for (size_t i = 0; i < now.count; i++) {
		bool is_old = false;
		for (size_t j = 0; j < before->count; j++)
			is_old |= strcmp(now.at[i], before->at[j]) == 0;
		if (!is_old && is_said)
			NOTE("left behind: %s", now.at[i]);
		is_same &= is_old;
	}
	return is_same;
}

/* Everything that makes objects; fd is for the log. */
static void live(int fd)
{
	trace_attr_t attr = small_attr();
	CHECK_OK(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED));
	trace_event_id_t id = ts_id("event");
	trace_id_t plain = ts_create_running(0, &attr), logged = ts_create_log(0, &attr, fd);
	trace_id_t unused = ts_create(0, NULL);
	struct ts_target child = ts_target_fork();
	trace_id_t of_child = ts_create_running(child.pid, &attr);
	ts_start(logged);
	ts_target_emit(&child, id, 0);
	ts_emit(id, 1);
	ts_target_exec(&child);
	ts_target_emit(&child, ts_target_id(&child, "other"), 0);
	ts_target_end(&child);
	CHECK(plain && unused && of_child);
}

TEST(nothing_is_left_behind, "GEN-05 EXIT-01")
{
	if (!private_user_is_on())
		SKIP("other programs of this user have objects too");
	int fd = ts_temp_file();
	struct names before = shared_objects();
	/* Shut down by exit. */
	if (IN_CHILD()) {
		live(fd);
		exit(0);
	}
	CHECK(is_nothing_new(&before, true));
	/* By the keeper; plain streams have none, but nobody needs to be told. */
	pid_t pid = harness_fork();
	if (pid == 0) {
		live(fd);
		raise(SIGKILL);
	}
	harness_reap(pid);
	/* Whoever creates next cleans up. */
	if (IN_CHILD()) {
		trace_id_t trid = ts_create(0, NULL);
		ts_shutdown(trid);
		exit(0);
	}
	CHECK_EVENTUALLY(other_holder(fd, 0) == 0);
	if (IN_CHILD()) {
		struct posixtrace_orphan orphan;
		trace_id_t trid = ts_create(0, NULL);
		ts_shutdown(trid);
		/* The events that nobody has read stay until somebody salvages them. */
		while (posixtrace_get_orphan(0, &orphan, sizeof(orphan)) == 0)
			CHECK_OK(posixtrace_discard_orphan(orphan.pt_id));
		exit(0);
	}
	CHECK(is_nothing_new(&before, true));
}

/*
 * Prerequisites, signals, children, output
 */

HELPER(bare)
{
	bool is_open[256];
	CHECK_EQ(argc, 0);
	for (int i = 0; i < 256; i++)
		is_open[i] = fcntl(i, F_GETFD) >= 0;
	trace_id_t trid = ts_create_running(0, NULL);
	trace_event_id_t id = ts_id("event");
	ts_emit(id, 1);
	ts_expect(trid, POSIX_TRACE_START);
	ts_expect(trid, id);
	int fd = ts_temp_file();
	trace_id_t logged = start_log(POSIX_TRACE_UNTIL_FULL, 16 * KIB, POSIX_TRACE_APPEND, 0, fd);
	ts_emit(id, 2);
	ts_expect_logged(logged, fd, id, 2, 2);
	ts_shutdown(trid);
	close(fd);
	for (int i = 0; i < 256; i++)
		CHECK_EQ(fcntl(i, F_GETFD) >= 0, is_open[i]);
	return 0;
}

TEST(linking_is_enough, "GEN-06 GEN-12 FORK-18", NEEDS_EXEC)
{
	if (IN_CHILD()) {
		clearenv();
		umask(0777);
		CHECK_SYS(chdir("/"));
		for (int fd = 0; fd < 256; fd++)
			close(fd);
		harness_exec("bare", (char *)NULL);
	}
}

struct handling {
	struct sigaction actions[65];
	sigset_t mask;
	size_t threads;
};

static struct handling current_handling(void)
{
	struct handling now = {.threads = count_entries("/proc/self/task")};
	/* The C library keeps two for itself. */
	for (int i = 1; i <= 64; i++)
		if (sigaction(i, NULL, &now.actions[i]) < 0)
			CHECK_EQ(errno, EINVAL);
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &now.mask), 0);
	return now;
}

static bool is_same_mask(const sigset_t *a, const sigset_t *b)
{
	for (int i = 1; i <= 64; i++)
		if (sigismember(a, i) != sigismember(b, i))
			return false;
	return true;
}

static void check_same_handling(const struct handling *before)
{
	struct handling now = current_handling();
	for (int i = 1; i <= 64; i++) {
		const struct sigaction *a = &before->actions[i], *b = &now.actions[i];
		CHECK(a->sa_handler == b->sa_handler);
		CHECK_EQ(a->sa_flags, b->sa_flags);
		CHECK(is_same_mask(&a->sa_mask, &b->sa_mask));
	}
	CHECK(is_same_mask(&before->mask, &now.mask));
	CHECK_EQ(now.threads, before->threads);
}

TEST(signals_and_threads_are_the_applications, "GEN-07", NEEDS_KEEPER)
{
	struct handling before = current_handling();
	int fd = ts_temp_file();
	trace_event_id_t id = ts_id("event");

	trace_id_t plain = ts_create_running(0, NULL),
		   logged = start_log(POSIX_TRACE_FLUSH, 64 * KIB, POSIX_TRACE_APPEND, 0, fd);
	emit_run(id, 0, 2000, 60);
	ts_flush(logged);
	check_same_handling(&before);
	ts_read_all(plain);
	ts_clear(plain);
	ts_shutdown(plain);
	struct ts_events events = ts_end_log(logged, fd);
	CHECK_GT(events.count, 0);
	check_same_handling(&before);
}

static _Atomic int children_ended;

static void on_child(int signal_number)
{
	(void)signal_number;
	atomic_fetch_add(&children_ended, 1);
}

static void expect_no_child(void)
{
	siginfo_t info;
	int status;
	CHECK_EQ(waitpid(-1, &status, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
	CHECK_EQ(waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
	CHECK_EQ(wait(&status), -1);
	CHECK_EQ(errno, ECHILD);
}

/* The whole life of a logged stream, and the death of its keeper on top. */
static void watch_for_children(void)
{
	struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
	int fd = ts_temp_file();
	trace_event_id_t id = ts_id("event");

	CHECK_SYS(sigaction(SIGCHLD, &action, NULL));
	expect_no_child();
	for (int i = 0; i < 5; i++) {
		trace_id_t trid =
			create_log(POSIX_TRACE_UNTIL_FULL, 16 * KIB, POSIX_TRACE_APPEND, 0, fd);
		expect_no_child();
		ts_start(trid);
		ts_emit(id, 1);
		ts_flush(trid);
		expect_no_child();
		if (i == 2) {
			kill_keeper(trid);
			expect_no_child();
			ts_emit(id, 1);
			ts_flush(trid);
			expect_no_child();
		}
		/* A child of the application's own is the only one it sees. */
		pid_t pid = fork();
		CHECK_GE(pid, 0);
		if (pid == 0)
			_exit(5);
		int status;
		while (wait(&status) != pid)
			CHECK_EQ(errno, EINTR);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
		expect_no_child();
		ts_shutdown(trid);
		expect_no_child();
	}
	CHECK_EVENTUALLY(other_holder(fd, getppid()) == 0);
	expect_no_child();
	CHECK_EQ(children_ended, 5);
}

TEST(keeper_is_nobodys_child, "GEN-07", NEEDS_KEEPER)
{
	watch_for_children();
}

TEST(keeper_is_no_child_of_a_subreaper, "GEN-07", NEEDS_SUBREAPER)
{
	CHECK_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	watch_for_children();
}

TEST(keeper_is_no_child_of_process_one, "GEN-07", NEEDS_KEEPER)
{
	/* Once for the user namespace, without which one may not have the other. */
	pid_t pid = harness_fork();
	if (pid == 0) {
		if (!enter_mount_namespace() || unshare(CLONE_NEWPID) < 0)
			_exit(77);
		pid_t init = harness_fork();
		if (init == 0) {
			if (getpid() != 1 || mount("none", "/proc", "proc", 0, NULL) < 0)
				_exit(77);
			watch_for_children();
			exit(0);
		}
		int status = harness_reap(init);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	int status = harness_reap(pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no pid namespace can be made");
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

HELPER(childless)
{
	CHECK_EQ(argc, 1);
	/* The keeper of the old image's stream may be at work, or done; both unseen. */
	do
		expect_no_child();
	while (other_holder(atoi(argv[0]), 0));
	expect_no_child();
	return 0;
}

TEST(keeper_is_unseen_after_exec, "GEN-07 EXEC-06", NEEDS_KEEPER)
{
	if (IN_CHILD()) {
		int fd = ts_temp_file();
		trace_id_t trid =
			create_log(POSIX_TRACE_UNTIL_FULL, 16 * KIB, POSIX_TRACE_APPEND, 0, fd);
		char number[16];
		ts_start(trid);
		ts_emit(ts_id("event"), 1);
		snprintf(number, sizeof(number), "%d", CHECK_SYS(dup(fd)));
		harness_exec("childless", number, (char *)NULL);
	}
}

TEST(applications_ignoring_children_keep_doing_so, "GEN-07", NEEDS_KEEPER)
{
	signal(SIGCHLD, SIG_IGN);
	int fd = ts_temp_file();
	trace_event_id_t id = ts_id("event");
	for (int i = 0; i < 5; i++) {
		trace_id_t trid =
			start_log(POSIX_TRACE_UNTIL_FULL, 16 * KIB, POSIX_TRACE_APPEND, 0, fd);
		emit_run(id, 0, 20, 20);
		ts_flush(trid);
		ts_expect_logged(trid, fd, id, 0, 19);
	}
	struct sigaction action;
	CHECK_SYS(sigaction(SIGCHLD, NULL, &action));
	CHECK(action.sa_handler == SIG_IGN);
}

/* Both kinds of keeper: see keeper_is_no_child_of_a_subreaper. */
TEST(keeper_keeps_nothing_of_the_application, "GEN-07 LOG-12 EXEC-14", NEEDS_SUBREAPER)
{
	trace_event_id_t id = ts_id("event");
	for (int is_subreaper = 0; is_subreaper < 2; is_subreaper++) {
		int ends[2], fd = ts_temp_file(), other = ts_temp_file();
		char byte;
		CHECK_SYS(prctl(PR_SET_CHILD_SUBREAPER, is_subreaper));
		CHECK_SYS(pipe(ends));
		trace_id_t trid =
			start_log(POSIX_TRACE_UNTIL_FULL, 16 * KIB, POSIX_TRACE_APPEND, 0, fd);
		ts_emit(id, 1);
		/* Its end is seen at once, not when the stream ends. */
		close(ends[1]);
		CHECK_EQ(read(ends[0], &byte, 1), 0);
		CHECK_EQ(other_holder(other, getppid()), 0);
		CHECK_GT(other_holder(fd, getppid()), 0);
		ts_shutdown(trid);
		close(ends[0]);
	}
}

TEST(library_says_nothing, "GEN-08", NEEDS_KEEPER)
{
	int output = ts_temp_file(), errors = ts_temp_file(), fd = ts_temp_file();
	if (IN_CHILD()) {
		dup2(output, STDOUT_FILENO);
		dup2(errors, STDERR_FILENO);
		trace_attr_t none, attr = small_attr();
		trace_id_t trid;
		memset(&none, 0, sizeof(none));
		int full = open("/dev/full", O_WRONLY | O_CLOEXEC), ends[2];
		open_pipe(ends, 0);
		posix_trace_create(0, &none, &trid);
		posix_trace_create(-1, NULL, &trid);
		posix_trace_create_withlog(0, &attr, full, &trid);
		posix_trace_create_withlog(0, &attr, -1, &trid);
		posix_trace_open(errors, &trid);
		posix_trace_shutdown(12345);
		posix_trace_event(777, NULL, 10);
		trid = ts_create_log(0, &attr, ends[1]);
		close(ends[0]);
		signal(SIGPIPE, SIG_IGN);
		ts_start(trid);
		ts_flood(16 * KIB, ts_id("event"), 100, 0);
		posix_trace_flush(trid);
		ts_create_running(0, &attr);
		trid = ts_create_log(0, &attr, fd);
		ts_start(trid);
		ts_flood(16 * KIB, ts_id("event"), 100, 0);
		kill(other_holder(fd, getppid()), SIGKILL);
		posix_trace_flush(trid);
		exit(0);
	}
	CHECK_EVENTUALLY(other_holder(fd, 0) == 0);
	CHECK_EQ(ts_file_size(output), 0);
	CHECK_EQ(ts_file_size(errors), 0);
}

/*
 * Cancellation
 */

struct cancel_test {
	trace_id_t trid;
	int fd, step;
	int (*call)(trace_id_t);
};

/* A request pends all the time. Only calls of the library in here: others may act on it. */
static void *call_with_request_pending(void *arg)
{
	struct cancel_test *test = arg;
	trace_id_t trid;
	trace_attr_t attr;
	trace_event_id_t id;
	struct posixtrace_type_count types[16];
	unsigned int streams;

	pthread_cancel(pthread_self());
	CHECK_OK(posix_trace_attr_init(&attr));
	CHECK_OK(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL));
	CHECK_OK(posix_trace_create(0, &attr, &trid));
	CHECK_OK(posix_trace_eventid_open("event", &id));
	CHECK_OK(posix_trace_eventid_get_name(trid, id, results.name));
	counts_of(trid);
	CHECK_OK(posixtrace_get_type_counts(trid, types, 16));
	CHECK_OK(posixtrace_attach());
	CHECK_OK(posixtrace_event_for(0, "event", NULL, NULL, 0, &streams));
	/* The first event of the thread and some that need new room. */
	CHECK_OK(posix_trace_start(trid));
	ts_emit_numbers(id, 0, 4999);
	/* With an event there is no wait, and no cancellation. */
	use_all(trid, PLAIN);
	CHECK_OK(posix_trace_create_withlog(0, &attr, test->fd, &trid));
	use_all(trid, LOGGED);
	CHECK_OK(posix_trace_open(test->fd, &trid));
	do
		CHECK_OK(call_getnext(trid));
	while (!unavailable);
	use_all(trid, RECORDED);
	test->step = 1;
	pthread_testcancel();
	test->step = 2;
	return NULL;
}

TEST(requests_stay_pending, "GEN-10 EVENT-25", NEEDS_KEEPER)
{
	struct cancel_test test = {.fd = ts_temp_file()};
	pthread_t thread = ts_thread(call_with_request_pending, &test);
	CHECK(ts_join(thread) == PTHREAD_CANCELED);
	CHECK_EQ(test.step, 1);
}

static int call_get_type_counts(trace_id_t trid)
{
	static struct posixtrace_type_count types[16];

	return posixtrace_get_type_counts(trid, types, 16);
}

/* Each of these calls starts another keeper. */
static void *revive_with_request_pending(void *arg)
{
	struct cancel_test *test = arg;

	pthread_cancel(pthread_self());
	CHECK_OK(test->call(test->trid));
	test->step = 1;
	pthread_testcancel();
	test->step = 2;
	return NULL;
}

TEST(requests_stay_pending_while_a_keeper_is_started, "GEN-10 EXIT-03", NEEDS_KEEPER)
{
	static int (*const calls[])(trace_id_t) = {call_get_status, call_get_type_counts,
						   posix_trace_flush, posix_trace_clear,
						   posix_trace_shutdown};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct cancel_test test = {.fd = ts_temp_file(), .call = calls[i]};
		test.trid = create_log(POSIX_TRACE_UNTIL_FULL, 16 * KIB, POSIX_TRACE_APPEND, 0,
				       test.fd);
		kill_keeper(test.trid);
		NOTE("call %zu", i);
		pthread_t thread = ts_thread(revive_with_request_pending, &test);
		CHECK(ts_join(thread) == PTHREAD_CANCELED);
		CHECK_EQ(test.step, 1);
		/* Nothing is held. */
		if (calls[i] != posix_trace_shutdown) {
			ts_start(test.trid);
			ts_stop(test.trid);
			ts_shutdown(test.trid);
		}
		close(test.fd);
	}
}

struct slow_read {
	trace_id_t log;
	void *data;
	_Atomic pid_t closer;
	bool has_closed;
};

static void *read_slowly(void *arg)
{
	struct slow_read *test = arg;
	struct posix_trace_event_info info;
	size_t len;
	CHECK_OK(posix_trace_getnext_event(test->log, &info, test->data, SLOW_PAGE_BYTES, &len,
					   &unavailable));
	CHECK_EQ(unavailable, 0);
	return NULL;
}

static void *close_with_request_pending(void *arg)
{
	struct slow_read *test = arg;
	atomic_store(&test->closer, ts_gettid());
	pthread_cancel(pthread_self());
	CHECK_OK(posix_trace_close(test->log));
	test->has_closed = true;
	pthread_testcancel();
	return NULL;
}

/* The page is that of the event's data: the reader hangs in the call. */
TEST(requests_stay_pending_while_a_log_is_still_read, "GEN-10", NEEDS_KEEPER)
{
	struct slow_page page = slow_page_make();
	struct slow_read test = {.data = page.data};
	int fd = ts_temp_file();
	trace_id_t trid = start_log(POSIX_TRACE_UNTIL_FULL, 16 * KIB, POSIX_TRACE_APPEND, 0, fd);
	test.log = ts_end_and_open_log(trid, fd);
	pthread_t reader = ts_thread(read_slowly, &test);
	slow_page_wait(&page);
	pthread_t closer = ts_thread(close_with_request_pending, &test);
	CHECK_EVENTUALLY(atomic_load(&test.closer) != 0);
	ts_wait_asleep(getpid(), test.closer);
	slow_page_fill(&page, "", 1);
	CHECK(ts_join(reader) == NULL);
	CHECK(ts_join(closer) == PTHREAD_CANCELED);
	CHECK(test.has_closed);
}

static void *exit_with_request_pending(void *arg)
{
	(void)arg;
	pthread_cancel(pthread_self());
	exit(7);
}

TEST(requests_do_not_stop_an_exit, "GEN-10 EXIT-01", NEEDS_KEEPER)
{
	int fd = ts_temp_file();
	pid_t pid = harness_fork();
	if (pid == 0) {
		ts_start(create_log(POSIX_TRACE_UNTIL_FULL, 16 * KIB, POSIX_TRACE_APPEND, 0, fd));
		fflush(NULL); /* the C library's part of it */
		ts_join(ts_thread(exit_with_request_pending, NULL));
		_exit(1);
	}
	CHECK_EXIT(pid, 7);
	expect_closed_log(fd);
}

/*
 * Threads and handlers
 */

struct storm {
	trace_id_t plain, logged, log;
};

static void *storm_thread(void *arg)
{
	const struct storm *storm = arg;
	const struct {
		trace_id_t trid;
		int kind;
	} streams[] = {{storm->plain, PLAIN}, {storm->logged, LOGGED}, {storm->log, RECORDED}};
	unsigned int random = (unsigned int)ts_gettid();
	char name[TRACE_EVENT_NAME_MAX + 1];
	for (int turn = 0; turn < 1500; turn++) {
		random = random * 1103515245 + 12345;
		unsigned int s = (random >> 16) % 3, which = (random >> 20) % (FUNCTIONS + 4);
		trace_id_t trid = streams[s].trid, own;
		trace_attr_t attr = small_attr();
		trace_event_id_t id;
		int is_last;

		if (which < FUNCTIONS) {
			int (*call)(trace_id_t) = functions[which].call;
			bool is_accepted = functions[which].accepts & streams[s].kind;
			/* These wait, or end the stream. */
			if (is_accepted && (call == call_getnext || call == posix_trace_shutdown ||
					    call == posix_trace_close))
				continue;
			int err = call(trid);
			if (err != (is_accepted ? 0 : EINVAL) &&
			    !(call == call_timedgetnext && err == ETIMEDOUT &&
			      streams[s].kind != RECORDED))
				harness_fail("posix_trace_%s on kind %d: %s", functions[which].name,
					     streams[s].kind, strerror(err));
			continue;
		}
		snprintf(name, sizeof(name), "name %u", random % 200);
		switch (which - FUNCTIONS) {
		case 0:
			CHECK_OK(posix_trace_eventid_open(name, &id));
			posix_trace_event(id, name, strlen(name));
			CHECK_EQ(posix_trace_trid_eventid_open(trid, name, &id),
				 trid == storm->log ? EINVAL : 0);
			break;
		case 1:
			CHECK_OK(posix_trace_eventtypelist_getnext_id(trid, &id, &is_last));
			if (!is_last)
				CHECK_OK(posix_trace_eventid_get_name(trid, id, name));
			break;
		case 2:
			CHECK_OK(posix_trace_create(0, &attr, &own));
			CHECK_OK(posix_trace_start(own));
			CHECK_OK(posix_trace_shutdown(own));
			break;
		default:
			ts_emit_numbers(UNNAMED, 0, 49);
			break;
		}
	}
	return NULL;
}

TEST(any_function_in_any_thread, "GEN-01 ERRORS-06 ERRORS-07", NEEDS_KEEPER)
{
	static struct storm storm;
	pthread_t threads[8];
	int log_file = ts_temp_file(), fd = ts_temp_file();
	trace_attr_t attr = log_attr(POSIX_TRACE_LOOP, 64 * KIB, POSIX_TRACE_LOOP, 64 * KIB);
	storm.log = ts_create_log(0, &attr, log_file);
	ts_start(storm.log);
	emit_run(ts_id("event"), 0, 100, 20);
	storm.log = ts_end_and_open_log(storm.log, log_file);
	storm.plain = ts_create_running(0, &attr);
	storm.logged = ts_create_log(0, &attr, fd);
	for (int i = 0; i < 8; i++)
		threads[i] = ts_thread(storm_thread, &storm);
	for (int i = 0; i < 8; i++)
		ts_join(threads[i]);
	ts_shutdown(storm.plain);
	ts_shutdown(storm.logged);
	ts_close_log(storm.log);
	struct ts_events events = ts_log_events(fd);
	ts_expect_sorted(&events);
}

struct pattern {
	uint32_t number, inverse;
};

static trace_event_id_t handler_id;
static _Atomic uint32_t handler_events;

/* At regular intervals nothing but handlers might run. */
static struct itimerval once;

static void emit_in_handler(int signal_number)
{
	uint32_t number = atomic_fetch_add(&handler_events, 1);
	struct pattern data = {number, ~number};
	int saved = errno;
	(void)signal_number;
	posix_trace_event(handler_id, &data, sizeof(data));
	if (errno != saved)
		_exit(66);
	setitimer(ITIMER_REAL, &once, NULL);
}

TEST(events_from_handlers_that_interrupt_the_library, "GEN-02 EVENT-12 EVENT-13 ERRORS-09",
     NEEDS_KEEPER)
{
	struct sigaction action = {.sa_handler = emit_in_handler};
	trace_event_id_t id = ts_id("event");
	int fd = ts_temp_file(), own_fd = ts_temp_file();
	trace_attr_t small = small_attr();

	handler_id = ts_id("of the handler");
	trace_id_t trid = start_log(POSIX_TRACE_FLUSH, 4096 * KIB, POSIX_TRACE_APPEND, 0, fd);
	CHECK_SYS(sigaction(SIGALRM, &action, NULL));
	once.it_value.tv_usec = 70 * harness_slowdown();
	CHECK_SYS(setitimer(ITIMER_REAL, &once, NULL));
	uint32_t number = 0;
	for (int i = 0; i < 400 || handler_events < 100; i++) {
		char name[32];
		trace_id_t log;

		emit_run(id, number, number + 100, 24);
		number += 100;
		snprintf(name, sizeof(name), "name %d", i % 500);
		ts_id(name);
		use_all(ts_create(0, &small), PLAIN);
		if (i % 8 == 0) {
			use_all(ts_create_log(0, &small, own_fd), LOGGED);
			CHECK_OK(posix_trace_open(own_fd, &log));
			use_all(log, RECORDED);
		}
		if (i % 20 == 0)
			CHECK_OK(posix_trace_flush(trid));
	}
	once.it_value.tv_usec = 0;
	CHECK_SYS(setitimer(ITIMER_REAL, &once, NULL));
	ts_expect_running(trid);
	ts_shutdown(trid);
	NOTE("%u events, %u from the handler", number, handler_events);
	struct ts_events events = ts_log_events(fd);
	uint32_t due = 0, due_in_handler = 0;
	for (size_t i = 0; i < events.count; i++) {
		if (events.at[i].info.posix_event_id == id) {
			CHECK_EQ(ts_number(&events.at[i]), due++);
			for (size_t j = 4; j < 24; j++)
				CHECK_EQ(events.at[i].data[j], (due - 1) & 0x7f);
		} else if (events.at[i].info.posix_event_id == handler_id) {
			struct pattern data;
			CHECK_EQ(events.at[i].len, sizeof(data));
			memcpy(&data, events.at[i].data, sizeof(data));
			CHECK_EQ(data.number, due_in_handler++);
			CHECK_EQ(data.inverse, ~data.number);
		}
	}
	CHECK_EQ(due, number);
	CHECK_EQ(due_in_handler, handler_events);
	CHECK_GT(due_in_handler, 0);
}
