/* SPDX-License-Identifier: MIT */
/*
 * What the controller of an active stream has of it: the object of a PTRC_HANDLE_ACTIVE. The
 * functions of lib/api find it by the stream's identifier.
 */
#ifndef PTRC_LIB_CONTROL_CONTROLLER_H
#define PTRC_LIB_CONTROL_CONTROLLER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <trace.h>

#include "include/posixtrace-private.h"
#include "lib/base/liveness.h"
#include "lib/control/log_fd.h"
#include "lib/keeper/keeper.h"
#include "lib/model/attr.h"
#include "lib/model/names.h"
#include "lib/process/target.h"
#include "lib/stream/live_reader.h"
#include "lib/stream/stream.h"
#include "lib/stream/untraced.h"

struct ptrc_controller {
	pthread_mutex_t keeper_lock; /* for commands to the keeper; taken before `lock` */
	pthread_mutex_t lock;	     /* for changes of state */
	pthread_mutex_t reader_lock; /* for `reader`; taken after `lock` */
	pthread_mutex_t list_lock;   /* for list_next */
	struct ptrc_stream stream;
	struct ptrc_live_reader reader;
	struct ptrc_target target;
	struct ptrc_names *names;
	struct ptrc_liveness life;  /* tells other processes that this one controls the stream */
	struct ptrc_liveness place; /* one of the user's places for streams */
	struct ptrc_log_fd log;	    /* if the stream has a log */
	uint64_t id;
	int32_t pid; /* of the controller; a forked child has a copy of this, but no stream */
	bool has_log, is_announced, is_attached;
	bool is_orphaned;   /* shut down without a keeper: the stream object stays */
	unsigned list_next; /* the event type that the event type list gave last */
	_Atomic bool is_closing;
};

/* posix_trace_create (has_log false) and posix_trace_create_withlog. */
int ptrc_controller_create(pid_t pid, const trace_attr_t *attr, bool has_log, int log_fd,
			   trace_id_t *id);
/* Stop, flush, close and free a stream. The caller has taken its identifier by ptrc_handle_take.
 * *counts, if not null, gets the final counts. Returns the error of the final flush. */
int ptrc_controller_shutdown(struct ptrc_controller *c, trace_id_t id, uint64_t addr,
			     struct ptrc_counts *counts);
/* The counts of an active stream; *counts was all zero. */
void ptrc_controller_count(struct ptrc_controller *c, struct ptrc_counts *counts);
/* exit(): shut down every stream that this process controls. */
void ptrc_controller_shutdown_all(void);

/* Give the keeper a command and wait until it is done; the arguments are those of
 * ptrc_keeper_command. The caller has c->keeper_lock. */
int ptrc_controller_command(struct ptrc_controller *c, uint32_t command,
			    const struct ptrc_context *origin, uint64_t addr);

/* Store the process id of the stream's keeper; if that was killed, start another one first.
 * Otherwise a program that only asks for the status of a FLUSH stream would find it full for ever,
 * because it gives no command. EINVAL: no log; EAGAIN: another thread is giving a command, which
 * starts a keeper, or a limit on processes allows none; ENOMEM: none can be started. */
int ptrc_controller_revive_keeper(struct ptrc_controller *c, int *pid);

/* The origin of the events that a call of this thread causes. */
struct ptrc_context ptrc_controller_origin(void);

/* A public function that takes an active stream begins with `enter` and ends with `leave`. Null: no
 * active stream has this identifier. Cancellation is disabled in between, because only the two
 * functions that wait for an event are cancellation points. */
struct ptrc_controller *ptrc_controller_enter(trace_id_t id, int *cancel_state);
void ptrc_controller_leave(trace_id_t id, int cancel_state);

#endif
