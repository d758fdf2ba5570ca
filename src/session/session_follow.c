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
	/* The size of a socket's buffer that is requested. The kernel usually grants less. */
	SOCKET_SIZE = 4 << 20,
	/* For how many nanoseconds a call of ptrc_follow_read() reads events, for all followers
	 * together, before the controller does other work. */
	READ_NS = 10000000,
	/* The least milliseconds between two reports of missed events to a follower. Counting the
	 * missed events is expensive. */
	COUNT_MS = 100,
	/* At the end of the session: the milliseconds after which a follower whose socket is full,
	 * and which takes no bytes, is given up. */
	END_MS = 500,
	/* At the end of the session: the longest wait for all followers together, in milliseconds. */
	END_ALL_MS = 5000,
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

/* Counts the events that were lost in the stream, and those that were written to the log. The latter include
 * events that a log with the policy loop has dropped again. Both numbers are 0 when the stream is gone. */
static void count(const struct ptrc_follow *f, uint64_t *lost, uint64_t *written)
{
	struct ptrc_counts counts;

	if (ptrc_trace_counts(f->trace, &counts))
		counts = (struct ptrc_counts){0};
	*lost = counts.pt_lost_events;
	*written = counts.pt_log_events + counts.pt_log_lost_events;
}

int ptrc_follow_add(struct ptrc_follow *f, int fd, bool is_snapshot,
		    const struct ptrc_session_state *state)
{
	const int size = SOCKET_SIZE;
	struct ptrc_follower *to;
	uint64_t lost_before;
	int error;

	if (f->count == PTRC_FOLLOWERS_MAX)
		return EMFILE;
	to = calloc(1, sizeof(*to));
	if (to)
		count(f, &lost_before, &to->counts.written_before);
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
	count(f, &to->counts.lost_before, &to->counts.written_before);
	if (!is_snapshot)
		to->counts.unobserved_before = state->counts.pt_unobserved_events;
	/* For a snapshot, uses the number of lost events from before the cursor was opened: one that was lost
	 * meanwhile is in the snapshot, or the cursor counts it as missed. */
	if (is_snapshot)
		to->counts.lost_before = lost_before;
	to->end = (struct ptrc_follow_end){.status = state->status, .counts = state->counts};
	f->followers[f->count++] = to;
	return 0;
}

size_t ptrc_follow_poll(const struct ptrc_follow *f, struct pollfd *p)
{
	for (size_t i = 0; i < f->count; i++)
		p[i] = (struct pollfd){
			.fd = f->followers[i]->fd,
			/* A follower sends nothing more, so POLLIN means that it has closed the connection. */
			.events = f->followers[i]->pending ? POLLIN | POLLOUT : POLLIN,
		};
	return f->count;
}

/* ---- sending ---- */

/* Sends a message. Returns false if the socket is full or the follower has left. */
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

/* Sends bytes of .pending, as many as the socket has room for. */
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

/* Sends a part (some packets of the follower's log), or keeps it until the socket has room. If there is not enough
 * memory for it, sends nothing more to the follower, because a log with a gap cannot be read. */
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

/* ---- missed events ---- */

/* Sends a STATUS packet: the state of the session, with the number of events that the follower has missed in place
 * of the session's losses. Its log overrun says that events may be missing among those up to the next STATUS packet. */
static void send_status(struct ptrc_follower *to, const struct ptrc_follow_end *session,
			bool is_end)
{
	struct posix_trace_status_info status = session->status;
	struct ptrc_counts counts = session->counts;
	struct ptrc_part part;

	counts.pt_lost_events = to->counts.lost + to->cleared_lost;
	counts.pt_log_lost_events = to->counts.flushed + to->cleared_flushed;
	if (counts.pt_unobserved_events >= to->counts.unobserved_before)
		counts.pt_unobserved_events -= to->counts.unobserved_before;
	status.posix_stream_overrun_status =
		counts.pt_lost_events ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	status.posix_log_overrun_status =
		to->is_lacking ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	if (session->error)
		status.posix_stream_flush_error = session->error;
	if (ptrc_cursor_end_part(to->cursor, &status, &counts, is_end, &part))
		to->is_incomplete = true;
	else
		send_part(to, &part);
}

/* Counts the events that the follower has missed. Returns whether the number has changed. */
static bool count_missed(const struct ptrc_follow *f, struct ptrc_follower *to)
{
	struct ptrc_follow_counts *c = &to->counts;
	struct ptrc_follow_counts before = *c;
	uint64_t lost, written;
	unsigned long missed;

	count(f, &lost, &written);
	to->is_behind = false;
	if (posixtrace_cursor_get_missed(to->cursor, &missed))
		return false;
	lost = lost > c->lost_before ? lost - c->lost_before : 0;
	c->lost = missed < lost || !f->has_log ? missed : lost;
	c->flushed = missed - c->lost;
	return c->lost != before.lost || c->flushed != before.flushed;
}

/* Whether the log has got more events than .taken counts, so that some were flushed before the follower got them.
 * Adds these to .taken, so each is found once. They may be found late, because .taken also counts events that were
 * not flushed yet. */
static bool is_overtaken(const struct ptrc_follow *f, struct ptrc_follower *to)
{
	uint64_t lost, written;

	count(f, &lost, &written);
	if (written <= to->counts.written_before + to->counts.taken)
		return false;
	to->counts.taken = written - to->counts.written_before;
	return true;
}

static void send_missed(const struct ptrc_follow *f, struct ptrc_follower *to)
{
	ptrc_trace_counts(f->trace, &to->end.counts);
	send_status(to, &to->end, false);
}

static void report_missed(struct ptrc_follow *f, struct ptrc_follower *to)
{
	int64_t now = ptrc_now_ns();

	if (now - to->counted_ns < COUNT_MS * PTRC_NS_PER_MS)
		return;
	to->counted_ns = now;
	if ((is_overtaken(f, to) || to->is_behind) && count_missed(f, to))
		send_missed(f, to);
}

/* ---- reading the stream ---- */

/* Reads some events and sends them. Returns whether there may be more events. */
static bool send_events(struct ptrc_follower *to)
{
	struct ptrc_part part;

	if (ptrc_cursor_get_part(to->cursor, &part)) {
		to->is_incomplete = true;
		return false;
	}
	to->is_behind |= part.pt_has_gap || part.pt_may_lack;
	to->is_lacking = part.pt_may_lack && !to->is_snapshot;
	to->counts.taken += part.pt_events;
	send_part(to, &part);
	return part.pt_is_more;
}

void ptrc_follow_greet(struct ptrc_follow *f)
{
	struct ptrc_follower *to = f->followers[f->count - 1];

	send_events(to);
	/* The follower reads this packet before it takes the events of the first part. */
	if (!to->is_snapshot && !to->is_incomplete)
		send_status(to, &to->end, false);
}

static void finish_snapshot(struct ptrc_follow *f, struct ptrc_follower *to)
{
	count_missed(f, to);
	to->counts.lost += to->counts.lost_before;
	if (!to->is_incomplete)
		send_status(to, &to->end, true);
	to->is_finished = true;
}

static bool has_room(const struct ptrc_follower *to)
{
	return !to->pending && !to->is_gone && !to->is_incomplete;
}

static bool read_for(struct ptrc_follow *f, struct ptrc_follower *to, int64_t limit_ns)
{
	int64_t since = ptrc_now_ns();
	bool is_more = true;

	/* Tries to send even without POLLOUT, which poll() reports only when the socket is nearly empty. */
	unblock(to);
	if (to->is_finished)
		return false;
	/* Reports missed events first: after sending events, the socket of a slow follower is full. */
	if (!to->is_snapshot && has_room(to))
		report_missed(f, to);
	while (is_more && has_room(to) && ptrc_now_ns() - since < limit_ns)
		is_more = send_events(to);
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

void ptrc_follow_clear(struct ptrc_follow *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct ptrc_follower *to = f->followers[i];

		if (count_missed(f, to) && !to->is_snapshot && has_room(to))
			send_missed(f, to);
	}
}

void ptrc_follow_cleared(struct ptrc_follow *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct ptrc_follower *to = f->followers[i];

		to->cleared_lost += to->counts.lost;
		to->cleared_flushed += to->counts.flushed;
		to->counts = (struct ptrc_follow_counts){0};
	}
}

/* ---- the end of the session ---- */

static bool has_event(struct ptrc_follower *to)
{
	struct posix_trace_event_info info;
	int unavailable = 1;
	size_t size;

	return !posixtrace_cursor_trygetnext_event(to->cursor, &info, NULL, 0, &size,
						   &unavailable) &&
	       !unavailable;
}

static bool is_any_at_work(const struct ptrc_follow *f, int64_t until_ns)
{
	int64_t now = ptrc_now_ns();

	for (size_t i = 0; i < f->count && now < until_ns; i++)
		if (f->followers[i]->pending &&
		    now - f->followers[i]->progress_ns < END_MS * PTRC_NS_PER_MS)
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
	int64_t until = now + END_ALL_MS * PTRC_NS_PER_MS;

	/* For a follower that was idle until now, END_MS is measured from now. */
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
		/* If the cursor has no more events, a follower whose socket is still full lacks only the bytes in
		 * .pending. ptrc_follow_end() tries to send them. */
		if (to->pending)
			to->is_incomplete |= has_event(to);
	}
}

void ptrc_follow_end(struct ptrc_follow *f, const struct ptrc_follow_end *end)
{
	while (f->count) {
		struct ptrc_follower *to = f->followers[f->count - 1];

		unblock(to);
		/* END is sent only to a follower that got everything before it. A log without END shows its
		 * reader that events are missing. */
		if (has_room(to) && !to->is_snapshot)
			send_status(to, end, true);
		let_go(f, f->count - 1);
	}
}
