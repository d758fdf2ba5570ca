/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/recorder/attach.h"

#include <errno.h>
#include <linux/membarrier.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/pid_lock.h"
#include "lib/base/shared_version.h"
#include "lib/base/sys.h"
#include "lib/process/process.h"
#include "lib/process/process_names.h"
#include "lib/stream/marks.h"
#include "lib/stream/slots.h"
#include "lib/stream/status.h"
#include "lib/stream/stream.h"

/* When the process ends, it waits until the keepers have looked at it, for at most END_WAIT_NS in
 * all, and checks every END_LOOK_NS. */
#define END_WAIT_NS UINT64_C(100000000)
#define END_LOOK_NS UINT64_C(50000)

struct ptrc_attachment ptrc_attachments[PTRC_PAGE_SLOT_COUNT];
_Atomic bool ptrc_attach_has_announced;
_Atomic int32_t ptrc_attach_owner;

static _Atomic int32_t lock; /* see ptrc_attach_lock() */

/* Mappings of streams that the process has given up while some thread may still write to them.
 * cover() has replaced the stream there by private zeros, and bury_zombies() unmaps them later. */
static struct {
	void *start;
	uint64_t size;
} zombies[PTRC_PAGE_SLOT_COUNT];

void ptrc_attach_lock(void)
{
	ptrc_pid_lock(&lock);
}

void ptrc_attach_unlock(void)
{
	ptrc_pid_unlock(&lock);
}

/* ---- letting go of a mapping ---- */

/* Keeps all threads from starting to use the stream mapped at h. Returns true if no other thread is
 * in an event call that may still use this mapping. An event call marks its thread before it looks
 * for the mapping. So after the barrier either this function sees the mark, or the call sees that
 * the mapping is gone. */
static bool retire(const struct ptrc_stream_header *h)
{
	bool is_quiet = true;

	PTRC_THREAD_FOR_EACH(t)
	{
		struct ptrc_writer *w = ptrc_load_relaxed(&t->fast);

		if (w && w->header == h)
			ptrc_thread_use_nowhere(t);
	}
	atomic_thread_fence(memory_order_seq_cst);
	ptrc_sys(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0);
	PTRC_THREAD_FOR_EACH(t)
	{
		if (t != ptrc_thread_self && ptrc_load_relaxed(&t->tid) != 0 &&
		    ptrc_thread_frame(t) != 0)
			is_quiet = false;
	}
	return is_quiet;
}

/* Removes the writers of all threads for the stream mapped at h. The caller knows that no event
 * call uses these writers. */
static void forget_writers(const struct ptrc_stream_header *h)
{
	PTRC_THREAD_FOR_EACH(t)
	{
		for (unsigned i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
			if (t->lists[i] && t->lists[i]->header == h)
				ptrc_thread_forget_list(t, i);
	}
}

static void bury_zombies(void)
{
	for (unsigned i = 0; i < PTRC_ARRAY_COUNT(zombies); i++) {
		if (!zombies[i].start)
			continue;
		if (!retire(zombies[i].start))
			return;
		forget_writers(zombies[i].start);
		ptrc_sys(SYS_munmap, zombies[i].start, zombies[i].size);
		zombies[i].start = NULL;
	}
}

static void cover(void *start, uint64_t size)
{
	void *map;

	ptrc_file_map_sparse(-1, size, start, &map);
}

/* Ends an attachment (the mapping of a stream), which the calling thread must not use any more.
 * is_nested: the thread is in a signal handler that interrupted another event call, and that call
 * may still use the mapping. */
static void detach(struct ptrc_attachment *a, bool is_nested)
{
	struct ptrc_stream_header *h = ptrc_load_relaxed(&a->header);

	if (!h)
		return;
	ptrc_store_relaxed(&a->header, NULL);
	a->stream_id = 0;
	a->wants_control = 0;
	if (retire(h) && !is_nested) {
		forget_writers(h);
		ptrc_sys(SYS_munmap, h, a->size);
		return;
	}
	/* Some thread is in an event call, and may not run again for long. Replace the stream under
	 * it by private memory, on which it finishes. This memory also keeps the range of addresses
	 * from any other use. */
	cover(h, a->size);
	for (unsigned z = 0; z < PTRC_ARRAY_COUNT(zombies); z++)
		if (!zombies[z].start) {
			zombies[z].start = h;
			zombies[z].size = a->size;
			break;
		}
}

/* ---- mapping a stream ---- */

void ptrc_attach_lost(unsigned i)
{
	struct ptrc_attachment *a = &ptrc_attachments[i];
	uint64_t id = ptrc_load_acquire(&ptrc_page_self->slots[i].stream_id);

	if (id == 0 || ptrc_load_relaxed(&a->told_id) == id)
		return;
	ptrc_store_relaxed(&a->told_id, id);
	ptrc_process_tell_untraced(id, ptrc_load_relaxed(&ptrc_page_self->slots[i].error));
}

/* Called if the stream in slot i of the process's page cannot be mapped, because of `error`. For
 * EPROTO, `version` is the version of the stream or of its names, which this library does not know.
 * Stores the error in the slot. If another attempt would be useless, also makes events ignore the
 * slot, and after ENOENT frees it. If a controller puts another stream into the slot meanwhile,
 * events do not ignore that one. */
static void drop_slot(unsigned i, uint64_t stream_id, int error, uint32_t version)
{
	struct ptrc_page_slot *slot = &ptrc_page_self->slots[i];
	uint64_t now;

	ptrc_store_relaxed(&slot->error, ptrc_refusal(error, version));
	if (error == EPROTO || error == EXDEV)
		ptrc_attach_lost(i);
	/* After an error that is not listed here, such as ENOMEM, the next event tries again. */
	if (error != ENOENT && error != EPERM && error != EINVAL && error != EPROTO &&
	    error != EXDEV)
		return;
	if (error == ENOENT &&
	    !atomic_compare_exchange_strong_explicit(&slot->stream_id, &stream_id, 0,
						     memory_order_acq_rel, memory_order_relaxed))
		return;
	atomic_fetch_and_explicit(&ptrc_page_self->active, ~(UINT64_C(1) << i),
				  memory_order_seq_cst);
	now = ptrc_load_seq_cst(&slot->stream_id);
	if (now != 0 && now != stream_id)
		atomic_fetch_or_explicit(&ptrc_page_self->active, UINT64_C(1) << i,
					 memory_order_seq_cst);
}

static bool has_ended(const struct ptrc_stream_header *h)
{
	return ptrc_load_acquire(&h->control) & PTRC_CTL_ENDED;
}

/* Begins to use a stream that is mapped, unless it has ended. */
static int use_stream(struct ptrc_attachment *a, uint64_t stream_id, const struct ptrc_pool *pool,
		      uint64_t size)
{
	struct ptrc_stream_header *h = pool->header;

	if (h->id != stream_id || has_ended(h))
		return ENOENT;
	/* A process that has inherited the stream does not use the stream if the process is in
	 * another pid or time namespace. Processes check by the tid of a chunk's owner whether the
	 * owner is alive, so a tid must mean the same for all of them. And the stream's clock
	 * follows CLOCK_MONOTONIC, of which each time namespace has its own. */
	if (!ptrc_process_is_in(h->pid_namespace, h->time_namespace))
		return EXDEV;
	if (!ptrc_barrier_register())
		ptrc_store_seq_cst(&h->needs_global_barrier, 1);
	/* A program that this process ran before its last exec may have left its slots (entries of
	 * writers in the stream) marked as in use. Take these slots back, so that no reader waits
	 * for that program. */
	ptrc_slots_reap(pool, ptrc_sys_getpid(), ptrc_self->image, true);
	a->stream_id = stream_id;
	a->size = size;
	a->pool = *pool;
	ptrc_store_relaxed(&a->is_announced, false);
	ptrc_store_relaxed(&a->is_counted, false);
	ptrc_store_relaxed(&a->full_wait_ns, h->full_wait_ns);
	ptrc_store_release(&a->header, h);
	return 0;
}

static int map_stream(struct ptrc_attachment *a, uint64_t stream_id, uint32_t *version)
{
	struct ptrc_stream s;
	PTRC_FD(fd);
	int error = ptrc_process_open_stream(stream_id, &fd, version);

	if (error)
		return error;
	error = ptrc_stream_map(fd, PTRC_ROLE_CONTROLLER, &s);
	*version = s.version;
	if (error)
		return error;
	error = use_stream(a, stream_id, &s.pool, s.map_size);
	if (error)
		ptrc_stream_unmap(&s);
	return error;
}

/* Maps the streams that trace this process without waiting for its first event: by then it may have changed its
 * user or root directory, or closed its descriptors, and could not open the streams. A stream that cannot be mapped
 * now is tried again by the first event. The caller holds the lock, or the process has no other thread. */
static void map_early(void)
{
	uint64_t active = ptrc_load_acquire(&ptrc_page_self->active);
	uint32_t version;

	for (; active; active &= active - 1) {
		unsigned i = (unsigned)__builtin_ctzll(active);
		uint64_t id = ptrc_load_acquire(&ptrc_page_self->slots[i].stream_id);

		if (id != 0 && !ptrc_load_relaxed(&ptrc_attachments[i].header))
			map_stream(&ptrc_attachments[i], id, &version);
	}
}

void ptrc_attach_count(struct ptrc_attachment *a)
{
	struct ptrc_stream_header *h = ptrc_load_relaxed(&a->header);

	if (h && !atomic_exchange_explicit(&a->is_counted, true, memory_order_relaxed))
		atomic_fetch_add_explicit(&h->processes, 1, memory_order_relaxed);
}

struct ptrc_stream_header *ptrc_attach_locked(unsigned i, bool is_nested)
{
	struct ptrc_attachment *a = &ptrc_attachments[i];
	struct ptrc_stream_header *h;
	uint32_t version;
	uint64_t id;
	int error;

	/* If this event call has interrupted another one, that call may still use a mapping in
	 * zombies[], so nothing is unmapped then. */
	if (!is_nested)
		bury_zombies();
	h = ptrc_load_relaxed(&a->header);
	id = ptrc_load_acquire(&ptrc_page_self->slots[i].stream_id);
	if (h && (a->stream_id != id || has_ended(h))) {
		uint64_t ended = a->stream_id;

		detach(a, is_nested);
		if (id == ended) {
			drop_slot(i, id, ENOENT, 0);
			id = 0;
		}
		h = NULL;
	}
	if (!h && id != 0) {
		error = map_stream(a, id, &version);
		if (error)
			drop_slot(i, id, error, version);
		h = ptrc_load_relaxed(&a->header);
	}
	ptrc_attach_count(a);
	return h;
}

struct ptrc_stream_header *ptrc_attach(unsigned i, bool is_nested)
{
	struct ptrc_attachment *a = &ptrc_attachments[i];
	struct ptrc_stream_header *h = ptrc_load_acquire(&a->header);

	/* Usually the mapped stream is the one that the slot names, and has not ended. It stays
	 * mapped while this thread is in an event call. */
	if (h && a->stream_id == ptrc_load_acquire(&ptrc_page_self->slots[i].stream_id) &&
	    !has_ended(h))
		return h;
	ptrc_attach_lock();
	h = ptrc_attach_locked(i, is_nested);
	ptrc_attach_unlock();
	return h;
}

int ptrc_attach_all(void)
{
	uint64_t active;
	int error;
	PTRC_NO_SIGNALS();

	error = ptrc_process_init();
	if (!error && ptrc_self->pid == ptrc_sys_getpid()) {
		ptrc_process_map_names();
		ptrc_attach_own();
		active = ptrc_load_acquire(&ptrc_page_self->active);
		ptrc_attach_lock();
		for (; active; active &= active - 1)
			ptrc_attach_locked((unsigned)__builtin_ctzll(active), true);
		ptrc_attach_unlock();
	}
	return error;
}

void ptrc_attach_drop(uint64_t stream_id)
{
	bool is_at_work;
	PTRC_NO_SIGNALS();

	ptrc_attach_own();
	is_at_work = ptrc_thread_frame(ptrc_thread_self) != 0;
	ptrc_attach_lock();
	for (unsigned i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		if (ptrc_attachments[i].stream_id == stream_id && stream_id != 0)
			detach(&ptrc_attachments[i], is_at_work);
	if (!is_at_work)
		bury_zombies();
	ptrc_attach_unlock();
}

/* ---- start, fork, and the ends of threads ---- */

static void on_thread_exit(void *block)
{
	struct ptrc_thread *t = block;
	PTRC_NO_SIGNALS();

	ptrc_attach_own();
	ptrc_thread_leave();
	ptrc_attach_lock();
	for (unsigned i = 0; i < PTRC_PAGE_SLOT_COUNT; i++) {
		struct ptrc_stream_header *h = ptrc_load_relaxed(&ptrc_attachments[i].header);

		for (struct ptrc_writer *w = t->lists[i]; w; w = w->next) {
			/* The slots (entries of writers) of a stream that is no longer mapped
			 * cannot be released. */
			if (w->header != h)
				continue;
			ptrc_writer_release(w);
			ptrc_slot_release(h, w->slot_index, w->slot_owner);
		}
		ptrc_thread_forget_list(t, i);
	}
	ptrc_store_relaxed(&t->state, 0);
	ptrc_attach_unlock();
	ptrc_thread_give_back(t);
}

void ptrc_attach_begin(void)
{
	ptrc_barrier_register();
	ptrc_thread_watch_exit(on_thread_exit);
	/* A program that is not root seldom can change its user or root directory. */
	if (ptrc_sys_geteuid() != 0)
		return;
	PTRC_NO_SIGNALS();
	ptrc_attach_early();
}

void ptrc_attach_early(void)
{
	/* A process without a page that was given a stream makes its page now. */
	if (!ptrc_load_acquire(&ptrc_page_self->active) || ptrc_process_init())
		return;
	ptrc_process_map_names();
	ptrc_attach_own();
	ptrc_attach_lock();
	map_early();
	ptrc_attach_unlock();
}

/* Whether this process has announced itself to the keeper of the stream in slot i of the page, and
 * the keeper has not looked at the process yet. */
static bool is_awaited(unsigned i)
{
	struct ptrc_stream_header *h;
	bool is_due;

	ptrc_attach_lock();
	h = ptrc_load_relaxed(&ptrc_attachments[i].header);
	is_due = h && ptrc_load_relaxed(&ptrc_attachments[i].is_announced) &&
		 ptrc_is_announced(h, ptrc_sys_getpid()) && !has_ended(h);
	ptrc_attach_unlock();
	return is_due;
}

void ptrc_attach_end(void)
{
	uint64_t waited = 0;

	if (!ptrc_load_relaxed(&ptrc_attach_has_announced))
		return;
	PTRC_NO_SIGNALS();
	for (unsigned i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		for (; waited < END_WAIT_NS && is_awaited(i); waited += END_LOOK_NS)
			ptrc_file_sleep_ns(END_LOOK_NS);
}

/* Called in a forked child for the attachment to a stream that its parent has mapped. If the page of the child has the
 * stream in the same slot, the child keeps the mapping. So it need not open the stream, which it could not do if it
 * has another user or root directory than the stream's controller. If a signal handler forked in the middle of an
 * event call, that call finishes on private memory, because the chunk into which it writes is the parent's. */
static void inherit(struct ptrc_attachment *a, uint64_t stream_id, bool is_at_work)
{
	struct ptrc_stream_header *h = ptrc_load_relaxed(&a->header);
	bool is_same = a->stream_id == stream_id;
	struct ptrc_pool pool = a->pool;

	ptrc_store_relaxed(&a->header, NULL);
	a->stream_id = 0;
	if (is_at_work) {
		pool.header = is_same ? ptrc_file_map_again(h, a->size) : NULL;
		cover(h, a->size);
	}
	if (pool.header && (!is_same || use_stream(a, stream_id, &pool, a->size)))
		ptrc_sys(SYS_munmap, pool.header, a->size);
}

/* Called in a forked child: gives up the parent's writers, to which slots and chunks of the streams belong, and the
 * streams that the child does not inherit. An event call that was interrupted by the fork keeps the thread's block
 * (struct ptrc_thread). */
static void forget(void)
{
	struct ptrc_thread *mine = ptrc_thread_self;
	bool is_at_work = ptrc_thread_frame(mine) != 0;

	ptrc_thread_leave();
	PTRC_THREAD_FOR_EACH(t)
	{
		if (t == mine && is_at_work)
			continue;
		for (unsigned i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
			ptrc_thread_forget_list(t, i);
		ptrc_store_relaxed(&t->state, 0);
		ptrc_thread_give_back(t);
	}
	for (unsigned i = 0; i < PTRC_PAGE_SLOT_COUNT; i++) {
		struct ptrc_attachment *a = &ptrc_attachments[i];

		a->wants_control = 0;
		ptrc_store_relaxed(&a->told_id, 0);
		if (ptrc_load_relaxed(&a->header))
			inherit(a, ptrc_load_acquire(&ptrc_page_self->slots[i].stream_id),
				is_at_work);
		if (zombies[i].start && !is_at_work) {
			ptrc_sys(SYS_munmap, zombies[i].start, zombies[i].size);
			zombies[i].start = NULL;
		}
	}
}

void ptrc_attach_own(void)
{
	ptrc_process_own(&ptrc_attach_owner, forget);
}

void ptrc_attach_fork_child(void)
{
	forget();
	ptrc_store_relaxed(&ptrc_attach_owner, ptrc_self_pid());
	/* A child without a page (list of its streams) is not traced. */
	if (ptrc_self_pid() == 0)
		return;
	map_early();
	for (unsigned i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		ptrc_attach_count(&ptrc_attachments[i]);
}
