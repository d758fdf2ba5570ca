/* SPDX-License-Identifier: MIT */
/*
 * What a session sends to its followers: messages of kind EVENTS, each of which holds records
 * one behind the other, and at the end one message of kind END.
 *
 * A record begins at a multiple of 8 bytes. If the data of an event does not fit into the rest
 * of a message, it goes on in DATA records in the next messages, and nothing else comes in
 * between. A follower that is too slow misses whole messages. The next record that it gets is
 * DROPPED, which tells how many events began in them; if an event was not complete by then, its
 * rest does not come any more.
 */
#ifndef PTRC_SRC_SESSION_SESSION_EVENTS_H
#define PTRC_SRC_SESSION_SESSION_EVENTS_H

#include <stdint.h>

#include "src/session/session_protocol.h"

/* Bytes of all records in one message. */
#define PTRC_SESSION_EVENTS_MAX 32768U

enum ptrc_session_record_kind {
	/* struct ptrc_session_event, then the data or its first part. */
	PTRC_SESSION_RECORD_EVENT = 1,
	/* More data of the event before. */
	PTRC_SESSION_RECORD_DATA = 2,
	/* The name of the event type .id. It comes before the first event that needs
	 * it. */
	PTRC_SESSION_RECORD_NAME = 3,
	/* A uint64_t: how many events were not sent. */
	PTRC_SESSION_RECORD_DROPPED = 4,
};

struct ptrc_session_record {
	uint16_t kind;
	uint16_t id;
	/* Bytes that follow, without padding. */
	uint32_t size;
};

struct ptrc_session_event {
	int64_t time_s;
	int64_t time_ns;
	uint64_t address;
	uint64_t thread;
	/* Bytes of the data in all records. */
	uint64_t data_size;
	int32_t pid;
	/* The kernel's ID of the thread. */
	int32_t tid;
	int32_t truncation;
	uint32_t reserved;
};

/* The head of a message, before its records. */
struct ptrc_session_events {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;
	uint32_t size;
	uint32_t reserved;
};

/* A whole END message. */
struct ptrc_session_end {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;
	/* The error number of writing the log, or 0. */
	int32_t error;
	uint32_t has_log;
	/* Events that were not sent because this follower was too slow, including
	 * those that DROPPED has told of. */
	uint64_t dropped_events;
	/* Events that went to the log before the controller had read them, so that no
	 * follower got them. */
	uint64_t missed_events;
	/* At the end of the session. */
	struct posix_trace_status_info status;
	struct posixtrace_counts counts;
};

#endif
