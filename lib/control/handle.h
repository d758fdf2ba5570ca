/* SPDX-License-Identifier: MIT */
/*
 * The table from trace_id_t, by which a program names a stream, to the object of the stream. An
 * identifier is never 0 and never used twice in a process. In a forked child no identifier of its
 * parent is valid.
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

/* Give the object a new identifier. ENOMEM. */
int ptrc_handle_new(enum ptrc_handle_kind kind, void *object, trace_id_t *id);
/* The object of an identifier, or null if it is not of one of these kinds. The caller has a
 * reference to the object until it calls ptrc_handle_put. *kind, if not null, gets its kind. */
void *ptrc_handle_get(trace_id_t id, enum ptrc_handle_kind kinds, enum ptrc_handle_kind *kind);
/* The same, also for an identifier that was taken and is not forgotten yet. */
void *ptrc_handle_get_taken(trace_id_t id, enum ptrc_handle_kind kind);
void ptrc_handle_put(trace_id_t id);
/* Make the identifier invalid, and return the object; null if another caller has done so before.
 * Other threads may still have references to the object. */
void *ptrc_handle_take(trace_id_t id, enum ptrc_handle_kind kind);
/* Wait until all references are given back, and forget the identifier, which has been taken. */
void ptrc_handle_drain(trace_id_t id);

/* Any valid identifier of the kind, 0 if there is none. */
trace_id_t ptrc_handle_any(enum ptrc_handle_kind kind);

/* The lock of the table and of the list in log_fd.c. A fork waits for it, see handle.c. */
void ptrc_handle_lock(void);
void ptrc_handle_unlock(void);
/* The fork handler of the child; the thread that forked had the lock. */
void ptrc_handle_fork_child(void);

#endif
