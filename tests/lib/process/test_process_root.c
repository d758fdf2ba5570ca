/* SPDX-License-Identifier: MIT */
/*
 * Processes of other users as targets, processes that change their user, and threads with a
 * real-time priority. Root only; each case uses user numbers that nobody has.
 */
#include "tests/support/harness.h"
#include "tests/support/shared_objects.h"

#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <trace.h>

#include "lib/process/page.h"
#include "lib/process/process.h"
#include "lib/process/process_names.h"
#include "lib/process/target.h"
#include "lib/recorder/attach.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"

static uid_t made_uid;
static pid_t made_by;

static void dir_of(uid_t uid, char path[64])
{
	snprintf(path, 64, "/dev/shm/posixtrace-%lu", (unsigned long)uid);
}

static void remove_dir(void)
{
	char command[128], path[64];

	/* Its children, too, call what runs at exit. */
	if (getpid() != made_by)
		return;
	dir_of(made_uid, path);
	snprintf(command, sizeof(command), "rm -rf %s", path);
	(void)!system(command);
}

/* A user of the case's own; what it leaves in /dev/shm goes with the case. */
static uid_t make_user(void)
{
	if (geteuid() != 0)
		SKIP("needs root");
	made_uid = 1744830464 + (uid_t)getpid();
	if (setresuid((uid_t)-1, made_uid, (uid_t)-1) || setresuid((uid_t)-1, 0, (uid_t)-1))
		SKIP("there are no such users here");
	made_by = getpid();
	atexit(remove_dir);
	return made_uid;
}

static void become(uid_t uid)
{
	CHECK_SYS(setgroups(0, NULL));
	CHECK_SYS(setresgid((gid_t)uid, (gid_t)uid, (gid_t)uid));
	CHECK_SYS(setresuid(uid, uid, uid));
}

static bool has_page_in(uid_t uid, pid_t pid)
{
	char path[64], name[PTRC_PAGE_NAME_BYTES], full[160];
	struct stat st;

	page_name(pid, name);
	dir_of(uid, path);
	snprintf(full, sizeof(full), "%s/%s", path, name);
	return stat(full, &st) == 0 && st.st_uid == uid && (st.st_mode & 0777) == 0600;
}

static uint32_t open_name(const char *name)
{
	trace_event_id_t id;

	CHECK_OK(posix_trace_eventid_open(name, &id));
	return id;
}

TEST(root_makes_what_the_user_needs, "CREATE-15 CREATE-23 GEN-05")
{
	uid_t uid = make_user();
	struct ptrc_target t;
	struct ptrc_names *names;
	char path[64];
	struct stat st;

	pid_t pid = harness_fork();
	if (pid == 0) {
		become(uid);
		execl("/bin/sleep", "sleep", "60", (char *)NULL);
		_exit(127);
	}
	CHECK_EVENTUALLY(ptrc_target_open(pid, -1, &t) == 0 &&
			 (t.uid == uid || (ptrc_target_close(&t), false)));
	dir_of(uid, path);
	CHECK_SYS(stat(path, &st));
	CHECK_EQ(st.st_uid, uid);
	CHECK_EQ(st.st_mode & 07777, 0700);
	CHECK(has_page_in(uid, pid));
	CHECK_OK(ptrc_target_names(&t, &names));
	CHECK_OK(ptrc_target_attach(&t, 77, names->id, 0));
	ptrc_target_detach(&t, 77);
	CHECK(!has_page_in(uid, pid));
	ptrc_target_close(&t);
	ptrc_target_names_unref(names);
	CHECK_SYS(stat(path, &st));
	/* Only the bells are left. */
	CHECK_EQ(st.st_size, 60);
	harness_kill(pid);
}

TEST(process_with_many_groups_is_known, "CREATE-15")
{
	static gid_t groups[5000];
	struct ptrc_procfs_status st;

	if (geteuid() != 0)
		SKIP("needs root");
	for (size_t i = 0; i < 5000; i++)
		groups[i] = (gid_t)(1000000000 + i);
	/* Wherever a piece of what is read may end. */
	for (size_t count = 5000; count > 0; count = count > 400 ? 400 : count - 1) {
		CHECK_SYS(setgroups(count, groups));
		CHECK_OK(ptrc_procfs_status(0, &st));
		CHECK_EQ(st.inner_pid, getpid());
		CHECK_EQ(st.depth, 1);
		CHECK_EQ(st.uid[1], geteuid());
		CHECK_EQ(st.gid[1], getegid());
	}
	CHECK_SYS(setgroups(0, NULL));
}

/* If the process can be traced, it is not for long. */
static int error_of_target(pid_t pid)
{
	struct ptrc_target t;
	int error = ptrc_target_open(pid, -1, &t);

	if (!error)
		ptrc_target_close(&t);
	return error;
}

/* A process that has the identifiers of another user as well, even of one that it was only, is not a user's. */
TEST(only_root_traces_processes_of_several_users_or_groups, "CREATE-14 CREATE-15")
{
	/* 1: those of the user */
	static const struct {
		uid_t uid[3];
		gid_t gid[3];
		int for_root, for_user;
	} cases[] = {
		{{1, 1, 1}, {1, 1, 1}, 0, 0},	      {{1, 0, 0}, {0, 0, 0}, 0, EPERM},
		{{0, 0, 1}, {0, 0, 0}, 0, EPERM},     {{0, 1, 1}, {1, 1, 1}, EPERM, EPERM},
		{{1, 1, 0}, {1, 1, 1}, EPERM, EPERM}, {{1, 1, 1}, {0, 1, 1}, 0, EPERM},
		{{1, 1, 1}, {1, 1, 0}, 0, EPERM},
	};
	uid_t u = make_user();

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const uid_t *uid = cases[i].uid;
		const gid_t *gid = cases[i].gid;
		struct harness_gate ready = harness_gate(), end = harness_gate();
		pid_t pid = harness_fork();

		NOTE("case %zu", i);
		if (pid == 0) {
			CHECK_SYS(setresgid(gid[0] * u, gid[1] * u, gid[2] * u));
			CHECK_SYS(setresuid(uid[0] * u, uid[1] * u, uid[2] * u));
			/* So that the user owns what /proc has of it. */
			CHECK_SYS(prctl(PR_SET_DUMPABLE, 1));
			harness_open(&ready);
			harness_pass(&end);
			_exit(0);
		}
		harness_pass(&ready);
		CHECK_EQ(error_of_target(pid), cases[i].for_root);
		if (IN_CHILD()) {
			become(u);
			CHECK_EQ(error_of_target(pid), cases[i].for_user);
			exit(0);
		}
		harness_open(&end);
		CHECK_EXIT(pid, 0);
	}
}

TEST(process_that_changes_its_user_moves, "CREATE-15 EVENTID-10")
{
	uid_t uid = make_user();

	pid_t pid = harness_fork();
	if (pid == 0) {
		struct ptrc_target t;
		struct ptrc_names *names;

		CHECK_EQ(open_name("as root"), 10);
		CHECK(has_page_in(0, getpid()));
		become(uid);
		CHECK_EQ(open_name("as user"), 11);
		CHECK(has_page_in(uid, getpid()));
		CHECK_EQ(open_name("as root"), 10);
		CHECK_OK(ptrc_target_open(0, -1, &t));
		CHECK_EQ(t.uid, uid);
		CHECK_OK(ptrc_target_names(&t, &names));
		CHECK_EQ(ptrc_names_count(names), 2);
		CHECK_OK(ptrc_target_attach(&t, 5, names->id, 0));
		CHECK_EQ(ptrc_page_self->active, 1);
		ptrc_target_detach(&t, 5);
		ptrc_target_close(&t);
		ptrc_target_names_unref(names);
		CHECK_OK(ptrc_names_register((ptrc_process_names(&names), names), "more",
					     &(uint32_t){0}));
		exit(0);
	}
	CHECK_EXIT(pid, 0);
	CHECK(!has_page_in(uid, pid));
}

TEST(process_that_has_changed_its_user_is_given_its_names_by_root, "CREATE-15 EVENTID-10")
{
	struct harness_gate ready = harness_gate(), go = harness_gate();
	uid_t uid = make_user();
	struct ptrc_target t;
	struct ptrc_names *names;
	uint32_t id;

	pid_t pid = harness_fork();
	if (pid == 0) {
		CHECK_EQ(open_name("as root"), 10);
		CHECK_EQ(open_name("as root too"), 11);
		become(uid);
		harness_open(&ready);
		harness_pass(&go);
		CHECK_EQ(open_name("by root"), 12);
		CHECK_EQ(open_name("as user"), 13);
		CHECK_EQ(open_name("as root"), 10);
		CHECK_EQ(ptrc_page_self->slots[0].stream_id, 5);
		exit(0);
	}
	harness_pass(&ready);
	CHECK_OK(ptrc_target_open(pid, -1, &t));
	CHECK_EQ(t.uid, uid);
	CHECK_OK(ptrc_target_names(&t, &names));
	CHECK_OK(ptrc_names_register(names, "by root", &id));
	CHECK_OK(ptrc_target_attach(&t, 5, names->id, 0));
	harness_open(&go);
	CHECK_EXIT(pid, 0);
	CHECK_EQ(ptrc_names_count(names), 4);
	ptrc_target_detach(&t, 5);
	ptrc_target_close(&t);
	ptrc_target_names_unref(names);
}

TEST(traced_process_that_changes_its_user_stays, "CREATE-15 EXEC-13")
{
	uid_t uid = make_user();

	if (IN_CHILD()) {
		struct ptrc_target t;
		struct ptrc_names *names;

		CHECK_OK(ptrc_target_open(0, -1, &t));
		CHECK_OK(ptrc_target_names(&t, &names));
		CHECK_OK(ptrc_target_attach(&t, 5, names->id, 0));
		become(uid);
		open_name("x");
		CHECK_EQ(ptrc_page_self->active, 1);
		CHECK_EQ(ptrc_page_self->slots[0].stream_id, 5);
		uint32_t version;
		int fd;
		CHECK_EQ(ptrc_process_open_stream(5, &fd, &version), EPERM);
		CHECK_EQ(ptrc_page_self->slots[0].error, EPERM);
		exit(0);
	}
}

TEST(squatted_directory_is_believed_by_nobody, "CREATE-14 GEN-06", NEEDS_EXEC)
{
	uid_t uid = make_user();
	struct ptrc_target t;
	struct harness_gate end = harness_gate();
	char path[64];

	dir_of(uid, path);
	/* Another user was there first. */
	CHECK_SYS(mkdir(path, 0700));
	CHECK_SYS(chown(path, uid + 1, (gid_t)uid + 1));
	pid_t pid = harness_fork();
	if (pid == 0) {
		become(uid);
		CHECK_OK(ptrc_target_open(0, -1, &t));
		harness_pass(&end);
		_exit(0);
	}
	/* The process uses a directory of another name, and is found there. */
	CHECK_EVENTUALLY(ptrc_target_open(pid, -1, &t) == 0);
	ptrc_target_close(&t);
	harness_open(&end);
	harness_reap(pid);
	if (IN_CHILD()) {
		become(uid);
		harness_exec("elsewhere", (char *)NULL);
	}
	/* Nobody has put anything into the other user's directory. */
	CHECK_SYS(rmdir(path));
}

HELPER(elsewhere)
{
	struct ptrc_target t;

	CHECK_OK(ptrc_target_open(0, -1, &t));
	ptrc_target_close(&t);
	CHECK_EQ(open_name("private"), 10);
	return 0;
}

static struct {
	sem_t has_begun, may_end;
	int error;
} real_time;

/* Its end takes the lock that others have while they attach. */
static void *end_in_real_time(void *arg)
{
	const struct sched_param first = {.sched_priority = 1};
	trace_event_id_t id;

	CHECK_OK(posix_trace_eventid_open("event", &id));
	posix_trace_event(id, NULL, 0);
	real_time.error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	CHECK_SYS(sem_post(&real_time.has_begun));
	while (sem_wait(&real_time.may_end) < 0)
		;
	return arg;
}

TEST(real_time_thread_lets_those_run_that_it_waits_for, "EVENT-18")
{
	const struct rlimit limit = {200000, 400000};
	trace_id_t trid;
	pthread_t thread;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	CHECK_SYS(sched_setaffinity(0, sizeof(one), &one));
	CHECK_OK(posix_trace_create(0, NULL, &trid));
	CHECK_OK(posix_trace_start(trid));
	CHECK_SYS(sem_init(&real_time.has_begun, 0, 0));
	CHECK_SYS(sem_init(&real_time.may_end, 0, 0));
	/* It is killed when it has not slept for so long; and until it does, nobody else runs on
	 * this processor. */
	CHECK_SYS(setrlimit(RLIMIT_RTTIME, &limit));
	CHECK_OK(pthread_create(&thread, NULL, end_in_real_time, NULL));
	while (sem_wait(&real_time.has_begun) < 0)
		;
	ptrc_attach_lock();
	CHECK_SYS(sem_post(&real_time.may_end));
	ptrc_attach_unlock();
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(posix_trace_shutdown(trid));
	if (real_time.error)
		SKIP("no real-time priority");
}
