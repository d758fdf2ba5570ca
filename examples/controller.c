/* SPDX-License-Identifier: MIT */
/*
 * A controller: runs a command and traces it, with its children, into a log.
 *
 *     controller LOG COMMAND [ARGUMENT]...
 *
 * The child waits until it is traced, so that the trace has all of the command.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

static void check(const char *what, int error)
{
	if (error) {
		fprintf(stderr, "controller: %s: %s\n", what, strerror(error));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct posix_trace_status_info status;
	trace_event_set_t markers;
	trace_attr_t attr;
	trace_id_t trid;
	int log, go[2];
	pid_t pid;
	char c;

	if (argc < 3) {
		fputs("Usage: controller LOG COMMAND [ARGUMENT]...\n", stderr);
		return 2;
	}
	log = open(argv[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (log < 0 || pipe(go) < 0 || (pid = fork()) < 0) {
		perror("controller");
		return 1;
	}
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &c, 1) == 1) {
			close(go[0]);
			execvp(argv[2], argv + 2);
		}
		_exit(127);
	}
	close(go[0]);

	check("attributes", posix_trace_attr_init(&attr));
	check("name", posix_trace_attr_setname(&attr, argv[2]));
	check("children", posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED));
	check("log", posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND));
	check("create", posix_trace_create_withlog(pid, &attr, log, &trid));
	check("attributes", posix_trace_attr_destroy(&attr));

	/* The events of flushing are left out. */
	check("set", posix_trace_eventset_empty(&markers));
	check("set", posix_trace_eventset_add(POSIX_TRACE_FLUSH_START, &markers));
	check("set", posix_trace_eventset_add(POSIX_TRACE_FLUSH_STOP, &markers));
	check("filter", posix_trace_set_filter(trid, &markers, POSIX_TRACE_SET_EVENTSET));

	check("start", posix_trace_start(trid));
	if (write(go[1], "", 1) != 1)
		perror("controller");
	close(go[1]);
	waitpid(pid, NULL, 0);
	check("stop", posix_trace_stop(trid));

	check("status", posix_trace_get_status(trid, &status));
	if (status.posix_stream_overrun_status == POSIX_TRACE_OVERRUN)
		fputs("controller: events were lost\n", stderr);
	check("shutdown", posix_trace_shutdown(trid));
	return 0;
}
