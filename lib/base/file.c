/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "lib/base/digits.h"
#include "lib/base/sys.h"
#include "lib/base/timespec.h"

#ifndef MADV_POPULATE_WRITE /* older C libraries do not define it */
#define MADV_POPULATE_WRITE 23
#endif

/* The most time that ptrc_file_lock_wait() waits for a lock, which is normally held for
 * microseconds. */
#define LOCK_WAIT_NS UINT64_C(2000000000)

int ptrc_file_open(int dirfd, const char *path, int flags, unsigned int mode, int *fd)
{
	long ret = ptrc_sys_retry(SYS_openat, dirfd, path, flags | O_CLOEXEC, mode);

	if (ret < 0)
		return (int)-ret;
	*fd = (int)ret;
	return 0;
}

int ptrc_file_shortage(int error, int otherwise)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC ||
			       error == EDQUOT
		       ? ENOMEM
		       : otherwise;
}

/* The symbolic link in /proc to an open file. */
struct link {
	char path[40];
};

static struct link link_of(int fd)
{
	struct link link = {"/proc/self/fd/"};

	*ptrc_digits_put(link.path + 14, (uint64_t)fd) = '\0';
	return link;
}

int ptrc_file_reopen(int fd, int flags, int *again)
{
	struct link link = link_of(fd);

	return ptrc_file_open(AT_FDCWD, link.path, flags, 0, again);
}

void ptrc_file_path(int fd, char *path, size_t size)
{
	struct link link = link_of(fd);
	long n = ptrc_sys(SYS_readlinkat, AT_FDCWD, link.path, path, size);

	path[n > 0 && n < (long)size ? n : 0] = '\0';
}

void ptrc_file_path_undelete(char *path)
{
	static const char added[] = " (deleted)";
	size_t bytes = strlen(path), more = sizeof(added) - 1;

	if (bytes > more && !strcmp(path + bytes - more, added))
		path[bytes - more] = '\0';
}

int ptrc_file_give_name(int fd, const char *path)
{
	struct link link = link_of(fd);

	return (int)-ptrc_sys(SYS_linkat, AT_FDCWD, link.path, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

void ptrc_file_close(int fd)
{
	ptrc_sys(SYS_close, fd);
}

int ptrc_file_stat(int fd, struct stat *st)
{
	return (int)-ptrc_sys(SYS_fstat, fd, st);
}

int ptrc_file_stat_at(int dirfd, const char *path, struct stat *st)
{
	return (int)-ptrc_sys(SYS_newfstatat, dirfd, path, st, AT_SYMLINK_NOFOLLOW);
}

int ptrc_file_read(int fd, void *buffer, size_t size, uint64_t offset, size_t *got)
{
	size_t done = 0;

	while (done < size) {
		long ret = ptrc_sys(SYS_pread64, fd, (char *)buffer + done, size - done,
				    offset + done);

		if (ret == -EINTR)
			continue;
		if (ret < 0)
			return (int)-ret;
		if (ret == 0)
			break;
		done += (size_t)ret;
	}
	*got = done;
	return 0;
}

bool ptrc_file_visit(int dirfd, bool (*visit)(const char *name, uint64_t ino, void *arg), void *arg,
		     bool *is_whole)
{
	_Alignas(8) char entries[1024];
	bool is_done = false;
	long got = 0;

	while (!is_done && (got = ptrc_sys(SYS_getdents64, dirfd, entries, sizeof(entries))) > 0)
		for (long at = 0; at < got && !is_done;) {
			uint16_t size;
			uint64_t ino;

			memcpy(&ino, entries + at, sizeof(ino));
			memcpy(&size, entries + at + 16, sizeof(size));
			is_done = visit(entries + at + 19, ino, arg);
			at += size;
		}
	if (is_whole)
		*is_whole = is_done || got == 0;
	return is_done;
}

int ptrc_file_lock(int fd, int type, uint64_t byte, uint64_t count)
{
	struct flock lock = {
		.l_type = (short)type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)byte,
		.l_len = (off_t)count,
	};

	return (int)-ptrc_sys_retry(SYS_fcntl, fd, F_OFD_SETLK, &lock);
}

int ptrc_file_lock_wait(int fd, uint64_t byte)
{
	uint64_t waited = 0, delay = 20000;

	for (;;) {
		int error = ptrc_file_lock(fd, F_WRLCK, byte, 1);

		if (error != EAGAIN || waited > LOCK_WAIT_NS)
			return error;
		ptrc_file_sleep_ns(delay);
		waited += delay;
		if (delay < 2000000)
			delay *= 2;
	}
}

int ptrc_file_map(int fd, uint64_t size, int protection, void *at, void **map)
{
	long ret =
		ptrc_sys(SYS_mmap, at, size, protection, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);

	if (ptrc_sys_is_error(ret))
		return ENOMEM;
	*map = (void *)ret;
	return 0;
}

/* Under mlockall(MCL_FUTURE) the kernel backs a new mapping with memory at once and locks it,
 * but not the pages by which an unlocked mapping grows. So this maps one page, unlocks it and
 * grows it to the full size. */
int ptrc_file_map_sparse(int fd, uint64_t size, void *at, void **map)
{
	const uint64_t begin = 4096;
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
	int move = MREMAP_MAYMOVE | (at ? MREMAP_FIXED : 0);
	long small, grown;

	small = ptrc_sys(SYS_mmap, 0, begin, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (ptrc_sys_is_error(small))
		return ENOMEM;
	ptrc_sys(SYS_munlock, small, begin);
	grown = ptrc_sys(SYS_mremap, small, begin, size, move, at);
	if (ptrc_sys_is_error(grown)) {
		ptrc_sys(SYS_munmap, small, begin);
		return ENOMEM;
	}
	*map = (void *)grown;
	return 0;
}

void *ptrc_file_map_again(void *start, uint64_t size)
{
	/* With an old size of 0, mremap() makes a second mapping. */
	long map = ptrc_sys(SYS_mremap, start, 0, size, MREMAP_MAYMOVE, 0);

	return ptrc_sys_is_error(map) ? NULL : (void *)map;
}

void *ptrc_file_zeros(uint64_t size)
{
	long map = ptrc_sys(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	return ptrc_sys_is_error(map) ? NULL : (void *)map;
}

bool ptrc_file_populate(const void *start, uint64_t bytes)
{
	uintptr_t from = (uintptr_t)start & ~(uintptr_t)4095;
	uintptr_t to = ((uintptr_t)start + bytes + 4095) & ~(uintptr_t)4095;
	long ret = ptrc_sys(SYS_madvise, from, to - from, MADV_POPULATE_WRITE);

	return ret == 0 || ret == -EINVAL || ret == -ENOSYS;
}

int64_t ptrc_clock_ns(int clock_id)
{
	struct timespec ts = {0, 0};

#ifdef PTRC_FREESTANDING
	ptrc_sys(SYS_clock_gettime, clock_id, &ts);
#else
	clock_gettime(clock_id, &ts); /* usually makes no system call */
#endif
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void ptrc_file_yield(unsigned tries)
{
	if (tries < 8)
		ptrc_sys(SYS_sched_yield, 0);
	else
		ptrc_file_sleep_ns(20000);
}

void ptrc_file_sleep_ns(uint64_t ns)
{
	struct timespec delay = ptrc_timespec_of((int64_t)ns);

	ptrc_sys(SYS_nanosleep, &delay, 0);
}
