/* SPDX-License-Identifier: MIT */
/* Begin and end of a process with the library, and of its program images. */
#include "config.h"

#include "lib/process/process_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/file.h"
#include "lib/process/inherit.h"
#include "lib/base/liveness.h"
#include "lib/process/page.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"

/* First and last of all that runs: what the application does in constructors and
 * destructors is traced (EXIT-06). */
#define PRIORITY 101

/* What the kernel counts as the size of a directory entry of tmpfs. */
#define ENTRY_BYTES 20
/* Program starts and forks sweep when the directory has a multiple of so many entries, so that what
 * killed processes leave is bounded, at no cost while there is little. */
#define SWEEP_ENTRIES 256

static struct ptrc_page early_page = {.active = 1};
static struct ptrc_page no_page;
static struct ptrc_self early_self;

struct ptrc_page *ptrc_page_self = &early_page;
struct ptrc_self *ptrc_self = &early_self;

struct ptrc_process_state ptrc_here;

void ptrc_process_lock(uint64_t *mask)
{
	int32_t self = ptrc_sys_getpid(), seen = 0;

	ptrc_sys_block_signals(mask);
	while (!atomic_compare_exchange_strong_explicit(&ptrc_here.lock, &seen, self,
							memory_order_acquire,
							memory_order_relaxed)) {
		if (seen == self) {
			ptrc_file_sleep_ns(20000);
			seen = 0;
		}
	}
}

void ptrc_process_unlock(const uint64_t *mask)
{
	atomic_store_explicit(&ptrc_here.lock, 0, memory_order_release);
	ptrc_sys_restore_signals(mask);
}

bool ptrc_process_is_own(void)
{
	return atomic_load_explicit(&ptrc_process_private()->pid, memory_order_acquire) ==
	       ptrc_sys_getpid();
}

static uint64_t mix(uint64_t n)
{
	n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
	return n ^ n >> 31;
}

/* The kernel gives each image 16 random bytes. They become the secret of the stack
 * protector, so what is published must not lead back to them: 128 bits go into 64. All
 * copies of the library in one image agree on it. */
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

static int make_self(void)
{
	long ret;

	if (ptrc_process_private() != &early_self)
		return 0;
	ret = ptrc_sys(SYS_mmap, 0, sizeof(struct ptrc_self), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ptrc_sys_is_error(ret))
		return ENOMEM;
	ptrc_sys(SYS_madvise, ret, sizeof(struct ptrc_self), MADV_WIPEONFORK);
	/* Bits that were set before. */
	for (size_t i = 0; i < PTRC_ARRAY_COUNT(ptrc_here.mapped); i++)
		atomic_store_explicit(&((struct ptrc_self *)ret)->mapped[i],
				      ptrc_here.mapped[i], memory_order_relaxed);
	__atomic_store_n(&ptrc_self, (struct ptrc_self *)ret, __ATOMIC_RELEASE);
	return 0;
}

int ptrc_process_open_page(int32_t pid, void *at, int *dirfd, struct ptrc_page_file *f)
{
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_procfs_stat st;
	int err;

	ptrc_here.pid = pid;
	ptrc_here.has_page = false;
	ptrc_here.uid = (uint32_t)ptrc_sys(SYS_geteuid, 0);
	if (ptrc_procfs_stat(0, &st) || ptrc_procfs_pid_namespace(0, &ptrc_here.ns))
		return EPERM;
	ptrc_here.time_ns = ptrc_procfs_time_namespace();
	ptrc_here.start_ticks = st.start_ticks;
	ptrc_here.has_own_proc = st.pid == pid;
	err = ptrc_shmdir_open(ptrc_here.uid, true, dirfd);
	if (err)
		return err;
	ptrc_page_name(name, pid, ptrc_here.ns);
	err = ptrc_page_open(*dirfd, ptrc_here.uid, name, st.start_ticks, true, at, f);
	if (err) {
		ptrc_file_close(*dirfd);
		return err;
	}
	ptrc_here.inode = f->inode;
	ptrc_page_mark_alive(f);
	return 0;
}

void ptrc_process_publish(int32_t pid, struct ptrc_page *page)
{
	struct ptrc_self *me = ptrc_process_private();

	ptrc_here.has_page = true;
	ptrc_process_set_mapped(PTRC_ID_UNNAMED);
	me->image = ptrc_here.image;
	__atomic_store_n(&ptrc_page_self, page, __ATOMIC_RELEASE);
	atomic_store_explicit(&me->pid, pid, memory_order_release);
}

/* The streams remain and with them the names, none of which this image has opened. */
static void keep_names(int dirfd, struct ptrc_page *page)
{
	uint64_t id = atomic_load_explicit(&page->names_id, memory_order_relaxed);

	if (id && ptrc_names_open(dirfd, ptrc_here.uid, id, ptrc_here.names.object,
				  &ptrc_here.names) == 0)
		ptrc_here.base = ptrc_names_count(&ptrc_here.names);
}

/* The first image with the library in this process; its page is new or was made ahead. */
static void begin_page(int dirfd, struct ptrc_page *page)
{
	struct ptrc_page_entry e;
	bool has_joined = false;

	if (ptrc_here.has_own_proc && ptrc_inherit_is_announced(dirfd))
		ptrc_inherit_join(dirfd, ptrc_here.uid, ptrc_here.pid, ptrc_here.ns,
				  page);
	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		has_joined |=
			ptrc_page_slot(page, i, &e) && (e.flags & PTRC_PAGE_SLOT_JOINED);
	if (has_joined)
		keep_names(dirfd, page);
	else if (page->names_id)
		ptrc_here.base = page->names_from_count;
	/* Names are not inherited by images. */
	atomic_store_explicit(&page->names_from, 0, memory_order_relaxed);
	atomic_store_explicit(&page->names_from_count, 0, memory_order_relaxed);
}

/* Another image with the library was here before: an exec. *unused is a names object that
 * this process no longer needs, or 0. */
static void take_over_page(int dirfd, struct ptrc_page *page, uint64_t *unused)
{
	struct ptrc_page_entry e;

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		if (ptrc_page_slot(page, i, &e) && (e.flags & PTRC_PAGE_SLOT_SELF))
			ptrc_page_remove(page, i, e.stream_id);
	atomic_store_explicit(&page->names_from, 0, memory_order_relaxed);
	atomic_store_explicit(&page->names_from_count, 0, memory_order_relaxed);
	if (ptrc_page_has_slots(page)) {
		keep_names(dirfd, page);
	} else {
		*unused = page->names_id;
		atomic_store_explicit(&page->names_id, 0, memory_order_relaxed);
	}
}

void ptrc_process_sweep_sometimes(int dirfd, bool is_due)
{
	struct stat st;

	if (!is_due && ptrc_file_stat(dirfd, &st) == 0) {
		uint64_t entries = (uint64_t)st.st_size / ENTRY_BYTES;

		is_due = entries >= SWEEP_ENTRIES && entries % SWEEP_ENTRIES == 0;
	}
	if (is_due)
		ptrc_shmdir_sweep_processes(dirfd, ptrc_here.uid);
}

static int start_image(int32_t pid)
{
	struct ptrc_page_file f;
	uint64_t image, unused = 0;
	int dirfd = -1, err;

	/* A privileged image neither believes nor publishes anything (EXEC-13). */
	if (!ptrc_here.is_excluded && getauxval(AT_SECURE))
		ptrc_here.is_excluded = true;
	err = ptrc_here.is_excluded ? EPERM : make_self();
	if (!err)
		err = ptrc_process_open_page(pid, NULL, &dirfd, &f);
	if (err) {
		ptrc_here.pid = pid;
		__atomic_store_n(&ptrc_page_self, &no_page, __ATOMIC_RELEASE);
		return err;
	}
	if (!ptrc_here.image)
		ptrc_here.image = image_identity();
	image = atomic_load_explicit(&f.page->image, memory_order_relaxed);
	if (image == 0)
		begin_page(dirfd, f.page);
	else if (image != ptrc_here.image)
		take_over_page(dirfd, f.page, &unused);
	atomic_store_explicit(&f.page->image, ptrc_here.image, memory_order_release);
	ptrc_process_publish(pid, f.page);
	ptrc_page_unlock(&f);
	if (unused)
		ptrc_names_release(dirfd, ptrc_here.uid, unused);
	/* The image before may have been a controller. */
	ptrc_process_sweep_sometimes(dirfd, image != 0);
	ptrc_file_close(dirfd);
	return 0;
}

/* The process goes by another effective user now: while nobody traces it, its page moves
 * to that user's directory, where it will be looked for. */
static void move_home(uint32_t uid)
{
	struct ptrc_page *old = ptrc_process_page();
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_page_file f;
	struct ptrc_names names = {0};
	struct ptrc_page *made;
	void *map;
	int dirfd;

	if (ptrc_page_has_slots(old) || ptrc_shmdir_open(uid, true, &dirfd))
		return;
	ptrc_page_name(name, ptrc_here.pid, ptrc_here.ns);
	if (ptrc_page_open(dirfd, uid, name, ptrc_here.start_ticks, true, NULL, &f)) {
		ptrc_file_close(dirfd);
		return;
	}
	made = f.page;
	if (ptrc_here.names.object && ptrc_here.names.id && !made->names_id) {
		uint32_t count = ptrc_here.is_borrowed
					 ? ptrc_here.borrowed_count
					 : ptrc_names_count(&ptrc_here.names);

		if (ptrc_names_create(dirfd, uid, ptrc_here.names.object, count,
				      ptrc_here.names.object, &names) == 0) {
			ptrc_here.names = names;
			ptrc_here.is_borrowed = false;
			atomic_store_explicit(&made->names_id, names.id,
					      memory_order_release);
		}
	}
	atomic_store_explicit(&made->image, ptrc_here.image, memory_order_release);
	if (ptrc_file_map(f.fd, PTRC_PAGE_SIZE, PROT_READ | PROT_WRITE, old, &map) == 0) {
		ptrc_here.uid = uid;
		ptrc_here.inode = f.inode;
		ptrc_page_mark_alive(&f);
	}
	ptrc_page_unlock(&f);
	ptrc_page_unmap(made);
	ptrc_file_close(dirfd);
}

int ptrc_process_init(void)
{
	int32_t pid = ptrc_sys_getpid();
	int32_t known =
		atomic_load_explicit(&ptrc_process_private()->pid, memory_order_acquire);
	uint32_t uid = (uint32_t)ptrc_sys(SYS_geteuid, 0);
	uint64_t mask;
	bool is_child;
	int err = 0;

	if (known == pid && ptrc_here.uid == uid)
		return 0;
	/* A child that shares our memory until it execs. */
	if (known != 0 && known != pid)
		return EPERM;
	ptrc_process_lock(&mask);
	known = atomic_load_explicit(&ptrc_process_private()->pid, memory_order_acquire);
	is_child = ptrc_here.has_page && ptrc_here.pid != pid;
	if (known == pid) {
		if (ptrc_here.uid != uid && !ptrc_here.has_ended)
			move_home(uid);
	} else if (is_child) {
		/* Forked past the handlers below. */
		ptrc_process_note_page();
		err = ptrc_process_start_child(pid, false);
		ptrc_liveness_fork_done();
		ptrc_handle_fork_child(false);
		ptrc_controller_fork_child(false);
		ptrc_event_fork_child();
	} else {
		err = start_image(pid);
	}
	ptrc_process_unlock(&mask);
	return err;
}

void ptrc_process_notice_fork(void)
{
	/* Wiped by the fork; what only shares our memory sees our pid there. */
	if (ptrc_here.has_page &&
	    atomic_load_explicit(&ptrc_process_private()->pid, memory_order_relaxed) == 0)
		ptrc_process_init();
}

void ptrc_process_identify(struct ptrc_process_identity *id)
{
	id->uid = ptrc_here.uid;
	id->start_ticks = ptrc_here.start_ticks;
	id->ns = ptrc_here.ns;
	id->time_ns = ptrc_here.time_ns;
	id->inode = ptrc_here.inode;
}

int ptrc_process_open_stream(uint64_t stream_id, int *fd)
{
	struct ptrc_page *page = ptrc_process_page();
	char name[PTRC_SHMDIR_NAME_BYTES];
	uint64_t size;
	int dirfd;
	int err = ptrc_shmdir_open(ptrc_here.uid, false, &dirfd);

	if (!err) {
		ptrc_shmdir_name(name, 's', stream_id);
		err = ptrc_shmdir_open_object(dirfd, name, ptrc_here.uid, fd, &size);
		ptrc_file_close(dirfd);
		if (err == ENOENT) {
			ptrc_process_leave(stream_id);
			return ENOENT;
		}
	} else if (err == ENOENT) {
		/* After a chroot, say: nothing tells that the stream is gone. */
		err = EPERM;
	}
	for (uint32_t i = 0; err && i < PTRC_PAGE_SLOT_COUNT; i++)
		if (atomic_load_explicit(&page->slots[i].stream_id,
					 memory_order_relaxed) == stream_id)
			atomic_store_explicit(&page->slots[i].error, (uint32_t)err,
					      memory_order_relaxed);
	return err;
}

void ptrc_process_leave(uint64_t stream_id)
{
	struct ptrc_page *page = ptrc_process_page();

	for (uint32_t i = 0; stream_id && i < PTRC_PAGE_SLOT_COUNT; i++)
		ptrc_page_remove(page, i, stream_id);
}

static void end_page(int dirfd)
{
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_page *page = ptrc_process_page();
	struct ptrc_page_entry e;
	struct ptrc_page_file f;
	bool is_inherited = false;

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		is_inherited |= ptrc_page_slot(page, i, &e) &&
				(e.flags & PTRC_PAGE_SLOT_INHERITED);
	if (is_inherited && ptrc_here.has_own_proc && ptrc_inherit_is_announced(dirfd))
		ptrc_inherit_prepare_children(dirfd, ptrc_here.uid, ptrc_here.ns);
	ptrc_page_name(name, ptrc_here.pid, ptrc_here.ns);
	if (ptrc_page_open(dirfd, ptrc_here.uid, name, ptrc_here.start_ticks, false, NULL,
			   &f))
		return;
	if (f.inode == ptrc_here.inode)
		ptrc_page_unlink(dirfd, name, &f);
	ptrc_page_unlock(&f);
	ptrc_page_unmap(f.page);
}

__attribute__((destructor(PRIORITY))) static void end_process(void)
{
	uint64_t mask;
	int dirfd;

	/* Not in a child that shares our memory, nor in one that has never noticed that it
	 * is another process. */
	if (ptrc_here.pid != ptrc_sys_getpid())
		return;
	ptrc_handle_shutdown_all();
	if (!ptrc_here.has_page || !ptrc_process_is_own())
		return;
	ptrc_process_lock(&mask);
	if (!ptrc_here.has_ended && ptrc_shmdir_open(ptrc_here.uid, false, &dirfd) == 0) {
		end_page(dirfd);
		ptrc_process_let_names_go(dirfd);
		ptrc_shmdir_sweep_processes(dirfd, ptrc_here.uid);
		ptrc_file_close(dirfd);
	}
	ptrc_here.has_ended = true;
	ptrc_process_unlock(&mask);
}

__attribute__((constructor(PRIORITY))) static void start_process(void)
{
	ptrc_process_init();
	ptrc_process_watch_forks();
	at_quick_exit(end_process);
	ptrc_event_init();
}
