/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cli/clock.h"
#include "src/cli/nearest.h"
#include "src/doctor/doctor.h"
#include "src/view/reader.h"

/* How long a log is read. */
#define READ_NS INT64_C(2000000000)

struct log_seen {
	uint64_t events;
	uint64_t user_events;
	/* Events with the name that the user misses. */
	uint64_t wanted;
	/* The error number that ended the reading, or 0. */
	int error;
	bool is_cut_short;
	bool is_filtered;
};

static void note_filter(const void *data, size_t size, size_t at, trace_event_id_t id,
			struct log_seen *seen)
{
	trace_event_set_t set;
	int is_member;

	if (size < at + sizeof(set))
		return;
	memcpy(&set, (const char *)data + at, sizeof(set));
	if (!posix_trace_eventset_ismember(id, &set, &is_member) && is_member)
		seen->is_filtered = true;
}

static void read_events(trace_id_t trace, trace_event_id_t wanted, struct log_seen *seen)
{
	static char data[2 * sizeof(trace_event_set_t) + 64];
	struct posix_trace_event_info info;
	int64_t end = ptrc_now_ns() + READ_NS;
	int unavailable = 0;
	size_t size;

	for (;;) {
		seen->error = posix_trace_getnext_event(trace, &info, data, sizeof(data), &size,
							&unavailable);
		if (seen->error || unavailable)
			return;
		seen->events++;
		if (info.posix_event_id >= POSIX_TRACE_UNNAMED_USEREVENT)
			seen->user_events++;
		if (wanted && info.posix_event_id == wanted)
			seen->wanted++;
		if (wanted && info.posix_event_id == POSIX_TRACE_START)
			note_filter(data, size, 0, wanted, seen);
		else if (wanted && info.posix_event_id == POSIX_TRACE_FILTER)
			note_filter(data, size, sizeof(trace_event_set_t), wanted, seen);
		if (seen->events % 1024 == 0 && ptrc_now_ns() > end) {
			seen->is_cut_short = true;
			return;
		}
	}
}

/* Returns the identifier of the event that the user misses, or 0 if the log does not
 * have that name. */
static trace_event_id_t find_event(struct ptrc_doctor *d, const char *path, trace_id_t trace)
{
	static char names[PTRC_READER_IDS][TRACE_EVENT_NAME_MAX + 1];
	struct ptrc_nearest nearest = {0};
	char proposal[900];
	trace_event_id_t id;
	int unavailable;

	for (size_t i = 0; i < PTRC_READER_IDS; i++) {
		if (posix_trace_eventtypelist_getnext_id(trace, &id, &unavailable) || unavailable)
			break;
		if (posix_trace_eventid_get_name(trace, id, names[i]))
			continue;
		if (!strcmp(names[i], d->event))
			return id;
		ptrc_nearest_offer(&nearest, d->event, names[i]);
	}
	ptrc_doctor_problem(d, "event", path, NULL, "no program in it has opened an event %s%s",
			    d->event, ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
	return 0;
}

/* Reports the session that still writes the log, if there is one, and returns whether
 * there is. */
static bool examine_writer(struct ptrc_doctor *d, const char *path)
{
	const struct ptrc_session_list *all = ptrc_doctor_list();
	char absolute[PATH_MAX];

	if (!realpath(path, absolute))
		return false;
	for (size_t i = 0; i < all->count; i++) {
		if (all->errors[i] || !all->replies[i].state.has_log ||
		    strcmp(all->replies[i].state.log, absolute) != 0)
			continue;
		ptrc_doctor_note(d, "writer", path, NULL, "session %s writes it", all->names[i]);
		ptrc_doctor_session(d, all->names[i]);
		return true;
	}
	return false;
}

static void check_losses(struct ptrc_doctor *d, const char *path, bool is_written,
			 const struct posix_trace_status_info *s, const struct posixtrace_counts *c)
{
	/* EOWNERDEAD says that the log has no end. */
	if (s->posix_stream_flush_error == EOWNERDEAD && !is_written)
		ptrc_doctor_note(d, "log", path, NULL,
				 "is not closed: another user's trace writes it, or it was cut "
				 "short, or the processes that wrote it were killed");
	else if (s->posix_stream_flush_error && s->posix_stream_flush_error != EOWNERDEAD)
		ptrc_doctor_problem(d, "log", path, "see the disk that it was written to",
				    "writing it failed: %s", strerror(s->posix_stream_flush_error));
	if (s->posix_log_full_status == POSIX_TRACE_FULL)
		ptrc_doctor_problem(d, "log-full", path,
				    "use a larger --log-max-size, or --log-full-policy=append",
				    "has reached its maximum size");
	if (c->pt_lost_events || c->pt_log_lost_events)
		ptrc_doctor_problem(d, "lost", path,
				    c->pt_lost_events ? "use a larger --stream-min-size"
						      : "use a larger --log-max-size",
				    "%lu events were lost in the stream, %lu in the log",
				    c->pt_lost_events, c->pt_log_lost_events);
}

/* Reports events that a closed log counts and that could not be read. */
static void check_damage(struct ptrc_doctor *d, const char *path, trace_id_t trace,
			 const struct log_seen *seen, bool is_closed)
{
	struct posixtrace_counts counts;
	uint64_t unreadable = 0;

	if (seen->error) {
		ptrc_doctor_problem(d, "log", path, NULL, "reading it failed: %s",
				    strerror(seen->error));
		return;
	}
	if (is_closed && !seen->is_cut_short &&
	    !posixtrace_get_counts(trace, &counts, sizeof(counts)))
		unreadable = ptrc_losses_unreadable(&counts, seen->events);
	if (unreadable)
		ptrc_doctor_problem(d, "log", path, NULL,
				    "is damaged: %lu events could not be read", unreadable);
}

static void check_contents(struct ptrc_doctor *d, const char *path, trace_id_t trace,
			   bool is_written)
{
	struct posix_trace_status_info status;
	struct posixtrace_counts counts;
	struct log_seen seen = {0};
	trace_event_id_t wanted = d->event ? find_event(d, path, trace) : 0;

	if (posix_trace_get_status(trace, &status) ||
	    posixtrace_get_counts(trace, &counts, sizeof(counts)))
		return;
	check_losses(d, path, is_written, &status, &counts);
	read_events(trace, wanted, &seen);
	check_damage(d, path, trace, &seen, status.posix_stream_flush_error != EOWNERDEAD);
	if (!seen.user_events && !seen.is_cut_short)
		ptrc_doctor_say(d, is_written ? PTRC_DOCTOR_NOTE : PTRC_DOCTOR_PROBLEM, "events",
				path,
				is_written ? NULL
					   : "see whether the program has the library: "
					     "ptrace-doctor -- COMMAND",
				"has no event of a program%s",
				is_written ? " yet" : ", only events of the trace itself");
	else
		ptrc_doctor_ok(d, "events", path, "has %llu event%s of programs%s",
			       (unsigned long long)seen.user_events,
			       seen.user_events == 1 ? "" : "s",
			       seen.is_cut_short ? " at least" : "");
	if (seen.is_filtered && !seen.wanted)
		ptrc_doctor_problem(d, "filtered", path, "trace with another filter: ptrace-filter",
				    "the trace filtered %s out", d->event);
	else if (wanted && !seen.wanted && !seen.is_cut_short)
		ptrc_doctor_problem(d, "event", path, NULL,
				    "%s was opened, but never happened while it was traced",
				    d->event);
	else if (wanted && seen.wanted)
		ptrc_doctor_ok(d, "event", path, "%s happened %llu times", d->event,
			       (unsigned long long)seen.wanted);
}

/* Whether the log is closed, and everything was written to it. */
static bool is_finished(trace_id_t trace)
{
	struct posix_trace_status_info status;

	return !posix_trace_get_status(trace, &status) &&
	       status.posix_stream_status == POSIX_TRACE_SUSPENDED &&
	       !status.posix_stream_flush_error;
}

void ptrc_doctor_log(struct ptrc_doctor *d, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_written = false;
	struct ptrc_cli_reason why;
	trace_id_t trace;
	struct stat st;
	int error;

	if (fd < 0 || fstat(fd, &st)) {
		ptrc_doctor_problem(d, "log", path, NULL, "%s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	if (!S_ISREG(st.st_mode)) {
		ptrc_doctor_problem(d, "log", path, NULL,
				    "is not a regular file, so it cannot be examined as a log");
		close(fd);
		return;
	}
	if (access(path, W_OK))
		ptrc_doctor_note(d, "log", path, NULL, "you may not write it: %s", strerror(errno));
	is_written = examine_writer(d, path);
	error = posix_trace_open(fd, &trace);
	/* A finished log needs no more room. */
	if (!is_written && (error || !is_finished(trace)))
		ptrc_doctor_disk(d, path);
	if (error) {
		ptrc_reader_why_no_log(fd, &why);
		ptrc_doctor_problem(d, "log", path, NULL, "%s",
				    !st.st_size	      ? "is empty: nothing was written to it"
				    : error == EINVAL ? why.text
						      : strerror(error));
	} else {
		check_contents(d, path, trace, is_written);
		posix_trace_close(trace);
	}
	close(fd);
}
