/* SPDX-License-Identifier: MIT */
/*
 * The streams that trace this process, mapped into it: by page slot, as long as the slot names
 * them and they have not ended.
 */
#ifndef PTRC_LIB_RECORDER_ATTACH_H
#define PTRC_LIB_RECORDER_ATTACH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/process/page_layout.h"
#include "lib/recorder/thread.h"
#include "lib/stream/pool.h"

/* Changed under the lock below. */
struct ptrc_attachment {
	struct ptrc_stream_header *_Atomic header; /* null: nothing is mapped */
	uint64_t stream_id;
	uint64_t size;
	struct ptrc_pool pool;
	_Atomic uint64_t full_wait_ns; /* as the stream had it when it was mapped */
	/* What the stream wants, for this value of the control word. */
	_Atomic uint64_t wants_control;
	uint32_t wants_end; /* behind the last id that the table knows */
	_Atomic uint8_t wants[PTRC_WANT_COUNT];
	/* This process has left word that it could not map this stream. */
	_Atomic uint64_t told_id;
	/* The keeper of this stream was told of this process (ptrc_announce). */
	_Atomic bool is_announced;
};
extern PTRC_HIDDEN struct ptrc_attachment ptrc_attachments[PTRC_PAGE_SLOT_COUNT];
/* One of them was announced, once: the end of a process that nobody traces need not look at them, as each
 * has pages of its own. */
extern PTRC_HIDDEN _Atomic bool ptrc_attach_has_announced;

/* The pid of the process whose attachments these are; see ptrc_process_own. */
extern PTRC_HIDDEN _Atomic int32_t ptrc_attach_owner;
/* If this is a forked child that has its parent's attachments: forget them, and the blocks of the
 * parent's threads. */
void ptrc_attach_own(void);

/* The lock for changing attachments, or writers of other threads. The caller has blocked all
 * signals. */
void ptrc_attach_lock(void);
void ptrc_attach_unlock(void);

/* The stream of page slot i, mapped if it is not yet. Null: there is none, or it cannot be
 * mapped, and the slot says why. It stays mapped while the calling thread's state says that it is
 * in an event call. is_nested: an event call that this one interrupted may be using the mapping. */
struct ptrc_stream_header *ptrc_attach(unsigned i, bool is_nested);
/* The same for a caller who holds the lock; it stays mapped until the lock is given back. */
struct ptrc_stream_header *ptrc_attach_locked(unsigned i, bool is_nested);

/* An event is lost because the stream of page slot i cannot be mapped: leave word of that, once for
 * this process (lib/stream/untraced.h). */
void ptrc_attach_lost(unsigned i);

/* Map every stream that traces this process now. 0, or why the process cannot be traced. */
int ptrc_attach_all(void);
/* Unmap a stream of which this process is the controller, before it is removed. */
void ptrc_attach_drop(uint64_t stream_id);

/* The constructor: prepare for the barrier, and for the ends of threads. */
void ptrc_attach_begin(void);
/* The end of the process. A keeper that was told of this process a moment ago gets the time to look
 * at it while it is there: some microseconds, if the keeper has a processor. */
void ptrc_attach_end(void);
/* The fork handler of the child, when the child's page stands. */
void ptrc_attach_fork_child(void);

#endif
