/* SPDX-License-Identifier: MIT */
/*
 * Processes that should have been traced and could not be, for want of descriptors or memory.
 *
 * Such a process can write to no shared object, as it could map none. It leaves word by a
 * symbolic link in the directory of shared objects, because making one needs neither a
 * descriptor nor memory: `u.<stream>.<pid>`, whose text begins with the cause, an error number.
 * If the process does not know which streams should trace it, the stream is 0, and in the text
 * the pids of the process and of its ancestors follow: the controllers find out whether it was
 * theirs (lib/process/claim.h). Raw system calls only, as the keeper counts them for the log.
 */
#ifndef PTRC_LIB_STREAM_UNTRACED_H
#define PTRC_LIB_STREAM_UNTRACED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/base/shmdir.h"

/* Pids in the text of a link, without a last one that is 0. */
#define PTRC_UNTRACED_PIDS 64U

/* What is known of a process that could not be traced. */
struct ptrc_untraced_word {
	int error; /* EMFILE, ENOMEM, or EPROTO: its library is of another version */
	/* The process, its parent, and so on. */
	int pids[PTRC_UNTRACED_PIDS];
	uint32_t pid_count;
	/* These are all of its ancestors; otherwise it could not find out who the others are. */
	bool has_all;
};

struct ptrc_untraced {
	uint32_t processes;
	int error; /* of one of them */
};

/* Leaves word that the calling process, whose effective user is `uid`, could not be traced by
 * this stream because of `error`. Does nothing if the cause is another than those above: then
 * the process is one that is not traced by design. */
void ptrc_untraced_tell(uid_t uid, uint64_t stream_id, int error);
/* The same, if the process could not find out which streams should trace it. Does nothing if no
 * stream can be meant: the process has no page, and none of the user's streams is INHERITED. */
void ptrc_untraced_tell_unknown(uid_t uid, const char *page_name, int error);

/* Parses the name of a link. False: it is of another form. */
PTRC_NONNULL() bool ptrc_untraced_parse(const char *name, uint64_t *stream_id, int *pid);
/* Reads the text of a link. False: it is none of ours. */
PTRC_NONNULL()
bool ptrc_untraced_read(int dirfd, const char *name, struct ptrc_untraced_word *word);
/* Makes a link with the cause alone, for a process that a controller has found to be its own. */
void ptrc_untraced_put(int dirfd, uint64_t stream_id, int pid, int error);

/* Counts the links of the stream. */
PTRC_NONNULL()
void ptrc_untraced_count(int dirfd, uint64_t stream_id, struct ptrc_untraced *untraced);
/* Removes the links of a stream that has ended. */
void ptrc_untraced_forget(int dirfd, uint64_t stream_id);

#endif
