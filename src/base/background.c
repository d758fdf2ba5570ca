/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/background.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void say_done(const struct ptrc_background *b)
{
	if (b->fd >= 0)
		eventfd_write(b->fd, 1);
}

static void *thread_main(void *arg)
{
	struct ptrc_background *b = arg;

	b->result = b->work(b->arg);
	say_done(b);
	return NULL;
}

void ptrc_background_begin(struct ptrc_background *b, int (*work)(void *), void *arg)
{
	sigset_t all;
	sigset_t old;

	b->work = work;
	b->arg = arg;
	b->fd = eventfd(0, EFD_CLOEXEC);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	b->has_thread = b->fd >= 0 && !pthread_create(&b->thread, NULL, thread_main, b);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (b->has_thread)
		return;
	b->result = work(arg);
	say_done(b);
}

int ptrc_background_end(struct ptrc_background *b)
{
	if (b->has_thread)
		pthread_join(b->thread, NULL);
	if (b->fd >= 0)
		close(b->fd);
	b->fd = -1;
	return b->result;
}
