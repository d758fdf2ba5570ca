/* SPDX-License-Identifier: MIT */
/* Runs a function that may block for long (writing to a pipe without a reader, for instance) in a
 * thread of its own, one function at a time. Meanwhile the main thread serves signals and clients. */
#ifndef PTRC_SRC_BASE_BACKGROUND_H
#define PTRC_SRC_BASE_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

struct ptrc_background {
	pthread_t thread;
	int (*work)(void *);
	void *arg;
	int result;
	/* A descriptor that becomes readable when work() has returned; -1 if no work() was started, or if no
	 * descriptor could be made. In the latter case, ptrc_background_begin() runs work() itself. */
	int fd;
	bool has_thread;
};

/* Runs work(arg) in a new thread, which blocks all signals; if no thread can be started, runs work(arg) in this
 * one. Afterwards the caller waits until .fd is readable, unless .fd is -1, and calls ptrc_background_end(). */
void ptrc_background_begin(struct ptrc_background *, int (*work)(void *), void *arg);
/* Waits until work() has returned, and returns its result. */
int ptrc_background_end(struct ptrc_background *);

#endif
