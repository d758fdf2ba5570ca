/* SPDX-License-Identifier: MIT */
/*
 * trace_id_t: what a program holds of a stream, and the object behind it. An identifier is never
 * 0 and never used twice in a process. In a forked child none of its parent's is valid.
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

/* New identifier for the object. ENOMEM. */
int ptrc_handle_new(enum ptrc_handle_kind kind, void *object, trace_id_t *id);
/* The object of an identifier, if it is of one of these kinds, or null. The caller has a reference
 * to the object until it calls ptrc_handle_put. *kind (may be null) says of which kind it is. */
void *ptrc_handle_get(trace_id_t id, enum ptrc_handle_kind kinds, enum ptrc_handle_kind *kind);
void ptrc_handle_put(trace_id_t id);
/* Make the identifier invalid. One caller gets the object, to which others may still have
 * references; any further caller gets null. */
void *ptrc_handle_take(trace_id_t id, enum ptrc_handle_kind kind);
/* Wait until all references to the object of a taken identifier are given back, then forget it. */
void ptrc_handle_drain(trace_id_t id);

/* Any valid identifier of the kind, 0 if there is none. */
trace_id_t ptrc_handle_any(enum ptrc_handle_kind kind);

/* The lock of the table, which a fork finds free, see fork_mutex.h. It also protects the list of
 * log_fd.c. */
void ptrc_handle_lock(void);
void ptrc_handle_unlock(void);
/* The fork handler of the child; the thread that forked had the lock. */
void ptrc_handle_fork_child(void);

#endif
