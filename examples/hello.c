/* SPDX-License-Identifier: MIT */
/*
 * Everything that a program needs to be traced: it opens an event type by its name, once, and
 * calls a function when something happens. While no stream traces the program, that call costs
 * next to nothing.
 *
 * 	cc hello.c -lposixtrace && ptrace-run -o hello.log -- ./a.out && ptrace-dump hello.log
 */
#include <stdio.h>
#include <string.h>
#include <trace.h>

int main(int argc, char **argv)
{
	const char *whom = argc > 1 ? argv[1] : "world";
	trace_event_id_t greeting;

	posix_trace_eventid_open("hello.greeting", &greeting);

	printf("hello, %s\n", whom);
	posix_trace_event(greeting, whom, strlen(whom));

	return 0;
}
