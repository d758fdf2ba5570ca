/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/base/build_id.h"

#include <elf.h>
#include <string.h>

#include "lib/base/file.h"

/* Limits for reading an untrusted file: only its first SEGMENTS_MAX segments are read, and of each
 * segment of notes only the first NOTES_MAX bytes. */
#define SEGMENTS_MAX 64U
#define NOTES_MAX 4096U

static size_t find(const uint8_t *notes, size_t size, size_t alignment, uint8_t *id, size_t most)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name, description, end;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		description = (name + note.n_namesz + alignment - 1) & ~(uint64_t)(alignment - 1);
		end = description + note.n_descsz;
		if (end > size)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + name, "GNU", 4) == 0 && note.n_descsz <= most) {
			memcpy(id, notes + description, note.n_descsz);
			return note.n_descsz;
		}
		at = (size_t)((end + alignment - 1) & ~(uint64_t)(alignment - 1));
		if (at > size)
			break;
	}
	return 0;
}

size_t ptrc_build_id_read(int fd, uint8_t *id, size_t size)
{
	uint8_t notes[NOTES_MAX];
	Elf64_Ehdr head;

	if (!ptrc_file_read_whole(fd, &head, sizeof(head), 0) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_phentsize != sizeof(Elf64_Phdr))
		return 0;
	for (uint32_t i = 0; i < head.e_phnum && i < SEGMENTS_MAX; i++) {
		uint64_t offset;
		Elf64_Phdr segment;
		size_t got, found;

		if (__builtin_add_overflow(head.e_phoff, i * sizeof(segment), &offset) ||
		    !ptrc_file_read_whole(fd, &segment, sizeof(segment), offset))
			return 0;
		if (segment.p_type != PT_NOTE ||
		    ptrc_file_read(fd, notes,
				   segment.p_filesz < sizeof(notes) ? segment.p_filesz
								    : sizeof(notes),
				   segment.p_offset, &got))
			continue;
		found = find(notes, got, segment.p_align == 8 ? 8 : 4, id, size);
		if (found)
			return found;
	}
	return 0;
}
