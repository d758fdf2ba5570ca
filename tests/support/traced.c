/* SPDX-License-Identifier: MIT */
/*
 * The program that the tests of the commands trace.
 *
 *	traced [OPTION]...
 *
 *	-e NAME    name of the event type (default: traced.event)
 *	-l LAYOUT  the layout with which the event type is opened
 *	-N COUNT   instead of one event type COUNT of them: NAME.1, NAME.2...; an event of each
 *	-n COUNT   events of each thread of each process (default: 1)
 *	-t COUNT   threads that record (default: the main thread alone)
 *	-a         the threads are called worker-0, worker-1...
 *	-u UID     before that, become this user for good; needs root
 *	-c COUNT   first, COUNT forked children do what this process does, one after the other
 *	-d TEXT    the data of every event (default: its number, from 0, as text)
 *	-z         after -d: the data also has the null byte at the end of TEXT
 *	-b         the data is eight bytes 01 02 03 04 05 06 07 ff
 *	-X HEX     the data is the bytes of these hexadecimal digits
 *	-s BYTES   the data is BYTES letters x
 *	-p US      pause after each event, microseconds
 *	-w         print "ready" and wait for a line on standard input before the first event
 *	-W         print "done" and wait for a line on standard input after the last event
 *	-k SIGNAL  end by this signal
 *	-x STATUS  exit with this status
 *	-f         at the end, make a child by clone(), so that no fork handler runs; it waits for a
 *	           signal, its pid is printed, and this process ends at once
 *
 * Exit status 99 if anything failed.
 */
#include "config.h"

#include <errno.h>
#include <grp.h>
#include <posixtrace.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

enum { FAILED = 99, THREADS_MAX = 64 };

static trace_event_id_t event;
static long event_count = 1;
static long pause_us;
static long name_count;
static bool has_thread_names;
static const char *text;
static size_t text_size;

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "traced: %s\n", what);
	exit(FAILED);
}

static long number(const char *s)
{
	char *end;
	long v = strtol(s, &end, 10);

	if (!*s || *end || v < 0)
		fail("bad number");
	return v;
}

static void set_bytes(const char *digits)
{
	char *bytes = malloc(strlen(digits) / 2 + 1);

	if (!bytes)
		fail("malloc");
	text_size = 0;
	for (unsigned int byte; *digits; digits += 2) {
		if (sscanf(digits, "%2x", &byte) != 1)
			fail("bad digits");
		bytes[text_size++] = (char)byte;
	}
	text = bytes;
}

static void say_and_wait(const char *word)
{
	char line[80];

	puts(word);
	fflush(stdout);
	if (!fgets(line, (int)sizeof(line), stdin) && ferror(stdin))
		fail("standard input");
}

static void *emit(void *thread_name)
{
	char digits[24];

	if (thread_name && prctl(PR_SET_NAME, thread_name))
		fail("PR_SET_NAME");
	for (long i = 0; i < event_count; i++) {
		if (text)
			posix_trace_event(event, text, text_size);
		else
			posix_trace_event(event, digits,
					  (size_t)snprintf(digits, sizeof(digits), "%ld", i));
		if (pause_us)
			usleep((useconds_t)pause_us);
	}
	return NULL;
}

static void emit_all(long thread_count)
{
	static char names[THREADS_MAX][16];
	pthread_t threads[THREADS_MAX];

	if (!thread_count) {
		emit(NULL);
		return;
	}
	if (thread_count > THREADS_MAX)
		fail("too many threads");
	for (long i = 0; i < thread_count; i++) {
		snprintf(names[i], sizeof(names[i]), "worker-%d", (int)i);
		if (pthread_create(&threads[i], NULL, emit, has_thread_names ? names[i] : NULL))
			fail("pthread_create");
	}
	for (long i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
}

static void emit_in_child(long thread_count)
{
	int status;

	fflush(stdout);
	pid_t pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid) {
		emit_all(thread_count);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		fail("child");
}

static void emit_names(const char *name)
{
	char numbered[300];

	for (long i = 1; i <= name_count; i++) {
		snprintf(numbered, sizeof(numbered), "%s.%ld", name, i);
		if (posix_trace_eventid_open(numbered, &event))
			fail("posix_trace_eventid_open");
		emit(NULL);
	}
}

int main(int argc, char **argv)
{
	const char *name = "traced.event";
	bool is_waiting_first = false;
	bool is_waiting_last = false;
	const char *layout = NULL;
	long threads = 0;
	long children = 0;
	int status = 0;
	int end_signal = 0;
	bool is_forking = false;
	uid_t user = 0;
	char *letters;
	int option;

	while ((option = getopt(argc, argv, "e:l:N:n:t:au:c:d:zbX:s:p:wWk:x:f")) != -1) {
		switch (option) {
		case 'e':
			name = optarg;
			break;
		case 'l':
			layout = optarg;
			break;
		case 'N':
			name_count = number(optarg);
			break;
		case 'n':
			event_count = number(optarg);
			break;
		case 't':
			threads = number(optarg);
			break;
		case 'a':
			has_thread_names = true;
			break;
		case 'u':
			user = (uid_t)number(optarg);
			break;
		case 'c':
			children = number(optarg);
			break;
		case 'd':
			text = optarg;
			text_size = strlen(optarg);
			break;
		case 'z':
			if (text)
				text_size++;
			break;
		case 'b':
			text = "\1\2\3\4\5\6\7\xff";
			text_size = 8;
			break;
		case 'X':
			set_bytes(optarg);
			break;
		case 's':
			text_size = (size_t)number(optarg);
			letters = malloc(text_size + 1);
			if (!letters)
				fail("malloc");
			memset(letters, 'x', text_size);
			text = letters;
			break;
		case 'p':
			pause_us = number(optarg);
			break;
		case 'w':
			is_waiting_first = true;
			break;
		case 'W':
			is_waiting_last = true;
			break;
		case 'k':
			end_signal = (int)number(optarg);
			break;
		case 'x':
			status = (int)number(optarg);
			break;
		case 'f':
			is_forking = true;
			break;
		default:
			return FAILED;
		}
	}
	switch (layout ? posixtrace_eventid_open_layout(name, layout, &event)
		       : posix_trace_eventid_open(name, &event)) {
	case 0:
		break;
	case ENOMEM:
		/* This process cannot be traced. Like a real program, it goes on nevertheless. */
		event = POSIX_TRACE_UNNAMED_USEREVENT;
		break;
	default:
		fail("posix_trace_eventid_open");
	}
	if (is_waiting_first)
		say_and_wait("ready");
	if (user &&
	    (setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user)))
		fail("setresuid");
	for (long i = 0; i < children; i++)
		emit_in_child(threads);
	if (name_count)
		emit_names(name);
	else
		emit_all(threads);
	if (is_waiting_last)
		say_and_wait("done");
	if (is_forking) {
		long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

		if (!child)
			pause();
		printf("%ld\n", child);
		fflush(stdout);
		_exit(status);
	}
	if (end_signal)
		raise(end_signal);
	return status;
}
