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
#include "lib/base/timespec.h"
#include "lib/process/inherit.h"
#include "lib/process/orphan.h"
#include "lib/process/page.h"
#include "lib/process/process.h"
#include "lib/process/process_names.h"
#include "lib/process/sweep.h"

static struct ptrc_page_place place_of(const struct ptrc_target *t)
{
	return (struct ptrc_page_place){t->dirfd, t->uid, t->pid, t->ns, NULL};
}

int ptrc_target_status(pid_t pid, struct ptrc_procfs_status *status)
{
	uint32_t caller = ptrc_sys_geteuid();
	struct ptrc_procfs_stat own;
	int error = ptrc_procfs_exists(pid);

	if (error)
		return error;
	/* If /proc belongs to another pid namespace, a pid there is that of another process. */
	if (ptrc_procfs_stat(0, &own) || own.pid != ptrc_sys_getpid())
		return EPERM;
	error = ptrc_procfs_status(pid, status);
	/* The process exists, but if /proc hides the processes of other users (hidepid), the error
	 * is ESRCH. The caller may not trace such a process, so it gets EPERM. */
	if (error == ESRCH || (!error && caller != 0 && status->uid[1] != caller))
		return EPERM;
	return error;
}

/* Sets all members of *t except the page (list of streams), if the caller may trace the process. is_create is
 * as for ptrc_shmdir_open. */
static int identify(pid_t pid, bool is_create, struct ptrc_target *t)
{
	struct ptrc_procfs_status status;
	bool is_root = ptrc_sys_geteuid() == 0;
	struct ptrc_procfs_stat st;
	int error = ptrc_target_status(pid, &status);

	if (error)
		return error;
	/* The real, effective and saved IDs differ if a set-user-ID program has run in the process, or if it has
	 * another user only for a time. Root may trace a process of root nevertheless; but what other processes
	 * record belongs into the directory of one user only if they have no other one. */
	for (int i = 0; i < 3; i++)
		if ((status.uid[i] != status.uid[1] && (!is_root || status.uid[1] != 0)) ||
		    (status.gid[i] != status.gid[1] && !is_root))
			return EPERM;
	/* If the process is in a pid namespace below that of the caller, its threads have other IDs there. */
	if (status.depth != 1)
		return EPERM;
	*t = (struct ptrc_target){.pid = pid, .uid = status.uid[1], .dirfd = -1};
	error = ptrc_procfs_pid_namespace(0, &t->ns) ?: ptrc_procfs_stat(pid, &st);
	if (error)
		return error;
	t->start_ticks = st.start_ticks;
	return ptrc_shmdir_open(t->uid, is_create, &t->dirfd);
}

/* Checks that the pid still belongs to the target. Errors: ESRCH, ENOMEM. */
static int check_alive(const struct ptrc_target *t)
{
	struct ptrc_procfs_stat st;
	int error = ptrc_procfs_exists(t->pid);

	if (!error && (ptrc_procfs_stat(t->pid, &st) || st.start_ticks != t->start_ticks))
		error = ESRCH;
	return error;
}

/* Whether a program with the library would publish a page (list of its streams) in the process. It would not
 * if it has, or had, more privileges than the process that started it. */
static bool may_publish(const struct ptrc_target *t)
{
	uint32_t owner;

	return ptrc_sys_geteuid() == 0 ||
	       (ptrc_procfs_owner(t->pid, &owner) == 0 && owner == t->uid);
}

/*
 * A process that root started, and that has changed its user since, has mapped the page (list of streams) or the
 * bells (counters of pages) that are in root's directory. Root may trace it like any process of its present user,
 * in whose directory its page then is. The process looks for it there when it is called, by a bit in root's page or
 * by root's bell. No other user can call it, because only root can change these two.
 */
static int open_roots(int pid, uint32_t uid, uint64_t ns, struct ptrc_page_place *place)
{
	if (uid == 0 || ptrc_sys_geteuid() != 0)
		return ENOENT;
	*place = (struct ptrc_page_place){.pid = pid, .ns = ns};
	return ptrc_shmdir_open(0, false, &place->dirfd);
}

struct mapped_stream {
	int dirfd, pid;
	bool is_found;
};

static void look_for_mapped(const char *name, void *arg)
{
	struct mapped_stream *m = arg;
	struct stat st;

	if (!m->is_found && ptrc_shmdir_parse(name, 's') &&
	    ptrc_file_stat_at(m->dirfd, name, &st) == 0)
		m->is_found = ptrc_procfs_maps_file(m->pid, st.st_dev, st.st_ino);
}

enum ptrc_target_past ptrc_target_past(int pid, uint32_t uid, uint64_t ns, uint64_t start_ticks)
{
	enum ptrc_target_past past = PTRC_TARGET_NO_PAST;
	struct ptrc_page_place place;
	struct mapped_stream m;
	struct ptrc_page_file f;

	if (open_roots(pid, uid, ns, &place))
		return past;
	if (ptrc_bells_are_mapped(place.dirfd, pid))
		past = PTRC_TARGET_HAS_BELL_OF_ROOT;
	if (ptrc_page_open(&place, start_ticks, false, NULL, &f) == 0) {
		if (ptrc_page_is_alive(f.fd))
			past = ptrc_page_has(f.page, 0) ? PTRC_TARGET_TRACED_AS_ROOT
							: PTRC_TARGET_HAS_PAGE_OF_ROOT;
		ptrc_page_unlock(&f);
		ptrc_page_unmap(f.page);
	} else {
		m = (struct mapped_stream){.dirfd = place.dirfd, .pid = pid};
		ptrc_shmdir_for_each(place.dirfd, look_for_mapped, &m);
		if (m.is_found)
			past = PTRC_TARGET_TRACED_AS_ROOT;
	}
	ptrc_file_close(place.dirfd);
	return past;
}

/* Calls the process if it is one that root started: `act` is ptrc_bell_ring. With ptrc_bell_unring takes the call
 * back. */
static void call(const struct ptrc_target *t, void (*act)(struct ptrc_bells *, int))
{
	struct ptrc_page_place place;
	struct ptrc_page_file f;

	if (t->past == PTRC_TARGET_NO_PAST || open_roots(t->pid, t->uid, t->ns, &place))
		return;
	if (t->past == PTRC_TARGET_HAS_BELL_OF_ROOT) {
		if (ptrc_bells_open(place.dirfd, 0, &place.bells) == 0) {
			act(place.bells, t->pid);
			ptrc_bells_unmap(place.bells);
		}
	} else if (act == ptrc_bell_ring &&
		   ptrc_page_open(&place, t->start_ticks, false, NULL, &f) == 0) {
		ptrc_page_call(f.page);
		ptrc_page_unlock(&f);
		ptrc_page_unmap(f.page);
	}
	ptrc_file_close(place.dirfd);
}

/* Maps the names object (table of event names) that the process opened while it was root's, and stores how many of
 * its names are those of the process. Leaves n->object NULL if there is none. A child that such a process forked
 * after the change of user has a page in its user's directory, but still uses the names of its parent. */
static void open_names_of_root(const struct ptrc_target *t, const struct ptrc_page *page,
			       struct ptrc_names *n, uint32_t *count)
{
	uint64_t id = page->names_from;
	struct ptrc_page_place place;
	struct ptrc_page roots;

	n->object = NULL;
	*count = page->names_from_count;
	if (page->names_id || t->past == PTRC_TARGET_NO_PAST ||
	    open_roots(t->pid, t->uid, t->ns, &place))
		return;
	if (ptrc_page_copy(&place, &roots) == 0 && roots.start_ticks == t->start_ticks) {
		id = roots.names_id ? roots.names_id : roots.names_from;
		*count = roots.names_id ? PTRC_NAMES_MAX : roots.names_from_count;
	}
	if (!id || ptrc_names_open(place.dirfd, 0, id, NULL, n))
		n->object = NULL;
	else if (*count > ptrc_names_count(n))
		*count = ptrc_names_count(n);
	ptrc_file_close(place.dirfd);
}

/* Called if no program with the library has run in the process yet. Puts into the page what such a program
 * would put there itself: inherited streams, and event names. */
static void prepare_unborn(const struct ptrc_target *t, struct ptrc_page *page)
{
	const struct ptrc_page_place place = place_of(t);
	struct ptrc_page_place roots;
	struct ptrc_procfs_stat st;
	struct ptrc_page copy;
	uint32_t uid;

	if (ptrc_inherit_is_announced(t->dirfd))
		ptrc_inherit_join(&place, page, &copy);
	ptrc_inherit_names(&place, page);
	/* The parent may have changed its user before it forked the process. Names of a parent that still is root
	 * are not put into the directory of another user. */
	if (t->past != PTRC_TARGET_NO_PAST && ptrc_procfs_stat(t->pid, &st) == 0 &&
	    ptrc_procfs_user(st.ppid, &uid) == 0 && uid == t->uid &&
	    open_roots(t->pid, t->uid, t->ns, &roots) == 0) {
		ptrc_inherit_names(&roots, page);
		ptrc_file_close(roots.dirfd);
	}
}

/* Finds or makes the page (list of streams) of a process that identify() has found. ESRCH, EPERM, ENOMEM. */
static int open_page(struct ptrc_target *t)
{
	const struct ptrc_page_place place = place_of(t);
	struct ptrc_page_file f;
	bool is_unborn;
	int error;

	t->past = ptrc_target_past(t->pid, t->uid, t->ns, t->start_ticks);
	if (t->past == PTRC_TARGET_TRACED_AS_ROOT)
		return EPERM;
	error = ptrc_page_open(&place, t->start_ticks, true, NULL, &f);
	if (error)
		return error == EAGAIN ? ENOMEM : error;
	is_unborn = ptrc_load_relaxed(&f.page->image) == 0;
	error = check_alive(t);
	if (!error && is_unborn && !may_publish(t))
		error = EPERM;
	if (!error && is_unborn)
		prepare_unborn(t, f.page);
	else if (error && f.is_new)
		ptrc_page_unlink(&f.place, f.inode);
	ptrc_page_unlock(&f);
	t->page = f.page;
	t->inode = f.inode;
	if (error)
		ptrc_page_unmap(t->page);
	return error;
}

static int open_other(pid_t pid, int log_fd, struct ptrc_target *t)
{
	int error = identify(pid, true, t);

	if (error)
		return error;
	ptrc_sweep(t->dirfd, t->uid, log_fd);
	return open_page(t);
}

int ptrc_target_look(pid_t pid, struct ptrc_target *t, struct ptrc_page *page)
{
	struct ptrc_page_place place;
	struct ptrc_page copy;
	int error = identify(pid ? pid : ptrc_sys_getpid(), false, t);

	if (error)
		return error;
	place = place_of(t);
	error = ptrc_page_copy(&place, page);
	if (error == ENOENT || (!error && page->start_ticks != t->start_ticks)) {
		memset((void *)page, 0, sizeof(*page));
		error = 0;
	}
	if (error) {
		ptrc_target_rest(t);
	} else if (page->image == 0 && ptrc_inherit_is_announced(t->dirfd) && may_publish(t)) {
		uint64_t own = page->active;

		ptrc_inherit_join(&place, page, &copy);
		t->has_joined = page->active != own;
	}
	return error;
}

static int open_self(int log_fd, struct ptrc_target *t)
{
	int error = ptrc_process_init();

	if (error)
		return error == EPERM ? EPERM : ENOMEM;
	error = ptrc_shmdir_open(ptrc_here.uid, true, &t->dirfd);
	if (error)
		return error;
	ptrc_sweep(t->dirfd, ptrc_here.uid, log_fd);
	t->is_self = true;
	t->uid = ptrc_here.uid;
	t->ns = ptrc_here.ns;
	t->start_ticks = ptrc_here.start_ticks;
	t->page = ptrc_page_self;
	t->inode = ptrc_here.inode;
	return 0;
}

int ptrc_target_open(pid_t pid, int log_fd, struct ptrc_target *t)
{
	struct ptrc_target opened = {.dirfd = -1};
	int error;

	opened.pid = pid ? pid : ptrc_sys_getpid();
	if (opened.pid == ptrc_sys_getpid())
		error = open_self(log_fd, &opened);
	else
		error = open_other(pid, log_fd, &opened);
	if (error) {
		ptrc_target_rest(&opened);
		return error;
	}
	ptrc_store_relaxed(&ptrc_here.has_traced, true);
	*t = opened;
	return 0;
}

/* Opens and locks the target's page (list of its streams). If is_create, and the page was made for a process
 * without the library and then removed as unused, makes it again. If the target is this process, the page
 * that its events use stays mapped. */
static int lock_page(struct ptrc_target *t, bool is_create, struct ptrc_page_file *f)
{
	const struct ptrc_page_place place = place_of(t);
	int error = 0;

	is_create = is_create && !t->is_self;
	if (is_create)
		error = check_alive(t);
	if (!error)
		error = ptrc_page_open(&place, t->start_ticks, is_create, NULL, f);
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

/* Whether the page (list of streams) is unused: the process lacks the library, and no stream traces it. */
static bool is_unused(const struct ptrc_target *t)
{
	return !t->is_self && !ptrc_load_relaxed(&t->page->image) && !ptrc_page_has(t->page, 0);
}

void ptrc_target_detach(struct ptrc_target *t, uint64_t stream_id)
{
	struct ptrc_page_file f;
	bool is_locked = lock_page(t, false, &f) == 0;

	ptrc_page_remove(t->page, stream_id);
	if (is_locked) {
		if (is_unused(t))
			ptrc_page_unlink(&f.place, f.inode);
		ptrc_page_unlock(&f);
	}
	if (stream_id)
		call(t, ptrc_bell_unring);
}

void ptrc_target_join(struct ptrc_target *t)
{
	if (!t->has_joined || open_page(t))
		return;
	/* The streams may have ended since ptrc_target_look. */
	if (is_unused(t))
		ptrc_target_detach(t, 0);
	ptrc_page_unmap(t->page);
	t->page = NULL;
}

void ptrc_target_close(struct ptrc_target *t)
{
	if (!t->page)
		return;
	if (is_unused(t))
		ptrc_target_detach(t, 0);
	if (!t->is_self)
		ptrc_page_unmap(t->page);
	t->page = NULL;
	ptrc_target_rest(t);
}

void ptrc_target_rest(struct ptrc_target *t)
{
	ptrc_file_end(&t->dirfd);
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
	struct ptrc_names *own, former;
	uint32_t former_count;
	int error;

	if (!n)
		return ENOMEM;
	if (t->is_self) {
		/* Only this process itself knows which of its names come from its parent. */
		error = ptrc_process_names(&own) ?: ptrc_names_share(own, n);
	} else {
		error = lock_page(t, true, &f);
		if (!error) {
			open_names_of_root(t, f.page, &former, &former_count);
			error = ptrc_page_names(t->dirfd, t->uid, f.page, former.object,
						former_count, NULL, n);
			ptrc_page_unlock(&f);
			if (former.object)
				ptrc_names_unmap(&former);
		}
	}
	if (error) {
		free(n);
		return !t->is_self && (error == ESRCH || error == EPERM || error == EPROTO)
			       ? error
			       : ENOMEM;
	}
	*names = n;
	return 0;
}

void ptrc_target_names_unref(struct ptrc_names *n)
{
	PTRC_FD(dirfd);

	ptrc_names_unmap(n);
	if (n->id && ptrc_shmdir_open(n->uid, false, &dirfd) == 0)
		ptrc_orphan_release_names(dirfd, n->uid, n->id);
	free(n);
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

/*
 * Children that exist before a stream is created do not join the stream. Children that are made after the
 * create has returned do. But the time when a child started is known only to a tick of 10 ms. If no child has
 * started in the current tick yet, all children of this tick are younger than the stream and join it.
 * Otherwise the children of this tick do not join, and the create returns only when the tick is over. A child
 * that starts while this function runs may join or not.
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
	now = (uint64_t)ptrc_clock_ns(CLOCK_BOOTTIME);
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
	struct ptrc_page_file f;
	uint64_t tick;
	int place;
	int error = lock_page(t, true, &f);
	bool is_locked = !error;

	/* If the file of our own page was removed, no other process can change the page, so no lock is
	 * needed. */
	if (error && !(t->is_self && (error == ENOENT || error == EPERM)))
		return error;
	tick = (uint64_t)ptrc_clock_ns(CLOCK_BOOTTIME) / PTRC_PROCFS_TICK_NS;
	e.attach_ns = (tick + 1) * PTRC_PROCFS_TICK_NS;
	if (ptrc_load_relaxed(&t->page->names_id) == 0)
		ptrc_store_relaxed(&t->page->names_id, names_id);
	place = ptrc_page_add(t->page, 0, &e);
	if (is_locked)
		ptrc_page_unlock(&f);
	if (place < 0)
		return EAGAIN;
	call(t, ptrc_bell_ring);
	if (flags & PTRC_PAGE_SLOT_INHERITED)
		exclude_earlier_children(t, &t->page->slots[place], tick);
	return 0;
}
