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
 *	3    a packet of a log: its length in two bytes, then its bytes, header and payload; magic, length,
 *	     log id, number and checksums are made right
 *	4    the next part of a log, as a session makes it: how many events are recorded before; the
 *	     place of a byte, in two bytes; by what it is changed. Packets are made right as above
 *	5    a status: whether it is the end; place and change as before
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/crc32c.h"
#include "lib/log/log_layout.h"
#include "src/session/reader_follow.h"
#include "src/session/session_client.h"
#include "src/session/session_protocol.h"
#include "src/summary/stat.h"
#include "src/text/event_format.h"
#include "tests/fuzz/fuzz.h"

enum { CONNECTIONS_MAX = 64 };

static struct {
	const uint8_t *data;
	size_t size;
	/* The other ends of connections. */
	int peers[CONNECTIONS_MAX];
	size_t peer_count;
	/* Of the log of the connection: its cursor, what is in its packets, how many of events there
	 * were. */
	struct posixtrace_cursor *cursor;
	uint64_t log_id;
	uint64_t seq;
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

/* ---- packets of a log ---- */

/* Makes the packet at the begin of these bytes right. Returns its size with its padding, as far as
 * that is there. */
static size_t mend_packet(unsigned char *at, size_t size)
{
	size_t room = size - sizeof(struct ptrc_log_packet), all;
	struct ptrc_log_packet p;

	memcpy(&p, at, sizeof(p));
	p.magic = PTRC_LOG_PACKET_MAGIC;
	p.log_id = in.log_id;
	p.length = p.length < room ? p.length : room;
	p.seq = in.seq;
	in.seq += p.type == PTRC_LOG_EVENTS;
	p.sums_bytes = p.sums_bytes < p.length ? p.sums_bytes : (uint32_t)p.length;
	p.payload_crc = ptrc_crc32c(0, at + sizeof(p), p.length);
	p.sums_crc = ptrc_crc32c(0, at + sizeof(p), p.sums_bytes);
	p.header_crc = ptrc_crc32c(0, &p, offsetof(struct ptrc_log_packet, header_crc));
	memcpy(at, &p, sizeof(p));
	all = sizeof(p) + (size_t)ptrc_align8(p.length);
	return all < size ? all : size;
}

static size_t take_packet(unsigned char *to, size_t room)
{
	size_t size = take_bytes(to, room);

	if (size >= sizeof(struct ptrc_log_packet))
		mend_packet(to, size);
	return size;
}

/* The stream of which there are logs. */
static trace_id_t stream(void)
{
	static trace_id_t trace;

	if (!trace)
		FUZZ_CHECK(!posix_trace_create(0, NULL, &trace) && !posix_trace_start(trace));
	return trace;
}

/* Copies a part, one of whose bytes the input changes. Returns its size. */
static size_t copy_part(const struct ptrc_part *part, unsigned char *to, size_t room)
{
	size_t begin = in.log_id ? 0 : PTRC_LOG_HEADS_BYTES;
	size_t place = take_byte();
	unsigned int change;

	place += (size_t)take_byte() << 8;
	change = take_byte();
	FUZZ_CHECK(part->pt_length <= room);
	memcpy(to, part->pt_bytes, part->pt_length);
	if (begin)
		memcpy(&in.log_id,
		       to + sizeof(struct ptrc_log_prefix) +
			       offsetof(struct ptrc_log_packet, log_id),
		       sizeof(in.log_id));
	if (place < part->pt_length)
		to[place] ^= (unsigned char)change;
	while (change && part->pt_length - begin >= sizeof(struct ptrc_log_packet))
		begin += mend_packet(to + begin, part->pt_length - begin);
	return part->pt_length;
}

static size_t take_part(unsigned char *to, size_t room)
{
	static const char data[16] = "some data";
	static trace_event_id_t id;
	struct ptrc_part part;

	if (!in.cursor)
		FUZZ_CHECK(!posixtrace_cursor_open(stream(), 0, &in.cursor));
	if (!id)
		posix_trace_eventid_open("fuzz.event", &id);
	for (unsigned int n = take_byte() % sizeof(data); n--;)
		posix_trace_event(id, data, n);
	FUZZ_CHECK(!ptrc_cursor_get_part(in.cursor, &part));
	return copy_part(&part, to, room);
}

static size_t take_status(unsigned char *to, size_t room)
{
	const struct posix_trace_status_info status = {.posix_stream_status = POSIX_TRACE_RUNNING};
	const struct ptrc_counts counts = {.pt_lost_events = 3, .pt_log_lost_events = 4};
	struct ptrc_part part;
	bool is_end = take_byte();

	if (!in.cursor || ptrc_cursor_end_part(in.cursor, &status, &counts, is_end, &part))
		return 0;
	return copy_part(&part, to, room);
}

static void forget_log(void)
{
	posixtrace_cursor_close(in.cursor);
	in.cursor = NULL;
	in.log_id = in.seq = 0;
}

/* Sends it in pieces. If the socket has no room for one, it is lost. */
static bool send_pieces(int fd, const unsigned char *bytes, size_t size, size_t most)
{
	do {
		size_t n = size < most ? size : most;

		if (send(fd, bytes, n, MSG_DONTWAIT) < 0)
			return false;
		bytes += n;
		size -= n;
	} while (size);
	return true;
}

/* In place of a connection to a controller. */
int __wrap_ptrc_session_connect(const struct sockaddr_un *address, int limit_ms, int *fd)
{
	static union {
		unsigned char bytes[1 << 17];
		struct ptrc_session_reply reply;
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
			      : kind == 3 ? take_packet(message.bytes, sizeof(message))
			      : kind == 4 ? take_part(message.bytes, sizeof(message))
					  : take_status(message.bytes, sizeof(message));

		if (!send_pieces(ends[1], message.bytes, size,
				 kind > 2 ? PTRC_SESSION_PIECE_MAX : sizeof(message)))
			break;
	}
	forget_log();
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
	ptrc_event_types_free(&stat.types);
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
	struct ptrc_event_format f = {.format = format, .widths[PTRC_COLUMN_EVENT] = 20};
	struct ptrc_buffer out = PTRC_BUFFER_INIT;
	static struct ptrc_reader r;
	static struct ptrc_view view;
	struct ptrc_losses losses;

	if (!ptrc_reader_follow(&r, "fuzz"))
		return;
	memset(&view, 0, sizeof(view));
	view.reader = &r;
	ptrc_reader_load_names(&r);
	while (ptrc_reader_next(&r)) {
		ptrc_event_put(&out, &f, &view);
		FUZZ_CHECK(out.used && !memchr(out.bytes, '\n', out.used - 1));
		out.used = 0;
		ptrc_reader_is_waiting(&r);
	}
	FUZZ_CHECK(r.error != EINTR);
	ptrc_reader_losses(&r, true, &losses);
	ptrc_reader_close(&r);
	ptrc_event_format_free(&f);
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

	ptrc_inspect_directory(1, directory);
	in.data = data;
	in.size = size;
	what = take_byte();
	fuzz_guard(ask, &what, false, &outcome);
	FUZZ_CHECK(!outcome.has_exited);
	while (in.peer_count)
		close(in.peers[--in.peer_count]);
	return 0;
}
