/* SPDX-License-Identifier: MIT */
#include "lib/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/liveness.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/base/thread_life.h"
#include "lib/keeper/keeper_work.h"
#include "lib/stream/clock.h"

/* How often a waiting caller looks whether the keeper still lives. */
#define LOOK_NS 50000000
/* Without a pidfd: a keeper without its lock after this time is dead. It takes the lock within
 * a millisecond of its birth. */
#define START_WAIT_NS INT64_C(5000000000)
/* The same, for a keeper whose process id is unknown because the helper that made it was
 * killed. It is given up then, and leaves if it takes the lock later. */
#define STRAY_NS INT64_C(200000000)
/* How long a keeper that has said that it ends is waited for. It may have been stopped then. */
#define LEAVE_WAIT_NS INT64_C(1000000000)
#define LEAVE_PAUSE_NS 200000
/* Somebody may kill a keeper at its birth. If this many die, the cause is in the memory of the
 * stream, and would kill the next as well. */
#define START_TRIES 5
/* The same, for the keepers of one command: so many have died, and in this time. A killer who
 * is busier than that is waited for no longer. */
#define RESTARTS_MAX 20
#define RESTARTS_NS INT64_C(2000000000)

/* Does anybody hold the keeper's lock? */
static bool lives(const struct ptrc_keeper_args *args)
{
	return ptrc_liveness_is_held(args->stream_fd, PTRC_LIVE_KEEPER, 1);
}

static bool has_ended(const struct ptrc_keeper_args *args,
		      const struct ptrc_keeper_process *process, int64_t waited_ns)
{
	if (process->pidfd >= 0)
		return ptrc_procfs_has_ended(process->pidfd);
	if (process->pid == 0)
		return waited_ns > STRAY_NS && !lives(args);
	/* Kernels before 5.3. An ended process keeps its number until its parent has waited for
	 * it. */
	return ptrc_sys(SYS_kill, process->pid, 0) == -ESRCH ||
	       (waited_ns > START_WAIT_NS && !lives(args));
}

static void sleep_on(_Atomic uint32_t *word, uint32_t seen)
{
	struct timespec ts = {.tv_nsec = LOOK_NS};

	ptrc_sys(SYS_futex, word, FUTEX_WAIT, seen, &ts, 0, 0);
}

/* The keeper applies the controller's file size limit to the log, not its own. */
static void note_limit(struct ptrc_stream_header *h)
{
	struct rlimit limit;

	if (ptrc_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) < 0)
		limit.rlim_cur = RLIM_INFINITY;
	ptrc_store_relaxed(&h->fsize_limit, limit.rlim_cur);
}

static int try_start(const struct ptrc_keeper_args *args, struct ptrc_stream_header *header,
		     enum ptrc_keeper_task task)
{
	_Atomic uint32_t *word = (_Atomic uint32_t *)&header->keeper_pid;
	struct ptrc_keeper_process process = {.pidfd = -1};
	uint32_t number = atomic_fetch_add(&header->keeper_number, 1) + 1;
	int error, said;
	int64_t waited_ns = 0;

	/* A keeper of an earlier number has the lock by now: it works, or is about to leave
	 * (ptrc_keeper_live). */
	if (lives(args)) {
		if (task == PTRC_KEEPER_RESTART)
			return 0;
	} else {
		ptrc_store_relaxed(&header->keeper_pid, 0);
		error = ptrc_keeper_launch(args, task, number, &process);
		if (error && error != ECHILD)
			return error;
	}
	/* As long as it takes: the head of the log may have to wait for room in a pipe. */
	while ((said = ptrc_load_acquire(&header->keeper_pid)) == 0) {
		/* The keeper may have said its first word between the two looks, and ended. */
		if (has_ended(args, &process, waited_ns) &&
		    ptrc_load_acquire(&header->keeper_pid) == 0)
			break;
		sleep_on(word, 0);
		waited_ns += LOOK_NS;
	}
	/* As long as an orphan's keeper has its lock, the stream seems to be in use. */
	for (int64_t waited = 0; task == PTRC_KEEPER_ORPHAN && waited < LEAVE_WAIT_NS &&
				 !has_ended(args, &process, 0) && lives(args);
	     waited += LEAVE_PAUSE_NS)
		ptrc_file_sleep_ns(LEAVE_PAUSE_NS);
	if (process.pidfd >= 0)
		ptrc_sys(SYS_close, process.pidfd);
	/* These keepers have ended, or are about to. */
	if (process.is_child && (said <= 0 || task == PTRC_KEEPER_ORPHAN))
		ptrc_keeper_wait_for_child(process.pid);
	if (said > 0)
		return 0;
	error = ptrc_load_relaxed(&header->keeper_result);
	ptrc_store_relaxed(&header->keeper_pid, 0);
	return said == 0 ? ECHILD : error ? error : ENOMEM;
}

int ptrc_keeper_start(const struct ptrc_keeper_args *args, struct ptrc_stream_header *header,
		      enum ptrc_keeper_task task)
{
	int error = ECHILD;

	/* A keeper in another pid namespace would take the stream's writers for dead, and would
	 * die with the helper that made it, the first process of that namespace. One in another
	 * time namespace would read another clock. */
	if (ptrc_procfs_bears_elsewhere())
		return EPERM;
	/* The log of an orphan stays under the limit of its own controller. */
	if (task != PTRC_KEEPER_ORPHAN)
		note_limit(header);
	for (int i = 0; i < START_TRIES && error == ECHILD; i++)
		error = try_start(args, header, task);
	return error;
}

/* Does the keeper live? A caller without descriptors has to judge by its process id. */
static bool is_there(const struct ptrc_keeper_args *args, const struct ptrc_stream_header *header)
{
	int pid;

	if (args)
		return lives(args);
	pid = ptrc_load_relaxed(&header->keeper_pid);
	return pid > 0 && !ptrc_thread_is_dead(pid);
}

static uint32_t send(struct ptrc_stream_header *header, uint32_t command,
		     const struct ptrc_context *origin, uint64_t addr)
{
	static const struct ptrc_context nobody;
	uint32_t seq;

	note_limit(header);
	header->command_origin = origin ? *origin : nobody;
	header->command_addr = addr;
	ptrc_store_relaxed(&header->keeper_command, command);
	seq = atomic_fetch_add_explicit(&header->keeper_seq, 1, memory_order_acq_rel) + 1;
	atomic_fetch_add_explicit(&header->keeper_bell, 1, memory_order_release);
	ptrc_sys(SYS_futex, &header->keeper_bell, FUTEX_WAKE, 1, 0, 0, 0);
	return seq;
}

int ptrc_keeper_command(const struct ptrc_keeper_args *args, struct ptrc_stream_header *header,
			uint32_t command, const struct ptrc_context *origin, uint64_t addr)
{
	uint32_t seq = send(header, command, origin, addr), done, restarts = 0;
	int64_t begin = ptrc_clock_ns(CLOCK_MONOTONIC);

	while ((done = ptrc_load_acquire(&header->keeper_done)) != seq) {
		uint32_t number = ptrc_load_acquire(&header->keeper_seq);
		int error;

		/* It is another than `seq` only by damage to the memory of the stream. The
		 * keeper then answers with the number that it has read. */
		if (done == number)
			break;
		sleep_on(&header->keeper_done, done);
		if (ptrc_load_acquire(&header->keeper_done) != done)
			continue;
		if (is_there(args, header)) {
			ptrc_sys(SYS_futex, &header->keeper_bell, FUTEX_WAKE, 1, 0, 0, 0);
			continue;
		}
		ptrc_keeper_reap(header);
		error = args ? ptrc_keeper_start(args, header, PTRC_KEEPER_RESTART) : ENOMEM;
		if ((error && error != ECHILD) ||
		    (++restarts > RESTARTS_MAX &&
		     ptrc_clock_ns(CLOCK_MONOTONIC) - begin > RESTARTS_NS)) {
			/* A keeper that can be started later must not obey this command, whose
			 * caller was told that nothing was done. */
			ptrc_store_release(&header->keeper_done, seq);
			return error == EAGAIN ? EAGAIN : ECHILD;
		}
	}
	return ptrc_load_relaxed(&header->keeper_result);
}

void ptrc_keeper_reap(struct ptrc_stream_header *header)
{
	int pid = ptrc_load_relaxed(&header->keeper_pid);

	if (pid > 0)
		ptrc_keeper_wait_for_child(pid);
}

/* ---- orphans ---- */

/* A keeper writes into the log what the orphan still holds. */
static int start_on(struct ptrc_keeper_args *args, struct ptrc_stream_header *h, int log_fd,
		    bool is_new, char *path)
{
	int error;

	args->log_fd = log_fd;
	ptrc_store_relaxed(&h->is_log_new, is_new);
	error = ptrc_keeper_start(args, h, PTRC_KEEPER_ORPHAN);
	if (!error && path)
		ptrc_file_path(log_fd, path, sizeof(h->log_place[0].path));
	return error;
}

static int finish(struct ptrc_keeper_args *args, uint32_t uid, struct ptrc_stream_header *h,
		  const struct ptrc_keeper_orders *orders)
{
	struct ptrc_orphan_log log;
	int error = ptrc_orphan_log_find(h, uid, orders, &log);

	if (!error) {
		error = start_on(args, h, log.fd, false, orders->written);
		ptrc_orphan_log_close(h, &log, true);
		/* Beside a log that cannot take more, nothing else can be written either; but
		 * perhaps where the caller wants it. */
		if (!error || error == ECHILD || !orders->path)
			return error;
	}
	if (error == ENOMEM || error == EMFILE || error == ENFILE || error == EAGAIN)
		return error;
	error = ptrc_orphan_log_make(h, uid, orders, &log);
	if (error)
		return error;
	error = start_on(args, h, log.fd, true, orders->written);
	ptrc_orphan_log_close(h, &log, error == 0);
	return error;
}

int ptrc_keeper_finish_orphan(int dirfd, uint32_t uid, int stream_fd,
			      const struct ptrc_keeper_orders *orders)
{
	struct ptrc_keeper_args args = {
		.log_fd = -1, .stream_fd = stream_fd, .names_fd = -1, .dirfd = dirfd};
	struct ptrc_stream stream;
	uint64_t size;
	int error = ptrc_stream_map(stream_fd, PTRC_ROLE_CONTROLLER, &stream);

	if (error)
		return error;
	/* Nobody has set a limit for the log of a plain stream, but the caller may have one. */
	if (!stream.header->has_log)
		note_limit(stream.header);
	/* The names object may be gone with the last process that used it. Then names_fd is -1,
	 * and the log has the names that it got with earlier flushes. */
	error = ptrc_shmdir_open_id(dirfd, 'n', stream.header->names_id, uid, &args.names_fd,
				    &size);
	if (error != ENOMEM)
		error = finish(&args, uid, stream.header, orders);
	if (error == ECHILD)
		ptrc_store_relaxed(&stream.header->has_killed_keepers, 1);
	if (args.names_fd >= 0)
		ptrc_file_close(args.names_fd);
	ptrc_stream_unmap(&stream);
	return error;
}
