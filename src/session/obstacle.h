/* SPDX-License-Identifier: MIT */
/* Why the caller cannot trace a process, for all commands that say so. */
#ifndef PTRC_SRC_SESSION_OBSTACLE_H
#define PTRC_SRC_SESSION_OBSTACLE_H

#include <stdbool.h>
#include <sys/types.h>

struct ptrc_obstacle {
	const char *check;  /* the name of the check of ptrace-doctor(1) that this belongs to */
	char reason[200];   /* what the process is, such as "runs as user 0; you are 1000" */
	const char *advice; /* what to do; NULL: nothing */
};

/* Finds the first reason why the caller cannot trace the process, whatever program it runs: it belongs to another user,
 * is in another namespace, has another /dev/shm, is privileged, or has changed its user. Returns false if there is
 * none. */
bool ptrc_obstacle_find(pid_t, struct ptrc_obstacle *);

/* Whether the file /proc/PID/`theirs` of the process is another one than `ours`, a file of this command, or does not
 * exist. Returns false if that is unknown. */
bool ptrc_obstacle_is_other(pid_t, const char *theirs, const char *ours);

#endif
