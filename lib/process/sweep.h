/* SPDX-License-Identifier: MIT */
/* Removing from a directory of shared objects what dead processes left there. */
#ifndef PTRC_LIB_PROCESS_SWEEP_H
#define PTRC_LIB_PROCESS_SWEEP_H

#include <stdint.h>
#include <sys/types.h>

/* Remove the pages of dead processes, names objects that no process maps, and streams whose
 * controller and keeper are dead. The log of such a stream is finished first, see
 * ptrc_keeper_finish_orphan in keeper.h, which may take a while. */
void ptrc_sweep(int dirfd, uid_t uid);
/* The same, but leave streams with a log alone. This never takes long: starting and ending
 * programs and forked children do it. */
void ptrc_sweep_processes(int dirfd, uid_t uid);
/* Take a stream that has ended out of the pages of all processes. */
void ptrc_sweep_stream(int dirfd, uid_t uid, uint64_t stream_id);

#endif
