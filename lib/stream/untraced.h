/* SPDX-License-Identifier: MIT */
/*
 * Processes that should have been traced and could not be, because descriptors or memory were
 * short, their library does not know the version of the stream, or they are in another pid or time
 * namespace.
 *
 * Such a process may be unable to map or write a shared object. It leaves a message as a symbolic
 * link in the directory of shared objects, because making a link needs neither a descriptor nor a
 * block of /dev/shm. If /dev/shm has no room even for the link, the process marks itself in the
 * streams that should have traced it (`unnoted` in their headers). The link's name is
 * `u.<stream>.<pid>`, and its text starts with the error number of the cause. If this is EPROTO,
 * the two versions follow. If the process does not know its streams, the stream in the name is 0,
 * and the pids of the process and of its ancestors follow in the text; by these pids the
 * controllers find out whether they should have traced the process (lib/process/claim.h). A process
 * that knows its own streams, and not those of its ancestors, which it should join, leaves its own
 * pid out. This file makes raw system calls only, because the keeper counts the links for the log.
 */
#ifndef PTRC_LIB_STREAM_UNTRACED_H
#define PTRC_LIB_STREAM_UNTRACED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/base/shmdir.h"
#include "lib/stream/stream_layout.h"

/* The most pids in the text of a link. The 0 that may end the list is not counted. */
#define PTRC_UNTRACED_PIDS 64U

/* The text of the symbolic link that an untraced process leaves. */
struct ptrc_untraced_word {
	/* EMFILE, ENOMEM, EPROTO if the library of the process does not know the version of the
	 * stream or of its names, EXDEV if the process is in another pid or time namespace, or EPERM
	 * if it could not reach the stream, for example because it had changed its user; the
	 * controller leaves that message */
	int error;
	uint32_t versions; /* if EPROTO: ptrc_shared_versions(); otherwise 0 */
	/* pids of the process, unless it knows its own streams, its parent, its parent's parent, and
	 * so on */
	int pids[PTRC_UNTRACED_PIDS];
	uint32_t pid_count;
	/* all ancestors are listed; if false, the process could not find out the others */
	bool has_all;
};

struct ptrc_untraced {
	uint32_t processes;
	/* the cause for one of these processes, as in struct ptrc_untraced_word */
	int error;
	uint32_t versions;
};

/* Leaves a message that the calling process, with effective user `uid`, could not be traced by this
 * stream because of this refusal (lib/base/shared_version.h). Does nothing if the cause is neither
 * a version, nor a namespace, nor a lack of descriptors or memory: then the process is untraced by
 * design. */
void ptrc_untraced_tell(uid_t uid, uint64_t stream_id, uint32_t refusal);
/* Leaves a message that the calling process could not be traced, because it does not know its
 * streams or, if knows_own, those of its ancestors. Does nothing if no stream can be tracing the
 * process: it has no page (the object that lists the streams of a process), and no stream of the
 * user is INHERITED. False: /dev/shm has no room for the message. */
bool ptrc_untraced_tell_unknown(uid_t uid, const char *page_name, int error, bool knows_own);

/* Parses the name of a link, u.<stream>.<pid>. False: the name has another form. */
PTRC_NONNULL() bool ptrc_untraced_parse(const char *name, uint64_t *stream_id, int *pid);
/* Reads the text of a link. False: there is no link, or its text has another form. */
PTRC_NONNULL()
bool ptrc_untraced_read(int dirfd, const char *name, struct ptrc_untraced_word *word);
/* Makes a link with only the error number, for a process that a controller should have traced; if
 * there is no room for the link, marks the process in the stream. */
PTRC_NONNULL()
void ptrc_untraced_put(int dirfd, struct ptrc_stream_header *h, int pid, int error);

/* Marks process `pid` as untraced in the stream, if this library knows the stream's version. */
void ptrc_untraced_mark(int dirfd, uid_t uid, uint64_t stream_id, int pid);

/* Counts the processes that left a link for this stream or are marked in it. Processes with the
 * same mark count as one. */
PTRC_NONNULL()
void ptrc_untraced_count(int dirfd, const struct ptrc_stream_header *h,
			 struct ptrc_untraced *untraced);
/* Removes the links of a stream that has ended. */
void ptrc_untraced_forget(int dirfd, uint64_t stream_id);

#endif
