/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/group_signal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/procfs.h"

enum {
	/* How long the witness (a child in the process group) waits for the signal it is asked about. */
	PATIENCE_MS = 20,
	/* If the witness does not answer in this time, it was stopped or killed, and is replaced. */
	ANSWER_S = 1,
	/* How often the witness checks whether COMMAND (which ptrace-run runs) is still stopped. */
	LOOK_MS = 50,
	/* A request to the witness, in place of the number of a signal: start or stop watching COMMAND. */
	WATCH = 0,
};

static pid_t command;
static pid_t witness;
/* This process's end of the socket to the witness; -1 if there is no witness. */
static int witness_fd = -1;

/* Whether COMMAND is stopped. Returns false if /proc cannot be read, because watch() then continues ptrace-run,
 * which is better than leaving it stopped. */
static bool is_stopped(void)
{
	struct ptrc_procfs_stat st;

	return !ptrc_procfs_stat(command, &st) && st.is_stopped;
}

/*
 * Runs in the witness, the child process that group_signal.h describes, while its parent (ptrace-run) has stopped
 * itself because COMMAND was stopped. Continues the parent when another process has continued COMMAND, or COMMAND
 * has died. Repeats the SIGCONT until the parent sends the next request, because a SIGCONT may come too early,
 * just before the parent stops.
 */
static void watch(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (poll(&p, 1, LOOK_MS) <= 0)
		if (!is_stopped())
			kill(getppid(), SIGCONT);
}

/* Takes the signal if it is pending, or becomes pending within limit_ns nanoseconds. Returns whether it did. */
static bool take_signal(int signal, long limit_ns, siginfo_t *info)
{
	const struct timespec limit = {.tv_nsec = limit_ns};
	sigset_t one;
	int received;

	sigemptyset(&one);
	sigaddset(&one, signal);
	do
		received = sigtimedwait(&one, info, &limit);
	while (received < 0 && errno == EINTR);
	return received == signal;
}

/* The witness reads requests of one byte. If a request is the number of a signal that is pending for the witness,
 * it takes the signal and answers 1; if the signal is not pending, it answers 0. WATCH gets no answer. */
static void __attribute__((noreturn)) witness_main(int fd)
{
	unsigned char signal;
	bool is_watching = false;

	/* Closes all other descriptors: if the witness kept an inherited pipe open, the reader of the pipe would
	 * see no end. */
	dup2(fd, STDIN_FILENO);
	syscall(SYS_close_range, 1, ~0U, 0);
	/* With this name, the witness does not look like another ptrace-run in a list of processes. */
	prctl(PR_SET_NAME, "ptrace-witness");
	/* Makes the witness end with its parent even if it is stopped and does not notice the closed socket. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		unsigned char answer;

		if (is_watching)
			watch(STDIN_FILENO);
		if (read(STDIN_FILENO, &signal, 1) != 1)
			break;
		is_watching = signal == WATCH && !is_watching;
		if (signal == WATCH)
			continue;
		answer = take_signal(signal, PATIENCE_MS * 1000000, NULL);
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
	/* fork() would run the fork handlers of the library, which would make the witness a traced
	 * process. As the flags name no signal, the parent gets none when the witness ends. */
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
	unsigned char byte = (unsigned char)signal;
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
	/* timeout(1) sends a signal first to its child and then to the group. If this process took the first
	 * signal before the second came, the second is now pending. Drops it, because it must not count as another
	 * signal. */
	if (byte)
		take_signal(signal, 0, NULL);
	return byte;
}

bool ptrc_group_signal_is_witness(pid_t pid)
{
	return witness_fd >= 0 && pid == witness;
}

static bool tell(unsigned char byte)
{
	return witness_fd >= 0 && send(witness_fd, &byte, 1, MSG_NOSIGNAL) == 1;
}

/* Drops a pending SIGCONT by which the witness continued this process: if COMMAND has stopped again meanwhile,
 * the signal is out of date. A SIGCONT from another process is sent again. */
static void drop_own_continue(void)
{
	siginfo_t info;

	if (take_signal(SIGCONT, 0, &info) && info.si_pid != witness)
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
	/* A pending SIGCONT says that COMMAND and this process were continued meanwhile; then this process does
	 * not stop. */
	if (!sigpending(&pending) && !sigismember(&pending, SIGCONT)) {
		/* Without a shell that does job control, the process group is orphaned, and the kernel ignores
		 * this signal (POSIX, "orphaned process group"). */
		sigemptyset(&one);
		sigaddset(&one, SIGTSTP);
		sigaction(SIGTSTP, &standard, &action);
		raise(SIGTSTP);
		sigprocmask(SIG_UNBLOCK, &one, &old);
		sigprocmask(SIG_SETMASK, &old, NULL);
		sigaction(SIGTSTP, &action, NULL);
	}
	tell(WATCH);
	/* If a SIGTSTP of the terminal stopped COMMAND, the witness has got that signal, too. This call makes the
	 * witness take the signal, so that it does not count again later. The answer also shows that the witness
	 * has stopped watching, so it sends no more SIGCONT. */
	ptrc_group_signal_is_for_group(SIGTSTP);
	drop_own_continue();
}

void ptrc_group_signal_end(void)
{
	if (witness_fd < 0)
		return;
	close(witness_fd);
	witness_fd = -1;
	/* Kills the witness, because a stopped witness does not notice that the socket was closed. */
	kill(witness, SIGKILL);
	while (waitpid(witness, NULL, __WALL) < 0 && errno == EINTR)
		;
}
