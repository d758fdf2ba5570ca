/* SPDX-License-Identifier: MIT */
/*
 * Starting a keeper and talking to it. See keeper_work.c for what it does.
 *
 * It is a grandchild without a parent: a child of ours (made like vfork does, no signal
 * at its end) makes it, executes the embedded program in it, and is gone before we go
 * on; so neither wait() nor SIGCHLD ever tell the application of it, not even after an
 * exec. Where an orphan would come back to us (we are process 1 or a subreaper) it is a
 * direct child instead; where programs in memory may not be executed it is a forked
 * copy of us.
 */
#include "lib/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/base/clone.h"
#include "lib/base/file.h"
#include "lib/keeper/keeper_work.h"
#include "lib/base/liveness.h"
#include "lib/log/log_flush.h"
#include "lib/log/log_reader.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/size_limit.h"
#include "lib/base/sys.h"
#include "lib/base/thread_life.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* Of the two children that run on our memory. */
#define STACK_BYTES 65536U
/* How often we look whether the keeper lives while we wait for it. */
#define LOOK_NS 50000000
/* It takes the keeper a millisecond to get its lock. */
#define START_TRIES 5
#define START_WAIT_NS INT64_C(5000000000)
/* In one command. What kills so many keepers is in the stream's memory. */
#define RESTARTS_MAX 20
/* Descriptors of the new process are put here before they get their places. */
#define FD_PARKING 16

/* What the children do must leave no trace in our memory but their result. */
#define CHILD_CODE                                                              \
	__attribute__((noinline, no_sanitize("address", "undefined", "thread"), \
		       PTRC_NO_STACK_PROTECTOR))
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define PTRC_NO_STACK_PROTECTOR no_stack_protector
#else
#define PTRC_NO_STACK_PROTECTOR unused
#endif
#else
#define PTRC_NO_STACK_PROTECTOR unused
#endif

extern const uint8_t ptrc_keeper_image[] __attribute__((visibility("hidden")));
extern const uint8_t ptrc_keeper_image_end[] __attribute__((visibility("hidden")));

struct launch {
	int fds[PTRC_KEEPER_FD_COUNT + 1]; /* the last: the program, -1 without exec */
	bool is_restart;
	bool is_direct;
	uint8_t *stacks; /* two of STACK_BYTES */
	/* Results, written by the children. */
	int pid;
	int error;
};

/* ---- in the new process ---- */

/* Descriptors to their places, all others closed. Private to the new process. */
CHILD_CODE static long place_descriptors(const struct launch *l)
{
	int count = PTRC_KEEPER_FD_COUNT + (l->fds[PTRC_KEEPER_FD_COUNT] >= 0);
	long parked[PTRC_KEEPER_FD_COUNT + 1], null;
	struct rlimit most;

	/* The caller's limit is not ours. */
	if (ptrc_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &most) == 0) {
		most.rlim_cur = most.rlim_max;
		ptrc_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, &most, 0);
	}

	for (int i = 0; i < count; i++) {
		parked[i] = ptrc_sys(SYS_fcntl, l->fds[i], F_DUPFD, FD_PARKING);
		if (parked[i] < 0)
			return parked[i];
	}
	for (int i = 0; i < count; i++) {
		/* The program itself is closed by its execution. */
		long ret = ptrc_sys(SYS_dup3, parked[i], PTRC_KEEPER_LOG_FD + i,
				    i == PTRC_KEEPER_FD_COUNT ? O_CLOEXEC : 0);

		if (ret < 0)
			return ret;
	}
	for (int fd = 0; fd < 3; fd++)
		ptrc_sys(SYS_close, fd);
	/* So that nothing else ever gets these numbers; if there is no such device we do
	 * without. */
	null = ptrc_sys(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
	if (null == 0) {
		ptrc_sys(SYS_dup3, 0, 1, 0);
		ptrc_sys(SYS_dup3, 0, 2, 0);
	}
	if (ptrc_sys(SYS_close_range, PTRC_KEEPER_LOG_FD + count, UINT_MAX, 0) < 0) {
		struct rlimit limit = {0, 0};
		uint64_t end;

		ptrc_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &limit);
		end = limit.rlim_cur < 65536 ? limit.rlim_cur : 65536;
		for (uint64_t fd = (uint64_t)(PTRC_KEEPER_LOG_FD + count); fd < end; fd++)
			ptrc_sys(SYS_close, fd);
	}
	return 0;
}

CHILD_CODE static void leave_surroundings(void)
{
	static const int none;

	ptrc_sys(SYS_setsid, 0);
	ptrc_sys(SYS_chdir, "/");
	ptrc_sys(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
}

CHILD_CODE static int run_program(void *arg)
{
	static char name[] = "posixtrace-keeper";
	static char is_new[] = PTRC_KEEPER_ARG_NEW,
		    is_restart[] = PTRC_KEEPER_ARG_RESTART;
	struct launch *l = arg;
	char *argv[3], *envp[1];
	long ret = place_descriptors(l);

	if (ret == 0) {
		leave_surroundings();
		argv[0] = name;
		argv[1] = l->is_restart ? is_restart : is_new;
		argv[2] = envp[0] = NULL;
		ret = ptrc_sys(SYS_execveat, PTRC_KEEPER_LOG_FD + PTRC_KEEPER_FD_COUNT,
			       "", argv, envp, AT_EMPTY_PATH);
		if (ret == -ENOSYS) /* some emulators */
			ret = ptrc_sys(SYS_execve, "/proc/self/fd/7", argv, envp);
	}
	l->error = (int)-ret;
	return 1;
}

_Static_assert(PTRC_KEEPER_LOG_FD + PTRC_KEEPER_FD_COUNT == 7,
	       "the program's descriptor");

/* Makes a copy of the process, of which only raw system calls run on. */
CHILD_CODE static long fork_copy(const struct launch *l)
{
	bool is_restart = l->is_restart;
	long pid = ptrc_sys(SYS_clone, CLONE_UNTRACED, 0, 0, 0, 0);

	if (pid == 0) {
		if (place_descriptors(l) < 0)
			ptrc_sys(SYS_exit_group, 1);
		leave_surroundings();
		ptrc_keeper_work_run(is_restart);
	}
	return pid;
}

CHILD_CODE static int make_keeper(void *arg)
{
	struct launch *l = arg;
	long pid;

	if (l->fds[PTRC_KEEPER_FD_COUNT] >= 0)
		pid = ptrc_clone(CLONE_VM | CLONE_VFORK | CLONE_UNTRACED,
				 l->stacks + 2 * STACK_BYTES, run_program, l);
	else
		pid = fork_copy(l);
	if (pid < 0)
		l->error = (int)-pid;
	else
		l->pid = (int)pid;
	return 0;
}

/* ---- in ours ---- */

static bool orphans_come_to_us(void)
{
	int is_subreaper = 0;

	ptrc_sys(SYS_prctl, PR_GET_CHILD_SUBREAPER, &is_subreaper, 0, 0, 0);
	return is_subreaper || ptrc_sys_getpid() == 1;
}

/* The embedded program as a file; -1 if that cannot be. Signals are blocked. */
static int program_file(void)
{
	static const char name[] = "posixtrace-keeper";
	const uint8_t *at = ptrc_keeper_image;
	struct ptrc_size_limit limit;
	long n = 0, fd = ptrc_sys(SYS_memfd_create, name, MFD_CLOEXEC | MFD_EXEC);

	if (fd == -EINVAL) /* kernels before 6.3 */
		fd = ptrc_sys(SYS_memfd_create, name, MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	ptrc_size_limit_raise(&limit,
			      (uint64_t)(ptrc_keeper_image_end - ptrc_keeper_image));
	while (at < ptrc_keeper_image_end) {
		n = ptrc_sys(SYS_write, fd, at, ptrc_keeper_image_end - at);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		at += n;
	}
	ptrc_size_limit_restore(&limit, n < 0 ? (int)-n : 0);
	if (at == ptrc_keeper_image_end)
		return (int)fd;
	ptrc_sys(SYS_close, fd);
	return -1;
}

static void reap(int pid)
{
	while (ptrc_sys(SYS_wait4, pid, 0, __WCLONE, 0) == -EINTR)
		;
}

/* Make the process. Signals are blocked, and stay so in it. */
static int launch(struct launch *l)
{
	long map = ptrc_sys(SYS_mmap, 0, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	long child;

	if (ptrc_sys_is_error(map))
		return ENOMEM;
	l->stacks = (uint8_t *)map;
	l->pid = l->error = 0;
	if (l->is_direct) {
		child = fork_copy(l);
		if (child > 0)
			l->pid = (int)child;
		else
			l->error = (int)-child;
	} else {
		child = ptrc_clone(CLONE_VM | CLONE_VFORK | CLONE_UNTRACED,
				   l->stacks + STACK_BYTES, make_keeper, l);
		if (child > 0)
			reap((int)child);
		else
			l->error = (int)-child;
	}
	ptrc_sys(SYS_munmap, map, 2 * STACK_BYTES);
	return l->error;
}

static int start_process(const struct ptrc_keeper_args *args, bool is_restart, int *pid,
			 int *pidfd)
{
	struct launch l = {
		.fds = {args->log_fd, args->stream_fd, args->names_fd, args->dirfd, -1},
		.is_restart = is_restart,
		.is_direct = orphans_come_to_us()};
	uint64_t mask;
	long spare, fd;
	int err = ENOSYS;

	/* A place for the descriptor that tells of the new process' end. Not of the log: a
	 * child forked meanwhile would keep it. */
	spare = ptrc_sys(SYS_fcntl, args->stream_fd, F_DUPFD_CLOEXEC, 3);
	if (spare < 0)
		return ENOMEM;
	ptrc_sys_block_signals(&mask);
	if (!l.is_direct)
		l.fds[PTRC_KEEPER_FD_COUNT] = program_file();
	if (l.fds[PTRC_KEEPER_FD_COUNT] >= 0) {
		err = launch(&l);
		ptrc_sys(SYS_close, l.fds[PTRC_KEEPER_FD_COUNT]);
		l.fds[PTRC_KEEPER_FD_COUNT] = -1;
	}
	if (err) /* not executable there, say */
		err = launch(&l);
	ptrc_sys_restore_signals(&mask);
	ptrc_sys(SYS_close, spare);
	if (err)
		return ENOMEM;
	if (l.pid == 0) /* its maker was killed */
		return EAGAIN;
	*pid = l.pid;
	fd = ptrc_sys(SYS_pidfd_open, l.pid, 0); /* close-on-exec by itself */
	*pidfd = fd < 0 ? -1 : (int)fd;
	return 0;
}

static bool lives(const struct ptrc_keeper_args *args)
{
	return ptrc_liveness_is_held(args->stream_fd, PTRC_LIVE_KEEPER, 1);
}

/* Has the new process come to its end before it said anything? */
static bool has_ended(const struct ptrc_keeper_args *args, int pidfd, int pid,
		      int64_t waited_ns)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	struct timespec none = {0, 0};

	if (pidfd >= 0)
		return ptrc_sys(SYS_ppoll, &p, 1, &none, 0, 8) > 0;
	/* Kernels before 5.3. A dead process may stay for others to see. */
	return ptrc_sys(SYS_kill, pid, 0) == -ESRCH ||
	       (waited_ns > START_WAIT_NS && !lives(args));
}

static void sleep_on(_Atomic uint32_t *word, uint32_t seen)
{
	struct timespec ts = {.tv_nsec = LOOK_NS};

	ptrc_sys(SYS_futex, word, FUTEX_WAIT, seen, &ts, 0, 0);
}

static void note_limit(struct ptrc_stream_header *h)
{
	struct rlimit limit;

	if (ptrc_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) < 0)
		limit.rlim_cur = RLIM_INFINITY;
	atomic_store_explicit(&h->fsize_limit, limit.rlim_cur, memory_order_relaxed);
}

int ptrc_keeper_check_log(int log_fd, int log_policy)
{
	return ptrc_log_check(log_fd, log_policy);
}

/* EAGAIN: it ended before it said anything. */
static int try_start(const struct ptrc_keeper_args *args,
		     struct ptrc_stream_header *header, bool is_restart)
{
	_Atomic uint32_t *ready = (_Atomic uint32_t *)&header->keeper_pid;
	int pid = 0, pidfd = -1, err, said;
	int64_t waited_ns = 0;

	atomic_store_explicit(&header->keeper_pid, 0, memory_order_relaxed);
	err = start_process(args, is_restart, &pid, &pidfd);
	if (err)
		return err;
	/* As long as it takes: the head may go into a pipe that is full. */
	while ((said = atomic_load_explicit(&header->keeper_pid, memory_order_acquire)) ==
	       0) {
		if (has_ended(args, pidfd, pid, waited_ns) &&
		    atomic_load_explicit(&header->keeper_pid, memory_order_acquire) == 0)
			break;
		sleep_on(ready, 0);
		waited_ns += LOOK_NS;
	}
	if (pidfd >= 0)
		ptrc_sys(SYS_close, pidfd);
	if (said > 0)
		return 0;
	err = said == 0 ? EAGAIN
			: atomic_load_explicit(&header->keeper_result,
					       memory_order_relaxed);
	if (orphans_come_to_us())
		reap(pid);
	atomic_store_explicit(&header->keeper_pid, 0, memory_order_relaxed);
	return err ? err : ENOMEM;
}

int ptrc_keeper_start(const struct ptrc_keeper_args *args,
		      struct ptrc_stream_header *header, bool is_restart)
{
	int err = EAGAIN;

	/* A keeper in another pid namespace would take the stream's writers for dead; and the
	 * end of its maker, the first process there, would be the end of all in it. One in
	 * another time namespace has another clock. */
	if (ptrc_procfs_bears_elsewhere())
		return is_restart ? ENOMEM : EPERM;
	note_limit(header);
	/* Somebody may kill it, however young; not for ever. */
	for (int i = 0; i < START_TRIES && err == EAGAIN; i++)
		err = try_start(args, header, is_restart);
	return err == EAGAIN ? ENOMEM : err;
}

/* The last resort: obey the command ourselves. */
static int obey_here(const struct ptrc_keeper_args *args)
{
	struct ptrc_keeper_work k = {.log_fd = args->log_fd,
				     .stream_fd = args->stream_fd,
				     .names_fd = args->names_fd,
				     .dirfd = args->dirfd};
	struct timespec none = {0, 0};
	uint64_t mask, stray = UINT64_C(1) << (SIGPIPE - 1) | UINT64_C(1)
								      << (SIGXFSZ - 1);
	int err;

	ptrc_sys_block_signals(&mask);
	err = ptrc_keeper_work_open(&k, true);
	if (!err) {
		ptrc_log_flush_recover(&k.writer, &k.stream);
		err = ptrc_keeper_work_obey(&k);
	}
	ptrc_keeper_work_release(&k);
	/* What our writes have raised is for nobody. */
	stray &= ~mask;
	while (stray &&
	       ptrc_sys(SYS_rt_sigtimedwait, &stray, 0, &none, sizeof(stray)) > 0)
		;
	ptrc_sys_restore_signals(&mask);
	return err;
}

/* The keeper, asked by its number where there is nothing else. */
static bool is_there(const struct ptrc_keeper_args *args,
		     const struct ptrc_stream_header *header)
{
	int pid;

	if (args)
		return lives(args);
	pid = atomic_load_explicit(&header->keeper_pid, memory_order_relaxed);
	return pid > 0 && !ptrc_thread_is_dead(pid);
}

int ptrc_keeper_command(const struct ptrc_keeper_args *args,
			struct ptrc_stream_header *header, uint32_t command,
			const struct ptrc_context *origin, uint64_t addr)
{
	static const struct ptrc_context nobody;
	uint32_t seq, done, restarts = 0;

	note_limit(header);
	header->command_origin = origin ? *origin : nobody;
	header->command_addr = addr;
	atomic_store_explicit(&header->keeper_command, command, memory_order_relaxed);
	seq = atomic_fetch_add_explicit(&header->keeper_seq, 1, memory_order_acq_rel) + 1;
	atomic_fetch_add_explicit(&header->keeper_bell, 1, memory_order_release);
	ptrc_sys(SYS_futex, &header->keeper_bell, FUTEX_WAKE, 1, 0, 0, 0);
	while ((done = atomic_load_explicit(&header->keeper_done,
					    memory_order_acquire)) != seq) {
		int err;

		/* No other number comes but from damaged memory: then the keeper has done what
		 * it read there. */
		if (done ==
		    atomic_load_explicit(&header->keeper_seq, memory_order_acquire))
			break;
		sleep_on(&header->keeper_done, done);
		if (atomic_load_explicit(&header->keeper_done, memory_order_acquire) !=
		    done)
			continue;
		if (is_there(args, header)) {
			ptrc_sys(SYS_futex, &header->keeper_bell, FUTEX_WAKE, 1, 0, 0, 0);
			continue;
		}
		ptrc_keeper_reap(header);
		if (!args)
			return ENOMEM;
		err = restarts++ < RESTARTS_MAX ? ptrc_keeper_start(args, header, true)
						: ENOMEM;
		if (err && restarts <= RESTARTS_MAX && command != PTRC_KEEPER_NONE) {
			err = obey_here(args);
			/* Not to be obeyed again by a keeper that can be started later. */
			atomic_store_explicit(&header->keeper_done, seq,
					      memory_order_release);
			return err;
		}
		if (err)
			return err;
	}
	return atomic_load_explicit(&header->keeper_result, memory_order_relaxed);
}

void ptrc_keeper_reap(struct ptrc_stream_header *header)
{
	int pid = atomic_load_explicit(&header->keeper_pid, memory_order_relaxed);

	/* No child of ours normally: the call says so at once. */
	if (pid > 0)
		reap(pid);
}

/* ---- orphans ---- */

/* The log of a stream found in uid's directory, which may say anything: only a regular
 * file that is a log of that very stream, and that uid could write itself. */
static int open_orphans_log(const struct ptrc_stream_header *h, uint32_t uid, int *fd)
{
	char path[sizeof(h->log_path)];
	struct ptrc_log_head head;
	struct stat st;
	int probe, err;

	memcpy(path, h->log_path, sizeof(path));
	path[sizeof(path) - 1] = '\0';
	if (path[0] != '/' || h->log_ino == 0)
		return ENOENT;
	err = ptrc_file_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW, 0, &probe);
	if (err)
		return err;
	if (ptrc_file_stat(probe, &st) || !S_ISREG(st.st_mode) ||
	    st.st_dev != h->log_dev || st.st_ino != h->log_ino || st.st_uid != uid) {
		ptrc_file_close(probe);
		return ENOENT;
	}
	err = ptrc_file_reopen(probe, O_RDWR | O_NOCTTY, fd);
	ptrc_file_close(probe);
	if (err)
		return err;
	err = ptrc_log_reader_head(*fd, &head);
	if (!err && head.stream_id != h->id)
		err = ENOENT;
	if (err)
		ptrc_file_close(*fd);
	return err;
}

int ptrc_keeper_finish_orphan(int dirfd, uint32_t uid, int stream_fd)
{
	struct ptrc_keeper_work k = {
		.log_fd = -1, .stream_fd = stream_fd, .names_fd = -1, .dirfd = dirfd};
	char name[PTRC_SHMDIR_NAME_BYTES];
	struct ptrc_stream_header *h;
	uint64_t size, errors;
	int err;

	err = ptrc_stream_map(stream_fd, PTRC_ROLE_KEEPER, &k.stream);
	if (err)
		return err == ENOMEM ? EAGAIN : 0;
	h = k.stream.header;
	errors = atomic_load_explicit(&h->status, memory_order_relaxed) >>
		 PTRC_ST_ERROR_SHIFT;
	ptrc_shmdir_name(name, 'n', h->names_id);
	err = ptrc_shmdir_open_object(dirfd, name, uid, &k.names_fd, &size);
	if (!err && size < sizeof(*k.names))
		err = EINVAL;
	if (!err)
		err = open_orphans_log(h, uid, &k.log_fd);
	if (!err)
		err = ptrc_keeper_work_open(&k, true);
	k.writer.is_guest = true;
	if (!err) {
		ptrc_log_flush_recover(&k.writer, &k.stream);
		ptrc_stream_stop(&k.stream, NULL, 0);
		err = ptrc_keeper_work_close(&k, true);
	}
	if (err && ptrc_keeper_work_may_wait(&k, err)) {
		err = EAGAIN;
		if (!errors) /* the log may get all of it yet */
			ptrc_status_clear(h, ~UINT64_C(0) << PTRC_ST_ERROR_SHIFT);
	} else {
		err = 0; /* what could not be saved is lost */
		ptrc_stream_end(&k.stream);
	}
	ptrc_keeper_work_release(&k);
	if (k.log_fd >= 0)
		ptrc_file_close(k.log_fd);
	if (k.names_fd >= 0)
		ptrc_file_close(k.names_fd);
	return err;
}
