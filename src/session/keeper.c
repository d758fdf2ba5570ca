/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "lib/base/procfs.h"
#include "src/base/clock.h"
#include "src/base/message.h"
#include "src/base/scope.h"

enum {
	STACK_BYTES = 128 * 1024,
	/* The pause after a failed attempt to watch or to replace the keeper, and after a keeper that lived no
	 * longer than this: keepers that end at once would keep a processor busy. It is short, because events may
	 * be lost meanwhile. */
	PAUSE_MS = 50,
};

static bool is_keeper(const struct ptrc_procfs_stat *st)
{
	return !strcmp(st->comm, "ptrace-keeper");
}

bool ptrc_keeper_is_stopped(pid_t pid)
{
	struct ptrc_procfs_stat st;

	return !ptrc_procfs_stat(pid, &st) && st.is_stopped;
}

int64_t ptrc_keeper_look(struct ptrc_keeper_look *w)
{
	int64_t now = ptrc_now_ns();
	struct ptrc_procfs_stat st;

	if (ptrc_procfs_stat(w->pid, &st) || !is_keeper(&st))
		st = (struct ptrc_procfs_stat){0};
	w->is_stopped = st.is_stopped;
	if (!w->since_ns || (!w->is_stopped && (!st.is_asleep || st.used_ticks != w->ticks)))
		w->since_ns = now;
	w->ticks = st.used_ticks;
	return now - w->since_ns;
}

bool ptrc_keeper_of(const char *log, pid_t *keeper)
{
	/* A keeper locks bytes far beyond the end of its log. F_GETLK returns the process that holds the lock. */
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	PTRC_SCOPED_FD fd = -1;

	if (ptrc_log_open_last(log, &fd) || fcntl(fd, F_GETLK, &lock) || lock.l_type == F_UNLCK)
		return false;
	*keeper = lock.l_pid;
	return true;
}

void ptrc_keeper_say_stopped(const char *log)
{
	struct ptrc_procfs_stat st;
	pid_t keeper;

	if (ptrc_keeper_of(log, &keeper) && keeper > 0 && !ptrc_procfs_stat(keeper, &st) &&
	    is_keeper(&st) && st.is_stopped)
		ptrc_cli_message(log,
				 "ptrace-keeper (%ld), which writes it, is stopped; kill -CONT %ld "
				 "continues it",
				 (long)keeper, (long)keeper);
}

static _Atomic pid_t watched;

static void wait_for_end(trace_id_t trace, pid_t keeper)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, keeper, 0), .events = POLLIN};
	pid_t now;

	if (p.fd < 0) {
		poll(NULL, 0, PAUSE_MS);
		return;
	}
	/* The keeper may have ended before pidfd_open(), and another process may have got its process ID. So the
	 * library is asked again for the keeper's process ID. */
	if (!ptrc_trace_keeper(trace, &now) && now == keeper)
		poll(&p, 1, -1);
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
		if (error == EAGAIN || ptrc_now_ns() - begin < PAUSE_MS * PTRC_NS_PER_MS)
			poll(NULL, 0, PAUSE_MS);
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
