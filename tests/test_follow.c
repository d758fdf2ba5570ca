/* SPDX-License-Identifier: MIT */
/* The controller's side of following a session; the followers do as they are told. */
#include "tests/logs.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "src/session/session_follow.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

static struct ptrc_follow follow;
static const struct ptrc_session_state state;

/* What a follower has got. */
struct got {
	int fd;
	uint64_t events;
	uint64_t bytes;
	struct ptrc_session_missed missed;
	bool has_end;
	struct ptrc_session_end end;
};

/* The controller, with this stream. */
static void begin(trace_id_t trid, bool has_log)
{
	follow = (struct ptrc_follow){.trace = trid, .has_log = has_log};
}

static struct got join(void)
{
	int ends[2];

	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	CHECK_OK(ptrc_follow_add(&follow, ends[0], false, &state));
	return (struct got){.fd = ends[1]};
}

static void take_records(struct got *g, const unsigned char *at, size_t left)
{
	struct ptrc_session_record r;

	while (left >= sizeof(r)) {
		size_t size;

		memcpy(&r, at, sizeof(r));
		size = sizeof(r) + ((r.size + (size_t)7) & ~(size_t)7);
		CHECK(size <= left);
		if (r.kind == PTRC_SESSION_RECORD_EVENT && r.id >= POSIX_TRACE_UNNAMED_USEREVENT) {
			g->events++;
			g->bytes += r.size - sizeof(struct ptrc_session_event);
		} else if (r.kind == PTRC_SESSION_RECORD_DATA) {
			g->bytes += r.size;
		} else if (r.kind == PTRC_SESSION_RECORD_MISSED) {
			memcpy(&g->missed, at + sizeof(r), sizeof(g->missed));
		}
		at += size;
		left -= size;
	}
}

/* Takes a message; false if there is none. */
static bool take(struct got *g)
{
	static union {
		struct ptrc_session_events head;
		struct ptrc_session_end end;
		unsigned char bytes[sizeof(struct ptrc_session_events) + PTRC_SESSION_EVENTS_MAX];
	} m;
	ssize_t n = recv(g->fd, &m, sizeof(m), MSG_DONTWAIT);

	if (n <= 0)
		return false;
	/* Nothing behind the end. */
	CHECK(!g->has_end);
	if (m.head.kind == PTRC_SESSION_END) {
		CHECK_EQ(n, (ssize_t)sizeof(m.end));
		g->has_end = true;
		g->end = m.end;
		return true;
	}
	CHECK_EQ(m.head.kind, PTRC_SESSION_EVENTS);
	CHECK_EQ((size_t)n, sizeof(m.head) + m.head.size);
	take_records(g, m.bytes + sizeof(m.head), m.head.size);
	return true;
}

static void take_all(struct got *g)
{
	while (take(g))
		;
}

/* Ends the session: everybody gets what there is. */
static void finish(void)
{
	struct ptrc_session_end end = {
		.magic = PTRC_SESSION_MAGIC,
		.version = PTRC_SESSION_VERSION,
		.kind = PTRC_SESSION_END,
	};

	ts_stop(follow.trace);
	ptrc_follow_finish(&follow);
	ptrc_follow_end(&follow, &end);
	CHECK_EQ(follow.count, 0u);
	ts_shutdown(follow.trace);
}

/* ---- followers that are slow ---- */

/* Each a message of its own, and all together more than a socket takes. */
enum { MESSAGE_DATA = 30000, EVENTS = 400 };

/* A follower with a full socket, and a message for which there was no room. */
static struct got block(void)
{
	static const char data[MESSAGE_DATA];
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, 32 * MIB, MESSAGE_DATA);
	trace_id_t trid = ts_create_running(0, &attr);
	trace_event_id_t id = ts_id("event");
	struct got g;

	begin(trid, false);
	g = join();
	for (unsigned i = 0; i < EVENTS; i++)
		posix_trace_event(id, data, sizeof(data));
	/* It takes its time to do more than a little at once. */
	while (ptrc_follow_read(&follow))
		;
	CHECK(follow.followers[0]->pending);
	return g;
}

static bool is_writable(void)
{
	struct pollfd p = {.fd = follow.followers[0]->fd, .events = POLLOUT};

	return poll(&p, 1, 0) == 1;
}

TEST(the_end_does_not_overtake_a_message_that_waits, "")
{
	struct got g = block();

	/* Room for one more, which the kernel does not tell anybody. */
	CHECK(take(&g));
	CHECK(!is_writable());
	finish();
	take_all(&g);
	CHECK(!g.has_end);
}

TEST(a_message_that_waits_goes_when_there_is_room, "")
{
	struct got g = block();
	int64_t since = follow.followers[0]->progress_ns;

	CHECK(take(&g));
	CHECK(!is_writable());
	ptrc_follow_read(&follow);
	/* The next one waits now. */
	CHECK(!follow.followers[0]->pending || follow.followers[0]->progress_ns != since);
	while (take(&g))
		ptrc_follow_read(&follow);
	finish();
	take_all(&g);
	CHECK(g.has_end);
	CHECK_EQ(g.events, (uint64_t)EVENTS);
	CHECK_EQ(g.bytes, (uint64_t)EVENTS * MESSAGE_DATA);
	CHECK_EQ(g.end.missed.lost + g.end.missed.flushed, 0u);
}

/* ---- what the log had first ---- */

static trace_id_t begin_logged(void)
{
	trace_attr_t attr = log_attr(POSIX_TRACE_UNTIL_FULL, 8 * MIB, POSIX_TRACE_APPEND, 0);
	trace_id_t trid = ts_create_log(0, &attr, ts_temp_file());

	begin(trid, true);
	ts_start(trid);
	return trid;
}

static void emit(trace_event_id_t id, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		ts_emit(id, i);
}

static void expect_end(struct got *g, uint64_t events, uint64_t missed)
{
	take_all(g);
	CHECK(g->has_end);
	CHECK_EQ(g->events, events);
	CHECK_EQ(g->end.missed.flushed, missed);
	CHECK_EQ(g->end.missed.lost, 0u);
}

TEST(what_was_flushed_first_is_told_though_there_is_no_quiet_moment, "")
{
	trace_id_t trid = begin_logged();
	trace_event_id_t id = ts_id("event");
	struct got g = join();

	for (unsigned i = 0; i < 5; i++) {
		/* More than a look takes, of which the last is never reached. */
		emit(id, 100);
		ts_flush(trid);
		emit(id, 10);
		ptrc_follow_read(&follow);
		take_all(&g);
	}
	finish();
	expect_end(&g, 50, 500);
}

TEST(what_was_flushed_before_it_came_a_follower_does_not_miss, "")
{
	trace_id_t trid = begin_logged();
	trace_event_id_t id = ts_id("event");
	struct got first, second, third;

	/* In the log: 20. In the stream: 5, which the first gets. */
	emit(id, 20);
	ts_flush(trid);
	emit(id, 5);
	first = join();
	ptrc_follow_read(&follow);
	/* Missed by the first: 7. */
	emit(id, 7);
	ts_flush(trid);
	emit(id, 1);
	second = join();
	ptrc_follow_read(&follow);
	/* Missed by both: 11. */
	emit(id, 11);
	ts_flush(trid);
	emit(id, 2);
	third = join();
	finish();
	expect_end(&first, 5 + 1 + 2, 7 + 11);
	expect_end(&second, 1 + 2, 11);
	expect_end(&third, 2, 0);
}

TEST(nothing_is_missed_while_nobody_follows, "")
{
	trace_id_t trid = begin_logged();
	trace_event_id_t id = ts_id("event");
	struct got g = join();

	emit(id, 10);
	ptrc_follow_read(&follow);
	take_all(&g);
	CHECK_OK(close(g.fd));
	emit(id, 1);
	/* Nobody is left to send it to. */
	ptrc_follow_read(&follow);
	CHECK_EQ(follow.count, 0u);
	emit(id, 10);
	ts_flush(trid);
	emit(id, 3);
	g = join();
	ptrc_follow_read(&follow);
	ts_clear(trid);
	ptrc_follow_cleared(&follow);
	emit(id, 4);
	ptrc_follow_read(&follow);
	emit(id, 6);
	ts_flush(trid);
	finish();
	expect_end(&g, 3 + 4, 6);
}

/* ---- large data ---- */

static void begin_large(size_t max_data_size)
{
	trace_attr_t attr = ts_attr(POSIX_TRACE_UNTIL_FULL, MIB, max_data_size);

	begin(ts_create_running(0, &attr), false);
}

TEST(data_is_whole_however_large_it_might_be, "")
{
	static const char data[900000];
	trace_event_id_t id = ts_id("event");
	struct got g;

	begin_large((size_t)1 << 50);
	g = join();
	posix_trace_event(id, data, sizeof(data));
	ptrc_follow_read(&follow);
	finish();
	take_all(&g);
	CHECK(g.has_end);
	CHECK_EQ(g.events, 1u);
	CHECK_EQ(g.bytes, sizeof(data));
}

TEST(data_that_had_to_be_cut_is_told, "")
{
	static const char data[10000];
	trace_event_id_t id = ts_id("event");
	struct got g;

	begin_large(sizeof(data));
	g = join();
	/* As if there were no memory for more. */
	follow.data_size = 4096;
	posix_trace_event(id, data, sizeof(data));
	ptrc_follow_read(&follow);
	finish();
	take_all(&g);
	CHECK_EQ(g.bytes, 4096u);
	CHECK(!g.has_end);
}
