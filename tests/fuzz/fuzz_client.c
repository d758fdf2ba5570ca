/* SPDX-License-Identifier: MIT */
/*
 * What a session, or whoever has taken its socket, sends to the commands. The first byte of an
 * input chooses what is asked. Then come the messages that the connections of the client get,
 * one after the other; each begins with a byte that says what it is:
 *
 *	0    the connection ends here, and the next one begins
 *	1    a message as it is: its length in two bytes, then its bytes
 *	2    a reply: kind, error, kind of body, next page, length of the body in two bytes, then the
 *	     body; the rest of the head is made right, and a state gets its full size
 *	3    events: the length of the records in two bytes, then the records; with a right head
 *	4    the end of the session: as 3, with what follows the head
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/session/reader_follow.h"
#include "src/session/session_client.h"
#include "src/session/session_protocol.h"
#include "src/summary/stat.h"
#include "src/view/event_format.h"
#include "tests/fuzz/fuzz.h"

enum { CONNECTIONS_MAX = 64 };

static struct {
	const uint8_t *data;
	size_t size;
	/* The other ends of connections. */
	int peers[CONNECTIONS_MAX];
	size_t peer_count;
} in;

int __wrap_ptrc_session_connect(const struct sockaddr_un *, int limit_ms, int *fd);

static unsigned int take_byte(void)
{
	if (!in.size)
		return 0;
	in.size--;
	return *in.data++;
}

/* Writes up to so many bytes of the input, whose number it says first. */
static size_t take_bytes(void *to, size_t room)
{
	size_t size = take_byte();

	size += (size_t)take_byte() << 8;
	size = size < in.size ? size : in.size;
	size = size < room ? size : room;
	memcpy(to, in.data, size);
	in.data += size;
	in.size -= size;
	return size;
}

static size_t take_reply(struct ptrc_session_reply *r)
{
	memset(r, 0, sizeof(*r));
	r->magic = PTRC_SESSION_MAGIC;
	r->version = PTRC_SESSION_VERSION;
	r->kind = (uint16_t)take_byte();
	r->error = (int32_t)take_byte();
	r->body = take_byte();
	r->next = take_byte();
	r->size = (uint32_t)take_bytes(r->page, sizeof(r->page));
	if (r->body == PTRC_SESSION_BODY_STATE)
		r->size = sizeof(r->state);
	return offsetof(struct ptrc_session_reply, page) + r->size;
}

static size_t take_events(unsigned char *to)
{
	struct ptrc_session_events head = {.magic = PTRC_SESSION_MAGIC,
					   .version = PTRC_SESSION_VERSION,
					   .kind = PTRC_SESSION_EVENTS};

	head.size = (uint32_t)take_bytes(to + sizeof(head), PTRC_SESSION_EVENTS_MAX);
	memcpy(to, &head, sizeof(head));
	return sizeof(head) + head.size;
}

static size_t take_end(struct ptrc_session_end *end)
{
	memset(end, 0, sizeof(*end));
	take_bytes(&end->error, sizeof(*end) - offsetof(struct ptrc_session_end, error));
	end->magic = PTRC_SESSION_MAGIC;
	end->version = PTRC_SESSION_VERSION;
	end->kind = PTRC_SESSION_END;
	return sizeof(*end);
}

/* In place of a connection to a controller. */
int __wrap_ptrc_session_connect(const struct sockaddr_un *address, int limit_ms, int *fd)
{
	static union {
		unsigned char bytes[1 << 17];
		struct ptrc_session_reply reply;
		struct ptrc_session_end end;
	} message;
	unsigned int kind;
	int ends[2];

	(void)address;
	(void)limit_ms;
	if (!in.size || in.peer_count == CONNECTIONS_MAX)
		return ECONNREFUSED;
	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	while ((kind = take_byte()) != 0) {
		size_t size = kind == 1	  ? take_bytes(message.bytes, sizeof(message))
			      : kind == 2 ? take_reply(&message.reply)
			      : kind == 3 ? take_events(message.bytes)
					  : take_end(&message.end);

		/* If the socket has no room for it, it is lost. */
		if (send(ends[1], message.bytes, size, MSG_DONTWAIT) < 0)
			break;
	}
	/* The client finds an end behind the messages, but can still write. */
	FUZZ_CHECK(!shutdown(ends[1], SHUT_WR));
	in.peers[in.peer_count++] = ends[1];
	*fd = ends[0];
	return 0;
}

/* ---- what commands do ---- */

static void show_state(const struct ptrc_session_reply *reply)
{
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	struct ptrc_event_types types;
	struct ptrc_stat stat;

	if (reply->body != PTRC_SESSION_BODY_STATE || ptrc_event_types_from_session(&types, "fuzz"))
		return;
	ptrc_stat_from_session(&stat, &reply->state, &types);
	ptrc_stat_put_text(&out, &stat, false);
	ptrc_stat_put_json(&out, &stat);
	ptrc_stat_free(&stat);
	ptrc_buffer_free(&out);
}

static void show_types(void)
{
	struct ptrc_session_types types;

	if (!ptrc_session_types_get("fuzz", &types))
		ptrc_session_types_free(&types);
}

static void follow(enum ptrc_format format)
{
	struct ptrc_event_format f = {.format = format, .name_width = 20};
	static struct ptrc_event_labels labels;
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	static struct ptrc_reader r;
	static struct ptrc_view view;
	struct ptrc_losses losses;

	if (!ptrc_reader_follow(&r, "fuzz"))
		return;
	memset(&labels, 0, sizeof(labels));
	memset(&view, 0, sizeof(view));
	view.reader = &r;
	ptrc_reader_load_names(&r);
	while (ptrc_reader_next(&r)) {
		ptrc_reader_is_waiting(&r);
		ptrc_event_put(&out, &f, &labels, &view);
		FUZZ_CHECK(out.used && !memchr(out.bytes, '\n', out.used - 1));
		out.used = 0;
	}
	FUZZ_CHECK(r.error != EINTR);
	ptrc_reader_losses(&r, true, &losses);
	ptrc_reader_close(&r);
	ptrc_event_format_free(&f);
	ptrc_event_labels_free(&labels);
	ptrc_buffer_free(&out);
}

static void ask(void *argument)
{
	static char name[] = "fuzz";
	static char *const names[] = {name, name, name};
	static struct ptrc_session_reply replies[3];
	static const char *const texts[] = {"app.*"};
	const struct ptrc_session_question question = {
		.verb = PTRC_SESSION_FILTER, .flags = 1, .texts = texts, .text_count = 1};
	int errors[3];

	switch (*(unsigned int *)argument % 7) {
	case 0:
		if (!ptrc_session_ask(name, PTRC_SESSION_STAT, replies))
			show_state(replies);
		break;
	case 1:
		ptrc_session_ask(name, PTRC_SESSION_SHUTDOWN, replies);
		break;
	case 2:
		ptrc_session_ask_about(name, &question, replies);
		break;
	case 3:
		show_types();
		break;
	case 4:
		ptrc_session_stat_all(names, 3, false, replies, errors);
		for (int i = 0; i < 3; i++)
			if (!errors[i])
				show_state(&replies[i]);
		break;
	case 5:
		follow(PTRC_FORMAT_TEXT);
		break;
	default:
		follow(PTRC_FORMAT_JSON);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_outcome outcome;
	char directory[64];
	unsigned int what;

	ptrc_session_directory(true, directory);
	in.data = data;
	in.size = size;
	what = take_byte();
	fuzz_guard(ask, &what, false, &outcome);
	FUZZ_CHECK(!outcome.has_exited);
	while (in.peer_count)
		close(in.peers[--in.peer_count]);
	return 0;
}
