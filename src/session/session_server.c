/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/session_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/cli/clock.h"
#include "src/session/filter_rules.h"
#include "src/session/logfile.h"
#include "src/session/session_follow.h"

enum {
	/* Connections whose request has not come yet. When there are so many and another one is
	 * accepted, the oldest is closed. */
	CLIENTS_MAX = 16,
	/* How long a controller that ends waits for the requests of clients that are connected. */
	LAST_CLIENTS_MS = 100,
	/* How long no connection is accepted after descriptors have run out. */
	LISTEN_PAUSE_MS = 100,
};

/* Places in the array of descriptors that run() waits for. */
enum {
	POLL_LISTEN,
	POLL_SIGNAL,
	POLL_TARGET,
	POLL_CLIENTS,
	POLL_MAX = POLL_CLIENTS + CLIENTS_MAX + PTRC_FOLLOWERS_MAX,
};

struct controller {
	const struct ptrc_session_plan *plan;
	char directory[64];
	char name[PTRC_SESSION_NAME_MAX + 1];
	struct sockaddr_un address;
	/* With this inode number our socket is told from that of another controller under the
	 * same name. */
	ino_t inode;
	int listen_fd;
	int signal_fd;
	/* A descriptor of /dev/null, or -1 while it is closed. It is closed to accept a
	 * connection when no other descriptor is left, so that commands reach the session
	 * however many processes follow it. */
	int spare_fd;
	/* No connection is accepted before this time; usually 0. */
	int64_t listen_pause_ns;
	/* pidfd of the target, or -1 when it has ended. */
	int target_fd;
	trace_id_t trace;
	struct ptrc_filter_rules filter;
	struct ptrc_follow follow;
	/* posix_trace_get_status() resets these whenever it tells them, so the controller keeps
	 * them. */
	bool is_stream_overrun;
	bool is_log_overrun;
	int flush_error;
	/* For how long the trace ran until its last stop; since when it has been running, if it
	 * is. */
	int64_t ran_ns;
	int64_t running_since_ns;
	bool is_running;
	int clients[CLIENTS_MAX];
	size_t client_count;
	/* The stream is gone; the members below say what followers and clients are told about
	 * its end. */
	bool is_ending;
	struct ptrc_session_end end_message;
	struct ptrc_session_state end_state;
	/* The request that is being answered. */
	int client_fd;
	struct {
		struct ptrc_session_request head;
		char texts[PTRC_SESSION_TEXTS_MAX];
	} request;
	struct ptrc_session_reply reply;
};

static uint64_t count_events(trace_id_t trace)
{
	static struct posixtrace_type_count counts[PTRC_READER_IDS];
	uint64_t sum = 0;

	if (posixtrace_get_type_counts(trace, counts, PTRC_READER_IDS))
		return 0;
	for (size_t id = 0; id < PTRC_READER_IDS; id++)
		sum += counts[id].pt_events;
	return sum;
}

static void set_running(struct controller *c, bool is_running)
{
	if (c->is_running && !is_running)
		c->ran_ns += ptrc_now_ns() - c->running_since_ns;
	if (!c->is_running && is_running)
		c->running_since_ns = ptrc_now_ns();
	c->is_running = is_running;
}

/* Opens the spare descriptor if it is closed. Returns false if that is not possible. */
static bool keep_spare(struct controller *c)
{
	if (c->spare_fd < 0)
		c->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return c->spare_fd >= 0;
}

static void gather(struct controller *c, struct ptrc_session_state *s)
{
	memset(s, 0, sizeof(*s));
	s->controller = getpid();
	s->target = c->plan->target;
	s->has_log = c->plan->log_fd >= 0;
	s->is_log_gone = s->has_log && ptrc_logfile_is_gone(c->plan->log_fd, c->plan->log_path);
	s->is_target_alive = c->target_fd >= 0;
	s->is_until_exit = c->plan->is_until_exit;
	memcpy(s->name, c->name, sizeof(s->name));
	if (c->plan->log_path)
		snprintf(s->log, sizeof(s->log), "%s", c->plan->log_path);
	/* None of these can fail while the stream exists. */
	ptrc_attributes_gather(c->trace, &s->attributes);
	posixtrace_get_counts(c->trace, &s->counts, sizeof(s->counts));
	s->event_count = count_events(c->trace);
	if (posix_trace_get_status(c->trace, &s->status))
		return;
	/* START and STOP are not alone in changing this: a full stream stops by itself, and
	 * goes on after it has been read. */
	set_running(c, s->status.posix_stream_status == POSIX_TRACE_RUNNING);
	s->running_ns = (uint64_t)c->ran_ns;
	if (c->is_running)
		s->running_ns += (uint64_t)(ptrc_now_ns() - c->running_since_ns);
	c->is_stream_overrun |= s->status.posix_stream_overrun_status == POSIX_TRACE_OVERRUN;
	c->is_log_overrun |= s->status.posix_log_overrun_status == POSIX_TRACE_OVERRUN;
	if (!c->flush_error)
		c->flush_error = s->status.posix_stream_flush_error;
	if (c->is_stream_overrun)
		s->status.posix_stream_overrun_status = POSIX_TRACE_OVERRUN;
	if (c->is_log_overrun)
		s->status.posix_log_overrun_status = POSIX_TRACE_OVERRUN;
	s->status.posix_stream_flush_error = c->flush_error;
}

static void remove_socket(struct controller *c)
{
	int lock = ptrc_session_lock(c->directory);
	struct stat st;

	if (!lstat(c->address.sun_path, &st) && st.st_ino == c->inode)
		unlink(c->address.sun_path);
	if (lock >= 0)
		close(lock);
}

/* Ends the session. Whatever goes wrong, afterwards the stream is gone, the log is closed and
 * the name is free. */
static void end(struct controller *c)
{
	struct ptrc_session_state *s = &c->end_state;
	struct ptrc_session_end message = {
		.magic = PTRC_SESSION_MAGIC,
		.version = PTRC_SESSION_VERSION,
		.kind = PTRC_SESSION_END,
		.has_log = c->plan->log_fd >= 0,
	};

	/* From here on the counts do not change. */
	posix_trace_stop(c->trace);
	set_running(c, false);
	ptrc_follow_finish(&c->follow);
	gather(c, s);
	message.status = s->status;
	message.counts = s->counts;
	message.error = posix_trace_shutdown(c->trace);
	remove_socket(c);
	c->is_ending = true;
	c->end_message = message;
}

static void put_state(struct controller *c)
{
	gather(c, &c->reply.state);
	c->reply.body = PTRC_SESSION_BODY_STATE;
	c->reply.size = sizeof(c->reply.state);
}

/* ---- what the verbs do: each returns the error number of the reply ---- */

static int answer_stat(struct controller *c)
{
	put_state(c);
	return 0;
}

static int answer_start(struct controller *c)
{
	int error = posix_trace_start(c->trace);

	if (!error)
		set_running(c, true);
	return error;
}

static int answer_stop(struct controller *c)
{
	int error = posix_trace_stop(c->trace);

	if (!error)
		set_running(c, false);
	return error;
}

static int answer_flush(struct controller *c)
{
	/* What has been flushed can no longer be sent to followers, so they get it first. But a
	 * program that records faster than the controller reads shall not hold up the flush. */
	for (int i = 0; i < 10 && ptrc_follow_read(&c->follow); i++)
		;
	return posix_trace_flush(c->trace);
}

static int answer_clear(struct controller *c)
{
	int error = posix_trace_clear(c->trace);

	if (error)
		return error;
	c->is_stream_overrun = false;
	c->is_log_overrun = false;
	c->flush_error = 0;
	/* posix_trace_clear() has emptied the filter; globs that are kept would add event types
	 * again. */
	ptrc_filter_rules_clear(&c->filter);
	ptrc_follow_cleared(&c->follow);
	c->ran_ns = 0;
	c->running_since_ns = ptrc_now_ns();
	return 0;
}

static int answer_shutdown(struct controller *c)
{
	if (!c->is_ending)
		end(c);
	/* Without a log no event was to be kept, so the client is not told what was lost. */
	if (c->plan->log_fd >= 0) {
		c->reply.state = c->end_state;
		c->reply.body = PTRC_SESSION_BODY_STATE;
		c->reply.size = sizeof(c->reply.state);
	}
	return c->end_message.error;
}

static int answer_filter(struct controller *c)
{
	return ptrc_filter_rules_change(&c->filter, c->trace, c->request.head.flags,
					c->request.texts, c->request.head.size, &c->reply.text);
}

static int answer_types(struct controller *c)
{
	return ptrc_filter_rules_page(&c->filter, c->trace, c->request.head.from, &c->reply);
}

static int answer_follow(struct controller *c)
{
	put_state(c);
	/* A follower occupies its descriptor for long; one shall be left for clients that only
	 * ask. */
	return keep_spare(c) ? ptrc_follow_add(&c->follow, c->client_fd) : EMFILE;
}

static const struct {
	int (*answer)(struct controller *);
	/* The client first gets a reply of kind WORKING. */
	bool is_long;
} verbs[PTRC_SESSION_VERBS] = {
	[PTRC_SESSION_STAT] = {.answer = answer_stat},
	[PTRC_SESSION_START] = {.answer = answer_start},
	[PTRC_SESSION_STOP] = {.answer = answer_stop},
	[PTRC_SESSION_FLUSH] = {.answer = answer_flush, .is_long = true},
	[PTRC_SESSION_CLEAR] = {.answer = answer_clear, .is_long = true},
	[PTRC_SESSION_SHUTDOWN] = {.answer = answer_shutdown, .is_long = true},
	[PTRC_SESSION_FILTER] = {.answer = answer_filter},
	[PTRC_SESSION_TYPES] = {.answer = answer_types},
	[PTRC_SESSION_FOLLOW] = {.answer = answer_follow},
};

/* Returns the verb of a whole request of this version; 0 for any other request. */
static unsigned int verb_of(const struct ptrc_session_request *r, size_t n)
{
	if (n < sizeof(*r) || r->version != PTRC_SESSION_VERSION || r->size != n - sizeof(*r) ||
	    r->verb >= PTRC_SESSION_VERBS)
		return 0;
	return r->verb;
}

static void send_reply(struct controller *c, enum ptrc_session_kind kind)
{
	c->reply.kind = (uint16_t)kind;
	/* A client that has gone, or does not read, gets no reply. */
	send(c->client_fd, &c->reply, offsetof(struct ptrc_session_reply, state) + c->reply.size,
	     MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Receives and answers one request. Returns whether the connection is a follower's now. */
static bool serve(struct controller *c, int fd)
{
	ssize_t n = recv(fd, &c->request, sizeof(c->request), MSG_DONTWAIT | MSG_TRUNC);
	unsigned int verb;

	/* Requests of all versions begin with these fields. */
	if (n < (ssize_t)offsetof(struct ptrc_session_request, flags) ||
	    n > (ssize_t)sizeof(c->request) || c->request.head.magic != PTRC_SESSION_MAGIC)
		return false;
	verb = verb_of(&c->request.head, (size_t)n);
	/* In the end the stream is gone; but a second SHUTDOWN gets the same reply as the
	 * first. */
	if (c->is_ending && verb != PTRC_SESSION_SHUTDOWN)
		return false;
	c->client_fd = fd;
	memset(&c->reply, 0, offsetof(struct ptrc_session_reply, state));
	c->reply.magic = PTRC_SESSION_MAGIC;
	c->reply.version = PTRC_SESSION_VERSION;
	if (verbs[verb].is_long)
		send_reply(c, PTRC_SESSION_WORKING);
	c->reply.error = verbs[verb].answer ? verbs[verb].answer(c) : ENOSYS;
	send_reply(c, PTRC_SESSION_DONE);
	return verb == PTRC_SESSION_FOLLOW && !c->reply.error;
}

/* ---- clients ---- */

static void forget_client(struct controller *c, size_t i)
{
	c->client_count--;
	memmove(c->clients + i, c->clients + i + 1, (c->client_count - i) * sizeof(c->clients[0]));
}

/* Closes the connection that has been silent longest: otherwise a few clients that never send
 * a request could keep all others out. */
static void drop_oldest_client(struct controller *c)
{
	close(c->clients[0]);
	forget_client(c, 0);
}

static int accept_connection(struct controller *c)
{
	int fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0 || (errno != EMFILE && errno != ENFILE))
		return fd;
	if (c->spare_fd >= 0) {
		close(c->spare_fd);
		c->spare_fd = -1;
	} else if (c->client_count) {
		drop_oldest_client(c);
	}
	fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	/* As long as a client waits to be accepted, poll() would return at once. */
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		c->listen_pause_ns = ptrc_now_ns() + LISTEN_PAUSE_MS * PTRC_NS_PER_MS;
	return fd;
}

static void accept_client(struct controller *c)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int fd = accept_connection(c);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.uid && peer.uid != geteuid())) {
		close(fd);
		return;
	}
	if (c->client_count == CLIENTS_MAX)
		drop_oldest_client(c);
	c->clients[c->client_count++] = fd;
}

static void target_ended(struct controller *c)
{
	close(c->target_fd);
	c->target_fd = -1;
	if (c->plan->is_until_exit)
		end(c);
}

/* Returns after how many milliseconds the controller has to act without a descriptor that wakes
 * it; usually -1, which is never. */
static int next_look(const struct controller *c)
{
	int ms = c->follow.count ? PTRC_FOLLOW_READ_MS : -1;

	if (ms < 0 && c->target_fd >= 0 && c->filter.count)
		ms = PTRC_FILTER_RULES_REFRESH_MS;
	if (c->listen_pause_ns && (ms < 0 || ms > LISTEN_PAUSE_MS))
		ms = LISTEN_PAUSE_MS;
	return ms;
}

static void serve_client(struct controller *c, size_t i)
{
	int fd = c->clients[i];

	forget_client(c, i);
	if (!serve(c, fd))
		close(fd);
}

static void serve_clients(struct controller *c, const struct pollfd *p, size_t count)
{
	/* Backwards, because each client that is served is taken out of the list. */
	for (size_t i = count; i-- > 0;)
		if (p[i].revents)
			serve_client(c, i);
}

static size_t poll_clients(const struct controller *c, struct pollfd *p)
{
	for (size_t i = 0; i < c->client_count; i++)
		p[i] = (struct pollfd){.fd = c->clients[i], .events = POLLIN};
	return c->client_count;
}

/* Tells clients that connected before the session ended, and want to end it too, that it has
 * ended. */
static void serve_last_clients(struct controller *c)
{
	int64_t until = ptrc_now_ns() + LAST_CLIENTS_MS * PTRC_NS_PER_MS;
	int64_t now;

	while ((now = ptrc_now_ns()) < until) {
		struct pollfd p[1 + CLIENTS_MAX] = {
			{.fd = c->listen_fd, .events = POLLIN},
		};
		size_t count = poll_clients(c, p + 1);
		int left = count ? (int)((until - now) / PTRC_NS_PER_MS) : 0;

		if (poll(p, 1 + count, left) <= 0)
			break;
		serve_clients(c, p + 1, count);
		if (p[0].revents)
			accept_client(c);
	}
}

static void __attribute__((noreturn)) run(struct controller *c)
{
	bool is_more = false;

	c->follow.trace = c->trace;
	c->follow.has_log = c->plan->log_fd >= 0;
	set_running(c, c->plan->is_started);
	while (!c->is_ending) {
		struct pollfd p[POLL_MAX] = {
			[POLL_LISTEN] = {.fd = c->listen_fd, .events = POLLIN},
			[POLL_SIGNAL] = {.fd = c->signal_fd, .events = POLLIN},
			[POLL_TARGET] = {.fd = c->target_fd, .events = POLLIN},
		};
		size_t count = poll_clients(c, p + POLL_CLIENTS);
		size_t followers;

		keep_spare(c);
		if (c->listen_pause_ns && ptrc_now_ns() < c->listen_pause_ns)
			p[POLL_LISTEN].fd = -1;
		else
			c->listen_pause_ns = 0;
		followers = ptrc_follow_poll(&c->follow, p + POLL_CLIENTS + count);
		if (poll(p, POLL_CLIENTS + count + followers, is_more ? 0 : next_look(c)) < 0)
			continue;
		ptrc_follow_serve(&c->follow, p + POLL_CLIENTS + count, followers);
		ptrc_filter_rules_refresh(&c->filter, c->trace);
		is_more = ptrc_follow_read(&c->follow);
		serve_clients(c, p + POLL_CLIENTS, count);
		if (c->is_ending)
			break;
		if (p[POLL_TARGET].revents)
			target_ended(c);
		if (!c->is_ending && p[POLL_SIGNAL].revents)
			end(c);
		if (!c->is_ending && p[POLL_LISTEN].revents)
			accept_client(c);
	}
	serve_last_clients(c);
	ptrc_follow_end(&c->follow, &c->end_message);
	exit(0);
}

/* The socket listens before it gets its name, so that a socket under a session's name never
 * refuses connections while its controller lives. */
static int make_socket(struct controller *c)
{
	struct sockaddr_un address;
	char name[24];
	struct stat st;
	int error;

	snprintf(name, sizeof(name), "~%ld", (long)getpid());
	ptrc_session_address(c->directory, name, &address);
	c->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listen_fd < 0)
		return errno;
	unlink(address.sun_path);
	if (bind(c->listen_fd, (const struct sockaddr *)&address, sizeof(address)))
		return errno;
	c->address = address;
	if (!listen(c->listen_fd, CLIENTS_MAX) && !lstat(address.sun_path, &st)) {
		c->inode = st.st_ino;
		return 0;
	}
	error = errno;
	unlink(address.sun_path);
	return error;
}

/* Renames the socket. Returns EEXIST if a living session has the name. */
static int take_name(struct controller *c, const char *name)
{
	struct sockaddr_un address;
	int lock = ptrc_session_lock(c->directory);
	int error;
	int fd;

	if (lock < 0)
		return ETIMEDOUT;
	ptrc_session_address(c->directory, name, &address);
	/* A socket that refuses belonged to a killed controller. Any other one keeps the name,
	 * even if its controller does not answer. */
	error = ptrc_session_connect(&address, PTRC_SESSION_ANSWER_MS, &fd);
	if (!error)
		close(fd);
	if (error == ECONNREFUSED)
		unlink(address.sun_path);
	error = error != ECONNREFUSED && !access(address.sun_path, F_OK) ? EEXIST : 0;
	if (!error && rename(c->address.sun_path, address.sun_path))
		error = errno;
	if (!error) {
		c->address = address;
		snprintf(c->name, sizeof(c->name), "%s", name);
	}
	close(lock);
	return error;
}

static int find_name(struct controller *c)
{
	char name[PTRC_SESSION_NAME_MAX + 1];
	int error;

	if (c->plan->name)
		return take_name(c, c->plan->name);
	error = take_name(c, c->plan->name_stem);
	for (int i = 2; error == EEXIST && i < 1000; i++) {
		snprintf(name, sizeof(name), "%.50s-%d", c->plan->name_stem, i);
		error = take_name(c, name);
	}
	return error;
}

static int make_stream(struct controller *c, int32_t *stage)
{
	const struct ptrc_session_plan *plan = c->plan;
	trace_attr_t attr = *plan->attr;
	char trace_name[TRACE_NAME_MAX] = "";
	int error;

	/* The trace gets the name of its session unless it was given another name. */
	if (!posix_trace_attr_getname(&attr, trace_name) && !*trace_name)
		posix_trace_attr_setname(&attr, c->name);
	if (plan->log_fd >= 0)
		error = posix_trace_create_withlog(plan->target, &attr, plan->log_fd, &c->trace);
	else
		error = posix_trace_create(plan->target, &attr, &c->trace);
	if (error)
		return error;
	error = ptrc_filter_rules_apply(&c->filter, c->trace, plan->filter, plan->filter_count);
	if (error)
		*stage = PTRC_SESSION_STAGE_FILTER;
	else if (plan->is_started)
		error = posix_trace_start(c->trace);
	if (error)
		posix_trace_shutdown(c->trace);
	return error;
}

static int make_process(struct controller *c)
{
	sigset_t signals;

	if (chdir("/"))
		return errno;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	c->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (c->signal_fd < 0)
		return errno;
	c->target_fd = (int)syscall(SYS_pidfd_open, c->plan->target, 0);
	/* The kernel reports ENOENT, or EINVAL, for the ID of a thread. */
	if (c->target_fd < 0)
		return errno == EINVAL || errno == ENOENT ? ESRCH : errno;
	return 0;
}

/*
 * Closes all descriptors but these two, which are above the standard ones; log_fd is -1 without
 * a log. If the controller kept a pipe open that a shell reads to its end, $(ptrace-create ...)
 * would hang.
 */
static int close_inherited(int outcome_fd, int log_fd)
{
	int high = outcome_fd > log_fd ? outcome_fd : log_fd;
	int low = outcome_fd > log_fd ? log_fd : outcome_fd;
	int null = open("/dev/null", O_RDWR);

	if (null < 0)
		return errno;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (null != fd && dup2(null, fd) < 0)
			return errno;
	if (low < 0)
		low = 2;
	else if (low > 3)
		syscall(SYS_close_range, 3, (unsigned int)low - 1, 0);
	if (high - low > 1)
		syscall(SYS_close_range, (unsigned int)low + 1, (unsigned int)high - 1, 0);
	syscall(SYS_close_range, (unsigned int)high + 1, ~0U, 0);
	return 0;
}

static void __attribute__((noreturn))
controller_main(const struct ptrc_session_plan *plan, int outcome_fd)
{
	static struct controller c;
	struct ptrc_session_outcome outcome = {.stage = PTRC_SESSION_STAGE_PROCESS};

	c.plan = plan;
	c.spare_fd = -1;
	outcome.error = close_inherited(outcome_fd, plan->log_fd);
	if (!outcome.error)
		outcome.error = make_process(&c);
	if (!outcome.error) {
		outcome.stage = PTRC_SESSION_STAGE_DIRECTORY;
		outcome.error = ptrc_session_directory(true, c.directory);
	}
	if (!outcome.error)
		outcome.error = make_socket(&c);
	if (!outcome.error) {
		outcome.stage = PTRC_SESSION_STAGE_NAME;
		outcome.error = find_name(&c);
		if (!outcome.error) {
			outcome.stage = PTRC_SESSION_STAGE_STREAM;
			outcome.error = make_stream(&c, &outcome.stage);
		}
		if (outcome.error)
			remove_socket(&c);
	}
	memcpy(outcome.name, c.name, sizeof(outcome.name));
	outcome.controller = getpid();
	/* So few bytes go into the pipe at once. If the command that was to read them is gone,
	 * nobody knows the name of the session, so the session ends. */
	if (write(outcome_fd, &outcome, sizeof(outcome)) != (ssize_t)sizeof(outcome) &&
	    !outcome.error) {
		posix_trace_shutdown(c.trace);
		remove_socket(&c);
		exit(1);
	}
	close(outcome_fd);
	if (outcome.error)
		exit(1);
	run(&c);
}

void ptrc_session_create(const struct ptrc_session_plan *plan, struct ptrc_session_outcome *outcome)
{
	int ends[2];
	ssize_t n;
	pid_t pid;

	memset(outcome, 0, sizeof(*outcome));
	outcome->stage = PTRC_SESSION_STAGE_PROCESS;
	if (pipe2(ends, O_CLOEXEC)) {
		outcome->error = errno;
		return;
	}
	/* Otherwise both processes would write what is in the buffer of stdio. */
	fflush(stdout);
	pid = fork();
	if (!pid) {
		/* In a kernel session of its own (setsid) the controller is out of the
		 * terminal's reach. It is not the leader of that session, so that no terminal
		 * it opens becomes its own. */
		setsid();
		pid = fork();
		if (pid)
			_exit(pid < 0 ? 1 : 0);
		/* Even if standard descriptors are closed, the pipe must not take their places. */
		controller_main(plan, fcntl(ends[1], F_DUPFD_CLOEXEC, 3));
	}
	close(ends[1]);
	if (pid < 0) {
		outcome->error = errno;
		close(ends[0]);
		return;
	}
	do
		n = read(ends[0], outcome, sizeof(*outcome));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(*outcome)) {
		memset(outcome, 0, sizeof(*outcome));
		outcome->stage = PTRC_SESSION_STAGE_PROCESS;
		outcome->error = ECHILD;
	}
	outcome->name[sizeof(outcome->name) - 1] = '\0';
	close(ends[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
