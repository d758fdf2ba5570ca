/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/keeper_watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "src/cli/clock.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum {
	STACK_BYTES = 128 * 1024,
	/* How long to wait before the next look if the process cannot be watched or replaced. */
	PAUSE_MS = 50,
	/* Who ends so soon after its start is replaced after a pause as long: the next may end so, too. */
	SOON_MS = 1000,
};

/* The process that is watched. */
static _Atomic pid_t watched;

/* Waits until the process has ended. */
static void wait_for_end(trace_id_t trace, pid_t keeper)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, keeper, 0), .events = POLLIN};
	pid_t now;

	/* Between the two calls the process may have ended, and its number may be another's. */
	if (p.fd >= 0 && (ptrc_trace_keeper(trace, &now) || now != keeper)) {
		close(p.fd);
		return;
	}
	poll(&p, p.fd >= 0, p.fd >= 0 ? -1 : PAUSE_MS);
	if (p.fd >= 0)
		close(p.fd);
}

static void *watch(void *arg)
{
	trace_id_t trace = (trace_id_t)(uintptr_t)arg;
	pid_t keeper;
	int error;

	while ((error = ptrc_trace_keeper(trace, &keeper)) != EINVAL) {
		int64_t begin = ptrc_now_ns();

		watched = error ? 0 : keeper;
		if (!error)
			wait_for_end(trace, keeper);
		watched = 0;
		if (error == EAGAIN)
			poll(NULL, 0, PAUSE_MS);
		else if (ptrc_now_ns() - begin < SOON_MS * INT64_C(1000000))
			poll(NULL, 0, SOON_MS);
	}
	return NULL;
}

pid_t ptrc_keeper_watched(void)
{
	return watched;
}

void ptrc_keeper_watch(trace_id_t trace)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr))
		return;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (!pthread_create(&thread, &attr, watch, (void *)(uintptr_t)trace))
		pthread_detach(thread);
	pthread_attr_destroy(&attr);
}
