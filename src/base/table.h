/* SPDX-License-Identifier: MIT */
/* A hash table of things, which are found by their keys. A key is a sequence of bytes. */
#ifndef PTRC_SRC_BASE_TABLE_H
#define PTRC_SRC_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* The first member of each thing in a table. The key is stored after the thing, in the same allocation. */
struct ptrc_table_entry {
	struct ptrc_table_entry *next;
	uint64_t hash;
	size_t key_size;
	unsigned char *key;
};

/* A hash table. Zeroed at the start. */
struct ptrc_table {
	struct ptrc_table_entry **slots;
	size_t slot_count; /* a power of two */
	size_t count;
	/* The thing that was found last, because it is often wanted again; or NULL. */
	struct ptrc_table_entry *last;
	/* Removed things, all of one size, that are kept for reuse. */
	struct ptrc_table_entry *spare;
};

/* Finds the thing with this key. If there is none, adds one of thing_size bytes, zeroed except for its entry. */
void *ptrc_table_find(struct ptrc_table *, const void *key, size_t key_size, size_t thing_size);

/* Finds the thing with this key. Returns NULL if there is none. */
void *ptrc_table_seek(const struct ptrc_table *, const void *key, size_t key_size);

/* Variants of ptrc_table_find() and ptrc_table_seek() for a key whose hash is known, because the caller looks the
 * key up in several tables. */
uint64_t ptrc_table_hash(const void *key, size_t key_size);
void *ptrc_table_find_hashed(struct ptrc_table *, uint64_t hash, const void *key, size_t key_size,
			     size_t thing_size);
void *ptrc_table_seek_hashed(const struct ptrc_table *, uint64_t hash, const void *key,
			     size_t key_size);

/* Removes a thing, whose memory is then used again or freed. */
void ptrc_table_remove(struct ptrc_table *, void *thing);

/* Iterates over the things, in no particular order: returns the one after `thing`, which may be NULL for the first, or
 * NULL after the last. The caller may remove a thing after it has got the next one. */
void *ptrc_table_next(const struct ptrc_table *, const void *thing);

void ptrc_table_free(struct ptrc_table *);

#endif
