/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/session_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/background.h"
#include "src/base/message.h"
#include "src/base/clock.h"
#include "src/base/scope.h"
#include "src/session/filter_rules.h"
#include "src/session/keeper.h"
#include "src/session/session_follow.h"
#include "src/query/reader.h"

enum {
	/* The most connections that have not sent a request; one more replaces the oldest. Also the most clients
	 * that wait for work in the background. */
	CLIENTS_MAX = 16,
	/* How long a controller that ends waits for the requests of clients that are connected. */
	LAST_CLIENTS_MS = 100,
	/* For how long no connection is accepted after this process has run out of descriptors. */
	LISTEN_PAUSE_MS = 100,
	/* How often a controller looks whether the first file of a rotated log was deleted. */
	LOG_LOOK_MS = 1000,
};

/* Work that a background thread does, because it waits until a log or a snapshot is written, which may stall. */
enum work {
	WORK_NONE,
	WORK_SNAPSHOT,
	WORK_FLUSH,
	WORK_CLEAR,
	WORK_SHUTDOWN,
};

/* Indexes of the array for poll(). The entries of the followers come after those of the clients. */
enum {
	POLL_LISTEN,
	POLL_TARGET,
	POLL_WORK,
	POLL_CLIENTS,
};
_Static_assert(POLL_CLIENTS + CLIENTS_MAX + PTRC_FOLLOWERS_MAX == PTRC_SERVER_POLL_MAX,
	       "the callers have room for all descriptors");

/* Connections, in the order in which they came. */
struct clients {
	struct {
		int fd;
		unsigned int verb; /* 0 until the request is received */
	} list[CLIENTS_MAX];
	size_t count;
};

struct ptrc_server {
	const struct ptrc_session_plan *plan;
	char directory[64];
	char name[PTRC_SESSION_NAME_MAX + 1];
	struct sockaddr_un address;
	/* The inode of this server's socket, so that this server does not remove a socket that another
	 * controller has put in its place. */
	ino_t inode;
	/* The descriptor on which we listen; -1 without a socket. */
	int listen_fd;
	/* A descriptor of /dev/null, or -1. When no other descriptor is left, it is closed to accept a
	 * connection, so that commands can reach the session however many processes follow it. */
	int spare_fd;
	/* No connection is accepted before this monotonic time, in ns; 0: connections are accepted. */
	int64_t listen_pause_ns;
	/* A pidfd of the target. It is -1 after the target's end, and in ptrace-run, which is the target's
	 * parent and notices the end by itself. */
	int target_fd;
	bool has_target_ended;
	trace_id_t trace;
	struct ptrc_follow follow;
	/* NULL if the session makes no snapshots by itself. */
	struct ptrc_snapshots *snapshots;
	/* NULL if no events of the operating system are recorded. If the user asked for them, .os_refusal says why. */
	struct ptrc_os_trace *os;
	struct ptrc_cli_reason os_refusal;
	/* The start of each snapshot's path. */
	char snapshot_base[PATH_MAX];
	/* posix_trace_get_status() reports the next three facts only once, so they are kept here until a CLEAR, and
	 * flush_error also until a FLUSH. */
	bool is_stream_overrun;
	bool is_log_overrun;
	int flush_error;
	/* The error that a FLUSH has ended; 0 after a CLEAR. */
	int past_flush_error;
	/* For how long the trace has run in all since it was created or cleared, up to its last stop. */
	int64_t ran_ns;
	/* The monotonic time at which the trace was last started; only valid if is_running. */
	int64_t running_since_ns;
	bool is_running;
	/* Clients that have not sent a request yet. */
	struct clients clients;
	/* Clients whose requests are done in the background. If .work is WORK_FLUSH or WORK_CLEAR, the first
	 * of these clients is being served. */
	struct clients waiting;
	enum work work;
	struct ptrc_background background;
	struct ptrc_counts final_counts;
	/* How many clients and followers the last ptrc_server_poll() has put into the array. */
	size_t polled_clients;
	size_t polled_followers;
	/* ptrc_follow_read() stopped because of its time limit, so there may be more events for followers. */
	bool is_more;
	/* The request at the head of .waiting, a flush or a clear, waited for a snapshot that was
	 * made before it. No second snapshot is made for this request. */
	bool has_last_snapshot;
	/* The session has to end as soon as the background thread has nothing to do. */
	bool is_end_wanted;
	/* The trace was stopped because the session ends. A last snapshot of its stream may follow. */
	bool is_stopped;
	/* The stream is gone. The next two members are its last state. */
	bool is_ending;
	struct ptrc_follow_end end;
	struct ptrc_session_state end_state;
	/* The connection on which the current request is answered. */
	int client_fd;
	struct {
		struct ptrc_session_request head;
		char texts[PTRC_SESSION_TEXTS_MAX];
	} request;
	struct ptrc_session_reply reply;
};

static uint64_t count_events(trace_id_t trace)
{
	PTRC_SCOPED struct posixtrace_type_count *counts = ptrc_type_counts(trace);
	uint64_t sum = 0;

	for (size_t id = 0; counts && id < PTRC_READER_IDS; id++)
		sum += counts[id].pt_events;
	return sum;
}

static void set_running(struct ptrc_server *s, bool is_running)
{
	if (s->is_running && !is_running)
		s->ran_ns += ptrc_now_ns() - s->running_since_ns;
	if (!s->is_running && is_running)
		s->running_since_ns = ptrc_now_ns();
	s->is_running = is_running;
}

static bool keep_spare(struct ptrc_server *s)
{
	if (s->spare_fd < 0)
		s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return s->spare_fd >= 0;
}

/* Adds to pt_log_events the OVERFLOW and the RESUME with which a log of the policy loop starts if it has lost
 * events, unless the filter excludes them. The library does not count the two, because readers generate them. */
static void count_gap_of_ring(trace_id_t trace, struct ptrc_session_state *state)
{
	static const trace_event_id_t ids[] = {POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME};
	trace_event_set_t filter;

	if (!state->has_log || state->attributes.log_full_policy != POSIX_TRACE_LOOP ||
	    !state->counts.pt_log_lost_events || posix_trace_get_filter(trace, &filter))
		return;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		state->counts.pt_log_events += !ptrc_is_in_set(&filter, ids[i]);
}

/* Stores the status of the trace, and notes whether the trace runs. Overruns stay in the status until the trace is
 * cleared, errors of flushes until finish_flush(). Returns false if the stream does not exist any more. */
static bool take_status(struct ptrc_server *s, struct posix_trace_status_info *status)
{
	if (posix_trace_get_status(s->trace, status))
		return false;
	/* Not only START and STOP change whether the trace runs: a full stream stops by itself, and continues
	 * after it was read. */
	set_running(s, status->posix_stream_status == POSIX_TRACE_RUNNING);
	s->is_stream_overrun |= status->posix_stream_overrun_status == POSIX_TRACE_OVERRUN;
	s->is_log_overrun |= status->posix_log_overrun_status == POSIX_TRACE_OVERRUN;
	if (!s->flush_error)
		s->flush_error = status->posix_stream_flush_error;
	if (s->is_stream_overrun)
		status->posix_stream_overrun_status = POSIX_TRACE_OVERRUN;
	if (s->is_log_overrun)
		status->posix_log_overrun_status = POSIX_TRACE_OVERRUN;
	status->posix_stream_flush_error = s->flush_error;
	return true;
}

static void gather(struct ptrc_server *s, struct ptrc_session_state *state)
{
	const struct ptrc_logfile *log = s->plan->log;

	memset(state, 0, sizeof(*state));
	state->controller = getpid();
	state->pid_namespace = ptrc_session_pid_namespace();
	state->target = s->plan->target;
	state->has_log = log != NULL;
	state->is_run = s->plan->is_run;
	state->is_target_alive = !s->has_target_ended;
	state->is_until_exit = s->plan->is_until_exit;
	state->is_ending = s->is_stopped;
	memcpy(state->name, s->name, sizeof(state->name));
	if (s->plan->log_path)
		snprintf(state->log, sizeof(state->log), "%s", s->plan->log_path);
	if (s->snapshots)
		ptrc_snapshots_gather(s->snapshots, &state->snapshots);
	ptrc_attributes_gather(s->trace, &state->attributes);
	/* If no file is at the log's path, only the first file of a rotated log may have been moved or deleted. */
	state->is_log_gone = state->has_log &&
			     (log->fd < 0 || ptrc_logfile_is_gone(log->fd, s->plan->log_path)) &&
			     (!access(s->plan->log_path, F_OK) || ptrc_trace_is_log_gone(s->trace));
	ptrc_trace_counts(s->trace, &state->counts);
	count_gap_of_ring(s->trace, state);
	state->event_count = count_events(s->trace);
	if (!take_status(s, &state->status))
		return;
	state->running_ns = (uint64_t)s->ran_ns;
	if (s->is_running)
		state->running_ns += (uint64_t)(ptrc_now_ns() - s->running_since_ns);
}

void ptrc_server_remove_socket(struct ptrc_server *s)
{
	PTRC_SCOPED_FD lock = -1;
	struct stat st;

	if (s->listen_fd < 0)
		return;
	lock = ptrc_session_lock(s->directory);
	if (!lstat(s->address.sun_path, &st) && st.st_ino == s->inode)
		unlink(s->address.sun_path);
}

/* ---- work in the background ---- */

static int do_work(void *arg)
{
	struct ptrc_server *s = arg;

	switch (s->work) {
	case WORK_SNAPSHOT:
		return ptrc_snapshots_write(s->snapshots);
	case WORK_FLUSH:
		return posix_trace_flush(s->trace);
	case WORK_CLEAR:
		return posix_trace_clear(s->trace);
	default:
		return ptrc_trace_shutdown(s->trace, &s->final_counts);
	}
}

static void begin_work(struct ptrc_server *s, enum work work)
{
	s->work = work;
	ptrc_background_begin(&s->background, do_work, s);
}

/* Whether the background thread clears or ends the trace. Until it has done so, calls of the library for this
 * trace would make the main loop wait. */
static bool is_trace_busy(const struct ptrc_server *s)
{
	return s->work > WORK_FLUSH || s->is_stopped;
}

/* Starts a snapshot if an event demands one. Returns whether it has started one. is_last: the stream is about to
 * lose its events, so no pause (PTRC_SNAPSHOTS_PAUSE_MS) delays the snapshot. */
static bool begin_snapshot(struct ptrc_server *s, bool is_last)
{
	static struct ptrc_session_state state;
	const struct ptrc_snapshot *refused;
	bool is_due;

	if (!s->snapshots)
		return false;
	is_due = ptrc_snapshots_is_due(s->snapshots, is_last, &refused);
	if (refused && s->plan->snapshot)
		s->plan->snapshot(s->plan->arg, refused);
	if (!is_due)
		return false;
	gather(s, &state);
	ptrc_snapshots_prepare(s->snapshots, &state.status, &state.counts);
	begin_work(s, WORK_SNAPSHOT);
	return true;
}

/* Ends the session. Whatever errors happen, in the end the stream is gone, the log is closed and the name is
 * free. */
static void begin_end(struct ptrc_server *s)
{
	if (!s->is_stopped) {
		ptrc_os_end(s->os);
		if (s->plan->stopping)
			s->plan->stopping(s->plan->arg, s->trace);
		/* After posix_trace_stop() no event is recorded, so gather() below gets the final counts of events. */
		posix_trace_stop(s->trace);
		ptrc_os_close(s->os);
		s->os = NULL;
		set_running(s, false);
		ptrc_follow_finish(&s->follow);
		s->is_stopped = true;
	}
	/* After the snapshot, begin_next() will call this function again. */
	if (begin_snapshot(s, true))
		return;
	if (s->snapshots)
		ptrc_snapshots_end(s->snapshots);
	gather(s, &s->end_state);
	/* Events that were lost in the stream were so, perhaps, because the log could not be written then. */
	if (s->is_stream_overrun && !s->flush_error)
		s->end_state.status.posix_stream_flush_error = s->past_flush_error;
	if (s->plan->stopped)
		s->plan->stopped(s->plan->arg, s->trace, &s->end_state);
	begin_work(s, WORK_SHUTDOWN);
}

static void finish_end(struct ptrc_server *s, int error)
{
	struct ptrc_session_state *state = &s->end_state;

	/* If the log is a pipe, no command can count its events later, so the last counts are reported. */
	state->counts = s->final_counts;
	s->end = (struct ptrc_follow_end){
		.error = error, .status = state->status, .counts = state->counts};
	if (s->plan->ended)
		s->plan->ended(s->plan->arg, error, state);
	ptrc_server_remove_socket(s);
	s->is_ending = true;
}

static void put_state(struct ptrc_server *s, bool is_of_end)
{
	if (is_of_end)
		s->reply.state = s->end_state;
	else
		gather(s, &s->reply.state);
	s->reply.body = PTRC_SESSION_BODY_STATE;
	s->reply.size = sizeof(s->reply.state);
}

/* ---- the verbs: each function returns the error number for the reply ---- */

/* Answers STAT. While a session ends, it is still listed, with its last state, until its log is complete. */
static int answer_stat(struct ptrc_server *s)
{
	put_state(s, s->work == WORK_SHUTDOWN);
	return 0;
}

static int answer_start(struct ptrc_server *s)
{
	struct posix_trace_status_info status;
	bool was_running = take_status(s, &status) && s->is_running;
	int error;

	/* Drops events of the operating system from before the start, unless the trace was running already. */
	if (!was_running)
		ptrc_os_suspend(s->os);
	error = posix_trace_start(s->trace);
	if (!was_running)
		ptrc_os_resume(s->os);
	if (!error)
		set_running(s, true);
	return error;
}

static int answer_stop(struct ptrc_server *s)
{
	int error;

	ptrc_os_catch_up(s->os);
	error = posix_trace_stop(s->trace);
	if (!error)
		set_running(s, false);
	return error;
}

/* ---- long verbs, which are done in the background ---- */

static void begin_flush(struct ptrc_server *s)
{
	ptrc_os_catch_up(s->os);
	/* Followers cannot get events that were flushed, so all events are sent to them first. The number of
	 * rounds is limited, because a program may record events faster than the controller reads them. */
	for (int i = 0; i < 10 && ptrc_follow_read(&s->follow); i++)
		;
	begin_work(s, WORK_FLUSH);
}

static void begin_clear(struct ptrc_server *s)
{
	ptrc_os_suspend(s->os);
	ptrc_follow_clear(&s->follow);
	begin_work(s, WORK_CLEAR);
}

static void finish_clear(struct ptrc_server *s)
{
	s->is_stream_overrun = false;
	s->is_log_overrun = false;
	s->flush_error = s->past_flush_error = 0;
	ptrc_follow_cleared(&s->follow);
	s->ran_ns = 0;
	s->running_since_ns = ptrc_now_ns();
}

/* A flush that succeeds brings all events that earlier ones could not write. The events that the log had before
 * another program changed it (ESTALE) stay lost. */
static void finish_flush(struct ptrc_server *s)
{
	struct posix_trace_status_info status;

	take_status(s, &status);
	if (!s->flush_error || s->flush_error == ESTALE)
		return;
	s->past_flush_error = s->flush_error;
	s->flush_error = 0;
}

static void want_end(struct ptrc_server *s)
{
	s->is_end_wanted = true;
}

/* ---- verbs that are answered at once ---- */

static int answer_filter(struct ptrc_server *s)
{
	/* Adds the events of the operating system up to now before the change: the old filter applies to them. */
	ptrc_os_catch_up(s->os);
	return ptrc_filter_rules_change(s->trace, s->request.head.flags, s->request.texts,
					s->request.head.size, &s->reply.text);
}

static int answer_types(struct ptrc_server *s)
{
	return ptrc_filter_rules_page(s->trace, s->snapshots, s->request.head.from, &s->reply);
}

static int answer_follow(struct ptrc_server *s)
{
	put_state(s, false);
	/* A follower keeps its descriptor for a long time. The spare descriptor has to be left for other
	 * clients, so that they can still connect. */
	return keep_spare(s)
		       ? ptrc_follow_add(&s->follow, s->client_fd,
					 s->request.head.verb == PTRC_SESSION_DUMP, &s->reply.state)
		       : EMFILE;
}

static const struct {
	int (*answer)(struct ptrc_server *);
	/* For a verb that takes long: starts the work in the background. The client has got WORKING already, and
	 * gets DONE from answer_waiting(). */
	void (*begin)(struct ptrc_server *);
} verbs[PTRC_SESSION_VERBS] = {
	[PTRC_SESSION_STAT] = {.answer = answer_stat},
	[PTRC_SESSION_START] = {.answer = answer_start},
	[PTRC_SESSION_STOP] = {.answer = answer_stop},
	[PTRC_SESSION_FLUSH] = {.begin = begin_flush},
	[PTRC_SESSION_CLEAR] = {.begin = begin_clear},
	[PTRC_SESSION_SHUTDOWN] = {.begin = want_end},
	[PTRC_SESSION_FILTER] = {.answer = answer_filter},
	[PTRC_SESSION_TYPES] = {.answer = answer_types},
	[PTRC_SESSION_FOLLOW] = {.answer = answer_follow},
	[PTRC_SESSION_DUMP] = {.answer = answer_follow},
};

static void send_reply(struct ptrc_server *s, enum ptrc_session_kind kind)
{
	s->reply.kind = (uint16_t)kind;
	/* If a client is gone or does not read, the reply is lost. */
	send(s->client_fd, &s->reply, offsetof(struct ptrc_session_reply, state) + s->reply.size,
	     MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void begin_reply(struct ptrc_server *s, int fd)
{
	s->client_fd = fd;
	memset(&s->reply, 0, offsetof(struct ptrc_session_reply, state));
	s->reply.magic = PTRC_SESSION_MAGIC;
	s->reply.version = PTRC_SESSION_VERSION;
	s->reply.keeper = s->plan->log ? ptrc_keeper_watched() : 0;
}

static void add_client(struct clients *c, int fd, unsigned int verb)
{
	c->list[c->count].fd = fd;
	c->list[c->count++].verb = verb;
}

static int take_client(struct clients *c, size_t i)
{
	int fd = c->list[i].fd;

	c->count--;
	memmove(c->list + i, c->list + i + 1, (c->count - i) * sizeof(c->list[0]));
	return fd;
}

/* Sends DONE to the first client in .waiting, whose request is done, and closes the connection. */
static void answer_waiting(struct ptrc_server *s, int error)
{
	bool is_shutdown = s->waiting.list[0].verb == PTRC_SESSION_SHUTDOWN;
	int fd = take_client(&s->waiting, 0);

	begin_reply(s, fd);
	s->reply.error = error;
	/* The state in the reply makes the client report losses. If the session has no log and makes no
	 * snapshots, no events were meant to be kept, so the reply has no state. */
	if (is_shutdown && (s->plan->log || s->snapshots))
		put_state(s, true);
	send_reply(s, PTRC_SESSION_DONE);
	close(fd);
}

/* Called when the session has ended. Answers the clients that wait for a SHUTDOWN, and closes the connections of
 * those that wait for a flush or a clear. */
static void answer_end(struct ptrc_server *s)
{
	while (s->waiting.count)
		if (s->waiting.list[0].verb == PTRC_SESSION_SHUTDOWN)
			answer_waiting(s, s->end.error);
		else
			close(take_client(&s->waiting, 0));
}

/* Starts the next work in the background, unless some is being done. The end of the session takes precedence. */
static void begin_next(struct ptrc_server *s)
{
	if (s->work || s->is_ending)
		return;
	/* If an event demands a snapshot, the snapshot is made before a flush or a clear, which takes the events
	 * out of the stream. Only one is made for each request: a program may demand snapshots all the time, and
	 * the request would never be done. */
	if (s->is_end_wanted) {
		begin_end(s);
	} else if (!s->has_last_snapshot && begin_snapshot(s, s->waiting.count > 0)) {
		s->has_last_snapshot = s->waiting.count > 0;
	} else if (s->waiting.count) {
		s->has_last_snapshot = false;
		verbs[s->waiting.list[0].verb].begin(s);
	}
}

static void finish_work(struct ptrc_server *s)
{
	enum work work = s->work;
	int error = ptrc_background_end(&s->background);

	s->work = WORK_NONE;
	if (work == WORK_SNAPSHOT) {
		const struct ptrc_snapshot *made = ptrc_snapshots_finish(s->snapshots, error);

		if (s->plan->snapshot)
			s->plan->snapshot(s->plan->arg, made);
	} else if (work == WORK_SHUTDOWN) {
		finish_end(s, error);
		answer_end(s);
	} else {
		if (work == WORK_CLEAR)
			ptrc_os_resume(s->os);
		if (work == WORK_CLEAR && !error)
			finish_clear(s);
		if (work == WORK_FLUSH && !error)
			finish_flush(s);
		answer_waiting(s, error);
	}
}

/* Receives a request, and answers it or queues it for the background. Returns false if the caller has to close the
 * connection, true for a follower or a client that waits for work in the background. */
static bool serve(struct ptrc_server *s, int fd)
{
	const struct ptrc_session_request *r = &s->request.head;
	ssize_t n = recv(fd, &s->request, sizeof(s->request), MSG_DONTWAIT | MSG_TRUNC);
	uint32_t flags = r->verb == PTRC_SESSION_FILTER ? PTRC_SESSION_FILTER_FLAGS : 0;
	unsigned int verb = 0;

	/* Requests of all protocol versions start with these fields. */
	if (n < (ssize_t)offsetof(struct ptrc_session_request, flags) ||
	    n > (ssize_t)sizeof(s->request) || r->magic != PTRC_SESSION_MAGIC)
		return false;
	/* If a request is incomplete, of another version, or has a verb or a flag that a later release has added,
	 * it is treated as verb 0, for which the reply is ENOSYS. */
	if ((size_t)n >= sizeof(*r) && r->version == PTRC_SESSION_VERSION &&
	    r->size == (size_t)n - sizeof(*r) && r->verb < PTRC_SESSION_VERBS &&
	    !(r->flags & ~flags))
		verb = r->verb;
	/* After the end, only SHUTDOWN is answered, with the same reply as the first SHUTDOWN. While the trace is
	 * being ended, STAT is answered, too. While the trace is being cleared, no request comes to this function. */
	if ((s->is_ending || (is_trace_busy(s) && verb != PTRC_SESSION_STAT)) &&
	    verb != PTRC_SESSION_SHUTDOWN)
		return false;
	begin_reply(s, fd);
	if (verbs[verb].begin) {
		if (s->waiting.count == CLIENTS_MAX)
			return false;
		send_reply(s, PTRC_SESSION_WORKING);
		add_client(&s->waiting, fd, verb);
		if (s->is_ending)
			answer_end(s);
		else if (verb == PTRC_SESSION_SHUTDOWN)
			want_end(s);
		return true;
	}
	s->reply.error = verbs[verb].answer ? verbs[verb].answer(s) : ENOSYS;
	send_reply(s, PTRC_SESSION_DONE);
	if ((verb != PTRC_SESSION_FOLLOW && verb != PTRC_SESSION_DUMP) || s->reply.error)
		return false;
	/* The client waits for the first packets of the log, so they are sent at once. */
	ptrc_follow_greet(&s->follow);
	return true;
}

/* ---- connections ---- */

static int accept_connection(struct ptrc_server *s)
{
	int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0 || (errno != EMFILE && errno != ENFILE))
		return fd;
	if (s->spare_fd >= 0) {
		close(s->spare_fd);
		s->spare_fd = -1;
	} else if (s->clients.count) {
		close(take_client(&s->clients, 0));
	}
	fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	/* Without this pause, poll() would return again and again, because the client still waits to be accepted. */
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		s->listen_pause_ns = ptrc_now_ns() + LISTEN_PAUSE_MS * PTRC_NS_PER_MS;
	return fd;
}

static void accept_client(struct ptrc_server *s)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int fd = accept_connection(s);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.uid && peer.uid != geteuid())) {
		close(fd);
		return;
	}
	/* Closes the oldest connection, because clients that send nothing must not keep all others out. */
	if (s->clients.count == CLIENTS_MAX)
		close(take_client(&s->clients, 0));
	add_client(&s->clients, fd, 0);
}

void ptrc_server_target_ended(struct ptrc_server *s)
{
	s->has_target_ended = true;
}

/* Returns the limit for the next poll() in milliseconds; -1: no limit. */
static int next_look(const struct ptrc_server *s)
{
	const struct ptrc_logfile *log = s->plan->log;
	int ms = s->follow.count ? PTRC_FOLLOW_READ_MS : -1;
	int look_ms = s->snapshots && !s->work ? ptrc_snapshots_wait_ms(s->snapshots) : -1;

	if (s->listen_pause_ns && (ms < 0 || ms > LISTEN_PAUSE_MS))
		ms = LISTEN_PAUSE_MS;
	if (log && log->is_rotated && log->fd >= 0 && (ms < 0 || ms > LOG_LOOK_MS))
		ms = LOG_LOOK_MS;
	return look_ms >= 0 && (ms < 0 || ms > look_ms) ? look_ms : ms;
}

static void serve_clients(struct ptrc_server *s, const struct pollfd *p, size_t count)
{
	/* The loop goes backwards, because each client that is served is removed from the list. */
	for (size_t i = count; i-- > 0;) {
		int fd = p[i].revents ? take_client(&s->clients, i) : -1;

		if (fd >= 0 && !serve(s, fd))
			close(fd);
	}
}

static size_t poll_clients(const struct ptrc_server *s, struct pollfd *p)
{
	for (size_t i = 0; i < s->clients.count; i++)
		p[i] = (struct pollfd){.fd = s->clients.list[i].fd, .events = POLLIN};
	return s->clients.count;
}

/* Answers the SHUTDOWN requests of clients that connected before the session ended. */
static void serve_last_clients(struct ptrc_server *s)
{
	int64_t until = ptrc_now_ns() + LAST_CLIENTS_MS * PTRC_NS_PER_MS;
	int64_t now;

	while ((now = ptrc_now_ns()) < until) {
		struct pollfd p[1 + CLIENTS_MAX] = {
			{.fd = s->listen_fd, .events = POLLIN},
		};
		size_t count = poll_clients(s, p + 1);
		int left = count ? (int)((until - now) / PTRC_NS_PER_MS) : 0;

		if (poll(p, 1 + count, left) <= 0)
			break;
		serve_clients(s, p + 1, count);
		if (p[0].revents)
			accept_client(s);
	}
}

void ptrc_server_begin(struct ptrc_server *s)
{
	s->follow.trace = s->trace;
	s->follow.has_log = s->plan->log != NULL;
	set_running(s, s->plan->is_started);
	if (s->follow.has_log)
		ptrc_keeper_watch(s->trace);
}

size_t ptrc_server_poll(struct ptrc_server *s, struct pollfd *p, int *limit_ms)
{
	bool is_busy = is_trace_busy(s);
	/* While the background thread clears the trace, no request is read. While it ends the trace, serve() refuses
	 * all requests except STAT and SHUTDOWN. */
	bool is_serving = s->work != WORK_CLEAR;

	if (s->listen_fd >= 0)
		keep_spare(s);
	if (s->plan->log)
		ptrc_logfile_let_go(s->plan->log);
	if (s->listen_pause_ns && ptrc_now_ns() >= s->listen_pause_ns)
		s->listen_pause_ns = 0;
	p[POLL_LISTEN] = (struct pollfd){
		.fd = is_serving && !s->listen_pause_ns ? s->listen_fd : -1, .events = POLLIN};
	p[POLL_TARGET] = (struct pollfd){.fd = s->target_fd, .events = POLLIN};
	p[POLL_WORK] = (struct pollfd){.fd = s->work ? s->background.fd : -1, .events = POLLIN};
	p += POLL_CLIENTS;
	s->polled_clients = is_serving ? poll_clients(s, p) : 0;
	s->polled_followers = is_busy ? 0 : ptrc_follow_poll(&s->follow, p + s->polled_clients);
	*limit_ms = is_busy ? -1 : s->is_more ? 0 : next_look(s);
	if (s->work && s->background.fd < 0)
		*limit_ms = 0;
	return POLL_CLIENTS + s->polled_clients + s->polled_followers;
}

void ptrc_server_step(struct ptrc_server *s, const struct pollfd *p)
{
	const struct pollfd *clients = p + POLL_CLIENTS;

	s->is_more = false;
	if (!is_trace_busy(s)) {
		ptrc_follow_serve(&s->follow, clients + s->polled_clients, s->polled_followers);
		s->is_more = ptrc_follow_read(&s->follow);
	}
	serve_clients(s, clients, s->polled_clients);
	if (p[POLL_TARGET].revents) {
		close(s->target_fd);
		s->target_fd = -1;
		ptrc_server_target_ended(s);
		/* The run itself decides when it ends. */
		s->is_end_wanted |= s->plan->is_until_exit && !s->plan->is_run;
	}
	if (p[POLL_LISTEN].revents)
		accept_client(s);
	if (s->work && (p[POLL_WORK].revents || s->background.fd < 0))
		finish_work(s);
	begin_next(s);
}

void ptrc_server_end(struct ptrc_server *s)
{
	want_end(s);
	begin_next(s);
}

bool ptrc_server_has_ended(const struct ptrc_server *s)
{
	return s->is_ending;
}

static void close_all(struct ptrc_server *s)
{
	while (s->clients.count)
		close(take_client(&s->clients, 0));
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	if (s->spare_fd >= 0)
		close(s->spare_fd);
	s->listen_fd = s->spare_fd = -1;
}

void ptrc_server_close(struct ptrc_server *s)
{
	serve_last_clients(s);
	ptrc_follow_end(&s->follow, &s->end);
	close_all(s);
}

/* Makes a socket under a temporary name. It listens before it gets the name of the session, because a socket of a
 * session that refuses connections is taken for that of a killed controller. */
static int make_socket(struct ptrc_server *s)
{
	struct sockaddr_un address;
	char name[24];
	struct stat st;
	int error;

	snprintf(name, sizeof(name), "~%ld", (long)getpid());
	ptrc_session_address(s->directory, name, &address);
	s->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listen_fd < 0)
		return errno;
	unlink(address.sun_path);
	if (bind(s->listen_fd, (const struct sockaddr *)&address, sizeof(address)))
		return errno;
	s->address = address;
	if (!listen(s->listen_fd, CLIENTS_MAX) && !lstat(address.sun_path, &st)) {
		s->inode = st.st_ino;
		return 0;
	}
	error = errno;
	unlink(address.sun_path);
	return error;
}

static int take_name(struct ptrc_server *s, const char *name)
{
	struct sockaddr_un address;
	PTRC_SCOPED_FD lock = ptrc_session_lock(s->directory);
	int error;
	int fd;

	if (lock < 0)
		return ETIMEDOUT;
	ptrc_session_address(s->directory, name, &address);
	/* A socket that refuses connections belonged to a controller that was killed, so it may be replaced.
	 * Any other socket keeps the name, even if its controller does not answer. */
	error = ptrc_session_connect(&address, PTRC_SESSION_ANSWER_MS, &fd);
	if (!error)
		close(fd);
	if (error == ECONNREFUSED)
		unlink(address.sun_path);
	error = error != ECONNREFUSED && !access(address.sun_path, F_OK) ? EEXIST : 0;
	if (!error && rename(s->address.sun_path, address.sun_path))
		error = errno;
	if (!error) {
		s->address = address;
		snprintf(s->name, sizeof(s->name), "%s", name);
	}
	return error;
}

static int find_name(struct ptrc_server *s)
{
	char name[PTRC_SESSION_NAME_MAX + 1];
	int error;

	if (s->plan->name)
		return take_name(s, s->plan->name);
	error = take_name(s, s->plan->name_stem);
	for (int i = 2; error == EEXIST && i < 1000; i++) {
		snprintf(name, sizeof(name), "%.50s-%d", s->plan->name_stem, i);
		error = take_name(s, name);
	}
	return error;
}

int ptrc_server_listen(struct ptrc_server *s, int32_t *stage)
{
	int error;

	*stage = PTRC_SESSION_STAGE_DIRECTORY;
	error = ptrc_inspect_directory(1, s->directory) ?: make_socket(s);
	if (!error) {
		*stage = PTRC_SESSION_STAGE_NAME;
		error = find_name(s);
		if (error)
			ptrc_server_remove_socket(s);
		else
			ptrc_session_sweep(s->directory);
	}
	if (error)
		close_all(s);
	return error;
}

const char *ptrc_server_name(const struct ptrc_server *s)
{
	return s->name;
}

/* Starts to watch for events that make snapshots. If the log is a regular file, the files of snapshots are
 * put into its directory. */
static int make_snapshots(struct ptrc_server *s)
{
	const struct ptrc_session_plan *plan = s->plan;
	struct stat st;
	bool is_file = plan->log && !fstat(plan->log->fd, &st) && S_ISREG(st.st_mode);
	char *slash;
	int n;

	if (!is_file && !plan->snapshots.directory)
		return ENOENT;
	n = is_file ? snprintf(s->snapshot_base, PATH_MAX, "%s", plan->log_path)
		    : snprintf(s->snapshot_base, PATH_MAX, "%s/%s", plan->snapshots.directory,
			       s->name);
	if (n < 0 || n >= PATH_MAX)
		return ENAMETOOLONG;
	/* The directory is checked now, so that the user learns of an error before the awaited event comes. */
	slash = strrchr(s->snapshot_base, '/');
	if (slash && slash != s->snapshot_base) {
		*slash = '\0';
		if (faccessat(AT_FDCWD, s->snapshot_base, W_OK | X_OK, AT_EACCESS))
			return errno;
		*slash = '/';
	}
	return ptrc_snapshots_begin(&s->snapshots, &plan->snapshots, s->trace, s->snapshot_base,
				    plan->is_unsynced);
}

/* Starts to record events of the operating system. A failure is not an error: the trace then has no such events. */
static void begin_os(struct ptrc_server *s)
{
	int error;

	if (!s->plan->os.kinds)
		return;
	s->os = ptrc_os_open(&s->plan->os, s->plan->target, &s->os_refusal);
	error = s->os ? ptrc_os_begin(s->os, s->trace) : 0;
	if (error) {
		ptrc_cli_because(&s->os_refusal, "no events of the operating system: %s",
				 error == EEXIST
					 ? "the program has an event type of such a name, whose "
					   "data means something else"
					 : strerror(error));
		ptrc_os_close(s->os);
		s->os = NULL;
	}
	/* With PTRC_OS_AUTO the user did not ask for these events, so no message says why they are missing. */
	if (s->plan->os.kinds == PTRC_OS_AUTO)
		*s->os_refusal.text = '\0';
}

int ptrc_server_make_stream(struct ptrc_server *s, int32_t *stage)
{
	const struct ptrc_session_plan *plan = s->plan;
	trace_attr_t attr = *plan->attr;
	char trace_name[TRACE_NAME_MAX] = "";
	int error;

	*stage = PTRC_SESSION_STAGE_STREAM;
	/* By default the trace has the name of its session. */
	if (!posix_trace_attr_getname(&attr, trace_name) && !*trace_name)
		posix_trace_attr_setname(&attr, s->name);
	error = plan->log
			? posix_trace_create_withlog(plan->target, &attr, plan->log->fd, &s->trace)
			: posix_trace_create(plan->target, &attr, &s->trace);
	if (error)
		return error;
	if (plan->is_unsynced && plan->log)
		posixtrace_set_log_sync(s->trace, 0);
	if (plan->hides_command_lines)
		posixtrace_set_command_line(s->trace, 0);
	ptrc_trace_set_ending(s->trace, NULL);
	error = posixtrace_set_patterns(s->trace, plan->patterns, plan->pattern_count);
	if (error)
		*stage = PTRC_SESSION_STAGE_FILTER;
	if (!error && plan->snapshots.count) {
		*stage = PTRC_SESSION_STAGE_SNAPSHOTS;
		error = make_snapshots(s);
	}
	if (!error)
		begin_os(s);
	if (!error && plan->is_started) {
		*stage = PTRC_SESSION_STAGE_STREAM;
		error = posix_trace_start(s->trace);
		ptrc_os_resume(s->os);
	}
	if (error) {
		ptrc_os_close(s->os);
		s->os = NULL;
		posix_trace_shutdown(s->trace);
	}
	return error;
}

const char *ptrc_server_os_refusal(const struct ptrc_server *s)
{
	return s->os_refusal.text;
}

pid_t *ptrc_server_running(struct ptrc_server *s, size_t *count)
{
	return ptrc_os_running(s->os, count);
}

trace_id_t ptrc_server_trace(const struct ptrc_server *s)
{
	return s->trace;
}

struct ptrc_snapshots *ptrc_server_snapshots(const struct ptrc_server *s)
{
	return s->snapshots;
}

struct ptrc_server *ptrc_server_new(const struct ptrc_session_plan *plan)
{
	struct ptrc_server *s = calloc(1, sizeof(*s));

	if (!s)
		ptrc_cli_no_memory();
	s->plan = plan;
	s->target_fd = plan->target_fd;
	s->listen_fd = s->spare_fd = -1;
	return s;
}
