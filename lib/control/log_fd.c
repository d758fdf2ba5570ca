/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/control/log_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/control/handle.h"
#include "lib/process/process.h"

/* The list of the duplicates that the controllers of this process keep of their logs' descriptors.
 * The lock of handle.h protects it. A fork waits for that lock, so a child has a complete copy of
 * the list. */
static struct ptrc_log_fd *all;
static _Atomic int32_t owner; /* pid of the process that the list belongs to, see
			       * ptrc_process_own() */

static void forget(void)
{
	all = NULL;
}

int ptrc_log_fd_keep(struct ptrc_log_fd *l, int fd)
{
	struct stat st;
	int error = ENOMEM;

	ptrc_process_own(&owner, forget);
	ptrc_handle_lock();
	l->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (l->fd >= 0 && fstat(l->fd, &st) == 0) {
		l->dev = st.st_dev;
		l->ino = st.st_ino;
		l->access = fcntl(fd, F_GETFL) & O_ACCMODE;
		l->next = all;
		l->prev = &all;
		if (all)
			all->prev = &l->next;
		/* A signal handler may fork at any instruction, even while this thread holds the
		 * lock, and the child then follows the `next` pointers. So the new head of the
		 * list is stored last. */
		__atomic_store_n(&all, l, __ATOMIC_RELEASE);
		error = 0;
	}
	ptrc_handle_unlock();
	return error;
}

int ptrc_log_fd_get(const struct ptrc_log_fd *l)
{
	struct stat st;

	if (l->prev && fstat(l->fd, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino &&
	    (fcntl(l->fd, F_GETFL) & O_ACCMODE) == l->access && fcntl(l->fd, F_GETFD) == FD_CLOEXEC)
		return l->fd;
	return -1;
}

void ptrc_log_fd_let_go(struct ptrc_log_fd *l)
{
	int fd;

	ptrc_process_own(&owner, forget);
	ptrc_handle_lock();
	if (l->prev) {
		*l->prev = l->next;
		if (l->next)
			l->next->prev = l->prev;
		fd = ptrc_log_fd_get(l);
		if (fd >= 0)
			close(fd);
		l->prev = NULL;
	}
	ptrc_handle_unlock();
}

void ptrc_log_fd_fork_child(void)
{
	/* No code of the program has run in the child yet, so its descriptors are still those of
	 * its parent. */
	for (struct ptrc_log_fd *l = all; l; l = l->next)
		if (ptrc_log_fd_get(l) >= 0)
			ptrc_file_close(l->fd);
	forget();
	ptrc_store_relaxed(&owner, ptrc_self_pid());
}
