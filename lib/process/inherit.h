/* SPDX-License-Identifier: MIT */
/*
 * Joining the streams of ancestors: for program images that come by spawn, or by fork and
 * exec through images without the library, so that no fork handler has made their page.
 * Raw system calls only. process.h has what controllers call.
 */
#ifndef PTRC_LIB_PROCESS_INHERIT_H
#define PTRC_LIB_PROCESS_INHERIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/process/page_layout.h"

/* Is there any INHERITED stream in the directory? One system call. */
bool ptrc_inherit_is_announced(int dirfd);

/* Enter into the page of process pid, under its lock, the INHERITED streams of its nearest
 * ancestor that runs the library, and of processes between that have a page made ahead,
 * unless the branch it is on existed before the stream. */
void ptrc_inherit_join(int dirfd, uint32_t uid, int pid, uint64_t ns,
		       struct ptrc_page *page);

/* The page of process pid, which has not run the library yet, begins with the names of its
 * parent: it may be a forked child just before it says so itself. Under its lock. */
void ptrc_inherit_names(int dirfd, uint32_t uid, int pid, uint64_t ns,
			struct ptrc_page *page);

/* The caller ends: make pages for its children that have not run the library yet. */
void ptrc_inherit_prepare_children(int dirfd, uint32_t uid, uint64_t ns);

#endif
