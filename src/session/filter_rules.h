/* SPDX-License-Identifier: MIT */
/*
 * Which events a session does not record, in the words of users: names, globs, all system
 * events, all events. Names that exist go into the filter of the stream, which is a set of event
 * types; what is to hold for names to come is a pattern of the stream (posixtrace_set_patterns).
 */
#ifndef PTRC_SRC_SESSION_FILTER_RULES_H
#define PTRC_SRC_SESSION_FILTER_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/session/session_protocol.h"
#include "src/session/snapshots.h"

/* Whether the text is a glob as in lib/model/glob.h, and not a plain name. */
bool ptrc_filter_rules_is_glob(const char *text);

/*
 * Changes filter and patterns of the stream, as the flags of a FILTER request say (see
 * session_protocol.h). The texts follow one another, each with its null byte; they are checked
 * before anything is changed. Returns 0, or an error number, with the index of the text in
 * *culprit if a text is the cause:
 *   ENOENT        no program has opened the name, or the glob matches no name
 *   ENAMETOOLONG  no name can be so long
 *   ENOSPC        there are too many patterns
 *   EINVAL        the flags or the texts make no sense
 */
int ptrc_filter_rules_change(trace_id_t, uint32_t flags, const char *texts, size_t size,
			     uint32_t *culprit);

/* Fills in the reply with the page of event types and patterns, also of those that make snapshots if
 * there are any, that begins where the request says. Returns an error number. */
int ptrc_filter_rules_page(trace_id_t, struct ptrc_snapshots *, uint32_t from,
			   struct ptrc_session_reply *);

#endif
