/* SPDX-License-Identifier: MIT */
#include "lib/keeper/keeper_life.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/clone.h"
#include "lib/base/file.h"
#include "lib/base/liveness.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/base/timespec.h"
#include "lib/keeper/keeper_work.h"
#include "lib/log/log_write.h"
#include "lib/stream/clock.h"
#include "lib/stream/space.h"
#include "lib/stream/status.h"

/* How long an event may stay in the stream before an automatic flush. Together with the time that
 * the flush takes, this is less than the second that the manual pages promise. */
#define LOOK_INTERVAL_NS INT64_C(700000000)
/* How long a keeper waits for its lock: the kernel drops the lock of a killed keeper only a moment
 * after the keeper's death. */
#define LOCK_WAIT_NS UINT64_C(2000000000)
#define WATCHER_STACK_BYTES 16384

struct keeper {
	struct ptrc_keeper_work work;
	struct ptrc_liveness life;
	_Atomic bool is_controller_dead;
	bool is_ready;	      /* the log has its header, and the keeper obeys commands */
	int64_t next_look_ns; /* when to check for an automatic flush; CLOCK_MONOTONIC; 0: unset */
	/* A process announces itself when it begins to record. arrival_ns: the time of the first
	 * announcement since the keeper last looked at the threads; 0: there was none.
	 * arrival_used: bytes in use in the stream at the last check. */
	int64_t arrival_ns;
	uint64_t arrival_used;
	/* a process has announced itself, and the keeper has not looked at it yet */
	bool has_arrivals;
};

/* The first letter of the stream object's name: 's', or 'o' for an orphan (stream of a dead
 * controller), whose object was renamed. */
static char object_kind(const struct keeper *k)
{
	return k->work.is_orphans ? 'o' : 's';
}

/* ---- the log file ---- */

/* Opens the log again. The keeper needs other O_APPEND and O_NONBLOCK flags than the application.
 * It cannot change them on its descriptor, because the application's descriptor shares the open
 * file description, to which they belong. The log is opened for reading, too, if that is allowed,
 * so that the packets in a ring (a LOOP log) can be found again. Returns the descriptor to use: if
 * opening fails, the one that the keeper has; -1 if it has none. */
static int reopen_log(void)
{
	const int given = PTRC_KEEPER_LOG_FD;
	long flags = ptrc_sys(SYS_fcntl, given, F_GETFL, 0);
	/* With O_SYNC, the application wants each write to be on the disk when it returns. */
	int fd, keep = O_NOCTTY | (flags < 0 ? 0 : (int)flags & O_SYNC);
	struct stat st, own;
	bool is_fifo, is_same;

	if (ptrc_file_stat(given, &st))
		return -1;
	if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
		return given;
	is_fifo = S_ISFIFO(st.st_mode);
	if ((is_fifo || ptrc_file_reopen(given, O_RDWR | keep, &fd)) &&
	    ptrc_file_reopen(given, O_WRONLY | keep | (is_fifo ? O_NONBLOCK : 0), &fd))
		return given;
	is_same = !ptrc_file_stat(fd, &own) && own.st_ino == st.st_ino && own.st_dev == st.st_dev;
	ptrc_file_close(is_same ? given : fd);
	return is_same ? fd : given;
}

/* ---- the controller's death ---- */

/* The watcher, a thread of the keeper: waits until the controller loses its lock, then rings the
 * bell that the keeper sleeps on. */
static int watch(void *arg)
{
	struct keeper *k = arg;
	struct ptrc_stream_header *h = k->work.stream.header;
	struct flock lock = {.l_type = F_RDLCK,
			     .l_whence = SEEK_SET,
			     .l_start = PTRC_LIVE_CONTROLLER,
			     .l_len = 1};
	char name[PTRC_SHMDIR_NAME_BYTES];
	int fd = -1;

	ptrc_shmdir_name(name, 's', h->id);
	/* The keeper's stream descriptor shares its open file description with the controller,
	 * and so does not conflict with the controller's lock. So the watcher opens the object
	 * again. */
	if (ptrc_file_open(PTRC_KEEPER_DIR_FD, name, O_RDWR | O_NOFOLLOW, 0, &fd) ||
	    ptrc_sys(SYS_fcntl, fd, F_OFD_SETLKW, &lock) < 0) {
		while (ptrc_liveness_is_held(k->work.stream_fd, PTRC_LIVE_CONTROLLER, 1))
			ptrc_file_sleep_ns(50000000);
	}
	/* This drops the lock: a locked byte would mean that the controller is alive. */
	ptrc_file_end(&fd);
	ptrc_store_release(&k->is_controller_dead, true);
	atomic_fetch_add_explicit(&h->keeper_bell, 1, memory_order_release);
	ptrc_sys(SYS_futex, &h->keeper_bell, FUTEX_WAKE, 1, 0, 0, 0);
	return 0;
}

static int start_watcher(struct keeper *k)
{
	static _Alignas(16) uint8_t stack[WATCHER_STACK_BYTES];
	long ret = ptrc_clone(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
				      CLONE_SYSVSEM,
			      stack + sizeof(stack), watch, k);

	/* EAGAIN: a limit on processes was reached, which counts threads, too. */
	return ret >= 0 ? 0 : ret == -EAGAIN ? EAGAIN : ENOMEM;
}

/* Called by the log's writer while output stalls; returns whether to stop waiting. Stops if the
 * controller has given up the log; if the controller died before the log had a head; or if the
 * controller is dead and SIGTERM has come, which is the only way to stop a keeper then. */
static bool give_up(void *arg)
{
	struct keeper *k = arg;
	uint64_t set = UINT64_C(1) << (SIGTERM - 1);
	struct timespec none = {0, 0};

	return ptrc_load_acquire(&k->work.stream.header->is_log_given_up) ||
	       (!k->is_ready && !k->work.is_orphans &&
		!ptrc_liveness_is_held(k->work.stream_fd, PTRC_LIVE_CONTROLLER, 1)) ||
	       (ptrc_load_acquire(&k->is_controller_dead) &&
		ptrc_sys(SYS_rt_sigtimedwait, &set, 0, &none, sizeof(set)) == SIGTERM);
}

/* How long the keeper of a new log waits for another keeper of the same file: FINISHER_WAIT_NS for
 * one that finishes its log, NOTICE_WAIT_NS for one that may not have noticed yet that its
 * controller has died. */
#define FINISHER_WAIT_NS INT64_C(5000000000)
#define NOTICE_WAIT_NS INT64_C(100000000)

/* A process that was killed together with the controller has KILLED_STEPS times KILLED_STEP_NS to
 * end. */
#define KILLED_STEPS 10
#define KILLED_STEP_NS 10000000

/* Whether the target runs. If it cannot be looked at, it counts as running. */
static bool has_target(const struct ptrc_stream_header *h)
{
	struct ptrc_procfs_stat st;

	return ptrc_procfs_exists(h->target_pid) == 0 &&
	       (ptrc_procfs_stat(h->target_pid, &st) || st.start_ticks == h->target_start_ticks);
}

/* The number of traced processes: those that map the stream, and the target. A running target is
 * counted even if it does not map the stream: it may be a program without the library, or may not
 * have recorded an event yet. */
static uint32_t count_users(const struct ptrc_stream_header *h, int stream_fd)
{
	struct ptrc_procfs_walk walk = {.first = h->target_pid, .last = h->target_pid};
	bool is_target_counted = has_target(h);
	uint32_t count = is_target_counted;
	struct stat st;
	int pid;

	if (ptrc_file_stat(stream_fd, &st) ||
	    ptrc_file_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0, &walk.proc))
		return count;
	while ((pid = ptrc_procfs_next(&walk)))
		/* Neither this process nor the one that started it to finish an orphan is traced. */
		if (pid != ptrc_sys_getpid() && pid != h->ending.finisher &&
		    !(is_target_counted && pid == h->target_pid))
			count += ptrc_procfs_maps_file(pid, st.st_dev, st.st_ino);
	ptrc_file_close(walk.proc);
	return count;
}

void ptrc_keeper_note_users(struct ptrc_stream_header *h, int stream_fd,
			    struct ptrc_keeper_work *work)
{
	struct ptrc_ending *e = &h->ending;

	if (ptrc_load_acquire(&e->state) != PTRC_ENDING_WATCHED)
		return;
	e->processes = count_users(h, stream_fd);
	if (e->processes) {
		for (int i = 0; i < KILLED_STEPS; i++) {
			ptrc_file_sleep_ns(KILLED_STEP_NS);
			if (work && h->policy == POSIX_TRACE_FLUSH &&
			    ptrc_space_used(&work->stream.pool) >= h->stream_min_size / 2)
				ptrc_keeper_work_flush(work);
		}
		e->processes = count_users(h, stream_fd);
	}
	e->has_status = 0;
	e->stamp = ptrc_stream_now(h);
	ptrc_store_release(&e->state, PTRC_ENDING_KNOWN);
}

/* Ends stream and log as posix_trace_shutdown() of the dead controller would have done. Returns an
 * error if the log cannot be finished yet: then the stream is, or becomes, an orphan, which another
 * keeper may write. */
static int finish_for_dead(struct keeper *k)
{
	struct ptrc_stream *s = &k->work.stream;
	struct ptrc_stream_header *h = s->header;
	uint64_t offset = ptrc_stream_chunk_offset(s->pool.chunk_count);
	const uint64_t error_bits = ~UINT64_C(0) << PTRC_ST_ERROR_SHIFT;
	int error;

	k->work.is_for_dead = true;
	ptrc_log_lock(k->work.writer.fd, PTRC_LOG_LOCK_FINISHING);
	/* The error in the status is that of an earlier keeper that could not write all events. The
	 * stream still has these events, and the log is to report an error only if this keeper
	 * cannot write them either. */
	if (k->work.is_orphans)
		ptrc_status_clear(h, error_bits);
	ptrc_keeper_note_users(h, k->work.stream_fd, &k->work);
	ptrc_stream_stop(s, NULL, 0);
	error = ptrc_keeper_work_close(&k->work, true);
	if (ptrc_keeper_may_wait(&k->work, error)) {
		ptrc_status_clear(h, error_bits);
		return error;
	}
	ptrc_stream_end(s);
	ptrc_shmdir_remove_id(PTRC_KEEPER_DIR_FD, 'i', h->id);
	ptrc_shmdir_remove_id(PTRC_KEEPER_DIR_FD, object_kind(k), h->id);
	/* Traced processes unmap the stream when they next look at it; this frees its memory at
	 * once. */
	ptrc_sys(SYS_madvise, (char *)h + offset, s->map_size - offset, MADV_REMOVE);
	return 0;
}

/* ---- automatic flushes ---- */

/* Whether an automatic flush is due. why_rung: the PTRC_WAKE_* bits, why other processes have rung
 * the keeper's bell. If no flush is due, *wait_ns becomes the time for which the keeper may sleep;
 * -1: until the bell rings. */
static bool is_flush_due(struct keeper *k, uint32_t why_rung, int64_t *wait_ns)
{
	struct ptrc_stream *s = &k->work.stream;
	struct ptrc_stream_header *h = s->header;
	int64_t now = ptrc_clock_ns(CLOCK_MONOTONIC);
	bool is_time = k->next_look_ns && now >= k->next_look_ns;
	uint64_t unread, status;

	*wait_ns = -1;
	if (h->policy != POSIX_TRACE_FLUSH) {
		ptrc_log_batch_trim(&k->work.writer.batch);
		return false;
	}
	if (is_time)
		ptrc_stream_complete(s);
	status = ptrc_load_acquire(&h->status);
	unread = ptrc_space_used(&s->pool);
	if (!(status & PTRC_ST_RUNNING) && unread == 0 && !(status & PTRC_ST_RESTART_ARMED)) {
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
	/* After a failed flush, only next_look_ns leads to another attempt. */
	return !k->work.has_failed &&
	       ((status & PTRC_ST_RESTART_ARMED) ||
		(unread && (unread >= h->stream_min_size / 2 || (why_rung & PTRC_WAKE_ROOM))));
}

/* The keeper looks at a process that has begun to record, and at its threads, when the stream has
 * been quiet for QUIET_NS, because by then the threads have set their names; at the latest after
 * ARRIVAL_WAIT_NS. Until then it must be free to flush: a look takes some 200 us, in which a
 * process may record a tenth of ROOM_BYTES and fill a small stream. But if the stream has
 * ROOM_BYTES left, the keeper looks at once at the process, though not at its threads, because the
 * process may soon end. */
#define QUIET_NS INT64_C(500000)
#define ARRIVAL_WAIT_NS INT64_C(100000000)
#define ROOM_BYTES (UINT64_C(4) << 20)

/* If it is time, looks at the processes that have begun to record and at their threads, and returns
 * true. Otherwise returns false; if such processes wait for the look, shortens *wait_ns, and may
 * look at them without their threads. */
static bool look_at_arrivals(struct keeper *k, int64_t *wait_ns)
{
	int64_t now = ptrc_clock_ns(CLOCK_MONOTONIC);
	uint64_t used = ptrc_space_used(&k->work.stream.pool);
	bool is_quiet = used == k->arrival_used;
	bool has_room = used + ROOM_BYTES <= k->work.stream.header->stream_min_size;

	if (!k->arrival_ns)
		return false;
	k->arrival_used = used;
	if (is_quiet || now - k->arrival_ns >= ARRIVAL_WAIT_NS) {
		k->arrival_ns = 0;
		k->has_arrivals = false;
		ptrc_log_origin_arrive(&k->work.writer, true);
		return true;
	}
	if (has_room && k->has_arrivals) {
		k->has_arrivals = false;
		ptrc_log_origin_arrive(&k->work.writer, false);
	}
	if (*wait_ns < 0 || *wait_ns > QUIET_NS)
		*wait_ns = QUIET_NS;
	return false;
}

/* Reads the controller's file size limit again, which may have changed since the controller's last
 * command. */
static void follow_limit(struct ptrc_stream_header *h)
{
	struct rlimit limit;

	if (h->controller_pid > 0 &&
	    ptrc_sys(SYS_prlimit64, h->controller_pid, RLIMIT_FSIZE, 0, &limit) == 0)
		ptrc_store_relaxed(&h->fsize_limit, limit.rlim_cur);
}

/* ---- birth, work, end ---- */

__attribute__((noreturn)) static void leave(int status)
{
	for (;;)
		ptrc_sys(SYS_exit_group, status);
}

/* Reports a result, which the controller reads once it sees the new value of the word. */
static void report(struct ptrc_stream_header *h, int error, _Atomic uint32_t *word, uint32_t value)
{
	ptrc_store_relaxed(&h->keeper_result, error);
	ptrc_store_release(word, value);
	ptrc_sys(SYS_futex, word, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

__attribute__((noreturn)) static void serve(struct keeper *k)
{
	struct ptrc_stream_header *h = k->work.stream.header;

	for (;;) {
		uint32_t bell = ptrc_load_acquire(&h->keeper_bell);
		uint32_t seq = ptrc_load_acquire(&h->keeper_seq);
		struct timespec limit;
		uint32_t why_rung;
		int64_t wait_ns;
		bool is_flush;

		if (ptrc_load_acquire(&k->is_controller_dead)) {
			finish_for_dead(k);
			leave(0);
		}
		if (seq != ptrc_load_relaxed(&h->keeper_done)) {
			bool is_close = ptrc_load_relaxed(&h->keeper_command) == PTRC_KEEPER_CLOSE;
			int error = ptrc_keeper_work_obey(&k->work);
			/* The log is closed before the report, so that a process that reads it from
			 * a pipe gets end-of-file before the call that gave the command returns. */
			if (is_close)
				ptrc_file_close(k->work.writer.fd);
			report(h, error, &h->keeper_done, seq);
			if (is_close)
				leave(0);
			continue;
		}
		/* keeper_wake is cleared before the stream is checked. So no flush is missed: a
		 * writer that makes a flush due later sets keeper_wake again and wakes the keeper
		 * by keeper_bell. */
		why_rung = atomic_exchange_explicit(&h->keeper_wake, 0, memory_order_acq_rel);
		k->has_arrivals |= (why_rung & PTRC_WAKE_ARRIVAL) != 0;
		if ((why_rung & PTRC_WAKE_ARRIVAL) && !k->arrival_ns) {
			k->arrival_ns = ptrc_clock_ns(CLOCK_MONOTONIC);
			k->arrival_used = UINT64_MAX;
		}
		is_flush = is_flush_due(k, why_rung, &wait_ns);
		/* If a flush and a rotation are due, the log is rotated and not flushed: a flush
		 * would make the file still larger, and a rotation takes the events out of the
		 * stream, too. */
		if (!k->work.has_failed && ptrc_log_rotate_is_due(&k->work.writer, &wait_ns)) {
			follow_limit(h);
			ptrc_keeper_work_rotate(&k->work);
			continue;
		}
		if (is_flush) {
			follow_limit(h);
			ptrc_keeper_work_flush(&k->work);
			continue;
		}
		if (look_at_arrivals(k, &wait_ns))
			continue;
		limit = ptrc_timespec_of(wait_ns);
		ptrc_sys(SYS_futex, &h->keeper_bell, FUTEX_WAIT, bell, wait_ns < 0 ? NULL : &limit,
			 0, 0);
	}
}

static int take_life(struct keeper *k)
{
	char name[PTRC_SHMDIR_NAME_BYTES];
	uint64_t waited = 0;
	int error;

	ptrc_shmdir_name(name, object_kind(k), k->work.stream.header->id);
	while ((error = ptrc_liveness_take(PTRC_KEEPER_DIR_FD, name, PTRC_LIVE_KEEPER, &k->life)) ==
		       EAGAIN &&
	       waited < LOCK_WAIT_NS) {
		ptrc_file_sleep_ns(1000000);
		waited += 1000000;
	}
	return error == EAGAIN ? ENOMEM : error;
}

/* Waits while another keeper finishes a log in this file, because what it writes would damage the
 * new log. A keeper that does not finish in time probably has a live controller; then both write to
 * the file, and both logs are damaged. */
static void wait_for_finisher(int log_fd)
{
	int64_t waited_ns = 0;
	struct stat st;
	int keeper;

	/* A device or pipe may get several logs at once, so only a regular file is waited for. */
	if (ptrc_file_stat(log_fd, &st) || !S_ISREG(st.st_mode))
		return;
	while (ptrc_log_is_locked(log_fd, PTRC_LOG_LOCK_KEEPER, &keeper) &&
	       waited_ns < (ptrc_log_is_locked(log_fd, PTRC_LOG_LOCK_FINISHING, &keeper)
				    ? FINISHER_WAIT_NS
				    : NOTICE_WAIT_NS)) {
		ptrc_file_sleep_ns(1000000);
		waited_ns += 1000000;
	}
}

/* Does everything that a keeper does between taking its lock and its first report. */
static int prepare(struct keeper *k, enum ptrc_keeper_task task, int log_fd)
{
	static char base[PTRC_LOG_PATH_BYTES];
	struct ptrc_keeper_work *work = &k->work;
	uint64_t new_member;
	struct ptrc_log_state old;
	uint32_t place;
	bool is_rest, begins, has_old;
	int error = 0;

	/* The watcher is started before anything is written. So if a limit forbids this thread, the
	 * keeper has changed nothing. */
	if (task != PTRC_KEEPER_ORPHAN)
		error = start_watcher(k);
	if (error)
		return error;
	/* Whether this keeper begins a log. The rest of the events of an orphan (stream of a dead
	 * controller) may go into a new log, too. */
	is_rest = work->is_orphans && ptrc_load_relaxed(&work->stream.header->is_log_new);
	begins = task == PTRC_KEEPER_NEW || is_rest;
	error = ptrc_log_rotate_find(work->stream.header, task == PTRC_KEEPER_NEW, work->is_orphans,
				     &log_fd, base, &new_member);
	if (error)
		return error;
	if (task == PTRC_KEEPER_NEW)
		wait_for_finisher(log_fd);
	ptrc_log_lock(log_fd, PTRC_LOG_LOCK_KEEPER);
	error = ptrc_log_writer_init(&work->writer, work->stream.header, log_fd, !begins);
	if (error)
		return error;
	work->writer.names = work->names;
	memcpy(work->writer.base, base, sizeof(base));
	work->writer.dirfd = PTRC_KEEPER_DIR_FD;
	work->writer.syncs_flushes = work->is_orphans;
	work->writer.give_up = give_up;
	work->writer.arg = k;
	/* Takes out of the stream the events that the stream's own log already has, so that they
	 * are not written twice. */
	has_old = is_rest && ptrc_log_state_read(work->stream.header, &work->writer.state);
	if (!begins || has_old)
		ptrc_keeper_work_recover(work);
	old = work->writer.state;
	if (begins)
		ptrc_log_state_begin_rest(&work->writer.state);
	if (new_member) {
		error = ptrc_log_rotate_begin(&work->writer, new_member);
	} else {
		place = task == PTRC_KEEPER_NEW ? 0 : 1 - work->writer.place;
		ptrc_log_rotate_note(&work->stream.header->log_place[place], log_fd, base);
		work->writer.place = place;
		if (begins)
			error = ptrc_log_writer_head(&work->writer);
	}
	if (error)
		return error;
	ptrc_store_release(&work->stream.header->is_log_new, 0);
	if (task == PTRC_KEEPER_ORPHAN)
		error = finish_for_dead(k);
	k->is_ready = !error;
	/* A new log that has no event is of no use: the process that made it deletes it, and the
	 * next attempt finds the log before it. If this keeper is killed between the two stores, the
	 * file stays, but is no part of the log any more. */
	if (error && is_rest && !work->writer.state.events) {
		ptrc_log_state_give_back(&work->writer, has_old ? &old : NULL);
		ptrc_store_release(&work->stream.header->is_log_new, 1);
	}
	return error;
}

static void set_own_limits(void)
{
	struct rlimit limit;

	ptrc_sys(SYS_prctl, PR_SET_NAME, "ptrace-keeper", 0, 0, 0);
	/* Raises the file size limit that the keeper got from the process that started it. Each
	 * write is checked against the limit of the log's controller instead (log_output.c). */
	if (ptrc_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		ptrc_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, &limit, 0);
	}
	limit.rlim_cur = limit.rlim_max = 0;
	ptrc_sys(SYS_prlimit64, 0, RLIMIT_CORE, &limit, 0);
}

void ptrc_keeper_live(enum ptrc_keeper_task task, uint32_t number)
{
	static struct keeper keeper;
	struct keeper *k = &keeper;
	struct ptrc_keeper_work *work = &k->work;
	int log_fd, error;

	set_own_limits();
	work->stream_fd = PTRC_KEEPER_STREAM_FD;
	work->names_fd = PTRC_KEEPER_NAMES_FD;
	work->is_orphans = task == PTRC_KEEPER_ORPHAN;
	/* These two come first: if the descriptor of the names or of the log is missing, any file
	 * opened earlier could get its number. */
	error = ptrc_keeper_work_map(work);
	log_fd = reopen_log();
	/* Without the stream there is no way to report; ptrc_keeper_start() notices the end of the
	 * process. */
	if (!work->stream.header)
		leave(1);
	if (!error)
		error = take_life(k);
	/* If the number in the header is another one, the process that started this keeper has
	 * given it up and started another keeper. That process raised the number before it checked
	 * the lock; this keeper took the lock before it checks the number. So two keepers never
	 * work at the same time. */
	if (ptrc_load_seq_cst(&work->stream.header->keeper_number) != number)
		leave(1);
	if (!error)
		error = prepare(k, task, log_fd);
	/* The first report, which ptrc_keeper_start() waits for. */
	report(work->stream.header, error, (_Atomic uint32_t *)&work->stream.header->keeper_pid,
	       (uint32_t)(error ? -ptrc_sys_getpid() : ptrc_sys_getpid()));
	if (error || task == PTRC_KEEPER_ORPHAN)
		leave(error != 0);
	serve(k);
}
