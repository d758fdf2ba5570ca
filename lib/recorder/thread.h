/* SPDX-License-Identifier: MIT */
/*
 * The data of each thread for recording events: one block (struct ptrc_thread) per thread, on a
 * mapping of its own. Blocks of ended threads are used again and none is unmapped, so the list of
 * blocks can be walked without a lock.
 */
#ifndef PTRC_LIB_RECORDER_THREAD_H
#define PTRC_LIB_RECORDER_THREAD_H

#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/model/names.h"
#include "lib/process/page_layout.h"
#include "lib/stream/writer.h"

/* A stream's decision on events of a type. It is valid for one value of the stream's control word,
 * which changes with each change of state or filter. */
enum ptrc_want {
	PTRC_WANT_UNKNOWN, /* ptrc_event_cold() must find out */
	PTRC_WANT_RECORD,
	PTRC_WANT_IGNORE, /* the type is filtered, or the stream is suspended */
	PTRC_WANT_LOSE,	  /* the stream is full: the event is only counted */
};
#define PTRC_WANT_COUNT (PTRC_ID_UNNAMED + PTRC_NAMES_MAX + 1)

struct ptrc_thread {
	/* While the thread is at rest, not in an event call: the word `active` of the process's
	 * page (list of streams), if this word has a single bit (one stream) and the fast way
	 * (fast.h) is prepared for that stream; otherwise 0. During an event call: the frame of the
	 * call (frame.h), which is odd. */
	_Atomic uint64_t state;
	uint64_t rest; /* what `state` becomes at the end of the event call */
	/* The writer that the fast way (fast.h) uses, and the writer's slot. */
	struct ptrc_writer *_Atomic fast;
	struct ptrc_slot *_Atomic slot;
	/* For each slot of the process's page (list of streams): the writer for the next event in
	 * the stream of the slot; NULL: there is none. */
	struct ptrc_writer *writers[PTRC_PAGE_SLOT_COUNT];
	_Atomic int32_t tid; /* 0: no thread uses this block */
	struct ptrc_thread *next;
	/* For each slot of the process's page (list of streams): all writers of this thread for the
	 * stream of the slot, including those of event calls that a signal handler interrupted and
	 * of calls that siglongjmp() has left. */
	struct ptrc_writer *lists[PTRC_PAGE_SLOT_COUNT];
	struct ptrc_writer *unused; /* list of freed writers */
	struct ptrc_context origin;
	uint32_t arena_used; /* bytes used in the block: this structure, then writers */
	/* want[]: for each event type, the decision of the stream that `fast` writes to, valid
	 * while the stream's control word is want_control; PTRC_WANT_UNKNOWN until this thread has
	 * asked.
	 *
	 * The table is part of the block, and not reached by a pointer, because each load on which
	 * the next one depends adds to the cost of an event. A fork wipes the pages of the table in
	 * the child. So the child's first event calls ptrc_event_cold(), and is not recorded as one
	 * of the parent, even if no fork handler ran. */
	uint64_t want_control;
	uint32_t want_end; /* no element of want[] from this id on was set */
	_Alignas(4096) uint8_t want[PTRC_WANT_COUNT];
};

/* ptrc_thread_self points here in a thread that has no block yet. The state of this block is 0. An
 * event call compares the state only with an active word that is not 0, and so does not take the
 * fast way. */
extern PTRC_HIDDEN struct ptrc_thread ptrc_thread_nobody;
/* ptrc_thread_self is the block of the calling thread. The code that uses it is always linked into
 * the same program or library that defines it. gcc does not know that, and would call a function to
 * find the variable; these TLS models avoid the call. */
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

/* Returns the block of the calling thread, whose signals are blocked. Claims a block if the thread
 * has none. NULL: no memory. */
struct ptrc_thread *ptrc_thread_get(void);
/* Gives a block back; another thread may get it at once. */
void ptrc_thread_give_back(struct ptrc_thread *t);
/* From now on each thread that ends calls on_exit with its block. */
void ptrc_thread_watch_exit(void (*on_exit)(void *block));
/* Separates the calling thread from its block: the thread ends, or this is a forked child. */
void ptrc_thread_leave(void);

/* Returns memory for a writer, from the thread's block. NULL: the block is full. */
struct ptrc_writer *ptrc_thread_new_writer(struct ptrc_thread *t);
void ptrc_thread_free_writer(struct ptrc_thread *t, struct ptrc_writer *w);
/* Frees all writers of the thread for the stream in slot i of the process's page. */
void ptrc_thread_forget_list(struct ptrc_thread *t, unsigned i);
/* Ends the thread's fast way: its next event calls ptrc_event_cold(). */
void ptrc_thread_use_nowhere(struct ptrc_thread *t);

#endif
