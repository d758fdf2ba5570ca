/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/snapshots.h"

#include <errno.h>
#include <fcntl.h>
#include <posixtrace-control.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/output.h"
#include "src/session/watch.h"

enum {
	/* The largest number in the name of a snapshot. It is far above the number of snapshots of one session, because
	 * numbers that files of earlier sessions have are not used again. */
	NUMBER_MAX = 9999,
	/* For how many ns a look reads events before the controller does other work. */
	READ_NS = 5000000,
};

struct ptrc_snapshots {
	const struct ptrc_snapshots_plan *plan;
	trace_id_t trace;
	const char *base;
	bool is_unsynced;
	/* Finds the events and pairs that make snapshots. */
	struct ptrc_watch *watch;
	/* The session makes no more snapshots. */
	bool is_ended;
	/* An event that makes a snapshot has come, and the snapshot has not been started yet. */
	bool is_pending;
	/* The earliest monotonic time at which the next snapshot may start; 0 before the first one. */
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

/* ---- looking for events that make snapshots ---- */

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
		.number = 1,
		.state.max = plan->max,
	};
	error = ptrc_watch_open(&s->watch, trace, plan->texts, plan->count);
	if (error)
		free(s);
	else
		*snapshots = s;
	return error;
}

int ptrc_snapshots_wait_ms(const struct ptrc_snapshots *s)
{
	return s->is_ended ? -1 : PTRC_SNAPSHOTS_LOOK_MS;
}

void ptrc_snapshots_end(struct ptrc_snapshots *s)
{
	s->state.unseen_events = ptrc_watch_end(s->watch);
	s->is_ended = true;
}

/* Looks for an event that makes a snapshot. If is_last, reads all events, without a time limit. */
static void look(struct ptrc_snapshots *s, bool is_last)
{
	struct ptrc_watch_event found;

	/* While a snapshot is pending, new events need none of their own: the pending snapshot will have them. */
	if (s->is_pending)
		ptrc_watch_pass(s->watch);
	else if (ptrc_watch_look(s->watch, is_last ? INT64_MAX : ptrc_now_ns() + READ_NS, &found)) {
		s->is_pending = true;
		s->snapshot = (struct ptrc_snapshot){.time = found.time};
		memcpy(s->snapshot.event, found.name, sizeof(found.name));
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

/* ---- writing a snapshot ---- */

void ptrc_snapshots_prepare(struct ptrc_snapshots *s, const struct posix_trace_status_info *status,
			    const struct ptrc_counts *counts)
{
	struct ptrc_counts now;

	ptrc_watch_pass(s->watch);
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
	error = error ?: ptrc_cursor_end_part(s->cursor, &s->status, &s->counts, 1, &part);
	return error ?: ptrc_write_all(fd, part.pt_bytes, part.pt_length);
}

static int write_log(struct ptrc_snapshots *s, int fd)
{
	struct ptrc_part part = {.pt_is_more = 1};
	int error = 0;

	while (!error && part.pt_is_more) {
		error = ptrc_cursor_get_part(s->cursor, &part)
				?: ptrc_write_all(fd, part.pt_bytes, part.pt_length);
		if (!error)
			s->snapshot.event_count += part.pt_events;
	}
	error = error ?: write_end(s, fd);
	if (!error && !s->is_unsynced && fdatasync(fd) && errno != EINVAL && errno != EROFS)
		error = errno;
	return error;
}

static int make_path(const struct ptrc_snapshots *s, char path[PATH_MAX], const char *end)
{
	int n = snprintf(path, PATH_MAX, "%s.snapshot-%03u%s", s->base, s->number, end);

	return n < 0 || n >= PATH_MAX ? ENAMETOOLONG : 0;
}

/* Opens a new partial file, with a number that no complete file has. */
static int open_file(struct ptrc_snapshots *s, char partial[PATH_MAX], int *fd)
{
	for (; s->number <= NUMBER_MAX; s->number++) {
		int error = make_path(s, s->snapshot.path, "")
				    ?: make_path(s, partial, PTRC_SNAPSHOTS_PARTIAL);

		if (error)
			return error;
		if (!faccessat(AT_FDCWD, s->snapshot.path, F_OK, AT_SYMLINK_NOFOLLOW))
			continue;
		/* Only the user may read the file, because a log contains addresses and data of the program. */
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
	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	/* Some file systems and old kernels do not support RENAME_NOREPLACE. */
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	if (link(from, to))
		return errno;
	unlink(from);
	return 0;
}

/* Renames the complete file from `partial` to .snapshot.path. If another file has got that name meanwhile, uses
 * the next free number. */
static int name_file(struct ptrc_snapshots *s, const char *partial)
{
	int error = rename_new(partial, s->snapshot.path);

	while (error == EEXIST && ++s->number <= NUMBER_MAX)
		error = make_path(s, s->snapshot.path, "") ?: rename_new(partial, s->snapshot.path);
	return error;
}

int ptrc_snapshots_write(struct ptrc_snapshots *s)
{
	char partial[PATH_MAX];
	int fd = -1;
	int error = s->snapshot.error ?: open_file(s, partial, &fd);

	if (error)
		return error;
	error = write_log(s, fd);
	close(fd);
	error = error ?: name_file(s, partial);
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

void ptrc_snapshots_gather(const struct ptrc_snapshots *s, struct ptrc_snapshots_state *state)
{
	*state = s->state;
}

const char *ptrc_snapshots_pattern(struct ptrc_snapshots *s, size_t i,
				   enum ptrc_snapshot_lack *lack)
{
	if (!s || i >= s->plan->count)
		return NULL;
	if (!i)
		ptrc_watch_learn(s->watch);
	*lack = ptrc_watch_lack(s->watch, i);
	return s->plan->texts[i];
}
