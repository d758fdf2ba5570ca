/* SPDX-License-Identifier: MIT */
/*
 * Names of sessions, and the sockets of their controllers, for both sides of a session.
 *
 * The socket c.<session name> is in the user's directory of shared objects, which has mode 0700, usually
 * /dev/shm/posixtrace-<effective user>. A socket that refuses connections belonged to a controller that was
 * killed. The next command that makes a session, lists sessions or meets such a socket removes all of them.
 * The keeper completes the log of such a session.
 */
#ifndef PTRC_SRC_SESSION_SESSION_PATH_H
#define PTRC_SRC_SESSION_SESSION_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

/* The most bytes of a session's name, without its null byte. It fits into the address of a socket. */
#define PTRC_SESSION_NAME_MAX 64

/* How long a command waits for a connection, and then for the first reply. */
#define PTRC_SESSION_ANSWER_MS 5000

/*
 * Whether the text can be the name of a session: it has only letters, digits and . _ - + : @ = , and does not
 * start with -. So it can be the name of a file, and needs no quotes in a shell.
 */
bool ptrc_session_is_name(const char *name);

/* Makes the text such a name, by replacing other bytes with _. The text needs room for two bytes. */
void ptrc_session_make_name(char *text);

/* Reads the start of a file in /proc/PID as a text; "" if that fails. */
void ptrc_session_read_proc(pid_t, const char *file, char *text, size_t size);
/* Reads the name of the program that a process runs; "" if the process does not exist. */
void ptrc_session_command(pid_t, char name[32]);

/* From /proc/PID/stat; all is 0 if the process does not exist. */
struct ptrc_session_process {
	char state;
	/* The processor time that it has used, and its start, in clock ticks. */
	unsigned long long ticks, start;
};
struct ptrc_session_process ptrc_session_process(pid_t);

/* The number of the caller's pid namespace, 0 if it is not known. */
uint32_t ptrc_session_pid_namespace(void);

/* Prints why the directory cannot be used, for an error of ptrc_inspect_directory(). */
void ptrc_session_say_directory(int error);

/*
 * Lists the names of all sessions with a socket, sorted; the caller frees each name and the list. Removes the
 * sockets of killed controllers first if is_removing. A missing directory counts as empty. If the directory
 * cannot be read, returns the error with an empty list.
 */
int ptrc_session_names(bool is_removing, char ***names, size_t *count);

/* The address of a session's socket. Before a controller has its name, it uses ~<process ID>, which cannot be
 * the name of a session. */
void ptrc_session_address(const char *directory, const char *name, struct sockaddr_un *);

/*
 * Locks the directory against other processes that make or remove sockets. Returns a descriptor that unlocks
 * it when closed, or -1 if another process does not release the lock in time.
 */
int ptrc_session_lock(const char *directory);

/*
 * Makes a socket that is connected to the address. Connecting, sending and receiving each wait at most for the
 * limit, which must not be 0. Returns 0, an error number of connect(), or ETIMEDOUT.
 */
int ptrc_session_connect(const struct sockaddr_un *, int limit_ms, int *fd);

/* Removes all sockets of killed controllers, also those without a name yet. */
void ptrc_session_sweep(const char *directory);

#endif
