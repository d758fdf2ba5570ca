/* SPDX-License-Identifier: MIT */
/* Removes what dead processes have left in a directory of shared objects. */
#ifndef PTRC_LIB_PROCESS_SWEEP_H
#define PTRC_LIB_PROCESS_SWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Removes the pages (lists of streams) of dead processes, and names objects (tables of event names) that no
 * process maps. Puts aside streams whose controller and keeper are dead (orphan.h), and finishes their logs,
 * which may take a while. log_fd is the log that the caller is about to start, which must not be taken for
 * the log of an orphan; -1: there is none. */
void ptrc_sweep(int dirfd, uid_t uid, int log_fd);
/* Like ptrc_sweep(), but leaves a stream alone if its log has been started. So it takes long (100
 * ms) only if it finds a stream that has no log, whose controller has died, and whose traced
 * processes still run. */
void ptrc_sweep_processes(int dirfd, uid_t uid);
/* Does what ptrc_sweep_processes() does, if is_due or if the number of entries in the directory is
 * a multiple of 256. So what killed processes leave is limited, and most calls take no time. Called
 * by programs that start or end, by forked children, and by processes that make a names object.
 * is_due is true at the end of a program that was traced, has traced, or has opened a name, and at
 * the start of a program if an earlier program of the process had the library. */
void ptrc_sweep_sometimes(int dirfd, uid_t uid, bool is_due);
/* Removes the pages (lists of streams) of dead processes of this pid namespace, if the number of entries in
 * the directory is a multiple of 256. Called by children that were forked without fork handlers. They may be
 * in an event, so this function takes no more stack than an event may take. If such a child is killed, it
 * leaves only its page. The child must call this itself, because a program may make all its children in this
 * way, so that no other process sweeps. */
void ptrc_sweep_pages_sometimes(int dirfd, uid_t uid);
/* Takes a stream that has ended out of the pages (lists of streams) of all processes. */
void ptrc_sweep_stream(int dirfd, uid_t uid, uint64_t stream_id);

#endif
