/* SPDX-License-Identifier: MIT */
/*
 * Beginning and end of this process as a process that can be traced: at program start, in forked
 * children, at exit. lib/life says when these happen; but the first event or call may come before
 * the constructor, and a child may be forked without fork handlers (_Fork, raw clone). So
 * everything that needs the page of this process calls ptrc_process_init first, and a room that
 * keeps something of the process calls ptrc_process_own.
 */
#ifndef PTRC_LIB_PROCESS_PROCESS_H
#define PTRC_LIB_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/process/self.h"

/* Make the page of this process if there is none yet; if this is a forked child that no fork
 * handler prepared, make it a process of its own. May be called at any time. Async-signal-safe,
 * with raw system calls only. 0, or why this process cannot be traced (EPERM, ENOMEM, ...). */
int ptrc_process_init(void);

/* A room keeps state in ordinary memory, of which a forked child gets a copy. *owner, 0 at
 * first, is the pid of the process that the state belongs to. A room calls this before it uses
 * its state: if the state belongs to the parent, forget() is called, once and under the lock of
 * self.h, and the state belongs to this process. In a vfork child nothing happens: it uses the
 * memory of its parent. Async-signal-safe if forget() is. */
void ptrc_process_own(_Atomic int32_t *owner, void (*forget)(void));

/* Is this a process that the constructor, an event, a call or a fork handler has seen? Not so a
 * vfork child, nor one that was forked without fork handlers and has not called us yet. */
bool ptrc_process_is_known(void);

/* After ptrc_process_init has succeeded: is this process in these two namespaces? */
bool ptrc_process_is_in(uint64_t pid_namespace, uint64_t time_namespace);

/* Open a stream that traces this process; the caller closes it. ENOENT: the stream is gone, and
 * its slot in the page has been cleared. Any other error is left in the slot as well.
 * Async-signal-safe. */
int ptrc_process_open_stream(uint64_t stream_id, int *fd);

/* pthread_atfork's handlers. The caller has blocked all signals before `prepare` and restores
 * them after the other two: a handler of the application may record an event, which may need the
 * lock that is held over the fork. */
void ptrc_process_fork_prepare(void);
void ptrc_process_fork_parent(void);
void ptrc_process_fork_child(void);

/* exit(): remove the page, make pages for children that need an ancestor's, give up the names. */
void ptrc_process_end(void);

#endif
