/* SPDX-License-Identifier: MIT */
/* The state of a thread, as the kernel shows it in /proc. */
#ifndef TESTS_THREAD_STATE_H
#define TESTS_THREAD_STATE_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* The letter of proc(5): R is running or ready to run, S sleeps, T is stopped, Z has ended. X if
 * there is no such thread. */
static inline char thread_state(pid_t pid, pid_t tid)
{
	char path[80], text[512];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 'X';
	ssize_t got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return 'X';
	text[got] = '\0';
	const char *state = strrchr(text, ')');
	return state && state[1] ? state[2] : 'X';
}

#endif
