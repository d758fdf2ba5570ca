/* SPDX-License-Identifier: MIT */
/*
 * An active stream as its controller holds it: the object behind a PTRC_HANDLE_ACTIVE. The
 * functions of lib/api find it by its identifier, and call what is here or in stream.h.
 */
#ifndef PTRC_LIB_CONTROL_CONTROLLER_H
#define PTRC_LIB_CONTROL_CONTROLLER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <trace.h>

#include "lib/base/liveness.h"
#include "lib/control/log_fd.h"
#include "lib/keeper/keeper.h"
#include "lib/model/attr.h"
#include "lib/model/names.h"
#include "lib/process/target.h"
#include "lib/stream/live_reader.h"
#include "lib/stream/stream.h"

struct ptrc_controller {
	pthread_mutex_t lock;	     /* state changes, commands to the keeper */
	pthread_mutex_t reader_lock; /* reader; taken after `lock` */
	pthread_mutex_t list_lock;   /* list_next */
	struct ptrc_stream stream;
	struct ptrc_live_reader reader;
	struct ptrc_target target;
	struct ptrc_names *names;
	struct ptrc_liveness life, place;
	/* If the stream has a log. Between calls no descriptor but that of `log` is kept. */
	struct ptrc_keeper_args keeper;
	struct ptrc_log_fd log;
	uint64_t id;
	int32_t pid; /* of the controller: a forked child has a copy, without the stream */
	bool has_log, is_announced, is_attached;
	bool is_orphaned;   /* shut down without a keeper: the stream object stays */
	unsigned list_next; /* last id that was delivered of the list of event types */
	_Atomic bool is_closing;
};

/* posix_trace_create and posix_trace_create_withlog; log_fd -1: none. */
int ptrc_controller_create(pid_t pid, const trace_attr_t *attr, bool has_log, int log_fd,
			   trace_id_t *id);
/* End a stream whose identifier the caller has taken: stop, flush, close, free. Returns the error
 * of the final flush. */
int ptrc_controller_shutdown(struct ptrc_controller *c, trace_id_t id, uint64_t addr);
/* exit(): shut down every stream that this process controls. */
void ptrc_controller_shutdown_all(void);

/* Have the keeper carry out a command; the caller holds c->lock. */
int ptrc_controller_command(struct ptrc_controller *c, uint32_t command,
			    const struct ptrc_context *origin, uint64_t addr);

/* Start another keeper if the stream's keeper was killed. A program that only asks for the status
 * of a stream that flushes by itself would else find it full for ever. */
void ptrc_controller_revive_keeper(struct ptrc_controller *c);

/* Origin of events caused by the calling thread's call. */
struct ptrc_context ptrc_controller_origin(void);

/* A public function that takes an active stream begins with `enter` and ends with `leave`. Null:
 * this is no identifier of an active stream. Cancellation is disabled in between: only the two
 * functions that wait for an event are cancellation points. */
struct ptrc_controller *ptrc_controller_enter(trace_id_t id, int *cancel_state);
void ptrc_controller_leave(trace_id_t id, int cancel_state);

#endif
