/* SPDX-License-Identifier: MIT */
/*
 * The per-user directory of shared objects, /dev/shm/posixtrace-<euid>/, mode 0700, and the
 * checked opening of what is in it. Raw system calls only: also for the keeper.
 *
 * In a user namespace the name has the user's number outside of it, so that the same user
 * has the same directory on either side.
 */
#ifndef PTRC_LIB_BASE_SHMDIR_H
#define PTRC_LIB_BASE_SHMDIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/common.h"

#define PTRC_SHMDIR_NAME_BYTES 32

/* Open the directory of `uid` (O_PATH not: usable for openat), making it if asked. It is
 * verified: a directory, no symbolic link, owned by uid, mode 0700; else EPERM.
 * ENOENT if it is not there and is_create is false. ENOMEM: no memory, no descriptor. */
int ptrc_shmdir_open(uid_t uid, bool is_create, int *dirfd)
	PTRC_NONNULL() PTRC_MUST_CHECK;

/* Names of objects: prefix 'p' with a pid in decimal, 'n', 's', 'i' with an id in hex. */
void ptrc_shmdir_name(char name[PTRC_SHMDIR_NAME_BYTES], char prefix, uint64_t id);
/* The id of such a name with a hexadecimal number, 0 if it is none. */
uint64_t ptrc_shmdir_parse(const char *name, char prefix);

/* Open an object read-write, checked: regular, owned by uid, one link, no symlink. *size as
 * fstat says. ENOENT, EPERM, ENOMEM. */
int ptrc_shmdir_open_object(int dirfd, const char *name, uid_t uid, int *fd,
			    uint64_t *size) PTRC_NONNULL() PTRC_MUST_CHECK;

/* Make a new object of `size` bytes (sparse), owned by uid (root may make one for another
 * user), reserve the first `reserved` bytes. EEXIST, ENOMEM (no space). The caller's
 * RLIMIT_FSIZE must not stand in the way, and no SIGXFSZ reaches it. */
int ptrc_shmdir_create_object(int dirfd, const char *name, uid_t uid, uint64_t size,
			      uint64_t reserved, int *fd) PTRC_NONNULL() PTRC_MUST_CHECK;

/* Make the file at least `size` bytes long and reserve the first `reserved` of them, with
 * the same care. ENOMEM. */
int ptrc_shmdir_reserve(int fd, uint64_t size, uint64_t reserved) PTRC_MUST_CHECK;

/* Random non-zero 64-bit identity (getrandom). */
uint64_t ptrc_shmdir_new_id(void);

/* ---- sweep.c ---- */

/* Remove what dead processes left: pages, names objects nobody maps, streams whose
 * controller and keeper are dead (a logged one's log is finished first, see
 * ptrc_keeper_finish_orphan in keeper_orphan.h). */
void ptrc_shmdir_sweep(int dirfd, uid_t uid);
/* The same, but streams with a log are let be: never takes long. For constructors and
 * exits. */
void ptrc_shmdir_sweep_processes(int dirfd, uid_t uid);
/* Take a stream that has ended out of the pages of all processes. */
void ptrc_shmdir_sweep_stream(int dirfd, uid_t uid, uint64_t stream_id);

#endif
