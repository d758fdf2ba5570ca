/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/model/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/file.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/base/tid_lock.h"

/* Bytes of the file that are locked. Every process that uses the object shares a read lock on
 * the first; a process that registers a name has a write lock on the second. */
#define USER_BYTE 0
#define WRITER_BYTE (UINT64_C(1) << 40)

/* How long to wait for a thread that registers a name without a lock on the file. */
#define WRITER_WAIT_NS INT64_C(1000000000)

#define MAP_BYTES sizeof(struct ptrc_names_object)
#define PAGE_BYTES UINT64_C(4096)

const char *ptrc_names_predefined(uint32_t id)
{
	static const char names[PTRC_ID_FIRST][32] = {
		"",
		"posix_trace_start",
		"posix_trace_stop",
		"posix_trace_filter",
		"posix_trace_overflow",
		"posix_trace_resume",
		"posix_trace_flush_start",
		"posix_trace_flush_stop",
		"posix_trace_error",
		"posix_trace_unnamed_userevent",
	};

	return id >= 1 && id < PTRC_ID_FIRST ? names[id] : NULL;
}

uint32_t ptrc_names_find(const struct ptrc_names_object *object, uint32_t limit, const char *name)
{
	size_t size = strlen(name) + 1;
	uint32_t count = 0;

	for (uint32_t id = 1; id < PTRC_ID_FIRST; id++)
		if (strcmp(ptrc_names_predefined(id), name) == 0)
			return id;
	if (object && size <= PTRC_NAME_BYTES)
		count = ptrc_names_object_count(object);
	if (limit < count)
		count = limit;
	for (uint32_t i = 0; i < count; i++)
		if (object->name[i][0] == name[0] && memcmp(object->name[i], name, size) == 0)
			return PTRC_ID_FIRST + i;
	return 0;
}

int ptrc_names_get(const struct ptrc_names *n, uint32_t id, char name[PTRC_NAME_BYTES])
{
	const char *predefined = ptrc_names_predefined(id);

	if (predefined) {
		memcpy(name, predefined, strlen(predefined) + 1);
		return 0;
	}
	if (!n || !n->object || id < PTRC_ID_FIRST ||
	    id - PTRC_ID_FIRST >= ptrc_names_object_count(n->object))
		return EINVAL;
	memcpy(name, n->object->name[id - PTRC_ID_FIRST], PTRC_NAME_BYTES);
	/* The object is only as good as the processes that write it. */
	name[PTRC_NAME_BYTES - 1] = '\0';
	return 0;
}

/* Under the locks. fd is -1 if the file is unlinked. */
static int append(struct ptrc_names_object *object, int fd, const char *name, uint32_t *id)
{
	uint32_t index, found = ptrc_names_find(object, PTRC_NAMES_MAX, name);

	if (found) {
		*id = found;
		return 0;
	}
	index = ptrc_names_object_count(object);
	if (index == PTRC_NAMES_MAX) {
		*id = PTRC_ID_UNNAMED;
		return 0;
	}
	/* Without room in /dev/shm the next line would end in SIGBUS. */
	if (fd >= 0 ? ptrc_shmdir_reserve(fd, MAP_BYTES,
					  PAGE_BYTES + (index + 1) * PTRC_NAME_BYTES) != 0
		    : !ptrc_file_populate(object->name[index], PTRC_NAME_BYTES))
		return ENOMEM;
	memcpy(object->name[index], name, strlen(name) + 1);
	/* A process that is killed before this has registered nothing. */
	ptrc_store_release(&object->count, index + 1);
	*id = PTRC_ID_FIRST + index;
	return 0;
}

/* Opens the file once more, for a lock that no other descriptor shares. */
static int reopen(const struct ptrc_names *n, int *fd)
{
	uint64_t size;
	int dirfd;
	int error = ptrc_shmdir_open(n->uid, false, &dirfd);

	if (error)
		return error;
	error = ptrc_shmdir_open_id(dirfd, 'n', n->id, n->uid, fd, &size);
	ptrc_file_close(dirfd);
	return error;
}

int ptrc_names_register(struct ptrc_names *n, const char *name, uint32_t *id)
{
	uint32_t found, holder;
	uint64_t mask;
	int fd = -1;
	int error = 0;

	if (strnlen(name, PTRC_NAME_BYTES) == PTRC_NAME_BYTES)
		return ENAMETOOLONG;
	found = ptrc_names_find(n->object, PTRC_NAMES_MAX, name);
	if (found) {
		*id = found;
		return 0;
	}
	ptrc_sys_block_signals(&mask);
	/* The file may have been unlinked, by a clean-up of the user's files at logout for
	 * instance. Processes that have the object mapped go on using it. */
	if (n->id && reopen(n, &fd))
		fd = -1;
	if (fd >= 0 && ptrc_file_lock_wait(fd, WRITER_BYTE))
		error = ENOMEM;
	/* The second lock also keeps out processes that could not lock the file. */
	if (!error && !ptrc_tid_lock(&n->object->writer, WRITER_WAIT_NS, &holder))
		error = ENOMEM;
	if (!error) {
		error = append(n->object, fd, name, id);
		ptrc_tid_unlock(&n->object->writer);
	}
	if (fd >= 0) {
		ptrc_file_lock(fd, F_UNLCK, WRITER_BYTE, 1);
		ptrc_file_close(fd);
	}
	ptrc_sys_restore_signals(&mask);
	return error;
}

int ptrc_names_open_fd(int dirfd, uint32_t uid, uint64_t id, int *fd)
{
	struct stat st;
	uint64_t size;
	int opened, error = ptrc_shmdir_open_id(dirfd, 'n', id, uid, &opened, &size);

	if (error)
		return error;
	if (size < MAP_BYTES)
		error = EPERM;
	/* A process that has the write lock is about to remove the object. */
	else if (ptrc_file_lock(opened, F_RDLCK, USER_BYTE, 1))
		error = ENOENT;
	else if (ptrc_file_stat(opened, &st) || st.st_nlink == 0)
		error = ENOENT;
	if (error) {
		ptrc_file_close(opened);
		return error;
	}
	*fd = opened;
	return 0;
}

static int map_object(int fd, uint32_t uid, uint64_t id, void *at, struct ptrc_names *n)
{
	void *map;
	int error = ptrc_file_map(fd, MAP_BYTES, PROT_READ | PROT_WRITE, at, &map);

	if (!error)
		*n = (struct ptrc_names){.object = map, .id = id, .uid = uid};
	return error;
}

int ptrc_names_open(int dirfd, uint32_t uid, uint64_t id, void *at, struct ptrc_names *n)
{
	uint64_t identity[2] = {0, 0};
	size_t got = 0;
	int fd;
	int error = ptrc_names_open_fd(dirfd, uid, id, &fd);

	if (error)
		return error;
	if (ptrc_file_read(fd, identity, sizeof(identity), 0, &got) || got != sizeof(identity) ||
	    identity[0] != PTRC_NAMES_MAGIC || identity[1] != id)
		error = EPERM;
	else
		error = map_object(fd, uid, id, at, n);
	ptrc_file_close(fd);
	return error;
}

int ptrc_names_create(int dirfd, uint32_t uid, const struct ptrc_names_object *from, uint32_t count,
		      void *at, struct ptrc_names *n)
{
	char file[PTRC_SHMDIR_NAME_BYTES];
	struct ptrc_names_object *object;
	struct stat st;
	uint64_t id;
	void *map;
	int fd, error;

	if (!from)
		count = 0;
	else if (count > PTRC_NAMES_MAX)
		count = PTRC_NAMES_MAX;
	for (;;) {
		id = ptrc_shmdir_new_id();
		ptrc_shmdir_name(file, 'n', id);
		error = ptrc_shmdir_create_object(dirfd, file, uid, MAP_BYTES,
						  PAGE_BYTES + count * PTRC_NAME_BYTES, &fd);
		if (error == EEXIST)
			continue;
		if (error)
			return error;
		/* Before the read lock, a sweep may have taken the object for unused and
		 * unlinked it. */
		if (ptrc_file_lock(fd, F_RDLCK, USER_BYTE, 1) == 0 &&
		    ptrc_file_stat(fd, &st) == 0 && st.st_nlink == 1)
			break;
		ptrc_file_close(fd);
	}
	/* Filled in through a mapping elsewhere, as `from` may be mapped at `at`. */
	error = ptrc_file_map(fd, MAP_BYTES, PROT_READ | PROT_WRITE, NULL, &map);
	if (!error) {
		object = map;
		object->magic = PTRC_NAMES_MAGIC;
		object->id = id;
		if (count)
			memcpy(object->name, from->name, count * PTRC_NAME_BYTES);
		ptrc_store_release(&object->count, count);
		if (at) {
			error = map_object(fd, uid, id, at, n);
			ptrc_sys(SYS_munmap, map, MAP_BYTES);
		} else {
			*n = (struct ptrc_names){.object = object, .id = id, .uid = uid};
		}
	}
	if (error)
		ptrc_sys(SYS_unlinkat, dirfd, file, 0);
	ptrc_file_close(fd);
	return error;
}

int ptrc_names_share(const struct ptrc_names *from, struct ptrc_names *n)
{
	/* With an old size of 0 mremap() makes a second mapping of the same object; that works
	 * for an unlinked file, too. */
	long ret = ptrc_sys(SYS_mremap, from->object, 0, MAP_BYTES, MREMAP_MAYMOVE, 0);
	int dirfd, error;

	if (!ptrc_sys_is_error(ret)) {
		*n = *from;
		n->object = (struct ptrc_names_object *)ret;
		return 0;
	}
	/* Emulators do not know this use of mremap(). */
	if (from->id == 0 || ptrc_shmdir_open(from->uid, false, &dirfd))
		return ENOMEM;
	error = ptrc_names_open(dirfd, from->uid, from->id, NULL, n);
	ptrc_file_close(dirfd);
	return error ? ENOMEM : 0;
}

int ptrc_names_create_private(struct ptrc_names *n)
{
	long ret = ptrc_sys(SYS_mmap, 0, MAP_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (ptrc_sys_is_error(ret))
		return ENOMEM;
	*n = (struct ptrc_names){.object = (struct ptrc_names_object *)ret};
	return 0;
}

void ptrc_names_unmap(struct ptrc_names *n)
{
	if (n->object)
		ptrc_sys(SYS_munmap, n->object, MAP_BYTES);
	n->object = NULL;
}

void ptrc_names_release(int dirfd, uint32_t uid, uint64_t id)
{
	char file[PTRC_SHMDIR_NAME_BYTES];
	uint64_t mask, size;
	int fd;

	ptrc_shmdir_name(file, 'n', id);
	ptrc_sys_block_signals(&mask);
	if (ptrc_shmdir_open_object(dirfd, file, uid, &fd, &size) == 0) {
		/* An identity is never used twice: the name leads to this file, or to none. */
		if (ptrc_file_lock(fd, F_WRLCK, USER_BYTE, 1) == 0) {
			ptrc_sys(SYS_unlinkat, dirfd, file, 0);
			ptrc_file_lock(fd, F_UNLCK, USER_BYTE, 1);
		}
		ptrc_file_close(fd);
	}
	ptrc_sys_restore_signals(&mask);
}

void ptrc_names_unref(struct ptrc_names *n)
{
	int dirfd;

	if (!n)
		return;
	ptrc_names_unmap(n);
	if (n->id && ptrc_shmdir_open(n->uid, false, &dirfd) == 0) {
		ptrc_names_release(dirfd, n->uid, n->id);
		ptrc_file_close(dirfd);
	}
	free(n);
}
