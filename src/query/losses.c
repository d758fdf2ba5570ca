/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/losses.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "src/cli/message.h"

void ptrc_losses_gather(struct ptrc_losses *l, const struct posix_trace_status_info *status,
			const struct posixtrace_counts *counts)
{
	bool is_overrun = status->posix_stream_overrun_status == POSIX_TRACE_OVERRUN ||
			  status->posix_log_overrun_status == POSIX_TRACE_OVERRUN;

	*l = (struct ptrc_losses){
		.stream_events = counts->pt_lost_events,
		.log_events = counts->pt_log_lost_events,
		.write_error = status->posix_stream_flush_error,
		.untraced_processes = counts->pt_untraced_processes,
		.untraced_error = counts->pt_untraced_error,
		.refused_names = counts->pt_refused_names,
		.missing_names = counts->pt_missing_names,
		.damaged_parts = counts->pt_damaged_parts,
		.source_damaged_parts = counts->pt_source_damaged_parts,
		.unwritten_events = counts->pt_unwritten_events,
		.source_unreadable_events = counts->pt_source_damaged_events,
		.source_unshown_events = counts->pt_source_missed_events,
		.is_source_uncounted = counts->pt_is_source_uncounted,
		.missing_files = counts->pt_missing_files + counts->pt_earlier_files -
				 counts->pt_deleted_files,
		.is_last_file_missing = counts->pt_is_last_file_missing,
		.deleted_files = counts->pt_deleted_files,
		.earlier_events = counts->pt_earlier_events,
	};
	/* Of those before the first one the events of all are known, of some they are not. */
	if (l->missing_files == counts->pt_missing_files)
		l->missing_events = counts->pt_missing_events;
	else if (!counts->pt_deleted_files &&
		 (counts->pt_missing_events || !counts->pt_missing_files))
		l->missing_events = counts->pt_missing_events + counts->pt_earlier_events;
	/* With EOWNERDEAD posix_trace_get_status() says that a log has no end. It then also says
	 * that events were lost, as nobody knows what the end would have held. */
	if (l->write_error == EOWNERDEAD) {
		l->write_error = 0;
		l->is_unclosed = true;
	} else {
		l->is_overrun = is_overrun && !l->stream_events && !l->log_events;
	}
}

/* How many events a reader gets from the log: those that it has, and OVERFLOW and RESUME of the
 * loss that it begins with. Reading makes these two, so their making has to be seen. */
static uint64_t count_read(trace_id_t trace)
{
	struct posix_trace_event_info event;
	struct posixtrace_counts counts;
	int unavailable = 0;
	size_t size;
	char byte;

	for (int i = 0; i < 2 && !unavailable; i++)
		if (posix_trace_getnext_event(trace, &event, &byte, sizeof(byte), &size,
					      &unavailable))
			break;
	if (posixtrace_get_counts(trace, &counts, sizeof(counts)))
		return 0;
	return counts.pt_log_events + counts.pt_made_up_events;
}

bool ptrc_losses_count_log(struct ptrc_losses *l, const char *path, bool is_gone, uint64_t *in_log,
			   uint64_t *event_count)
{
	struct posix_trace_status_info status;
	struct posixtrace_counts counts;
	bool has_them = false;
	trace_id_t trace;
	struct stat st;
	int error;

	l->is_log_gone |= is_gone;
	if (is_gone)
		return false;
	/* Reading a FIFO would wait for a writer. The first file of a rotated log may be gone. */
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return false;
	error = posixtrace_open_log(path, &trace);
	l->is_log_gone |= error == EINVAL;
	if (!error) {
		has_them = !posix_trace_get_status(trace, &status) &&
			   !posixtrace_get_counts(trace, &counts, sizeof(counts));
		if (has_them && event_count)
			*event_count = count_read(trace);
		posix_trace_close(trace);
	}
	if (has_them) {
		ptrc_losses_gather(l, &status, &counts);
		*in_log = counts.pt_log_events;
	}
	return has_them;
}

/* The stream outlives its controller, and ptrace-salvage writes what the log lacks. */
static bool is_left_to_salvage(const struct ptrc_losses *l)
{
	return l->write_error == EAGAIN || l->write_error == ECHILD;
}

void ptrc_losses_count_unwritten(struct ptrc_losses *l, uint64_t recorded, uint64_t in_log)
{
	uint64_t known = in_log + l->log_events;

	/* If the log tells the number, everybody tells that one: `recorded` also has the system
	 * events of each flush that was tried in vain. */
	if (l->write_error && l->write_error != ESTALE && !is_left_to_salvage(l) &&
	    !l->unwritten_events && recorded > known)
		l->unwritten_events = recorded - known;
}

uint64_t ptrc_losses_unreadable(const struct posixtrace_counts *counts, uint64_t read_count)
{
	uint64_t seen = read_count + counts->pt_gap_events + counts->pt_filtered_events +
			counts->pt_skipped_events + counts->pt_file_gap_events -
			counts->pt_made_up_events;

	return seen < counts->pt_log_events ? counts->pt_log_events - seen : 0;
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

bool ptrc_is_loss_open(trace_event_id_t id, const void *data, size_t size)
{
	return id != POSIX_TRACE_RESUME && ptrc_is_loss(id, data, size);
}

bool ptrc_losses_is_any(const struct ptrc_losses *l)
{
	return l->stream_events || l->log_events || l->is_overrun || l->has_gone_on ||
	       l->is_unclosed || l->write_error || l->is_log_gone || l->unreadable_events ||
	       l->is_unreadable_uncounted || l->unshown_events || l->is_rest_unshown ||
	       l->read_error || l->untraced_processes || l->refused_names || l->missing_names ||
	       l->damaged_parts || l->differing_parts || l->source_unreadable_events ||
	       l->source_unshown_events || l->is_source_uncounted || l->source_damaged_parts ||
	       l->missing_files;
}

static const char *events(uint64_t count)
{
	return count == 1 ? "event" : "events";
}

static void report(const char *thing, uint64_t count, const char *what)
{
	if (count)
		ptrc_cli_message(thing, "%llu %s %s", (unsigned long long)count, events(count),
				 what);
}

static const char *untraced_cause(int error)
{
	switch (error) {
	case EMFILE:
		return "too few descriptors";
	case EPROTO:
		return "its library has another version than this one; link it anew";
	default:
		return "too little memory or address space";
	}
}

void ptrc_losses_report(const struct ptrc_losses *l, const char *thing)
{
	report(thing, l->stream_events, "lost in the stream, which was full");
	report(thing, l->log_events, "lost in the log, which was full");
	if (l->untraced_processes)
		ptrc_cli_message(thing, "%llu %s could not be traced: %s",
				 (unsigned long long)l->untraced_processes,
				 l->untraced_processes == 1 ? "process" : "processes",
				 untraced_cause(l->untraced_error));
	if (l->refused_names)
		ptrc_cli_message(thing,
				 "at least %llu event %s got no type of %s own, as a program and "
				 "its children can have %d names: the events are there as "
				 "posix_trace_unnamed_userevent, unless the trace leaves that out "
				 "(--only, --exclude)",
				 (unsigned long long)l->refused_names,
				 l->refused_names == 1 ? "name" : "names",
				 l->refused_names == 1 ? "its" : "their", TRACE_USER_EVENT_MAX - 1);
	if (l->is_overrun)
		ptrc_cli_message(thing, "events were lost, and it is not known how many");
	if (l->write_error == ECANCELED)
		ptrc_cli_message(thing, "%llu %s missing, as the log took nothing and was given up",
				 (unsigned long long)l->unwritten_events,
				 l->unwritten_events == 1 ? "event is" : "events are");
	else if (l->write_error == EAGAIN)
		ptrc_cli_message(thing,
				 "the log is not finished, as the process that writes it has ended "
				 "and no other can be started: %s; 'ptrace-salvage' finishes it",
				 ptrc_cli_process_reason(EAGAIN));
	else if (l->write_error == ECHILD)
		ptrc_cli_message(thing, "the log is not finished, as the process that writes it, "
					"ptrace-keeper, dies again and again; 'ptrace-salvage' "
					"finishes it");
	else if (l->write_error && l->unwritten_events)
		/* What stood in a pipe or a socket when its reader went away is lost, too. */
		ptrc_cli_message(
			thing, "%s%llu %s lost, as writing the log failed: %s",
			l->write_error == EPIPE || l->write_error == ECONNRESET ? "at least " : "",
			(unsigned long long)l->unwritten_events, events(l->unwritten_events),
			strerror(l->write_error));
	else if (l->write_error == ESTALE && !l->is_log_gone)
		ptrc_cli_message(thing, "the log was truncated or written to by somebody else "
					"while it was written: events are missing from it");
	else if (l->write_error && l->write_error != ESTALE)
		ptrc_cli_message(thing, "writing the log failed: %s", strerror(l->write_error));
	if (l->is_log_gone)
		ptrc_cli_message(thing, "the log is not there any more: it was deleted, renamed, "
					"replaced or truncated while it was written");
	if (l->is_unclosed && !is_left_to_salvage(l) && !l->is_last_file_missing)
		ptrc_cli_message(thing, "the log has no end: its trace still goes on or was "
					"killed, or the file was cut off");
	if (l->has_gone_on)
		ptrc_cli_message(thing,
				 "processes went on after the COMMAND of ptrace-run and were "
				 "no longer traced: their later events are missing");
	report(thing, l->unreadable_events, "not readable, as the log is damaged");
	if (l->is_unreadable_uncounted)
		ptrc_cli_message(thing,
				 "%sevents are not readable, as the log is damaged, and it "
				 "is not known how many",
				 l->unreadable_events ? "more " : "");
	if (l->missing_names)
		ptrc_cli_message(
			thing,
			"%llu event %s not readable, as the log is damaged: the events are "
			"shown by their numbers",
			(unsigned long long)l->missing_names,
			l->missing_names == 1 ? "name is" : "names are");
	if (l->damaged_parts)
		ptrc_cli_message(thing,
				 "%llu %s of the log without events %s damaged: what it tells of "
				 "itself, of machine, processes or clocks may be missing",
				 (unsigned long long)l->damaged_parts,
				 l->damaged_parts == 1 ? "part" : "parts",
				 l->damaged_parts == 1 ? "is" : "are");
	if (l->is_last_file_missing)
		ptrc_cli_message(thing,
				 "at least %llu %s of the log %s missing: the last one here says "
				 "that another follows",
				 (unsigned long long)l->missing_files,
				 l->missing_files == 1 ? "file" : "files",
				 l->missing_files == 1 ? "is" : "are");
	else if (l->missing_files && l->missing_events)
		ptrc_cli_message(thing, "%llu %s of the log %s missing, with %llu %s",
				 (unsigned long long)l->missing_files,
				 l->missing_files == 1 ? "file" : "files",
				 l->missing_files == 1 ? "is" : "are",
				 (unsigned long long)l->missing_events, events(l->missing_events));
	else if (l->missing_files)
		ptrc_cli_message(thing, "%llu %s of the log %s missing",
				 (unsigned long long)l->missing_files,
				 l->missing_files == 1 ? "file" : "files",
				 l->missing_files == 1 ? "is" : "are");
	if (l->deleted_files)
		ptrc_cli_message(thing,
				 "the log begins with its file number %llu, as --log-keep has "
				 "deleted the first %llu; %llu %s came before",
				 (unsigned long long)l->deleted_files + 1,
				 (unsigned long long)l->deleted_files,
				 (unsigned long long)l->earlier_events, events(l->earlier_events));
	if (l->differing_parts)
		ptrc_cli_message(thing,
				 "%llu %s of the log %s not what the log says of %s, as it is "
				 "damaged",
				 (unsigned long long)l->differing_parts,
				 l->differing_parts == 1 ? "part" : "parts",
				 l->differing_parts == 1 ? "is" : "are",
				 l->differing_parts == 1 ? "it" : "them");
	report(thing, l->source_unreadable_events,
	       "missing, as what this log was made from was damaged");
	report(thing, l->source_unshown_events,
	       "missing, as they came too fast for what made this log");
	if (l->is_source_uncounted)
		ptrc_cli_message(thing,
				 "%sevents may be missing, and it is not known how many, as what "
				 "this log was made from lacked them, was damaged or had no end",
				 l->source_unreadable_events ? "more " : "");
	if (l->source_damaged_parts)
		ptrc_cli_message(
			thing,
			"%llu %s without events %s damaged in what this log was made from: "
			"names of event types, and what it says of machine, processes or "
			"clocks, may be missing",
			(unsigned long long)l->source_damaged_parts,
			l->source_damaged_parts == 1 ? "part" : "parts",
			l->source_damaged_parts == 1 ? "was" : "were");
	report(thing, l->unshown_events, "not shown, as they came too fast");
	if (l->is_rest_unshown)
		ptrc_cli_message(thing, "the session ended before all events could be shown");
	if (l->read_error == ECONNRESET)
		ptrc_cli_message(thing, "the session was killed");
	else if (l->read_error)
		ptrc_cli_message(thing, "reading the log failed: %s", strerror(l->read_error));
}

void ptrc_losses_json(const struct ptrc_losses *l, struct ptrc_json *j)
{
	ptrc_json_open(j, "losses", '{');
	ptrc_json_u64(j, "stream_events", l->stream_events);
	ptrc_json_u64(j, "log_events", l->log_events);
	ptrc_json_bool(j, "unknown",
		       l->is_overrun || l->has_gone_on || l->is_rest_unshown ||
			       l->is_unreadable_uncounted || l->is_source_uncounted);
	ptrc_json_bool(j, "unclosed", l->is_unclosed);
	ptrc_json_i64(j, "write_error", l->write_error);
	ptrc_json_bool(j, "log_gone", l->is_log_gone);
	ptrc_json_u64(j, "unwritten_events", l->unwritten_events);
	ptrc_json_u64(j, "unreadable_events", l->unreadable_events);
	ptrc_json_u64(j, "unshown_events", l->unshown_events);
	ptrc_json_u64(j, "untraced_processes", l->untraced_processes);
	ptrc_json_i64(j, "untraced_error", l->untraced_error);
	ptrc_json_u64(j, "refused_names", l->refused_names);
	ptrc_json_u64(j, "missing_names", l->missing_names);
	ptrc_json_u64(j, "source_unreadable_events", l->source_unreadable_events);
	ptrc_json_u64(j, "source_unshown_events", l->source_unshown_events);
	ptrc_json_u64(j, "damaged_parts", l->damaged_parts);
	ptrc_json_u64(j, "source_damaged_parts", l->source_damaged_parts);
	ptrc_json_u64(j, "differing_parts", l->differing_parts);
	ptrc_json_u64(j, "missing_files", l->missing_files);
	ptrc_json_u64(j, "missing_events", l->missing_events);
	ptrc_json_u64(j, "deleted_files", l->deleted_files);
	ptrc_json_close(j, '}');
}
