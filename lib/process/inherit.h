/* SPDX-License-Identifier: MIT */
/*
 * How a process joins the INHERITED streams of its ancestors. For a forked child a fork handler
 * copies them from the parent's page. A process may also have no page when the library starts in
 * it, because it was spawned, or ran a program without the library before: it looks for them in
 * the pages of its ancestors. Raw system calls only.
 */
#ifndef PTRC_LIB_PROCESS_INHERIT_H
#define PTRC_LIB_PROCESS_INHERIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "lib/process/page.h"

/* Announce an INHERITED stream: make an empty subdirectory `i.<id>`, which tells starting programs
 * that it is worth looking at their ancestors. The object `s.<id>` is there already; the first
 * process is attached later. ENOMEM. */
int ptrc_inherit_announce(int dirfd, uint64_t stream_id);
/* The stream has ended: remove the subdirectory, and clear the slots of all processes that joined
 * the stream. */
void ptrc_inherit_withdraw(int dirfd, uint64_t stream_id);
/* Is any INHERITED stream announced in the directory? One system call. */
bool ptrc_inherit_is_announced(int dirfd);
/* The same from what stat() tells of the directory. */
bool ptrc_inherit_is_announced_in(const struct stat *dir);

/* Enter into the page of a process that started at `ticks` the INHERITED streams of its parent's
 * page `from`, except those that are younger than the process. The caller has the page's lock. */
void ptrc_inherit_take(const struct ptrc_page *from, uint64_t ticks, struct ptrc_page *page);
/* Enter into `page`, which is the page of that place, the INHERITED streams of the ancestors, up
 * to the nearest one that runs the library. (Those below it may have pages, too, which a
 * controller made.) A stream is left out if it is younger than the child of that ancestor through
 * which the process descends. The caller has the page's lock. *copy has no contents before or after:
 * it is room for an ancestor's page, which is too large for the stacks on which events may come
 * here. ENOMEM: /proc cannot be looked at, so no ancestor was found. */
int ptrc_inherit_join(const struct ptrc_page_place *place, struct ptrc_page *page,
		      struct ptrc_page *copy);
/* Note the names of the parent in the page of a process that has not run the library yet. It may
 * be a forked child that has not noticed the fork, and such a child keeps its parent's ids. The
 * caller has the page's lock. */
void ptrc_inherit_names(const struct ptrc_page_place *place, struct ptrc_page *page);

/* The calling process, whose page is at that place, ends. Make pages for its children that have
 * not run the library yet, because they will not find this ancestor any more. */
void ptrc_inherit_prepare_children(const struct ptrc_page_place *own);

#endif
