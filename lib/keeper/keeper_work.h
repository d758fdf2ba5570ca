/* SPDX-License-Identifier: MIT */
/*
 * What a keeper does, in whatever process: in its own program, in a forked copy of the
 * controller, or in that of who finishes an orphaned log. Raw system calls only.
 */
#ifndef PTRC_LIB_KEEPER_KEEPER_WORK_H
#define PTRC_LIB_KEEPER_KEEPER_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/base/liveness.h"
#include "lib/log/log_writer.h"
#include "lib/model/names.h"
#include "lib/stream/stream.h"

/* Where the keeper's own program finds its descriptors. */
#define PTRC_KEEPER_LOG_FD 3
#define PTRC_KEEPER_STREAM_FD 4
#define PTRC_KEEPER_NAMES_FD 5
#define PTRC_KEEPER_DIR_FD 6
#define PTRC_KEEPER_FD_COUNT 4

/* First argument of the program. */
#define PTRC_KEEPER_ARG_NEW "new"
#define PTRC_KEEPER_ARG_RESTART "restart"

struct ptrc_keeper_work {
	int log_fd, stream_fd, names_fd, dirfd;
	struct ptrc_stream stream;
	struct ptrc_log_writer writer;
	const struct ptrc_names_object *names;
	struct ptrc_liveness life;
	_Atomic bool is_controller_dead;
	bool has_given_up;    /* the output stalls, and we were told to end */
	bool has_failed;      /* the last flush: automatic ones are less eager then */
	int64_t next_look_ns; /* CLOCK_MONOTONIC; 0: not set */
};

/* Map everything and make the writer ready, without writing. The descriptors are used as
 * they are; that of the log must be nobody else's. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_keeper_work_open(struct ptrc_keeper_work *k, bool is_restart);
PTRC_NONNULL() void ptrc_keeper_work_release(struct ptrc_keeper_work *k);
/* The final flush of a stopped stream, and the end of its log. is_automatic: nobody's
 * call asked for it. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_keeper_work_close(struct ptrc_keeper_work *k, bool is_automatic);

/* Do what header.keeper_command says. */
PTRC_NONNULL() PTRC_MUST_CHECK int ptrc_keeper_work_obey(struct ptrc_keeper_work *k);

/* Has a guest failed for want of what there may be at another time, or in another process?
 * Then its log is not closed, nor is anything lost. */
PTRC_NONNULL()
bool ptrc_keeper_work_may_wait(const struct ptrc_keeper_work *k, int err);

/* The keeper's whole life. All signals are blocked; the descriptors have the numbers
 * above, no others are open. */
__attribute__((noreturn)) void ptrc_keeper_work_run(bool is_restart);

#endif
