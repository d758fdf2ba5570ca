/* SPDX-License-Identifier: MIT */
/* Messages about orphans, the unfinished streams of killed controllers (see posixtrace.h). */
#ifndef PTRC_SRC_SESSION_ORPHANS_H
#define PTRC_SRC_SESSION_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>

#include <posixtrace-control.h>

/* Lists all orphans. The caller frees the list. */
struct posixtrace_orphan *ptrc_orphans_list(size_t *count);

/* Writes the identifier of a stream as users type it, and returns the text. */
const char *ptrc_orphan_id(const struct posixtrace_orphan *, char text[17]);

/* Why an orphan cannot be salvaged, for an error of posixtrace_salvage_orphan(). */
const char *ptrc_orphan_explain(int error);

/* Stores the number of orphans that were dropped as a sentence; false: none was. */
bool ptrc_orphans_dropped(char text[100]);
/* Prints how many orphans were dropped since that was last forgotten, and forgets it if is_forgetting. */
void ptrc_orphans_say_dropped(bool is_forgetting);
/* Returns the orphan whose log is this file, or NULL. */
const struct posixtrace_orphan *ptrc_orphans_find(const struct posixtrace_orphan *list,
						  size_t count, const char *log);
/* Prints a message if the log belongs to an orphan, or if its keeper is stopped. */
void ptrc_orphans_say_of(const char *log);
/* Stores the number of orphans as a sentence; false: there is none. */
bool ptrc_orphans_count(char text[100]);
/* Prints that sentence, and how many orphans were dropped. */
void ptrc_orphans_say(void);

/* Enough for every text of the next function. */
#define PTRC_ORPHANS_TEXT_BYTES 400

/* If a session of this name was killed and left an orphan, stores a text that says so. The name may be in use
 * again. */
bool ptrc_orphans_of_session(const char *name, char text[PTRC_ORPHANS_TEXT_BYTES]);
/* Prints why a session does not answer, for an error of ptrc_session_ask(), and which orphan it left if it was
 * killed. */
void ptrc_orphans_say_session(const char *name, int error);

/*
 * To be called before a trace is made: finishes the logs of orphans, and prints a message for each orphan whose
 * events are in another file than its log. If a finished log is the file at `output` (NULL: none), which the
 * caller is about to replace, renames it. Returns false after a message if that fails.
 */
bool ptrc_orphans_settle(const char *output);

#endif
