/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/group_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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
	/* How often the witness looks whether COMMAND is still stopped. */
	LOOK_MS = 50,
	/* Tells the witness to watch COMMAND, or no longer. It is the number of no signal. */
	WATCH = 0,
};

static pid_t command;
static pid_t witness;
/* Our end of the socket on which the witness is asked; -1 if there is no witness. */
static int witness_fd = -1;

/* Whether COMMAND is stopped. False, too, if /proc does not say so: then nobody waits for it. */
static bool is_stopped(const char *stat_path)
{
	char text[256];
	const char *state;
	ssize_t n = -1;
	int fd = open(stat_path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	/* The name of the program, in brackets, stands before the state. It may have any bytes. */
	state = strrchr(text, ')');
	return state && (state[2] == 'T' || state[2] == 't');
}

/*
 * In the witness, while its parent has stopped itself because COMMAND has stopped: continues the
 * parent when COMMAND has been continued by somebody else, or has died. A SIGCONT may come too
 * early, just before the parent stops, so the witness repeats it until it gets its next byte.
 */
static void watch(int fd, const char *stat_path)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (poll(&p, 1, LOOK_MS) <= 0)
		if (!is_stopped(stat_path))
			kill(getppid(), SIGCONT);
}

/* Reads numbers of signals and answers each with a byte: 1 if that signal was pending for the
 * witness. It then no longer is. WATCH gets no answer. */
static void __attribute__((noreturn)) witness_main(int fd)
{
	const struct timespec patience = {.tv_nsec = PATIENCE_MS * 1000000};
	unsigned char signal;
	bool is_watching = false;
	char stat_path[40];

	/* A pipe of this process that the witness kept open would not end for its reader. */
	dup2(fd, STDIN_FILENO);
	syscall(SYS_close_range, 1, ~0U, 0);
	/* So that in a list of processes nobody takes the witness for another ptrace-run. */
	prctl(PR_SET_NAME, "ptrace-witness");
	/* The socket, too, ends with the process that asks, but a stopped witness would not
	 * notice that. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(stat_path, sizeof(stat_path), "/proc/%ld/stat", (long)command);
	for (;;) {
		unsigned char answer;
		sigset_t one;
		int received;

		if (is_watching)
			watch(STDIN_FILENO, stat_path);
		if (read(STDIN_FILENO, &signal, 1) != 1)
			break;
		is_watching = signal == WATCH && !is_watching;
		if (signal == WATCH)
			continue;
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

static void start_witness(void)
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

void ptrc_group_signal_begin(pid_t pid)
{
	command = pid;
	start_witness();
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
		start_witness();
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

bool ptrc_group_signal_is_witness(pid_t pid)
{
	return witness_fd >= 0 && pid == witness;
}

/* Tells the witness to watch COMMAND, or no longer. */
static bool tell(unsigned char byte)
{
	return witness_fd >= 0 && send(witness_fd, &byte, 1, MSG_NOSIGNAL) == 1;
}

/* Drops the SIGCONT by which the witness has continued this process: if COMMAND has stopped again
 * by now, that signal says nothing about it. One that somebody else has sent stays. */
static void drop_own_continue(void)
{
	const struct timespec at_once = {0};
	siginfo_t info;
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGCONT);
	if (sigtimedwait(&one, &info, &at_once) == SIGCONT && info.si_pid != witness)
		kill(getpid(), SIGCONT);
}

void ptrc_group_signal_stop(void)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};
	struct sigaction action;
	sigset_t pending;
	sigset_t one;
	sigset_t old;

	if (!tell(WATCH)) {
		ptrc_group_signal_end();
		start_witness();
		tell(WATCH);
	}
	/* Not if both have been continued since. */
	if (!sigpending(&pending) && !sigismember(&pending, SIGCONT)) {
		/* The kernel ignores this signal where no shell does job control, as the process
		 * group is orphaned then (POSIX, "orphaned process group"). */
		sigemptyset(&one);
		sigaddset(&one, SIGTSTP);
		sigaction(SIGTSTP, &standard, &action);
		raise(SIGTSTP);
		sigprocmask(SIG_UNBLOCK, &one, &old);
		sigprocmask(SIG_SETMASK, &old, NULL);
		sigaction(SIGTSTP, &action, NULL);
	}
	tell(WATCH);
	/* The SIGTSTP of a terminal, which may have stopped COMMAND, has had its effect here,
	 * too. When the witness has answered it watches no longer. */
	ptrc_group_signal_is_for_group(SIGTSTP);
	drop_own_continue();
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
