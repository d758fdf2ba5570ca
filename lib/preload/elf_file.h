/* SPDX-License-Identifier: MIT */
/* An ELF file that is mapped into memory. It may be damaged, so each part is checked to be inside
 * the file before it is used. */
#ifndef PTRC_LIB_PRELOAD_ELF_FILE_H
#define PTRC_LIB_PRELOAD_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ptrc_elf {
	const uint8_t *bytes;
	uint64_t size;
};

/* Maps the file at the path for reading. Returns false if that fails, if it is no regular file, or
 * if `inode` is not 0 and the file has another inode number. */
bool ptrc_elf_map(struct ptrc_elf *, const char *path, uint64_t inode);
void ptrc_elf_unmap(const struct ptrc_elf *);

/* The address of `count` entries of `size` bytes each at this offset of the file; NULL if they
 * are not inside the file, or not aligned. */
static inline const void *ptrc_elf_part(const struct ptrc_elf *e, uint64_t offset, uint64_t count,
					size_t size)
{
	if (offset > e->size || offset % (size % 8 ? 4 : 8) || count > (e->size - offset) / size)
		return NULL;
	return e->bytes + offset;
}

/* The head of the file; NULL if it is no ELF file of 64 bits. */
static inline const Elf64_Ehdr *ptrc_elf_head(const struct ptrc_elf *e)
{
	const Elf64_Ehdr *head = ptrc_elf_part(e, 0, 1, sizeof(*head));

	return head && !memcmp(head->e_ident, ELFMAG, SELFMAG) &&
			       head->e_ident[EI_CLASS] == ELFCLASS64
		       ? head
		       : NULL;
}

/* The sections of the file, e_shnum of them; NULL if they are not inside the file, or if the file
 * is no ELF file of 64 bits. */
static inline const Elf64_Shdr *ptrc_elf_sections(const struct ptrc_elf *e)
{
	const Elf64_Ehdr *head = ptrc_elf_head(e);

	return head && head->e_shentsize == sizeof(Elf64_Shdr)
		       ? ptrc_elf_part(e, head->e_shoff, head->e_shnum, sizeof(Elf64_Shdr))
		       : NULL;
}

/* The segment that begins with the first byte of the file; NULL if there is none. */
static inline const Elf64_Phdr *ptrc_elf_first_segment(const struct ptrc_elf *e)
{
	const Elf64_Ehdr *head = ptrc_elf_head(e);
	const Elf64_Phdr *p = NULL;

	if (head && head->e_phentsize == sizeof(*p))
		p = ptrc_elf_part(e, head->e_phoff, head->e_phnum, sizeof(*p));
	for (size_t i = 0; p && i < head->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_offset == 0)
			return &p[i];
	return NULL;
}

#endif
