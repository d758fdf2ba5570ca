/* SPDX-License-Identifier: MIT */
/* Runs a function that may block for long in a thread of its own, one at a time. Writing to a log
 * that is a pipe without a reader blocks, for instance. Meanwhile the main thread serves signals
 * and clients. */
#ifndef PTRC_SRC_BASE_BACKGROUND_H
#define PTRC_SRC_BASE_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

struct ptrc_background {
	pthread_t thread;
	int (*work)(void *);
	void *arg;
	int result;
	/* Becomes readable when work() has returned. -1 if work() does not run: none was started,
	 * or no descriptor could be made; ptrc_background_begin() has then run work() before it
	 * returned. */
	int fd;
	bool has_thread;
};

/* Runs work(arg) in a new thread, which blocks all signals; if no thread can be started, runs it in
 * this one. If .fd is not -1 then, the caller waits until it is readable. Then the caller calls
 * ptrc_background_end(). */
void ptrc_background_begin(struct ptrc_background *, int (*work)(void *), void *arg);
/* Waits until work() has returned, and returns its result. */
int ptrc_background_end(struct ptrc_background *);

#endif
