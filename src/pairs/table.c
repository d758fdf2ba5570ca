/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/pairs/table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "src/cli/message.h"

/* The keys come out of a log, which may have been made to slow its readers down: the seed, which
 * nobody can foresee, keeps them from all having the same hash. */
static uint64_t hash_of(uint64_t seed, const unsigned char *key, size_t size)
{
	uint64_t hash = seed ^ size;

	while (size) {
		size_t n = size < sizeof(hash) ? size : sizeof(hash);
		uint64_t bytes = 0;

		memcpy(&bytes, key, n);
		hash = (hash ^ bytes) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32 ^ seed;
		key += n;
		size -= n;
	}
	return hash * UINT64_C(0xd6e8feb86659fd93) >> 7;
}

static struct ptrc_table_entry **slot_of(const struct ptrc_table *t, uint64_t hash)
{
	return &t->slots[hash & (t->slot_count - 1)];
}

static void grow(struct ptrc_table *t)
{
	struct ptrc_table_entry **old = t->slots;
	size_t old_count = t->slot_count;

	if (!old_count && getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) < 0)
		t->seed = (uintptr_t)t;
	t->slot_count = old_count ? 2 * old_count : 64;
	t->slots = ptrc_cli_allocate(t->slot_count * sizeof(struct ptrc_table_entry *));
	memset(t->slots, 0, t->slot_count * sizeof(struct ptrc_table_entry *));
	for (size_t i = 0; i < old_count; i++)
		for (struct ptrc_table_entry *e = old[i], *next; e; e = next) {
			struct ptrc_table_entry **slot = slot_of(t, e->hash);

			next = e->next;
			e->next = *slot;
			*slot = e;
		}
	free(old);
}

static struct ptrc_table_entry *seek(const struct ptrc_table *t, uint64_t hash, const void *key,
				     size_t size)
{
	for (struct ptrc_table_entry *e = *slot_of(t, hash); e; e = e->next)
		if (e->hash == hash && e->key_size == size && !memcmp(e->key, key, size))
			return e;
	return NULL;
}

static bool is_last(const struct ptrc_table *t, const void *key, size_t size)
{
	return t->last && t->last->key_size == size && !memcmp(t->last->key, key, size);
}

void *ptrc_table_seek(const struct ptrc_table *t, const void *key, size_t key_size)
{
	if (is_last(t, key, key_size))
		return t->last;
	return t->count ? seek(t, hash_of(t->seed, key, key_size), key, key_size) : NULL;
}

void *ptrc_table_find(struct ptrc_table *t, const void *key, size_t key_size, size_t thing_size)
{
	struct ptrc_table_entry **slot;
	struct ptrc_table_entry *e;
	uint64_t hash;

	if (is_last(t, key, key_size))
		return t->last;
	if (t->count == t->slot_count)
		grow(t);
	hash = hash_of(t->seed, key, key_size);
	e = seek(t, hash, key, key_size);
	if (e)
		return t->last = e;
	slot = slot_of(t, hash);
	e = ptrc_cli_allocate(thing_size + key_size);
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
	free(e);
}

void ptrc_table_visit(const struct ptrc_table *t, void (*visit)(void *thing, void *arg), void *arg)
{
	for (size_t i = 0; i < t->slot_count; i++)
		for (struct ptrc_table_entry *e = t->slots[i]; e; e = e->next)
			visit(e, arg);
}

void ptrc_table_free(struct ptrc_table *t)
{
	for (size_t i = 0; i < t->slot_count; i++)
		for (struct ptrc_table_entry *e = t->slots[i], *next; e; e = next) {
			next = e->next;
			free(e);
		}
	free(t->slots);
	*t = (struct ptrc_table){0};
}
