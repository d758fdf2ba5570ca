/* SPDX-License-Identifier: MIT */
/* Reads the log that a session sends. It is read like any other log: no byte of it is trusted, because
 * another program may have taken the session's socket. */
#include "config.h"
#include "src/base/scope.h"
#include "src/session/reader_follow.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/message.h"
#include "src/base/clock.h"
#include "src/session/orphans.h"
#include "src/session/session_client.h"
#include "src/session/session_protocol.h"

struct ptrc_reader_input {
	/* A pidfd of the controller, or -1. */
	int controller_fd;
	/* No more bytes will come, because the log is complete, the connection was closed, or there was an error. */
	bool is_ended;
	/* The number of this error; 0 if there was none. */
	int error;
	/* The last message that was received. */
	unsigned char message[PTRC_SESSION_PIECE_MAX];
	/* The request was DUMP, so the session sends a snapshot. Only then are the next two members used. */
	bool is_snapshot;
	/* All bytes of the log that the session has sent, for reading and for rewinding. */
	struct ptrc_buffer all;
	/* How many bytes of .all were passed to ptrc_log_add_part(). */
	size_t added;
};

static void close_input(struct ptrc_reader *r)
{
	if (r->input->controller_fd >= 0)
		close(r->input->controller_fd);
	ptrc_buffer_free(&r->input->all);
	free(r->input);
	r->input = NULL;
}

static bool is_waiting(const struct ptrc_reader *r)
{
	struct pollfd p = {.fd = r->fd, .events = POLLIN};

	return !r->input->is_snapshot && !r->input->is_ended && poll(&p, 1, 0) == 0;
}

/* ---- receiving ---- */

static bool fail(struct ptrc_reader *r, int error)
{
	r->error = r->input->error = error;
	r->input->is_ended = true;
	return false;
}

/* Sets how many events this reader has missed: events that the stream lost, and events that the session flushed to
 * its own log before it could send them. */
static void set_missed(struct ptrc_reader *r, uint64_t lost, uint64_t flushed)
{
	r->counts.pt_lost_events = lost;
	r->unshown_count = flushed;
	if (!lost)
		r->status.posix_stream_overrun_status = POSIX_TRACE_NO_OVERRUN;
}

/* Takes over the last STATUS packet of the log. For a snapshot, takes only the number of missed events from the
 * packet, because the reply to DUMP had the rest. Returns false if the log has no STATUS packet yet. */
static bool take_status(struct ptrc_reader *r)
{
	struct posix_trace_status_info status;
	struct ptrc_counts counts;

	if (posix_trace_get_status(r->trace, &status) ||
	    status.posix_stream_flush_error == EOWNERDEAD || ptrc_trace_counts(r->trace, &counts))
		return false;
	if (!r->input->is_snapshot) {
		r->status = status;
		r->counts = counts;
		/* In the STATUS packets that a session sends, pt_log_lost_events counts events that the session
		 * flushed to its own log before it could send them. They are not lost. An overrun of the log says
		 * that such events may be missing among those up to the next STATUS packet. */
		ptrc_reader_set_lacking(r, status.posix_log_overrun_status == POSIX_TRACE_OVERRUN);
		r->counts.pt_log_lost_events = 0;
		r->status.posix_log_overrun_status = POSIX_TRACE_NO_OVERRUN;
	}
	set_missed(r, counts.pt_lost_events, counts.pt_log_lost_events);
	return true;
}

/*
 * Handles a connection that was closed before the log was complete. Returns false. If the controller was killed, its
 * socket still exists and refuses connections: the error is ECONNRESET. (The socket is not removed, so that other
 * followers notice the kill, too.) Otherwise the controller has ended, and another session may have its name now, or it
 * has given up this reader. This is no error: the rest of the events counts as not shown.
 */
static bool take_silence(struct ptrc_reader *r)
{
	struct pollfd controller = {.fd = r->input->controller_fd, .events = POLLIN};

	/* Waits until the controller is gone: the kernel may have closed this connection of a killed
	 * controller, but not yet the socket on which the controller listens. */
	poll(&controller, controller.fd >= 0, PTRC_SESSION_LOOK_UP_MS);
	if (ptrc_session_knock(r->path) == ECONNREFUSED)
		return fail(r, ECONNRESET);
	r->is_rest_unshown = true;
	r->input->is_ended = true;
	return false;
}

/* Waits for the next message. Returns its size. Returns 0 at the end of the log and after an error. Also
 * returns 0, with EINTR in r->error, after a signal or if no message has come for PTRC_SESSION_LOOK_UP_MS. */
static size_t take_message(struct ptrc_reader *r)
{
	struct ptrc_reader_input *in = r->input;
	ssize_t n = recv(r->fd, in->message, sizeof(in->message), MSG_TRUNC);

	if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
		r->error = EINTR;
		return 0;
	}
	if (!n || (n < 0 && errno == ECONNRESET))
		take_silence(r);
	else if (n < 0)
		fail(r, errno);
	else if ((size_t)n > sizeof(in->message))
		fail(r, EPROTO);
	else
		return (size_t)n;
	return 0;
}

static void look_up_names(struct ptrc_reader *r)
{
	trace_event_id_t id;

	while (ptrc_next_type(r->trace, &id))
		ptrc_reader_name(r, id);
}

static bool add_part(struct ptrc_reader *r, const void *bytes, size_t size)
{
	int is_complete = 0;
	int error = ptrc_log_add_part(r->trace, bytes, size, &is_complete);

	if (error)
		return fail(r, error);
	r->input->is_ended = is_complete;
	look_up_names(r);
	take_status(r);
	return true;
}

static bool receive(struct ptrc_reader *r)
{
	size_t size;

	r->error = r->input->error;
	if (r->input->is_ended)
		return false;
	size = take_message(r);
	return size && add_part(r, r->input->message, size);
}

static const struct ptrc_reader_source source = {
	.receive = receive,
	.is_waiting = is_waiting,
	.close = close_input,
};

/* Opens the log that starts with these bytes. Returns EPROTO if they are no log, or a log of another version, which
 * is then noted for ptrc_session_explain(). */
static int open_parts(struct ptrc_reader *r, const void *bytes, size_t size)
{
	enum { VERSION_AT = 12 };
	int error = ptrc_log_open_parts(bytes, size, &r->trace);
	uint16_t version;

	if (error == EPROTO) {
		memcpy(&version, (const char *)bytes + VERSION_AT, sizeof(version));
		ptrc_session_note_log(version);
	}
	return error == EINVAL ? EPROTO : error;
}

/* Receives the start of the log, up to the first STATUS packet. */
static int begin_log(struct ptrc_reader *r)
{
	size_t size = take_message(r);
	int error;

	if (!size)
		return r->error == EINTR ? ETIMEDOUT : r->error ?: ECONNRESET;
	error = open_parts(r, r->input->message, size);
	if (error)
		return error;
	/* If receive() stops before the first STATUS packet has come, the reader starts without it, and the names
	 * of event types come with the events. */
	while (!take_status(r) && receive(r))
		;
	look_up_names(r);
	return 0;
}

static int connect_reader(struct ptrc_reader *r, const char *session, enum ptrc_session_verb verb)
{
	PTRC_SCOPED struct ptrc_session_reply *reply = ptrc_cli_allocate(sizeof(*reply));
	int controller_fd;
	int error;

	memset(r, 0, sizeof(*r));
	r->path = session;
	error = ptrc_session_follow(session, verb, reply, &r->fd, &controller_fd);
	if (!error) {
		ptrc_reader_own_types(r);
		r->attributes = reply->state.attributes;
		r->status = reply->state.status;
		r->counts = reply->state.counts;
		/* Events that the stream lost before this reader connected are not counted as missed. */
		set_missed(r, 0, 0);
		r->input = ptrc_cli_allocate(sizeof(*r->input));
		r->input->controller_fd = controller_fd;
		r->input->is_snapshot = verb == PTRC_SESSION_DUMP;
	}
	return error;
}

static void disconnect(struct ptrc_reader *r)
{
	close_input(r);
	close(r->fd);
	ptrc_reader_free_types(r);
}

bool ptrc_reader_follow(struct ptrc_reader *r, const char *session)
{
	int error = connect_reader(r, session, PTRC_SESSION_FOLLOW);

	if (!error) {
		error = begin_log(r);
		if (error)
			disconnect(r);
	}
	if (error)
		ptrc_orphans_say_session(session, error);
	else
		r->source = &source;
	return !error;
}

/* ---- snapshots ---- */

/* Receives all messages of a snapshot at once, so that the session need not wait while the events are
 * processed. Returns an error number if no message comes for PTRC_SESSION_WORK_MS. */
static int receive_all(struct ptrc_reader *r)
{
	const int64_t wait_ns = PTRC_SESSION_WORK_MS * PTRC_NS_PER_MS;
	struct ptrc_reader_input *in = r->input;
	int64_t since = ptrc_now_ns();
	ssize_t n;

	while ((n = recv(r->fd, in->message, sizeof(in->message), MSG_TRUNC))) {
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
		ptrc_buffer_bytes(&in->all, in->message, (size_t)n);
	}
	return 0;
}

/* Opens the log of a snapshot with the first bytes of .all, at the start and for each rewind. */
static int open_snapshot(struct ptrc_reader *r)
{
	struct ptrc_reader_input *in = r->input;
	int error;

	in->added = in->all.used < sizeof(in->message) ? in->all.used : sizeof(in->message);
	in->is_ended = false;
	in->error = 0;
	r->is_rest_unshown = false;
	error = open_parts(r, in->added ? in->all.bytes : "", in->added);
	/* Adding no bytes sets .is_ended if the log is complete already. */
	return error || add_part(r, "", 0) ? error : in->error;
}

static bool receive_kept(struct ptrc_reader *r)
{
	struct ptrc_reader_input *in = r->input;
	size_t size = in->all.used - in->added;

	r->error = in->error;
	if (in->is_ended)
		return false;
	if (!size)
		return take_silence(r);
	size = size < sizeof(in->message) ? size : sizeof(in->message);
	in->added += size;
	return add_part(r, in->all.bytes + in->added - size, size);
}

static int rewind_snapshot(struct ptrc_reader *r)
{
	posix_trace_close(r->trace);
	return open_snapshot(r);
}

static const struct ptrc_reader_source snapshot = {
	.receive = receive_kept,
	.is_waiting = is_waiting,
	.rewind = rewind_snapshot,
	.close = close_input,
};

static int take_snapshot(struct ptrc_reader *r, const char *session)
{
	int error = connect_reader(r, session, PTRC_SESSION_DUMP);

	if (error)
		return error;
	r->source = &snapshot;
	error = receive_all(r) ?: open_snapshot(r);
	if (error)
		disconnect(r);
	return error;
}

/* Whether a log that is not gone is a regular file, or several, whose path also leads there from here: this process
 * may see other files than the session does. */
static bool is_log_here(const struct ptrc_session_state *s)
{
	struct stat st;

	if (!stat(s->log, &st))
		return S_ISREG(st.st_mode);
	return errno == ENOENT && ptrc_reader_is_there(s->log);
}

/* If the session has a log that gets all its events and can be read here, asks the session to flush its stream.
 * Returns whether the stream was flushed. Sets *error to ETIMEDOUT if the flush takes too long. */
static bool is_flushed(const char *session, const struct ptrc_session_state *s, int *error)
{
	static struct ptrc_session_reply reply;
	int away;

	if (!s->has_log || s->attributes.stream_full_policy != POSIX_TRACE_FLUSH ||
	    s->is_log_gone || !is_log_here(s))
		return false;
	away = ptrc_session_ask(session, PTRC_SESSION_FLUSH, &reply);
	if (away == ETIMEDOUT)
		*error = away;
	return !away && !reply.error;
}

/* Opens the log to which the session has just flushed its stream. The log gets the counts of losses only when it is
 * closed, so they are taken from the state of the session. */
static int open_log(struct ptrc_reader *r, const char *session)
{
	const struct ptrc_session_state *s;
	int error = ptrc_session_stat(session, &s);
	char *path;

	if (error)
		return error;
	path = ptrc_cli_copy(s->log);
	if (!ptrc_reader_open(r, path)) {
		free(path);
		return EIO;
	}
	r->own_path = path;
	r->is_growing = true;
	r->status = s->status;
	r->counts.pt_lost_events = s->counts.pt_lost_events;
	r->counts.pt_log_lost_events = s->counts.pt_log_lost_events;
	r->counts.pt_unobserved_events = s->counts.pt_unobserved_events;
	r->counts.pt_untraced_processes = s->counts.pt_untraced_processes;
	r->counts.pt_untraced_error = s->counts.pt_untraced_error;
	r->counts.pt_untraced_versions = s->counts.pt_untraced_versions;
	r->counts.pt_refused_names = s->counts.pt_refused_names;
	r->counts.pt_missing_names = s->counts.pt_missing_names;
	r->counts.pt_data_needed = s->counts.pt_data_needed;
	return 0;
}

int ptrc_reader_dump(struct ptrc_reader *r, const char *session)
{
	const struct ptrc_session_state *s;
	int error = ptrc_session_stat(session, &s);

	if (error == ENOENT)
		return error;
	if (!error && ptrc_session_keeps_nothing(s)) {
		ptrc_cli_message(
			session,
			"its events are counted and not kept; ptrace-stat shows the counts, "
			"ptrace-dump --follow the events that come from now on");
		return ENODATA;
	}
	if (!error && is_flushed(session, s, &error)) {
		error = open_log(r, session);
		if (!error || error == EIO)
			return error;
	} else if (!error) {
		error = take_snapshot(r, session);
	}
	if (!error)
		ptrc_session_count_log(s, &r->counts);
	if (error)
		ptrc_orphans_say_session(session, error);
	else if (r->counts.pt_log_events && s->is_log_gone)
		r->is_log_gone = true;
	else if (r->counts.pt_log_events)
		ptrc_cli_message(session, "%lu earlier events are in its log, %s",
				 r->counts.pt_log_events, s->log);
	return error;
}
