/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process/process.h"

#include <errno.h>
#include <sys/mman.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/liveness.h"
#include "lib/base/pid_lock.h"
#include "lib/base/procfs.h"
#include "lib/base/shared_version.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/model/names.h"
#include "lib/process/image.h"
#include "lib/process/inherit.h"
#include "lib/process/page.h"
#include "lib/process/sweep.h"
#include "lib/stream/untraced.h"

static int init(bool sweeps)
{
	int32_t pid = ptrc_sys_getpid(), known = ptrc_self_pid();
	int32_t quiet = ptrc_load_acquire(&ptrc_self_private()->quiet_pid);
	uint32_t uid = ptrc_sys_geteuid();
	int error = 0;

	if (known == pid && ptrc_here.uid == uid)
		return 0;
	/* A vfork child, which uses the memory of its parent until it calls exec, finds the pid of its parent. */
	if ((known != 0 && known != pid) || (known == 0 && quiet != 0 && quiet != pid))
		return EPERM;
	PTRC_SELF_LOCK();
	if (ptrc_self_pid() == pid) {
		if (ptrc_here.uid != uid && !ptrc_here.has_ended)
			ptrc_image_move_home(uid);
	} else if (ptrc_here.has_page && ptrc_here.pid != pid) {
		/* This is a child that was forked without fork handlers. */
		ptrc_image_note_page();
		error = ptrc_image_start_child(pid, false);
		ptrc_liveness_fork_done();
	} else if (ptrc_here.is_quiet && ptrc_here.has_ended && ptrc_here.pid == pid) {
		error = EPERM;
	} else {
		error = ptrc_image_start(pid, sweeps);
	}
	return error;
}

int ptrc_process_init(void)
{
	return init(false);
}

static bool begin_image(void)
{
	PTRC_SELF_LOCK();

	return ptrc_image_begin(ptrc_sys_getpid());
}

void ptrc_process_begin(void)
{
	if (ptrc_self_pid() == 0) {
		if (!begin_image())
			init(true);
		return;
	}
	/* An event that came before the constructor has initialised the library. But events
	 * remove only the pages that dead processes left, because their stack may be too small. So
	 * the constructor removes the rest here. */
	PTRC_SELF_LOCK();
	PTRC_FD(dirfd);
	if (ptrc_shmdir_open(ptrc_here.uid, false, &dirfd) == 0)
		ptrc_sweep_processes(dirfd, ptrc_here.uid);
}

void ptrc_process_own(_Atomic int32_t *owner, void (*forget)(void))
{
	/* With pid 0 and has_page, this is a forked child that has not noticed the fork: the kernel
	 * has cleared the pid. */
	if (ptrc_self_pid() == 0 && ptrc_here.has_page)
		ptrc_process_init();
	if (ptrc_load_acquire(owner) == ptrc_self_pid())
		return;
	PTRC_SELF_LOCK();
	if (*owner != 0 && *owner != ptrc_self_pid())
		forget();
	ptrc_store_release(owner, ptrc_self_pid());
}

bool ptrc_process_is_known(void)
{
	return ptrc_here.pid == ptrc_sys_getpid();
}

/* Whether this process is in the time namespace. A process that is not traced does not need to know its own time
 * namespace, so this function looks it up only now. If /proc cannot be read any more, for example after chroot(),
 * the process counts as being in that namespace. */
static bool is_in_time(uint64_t time_namespace)
{
	uint64_t own = ptrc_load_relaxed(&ptrc_here.time_ns), ns;

	if (own == 0)
		own = ptrc_procfs_time_namespace();
	ptrc_store_relaxed(&ptrc_here.time_ns, own);
	return own == time_namespace || (own == 0 && ptrc_procfs_pid_namespace(0, &ns) != 0);
}

bool ptrc_process_is_in(uint64_t pid_namespace, uint64_t time_namespace)
{
	return pid_namespace == ptrc_here.ns && is_in_time(time_namespace);
}

/* Whether this library knows the version of the names object (table of event names) that the slot's stream
 * uses. Returns true after errors other than EPROTO. */
static bool knows_names(int dirfd, const struct ptrc_page_slot *slot, uint32_t *version)
{
	uint64_t id = ptrc_load_relaxed(&slot->names_id);

	return (ptrc_here.names.object && ptrc_here.names.id == id) ||
	       ptrc_names_check(dirfd, ptrc_here.uid, id, version) != EPROTO;
}

int ptrc_process_open_stream(uint64_t stream_id, int *fd, uint32_t *version)
{
	struct ptrc_page *page = ptrc_self_page();
	PTRC_FD(dirfd);
	int error = ptrc_shmdir_open(ptrc_here.uid, false, &dirfd);

	*version = 0;
	if (!error) {
		error = ptrc_shmdir_open_id(dirfd, 's', stream_id, ptrc_here.uid, fd, NULL);
		for (uint32_t i = 0; !error && i < PTRC_PAGE_SLOT_COUNT; i++)
			if (ptrc_load_relaxed(&page->slots[i].stream_id) == stream_id &&
			    !knows_names(dirfd, &page->slots[i], version)) {
				ptrc_file_close(*fd);
				error = EPROTO;
			}
		if (error == ENOENT && ptrc_self_is_home(dirfd)) {
			ptrc_page_remove(page, stream_id);
			return ENOENT;
		}
	}
	/* The directory of the stream cannot be reached, for example after a chroot. */
	if (error == ENOENT)
		error = EPERM;
	for (uint32_t i = 0; error && i < PTRC_PAGE_SLOT_COUNT; i++)
		if (ptrc_load_relaxed(&page->slots[i].stream_id) == stream_id)
			ptrc_store_relaxed(&page->slots[i].error, ptrc_refusal(error, *version));
	return error;
}

void ptrc_process_tell_untraced(uint64_t stream_id, uint32_t refusal)
{
	ptrc_untraced_tell(ptrc_here.uid, stream_id, refusal);
}

void ptrc_process_fork_prepare(void)
{
	ptrc_pid_lock(&ptrc_here.lock);
	ptrc_liveness_fork_prepare();
	if (ptrc_here.has_page)
		ptrc_image_note_page();
}

void ptrc_process_fork_parent(void)
{
	ptrc_liveness_fork_done();
	ptrc_pid_unlock(&ptrc_here.lock);
}

void ptrc_process_fork_child(void)
{
	int32_t pid = ptrc_sys_getpid();

	ptrc_liveness_fork_done();
	if (ptrc_here.has_page)
		ptrc_image_start_child(pid, true);
	else if (ptrc_here.is_quiet)
		ptrc_image_begin_child(pid);
	ptrc_here.pid = pid;
	ptrc_pid_unlock(&ptrc_here.lock);
}

static void end_page(int dirfd)
{
	struct ptrc_page_place place = ptrc_self_place(dirfd);

	place.bells = ptrc_self_bells(dirfd);
	if (ptrc_page_has(ptrc_self_page(), PTRC_PAGE_SLOT_INHERITED) && ptrc_here.has_own_proc &&
	    ptrc_inherit_is_announced(dirfd))
		ptrc_inherit_prepare_children(&place);
	ptrc_page_unlink(&place, ptrc_here.inode);
}

/* Gives up the names object (table of event names). The shared mapping keeps its file open, and so keeps the
 * lock by which this process uses the object. Other threads may still look names up at this address, so it must
 * stay mapped. It is mapped again, privately, from a newly opened descriptor without a lock. */
static void let_names_go(int dirfd)
{
	PTRC_FD(fd);

	if (!ptrc_here.names.object || !ptrc_here.names.id ||
	    ptrc_shmdir_open_id(dirfd, 'n', ptrc_here.names.id, ptrc_here.uid, &fd, NULL))
		return;
	ptrc_sys(SYS_mmap, ptrc_here.names.object, sizeof(*ptrc_here.names.object),
		 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0);
	ptrc_here.names.id = 0;
}

void ptrc_process_end(void)
{
	bool has_used = ptrc_load_relaxed(&ptrc_here.has_traced);
	PTRC_SELF_LOCK();
	PTRC_FD(dirfd);

	/* If the bell rings (a controller has raised it), makes the page (list of streams), because children
	 * inherit its streams. The page is removed below. */
	if (ptrc_image_is_called())
		ptrc_image_start(ptrc_here.pid, false);
	if (ptrc_here.has_page && ptrc_self_pid() == ptrc_sys_getpid())
		has_used |= ptrc_load_relaxed(&ptrc_self_page()->names_id) != 0;
	else if (!ptrc_here.is_quiet)
		return;
	/* If the program has opened no name, has traced nothing and was not traced, there is nothing to do in
	 * the directory. */
	if (!ptrc_here.has_ended && (ptrc_here.has_page || has_used) &&
	    ptrc_shmdir_open(ptrc_here.uid, false, &dirfd) == 0) {
		if (ptrc_here.has_page) {
			end_page(dirfd);
			let_names_go(dirfd);
		}
		ptrc_sweep_sometimes(dirfd, ptrc_here.uid, has_used);
	}
	ptrc_here.has_ended = true;
}
