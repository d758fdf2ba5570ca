/* SPDX-License-Identifier: MIT */
/*
 * A mapped stream object, and the changes of its state by controller and keeper. Raw system calls
 * only, because the keeper uses it too. Traced processes map a stream in lib/recorder/attach.c.
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
	PTRC_ROLE_CONTROLLER, /* records START, STOP, FILTER in the controller's slot */
	PTRC_ROLE_KEEPER,     /* records FLUSH_START, FLUSH_STOP, automatic START in its own */
};

struct ptrc_live_reader;

struct ptrc_stream {
	union {
		struct ptrc_stream_header *header; /* the same as pool.header */
		struct ptrc_pool pool;
	};
	uint64_t map_size;
	enum ptrc_role role;
	struct ptrc_writer own; /* records the role's own events */
	struct ptrc_given_up given_up;
	struct ptrc_live_reader *tees; /* those of this process (live_reader.h) */
};

/* Maps the stream object open for reading and writing on fd, and checks its sizes. The caller
 * may close the descriptor. A keeper takes over what a dead keeper has left in the stream.
 * EPROTO: a stream of another version; EINVAL: no stream; ENOMEM. */
int ptrc_stream_map(int fd, enum ptrc_role role, struct ptrc_stream *s);
void ptrc_stream_unmap(struct ptrc_stream *s);

/*
 * Changes of state. Each takes state_lock itself; the caller makes sure that one thread at a time
 * uses `s`. `origin` and `addr` go into the event that reports the change; without an origin (NULL)
 * the event comes from the trace system.
 */
void ptrc_stream_start(struct ptrc_stream *s, const struct ptrc_context *origin, uint64_t addr);
void ptrc_stream_stop(struct ptrc_stream *s, const struct ptrc_context *origin, uint64_t addr);
void ptrc_stream_change_filter(struct ptrc_stream *s, const struct ptrc_filter_change *change,
			       const struct ptrc_context *origin, uint64_t addr);
void ptrc_stream_clear(struct ptrc_stream *s);
/* Ends the stream: it accepts no more events, and all that wait for one wake up. */
void ptrc_stream_end(struct ptrc_stream *s);
/* The log is full and has the policy UNTIL_FULL: suspends the stream, which is FULL until a
 * clear. Keeper only. */
void ptrc_stream_log_is_full(struct ptrc_stream *s);

/* Everything of the run with this number, which stopped because the stream was full, has been
 * reported or flushed, including its STOP: restarts the stream if the restart is armed. True if
 * it did. */
bool ptrc_stream_stop_is_out(struct ptrc_stream *s, uint64_t run);

/* Completes a change of state that a process left half done when it died. Stops a stream in
 * which not even the smallest event fits, unless writers wait for room. Makes a LOOP stream FULL
 * if the next event would overwrite others. */
void ptrc_stream_complete(struct ptrc_stream *s);

/* Records FLUSH_START or FLUSH_STOP, unless it is filtered. Keeper only. Without an origin
 * (NULL) the flush is an automatic one. */
void ptrc_stream_marker(struct ptrc_stream *s, uint32_t event_id, const struct ptrc_context *origin,
			uint64_t addr);
/* Records an ERROR event: damaged memory was skipped. */
void ptrc_stream_error(struct ptrc_stream *s, int error);

#endif
