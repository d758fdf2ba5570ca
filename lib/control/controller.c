/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/control/controller.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/limit.h"
#include "lib/base/procfs.h"
#include "lib/base/shared_version.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/base/thread_life.h"
#include "lib/control/handle.h"
#include "lib/log/log_write.h"
#include "lib/process/claim.h"
#include "lib/process/inherit.h"
#include "lib/process/orphan.h"
#include "lib/recorder/attach.h"
#include "lib/stream/marks.h"
#include "lib/stream/clock.h"
#include "lib/stream/space.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
/* Limits for the extra chunks of a stream. A chunk is a piece of memory for one writer; extra
 * chunks are those beyond stream-min-size, so that more threads can record at the same time. They
 * take no memory until they are used. A low file size limit may reduce them to about
 * EXTRA_CHUNKS_MIN. */
#define EXTRA_CHUNKS 4096U
#define EXTRA_BYTES_MAX (1024 * MIB)
#define EXTRA_CHUNKS_MIN 64U

/* The sizes of a new stream. chunk_size: bytes of a chunk. base_count: number of chunks whose
 * memory is reserved at creation. count: number of all chunks. record_max: bytes of the largest
 * record (an event in a chunk). */
struct geometry {
	uint64_t chunk_size, base_count, count, record_max;
};

static uint64_t object_size(const struct geometry *g)
{
	return ptrc_stream_chunk_offset((uint32_t)g->count) + g->count * g->chunk_size;
}

/* Chooses size and number of the chunks. With large chunks, writers seldom need a new chunk; but
 * no other writer can use the free space in a writer's chunk, so a chunk is small compared with
 * stream-min-size. ENOMEM. */
static int plan(const struct ptrc_attr *attr, struct geometry *g)
{
	uint64_t min = attr->stream_min_size, user, extra;

	if (ptrc_attr_user_event_size(attr->max_data_size, attr->max_data_size, &user) != 0)
		user = UINT64_MAX;
	g->record_max = user < min ? user : min;
	if (g->record_max < PTRC_ATTR_EVENT_OVERHEAD + PTRC_ATTR_SYSTEM_DATA_MAX)
		g->record_max = PTRC_ATTR_EVENT_OVERHEAD + PTRC_ATTR_SYSTEM_DATA_MAX;
	if (g->record_max > UINT32_MAX / 4)
		return ENOMEM;
	g->chunk_size = min >= 4 * MIB ? 64 * KIB : min >= MIB ? 32 * KIB : 16 * KIB;
	if (g->chunk_size < 2 * g->record_max + PTRC_CHUNK_FIRST)
		g->chunk_size = 2 * g->record_max + PTRC_CHUNK_FIRST;
	g->chunk_size = (g->chunk_size + 4095) & ~UINT64_C(4095);
	/* At the end of each chunk, space for up to one record stays unused. One chunk is added
	 * for rounding up, and four chunks for a thread that records, the controller, the keeper,
	 * and a thread that changes to another chunk. */
	g->base_count = min / (g->chunk_size - PTRC_CHUNK_FIRST - g->record_max) + 1 + 4;
	extra = EXTRA_BYTES_MAX / g->chunk_size;
	if (extra > EXTRA_CHUNKS)
		extra = EXTRA_CHUNKS;
	g->count = g->base_count + extra + 16;
	if (min > UINT64_MAX / 4 || g->count > UINT32_MAX / 2)
		return ENOMEM;
	/* The file size limit (RLIMIT_FSIZE) also counts sparse parts. Under a low limit the
	 * stream gets fewer extra chunks, so fewer threads can record at the same time. */
	for (; extra > EXTRA_CHUNKS_MIN && object_size(g) > ptrc_limit_most(RLIMIT_FSIZE);
	     extra /= 2)
		g->count -= extra - extra / 2;
	return 0;
}

/* Reserves memory for the parts of the object that writers use without checking first whether those
 * parts have memory. */
static bool reserve_base(int fd, const struct geometry *g)
{
	return !ptrc_shmdir_reserve(fd, 0, PTRC_STREAM_CLOCK_OFFSET, 4096) &&
	       !ptrc_shmdir_reserve(fd, 0, PTRC_STREAM_SLOT_OFFSET, 8192) &&
	       !ptrc_shmdir_reserve(fd, 0, PTRC_STREAM_CHUNK_CTL_OFFSET,
				    g->base_count * sizeof(struct ptrc_chunk_ctl)) &&
	       !ptrc_shmdir_reserve(fd, 0, ptrc_stream_chunk_offset((uint32_t)g->count),
				    g->base_count * g->chunk_size);
}

/* Stores the time zone of this process in the header of the stream. The keeper writes it into the
 * log. */
static void note_time_zone(struct ptrc_stream_header *h, time_t now)
{
	static const char places[] = "/zoneinfo/";
	const char *name = getenv("TZ");
	char link[256];
	ssize_t n;
	struct tm tm;

	if (!name) {
		n = readlink("/etc/localtime", link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		name = strstr(link, places);
		name = name ? name + strlen(places) : "";
	}
	if (strlen(name) < sizeof(h->time_zone))
		strcpy(h->time_zone, name);
	if (localtime_r(&now, &tm)) {
		h->utc_offset = (int32_t)tm.tm_gmtoff;
		h->has_utc_offset = 1;
	}
}

/* Creates the stream object and fills in its header. EOVERFLOW: CLOCK_REALTIME shows a time that
 * event times cannot express. */
static int make_object(struct ptrc_controller *c, const struct ptrc_attr *attr, uint64_t names_id,
		       const char *name)
{
	/* begin: this function maps this many bytes, up to the end of the first page of clock
	 * entries. reserved: this many bytes at the start of the object get memory. reserve_base()
	 * gives memory to the clock entries and to other parts. */
	const uint64_t begin = PTRC_STREAM_CLOCK_OFFSET + 4096;
	const uint64_t reserved = PTRC_STREAM_TYPE_OFFSET +
				  offsetof(struct ptrc_type_counts, type[PTRC_TYPE_READY_COUNT]);
	struct ptrc_stream_header *h;
	struct timespec now;
	struct geometry g;
	void *map;
	uint64_t size, needed;
	int error;
	PTRC_FD(fd);

	error = plan(attr, &g);
	if (error)
		return error;
	clock_gettime(CLOCK_REALTIME, &now);
	if (!ptrc_clock_is_in_range(now.tv_sec))
		return EOVERFLOW;
	size = object_size(&g);
	/* The hard file size limit forbids the object, however much memory is free. */
	if (size > ptrc_limit_most(RLIMIT_FSIZE))
		return ENOMEM;
	/* If memory is short, remove the oldest streams without a log that killed controllers have
	 * left, one after the other. `needed` counts only the base chunks, which take most of the
	 * memory. */
	needed = g.base_count * g.chunk_size;
	do
		error = ptrc_shmdir_create_object(c->target.dirfd, name, c->target.uid, size,
						  reserved, &fd);
	while (error == ENOMEM && ptrc_orphan_make_room(c->target.dirfd, c->target.uid, needed));
	if (error)
		return error;
	while (!reserve_base(fd, &g))
		if (!ptrc_orphan_make_room(c->target.dirfd, c->target.uid, needed))
			return ENOMEM;
	if (ptrc_file_map_sparse(fd, begin, NULL, &map))
		return ENOMEM;
	h = map;
	ptrc_stream_types(h)->ready = PTRC_TYPE_READY_COUNT;
	h->version = PTRC_SHARED_VERSION;
	h->chunk_size = (uint32_t)g.chunk_size;
	h->chunk_count = (uint32_t)g.count;
	h->base_chunk_count = (uint32_t)g.base_count;
	h->map_size = size;
	h->id = c->id;
	h->names_id = names_id;
	h->stream_min_size = attr->stream_min_size;
	h->max_data_size = attr->max_data_size;
	h->record_max = (uint32_t)g.record_max;
	h->policy = attr->stream_full_policy;
	h->full_wait_ns = h->policy == POSIX_TRACE_FLUSH ? attr->full_wait_ns : 0;
	h->log_policy = attr->log_full_policy;
	h->has_log = c->has_log;
	h->is_inherited = attr->inherited == POSIX_TRACE_INHERITED;
	h->target_pid = c->target.pid;
	h->target_start_ticks = c->target.start_ticks;
	h->controller_pid = getpid();
	h->owner_uid = c->target.uid;
	h->pid_namespace = c->target.ns;
	h->time_namespace = ptrc_procfs_time_namespace();
	h->first_lost = h->gap_first = PTRC_TIME_NONE;
	h->slots_used = PTRC_SLOT_FIRST;
	h->chunks_used = (uint32_t)g.base_count;
	h->control = UINT64_C(1) << PTRC_CTL_SERIAL_SHIFT;
	/* Some machines have no usable counter or no membarrier(); there the stream uses
	 * CLOCK_MONOTONIC, or its writers use fences. Tests force this by the environment variables
	 * POSIXTRACE_CLOCK_MONOTONIC and POSIXTRACE_FENCE. */
	if (!ptrc_counter_is_usable() || secure_getenv("POSIXTRACE_CLOCK_MONOTONIC"))
		h->control |= PTRC_CTL_MONO;
	if (!ptrc_barrier_is_available() || secure_getenv("POSIXTRACE_FENCE"))
		h->control |= PTRC_CTL_FENCE;
	ptrc_clock_init(h);
	h->attr = *attr;
	h->attr.createtime_sec = now.tv_sec;
	h->attr.createtime_nsec = now.tv_nsec;
	note_time_zone(h, now.tv_sec);
	/* Take the controller's lock before the magic number is stored: another process that cleans
	 * up removes a stream that has the magic number and whose lock no controller holds. */
	error = ptrc_liveness_take(c->target.dirfd, name, PTRC_LIVE_CONTROLLER, &c->life);
	h->magic = PTRC_STREAM_MAGIC;
	munmap(h, begin);
	if (!error)
		error = ptrc_stream_map(fd, PTRC_ROLE_CONTROLLER, &c->stream);
	if (!error)
		madvise(c->stream.header, c->stream.map_size, MADV_DONTFORK);
	return error;
}

/* Undoes the creation of the stream, as far as it got, in reverse order, and frees `c`. If
 * c->is_orphaned, leaves the stream to the process that will finish its log. */
static void release(struct ptrc_controller *c)
{
	if (c->target.page)
		ptrc_target_wake(&c->target);
	if (c->is_attached)
		ptrc_target_detach(&c->target, c->id);
	if (c->target.is_self && c->stream.header)
		ptrc_attach_drop(c->id);
	if (c->id && !c->is_orphaned)
		ptrc_shmdir_remove_id(c->target.dirfd, 's', c->id);
	if (c->stream.header) {
		uint64_t offset = ptrc_stream_chunk_offset(c->stream.pool.chunk_count);

		/* Traced processes unmap the stream only when they next look at it, and so would
		 * keep its memory. Free the memory of the chunks now. */
		if (!c->is_orphaned)
			madvise((char *)c->stream.header + offset, c->stream.map_size - offset,
				MADV_REMOVE);
		ptrc_live_reader_destroy(&c->reader);
		ptrc_stream_unmap(&c->stream);
	}
	if (c->id && !c->is_orphaned)
		ptrc_untraced_forget(c->target.dirfd, c->id);
	if (c->id)
		ptrc_inherit_withdraw(c->target.dirfd, c->id);
	/* If this stream is orphaned, it is still there, so its names stay. */
	if (c->names)
		ptrc_target_names_unref(c->names);
	ptrc_liveness_drop(&c->life);
	ptrc_liveness_drop_place(&c->place);
	ptrc_target_close(&c->target);
	ptrc_log_fd_let_go(&c->log);
	pthread_mutex_destroy(&c->keeper_lock);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->reader_lock);
	free(c);
}

/* Opens the descriptors that are needed to start a keeper. */
static int open_for_keeper(struct ptrc_controller *c, struct ptrc_keeper_args *args)
{
	int error = ptrc_target_wake(&c->target);

	if (error)
		return error;
	args->dirfd = c->target.dirfd;
	args->log_fd = ptrc_log_fd_get(&c->log);
	return ptrc_shmdir_open_id(args->dirfd, 's', c->id, c->target.uid, &args->stream_fd, NULL)
		       ?: ptrc_shmdir_open_id(args->dirfd, 'n', c->names->id, c->target.uid,
					      &args->names_fd, NULL);
}

static void close_for_keeper(const struct ptrc_keeper_args *args)
{
	ptrc_file_end(&args->stream_fd);
	ptrc_file_end(&args->names_fd);
}

/* Defines arguments for open_for_keeper(), whose descriptors are closed at the end of the block. */
#define KEEPER_ARGS(name)              \
	PTRC_CLEANUP(close_for_keeper) \
	struct ptrc_keeper_args name = {.stream_fd = -1, .names_fd = -1}

static int start_keeper(struct ptrc_controller *c)
{
	KEEPER_ARGS(args);
	int error;

	if (open_for_keeper(c, &args))
		return ENOMEM;
	error = ptrc_keeper_start(&args, c->stream.header, PTRC_KEEPER_NEW);
	return error == ECHILD ? ENOMEM : error;
}

/* Gives the keeper a command. ECHILD: the keeper is dead, no other keeper can be started, and
 * nothing was done. */
static int command_keeper(struct ptrc_controller *c, uint32_t command,
			  const struct ptrc_context *origin, uint64_t addr)
{
	/* These descriptors are needed only if the keeper is dead, to start the next keeper. If
	 * they cannot be opened, because no descriptor is free or the process has changed its user,
	 * a living keeper can still be commanded. */
	KEEPER_ARGS(args);
	bool has_args = open_for_keeper(c, &args) == 0;
	int error = ptrc_keeper_command(has_args ? &args : NULL, c->stream.header, command, origin,
					addr);

	ptrc_target_rest(&c->target);
	return error;
}

int ptrc_controller_command(struct ptrc_controller *c, uint32_t command,
			    const struct ptrc_context *origin, uint64_t addr)
{
	int error = command_keeper(c, command, origin, addr);

	return error == ECHILD ? ENOMEM : error;
}

/* Whether the target may not open this stream, because it has changed its user or its root directory since its start,
 * or because system calls are forbidden to it. It has said so in its page (list of streams); or it has not opened that
 * page either, and has another user than the page. */
static bool is_refused_to_target(const struct ptrc_controller *c)
{
	const struct ptrc_target *t = &c->target;
	struct ptrc_page_entry e;
	uint32_t uid;

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++)
		if (ptrc_page_slot(t->page, i, &e) && e.stream_id == c->id &&
		    ptrc_refusal_error(ptrc_load_relaxed(&t->page->slots[i].error)) == EPERM)
			return true;
	return ptrc_load_relaxed(&t->page->image) == 0 && ptrc_procfs_user(t->pid, &uid) == 0 &&
	       uid != t->uid &&
	       ptrc_target_past(t->pid, uid, t->ns, t->start_ticks) != PTRC_TARGET_NO_PAST;
}

/* Counts the processes that should have been traced by this stream and could not be. Each of them
 * has left a note in the directory of shared objects (lib/stream/untraced.h), except a target that cannot reach the
 * directory: for that one, this leaves the note. */
static void count_untraced(const struct ptrc_controller *c, struct ptrc_untraced *untraced)
{
	struct ptrc_page_place place = {.uid = c->target.uid, .ns = c->target.ns};

	*untraced = (struct ptrc_untraced){0};
	/* Opens the directory again, because another thread may open or close c->target.dirfd
	 * meanwhile. */
	if (ptrc_shmdir_open(place.uid, false, &place.dirfd))
		return;
	ptrc_claim_untraced(&place, c->stream.header);
	if (is_refused_to_target(c))
		ptrc_untraced_put(place.dirfd, c->stream.header, c->target.pid, EPERM);
	ptrc_untraced_count(place.dirfd, c->stream.header, untraced);
	ptrc_file_close(place.dirfd);
}

static bool has_keeper(const struct ptrc_controller *c, int *pid)
{
	*pid = atomic_load(&c->stream.header->keeper_pid);
	return *pid > 0 && !ptrc_thread_is_dead(*pid);
}

int ptrc_controller_revive_keeper(struct ptrc_controller *c, int *pid)
{
	int error = EAGAIN;
	PTRC_NO_CANCEL();

	if (!c->has_log)
		return EINVAL;
	if (has_keeper(c, pid))
		return 0;
	/* If another thread holds the lock, do not wait for it: it is giving a command, which
	 * starts a keeper if there is none. */
	if (pthread_mutex_trylock(&c->keeper_lock) == 0) {
		/* The keeper refuses the command PTRC_KEEPER_NONE, so this only starts a keeper. */
		if (!c->is_closing) {
			error = ptrc_controller_command(c, PTRC_KEEPER_NONE, NULL, 0);
			if (has_keeper(c, pid))
				error = 0;
			else if (error != EAGAIN)
				error = ENOMEM;
		}
		pthread_mutex_unlock(&c->keeper_lock);
	}
	return error;
}

/* Creates the stream. After an error, the caller undoes by release() what was done. */
static int create(struct ptrc_controller *c, pid_t pid, const struct ptrc_attr *attr, int log_fd,
		  trace_id_t *id)
{
	trace_id_t handle;
	uint32_t flags = 0;
	char name[PTRC_SHMDIR_NAME_BYTES];
	int error;

	/* The stream's clock needs two readings of the counter at least 2 ms apart. The first
	 * reading is made here, so that the work below takes some of that time. */
	ptrc_clock_first_pair();
	error = ptrc_target_open(pid, c->has_log ? log_fd : -1, &c->target)
			?: ptrc_liveness_take_place(&c->place)
			?: ptrc_target_names(&c->target, &c->names);
	if (error)
		return error;
	c->id = ptrc_shmdir_new_id();
	ptrc_shmdir_name(name, 's', c->id);
	error = make_object(c, attr, c->names->id, name)
			?: ptrc_live_reader_init(&c->reader, &c->stream, c->has_log);
	if (!error && c->has_log)
		error = ptrc_log_fd_keep(&c->log, log_fd) ?: start_keeper(c);
	if (error)
		return error;
	/* A rotated log goes on in other files, whose paths a later keeper finds in the stream. The
	 * descriptor would only keep the space of the first file after its deletion. If another
	 * user owns the stream, a keeper does not trust these paths, and needs the descriptor. */
	if (ptrc_attr_rotates(attr) && c->target.uid == geteuid())
		ptrc_log_fd_let_go(&c->log);
	if (attr->inherited == POSIX_TRACE_INHERITED) {
		error = ptrc_inherit_announce(c->target.dirfd, c->id);
		if (error)
			return error;
		flags |= PTRC_PAGE_SLOT_INHERITED;
	}
	if (c->target.is_self)
		flags |= PTRC_PAGE_SLOT_SELF;
	error = ptrc_handle_new(PTRC_HANDLE_ACTIVE, c, &handle);
	if (error)
		return error;
	/* Add the stream to the target's page (list of streams) last: from then on the target may
	 * map the stream, which must be complete. */
	error = ptrc_target_attach(&c->target, c->id, c->names->id, flags);
	if (error) {
		ptrc_handle_take(handle, PTRC_HANDLE_ACTIVE);
		ptrc_handle_drain(handle);
		return error;
	}
	c->is_attached = true;
	ptrc_target_rest(&c->target);
	/* If this process traces itself, it maps the stream now: later it may have changed its user
	 * or root directory and could not open the stream. If this fails, the first event tries
	 * again. */
	if (c->target.is_self)
		ptrc_attach_all();
	*id = handle;
	return 0;
}

int ptrc_controller_create(pid_t pid, const trace_attr_t *attr, bool has_log, int log_fd,
			   trace_id_t *id)
{
	struct ptrc_controller *c;
	struct ptrc_attr resolved;
	int error;
	PTRC_NO_CANCEL();

	if (!id)
		return EINVAL;
	error = ptrc_attr_resolve(attr, has_log, &resolved);
	if (!error && has_log)
		error = ptrc_log_check(log_fd, resolved.log_full_policy);
	if (error)
		return error;
	c = calloc(1, sizeof(*c));
	if (!c)
		return ENOMEM;
	c->pid = ptrc_sys_getpid();
	c->has_log = has_log;
	c->target.dirfd = -1;
	pthread_mutex_init(&c->keeper_lock, NULL);
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->reader_lock, NULL);
	error = create(c, pid, &resolved, log_fd, id);
	if (!error)
		return 0;
	if (c->has_log && c->stream.header && atomic_load(&c->stream.header->keeper_pid) != 0) {
		ptrc_stream_end(&c->stream);
		ptrc_controller_command(c, PTRC_KEEPER_CLOSE, NULL, 0);
	}
	release(c);
	return error;
}

void ptrc_controller_count(struct ptrc_controller *c, struct ptrc_counts *counts)
{
	struct ptrc_stream_header *h = c->stream.header;
	struct ptrc_untraced untraced;

	count_untraced(c, &untraced);
	counts->pt_untraced_processes = untraced.processes;
	counts->pt_untraced_error = (unsigned long)untraced.error;
	counts->pt_untraced_versions = untraced.versions;
	counts->pt_refused_names = ptrc_names_count_refused(c->names->object->refused_seen);
	counts->pt_lost_events = atomic_load(&h->lost_events);
	counts->pt_log_lost_events = atomic_load(&h->log_lost_events);
	counts->pt_unobserved_events = atomic_load(&h->unobserved_events);
	counts->pt_log_events = atomic_load(&h->log_events);
	counts->pt_log_bytes = atomic_load(&h->log_bytes);
	counts->pt_stream_bytes = ptrc_space_used(&c->stream.pool);
	counts->pt_processes = atomic_load(&h->processes);
	counts->pt_threads = atomic_load(&h->threads);
	counts->pt_waits = atomic_load(&h->waits);
	counts->pt_wait_ns = atomic_load(&h->wait_ns);
	counts->pt_data_needed = atomic_load(&h->data_needed);
	counts->pt_rotation_error = atomic_load(&h->rotation_error);
	counts->pt_rotation_file = counts->pt_rotation_error ? atomic_load(&h->rotation_file) : 0;
}

bool ptrc_controller_is_log_gone(const struct ptrc_controller *c)
{
	const struct ptrc_stream_header *h = c->stream.header;
	const struct ptrc_log_place *place = &h->log_place[ptrc_log_state_place(h)];
	struct ptrc_log_place noted = *place;
	struct stat st;

	noted.path[sizeof(noted.path) - 1] = '\0';
	if (!ptrc_file_stat_at(AT_FDCWD, noted.path, &st) && st.st_ino == noted.ino &&
	    st.st_dev == noted.dev)
		return false;
	/* If the keeper has begun another file meanwhile, the log is at the path of that file. */
	return place == &h->log_place[ptrc_log_state_place(h)] && place->ino == noted.ino;
}

int ptrc_controller_shutdown(struct ptrc_controller *c, trace_id_t id, uint64_t addr,
			     struct ptrc_counts *counts)
{
	struct ptrc_context origin = ptrc_controller_origin();
	int error = 0;

	/* is_closing is set before STOP is recorded below, so that a thread that waits for an
	 * event gets EINVAL and not the STOP. */
	atomic_store(&c->is_closing, true);
	/* A flush may be in progress, and waiting for it may take long. So stop the stream before
	 * taking the keeper's lock. */
	pthread_mutex_lock(&c->lock);
	ptrc_stream_stop(&c->stream, &origin, addr);
	pthread_mutex_unlock(&c->lock);
	pthread_mutex_lock(&c->keeper_lock);
	if (c->has_log) {
		struct ptrc_untraced untraced;

		/* The keeper writes the number of untraced processes into the log. It counts notes
		 * that name the stream. A process that did not know its streams left a note without
		 * a stream. If this stream should have traced that process, count_untraced() first
		 * adds a note that names the stream. */
		count_untraced(c, &untraced);
		error = command_keeper(c, PTRC_KEEPER_CLOSE, &origin, addr);
		/* If the keeper is dead and no other keeper can be started now, the next
		 * posix_trace_create() of the user finishes the log, as if controller and keeper
		 * had been killed. */
		if (error == ECHILD || error == EAGAIN)
			c->is_orphaned = true;
	}
	pthread_mutex_unlock(&c->keeper_lock);
	if (counts)
		ptrc_controller_count(c, counts);
	ptrc_stream_end(&c->stream);
	/* Ending the stream has woken the threads that waited for an event. Wait until they no
	 * longer use the stream. */
	ptrc_handle_drain(id);
	release(c);
	return error;
}

void ptrc_controller_shutdown_all(void)
{
	trace_id_t id;
	PTRC_NO_CANCEL();

	while ((id = ptrc_handle_any(PTRC_HANDLE_ACTIVE)) != 0) {
		struct ptrc_controller *c = ptrc_handle_take(id, PTRC_HANDLE_ACTIVE);

		if (c)
			ptrc_controller_shutdown(c, id, 0, NULL);
	}
}

struct ptrc_context ptrc_controller_origin(void)
{
	return (struct ptrc_context){.pid = ptrc_sys_getpid(),
				     .tid = ptrc_sys_gettid(),
				     .thread = (uint64_t)pthread_self()};
}
