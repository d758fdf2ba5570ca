/* SPDX-License-Identifier: MIT */
/*
 * Processes that should have been traced and could not be, because descriptors or memory were
 * short.
 *
 * Such a process can map no shared object and write to none. It leaves a message as a symbolic link
 * in the directory of shared objects, because making one needs neither a descriptor nor memory:
 * `u.<stream>.<pid>`, whose text starts with the error number of the cause. If the process does not
 * know its streams, the stream is 0, and the pids of the process and of its ancestors follow in the
 * text: the controllers find out whether it was theirs (lib/process/claim.h). Raw system calls
 * only, because the keeper counts the links for the log.
 */
#ifndef PTRC_LIB_STREAM_UNTRACED_H
#define PTRC_LIB_STREAM_UNTRACED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/base/shmdir.h"

/* Pids in the text of a link, not counting a last one that is 0. */
#define PTRC_UNTRACED_PIDS 64U

/* The text of a link. */
struct ptrc_untraced_word {
	int error; /* EMFILE, ENOMEM, or EPROTO: its library is of another version */
	/* the process, its parent, and so on */
	int pids[PTRC_UNTRACED_PIDS];
	uint32_t pid_count;
	/* all of its ancestors are listed; otherwise it could not find the rest */
	bool has_all;
};

struct ptrc_untraced {
	uint32_t processes;
	int error; /* of one of them */
};

/* Leaves a message that the calling process, with effective user `uid`, could not be traced by
 * this stream because of `error`. Does nothing for other errors than those above: then the
 * process is not traced by design. */
void ptrc_untraced_tell(uid_t uid, uint64_t stream_id, int error);
/* The same if the process does not know its streams. Does nothing if it can have none: it has no
 * page, and no stream of the user is INHERITED. */
void ptrc_untraced_tell_unknown(uid_t uid, const char *page_name, int error);

/* Parses the name of a link. False: it has another form. */
PTRC_NONNULL() bool ptrc_untraced_parse(const char *name, uint64_t *stream_id, int *pid);
/* Reads the text of a link. False: it has another form. */
PTRC_NONNULL()
bool ptrc_untraced_read(int dirfd, const char *name, struct ptrc_untraced_word *word);
/* Makes a link with the cause alone, for a process that a controller has recognised as its own. */
void ptrc_untraced_put(int dirfd, uint64_t stream_id, int pid, int error);

/* Counts the links of the stream. */
PTRC_NONNULL()
void ptrc_untraced_count(int dirfd, uint64_t stream_id, struct ptrc_untraced *untraced);
/* Removes the links of a stream that has ended. */
void ptrc_untraced_forget(int dirfd, uint64_t stream_id);

#endif
