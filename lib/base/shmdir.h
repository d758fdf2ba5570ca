/* SPDX-License-Identifier: MIT */
/*
 * A user's directory of shared objects, /dev/shm/posixtrace-<euid>/ with mode 0700, and the
 * objects in it. Everything there is checked before it is used. Raw system calls only, because
 * the keeper includes this.
 *
 * In a user namespace, <euid> is the ID that the user has outside of it, so that processes inside
 * and outside share the directory.
 *
 * If another user has taken that name (the first name), the user's directory has a second name,
 * posixtrace-<euid>.<8 random digits>, and is recognised by its owner. No environment variable
 * can set the path: a controller that runs as root could not know the variable of its target, and
 * a privileged program must not trust a variable.
 */
#ifndef PTRC_LIB_BASE_SHMDIR_H
#define PTRC_LIB_BASE_SHMDIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lib/base/common.h"

#define PTRC_SHMDIR_BASE "/dev/shm"
#define PTRC_SHMDIR_NAME_BYTES 32
/* Bytes for the name of a user's directory, and for its path. */
#define PTRC_SHMDIR_DIRECTORY_BYTES 40
#define PTRC_SHMDIR_PATH_BYTES 64

/* Opens the directory of a user under its first or second name. If is_create, creates the
 * directory if it does not exist. EPERM: it is a symbolic link or no directory, or its mode is
 * not 0700. ENOENT, ENOMEM. */
PTRC_MUST_CHECK int ptrc_shmdir_open(uid_t uid, bool is_create, int *dirfd);
/* As ptrc_shmdir_open(); also stores the name that the directory has in /dev/shm; after an error,
 * the name that was tried last. */
PTRC_MUST_CHECK int ptrc_shmdir_find(uid_t uid, bool is_create,
				     char name[PTRC_SHMDIR_DIRECTORY_BYTES], int *dirfd);

/* Stores the path of a user's directory. *is_inherited becomes true if the directory has a
 * subdirectory, which announces a stream that also traces children (INHERITED). Needs no free
 * descriptor: if the directory does not have the first name, a short-lived child with descriptors
 * of its own looks for it. EPERM: the directory does not exist or is not safe to use.
 * Async-signal-safe. */
PTRC_MUST_CHECK int ptrc_shmdir_path(uid_t uid, char path[PTRC_SHMDIR_PATH_BYTES],
				     bool *is_inherited);

/* Stores the path of a user's directory and the result of its stat(). False: under the first name
 * there is no directory with the right owner and mode, or root does not own /dev/shm. */
bool ptrc_shmdir_usual_path(uid_t uid, char path[PTRC_SHMDIR_PATH_BYTES], struct stat *st);

/* Calls visit() for every name in an open directory. Other processes may add and remove entries
 * meanwhile. */
void ptrc_shmdir_for_each(int dirfd, void (*visit)(const char *name, void *arg), void *arg);

/* Makes the name of an object, "<prefix>.<id>". For prefix 'p' (page of a process) the id is a pid,
 * in decimal; otherwise it is an identity, in hexadecimal. Other prefixes: 'n' event names; 's'
 * stream; 'o' orphan (stream of dead processes); 'i' subdirectory that announces an INHERITED
 * stream; 't' temporary; 'u' note of a process that could not be traced. */
void ptrc_shmdir_name(char name[PTRC_SHMDIR_NAME_BYTES], char prefix, uint64_t id);
/* The identity in a name with this prefix; 0 if the name has another form. Not for prefix 'p': it
 * reads no pid. */
uint64_t ptrc_shmdir_parse(const char *name, char prefix);

/* Opens an object for reading and writing. `size` may be NULL. EPERM: it is no regular file of the
 * user, or has several links. ENOENT, ENOMEM. */
PTRC_MUST_CHECK int ptrc_shmdir_open_object(int dirfd, const char *name, uid_t uid, int *fd,
					    uint64_t *size);
/* Opens the object whose name ptrc_shmdir_name() makes. */
PTRC_MUST_CHECK int ptrc_shmdir_open_id(int dirfd, char prefix, uint64_t id, uid_t uid, int *fd,
					uint64_t *size);

/* Removes the object whose name ptrc_shmdir_name() makes; with prefix 'i', the subdirectory.
 * Returns false if it does not exist. */
bool ptrc_shmdir_remove_id(int dirfd, char prefix, uint64_t id);

/* Creates an object of `size` bytes that belongs to the user (root can create an object for
 * another user), and reserves memory for its first `reserved` bytes; the rest is sparse. The
 * caller's soft file size limit does not apply, and the caller gets no SIGXFSZ. EEXIST, EPERM,
 * ENOMEM. */
PTRC_MUST_CHECK int ptrc_shmdir_create_object(int dirfd, const char *name, uid_t uid, uint64_t size,
					      uint64_t reserved, int *fd);

/* Grows an object to at least `size` bytes, and reserves memory for `bytes` bytes at `offset`.
 * ENOMEM. */
PTRC_MUST_CHECK int ptrc_shmdir_reserve(int fd, uint64_t size, uint64_t offset, uint64_t bytes);

/* A random identity, never 0. */
uint64_t ptrc_shmdir_new_id(void);

#endif
