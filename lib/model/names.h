/* SPDX-License-Identifier: MIT */
/*
 * The names object `n.<id>`: the names of event types and their identifiers, for a family of
 * processes. It only grows; the name at index i has identifier PTRC_ID_FIRST + i. Nobody takes a
 * lock here. A thread that registers a name claims the first entry that is free, writes the name,
 * and declares the entry made. Then it counts the entry in and puts it into the index; if it does
 * not get so far, the next thread does. A claim that stands for some milliseconds, because its
 * thread was stopped or killed, is given up by the next thread that needs an entry: this entry
 * never has a name, and its thread, if it wakes up again, claims another one.
 *
 * The index is a hash table: names of the same bucket form a chain, the newest first. A chain
 * leads from a higher number to a lower one only, so a damaged one has an end, too. A name that
 * is not in the index, because its process was killed, is put there by the next registration.
 * That happens before another entry is claimed, so all threads that put a name into the index
 * store the same.
 *
 * A name may have a layout, which says what the data of its events means. The first layout that a
 * name gets stands. The texts of layouts stand behind the names, and so does a list of them in the
 * order in which they came, by which a log learns of those that are new. A thread writes the text
 * first; one store then puts it into the list; the next one into the entry of the name. If a
 * thread is killed before the last step, the next thread that adds a layout does it. What a thread
 * wrote that was killed before the first of these stores is lost room, and nothing else.
 *
 * The file is sparse. On a full file system a process that reads a page without memory gets SIGBUS, as
 * one that writes there does. So these have memory before the word that leads readers there is raised:
 * the entries below `count`, the places of layouts up to and including layouts[layout_count], and the
 * texts up to `texts_used`. Readers look at nothing else.
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
#include <string.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/model/eventset.h"
#include "lib/model/record.h"

/* The identifier for a name that is registered when all others are taken. */
#define PTRC_ID_UNNAMED 9U
/* The first identifier that is not predefined. */
#define PTRC_ID_FIRST 10U

#define PTRC_NAMES_MAX 8182U
#define PTRC_NAME_BYTES 256U
#define PTRC_NAMES_BUCKET_COUNT 1024U
#define PTRC_NAMES_REFUSED_WORDS 64U

/* The bytes of a layout, with the null byte; and those that all layouts of an object may have. */
#define PTRC_NAMES_LAYOUT_BYTES 4097U
#define PTRC_NAMES_TEXTS_BYTES (1U << 20)

#define PTRC_NAMES_MAGIC UINT64_C(0x33534d414e525450) /* "PTRNAMS3" */

/* What becomes of an entry. The last two are final, and only such entries are counted in. */
enum ptrc_names_state {
	PTRC_NAMES_FREE,
	PTRC_NAMES_CLAIMED,
	PTRC_NAMES_MADE,
	PTRC_NAMES_GIVEN_UP,
};

struct ptrc_names_entry {
	char name[PTRC_NAME_BYTES]; /* zero terminated; the thread that claimed the entry */
	_Atomic uint32_t hash;	    /* the same */
	/* The next one of the bucket: 1 + its index, below 1 + the index of this one; 0: none. */
	_Atomic uint16_t next;
	_Atomic uint16_t state; /* enum ptrc_names_state; changes by CAS */
	/* The place of its layout in `texts`; 0: it has none. Changes once. */
	_Atomic uint32_t layout;
};
_Static_assert(sizeof(struct ptrc_names_entry) == 268, "entry of a name");

/* A layout, at a multiple of 4 in `texts`; its bytes follow. */
struct ptrc_names_text {
	uint16_t index; /* of its entry */
	uint16_t bytes; /* without a null byte; below PTRC_NAMES_LAYOUT_BYTES */
};
_Static_assert(sizeof(struct ptrc_names_text) == 4, "head of a layout");

struct ptrc_names_object {
	uint64_t magic;
	uint64_t id;
	_Atomic uint32_t count;
	/* The first thread that finds no room for a name changes it from 0 to 1, writes that name
	 * into `refused`, and stores 2. */
	_Atomic uint32_t refused_state;
	/* Names that found no room, each counted once, as a bit that its hash selects. Two names
	 * may share a bit, so there may be more. */
	_Atomic uint64_t refused_seen[PTRC_NAMES_REFUSED_WORDS];
	char refused[PTRC_NAME_BYTES]; /* the first one */
	/* 1 + the index of the newest name of the bucket; 0: none. */
	_Atomic uint16_t bucket[PTRC_NAMES_BUCKET_COUNT];
	/* The first free byte of `texts`, less 4; changes by CAS. */
	_Atomic uint32_t texts_used;
	/* How many places of `layouts` are taken, at least; others may be behind these. */
	_Atomic uint32_t layout_count;
	uint8_t pad1[4096 - 2848];
	struct ptrc_names_entry entry[PTRC_NAMES_MAX];
	/* The places of all layouts in `texts`, in the order in which they came; 0: none yet. Each
	 * changes once, by CAS, and only behind one that is not 0. If a name has several, the first
	 * one counts. */
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

/* How many entries are counted in: identifiers up to there may have names, and their entries do not
 * change any more. */
static inline uint32_t ptrc_names_object_count(const struct ptrc_names_object *object)
{
	uint32_t count = ptrc_load_acquire(&object->count);

	return count < PTRC_NAMES_MAX ? count : PTRC_NAMES_MAX;
}

/* Has this entry, which is counted in, a name? */
static inline bool ptrc_names_object_has(const struct ptrc_names_object *object, uint32_t index)
{
	return ptrc_load_relaxed(&object->entry[index].state) == PTRC_NAMES_MADE;
}

/* The layout at this place of `texts`, its number of bytes, and the index of its entry; null: there can be
 * none. The object is only as good as the processes that write it: the bytes may change while somebody
 * looks at them, but the place and the number of them are good. */
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

/* The layout of this entry, which is counted in; null: it has none. The text has *bytes bytes, and no null
 * byte behind it. */
static inline const char *ptrc_names_object_layout(const struct ptrc_names_object *object,
						   uint32_t index, uint32_t *bytes)
{
	uint32_t place = ptrc_load_acquire(&object->entry[index].layout);
	uint32_t its;
	const char *text = ptrc_names_text_at(object, place, &its, bytes);

	return text && its == index ? text : NULL;
}
/* Has the entry this layout? ENODATA: it has none; EEXIST: it has another one. */
int ptrc_names_object_compare(const struct ptrc_names_object *, uint32_t index, const char *layout,
			      uint32_t bytes);

/* The entry of the layout that came as number `number`; PTRC_NAMES_MAX: so many have not come yet. */
static inline uint32_t ptrc_names_object_described(const struct ptrc_names_object *object,
						   uint32_t number)
{
	uint32_t index, bytes;

	if (number >= PTRC_NAMES_MAX || number > ptrc_load_acquire(&object->layout_count) ||
	    !ptrc_names_text_at(object, ptrc_load_acquire(&object->layouts[number]), &index,
				&bytes))
		return PTRC_NAMES_MAX;
	/* The thread that has put it into the list may not have come further. */
	if (index >= ptrc_names_object_count(object) ||
	    ptrc_load_acquire(&object->entry[index].layout) == 0)
		return PTRC_NAMES_MAX;
	return index;
}

/* How many names were refused, at least. `seen` is refused_seen or a copy. */
static inline uint32_t ptrc_names_count_refused(const _Atomic uint64_t *seen)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < PTRC_NAMES_REFUSED_WORDS; i++)
		for (uint64_t bits = ptrc_load_relaxed(&seen[i]); bits; bits &= bits - 1)
			count++;
	return count;
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
 * no number left for it, *id is PTRC_ID_UNNAMED, and the object says that it was refused.
 * ENAMETOOLONG. ENOMEM: no memory, or the object is damaged. */
int ptrc_names_register(struct ptrc_names *n, const char *name, uint32_t *id);
/* The name of an identifier, predefined ones included; n may be null for those. EINVAL: it has
 * none. */
int ptrc_names_get(const struct ptrc_names *n, uint32_t id, char name[PTRC_NAME_BYTES]);
/* Gives a type a layout, if it has none; 0 also if it has this one. The caller has checked the text,
 * which has `bytes` bytes. EEXIST: it has another one. ENOSPC: the object has no room for more
 * layouts. ENOMEM: no memory, or the object is damaged. EINVAL: not a type with a name of its own. */
int ptrc_names_set_layout(struct ptrc_names *n, uint32_t id, const char *layout, uint32_t bytes);
/* The layout of a type, with a null byte at its end. EINVAL: no such type. ENODATA: it has none. */
int ptrc_names_get_layout(const struct ptrc_names *n, uint32_t id,
			  char layout[PTRC_NAMES_LAYOUT_BYTES]);
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
/* Makes a new object that begins with the first `count` names of `from` (null: none), and their
 * layouts. */
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
