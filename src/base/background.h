/* SPDX-License-Identifier: MIT */
/* Runs a call that may block for long in a thread of its own, one call at a time. Writing to a log that is a pipe
 * without a reader blocks, for instance. Meanwhile the main thread serves signals and clients. */
#ifndef PTRC_SRC_BASE_BACKGROUND_H
#define PTRC_SRC_BASE_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

struct ptrc_background {
	pthread_t thread;
	int (*work)(void *);
	void *arg;
	int result;
	/* A descriptor that becomes readable when the call has returned. -1: no call runs, or the call has
	 * already returned, because no descriptor could be made. */
	int fd;
	bool has_thread;
};

/* Starts the call in a thread that blocks all signals. If no thread can be started, makes the call before it
 * returns. If .fd is not -1, the caller waits until it is readable. Then the caller calls ptrc_background_end(). */
void ptrc_background_begin(struct ptrc_background *, int (*work)(void *), void *arg);
/* Waits until the call has returned, and returns its result. */
int ptrc_background_end(struct ptrc_background *);

#endif
