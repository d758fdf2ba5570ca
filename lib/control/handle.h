/* SPDX-License-Identifier: MIT */
/*
 * trace_id_t: what the caller holds, and the objects behind it. An identifier is never 0
 * and never used twice in a process; in a fork child all of the parent's are unknown.
 */
#ifndef PTRC_LIB_CONTROL_HANDLE_H
#define PTRC_LIB_CONTROL_HANDLE_H

#include <trace.h>

#include "lib/base/common.h"

enum ptrc_handle_kind {
	PTRC_HANDLE_ACTIVE = 1, /* object: struct ptrc_controller */
	PTRC_HANDLE_LOG = 2,	/* object: struct ptrc_log_stream (log_stream.h) */
	PTRC_HANDLE_ANY = 3,
};

struct ptrc_handle;

/* New identifier for the object. ENOMEM. */
int ptrc_handle_new(enum ptrc_handle_kind kind, void *object, trace_id_t *id);
/* The object of an identifier of one of the kinds, with a reference that keeps it until
 * ptrc_handle_put; null if there is none. *kind (may be null) says which. */
void *ptrc_handle_get(trace_id_t id, enum ptrc_handle_kind kinds,
		      enum ptrc_handle_kind *kind);
void ptrc_handle_put(trace_id_t id);
/* Make the identifier invalid; only one caller gets the object, the others null. It may
 * still be referenced: */
void *ptrc_handle_take(trace_id_t id, enum ptrc_handle_kind kind);
/* wait until all references of a taken identifier are given back, then forget it. */
void ptrc_handle_drain(trace_id_t id);

/* Any valid identifier of the kind, 0 if there is none. */
trace_id_t ptrc_handle_any(enum ptrc_handle_kind kind);

#endif
