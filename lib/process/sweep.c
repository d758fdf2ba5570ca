/* SPDX-License-Identifier: MIT */
/* What other processes left in a directory is not trusted here: it is read, not mapped. */
#include "config.h"

#include "lib/process/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/file.h"
#include "lib/base/liveness.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/keeper/keeper.h"
#include "lib/model/names.h"
#include "lib/process/page.h"
#include "lib/stream/stream.h"

/* A stream object without a magic number is still being made, unless it is older than this. */
#define HALF_MADE_S 10

/* Looking into the page of a process that seems to live costs some 5 us. So one sweep looks only
 * into so many of these pages, beginning with a random one, because the next sweep should look into
 * others. When a program begins or ends it looks into fewer. */
#define PAGES_PER_SWEEP UINT64_C(64)
#define PAGES_PER_SHORT_SWEEP UINT64_C(8)

#define ENTRY_BYTES 20 /* the size of a tmpfs directory is this times its entries */
#define SOMETIMES_ENTRIES 256
#define DIRENT_NAME_OFFSET 19

/* Together one second. */
#define CLEANER_TRIES 400
#define CLEANER_PAUSE_NS 2500000

struct sweep {
	int dirfd;
	uid_t uid;
	uint64_t ns;
	bool has_own_proc;     /* /proc gives processes the pids that this process knows */
	bool finishes_logs;    /* remove orphaned streams with a log, too */
	bool keeps_names;      /* an orphaned stream stays, and its log needs its names */
	uint64_t ended_stream; /* not 0: only take this stream out of the pages */
	uint64_t entry_count;  /* of the directory, roughly */
	/* page_count pages have been visited. The sweep looks into look_count pages, the first of
	 * which has the number first_page. */
	uint64_t first_page, page_count, look_count;
};

/* Call visit() for every name in the directory. Entries may come and go meanwhile. */
static void for_each(struct sweep *s, void (*visit)(struct sweep *s, const char *name))
{
	_Alignas(8) char entries[2048];

	ptrc_sys(SYS_lseek, s->dirfd, 0, SEEK_SET);
	for (;;) {
		long got = ptrc_sys(SYS_getdents64, s->dirfd, entries, sizeof(entries));

		if (got <= 0)
			return;
		for (long at = 0; at < got;) {
			uint16_t size;

			memcpy(&size, entries + at + 16, sizeof(size));
			visit(s, entries + at + DIRENT_NAME_OFFSET);
			at += size;
		}
	}
}

static bool is_old(const struct stat *st)
{
	struct timespec now;
	int64_t age;

	ptrc_sys(SYS_clock_gettime, CLOCK_REALTIME, &now);
	age = (int64_t)now.tv_sec - (int64_t)st->st_ctim.tv_sec;
	return age > HALF_MADE_S || age < -HALF_MADE_S;
}

static bool read_at(int fd, size_t offset, void *to, size_t size)
{
	size_t got;

	return ptrc_file_read(fd, to, size, offset, &got) == 0 && got == size;
}

/* Read the members of a stream's header that matter here: the whole header is too large for the
 * stack of a signal handler. False if the stream has no header yet. */
static bool read_stream(int fd, uint64_t id, bool *has_log)
{
	uint64_t magic, own_id;
	uint32_t version, log;

#define READ(to, member) read_at(fd, offsetof(struct ptrc_stream_header, member), &(to), sizeof(to))
	if (!READ(magic, magic) || magic != PTRC_STREAM_MAGIC || !READ(version, version) ||
	    !READ(own_id, id) || !READ(log, has_log))
		return false;
#undef READ
	*has_log = log != 0 && version == PTRC_STREAM_VERSION && own_id == id;
	return true;
}

static void remove_marker(const struct sweep *s, uint64_t id)
{
	char marker[PTRC_SHMDIR_NAME_BYTES];

	ptrc_shmdir_name(marker, 'i', id);
	ptrc_sys(SYS_unlinkat, s->dirfd, marker, AT_REMOVEDIR);
}

/* End the stream, so that processes that still record into it unmap it. */
static void end_stream(int fd)
{
	struct ptrc_stream stream;

	if (ptrc_stream_map(fd, PTRC_ROLE_CONTROLLER, &stream))
		return;
	ptrc_stream_end(&stream);
	ptrc_stream_unmap(&stream);
}

/* The caller has the cleaner's lock, and has seen that controller and keeper are dead. */
static void remove_stream(struct sweep *s, const char *name, uint64_t id, int fd)
{
	struct stat st;
	bool has_log = false;

	if (ptrc_file_stat(fd, &st) || st.st_nlink == 0)
		return;
	if (!read_stream(fd, id, &has_log) && !is_old(&st))
		return;
	/* The creator takes its lock before it writes the magic number. Now that we have seen the
	 * number, the lock tells whether the creator lives. */
	if (ptrc_liveness_is_held(fd, PTRC_LIVE_CONTROLLER, 2))
		return;
	if (has_log && (!s->finishes_logs || ptrc_keeper_finish_orphan(s->dirfd, s->uid, fd))) {
		s->keeps_names = true;
		return;
	}
	end_stream(fd);
	remove_marker(s, id);
	ptrc_sys(SYS_unlinkat, s->dirfd, name, 0);
}

/* Another process may be cleaning up at this moment, and be writing the stream's log. A create
 * finishes the logs of all orphans before it returns, so it waits for that process; but only for a
 * second, because that process may be stopped. */
static bool lock_cleaner(int fd)
{
	for (int tries = 0; tries < CLEANER_TRIES; tries++) {
		if (ptrc_file_lock(fd, F_WRLCK, PTRC_LIVE_CLEANER, 1) == 0)
			return true;
		ptrc_file_sleep_ns(CLEANER_PAUSE_NS);
	}
	return false;
}

static void visit_stream(struct sweep *s, const char *name)
{
	uint64_t id = ptrc_shmdir_parse(name, 's');
	uint64_t size, mask;
	int fd;

	if (!id || ptrc_shmdir_open_object(s->dirfd, name, s->uid, &fd, &size))
		return;
	if (!ptrc_liveness_is_held(fd, PTRC_LIVE_CONTROLLER, 2)) {
		ptrc_sys_block_signals(&mask);
		if (lock_cleaner(fd)) {
			if (!ptrc_liveness_is_held(fd, PTRC_LIVE_CONTROLLER, 2))
				remove_stream(s, name, id, fd);
			ptrc_file_lock(fd, F_UNLCK, PTRC_LIVE_CLEANER, 1);
		} else {
			s->keeps_names = true;
		}
		ptrc_sys_restore_signals(&mask);
	}
	ptrc_file_close(fd);
}

static bool has_stream(const struct sweep *s, uint64_t id)
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	struct stat st;

	if (id == s->ended_stream)
		return false;
	ptrc_shmdir_name(name, 's', id);
	return ptrc_file_stat_at(s->dirfd, name, &st) != ENOENT;
}

/* Is the process dead whose page has this pid and start? */
static bool is_dead(const struct sweep *s, int pid, uint64_t start_ticks)
{
	struct ptrc_procfs_stat st;

	if (ptrc_procfs_exists(pid) == ESRCH)
		return true;
	/* Another process has got the pid. A process that cannot be looked at counts as alive. */
	return start_ticks && s->has_own_proc && ptrc_procfs_stat(pid, &st) == 0 &&
	       st.start_ticks != start_ticks;
}

/* Take streams that are gone out of the page, of which *copy is a copy. */
static void clear_slots(const struct sweep *s, int fd, struct ptrc_page *copy)
{
	void *map = NULL;

	for (uint32_t i = 0; i < PTRC_PAGE_SLOT_COUNT; i++) {
		uint64_t id = copy->slots[i].stream_id;

		if (!id || has_stream(s, id))
			continue;
		/* The process itself changes these words, too, so atomic operations on a mapping
		 * are needed. */
		if (!map && ptrc_file_map(fd, PTRC_PAGE_SIZE, PROT_READ | PROT_WRITE, NULL, &map))
			return;
		ptrc_page_remove(map, id);
		copy->slots[i].stream_id = 0;
	}
	if (map)
		ptrc_page_unmap(map);
}

/* Remove the page if it is of no use any more, or clear its slots. The caller has its lock. */
static void clean_page(const struct sweep *s, int pid, uint64_t ns, int fd)
{
	struct ptrc_page_file f = {.place = {s->dirfd, s->uid, pid, ns}, .fd = fd};
	struct ptrc_page copy;
	struct stat st;
	size_t got = 0;
	bool is_unused;

	if (ptrc_file_stat(fd, &st) || st.st_nlink == 0 ||
	    ptrc_file_read(fd, &copy, sizeof(copy), 0, &got))
		return;
	f.inode = st.st_ino;
	/* A process makes this page just now and has not given it its size yet, or died there. */
	if (got != sizeof(copy))
		memset((void *)&copy, 0, sizeof(copy));
	if (ns != s->ns)
		is_unused = copy.image && !ptrc_page_is_alive(fd);
	else
		is_unused = is_dead(s, pid, copy.start_ticks);
	if (!is_unused) {
		clear_slots(s, fd, &copy);
		/* A controller made it for a process without the library, and its stream is gone. */
		is_unused = copy.start_ticks && copy.image == 0 && !ptrc_page_has(&copy, 0);
	}
	if (is_unused)
		ptrc_page_unlink(&f);
}

static void visit_page(struct sweep *s, const char *name)
{
	uint64_t ns, size, mask, number;
	int pid, fd;

	if (!ptrc_page_parse(name, &pid, &ns))
		return;
	number = s->page_count++;
	if (!s->ended_stream && s->entry_count > s->look_count &&
	    (number + s->entry_count - s->first_page) % s->entry_count >= s->look_count &&
	    (ns != s->ns || ptrc_sys(SYS_kill, pid, 0) != -ESRCH))
		return;
	if (ptrc_shmdir_open_object(s->dirfd, name, s->uid, &fd, &size))
		return;
	ptrc_sys_block_signals(&mask);
	if (ptrc_page_try_lock(fd)) {
		clean_page(s, pid, ns, fd);
		ptrc_page_release(fd);
	}
	ptrc_sys_restore_signals(&mask);
	ptrc_file_close(fd);
}

static void visit_rest(struct sweep *s, const char *name)
{
	uint64_t id, size, mask;
	struct stat st;
	int fd;

	if ((id = ptrc_shmdir_parse(name, 'n')) != 0) {
		if (!s->keeps_names)
			ptrc_names_release(s->dirfd, s->uid, id);
	} else if ((id = ptrc_shmdir_parse(name, 'i')) != 0) {
		if (!has_stream(s, id))
			remove_marker(s, id);
	} else if (ptrc_shmdir_parse(name, 't') != 0) {
		if (ptrc_file_stat_at(s->dirfd, name, &st) == 0 && is_old(&st))
			ptrc_sys(SYS_unlinkat, s->dirfd, name, 0);
	} else if (strcmp(name, PTRC_LIVE_PLACES) == 0) {
		ptrc_sys_block_signals(&mask);
		if (ptrc_shmdir_open_object(s->dirfd, name, s->uid, &fd, &size) == 0) {
			ptrc_liveness_clean_places(s->dirfd, fd);
			ptrc_file_close(fd);
		}
		ptrc_sys_restore_signals(&mask);
	}
}

static void sweep(int dirfd, uid_t uid, bool finishes_logs, uint64_t ended_stream)
{
	struct sweep s = {
		.dirfd = dirfd,
		.uid = uid,
		.finishes_logs = finishes_logs,
		.look_count = finishes_logs ? PAGES_PER_SWEEP : PAGES_PER_SHORT_SWEEP,
		.ended_stream = ended_stream,
	};
	struct ptrc_procfs_stat own;
	struct stat st;

	/* The directory is empty, as it usually is when a program ends. */
	if (ptrc_file_stat(dirfd, &st) || st.st_size == 2 * ENTRY_BYTES)
		return;
	if (ptrc_procfs_pid_namespace(0, &s.ns))
		return;
	s.has_own_proc = ptrc_procfs_stat(0, &own) == 0 && own.pid == ptrc_sys_getpid();
	s.entry_count = (uint64_t)st.st_size / ENTRY_BYTES;
	if (s.entry_count > s.look_count)
		s.first_page = ptrc_shmdir_new_id() % s.entry_count;
	/* Streams come first: without them, slots in the pages and names objects can go, too. */
	if (!ended_stream)
		for_each(&s, visit_stream);
	for_each(&s, visit_page);
	if (!ended_stream)
		for_each(&s, visit_rest);
}

void ptrc_sweep(int dirfd, uid_t uid)
{
	sweep(dirfd, uid, true, 0);
}

void ptrc_sweep_processes(int dirfd, uid_t uid)
{
	sweep(dirfd, uid, false, 0);
}

void ptrc_sweep_sometimes(int dirfd, uid_t uid, bool is_due)
{
	struct stat st;
	uint64_t entries = 0;

	if (!is_due && ptrc_file_stat(dirfd, &st) == 0)
		entries = (uint64_t)st.st_size / ENTRY_BYTES;
	if (is_due || (entries && entries % SOMETIMES_ENTRIES == 0))
		ptrc_sweep_processes(dirfd, uid);
}

void ptrc_sweep_stream(int dirfd, uid_t uid, uint64_t stream_id)
{
	sweep(dirfd, uid, false, stream_id);
}
