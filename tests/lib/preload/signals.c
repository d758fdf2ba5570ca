/* SPDX-License-Identifier: MIT */
/*
 * A program that does with signals what a handler of SIGTRAP could disturb, and reaches probes meanwhile:
 *
 *	signals CASE
 *
 * It prints the same, and ends with the same status, whether its probes are recorded or not.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/sdt.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static volatile sig_atomic_t traps;
static sigjmp_buf out;

static void reach(int number)
{
	PROBE("signals", "reach", 0, "-4@%0", "r"(number));
}

static void count_trap(int number)
{
	(void)number;
	traps++;
	reach(0);
}

static void jump_out(int number)
{
	(void)number;
	reach(1);
	siglongjmp(out, 1);
}

static void reach_twice(void *unused)
{
	(void)unused;
	reach(2);
	reach(3);
}

static void *reach_always(void *unused)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_cleanup_push(reach_twice, NULL);
	for (;;)
		reach(4);
	pthread_cleanup_pop(0);
	return unused;
}

/* Threads that are cancelled in the handler run their cleanup with probes. */
static void cancel(void)
{
	for (int i = 0; i < 50; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, reach_always, NULL);
		usleep(500);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
	}
}

static void *reach_on_small_stack(void *unused)
{
	const size_t size = 4096;
	stack_t stack = {.ss_size = size};

	stack.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&stack, NULL);
	reach(5);
	return unused;
}

static void small_stack(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, reach_on_small_stack, NULL);
	pthread_join(thread, NULL);
}

/* A child of vfork() resets the action of its parent. */
static void vforked(void)
{
	int status;
	pid_t child;

	signal(SIGTRAP, count_trap);
	child = vfork();
	if (!child) {
		signal(SIGTRAP, SIG_DFL);
		reach(6);
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	raise(SIGTRAP);
	printf("%d traps, status %d\n", (int)traps, status);
}

static void old_functions(void)
{
	int before = sigblock(sigmask(SIGUSR1));

	reach(7);
	sigblock(sigmask(SIGTRAP));
	reach(7);
	printf("%x", sigsetmask(-1) ^ before);
	reach(7);
	printf(" %d", sigsetmask(0) == sigblock(-1));
	sigset(SIGTRAP, count_trap);
	reach(7);
	sighold(SIGTRAP);
	reach(7);
	raise(SIGTRAP);
	printf(" %d", (int)traps);
	sigrelse(SIGTRAP);
	printf(" %d", (int)traps);
	sigignore(SIGTRAP);
	reach(7);
	raise(SIGTRAP);
	printf(" %d %d\n", (int)traps, signal(SIGTRAP, SIG_DFL) == SIG_IGN);
}

static void *wait_for_trap(void *set)
{
	int number = 0;

	sigwait(set, &number);
	reach(number);
	return NULL;
}

/* SIGTRAP comes while it is blocked: when it is unblocked, to a thread that waits for it, and in a wait. */
static void blocked(void)
{
	sigset_t trap, none, now;
	pthread_t thread;
	siginfo_t info;
	int number = 0;

	sigemptyset(&none);
	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	sigprocmask(SIG_BLOCK, &trap, NULL);
	sigprocmask(SIG_BLOCK, NULL, &now);
	kill(getpid(), SIGTRAP);
	reach(8);
	sigwait(&trap, &number);
	printf("%d %d", sigismember(&now, SIGTRAP), number);
	kill(getpid(), SIGTRAP);
	number = sigwaitinfo(&trap, &info);
	printf(" %d %d", number, info.si_signo);
	signal(SIGTRAP, count_trap);
	kill(getpid(), SIGTRAP);
	printf(" %d", (int)traps);
	printf(" %d", sigsuspend(&none));
	printf(" %d", (int)traps);
	kill(getpid(), SIGTRAP);
	sigprocmask(SIG_SETMASK, &none, NULL);
	printf(" %d\n", (int)traps);
	sigprocmask(SIG_BLOCK, &trap, NULL);
	pthread_create(&thread, NULL, wait_for_trap, &trap);
	kill(getpid(), SIGTRAP);
	pthread_join(thread, NULL);
}

static void jump(void)
{
	struct sigaction a = {.sa_handler = jump_out};

	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGTRAP, &a, NULL);
	for (volatile int i = 0; i < 300; i++)
		if (!sigsetjmp(out, 1)) {
			if (i % 2)
				SDT_TRAP();
			else
				raise(i % 3 ? SIGTRAP : SIGUSR1);
		} else {
			reach(9);
		}
}

static void trap_blocked(void)
{
	sigset_t all;

	sigfillset(&all);
	signal(SIGTRAP, count_trap);
	sigprocmask(SIG_BLOCK, &all, NULL);
	reach(10);
	SDT_TRAP();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"blocked", blocked},   {"cancel", cancel},     {"jump", jump},
		     {"old", old_functions}, {"small", small_stack}, {"trap", trap_blocked},
		     {"vfork", vforked}};

	reach(11);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (argc > 1 && !strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			puts("done");
			return 0;
		}
	return argc > 1;
}
