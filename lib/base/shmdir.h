/* SPDX-License-Identifier: MIT */
/*
 * A user's directory of shared objects, /dev/shm/posixtrace-<euid>/, mode 0700, and the objects
 * in it. Nothing there is believed before it is checked. Raw system calls only, for the keeper.
 *
 * In a user namespace the directory has the number that the user has outside, so that a user
 * has the same directory inside and outside.
 *
 * If another user took that name first, the user's directory is posixtrace-<euid>.<8 digits>,
 * which nobody could guess; it is told by its owner. No environment variable has a say, as a
 * controller that is root could not know that of its target, and a privileged program must not
 * believe it.
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
/* Of the name of a user's directory. */
#define PTRC_SHMDIR_DIRECTORY_BYTES 40
#define PTRC_SHMDIR_PATH_BYTES 64

/* Opens the directory of a user; is_create: makes it if it is not there. If another user has taken
 * its name, it has a second name. EPERM: it is no directory, or a symbolic link, or has another
 * mode. ENOENT, ENOMEM. */
PTRC_MUST_CHECK int ptrc_shmdir_open(uid_t uid, bool is_create, int *dirfd);
/* The same. Tells the name in /dev/shm, in case of an error that which it should have. */
PTRC_MUST_CHECK int ptrc_shmdir_find(uid_t uid, bool is_create,
				     char name[PTRC_SHMDIR_DIRECTORY_BYTES], int *dirfd);

/* The path of a user's directory, for a process that has no descriptor left to open it, and
 * whether it holds the marker of an INHERITED stream. The directory exists, and is safe to use;
 * EPERM otherwise. Unless the directory has the first name, a short-lived process with descriptors
 * of its own looks for it. Async-signal-safe. */
PTRC_MUST_CHECK int ptrc_shmdir_path(uid_t uid, char path[PTRC_SHMDIR_PATH_BYTES],
				     bool *is_inherited);

/* The same in the usual case, with what stat() tells of the directory: it is there, and has the first
 * name. False: it is not so. */
bool ptrc_shmdir_usual_path(uid_t uid, char path[PTRC_SHMDIR_PATH_BYTES], struct stat *st);

/* Calls visit() for every name in an open directory. Entries may come and go meanwhile. */
void ptrc_shmdir_for_each(int dirfd, void (*visit)(const char *name, void *arg), void *arg);

/* The name of an object: prefix 'p' with a pid in decimal; 'n', 's', 'i', 't', 'u' with an identity
 * in hexadecimal digits. */
void ptrc_shmdir_name(char name[PTRC_SHMDIR_NAME_BYTES], char prefix, uint64_t id);
/* The identity in a name with this prefix; 0: the name is of another form. */
uint64_t ptrc_shmdir_parse(const char *name, char prefix);

/* Opens an object for reading and writing. EPERM: it is not a regular file of the user with one
 * link. ENOENT, ENOMEM. */
PTRC_MUST_CHECK int ptrc_shmdir_open_object(int dirfd, const char *name, uid_t uid, int *fd,
					    uint64_t *size);
/* Makes an object of the caller without any bytes, and opens it. EEXIST, EPERM, ENOMEM. */
PTRC_MUST_CHECK int ptrc_shmdir_make_object(int dirfd, const char *name, int *fd, uint64_t *size);
/* Opens the object with the name that ptrc_shmdir_name() makes. */
PTRC_MUST_CHECK int ptrc_shmdir_open_id(int dirfd, char prefix, uint64_t id, uid_t uid, int *fd,
					uint64_t *size);

/* Removes the object with that name; prefix 'i': the directory that marks an INHERITED stream.
 * Returns false if it is not there. */
bool ptrc_shmdir_remove_id(int dirfd, char prefix, uint64_t id);

/* Makes an object of `size` bytes that belongs to the user (root may make one for another
 * user), and reserves memory for the first `reserved` bytes; the rest is sparse. The soft file
 * size limit of the caller does not count, and the caller gets no SIGXFSZ. EEXIST, EPERM,
 * ENOMEM. */
PTRC_MUST_CHECK int ptrc_shmdir_create_object(int dirfd, const char *name, uid_t uid, uint64_t size,
					      uint64_t reserved, int *fd);

/* Makes an existing object at least `size` bytes long, and reserves memory for `bytes` bytes at
 * `offset`. ENOMEM. */
PTRC_MUST_CHECK int ptrc_shmdir_reserve(int fd, uint64_t size, uint64_t offset, uint64_t bytes);

/* A random identity, never 0. */
uint64_t ptrc_shmdir_new_id(void);

#endif
