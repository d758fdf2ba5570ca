/* SPDX-License-Identifier: MIT */
/* The directory of shared objects, what is in it, and the locks that say who lives. */
#include "tests/support/harness.h"
#include "tests/support/private_user.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "lib/base/liveness.h"
#include "lib/life/life.h"
#include "lib/process/process.h"
#include "lib/base/shmdir.h"

static int open_dir(void)
{
	int dirfd;

	CHECK_OK(ptrc_shmdir_open(geteuid(), true, &dirfd));
	return dirfd;
}

/* An object of the case's own. */
static int make_object(int dirfd, char name[PTRC_SHMDIR_NAME_BYTES], uint64_t size)
{
	int fd;

	ptrc_shmdir_name(name, 'x', ptrc_shmdir_new_id());
	CHECK_OK(ptrc_shmdir_create_object(dirfd, name, geteuid(), size, size, &fd));
	return fd;
}

TEST(directory_belongs_to_its_user_alone, "CREATE-15 GEN-05 GEN-06")
{
	struct stat st;
	char path[64];

	open_dir();
	private_user_dir(path);
	CHECK_SYS(stat(path, &st));
	CHECK(S_ISDIR(st.st_mode));
	CHECK_EQ(st.st_mode & 0777, 0700);
	CHECK_EQ(st.st_uid, geteuid());
}

TEST(directory_is_right_whatever_the_umask, "GEN-06")
{
	char path[64];
	int dirfd;

	if (!private_user_is_on())
		SKIP("needs a directory of its own");
	private_user_dir(path);
	close(open_dir());
	/* Nothing else of this user runs: it is empty but for pages of this test. */
	for (int i = 0; i < 2; i++) {
		char aside[80];

		snprintf(aside, sizeof(aside), "%s.aside", path);
		CHECK_SYS(rename(path, aside));
		umask(i ? 0777 : 0277);
		CHECK_OK(ptrc_shmdir_open(geteuid(), true, &dirfd));
		umask(022);
		struct stat st;
		CHECK_SYS(fstat(dirfd, &st));
		CHECK_EQ(st.st_mode & 0777, 0700);
		char name[PTRC_SHMDIR_NAME_BYTES];
		umask(0777);
		int fd = make_object(dirfd, name, 4096);
		umask(022);
		CHECK_SYS(fstat(fd, &st));
		CHECK_EQ(st.st_mode & 0777, 0600);
		CHECK_EQ(unlinkat(dirfd, name, 0), 0);
		close(fd);
		close(dirfd);
		CHECK_SYS(rmdir(path));
		CHECK_SYS(rename(aside, path));
	}
}

TEST(directory_that_others_may_enter_is_refused, "CREATE-14 GEN-06")
{
	char path[64];
	int dirfd;

	if (!private_user_is_on())
		SKIP("needs a directory of its own");
	private_user_dir(path);
	close(open_dir());
	CHECK_SYS(chmod(path, 0750));
	CHECK_EQ(ptrc_shmdir_open(geteuid(), true, &dirfd), EPERM);
	CHECK_SYS(chmod(path, 0701));
	CHECK_EQ(ptrc_shmdir_open(geteuid(), false, &dirfd), EPERM);
	CHECK_SYS(chmod(path, 0700));
}

TEST(squatted_directory_is_refused, "CREATE-14 GEN-06")
{
	char path[64], aside[80];
	int dirfd;

	if (!private_user_is_on())
		SKIP("needs a directory of its own");
	private_user_dir(path);
	close(open_dir());
	snprintf(aside, sizeof(aside), "%s.aside", path);
	CHECK_SYS(rename(path, aside));
	CHECK_EQ(ptrc_shmdir_open(geteuid(), false, &dirfd), ENOENT);
	CHECK_SYS(symlink(aside, path));
	int through_link = ptrc_shmdir_open(geteuid(), true, &dirfd);
	unlink(path);
	int fd = open(path, O_CREAT | O_RDWR, 0600);
	int over_file = ptrc_shmdir_open(geteuid(), true, &dirfd);
	close(fd);
	unlink(path);
	rename(aside, path);
	CHECK_EQ(through_link, EPERM);
	CHECK_EQ(over_file, EPERM);
	/* Another user's directory is not for us, even if we know its name. */
	if (geteuid() != 0)
		CHECK_EQ(ptrc_shmdir_open(0, true, &dirfd) == EPERM ||
				 ptrc_shmdir_open(0, false, &dirfd) == ENOENT,
			 true);
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return is_written;
}

TEST(user_namespace_shares_the_directory, "CREATE-15 GEN-06")
{
	char map[64], path[64];
	int dirfd = open_dir();
	struct stat outside, inside;

	CHECK_SYS(fstat(dirfd, &outside));
	close(dirfd);
	private_user_dir(path);
	snprintf(map, sizeof(map), "0 %lu 1\n", (unsigned long)geteuid());
	pid_t pid = harness_fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER))
			_exit(77);
		/* Without a number outside it is the directory that the kernel opens. */
		CHECK_OK(ptrc_shmdir_open(geteuid(), true, &dirfd));
		CHECK_SYS(fstat(dirfd, &inside));
		CHECK_EQ(inside.st_ino == outside.st_ino, 1);
		if (!write_file("/proc/self/uid_map", map))
			_exit(77);
		CHECK_EQ(geteuid(), 0);
		CHECK_OK(ptrc_shmdir_open(0, true, &dirfd));
		CHECK_SYS(fstat(dirfd, &inside));
		CHECK_EQ(inside.st_ino == outside.st_ino, 1);
		CHECK_EQ(ptrc_shmdir_open(1, true, &dirfd), EPERM);
		_exit(0);
	}
	int status = harness_reap(pid);
	if (status == 77 << 8)
		SKIP("no user namespaces here");
	CHECK_EQ(status, 0);
}

/* Makes something of this name that is no object, or one with two names. */
enum odd { HARD_LINK, SYMLINK, DANGLING, FIFO, DIRECTORY, ODD };

static void put_odd(int dirfd, enum odd odd, const char *name, const char *object)
{
	switch (odd) {
	case HARD_LINK:
		CHECK_SYS(linkat(dirfd, object, dirfd, name, 0));
		break;
	case SYMLINK:
		CHECK_SYS(symlinkat(object, dirfd, name));
		break;
	case DANGLING:
		CHECK_SYS(symlinkat("nowhere", dirfd, name));
		break;
	case FIFO:
		CHECK_SYS(mkfifoat(dirfd, name, 0600));
		break;
	default:
		CHECK_SYS(mkdirat(dirfd, name, 0700));
	}
}

TEST(what_is_no_object_is_neither_opened_nor_replaced, "GEN-05 GEN-06")
{
	char name[PTRC_SHMDIR_NAME_BYTES], other[PTRC_SHMDIR_NAME_BYTES];
	int dirfd = open_dir(), fd;
	uint64_t size;
	struct stat st;

	make_object(dirfd, name, 8192);
	CHECK_EQ(ptrc_shmdir_create_object(dirfd, name, geteuid(), 1, 1, &fd), EEXIST);
	CHECK_OK(ptrc_shmdir_open_object(dirfd, name, geteuid(), &fd, &size));
	CHECK_EQ(size, 8192);
	close(fd);
	ptrc_shmdir_name(other, 'x', ptrc_shmdir_new_id());
	CHECK_EQ(ptrc_shmdir_open_object(dirfd, other, geteuid(), &fd, &size), ENOENT);
	for (enum odd odd = 0; odd < ODD; odd++) {
		NOTE("odd thing %d", (int)odd);
		put_odd(dirfd, odd, other, name);
		CHECK_EQ(ptrc_shmdir_open_object(dirfd, other, geteuid(), &fd, &size), EPERM);
		CHECK_EQ(ptrc_shmdir_create_object(dirfd, other, geteuid(), 0, 0, &fd), EEXIST);
		if (odd == HARD_LINK)
			CHECK_EQ(ptrc_shmdir_open_object(dirfd, name, geteuid(), &fd, &size),
				 EPERM);
		CHECK_SYS(unlinkat(dirfd, other, odd == DIRECTORY ? AT_REMOVEDIR : 0));
	}
	CHECK_EQ(fstatat(dirfd, "nowhere", &st, 0), -1);
	CHECK_SYS(unlinkat(dirfd, name, 0));
}

TEST(object_grows_at_its_end, "GEN-06")
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	int dirfd = open_dir(), fd;
	struct stat st;

	ptrc_shmdir_name(name, 'x', ptrc_shmdir_new_id());
	umask(0277);
	CHECK_OK(ptrc_shmdir_create_object(dirfd, name, geteuid(), 0, 0, &fd));
	umask(022);
	CHECK_SYS(fstat(fd, &st));
	CHECK_EQ(st.st_size, 0);
	CHECK_EQ(st.st_mode & 07777, 0600);
	/* Its end is reserved and makes it longer, in one. */
	CHECK_OK(ptrc_shmdir_reserve(fd, 8192, 4096, 4096));
	CHECK_SYS(fstat(fd, &st));
	CHECK_EQ(st.st_size, 8192);
	CHECK_EQ(st.st_blocks * 512, 4096);
	CHECK_SYS(unlinkat(dirfd, name, 0));
}

TEST(names_of_objects_read_back, "GEN-05")
{
	char name[PTRC_SHMDIR_NAME_BYTES];

	ptrc_shmdir_name(name, 's', UINT64_C(0x0123456789abcdef));
	CHECK_STR_EQ(name, "s.0123456789abcdef");
	CHECK_EQ(ptrc_shmdir_parse(name, 's') == UINT64_C(0x0123456789abcdef), 1);
	CHECK_EQ(ptrc_shmdir_parse(name, 'n'), 0);
	CHECK_EQ(ptrc_shmdir_parse("s.0123456789abcdeg", 's'), 0);
	CHECK_EQ(ptrc_shmdir_parse("s.0123456789abcdef0", 's'), 0);
	CHECK_EQ(ptrc_shmdir_parse("s.0123456789abcde", 's'), 0);
	CHECK_EQ(ptrc_shmdir_parse("", 's'), 0);
	ptrc_shmdir_name(name, 'p', 4194304);
	CHECK_STR_EQ(name, "p.4194304");
}

static volatile sig_atomic_t signal_count;

static void count_signal(int signo)
{
	(void)signo;
	signal_count++;
}

TEST(file_size_limit_is_no_hindrance, "CREATE-17 CREATE-25")
{
	struct rlimit limit = {100, RLIM_INFINITY}, after;
	char name[PTRC_SHMDIR_NAME_BYTES];
	int dirfd = open_dir();
	struct stat st;

	CHECK(signal(SIGXFSZ, count_signal) != SIG_ERR);
	CHECK_SYS(getrlimit(RLIMIT_FSIZE, &after));
	limit.rlim_max = after.rlim_max;
	CHECK_SYS(setrlimit(RLIMIT_FSIZE, &limit));
	int fd = make_object(dirfd, name, 1 << 20);
	CHECK_SYS(fstat(fd, &st));
	CHECK_EQ(st.st_size, 1 << 20);
	CHECK_SYS(getrlimit(RLIMIT_FSIZE, &after));
	CHECK_EQ(after.rlim_cur, 100);
	CHECK_EQ(after.rlim_max == limit.rlim_max, 1);
	CHECK_SYS(unlinkat(dirfd, name, 0));
	close(fd);
	CHECK_EQ(signal_count, 0);
}

TEST(hard_file_size_limit_means_no_memory, "CREATE-17 CREATE-25")
{
	struct rlimit limit = {100, 100};
	char name[PTRC_SHMDIR_NAME_BYTES];
	int dirfd = open_dir(), fd = -1;
	sigset_t pending;
	struct stat st;

	if (geteuid() == 0)
		SKIP("root may raise the hard limit");
	CHECK(signal(SIGXFSZ, count_signal) != SIG_ERR);
	CHECK_SYS(setrlimit(RLIMIT_FSIZE, &limit));
	ptrc_shmdir_name(name, 'x', ptrc_shmdir_new_id());
	CHECK_EQ(ptrc_shmdir_create_object(dirfd, name, geteuid(), 8192, 8192, &fd), ENOMEM);
	CHECK_EQ(fd, -1);
	CHECK_EQ(fstatat(dirfd, name, &st, 0), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(signal_count, 0);
	CHECK_SYS(sigpending(&pending));
	CHECK_EQ(sigismember(&pending, SIGXFSZ), 0);
}

TEST(lock_of_a_process_ends_with_it, "CREATE-12 EXIT-03")
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	int dirfd = open_dir(), fd = make_object(dirfd, name, 4096);
	struct harness_gate ready = harness_gate();

	/* As soon as the process is reaped, however often. */
	for (int round = 0; round < 200; round++) {
		bool is_killed = round % 2;
		struct ptrc_liveness l = {0};

		pid_t pid = harness_fork();
		if (pid == 0) {
			CHECK_OK(ptrc_liveness_take(dirfd, name, PTRC_LIVE_CONTROLLER, &l));
			/* No descriptor holds it. */
			close_range(3, (unsigned int)ready.ends[1] - 1, 0);
			close_range((unsigned int)ready.ends[1] + 1, ~0U, 0);
			harness_open(&ready);
			if (is_killed)
				pause();
			_exit(0);
		}
		harness_pass(&ready);
		if (is_killed) {
			CHECK(ptrc_liveness_is_held(fd, 0, 2));
			CHECK(!ptrc_liveness_is_held(fd, 1, 1));
			CHECK_EQ(ptrc_liveness_take(dirfd, name, PTRC_LIVE_CONTROLLER, &l), EAGAIN);
			CHECK_SYS(kill(pid, SIGKILL));
		}
		harness_reap(pid);
		CHECK(!ptrc_liveness_is_held(fd, 0, 2));
	}
	CHECK_SYS(unlinkat(dirfd, name, 0));
}

TEST(places_are_never_given_twice, "CREATE-09 CREATE-10")
{
	if (!private_user_is_on())
		SKIP("needs the places of a user for itself");
	/* Eight processes take and drop eight each, all the time: all always fit. */
	for (int p = 0; p < 8; p++) {
		if (harness_fork() == 0) {
			struct ptrc_liveness places[8] = {{0}};

			for (int round = 0; round < 200; round++) {
				for (int i = 0; i < 8; i++)
					CHECK_OK(ptrc_liveness_take_place(&places[i]));
				for (int i = 0; i < 8; i++)
					ptrc_liveness_drop_place(&places[i]);
			}
			_exit(0);
		}
	}
	for (int p = 0; p < 8; p++) {
		int status;

		CHECK_SYS(wait(&status));
		CHECK_EQ(status, 0);
	}
}

struct forker {
	int hold, keep; /* ends of a pipe: children live while the second is open */
	atomic_bool is_done;
};

static void *fork_children(void *arg)
{
	struct forker *f = arg;
	char byte;

	for (int i = 0; i < 100; i++) {
		pid_t child = fork();

		if (child == 0) {
			close(f->keep);
			(void)!read(f->hold, &byte, 1);
			_exit(0);
		}
	}
	atomic_store(&f->is_done, true);
	return NULL;
}

TEST(fork_beside_a_lock_does_not_take_it_along, "FORK-11 FORK-15", NEEDS_FORK_ADVICE)
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	int dirfd = open_dir(), fd = make_object(dirfd, name, 4096);

	/* Every program that uses locks has the fork handlers, because of life.h. */
	CHECK_OK(ptrc_process_init());
	if (IN_CHILD()) {
		struct forker f = {0};
		struct ptrc_liveness l = {0};
		pthread_t thread;
		int hold[2], count = 0;

		CHECK_SYS(pipe2(hold, O_CLOEXEC));
		f.hold = hold[0];
		f.keep = hold[1];
		CHECK_OK(pthread_create(&thread, NULL, fork_children, &f));
		while (!atomic_load(&f.is_done)) {
			CHECK_OK(ptrc_liveness_take(dirfd, name, 0, &l));
			CHECK(ptrc_liveness_is_held(fd, 0, 1));
			ptrc_liveness_drop(&l);
			CHECK(!ptrc_liveness_is_held(fd, 0, 1));
			count++;
		}
		NOTE("%d locks beside 100 forks", count);
		CHECK_OK(pthread_join(thread, NULL));
		_exit(0);
	}
	CHECK_SYS(unlinkat(dirfd, name, 0));
}
