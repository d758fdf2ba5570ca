/* SPDX-License-Identifier: MIT */
/*
 * The traced program of bench/peers. It uses no tracing library, so that each tracer traces the
 * same program:
 *
 * 	calls COUNT      calls an empty function
 * 	syscalls COUNT   makes a system call that does nothing
 * 	kill COUNT       calls the function, then kills itself by SIGKILL
 *
 * The first two print the nanoseconds of one call: the median of 100 batches. If the program is
 * compiled with -pg or -finstrument-functions, calls of the empty function are traced, and those of
 * functions marked UNTRACED are not.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define UNTRACED __attribute__((no_instrument_function))

enum { BATCHES = 100 };

void traced_function(void);

__attribute__((noinline)) void traced_function(void)
{
	__asm__ volatile("" : : : "memory");
}

static UNTRACED uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000U + (uint64_t)at.tv_nsec;
}

static UNTRACED int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The loops call no other function, because a tracer would trace that function, too. */
static UNTRACED void calls(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		traced_function();
}

static UNTRACED void syscalls(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		syscall(SYS_getppid);
}

int main(int argc, char **argv)
{
	unsigned long count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	void (*loop)(unsigned long) = calls;
	double ns[BATCHES];

	if (count < BATCHES) {
		fprintf(stderr, "usage: peer calls|syscalls|kill COUNT, at least %d\n", BATCHES);
		return 2;
	}
	if (!strcmp(argv[1], "syscalls"))
		loop = syscalls;
	if (!strcmp(argv[1], "kill")) {
		calls(count);
		raise(SIGKILL);
	}
	for (int i = 0; i < BATCHES; i++) {
		uint64_t begin = now();

		loop(count / BATCHES);
		ns[i] = (double)(now() - begin) / (double)(count / BATCHES);
	}
	qsort(ns, BATCHES, sizeof(*ns), compare);
	printf("%.3f\n", ns[BATCHES / 2]);
	return 0;
}
