/* SPDX-License-Identifier: MIT */
/*
 * What a forked child takes over from its parent: the streams that it joins and the names.
 * The caller has the lock of self.h.
 */
#ifndef PTRC_LIB_PROCESS_FORK_H
#define PTRC_LIB_PROCESS_FORK_H

#include <stdbool.h>
#include <stdint.h>

/* Note what is in the page of this process, for a child that is made now. */
void ptrc_fork_note_page(void);
/* In the child, which has its parent's memory: map a page of its own in place of the parent's
 * page, and enter there what it inherits. is_noted: the note was taken before the fork; if it
 * was taken later, streams may stand in it that are younger than the child. EPERM, ENOMEM,
 * EAGAIN. */
int ptrc_fork_start_child(int32_t pid, bool is_noted);

#endif
