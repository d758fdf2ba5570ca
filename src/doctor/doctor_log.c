/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/nearest.h"
#include "src/base/same_file.h"
#include "src/base/scope.h"
#include "src/doctor/doctor.h"
#include "src/session/keeper.h"
#include "src/session/orphans.h"
#include "src/session/session_path.h"
#include "src/query/losses.h"
#include "src/query/reader.h"
#include "src/summary/no_events.h"

/* The longest time for which a log is read: the user waits for the result. */
#define READ_NS INT64_C(2000000000)

struct log_seen {
	uint64_t user_events;
	/* The number of events that --event names, which the user misses, and the number of their event types. */
	uint64_t wanted;
	size_t wanted_types;
	/* READ_NS was over before the end of the log. */
	bool is_cut_short;
	/* A filter of the trace has excluded events that --event names. */
	bool is_filtered;
};

/* Properties of an event type of the log. */
struct seen_type {
	/* --event names this event type. */
	bool is_wanted;
	/* The event type is one of the operating system (os.*), which no program opens. */
	bool is_of_os;
};

static const struct seen_type *type_of(struct ptrc_reader *r, trace_event_id_t id)
{
	static const struct seen_type nameless;
	const struct ptrc_type *type = ptrc_reader_type(r, id);

	return type->of_sink ? type->of_sink : &nameless;
}

static void note_filter(struct ptrc_reader *r, size_t at, struct log_seen *seen)
{
	trace_event_set_t set;

	if (r->size < at + sizeof(set))
		return;
	memcpy(&set, r->data + at, sizeof(set));
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++)
		if (r->types[id] && type_of(r, id)->is_wanted && ptrc_is_in_set(&set, id))
			seen->is_filtered = true;
}

static void read_events(struct ptrc_reader *r, struct log_seen *seen)
{
	int64_t end = ptrc_now_ns() + READ_NS;

	while (!seen->is_cut_short && ptrc_reader_next(r)) {
		trace_event_id_t id = r->event.posix_event_id;
		const struct seen_type *type = type_of(r, id);

		seen->user_events += !ptrc_is_system_type(id) && !type->is_of_os;
		seen->wanted += type->is_wanted;
		if (seen->wanted_types && id == POSIX_TRACE_START)
			note_filter(r, 0, seen);
		else if (seen->wanted_types && id == POSIX_TRACE_FILTER)
			note_filter(r, sizeof(trace_event_set_t), seen);
		seen->is_cut_short = r->read_count % 1024 == 0 && ptrc_now_ns() > end;
	}
}

/* How much of a log can be examined. */
enum extent {
	/* The log has all events that its trace recorded. */
	WHOLE,
	/* The trace goes on, so the log has only the events that were written so far. */
	SO_FAR,
	/* The log is incomplete, so only what is left of the log can be examined. check_losses() has
	 * reported what is missing. */
	REMAINS,
};

/* Notes which event types of the log are of the operating system, and which --event names. Offers the names of the
 * other types to `nearest`, which finds those that are similar to a misspelt --event. */
static void find_events(const struct ptrc_doctor *d, struct ptrc_reader *r, struct log_seen *seen,
			struct ptrc_nearest *nearest)
{
	ptrc_reader_load_names(r);
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++) {
		struct ptrc_type *type = r->types[id];
		struct seen_type *own;

		if (!type)
			continue;
		type->of_sink = own = ptrc_cli_allocate(sizeof(*own));
		own->is_of_os = ptrc_is_os_name(type->name.text);
		own->is_wanted = ptrc_doctor_is_missed(d, type->name.text);
		seen->wanted_types += own->is_wanted;
		if (d->event && !own->is_wanted && !ptrc_filter_rules_is_glob(d->event))
			ptrc_nearest_offer(nearest, d->event, type->name.text);
	}
}

/* Whether the process has this file, which is in the directory, open for writing. Follows only links in
 * /proc/PID/fd that lead into the directory: following others might wait for a file system that does not answer.
 * Does not compare names: a later file of a rotated log may be made without a name (O_TMPFILE), and the link then
 * does not show the name that the file gets later. */
static bool is_writing(const char *pid, const char *directory, const struct stat *file)
{
	char path[64 + NAME_MAX], target[PATH_MAX];
	size_t size = strlen(directory);
	bool is_found = false;
	PTRC_SCOPED_DIR *fds = NULL;
	struct dirent *e;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	fds = opendir(path);
	while (fds && !is_found && (e = readdir(fds))) {
		ssize_t n = readlinkat(dirfd(fds), e->d_name, target, sizeof(target) - 1);
		struct stat link, st;

		if (n < 0)
			continue;
		target[n] = '\0';
		/* The link is writable if the file was opened for writing. */
		is_found = !strncmp(target, directory, size) && !strchr(target + size, '/') &&
			   !fstatat(dirfd(fds), e->d_name, &link, AT_SYMLINK_NOFOLLOW) &&
			   link.st_mode & S_IWUSR && !fstatat(dirfd(fds), e->d_name, &st, 0) &&
			   ptrc_is_same_file(&st, file);
	}
	return is_found;
}

/* Reports which process of this user has the log open for writing: the controller or, if that is gone, the keeper (a
 * process that only writes the log). Also reports each such process that is stopped. Returns false if there is none. */
static bool examine_process(struct ptrc_doctor *d, const char *path, const char *absolute)
{
	char thing[32 + PTRC_SESSION_NAME_MAX] = "";
	char directory[PATH_MAX];
	PTRC_SCOPED_DIR *all = NULL;
	PTRC_SCOPED_FD fd = -1;
	struct dirent *e;
	struct stat last;
	pid_t keeper;

	/* ptrc_log_open_last() refuses a log whose start is not written yet. Then the file at `path` is opened. */
	if (ptrc_log_open_last(path, &fd))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (fstat(fd, &last))
		last.st_ino = 0;
	/* The path of the directory, with the slash at its end. */
	snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(absolute, '/') + 1 - absolute),
		 absolute);
	all = opendir("/proc");
	while (all && (e = readdir(all))) {
		char name[32];
		char advice[48];
		pid_t pid;

		if (strspn(e->d_name, "0123456789") != strlen(e->d_name) ||
		    !is_writing(e->d_name, directory, &last))
			continue;
		pid = (pid_t)strtol(e->d_name, NULL, 10);
		ptrc_session_command(pid, name);
		if (ptrc_keeper_is_stopped(pid)) {
			snprintf(advice, sizeof(advice), "kill -CONT %ld continues it", (long)pid);
			ptrc_doctor_problem(d, "writer", path, advice,
					    "process %ld (%s), which writes it, is stopped",
					    (long)pid, name);
		}
		if (!*thing || strcmp(name, "ptrace-keeper") != 0)
			snprintf(thing, sizeof(thing), "%.20s (%.31s)", e->d_name, name);
	}
	/* A keeper may have opened the file by another path. */
	if (!*thing && ptrc_keeper_of(path, &keeper))
		snprintf(thing, sizeof(thing),
			 keeper ? "%ld (ptrace-keeper)" : "of another namespace", (long)keeper);
	if (*thing)
		ptrc_doctor_note(d, "writer", path, NULL,
				 "process %s writes it; this is what has been written so far",
				 thing);
	return *thing;
}

/* Resolves links, "." and ".." in the path, to compare it with the paths of sessions' logs. Stores at most
 * PATH_MAX bytes. The file itself may be missing: --log-keep may have deleted the first file of a rotated
 * log. */
static bool make_absolute(const char *path, char *absolute)
{
	const char *name = basename(path);
	char directory[PATH_MAX];
	size_t used;

	if (realpath(path, absolute))
		return true;
	if (errno != ENOENT || name - path >= PATH_MAX)
		return false;
	snprintf(directory, sizeof(directory), "%.*s", (int)(name - path), path);
	if (!realpath(name == path ? "." : directory, absolute))
		return false;
	used = strlen(absolute);
	return snprintf(absolute + used, PATH_MAX - used, "/%s", name) < (int)(PATH_MAX - used);
}

static bool examine_writer(struct ptrc_doctor *d, const char *path)
{
	const struct ptrc_session_list *all = ptrc_doctor_list();
	char absolute[PATH_MAX];

	if (!make_absolute(path, absolute))
		return false;
	for (size_t i = 0; i < all->count; i++) {
		if (all->errors[i] || !all->replies[i].state.has_log ||
		    strcmp(all->replies[i].state.log, absolute) != 0)
			continue;
		ptrc_doctor_note(d, "writer", path, NULL, "session %s writes it", all->names[i]);
		ptrc_doctor_session(d, all->names[i]);
		return true;
	}
	return examine_process(d, path, absolute);
}

/* Whether examine_process() can see all processes that may write the file, because this user owns the file or is
 * root. */
static bool is_own(const char *path)
{
	struct stat st;

	return !geteuid() || (!stat(path, &st) && st.st_uid == geteuid());
}

/* Reports what is missing from a log, as ptrace-stat does. If the log is not closed and no process of this user writes
 * it, also reports why it is not closed. */
static void check_losses(struct ptrc_doctor *d, const char *path, const struct ptrc_losses *l,
			 bool is_log_full, bool is_ring)
{
	/* If events were lost because the log was full, ptrc_doctor_losses() says that the log was full. */
	bool is_only_full = is_log_full && !l->log_events;
	PTRC_SCOPED struct posixtrace_orphan *orphans;
	const struct posixtrace_orphan *orphan;
	struct ptrc_losses others = *l;
	char text[200];
	size_t count;

	/* Ignores the error if they cannot be listed, because doctor_machine.c reports that. */
	ptrc_orphans_list(&orphans, &count);
	orphan = ptrc_orphans_find(orphans, count, path);
	if (l->is_unclosed && orphan)
		ptrc_doctor_problem(d, "log", path, "ptrace-salvage writes them",
				    "is not closed: process %ld, which was to write it, was "
				    "killed, and its last events stand in /dev/shm",
				    (long)orphan->pt_controller);
	else if (l->is_unclosed && ptrc_orphans_of_user(path, text))
		ptrc_doctor_problem(d, "log", path, NULL, "is not closed: %s", text);
	else if (l->is_unclosed && !l->is_last_file_missing && is_own(path))
		ptrc_doctor_problem(
			d, "log", path, NULL,
			"is not closed, and no process writes it: it was cut short, its "
			"disk was full, or the processes that wrote it were killed");
	else if (l->is_unclosed && !l->is_last_file_missing)
		ptrc_doctor_note(d, "log", path, NULL,
				 "is not closed: another user's trace writes it, or it was cut "
				 "short, its disk was full, or the processes that wrote it were "
				 "killed");
	if (is_only_full)
		ptrc_doctor_problem(d, "log-full", path,
				    "use a larger --log-max-size, or --log-full-policy=append",
				    "has reached its maximum size");
	others.is_unclosed = false;
	ptrc_doctor_losses(d, path, &others, is_only_full, false, is_ring);
}

static void check_events(struct ptrc_doctor *d, const char *path, trace_id_t trace,
			 const struct log_seen *seen, enum extent extent)
{
	struct ptrc_no_events no_events;
	char reason[PTRC_NO_EVENTS_BYTES];

	ptrc_no_events_gather(&no_events, trace);
	if (seen->user_events || seen->is_cut_short)
		ptrc_doctor_ok(d, "events", path, "has %llu event%s of programs%s",
			       (unsigned long long)seen->user_events,
			       seen->user_events == 1 ? "" : "s",
			       seen->is_cut_short ? " at least" : "");
	else if (extent == SO_FAR)
		ptrc_doctor_note(d, "events", path, NULL, "has no event of a program yet");
	else if (extent == REMAINS)
		ptrc_doctor_problem(d, "events", path, NULL,
				    "has no event of a program in what is left");
	else
		ptrc_doctor_problem(
			d, "events", path,
			no_events.opened_types ? NULL
					       : "see whether the program has the library: "
						 "ptrace-doctor -- COMMAND",
			"has no event of a program: %s", ptrc_no_events_reason(&no_events, reason));
}

/* Reports what the log has of the event that the user misses (--event). If the log is incomplete, the lack of this
 * event is a note, not a problem. */
static void check_event(struct ptrc_doctor *d, const char *path, const struct log_seen *seen,
			const struct ptrc_nearest *nearest, enum extent extent,
			unsigned long refused)
{
	enum ptrc_doctor_status absence = extent == WHOLE ? PTRC_DOCTOR_PROBLEM : PTRC_DOCTOR_NOTE;
	const char *in_what = extent == SO_FAR	  ? " in what has been written so far"
			      : extent == REMAINS ? " in what is left"
						  : "";
	char proposal[900];

	if (seen->wanted)
		ptrc_doctor_ok(d, "event", path, "%s happened %llu time%s%s", d->event,
			       (unsigned long long)seen->wanted, seen->wanted == 1 ? "" : "s",
			       seen->is_cut_short ? " at least" : in_what);
	else if (refused)
		ptrc_doctor_note(d, "event", path, NULL,
				 "no event is called %s%s; it may be among the at least %lu "
				 "names that got no type",
				 d->event, in_what, refused);
	else if (!seen->wanted_types)
		ptrc_doctor_say(d, absence, "event", path, NULL,
				"no program in it has opened an event %s%s%s", d->event, in_what,
				ptrc_nearest_text(nearest, proposal, sizeof(proposal)));
	else if (seen->is_filtered)
		ptrc_doctor_problem(d, "filtered", path, "trace with another filter: ptrace-filter",
				    "the trace filtered %s out", d->event);
	else if (!seen->is_cut_short && extent == WHOLE)
		ptrc_doctor_problem(d, "event", path, NULL,
				    "%s was opened, but no event of it was recorded: none happened "
				    "while it was traced, or the trace left it out (--only, "
				    "--exclude)",
				    d->event);
	else
		ptrc_doctor_note(d, "event", path, NULL,
				 "%s was opened, but there is no event of it%s", d->event,
				 seen->is_cut_short ? " in what was read" : in_what);
}

static void check_contents(struct ptrc_doctor *d, struct ptrc_reader *r)
{
	struct log_seen seen = {0};
	struct ptrc_nearest nearest = {0};
	enum extent extent = r->is_growing ? SO_FAR : WHOLE;
	struct ptrc_losses l;

	find_events(d, r, &seen, &nearest);
	read_events(r, &seen);
	ptrc_reader_losses(r, !r->error && !seen.is_cut_short, &l);
	check_losses(d, r->path, &l, r->status.posix_log_full_status == POSIX_TRACE_FULL,
		     r->attributes.log_full_policy == POSIX_TRACE_LOOP);
	if (!r->is_growing && ptrc_losses_is_any(&l))
		extent = REMAINS;
	check_events(d, r->path, r->trace, &seen, extent);
	if (d->event)
		check_event(d, r->path, &seen, &nearest, extent, l.refused_names);
}

static bool is_finished(const struct posix_trace_status_info *status)
{
	return status->posix_stream_status == POSIX_TRACE_SUSPENDED &&
	       !status->posix_stream_flush_error;
}

void ptrc_doctor_log(struct ptrc_doctor *d, const char *path)
{
	PTRC_SCOPED_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_written;
	struct ptrc_reader reader;
	struct ptrc_cli_reason why;
	struct stat st;
	int error;

	/* The first file of a rotated log may have been deleted, but the later files of the log can be read. */
	if (fd < 0 && errno == ENOENT && !ptrc_reader_open_log(&reader, path)) {
		reader.is_growing = examine_writer(d, path);
		check_contents(d, &reader);
		ptrc_reader_close(&reader);
		return;
	}
	if (fd < 0 || fstat(fd, &st)) {
		ptrc_doctor_problem(d, "log", path, NULL, "%s", strerror(errno));
		return;
	}
	if (!S_ISREG(st.st_mode)) {
		ptrc_doctor_problem(d, "log", path, NULL,
				    "is not a regular file, so it cannot be examined as a log");
		return;
	}
	/* Returns early if the file is not a log: then neither the disk nor a process that writes it matters. */
	if (st.st_size && !ptrc_reader_is_log(fd)) {
		ptrc_reader_why_no_log(fd, &why);
		ptrc_doctor_problem(d, "log", path, NULL, "%s", why.text);
		return;
	}
	if (access(path, W_OK))
		ptrc_doctor_note(d, "log", path, NULL, "you may not write it: %s", strerror(errno));
	is_written = examine_writer(d, path);
	error = ptrc_reader_open_log(&reader, path);
	/* A finished log needs no more space on the disk. */
	if (!is_written && (error || !is_finished(&reader.status)))
		ptrc_doctor_disk(d, path);
	if (error) {
		if (error == EPROTO)
			ptrc_reader_why_no_version(path, &why);
		else
			ptrc_reader_why_no_log(fd, &why);
		ptrc_doctor_problem(d, "log", path, NULL, "%s",
				    !st.st_size ? "is empty: nothing was written to it"
				    : error == EINVAL || error == EPROTO ? why.text
									 : strerror(error));
	} else {
		reader.is_growing = is_written;
		check_contents(d, &reader);
		ptrc_reader_close(&reader);
	}
}
