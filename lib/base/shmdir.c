/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/base/shmdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/digits.h"
#include "lib/base/file.h"
#include "lib/base/limit.h"
#include "lib/base/sys.h"

#define BASE "/dev/shm"
#define MODE_BITS 0777U

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

static char *put_hex(char *at, uint64_t n)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[n >> shift & 15];
	return at;
}

void ptrc_shmdir_name(char name[PTRC_SHMDIR_NAME_BYTES], char prefix, uint64_t id)
{
	char *at = name;

	*at++ = prefix;
	*at++ = '.';
	at = prefix == 'p' ? ptrc_digits_put(at, id) : put_hex(at, id);
	*at = '\0';
}

uint64_t ptrc_shmdir_parse(const char *name, char prefix)
{
	uint64_t id = 0;

	if (name[0] != prefix || name[1] != '.')
		return 0;
	for (int i = 2; i < 18; i++) {
		char c = name[i];

		if (c >= '0' && c <= '9')
			id = id << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			id = id << 4 | (uint64_t)(c - 'a' + 10);
		else
			return 0;
	}
	return name[18] == '\0' ? id : 0;
}

uint64_t ptrc_shmdir_new_id(void)
{
	uint64_t id = 0;

	/* 4 is GRND_INSECURE: identities have to differ, but may be guessed. Early at boot, or
	 * with a kernel that lacks getrandom(), the clock and the address of a local variable
	 * have to do. */
	if (ptrc_sys(SYS_getrandom, &id, sizeof(id), 4) != (long)sizeof(id) &&
	    ptrc_sys(SYS_getrandom, &id, sizeof(id), 1) != (long)sizeof(id)) {
		static _Atomic uint64_t count;
		struct timespec now;

		ptrc_sys(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
		id = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
		id += (uint64_t)ptrc_sys_gettid() << 40;
		id ^= (uint64_t)(uintptr_t)&id << 16;
		id += atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	}
	return id ? id : 1;
}

static uid_t caller(void)
{
	return (uid_t)ptrc_sys(SYS_geteuid, 0);
}

static int shortage(int error)
{
	switch (error) {
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOSPC:
	case EDQUOT:
		return ENOMEM;
	default:
		return EPERM;
	}
}

/* The number of the user outside this user namespace. False: it has none. */
static bool uid_outside(uid_t uid, uint64_t *outside)
{
	char text[1024];
	const char *at = text;
	size_t got = 0;
	int fd;

	if (ptrc_file_open(AT_FDCWD, "/proc/self/uid_map", O_RDONLY, 0, &fd))
		return false;
	if (ptrc_file_read(fd, text, sizeof(text) - 1, 0, &got))
		got = 0;
	ptrc_file_close(fd);
	text[got] = '\0';
	/* Lines of three numbers: first inside, first outside, count. */
	while (*at) {
		uint64_t number[3];

		while (*at == ' ')
			at++;
		for (int i = 0; i < 3; i++)
			number[i] = ptrc_digits_take(&at);
		if (*at++ != '\n')
			break;
		if (uid >= number[0] && uid - number[0] < number[2]) {
			*outside = number[1] + (uid - number[0]);
			return true;
		}
	}
	return false;
}

static int make_directory(int base, const char *name, uid_t uid)
{
	char temp[40];
	long ret;
	int fd, error;

	if (uid == caller()) {
		ret = ptrc_sys(SYS_mkdirat, base, name, 0700);
		return ret == 0 || ret == -EEXIST ? 0 : shortage((int)-ret);
	}
	if (caller() != 0)
		return EPERM;
	/* Root makes another user's directory under another name, and moves it to its place
	 * when it is complete: so root gives away nothing but the directory that it has just
	 * made. */
	memcpy(temp, ".posixtrace-", 12);
	*put_hex(temp + 12, ptrc_shmdir_new_id()) = '\0';
	ret = ptrc_sys(SYS_mkdirat, base, temp, 0700);
	if (ret)
		return shortage((int)-ret);
	error = ptrc_file_open(base, temp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &fd);
	if (!error) {
		ret = ptrc_sys(SYS_fchmod, fd, 0700);
		if (!ret)
			ret = ptrc_sys(SYS_fchown, fd, uid, -1);
		if (!ret)
			ret = ptrc_sys(SYS_renameat2, base, temp, base, name, RENAME_NOREPLACE);
		ptrc_file_close(fd);
		error = (int)-ret;
	}
	if (error)
		ptrc_sys(SYS_unlinkat, base, temp, AT_REMOVEDIR);
	return error == 0 || error == EEXIST ? 0 : shortage(error);
}

/* EAGAIN: the directory was mended, the caller looks again. */
static int open_directory(int base, const char *name, uid_t uid, int *dirfd)
{
	struct stat st;
	int fd = -1;
	int error = ptrc_file_open(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &fd);

	if (error == ENOENT)
		return error;
	if (error && error != EACCES)
		return shortage(error);
	if (fd >= 0 ? ptrc_file_stat(fd, &st) : ptrc_file_stat_at(base, name, &st)) {
		error = EPERM;
	} else if (!S_ISDIR(st.st_mode) || st.st_uid != uid || (st.st_mode & MODE_BITS & ~0700U)) {
		error = EPERM;
	} else if ((st.st_mode & MODE_BITS) != 0700) {
		/* This or another process of the user has just made the directory, under a
		 * umask that takes rights from the owner. Nobody else could have put anything
		 * there. Root does not mend another user's directory, as that user may exchange
		 * it for something else meanwhile. */
		if (uid != caller() || ptrc_sys(SYS_fchmodat, base, name, 0700))
			error = EPERM;
		else
			error = EAGAIN;
	} else if (fd < 0) {
		error = EPERM;
	}
	if (error) {
		if (fd >= 0)
			ptrc_file_close(fd);
		return error;
	}
	*dirfd = fd;
	return 0;
}

int ptrc_shmdir_open(uid_t uid, bool is_create, int *dirfd)
{
	struct stat st;
	char name[40];
	uint64_t number = uid;
	int base, error;

	error = ptrc_file_open(AT_FDCWD, BASE, O_PATH | O_DIRECTORY, 0, &base);
	if (error)
		return error == ENOENT && !is_create ? ENOENT : shortage(error);
	/* In a base directory where others may rename and remove, anything could be
	 * exchanged. */
	if (ptrc_file_stat(base, &st) || (!(st.st_mode & S_ISVTX) && (st.st_mode & 022)) ||
	    (st.st_uid != 0 && !uid_outside(uid, &number))) {
		ptrc_file_close(base);
		return EPERM;
	}
	memcpy(name, "posixtrace-", 11);
	*ptrc_digits_put(name + 11, number) = '\0';
	for (int tries = 0; tries < 8; tries++) {
		error = open_directory(base, name, uid, dirfd);
		if (error == ENOENT && is_create)
			error = make_directory(base, name, uid) ?: EAGAIN;
		if (error != EAGAIN)
			break;
	}
	ptrc_file_close(base);
	return error == EAGAIN ? EPERM : error;
}

int ptrc_shmdir_open_object(int dirfd, const char *name, uid_t uid, int *fd, uint64_t *size)
{
	struct stat st;
	int opened;
	int error = ptrc_file_open(dirfd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0,
				   &opened);

	if (error)
		return error == ENOENT ? ENOENT : shortage(error);
	if (ptrc_file_stat(opened, &st) || !S_ISREG(st.st_mode) || st.st_uid != uid ||
	    st.st_nlink > 1)
		error = EPERM;
	else if (st.st_nlink == 0)
		error = ENOENT;
	if (error) {
		ptrc_file_close(opened);
		return error;
	}
	*fd = opened;
	*size = (uint64_t)st.st_size;
	return 0;
}

int ptrc_shmdir_open_id(int dirfd, char prefix, uint64_t id, uid_t uid, int *fd, uint64_t *size)
{
	char name[PTRC_SHMDIR_NAME_BYTES];

	ptrc_shmdir_name(name, prefix, id);
	return ptrc_shmdir_open_object(dirfd, name, uid, fd, size);
}

static int truncate_to(int fd, uint64_t size)
{
	struct ptrc_limit limit;
	int error;

	ptrc_limit_raise(&limit, RLIMIT_FSIZE, size);
	error = (int)-ptrc_sys(SYS_ftruncate, fd, size);
	ptrc_limit_restore(&limit, error);
	return error;
}

int ptrc_shmdir_reserve(int fd, uint64_t size, uint64_t reserved)
{
	struct stat st;
	uint64_t mask;
	int error;
	long ret = 0;

	ptrc_sys_block_signals(&mask);
	error = ptrc_file_stat(fd, &st);
	if (!error && (uint64_t)st.st_size < size)
		error = truncate_to(fd, size);
	if (!error && reserved) {
		do
			ret = ptrc_sys(SYS_fallocate, fd, 0, 0, reserved);
		while (ret == -EINTR);
		/* An unusual file system at /dev/shm may be unable to reserve. Then nothing is
		 * reserved. */
		if (ret && ret != -EOPNOTSUPP)
			error = (int)-ret;
	}
	ptrc_sys_restore_signals(&mask);
	return error ? ENOMEM : 0;
}

int ptrc_shmdir_create_object(int dirfd, const char *name, uid_t uid, uint64_t size,
			      uint64_t reserved, int *fd)
{
	char temp[PTRC_SHMDIR_NAME_BYTES];
	const char *made = name;
	struct stat st;
	bool is_foreign = uid != caller();
	int new_fd, error;
	long ret = 0;

	if (is_foreign) {
		if (caller() != 0)
			return EPERM;
		ptrc_shmdir_name(temp, 't', ptrc_shmdir_new_id());
		made = temp;
	}
	error = ptrc_file_open(dirfd, made, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, &new_fd);
	if (error)
		return error == EEXIST ? EEXIST : shortage(error);
	/* The umask may take rights from the owner. */
	if (ptrc_file_stat(new_fd, &st) == 0 && (st.st_mode & MODE_BITS) != 0600)
		ret = ptrc_sys(SYS_fchmod, new_fd, 0600);
	error = ret ? EPERM : ptrc_shmdir_reserve(new_fd, size, reserved);
	if (!error && is_foreign) {
		ret = ptrc_sys(SYS_fchown, new_fd, uid, -1);
		if (!ret)
			ret = ptrc_sys(SYS_renameat2, dirfd, temp, dirfd, name, RENAME_NOREPLACE);
		if (ret)
			error = ret == -EEXIST ? EEXIST : shortage((int)-ret);
	}
	if (error) {
		ptrc_sys(SYS_unlinkat, dirfd, made, 0);
		ptrc_file_close(new_fd);
		return error;
	}
	*fd = new_fd;
	return 0;
}
