/* SPDX-License-Identifier: MIT */
/* Pages of other processes are not trusted: any of these processes may truncate its page. So pages
 * are read and not mapped here, except in clear_slots(). */
#include "config.h"

#include "lib/process/sweep.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/file.h"
#include "lib/base/liveness.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/process/orphan.h"
#include "lib/process/page.h"
#include "lib/stream/untraced.h"

/* In seconds. A stream object without a magic number, or a temporary object (t.<id>), is still
 * being made, unless it is older than this. */
#define HALF_MADE_S 10

/* Looking into the page of a process that seems to be alive takes about 5 us. So a sweep, which removes what
 * dead processes left, looks into this many of these pages at most. It begins with a random page, so that the
 * next sweep looks into others. A program that starts or ends looks into fewer pages. */
#define PAGES_PER_SWEEP UINT64_C(64)
#define PAGES_PER_SHORT_SWEEP UINT64_C(8)

#define ENTRY_BYTES 20 /* the size of a tmpfs directory is this times the number of its entries */
#define SOMETIMES_ENTRIES 256

struct sweep {
	int dirfd;
	uid_t uid;
	uint64_t ns;
	bool has_own_proc;     /* /proc uses the same pids as this process */
	bool finishes_logs;    /* also rename orphans with a log to o.<id>, and finish their logs */
	bool has_streams;      /* the sweep has found a stream */
	bool keeps_names;      /* remove no names objects: a stream s.<id> may need them */
	bool has_orphans;      /* some orphans had the name o.<id> before this sweep */
	bool has_new_orphans;  /* this sweep has renamed some orphans to o.<id> */
	int log_fd;	       /* the log that the caller is about to start; -1: none */
	uint64_t ended_stream; /* if not 0, the sweep only takes this stream out of pages */
	uint64_t entry_count;  /* number of entries of the directory, computed from its size */
	/* page_count: how many pages have been visited so far. The sweep looks into at most
	 * look_count pages, starting with page number first_page, and also into every page whose
	 * pid no process has. */
	uint64_t first_page, page_count, look_count;
};

static bool is_old(const struct stat *st)
{
	struct timespec now;
	int64_t age;

	ptrc_sys(SYS_clock_gettime, CLOCK_REALTIME, &now);
	age = (int64_t)now.tv_sec - (int64_t)st->st_ctim.tv_sec;
	return age > HALF_MADE_S || age < -HALF_MADE_S;
}

/* Writes an orphan's events into its log. If that fails, the orphan stays. If the log is not at its path, the
 * descriptors of all processes are searched for it, but only if the orphan is new, because that takes long.
 * ptrace-salvage searches them again. */
static void finish(struct sweep *s, uint64_t id, int fd, bool is_new)
{
	struct ptrc_keeper_orders orders = {.searches = is_new};
	struct stat st;
	int error;

	if (s->log_fd >= 0 && ptrc_file_stat(s->log_fd, &st) == 0) {
		orders.taken_dev = st.st_dev;
		orders.taken_ino = st.st_ino;
	}
	error = ptrc_orphan_finish(s->dirfd, s->uid, id, fd, &orders);
	(void)error;
}

/* Renames a stream to o.<id> and finishes its log, or removes the stream if it holds no events.
 * If s->finishes_logs is false, a stream whose log has been started stays unchanged. The caller
 * holds the cleaner's lock, and has found the controller and the keeper dead. */
static void put_aside(struct sweep *s, uint64_t id, const char *name, int fd)
{
	struct ptrc_orphan_facts f;
	struct stat st;

	if (ptrc_file_stat(fd, &st) || st.st_nlink == 0)
		return;
	if (!ptrc_orphan_read(fd, id, &f)) {
		if (is_old(&st))
			ptrc_sys(SYS_unlinkat, s->dirfd, name, 0);
		return;
	}
	/* A creator takes its lock before it writes the magic number. This process has seen the magic number,
	 * so the lock shows whether the creator lives. */
	if (ptrc_liveness_is_held(fd, PTRC_LIVE_CONTROLLER, 2))
		return;
	if (f.is_known && !ptrc_orphan_has_events(fd, &f)) {
		ptrc_orphan_end(fd);
		ptrc_shmdir_remove_id(s->dirfd, 'i', id);
		ptrc_sys(SYS_unlinkat, s->dirfd, name, 0);
	} else if (s->finishes_logs || !f.is_known || !f.has_log) {
		ptrc_orphan_put_aside(s->dirfd, id, fd);
		s->has_new_orphans = true;
		if (f.is_known && f.has_log)
			finish(s, id, fd, true);
	} else {
		s->keeps_names = true;
	}
}

/* Opens a stream. If descriptors are short, it is unknown whether it is an orphan, and which names it needs. */
static bool open_stream(struct sweep *s, const char *name, int *fd)
{
	int error = ptrc_shmdir_open_object(s->dirfd, name, s->uid, fd, NULL);

	s->keeps_names |= error == ENOMEM;
	return !error;
}

static void visit_stream(const char *name, void *arg)
{
	struct sweep *s = arg;
	uint64_t id = ptrc_shmdir_parse(name, 's');
	uint64_t mask;
	PTRC_FD(fd);

	if (!id)
		return;
	s->has_streams = true;
	if (!open_stream(s, name, &fd) || ptrc_liveness_is_held(fd, PTRC_LIVE_CONTROLLER, 2))
		return;
	if (!ptrc_orphan_lock(fd, &mask)) {
		s->keeps_names = true;
		return;
	}
	if (!ptrc_liveness_is_held(fd, PTRC_LIVE_CONTROLLER, 2))
		put_aside(s, id, name, fd);
	ptrc_orphan_unlock(fd, &mask);
}

/* Visits an orphan that an earlier sweep has renamed to o.<id>. Tries again to finish its log, which may be
 * writable now. */
static void visit_orphan(const char *name, void *arg)
{
	struct sweep *s = arg;
	uint64_t id = ptrc_shmdir_parse(name, 'o');
	struct ptrc_orphan_facts f;
	uint64_t mask;
	struct stat st;
	PTRC_FD(fd);

	if (!id || !open_stream(s, name, &fd))
		return;
	s->has_orphans = true;
	/* Before a stream is created, the logs of all orphans are finished. So if another process is
	 * finishing this log, ptrc_orphan_lock() waits for it. */
	if (s->finishes_logs && ptrc_orphan_read(fd, id, &f) && f.is_known && f.has_log &&
	    !f.has_killed_keepers && ptrc_orphan_lock(fd, &mask)) {
		if (ptrc_file_stat(fd, &st) == 0 && st.st_nlink &&
		    !ptrc_liveness_is_held(fd, PTRC_LIVE_CONTROLLER, 2))
			finish(s, id, fd, false);
		ptrc_orphan_unlock(fd, &mask);
	}
}

static bool has_object(const struct sweep *s, char prefix, uint64_t id)
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	struct stat st;

	ptrc_shmdir_name(name, prefix, id);
	return ptrc_file_stat_at(s->dirfd, name, &st) != ENOENT;
}

static bool has_stream(const struct sweep *s, uint64_t id)
{
	return id != s->ended_stream && has_object(s, 's', id);
}

static bool is_pid_free(int pid)
{
	return ptrc_sys(SYS_kill, pid, 0) == -ESRCH;
}

static bool is_dead(const struct sweep *s, int pid, uint64_t start_ticks)
{
	struct ptrc_procfs_stat st;

	if (ptrc_procfs_exists(pid) == ESRCH)
		return true;
	/* Another process may have got the pid. If the process cannot be looked at, it counts as alive. */
	return start_ticks && s->has_own_proc && ptrc_procfs_stat(pid, &st) == 0 &&
	       st.start_ticks != start_ticks;
}

/* Takes streams that no longer exist out of the page (list of streams), and also out of *copy, a copy of
 * it. */
static void clear_slots(const struct sweep *s, int fd, struct ptrc_page *copy)
{
	void *map = NULL;

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++) {
		uint64_t id = copy->slots[i].stream_id;

		if (!id || has_stream(s, id))
			continue;
		/* The process itself changes these words, too. So they are changed by atomic operations,
		 * which need a mapping. */
		if (!map && ptrc_file_map(fd, PTRC_PAGE_SIZE, PROT_READ | PROT_WRITE, NULL, &map))
			return;
		ptrc_page_remove(map, id);
		copy->slots[i].stream_id = 0;
	}
	if (map)
		ptrc_page_unmap(map);
}

/* Removes the page (list of a process's streams) if it is unused. Otherwise clears slots of streams that no
 * longer exist. The caller holds the page's lock. */
static void clean_page(const struct sweep *s, int pid, uint64_t ns, int fd)
{
	const struct ptrc_page_place place = {s->dirfd, s->uid, pid, ns, NULL};
	struct ptrc_page copy;
	struct stat st;
	size_t got;
	bool is_unused;

	if (ptrc_file_stat(fd, &st) || st.st_nlink == 0 ||
	    ptrc_file_read(fd, &copy, sizeof(copy), 0, &got))
		return;
	/* If the page is too short, the process that makes it has not set its size yet, or died before that. */
	if (got != sizeof(copy))
		memset((void *)&copy, 0, sizeof(copy));
	is_unused = ns == s->ns && is_dead(s, pid, copy.start_ticks);
	if (!is_unused) {
		clear_slots(s, fd, &copy);
		/* A page is unused if it was made for a process without the library and no stream in it
		 * exists any more. If the process is in another pid namespace, only the lock of the page
		 * shows whether the process lives. But an exec drops this lock until the next program with
		 * the library takes it. So the page stays as long as there are streams in it: otherwise the
		 * process would not be traced any more. */
		is_unused = copy.start_ticks && !ptrc_page_has(&copy, 0) &&
			    (copy.image == 0 || (ns != s->ns && !ptrc_page_is_alive(fd)));
	}
	if (is_unused)
		ptrc_page_unlink(&place, st.st_ino);
}

static void visit_page(const char *name, void *arg)
{
	struct sweep *s = arg;
	uint64_t ns, mask, number;
	int pid;
	PTRC_FD(fd);

	if (!ptrc_page_parse(name, &pid, &ns))
		return;
	number = s->page_count++;
	if (!s->ended_stream && s->entry_count > s->look_count &&
	    (number + s->entry_count - s->first_page) % s->entry_count >= s->look_count &&
	    (ns != s->ns || !is_pid_free(pid)))
		return;
	if (ptrc_shmdir_open_object(s->dirfd, name, s->uid, &fd, NULL))
		return;
	if (ptrc_page_try_lock(fd, &mask)) {
		clean_page(s, pid, ns, fd);
		ptrc_page_release(fd, &mask);
	}
}

static void visit_rest(const char *name, void *arg)
{
	struct sweep *s = arg;
	uint64_t id;
	struct stat st;
	int pid;

	if (ptrc_untraced_parse(name, &id, &pid)) {
		/* A link of a process that could not be traced and did not know its streams has id
		 * 0. It is kept as long as there is any stream. */
		if (id ? !has_stream(s, id) && !has_object(s, 'o', id) : !s->has_streams)
			ptrc_sys(SYS_unlinkat, s->dirfd, name, 0);
	} else if ((id = ptrc_shmdir_parse(name, 'n')) != 0) {
		/* Finding out which names orphans need takes a while, so it is done only when a stream is
		 * created. */
		if (!s->keeps_names && (!s->has_orphans || s->finishes_logs))
			ptrc_orphan_release_names(s->dirfd, s->uid, id);
	} else if ((id = ptrc_shmdir_parse(name, 'i')) != 0) {
		if (!has_stream(s, id))
			ptrc_shmdir_remove_id(s->dirfd, 'i', id);
	} else if (ptrc_shmdir_parse(name, 't') != 0) {
		if (ptrc_file_stat_at(s->dirfd, name, &st) == 0 && is_old(&st))
			ptrc_sys(SYS_unlinkat, s->dirfd, name, 0);
	} else if (strcmp(name, PTRC_LIVE_PLACES) == 0) {
		ptrc_liveness_clean_places(s->dirfd, s->uid);
	}
}

static void sweep(int dirfd, uid_t uid, bool finishes_logs, int log_fd, uint64_t ended_stream)
{
	struct sweep s = {
		.dirfd = dirfd,
		.uid = uid,
		.finishes_logs = finishes_logs,
		.log_fd = log_fd,
		.look_count = finishes_logs ? PAGES_PER_SWEEP : PAGES_PER_SHORT_SWEEP,
		.ended_stream = ended_stream,
	};
	struct ptrc_procfs_stat own;
	struct stat st;

	/* There is nothing to do if the directory is empty (its size is that of two entries) or, as
	 * usual at the end of a program, has only the bells. */
	if (ptrc_file_stat(dirfd, &st) || st.st_size == 2 * ENTRY_BYTES ||
	    (st.st_size == 3 * ENTRY_BYTES && !finishes_logs))
		return;
	if (ptrc_procfs_pid_namespace(0, &s.ns))
		return;
	s.has_own_proc = ptrc_procfs_stat(0, &own) == 0 && own.pid == ptrc_sys_getpid();
	s.entry_count = (uint64_t)st.st_size / ENTRY_BYTES;
	if (s.entry_count > s.look_count)
		s.first_page = ptrc_shmdir_new_id() % s.entry_count;
	/* Streams are visited before pages (lists of streams) and names: if a stream is removed, its slots in
	 * pages and its names can be removed, too. */
	if (!ended_stream) {
		/* Orphans are visited before streams, so that streams that this sweep renames to
		 * o.<id> are not visited again. */
		ptrc_shmdir_for_each(dirfd, visit_orphan, &s);
		ptrc_shmdir_for_each(dirfd, visit_stream, &s);
		if (s.has_new_orphans)
			ptrc_orphan_limit(dirfd, uid);
		s.has_orphans |= s.has_new_orphans;
	}
	ptrc_shmdir_for_each(dirfd, visit_page, &s);
	if (!ended_stream)
		ptrc_shmdir_for_each(dirfd, visit_rest, &s);
}

void ptrc_sweep(int dirfd, uid_t uid, int log_fd)
{
	sweep(dirfd, uid, true, log_fd, 0);
}

void ptrc_sweep_processes(int dirfd, uid_t uid)
{
	sweep(dirfd, uid, false, -1, 0);
}

static bool is_time(int dirfd)
{
	struct stat st;
	uint64_t entries = ptrc_file_stat(dirfd, &st) ? 0 : (uint64_t)st.st_size / ENTRY_BYTES;

	return entries && entries % SOMETIMES_ENTRIES == 0;
}

void ptrc_sweep_sometimes(int dirfd, uid_t uid, bool is_due)
{
	if (is_due || is_time(dirfd))
		ptrc_sweep_processes(dirfd, uid);
}

static void visit_dead_page(const char *name, void *arg)
{
	const struct sweep *s = arg;
	struct ptrc_page_place place = {.dirfd = s->dirfd, .uid = s->uid};
	struct stat st;
	uint64_t mask;
	PTRC_FD(fd);

	if (!ptrc_page_parse(name, &place.pid, &place.ns) || place.ns != s->ns ||
	    !is_pid_free(place.pid) || ptrc_shmdir_open_object(s->dirfd, name, s->uid, &fd, NULL))
		return;
	if (ptrc_page_try_lock(fd, &mask)) {
		/* If a new process has got the pid meanwhile, it takes the lock of the page, too, before it
		 * uses the page. */
		if (is_pid_free(place.pid) && ptrc_file_stat(fd, &st) == 0)
			ptrc_page_unlink(&place, st.st_ino);
		ptrc_page_release(fd, &mask);
	}
}

void ptrc_sweep_pages_sometimes(int dirfd, uid_t uid)
{
	struct sweep s = {.dirfd = dirfd, .uid = uid};

	if (is_time(dirfd) && ptrc_procfs_pid_namespace(0, &s.ns) == 0)
		ptrc_shmdir_for_each(dirfd, visit_dead_page, &s);
}

void ptrc_sweep_stream(int dirfd, uid_t uid, uint64_t stream_id)
{
	sweep(dirfd, uid, false, -1, stream_id);
}
