/* SPDX-License-Identifier: MIT */
/*
 * Writing a log (docs/log-format.md): used by the keeper, hence raw system calls only and
 * no allocation but mmap.
 *
 * The writer's notes are kept in header.log_state, so that after the keeper's death
 * another can go on where it stopped. Everything else of it is private.
 */
#ifndef PTRC_LIB_LOG_LOG_WRITER_H
#define PTRC_LIB_LOG_LOG_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/stream/drain.h"
#include "lib/log/log_batch.h"
#include "lib/log/log_layout.h"
#include "lib/model/names.h"
#include "lib/stream/stream.h"

#define PTRC_LOG_STATE_FULL UINT64_C(1)	      /* UNTIL_FULL: nothing is added any more */
#define PTRC_LOG_STATE_AFTER_STOP UINT64_C(2) /* the last event but markers is a STOP */
#define PTRC_LOG_STATE_WRAPPED UINT64_C(4)    /* ring: not in its first lap */
#define PTRC_LOG_STATE_FILTER_UNKNOWN UINT64_C(8) /* ring: see filter */
#define PTRC_LOG_STATE_MARKERS_WAIT \
	UINT64_C(16) /* a flush failed, its markers are unflushed */
/* With written_until: struct ptrc_drain_given. */
#define PTRC_LOG_STATE_GAP_TOLD UINT64_C(32)
#define PTRC_LOG_STATE_RUN_OVER UINT64_C(64)
#define PTRC_LOG_STATE_RUN_TAG_SHIFT 8
#define PTRC_LOG_STATE_GIVEN \
	(PTRC_LOG_STATE_GAP_TOLD | PTRC_LOG_STATE_RUN_OVER | UINT64_C(0xff00))

/* All 64-bit words, as header.log_state has two copies of it and says which one
 * counts. */
struct ptrc_log_state {
	uint64_t
		offset; /* sequential: bytes in the log; ring: place of the next packet */
	uint64_t seq;	/* of the next EVENTS packet */
	uint64_t names; /* how many are in the log */
	uint64_t flags;
	uint64_t events, bytes; /* in the log now */
	uint64_t lost_events;	/* discarded, too big */
	uint64_t oldest_seq;	/* the rest only in a ring */
	uint64_t overwritten_events;
	int64_t lost_first_ns, lost_last_ns;
	uint64_t tail; /* end of what stands behind the ring */
	/* Counter, the end of a flush: what it has taken and is still in the stream is in the
	 * log all the same, its keeper died before it could say so. 0: there is none. */
	uint64_t written_until;
	uint64_t filter[17]; /* in force behind the last event; only in a ring */
};
#define PTRC_LOG_STATE_WORDS 31U
_Static_assert(sizeof(struct ptrc_log_state) <= 8 * PTRC_LOG_STATE_WORDS &&
		       1 + 2 * PTRC_LOG_STATE_WORDS <= 64,
	       "two copies fit in log_state");

struct ptrc_log_writer {
	struct ptrc_stream_header *header;
	int fd;
	uint32_t kind; /* PTRC_LOG_RING or _SEQUENTIAL */
	int policy;
	bool is_regular, is_socket;
	bool must_not_append; /* O_APPEND could not be shed by reopening */
	uint64_t limit;	      /* bytes of events */
	uint64_t ring_size;
	uint64_t close_reserve; /* of the file size limit, for STATUS and END */
	struct ptrc_log_state state;
	struct ptrc_log_state retry; /* before a flush that failed midway */
	bool has_retry;
	int64_t skip_ns; /* what is no file has the events up to this time already */
	int64_t last_ns; /* of the last slice written */
	const struct ptrc_names_object *names; /* as last given */
	struct ptrc_log_buffer out;
	struct ptrc_log_batch batch;
	struct ptrc_log_buffer held,
		held_next;	    /* markers behind the last STOP: UNTIL_FULL */
	struct ptrc_log_buffer lap; /* ring: struct ptrc_log_lap_entry, oldest first */
	uint64_t lap_first;	    /* entries before it are gone */
	/* Asked once a second while output stalls; true: give up, EPIPE. May be null. */
	bool (*give_up)(void *arg);
	void *arg;
};

/* Regular files: LOOP, UNTIL_FULL, APPEND; FIFO, pipe, socket, character device: APPEND.
 * EBADF: not open for writing. EINVAL. */
PTRC_MUST_CHECK int ptrc_log_check(int fd, int log_policy);

/* Does not write yet. fd stays the caller's, and is one that nobody else changes (flags,
 * offset). is_restart: goes on where header.log_state says. ENOMEM, EINVAL. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_writer_init(struct ptrc_log_writer *w,
					 struct ptrc_stream_header *header, int fd,
					 bool is_restart);
PTRC_NONNULL() void ptrc_log_writer_free(struct ptrc_log_writer *w);

/* All of the following return the error number of a failed write, or ENOMEM. */

/* Empty the file, write the head. */
PTRC_NONNULL() PTRC_MUST_CHECK int ptrc_log_writer_head(struct ptrc_log_writer *w);
/* What of the names is not in the log yet. */
PTRC_NONNULL(1)
PTRC_MUST_CHECK int ptrc_log_writer_names(struct ptrc_log_writer *w,
					  const struct ptrc_names_object *names);

/* A flush goes: begin, add each run, end. Runs are copied; end writes them, in time order
 * over all of them, so that a log that is cut short lacks nothing before its end. If that
 * fails the next flush must bring the same events again. */
PTRC_NONNULL() void ptrc_log_writer_begin(struct ptrc_log_writer *w);
PTRC_NONNULL()
PTRC_MUST_CHECK
int ptrc_log_writer_add(struct ptrc_log_writer *w, const struct ptrc_run *run);
PTRC_NONNULL() PTRC_MUST_CHECK int ptrc_log_writer_end(struct ptrc_log_writer *w);

/* UNTIL_FULL, and it is. */
static inline bool ptrc_log_writer_is_full(const struct ptrc_log_writer *w)
{
	return w->state.flags & PTRC_LOG_STATE_FULL;
}

/* Empty the log; where that cannot be, note that the filter is empty from now_ns on. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_writer_clear(struct ptrc_log_writer *w, int64_t now_ns);
/* STATUS and END. */
PTRC_NONNULL() PTRC_MUST_CHECK int ptrc_log_writer_close(struct ptrc_log_writer *w);
/* Another process will try again what has failed here. */
PTRC_NONNULL() void ptrc_log_writer_leave(struct ptrc_log_writer *w);
/* Store state in header.log_state, and what others want to know in the header. */
PTRC_NONNULL() void ptrc_log_writer_save(struct ptrc_log_writer *w);

#endif
