/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process/image.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/model/names.h"
#include "lib/process/bell.h"
#include "lib/process/inherit.h"
#include "lib/process/self.h"
#include "lib/process/sweep.h"
#include "lib/stream/untraced.h"

static uint64_t mix(uint64_t n)
{
	n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
	return n ^ n >> 31;
}

/* Returns an identity of this image (the program between two execs). All copies of the library in the image
 * compute the same number. It is made from the 16 random bytes that the kernel gives each image. The C
 * library makes the secret of the stack protector from the same bytes. The identity is published, so it has
 * only 64 bits, from which the bytes cannot be found out. */
static uint64_t image_identity(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t half[2], id;

	if (!random)
		return ptrc_shmdir_new_id();
	memcpy(half, random, sizeof(half));
	id = mix(mix(half[0]) + half[1] * UINT64_C(0x9e3779b97f4a7c15));
	return id ? id : 1;
}

/* noted: a copy, made before a fork, of what a child needs of the page (list of the process's streams).
 * noted_names_count: how many names the parent had then. A process that makes its first page has no such copy
 * yet, and uses `noted` as memory for copies of its ancestors' pages. */
static struct ptrc_page noted;
static uint32_t noted_names_count;

/* Fills in ptrc_here, the state of this process. Opens, locks and maps the page of this process, the object
 * that lists the streams that trace it; `at` is as for ptrc_page_open, and NULL except in a forked child. Stores the
 * descriptor of the page's directory, which the caller closes, also after an error. Errors: EPERM, ENOMEM, EAGAIN. */
static int open_page(int32_t pid, void *at, int *dirfd, struct ptrc_page_file *f)
{
	struct ptrc_page_place place;
	struct ptrc_procfs_stat st;
	int error;

	ptrc_here.pid = pid;
	ptrc_here.has_page = false;
	ptrc_here.inode = 0;
	ptrc_here.uid = ptrc_sys_geteuid();
	/* The pid namespace is found first, because that needs no descriptor. So if descriptors are short,
	 * tell_unknown() knows the namespace, which it needs for the name of the page. */
	if (ptrc_procfs_pid_namespace(0, &ptrc_here.ns))
		return EPERM;
	error = ptrc_procfs_stat(0, &st);
	if (error)
		return error == ENOMEM ? ENOMEM : EPERM;
	ptrc_store_relaxed(&ptrc_here.time_ns, 0);
	ptrc_here.start_ticks = st.start_ticks;
	ptrc_here.has_own_proc = st.pid == pid;
	error = ptrc_shmdir_open(ptrc_here.uid, true, dirfd);
	if (error)
		return error;
	/* The streams that a child inherits are not in this directory if its parent has changed its user or its root
	 * directory, or what is mounted at /dev/shm. */
	if (at && ptrc_page_has(&noted, PTRC_PAGE_SLOT_INHERITED) && !ptrc_self_is_home(*dirfd))
		return EPERM;
	place = ptrc_self_place(*dirfd);
	place.bells = ptrc_self_bells(*dirfd);
	error = ptrc_page_open(&place, st.start_ticks, true, at, f);
	if (error)
		return error;
	ptrc_self_set_home(*dirfd);
	ptrc_here.inode = f->inode;
	ptrc_page_mark_alive(f);
	return 0;
}

/* Maps the names object (table of event names) whose id is in the page: the streams in the page go on tracing
 * the process, and use this object. The new program has opened none of these names yet, so ptrc_here.base
 * becomes their number, which marks them as names of earlier programs. */
static void keep_names(int dirfd, struct ptrc_page *page)
{
	uint64_t id = ptrc_load_relaxed(&page->names_id);

	if (id && ptrc_names_open(dirfd, ptrc_here.uid, id, ptrc_here.names.object,
				  &ptrc_here.names) == 0)
		ptrc_here.base = ptrc_names_count(&ptrc_here.names);
}

/* Marks this process, which has no page (list of its streams), in the INHERITED streams of its
 * ancestors. */
static void mark_untraced(void)
{
	struct ptrc_page *page = ptrc_file_zeros(PTRC_PAGE_SIZE);
	struct ptrc_page_place place;
	struct ptrc_page_entry e;
	PTRC_FD(dirfd);

	if (!page)
		return;
	if (ptrc_here.has_own_proc && ptrc_shmdir_open(ptrc_here.uid, false, &dirfd) == 0) {
		place = ptrc_self_place(dirfd);
		ptrc_inherit_join(&place, page, &noted);
		for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
			if (ptrc_page_slot(page, i, &e))
				ptrc_untraced_mark(dirfd, ptrc_here.uid, e.stream_id,
						   ptrc_here.pid);
	}
	ptrc_page_unmap(page);
}

/* Leaves a message that this process could not find out which streams should trace it or, if
 * knows_own, which of its ancestors' streams should (untraced.h). */
static void tell_unknown(int error, bool knows_own)
{
	char name[PTRC_PAGE_NAME_BYTES];

	ptrc_page_name(name, ptrc_here.pid, ptrc_here.ns);
	if (!ptrc_untraced_tell_unknown(ptrc_here.uid, name, error, knows_own))
		mark_untraced();
}

/* Called if no earlier program of this process had the library. The page (list of the process's
 * streams) is new, or was made by a controller, or by a parent that has ended. If may_inherit, the
 * process also joins the INHERITED streams of its ancestors. */
static void begin_page(const struct ptrc_page_file *f, bool may_inherit)
{
	if (may_inherit && ptrc_here.has_own_proc && ptrc_inherit_is_announced(f->place.dirfd) &&
	    ptrc_inherit_join(&f->place, f->page, &noted))
		tell_unknown(ENOMEM, true);
	if (ptrc_page_has(f->page, PTRC_PAGE_SLOT_JOINED))
		keep_names(f->place.dirfd, f->page);
	else if (f->page->names_id)
		ptrc_here.base = f->page->names_from_count;
}

/* Called after an exec, if an earlier program of the process had the library and used this page
 * (list of the process's streams). If no stream remains in the page, the process no longer needs
 * its names object, which the next sweep removes. */
static void take_over_page(int dirfd, struct ptrc_page *page)
{
	struct ptrc_page_entry e;

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		if (ptrc_page_slot(page, i, &e) && (e.flags & PTRC_PAGE_SLOT_SELF))
			ptrc_page_remove(page, e.stream_id);
	if (ptrc_page_has(page, 0))
		keep_names(dirfd, page);
	else
		ptrc_store_relaxed(&page->names_id, 0);
}

/* Maps the user's bells, counters of pages by pid. Stores in *dir the stat() of their directory. */
static int map_bells(uint32_t uid, struct stat *dir)
{
	PTRC_FD(dirfd);

	if (ptrc_bells_open_usual(uid, &ptrc_here.bells, dir))
		return 0;
	return ptrc_shmdir_open(uid, true, &dirfd) ?: ptrc_file_stat(dirfd, dir)
						   ?: ptrc_bells_open(dirfd, uid, &ptrc_here.bells);
}

/* Whether this process is not dumpable. Then other processes may not read its mappings in /proc and
 * cannot see that it has the library. A controller would make no page (list of streams) for such a
 * process, so the process must make its page itself. */
static bool is_hidden(void)
{
	return ptrc_sys(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0) != 1;
}

bool ptrc_image_begin(int32_t pid)
{
	uint32_t uid = ptrc_sys_geteuid();
	struct stat dir;

	if (ptrc_here.is_excluded || getauxval(AT_SECURE) || ptrc_self_make() || is_hidden() ||
	    map_bells(uid, &dir))
		return false;
	ptrc_here.bells_dev = dir.st_dev;
	ptrc_here.bells_inode = dir.st_ino;
	if (ptrc_inherit_is_announced_in(&dir) ||
	    ptrc_load_seq_cst(ptrc_bell(ptrc_here.bells, pid)))
		return false;
	ptrc_here.uid = uid;
	ptrc_self_publish_quiet(pid);
	return true;
}

void ptrc_image_begin_child(int32_t pid)
{
	ptrc_here.has_ended = false;
	/* Kernels before 4.14 do not know MADV_WIPEONFORK, so *ptrc_self is cleared here. */
	memset((void *)ptrc_self_private(), 0, sizeof(struct ptrc_self));
	if (ptrc_here.uid == ptrc_sys_geteuid() && !is_hidden())
		ptrc_self_publish_quiet(pid);
	else if (!ptrc_image_begin(pid))
		ptrc_image_start(pid, true);
}

bool ptrc_image_is_called(void)
{
	return ptrc_here.is_quiet &&
	       ptrc_load_relaxed(ptrc_bell(ptrc_here.bells, ptrc_here.pid)) != 0;
}

int ptrc_image_start(int32_t pid, bool sweeps)
{
	struct ptrc_page_file f;
	uint64_t image;
	/* A process begins without a page (list of its streams) only if it inherits no stream, so
	 * begin_page() need not look for any. */
	bool was_quiet = ptrc_here.is_quiet && ptrc_here.pid == pid;
	int error;
	PTRC_FD(dirfd);

	ptrc_here.has_ended = false;
	/* A program with more privileges than the process that started it does not trust what is in shared
	 * memory, and publishes nothing there. */
	if (!ptrc_here.is_excluded && getauxval(AT_SECURE))
		ptrc_here.is_excluded = true;
	error = ptrc_here.is_excluded ? EPERM : ptrc_self_make();
	if (!error)
		error = open_page(pid, NULL, &dirfd, &f);
	if (error) {
		ptrc_here.pid = pid;
		if (!ptrc_here.is_excluded)
			tell_unknown(error, false);
		/* If descriptors or memory are short just now, but the process began without a page, its next
		 * event tries again. */
		if (!was_quiet || error == EPERM)
			ptrc_self_give_up_page();
		return error;
	}
	if (!ptrc_here.image)
		ptrc_here.image = image_identity();
	image = ptrc_load_relaxed(&f.page->image);
	if (image == 0)
		begin_page(&f, !was_quiet);
	else if (image != ptrc_here.image)
		take_over_page(dirfd, f.page);
	if (image != ptrc_here.image) {
		/* Only a forked child uses event names of its parent (names_from). A new program does not. */
		ptrc_store_relaxed(&f.page->names_from, 0);
		ptrc_store_relaxed(&f.page->names_from_count, 0);
	}
	ptrc_store_release(&f.page->image, ptrc_here.image);
	ptrc_self_publish(pid, f.page);
	ptrc_page_unlock(&f);
	/* If `image` is not 0, this process ran another program before, which may have been a controller. The
	 * sweep ends the streams of that program. */
	if (sweeps)
		ptrc_sweep_sometimes(dirfd, ptrc_here.uid, image != 0);
	else
		ptrc_sweep_pages_sometimes(dirfd, ptrc_here.uid);
	return 0;
}

/* Whether these names begin with the names of this process, so that the ids of its event types stay the same. */
static bool begin_with_own(const struct ptrc_names *names)
{
	char name[PTRC_NAME_BYTES];
	uint32_t count = ptrc_self_names_count();

	for (uint32_t i = 0; i < count; i++)
		if (ptrc_names_get(&ptrc_here.names, PTRC_ID_FIRST + i, name) == 0 &&
		    ptrc_names_find(names->object, i + 1, name) != PTRC_ID_FIRST + i)
			return false;
	return true;
}

/* Gives the process, whose names object (table of event names) is in the directory of its former user, one in the
 * directory of its present user: that which a controller has put into its page (list of its streams) there, or a new
 * one. Returns false if the names that the controller has put there are others. */
static bool move_names(int dirfd, uint32_t uid, struct ptrc_page *made)
{
	struct ptrc_names names = {0};
	bool is_same;

	if (!ptrc_here.names.object || !ptrc_here.names.id)
		return true;
	if (made->names_id) {
		if (ptrc_names_open(dirfd, uid, made->names_id, NULL, &names))
			return false;
		is_same = begin_with_own(&names);
		ptrc_names_unmap(&names);
		if (!is_same || ptrc_names_open(dirfd, uid, made->names_id, ptrc_here.names.object,
						&ptrc_here.names))
			return false;
	} else {
		if (ptrc_names_create(dirfd, uid, ptrc_here.names.object, ptrc_self_names_count(),
				      ptrc_here.names.object, &names))
			return true;
		ptrc_here.names = names;
		ptrc_store_release(&made->names_id, names.id);
	}
	ptrc_here.is_borrowed = false;
	return true;
}

void ptrc_image_move_home(uint32_t uid)
{
	struct ptrc_page *old = ptrc_self_page();
	struct ptrc_page_place place;
	struct ptrc_page_file f;
	struct ptrc_page *made;
	void *map;
	PTRC_FD(dirfd);

	if (ptrc_page_has(old, 0) || ptrc_shmdir_open(uid, true, &dirfd))
		return;
	place = (struct ptrc_page_place){dirfd, uid, ptrc_here.pid, ptrc_here.ns, NULL};
	if (ptrc_page_open(&place, ptrc_here.start_ticks, true, NULL, &f))
		return;
	made = f.page;
	/* Events of other threads may read the page (list of streams) at any time, so the new page is mapped
	 * over the old one. */
	if (move_names(dirfd, uid, made) &&
	    ptrc_file_map(f.fd, PTRC_PAGE_SIZE, PROT_READ | PROT_WRITE, old, &map) == 0) {
		ptrc_store_release(&made->image, ptrc_here.image);
		ptrc_here.uid = uid;
		ptrc_self_set_home(dirfd);
		ptrc_here.inode = f.inode;
		ptrc_page_mark_alive(&f);
	}
	ptrc_page_unlock(&f);
	ptrc_page_unmap(made);
}

void ptrc_image_note_page(void)
{
	const struct ptrc_page *page = ptrc_self_page();
	struct ptrc_page_entry e;

	noted.names_id = ptrc_load_acquire(&page->names_id);
	noted.names_from = page->names_from;
	noted.names_from_count = page->names_from_count;
	noted_names_count = ptrc_self_names_count();
	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++) {
		ptrc_page_slot(page, i, &e);
		noted.slots[i].attach_ns = e.attach_ns;
		noted.slots[i].names_id = e.names_id;
		noted.slots[i].flags = e.flags;
		noted.slots[i].stream_id = e.stream_id;
	}
}

/* Gives the child the names of its parent. They are mapped already if the parent had opened a name. */
static void inherit_names(int dirfd, struct ptrc_page *page)
{
	uint64_t id = noted.names_id ? noted.names_id : noted.names_from;
	uint64_t old = ptrc_here.names.object ? ptrc_here.names.id : 0;
	uint64_t shared = ptrc_load_relaxed(&page->names_id);
	uint32_t count = noted_names_count;

	if (!id)
		return;
	if (old != id) {
		if (ptrc_names_open(dirfd, ptrc_here.uid, id, ptrc_here.names.object,
				    &ptrc_here.names))
			return;
		if (!old)
			count = ptrc_names_count(&ptrc_here.names);
	}
	if (shared == id) {
		ptrc_here.is_borrowed = false;
		return;
	}
	ptrc_here.is_borrowed = true;
	ptrc_here.borrowed_count = count;
	if (!shared) {
		ptrc_store_relaxed(&page->names_from_count, count);
		ptrc_store_release(&page->names_from, id);
	}
}

/* Whether a forked child that can make no page in the directory of its parent is traced nevertheless, by the streams
 * and names that it has inherited as mappings. Its parent must be in the same pid namespace, as streams know threads by
 * their numbers; otherwise the parent has no number here. (Without /proc, nothing else shows the namespace.) */
static bool inherits_mappings(void)
{
	return ptrc_page_has(&noted, PTRC_PAGE_SLOT_INHERITED) && ptrc_here.names.object &&
	       ptrc_sys(SYS_getppid, 0) != 0;
}

int ptrc_image_start_child(int32_t pid, bool is_noted)
{
	struct ptrc_page *page = ptrc_self_page();
	struct ptrc_self *me = ptrc_self_private();
	uint32_t uid = ptrc_here.uid;
	struct ptrc_page_file f;
	int error;
	PTRC_FD(dirfd);

	ptrc_here.has_ended = false;
	/* Kernels before 4.14 do not know MADV_WIPEONFORK, so *me is cleared here. */
	memset((void *)me, 0, sizeof(*me));
	error = open_page(pid, page, &dirfd, &f);
	if (error) {
		/* The child must not use its parent's page. But if a signal handler forked in the middle of an
		 * event call, this call goes on in the child and reads the page. So private memory is mapped over
		 * the page. */
		ptrc_sys(SYS_mmap, page, PTRC_PAGE_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		if (!inherits_mappings()) {
			ptrc_here.borrowed_count = ptrc_self_names_count();
			ptrc_here.is_borrowed = ptrc_here.names.object && ptrc_here.names.id;
			return error;
		}
		/* This memory becomes the page of the child, which no other process can find. */
		ptrc_here.uid = uid;
	}
	/* After an error the child may not know when it started. It has no mappings of younger streams. */
	ptrc_inherit_take(&noted, is_noted || error ? UINT64_MAX : ptrc_here.start_ticks, page);
	inherit_names(dirfd, page);
	ptrc_self_copy_mapped(me);
	ptrc_store_release(&page->image, ptrc_here.image);
	ptrc_self_publish(pid, page);
	if (error)
		return 0;
	ptrc_page_unlock(&f);
	/* Without fork handlers, the child is here because it records its first event, perhaps on a small
	 * stack. So it removes only the pages of dead processes, which needs little stack. */
	if (is_noted)
		ptrc_sweep_sometimes(dirfd, ptrc_here.uid, false);
	else
		ptrc_sweep_pages_sometimes(dirfd, ptrc_here.uid);
	return 0;
}
