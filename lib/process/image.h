/* SPDX-License-Identifier: MIT */
/*
 * The page of this process, when a program image begins: the first one of the process, or one
 * that an exec put in place of another. All functions need the lock of self.h.
 */
#ifndef PTRC_LIB_PROCESS_IMAGE_H
#define PTRC_LIB_PROCESS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/process/page.h"

/* Find out who this process is, into ptrc_here, and open, lock and map its page; `at` as for
 * ptrc_page_open. EPERM, ENOMEM, EAGAIN. */
int ptrc_image_open_page(int32_t pid, void *at, int *dirfd, struct ptrc_page_file *f);
/* This image begins: make the page or take it over, and publish it. 0, or why the process
 * cannot be traced. */
int ptrc_image_start(int32_t pid);
/* The process has another effective user now. While nobody traces it, move its page to the
 * directory of that user, where controllers will look for it. */
void ptrc_image_move_home(uint32_t uid);
/* Remove what dead processes left in the directory: if is_due, or if there is much. */
void ptrc_image_sweep_sometimes(int dirfd, bool is_due);

#endif
