/* SPDX-License-Identifier: MIT */
/*
 * The controller's side of event types and the filter.
 */
#ifndef PTRC_SRC_SESSION_SESSION_TYPES_H
#define PTRC_SRC_SESSION_SESSION_TYPES_H

#include <stddef.h>

#include <posixtrace.h>

#include "src/session/filter_rules.h"
#include "src/view/reader.h"
#include "src/session/session_protocol.h"

/* Puts a page into the reply that begins where the request says. Returns an error number. */
int ptrc_session_types_page(trace_id_t, const struct ptrc_filter_rules *, uint32_t from,
			    struct ptrc_session_reply *);

/*
 * Changes the filter of the stream and the globs that are kept, as the request says, or
 * nothing at all. The texts are from outside. An error number, with reply->text set where
 * one of the texts is the cause:
 *   ENOENT        a name that nobody has opened, or a glob that matches none
 *   ENAMETOOLONG  no name can be so long
 *   ENOSPC        no room for another name, or too many globs
 *   EINVAL        not a request that makes sense
 */
int ptrc_session_types_filter(trace_id_t, struct ptrc_filter_rules *, uint32_t flags,
			      const char *texts, size_t size,
			      struct ptrc_session_reply *);

#endif
