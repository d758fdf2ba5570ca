/* SPDX-License-Identifier: MIT */
/*
 * What clients send to the controller of a session. An input is a sequence of requests, each of
 * which begins with a byte that says how it is made:
 *
 *	bit 0    the next byte but one, and the one before it, are a length; so many bytes are the
 *	         whole request. Otherwise verb, flags, page and the length of the texts follow, a
 *	         byte each, then the texts; the head of the request is made right
 *	bit 1    this process records some events first
 *	bit 2    the followers get what is there before the request is served
 *	bit 3    the client is gone before it gets its reply
 *	bit 4    what is done in the background ends only after the next request
 */
#include "config.h"

/* For the functions behind its door: they need a process of their own otherwise. */
#include "src/session/session_server.c" /* NOLINT */
#include "tests/fuzz/fuzz.h"

enum { RECORD = 2, READ = 4, LEAVE = 8, DELAY = 16 };

/* The ends of followers. */
enum { PEERS_MAX = 64 };

struct input {
	const uint8_t *data;
	size_t size;
	int peers[PEERS_MAX];
	size_t peer_count;
};

static unsigned int take_byte(struct input *in)
{
	if (!in->size)
		return 0;
	in->size--;
	return *in->data++;
}

/* Writes the next request and returns its size. */
static size_t take_request(struct input *in, unsigned int how, unsigned char *to, size_t room)
{
	struct ptrc_session_request head = {.magic = PTRC_SESSION_MAGIC,
					    .version = PTRC_SESSION_VERSION};
	size_t at = 0;

	if (how & 1) {
		head.size = take_byte(in);
		head.size += take_byte(in) << 8;
	} else {
		head.verb = (uint16_t)take_byte(in);
		head.flags = take_byte(in);
		head.from = take_byte(in);
		head.size = take_byte(in);
		at = sizeof(head);
	}
	if (head.size > in->size)
		head.size = (uint32_t)in->size;
	FUZZ_CHECK(at + head.size <= room);
	if (at)
		memcpy(to, &head, at);
	memcpy(to + at, in->data, head.size);
	in->data += head.size;
	in->size -= head.size;
	return at + head.size;
}

static bool is_reply(const struct ptrc_session_reply *r, ssize_t n)
{
	return n >= (ssize_t)offsetof(struct ptrc_session_reply, state) &&
	       r->magic == PTRC_SESSION_MAGIC && r->version == PTRC_SESSION_VERSION &&
	       r->size == (size_t)n - offsetof(struct ptrc_session_reply, state);
}

static void check_replies(int fd)
{
	static struct ptrc_session_reply reply;
	ssize_t n;

	while ((n = recv(fd, &reply, sizeof(reply), MSG_DONTWAIT)) > 0) {
		if (reply.kind != PTRC_SESSION_DONE && reply.kind != PTRC_SESSION_WORKING)
			return; /* It follows. */
		FUZZ_CHECK(is_reply(&reply, n));
	}
}

/* Waits for what is done in the background, and for what that leads to. */
static void finish_all(struct ptrc_server *s)
{
	begin_next(s);
	while (s->work) {
		finish_work(s);
		begin_next(s);
	}
}

static void ask(struct ptrc_server *s, struct input *in, unsigned int how)
{
	unsigned char request[sizeof(struct ptrc_session_request) + 65536];
	size_t size = take_request(in, how, request, sizeof(request));
	int ends[2];

	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	FUZZ_CHECK(send(ends[1], request, size, MSG_DONTWAIT) == (ssize_t)size);
	if (how & LEAVE)
		close(ends[1]);
	if (!serve(s, ends[0]))
		close(ends[0]);
	if (how & DELAY)
		begin_next(s);
	else
		finish_all(s);
	if (how & LEAVE)
		return;
	check_replies(ends[1]);
	if (in->peer_count < PEERS_MAX)
		in->peers[in->peer_count++] = ends[1];
	else
		close(ends[1]);
}

static void record(void)
{
	static trace_event_id_t id;

	if (!id)
		posixtrace_eventid_open_layout("fuzz.event", "char[4] word, str rest", &id);
	for (int i = 0; i < 3; i++)
		posix_trace_event(id, "some data", 9);
}

static void make_session(struct ptrc_server *s, struct ptrc_session_plan *plan, trace_attr_t *attr)
{
	int32_t stage;

	FUZZ_CHECK(!posix_trace_attr_init(attr));
	/* A small stream is made sooner. */
	FUZZ_CHECK(!posix_trace_attr_setstreamsize(attr, 16384));
	*plan = (struct ptrc_session_plan){.target = getpid(), .attr = attr, .is_started = true};
	memset(s, 0, sizeof(*s));
	s->plan = plan;
	s->listen_fd = s->spare_fd = s->target_fd = -1;
	strcpy(s->name, "fuzz");
	FUZZ_CHECK(!ptrc_inspect_directory(1, s->directory));
	ptrc_session_address(s->directory, s->name, &s->address);
	FUZZ_CHECK(!ptrc_server_make_stream(s, &stage));
	s->follow.trace = s->trace;
	set_running(s, true);
}

static void serve_input(void *argument)
{
	static struct ptrc_session_plan plan;
	static struct ptrc_server s;
	struct input *in = argument;
	trace_attr_t attr;

	make_session(&s, &plan, &attr);
	while (in->size) {
		unsigned int how = take_byte(in);

		if (how & RECORD)
			record();
		if ((how & READ) && !s.is_ending && !is_trace_busy(&s))
			ptrc_follow_read(&s.follow);
		ask(&s, in, how);
	}
	finish_all(&s);
	want_end(&s);
	finish_all(&s);
	ptrc_follow_end(&s.follow, &s.end);
	if (s.spare_fd >= 0)
		close(s.spare_fd);
	posix_trace_attr_destroy(&attr);
	while (in->peer_count)
		close(in->peers[--in->peer_count]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_outcome outcome;
	static struct input in;

	in = (struct input){.data = data, .size = size};
	fuzz_guard(serve_input, &in, false, &outcome);
	FUZZ_CHECK(!outcome.has_exited && !outcome.said_size);
	return 0;
}
