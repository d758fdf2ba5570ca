/* SPDX-License-Identifier: MIT */
/* The controller's side of following a session; the followers do as they are told. */
#include "tests/support/logs.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "src/query/reader.h"
#include "src/session/session_follow.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

static struct ptrc_follow follow;
static const struct ptrc_session_state state;
/* The type of the events. */
static trace_event_id_t id;

/* What a follower has got: a log, and events of types that are not the system's. */
struct got {
	int fd;
	trace_id_t log;
	uint64_t events;
	uint64_t bytes;
	int has_end;
};

/* The controller, with this stream. */
static void begin(trace_id_t trid, bool has_log)
{
	follow = (struct ptrc_follow){.trace = trid, .has_log = has_log};
	id = ts_id("event");
}

/* A follower that has got nothing yet. */
static struct got join(void)
{
	int ends[2];

	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	CHECK_OK(ptrc_follow_add(&follow, ends[0], false, &state));
	ptrc_follow_greet(&follow);
	return (struct got){.fd = ends[1]};
}

static void count_events(struct got *g)
{
	struct posixtrace_block *block;

	for (;;) {
		CHECK_OK(posixtrace_log_next_block(g->log, &block));
		if (!block)
			return;
		for (size_t i = 0; i < block->pt_count; i++) {
			const struct posixtrace_event *e = &block->pt_events[i];

			if (e->pt_info.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT)
				continue;
			g->events++;
			g->bytes += e->pt_size;
		}
		posixtrace_log_free_block(block);
	}
}

/* Takes a message; false if there is none. */
static bool take(struct got *g)
{
	static unsigned char m[PTRC_SESSION_PIECE_MAX];
	ssize_t n = recv(g->fd, m, sizeof(m), MSG_DONTWAIT | MSG_TRUNC);

	if (n <= 0)
		return false;
	CHECK((size_t)n <= sizeof(m));
	/* Nothing behind the end. */
	CHECK(!g->has_end);
	if (g->log)
		CHECK_OK(ptrc_log_add_part(g->log, m, (size_t)n, &g->has_end));
	else
		CHECK_OK(ptrc_log_open_parts(m, (size_t)n, &g->log));
	count_events(g);
	return true;
}

/* What the last STATUS says. */
static struct ptrc_counts missed(const struct got *g)
{
	struct ptrc_counts counts;

	CHECK_OK(ptrc_trace_counts(g->log, &counts));
	return counts;
}

static void take_all(struct got *g)
{
	while (take(g))
		;
}

/* Ends the session: everybody gets what there is. */
static void finish(void)
{
	static const struct ptrc_follow_end end;

	ts_stop(follow.trace);
	ptrc_follow_finish(&follow);
	ptrc_follow_end(&follow, &end);
	CHECK_EQ(follow.count, 0u);
	ts_shutdown(follow.trace);
}

/* The same, and the follower has all of it. */
static void finish_whole(struct got *g)
{
	finish();
	take_all(g);
	CHECK(g->has_end);
}

/* ---- followers that are slow ---- */

/* Each a message of its own, and all together more than a socket takes. */
enum { MESSAGE_DATA = 30000, EVENTS = 400 };

/* A follower with a full socket, and a message for which there was no room. */
static struct got block(void)
{
	static const char data[MESSAGE_DATA];
	trace_id_t trid = ts_run(POSIX_TRACE_UNTIL_FULL, 32 * MIB, MESSAGE_DATA);
	struct got g;

	begin(trid, false);
	g = join();
	take_all(&g);
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
	finish_whole(&g);
	CHECK_EQ(g.events, (uint64_t)EVENTS);
	CHECK_EQ(g.bytes, (uint64_t)EVENTS * MESSAGE_DATA);
	CHECK_EQ(missed(&g).pt_lost_events + missed(&g).pt_log_lost_events, 0u);
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

static void emit(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		ts_emit(id, i);
}

static void expect_end(struct got *g, uint64_t events, uint64_t flushed)
{
	take_all(g);
	CHECK(g->has_end);
	CHECK_EQ(g->events, events);
	CHECK_EQ(missed(g).pt_log_lost_events, flushed);
	CHECK_EQ(missed(g).pt_lost_events, 0u);
}

TEST(what_was_flushed_first_is_told_though_there_is_no_quiet_moment, "")
{
	trace_id_t trid = begin_logged();
	struct got g = join();

	for (unsigned i = 0; i < 5; i++) {
		/* More than a look takes, of which the last is never reached. */
		emit(100);
		ts_flush(trid);
		emit(10);
		ptrc_follow_read(&follow);
		take_all(&g);
	}
	finish();
	expect_end(&g, 50, 500);
}

TEST(what_was_flushed_before_it_came_a_follower_does_not_miss, "")
{
	trace_id_t trid = begin_logged();
	struct got first, second, third;

	/* In the log: 20. In the stream: 5, which the first gets. */
	emit(20);
	ts_flush(trid);
	emit(5);
	first = join();
	ptrc_follow_read(&follow);
	/* Missed by the first: 7. */
	emit(7);
	ts_flush(trid);
	emit(1);
	second = join();
	ptrc_follow_read(&follow);
	/* Missed by both: 11. */
	emit(11);
	ts_flush(trid);
	emit(2);
	third = join();
	finish();
	expect_end(&first, 5 + 1 + 2, 7 + 11);
	expect_end(&second, 1 + 2, 11);
	expect_end(&third, 2, 0);
}

TEST(nothing_is_missed_while_nobody_follows, "")
{
	trace_id_t trid = begin_logged();
	struct got g = join();

	emit(10);
	ptrc_follow_read(&follow);
	take_all(&g);
	CHECK_OK(close(g.fd));
	emit(1);
	/* Nobody is left to send it to. */
	ptrc_follow_read(&follow);
	CHECK_EQ(follow.count, 0u);
	emit(10);
	ts_flush(trid);
	emit(3);
	g = join();
	ptrc_follow_read(&follow);
	ts_clear(trid);
	ptrc_follow_cleared(&follow);
	emit(4);
	ptrc_follow_read(&follow);
	emit(6);
	ts_flush(trid);
	finish();
	expect_end(&g, 3 + 4, 6);
}

/* ---- large data ---- */

static struct got begin_large(size_t max_data_size)
{
	begin(ts_run(POSIX_TRACE_UNTIL_FULL, MIB, max_data_size), false);
	return join();
}

TEST(data_is_whole_however_large_it_might_be, "")
{
	static const char data[900000];
	struct got g = begin_large((size_t)1 << 50);

	posix_trace_event(id, data, sizeof(data));
	ptrc_follow_read(&follow);
	finish_whole(&g);
	CHECK_EQ(g.events, 1u);
	CHECK_EQ(g.bytes, sizeof(data));
}

/* ---- what the log of a follower tells ---- */

TEST(the_log_of_a_follower_says_at_once_which_names_there_are, "")
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	struct posix_trace_status_info status;
	struct posixtrace_log_host host;
	struct got g = begin_large(100);

	take_all(&g);
	CHECK_OK(posix_trace_eventid_get_name(g.log, id, name));
	CHECK_STR_EQ(name, "event");
	CHECK_OK(posix_trace_get_status(g.log, &status));
	CHECK_EQ(status.posix_stream_flush_error, 0);
	CHECK_OK(posixtrace_log_get_host(g.log, &host, sizeof(host)));
	CHECK(host.ph_name[0]);
	finish_whole(&g);
}

TEST(a_follower_is_sent_names_without_events, "")
{
	trace_id_t trid = ts_run(POSIX_TRACE_LOOP, 16 * KIB, 100);
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t later;
	struct got g;

	begin(trid, false);
	g = join();
	take_all(&g);
	later = ts_id("later");
	while (ptrc_follow_read(&follow))
		;
	CHECK(take(&g));
	CHECK_EQ(g.events, 0u);
	CHECK_OK(posix_trace_eventid_get_name(g.log, later, name));
	CHECK_STR_EQ(name, "later");
	/* Each name is sent once. */
	ptrc_follow_read(&follow);
	CHECK(!take(&g));
	finish_whole(&g);
}

TEST(what_is_missed_is_told_before_the_end_too, "")
{
	trace_id_t trid = begin_logged();
	struct got g = join();

	emit(30);
	ts_flush(trid);
	/* It counts once in a while. */
	CHECK_EVENTUALLY((ptrc_follow_read(&follow), take_all(&g), missed(&g).pt_log_lost_events));
	CHECK(!g.has_end);
	CHECK_EQ(missed(&g).pt_log_lost_events, 30u);
	finish();
	expect_end(&g, 0, 30);
}

TEST(each_event_goes_with_the_next_look, "")
{
	struct got g = begin_large(100);

	for (uint64_t i = 1; i < 20; i++) {
		ts_emit(id, (unsigned)i);
		ptrc_follow_read(&follow);
		/* The log has it, and what it needs to be read. */
		take_all(&g);
		CHECK_EQ(g.events, i);
	}
	finish_whole(&g);
}

TEST(a_log_of_which_something_could_not_be_sent_has_no_end, "")
{
	struct got g = begin_large(100);

	ts_emit(id, 1);
	ptrc_follow_read(&follow);
	/* As if there had been no memory for a message. */
	follow.followers[0]->is_incomplete = true;
	ts_emit(id, 2);
	ptrc_follow_read(&follow);
	CHECK_EQ(follow.count, 0u);
	finish();
	take_all(&g);
	CHECK_EQ(g.events, 1u);
	CHECK(!g.has_end);
}

/* ---- the reader of a follower ---- */

static struct got waiting;

static bool is_waiting(const struct ptrc_reader *r)
{
	struct pollfd p = {.fd = waiting.fd, .events = POLLIN};

	(void)r;
	return !poll(&p, 1, 0);
}

/* Never waits for a message. */
static bool receive(struct ptrc_reader *r)
{
	static unsigned char m[PTRC_SESSION_PIECE_MAX];
	ssize_t n = recv(waiting.fd, m, sizeof(m), MSG_DONTWAIT);

	CHECK(n > 0);
	CHECK_OK(ptrc_log_add_part(r->trace, m, (size_t)n, NULL));
	return true;
}

TEST(a_reader_waits_if_the_messages_that_have_come_have_no_event, "")
{
	static const struct ptrc_reader_source source = {.receive = receive,
							 .is_waiting = is_waiting};
	static struct ptrc_reader r;

	begin(ts_run(POSIX_TRACE_LOOP, 16 * KIB, 100), false);
	waiting = join();
	/* The start of the log; a report of losses follows. */
	CHECK(take(&waiting));
	CHECK(!is_waiting(&r));
	r.trace = waiting.log;
	r.source = &source;
	CHECK(ptrc_reader_is_waiting(&r));
	CHECK(is_waiting(&r));
	posix_trace_event(id, "x", 1);
	while (is_waiting(&r))
		ptrc_follow_read(&follow);
	CHECK(!ptrc_reader_is_waiting(&r));
	CHECK(ptrc_reader_next(&r));
	CHECK(ptrc_reader_is_waiting(&r));
}
