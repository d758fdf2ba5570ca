/* SPDX-License-Identifier: MIT */
/*
 * Makes a session: the controller, a process in the background that serves its clients until
 * one of them, a signal, or the end of the target ends it.
 */
#ifndef PTRC_SRC_SESSION_SESSION_SERVER_H
#define PTRC_SRC_SESSION_SESSION_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <posixtrace.h>

#include "src/session/session_path.h"

/* What a session is made from. */
struct ptrc_session_plan {
	pid_t target;
	const trace_attr_t *attr;
	/* The name that the user wants; null: the controller makes one from the stem. */
	const char *name;
	const char *name_stem;
	/* Descriptor and absolute path of the log, or -1 and null. */
	int log_fd;
	const char *log_path;
	/* Names and globs of the events that the stream filters out from the start. */
	const char *const *filter;
	size_t filter_count;
	bool is_until_exit;
	bool is_started;
};

enum ptrc_session_stage {
	PTRC_SESSION_STAGE_PROCESS,
	PTRC_SESSION_STAGE_DIRECTORY,
	PTRC_SESSION_STAGE_NAME,
	PTRC_SESSION_STAGE_STREAM,
	PTRC_SESSION_STAGE_FILTER,
};

/* How the plan was carried out. The controller sends this through a pipe. */
struct ptrc_session_outcome {
	/* 0: the controller serves. */
	int32_t error;
	/* enum ptrc_session_stage: the step that failed. */
	int32_t stage;
	/* The process ID of the controller. */
	int32_t controller;
	char name[PTRC_SESSION_NAME_MAX + 1];
};

/* Returns when the controller serves, or has failed and is gone. */
void ptrc_session_create(const struct ptrc_session_plan *, struct ptrc_session_outcome *);

#endif
