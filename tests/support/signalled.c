/* SPDX-License-Identifier: MIT */
/*
 * Says "ready" and then each signal that reaches it, a word a line on standard output, as
 * often as it comes; ends with status 7 by SIGUSR2. What stops a process stops it.
 */
#include <signal.h>
#include <stdio.h>
#include <stddef.h>

int main(void)
{
	static const struct {
		int number;
		const char *name;
	} signals[] = {
		{SIGHUP, "HUP"},   {SIGINT, "INT"},   {SIGQUIT, "QUIT"}, {SIGTERM, "TERM"},
		{SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}, {SIGCONT, "CONT"},
	};
	enum { COUNT = sizeof(signals) / sizeof(signals[0]) };
	sigset_t set;
	int s;

	sigemptyset(&set);
	for (size_t i = 0; i < COUNT; i++)
		sigaddset(&set, signals[i].number);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	do {
		fflush(stdout);
		s = sigwaitinfo(&set, NULL);
		for (size_t i = 0; i < COUNT; i++)
			if (signals[i].number == s)
				puts(signals[i].name);
	} while (s != SIGUSR2);
	return 7;
}
