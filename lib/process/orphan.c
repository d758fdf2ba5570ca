/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/process/orphan.h"

#include <errno.h>
#include <fcntl.h>
#include <posixtrace-control.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <trace.h>
#include <unistd.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/liveness.h"
#include "lib/base/shared_version.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/keeper/keeper_life.h"
#include "lib/log/log_write.h"
#include "lib/stream/consumer.h"
#include "lib/stream/live_reader.h"
#include "lib/stream/stream.h"
#include "lib/stream/untraced.h"

/* How often ptrc_orphan_lock() tries to take the lock, and the pause between tries: one second in all. */
#define CLEANER_TRIES 400
#define CLEANER_PAUSE_NS 2500000

/* DROPPED: the file that lists dropped orphans (streams of dead controllers that were removed with their
 * events), with a record for each. DROPPED_BYTES_MAX: at this size it gets no more records. */
#define DROPPED "dropped"
#define DROPPED_BYTES_MAX 4096

struct dropped {
	uint64_t id;
	int64_t created_s;
	int32_t controller;
	uint32_t has_log;
};

/* Calls visit() for every name in the directory. Uses a descriptor of its own, because the caller is itself
 * going through the names with dirfd. Returns false if no descriptor is free. */
static bool each_name_again(int dirfd, void (*visit)(const char *name, void *arg), void *arg)
{
	PTRC_FD(again);

	if (ptrc_file_open(dirfd, ".", O_RDONLY | O_DIRECTORY, 0, &again))
		return false;
	ptrc_shmdir_for_each(again, visit, arg);
	return true;
}

bool ptrc_orphan_read(int fd, uint64_t id, struct ptrc_orphan_facts *f)
{
	uint32_t version, has_log, has_killed;
	uint64_t magic, own_id, log_state;

#define READ(to, member) \
	ptrc_file_read_whole(fd, &(to), sizeof(to), offsetof(struct ptrc_stream_header, member))
	memset(f, 0, sizeof(*f));
	if (!READ(magic, magic) || magic != PTRC_STREAM_MAGIC || !READ(version, version))
		return false;
	_Static_assert(sizeof(((struct ptrc_attr *)0)->createtime_sec) == sizeof(f->created_s), "");
	if (!ptrc_shared_version_is_known(version) || !READ(own_id, id) || own_id != id ||
	    !READ(has_log, has_log) || !READ(f->controller, controller_pid) ||
	    !READ(f->names_id, names_id) || !READ(f->created_s, attr.createtime_sec) ||
	    !READ(f->created_ns, attr.createtime_nsec) || !READ(has_killed, has_killed_keepers) ||
	    !READ(log_state, log_state[0])) {
		*f = (struct ptrc_orphan_facts){.version = version};
		return true;
	}
#undef READ
	f->version = version;
	f->is_known = true;
	f->has_log = has_log != 0;
	f->has_begun_log = log_state != 0;
	f->has_killed_keepers = has_killed != 0;
	return true;
}

bool ptrc_orphan_lock(int fd, uint64_t *mask)
{
	ptrc_sys_block_signals(mask);
	for (int tries = 0; tries < CLEANER_TRIES; tries++) {
		if (ptrc_file_lock(fd, F_WRLCK, PTRC_LIVE_CLEANER, 1) == 0)
			return true;
		ptrc_file_sleep_ns(CLEANER_PAUSE_NS);
	}
	ptrc_sys_restore_signals(mask);
	return false;
}

void ptrc_orphan_unlock(int fd, const uint64_t *mask)
{
	ptrc_file_lock(fd, F_UNLCK, PTRC_LIVE_CLEANER, 1);
	ptrc_sys_restore_signals(mask);
}

void ptrc_orphan_end(int fd)
{
	struct ptrc_stream stream;

	if (ptrc_stream_map(fd, PTRC_ROLE_CONTROLLER, &stream))
		return;
	ptrc_stream_end(&stream);
	ptrc_stream_unmap(&stream);
}

/* Whether the stream has an unread user event. START and other system events are left out, because
 * every stream has some. */
static bool has_user_event(struct ptrc_stream *s)
{
	const struct ptrc_consumer c = {
		.stream = s, .pin = PTRC_CHUNK_PIN_READER, .only_looks = true};
	uint64_t epoch = ptrc_load_acquire(&s->header->epoch);
	struct ptrc_walk_record record;
	bool is_found = false;
	struct ptrc_pinned p;
	struct ptrc_walk walk;

	for (uint32_t i = 0, used = ptrc_pool_used(&s->pool); i < used && !is_found; i++) {
		if (!ptrc_consumer_pin(&c, i, epoch, &p))
			continue;
		walk = ptrc_walk_begin(ptrc_pool_chunk(&s->pool, i), p.end);
		while (!is_found && ptrc_walk_next(&walk, &record))
			is_found = record.off >= ptrc_consumer_rpos(&c, &p) &&
				   (record.id_flags & PTRC_REC_ID_MASK) >=
					   POSIX_TRACE_UNNAMED_USEREVENT;
		/* If the walk has stopped at damage, there may be a user event after it. */
		is_found |= walk.off < walk.end;
		ptrc_consumer_unpin(&c, &p);
	}
	return is_found;
}

bool ptrc_orphan_has_events(int fd, const struct ptrc_orphan_facts *f)
{
	struct ptrc_stream stream;
	bool has_events;

	if (f->has_log)
		return f->has_begun_log;
	if (ptrc_stream_map(fd, PTRC_ROLE_CONTROLLER, &stream))
		return true;
	has_events = has_user_event(&stream);
	ptrc_stream_unmap(&stream);
	return has_events;
}

void ptrc_orphan_put_aside(int dirfd, uint64_t id, int fd)
{
	char from[PTRC_SHMDIR_NAME_BYTES], to[PTRC_SHMDIR_NAME_BYTES];
	struct ptrc_stream stream;

	ptrc_shmdir_remove_id(dirfd, 'i', id);
	ptrc_shmdir_name(from, 's', id);
	ptrc_shmdir_name(to, 'o', id);
	ptrc_sys(SYS_renameat2, dirfd, from, dirfd, to, RENAME_NOREPLACE);
	if (ptrc_stream_map(fd, PTRC_ROLE_CONTROLLER, &stream))
		return;
	ptrc_keeper_note_users(stream.header, fd, NULL);
	ptrc_stream_end(&stream);
	ptrc_stream_unmap(&stream);
}

static bool remove_object(int dirfd, uint64_t id)
{
	bool is_removed = ptrc_shmdir_remove_id(dirfd, 'o', id);

	ptrc_untraced_forget(dirfd, id);
	return is_removed;
}

int ptrc_orphan_finish(int dirfd, uint32_t uid, uint64_t id, int fd,
		       const struct ptrc_keeper_orders *orders)
{
	int error = ptrc_keeper_finish_orphan(dirfd, uid, fd, orders);

	if (!error)
		remove_object(dirfd, id);
	return error;
}

/* ---- how many stay ---- */

struct tally {
	int dirfd;
	uint32_t uid;
	uint64_t plain_bytes;
	struct kind {
		unsigned int count;
		uint64_t oldest;
		/* when the stream `oldest` was created: seconds since the Epoch, and ns */
		int64_t oldest_s, oldest_ns;
	} logged, plain;
};

static void count_one(const char *name, void *arg)
{
	uint64_t id = ptrc_shmdir_parse(name, 'o');
	struct ptrc_orphan_facts f;
	struct tally *t = arg;
	struct stat st;
	PTRC_FD(fd);

	if (!id || ptrc_shmdir_open_object(t->dirfd, name, t->uid, &fd, NULL))
		return;
	if (ptrc_file_stat(fd, &st) || !ptrc_orphan_read(fd, id, &f)) {
		/* An object without a header has nothing that could be salvaged. */
		remove_object(t->dirfd, id);
	} else {
		bool is_plain = f.is_known && !f.has_log;
		struct kind *k = is_plain ? &t->plain : &t->logged;

		t->plain_bytes += is_plain ? (uint64_t)st.st_blocks * 512 : 0;
		if (!k->count++ || f.created_s < k->oldest_s ||
		    (f.created_s == k->oldest_s && f.created_ns < k->oldest_ns)) {
			k->oldest = id;
			k->oldest_s = f.created_s;
			k->oldest_ns = f.created_ns;
		}
	}
}

static struct tally count_all(int dirfd, uint32_t uid)
{
	struct tally t = {.dirfd = dirfd, .uid = uid};

	each_name_again(dirfd, count_one, &t);
	return t;
}

static uint64_t plain_bytes_max(int dirfd)
{
	struct statfs s;

	/* A /dev/shm that is not a tmpfs may report that it has no size. */
	if (ptrc_sys(SYS_fstatfs, dirfd, &s) || s.f_blocks == 0)
		return UINT64_MAX;
	return (uint64_t)s.f_blocks * (uint64_t)s.f_bsize / 2;
}

static void note_dropped(int dirfd, uint64_t id, const struct ptrc_orphan_facts *f)
{
	struct dropped d = {.id = id,
			    .created_s = f->created_s,
			    .controller = f->controller,
			    .has_log = f->has_log};
	struct stat st;
	PTRC_FD(fd);

	if (ptrc_file_open(dirfd, DROPPED, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK,
			   0600, &fd))
		return;
	if (ptrc_file_stat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < DROPPED_BYTES_MAX)
		ptrc_sys(SYS_write, fd, &d, sizeof(d));
}

/* Removes an orphan (stream of a dead controller) and its events. Returns false if the orphan
 * stays, for example because another process salvages it, or because a keeper of it still
 * exists. */
static bool drop(int dirfd, uint32_t uid, uint64_t id)
{
	struct ptrc_orphan_facts f;
	bool is_removed = false;
	PTRC_FD(fd);

	if (ptrc_shmdir_open_id(dirfd, 'o', id, uid, &fd, NULL))
		return false;
	PTRC_NO_SIGNALS();
	if (ptrc_file_lock(fd, F_WRLCK, PTRC_LIVE_CLEANER, 1) == 0 &&
	    !ptrc_liveness_is_held(fd, PTRC_LIVE_CONTROLLER, 2)) {
		if (ptrc_orphan_read(fd, id, &f))
			note_dropped(dirfd, id, &f);
		is_removed = remove_object(dirfd, id);
	}
	ptrc_file_lock(fd, F_UNLCK, PTRC_LIVE_CLEANER, 1);
	return is_removed;
}

void ptrc_orphan_limit(int dirfd, uint32_t uid)
{
	uint64_t bytes_max = plain_bytes_max(dirfd);
	bool goes_on = uid == ptrc_sys_geteuid();

	while (goes_on) {
		struct tally t = count_all(dirfd, uid);

		if (t.plain.count > PTRC_ORPHAN_PLAIN_MAX ||
		    (t.plain.count && t.plain_bytes > bytes_max))
			goes_on = drop(dirfd, uid, t.plain.oldest);
		else
			goes_on = t.logged.count > PTRC_ORPHAN_LOGGED_MAX &&
				  drop(dirfd, uid, t.logged.oldest);
	}
}

/* How many bytes are free in /dev/shm. */
static uint64_t free_bytes(int dirfd)
{
	struct statfs s;

	if (ptrc_sys(SYS_fstatfs, dirfd, &s) || s.f_blocks == 0)
		return UINT64_MAX / 2;
	return (uint64_t)s.f_bavail * (uint64_t)s.f_bsize;
}

bool ptrc_orphan_make_room(int dirfd, uint32_t uid, uint64_t bytes)
{
	struct tally t;

	if (uid != ptrc_sys_geteuid())
		return false;
	t = count_all(dirfd, uid);
	return t.plain.count && free_bytes(dirfd) + t.plain_bytes >= bytes &&
	       drop(dirfd, uid, t.plain.oldest);
}

struct need {
	int dirfd;
	uint32_t uid;
	uint64_t names_id;
	/* when the object names_id was made; all zero if it is gone */
	struct timespec made;
	bool is_needed;
};

/* Returns when the file was made, or all zero if it is gone. Kernels before 5.18 keep no creation time for
 * files of tmpfs; then this returns the mtime, which may be later, because the first write to a page of a
 * mapping sets it. */
static struct timespec creation(int dirfd, const char *name)
{
	const unsigned int mask = STATX_BTIME | STATX_MTIME;
	struct statx file;
	const struct statx_timestamp *at = &file.stx_btime;

	if (ptrc_sys(SYS_statx, dirfd, name, AT_SYMLINK_NOFOLLOW, mask, &file))
		return (struct timespec){0};
	if (!(file.stx_mask & STATX_BTIME))
		at = &file.stx_mtime;
	return (struct timespec){.tv_sec = at->tv_sec, .tv_nsec = at->tv_nsec};
}

/*
 * Whether an orphan may need the names object that was made at *made. This library does not know the version of
 * the orphan, so it cannot read which names object the orphan uses. But an orphan uses no names object that was
 * made after the orphan was put aside, that is, renamed to o.<id>. The renaming set the ctime of the orphan, so
 * it happened at that ctime or earlier.
 */
static bool may_need(int fd, const struct timespec *made)
{
	struct stat st;

	return ptrc_file_stat(fd, &st) || made->tv_sec < st.st_ctim.tv_sec ||
	       (made->tv_sec == st.st_ctim.tv_sec && made->tv_nsec <= st.st_ctim.tv_nsec);
}

static void look_at_names(const char *name, void *arg)
{
	struct need *n = arg;
	uint64_t id = ptrc_shmdir_parse(name, 'o');
	struct ptrc_orphan_facts f;
	int error;
	PTRC_FD(fd);

	if (!id)
		id = ptrc_shmdir_parse(name, 's');
	if (!id || n->is_needed)
		return;
	error = ptrc_shmdir_open_object(n->dirfd, name, n->uid, &fd, NULL);
	/* If descriptors are short, it is unknown which names the orphan needs. */
	n->is_needed = error == ENOMEM;
	if (error)
		return;
	if (ptrc_orphan_read(fd, id, &f))
		n->is_needed = f.is_known ? f.names_id == n->names_id : may_need(fd, &n->made);
}

static bool needs_names(int dirfd, uint32_t uid, uint64_t names_id)
{
	struct need n = {.dirfd = dirfd, .uid = uid, .names_id = names_id};
	char name[PTRC_SHMDIR_NAME_BYTES];

	ptrc_shmdir_name(name, 'n', names_id);
	n.made = creation(dirfd, name);
	return !each_name_again(dirfd, look_at_names, &n) || n.is_needed;
}

void ptrc_orphan_release_names(int dirfd, uint32_t uid, uint64_t names_id)
{
	ptrc_names_release(dirfd, uid, names_id, needs_names);
}

unsigned int ptrc_orphan_count_dropped(int dirfd, uint32_t uid, bool is_forgetting)
{
	uint64_t size;
	PTRC_FD(fd);

	if (ptrc_shmdir_open_object(dirfd, DROPPED, uid, &fd, &size))
		return 0;
	if (is_forgetting)
		ptrc_sys(SYS_unlinkat, dirfd, DROPPED, 0);
	return (unsigned int)(size / sizeof(struct dropped));
}

/* ---- looking from outside ---- */

/* Opens an orphan (stream of a dead controller): o.<id>, or s.<id> if no process has put it aside yet. */
static int open_orphan(int dirfd, uint32_t uid, uint64_t id, int *fd)
{
	int error = ptrc_shmdir_open_id(dirfd, 'o', id, uid, fd, NULL);

	if (error == ENOENT)
		error = ptrc_shmdir_open_id(dirfd, 's', id, uid, fd, NULL);
	return error == ENOENT ? ESRCH : error;
}

struct list {
	int dirfd;
	uint32_t uid;
	unsigned int number;
	uint64_t id;
};

static void look_for_number(const char *name, void *arg)
{
	struct list *l = arg;
	uint64_t id = ptrc_shmdir_parse(name, 'o');
	struct ptrc_orphan_facts f;
	PTRC_FD(fd);

	if (!id)
		id = ptrc_shmdir_parse(name, 's');
	if (!id || l->id || ptrc_shmdir_open_object(l->dirfd, name, l->uid, &fd, NULL))
		return;
	if (ptrc_orphan_read(fd, id, &f) && !ptrc_liveness_is_held(fd, PTRC_LIVE_CONTROLLER, 2) &&
	    (name[0] == 'o' || !f.is_known || ptrc_orphan_has_events(fd, &f)) && l->number-- == 0)
		l->id = id;
}

/* Counts the events that are in no log and that no reader has read. */
static int count_events(struct ptrc_stream *s, unsigned long *events)
{
	struct posixtrace_type_count *counts = calloc(PTRC_TYPE_COUNT, sizeof(*counts));
	struct ptrc_live_reader reader;
	int error = ptrc_live_reader_init(&reader, s, true);

	if (!counts)
		error = ENOMEM;
	if (!error) {
		bool is_exact = ptrc_live_reader_count(&reader, counts, PTRC_TYPE_COUNT);

		(void)is_exact; /* no keeper flushes an orphan, so the number is exact */
		for (size_t i = 0; i < PTRC_TYPE_COUNT; i++)
			*events += counts[i].pt_unread;
	}
	ptrc_live_reader_destroy(&reader);
	free(counts);
	return error;
}

static void tell(int fd, struct posixtrace_orphan *o)
{
	const struct ptrc_stream_header *h;
	struct ptrc_stream stream;
	struct stat st;
	const char *log;

	if (ptrc_file_stat(fd, &st) == 0)
		o->pt_memory = (unsigned long)st.st_blocks * 512;
	o->pt_error = ptrc_stream_map(fd, PTRC_ROLE_CONTROLLER, &stream);
	if (o->pt_error)
		return;
	h = stream.header;
	o->pt_controller = h->controller_pid;
	o->pt_target = h->target_pid;
	o->pt_has_log = h->has_log != 0;
	o->pt_created.tv_sec = (time_t)h->attr.createtime_sec;
	o->pt_created.tv_nsec = (long)h->attr.createtime_nsec;
	/* The caller has zeroed *o, so the texts end with null bytes. */
	memcpy(o->pt_name, h->attr.name, strnlen(h->attr.name, sizeof(o->pt_name) - 1));
	log = h->log_place[ptrc_log_state_place(h)].path;
	memcpy(o->pt_log, log, strnlen(log, sizeof(o->pt_log) - 1));
	o->pt_error = count_events(&stream, &o->pt_events);
	if (!o->pt_error && ptrc_load_relaxed(&h->has_killed_keepers))
		o->pt_error = ECHILD;
	ptrc_stream_unmap(&stream);
}

static int open_own(int *dirfd, uint32_t *uid)
{
	*uid = ptrc_sys_geteuid();
	return ptrc_shmdir_open(*uid, false, dirfd);
}

int ptrc_orphan_tell(unsigned int number, struct posixtrace_orphan *orphan)
{
	struct list l = {.number = number};
	struct ptrc_orphan_facts f;
	PTRC_FD(dirfd);
	PTRC_FD(fd);
	int error = open_own(&dirfd, &l.uid);

	if (error)
		return error;
	l.dirfd = dirfd;
	ptrc_shmdir_for_each(dirfd, look_for_number, &l);
	/* Where /dev/shm is read-only no object was opened above. */
	if (!l.id)
		return ptrc_sys(SYS_faccessat, dirfd, ".", W_OK) ? EPERM : ENOENT;
	error = open_orphan(dirfd, l.uid, l.id, &fd);
	if (error)
		return error == ESRCH ? ENOENT : error;
	orphan->pt_id = l.id;
	if (ptrc_orphan_read(fd, l.id, &f) && f.is_known)
		tell(fd, orphan);
	else
		orphan->pt_error = ENOTSUP;
	orphan->pt_version = f.version;
	return 0;
}

/* Writes the rest of an orphan's events into its log and removes the orphan (stream of a dead controller). If
 * `orders` is NULL, only removes it. */
static int settle(int dirfd, uint32_t uid, uint64_t id, int fd,
		  const struct ptrc_keeper_orders *orders)
{
	struct ptrc_orphan_facts f;
	struct stat st;

	if (ptrc_file_stat(fd, &st) || st.st_nlink == 0 || !ptrc_orphan_read(fd, id, &f))
		return ESRCH;
	if (ptrc_liveness_is_held(fd, PTRC_LIVE_CONTROLLER, 2))
		return EBUSY;
	ptrc_orphan_put_aside(dirfd, id, fd);
	if (!orders)
		remove_object(dirfd, id);
	else if (!f.is_known)
		return ENOTSUP;
	else if (!f.has_log && !orders->path)
		return EDESTADDRREQ;
	else
		return ptrc_orphan_finish(dirfd, uid, id, fd, orders);
	return 0;
}

int ptrc_orphan_salvage(uint64_t id, const struct ptrc_keeper_orders *orders)
{
	uint64_t mask;
	uint32_t uid;
	PTRC_FD(dirfd);
	PTRC_FD(fd);
	int error = open_own(&dirfd, &uid);

	if (error)
		return error == ENOENT ? ESRCH : error;
	error = open_orphan(dirfd, uid, id, &fd);
	if (error)
		return error;
	if (ptrc_liveness_is_held(fd, PTRC_LIVE_CONTROLLER, 2) || !ptrc_orphan_lock(fd, &mask))
		return EBUSY;
	error = settle(dirfd, uid, id, fd, orders);
	ptrc_orphan_unlock(fd, &mask);
	return error;
}
