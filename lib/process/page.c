/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process/page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/liveness.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/process/bell.h"

#define CHANGE_BYTE 0
#define ALIVE_BYTE 1

void ptrc_page_name(char name[PTRC_PAGE_NAME_BYTES], int pid, uint64_t ns)
{
	char digits[20];
	size_t count = 0, len;

	ptrc_shmdir_name(name, 'p', (uint64_t)(uint32_t)pid);
	if (ns == 0)
		return;
	len = strlen(name);
	name[len++] = '.';
	do
		digits[count++] = (char)('0' + ns % 10);
	while ((ns /= 10) != 0);
	while (count)
		name[len++] = digits[--count];
	name[len] = '\0';
}

bool ptrc_page_parse(const char *name, int *pid, uint64_t *ns)
{
	const char *at = name + 2;
	uint64_t n = 0;

	if (name[0] != 'p' || name[1] != '.')
		return false;
	for (; *at >= '0' && *at <= '9' && n <= INT32_MAX; at++)
		n = n * 10 + (uint64_t)(*at - '0');
	if (n == 0 || n > INT32_MAX)
		return false;
	*pid = (int)n;
	*ns = 0;
	if (*at == '.') {
		n = 0;
		for (at++; *at >= '0' && *at <= '9' && n < UINT32_MAX; at++)
			n = n * 10 + (uint64_t)(*at - '0');
		if (n == 0)
			return false;
		*ns = n;
	}
	return *at == '\0';
}

/* Empty a page that an earlier process with the same pid left. */
static void reset(struct ptrc_page *page)
{
	ptrc_store_relaxed(&page->active, 0);
	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++) {
		ptrc_store_relaxed(&page->slots[i].stream_id, 0);
		ptrc_store_relaxed(&page->slots[i].flags, 0);
		ptrc_store_relaxed(&page->slots[i].error, 0);
	}
	ptrc_store_relaxed(&page->image, 0);
	ptrc_store_relaxed(&page->names_id, 0);
	ptrc_store_relaxed(&page->names_from, 0);
	ptrc_store_relaxed(&page->names_from_count, 0);
}

static int open_bells(const struct ptrc_page_place *place, struct ptrc_bells **bells)
{
	int error;

	*bells = place->bells;
	if (*bells)
		return 0;
	error = ptrc_bells_open(place->dirfd, place->uid, bells);
	return error == ENOENT ? EPERM : error;
}

static void close_bells(const struct ptrc_page_place *place, struct ptrc_bells *bells)
{
	if (bells != place->bells)
		ptrc_bells_unmap(bells);
}

/* Tell the process that a page for it may be there now. */
static int ring(const struct ptrc_page_place *place)
{
	struct ptrc_bells *bells;
	int error = open_bells(place, &bells);

	if (error)
		return error;
	ptrc_bell_ring(bells, place->pid);
	close_bells(place, bells);
	return 0;
}

/* If it cannot be taken back, the process looks in vain, which does no harm. */
static void unring(const struct ptrc_page_place *place)
{
	struct ptrc_bells *bells;

	if (open_bells(place, &bells))
		return;
	ptrc_bell_unring(bells, place->pid);
	close_bells(place, bells);
}

static void remove_file(const struct ptrc_page_place *place, const char *name)
{
	if (ptrc_sys(SYS_unlinkat, place->dirfd, name, 0) == 0)
		unring(place);
}

/* Make and open the file. The process must not find its bell silent when the file is there, so that
 * rings first. ESTALE: another process made it. */
static int make_file(const struct ptrc_page_place *place, const char *name, int *fd, uint64_t *size)
{
	bool is_foreign = place->uid != (uint32_t)ptrc_sys(SYS_geteuid, 0);
	int error = ring(place);

	if (error)
		return error;
	/* Root makes the page of another user complete; a user grows it later. */
	*size = is_foreign ? PTRC_PAGE_SIZE : 0;
	error = ptrc_shmdir_create_object(place->dirfd, name, place->uid, *size, *size, fd);
	if (error)
		unring(place);
	return error == EEXIST || error == ENOENT ? ESTALE : error;
}

/* Open and lock the file. ESTALE: another process removed or made it meanwhile. */
static int open_locked(const struct ptrc_page_place *place, bool is_create,
		       struct ptrc_page_file *f)
{
	char name[PTRC_PAGE_NAME_BYTES];
	struct stat st;
	uint64_t size = 0;
	int fd, error;

	ptrc_page_name(name, place->pid, place->ns);
	error = ptrc_shmdir_open_object(place->dirfd, name, place->uid, &fd, &size);
	if (error == ENOENT && is_create)
		error = make_file(place, name, &fd, &size);
	if (error)
		return error;
	error = ptrc_file_lock_wait(fd, CHANGE_BYTE);
	if (!error && ptrc_file_stat(fd, &st))
		error = EPERM;
	/* A page is removed under its lock: this one may have been removed before we had the
	 * lock. */
	if (!error && st.st_nlink == 0)
		error = ESTALE;
	/* The page was made just now, perhaps by a process that died before it gave the file its
	 * size. */
	if (!error && size < PTRC_PAGE_SIZE) {
		error = ptrc_shmdir_reserve(fd, PTRC_PAGE_SIZE, 0, PTRC_PAGE_SIZE);
		if (error)
			remove_file(place, name);
	}
	if (error) {
		ptrc_file_lock(fd, F_UNLCK, CHANGE_BYTE, 1);
		ptrc_file_close(fd);
		return error;
	}
	f->fd = fd;
	f->inode = st.st_ino;
	return 0;
}

int ptrc_page_open(const struct ptrc_page_place *place, uint64_t start_ticks, bool is_create,
		   void *at, struct ptrc_page_file *f)
{
	uint64_t ticks;
	void *map;
	int error = ESTALE;

	f->place = *place;
	ptrc_sys_block_signals(&f->signal_mask);
	for (int tries = 0; tries < 100 && error == ESTALE; tries++)
		error = open_locked(place, is_create, f);
	if (error) {
		ptrc_sys_restore_signals(&f->signal_mask);
		return error == ESTALE ? EAGAIN : error;
	}
	error = ptrc_file_map(f->fd, PTRC_PAGE_SIZE, PROT_READ | PROT_WRITE, at, &map);
	if (error) {
		ptrc_page_unlock(f);
		return error;
	}
	f->page = map;
	ticks = ptrc_load_relaxed(&f->page->start_ticks);
	f->is_new = ticks != start_ticks;
	if (f->is_new) {
		/* The page belongs to another process with the same pid. Only a caller that knows
		 * that its own process lives knows that the other one is dead. */
		if (!is_create) {
			ptrc_page_unmap(f->page);
			ptrc_page_unlock(f);
			return ENOENT;
		}
		if (ticks)
			reset(f->page);
		ptrc_store_release(&f->page->start_ticks, start_ticks);
	}
	return 0;
}

void ptrc_page_mark_alive(const struct ptrc_page_file *f)
{
	ptrc_file_lock(f->fd, F_RDLCK, ALIVE_BYTE, 1);
}

bool ptrc_page_is_alive(int fd)
{
	return ptrc_liveness_is_held(fd, ALIVE_BYTE, 1);
}

bool ptrc_page_try_lock(int fd)
{
	return ptrc_file_lock(fd, F_WRLCK, CHANGE_BYTE, 1) == 0;
}

void ptrc_page_release(int fd)
{
	ptrc_file_lock(fd, F_UNLCK, CHANGE_BYTE, 1);
}

void ptrc_page_unlock(struct ptrc_page_file *f)
{
	/* Closing the descriptor does not release the lock: the mapping keeps the file open, and
	 * a child that was forked meanwhile may have the descriptor, too. */
	ptrc_page_release(f->fd);
	ptrc_file_close(f->fd);
	f->fd = -1;
	ptrc_sys_restore_signals(&f->signal_mask);
}

void ptrc_page_unmap(struct ptrc_page *page)
{
	ptrc_sys(SYS_munmap, page, PTRC_PAGE_SIZE);
}

void ptrc_page_unlink(const struct ptrc_page_place *place, uint64_t inode)
{
	char name[PTRC_PAGE_NAME_BYTES];
	struct stat st;

	ptrc_page_name(name, place->pid, place->ns);
	if (ptrc_file_stat_at(place->dirfd, name, &st) == 0 && st.st_ino == inode)
		remove_file(place, name);
}

int ptrc_page_copy(const struct ptrc_page_place *place, struct ptrc_page *copy)
{
	char name[PTRC_PAGE_NAME_BYTES];
	uint64_t size;
	size_t got = 0;
	int fd, error;

	ptrc_page_name(name, place->pid, place->ns);
	error = ptrc_shmdir_open_object(place->dirfd, name, place->uid, &fd, &size);
	if (error)
		return error;
	error = ptrc_file_read(fd, copy, sizeof(*copy), 0, &got);
	ptrc_file_close(fd);
	if (error || got != sizeof(*copy))
		return EPERM;
	return 0;
}

bool ptrc_page_slot(const struct ptrc_page *page, uint32_t i, struct ptrc_page_entry *e)
{
	const struct ptrc_page_slot *slot = &page->slots[i];

	e->stream_id = ptrc_load_acquire(&slot->stream_id);
	e->attach_ns = ptrc_load_relaxed(&slot->attach_ns);
	e->names_id = ptrc_load_relaxed(&slot->names_id);
	e->flags = ptrc_load_relaxed(&slot->flags);
	return e->stream_id != 0;
}

int ptrc_page_add(struct ptrc_page *page, uint32_t preferred, const struct ptrc_page_entry *e)
{
	struct ptrc_page_slot *slot;
	uint32_t free_slot = PTRC_PAGE_SLOT_COUNT;

	for (uint32_t n = 0; n < PTRC_PAGE_SLOT_COUNT; n++) {
		uint32_t i = (preferred + n) % PTRC_PAGE_SLOT_COUNT;
		uint64_t id = ptrc_load_relaxed(&page->slots[i].stream_id);

		if (id == e->stream_id)
			return (int)i;
		if (id == 0 && free_slot == PTRC_PAGE_SLOT_COUNT)
			free_slot = i;
	}
	if (free_slot == PTRC_PAGE_SLOT_COUNT)
		return -1;
	slot = &page->slots[free_slot];
	ptrc_store_relaxed(&slot->attach_ns, e->attach_ns);
	ptrc_store_relaxed(&slot->flags, e->flags);
	ptrc_store_relaxed(&slot->error, 0);
	ptrc_store_relaxed(&slot->names_id, e->names_id);
	ptrc_store_seq_cst(&slot->stream_id, e->stream_id);
	atomic_fetch_or_explicit(&page->active, UINT64_C(1) << free_slot, memory_order_seq_cst);
	return (int)free_slot;
}

void ptrc_page_remove(struct ptrc_page *page, uint64_t stream_id)
{
	for (uint32_t i = 0; stream_id && i < PTRC_PAGE_SLOT_COUNT; i++) {
		struct ptrc_page_slot *slot = &page->slots[i];
		uint64_t id = stream_id;

		/* The id is cleared before the bit. A process that fills the slot anew stores the
		 * id before it sets the bit. So either it sets the bit after we have cleared it,
		 * or we see its id and set the bit again. */
		if (!atomic_compare_exchange_strong_explicit(
			    &slot->stream_id, &id, 0, memory_order_seq_cst, memory_order_relaxed))
			continue;
		atomic_fetch_and_explicit(&page->active, ~(UINT64_C(1) << i), memory_order_seq_cst);
		if (ptrc_load_seq_cst(&slot->stream_id) != 0)
			atomic_fetch_or_explicit(&page->active, UINT64_C(1) << i,
						 memory_order_seq_cst);
	}
}

bool ptrc_page_has(const struct ptrc_page *page, uint32_t flags)
{
	struct ptrc_page_entry e;

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		if (ptrc_page_slot(page, i, &e) && (!flags || (e.flags & flags)))
			return true;
	return false;
}

int ptrc_page_names(int dirfd, uint32_t uid, struct ptrc_page *page,
		    const struct ptrc_names_object *own, uint32_t own_count, void *at,
		    struct ptrc_names *n)
{
	uint64_t id = ptrc_load_relaxed(&page->names_id);
	uint64_t from = ptrc_load_relaxed(&page->names_from);
	struct ptrc_names parent = {0};
	int error;

	if (id) {
		error = ptrc_names_open(dirfd, uid, id, at, n);
		if (error != ENOENT)
			return error;
		/* The object is removed when its last user ends; this process was not a user. */
		from = 0;
	}
	if (!own && from && ptrc_names_open(dirfd, uid, from, NULL, &parent) == 0) {
		own = parent.object;
		own_count = ptrc_load_relaxed(&page->names_from_count);
		if (own_count > ptrc_names_count(&parent))
			own_count = ptrc_names_count(&parent);
	}
	if (!own)
		own_count = 0;
	error = ptrc_names_create(dirfd, uid, own, own_count, at, n);
	if (!error) {
		ptrc_store_relaxed(&page->names_from, 0);
		ptrc_store_relaxed(&page->names_from_count, own_count);
		ptrc_store_release(&page->names_id, n->id);
	}
	if (parent.object) {
		ptrc_names_unmap(&parent);
		ptrc_names_release(dirfd, uid, from);
	}
	return error;
}
