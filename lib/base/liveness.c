/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/base/liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/file.h"
#include "lib/base/pid_lock.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"

#define MAP_BYTES 4096U
#define PLACE_COUNT 64U
/* A place is a byte of the file of places; each stream locks one. PLACE_TRIES is the number of
 * tries to take a place while other processes remove and create that file. The tries take one
 * second in all, and removing the file takes microseconds. */
#define PLACE_TRIES 5000

/* A thread holds this lock (ptrc_pid_lock()) while it takes a liveness lock or forks. Otherwise a
 * child that another thread forks could inherit the descriptor of the liveness lock, and keep that
 * lock. */
static _Atomic int32_t making;

void ptrc_liveness_fork_prepare(void)
{
	ptrc_pid_lock(&making);
}

void ptrc_liveness_fork_done(void)
{
	ptrc_pid_unlock(&making);
}

/* Locks the first free one of the `count` bytes from `byte` on, and maps the file. The mapping
 * keeps the lock when the caller closes fd, the only descriptor of its open file description.
 * EAGAIN, ENOMEM. */
static int hold(int fd, uint64_t byte, uint64_t count, struct ptrc_liveness *l)
{
	void *map;
	int error = EAGAIN;

	for (uint64_t i = 0; i < count && error == EAGAIN; i++)
		error = ptrc_file_lock(fd, F_WRLCK, byte + i, 1);
	if (error)
		return error == EAGAIN ? EAGAIN : ENOMEM;
	if (ptrc_file_map(fd, MAP_BYTES, PROT_READ, NULL, &map))
		return ENOMEM;
	if (ptrc_sys(SYS_madvise, map, MAP_BYTES, MADV_DONTFORK)) {
		ptrc_sys(SYS_munmap, map, MAP_BYTES);
		return ENOMEM;
	}
	l->map = map;
	return 0;
}

int ptrc_liveness_take(int dirfd, const char *name, uint64_t byte, struct ptrc_liveness *l)
{
	struct stat st;
	int fd, error;
	PTRC_NO_SIGNALS();

	ptrc_pid_lock(&making);
	error = ptrc_file_open(dirfd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, &fd);
	if (!error) {
		if (ptrc_file_stat(fd, &st) || !S_ISREG(st.st_mode))
			error = EPERM;
		else
			error = hold(fd, byte, 1, l);
		ptrc_file_close(fd);
	} else if (error != ENOENT) {
		error = ptrc_file_shortage(error, EPERM);
	}
	ptrc_liveness_fork_done();
	return error;
}

void ptrc_liveness_drop(struct ptrc_liveness *l)
{
	if (l->map)
		ptrc_sys(SYS_munmap, l->map, MAP_BYTES);
	l->map = NULL;
}

static bool is_held(int fd, short type, uint64_t byte, uint64_t count)
{
	struct flock lock = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)byte,
		.l_len = (off_t)count,
	};

	/* If the kernel cannot answer, assume that the lock is held, so that no file in use is
	 * removed. */
	return ptrc_sys(SYS_fcntl, fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool ptrc_liveness_is_held(int fd, uint64_t byte, uint64_t count)
{
	return is_held(fd, F_WRLCK, byte, count);
}

bool ptrc_liveness_is_controlled(int fd)
{
	return is_held(fd, F_RDLCK, PTRC_LIVE_CONTROLLER, 1);
}

/* Called when every byte ("place") of the file was locked. Returns whether the reason may be that
 * another process locks, or has just locked, all bytes to remove the file. */
static bool is_being_cleaned(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = PLACE_COUNT};

	return ptrc_sys(SYS_fcntl, fd, F_OFD_GETLK, &lock) == 0 &&
	       (lock.l_type == F_UNLCK || lock.l_len == PLACE_COUNT);
}

static int try_places(int dirfd, uid_t uid, struct ptrc_liveness *l)
{
	struct stat st;
	PTRC_FD(fd);
	int error = ptrc_shmdir_open_object(dirfd, PTRC_LIVE_PLACES, uid, &fd, NULL);

	if (error == ENOENT) {
		error = ptrc_shmdir_create_object(dirfd, PTRC_LIVE_PLACES, uid, 0, 0, &fd);
		/* Another process has made the file meanwhile: the caller tries again. */
		if (error == EEXIST)
			return ESTALE;
	}
	if (error)
		return error == ENOENT ? ESTALE : error;
	error = hold(fd, 0, PLACE_COUNT, l);
	if (error == EAGAIN && is_being_cleaned(fd))
		error = ESTALE;
	/* If the file was removed after it was opened, the place is worthless, because other
	 * processes use the new file. If the file still exists, it stays while the place is held: a
	 * process must lock all its bytes before it removes it. */
	if ((error == 0 || error == EAGAIN) && (ptrc_file_stat(fd, &st) || st.st_nlink == 0)) {
		ptrc_liveness_drop(l);
		error = ESTALE;
	}
	return error;
}

int ptrc_liveness_take_place(struct ptrc_liveness *l)
{
	uid_t uid = ptrc_sys_geteuid();
	PTRC_FD(dirfd);
	int error = ptrc_shmdir_open(uid, true, &dirfd);
	PTRC_NO_SIGNALS();

	if (error)
		return error;
	ptrc_pid_lock(&making);
	for (int tries = 0; tries < PLACE_TRIES; tries++) {
		error = try_places(dirfd, uid, l);
		if (error != ESTALE)
			break;
		ptrc_file_sleep_ns(200000);
	}
	ptrc_liveness_fork_done();
	if (!error)
		l->uid = uid;
	return error == ESTALE ? ENOMEM : error;
}

unsigned int ptrc_liveness_count_places(int dirfd, uint32_t uid)
{
	unsigned int count = 0;
	PTRC_FD(fd);

	if (ptrc_shmdir_open_object(dirfd, PTRC_LIVE_PLACES, uid, &fd, NULL))
		return 0;
	for (uint64_t i = 0; i < PLACE_COUNT; i++)
		count += ptrc_liveness_is_held(fd, i, 1);
	return count;
}

void ptrc_liveness_clean_places(int dirfd, uint32_t uid)
{
	struct stat st;
	PTRC_NO_SIGNALS();
	PTRC_FD(fd);

	if (ptrc_shmdir_open_object(dirfd, PTRC_LIVE_PLACES, uid, &fd, NULL) ||
	    ptrc_file_lock(fd, F_WRLCK, 0, PLACE_COUNT))
		return;
	if (ptrc_file_stat(fd, &st) == 0 && st.st_nlink == 1)
		ptrc_sys(SYS_unlinkat, dirfd, PTRC_LIVE_PLACES, 0);
	ptrc_file_lock(fd, F_UNLCK, 0, PLACE_COUNT);
}

void ptrc_liveness_drop_place(struct ptrc_liveness *l)
{
	PTRC_FD(dirfd);

	if (!l->map)
		return;
	ptrc_liveness_drop(l);
	if (ptrc_shmdir_open(l->uid, false, &dirfd) == 0)
		ptrc_liveness_clean_places(dirfd, l->uid);
}
