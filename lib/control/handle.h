/* SPDX-License-Identifier: MIT */
/*
 * The table that maps a trace_id_t, by which a program identifies a stream or log, to the object in
 * the library. An identifier is never 0 and never reused in a process. In a forked child, no
 * identifier of its parent is valid.
 */
#ifndef PTRC_LIB_CONTROL_HANDLE_H
#define PTRC_LIB_CONTROL_HANDLE_H

#include <trace.h>

#include "lib/base/common.h"

enum ptrc_handle_kind {
	PTRC_HANDLE_ACTIVE = 1, /* object: struct ptrc_controller */
	PTRC_HANDLE_LOG = 2,	/* object: struct ptrc_log_stream (log_stream.h) */
	PTRC_HANDLE_ANY = 3,
	PTRC_HANDLE_TAKEN = 4, /* added to a kind: also finds taken objects (ptrc_handle_take()) */
};

/* A reference to the object of an identifier. The object is not freed before the reference is
 * given back. */
struct ptrc_ref {
	void *object; /* NULL: no object of the wanted kinds has this identifier */
	enum ptrc_handle_kind kind;
	trace_id_t id;
};

/* Gives the object a new identifier. ENOMEM. */
int ptrc_handle_new(enum ptrc_handle_kind kind, void *object, trace_id_t *id);
/* Gets a reference to the object of an identifier, if the object is of one of these kinds.
 * ptrc_handle_put() gives the reference back. */
struct ptrc_ref ptrc_handle_get(trace_id_t id, unsigned int kinds);
void ptrc_handle_put(const struct ptrc_ref *ref);
/* Declares a variable with a reference that is given back at the end of the block. */
#define PTRC_REF(name, id, kinds) \
	PTRC_CLEANUP(ptrc_handle_put) struct ptrc_ref name = ptrc_handle_get(id, kinds)
/* Takes the identifier: makes it invalid, so that no other thread can find the object, and returns
 * the object. Other threads may still have references to it (see ptrc_handle_drain). NULL: another
 * caller has taken the identifier before, or it was never valid. */
void *ptrc_handle_take(trace_id_t id, enum ptrc_handle_kind kind);
/* Waits until all references to the object of a taken identifier are given back, and removes the
 * identifier from the table. */
void ptrc_handle_drain(trace_id_t id);

/* Returns any valid identifier of this kind; 0 if there is none. */
trace_id_t ptrc_handle_any(enum ptrc_handle_kind kind);

/* The lock that protects the table and the list in log_fd.c. A fork waits for it (see handle.c). */
void ptrc_handle_lock(void);
void ptrc_handle_unlock(void);
/* The fork handler that runs in the child. Before the fork, the thread that forked has taken the
 * lock by ptrc_handle_lock(). This function releases it. */
void ptrc_handle_fork_child(void);

#endif
