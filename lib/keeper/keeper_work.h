/* SPDX-License-Identifier: MIT */
/*
 * The operations of a keeper on a stream and its log: flush, clear, close. Freestanding: makes raw
 * system calls only.
 */
#ifndef PTRC_LIB_KEEPER_KEEPER_WORK_H
#define PTRC_LIB_KEEPER_KEEPER_WORK_H

#include <stdbool.h>

#include "lib/base/common.h"
#include "lib/log/log_write.h"
#include "lib/model/names.h"
#include "lib/stream/stream.h"

struct ptrc_keeper_work {
	int stream_fd, names_fd;
	struct ptrc_stream stream;
	struct ptrc_log_writer writer;
	const struct ptrc_names_object *names;
	bool is_orphans;  /* the log is an orphan's (dead controller) */
	bool is_for_dead; /* the controller is dead: after a failure, a later keeper may finish
			   * the log */
	bool is_closing; /* the log is being closed: a flush that fails leaves in the log what it has
			  * written of its events */
	bool has_failed; /* the last flush failed: the next one waits for keeper_life.c's timer */
	/* number of events that the last flush left out and, because it failed, did not count as
	 * lost */
	uint64_t left_out;
};

/* Maps the stream, unless it is mapped, and the names object (the table of event names). ENOMEM,
 * EINVAL. */
PTRC_MUST_CHECK int ptrc_keeper_work_map(struct ptrc_keeper_work *k);

/* Moves all events recorded before the call from the stream into the log, as far as the log's
 * policy allows. On error (ENOMEM, or the error number of a write) the events stay in the stream, and
 * the log has none of them; but if the log is being closed, it has those that could be written. */
PTRC_MUST_CHECK int ptrc_keeper_work_drain(struct ptrc_keeper_work *k);
/* For a keeper that replaces a dead one: takes those events out of the stream that the dead keeper
 * had written to the log but not yet taken out. */
void ptrc_keeper_work_recover(struct ptrc_keeper_work *k);

/* Makes an automatic flush, that is, one without a command. posix_trace_get_status() reports errors
 * of this function and of ptrc_keeper_work_rotate(). */
void ptrc_keeper_work_flush(struct ptrc_keeper_work *k);
/* Continues a rotated log in the next member (file), or if that is impossible in the same one. */
void ptrc_keeper_work_rotate(struct ptrc_keeper_work *k);
/* Makes the last flush of a stopped stream, and ends its log. is_automatic: no command asked for
 * this. ENOMEM, or the error number of a failed write. If ptrc_keeper_may_wait() is true for the
 * error, the log is not closed, and the stream keeps the events that the log lacks. */
PTRC_MUST_CHECK int ptrc_keeper_work_close(struct ptrc_keeper_work *k, bool is_automatic);
/* Carries out header.keeper_command. Errors as for ptrc_keeper_work_close(); EINVAL: no such
 * command. */
PTRC_MUST_CHECK int ptrc_keeper_work_obey(struct ptrc_keeper_work *k);

/* Whether finishing the log of a dead controller, which failed with `error`, may succeed later:
 * when the disk has room, in a process with other limits, or in another file. */
PTRC_MUST_CHECK bool ptrc_keeper_may_wait(const struct ptrc_keeper_work *k, int error);

#endif
