/* SPDX-License-Identifier: MIT */
/*
 * Names of sessions, and the sockets of their controllers. Both sides of a session use it.
 *
 * The socket c.<session name> is in the user's own directory of shared objects,
 * /dev/shm/posixtrace-<effective user> as a rule, which has mode 0700. A socket that refuses connections
 * belonged to a controller that was killed; the next command that makes a session, lists the sessions
 * or meets such a socket removes all of them. The log of such a session needs no care: its keeper
 * completes it.
 */
#ifndef PTRC_SRC_SESSION_SESSION_PATH_H
#define PTRC_SRC_SESSION_SESSION_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

/* The longest name of a session in bytes, without its null byte. It fits into the address of a
 * socket. */
#define PTRC_SESSION_NAME_MAX 64

/* How long a command waits for a connection, and then for the first reply. */
#define PTRC_SESSION_ANSWER_MS 5000

/*
 * Whether the text can be the name of a session: it has letters, digits and . _ - + : @ = ,
 * only, and does not begin with -. So a name can be the name of a file, and needs no quotes in
 * a shell.
 */
bool ptrc_session_is_name(const char *name);

/* Makes the text such a name, or the beginning of one: puts _ in the place of bytes that cannot be
 * in it. The text needs room for two bytes. */
void ptrc_session_make_name(char *text);

/* Reads the start of a file in the process's directory in /proc as a text; "" if there is none. */
void ptrc_session_read_proc(pid_t, const char *file, char *text, size_t size);
/* Reads the name of the program that a process runs; "" if there is no such process. */
void ptrc_session_command(pid_t, char name[32]);

/* The number of the caller's pid namespace, 0 if it is not known. */
uint32_t ptrc_session_pid_namespace(void);

/* Prints why the directory cannot be used, for an error of ptrc_inspect_directory(). */
void ptrc_session_say_directory(int error);

/*
 * Lists the names of all sockets of sessions, sorted; the caller frees each name and the list. The
 * sockets of killed controllers are removed first if is_removing is set. A missing directory is an
 * empty one. If the directory cannot be read, the list is empty and the error is returned.
 */
int ptrc_session_names(bool is_removing, char ***names, size_t *count);

/* The address of a session's socket. As long as a controller has no name, its socket has the
 * name ~<process ID>, which no session can have. */
void ptrc_session_address(const char *directory, const char *name, struct sockaddr_un *);

/*
 * Locks the directory against all other processes that make or remove sockets. Returns a
 * descriptor to close, or -1 if another process holds the lock and does not release it.
 */
int ptrc_session_lock(const char *directory);

/*
 * Makes a socket that is connected to the address. Connecting, sending and receiving each wait
 * no longer than the limit, which must not be 0. Returns an error number of connect(), or
 * ETIMEDOUT.
 */
int ptrc_session_connect(const struct sockaddr_un *, int limit_ms, int *fd);

/* Removes all sockets of killed controllers, also of those that had no name yet. */
void ptrc_session_sweep(const char *directory);

#endif
