/* SPDX-License-Identifier: MIT */
/*
 * How a process joins the INHERITED streams of its ancestors. For a forked child, a fork handler copies them
 * from the parent's page. A process that was spawned, or that ran a program without the library before, may
 * have no page when the library starts in it. It looks for such streams in the pages of its ancestors. All
 * this uses raw system calls only.
 */
#ifndef PTRC_LIB_PROCESS_INHERIT_H
#define PTRC_LIB_PROCESS_INHERIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "lib/process/page.h"

/* Announces an INHERITED stream: makes an empty subdirectory `i.<id>`, so that programs that start look at
 * their ancestors. Called after the object `s.<id>` was made and before the first process is attached. Error:
 * ENOMEM. */
int ptrc_inherit_announce(int dirfd, uint64_t stream_id);
/* Removes the subdirectory of a stream that has ended. Takes the stream out of the pages (lists of streams)
 * of all processes that joined it. */
void ptrc_inherit_withdraw(int dirfd, uint64_t stream_id);
/* Whether any INHERITED stream is announced in the directory. ptrc_inherit_is_announced() makes one system call;
 * ptrc_inherit_is_announced_in() makes none, because it gets the stat() of the directory. */
bool ptrc_inherit_is_announced(int dirfd);
bool ptrc_inherit_is_announced_in(const struct stat *dir);

/* Puts the INHERITED streams of `from`, the page of an ancestor, into `page`. Leaves out streams
 * that are younger than the child that started at `ticks` (field 22 of its stat file), and streams
 * with another names object than `page`. The caller holds the lock of `page`. */
void ptrc_inherit_take(const struct ptrc_page *from, uint64_t ticks, struct ptrc_page *page);
/* Puts INHERITED streams of the ancestors of the process at `place` into its page (list of its
 * streams), `page`. Looks at the ancestors from the nearest one up to the first that runs the
 * library. (An ancestor that does not run it may have a page, too, made by a controller.) An
 * ancestor's stream is left out if it is younger than the ancestor's child in this line of descent
 * (for the parent, the process itself). The caller holds the lock of `page`. *copy is memory for
 * the page of an ancestor; this function may run on a stack that is too small for it. ENOMEM: /proc
 * cannot be read, so no ancestor was found. */
int ptrc_inherit_join(const struct ptrc_page_place *place, struct ptrc_page *page,
		      struct ptrc_page *copy);
/* Stores in `page` that the process at `place` has the event names of its parent (names_from). The
 * library has not run in the process yet. But if the process was forked without fork handlers, it
 * goes on using the ids of its parent's names. The caller holds the lock of `page`. */
void ptrc_inherit_names(const struct ptrc_page_place *place, struct ptrc_page *page);

/* Called when the calling process, whose page is at this place, ends. Makes pages (lists of streams) for its
 * children that have not run the library yet, because they will not find this ancestor any more. */
void ptrc_inherit_prepare_children(const struct ptrc_page_place *own);

#endif
