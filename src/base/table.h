/* SPDX-License-Identifier: MIT */
/* A table of things by their keys, which are bytes. */
#ifndef PTRC_SRC_BASE_TABLE_H
#define PTRC_SRC_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* What a thing in a table begins with. */
struct ptrc_table_entry {
	struct ptrc_table_entry *next;
	uint64_t hash;
	size_t key_size;
	unsigned char *key;
};

/* Starts zeroed. */
struct ptrc_table {
	struct ptrc_table_entry **slots;
	size_t slot_count; /* a power of two */
	size_t count;
	/* The one that was found last, or null: often it is asked for again. */
	struct ptrc_table_entry *last;
	/* Some that were removed, all of one size, for those that will be made. */
	struct ptrc_table_entry *spare;
};

/* Finds the thing with this key, or makes one of so many bytes, all zero behind its entry. */
void *ptrc_table_find(struct ptrc_table *, const void *key, size_t key_size, size_t thing_size);

/* Finds the thing with this key; null if there is none. */
void *ptrc_table_seek(const struct ptrc_table *, const void *key, size_t key_size);

/* The same for a key whose hash is known, as it is looked for in several tables. */
uint64_t ptrc_table_hash(const void *key, size_t key_size);
void *ptrc_table_find_hashed(struct ptrc_table *, uint64_t hash, const void *key, size_t key_size,
			     size_t thing_size);
void *ptrc_table_seek_hashed(const struct ptrc_table *, uint64_t hash, const void *key,
			     size_t key_size);

/* Takes a thing out of the table, which frees it. */
void ptrc_table_remove(struct ptrc_table *, void *thing);

/* Calls the function for each thing, which it may not remove; in no order. */
void ptrc_table_visit(const struct ptrc_table *, void (*visit)(void *thing, void *arg), void *arg);

/* Frees all things and the table. */
void ptrc_table_free(struct ptrc_table *);

#endif
