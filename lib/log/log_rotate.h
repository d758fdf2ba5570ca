/* SPDX-License-Identifier: MIT */
/*
 * A log that is rotated: it goes on in another file when the one that it has is large or old enough.
 * Each file, a member of the log, is a whole log. The first is the one that the stream was created
 * with; the others are called as that one, with ".000001" and so on behind the name. A name never
 * changes, so that other programs can take closed members away while the log is written.
 *
 * Between two flushes nothing is under way: every event that was taken out of the stream is in the old
 * member, and the next flush writes into the new one. The store that saves the state of the new
 * member (log_state.h) also makes its place count. If the keeper dies before that, the next one goes
 * on in the old member: it takes the end off again, and removes the new file. Freestanding.
 */
#ifndef PTRC_LIB_LOG_LOG_ROTATE_H
#define PTRC_LIB_LOG_LOG_ROTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/log/log_state.h"

#define PTRC_LOG_PATH_BYTES sizeof(((struct ptrc_log_place *)0)->path)

/* Is the log of this stream rotated? */
bool ptrc_log_rotates(const struct ptrc_stream_header *h);
/* The number of the member that the saved state belongs to; 0: the first, or no state was saved. */
uint64_t ptrc_log_rotate_member(const struct ptrc_stream_header *h);

/* Notes in the place where the log is, of which fd is the file. base: the path of the first member,
 * or an empty text. */
void ptrc_log_rotate_note(struct ptrc_log_place *place, int fd, const char *base);
/* Stores the path of the first member, for a keeper that has its descriptor. is_noted: a keeper
 * before it has noted a place. EINVAL: there is none, as the file has no name. */
PTRC_MUST_CHECK int ptrc_log_rotate_base(const struct ptrc_stream_header *h, int first_fd,
					 bool is_noted, char base[PTRC_LOG_PATH_BYTES]);

/* For a keeper that takes over. Opens the member that the saved state belongs to, if it is where it
 * was. ENOENT: it is not. */
PTRC_MUST_CHECK int ptrc_log_rotate_reopen(const struct ptrc_stream_header *h, const char *base,
					   int flags, int *fd);
/* Removes the member that a keeper had begun when it was killed, if there is one. */
void ptrc_log_rotate_tidy(const struct ptrc_stream_header *h, const char *base);

/* Makes the file of the next member, locks it, and notes it in the place that does not count. Stores
 * its number, which is larger than *number. `like` is a descriptor of a member. Errors of open(). */
PTRC_MUST_CHECK int ptrc_log_rotate_make(struct ptrc_stream_header *h, const char *base, int like,
					 uint64_t *number, int *fd);
/* Begins a member in the file of w->fd, which the place that does not count is of, and deletes those that are too many. The
 * error number of a failed write, or ENOMEM; then the state is what it was. */
PTRC_MUST_CHECK int ptrc_log_rotate_begin(struct ptrc_log_writer *w, uint64_t number);

/* Is the next member due? Otherwise shortens *wait_ns, where -1 is for ever, to when it may be. */
PTRC_MUST_CHECK bool ptrc_log_rotate_is_due(const struct ptrc_log_writer *w, int64_t *wait_ns);
/* Ends this member and begins the next one, which w->fd is then. On failure the log goes on in this
 * one, and nothing is due for a while. The error number of a failed call. */
PTRC_MUST_CHECK int ptrc_log_rotate(struct ptrc_log_writer *w);
/* The log is about to be emptied: deletes all members but the last, which becomes the first. */
void ptrc_log_rotate_clear(struct ptrc_log_writer *w);

#endif
