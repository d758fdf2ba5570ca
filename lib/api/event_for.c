/* SPDX-License-Identifier: MIT */
/*
 * posixtrace_event_for: an event of a process, recorded by another one. Nothing of it is
 * kept between calls: it maps the streams, takes a slot in each as any thread does, and lets
 * go of all. The slot is the caller's, as it is the caller who may die; only the label of
 * the event is the other process'.
 */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/stream/barrier.h"
#include "lib/base/file.h"
#include "lib/model/names.h"
#include "lib/process/page.h"
#include "lib/process/process.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/stream/recording.h"
#include "lib/stream/slots.h"
#include "lib/stream/status.h"
#include "lib/stream/stream.h"
#include "lib/base/sys.h"
#include "lib/stream/writer.h"

/* As the cold way of posix_trace_event, see event.c. */
#define TRIES 10000

struct event {
	struct ptrc_target target;
	const char *name;
	const void *data;
	size_t size;
};

/* True: it is in the stream. */
static bool put(struct ptrc_writer *w, const struct event *e, uint32_t id)
{
	struct ptrc_stream_header *h = w->header;
	struct ptrc_put p = {.id_flags = id, .data = e->data, .frame = 1};

	for (unsigned tries = 0; tries < TRIES; tries++) {
		uint64_t control =
			atomic_load_explicit(&h->control, memory_order_acquire);
		enum ptrc_put_result result;

		if ((control & PTRC_CTL_ENDED) ||
		    !(control & (PTRC_CTL_RUN | PTRC_CTL_LOSING)) ||
		    ptrc_stream_is_filtered(h, id))
			return false;
		if (!(control & PTRC_CTL_RUN))
			break;
		result = ptrc_writer_record(w, control, &p, e->size);
		if (result != PTRC_PUT_STALE)
			return result == PTRC_PUT_DONE;
	}
	ptrc_status_count_loss(h);
	return false;
}

/* Signals are blocked. */
static bool put_as_guest(struct ptrc_stream *s, const struct event *e, uint32_t id)
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
	/* No thread of the traced. */
	atomic_fetch_sub_explicit(&h->threads, 1, memory_order_relaxed);
	ptrc_writer_init(&w, &s->pool, slot);
	w.slot_owner = owner;
	w.origin.pid = e->target.pid;
	is_done = put(&w, e, id);
	ptrc_writer_release(&w);
	ptrc_slot_release(h, slot, owner);
	return is_done;
}

/* EPERM, ENOMEM. A stream that is gone, or of another version, is none. */
static int record(const struct event *e, uint64_t stream_id, uint32_t id,
		  unsigned int *streams)
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	struct ptrc_stream s;
	uint64_t size;
	int fd, err;

	ptrc_shmdir_name(name, 's', stream_id);
	err = ptrc_shmdir_open_object(e->target.dirfd, name, e->target.uid, &fd, &size);
	if (!err) {
		err = ptrc_stream_map(fd, PTRC_ROLE_CONTROLLER, &s);
		ptrc_file_close(fd);
	}
	if (err)
		return err == ENOMEM || err == EPERM ? err : 0;
	/* A child that another thread forks would keep it. */
	ptrc_sys(SYS_madvise, s.header, s.map_size, MADV_DONTFORK);
	/* One that is inherited from outside of our pid namespace takes no event of the process
	 * itself either. */
	if (s.header->id == stream_id && s.header->pid_namespace == e->target.ns &&
	    s.header->time_namespace == ptrc_procfs_time_namespace()) {
		if (!ptrc_barrier_register())
			atomic_store_explicit(&s.header->needs_global_barrier, 1,
					      memory_order_seq_cst);
		*streams += put_as_guest(&s, e, id);
	}
	ptrc_stream_unmap(&s);
	return 0;
}

/* All streams of one process have one set of names; but the page is not ours to believe. */
static int use_names(const struct event *e, uint64_t names_id, struct ptrc_names *n,
		     uint32_t *id)
{
	int err;

	if (n->object && n->id == names_id)
		return 0;
	if (n->object) {
		ptrc_names_unmap(n);
		ptrc_names_release(e->target.dirfd, e->target.uid, n->id);
	}
	err = ptrc_names_open(e->target.dirfd, e->target.uid, names_id, NULL, n);
	return err ? err : ptrc_names_register(n, e->name, id);
}

static int record_each(const struct event *e, const struct ptrc_page *page,
		       unsigned int *streams)
{
	struct ptrc_names names = {0};
	struct ptrc_page_entry entry;
	uint32_t id = 0;
	int first_err = 0;

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++) {
		int err;

		if (!ptrc_page_slot(page, i, &entry))
			continue;
		err = use_names(e, entry.names_id, &names, &id);
		if (!err)
			err = record(e, entry.stream_id, id, streams);
		/* Its controller has left just now. */
		if (err && err != ENOENT && !first_err)
			first_err = err;
	}
	if (names.object) {
		ptrc_names_unmap(&names);
		ptrc_names_release(e->target.dirfd, e->target.uid, names.id);
	}
	return first_err;
}

PTRC_PUBLIC int posixtrace_event_for(pid_t pid, const char *event_name, const void *data,
				     size_t size, unsigned int *streams)
{
	struct event e = {.name = event_name, .data = data, .size = size};
	struct ptrc_page page;
	unsigned int count = 0;
	uint32_t known;
	uint64_t mask;
	int err, cancel;

	if (!event_name || !streams || (!data && size))
		return EINVAL;
	if (strnlen(event_name, PTRC_NAME_BYTES) == PTRC_NAME_BYTES)
		return ENAMETOOLONG;
	/* System events are the trace system's. */
	known = ptrc_names_find(NULL, 0, event_name);
	if (known && known < PTRC_ID_UNNAMED)
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ptrc_sys_block_signals(&mask);
	err = ptrc_target_look(pid, &e.target, &page);
	if (!err) {
		err = record_each(&e, &page, &count);
		ptrc_target_rest(&e.target);
	} else if (err == ENOENT) {
		err = 0;
	}
	ptrc_sys_restore_signals(&mask);
	pthread_setcancelstate(cancel, NULL);
	if (!err)
		*streams = count;
	return err;
}
