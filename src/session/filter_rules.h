/* SPDX-License-Identifier: MIT */
/* Changes which events a session does not record, by rules that users write: names, globs, all system events, or
 * all events. Event types that exist are put into the filter of the stream, which is a set of event types. Rules
 * for names that do not exist yet become patterns of the stream (posixtrace_set_patterns). */
#ifndef PTRC_SRC_SESSION_FILTER_RULES_H
#define PTRC_SRC_SESSION_FILTER_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "src/session/session_protocol.h"
#include "src/session/snapshots.h"

/* Whether the text is a glob (lib/model/glob.h). Otherwise it is a plain name. */
static inline bool ptrc_filter_rules_is_glob(const char *text)
{
	return strpbrk(text, "*?[\\");
}

/*
 * Changes the filter and the patterns of the stream as the flags of a FILTER request say (session_protocol.h). Each
 * text ends with its null byte; all texts are checked before anything is changed. Returns 0 or an error number,
 * with the index of the text that caused it in *culprit:
 *   ENOENT        no event type has this name or matches this glob. No error with the flag NEW; nor with REMOVE, if
 *                 the stream has a pattern of the kind EXCLUDE with this text.
 *   ENAMETOOLONG  the text is longer than any name
 *   ENOSPC        too many patterns
 *   EINVAL        invalid flags or texts
 */
int ptrc_filter_rules_change(trace_id_t, uint32_t flags, const char *texts, size_t size,
			     uint32_t *culprit);

/* Fills in the reply to TYPES: a page of the list of event types, patterns and texts of --snapshot-on. The page starts
 * at entry number `from`: 0, or .next of the previous reply. Returns 0 or an error number. */
int ptrc_filter_rules_page(trace_id_t, struct ptrc_snapshots *, uint32_t from,
			   struct ptrc_session_reply *);

#endif
