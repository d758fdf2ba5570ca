/* SPDX-License-Identifier: MIT */
/*
 * Makes a session: a background process, the controller, that serves its clients until one of them, a signal,
 * or the end of the target ends it.
 */
#ifndef PTRC_SRC_SESSION_SESSION_CREATE_H
#define PTRC_SRC_SESSION_SESSION_CREATE_H

#include <stdint.h>

#include "src/session/session_path.h"
#include "src/session/session_server.h"

/* The result, which the controller sends through a pipe. */
struct ptrc_session_outcome {
	/* 0: the controller serves. */
	int32_t error;
	/* enum ptrc_session_stage: the step that failed. */
	int32_t stage;
	int32_t controller;
	char name[PTRC_SESSION_NAME_MAX + 1];
	/* See ptrc_server_os_refusal(). */
	char os_refusal[300];
};

/* Returns once the controller serves, or has failed and is gone. */
void ptrc_session_create(const struct ptrc_session_plan *, struct ptrc_session_outcome *);

#endif
