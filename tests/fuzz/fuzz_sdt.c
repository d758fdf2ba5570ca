/* SPDX-License-Identifier: MIT */
/*
 * The notes of probes in a file (lib/preload/notes.c), and the arguments in them. An input is a file; one that does
 * not begin as an ELF file does is the notes of a file that is otherwise right.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/preload/notes.h"
#include "lib/preload/operand.h"
#include "tests/fuzz/fuzz.h"

/* The arguments of all notes, as if the probes had one name. */
static struct ptrc_arguments arguments;
static ucontext_t context;

static void take(void *arg, const struct ptrc_note *n)
{
	struct ptrc_operand operands[PTRC_OPERANDS_MAX];
	char layout[PTRC_ARGUMENTS_LAYOUT_BYTES];
	size_t count;

	(void)arg;
	FUZZ_CHECK(*n->provider && *n->name);
	if (!ptrc_operands_read(n->arguments, operands, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		uint64_t value = ptrc_operand_value(&operands[i], &context, true);
		unsigned int bits = 8U * operands[i].size;

		/* It fits into the size. */
		if (!operands[i].is_signed || operands[i].is_float)
			FUZZ_CHECK(bits == 64 || !(value >> bits));
	}
	if (!ptrc_arguments_add(&arguments, operands, count))
		return;
	ptrc_arguments_layout(&arguments, layout);
	FUZZ_CHECK(strlen(layout) < sizeof(layout));
}

/* The bytes of a file with the notes, or the input itself. The caller frees them. */
static uint8_t *make_file(const uint8_t *data, size_t size, size_t *file_size)
{
	static const char names[] = "\0.note.stapsdt\0.stapsdt.base\0";
	enum { NOTES = 1, NAMES, BASE, SECTIONS };
	Elf64_Shdr sections[SECTIONS] = {
		[NOTES] = {.sh_name = 1, .sh_type = SHT_NOTE, .sh_size = size},
		[NAMES] = {.sh_type = SHT_STRTAB, .sh_size = sizeof(names)},
		[BASE] = {.sh_name = 15, .sh_addr = 0x1000},
	};
	Elf64_Ehdr head = {.e_ident = ELFMAG,
			   .e_shoff = sizeof(head),
			   .e_shentsize = sizeof(sections[0]),
			   .e_shnum = SECTIONS,
			   .e_shstrndx = NAMES};
	uint8_t *file;

	if (size >= SELFMAG && !memcmp(data, ELFMAG, SELFMAG)) {
		file = malloc(*file_size = size);
		memcpy(file, data, size);
		return file;
	}
	head.e_ident[EI_CLASS] = ELFCLASS64;
	sections[NOTES].sh_offset = sizeof(head) + sizeof(sections);
	sections[NAMES].sh_offset = sections[NOTES].sh_offset + size;
	file = malloc(*file_size = sections[NAMES].sh_offset + sizeof(names));
	memcpy(file, &head, sizeof(head));
	memcpy(file + sizeof(head), sections, sizeof(sections));
	memcpy(file + sections[NOTES].sh_offset, data, size);
	memcpy(file + sections[NAMES].sh_offset, names, sizeof(names));
	return file;
}

/* Lets the stack pointer be on a page of its own, which an argument may be read from. */
static void make_stack(void)
{
	static void *page;

	if (page)
		return;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FUZZ_CHECK(page != MAP_FAILED);
#if defined(__x86_64__)
	context.uc_mcontext.gregs[REG_RSP] = (greg_t)page;
#else
	context.uc_mcontext.sp = (uint64_t)page;
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ptrc_elf e;
	size_t file_size;
	uint8_t *file = make_file(data, size, &file_size);

	e = (struct ptrc_elf){.bytes = file, .size = file_size};
	memset(&arguments, 0, sizeof(arguments));
	make_stack();
	ptrc_notes_visit(&e, take, NULL);
	free(file);
	return 0;
}
