/* SPDX-License-Identifier: MIT */
/*
 * The keeper of a stream (the process that writes its log), and counts inside the library. The
 * shared library does not export the functions for these, so a test that includes this header is
 * linked with the static library.
 */
#ifndef TESTS_KEEPER_H
#define TESTS_KEEPER_H

#include "include/posixtrace-private.h"
#include "tests/support/logs.h"

/* Stores the path of a shared object of this user, as lib/base/shmdir.h has it. */
#define OBJECT_PATH 64

__attribute__((unused)) static void object_path(char path[OBJECT_PATH], char kind, uint64_t id)
{
	snprintf(path, OBJECT_PATH, "/dev/shm/posixtrace-%u/%c.%016" PRIx64, (unsigned)geteuid(),
		 kind, id);
}

__attribute__((unused)) static int open_object(char kind, uint64_t id)
{
	char path[OBJECT_PATH];

	object_path(path, kind, id);
	return CHECK_SYS(open(path, O_RDWR | O_CLOEXEC));
}

__attribute__((unused)) static struct ptrc_counts counts_of(trace_id_t trid)
{
	struct ptrc_counts counts;

	CHECK_OK(ptrc_trace_counts(trid, &counts));
	return counts;
}

/* The process that writes the log of the stream. */
__attribute__((unused)) static pid_t keeper_of(trace_id_t trid)
{
	pid_t keeper;

	CHECK_OK(ptrc_trace_keeper(trid, &keeper));
	return keeper;
}

__attribute__((unused)) static void kill_keeper(trace_id_t trid)
{
	pid_t keeper = keeper_of(trid);

	CHECK_SYS(kill(keeper, SIGKILL));
	CHECK_EVENTUALLY(process_is_gone(keeper));
}

/* Kills a child that controls a stream, and the keeper of the stream. The keeper is stopped first,
 * because otherwise it would finish the log when the controller dies. */
__attribute__((unused)) static void kill_both(pid_t controller, pid_t keeper)
{
	kill(keeper, SIGSTOP);
	harness_kill(controller);
	kill(keeper, SIGKILL);
	CHECK_EVENTUALLY(process_is_gone(keeper));
}

#endif
