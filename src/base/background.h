/* SPDX-License-Identifier: MIT */
/* Runs one call at a time in a thread of its own, if it may block for long, as writing to a log
 * that is a pipe without a reader does. Meanwhile the main thread serves signals and clients. */
#ifndef PTRC_SRC_BASE_BACKGROUND_H
#define PTRC_SRC_BASE_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

struct ptrc_background {
	pthread_t thread;
	int (*work)(void *);
	void *arg;
	int result;
	/* Becomes readable when the call has returned. -1: no call runs, or there was no
	 * descriptor and the call has already returned. */
	int fd;
	bool has_thread;
};

/* Starts the call in a thread that blocks all signals, or makes it here if no thread can be
 * started. The caller waits until .fd is readable, if it is not -1, and then calls
 * ptrc_background_end(). */
void ptrc_background_begin(struct ptrc_background *, int (*work)(void *), void *arg);
/* Waits until the call has returned, and returns its result. */
int ptrc_background_end(struct ptrc_background *);

#endif
