/* SPDX-License-Identifier: MIT */
/* Removes what dead processes left in a directory of shared objects. */
#ifndef PTRC_LIB_PROCESS_SWEEP_H
#define PTRC_LIB_PROCESS_SWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Removes the pages of dead processes and names objects that no process maps. Puts streams aside
 * whose controller and keeper are dead (orphan.h), and finishes their logs, which may take a
 * while. log_fd: the log that the caller is about to start, to which nothing must be written; -1:
 * none. */
void ptrc_sweep(int dirfd, uid_t uid, int log_fd);
/* The same, but leaves streams with a log alone, so it never takes long. */
void ptrc_sweep_processes(int dirfd, uid_t uid);
/* Sweeps as ptrc_sweep_processes() if is_due, or if the number of entries in the directory is a
 * multiple of 256. The latter bounds what killed processes leave, and takes no time as long as
 * that is little. Called by programs that start or end, by forked children, and by processes that
 * make a names object; is_due at the end of a program that was traced, has traced, or has opened
 * a name. */
void ptrc_sweep_sometimes(int dirfd, uid_t uid, bool is_due);
/* Removes the pages of dead processes of this pid namespace if the number of entries is such a
 * multiple. Children that were forked without fork handlers call this, perhaps in an event, so it
 * takes no more stack than an event may. Such a child leaves nothing but a page, and a program
 * may fork in no other way. */
void ptrc_sweep_pages_sometimes(int dirfd, uid_t uid);
/* Takes a stream that has ended out of the pages of all processes. */
void ptrc_sweep_stream(int dirfd, uid_t uid, uint64_t stream_id);

#endif
