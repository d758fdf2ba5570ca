/* SPDX-License-Identifier: MIT */
/*
 * The probes that a program or library was compiled with (sdt.h of SystemTap, "USDT"). A probe is a
 * nop instruction in the code. A note in the section .note.stapsdt of the file has the probe's
 * address, its name, and the places of its arguments (registers, memory) when it is reached. The
 * file is not trusted: a note that is not completely inside the file is ignored.
 */
#ifndef PTRC_LIB_PRELOAD_NOTES_H
#define PTRC_LIB_PRELOAD_NOTES_H

#include <stdint.h>

#include "lib/preload/elf_file.h"

/* The texts are in the file, and end with null bytes. */
struct ptrc_note {
	const char *provider;
	const char *name;
	/* The arguments in the form of the compiler, such as "-4@%eax 8@-16(%rbp)". */
	const char *arguments;
	/* Addresses of the same kind as those in the file's symbol table. address: the nop.
	 * semaphore: a counter of 16 bits, which tracers increase; while the counter is 0, most
	 * programs skip the probe. If semaphore is 0, there is no counter. */
	uint64_t address;
	uint64_t semaphore;
};

void ptrc_notes_visit(const struct ptrc_elf *, void (*visit)(void *arg, const struct ptrc_note *),
		      void *arg);

#endif
