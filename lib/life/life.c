/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/life/life.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/sys.h"
#include "lib/control/controller.h"
#include "lib/control/handle.h"
#include "lib/control/log_fd.h"
#include "lib/process/process.h"
#include "lib/recorder/attach.h"

/* The lowest priority number that programs can use. So the library's constructor runs before the
 * constructors of the program, and its destructor after the program's destructors. The events of
 * these constructors and destructors are recorded. */
#define PRIORITY 101

/* The signal mask before the fork, protected by the locks that before_fork() takes. */
static uint64_t fork_mask;

/* Signals stay blocked during the fork, because a signal handler may record an event, which may
 * need the locks that are held now. The library registers its fork handlers before the program
 * does, so none of the program's handlers runs between these and the fork. (If the program has
 * loaded the library later, some may: see handle.c.) */
static void before_fork(void)
{
	uint64_t mask;

	ptrc_sys_block_signals(&mask);
	ptrc_handle_lock();
	/* A child inherits streams only from a page (list of streams), which a process that was given a
	 * stream may not have made yet. */
	ptrc_attach_early();
	ptrc_process_fork_prepare();
	fork_mask = mask;
}

static void after_fork_in_parent(void)
{
	uint64_t mask = fork_mask;

	ptrc_process_fork_parent();
	ptrc_handle_unlock();
	ptrc_sys_restore_signals(&mask);
}

static void after_fork_in_child(void)
{
	uint64_t mask = fork_mask;

	ptrc_process_fork_child();
	ptrc_log_fd_fork_child();
	ptrc_handle_fork_child();
	ptrc_attach_fork_child();
	ptrc_sys_restore_signals(&mask);
}

__attribute__((destructor(PRIORITY))) static void end_process(void)
{
	/* The process is not known if it is a vfork() child, which must not end its parent's
	 * streams, or a child that was forked without fork handlers and has not called the library
	 * since, which has no streams. */
	if (!ptrc_process_is_known())
		return;
	ptrc_controller_shutdown_all();
	ptrc_attach_end();
	ptrc_process_end();
}

__attribute__((constructor(PRIORITY))) void ptrc_life_begin(void)
{
	ptrc_process_begin();
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
	at_quick_exit(end_process);
	ptrc_attach_begin();
}
