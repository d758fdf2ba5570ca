/* SPDX-License-Identifier: MIT */
/*
 * Prints "ready", and then a line with the name of each signal that it receives. After SIGUSR2 it
 * exits with status 7. SIGSTOP and SIGTSTP stop it as usual.
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
