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

/* Size of the buffers for a line of /proc/self/maps and for a path. A line with the path of a file
 * is never longer. */
#define MAPS_BYTES 65536

struct search {
	uint64_t address;
	/* The file of the latest line: the address at which its first byte is mapped, its inode
	 * number and its path. inode 0: it is no mapping of a file, or of one whose start is not
	 * mapped. */
	uint64_t start;
	uint64_t inode;
	char *path;
	bool is_found;
};

/* Takes a line of /proc/self/maps. Returns true if the mapping contains the address. */
static bool take_line(const char *at, void *arg)
{
	struct search *s = arg;
	uint64_t start, last, offset, inode;

	start = ptrc_digits_take_hex(&at, NULL);
	at += *at == '-';
	last = ptrc_digits_take_hex(&at, NULL);
	ptrc_digits_skip_word(&at);
	ptrc_digits_skip_word(&at); /* the permissions */
	offset = ptrc_digits_take_hex(&at, NULL);
	ptrc_digits_skip_word(&at);
	ptrc_digits_skip_word(&at); /* the device */
	inode = ptrc_digits_take(&at);
	if (*at == '/' && offset == 0) {
		s->start = start;
		s->inode = inode;
		memcpy(s->path, at, strlen(at) + 1);
	} else if (*at != '/' || inode != s->inode) {
		s->inode = 0;
	}
	s->is_found = s->address >= start && s->address < last;
	return s->is_found;
}

/* `bias` is the difference between addresses in memory and those in the ELF file. */
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

/* `start` is the address at which the first byte of the file is mapped. */
static void visit_file(const struct ptrc_elf *e, uint64_t start,
		       void (*visit)(uint64_t, const char *))
{
	const Elf64_Ehdr *head = ptrc_elf_head(e);
	const Elf64_Shdr *sections = ptrc_elf_sections(e), *found = NULL;
	const Elf64_Phdr *first = ptrc_elf_first_segment(e);

	for (size_t i = 0; first && sections && i < head->e_shnum; i++) {
		if (sections[i].sh_link >= head->e_shnum)
			continue;
		if (sections[i].sh_type == SHT_SYMTAB ||
		    (sections[i].sh_type == SHT_DYNSYM && !found))
			found = &sections[i];
	}
	if (found)
		visit_table(e, found, &sections[found->sh_link], start - first->p_vaddr, visit);
}

void ptrc_function_names(uint64_t address, void (*visit)(uint64_t, const char *))
{
	char *buffer = ptrc_file_zeros(2 * MAPS_BYTES);
	struct search s = {.address = address};
	struct ptrc_elf e;

	if (!buffer)
		return;
	s.path = buffer + MAPS_BYTES;
	ptrc_procfs_lines(0, "maps", buffer, MAPS_BYTES, take_line, &s);
	/* Another file may have the path by now, so ptrc_elf_map() compares the inode numbers. */
	if (s.is_found && s.inode && ptrc_elf_map(&e, s.path, s.inode)) {
		visit_file(&e, s.start, visit);
		ptrc_elf_unmap(&e);
	}
	ptrc_sys(SYS_munmap, buffer, 2 * MAPS_BYTES);
}
