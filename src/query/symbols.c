/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/symbols.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/scope.h"
#include "src/base/table.h"
#include "src/query/libdw.h"
#include "src/query/reader.h"

/* The number of places that a cache keeps, a power of two. A program has far fewer calls that record events. */
enum { CACHE_SIZE = 4096 };

struct cached {
	bool is_used;
	unsigned long process;
	uint64_t address;
	struct ptrc_symbol symbol;
};

struct ptrc_symbol_cache {
	struct cached cached[CACHE_SIZE];
};

/* A mapped file, identified by its path and its build id. */
struct file {
	struct file *next;
	/* NULL if the file cannot be used; `why` then has the reason. */
	struct ptrc_symbol_file *opened;
	bool has_lines;
	/* Code was looked up in the file, not only variables. So if the file has no source lines, a
	 * message says so. */
	bool is_for_code;
	struct ptrc_cli_reason why;
	size_t build_id_size;
	unsigned char *build_id;
	char *path;
};

struct ptrc_symbols {
	/* Held while libdw is called, which only one thread at a time may do. */
	pthread_mutex_t lock;
	struct file *files;
	/* Names of functions whose code programs made at run time. The keys are the names with their null bytes. */
	struct ptrc_table names;
};

struct ptrc_symbols *ptrc_symbols_open(struct ptrc_cli_reason *why)
{
	struct ptrc_symbols *s;

	if (!ptrc_libdw_load(why))
		return NULL;
	s = ptrc_cli_allocate(sizeof(*s));
	*s = (struct ptrc_symbols){.lock = PTHREAD_MUTEX_INITIALIZER};
	return s;
}

void ptrc_symbols_free(struct ptrc_symbols *s)
{
	if (!s)
		return;
	for (struct file *f = s->files, *next; f; f = next) {
		next = f->next;
		if (f->opened)
			ptrc_symbol_file_free(f->opened);
		free(f->build_id);
		free(f->path);
		free(f);
	}
	ptrc_table_free(&s->names);
	free(s);
}

/* ---- files ---- */

/* The path of the mapping, without the " (deleted)" that the kernel appends if the file was removed or replaced.
 * A file that is now at this path serves as well if it has the same build id. */
static char *path_of(const struct posixtrace_log_mapping *m)
{
	static const char deleted[] = " (deleted)";
	size_t size = m->pm_path_size, cut = sizeof(deleted) - 1;
	char *path = strndup(m->pm_path, size);

	if (!path)
		ptrc_cli_no_memory();
	size = strlen(path);
	if (size > cut && !strcmp(path + size - cut, deleted))
		path[size - cut] = '\0';
	return path;
}

/* The file of a mapping, which is opened at its first use, or NULL if the mapping has no file. */
static struct file *file_of(struct ptrc_symbols *s, const struct posixtrace_log_mapping *m)
{
	struct file **at = &s->files;
	struct file *f;
	char *path;

	/* A mapping whose name does not start with '/', such as "[vdso]", has no file. */
	if (!m->pm_path_size || *m->pm_path != '/')
		return NULL;
	path = path_of(m);
	for (; *at; at = &(*at)->next)
		if ((*at)->build_id_size == m->pm_build_id_size &&
		    !memcmp((*at)->build_id, m->pm_build_id, m->pm_build_id_size) &&
		    !strcmp((*at)->path, path)) {
			free(path);
			return *at;
		}
	f = ptrc_cli_allocate(sizeof(*f));
	f->path = path;
	f->build_id_size = m->pm_build_id_size;
	f->build_id = ptrc_cli_allocate(f->build_id_size + 1);
	memcpy(f->build_id, m->pm_build_id, f->build_id_size);
	f->opened = ptrc_symbol_file_open(path, f->build_id, f->build_id_size, &f->why);
	f->has_lines = f->opened && ptrc_symbol_file_has_lines(f->opened);
	if (f->opened && !f->has_lines)
		ptrc_cli_because(
			&f->why, "has no debug information%s",
			ptrc_symbol_file_has_names(f->opened)
				? ", so only names of functions are known"
				: " and no symbols, so not even names of functions are known");
	*at = f;
	return f;
}

static int by_path(const void *a, const void *b)
{
	const struct file *const *x = a, *const *y = b;
	int order = strcmp((*x)->path, (*y)->path);

	return order ? order : strcmp((*x)->why.text, (*y)->why.text);
}

void ptrc_symbols_report(struct ptrc_symbols *s, bool has_lines)
{
	PTRC_SCOPED struct file **files = NULL;
	size_t count = 0;

	for (struct file *f = s->files; f; f = f->next)
		if (f->is_for_code && *f->why.text && (has_lines || !f->opened))
			*ptrc_append(files, count) = f;
	ptrc_sort(files, count, by_path);
	for (size_t i = 0; i < count; i++)
		ptrc_cli_message(files[i]->path, "%s", files[i]->why.text);
}

/* ---- addresses ---- */

/* The address at which the kernel has put its own code (vdso) into a process. The kernel chooses it anew for each
 * program that the process executes. */
static uint64_t place_of_vdso(trace_id_t log, unsigned long process)
{
	struct posixtrace_log_mapping m;

	for (unsigned long i = 0; !posixtrace_log_get_mapping(log, process, i, &m, sizeof(m)); i++)
		if (m.pm_path_size == 6 && !memcmp(m.pm_path, "[vdso]", 6))
			return m.pm_start;
	return 0;
}

/* Whether both entries of the log are of the same process, and it executed no other program between them. */
static bool is_same_image(trace_id_t log, unsigned long one, unsigned long other)
{
	struct posixtrace_log_process a, b;

	return !posixtrace_log_get_process(log, one, &a, sizeof(a)) &&
	       !posixtrace_log_get_process(log, other, &b, sizeof(b)) && a.pp_pid == b.pp_pid &&
	       a.pp_has_mappings && b.pp_has_mappings && a.pp_build_id_size == b.pp_build_id_size &&
	       !memcmp(a.pp_build_id, b.pp_build_id, a.pp_build_id_size) &&
	       a.pp_executable_size == b.pp_executable_size &&
	       !memcmp(a.pp_executable, b.pp_executable, a.pp_executable_size) &&
	       place_of_vdso(log, one) == place_of_vdso(log, other);
}

/* Finds the mapping at the address. A library may be in use before the keeper, which writes the log, sees its
 * mapping. Then a later entry of the same process has it. */
static bool find_address(trace_id_t log, unsigned long process, uint64_t address,
			 struct posixtrace_log_mapping *m)
{
	if (ptrc_log_find_mapping(log, process, address, m))
		return true;
	for (unsigned long i = process + 1; is_same_image(log, process, i); i++)
		if (ptrc_log_find_mapping(log, i, address, m))
			return true;
	return false;
}

/* Returns a copy of the name that stays valid as long as the symbols. */
static const char *keep_name(struct ptrc_symbols *s, const char *text, size_t size)
{
	PTRC_SCOPED char *copy = ptrc_cli_copy_bytes(text, size);
	struct ptrc_table_entry *e = ptrc_table_find(&s->names, copy, size + 1, sizeof(*e));

	return (const char *)e->key;
}

static void find(struct ptrc_symbols *s, trace_id_t log, unsigned long process, uint64_t address,
		 struct ptrc_symbol *symbol)
{
	struct posixtrace_log_mapping m;
	struct file *f;

	*symbol = (struct ptrc_symbol){.function = NULL};
	if (!find_address(log, process, address, &m))
		return;
	if (m.pm_is_function) {
		symbol->function = keep_name(s, m.pm_path, m.pm_path_size);
		return;
	}
	f = file_of(s, &m);
	if (f)
		f->is_for_code = true;
	if (!f || !f->opened)
		return;
	ptrc_symbol_file_find(f->opened, &m, address, symbol);
}

const struct ptrc_symbol *ptrc_symbols_find(struct ptrc_symbols *s,
					    struct ptrc_symbol_cache **cache, trace_id_t log,
					    unsigned long process, uint64_t address,
					    bool is_growing)
{
	uint64_t hash = (address ^ (uint64_t)process << 40) * UINT64_C(0x9e3779b97f4a7c15);
	struct cached *c;

	if (!*cache)
		*cache = ptrc_cli_allocate(sizeof(**cache));
	c = &(*cache)->cached[hash >> 52];
	if (c->is_used && c->process == process && c->address == address)
		return &c->symbol;
	*c = (struct cached){.is_used = true, .process = process, .address = address};
	pthread_mutex_lock(&s->lock);
	/* The instruction at the address follows the call, and may belong to another line or function, so the byte
	 * before it is looked up. */
	if (address)
		find(s, log, process, address - 1, &c->symbol);
	pthread_mutex_unlock(&s->lock);
	c->is_used = c->symbol.function || !is_growing;
	return &c->symbol;
}

/* ---- variables ---- */

const char *ptrc_symbols_find_variable(struct ptrc_symbols *s, trace_id_t log,
				       unsigned long process, uint64_t address, uint64_t *offset)
{
	struct posixtrace_log_mapping m;
	const char *found = NULL;

	pthread_mutex_lock(&s->lock);
	for (unsigned long i = 0;
	     !found && !posixtrace_log_get_mapping(log, process, i, &m, sizeof(m)); i++) {
		struct file *f = file_of(s, &m);

		if (f && f->opened)
			found = ptrc_symbol_file_find_variable(f->opened, &m, address, offset);
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}
