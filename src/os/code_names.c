/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/os/code_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/message.h"
#include "src/base/scope.h"

/* At most ADDRESSES_MAX addresses are noted for a process, and at most FUNCTIONS_MAX functions are returned. */
#define ADDRESSES_MAX 16384U
#define FUNCTIONS_MAX 1024U
/* A function's name is cut after NAME_MAX_BYTES. A /tmp/perf-PID.map of more than FILE_MAX_BYTES is not read. */
#define NAME_MAX_BYTES 250U
#define FILE_MAX_BYTES (INT64_C(256) << 20)

/* An address in code that was made at run time, and the number of samples that have it. */
struct noted {
	struct ptrc_table_entry entry;
	uint64_t address, samples;
};

/* A noted address, and the function at that address. function.name is NULL until take_line() has found it. */
struct place {
	uint64_t address;
	struct ptrc_code_function function;
};

struct places {
	struct place *all;
	size_t count;
};

void ptrc_code_names_note(struct ptrc_table *addresses, uint64_t address)
{
	struct noted *n = ptrc_table_seek(addresses, &address, sizeof(address));

	if (!n && addresses->count < ADDRESSES_MAX)
		n = ptrc_table_find(addresses, &address, sizeof(address), sizeof(*n));
	if (!n)
		return;
	n->address = address;
	n->samples++;
}

/* ---- reading /tmp/perf-PID.map ---- */

/* Opens the map of names that the process may have written. Any user can create a file of this name
 * in /tmp, so only a regular file of `user` is accepted. */
static FILE *open_map(pid_t pid, uid_t user)
{
	char path[64];
	struct stat st;
	FILE *f = NULL;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%ld.map", (long)pid);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == user &&
	    st.st_size <= FILE_MAX_BYTES)
		f = fdopen(fd, "r");
	if (!f)
		close(fd);
	return f;
}

/* Returns the index of the first place at `address` or above it. */
static size_t first_place(const struct places *p, uint64_t address)
{
	size_t low = 0, high = p->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->all[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Takes a line of the file: the start and the size of a function in hexadecimal digits, and its name. A later
 * line for an address replaces an earlier one, because a JIT compiler may reuse the memory of a function. */
static void take_line(struct places *p, char *line)
{
	struct ptrc_code_function f = {0};
	char *end;

	line[strcspn(line, "\n")] = '\0';
	f.start = strtoull(line, &end, 16);
	f.bytes = strtoull(end, &end, 16);
	if (*end != ' ' || !end[1])
		return;
	for (size_t i = first_place(p, f.start);
	     i < p->count && p->all[i].address - f.start < f.bytes; i++) {
		free(p->all[i].function.name);
		p->all[i].function.start = f.start;
		p->all[i].function.bytes = f.bytes;
		p->all[i].function.name =
			ptrc_cli_copy_bytes(end + 1, strnlen(end + 1, NAME_MAX_BYTES));
	}
}

static int by_address(const void *one, const void *other)
{
	const struct place *a = one, *b = other;

	return (a->address > b->address) - (a->address < b->address);
}

static int by_samples(const void *one, const void *other)
{
	const struct ptrc_code_function *a = one, *b = other;

	return (a->samples < b->samples) - (a->samples > b->samples);
}

/* Whether both, found at different addresses, are the same function. */
static bool is_same(const struct ptrc_code_function *a, const struct ptrc_code_function *b)
{
	return a->start == b->start && a->bytes == b->bytes && !strcmp(a->name, b->name);
}

/* Makes an array of the functions that were found. Frees the places. */
static struct ptrc_code_function *functions_of(struct places *p, size_t *count)
{
	struct ptrc_code_function *found = NULL;

	*count = 0;
	for (size_t i = 0; i < p->count; i++) {
		struct ptrc_code_function *f = &p->all[i].function;

		if (!f->name)
			continue;
		if (*count && is_same(&found[*count - 1], f)) {
			found[*count - 1].samples += f->samples;
			free(f->name);
			continue;
		}
		*ptrc_append(found, *count) = *f;
	}
	free(p->all);
	ptrc_sort(found, *count, by_samples);
	while (*count > FUNCTIONS_MAX)
		free(found[--*count].name);
	return found;
}

struct ptrc_code_function *ptrc_code_names_read(const struct ptrc_table *addresses, pid_t pid,
						uid_t user, size_t *count)
{
	struct places places = {0};
	PTRC_SCOPED_FILE *f = NULL;
	PTRC_SCOPED char *line = NULL;
	size_t size = 0;

	*count = 0;
	f = addresses->count ? open_map(pid, user) : NULL;
	if (!f)
		return NULL;
	for (const struct noted *n = NULL; (n = ptrc_table_next(addresses, n));)
		*ptrc_append(places.all, places.count) =
			(struct place){.address = n->address, .function = {.samples = n->samples}};
	qsort(places.all, places.count, sizeof(*places.all), by_address);
	while (getline(&line, &size, f) > 0)
		take_line(&places, line);
	return functions_of(&places, count);
}
