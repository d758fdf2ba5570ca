/* SPDX-License-Identifier: MIT */
/*
 * The life of this process as one that can be traced: program start, fork, exit. lib/life calls
 * these functions at such moments. But the first event or call may come before the constructor,
 * and a child may be forked without fork handlers (_Fork, raw clone). So code that needs the page
 * of this process first calls ptrc_process_init, and code that keeps state in ordinary memory
 * calls ptrc_process_own.
 */
#ifndef PTRC_LIB_PROCESS_PROCESS_H
#define PTRC_LIB_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/process/self.h"

/* Makes the page of this process if there is none yet, also in a forked child that no fork
 * handler prepared. May be called at any time. Async-signal-safe, with raw system calls only.
 * Returns 0, or why this process cannot be traced (EPERM, ENOMEM, ...). */
int ptrc_process_init(void);
/* The constructor calls this instead. If no stream traces the process, it makes no page; the next
 * event, fork or call that needs one does. Otherwise it makes the page and removes what dead
 * processes left (sweep.h). If an event came before, the page exists, and only the removing is
 * left to do, for which the event's stack may have been too small. */
void ptrc_process_begin(void);

/* A forked child gets a copy of all state in ordinary memory, but that state is its parent's.
 * *owner, initially 0, is the pid of the process that the state belongs to. A unit calls this
 * before it uses its state: if the state belongs to the parent, this calls forget(), once and
 * under the lock of self.h, and makes this process the owner. Does nothing in a vfork child,
 * which uses its parent's memory. Async-signal-safe if forget() is. */
void ptrc_process_own(_Atomic int32_t *owner, void (*forget)(void));

/* Has the library run in this process? False in a vfork child, and in a child that was forked
 * without fork handlers and has made no call of the library yet. */
bool ptrc_process_is_known(void);

/* Is this process in these two namespaces? Valid only after ptrc_process_init has succeeded. */
bool ptrc_process_is_in(uint64_t pid_namespace, uint64_t time_namespace);

/* If `error` is a shortage, leaves a note that this process could not map the stream. */
void ptrc_process_tell_untraced(uint64_t stream_id, int error);

/* Opens a stream that traces this process; the caller closes it. ENOENT: the stream is gone, and
 * its slot in the page has been cleared. Any other error is also stored in the slot, for
 * ptrc_inspect_stream. Async-signal-safe. */
int ptrc_process_open_stream(uint64_t stream_id, int *fd);

/* The fork handlers. The caller blocks all signals before `prepare` and restores them after the
 * other two: a signal handler may record an event, which may need the lock that is held across
 * the fork. */
void ptrc_process_fork_prepare(void);
void ptrc_process_fork_parent(void);
void ptrc_process_fork_child(void);

/* At exit(): makes pages for children that would look for this process' page, removes that page,
 * and gives up the names. */
void ptrc_process_end(void);

#endif
