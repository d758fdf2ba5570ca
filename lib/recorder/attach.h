/* SPDX-License-Identifier: MIT */
/*
 * The streams that trace this process, mapped into its memory. A slot of the process's page
 * (lib/process/page_layout.h) may name a stream. Each slot has an attachment: the mapping of the
 * stream that the slot names. The mapping is removed after the slot has changed or the stream has
 * ended.
 */
#ifndef PTRC_LIB_RECORDER_ATTACH_H
#define PTRC_LIB_RECORDER_ATTACH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/process/page_layout.h"
#include "lib/recorder/thread.h"
#include "lib/stream/pool.h"

/* The mapping of a stream; there is one for each slot of the process's page (list of streams).
 * Changed only under ptrc_attach_lock(), except told_id and is_announced. */
struct ptrc_attachment {
	struct ptrc_stream_header *_Atomic header; /* NULL: nothing is mapped */
	uint64_t stream_id;
	uint64_t size;
	struct ptrc_pool pool;
	_Atomic uint64_t full_wait_ns; /* the stream's full-wait: how long events wait for space */
	/* wants[]: for each event type (index: its id), what the stream does with its events (enum
	 * ptrc_want), as far as known. Valid for the value wants_control of the stream's control
	 * word; all types from id wants_end on are unknown. */
	_Atomic uint64_t wants_control;
	uint32_t wants_end;
	_Atomic uint8_t wants[PTRC_WANT_COUNT];
	/* The stream about which ptrc_attach_lost() has left a note; 0: none. */
	_Atomic uint64_t told_id;
	/* Whether this process has announced itself to the stream's keeper (ptrc_announce). */
	_Atomic bool is_announced;
	/* Whether the stream has counted this process, see ptrc_attach_count(). */
	_Atomic bool is_counted;
};
extern PTRC_HIDDEN struct ptrc_attachment ptrc_attachments[PTRC_PAGE_SLOT_COUNT];
/* Whether this process has ever announced itself to a keeper. If not, ptrc_attach_end() need not
 * look at ptrc_attachments, which would load many pages of memory. */
extern PTRC_HIDDEN _Atomic bool ptrc_attach_has_announced;

/* The pid of the process to which ptrc_attachments, the mapped streams, belong. In a forked child
 * that has not noticed the fork yet, it is the parent's pid (see ptrc_process_own()). */
extern PTRC_HIDDEN _Atomic int32_t ptrc_attach_owner;
/* If this is a forked child that still has its parent's attachments (mapped streams), removes those that
 * it does not inherit, and the blocks (struct ptrc_thread) of the parent's threads. Otherwise does
 * nothing. */
void ptrc_attach_own(void);

/* The lock that a thread holds while it changes attachments (mapped streams) or writers of other
 * threads. The caller has blocked all signals. */
void ptrc_attach_lock(void);
void ptrc_attach_unlock(void);

/* Returns the mapped stream that slot i of the process's page (list of streams) names. NULL: the
 * slot names no stream, or the stream cannot be mapped; then the error is stored in the slot. The
 * stream stays mapped as long as the calling thread's state (thread.h) says that it is in an event
 * call. is_nested: the thread is in a signal handler that interrupted another event call. That call
 * may be using a mapping, so nothing is unmapped. */
struct ptrc_stream_header *ptrc_attach(unsigned i, bool is_nested);
/* Does what ptrc_attach() does, for a caller that holds the lock; the stream stays mapped until the
 * lock is released. */
struct ptrc_stream_header *ptrc_attach_locked(unsigned i, bool is_nested);

/* Called if an event is lost because the stream in slot i of the process's page (list of streams)
 * cannot be mapped. Leaves a note for the controller (lib/stream/untraced.h), once for each
 * stream. */
void ptrc_attach_lost(unsigned i);

/* Maps every stream that traces this process. Returns 0, or the error number if the process cannot
 * be traced. */
int ptrc_attach_all(void);
/* Unmaps a stream of which this process is the controller, before it is removed. */
void ptrc_attach_drop(uint64_t stream_id);

/* Counts this process in the stream, unless it is counted or the stream is not mapped. A process that maps its streams
 * when it starts is counted with its first event. */
void ptrc_attach_count(struct ptrc_attachment *);

/* Called by the constructor: registers the process for the barrier (membarrier), and arranges that
 * the end of each thread releases the thread's writers. In a process of root also maps its streams. */
void ptrc_attach_begin(void);
/* Called at the end of the process. If the process has just announced itself to keepers, waits
 * until they have looked at it in /proc, because afterwards /proc does not show it any more. The
 * wait usually takes some microseconds, and 100 ms at most. */
void ptrc_attach_end(void);
/* Maps the event names and the streams of this process before its first event. Also called before a fork, so that
 * a child has the mappings even if it cannot open the files. The caller has blocked all signals. */
void ptrc_attach_early(void);
/* The fork handler that runs in the child, after ptrc_process_fork_child(), which makes the child's
 * page. */
void ptrc_attach_fork_child(void);

#endif
