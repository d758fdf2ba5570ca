/* SPDX-License-Identifier: MIT */
/*
 * The object `bells` of a user has, for each process number, a counter (the bell): how many pages
 * may exist. A page (page_layout.h) lists the streams that trace a process; a program that is not
 * traced makes none. It maps this object when it starts, and each event call loads the bell of its
 * process instead of the page's first word: while the bell is 0, no page exists and no stream
 * traces the process. A controller rings the bell (adds 1) before it makes a page. After a page is
 * removed, the bell is unrung (1 is subtracted).
 *
 * Processes whose numbers differ by a multiple of 512 share a bell. So a bell that rings only means "look
 * whether there is a page". If a process dies after ringing the bell and before making the page, the bell
 * rings for ever, which costs time and does no other harm. The object stays as long as the user's directory.
 *
 * A process that has mapped this object has the library: see ptrc_bells_are_mapped.
 */
#ifndef PTRC_LIB_PROCESS_BELL_H
#define PTRC_LIB_PROCESS_BELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "lib/base/common.h"

#define PTRC_BELLS_NAME "bells"
#define PTRC_BELL_COUNT 512U

struct ptrc_bells {
	_Atomic uint64_t pages[PTRC_BELL_COUNT];
};

static inline _Atomic uint64_t *ptrc_bell(struct ptrc_bells *bells, int pid)
{
	return &bells->pages[(uint32_t)pid % PTRC_BELL_COUNT];
}

/* Maps the object `bells` of user `uid` in the directory dirfd, and makes the object if it does not exist.
 * Errors: ENOENT, EPERM, ENOMEM. */
PTRC_MUST_CHECK int ptrc_bells_open(int dirfd, uint32_t uid, struct ptrc_bells **bells);
/* Like ptrc_bells_open, but with fewer system calls, for a program that starts. Looks only in
 * /dev/shm/posixtrace-<uid>, and stores the stat() of this directory in *dir. Returns false if the
 * directory or the object does not exist, has a wrong owner, mode or type, or cannot be opened. The
 * caller then has to call ptrc_bells_open. */
bool ptrc_bells_open_usual(uint32_t uid, struct ptrc_bells **bells, struct stat *dir);
void ptrc_bells_unmap(struct ptrc_bells *bells);

/* ptrc_bell_ring adds 1 to the bell (counter) of the process before a page of the process is made.
 * ptrc_bell_unring subtracts 1 after the page was removed, or could not be made. */
void ptrc_bell_ring(struct ptrc_bells *bells, int pid);
void ptrc_bell_unring(struct ptrc_bells *bells, int pid);

/* Whether the process has mapped the object `bells` of this directory, that is, whether it has the
 * library. Returns false also if the caller may not read the mappings of the process in /proc. */
bool ptrc_bells_are_mapped(int dirfd, int pid);

#endif
