/* SPDX-License-Identifier: MIT */
/*
 * Looks in a stream for the conditions of --snapshot-on (snapshots.h): an event whose name matches a pattern, or a
 * pair of events that takes longer than a limit. The stream is unchanged.
 */
#ifndef PTRC_SRC_SESSION_WATCH_H
#define PTRC_SRC_SESSION_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trace.h>

#include "src/base/message.h"
#include "src/session/session_protocol.h"

struct ptrc_watch;

/* The event that makes a snapshot: the event that matches, the last event of a pair that took longer than its limit,
 * or the first event of a pair that is still open after its limit. */
struct ptrc_watch_event {
	char name[TRACE_EVENT_NAME_MAX + 1];
	struct timespec time;
};

/* Whether the text is valid for --snapshot-on: GLOB, or PAIR > DURATION. If not, stores the reason. */
bool ptrc_watch_is_valid(const char *text, struct ptrc_cli_reason *why);

/* Starts to watch a stream with the texts, which are valid; the caller keeps them. Returns 0 or an error number. */
int ptrc_watch_open(struct ptrc_watch **, trace_id_t, const char *const *texts, size_t count);

/* Reads the events that were recorded before the call, but stops when CLOCK_MONOTONIC reaches until_ns. Returns
 * whether one of them, or an open pair, makes a snapshot. Stops at the first event that makes a snapshot. */
bool ptrc_watch_look(struct ptrc_watch *, int64_t until_ns, struct ptrc_watch_event *);

/* Reads all events that were recorded before the call without reporting any, because the snapshot that is about to
 * be made contains them. */
void ptrc_watch_pass(struct ptrc_watch *);

/* Compares the names of new event types with the texts. May be called while a snapshot is written, and after
 * ptrc_watch_end(). */
void ptrc_watch_learn(struct ptrc_watch *);
/* The part of text number i that no event type has or, if it is the field of a pair, no event that was read. */
enum ptrc_snapshot_lack ptrc_watch_lack(const struct ptrc_watch *, size_t i);

/* Stops reading events. The watch is not freed, because ptrc_watch_lack() is called until the process ends.
 * Returns the number of events that were lost before they were read. */
uint64_t ptrc_watch_end(struct ptrc_watch *);

#endif
