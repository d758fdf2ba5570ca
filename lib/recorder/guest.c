/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/recorder/guest.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/model/names.h"
#include "lib/process/orphan.h"
#include "lib/process/page.h"
#include "lib/process/self.h"
#include "lib/process/target.h"
#include "lib/recorder/event.h"
#include "lib/stream/full_wait.h"
#include "lib/stream/marks.h"
#include "lib/stream/patterns.h"
#include "lib/stream/recording.h"
#include "lib/stream/slots.h"
#include "lib/stream/status.h"
#include "lib/stream/stream.h"
#include "lib/stream/writer.h"

/* posixtrace_event_for() waits for at most LOOK_WAIT_NS until the keeper has looked at the target,
 * and checks this every LOOK_NS. */
#define LOOK_WAIT_NS UINT64_C(20000000)
#define LOOK_NS UINT64_C(50000)

struct event {
	struct ptrc_target target;
	const char *name;
	const char *layout; /* NULL: the event type gets no layout */
	const void *data;
	size_t size;
	uint32_t image; /* ptrc_image_of() of the program that the target executes */
	pid_t caller;	/* the process that has called posixtrace_event_for() */
	uint64_t *mask; /* the caller's signal mask, in force while the call waits for space */
};

/* Whether this process is a child that a signal handler has forked while the call waited for space.
 * The parent records the event. The child has no mapping of the stream, because of MADV_DONTFORK. */
static bool is_child(const struct event *e)
{
	return ptrc_sys_getpid() != e->caller;
}

/* Records the event by this writer. Returns true if the event is in the stream now. */
static bool put(struct ptrc_writer *w, const struct event *e, const struct ptrc_names *n,
		uint32_t id)
{
	struct ptrc_stream_header *h = w->header;
	struct ptrc_full_wait wait =
		ptrc_full_wait_begin(h, *(const volatile uint64_t *)&h->full_wait_ns);
	struct ptrc_put p = {.id_flags = id, .data = e->data, .frame = 1};

	for (unsigned tries = 0; tries < PTRC_EVENT_TRIES; tries++) {
		uint64_t control = ptrc_load_acquire(&h->control);
		enum ptrc_put_result result;

		if ((control & PTRC_CTL_ENDED) || !(control & (PTRC_CTL_RUN | PTRC_CTL_LOSING)) ||
		    ptrc_patterns_verdict(h, id, n) != PTRC_RECORDED)
			return false;
		if (!(control & PTRC_CTL_RUN))
			break;
		p.is_patient = !wait.is_over;
		result = ptrc_writer_record(w, control, &p, e->size);
		if (result == PTRC_PUT_WAIT) {
			if (!ptrc_full_wait(&wait, e->mask))
				return false;
			tries = 0;
			continue;
		}
		if (result != PTRC_PUT_STALE)
			return result == PTRC_PUT_DONE;
	}
	ptrc_status_count_loss(h);
	return false;
}

/* Records the event in a stream, by a writer of the calling thread that exists only during this
 * call. Signals are blocked. */
static bool put_as_guest(struct ptrc_stream *s, const struct event *e, const struct ptrc_names *n,
			 uint32_t id)
{
	struct ptrc_stream_header *h = s->header;
	struct ptrc_writer w;
	uint64_t owner;
	bool is_done;
	uint32_t slot = ptrc_slot_claim(&s->pool, ptrc_sys_getpid(), ptrc_sys_gettid(),
					ptrc_self->image, &owner);

	if (slot == UINT32_MAX) {
		ptrc_status_count_loss(h);
		return false;
	}
	/* ptrc_slot_claim() has counted this thread as a traced one, which it is not: subtract it
	 * again. */
	atomic_fetch_sub_explicit(&h->threads, 1, memory_order_relaxed);
	ptrc_writer_init(&w, &s->pool, slot);
	w.slot_owner = owner;
	w.origin.pid = e->target.pid;
	ptrc_announce(h, e->target.pid, e->image);
	is_done = put(&w, e, n, id);
	if (is_child(e))
		return false;
	ptrc_writer_release(&w);
	ptrc_slot_release(h, slot, owner);
	/* Wait until the keeper has looked at the target: if the target is a script that called
	 * ptrace-event, it may execute another program as soon as this call has returned. */
	for (uint64_t waited = 0; waited < LOOK_WAIT_NS && ptrc_is_announced(h, e->target.pid);
	     waited += LOOK_NS)
		ptrc_file_sleep_ns(LOOK_NS);
	return is_done;
}

/* Records the event in one stream. EPERM, ENOMEM. EPROTO: this library does not know the version of
 * the stream. A stream that has disappeared is skipped. */
static int record(const struct event *e, uint64_t stream_id, const struct ptrc_names *n,
		  uint32_t id, unsigned int *streams)
{
	struct ptrc_stream s;
	int fd, error;

	error = ptrc_shmdir_open_id(e->target.dirfd, 's', stream_id, e->target.uid, &fd, NULL);
	if (!error) {
		error = ptrc_stream_map(fd, PTRC_ROLE_CONTROLLER, &s);
		ptrc_file_close(fd);
	}
	if (error)
		return error == ENOMEM || error == EPERM || error == EPROTO ? error : 0;
	/* If another thread forks meanwhile, its child must not get the mapping, which nothing
	 * would unmap there. */
	ptrc_sys(SYS_madvise, s.header, s.map_size, MADV_DONTFORK);
	/* The target may have inherited a stream of other namespaces, but would not record into it.
	 * So this process does not record into it for the target. */
	if (s.header->id == stream_id && s.header->pid_namespace == e->target.ns &&
	    s.header->time_namespace == ptrc_procfs_time_namespace()) {
		if (!ptrc_barrier_register())
			ptrc_store_seq_cst(&s.header->needs_global_barrier, 1);
		*streams += put_as_guest(&s, e, n, id);
	}
	if (!is_child(e))
		ptrc_stream_unmap(&s);
	return 0;
}

static void close_names(const struct event *e, struct ptrc_names *n)
{
	if (!n->object)
		return;
	ptrc_names_unmap(n);
	ptrc_orphan_release_names(e->target.dirfd, e->target.uid, n->id);
}

/* Opens the object with the event names of a stream, unless it is open already, and gets the
 * event's id from it. Usually all streams that trace a process have the same names object. But the
 * target can write anything into its page, so names_id may differ from stream to stream. After an
 * error no object is open, so the next stream with these names gets the error, too. */
static int use_names(const struct event *e, uint64_t names_id, struct ptrc_names *n, uint32_t *id)
{
	int error;

	if (n->object && n->id == names_id)
		return 0;
	close_names(e, n);
	error = ptrc_names_open(e->target.dirfd, e->target.uid, names_id, NULL, n);
	if (!error)
		error = ptrc_names_register(n, e->name, id);
	if (!error && e->layout && *id != PTRC_ID_UNNAMED)
		error = ptrc_names_set_layout(n, *id, e->layout, (uint32_t)strlen(e->layout));
	if (error)
		close_names(e, n);
	return error;
}

static int record_each(const struct event *e, const struct ptrc_page *page, unsigned int *streams)
{
	struct ptrc_names names = {0};
	struct ptrc_page_entry entry;
	uint32_t id = 0;
	int first_error = 0;

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT && !is_child(e); i++) {
		int error;

		if (!ptrc_page_slot(page, i, &entry))
			continue;
		error = use_names(e, entry.names_id, &names, &id);
		if (!error)
			error = record(e, entry.stream_id, &names, id, streams);
		/* ENOENT: the stream's controller has just shut it down. */
		if (error && error != ENOENT && !first_error)
			first_error = error;
	}
	close_names(e, &names);
	return first_error;
}

int ptrc_guest_record(pid_t pid, const char *name, const char *layout, const void *data,
		      size_t size, unsigned int *streams)
{
	uint64_t mask;
	struct event e = {.name = name,
			  .layout = layout,
			  .data = data,
			  .size = size,
			  .mask = &mask,
			  .caller = ptrc_sys_getpid()};
	struct ptrc_procfs_stat st;
	struct ptrc_page page;
	int error;

	*streams = 0;
	if (ptrc_procfs_stat(pid, &st) == 0)
		e.image = ptrc_image_of(st.arguments_end);
	ptrc_sys_block_signals(&mask);
	error = ptrc_target_look(pid, &e.target, &page);
	if (!error) {
		/* Before the event is recorded: a process of which a log has events is found if it goes on
		 * after the end of the recording. */
		ptrc_target_join(&e.target);
		error = record_each(&e, &page, streams);
		ptrc_target_rest(&e.target);
	}
	ptrc_sys_restore_signals(&mask);
	return error == ENOENT ? 0 : error;
}
