/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/cli/group_signal.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	/* How long the witness waits for the signal that it is asked about. */
	PATIENCE_MS = 20,
	/* A witness that has not answered after this time was stopped or killed. */
	ANSWER_S = 1,
};

static pid_t witness;
/* Our end of the socket on which the witness is asked; -1 if there is no witness. */
static int witness_fd = -1;

/* Reads numbers of signals and answers each with a byte: 1 if that signal was pending for the
 * witness. It then no longer is. */
static void __attribute__((noreturn)) witness_main(int fd)
{
	const struct timespec patience = {.tv_nsec = PATIENCE_MS * 1000000};
	unsigned char signal;

	/* A pipe of this process that the witness kept open would not end for its reader. */
	dup2(fd, STDIN_FILENO);
	syscall(SYS_close_range, 1, ~0U, 0);
	/* So that in a list of processes nobody takes the witness for another ptrace-run. */
	prctl(PR_SET_NAME, "ptrace-witness");
	/* The socket, too, ends with the process that asks, but a stopped witness would not
	 * notice that. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(STDIN_FILENO, &signal, 1) == 1) {
		unsigned char answer;
		sigset_t one;
		int received;

		sigemptyset(&one);
		sigaddset(&one, signal);
		do
			received = sigtimedwait(&one, NULL, &patience);
		while (received < 0 && errno == EINTR);
		answer = received == signal;
		if (write(STDIN_FILENO, &answer, 1) != 1)
			break;
	}
	_exit(0);
}

void ptrc_group_signal_begin(void)
{
	const struct timeval limit = {.tv_sec = ANSWER_S};
	int ends[2];
	sigset_t all;
	sigset_t old;
	long pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return;
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	/* fork() would make the witness a traced process. No signal is sent when it ends, as the
	 * flags name none. */
	pid = syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	if (!pid)
		witness_main(ends[1]);
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return;
	}
	witness = (pid_t)pid;
	witness_fd = ends[0];
}

bool ptrc_group_signal_is_for_group(int signal)
{
	const struct timespec at_once = {.tv_sec = 0};
	unsigned char byte = (unsigned char)signal;
	sigset_t one;
	ssize_t n;

	if (witness_fd < 0)
		return false;
	n = send(witness_fd, &byte, 1, MSG_NOSIGNAL);
	if (n == 1)
		do
			n = recv(witness_fd, &byte, 1, 0);
		while (n < 0 && errno == EINTR);
	if (n != 1) {
		ptrc_group_signal_end();
		ptrc_group_signal_begin();
		return false;
	}
	/* timeout(1) sends a signal to its child and then to the group. If this process took the
	 * first copy before the second came, the second is still pending: drops it. */
	sigemptyset(&one);
	sigaddset(&one, signal);
	if (byte)
		sigtimedwait(&one, NULL, &at_once);
	return byte;
}

void ptrc_group_signal_end(void)
{
	if (witness_fd < 0)
		return;
	close(witness_fd);
	witness_fd = -1;
	/* A stopped witness would not notice that the socket was closed. */
	kill(witness, SIGKILL);
	while (waitpid(witness, NULL, __WALL) < 0 && errno == EINTR)
		;
}
