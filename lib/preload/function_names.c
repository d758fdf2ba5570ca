/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/function_names.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/digits.h"
#include "lib/base/file.h"
#include "lib/base/procfs.h"
#include "lib/base/sys.h"
#include "lib/preload/elf_file.h"

/* Size of the buffer for reading /proc/self/maps. A line with the path of a file is never longer
 * than the buffer. */
#define MAPS_BYTES 65536

struct mapped {
	/* the address at which the file's first byte is mapped */
	uint64_t start;
	uint64_t inode;
	/* The path is in the buffer and ends with a null byte. */
	char *path;
};

static void skip_word(const char **at, const char *end)
{
	while (*at < end && **at != ' ')
		++*at;
	while (*at < end && **at == ' ')
		++*at;
}

/* Reads a line of /proc/self/maps, which ends with a null byte. If the line is the first mapping of
 * a file, stores the file in *m; if it is no mapping of the file in *m, sets m->inode to 0. Returns
 * true if the mapping contains the address. */
static bool take_line(const char *at, char *end, uint64_t address, struct mapped *m)
{
	uint64_t start, last, offset, inode;

	start = ptrc_digits_take_hex(&at, end);
	at += at < end;
	last = ptrc_digits_take_hex(&at, end);
	skip_word(&at, end);
	skip_word(&at, end); /* the permissions */
	offset = ptrc_digits_take_hex(&at, end);
	skip_word(&at, end);
	skip_word(&at, end); /* the device */
	inode = at < end ? ptrc_digits_take(&at) : 0;
	while (at < end && *at == ' ')
		at++;
	if (*at == '/' && offset == 0)
		*m = (struct mapped){start, inode, (char *)at};
	else if (*at != '/' || inode != m->inode)
		m->inode = 0;
	return address >= start && address < last;
}

/* Finds the file that is mapped at the address. Its path m->path points into the buffer. */
static bool find_file(char *buffer, uint64_t address, struct mapped *m)
{
	size_t used = 0;
	bool is_found = false;
	int fd;
	long got;

	*m = (struct mapped){0};
	if (ptrc_procfs_open(0, "maps", 0, &fd))
		return false;
	while (!is_found &&
	       (got = ptrc_sys(SYS_read, fd, buffer + used, MAPS_BYTES - 1 - used)) > 0) {
		char *line = buffer, *end = buffer + used + got;

		for (char *at = buffer + used; at < end && !is_found; at++) {
			if (*at != '\n')
				continue;
			*at = '\0';
			is_found = take_line(line, at, address, m);
			line = at + 1;
		}
		if (is_found)
			break;
		used = (size_t)(end - line);
		/* The next lines may be mappings of the same file, so m->path must stay valid when
		 * the buffer's contents are moved. */
		if (m->inode && m->path < line) {
			size_t bytes = strlen(m->path) + 1;

			/* Copy the path to the second half of the buffer, into which no line is
			 * read. */
			m->path = memmove(buffer + MAPS_BYTES, m->path,
					  bytes < MAPS_BYTES ? bytes : MAPS_BYTES);
		}
		memmove(buffer, line, used);
		if (used == MAPS_BYTES - 1)
			used = 0;
	}
	ptrc_file_close(fd);
	return is_found && m->inode;
}

/* Stores the difference between addresses in memory and the addresses that the ELF file contains.
 * `start` is the address at which the first byte of the file is mapped. */
static bool find_bias(const struct ptrc_elf *e, uint64_t start, uint64_t *bias)
{
	const Elf64_Ehdr *head = ptrc_elf_head(e);
	const Elf64_Phdr *p;

	if (!head || head->e_phentsize != sizeof(*p))
		return false;
	p = ptrc_elf_part(e, head->e_phoff, head->e_phnum, sizeof(*p));
	for (size_t i = 0; p && i < head->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_offset == 0) {
			*bias = start - p[i].p_vaddr;
			return true;
		}
	return false;
}

static void visit_table(const struct ptrc_elf *e, const Elf64_Shdr *table, const Elf64_Shdr *texts,
			uint64_t bias, void (*visit)(uint64_t, const char *))
{
	uint64_t count = table->sh_size / sizeof(Elf64_Sym);
	const Elf64_Sym *s = ptrc_elf_part(e, table->sh_offset, count, sizeof(*s));
	const char *names;

	if (texts->sh_offset > e->size || texts->sh_size > e->size - texts->sh_offset ||
	    !texts->sh_size || !s)
		return;
	names = (const char *)e->bytes + texts->sh_offset;
	/* The last byte of the table of names must be null, so that every name ends inside the
	 * table. */
	if (names[texts->sh_size - 1])
		return;
	for (uint64_t i = 0; i < count; i++) {
		unsigned int type = ELF64_ST_TYPE(s[i].st_info);

		if ((type == STT_FUNC || type == STT_GNU_IFUNC) && s[i].st_value &&
		    s[i].st_shndx != SHN_UNDEF && s[i].st_name < texts->sh_size)
			visit(bias + s[i].st_value, names + s[i].st_name);
	}
}

static void visit_file(const struct ptrc_elf *e, uint64_t start,
		       void (*visit)(uint64_t, const char *))
{
	const Elf64_Ehdr *head = ptrc_elf_head(e);
	const Elf64_Shdr *sections = ptrc_elf_sections(e), *found = NULL;
	uint64_t bias;

	if (!find_bias(e, start, &bias))
		return;
	for (size_t i = 0; sections && i < head->e_shnum; i++) {
		if (sections[i].sh_link >= head->e_shnum)
			continue;
		if (sections[i].sh_type == SHT_SYMTAB ||
		    (sections[i].sh_type == SHT_DYNSYM && !found))
			found = &sections[i];
	}
	if (found)
		visit_table(e, found, &sections[found->sh_link], bias, visit);
}

void ptrc_function_names(uint64_t address, void (*visit)(uint64_t, const char *))
{
	char *buffer = ptrc_file_zeros(2 * MAPS_BYTES);
	struct mapped m;
	struct ptrc_elf e;

	if (!buffer)
		return;
	/* Another file may have the path by now, so ptrc_elf_map() compares the inode numbers. */
	if (find_file(buffer, address, &m) && ptrc_elf_map(&e, m.path, m.inode)) {
		visit_file(&e, m.start, visit);
		ptrc_elf_unmap(&e);
	}
	ptrc_sys(SYS_munmap, buffer, 2 * MAPS_BYTES);
}
