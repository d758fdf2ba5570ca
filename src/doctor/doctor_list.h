/* SPDX-License-Identifier: MIT */
/*
 * The sessions of the user and their states. All of them are asked once, when the list is
 * needed first, and at the same time, because some may not answer.
 */
#ifndef PTRC_SRC_DOCTOR_DOCTOR_LIST_H
#define PTRC_SRC_DOCTOR_DOCTOR_LIST_H

#include <stddef.h>
#include <sys/types.h>

#include "src/session/session_protocol.h"

struct ptrc_doctor_list {
	size_t count;
	char **names;
	/* An error number of ptrc_session_stat_all(), or 0; with 0 the state is valid. */
	int *errors;
	struct ptrc_session_reply *replies;
};

const struct ptrc_doctor_list *ptrc_doctor_list(void);

/* The name of the session whose controller this is, or null. */
const char *ptrc_doctor_session_of(pid_t controller);

#endif
