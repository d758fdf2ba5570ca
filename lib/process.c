/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/file.h"
#include "lib/inherit.h"
#include "lib/liveness.h"
#include "lib/page.h"
#include "lib/procfs.h"
#include "lib/shmdir.h"
#include "lib/sys.h"

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

/*
 * In ordinary memory, so that a forked child has its parent's and can tell: what it was,
 * what it could name. All under `lock` but for what is atomic.
 */
static struct {
	/* Pid of the process one thread of which has it, 0: free. Signals are blocked
	 * meanwhile. A forked child may find its parent's pid here: free. */
	_Atomic int32_t lock;
	int32_t pid; /* whom all this is about, 0 before the first attempt */
	bool has_page;
	bool is_excluded; /* not to be traced, for good */
	bool has_ended;
	bool has_own_proc; /* /proc numbers processes as this one does */
	uint32_t uid;
	uint64_t ns;
	uint64_t start_ticks;
	uint64_t inode;
	uint64_t image;
	_Atomic uint64_t mapped[17];
	/* Ids whose index is below were given to earlier images: mapped when opened only. */
	uint32_t base;
	/* Where it is mapped never changes, as lookups take no lock: another object is
	 * mapped over it, and that begins with the same names. */
	struct ptrc_names names;
	/* They are the parent's: only the first so many concern this process, and it must
	 * not add any. */
	bool is_borrowed;
	uint32_t borrowed_count;
} here;

/* The parent's page at the time of the fork. */
static struct {
	uint64_t names_id;
	uint64_t names_from;
	uint32_t names_from_count;
	uint32_t names_count; /* of those the parent has mapped */
	struct ptrc_page_entry slots[PTRC_PAGE_SLOT_COUNT];
} fork_note;
static uint64_t fork_mask;

static void lock(uint64_t *mask)
{
	int32_t self = ptrc_sys_getpid(), seen = 0;

	ptrc_sys_block_signals(mask);
	while (!atomic_compare_exchange_strong_explicit(&here.lock, &seen, self,
							memory_order_acquire,
							memory_order_relaxed)) {
		if (seen == self) {
			ptrc_file_sleep_ns(20000);
			seen = 0;
		}
	}
}

static void unlock(const uint64_t *mask)
{
	atomic_store_explicit(&here.lock, 0, memory_order_release);
	ptrc_sys_restore_signals(mask);
}

static struct ptrc_page *own_page(void)
{
	return __atomic_load_n(&ptrc_page_self, __ATOMIC_ACQUIRE);
}

static struct ptrc_self *self(void)
{
	return __atomic_load_n(&ptrc_self, __ATOMIC_ACQUIRE);
}

/* Neither a forked child that has not noticed yet nor one that shares our memory. */
static bool is_own(void)
{
	return atomic_load_explicit(&self()->pid, memory_order_acquire) == ptrc_sys_getpid();
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

	if (self() != &early_self)
		return 0;
	ret = ptrc_sys(SYS_mmap, 0, sizeof(struct ptrc_self), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ptrc_sys_is_error(ret))
		return ENOMEM;
	ptrc_sys(SYS_madvise, ret, sizeof(struct ptrc_self), MADV_WIPEONFORK);
	/* Bits that were set before. */
	for (size_t i = 0; i < PTRC_ARRAY_COUNT(here.mapped); i++)
		atomic_store_explicit(&((struct ptrc_self *)ret)->mapped[i], here.mapped[i],
				      memory_order_relaxed);
	__atomic_store_n(&ptrc_self, (struct ptrc_self *)ret, __ATOMIC_RELEASE);
	return 0;
}

static void set_mapped(uint32_t id)
{
	uint64_t bit = UINT64_C(1) << (id % 64);

	atomic_fetch_or_explicit(&here.mapped[id / 64], bit, memory_order_relaxed);
	atomic_fetch_or_explicit(&self()->mapped[id / 64], bit, memory_order_relaxed);
}

/* How many of the mapped names are this process' own. */
static uint32_t names_limit(void)
{
	uint32_t count;

	if (!here.names.object)
		return 0;
	count = ptrc_names_count(&here.names);
	return here.is_borrowed && here.borrowed_count < count ? here.borrowed_count : count;
}

/* This process in the table of processes, and its page there, locked. */
static int open_page(int32_t pid, void *at, int *dirfd, struct ptrc_page_file *f)
{
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_procfs_stat st;
	int err;

	here.pid = pid;
	here.has_page = false;
	here.uid = (uint32_t)ptrc_sys(SYS_geteuid, 0);
	if (ptrc_procfs_stat(0, &st) || ptrc_procfs_pid_namespace(0, &here.ns))
		return EPERM;
	here.start_ticks = st.start_ticks;
	here.has_own_proc = st.pid == pid;
	err = ptrc_shmdir_open(here.uid, true, dirfd);
	if (err)
		return err;
	ptrc_page_name(name, pid, here.ns);
	err = ptrc_page_open(*dirfd, here.uid, name, st.start_ticks, true, at, f);
	if (err) {
		ptrc_file_close(*dirfd);
		return err;
	}
	here.inode = f->inode;
	ptrc_page_mark_alive(f);
	return 0;
}

/* From here on the page is that of this image. */
static void publish(int32_t pid, struct ptrc_page *page)
{
	struct ptrc_self *me = self();

	here.has_page = true;
	set_mapped(PTRC_ID_UNNAMED);
	me->image = here.image;
	__atomic_store_n(&ptrc_page_self, page, __ATOMIC_RELEASE);
	atomic_store_explicit(&me->pid, pid, memory_order_release);
}

/* The streams remain and with them the names, none of which this image has opened. */
static void keep_names(int dirfd, struct ptrc_page *page)
{
	uint64_t id = atomic_load_explicit(&page->names_id, memory_order_relaxed);

	if (id && ptrc_names_open(dirfd, here.uid, id, here.names.object, &here.names) == 0)
		here.base = ptrc_names_count(&here.names);
}

/* The first image with the library in this process; its page is new or was made ahead. */
static void begin_page(int dirfd, struct ptrc_page *page)
{
	struct ptrc_page_entry e;
	bool has_joined = false;

	if (here.has_own_proc && ptrc_inherit_is_announced(dirfd))
		ptrc_inherit_join(dirfd, here.uid, here.pid, here.ns, page);
	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		has_joined |= ptrc_page_slot(page, i, &e) && (e.flags & PTRC_PAGE_SLOT_JOINED);
	if (has_joined)
		keep_names(dirfd, page);
	else if (page->names_id)
		here.base = page->names_from_count;
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

static void sweep_sometimes(int dirfd, bool is_due)
{
	struct stat st;

	if (!is_due && ptrc_file_stat(dirfd, &st) == 0) {
		uint64_t entries = (uint64_t)st.st_size / ENTRY_BYTES;

		is_due = entries >= SWEEP_ENTRIES && entries % SWEEP_ENTRIES == 0;
	}
	if (is_due)
		ptrc_shmdir_sweep_processes(dirfd, here.uid);
}

static int start_image(int32_t pid)
{
	struct ptrc_page_file f;
	uint64_t image, unused = 0;
	int dirfd = -1, err;

	/* A privileged image neither believes nor publishes anything (EXEC-13). */
	if (!here.is_excluded && getauxval(AT_SECURE))
		here.is_excluded = true;
	err = here.is_excluded ? EPERM : make_self();
	if (!err)
		err = open_page(pid, NULL, &dirfd, &f);
	if (err) {
		here.pid = pid;
		__atomic_store_n(&ptrc_page_self, &no_page, __ATOMIC_RELEASE);
		return err;
	}
	if (!here.image)
		here.image = image_identity();
	image = atomic_load_explicit(&f.page->image, memory_order_relaxed);
	if (image == 0)
		begin_page(dirfd, f.page);
	else if (image != here.image)
		take_over_page(dirfd, f.page, &unused);
	atomic_store_explicit(&f.page->image, here.image, memory_order_release);
	publish(pid, f.page);
	ptrc_page_unlock(&f);
	if (unused)
		ptrc_names_release(dirfd, here.uid, unused);
	/* The image before may have been a controller. */
	sweep_sometimes(dirfd, image != 0);
	ptrc_file_close(dirfd);
	return 0;
}

/* What a child made now takes with it. */
static void note_page(void)
{
	const struct ptrc_page *page = own_page();

	fork_note.names_id = atomic_load_explicit(&page->names_id, memory_order_acquire);
	fork_note.names_from = page->names_from;
	fork_note.names_from_count = page->names_from_count;
	fork_note.names_count = names_limit();
	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		ptrc_page_slot(page, i, &fork_note.slots[i]);
}

/* Slots of the parent that concern the child, entered into its page. */
static void inherit_slots(struct ptrc_page *page, bool is_noted)
{
	uint64_t names_id = atomic_load_explicit(&page->names_id, memory_order_relaxed);

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++) {
		struct ptrc_page_entry e = fork_note.slots[i];

		if (!e.stream_id || !(e.flags & PTRC_PAGE_SLOT_INHERITED))
			continue;
		/* The note is younger than the fork if no handler took it. */
		if (!is_noted && here.start_ticks * PTRC_PROCFS_TICK_NS < e.attach_ns)
			continue;
		if (names_id && names_id != e.names_id)
			continue;
		if (!names_id) {
			names_id = e.names_id;
			atomic_store_explicit(&page->names_id, names_id, memory_order_release);
		}
		e.flags = PTRC_PAGE_SLOT_INHERITED | PTRC_PAGE_SLOT_JOINED;
		ptrc_page_add(page, i, &e);
	}
}

/* The names of a child. Those of its parent are mapped if the parent had opened any. */
static void inherit_names(int dirfd, struct ptrc_page *page)
{
	uint64_t id = fork_note.names_id, old = here.names.object ? here.names.id : 0;
	uint64_t shared = atomic_load_explicit(&page->names_id, memory_order_relaxed);
	uint32_t count = fork_note.names_count;

	if (!id)
		id = fork_note.names_from;
	if (!id)
		return;
	if (old != id) {
		if (ptrc_names_open(dirfd, here.uid, id, here.names.object, &here.names))
			return;
		if (old)
			ptrc_names_release(dirfd, here.uid, old);
		else
			count = ptrc_names_count(&here.names);
	}
	if (shared == id) {
		here.is_borrowed = false;
		return;
	}
	here.is_borrowed = true;
	here.borrowed_count = count;
	if (!shared) {
		atomic_store_explicit(&page->names_from_count, count, memory_order_relaxed);
		atomic_store_explicit(&page->names_from, id, memory_order_release);
	}
}

/* A child has its parent's memory: its page in place of the parent's, what is inherited
 * entered there. */
static int start_child(int32_t pid, bool is_noted)
{
	struct ptrc_page *place = own_page();
	struct ptrc_self *me = self();
	struct ptrc_page_file f;
	int dirfd, err;

	here.has_ended = false;
	/* Where the kernel does not wipe it. */
	memset((void *)me, 0, sizeof(*me));
	err = open_page(pid, place, &dirfd, &f);
	if (err) {
		/* The parent's page is none of its business; that memory stays in use by
		 * an event that the fork may have interrupted. */
		ptrc_sys(SYS_mmap, place, PTRC_PAGE_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		here.borrowed_count = names_limit();
		here.is_borrowed = here.names.object && here.names.id;
		return err;
	}
	inherit_slots(f.page, is_noted);
	inherit_names(dirfd, f.page);
	for (size_t i = 0; i < PTRC_ARRAY_COUNT(here.mapped); i++)
		atomic_store_explicit(&me->mapped[i], here.mapped[i], memory_order_relaxed);
	atomic_store_explicit(&f.page->image, here.image, memory_order_release);
	publish(pid, f.page);
	ptrc_page_unlock(&f);
	sweep_sometimes(dirfd, false);
	ptrc_file_close(dirfd);
	return 0;
}

/* The process goes by another effective user now: while nobody traces it, its page moves
 * to that user's directory, where it will be looked for. */
static void move_home(uint32_t uid)
{
	struct ptrc_page *old = own_page();
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_page_file f;
	struct ptrc_names names = {0};
	struct ptrc_page *made;
	void *map;
	int dirfd;

	if (ptrc_page_has_slots(old) || ptrc_shmdir_open(uid, true, &dirfd))
		return;
	ptrc_page_name(name, here.pid, here.ns);
	if (ptrc_page_open(dirfd, uid, name, here.start_ticks, true, NULL, &f)) {
		ptrc_file_close(dirfd);
		return;
	}
	made = f.page;
	if (here.names.object && here.names.id && !made->names_id) {
		uint32_t count = here.is_borrowed ? here.borrowed_count :
						    ptrc_names_count(&here.names);

		if (ptrc_names_create(dirfd, uid, here.names.object, count, here.names.object,
				      &names) == 0) {
			here.names = names;
			here.is_borrowed = false;
			atomic_store_explicit(&made->names_id, names.id, memory_order_release);
		}
	}
	atomic_store_explicit(&made->image, here.image, memory_order_release);
	if (ptrc_file_map(f.fd, PTRC_PAGE_SIZE, PROT_READ | PROT_WRITE, old, &map) == 0) {
		here.uid = uid;
		here.inode = f.inode;
		ptrc_page_mark_alive(&f);
	}
	ptrc_page_unlock(&f);
	ptrc_page_unmap(made);
	ptrc_file_close(dirfd);
}

int ptrc_process_init(void)
{
	int32_t pid = ptrc_sys_getpid();
	int32_t known = atomic_load_explicit(&self()->pid, memory_order_acquire);
	uint32_t uid = (uint32_t)ptrc_sys(SYS_geteuid, 0);
	uint64_t mask;
	bool is_child;
	int err = 0;

	if (known == pid && here.uid == uid)
		return 0;
	/* A child that shares our memory until it execs. */
	if (known != 0 && known != pid)
		return EPERM;
	lock(&mask);
	known = atomic_load_explicit(&self()->pid, memory_order_acquire);
	is_child = here.has_page && here.pid != pid;
	if (known == pid) {
		if (here.uid != uid && !here.has_ended)
			move_home(uid);
	} else if (is_child) {
		/* Forked past the handlers below. */
		note_page();
		err = start_child(pid, false);
		ptrc_liveness_fork_done();
		ptrc_handle_fork_child();
		ptrc_event_fork_child();
	} else {
		err = start_image(pid);
	}
	unlock(&mask);
	return err;
}

void ptrc_process_identify(struct ptrc_process_identity *id)
{
	id->uid = here.uid;
	id->start_ticks = here.start_ticks;
	id->ns = here.ns;
	id->inode = here.inode;
}

/* ---- names ---- */

/* Under the lock: have mapped what the page says. */
static void follow_names(void)
{
	const struct ptrc_page *page = own_page();
	uint64_t id = atomic_load_explicit(&page->names_id, memory_order_acquire);
	uint64_t old = here.names.object ? here.names.id : 0;
	int dirfd;

	if (!here.has_page || id == 0)
		return;
	if (old == id) {
		here.is_borrowed = false;
		return;
	}
	/* One's own names are not given up for others. */
	if (here.names.object && !here.is_borrowed)
		return;
	if (ptrc_shmdir_open(here.uid, false, &dirfd))
		return;
	if (ptrc_names_open(dirfd, here.uid, id, here.names.object, &here.names) == 0) {
		here.is_borrowed = false;
		if (old)
			ptrc_names_release(dirfd, here.uid, old);
	}
	ptrc_file_close(dirfd);
}

bool ptrc_process_maps_id(uint32_t id)
{
	uint64_t mask;
	bool is_mapped;

	if (id < PTRC_ID_UNNAMED || id >= PTRC_ID_FIRST + PTRC_NAMES_MAX)
		return false;
	if (id == PTRC_ID_UNNAMED ||
	    (atomic_load_explicit(&self()->mapped[id / 64], memory_order_relaxed) >> (id % 64) & 1))
		return true;
	if (ptrc_process_init() || !is_own())
		return false;
	lock(&mask);
	follow_names();
	is_mapped = id - PTRC_ID_FIRST < names_limit() && id - PTRC_ID_FIRST >= here.base;
	if (is_mapped)
		set_mapped(id);
	unlock(&mask);
	return is_mapped ||
	       (atomic_load_explicit(&self()->mapped[id / 64], memory_order_relaxed) >>
			(id % 64) &
		1);
}

/* Under the lock: names that may be added to. */
static int make_names(void)
{
	struct ptrc_page *page = own_page();
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_page_file f = {.fd = -1};
	uint64_t old;
	bool is_locked;
	int dirfd, err;

	follow_names();
	if (here.names.object && !here.is_borrowed)
		return 0;
	if (here.is_excluded || here.has_ended)
		return ptrc_names_create_private(&here.names);
	err = ptrc_shmdir_open(here.uid, true, &dirfd);
	if (err)
		return err;
	old = here.names.object ? here.names.id : 0;
	ptrc_page_name(name, here.pid, here.ns);
	/* A page without its name is still ours, and then no controller can find it. */
	is_locked = ptrc_page_open(dirfd, here.uid, name, here.start_ticks, false, NULL, &f) == 0;
	err = ptrc_page_names(dirfd, here.uid, page, here.is_borrowed ? here.names.object : NULL,
			      here.borrowed_count, here.names.object, &here.names);
	if (is_locked) {
		ptrc_page_unlock(&f);
		ptrc_page_unmap(f.page);
	}
	if (!err) {
		here.is_borrowed = false;
		if (old)
			ptrc_names_release(dirfd, here.uid, old);
	}
	ptrc_file_close(dirfd);
	return err;
}

int ptrc_process_names(struct ptrc_names **names)
{
	uint64_t mask;
	int err = ptrc_process_init();

	/* A process that cannot be traced has names all the same, for itself; but not a
	 * child that shares our memory until it execs. */
	if (err && (err != EPERM || atomic_load_explicit(&self()->pid, memory_order_relaxed)))
		return ENOMEM;
	lock(&mask);
	if (err)
		here.is_excluded = true;
	err = make_names();
	unlock(&mask);
	if (err)
		return ENOMEM;
	*names = &here.names;
	return 0;
}

int ptrc_process_open_name(const char *name, uint32_t *id)
{
	struct ptrc_names *names;
	uint64_t mask;
	uint32_t found = 0;
	int err;

	if (strnlen(name, PTRC_NAME_BYTES) == PTRC_NAME_BYTES)
		return ENAMETOOLONG;
	if (ptrc_process_init() == 0) {
		lock(&mask);
		follow_names();
		/* A name the parent had needs no names of one's own. */
		found = ptrc_names_find(here.names.object, names_limit(), name);
		unlock(&mask);
	}
	if (!found) {
		err = ptrc_process_names(&names);
		if (!err)
			err = ptrc_names_register(names, name, &found);
		if (err)
			return err;
	}
	if (found >= PTRC_ID_UNNAMED)
		set_mapped(found);
	*id = found;
	return 0;
}

/* ---- streams ---- */

int ptrc_process_open_stream(uint64_t stream_id, int *fd)
{
	struct ptrc_page *page = own_page();
	char name[PTRC_SHMDIR_NAME_BYTES];
	uint64_t size;
	int dirfd;
	int err = ptrc_shmdir_open(here.uid, false, &dirfd);

	if (!err) {
		ptrc_shmdir_name(name, 's', stream_id);
		err = ptrc_shmdir_open_object(dirfd, name, here.uid, fd, &size);
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
		if (atomic_load_explicit(&page->slots[i].stream_id, memory_order_relaxed) == stream_id)
			atomic_store_explicit(&page->slots[i].error, (uint32_t)err,
					      memory_order_relaxed);
	return err;
}

void ptrc_process_leave(uint64_t stream_id)
{
	struct ptrc_page *page = own_page();

	for (uint32_t i = 0; stream_id && i < PTRC_PAGE_SLOT_COUNT; i++)
		ptrc_page_remove(page, i, stream_id);
}

/* ---- begin, fork, end ---- */

static void before_fork(void)
{
	uint64_t mask, blocked;

	/* Signals stay blocked over the fork, as a handler's event might need the lock. These
	 * handlers are the first registered: no other one runs between them and the fork. */
	ptrc_sys_block_signals(&mask);
	ptrc_handle_fork_prepare();
	lock(&blocked);
	fork_mask = mask;
	ptrc_liveness_fork_prepare();
	if (here.has_page)
		note_page();
}

static void after_fork_in_parent(void)
{
	uint64_t mask = fork_mask;

	ptrc_liveness_fork_done();
	atomic_store_explicit(&here.lock, 0, memory_order_release);
	ptrc_handle_fork_parent();
	ptrc_sys_restore_signals(&mask);
}

static void after_fork_in_child(void)
{
	uint64_t mask = fork_mask;
	int32_t pid = ptrc_sys_getpid();

	ptrc_liveness_fork_done();
	if (here.has_page)
		start_child(pid, true);
	here.pid = pid;
	atomic_store_explicit(&here.lock, 0, memory_order_release);
	ptrc_handle_fork_child();
	ptrc_event_fork_child();
	ptrc_sys_restore_signals(&mask);
}

/* Give up the names: other threads may still read them, so a private view, which holds no
 * lock, takes their place. The sweep that follows removes them if nobody needs them. */
static void let_names_go(int dirfd)
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	uint64_t size;
	int fd;

	if (!here.names.object || !here.names.id)
		return;
	ptrc_shmdir_name(name, 'n', here.names.id);
	if (ptrc_shmdir_open_object(dirfd, name, here.uid, &fd, &size))
		return;
	ptrc_sys(SYS_mmap, here.names.object, sizeof(*here.names.object), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_FIXED, fd, 0);
	ptrc_file_close(fd);
	here.names.id = 0;
}

static void end_page(int dirfd)
{
	char name[PTRC_PAGE_NAME_BYTES];
	struct ptrc_page *page = own_page();
	struct ptrc_page_entry e;
	struct ptrc_page_file f;
	bool is_inherited = false;

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		is_inherited |= ptrc_page_slot(page, i, &e) &&
				(e.flags & PTRC_PAGE_SLOT_INHERITED);
	if (is_inherited && here.has_own_proc && ptrc_inherit_is_announced(dirfd))
		ptrc_inherit_prepare_children(dirfd, here.uid, here.ns);
	ptrc_page_name(name, here.pid, here.ns);
	if (ptrc_page_open(dirfd, here.uid, name, here.start_ticks, false, NULL, &f))
		return;
	if (f.inode == here.inode)
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
	if (here.pid != ptrc_sys_getpid())
		return;
	ptrc_handle_shutdown_all();
	if (!here.has_page || !is_own())
		return;
	lock(&mask);
	if (!here.has_ended && ptrc_shmdir_open(here.uid, false, &dirfd) == 0) {
		end_page(dirfd);
		let_names_go(dirfd);
		ptrc_shmdir_sweep_processes(dirfd, here.uid);
		ptrc_file_close(dirfd);
	}
	here.has_ended = true;
	unlock(&mask);
}

__attribute__((constructor(PRIORITY))) static void start_process(void)
{
	ptrc_process_init();
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
	at_quick_exit(end_process);
	ptrc_event_init();
}
