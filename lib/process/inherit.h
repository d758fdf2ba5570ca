/* SPDX-License-Identifier: MIT */
/*
 * How a process joins the INHERITED streams of its ancestors. For a forked child, a fork handler
 * copies them from the parent's page. A process that was spawned, or that ran a program without
 * the library before, may have no page when the library starts in it: it looks for them in the
 * pages of its ancestors. Raw system calls only.
 */
#ifndef PTRC_LIB_PROCESS_INHERIT_H
#define PTRC_LIB_PROCESS_INHERIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "lib/process/page.h"

/* Announces an INHERITED stream: makes an empty subdirectory `i.<id>`, so that starting programs
 * look at their ancestors. Comes after the object `s.<id>` is made and before the first process
 * is attached. ENOMEM. */
int ptrc_inherit_announce(int dirfd, uint64_t stream_id);
/* Removes the subdirectory of a stream that has ended, and takes the stream out of the pages of
 * all processes that joined it. */
void ptrc_inherit_withdraw(int dirfd, uint64_t stream_id);
/* Is any INHERITED stream announced in the directory? One system call; none for the second
 * function, which gets the stat() of the directory. */
bool ptrc_inherit_is_announced(int dirfd);
bool ptrc_inherit_is_announced_in(const struct stat *dir);

/* Enters the INHERITED streams of the page `from` into the page of a child that started at
 * `ticks`, except for streams that are younger than the child. The caller holds the page's
 * lock. */
void ptrc_inherit_take(const struct ptrc_page *from, uint64_t ticks, struct ptrc_page *page);
/* Enters into `page`, which is the page of that place, the INHERITED streams of the ancestors, up
 * to the nearest one that runs the library. (Those between may have pages, too, made by a
 * controller.) Leaves out a stream that is younger than the child of that ancestor from which the
 * process descends. The caller holds the page's lock. *copy is room for an ancestor's page, which
 * is too large for the small stacks on which events may come here; its contents do not matter.
 * ENOMEM: /proc cannot be read, so no ancestor was found. */
int ptrc_inherit_join(const struct ptrc_page_place *place, struct ptrc_page *page,
		      struct ptrc_page *copy);
/* Enters the names of the parent into the page of a process that has not run the library yet: it
 * may be a forked child that has not noticed the fork, and such a child keeps its parent's ids.
 * The caller holds the page's lock. */
void ptrc_inherit_names(const struct ptrc_page_place *place, struct ptrc_page *page);

/* The calling process, whose page is at that place, ends: makes pages for its children that have
 * not run the library yet, because they will not find this ancestor any more. */
void ptrc_inherit_prepare_children(const struct ptrc_page_place *own);

#endif
