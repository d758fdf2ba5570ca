/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "src/cli.h"
#include "src/exit_status.h"
#include "src/losses.h"
#include "src/session_path.h"

/* Who is at the other end; its process in *pid. */
static int check_peer(int fd, pid_t *pid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return errno;
	*pid = peer.pid;
	return peer.uid == geteuid() ? 0 : EPERM;
}

/* Text from elsewhere ends somewhere. */
static void terminate(struct ptrc_session_state *s)
{
	s->name[sizeof(s->name) - 1] = '\0';
	s->log[sizeof(s->log) - 1] = '\0';
	s->attributes.trace_name[sizeof(s->attributes.trace_name) - 1] = '\0';
	s->attributes.generation_version[sizeof(s->attributes.generation_version) - 1] =
		'\0';
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
	if ((size_t)n < offsetof(struct ptrc_session_reply, state) ||
	    (size_t)n > sizeof(*reply) || reply->magic != PTRC_SESSION_MAGIC ||
	    reply->version != PTRC_SESSION_VERSION ||
	    (reply->has_state && (size_t)n != sizeof(*reply)))
		return EPROTO;
	if (reply->has_state)
		terminate(&reply->state);
	return 0;
}

/* Bounded: the limits of the socket are for each reply. */
static int exchange(int fd, enum ptrc_session_verb verb, struct ptrc_session_reply *reply)
{
	const struct ptrc_session_request request = {
		.magic = PTRC_SESSION_MAGIC,
		.version = PTRC_SESSION_VERSION,
		.verb = (uint16_t)verb,
	};
	const struct timeval limit = {
		.tv_sec = PTRC_SESSION_WORK_MS / 1000,
		.tv_usec = PTRC_SESSION_WORK_MS % 1000 * 1000,
	};
	int error;

	if (send(fd, &request, sizeof(request), MSG_NOSIGNAL) != (ssize_t)sizeof(request))
		return errno == EAGAIN ? ETIMEDOUT : errno == EPIPE ? ECONNRESET : errno;
	error = receive(fd, reply);
	if (error || reply->kind == PTRC_SESSION_DONE)
		return error;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		return errno;
	error = receive(fd, reply);
	if (!error && reply->kind != PTRC_SESSION_DONE)
		error = EPROTO;
	return error;
}

int ptrc_session_ask(const char *name, enum ptrc_session_verb verb,
		     struct ptrc_session_reply *reply)
{
	struct pollfd end = {.fd = -1, .events = POLLIN};
	struct sockaddr_un address;
	char directory[64];
	pid_t controller = 0;
	int error;
	int fd;

	if (!ptrc_session_is_name(name))
		return ENOENT;
	error = ptrc_session_directory(false, directory);
	if (error)
		return error;
	ptrc_session_address(directory, name, &address);
	error = ptrc_session_connect(&address, &fd);
	if (error == ECONNREFUSED)
		ptrc_session_remove_stale(directory, &address);
	/* Somebody put a file there, or a socket of another type. */
	if (error == EPROTOTYPE || error == ENOTSOCK)
		error = EPROTO;
	if (error)
		return error;
	error = check_peer(fd, &controller);
	if (!error && verb == PTRC_SESSION_SHUTDOWN)
		end.fd = (int)syscall(SYS_pidfd_open, controller, 0);
	if (!error)
		error = exchange(fd, verb, reply);
	/* So that no process is left when the command has ended. */
	if (!error && end.fd >= 0)
		poll(&end, 1, PTRC_SESSION_ANSWER_MS);
	if (end.fd >= 0)
		close(end.fd);
	close(fd);
	return error;
}

const char *ptrc_session_explain(int error)
{
	switch (error) {
	case ENOENT:
		return "no such session";
	case ECONNREFUSED:
		return "no such session any more: its controller was killed";
	case ECONNRESET:
		return "the session ended without an answer";
	case ETIMEDOUT:
		return "the session does not answer";
	case EPERM:
	case EACCES:
		return "the sessions' directory, or this one's socket, is not safe to use";
	case EPROTO:
		return "not a session of this version of the commands";
	default:
		return strerror(error);
	}
}

/* Why a session refused, where the error number alone would be a riddle. */
static void say_refused(const char *name, enum ptrc_session_verb verb,
			const struct ptrc_session_reply *reply)
{
	if (verb == PTRC_SESSION_FLUSH && reply->error == EINVAL)
		ptrc_cli_message(name, "the session has no log");
	else if (verb == PTRC_SESSION_SHUTDOWN)
		ptrc_cli_message(name,
				 "the session has ended, but writing its log failed: %s",
				 strerror(reply->error));
	else if (verb == PTRC_SESSION_FLUSH)
		ptrc_cli_message(name, "writing the log failed: %s",
				 strerror(reply->error));
	else
		ptrc_cli_error(name, reply->error);
}

int ptrc_session_main(int argc, char **argv, const struct ptrc_cli *cli,
		      enum ptrc_session_verb verb)
{
	static struct ptrc_session_reply reply;
	bool is_failed = false;
	bool is_incomplete = false;
	bool is_loss_allowed = false;
	int key;

	ptrc_cli_begin(cli);
	while ((key = ptrc_cli_next(argc, argv)) != -1)
		if (key == PTRC_SESSION_KEY_ALLOW_LOSS)
			is_loss_allowed = true;
	if (optind == argc)
		ptrc_cli_usage(NULL, "no SESSION given");
	for (; optind < argc; optind++) {
		const char *name = argv[optind];
		int error = ptrc_session_ask(name, verb, &reply);

		if (error) {
			ptrc_cli_message(name, "%s", ptrc_session_explain(error));
			is_failed = true;
		} else if (reply.error) {
			say_refused(name, verb, &reply);
			is_failed = true;
		} else if (reply.has_state) {
			struct ptrc_losses losses;

			ptrc_losses_gather(&losses, &reply.state.status,
					   &reply.state.counts);
			ptrc_losses_from_log(&losses, reply.state.log);
			ptrc_losses_report(&losses, name);
			is_incomplete |= ptrc_losses_is_any(&losses);
		}
	}
	if (is_failed)
		return PTRC_EXIT_FAILED;
	return is_incomplete && !is_loss_allowed ? PTRC_EXIT_INCOMPLETE : PTRC_EXIT_DONE;
}
