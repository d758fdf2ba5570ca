/* SPDX-License-Identifier: MIT */
/*
 * The probes that a program or library was compiled with (sdt.h of SystemTap, "USDT"). A probe is a nop
 * instruction. A note in the section .note.stapsdt of the file says where it is, what it is called, and where its
 * arguments are when it is reached. The file is not trusted: what lies outside it is left out.
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
	/* Addresses as in the file's symbol table: that of the nop, and that of the counter of tracers, 16
	 * bits, which has to be above 0 for most probes to be reached; 0 if there is none. */
	uint64_t address;
	uint64_t semaphore;
};

void ptrc_notes_visit(const struct ptrc_elf *, void (*visit)(void *arg, const struct ptrc_note *),
		      void *arg);

#endif
