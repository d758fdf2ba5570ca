/* SPDX-License-Identifier: MIT */
/* Losses of a trace: gathering them, and showing them as messages and JSON. */
#ifndef PTRC_SRC_QUERY_LOSSES_H
#define PTRC_SRC_QUERY_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "include/posixtrace-private.h"
#include "src/base/json.h"

struct ptrc_losses {
	/* The numbers of events that were lost because the stream was full, and because the log was full. */
	uint64_t stream_events;
	uint64_t log_events;
	/* The number of events of the operating system that the kernel has lost, or withheld. */
	uint64_t unobserved_events;
	/* Events were lost in the stream or in the log, and neither has counted them. */
	bool is_overrun;
	/* The log has no end, because its trace still goes on or its keeper was killed. */
	bool is_unclosed;
	/* Traced processes went on after the COMMAND of ptrace-run had ended, or after the controller had died. */
	bool has_gone_on;
	/* The error number with which writing the log failed, or 0; and the number of events lost by that, as
	 * far as they are counted. */
	int write_error;
	uint64_t unwritten_events;
	/* The error number with which the next file of a rotated log could not be made, or 0; and the number in the
	 * name of that file. The log goes on in the file before, so this is no loss. */
	int rotation_error;
	uint64_t rotation_file;
	/* The file to which the log was written is no longer at the path of the log. */
	bool is_log_gone;
	/* The number of events that cannot be read because the log is damaged; and whether more
	 * events, of unknown number, cannot be read either. */
	uint64_t unreadable_events;
	bool is_unreadable_uncounted;
	/* The number of events of a followed session that were not shown, because the command or the
	 * session's controller was too slow; and whether an unknown number of events at the end of the
	 * session was not shown, either. */
	uint64_t unshown_events;
	bool is_rest_unshown;
	/* The number of processes that should have been traced and could not be; and why one of them could not
	 * be: EMFILE, too few descriptors; ENOMEM, too little room in /dev/shm, memory or address space; EXDEV, another
	 * pid or time namespace; EPERM, it had changed its user, for example; EPROTO, its library does not know the
	 * version of the trace. untraced_versions, for EPROTO: the newest version that the library knows << 8, plus the
	 * version of the trace. */
	uint64_t untraced_processes;
	int untraced_error;
	unsigned int untraced_versions;
	/* At least this many event names got no event type of their own, because the limit of types was reached.
	 * Their events are recorded as posix_trace_unnamed_userevent. */
	uint64_t refused_names;
	/* The number of names of event types that cannot be read because the log is damaged. */
	uint64_t missing_names;
	/* The number of damaged parts of the log that hold no events. */
	uint64_t damaged_parts;
	/* If --to-log made this log from other logs or from a session, this member and the next three are what was
	 * lost before or during that copying. This one is the number of damaged events of the sources. */
	uint64_t source_unreadable_events;
	/* The number of events that the session recorded faster than they could be copied. */
	uint64_t source_unshown_events;
	/* Events of the sources are missing, and their number is not known. */
	bool is_source_uncounted;
	/* In the sources, the number of damaged parts without events, such as names of event types. */
	uint64_t source_damaged_parts;
	/* For a rotated log, the number of missing files. missing_events: the number of events in these
	 * files, or 0 if that is unknown. */
	uint64_t missing_files;
	uint64_t missing_events;
	/* The last file is missing, and maybe others before it. missing_files counts these as one file, and
	 * is_unclosed is true. */
	bool is_last_file_missing;
	/* deleted_files: the number of files that --log-keep has deleted, which is no loss. earlier_events: the
	 * number of events in all files before the first file that exists. */
	uint64_t deleted_files;
	uint64_t earlier_events;
	/* The number of files before the first file that exists, which is the number in the name of that file. */
	uint64_t earlier_files;
	/* The number of parts, without damaged_parts, that differ from what the log says about them. Their events
	 * may be readable. Only --verify finds these parts. */
	uint64_t differing_parts;
	/* The error number with which reading the log or following the session failed, or 0. */
	int read_error;
};

/* Names of event types that the keeper, the process that writes the log, adds to a log at its end. A log has
 * PTRC_WENT_ON if processes were still traced when it was closed, and PTRC_COMMAND_ENDED if the COMMAND of
 * ptrace-run has ended. */
#define PTRC_WENT_ON "os.went_on"
#define PTRC_COMMAND_ENDED "os.command"

/* Whether the name is reserved for events of the operating system, of the keeper and of ptrace-run. */
static inline bool ptrc_is_os_name(const char *name)
{
	return !strncmp(name, "os.", 3);
}

/* The name of the event type that reports events lost in the kernel. */
#define PTRC_OS_LOST "os.lost"

/* Fills in the losses from the status and the counts of a stream or a log. */
void ptrc_losses_gather(struct ptrc_losses *, const struct posix_trace_status_info *,
			const struct ptrc_counts *);
/* Returns only why a rotated log cannot go on in another file, if that is so. */
struct ptrc_losses ptrc_losses_of_rotation(const struct ptrc_counts *);

/* The number of events that the reading of the log has made up: an OVERFLOW and a RESUME for each damaged place and
 * for missing files. They are not in the log, and --verify does not count them. */
uint64_t ptrc_losses_stand_ins(trace_id_t log);

/* Gets the counts of a log as a reader has them that has begun to read: if the log starts with a loss, the library makes
 * up an OVERFLOW and a RESUME (pt_made_up_events), and leaves out the events that are older than lost ones
 * (pt_ring_gap_events). So this reads the first two events. Returns false if the counts cannot be had. */
bool ptrc_losses_count_read(trace_id_t log, struct ptrc_counts *);

/*
 * Fills in the losses from a finished log, including those of its last flush. If the log has no end, it does not say
 * all losses; *l must have those of the stream, which are then kept. *in_log becomes the number of events in the log.
 * If event_count is not NULL, *event_count becomes the number of events that a reader gets. If the log starts with a
 * loss, this includes an OVERFLOW and a RESUME, which *in_log does not. The caller passes is_gone if it knows that the
 * log no longer exists; the log is also gone if the path leads to a regular file that is no log.
 * Returns false if the log is gone or cannot be read (a pipe, for instance); then only .is_log_gone may have changed.
 */
bool ptrc_losses_count_log(struct ptrc_losses *l, const char *path, bool is_gone, uint64_t *in_log,
			   uint64_t *event_count);

/* If writing the log failed and the log does not say how many events it lacks, counts as unwritten the recorded events
 * that are neither in the log nor lost because the log was full. Does not count them if another program has changed the
 * log (ESTALE), or if ptrace-salvage can still write the rest. */
void ptrc_losses_count_unwritten(struct ptrc_losses *l, uint64_t recorded, uint64_t in_log);

/* If events were lost in the stream, and writing the log has failed with this error while they were recorded, notes the
 * error: it is why the stream was full, though the log has all that was in the stream later. */
void ptrc_losses_note_full(struct ptrc_losses *l, int flush_error);

/* Adds the losses that were found while a log was read. The counts must be those after the reading. *read_count
 * is the number of events that were read; the pointer is NULL if the log was not read to its end. */
void ptrc_losses_add_read(struct ptrc_losses *, const struct ptrc_counts *,
			  const uint64_t *read_count);

/* Whether this event of the trace system reports that events next to it were lost: overwritten, damaged, or refused
 * by a full stream or log. A STOP precedes the lost events; its data says whether the stream was full.
 * ptrc_reader_is_loss() also recognises losses in the kernel. */
bool ptrc_is_loss(trace_event_id_t id, const void *data, size_t size);

bool ptrc_losses_is_any(const struct ptrc_losses *);

/* The number of missing events, as far as they are counted. */
uint64_t ptrc_losses_events(const struct ptrc_losses *);

/* A kind of loss: its key in JSON or NULL, whether it makes a trace incomplete, and its message without the name of the
 * log or session. */
struct ptrc_loss {
	const char *key;
	bool is_loss;
	char text[600];
};

/* Iterates over the kinds of loss that *l has; *place is 0 for the first call. Returns false after the last. */
bool ptrc_losses_next(const struct ptrc_losses *l, size_t *place, struct ptrc_loss *);

/* Prints a message for each kind of loss that *l has. The messages start with `thing`, such as the path of the
 * log. */
void ptrc_losses_report(const struct ptrc_losses *, const char *thing);

/* Puts the member "losses" into the open JSON object. */
void ptrc_losses_json(const struct ptrc_losses *, struct ptrc_json *);

#endif
