/* SPDX-License-Identifier: MIT */
/*
 * ptrace-run makes the dynamic linker load posixtrace-preload.so (lib/preload) into COMMAND and its children.
 * This library records what the program itself does not: when its functions start and end (--functions), in which
 * calls its threads wait (--waits), and which probes it reaches (--sdt).
 */
#ifndef PTRC_SRC_SESSION_PRELOAD_H
#define PTRC_SRC_SESSION_PRELOAD_H

#include <stdbool.h>

#include <trace.h>

#include "src/base/buffer.h"
#include "src/base/cli.h"

/* The kinds of events that the library records. */
enum ptrc_preload_kind {
	PTRC_PRELOAD_FUNCTIONS,
	PTRC_PRELOAD_WAITS,
	PTRC_PRELOAD_PROBES,
	PTRC_PRELOAD_KINDS,
};

/* What ptrace-run knows about the options and about COMMAND. Zeroed at the start. */
struct ptrc_preload {
	/* The patterns of --functions, --waits and --sdt, one on each line; empty if the option was not given. */
	struct ptrc_buffer patterns[PTRC_PRELOAD_KINDS];
	/* The value that LD_PRELOAD gets for COMMAND. */
	struct ptrc_buffer libraries;
	/* COMMAND is linked statically, so the library cannot be loaded into it. */
	bool is_static;
	/* COMMAND runs with more rights than its caller, so the library is not loaded into it. */
	bool is_privileged;
	/* COMMAND was compiled with -fxray-instrument, but has no symbol table, in which the library would find the
	 * functions of the XRay runtime. */
	bool is_stripped;
	/* COMMAND has no symbol table, so the names of its functions are unknown. */
	bool has_no_table;
};

/* Takes the option --functions. `glob` is its pattern, or NULL. Ends the process if the pattern is not valid. */
void ptrc_preload_functions(struct ptrc_preload *, const char *glob);

/* The kinds of waits (lib/preload/waits.h), and the most bytes of a pattern for them. */
#define PTRC_PRELOAD_WAIT_KINDS "lock, io, net, sleep, child"
#define PTRC_PRELOAD_WAIT_MAX 63

/* Whether the pattern matches a kind of waits. */
bool ptrc_preload_has_waits(const char *glob);

/* Takes the patterns of --waits (accepted by ptrc_preload_has_waits()) or those of --sdt (without line ends). */
void ptrc_preload_add(struct ptrc_preload *, enum ptrc_preload_kind, const struct ptrc_cli_texts *);

/* Whether the file of COMMAND contains the name of the hook that code of -finstrument-functions calls, or of the
 * section that -fxray-instrument makes. */
bool ptrc_preload_has_hooks(const char *command);

/* If --functions, --waits or --sdt was given, finds the library and examines the file of COMMAND. Returns false,
 * after a message, if the library is missing, is of another release, or has a path that LD_PRELOAD cannot hold. */
bool ptrc_preload_prepare(struct ptrc_preload *, const char *path);

void ptrc_preload_free(struct ptrc_preload *);

/* Sets LD_PRELOAD and the variables that the library reads, in the process that will execute COMMAND. */
void ptrc_preload_set_environment(struct ptrc_preload *);

/* Returns the first kind of events whose option was given, but of which the trace has no event type;
 * PTRC_PRELOAD_KINDS if there is none. If the filter or the patterns leave out all events of a kind, the trace still has
 * their types. */
enum ptrc_preload_kind ptrc_preload_lacks(const struct ptrc_preload *, trace_id_t);

/* Returns why the library is not loaded into COMMAND; NULL if nothing is in the way. */
const char *ptrc_preload_why_not(const struct ptrc_preload *);

/* Prints a message that says why nothing of this kind was recorded. */
void ptrc_preload_say_none(const struct ptrc_preload *, enum ptrc_preload_kind,
			   const char *command);

#endif
