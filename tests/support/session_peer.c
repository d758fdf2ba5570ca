/* SPDX-License-Identifier: MIT */
/*
 * A client of a session, or a false session, for tests of the session protocol.
 *
 *	session_peer follow SESSION
 *		follows the session; prints "following", a line NAME PID TID BYTES TEXT for each event,
 *		and at the end a line
 *		end EVENTS UNSHOWN ERROR
 *	session_peer hostile SESSION
 *		sends the session invalid requests of many kinds; prints "done"
 *	session_peer ask SESSION VERSION VERB FLAGS
 *		sends the session a request with these numbers; prints the version and the error of the reply
 *	session_peer silent SESSION
 *		connects many times, sends nothing and stays connected; prints "connected"
 *	session_peer listen NAME KIND
 *		is a session of this name that gives an invalid answer, or none; KIND is mute, close,
 *		short, long, magic, version, size, page, pages, state, follow, log,
 *		head, later (a log of a later version); prints "listening"
 *	session_peer log FILE NAME
 *		makes a log of an empty trace with this name
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <posixtrace-control.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/cli.h"
#include "src/session/reader_follow.h"
#include "src/session/session_protocol.h"
#include "src/session/session_path.h"

static const struct ptrc_cli_option options[] = {PTRC_CLI_OPTIONS_END};
static const struct ptrc_cli cli = {.program = "session_peer", .options = options};

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "session_peer: %s: %s\n", what, strerror(errno));
	exit(99);
}

static int follow(const char *session)
{
	static struct ptrc_reader r;

	if (!ptrc_reader_follow(&r, session))
		return 1;
	ptrc_reader_load_names(&r);
	puts("following");
	fflush(stdout);
	for (;;) {
		if (!ptrc_reader_next(&r)) {
			if (r.error != EINTR)
				break;
			puts("looked up");
			fflush(stdout);
			continue;
		}
		printf("%s %d %d %zu %.*s\n", ptrc_reader_name(&r, r.event.posix_event_id)->text,
		       r.event.posix_pid, r.event.posix_tid, r.size,
		       r.event.posix_event_id > POSIX_TRACE_ERROR ? (int)r.size : 0,
		       (const char *)r.data);
		if (ptrc_reader_is_waiting(&r))
			fflush(stdout);
	}
	printf("end %llu %llu %d%s\n", (unsigned long long)r.read_count,
	       (unsigned long long)r.unshown_count, r.error, r.is_rest_unshown ? " rest" : "");
	ptrc_reader_close(&r);
	return 0;
}

static void address_of(const char *name, struct sockaddr_un *address)
{
	char directory[64];

	errno = ptrc_inspect_directory(1, directory);
	if (errno)
		fail("directory");
	ptrc_session_address(directory, name, address);
}

static int connect_to(const char *name)
{
	struct sockaddr_un address;
	int fd;

	address_of(name, &address);
	errno = ptrc_session_connect(&address, PTRC_SESSION_ANSWER_MS, &fd);
	if (errno)
		fail(name);
	return fd;
}

/* Connects to the session, sends the message, and receives the answer, which is ignored. */
static void say(const char *name, const void *message, size_t size)
{
	static char answer[100000];
	int fd = connect_to(name);

	if (send(fd, message, size, MSG_NOSIGNAL) < 0)
		fail("send");
	recv(fd, answer, sizeof(answer), 0);
	close(fd);
}

static int hostile(const char *name)
{
	static struct {
		struct ptrc_session_request head;
		char texts[100000];
	} q;
	int fds[100];

	say(name, "", 0);
	say(name, "x", 1);
	memset(&q, 0xff, sizeof(q));
	for (size_t n = 1; n < 200; n++)
		say(name, &q, n);
	say(name, &q, sizeof(q));
	for (unsigned int verb = 0; verb < 300; verb++) {
		/* Requests that would change or end the session have tests of their own. */
		if (verb >= PTRC_SESSION_START && verb <= PTRC_SESSION_SHUTDOWN)
			continue;
		q.head = (struct ptrc_session_request){
			.magic = PTRC_SESSION_MAGIC,
			.version = PTRC_SESSION_VERSION,
			.verb = (uint16_t)verb,
			.flags = PTRC_SESSION_FILTER_ADD,
			.from = UINT32_MAX - verb,
			.size = 10,
		};
		memset(q.texts, 'x', sizeof(q.texts));
		say(name, &q, sizeof(q.head));
		say(name, &q, sizeof(q.head) + 9);
		/* The text has no zero byte at its end. */
		say(name, &q, sizeof(q.head) + 10);
		q.head.size = UINT32_MAX;
		say(name, &q, sizeof(q.head) + 10);
		q.head.size = PTRC_SESSION_TEXTS_MAX;
		say(name, &q, sizeof(q.head) + PTRC_SESSION_TEXTS_MAX);
		/* The text has only zero bytes: many empty texts. */
		memset(q.texts, 0, sizeof(q.texts));
		say(name, &q, sizeof(q.head) + PTRC_SESSION_TEXTS_MAX);
		q.head.flags = PTRC_SESSION_FILTER_ADD | PTRC_SESSION_FILTER_SET;
		say(name, &q, sizeof(q.head) + PTRC_SESSION_TEXTS_MAX);
	}
	/* Connections that send nothing, and connections that send a request and do not read the
	 * answer. */
	for (size_t i = 0; i < 100; i++) {
		fds[i] = connect_to(name);
		q.head.verb = i % 2 ? PTRC_SESSION_TYPES : PTRC_SESSION_FOLLOW;
		q.head.size = 0;
		q.head.from = 0;
		if (i % 4 && send(fds[i], &q, sizeof(q.head), MSG_NOSIGNAL) < 0)
			fail("send");
	}
	for (size_t i = 0; i < 100; i++)
		close(fds[i]);
	puts("done");
	return 0;
}

static int ask(const char *name, char **numbers)
{
	static struct ptrc_session_reply answer;
	const struct ptrc_session_request q = {.magic = PTRC_SESSION_MAGIC,
					       .version = (uint16_t)atoi(numbers[0]),
					       .verb = (uint16_t)atoi(numbers[1]),
					       .flags = (uint32_t)atoi(numbers[2])};
	int fd = connect_to(name);

	if (send(fd, &q, sizeof(q), MSG_NOSIGNAL) < 0)
		fail("send");
	if (recv(fd, &answer, sizeof(answer), 0) <= 0)
		fail("recv");
	printf("%u %d\n", answer.version, answer.error);
	close(fd);
	return 0;
}

static void __attribute__((noreturn)) silent(const char *name)
{
	for (int i = 0; i < 12; i++)
		connect_to(name);
	puts("connected");
	fflush(stdout);
	for (;;)
		pause();
}

static struct ptrc_session_reply reply;

/* The first part of a log, as a session sends it to a client that follows it. */
static struct ptrc_part begin_of_log(void)
{
	static struct posixtrace_cursor *cursor;
	static struct ptrc_part part;
	trace_id_t trace;

	if (cursor)
		return part;
	errno = posix_trace_create(0, NULL, &trace);
	if (!errno)
		errno = posixtrace_cursor_open(trace, 0, &cursor);
	if (!errno)
		errno = ptrc_cursor_get_part(cursor, &part);
	if (errno)
		fail("a log");
	return part;
}

/* Sends a valid reply, and then bytes that are no log, or that cannot continue the log that was
 * sent. */
static void answer_follow(int fd, const char *kind)
{
	struct ptrc_part part = begin_of_log();
	char nonsense[2000];

	reply.body = PTRC_SESSION_BODY_STATE;
	reply.size = sizeof(reply.state);
	send(fd, &reply, offsetof(struct ptrc_session_reply, state) + reply.size, MSG_NOSIGNAL);
	memset(nonsense, 0x77, sizeof(nonsense));
	/* A log starts with two copies of its prefix and HEAD packet; the second copy starts at
	 * offset 880. The version is at offset 12 of each prefix. */
	if (!strcmp(kind, "later")) {
		char later[2000];
		size_t size = part.pt_length < sizeof(later) ? part.pt_length : sizeof(later);

		memcpy(later, part.pt_bytes, size);
		later[12] = later[892] = 99;
		send(fd, later, size, MSG_NOSIGNAL);
	} else if (strcmp(kind, "follow")) {
		send(fd, part.pt_bytes, part.pt_length, MSG_NOSIGNAL);
	}
	/* The start of a valid HEAD packet, which does not belong in this place. */
	if (!strcmp(kind, "head"))
		send(fd, (const char *)part.pt_bytes + 32, 100, MSG_NOSIGNAL);
	send(fd, nonsense, sizeof(nonsense), MSG_NOSIGNAL);
	send(fd, nonsense, sizeof(nonsense), MSG_NOSIGNAL);
}

static void answer(int fd, const char *kind)
{
	size_t size = offsetof(struct ptrc_session_reply, state);

	memset(&reply, 0, sizeof(reply));
	reply.magic = PTRC_SESSION_MAGIC;
	reply.version = PTRC_SESSION_VERSION;
	reply.kind = PTRC_SESSION_DONE;
	if (!strcmp(kind, "follow") || !strcmp(kind, "log") || !strcmp(kind, "head") ||
	    !strcmp(kind, "later")) {
		answer_follow(fd, kind);
		return;
	}
	if (!strcmp(kind, "short"))
		size = 3;
	if (!strcmp(kind, "long"))
		size = sizeof(reply);
	if (!strcmp(kind, "magic"))
		reply.magic++;
	if (!strcmp(kind, "version"))
		reply.version++;
	if (!strcmp(kind, "size"))
		reply.size = UINT32_MAX;
	if (!strcmp(kind, "pages")) {
		/* Each page is empty, and says that another page follows. */
		static uint32_t next;

		reply.body = PTRC_SESSION_BODY_PAGE;
		reply.next = ++next;
	}
	if (!strcmp(kind, "state")) {
		/* The texts have no zero bytes at their ends, and the numbers are impossible. */
		reply.body = PTRC_SESSION_BODY_STATE;
		reply.size = sizeof(reply.state);
		memset(&reply.state, 0xff, sizeof(reply.state));
		size += reply.size;
	}
	if (!strcmp(kind, "page")) {
		/* The page says that another page follows, and its names have no zero bytes at
		 * their ends. */
		reply.body = PTRC_SESSION_BODY_PAGE;
		reply.size = PTRC_SESSION_PAGE_MAX;
		reply.next = 1;
		memset(reply.page, 0x77, sizeof(reply.page));
		size += reply.size;
	}
	send(fd, &reply, size, MSG_NOSIGNAL);
}

static int listen_as(const char *name, const char *kind)
{
	static char request[100000];
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	address_of(name, &address);
	unlink(address.sun_path);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) || listen(fd, 8))
		fail(name);
	puts("listening");
	fflush(stdout);
	for (;;) {
		int client = accept(fd, NULL, NULL);

		if (client < 0)
			fail("accept");
		if (!strcmp(kind, "mute"))
			continue;
		if (recv(client, request, sizeof(request), 0) > 0 && strcmp(kind, "close"))
			answer(client, kind);
		close(client);
	}
}

/* Makes a log of an empty trace with this name. */
static int make_log(const char *path, const char *name)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	trace_attr_t attr;
	trace_id_t trace;
	int error = fd < 0 ? errno : posix_trace_attr_init(&attr);

	if (!error)
		error = posix_trace_attr_setname(&attr, name);
	if (!error)
		error = posix_trace_create_withlog(0, &attr, fd, &trace);
	if (!error)
		error = posix_trace_shutdown(trace);
	errno = error;
	if (error)
		fail(path);
	return 0;
}

int main(int argc, char **argv)
{
	ptrc_cli_begin(&cli);
	if (argc == 4 && !strcmp(argv[1], "log"))
		return make_log(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "follow"))
		return follow(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "hostile"))
		return hostile(argv[2]);
	if (argc == 6 && !strcmp(argv[1], "ask"))
		return ask(argv[2], argv + 3);
	if (argc == 3 && !strcmp(argv[1], "silent"))
		silent(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "listen"))
		return listen_as(argv[2], argv[3]);
	return 99;
}
