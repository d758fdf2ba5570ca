/* SPDX-License-Identifier: MIT */
/*
 * A mapped stream object, and the changes of its state that controller and keeper make. Free of
 * the C library (raw system calls only), because the keeper uses it too. Targets map a stream by
 * lib/recorder/event.c.
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

/* Private to the process. */
struct ptrc_stream {
	union {
		struct ptrc_stream_header *header; /* the same as pool.header */
		struct ptrc_pool pool;
	};
	uint64_t map_size;
	enum ptrc_role role;
	struct ptrc_writer own; /* records the role's own events */
	struct ptrc_given_up given_up;
	struct ptrc_live_reader *tees; /* those of this process, see live_reader.h */
};

/* Map the stream object that is open for reading and writing on fd, and check its measures.
 * EPROTO if it is a stream of another version, EINVAL if it is none, or ENOMEM. The caller may close the descriptor. A keeper takes over
 * what a dead keeper has left in the stream. */
int ptrc_stream_map(int fd, enum ptrc_role role, struct ptrc_stream *s);
void ptrc_stream_unmap(struct ptrc_stream *s);

/*
 * Changes of state. Each takes state_lock itself; the caller makes sure that one thread at a time
 * uses `s`. `origin` and `addr` go into the event that tells of the change; with a null origin
 * the event comes from the trace system.
 */
void ptrc_stream_start(struct ptrc_stream *s, const struct ptrc_context *origin, uint64_t addr);
void ptrc_stream_stop(struct ptrc_stream *s, const struct ptrc_context *origin, uint64_t addr);
void ptrc_stream_change_filter(struct ptrc_stream *s, const struct ptrc_filter_change *change,
			       const struct ptrc_context *origin, uint64_t addr);
void ptrc_stream_clear(struct ptrc_stream *s);
/* The stream ends: it accepts no event any more, and everybody who waits for one is woken. */
void ptrc_stream_end(struct ptrc_stream *s);
/* The log is full and its policy is UNTIL_FULL: the stream is suspended and FULL until a clear.
 * Keeper only. */
void ptrc_stream_log_is_full(struct ptrc_stream *s);

/* Everything of the run with this number, which stopped for want of room, has been reported or
 * flushed, its STOP included: restart the stream, if the restart is armed. True if it did. */
bool ptrc_stream_stop_is_out(struct ptrc_stream *s, uint64_t run);

/* Complete a change of state that a process left half made when it died. Stop a stream in which
 * not even the smallest event fits, unless writers would wait for room. Make a LOOP stream FULL if the next event would overwrite
 * others. */
void ptrc_stream_complete(struct ptrc_stream *s);

/* Record FLUSH_START or FLUSH_STOP, unless it is filtered. Keeper only. With a null origin the
 * flush is an automatic one. */
void ptrc_stream_marker(struct ptrc_stream *s, uint32_t event_id, const struct ptrc_context *origin,
			uint64_t addr);
/* Record an ERROR event: damaged memory was met, and skipped. */
void ptrc_stream_error(struct ptrc_stream *s, int error);

#endif
