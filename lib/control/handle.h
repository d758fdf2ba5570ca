/* SPDX-License-Identifier: MIT */
/*
 * The table from trace_id_t, the identifier that a program has of a stream or log, to its object. An
 * identifier is never 0 and never reused in a process. In a forked child, none of its parent's
 * identifiers is valid.
 */
#ifndef PTRC_LIB_CONTROL_HANDLE_H
#define PTRC_LIB_CONTROL_HANDLE_H

#include <trace.h>

#include "lib/base/common.h"

enum ptrc_handle_kind {
	PTRC_HANDLE_ACTIVE = 1, /* object: struct ptrc_controller */
	PTRC_HANDLE_LOG = 2,	/* object: struct ptrc_log_stream (log_stream.h) */
	PTRC_HANDLE_ANY = 3,
	PTRC_HANDLE_TAKEN = 4, /* with a kind: even if the identifier was taken */
};

/* A reference to the object of an identifier. */
struct ptrc_ref {
	void *object; /* NULL: no object of the wanted kinds has this identifier */
	enum ptrc_handle_kind kind;
	trace_id_t id;
};

/* Gives the object a new identifier. ENOMEM. */
int ptrc_handle_new(enum ptrc_handle_kind kind, void *object, trace_id_t *id);
/* Refers to the object of an identifier, if it has one of these kinds. */
struct ptrc_ref ptrc_handle_get(trace_id_t id, unsigned int kinds);
void ptrc_handle_put(const struct ptrc_ref *ref);
/* Declares such a reference, which is given back at the end of the block. */
#define PTRC_REF(name, id, kinds) \
	PTRC_CLEANUP(ptrc_handle_put) struct ptrc_ref name = ptrc_handle_get(id, kinds)
/* Makes the identifier invalid and returns the object; NULL if another caller has done so before.
 * Other threads may still refer to the object. */
void *ptrc_handle_take(trace_id_t id, enum ptrc_handle_kind kind);
/* Waits until all references are given back, and removes the identifier, which has been taken. */
void ptrc_handle_drain(trace_id_t id);

/* Any valid identifier of the kind; 0 if there is none. */
trace_id_t ptrc_handle_any(enum ptrc_handle_kind kind);

/* The lock of the table and of the list in log_fd.c. A fork waits for it (see handle.c). */
void ptrc_handle_lock(void);
void ptrc_handle_unlock(void);
/* The fork handler of the child; the thread that forked had the lock. */
void ptrc_handle_fork_child(void);

#endif
