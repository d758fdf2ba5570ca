/* SPDX-License-Identifier: MIT */
/*
 * ptrace-run --functions: has the dynamic linker load posixtrace-functions.so into COMMAND and its
 * children, which records the begin and the end of their functions (lib/functions).
 */
#ifndef PTRC_SRC_SESSION_FUNCTIONS_H
#define PTRC_SRC_SESSION_FUNCTIONS_H

#include <stdbool.h>

#include <trace.h>

#include "src/base/buffer.h"

/* Starts zeroed. */
struct ptrc_functions {
	bool is_wanted;
	/* Also those whose names match no pattern. */
	bool is_all;
	/* The patterns, a line each. */
	struct ptrc_buffer globs;
	/* What LD_PRELOAD is to be. */
	struct ptrc_buffer preload;
	/* COMMAND is linked statically, so nothing can be loaded into it. */
	bool is_static;
	/* It has XRay, but no symbol table any more, without which nobody finds XRay's runtime. */
	bool is_stripped;
};

/* Takes the option with its pattern, or null. Ends the process if the pattern is not valid. */
void ptrc_functions_option(struct ptrc_functions *, const char *glob);

/* Whether COMMAND was compiled so that its functions can be recorded, as far as its file tells. */
bool ptrc_functions_could_be(const char *command);

/* Finds the library, and looks at the file of COMMAND. Returns false, after a message, if the functions of
 * no program can be recorded. */
bool ptrc_functions_prepare(struct ptrc_functions *, const char *path);

/* In the process that is to execute COMMAND. */
void ptrc_functions_set_environment(struct ptrc_functions *);

/* Whether a function was recorded into the stream, or would have been but for its filter and patterns. */
bool ptrc_functions_are_in(trace_id_t);

/* Says why there is none. */
void ptrc_functions_say_none(const struct ptrc_functions *, const char *command);

#endif
