/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/session.h"

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
#include <time.h>
#include <unistd.h>

#include "src/cli/cli.h"
#include "src/session/logfile.h"
#include "src/view/reader.h"
#include "src/session/session_events.h"
#include "src/session/session_follow.h"
#include "src/session/session_path.h"
#include "src/session/session_types.h"

enum {
	/* Connections that may wait for their turn to say what they want; more wait to
	 * be accepted. */
	CLIENTS_MAX = 16,
	/* How long the end waits for those that are connected to say it. */
	LAST_CLIENTS_MS = 100,
	/* How long nobody is accepted for want of descriptors. */
	LISTEN_PAUSE_MS = 100,
};

/* What the descriptors that are waited for stand for. */
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
	/* Identity of the socket's file, so that only ours is removed. */
	ino_t inode;
	int listen_fd;
	int signal_fd;
	/* Stands for nothing: given up for a connection when there are no more, so that
	 * commands reach the session however many follow it. -1 then. */
	int spare_fd;
	/* Until when nobody is accepted; 0 as a rule. */
	uint64_t listen_pause_ns;
	/* pidfd of the target, or -1 when it has ended. */
	int target_fd;
	trace_id_t trace;
	struct ptrc_filter_rules *filter;
	struct ptrc_follow follow;
	/* What get_status() has reset so far. */
	bool is_stream_overrun;
	bool is_log_overrun;
	int flush_error;
	/* For how long the trace has been running before; it is, and since when. */
	uint64_t ran_ns;
	uint64_t running_since_ns;
	bool is_running;
	int clients[CLIENTS_MAX];
	size_t client_count;
	bool is_ending;
	struct ptrc_session_end end_message;
	struct ptrc_session_state end_state;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

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
		c->ran_ns += now_ns() - c->running_since_ns;
	if (!c->is_running && is_running)
		c->running_since_ns = now_ns();
	c->is_running = is_running;
}

/* Whether there is a spare descriptor, now or again. */
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
	s->is_log_gone =
		s->has_log && ptrc_logfile_is_gone(c->plan->log_fd, c->plan->log_path);
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
	/* A stream that is full stops by itself, and goes on when it has been read. */
	set_running(c, s->status.posix_stream_status == POSIX_TRACE_RUNNING);
	s->running_ns = c->ran_ns;
	if (c->is_running)
		s->running_ns += now_ns() - c->running_since_ns;
	c->is_stream_overrun |=
		s->status.posix_stream_overrun_status == POSIX_TRACE_OVERRUN;
	c->is_log_overrun |= s->status.posix_log_overrun_status == POSIX_TRACE_OVERRUN;
	if (!c->flush_error)
		c->flush_error = s->status.posix_stream_flush_error;
	if (c->is_stream_overrun)
		s->status.posix_stream_overrun_status = POSIX_TRACE_OVERRUN;
	if (c->is_log_overrun)
		s->status.posix_log_overrun_status = POSIX_TRACE_OVERRUN;
	s->status.posix_stream_flush_error = c->flush_error;
}

static int clear(struct controller *c)
{
	int error = posix_trace_clear(c->trace);

	if (!error) {
		c->is_stream_overrun = false;
		c->is_log_overrun = false;
		c->flush_error = 0;
		/* The filter is empty, and nothing puts anything into it again. */
		ptrc_filter_rules_clear(c->filter);
		ptrc_follow_cleared(&c->follow);
		c->ran_ns = 0;
		c->running_since_ns = now_ns();
	}
	return error;
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

/* Whatever happens: stream gone, log closed, name free. */
static void end(struct controller *c)
{
	struct ptrc_session_state *s = &c->end_state;
	struct ptrc_session_end message = {
		.magic = PTRC_SESSION_MAGIC,
		.version = PTRC_SESSION_VERSION,
		.kind = PTRC_SESSION_END,
		.has_log = c->plan->log_fd >= 0,
	};

	/* Stopped, so that the numbers are final. */
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

static void answer(int fd, const struct ptrc_session_reply *reply)
{
	/* A client that is gone or does not read is its own problem. */
	send(fd, reply, offsetof(struct ptrc_session_reply, state) + reply->size,
	     MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void put_state(struct controller *c, struct ptrc_session_reply *reply)
{
	gather(c, &reply->state);
	reply->body = PTRC_SESSION_BODY_STATE;
	reply->size = sizeof(reply->state);
}

/* Whether it is a whole request of this version. */
static bool check(const struct ptrc_session_request *r, ssize_t n)
{
	return n >= (ssize_t)sizeof(*r) && r->version == PTRC_SESSION_VERSION &&
	       r->size == (size_t)n - sizeof(*r);
}

/* Whether the connection goes on. */
static bool serve(struct controller *c, int fd)
{
	static struct {
		struct ptrc_session_request head;
		char texts[PTRC_SESSION_TEXTS_MAX];
	} request;
	static struct ptrc_session_reply reply;
	ssize_t n = recv(fd, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);
	bool is_following = false;

	/* Even the oldest version begins so. */
	if (n < (ssize_t)offsetof(struct ptrc_session_request, flags) ||
	    n > (ssize_t)sizeof(request) || request.head.magic != PTRC_SESSION_MAGIC)
		return false;
	memset(&reply, 0, offsetof(struct ptrc_session_reply, state));
	reply.magic = PTRC_SESSION_MAGIC;
	reply.version = PTRC_SESSION_VERSION;
	reply.kind = PTRC_SESSION_WORKING;
	if (!check(&request.head, n))
		request.head.verb = 0;
	/* It is too late for all else. */
	if (c->is_ending && request.head.verb != PTRC_SESSION_SHUTDOWN)
		return false;
	if (request.head.verb == PTRC_SESSION_FLUSH ||
	    request.head.verb == PTRC_SESSION_SHUTDOWN ||
	    request.head.verb == PTRC_SESSION_CLEAR)
		answer(fd, &reply);
	switch (request.head.verb) {
	case PTRC_SESSION_STAT:
		put_state(c, &reply);
		break;
	case PTRC_SESSION_START:
		reply.error = posix_trace_start(c->trace);
		if (!reply.error)
			set_running(c, true);
		break;
	case PTRC_SESSION_STOP:
		reply.error = posix_trace_stop(c->trace);
		if (!reply.error)
			set_running(c, false);
		break;
	case PTRC_SESSION_FLUSH:
		/* What is flushed can no longer be shown to followers. Who records faster
		 * than we read shall not hold up the flush. */
		for (int i = 0; i < 10 && ptrc_follow_read(&c->follow); i++)
			;
		reply.error = posix_trace_flush(c->trace);
		break;
	case PTRC_SESSION_CLEAR:
		reply.error = clear(c);
		break;
	case PTRC_SESSION_SHUTDOWN:
		if (!c->is_ending)
			end(c);
		reply.error = c->end_message.error;
		/* Without a log nothing was to be kept, so nothing is missing. */
		if (c->plan->log_fd >= 0) {
			reply.state = c->end_state;
			reply.body = PTRC_SESSION_BODY_STATE;
			reply.size = sizeof(reply.state);
		}
		break;
	case PTRC_SESSION_FILTER:
		reply.error = ptrc_session_types_filter(c->trace, c->filter,
							request.head.flags, request.texts,
							request.head.size, &reply);
		break;
	case PTRC_SESSION_TYPES:
		ptrc_session_types_page(c->trace, c->filter, request.head.from, &reply);
		break;
	case PTRC_SESSION_FOLLOW:
		put_state(c, &reply);
		/* Who stays shall leave a descriptor to those who do not. */
		reply.error = keep_spare(c) ? ptrc_follow_add(&c->follow, fd) : EMFILE;
		is_following = !reply.error;
		break;
	default:
		reply.error = ENOSYS;
		break;
	}
	reply.kind = PTRC_SESSION_DONE;
	answer(fd, &reply);
	return is_following;
}

/* One that has been silent longest gives way, or a few dumb ones could lock the others
 * out. */
static void drop_oldest_client(struct controller *c)
{
	close(c->clients[0]);
	c->client_count--;
	memmove(c->clients, c->clients + 1, c->client_count * sizeof(c->clients[0]));
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
	/* Who waits to be accepted would wake us at once again. */
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		c->listen_pause_ns = now_ns() + LISTEN_PAUSE_MS * UINT64_C(1000000);
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

/* Takes it from the list. */
static void forget_client(struct controller *c, size_t i)
{
	c->client_count--;
	memmove(c->clients + i, c->clients + i + 1,
		(c->client_count - i) * sizeof(c->clients[0]));
}

static void target_ended(struct controller *c)
{
	close(c->target_fd);
	c->target_fd = -1;
	if (c->plan->is_until_exit)
		end(c);
}

/* Milliseconds until something has to be looked at that nothing wakes us for; -1 as a
 * rule. */
static int next_look(const struct controller *c)
{
	int ms = ptrc_follow_timeout(&c->follow);

	if (ms < 0 && c->target_fd >= 0 && ptrc_filter_rules_is_pending(c->filter))
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
	/* Backwards, as those served leave the list. */
	for (size_t i = count; i-- > 0 && !c->is_ending;)
		if (p[i].revents)
			serve_client(c, i);
}

static size_t poll_clients(const struct controller *c, struct pollfd *p)
{
	for (size_t i = 0; i < c->client_count; i++)
		p[i] = (struct pollfd){.fd = c->clients[i], .events = POLLIN};
	return c->client_count;
}

/* The session has ended: who came before it did and wants that, too, gets it. */
static void serve_last_clients(struct controller *c)
{
	uint64_t until = now_ns() + LAST_CLIENTS_MS * UINT64_C(1000000);
	uint64_t now;

	while ((now = now_ns()) < until) {
		struct pollfd p[1 + CLIENTS_MAX] = {
			{.fd = c->listen_fd, .events = POLLIN},
		};
		size_t count = poll_clients(c, p + 1);
		int left = count ? (int)((until - now) / 1000000) : 0;

		if (poll(p, 1 + count, left) <= 0)
			break;
		for (size_t i = count; i-- > 0;)
			if (p[1 + i].revents)
				serve_client(c, i);
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
		if (c->listen_pause_ns && now_ns() < c->listen_pause_ns)
			p[POLL_LISTEN].fd = -1;
		else
			c->listen_pause_ns = 0;
		followers = ptrc_follow_poll(&c->follow, p + POLL_CLIENTS + count);
		if (poll(p, POLL_CLIENTS + count + followers,
			 is_more ? 0 : next_look(c)) < 0)
			continue;
		ptrc_follow_serve(&c->follow, p + POLL_CLIENTS + count, followers);
		ptrc_filter_rules_refresh(c->filter, c->trace);
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

/* Listens before it has a name, so that nobody ever finds a socket that refuses although
 * its controller lives. */
static int make_socket(struct controller *c)
{
	struct sockaddr_un address;
	struct stat st;
	int error;

	ptrc_session_address_unnamed(c->directory, getpid(), &address);
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

/* EEXIST if a living session has the name. */
static int take_name(struct controller *c, const char *name)
{
	struct sockaddr_un address;
	int lock = ptrc_session_lock(c->directory);
	int error;
	int fd;

	if (lock < 0)
		return ETIMEDOUT;
	ptrc_session_address(c->directory, name, &address);
	/* Who refuses is dead; whoever else is there keeps the name, even if it is
	 * mute. */
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

	/* A trace is called as its session, unless it was given another name. */
	if (!posix_trace_attr_getname(&attr, trace_name) && !*trace_name)
		posix_trace_attr_setname(&attr, c->name);
	if (plan->log_fd >= 0)
		error = posix_trace_create_withlog(plan->target, &attr, plan->log_fd,
						   &c->trace);
	else
		error = posix_trace_create(plan->target, &attr, &c->trace);
	if (error)
		return error;
	error = ptrc_filter_rules_apply(c->filter, c->trace);
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
	/* ENOENT: the id of a thread. */
	if (c->target_fd < 0)
		return errno == EINVAL || errno == ENOENT ? ESRCH : errno;
	return 0;
}

/*
 * Only what the controller needs stays open: a descriptor of a pipe that a shell waits on
 * would make $(ptrace-create ...) hang. Both descriptors are above the standard ones;
 * that of the log is -1 if there is none.
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
		syscall(SYS_close_range, (unsigned int)low + 1, (unsigned int)high - 1,
			0);
	syscall(SYS_close_range, (unsigned int)high + 1, ~0U, 0);
	return 0;
}

static void __attribute__((noreturn))
controller_main(const struct ptrc_session_plan *plan, int outcome_fd)
{
	static struct controller c;
	static struct ptrc_filter_rules no_filter;
	struct ptrc_session_outcome outcome = {.stage = PTRC_SESSION_STAGE_PROCESS};

	c.plan = plan;
	c.spare_fd = -1;
	c.filter = plan->filter ? plan->filter : &no_filter;
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
	/* Less than a pipe takes in one piece; if nobody reads it, nobody knows the
	 * name. */
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

void ptrc_session_create(const struct ptrc_session_plan *plan,
			 struct ptrc_session_outcome *outcome)
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
	/* What is in the buffer of stdio would be written twice. */
	fflush(stdout);
	pid = fork();
	if (!pid) {
		/* A session of its own, and no leader of it, so that no terminal becomes
		 * its controlling one. */
		setsid();
		pid = fork();
		if (pid)
			_exit(pid < 0 ? 1 : 0);
		/* Above the standard descriptors, whichever of these are open. */
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
