/* SPDX-License-Identifier: MIT */
/* Reports patterns, and texts of --snapshot-on, that by the end of a trace have a name or a field that no event has
 * had, usually because the user made a mistake in them. */
#ifndef PTRC_SRC_SESSION_UNMATCHED_H
#define PTRC_SRC_SESSION_UNMATCHED_H

#include <stddef.h>
#include <stdint.h>

#include <posixtrace-control.h>

#include "src/base/json.h"
#include "src/session/session_protocol.h"

/* Prints a message for each pattern that has matched no name. `thing`, if not NULL, is the name or the path with
 * which the message starts. */
void ptrc_unmatched_report(const struct posixtrace_pattern *, size_t count, const char *thing);
/* Puts the member "unmatched", a list of the patterns that have matched no name; nothing if all have matched one. */
void ptrc_unmatched_json(const struct posixtrace_pattern *, size_t count, struct ptrc_json *);

/* Prints which part of a text of --snapshot-on no event has. `name` is the name of the session, or NULL. */
void ptrc_unmatched_report_snapshot(const char *name, const struct ptrc_idle_snapshot *);
/* Prints how many events were lost before they were compared with --snapshot-on. */
void ptrc_unmatched_report_unseen(const char *name, uint64_t events);
/* Puts the member "unmatched": a list of the texts of --snapshot-on that lack something. */
void ptrc_unmatched_snapshots_json(const struct ptrc_idle_snapshot *, size_t count,
				   struct ptrc_json *);

#endif
