/* SPDX-License-Identifier: MIT */
/*
 * The names object `n.<id>`: the names of event types and their identifiers, for a family of
 * processes. It only grows: the name at index i has identifier PTRC_ID_FIRST + i for ever. There
 * are no locks. A thread that registers a name claims the first free entry, writes the name, marks
 * the entry as made, counts it and enters it into the index. If the thread is stopped or killed
 * before the last two steps, the next thread that registers a name does them. If it has not made
 * its entry after some milliseconds, the next thread gives the entry up: it never gets a name, and
 * its maker, if it still lives, claims another one.
 *
 * The index is a hash table. The names of a bucket form a chain, the newest first. A chain leads
 * only from higher numbers to lower ones, so even a damaged one ends. A registration first enters
 * the name before it, if that is missing; so all threads that enter a name store the same.
 *
 * A name may have a layout, the description of its events' data. The first layout stands. The texts
 * of layouts follow the names, and so does a list of them in the order of their arrival, by which a
 * log learns of new ones. A thread first writes the text, then stores its place in the list, then
 * in the entry of the name. If it is killed before the last step, the next thread that adds a
 * layout does that. If it is killed before it is in the list, the text is wasted space.
 *
 * The file is sparse. On a full file system, reading or writing a page without memory raises
 * SIGBUS. So memory is reserved before the word is raised that leads readers there: for the entries
 * below `count`, the list up to and including layouts[layout_count], and the texts up to
 * `texts_used`. Readers look at nothing else.
 *
 * Each process that uses the object holds a read lock on its byte 0, through a mapping or a
 * descriptor. A process that lets go of the object and then gets the write lock was the last user,
 * and unlinks it.
 */
#ifndef PTRC_LIB_MODEL_NAMES_H
#define PTRC_LIB_MODEL_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/model/eventset.h"
#include "lib/model/record.h"

/* The identifier of all names that are registered when no number is left. */
#define PTRC_ID_UNNAMED 9U
/* The first identifier that is not predefined. */
#define PTRC_ID_FIRST 10U

#define PTRC_NAMES_MAX 8182U
#define PTRC_NAME_BYTES 256U
#define PTRC_NAMES_BUCKET_COUNT 1024U
#define PTRC_NAMES_REFUSED_WORDS 64U

/* Bytes of a layout, with its zero byte, and of all layouts of an object. */
#define PTRC_NAMES_LAYOUT_BYTES 4097U
#define PTRC_NAMES_TEXTS_BYTES (1U << 20)

#define PTRC_NAMES_MAGIC UINT64_C(0x33534d414e525450) /* "PTRNAMS3" */

/* The states of an entry. The last two are final, and only entries in these are counted. */
enum ptrc_names_state {
	PTRC_NAMES_FREE,
	PTRC_NAMES_CLAIMED,
	PTRC_NAMES_MADE,
	PTRC_NAMES_GIVEN_UP,
};

struct ptrc_names_entry {
	char name[PTRC_NAME_BYTES]; /* zero-terminated; written by its maker */
	_Atomic uint32_t hash;	    /* also written by its maker */
	/* 1 + the index of the next name of the bucket, which is lower; 0: none. */
	_Atomic uint16_t next;
	_Atomic uint16_t state; /* enum ptrc_names_state; changes by CAS */
	/* Offset of its layout in `texts`; 0: none. Changes once. */
	_Atomic uint32_t layout;
};
_Static_assert(sizeof(struct ptrc_names_entry) == 268, "entry of a name");

/* The head of a layout, at a multiple of 4 in `texts`; the text follows. */
struct ptrc_names_text {
	uint16_t index; /* index of its entry */
	uint16_t bytes; /* without a zero byte; below PTRC_NAMES_LAYOUT_BYTES */
};
_Static_assert(sizeof(struct ptrc_names_text) == 4, "head of a layout");

struct ptrc_names_object {
	uint64_t magic;
	uint64_t id;
	_Atomic uint32_t count;
	/* The first thread that has no number for a name changes this from 0 to 1, writes the
	 * name into `refused` and stores 2. */
	_Atomic uint32_t refused_state;
	/* Names without a number, each as a bit selected by its hash. Several names may share a
	 * bit. */
	_Atomic uint64_t refused_seen[PTRC_NAMES_REFUSED_WORDS];
	char refused[PTRC_NAME_BYTES]; /* the first one */
	/* 1 + the index of the newest name of the bucket; 0: none. */
	_Atomic uint16_t bucket[PTRC_NAMES_BUCKET_COUNT];
	/* Offset of the first free byte of `texts`, minus 4; changes by CAS. */
	_Atomic uint32_t texts_used;
	/* A lower bound for the number of `layouts`; more may follow. */
	_Atomic uint32_t layout_count;
	uint8_t pad1[4096 - 2848];
	struct ptrc_names_entry entry[PTRC_NAMES_MAX];
	/* Offsets of the layouts in `texts`, in the order of their arrival; 0: none. An element
	 * changes once, by CAS, after the one before it. If a name has several, the first one
	 * counts. */
	_Atomic uint32_t layouts[PTRC_NAMES_MAX];
	char texts[PTRC_NAMES_TEXTS_BYTES];
};
_Static_assert(offsetof(struct ptrc_names_object, entry) == 4096, "names begin on a page");
_Static_assert(offsetof(struct ptrc_names_object, layouts) == 4096 + PTRC_NAMES_MAX * 268 &&
		       sizeof(struct ptrc_names_object) ==
			       4096 + PTRC_NAMES_MAX * 272 + PTRC_NAMES_TEXTS_BYTES,
	       "no padding");
_Static_assert(PTRC_ID_FIRST + PTRC_NAMES_MAX == PTRC_SET_ID_MAX + 1 &&
		       PTRC_SET_ID_MAX == PTRC_REC_ID_MASK,
	       "sets and records have room for every identifier");
_Static_assert(TRACE_USER_EVENT_MAX == PTRC_NAMES_MAX + 1, "the names and the unnamed type");

/* Entries below this number do not change any more. Not all have names. */
static inline uint32_t ptrc_names_object_count(const struct ptrc_names_object *object)
{
	uint32_t count = ptrc_load_acquire(&object->count);

	return count < PTRC_NAMES_MAX ? count : PTRC_NAMES_MAX;
}

/* Whether this counted entry has a name. */
static inline bool ptrc_names_object_has(const struct ptrc_names_object *object, uint32_t index)
{
	return ptrc_load_relaxed(&object->entry[index].state) == PTRC_NAMES_MADE;
}

/* The layout at this offset of `texts`, its length and the index of its entry; NULL if the
 * offset or length is impossible. Other processes may change the bytes while the caller reads
 * them, but all are in the object. */
static inline const char *ptrc_names_text_at(const struct ptrc_names_object *object, uint32_t place,
					     uint32_t *index, uint32_t *bytes)
{
	uint32_t end = ptrc_load_acquire(&object->texts_used);
	struct ptrc_names_text head;

	end = end < sizeof(object->texts) - sizeof(head) ? end + (uint32_t)sizeof(head)
							 : (uint32_t)sizeof(object->texts);
	if (place == 0 || place % sizeof(head) || place > end - sizeof(head))
		return NULL;
	memcpy(&head, object->texts + place, sizeof(head));
	*index = head.index;
	*bytes = head.bytes;
	if (head.bytes == 0 || head.bytes >= PTRC_NAMES_LAYOUT_BYTES ||
	    head.bytes > end - sizeof(head) - place)
		return NULL;
	return object->texts + place + sizeof(head);
}

/* The layout of this counted entry, *bytes long without a zero byte; NULL if it has none. */
static inline const char *ptrc_names_object_layout(const struct ptrc_names_object *object,
						   uint32_t index, uint32_t *bytes)
{
	uint32_t place = ptrc_load_acquire(&object->entry[index].layout);
	uint32_t its;
	const char *text = ptrc_names_text_at(object, place, &its, bytes);

	return text && its == index ? text : NULL;
}
/* Whether the entry has this layout: 0. ENODATA: it has none. EEXIST: it has another one. */
int ptrc_names_object_compare(const struct ptrc_names_object *, uint32_t index, const char *layout,
			      uint32_t bytes);

/* The index of the entry that got layout number `number`; PTRC_NAMES_MAX if there are not so
 * many yet. */
static inline uint32_t ptrc_names_object_described(const struct ptrc_names_object *object,
						   uint32_t number)
{
	uint32_t index, bytes;

	if (number >= PTRC_NAMES_MAX || number > ptrc_load_acquire(&object->layout_count) ||
	    !ptrc_names_text_at(object, ptrc_load_acquire(&object->layouts[number]), &index,
				&bytes))
		return PTRC_NAMES_MAX;
	/* The thread that put it into the list may not have stored it in the entry yet. */
	if (index >= ptrc_names_object_count(object) ||
	    ptrc_load_acquire(&object->entry[index].layout) == 0)
		return PTRC_NAMES_MAX;
	return index;
}

/* The number of names without a number, at least. `seen` is refused_seen or a copy. */
static inline uint32_t ptrc_names_count_refused(const _Atomic uint64_t *seen)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < PTRC_NAMES_REFUSED_WORDS; i++)
		for (uint64_t bits = ptrc_load_relaxed(&seen[i]); bits; bits &= bits - 1)
			count++;
	return count;
}

/* A process' mapping of the object, and with it the read lock. */
struct ptrc_names {
	struct ptrc_names_object *object;
	uint64_t id;  /* 0: private memory of a process, no shared object */
	uint32_t uid; /* the user whose directory it is in */
};

/* The name of a predefined event type; NULL for other identifiers. */
const char *ptrc_names_predefined(uint32_t id);
/* The identifier of a name; predefined names are included. A new name is registered. If no
 * number is left, *id is PTRC_ID_UNNAMED and the object counts the name as refused.
 * ENAMETOOLONG. ENOMEM: out of memory, or the object is damaged. */
int ptrc_names_register(struct ptrc_names *n, const char *name, uint32_t *id);
/* The name of an identifier; for predefined ones n may be NULL. EINVAL: it has none. */
int ptrc_names_get(const struct ptrc_names *n, uint32_t id, char name[PTRC_NAME_BYTES]);
/* Gives a type a layout, which the caller has checked. 0 also if it has this one already.
 * EEXIST: it has another one. ENOSPC: no space for more layouts. ENOMEM: out of memory, or the
 * object is damaged. EINVAL: the type has no name of its own. */
int ptrc_names_set_layout(struct ptrc_names *n, uint32_t id, const char *layout, uint32_t bytes);
/* The layout of a type, zero-terminated. EINVAL: no such type. ENODATA: it has none. */
int ptrc_names_get_layout(const struct ptrc_names *n, uint32_t id,
			  char layout[PTRC_NAMES_LAYOUT_BYTES]);
static inline uint32_t ptrc_names_count(const struct ptrc_names *n)
{
	return ptrc_names_object_count(n->object);
}
/* Unmaps an object that ptrc_target_names() returned, unlinks it if this was the last user, and
 * frees n. */
void ptrc_names_unref(struct ptrc_names *n);

/* Opens the object for a process that does not map it. The descriptor and its copies hold the
 * read lock until all are closed. ENOENT, EPERM, ENOMEM. */
int ptrc_names_open_fd(int dirfd, uint32_t uid, uint64_t id, int *fd);
/* Unlinks the object if no process uses it. */
void ptrc_names_release(int dirfd, uint32_t uid, uint64_t id);

/* ---- the mapping: raw system calls only, no memory but mappings ---- */

/* Maps an existing object. If `at` is not NULL, it replaces what is mapped there. */
int ptrc_names_open(int dirfd, uint32_t uid, uint64_t id, void *at, struct ptrc_names *n);
/* Creates an object with the first `count` names of `from` and their layouts. `from` may be
 * NULL: none. */
int ptrc_names_create(int dirfd, uint32_t uid, const struct ptrc_names_object *from, uint32_t count,
		      void *at, struct ptrc_names *n);
/* Maps an object a second time; the new mapping holds a read lock of its own. */
int ptrc_names_share(const struct ptrc_names *from, struct ptrc_names *n);
/* Names in private memory, for a process that cannot be traced. */
int ptrc_names_create_private(struct ptrc_names *n);
void ptrc_names_unmap(struct ptrc_names *n);
/* The identifier of a name among the first `limit` names and the predefined ones; 0: none. */
uint32_t ptrc_names_find(const struct ptrc_names_object *object, uint32_t limit, const char *name);

#endif
