/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/losses.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "src/base/message.h"

struct ptrc_losses ptrc_losses_of_rotation(const struct ptrc_counts *counts)
{
	return (struct ptrc_losses){.rotation_error = (int)counts->pt_rotation_error,
				    .rotation_file = counts->pt_rotation_file};
}

void ptrc_losses_gather(struct ptrc_losses *l, const struct posix_trace_status_info *status,
			const struct ptrc_counts *counts)
{
	bool is_overrun = status->posix_stream_overrun_status == POSIX_TRACE_OVERRUN ||
			  status->posix_log_overrun_status == POSIX_TRACE_OVERRUN;

	*l = (struct ptrc_losses){
		.stream_events = counts->pt_lost_events,
		.log_events = counts->pt_log_lost_events,
		.unobserved_events = counts->pt_unobserved_events,
		.write_error = status->posix_stream_flush_error,
		.untraced_processes = counts->pt_untraced_processes,
		.untraced_error = (int)counts->pt_untraced_error,
		.untraced_versions = (unsigned int)counts->pt_untraced_versions,
		.refused_names = counts->pt_refused_names,
		.missing_names = counts->pt_missing_names,
		.damaged_parts = counts->pt_damaged_parts,
		.source_damaged_parts = counts->pt_source_damaged_parts,
		.unwritten_events = counts->pt_unwritten_events,
		.rotation_error = (int)counts->pt_rotation_error,
		.rotation_file = counts->pt_rotation_file,
		.source_unreadable_events = counts->pt_source_damaged_events,
		.source_unshown_events = counts->pt_source_missed_events,
		.is_source_uncounted = counts->pt_is_source_uncounted,
		.missing_files = counts->pt_missing_files + counts->pt_earlier_files -
				 counts->pt_deleted_files,
		.is_last_file_missing = counts->pt_is_last_file_missing,
		.deleted_files = counts->pt_deleted_files,
		.earlier_events = counts->pt_earlier_events,
		.earlier_files = counts->pt_earlier_files,
	};
	/* pt_earlier_events counts the events of all files before the first existing file. That is the number
	 * of missing events only if all of these files are missing ones, none deleted by --log-keep. */
	if (l->missing_files == counts->pt_missing_files)
		l->missing_events = counts->pt_missing_events;
	else if (!counts->pt_deleted_files &&
		 (counts->pt_missing_events || !counts->pt_missing_files))
		l->missing_events = counts->pt_missing_events + counts->pt_earlier_events;
	/* EOWNERDEAD means here that the log has no end. posix_trace_get_status() then also says that events
	 * were lost, because the missing end may have had some; that is not counted as an overrun. */
	if (l->write_error == EOWNERDEAD) {
		l->write_error = 0;
		l->is_unclosed = true;
	} else {
		l->is_overrun = is_overrun && !l->stream_events && !l->log_events;
	}
}

bool ptrc_losses_count_read(trace_id_t trace, struct ptrc_counts *counts)
{
	struct posix_trace_event_info event;
	int unavailable = 0;
	size_t size;
	char byte;

	for (int i = 0; i < 2 && !unavailable; i++)
		if (posix_trace_getnext_event(trace, &event, &byte, sizeof(byte), &size,
					      &unavailable))
			break;
	return !ptrc_trace_counts(trace, counts);
}

uint64_t ptrc_losses_stand_ins(trace_id_t log)
{
	struct ptrc_counts counts;

	if (ptrc_trace_counts(log, &counts))
		return 0;
	/* For each damaged place a reader gets two events that are not in the log. If the log has dropped its
	 * oldest events, a reader gets two more at the start. Those two are left out here, because commands count
	 * them as events of the log. */
	return counts.pt_made_up_events < 2 * counts.pt_damaged_gaps ? counts.pt_made_up_events
								     : 2 * counts.pt_damaged_gaps;
}

/* Adds to the losses that a log without an end reports those that only its stream has counted. */
static void add_stream(struct ptrc_losses *l, const struct ptrc_losses *stream)
{
	l->stream_events = stream->stream_events;
	/* The last flush, which failed, may have dropped events of a ring, and only the log says so. */
	if (l->log_events < stream->log_events)
		l->log_events = stream->log_events;
	l->unobserved_events = stream->unobserved_events;
	l->is_overrun = stream->is_overrun;
	l->untraced_processes = stream->untraced_processes;
	l->untraced_error = stream->untraced_error;
	l->untraced_versions = stream->untraced_versions;
	l->refused_names = stream->refused_names;
}

bool ptrc_losses_count_log(struct ptrc_losses *l, const char *path, bool is_gone, uint64_t *in_log,
			   uint64_t *event_count)
{
	const struct ptrc_losses stream = *l;
	struct posix_trace_status_info status;
	struct ptrc_counts counts;
	bool has_them = false;
	trace_id_t trace;
	struct stat st;
	int error;

	l->is_log_gone |= is_gone;
	if (l->is_log_gone)
		return false;
	/* Reading a FIFO would wait for a writer. If nothing is at the path, the log may still exist: the first
	 * file of a rotated log may have been deleted. */
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return false;
	error = posixtrace_log_open(path, &trace);
	l->is_log_gone |= error == EINVAL || error == EPROTO;
	if (!error) {
		has_them = !posix_trace_get_status(trace, &status) &&
			   ptrc_losses_count_read(trace, &counts);
		posix_trace_close(trace);
	}
	if (has_them) {
		ptrc_losses_gather(l, &status, &counts);
		if (l->is_unclosed)
			add_stream(l, &stream);
		l->log_events += counts.pt_ring_gap_events;
		*in_log = counts.pt_log_events;
		/* A damaged log may count fewer events than it has. */
		if (*in_log >= counts.pt_ring_gap_events)
			*in_log -= counts.pt_ring_gap_events;
		if (event_count)
			*event_count = *in_log + counts.pt_made_up_events;
	}
	return has_them;
}

/* Whether the log was not finished, but the stream still exists, so that ptrace-salvage can write what the
 * log lacks. */
static bool is_left_to_salvage(const struct ptrc_losses *l)
{
	return l->write_error == EAGAIN || l->write_error == ECHILD;
}

void ptrc_losses_count_unwritten(struct ptrc_losses *l, uint64_t recorded, uint64_t in_log)
{
	uint64_t known = in_log + l->log_events;

	/* If the log itself says how many events it lacks (unwritten_events), that number is exact. The
	 * difference calculated here may be too large: `recorded` also counts the system events of each flush
	 * that failed. */
	if (l->write_error && l->write_error != ESTALE && !is_left_to_salvage(l) &&
	    !l->unwritten_events && recorded > known)
		l->unwritten_events = recorded - known;
}

void ptrc_losses_note_full(struct ptrc_losses *l, int flush_error)
{
	if (l->stream_events && !l->write_error)
		l->write_error = flush_error;
}

/* The number of events of a closed log that could not be read because of damage, without those of missing files.
 * The log was read to its end, which gave read_count events. */
static uint64_t unreadable(const struct ptrc_counts *counts, uint64_t read_count)
{
	uint64_t seen = read_count + counts->pt_gap_events + counts->pt_filtered_events +
			counts->pt_skipped_events + counts->pt_file_gap_events -
			counts->pt_made_up_events;

	return seen < counts->pt_log_events ? counts->pt_log_events - seen : 0;
}

void ptrc_losses_add_read(struct ptrc_losses *l, const struct ptrc_counts *counts,
			  const uint64_t *read_count)
{
	l->stream_events += counts->pt_gap_events - counts->pt_ring_gap_events;
	l->log_events += counts->pt_ring_gap_events;
	l->unreadable_events = counts->pt_damaged_events - counts->pt_file_gap_events;
	if (read_count && !l->is_unclosed)
		l->unreadable_events = unreadable(counts, *read_count);
	else
		l->is_unreadable_uncounted = counts->pt_uncounted_gaps;
	l->is_unreadable_uncounted |=
		counts->pt_damaged_gaps > counts->pt_file_gaps && !l->unreadable_events;
}

bool ptrc_is_loss(trace_event_id_t id, const void *data, size_t size)
{
	int reason = 0;

	switch (id) {
	case POSIX_TRACE_OVERFLOW:
	case POSIX_TRACE_RESUME:
	case POSIX_TRACE_ERROR:
		return true;
	case POSIX_TRACE_STOP:
		if (size == sizeof(reason))
			memcpy(&reason, data, sizeof(reason));
		return reason != 0;
	default:
		return false;
	}
}

static const char *untraced_cause(int error)
{
	switch (error) {
	case EMFILE:
		return "too few descriptors";
	case EPERM:
		return "it could not open the trace, as it had changed its user or root directory, "
		       "or a seccomp filter forbids it; call posixtrace_attach() before that";
	case EXDEV:
		return "in another pid or time namespace than the trace; trace inside that "
		       "namespace";
	default:
		return "too little room in /dev/shm, or too little memory or address space";
	}
}

enum { TEXT_BYTES = sizeof(((struct ptrc_loss *)NULL)->text) };

static void __attribute__((format(printf, 2, 3))) put(char *text, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(text, TEXT_BYTES, format, values);
	va_end(values);
}

static void say_untraced(const struct ptrc_losses *l, char text[TEXT_BYTES])
{
	const char *processes = l->untraced_processes == 1 ? "process" : "processes";

	if (l->untraced_error == EPROTO)
		put(text,
		    "%llu %s could not be traced: its libposixtrace knows the shared memory up to "
		    "version %u, and this trace has version %u; link it with the libposixtrace of "
		    "these commands, or use the commands of its release",
		    (unsigned long long)l->untraced_processes, processes, l->untraced_versions >> 8,
		    l->untraced_versions & 0xff);
	else
		put(text, "%llu %s could not be traced: %s",
		    (unsigned long long)l->untraced_processes, processes,
		    untraced_cause(l->untraced_error));
}

static void say_refused(const struct ptrc_losses *l, char text[TEXT_BYTES])
{
	put(text,
	    "at least %llu event %s got no type of %s own, as %s another layout, "
	    "/dev/shm or memory had no room, or a program and its children have %d names: the "
	    "events are there as posix_trace_unnamed_userevent, unless the program does not "
	    "record them so, or the trace leaves that out (--only, --exclude)",
	    (unsigned long long)l->refused_names, l->refused_names == 1 ? "name" : "names",
	    l->refused_names == 1 ? "its" : "their", l->refused_names == 1 ? "it has" : "they have",
	    TRACE_USER_EVENT_MAX - 1);
}

static void say_write_error(const struct ptrc_losses *l, char text[TEXT_BYTES])
{
	if (l->write_error == ECANCELED)
		ptrc_cli_count_text(
			text, TEXT_BYTES, l->unwritten_events,
			"[event is|events are] missing, as the log took nothing and was given up");
	else if (l->write_error == EAGAIN)
		put(text,
		    "the log is not finished, as the process that writes it has ended "
		    "and no other can be started: %s; 'ptrace-salvage' finishes it",
		    ptrc_cli_process_reason(EAGAIN));
	else if (l->write_error == ECHILD)
		put(text, "the log is not finished, as the process that writes it, "
			  "ptrace-keeper, dies again and again; 'ptrace-salvage' "
			  "finishes it");
	else if (l->unwritten_events)
		/* With EPIPE or ECONNRESET more may be lost: what the pipe or the socket still held when its
		 * reader closed it. */
		put(text, "%s%llu %s lost, as writing the log failed: %s",
		    l->write_error == EPIPE || l->write_error == ECONNRESET ? "at least " : "",
		    (unsigned long long)l->unwritten_events,
		    l->unwritten_events == 1 ? "event" : "events",
		    ptrc_cli_write_reason(l->write_error));
	else if (l->write_error == ESTALE && !l->is_log_gone)
		put(text, "the log was truncated or written to by another process "
			  "while it was written: events are missing from it");
	else if (l->write_error != ESTALE)
		put(text, "writing the log failed: %s", ptrc_cli_write_reason(l->write_error));
}

static void say_rotation(const struct ptrc_losses *l, char text[TEXT_BYTES])
{
	put(text,
	    "the next file, whose name ends with .%06llu, cannot be made: %s; the log goes on in the "
	    "file before it",
	    (unsigned long long)l->rotation_file, ptrc_cli_write_reason(l->rotation_error));
}

static void say_unclosed(const struct ptrc_losses *l, char text[TEXT_BYTES])
{
	/* The message about the error of writing says why there is no end. */
	if (!l->write_error && !l->is_last_file_missing)
		put(text, "the log has no end: its trace still goes on or was "
			  "killed, its disk was full, or the file was cut off");
}

static void say_unreadable(const struct ptrc_losses *l, char text[TEXT_BYTES])
{
	put(text,
	    "%sevents are not readable, as the log is damaged, and it is not known "
	    "how many",
	    l->unreadable_events ? "more " : "");
}

static void say_source(const struct ptrc_losses *l, char text[TEXT_BYTES])
{
	put(text,
	    "%sevents may be missing, and it is not known how many, as what "
	    "this log was made from lacked them, was damaged or had no end",
	    l->source_unreadable_events ? "more " : "");
}

static void say_missing_files(const struct ptrc_losses *l, char text[TEXT_BYTES])
{
	char with_events[64] = "";

	if (l->missing_events)
		snprintf(with_events, sizeof(with_events), ", with %llu %s",
			 (unsigned long long)l->missing_events,
			 l->missing_events == 1 ? "event" : "events");
	put(text, "%s%llu %s of the log %s missing%s", l->is_last_file_missing ? "at least " : "",
	    (unsigned long long)l->missing_files, l->missing_files == 1 ? "file" : "files",
	    l->missing_files == 1 ? "is" : "are",
	    l->is_last_file_missing ? ": the last one here says that another follows"
				    : with_events);
}

static void say_deleted_files(const struct ptrc_losses *l, char text[TEXT_BYTES])
{
	put(text,
	    "the log begins with the file whose name ends with .%06llu, as --log-keep has "
	    "deleted the first %llu; %llu %s came before",
	    (unsigned long long)l->earlier_files, (unsigned long long)l->deleted_files,
	    (unsigned long long)l->earlier_events, l->earlier_events == 1 ? "event" : "events");
}

static void say_read_error(const struct ptrc_losses *l, char text[TEXT_BYTES])
{
	if (l->read_error == ECONNRESET)
		put(text, "the session was killed");
	else
		put(text, "reading the log failed: %s", strerror(l->read_error));
}

enum kind { COUNT, ERROR, FLAG };

/* The kinds of loss, in the order of their messages. */
static const struct loss {
	enum kind kind;
	size_t offset;
	/* The key of the loss in JSON, or NULL. */
	const char *key;
	/* A loss of this kind makes a trace incomplete. */
	bool is_loss;
	/* The member at `offset` is a number of events, which is added to the number of missing events. */
	bool is_of_events;
	/* Events were lost, and the member at `offset` does not say how many. */
	bool is_uncounted;
	/* `message`: the message; for COUNT, in the format of ptrc_cli_count(). `say`: a function that writes the
	 * message, or nothing. Both are NULL if the message of another row has what this row counts. */
	const char *message;
	void (*say)(const struct ptrc_losses *, char *text);
} losses[] = {
#define MEMBER(name) offsetof(struct ptrc_losses, name)
	{COUNT, MEMBER(stream_events), "stream_events", true, true,
	 .message = "[event|events] lost in the stream, which was full"},
	{COUNT, MEMBER(log_events), "log_events", true, true,
	 .message = "[event|events] lost in the log, which was full"},
	{COUNT, MEMBER(unobserved_events), "unobserved_events", true, true,
	 .message =
		 "[event|events] of the operating system lost in the kernel, as its buffer for a "
		 "processor was full or it withheld samples: fewer kinds of --os, or fewer "
		 "samples a second, lose less"},
	{COUNT, MEMBER(untraced_processes), "untraced_processes", true, .say = say_untraced},
	{ERROR, MEMBER(untraced_error), .key = "untraced_error"},
	{COUNT, MEMBER(refused_names), "refused_names", true, .say = say_refused},
	{FLAG, MEMBER(is_overrun), NULL, true, .is_uncounted = true,
	 .message = "events were lost, and it is not known how many"},
	{ERROR, MEMBER(write_error), "write_error", true, .say = say_write_error},
	{COUNT, MEMBER(unwritten_events), .key = "unwritten_events", .is_of_events = true},
	{ERROR, MEMBER(rotation_error), .say = say_rotation},
	{FLAG, MEMBER(is_log_gone), "log_gone", true,
	 .message = "the log is not there any more: it was deleted, renamed, replaced or truncated "
		    "while it was written"},
	{FLAG, MEMBER(is_unclosed), "unclosed", true, .say = say_unclosed},
	{FLAG, MEMBER(has_gone_on), NULL, true, .is_uncounted = true,
	 .message = "processes went on when the recording ended: their later events are missing"},
	{COUNT, MEMBER(unreadable_events), "unreadable_events", true, true,
	 .message = "[event|events] not readable, as the log is damaged"},
	{FLAG, MEMBER(is_unreadable_uncounted), NULL, true, .is_uncounted = true,
	 .say = say_unreadable},
	{COUNT, MEMBER(missing_names), "missing_names", true,
	 .message =
		 "event [name is|names are] not readable, as the log is damaged or lacks [it|them]: the "
		 "events are shown by their numbers"},
	{COUNT, MEMBER(damaged_parts), "damaged_parts", true,
	 .message = "[part|parts] of the log without events [is|are] damaged: what it tells of "
		    "itself, of machine, processes or clocks may be missing"},
	{COUNT, MEMBER(missing_files), "missing_files", true, .say = say_missing_files},
	{COUNT, MEMBER(missing_events), .key = "missing_events"},
	{COUNT, MEMBER(deleted_files), .key = "deleted_files", .say = say_deleted_files},
	{COUNT, MEMBER(differing_parts), "differing_parts", true,
	 .message = "[part|parts] of the log [is|are] not what the log says of [it|them], as it is "
		    "damaged"},
	{COUNT, MEMBER(source_unreadable_events), "source_unreadable_events", true, true,
	 .message =
		 "[event|events] missing, as what this log was made from lacked them or was damaged"},
	{COUNT, MEMBER(source_unshown_events), "source_unshown_events", true, true,
	 .message = "[event|events] missing, as they came too fast for what made this log"},
	{FLAG, MEMBER(is_source_uncounted), NULL, true, .is_uncounted = true, .say = say_source},
	{COUNT, MEMBER(source_damaged_parts), "source_damaged_parts", true,
	 .message =
		 "[part|parts] without events [was|were] damaged in what this log was made from: "
		 "names of event types, and what it says of machine, processes or clocks, may "
		 "be missing"},
	{COUNT, MEMBER(unshown_events), "unshown_events", true, true,
	 .message = "[event|events] not shown, as [it was|they were] overwritten or flushed first"},
	{FLAG, MEMBER(is_rest_unshown), NULL, true, .is_uncounted = true,
	 .message = "the session ended before all events could be shown"},
	{ERROR, MEMBER(read_error), NULL, true, .say = say_read_error},
#undef MEMBER
};

enum { LOSS_COUNT = sizeof(losses) / sizeof(*losses) };

/* The value of the member of *l that this row describes: a count, an error number, or 1 for true. */
static uint64_t amount(const struct ptrc_losses *l, const struct loss *row)
{
	const void *member = (const char *)l + row->offset;

	switch (row->kind) {
	case COUNT:
		return *(const uint64_t *)member;
	case ERROR:
		return (uint64_t) * (const int *)member;
	default:
		return *(const bool *)member;
	}
}

bool ptrc_losses_is_any(const struct ptrc_losses *l)
{
	for (size_t i = 0; i < LOSS_COUNT; i++)
		if (losses[i].is_loss && amount(l, &losses[i]))
			return true;
	return false;
}

uint64_t ptrc_losses_events(const struct ptrc_losses *l)
{
	uint64_t count = 0;

	for (size_t i = 0; i < LOSS_COUNT; i++)
		count += losses[i].is_of_events ? amount(l, &losses[i]) : 0;
	return count;
}

bool ptrc_losses_next(const struct ptrc_losses *l, size_t *place, struct ptrc_loss *loss)
{
	*loss->text = '\0';
	while (!*loss->text && *place < LOSS_COUNT) {
		const struct loss *row = &losses[(*place)++];
		uint64_t count = amount(l, row);

		loss->key = row->key;
		loss->is_loss = row->is_loss;
		if (count && row->say)
			row->say(l, loss->text);
		else if (count && row->kind == COUNT && row->message)
			ptrc_cli_count_text(loss->text, TEXT_BYTES, count, row->message);
		else if (count && row->message)
			put(loss->text, "%s", row->message);
	}
	return *loss->text;
}

void ptrc_losses_report(const struct ptrc_losses *l, const char *thing)
{
	struct ptrc_loss loss;

	for (size_t place = 0; ptrc_losses_next(l, &place, &loss);)
		ptrc_cli_message(thing, "%s", loss.text);
}

void ptrc_losses_json(const struct ptrc_losses *l, struct ptrc_json *j)
{
	bool is_unknown = false;

	ptrc_json_open(j, "losses", '{');
	for (size_t i = 0; i < LOSS_COUNT; i++) {
		const struct loss *row = &losses[i];
		uint64_t count = amount(l, row);

		is_unknown |= row->is_uncounted && count;
		if (row->key && row->kind == FLAG)
			ptrc_json_bool(j, row->key, count);
		else if (row->key)
			ptrc_json_u64(j, row->key, count);
	}
	ptrc_json_bool(j, "unknown", is_unknown);
	ptrc_json_close(j, '}');
}
