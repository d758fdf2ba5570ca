/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/snapshots.h"

#include <errno.h>
#include <fcntl.h>
#include <posixtrace-control.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/model/glob.h"
#include "src/base/clock.h"
#include "src/base/message.h"
#include "src/base/output.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

enum {
	/* The largest number in the name of a snapshot. It is far above the number of snapshots of one session, because
	 * numbers that files of earlier sessions have are not used again. */
	NUMBER_MAX = 9999,
	/* For how long events are read before the controller does other work. */
	READ_NS = 5000000,
};

struct ptrc_snapshots {
	const struct ptrc_snapshots_plan *plan;
	trace_id_t trace;
	const char *base;
	bool is_unsynced;
	/* The cursor that looks for events that make snapshots; NULL after the end. */
	struct posixtrace_cursor *watch;
	/* The event types whose events make snapshots, and all types whose names are not known yet; the
	 * latter start at next_id. */
	trace_event_set_t wanted;
	trace_event_id_t next_id;
	/* For each pattern, whether an event type matches it. */
	bool *is_matched;
	/* An event has come that makes a snapshot, which has not been started yet. */
	bool is_pending;
	/* The earliest time at which the next snapshot may start. */
	int64_t next_ns;
	/* The number in the name of the next file. */
	unsigned int number;
	/* The snapshot that is being made, or the last one. */
	struct ptrc_snapshot snapshot;
	struct posixtrace_cursor *cursor;
	uint64_t lost_before;
	struct posix_trace_status_info status;
	struct ptrc_counts counts;
	struct ptrc_snapshots_state state;
};

/* ---- event types ---- */

static bool matches(struct ptrc_snapshots *s, const char *name)
{
	bool is_match = false;

	for (size_t i = 0; i < s->plan->glob_count; i++)
		if (ptrc_glob_matches(s->plan->globs[i], name))
			is_match = s->is_matched[i] = true;
	return is_match;
}

static void learn_types(struct ptrc_snapshots *s)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t next = s->next_id;
	int unavailable = 0;
	trace_event_id_t id;

	posix_trace_eventtypelist_rewind(s->trace);
	while (!posix_trace_eventtypelist_getnext_id(s->trace, &id, &unavailable) && !unavailable) {
		if (id < s->next_id)
			continue;
		next = id + 1;
		if (posix_trace_eventid_get_name(s->trace, id, name) || !matches(s, name))
			posix_trace_eventset_del(id, &s->wanted);
	}
	s->next_id = next;
	posixtrace_cursor_select(s->watch, &s->wanted);
}

static bool makes_one(struct ptrc_snapshots *s, trace_event_id_t id)
{
	int is_member = 0;

	if (id < POSIX_TRACE_UNNAMED_USEREVENT)
		return false;
	if (id >= s->next_id)
		learn_types(s);
	return id < s->next_id && !posix_trace_eventset_ismember(id, &s->wanted, &is_member) &&
	       is_member;
}

/* ---- watching ---- */

int ptrc_snapshots_begin(struct ptrc_snapshots **snapshots, const struct ptrc_snapshots_plan *plan,
			 trace_id_t trace, const char *base, bool is_unsynced)
{
	struct ptrc_snapshots *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return ENOMEM;
	*s = (struct ptrc_snapshots){
		.plan = plan,
		.trace = trace,
		.base = base,
		.is_unsynced = is_unsynced,
		.next_id = POSIX_TRACE_UNNAMED_USEREVENT,
		.number = 1,
		.state.max = plan->max,
	};
	s->is_matched = calloc(plan->glob_count, sizeof(*s->is_matched));
	error = s->is_matched ? posixtrace_cursor_open(trace, 0, &s->watch) : ENOMEM;
	if (error) {
		free(s->is_matched);
		free(s);
		return error;
	}
	posix_trace_eventset_fill(&s->wanted, POSIX_TRACE_ALL_EVENTS);
	for (trace_event_id_t id = 1; id < POSIX_TRACE_UNNAMED_USEREVENT; id++)
		posix_trace_eventset_del(id, &s->wanted);
	learn_types(s);
	*snapshots = s;
	return 0;
}

int ptrc_snapshots_wait_ms(const struct ptrc_snapshots *s)
{
	return s->watch ? PTRC_SNAPSHOTS_LOOK_MS : -1;
}

void ptrc_snapshots_end(struct ptrc_snapshots *s)
{
	unsigned long missed;

	if (s->watch && !posixtrace_cursor_get_missed(s->watch, &missed))
		s->state.unseen_events = missed;
	posixtrace_cursor_close(s->watch);
	s->watch = NULL;
}

/* Skips the events that the next snapshot will contain, because they need no snapshot of their own. */
static void pass_by(struct ptrc_snapshots *s)
{
	struct posix_trace_event_info info;
	trace_event_set_t nothing;
	int unavailable = 0;
	size_t size;

	/* With no type selected, only the OVERFLOW and the RESUME of a gap can come. */
	posix_trace_eventset_empty(&nothing);
	posixtrace_cursor_select(s->watch, &nothing);
	for (int i = 0; i < 4 && !unavailable; i++)
		if (posixtrace_cursor_trygetnext_event(s->watch, &info, NULL, 0, &size,
						       &unavailable))
			break;
	posixtrace_cursor_select(s->watch, &s->wanted);
}

/* Looks for an event that makes a snapshot. If is_last, reads all events, without a time limit. */
static void look(struct ptrc_snapshots *s, bool is_last)
{
	int64_t until = ptrc_now_ns() + READ_NS;
	struct posix_trace_event_info info;
	int unavailable = 0;
	size_t size;

	if (s->watch && s->is_pending)
		pass_by(s);
	while (s->watch && !s->is_pending && (is_last || ptrc_now_ns() < until)) {
		if (posixtrace_cursor_trygetnext_event(s->watch, &info, NULL, 0, &size,
						       &unavailable) ||
		    unavailable)
			return;
		if (!makes_one(s, info.posix_event_id))
			continue;
		s->is_pending = true;
		s->snapshot = (struct ptrc_snapshot){.time = info.posix_timestamp};
		posix_trace_eventid_get_name(s->trace, info.posix_event_id, s->snapshot.event);
	}
}

bool ptrc_snapshots_is_due(struct ptrc_snapshots *s, bool is_last,
			   const struct ptrc_snapshot **refused)
{
	*refused = NULL;
	look(s, is_last);
	if (!s->is_pending)
		return false;
	if (s->state.written + s->state.failed < s->plan->max)
		return is_last || ptrc_now_ns() >= s->next_ns;
	s->is_pending = false;
	s->state.is_used_up = s->snapshot.is_too_many = true;
	ptrc_snapshots_end(s);
	*refused = &s->snapshot;
	return false;
}

/* ---- writing ---- */

void ptrc_snapshots_prepare(struct ptrc_snapshots *s, const struct posix_trace_status_info *status,
			    const struct ptrc_counts *counts)
{
	struct ptrc_counts now;

	pass_by(s);
	s->is_pending = false;
	s->next_ns = ptrc_now_ns() + PTRC_SNAPSHOTS_PAUSE_MS * PTRC_NS_PER_MS;
	s->status = *status;
	s->counts = *counts;
	s->lost_before = ptrc_trace_counts(s->trace, &now) ? 0 : now.pt_lost_events;
	s->snapshot.error =
		posixtrace_cursor_open(s->trace, POSIXTRACE_CURSOR_SNAPSHOT, &s->cursor);
}

/* Writes the end of the log, which says how many events are missing. */
static int write_end(struct ptrc_snapshots *s, int fd)
{
	unsigned long missed = 0;
	struct ptrc_part part;
	int error = posixtrace_cursor_get_missed(s->cursor, &missed);

	s->counts.pt_lost_events = s->lost_before + missed;
	s->counts.pt_log_lost_events = 0;
	s->status.posix_stream_overrun_status =
		s->counts.pt_lost_events ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	s->status.posix_log_overrun_status = POSIX_TRACE_NO_OVERRUN;
	s->status.posix_stream_flush_error = 0;
	if (!error)
		error = ptrc_cursor_end_part(s->cursor, &s->status, &s->counts, 1, &part);
	return error ? error : ptrc_write_all(fd, part.pt_bytes, part.pt_length);
}

static int write_log(struct ptrc_snapshots *s, int fd)
{
	struct ptrc_part part = {.pt_is_more = 1};
	int error = 0;

	while (!error && part.pt_is_more) {
		error = ptrc_cursor_get_part(s->cursor, &part);
		if (!error)
			error = ptrc_write_all(fd, part.pt_bytes, part.pt_length);
		if (!error)
			s->snapshot.event_count += part.pt_events;
	}
	if (!error)
		error = write_end(s, fd);
	if (!error && !s->is_unsynced && fdatasync(fd) && errno != EINVAL && errno != EROFS)
		error = errno;
	return error;
}

static int make_path(const struct ptrc_snapshots *s, char path[PATH_MAX], const char *end)
{
	int n = snprintf(path, PATH_MAX, "%s.snapshot-%03u%s", s->base, s->number, end);

	return n < 0 || n >= PATH_MAX ? ENAMETOOLONG : 0;
}

/* Opens a new partial file. Its number is one that no complete file has. */
static int open_file(struct ptrc_snapshots *s, char partial[PATH_MAX], int *fd)
{
	for (; s->number <= NUMBER_MAX; s->number++) {
		int error = make_path(s, s->snapshot.path, "");

		if (!error)
			error = make_path(s, partial, PTRC_SNAPSHOTS_PARTIAL);
		if (error)
			return error;
		if (!faccessat(AT_FDCWD, s->snapshot.path, F_OK, AT_SYMLINK_NOFOLLOW))
			continue;
		/* Only the user may read it, because a log contains addresses and data of the program. */
		*fd = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (*fd >= 0)
			return 0;
		if (errno != EEXIST)
			return errno;
	}
	return EEXIST;
}

/* Renames the file, but does not replace another file. */
static int rename_new(const char *from, const char *to)
{
	if (!syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	/* Some file systems and old kernels do not support RENAME_NOREPLACE. */
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	if (link(from, to))
		return errno;
	unlink(from);
	return 0;
}

/* Gives the file its name. If another file with that name was made meanwhile, uses the next free number. */
static int name_file(struct ptrc_snapshots *s, const char *partial)
{
	int error = rename_new(partial, s->snapshot.path);

	while (error == EEXIST && ++s->number <= NUMBER_MAX) {
		error = make_path(s, s->snapshot.path, "");
		if (!error)
			error = rename_new(partial, s->snapshot.path);
	}
	return error;
}

int ptrc_snapshots_write(struct ptrc_snapshots *s)
{
	char partial[PATH_MAX];
	int error = s->snapshot.error;
	int fd = -1;

	if (!error)
		error = open_file(s, partial, &fd);
	if (error)
		return error;
	error = write_log(s, fd);
	close(fd);
	if (!error)
		error = name_file(s, partial);
	if (error)
		unlink(partial);
	else
		s->number++;
	return error;
}

const struct ptrc_snapshot *ptrc_snapshots_finish(struct ptrc_snapshots *s, int error)
{
	struct ptrc_snapshots_state *state = &s->state;

	posixtrace_cursor_close(s->cursor);
	s->cursor = NULL;
	s->snapshot.error = error;
	if (error) {
		state->failed++;
		state->error = error;
	} else {
		state->written++;
		memcpy(state->path, s->snapshot.path, sizeof(state->path));
	}
	memcpy(state->event, s->snapshot.event, sizeof(state->event));
	state->time_s = s->snapshot.time.tv_sec;
	state->time_ns = s->snapshot.time.tv_nsec;
	return &s->snapshot;
}

/* ---- state and messages ---- */

void ptrc_snapshots_gather(const struct ptrc_snapshots *s, struct ptrc_snapshots_state *state)
{
	*state = s->state;
}

const char *ptrc_snapshots_pattern(struct ptrc_snapshots *s, size_t i, bool *has_matched)
{
	if (!s || i >= s->plan->glob_count)
		return NULL;
	if (!i)
		learn_types(s);
	*has_matched = s->is_matched[i];
	return s->plan->globs[i];
}

void ptrc_snapshots_tell_unmatched(const char *name, const char *glob)
{
	ptrc_cli_message(name, "no event has a name that matches --snapshot-on=%s", glob);
}

void ptrc_snapshots_tell_unseen(const char *name, uint64_t events)
{
	ptrc_cli_message(name,
			 "%llu event%s overwritten before they could be compared with "
			 "--snapshot-on; a larger --stream-min-size helps",
			 (unsigned long long)events, events == 1 ? " was" : "s were");
}

void ptrc_snapshots_put_unmatched(struct ptrc_json *j, const char *const *globs, size_t count)
{
	ptrc_json_open(j, "unmatched", '[');
	for (size_t i = 0; i < count; i++) {
		ptrc_json_open(j, NULL, '{');
		ptrc_json_bytes(j, "glob", globs[i], strlen(globs[i]));
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}
