/* SPDX-License-Identifier: MIT */
/*
 * A program to be traced, for tests that exec: opens one event name and generates events
 * of it, each with its number (an int, from 0) as data.
 *
 *	prog_emit [-wquifs] [-x PROGRAM] NAME [COUNT [ARG...]]
 *
 *	-w          say "ready" on standard output when the name is open, then wait for a
 *	            byte or the end of standard input before the first event
 *	-q          say "done" at the end, then wait in this way before exiting
 *	-u          events are of POSIX_TRACE_UNNAMED_USEREVENT, no name is opened
 *	-i          print the identifier of the event on standard output
 *	-f          do it all in a forked child, and exit when that has exited
 *	-s          do nothing and exit with status 3 if the system does not take this
 *	            process for a privileged one (set-user-ID and the like)
 *	-x PROGRAM  after that, exec PROGRAM with NAME and the arguments ARG
 *
 * Exit status 0, or 1 if anything failed.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

/* The leak check does not work in a privileged process, and such a process ignores ASAN_OPTIONS. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static int fail(const char *what)
{
	fprintf(stderr, "prog_emit: %s\n", what);
	return 1;
}

static void say_and_wait(const char *word)
{
	char byte;

	printf("%s\n", word);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) < 0)
		;
}

int main(int argc, char **argv)
{
	const char *next = NULL;
	int is_waiting = 0, is_staying = 0, is_unnamed = 0, is_printing = 0, is_forking = 0;
	trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;
	int option;

	/* "+": options end at NAME, because the arguments after COUNT are those of PROGRAM. */
	while ((option = getopt(argc, argv, "+wquifsx:")) != -1) {
		switch (option) {
		case 'w':
			is_waiting = 1;
			break;
		case 'q':
			is_staying = 1;
			break;
		case 'u':
			is_unnamed = 1;
			break;
		case 'i':
			is_printing = 1;
			break;
		case 'f':
			is_forking = 1;
			break;
		case 's':
			if (!getauxval(AT_SECURE))
				return 3;
			break;
		case 'x':
			next = optarg;
			break;
		default:
			return fail("bad option");
		}
	}
	if (optind >= argc)
		return fail("no event name");
	const char *name = argv[optind++];
	int count = optind < argc ? atoi(argv[optind++]) : 1;

	if (is_forking) {
		pid_t pid = fork();
		if (pid < 0)
			return fail("fork");
		if (pid > 0) {
			int status;
			if (waitpid(pid, &status, 0) != pid || status)
				return fail("forked child failed");
			return 0;
		}
	}
	if (!is_unnamed && posix_trace_eventid_open(name, &id))
		return fail("eventid_open");
	if (is_printing)
		printf("%u\n", id);
	if (is_waiting)
		say_and_wait("ready");
	for (int i = 0; i < count; i++)
		posix_trace_event(id, &i, sizeof(i));
	if (is_staying)
		say_and_wait("done");
	fflush(stdout);
	if (next) {
		argv[--optind] = (char *)(uintptr_t)name;
		execv(next, argv + optind);
		return fail("exec");
	}
	return 0;
}
