/* SPDX-License-Identifier: MIT */
/*
 * Unfinished streams of killed controllers (see posixtrace.h) as the commands speak of them.
 */
#ifndef PTRC_SRC_SESSION_ORPHANS_H
#define PTRC_SRC_SESSION_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>

#include <posixtrace-control.h>

/* All of them. The caller frees the list. */
struct posixtrace_orphan *ptrc_orphans_list(size_t *count);

/* Writes the identifier of a stream as users type it, and returns the text. */
const char *ptrc_orphan_id(const struct posixtrace_orphan *, char text[17]);

/* Why an orphan cannot be salvaged, for an error of posixtrace_salvage_orphan(). */
const char *ptrc_orphan_explain(int error);

/* Prints how many were dropped since somebody was told and forgot them. */
void ptrc_orphans_say_dropped(bool is_forgetting);
/* Returns the unfinished stream of the list whose log this file is, or null. */
const struct posixtrace_orphan *ptrc_orphans_find(const struct posixtrace_orphan *list,
						  size_t count, const char *log);
/* Prints a message for that one, if there is one, or for the process that writes the log, if that is
 * stopped. */
void ptrc_orphans_say_of(const char *log);
/* Stores in words how many unfinished streams there are; false: there is none. */
bool ptrc_orphans_count(char text[100]);
/* Prints that as one line, and how many were dropped as another. */
void ptrc_orphans_say(void);

/* Enough for every text of the next function. */
#define PTRC_ORPHANS_TEXT_BYTES 400

/* Returns whether a session of this name was killed and left an unfinished stream, and stores
 * that in words. The name may be free again by now. */
bool ptrc_orphans_of_session(const char *name, char text[PTRC_ORPHANS_TEXT_BYTES]);
/* Prints why a session does not answer, for an error of ptrc_session_ask(). If it was killed,
 * names what it left unfinished. */
void ptrc_orphans_say_session(const char *name, int error);

/*
 * Before a trace is made: finishes the logs of unfinished streams, and prints a message for each
 * whose events are elsewhere than in its log. If one of the finished logs is the
 * file at `output` (null: none), which the caller is about to replace, it gets another name
 * first. If it cannot, prints why and returns false.
 */
bool ptrc_orphans_settle(const char *output);

#endif
