/* SPDX-License-Identifier: MIT */
/*
 * Makes a session: a background process, the controller, which serves the clients of the session. The session
 * ends by the command of a client, by a signal, or, unless ptrace-create has got --keep, when the target ends.
 */
#ifndef PTRC_SRC_SESSION_SESSION_CREATE_H
#define PTRC_SRC_SESSION_SESSION_CREATE_H

#include <stdint.h>

#include "src/session/session_path.h"
#include "src/session/session_server.h"

/* The result of making a session, which the controller sends through a pipe. */
struct ptrc_session_outcome {
	/* 0 if the controller serves clients, otherwise an error number. */
	int32_t error;
	/* The step that failed: an enum ptrc_session_stage. */
	int32_t stage;
	int32_t controller;
	char name[PTRC_SESSION_NAME_MAX + 1];
	/* Why events of the operating system are missing although wanted; "" if none are missing. */
	char os_refusal[300];
};

/* Makes a session. Returns when the stream and the socket of its controller are made, or the controller has failed. */
void ptrc_session_create(const struct ptrc_session_plan *, struct ptrc_session_outcome *);

#endif
