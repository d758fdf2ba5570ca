/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process/bell.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"

static int map_object(int dirfd, const char *name, uint32_t uid, struct ptrc_bells **bells)
{
	uint64_t size;
	void *map;
	PTRC_FD(fd);
	int error = ptrc_shmdir_open_object(dirfd, name, uid, &fd, &size);

	if (!error && size < sizeof(**bells))
		error = EPERM;
	if (!error)
		error = ptrc_file_map(fd, sizeof(**bells), PROT_READ | PROT_WRITE, NULL, &map);
	if (!error)
		*bells = map;
	return error;
}

/* Makes the object `bells` under a temporary name, and renames it when it is complete, because
 * programs map it without a lock. If another process was faster, its object stays. */
static int make_object(int dirfd, uint32_t uid)
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	long ret;
	int error;
	PTRC_FD(fd);

	ptrc_shmdir_name(name, 't', ptrc_shmdir_new_id());
	error = ptrc_shmdir_create_object(dirfd, name, uid, sizeof(struct ptrc_bells),
					  sizeof(struct ptrc_bells), &fd);
	if (error)
		return error == EEXIST ? 0 : error;
	ret = ptrc_sys(SYS_renameat2, dirfd, name, dirfd, PTRC_BELLS_NAME, RENAME_NOREPLACE);
	if (ret)
		ptrc_sys(SYS_unlinkat, dirfd, name, 0);
	return ret == 0 || ret == -EEXIST ? 0 : EPERM;
}

int ptrc_bells_open(int dirfd, uint32_t uid, struct ptrc_bells **bells)
{
	int error = ENOENT;

	for (int tries = 0; tries < 8 && error == ENOENT; tries++) {
		error = map_object(dirfd, PTRC_BELLS_NAME, uid, bells);
		if (error == ENOENT)
			error = make_object(dirfd, uid) ?: ENOENT;
	}
	return error;
}

bool ptrc_bells_open_usual(uint32_t uid, struct ptrc_bells **bells, struct stat *dir)
{
	char path[PTRC_SHMDIR_PATH_BYTES + sizeof(PTRC_BELLS_NAME)];

	if (!ptrc_shmdir_usual_path(uid, path, dir))
		return false;
	strcat(path, "/" PTRC_BELLS_NAME);
	return map_object(AT_FDCWD, path, uid, bells) == 0;
}

void ptrc_bells_unmap(struct ptrc_bells *bells)
{
	ptrc_sys(SYS_munmap, bells, sizeof(*bells));
}

void ptrc_bell_ring(struct ptrc_bells *bells, int pid)
{
	atomic_fetch_add_explicit(ptrc_bell(bells, pid), 1, memory_order_seq_cst);
}

void ptrc_bell_unring(struct ptrc_bells *bells, int pid)
{
	_Atomic uint64_t *bell = ptrc_bell(bells, pid);
	uint64_t pages = ptrc_load_relaxed(bell);

	/* Any process of the user may have changed the bell (counter of pages), so the loop keeps
	 * it from going below 0. */
	while (pages &&
	       !atomic_compare_exchange_weak_explicit(bell, &pages, pages - 1, memory_order_seq_cst,
						      memory_order_relaxed))
		;
}

bool ptrc_bells_are_mapped(int dirfd, int pid)
{
	struct stat st;

	return ptrc_file_stat_at(dirfd, PTRC_BELLS_NAME, &st) == 0 &&
	       ptrc_procfs_maps_file(pid, st.st_dev, st.st_ino);
}
