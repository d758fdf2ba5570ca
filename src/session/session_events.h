/* SPDX-License-Identifier: MIT */
/*
 * What a session sends to those who follow it: messages of kind EVENTS, which hold
 * records one behind the other, and at last one of kind END.
 *
 * A record begins at a multiple of 8 bytes. An event whose data does not fit into the
 * rest of a message goes on in DATA records, at once, before anything else. A follower
 * that is too slow misses whole messages; DROPPED, in front of what comes next, tells how
 * many events began in them, and an event that was not complete by then never will be.
 */
#ifndef PTRC_SRC_SESSION_SESSION_EVENTS_H
#define PTRC_SRC_SESSION_SESSION_EVENTS_H

#include <stdint.h>

#include "src/session/session_protocol.h"

/* Bytes of records in a message. */
#define PTRC_SESSION_EVENTS_MAX 32768U

enum ptrc_session_record_kind {
	/* struct ptrc_session_event, then the first of its data. */
	PTRC_SESSION_RECORD_EVENT = 1,
	/* More of it. */
	PTRC_SESSION_RECORD_DATA = 2,
	/* id: the event type, then its name; before the first event that needs it. */
	PTRC_SESSION_RECORD_NAME = 3,
	/* One uint64_t. */
	PTRC_SESSION_RECORD_DROPPED = 4,
};

struct ptrc_session_record {
	uint16_t kind;
	uint16_t id;
	/* Of what follows, without padding. */
	uint32_t size;
};

struct ptrc_session_event {
	int64_t time_s;
	int64_t time_ns;
	uint64_t address;
	uint64_t thread;
	/* All bytes of the data. */
	uint64_t data_size;
	int32_t pid;
	/* The kernel's number of the thread. */
	int32_t tid;
	int32_t truncation;
	uint32_t reserved;
};

/* In front of the records of a message. */
struct ptrc_session_events {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;
	uint32_t size;
	uint32_t reserved;
};

/* The whole of an END message. */
struct ptrc_session_end {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;
	/* Error number of writing the log, or 0. */
	int32_t error;
	uint32_t has_log;
	/* Events that this follower was not sent, as it was too slow; those told by
	 * DROPPED are among them. */
	uint64_t dropped_events;
	/* Events that were in the log before they could be sent to anybody. */
	uint64_t missed_events;
	/* As of the end. */
	struct posix_trace_status_info status;
	struct posixtrace_counts counts;
};

#endif
