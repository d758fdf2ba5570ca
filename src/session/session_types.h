/* SPDX-License-Identifier: MIT */
/*
 * The controller's answer to TYPES.
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

#endif
