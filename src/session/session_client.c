/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/session_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/message.h"
#include "src/base/clock.h"
#include "src/base/output.h"
#include "src/base/scope.h"
#include "src/session/keeper.h"
#include "src/query/reader.h"

static int check_peer(int fd, pid_t *pid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return errno;
	*pid = peer.pid;
	return peer.uid == geteuid() ? 0 : EPERM;
}

/* Ends the texts of a state with null bytes, because the state comes from another process and is not trusted. */
static void terminate(struct ptrc_session_state *s)
{
	s->name[sizeof(s->name) - 1] = '\0';
	s->log[sizeof(s->log) - 1] = '\0';
	s->snapshots.event[sizeof(s->snapshots.event) - 1] = '\0';
	s->snapshots.path[sizeof(s->snapshots.path) - 1] = '\0';
	s->attributes.trace_name[sizeof(s->attributes.trace_name) - 1] = '\0';
	s->attributes.generation_version[sizeof(s->attributes.generation_version) - 1] = '\0';
}

/* The protocol version of the session that was asked last, if this command has another version;
 * else 0. */
static unsigned int other_version;
/* The format version of a log that a session has sent and that this command does not know; 0 if none.
 * The next question resets it to 0. */
static unsigned int other_log;

void ptrc_session_note_log(unsigned int version)
{
	other_log = version;
}

/* Whether the message of n bytes is a reply of this protocol version, and n agrees with its .size and .body. */
static bool is_reply(const struct ptrc_session_reply *r, size_t n)
{
	const size_t head = offsetof(struct ptrc_session_reply, state);

	/* Replies of all protocol versions start with these fields. */
	if (n < offsetof(struct ptrc_session_reply, kind) || r->magic != PTRC_SESSION_MAGIC)
		return false;
	if (r->version != PTRC_SESSION_VERSION)
		other_version = r->version;
	if (r->version != PTRC_SESSION_VERSION || n < head || n > sizeof(*r) || r->size != n - head)
		return false;
	switch (r->body) {
	case PTRC_SESSION_BODY_NONE:
		return !r->size;
	case PTRC_SESSION_BODY_STATE:
		return r->size == sizeof(r->state);
	case PTRC_SESSION_BODY_PAGE:
		return r->size <= sizeof(r->page);
	default:
		return false;
	}
}

static int receive(int fd, struct ptrc_session_reply *reply)
{
	ssize_t n;

	do
		n = recv(fd, reply, sizeof(*reply), MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? ETIMEDOUT : errno;
	if (!n)
		return ECONNRESET;
	if (!is_reply(reply, (size_t)n))
		return EPROTO;
	if (reply->body == PTRC_SESSION_BODY_STATE)
		terminate(&reply->state);
	return 0;
}

static int send_question(int fd, const struct ptrc_session_question *q)
{
	struct ptrc_session_request head = {
		.magic = PTRC_SESSION_MAGIC,
		.version = PTRC_SESSION_VERSION,
		.verb = (uint16_t)q->verb,
		.flags = q->flags,
		.from = q->from,
	};
	PTRC_SCOPED_BUFFER message = PTRC_BUFFER_INIT;

	ptrc_buffer_bytes(&message, &head, sizeof(head));
	for (size_t i = 0; i < q->text_count; i++)
		ptrc_buffer_bytes(&message, q->texts[i], strlen(q->texts[i]) + 1);
	if (message.used - sizeof(head) > PTRC_SESSION_TEXTS_MAX)
		return E2BIG;
	head.size = (uint32_t)(message.used - sizeof(head));
	memcpy(message.bytes, &head, sizeof(head));
	if (send(fd, message.bytes, message.used, MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EAGAIN ? ETIMEDOUT : errno == EPIPE ? ECONNRESET : errno;
}

/* Why the last question was not answered: the text for ETIMEDOUT and ECONNRESET; "" if the reason is unknown. */
static char silence[200];

static void explain_controller(pid_t controller)
{
	if (controller > 0 && ptrc_keeper_is_stopped(controller))
		snprintf(silence, sizeof(silence),
			 "the session does not answer: its process %ld is stopped; kill -CONT %ld "
			 "continues it",
			 (long)controller, (long)controller);
}

static void explain_keeper(pid_t keeper, bool is_stopped)
{
	if (is_stopped)
		snprintf(silence, sizeof(silence),
			 "ptrace-keeper (%ld), which writes its log, is stopped; kill -CONT %ld "
			 "continues it",
			 (long)keeper, (long)keeper);
	else
		snprintf(silence, sizeof(silence),
			 "ptrace-keeper (%ld), which writes its log, waits; is the log a pipe that "
			 "no process reads?",
			 (long)keeper);
}

/* Waits for the reply DONE. Gives up after PTRC_SESSION_WORK_MS, or when the controller or the keeper, which
 * writes the log, has been stalled for PTRC_SESSION_STALL_MS. For SHUTDOWN, a sleeping keeper is not treated as
 * stalled, because it may have to wait for a reader of the log. */
static int wait_for_work(int fd, enum ptrc_session_verb verb, pid_t keeper, pid_t controller)
{
	const int64_t stall_ns = PTRC_SESSION_STALL_MS * PTRC_NS_PER_MS;
	int64_t now = ptrc_now_ns();
	int64_t until = now + PTRC_SESSION_WORK_MS * PTRC_NS_PER_MS;
	int64_t running_ns = now; /* when the controller was last seen not to be stopped */
	struct ptrc_keeper_look watch = {.pid = keeper};
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (; now < until; now = ptrc_now_ns()) {
		if (poll(&p, 1, PTRC_SESSION_STALL_LOOK_MS) > 0)
			return 0;
		if (!ptrc_keeper_is_stopped(controller))
			running_ns = now;
		if (now - running_ns > stall_ns) {
			explain_controller(controller);
			break;
		}
		/* The keeper is not reported if the controller is stopped: then the keeper sleeps for that reason. */
		if (keeper > 0 && ptrc_keeper_look(&watch) > stall_ns && running_ns == now &&
		    (watch.is_stopped || verb != PTRC_SESSION_SHUTDOWN)) {
			explain_keeper(keeper, watch.is_stopped);
			break;
		}
	}
	return ETIMEDOUT;
}

/* Sends the question and receives the reply DONE. SO_RCVTIMEO limits the wait for the first reply. */
static int exchange(int fd, const struct ptrc_session_question *q, pid_t controller,
		    struct ptrc_session_reply *reply)
{
	int error = send_question(fd, q);

	silence[0] = '\0';
	other_version = other_log = 0;
	error = error ?: receive(fd, reply);
	if (error == ETIMEDOUT)
		explain_controller(controller);
	if (error || reply->kind == PTRC_SESSION_DONE)
		return error;
	error = wait_for_work(fd, q->verb, reply->keeper, controller) ?: receive(fd, reply);
	return !error && reply->kind != PTRC_SESSION_DONE ? EPROTO : error;
}

/* Connects to the controller of the session of this name. If is_removing and this controller was killed, removes
 * the sockets of all killed controllers. */
static int reach(const char *name, int limit_ms, bool is_removing, int *fd)
{
	struct sockaddr_un address;
	char directory[64];
	int error;

	if (!ptrc_session_is_name(name))
		return ENOENT;
	error = ptrc_inspect_directory(0, directory);
	if (error)
		return error;
	ptrc_session_address(directory, name, &address);
	error = ptrc_session_connect(&address, limit_ms, fd);
	if (error == ECONNREFUSED && is_removing)
		ptrc_session_sweep(directory);
	/* EPROTOTYPE and ENOTSOCK mean that the path leads to a socket of another type or to no socket. */
	return error == EPROTOTYPE || error == ENOTSOCK ? EPROTO : error;
}

int ptrc_session_knock(const char *name)
{
	PTRC_SCOPED_FD fd = -1;

	return reach(name, PTRC_SESSION_ANSWER_MS, false, &fd);
}

/* Connects like reach(), but fails with EPERM if the controller runs as another user. Stores the controller's
 * process ID. */
static int connect_to(const char *name, int limit_ms, bool is_removing, int *fd, pid_t *controller)
{
	int error = reach(name, limit_ms, is_removing, fd);

	if (error)
		return error;
	error = check_peer(*fd, controller);
	if (error)
		close(*fd);
	return error;
}

static int state_error(const struct ptrc_session_reply *r)
{
	return r->error ? r->error : r->body == PTRC_SESSION_BODY_STATE ? 0 : EPROTO;
}

/* Finds out why a session has closed the connection. ECONNREFUSED: its controller was killed. ECONNRESET: it is being
 * ended, which is then explained, or has ended. */
static int explain_reset(const char *name)
{
	static struct ptrc_session_reply reply;
	int error = ptrc_session_ask(name, PTRC_SESSION_STAT, &reply);

	/* The question has removed the socket, so the next one would find no session. */
	if (error == ECONNREFUSED)
		return error;
	if (error || state_error(&reply) || !reply.state.is_ending)
		return ECONNRESET;
	if (reply.keeper > 0 && ptrc_keeper_is_stopped(reply.keeper))
		explain_keeper(reply.keeper, true);
	else
		snprintf(silence, sizeof(silence), "the session is being ended");
	return ECONNRESET;
}

int ptrc_session_ask_about(const char *name, const struct ptrc_session_question *q,
			   struct ptrc_session_reply *reply)
{
	struct pollfd end = {.fd = -1, .events = POLLIN};
	pid_t controller = 0;
	int error;
	int fd;

	error = connect_to(name, PTRC_SESSION_ANSWER_MS, true, &fd, &controller);
	if (error)
		return error;
	if (q->verb == PTRC_SESSION_SHUTDOWN)
		end.fd = (int)syscall(SYS_pidfd_open, controller, 0);
	if (q->types)
		ptrc_session_types_get(name, q->types);
	error = exchange(fd, q, controller, reply);
	/* Waits until the controller's process has ended, except for ptrace-run, which goes on until its COMMAND
	 * ends. */
	if (!error && end.fd >= 0 &&
	    !(reply->body == PTRC_SESSION_BODY_STATE && reply->state.is_run))
		poll(&end, 1, PTRC_SESSION_ANSWER_MS);
	if (end.fd >= 0)
		close(end.fd);
	close(fd);
	/* While a session is being ended, STAT is answered. */
	return error == ECONNRESET && q->verb != PTRC_SESSION_STAT ? explain_reset(name) : error;
}

int ptrc_session_ask(const char *name, enum ptrc_session_verb verb,
		     struct ptrc_session_reply *reply)
{
	const struct ptrc_session_question q = {.verb = verb};

	return ptrc_session_ask_about(name, &q, reply);
}

int ptrc_session_stat(const char *name, const struct ptrc_session_state **state)
{
	static struct ptrc_session_reply reply;
	int error = ptrc_session_ask(name, PTRC_SESSION_STAT, &reply);

	*state = &reply.state;
	return error ?: state_error(&reply);
}

int ptrc_session_follow(const char *name, enum ptrc_session_verb verb,
			struct ptrc_session_reply *reply, int *fd, int *controller_fd)
{
	const struct ptrc_session_question q = {.verb = verb};
	const struct timeval limit = {.tv_sec = PTRC_SESSION_LOOK_UP_MS / 1000};
	pid_t controller;
	int error = connect_to(name, PTRC_SESSION_ANSWER_MS, true, fd, &controller);

	if (error)
		return error;
	*controller_fd = (int)syscall(SYS_pidfd_open, controller, 0);
	error = exchange(*fd, &q, controller, reply) ?: state_error(reply);
	/* Without a limit, a signal that comes just before recv() sleeps would go unnoticed. */
	if (!error && setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		error = errno;
	if (error && *controller_fd >= 0)
		close(*controller_fd);
	if (error)
		close(*fd);
	return error == ECONNRESET ? explain_reset(name) : error;
}

void ptrc_session_stat_all(char *const *names, size_t count, bool is_removing,
			   struct ptrc_session_reply *replies, int *errors)
{
	const struct ptrc_session_question q = {.verb = PTRC_SESSION_STAT};
	PTRC_SCOPED struct pollfd *p = ptrc_cli_allocate(count * sizeof(*p));
	int64_t until = ptrc_now_ns() + PTRC_SESSION_ANSWER_MS * PTRC_NS_PER_MS;
	size_t waiting = 0;
	pid_t controller;

	for (size_t i = 0; i < count; i++) {
		int64_t left = (until - ptrc_now_ns()) / PTRC_NS_PER_MS;

		p[i] = (struct pollfd){.fd = -1, .events = POLLIN};
		/* A controller that accepts no connection must not use up the time for the other sessions. */
		errors[i] = connect_to(names[i], left > 200 ? (int)left / 4 : 50, is_removing,
				       &p[i].fd, &controller);
		if (!errors[i]) {
			errors[i] = send_question(p[i].fd, &q);
			if (errors[i])
				close(p[i].fd);
		}
		if (errors[i])
			p[i].fd = -1;
		waiting += !errors[i];
	}
	while (waiting) {
		int64_t left = (until - ptrc_now_ns()) / PTRC_NS_PER_MS;
		int n = poll(p, count, left > 0 ? (int)left : 0);

		if (n < 0 && errno == EINTR)
			continue;
		for (size_t i = 0; i < count; i++) {
			if (p[i].fd < 0 || (n > 0 && !p[i].revents))
				continue;
			errors[i] =
				n > 0 ? receive(p[i].fd, &replies[i]) ?: state_error(&replies[i])
				      : ETIMEDOUT;
			if (!errors[i] && replies[i].kind != PTRC_SESSION_DONE)
				errors[i] = EPROTO;
			close(p[i].fd);
			p[i].fd = -1;
			waiting--;
		}
	}
}

bool ptrc_session_is_foreign(const struct ptrc_session_state *s)
{
	uint32_t own = ptrc_session_pid_namespace();

	return own && s->pid_namespace && s->pid_namespace != own;
}

bool ptrc_session_keeps_nothing(const struct ptrc_session_state *s)
{
	return s->has_log && !strcmp(s->log, "/dev/null");
}

void ptrc_session_count_log(const struct ptrc_session_state *s, struct ptrc_counts *counts)
{
	const struct ptrc_attributes *a = &s->attributes;
	struct ptrc_counts here;
	trace_id_t log;

	if ((!a->log_rotate_bytes && !a->log_rotate_ns) || s->is_log_gone ||
	    posixtrace_log_open(s->log, &log))
		return;
	if (!ptrc_trace_counts(log, &here)) {
		counts->pt_log_events = here.pt_log_events - here.pt_missing_events;
		counts->pt_log_bytes = here.pt_log_bytes;
		counts->pt_missing_files = here.pt_missing_files;
		counts->pt_missing_events = here.pt_missing_events;
		counts->pt_earlier_files = here.pt_earlier_files;
		counts->pt_earlier_events = here.pt_earlier_events;
		counts->pt_deleted_files = here.pt_deleted_files;
	}
	posix_trace_close(log);
}

uint64_t ptrc_session_recorded(const struct ptrc_session_state *s)
{
	/* With the policy loop, lost events are events that were recorded and then overwritten. */
	bool is_ring = s->attributes.stream_full_policy == POSIX_TRACE_LOOP;

	return s->event_count + (is_ring ? s->counts.pt_lost_events : 0);
}

int ptrc_session_list(struct ptrc_session_list *l, bool is_removing)
{
	int error = ptrc_session_names(is_removing, &l->names, &l->count);

	l->errors = ptrc_cli_allocate(l->count * sizeof(*l->errors));
	l->replies = ptrc_cli_allocate(l->count * sizeof(*l->replies));
	ptrc_session_stat_all(l->names, l->count, is_removing, l->replies, l->errors);
	return error;
}

/* ---- event types ---- */

static void add_record(struct ptrc_session_types *t, const struct ptrc_session_type_record *r,
		       const char *name)
{
	struct posixtrace_pattern pattern = {
		.pt_how = r->is_filtered ? POSIXTRACE_EXCLUDE : POSIXTRACE_ONLY,
		.pt_has_matched = r->events != 0,
	};

	if (r->id) {
		*ptrc_append(t->types, t->count) = (struct ptrc_session_type){
			.id = r->id,
			.is_filtered = r->is_filtered,
			.events = r->events,
			.bytes = r->bytes,
			.truncated = r->truncated,
			.name = ptrc_cli_copy_bytes(name, r->name_size),
			.layout = r->layout_size
					  ? ptrc_cli_copy_bytes(name + r->name_size, r->layout_size)
					  : NULL,
		};
	} else if (r->is_filtered != PTRC_SESSION_PATTERN_IS_SNAPSHOT) {
		memcpy(pattern.pt_glob, name, r->name_size);
		*ptrc_append(t->patterns, t->pattern_count) = pattern;
	} else if (!r->events) {
		*ptrc_append(t->idle_snapshots, t->idle_snapshot_count) =
			(struct ptrc_idle_snapshot){ptrc_cli_copy_bytes(name, r->name_size),
						    (enum ptrc_snapshot_lack)r->bytes};
	}
}

static int add_page(struct ptrc_session_types *t, const struct ptrc_session_reply *reply)
{
	/* More texts of --snapshot-on than a command line can hold. */
	enum { SNAPSHOT_PATTERNS_MAX = 1 << 20 };
	struct ptrc_session_type_record record;
	size_t at = 0;

	while (at < reply->size) {
		if (reply->size - at < sizeof(record))
			return EPROTO;
		memcpy(&record, reply->page + at, sizeof(record));
		at += sizeof(record);
		if (record.name_size > TRACE_EVENT_NAME_MAX ||
		    record.layout_size > POSIXTRACE_LAYOUT_MAX ||
		    record.name_size + record.layout_size > reply->size - at ||
		    t->count > PTRC_READER_IDS || t->pattern_count > POSIXTRACE_PATTERNS_MAX ||
		    t->idle_snapshot_count > SNAPSHOT_PATTERNS_MAX ||
		    memchr(reply->page + at, '\0', record.name_size + record.layout_size))
			return EPROTO;
		add_record(t, &record, (const char *)reply->page + at);
		at += ptrc_session_padded(record.name_size + record.layout_size);
	}
	return 0;
}

static int compare_types(const void *a, const void *b)
{
	const struct ptrc_session_type *x = a;
	const struct ptrc_session_type *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

int ptrc_session_types_get(const char *name, struct ptrc_session_types *t)
{
	PTRC_SCOPED struct ptrc_session_reply *reply = ptrc_cli_allocate(sizeof(*reply));
	struct ptrc_session_question q = {.verb = PTRC_SESSION_TYPES};
	int error;

	memset(t, 0, sizeof(*t));
	do {
		error = ptrc_session_ask_about(name, &q, reply) ?: reply->error;
		/* Each page has to start later than the page before, or a faulty controller could send pages for
		 * ever. */
		if (!error && (reply->body != PTRC_SESSION_BODY_PAGE ||
			       (reply->next && (reply->next <= q.from || !reply->size))))
			error = EPROTO;
		if (!error)
			error = add_page(t, reply);
		q.from = reply->next;
	} while (!error && reply->next);
	if (error)
		ptrc_session_types_free(t);
	else
		ptrc_sort(t->types, t->count, compare_types);
	return error;
}

void ptrc_session_types_free(struct ptrc_session_types *t)
{
	for (size_t i = 0; i < t->count; i++) {
		free(t->types[i].name);
		free(t->types[i].layout);
	}
	free(t->types);
	for (size_t i = 0; i < t->idle_snapshot_count; i++)
		free(t->idle_snapshots[i].text);
	free(t->idle_snapshots);
	free(t->patterns);
	memset(t, 0, sizeof(*t));
}

const char *ptrc_session_explain(int error)
{
	static char versions[200];

	switch (error) {
	case ENOENT:
		return "no such session";
	case ECONNREFUSED:
		return "the session is gone: the background process that controlled it was killed";
	case ECONNRESET:
		return *silence ? silence : "the session ended without an answer";
	case ETIMEDOUT:
		return *silence ? silence : "the session does not answer";
	case EPERM:
	case EACCES:
		return "the directory of the sessions, or the socket of this one, is not safe to use";
	case EPROTO:
		if (other_log) {
			snprintf(
				versions, sizeof(versions),
				"the session sends a log of format version %u, which this command "
				"(%s) does not read; use the commands of the release that made the "
				"session",
				other_log, posixtrace_version());
			return versions;
		}
		if (!other_version)
			return "what answers is no session of posixtrace, or its answer makes no "
			       "sense";
		snprintf(versions, sizeof(versions),
			 "the session has version %u of the session protocol, and this command "
			 "version %u; use the commands of the release that made the session",
			 other_version, PTRC_SESSION_VERSION);
		return versions;
	case ENOSYS:
		return "the session was made by an older release, which cannot do this; use the "
		       "commands of that release";
	case E2BIG:
		return "too many event names at once";
	case EMFILE:
		return "too many processes follow this session, or it has too many open files";
	default:
		return strerror(error);
	}
}

const char *ptrc_session_explain_of(const char *name, int error)
{
	const struct ptrc_session_state *state;
	pid_t controller;
	int fd;

	silence[0] = '\0';
	/* Even if the controller is stopped, the kernel accepts the connection at once, unless the
	 * queue of connections is full. So a short limit is enough. */
	if (error == ETIMEDOUT && !connect_to(name, 50, false, &fd, &controller)) {
		explain_controller(controller);
		close(fd);
	}
	/* Asks this session again, so that the text has the version of this session and not of the
	 * one that was asked last. */
	if (error == EPROTO)
		ptrc_session_stat(name, &state);
	return ptrc_session_explain(error);
}
