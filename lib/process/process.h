/* SPDX-License-Identifier: MIT */
/*
 * The life of this process as a process that can be traced: start of the program, fork, and exit.
 * lib/life calls the functions of this file at these moments. But the first event or call may come
 * before the constructor, and a child may be forked without fork handlers (_Fork, raw clone). So
 * code that needs the page of this process first calls ptrc_process_init. Code that keeps state in
 * ordinary memory first calls ptrc_process_own.
 */
#ifndef PTRC_LIB_PROCESS_PROCESS_H
#define PTRC_LIB_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/process/self.h"

/* Makes the page of this process (list of its streams) if there is none yet, also in a forked child for which
 * no fork handler has run. May be called at any time. Async-signal-safe; uses raw system calls only. Returns
 * 0, or the error because of which this process cannot be traced (EPERM, ENOMEM, ...). */
int ptrc_process_init(void);
/* The constructor calls this instead of ptrc_process_init. If the process needs no page yet
 * (ptrc_image_begin), this makes none; the next event, fork or call that needs the page makes it.
 * Otherwise this makes the page, and removes what dead processes left (sweep.h). If an event came
 * before the constructor, it has made the page, but has removed at most pages of dead processes,
 * because its thread may have had a small stack. Then this only removes what dead processes
 * left. */
void ptrc_process_begin(void);

/* A forked child gets a copy of all state in ordinary memory, but that state belongs to its parent. *owner,
 * initially 0, is the pid of the process to which the state belongs. A source file with such state calls this
 * before it uses the state. If the state belongs to the parent, this calls forget(), once and under the lock of
 * self.h, and makes this process the owner. It does nothing in a vfork child, which uses its parent's memory.
 * Async-signal-safe if forget() is. */
void ptrc_process_own(_Atomic int32_t *owner, void (*forget)(void));

/* Whether the library has run in this process. Returns false in a vfork child, and in a child that was forked
 * without fork handlers and has not called the library yet. */
bool ptrc_process_is_known(void);

/* Whether this process is in these two namespaces (inode numbers). Valid only after
 * ptrc_process_init has succeeded. */
bool ptrc_process_is_in(uint64_t pid_namespace, uint64_t time_namespace);

/* If the refusal (lib/base/shared_version.h) means that memory or descriptors are short or that versions differ,
 * leaves a note that this process could not map the stream. */
void ptrc_process_tell_untraced(uint64_t stream_id, uint32_t refusal);

/* Opens a stream that traces this process. The caller closes it. ENOENT: the stream does not exist
 * any more, and its slot in the page (list of streams) has been cleared. EPROTO: the names of the
 * stream have a version that this library does not know; *version is that version. Each error
 * except ENOENT is also stored in the slot, for ptrc_inspect_stream. Async-signal-safe. */
int ptrc_process_open_stream(uint64_t stream_id, int *fd, uint32_t *version);

/* The fork handlers. The caller blocks all signals before ptrc_process_fork_prepare, and restores them after one of
 * the other two. This is necessary because a signal handler may record an event, which may need the lock that is
 * held during the fork. */
void ptrc_process_fork_prepare(void);
void ptrc_process_fork_parent(void);
void ptrc_process_fork_child(void);

/* Called at exit(). Makes pages (lists of streams) for children that have none yet, because they
 * would later look for the page of this process; removes that page, and gives up the names
 * object. */
void ptrc_process_end(void);

#endif
