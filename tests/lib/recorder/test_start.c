/* SPDX-License-Identifier: MIT */
/*
 * Programs that nobody traces: what they pay when they start and end, and that they are traced from
 * their next event on once somebody traces them.
 */
#include "include/posixtrace-private.h"
#include "tests/support/harness.h"
#include "tests/support/private_user.h"
#include "tests/support/shared_objects.h"
#include "tests/support/support.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <trace.h>

#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/process/bell.h"
#include "lib/process/page.h"
#include "lib/process/process.h"
#include "lib/process/sweep.h"

static void record(void)
{
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
}

/* It has begun, and has no page. */
static bool is_quiet(void)
{
	return ptrc_here.is_quiet && ptrc_self->pid == 0 && !has_page(getpid());
}

static uint64_t bell_of(pid_t pid)
{
	struct ptrc_bells *bells;
	int dirfd = open_dir();

	CHECK_OK(ptrc_bells_open(dirfd, geteuid(), &bells));
	uint64_t pages = *ptrc_bell(bells, pid);
	ptrc_bells_unmap(bells);
	close(dirfd);
	return pages;
}

/* A child tells what it has done, and waits until it is to go on. */
static struct harness_gate told, go;

static void make_gates(void)
{
	told = harness_gate();
	go = harness_gate();
}

static void tell_and_wait(void)
{
	harness_open(&told);
	harness_pass(&go);
}

HELPER(start_and_end)
{
	(void)argv;
	/* Where the counting begins again. */
	syscall(SYS_getsid, 0);
	return 0;
}

static pid_t start_watched(void)
{
	char *argv[] = {(char *)(uintptr_t) "helper", (char *)(uintptr_t) "--helper",
			(char *)(uintptr_t) "start_and_end", NULL};
	pid_t pid = vfork();

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
			execv("/proc/self/exe", argv);
		_exit(127);
	}
	return pid;
}

/* Runs the helper under watch. Counts its system calls from the first of the library's constructor to
 * the last one, and those from main to the end. */
static bool count_calls(int *at_start, int *opened, int *at_end)
{
	enum { BEFORE, START, BETWEEN, END } where = BEFORE;
	struct __ptrace_syscall_info info;
	int status;

	*at_start = *opened = *at_end = 0;
	pid_t pid = start_watched();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status))
		return false;
	CHECK_SYS(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD));
	for (;;) {
		CHECK_SYS(ptrace(PTRACE_SYSCALL, pid, NULL, NULL));
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status))
			break;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) <= 0) {
			harness_kill(pid);
			return false;
		}
		if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		if (where == BEFORE && info.entry.nr == SYS_rt_sigprocmask)
			where = START;
		*at_start += where == START;
		*opened += where == START && info.entry.nr == SYS_openat;
		*at_end += where == END && info.entry.nr != SYS_exit_group;
		if (where == START && info.entry.nr == SYS_membarrier)
			where = BETWEEN;
		if (info.entry.nr == SYS_getsid)
			where = END;
	}
	CHECK_EQ(status, 0);
	return where == END;
}

TEST(program_that_nobody_traces_makes_few_system_calls, "", NEEDS_EXEC)
{
	int at_start, opened, at_end;

	/* There is a directory, as there is after the first program. */
	close(open_dir());
	CHECK(is_quiet());
	if (!count_calls(&at_start, &opened, &at_end))
		SKIP("system calls cannot be counted here");
	NOTE("%d when it starts, %d when it ends", at_start, at_end);
	CHECK_LE(at_start, 15);
	CHECK_EQ(opened, 1);
#ifndef HARNESS_IS_SANITIZED
	CHECK_LE(at_end, 4);
#endif
}

HELPER(start_and_leave)
{
	(void)argv;
	/* Without the work of the library at the end. */
	syscall(SYS_exit_group, 0);
	return 1;
}

static long faults_of(const char *helper)
{
	char *argv[] = {(char *)(uintptr_t) "helper", (char *)(uintptr_t) "--helper",
			(char *)(uintptr_t)helper, NULL};
	struct rusage used;
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	CHECK_EQ(wait4(pid, &status, 0, &used), pid);
	CHECK_EQ(status, 0);
	return used.ru_minflt;
}

TEST(program_that_nobody_traces_touches_few_pages_at_its_end, "", NEEDS_EXEC)
{
	close(open_dir());
	/* The first start may have pages to read that the next one finds. */
	faults_of("start_and_end");
	long with = faults_of("start_and_end");
	long without = faults_of("start_and_leave");
	NOTE("%ld page faults, of which %ld at the end", with, with - without);
#ifndef HARNESS_IS_SANITIZED
	CHECK_LE(with - without, 32);
#endif
}

TEST(program_that_nobody_traces_is_known_by_its_library, "")
{
	struct ptrc_inspected_process process;

	make_gates();
	pid_t pid = harness_fork();
	if (pid == 0) {
		CHECK(is_quiet());
		tell_and_wait();
		exit(0);
	}
	harness_pass(&told);
	CHECK_OK(ptrc_inspect_process(pid, &process));
	CHECK(!process.pt_has_page);
	CHECK(process.pt_has_library);
	harness_open(&go);
	CHECK_EXIT(pid, 0);
}

TEST(program_is_traced_from_its_next_event_on, "CREATE-13")
{
	make_gates();
	pid_t pid = harness_fork();
	if (pid == 0) {
		record();
		CHECK(is_quiet());
		tell_and_wait();
		record();
		CHECK(!ptrc_here.is_quiet);
		tell_and_wait();
		exit(0);
	}
	harness_pass(&told);
	trace_id_t trid = ts_create_running(pid, NULL);
	harness_open(&go);
	harness_pass(&told);
	struct ts_events events =
		ts_read_ids(trid, POSIX_TRACE_START, POSIX_TRACE_UNNAMED_USEREVENT, 0);
	CHECK_EQ(events.at[1].info.posix_pid, pid);
	CHECK(has_page(pid));
	harness_open(&go);
	CHECK_EXIT(pid, 0);
	CHECK(!has_page(pid));
	ts_shutdown(trid);
	CHECK_EQ(bell_of(pid), 0);
}

TEST(program_that_has_no_event_any_more_takes_its_page_along, "GEN-05")
{
	make_gates();
	pid_t pid = harness_fork();
	if (pid == 0) {
		tell_and_wait();
		exit(0);
	}
	harness_pass(&told);
	trace_id_t trid = ts_create_running(pid, NULL);
	CHECK(has_page(pid));
	harness_open(&go);
	CHECK_EXIT(pid, 0);
	CHECK(!has_page(pid));
	ts_shutdown(trid);
	CHECK_EQ(bell_of(pid), 0);
}

TEST(child_of_a_program_without_events_inherits, "FORK-14")
{
	make_gates();
	pid_t pid = harness_fork();
	if (pid == 0) {
		tell_and_wait();
		pid_t child = fork();
		if (child == 0) {
			record();
			exit(0);
		}
		CHECK_EXIT(child, 0);
		exit(0);
	}
	harness_pass(&told);
	trace_id_t trid = ts_run_inherited(pid, 0, 0, 0);
	harness_open(&go);
	CHECK_EXIT(pid, 0);
	struct ts_events events =
		ts_read_ids(trid, POSIX_TRACE_START, POSIX_TRACE_UNNAMED_USEREVENT, 0);
	CHECK_NE(events.at[1].info.posix_pid, pid);
}

TEST(child_that_nobody_traces_looks_at_its_own_bell, "FORK-11")
{
	make_gates();
	pid_t pid = harness_fork();
	if (pid == 0) {
		pid_t child = fork();
		if (child == 0) {
			CHECK(is_quiet());
			CHECK_EQ(write(told.ends[1], &(pid_t){getpid()}, sizeof(pid_t)),
				 (ssize_t)sizeof(pid_t));
			tell_and_wait();
			record();
			exit(0);
		}
		CHECK_EXIT(child, 0);
		record();
		CHECK(is_quiet());
		exit(0);
	}
	pid_t child;
	CHECK_EQ(read(told.ends[0], &child, sizeof(child)), (ssize_t)sizeof(child));
	harness_pass(&told);
	trace_id_t trid = ts_create_running(child, NULL);
	harness_open(&go);
	CHECK_EXIT(pid, 0);
	struct ts_events events =
		ts_read_ids(trid, POSIX_TRACE_START, POSIX_TRACE_UNNAMED_USEREVENT, 0);
	CHECK_EQ(events.at[1].info.posix_pid, child);
}

TEST(vfork_child_of_a_program_that_is_called_changes_nothing, "FORK-19", NEEDS_FORK_ADVICE)
{
	volatile int init = -1;

	CHECK(is_quiet());
	ptrc_bell_ring(ptrc_here.bells, getpid());
	pid_t pid = vfork();
	if (pid == 0) {
		record();
		init = ptrc_process_init();
		_exit(0);
	}
	CHECK_EXIT(pid, 0);
	CHECK_EQ(init, EPERM);
	CHECK(is_quiet());
	/* It has none of its own yet: so this is a false alarm, and its next event finds that out. */
	record();
	CHECK(!ptrc_here.is_quiet);
	CHECK(has_page(getpid()));
	CHECK_EQ(ptrc_page_self->active, 0);
	ptrc_bell_unring(ptrc_here.bells, getpid());
}

TEST(raw_clone_of_a_program_without_a_page_gets_one_of_its_own, "FORK-21", NEEDS_FORK_ADVICE)
{
	CHECK(is_quiet());
	ptrc_bell_ring(ptrc_here.bells, getpid());
	pid_t pid = harness_raw_clone();
	if (pid == 0) {
		record();
		_exit(ptrc_self->pid != getpid() || !has_page(getpid()));
	}
	CHECK_EXIT(pid, 0);
	CHECK(is_quiet());
	ptrc_bell_unring(ptrc_here.bells, getpid());
}

TEST(program_without_descriptors_is_traced_when_it_has_some_again, "")
{
	make_gates();
	pid_t pid = harness_fork();
	if (pid == 0) {
		struct rlimit old, none;

		tell_and_wait();
		CHECK_SYS(getrlimit(RLIMIT_NOFILE, &old));
		none = (struct rlimit){0, old.rlim_max};
		CHECK_SYS(setrlimit(RLIMIT_NOFILE, &none));
		record();
		CHECK_SYS(setrlimit(RLIMIT_NOFILE, &old));
		record();
		exit(0);
	}
	harness_pass(&told);
	trace_id_t trid = ts_create_running(pid, NULL);
	harness_open(&go);
	CHECK_EXIT(pid, 0);
	ts_read_ids(trid, POSIX_TRACE_START, POSIX_TRACE_UNNAMED_USEREVENT, 0);
	CHECK_EQ(ts_figure(trid, "untraced_processes"), 1);
}

TEST(bells_ring_for_the_pages_that_there_are, "GEN-05")
{
	make_gates();
	for (int i = 0; i < 2; i++) {
		pid_t pid = harness_fork();
		if (pid == 0) {
			ts_id("name");
			tell_and_wait();
			if (i == 0)
				exit(0);
			raise(SIGKILL);
		}
		harness_pass(&told);
		CHECK_EQ(bell_of(pid), 1);
		harness_open(&go);
		harness_reap(pid);
		if (i == 1) {
			int dirfd = open_dir();

			CHECK_EQ(bell_of(pid), 1);
			ptrc_sweep(dirfd, geteuid(), -1);
			close(dirfd);
		}
		CHECK(!has_page(pid));
		CHECK_EQ(bell_of(pid), 0);
	}
	/* Whoever has written there. */
	ptrc_bell_unring(ptrc_here.bells, getpid());
	CHECK_EQ(bell_of(getpid()), 0);
}

TEST(program_that_others_may_not_look_at_has_a_page, "CREATE-15")
{
	CHECK(is_quiet());
	CHECK_SYS(prctl(PR_SET_DUMPABLE, 0));
	if (IN_CHILD()) {
		CHECK(has_page(getpid()));
		exit(0);
	}
}

HELPER(record_and_end)
{
	(void)argv;
	record();
	return ptrc_here.is_quiet || ptrc_here.has_page;
}

TEST(program_runs_where_the_bells_are_no_good, "GEN-06", NEEDS_EXEC)
{
	int dirfd, fd;

	if (!private_user_is_on())
		SKIP("needs a directory of its own");
	dirfd = open_dir();
	CHECK_SYS(renameat(dirfd, PTRC_BELLS_NAME, dirfd, "aside"));
	for (int i = 0; i < 3; i++) {
		switch (i) {
		case 0: /* too short */
			fd = CHECK_SYS(openat(dirfd, PTRC_BELLS_NAME, O_CREAT | O_RDWR, 0600));
			close(fd);
			break;
		case 1:
			CHECK_SYS(symlinkat("aside", dirfd, PTRC_BELLS_NAME));
			break;
		default:
			CHECK_SYS(mkfifoat(dirfd, PTRC_BELLS_NAME, 0600));
		}
		if (IN_CHILD())
			harness_exec("record_and_end", (char *)NULL);
		CHECK_SYS(unlinkat(dirfd, PTRC_BELLS_NAME, 0));
	}
	CHECK_SYS(renameat(dirfd, "aside", dirfd, PTRC_BELLS_NAME));
}
