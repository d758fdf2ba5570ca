/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/session_create.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/procfs.h"

/* After this many signals (SIGHUP, SIGINT, SIGTERM) the controller ends at once, without waiting for the end of
 * the session. The keeper, a process of its own, continues to write the log. */
enum { SIGNALS_MAX = 3 };

static void get_end_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGHUP);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
}

/* Makes this process independent of the command that started it. Opens a descriptor from which signals that
 * end the session are read, and a pidfd of the target. */
static int make_process(struct ptrc_session_plan *plan, int *signal_fd)
{
	sigset_t signals;
	sigset_t none;

	if (chdir("/"))
		return errno;
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	get_end_signals(&signals);
	/* The signals that end the session are blocked only when the session is ready. Until then they kill this
	 * process, even while it waits because the log accepts no data. */
	sigprocmask(SIG_SETMASK, &none, NULL);
	*signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (*signal_fd < 0)
		return errno;
	plan->target_fd = (int)syscall(SYS_pidfd_open, plan->target, 0);
	/* For the ID of a thread other than a process's main thread, the kernel reports ENOENT or EINVAL. */
	if (plan->target_fd < 0)
		return errno == EINVAL || errno == ENOENT ? ESRCH : errno;
	return 0;
}

/* Opens /dev/null as the standard descriptors, and closes all others except outcome_fd and log_fd (-1 without a
 * log), which are above the standard ones. A pipe that stays open would make $(ptrace-create ...) hang, because the
 * shell reads the pipe to its end. */
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

/* Ends the session after a signal. If the log blocks (a pipe that no process reads), gives the log up, because there
 * may be no user who could end the wait. */
static void take_signal(struct ptrc_server *server, int signal_fd, bool has_log)
{
	static unsigned int count;
	struct signalfd_siginfo info;

	if (read(signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (++count == SIGNALS_MAX) {
		ptrc_server_remove_socket(server);
		_exit(1);
	}
	if (has_log)
		ptrc_trace_give_up_log(ptrc_server_trace(server));
	ptrc_server_end(server);
}

static void __attribute__((noreturn)) serve(struct ptrc_server *server, int signal_fd, bool has_log)
{
	ptrc_server_begin(server);
	while (!ptrc_server_has_ended(server)) {
		struct pollfd p[1 + PTRC_SERVER_POLL_MAX] = {{.fd = signal_fd, .events = POLLIN}};
		int limit_ms;
		size_t count = ptrc_server_poll(server, p + 1, &limit_ms);

		if (poll(p, 1 + count, limit_ms) < 0)
			continue;
		ptrc_server_step(server, p + 1);
		if (p[0].revents && !ptrc_server_has_ended(server))
			take_signal(server, signal_fd, has_log);
	}
	ptrc_server_close(server);
	exit(0);
}

static void __attribute__((noreturn))
controller_main(const struct ptrc_session_plan *given, int outcome_fd)
{
	struct ptrc_session_outcome outcome = {.stage = PTRC_SESSION_STAGE_PROCESS};
	struct ptrc_session_plan plan = *given;
	struct ptrc_server *server;
	int signal_fd = -1;
	sigset_t signals;

	outcome.error = close_inherited(outcome_fd, plan.log ? plan.log->fd : -1)
				?: make_process(&plan, &signal_fd);
	server = ptrc_server_new(&plan);
	outcome.error = outcome.error ?: ptrc_server_listen(server, &outcome.stage);
	if (!outcome.error) {
		outcome.error = ptrc_server_make_stream(server, &outcome.stage);
		if (outcome.error)
			ptrc_server_remove_socket(server);
	}
	get_end_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	snprintf(outcome.name, sizeof(outcome.name), "%s", ptrc_server_name(server));
	snprintf(outcome.os_refusal, sizeof(outcome.os_refusal), "%s",
		 ptrc_server_os_refusal(server));
	outcome.controller = getpid();
	/* The structure is smaller than PIPE_BUF, so the write is atomic. If the command that reads the pipe is
	 * gone, the user does not know the name of the session, so the session ends. */
	if (write(outcome_fd, &outcome, sizeof(outcome)) != (ssize_t)sizeof(outcome) &&
	    !outcome.error) {
		posix_trace_shutdown(ptrc_server_trace(server));
		ptrc_server_remove_socket(server);
		exit(1);
	}
	close(outcome_fd);
	if (outcome.error)
		exit(1);
	serve(server, signal_fd, plan.log);
}

void ptrc_session_create(const struct ptrc_session_plan *plan, struct ptrc_session_outcome *outcome)
{
	const char *foreign = ptrc_procfs_bears_elsewhere();
	int ends[2];
	int status = 0;
	ssize_t n;
	pid_t pid;

	memset(outcome, 0, sizeof(*outcome));
	outcome->stage = PTRC_SESSION_STAGE_PROCESS;
	/* If children of this process get a new pid namespace, the first child becomes its init process. This child
	 * ends at once, and then the kernel kills all other processes of the namespace. */
	if (foreign && !strcmp(foreign, "pid")) {
		outcome->error = ECHILD;
		return;
	}
	if (pipe2(ends, O_CLOEXEC)) {
		outcome->error = errno;
		return;
	}
	/* Without this, both this process and its child would write what is in the buffer. */
	fflush(stdout);
	pid = fork();
	if (!pid) {
		/* The controller is in a kernel session of its own (setsid), so it gets no signals from the
		 * terminal. It is not the leader of that kernel session, so it cannot get a controlling
		 * terminal. */
		setsid();
		pid = fork();
		if (pid)
			_exit(pid < 0 ? errno : 0);
		/* The descriptor of the pipe is not a standard one, because ptrc_cli_begin() has opened
		 * standard descriptors that were closed. */
		controller_main(plan, ends[1]);
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
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* The first child exits with the error number of the second fork(). */
	if (outcome->error == ECHILD && WIFEXITED(status) && WEXITSTATUS(status))
		outcome->error = WEXITSTATUS(status);
}
