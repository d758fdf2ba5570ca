/* SPDX-License-Identifier: MIT */
/* The controller's part of an active stream: the object of a PTRC_HANDLE_ACTIVE. */
#ifndef PTRC_LIB_CONTROL_CONTROLLER_H
#define PTRC_LIB_CONTROL_CONTROLLER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <trace.h>

#include "include/posixtrace-private.h"
#include "lib/base/liveness.h"
#include "lib/base/scope.h"
#include "lib/control/handle.h"
#include "lib/control/log_fd.h"
#include "lib/keeper/keeper.h"
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
	struct ptrc_liveness life;  /* shows other processes that this one controls the stream */
	struct ptrc_liveness place; /* one of the user's places for streams */
	struct ptrc_log_fd log;	    /* if the stream has a log */
	uint64_t id;
	int32_t pid; /* of the controller; a forked child has a copy of this but no stream */
	bool has_log, is_announced, is_attached;
	bool is_orphaned;   /* shut down without a keeper: the stream object stays */
	unsigned list_next; /* event type that the event type list returned last */
	_Atomic bool is_closing;
};

/* posix_trace_create (has_log false) and posix_trace_create_withlog. */
int ptrc_controller_create(pid_t pid, const trace_attr_t *attr, bool has_log, int log_fd,
			   trace_id_t *id);
/* Stops, flushes, closes and frees a stream, whose identifier the caller has taken by
 * ptrc_handle_take(). Stores the final counts, unless `counts` is NULL. Returns the error of the final
 * flush. */
int ptrc_controller_shutdown(struct ptrc_controller *c, trace_id_t id, uint64_t addr,
			     struct ptrc_counts *counts);
/* The counts of an active stream; *counts is zeroed. */
void ptrc_controller_count(struct ptrc_controller *c, struct ptrc_counts *counts);
/* Shuts down every stream that this process controls, at exit(). */
void ptrc_controller_shutdown_all(void);

/* Gives the keeper a command, as ptrc_keeper_command(), and waits until it is done. The caller holds
 * c->keeper_lock. */
int ptrc_controller_command(struct ptrc_controller *c, uint32_t command,
			    const struct ptrc_context *origin, uint64_t addr);

/* Stores the pid of the stream's keeper. If it was killed, starts another one first: commands do that,
 * too, but a program that only asks for the status of a FLUSH stream would find it full for ever.
 * EINVAL: no log; EAGAIN: another thread is giving a command, which starts a keeper, or a limit on
 * processes allows none; ENOMEM: none can be started. */
int ptrc_controller_revive_keeper(struct ptrc_controller *c, int *pid);

/* The origin of events that this thread causes. */
struct ptrc_context ptrc_controller_origin(void);

/* The event type list starts again. */
void ptrc_controller_rewind_list(struct ptrc_controller *c);

/* Declares `c`, the controller of the active stream with this identifier; NULL if there is none. Up to
 * the end of the block `c` is referred to, and the thread cannot be cancelled: only the two functions
 * that wait for an event are cancellation points. */
#define PTRC_ENTER(c, id)                       \
	PTRC_NO_CANCEL();                       \
	PTRC_REF(ref_, id, PTRC_HANDLE_ACTIVE); \
	struct ptrc_controller *const c = ref_.object

#endif
