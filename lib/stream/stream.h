/* SPDX-License-Identifier: MIT */
/*
 * A mapped stream object, and the changes of its state that controller and keeper make. This file
 * makes raw system calls only, because the keeper, which has no C library, uses it too. For traced
 * processes, lib/recorder/attach.c maps streams.
 */
#ifndef PTRC_LIB_STREAM_STREAM_H
#define PTRC_LIB_STREAM_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/filter.h"
#include "lib/stream/marks.h"
#include "lib/stream/pool.h"
#include "lib/stream/writer.h"

enum ptrc_role {
	/* Records START, STOP and FILTER in the controller's slot. */
	PTRC_ROLE_CONTROLLER,
	/* Records FLUSH_START and FLUSH_STOP in the keeper's slot, and START when it starts a
	 * stream again that had stopped because it was full. */
	PTRC_ROLE_KEEPER,
};

struct ptrc_live_reader;

struct ptrc_stream {
	union {
		struct ptrc_stream_header *header; /* the same as pool.header */
		struct ptrc_pool pool;
	};
	uint64_t map_size;
	uint32_t version;
	enum ptrc_role role;
	struct ptrc_writer own; /* the writer for the events of this role */
	struct ptrc_given_up given_up;
	struct ptrc_live_reader *tees; /* list of the tees of this process (live_reader.h) */
};

/* Maps the stream object, which is open for reading and writing on fd, and checks its sizes. The
 * caller may close the descriptor afterwards. For a keeper, also cleans up what a dead keeper has
 * left in the stream. EPROTO: the stream has a version that this library does not know; s->version
 * is that version. EINVAL: the object is no stream. ENOMEM. */
int ptrc_stream_map(int fd, enum ptrc_role role, struct ptrc_stream *s);
void ptrc_stream_unmap(struct ptrc_stream *s);

/*
 * Changes of state. Each takes state_lock itself; the caller makes sure that only one thread at a
 * time uses `s`. `origin` and `addr` go into the event that reports the change; without an origin
 * (NULL) the event comes from the trace system.
 */
void ptrc_stream_start(struct ptrc_stream *s, const struct ptrc_context *origin, uint64_t addr);
void ptrc_stream_stop(struct ptrc_stream *s, const struct ptrc_context *origin, uint64_t addr);
void ptrc_stream_change_filter(struct ptrc_stream *s, const struct ptrc_filter_change *change,
			       const struct ptrc_context *origin, uint64_t addr);
void ptrc_stream_clear(struct ptrc_stream *s);
/* Ends the stream: it accepts no more events. Wakes the readers that wait for an event and the
 * writers that wait for room. */
void ptrc_stream_end(struct ptrc_stream *s);
/* Suspends the stream, because the log is full and has the policy UNTIL_FULL. The stream is FULL
 * until it is cleared. Only the keeper calls this. */
void ptrc_stream_log_is_full(struct ptrc_stream *s);

/* Called when all events, including the STOP, of a run that stopped because the stream was full
 * have been reported or flushed. `run` is the number of the run. Restarts the stream unless
 * posix_trace_stop() was called meanwhile. True if the stream was restarted. */
bool ptrc_stream_stop_is_out(struct ptrc_stream *s, uint64_t run);

/* Completes a change of state that a process left half done when it died. Also stops a stream in
 * which not even the smallest event fits, unless its writers wait for room, and makes a LOOP
 * stream FULL if the next event would overwrite others. */
void ptrc_stream_complete(struct ptrc_stream *s);

/* Records FLUSH_START or FLUSH_STOP, unless the filter excludes it. Only the keeper calls this.
 * If `origin` is NULL, the flush is automatic: no program has asked for it. */
void ptrc_stream_marker(struct ptrc_stream *s, uint32_t event_id, const struct ptrc_context *origin,
			uint64_t addr);
/* Records an ERROR event, which says that damaged memory was skipped. */
void ptrc_stream_error(struct ptrc_stream *s, int error);

#endif
