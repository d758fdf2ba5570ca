/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/session_follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/clock.h"

enum {
	/* How much a socket is asked to hold; the kernel usually grants less. */
	SOCKET_SIZE = 4 << 20,
	/* How long events are read, for all followers, before the controller looks at its other
	 * tasks. */
	READ_NS = 10000000,
	/* How often a follower is told at most what it has missed: counting takes a while. */
	COUNT_MS = 1000,
};

/* ---- followers ---- */

static void let_go(struct ptrc_follow *f, size_t i)
{
	struct ptrc_follower *to = f->followers[i];

	close(to->fd);
	posixtrace_cursor_close(to->cursor);
	free(to->pending);
	free(to);
	f->count--;
	memmove(f->followers + i, f->followers + i + 1, (f->count - i) * sizeof(f->followers[0]));
}

static uint64_t count_lost(const struct ptrc_follow *f)
{
	struct ptrc_counts counts;

	return ptrc_trace_counts(f->trace, &counts) ? 0 : counts.pt_lost_events;
}

/* The events that the log has got, also those that it has lost since. */
static uint64_t count_written(const struct ptrc_follow *f)
{
	struct ptrc_counts counts;

	return ptrc_trace_counts(f->trace, &counts)
		       ? 0
		       : counts.pt_log_events + counts.pt_log_lost_events;
}

int ptrc_follow_add(struct ptrc_follow *f, int fd, bool is_snapshot,
		    const struct ptrc_session_state *state)
{
	const int size = SOCKET_SIZE;
	struct ptrc_follower *to;
	int error;

	/* What is lost while a snapshot is made is either in it or counted as missed. */
	uint64_t lost_before = count_lost(f);

	if (f->count == PTRC_FOLLOWERS_MAX)
		return EMFILE;
	to = calloc(1, sizeof(*to));
	error = to ? posixtrace_cursor_open(f->trace, is_snapshot ? POSIXTRACE_CURSOR_SNAPSHOT : 0,
					    &to->cursor)
		   : ENOMEM;
	if (error) {
		free(to);
		return error;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	to->fd = fd;
	to->is_snapshot = is_snapshot;
	to->progress_ns = ptrc_now_ns();
	to->lost_before = is_snapshot ? lost_before : count_lost(f);
	to->written_before = count_written(f);
	to->end = (struct ptrc_follow_end){.status = state->status, .counts = state->counts};
	f->followers[f->count++] = to;
	return 0;
}

size_t ptrc_follow_poll(const struct ptrc_follow *f, struct pollfd *p)
{
	for (size_t i = 0; i < f->count; i++)
		p[i] = (struct pollfd){
			.fd = f->followers[i]->fd,
			/* A follower sends nothing after its request: when its socket gets
			 * readable, it has closed it. */
			.events = f->followers[i]->pending ? POLLIN | POLLOUT : POLLIN,
		};
	return f->count;
}

/* ---- messages ---- */

/* Sends a message. Returns false if the socket has no room or the follower is gone. */
static bool put(struct ptrc_follower *to, const void *message, size_t size)
{
	ssize_t n;

	do
		n = send(to->fd, message, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	to->is_gone |= n < 0 && errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM;
	if (n >= 0)
		to->progress_ns = ptrc_now_ns();
	return n >= 0;
}

/* Sends a follower what waits for room. */
static void unblock(struct ptrc_follower *to)
{
	while (to->pending) {
		size_t left = to->pending_size - to->sent;
		size_t size = left < PTRC_SESSION_PIECE_MAX ? left : PTRC_SESSION_PIECE_MAX;

		if (!put(to, to->pending + to->sent, size))
			return;
		to->sent += size;
		if (size < left)
			continue;
		free(to->pending);
		to->pending = NULL;
		to->pending_size = to->sent = 0;
	}
}

/* Sends a part of the log, or keeps it until the follower takes it. Once a part could not be kept the follower is
 * sent nothing more, because what it received would not be a log. */
static void send_part(struct ptrc_follower *to, const struct ptrc_part *part)
{
	unsigned char *all;

	if (!part->pt_length || to->is_incomplete)
		return;
	all = realloc(to->pending, to->pending_size + part->pt_length);
	if (!all) {
		to->is_behind = to->is_incomplete = true;
		return;
	}
	memcpy(all + to->pending_size, part->pt_bytes, part->pt_length);
	to->pending = all;
	to->pending_size += part->pt_length;
	unblock(to);
	to->is_behind |= to->pending && !to->is_gone;
}

void ptrc_follow_serve(struct ptrc_follow *f, const struct pollfd *p, size_t count)
{
	for (size_t i = count; i-- > 0;) {
		if (p[i].revents & ~POLLOUT)
			let_go(f, i);
		else if (p[i].revents)
			unblock(f->followers[i]);
	}
}

/* ---- what they have missed ---- */

/* Sends a STATUS: how the session is, and what the follower has missed. */
static void send_status(struct ptrc_follower *to, const struct ptrc_follow_end *session,
			bool is_end)
{
	struct posix_trace_status_info status = session->status;
	struct ptrc_counts counts = session->counts;
	struct ptrc_part part;

	counts.pt_lost_events = to->missed.lost;
	counts.pt_log_lost_events = to->missed.flushed;
	status.posix_stream_overrun_status =
		to->missed.lost ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	status.posix_log_overrun_status =
		to->missed.flushed ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	if (session->error)
		status.posix_stream_flush_error = session->error;
	if (ptrc_cursor_end_part(to->cursor, &status, &counts, is_end, &part))
		to->is_incomplete = true;
	else
		send_part(to, &part);
}

/* Counts what the follower has missed. Returns whether that is more than it was told. */
static bool count_missed(const struct ptrc_follow *f, struct ptrc_follower *to)
{
	struct ptrc_follow_missed *m = &to->missed;
	struct ptrc_follow_missed before = *m;
	uint64_t lost = count_lost(f);
	unsigned long missed;

	to->is_behind = false;
	if (posixtrace_cursor_get_missed(to->cursor, &missed))
		return false;
	lost = lost > to->lost_before ? lost - to->lost_before : 0;
	m->lost = missed < lost || !f->has_log ? missed : lost;
	m->flushed = missed - m->lost;
	return m->lost != before.lost || m->flushed != before.flushed;
}

/* Whether events were flushed that the follower did not get. Of those that it got some are not
 * flushed yet, so this may come late. What is noticed once is not noticed again. */
static bool is_overtaken(const struct ptrc_follow *f, struct ptrc_follower *to)
{
	uint64_t written = count_written(f);

	if (written <= to->written_before + to->taken)
		return false;
	to->taken = written - to->written_before;
	return true;
}

/* Tells the follower what it has missed, if it may be anything new. */
static void tell_missed(struct ptrc_follow *f, struct ptrc_follower *to)
{
	int64_t now = ptrc_now_ns();

	if (now - to->counted_ns < COUNT_MS * PTRC_NS_PER_MS)
		return;
	to->counted_ns = now;
	if ((!is_overtaken(f, to) && !to->is_behind) || !count_missed(f, to))
		return;
	ptrc_trace_counts(f->trace, &to->end.counts);
	send_status(to, &to->end, false);
}

/* ---- reading ---- */

/* Reads some events and sends them. Returns whether there may be more. */
static bool send_events(struct ptrc_follower *to)
{
	struct ptrc_part part;

	if (ptrc_cursor_get_part(to->cursor, &part)) {
		to->is_incomplete = true;
		return false;
	}
	to->is_behind |= part.pt_has_gap;
	to->taken += part.pt_events;
	send_part(to, &part);
	return part.pt_is_more;
}

void ptrc_follow_greet(struct ptrc_follow *f)
{
	struct ptrc_follower *to = f->followers[f->count - 1];

	send_events(to);
	if (!to->is_snapshot && !to->is_incomplete)
		send_status(to, &to->end, false);
}

/* Ends a snapshot. */
static void finish_snapshot(struct ptrc_follow *f, struct ptrc_follower *to)
{
	count_missed(f, to);
	to->missed.lost += to->lost_before;
	if (!to->is_incomplete)
		send_status(to, &to->end, true);
	to->is_finished = true;
}

/* Whether the follower can be sent more. */
static bool has_room(const struct ptrc_follower *to)
{
	return !to->pending && !to->is_gone && !to->is_incomplete;
}

/* Reads for one follower. Returns whether there is more that it has room for. */
static bool read_for(struct ptrc_follow *f, struct ptrc_follower *to, int64_t limit_ns)
{
	int64_t since = ptrc_now_ns();
	bool is_more = true;

	/* poll() is not enough: a socket accepts messages until it is full, but counts as writable
	 * again only when it is nearly empty. */
	unblock(to);
	if (to->is_finished)
		return false;
	while (is_more && has_room(to) && ptrc_now_ns() - since < limit_ns)
		is_more = send_events(to);
	if (!to->is_snapshot && has_room(to))
		tell_missed(f, to);
	if (is_more || to->is_gone)
		return has_room(to);
	if (to->is_snapshot)
		finish_snapshot(f, to);
	return false;
}

bool ptrc_follow_read(struct ptrc_follow *f)
{
	bool is_more = false;

	for (size_t i = f->count; i-- > 0;) {
		struct ptrc_follower *to = f->followers[i];

		is_more |= read_for(f, to, READ_NS / (int64_t)f->count);
		if (to->is_gone || ((to->is_finished || to->is_incomplete) && !to->pending))
			let_go(f, i);
	}
	return is_more;
}

void ptrc_follow_cleared(struct ptrc_follow *f)
{
	for (size_t i = 0; i < f->count; i++) {
		f->followers[i]->lost_before = 0;
		f->followers[i]->written_before = 0;
		f->followers[i]->taken = 0;
		f->followers[i]->missed = (struct ptrc_follow_missed){0};
	}
}

/* ---- the end ---- */

/* Whether there is an event that was not sent. */
static bool has_event(struct ptrc_follower *to)
{
	struct posix_trace_event_info info;
	int unavailable = 1;
	size_t size;

	return !posixtrace_cursor_trygetnext_event(to->cursor, &info, NULL, 0, &size,
						   &unavailable) &&
	       !unavailable;
}

/* Whether a follower still has something to get, and takes it. */
static bool is_any_at_work(const struct ptrc_follow *f, int64_t until_ns)
{
	int64_t now = ptrc_now_ns();

	for (size_t i = 0; i < f->count && now < until_ns; i++)
		if (f->followers[i]->pending &&
		    now - f->followers[i]->progress_ns < PTRC_FOLLOW_END_MS * PTRC_NS_PER_MS)
			return true;
	return false;
}

static void wait_for_room(struct ptrc_follow *f)
{
	struct pollfd p[PTRC_FOLLOWERS_MAX];
	size_t count = ptrc_follow_poll(f, p);

	if (poll(p, count, PTRC_FOLLOW_READ_MS) > 0)
		ptrc_follow_serve(f, p, count);
}

void ptrc_follow_finish(struct ptrc_follow *f)
{
	int64_t now = ptrc_now_ns();
	int64_t until = now + PTRC_FOLLOW_END_ALL_MS * PTRC_NS_PER_MS;

	/* A follower may have had nothing to take for long. */
	for (size_t i = 0; i < f->count; i++)
		f->followers[i]->progress_ns = now;
	while (f->count) {
		bool is_more = ptrc_follow_read(f);

		if (is_any_at_work(f, until))
			wait_for_room(f);
		else if (!is_more)
			break;
	}
	for (size_t i = 0; i < f->count; i++) {
		struct ptrc_follower *to = f->followers[i];

		count_missed(f, to);
		/* Whoever was given up may lack no more than what waits for him. */
		if (to->pending)
			to->is_incomplete |= has_event(to);
	}
}

void ptrc_follow_end(struct ptrc_follow *f, const struct ptrc_follow_end *end)
{
	while (f->count) {
		struct ptrc_follower *to = f->followers[f->count - 1];

		unblock(to);
		/* END comes after everything else or not at all: a follower that gets
		 * no END knows that it missed something. */
		if (has_room(to) && !to->is_snapshot)
			send_status(to, end, true);
		let_go(f, f->count - 1);
	}
}
