/* SPDX-License-Identifier: MIT */
/*
 * Names of sessions, and the sockets of their controllers. The controllers and their clients use these functions.
 *
 * The socket c.<session name> is in the user's directory of shared objects, usually
 * /dev/shm/posixtrace-<effective user>, which has mode 0700. A socket that refuses connections belonged to a
 * controller that was killed. The next command that makes a session, lists sessions or connects to such a socket
 * removes all such sockets. The keeper completes the log of a session whose controller was killed.
 */
#ifndef PTRC_SRC_SESSION_SESSION_PATH_H
#define PTRC_SRC_SESSION_SESSION_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

/* The most bytes of a session's name, without its null byte. With this length, the name fits into the address
 * of a socket. */
#define PTRC_SESSION_NAME_MAX 64

/* How long a command waits until a controller accepts its connection, and then for the first reply. */
#define PTRC_SESSION_ANSWER_MS 5000

/*
 * Whether the text can be the name of a session: it consists of letters, digits and the characters ._-+:@=,
 * (with the comma), and does not start with -. So it can be the name of a file, and needs no quotes in a shell.
 */
bool ptrc_session_is_name(const char *name);

/* Changes the text, which is not longer than a name may be, into a valid name of a session. Each byte that is not
 * allowed becomes _. A - at the start becomes p, and so does an empty text, so the buffer needs at least two bytes. */
void ptrc_session_make_name(char *text);

/* Reads the name of the program that a process runs. If the process does not exist, the name is "". */
void ptrc_session_command(pid_t, char name[32]);

/* Returns the number of the caller's pid namespace; 0 if it is unknown. */
uint32_t ptrc_session_pid_namespace(void);

/* Prints why the directory cannot be used, for an error number of ptrc_inspect_directory(). */
void ptrc_session_say_directory(int error);

/* Lists the names of all sessions that have a socket, sorted. The caller frees each name and the list. If
 * is_removing, removes the sockets of killed controllers first. A missing directory is treated as an empty one. If
 * the directory cannot be read, returns the error number and an empty list. */
int ptrc_session_names(bool is_removing, char ***names, size_t *count);

/* Makes the address of a session's socket. Until a controller has got a name for its session, its socket has the
 * name ~<process ID>, which cannot be the name of a session. */
void ptrc_session_address(const char *directory, const char *name, struct sockaddr_un *);

/*
 * Locks the directory against other processes that make or remove sockets. Returns a descriptor; closing it
 * unlocks the directory. Returns -1 after an error, or if another process holds the lock for two seconds.
 */
int ptrc_session_lock(const char *directory);

/*
 * Makes a socket that is connected to the address. connect(), and later each send() and recv(), wait at most for
 * limit_ms, which must not be 0. Returns 0, an error number of connect(), or ETIMEDOUT.
 */
int ptrc_session_connect(const struct sockaddr_un *, int limit_ms, int *fd);

/* Removes from the directory the sockets that killed controllers have left, also those that had not yet been renamed
 * to the name of a session. */
void ptrc_session_sweep(const char *directory);

#endif
