/* SPDX-License-Identifier: MIT */
/*
 * What the writer of a log knows: struct ptrc_log_writer, which the units of the writer share.
 * A part of it is struct ptrc_log_state. The header of the stream has a copy of that part, so
 * that after the death of a keeper the next can go on where that one stopped.
 *
 * The writer's units, each of which uses only those before it: log_state (this), log_output
 * (packets, and bytes to the file), log_ring (places of packets in a ring), log_index (where the
 * packets of a sequential log are), log_aside (packets beside the events), log_names,
 * log_origin and log_events (what is in the packets), log_writer (head, clear and end of a log), log_rotate
 * (several files, one behind the other), log_flush
 * (from the stream into the log). All are freestanding: raw system calls, memory by mmap.
 */
#ifndef PTRC_LIB_LOG_LOG_STATE_H
#define PTRC_LIB_LOG_LOG_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/log/log_batch.h"
#include "lib/log/log_layout.h"
#include "lib/model/eventset.h"
#include "lib/model/names.h"
#include "lib/stream/stream.h"
#include "lib/stream/untraced.h"

/* An UNTIL_FULL log is full: nothing is added any more. */
#define PTRC_LOG_STATE_FULL UINT64_C(1)
/* The last event that is no marker of a flush is a STOP. */
#define PTRC_LOG_STATE_AFTER_STOP UINT64_C(2)
/* A ring has wrapped: it is not in its first lap any more. */
#define PTRC_LOG_STATE_WRAPPED UINT64_C(4)
/* `filter` is not known, because a keeper died after it had saved the state. */
#define PTRC_LOG_STATE_FILTER_UNKNOWN UINT64_C(8)
/* A flush failed, and its markers wait in the stream for one that does not. */
#define PTRC_LOG_STATE_MARKERS_WAIT UINT64_C(16)
/* What else a next keeper must know of the flush of written_until: the members of struct
 * ptrc_drain_given. */
#define PTRC_LOG_STATE_GAP_TOLD UINT64_C(32)
#define PTRC_LOG_STATE_RUN_OVER UINT64_C(64)
#define PTRC_LOG_STATE_RUN_TAG_SHIFT 8
/* Somebody else truncated the file, or wrote into it. */
#define PTRC_LOG_STATE_CUT (UINT64_C(1) << 16)
#define PTRC_LOG_STATE_GIVEN (PTRC_LOG_STATE_GAP_TOLD | PTRC_LOG_STATE_RUN_OVER | UINT64_C(0xff00))

/* What came before this file of a log that is rotated; all 0 in the first one. */
struct ptrc_log_past {
	uint64_t ordinal, first_seq, events; /* as in struct ptrc_log_head */
	uint64_t bytes, log_lost_events;     /* in those files */
	/* What the stream's header said when this one was begun. */
	uint64_t lost_events, waits, wait_ns;
};

/* All are 64-bit words: header.log_state holds two copies of them, and which copy is valid. */
struct ptrc_log_state {
	/* Sequential: bytes in the log. Ring: the place of the next packet. */
	uint64_t offset;
	uint64_t seq; /* of the next EVENTS packet */
	/* How many names are in the log, and how many layouts of the list in the names object. */
	uint32_t names, layouts;
	uint64_t flags;
	uint64_t events, bytes; /* in the log now */
	uint64_t lost_events;	/* discarded, or too big */
	/* From here on only in a ring, but for written_until, aside and filter. */
	uint64_t oldest_seq;
	uint64_t overwritten_events;
	int64_t lost_first_ns, lost_last_ns;
	uint64_t tail; /* end of the packets behind the ring, from the ring's end */
	/* The stamp that ended a flush whose events are all in the log, but not yet committed;
	 * 0: there is no such flush. If the keeper dies in between, the next one commits the
	 * events up to this stamp and does not write them again. */
	uint64_t written_until;
	uint64_t aside; /* bytes of HOST, PROCESS and CLOCK packets */
	/* Of a log that is rotated. */
	uint64_t member; /* as in struct ptrc_log_head */
	uint64_t oldest; /* no file of the log has a smaller number */
	struct ptrc_log_past past;
	int64_t begun_ns;		      /* CLOCK_BOOTTIME */
	uint64_t filter[PTRC_SET_WORD_COUNT]; /* in force behind the last event */
};
#define PTRC_LOG_STATE_WORDS 153U
_Static_assert(sizeof(struct ptrc_log_state) <= 8 * PTRC_LOG_STATE_WORDS &&
		       1 + 2 * PTRC_LOG_STATE_WORDS <= PTRC_STREAM_LOG_STATE_WORDS,
	       "two copies fit in log_state");

/* The index of a log, as far as it waits to be written (log_index.h). */
struct ptrc_log_index {
	struct ptrc_log_buffer entries; /* struct ptrc_log_packet */
	/* struct ptrc_type_sum of the packets of a flush that has not come to its end. */
	struct ptrc_log_buffer fresh;
	struct ptrc_log_buffer totals; /* of all flushes that have, by type */
	uint64_t filtered[PTRC_SET_WORD_COUNT];
	uint64_t previous; /* offset of the last INDEX packet */
	bool is_lost;	   /* the log has none */
};

/* A table of what the keeper has met, by the numbers of processes or threads. */
struct ptrc_log_table {
	struct ptrc_log_buffer items; /* each begins with its number, an int32_t; 0: it is free */
	uint32_t count;
};

/* The CLOCK packets of a log. */
struct ptrc_log_clocks {
	int64_t first_ns, last_ns; /* CLOCK_MONOTONIC of the first and the last one; 0: none */
	int64_t ahead_ns;	   /* of the last one: CLOCK_REALTIME before the events' clock */
	int32_t status;
};

/* Of whom the log tells (log_origin.h). */
struct ptrc_log_origins {
	struct ptrc_log_table processes, threads; /* that the keeper has met */
	struct ptrc_log_buffer work;		  /* memory for looking at a process */
	/* What is not in the log yet: payloads, each after its length; and struct ptrc_log_thread. */
	struct ptrc_log_buffer pending_processes, pending_threads;
	int64_t next_scan_ns; /* of the threads; CLOCK_MONOTONIC */
	struct ptrc_log_clocks clocks;
	bool is_observed; /* the controller tells of processes, too */
	uint32_t proc;	  /* is /proc that of our pid namespace? see log_origin.c */
};

/* The trace that a log is of. */
struct ptrc_log_trace {
	uint64_t id; /* of the stream; of another log, a random number */
	const struct ptrc_attr *attr;
	int32_t target_pid, controller_pid;
	uint32_t owner_uid;
};

struct ptrc_log_writer {
	struct ptrc_log_trace trace;
	/* The stream whose keeper this is, and which gets its state. Null: no keeper writes. */
	struct ptrc_stream_header *header;
	/* The stream whose clock and processes the log tells of. Null: the events were read elsewhere, and
	 * neither this machine nor its processes are theirs. */
	const struct ptrc_stream_header *origin;
	int fd;				/* -1: none */
	struct ptrc_log_buffer *memory; /* without a descriptor, the log goes here */
	int dirfd;			/* of the directory of shared objects; -1: none */
	uint32_t kind;			/* PTRC_LOG_RING or _SEQUENTIAL */
	int policy;
	bool is_regular, is_socket;
	uint64_t added_events;	   /* to the batch, without markers */
	uint64_t unwritten_events; /* of the last flush, if it failed */
	bool must_not_append;	   /* the descriptor has O_APPEND, and was not opened again */
	/* What must still be there in a regular file: its size is at least file_end and, if this
	 * writer has written something, that begins and ends with these bytes. */
	uint64_t file_end;
	bool has_last;
	struct {
		uint64_t place;
		uint8_t bytes[sizeof(struct ptrc_log_packet)];
	} last[2];
	uint64_t limit; /* bytes of events */
	uint64_t ring_size;
	/* A flush ends only when the log is on its disk, and before that the stream gives nothing
	 * up: it may be salvaged again. */
	bool syncs_flushes;
	uint64_t close_reserve; /* left free below the file size limit, for STATUS and END */
	struct ptrc_log_state state;
	struct ptrc_log_state retry; /* the state before a flush that failed midway */
	bool has_retry;
	/* A flush into a pipe failed midway: the pipe has the events up to this time, and the
	 * next flush, which gets them again, skips them. */
	int64_t skip_ns;
	int64_t last_ns; /* time of the last event of the last packet written */
	uint32_t place;	 /* in header.log_place: of this log */
	/* Of a log that is rotated (log_rotate.h): when, and the path of its first file. */
	uint64_t rotate_bytes, rotate_ns, keep;
	int64_t rotate_after_ns; /* CLOCK_BOOTTIME: not before, as it has just failed */
	char base[4096];
	const struct ptrc_names_object *names; /* that were given last */
	struct ptrc_log_buffer out;	       /* the packet that is being made */
	struct ptrc_log_batch batch;	       /* the events of the flush */
	/* For an UNTIL_FULL log, which ends with its last STOP: the markers behind that, which
	 * wait for other events to follow. A flush collects them in held_next, which takes the
	 * place of `held` if the flush succeeds. */
	struct ptrc_log_buffer held, held_next; /* struct ptrc_log_held */
	struct ptrc_log_buffer lap;		/* a ring's packets: struct ptrc_log_lap_entry */
	uint64_t lap_first;			/* entries of `lap` before this one are gone */
	struct ptrc_log_index index;
	struct ptrc_log_origins origins;
	/* Called once a second while output stalls. If it returns true the write gives up, with
	 * ECANCELED, and no later write waits. May be null. */
	bool (*give_up)(void *arg);
	void *arg;
	bool has_given_up;
};

/* Is it UNTIL_FULL, and full? */
static inline bool ptrc_log_is_full(const struct ptrc_log_writer *w)
{
	return w->state.flags & PTRC_LOG_STATE_FULL;
}

/* Which of header.log_place counts; and whether a state was saved for it. */
uint32_t ptrc_log_state_place(const struct ptrc_stream_header *h);
bool ptrc_log_state_is_saved(const struct ptrc_stream_header *h);
/* For a keeper, saves the state in header.log_state, makes w->place the place of the log, and tells it. */
void ptrc_log_state_save(struct ptrc_log_writer *w);
/* For a keeper, puts into other words of the header what posix_trace_get_status() and its like tell of the log. */
void ptrc_log_state_tell(const struct ptrc_log_writer *w);
/* Loads the state from header.log_state. False if none was saved. */
PTRC_MUST_CHECK bool ptrc_log_state_load(struct ptrc_log_writer *w);
/* The same, without a writer. */
PTRC_MUST_CHECK bool ptrc_log_state_read(const struct ptrc_stream_header *h,
					 struct ptrc_log_state *state);
/* After a failed flush that another process will try again: the state in the header stays as it
 * was saved before, with a note that the markers of the flush wait in the stream. */
void ptrc_log_state_leave(struct ptrc_log_writer *w);
/* The log lacks an event: sets the log's overrun status. */
void ptrc_log_note_loss(struct ptrc_log_writer *w);

#endif
