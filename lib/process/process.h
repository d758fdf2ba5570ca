/* SPDX-License-Identifier: MIT */
/*
 * This process as a target: its page, its names object, what it has mapped; and what the
 * constructor, fork, exec and exit do to them.
 */
#ifndef PTRC_LIB_PROCESS_PROCESS_H
#define PTRC_LIB_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/model/names.h"
#include "lib/process/page_layout.h"
#include "lib/stream/stream_layout.h"

/* Private to the process, on an anonymous mapping marked MADV_WIPEONFORK: a child made by
 * fork or raw clone finds pid 0 here, whatever it skipped. */
struct ptrc_self {
	/* Stream mapped for page slot i, or null: then the first event takes the cold path. */
	struct ptrc_stream_header *_Atomic streams[PTRC_PAGE_SLOT_COUNT];
	/* Ids this program image may use (EVENT-19). Bits are only ever set. */
	_Atomic uint64_t mapped[17];
	_Atomic int32_t pid;
	uint64_t image; /* identity of this program image, never 0 */
	uint64_t stream_ids
		[PTRC_PAGE_SLOT_COUNT]; /* event.c: which stream is mapped there */
	_Atomic uint32_t attach_lock;	/* event.c: tid of who maps a stream */
};

/* Never null. Before initialisation: a page with one active bit that leads every event
 * into the cold path; where tracing is impossible: a page with none. */
extern struct ptrc_page *ptrc_page_self;
/* Never null, see above. */
extern struct ptrc_self *ptrc_self;

/* Idempotent; by the constructor, or by the first event or call that comes before it.
 * Async-signal-safe (raw system calls; caller has signals blocked, or it blocks them).
 * 0, or why this process cannot be traced (EPERM, ENOMEM, ENOSPC...). */
int ptrc_process_init(void);

/* Cold: may this image use the id (predefined user event, or a name it opened, or one of
 * its names object opened by its controller)? Sets the bit in ptrc_self->mapped if so.
 * Async-signal-safe. */
bool ptrc_process_maps_id(uint32_t id);

/* This process' names object, made if there is none yet. Owned by process.c. */
int ptrc_process_names(struct ptrc_names **names);

/* As posix_trace_eventid_open: name to id, for this image from now on. ENAMETOOLONG,
 * ENOMEM. */
int ptrc_process_open_name(const char *name, uint32_t *id);

/* From a target's cold path: a stream that traces this process, open for mapping; the
 * caller closes it. Async-signal-safe. ENOENT: the stream is gone, and its slot has been
 * cleared. Anything else is also left in the slot's error. */
int ptrc_process_open_stream(uint64_t stream_id, int *fd);

/* The stream has ended: clear its slot in this process' page. Async-signal-safe. */
void ptrc_process_leave(uint64_t stream_id);

/* In a child that was forked past the handlers, by _Fork say: it becomes a process of its own
 * now, and the table of identifiers, which was its parent's, is empty. Nothing elsewhere. */
void ptrc_process_notice_fork(void);

/* What is known of this process, once ptrc_process_init has succeeded. */
struct ptrc_process_identity {
	uint32_t uid; /* whose directory its page is in */
	uint64_t start_ticks;
	uint64_t ns;	  /* pid namespace, 0: the initial one */
	uint64_t time_ns; /* of its time namespace */
	uint64_t inode;	  /* of its page */
};
void ptrc_process_identify(struct ptrc_process_identity *id);

/* ---- controller's view of a target process ---- */

struct ptrc_target {
	pid_t pid;
	uid_t uid; /* whose directory it is in: the target's effective user */
	int dirfd; /* that directory */
	struct ptrc_page *page; /* mapped */
	uint64_t inode;		/* of the page */
	uint64_t start_ticks;
	uint64_t ns; /* pid namespace, its and ours */
	bool is_self;
};

/* Find or make the page of an existing process (CREATE-13, -14, -15, -23); 0 is the caller.
 * ESRCH, EPERM, ENOMEM. Also sweeps what dead processes left behind (GEN-05). */
int ptrc_target_open(pid_t pid, struct ptrc_target *t);
/* Who traces process pid, copied into *page: what its page says, or, while nobody has run
 * the library there, what it would join. Nothing is made, locked or swept. Of *t only pid,
 * uid, ns and dirfd are set; ptrc_target_rest closes that. ENOENT: nobody traces
 * any process of that user. ESRCH, EPERM, ENOMEM. */
int ptrc_target_look(pid_t pid, struct ptrc_target *t, struct ptrc_page *page);
/* Also removes a page made ahead to which no stream is attached. */
void ptrc_target_close(struct ptrc_target *t);
/* Between calls no descriptor is kept: a program that closes all of its own would close it,
 * and we one of the program's later. Rest closes dirfd, wake opens it anew (ENOENT, EPERM,
 * ENOMEM; the calls below do what they can without). */
void ptrc_target_rest(struct ptrc_target *t);
int ptrc_target_wake(struct ptrc_target *t);
/* Its names object, made if need be. The mapping is a reference of its own, given back by
 * ptrc_names_unref. */
int ptrc_target_names(struct ptrc_target *t, struct ptrc_names **names);
/* Enter the stream into a free slot of the page: EAGAIN if all 64 are taken; ESRCH,
 * ENOMEM. An INHERITED one may take up to 10 ms more, see
 * settle_births() in target.c. */
int ptrc_target_attach(struct ptrc_target *t, uint64_t stream_id, uint64_t names_id,
		       uint32_t flags);
/* Take it out again; harmless if it is not there. The target's mapping goes at its next
 * cold path (own process: event.c's ptrc_event_detach does it at once). */
void ptrc_target_detach(struct ptrc_target *t, uint64_t stream_id);

/* An INHERITED stream exists in the directory from now on / no more: an empty
 * subdirectory `i.<id>` whose presence tells constructors to walk their ancestors. Announce
 * when the object `s.<id>` is there and before the first attach; withdraw when the stream
 * has ended: the slots of all processes that joined it are cleared. */
int ptrc_inherit_announce(int dirfd, uint64_t stream_id);
void ptrc_inherit_withdraw(int dirfd, uint64_t stream_id);

/* ---- hooks that process.c calls; defined in event.c, handle.c, controller.c ---- */

/* fork child, before anything else of it runs: forget what the parent had mapped. */
void ptrc_event_fork_child(void);
/* After that, of the child of a process that has a page: map the streams that it has joined. */
void ptrc_event_fork_attach(void);
/* After process.c changed the page's slots (child, exec, walk): nothing mapped for them. */
void ptrc_event_detach(uint64_t stream_id);
/* pthread_atfork: the table of trace_id_t and the library's other locks. */
void ptrc_handle_fork_prepare(void);
void ptrc_handle_fork_parent(void);
void ptrc_handle_fork_child(bool is_prepared);
void ptrc_controller_fork_prepare(void);
void ptrc_controller_fork_parent(void);
/* is_prepared: from the handler. A child that is noticed later only forgets. */
void ptrc_controller_fork_child(bool is_prepared);
/* exit(): shut down every stream this process controls (EXIT-01). */
void ptrc_handle_shutdown_all(void);
/* The constructor, once the page stands: thread-exit hook, membarrier registration. */
void ptrc_event_init(void);

#endif
