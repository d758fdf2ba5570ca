/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <linux/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/clone.h"
#include "lib/base/digits.h"
#include "lib/base/file.h"
#include "lib/base/limit.h"
#include "lib/base/liveness.h"
#include "lib/base/procfs.h"
#include "lib/base/shmdir.h"
#include "lib/base/sys.h"
#include "lib/base/thread_life.h"
#include "lib/log/log_reader.h"
#include "lib/log/log_write.h"
#include "lib/stream/clock.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* ---- making the process ---- */

/*
 * The application must not notice its keeper: no SIGCHLD, nothing for wait() to find, not even
 * after an exec of the application. So the keeper must not be its child: the keeper's parent ends
 * at once. The caller makes a helper process, which, like a child of vfork(), runs in the caller's
 * memory while the caller waits, but sends no signal when it ends. The helper makes the keeper and
 * ends.
 *
 * The keeper is the program embedded in the library, executed from a file in memory. Where such
 * files may not be executed, it is a forked copy of the caller that runs the same code. If the
 * caller is process 1 or a subreaper, processes whose parent has ended become its children, so a
 * helper is useless. Then the keeper is a direct child of the caller: a forked copy, like the
 * children that the application itself makes by fork().
 */

/* The bytes of a stack. Two processes run on the caller's memory, each on a stack of its own: the
 * new keeper, and the helper that makes the keeper and ends. */
#define STACK_BYTES 65536U
/* The keeper's descriptors are first copied to numbers from this one on, so that none is
 * overwritten when they are copied to their final places. */
#define FD_PARKING 16

/* Marks functions that run in another process, but on the caller's memory. They are not
 * instrumented, because that would change the caller's state (shadow memory, canaries). */
#define CHILD_CODE              \
	PTRC_NO_STACK_PROTECTOR \
	__attribute__((noinline, no_sanitize("address", "undefined", "thread")))

extern const uint8_t ptrc_keeper_image[] __attribute__((visibility("hidden")));
extern const uint8_t ptrc_keeper_image_end[] __attribute__((visibility("hidden")));

/* The arguments and results of helper and keeper, at the start of a mapping that also has their
 * stacks. If the helper is killed, the new process may still run on its stack for a while, so the
 * mapping is not unmapped then. */
struct launch {
	/* The descriptors of struct ptrc_keeper_args, and that of the keeper's program; if the
	 * latter is -1, the keeper is a forked copy of the caller. */
	int fds[PTRC_KEEPER_FD_COUNT + 1];
	enum ptrc_keeper_task task;
	uint32_t number;
	char digits[12]; /* `number` as text */
	bool is_child;
	/* The pid of the keeper and an error number: stored by make_keeper() and run_program(). */
	int pid;
	int error;
};

/* ---- in the helper and in the new process ---- */

/* Runs in the new process: moves the descriptors to their places and closes all others. */
CHILD_CODE static long place_descriptors(const struct launch *l)
{
	int count = PTRC_KEEPER_FD_COUNT + (l->fds[PTRC_KEEPER_FD_COUNT] >= 0);
	long parked[PTRC_KEEPER_FD_COUNT + 1], null;
	struct rlimit most;

	/* The application's soft limit may forbid numbers from FD_PARKING on. */
	if (ptrc_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &most) == 0) {
		most.rlim_cur = most.rlim_max;
		ptrc_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, &most, 0);
	}

	for (int i = 0; i < count; i++) {
		parked[i] = -1;
		if (l->fds[i] < 0)
			continue;
		parked[i] = ptrc_sys(SYS_fcntl, l->fds[i], F_DUPFD, FD_PARKING);
		if (parked[i] < 0)
			return parked[i];
	}
	for (int i = 0; i < count; i++) {
		/* The keeper needs all these descriptors except that of its program, which exec
		 * closes. */
		int flags = i == PTRC_KEEPER_FD_COUNT ? O_CLOEXEC : 0;
		long ret;

		if (parked[i] < 0) {
			ptrc_sys(SYS_close, PTRC_KEEPER_LOG_FD + i);
			continue;
		}
		ret = ptrc_sys(SYS_dup3, parked[i], PTRC_KEEPER_LOG_FD + i, flags);
		if (ret < 0)
			return ret;
	}
	for (int fd = 0; fd < 3; fd++)
		ptrc_sys(SYS_close, fd);
	/* Opens /dev/null as descriptors 0 to 2, so that no file that the keeper opens becomes a
	 * standard stream. If this device is missing, they stay free. */
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

/* Runs in the new process: leaves the application's process group, whose signals are not meant
 * for the keeper, its working directory, whose file system may be unmounted, and its scheduling
 * policy. */
CHILD_CODE static void leave_surroundings(void)
{
	static const int none;

	ptrc_sys(SYS_setsid, 0);
	ptrc_sys(SYS_chdir, "/");
	ptrc_sys(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
}

/* Runs in the new process, still on the caller's memory: executes the keeper program. */
CHILD_CODE static int run_program(void *arg)
{
	static char name[] = "ptrace-keeper";
	static char tasks[][8] = {[PTRC_KEEPER_NEW] = "new",
				  [PTRC_KEEPER_RESTART] = "restart",
				  [PTRC_KEEPER_ORPHAN] = "orphan"};
	struct launch *l = arg;
	char *argv[4], *envp[1];
	long ret = place_descriptors(l);

	if (ret == 0) {
		leave_surroundings();
		argv[0] = name;
		argv[1] = tasks[l->task];
		argv[2] = l->digits;
		argv[3] = envp[0] = NULL;
		ret = ptrc_sys(SYS_execveat, PTRC_KEEPER_LOG_FD + PTRC_KEEPER_FD_COUNT, "", argv,
			       envp, AT_EMPTY_PATH);
		if (ret == -ENOSYS) /* some processor emulators lack execveat() */
			ret = ptrc_sys(SYS_execve, "/proc/self/fd/7", argv, envp);
	}
	l->error = (int)-ret;
	return 1;
}

_Static_assert(PTRC_KEEPER_LOG_FD + PTRC_KEEPER_FD_COUNT == 7,
	       "the number of the program's descriptor in the path above");

/* Forks a copy of the process. The copy runs the keeper's code, with raw system calls only. */
CHILD_CODE static long fork_copy(const struct launch *l)
{
	enum ptrc_keeper_task task = l->task;
	uint32_t number = l->number;
	long pid = ptrc_sys(SYS_clone, CLONE_UNTRACED, 0, 0, 0, 0);

	if (pid == 0) {
		if (place_descriptors(l) < 0)
			ptrc_sys(SYS_exit_group, 1);
		leave_surroundings();
		ptrc_keeper_live(task, number);
	}
	return pid;
}

/* Makes the new process. Runs in the helper, or in a caller that needs no helper. */
CHILD_CODE static int make_keeper(void *arg)
{
	struct launch *l = arg;
	long pid;

	if (l->fds[PTRC_KEEPER_FD_COUNT] >= 0)
		pid = ptrc_clone(CLONE_VM | CLONE_VFORK | CLONE_UNTRACED,
				 (uint8_t *)l + 2 * STACK_BYTES, run_program, l);
	else
		pid = fork_copy(l);
	if (pid < 0)
		l->error = (int)-pid;
	else
		l->pid = (int)pid;
	return 0;
}

/* ---- in the caller ---- */

struct process {
	int pid;
	int pidfd;     /* readable once the process has ended; -1: kernel older than 5.3 */
	bool is_child; /* the caller must reap it */
};

static bool orphans_come_to_us(void)
{
	int is_subreaper = 0;

	ptrc_sys(SYS_prctl, PR_GET_CHILD_SUBREAPER, &is_subreaper, 0, 0, 0);
	return is_subreaper || ptrc_sys_getpid() == 1;
}

/* Writes the embedded program into an executable file in memory and returns its descriptor; -1:
 * impossible. The caller has blocked signals, as ptrc_limit_raise() requires. */
static int program_file(void)
{
	static const char name[] = "ptrace-keeper";
	const uint8_t *at = ptrc_keeper_image;
	struct ptrc_limit limit;
	long n = 0, fd = ptrc_sys(SYS_memfd_create, name, MFD_CLOEXEC | MFD_EXEC);

	if (fd == -EINVAL) /* kernels before 6.3 lack MFD_EXEC */
		fd = ptrc_sys(SYS_memfd_create, name, MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	ptrc_limit_raise(&limit, RLIMIT_FSIZE,
			 (uint64_t)(ptrc_keeper_image_end - ptrc_keeper_image));
	while (at < ptrc_keeper_image_end) {
		n = ptrc_sys(SYS_write, fd, at, ptrc_keeper_image_end - at);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		at += n;
	}
	ptrc_limit_restore(&limit, n < 0 ? (int)-n : 0);
	if (at == ptrc_keeper_image_end)
		return (int)fd;
	ptrc_sys(SYS_close, fd);
	return -1;
}

/* Waits for the end of the process if it is a child of the caller. */
static void wait_for_child(int pid)
{
	ptrc_sys_retry(SYS_wait4, pid, 0, __WCLONE, 0);
}

/* Makes the keeper's process. Signals are blocked, and stay so in the new process. */
static int make_process(struct launch *l)
{
	long child;

	l->pid = l->error = 0;
	if (l->is_child) {
		make_keeper(l);
		return l->error;
	}
	child = ptrc_clone(CLONE_VM | CLONE_VFORK | CLONE_UNTRACED, (uint8_t *)l + STACK_BYTES,
			   make_keeper, l);
	if (child < 0)
		return (int)-child;
	wait_for_child((int)child);
	return l->error;
}

/* Makes the keeper's process: one that executes the program if possible, otherwise a forked
 * copy. */
static int make_either(struct launch *l)
{
	int *program = &l->fds[PTRC_KEEPER_FD_COUNT];
	struct ptrc_limit limit;
	int error = ENOSYS;
	PTRC_NO_SIGNALS();

	if (!l->is_child)
		*program = program_file();
	/* A keeper that replaces a killed one may exceed the user's soft limit on processes, and so
	 * may its helper, because the killed keeper was within the limit. A new keeper may not. */
	if (l->task != PTRC_KEEPER_NEW)
		ptrc_limit_raise(&limit, RLIMIT_NPROC, UINT64_MAX);
	if (*program >= 0) {
		error = make_process(l);
		ptrc_sys(SYS_close, *program);
		*program = -1;
	}
	if (error)
		error = make_process(l);
	if (l->task != PTRC_KEEPER_NEW)
		ptrc_limit_restore(&limit, 0);
	return error;
}

/* Makes the keeper's process. ENOMEM: impossible. EAGAIN: impossible because of a limit on
 * processes. ECHILD: a process may have been made, but the helper was killed before it could report
 * the pid, so process->pid is 0. */
static int launch(const struct ptrc_keeper_args *args, enum ptrc_keeper_task task, uint32_t number,
		  struct process *process)
{
	struct launch *l;
	long spare, fd;
	int error;

	*process = (struct process){.pidfd = -1};
	/* Keeps a descriptor number free for the pidfd, by a copy of the stream's descriptor. A
	 * copy of the log's descriptor would not do: a child that another thread forks meanwhile
	 * would get the copy and hold a pipe open. */
	spare = ptrc_sys(SYS_fcntl, args->stream_fd, F_DUPFD_CLOEXEC, 3);
	if (spare < 0)
		return ENOMEM;
	l = ptrc_file_zeros(2 * STACK_BYTES);
	if (!l) {
		ptrc_sys(SYS_close, spare);
		return ENOMEM;
	}
	*l = (struct launch){
		.fds = {args->log_fd, args->stream_fd, args->names_fd, args->dirfd, -1},
		.task = task,
		.number = number,
		.is_child = orphans_come_to_us()};
	*ptrc_digits_put(l->digits, number) = '\0';
	error = make_either(l);
	ptrc_sys(SYS_close, spare);
	if (!error && l->pid == 0)
		return ECHILD;
	if (!error) {
		fd = ptrc_sys(SYS_pidfd_open, l->pid, 0); /* close-on-exec by itself */
		*process = (struct process){
			.pid = l->pid, .pidfd = fd < 0 ? -1 : (int)fd, .is_child = l->is_child};
	}
	ptrc_sys(SYS_munmap, l, 2 * STACK_BYTES);
	/* EAGAIN of clone() and execve() means that a limit on processes was reached. */
	return error && error != EAGAIN ? ENOMEM : error;
}

/* ---- starting a keeper ---- */

/* While a caller waits for the keeper, it checks this often that the keeper is alive. */
#define LOOK_NS 50000000
/* If there is no pidfd, a keeper counts as dead if it has no lock after this time: a keeper takes
 * its lock within a millisecond of its birth. */
#define START_WAIT_NS INT64_C(5000000000)
/* If the keeper's pid is unknown because its helper was killed, the keeper counts as dead if it has
 * no lock after this time. If it takes the lock later, it notices that it was replaced, and
 * ends. */
#define STRAY_NS INT64_C(200000000)
/* How long to wait for the process of a keeper to end after it has reported the end of its work.
 * There is a limit because the process may have been stopped (SIGSTOP) after its report. */
#define LEAVE_WAIT_NS INT64_C(1000000000)
#define LEAVE_PAUSE_NS 200000
/* How often a keeper is started if each dies at once. One may have been killed by chance; if all
 * die, the stream's memory is probably damaged, and would kill the next one as well. */
#define START_TRIES 5
/* A command fails when more than RESTARTS_MAX keepers were killed since it was given, and
 * RESTARTS_NS have passed. */
#define RESTARTS_MAX 20
#define RESTARTS_NS INT64_C(2000000000)

static bool lives(const struct ptrc_keeper_args *args)
{
	return ptrc_liveness_is_held(args->stream_fd, PTRC_LIVE_KEEPER, 1);
}

static bool has_ended(const struct ptrc_keeper_args *args, const struct process *process,
		      int64_t waited_ns)
{
	if (process->pidfd >= 0)
		return ptrc_procfs_has_ended(process->pidfd);
	if (process->pid == 0)
		return waited_ns > STRAY_NS && !lives(args);
	/* Kernels before 5.3 have no pidfd. There kill() also finds a zombie; only the missing lock
	 * shows that the keeper has ended. */
	return ptrc_sys(SYS_kill, process->pid, 0) == -ESRCH ||
	       (waited_ns > START_WAIT_NS && !lives(args));
}

static void sleep_on(_Atomic uint32_t *word, uint32_t seen)
{
	struct timespec ts = {.tv_nsec = LOOK_NS};

	ptrc_sys(SYS_futex, word, FUTEX_WAIT, seen, &ts, 0, 0);
}

/* Stores the caller's file size limit for the keeper, which applies its controller's limit to the
 * log, and not its own. */
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
	struct process process = {.pidfd = -1};
	uint32_t number = atomic_fetch_add(&header->keeper_number, 1) + 1;
	int error, said;
	int64_t waited_ns = 0;

	/* If the lock is held, a keeper with an earlier number has taken it. That keeper is at
	 * work, or is about to end because it sees the new number (ptrc_keeper_live()). */
	if (lives(args)) {
		if (task == PTRC_KEEPER_RESTART)
			return 0;
	} else {
		ptrc_store_relaxed(&header->keeper_pid, 0);
		error = launch(args, task, number, &process);
		if (error && error != ECHILD)
			return error;
	}
	/* This wait has no limit, because the keeper may have to wait for room in a pipe before it
	 * can write the head of the log. */
	while ((said = ptrc_load_acquire(&header->keeper_pid)) == 0) {
		/* The keeper may have reported and ended after keeper_pid was loaded. */
		if (has_ended(args, &process, waited_ns) &&
		    ptrc_load_acquire(&header->keeper_pid) == 0)
			break;
		sleep_on(word, 0);
		waited_ns += LOOK_NS;
	}
	/* As long as the keeper of an orphan (stream of a dead controller) holds its lock, other
	 * processes take the stream for one in use. So this waits until the keeper has ended. */
	for (int64_t waited = 0; task == PTRC_KEEPER_ORPHAN && waited < LEAVE_WAIT_NS &&
				 !has_ended(args, &process, 0) && lives(args);
	     waited += LEAVE_PAUSE_NS)
		ptrc_file_sleep_ns(LEAVE_PAUSE_NS);
	if (process.pidfd >= 0)
		ptrc_sys(SYS_close, process.pidfd);
	/* A keeper that has failed or has finished an orphan has ended, or is about to. If it is a
	 * child of the caller, reaps it. */
	if (process.is_child && (said <= 0 || task == PTRC_KEEPER_ORPHAN))
		wait_for_child(process.pid);
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

	/* A keeper in another pid namespace would consider the stream's writers dead, and would die
	 * with its helper, the first process of that namespace. A keeper in another time namespace
	 * would read another clock. */
	if (ptrc_procfs_bears_elsewhere())
		return EPERM;
	/* For an orphan (a stream whose controller died), the file size limit of that controller
	 * stays in force. */
	if (task != PTRC_KEEPER_ORPHAN)
		note_limit(header);
	for (int i = 0; i < START_TRIES && error == ECHILD; i++)
		error = try_start(args, header, task);
	return error;
}

/* Whether the keeper is alive: by its lock, or by its pid if the caller has no descriptors (args is
 * NULL). */
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

/* Waits for the end of the keeper if it is a child of the caller. */
static void reap(struct ptrc_stream_header *header)
{
	int pid = ptrc_load_relaxed(&header->keeper_pid);

	if (pid > 0)
		wait_for_child(pid);
}

int ptrc_keeper_command(const struct ptrc_keeper_args *args, struct ptrc_stream_header *header,
			uint32_t command, const struct ptrc_context *origin, uint64_t addr)
{
	uint32_t seq = send(header, command, origin, addr), done, restarts = 0;
	int64_t begin = ptrc_clock_ns(CLOCK_MONOTONIC);

	while ((done = ptrc_load_acquire(&header->keeper_done)) != seq) {
		uint32_t number = ptrc_load_acquire(&header->keeper_seq);
		int error;

		/* keeper_seq differs from `seq` only if the stream's memory is damaged. The keeper
		 * then answers with the number that it has read. */
		if (done == number)
			break;
		sleep_on(&header->keeper_done, done);
		if (ptrc_load_acquire(&header->keeper_done) != done)
			continue;
		if (is_there(args, header)) {
			ptrc_sys(SYS_futex, &header->keeper_bell, FUTEX_WAKE, 1, 0, 0, 0);
			continue;
		}
		reap(header);
		error = args ? ptrc_keeper_start(args, header, PTRC_KEEPER_RESTART) : ENOMEM;
		if ((error && error != ECHILD) ||
		    (++restarts > RESTARTS_MAX &&
		     ptrc_clock_ns(CLOCK_MONOTONIC) - begin > RESTARTS_NS)) {
			/* A keeper started later must not obey this command, which is about to be
			 * reported as not done. */
			ptrc_store_release(&header->keeper_done, seq);
			return error == EAGAIN ? EAGAIN : ECHILD;
		}
	}
	if (command == PTRC_KEEPER_CLOSE)
		reap(header);
	return ptrc_load_relaxed(&header->keeper_result);
}

/* ---- the log of an orphan ---- */

/* Limits of the search for a log, each reached in some 50 ms. ENTRIES_MAX: entries of the log's
 * directory. DESCRIPTORS_MAX: processes and their descriptors together. */
#define ENTRIES_MAX 100000U
#define DESCRIPTORS_MAX 20000U
/* make_log() tries at most this many file names for a new log. */
#define LOG_NAMES_MAX 1000U

#define SUFFIX ".salvaged"

struct orphan_log {
	int fd;
	char path[PTRC_LOG_PATH_BYTES]; /* path of a new log; empty: the log existed before */
};

struct search {
	const struct ptrc_stream_header *h;
	uint32_t uid;
	struct ptrc_log_place place; /* a copy, as other processes can write the header */
	int at;			     /* the directory being searched; AT_FDCWD: none */
	unsigned int budget;	     /* entries left to look at */
	int fd;			     /* descriptor of the log; -1: not found */
};

/* Opens the file if it is the log that is searched for, and stores its descriptor in s->fd. Checks
 * the type of the file first, because opening a FIFO or a device may have effects. */
static int open_log(struct search *s, const char *path, int flags)
{
	struct ptrc_log_head head;
	struct stat st;
	PTRC_FD(probe);
	int error = ptrc_file_open(s->at, path, O_PATH | flags, 0, &probe);

	if (error)
		return error;
	/* A log without a name (no link) would disappear with its last descriptor, so it is not
	 * used. */
	if (ptrc_file_stat(probe, &st) || !S_ISREG(st.st_mode) || st.st_dev != s->place.dev ||
	    st.st_ino != s->place.ino || st.st_uid != s->uid || st.st_nlink == 0)
		return ENOENT;
	error = ptrc_file_reopen(probe, O_RDWR | O_NOCTTY, &s->fd);
	if (error)
		return error;
	error = ptrc_log_reader_head(s->fd, &head);
	if (!error && head.stream_id != s->h->id)
		error = ENOENT;
	if (error) {
		ptrc_file_close(s->fd);
		s->fd = -1;
	}
	return error;
}

static bool visit_name(const char *name, uint64_t ino, void *arg)
{
	struct search *s = arg;

	if (s->budget-- == 0)
		return true;
	return ino == s->place.ino && open_log(s, name, O_NOFOLLOW) == 0;
}

/* Whether the file `name` is the log, judging by its inode. Uses only what the kernel knows
 * already: a file server may not answer. */
static bool is_inode(const struct search *s, const char *name)
{
	struct statx x;

	return !ptrc_sys(SYS_statx, s->at, name, AT_STATX_DONT_SYNC, STATX_INO | STATX_TYPE, &x) &&
	       S_ISREG(x.stx_mode) && x.stx_ino == s->place.ino &&
	       makedev(x.stx_dev_major, x.stx_dev_minor) == s->place.dev;
}

static bool visit_descriptor(const char *name, uint64_t ino, void *arg)
{
	struct search *s = arg;

	(void)ino;
	if (s->budget-- == 0)
		return true;
	return name[0] != '.' && is_inode(s, name) && open_log(s, name, 0) == 0;
}

/* Calls `visit` for the entries of a directory. Returns whether the log was found. */
static bool search(struct search *s, const char *path,
		   bool (*visit)(const char *name, uint64_t ino, void *arg))
{
	int outer = s->at;

	if (ptrc_file_open(outer, path, O_RDONLY | O_DIRECTORY, 0, &s->at) == 0) {
		ptrc_file_visit(s->at, visit, s, NULL);
		ptrc_file_close(s->at);
	}
	s->at = outer;
	return s->fd >= 0;
}

static bool visit_process(const char *name, uint64_t ino, void *arg)
{
	struct search *s = arg;
	char path[32];

	(void)ino;
	if (s->budget-- == 0)
		return true;
	if (name[0] < '1' || name[0] > '9' || strlen(name) > 20)
		return false;
	memcpy(path, name, strlen(name));
	memcpy(path + strlen(name), "/fd", 4);
	return search(s, path, visit_descriptor) || s->budget == UINT_MAX;
}

/* Whether the log was truncated, or another program has written to it. */
static bool is_cut(const struct ptrc_stream_header *h, int fd)
{
	struct ptrc_log_state state;
	struct stat st;

	if (!ptrc_log_state_read(h, &state) || ptrc_file_stat(fd, &st))
		return false;
	return state.flags & PTRC_LOG_STATE_CUT ||
	       (h->attr.log_full_policy != POSIX_TRACE_LOOP && (uint64_t)st.st_size < state.offset);
}

/* Opens the orphan's own log. ENOENT: it was not found. ESTALE: another program has changed it.
 * EACCES, EROFS and so on: it cannot be opened. */
static int find_log(const struct ptrc_stream_header *h, uint32_t uid,
		    const struct ptrc_keeper_orders *orders, struct orphan_log *log)
{
	struct search s = {.h = h, .uid = uid, .at = AT_FDCWD, .budget = ENTRIES_MAX, .fd = -1};
	char *slash;
	int error;

	memcpy(&s.place, &h->log_place[ptrc_log_state_place(h)], sizeof(s.place));
	s.place.path[PTRC_LOG_PATH_BYTES - 1] = '\0';
	slash = strrchr(s.place.path, '/');
	if (!ptrc_log_state_is_saved(h) || !s.place.ino || s.place.path[0] != '/' || !slash ||
	    (s.place.dev == orders->taken_dev && s.place.ino == orders->taken_ino))
		return ENOENT;
	error = open_log(&s, s.place.path, O_NOFOLLOW);
	/* After any other error the log exists at its path, and a search is useless. */
	if (error == ENOENT || error == ENOTDIR) {
		slash[slash == s.place.path] = '\0';
		if (search(&s, s.place.path, visit_name))
			error = 0;
		s.budget = DESCRIPTORS_MAX;
		if (error && orders->searches && search(&s, "/proc", visit_process))
			error = 0;
	}
	if (!error && is_cut(h, s.fd)) {
		ptrc_file_close(s.fd);
		error = ESTALE;
	}
	log->fd = s.fd;
	log->path[0] = '\0';
	return error;
}

/* Stores the path of a new log, to which make_log() may add a number. False: no path is known. */
static bool choose_path(const struct ptrc_stream_header *h, const struct ptrc_keeper_orders *orders,
			char path[PTRC_LOG_PATH_BYTES])
{
	size_t size;

	if (orders->path) {
		size = strlen(orders->path);
		if (size == 0 || size >= PTRC_LOG_PATH_BYTES)
			return false;
		memcpy(path, orders->path, size + 1);
		return true;
	}
	memcpy(path, h->log_place[ptrc_log_state_place(h)].path, PTRC_LOG_PATH_BYTES);
	path[PTRC_LOG_PATH_BYTES - 1] = '\0';
	ptrc_file_path_undelete(path);
	size = strlen(path);
	if (path[0] != '/' || size + sizeof(SUFFIX) > PTRC_LOG_PATH_BYTES)
		return false;
	memcpy(path + size, SUFFIX, sizeof(SUFFIX));
	return true;
}

static bool is_directory(const char *path)
{
	PTRC_FD(fd);

	return ptrc_file_open(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0, &fd) == 0;
}

/* Creates a new log. ENOENT: the directory of the path does not exist, or the caller's path is
 * empty or too long. EDESTADDRREQ: no path is known. EPERM: the stream belongs to another user.
 * Other errors, such as EROFS, say why the file cannot be made. */
static int make_log(const struct ptrc_stream_header *h, uint32_t uid,
		    const struct ptrc_keeper_orders *orders, struct orphan_log *log)
{
	size_t size;

	if (uid != ptrc_sys_geteuid())
		return EPERM;
	if (!choose_path(h, orders, log->path))
		return orders->path ? ENOENT : EDESTADDRREQ;
	size = strlen(log->path);
	if (size + 6 > sizeof(log->path))
		return ENAMETOOLONG;
	for (unsigned int n = 2;; n++) {
		int error = ptrc_file_open(AT_FDCWD, log->path,
					   O_RDWR | O_CREAT | O_EXCL | O_NOCTTY, 0600, &log->fd);

		/* If the caller's path is a directory, no number is added: that would make another
		 * name, such as "..2" of ".". */
		if (error == EEXIST && n == 2 && orders->path && is_directory(log->path))
			error = EISDIR;
		if (error != EEXIST || n > LOG_NAMES_MAX)
			return error;
		log->path[size] = '.';
		*ptrc_digits_put(log->path + size + 1, n) = '\0';
	}
}

/* Closes the log. Unless is_kept, also deletes a new log whose head no keeper has written, or that a
 * keeper has given up. Another new log stays, and a later attempt to finish the orphan continues it. */
static void close_log(const struct ptrc_stream_header *h, struct orphan_log *log, bool is_kept)
{
	struct stat st, there;

	if (!is_kept && log->path[0] && ptrc_load_acquire(&h->is_log_new) &&
	    ptrc_file_stat(log->fd, &st) == 0 &&
	    ptrc_file_stat_at(AT_FDCWD, log->path, &there) == 0 && there.st_dev == st.st_dev &&
	    there.st_ino == st.st_ino)
		ptrc_sys(SYS_unlinkat, AT_FDCWD, log->path, 0);
	ptrc_file_close(log->fd);
}

/* ---- orphans ---- */

/* The number of events that keepers have taken out of the stream for its log. */
static unsigned long count_taken(const struct ptrc_stream_header *h)
{
	return ptrc_load_relaxed(&h->log_events) + ptrc_load_relaxed(&h->log_lost_events);
}

/* Starts a keeper that finishes the log open as log_fd: it writes the events that the orphan's own
 * log lacks, and closes the log. Stores what the orders ask for. */
static int start_on(struct ptrc_keeper_args *args, struct ptrc_stream_header *h, int log_fd,
		    bool is_new, const struct ptrc_keeper_orders *orders)
{
	unsigned long before = count_taken(h);
	int error;

	args->log_fd = log_fd;
	ptrc_store_relaxed(&h->is_log_new, is_new);
	error = ptrc_keeper_start(args, h, PTRC_KEEPER_ORPHAN);
	if (!error && orders->written)
		ptrc_file_path(log_fd, orders->written, sizeof(h->log_place[0].path));
	if (!error && orders->events)
		*orders->events = count_taken(h) - before;
	return error;
}

static int finish(struct ptrc_keeper_args *args, uint32_t uid, struct ptrc_stream_header *h,
		  const struct ptrc_keeper_orders *orders)
{
	struct orphan_log log;
	int error = find_log(h, uid, orders, &log);

	if (!error) {
		error = start_on(args, h, log.fd, false, orders);
		close_log(h, &log, true);
		/* If the orphan's log cannot be written, a new file in the same directory probably
		 * cannot be written either, but a file at the caller's path may work. */
		if (!error || error == ECHILD || !orders->path)
			return error;
	}
	if (error == ENOMEM || error == EMFILE || error == ENFILE || error == EAGAIN)
		return error;
	error = make_log(h, uid, orders, &log);
	if (error)
		return error;
	error = start_on(args, h, log.fd, true, orders);
	close_log(h, &log, error == 0);
	return error;
}

int ptrc_keeper_finish_orphan(int dirfd, uint32_t uid, int stream_fd,
			      const struct ptrc_keeper_orders *orders)
{
	struct ptrc_keeper_args args = {
		.log_fd = -1, .stream_fd = stream_fd, .names_fd = -1, .dirfd = dirfd};
	struct ptrc_stream stream;
	int error = ptrc_stream_map(stream_fd, PTRC_ROLE_CONTROLLER, &stream);

	if (error)
		return error;
	/* A stream without a log has no file size limit for a log, so the caller's limit is
	 * used. */
	if (!stream.header->has_log)
		note_limit(stream.header);
	stream.header->ending.finisher = ptrc_sys_getpid();
	/* The names object (table of event names) may have been removed by the last process that
	 * used it. Then names_fd stays -1, and the log has only the names that earlier flushes have
	 * written. */
	error = ptrc_shmdir_open_id(dirfd, 'n', stream.header->names_id, uid, &args.names_fd, NULL);
	if (error != ENOMEM)
		error = finish(&args, uid, stream.header, orders);
	if (error == ECHILD)
		ptrc_store_relaxed(&stream.header->has_killed_keepers, 1);
	ptrc_file_end(&args.names_fd);
	ptrc_stream_unmap(&stream);
	return error;
}
