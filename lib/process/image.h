/* SPDX-License-Identifier: MIT */
/*
 * The page of this process when a program image begins (the first one of the process, or one that
 * an exec put in place of another), and when a forked child does. The caller of each function has
 * the lock of self.h.
 */
#ifndef PTRC_LIB_PROCESS_IMAGE_H
#define PTRC_LIB_PROCESS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* This image begins: if nobody traces the process and no stream could be inherited, have it look
 * at its bell. False: it needs a page. */
bool ptrc_image_begin(int32_t pid);
/* The same in a forked child whose parent has no page. */
void ptrc_image_begin_child(int32_t pid);
/* Has the bell rung of a process that began without a page? */
bool ptrc_image_is_called(void);
/* This image begins, or is called: make the page or take it over, and publish it. sweeps: do what a
 * program does at its begin for those that are dead (sweep.h). 0, or why the process cannot be traced. */
int ptrc_image_start(int32_t pid, bool sweeps);
/* The process has another effective user now. While no stream traces it, move its page to the
 * directory of that user, where controllers will look for it. */
void ptrc_image_move_home(uint32_t uid);

/* Note what is in the page of this process, for a child that is forked now. */
void ptrc_image_note_page(void);
/* A forked child, which has its parent's memory, begins: map a page of its own in place of the
 * parent's page, and enter the streams and names that it takes over from its parent. is_noted: the
 * note was taken before the fork. A note that was taken later may name streams that are younger
 * than the child. EPERM, ENOMEM, EAGAIN. */
int ptrc_image_start_child(int32_t pid, bool is_noted);

#endif
