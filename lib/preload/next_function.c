/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/next_function.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>

/* The first and the last library to search: the libraries that were loaded with the program and
 * follow this library in the list of the dynamic linker are searched. */
static const struct link_map *_Atomic first, *_Atomic last;

/* The tables of a loaded library that a search needs. A member is NULL if the library lacks that
 * table. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *gnu_hash;
	const uint32_t *hash;
	const uint16_t *versions;
};

/* The address in an entry of the dynamic section. The dynamic linker has added the library's base
 * address to the entries, except those of the vDSO, the library that the kernel maps into each
 * process. */
static const void *at(const struct link_map *m, const ElfW(Dyn) * entry)
{
	uintptr_t address = entry->d_un.d_ptr;

	return (const void *)(address < m->l_addr ? address + m->l_addr : address);
}

static void find_tables(const struct link_map *m, struct tables *t)
{
	*t = (struct tables){.symbols = NULL};
	for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_SYMTAB)
			t->symbols = at(m, d);
		else if (d->d_tag == DT_STRTAB)
			t->names = at(m, d);
		else if (d->d_tag == DT_GNU_HASH)
			t->gnu_hash = at(m, d);
		else if (d->d_tag == DT_HASH)
			t->hash = at(m, d);
		else if (d->d_tag == DT_VERSYM)
			t->versions = at(m, d);
}

/* Whether symbol number `index` defines the function `name`, in its default version. */
static bool is_it(const struct tables *t, uint32_t index, const char *name)
{
	const ElfW(Sym) *s = &t->symbols[index];

	return s->st_shndx != SHN_UNDEF && s->st_value && ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
	       ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
	       !(t->versions && t->versions[index] & 0x8000) &&
	       !strcmp(t->names + s->st_name, name);
}

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 0;

	for (; *name; name++) {
		hash = (hash << 4) + (unsigned char)*name;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	return hash;
}

/* Returns the index of the symbol, or 0. */
static uint32_t search_gnu(const struct tables *t, const char *name)
{
	uint32_t hash = gnu_hash_of(name);
	const uint32_t *head = t->gnu_hash;
	uint32_t bucket_count = head[0], first_symbol = head[1], words = head[2], shift = head[3];
	const uint64_t *bloom = (const void *)(head + 4);
	const uint32_t *buckets = (const void *)(bloom + words);
	const uint32_t *chain = buckets + bucket_count;
	uint64_t word = words ? bloom[hash / 64 % words] : 0;
	uint32_t index;

	if (!bucket_count || !(word >> hash % 64 & 1) || !(word >> (hash >> shift) % 64 & 1))
		return 0;
	index = buckets[hash % bucket_count];
	if (index < first_symbol)
		return 0;
	for (;; index++) {
		uint32_t its = chain[index - first_symbol];

		if ((its | 1) == (hash | 1) && is_it(t, index, name))
			return index;
		if (its & 1)
			return 0;
	}
}

static uint32_t search_hash(const struct tables *t, const char *name)
{
	uint32_t bucket_count = t->hash[0];
	const uint32_t *buckets = t->hash + 2, *chain = buckets + bucket_count;

	if (!bucket_count)
		return 0;
	for (uint32_t index = buckets[hash_of(name) % bucket_count]; index; index = chain[index])
		if (is_it(t, index, name))
			return index;
	return 0;
}

static void *search(const struct link_map *m, const char *name)
{
	struct tables t;
	uint32_t index;

	find_tables(m, &t);
	if (!t.symbols || !t.names || (!t.gnu_hash && !t.hash))
		return NULL;
	index = t.gnu_hash ? search_gnu(&t, name) : search_hash(&t, name);
	return index ? (void *)(m->l_addr + t.symbols[index].st_value) : NULL;
}

static const struct link_map *own_entry(void)
{
	const struct link_map *m = _r_debug.r_map;

	while (m && m->l_ld != _DYNAMIC)
		m = m->l_next;
	return m;
}

void ptrc_next_function_begin(void)
{
	const struct link_map *own = own_entry(), *m = own;

	while (m && m->l_next)
		m = m->l_next;
	ptrc_store_relaxed(&last, m);
	ptrc_store_release(&first, own ? own->l_next : NULL);
}

void *ptrc_next_function(const char *name)
{
	void *found = NULL;

	/* Before the constructor has set `first`, no library is being loaded or unloaded, so the
	 * list of libraries can be read. */
	if (!ptrc_load_acquire(&first))
		ptrc_next_function_begin();
	for (const struct link_map *m = ptrc_load_acquire(&first); m && !found; m = m->l_next) {
		found = search(m, name);
		if (m == ptrc_load_relaxed(&last))
			break;
	}
	return found;
}

#if __GLIBC_PREREQ(2, 35)
#pragma weak _dl_find_object

static const char *library_at(uint64_t address)
{
	struct dl_find_object found;

	if (!_dl_find_object || _dl_find_object((void *)address, &found) || !found.dlfo_link_map)
		return NULL;
	return found.dlfo_link_map->l_name;
}
#else
/* Old C libraries lack _dl_find_object(). This finds only libraries that were loaded with the
 * program. */
static const char *library_at(uint64_t address)
{
	const struct link_map *nearest = NULL;

	for (const struct link_map *m = ptrc_load_acquire(&first); m; m = m->l_next) {
		if (m->l_addr <= address && (!nearest || m->l_addr > nearest->l_addr))
			nearest = m;
		if (m == ptrc_load_relaxed(&last))
			break;
	}
	return nearest ? nearest->l_name : NULL;
}
#endif

bool ptrc_next_function_is_in(uint64_t address, const char *library)
{
	const char *path = library_at(address);
	size_t size = strlen(library);

	for (; path && *path; path++)
		if (!strncmp(path, library, size))
			return true;
	return false;
}

long ptrc_function_fails(long a, long b, long c, long d, long e, long f)
{
	(void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
	errno = ENOSYS;
	return -1;
}

long ptrc_function_error(long a, long b, long c, long d, long e, long f)
{
	(void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
	return ENOSYS;
}
