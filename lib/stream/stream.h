/* SPDX-License-Identifier: MIT */
/*
 * A mapped stream object and what its controller, keeper and readers do to it.
 * Everything here is free of libc (raw system calls only), as the keeper uses it too.
 * Targets map it by event.c.
 */
#ifndef PTRC_LIB_STREAM_STREAM_H
#define PTRC_LIB_STREAM_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/pool.h"
#include "lib/stream/writer.h"

enum ptrc_role {
	PTRC_ROLE_CONTROLLER, /* records START, STOP, FILTER in the controller's slot */
	PTRC_ROLE_KEEPER, /* records FLUSH_START, FLUSH_STOP, automatic START in its own */
};

/* Of those given up: more at a time than this cost their delay again. */
enum { PTRC_GIVEN_UP_MAX = 8 };

/* Private to the process. Sizes are copies checked once: the shared ones may change. */
struct ptrc_stream {
	union {
		struct ptrc_stream_header *header; /* the same as pool.header */
		struct ptrc_pool pool;
	};
	uint64_t map_size;
	enum ptrc_role role;
	struct ptrc_writer own; /* records the role's own events */
	/* Event calls that were waited for in vain, by slot and mark: not waited for again
	 * until their slot was seen at rest. */
	struct {
		uint32_t slot;
		uint64_t mark; /* 0: none */
	} given_up[PTRC_GIVEN_UP_MAX];
	uint32_t given_up_next;
	bool has_given_up; /* one ever */
};

/* Map the object open on fd (read and write) and check its geometry. EINVAL if it is no
 * stream, ENOMEM. The descriptor is not kept. */
int ptrc_stream_map(int fd, enum ptrc_role role, struct ptrc_stream *s);
void ptrc_stream_unmap(struct ptrc_stream *s);

/* Bytes of events in the stream that are neither reported (plain) nor flushed (logged). */
uint64_t ptrc_stream_unread_bytes(const struct ptrc_stream *s);

/* State changes; the caller holds whatever lock serialises controllers (the controller's
 * mutex, or being the only keeper of a stream without a controller). `origin` and `addr`
 * go into the event; a null origin is the trace system. */
void ptrc_stream_start(struct ptrc_stream *s, const struct ptrc_context *origin,
		       uint64_t addr);
void ptrc_stream_stop(struct ptrc_stream *s, const struct ptrc_context *origin,
		      uint64_t addr);
void ptrc_stream_set_filter(struct ptrc_stream *s, const uint64_t bits[17],
			    const struct ptrc_context *origin, uint64_t addr);
void ptrc_stream_clear(struct ptrc_stream *s);
/* The end: no event is accepted any more, all waiting are woken. */
void ptrc_stream_end(struct ptrc_stream *s);
/* The UNTIL_FULL log is full: SUSPENDED and FULL until a clear. Keeper only. */
void ptrc_stream_log_is_full(struct ptrc_stream *s);

/* FLUSH_START or FLUSH_STOP, recorded by the keeper (unless filtered) in space of its own.
 * A null origin is the trace system: the flush is an automatic one. */
void ptrc_stream_marker(struct ptrc_stream *s, uint32_t event_id,
			const struct ptrc_context *origin, uint64_t addr);

/* Everything of the run of that number, which stopped for want of room, is reported or
 * flushed, its STOP too: restart, if that is armed (POLICY-19). True if it did. */
bool ptrc_stream_stop_is_out(struct ptrc_stream *s, uint64_t run);
/* The cut of the run that is stopped for want of room, if there is one. */
bool ptrc_stream_cut(const struct ptrc_stream_header *h, uint64_t *cut);
/* Wait for the event calls at work in the slots from `from` on, *left_ns at most, from which
 * is taken what was waited; the dead are not waited for. Returns the first slot that is still
 * at work, UINT32_MAX if none is. A slot seen at rest once is done with: what it began since
 * began after the caller's barrier. Time in which the caller itself stood still counts for
 * nearly nothing: its writers may have stood still as well. */
uint32_t ptrc_stream_wait_marks(struct ptrc_stream *s, uint32_t from, int64_t *left_ns);
/* Wait so for all that are at work, each for 100 ms at most and all for a second: the stopped
 * are given up, and their records come late. */
void ptrc_stream_wait_all_marks(struct ptrc_stream *s);
/* The event call at work in the slot is stopped, or was left by siglongjmp: not waited for any
 * more. */
void ptrc_stream_give_up(struct ptrc_stream *s, uint32_t slot);

/* Damaged memory was met and skipped: an ERROR event (SYSEVENT-08). */
void ptrc_stream_error(struct ptrc_stream *s, int error);

/* What is in the chunk cannot be trusted, its owner must not go on in it: then it is SEALED,
 * nobody is at work in it any more, and *end is where it ends. The caller has it pinned, in
 * which the word is `word`. False: it stays its owner's, who was stopped in the middle. */
bool ptrc_stream_condemn(struct ptrc_stream *s, uint32_t index, uint64_t word,
			 uint32_t *end);

/* Make the state say what is so: finish a stop for want of room whose writer died midway,
 * stop a stream in which not even the smallest event would fit (POLICY-16); a LOOP stream
 * in which it would overwrite others is FULL (STATUS-08). */
void ptrc_stream_settle(struct ptrc_stream *s);

void ptrc_status_set(struct ptrc_stream_header *h, uint64_t bits);
void ptrc_status_clear(struct ptrc_stream_header *h, uint64_t bits);
/* The run with this tag has stopped for want of room; nothing if that is not news. */
void ptrc_status_auto_stopped(struct ptrc_stream_header *h, uint64_t run_tag);
/* First error since the last get_status wins (STATUS-17). */
void ptrc_status_error(struct ptrc_stream_header *h, int error);

/* What a status word says to the application. */
struct posix_trace_status_info;
void ptrc_status_export(uint64_t bits, struct posix_trace_status_info *st);

/* Make getnext look again. */
void ptrc_stream_wake_readers(struct ptrc_stream_header *h);

#endif
