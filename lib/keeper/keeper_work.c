/* SPDX-License-Identifier: MIT */
#include "lib/keeper/keeper_work.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <trace.h>

#include "lib/stream/clock.h"
#include "lib/base/clone.h"
#include "lib/base/file.h"
#include "lib/log/log_flush.h"
#include "lib/base/shmdir.h"
#include "lib/base/size_limit.h"
#include "lib/base/sys.h"

/* How long an event may lie in a FLUSH stream; with the flush itself below the second
 * that is promised. */
#define LOOK_INTERVAL_NS INT64_C(700000000)
/* A predecessor's lock may be there a moment longer than itself. */
#define LOCK_WAIT_NS UINT64_C(2000000000)
#define WATCHER_STACK_BYTES 16384

/* ---- the parts ---- */

static const struct ptrc_names_object *map_names(int fd)
{
	struct stat st;
	void *map;

	if (fd < 0 || ptrc_file_stat(fd, &st) ||
	    (uint64_t)st.st_size < sizeof(struct ptrc_names_object) ||
	    ptrc_file_map(fd, sizeof(struct ptrc_names_object), PROT_READ, NULL, &map))
		return NULL;
	return map;
}

int ptrc_keeper_work_open(struct ptrc_keeper_work *k, bool is_restart)
{
	int err;

	if (!k->stream.header) {
		err = ptrc_stream_map(k->stream_fd, PTRC_ROLE_KEEPER, &k->stream);
		if (err)
			return err;
	}
	k->names = map_names(k->names_fd);
	if (!k->names)
		return ENOMEM;
	return ptrc_log_writer_init(&k->writer, k->stream.header, k->log_fd, is_restart);
}

void ptrc_keeper_work_release(struct ptrc_keeper_work *k)
{
	ptrc_log_writer_free(&k->writer);
	if (k->names)
		ptrc_sys(SYS_munmap, k->names, sizeof(*k->names));
	k->names = NULL;
	ptrc_stream_unmap(&k->stream);
}

/* ---- flush, clear, close ---- */

/* The number of the run, from 1, that waits for its end to be flushed to be followed by
 * another; 0: none does. */
static uint64_t armed(const struct ptrc_stream_header *h)
{
	if (!(atomic_load_explicit(&h->status, memory_order_acquire) &
	      PTRC_ST_RESTART_ARMED))
		return 0;
	return atomic_load_explicit(&h->run, memory_order_relaxed) + 1;
}

/* An automatic flush is the trace system's, others are of the call that asked for
 * them. */
static int flush(struct ptrc_keeper_work *k, bool has_markers, bool is_automatic)
{
	struct ptrc_stream_header *h = k->stream.header;
	struct ptrc_context origin = h->command_origin;
	const struct ptrc_context *by = is_automatic ? NULL : &origin;
	uint64_t addr = is_automatic ? 0 : h->command_addr;
	uint64_t *flags = &k->writer.state.flags;
	uint64_t armed_run = armed(h);
	int err;

	/* One pair of markers may wait for a flush that succeeds (SYSEVENT-26); into a
	 * full log no more of them will come. */
	if (*flags & (PTRC_LOG_STATE_MARKERS_WAIT | PTRC_LOG_STATE_FULL))
		has_markers = false;
	ptrc_status_set(h, PTRC_ST_FLUSHING);
	if (has_markers)
		ptrc_stream_marker(&k->stream, POSIX_TRACE_FLUSH_START, by, addr);
	err = ptrc_log_flush(&k->writer, &k->stream, k->names);
	if (has_markers && !ptrc_log_writer_is_full(&k->writer))
		ptrc_stream_marker(&k->stream, POSIX_TRACE_FLUSH_STOP, by, addr);
	if (!err)
		*flags &= ~PTRC_LOG_STATE_MARKERS_WAIT;
	else if (has_markers)
		*flags |= PTRC_LOG_STATE_MARKERS_WAIT;
	if (err)
		ptrc_status_error(h, err);
	ptrc_status_clear(h, PTRC_ST_FLUSHING);
	/* A stream that was to restart and has not never will, by damage to it. */
	k->has_failed = err != 0 || (armed_run && armed_run == armed(h));
	return err;
}

static int clear(struct ptrc_keeper_work *k)
{
	struct ptrc_stream_header *h = k->stream.header;
	struct ptrc_clock_cursor cursor = {0};

	ptrc_stream_clear(&k->stream);
	k->writer.state.flags &= ~PTRC_LOG_STATE_MARKERS_WAIT;
	k->has_failed = false;
	return ptrc_log_writer_clear(&k->writer,
				     ptrc_clock_realtime(h, &cursor, ptrc_stream_now(h)));
}

bool ptrc_keeper_work_may_wait(const struct ptrc_keeper_work *k, int err)
{
	switch (err) {
	case ENOSPC:
	case EDQUOT:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
		return k->writer.is_guest;
	case EFBIG: /* the log's own limit does not pass */
		return k->writer.is_guest &&
		       ptrc_size_limit_most() <
			       atomic_load_explicit(&k->stream.header->fsize_limit,
						    memory_order_relaxed);
	default:
		return false;
	}
}

int ptrc_keeper_work_close(struct ptrc_keeper_work *k, bool is_automatic)
{
	struct ptrc_stream_header *h = k->stream.header;
	bool has_markers = k->writer.policy != POSIX_TRACE_UNTIL_FULL;
	int err = flush(k, has_markers, is_automatic), again;

	if (err && ptrc_keeper_work_may_wait(k, err)) {
		ptrc_log_writer_leave(&k->writer);
		return err;
	}
	/* The marker of its end; in an UNTIL_FULL log nothing follows the last STOP. */
	if (!err && has_markers)
		err = ptrc_log_flush(&k->writer, &k->stream, k->names);
	again = ptrc_log_writer_names(&k->writer, k->names);
	if (!err)
		err = again;
	if (err)
		ptrc_status_error(h, err);
	again = ptrc_log_writer_close(&k->writer);
	return err ? err : again;
}

/* ---- the log file ---- */

/* An open file of our own: its O_APPEND and O_NONBLOCK concern nobody else. Readable, if
 * that may be: what is in a ring can then be found again. Some files cannot be reopened;
 * then the caller's is used as it is. */
static void reopen_log(struct ptrc_keeper_work *k)
{
	static const char path[] = {'/', 'p', 'r', 'o', 'c',
				    '/', 's', 'e', 'l', 'f',
				    '/', 'f', 'd', '/', '0' + PTRC_KEEPER_LOG_FD,
				    '\0'};
	struct stat st;
	int fd, err;

	k->log_fd = PTRC_KEEPER_LOG_FD;
	if (ptrc_file_stat(k->log_fd, &st))
		return;
	if (S_ISREG(st.st_mode)) {
		long flags = ptrc_sys(SYS_fcntl, k->log_fd, F_GETFL, 0);
		/* What the caller wants to be on the disk with each write. */
		int keep = O_NOCTTY | (flags < 0 ? 0 : (int)flags & O_SYNC);
		struct stat own;

		err = ptrc_file_open(AT_FDCWD, path, O_RDWR | keep, 0, &fd);
		if (err)
			err = ptrc_file_open(AT_FDCWD, path, O_WRONLY | keep, 0, &fd);
		if (!err && (ptrc_file_stat(fd, &own) || own.st_ino != st.st_ino ||
			     own.st_dev != st.st_dev)) {
			ptrc_file_close(fd);
			err = EINVAL;
		}
	} else if (S_ISFIFO(st.st_mode)) {
		err = ptrc_file_open(AT_FDCWD, path, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0,
				     &fd);
	} else {
		return;
	}
	if (err)
		return;
	ptrc_file_close(k->log_fd);
	k->log_fd = fd;
}

/* A lock of the process: it ends with us, and whoever shares the open file has no part in
 * it. */
static void lock_log(const struct ptrc_keeper_work *k, int64_t byte)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

	ptrc_sys(SYS_fcntl, k->log_fd, F_SETLK, &lock);
}

/* For whoever has to finish the log if we and our controller are killed. */
static void note_place(struct ptrc_keeper_work *k)
{
	static const char path[] = {'/', 'p', 'r', 'o', 'c',
				    '/', 's', 'e', 'l', 'f',
				    '/', 'f', 'd', '/', '0' + PTRC_KEEPER_LOG_FD,
				    '\0'};
	struct ptrc_stream_header *h = k->stream.header;
	struct stat st;
	long n;

	h->log_dev = h->log_ino = 0;
	if (ptrc_file_stat(PTRC_KEEPER_LOG_FD, &st) || !S_ISREG(st.st_mode))
		return;
	n = ptrc_sys(SYS_readlinkat, AT_FDCWD, path, h->log_path, sizeof(h->log_path));
	if (n <= 0 || n >= (long)sizeof(h->log_path))
		return;
	h->log_path[n] = '\0';
	h->log_dev = st.st_dev;
	h->log_ino = st.st_ino;
}

/* ---- the controller's death ---- */

static void ring(struct ptrc_stream_header *h)
{
	atomic_fetch_add_explicit(&h->keeper_bell, 1, memory_order_release);
	ptrc_sys(SYS_futex, &h->keeper_bell, FUTEX_WAKE, 1, 0, 0, 0);
}

/* A task of its own: waits for the controller's lock, then rings. */
static int watch(void *arg)
{
	struct ptrc_keeper_work *k = arg;
	struct flock lock = {.l_type = F_RDLCK,
			     .l_whence = SEEK_SET,
			     .l_start = PTRC_LIVE_CONTROLLER,
			     .l_len = 1};
	char name[PTRC_SHMDIR_NAME_BYTES];
	int fd = -1;

	ptrc_shmdir_name(name, 's', k->stream.header->id);
	/* An open file of our own, as the descriptor we got is the controller's too. */
	if (ptrc_file_open(k->dirfd, name, O_RDWR | O_NOFOLLOW, 0, &fd) ||
	    ptrc_sys(SYS_fcntl, fd, F_OFD_SETLKW, &lock) < 0) {
		while (ptrc_liveness_is_held(k->stream_fd, PTRC_LIVE_CONTROLLER, 1))
			ptrc_file_sleep_ns(50000000);
	}
	if (fd >= 0) {
		/* Not held on to: others ask this byte whether the controller lives. */
		lock.l_type = F_UNLCK;
		ptrc_sys(SYS_fcntl, fd, F_OFD_SETLK, &lock);
		ptrc_file_close(fd);
	}
	atomic_store_explicit(&k->is_controller_dead, true, memory_order_release);
	ring(k->stream.header);
	return 0;
}

static int start_watcher(struct ptrc_keeper_work *k)
{
	static _Alignas(16) uint8_t stack[WATCHER_STACK_BYTES];
	long ret = ptrc_clone(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
				      CLONE_THREAD | CLONE_SYSVSEM,
			      stack + sizeof(stack), watch, k);

	return ret < 0 ? ENOMEM : 0;
}

/* Output stalls. */
static bool give_up(void *arg)
{
	struct ptrc_keeper_work *k = arg;
	uint64_t set = UINT64_C(1) << (SIGTERM - 1);
	struct timespec none = {0, 0};

	if (atomic_load_explicit(&k->is_controller_dead, memory_order_acquire) &&
	    ptrc_sys(SYS_rt_sigtimedwait, &set, 0, &none, sizeof(set)) == SIGTERM)
		k->has_given_up = true;
	return k->has_given_up;
}

/* What posix_trace_shutdown would have done. */
static void finish_for_dead(struct ptrc_keeper_work *k)
{
	struct ptrc_stream_header *h = k->stream.header;
	uint64_t offset = ptrc_stream_chunk_offset(k->stream.pool.chunk_count);
	char name[PTRC_SHMDIR_NAME_BYTES];
	int err;

	lock_log(k, PTRC_LOG_LOCK_FINISHING);
	ptrc_stream_stop(&k->stream, NULL, 0);
	err = ptrc_keeper_work_close(k, true);
	(void)err; /* nobody is left to be told */
	ptrc_stream_end(&k->stream);
	ptrc_shmdir_name(name, 'i', h->id);
	ptrc_sys(SYS_unlinkat, k->dirfd, name, AT_REMOVEDIR);
	ptrc_shmdir_name(name, 's', h->id);
	ptrc_sys(SYS_unlinkat, k->dirfd, name, 0);
	/* Traced processes let go of it in their own time; the memory is free now. */
	ptrc_sys(SYS_madvise, (char *)h + offset, k->stream.map_size - offset,
		 MADV_REMOVE);
}

/* ---- automatic flushes ---- */

/* Is it time for one? *wait_ns: how long to sleep if nothing happens, -1: for ever. */
static bool is_flush_due(struct ptrc_keeper_work *k, int64_t *wait_ns)
{
	struct ptrc_stream_header *h = k->stream.header;
	int64_t now = ptrc_clock_ns(CLOCK_MONOTONIC);
	bool is_time = k->next_look_ns && now >= k->next_look_ns;
	uint64_t unread, status;

	*wait_ns = -1;
	if (h->policy != POSIX_TRACE_FLUSH) {
		ptrc_log_batch_trim(&k->writer.batch);
		return false;
	}
	if (is_time)
		ptrc_stream_settle(&k->stream);
	status = atomic_load_explicit(&h->status, memory_order_acquire);
	unread = ptrc_stream_unread_bytes(&k->stream);
	if (!(status & PTRC_ST_RUNNING) && unread == 0 &&
	    !(status & PTRC_ST_RESTART_ARMED)) {
		k->next_look_ns = 0;
		return false;
	}
	if (!k->next_look_ns || is_time)
		k->next_look_ns = now + LOOK_INTERVAL_NS;
	*wait_ns = k->next_look_ns - now;
	if (status & PTRC_ST_LOG_STOPPED)
		return is_time && unread;
	if (is_time && (unread || (status & PTRC_ST_RESTART_ARMED)))
		return true;
	/* After a failure only the clock leads to another attempt. */
	return !k->has_failed && ((status & PTRC_ST_RESTART_ARMED) ||
				  (unread && unread >= h->stream_min_size / 2));
}

/* That of the controller may have changed since its last command. */
static void follow_limit(struct ptrc_stream_header *h)
{
	struct rlimit limit;

	if (h->controller_pid > 0 &&
	    ptrc_sys(SYS_prlimit64, h->controller_pid, RLIMIT_FSIZE, 0, &limit) == 0)
		atomic_store_explicit(&h->fsize_limit, limit.rlim_cur,
				      memory_order_relaxed);
}

static void sleep_on_bell(struct ptrc_stream_header *h, uint32_t seen, int64_t wait_ns)
{
	struct timespec ts = {.tv_sec = wait_ns / 1000000000,
			      .tv_nsec = wait_ns % 1000000000};

	ptrc_sys(SYS_futex, &h->keeper_bell, FUTEX_WAIT, seen, wait_ns < 0 ? NULL : &ts,
		 0, 0);
}

/* ---- life ---- */

__attribute__((noreturn)) static void leave(int status)
{
	for (;;)
		ptrc_sys(SYS_exit_group, status);
}

int ptrc_keeper_work_obey(struct ptrc_keeper_work *k)
{
	switch (atomic_load_explicit(&k->stream.header->keeper_command,
				     memory_order_relaxed)) {
	case PTRC_KEEPER_FLUSH:
		return flush(k, true, false);
	case PTRC_KEEPER_CLEAR:
		return clear(k);
	case PTRC_KEEPER_CLOSE:
		return ptrc_keeper_work_close(k, false);
	default:
		return EINVAL;
	}
}

static void answer(struct ptrc_stream_header *h, uint32_t seq, int err)
{
	atomic_store_explicit(&h->keeper_result, err, memory_order_relaxed);
	atomic_store_explicit(&h->keeper_done, seq, memory_order_release);
	ptrc_sys(SYS_futex, &h->keeper_done, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

__attribute__((noreturn)) static void live(struct ptrc_keeper_work *k)
{
	struct ptrc_stream_header *h = k->stream.header;

	for (;;) {
		uint32_t bell =
			atomic_load_explicit(&h->keeper_bell, memory_order_acquire);
		uint32_t seq = atomic_load_explicit(&h->keeper_seq, memory_order_acquire);
		int64_t wait_ns;
		int err;

		if (atomic_load_explicit(&k->is_controller_dead, memory_order_acquire)) {
			finish_for_dead(k);
			leave(0);
		}
		if (seq != atomic_load_explicit(&h->keeper_done, memory_order_relaxed)) {
			bool is_close = atomic_load_explicit(&h->keeper_command,
							     memory_order_relaxed) ==
					PTRC_KEEPER_CLOSE;

			err = ptrc_keeper_work_obey(k);
			if (is_close)
				ptrc_file_close(k->log_fd); /* the end of a pipe */
			answer(h, seq, err);
			if (is_close)
				leave(0);
			continue;
		}
		/* Cleared before looking: what is rung for from now on rings the bell. */
		atomic_exchange_explicit(&h->keeper_wake, 0, memory_order_acq_rel);
		if (is_flush_due(k, &wait_ns)) {
			follow_limit(h);
			err = flush(k, true, true);
			(void)err; /* posix_trace_get_status() tells */
			continue;
		}
		sleep_on_bell(h, bell, wait_ns);
	}
}

/* What the launcher waits for. */
static void publish(struct ptrc_stream_header *h, int err)
{
	int pid = ptrc_sys_getpid();

	atomic_store_explicit(&h->keeper_result, err, memory_order_relaxed);
	atomic_store_explicit(&h->keeper_pid, err ? -pid : pid, memory_order_release);
	ptrc_sys(SYS_futex, &h->keeper_pid, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

static int take_life(struct ptrc_keeper_work *k)
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	uint64_t waited = 0;
	int err;

	ptrc_shmdir_name(name, 's', k->stream.header->id);
	while ((err = ptrc_liveness_take(k->dirfd, name, PTRC_LIVE_KEEPER, &k->life)) ==
		       EAGAIN &&
	       waited < LOCK_WAIT_NS) {
		ptrc_file_sleep_ns(1000000);
		waited += 1000000;
	}
	return err;
}

static int settle_in(struct ptrc_keeper_work *k, bool is_restart)
{
	int err = take_life(k);

	if (err)
		return err == EAGAIN ? ENOMEM : err;
	note_place(k);
	reopen_log(k);
	lock_log(k, PTRC_LOG_LOCK_KEEPER);
	err = ptrc_keeper_work_open(k, is_restart);
	if (err)
		return err;
	k->writer.give_up = give_up;
	k->writer.arg = k;
	if (is_restart)
		ptrc_log_flush_recover(&k->writer, &k->stream);
	else
		err = ptrc_log_writer_head(&k->writer);
	return err ? err : start_watcher(k);
}

static void set_own_limits(void)
{
	struct rlimit limit;

	ptrc_sys(SYS_prctl, PR_SET_NAME, "ptrc-keeper", 0, 0, 0);
	/* That of the caller is applied write by write. */
	if (ptrc_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		ptrc_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, &limit, 0);
	}
	limit.rlim_cur = limit.rlim_max = 0;
	ptrc_sys(SYS_prlimit64, 0, RLIMIT_CORE, &limit, 0);
}

void ptrc_keeper_work_run(bool is_restart)
{
	static struct ptrc_keeper_work work;
	struct ptrc_keeper_work *k = &work;
	int err;

	set_own_limits();
	memset(k, 0, sizeof(*k));
	k->stream_fd = PTRC_KEEPER_STREAM_FD;
	k->names_fd = PTRC_KEEPER_NAMES_FD;
	k->dirfd = PTRC_KEEPER_DIR_FD;
	/* Without the stream there is no one to tell; the launcher sees that we are
	 * gone. */
	if (ptrc_stream_map(k->stream_fd, PTRC_ROLE_KEEPER, &k->stream))
		leave(1);
	err = settle_in(k, is_restart);
	publish(k->stream.header, err);
	if (err)
		leave(1);
	live(k);
}
