/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process/page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/atomic.h"
#include "lib/base/digits.h"
#include "lib/base/file.h"
#include "lib/base/liveness.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/process/bell.h"
#include "lib/process/orphan.h"

#define CHANGE_BYTE 0
#define ALIVE_BYTE 1

void ptrc_page_name(char name[PTRC_PAGE_NAME_BYTES], int pid, uint64_t ns)
{
	char *at;

	ptrc_shmdir_name(name, 'p', (uint64_t)(uint32_t)pid);
	if (ns == 0)
		return;
	at = name + strlen(name);
	*at++ = '.';
	*ptrc_digits_put(at, ns) = '\0';
}

/* Reads the number after a full stop. Returns 0 if there is none. */
static uint64_t take_part(const char **at, uint64_t max)
{
	const char *s = *at;
	uint64_t n = 0;

	if (*s++ != '.')
		return 0;
	for (; *s >= '0' && *s <= '9' && n <= max; s++)
		n = n * 10 + (uint64_t)(*s - '0');
	*at = s;
	return n;
}

bool ptrc_page_parse(const char *name, int *pid, uint64_t *ns)
{
	const char *at = name + 1;
	uint64_t n;

	if (name[0] != 'p')
		return false;
	n = take_part(&at, INT32_MAX);
	if (n == 0 || n > INT32_MAX)
		return false;
	*pid = (int)n;
	*ns = 0;
	if (*at == '\0')
		return true;
	*ns = take_part(&at, UINT32_MAX);
	return *ns != 0 && *at == '\0';
}

/* Clears a page (list of streams) that belonged to an earlier process with the same pid. */
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

/* Calls act(), ptrc_bell_ring or ptrc_bell_unring, for the bell (counter of pages) of the process.
 * If unringing fails, the caller can ignore it: a bell that is too high does no harm. */
static int with_bell(const struct ptrc_page_place *place, void (*act)(struct ptrc_bells *, int))
{
	struct ptrc_bells *bells = place->bells;
	int error = bells ? 0 : ptrc_bells_open(place->dirfd, place->uid, &bells);

	if (error)
		return error == ENOENT ? EPERM : error;
	act(bells, place->pid);
	if (bells != place->bells)
		ptrc_bells_unmap(bells);
	return 0;
}

static void remove_file(const struct ptrc_page_place *place, const char *name)
{
	if (ptrc_sys(SYS_unlinkat, place->dirfd, name, 0) == 0)
		with_bell(place, ptrc_bell_unring);
}

/* Makes and opens the file of a page. First raises the process's bell (its counter of pages): while the bell
 * is 0, the process does not look for its page. ESTALE: another process has made the file. */
static int make_file(const struct ptrc_page_place *place, const char *name, int *fd, uint64_t *size)
{
	bool is_foreign = place->uid != ptrc_sys_geteuid();
	int error = with_bell(place, ptrc_bell_ring);

	if (error)
		return error;
	/* If root makes the page of another user, the file has its full size before it gets its name. A page of
	 * the own user gets its size in open_locked(), under the lock. */
	*size = is_foreign ? PTRC_PAGE_SIZE : 0;
	error = ptrc_shmdir_create_object(place->dirfd, name, place->uid, *size, *size, fd);
	if (error)
		with_bell(place, ptrc_bell_unring);
	return error == EEXIST || error == ENOENT ? ESTALE : error;
}

/* Opens and locks the file of a page (list of a process's streams). ESTALE: another process has removed or made
 * it meanwhile. */
static int open_locked(const struct ptrc_page_place *place, bool is_create,
		       struct ptrc_page_file *f)
{
	char name[PTRC_PAGE_NAME_BYTES];
	struct stat st;
	uint64_t size = 0;
	int error;
	PTRC_FD(fd);

	ptrc_page_name(name, place->pid, place->ns);
	error = ptrc_shmdir_open_object(place->dirfd, name, place->uid, &fd, &size);
	if (error == ENOENT && is_create)
		error = make_file(place, name, &fd, &size);
	if (error)
		return error;
	error = ptrc_file_lock_wait(fd, CHANGE_BYTE);
	/* A page is removed under its lock. So before this process got the lock, this page may have been
	 * removed. */
	if (!error && (ptrc_file_stat(fd, &st) || st.st_nlink == 0))
		error = ESTALE;
	/* The file had no size when it was opened: this process has just made it, or another
	 * process had made it and not set the size yet. The other process may be dead, so this
	 * process sets the size in both cases; to set it twice does no harm. */
	if (!error && size < PTRC_PAGE_SIZE) {
		error = ptrc_shmdir_reserve(fd, PTRC_PAGE_SIZE, 0, PTRC_PAGE_SIZE);
		if (error)
			remove_file(place, name);
	}
	if (error) {
		ptrc_file_lock(fd, F_UNLCK, CHANGE_BYTE, 1);
		return error;
	}
	f->fd = ptrc_file_keep(&fd);
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
		/* The page is new, or belongs to another process with the same pid. Only a caller that knows that
		 * the process in `place` lives can know that the other process is dead. */
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

bool ptrc_page_try_lock(int fd, uint64_t *mask)
{
	ptrc_sys_block_signals(mask);
	if (ptrc_file_lock(fd, F_WRLCK, CHANGE_BYTE, 1) == 0)
		return true;
	ptrc_sys_restore_signals(mask);
	return false;
}

void ptrc_page_release(int fd, const uint64_t *mask)
{
	ptrc_file_lock(fd, F_UNLCK, CHANGE_BYTE, 1);
	ptrc_sys_restore_signals(mask);
}

void ptrc_page_unlock(struct ptrc_page_file *f)
{
	/* Closing the descriptor would not release the lock: the mapping keeps the file open, and a child
	 * that was forked meanwhile may have the descriptor, too. */
	ptrc_page_release(f->fd, &f->signal_mask);
	ptrc_file_close(f->fd);
	f->fd = -1;
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
	int error;
	PTRC_FD(fd);

	ptrc_page_name(name, place->pid, place->ns);
	error = ptrc_shmdir_open_object(place->dirfd, name, place->uid, &fd, NULL);
	if (error)
		return error;
	return ptrc_file_read_whole(fd, copy, sizeof(*copy), 0) ? 0 : EPERM;
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

/* Clears the bit of slot i, which has no stream any more. Another process that uses the slot again stores its id
 * before it sets the bit. So its bit is set in the end: it sets the bit after this process has cleared it, or this
 * process sees the new id and sets the bit again. */
static void clear_bit(struct ptrc_page *page, uint32_t i)
{
	atomic_fetch_and_explicit(&page->active, ~(UINT64_C(1) << i), memory_order_seq_cst);
	if (ptrc_load_seq_cst(&page->slots[i].stream_id) != 0)
		atomic_fetch_or_explicit(&page->active, UINT64_C(1) << i, memory_order_seq_cst);
}

void ptrc_page_remove(struct ptrc_page *page, uint64_t stream_id)
{
	for (uint32_t i = 0; stream_id && i < PTRC_PAGE_SLOT_COUNT; i++) {
		struct ptrc_page_slot *slot = &page->slots[i];
		uint64_t id = stream_id;

		/* The id is cleared before the bit. */
		if (atomic_compare_exchange_strong_explicit(
			    &slot->stream_id, &id, 0, memory_order_seq_cst, memory_order_relaxed))
			clear_bit(page, i);
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

void ptrc_page_call(struct ptrc_page *page)
{
	atomic_fetch_or_explicit(&page->active, 1, memory_order_seq_cst);
}

bool ptrc_page_was_called(struct ptrc_page *page)
{
	uint64_t active = ptrc_load_acquire(&page->active);
	uint32_t i = active ? (uint32_t)__builtin_ctzll(active) : 0;

	if (!active || ptrc_load_acquire(&page->slots[i].stream_id) != 0)
		return false;
	clear_bit(page, i);
	return true;
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
		/* The object was removed when its last user ended, and this process was not one of its users. */
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
		ptrc_orphan_release_names(dirfd, uid, from);
	}
	return error;
}
