/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/session_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "lib/base/procfs.h"
#include "src/base/message.h"
#include "src/base/scope.h"

bool ptrc_session_is_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-+:@=,";
	size_t size = strlen(name);

	return size && size <= PTRC_SESSION_NAME_MAX && name[0] != '-' &&
	       strspn(name, allowed) == size;
}

void ptrc_session_make_name(char *text)
{
	for (char *p = text; *p; p++) {
		char one[2] = {*p, '\0'};

		if (!ptrc_session_is_name(one) && *p != '-')
			*p = '_';
	}
	if (!*text)
		strcpy(text, "p");
	else if (*text == '-')
		*text = 'p';
}

void ptrc_session_command(pid_t pid, char name[32])
{
	struct ptrc_procfs_stat st;

	snprintf(name, 32, "%.31s", ptrc_procfs_stat(pid, &st) ? "" : st.comm);
}

uint32_t ptrc_session_pid_namespace(void)
{
	struct stat st;

	/* The kernel's numbers of namespaces have 32 bits. */
	return stat("/proc/self/ns/pid", &st) ? 0 : (uint32_t)st.st_ino;
}

/* Returns what is wrong with /dev/shm, so that no directory in it can be used; NULL if nothing is. */
static const char *shm_fault(void)
{
	struct stat st;
	int error = access("/dev/shm", W_OK) ? errno : 0;

	/* In a chroot() environment, /dev/shm usually does not exist. */
	if (error == ENOENT)
		return "does not exist, and a trace needs memory there: mount -t tmpfs -o "
		       "mode=1777 tmpfs /dev/shm";
	if (error == EROFS)
		return "is mounted read-only, and a trace needs memory there: mount -o "
		       "remount,rw /dev/shm";
	if (error == EACCES)
		return "may not be written, and a trace needs memory there: chmod 1777 /dev/shm";
	if (!stat("/dev/shm", &st) && !(st.st_mode & S_ISVTX) && (st.st_mode & 022))
		return "others may rename what is in it, so a trace is not safe there: chmod 1777 "
		       "/dev/shm";
	return NULL;
}

void ptrc_session_say_directory(int error)
{
	const char *fault = error == EPERM ? shm_fault() : NULL;
	char path[64];

	ptrc_inspect_directory(0, path);
	ptrc_cli_message(fault ? "/dev/shm" : path, "%s",
			 fault		  ? fault
			 : error == EPERM ? "not safe to use: it has to be a directory of yours "
					    "that is closed to others (mode 700)"
					  : strerror(error));
}

void ptrc_session_address(const char *directory, const char *name, struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	/* The path of the directory has at most 40 bytes, and the caller has checked the length of the name. */
	_Static_assert(sizeof("/dev/shm/posixtrace-4294967295.01234567/c.") +
				       PTRC_SESSION_NAME_MAX <=
			       sizeof(address->sun_path),
		       "every session's name makes an address");
	if ((size_t)snprintf(address->sun_path, sizeof(address->sun_path), "%.40s/c.%s", directory,
			     name) >= sizeof(address->sun_path))
		address->sun_path[0] = '\0';
}

int ptrc_session_lock(const char *directory)
{
	/* Processes hold the lock only for a few system calls, unless they are stopped or take the name of a session
	 * that does not answer. So this function gives up after two seconds. */
	const struct timespec pause = {.tv_nsec = 2000000};
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -1;
	for (int i = 0; i < 1000; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return fd;
		if (errno != EWOULDBLOCK && errno != EINTR)
			break;
		nanosleep(&pause, NULL);
	}
	close(fd);
	return -1;
}

int ptrc_session_connect(const struct sockaddr_un *address, int limit_ms, int *fd)
{
	const struct timeval limit = {
		.tv_sec = limit_ms / 1000,
		.tv_usec = limit_ms % 1000 * 1000,
	};
	int error;
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (s < 0)
		return errno;
	/* SO_SNDTIMEO also limits connect(), which waits while the queue of connections is full. */
	if (!setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) &&
	    !setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) &&
	    !connect(s, (const struct sockaddr *)address, sizeof(*address))) {
		*fd = s;
		return 0;
	}
	error = errno == EAGAIN ? ETIMEDOUT : errno;
	close(s);
	return error;
}

/* Whether no process has the socket any more: then the kernel refuses connections. Tries to connect a socket of
 * another type, so a controller that still runs gets no connection and is not woken (the error is EPROTOTYPE). */
static bool is_stale(const struct sockaddr_un *address)
{
	PTRC_SCOPED_FD s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return s >= 0 && connect(s, (const struct sockaddr *)address, sizeof(*address)) &&
	       errno == ECONNREFUSED;
}

/* Returns the next name of a socket in the directory, including temporary names of the form ~PID; NULL after
 * the last one. */
static const char *next_name(DIR *dir)
{
	struct dirent *entry;

	while ((entry = readdir(dir)))
		if (!strncmp(entry->d_name, "c.", 2) &&
		    ptrc_session_is_name(entry->d_name + 2 + (entry->d_name[2] == '~')))
			return entry->d_name + 2;
	return NULL;
}

void ptrc_session_sweep(const char *directory)
{
	struct sockaddr_un address;
	PTRC_SCOPED_DIR *dir = opendir(directory);
	PTRC_SCOPED_FD lock = -1;
	const char *name;

	while (dir && (name = next_name(dir))) {
		ptrc_session_address(directory, name, &address);
		if (!is_stale(&address))
			continue;
		if (lock < 0)
			lock = ptrc_session_lock(directory);
		if (lock < 0)
			break;
		/* is_stale() is called a second time, under the lock, because a new controller may have taken the
		 * name since the first call. */
		if (is_stale(&address))
			unlink(address.sun_path);
	}
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int ptrc_session_names(bool is_removing, char ***names, size_t *count)
{
	char directory[64];
	PTRC_SCOPED_DIR *dir = NULL;
	char **list = NULL;
	const char *name;
	int error;

	*names = NULL;
	*count = 0;
	error = ptrc_inspect_directory(0, directory);
	if (error)
		return error == ENOENT ? 0 : error;
	if (is_removing)
		ptrc_session_sweep(directory);
	dir = opendir(directory);
	if (!dir)
		return errno == ENOENT ? 0 : errno;
	while ((name = next_name(dir)))
		if (*name != '~')
			*ptrc_append(list, *count) = ptrc_cli_copy(name);
	ptrc_sort(list, *count, compare);
	*names = list;
	return 0;
}
