/* SPDX-License-Identifier: MIT */
/*
 * If root starts a test program that includes this header, the whole program runs as a user that no
 * other process has. So it has the shared directory and the 64 streams of a user for itself,
 * whatever other tests do at the same time, and shows that no privilege is needed. For other users
 * the header has no effect.
 *
 * Include it once, before any case.
 */
#ifndef TESTS_PRIVATE_USER_H
#define TESTS_PRIVATE_USER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The environment variable that is set when the program already runs as the private user. */
#define PRIVATE_USER_MARK "PTRC_TEST_PRIVATE_USER"
#define PRIVATE_USER_UNFIT 113

/* Whether the program runs as a private user. Then no other program has objects in the shared
 * directory. */
__attribute__((unused)) static bool private_user_is_on(void)
{
	return getenv(PRIVATE_USER_MARK) != NULL;
}

/* Stores the path of the user's directory of shared objects. */
__attribute__((unused)) static void private_user_dir(char path[64])
{
	snprintf(path, 64, "/dev/shm/posixtrace-%lu", (unsigned long)geteuid());
}

static void private_user_clean(uid_t uid)
{
	char path[64];
	struct dirent *entry;

	snprintf(path, sizeof(path), "/dev/shm/posixtrace-%lu", (unsigned long)uid);
	DIR *dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    unlinkat(dirfd(dir), entry->d_name, 0) < 0)
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	closedir(dir);
	rmdir(path);
}

/* Whether this user can execute the program by its path. Tests execute it again, and programs next
 * to it. */
static bool private_user_can_exec(void)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (len <= 0)
		return false;
	path[len] = '\0';
	return access(path, X_OK) == 0;
}

static pid_t private_user_pid;

/* A signal that should end this process ends the test program, its child, instead. This process
 * then still removes the shared directory. */
static void private_user_end(int signal_number)
{
	(void)signal_number;
	kill(private_user_pid, SIGKILL);
}

static void private_user_run(char **argv, uid_t uid)
{
	/* A second group for tests that need a set-group-ID program. */
	gid_t groups[1] = {(gid_t)uid + 1};

	if (setgroups(1, groups) < 0 || setresgid((gid_t)uid, (gid_t)uid, (gid_t)uid) < 0 ||
	    setresuid(uid, uid, uid) < 0 || !private_user_can_exec())
		_exit(PRIVATE_USER_UNFIT);
	/* The signal at the parent's death is set after the change of user, which would clear
	 * it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv(PRIVATE_USER_MARK, "1", 1);
	execv("/proc/self/exe", argv);
	_exit(PRIVATE_USER_UNFIT);
}

__attribute__((constructor)) static void private_user_enter(int argc, char **argv)
{
	int status;

	if (geteuid() != 0 || getenv(PRIVATE_USER_MARK))
		return;
	if (argc > 1 && (strcmp(argv[1], "-l") == 0 || strcmp(argv[1], "--helper") == 0))
		return;
	/* First a user number far above those of any system; if that fails, one below 65536,
	 * because some user namespaces map only those. */
	for (int is_low = 0; is_low < 2; is_low++) {
		pid_t pid = fork();
		if (pid < 0)
			return;
		/* tests/support/isolated sets the variable, because it runs each test in a pid
		 * namespace of its own, so that tests at the same time have equal pids. */
		const char *given = getenv("PTRC_TEST_NUMBER");
		uid_t number =
			given ? (uid_t)strtoul(given, NULL, 10) : (uid_t)(pid ? pid : getpid());
		uid_t uid = is_low ? 50000 + number % 15000 : 1879048192 + number;
		if (pid == 0)
			private_user_run(argv, uid);
		private_user_pid = pid;
		signal(SIGHUP, private_user_end);
		signal(SIGINT, private_user_end);
		signal(SIGTERM, private_user_end);
		while (waitpid(pid, &status, 0) < 0)
			;
		private_user_clean(uid);
		if (!WIFEXITED(status))
			_exit(99);
		if (WEXITSTATUS(status) != PRIVATE_USER_UNFIT)
			_exit(WEXITSTATUS(status));
	}
	/* Neither user number can be used, so the program goes on as root. */
	signal(SIGHUP, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
}

#endif
