/* SPDX-License-Identifier: MIT */
/* Wrappers of functions that make threads or end the process. The wrappers record the processor
 * times of threads (thread_times.h). */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

#include "lib/base/digits.h"
#include "lib/base/file.h"
#include "lib/base/procfs.h"
#include "lib/base/scope.h"
#include "lib/base/sys.h"
#include "lib/preload/descriptors.h"
#include "lib/preload/next_function.h"
#include "lib/preload/thread_times.h"
#include "lib/preload/waits.h"

/* If the process restricts its system calls by seccomp, the system calls that an event of a new
 * thread needs might kill the process, so nothing is recorded. */
static bool is_recorded(void)
{
	return ptrc_wait_is_recorded(PTRC_WAIT_ALL) && ptrc_descriptors_are_known();
}

/* ---- other threads than the first ---- */

struct start {
	void *(*function)(void *);
	void *argument;
};

static void end_thread(void *unused)
{
	PTRC_NO_CANCEL();

	(void)unused;
	if (is_recorded())
		ptrc_thread_times_record(PTRC_THREAD_END, ptrc_sys_gettid(), false);
}

/* The new thread calls this in place of the function of the program. */
static void *run_thread(void *arg)
{
	struct start start = *(struct start *)arg;
	void *result;

	free(arg);
	if (is_recorded())
		ptrc_thread_times_record(PTRC_THREAD_START, ptrc_sys_gettid(), true);
	/* The thread may also end by pthread_exit() or pthread_cancel(). */
	pthread_cleanup_push(end_thread, NULL);
	result = start.function(start.argument);
	pthread_cleanup_pop(1);
	return result;
}

/* For thrd_create(), whose thread function returns an int: it is in the same register as a
 * pointer. */
static int run_c_thread(void *arg)
{
	return (int)(intptr_t)run_thread(arg);
}

/* Makes a thread that calls `run` in place of the program's function. `function` is the next
 * definition of pthread_create() or thrd_create(), arguments[] its arguments: arguments[place] is
 * the program's function, arguments[place + 1] that function's argument. */
static long make_thread(ptrc_function *function, long arguments[4], int place, long run)
{
	int error = errno;
	struct start *start = malloc(sizeof(*start));
	long result;

	errno = error;
	ptrc_thread_times_record_due();
	if (start) {
		start->function = (void *(*)(void *))arguments[place];
		start->argument = (void *)arguments[place + 1];
		arguments[place] = run;
		arguments[place + 1] = (long)start;
	}
	result = function(arguments[0], arguments[1], arguments[2], arguments[3], 0, 0);
	if ((int)result)
		free(start);
	return result;
}

#define MAKES_THREAD(name, place, run)                                                            \
	PTRC_WRAPPER(name)                                                                        \
	{                                                                                         \
		ptrc_function *function = PTRC_NEXT_OR(#name, ptrc_function_error);               \
                                                                                                  \
		if (!is_recorded())                                                               \
			return function(a, b, c, d, e, f);                                        \
		return make_thread(function, (long[]){a, b, c, d}, place, (long)(intptr_t)(run)); \
	}

MAKES_THREAD(pthread_create, 2, run_thread)
MAKES_THREAD(thrd_create, 1, run_c_thread)

/* ---- the process ---- */

static bool end_each(const char *name, uint64_t inode, void *unused)
{
	int32_t thread = (int32_t)ptrc_digits_take(&name);

	(void)inode, (void)unused;
	if (thread)
		ptrc_thread_times_record(PTRC_THREAD_END, thread, false);
	return false;
}

/* Records the end of all threads, because the process ends. */
__attribute__((destructor)) static void end_process(void)
{
	PTRC_FD(tasks);

	if (!is_recorded())
		return;
	ptrc_thread_times_record_due();
	if (ptrc_procfs_open(0, "task", O_RDONLY | O_DIRECTORY, &tasks) == 0)
		ptrc_file_visit(tasks, end_each, NULL, NULL);
}

static void begin_child(void)
{
	ptrc_store_relaxed(&ptrc_thread_start_is_due, is_recorded());
}

/* Constructors without a priority, like this one, run after the constructor of life.c; destructors
 * without a priority run before its destructor. So events can be recorded in both. */
__attribute__((constructor)) static void begin_process(void)
{
	if (!ptrc_wait_is_selected(PTRC_WAIT_ALL))
		return;
	pthread_atfork(NULL, NULL, begin_child);
	at_quick_exit(end_process);
	if (is_recorded())
		ptrc_thread_times_record(PTRC_THREAD_START, ptrc_sys_gettid(), false);
}

#define ENDS_PROCESS(name)                                \
	PTRC_WRAPPER(name)                                \
	{                                                 \
		end_process();                            \
		return PTRC_NEXT(name)(a, b, c, d, e, f); \
	}

ENDS_PROCESS(_exit)
ENDS_PROCESS(_Exit)
