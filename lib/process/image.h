/* SPDX-License-Identifier: MIT */
/* The page of this process (list of its streams) when an image starts and in a forked child. An
 * image is the program between two execs. The caller of each function holds the lock of
 * PTRC_SELF_LOCK(). */
#ifndef PTRC_LIB_PROCESS_IMAGE_H
#define PTRC_LIB_PROCESS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Starts this image (the program since the last exec). If no stream traces the process, and it inherits none,
 * makes its events look at its bell, a counter that a controller raises before it makes a page. Returns false
 * if the process needs a page. */
bool ptrc_image_begin(int32_t pid);
/* Sets up a forked child whose parent has no page (list of its streams): makes the child's events look at its
 * own bell or, if that is impossible, makes a page. */
void ptrc_image_begin_child(int32_t pid);
/* Whether this process began without a page (list of its streams), and its bell (a counter) is not 0 now. */
bool ptrc_image_is_called(void);
/* Makes the page of the process (list of its streams) or takes it over, and publishes it. Called
 * when this program starts or its bell (a counter) has rung. Then calls ptrc_sweep_sometimes() or,
 * unless `sweeps`, ptrc_sweep_pages_sometimes(), which remove what dead processes left. Returns 0,
 * or the error because of which the process cannot be traced. */
int ptrc_image_start(int32_t pid, bool sweeps);
/* Called after the effective user of the process has changed to `uid`. If no stream traces the
 * process, moves its page (list of its streams) to the directory of that user, where controllers
 * will look for it. */
void ptrc_image_move_home(uint32_t uid);

/* Called before a fork. Copies what the child will take over from the page of this process, the list of its
 * streams. */
void ptrc_image_note_page(void);
/* Starts a forked child, which has a copy of its parent's memory. Maps a page (list of streams) of
 * its own in place of the parent's page, and puts into it the streams and names that the child
 * takes over. is_noted: ptrc_image_note_page ran before the fork. If it ran only in the child, it
 * may have copied streams that are younger than the child; these are left out. Errors: EPERM,
 * ENOMEM, EAGAIN. */
int ptrc_image_start_child(int32_t pid, bool is_noted);

#endif
