/* SPDX-License-Identifier: MIT */
/*
 * Measures what ptrace-run --waits adds to a call: to an uncontended pthread_mutex_lock() with its
 * unlock, which makes no event, and to a read() of 4 KiB from a pipe, which makes two events in a
 * stream that overwrites its oldest events. Must run with posixtrace-preload.so preloaded and
 * POSIXTRACE_WAITS='*'. Each batch of calls of the wrappers (the functions of the preloaded
 * library) follows a batch of calls of the C library's own functions. Prints a JSON object: for
 * lock and read, the median nanoseconds of both, and of the difference between consecutive batches.
 */
#include "config.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>
#include <unistd.h>

#include "bench/measure.h"

enum { SAMPLES = 300, BLOCK = 4096, READS = 256, LOCKS = 2048 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static char block[READS * BLOCK];

/* The functions that the loops call: the wrappers, or the C library's own. */
static int (*lock)(pthread_mutex_t *);
static ssize_t (*read_some)(int, void *, size_t);
static ssize_t (*write_all)(int, const void *, size_t);

static void loop_locks(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++) {
		lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

static void loop_reads(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++)
		if (read_some(ends[0], block, BLOCK) != BLOCK)
			abort();
}

static double time_reads(void)
{
	if (write_all(ends[1], block, sizeof(block)) != sizeof(block))
		abort();
	return bench_time(loop_reads, READS, CLOCK_MONOTONIC);
}

static void *find(void *library, const char *name)
{
	void *function = dlsym(library, name);

	if (!function) {
		fprintf(stderr, "waits: the C library has no %s\n", name);
		exit(1);
	}
	return function;
}

static void measure(const char *name, const char *end, void *own, void *wrapper, void **function,
		    double (*sample)(void))
{
	static double bare[SAMPLES], ns[SAMPLES], added[SAMPLES];

	for (int i = -SAMPLES / 10; i < SAMPLES; i++) {
		double values[2];

		*function = own;
		values[0] = sample();
		*function = wrapper;
		values[1] = sample();
		if (i < 0)
			continue;
		bare[i] = values[0];
		ns[i] = values[1];
		added[i] = values[1] - values[0];
	}
	printf("\"%s\": {\"ns\": %.4g, \"bare_ns\": %.4g, \"added_ns\": %.4g}%s", name,
	       bench_median(ns, SAMPLES), bench_median(bare, SAMPLES), bench_median(added, SAMPLES),
	       end);
}

static double time_locks(void)
{
	return bench_time(loop_locks, LOCKS, CLOCK_MONOTONIC);
}

int main(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	struct posix_trace_event_info info;
	trace_id_t stream;
	char data[512];
	size_t size;
	int none = 1, own_count = 0;

	if (!libc || pipe(ends) || posix_trace_create(0, NULL, &stream) ||
	    posix_trace_start(stream))
		return 1;
	/* The pipe holds the data of a whole batch, so that a batch only reads. It takes longer
	 * than the 20 us for which the wrappers remember what a descriptor is open on
	 * (lib/preload/descriptors.c), so their checks of that are measured, too. */
	if (fcntl(ends[1], F_SETPIPE_SZ, sizeof(block)) < (int)sizeof(block)) {
		perror("waits: a larger pipe");
		return 1;
	}
	*(void **)&write_all = find(libc, "write");
	printf("{");
	measure("lock", ", ", find(libc, "pthread_mutex_lock"),
		find(RTLD_DEFAULT, "pthread_mutex_lock"), (void **)&lock, time_locks);
	measure("read", "}\n", find(libc, "read"), find(RTLD_DEFAULT, "read"), (void **)&read_some,
		time_reads);
	/* Check that waits were recorded. Otherwise no wrapper was measured. */
	while (!posix_trace_trygetnext_event(stream, &info, data, sizeof(data), &size, &none) &&
	       !none)
		own_count += info.posix_event_id > POSIX_TRACE_UNNAMED_USEREVENT;
	if (own_count < SAMPLES) {
		fputs("waits: no wait was recorded\n", stderr);
		return 1;
	}
	return posix_trace_shutdown(stream) != 0;
}
