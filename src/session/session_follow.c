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
	/* How long events are read before the controller looks at its other tasks. */
	READ_NS = 10000000,
	MESSAGE_MAX = sizeof(struct ptrc_session_events) + PTRC_SESSION_EVENTS_MAX,
};

/* Counts the user events since creation or clear that went to the log before the controller had
 * read them: the events that can no longer be read from the stream, without those that the
 * controller has read. */
static int count_missed(const struct ptrc_follow *f, int64_t *missed)
{
	static struct posixtrace_type_count counts[IDS];
	uint64_t gone = 0;
	int error;

	*missed = 0;
	if (!f->has_log)
		return 0;
	error = posixtrace_get_type_counts(f->trace, counts, IDS);
	if (error)
		return error;
	for (trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT; id < IDS; id++)
		gone += counts[id].pt_events - counts[id].pt_unread;
	*missed = (int64_t)(gone - f->read_count);
	return 0;
}

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
	close(f->followers[i].fd);
	while (f->followers[i].pending)
		drop_pending(&f->followers[i]);
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
	f->batch_events = 0;
	if (f->batch && f->data)
		return 0;
	free_buffers(f);
	return ENOMEM;
}

static struct ptrc_session_events head_of(size_t size)
{
	return (struct ptrc_session_events){
		.magic = PTRC_SESSION_MAGIC,
		.version = PTRC_SESSION_VERSION,
		.kind = PTRC_SESSION_EVENTS,
		.size = (uint32_t)size,
	};
}

/* Sends a message. Returns false if the socket has no room or the follower is gone; *is_gone
 * says which. */
static bool put(struct ptrc_follower *to, const void *message, size_t size, bool *is_gone)
{
	ssize_t n;

	do
		n = send(to->fd, message, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	*is_gone = n < 0 && errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM;
	return n >= 0;
}

/* Tells the follower how many events it has missed since it was told last. */
static bool put_dropped(struct ptrc_follower *to, bool *is_gone)
{
	const struct {
		struct ptrc_session_events head;
		struct ptrc_session_record record;
		uint64_t count;
	} message = {
		.head = head_of(sizeof(message) - sizeof(message.head)),
		.record = {.kind = PTRC_SESSION_RECORD_DROPPED, .size = sizeof(uint64_t)},
		.count = to->untold,
	};

	*is_gone = false;
	if (!to->untold)
		return true;
	if (!put(to, &message, sizeof(message), is_gone))
		return false;
	to->untold = 0;
	return true;
}

/* Sends a follower the messages that waited for room. */
static void unblock(struct ptrc_follow *f, size_t i)
{
	struct ptrc_follower *to = &f->followers[i];
	bool is_gone = false;

	while (to->pending && put(to, to->pending->bytes, to->pending->size, &is_gone))
		drop_pending(to);
	if (!to->pending)
		put_dropped(to, &is_gone);
	if (is_gone)
		let_go(f, i);
}

/* Tries all followers that wait for room. poll() is not enough: a socket accepts messages until
 * it is full, but counts as writable again only when it is nearly empty. */
static void push_pending(struct ptrc_follow *f)
{
	for (size_t i = f->count; i-- > 0;)
		if (f->followers[i].pending)
			unblock(f, i);
}

/* Keeps a copy of the message until there is room for it. */
static bool keep(struct ptrc_follower *to, const void *message, size_t size)
{
	struct ptrc_follow_message *last = malloc(sizeof(*last) + size);

	if (!last)
		return false;
	if (!to->pending) {
		to->pending_end = &to->pending;
		to->blocked_since_ns = ptrc_now_ns();
	}
	last->next = NULL;
	last->size = size;
	memcpy(last->bytes, message, size);
	*to->pending_end = last;
	to->pending_end = &last->next;
	return true;
}

/*
 * Sends the batch to a follower, or keeps a copy of it until the socket has room. Returns false
 * if neither is possible. Only one message is kept, and with it the messages with the rest of
 * its last event: an event is sent whole or not at all, even if it is larger than a socket.
 */
static bool pass(const struct ptrc_follow *f, struct ptrc_follower *to, size_t size, bool *is_gone)
{
	*is_gone = false;
	if (f->is_rest && !to->has_begin)
		return false;
	if (!to->pending && (f->is_rest || put_dropped(to, is_gone)) && !*is_gone &&
	    put(to, f->batch, size, is_gone))
		return true;
	return !*is_gone && (f->is_rest || !to->pending) && keep(to, f->batch, size);
}

/* Sends the batch to all followers, and empties it. */
static void send_batch(struct ptrc_follow *f)
{
	const struct ptrc_session_events head = head_of(f->used);
	size_t size = sizeof(head) + f->used;

	if (!f->used)
		return;
	memcpy(f->batch, &head, sizeof(head));
	for (size_t i = f->count; i-- > 0;) {
		struct ptrc_follower *to = &f->followers[i];
		bool is_gone;

		to->has_begin = pass(f, to, size, &is_gone);
		if (is_gone) {
			/* With the last follower, this frees the batch. */
			let_go(f, i);
		} else if (!to->has_begin) {
			to->dropped += f->batch_events;
			to->untold += f->batch_events;
			/* This follower may lack names that the message held, so all followers
			 * are sent the names again. */
			memset(f->is_named, 0, sizeof(f->is_named));
		}
	}
	f->used = 0;
	f->batch_events = 0;
}

int ptrc_follow_add(struct ptrc_follow *f, int fd)
{
	const int size = SOCKET_SIZE;
	int64_t missed;
	int error;

	if (f->count == PTRC_FOLLOWERS_MAX)
		return EMFILE;
	error = count_missed(f, &missed);
	if (error)
		return error;
	if (!f->count && make_buffers(f))
		return ENOMEM;
	/* The events in the batch may need names that only the older followers have. */
	send_batch(f);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	f->followers[f->count++] = (struct ptrc_follower){
		.fd = fd,
		.missed_before = missed,
	};
	/* The new follower has got no names yet. */
	memset(f->is_named, 0, sizeof(f->is_named));
	return 0;
}

size_t ptrc_follow_poll(const struct ptrc_follow *f, struct pollfd *p)
{
	for (size_t i = 0; i < f->count; i++)
		p[i] = (struct pollfd){
			.fd = f->followers[i].fd,
			/* A follower sends nothing after its request: when its socket gets
			 * readable, it has closed it. */
			.events = f->followers[i].pending ? POLLIN | POLLOUT : POLLIN,
		};
	return f->count;
}

void ptrc_follow_serve(struct ptrc_follow *f, const struct pollfd *p, size_t count)
{
	for (size_t i = count; i-- > 0;) {
		if (p[i].revents & ~POLLOUT)
			let_go(f, i);
		else if (p[i].revents && f->followers[i].pending)
			unblock(f, i);
	}
}

/* ---- events ---- */

/* Makes room for a record with so many bytes behind it, in a new message if necessary.
 * Returns null if no follower is left. */
static unsigned char *record(struct ptrc_follow *f, enum ptrc_session_record_kind kind,
			     trace_event_id_t id, size_t size)
{
	const struct ptrc_session_record r = {
		.kind = (uint16_t)kind,
		.id = (uint16_t)id,
		.size = (uint32_t)size,
	};
	size_t all = sizeof(r) + ptrc_session_padded(size);
	unsigned char *at;

	if (PTRC_SESSION_EVENTS_MAX - f->used < all)
		send_batch(f);
	/* send_batch() frees the batch when the last follower leaves. */
	if (!f->batch)
		return NULL;
	at = f->batch + sizeof(struct ptrc_session_events) + f->used;
	memset(at + all - 8, 0, 8);
	memcpy(at, &r, sizeof(r));
	f->used += all;
	return at + sizeof(r);
}

static void add_name(struct ptrc_follow *f, trace_event_id_t id)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	unsigned char *at;

	if (id >= IDS || f->is_named[id] || posix_trace_eventid_get_name(f->trace, id, name))
		return;
	at = record(f, PTRC_SESSION_RECORD_NAME, id, strlen(name));
	if (at) {
		memcpy(at, name, strlen(name));
		f->is_named[id] = true;
	}
}

static void add_event(struct ptrc_follow *f, const struct posix_trace_event_info *info, size_t size)
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
	/* An event that fits stays in one message, and in the same one as its name: a follower
	 * that misses the message misses both. */
	const size_t name_size =
		sizeof(struct ptrc_session_record) + ptrc_session_padded(TRACE_EVENT_NAME_MAX);
	const size_t most = PTRC_SESSION_EVENTS_MAX - name_size -
			    sizeof(struct ptrc_session_record) - sizeof(event);
	size_t part = size < most ? size : most;
	unsigned char *at;

	if (PTRC_SESSION_EVENTS_MAX - f->used < name_size + sizeof(struct ptrc_session_record) +
							ptrc_session_padded(sizeof(event) + part))
		send_batch(f);
	if (!f->count)
		return;
	add_name(f, info->posix_event_id);
	at = record(f, PTRC_SESSION_RECORD_EVENT, info->posix_event_id, sizeof(event) + part);
	if (!at)
		return;
	memcpy(at, &event, sizeof(event));
	memcpy(at + sizeof(event), f->data, part);
	f->batch_events++;
	for (size_t done = part; done < size; done += part) {
		send_batch(f);
		f->is_rest = true;
		part = size - done < most ? size - done : most;
		at = record(f, PTRC_SESSION_RECORD_DATA, info->posix_event_id, part);
		if (!at)
			break;
		memcpy(at, f->data + done, part);
	}
	/* A message with the rest of an event holds nothing else, so that it can go to just
	 * those followers that got the beginning of the event. */
	if (f->is_rest)
		send_batch(f);
	f->is_rest = false;
}

/* Reads one event and puts it into the batch. Returns false if there was none. */
static bool take_event(struct ptrc_follow *f)
{
	struct posix_trace_event_info info;
	int unavailable = 1;
	size_t size;

	if (posix_trace_trygetnext_event(f->trace, &info, f->data, f->data_size, &size,
					 &unavailable) ||
	    unavailable)
		return false;
	f->read_count += !ptrc_is_system_type(info.posix_event_id);
	for (size_t i = 0; i < f->count; i++)
		f->followers[i].is_incomplete |=
			info.posix_truncation_status == POSIX_TRACE_TRUNCATED_READ;
	add_event(f, &info, size);
	return true;
}

/* Whether to read now: a follower has room, or none has had room for so long that events are
 * read although these followers miss them. */
static bool is_ready(const struct ptrc_follow *f)
{
	int64_t latest = INT64_MIN;

	for (size_t i = 0; i < f->count; i++) {
		if (!f->followers[i].pending)
			return true;
		if (f->followers[i].blocked_since_ns > latest)
			latest = f->followers[i].blocked_since_ns;
	}
	return f->count && f->has_log &&
	       ptrc_now_ns() - latest > PTRC_FOLLOW_PATIENCE_MS * PTRC_NS_PER_MS;
}

bool ptrc_follow_read(struct ptrc_follow *f)
{
	int64_t since = ptrc_now_ns();
	bool is_more = true;
	uint64_t n = 0;

	push_pending(f);
	while (is_ready(f) && is_more && (++n % 64 || ptrc_now_ns() - since < READ_NS))
		is_more = take_event(f);
	/* If no follower has room, the batch waits. */
	if (is_ready(f))
		send_batch(f);
	return is_more && is_ready(f);
}

void ptrc_follow_cleared(struct ptrc_follow *f)
{
	f->read_count = 0;
	for (size_t i = 0; i < f->count; i++)
		f->followers[i].missed_before = 0;
}

/* ---- the end ---- */

static bool is_any_blocked(const struct ptrc_follow *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->followers[i].pending)
			return true;
	return false;
}

static void wait_for_room(struct ptrc_follow *f, int64_t until_ns)
{
	struct pollfd p[PTRC_FOLLOWERS_MAX];
	size_t count = ptrc_follow_poll(f, p);
	int64_t left = (until_ns - ptrc_now_ns()) / PTRC_NS_PER_MS;

	if (left > PTRC_FOLLOW_READ_MS)
		left = PTRC_FOLLOW_READ_MS;
	if (left > 0 && poll(p, count, (int)left) > 0)
		ptrc_follow_serve(f, p, count);
	push_pending(f);
}

void ptrc_follow_finish(struct ptrc_follow *f)
{
	int64_t until = ptrc_now_ns() + PTRC_FOLLOW_END_MS * PTRC_NS_PER_MS;
	int64_t missed;
	bool is_known;

	if (!f->count)
		return;
	while (f->count) {
		bool is_more = ptrc_follow_read(f);

		if (!is_more && !is_any_blocked(f))
			break;
		if (ptrc_now_ns() >= until) {
			/* Reads the rest although the blocked followers miss it. The last
			 * follower to leave frees the buffers. */
			while (f->count && take_event(f))
				;
			send_batch(f);
			break;
		}
		if (!is_more)
			wait_for_room(f, until);
	}
	if (f->has_log)
		posix_trace_flush(f->trace);
	is_known = !count_missed(f, &missed);
	for (size_t i = 0; i < f->count; i++) {
		struct ptrc_follower *to = &f->followers[i];

		to->is_incomplete |= !is_known;
		if (missed > to->missed_before)
			to->missed = (uint64_t)(missed - to->missed_before);
	}
}

void ptrc_follow_end(struct ptrc_follow *f, const struct ptrc_session_end *end)
{
	int64_t until = ptrc_now_ns() + PTRC_FOLLOW_END_MS * PTRC_NS_PER_MS;

	while (is_any_blocked(f) && ptrc_now_ns() < until)
		wait_for_room(f, until);
	while (f->count) {
		struct ptrc_follower *to = &f->followers[f->count - 1];
		struct ptrc_session_end message = *end;
		bool is_gone;

		message.dropped_events = to->dropped;
		message.missed_events = to->missed;
		/* END comes after everything else or not at all: a follower that gets
		 * no END knows that it missed something. */
		if (!to->pending && !to->is_incomplete)
			put(to, &message, sizeof(message), &is_gone);
		let_go(f, f->count - 1);
	}
}
