/* SPDX-License-Identifier: MIT */
/* Removing from a directory of shared objects what dead processes left in it. */
#ifndef PTRC_LIB_PROCESS_SWEEP_H
#define PTRC_LIB_PROCESS_SWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Remove the pages of dead processes, names objects that no process maps, and streams whose
 * controller and keeper are dead. The log of such a stream is finished first, see
 * ptrc_keeper_finish_orphan in keeper.h, which may take a while. */
void ptrc_sweep(int dirfd, uid_t uid);
/* The same, except that streams with a log stay. This never takes long. Ending programs do it. */
void ptrc_sweep_processes(int dirfd, uid_t uid);
/* Starting programs and forked children do this: sweep as above if is_due is set, or whenever the
 * number of entries in the directory is a multiple of 256. So there is a limit to what killed
 * processes leave, and as long as they leave little, this takes no time. */
void ptrc_sweep_sometimes(int dirfd, uid_t uid, bool is_due);
/* Take a stream that has ended out of the pages of all processes. */
void ptrc_sweep_stream(int dirfd, uid_t uid, uint64_t stream_id);

#endif
