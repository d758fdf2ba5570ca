/* SPDX-License-Identifier: MIT */
/*
 * An active stream as its controller holds it: the object behind a PTRC_HANDLE_ACTIVE.
 * The public functions are thin: they find it by its identifier and call what is here or
 * in stream.h.
 */
#ifndef PTRC_LIB_CONTROL_CONTROLLER_H
#define PTRC_LIB_CONTROL_CONTROLLER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <trace.h>

#include "lib/model/attr.h"
#include "lib/keeper/keeper.h"
#include "lib/stream/live_reader.h"
#include "lib/base/liveness.h"
#include "lib/model/names.h"
#include "lib/process/process.h"
#include "lib/stream/stream.h"

struct ptrc_controller {
	pthread_mutex_t lock;	     /* state changes, commands to the keeper */
	pthread_mutex_t reader_lock; /* reader; taken after lock, if both */
	pthread_mutex_t list_lock;   /* list_next */
	struct ptrc_stream stream;
	struct ptrc_live_reader reader;
	struct ptrc_target target;
	struct ptrc_names *names;
	struct ptrc_liveness life, place;
	/* With a log. Only log_fd is kept; a program that closes all descriptors closes it,
	 * and may reuse the number: by device, inode, access mode and close-on-exec we know
	 * our own. */
	struct ptrc_keeper_args keeper;
	dev_t log_dev;
	ino_t log_ino;
	int log_access;
	struct ptrc_controller *next_log, **prev_log; /* all with a log_fd */
	uint64_t id;
	int32_t pid; /* whose it is: a forked child has a copy, without the stream */
	bool has_log, is_announced, is_listed, is_attached;
	bool is_orphaned;   /* shut down without a keeper: the stream object stays */
	unsigned list_next; /* event type list: index of the next id */
	_Atomic bool is_closing;
};

/* posix_trace_create and posix_trace_create_withlog; log_fd -1: none. */
int ptrc_controller_create(pid_t pid, const trace_attr_t *attr, bool has_log, int log_fd,
			   trace_id_t *id);
/* The stream is nobody's any more (its identifier was taken and drained of callers that
 * change it): stop, flush, close, free. Returns the error of the final flush. */
int ptrc_controller_shutdown(struct ptrc_controller *c, trace_id_t id, uint64_t addr);

/* Have the keeper carry out a command; the caller holds c->lock. */
int ptrc_controller_command(struct ptrc_controller *c, uint32_t command,
			    const struct ptrc_context *origin, uint64_t addr);

/* Start another keeper if the stream's was killed: who polls the status of a stream that
 * flushes by itself should not find it full for ever. */
void ptrc_controller_revive_keeper(struct ptrc_controller *c);

/* Origin of events caused by the calling thread's call. */
struct ptrc_context ptrc_controller_origin(void);

/* A public function that takes a stream begins with one of these and ends with
 * ptrc_controller_leave. Null: the identifier is none of an active stream. Cancellation
 * is off in between: no public function but the two getnext acts on it (GEN-10). */
struct ptrc_controller *ptrc_controller_enter(trace_id_t id, int *cancel_state);
void ptrc_controller_leave(trace_id_t id, int cancel_state);

#endif
