/* SPDX-License-Identifier: MIT */
/* Removing from a directory of shared objects what dead processes left in it. */
#ifndef PTRC_LIB_PROCESS_SWEEP_H
#define PTRC_LIB_PROCESS_SWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Remove the pages of dead processes and names objects that no process maps. Put streams aside whose
 * controller and keeper are dead (orphan.h), and finish their logs, which may take a while. log_fd:
 * the log that the caller is about to begin, so that nothing must be written to it; -1: none. */
void ptrc_sweep(int dirfd, uid_t uid, int log_fd);
/* The same, except that streams with a log stay as they are. This never takes long. */
void ptrc_sweep_processes(int dirfd, uid_t uid);
/* Programs that start or end, forked children, and processes that make a names object do this: sweep
 * as above if is_due is set, which it is at the end of a program that was traced, has traced or has
 * opened a name; or whenever the number of entries in the directory is a multiple of 256. So there is
 * a limit to what killed processes leave, and as long as they leave little, this takes no time. */
void ptrc_sweep_sometimes(int dirfd, uid_t uid, bool is_due);
/* Children that were forked without fork handlers do this, in an event perhaps: whenever the number of
 * entries is such a multiple, remove the pages of dead processes of this pid namespace. There may be
 * programs that fork in no other way, and a page is all that a child leaves of which only events are
 * known. This takes no more stack than an event may. */
void ptrc_sweep_pages_sometimes(int dirfd, uid_t uid);
/* Take a stream that has ended out of the pages of all processes. */
void ptrc_sweep_stream(int dirfd, uid_t uid, uint64_t stream_id);

#endif
