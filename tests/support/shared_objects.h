/* SPDX-License-Identifier: MIT */
/* The directory of shared objects of this user, and the pages in it. */
#ifndef TESTS_SHARED_OBJECTS_H
#define TESTS_SHARED_OBJECTS_H

#include "tests/support/harness.h"

#include <sys/stat.h>

#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/process/page.h"

static inline int open_dir(void)
{
	int dirfd;

	CHECK_OK(ptrc_shmdir_open(geteuid(), true, &dirfd));
	return dirfd;
}

static inline bool has_file(const char *name)
{
	int dirfd = open_dir();
	struct stat st;
	bool is_there = fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;

	close(dirfd);
	return is_there;
}

/* The name of the page of a process that is in the pid namespace of this one. */
static inline void page_name(pid_t pid, char name[PTRC_PAGE_NAME_BYTES])
{
	uint64_t ns;

	CHECK_OK(ptrc_procfs_pid_namespace(0, &ns));
	ptrc_page_name(name, pid, ns);
}

static inline bool has_page(pid_t pid)
{
	char name[PTRC_PAGE_NAME_BYTES];

	page_name(pid, name);
	return has_file(name);
}

/* Greater than all numbers of processes. */
#define DEAD_PID 5000000

/* Makes pages of dead processes, from DEAD_PID on, until the directory lacks so many entries of a
 * multiple of 256, at which those who sweep sometimes do it. Returns the number after the last. */
static inline int leave_pages(int dirfd, unsigned int lacking)
{
	/* What tmpfs says of each entry, and of two more. */
	enum { entry_bytes = 20, sweep_entries = 256 };
	static int pid = DEAD_PID;
	char name[PTRC_PAGE_NAME_BYTES];
	struct stat st;

	for (;;) {
		CHECK_SYS(fstat(dirfd, &st));
		if (pid > DEAD_PID && (st.st_size / entry_bytes + lacking) % sweep_entries == 0)
			return pid;
		CHECK_LT(pid, DEAD_PID + 4 * sweep_entries);
		page_name(pid++, name);
		int fd = CHECK_SYS(openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL, 0600));
		CHECK_SYS(ftruncate(fd, PTRC_PAGE_SIZE));
		close(fd);
	}
}

#endif
