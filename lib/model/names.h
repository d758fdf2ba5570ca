/* SPDX-License-Identifier: MIT */
/*
 * The names object `n.<id>`: the names of event types and their identifiers, for a family of
 * processes. It only grows: the name in entry i has the identifier PTRC_ID_FIRST + i for ever.
 * There are no locks. A thread that registers a name claims the first free entry, writes the name,
 * marks the entry as made, counts it and enters it into the index. If the thread is stopped or
 * killed before it has counted the entry or entered it into the index, the next thread that
 * registers a name takes these steps. If the thread has not made its entry after some milliseconds,
 * the next thread gives the entry up: this entry never gets a name, and the thread that claimed it,
 * if it is still alive, claims another entry.
 *
 * The index is a hash table. The names of a bucket form a chain, the newest first. A chain leads
 * only from higher numbers to lower ones, so even a damaged chain ends. A thread that registers a
 * name first enters the preceding name into the index if it is missing. So if several threads enter
 * the same name, all of them store the same values.
 *
 * A name may have a layout, the description of its events' data. The first layout that a name gets
 * is never replaced. The texts of all layouts follow the names. So does a list of the layouts in
 * the order of their arrival, in which the writer of a log finds new layouts. A thread that adds a
 * layout first writes the text, then stores the place of the text in the list, and then stores this
 * place in the entry of the name. If the thread is killed before the last step, the next thread
 * that adds a layout does this step. If it is killed before the text is in the list, the text is
 * wasted space.
 *
 * The file is sparse. On a full file system, reading or writing a page without memory raises
 * SIGBUS. Readers look only at the entries below `count`, at the list up to and including
 * layouts[layout_count], and at the texts up to `texts_used`. Before one of these three words is
 * raised, memory is reserved for what readers may look at then.
 *
 * Each process that uses the object holds a read lock on byte 0 of its file, through a mapping or
 * a descriptor. A process that stops using the object and then gets the write lock was the last
 * user, and unlinks the file.
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

/* When no other identifier is left, every further name gets this identifier, that of
 * posix_trace_unnamed_userevent. */
#define PTRC_ID_UNNAMED 9U
/* The first identifier that is not predefined. */
#define PTRC_ID_FIRST 10U

#define PTRC_NAMES_MAX 8182U
#define PTRC_NAME_BYTES 256U
#define PTRC_NAMES_BUCKET_COUNT 1024U
#define PTRC_NAMES_REFUSED_WORDS 64U

/* The most bytes of one layout, including its zero byte, and of all layouts of a names object
 * together. */
#define PTRC_NAMES_LAYOUT_BYTES 4097U
#define PTRC_NAMES_TEXTS_BYTES (1U << 20)

#define PTRC_NAMES_MAGIC UINT64_C(0x53454d414e525450) /* "PTRNAMES" */

/* The states of an entry. MADE and GIVEN_UP are final; only entries in these two states are
 * counted. */
enum ptrc_names_state {
	PTRC_NAMES_FREE,
	PTRC_NAMES_CLAIMED,
	PTRC_NAMES_MADE,
	PTRC_NAMES_GIVEN_UP,
};

struct ptrc_names_entry {
	char name[PTRC_NAME_BYTES]; /* zero-terminated; written by the claimer */
	_Atomic uint32_t hash;	    /* hash of the name; written by the claimer */
	/* 1 + the index of the next name in the same hash bucket; 0: none. That index is lower than
	 * the index of this name. */
	_Atomic uint16_t next;
	_Atomic uint16_t state; /* enum ptrc_names_state; changes by CAS */
	/* Offset of the name's layout in `texts`; 0: it has none. Changes once. */
	_Atomic uint32_t layout;
};
_Static_assert(sizeof(struct ptrc_names_entry) == 268, "entry of a name");

/* The header of a layout, at a multiple of 4 in `texts`. The text of the layout follows it. */
struct ptrc_names_text {
	uint16_t index; /* index of the entry that has this layout */
	uint16_t bytes; /* length of the text without a zero byte; below PTRC_NAMES_LAYOUT_BYTES */
};
_Static_assert(sizeof(struct ptrc_names_text) == 4, "head of a layout");

struct ptrc_names_object {
	uint64_t magic;
	uint64_t id;
	uint32_t version; /* lib/base/shared_version.h */
	uint32_t pad0;
	_Atomic uint32_t count;
	/* The first thread that notes a refused name changes this word from 0 to 1, writes the name
	 * into `refused` and then stores 2 here. */
	_Atomic uint32_t refused_state;
	/* A bit for each name that was refused (ptrc_names_refuse()); its hash selects the bit.
	 * Several names may share a bit. */
	_Atomic uint64_t refused_seen[PTRC_NAMES_REFUSED_WORDS];
	char refused[PTRC_NAME_BYTES]; /* the first name that was refused */
	/* For each hash bucket, 1 + the index of its newest name; 0: the bucket is empty. */
	_Atomic uint16_t bucket[PTRC_NAMES_BUCKET_COUNT];
	/* Offset of the first free byte of `texts`, minus 4. It is 0 at first, so the first layout
	 * has the offset 4: the offset 0 says that there is no layout. Changes by CAS. */
	_Atomic uint32_t texts_used;
	/* A lower bound for the number of elements of `layouts` in use; the list may already be
	 * longer. */
	_Atomic uint32_t layout_count;
	uint8_t pad1[4096 - 2856];
	struct ptrc_names_entry entry[PTRC_NAMES_MAX];
	/* The list of layouts, in the order of their arrival: offsets in `texts`; 0: unused
	 * element. An element changes once, by CAS, after the element before it. If the list has
	 * several layouts for a name, the first of them is valid. */
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

/* The offsets are the same in all releases 1.x (lib/base/shared_version.h). */
PTRC_ASSERT_OFFSET(struct ptrc_names_object, magic, 0);
PTRC_ASSERT_OFFSET(struct ptrc_names_object, id, 8);
PTRC_ASSERT_OFFSET(struct ptrc_names_object, version, 16);
PTRC_ASSERT_OFFSET(struct ptrc_names_object, count, 24);
PTRC_ASSERT_OFFSET(struct ptrc_names_object, refused_state, 28);
PTRC_ASSERT_OFFSET(struct ptrc_names_object, refused_seen, 32);
PTRC_ASSERT_OFFSET(struct ptrc_names_object, refused, 544);
PTRC_ASSERT_OFFSET(struct ptrc_names_object, bucket, 800);
PTRC_ASSERT_OFFSET(struct ptrc_names_object, texts_used, 2848);
PTRC_ASSERT_OFFSET(struct ptrc_names_object, layout_count, 2852);
PTRC_ASSERT_OFFSET(struct ptrc_names_object, entry, 4096);
PTRC_ASSERT_OFFSET(struct ptrc_names_entry, name, 0);
PTRC_ASSERT_OFFSET(struct ptrc_names_entry, hash, 256);
PTRC_ASSERT_OFFSET(struct ptrc_names_entry, next, 260);
PTRC_ASSERT_OFFSET(struct ptrc_names_entry, state, 262);
PTRC_ASSERT_OFFSET(struct ptrc_names_entry, layout, 264);

/* The number of entries that are final, counted from the first: each has a name, or was given up
 * and never gets one. A final entry changes only once more, if it gets a layout. */
static inline uint32_t ptrc_names_object_count(const struct ptrc_names_object *object)
{
	uint32_t count = ptrc_load_acquire(&object->count);

	return count < PTRC_NAMES_MAX ? count : PTRC_NAMES_MAX;
}

/* Whether entry `index`, which is below the count, has a name and was not given up. */
static inline bool ptrc_names_object_has(const struct ptrc_names_object *object, uint32_t index)
{
	return ptrc_load_relaxed(&object->entry[index].state) == PTRC_NAMES_MADE;
}

/* The layout at offset `place` of `texts`, its length, and the index of the entry that it belongs
 * to. NULL: the offset or the length is impossible. Other processes may change the bytes while
 * the caller reads them, but all `bytes` bytes lie inside the object. */
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
/* Compares a layout with that of the entry. Returns 0 if they are equal. ENODATA: the entry has
 * no layout. EEXIST: it has another layout. */
int ptrc_names_object_compare(const struct ptrc_names_object *, uint32_t index, const char *layout,
			      uint32_t bytes);

/* The index of the entry that got layout number `number`, in the order of arrival, counted from
 * 0. PTRC_NAMES_MAX: there is no such layout yet. */
static inline uint32_t ptrc_names_object_described(const struct ptrc_names_object *object,
						   uint32_t number)
{
	uint32_t index, bytes;

	if (number >= PTRC_NAMES_MAX || number > ptrc_load_acquire(&object->layout_count) ||
	    !ptrc_names_text_at(object, ptrc_load_acquire(&object->layouts[number]), &index,
				&bytes))
		return PTRC_NAMES_MAX;
	/* The thread that put the layout into the list may not have stored it in the entry yet. */
	if (index >= ptrc_names_object_count(object) ||
	    ptrc_load_acquire(&object->entry[index].layout) == 0)
		return PTRC_NAMES_MAX;
	return index;
}

/* A lower bound for the number of refused names. `seen` is refused_seen or a copy
 * of it. */
static inline uint32_t ptrc_names_count_refused(const _Atomic uint64_t *seen)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < PTRC_NAMES_REFUSED_WORDS; i++)
		for (uint64_t bits = ptrc_load_relaxed(&seen[i]); bits; bits &= bits - 1)
			count++;
	return count;
}

/* A process's mapping of a names object (table of event names). The mapping holds the read lock
 * that keeps the object from being removed. */
struct ptrc_names {
	struct ptrc_names_object *object;
	uint64_t id;  /* 0: names in private memory, not a shared object */
	uint32_t uid; /* the user whose directory holds the object */
};

/* The name of a predefined event type; NULL for other identifiers. */
const char *ptrc_names_predefined(uint32_t id);
/* Stores the identifier of a name, which may be predefined. A new name is registered. If no
 * identifier is left, *id is PTRC_ID_UNNAMED and the object counts the name as refused. After an
 * error *id is unchanged. ENAMETOOLONG. ENOMEM: out of memory, or the object is damaged. */
int ptrc_names_register(struct ptrc_names *n, const char *name, uint32_t *id);
/* Notes a name whose events are recorded as unnamed ones or, because the program knows that there
 * was no memory for the name, perhaps not at all. So commands can report the number of such names,
 * and the first of them. */
void ptrc_names_refuse(struct ptrc_names_object *, const char *name);
/* Stores the name of an event type. For predefined event types n may be NULL. EINVAL: there is no
 * type with this identifier. */
int ptrc_names_get(const struct ptrc_names *n, uint32_t id, char name[PTRC_NAME_BYTES]);
/* Gives a type a layout, which the caller has checked. Returns 0 also if the type already has the
 * same layout. EEXIST: it has another layout. ENOSPC: the object has no space for more layouts.
 * ENOMEM: out of memory, or the object is damaged. EINVAL: the type is predefined or does not
 * exist. */
int ptrc_names_set_layout(struct ptrc_names *n, uint32_t id, const char *layout, uint32_t bytes);
/* Stores the layout of a type, zero-terminated. EINVAL: no such type. ENODATA: the type has no
 * layout. */
int ptrc_names_get_layout(const struct ptrc_names *n, uint32_t id,
			  char layout[PTRC_NAMES_LAYOUT_BYTES]);
static inline uint32_t ptrc_names_count(const struct ptrc_names *n)
{
	return ptrc_names_object_count(n->object);
}

/* Opens the object for a process that does not map it. The descriptor holds the read lock until
 * it and all its duplicates are closed. ENOENT, EPERM, ENOMEM. */
int ptrc_names_open_fd(int dirfd, uint32_t uid, uint64_t id, int *fd);
/* Whether this library knows the version of the object. EPROTO: it does not know this version,
 * which is in *version. Other errors: those of ptrc_names_open. */
PTRC_MUST_CHECK int ptrc_names_check(int dirfd, uint32_t uid, uint64_t id, uint32_t *version);
/* Unlinks the object if no process uses it and is_needed(), which gets the arguments, returns false. */
void ptrc_names_release(int dirfd, uint32_t uid, uint64_t id,
			bool (*is_needed)(int dirfd, uint32_t uid, uint64_t id));

/* ---- the mapping: raw system calls only, no malloc() ---- */

/* Maps an existing object. If `at` is not NULL, the mapping replaces what is mapped at this
 * address. EPROTO: the object has a version that this library does not know. ENOENT, EPERM,
 * ENOMEM. */
int ptrc_names_open(int dirfd, uint32_t uid, uint64_t id, void *at, struct ptrc_names *n);
/* Creates an object with the first `count` names of `from` and their layouts; with NULL for
 * `from`, an object without names. */
int ptrc_names_create(int dirfd, uint32_t uid, const struct ptrc_names_object *from, uint32_t count,
		      void *at, struct ptrc_names *n);
/* Maps the object of `from` a second time; the new mapping, *n, holds a read lock of its own.
 * Returns 0 or ENOMEM. */
int ptrc_names_share(const struct ptrc_names *from, struct ptrc_names *n);
/* Makes an empty names object in private memory, for a process that cannot be traced but opens
 * names. */
int ptrc_names_create_private(struct ptrc_names *n);
void ptrc_names_unmap(struct ptrc_names *n);
/* The identifier of a name if it is predefined or among the first `limit` registered names; else
 * 0. */
uint32_t ptrc_names_find(const struct ptrc_names_object *object, uint32_t limit, const char *name);

#endif
