/* SPDX-License-Identifier: MIT */
/*
 * timed COMMAND [ARGUMENT]...: runs the command with its standard output discarded, and prints a
 * line: the seconds from just before its start until its end was noticed, the seconds of
 * processor time that it took, the greatest resident memory in KiB, and its exit status (128 + N
 * if signal N ended it). Times taken by a shell would include the shell's own fork.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/measure.h"

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t actions;
	struct rusage used;
	uint64_t begin, end;
	int error, status;
	pid_t pid;

	if (argc < 2) {
		fputs("usage: timed COMMAND [ARGUMENT]...\n", stderr);
		return 2;
	}
	error = posix_spawn_file_actions_init(&actions);
	if (!error)
		error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
							 O_WRONLY, 0);
	begin = bench_now_ns(CLOCK_MONOTONIC);
	if (!error)
		error = posix_spawnp(&pid, argv[1], &actions, NULL, argv + 1, environ);
	if (error) {
		fprintf(stderr, "timed: %s: %s\n", argv[1], strerror(error));
		return 1;
	}
	while (wait4(pid, &status, 0, &used) < 0)
		if (errno != EINTR)
			return 1;
	end = bench_now_ns(CLOCK_MONOTONIC);
	printf("%.6f %.6f %ld %d\n", (double)(end - begin) / 1e9,
	       (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
	       used.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return 0;
}
