/* SPDX-License-Identifier: MIT */
/*
 * The names object `n.<id>`: event names <-> event type identifiers of a family of
 * processes. Append-only; index i is id PTRC_ID_FIRST + i. Lookups take no lock;
 * registration takes an OFD lock on the file. A name is published by the count that
 * covers it, after its bytes.
 *
 * Every user of the object holds a read lock on its byte 0, through a mapping (or a
 * descriptor). Whoever lets go and then gets the write lock was the last, and unlinks it.
 */
#ifndef PTRC_LIB_MODEL_NAMES_H
#define PTRC_LIB_MODEL_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/common.h"

#define PTRC_ID_UNNAMED 9U
#define PTRC_ID_FIRST 10U
#define PTRC_NAMES_MAX 1023U
#define PTRC_NAME_BYTES 256U

#define PTRC_NAMES_MAGIC UINT64_C(0x31534d414e525450) /* "PTRNAMS1" */

struct ptrc_names_object {
	uint64_t magic;
	uint64_t id;
	_Atomic uint32_t count;
	/* Thread that registers where the file cannot be locked (it was removed by name):
	 * second to the lock, normally 0. */
	_Atomic uint32_t writer;
	uint8_t pad[4096 - 24];
	char name[PTRC_NAMES_MAX][PTRC_NAME_BYTES]; /* zero terminated */
};
_Static_assert(offsetof(struct ptrc_names_object, name) == 4096, "names begin on a page");
_Static_assert(sizeof(struct ptrc_names_object) == 4096 + 1023 * 256, "no padding");

/* A reference: the mapping plus the read lock that keeps the object from being removed. */
struct ptrc_names {
	struct ptrc_names_object *object;
	uint64_t id;  /* 0: private memory of a process that cannot be traced */
	uint32_t uid; /* whose directory it is in */
};

/* Name to id; registers it if it is new and there is room, else PTRC_ID_UNNAMED with 0
 * (EVENTID-07). Predefined names give predefined ids (EVENTID-17). ENAMETOOLONG, ENOMEM. */
int ptrc_names_register(struct ptrc_names *n, const char *name, uint32_t *id);
/* Id to name, predefined ones included; n may be null for those. EINVAL if it has none. */
int ptrc_names_get(const struct ptrc_names *n, uint32_t id, char name[PTRC_NAME_BYTES]);
/* Never more than PTRC_NAMES_MAX. */
uint32_t ptrc_names_count(const struct ptrc_names *n);
/* Gives back what ptrc_target_names gave. */
void ptrc_names_unref(struct ptrc_names *n);

/* A descriptor that is a reference by itself (for the keeper): duplicates share it, the
 * last close gives it back. The object is 4096 bytes of header and then the names.
 * ENOENT, EPERM, ENOMEM. */
int ptrc_names_open_fd(int dirfd, uint32_t uid, uint64_t id, int *fd);
/* Unlink the object if nobody uses it any more; after closing such a descriptor, say. */
void ptrc_names_release(int dirfd, uint32_t uid, uint64_t id);

/* Predefined names: ids 1 to 9. Freestanding. */
const char *ptrc_names_predefined(uint32_t id);

/* ---- for process.c and target.c: raw system calls, no memory but mappings ---- */

/* Map an existing object, at `at` if not null (in place of what is mapped there). */
int ptrc_names_open(int dirfd, uint32_t uid, uint64_t id, void *at, struct ptrc_names *n);
/* Make a new one that begins with the first `count` names of `from` (null: none). */
int ptrc_names_create(int dirfd, uint32_t uid, const struct ptrc_names_object *from,
		      uint32_t count, void *at, struct ptrc_names *n);
/* A second mapping, and reference, of one that is mapped. */
int ptrc_names_share(const struct ptrc_names *from, struct ptrc_names *n);
/* One in private memory. */
int ptrc_names_create_private(struct ptrc_names *n);
void ptrc_names_unmap(struct ptrc_names *n);
/* Among the first `limit` names (and the predefined ones). 0 if it is not there. */
uint32_t ptrc_names_find(const struct ptrc_names_object *object, uint32_t limit,
			 const char *name);

#endif
