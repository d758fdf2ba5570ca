/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "src/base/message.h"

static uint64_t word_at(const unsigned char *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* The random seed of hashes. Without it, a log could be made whose keys have equal hashes, which would slow its
 * readers down. */
static uint64_t seed;

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32 ^ seed;
}

uint64_t ptrc_table_hash(const void *bytes, size_t size)
{
	const unsigned char *key = bytes;
	size_t at = 0;
	uint64_t hash;

	if (__builtin_expect(!seed, 0) && getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = (uintptr_t)&at | 1;
	hash = seed ^ size;

	for (; size - at > sizeof(hash); at += sizeof(hash))
		hash = mix(hash, word_at(key + at));
	/* The last eight bytes may overlap the word before them: hashing some bytes twice costs less than
	 * avoiding it. */
	if (size >= sizeof(hash)) {
		hash = mix(hash, word_at(key + size - sizeof(hash)));
	} else {
		uint64_t word = 0;

		memcpy(&word, key, size);
		hash = mix(hash, word);
	}
	return hash * UINT64_C(0xd6e8feb86659fd93) >> 7;
}

/* Whether the entry has this key. Most keys are short, so comparing words is faster than memcmp(). */
static bool has_key(const struct ptrc_table_entry *e, const unsigned char *key, size_t size)
{
	size_t at = 0;

	if (e->key_size != size)
		return false;
	if (size < sizeof(uint64_t))
		return !memcmp(e->key, key, size);
	for (; size - at > sizeof(uint64_t); at += sizeof(uint64_t))
		if (word_at(e->key + at) != word_at(key + at))
			return false;
	return word_at(e->key + size - sizeof(uint64_t)) == word_at(key + size - sizeof(uint64_t));
}

static struct ptrc_table_entry **slot_of(const struct ptrc_table *t, uint64_t hash)
{
	return &t->slots[hash & (t->slot_count - 1)];
}

static void grow(struct ptrc_table *t)
{
	struct ptrc_table_entry **old = t->slots;
	size_t old_count = t->slot_count;

	t->slot_count = old_count ? 2 * old_count : 64;
	t->slots = ptrc_cli_allocate(t->slot_count * sizeof(struct ptrc_table_entry *));
	for (size_t i = 0; i < old_count; i++)
		for (struct ptrc_table_entry *e = old[i], *next; e; e = next) {
			struct ptrc_table_entry **slot = slot_of(t, e->hash);

			next = e->next;
			e->next = *slot;
			*slot = e;
		}
	free(old);
}

static size_t thing_size_of(const struct ptrc_table_entry *e)
{
	return (size_t)(e->key - (const unsigned char *)e);
}

void *ptrc_table_seek(const struct ptrc_table *t, const void *key, size_t key_size)
{
	if (t->last && has_key(t->last, key, key_size))
		return t->last;
	return t->count ? ptrc_table_seek_hashed(t, ptrc_table_hash(key, key_size), key, key_size)
			: NULL;
}

void *ptrc_table_seek_hashed(const struct ptrc_table *t, uint64_t hash, const void *key,
			     size_t key_size)
{
	if (t->last && t->last->hash == hash && has_key(t->last, key, key_size))
		return t->last;
	if (t->count)
		for (struct ptrc_table_entry *e = *slot_of(t, hash); e; e = e->next)
			if (e->hash == hash && has_key(e, key, key_size))
				return e;
	return NULL;
}

void *ptrc_table_find(struct ptrc_table *t, const void *key, size_t key_size, size_t thing_size)
{
	/* Tries the thing that was found last: comparing keys costs less than hashing. */
	if (t->last && has_key(t->last, key, key_size))
		return t->last;
	return ptrc_table_find_hashed(t, ptrc_table_hash(key, key_size), key, key_size, thing_size);
}

void *ptrc_table_find_hashed(struct ptrc_table *t, uint64_t hash, const void *key, size_t key_size,
			     size_t thing_size)
{
	struct ptrc_table_entry *e = ptrc_table_seek_hashed(t, hash, key, key_size);
	struct ptrc_table_entry **slot;

	if (e)
		return t->last = e;
	if (2 * t->count >= t->slot_count)
		grow(t);
	slot = slot_of(t, hash);
	if (t->spare && t->spare->key_size == key_size && thing_size_of(t->spare) == thing_size) {
		e = t->spare;
		t->spare = e->next;
	} else {
		e = ptrc_cli_allocate(thing_size + key_size);
	}
	memset(e, 0, thing_size);
	*e = (struct ptrc_table_entry){*slot, hash, key_size, (unsigned char *)e + thing_size};
	memcpy(e->key, key, key_size);
	*slot = e;
	t->count++;
	return t->last = e;
}

void ptrc_table_remove(struct ptrc_table *t, void *thing)
{
	struct ptrc_table_entry *e = thing;
	struct ptrc_table_entry **at = slot_of(t, e->hash);

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	if (t->last == e)
		t->last = NULL;
	t->count--;
	/* Keeps the thing for reuse, because usually things are added as often as removed, all of one size. */
	if (!t->spare ||
	    (t->spare->key_size == e->key_size && thing_size_of(t->spare) == thing_size_of(e))) {
		e->next = t->spare;
		t->spare = e;
	} else {
		free(e);
	}
}

void *ptrc_table_next(const struct ptrc_table *t, const void *thing)
{
	const struct ptrc_table_entry *e = thing;
	size_t slot = e ? (e->hash & (t->slot_count - 1)) + 1 : 0;

	if (e && e->next)
		return e->next;
	while (slot < t->slot_count && !t->slots[slot])
		slot++;
	return slot < t->slot_count ? t->slots[slot] : NULL;
}

static void free_list(struct ptrc_table_entry *e)
{
	for (struct ptrc_table_entry *next; e; e = next) {
		next = e->next;
		free(e);
	}
}

void ptrc_table_free(struct ptrc_table *t)
{
	for (size_t i = 0; i < t->slot_count; i++)
		free_list(t->slots[i]);
	free_list(t->spare);
	free(t->slots);
	*t = (struct ptrc_table){0};
}
