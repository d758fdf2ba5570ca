/* SPDX-License-Identifier: MIT */
/*
 * Forces an order: a process ends just before COMMAND looks at it.
 *
 *	meanwhile LOOK PIDFILE FIFO COMMAND [ARGUMENT]...
 *
 * Executes COMMAND. When its first thread is about to look at the process whose ID is in PIDFILE,
 * for the first time, writes a line to FIFO, and waits until that process has ended. LOOK says what
 * counts: "file", opening a file in /proc/PID, or "pidfd", pidfd_open(). The exit status is that of
 * COMMAND, or 77 if the kernel does not let this program trace COMMAND.
 */
#include "config.h"

#include <fcntl.h>
#include <linux/ptrace.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* <sys/ptrace.h> and <linux/ptrace.h> cannot be included together. */
static long trace(long request, pid_t pid, long a, const void *b)
{
	return syscall(SYS_ptrace, request, pid, a, b);
}

static const char *pid_file, *fifo;
static bool is_by_pidfd;

/* 0: the file does not have the ID yet. */
static long read_pid(void)
{
	FILE *f = fopen(pid_file, "re");
	char end = 0;
	long pid = 0;

	if (f && (fscanf(f, "%ld%c", &pid, &end) != 2 || end != '\n'))
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

static bool is_look(pid_t command, const struct ptrace_syscall_info *call, long pid)
{
	char path[64] = "", part[32];
	struct iovec to = {path, sizeof(path) - 1};
	struct iovec from = {(void *)(uintptr_t)call->entry.args[1], sizeof(path) - 1};

	if (is_by_pidfd)
		return call->entry.nr == SYS_pidfd_open && (long)call->entry.args[0] == pid;
	if (call->entry.nr != SYS_openat)
		return false;
	process_vm_readv(command, &to, 1, &from, 1, 0);
	snprintf(part, sizeof(part), "/%ld/", pid);
	return !strncmp(path, "/proc/", 6) && strstr(path, part);
}

static void let_end(long pid)
{
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0), .events = POLLIN};
	int fd = open(fifo, O_WRONLY | O_CLOEXEC);

	if (write(fd, "\n", 1) != 1)
		exit(1);
	close(fd);
	poll(&end, 1, -1);
	close(end.fd);
}

int main(int argc, char **argv)
{
	bool is_done = false;
	pid_t command;
	int status;

	if (argc < 5)
		return 1;
	is_by_pidfd = !strcmp(argv[1], "pidfd");
	pid_file = argv[2];
	fifo = argv[3];
	command = fork();
	if (!command) {
		if (trace(PTRACE_TRACEME, 0, 0, NULL))
			_exit(77);
		raise(SIGSTOP);
		execvp(argv[4], argv + 4);
		_exit(127);
	}
	if (waitpid(command, &status, 0) != command || WIFEXITED(status) ||
	    trace(PTRACE_SETOPTIONS, command, 0,
		  (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)))
		return 77;
	for (intptr_t signal = 0; !trace(PTRACE_SYSCALL, command, 0, (void *)signal);) {
		struct ptrace_syscall_info call;
		long pid;

		if (waitpid(command, &status, 0) != command || !WIFSTOPPED(status))
			break;
		signal = WSTOPSIG(status);
		if (signal != (SIGTRAP | 0x80)) {
			/* The kernel's SIGTRAP after execve() is not for COMMAND. */
			signal = signal == SIGTRAP ? 0 : signal;
			continue;
		}
		signal = 0;
		if (is_done || trace(PTRACE_GET_SYSCALL_INFO, command, sizeof(call), &call) <= 0 ||
		    call.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		pid = read_pid();
		is_done = pid && is_look(command, &call, pid);
		if (is_done)
			let_end(pid);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
