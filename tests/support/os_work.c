/* SPDX-License-Identifier: MIT */
/*
 * A program that does not use the library, for the tests of events of the operating system.
 *
 *	os_work switches N   sleep N times; print how often this thread has waited meanwhile, how often
 *	                     it was preempted, as the kernel counts this, and the times of begin and end
 *	os_work threads N    start N threads, one after the other; each prints its thread ID
 *	os_work idle N       start N threads, each of which prints its thread ID and waits; end them all
 *	                     when standard input has a line or ends
 *	os_work spin MS      use MS ms of processor time in functions that call each other: main,
 *	                     work_outer, work_middle, work_inner
 *	os_work spins MS N   do this in each of N threads: spin_thread calls work_outer, and so on
 *	os_work deep N MS    do this below a function, work_deep, that calls itself N times
 *	os_work execute COMMAND [ARGUMENT]...
 *	                     execute COMMAND by another thread than the first one
 *	os_work refused COMMAND [ARGUMENT]...
 *	                     execute COMMAND so that perf_event_open() fails with EPERM in it
 *	os_work refuse CALL ERROR COMMAND [ARGUMENT]...
 *	                     execute COMMAND so that the system call CALL, one of a few, fails with the
 *	                     error number ERROR in it
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int switches(long count)
{
	const struct timespec moment = {.tv_nsec = 1};
	struct timespec begin, end;
	struct rusage before, after;

	if (getrusage(RUSAGE_THREAD, &before) || clock_gettime(CLOCK_REALTIME, &begin))
		return 1;
	for (long i = 0; i < count; i++)
		nanosleep(&moment, NULL);
	if (getrusage(RUSAGE_THREAD, &after) || clock_gettime(CLOCK_REALTIME, &end))
		return 1;
	printf("%ld %ld @%ld.%09ld @%ld.%09ld\n", after.ru_nvcsw - before.ru_nvcsw,
	       after.ru_nivcsw - before.ru_nivcsw, (long)begin.tv_sec, begin.tv_nsec,
	       (long)end.tv_sec, end.tv_nsec);
	fflush(stdout);
	/* exit() is avoided: the waits of a sanitizer at the end would not be in the printed
	 * counts. */
	_exit(0);
}

static void *tell_number(void *unused)
{
	(void)unused;
	printf("%ld\n", (long)syscall(SYS_gettid));
	return NULL;
}

static int threads(long count)
{
	for (long i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, tell_number, NULL) || pthread_join(thread, NULL))
			return 1;
	}
	return 0;
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_at_gate(void *unused)
{
	tell_number(unused);
	fflush(stdout);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return NULL;
}

static int idle(long count)
{
	pthread_t threads[64];

	pthread_mutex_lock(&gate);
	for (long i = 0; i < count && i < 64; i++)
		if (pthread_create(&threads[i], NULL, wait_at_gate, NULL))
			return 1;
	(void)getchar();
	pthread_mutex_unlock(&gate);
	for (long i = 0; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* For functions whose names the tests look for in stacks. None is inlined or cloned, and none is
 * called by a tail call, so each has a frame; the program is compiled with frame pointers. */
#ifdef __clang__
#define FUNCTION __attribute__((noinline, used))
#else
#define FUNCTION __attribute__((noipa))
#endif

static int64_t used_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* The loop is long, so that most samples are in this function, not in the clock_gettime() of its
 * caller. As the function calls nothing, gcc would give it no frame, and its caller would be
 * missing from the stacks; __builtin_frame_address() makes gcc set up a frame. */
static FUNCTION unsigned int work_inner(unsigned int n)
{
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (unsigned int i = 0; i < 1000000; i++) {
		n = n * 1664525 + 1013904223;
		__asm__ volatile("" : "+r"(n));
	}
	return n;
}

static FUNCTION unsigned int work_middle(int64_t until_ns)
{
	unsigned int n = 1;

	while (used_ns() < until_ns)
		n = work_inner(n);
	__asm__ volatile("" : "+r"(n));
	return n;
}

static FUNCTION unsigned int work_outer(long ms)
{
	unsigned int n = work_middle(used_ns() + ms * INT64_C(1000000));

	__asm__ volatile("" : "+r"(n));
	return n;
}

static FUNCTION unsigned int work_deep(long depth, long ms)
{
	unsigned int n = depth > 1 ? work_deep(depth - 1, ms) : work_outer(ms);

	__asm__ volatile("" : "+r"(n));
	return n;
}

static FUNCTION void *spin_thread(void *ms)
{
	unsigned int n = work_outer(*(long *)ms);

	__asm__ volatile("" : "+r"(n));
	return NULL;
}

static int spins(long ms, long count)
{
	pthread_t threads[64];

	for (long i = 0; i < count && i < 64; i++)
		if (pthread_create(&threads[i], NULL, spin_thread, &ms))
			return 1;
	for (long i = 0; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static void *execute(void *command)
{
	execvp(*(char **)command, command);
	perror("os_work: execvp");
	return NULL;
}

static int execute_by_thread(char **command)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, execute, command))
		pthread_join(thread, NULL);
	return 1;
}

static int refused(long number, int error, char **command)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = 4, .filter = steps};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("os_work: seccomp");
		return 77;
	}
	execvp(*command, command);
	perror(*command);
	return 1;
}

static long number_of(const char *call)
{
	static const struct {
		const char *name;
		long number;
	} calls[] = {{"fallocate", SYS_fallocate},
		     {"fcntl", SYS_fcntl},
		     {"mkdirat", SYS_mkdirat},
		     {"openat", SYS_openat},
		     {"mmap", SYS_mmap}};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(calls[i].name, call))
			return calls[i].number;
	return -1;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "switches"))
		return switches(atol(argv[2]));
	if (argc > 2 && !strcmp(argv[1], "threads"))
		return threads(atol(argv[2]));
	if (argc > 2 && !strcmp(argv[1], "idle"))
		return idle(atol(argv[2]));
	if (argc > 2 && !strcmp(argv[1], "spin"))
		return !work_outer(atol(argv[2]));
	if (argc > 3 && !strcmp(argv[1], "spins"))
		return spins(atol(argv[2]), atol(argv[3]));
	if (argc > 3 && !strcmp(argv[1], "deep"))
		return !work_deep(atol(argv[2]), atol(argv[3]));
	if (argc > 2 && !strcmp(argv[1], "execute"))
		return execute_by_thread(argv + 2);
	if (argc > 2 && !strcmp(argv[1], "refused"))
		return refused(SYS_perf_event_open, EPERM, argv + 2);
	if (argc > 4 && !strcmp(argv[1], "refuse"))
		return refused(number_of(argv[2]), atoi(argv[3]), argv + 4);
	return 2;
}
