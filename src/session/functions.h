/* SPDX-License-Identifier: MIT */
/*
 * ptrace-run --functions: makes the dynamic linker load posixtrace-preload.so (lib/preload) into COMMAND
 * and its children. This library records when functions of the program start and end.
 */
#ifndef PTRC_SRC_SESSION_FUNCTIONS_H
#define PTRC_SRC_SESSION_FUNCTIONS_H

#include <stdbool.h>

#include <trace.h>

#include "src/base/buffer.h"

/* Zeroed at the start. */
struct ptrc_functions {
	bool is_wanted;
	/* --functions was also given without a pattern. */
	bool is_all;
	/* The patterns, each on a line. */
	struct ptrc_buffer globs;
	struct ptrc_buffer preload;
	/* COMMAND is linked statically, so the library cannot be loaded into it. */
	bool is_static;
	/* COMMAND was compiled for XRay, but has no symbol table, which is needed to find the runtime of
	 * XRay. */
	bool is_stripped;
};

/* Takes the option. `glob` is its pattern, or NULL. Ends the process if the pattern is not valid. */
void ptrc_functions_option(struct ptrc_functions *, const char *glob);

/* Whether COMMAND was compiled with hooks for its functions, as far as its file shows. */
bool ptrc_functions_could_be(const char *command);

/* Finds the library and examines the file of COMMAND. Returns false, after a message, if the library cannot
 * be loaded into any program. */
bool ptrc_functions_prepare(struct ptrc_functions *, const char *path);

/* Sets the environment variables, in the process that will execute COMMAND. */
void ptrc_functions_set_environment(struct ptrc_functions *);

/* Whether a function was called that was recorded, or that was not recorded only because of the filter or the
 * patterns. */
bool ptrc_functions_are_in(trace_id_t);

void ptrc_functions_say_none(const struct ptrc_functions *, const char *command);

#endif
