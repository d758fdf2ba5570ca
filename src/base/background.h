/* SPDX-License-Identifier: MIT */
/*
 * One call at a time in a thread of its own, for what may take long, such as writing to a log that
 * nobody reads. Meanwhile the main thread goes on serving signals and clients.
 */
#ifndef PTRC_SRC_BASE_BACKGROUND_H
#define PTRC_SRC_BASE_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

struct ptrc_background {
	pthread_t thread;
	int (*work)(void *);
	void *arg;
	int result;
	/* Becomes readable when the call has returned. It is -1 before a call, and after a call
	 * that was made at once for want of descriptors. */
	int fd;
	bool has_thread;
};

/* Begins the call, whose thread gets no signals. If there can be no thread, makes the call here.
 * The caller waits until .fd is readable or if it is -1 does not wait, and then calls
 * ptrc_background_end(). */
void ptrc_background_begin(struct ptrc_background *, int (*work)(void *), void *arg);
/* Waits for the end of the call, and returns what it returned. */
int ptrc_background_end(struct ptrc_background *);

#endif
