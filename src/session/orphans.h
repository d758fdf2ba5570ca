/* SPDX-License-Identifier: MIT */
/* Messages about orphans: unfinished streams whose controllers were killed (see posixtrace-control.h). */
#ifndef PTRC_SRC_SESSION_ORPHANS_H
#define PTRC_SRC_SESSION_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>

#include <posixtrace-control.h>

/* Stores a list of all orphans, which the caller frees. Returns 0 or why there may be others: an error number for
 * ptrc_session_say_directory(). */
int ptrc_orphans_list(struct posixtrace_orphan **list, size_t *count);

/* Writes the identifier of an orphan's stream, 16 hexadecimal digits, to `text`. Returns `text`. */
const char *ptrc_orphan_id(const struct posixtrace_orphan *, char text[17]);

/* Returns why an orphan could not be salvaged (written to a log), for an error number of posixtrace_salvage_orphan().
 * path: the log that was to be written, or NULL. The text is valid until the next call of this function. */
const char *ptrc_orphan_explain(const struct posixtrace_orphan *, int error, const char *path);

/* Stores a sentence that says how many orphans the library has dropped, with all their events, because there were too
 * many. Returns false if none was dropped. */
bool ptrc_orphans_dropped(char text[100]);
/* Prints the sentence of ptrc_orphans_dropped() if orphans were dropped. If is_forgetting, resets their count. */
void ptrc_orphans_say_dropped(bool is_forgetting);
/* Returns the orphan whose log this is, also if the log was renamed or is a copy; NULL if there is none. */
const struct posixtrace_orphan *ptrc_orphans_find(const struct posixtrace_orphan *list,
						  size_t count, const char *log);
/* If the log's stream is left in shared memory, but belongs to another user, whose process root traced, stores a text that
 * says so, and how it is salvaged. Root does not salvage it, because that user has written which file its log is. */
bool ptrc_orphans_of_user(const char *log, char text[200]);
/* Prints a message if the log is that of an orphan, or if that cannot be found out, or else if the keeper that writes
 * the log is stopped. */
void ptrc_orphans_say_of(const char *log);
/* Stores how many orphans exist, and a sentence that says so. Returns as ptrc_orphans_list(). */
int ptrc_orphans_count(size_t *count, char text[100]);
/* Prints how many orphans exist, if any, or why that cannot be found out, and how many were dropped, if any. Returns
 * false if it cannot be found out. */
bool ptrc_orphans_say(void);

/* The most bytes of the text that ptrc_orphans_of_session() stores. */
#define PTRC_ORPHANS_TEXT_BYTES 400

/* If a session of this name was killed and left an orphan, stores a text that says so, and returns true. Another
 * session may have taken the name since. */
bool ptrc_orphans_of_session(const char *name, char text[PTRC_ORPHANS_TEXT_BYTES]);
/* Prints why a session does not answer, for an error number of ptrc_session_ask(). If the session was killed and
 * left an orphan, the message names the orphan. */
void ptrc_orphans_say_session(const char *name, int error);

/* Finishes the logs of orphans; called before a trace is made. Prints a message for each orphan whose events were
 * written to another file than its log. `output`, if not NULL, is the file that the caller will replace: if it is one of
 * the finished logs, renames it. Returns false, after a message, if it cannot be renamed. */
bool ptrc_orphans_settle(const char *output);

#endif
