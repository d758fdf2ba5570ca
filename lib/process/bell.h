/* SPDX-License-Identifier: MIT */
/*
 * The object `bells` of a user: by process number, how many pages there may be. A program that is
 * not traced makes no page. It maps this object when it starts, and each event looks at the bell of
 * its process as it would look at its page: while the bell is 0, no page of the process exists, and
 * nobody traces it. Who makes a page rings the bell first, and who has removed one takes that back.
 *
 * Processes whose numbers differ by a multiple of 512 share a bell, so a bell that rings says no more than "look whether there is a
 * page". One that rings for ever, because a process died between ringing and making its page, costs
 * time and does no harm. The object stays as long as the user's directory.
 *
 * A process that has it mapped has the library: see ptrc_bells_are_mapped.
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

/* The bell of a process. */
static inline _Atomic uint64_t *ptrc_bell(struct ptrc_bells *bells, int pid)
{
	return &bells->pages[(uint32_t)pid % PTRC_BELL_COUNT];
}

/* Map the object of the user; it is made if there is none. ENOENT, EPERM, ENOMEM. */
PTRC_MUST_CHECK int ptrc_bells_open(int dirfd, uint32_t uid, struct ptrc_bells **bells);
/* The same for a program that starts, in the usual case: directory and object are there, and as
 * they should be; *dir: what stat() tells of the directory. False: only ptrc_bells_open can tell. */
bool ptrc_bells_open_usual(uint32_t uid, struct ptrc_bells **bells, struct stat *dir);
void ptrc_bells_unmap(struct ptrc_bells *bells);

/* A page of the process is about to be made; was removed, or was not made after all. */
void ptrc_bell_ring(struct ptrc_bells *bells, int pid);
void ptrc_bell_unring(struct ptrc_bells *bells, int pid);

/* Has the process mapped the object in this directory? False also if the caller may not know. */
bool ptrc_bells_are_mapped(int dirfd, int pid);

#endif
