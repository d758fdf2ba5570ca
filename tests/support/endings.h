/* SPDX-License-Identifier: MIT */
/* The ways in which a process ends. */
#ifndef TESTS_ENDINGS_H
#define TESTS_ENDINGS_H

#include "tests/support/support.h"
#include "tests/support/thread_state.h"

#include <sys/resource.h>
#include <sys/syscall.h>

enum ending {
	BY_EXIT,
	BY__EXIT,
	BY__EXIT_C,
	BY_QUICK_EXIT,
	BY_LAST_THREAD,
	BY_MAIN_THREAD_FIRST,
	BY_RAW_EXIT_GROUP,
	BY_EXEC,
	BY_ABORT, /* from here on by a signal */
	BY_SEGV,
	BY_TERM,
	BY_KILL,
	ENDINGS
};

static const char *const ending_names[] = {
	"exit",	      "_exit", "_Exit", "quick_exit", "last thread", "main thread first",
	"exit_group", "exec",  "abort", "SIGSEGV",    "SIGTERM",     "SIGKILL"};

static void *end_at_once(void *arg)
{
	return arg;
}

static void *end_later(void *arg)
{
	CHECK_EVENTUALLY(thread_state(getpid(), getpid()) == 'Z');
	return arg;
}

__attribute__((noreturn)) static void end_by(enum ending ending)
{
	struct rlimit no_core = {0, 0};
	pthread_t thread;

	setrlimit(RLIMIT_CORE, &no_core);
	switch (ending) {
	case BY_EXIT:
		exit(0);
	case BY__EXIT:
		_exit(0);
	case BY__EXIT_C:
		_Exit(0);
	case BY_QUICK_EXIT:
		quick_exit(0);
	case BY_LAST_THREAD:
		CHECK_EQ(pthread_create(&thread, NULL, end_at_once, NULL), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		pthread_exit(NULL);
	case BY_MAIN_THREAD_FIRST:
		CHECK_EQ(pthread_create(&thread, NULL, end_later, NULL), 0);
		pthread_exit(NULL);
	case BY_RAW_EXIT_GROUP:
		syscall(SYS_exit_group, 0);
		break;
	case BY_EXEC:
		execl("/bin/true", "true", (char *)NULL);
		break;
	case BY_ABORT:
		signal(SIGABRT, SIG_DFL);
		abort();
	case BY_SEGV:
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
		break;
	case BY_TERM:
		raise(SIGTERM);
		break;
	default:
		raise(SIGKILL);
		break;
	}
	_exit(1);
}

/* Waits for the end of the child, which must have ended in this way. */
static inline void expect_ending(pid_t pid, enum ending ending)
{
	int status = harness_reap(pid);

	if (ending < BY_ABORT ? status != 0 : !WIFSIGNALED(status))
		harness_fail("after %s the wait status is 0x%x", ending_names[ending],
			     (unsigned int)status);
}

#endif
