/* SPDX-License-Identifier: MIT */
/* What a forked child takes over from its parent. */
#include "config.h"

#include "lib/process/process_state.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/file.h"
#include "lib/base/liveness.h"
#include "lib/process/page.h"
#include "lib/base/procfs.h"
#include "lib/base/sys.h"

/* The parent's page at the time of the fork. */
static struct {
	uint64_t names_id;
	uint64_t names_from;
	uint32_t names_from_count;
	uint32_t names_count; /* of those the parent has mapped */
	struct ptrc_page_entry slots[PTRC_PAGE_SLOT_COUNT];
} fork_note;
static uint64_t fork_mask;

void ptrc_process_note_page(void)
{
	const struct ptrc_page *page = ptrc_process_page();

	fork_note.names_id = atomic_load_explicit(&page->names_id, memory_order_acquire);
	fork_note.names_from = page->names_from;
	fork_note.names_from_count = page->names_from_count;
	fork_note.names_count = ptrc_process_names_limit();
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
		if (!is_noted &&
		    ptrc_here.start_ticks * PTRC_PROCFS_TICK_NS < e.attach_ns)
			continue;
		if (names_id && names_id != e.names_id)
			continue;
		if (!names_id) {
			names_id = e.names_id;
			atomic_store_explicit(&page->names_id, names_id,
					      memory_order_release);
		}
		e.flags = PTRC_PAGE_SLOT_INHERITED | PTRC_PAGE_SLOT_JOINED;
		ptrc_page_add(page, i, &e);
	}
}

/* The names of a child. Those of its parent are mapped if the parent had opened any. */
static void inherit_names(int dirfd, struct ptrc_page *page)
{
	uint64_t id = fork_note.names_id,
		 old = ptrc_here.names.object ? ptrc_here.names.id : 0;
	uint64_t shared = atomic_load_explicit(&page->names_id, memory_order_relaxed);
	uint32_t count = fork_note.names_count;

	if (!id)
		id = fork_note.names_from;
	if (!id)
		return;
	if (old != id) {
		if (ptrc_names_open(dirfd, ptrc_here.uid, id, ptrc_here.names.object,
				    &ptrc_here.names))
			return;
		if (old)
			ptrc_names_release(dirfd, ptrc_here.uid, old);
		else
			count = ptrc_names_count(&ptrc_here.names);
	}
	if (shared == id) {
		ptrc_here.is_borrowed = false;
		return;
	}
	ptrc_here.is_borrowed = true;
	ptrc_here.borrowed_count = count;
	if (!shared) {
		atomic_store_explicit(&page->names_from_count, count,
				      memory_order_relaxed);
		atomic_store_explicit(&page->names_from, id, memory_order_release);
	}
}

int ptrc_process_start_child(int32_t pid, bool is_noted)
{
	struct ptrc_page *place = ptrc_process_page();
	struct ptrc_self *me = ptrc_process_private();
	struct ptrc_page_file f;
	int dirfd, err;

	ptrc_here.has_ended = false;
	/* Where the kernel does not wipe it. */
	memset((void *)me, 0, sizeof(*me));
	err = ptrc_process_open_page(pid, place, &dirfd, &f);
	if (err) {
		/* The parent's page is none of its business; that memory stays in use by
		 * an event that the fork may have interrupted. */
		ptrc_sys(SYS_mmap, place, PTRC_PAGE_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		ptrc_here.borrowed_count = ptrc_process_names_limit();
		ptrc_here.is_borrowed = ptrc_here.names.object && ptrc_here.names.id;
		return err;
	}
	inherit_slots(f.page, is_noted);
	inherit_names(dirfd, f.page);
	for (size_t i = 0; i < PTRC_ARRAY_COUNT(ptrc_here.mapped); i++)
		atomic_store_explicit(&me->mapped[i], ptrc_here.mapped[i],
				      memory_order_relaxed);
	atomic_store_explicit(&f.page->image, ptrc_here.image, memory_order_release);
	ptrc_process_publish(pid, f.page);
	ptrc_page_unlock(&f);
	ptrc_process_sweep_sometimes(dirfd, false);
	ptrc_file_close(dirfd);
	return 0;
}

static void before_fork(void)
{
	uint64_t mask, blocked;

	/* Signals stay blocked over the fork, as a handler's event might need the lock. These
	 * handlers are the first registered, so no other one runs between them and the fork,
	 * unless the library was loaded later. */
	ptrc_sys_block_signals(&mask);
	ptrc_handle_fork_prepare();
	ptrc_controller_fork_prepare();
	ptrc_process_lock(&blocked);
	fork_mask = mask;
	ptrc_liveness_fork_prepare();
	if (ptrc_here.has_page)
		ptrc_process_note_page();
}

static void after_fork_in_parent(void)
{
	uint64_t mask = fork_mask;

	ptrc_liveness_fork_done();
	atomic_store_explicit(&ptrc_here.lock, 0, memory_order_release);
	ptrc_controller_fork_parent();
	ptrc_handle_fork_parent();
	ptrc_sys_restore_signals(&mask);
}

static void after_fork_in_child(void)
{
	uint64_t mask = fork_mask;
	int32_t pid = ptrc_sys_getpid();

	ptrc_liveness_fork_done();
	if (ptrc_here.has_page)
		ptrc_process_start_child(pid, true);
	ptrc_here.pid = pid;
	atomic_store_explicit(&ptrc_here.lock, 0, memory_order_release);
	ptrc_handle_fork_child(true);
	ptrc_controller_fork_child(true);
	ptrc_event_fork_child();
	if (ptrc_here.has_page)
		ptrc_event_fork_attach();
	ptrc_sys_restore_signals(&mask);
}

void ptrc_process_watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
