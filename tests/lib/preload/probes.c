/* SPDX-License-Identifier: MIT */
/*
 * A program with probes.
 *
 *	probes COUNT [LIBRARY]
 *
 * All signals are blocked, or so it believes. It reaches app.step COUNT times, and app.guarded if somebody counts it;
 * then app.unknown, whose argument has a form that is not known, and app.none. If there is a LIBRARY, its function
 * reach(7) is called, and after it was unloaded and loaded again, reach(8). Then SIGTRAP comes to a handler of its
 * own, of a signal and of an instruction, and the handler of SIGUSR1, with all signals blocked, reaches app.handler.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/sdt.h"

static uint16_t counter __asm__("guarded_semaphore") __attribute__((section(".probes"), used));
static volatile sig_atomic_t traps;

static void trapped(int number)
{
	traps += number == SIGTRAP;
}

static void handle(int number)
{
	PROBE("app", "handler", 0, "-4@%0", "r"(number));
}

static int load(const char *path, int number)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*reach)(int) = library ? (void (*)(int))dlsym(library, "reach") : NULL;

	if (!reach)
		return 1;
	reach(number);
	return dlclose(library);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handle}, before;
	int count = argc > 1 ? atoi(argv[1]) : 1;
	int64_t negative = -5;
	double half = 0.5;
	sigset_t all;

	sigfillset(&all);
	action.sa_mask = all;
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < count; i++) {
		PROBE("app", "step", 0, "-4@%0 -8@%1", "r"(i), "m"(negative));
		if (*(volatile uint16_t *)&counter)
			PROBE("app", "guarded", guarded_semaphore, "8f@%0 2@%1", SDT_VECTOR(half),
			      "r"(i));
	}
	PROBE("app", "unknown", 0, "8@nowhere", "r"(0));
	PROBE("app", "none", 0, "", "r"(0));
	if (argc > 2 && (load(argv[2], 7) || load(argv[2], 8)))
		return 1;
	sigaction(SIGUSR1, &action, NULL);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	raise(SIGUSR1);
	signal(SIGTRAP, trapped);
	sigaction(SIGTRAP, NULL, &before);
	raise(SIGTRAP);
	SDT_TRAP();
	printf("%d traps, %s\n", (int)traps,
	       before.sa_handler == trapped ? "own handler" : "other handler");
	signal(SIGTRAP, SIG_DFL);
	if (argc > 3)
		SDT_TRAP();
	return 0;
}
