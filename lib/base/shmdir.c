/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/base/shmdir.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/clone.h"
#include "lib/base/digits.h"
#include "lib/base/file.h"
#include "lib/base/limit.h"
#include "lib/base/procfs.h"
#include "lib/base/sys.h"
#include "lib/base/timespec.h"

#define BASE PTRC_SHMDIR_BASE
#define MODE_BITS 0777U
/* Hexadecimal digits of the random number in the second name of a user's directory. */
#define SECOND_DIGITS 8
/* How often lock_base() tries to lock the base directory, a millisecond apart. */
#define LOCK_TRIES 100

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
	const char *at = name + 2;
	uint64_t id;

	if (name[0] != prefix || name[1] != '.')
		return 0;
	id = ptrc_digits_take_hex(&at, name + 18);
	return at == name + 18 && *at == '\0' ? id : 0;
}

uint64_t ptrc_shmdir_new_id(void)
{
	uint64_t id = 0;

	/* The flag 4 is GRND_INSECURE: identities must differ, but it does no harm if they can be
	 * guessed. The flag 1 is GRND_NONBLOCK, for kernels without GRND_INSECURE. If both calls
	 * fail (early at boot, or without getrandom()), the identity is made from the clock, the
	 * thread ID, the address of a local variable and a counter. */
	if (ptrc_sys(SYS_getrandom, &id, sizeof(id), 4) != (long)sizeof(id) &&
	    ptrc_sys(SYS_getrandom, &id, sizeof(id), 1) != (long)sizeof(id)) {
		static _Atomic uint64_t count;

		id = (uint64_t)ptrc_clock_ns(CLOCK_BOOTTIME);
		id += (uint64_t)ptrc_sys_gettid() << 40;
		id ^= (uint64_t)(uintptr_t)&id << 16;
		id += ptrc_add_relaxed(&count, 1);
	}
	return id ? id : 1;
}

static int shortage(int error)
{
	return ptrc_file_shortage(error, EPERM);
}

/* Whether the mode of the base directory keeps users from renaming or removing the directories of
 * other users in it. */
static bool is_base_safe(const struct stat *st)
{
	return (st->st_mode & S_ISVTX) || !(st->st_mode & 022);
}

/* Whether this is a directory that the user has made and other users cannot enter. */
static bool is_home(const struct stat *st, uid_t uid)
{
	return S_ISDIR(st->st_mode) && st->st_uid == uid && (st->st_mode & MODE_BITS) == 0700;
}

static void put_directory(char *name, uint64_t number)
{
	memcpy(name, "posixtrace-", 11);
	*ptrc_digits_put(name + 11, number) = '\0';
}

static int make_directory(int base, const char *name, uid_t uid)
{
	char temp[40];
	long ret;
	int error;
	PTRC_FD(fd);

	if (uid == ptrc_sys_geteuid()) {
		ret = ptrc_sys(SYS_mkdirat, base, name, 0700);
		return ret == 0 || ret == -EEXIST ? 0 : shortage((int)-ret);
	}
	if (ptrc_sys_geteuid() != 0)
		return EPERM;
	/* Root creates another user's directory under a temporary name and renames it when it is
	 * complete, so root gives away only the directory that it has just created. */
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
		error = (int)-ret;
	}
	if (error)
		ptrc_sys(SYS_unlinkat, base, temp, AT_REMOVEDIR);
	return error == 0 || error == EEXIST ? 0 : shortage(error);
}

/* Opens the directory under one of its names. EAGAIN: its mode was wrong and has been repaired;
 * the caller must try again. EACCES: the directory belongs to another user. */
static int open_directory(int base, const char *name, uid_t uid, int *dirfd)
{
	struct stat st;
	PTRC_FD(fd);
	int error = ptrc_file_open(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &fd);

	if (error == ENOENT)
		return error;
	if (error && error != EACCES && error != ELOOP && error != ENOTDIR)
		return shortage(error);
	if (fd >= 0 ? ptrc_file_stat(fd, &st) : ptrc_file_stat_at(base, name, &st))
		return EPERM;
	if (st.st_uid != uid)
		return EACCES;
	if (!S_ISDIR(st.st_mode) || (st.st_mode & MODE_BITS & ~0700U))
		return EPERM;
	/* A process of the user has just created the directory, under a umask that takes rights
	 * from the owner. No other user could have put anything there, so the mode is repaired.
	 * Root does not repair another user's directory, because that user could replace the
	 * directory by something else meanwhile. */
	if ((st.st_mode & MODE_BITS) != 0700)
		return uid == ptrc_sys_geteuid() && !ptrc_sys(SYS_fchmodat, base, name, 0700)
			       ? EAGAIN
			       : EPERM;
	if (fd < 0)
		return EPERM;
	*dirfd = ptrc_file_keep(&fd);
	return 0;
}

static int open_or_make(int base, const char *name, uid_t uid, bool is_create, int *dirfd)
{
	int error = EAGAIN;

	for (int tries = 0; tries < 8 && error == EAGAIN; tries++) {
		error = open_directory(base, name, uid, dirfd);
		if (error == ENOENT && is_create)
			error = make_directory(base, name, uid) ?: EAGAIN;
	}
	return error == EAGAIN ? EPERM : error;
}

/* ---- the second name ---- */

struct search {
	int base;
	uid_t uid;
	const char *name;
	uint32_t size; /* length of `name` */
	char found[PTRC_SHMDIR_DIRECTORY_BYTES];
};

static bool is_second_name(const struct search *s, const char *name)
{
	uint32_t i;

	for (i = 0; i < s->size; i++)
		if (name[i] != s->name[i])
			return false;
	if (name[i++] != '.')
		return false;
	for (int digit = 0; digit < SECOND_DIGITS; digit++, i++)
		if (!((name[i] >= '0' && name[i] <= '9') || (name[i] >= 'a' && name[i] <= 'f')))
			return false;
	return name[i] == '\0';
}

/* If several directories have a second name, all processes use the one whose name sorts first. */
static void look_at_name(const char *name, void *arg)
{
	struct search *s = arg;
	struct stat st;

	if (!is_second_name(s, name) || ptrc_file_stat_at(s->base, name, &st) ||
	    !is_home(&st, s->uid))
		return;
	if (!s->found[0] || memcmp(name, s->found, s->size + 1 + SECOND_DIGITS) < 0)
		memcpy(s->found, name, s->size + 1 + SECOND_DIGITS + 1);
}

/* Locks the base directory, so that only one process at a time creates a directory with a second
 * name. Any user can hold this lock, so the wait is bounded; without the lock, two processes may
 * each create a directory. */
static void lock_base(int base)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (ptrc_sys(SYS_flock, base, LOCK_EX | LOCK_NB) != -EAGAIN)
			return;
		ptrc_file_sleep_ns(1000000);
	}
}

/*
 * Opens the user's directory under its second name, or creates it. Any user can create a
 * directory with the first name of another user's directory before that user does. The other user
 * then uses a second name, which ends in random digits that no other user can guess. `name` is
 * the first name and becomes the second name. ENOENT: no such directory exists.
 */
static int open_second(int base, char name[PTRC_SHMDIR_DIRECTORY_BYTES], uid_t uid, bool is_create,
		       int *dirfd)
{
	struct search s = {.uid = uid, .name = name, .size = (uint32_t)strlen(name)};
	char digits[17];
	int error = ptrc_file_open(base, ".", O_RDONLY | O_DIRECTORY, 0, &s.base);

	if (error)
		return shortage(error);
	if (is_create)
		lock_base(s.base);
	ptrc_shmdir_for_each(s.base, look_at_name, &s);
	if (!s.found[0] && is_create) {
		put_hex(digits, ptrc_shmdir_new_id());
		memcpy(s.found, name, s.size);
		s.found[s.size] = '.';
		memcpy(s.found + s.size + 1, digits, SECOND_DIGITS);
		s.found[s.size + 1 + SECOND_DIGITS] = '\0';
	}
	error = s.found[0] ? open_or_make(base, s.found, uid, is_create, dirfd) : ENOENT;
	if (s.found[0])
		memcpy(name, s.found, sizeof(s.found));
	ptrc_file_close(s.base);
	return error;
}

/* ---- the directory, under either name ---- */

/* Whether root owns the base directory, as usual. Then only root and the owner of a user's
 * directory can replace that directory. */
static bool is_base_usual(void)
{
	struct stat st;

	return ptrc_file_stat_at(AT_FDCWD, BASE, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == 0 && is_base_safe(&st);
}

/* The usual case, in three system calls: root owns the base directory, and the user's directory
 * has the first name and the right mode. False: ptrc_shmdir_find() must look closer. */
static bool open_usual(uid_t uid, const char *name, int *dirfd)
{
	char path[sizeof(BASE) + PTRC_SHMDIR_DIRECTORY_BYTES];
	struct stat st;
	PTRC_FD(fd);

	if (!is_base_usual())
		return false;
	memcpy(path, BASE "/", sizeof(BASE));
	memcpy(path + sizeof(BASE), name, strlen(name) + 1);
	if (ptrc_file_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &fd) ||
	    ptrc_file_stat(fd, &st) || !is_home(&st, uid))
		return false;
	*dirfd = ptrc_file_keep(&fd);
	return true;
}

/* ---- the directory of a user without a number ---- */

struct probe {
	int base;
	uid_t uid;
	char *name;
	int *dirfd;
	int error;
};

static void probe_name(const char *name, void *arg)
{
	struct probe *p = arg;
	struct stat st;

	if (p->error && strncmp(name, "posixtrace-", 11) == 0 &&
	    strlen(name) < PTRC_SHMDIR_DIRECTORY_BYTES &&
	    ptrc_file_stat_at(p->base, name, &st) == 0 && is_home(&st, p->uid) &&
	    open_directory(p->base, name, p->uid, p->dirfd) == 0) {
		memcpy(p->name, name, strlen(name) + 1);
		p->error = 0;
	}
}

/* Opens the directory of a caller whose user has no number in its user namespace, so that the caller cannot make its
 * name. All users without a number there look the same. But the kernel opens a directory of mode 0700 only for its
 * owner, because no capability in such a namespace covers files of users without a number. */
static int open_unnumbered(int base, char name[PTRC_SHMDIR_DIRECTORY_BYTES], uid_t uid, int *dirfd)
{
	struct probe p = {.uid = uid, .name = name, .dirfd = dirfd, .error = EPERM};
	int error = ptrc_file_open(base, ".", O_RDONLY | O_DIRECTORY, 0, &p.base);

	if (error)
		return shortage(error);
	ptrc_shmdir_for_each(p.base, probe_name, &p);
	ptrc_file_close(p.base);
	return p.error;
}

int ptrc_shmdir_find(uid_t uid, bool is_create, char name[PTRC_SHMDIR_DIRECTORY_BYTES], int *dirfd)
{
	struct stat st;
	uint64_t number = uid;
	bool is_claimed;
	int error;
	PTRC_FD(base);

	put_directory(name, uid);
	if (open_usual(uid, name, dirfd))
		return 0;
	error = ptrc_file_open(AT_FDCWD, BASE, O_PATH | O_DIRECTORY, 0, &base);
	if (error)
		return error == ENOENT && !is_create ? ENOENT : shortage(error);
	if (ptrc_file_stat(base, &st) || !is_base_safe(&st))
		return EPERM;
	if (st.st_uid != 0 && !ptrc_procfs_user_outside(uid, &number))
		return open_unnumbered(base, name, uid, dirfd);
	put_directory(name, number);
	/* In a nested user namespace, uid_map gives only the ID that the user has in the parent
	 * namespace, `number`. It may be 0 although the user is not root of the initial namespace.
	 * The directory posixtrace-0 is for that root alone, so this user then gets a directory
	 * with a second name. */
	is_claimed = number == 0 && st.st_uid != 0 && st.st_uid != uid;
	error = is_claimed ? EACCES : open_or_make(base, name, uid, false, dirfd);
	if (error == ENOENT && is_create) {
		/* A directory of the second name stays in use even if the first name is free
		 * again. */
		error = open_second(base, name, uid, false, dirfd);
		if (error == ENOENT)
			error = open_or_make(base, name, uid, true, dirfd);
	}
	if (error == EACCES || error == ENOENT)
		error = open_second(base, name, uid, is_create && error == EACCES, dirfd);
	return error;
}

int ptrc_shmdir_open(uid_t uid, bool is_create, int *dirfd)
{
	char name[PTRC_SHMDIR_DIRECTORY_BYTES];

	return ptrc_shmdir_find(uid, is_create, name, dirfd);
}

/* ---- without a descriptor ---- */

/* The stack of the helper, a short-lived child process. Its low end holds a struct look, the
 * request and the answer. */
#define HELPER_STACK_BYTES 65536U
/* The helper closes this many descriptors, more than ptrc_shmdir_find() opens at a time. */
#define HELPER_DESCRIPTORS 8

struct look {
	uid_t uid;
	char name[PTRC_SHMDIR_DIRECTORY_BYTES];
	bool is_found, has_subdirectory;
};

/* The helper shares the caller's memory and has a copy of its descriptor table. The table may be
 * full, so the helper first closes some descriptors; the caller's stay open. */
PTRC_NO_STACK_PROTECTOR
__attribute__((no_sanitize("address", "undefined", "thread"))) static int look_in_helper(void *arg)
{
	struct look *l = arg;
	struct stat st;
	int dirfd;

	for (int fd = 0; fd < HELPER_DESCRIPTORS; fd++)
		ptrc_sys(SYS_close, fd);
	if (ptrc_shmdir_find(l->uid, false, l->name, &dirfd) || ptrc_file_stat(dirfd, &st))
		return 1;
	l->has_subdirectory = st.st_nlink > 2;
	l->is_found = true;
	return 0;
}

/* Finds the path of the user's directory in a helper process, which has free descriptors. Finding
 * a second name means listing the base directory, and finding a user ID outside the namespace
 * means reading a file; both need a descriptor. */
static int path_by_helper(uid_t uid, char *path, bool *is_inherited)
{
	struct look *l;
	long child;
	int error = EPERM;
	void *map = ptrc_file_zeros(HELPER_STACK_BYTES);
	PTRC_NO_SIGNALS();

	if (!map)
		return EPERM;
	l = map;
	l->uid = uid;
	/* CLONE_VFORK: the caller waits until the helper has ended. A wait() of the application
	 * does not see the helper, because its end sends no signal. */
	child = ptrc_clone(CLONE_VM | CLONE_VFORK | CLONE_UNTRACED,
			   (uint8_t *)map + HELPER_STACK_BYTES, look_in_helper, l);
	if (child > 0)
		ptrc_sys_retry(SYS_wait4, child, 0, __WCLONE, 0);
	if (l->is_found) {
		memcpy(path, BASE "/", sizeof(BASE));
		memcpy(path + sizeof(BASE), l->name, sizeof(l->name));
		*is_inherited = l->has_subdirectory;
		error = 0;
	}
	ptrc_sys(SYS_munmap, map, HELPER_STACK_BYTES);
	return error;
}

bool ptrc_shmdir_usual_path(uid_t uid, char path[PTRC_SHMDIR_PATH_BYTES], struct stat *st)
{
	if (!is_base_usual())
		return false;
	memcpy(path, BASE "/", sizeof(BASE));
	put_directory(path + sizeof(BASE), uid);
	return ptrc_file_stat_at(AT_FDCWD, path, st) == 0 && is_home(st, uid);
}

int ptrc_shmdir_path(uid_t uid, char path[PTRC_SHMDIR_PATH_BYTES], bool *is_inherited)
{
	struct stat st;

	if (!ptrc_shmdir_usual_path(uid, path, &st))
		return path_by_helper(uid, path, is_inherited);
	*is_inherited = st.st_nlink > 2;
	return 0;
}

/* ---- the objects in the directory ---- */

struct visitor {
	void (*visit)(const char *name, void *arg);
	void *arg;
};

static bool visit_name(const char *name, uint64_t ino, void *arg)
{
	struct visitor *v = arg;

	(void)ino;
	v->visit(name, v->arg);
	return false;
}

void ptrc_shmdir_for_each(int dirfd, void (*visit)(const char *name, void *arg), void *arg)
{
	struct visitor v = {visit, arg};

	ptrc_sys(SYS_lseek, dirfd, 0, SEEK_SET);
	ptrc_file_visit(dirfd, visit_name, &v, NULL);
}

int ptrc_shmdir_open_object(int dirfd, const char *name, uid_t uid, int *fd, uint64_t *size)
{
	struct stat st;
	PTRC_FD(opened);
	int error = ptrc_file_open(dirfd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0,
				   &opened);

	if (error)
		return error == ENOENT ? error : shortage(error);
	if (ptrc_file_stat(opened, &st) || !S_ISREG(st.st_mode) || st.st_uid != uid ||
	    st.st_nlink > 1)
		return EPERM;
	if (st.st_nlink == 0)
		return ENOENT;
	*fd = ptrc_file_keep(&opened);
	if (size)
		*size = (uint64_t)st.st_size;
	return 0;
}

int ptrc_shmdir_open_id(int dirfd, char prefix, uint64_t id, uid_t uid, int *fd, uint64_t *size)
{
	char name[PTRC_SHMDIR_NAME_BYTES];

	ptrc_shmdir_name(name, prefix, id);
	return ptrc_shmdir_open_object(dirfd, name, uid, fd, size);
}

bool ptrc_shmdir_remove_id(int dirfd, char prefix, uint64_t id)
{
	char name[PTRC_SHMDIR_NAME_BYTES];

	ptrc_shmdir_name(name, prefix, id);
	return ptrc_sys(SYS_unlinkat, dirfd, name, prefix == 'i' ? AT_REMOVEDIR : 0) == 0;
}

static int allocate(int fd, uint64_t offset, uint64_t bytes)
{
	return (int)-ptrc_sys_retry(SYS_fallocate, fd, 0, offset, bytes);
}

/* Extends an object to `size` bytes. If the `bytes` bytes at `offset` end at `size`, also reserves
 * memory for them, because fallocate() extends the object by the same call. */
static int grow(int fd, uint64_t size, uint64_t offset, uint64_t bytes)
{
	struct ptrc_limit limit;
	int error = EOPNOTSUPP;

	ptrc_limit_raise(&limit, RLIMIT_FSIZE, size);
	if (bytes && offset + bytes == size)
		error = allocate(fd, offset, bytes);
	if (error == EOPNOTSUPP)
		error = (int)-ptrc_sys(SYS_ftruncate, fd, size);
	ptrc_limit_restore(&limit, error);
	return error;
}

int ptrc_shmdir_reserve(int fd, uint64_t size, uint64_t offset, uint64_t bytes)
{
	struct stat st;
	int error;
	PTRC_NO_SIGNALS();

	error = ptrc_file_stat(fd, &st);
	if (!error && (uint64_t)st.st_size < size) {
		error = grow(fd, size, offset, bytes);
		if (offset + bytes == size)
			bytes = 0;
	}
	if (!error && bytes) {
		error = allocate(fd, offset, bytes);
		/* An unusual file system at /dev/shm may be unable to reserve memory. Then no
		 * memory is reserved, which is no error. */
		if (error == EOPNOTSUPP)
			error = 0;
	}
	return error ? ENOMEM : 0;
}

int ptrc_shmdir_create_object(int dirfd, const char *name, uid_t uid, uint64_t size,
			      uint64_t reserved, int *fd)
{
	char temp[PTRC_SHMDIR_NAME_BYTES];
	const char *made = name;
	struct stat st;
	bool is_foreign = uid != ptrc_sys_geteuid();
	PTRC_FD(new_fd);
	int error;
	long ret = 0;

	if (is_foreign) {
		if (ptrc_sys_geteuid() != 0)
			return EPERM;
		ptrc_shmdir_name(temp, 't', ptrc_shmdir_new_id());
		made = temp;
	}
	error = ptrc_file_open(dirfd, made, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, &new_fd);
	if (error)
		return error == EEXIST ? EEXIST : shortage(error);
	/* The umask may have taken rights from the owner. */
	if (ptrc_file_stat(new_fd, &st) == 0 && (st.st_mode & MODE_BITS) != 0600)
		ret = ptrc_sys(SYS_fchmod, new_fd, 0600);
	error = ret ? EPERM : ptrc_shmdir_reserve(new_fd, size, 0, reserved);
	if (!error && is_foreign) {
		ret = ptrc_sys(SYS_fchown, new_fd, uid, -1);
		if (!ret)
			ret = ptrc_sys(SYS_renameat2, dirfd, temp, dirfd, name, RENAME_NOREPLACE);
		if (ret)
			error = ret == -EEXIST ? EEXIST : shortage((int)-ret);
	}
	if (error) {
		ptrc_sys(SYS_unlinkat, dirfd, made, 0);
		return error;
	}
	*fd = ptrc_file_keep(&new_fd);
	return 0;
}
