/* SPDX-License-Identifier: MIT */
/*
 * The names object `n.<id>`: the names of event types and their identifiers, for a family of
 * processes. It only grows; the name at index i has identifier PTRC_ID_FIRST + i. A lookup
 * takes no lock. A registration takes a lock on the file, writes the bytes of the name, and
 * then publishes it by a count that includes it.
 *
 * Every user of the object holds a read lock on its byte 0, which a mapping (or a descriptor)
 * keeps. A process that lets go of the object and then gets the write lock was the last user,
 * and unlinks it.
 */
#ifndef PTRC_LIB_MODEL_NAMES_H
#define PTRC_LIB_MODEL_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"

/* The identifier for a name that is registered when all others are taken. */
#define PTRC_ID_UNNAMED 9U
/* The first identifier that is not predefined. */
#define PTRC_ID_FIRST 10U

#define PTRC_NAMES_MAX 1023U
#define PTRC_NAME_BYTES 256U

#define PTRC_NAMES_MAGIC UINT64_C(0x31534d414e525450) /* "PTRNAMS1" */

struct ptrc_names_object {
	uint64_t magic;
	uint64_t id;
	_Atomic uint32_t count;
	/* The thread that registers a name, 0: none. It locks the file first, and then this
	 * word. If the file has been unlinked, this word alone keeps other processes out. */
	_Atomic uint32_t writer;
	uint8_t pad[4096 - 24];
	char name[PTRC_NAMES_MAX][PTRC_NAME_BYTES]; /* zero terminated */
};
_Static_assert(offsetof(struct ptrc_names_object, name) == 4096, "names begin on a page");
_Static_assert(sizeof(struct ptrc_names_object) == 4096 + 1023 * 256, "no padding");

/* How many names there are. Pairs with the release of a registration: these are complete. */
static inline uint32_t ptrc_names_object_count(const struct ptrc_names_object *object)
{
	uint32_t count = ptrc_load_acquire(&object->count);

	return count < PTRC_NAMES_MAX ? count : PTRC_NAMES_MAX;
}

/* A process' hold on the object: the mapping, and with it the read lock. */
struct ptrc_names {
	struct ptrc_names_object *object;
	uint64_t id;  /* 0: not an object, but private memory of a process */
	uint32_t uid; /* whose directory it is in */
};

/* The name of a predefined event type; null for any other identifier. */
const char *ptrc_names_predefined(uint32_t id);
/* The identifier of a name, predefined ones included. A new name is registered; when there is
 * no room for it, *id is PTRC_ID_UNNAMED. ENAMETOOLONG, ENOMEM. */
int ptrc_names_register(struct ptrc_names *n, const char *name, uint32_t *id);
/* The name of an identifier, predefined ones included; n may be null for those. EINVAL: it has
 * none. */
int ptrc_names_get(const struct ptrc_names *n, uint32_t id, char name[PTRC_NAME_BYTES]);
static inline uint32_t ptrc_names_count(const struct ptrc_names *n)
{
	return ptrc_names_object_count(n->object);
}
/* Lets go of an object that ptrc_target_names() gave, and frees n. */
void ptrc_names_unref(struct ptrc_names *n);

/* Opens the object for a process that does not map it. The descriptor holds the read lock, and
 * its copies share the hold; the last one that is closed lets go. ENOENT, EPERM, ENOMEM. */
int ptrc_names_open_fd(int dirfd, uint32_t uid, uint64_t id, int *fd);
/* Unlinks the object if nobody uses it any more. */
void ptrc_names_release(int dirfd, uint32_t uid, uint64_t id);

/* ---- the mapping: raw system calls only, no memory but mappings ---- */

/* Maps an existing object; `at` not null: there, in place of what is mapped there. */
int ptrc_names_open(int dirfd, uint32_t uid, uint64_t id, void *at, struct ptrc_names *n);
/* Makes a new object that begins with the first `count` names of `from` (null: none). */
int ptrc_names_create(int dirfd, uint32_t uid, const struct ptrc_names_object *from, uint32_t count,
		      void *at, struct ptrc_names *n);
/* A second mapping, and hold, of an object that is mapped. */
int ptrc_names_share(const struct ptrc_names *from, struct ptrc_names *n);
/* Names in private memory, for a process that cannot be traced. */
int ptrc_names_create_private(struct ptrc_names *n);
void ptrc_names_unmap(struct ptrc_names *n);
/* The identifier of a name among the first `limit` ones and the predefined ones; 0: none. */
uint32_t ptrc_names_find(const struct ptrc_names_object *object, uint32_t limit, const char *name);

#endif
