/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/recorder/thread.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "lib/base/file.h"
#include "lib/base/sys.h"

/* BLOCK_BYTES: the size of a thread's block with its writers. WIPED_BYTES: the size of the pages of
 * its table want[], which a fork wipes in the child. */
#define BLOCK_BYTES 28672U
#define WIPED_BYTES 8192U

_Static_assert(sizeof(struct ptrc_thread) == offsetof(struct ptrc_thread, want) + WIPED_BYTES,
	       "the table of wanted events has pages of its own");

struct ptrc_thread *_Atomic ptrc_thread_list;
struct ptrc_thread ptrc_thread_nobody;
__thread struct ptrc_thread *ptrc_thread_self = &ptrc_thread_nobody;

/* ptrc_thread_use_nowhere() makes `nowhere` and no_slot the writer and the slot of a thread's fast
 * way (fast.h). The control word of no_header is 0 and never equals nowhere.expect, so each event
 * of the thread calls ptrc_event_cold(). */
static struct ptrc_stream_header no_header;
static struct ptrc_slot no_slot;
static struct ptrc_writer nowhere = {.expect = UINT64_MAX, .header = &no_header};

/* Number of blocks (struct ptrc_thread) that ended threads have left. While it is 0, a new thread
 * does not search the list for such a block. */
static _Atomic int32_t free_count;

static pthread_key_t exit_key;
static bool has_exit_key;

void ptrc_thread_use_nowhere(struct ptrc_thread *t)
{
	ptrc_store_relaxed(&t->fast, &nowhere);
	ptrc_store_relaxed(&t->slot, &no_slot);
}

struct ptrc_writer *ptrc_thread_new_writer(struct ptrc_thread *t)
{
	struct ptrc_writer *w = t->unused;

	if (w) {
		t->unused = w->next;
		return w;
	}
	if (t->arena_used + sizeof(*w) > BLOCK_BYTES)
		return NULL;
	w = (void *)((char *)t + t->arena_used);
	t->arena_used += (uint32_t)(sizeof(*w) + 63) & ~63U;
	return w;
}

void ptrc_thread_free_writer(struct ptrc_thread *t, struct ptrc_writer *w)
{
	w->next = t->unused;
	t->unused = w;
}

void ptrc_thread_forget_list(struct ptrc_thread *t, unsigned i)
{
	struct ptrc_writer *w = t->lists[i], *next;

	if (!w)
		return;
	t->writers[i] = NULL;
	t->lists[i] = NULL;
	ptrc_thread_use_nowhere(t);
	if (ptrc_thread_frame(t) == 0)
		ptrc_store_relaxed(&t->state, 0);
	for (; w; w = next) {
		next = w->next;
		ptrc_thread_free_writer(t, w);
	}
}

/* Returns a block that an ended thread has left, or else a new block. NULL: no memory. */
static struct ptrc_thread *claim_block(int32_t tid)
{
	struct ptrc_thread *made;

	PTRC_THREAD_FOR_EACH(t)
	{
		int32_t none = 0;

		if (ptrc_load_relaxed(&free_count) <= 0)
			break;
		if (atomic_compare_exchange_strong_explicit(
			    &t->tid, &none, tid, memory_order_acquire, memory_order_relaxed)) {
			atomic_fetch_sub_explicit(&free_count, 1, memory_order_relaxed);
			return t;
		}
	}
	made = ptrc_file_zeros(BLOCK_BYTES);
	if (!made)
		return NULL;
	ptrc_sys(SYS_madvise, made->want, WIPED_BYTES, MADV_WIPEONFORK);
	made->arena_used = sizeof(*made);
	ptrc_store_relaxed(&made->tid, tid);
	made->next = ptrc_load_relaxed(&ptrc_thread_list);
	while (!atomic_compare_exchange_weak_explicit(&ptrc_thread_list, &made->next, made,
						      memory_order_release, memory_order_relaxed))
		;
	return made;
}

struct ptrc_thread *ptrc_thread_get(void)
{
	struct ptrc_thread *t = ptrc_thread_self;

	if (t != &ptrc_thread_nobody)
		return t;
	t = claim_block(ptrc_sys_gettid());
	if (!t)
		return NULL;
	t->origin.pid = ptrc_sys_getpid();
	t->origin.tid = ptrc_sys_gettid();
	t->origin.thread = (uint64_t)pthread_self();
	/* This call is async-signal-safe: if has_exit_key is set, the C library stores the value of
	 * the key without allocating memory. */
	if (has_exit_key)
		pthread_setspecific(exit_key, t);
	ptrc_thread_self = t;
	return t;
}

void ptrc_thread_give_back(struct ptrc_thread *t)
{
	if (atomic_exchange_explicit(&t->tid, 0, memory_order_release))
		atomic_fetch_add_explicit(&free_count, 1, memory_order_relaxed);
}

void ptrc_thread_watch_exit(void (*on_exit)(void *block))
{
	if (has_exit_key || pthread_key_create(&exit_key, on_exit))
		return;
	/* glibc allocates memory when a thread sets a key beyond the first 32. */
	has_exit_key = exit_key < 32;
	if (!has_exit_key)
		pthread_key_delete(exit_key);
}

void ptrc_thread_leave(void)
{
	ptrc_thread_self = &ptrc_thread_nobody;
	if (has_exit_key)
		pthread_setspecific(exit_key, NULL);
}
