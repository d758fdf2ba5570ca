/* SPDX-License-Identifier: MIT */
/*
 * Joining the streams of ancestors. A fork handler does that for forked children. A program that
 * was spawned, or executed in a child whose image did not have the library, finds no page of its
 * own: it walks up its ancestors. Raw system calls only.
 */
#ifndef PTRC_LIB_PROCESS_INHERIT_H
#define PTRC_LIB_PROCESS_INHERIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/process/page_layout.h"

/* An INHERITED stream exists in the directory from now on: make an empty subdirectory
 * `i.<id>`, whose presence tells starting programs to walk up their ancestors. Call this when the
 * object `s.<id>` is there and before the first process is attached. ENOMEM. */
int ptrc_inherit_announce(int dirfd, uint64_t stream_id);
/* The stream has ended: remove the subdirectory, and clear the slots of all processes that
 * joined the stream. */
void ptrc_inherit_withdraw(int dirfd, uint64_t stream_id);
/* Is there any INHERITED stream in the directory? One system call. */
bool ptrc_inherit_is_announced(int dirfd);

/* A process that started at `ticks` joins the INHERITED streams in its parent's page `from` that
 * are not younger: enter them into its page, under the page's lock. */
void ptrc_inherit_take(const struct ptrc_page *from, uint64_t ticks, struct ptrc_page *page);
/* Enter into the page of process pid, under its lock, the INHERITED streams of its nearest
 * ancestor that runs the library, and those of processes in between for which a page was made
 * before they ran it. Streams younger than the branch that the process is on are left out. */
void ptrc_inherit_join(int dirfd, uint32_t uid, int pid, uint64_t ns, struct ptrc_page *page);
/* Process pid has not run the library yet. Let its page begin with the names of its parent,
 * because it may be a forked child that is about to do the same. Under the page's lock. */
void ptrc_inherit_names(int dirfd, uint32_t uid, int pid, uint64_t ns, struct ptrc_page *page);

/* The calling process ends: make pages for those of its children that have not run the library
 * yet, as they will not find this ancestor any more. */
void ptrc_inherit_prepare_children(int dirfd, uint32_t uid, uint64_t ns);

#endif
