/* SPDX-License-Identifier: MIT */
/* Looks at a process, and at the streams that trace it, from outside. It uses copies only and changes
 * nothing. */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "include/posixtrace-private.h"
#include "lib/base/file.h"
#include "lib/base/liveness.h"
#include "lib/base/procfs.h"
#include "lib/base/shared_version.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/log/log_write.h"
#include "lib/model/eventset.h"
#include "lib/model/names.h"
#include "lib/process/bell.h"
#include "lib/process/orphan.h"
#include "lib/process/page.h"
#include "lib/process/target.h"
#include "lib/stream/clock.h"
#include "lib/stream/marks.h"
#include "lib/stream/filter.h"
#include "lib/stream/status.h"

struct view {
	struct ptrc_procfs_status status;
	pid_t pid;	    /* the process's pid in our pid namespace */
	uint32_t uid;	    /* the user in whose directory the page of the process is */
	unsigned int depth; /* how many levels its pid namespace is below ours; 0: it is ours */
	int dirfd;	    /* the directory of the process's user; -1: it does not exist */
	bool has_page;
	bool is_alive; /* the program that mapped the page still runs */
	enum ptrc_target_past past;
	struct ptrc_page page;
};

/* Opens the shared object with this prefix ('s': a stream, 'n': event names) and id, and reads its first `size`
 * bytes. The caller closes *fd even after an error, unless it is -1. EPERM: the object has fewer bytes. */
static int open_object(const struct view *v, char prefix, uint64_t id, int *fd, void *to,
		       size_t size)
{
	int error = ptrc_shmdir_open_id(v->dirfd, prefix, id, v->uid, fd, NULL);

	if (error)
		return error;
	return ptrc_file_read_whole(*fd, to, size, 0) ? 0 : EPERM;
}

static int read_page(struct view *v, uint64_t ns, uint64_t start_ticks)
{
	char name[PTRC_PAGE_NAME_BYTES];
	PTRC_FD(fd);
	int error = ptrc_shmdir_open(v->uid, false, &v->dirfd);

	if (error)
		return error == ENOENT ? 0 : error;
	ptrc_page_name(name, v->status.inner_pid, ns);
	error = ptrc_shmdir_open_object(v->dirfd, name, v->uid, &fd, NULL);
	if (error)
		return error == ENOENT ? 0 : error;
	/* The page (list of streams) may belong to an earlier process with this pid, or to a process that died
	 * while it made the page. */
	v->has_page = ptrc_file_read_whole(fd, &v->page, sizeof(v->page), 0) &&
		      v->page.start_ticks == start_ticks;
	v->is_alive = ptrc_page_is_alive(fd);
	return 0;
}

/* Fills in *v with the status of the process and, if it has one, a copy of its page (list of streams). Errors:
 * ESRCH, EPERM, ENOMEM. */
static int open_view(pid_t pid, struct view *v)
{
	struct ptrc_procfs_stat st;
	uint64_t ns;
	int error;

	if (!pid)
		pid = ptrc_sys_getpid();
	error = ptrc_target_status(pid, &v->status);
	if (error)
		return error;
	v->pid = pid;
	v->uid = v->status.uid[1];
	v->depth = v->status.depth > 1 ? (unsigned int)v->status.depth - 1 : 0;
	error = ptrc_procfs_pid_namespace(v->depth ? pid : 0, &ns);
	if (!error)
		error = ptrc_procfs_stat(pid, &st);
	if (error)
		return error;
	if (!v->depth)
		v->past = ptrc_target_past(pid, v->uid, ns, st.start_ticks);
	if (v->past == PTRC_TARGET_TRACED_AS_ROOT)
		v->uid = 0;
	return read_page(v, ns, st.start_ticks);
}

static void close_view(const struct view *v)
{
	ptrc_file_end(&v->dirfd);
}

/* Defines a view, which is closed at the end of the block. */
#define VIEW(name) PTRC_CLEANUP(close_view) struct view name = {.dirfd = -1}

/* Opens the names object (table of event names) of the process. Stores in *count how many of the
 * names in it are names of this process. ENOENT: the process has no names object. EPROTO: this
 * library does not know *version, the version of the object. */
static int open_names(const struct view *v, int *fd, uint32_t *count, uint32_t *version)
{
	uint32_t most = PTRC_NAMES_MAX;
	uint64_t id = v->page.names_id;
	struct {
		uint64_t magic, id;
		uint32_t version, pad;
		uint32_t count, refused_state;
	} head;
	int error;

	if (!id) {
		id = v->page.names_from;
		most = v->page.names_from_count;
	}
	if (!v->has_page || !id)
		return ENOENT;
	error = open_object(v, 'n', id, fd, &head, sizeof(head));
	if (error)
		return error;
	if (head.magic != PTRC_NAMES_MAGIC || head.id != id)
		error = EPERM;
	else if (!ptrc_shared_version_is_known(head.version))
		error = EPROTO;
	*version = head.version;
	if (error)
		return error;
	if (most > PTRC_NAMES_MAX)
		most = PTRC_NAMES_MAX;
	*count = head.count < most ? head.count : most;
	return 0;
}

/* Reports how many event names got no identifier because the names object was full, and the first of them. */
static void tell_refused(int fd, struct ptrc_inspected_process *process)
{
	_Atomic uint64_t seen[PTRC_NAMES_REFUSED_WORDS];
	uint32_t state;

	if (!ptrc_file_read_whole(fd, seen, sizeof(seen),
				  offsetof(struct ptrc_names_object, refused_seen)))
		return;
	process->pt_refused_names = ptrc_names_count_refused(seen);
	if (process->pt_refused_names &&
	    ptrc_file_read_whole(fd, &state, sizeof(state),
				 offsetof(struct ptrc_names_object, refused_state)) &&
	    state == 2)
		ptrc_file_read_whole(fd, process->pt_refused_name, PTRC_NAME_BYTES - 1,
				     offsetof(struct ptrc_names_object, refused));
}

int ptrc_inspect_process(pid_t pid, struct ptrc_inspected_process *process)
{
	struct ptrc_page_entry e;
	uint32_t count, version;
	VIEW(v);
	PTRC_FD(fd);
	int error = open_view(pid, &v);

	if (error)
		return error;
	memset(process, 0, sizeof(*process));
	process->pt_user = v.uid;
	process->pt_inner_pid = v.status.inner_pid;
	process->pt_depth = v.depth;
	process->pt_has_page = v.has_page;
	process->pt_has_library = (v.has_page && v.page.image && v.is_alive) ||
				  (v.dirfd >= 0 && ptrc_bells_are_mapped(v.dirfd, v.pid)) ||
				  v.past != PTRC_TARGET_NO_PAST;
	process->pt_is_traced_as_root = v.past == PTRC_TARGET_TRACED_AS_ROOT;
	for (uint32_t i = 0; v.has_page && i < PTRC_PAGE_SLOT_COUNT; i++)
		process->pt_streams += ptrc_page_slot(&v.page, i, &e);
	error = open_names(&v, &fd, &count, &version);
	if (error == EPROTO)
		process->pt_names_versions = ptrc_shared_versions(version);
	if (!error) {
		process->pt_events = count;
		if (v.page.names_id)
			tell_refused(fd, process);
	}
	return 0;
}

unsigned int ptrc_inspect_traces(pid_t pid)
{
	struct ptrc_target target;
	struct ptrc_page page;
	struct ptrc_page_entry e;
	unsigned int count = 0;

	if (ptrc_target_look(pid, &target, &page))
		return 0;
	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		count += ptrc_page_slot(&page, i, &e);
	ptrc_target_rest(&target);
	return count;
}

/* Returns the slot of the process's page that names stream number `number`, counted from 0. Returns NULL if
 * there are fewer streams. */
static const struct ptrc_page_slot *find_slot(const struct view *v, unsigned int number)
{
	struct ptrc_page_entry e;

	for (uint32_t i = 0; v->has_page && i < PTRC_PAGE_SLOT_COUNT; i++)
		if (ptrc_page_slot(&v->page, i, &e) && number-- == 0)
			return &v->page.slots[i];
	return NULL;
}

static void tell_stream(const struct ptrc_stream_header *h, int fd, struct ptrc_inspected_stream *s)
{
	uint64_t bits[PTRC_SET_WORD_COUNT];
	const struct ptrc_log_place *log = &h->log_place[ptrc_log_state_place(h)];
	size_t bytes = strnlen(log->path, sizeof(s->pt_log) - 1);

	s->pt_controller = h->controller_pid;
	s->pt_keeper = h->has_log ? h->keeper_pid : 0;
	s->pt_is_controlled = ptrc_liveness_is_held(fd, PTRC_LIVE_CONTROLLER, 1);
	s->pt_is_kept = h->has_log && ptrc_liveness_is_held(fd, PTRC_LIVE_KEEPER, 1);
	s->pt_target = h->target_pid;
	s->pt_has_log = h->has_log != 0;
	s->pt_full_policy = h->policy;
	s->pt_lost_events = h->lost_events;
	s->pt_unobserved_events = h->unobserved_events;
	ptrc_status_export(h->status, &s->pt_status);
	ptrc_filter_told(h, bits);
	ptrc_set_from_bits(&s->pt_filter, bits);
	/* The caller has zeroed *s, so the name ends with a null byte. */
	memcpy(s->pt_name, h->attr.name, strnlen(h->attr.name, sizeof(s->pt_name) - 1));
	/* For a rotated log, only the path of its first file is reported: the first base_bytes
	 * bytes of the stored path. */
	if (log->base_bytes && log->base_bytes < bytes)
		bytes = log->base_bytes;
	if (h->has_log)
		memcpy(s->pt_log, log->path, bytes);
}

/* Reads the list of name patterns that is in force (h->patterns says which of the two lists that
 * is). Stores it at the same distance from `h` as in the stream object. EPERM: it cannot be
 * read. */
static int read_patterns(struct ptrc_stream_header *h, int fd)
{
	struct ptrc_pattern_list *list = ptrc_stream_patterns(h, h->patterns);
	uint64_t offset = (uint64_t)((char *)list - (char *)h);

	return !(h->patterns & PTRC_PATTERNS_ON) ||
			       ptrc_file_read_whole(fd, list, sizeof(*list), offset)
		       ? 0
		       : EPERM;
}

static int read_stream(const struct view *v, const struct ptrc_page_slot *slot,
		       struct ptrc_inspected_stream *s)
{
	/* Memory for the start of the object. Only its header and patterns are read. */
	struct ptrc_stream_header *h = calloc(1, PTRC_STREAM_SLOT_OFFSET);
	uint32_t versions = 0;
	int error;
	PTRC_FD(fd);

	if (!h)
		return ENOMEM;
	error = open_object(v, 's', slot->stream_id, &fd, h, sizeof(*h));
	if (!error) {
		if (h->magic != PTRC_STREAM_MAGIC)
			error = EPERM;
		else if (!ptrc_shared_version_is_known(h->version))
			error = EPROTO;
		versions = ptrc_shared_versions(h->version);
		if (!error)
			error = read_patterns(h, fd);
		if (!error)
			tell_stream(h, fd, s);
	}
	free(h);
	s->pt_error = ptrc_refusal_error(slot->error);
	s->pt_versions = error == EPROTO ? versions : ptrc_refusal_versions(slot->error);
	return error;
}

int ptrc_inspect_stream(pid_t pid, unsigned int number, struct ptrc_inspected_stream *stream)
{
	const struct ptrc_page_slot *slot;
	VIEW(v);
	int error = open_view(pid, &v);

	if (error)
		return error;
	memset(stream, 0, sizeof(*stream));
	slot = find_slot(&v, number);
	return slot ? read_stream(&v, slot, stream) : ENOENT;
}

int ptrc_inspect_event(pid_t pid, unsigned int number, trace_event_id_t *event, char *name)
{
	struct ptrc_names_entry e;
	uint32_t count, version;
	VIEW(v);
	PTRC_FD(fd);
	int error = open_view(pid, &v) ?: open_names(&v, &fd, &count, &version);

	if (error)
		return error;
	if (number >= count)
		return ENOENT;
	if (!ptrc_file_read_whole(fd, &e, sizeof(e),
				  offsetof(struct ptrc_names_object, entry) +
					  (uint64_t)number * sizeof(e)))
		return EPERM;
	*event = PTRC_ID_FIRST + number;
	memset(name, 0, PTRC_NAME_BYTES);
	if (ptrc_load_relaxed(&e.state) == PTRC_NAMES_MADE)
		memcpy(name, e.name, PTRC_NAME_BYTES - 1);
	return 0;
}

void ptrc_inspect_system(struct ptrc_inspected_system *system)
{
	uint32_t caller = ptrc_sys_geteuid();
	struct ptrc_bells *bells;
	PTRC_FD(dirfd);

	*system = (struct ptrc_inspected_system){0};
	system->pt_directory_error = ptrc_shmdir_open(caller, false, &dirfd);
	if (!system->pt_directory_error) {
		system->pt_streams = ptrc_liveness_count_places(dirfd, caller);
		system->pt_dropped_orphans = ptrc_orphan_count_dropped(dirfd, caller, false);
		system->pt_bells_error = ptrc_bells_open(dirfd, caller, &bells);
		if (!system->pt_bells_error)
			ptrc_bells_unmap(bells);
	}
	system->pt_has_counter = ptrc_counter_is_usable();
	system->pt_has_barrier = ptrc_barrier_is_available();
}

int ptrc_inspect_directory(bool is_create, char *path)
{
	PTRC_FD(dirfd);

	memcpy(path, PTRC_SHMDIR_BASE "/", sizeof(PTRC_SHMDIR_BASE));
	return ptrc_shmdir_find(ptrc_sys_geteuid(), is_create, path + sizeof(PTRC_SHMDIR_BASE),
				&dirfd);
}
