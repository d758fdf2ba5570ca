/* SPDX-License-Identifier: MIT */
/*
 * A program that scripts/stored links with the static library of a release and stores. Later releases trace it, and
 * are traced by it: tests/product/stability.sh.
 *
 *	program record       a child and the program record three events each, of which each has three fields; with
 *	                     "wait" after "record" after a line on standard input, and each once more after another
 *	program control PID LOG
 *	                     traces the process into the log, prints "tracing", and ends the trace after a line on
 *	                     standard input
 */
#include <fcntl.h>
#include <posixtrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

struct point {
	uint32_t number;
	double weight;
	char label[8];
};
POSIXTRACE_TYPE(point, "stored.point", struct point, number, weight, label);

static void record(void)
{
	for (uint32_t i = 0; i < 3; i++)
		POSIXTRACE_EMIT(point, .number = i, .weight = i / 2.0, .label = "stored");
}

static int control(pid_t pid, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	trace_attr_t attr;
	trace_id_t trace;
	int error;

	if (fd < 0 || posix_trace_attr_init(&attr) ||
	    posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED))
		return 1;
	error = posix_trace_create_withlog(pid, &attr, fd, &trace);
	if (!error)
		error = posix_trace_start(trace);
	if (error) {
		fprintf(stderr, "program: %s\n", strerror(error));
		return 1;
	}
	puts("tracing");
	fflush(stdout);
	getchar();
	return posix_trace_shutdown(trace) ? 1 : 0;
}

int main(int argc, char **argv)
{
	pid_t child;

	if (argc == 4)
		return control(atoi(argv[2]), argv[3]);
	if (argc == 3) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	child = fork();
	record();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	return 0;
}
