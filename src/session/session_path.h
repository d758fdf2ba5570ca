/* SPDX-License-Identifier: MIT */
/*
 * Where the sockets of sessions are; for both sides of session.h.
 */
#ifndef PTRC_SRC_SESSION_SESSION_PATH_H
#define PTRC_SRC_SESSION_SESSION_PATH_H

#include <sys/types.h>
#include <sys/un.h>

/* Address of a session's socket: c.<name>. */
void ptrc_session_address(const char *directory, const char *name, struct sockaddr_un *);

/* The same of a controller that has no name yet: c.~<pid>. Not a session's name. */
void ptrc_session_address_unnamed(const char *directory, pid_t, struct sockaddr_un *);

/*
 * Locks the directory against everybody else who makes or removes sockets; returns a
 * descriptor to close, or -1 if somebody holds the lock and does not give it back.
 */
int ptrc_session_lock(const char *directory);

/* A new socket connected to the address, whose waits last so long at most, which is not 0.
 * An error number of connect(), ETIMEDOUT included. */
int ptrc_session_connect(const struct sockaddr_un *, int limit_ms, int *fd);

/* Removes a socket that refuses connections, unless it no longer does. */
void ptrc_session_remove_stale(const char *directory, const struct sockaddr_un *);

#endif
