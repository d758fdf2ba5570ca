/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/process/inherit.h"
#include "lib/process/page.h"
#include "lib/process/process.h"
#include "lib/process/process_names.h"
#include "lib/process/sweep.h"

static void page_name(const struct ptrc_target *t, char name[PTRC_PAGE_NAME_BYTES])
{
	ptrc_page_name(name, t->pid, t->ns);
}

/* May the caller trace the process? EPERM, ESRCH. */
static int check_privilege(pid_t pid, struct ptrc_target *t)
{
	uint32_t caller = (uint32_t)ptrc_sys(SYS_geteuid, 0);
	struct ptrc_procfs_stat own;
	struct ptrc_procfs_status st;
	int error;

	/* In a /proc of another pid namespace these numbers mean other processes. A /proc that
	 * hides the processes of other users hides only what may not be traced anyway. */
	if (ptrc_procfs_stat(0, &own) || own.pid != ptrc_sys_getpid())
		return EPERM;
	error = ptrc_procfs_status(pid, &st);
	if (error)
		return error == ESRCH ? EPERM : error;
	if (caller != 0) {
		if (st.uid[1] != caller)
			return EPERM;
		for (int i = 0; i < 3; i++)
			if (st.uid[i] != st.uid[1] || st.gid[i] != st.gid[1])
				return EPERM;
	}
	/* It is in a pid namespace below ours, where its threads have other numbers. */
	if (st.depth != 1)
		return EPERM;
	t->uid = st.uid[1];
	return ptrc_procfs_pid_namespace(0, &t->ns);
}

/* No image with the library has run in the process yet: enter into its page what such an image
 * would enter itself. */
static void prepare_unborn(const struct ptrc_target *t, struct ptrc_page *page)
{
	if (ptrc_inherit_is_announced(t->dirfd))
		ptrc_inherit_join(t->dirfd, t->uid, t->pid, t->ns, page);
	ptrc_inherit_names(t->dirfd, t->uid, t->pid, t->ns, page);
}

static int open_other(pid_t pid, struct ptrc_target *t)
{
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_procfs_stat st;
	struct ptrc_page_file f;
	uint32_t owner = 0;
	uint64_t mask;
	int error = ptrc_procfs_exists(pid);

	if (!error)
		error = check_privilege(pid, t);
	if (!error)
		error = ptrc_procfs_stat(pid, &st);
	if (!error)
		error = ptrc_shmdir_open(t->uid, true, &t->dirfd);
	if (error)
		return error;
	ptrc_sweep(t->dirfd, t->uid);
	t->start_ticks = st.start_ticks;
	page_name(t, name);
	ptrc_sys_block_signals(&mask);
	error = ptrc_page_open(t->dirfd, t->uid, name, t->start_ticks, true, NULL, &f);
	if (!error) {
		bool is_unborn = ptrc_load_relaxed(&f.page->image) == 0;

		/* Another process may have got the pid meanwhile. */
		error = ptrc_procfs_exists(pid);
		if (!error && (ptrc_procfs_stat(pid, &st) || st.start_ticks != t->start_ticks))
			error = ESRCH;
		/* An image that has, or had, more privileges publishes nothing itself. */
		if (!error && is_unborn && ptrc_sys(SYS_geteuid, 0) != 0 &&
		    (ptrc_procfs_owner(pid, &owner) || owner != t->uid))
			error = EPERM;
		if (!error && is_unborn)
			prepare_unborn(t, f.page);
		else if (error && f.is_new)
			ptrc_page_unlink(t->dirfd, name, &f);
		ptrc_page_unlock(&f);
		t->page = f.page;
		t->inode = f.inode;
	}
	ptrc_sys_restore_signals(&mask);
	if (error) {
		if (t->page)
			ptrc_page_unmap(t->page);
		ptrc_file_close(t->dirfd);
		return error == EAGAIN ? ENOMEM : error;
	}
	return 0;
}

int ptrc_target_look(pid_t pid, struct ptrc_target *t, struct ptrc_page *page)
{
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_procfs_stat st;
	uint32_t owner;
	int error;

	if (pid < 0)
		return ESRCH;
	*t = (struct ptrc_target){.pid = pid ? pid : ptrc_sys_getpid(), .dirfd = -1};
	error = ptrc_procfs_exists(t->pid);
	if (!error)
		error = check_privilege(t->pid, t);
	if (!error)
		error = ptrc_procfs_stat(t->pid, &st);
	if (!error)
		error = ptrc_shmdir_open(t->uid, false, &t->dirfd);
	if (error)
		return error;
	page_name(t, name);
	error = ptrc_page_copy(t->dirfd, t->uid, name, page);
	if (error == ENOENT || (!error && page->start_ticks != st.start_ticks)) {
		memset((void *)page, 0, sizeof(*page));
		error = 0;
	}
	/* An image with more privileges would not join either. */
	if (!error && page->image == 0 && ptrc_inherit_is_announced(t->dirfd) &&
	    (ptrc_sys(SYS_geteuid, 0) == 0 ||
	     (ptrc_procfs_owner(t->pid, &owner) == 0 && owner == t->uid)))
		ptrc_inherit_join(t->dirfd, t->uid, t->pid, t->ns, page);
	if (error)
		ptrc_target_rest(t);
	return error;
}

static int open_self(struct ptrc_target *t)
{
	int error = ptrc_process_init();

	if (error)
		return error == EPERM ? EPERM : ENOMEM;
	error = ptrc_shmdir_open(ptrc_here.uid, true, &t->dirfd);
	if (error)
		return error;
	ptrc_sweep(t->dirfd, ptrc_here.uid);
	t->is_self = true;
	t->uid = ptrc_here.uid;
	t->ns = ptrc_here.ns;
	t->start_ticks = ptrc_here.start_ticks;
	t->page = ptrc_page_self;
	t->inode = ptrc_here.inode;
	return 0;
}

int ptrc_target_open(pid_t pid, struct ptrc_target *t)
{
	struct ptrc_target opened = {.dirfd = -1};
	int error;

	if (pid < 0)
		return ESRCH;
	opened.pid = pid ? pid : ptrc_sys_getpid();
	if (opened.pid == ptrc_sys_getpid())
		error = open_self(&opened);
	else
		error = open_other(pid, &opened);
	if (!error)
		*t = opened;
	return error;
}

/* Open and lock the page's file. A page that was made for a process without the library may
 * have been swept away as unused: then it is made again. The page of this process stays where
 * it is mapped. */
static int lock_page(struct ptrc_target *t, bool is_create, struct ptrc_page_file *f)
{
	char name[PTRC_PAGE_NAME_BYTES];
	int error;

	page_name(t, name);
	if (is_create && !t->is_self) {
		struct ptrc_procfs_stat st;

		if (ptrc_procfs_exists(t->pid) || ptrc_procfs_stat(t->pid, &st) ||
		    st.start_ticks != t->start_ticks)
			return ESRCH;
	}
	error = ptrc_page_open(t->dirfd, t->uid, name, t->start_ticks, is_create && !t->is_self,
			       NULL, f);
	if (error)
		return error == EAGAIN ? ENOMEM : error;
	if (t->is_self || f->inode == t->inode) {
		ptrc_page_unmap(f->page);
	} else {
		ptrc_page_unmap(t->page);
		t->page = f->page;
		t->inode = f->inode;
	}
	f->page = t->page;
	if (f->is_new)
		prepare_unborn(t, f->page);
	return 0;
}

/* Remove a page that no process needs: without the library in the process, and without a stream.
 * The caller has the page's lock. */
static void drop_unused(const struct ptrc_target *t, const struct ptrc_page_file *f)
{
	char name[PTRC_PAGE_NAME_BYTES];

	if (t->is_self || ptrc_load_relaxed(&f->page->image) || ptrc_page_has_slots(f->page))
		return;
	page_name(t, name);
	ptrc_page_unlink(t->dirfd, name, f);
}

void ptrc_target_close(struct ptrc_target *t)
{
	struct ptrc_page_file f;
	uint64_t mask;

	if (!t->page)
		return;
	if (!t->is_self) {
		if (ptrc_load_relaxed(&t->page->image) == 0 && !ptrc_page_has_slots(t->page)) {
			ptrc_sys_block_signals(&mask);
			if (lock_page(t, false, &f) == 0) {
				drop_unused(t, &f);
				ptrc_page_unlock(&f);
			}
			ptrc_sys_restore_signals(&mask);
		}
		ptrc_page_unmap(t->page);
	}
	t->page = NULL;
	ptrc_target_rest(t);
}

void ptrc_target_rest(struct ptrc_target *t)
{
	if (t->dirfd >= 0)
		ptrc_file_close(t->dirfd);
	t->dirfd = -1;
}

int ptrc_target_wake(struct ptrc_target *t)
{
	return t->dirfd >= 0 ? 0 : ptrc_shmdir_open(t->uid, false, &t->dirfd);
}

int ptrc_target_names(struct ptrc_target *t, struct ptrc_names **names)
{
	struct ptrc_names *n = calloc(1, sizeof(*n));
	struct ptrc_page_file f;
	struct ptrc_names *own;
	uint64_t mask;
	int error;

	if (!n)
		return ENOMEM;
	/* This process knows which names it has from its parent. */
	if (t->is_self) {
		error = ptrc_process_names(&own);
		if (!error)
			error = ptrc_names_share(own, n);
		if (error) {
			free(n);
			return ENOMEM;
		}
		*names = n;
		return 0;
	}
	ptrc_sys_block_signals(&mask);
	error = lock_page(t, true, &f);
	if (!error) {
		error = ptrc_page_names(t->dirfd, t->uid, f.page, NULL, 0, NULL, n);
		ptrc_page_unlock(&f);
	}
	ptrc_sys_restore_signals(&mask);
	if (error) {
		free(n);
		return error == ESRCH || error == EPERM ? error : ENOMEM;
	}
	*names = n;
	return 0;
}

struct birth {
	uint64_t ticks;
	bool is_seen;
};

static bool look_for_birth(int child, void *arg)
{
	struct birth *birth = arg;
	struct ptrc_procfs_stat st;

	if (ptrc_procfs_stat(child, &st) == 0 && st.start_ticks == birth->ticks)
		birth->is_seen = true;
	return !birth->is_seen;
}

static uint64_t boot_ns(void)
{
	struct timespec now;

	ptrc_sys(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Children that exist when a stream is made are not traced, and children that are made after
 * the create has returned are. All that is known of a child is the tick of 10 ms in which it
 * started. So, if a child started in this very tick, children of this tick do not join, and the
 * create returns only when the tick has passed. If no child did, those that come in this tick
 * are younger than the stream, and they join. A child that starts while this function runs may
 * join or not.
 */
static void exclude_earlier_children(const struct ptrc_target *t, struct ptrc_page_slot *slot,
				     uint64_t tick)
{
	struct birth birth = {tick, false};
	uint64_t now;

	if (ptrc_procfs_children(t->pid, look_for_birth, &birth) && !birth.is_seen) {
		ptrc_store_release(&slot->attach_ns, tick * PTRC_PROCFS_TICK_NS);
		return;
	}
	now = boot_ns();
	if (now / PTRC_PROCFS_TICK_NS == tick)
		ptrc_file_sleep_ns((tick + 1) * PTRC_PROCFS_TICK_NS - now);
}

int ptrc_target_attach(struct ptrc_target *t, uint64_t stream_id, uint64_t names_id, uint32_t flags)
{
	struct ptrc_page_entry e = {
		.stream_id = stream_id,
		.names_id = names_id,
		.flags = flags,
	};
	struct ptrc_page_file f = {.fd = -1};
	uint64_t mask, tick;
	int place = -1;
	int error;

	ptrc_sys_block_signals(&mask);
	error = lock_page(t, true, &f);
	/* Our own page may have lost its name when the user's files were cleaned up. */
	if (t->is_self && (error == ENOENT || error == EPERM)) {
		f.page = t->page;
		error = 0;
	}
	tick = boot_ns() / PTRC_PROCFS_TICK_NS;
	if (!error) {
		e.attach_ns = (tick + 1) * PTRC_PROCFS_TICK_NS;
		if (ptrc_load_relaxed(&f.page->names_id) == 0)
			ptrc_store_relaxed(&f.page->names_id, names_id);
		place = ptrc_page_add(f.page, 0, &e);
		if (place < 0)
			error = EAGAIN;
		if (f.fd >= 0)
			ptrc_page_unlock(&f);
	}
	ptrc_sys_restore_signals(&mask);
	if (!error && (flags & PTRC_PAGE_SLOT_INHERITED))
		exclude_earlier_children(t, &t->page->slots[place], tick);
	return error;
}

void ptrc_target_detach(struct ptrc_target *t, uint64_t stream_id)
{
	struct ptrc_page_file f;
	uint64_t mask;
	bool is_locked;

	if (!stream_id)
		return;
	ptrc_sys_block_signals(&mask);
	is_locked = lock_page(t, false, &f) == 0;
	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		ptrc_page_remove(t->page, i, stream_id);
	if (is_locked) {
		drop_unused(t, &f);
		ptrc_page_unlock(&f);
	}
	ptrc_sys_restore_signals(&mask);
}
