/* SPDX-License-Identifier: MIT */
/* The static probes (SDT, lib/preload/notes.h) of a program and of the libraries that it is linked
 * with. */
#ifndef PTRC_SRC_SUMMARY_PROGRAM_PROBES_H
#define PTRC_SRC_SUMMARY_PROGRAM_PROBES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/preload/operand.h"

struct ptrc_program_probe {
	/* The name of the probe's events, sdt.PROVIDER.NAME, and the path of the file that has the probe. */
	char *event;
	char *file;
	struct ptrc_arguments arguments;
	/* A probe may be at several places of the code. left_out_count: the number of places that cannot be
	 * recorded, because the form of their arguments is not known. left_out: the arguments of the last such
	 * place. */
	size_t left_out_count;
	char *left_out;
};

struct ptrc_program_probes {
	struct ptrc_program_probe *list;
	size_t count;
};

/* Finds the probes of a program or library, and of the libraries that it is linked with. The file `program` is
 * searched for as a shell searches for a command. Returns false, after a message, if it cannot be read or is not for
 * this machine. */
bool ptrc_program_probes_find(struct ptrc_program_probes *, const char *program);

void ptrc_program_probes_free(struct ptrc_program_probes *);

#endif
