/* SPDX-License-Identifier: MIT */
/* posixtrace_get_process, _get_process_stream, _get_process_event, _get_system: looking at
 * what is there, with copies only, and changing nothing. */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/stream/barrier.h"
#include "lib/model/eventset.h"
#include "lib/base/file.h"
#include "lib/base/liveness.h"
#include "lib/model/names.h"
#include "lib/process/page.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/stream/counter.h"
#include "lib/stream/status.h"

struct view {
	uint32_t uid;
	int inner_pid;
	unsigned int depth;
	int dirfd; /* -1: the user has none */
	bool has_page;
	bool is_alive; /* the image that mapped it is still there */
	struct ptrc_page page;
};

static int read_page(struct view *v, uint64_t ns, uint64_t start_ticks)
{
	char name[PTRC_PAGE_NAME_BYTES];
	uint64_t size;
	size_t got = 0;
	int fd;
	int err = ptrc_shmdir_open(v->uid, false, &v->dirfd);

	if (err) {
		v->dirfd = -1;
		return err == ENOENT ? 0 : err;
	}
	ptrc_page_name(name, v->inner_pid, ns);
	err = ptrc_shmdir_open_object(v->dirfd, name, v->uid, &fd, &size);
	if (err)
		return err == ENOENT ? 0 : err;
	err = ptrc_file_read(fd, &v->page, sizeof(v->page), 0, &got);
	v->is_alive = ptrc_page_is_alive(fd);
	ptrc_file_close(fd);
	/* Its maker got no further than the name, or it is of an earlier process. */
	v->has_page =
		!err && got == sizeof(v->page) && v->page.start_ticks == start_ticks;
	return 0;
}

/* ESRCH, EPERM, ENOMEM. */
static int open_view(pid_t pid, struct view *v)
{
	uint32_t caller = (uint32_t)ptrc_sys(SYS_geteuid, 0);
	struct ptrc_procfs_status status;
	struct ptrc_procfs_stat own, st;
	uint64_t ns;
	int err;

	memset(v, 0, sizeof(*v));
	v->dirfd = -1;
	if (pid < 0)
		return ESRCH;
	if (!pid)
		pid = ptrc_sys_getpid();
	err = ptrc_procfs_exists(pid);
	if (err)
		return err;
	/* See ptrc_target_open. */
	if (ptrc_procfs_stat(0, &own) || own.pid != ptrc_sys_getpid() ||
	    ptrc_procfs_status(pid, &status))
		return EPERM;
	if (caller != 0 && status.uid[1] != caller)
		return EPERM;
	v->uid = status.uid[1];
	v->inner_pid = status.inner_pid;
	v->depth = status.depth > 1 ? (unsigned int)status.depth - 1 : 0;
	err = ptrc_procfs_pid_namespace(v->depth ? pid : 0, &ns);
	if (!err)
		err = ptrc_procfs_stat(pid, &st);
	if (!err)
		err = read_page(v, ns, st.start_ticks);
	if (err && v->dirfd >= 0)
		ptrc_file_close(v->dirfd);
	return err;
}

static void close_view(const struct view *v)
{
	if (v->dirfd >= 0)
		ptrc_file_close(v->dirfd);
}

/* The object with its names, open; how many of them are the process'. Only a name that
 * nobody maps is missing, which is like none. */
static int open_names(const struct view *v, int *fd, uint32_t *count)
{
	uint32_t most = PTRC_NAMES_MAX;
	char name[PTRC_SHMDIR_NAME_BYTES];
	uint64_t id = v->page.names_id, size;
	struct {
		uint64_t magic, id;
		uint32_t count, writer;
	} head;
	size_t got;
	int err;

	if (!id) {
		id = v->page.names_from;
		most = v->page.names_from_count;
	}
	if (!v->has_page || !id)
		return ENOENT;
	ptrc_shmdir_name(name, 'n', id);
	err = ptrc_shmdir_open_object(v->dirfd, name, v->uid, fd, &size);
	if (err)
		return err;
	err = ptrc_file_read(*fd, &head, sizeof(head), 0, &got);
	if (err || got != sizeof(head) || head.magic != PTRC_NAMES_MAGIC ||
	    head.id != id) {
		ptrc_file_close(*fd);
		return EPERM;
	}
	if (most > PTRC_NAMES_MAX)
		most = PTRC_NAMES_MAX;
	*count = head.count < most ? head.count : most;
	return 0;
}

/* The first size bytes; the first member of each of these structures is its own size. */
static int give(void *to, size_t size, const void *from, size_t from_size)
{
	unsigned long given = size < from_size ? size : from_size;

	memcpy(to, from, given);
	memcpy(to, &given, sizeof(given));
	return 0;
}

PTRC_PUBLIC int posixtrace_get_process(pid_t pid, struct posixtrace_process *process,
				       size_t size)
{
	struct posixtrace_process full = {0};
	struct ptrc_page_entry e;
	struct view v;
	uint32_t count;
	int cancel, fd, error;

	if (!process || size < sizeof(full.pt_size))
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = open_view(pid, &v);
	if (!error) {
		full.pt_user = v.uid;
		full.pt_inner_pid = v.inner_pid;
		full.pt_depth = v.depth;
		full.pt_has_page = v.has_page;
		full.pt_has_library = v.has_page && v.page.image && v.is_alive;
		for (uint32_t i = 0; v.has_page && i < PTRC_PAGE_SLOT_COUNT; i++)
			full.pt_streams += ptrc_page_slot(&v.page, i, &e);
		if (open_names(&v, &fd, &count) == 0) {
			full.pt_events = count;
			ptrc_file_close(fd);
		}
		close_view(&v);
		give(process, size, &full, sizeof(full));
	}
	pthread_setcancelstate(cancel, NULL);
	return error;
}

/* The slot of the stream with that number. */
static const struct ptrc_page_slot *find_slot(const struct view *v, unsigned int number)
{
	struct ptrc_page_entry e;

	for (uint32_t i = 0; v->has_page && i < PTRC_PAGE_SLOT_COUNT; i++)
		if (ptrc_page_slot(&v->page, i, &e) && number-- == 0)
			return &v->page.slots[i];
	return NULL;
}

static void tell_stream(const struct ptrc_stream_header *h, int fd,
			struct posixtrace_process_stream *s)
{
	uint64_t bits[PTRC_SET_WORD_COUNT];

	s->pt_controller = h->controller_pid;
	s->pt_keeper = h->has_log ? h->keeper_pid : 0;
	s->pt_is_controlled = ptrc_liveness_is_held(fd, PTRC_LIVE_CONTROLLER, 1);
	s->pt_is_kept = h->has_log && ptrc_liveness_is_held(fd, PTRC_LIVE_KEEPER, 1);
	s->pt_target = h->target_pid;
	s->pt_has_log = h->has_log != 0;
	s->pt_full_policy = h->policy;
	s->pt_lost_events = h->lost_events;
	ptrc_status_export(h->status, &s->pt_status);
	for (unsigned int i = 0; i < PTRC_SET_WORD_COUNT; i++)
		bits[i] = h->filter[i];
	ptrc_set_from_bits(&s->pt_filter, bits);
	/* The rest is zero. */
	memcpy(s->pt_name, h->attr.name, strnlen(h->attr.name, sizeof(s->pt_name) - 1));
	if (h->has_log)
		memcpy(s->pt_log, h->log_path,
		       strnlen(h->log_path, sizeof(s->pt_log) - 1));
}

static int read_stream(const struct view *v, const struct ptrc_page_slot *slot,
		       struct posixtrace_process_stream *s)
{
	struct ptrc_stream_header *h = malloc(sizeof(*h));
	char name[PTRC_SHMDIR_NAME_BYTES];
	uint64_t size;
	size_t got;
	int fd, err;

	if (!h)
		return ENOMEM;
	ptrc_shmdir_name(name, 's', slot->stream_id);
	err = ptrc_shmdir_open_object(v->dirfd, name, v->uid, &fd, &size);
	if (!err) {
		err = ptrc_file_read(fd, h, sizeof(*h), 0, &got);
		if (err || got != sizeof(*h) || h->magic != PTRC_STREAM_MAGIC ||
		    h->version != PTRC_STREAM_VERSION)
			err = EPERM;
		else
			tell_stream(h, fd, s);
		ptrc_file_close(fd);
	}
	free(h);
	s->pt_error = (int)slot->error;
	return err;
}

PTRC_PUBLIC int posixtrace_get_process_stream(pid_t pid, unsigned int number,
					      struct posixtrace_process_stream *stream,
					      size_t size)
{
	struct posixtrace_process_stream *full;
	const struct ptrc_page_slot *slot;
	struct view v;
	int cancel, error;

	if (!stream || size < sizeof(stream->pt_size))
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	full = calloc(1, sizeof(*full));
	error = full ? open_view(pid, &v) : ENOMEM;
	if (!error) {
		slot = find_slot(&v, number);
		error = slot ? read_stream(&v, slot, full) : ENOENT;
		if (!error)
			give(stream, size, full, sizeof(*full));
		close_view(&v);
	}
	free(full);
	pthread_setcancelstate(cancel, NULL);
	return error;
}

PTRC_PUBLIC int posixtrace_get_process_event(pid_t pid, unsigned int number,
					     trace_event_id_t *event, char *event_name)
{
	char name[PTRC_NAME_BYTES];
	struct view v;
	uint32_t count;
	size_t got;
	int cancel, fd, error;

	if (!event || !event_name)
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = open_view(pid, &v);
	if (!error) {
		error = open_names(&v, &fd, &count);
		if (!error) {
			error = number < count ? 0 : ENOENT;
			if (!error &&
			    (ptrc_file_read(fd, name, sizeof(name),
					    offsetof(struct ptrc_names_object, name) +
						    (uint64_t)number * sizeof(name),
					    &got) ||
			     got != sizeof(name)))
				error = EPERM;
			ptrc_file_close(fd);
		}
		close_view(&v);
	}
	if (!error) {
		name[sizeof(name) - 1] = '\0';
		strcpy(event_name, name);
		*event = PTRC_ID_FIRST + number;
	}
	pthread_setcancelstate(cancel, NULL);
	return error;
}

PTRC_PUBLIC int posixtrace_get_system(struct posixtrace_system *system, size_t size)
{
	uint32_t caller = (uint32_t)ptrc_sys(SYS_geteuid, 0);
	struct posixtrace_system full = {0};
	int cancel, dirfd;

	if (!system || size < sizeof(full.pt_size))
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	full.pt_directory_error = ptrc_shmdir_open(caller, false, &dirfd);
	if (!full.pt_directory_error) {
		full.pt_streams = ptrc_liveness_count_places(dirfd, caller);
		ptrc_file_close(dirfd);
	}
	full.pt_has_counter = ptrc_counter_is_usable();
	full.pt_has_barrier = ptrc_barrier_is_available();
	pthread_setcancelstate(cancel, NULL);
	return give(system, size, &full, sizeof(full));
}
