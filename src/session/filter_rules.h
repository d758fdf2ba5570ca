/* SPDX-License-Identifier: MIT */
/*
 * Which events a stream does not record, in the words of users: names, globs, all system
 * events, all events.
 *
 * The filter of a stream is a set of event types. So a name is registered before any program
 * opens it. A glob is kept, and compared with the names that programs open later: the process
 * that controls the stream calls ptrc_filter_rules_refresh() every PTRC_FILTER_RULES_REFRESH_MS
 * as long as there are globs. Until then some events of a new name may be recorded.
 */
#ifndef PTRC_SRC_SESSION_FILTER_RULES_H
#define PTRC_SRC_SESSION_FILTER_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/session/session_protocol.h"

enum { PTRC_FILTER_RULES_REFRESH_MS = 5 };

struct ptrc_filter_glob {
	char *text;
	/* With how many event types, from the begin of the stream's list, the glob has been
	 * compared. It is compared with each only once: if a user takes a name out of the
	 * filter afterwards, the glob does not put it back. */
	size_t judged;
};

/* The globs that are kept. Starts zeroed. */
struct ptrc_filter_rules {
	struct ptrc_filter_glob *globs;
	size_t count;
};

/* Whether the text is a glob as in fnmatch(3), and not a plain name. */
bool ptrc_filter_rules_is_glob(const char *text);

/*
 * Changes the filter of the stream, and the globs that are kept, as the flags of a FILTER
 * request say (see session_protocol.h), or changes nothing at all. The texts follow one another,
 * each with its null byte; they are checked. Returns 0, or an error number, with the index of
 * the text in *culprit if a text is the cause:
 *   ENOENT        no program has opened the name, or the glob matches no name
 *   ENAMETOOLONG  no name can be so long
 *   ENOSPC        there is no room for another name, or there are too many globs
 *   EINVAL        the flags or the texts make no sense
 */
int ptrc_filter_rules_change(struct ptrc_filter_rules *, trace_id_t, uint32_t flags,
			     const char *texts, size_t size, uint32_t *culprit);

/* Sets the filter of a new stream from names and globs. Errors as above. */
int ptrc_filter_rules_apply(struct ptrc_filter_rules *, trace_id_t, const char *const *texts,
			    size_t count);

/* Adds to the filter the names that globs match and that programs have opened since the last
 * call. Writes the filter only if that changes it. */
int ptrc_filter_rules_refresh(struct ptrc_filter_rules *, trace_id_t);

/* Fills in the reply with the page of event types and globs that begins where the request says.
 * Returns an error number. */
int ptrc_filter_rules_page(const struct ptrc_filter_rules *, trace_id_t, uint32_t from,
			   struct ptrc_session_reply *);

/* Forgets the globs. */
void ptrc_filter_rules_clear(struct ptrc_filter_rules *);

#endif
