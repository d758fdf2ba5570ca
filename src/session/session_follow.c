/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/session_follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/cli/clock.h"

enum {
	IDS = PTRC_READER_IDS,
	/* Enough for the data of every system event. */
	DATA_SIZE_MIN = 4096,
	/* How much a socket is asked to hold; the kernel usually grants less. */
	SOCKET_SIZE = 4 << 20,
	/* How long events are read, for all followers, before the controller looks at its other
	 * tasks. */
	READ_NS = 10000000,
	/* How often a follower is told at most what it has missed: counting takes a while. */
	COUNT_MS = 1000,
	MESSAGE_MAX = sizeof(struct ptrc_session_events) + PTRC_SESSION_EVENTS_MAX,
};

/* ---- followers ---- */

/* Frees the oldest message that waits for room. */
static void drop_pending(struct ptrc_follower *to)
{
	struct ptrc_follow_message *first = to->pending;

	to->pending = first->next;
	free(first);
}

static void free_buffers(struct ptrc_follow *f)
{
	free(f->batch);
	free(f->data);
	f->batch = NULL;
	f->data = NULL;
}

static void let_go(struct ptrc_follow *f, size_t i)
{
	struct ptrc_follower *to = f->followers[i];

	close(to->fd);
	posixtrace_cursor_close(to->cursor);
	while (to->pending)
		drop_pending(to);
	free(to);
	f->count--;
	memmove(f->followers + i, f->followers + i + 1, (f->count - i) * sizeof(f->followers[0]));
	if (!f->count)
		free_buffers(f);
}

static int make_buffers(struct ptrc_follow *f)
{
	trace_attr_t attr;
	size_t stream_size = 0;
	size_t size = 0;

	if (!posix_trace_get_attr(f->trace, &attr)) {
		posix_trace_attr_getmaxdatasize(&attr, &size);
		posix_trace_attr_getstreamsize(&attr, &stream_size);
	}
	/* The attribute may say more than the stream takes. */
	if (size > stream_size)
		size = stream_size;
	if (size < DATA_SIZE_MIN)
		size = DATA_SIZE_MIN;
	f->batch = malloc(MESSAGE_MAX);
	/* Memory that is not touched costs nothing. If the system refuses so much, smaller events
	 * can still be read whole. */
	while (!(f->data = malloc(size)) && size > DATA_SIZE_MIN)
		size /= 2;
	f->data_size = size;
	f->used = 0;
	if (f->batch && f->data)
		return 0;
	free_buffers(f);
	return ENOMEM;
}

static uint64_t count_lost(const struct ptrc_follow *f)
{
	struct posixtrace_counts counts;

	return posixtrace_get_counts(f->trace, &counts, sizeof(counts)) ? 0 : counts.pt_lost_events;
}

/* The events that the log has got, also those that it has lost since. */
static uint64_t count_written(const struct ptrc_follow *f)
{
	struct posixtrace_counts counts;

	return posixtrace_get_counts(f->trace, &counts, sizeof(counts))
		       ? 0
		       : counts.pt_log_events + counts.pt_log_lost_events;
}

int ptrc_follow_add(struct ptrc_follow *f, int fd, bool is_snapshot,
		    const struct ptrc_session_state *state)
{
	const int size = SOCKET_SIZE;
	struct ptrc_follower *to;
	int error;

	if (f->count == PTRC_FOLLOWERS_MAX)
		return EMFILE;
	if (!f->count && make_buffers(f))
		return ENOMEM;
	to = calloc(1, sizeof(*to));
	error = to ? posixtrace_cursor_open(f->trace, is_snapshot ? POSIXTRACE_CURSOR_SNAPSHOT : 0,
					    &to->cursor)
		   : ENOMEM;
	if (error) {
		free(to);
		if (!f->count)
			free_buffers(f);
		return error;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	to->fd = fd;
	to->is_snapshot = is_snapshot;
	to->progress_ns = ptrc_now_ns();
	to->lost_before = count_lost(f);
	to->written_before = count_written(f);
	to->end = (struct ptrc_session_end){
		.magic = PTRC_SESSION_MAGIC,
		.version = PTRC_SESSION_VERSION,
		.kind = PTRC_SESSION_END,
		.has_log = f->has_log,
		.status = state->status,
		.counts = state->counts,
	};
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

/* Sends a follower the messages that waited for room. */
static void unblock(struct ptrc_follower *to)
{
	while (to->pending && put(to, to->pending->bytes, to->pending->size))
		drop_pending(to);
}

/* Keeps a copy of the message until there is room for it. */
static bool keep(struct ptrc_follower *to, const void *message, size_t size)
{
	struct ptrc_follow_message *last = malloc(sizeof(*last) + size);

	if (!last)
		return false;
	if (!to->pending)
		to->pending_end = &to->pending;
	last->next = NULL;
	last->size = size;
	memcpy(last->bytes, message, size);
	*to->pending_end = last;
	to->pending_end = &last->next;
	return true;
}

static void send_message(struct ptrc_follower *to, const void *message, size_t size)
{
	if ((!to->pending && put(to, message, size)) || to->is_gone)
		return;
	to->is_behind = true;
	if (!keep(to, message, size))
		to->is_incomplete = true;
}

/* Sends the batch, and empties it. */
static void send_batch(struct ptrc_follow *f, struct ptrc_follower *to)
{
	const struct ptrc_session_events head = {
		.magic = PTRC_SESSION_MAGIC,
		.version = PTRC_SESSION_VERSION,
		.kind = PTRC_SESSION_EVENTS,
		.size = (uint32_t)f->used,
	};

	if (!f->used)
		return;
	memcpy(f->batch, &head, sizeof(head));
	send_message(to, f->batch, sizeof(head) + f->used);
	f->used = 0;
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

/* ---- records ---- */

/* Makes room for a record with so many bytes behind it, in a new message if necessary. */
static unsigned char *record(struct ptrc_follow *f, struct ptrc_follower *to,
			     enum ptrc_session_record_kind kind, trace_event_id_t id, size_t size)
{
	const struct ptrc_session_record r = {
		.kind = (uint16_t)kind,
		.id = (uint16_t)id,
		.size = (uint32_t)size,
	};
	size_t all = sizeof(r) + ptrc_session_padded(size);
	unsigned char *at;

	if (PTRC_SESSION_EVENTS_MAX - f->used < all)
		send_batch(f, to);
	at = f->batch + sizeof(struct ptrc_session_events) + f->used;
	memset(at + all - 8, 0, 8);
	memcpy(at, &r, sizeof(r));
	f->used += all;
	return at + sizeof(r);
}

static void add_name(struct ptrc_follow *f, struct ptrc_follower *to, trace_event_id_t id)
{
	char name[TRACE_EVENT_NAME_MAX + 1];

	if (id >= IDS || to->is_named[id] || posix_trace_eventid_get_name(f->trace, id, name))
		return;
	memcpy(record(f, to, PTRC_SESSION_RECORD_NAME, id, strlen(name)), name, strlen(name));
	to->is_named[id] = true;
}

static void add_event(struct ptrc_follow *f, struct ptrc_follower *to,
		      const struct posix_trace_event_info *info, size_t size)
{
	const struct ptrc_session_event event = {
		.time_s = info->posix_timestamp.tv_sec,
		.time_ns = info->posix_timestamp.tv_nsec,
		.address = (uint64_t)(uintptr_t)info->posix_prog_address,
		.thread = (uint64_t)info->posix_thread_id,
		.data_size = size,
		.pid = info->posix_pid,
		.tid = info->posix_tid,
		.truncation = info->posix_truncation_status,
	};
	/* An event that fits stays in one message. */
	const size_t most =
		PTRC_SESSION_EVENTS_MAX - sizeof(struct ptrc_session_record) - sizeof(event);
	size_t part = size < most ? size : most;
	unsigned char *at;

	add_name(f, to, info->posix_event_id);
	at = record(f, to, PTRC_SESSION_RECORD_EVENT, info->posix_event_id, sizeof(event) + part);
	memcpy(at, &event, sizeof(event));
	memcpy(at + sizeof(event), f->data, part);
	for (size_t done = part; done < size; done += part) {
		part = size - done < most ? size - done : most;
		at = record(f, to, PTRC_SESSION_RECORD_DATA, info->posix_event_id, part);
		memcpy(at, f->data + done, part);
	}
}

/* Counts what the follower has missed. Returns whether that is more than it was told. */
static bool count_missed(const struct ptrc_follow *f, struct ptrc_follower *to)
{
	struct ptrc_session_missed *m = &to->missed;
	struct ptrc_session_missed before = *m;
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
	memcpy(record(f, to, PTRC_SESSION_RECORD_MISSED, 0, sizeof(to->missed)), &to->missed,
	       sizeof(to->missed));
	send_batch(f, to);
}

/* ---- reading ---- */

/* Reads one event and puts it into the batch. Returns false if there was none. */
static bool take_event(struct ptrc_follow *f, struct ptrc_follower *to)
{
	struct posix_trace_event_info info;
	int unavailable = 1;
	size_t size;

	if (posixtrace_cursor_trygetnext_event(to->cursor, &info, f->data, f->data_size, &size,
					       &unavailable) ||
	    unavailable)
		return false;
	to->is_incomplete |= info.posix_truncation_status == POSIX_TRACE_TRUNCATED_READ;
	to->is_behind |= info.posix_event_id == POSIX_TRACE_OVERFLOW;
	to->taken++;
	add_event(f, to, &info, size);
	return true;
}

/* Ends a snapshot. */
static void finish_snapshot(struct ptrc_follow *f, struct ptrc_follower *to)
{
	count_missed(f, to);
	to->end.missed = to->missed;
	to->end.missed.lost += to->lost_before;
	if (!to->is_incomplete)
		send_message(to, &to->end, sizeof(to->end));
	to->is_finished = true;
}

/* Reads for one follower. Returns whether there is more that it has room for. */
static bool read_for(struct ptrc_follow *f, struct ptrc_follower *to, int64_t limit_ns)
{
	int64_t since = ptrc_now_ns();
	bool is_more = true;
	uint64_t n = 0;

	/* poll() is not enough: a socket accepts messages until it is full, but counts as writable
	 * again only when it is nearly empty. */
	unblock(to);
	if (to->is_finished)
		return false;
	while (!to->pending && !to->is_gone && is_more &&
	       (++n % 64 || ptrc_now_ns() - since < limit_ns))
		is_more = take_event(f, to);
	send_batch(f, to);
	if (!to->is_snapshot && !to->pending && !to->is_gone)
		tell_missed(f, to);
	if (is_more || to->is_gone)
		return !to->pending && !to->is_gone;
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
		if (to->is_gone || (to->is_finished && !to->pending))
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
		f->followers[i]->missed = (struct ptrc_session_missed){0};
	}
}

/* ---- the end ---- */

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
			to->is_incomplete |= take_event(f, to);
		f->used = 0;
	}
}

void ptrc_follow_end(struct ptrc_follow *f, const struct ptrc_session_end *end)
{
	while (f->count) {
		struct ptrc_follower *to = f->followers[f->count - 1];
		struct ptrc_session_end message = *end;

		unblock(to);
		message.missed = to->missed;
		/* END comes after everything else or not at all: a follower that gets
		 * no END knows that it missed something. */
		if (!to->pending && !to->is_incomplete && !to->is_snapshot)
			put(to, &message, sizeof(message));
		let_go(f, f->count - 1);
	}
}
