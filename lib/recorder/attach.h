/* SPDX-License-Identifier: MIT */
/*
 * The streams that trace this process, mapped into it: by page slot, as long as the slot names them
 * and they have not ended.
 */
#ifndef PTRC_LIB_RECORDER_ATTACH_H
#define PTRC_LIB_RECORDER_ATTACH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/process/page_layout.h"
#include "lib/recorder/thread.h"
#include "lib/stream/pool.h"

/* One for each page slot; changed under the lock below. */
struct ptrc_attachment {
	struct ptrc_stream_header *_Atomic header; /* NULL: nothing is mapped */
	uint64_t stream_id;
	uint64_t size;
	struct ptrc_pool pool;
	_Atomic uint64_t full_wait_ns; /* the stream's, when it was mapped */
	/* The table of wanted event types is valid for this value of the stream's control word. */
	_Atomic uint64_t wants_control;
	uint32_t wants_end; /* one past the last id in wants[] */
	_Atomic uint8_t wants[PTRC_WANT_COUNT];
	/* The stream for which ptrc_attach_lost() has left a report; 0: none. */
	_Atomic uint64_t told_id;
	/* This process has announced itself to the stream's keeper (ptrc_announce). */
	_Atomic bool is_announced;
};
extern PTRC_HIDDEN struct ptrc_attachment ptrc_attachments[PTRC_PAGE_SLOT_COUNT];
/* Any attachment was ever announced. The end of a process that is not traced need not look at them,
 * as each has pages of its own. */
extern PTRC_HIDDEN _Atomic bool ptrc_attach_has_announced;

/* The pid of the process whose attachments these are; see ptrc_process_own. */
extern PTRC_HIDDEN _Atomic int32_t ptrc_attach_owner;
/* In a forked child that has its parent's attachments: forgets them, and the blocks of the parent's
 * threads. */
void ptrc_attach_own(void);

/* The lock for changing attachments, or writers of other threads. The caller has blocked all
 * signals. */
void ptrc_attach_lock(void);
void ptrc_attach_unlock(void);

/* The stream of page slot i, which is mapped if necessary. NULL: there is none, or it cannot be
 * mapped, and the slot has the error. It stays mapped while the calling thread's state says that it
 * is in an event call. is_nested: an event call that this one interrupted may be using the
 * mapping. */
struct ptrc_stream_header *ptrc_attach(unsigned i, bool is_nested);
/* The same for a caller that holds the lock; the stream stays mapped until the lock is released. */
struct ptrc_stream_header *ptrc_attach_locked(unsigned i, bool is_nested);

/* An event is lost because the stream of page slot i cannot be mapped: leaves a report of that,
 * once for this process (lib/stream/untraced.h). */
void ptrc_attach_lost(unsigned i);

/* Maps every stream that traces this process. The error number if the process cannot be traced. */
int ptrc_attach_all(void);
/* Unmaps a stream of which this process is the controller, before it is removed. */
void ptrc_attach_drop(uint64_t stream_id);

/* For the constructor: prepares for the barrier and the ends of threads. */
void ptrc_attach_begin(void);
/* For the end of the process: waits until keepers have looked at this process if it has just
 * announced itself: some microseconds, if the keeper has a processor. */
void ptrc_attach_end(void);
/* The fork handler of the child, once the child's page exists. */
void ptrc_attach_fork_child(void);

#endif
