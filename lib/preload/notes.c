/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/notes.h"

#include <stdbool.h>

/* The type and the owner of the notes that describe probes; all other notes are ignored. */
enum { NOTE_TYPE = 3 };
static const char owner[] = "stapsdt";

/* Each note has three addresses, then three texts (provider, name, arguments). */
enum { ADDRESS, BASE, SEMAPHORE, ADDRESSES };

static bool is_called(const struct ptrc_elf *e, const Elf64_Shdr *sections, const Elf64_Shdr *s,
		      const char *name)
{
	const Elf64_Ehdr *head = ptrc_elf_head(e);
	const Elf64_Shdr *names = &sections[head->e_shstrndx];
	size_t size = strlen(name) + 1;

	return head->e_shstrndx < head->e_shnum && names->sh_offset <= e->size &&
	       s->sh_name <= e->size - names->sh_offset &&
	       size <= e->size - names->sh_offset - s->sh_name &&
	       !memcmp(e->bytes + names->sh_offset + s->sh_name, name, size);
}

/* Returns the text at *at and moves *at past its null byte. NULL: the text does not end before
 * `end`. */
static const char *take_text(const char **at, const char *end)
{
	const char *text = *at;
	const char *last = memchr(text, '\0', (size_t)(end - text));

	*at = last ? last + 1 : end;
	return last ? text : NULL;
}

/* Takes the contents of a note. `base` is the address of the section .stapsdt.base, 0 if there is
 * none. The note has the address that this section had when the note was made. If the two differ,
 * the linker or prelink has moved the code by `moved` bytes since. */
static void take_note(const char *at, size_t size, uint64_t base,
		      void (*visit)(void *, const struct ptrc_note *), void *arg)
{
	const char *end = at + size;
	uint64_t words[ADDRESSES];
	struct ptrc_note note;
	uint64_t moved;

	if (size < sizeof(words))
		return;
	memcpy(words, at, sizeof(words));
	at += sizeof(words);
	moved = base ? base - words[BASE] : 0;
	note = (struct ptrc_note){
		.address = words[ADDRESS] + moved,
		.semaphore = words[SEMAPHORE] ? words[SEMAPHORE] + moved : 0,
	};
	note.provider = take_text(&at, end);
	note.name = note.provider ? take_text(&at, end) : NULL;
	note.arguments = note.name ? take_text(&at, end) : NULL;
	if (note.arguments && *note.provider && *note.name)
		visit(arg, &note);
}

static void visit_section(const struct ptrc_elf *e, const Elf64_Shdr *s, uint64_t base,
			  void (*visit)(void *, const struct ptrc_note *), void *arg)
{
	const char *at = ptrc_elf_part(e, s->sh_offset, s->sh_size, 1);
	size_t left = at ? s->sh_size : 0;
	Elf64_Nhdr head;

	while (left >= sizeof(head)) {
		uint64_t name_size, size;

		memcpy(&head, at, sizeof(head));
		name_size = ((uint64_t)head.n_namesz + 3) & ~UINT64_C(3);
		size = sizeof(head) + name_size + (((uint64_t)head.n_descsz + 3) & ~UINT64_C(3));
		if (size > left)
			return;
		if (head.n_type == NOTE_TYPE && head.n_namesz == sizeof(owner) &&
		    !memcmp(at + sizeof(head), owner, sizeof(owner)))
			take_note(at + sizeof(head) + name_size, head.n_descsz, base, visit, arg);
		at += size;
		left -= size;
	}
}

void ptrc_notes_visit(const struct ptrc_elf *e, void (*visit)(void *, const struct ptrc_note *),
		      void *arg)
{
	const Elf64_Ehdr *head = ptrc_elf_head(e);
	const Elf64_Shdr *sections = ptrc_elf_sections(e);
	uint64_t base = 0;

	for (size_t i = 0; sections && i < head->e_shnum; i++)
		if (is_called(e, sections, &sections[i], ".stapsdt.base"))
			base = sections[i].sh_addr;
	for (size_t i = 0; sections && i < head->e_shnum; i++)
		if (sections[i].sh_type == SHT_NOTE &&
		    is_called(e, sections, &sections[i], ".note.stapsdt"))
			visit_section(e, &sections[i], base, visit, arg);
}
