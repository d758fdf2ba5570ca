/* SPDX-License-Identifier: MIT */
/* The page of this process when a program image starts (the first one of the process, or one
 * that an exec started) and in a forked child. The caller of each function holds the lock of
 * self.h. */
#ifndef PTRC_LIB_PROCESS_IMAGE_H
#define PTRC_LIB_PROCESS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Starts this image: if no stream traces the process and none can be inherited, makes events
 * check the bell of the process. Returns false if the process needs a page. */
bool ptrc_image_begin(int32_t pid);
/* A forked child whose parent has no page starts. */
void ptrc_image_begin_child(int32_t pid);
/* Has this process begun without a page, and does its bell ring? */
bool ptrc_image_is_called(void);
/* This image starts, or its bell has rung: makes the page or takes it over, and publishes it. If
 * `sweeps`, also removes what dead processes left, as a program does at its start (sweep.h).
 * Returns 0, or why the process cannot be traced. */
int ptrc_image_start(int32_t pid, bool sweeps);
/* The process has another effective user now. If no stream traces it, moves its page to the
 * directory of that user, where controllers will look for it. */
void ptrc_image_move_home(uint32_t uid);

/* Copies what a child that is forked now takes over from the page of this process. */
void ptrc_image_note_page(void);
/* Starts a forked child, which has a copy of its parent's memory: maps a page of its own in place
 * of the parent's page, and enters the streams and names that it takes over. is_noted:
 * ptrc_image_note_page ran before the fork; a later note may name streams that are younger than
 * the child. EPERM, ENOMEM, EAGAIN. */
int ptrc_image_start_child(int32_t pid, bool is_noted);

#endif
