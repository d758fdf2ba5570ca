/* SPDX-License-Identifier: MIT */
/* Readers whose source is a session. What the session sends is checked like a log,
 * because another program may have taken its socket. */
#include "config.h"
#include "src/session/reader_follow.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cli/cli.h"
#include "src/cli/clock.h"
#include "src/session/orphans.h"
#include "src/session/session_client.h"
#include "src/session/session_protocol.h"

struct ptrc_reader_input {
	/* Pidfd of the controller, or -1. */
	int controller_fd;
	/* The message that was received last; its records are in the bytes from .at to .end. */
	union {
		struct ptrc_session_events head;
		struct ptrc_session_end end;
		unsigned char bytes[sizeof(struct ptrc_session_events) + PTRC_SESSION_EVENTS_MAX];
	} message;
	size_t at;
	size_t end;
	/* An event has begun whose data goes on in the next records; it has .wanted
	 * bytes in all. */
	bool is_partial;
	uint64_t wanted;
	bool is_ended;
	/* Of a snapshot: all messages, received before the first is read, each behind its size; and
	 * the place of the next one. */
	struct ptrc_buffer messages;
	size_t next_message;
	bool is_snapshot;
};

static void close_input(struct ptrc_reader *r)
{
	if (r->input->controller_fd >= 0)
		close(r->input->controller_fd);
	ptrc_buffer_free(&r->input->messages);
	free(r->input);
	r->input = NULL;
}

static bool is_waiting(const struct ptrc_reader *r)
{
	struct pollfd p = {.fd = r->fd, .events = POLLIN};

	return !r->input->is_snapshot && r->input->at == r->input->end && !r->input->is_ended &&
	       poll(&p, 1, 0) == 0;
}

static void set_name(struct ptrc_reader *r, trace_event_id_t id, const char *text, size_t size)
{
	struct ptrc_reader_name *name;

	if (!id || id >= PTRC_READER_IDS || size > TRACE_EVENT_NAME_MAX || memchr(text, '\0', size))
		return;
	/* Callers of ptrc_reader_name() may hold a pointer to the name: it is changed in
	 * place. */
	if (!r->names[id])
		r->names[id] = ptrc_cli_allocate(sizeof(*r->names[id]));
	name = r->names[id];
	name->is_known = true;
	name->size = size;
	memcpy(name->text, text, size);
	name->text[size] = '\0';
}

static void load_names(struct ptrc_reader *r)
{
	struct ptrc_session_types types;

	/* If this fails because the session has ended, few events are left, and their names
	 * come with them. */
	if (ptrc_session_types_get(r->path, &types))
		return;
	for (size_t i = 0; i < types.count; i++)
		set_name(r, types.types[i].id, types.types[i].name, strlen(types.types[i].name));
	ptrc_session_types_free(&types);
}

/* ---- messages ---- */

static bool fail(struct ptrc_reader *r, int error)
{
	r->error = error;
	r->input->is_ended = true;
	return false;
}

/* Takes over how much was missed. Losses that were shown to this reader as events do not count. */
static void set_missed(struct ptrc_reader *r, const struct ptrc_session_missed *missed)
{
	r->counts.pt_lost_events = missed->lost;
	r->unshown_count = missed->flushed;
	if (!missed->lost)
		r->status.posix_stream_overrun_status = POSIX_TRACE_NO_OVERRUN;
}

static bool take_end(struct ptrc_reader *r, size_t n)
{
	const struct ptrc_session_end *end = &r->input->message.end;

	if (n != sizeof(*end))
		return fail(r, EPROTO);
	r->status = end->status;
	r->counts = end->counts;
	set_missed(r, &end->missed);
	if (end->error)
		r->status.posix_stream_flush_error = end->error;
	r->input->is_ended = true;
	return false;
}

/*
 * The connection has ended without an END message. Either the controller was killed: then its
 * socket is still there and refuses connections. Or the controller ended, could not wait for
 * this reader, and removed its socket; another session may have taken the name since. The
 * socket of a killed controller is not removed here, so that other followers find it, too.
 */
static bool take_silence(struct ptrc_reader *r)
{
	struct pollfd controller = {.fd = r->input->controller_fd, .events = POLLIN};

	/* A controller that is being killed may have closed this connection, but not
	 * yet the socket on which it listens. */
	poll(&controller, controller.fd >= 0, PTRC_SESSION_LOOK_UP_MS);
	if (ptrc_session_knock(r->path) == ECONNREFUSED)
		return fail(r, ECONNRESET);
	r->is_rest_unshown = true;
	r->input->is_ended = true;
	return false;
}

/* Copies the next message of a snapshot to where it is read. Returns its size, or 0 if there is
 * none. */
static ssize_t next_message(struct ptrc_reader_input *in)
{
	ssize_t n;

	if (in->next_message == in->messages.used)
		return 0;
	memcpy(&n, in->messages.bytes + in->next_message, sizeof(n));
	in->next_message += sizeof(n);
	memcpy(&in->message, in->messages.bytes + in->next_message, (size_t)n);
	in->next_message += (size_t)n;
	return n;
}

/* Waits for the next message with events. Returns false at the end, or after an error. */
static bool receive(struct ptrc_reader *r)
{
	struct ptrc_reader_input *in = r->input;
	ssize_t n = in->is_snapshot ? next_message(in)
				    : recv(r->fd, &in->message, sizeof(in->message), MSG_TRUNC);

	if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
		r->error = EINTR;
		return false;
	}
	if (!n || (n < 0 && errno == ECONNRESET))
		return take_silence(r);
	if (n < 0)
		return fail(r, errno);
	if ((size_t)n < sizeof(in->message.head) || (size_t)n > sizeof(in->message) ||
	    in->message.head.magic != PTRC_SESSION_MAGIC ||
	    in->message.head.version != PTRC_SESSION_VERSION)
		return fail(r, EPROTO);
	if (in->message.head.kind == PTRC_SESSION_END)
		return take_end(r, (size_t)n);
	if (in->message.head.kind != PTRC_SESSION_EVENTS ||
	    in->message.head.size != (size_t)n - sizeof(in->message.head))
		return fail(r, EPROTO);
	in->at = sizeof(in->message.head);
	in->end = (size_t)n;
	return true;
}

/* ---- records ---- */

/* Room is made for data that has come, not for the size that the event claims. */
static void add_data(struct ptrc_reader *r, const unsigned char *bytes, size_t size)
{
	if (r->buffer_size - r->size < size) {
		while (r->buffer_size - r->size < size)
			r->buffer_size *= 2;
		r->buffer = ptrc_cli_reallocate(r->buffer, r->buffer_size);
		r->data = r->buffer;
	}
	memcpy(r->buffer + r->size, bytes, size);
	r->size += size;
}

/* Takes more data of an event. Returns whether the event is complete now. */
static bool take_data(struct ptrc_reader *r, const unsigned char *bytes, size_t size)
{
	struct ptrc_reader_input *in = r->input;

	if (!in->is_partial || size > in->wanted - r->size)
		return fail(r, EPROTO);
	add_data(r, bytes, size);
	in->is_partial = r->size < in->wanted;
	return !in->is_partial;
}

static bool take_event(struct ptrc_reader *r, trace_event_id_t id, const unsigned char *bytes,
		       size_t size)
{
	struct ptrc_session_event event;

	if (size < sizeof(event) || r->input->is_partial)
		return fail(r, EPROTO);
	memcpy(&event, bytes, sizeof(event));
	/* The functions that print times rely on this. */
	if (event.time_ns < 0 || event.time_ns > 999999999)
		return fail(r, EPROTO);
	r->event = (struct posix_trace_event_info){
		.posix_event_id = id,
		.posix_pid = event.pid,
		.posix_prog_address = (void *)(uintptr_t)event.address,
		.posix_tid = event.tid,
		.posix_truncation_status = event.truncation,
		.posix_timestamp = {.tv_sec = event.time_s, .tv_nsec = event.time_ns},
		.posix_thread_id = (pthread_t)event.thread,
	};
	r->size = 0;
	r->input->is_partial = true;
	r->input->wanted = event.data_size;
	return take_data(r, bytes + sizeof(event), size - sizeof(event));
}

/* Takes the next record of the message. Returns whether it completes an event. */
static bool take_record(struct ptrc_reader *r)
{
	struct ptrc_reader_input *in = r->input;
	struct ptrc_session_record record;
	const unsigned char *bytes;
	struct ptrc_session_missed missed;

	if (in->end - in->at < sizeof(record))
		return fail(r, EPROTO);
	memcpy(&record, in->message.bytes + in->at, sizeof(record));
	in->at += sizeof(record);
	if (in->end - in->at < ptrc_session_padded(record.size))
		return fail(r, EPROTO);
	bytes = in->message.bytes + in->at;
	in->at += ptrc_session_padded(record.size);
	switch (record.kind) {
	case PTRC_SESSION_RECORD_EVENT:
		return take_event(r, record.id, bytes, record.size);
	case PTRC_SESSION_RECORD_DATA:
		return take_data(r, bytes, record.size);
	case PTRC_SESSION_RECORD_NAME:
		set_name(r, record.id, (const char *)bytes, record.size);
		return false;
	case PTRC_SESSION_RECORD_MISSED:
		if (record.size != sizeof(missed))
			return fail(r, EPROTO);
		memcpy(&missed, bytes, sizeof(missed));
		set_missed(r, &missed);
		return false;
	default:
		return fail(r, EPROTO);
	}
}

static bool next(struct ptrc_reader *r)
{
	struct ptrc_reader_input *in = r->input;

	r->error = r->error == EINTR ? 0 : r->error;
	while (!in->is_ended) {
		if (in->at == in->end) {
			if (!receive(r))
				return false;
			continue;
		}
		if (take_record(r)) {
			r->read_count++;
			return true;
		}
	}
	return false;
}

static int rewind_snapshot(struct ptrc_reader *r)
{
	struct ptrc_reader_input *in = r->input;

	in->next_message = in->at = in->end = 0;
	in->is_partial = in->is_ended = false;
	r->is_rest_unshown = false;
	return 0;
}

static const struct ptrc_reader_source source = {
	.next = next,
	.is_waiting = is_waiting,
	.load_names = load_names,
	.rewind = rewind_snapshot,
	.close = close_input,
};

/* Opens a connection for FOLLOW or DUMP. Returns 0 or an error number of session_client.h. */
static int connect_reader(struct ptrc_reader *r, const char *session, enum ptrc_session_verb verb)
{
	struct ptrc_session_reply *reply = ptrc_cli_allocate(sizeof(*reply));
	int controller_fd;
	int error;

	memset(r, 0, sizeof(*r));
	r->path = session;
	error = ptrc_session_follow(session, verb, reply, &r->fd, &controller_fd);
	if (!error) {
		r->attributes = reply->state.attributes;
		r->status = reply->state.status;
		r->counts = reply->state.counts;
		/* What the stream lost before is not missing from what comes. */
		set_missed(r, &(struct ptrc_session_missed){0});
		r->source = &source;
		r->input = ptrc_cli_allocate(sizeof(*r->input));
		memset(r->input, 0, sizeof(*r->input));
		r->input->controller_fd = controller_fd;
		r->buffer_size = 4096;
		r->buffer = ptrc_cli_allocate(r->buffer_size);
		r->data = r->buffer;
	}
	free(reply);
	return error;
}

bool ptrc_reader_follow(struct ptrc_reader *r, const char *session)
{
	int error = connect_reader(r, session, PTRC_SESSION_FOLLOW);

	if (error)
		ptrc_orphans_say_session(session, error);
	return !error;
}

/* ---- what a session has now ---- */

/* Receives all messages of a snapshot, so that the session need not wait for who reads them. Returns
 * an error number if none comes for long. */
static int receive_snapshot(struct ptrc_reader *r)
{
	const int64_t wait_ns = PTRC_SESSION_WORK_MS * PTRC_NS_PER_MS;
	struct ptrc_reader_input *in = r->input;
	int64_t since = ptrc_now_ns();
	ssize_t n;

	while ((n = recv(r->fd, &in->message, sizeof(in->message), MSG_TRUNC))) {
		if (n < 0 && errno == ECONNRESET)
			break;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return errno;
		if (n < 0 && ptrc_now_ns() - since > wait_ns)
			return ETIMEDOUT;
		if (n < 0)
			continue;
		since = ptrc_now_ns();
		if ((size_t)n > sizeof(in->message))
			return EPROTO;
		ptrc_buffer_bytes(&in->messages, &n, sizeof(n));
		ptrc_buffer_bytes(&in->messages, &in->message, (size_t)n);
		if ((size_t)n >= sizeof(in->message.head) &&
		    in->message.head.kind == PTRC_SESSION_END)
			break;
	}
	in->is_snapshot = true;
	return 0;
}

/* Whether the log of the session holds everything after a flush, and can be read: then has it
 * flushed. */
static bool is_flushed(const char *session, const struct ptrc_session_state *s)
{
	static struct ptrc_session_reply reply;
	struct stat st;

	return s->has_log && s->attributes.stream_full_policy == POSIX_TRACE_FLUSH &&
	       !s->is_log_gone && !stat(s->log, &st) && S_ISREG(st.st_mode) &&
	       !ptrc_session_ask(session, PTRC_SESSION_FLUSH, &reply) && !reply.error;
}

int ptrc_reader_dump(struct ptrc_reader *r, const char *session)
{
	static struct ptrc_session_reply reply;
	int error = ptrc_session_ask(session, PTRC_SESSION_STAT, &reply);
	const struct ptrc_session_state *s = &reply.state;

	if (error == ENOENT)
		return error;
	if (!error && reply.body != PTRC_SESSION_BODY_STATE)
		error = reply.error ? reply.error : EPROTO;
	if (!error && is_flushed(session, s)) {
		char *path = strdup(s->log);

		if (!path)
			ptrc_cli_no_memory();
		if (!ptrc_reader_open(r, path)) {
			free(path);
			return EIO;
		}
		r->own_path = path;
		r->is_growing = true;
		return 0;
	}
	if (!error)
		error = connect_reader(r, session, PTRC_SESSION_DUMP);
	if (error) {
		ptrc_orphans_say_session(session, error);
		return error;
	}
	error = receive_snapshot(r);
	if (error) {
		ptrc_orphans_say_session(session, error);
		ptrc_reader_close(r);
	} else if (r->counts.pt_log_events) {
		ptrc_cli_message(session, "%lu earlier events are in its log, %s",
				 r->counts.pt_log_events, s->log);
	}
	return error;
}
