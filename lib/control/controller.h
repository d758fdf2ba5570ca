/* SPDX-License-Identifier: MIT */
/* The controller's object for an active stream. The trace_id_t of an active stream identifies this
 * object. */
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
	pthread_mutex_t keeper_lock; /* held while a command is given to the keeper; taken before
				      * `lock` */
	pthread_mutex_t lock;	     /* held while the stream's state is changed */
	pthread_mutex_t reader_lock; /* protects `reader`; taken after `lock` */
	struct ptrc_stream stream;
	struct ptrc_live_reader reader;
	struct ptrc_target target;
	struct ptrc_names *names;
	struct ptrc_liveness life;  /* shows other processes that this process controls the stream
				     * and is alive */
	struct ptrc_liveness place; /* one of the user's 64 places for streams */
	struct ptrc_log_fd log;	    /* the log's descriptor, if the stream has a log */
	uint64_t id;		    /* random number in the name s.<id> of the stream object */
	int32_t pid; /* pid of the controller; differs from getpid() in the copy that a forked child
		      * has, and a child has none of its parent's streams */
	bool has_log;
	bool is_attached; /* the stream is in the target's page (list of streams) */
	bool is_orphaned; /* was shut down while no keeper could run: the stream object stays */
	/* The event type that posix_trace_eventtypelist_getnext_id() returned last; 0: none. */
	_Atomic unsigned list_next;
	_Atomic bool is_closing;
};

/* Does the work of posix_trace_create() (has_log false) and posix_trace_create_withlog() (has_log
 * true). */
int ptrc_controller_create(pid_t pid, const trace_attr_t *attr, bool has_log, int log_fd,
			   trace_id_t *id);
/* Stops the stream, flushes and closes its log, and frees the stream. The caller has taken its
 * identifier by ptrc_handle_take(). `addr` is the code address in the STOP event. Stores the final
 * counts, unless `counts` is NULL. Returns the error of the final flush; ECHILD or EAGAIN if no
 * keeper could run, so that the log is unfinished. */
int ptrc_controller_shutdown(struct ptrc_controller *c, trace_id_t id, uint64_t addr,
			     struct ptrc_counts *counts);
/* Stores the counts of an active stream. The caller has zeroed *counts. */
void ptrc_controller_count(struct ptrc_controller *c, struct ptrc_counts *counts);
/* Shuts down every stream that this process controls, at exit(). */
void ptrc_controller_shutdown_all(void);

/* Gives the keeper a command (PTRC_KEEPER_FLUSH or another one) and waits until the keeper has
 * executed it. `origin` and `addr` go into the events that the command records. The caller holds
 * c->keeper_lock. Returns the errors of ptrc_keeper_command(), but ENOMEM in place of ECHILD. */
int ptrc_controller_command(struct ptrc_controller *c, uint32_t command,
			    const struct ptrc_context *origin, uint64_t addr);

/* Whether the file to which the log is being written is no longer at its path. Also true if the
 * stream has no log, or its log is no regular file. */
bool ptrc_controller_is_log_gone(const struct ptrc_controller *c);

/* Stores the pid of the stream's keeper. If the keeper was killed, first starts another one.
 * Commands do that, too, but a program that calls only posix_trace_get_status() gives none: without
 * a keeper, its FLUSH stream would stay full for ever. EINVAL: the stream has no log. EAGAIN:
 * another thread is giving a command, which starts a keeper; or a limit on processes allows no
 * keeper. ENOMEM: no keeper can be started. */
int ptrc_controller_revive_keeper(struct ptrc_controller *c, int *pid);

/* The origin (pid, tid and thread) for events that the calling thread causes. */
struct ptrc_context ptrc_controller_origin(void);

/* Declares `c`, the controller of the active stream with this identifier; NULL if there is no
 * such stream. Up to the end of the block *c is not freed, and the thread cannot be cancelled:
 * only posix_trace_getnext_event() and posix_trace_timedgetnext_event() are cancellation points. */
#define PTRC_ENTER(c, id)                       \
	PTRC_NO_CANCEL();                       \
	PTRC_REF(ref_, id, PTRC_HANDLE_ACTIVE); \
	struct ptrc_controller *const c = ref_.object

#endif
