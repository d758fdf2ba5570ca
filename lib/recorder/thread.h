/* SPDX-License-Identifier: MIT */
/*
 * A thread as the event path sees it: one block per thread, on a mapping of its own. Blocks of
 * ended threads are used again and none is unmapped, so the list can be walked without a lock.
 */
#ifndef PTRC_LIB_RECORDER_THREAD_H
#define PTRC_LIB_RECORDER_THREAD_H

#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/model/names.h"
#include "lib/process/page_layout.h"
#include "lib/stream/writer.h"

/* A stream's decision on an event type; valid for one value of the stream's control word. */
enum ptrc_want {
	PTRC_WANT_UNKNOWN, /* the cold way must find out */
	PTRC_WANT_RECORD,
	PTRC_WANT_IGNORE, /* the type is filtered, or the stream is suspended */
	PTRC_WANT_LOSE,	  /* the stream is full: the event is only counted */
};
#define PTRC_WANT_COUNT (PTRC_ID_UNNAMED + PTRC_NAMES_MAX + 1)

struct ptrc_thread {
	/* At rest: the page's active word, of one bit, if the fast way is set up for the stream of
	 * that bit; otherwise 0. During an event call: its frame, which is odd. */
	_Atomic uint64_t state;
	uint64_t rest; /* `state` after the event call */
	/* The fast way's writer and its slot. */
	struct ptrc_writer *_Atomic fast;
	struct ptrc_slot *_Atomic slot;
	/* By page slot: the writer of the next event; NULL: none. */
	struct ptrc_writer *writers[PTRC_PAGE_SLOT_COUNT];
	_Atomic int32_t tid; /* 0: no thread uses this block */
	struct ptrc_thread *next;
	/* By page slot: all writers, including those of nested calls and those left by
	 * siglongjmp(). */
	struct ptrc_writer *lists[PTRC_PAGE_SLOT_COUNT];
	struct ptrc_writer *unused;
	struct ptrc_context origin;
	uint32_t arena_used; /* used bytes of the block, its writers included */
	/* The decisions of the stream of `fast`, as far as this thread has asked, for the control
	 * word want_control. The table is inside the block, without a pointer in between, because
	 * every load that waits for another one before the counter is read adds to the cost of an
	 * event. A fork wipes its page, so the first event in a child takes the cold way, and is
	 * not recorded in its parent's name even if no fork handler ran. */
	uint64_t want_control;
	uint32_t want_end; /* one past the last id in want[] */
	_Alignas(4096) uint8_t want[PTRC_WANT_COUNT];
};

/* Stands for a thread that has no block yet. Its state is 0, and an event call compares that only
 * with an active word that is not 0. */
extern PTRC_HIDDEN struct ptrc_thread ptrc_thread_nobody;
/* gcc does not know that this variable is always in the same program, where its place needs no
 * lookup in a table. */
#if defined(__PIC__) && !defined(__PIE__)
#define PTRC_THREAD_TLS_MODEL "initial-exec"
#else
#define PTRC_THREAD_TLS_MODEL "local-exec"
#endif
extern PTRC_HIDDEN __thread struct ptrc_thread *ptrc_thread_self
	__attribute__((tls_model(PTRC_THREAD_TLS_MODEL)));
extern PTRC_HIDDEN struct ptrc_thread *_Atomic ptrc_thread_list;

#define PTRC_THREAD_FOR_EACH(t) \
	for (struct ptrc_thread *t = ptrc_load_acquire(&ptrc_thread_list); t; t = t->next)

/* The frame of the event call that the thread is in; 0: none. */
static inline uint64_t ptrc_thread_frame(const struct ptrc_thread *t)
{
	uint64_t state = ptrc_load_acquire(&t->state);

	return (state & (state - 1)) == 0 ? 0 : state;
}

/* The block of the calling thread, whose signals are blocked. NULL: no memory. */
struct ptrc_thread *ptrc_thread_get(void);
/* Frees a block, which another thread may get at once. */
void ptrc_thread_give_back(struct ptrc_thread *t);
/* Has on_exit called with the block of each thread that ends. */
void ptrc_thread_watch_exit(void (*on_exit)(void *block));
/* In a forked child: the calling thread has no block any more. */
void ptrc_thread_leave(void);

/* A writer for the block's lists. NULL: there are too many. */
struct ptrc_writer *ptrc_thread_new_writer(struct ptrc_thread *t);
void ptrc_thread_free_writer(struct ptrc_thread *t, struct ptrc_writer *w);
/* Empties the list of page slot i. */
void ptrc_thread_forget_list(struct ptrc_thread *t, unsigned i);
/* From now on the thread's events take the cold way. */
void ptrc_thread_use_nowhere(struct ptrc_thread *t);

#endif
